//! `softwarp dequantize`: a block-scaled array back to f32.

use super::files::{Input, Output};
use super::{Fault, Printed};
use softwarp::blocks;
use softwarp::npy::{self, DType, Header};
use softwarp::npz::Archive;
use softwarp::num::block::dequantize;
use std::io::Write;
use std::path::PathBuf;

/// Turn a block-scaled array back into f32
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  softwarp dequantize weights.npz restored.npy")]
pub struct Args {
    /// The .npz file that `softwarp quantize` wrote; `-` is standard input
    input: PathBuf,
    /// The .npy array to write, of <f4
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, Fault> {
    let name = args.input.display();
    let mut archive = Archive::new(Input::open(&args.input)?).map_err(|error| Fault::input(&name, error))?;
    let (quantized, shape) = blocks::read(&mut archive).map_err(|error| Fault::input(&name, error))?;
    let elements = npy::elements(&shape).and_then(|count| usize::try_from(count).ok());
    let elements = elements.ok_or_else(|| Fault::input(&name, "the array is too large"))?;
    let values = dequantize(&quantized, elements, blocks::row(&shape).max(1));
    let mut bytes = Header::new(DType::new('f', 4), shape).to_bytes();
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    let mut out = Output::create(&args.output)?;
    out.file.write_all(&bytes).map_err(|error| out.fault(error))?;
    out.keep()?;
    Ok(Printed::default())
}
