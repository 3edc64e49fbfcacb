//! `softwarp tensor draw`: a copy as a picture, and as a page that moves.

use super::super::files::Output;
use super::super::{CommandError, Printed, sources};
use super::CopyArgs;
use crate::tensors::{page, svg};
use std::path::PathBuf;

/// Draw a copy: the tensor on the left, shared memory on the right
#[derive(Debug, clap::Args)]
#[command(after_help = "\
--html writes one page that needs nothing else: it changes the type, swizzle and box, sliders move the
coordinates, a cell under the pointer shows where it is from and where it goes, and a table has the bank
conflicts of a warp's reads.

Examples:
  softwarp tensor draw map.json --at 0,8 --svg copy.svg
  softwarp tensor draw map.json --html copy.html")]
pub struct Args {
    #[command(flatten)]
    copy: CopyArgs,
    /// Write a picture; `-` is standard output
    #[arg(long, value_name = "FILE", required_unless_present = "html")]
    svg: Option<PathBuf>,
    /// Write a page; `-` is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let to_stdout = |path: &Option<PathBuf>| path.as_deref().is_some_and(sources::is_standard_input);
    if to_stdout(&args.svg) && to_stdout(&args.html) {
        return Err(CommandError::usage("--svg and --html cannot both write to standard output"));
    }
    let copy = args.copy.copy()?;
    let mut text = String::new();
    for (path, made) in
        [(&args.svg, svg::draw as fn(&_) -> String), (&args.html, page::page as fn(&_) -> String)]
    {
        match path {
            None => {}
            Some(path) if sources::is_standard_input(path) => text = made(&copy),
            Some(path) => Output::write(path, made(&copy).as_bytes())?,
        }
    }
    Ok(text.into())
}
