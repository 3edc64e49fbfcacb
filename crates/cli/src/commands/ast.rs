//! `softwarp ast`: what the parser made of a PTX file.

use super::checking::target;
use super::{CommandError, Printed, remark, sources};
use softwarp::diagnostic::Severity;
use softwarp::syntax::{Tree, parse};
use std::path::PathBuf;

/// Print the tree of a PTX file as JSON
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON: the only format so far, so that this must be given
    #[arg(long, required = true)]
    json: bool,
    /// Of a file with PTX for several GPUs, that for this one
    #[arg(long, value_name = "SM")]
    arch: Option<String>,
}

const HELP: &str = "\
Places in the file are pairs of bytes: the first, and one past the last. What could not be read is left out
of the tree and its errors go to standard error, with exit code 1.

Example:
  softwarp ast --json kernel.ptx";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let arch = args.arch.as_deref().map(target).transpose()?;
    let source = sources::single(&args.file, arch)?;
    let parsed = parse(&source.text);
    let mut refused = source.flaw().is_some();
    for diagnostic in source.flaw().into_iter().chain(&parsed.diagnostics) {
        refused |= diagnostic.severity() == Severity::Error;
        remark(crate::render::text(&source, diagnostic, false).trim_end());
    }
    super::output::stdout(|out| {
        crate::json::write_tree(&Tree::new(&source.text, &parsed.module), out)?;
        out.write_all(b"\n")
    })?;
    Ok(Printed { text: String::new(), failure: refused.then_some(CommandError::Reported(1)) })
}
