//! Runs recorded programs and compares what they compute with what a GPU did.
//!
//! A program is a module and its launch file ([`crate::run::file`]), beside one another in a folder or in one row.
//! With `expect`, the results must be the same by the rule `compare`; with `bug`, the machine must find it, and with
//! `"bug": null` it must find nothing; one of these must be there. What the machine refuses to load is not run, and
//! told. A program that goes on for longer than its [`Limits`] fails.

use super::golden::GoldenError;
use super::{Failure, Outcome, Refused, Report, Settings};
use crate::input::{self, MOST_TEXT};
use crate::json;
use crate::run::data::Files;
use crate::run::file::{KEYS, LaunchFile};
use crate::run::{Options, Ran, Run, RunError, differences};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value as Json;
use softwarp::isa::nearest;
use softwarp::vm::device::{LaunchError, LoadOptions, Report as Launched};
use softwarp::vm::fault::FaultKind;
use softwarp::vm::sanitize::Sanitize;
use softwarp_container::{ReadError, Wanted, modules};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a program may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time for all its launches together.
    pub time: Duration,
    /// Instructions of warps of a launch.
    pub steps: Option<u64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: Duration::from_secs(300), steps: None }
    }
}

/// A module and its launch file.
#[derive(Clone, Debug, Deserialize)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// The module's text.
    pub ptx: String,
    /// The launch file.
    pub launch: Json,
    /// Where the files are that the launch file names, if it is a file itself.
    #[serde(skip)]
    pub files: Option<Files>,
    /// Whether products and sums may be contracted, where the module's file says what the assembler was told.
    #[serde(skip)]
    pub fmad: Option<bool>,
}

/// Whether a row of a golden file is a program.
pub fn is_known(row: &Json) -> bool {
    ["name", "ptx", "launch"].iter().all(|key| row.get(key).is_some())
}

/// Whether JSON without `launches` is meant to be a launch file: it has another of a launch file's keys that little
/// else has, or a misspelt `launches`.
fn is_meant(launch: &Json) -> bool {
    let Some(object) = launch.as_object() else { return false };
    let telling = ["expect", "ptx", "buffers", "dump", "compare", "globals", "bug", "sanitizer"];
    let misspelt = |key: &String| nearest(key, ["launches", "launch", "expect"]).is_some();
    object.keys().any(|key| telling.contains(&key.as_str()) || misspelt(key))
}

/// Reads the module that a launch file names.
pub fn read(path: &Path, launch: Json, settings: &Settings) -> Result<Program, GoldenError> {
    if launch.get("launches").is_none() {
        if is_known(&launch) {
            let wrong = |why: String| GoldenError::Line(path.to_owned(), 1, why);
            if let Some(why) =
                launch.as_object().and_then(|row| json::unknown(row, &["name", "ptx", "launch"]))
            {
                return Err(wrong(why));
            }
            return serde_json::from_value(launch).map_err(|error| wrong(error.to_string()));
        }
        let beside = path.with_extension("ptx").is_file();
        let why = || "a launch file without `launches`".to_owned();
        return Err(match beside || is_meant(&launch) {
            true => GoldenError::Line(
                path.to_owned(),
                1,
                launch.as_object().and_then(|file| json::unknown(file, KEYS)).unwrap_or_else(why),
            ),
            false => GoldenError::Kind(path.to_owned()),
        });
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    let stem =
        [".gz", ".json"].iter().fold(&*stem, |name, end| name.strip_suffix(end).unwrap_or(name)).to_owned();
    let name = match launch.get("ptx") {
        None | Some(Json::Null) => format!("{stem}.ptx"),
        Some(Json::String(name)) => name.clone(),
        Some(_) => return Err(GoldenError::Line(path.to_owned(), 1, "ptx: it must be a string".to_owned())),
    };
    let module = input::confined(folder, Path::new(&name), settings.allow_paths);
    let text = module.and_then(|module| input::read(&module, settings.limit(MOST_TEXT)));
    let text = text.map_err(|error| GoldenError::Input(folder.join(&name), error))?;
    let wrong = |why: String| GoldenError::Line(folder.join(&name), 1, why);
    let (ptx, fmad) = match String::from_utf8(text) {
        Ok(text) => (text, None),
        Err(error) => inside(error.as_bytes()).map_err(wrong)?,
    };
    let files = Files {
        folder: folder.to_owned(),
        any_place: settings.allow_paths,
        longest: settings.limit(input::MOST_DATA),
    };
    Ok(Program { name: stem, ptx, launch, files: Some(files), fmad })
}

/// The only PTX text inside a file (a fat binary, a cubin, or a program with these in it), and what the file says about
/// contraction.
fn inside(bytes: &[u8]) -> Result<(String, Option<bool>), String> {
    let found = modules(bytes, Wanted::Any).map_err(|error| match error {
        ReadError::NotAnImage => "the module is not UTF-8".to_owned(),
        error => error.to_string(),
    })?;
    let mut texts = found.modules.into_iter().flat_map(|module| module.texts);
    match (texts.next(), texts.next()) {
        (Some(text), None) => Ok((text.source, text.options.fmad)),
        _ => Err("there are several PTX texts in it, and one is wanted".to_owned()),
    }
}

/// What a program came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It computes what was recorded.
    Passed,
    /// It computes something else, or does not run.
    Failed(Failure),
    /// The machine refuses it, for this reason.
    Refused(String),
}

/// Runs programs, on all cores, and adds what they came to.
pub fn replay(
    programs: &[(PathBuf, Program)],
    limits: Limits,
    report: &mut Report,
    progress: &(dyn Fn(u64, u64) + Sync),
) {
    let done = AtomicU64::new(0);
    let verdict = |(_, program): &(PathBuf, Program)| {
        let verdict = verdict_within(program, limits);
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
pub fn verdict(program: &Program) -> Verdict {
    verdict_within(program, Limits::default())
}

/// Runs a program within limits and compares its results with the recorded ones.
pub fn verdict_within(program: &Program, limits: Limits) -> Verdict {
    let file = match LaunchFile::from_value(&program.launch, program.files.as_ref()) {
        Ok(file) => file,
        Err(error) => return Verdict::Failed(Failure::Unusable(error.to_string())),
    };
    if file.expect.is_empty() && file.bug.is_none() && !file.control {
        let why = "it says nothing to compare with: there is neither `expect` nor `bug`";
        return Verdict::Failed(Failure::Unusable(why.to_owned()));
    }
    let words =
        |expected: &str, got: String| Verdict::Failed(Failure::Words { expected: expected.to_owned(), got });
    let outcome = ran(&file, program, limits);
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

/// Runs the launches of a program and reads back what is expected.
fn ran(file: &LaunchFile, program: &Program, limits: Limits) -> Result<Ran, RunError> {
    // Bugs and their controls are looked at as closely as possible: one must be found, the other not.
    let looked_at = file.tool.is_some() || file.bug.is_some() || file.control;
    let sanitize = if looked_at { Sanitize::ALL } else { Sanitize::default() };
    let began = Instant::now();
    let mut load = LoadOptions { red_zones: sanitize.bounds, ..LoadOptions::default() };
    load.fidelity.contraction = program.fmad.unwrap_or(load.fidelity.contraction);
    let mut run = Run::prepare(file, &[&program.ptx], load)?;
    let mut reports: Vec<Launched> = Vec::new();
    for index in 0..file.launches.len() {
        let options = Options {
            // Programs run beside one another.
            threads: Some(1),
            most_time: Some(limits.time.saturating_sub(began.elapsed())),
            most_instructions: limits.steps,
            sanitize,
            ..Options::default()
        };
        reports.push(run.launch(file, index, &options)?);
    }
    if let Some(last) = reports.last_mut() {
        last.findings.extend(run.device().leaks());
    }
    let read = |(name, _): &(String, Vec<u8>)| Ok((name.clone(), run.read(name)?));
    let dumps = file.expect.iter().map(read).collect::<Result<_, RunError>>()?;
    Ok(Ran { reports, dumps })
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
