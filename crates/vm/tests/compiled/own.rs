//! Random kernels whose threads load and store arrays of their own (`.local`): at one place or at places that differ from
//! lane to lane, words of 32 and 64 bits and vectors, in the kernel's frame and in that of a function that it calls. Few
//! places are outside or not aligned.

use crate::run::{Setup, difference};
use crate::writer::Writer;
use softwarp_vm::device::{Device, LoadOptions};
use std::ops::{Deref, DerefMut};

const BLOCKS: [[u32; 2]; 6] = [[32, 1], [64, 1], [50, 1], [16, 4], [33, 2], [128, 1]];

/// Bytes of the array.
const BYTES: u64 = 128;

/// `%r6` is a number of the thread, `%t` its index in the CTA, `%a` its array, and `%mine` its part of the output.
const REGISTERS: &str = "
    .local .align 16 .b8 array[128];
    .reg .b32 %r<12>, %t, %acc, %i, %v, %w, %x, %y; .reg .b64 %d<4>, %in, %mine, %a, %at, %l, %m; .reg .f32 %f;
    .reg .f64 %e; .reg .pred %p<4>; .reg .b16 %h, %g;";

const BEGIN: &str = "
    ld.param.u64 %in, [in]; ld.param.u64 %mine, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %t, %r1, %r2, %r0; mad.lo.u32 %r5, %r3, 128, %t; mad.wide.u32 %mine, %r5, 256, %mine;
    mul.wide.u32 %d3, %r5, 4; add.s64 %d3, %in, %d3; ld.global.u32 %r6, [%d3]; mov.u32 %acc, %t;";

const PREPARE: &str = "
    mov.u64 %a, array; mov.f32 %f, 0f3f800000; mov.f64 %e, 0d3ff0000000000000; mov.u64 %l, 5; mov.u64 %m, 9;
    mov.u32 %v, 1; mov.u32 %w, 2; mov.u32 %x, 3; mov.u32 %y, 4; mov.u32 %i, 0;
C:  cvt.u64.u32 %at, %i; add.s64 %at, %a, %at; st.local.u32 [%at], %i; add.u32 %i, %i, 4;
    setp.lt.u32 %p3, %i, 128; @%p3 bra C;
    setp.lt.u32 %p0, %acc, 20; and.b32 %r8, %r6, 4; setp.eq.u32 %p1, %r8, 0;\n";

/// Accesses: a load or a store, and its bytes.
const ACCESSES: [(&str, u64); 32] = [
    ("ld.local.u32 %v, [%at];", 4),
    ("st.local.u32 [%at], %acc;", 4),
    ("ld.local.f32 %f, [%at]; mov.b32 %v, %f;", 4),
    ("add.f32 %f, %f, %f; st.local.f32 [%at], %f;", 4),
    ("ld.local.u64 %l, [%at]; cvt.u32.u64 %v, %l;", 8),
    ("mad.wide.u32 %l, %acc, 77, %m; st.local.u64 [%at], %l;", 8),
    ("ld.local.f64 %e, [%at]; mov.b64 %m, %e; cvt.u32.u64 %w, %m;", 8),
    ("add.f64 %e, %e, %e; st.local.f64 [%at], %e;", 8),
    ("ld.local.v2.u32 {%v, %w}, [%at];", 8),
    ("st.local.v2.u32 [%at], {%acc, %w};", 8),
    ("ld.local.v4.u32 {%v, %w, %x, %y}, [%at];", 16),
    ("st.local.v4.u32 [%at], {%acc, %v, %w, %y};", 16),
    ("ld.local.v2.u64 {%l, %m}, [%at]; cvt.u32.u64 %x, %m;", 16),
    ("st.local.v2.u64 [%at], {%m, %l};", 16),
    ("ld.local.u8 %v, [%at];", 1),
    ("ld.local.s8 %v, [%at];", 1),
    ("ld.local.s8 %h, [%at]; cvt.s32.s16 %v, %h;", 1),
    ("ld.local.u8 %l, [%at]; cvt.u32.u64 %v, %l;", 1),
    ("ld.local.s8 %l, [%at]; shr.u64 %m, %l, 30; cvt.u32.u64 %v, %m;", 1),
    ("st.local.u8 [%at], %acc;", 1),
    ("cvt.u16.u32 %h, %acc; st.local.u8 [%at], %h;", 1),
    ("st.local.u8 [%at], %l;", 1),
    ("ld.local.s16 %h, [%at]; cvt.s32.s16 %v, %h;", 2),
    ("ld.local.s16 %v, [%at];", 2),
    ("ld.local.u16 %l, [%at]; cvt.u32.u64 %v, %l;", 2),
    ("st.local.u16 [%at], %acc;", 2),
    ("ld.local.s32 %l, [%at]; shr.u64 %m, %l, 30; cvt.u32.u64 %v, %m;", 4),
    ("ld.local.v2.u16 {%h, %g}, [%at]; mov.b32 %v, {%g, %h};", 4),
    ("ld.local.v4.u8 {%v, %w, %x, %y}, [%at];", 4),
    ("st.local.v4.u8 [%at], {%acc, %v, %w, %y};", 4),
    ("ld.local.v2.u8 {%v, %w}, [%at];", 2),
    ("ld.local.u32 %y, [array+8];", 0),
];

const CALL: &str = "{ .param .b32 a; .param .align 16 .b8 b[16]; .param .b32 got; st.param.b32 [a], %acc;
    st.param.v2.b32 [b], {%r6, %w}; st.param.b64 [b+8], %l; call (got), f, (a, b); ld.param.b32 %acc, [got]; }";

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
    fn access(&mut self) {
        let (access, bytes) = self.one_of(&ACCESSES);
        let aligned = if self.below(60) == 0 { 1 } else { bytes.max(1) };
        let outside = if self.below(60) == 0 { self.one_of(&[-4i64, 4, 128, 1 << 20]) } else { 0 };
        let (factor, place) = (2 * self.below(100) + 1, self.below(1000));
        match self.below(4) {
            // One place for all lanes.
            0 => self.line(&format!("mov.u32 %i, {place};")),
            1 => self.line("mov.u32 %i, %r3; shl.b32 %i, %i, 2;"),
            2 => self.line(&format!("mul.lo.u32 %i, %t, {factor};")),
            _ => self.line(&format!("mad.lo.u32 %i, %r6, {factor}, %acc;")),
        }
        self.line(&format!("and.b32 %i, %i, {};", (BYTES - bytes.max(1)) & !(aligned - 1)));
        self.line(&format!("cvt.u64.u32 %at, %i; add.s64 %at, %a, %at; add.s64 %at, %at, {outside};"));
        let guard = self.one_of(&["", "", "", "@%p0 ", "@!%p1 "]);
        let guarded: Vec<String> =
            access.split_inclusive(';').map(|one| format!("{guard}{}", one.trim())).collect();
        self.line(&guarded.join(" "));
        self.line("mad.lo.u32 %acc, %acc, 5, %v; xor.b32 %acc, %acc, %w; add.u32 %acc, %acc, %y;");
    }

    fn statements(&mut self, depth: u32, calls: bool) {
        for _ in 0..2 + self.below(4) {
            match self.below(8) {
                0 if depth < 2 => {
                    let label = self.label();
                    let bit = 1 << self.below(5);
                    self.line(&format!(
                        "and.b32 %r9, %acc, {bit}; setp.eq.u32 %p2, %r9, 0; @%p2 bra S{label};"
                    ));
                    self.statements(depth + 1, calls);
                    self.line(&format!("S{label}:"));
                }
                1 if depth == 0 && calls => self.line("bar.sync 0;"),
                2 if calls => self.line(CALL),
                _ => self.access(),
            }
        }
    }
}

/// A random kernel of this kind.
pub fn compare_own(seed: u64) {
    let mut kernel = Kernel { writer: Writer::new(seed ^ 0x0a11, "") };
    kernel.line(".version 8.6\n.target sm_90\n.address_size 64");
    kernel.line(".func (.param .b32 got) f(.param .b32 a, .param .align 16 .b8 b[16])\n{");
    kernel.text.push_str(REGISTERS);
    kernel.line(
        "ld.param.u32 %t, [a]; ld.param.v2.u32 {%r6, %r5}, [b]; xor.b32 %acc, %t, %r5; mov.u32 %r3, 2;",
    );
    kernel.text.push_str(PREPARE);
    kernel.line("ld.param.u64 %l, [b+8]; cvt.u32.u64 %w, %l;");
    kernel.statements(1, false);
    kernel.line("st.param.b32 [got], %acc; ret;\n}");
    kernel.line(".visible .entry k(.param .u64 in, .param .u64 out)\n{");
    kernel.text.push_str(REGISTERS);
    kernel.text.push_str(BEGIN);
    kernel.text.push_str(PREPARE);
    let calls = kernel.below(3) == 0;
    kernel.statements(0, calls);
    kernel.line("st.global.u32 [%mine], %acc; st.global.u64 [%mine+8], %l; ret;\n}");
    let block = BLOCKS[(seed % BLOCKS.len() as u64) as usize];
    let setup = Setup { seed, block, most: 1_000_000 };
    let device = Device::load(&[&kernel.text], LoadOptions::default())
        .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", kernel.text));
    if let Some(found) = difference(&device, setup, &|launch| device.launch(launch)) {
        panic!("seed {seed}, CTAs of {block:?} threads: {found}\n{}", kernel.text);
    }
}
