//! `softwarp run` by line: `--coverage`, `--stats=lines`, and the source lines of faults.

use crate::binary;
use crate::binary::{Ran, run as call};
use crate::files;
use crate::files::with_headers as folder;
use serde_json::json;
use softwarp_testkit::examples;
use std::path::Path;

fn run(folder: &Path, args: &[&str]) -> Ran {
    call(binary::command(folder, &[&["run"], args].concat()), b"")
}

/// Two kernels, one of which calls a function and has a branch that no lane takes.
const TWO: &str = ".file 1 \"two.cu\"
.func (.reg .b32 %out) add(.reg .b32 %in)
{
.loc 1 2 1
add.u32 %out, %in, 1;
ret;
}
.visible .entry first()
{
.reg .b32 %r;
.reg .pred %p;
.loc 1 10 1
mov.u32 %r, %tid.x;
setp.gt.u32 %p, %r, 1000;
.loc 1 11 1
@%p bra FAR;
call (%r), add, (%r);
ret;
FAR:
.loc 1 12 1
trap;
}
.visible .entry second()
{
.loc 1 20 1
ret;
}
";

#[test]
fn coverage_has_the_lines_of_the_ptx_and_of_its_source() {
    let launch = json!({"kernel": "first", "grid": [3, 1, 1], "block": [64, 1, 1], "args": []});
    let launches = json!({"ptx": "two.ptx", "launches": [launch.clone(), launch]}).to_string();
    let folder = folder(&[("two.ptx", TWO), ("two.json", &launches)]);
    let ran = run(folder.path(), &["two.json", "--coverage", "out.info"]);
    assert_eq!((ran.code, ran.json()), (0, json!({"ok": true, "dumps": {}})), "{}", ran.stderr);
    let text = std::fs::read_to_string(folder.path().join("out.info")).expect("it was written");
    let records: Vec<&str> = text.split_terminator("end_of_record\n").collect();
    let [ptx, source] = records[..] else { panic!("{text}") };
    assert!(ptx.starts_with("TN:\nSF:two.ptx\n"), "{ptx}");
    // Two launches of three CTAs of two warps.
    for line in
        ["FNDA:12,add\n", "FNDA:12,first\n", "FNDA:0,second\n", "FNF:3\n", "FNH:2\n", "LF:9\n", "LH:7\n"]
    {
        assert!(ptx.contains(line), "{line}: {ptx}");
    }
    assert_eq!(ptx.matches(",12\n").count(), 7, "{ptx}");
    assert_eq!(
        source,
        "TN:\nSF:two.cu\nFN:2,add\nFN:10,first\nFN:20,second\nFNDA:12,add\nFNDA:12,first\nFNDA:0,second\n\
         FNF:3\nFNH:2\nDA:2,24\nDA:10,24\nDA:11,36\nDA:12,0\nDA:20,0\nLF:5\nLH:3\n"
    );
}

#[test]
fn coverage_is_written_after_a_fault() {
    let text = ".visible .entry k()\n{\ntrap;\nret;\n}\n";
    let folder = folder(&[("k.ptx", text)]);
    let ran = run(folder.path(), &["k.ptx", "--block", "32", "--coverage", "out.info"]);
    assert_eq!((ran.code, &ran.json()["fault"]["kind"]), (1, &json!("trap")));
    let text = std::fs::read_to_string(folder.path().join("out.info")).expect("it was written");
    assert!(text.contains("LF:2\nLH:1\n"), "{text}");
}

#[test]
fn coverage_does_not_mix_with_the_results() {
    let ran = run(&examples(), &["saxpy.json", "--coverage", "-"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("end_of_record") && !ran.stdout.contains("\"ok\""), "{}", ran.stdout);
}

/// Loads and stores with a stride of 128 bytes, and a branch that half of the lanes take.
const STRIDES: &str = ".visible .entry k(.param .u64 p)
{
.reg .b32 %t, %o, %v;
.reg .b64 %p, %w;
.reg .pred %q;
.shared .align 4 .b8 area[4096];
ld.param.u64 %p, [p];
mov.u32 %t, %tid.x;
shl.b32 %o, %t, 7;
cvt.u64.u32 %w, %o;
add.u64 %p, %p, %w;
ld.global.u32 %v, [%p];
mov.u32 %v, area;
add.u32 %o, %v, %o;
st.shared.u32 [%o], %t;
st.shared.u32 [area], %t;
setp.lt.u32 %q, %t, 16;
@%q bra END;
st.global.u32 [%p], %t;
END: ret;
}
";

#[test]
fn lines_have_lanes_sectors_and_conflicts() {
    let folder = folder(&[("k.ptx", STRIDES)]);
    let args = ["k.ptx", "--block", "32", "--arg", "buffer:p=zero:4096", "--stats=lines"];
    let ran = run(folder.path(), &args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines = ran.json()["stats"]["by_line"].clone();
    let row = |text: &str| {
        let rows = lines.as_array().expect("a list");
        rows.iter().find(|row| row["text"] == text).unwrap_or_else(|| panic!("{text}: {lines}")).clone()
    };
    assert_eq!(row("ld.global.u32 %v, [%p];")["global"], json!({"requests": 1, "sectors": 32}));
    assert_eq!(row("st.shared.u32 [%o], %t;")["shared"], json!({"requests": 1, "bank_conflicts": 31}));
    assert_eq!(row("st.shared.u32 [area], %t;")["shared"], json!({"requests": 1, "bank_conflicts": 0}));
    assert_eq!(row("@%q bra END;")["divergent_branches"], 1);
    let store = row("st.global.u32 [%p], %t;");
    assert_eq!((&store["warp"], &store["thread"]), (&json!(1), &json!(16)));
    assert_eq!(store["global"]["sectors"], 16);
    assert!(
        ran.stderr.contains("  lanes  divergent  sectors/request  bank conflicts  instruction\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn lines_name_the_source_and_go_with_a_trace() {
    let sum = ["sum.ptx", "--block", "128", "--arg", "buffer:x=f32:1*128", "--arg", "u32:128"];
    let rest = ["--arg", "buffer:s=zero:4", "--stats=lines", "--trace", "0:0"];
    let ran = run(&examples().join("exec"), &[&sum[..], &rest].concat());
    let lines = ran.json()["stats"]["by_line"].clone();
    let rows = lines.as_array().expect("a list");
    let atomic = rows.iter().find(|row| row["line"] == 95).expect("the line");
    assert_eq!(atomic["source"], json!({"file": "sm_20_atomic_functions.hpp", "line": 84, "column": 3}));
    let parted: u64 = rows.iter().filter_map(|row| row["divergent_branches"].as_u64()).sum();
    assert_eq!(ran.json()["stats"]["divergent_branches"], parted);
    assert!(ran.stderr.contains("0,0,0:0,0,0     30  ld.param.u64"), "{}", ran.stderr);
}

/// A fault in a function that was inlined into another, which was inlined into the kernel.
const INLINED: &str = ".visible .entry k()
{
.loc 1 3 0
.loc 1 4 5
.loc 2 20 3, function_name $L__outer, inlined_at 1 4 5
.loc 2 10 9, function_name $L__inner+1, inlined_at 2 20 3
trap;
ret;
}
.file 1 \"kernel.cu\"
.file 2 \"missing.h\"
.section .debug_str
{
$L__outer:
.b8 95,90,53,111,117,116,101,114,102 // _Z5outerf
.b8 0
$L__inner:
.b8 120,105,110,110,101,114,0
}
";

#[test]
fn a_fault_shows_the_kernels_line_and_inlined_functions() {
    let source = "// A kernel.\n\n__global__ void k() {\n    outer(1.0f);\n}\n";
    let folder = folder(&[("k.ptx", INLINED), ("kernel.cu", source)]);
    let ran = run(folder.path(), &["k.ptx"]);
    let notes = "   = note: from kernel.cu:4:5: outer(1.0f);\n   = note: inlined `outer` at missing.h:20:3\n   \
        = note: inlined `inner` at missing.h:10:9\n";
    assert!(ran.stderr.contains(notes), "{}", ran.stderr);
    let fault = &ran.json()["fault"];
    assert_eq!(fault["source"], json!({"file": "missing.h", "line": 10, "column": 9}));
    assert_eq!(
        fault["source_stack"],
        json!([
            {"file": "kernel.cu", "line": 4, "column": 5, "text": "outer(1.0f);"},
            {"file": "missing.h", "line": 20, "column": 3, "function": "outer"},
            {"file": "missing.h", "line": 10, "column": 9, "function": "inner"},
        ])
    );
}

#[test]
fn findings_show_inlined_functions_and_source_beside_the_ptx() {
    let ran = run(
        examples().parent().expect("a folder"),
        &[
            "examples/exec/sum_race.ptx",
            "--block",
            "128",
            "--arg",
            "buffer:x=f32:1*128",
            "--arg",
            "u32:128",
            "--arg",
            "buffer:s=zero:4",
            "--sanitize",
            "race",
        ],
    );
    let finding = &ran.json()["findings"][0];
    assert_eq!(finding["at"]["source"]["file"], "sum_race.cu", "{}", ran.stdout);
    let text = finding["at"]["source"]["text"].as_str().expect("the source lies beside the PTX");
    assert!(ran.stderr.contains(&format!(": {text}\n")), "{}", ran.stderr);
}

#[test]
fn only_programs_are_read() {
    for (name, shown) in [("secret.txt", false), ("kernel", false), ("kernel.py", true)] {
        let ptx = format!(".visible .entry k()\n{{\n.loc 1 1 1\ntrap;\n}}\n.file 1 \"{name}\"\n");
        let folder = folder(&[("k.ptx", &ptx), (name, "the first line\n")]);
        let ran = run(folder.path(), &["k.ptx"]);
        assert_eq!(ran.json()["fault"]["source"]["file"], name);
        assert_eq!(ran.stderr.contains("the first line"), shown, "{}", ran.stderr);
    }
}

/// Of the transcripts with `sum.ptx`, every line that is shown is printed.
#[test]
fn the_documentation_shows_what_is_printed() {
    let page = std::fs::read_to_string(softwarp_testkit::repository("docs/running.md")).expect("the page");
    let folder = files::with_headers(&[]);
    std::fs::create_dir_all(folder.path().join("examples/exec")).expect("a folder");
    for name in ["examples/exec/sum.ptx", "examples/exec/sum.cu"] {
        std::fs::copy(softwarp_testkit::repository(name), folder.path().join(name)).expect("copied");
    }
    let mut count = 0;
    for transcript in page.split("    $ softwarp run examples/exec/sum.ptx").skip(1) {
        let shown = transcript.split("\n\n").next().expect("a part").replace("\\\n", " ");
        let (arguments, lines) = shown.split_once('\n').expect("a line");
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let ran = run(folder.path(), &[&["examples/exec/sum.ptx"], &arguments[..]].concat());
        let coverage = std::fs::read_to_string(folder.path().join("sum.info")).unwrap_or_default();
        for line in lines.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)) {
            let printed = ran.stderr.lines().chain(coverage.lines()).any(|one| one == line);
            assert!(printed || line == "…" || line.starts_with("$ cat "), "{line}\n{}", ran.stderr);
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}
