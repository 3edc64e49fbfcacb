//! Runs recorded programs and compares what they compute with what a GPU did.
//!
//! A program is a module and its launch file ([`crate::run::file`]), beside one another in a folder or in one row.
//! With `expect`, the results must be the same by the rule `compare`; with `bug`, the machine must find it, and
//! without either a program must just run. What the machine refuses to load is not run, and told.

use super::golden::GoldenError;
use super::{Failure, Outcome, Refused, Report};
use crate::run::file::LaunchFile;
use crate::run::{Options, RunError, differences, run};
use crate::vm::device::LaunchError;
use crate::vm::fault::FaultKind;
use crate::vm::sanitize::Sanitize;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The longest that one launch may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// A module and its launch file.
#[derive(Clone, Debug, Deserialize)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// The module's text.
    pub ptx: String,
    /// The launch file.
    pub launch: Json,
}

/// Whether a row of a golden file is a program.
pub fn is_known(row: &Json) -> bool {
    ["name", "ptx", "launch"].iter().all(|key| row.get(key).is_some())
}

/// Whether a file in a folder is a launch file: JSON with a module beside it.
pub fn is_launch_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json") && path.with_extension("ptx").is_file()
}

/// Reads a launch file and the module that it names.
pub fn read(path: &Path, mut from: File) -> Result<Program, GoldenError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| GoldenError::Io(path, error)
    };
    let mut text = String::new();
    from.read_to_string(&mut text).map_err(io(path))?;
    let launch: Json = serde_json::from_str(&text)
        .map_err(|error| GoldenError::Line(path.to_owned(), error.line(), error.to_string()))?;
    if launch.get("launches").is_none() {
        return Err(GoldenError::Kind(path.to_owned()));
    }
    let module = match launch.get("ptx").and_then(Json::as_str) {
        Some(name) => path.with_file_name(name),
        None => path.with_extension("ptx"),
    };
    let ptx = std::fs::read_to_string(&module).map_err(io(&module))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Program { name, ptx, launch })
}

/// What a program came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It computes what was recorded.
    Passed,
    /// It does not.
    Failed(Failure),
    /// The machine refuses it, for this reason.
    Refused(String),
}

/// Runs programs, on all cores, and adds what they came to.
pub fn replay(programs: &[(PathBuf, Program)], report: &mut Report, progress: &(dyn Fn(u64, u64) + Sync)) {
    let done = AtomicU64::new(0);
    let verdict = |(_, program): &(PathBuf, Program)| {
        let verdict = judge(program);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, programs.len() as u64);
        verdict
    };
    let verdicts: Vec<Verdict> = programs.par_iter().map(verdict).collect();
    for ((file, program), verdict) in programs.iter().zip(verdicts) {
        let (file, name) = (file.clone(), program.name.clone());
        let failure = match verdict {
            Verdict::Refused(why) => {
                report.refused.push(Refused { file, name, why });
                continue;
            }
            Verdict::Passed => None,
            Verdict::Failed(failure) => Some(failure),
        };
        report.outcomes.push(Outcome { file, form: name, failure });
    }
}

/// Runs a program and compares.
pub fn judge(program: &Program) -> Verdict {
    let file = match LaunchFile::from_json(&program.launch) {
        Ok(file) => file,
        Err(error) => return Verdict::Failed(Failure::Unusable(error.to_string())),
    };
    // Bugs and their controls are looked at as closely as possible: one must be found, the other not.
    let sanitize = if file.tool.is_some() { Sanitize::ALL } else { Sanitize::default() };
    // Programs run beside one another.
    let options = Options { threads: Some(1), most_time: Some(PATIENCE), sanitize, ..Options::default() };
    let words =
        |expected: &str, got: String| Verdict::Failed(Failure::Words { expected: expected.to_owned(), got });
    let outcome = run(&file, &[&program.ptx], &options);
    if let Err(error) = &outcome
        && let Some(why) = refusal(error)
    {
        return Verdict::Refused(why);
    }
    match (outcome, &file.bug) {
        (Err(RunError::Launch { error: LaunchError::Fault(fault), .. }), Some(bug)) => match &fault.kind {
            FaultKind::Access(_) => Verdict::Passed,
            _ => words(bug, fault.to_string()),
        },
        (Err(error), _) => words("a result", error.to_string()),
        (Ok(ran), bug) if ran.reports.iter().any(|report| !report.findings.is_empty()) != bug.is_some() => {
            let found = ran.reports.iter().flat_map(|report| &report.findings).next();
            let found = found.map_or("nothing was found".to_owned(), ToString::to_string);
            words(bug.as_deref().unwrap_or("nothing to be found"), found)
        }
        (Ok(_), Some(_)) => Verdict::Passed,
        (Ok(ran), None) => {
            let differing = differences(&file, &ran.dumps);
            match differing.first() {
                None => Verdict::Passed,
                Some((name, difference)) => words("other results", format!("`{name}`: {difference}")),
            }
        }
    }
}

/// Why the machine refuses a program, if it does.
fn refusal(error: &RunError) -> Option<String> {
    match error {
        RunError::Launch { error: LaunchError::Unsupported(list), .. } => {
            let reasons: BTreeSet<&str> = list.iter().map(|one| one.what.as_str()).collect();
            let more = reasons.len().saturating_sub(SHOWN);
            let more = if more == 0 { String::new() } else { format!("; and {more} more") };
            let shown: Vec<&str> = reasons.into_iter().take(SHOWN).collect();
            Some(shown.join("; ") + &more)
        }
        _ => None,
    }
}

/// How many reasons are told.
const SHOWN: usize = 3;
