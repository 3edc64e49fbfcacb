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
    /// Check for this GPU instead of each module's .target, as in sm_90a or 90a
    #[arg(long, value_name = "SM", alias = "target", alias = "gpu-name")]
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
        self.options_or(None)
    }

    /// The options of the checker, with the GPU of a configuration if the arguments name none.
    pub fn options_or(&self, arch: Option<&str>) -> Result<Options, CommandError> {
        let arch = self.arch.as_deref().or(arch).map(target).transpose()?;
        Ok(Options { arch, relocatable: self.relocatable, strict: self.strict })
    }
}

/// A GPU by its name, as in sm_90a, or by its number, as in 90a.
pub fn target(name: &str) -> Result<Target, CommandError> {
    let lower = name.to_ascii_lowercase();
    let by_number = || Target::from_name(&format!("sm_{lower}"));
    Target::from_name(&lower).or_else(by_number).ok_or_else(|| {
        let shown: String = name.chars().take(32).flat_map(char::escape_debug).collect();
        let meant = nearest_target(&lower);
        let hint = meant
            .map_or(": they are named as in sm_90a".to_owned(), |name| format!("; did you mean {name}?"));
        CommandError::Usage(format!("`{shown}` is not a target{hint}"))
    })
}

/// The target that a name is most like: of numbers the nearest, the lower of two equally near, with the same letter
/// behind it if there is one; of other names the one that is spelled most like it.
fn nearest_target(name: &str) -> Option<Target> {
    let bare = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_")).unwrap_or(name);
    let digits = bare.strip_suffix(['a', 'f']).unwrap_or(bare);
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    let Some(number) = digits.parse::<u32>().ok().filter(|_| is_number) else {
        return softwarp::isa::nearest(name, Target::all().map(Target::name)).and_then(Target::from_name);
    };
    let letter = &bare[digits.len()..];
    let differs = |target: &Target| {
        !target.name().ends_with(letter) || letter.is_empty() && *target != target.baseline()
    };
    Target::all().min_by_key(|target| (u32::from(target.sm()).abs_diff(number), differs(target)))
}

/// A number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "it must be a number of seconds, such as 1.5".to_owned())
}

/// How many threads there should be: one for each core, or what `RAYON_NUM_THREADS` says.
pub fn threads() -> usize {
    let set = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok());
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    set.filter(|&number| number > 0).unwrap_or_else(cores)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_names_and_numbers() {
        for name in ["sm_90a", "SM_90a", "90a", "compute_90a"] {
            assert_eq!(target(name).map(Target::name), Ok("sm_90a"), "{name}");
        }
        for (name, meant) in [
            ("sm_91", "sm_90?"),
            ("91", "sm_90?"),
            ("sm_95", "sm_90?"),
            ("sm_96", "sm_100?"),
            ("sm_91a", "sm_90a?"),
            ("sm90", "sm_90?"),
            ("sm_9o", "sm_90?"),
            ("sm_1000", "sm_121?"),
            ("5000000000", "they are named as in sm_90a"),
            ("hopper", "they are named as in sm_90a"),
            ("", "they are named as in sm_90a"),
        ] {
            let message = target(name).unwrap_err();
            assert!(message.line().is_some_and(|line| line.ends_with(meant)), "{name}: {message:?}");
        }
    }
}
