//! `softwarp dequantize`: a block-scaled array back to f32.

use super::files::{self, Output};
use super::progress::Working;
use super::{CommandError, Printed, sources};
use crate::blocks;
use crate::input::MOST_DATA;
use crate::npy::{DType, Header};
use crate::npz::Archive;
use std::io::Write;
use std::path::PathBuf;

/// Turn a block-scaled array back into f32
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  softwarp dequantize weights.npz restored.npy")]
pub struct Args {
    /// The .npz file that `softwarp quantize` wrote; `-` is standard input
    input: PathBuf,
    /// The .npy array to write, of <f4; `-` is standard output
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let name = sources::name(&args.input);
    let input = files::open(&args.input, MOST_DATA)?;
    let most = files::limit(blocks::most_unpacked(input.length()));
    let mut archive = Archive::new(input).map_err(|error| CommandError::input(&name, error))?;
    let blocks = blocks::read(&mut archive, most).map_err(|error| CommandError::input(&name, error))?;
    let working = Working::begin("dequantizing");
    let mut out = Output::create(&args.output)?;
    let header = Header::new(DType::new('f', 4), blocks.shape.clone()).to_bytes();
    out.file.write_all(&header).map_err(|error| out.failure(error))?;
    blocks::write(&blocks, &mut &out.file).map_err(|error| out.failure(error))?;
    drop(working);
    out.keep()?;
    Ok(Printed::default())
}
