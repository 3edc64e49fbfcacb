//! `softwarp quantize`: an f32 array into a block-scaled format.

use super::files::{self, Output};
use super::{CommandError, Printed};
use crate::input::MOST_DATA;
use crate::literal::display_f64;
use crate::npy::{Array, Reader};
use crate::{arrays, blocks, npz};
use serde_json::json;
use softwarp::num::Format;
use softwarp::num::block::{BlockFormat, dequantize, quantize};
use std::path::{Path, PathBuf};

/// Quantize an f32 array to a block-scaled format (MX or NVFP4)
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The format: mxfp8_e4m3, mxfp8_e5m2, mxfp6_e2m3, mxfp6_e3m2, mxfp4 or nvfp4
    #[arg(long, value_name = "FORMAT")]
    to: String,
    /// The .npy array, of <f4; `-` is standard input
    input: PathBuf,
    /// The .npz file to write
    output: PathBuf,
    /// Print the errors as JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Blocks lie along the last axis; the last block of a row may be short. The file holds
  codes   |u1  the elements: FP8 and FP6 a byte each, FP4 two to a byte, the first in the low half
  scales  |u1  one code for each block: ue8m0, or e4m3 for nvfp4
  shape   <i8, format <U…, and for nvfp4 tensor_scale <f4

Example:
  softwarp quantize --to mxfp4 weights.npy weights.npz";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let format = BlockFormat::from_name(&args.to).ok_or_else(|| {
        let names: Vec<&str> = BlockFormat::ALL.iter().map(|format| format.name()).collect();
        let shown: String = args.to.chars().take(32).flat_map(char::escape_debug).collect();
        CommandError::Usage(format!("`{shown}` is not a block format; they are {}", names.join(", ")))
    })?;
    let array = read(&args.input)?;
    let shape = array.header.shape;
    let (values, _) = array.data.as_chunks::<4>();
    let values: Vec<f32> = values.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    let row = blocks::row(&shape).max(1);
    let quantized = quantize(format, &values, row);
    let arrays = blocks::to_arrays(&quantized, &shape);
    let out = Output::create(&args.output)?;
    npz::write(&out.file, &arrays).map_err(|error| out.failure(error))?;
    out.keep()?;
    let errors = Errors::between(&values, &dequantize(&quantized, values.len(), row));
    Ok(errors.report(args, values.len()))
}

fn read(path: &Path) -> Result<Array, CommandError> {
    let input = files::open(path, MOST_DATA)?;
    let length = input.length();
    let reader = Reader::new(input, length).map_err(|error| CommandError::input(path.display(), error))?;
    arrays::check_dtype(&reader.header, Format::F32)
        .map_err(|error| CommandError::input(path.display(), error))?;
    // What is written must be readable again.
    blocks::check_shape(&reader.header.shape).map_err(|error| CommandError::input(path.display(), error))?;
    reader.rest().map_err(|error| CommandError::input(path.display(), error))
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
    fn between(before: &[f32], after: &[f32]) -> Errors {
        let (mut largest, mut signal, mut noise, mut not_finite) = (0f64, 0.0, 0.0, 0);
        for (&x, &y) in before.iter().zip(after) {
            let (x, y) = (f64::from(x), f64::from(y));
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

    fn report(&self, args: &Args, elements: usize) -> Printed {
        if args.json {
            let snr = self.snr.map(super::json_number);
            let report = json!({
                "format": args.to, "elements": elements, "max_abs_error": self.largest, "snr_db": snr,
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
        let errors = Errors::between(&[3.0, 4.0, f32::NAN], &[3.0, 4.5, 1.0]);
        assert_eq!(errors, Errors { largest: 0.5, snr: Some(20.0), not_finite: 1 });
        assert_eq!(Errors::between(&[1.0], &[1.0]).snr, Some(f64::INFINITY));
        assert_eq!(Errors::between(&[], &[]).snr, None);
    }
}
