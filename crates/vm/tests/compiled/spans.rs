//! Random kernels whose lanes each load several words one behind the other, from places of their own: loops over rows of
//! different lengths that are unrolled. Some places are at the end of memory or outside, some indices wrap around.

use crate::run::{Setup, difference};
use crate::writer::Writer;
use softwarp_vm::device::{Device, LoadOptions};
use std::ops::{Deref, DerefMut};

const BLOCKS: [[u32; 2]; 6] = [[32, 1], [64, 1], [50, 1], [16, 4], [33, 2], [128, 1]];

const BEGIN: &str = ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<60>; .reg .b64 %d<60>; .reg .pred %p<6>;
    ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.s32 %r4, %r1, %r2, %r0; mad.lo.s32 %r5, %r3, 128, %r4;
    mul.wide.u32 %d2, %r5, 256; add.s64 %d1, %d1, %d2;
    mul.wide.u32 %d3, %r5, 4; add.s64 %d3, %d0, %d3; ld.global.u32 %r6, [%d3]; ld.global.u32 %r7, [%d3+4096];
    mov.u32 %r8, 0; mov.u32 %r10, 1; mov.u32 %r11, 2; mov.u32 %r12, 3; mov.u32 %r13, 4;
";

struct Kernel {
    writer: Writer,
    /// The number of the next register for indices and addresses.
    next: u64,
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
    /// The first index of a lane in `%r6`, and the pointer in `%d4`.
    fn places(&mut self) -> &'static str {
        self.line("mov.u64 %d4, %d0; setp.lt.u32 %p3, %r3, 2;");
        let (lines, wide) = match self.below(16) {
            0 => ("and.b32 %r6, %r6, 4095;", "mul.wide.u32"),
            1 => ("and.b32 %r6, %r6, 4095; add.s64 %d4, %d4, 2;", "mul.wide.u32"),
            2 => ("and.b32 %r6, %r6, 1023; sub.s32 %r6, %r6, 1; mul.wide.s32 %d5, %r6, 0;", "mul.wide.s32"),
            // Indices that wrap around in lanes of later CTAs, when the region is known.
            3 => (
                "and.b32 %r6, %r6, 63; @%p3 and.b32 %r6, %r6, 31; or.b32 %r6, %r6, 0xffffffc0; sub.s64 %d4, %d4, 0x3ffffff00;",
                "mul.wide.u32",
            ),
            4 => (
                "and.b32 %r6, %r6, 63; @%p3 and.b32 %r6, %r6, 31; or.b32 %r6, %r6, 0x7fffffc0; sub.s64 %d4, %d4, 0x1ffffff00;",
                "mul.wide.s32",
            ),
            5 => (
                "and.b32 %r6, %r6, 31; or.b32 %r6, %r6, 0xffffffc0; sub.s64 %d4, %d4, 0x3ffffff00;",
                "mul.wide.u32",
            ),
            // The thread's own output, which it stores to in between: no other thread's.
            6 => ("and.b32 %r6, %r6, 7; and.b32 %r7, %r7, 1; mov.u64 %d4, %d1;", "mul.wide.u32"),
            7 => ("and.b32 %r6, %r6, 3; and.b32 %r7, %r7, 1; mov.u64 %d4, %d1;", "mul.wide.s32"),
            // The last words of memory.
            8 => ("and.b32 %r6, %r6, 3; add.s32 %r6, %r6, 4070; @!%p3 add.s32 %r6, %r6, 20;", "mul.wide.s32"),
            9 => ("mul.lo.u32 %r6, %r5, 5;", "mul.wide.s32"),
            10 => ("and.b32 %r6, %r6, 255; mul.lo.u32 %r6, %r6, 4;", "mul.wide.u32"),
            _ => ("and.b32 %r6, %r6, 2047;", "mul.wide.u32"),
        };
        self.line(lines);
        wide
    }

    /// Several loads of words near the index.
    fn loads(&mut self, wide: &str) {
        let kind = self.below(4);
        let count = 2 + self.below(7);
        let first = self.one_of(&[0, 0, 0, 1, 5]);
        if kind == 0 {
            self.line(&format!("{wide} %d5, %r6, 4; add.s64 %d5, %d4, %d5;"));
        }
        for n in 0..count {
            let at = if self.below(8) == 0 { self.below(8) } else { first + n };
            let (to, number) = (20 + n, self.next);
            self.next = 30 + (self.next - 29) % 25;
            let guard = if self.below(12) == 0 { "@%p1 " } else { "" };
            let order = if self.below(24) == 0 { ".relaxed.gpu" } else { "" };
            let load = format!("{guard}ld{order}.global.u32 %r{to},");
            match kind {
                0 => self.line(&format!("{load} [%d5+{}];", 4 * at)),
                1 => {
                    let more = self.one_of(&[0, 4]);
                    self.line(&format!("add.s32 %r{number}, %r6, {at}; {wide} %d{number}, %r{number}, 4;"));
                    self.line(&format!("add.s64 %d{number}, %d{number}, %d4;"));
                    if self.below(4) == 0 {
                        let change = self.one_of(&["@%p1 add.s32 %r6, %r6, 1;", "add.s64 %d4, %d4, 4;"]);
                        self.line(change);
                    }
                    self.line(&format!("{load} [%d{number}+{more}];"));
                }
                2 => {
                    let mad = wide.replace("mul", "mad");
                    self.line(&format!(
                        "add.s32 %r{number}, %r6, {at}; {mad} %d{number}, %r{number}, 4, %d4;"
                    ));
                    self.line(&format!("{load} [%d{number}];"));
                }
                _ => {
                    self.line(&format!("add.s32 %r55, %r6, {at}; {wide} %d55, %r55, 4;"));
                    self.line(&format!("add.s64 %d55, %d55, %d4; {load} [%d55];"));
                }
            }
            if self.below(6) == 0 {
                let between = self.one_of(&[
                    "st.global.u32 [%d1+12], %r8;",
                    "st.global.u32 [%d1+64], %r20;",
                    "add.s32 %r6, %r6, 1;",
                    "@%p1 add.s32 %r6, %r6, 1;",
                    "@%p1 add.s64 %d4, %d4, 4;",
                    "add.s64 %d4, %d4, 4;",
                    "xor.b32 %r8, %r8, %r21;",
                    "setp.lt.u32 %p1, %r0, %r20;",
                    "red.global.add.u32 [%d1+16], 1;",
                ]);
                self.line(between);
            }
        }
        for n in 0..count {
            self.line(&format!("mad.lo.u32 %r8, %r8, 31, %r{};", 20 + n));
        }
    }

    fn of(seed: u64) -> String {
        let mut kernel = Kernel { writer: Writer::new(seed, BEGIN), next: 30 };
        for n in 20..30 {
            kernel.line(&format!("mov.u32 %r{n}, {n};"));
        }
        let wide = kernel.places();
        let most = kernel.one_of(&[1, 3, 7]);
        kernel.line(&format!("and.b32 %r7, %r7, {most}; setp.lt.u32 %p1, %r7, 2;"));
        if kernel.below(3) > 0 {
            kernel.line("setp.eq.u32 %p0, %r7, 0; @%p0 bra E;");
        }
        kernel.line("\nL:");
        for _ in 0..1 + kernel.below(2) {
            kernel.loads(wide);
        }
        let by = kernel.one_of(&[1, 4]);
        kernel.line(&format!(
            "add.s32 %r6, %r6, {by}; sub.s32 %r7, %r7, 1; setp.gt.s32 %p2, %r7, 0; @%p2 bra L;"
        ));
        kernel.line("\nE:");
        for n in 0..9 {
            kernel.line(&format!("st.global.u32 [%d1+{}], %r{};", 128 + 4 * n, 20 + n));
        }
        kernel.line("st.global.u32 [%d1+8], %r8; ret;\n}");
        kernel.writer.text
    }
}

/// A random kernel of this kind.
pub fn compare_spans(seed: u64) {
    let block = BLOCKS[(seed % BLOCKS.len() as u64) as usize];
    let text = Kernel::of(seed);
    let device =
        Device::load(&[&text], LoadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let setup = Setup { seed, block, most: 1_000_000 };
    if let Some(found) = difference(&device, setup, &|launch| device.launch(launch)) {
        panic!("seed {seed}, CTAs of {block:?} threads: {found}\n{text}");
    }
}
