//! `softwarp run --jit compare`, and what it writes where compiled code is wrong.

use crate::binary::{self, Ran, run as call};
use crate::files::with_headers as folder;
use serde_json::{Value as Json, json};
use softwarp_testkit::examples;
use std::path::Path;

/// Each thread adds its elements of two arrays.
const KERNELS: &str = "\
.visible .entry sum(.param .u64 x, .param .u64 y)
{
    .reg .b32 %i;
    .reg .b64 %x, %y, %at;
    .reg .f32 %a, %b;
    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    mov.u32 %i, %tid.x;
    mul.wide.u32 %at, %i, 4;
    add.u64 %x, %x, %at;
    add.u64 %y, %y, %at;
    ld.global.f32 %a, [%x];
    ld.global.f32 %b, [%y];
    add.f32 %a, %a, %b;
    st.global.f32 [%y], %a;
    ret;
}
";

const LAUNCH: &str = r#"{
  "ptx": "k.ptx",
  "launches": [{"kernel": "sum", "grid": 1, "block": 40, "args": [{"buffer": "x"}, {"buffer": "y"}]}],
  "buffers": {"x": {"init": {"f32": [1, 2, 3]}, "bytes": 160}, "y": {"init": {"f32": [0, 0, 4]}, "bytes": 160}},
  "dump": {"y": {"type": "f32"}}
}"#;

fn compare(folder: &Path, file: &str, flaw: bool) -> Ran {
    let mut command = binary::command(folder, &["run", file, "--jit", "compare"]);
    command.env("SOFTWARP_JIT_FLAW", if flaw { "1" } else { "" });
    call(command, b"")
}

/// Wrong code is found; what is printed is the interpreter's; and the folder that is left shows it again.
#[test]
fn wrong_code_is_a_finding_that_a_folder_reproduces() {
    let folder = folder(&[("k.ptx", KERNELS), ("l.json", LAUNCH)]);
    let ran = compare(folder.path(), "l.json", true);
    let told = ran.json();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let y = [&[1.0, 2.0, 7.0][..], &[0.0; 37][..]].concat();
    assert_eq!((&told["ok"], &told["dumps"]["y"]), (&json!(false), &json!(y)));
    let found = &told["findings"][0];
    let expected = json!(["jit-mismatch", "compare", "sum", [40, 1, 1], "memory", "0xe0", "0x40", true]);
    let keys = ["kind", "sanitizer", "kernel", "block", "what", "interpreted", "compiled", "written"];
    assert_eq!(json!(keys.map(|key| found[key].clone())), expected, "{found}");
    // 7 is 0x40e00000, and 3, which has nothing added, 0x40400000: byte 2 of the third element.
    assert_eq!(found["memory"]["nearest"]["name"], "y");
    assert_eq!((&found["at"]["thread"], &found["at"]["line"]), (&json!([2, 0, 0]), &json!(18)));
    assert_eq!(told["compared"]["mismatches"], 1);

    let left = told["compared"]["folders"][0].as_str().expect("a folder").to_owned();
    let left = folder.path().join(left);
    let again = compare(&left, "launch.json", true);
    let repeated = &again.json()["findings"][0];
    assert_eq!(again.code, 1, "{}", again.stderr);
    for key in ["kind", "kernel", "what", "interpreted", "compiled", "memory"] {
        match key {
            "memory" => assert_eq!(repeated[key]["address"], found[key]["address"]),
            _ => assert_eq!(repeated[key], found[key], "{key}"),
        }
    }
    // Right code does the same as the interpreter.
    let right = compare(&left, "launch.json", false);
    assert_eq!((right.code, &right.json()["compared"]["equal"]), (0, &json!(1)), "{}", right.stderr);
}

/// The examples do the same compiled and interpreted, and print what they print without comparison.
#[test]
fn the_examples_are_equal() {
    let names = ["saxpy", "matmul", "tiles", "resample", "cluster", "multimem", "blackwell"];
    for name in names {
        let file = format!("{name}.json");
        let ran = compare(&examples(), &file, false);
        let mut told = ran.json();
        assert_eq!((ran.code, &told["ok"]), (0, &json!(true)), "{name}: {}", ran.stderr);
        let compared = told["compared"].take();
        // It writes a surface.
        let not_compared = if name == "resample" { json!({"surface": 1}) } else { json!({}) };
        assert_eq!(
            (&compared["mismatches"], &compared["not_compared"]),
            (&json!(0), &not_compared),
            "{name}"
        );
        let plain = call(binary::command(&examples(), &["run", &file, "--jit", "off"]), b"").json();
        assert_eq!(told["dumps"], plain["dumps"], "{name}");
    }
}

/// What a launch file cannot have: windows that overlap, and buffers on others.
#[test]
fn addresses_that_cannot_be_are_refused() {
    let windows = |local: &str| {
        json!({
            "globals": ["0x700000000000", "0x10000000000"], "heap": ["0x720000000000", "0x80000000000"],
            "constant": ["0x7f0000000000", "0xb0000"], "parameter": ["0x7f0100000210", "0x10000"],
            "code": ["0x7f0200000000", "0x100000000"], "local": [local, "0x1000000"],
            "shared": ["0x7f4000000000", "0x100000000"],
        })
    };
    let run = |change: &dyn Fn(&mut Json)| {
        let mut file: Json = serde_json::from_str(LAUNCH).expect("JSON");
        change(&mut file);
        let folder = folder(&[("k.ptx", KERNELS), ("l.json", &file.to_string())]);
        call(binary::command(folder.path(), &["run", "l.json"]), b"")
    };
    let good = run(&|file| {
        file["windows"] = windows("0x7f3f00000000");
        file["buffers"]["x"]["address"] = "0x7fff12345600".into();
        file["contents"] = json!([{"address": "0x7fff12345604", "data": {"f32": [8]}}]);
    });
    assert_eq!(good.json()["dumps"]["y"][1], 8.0, "{}", good.stderr);
    let overlapping = run(&|file| file["windows"] = windows("0x7f0200000000"));
    assert!(overlapping.code == 1 && overlapping.stderr.contains("cannot have these windows"));
    for address in ["0x7f4000000000", "0x7f0000000000", "0x0", "0x1001", "0xffffffffffffff00"] {
        let taken = run(&|file| file["buffers"]["x"]["address"] = address.into());
        assert!(taken.code == 1 && taken.stderr.contains("cannot be mapped"), "{address}: {}", taken.stderr);
    }
    let outside = run(&|file| file["contents"] = json!([{"address": "0x10", "data": {"f32": [8]}}]));
    assert_eq!(outside.code, 1, "{}", outside.stderr);
}
