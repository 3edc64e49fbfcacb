//! Runs the recorded kernels of Triton (tests/golden/README.md says what they are), and what was found out with them:
//! who wins when lanes store to one place, and which products are fused into sums.

use crate::recorded::{assert_agree, programs};
use softwarp::vm::sanitize::Sanitize;
use softwarp_cli::run::file::LaunchFile;
use softwarp_cli::run::{Options, run};

#[test]
fn kernels_of_triton_compute_what_an_h200_did() {
    assert_agree(&programs("triton.jsonl.gz"), 64);
}

#[test]
fn of_lanes_that_store_to_one_place_the_same_wins_as_on_an_h200() {
    assert_agree(&programs("places.jsonl.gz"), 24);
}

#[test]
fn products_are_fused_into_sums_where_the_assembler_does_it() {
    assert_agree(&programs("contractions.jsonl.gz"), 9);
}

/// Kernels whose lanes store sums that differ in the last bit to one place, where what remains is up to the hardware; and
/// one with atomic operations for the CTA only, by several CTAs at one place.
const RACING: &[&str] = &["triton/paged_39_sm90", "triton/welford_39_sm90", "triton/atomics_i32_39_sm90"];

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
