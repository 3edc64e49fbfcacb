//! Random kernels in the manner of tiled products: CTAs with rows of 16 or 32 threads, addresses that are a row times a
//! number known at run time, and sums of products of elements in shared memory.

use crate::run::{OWN, Setup, difference};
use crate::writer::Writer;
use softwarp_vm::device::{Device, LoadOptions};
use std::ops::{Deref, DerefMut};

const BLOCKS: [[u32; 2]; 7] = [[16, 4], [16, 3], [16, 8], [32, 3], [64, 1], [16, 5], [32, 4]];

const BEGIN: &str = ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .shared .align 16 .b8 tile[8192]; .reg .f32 %f<40>; .reg .b32 %r<40>; .reg .b64 %d<20>; .reg .pred %p<4>;
    ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.s32 %r4, %r1, %r2, %r0; mad.lo.s32 %r5, %r3, 128, %r4;
    mul.wide.u32 %d2, %r5, 256; add.s64 %d1, %d1, %d2;
    mov.u32 %r10, tile; shl.b32 %r14, %r4, 2; add.s32 %r14, %r14, %r10;
    mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f40000000; mov.f32 %f3, 0fbf800000;
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
    /// Loads of elements of rows: the row times a number, plus the column.
    fn rows(&mut self, n: u64) {
        let word = 4 * self.below(64);
        self.line(&format!("ld.global.u32 %r6, [%d0+{word}]; and.b32 %r6, %r6, 31;"));
        let index = self.one_of(&[
            "mad.lo.s32 %r7, %r1, %r6, %r0;",
            "mul.lo.s32 %r7, %r1, %r6;",
            "mul.lo.s32 %r7, %r6, %r1; add.s32 %r7, %r7, %r0;",
            "mad.lo.s32 %r7, %r1, %r6, %r0; sub.s32 %r7, %r7, %r6; add.s32 %r7, %r7, 64;",
            "shl.b32 %r7, %r0, 1; mad.lo.s32 %r7, %r1, %r6, %r7;",
        ]);
        self.line(index);
        match self.below(6) {
            0 => self.wrapping_row(),
            1 => self.wrapping_lanes(),
            _ => {
                let widened = self.one_of(&[
                    "mul.wide.s32 %d3, %r7, 4;",
                    "mul.wide.u32 %d3, %r7, 4;",
                    "cvt.s64.s32 %d3, %r7; shl.b64 %d3, %d3, 2;",
                    "cvt.u64.u32 %d3, %r7; shl.b64 %d3, %d3, 2;",
                    "mul.wide.s32 %d3, %r7, 8;",
                ]);
                self.line(widened);
            }
        }
        self.line("add.s64 %d3, %d0, %d3;");
        let (offset, to) = (8 * self.below(8), self.below(4));
        let skips = self.below(3) == 0;
        if skips {
            let limit = self.below(33);
            self.line(&format!("setp.lt.u32 %p0, %r0, {limit}; @%p0 bra S{n};"));
        }
        let load = self.one_of(&["ld.global.f32 %f*,", "ld.global.f32 %f*,", "@%p1 ld.global.f32 %f*,"]);
        let load = load.replace('*', &to.to_string());
        self.line(&format!("setp.lt.u32 %p1, %r1, 9; {load} [%d3+{offset}];"));
        if self.below(3) == 0 {
            let place = 128 + 4 * n;
            self.line(&format!("st.global.f32 [%d1+{place}], %f{to};"));
        }
        if skips {
            self.line(&format!("S{n}:"));
        }
    }

    /// An index that wraps around among the lanes. The address is one inside all the same.
    fn wrapping_row(&mut self) {
        let by = self.one_of(&["0x7ffffff0", "-8", "0x7fffffb8", "-40", "-2000"]);
        self.line(&format!("add.s32 %r7, %r7, {by};"));
        let widened = self.one_of(&["mul.wide.s32 %d3, %r7, 4;", "mul.wide.u32 %d3, %r7, 8;"]);
        self.line(widened);
        self.line("shr.u64 %d4, %d3, 20; xor.b64 %d3, %d3, %d4; and.b64 %d3, %d3, 0x1ff8;");
    }

    /// An index that wraps around in some lanes: their addresses are far outside, while those of others are inside.
    fn wrapping_lanes(&mut self) {
        let lines = self.one_of(&[
            "add.s32 %r7, %r7, 0x7fffffc0; mul.wide.s32 %d3, %r7, 4; sub.s64 %d3, %d3, 0x1ffffff00;",
            "add.s32 %r7, %r7, 0xffffffc0; mul.wide.u32 %d3, %r7, 4; sub.s64 %d3, %d3, 0x3ffffff00;",
            "add.s32 %r7, %r7, 0x7fffffc0; cvt.s64.s32 %d3, %r7; shl.b64 %d3, %d3, 2; sub.s64 %d3, %d3, 0x1ffffff00;",
            "add.s32 %r7, %r7, 0xffffffc0; cvt.u64.u32 %d3, %r7; shl.b64 %d3, %d3, 2; sub.s64 %d3, %d3, 0x3ffffff00;",
        ]);
        self.line(lines);
    }

    /// A loop whose accesses have an index of rows: the address is computed right before each of them. Some indices are
    /// outside of the buffer, wrap around in some lanes, or are not aligned.
    fn rounds(&mut self, n: u64) {
        let (word, times) = (4 * self.below(64), 1 + self.below(4));
        self.line(&format!("ld.global.u32 %r6, [%d0+{word}]; and.b32 %r6, %r6, 32; or.b32 %r6, %r6, 16;"));
        let first = self.one_of(&[0, 0, 0, 0, 0, 17, 3900, 4040, -8, 0x7fff_fff0, 0x4000_0000]);
        self.line(&format!("mad.lo.s32 %r7, %r1, %r6, %r0; add.s32 %r7, %r7, {first};"));
        self.line(&format!("shl.b32 %r25, %r6, 2; mov.u32 %r21, {times};\nR{n}:"));
        for _ in 0..1 + self.below(3) {
            self.access_of_rows();
        }
        match self.below(8) {
            0 | 1 => self.line("bar.sync 0;"),
            2 => self.line(&format!("setp.lt.u32 %p0, %r0, 5; @%p0 bra Q{n}; add.f32 %f1, %f1, %f0;\nQ{n}:")),
            3 => {
                self.line(&format!("setp.lt.u32 %p0, %r1, 2; @%p0 bra Q{n}; add.s32 %r20, %r20, %r7;\nQ{n}:"))
            }
            4 if first == 0 => self.line("add.s32 %r20, %r20, %r7;"),
            _ => {}
        }
        let next = self.one_of(&[
            "add.s32 %r7, %r7, %r6;",
            "add.s32 %r7, %r6, %r7;",
            "add.s32 %r7, %r7, 16;",
            "sub.s32 %r7, %r7, %r6; add.s32 %r7, %r7, 64;",
            "mov.u32 %r23, %r7; add.s32 %r7, %r23, 8;",
            "mad.lo.s32 %r7, %r1, %r6, %r0; add.s32 %r7, %r7, %r21;",
            "mul.lo.s32 %r7, %r1, %r6; shl.b32 %r7, %r7, 1; add.s32 %r7, %r0, %r7;",
        ]);
        self.line(next);
        self.line(&format!("sub.s32 %r21, %r21, 1; setp.ne.s32 %p2, %r21, 0; @%p2 bra R{n};"));
        self.line("bar.sync 0;");
    }

    /// An access of such a loop.
    fn access_of_rows(&mut self) {
        if self.below(4) == 0 {
            // No two threads write the same element.
            self.line("mad.lo.s32 %r24, %r1, %r25, %r10; shl.b32 %r26, %r0, 2; add.s32 %r24, %r24, %r26;");
            let access = self.one_of(&["st.shared.f32 [%r24], %f0;", "ld.shared.f32 %f1, [%r24+4];"]);
            self.line(access);
            return;
        }
        let sign = self.one_of(&["u32", "s32"]);
        let (factor, bytes) =
            self.one_of(&[(4, "f32"), (4, "f32"), (4, "f32"), (8, "u64"), (2, "f32"), (1, "f32")]);
        let store = self.below(4) == 0 && factor >= 4;
        let base = if store { "%d6" } else { "%d0" };
        let address = self.one_of(&[
            "mul.wide.S %d3, %r7, F; add.s64 %d3, B, %d3;",
            "mul.wide.S %d3, %r7, F; add.s64 %d3, %d3, B;",
            "mul.wide.S %d7, %r7, F; add.s64 %d3, %d7, B;",
            "mad.wide.S %d3, %r7, F, B;",
            "mul.wide.S %d3, %r7, F; add.s64 %d3, %d3, B; add.s64 %d5, %d5, 1;",
        ]);
        let address = address.replace('S', sign).replace('F', &factor.to_string()).replace('B', base);
        self.line(&address);
        let offset = self.one_of(&[0, 0, 0, 8, 64, -64, 2]);
        match (store, bytes) {
            // Several threads may write an element: its address, so that it does not matter which is the last.
            (true, "u64") => self.line(&format!(
                "cvt.u32.u64 %r27, %d3; add.u32 %r27, %r27, {offset}; add.u32 %r28, %r27, 4; \
                 mov.b64 %d8, {{%r27, %r28}}; st.global.u64 [%d3+{offset}], %d8;"
            )),
            (true, _) => self.line(&format!(
                "cvt.u32.u64 %r27, %d3; add.u32 %r27, %r27, {offset}; mov.b32 %f30, %r27; \
                 st.global.f32 [%d3+{offset}], %f30;"
            )),
            (false, "u64") => {
                self.line(&format!("ld.global.u64 %d4, [%d3+{offset}]; xor.b64 %d5, %d5, %d4;"))
            }
            (false, _) => {
                let to = self.below(4);
                self.line(&format!("ld.global.f32 %f{to}, [%d3+{offset}];"));
            }
        }
    }

    /// Stores to shared memory, and sums of products of what is there.
    fn products(&mut self, threads: u32) {
        // No two warps write the same element.
        let pitch = if threads > 16 { 128 } else { self.one_of(&[64, 128]) };
        self.line(&format!("mad.lo.s32 %r11, %r1, {pitch}, %r10; shl.b32 %r12, %r0, 2;"));
        self.line("add.s32 %r13, %r11, %r12; add.s32 %r12, %r10, %r12;");
        self.line("st.shared.f32 [%r13], %f0; st.shared.f32 [%r13+2048], %f1; bar.sync 0;");
        let mut at = self.one_of(&[0, 0, 0, 0, 7900, -8]);
        for n in 0..4 + self.below(12) {
            let (x, y) = (4 + n % 3, 8 + n % 2);
            let row = self.one_of(&["%r12", "%r12", "%r13"]);
            let near = at * i64::from(self.below(8) > 0);
            self.line(&format!("ld.shared.f32 %f{x}, [{row}+{near}];"));
            self.line(&format!("ld.shared.f32 %f{y}, [%r11+{}];", at / 4));
            if let 0 = self.below(6) {
                let between = self.one_of(&[
                    "add.f32 %f3, %f3, %f0;",
                    "st.shared.f32 [%r14+7168], %f3;",
                    "add.s32 %r20, %r20, %r0;",
                    "mul.wide.s32 %d5, %r4, 4;",
                    "bar.sync 0;",
                    "max.f32 %f3, %f3, %f1;",
                ]);
                self.line(between);
            }
            let (a, b) = if self.below(2) == 0 { (x, y) } else { (y, x) };
            let to = self.below(3);
            let line = match self.below(9) {
                0 => format!("add.f32 %f{to}, %f{a}, %f{b};"),
                1 => format!("mul.f32 %f{to}, %f{a}, %f{b};"),
                2 => format!("sub.f32 %f{to}, %f{a}, %f{b};"),
                3 => format!("fma.rn.f32 %f{to}, %f{to}, %f{a}, %f{b};"),
                4 => format!("fma.rn.f32 %f{to}, %f{a}, %f{a}, %f{b};"),
                5 => format!("add.f32 %f{to}, %f{a}, %f{to}; fma.rn.f32 %f{to}, %f{b}, %f{to}, %f3;"),
                _ => format!("fma.rn.f32 %f{to}, %f{a}, %f{b}, %f{to};"),
            };
            self.line(&line);
            at += self.one_of(&[64, 64, 4, 128]);
        }
    }

    /// For CTAs with rows of as many threads.
    fn of(seed: u64, threads: u32) -> String {
        let mut kernel = Kernel { writer: Writer::new(seed, BEGIN) };
        kernel.line("mov.u32 %r20, 0; mov.u64 %d5, 0; ld.param.u64 %d6, [out]; bar.sync 0;");
        kernel.line(&format!("add.s64 %d6, %d6, {OWN};"));
        for n in 0..1 + kernel.below(4) {
            match kernel.below(2) {
                0 => kernel.rows(n),
                _ => kernel.rounds(n),
            }
        }
        let times = 1 + kernel.below(3);
        if times > 1 {
            kernel.line(&format!("mov.u32 %r30, {times};\nL:"));
        }
        kernel.products(threads);
        if times > 1 {
            kernel.line("bar.sync 0; sub.s32 %r30, %r30, 1; setp.ne.s32 %p2, %r30, 0; @%p2 bra L;");
        }
        for n in 0..4 {
            kernel.line(&format!("st.global.f32 [%d1+{}], %f{n};", 4 * n));
        }
        kernel.line("st.global.u32 [%d1+16], %r20; st.global.u64 [%d1+24], %d5; ret;\n}");
        kernel.writer.text
    }
}

/// A random kernel of this kind.
pub fn compare_tiles(seed: u64) {
    let block = BLOCKS[(seed % BLOCKS.len() as u64) as usize];
    let text = Kernel::of(seed, block[0]);
    let device =
        Device::load(&[&text], LoadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let setup = Setup { seed, block, most: 1_000_000 };
    if let Some(found) = difference(&device, setup, &|launch| device.launch(launch)) {
        panic!("seed {seed}, CTAs of {block:?} threads: {found}\n{text}");
    }
}
