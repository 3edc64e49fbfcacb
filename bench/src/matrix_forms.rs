//! What each form of matrix instruction takes: kernels that do little else, on one thread.
//!
//! A kernel goes through its loop a few times and many times; the difference is what counts. Factors are near 1, half
//! of A's negative.

use softwarp_vm::device::{Device, Launch, LoadOptions};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

/// `mma`, `mma.sp` and `wmma.mma`: what it is called here, the instruction, how many registers A, B and C have, what the
/// words of factors begin with, and its operations.
const OF_A_WARP: &[(&str, &str, [usize; 3], u32, u64)] = &[
    ("mma m16n8k16 f16, D in f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", [4, 2, 4], F16, 4096),
    ("mma m16n8k8 f16, D in f32", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", [2, 1, 4], F16, 2048),
    ("mma m16n8k16 f16, D in f16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", [4, 2, 2], F16, 4096),
    ("mma m16n8k16 bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", [4, 2, 4], BF16, 4096),
    ("mma m16n8k8 tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", [4, 2, 4], TF32, 2048),
    (
        "mma m16n8k32 e4m3, D in f32",
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
        [4, 2, 4],
        BYTES,
        8192,
    ),
    (
        "mma m16n8k32 e5m2, D in f32",
        "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32",
        [4, 2, 4],
        BYTES,
        8192,
    ),
    (
        "mma m16n8k32 e4m3, D in f16",
        "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e4m3.f16",
        [4, 2, 2],
        BYTES,
        8192,
    ),
    ("mma m8n8k4 f16, D in f32", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", [2, 2, 8], F16, 2048),
    ("mma m16n8k32 s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", [4, 2, 4], BYTES, 8192),
    ("mma m16n8k64 s4", "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", [4, 2, 4], BYTES, 16384),
    (
        "mma m16n8k256 b1",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
        [4, 2, 4],
        BYTES,
        65536,
    ),
    ("mma m16n8k16 f64", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", [8, 4, 4], 0, 4096),
    (
        "mma.sp m16n8k32 f16",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        [4, 4, 4],
        F16,
        4096,
    ),
    (
        "mma.sp m16n8k64 s8",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32",
        [4, 4, 4],
        BYTES,
        8192,
    ),
    ("wmma m16n16k16 f16, D in f32", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", [8, 8, 8], F16, 8192),
    ("wmma m16n16k8 tf32", "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", [4, 4, 8], TF32, 4096),
    ("wmma m16n16k16 s8", "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", [2, 2, 8], BYTES, 8192),
];

/// `wgmma.mma_async`: n, k, the types, registers of D, what words begin with, whether A is in registers, what follows.
const OF_A_WARPGROUP: &[(usize, usize, &str, usize, u32, bool, &str)] = &[
    (8, 16, "f32.f16.f16", 4, F16, false, ", 1, 1, 0, 0"),
    (64, 16, "f32.f16.f16", 32, F16, false, ", 1, 1, 0, 0"),
    (128, 16, "f32.f16.f16", 64, F16, false, ", 1, 1, 0, 0"),
    (256, 16, "f32.f16.f16", 128, F16, false, ", 1, 1, 0, 0"),
    (128, 16, "f32.f16.f16", 64, F16, true, ", 1, 1, 0"),
    (128, 16, "f32.f16.f16", 64, F16, false, ", 1, 1, 0, 1"),
    (128, 16, "f32.bf16.bf16", 64, BF16, false, ", 1, 1, 0, 0"),
    (128, 8, "f32.tf32.tf32", 64, TF32, false, ", 1, 1"),
    (128, 32, "f32.e4m3.e4m3", 64, BYTES, false, ", 1, 1"),
    (128, 32, "s32.s8.s8", 64, BYTES, false, ""),
];

/// Words of numbers near 1.
const F16: u32 = 0x3400_3c00;
const BF16: u32 = 0x3e80_3f80;
const TF32: u32 = 0x3f80_0000;
const BYTES: u32 = 0x3834_3c30;

/// The beginning of every kernel.
const HEAD: &str = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n\
    .reg .b32 %i, %n, %t, %m, %s, %v; .reg .b64 %da, %db; .reg .pred %p, %q;\n\
    ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; mov.b32 %m, 0x44444444; setp.eq.u32 %q, %t, %t;\n";

/// The end of the loop, and of every kernel.
const TAIL: &str = "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra L;\nret;\n}\n";

fn list(name: char, from: usize, count: usize) -> String {
    let names: Vec<String> = (from..from + count).map(|at| format!("%{name}{at}")).collect();
    format!("{{{}}}", names.join(","))
}

fn of_a_warp(instruction: &str, [a, b, c]: [usize; 3], first: u32) -> String {
    let bits = if instruction.contains("f64") { 64 } else { 32 };
    let mut text = HEAD.to_string();
    let _ = writeln!(text, ".reg .b{bits} %a<{a}>, %b<{b}>, %c<{c}>, %d<{}>;", 4 * c);
    for (name, count) in [('a', a), ('b', b)] {
        for at in 0..count {
            let sign = if name == 'a' && at % 2 == 1 { 0x8000_8000u32 } else { 0 };
            let _ = match bits {
                64 => writeln!(text, "cvt.rn.f64.u32 %{name}{at}, %t;"),
                _ => writeln!(
                    text,
                    "and.b32 %v, %t, 3; mul.lo.u32 %v, %v, 65537; add.u32 %{name}{at}, %v, {};",
                    first ^ sign
                ),
            };
        }
    }
    (0..c).for_each(|at| text.push_str(&format!("mov.b{bits} %c{at}, 0;\n")));
    text.push_str("mov.u32 %i, 0;\nL:\n");
    let metadata = if instruction.starts_with("mma.sp") { ", %m, 0" } else { "" };
    for from in 0..4 {
        let (d, c) = (list('d', from * c, c), list('c', 0, c));
        let _ = writeln!(text, "{instruction} {d}, {}, {}, {c}{metadata};", list('a', 0, a), list('b', 0, b));
    }
    text + TAIL
}

fn of_a_warpgroup(n: usize, k: usize, types: &str, d: usize, first: u32, a: bool, rest: &str) -> String {
    let mut text = HEAD.to_string();
    let _ = writeln!(text, ".reg .b32 %a<4>, %d<{d}>; .shared .align 128 .b8 sm[{}];", (64 + n) * 32);
    text.push_str("mov.u32 %i, %t;\nF:\nshl.b32 %v, %i, 2; mov.u32 %s, sm; add.u32 %s, %s, %v;\n");
    let _ = writeln!(text, "and.b32 %v, %i, 3; mul.lo.u32 %v, %v, 65537; add.u32 %v, %v, {first};");
    let words = (64 + n) * 8;
    let _ = writeln!(
        text,
        "st.shared.u32 [%s], %v; add.u32 %i, %i, 128; setp.lt.u32 %p, %i, {words}; @%p bra F;"
    );
    text.push_str("bar.sync 0;\n");
    for (name, from) in [("da", 0), ("db", 64 * 32)] {
        let offsets = 8u64 << 16 | 16 << 32;
        let _ = writeln!(
            text,
            "mov.u32 %s, sm; add.u32 %s, %s, {from}; shr.u32 %s, %s, 4; cvt.u64.u32 %{name}, %s; \
             or.b64 %{name}, %{name}, {offsets};"
        );
    }
    (0..4).for_each(|at| text.push_str(&format!("mov.b32 %a{at}, {first};\n")));
    (0..d).for_each(|at| text.push_str(&format!("mov.b32 %d{at}, 0;\n")));
    let left = if a { list('a', 0, 4) } else { "%da".to_string() };
    let _ = writeln!(
        text,
        "mov.u32 %i, 0;\nL:\nwgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types} {}, {left}, %db, %q{rest};\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;",
        list('d', 0, d)
    );
    text + TAIL
}

/// Nanoseconds that a round of a kernel's loop takes.
fn measured(ptx: &str, threads: u32) -> f64 {
    let device = Device::load(&[ptx], LoadOptions::default()).expect("a legal module");
    let seconds = |rounds: u32| {
        let arguments = vec![rounds.to_le_bytes().to_vec()];
        let launch = Launch { threads: Some(1), ..Launch::new("k", [1, 1, 1], [threads, 1, 1], &arguments) };
        let start = Instant::now();
        black_box(device.launch(&launch).expect("it runs"));
        start.elapsed().as_secs_f64()
    };
    let mut rounds = 16;
    while seconds(rounds) < 0.002 {
        rounds *= 2;
    }
    let best = |f: &mut dyn FnMut() -> f64| (0..12).map(|_| f()).fold(f64::INFINITY, f64::min);
    let few = best(&mut || seconds(1));
    (best(&mut || seconds(rounds)) - few) / f64::from(rounds - 1) * 1e9
}

/// Prints the table.
pub fn table() {
    println!("forms, one thread                       ns   10^9 operations/s");
    let line = |name: &str, ns: f64, operations: u64| {
        println!("  {name:32} {ns:9.0}  {:8.1}", operations as f64 / ns);
    };
    for &(name, instruction, registers, first, operations) in OF_A_WARP {
        let ns = measured(&of_a_warp(instruction, registers, first), 32) / 4.0;
        line(name, ns, operations);
    }
    for &(n, k, types, d, first, a, rest) in OF_A_WARPGROUP {
        let ns = measured(&of_a_warpgroup(n, k, types, d, first, a, rest), 128);
        let way = if a {
            ", A in registers"
        } else if rest.ends_with("0, 1") {
            ", B by rows"
        } else {
            ""
        };
        line(&format!("wgmma m64n{n}k{k} {types}{way}"), ns, 2 * 64 * (n * k) as u64);
    }
}
