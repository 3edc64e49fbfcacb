//! What is said about a tensor map: a code, the rule, the numbers involved and what would be right.

use crate::codes::{self, Explained};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Legal, and perhaps not what was meant.
    Warning,
    /// The driver refuses such a map, or the target cannot use it.
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

/// Something to say about a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable name: `E1003`, `W1002`; [`explain`](crate::explain) has its page.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The rule, in a few words.
    pub rule: &'static str,
    /// What is wrong, with the numbers involved.
    pub message: String,
    /// What would be right.
    pub fix: Option<String>,
}

impl Finding {
    pub(crate) fn new(rule: &Explained, message: String, fix: Option<String>) -> Finding {
        let severity = if rule.code.starts_with('W') { Severity::Warning } else { Severity::Error };
        Finding { code: rule.code, severity, rule: rule.title, message, fix }
    }

    /// For an option that is none of its list: `unlisted("swizzle", "9", ["none", "32B", …])`.
    pub fn unlisted<'a>(option: &str, given: &str, choices: impl IntoIterator<Item = &'a str>) -> Finding {
        let choices: Vec<&str> = choices.into_iter().collect();
        let message = format!("there is no {option} `{given}`");
        Finding::new(&codes::UNLISTED, message, Some(format!("one of {}", choices.join(", "))))
    }
}
