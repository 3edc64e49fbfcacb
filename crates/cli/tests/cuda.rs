//! Runs the recorded kernels of CUDA programs (tests/golden/README.md says what they are).

use crate::recorded::{assert_agree, programs};
use softwarp::vm::sanitize::{Finding, Sanitize};
use softwarp_cli::run::file::LaunchFile;
use softwarp_cli::run::{Options, run};

#[test]
fn recorded_kernels_of_cuda_programs_compute_what_an_h200_did() {
    assert_agree(&programs("cuda.jsonl.gz"), 22);
}

/// What the sanitizers for order find in a program.
fn found(name: &str) -> Vec<Finding> {
    let programs = programs("cuda.jsonl.gz");
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
