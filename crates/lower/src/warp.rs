//! Barriers and operations among the lanes of a warp (PTX ISA section 9.7.13).

use super::form::Form;
use super::function::{Builder, Lowered, Refusal};
use softwarp_ir::{Barrier, BarrierOp, Guard, NONE, Step, WarpOp, WarpOpKind};
use softwarp_isa::Type;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::tree::{Operand, OperandKind, Range};

impl Builder<'_, '_> {
    /// `bar`, `barrier`
    pub fn barrier(&mut self, form: &Form, operands: Range<Operand>, op: BarrierOp) -> Lowered<()> {
        let reduces = matches!(op, BarrierOp::Popc | BarrierOp::And | BarrierOp::Or);
        let mut places = self.places(operands);
        let mut barrier = Barrier {
            op,
            number: NONE,
            count: NONE,
            predicate: Guard::ALWAYS,
            d: NONE,
            aligned: form.shape.opcode == Opcode::Bar || form.has(Modifier::Aligned),
        };
        if reduces {
            let (Some(d), Some(predicate)) = (places.next(), places.next_back()) else {
                return Err(Refusal::Form);
            };
            let (slot, negated) = self.predicate(predicate)?;
            barrier.predicate = Guard { slot, negated };
            let ty = if op == BarrierOp::Popc { Type::U32 } else { Type::Pred };
            barrier.d = self.destination(d, ty)?.slot;
        }
        let Some(number) = places.next() else { return Err(Refusal::Form) };
        barrier.number = self.source(number, Type::U32)?;
        if let Some(count) = places.next() {
            barrier.count = self.source(count, Type::U32)?;
        }
        self.step(Step::Barrier(barrier))
    }

    /// A predicate as a source, and whether it is negated.
    pub fn predicate(&mut self, index: u32) -> Lowered<(u32, bool)> {
        match self.operand(index).kind {
            OperandKind::Not(parts) => Ok((self.source(parts.start, Type::Pred)?, true)),
            _ => Ok((self.source(index, Type::Pred)?, false)),
        }
    }

    /// Operations among the lanes of a warp.
    pub fn warp(&mut self, operands: Range<Operand>, op: WarpOpKind) -> Lowered<()> {
        use WarpOpKind as Is;
        let mut warp = WarpOp { op, members: NONE, d: [NONE; 2], s: [NONE; 3], negated: false };
        let mut places = self.places(operands);
        if op != Is::Sync {
            let Some(d) = places.next() else { return Err(Refusal::Form) };
            let predicate = matches!(op, Is::VoteAll | Is::VoteAny | Is::VoteUni);
            warp.d = self.warp_destinations(d, predicate)?;
        }
        match op {
            Is::Sync | Is::ActiveMask | Is::Elect => {}
            Is::VoteAll | Is::VoteAny | Is::VoteUni | Is::VoteBallot => {
                let Some(a) = places.next() else { return Err(Refusal::Form) };
                (warp.s[0], warp.negated) = self.predicate(a)?;
            }
            _ => {
                let wide = matches!(op, Is::MatchAny64 | Is::MatchAll64);
                let count =
                    if matches!(op, Is::ShflUp | Is::ShflDown | Is::ShflBfly | Is::ShflIdx) { 3 } else { 1 };
                for slot in warp.s.iter_mut().take(count) {
                    let Some(a) = places.next() else { return Err(Refusal::Form) };
                    *slot = self.source(a, if wide { Type::B64 } else { Type::B32 })?;
                }
            }
        }
        if let Some(members) = places.next() {
            warp.members = self.source(members, Type::U32)?;
        }
        self.step(Step::Warp(warp))
    }

    /// `d`, `d|p` or `p`: a row and a predicate.
    fn warp_destinations(&mut self, index: u32, predicate: bool) -> Lowered<[u32; 2]> {
        let written = |builder: &mut Self, index: u32, ty| match builder.operand(index).kind {
            OperandKind::Sink => Ok(NONE),
            _ => builder.destination(index, ty).map(|destination| destination.slot),
        };
        Ok(match self.operand(index).kind {
            OperandKind::Pair(parts) => {
                [written(self, parts.start, Type::B32)?, written(self, parts.start + 1, Type::Pred)?]
            }
            _ if predicate => [NONE, written(self, index, Type::Pred)?],
            _ => [written(self, index, Type::B32)?, NONE],
        })
    }
}
