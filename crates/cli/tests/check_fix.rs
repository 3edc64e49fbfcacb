//! `softwarp check --fix`: what is certain is changed, what is not is left alone.

use crate::binary::{Ran, command, run as call};
use softwarp_testkit::files;

const WRONG: &str = ".version 6.0\n.target sm_90, texmod_independent\n.address_size 46\n\
.visible .entry k(.param .u64 p)\n{\n\
\treg .b32 %r<9>;\n\
\t.reg .b46 %rd<4>;\n\
\t.reg .fl32 %f<4>;\n\
\tld.parm.u64 %rd1, [p];\n\
\tld.global.u32 %r1, [%rd1]\n\
\tsbu.s32 %r2, %r1, 1;\n\
\tmul.s32.lo %r3, %r2, %r2;\n\
\tfma.rn.f23 %f1, %f2, %f3, %f1;\n\
\tadd.s32.s32 %r4, %r1, %r2;\n\
\tshfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\n\
\tad.s32 %r4, %r1, %r2\n\
}\n";

const MENDED: &str = ".version 7.8\n.target sm_90, texmode_independent\n.address_size 64\n\
.visible .entry k(.param .u64 p)\n{\n\
\t.reg .b32 %r<9>;\n\
\t.reg .b46 %rd<4>;\n\
\t.reg .f32 %f<4>;\n\
\tld.param.u64 %rd1, [p];\n\
\tld.global.u32 %r1, [%rd1];\n\
\tsub.s32 %r2, %r1, 1;\n\
\tmul.lo.s32 %r3, %r2, %r2;\n\
\tfma.rn.f32 %f1, %f2, %f3, %f1;\n\
\tadd.s32 %r4, %r1, %r2;\n\
\tshfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\n\
\tad.s32 %r4, %r1, %r2;\n\
}\n";

fn run(folder: &std::path::Path, args: &[&str], input: &str) -> Ran {
    call(command(folder, args), input.as_bytes())
}

#[test]
fn certain_mistakes_are_mended_and_others_stay() {
    let folder = files::folder(&[("a.ptx", WRONG)]);
    let ran = run(folder.path(), &["check", "--fix", "a.ptx"], "");
    let text = std::fs::read_to_string(folder.path().join("a.ptx")).expect("text");
    assert_eq!(text, MENDED, "{}", ran.stderr);
    // Two numbers are as near to 46, and two opcodes to `ad`: nothing is guessed.
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("`.b46`") && ran.stdout.contains("`ad` is not"), "{}", ran.stdout);
    for line in [
        "a.ptx:1: E0105: raise `.version` to 7.8",
        "a.ptx:2: E0104: write `texmode_independent`",
        "a.ptx:3: E0107: write `.address_size 64`",
        "a.ptx:6: E0010: write `.reg`",
        "a.ptx:8: E0012: write `.f32`",
        "a.ptx:9: E0502: write `ld.param.u64`",
        "a.ptx:11: E0501: write `sub.s32`",
        "a.ptx:12: E0507: write `mul.lo.s32`",
        "a.ptx:14: E0504: write `add.s32`",
    ] {
        assert!(ran.stderr.lines().any(|said| said == line), "{line}:\n{}", ran.stderr);
    }
    // Nothing more is certain: the file stays.
    let ran = run(folder.path(), &["check", "--fix", "a.ptx"], "");
    assert!(!ran.stderr.contains("made in"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(folder.path().join("a.ptx")).expect("text"), MENDED);
}

#[test]
fn a_dry_run_shows_a_diff_and_changes_nothing() {
    let folder = files::folder(&[("a.ptx", WRONG)]);
    let ran = run(folder.path(), &["check", "--fix", "--dry-run", "a.ptx"], "");
    assert_eq!(std::fs::read_to_string(folder.path().join("a.ptx")).expect("text"), WRONG);
    assert!(
        ran.stdout.starts_with("--- a.ptx\n+++ a.ptx\n@@ -1,17 +1,17 @@\n-.version 6.0\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("\n-\tmul.s32.lo %r3, %r2, %r2;\n")
            || ran.stdout.contains("\n+\tmul.lo.s32 %r3, %r2, %r2;\n")
    );
    assert!(ran.stderr.contains("possible in a.ptx"), "{}", ran.stderr);
}

#[test]
fn standard_input_comes_out_mended() {
    let folder = files::folder(&[]);
    let ran = run(folder.path(), &["check", "--fix", "-"], WRONG);
    assert_eq!(ran.stdout, MENDED);
    assert!(ran.stderr.contains("`ad` is not an instruction"), "{}", ran.stderr);
    let clean = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";
    let ran = run(folder.path(), &["check", "--fix", "-"], clean);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, clean));
}

#[test]
fn programs_get_the_fixes() {
    let folder = files::folder(&[("a.ptx", WRONG)]);
    let ran = run(folder.path(), &["check", "--json", "a.ptx"], "");
    let rows = ran.rows();
    let size = rows.iter().find(|row| row["code"] == "E0107").expect("it is there");
    let edit = serde_json::json!({"line": 3, "column": 1, "end_line": 3, "end_column": 17, "text": ".address_size 64"});
    assert_eq!(size["fix"], serde_json::json!({"message": "write `.address_size 64`", "edits": [edit]}));
    assert!(rows.iter().any(|row| row["fix"].is_null()));
    let ran = run(folder.path(), &["check", "--format", "sarif", "a.ptx"], "");
    let log = ran.json();
    let results = log["runs"][0]["results"].as_array().expect("a list").clone();
    let size = results.iter().find(|row| row["ruleId"] == "E0107").expect("it is there");
    let change = &size["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], "a.ptx");
    assert_eq!(change["replacements"][0]["insertedContent"]["text"], ".address_size 64");
    assert_eq!(change["replacements"][0]["deletedRegion"]["startLine"], 3);
    assert!(results.iter().any(|row| row.get("fixes").is_none()));
}

#[test]
fn what_cannot_go_together_is_a_usage_error() {
    let folder = files::folder(&[("a.ptx", WRONG), ("b.cu", "int x;")]);
    for args in [
        &["check", "--fix", "--json", "-"][..],
        &["check", "--fix", "--dry-run", "--format", "sarif", "a.ptx"],
        &["check", "--dry-run", "a.ptx"],
        &["check", "--fix", "--write-baseline", "--baseline", "x", "a.ptx"],
        &["check", "--jobs", "0", "a.ptx"],
    ] {
        assert_eq!(run(folder.path(), args, WRONG).code, 2, "{args:?}");
    }
    // It cannot be PTX: nothing is compiled to be changed.
    let ran = run(folder.path(), &["check", "--fix", "b.cu"], "");
    assert!(ran.code != 0 && ran.stderr.contains("it is CUDA C++"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(folder.path().join("a.ptx")).expect("text"), WRONG);
}

#[test]
fn a_large_file_is_checked_alike_on_any_number_of_threads() {
    // More than a MiB of functions, with a mistake in one of them.
    let body = "\tadd.s32 %r1, %r2, %r3;\n".repeat(1000);
    let function = |number: usize| {
        let wrong = if number == 17 { "\tadd.f64 %r1, %r2, %r3;\n" } else { "" };
        format!(".visible .entry k{number}()\n{{\n\t.reg .b32 %r<4>;\n{body}{wrong}\tret;\n}}\n")
    };
    let text: String = (0..60).map(function).collect();
    let text = format!(".version 8.0\n.target sm_90\n.address_size 64\n{text}");
    assert!(text.len() > 1 << 20);
    let folder = files::folder(&[("large.ptx", &text)]);
    let said: Vec<(i32, String)> = ["1", "2", "5"]
        .iter()
        .map(|jobs| {
            let ran = run(folder.path(), &["check", "--jobs", jobs, "--json", "large.ptx"], "");
            (ran.code, ran.stdout)
        })
        .collect();
    assert_eq!(said[0].0, 1);
    assert_eq!(said[0].1.lines().count(), 1, "{}", said[0].1);
    assert!(said.iter().all(|one| one == &said[0]), "{said:?}");
}
