//! `softwarp quantize`: an array into a block-scaled format.

mod values;

use super::files::Output;
use super::progress::Working;
use super::{CommandError, Printed};
use crate::literal::display_f64;
use crate::{blocks, names, npz};
use blocks::Blocks;
use clap::ValueEnum;
use serde_json::json;
use softwarp::num::block::{BlockFormat, ElementRounding, Rules, ScaleRule, dequantize, quantize_by};
use std::path::PathBuf;
use values::Values;

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
    let values = Values::read(&args.input, from)?;
    let axis = axis(&args.axis, values.shape.len())?;
    let working = Working::begin("quantizing");
    let values = values.with_axis_last(axis);
    let row = blocks::row(&blocks::with_axis_last(&values.shape, axis)).max(1);
    let quantized = quantize_by(format, rules, &values.singles, row);
    let back = dequantize(&quantized, values.singles.len(), row);
    let errors = Errors::between(values.exact(), &back);
    let out = Output::create(&args.output)?;
    let blocks = Blocks { quantized, shape: values.shape, axis };
    npz::write(&out.file, &blocks::to_arrays(&blocks)).map_err(|error| out.failure(error))?;
    drop(working);
    out.keep()?;
    Ok(errors.report(args.json, format, back.len()))
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

/// How far an array is from what it was.
#[derive(Debug, PartialEq)]
struct Errors {
    /// The largest difference.
    largest: f64,
    /// Signal to noise ratio in decibels; infinite if there is no noise, `None` if there is no signal.
    snr: Option<f64>,
    /// Elements that were or became infinite or NaN, and are not counted.
    not_finite: usize,
}

impl Errors {
    fn between(before: impl Iterator<Item = f64>, after: &[f32]) -> Errors {
        let (mut largest, mut signal, mut noise, mut not_finite) = (0f64, 0.0, 0.0, 0);
        for (x, &y) in before.zip(after) {
            let y = f64::from(y);
            let error = (y - x).abs();
            if !error.is_finite() {
                not_finite += 1;
                continue;
            }
            largest = largest.max(error);
            signal += x * x;
            noise += error * error;
        }
        let snr = (signal > 0.0).then(|| 10.0 * (signal / noise).log10());
        Errors { largest, snr, not_finite }
    }

    fn report(&self, json: bool, format: BlockFormat, elements: usize) -> Printed {
        if json {
            let snr = self.snr.map(super::json_number);
            let report = json!({
                "format": format.name(), "elements": elements, "max_abs_error": self.largest, "snr_db": snr,
                "not_finite": self.not_finite,
            });
            return super::json(&report).into();
        }
        let snr = match self.snr {
            None => "no signal".to_owned(),
            Some(snr) if snr.is_infinite() => "no error at all".to_owned(),
            Some(snr) => format!("SNR {snr:.2} dB"),
        };
        let not_finite = match self.not_finite {
            0 => String::new(),
            count => format!("; {count} infinite or NaN not counted"),
        };
        let largest: f64 = format!("{:.5e}", self.largest).parse().unwrap_or(self.largest);
        let largest = display_f64(largest);
        super::remark(&format!("{elements} elements, max abs error {largest}, {snr}{not_finite}"));
        Printed::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_measured() {
        let errors = Errors::between([3.0, 4.0, f64::NAN].into_iter(), &[3.0, 4.5, 1.0]);
        assert_eq!(errors, Errors { largest: 0.5, snr: Some(20.0), not_finite: 1 });
        assert_eq!(Errors::between([1.0].into_iter(), &[1.0]).snr, Some(f64::INFINITY));
        assert_eq!(axis("\u{2212}1", 3), Ok(2));
        assert_eq!((axis("0", 3), axis("0", 0), axis("-1", 0)), (Ok(0), Ok(0), Ok(0)));
        assert!(axis("3", 3).is_err() && axis("-4", 3).is_err() && axis("x", 3).is_err());
        assert_eq!(Errors::between([].into_iter(), &[]).snr, None);
    }
}
