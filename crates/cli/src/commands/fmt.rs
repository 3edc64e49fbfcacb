//! `softwarp fmt`: PTX files in one layout.

use super::checking::target;
use super::files::Output;
use super::{CommandError, Printed, remark, sources};
use softwarp::source::Source;
use softwarp::syntax::{Diagnostic, Severity, format, parse};
use std::path::PathBuf;

/// Lay PTX files out in one way: indentation, spaces and line ends; comments stay
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The files, which are rewritten in place; `-` is standard input, to standard output, where PTX from inside
    /// cubins and fat binaries goes too
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Rewrite nothing: list the files that would change, and exit 1 if there are any
    #[arg(long)]
    check: bool,
    /// Of a file with PTX for several GPUs, that for this one
    #[arg(long, value_name = "SM")]
    arch: Option<String>,
}

const HELP: &str = "\
A file with syntax errors is left as it is, and its errors are shown.

Examples:
  softwarp fmt kernel.ptx
  softwarp fmt --check build/*.ptx
  nvcc -ptx -o - kernel.cu | softwarp fmt -
  softwarp fmt kernel.cubin > kernel.ptx";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    sources::only_one_standard_input(&args.files)?;
    let arch = args.arch.as_deref().map(target).transpose()?;
    let (mut text, mut code) = (String::new(), 0);
    for path in &args.files {
        // What comes from inside a file cannot be put back.
        let (source, is_inside) = match sources::text_or_inside(path, arch) {
            Ok(read) => read,
            Err(failure) => {
                code = code.max(failure.report().code());
                continue;
            }
        };
        let formatted = match formatted(&source) {
            Ok(formatted) => formatted,
            Err(errors) => {
                remark(errors.trim_end());
                code = code.max(
                    CommandError::input(&source.name, "not formatted, since it has errors").report().code(),
                );
                continue;
            }
        };
        let changed = formatted != source.text;
        if args.check {
            if changed {
                text.push_str(&format!("{}\n", source.name));
                code = code.max(1);
            }
        } else if is_inside || sources::is_standard_input(path) {
            text.push_str(&formatted);
        } else if changed {
            Output::write(path, formatted.as_bytes())?;
        }
    }
    Ok(Printed { text, failure: (code > 0).then_some(CommandError::Reported(code)) })
}

/// The text in its layout, or the errors that stand in the way.
fn formatted(source: &Source) -> Result<String, String> {
    let parsed = parse(&source.text);
    let errors: Vec<&Diagnostic> = source
        .flaw()
        .into_iter()
        .chain(&parsed.diagnostics)
        .filter(|diagnostic| diagnostic.severity() == Severity::Error)
        .collect();
    match errors.as_slice() {
        [] => Ok(format(&source.text, &parsed)),
        errors => Err(errors.iter().take(SHOWN).map(|one| crate::render::text(source, one, false)).collect()),
    }
}

/// How many errors of a file are shown.
const SHOWN: usize = 20;
