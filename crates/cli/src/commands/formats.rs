//! `softwarp formats`: what the number formats are, as tables, JSON and drawings.

mod describe;
mod render;
mod svg;

use super::files::Output;
use super::{CommandError, Printed};
use softwarp::num::Format;
use std::path::PathBuf;

/// Show the number formats: fields, limits, codes
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The format to show in full; without it, all are listed
    format: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw the bit fields and the number line into this file instead
    #[arg(long, value_name = "FILE", requires = "format", conflicts_with = "json")]
    svg: Option<PathBuf>,
}

const HELP: &str = "\
Examples:
  softwarp formats
  softwarp formats e4m3
  softwarp formats e4m3 --svg e4m3.svg";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let Some(name) = &args.format else {
        let text = if args.json { super::json(&render::json_list()) } else { render::list() };
        return Ok(text.into());
    };
    let format = Format::from_name(name).ok_or_else(|| unknown(name))?;
    if let Some(path) = &args.svg {
        Output::write(path, svg::draw(format).as_bytes())?;
        return Ok(Printed::default());
    }
    let text = if args.json { super::json(&render::json_one(format)) } else { render::one(format) };
    Ok(text.into())
}

fn unknown(name: &str) -> CommandError {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    let shown: String = name.chars().take(32).flat_map(char::escape_debug).collect();
    CommandError::Usage(format!("`{shown}` is not a format; the formats are {}", names.join(", ")))
}
