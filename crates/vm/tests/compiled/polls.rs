//! Random kernels whose lanes diverge and poll memory: nested loops and conditions that each lane executes another number
//! of times, with atomic operations and ordered loads. Lanes that poll let others of their warp go first.

use crate::run::{Setup, difference, reduce};
use softwarp_num::splitmix::SplitMix64;
use softwarp_vm::device::{Device, LoadOptions};

const BLOCKS: [[u32; 2]; 6] = [[32, 1], [64, 1], [50, 1], [16, 4], [8, 8], [96, 1]];

/// `%lane` is a number of the thread, `%warp` is the warp's part of shared memory, `%own` the thread's part of it, and
/// `%mine` the thread's output.
const BEGIN: &str = ".version 8.6\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .shared .align 16 .b8 memory[2048]; .reg .b32 %r<8>; .reg .b32 %n<4>; .reg .b64 %mine; .reg .pred %p<4>;
    .reg .b32 %lane, %warp, %own, %v, %acc; .reg .f32 %f;
    ld.param.u64 %mine, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %lane, %r1, %r2, %r0; mad.lo.u32 %r4, %r3, 128, %lane; mad.wide.u32 %mine, %r4, 256, %mine;
    shr.u32 %r5, %lane, 5; shl.b32 %r5, %r5, 8; mov.u32 %warp, memory; add.u32 %warp, %warp, %r5;
    and.b32 %r6, %lane, 31; shl.b32 %r6, %r6, 2; add.u32 %own, %warp, %r6;
    mov.u32 %v, 1; mov.u32 %acc, %lane; mov.f32 %f, 0f3f800000;
    setp.lt.u32 %p0, %r6, 40; setp.gt.u32 %p1, %acc, 9; mov.u32 %r7, 0; st.global.u32 [%mine], %r7;
    st.global.u32 [%mine+4], %r7;
";

/// What counts as a poll. Some of it has code, and the interpreter executes the rest.
const POLLS: [&str; 14] = [
    "red.shared.add.u32 [%warp+8], %acc;",
    "red.shared.xor.b32 [%own], %acc;",
    "red.shared.max.s32 [%warp+4], %acc;",
    "red.global.add.u32 [%mine], %acc;",
    "red.global.or.b32 [%mine+4], %lane;",
    "atom.shared.add.u32 %v, [%warp], %lane;",
    "atom.shared.min.u32 %v, [%own+4], %acc;",
    "atom.global.add.u32 %v, [%mine], %lane;",
    "atom.shared.inc.u32 %v, [%warp+12], 77;",
    "atom.shared.cas.b32 %v, [%own], %v, %lane;",
    "atom.shared.add.f32 %f, [%warp+16], %f;",
    "ld.volatile.shared.u32 %v, [%warp+8];",
    "ld.relaxed.gpu.global.u32 %v, [%mine];",
    "ld.acquire.gpu.global.u32 %v, [%mine+4];",
];

struct Kernel {
    random: SplitMix64,
    lines: Vec<String>,
    labels: u32,
}

impl Kernel {
    fn below(&mut self, end: u64) -> u64 {
        self.random.next_u64() % end
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    fn line(&mut self, line: &str) {
        self.lines.push(format!("    {line}\n"));
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }

    /// Statements at a depth of loops.
    fn statements(&mut self, depth: u64) {
        for _ in 0..1 + self.below(4) {
            match self.below(8) {
                0..=2 => {
                    let (guard, poll) = (self.one_of(&["", "", "", "@%p0 ", "@!%p1 "]), self.one_of(&POLLS));
                    self.line(&format!("{guard}{poll}"));
                }
                3 => self.line("mad.lo.u32 %acc, %acc, 5, %v;"),
                4 => self.line("xor.b32 %acc, %acc, %v; setp.lt.u32 %p1, %v, %acc;"),
                5 if depth < 3 => self.condition(depth),
                6 | 7 if depth < 3 => self.rounds(depth),
                _ => self.line("add.u32 %acc, %acc, %lane;"),
            }
        }
    }

    /// Statements that some lanes skip.
    fn condition(&mut self, depth: u64) {
        let (label, bit) = (self.label(), 1 << self.below(6));
        let of = self.one_of(&["%lane", "%acc"]);
        self.line(&format!("and.b32 %r7, {of}, {bit}; setp.eq.u32 %p2, %r7, 0; @%p2 bra S{label};"));
        self.statements(depth);
        self.line(&format!("S{label}:"));
    }

    /// Statements that each lane executes another number of times.
    fn rounds(&mut self, depth: u64) {
        let (label, counter) = (self.label(), format!("%n{depth}"));
        let (factor, most) = (1 + 2 * self.below(40), [31, 7, 3][depth.min(2) as usize]);
        self.line(&format!("mul.lo.u32 {counter}, %lane, {factor}; and.b32 {counter}, {counter}, {most};"));
        self.line(&format!("add.u32 {counter}, {counter}, 1;"));
        self.line(&format!("L{label}:"));
        self.statements(depth + 1);
        let poll = self.one_of(&POLLS);
        self.line(poll);
        self.line(&format!(
            "sub.u32 {counter}, {counter}, 1; setp.ne.u32 %p3, {counter}, 0; @%p3 bra L{label};"
        ));
    }

    fn of(seed: u64) -> Vec<String> {
        let mut kernel = Kernel { random: SplitMix64::new(seed), lines: Vec::new(), labels: 0 };
        for _ in 0..1 + kernel.below(3) {
            kernel.rounds(0);
            kernel.statements(0);
            let between = kernel.one_of(&["", "", "bar.warp.sync -1;", "bar.sync 0;", "@%p0 ret;"]);
            kernel.line(between);
        }
        kernel.line(
            "st.global.u32 [%mine+8], %acc; st.global.u32 [%mine+12], %v; st.global.f32 [%mine+16], %f;",
        );
        kernel.line("ret;");
        kernel.lines
    }
}

/// A random kernel of this kind.
pub fn compare_polls(seed: u64) {
    let block = BLOCKS[(seed % BLOCKS.len() as u64) as usize];
    let setup = Setup { seed, block, most: 20_000_000 };
    let differs = |lines: &[String]| {
        let text = BEGIN.to_owned() + &lines.concat() + "}\n";
        let device = Device::load(&[&text], LoadOptions::default()).ok()?;
        difference(&device, setup, &|launch| device.launch(launch))
    };
    let lines = Kernel::of(seed);
    let Some(found) = differs(&lines) else { return };
    eprintln!("seed {seed}: {found}");
    let without = |lines: &[String], from: usize, to: usize| [&lines[..from], &lines[to..]].concat();
    let lines = reduce(lines, |lines| differs(lines).is_some(), without);
    let found = differs(&lines).unwrap_or_default();
    panic!("seed {seed}, CTAs of {block:?} threads: {found}\n{}", lines.concat());
}
