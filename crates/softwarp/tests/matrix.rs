//! Replays the recorded matrix instructions (tests/golden/README.md says what they are), and runs the example.

use softwarp::run::{Options, differences, file::LaunchFile, run};
use softwarp::verify::programs::{Program, Verdict, judge};
use std::io::{BufRead, BufReader};
use std::path::Path;

fn programs() -> Vec<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/matrix.jsonl.gz");
    let file = std::fs::File::open(path).expect("the goldens are there");
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.expect("text")).expect("a program")).collect()
}

/// The verdicts on the programs whose names begin so, of which there are so many.
fn agree(beginning: &str, count: usize) {
    let programs: Vec<Program> =
        programs().into_iter().filter(|program| program.name.starts_with(beginning)).collect();
    assert_eq!(programs.len(), count);
    let wrong: Vec<_> = programs
        .iter()
        .map(|program| (&program.name, judge(program)))
        .filter(|(_, verdict)| *verdict != Verdict::Passed)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
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
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let text = |name: &str| std::fs::read_to_string(examples.join(name)).expect("the example");
    let launch = serde_json::from_str(&text("matmul.json")).expect("JSON");
    let file = LaunchFile::from_json(&launch).expect("a launch file");
    let ran = run(&file, &[&text("matmul.ptx")], &Options::default()).expect("it runs");
    assert_eq!(differences(&file, &ran.dumps), []);
    assert_eq!(ran.dumps.len(), 1);
}
