//! Accesses at the edges of what compiled code checks: rows of 16 threads whose index moves from round to round until some
//! lanes are outside of a buffer, wrap around or are not aligned, and the first lanes of a warp at the ends of shared memory.

use crate::run::{Setup, difference};
use softwarp_vm::device::{Device, LoadOptions};

/// Words of the input.
const WORDS: i64 = 4096;

fn compare(text: &str, block: [u32; 2]) {
    let device =
        Device::load(&[text], LoadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let setup = Setup { seed: 1, block, most: 1_000_000 };
    if let Some(found) = difference(&device, setup, &|launch| device.launch(launch)) {
        panic!("CTAs of {block:?} threads: {found}\n{text}");
    }
}

/// A loop over accesses of rows.
#[derive(Clone, Copy)]
struct Loop {
    /// The index of the first thread, and what is added in each round.
    first: i64,
    next: i64,
    /// From one row of threads to the next.
    pitch: i64,
    /// What is added to the pointer, in bytes.
    shift: i64,
    rounds: u32,
    /// `u32` or `s32`.
    index: &'static str,
    factor: i64,
    /// What the index of a lane is within a row.
    lane: &'static str,
    access: &'static str,
    /// Between two accesses.
    between: &'static str,
}

const LOOP: Loop = Loop {
    first: 0,
    next: 16,
    pitch: 16,
    shift: 0,
    rounds: 8,
    index: "s32",
    factor: 4,
    lane: "%r0",
    access: "ld.global.f32 %f0, [%d3]; add.f32 %f1, %f1, %f0;",
    between: "",
};

impl Loop {
    fn text(self) -> String {
        let Loop { first, next, pitch, shift, rounds, index, factor, lane, access, between } = self;
        // Nothing is known of the pitch before the kernel runs.
        format!(
            ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .reg .f32 %f<8>; .reg .b32 %r<20>; .reg .b64 %d<12>; .reg .pred %p<4>;
    ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y;
    ld.global.u32 %r6, [%d0]; and.b32 %r6, %r6, 0; add.s32 %r6, %r6, {pitch}; shl.b32 %r9, %r0, 2;
    mad.lo.s32 %r7, %r1, %r6, {lane}; add.s32 %r7, %r7, {first}; add.s64 %d5, %d0, {shift};
    mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f3f800000; mov.u64 %d6, 0; mov.u32 %r8, {rounds};
L:
    mul.wide.{index} %d3, %r7, {factor}; add.s64 %d3, %d5, %d3;
    {access}
    {between}
    add.s32 %r7, %r7, {next}; sub.s32 %r8, %r8, 1; setp.ne.s32 %p1, %r8, 0; @%p1 bra L;
    mov.u32 %r2, %ctaid.x; mad.lo.s32 %r3, %r1, 16, %r0; mad.lo.s32 %r3, %r2, 128, %r3;
    mul.wide.u32 %d2, %r3, 256; add.s64 %d1, %d1, %d2;
    st.global.f32 [%d1], %f1; st.global.u64 [%d1+8], %d6; ret;
}}
"
        )
    }
}

const WIDE: &str = "ld.global.u64 %d7, [%d3]; xor.b64 %d6, %d6, %d7;";
const BEFORE: &str = "ld.global.f32 %f0, [%d3+-64]; add.f32 %f1, %f1, %f0;";
const STORE: &str = "st.global.f32 [%d3], %f2;";
const DIVERGE: &str = "setp.lt.u32 %p0, %r0, 5; @%p0 bra A; add.f32 %f1, %f1, %f2; bra B;
A:  mul.f32 %f1, %f1, %f2; bra B;
B:";

/// Compares loops in which an edge is crossed at each lane, in one half of a warp or in both.
pub fn compare_rows() {
    for between in ["", "bar.sync 0;", DIVERGE] {
        compare(&Loop { between, ..LOOP }.text(), [16, 4]);
        compare(&Loop { between, lane: "0", ..LOOP }.text(), [16, 4]);
        compare(&Loop { between, index: "u32", factor: 8, access: WIDE, ..LOOP }.text(), [16, 8]);
    }
    for lane in 0..17 {
        for pitch in [16, -16, 48] {
            let rows = pitch.min(0) * 3;
            for access in [LOOP.access, STORE, BEFORE] {
                // Before the first word.
                let first = 32 * 3 + lane - 16 - rows;
                compare(&Loop { first, next: -32, pitch, access, ..LOOP }.text(), [16, 4]);
                // Behind the last one.
                let first = WORDS - 32 * 3 - lane - 3 * pitch.max(0);
                compare(&Loop { first, next: 32, pitch, access, ..LOOP }.text(), [16, 4]);
            }
            // An index that wraps around, where the lanes that do not are inside.
            for (index, last) in [("u32", 1i64 << 32), ("s32", 1 << 31)] {
                let start = last - 32 * 3 - lane - 3 * pitch.max(0);
                let (first, shift) = (i64::from(start as u32 as i32), -4 * (start + rows));
                compare(&Loop { first, shift, next: 32, pitch, index, ..LOOP }.text(), [16, 4]);
            }
        }
        // One element for each half.
        let first = WORDS - 64 - lane;
        compare(&Loop { first, next: 8, lane: "0", ..LOOP }.text(), [16, 4]);
        let (first, access) = (WORDS / 2 - 64 - lane, WIDE);
        compare(&Loop { first, next: 8, factor: 8, access, ..LOOP }.text(), [16, 4]);
    }
    // Rows of bytes, of which some are not aligned.
    for pitch in [64, 62, 66, 61] {
        compare(&Loop { pitch, factor: 1, lane: "%r9", next: 64, ..LOOP }.text(), [16, 4]);
        compare(&Loop { pitch: 16, shift: pitch - 64, next: 64, ..LOOP }.text(), [16, 4]);
    }
}

/// Compares steps of a tree in which the first lanes of a warp access shared memory up to its ends and beyond.
pub fn compare_first_lanes() {
    for lanes in [1, 2, 4, 8, 16] {
        let end = 1024 - 4 * lanes;
        for far in [end, end + 4, end + 2, 4 * lanes, 1024, -4, 4096, 64] {
            for [a, b, c] in [[0, far, 0], [far, 0, 0], [0, 0, far], [far, far, 4]] {
                compare(&tree(lanes, [a, b, c]), [128, 1]);
            }
        }
    }
}

fn tree(lanes: i32, [a, b, c]: [i32; 3]) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .shared .align 16 .b8 tree[1024]; .reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<4>;
    ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;
    mad.lo.s32 %r2, %r1, 128, %r0; mul.wide.u32 %d2, %r2, 4; add.s64 %d2, %d0, %d2; ld.global.f32 %f0, [%d2];
    mov.u32 %r3, tree; shl.b32 %r4, %r0, 2; add.s32 %r3, %r3, %r4;
    st.shared.f32 [%r3], %f0; st.shared.f32 [%r3+512], %f0; bar.sync 0;
    setp.ge.u32 %p0, %r0, 64; @%p0 bra A; ld.shared.f32 %f1, [%r3+256]; st.shared.f32 [%r3], %f1;
A:  bar.sync 0;
    setp.ge.u32 %p0, %r0, {lanes}; @%p0 bra B;
    ld.shared.f32 %f1, [%r3+{a}]; ld.shared.f32 %f2, [%r3+{b}]; add.f32 %f1, %f1, %f2;
    st.shared.f32 [%r3+{c}], %f1;
B:  bar.sync 0;
    @%p0 bra C; ld.shared.f32 %f0, [%r3];
C:  mul.wide.u32 %d2, %r2, 256; add.s64 %d1, %d1, %d2; st.global.f32 [%d1], %f0; ret;
}}
"
    )
}
