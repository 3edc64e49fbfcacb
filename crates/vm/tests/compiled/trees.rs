//! Random kernels in the manner of trees of sums in shared memory: between two barriers, the threads whose `%tid.x` passes
//! a comparison with a constant load, add and store, while other warps have nothing to do.

use crate::run::{Setup, difference};
use crate::writer::Writer;
use softwarp_vm::device::{Device, LoadOptions};
use std::ops::{Deref, DerefMut};

const BLOCKS: [[u32; 2]; 9] =
    [[128, 1], [96, 1], [64, 1], [64, 2], [32, 4], [32, 1], [50, 1], [16, 8], [128, 1]];

/// Two rows of 192 words are in shared memory: each thread has one in both, and may read others behind it.
const BEGIN: &str = ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .shared .align 16 .b8 tree[1536]; .reg .f32 %f<8>; .reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred %p<5>;
    ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.s32 %r4, %r1, %r2, %r0; mad.lo.s32 %r5, %r3, 128, %r4;
    mul.wide.u32 %d2, %r5, 4; add.s64 %d0, %d0, %d2; mul.wide.u32 %d2, %r5, 256; add.s64 %d1, %d1, %d2;
    mov.u32 %r6, tree; shl.b32 %r7, %r4, 2; add.s32 %r7, %r6, %r7;
    ld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d0+2048]; mov.u32 %r8, 0; mov.u32 %r9, 0;
    st.shared.f32 [%r7], %f0; st.shared.f32 [%r7+768], %f1; setp.lt.u32 %p1, %r0, 5; setp.ne.u32 %p2, %r0, 3;
    bar.sync 0;
";

struct Kernel {
    writer: Writer,
    /// Which row is read: the other one is written.
    row: u64,
    /// All warps are whole.
    whole: bool,
    /// Whether `%p4` has been written: for several steps, and seldom again.
    compared: bool,
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
    /// What the threads of a step do. Only the thread itself writes a word, and nothing reads it before the next barrier.
    fn body(&mut self) {
        let (from, to) = (768 * self.row, 768 * (1 - self.row));
        // Now and then a place that is outside of shared memory for some threads or all.
        let far = if self.below(40) == 0 { 1200 } else { 0 };
        let other = 4 * self.one_of(&[0, 1, 2, 4, 8, 16, 32, 64]) + from + far;
        match self.below(7) {
            0 => self.line(&format!("ld.shared.u32 %r10, [%r7+{other}]; add.s32 %r8, %r8, %r10;")),
            1 => self.line(&format!("ld.shared.u32 %r10, [%r6+{from}]; st.shared.u32 [%r7+{to}], %r10;")),
            2 => self.line(&format!("@%p1 ld.shared.f32 %f0, [%r7+{other}]; st.shared.f32 [%r7+{to}], %f0;")),
            3 => self.line("st.global.u32 [%d1+40], %r8; add.s32 %r9, %r9, 1;"),
            _ => {
                let line = format!("ld.shared.f32 %f2, [%r7+{from}]; ld.shared.f32 %f3, [%r7+{other}];");
                self.line(&line);
                self.line(&format!("add.f32 %f2, %f2, %f3; st.shared.f32 [%r7+{to}], %f2;"));
            }
        }
        if self.below(6) == 0 {
            self.line("st.global.f32 [%d1+32], %f2;");
        }
    }

    /// A step of prefix sums: lanes whose number passes a comparison add what a shuffle gives, and predicates are known.
    fn shuffle(&mut self) {
        let (kind, bounds) =
            self.one_of(&[("up", 0), ("up", 0x1000), ("down", 31), ("bfly", 31), ("idx", 31)]);
        let by = self.one_of(&[1, 2, 4, 8, 16, 5, 31]);
        let p = self.one_of(&["%p0", "%p3"]);
        self.line(&format!("and.b32 %r17, %r0, 31; shfl.sync.{kind}.b32 %r18|{p}, %r8, {by}, {bounds}, -1;"));
        if self.below(3) == 0 {
            self.line(&format!("@{p} add.s32 %r9, %r9, 11;"));
        }
        let (q, order) = (self.one_of(&["%p0", "%p3"]), self.one_of(&["lt", "ge", "eq", "ne", "gt"]));
        let bound = self.one_of(&[0, 1, 2, 4, 8, 16, 31, 32]);
        let guard = self.one_of(&["", "", "", "@%p1 "]);
        self.line(&format!("{guard}setp.{order}.u32 {q}, %r17, {bound};"));
        let select = self.one_of(&[
            "selp.b32 %r18, 0, %r18, *; add.s32 %r8, %r8, %r18;",
            "selp.b32 %r8, %r18, %r8, *;",
            "selp.b32 %r8, %r8, %r18, *; selp.f32 %f0, %f1, %f0, *;",
            "selp.b64 %d5, %d2, %d0, *; shr.u64 %d5, %d5, 3; cvt.u32.u64 %r18, %d5; and.b32 %r18, %r18, 31; add.s32 %r9, %r9, %r18;",
        ]);
        self.line(&select.replace('*', q));
    }

    /// A branch that all threads of a CTA take or none, or a loop.
    fn uniform(&mut self, n: u64) {
        let (p, bound) = (self.one_of(&["%p0", "%p3"]), self.below(5));
        let adds = 1 + self.below(9);
        if self.below(2) == 0 {
            let (order, not) =
                self.one_of(&[("lt", ""), ("le", ""), ("ne", ""), ("ge", "!"), ("gt", "!"), ("eq", "!")]);
            let bound = if matches!(order, "ne" | "eq") { bound + 1 } else { bound };
            self.line(&format!("mov.u32 %r19, 0;\nW{n}: add.s32 %r9, %r9, {adds}; add.s32 %r19, %r19, 1;"));
            self.line(&format!("setp.{order}.u32 {p}, %r19, {bound}; @{not}{p} bra W{n};"));
            return;
        }
        let (order, not) = (self.one_of(&["lt", "le", "gt", "ge", "eq", "ne"]), self.one_of(&["", "!"]));
        let (of, ty) = self.one_of(&[("%r3", "u32"), ("%r3", "s32"), ("%d6", "u64"), ("%d6", "s64")]);
        let bound = if ty.starts_with('s') { bound as i64 - 1 } else { bound as i64 };
        self.line(&format!(
            "cvt.u64.u32 %d6, %r3; setp.{order}.{ty} {p}, {of}, {bound}; @{not}{p} bra U{n};"
        ));
        self.line(&format!("add.s32 %r9, %r9, {adds};\nU{n}:"));
        if self.below(6) == 0 {
            self.line(&format!("@{p} add.s32 %r9, %r9, 100;"));
        }
    }

    /// A step: a branch by a comparison over a body, up to a barrier.
    fn step(&mut self, n: u64) {
        if self.whole && self.below(3) == 0 {
            (0..1 + self.below(3)).for_each(|_| self.shuffle());
        }
        if self.below(3) == 0 {
            self.uniform(n);
        }
        if self.below(6) == 0 {
            let before = self.one_of(&["add.s32 %r9, %r9, 3;", "mov.u32 %r11, %r8;", "add.s32 %r0, %r0, 0;"]);
            self.line(before);
        }
        let order = self.one_of(&["gt", "ge", "lt", "le", "ne", "eq", "gt", "ge", "lt"]);
        let ty = self.one_of(&["u32", "s32"]);
        let bound = self.one_of(&[127, 64, 63, 32, 31, 16, 15, 8, 7, 4, 3, 2, 1, 0, 33, 40, 5, -1]);
        let (a, b) = if self.below(5) == 0 {
            (bound.to_string(), "%r0".to_owned())
        } else {
            ("%r0".to_owned(), bound.to_string())
        };
        let (p, not) = (self.one_of(&["%p0", "%p0", "%p3", "%p4", "%p4"]), self.one_of(&["", "", "!"]));
        let skips = p == "%p4" && !self.compared && self.below(8) == 0;
        if skips {
            self.line(&format!("@%p1 bra K{n};"));
        }
        match a.starts_with('%') {
            _ if p == "%p4" && std::mem::replace(&mut self.compared, true) && self.below(4) > 0 => {}
            true => self.line(&format!("setp.{order}.{ty} {p}, {a}, {b};")),
            false => self.line(&format!("mov.u32 %r12, {a}; setp.{order}.{ty} {p}, %r12, {b};")),
        }
        if skips {
            self.line(&format!("K{n}:"));
        }
        self.line(&format!("@{not}{p} bra S{n};"));
        for _ in 0..self.below(3) {
            self.body();
        }
        self.line(&format!("S{n}:"));
        // A predicate may be read behind the barrier.
        if self.below(8) == 0 {
            self.line(&format!("@{p} add.s32 %r9, %r9, 7;"));
        }
        self.line("bar.sync 0;");
        if self.below(8) == 0 {
            self.line(&format!("selp.b32 %r13, 5, 9, {p}; add.s32 %r9, %r9, %r13;"));
        }
        self.row = 1 - self.row;
    }

    fn of(seed: u64, whole: bool) -> String {
        let mut kernel = Kernel { writer: Writer::new(seed, BEGIN), row: 0, whole, compared: false };
        // Long loops spend the budget of a run.
        let times = kernel.one_of(&[1, 1, 1, 1, 2, 3, 1, 700]);
        if times > 1 {
            kernel.line(&format!("mov.u32 %r14, {times};\nL:"));
        }
        let steps = 1 + kernel.below(6);
        (0..steps).for_each(|n| kernel.step(n));
        if times > 1 {
            kernel.line("bar.sync 0; sub.s32 %r14, %r14, 1; setp.ne.s32 %p3, %r14, 0; @%p3 bra L;");
        }
        kernel.line("ld.shared.u32 %r15, [%r7]; ld.shared.u32 %r16, [%r7+768];");
        kernel.line("st.global.u32 [%d1], %r8; st.global.u32 [%d1+4], %r9; st.global.u32 [%d1+8], %r15;");
        kernel.line("st.global.u32 [%d1+12], %r16;");
        if kernel.below(2) == 0 {
            kernel.line("bar.sync 0;");
            let order = kernel.one_of(&["ne", "gt", "ge"]);
            let bound = kernel.one_of(&[0, 1, 31, 40]);
            kernel.line(&format!("setp.{order}.u32 %p0, %r0, {bound}; @%p0 bra END;"));
            kernel.line("ld.shared.u32 %r15, [%r6]; st.global.u32 [%d1+20], %r15;\nEND:");
        }
        kernel.line("ret;\n}");
        // Volatile ones are checked alone. One under a guard leaves compiled code, and other warps go first: it may read what
        // they store, without a barrier.
        match kernel.below(6) {
            0 => {
                let volatile = kernel.writer.text.replace(" ld.shared", " ld.volatile.shared");
                volatile.replace("@%p1 ld.volatile.shared", "@%p1 ld.shared")
            }
            1 => kernel.writer.text.replace(" st.shared", " st.volatile.shared"),
            _ => kernel.writer.text,
        }
    }
}

/// A random kernel of this kind.
pub fn compare_trees(seed: u64) {
    let block = BLOCKS[(seed % BLOCKS.len() as u64) as usize];
    let text = Kernel::of(seed, (block[0] * block[1]).is_multiple_of(32));
    let device =
        Device::load(&[&text], LoadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let most = if seed.is_multiple_of(16) { seed / 16 % 3000 } else { 10_000_000 };
    let setup = Setup { seed, block, most };
    if let Some(found) = difference(&device, setup, &|launch| device.launch(launch)) {
        panic!("seed {seed}, CTAs of {block:?} threads: {found}\n{text}");
    }
}
