//! `softwarp quantize`: an array into a block-scaled format.

use super::files::{self, Output};
use super::progress::Working;
use super::{CommandError, Printed, sources};
use crate::arrays::{self, ArrayError};
use crate::input::{InputError, MOST_DATA};
use crate::literal::display_f64;
use crate::values::{self, Errors, Values};
use crate::{blocks, names, npz};
use blocks::Blocks;
use clap::ValueEnum;
use serde_json::json;
use softwarp::num::Format;
use softwarp::num::block::{BlockFormat, ElementRounding, Rules, ScaleRule, dequantize, quantize_by};
use std::path::{Path, PathBuf};

/// Quantize an array to a block-scaled format (MX or NVFP4)
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The format: mxfp8_e4m3 (or mxfp8), mxfp8_e5m2, mxfp6_e2m3, mxfp6_e3m2, mxfp4 or nvfp4
    #[arg(long, value_name = "FORMAT")]
    to: String,
    /// What the array holds, as in bf16; without it, what its dtype says: <f2, <f4, <f8, and bf16 for <V2
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
    /// The axis that blocks lie along; negative ones count from the last
    #[arg(long, value_name = "N", default_value = "-1", allow_hyphen_values = true)]
    axis: String,
    /// How the scale of an MX block follows from its largest magnitude; nvfp4 has a rule of its own [default: floor]
    #[arg(long, value_enum, value_name = "RULE")]
    scale_rule: Option<Rule>,
    /// How elements are rounded
    #[arg(long, value_enum, value_name = "HOW", default_value = "nearest")]
    rounding: Rounding,
    /// The seed of stochastic rounding
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The .npy array, of <f2, <f4, <f8 or what --from says; `-` is standard input
    input: PathBuf,
    /// The .npz file to write; `-` is standard output
    output: PathBuf,
    /// Print the errors as JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
The last block of a row may be short. The file holds
  codes   |u1  the elements: FP8 and FP6 a byte each, FP4 two to a byte, the first in the low half
  scales  |u1  one code for each block: ue8m0, or e4m3 for nvfp4
  shape   <i8, format <U…, and for nvfp4 tensor_scale <f4
  axis    <i8  where --axis is not the last one; codes and scales then have that axis last
f64 elements are rounded once, to the format. The scale of nvfp4 is computed in f32.

Example:
  softwarp quantize --to mxfp4 weights.npy weights.npz
  softwarp quantize --to mxfp8 --scale-rule amax --axis 0 weights.npy weights.npz";

/// How the scale of an MX block is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Rule {
    /// 2^floor(log2(largest)) / the top power of two of the format: OCP MX 1.0
    #[value(alias = "ocp")]
    Floor,
    /// The same with the power of two nearest to the largest magnitude
    Nearest,
    /// The same with the largest magnitude rounded to the precision of the format
    Even,
    /// The least power of two with which nothing saturates: NVIDIA's rule for MXFP8
    #[value(alias = "nvidia", alias = "ceil")]
    Amax,
}

impl Rule {
    fn rule(self) -> ScaleRule {
        match self {
            Rule::Floor => ScaleRule::Floor,
            Rule::Nearest => ScaleRule::Nearest,
            Rule::Even => ScaleRule::Even,
            Rule::Amax => ScaleRule::Ceil,
        }
    }
}

/// How elements are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Rounding {
    /// To nearest, ties to even
    #[value(alias = "rn")]
    Nearest,
    /// Toward zero
    #[value(alias = "rz")]
    Zero,
    /// At random, as cvt.rs does; --seed is required
    #[value(alias = "rs")]
    Stochastic,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let format = names::block(&args.to).map_err(CommandError::Usage)?;
    let rules = rules(args, format)?;
    let from = args.from.as_deref().map(names::format).transpose().map_err(CommandError::Usage)?;
    Output::unless_both_to_stdout(&args.output, args.json)?;
    let values = read(&args.input, from)?;
    let axis = axis(&args.axis, values.shape.len())?;
    let working = Working::begin("quantizing");
    let values = values.with_axis_last(axis);
    let row = blocks::row(&blocks::with_axis_last(&values.shape, axis)).max(1);
    let quantized = quantize_by(format, rules, &values.singles, row);
    let back = dequantize(&quantized, values.singles.len(), row);
    let errors = Errors::of(&values, &back);
    let out = Output::create(&args.output)?;
    let blocks = Blocks { quantized, shape: values.shape, axis };
    npz::write(&out.file, &blocks::to_arrays(&blocks)).map_err(|error| out.failure(error))?;
    drop(working);
    out.keep()?;
    Ok(report(&errors, args.json, format, back.len()))
}

/// Reads an array of a format, or of what its dtype says.
fn read(path: &Path, format: Option<Format>) -> Result<Values, CommandError> {
    let name = sources::name(path);
    let in_file = |error: &dyn std::fmt::Display| CommandError::input(&name, error);
    let reader = files::open_array(path)?;
    let most = files::limit(MOST_DATA);
    if reader.left() > most {
        return Err(files::unreadable(path, InputError::TooLong { limit: most }));
    }
    let format = match format {
        Some(format) => format,
        None => values::usual(reader.header.dtype).ok_or_else(|| {
            let wanted = "<f2, <f4 or <f8 is wanted; --from names other formats, as in --from bf16";
            in_file(&format!("the array holds {}, and {wanted}", reader.header.dtype))
        })?,
    };
    arrays::check_dtype(&reader.header, format).map_err(|error| in_file(&error))?;
    let shape = arrays::element_shape(format, &reader.header.shape);
    let shape = shape.ok_or_else(|| in_file(&ArrayError::Lanes { axis: 1, lanes: 2 }))?;
    // What is written must be readable again.
    blocks::check_shape(&shape).map_err(|error| in_file(&error))?;
    let array = reader.rest().map_err(|error| in_file(&error))?;
    Values::new(array, format, shape)
        .ok_or_else(|| CommandError::Usage(format!("--from {format}: there is no exact way from it to f32")))
}

fn rules(args: &Args, format: BlockFormat) -> Result<Rules, CommandError> {
    if format == BlockFormat::Nvfp4 && args.scale_rule.is_some_and(|rule| rule != Rule::Amax) {
        return Err(CommandError::usage(
            "nvfp4 has one rule of scales: largest magnitude / 6, in e4m3 (amax)",
        ));
    }
    let rounding = match (args.rounding, args.seed) {
        (Rounding::Nearest, None) => ElementRounding::NearestEven,
        (Rounding::Zero, None) => ElementRounding::TowardZero,
        (Rounding::Stochastic, Some(seed)) => ElementRounding::Stochastic { seed },
        (Rounding::Stochastic, None) => {
            return Err(CommandError::usage("--rounding stochastic takes random bits: give --seed"));
        }
        _ => return Err(CommandError::usage("--seed is for --rounding stochastic")),
    };
    Ok(Rules { scale: args.scale_rule.map_or(ScaleRule::Floor, Rule::rule), rounding })
}

/// The number of the axis that `--axis` names in an array with `axes` axes; negative numbers count from the last one.
fn axis(text: &str, axes: usize) -> Result<usize, CommandError> {
    let number: Option<i64> = text.replace('\u{2212}', "-").parse().ok();
    // An array without axes is one element.
    let axes = axes.max(1) as i64;
    match number.map(|number| if number < 0 { number + axes } else { number }) {
        Some(axis) if (0..axes).contains(&axis) => Ok(axis as usize),
        Some(_) => {
            let message = format!("--axis {text} is not there: the array has axes 0 to {}", axes - 1);
            Err(CommandError::Usage(message.replace('\u{2212}', "-")))
        }
        None => Err(CommandError::usage("--axis must be a number, as in 0 or -1")),
    }
}

/// What to say about the errors of an array of `elements` elements.
fn report(errors: &Errors, json: bool, format: BlockFormat, elements: usize) -> Printed {
    if json {
        let snr = errors.snr.map(super::json_number);
        let report = json!({
            "format": format.name(), "elements": elements, "max_abs_error": errors.largest, "snr_db": snr,
            "not_finite": errors.not_finite,
        });
        return super::json(&report).into();
    }
    let snr = match errors.snr {
        None => "no signal".to_owned(),
        Some(snr) if snr.is_infinite() => "no error at all".to_owned(),
        Some(snr) => format!("SNR {snr:.2} dB"),
    };
    let not_finite = match errors.not_finite {
        0 => String::new(),
        count => format!("; {count} infinite or NaN not counted"),
    };
    let largest: f64 = format!("{:.5e}", errors.largest).parse().unwrap_or(errors.largest);
    let largest = display_f64(largest);
    super::remark(&format!("{elements} elements, max abs error {largest}, {snr}{not_finite}"));
    Printed::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_count_from_either_end() {
        assert_eq!(axis("\u{2212}1", 3), Ok(2));
        assert_eq!((axis("0", 3), axis("0", 0), axis("-1", 0)), (Ok(0), Ok(0), Ok(0)));
        assert!(axis("3", 3).is_err() && axis("-4", 3).is_err() && axis("x", 3).is_err());
    }
}
