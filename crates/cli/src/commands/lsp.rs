//! `softwarp lsp`: the language server, on standard input and output.

use super::check::config::Config;
use super::check::policy::{Policy, Warnings};
use super::checking::target;
use super::{CommandError, Printed};
use softwarp_lsp::{Ended, Level, Levels, Options, serve};
use std::io::{BufReader, stdin, stdout};

/// Serve an editor: speak the Language Server Protocol on standard input and output
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Use standard input and output, as always: some editors add this word
    #[arg(long, hide = true)]
    stdio: bool,
}

const HELP: &str = "\
Editors start it; docs/editors.md says how. It finds mistakes as one types, explains what stands under the
cursor, completes, renames, formats, and runs kernels with their launch files. As `softwarp check`, it reads
softwarp.toml from the folder that it is started in, or from one above it.

Exit code 1 if the editor leaves without saying so (`shutdown`), 2 if what it sends cannot be read.

Example:
  softwarp lsp";

/// Runs the command.
pub fn run(_: &Args) -> Result<Printed, CommandError> {
    let mut options = Options { program: std::env::current_exe().ok(), ..Options::default() };
    if let Err(error) = configure(&mut options) {
        options.notice = error.line().map(str::to_owned);
    }
    // Standard output is written a message at a time, and flushed by each.
    let ended = serve(BufReader::new(stdin()), stdout(), options);
    match ended {
        Ok(Ended::Properly) => Ok(Printed::default()),
        Ok(Ended::Early) => Err(CommandError::Reported(1)),
        Ok(Ended::Unreadable(why)) => Err(CommandError::Io(format!("cannot read a message: {why}"))),
        Err(error) => Err(CommandError::Io(format!("cannot write to standard output: {error}"))),
    }
}

/// Takes what the project says: the GPU to check for, and what warnings are.
fn configure(options: &mut Options) -> Result<(), CommandError> {
    let config = Config::find(None)?;
    let policy = Policy::new(&config, None, &[], &[])?;
    options.check.arch = config.arch.as_deref().map(target).transpose()?;
    let level = |warnings: Warnings| match warnings {
        Warnings::Allow => Level::Hidden,
        Warnings::Warn => Level::Warning,
        Warnings::Error => Level::Error,
    };
    let codes = policy.codes().iter().map(|(&code, &warnings)| (code, level(warnings))).collect();
    options.levels = Levels { others: level(policy.warnings()), codes };
    Ok(())
}
