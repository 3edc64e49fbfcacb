//! What warnings are, by their codes: those of a project, as `softwarp.toml` gives them.

use softwarp_diagnostic::{Code, Diagnostic, Severity};
use std::collections::BTreeMap;

/// What a warning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Level {
    /// It is not shown.
    Hidden,
    /// A warning.
    #[default]
    Warning,
    /// An error.
    Error,
}

/// What warnings are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// All but those by code.
    pub others: Level,
    /// By code.
    pub codes: BTreeMap<Code, Level>,
}

impl Levels {
    /// The severity of a diagnostic; none if it is not shown.
    pub fn severity(&self, diagnostic: &Diagnostic) -> Option<Severity> {
        match diagnostic.severity() {
            Severity::Error => Some(Severity::Error),
            Severity::Warning => match self.codes.get(&diagnostic.code).copied().unwrap_or(self.others) {
                Level::Hidden => None,
                Level::Warning => Some(Severity::Warning),
                Level::Error => Some(Severity::Error),
            },
        }
    }
}
