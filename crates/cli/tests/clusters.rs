//! Runs the recorded programs about clusters (tests/golden/README.md says what they are), and the example.

use crate::recorded::{assert_agree, programs};
use softwarp::vm::sanitize::Sanitize;
use softwarp_cli::run::file::LaunchFile;
use softwarp_cli::run::{Options, differences, run};

fn example(name: &str) -> (LaunchFile, String) {
    let path = softwarp_testkit::examples().join(name);
    let read = |end: &str| std::fs::read_to_string(path.with_extension(end)).expect("the example is there");
    (LaunchFile::parse(&read("json")).expect("a launch file"), read("ptx"))
}

#[test]
fn recorded_programs_about_clusters_compute_what_an_h200_did() {
    assert_agree(&programs("clusters.jsonl.gz"), 37);
}

/// Programs whose threads never use the same memory without order. (The others write the same from all threads.)
const ORDERED: &[&str] = &[
    "cluster_bar_exited",
    "cluster_bar_split",
    "cluster_dsmem_float",
    "cluster_dsmem_lanes",
    "cluster_dsmem_subnormal",
    "cluster_flag",
    "cluster_func_addr",
    "cluster_generic",
    "cluster_rounds",
];

#[test]
fn the_sanitizers_find_nothing_in_programs_whose_clusters_keep_order() {
    let programs =
        programs("clusters.jsonl.gz").into_iter().filter(|program| ORDERED.contains(&program.name.as_str()));
    let found = programs.map(|program| {
        let file = LaunchFile::from_json(&program.launch).expect("a launch file");
        let options = Options { sanitize: Sanitize::ALL, ..Options::default() };
        let ran = run(&file, &[&program.ptx], &options).expect("it runs");
        let findings: Vec<_> = ran.reports.into_iter().flat_map(|report| report.findings).collect();
        assert!(findings.is_empty(), "{}: {findings:?}", program.name);
    });
    assert_eq!(found.count(), ORDERED.len());
}

#[test]
fn the_example_of_clusters_and_the_one_of_multicast_memory_compute_what_they_say() {
    for name in ["cluster", "multimem"] {
        let (file, source) = example(name);
        let options = Options { sanitize: Sanitize::ALL, ..Options::default() };
        let ran = run(&file, &[&source], &options).expect("it runs");
        assert!(!file.expect.is_empty());
        assert_eq!(differences(&file, &ran.dumps), [], "{name}");
        assert!(ran.reports.iter().all(|report| report.findings.is_empty()), "{:?}", ran.reports);
    }
}
