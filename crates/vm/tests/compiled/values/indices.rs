//! Indices of arrays: sums and products of places of threads, in registers that are overwritten by what is computed of
//! them, as addresses of loads.

use super::{BLOCKS, compare, module, programs};
use crate::writer::Writer;
use std::fmt::Write;

/// An index is above the negative of this, and below it.
const MOST: i64 = 12_000;

/// The registers of indices, and those of indices in a loop.
const OUTER: usize = 6;
const ALL: usize = 10;

/// What is known of an index: the least and the largest value.
type Bounds = (i64, i64);

struct Indices {
    writer: Writer,
    bounds: [Bounds; ALL],
    /// The registers that statements write.
    written: std::ops::Range<usize>,
    depth: u32,
}

/// The largest of `%x`, `%y`, `%z`, `%cta`.
const PLACES: [(&str, i64); 4] = [("%x", 255), ("%y", 15), ("%z", 3), ("%cta", 1)];

/// The small numbers, by their registers.
const NUMBERS: [(&str, i64); 4] = [("%n0", 3), ("%n1", 16), ("%n2", 5), ("%n3", 1)];

impl Indices {
    fn line(&mut self, line: &str) {
        self.writer.line(line);
    }

    fn any(&mut self) -> usize {
        let all = if self.depth == 0 { OUTER } else { ALL };
        self.writer.below(all as u64) as usize
    }

    /// A result, often in the register of a source.
    fn result(&mut self, sources: &[usize]) -> usize {
        let own: Vec<usize> = sources.iter().copied().filter(|of| self.written.contains(of)).collect();
        if !own.is_empty() && self.writer.below(3) != 0 {
            return self.writer.one_of(&own);
        }
        let count = self.written.len() as u64;
        self.written.start + self.writer.below(count) as usize
    }

    fn begin(&mut self, d: usize) {
        let (place, most) = self.writer.one_of(&PLACES);
        let (number, factor) = self.writer.one_of(&NUMBERS);
        let (other, more) = self.writer.one_of(&PLACES);
        let bounds = match self.writer.below(4) {
            0 => {
                self.line(&format!("mov.u32 %i{d}, {place};"));
                (0, most)
            }
            1 => {
                self.line(&format!("mul.lo.u32 %i{d}, {place}, {number};"));
                (0, most * factor)
            }
            2 => {
                self.line(&format!("mad.lo.u32 %i{d}, {number}, {place}, {other};"));
                (0, most * factor + more)
            }
            _ => {
                self.line(&format!("sub.s32 %i{d}, {place}, {number};"));
                (-factor, most - factor)
            }
        };
        self.bounds[d] = bounds;
    }

    /// Arithmetic whose result has bounds.
    fn arithmetic(&mut self) {
        let (a, b) = (self.any(), self.any());
        let ((least, most), (less, more)) = (self.bounds[a], self.bounds[b]);
        let (number, value) = self.writer.one_of(&NUMBERS);
        let constant = self.writer.one_of(&[1i64, 2, 3, 4, 7, 16]);
        let d = self.result(&[a, b]);
        let (line, bounds) = match self.writer.below(10) {
            0 | 1 => (format!("add.s32 %i{d}, %i{a}, %i{b};"), (least + less, most + more)),
            2 => (format!("sub.s32 %i{d}, %i{a}, %i{b};"), (least - more, most - less)),
            3 => (format!("add.s32 %i{d}, {number}, %i{a};"), (least + value, most + value)),
            4 => (format!("add.s32 %i{d}, %i{a}, {constant};"), (least + constant, most + constant)),
            5 => (format!("mul.lo.s32 %i{d}, %i{a}, {constant};"), (least * constant, most * constant)),
            6 => (format!("mul.lo.s32 %i{d}, {number}, %i{a};"), (least * value, most * value)),
            7 => (
                format!("mad.lo.s32 %i{d}, %i{a}, {number}, %i{b};"),
                (least * value + less, most * value + more),
            ),
            8 => (
                format!("mad.lo.s32 %i{d}, {constant}, %i{a}, %i{b};"),
                (least * constant + less, most * constant + more),
            ),
            _ => (format!("shl.b32 %i{d}, %i{a}, 2;"), (least * 4, most * 4)),
        };
        if bounds.0 < -MOST || bounds.1 > MOST {
            return self.begin(d);
        }
        self.line(&line);
        self.bounds[d] = bounds;
    }

    /// A load by an index.
    fn load(&mut self) {
        let i = self.any();
        let ty = if self.bounds[i].0 >= 0 && self.writer.below(2) == 0 { "u32" } else { "s32" };
        let offset = self.writer.one_of(&["", "+4", "+-64", "+128"]);
        match self.writer.below(5) {
            0 => self.line(&format!("mad.wide.{ty} %a0, %i{i}, 4, %in;")),
            1 => {
                self.line(&format!("cvt.{}64.{ty} %a0, %i{i};", &ty[..1]));
                self.line("shl.b64 %a0, %a0, 2; add.s64 %a0, %in, %a0;");
            }
            2 => self.line(&format!("mul.wide.{ty} %a0, %i{i}, 4; add.s64 %a0, %a0, %in;")),
            _ => self.line(&format!("mul.wide.{ty} %a0, %i{i}, 4; add.s64 %a0, %in, %a0;")),
        }
        match self.writer.below(6) {
            0 => self.line(&format!("ld.global.f32 %f1, [%a0{offset}]; fma.rn.f32 %f0, %f0, %f1, %f1;")),
            1 => {
                self.line("ld.global.u32 %v, [%a0]; ld.global.u32 %u, [%a0+64];");
                self.line("mad.lo.u32 %acc, %acc, 31, %v; xor.b32 %acc, %acc, %u;");
            }
            2 => {
                let d = self.result(&[]);
                self.line("ld.global.f32 %f1, [%a0]; ld.global.f32 %f2, [%a0+64];");
                self.line(&format!(
                    "add.f32 %f3, %f1, %f0; add.s32 %i{d}, %i{d}, %n3; add.f32 %f0, %f3, %f2;"
                ));
                self.bounds[d] = (self.bounds[d].0 + 1, self.bounds[d].1 + 1);
            }
            _ => self.line(&format!("ld.global.u32 %v, [%a0{offset}]; mad.lo.u32 %acc, %acc, 31, %v;")),
        }
    }

    fn statement(&mut self) {
        match self.writer.below(16) {
            0..=6 => self.arithmetic(),
            7..=11 => self.load(),
            12 => {
                let i = self.any();
                self.line(&format!("mad.lo.u32 %acc, %acc, 7, %i{i};"));
            }
            13 => {
                let d = self.result(&[]);
                self.begin(d);
            }
            14 if self.depth < 2 => self.branch(),
            _ if self.depth == 0 => self.repeat(),
            _ => self.arithmetic(),
        }
    }

    fn statements(&mut self, count: u64) {
        (0..count).for_each(|_| self.statement());
    }

    /// A branch that all lanes take, or none, or some: either side may have been executed after it.
    fn branch(&mut self) {
        let (label, before) = (self.writer.label(), self.bounds);
        let by = self.writer.one_of(&["%n6", "%n3", "%x", "%y", "%lane", "%t"]);
        let bound = self.writer.one_of(&[0, 1, 5, 16, 17]);
        self.line(&format!("setp.gt.u32 %p{}, {by}, {bound}; @%p{} bra L{label};", self.depth, self.depth));
        self.depth += 1;
        let count = 1 + self.writer.below(4);
        self.statements(count);
        self.depth -= 1;
        let _ = writeln!(self.writer.text, "L{label}:");
        for (now, (least, most)) in self.bounds.iter_mut().zip(before) {
            *now = (now.0.min(least), now.1.max(most));
        }
    }

    /// A loop: registers of its own begin with values from outside, and one outside moves on.
    fn repeat(&mut self) {
        let label = self.writer.label();
        let moving = self.writer.below(OUTER as u64) as usize;
        let (step, rounds) = (self.writer.one_of(&[1i64, 16, 3]), 3);
        self.bounds[moving].1 += step * rounds;
        self.line("mov.u32 %c, 0;");
        let _ = writeln!(self.writer.text, "L{label}:");
        for j in OUTER..ALL {
            let i = self.writer.below(OUTER as u64) as usize;
            self.line(&format!("add.s32 %i{j}, %i{i}, %c;"));
            self.bounds[j] = (self.bounds[i].0, self.bounds[i].1 + rounds);
        }
        let before = std::mem::replace(&mut self.written, OUTER..ALL);
        self.depth += 2;
        let count = 2 + self.writer.below(6);
        self.statements(count);
        self.depth -= 2;
        self.written = before;
        let last = self.writer.one_of(&["3", "3", "%n0"]);
        self.line(&format!("add.s32 %i{moving}, %i{moving}, {step}; add.u32 %c, %c, 1;"));
        self.line(&format!("setp.lt.u32 %q, %c, {last}; @%q bra L{label};"));
    }
}

/// A program; with values that take all registers, if so.
fn program(seed: u64) -> String {
    let mut writer = Writer::new(seed, "");
    let (rows, scalars) = (writer.one_of(&[0, 0, 13]), writer.one_of(&[0, 0, 9]));
    let mut indices = Indices { writer, bounds: [(0, 0); ALL], written: 0..OUTER, depth: 0 };
    for n in 0..rows {
        indices.line(&format!("mad.wide.u32 %a0, %t, 4, %in; ld.global.u32 %w{n}, [%a0+{}];", 4 * n));
    }
    for n in 0..scalars {
        indices.line(&format!("mad.lo.u32 %s{n}, %cta, {}, %n{};", n + 3, n % 8));
    }
    indices.line("mov.f32 %f0, 0f3f800000;");
    (0..OUTER).for_each(|d| indices.begin(d));
    indices.statements(24);
    for n in 0..rows {
        indices.line(&format!("xor.b32 %acc, %acc, %w{n};"));
    }
    for n in 0..scalars {
        indices.line(&format!("add.u32 %n0, %n0, %s{n};"));
    }
    indices.line("add.u32 %acc, %acc, %n0; st.global.u32 [%mine], %acc; st.global.f32 [%mine+4], %f0;");
    let declared = format!(
        "    .reg .pred %p<3>, %q; .reg .b32 %i<{ALL}>, %w<16>, %s<12>, %v, %u, %c; .reg .b64 %a<2>; .reg .f32 %f<4>;"
    );
    module("", &declared, &indices.writer.text)
}

#[test]
fn random_indices_of_rows_of_threads_do_the_same_compiled_and_interpreted() {
    for seed in programs(120) {
        compare(&format!("seed {seed}"), &program(seed), &BLOCKS);
    }
}

/// Scalars for all registers that there are for them, and what reads them again and again.
fn scalars() -> (String, String) {
    let taken = (0..9).map(|n| format!("mad.lo.u32 %s{n}, %cta, {}, %n{};", n + 3, n % 8));
    let read = (0..9).map(|n| format!("add.u32 %n0, %n0, %s{n};"));
    (taken.collect(), read.chain(["add.u32 %acc, %acc, %n0;".to_owned()]).collect())
}

/// Arithmetic of two halves of a warp, whose result is in the register of each source.
#[test]
fn results_of_halves_in_the_rows_of_their_sources_do_the_same_compiled_and_interpreted() {
    // A place that is a step further from lane to lane, one from half to half, both, and one that is known at run time.
    let begins = [
        "mov.u32 %i0, %x; mov.u32 %i1, %y; mov.u32 %i2, %n1;",
        "mov.u32 %i0, %y; mov.u32 %i1, %n2; mov.u32 %i2, %x;",
        "mul.lo.u32 %i0, %y, %n1; mov.u32 %i1, %x; mov.u32 %i2, %y;",
        "mad.lo.u32 %i0, %y, %n1, %x; mov.u32 %i1, %n2; mul.lo.u32 %i2, %y, %n0;",
        "mov.u32 %i0, %n0; mad.lo.u32 %i1, %y, %n2, %x; mov.u32 %i2, 3;",
    ];
    let operations = ["add.s32", "sub.s32", "mul.lo.s32", "mad.lo.s32", "shl.b32", "mov.u32"];
    for (n, begin) in begins.into_iter().enumerate() {
        // Scalars that take all registers, so that others are in the frame.
        let (taken, read) = scalars();
        let mut body = format!("    {taken}\n");
        for operation in operations {
            for sources in [[0, 1, 2], [1, 0, 2], [0, 0, 1], [1, 2, 0], [2, 1, 1]] {
                let [a, b, c] = sources;
                for d in 0..4 {
                    let rest = match operation {
                        "mad.lo.s32" => format!("%i{a}, %i{b}, %i{c}"),
                        "shl.b32" => format!("%i{a}, 1"),
                        "mov.u32" => format!("%i{a}"),
                        _ => format!("%i{a}, %i{b}"),
                    };
                    // In a loop, where one value more comes from its end.
                    let _ = writeln!(
                        body,
                        "    {begin} mov.u32 %c, 0; mov.u32 %i3, 5;
L{d}_{}_{a}{b}{c}:
    {operation} %i{d}, {rest}; mul.wide.s32 %a0, %i{d}, 4; add.s64 %a0, %in, %a0; ld.global.u32 %v, [%a0];
    mad.lo.u32 %acc, %acc, 31, %v; {begin} add.u32 %c, %c, 1; setp.lt.u32 %q, %c, 2; @%q bra L{d}_{}_{a}{b}{c};",
                        &operation[..3],
                        &operation[..3],
                    );
                }
            }
        }
        let _ = writeln!(body, "    {read} st.global.u32 [%mine], %acc;");
        let declared = ".reg .pred %q; .reg .b32 %i<4>, %s<9>, %v, %c; .reg .b64 %a<2>;";
        compare(&format!("sources {n}"), &module("", declared, &body), &BLOCKS[..7]);
    }
}

/// The product of matrices as textbooks have it.
#[test]
fn products_of_matrices_do_the_same_compiled_and_interpreted() {
    let body = "
    mov.u32 %n, 21; mad.lo.s32 %r1, %cta, %ny, %y; mad.lo.s32 %r2, %cta, %nx, %x; max.s32 %r3, %r1, %r2;
    setp.ge.s32 %p0, %r3, %n; @%p0 bra DONE;
    mov.f32 %f0, 0f00000000; mov.u32 %r4, 0;
LOOP:
    mad.lo.s32 %r5, %r1, %n, %r4; mul.wide.s32 %a0, %r5, 4; add.s64 %a1, %in, %a0; ld.global.f32 %f1, [%a1];
    mad.lo.s32 %r6, %r4, %n, %r2; mul.wide.s32 %a2, %r6, 4; add.s64 %a3, %in, %a2; ld.global.f32 %f2, [%a3+4096];
    fma.rn.f32 %f0, %f1, %f2, %f0; add.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, %n; @%p1 bra LOOP;
    mad.lo.s32 %r2, %r1, %n, %r2; st.global.f32 [%mine], %f0; st.global.u32 [%mine+4], %r2;
    st.global.u32 [%mine+8], %acc;
DONE:
";
    let declared = ".reg .pred %p<2>; .reg .b32 %r<7>, %s<9>, %n; .reg .f32 %f<3>; .reg .b64 %a<4>;";
    let (taken, read) = scalars();
    for n in ["mov.u32 %n, 21;", "ld.global.u32 %n, [%small+4];", "add.u32 %n, %n1, %n2;"] {
        let body = body.replace("mov.u32 %n, 21;", n);
        compare(n, &module("", declared, &body), &BLOCKS);
        // Where scalars are in the frame.
        let body = body.replace("LOOP:", &format!("{taken}\nLOOP:\n{read}"));
        compare(n, &module("", declared, &body), &BLOCKS);
    }
}
