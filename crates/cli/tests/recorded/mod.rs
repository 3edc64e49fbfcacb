//! Recorded programs (golden/README.md says what they are), and whether we agree with them.

use softwarp_cli::verify::programs::{Program, Verdict, judge};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The programs of a file.
pub fn programs(file: &str) -> Vec<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let file = std::fs::File::open(path).expect("the goldens are there");
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.expect("text")).expect("a program")).collect()
}

/// There are a given number of programs, and all compute what was recorded.
pub fn assert_agree(programs: &[Program], count: usize) {
    assert_eq!(programs.len(), count);
    let verdicts = programs.iter().map(|program| (&program.name, judge(program)));
    let wrong: Vec<_> = verdicts.filter(|(_, verdict)| *verdict != Verdict::Passed).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
