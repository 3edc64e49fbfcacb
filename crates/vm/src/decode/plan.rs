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
pub(crate) struct Plan {
    pub(crate) entries: Vec<PlanEntry>,
    /// The first operation of each entry, and the end. An entry can stop only at the last of its operations. The
    /// operations before it are then done, or have no effect. Targets of branches begin an entry. A
    /// [`PlanEntry::Pause`] has the first operation of the entry after it.
    pub(crate) starts: Vec<u32>,
    /// The index of the entry of each operation, and the end.
    pub(crate) of: Vec<u32>,
}

/// An entry of a plan: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) enum PlanEntry {
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
    /// `bar.warp.sync`: nothing to do if all lanes are converged.
    WarpSync,
    /// A product of matrices without a guard, by a whole warp.
    Multiply,
    /// An operation without effect.
    Nothing,
    /// The loop stops here, so that limits are checked within a long basic block. It has no operation.
    Pause,
    /// Anything else.
    Other,
}

const _: () = assert!(size_of::<PlanEntry>() == 64);

/// A branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump {
    /// The entry that it leads to.
    pub(crate) to: u32,
    /// How many instructions begin before what follows it, and before what it leads to.
    pub(crate) counts: [u32; 2],
}
