//! The sanitizers look at every recorded program. An H200 computed with each of them what was recorded, so that they are
//! correct, but for the races that are listed here.

mod recorded;

use rayon::prelude::*;
use recorded::programs;
use softwarp::run::file::LaunchFile;
use softwarp::run::{Options, run};
use softwarp::vm::sanitize::Sanitize;

/// Where the recorded programs are.
const FILES: &[&str] = &[
    "asynchronous.jsonl.gz",
    "clusters.jsonl.gz",
    "contractions.jsonl.gz",
    "cuda.jsonl.gz",
    "lookups.jsonl.gz",
    "matrix.jsonl.gz",
    "misc.jsonl.gz",
    "programs.jsonl.gz",
    "textures.jsonl.gz",
    "triton.jsonl.gz",
];

/// Programs with findings, and why these are right.
const FINDINGS: &[(&str, &str)] = &[];

#[test]
fn the_sanitizers_find_nothing_in_recorded_programs_but_what_is_listed() {
    let programs: Vec<_> = FILES.iter().flat_map(|file| programs(file)).collect();
    assert!(programs.len() > 300, "{}", programs.len());
    let found: Vec<(String, String)> = programs
        .par_iter()
        .filter_map(|program| {
            let file = LaunchFile::from_json(&program.launch).expect("a launch file");
            if file.tool.is_some() {
                // A planted bug.
                return None;
            }
            let sanitize = Sanitize { init: true, race: true, sync: true, ..Sanitize::default() };
            let options = Options { sanitize, ..Options::default() };
            let ran = run(&file, &[&program.ptx], &options).ok()?;
            let finding = ran.reports.iter().flat_map(|report| &report.findings).next()?;
            Some((program.name.clone(), format!("{finding} {} {}", finding.kind.word(), finding.at.place.span.text(&program.ptx))))
        })
        .collect();
    let listed = |name: &str| FINDINGS.iter().any(|(listed, _)| *listed == name);
    let new: Vec<_> = found.iter().filter(|(name, _)| !listed(name)).collect();
    assert!(new.is_empty(), "{new:#?}");
    let stale: Vec<_> = FINDINGS.iter().filter(|(name, _)| !found.iter().any(|(one, _)| one == name)).collect();
    assert!(stale.is_empty(), "nothing is found any more: {stale:?}");
}
