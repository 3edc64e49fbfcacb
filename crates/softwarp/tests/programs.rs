//! Runs the recorded programs and kernels that live in this repository (tests/golden/README.md says what they are),
//! and looks for the planted bugs.

use softwarp::verify::programs::{Program, Verdict, judge};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

fn programs() -> Vec<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/programs.jsonl.gz");
    let file = std::fs::File::open(path).expect("the goldens are there");
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    lines.map(|line| serde_json::from_str(&line.expect("text")).expect("a program")).collect()
}

fn verdicts() -> BTreeMap<String, Verdict> {
    programs().into_iter().map(|program| (program.name.clone(), judge(&program))).collect()
}

#[test]
fn recorded_programs_compute_what_an_h200_did() {
    let verdicts = verdicts();
    assert_eq!(verdicts.len(), 390);
    let others: Vec<_> = verdicts.iter().filter(|(_, verdict)| **verdict != Verdict::Passed).collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn a_wrong_result_is_found() {
    let mut program =
        programs().into_iter().find(|one| one.name == "align_element_spacing").expect("it is recorded");
    assert_eq!(judge(&program), Verdict::Passed);
    program.launch["expect"]["out"] = "030000000001020305000001".into();
    let Verdict::Failed(failure) = judge(&program) else { panic!("it must differ") };
    let words = format!("{failure:?}");
    assert!(
        words.contains("1 of 3 elements differ, first element 2: 0x00000005, expected 0x01000005"),
        "{words}"
    );
}

#[test]
fn a_bug_that_is_not_found_is_told_and_a_control_that_faults_too() {
    let all = programs();
    let named = |name: &str| all.iter().find(|one| one.name == name).expect("it is recorded").clone();
    let mut control = named("bugs/mem_ok");
    control.launch["bug"] = "out of bounds write, global".into();
    assert!(matches!(judge(&control), Verdict::Failed(_)));
    let mut bug = named("bugs/mem_global_write_past");
    assert_eq!(judge(&bug), Verdict::Passed);
    bug.launch["bug"] = serde_json::Value::Null;
    assert!(matches!(judge(&bug), Verdict::Failed(_)));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    use softwarp::run::{Options, differences, file::LaunchFile, run};
    for name in
        ["kernels/scan_lookback", "kernels/hash_table", "kernels/reduce_f32", "kernels/bitonic_shared"]
    {
        let program = programs().into_iter().find(|one| one.name == name).expect("it is recorded");
        let file = LaunchFile::from_json(&program.launch).expect("a launch file");
        for threads in [1, 2, 7] {
            let options = Options { threads: Some(threads), ..Options::default() };
            let ran = run(&file, &[&program.ptx], &options).expect("it runs");
            assert_eq!(differences(&file, &ran.dumps), [], "{name} on {threads} threads");
        }
    }
}
