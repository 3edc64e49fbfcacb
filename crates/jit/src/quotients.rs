//! Quotients of f32 by the same divisor in a block: its reciprocal is computed once.

use crate::actions::arithmetic;
use crate::decode::{Compute, Special};
use crate::flow::Flow;
use softwarp_ir::Function;

/// What an operation does with the reciprocal of a divisor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reciprocal {
    /// It is computed for this operation alone.
    #[default]
    Own,
    /// It is kept for others.
    Kept,
    /// The operation uses the one that was kept last.
    Again,
}

/// What each operation does with a reciprocal.
pub(crate) fn reciprocals(function: &Function, flow: &Flow) -> Vec<Reciprocal> {
    let mut all = vec![Reciprocal::Own; function.ops.len()];
    // A quotient of all lanes, by a divisor.
    let divisor = |op: usize| {
        let (Compute::Special(Special::Div { .. }), alu) = arithmetic(function, &flow.actions, op)? else {
            return None;
        };
        alu.s.get(1)
    };
    let blocks = flow.blocks.iter();
    for block in blocks.filter(|block| (block.start..block.end).any(|op| divisor(op).is_some())) {
        // The divisor, its web unless it is never written, and where it was first divided by.
        let mut last = None;
        for op in block.start..block.end {
            if let Some(divisor) = divisor(op) {
                let key = (divisor, flow.read(op, divisor));
                match last {
                    Some((other, first)) if other == key => {
                        all[first] = Reciprocal::Kept;
                        all[op] = Reciprocal::Again;
                    }
                    Some(_) | None => last = Some((key, op)),
                }
            }
            let writes = flow.writes(op);
            last = last.filter(|((divisor, _), _)| writes.iter().all(|touch| touch.slot != *divisor));
        }
    }
    all
}
