//! Loops around one operation or a few, in one warp: nanoseconds for a round, interpreted and compiled.
//!
//! usage: `operations [NAME…]`
//!
//! The time of a launch with few rounds is taken off that of one with many; each is the best of seven. The last loop
//! runs for many slices of the scheduler.

#![forbid(unsafe_code)]

use softwarp_vm::device::{Device, Jit, Launch, LoadOptions};
use std::time::Instant;

/// Names, and what the loops repeat. `%f`, `%d`, `%i` and `%h` are numbers of f32, f64, 64 and 16 bits, `%j` is a divisor,
/// `%a` an address in global memory and `%s` one in shared memory, each thread's own.
const LOOPS: &[(&str, &str)] = &[
    ("fma.rn.f32", "fma.rn.f32 %f, %f, 0f3F7FFFFF, 0f3F000000;"),
    ("fma.rm.f32", "fma.rm.f32 %f, %f, 0f3F7FFFFF, 0f3F000000;"),
    ("cvt.f64.f32 and back", "cvt.f64.f32 %d, %f; add.f64 %d, %d, %d; cvt.rn.f32.f64 %f, %d;"),
    ("cvt.rn.f64.s64 and back", "cvt.rn.f64.s64 %d, %i; cvt.rzi.s64.f64 %i, %d; add.s64 %i, %i, 1;"),
    ("cvt.rzi.s32.f64 and back", "cvt.rzi.s32.f64 %r, %d; cvt.rn.f64.s32 %d, %r;"),
    ("cvt.s64.s16 and back", "cvt.s64.s16 %i, %h; cvt.u16.u64 %h, %i;"),
    ("div.s64", "add.s64 %i, %i, 1000; div.s64 %i, %i, %j;"),
    ("rem.u64", "add.s64 %i, %i, 1000; rem.u64 %i, %i, %j;"),
    ("ld and st.v2.f64", "ld.global.v2.f64 {%d, %e}, [%a]; st.global.v2.f64 [%a], {%e, %d};"),
    ("red.global.add.f32", "red.global.add.f32 [%a], %f;"),
    ("red.shared.add.f32", "red.shared.add.f32 [%s], %f;"),
    ("membar.gl", "membar.gl;"),
];

/// Threads of the warp.
const THREADS: u32 = 32;
const ROUNDS: [u32; 2] = [1_000, 51_000];
const LONG: [u32; 2] = [1_000, 2_001_000];

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    println!("{:<26} {:>12} {:>9} {:>7}", "ns for a round", "interpreted", "compiled", "ratio");
    let wanted = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    for (name, body) in LOOPS.iter().filter(|(name, _)| wanted(name)) {
        report(name, body, ROUNDS);
    }
    let (name, body) = LOOPS[0];
    if wanted("long") {
        report(&format!("{name}, long"), body, LONG);
    }
}

fn report(name: &str, body: &str, rounds: [u32; 2]) {
    let [interpreted, compiled] = [Jit::Off, Jit::On].map(|jit| round(body, jit, rounds));
    println!("{name:<26} {interpreted:>12.1} {compiled:>9.1} {:>7.1}", interpreted / compiled);
}

/// Nanoseconds for a round.
fn round(body: &str, jit: Jit, [few, many]: [u32; 2]) -> f64 {
    let module = format!(
        ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 memory, .param .u32 rounds)
{{
    .shared .align 16 .b8 words[512];
    .reg .pred %p; .reg .b32 %t, %n, %r, %s; .reg .f32 %f; .reg .f64 %d, %e; .reg .b64 %a, %i, %j; .reg .b16 %h;
    ld.param.u64 %a, [memory]; ld.param.u32 %n, [rounds]; mov.u32 %t, %tid.x;
    mad.wide.u32 %a, %t, 16, %a; mov.u32 %s, words; mad.lo.u32 %s, %t, 16, %s;
    cvt.rn.f32.u32 %f, %t; cvt.rn.f64.u32 %d, %t; mov.f64 %e, %d; cvt.u64.u32 %i, %t; add.s64 %j, %i, 3; cvt.u16.u32 %h, %t;
LOOP:
    {body}
    sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0;
    @%p bra LOOP;
    st.global.f32 [%a], %f; st.global.f64 [%a], %d; st.global.u64 [%a], %i; st.global.u16 [%a], %h;
    ret;
}}
"
    );
    let device = Device::load(&[&module], LoadOptions::default()).expect("a valid module");
    let memory = device.allocate(u64::from(THREADS) * 16).expect("memory");
    let time = |rounds: u32| {
        let arguments = [memory.to_le_bytes().to_vec(), rounds.to_le_bytes().to_vec()];
        let launch = Launch { jit, ..Launch::new("k", [1, 1, 1], [THREADS, 1, 1], &arguments) };
        let start = Instant::now();
        device.launch(&launch).expect("no fault");
        start.elapsed().as_secs_f64()
    };
    let best = |rounds: u32| (0..7).map(|_| time(rounds)).fold(f64::INFINITY, f64::min);
    (best(many) - best(few)) * 1e9 / f64::from(many - few)
}
