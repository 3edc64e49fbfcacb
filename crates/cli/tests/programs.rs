//! Runs the recorded programs and kernels that live in this repository (tests/golden/README.md says what they are),
//! and looks for the planted bugs.

mod recorded;

use recorded::{assert_agree, programs};
use softwarp_cli::verify::programs::{Verdict, verdict};

#[test]
fn recorded_programs_compute_what_an_h200_did() {
    assert_agree(&programs("programs.jsonl.gz"), 390);
}

#[test]
fn a_wrong_result_is_found() {
    let mut program = programs("programs.jsonl.gz")
        .into_iter()
        .find(|one| one.name == "align_element_spacing")
        .expect("it is recorded");
    assert_eq!(verdict(&program), Verdict::Passed);
    program.launch["expect"]["out"] = "030000000001020305000001".into();
    let Verdict::Failed(failure) = verdict(&program) else { panic!("it must differ") };
    let words = format!("{failure:?}");
    assert!(
        words.contains("1 of 3 elements differ, first element 2: 0x00000005, expected 0x01000005"),
        "{words}"
    );
}

#[test]
fn a_bug_that_is_not_found_is_told_and_a_control_that_faults_too() {
    let all = programs("programs.jsonl.gz");
    let named = |name: &str| all.iter().find(|one| one.name == name).expect("it is recorded").clone();
    let mut control = named("bugs/mem_ok");
    control.launch["bug"] = "out of bounds write, global".into();
    assert!(matches!(verdict(&control), Verdict::Failed(_)));
    let mut bug = named("bugs/mem_global_write_past");
    assert_eq!(verdict(&bug), Verdict::Passed);
    bug.launch["bug"] = serde_json::Value::Null;
    assert!(matches!(verdict(&bug), Verdict::Failed(_)));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    use softwarp_cli::run::{Options, differences, file::LaunchFile, run};
    for name in
        ["kernels/scan_lookback", "kernels/hash_table", "kernels/reduce_f32", "kernels/bitonic_shared"]
    {
        let program =
            programs("programs.jsonl.gz").into_iter().find(|one| one.name == name).expect("it is recorded");
        let file = LaunchFile::from_json(&program.launch).expect("a launch file");
        for threads in [1, 2, 7] {
            let options = Options { threads: Some(threads), ..Options::default() };
            let ran = run(&file, &[&program.ptx], &options).expect("it runs");
            assert_eq!(differences(&file, &ran.dumps), [], "{name} on {threads} threads");
        }
    }
}
