//! Random kernels whose lanes load and store elements of 8 and 16 bits anywhere: in shared memory, in a buffer up to its
//! ends, and from a pointer that is not aligned. Several lanes may store to one place.

use crate::run::{Setup, difference};
use crate::writer::Writer;
use softwarp_vm::device::{Device, LoadOptions};
use std::ops::{Deref, DerefMut};

const BLOCKS: [[u32; 2]; 6] = [[32, 1], [64, 1], [50, 1], [16, 4], [33, 2], [128, 1]];

/// `%r6` is a number of the thread, `%t` its index in the CTA, `%own` its warp's part of shared memory, and `%mine` its part
/// of the output.
const BEGIN: &str = ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .shared .align 16 .b8 memory[4096];
    .reg .b32 %r<12>, %t, %own, %acc, %i, %v; .reg .b64 %d<4>, %in, %mine, %at, %l; .reg .b16 %h; .reg .pred %p<4>;
    ld.param.u64 %in, [in]; ld.param.u64 %mine, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %t, %r1, %r2, %r0; mad.lo.u32 %r5, %r3, 128, %t; mad.wide.u32 %mine, %r5, 256, %mine;
    mul.wide.u32 %d3, %r5, 4; add.s64 %d3, %in, %d3; ld.global.u32 %r6, [%d3];
    shr.u32 %r7, %t, 5; mov.u32 %own, memory; mad.lo.u32 %own, %r7, 512, %own; mov.u32 %acc, %t;
    setp.lt.u32 %p0, %t, 20; and.b32 %r8, %r6, 4; setp.eq.u32 %p1, %r8, 0;
";

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
    /// An index of at most some bytes in `%i`, often a multiple of the size.
    fn index(&mut self, most: u64, size: u64) {
        let (factor, more) = (2 * self.below(1000) + 1, self.below(5000));
        match self.below(4) {
            // One behind the other, but for where they wrap around.
            0 => self.line(&format!("add.u32 %i, %t, {more}; mul.lo.u32 %i, %i, {size};")),
            1 => self.line(&format!("mad.lo.u32 %i, %acc, {factor}, {more};")),
            _ => self.line(&format!("mad.lo.u32 %i, %r6, {factor}, {more}; shr.u32 %i, %i, 3;")),
        }
        let aligned = if self.below(24) == 0 { 1 } else { size };
        self.line(&format!("and.b32 %i, %i, {};", (most - 1) & !(aligned - 1)));
    }

    fn access(&mut self) {
        let types =
            [("u8", 1u64), ("s8", 1), ("b8", 1), ("u16", 2), ("s16", 2), ("b16", 2), ("u32", 4), ("s32", 4)];
        let (ty, size) = self.one_of(&types);
        let guard = self.one_of(&["", "", "", "@%p0 ", "@!%p1 "]);
        let store = self.below(3) == 0;
        let (space, base) = if self.below(2) == 0 { ("shared", "%i") } else { ("global", "%at") };
        let offset = match self.below(40) {
            // Stores stay in the thread's part of the output.
            0 if store => self.one_of(&[-1i64, -2, 1, 2]),
            0 => self.one_of(&[-1i64, -2, 1, 2, 4096, -4096]),
            _ => 0,
        };
        let within = match (space, store) {
            // Also with an offset it stays in the warp's part, or is outside of shared memory.
            ("shared", _) if offset != 0 => 256,
            ("shared", _) => self.one_of(&[16, 512]),
            (_, true) => 128,
            // All of the input.
            _ => self.one_of(&[64, 4096, 16384]),
        };
        self.index(within, size);
        match (space, store) {
            ("shared", _) if offset != 0 => self.line("add.u32 %i, %i, %own; add.u32 %i, %i, 16;"),
            ("shared", _) => self.line("add.u32 %i, %i, %own;"),
            (_, true) => self.line("cvt.u64.u32 %at, %i; add.s64 %at, %mine, %at; add.s64 %at, %at, 64;"),
            _ => self.line("cvt.u64.u32 %at, %i; add.s64 %at, %in, %at;"),
        }
        match (store, self.below(3)) {
            // Words are extended to 64 bits alone.
            (false, way) if way == 2 || size == 4 => {
                let order = self.one_of(&["", "", "", ".volatile"]);
                self.line("mov.u64 %l, 7;");
                self.line(&format!("{guard}ld{order}.{space}.{ty} %l, [{base}+{offset}];"));
                self.line("shr.u64 %d0, %l, 27; add.s64 %l, %l, %d0; cvt.u32.u64 %v, %l;");
            }
            (true, 0) if size < 4 => {
                self.line(&format!("cvt.u16.u32 %h, %acc; {guard}st.{space}.{ty} [{base}+{offset}], %h;"))
            }
            (true, _) => self.line(&format!("{guard}st.{space}.{ty} [{base}+{offset}], %acc;")),
            (false, 0) => {
                let extended = if ty.starts_with('s') { "cvt.s32.s16" } else { "cvt.u32.u16" };
                self.line("cvt.u16.u32 %h, %acc;");
                self.line(&format!("{guard}ld.{space}.{ty} %h, [{base}+{offset}]; {extended} %v, %h;"));
            }
            (false, _) => {
                self.line(&format!("mov.u32 %v, 7; {guard}ld.{space}.{ty} %v, [{base}+{offset}];"));
            }
        }
        if !store {
            self.line("mad.lo.u32 %acc, %acc, 5, %v;");
        }
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..2 + self.below(4) {
            match self.below(8) {
                0 if depth < 2 => {
                    let label = self.label();
                    let bit = 1 << self.below(5);
                    self.line(&format!(
                        "and.b32 %r9, %acc, {bit}; setp.eq.u32 %p2, %r9, 0; @%p2 bra S{label};"
                    ));
                    self.statements(depth + 1);
                    self.line(&format!("S{label}:"));
                }
                1 if depth == 0 => self.line("bar.sync 0;"),
                _ => self.access(),
            }
        }
    }
}

/// A random kernel of this kind.
pub fn compare_short(seed: u64) {
    let mut kernel = Kernel { writer: Writer::new(seed ^ 0x5bad, BEGIN) };
    kernel.statements(0);
    kernel.line("st.global.u32 [%mine], %acc; ret;\n}");
    let block = BLOCKS[(seed % BLOCKS.len() as u64) as usize];
    let setup = Setup { seed, block, most: 1_000_000 };
    let device = Device::load(&[&kernel.text], LoadOptions::default())
        .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", kernel.text));
    if let Some(found) = difference(&device, setup, &|launch| device.launch(launch)) {
        panic!("seed {seed}, CTAs of {block:?} threads: {found}\n{}", kernel.text);
    }
}
