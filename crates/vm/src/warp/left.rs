//! Where compiled code was left, and what a warp stands at there.

use super::Warp;
use crate::decode::Code;
use softwarp_ir::{BarrierOp, Guard, Op, Slot, Step};

/// What a warp stands at that runs compiled code and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Compiled code goes on.
    Nothing,
    /// The end: all its threads have exited.
    End,
    /// A barrier of this number, which all threads of the CTA have to come to.
    Barrier(u32),
    /// Something that the interpreter has to do.
    Other,
}

/// An operation at which compiled code was left by all threads of a warp.
#[derive(Clone, Copy)]
pub(super) struct Left {
    /// The operation.
    pub(super) op: u32,
    /// What the warp stands at; for a barrier, its number is in `barrier`.
    pub(super) at: Stop,
    pub(super) barrier: Option<Slot>,
    /// The instructions that the operation counts for.
    pub(super) instructions: u64,
}

impl Left {
    /// What an operation is.
    pub(super) fn at(code: &Code, op: u32) -> Left {
        let number = op as usize;
        let instructions = code.instructions_between(number, number + 1);
        let left = |at, barrier| Left { op, at, barrier, instructions };
        match code.ops.get(number) {
            Some(Op::Other(Guard::ALWAYS, step)) => match &**step {
                Step::Return | Step::Exit => left(Stop::End, None),
                Step::Barrier(barrier) if barrier.op == BarrierOp::Sync && barrier.count.is_none() => {
                    left(Stop::Barrier(0), Some(barrier.number))
                }
                _ => left(Stop::Other, None),
            },
            Some(Op::Branch(..)) | None => left(Stop::Other, None),
            // Code is left before a block when the budget is spent.
            Some(_) => left(Stop::Nothing, None),
        }
    }

    /// Whether it is a branch.
    pub(super) fn is_branch(&self, code: &Code) -> bool {
        self.at == Stop::Other && matches!(code.ops.get(self.op as usize), Some(Op::Branch(..)))
    }

    /// What a warp stands at.
    #[inline]
    pub(super) fn stop(&self, warp: &Warp) -> Stop {
        let Some(barrier) = self.barrier else { return self.at };
        let number = warp.calls[0].frame.row::<u32>(barrier)[0];
        if number < softwarp_isa::device::BARRIERS { Stop::Barrier(number) } else { Stop::Other }
    }
}
