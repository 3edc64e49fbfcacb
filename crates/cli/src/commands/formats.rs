//! `softwarp formats`: what the number formats are, as tables, JSON and drawings.

use super::files::Output;
use super::{CommandError, Printed};
use crate::{formats, names};
use std::path::PathBuf;

/// Show the number formats: fields, limits, codes, and the names they go by
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The format to show in full, by any of its names; without it, all are listed
    format: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw the bit fields and the number line into this file instead; `-` is standard output
    #[arg(long, value_name = "FILE", requires = "format", conflicts_with = "json")]
    svg: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  softwarp formats
  softwarp formats e4m3
  softwarp formats mxfp4
  softwarp formats e4m3 --svg e4m3.svg";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let Some(name) = &args.format else {
        let text = if args.json { super::json(&formats::json_list()) } else { formats::list() };
        return Ok(text.into());
    };
    if let Some(format) = names::find_block(name).filter(|_| names::find(name).is_none()) {
        if args.svg.is_some() {
            return Err(CommandError::usage("--svg draws formats of single numbers, as in e2m1"));
        }
        let text = if args.json { super::json(&formats::json_block(format)) } else { formats::block(format) };
        return Ok(text.into());
    }
    let format = names::format(name).map_err(CommandError::Usage)?;
    if let Some(path) = &args.svg {
        Output::write(path, formats::draw(format).as_bytes())?;
        return Ok(Printed::default());
    }
    let text = if args.json { super::json(&formats::json_one(format)) } else { formats::one(format) };
    Ok(text.into())
}
