//! `softwarp check`: checks PTX files by the rules of the assembler.

pub(super) mod formats;

use super::checking::{CheckArgs, Colour, SHOWN, errors, summary};
use super::{CommandError, Printed, remark};
use clap::ValueEnum;
use rayon::prelude::*;
use softwarp::source::Source;
use softwarp::syntax::Diagnostic;
use std::path::PathBuf;

/// Check PTX files: would the assembler take them, and if not, why
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    checking: CheckArgs,
    /// Print a JSON object a line for each diagnostic; the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// How to print: for people, for programs, or as annotations for GitHub's CI
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Colours in text: on a terminal unless NO_COLOR is set, always, or never
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: Colour,
}

const HELP: &str = "\
Diagnostics go to standard output, a count for each file to standard error. Every diagnostic has a code;
`softwarp explain CODE` says what it means. Exit 0 if there are no errors (warnings are allowed), 1 if there
are, 2 for a usage error, or if a file or stream cannot be read or written.

JSON fields: file, line, column, end_line, end_column, severity (error, warning), code, message, help (or
null), related (a list of line, column, message). Lines and columns count from 1, columns in characters;
the end is one past the last character.

Examples:
  softwarp check kernel.ptx
  softwarp check --arch sm_100a --relocatable a.ptx b.ptx
  nvcc -ptx -o - kernel.cu | softwarp check --json -
  softwarp check --format github build/*.ptx";

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Github,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let options = args.checking.options()?;
    super::sources::only_one_standard_input(&args.files)?;
    let (format, colour) =
        (if args.json { Format::Json } else { args.format }, args.color.wanted(&std::io::stdout()));
    let check = |path: &PathBuf| -> Result<FileReport, CommandError> {
        let source = super::sources::read(path)?;
        let diagnostics = source.diagnose(options);
        Ok(FileReport::new(&source, &diagnostics, format, colour))
    };
    let outcomes: Vec<Result<FileReport, CommandError>> = match args.files.as_slice() {
        // One file needs no threads, and starting them takes longer than most checks.
        [file] => vec![check(file)],
        files => files.par_iter().map(check).collect(),
    };
    let (mut text, mut code) = (String::new(), 0);
    for outcome in outcomes {
        match outcome {
            Ok(report) => {
                text.push_str(&report.text);
                remark(&report.summary);
                code = code.max(u8::from(report.refused));
            }
            Err(failure) => code = code.max(failure.report().code()),
        }
    }
    Ok(Printed { text, failure: (code > 0).then_some(CommandError::Reported(code)) })
}

/// What a file came to, as it will be printed.
struct FileReport {
    text: String,
    summary: String,
    refused: bool,
}

impl FileReport {
    fn new(source: &Source, diagnostics: &[Diagnostic], format: Format, colour: bool) -> FileReport {
        let shown = if format == Format::Text { diagnostics.len().min(SHOWN) } else { diagnostics.len() };
        let text = diagnostics[..shown]
            .iter()
            .map(|diagnostic| match format {
                Format::Text => crate::render::text(source, diagnostic, colour),
                Format::Json => formats::json(source, diagnostic),
                Format::Github => formats::github(source, diagnostic),
            })
            .collect();
        let errors = errors(diagnostics).count();
        let mut summary = summary(errors, diagnostics.len() - errors, &source.name);
        if shown < diagnostics.len() {
            summary.push_str(&format!(", of which the first {shown} are shown; --json prints all"));
        }
        FileReport { text, summary, refused: errors > 0 }
    }
}
