//! Barriers and operations among the lanes of a warp (PTX ISA section 9.7.13).

use crate::builder::{Builder, Lowered, Refusal};
use crate::form::Form;
use softwarp_ir::{Barrier, BarrierOp, Guard, Slot, Slots, Step, WarpOp, WarpOpKind};
use softwarp_isa::Type;
use softwarp_isa::instruction::{Modifier, Opcode};
use softwarp_syntax::tree::{Operand, OperandKind, Range};

impl Builder<'_, '_> {
    /// `bar`, `barrier`
    pub fn barrier(&mut self, form: &Form, operands: Range<Operand>, op: BarrierOp) -> Lowered<()> {
        let reduces = matches!(op, BarrierOp::Popc | BarrierOp::And | BarrierOp::Or);
        let mut places = self.places(operands);
        let (mut d, mut predicate) = (None, Guard::ALWAYS);
        if reduces {
            let (Some(first), Some(last)) = (places.next(), places.next_back()) else {
                return Err(Refusal::Form);
            };
            predicate = self.predicate(last)?;
            let ty = if op == BarrierOp::Popc { Type::U32 } else { Type::Pred };
            d = Some(self.destination(first, ty)?.slot);
        }
        let Some(number) = places.next() else { return Err(Refusal::Form) };
        let number = self.source(number, Type::U32)?;
        let count = match places.next() {
            Some(count) => Some(self.source(count, Type::U32)?),
            None => None,
        };
        let aligned = form.shape.opcode == Opcode::Bar || form.has(Modifier::Aligned);
        self.step(Step::Barrier(Barrier { op, number, count, predicate, d, aligned }))
    }

    /// A predicate as a source, which may be negated.
    pub fn predicate(&mut self, index: u32) -> Lowered<Guard> {
        match self.operand(index).kind {
            OperandKind::Not(parts) => Ok(Guard::new(self.source(parts.start, Type::Pred)?, true)),
            _ => Ok(Guard::new(self.source(index, Type::Pred)?, false)),
        }
    }

    /// Operations among the lanes of a warp.
    pub fn warp(&mut self, operands: Range<Operand>, op: WarpOpKind) -> Lowered<()> {
        use WarpOpKind as Is;
        let mut warp = WarpOp { op, members: None, d: None, p: None, s: Slots::default(), negated: false };
        let mut places = self.places(operands);
        if op != Is::Sync {
            let Some(d) = places.next() else { return Err(Refusal::Form) };
            let predicate = matches!(op, Is::VoteAll | Is::VoteAny | Is::VoteUni);
            (warp.d, warp.p) = self.warp_destinations(d, predicate)?;
        }
        match op {
            Is::Sync | Is::ActiveMask | Is::Elect => {}
            Is::VoteAll | Is::VoteAny | Is::VoteUni | Is::VoteBallot => {
                let Some(a) = places.next() else { return Err(Refusal::Form) };
                let predicate = self.predicate(a)?;
                warp.negated = predicate.is_negated();
                warp.s = Slots::of(predicate.predicate().as_slice());
            }
            _ => {
                let wide = matches!(op, Is::MatchAny64 | Is::MatchAll64);
                let count =
                    if matches!(op, Is::ShflUp | Is::ShflDown | Is::ShflBfly | Is::ShflIdx) { 3 } else { 1 };
                let mut sources = Vec::new();
                for _ in 0..count {
                    let Some(a) = places.next() else { return Err(Refusal::Form) };
                    sources.push(self.source(a, if wide { Type::B64 } else { Type::B32 })?);
                }
                warp.s = Slots::of(&sources);
            }
        }
        if let Some(members) = places.next() {
            warp.members = Some(self.source(members, Type::U32)?);
        }
        self.step(Step::Warp(warp))
    }

    /// `d`, `d|p` or `p`: a row and a predicate.
    fn warp_destinations(&mut self, index: u32, predicate: bool) -> Lowered<(Option<Slot>, Option<Slot>)> {
        let written = |builder: &mut Self, index: u32, ty| match builder.operand(index).kind {
            OperandKind::Sink => Ok(None),
            _ => builder.destination(index, ty).map(|destination| Some(destination.slot)),
        };
        Ok(match self.operand(index).kind {
            OperandKind::Pair(parts) => {
                (written(self, parts.start, Type::B32)?, written(self, parts.start + 1, Type::Pred)?)
            }
            _ if predicate => (None, written(self, index, Type::Pred)?),
            _ => (written(self, index, Type::B32)?, None),
        })
    }
}
