//! Warps that run for many slices stay in compiled code: at the end of a slice it is left, and entered again.
#![cfg(target_arch = "x86_64")]

use softwarp_num::Level;
use softwarp_vm::device::{Device, Jit, Launch, LoadOptions, Report};

/// Runs a kernel whose thread has its index in `%t`, its round in `%n` and a number in `%f`.
fn run(body: &str, jit: Jit, (grid, block): (u32, u32), rounds: u32) -> (Report, Vec<u8>) {
    let module = format!(
        ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 out, .param .u32 rounds)
{{
    .shared .align 4 .b8 memory[4096];
    .reg .pred %p, %q; .reg .b32 %t, %n, %r<4>; .reg .f32 %f; .reg .b64 %out;
    ld.param.u64 %out, [out]; ld.param.u32 %n, [rounds];
    mov.u32 %t, %tid.x; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mad.lo.u32 %t, %r0, %r1, %t;
    cvt.rn.f32.u32 %f, %t; mad.wide.u32 %out, %t, 4, %out;
{body}
    st.global.f32 [%out], %f;
    ret;
}}
"
    );
    let device = Device::load(&[&module], LoadOptions::default()).expect("a valid module");
    let bytes = grid * block * 4;
    let out = device.allocate(bytes.into()).expect("memory");
    let arguments = [out.to_le_bytes().to_vec(), rounds.to_le_bytes().to_vec()];
    let launch = Launch { jit, ..Launch::new("k", [grid, 1, 1], [block, 1, 1], &arguments) };
    let report = device.launch(&launch).expect("no fault");
    let mut results = vec![0; bytes as usize];
    device.read(out, &mut results).expect("inside");
    (report, results)
}

/// A loop of the body, which counts `%n` down.
fn repeated(body: &str) -> String {
    format!("LOOP:\n{body}\n    sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0;\n    @%p bra LOOP;")
}

#[test]
fn long_loops_stay_compiled() {
    if Level::current() == Level::Baseline {
        return;
    }
    let fma = "    fma.rn.f32 %f, %f, 0f3F7FFF00, 0f3F000000;";
    // Lanes go on alone for some rounds.
    let divergent = format!(
        "    and.b32 %r2, %n, 7; and.b32 %r3, %t, 7; setp.lt.u32 %q, %r2, %r3;\n    @%q bra SKIP;\n{fma}\nSKIP:"
    );
    let bodies = [
        ("a loop", repeated(fma)),
        (
            "nested loops",
            format!(
                "OUTER:\n    mov.u32 %r2, 9;\nINNER:\n{fma}\n    sub.u32 %r2, %r2, 1;\n    setp.ne.u32 %q, %r2, 0;\n    @%q bra INNER;\n    sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0;\n    @%p bra OUTER;"
            ),
        ),
        ("a loop with a divergent branch", repeated(&divergent)),
    ];
    for (what, body) in &bodies {
        for shape in [(1, 32), (1, 128), (3, 64), (2, 48)] {
            let rounds = 150_000;
            let interpreted = run(body, Jit::Off, shape, rounds);
            assert_eq!(interpreted.0.compiled, 0);
            for jit in [Jit::On, Jit::Auto] {
                let compiled = run(body, jit, shape, rounds);
                let report = compiled.0;
                assert_eq!(
                    format!("{:?}", interpreted.0.counts),
                    format!("{:?}", report.counts),
                    "{what}, {jit:?}"
                );
                assert!(interpreted.1 == compiled.1, "{what}, {jit:?}: results differ");
                let all = report.counts.warp_instructions;
                assert!(
                    report.compiled > all / 100 * 95,
                    "{what}, {jit:?}, {shape:?}: {} of {all} instructions in compiled code",
                    report.compiled
                );
            }
        }
    }
}
