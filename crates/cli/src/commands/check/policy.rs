//! Which diagnostics count, and as what: codes that are allowed or denied, and what warnings are.

use super::config::Config;
use crate::commands::{CommandError, explain};
use clap::ValueEnum;
use serde::Deserialize;
use softwarp::diagnostic::{Code, Diagnostic, Severity};
use std::collections::BTreeMap;

/// What warnings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Warnings {
    /// Not reported
    Allow,
    /// Reported; they do not change the exit code
    Warn,
    /// Errors
    #[serde(alias = "deny")]
    #[value(alias = "deny")]
    Error,
}

/// A diagnostic with the severity that it has here.
#[derive(Debug)]
pub struct Finding {
    pub diagnostic: Diagnostic,
    pub severity: Severity,
}

/// What to do with each code.
#[derive(Debug)]
pub struct Policy {
    warnings: Warnings,
    codes: BTreeMap<Code, Warnings>,
}

impl Policy {
    /// The policy of the arguments, and of a configuration where these say nothing.
    pub fn new(
        config: &Config,
        warnings: Option<Warnings>,
        allow: &[String],
        deny: &[String],
    ) -> Result<Policy, CommandError> {
        let mut codes = BTreeMap::new();
        // What comes later counts: arguments, and what is denied.
        for (names, what) in [
            (&config.allow[..], Warnings::Allow),
            (&config.deny[..], Warnings::Error),
            (allow, Warnings::Allow),
            (deny, Warnings::Error),
        ] {
            for name in names {
                let code = explain::code(name)?;
                if what == Warnings::Allow && code.severity() == Severity::Error {
                    return Err(CommandError::Usage(format!(
                        "{code} is an error, which the assembler refuses, and cannot be allowed; a baseline passes \
                         over known errors"
                    )));
                }
                codes.insert(code, what);
            }
        }
        Ok(Policy { warnings: warnings.or(config.warnings).unwrap_or(Warnings::Warn), codes })
    }

    /// What warnings are, but for those by code.
    pub fn warnings(&self) -> Warnings {
        self.warnings
    }

    /// What the warnings of single codes are.
    pub fn codes(&self) -> &BTreeMap<Code, Warnings> {
        &self.codes
    }

    /// The diagnostics that count.
    pub fn apply(&self, diagnostics: Vec<Diagnostic>) -> Vec<Finding> {
        let finding = |diagnostic: Diagnostic| {
            let severity = match diagnostic.severity() {
                Severity::Error => Severity::Error,
                Severity::Warning => match self.codes.get(&diagnostic.code).copied().unwrap_or(self.warnings)
                {
                    Warnings::Allow => return None,
                    Warnings::Warn => Severity::Warning,
                    Warnings::Error => Severity::Error,
                },
            };
            Some(Finding { diagnostic, severity })
        };
        diagnostics.into_iter().filter_map(finding).collect()
    }
}
