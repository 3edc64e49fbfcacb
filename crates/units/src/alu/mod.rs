//! Arithmetic: a loop over lanes for each operation, compiled for each set of CPU features.
//!
//! A loop is written with [`unary`], [`binary`], [`ternary`] or [`compare`] over a function of one lane and made a
//! [`AluLoops`] by `alu_loop!`; each file has those of one section of the manual, and a `select` that finds the
//! one for a form. A form without one is not executed: loading the kernel says so.
//!
//! What `alu_loop!` makes of a loop, and how it is run, is in `loops.rs`.

use crate::lanes::{Frame, Guard, LANES};
use softwarp_isa::instruction::InstructionForm;

pub mod alternate;
pub mod approx;
pub mod ballot;
pub mod bits;
pub mod comparison;
pub mod convert;
pub mod double;
pub mod extended;
pub mod float;
pub mod float_compare;
pub mod fused;
pub mod half;
pub mod integer;
pub mod lane;
pub mod logic;
mod loops;
pub mod mixed;
pub mod mode;
pub mod packed;
pub mod permute;
pub mod selection;
pub mod simple;
pub mod single;
pub mod video;
mod wide_round;

pub(crate) use loops::Ballot;
pub use loops::{AluLoop, AluLoops};

use ballot::Holds;
use lane::Lane;

/// An arithmetic operation with the loop that computes it: rows by their numbers, modifiers packed.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    /// The loop that computes it.
    pub kernel: AluLoop,
    /// The rows of destinations, as many as [`Inst::destinations`].
    pub d: [u32; 2],
    /// The rows of sources, as many as [`Inst::sources`].
    pub s: [u32; 5],
    /// Modifiers and immediate operands, packed as the loop reads them. The low half is what [`select`] gave. The
    /// high half is the `immLut` of `lop3`, or the selectors of a scalar video instruction.
    pub extra: u32,
    /// The guard.
    pub guard: Guard,
    /// How many sources there are.
    pub sources: u8,
    /// How many destinations there are.
    pub destinations: u8,
}

impl Inst {
    /// An operation without a guard.
    pub fn new((alu_loop, extra): (AluLoop, u32), d: &[u32], s: &[u32]) -> Inst {
        let (mut destinations, mut sources) = ([0; 2], [0; 5]);
        destinations.iter_mut().zip(d).for_each(|(row, &d)| *row = d);
        sources.iter_mut().zip(s).for_each(|(row, &s)| *row = s);
        let counts = (d.len().min(2) as u8, s.len().min(5) as u8);
        let (d, s) = (destinations, sources);
        Inst {
            kernel: alu_loop,
            d,
            s,
            extra,
            guard: Guard::ALWAYS,
            sources: counts.1,
            destinations: counts.0,
        }
    }

    /// The row of a source, if there are that many.
    #[inline(always)]
    pub fn source(&self, n: usize) -> Option<u32> {
        (n < usize::from(self.sources)).then(|| self.s[n])
    }
}

/// What finds the loop for a form, and its `extra`.
type Select = fn(&InstructionForm) -> Option<(AluLoops, u32)>;

/// The files, by what finds a loop in each: the first that has one decides.
const SELECTORS: &[Select] = &[
    integer::select,
    logic::select,
    comparison::select,
    selection::select,
    permute::select,
    bits::select,
    extended::select,
    packed::select,
    video::select,
    float::select,
    double::select,
    half::select,
    mixed::select,
    alternate::select,
    float_compare::select,
    approx::select,
    convert::select,
];

/// The loop that does what a form says, and what else it needs in [`Inst::extra`]; `None` if there is none.
/// Sources and destinations are in the order of the operands.
pub fn select(form: &InstructionForm) -> Option<(AluLoop, u32)> {
    let (compiled, extra) = select_levels(form)?;
    Some((compiled.best(), extra))
}

/// Whether there is a loop for a form.
pub fn has_loop(form: &InstructionForm) -> bool {
    select_levels(form).is_some()
}

/// The loops of all levels for a form, and what they need in [`Inst::extra`]. [`AluLoops`] gives out those that the CPU
/// has the features for.
pub fn select_levels(form: &InstructionForm) -> Option<(AluLoops, u32)> {
    SELECTORS.iter().find_map(|select| select(form))
}

/// Compiles a loop for each level: `alu_loop!(|frame, inst, mask| binary(frame, inst, mask, |a: u32, b: u32| a & b))`.
///
/// With a fourth name, that one turns [`Holds`] into a mask of lanes, with the level's own instructions:
/// `alu_loop!(|frame, inst, mask, ballot| { let lanes = ballot(&holds(frame, inst, |a: u32, b: u32| a < b)); … })`.
///
/// `alu_loop!(rare |…| …)` compiles it for the baseline and AVX2 alone: for operations that programs seldom have.
macro_rules! alu_loop {
    ($($rare:ident)? |$frame:ident, $inst:ident, $mask:ident| $body:expr) => {
        $crate::alu::alu_loop!($($rare)? |$frame, $inst, $mask, _ballot| $body)
    };
    ($($rare:ident)? |$frame:ident, $inst:ident, $mask:ident, $ballot:ident| $body:expr) => {{
        use $crate::lanes::Frame;
        use $crate::alu::{Ballot, AluLoop, ballot::Holds};
        use $crate::alu::Inst;
        #[inline(always)]
        fn body<C: Ballot>(cpu: C, $frame: &mut Frame, $inst: &Inst, $mask: u32) {
            let $ballot = |holds: &Holds| cpu.ballot(holds);
            $body
        }
        softwarp_num::multiversion! {
            $($rare)? fn loops[][](frame: &mut Frame, inst: &Inst, mask: u32): AluLoop = body;
        }
        const { loops() }
    }};
}
pub(crate) use alu_loop;

/// `d = f(a)` in each lane.
#[inline(always)]
pub fn unary<A: Lane, D: Lane>(frame: &mut Frame, inst: &Inst, mask: u32, f: impl Fn(A) -> D) {
    let a = frame.row::<A::Word>(inst.s[0]);
    let mut d = [D::Word::default(); LANES];
    for lane in 0..LANES {
        d[lane] = f(A::of(a[lane])).word();
    }
    frame.set_row(inst.d[0], d, mask);
}

/// `d = f(a, b)` in each lane.
#[inline(always)]
pub fn binary<A: Lane, B: Lane, D: Lane>(frame: &mut Frame, inst: &Inst, mask: u32, f: impl Fn(A, B) -> D) {
    let (a, b) = (frame.row::<A::Word>(inst.s[0]), frame.row::<B::Word>(inst.s[1]));
    let mut d = [D::Word::default(); LANES];
    for lane in 0..LANES {
        d[lane] = f(A::of(a[lane]), B::of(b[lane])).word();
    }
    frame.set_row(inst.d[0], d, mask);
}

/// `d = f(a, b, c)` in each lane.
#[inline(always)]
pub fn ternary<A: Lane, B: Lane, C: Lane, D: Lane>(
    frame: &mut Frame,
    inst: &Inst,
    mask: u32,
    f: impl Fn(A, B, C) -> D,
) {
    let (a, b) = (frame.row::<A::Word>(inst.s[0]), frame.row::<B::Word>(inst.s[1]));
    let c = frame.row::<C::Word>(inst.s[2]);
    let mut d = [D::Word::default(); LANES];
    for lane in 0..LANES {
        d[lane] = f(A::of(a[lane]), B::of(b[lane]), C::of(c[lane])).word();
    }
    frame.set_row(inst.d[0], d, mask);
}

/// Writes the second destination, a predicate, if there is one.
#[inline(always)]
pub fn set_second(frame: &mut Frame, inst: &Inst, values: u32, mask: u32) {
    if inst.destinations == 2 {
        frame.set_predicate(inst.d[1], values, mask);
    }
}

/// Where `f(a, b)` holds.
#[inline(always)]
pub fn holds<A: Lane>(frame: &Frame, inst: &Inst, f: impl Fn(A, A) -> bool) -> Holds {
    let (a, b) = (frame.row::<A::Word>(inst.s[0]), frame.row::<A::Word>(inst.s[1]));
    let mut holds = [0; LANES];
    for lane in 0..LANES {
        holds[lane] = -i32::from(f(A::of(a[lane]), A::of(b[lane])));
    }
    holds
}

/// The lanes in which `f(a, b)` holds. Where it matters how long that takes, [`holds`] and the fourth name of
/// `alu_loop!` do better.
#[inline(always)]
pub fn compare<A: Lane>(frame: &Frame, inst: &Inst, f: impl Fn(A, A) -> bool) -> u32 {
    ballot::baseline(&holds(frame, inst, f))
}
