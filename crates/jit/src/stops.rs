//! Operations at which all threads of a CTA stop, and compiled code goes on: barriers and the end of the kernel.

use softwarp_ir::{BarrierOp, Function, Guard, Op, Step};

/// Whether an operation is a barrier of all threads.
pub(crate) fn is_barrier(op: &Op) -> bool {
    let Op::Other(Guard::ALWAYS, step) = op else { return false };
    matches!(&**step, Step::Barrier(barrier) if barrier.op == BarrierOp::Sync && barrier.count.is_none())
}

/// Whether an operation ends all threads.
pub(crate) fn is_end(op: &Op) -> bool {
    matches!(op, Op::Other(Guard::ALWAYS, step) if matches!(**step, Step::Return | Step::Exit))
}

/// Whether compiled code can begin a kernel again, in the frames of a CTA that has ended.
pub(crate) fn begins_ctas(function: &Function) -> bool {
    function.start.zeroed.is_some() && function.parameter_bytes == 0
}
