//! A process that may have little memory ends with a result or an error, not by a signal or a panic.

use crate::files::with_headers as folder;
use softwarp_testkit::process::{Ran, run};
use std::process::Command;

/// The limits of the address space, in KiB: from less than a command needs to more than these kernels take.
const LIMITS: [u32; 14] = [
    32_000, 38_000, 42_000, 46_000, 52_000, 58_000, 64_000, 72_000, 80_000, 90_000, 105_000, 130_000,
    170_000, 240_000,
];

/// A kernel with a body.
fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 p) {{
        .reg .pred %p<4>; .reg .b32 %r<8>, %z<4000>; .reg .b64 %d<4>; .reg .f32 %f<8>;
        ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; mad.wide.u32 %d1, %r0, 16, %d0;
        ld.global.u32 %r1, [%d1]; ld.global.f32 %f1, [%d1];
        {body}
        st.global.u32 [%d1], %r1; st.global.f32 [%d1+4], %f1; ret; }}"
    )
}

fn times(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// Runs a kernel in a process whose address space has at most some KiB.
fn limited(kernel: &std::path::Path, limit: u32, level: &str, jit: &str) -> Ran {
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"ulimit -v "$0" && exec "$@""#, &limit.to_string()]);
    shell.arg(env!("CARGO_BIN_EXE_softwarp")).args(["run"]).arg(kernel);
    shell.args(["--block", "32", "--arg", "buffer:x=zero:1048576", "--jit", jit]);
    shell.env("SOFTWARP_SIMD", level).env_remove("RUST_BACKTRACE");
    run(shell, b"")
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the limit is of Linux")]
fn processes_with_little_memory_end_with_a_result_or_an_error() {
    let special = times(5_000, |_| "lg2.approx.f32 %f1, %f1;\n".to_owned());
    let write = times(4_000, |i| format!("add.u32 %z{i}, %r1, {i};\n"));
    let load = "and.b32 %r2, %r1, 15; mad.wide.u32 %d2, %r2, 4, %d0; ld.global.u32 %r1, [%d2];\n";
    let read = times(4_000, |i| format!("xor.b32 %r1, %r1, %z{i};\n"));
    let live = write + &load.repeat(2_000) + &read;
    let branches = times(4_000, |i| {
        format!(
            "setp.lt.u32 %p1, %r1, {i}; @%p1 bra L{i}; sin.approx.f32 %f1, %f1; add.u32 %r1, %r1, 3; L{i}:\n"
        )
    });
    let texts = [kernel(&special), kernel(&live), kernel(&branches)];
    let folder = folder(&[("special.ptx", &texts[0]), ("live.ptx", &texts[1]), ("branches.ptx", &texts[2])]);
    let mut codes = [0; 3];
    for (name, jit) in [("special.ptx", "on"), ("live.ptx", "on"), ("branches.ptx", "auto")] {
        for level in ["avx512", "avx2"] {
            for limit in LIMITS {
                let ran = limited(&folder.path().join(name), limit, level, jit);
                let how = format!("{name} {level} {limit}: {}\n{}", ran.code, ran.stderr);
                assert!((0..=2).contains(&ran.code), "{how}");
                assert!(ran.code == 0 || ran.stderr.contains("error: "), "{how}");
                codes[ran.code as usize] += 1;
            }
        }
    }
    // Some run, and some do not.
    assert!(codes[0] > 0 && codes[1] + codes[2] > 0, "{codes:?}");
}
