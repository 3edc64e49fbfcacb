//! `softwarp check`: judges PTX files as the assembler would, and says why.

mod formats;

use super::{Fault, Printed, remark};
use clap::ValueEnum;
use rayon::prelude::*;
use softwarp::check::Options;
use softwarp::isa::Target;
use softwarp::source::Source;
use softwarp::syntax::{Diagnostic, Severity};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Check PTX files: would the assembler take them, and if not, why
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Judge for this GPU instead of each module's .target, as in sm_90a
    #[arg(long, value_name = "SM")]
    arch: Option<String>,
    /// The modules will be linked with others: names may be defined elsewhere (ptxas -c)
    #[arg(long)]
    relocatable: bool,
    /// Follow the manual where the assembler lets more pass
    #[arg(long)]
    strict: bool,
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
are, 2 if a file cannot be read or the call is wrong.

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

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

impl Colour {
    fn wanted(self) -> bool {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match self {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => !set("NO_COLOR") && !dumb() && std::io::stdout().is_terminal(),
        }
    }
}

/// How many diagnostics of a file are shown to people. Programs get all.
const SHOWN: usize = 200;

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, Fault> {
    let options = args.options()?;
    super::sources::only_one_standard_input(&args.files)?;
    let (format, colour) = (if args.json { Format::Json } else { args.format }, args.color.wanted());
    let judge = |path: &PathBuf| -> Result<Judged, Fault> {
        let source = super::sources::read(path)?;
        let diagnostics = source.diagnose(options);
        Ok(Judged::new(&source, &diagnostics, format, colour))
    };
    let outcomes: Vec<Result<Judged, Fault>> = match args.files.as_slice() {
        // One file needs no threads, and starting them takes longer than most checks.
        [file] => vec![judge(file)],
        files => files.par_iter().map(judge).collect(),
    };
    let (mut text, mut code) = (String::new(), 0);
    for outcome in outcomes {
        match outcome {
            Ok(judged) => {
                text.push_str(&judged.text);
                remark(&judged.summary);
                code = code.max(u8::from(judged.refused));
            }
            Err(fault) => code = code.max(fault.tell().code()),
        }
    }
    Ok(Printed { text, fault: (code > 0).then_some(Fault::Told(code)) })
}

impl Args {
    fn options(&self) -> Result<Options, Fault> {
        let arch = self.arch.as_deref().map(target).transpose()?;
        Ok(Options { arch, relocatable: self.relocatable, strict: self.strict })
    }
}

fn target(name: &str) -> Result<Target, Fault> {
    Target::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Target::all().map(Target::name).collect();
        let shown: String = name.chars().take(32).flat_map(char::escape_debug).collect();
        let meant = softwarp::isa::nearest(name, names.iter().copied());
        let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        Fault::Call(format!("`{shown}` is not a target{meant}"))
    })
}

/// What a file came to, as it will be printed.
struct Judged {
    text: String,
    summary: String,
    refused: bool,
}

impl Judged {
    fn new(source: &Source, diagnostics: &[Diagnostic], format: Format, colour: bool) -> Judged {
        let shown = if format == Format::Text { diagnostics.len().min(SHOWN) } else { diagnostics.len() };
        let text = diagnostics[..shown]
            .iter()
            .map(|diagnostic| match format {
                Format::Text => softwarp::render::text(source, diagnostic, colour),
                Format::Json => formats::json(source, diagnostic),
                Format::Github => formats::github(source, diagnostic),
            })
            .collect();
        let errors = diagnostics.iter().filter(|one| one.severity() == Severity::Error).count();
        let mut summary = summary(errors, diagnostics.len() - errors, &source.name);
        if shown < diagnostics.len() {
            summary.push_str(&format!(", of which the first {shown} are shown; --json prints all"));
        }
        Judged { text, summary, refused: errors > 0 }
    }
}

/// "2 errors, 1 warning in x.ptx"; "no errors in x.ptx"
fn summary(errors: usize, warnings: usize, name: &str) -> String {
    let count = |count: usize, word: &str| match count {
        0 => None,
        1 => Some(format!("1 {word}")),
        _ => Some(format!("{count} {word}s")),
    };
    let counts: Vec<String> =
        [count(errors, "error"), count(warnings, "warning")].into_iter().flatten().collect();
    let counts = if counts.is_empty() { "no errors".to_owned() } else { counts.join(", ") };
    format!("{counts} in {name}")
}
