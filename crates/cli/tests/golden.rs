//! Replays the recorded conversions that live in this repository (tests/golden/README.md says what they are).

use softwarp_cli::verify::{Depth, Failure, verify};
use std::path::PathBuf;

fn golden(name: &str) -> PathBuf {
    softwarp_testkit::recording::golden("cli", name)
}

#[track_caller]
fn agrees(name: &str, rows: usize) {
    let report = verify(&[golden(name)], Depth::Subset, &|_, _| {}).expect("the goldens can be read");
    let failures: Vec<_> = report.outcomes.iter().filter(|outcome| outcome.failure.is_some()).collect();
    assert!(failures.is_empty(), "{failures:x?}");
    assert_eq!(report.passed(), rows);
}

// R-CVT-24…R-CVT-47, R-CVT-66…R-CVT-80, R-CVT-83…R-CVT-94: what an H200 does, form by form.
#[test]
fn single_results_of_an_h200() {
    agrees("h200/samples.jsonl.gz", 856);
}

#[test]
fn sums_of_an_h200_over_a_choice_of_inputs() {
    agrees("h200/sums.jsonl.gz", 856);
}

// R-PACK-1, R-PACK-9…R-PACK-11.
#[test]
fn packing_of_an_h200() {
    agrees("h200/pack.jsonl.gz", 8);
}

#[test]
fn single_results_of_cudas_headers() {
    agrees("cuda-headers/samples.jsonl.gz", 63);
}

#[test]
fn sums_of_cudas_headers_over_a_choice_of_inputs() {
    agrees("cuda-headers/sums.jsonl.gz", 63);
}

#[test]
fn a_wrong_sum_and_a_wrong_row_are_found() {
    let folder = softwarp_testkit::files::temporary();
    let sums: Vec<String> = (0..64).map(|_| "\"0\"".to_owned()).collect();
    let sums = format!("{{\"form\": \"cvt.f32.f16\", \"n\": 65536, \"sums\": [{}]}}\n", sums.join(", "));
    std::fs::write(folder.path().join("sums.jsonl"), sums).expect("written");
    let rows = "{\"form\": \"cvt.rni.s8.f32\", \"rows\": [[\"3f800000\", \"1\"], [\"c3000000\", \"80\"]]}\n";
    std::fs::write(folder.path().join("samples.jsonl"), rows).expect("written");
    let report = verify(&[folder.path().to_owned()], Depth::Full, &|_, _| {}).expect("read");
    assert_eq!((report.passed(), report.failed()), (0, 2));
    let [rows, sums] = &report.outcomes[..] else { panic!("two rows") };
    // -128 is ffffff80 in a 32-bit register.
    let Some(Failure::Rows(rows)) = &rows.failure else { panic!("{rows:?}") };
    assert_eq!((rows.len(), rows[0].sources[0], rows[0].got), (1, 0xc300_0000, 0xffff_ff80));
    let Some(Failure::Chunks(chunks)) = &sums.failure else { panic!("{sums:?}") };
    assert_eq!((chunks.len(), chunks[1].first, chunks[1].last), (64, 1024, 2047));
}

#[test]
fn rows_that_do_not_fit_are_named() {
    let folder = softwarp_testkit::files::temporary();
    let file = folder.path().join("x.jsonl");
    let cases = [
        ("{\"form\": \"cvt.rn.e4m3.f32\", \"rows\": []}", "e4m3"),
        ("{\"form\": \"cvt.f32.f16\", \"n\": 7, \"sums\": []}", "n is 7"),
        ("{\"form\": \"cvt.f32.f16\", \"n\": 65536, \"sums\": [\"1\"]}", "1 sums"),
        ("{\"form\": \"cvt.pack.sat.u8.s32.b32\", \"rows\": [[\"1\", \"2\"]]}", "2 values"),
        ("{\"form\": \"cvt.rs.f16x2.f32\", \"rows\": [[\"1\", \"2\", \"3\"]]}", "3 values"),
        ("{\"form\": \"cvt.rs.f16x2.f32\", \"n\": 4294967296, \"sums\": []}", "operands"),
    ];
    for (row, named) in cases {
        std::fs::write(&file, row).expect("written");
        let report = verify(std::slice::from_ref(&file), Depth::Subset, &|_, _| {}).expect("read");
        let Some(Failure::Unusable(why)) = &report.outcomes[0].failure else { panic!("{row}") };
        assert!(why.contains(named), "{row}: {why}");
    }
    for text in ["", "7\n", "{\"a\": 1}\n", "\u{0}\n"] {
        std::fs::write(&file, text).expect("written");
        assert!(verify(std::slice::from_ref(&file), Depth::Subset, &|_, _| {}).is_err());
    }
    std::fs::write(&file, "{\"form\": \"x\", \"sums\": [\"xyz\"], \"n\": 1}").expect("written");
    let error = verify(std::slice::from_ref(&file), Depth::Subset, &|_, _| {}).unwrap_err().to_string();
    assert!(error.contains("x.jsonl:1:") && error.contains("xyz"), "{error}");
}

/// Kernels of one instruction, and those in which the assembler forgets to saturate.
#[test]
fn small_kernels_of_an_h200() {
    agrees("misc.jsonl.gz", 518);
}
