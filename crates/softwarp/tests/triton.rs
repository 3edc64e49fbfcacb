//! Runs the recorded kernels of Triton (tests/golden/README.md says what they are), and what was found out with them:
//! who wins when lanes store to one place, and which products are fused into sums.

use softwarp::run::file::LaunchFile;
use softwarp::run::{Options, run};
use softwarp::verify::programs::{Program, Verdict, judge};
use softwarp::vm::sanitize::Sanitize;
use std::io::{BufRead, BufReader};
use std::path::Path;

fn programs(file: &str) -> Vec<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let file = std::fs::File::open(path).expect("the goldens are there");
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.expect("text")).expect("a program")).collect()
}

fn agree(file: &str, count: usize) {
    let programs = programs(file);
    assert_eq!(programs.len(), count);
    let wrong: Vec<_> = programs
        .iter()
        .map(|program| (&program.name, judge(program)))
        .filter(|(_, verdict)| *verdict != Verdict::Passed)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn kernels_of_triton_compute_what_an_h200_did() {
    agree("triton.jsonl.gz", 64);
}

#[test]
fn of_lanes_that_store_to_one_place_the_same_wins_as_on_an_h200() {
    agree("places.jsonl.gz", 24);
}

#[test]
fn products_are_fused_into_sums_where_the_assembler_does_it() {
    agree("contractions.jsonl.gz", 9);
}

/// Kernels whose lanes store sums that differ in the last bit to one place: what remains is up to the hardware.
const RACING: &[&str] = &["triton/paged_39_sm90", "triton/welford_39_sm90"];

#[test]
fn the_sanitizers_find_nothing_in_kernels_of_triton_but_the_races_that_are_there() {
    for program in programs("triton.jsonl.gz") {
        let file = LaunchFile::from_json(&program.launch).expect("a launch file");
        let options = Options { sanitize: Sanitize::ALL, ..Options::default() };
        let ran = run(&file, &[&program.ptx], &options).expect("it runs");
        let findings: Vec<_> = ran.reports.into_iter().flat_map(|report| report.findings).collect();
        let racing = RACING.contains(&program.name.as_str());
        assert_eq!(!findings.is_empty(), racing, "{}: {findings:?}", program.name);
    }
}
