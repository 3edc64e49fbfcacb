//! `softwarp run` under limits, and in other orders than the usual one.

use crate::binary;
use crate::binary::{Ran, run as call};
use crate::files::with_headers as folder;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

fn run(folder: &Path, args: &[&str]) -> Ran {
    call(binary::command(folder, &[&["run"], args].concat()), b"")
}

#[test]
fn calls_without_number_and_without_end_are_stopped() {
    let doubling: String =
        (1..40).map(|i| format!(".func f{i}() {{ call f{0}; call f{0}; ret; }}\n", i - 1)).collect();
    let text = format!(
        ".func f0() {{ ret; }}\n{doubling}.visible .entry calls() {{ call f39; ret; }}\n\
         .func g() {{ call g; ret; }}\n.visible .entry recursion() {{ call g; ret; }}\n"
    );
    let folder = folder(&[("k.ptx", &text)]);
    for (args, kind) in [
        (&["--kernel", "calls", "--steps", "1000"][..], "step_limit"),
        (&["--kernel", "calls", "--time", "0.1"], "time_limit"),
        (&["--kernel", "recursion"], "stack_overflow"),
    ] {
        let began = Instant::now();
        let ran = run(folder.path(), &[&["k.ptx", "--block", "64"], args].concat());
        assert_eq!((ran.code, &ran.json()["fault"]["kind"]), (1, &json!(kind)), "{}", ran.stderr);
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn local_memory_that_no_thread_has_is_refused() {
    let text = ".visible .entry k() { .local .b8 a[16777216]; .reg .b64 %a; mov.u64 %a, a; st.local.u8 [%a], 1; ret; }";
    let launch = r#"{"launches": [{"kernel": "k", "grid": 1, "block": 1, "args": []}]}"#;
    let folder = folder(&[("k.ptx", text), ("k.json", launch)]);
    for args in [&["k.ptx", "--block", "1024"][..], &["k.json"]] {
        let ran = run(folder.path(), args);
        assert_eq!(ran.code, 1);
        assert_eq!(
            ran.stderr,
            "error: the kernel needs 16777216 bytes of local memory for each thread, and a thread can have 523712\n"
        );
    }
}

/// A limit that the kernel exceeds by itself is its fault; one that the launch exceeds is a usage error.
#[test]
fn the_exit_code_says_who_exceeds_a_limit() {
    let own = ".shared .b8 a[300000]; .visible .entry k() { .reg .b64 %a; mov.u64 %a, a; st.shared.u8 [%a], 1; ret; }";
    let some = own.replace("300000", "30000");
    let calls = ".visible .func f() { .local .b8 a[400000]; .reg .b64 %a; mov.u64 %a, a; st.local.u8 [%a], 1; ret; }\n\
        .visible .entry k() { .local .b8 b[400000]; .reg .b64 %b; mov.u64 %b, b; st.local.u8 [%b], 1; call f; ret; }";
    let clusters = ".visible .entry k() .reqnctapercluster 5 { ret; }";
    let folder =
        folder(&[("own.ptx", own), ("some.ptx", &some), ("calls.ptx", calls), ("clusters.ptx", clusters)]);
    for (args, code, words) in [
        (&["own.ptx"][..], 1, "300000 bytes of `.shared` variables"),
        (&["some.ptx", "--shared", "300000"], 2, "shared memory"),
        (&["calls.ptx"], 1, "stack"),
        (&["clusters.ptx", "--grid", "4"], 2, "not a multiple"),
        (&["some.ptx", "--cluster", "99", "--grid", "99"], 2, "there can be"),
        (&["some.ptx", "--block", "2000"], 2, "2000"),
        (&["some.ptx", "--arg", "u32:1"], 2, "parameters"),
    ] {
        let ran = run(folder.path(), args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn memory_beyond_its_limit_is_a_fault_or_an_error() {
    let text = ".visible .entry k(.param .u64 p) { .local .b8 a[65536]; .reg .b64 %a; mov.u64 %a, a; st.local.u8 [%a], 1; ret; }";
    let folder = folder(&[("k.ptx", text)]);
    let ran = run(folder.path(), &["k.ptx", "--arg", "buffer:x=zero:2000000", "--memory", "1M"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("`x`: no room for 2000128 more bytes of host memory"), "{}", ran.stderr);
    let args = ["k.ptx", "--block", "1024", "--arg", "buffer:x=zero:16", "--memory", "16M"];
    let ran = run(folder.path(), &args);
    assert_eq!((ran.code, &ran.json()["fault"]["kind"]), (1, &json!("out_of_memory")));
    assert!(ran.stderr.contains("variables in .local memory need"), "{}", ran.stderr);
    let ran = run(folder.path(), &[&args[..6], &["1G"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = run(folder.path(), &["k.ptx", "--arg", "buffer:x=zero:16", "--memory", "much"]);
    assert!(ran.code == 2 && ran.stderr.contains("512M or 4G"), "{}", ran.stderr);
}

#[test]
fn copies_that_are_compared_count_and_dumps_go_out_in_pieces() {
    let text = ".visible .entry k(.param .u64 p) { ret; }";
    let launch = r#"{"launches": [{"kernel": "k", "grid": 1, "block": 1, "args": [{"buffer": "y"}]}],
        "buffers": {"y": {"bytes": 700000}}, "dump": ["y", "y"], "expect": {"y": "00"}}"#;
    let folder = folder(&[("k.ptx", text), ("k.json", launch)]);
    let ran = run(folder.path(), &["k.json", "--memory", "1M"]);
    assert_eq!((ran.code, ran.stdout.matches("00000000").count() >= 100), (0, true), "{}", ran.stderr);
    let ran = run(folder.path(), &["k.json", "--memory", "1M", "--check"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("`y`: no room for 700000 more bytes of host memory"), "{}", ran.stderr);
    let ran = run(folder.path(), &["k.json", "--memory", "2M", "--check"]);
    assert!(ran.stderr.contains("y: 700000 bytes, expected 1"), "{}", ran.stderr);
}

const UNORDERED: &str = ".visible .entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %t, %v; .reg .pred %q;\n\
    ld.param.u64 %p, [p]; mov.u32 %t, %tid.x; setp.ge.u32 %q, %t, 32; @%q bra READ;\n\
    st.volatile.global.u32 [%p], 7; ret;\n\
    READ: ld.volatile.global.u32 %v, [%p]; st.global.u32 [%p+4], %v; ret; }";

const LAUNCH: &str = r#"{"launches": [{"kernel": "k", "grid": 1, "block": 64, "args": [{"buffer": "y"}]}],
    "buffers": {"y": {"bytes": 8}}, "dump": ["y"], "expect": {"y": "0700000007000000"}}"#;

#[test]
fn a_bug_that_hides_in_one_order_shows_in_another() {
    let folder = folder(&[("k.ptx", UNORDERED), ("k.json", LAUNCH)]);
    let ran = run(folder.path(), &["k.json", "--check"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.json().get("seed").is_none());

    let ran = run(folder.path(), &["k.json", "--check", "--repeat", "64"]);
    assert_eq!((ran.code, &ran.json()["ok"]), (1, &json!(false)), "{}", ran.stderr);
    let seed = ran.json()["seed"].as_u64().expect("a seed");
    let schedule = format!("random:{seed}");
    assert!(ran.stderr.contains(&format!("--schedule {schedule} gives the same again")), "{}", ran.stderr);
    let again = run(folder.path(), &["k.json", "--check", "--schedule", &schedule]);
    assert_eq!((again.code, &again.json()["seed"]), (1, &json!(seed)));
    // From arguments alike, and from a seed on.
    let args = ["k.ptx", "--block", "64", "--arg", "buffer:y=zero:8", "--dump", "y", "--schedule", &schedule];
    let ran = run(folder.path(), &args);
    assert_eq!((ran.code, &ran.json()["dumps"]["y"]), (0, &json!("0700000000000000")), "{}", ran.stderr);
}

#[test]
fn schedules_that_say_nothing_are_refused() {
    let folder = folder(&[("k.ptx", ".visible .entry k() { ret; }")]);
    for (args, words) in [
        (&["--schedule", "fast"][..], "it must be fixed, or random:SEED"),
        (&["--repeat", "0"], "--repeat 0: there must be at least one run"),
        (&["--repeat", "2", "--schedule", "fixed"], "--repeat: a fixed schedule is always the same"),
    ] {
        let ran = run(folder.path(), &[&["k.ptx"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
}

#[test]
fn large_kernels_end_in_time_while_they_are_compiled() {
    let pairs = "sin.approx.f32 %f1, %f1; div.approx.f32 %f1, %f1, %f2;\n".repeat(20_000);
    let registers: String = (0..2000).map(|i| format!("add.u32 %z{i}, %r1, {i};\n")).collect();
    let branches: String = (0..4000)
        .map(|i| format!("setp.lt.u32 %p1, %z{}, {i}; @%p1 bra L{i}; add.u32 %r1, %r1, 3; L{i}:\n", i % 2000))
        .collect();
    let text = format!(
        ".visible .entry pairs(.param .u64 p) {{ .reg .u64 %d1; .reg .f32 %f<3>; .reg .pred %p1; ld.param.u64 %d1, [p];
        ld.global.f32 %f1, [%d1]; L: {pairs} st.global.f32 [%d1], %f1; setp.eq.f32 %p1, %f2, %f2; @%p1 bra L; ret; }}
        .visible .entry registers(.param .u64 p) {{ .reg .u64 %d1; .reg .u32 %r1, %z<2000>; .reg .pred %p1;
        ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1]; {registers} M: {branches}
        st.global.u32 [%d1], %r1; bra M; }}\n"
    );
    let folder = folder(&[("k.ptx", &text)]);
    for kernel in ["pairs", "registers"] {
        for limits in [&["--time", "1", "--memory", "512M"], &["--time", "0.001", "--memory", "64M"]] {
            let args =
                ["k.ptx", "--kernel", kernel, "--block", "64", "--arg", "buffer:p=zero:64", "--jit", "on"];
            let began = Instant::now();
            let ran = run(folder.path(), &[&args[..], &limits[..]].concat());
            assert_eq!((ran.code, &ran.json()["fault"]["kind"]), (1, &json!("time_limit")), "{}", ran.stderr);
            assert!(began.elapsed() < Duration::from_secs(30), "{kernel}: {:?}", began.elapsed());
        }
    }
}
