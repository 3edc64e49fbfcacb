//! Random kernels of operations that have no code: the interpreter performs them while compiled code runs. Lanes diverge
//! around them, and the groups of lanes that exchange values are not always there.

use crate::run::{Setup, difference};
use crate::writer::Writer;
use softwarp_vm::device::{Device, LoadOptions};
use std::ops::{Deref, DerefMut};

/// Groups of four lanes are whole.
const BLOCKS: [[u32; 2]; 6] = [[32, 1], [64, 1], [52, 1], [16, 4], [36, 2], [128, 1]];

/// `%r6` is a number of the thread, `%t` its index in the CTA, `%own` its 32 bytes of shared memory, `%warp` those of its
/// warp, and `%mine` its part of the output. The lanes of `%half`, `%eighth` and `%odd` name each other.
const BEGIN: &str = ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .shared .align 128 .b8 memory[4096];
    .reg .b32 %r<12>, %t, %own, %warp, %acc, %v, %w, %x, %y, %half, %eighth, %odd, %all; .reg .f32 %f;
    .reg .b64 %d<4>, %in, %mine, %at, %l; .reg .b16 %h; .reg .pred %p<4>; .reg .f32 %c<8>; .reg .b32 %m<8>;
    ld.param.u64 %in, [in]; ld.param.u64 %mine, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %t, %r1, %r2, %r0; mad.lo.u32 %r5, %r3, 128, %t; mad.wide.u32 %mine, %r5, 256, %mine;
    mul.wide.u32 %d3, %r5, 4; add.s64 %d3, %in, %d3; ld.global.u32 %r6, [%d3];
    mov.u32 %own, memory; mad.lo.u32 %own, %t, 32, %own; mov.u32 %warp, memory; and.b32 %r7, %t, 0xe0;
    mad.lo.u32 %warp, %r7, 32, %warp; mov.u32 %acc, %t; mov.u32 %v, 1; mov.u32 %w, 2; mov.u32 %x, 3; mov.u32 %y, 4;
    and.b32 %r7, %t, 16; mov.u32 %half, 0xffff; shl.b32 %half, %half, %r7;
    and.b32 %r7, %t, 28; mov.u32 %eighth, 15; shl.b32 %eighth, %eighth, %r7;
    and.b32 %r7, %t, 1; mov.u32 %odd, 0x55555555; shl.b32 %odd, %odd, %r7; mov.u32 %all, -1; mov.f32 %f, 0f3f800000;
    setp.lt.u32 %p0, %t, 20; and.b32 %r8, %r6, 4; setp.eq.u32 %p1, %r8, 0; mov.u64 %l, 0;
    st.global.v4.u32 [%mine], {%r6, %t, %t, %t}; st.global.v4.u32 [%mine+16], {%t, %r6, %t, %t};
    st.shared.v4.u32 [%own], {%r6, %t, %t, %t}; st.shared.v4.u32 [%own+16], {%t, %r6, %t, %t};
    mov.f32 %c0, 0f00000000; mov.f32 %c1, %c0; mov.f32 %c2, %c0; mov.f32 %c3, %c0; mov.f32 %c4, %c0; mov.f32 %c5, %c0;
    mov.f32 %c6, %c0; mov.f32 %c7, %c0;
";

/// Operations that any lanes may execute.
const OPERATIONS: [&str; 30] = [
    "atom.global.add.noftz.f16x2 %v, [%mine+4], %acc;",
    "atom.shared.add.noftz.f16x2 %v, [%own+4], %acc;",
    "red.shared.add.noftz.bf16x2 [%warp+8], %t;",
    "cvt.u16.u32 %h, %acc; atom.shared.cas.b16 %h, [%own+2], %h, 7; cvt.u32.u16 %v, %h;",
    "atom.acq_rel.gpu.global.add.u32 %v, [%mine], %acc;",
    "atom.acquire.cta.shared.or.b32 %v, [%own+8], %acc;",
    "red.release.gpu.global.max.u32 [%mine+8], %acc;",
    "atom.shared.exch.b32 %v, [%own+12], %acc;",
    "ld.volatile.global.v2.u32 {%v, %w}, [%mine];",
    "ld.acquire.gpu.global.u64 %l, [%mine+8]; cvt.u32.u64 %v, %l;",
    "ld.volatile.shared.u8 %v, [%own+5];",
    "ld.relaxed.gpu.global.u16 %h, [%mine+6]; cvt.u32.u16 %w, %h;",
    "ld.volatile.shared.v4.u32 {%v, %w, %x, %y}, [%own];",
    "st.volatile.shared.u32 [%own+4], %acc;",
    "st.release.gpu.global.u32 [%mine+4], %acc;",
    "st.volatile.global.u8 [%mine+3], %acc;",
    "st.shared.u8 [%own+3], %l;",
    "ld.shared.v2.u8 {%v, %w}, [%own+2];",
    "st.shared.v2.u8 [%own+2], {%v, %acc};",
    "ld.global.v4.u16 {%v, %w, %x, %y}, [%mine];",
    "mov.u32 %v, %laneid;",
    "mov.u32 %w, %lanemask_lt;",
    "mov.u32 %x, %warpid;",
    "mov.u32 %y, %nsmid;",
    "cp.async.ca.shared.global [%own], [%mine], 4;",
    "cp.async.ca.shared.global [%own+8], [%mine+8], 8;",
    "cp.async.cg.shared.global [%own+16], [%mine+16], 16;",
    "cp.async.ca.shared.global [%own], [%mine], 16, %w;",
    "cp.async.commit_group; cp.async.wait_all;",
    "movmatrix.sync.aligned.m8n8.trans.b16 %v, %acc;",
];

/// Operations among lanes that name others, which may be elsewhere.
const EXCHANGES: [&str; 8] = [
    "vote.sync.any.pred %p2, %p1, MASK; selp.u32 %v, 1, 2, %p2;",
    "vote.sync.all.pred %p2, %p0, MASK; selp.u32 %v, 1, 2, %p2;",
    "vote.sync.ballot.b32 %v, %p1, MASK;",
    "and.b32 %r9, %acc, 3; match.any.sync.b32 %v, %r9, MASK;",
    "and.b32 %r9, %t, 16; match.all.sync.b32 %v|%p2, %r9, MASK;",
    "redux.sync.add.s32 %v, %acc, MASK;",
    "redux.sync.min.u32 %v, %acc, MASK;",
    "bar.warp.sync MASK;",
];

/// Lanes that get values of others: of those of their four lanes.
const SHUFFLES: [&str; 8] = [
    "shfl.sync.bfly.b32 %v|%p2, %acc, 3, 0x1c1f, MASK;",
    "shfl.sync.idx.b32 %v, %acc, %x, 0x1c1f, MASK;",
    "shfl.sync.down.b32 %v|%p2, %acc, 1, 0x1c1f, MASK;",
    "shfl.sync.up.b32 %v, %acc, 2, 0x1c00, MASK;",
    "and.b32 %r9, %w, 3; shfl.sync.bfly.b32 %acc|%p2, %acc, %r9, 0x1c1f, MASK;",
    "and.b32 %r9, %w, 3; shfl.sync.down.b32 %v|%p2, %acc, %r9, 0x1c1e, MASK;",
    "and.b32 %r9, %w, 3; shfl.sync.up.b32 %acc|%p2, %acc, %r9, 0x1c01, MASK;",
    "shfl.sync.idx.b32 %v|%p2, %acc, %w, 0x1c02, MASK;",
];

const MATRIX: &str =
    "wmma.load.a.sync.aligned.m16n16k16.shared.row.f16 {%m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7}, [%warp];
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7},
        {%m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7}, {%m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7},
        {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}; mov.b32 %v, %c3;";

struct Kernel {
    writer: Writer,
}

impl Deref for Kernel {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        &self.writer
    }
}

impl DerefMut for Kernel {
    fn deref_mut(&mut self) -> &mut Writer {
        &mut self.writer
    }
}

impl Kernel {
    fn operation(&mut self, together: bool) {
        if together && self.below(16) == 0 {
            self.line(MATRIX);
        } else if self.below(3) == 0 {
            if together && self.below(3) == 0 {
                let named = self.one_of(&["%half", "%eighth", "%all", "0xffffffff"]);
                let shuffle = self.one_of(&SHUFFLES).replace("MASK", named);
                self.line(&shuffle);
                self.line("selp.u32 %y, %y, %v, %p2;");
            } else {
                // Lanes that have diverged name those that are there.
                let named = match together {
                    true => self.one_of(&["%half", "%eighth", "%odd", "%all", "0xffffffff"]),
                    false => "%all",
                };
                if !together {
                    self.line("activemask.b32 %all;");
                }
                let exchange = self.one_of(&EXCHANGES).replace("MASK", named);
                self.line(&exchange);
            }
            self.line("mov.u32 %all, -1;");
        } else {
            let operation = self.one_of(&OPERATIONS);
            let alone = operation.contains("movmatrix") && !together;
            let guard = self.one_of(&["", "", "", "@%p0 ", "@!%p1 "]);
            let guard = if operation.contains("movmatrix") { "" } else { guard };
            let outside = self.below(150) == 0 && operation.contains("[%own");
            let guarded: Vec<String> =
                operation.split_inclusive(';').map(|one| format!("{guard}{}", one.trim())).collect();
            let text = guarded.join(" ");
            match (alone, outside) {
                (true, _) => {}
                (_, true) => self.line(&text.replace("[%own", "[%own+1")),
                _ => self.line(&text),
            }
        }
        self.line("mad.lo.u32 %acc, %acc, 5, %v; xor.b32 %acc, %acc, %w; add.u32 %acc, %acc, %y; and.b32 %x, %acc, 31;");
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..2 + self.below(5) {
            match self.below(8) {
                0 if depth < 2 => {
                    let label = self.label();
                    let of = self.one_of(&["%acc", "%t", "%r6"]);
                    let bit = 1 << self.below(5);
                    self.line(&format!(
                        "and.b32 %r9, {of}, {bit}; setp.eq.u32 %p2, %r9, 0; @%p2 bra S{label};"
                    ));
                    self.statements(depth + 1);
                    self.line(&format!("S{label}:"));
                    if depth == 0 {
                        self.line("bar.warp.sync -1;");
                    }
                }
                1 if depth == 0 => self.line("bar.sync 0;"),
                _ => self.operation(depth == 0),
            }
        }
    }
}

/// A random kernel of this kind.
pub fn compare_rare(seed: u64) {
    let mut kernel = Kernel { writer: Writer::new(seed ^ 0x4a4e, BEGIN) };
    kernel.statements(0);
    kernel.line("ld.shared.u32 %v, [%own]; add.u32 %acc, %acc, %v; mov.b32 %w, %c5;");
    kernel.line("st.global.v4.u32 [%mine+32], {%acc, %v, %w, %x}; st.global.u64 [%mine+48], %l; ret;\n}");
    let block = BLOCKS[(seed % BLOCKS.len() as u64) as usize];
    let setup = Setup { seed, block, most: 1_000_000 };
    let device = Device::load(&[&kernel.text], LoadOptions::default())
        .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", kernel.text));
    if let Some(found) = difference(&device, setup, &|launch| device.launch(launch)) {
        panic!("seed {seed}, CTAs of {block:?} threads: {found}\n{}", kernel.text);
    }
}
