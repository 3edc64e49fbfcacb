//! The plan of a function: its decoded operations for the fast loop.
//!
//! [`Function::ops`](softwarp_ir::Function::ops) has an operation for everything that the text says. A plan leaves out
//! copies whose result nothing reads; what a launch gives is in rows from the start; plain loads and stores have all
//! that they need in their entry. Traces and sanitizers use the operations, and faults and counts name them. The fast
//! loop (`warp/fast_loop.rs`) uses the plan, and leaves unusual cases to the operations.

use crate::fast::Direct;
use softwarp_ir::Guard;
use softwarp_units::alu::Inst;

/// A function's operations, for the fast loop.
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
    WarpSync,
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
