//! The race sanitizer looks at every recorded program. An H200 computed with each of them what was recorded, so that they are
//! correct, but for the races that are listed here.

use crate::recorded::programs;
#[allow(dead_code, reason = "these programs are run here, not compared")]
use rayon::prelude::*;
use softwarp::vm::sanitize::Sanitize;
use softwarp_cli::run::file::LaunchFile;
use softwarp_cli::run::{Options, run};

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

/// Programs with findings, by how their names begin, and why the findings are right.
const FINDINGS: &[(&str, &str)] = &[
    ("cuda_atomics", "atomic operations for the CTA only, by several CTAs at one place"),
    (
        "cuda_gemm_cp_async",
        "shared memory is cleared by st.shared and read by wgmma, without fence.proxy.async",
    ),
    ("sred_", "lanes wait at an mbarrier that lane 0 initialises, without a barrier"),
    ("cluster_size_", "all lanes store their numbers to one place"),
    ("triton/atomics_i32_39_sm90", "atomic operations for the CTA only, by several CTAs at one place"),
    ("triton/paged_39_sm90", "lanes store sums that differ in the last bit to one place"),
    ("triton/welford_39_sm90", "lanes store sums that differ in the last bit to one place"),
];

#[test]
fn the_race_sanitizer_finds_nothing_in_recorded_programs_but_what_is_listed() {
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
            let sanitize = Sanitize { race: true, ..Sanitize::default() };
            let options = Options { sanitize, ..Options::default() };
            let ran = run(&file, &[&program.ptx], &options).ok()?;
            let finding = ran.reports.iter().flat_map(|report| &report.findings).next()?;
            let place = finding.at.place.span.text(&program.ptx);
            Some((program.name.clone(), format!("{finding}: {place}")))
        })
        .collect();
    let listed = |name: &str| FINDINGS.iter().any(|(listed, _)| name.starts_with(listed));
    let new: Vec<_> = found.iter().filter(|(name, _)| !listed(name)).collect();
    assert!(new.is_empty(), "{new:#?}");
    let is_stale = |listed: &str| !found.iter().any(|(name, _)| name.starts_with(listed));
    let stale: Vec<_> = FINDINGS.iter().filter(|(listed, _)| is_stale(listed)).collect();
    assert!(stale.is_empty(), "nothing is found any more: {stale:?}");
}
