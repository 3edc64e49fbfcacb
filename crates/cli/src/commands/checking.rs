//! What the commands that check PTX files share: the options of the checker, colours, counts.

use super::CommandError;
use clap::ValueEnum;
use softwarp::check::Options;
use softwarp::isa::Target;
use softwarp::syntax::{Diagnostic, Severity};
use std::io::IsTerminal;
use std::time::Duration;

/// How to check modules.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Check for this GPU instead of each module's .target, as in sm_90a
    #[arg(long, value_name = "SM")]
    arch: Option<String>,
    /// The modules will be linked with others: names may be defined elsewhere (ptxas -c)
    #[arg(long)]
    relocatable: bool,
    /// Follow the manual where the assembler lets more pass
    #[arg(long)]
    strict: bool,
}

impl CheckArgs {
    /// The options of the checker.
    pub fn options(&self) -> Result<Options, CommandError> {
        let arch = self.arch.as_deref().map(target).transpose()?;
        Ok(Options { arch, relocatable: self.relocatable, strict: self.strict })
    }
}

/// A GPU by its name.
pub fn target(name: &str) -> Result<Target, CommandError> {
    Target::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Target::all().map(Target::name).collect();
        let shown: String = name.chars().take(32).flat_map(char::escape_debug).collect();
        let meant = softwarp::isa::nearest(name, names.iter().copied());
        let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        CommandError::Usage(format!("`{shown}` is not a target{meant}"))
    })
}

/// A number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "it must be a number of seconds, such as 1.5".to_owned())
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

/// Whether errors have colours.
#[derive(Debug, clap::Args)]
pub struct ErrorColour {
    /// Colours in errors: on a terminal unless NO_COLOR is set, always, or never
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: Colour,
}

impl ErrorColour {
    /// Whether to colour what is written to standard error.
    pub fn wanted(&self) -> bool {
        self.color.wanted(&std::io::stderr())
    }
}

impl Colour {
    /// Whether to colour what is written to a stream.
    pub fn wanted(self, stream: &impl IsTerminal) -> bool {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match self {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => !set("NO_COLOR") && !dumb() && stream.is_terminal(),
        }
    }
}

/// How many diagnostics of a file are shown to people. Programs get all.
pub const SHOWN: usize = 200;

/// The diagnostics that are errors.
pub fn errors(diagnostics: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    diagnostics.iter().filter(|one| one.severity() == Severity::Error)
}

/// "2 errors, 1 warning in x.ptx"; "no errors in x.ptx"
pub fn summary(errors: usize, warnings: usize, name: &str) -> String {
    let counts: Vec<String> =
        [(errors, "error"), (warnings, "warning")].into_iter().filter(|(n, _)| *n > 0).map(count).collect();
    let counts = if counts.is_empty() { "no errors".to_owned() } else { counts.join(", ") };
    format!("{counts} in {name}")
}

/// "1 error", "2 errors"
pub fn count((number, word): (usize, &str)) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}
