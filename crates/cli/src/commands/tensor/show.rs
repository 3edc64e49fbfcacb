//! `softwarp tensor show`: a copy as a table.

use super::super::{CommandError, Printed};
use super::CopyArgs;
use crate::tensors::banks::Pattern;
use crate::tensors::table::{self, Options};

/// Show which elements a copy puts where, and which reads then conflict
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Lines are cells of 16 bytes; `fill` marks what is outside of the tensor, `untouched` what the copy does not write.

Examples:
  softwarp tensor show map.json --at 0,8
  softwarp tensor show map.json --elements --all --access column")]
pub struct Args {
    #[command(flatten)]
    copy: CopyArgs,
    /// Count bank conflicts of these reads: row, column, ldmatrix, stride:BYTES
    #[arg(long, value_name = "PATTERN", default_value = "ldmatrix")]
    access: String,
    /// Element by element instead of cells of 16 bytes
    #[arg(long)]
    elements: bool,
    /// Show all lines
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let pattern =
        Pattern::from_name(&args.access).map_err(|why| CommandError::Usage(format!("--access: {why}")))?;
    let copy = args.copy.copy()?;
    let options = Options { elements: args.elements, all: args.all, pattern };
    let text = match args.json {
        true => super::super::json(&table::json(&copy, options)),
        false => table::table(&copy, options),
    };
    Ok(text.into())
}
