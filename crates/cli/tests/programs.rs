//! Runs the recorded programs and kernels that live in this repository (tests/golden/README.md says what they are),
//! and looks for the planted bugs.

use crate::recorded::{assert_agree, programs};
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

/// Sees every instruction, and lets all go on.
struct Onlooker;

impl softwarp::vm::debug::Debugger for Onlooker {
    fn before(&self, state: &dyn softwarp::vm::debug::State) -> softwarp::vm::debug::Control {
        assert!(state.at().lanes != 0);
        softwarp::vm::debug::Control::Continue
    }

    fn failed(&self, _state: &dyn softwarp::vm::debug::State, _fault: &softwarp::vm::fault::Fault) {}
}

#[test]
fn results_are_the_same_under_a_debugger() {
    use softwarp::vm::device::LoadOptions;
    use softwarp_cli::run::{Options, Run, file::LaunchFile};
    let all = programs("programs.jsonl.gz");
    // Every register has a row of its own, and copies are made: another program than the usual one.
    let load = LoadOptions { debug: true, ..LoadOptions::default() };
    let mut ran = 0;
    for program in all.iter().filter(|one| !one.name.starts_with("bugs/")).step_by(3) {
        let Ok(file) = LaunchFile::from_json(&program.launch) else { continue };
        let mut machine = Run::prepare(&file, &[&program.ptx], load).expect("it loads");
        let options = Options { debugger: Some(&Onlooker), ..Options::default() };
        for index in 0..file.launches.len() {
            machine.launch(&file, index, &options).expect("it runs");
        }
        assert_eq!(machine.differences(&file).expect("memory"), [], "{}", program.name);
        ran += 1;
    }
    assert!(ran > 80, "{ran} programs");
}
