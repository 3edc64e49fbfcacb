//! Stable names of rules, and what they mean.

use std::fmt;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// It is legal, and may not be what was meant.
    Warning,
    /// The assembler, linker or driver would refuse it.
    Error,
}

impl Severity {
    /// `warning` or `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A stable name: `E0102`, `W0003`. What each means is in the table of the crate that reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub &'static str);

impl Code {
    /// By the letter that the code begins with.
    pub fn severity(self) -> Severity {
        if self.0.starts_with('W') { Severity::Warning } else { Severity::Error }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What a code means: the page behind `softwarp explain CODE`.
#[derive(Clone, Copy, Debug)]
pub struct Explained {
    /// The code that this page is about.
    pub code: Code,
    /// The rule, in one line.
    pub title: &'static str,
    /// Why, in a paragraph or two, with the manual's section.
    pub text: &'static str,
    /// A whole module that breaks it; for tensor maps, a map as JSON.
    pub wrong: &'static str,
    /// The example without the mistake; empty for tensor maps.
    pub right: &'static str,
}
