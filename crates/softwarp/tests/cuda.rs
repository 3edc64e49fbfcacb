//! Runs the recorded kernels of CUDA programs (tests/golden/README.md says what they are).

use softwarp::run::file::LaunchFile;
use softwarp::run::{Options, run};
use softwarp::verify::programs::{Program, Verdict, judge};
use softwarp::vm::sanitize::{Finding, Sanitize};
use std::io::{BufRead, BufReader};
use std::path::Path;

fn programs() -> Vec<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cuda.jsonl.gz");
    let file = std::fs::File::open(path).expect("the goldens are there");
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.expect("text")).expect("a program")).collect()
}

#[test]
fn recorded_kernels_of_cuda_programs_compute_what_an_h200_did() {
    let programs = programs();
    assert_eq!(programs.len(), 22);
    for program in programs {
        let verdict = judge(&program);
        assert!(matches!(verdict, Verdict::Passed), "{}: {verdict:?}", program.name);
    }
}

/// What the sanitizers for order find in a program.
fn found(name: &str) -> Vec<Finding> {
    let programs = programs();
    let program = programs.iter().find(|program| program.name == name).expect("it is there");
    let file = LaunchFile::from_json(&program.launch).expect("a launch file");
    let options = Options { sanitize: Sanitize { init: false, ..Sanitize::ALL }, ..Options::default() };
    let ran = run(&file, &[&program.ptx], &options).expect("it runs");
    ran.reports.into_iter().flat_map(|report| report.findings).collect()
}

#[test]
fn the_sanitizers_find_neither_races_nor_missed_barriers_in_pipelines_groups_and_gemms() {
    for name in
        ["pipelines", "groups", "cub_blocks", "cute_copies", "gemm_s4", "gemm_sparse", "gemm_fp8", "gemm_s8"]
    {
        assert_eq!(found(&format!("cuda_{name}")), [], "{name}");
    }
}
