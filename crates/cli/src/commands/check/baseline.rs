//! A baseline: findings that are known, and that a check passes over.
//!
//! The file is JSON: `{"version": 1, "findings": [{"file", "code", "message", "count"}]}`. Files are named from the
//! baseline's folder on. Lines are not in it, so that changes elsewhere in a file do not matter; a finding that occurs
//! more often than it is counted is reported.

use super::policy::Finding;
use crate::commands::files::{self, Output};
use crate::commands::{CommandError, sources};
use crate::input::MOST_JSON;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The version of the file's format.
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    findings: Vec<Row>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    file: String,
    code: String,
    message: String,
    count: u64,
}

/// What a finding is known by within a file: its code and message.
type Key = (String, String);

/// Known findings of each file.
#[derive(Debug, Default)]
pub struct Baseline {
    files: BTreeMap<String, BTreeMap<Key, u64>>,
    /// The folder of the file, from which on others are named.
    folder: PathBuf,
}

impl Baseline {
    /// One without findings, that will lie in a file.
    pub fn empty(path: &Path) -> Baseline {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Baseline {
            files: BTreeMap::new(),
            folder: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
        }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Baseline, CommandError> {
        let bytes = files::read(path, MOST_JSON)?;
        let wrong = |why: &dyn std::fmt::Display| {
            CommandError::input(path.display(), format!("not a baseline: {why}"))
        };
        let file: File = serde_json::from_slice(&bytes).map_err(|error| wrong(&error))?;
        if file.version != VERSION {
            return Err(wrong(&format!("its version is {}, and {VERSION} is known", file.version)));
        }
        let mut baseline = Baseline::empty(path);
        for Row { file, code, message, count } in file.findings {
            *baseline.files.entry(file).or_default().entry((code, message)).or_default() += count;
        }
        Ok(baseline)
    }

    /// The name of a file in the baseline.
    fn name(&self, path: &Path) -> String {
        if sources::is_standard_input(path) {
            return "-".to_owned();
        }
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let inside = whole.strip_prefix(&self.folder).unwrap_or(path);
        inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
    }

    /// The findings of a file that are not known, and how many known ones did not occur.
    pub fn filter(&self, path: &Path, findings: Vec<Finding>) -> (Vec<Finding>, u64) {
        let mut known = self.files.get(&self.name(path)).cloned().unwrap_or_default();
        let is_new = |finding: &Finding| match known.get_mut(&key(finding)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        };
        let new = findings.into_iter().filter(is_new).collect();
        (new, known.values().sum())
    }

    /// Adds the findings of a file.
    pub fn add(&mut self, path: &Path, findings: &[Finding]) {
        let name = self.name(path);
        let known = self.files.entry(name).or_default();
        for finding in findings {
            *known.entry(key(finding)).or_default() += 1;
        }
    }

    /// How many findings are known.
    pub fn count(&self) -> u64 {
        self.files.values().flat_map(BTreeMap::values).sum()
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<(), CommandError> {
        let rows = self.files.iter().flat_map(|(file, known)| {
            known.iter().map(|((code, message), &count)| Row {
                file: file.clone(),
                code: code.clone(),
                message: message.clone(),
                count,
            })
        });
        let file = File { version: VERSION, findings: rows.collect() };
        let text =
            serde_json::to_string_pretty(&file).map_err(|error| CommandError::Io(error.to_string()))?;
        Output::write(path, format!("{text}\n").as_bytes())
    }
}

fn key(finding: &Finding) -> Key {
    (finding.diagnostic.code.0.to_owned(), finding.diagnostic.message.clone())
}
