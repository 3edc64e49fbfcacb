//! Replays the recorded matrix instructions (tests/golden/README.md says what they are), and runs the example.

use crate::recorded::{assert_agree, programs};
use softwarp_cli::run::{Options, differences, file::LaunchFile, run};

/// The programs whose names begin with a prefix compute what was recorded, and there are as many as expected.
fn agree(beginning: &str, count: usize) {
    let mut programs = programs("matrix.jsonl.gz");
    programs.retain(|program| program.name.starts_with(beginning));
    assert_agree(&programs, count);
}

#[test]
fn products_of_a_warp_are_an_h200s() {
    agree("mma_", 65);
}

#[test]
fn fragments_in_memory_and_their_products_are_an_h200s() {
    agree("wmma_", 36);
}

#[test]
fn tiles_are_loaded_stored_and_transposed_as_by_an_h200() {
    agree("matrix_", 6);
}

#[test]
fn products_of_a_warpgroup_are_an_h200s() {
    agree("wgmma_", 23);
}

#[test]
fn the_example_multiplies_two_matrices() {
    let examples = softwarp_testkit::examples();
    let text = |name: &str| std::fs::read_to_string(examples.join(name)).expect("the example");
    let launch = serde_json::from_str(&text("matmul.json")).expect("JSON");
    let file = LaunchFile::from_json(&launch).expect("a launch file");
    let ran = run(&file, &[&text("matmul.ptx")], &Options::default()).expect("it runs");
    assert_eq!(differences(&file, &ran.dumps), []);
    assert_eq!(ran.dumps.len(), 1);
}
