//! The rules of tensor maps (PTX ISA sections 5.5 and 9.7.9.27.1.1, the driver's header): what is wrong with a map,
//! in words and numbers. The driver says CUDA_ERROR_INVALID_VALUE and nothing else.
//!
//! **Errors on sm_90 are exactly what its driver refuses**, as recorded; where documents ask for more, it is a
//! warning. For targets that nobody recorded, the documents decide. Other warnings are about maps that are legal and
//! perhaps not what was meant; they are judged only where there is no error, since they reckon with the numbers.

mod access;
mod arch;
pub mod codes;
mod modes;
mod suspicion;
mod tensor;

pub use arch::Arch;
pub use codes::{Explained, explain};

use crate::map::{Description, Map};

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
    /// Stable name: `E1003`, `W1002`; [`explain`] has its page.
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

/// All that is to be said about a description on a target, in the order of the codes.
pub fn judge(description: &Description, arch: Arch) -> Vec<Finding> {
    let mut judge = Judge { description, arch, findings: Vec::new() };
    if !arch.has_maps() {
        judge.report(
            &codes::TARGET,
            format!("{arch} has no tensor maps"),
            Some("sm_90 or later".to_string()),
        );
        return judge.findings;
    }
    judge.lists();
    judge.tensor();
    judge.access();
    judge.modes();
    if judge.findings.iter().all(|finding| finding.severity == Severity::Warning) {
        judge.suspicions(&Map::settle(description));
    }
    judge.findings.sort_by_key(|finding| finding.code);
    judge.findings
}

/// A judgement under way.
struct Judge<'a> {
    description: &'a Description,
    arch: Arch,
    findings: Vec<Finding>,
}

impl Judge<'_> {
    fn report(&mut self, rule: &Explained, message: String, fix: Option<String>) {
        self.findings.push(Finding::new(rule, message, fix));
    }

    /// Reports a number that is no multiple, and the multiples around it.
    fn report_multiple(&mut self, rule: &Explained, name: &str, value: u64, of: u64) {
        let below = value - value % of;
        let next = match below.checked_add(of) {
            Some(above) => format!("{above} is the next that is"),
            None => format!("{below} is the last that is"),
        };
        self.report(rule, format!("{name} = {value} is not a multiple of {of}"), Some(next));
    }

    /// Reports a number outside a range.
    fn report_range(&mut self, rule: &Explained, name: &str, value: i128, least: i128, most: i128) {
        let nearest = value.clamp(least, most);
        let message = format!("{name} = {value} is not within {least} to {most}");
        self.report(rule, message, Some(format!("{nearest} is the nearest that is")));
    }
}
