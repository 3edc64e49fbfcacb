//! Runs the recorded programs about mbarriers and asynchronous copies (tests/golden/README.md says what they are), and
//! the example.

use crate::recorded::{assert_agree, programs};
use softwarp_cli::run::file::LaunchFile;
use softwarp_cli::run::{Options, differences, run};

#[test]
fn asynchronous_operations_do_what_an_h200_did() {
    assert_agree(&programs("asynchronous.jsonl.gz"), 144);
}

#[test]
fn the_example_scales_a_matrix_tile_by_tile() {
    let examples = softwarp_testkit::examples();
    let text = |name: &str| std::fs::read_to_string(examples.join(name)).expect("the example");
    let file = LaunchFile::parse(&text("tiles.json")).expect("a launch file");
    let ran = run(&file, &[&text("tiles.ptx")], &Options::default()).expect("it runs");
    assert_eq!(differences(&file, &ran.dumps), []);
    assert_eq!(ran.dumps.len(), 1);
}

#[test]
fn a_tensor_map_that_the_driver_would_refuse_is_refused_with_the_rule() {
    let examples = softwarp_testkit::examples();
    let text = std::fs::read_to_string(examples.join("tiles.json")).expect("the example");
    let wrong = text.replacen("\"box\": [64, 16]", "\"box\": [66, 16]", 1);
    assert_ne!(text, wrong);
    let file = LaunchFile::parse(&wrong).expect("a launch file");
    let module = std::fs::read_to_string(examples.join("tiles.ptx")).expect("the example");
    let error = run(&file, &[&module], &Options::default()).expect_err("refused").to_string();
    assert!(error.contains("[E1021]") && error.contains("264 bytes"), "{error}");
    let unnamed = text.replacen("\"buffer\": \"in\"", "\"comment\": \"in\"", 1);
    let error = LaunchFile::parse(&unnamed).expect_err("refused").to_string();
    assert!(error.contains("must name its `buffer`"), "{error}");
}
