//! What compiled code knows about the lanes of a warp: indices of lanes and warps, comparisons with bounds, accesses at
//! strides, quotients by one divisor, barriers to which most warps come at once, and sums of products between barriers,
//! which warps compute abreast. Everything is held against the interpreter.

use softwarp_num::Level;
use softwarp_testkit::SplitMix64;
use softwarp_vm::device::{Device, Jit, Launch, LoadOptions, Report};
use std::fmt::Write;

/// The shapes of CTAs: whole and partial warps, rows of 16 threads, other rows.
const BLOCKS: [[u32; 2]; 10] =
    [[32, 1], [64, 1], [256, 1], [50, 1], [16, 4], [32, 3], [8, 8], [128, 2], [32, 5], [16, 12]];

/// Bytes of the output of a thread.
const STRIDE: usize = 256;
/// Threads of a CTA, at most.
const THREADS: usize = 256;
const CTAS: u32 = 3;
/// Words of the input.
const WORDS: usize = 1 << 14;

/// Checks that compiled code ran where it was asked for: where nothing is compiled, nothing differs.
fn assert_compiled(jit: Jit, report: &Report) {
    let has_code = cfg!(target_arch = "x86_64") && Level::current() != Level::Baseline;
    assert_eq!(report.compiled > 0, jit == Jit::On && has_code, "compiled code ran");
}

/// Runs a kernel compiled and interpreted: its body has the index of its thread in `%t`, its parameters in `%in` and
/// `%out`, and the place of the thread's output in `%mine`.
fn compare(what: &str, body: &str) {
    let module = format!(
        ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .shared .align 16 .b8 memory[4096];
    .reg .pred %p, %q; .reg .b32 %r<12>; .reg .f32 %f<12>; .reg .b64 %d<6>; .reg .f64 %e<2>;
    .reg .b32 %t, %tx, %acc; .reg .b64 %in, %out, %mine;
    ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
    mov.u32 %tx, %tid.x; mov.u32 %r0, %tid.y; mov.u32 %r1, %ntid.x; mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %t, %r0, %r1, %tx; mad.lo.u32 %r3, %r2, {THREADS}, %t; mov.u32 %acc, 1;
    mad.wide.u32 %mine, %r3, {STRIDE}, %out;
{body}
    st.global.u32 [%mine], %acc;
    ret;
}}
"
    );
    let device = Device::load(&[&module], LoadOptions::default()).expect("a valid module");
    let out_bytes = CTAS as usize * THREADS * STRIDE;
    let [input, out] = [4 * WORDS, out_bytes].map(|bytes| device.allocate(bytes as u64).expect("memory"));
    let mut random = SplitMix64::new(7);
    let special = [0x7fc0_0001u32, 0xff80_0000, 0, 0x8000_0000, 0x7f80_0000, 1, 0x7f00_0000];
    let words = (0..WORDS).flat_map(|_| {
        let word = random.next_u64() as u32;
        let word = if word.is_multiple_of(64) { special[word as usize / 64 % 7] } else { word };
        word.to_le_bytes()
    });
    device.write(input, &words.collect::<Vec<_>>()).expect("inside");
    let arguments = [input.to_le_bytes().to_vec(), out.to_le_bytes().to_vec()];
    for [x, y] in BLOCKS {
        let run = |jit| {
            device.write(out, &vec![0xaa; out_bytes]).expect("inside");
            let launch = Launch { jit, ..Launch::new("k", [CTAS, 1, 1], [x, y, 1], &arguments) };
            let report = device.launch(&launch).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_compiled(jit, &report);
            let mut bytes = vec![0; out_bytes];
            device.read(out, &mut bytes).expect("inside");
            (format!("{:?}", report.counts), bytes)
        };
        let interpreted = run(Jit::Off);
        for _ in 0..3 {
            let compiled = run(Jit::On);
            assert_eq!(interpreted.0, compiled.0, "{what}, CTAs of {x} x {y} threads");
            let at = interpreted.1.iter().zip(&compiled.1).position(|(a, b)| a != b);
            let place = at.map(|at| (at / STRIDE, at % STRIDE));
            assert_eq!(place, None, "{what}, CTAs of {x} x {y} threads: thread and byte that differ");
        }
    }
}

#[test]
fn indices_of_lanes_and_warps_are_the_same() {
    let mut body = String::new();
    let operations = [
        "and.b32 %r4, %tx, 31",
        "and.b32 %r4, 15, %tx",
        "and.b32 %r4, %tx, 127",
        "and.b32 %r4, %tx, 5",
        "shr.u32 %r4, %tx, 5",
        "shr.s32 %r4, %tx, 4",
        "shr.u32 %r4, %tx, 3",
        "shr.u32 %r4, %tx, 6",
        "bfe.u32 %r4, %tx, 0, 5",
        "bfe.u32 %r4, %tx, 5, 3",
        "shl.b32 %r5, %tx, 2; and.b32 %r5, %r5, 508; or.b32 %r4, %r5, 3",
        "or.b32 %r4, %tx, 256",
        "or.b32 %r4, %tx, 1",
        "xor.b32 %r4, %tx, 31",
        "xor.b32 %r4, %tx, 4",
        "mad.lo.u32 %r5, %r2, 64, %tx; shr.u32 %r4, %r5, 5",
        "mad.lo.u32 %r5, %r2, 48, %tx; shr.u32 %r4, %r5, 5",
        "mad.lo.u32 %r5, %r2, 96, %tx; and.b32 %r4, %r5, 63",
        "sub.u32 %r5, 64, %tx; and.b32 %r4, %r5, 31",
        "cvt.u64.u32 %d0, %tx; shr.u64 %d0, %d0, 5; cvt.u32.u64 %r4, %d0",
        "mov.u32 %r5, %laneid; xor.b32 %r4, %r5, 16",
        "shl.b32 %r5, %r2, 5; and.b32 %r4, %tx, %r5",
        "shl.b32 %r5, %r2, 5; or.b32 %r4, %tx, %r5",
        "add.u32 %r5, %tx, -32; shr.s32 %r4, %r5, 5",
    ];
    for (n, operation) in operations.iter().enumerate() {
        let _ = writeln!(body, "    {operation}; st.global.u32 [%mine+{}], %r4;", 4 * n + 4);
    }
    compare("indices", &body);
}

/// Rows and columns of an index in the grid: powers of two as compilers divide by them, of numbers with a sign and without.
#[test]
fn rows_and_columns_of_indices_in_the_grid_are_the_same() {
    for first in [0i32, 96, 7, -64, -33] {
        let mut body = format!("    mad.lo.s32 %r4, %r2, %r1, %tx; add.s32 %r4, %r4, {first};\n");
        let operations = [
            "and.b32 %r5, %r4, 127; shr.u32 %r6, %r4, 7",
            "shr.s32 %r6, %r4, 31; shr.u32 %r6, %r6, 26; add.s32 %r6, %r4, %r6; and.b32 %r5, %r6, -64; \
             sub.s32 %r5, %r4, %r5; shr.s32 %r6, %r6, 6",
            "and.b32 %r5, %r4, 31; shr.s32 %r6, %r4, 5",
            "bfe.u32 %r5, %r4, 0, 6; bfe.s32 %r6, %r4, 6, 9",
            "and.b32 %r5, %r4, 4064; or.b32 %r6, %r5, 15; xor.b32 %r5, %r5, %r6",
        ];
        for (n, operation) in operations.into_iter().enumerate() {
            let _ = writeln!(
                body,
                "    {operation}; and.b32 %r7, %r5, 1023; mad.wide.u32 %d0, %r7, 4, %in; ld.global.u32 %r8, [%d0];
    and.b32 %r7, %r6, 511; mad.wide.u32 %d1, %r7, 8, %in; ld.global.u64 %d2, [%d1+64];
    st.global.v2.u32 [%mine+{}], {{%r5, %r6}}; st.global.u32 [%mine+{}], %r8; st.global.u64 [%mine+{}], %d2;",
                24 * n + 8,
                24 * n + 16,
                24 * n + 24
            );
        }
        compare(&format!("indices from {first} on"), &body);
    }
}

#[test]
fn comparisons_with_bounds_are_the_same() {
    for (what, value) in [
        ("threads", "mov.u32 %r4, %tx;"),
        ("lanes", "and.b32 %r4, %tx, 31;"),
        ("numbers that wrap around", "add.u32 %r4, %tx, 0xfffffff0;"),
        ("numbers whose sign changes", "add.u32 %r4, %tx, 0x7ffffff0;"),
        ("multiples", "mad.lo.u32 %r4, %tx, 12, %r2;"),
    ] {
        for order in ["eq", "ne", "lt", "le", "gt", "ge"] {
            let mut body = format!("    {value} cvt.u64.u32 %d0, %r4; sub.u64 %d1, %d0, 7;\n");
            let mut compare_with = |line: &str, n: usize| {
                let _ = writeln!(
                    body,
                    "    {line}; mov.u32 %r5, 0; selp.u32 %r6, 1, 0, %p; mad.lo.u32 %acc, %acc, 3, %r6;
    {line}; @%p bra OVER{n}; mad.lo.u32 %acc, %acc, 5, 7; OVER{n}:
    {line}; @!%p bra UNDER{n}; mad.lo.u32 %acc, %acc, 7, 11; UNDER{n}: add.u32 %acc, %acc, %r5;"
                );
            };
            let bounds = [0, 1, 16, 31, 32, 33, 40, 95, 383, i32::MAX, i32::MIN, -1, -16];
            for (n, bound) in bounds.into_iter().enumerate() {
                compare_with(&format!("setp.{order}.s32 %p, %r4, {bound}"), 4 * n);
                compare_with(&format!("setp.{order}.u32 %p, %r4, {}", bound as u32), 4 * n + 1);
                compare_with(&format!("mov.u32 %r7, {bound}; setp.{order}.s32 %p, %r7, %r4"), 4 * n + 2);
                compare_with(&format!("mov.u64 %d2, {bound}; setp.{order}.u64 %p, %d1, %d2"), 4 * n + 3);
            }
            // A bound that is known at run time.
            compare_with(&format!("add.u32 %r7, %r2, 33; setp.{order}.u32 %p, %r4, %r7"), 4 * bounds.len());
            compare(&format!("{what}, {order}"), &body);
        }
    }
}

#[test]
fn accesses_at_strides_are_the_same() {
    let mut body = String::new();
    for (n, stride) in [8, 16, 12, 20, 64, 132].into_iter().enumerate() {
        let _ = writeln!(
            body,
            "    mad.wide.u32 %d0, %tx, {stride}, %in; ld.global.u32 %r4, [%d0+4]; st.global.u32 [%mine+{}], %r4;",
            4 * n + 4
        );
    }
    body += "
    mad.wide.u32 %d0, %tx, 8, %in; ld.global.v2.u32 {%r4, %r5}, [%d0+64]; st.global.v2.u32 [%mine+32], {%r5, %r4};
    mad.wide.u32 %d0, %tx, 16, %in; ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d0+16];
    st.global.v4.u32 [%mine+48], {%r7, %r5, %r4, %r6};
    ld.global.v2.u32 {%r4, %r5}, [%d0+8]; st.global.v2.u32 [%mine+64], {%r4, %r5};
    ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d0]; add.f32 %f0, %f0, %f1; add.f32 %f2, %f2, %f3;
    st.global.v2.f32 [%mine+72], {%f0, %f2};
    mad.wide.u32 %d0, %tx, 16, %in; ld.global.u64 %d1, [%d0+8]; st.global.u64 [%mine+80], %d1;
    mov.u32 %r4, memory; mad.lo.u32 %r5, %t, 16, %r4; st.shared.u32 [%r5+4], %t; st.shared.u32 [%r5], %tx;
    st.shared.v2.u32 [%r5+8], {%r2, %t};
    bar.sync 0;
    ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5]; st.global.v4.u32 [%mine+96], {%r6, %r7, %r8, %r9};
    mad.lo.u32 %r5, %t, 8, %r4; ld.shared.u32 %r6, [%r5+4]; st.global.u32 [%mine+112], %r6;
    ld.shared.u32 %r6, [%r5+0]; setp.lt.u32 %p, %tx, 20; @%p st.global.u32 [%mine+116], %r6;
";
    compare("strides", &body);
    // In threads whose outputs are next to one another.
    compare(
        "stores at strides",
        "    mad.wide.u32 %d0, %r3, 8, %out; st.global.u32 [%d0+4], %t; add.f32 %f0, 0f3f800000, 0f40000000;
    mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y; mul.lo.u32 %r4, %r4, %r5;
    st.global.f32 [%d0], %f0; add.s64 %d0, %d0, 16384; mad.wide.u32 %d0, %r3, 8, %d0;
    st.global.v2.u32 [%d0], {%t, %r4}; st.global.v2.u32 [%d0+8], {%r4, %t}; 
    mad.wide.u32 %mine, %r3, 4, %out; add.s64 %mine, %mine, 65536;",
    );
}

#[test]
fn accesses_at_constant_distances_in_changing_regions_are_the_same() {
    // The three loads are checked together. Their buffer is another one in each round, so the region that the check knows
    // is wrong each time. The words of `out` that they read are not written.
    compare(
        "groups",
        "    mov.u32 %r4, 0; mov.u32 %r5, %laneid;
LOOP:
    and.b32 %r6, %r4, 1; setp.eq.u32 %p, %r6, 0; selp.b64 %d0, %in, %out, %p;
    mad.wide.u32 %d1, %r5, 4, %d0;
    ld.global.u32 %r7, [%d1+128]; ld.global.u32 %r8, [%d1+124]; ld.global.u32 %r9, [%d1+120];
    mad.lo.u32 %acc, %acc, 3, %r7; mad.lo.u32 %acc, %acc, 5, %r8; mad.lo.u32 %acc, %acc, 7, %r9;
    add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, 9; @%p bra LOOP;",
    );
}

#[test]
fn quotients_by_one_divisor_are_the_same() {
    for division in ["div.full.f32", "div.full.ftz.f32", "div.approx.f32", "div.approx.ftz.f32"] {
        let mut body = "    mad.wide.u32 %d0, %r3, 4, %in;\n".to_owned();
        for n in 0..8 {
            let _ = writeln!(body, "    ld.global.f32 %f{n}, [%d0+{}];", 256 * n);
        }
        let _ = writeln!(
            body,
            "    {division} %f8, %f0, %f1; {division} %f9, %f2, %f1; {division} %f10, %f3, %f1;
    st.global.f32 [%mine+4], %f8; st.global.f32 [%mine+8], %f9; st.global.f32 [%mine+12], %f10;
    {division} %f8, %f4, %f5; {division} %f1, %f4, %f1; {division} %f9, %f2, %f1; {division} %f10, %f0, %f1;
    st.global.f32 [%mine+16], %f8; st.global.f32 [%mine+20], %f9; st.global.f32 [%mine+24], %f10;
    ld.global.f32 %f6, [%in+{}]; {division} %f8, %f0, %f6; {division} %f6, %f2, %f6; {division} %f9, %f3, %f6;
    st.global.f32 [%mine+28], %f8; st.global.f32 [%mine+32], %f6; st.global.f32 [%mine+36], %f9;
    setp.lt.u32 %p, %tx, 11; @%p bra OVER; {division} %f8, %f0, %f7; {division} %f9, %f2, %f7;
OVER:
    {division} %f10, %f3, %f7; st.global.f32 [%mine+40], %f8; st.global.f32 [%mine+44], %f9;
    st.global.f32 [%mine+48], %f10;",
            4 * 77
        );
        compare(division, &body);
    }
}

/// Each round waits for the product of the round before. `%r4` is loaded, `%r5` the same in all lanes.
#[test]
fn recurrences_of_products_are_the_same() {
    for (n, round) in [
        "mad.lo.u32 %r4, %r4, 1664525, 1013904223;",
        "mad.lo.u32 %r4, -3, %r4, %r5;",
        "xor.b32 %r4, %r4, %r6; mad.lo.u32 %r4, %r5, %r4, %r5;",
        "mad.lo.u32 %r4, %r4, -1, -1;",
        "mad.lo.u32 %r4, %r4, %r5, %r7;",
        "mad.lo.u32 %r4, %r4, %r5, %r4;",
        "mad.lo.u32 %r8, %r4, %r5, -1; xor.b32 %r4, %r8, %r4;",
        "mul.lo.u32 %r4, %r4, %r5; mad.lo.u32 %r7, %r7, 0x7fffffff, %r6;",
    ]
    .into_iter()
    .enumerate()
    {
        compare(
            round,
            &format!(
                "    mad.wide.u32 %d0, %r3, 8, %in; ld.global.u32 %r4, [%d0]; ld.global.u32 %r7, [%d0+4];
    ld.global.u32 %r5, [%in+{}]; mov.u32 %r6, 0;
ROUND:
    {round}
    add.u32 %r6, %r6, 1; setp.lt.u32 %p, %r6, 21; @%p bra ROUND;
    st.global.u32 [%mine+4], %r4; st.global.u32 [%mine+8], %r7;",
                4 * (n + 33)
            ),
        );
    }
}

#[test]
fn phases_in_which_most_warps_do_nothing_are_the_same() {
    let mut body = "    mov.u32 %r4, memory; mad.lo.u32 %r5, %t, 4, %r4; mul.lo.u32 %r6, %t, %t; st.shared.u32 [%r5], %r6;
    mov.u32 %r8, %ntid.x; mov.u32 %r9, %ntid.y; mul.lo.u32 %r8, %r8, %r9;\n"
        .to_owned();
    for (n, distance) in [128, 64, 32, 16, 8, 4, 2, 1].into_iter().enumerate() {
        let _ = writeln!(
            body,
            "    bar.sync 0; setp.ge.u32 %p, %t, {distance}; @%p bra OVER{n};
    add.u32 %r6, %t, {distance}; setp.ge.u32 %q, %r6, %r8; @%q bra OVER{n};
    ld.shared.u32 %r6, [%r5]; ld.shared.u32 %r7, [%r5+{}]; add.u32 %r6, %r6, %r7; st.shared.u32 [%r5], %r6;
OVER{n}:",
            4 * distance
        );
    }
    body += "    bar.sync 0; ld.shared.u32 %acc, [memory]; setp.ne.u32 %p, %t, 0; @%p bra END;
    st.global.u32 [%mine+4], %acc;
END:";
    compare("phases", &body);
}

#[test]
fn sums_over_lanes_are_the_same() {
    let mut body =
        "    mad.wide.u32 %d0, %r3, 4, %in; ld.global.f32 %f0, [%d0]; ld.global.u32 %r4, [%d0+1024];
    add.f32 %f1, %f0, %f0; mov.b32 %r5, %f0;\n"
            .to_owned();
    for (n, by) in [16, 8, 4, 2, 1].into_iter().enumerate() {
        let _ = writeln!(
            body,
            "    shfl.sync.bfly.b32 %f2, %f1, {by}, 31, -1; st.global.f32 [%mine+{}], %f2; add.f32 %f1, %f1, %f2;
    shfl.sync.up.b32 %r6, %r4, {by}, 0, -1; xor.b32 %r4, %r4, %r6; st.global.u32 [%mine+{}], %r6;
    shfl.sync.down.b32 %r5|%p, %r5, {by}, 31, -1; mov.b32 %f3, %r5; @%p add.f32 %f1, %f1, %f3;
    shfl.sync.idx.b32 %f4, %f1, {by}, 31, -1; mov.b32 %r7, %f4; add.u32 %r4, %r4, %r7;",
            8 * n + 4,
            8 * n + 8
        );
    }
    body +=
        "    st.global.f32 [%mine+44], %f1; st.global.u32 [%mine+48], %r4; st.global.u32 [%mine+52], %r5;\n";
    compare("sums over lanes", &body);
}

#[test]
fn minima_and_maxima_of_nans_are_the_same() {
    let mut random = SplitMix64::new(11);
    let mut one_of = |list: &[&'static str]| list[random.next_u64() as usize % list.len()];
    for case in 0..24 {
        let mut body = "    mad.wide.u32 %d0, %r3, 4, %in; setp.lt.u32 %p, %t, 21;\n".to_owned();
        // Quiet and signalling NaNs, infinities and zeros are frequent.
        for n in 1..5 {
            let _ = writeln!(
                body,
                "    ld.global.u32 %r4, [%d0+{}]; bfe.u32 %r5, %r4, {n}, 3; setp.eq.u32 %q, %r5, 0;
    selp.b32 %r4, 0xffc00001, %r4, %q; setp.eq.u32 %q, %r5, 1; selp.b32 %r4, 0x7f800001, %r4, %q;
    setp.eq.u32 %q, %r5, 2; selp.b32 %r4, 0xff800000, %r4, %q; setp.eq.u32 %q, %r5, 3;
    selp.b32 %r4, 0x80000000, %r4, %q; setp.eq.u32 %q, %r5, 4; selp.b32 %r4, 0, %r4, %q; mov.b32 %f{n}, %r4;",
                1024 * n
            );
        }
        for step in 0..20 {
            let [d, a, b] = [(); 3].map(|()| one_of(&["%f1", "%f2", "%f3", "%f4"]));
            let line = match one_of(&["choice", "choice", "choice", "shuffle", "arithmetic", "other"]) {
                "choice" => {
                    let guard = one_of(&["", "", "", "@%p "]);
                    format!("{guard}{}.f32 {d}, {a}, {b}", one_of(&["min", "max"]))
                }
                "shuffle" => format!("shfl.sync.bfly.b32 {d}, {a}, {}, 31, -1", one_of(&["1", "4", "16"])),
                "arithmetic" => format!("{}.f32 {d}, {a}, {b}", one_of(&["add", "sub", "mul"])),
                _ => match one_of(&["neg", "abs", "mov", "constant"]) {
                    "constant" => {
                        format!("mov.f32 {d}, {}", one_of(&["0fFF800000", "0f3F800000", "0f7F800001"]))
                    }
                    other => format!("{other}{} {d}, {a}", if other == "mov" { ".b32" } else { ".f32" }),
                },
            };
            let _ = writeln!(body, "    {line};");
            if step % 4 == 3 {
                let _ = writeln!(body, "    st.global.f32 [%mine+{}], {d};", 4 + 4 * step);
            }
        }
        for n in 1..5 {
            let _ = writeln!(body, "    st.global.f32 [%mine+{}], %f{n};", 96 + 4 * n);
        }
        compare(&format!("minima and maxima {case}"), &body);
    }
}

#[test]
fn stores_of_known_lanes_are_the_same() {
    let mut random = SplitMix64::new(5);
    let mut one_of = |list: &[&'static str]| list[random.next_u64() as usize % list.len()];
    for case in 0..40 {
        let mut body =
            "    mad.wide.u32 %d0, %r3, 4, %in; ld.global.f32 %f1, [%d0]; ld.global.u32 %r4, [%d0+1024];
    mov.u32 %r9, memory; shr.u32 %r10, %t, 5; shl.b32 %r10, %r10, 8; st.shared.u32 [%r9+4088], %acc;
    and.b32 %r6, %tx, 31; ld.global.f32 %f2, [%d0+2048]; mov.b64 %d1, {%r4, %r6};\n"
                .to_owned();
        for step in 0..3 {
            // Indices of warps as compilers write them, and others.
            let row = one_of(&["%tx", "%tx", "%tx", "%r6", "%t", "%laneid"]);
            let (by, mask) = (
                one_of(&["3", "3", "2", "5", "4", "0", "31"]),
                one_of(&["28", "28", "60", "4", "24", "124"]),
            );
            let (order, lane) = (
                one_of(&["eq", "ne", "lt", "ge", "gt", "le"]),
                one_of(&["0", "0", "31", "5", "16", "1", "30", "9"]),
            );
            let add = if one_of(&["yes", "no"]) == "yes" { "add.f32 %f1, %f1, %f2;" } else { "" };
            let store = one_of(&[
                "st.shared.f32 [%r7], %f1;",
                "st.shared.f32 [%r7+128], %f1;",
                "st.shared.u32 [%r7], %r4;",
                "and.b32 %r7, %r7, -8; st.shared.u64 [%r7], %d1;",
                "@%q st.shared.u32 [%r7], %r4;",
            ]);
            let between =
                one_of(&["", "bar.sync 0; xor.b32 %r4, %r4, 5;", "bar.sync 0; setp.lt.u32 %p, %r6, 12;"]);
            let guarded = one_of(&[
                "",
                "@%p st.shared.u32 [%r7+64], %r4;",
                "@!%p st.shared.f32 [%r7+96], %f1;",
                "@%p ld.shared.u32 %r4, [%r7+32];",
                "shl.b32 %r11, %r6, 2; add.u32 %r8, %r9, %r10; add.u32 %r8, %r8, %r11; @%p st.shared.u32 [%r8], %r4;",
                "@!%p ld.global.f32 %f2, [%d0+512];",
            ]);
            let _ = writeln!(
                body,
                "    setp.{order}.u32 %p, %r6, {lane}; setp.lt.u32 %q, %tx, 40; {between}
    mov.u32 %r5, {row}; shr.u32 %r5, %r5, {by}; and.b32 %r5, %r5, {mask}; add.u32 %r7, %r9, %r10;
    add.u32 %r7, %r7, %r5; {guarded} @%p bra SKIP{step}; {add} {store}
SKIP{step}:
    bar.sync 0; add.u32 %r8, %r9, %r10; ld.shared.u32 %r11, [%r8+{}]; xor.b32 %acc, %acc, %r11;
    and.b32 %r11, %tx, 31; shl.b32 %r11, %r11, 2; add.u32 %r8, %r8, %r11; ld.shared.u32 %r11, [%r8];
    st.global.u32 [%mine+{}], %r11; add.u32 %acc, %acc, %r5; st.global.f32 [%mine+{}], %f1; bar.sync 0;",
                one_of(&["0", "4", "28"]),
                8 * step + 4,
                8 * step + 8,
            );
        }
        compare(&format!("stores of known lanes {case}"), &body);
    }
}

#[test]
fn arithmetic_on_values_of_all_lanes_is_the_same() {
    let mut random = SplitMix64::new(17);
    let mut one_of = |list: &[&'static str]| list[random.next_u64() as usize % list.len()];
    for case in 0..24 {
        let mut body = "    mad.wide.u32 %d0, %r3, 4, %in; ld.global.f32 %f0, [%d0]; and.b32 %r6, %tx, 31;
    mov.u32 %r9, memory; shl.b32 %r5, %t, 2; add.u32 %r5, %r5, %r9; st.shared.f32 [%r5], %f0; bar.sync 0;
    ld.shared.f32 %f1, [memory]; ld.shared.f32 %f2, [memory+20]; ld.shared.f32 %f3, [memory+8];
    add.f32 %f4, %f1, %f2; mul.f32 %f5, %f1, %f3; cvt.rn.f32.u32 %f6, %r1;\n"
            .to_owned();
        for step in 0..12 {
            let [d, a, b] = [["%f4", "%f5"], ["%f4", "%f5"], ["%f4", "%f1"]].map(|list| one_of(&list));
            let other = one_of(&["%f1", "%f2", "%f3", "%f6", "%f5", "%f0"]);
            let line = match one_of(&["two", "two", "two", "one", "fma", "guard", "if", "loop", "barrier", "copy"]) {
                "two" => format!("{}.f32 {d}, {a}, {other}", one_of(&["add", "sub", "mul", "max", "min", "div.rn"])),
                "one" => format!("{}.f32 {d}, {a}", one_of(&["rcp.rn", "sqrt.rn", "neg", "abs"])),
                "fma" => format!("fma.rn.f32 {d}, {a}, {b}, {other}"),
                "guard" => format!("setp.lt.u32 %p, %tx, {}; @%p add.f32 {d}, {a}, {b}", one_of(&["0", "7", "99"])),
                "if" => format!(
                    "setp.{}.u32 %p, %tx, {}; @%p bra S{step}; add.f32 {d}, {a}, {other}; max.f32 %f7, {d}, {b};
    st.global.f32 [%mine+100], %f7;\nS{step}:",
                    one_of(&["lt", "eq", "ge"]),
                    one_of(&["0", "1", "9", "70"])
                ),
                "loop" => format!(
                    "add.f32 %f8, {a}, {other}; {};\nL{step}:\n    add.f32 %f8, %f8, {other}; sub.s32 %r4, %r4, 1;
    setp.gt.s32 %p, %r4, 0; @%p bra L{step}; st.global.f32 [%mine+104], %f8; add.f32 {d}, %f8, {b}",
                    one_of(&["mov.u32 %r4, 3", "and.b32 %r4, %tx, 3", "shr.u32 %r4, %tx, 5"])
                ),
                "barrier" => "bar.sync 0".to_owned(),
                _ => format!("mov.b32 {d}, {}", one_of(&["%f1", "%f0", "0f40490FDB"])),
            };
            let _ = writeln!(body, "    {line};");
            if step % 3 == 2 {
                let _ =
                    writeln!(body, "    st.global.f32 [%mine+{}], {d}; sub.f32 %f0, %f0, {a};", 4 + 4 * step);
            }
        }
        for n in 0..6 {
            let _ = writeln!(body, "    st.global.f32 [%mine+{}], %f{n};", 128 + 4 * n);
        }
        compare(&format!("values of all lanes {case}"), &body.replace(":;", ":"));
    }
}

#[test]
fn loads_that_are_operands_are_the_same() {
    let mut random = SplitMix64::new(23);
    let mut one_of = |list: &[&'static str]| list[random.next_u64() as usize % list.len()];
    for case in 0..24 {
        // Some words are NaNs, also signalling ones.
        let mut body = "    mad.wide.u32 %d0, %r3, 4, %in; mov.u32 %r9, memory; shl.b32 %r5, %t, 2; add.u32 %r5, %r5, %r9;
    ld.global.u32 %r4, [%d0]; ld.global.u32 %r6, [%d0+2048]; mov.b32 %f1, %r4; mov.b32 %f2, %r6; add.f32 %f3, %f1, %f2;
    bfe.u32 %r7, %r4, 3, 3; setp.eq.u32 %p, %r7, 1; selp.b32 %r4, 0x7f800001, %r4, %p; setp.eq.u32 %p, %r7, 2;
    selp.b32 %r4, 0xffc00001, %r4, %p; st.shared.u32 [%r5], %r4; st.shared.u32 [%r5+1024], %r6; bar.sync 0;\n"
            .to_owned();
        for step in 0..10 {
            let row = one_of(&["%r9", "%r9", "%r5"]);
            for n in 0..4 {
                // Often the same words as before: their loads are in one group.
                let offset = one_of(&["0", "4", "8", "12", "16", "1024", "1028"]);
                let d = one_of(&["%r4", "%r6"]);
                let f = one_of(&["%f1", "%f2", "%f3"]);
                let second = one_of(&["%f1", "%f2", "%f3", "%f4"]);
                let line = match one_of(&["integer", "reversed", "float", "float", "float", "both"]) {
                    "integer" => format!(
                        "ld.shared.u32 %r8, [{row}+{offset}]; {} {d}, {d}, %r8",
                        one_of(&["add.s32", "sub.s32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32"])
                    ),
                    "reversed" => format!(
                        "ld.shared.u32 %r8, [{row}+{offset}]; {} {d}, %r8, {d}",
                        one_of(&["add.s32", "sub.s32", "and.b32", "min.u32", "max.s32"])
                    ),
                    "float" => format!(
                        "ld.shared.f32 %f4, [{row}+{offset}]; {}.f32 {f}, {f}, %f4",
                        one_of(&["max", "min", "max", "add", "mul"])
                    ),
                    _ => format!(
                        "ld.shared.f32 %f4, [{row}+{offset}]; ld.shared.f32 %f5, [{row}+20]; {}.f32 {f}, %f5, {second}",
                        one_of(&["max", "min", "add"])
                    ),
                };
                let _ = writeln!(body, "    {line};");
                if n == 3 {
                    let _ = writeln!(body, "    st.global.f32 [%mine+{}], {f};", 4 + 8 * step);
                    let _ = writeln!(body, "    st.global.u32 [%mine+{}], {d};", 8 + 8 * step);
                }
            }
            if one_of(&["a", "b", "c"]) == "a" {
                body += "    bar.sync 0;\n";
            }
        }
        for n in 1..4 {
            let _ = writeln!(body, "    st.global.f32 [%mine+{}], %f{n};", 128 + 4 * n);
        }
        compare(&format!("loads that are operands {case}"), &body);
    }
}

#[test]
fn loops_over_rows_are_the_same() {
    for (step, count) in [(128, 9), (256, 20), (1024, 12), (-256, 7), (2048, 5)] {
        let body = format!(
            "    mad.wide.u32 %d0, %r3, 4, %in; add.s64 %d0, %d0, 8192; mov.u32 %r4, 0; mov.u32 %r5, 0;
AGAIN:
    ld.global.u32 %r6, [%d0]; ld.global.u32 %r7, [%d0+64]; add.u32 %acc, %acc, %r6; xor.b32 %acc, %acc, %r7;
    add.s64 %d0, %d0, {step}; add.u32 %r4, %r4, 1; mad.lo.u32 %r8, %r4, 512, %r3; mad.wide.u32 %d1, %r8, 4, %in;
    ld.global.u32 %r9, [%d1]; add.u32 %r5, %r5, %r9; setp.lt.u32 %p, %r4, {count}; @%p bra AGAIN;
    shl.b32 %r2, %r2, 8; add.u32 %r2, %r2, %t; mul.wide.u32 %d1, %r2, 4; add.s64 %d1, %d1, %in;
    ld.global.u32 %r9, [%d1]; xor.b32 %r5, %r5, %r9; st.global.u32 [%mine+4], %r5;"
        );
        compare(&format!("a loop by {step}"), &body);
    }
}

#[test]
fn sums_of_products_between_barriers_are_the_same() {
    let mut random = SplitMix64::new(3);
    let mut one_of = |list: &[&'static str]| list[random.next_u64() as usize % list.len()];
    for case in 0..24 {
        // Rows that are the same for all warps in some CTAs, and elements that are not, or the other way round.
        let row =
            one_of(&["and.b32 %r6, %tx, 31", "and.b32 %r6, %tx, 15", "mov.u32 %r6, %tx", "mov.u32 %r6, %t"]);
        let element = one_of(&[
            "shr.u32 %r7, %tx, 5; shl.b32 %r7, %r7, 4",
            "mov.u32 %r7, %tid.y; shl.b32 %r7, %r7, 4",
            "mov.u32 %r7, 3",
            "shr.u32 %r7, %t, 5; mul.lo.u32 %r7, %r7, 6",
        ]);
        let mut body = format!(
            "    mov.u32 %r4, memory; mad.lo.u32 %r5, %t, 4, %r4; mov.u32 %r9, 0;
    {row}; mad.lo.u32 %r6, %r6, 4, %r4; {element}; mad.lo.u32 %r7, %r7, 4, %r4;
    mad.wide.u32 %d0, %r3, 4, %in; ld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d0+4096];
    mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f3f800000; mov.f32 %f6, 0f40000000;
LOOP:
    st.shared.f32 [%r5], %f0; st.shared.f32 [%r5+1024], %f1; st.shared.f32 [%r5+2048], %f2; bar.sync 0;\n"
        );
        for n in 0..6 + case % 5 {
            let (near, distance) = (one_of(&["64", "128"]), one_of(&["4", "8", "16"]));
            let operations = [
                "fma.rn.f32 %f2, %f4, %f5, %f2",
                "fma.rn.f32 %f2, %f5, %f4, %f2",
                "fma.rn.f32 %f2, %f4, %f5, %f2",
                "fma.rn.f32 %f3, %f5, %f4, %f3",
                "fma.rn.f32 %f2, %f2, %f4, %f5",
                "fma.rn.f32 %f2, %f4, %f4, %f2; add.f32 %f6, %f5, %f6",
                "fma.rn.f32 %f6, %f5, %f5, %f4",
                "fma.rn.f32 %f3, %f3, %f2, %f3",
                "mul.f32 %f3, %f5, %f4; sub.f32 %f2, %f3, %f2",
                "sub.f32 %f6, %f4, %f5",
            ];
            let operation = one_of(if case < 8 { &operations[..3] } else { &operations });
            let _ = writeln!(
                body,
                "    ld.shared.f32 %f4, [%r6+{near}*{n}]; ld.shared.f32 %f5, [%r7+{distance}*{n}]; {operation};"
            );
        }
        body += "    bar.sync 0; add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 3; @%p bra LOOP;
    st.global.f32 [%mine+4], %f2; st.global.f32 [%mine+8], %f3; st.global.f32 [%mine+12], %f6;
    st.global.u32 [%mine+16], %r9;";
        compare(&format!("sums of products, {case}"), &body);
    }
}

#[test]
fn ctas_of_grids_begin_at_their_places() {
    // Each CTA counts itself at its place, and finds zeros in shared memory. In some, the interpreter performs an operation.
    let module = ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 out)
{
    .shared .align 4 .b8 memory[256];
    .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
    mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mad.lo.u32 %r6, %r3, %r5, %r2; mad.lo.u32 %r6, %r6, %r4, %r1;
    mov.u32 %r7, memory; shl.b32 %r8, %r0, 2; add.u32 %r7, %r7, %r8; ld.shared.u32 %r9, [%r7];
    st.shared.u32 [%r7], 77; and.b32 %r10, %r6, 7; setp.ne.u32 %p, %r10, 5; @%p bra DONE;
    vote.sync.ballot.b32 %r10, %p, -1; nanosleep.u32 1; add.u32 %r9, %r9, %r10;
DONE:
    shl.b32 %r11, %r1, 8; add.u32 %r9, %r9, %r11; shl.b32 %r11, %r2, 16; add.u32 %r9, %r9, %r11;
    shl.b32 %r11, %r3, 24; add.u32 %r9, %r9, %r11; add.u32 %r9, %r9, 1;
    mad.lo.u32 %r6, %r6, 64, %r0; mad.wide.u32 %d1, %r6, 4, %d0; red.global.add.u32 [%d1], %r9;
    ret;
}
";
    let device = Device::load(&[module], LoadOptions::default()).expect("a valid module");
    for grid in [[200, 1, 1], [5, 3, 4], [1, 7, 9], [1, 1, 50], [16, 16, 2]] {
        let ctas: u32 = grid.iter().product();
        let bytes = ctas as usize * 256;
        let out = device.allocate(bytes as u64).expect("memory");
        let arguments = [out.to_le_bytes().to_vec()];
        for threads in [1, 3] {
            let run = |jit| {
                device.write(out, &vec![0; bytes]).expect("inside");
                let launch = Launch::new("k", grid, [64, 1, 1], &arguments);
                let launch = Launch { jit, threads: Some(threads), ..launch };
                let report = device.launch(&launch).expect("no fault");
                assert_compiled(jit, &report);
                let mut found = vec![0; bytes];
                device.read(out, &mut found).expect("inside");
                (format!("{:?}", report.counts), found)
            };
            let interpreted = run(Jit::Off);
            for (index, word) in interpreted.1.as_chunks::<4>().0.iter().enumerate() {
                let [x, y, _] = grid;
                let cta = (index / 64) as u32;
                let expected = 1 + ((cta % x) << 8) + ((cta / x % y) << 16) + ((cta / x / y) << 24);
                assert_eq!(u32::from_le_bytes(*word), expected, "CTA {cta} of {grid:?}");
            }
            (0..3).for_each(|_| assert_eq!(interpreted, run(Jit::On), "a grid of {grid:?}"));
        }
    }
}
