//! Recorded programs (golden/README.md says what they are), and whether we agree with them.

use softwarp_cli::verify::programs::{Program, Verdict, verdict};
use softwarp_testkit::recording;

/// The programs of a file.
pub fn programs(file: &str) -> Vec<Program> {
    recording::rows(recording::golden("cli", file)).collect()
}

/// There are a given number of programs, and all compute what was recorded.
pub fn assert_agree(programs: &[Program], count: usize) {
    assert_eq!(programs.len(), count);
    let verdicts = programs.iter().map(|program| (&program.name, verdict(program)));
    let wrong: Vec<_> = verdicts.filter(|(_, verdict)| *verdict != Verdict::Passed).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
