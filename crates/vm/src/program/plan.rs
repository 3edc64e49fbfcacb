//! What a function's operations come to when nobody looks on.
//!
//! [`Code::ops`](super::Code::ops) has an operation for everything that the text says. A plan is the same with less
//! in it: copies whose result nobody reads are gone, what a launch gives is in rows from the start, and the plain
//! loads and stores are here with all that they need. Traces and sanitizers use the operations, faults and counts
//! name them; the loop that is in a hurry (`warp`) uses the plan, and goes back to the operations for
//! whatever is out of the ordinary.

use super::{Guard, Inst, Special};
use crate::warp::Direct;

/// A function's operations, for the loop that is in a hurry.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub(crate) entries: Vec<Entry>,
    /// The first operation that each entry stands for, and the end. An entry stops, if it does, at the last of its
    /// operations; what those before it do, it has done, or nobody sees. Targets of branches begin an entry.
    /// An [`Entry::Pause`] has the first operation of the entry behind it.
    pub(crate) starts: Vec<u32>,
    /// Which entry each operation is part of, and the end.
    pub(crate) of: Vec<u32>,
}

/// An entry of a plan: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) enum Entry {
    /// Arithmetic without a guard.
    Plain(Inst),
    /// Arithmetic with one.
    Guarded(Inst),
    /// A load without a guard.
    Load(Direct),
    /// A store without a guard.
    Store(Direct),
    Branch(Guard, Jump),
    /// Arithmetic without a guard, and the branch behind it, whose guard it has.
    Test(Inst, Jump),
    /// All lanes come together; there is nothing to do if they are.
    Meet,
    /// A product of matrices without a guard, by a whole warp.
    Multiply,
    /// Nothing that anybody sees.
    Nothing,
    /// The loop stops here, so that limits are looked at in the midst of a long basic block. It stands for no operation.
    Pause,
    /// Anything else.
    Other,
}

const _: () = assert!(size_of::<Entry>() == 64);

/// A branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump {
    /// The entry that it leads to.
    pub(crate) to: u32,
    /// How many instructions begin before what follows it, and before what it leads to.
    pub(crate) counts: [u32; 2],
}

/// What a frame begins with, besides constants.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// Rows that stay the same for a warp of a launch, and are never written.
    pub(crate) given: Vec<Given>,
    /// Rows of 32-bit words that hold an axis of `%ctaid`, and are never written.
    pub(crate) of_cta: Vec<(u32, u8)>,
    /// Rows of 32-bit words, and of 64-bit words, that may be read before they are written; without it, all.
    pub(crate) zeroed: Option<[Vec<u32>; 2]>,
}

impl Start {
    /// How many rows of 32-bit words are given.
    pub(crate) fn narrow_given(&self) -> usize {
        self.of_cta.len() + self.given.len() - self.wide_given()
    }

    /// How many rows of 64-bit words.
    pub(crate) fn wide_given(&self) -> usize {
        self.given.iter().filter(|given| matches!(given, Given::Wide(..))).count()
    }
}

/// A row that a launch gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// A special register, in a row of 32-bit words.
    Special(u32, Special),
    /// 32 bits of a kernel's parameters, from an offset on.
    Narrow(u32, u32),
    /// 64 bits of them.
    Wide(u32, u32),
}
