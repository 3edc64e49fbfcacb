//! `softwarp tensor show`: a copy as a table.

use super::super::{CommandError, Printed};
use super::CopyArgs;
use crate::tensors::banks::Pattern;
use crate::tensors::table::{self, Options};
use crate::tensors::tmem;

/// Show which elements a copy puts where, and which reads then conflict
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Lines are cells of 16 bytes; `fill` marks what is outside of the tensor, `untouched` what the copy does not write.

Examples:
  softwarp tensor show map.json --at 0,8
  softwarp tensor show map.json --elements --all --access column
  softwarp tensor show --tmem 16x256b.x2")]
pub struct Args {
    #[command(flatten)]
    copy: MaybeCopy,
    /// Instead of a copy: which register of which thread holds which cell of tensor memory in tcgen05.ld and .st, as in
    /// 16x256b.x2 or 32x32b.x4.pack::16b
    #[arg(long, value_name = "SHAPE", exclusive = true)]
    tmem: Option<String>,
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

/// A copy; none with `--tmem`, which stands alone.
#[derive(Debug)]
struct MaybeCopy(Option<CopyArgs>);

impl clap::FromArgMatches for MaybeCopy {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<MaybeCopy, clap::Error> {
        match matches.contains_id("tmem") {
            true => Ok(MaybeCopy(None)),
            false => CopyArgs::from_arg_matches(matches).map(|copy| MaybeCopy(Some(copy))),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = MaybeCopy::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for MaybeCopy {
    fn augment_args(command: clap::Command) -> clap::Command {
        CopyArgs::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        CopyArgs::augment_args_for_update(command)
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    if let Some(shape) = &args.tmem {
        let fragment = tmem::fragment(shape).map_err(|why| CommandError::Usage(format!("--tmem: {why}")))?;
        return Ok(tmem::table(&fragment).into());
    }
    let Some(copy) = &args.copy.0 else {
        return Err(CommandError::Usage("a map or --tmem is needed".to_owned()));
    };
    let pattern =
        Pattern::from_name(&args.access).map_err(|why| CommandError::Usage(format!("--access: {why}")))?;
    let copy = copy.copy()?;
    let options = Options { elements: args.elements, all: args.all, pattern };
    let text = match args.json {
        true => super::super::json(&table::json(&copy, options)),
        false => table::table(&copy, options),
    };
    Ok(text.into())
}
