//! Barriers and operations among the lanes of a warp (PTX ISA section 9.7.13).

use crate::builder::{Builder, Lowered, Refusal};
use crate::form::Form;
use softwarp_ir::group::GroupOp;
use softwarp_ir::{Barrier, BarrierOp, Guard, Slot, Slots, Step, WarpOp, WarpOpKind};
use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode};
use softwarp_syntax::tree::{Operand, OperandKind, Range};

impl Builder<'_, '_> {
    /// Barriers of a CTA, and operations among the lanes of a warp.
    pub fn barriers_and_lanes(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        match form.instruction.opcode {
            Opcode::Bar if form.has(Modifier::Warp) => self.warp(operands, WarpOpKind::Sync),
            Opcode::Bar | Opcode::Barrier if !form.has(Modifier::Cluster) => {
                let op = barrier(&form.instruction).ok_or(Refusal::Form)?;
                self.barrier(form, operands, op)
            }
            Opcode::Shfl
            | Opcode::Vote
            | Opcode::Match
            | Opcode::Redux
            | Opcode::Activemask
            | Opcode::Elect => {
                let op = warp(&form.instruction).ok_or(Refusal::Form)?;
                self.warp(operands, op)
            }
            Opcode::Setmaxnreg => self.together(Step::Group(GroupOp::WholeGroup)),
            _ => Err(Refusal::Elsewhere),
        }
    }

    /// `bar`, `barrier`
    fn barrier(&mut self, form: &Form, operands: Range<Operand>, op: BarrierOp) -> Lowered<()> {
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
        let aligned = form.instruction.opcode == Opcode::Bar || form.has(Modifier::Aligned);
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
    fn warp(&mut self, operands: Range<Operand>, op: WarpOpKind) -> Lowered<()> {
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

/// What a barrier does.
fn barrier(form: &InstructionForm) -> Option<BarrierOp> {
    form.modifiers.iter().find_map(|word| {
        Some(match *word {
            Modifier::Sync => BarrierOp::Sync,
            Modifier::Arrive => BarrierOp::Arrive,
            Modifier::Popc => BarrierOp::Popc,
            Modifier::And => BarrierOp::And,
            Modifier::Or => BarrierOp::Or,
            _ => return None,
        })
    })
}

/// What the lanes of a warp do.
fn warp(form: &InstructionForm) -> Option<WarpOpKind> {
    use WarpOpKind as Is;
    let has = |modifier| form.has(modifier);
    let wide = form.types.first() == Some(&Type::B64);
    let mode = form.modifiers.iter().copied().find(|&word| word != Modifier::Sync);
    Some(match (form.opcode, mode, form.types.first().copied()) {
        (Opcode::Shfl, Some(Modifier::Up), _) => Is::ShflUp,
        (Opcode::Shfl, Some(Modifier::Down), _) => Is::ShflDown,
        (Opcode::Shfl, Some(Modifier::Bfly), _) => Is::ShflBfly,
        (Opcode::Shfl, Some(Modifier::Idx), _) => Is::ShflIdx,
        (Opcode::Vote, Some(Modifier::All), _) => Is::VoteAll,
        (Opcode::Vote, Some(Modifier::Any), _) => Is::VoteAny,
        (Opcode::Vote, Some(Modifier::Uni), _) => Is::VoteUni,
        (Opcode::Vote, Some(Modifier::Ballot), _) => Is::VoteBallot,
        (Opcode::Match, Some(Modifier::Any), _) if wide => Is::MatchAny64,
        (Opcode::Match, Some(Modifier::Any), _) => Is::MatchAny32,
        (Opcode::Match, Some(Modifier::All), _) if wide => Is::MatchAll64,
        (Opcode::Match, Some(Modifier::All), _) => Is::MatchAll32,
        (Opcode::Redux, Some(Modifier::Min | Modifier::Max), Some(Type::F32)) => Is::ReduxF32 {
            max: mode == Some(Modifier::Max),
            abs: has(Modifier::Abs),
            nan: has(Modifier::PropagateNan),
        },
        (Opcode::Redux, Some(Modifier::Add), _) => Is::ReduxAdd,
        (Opcode::Redux, Some(Modifier::Min), Some(Type::S32)) => Is::ReduxMinS32,
        (Opcode::Redux, Some(Modifier::Min), _) => Is::ReduxMinU32,
        (Opcode::Redux, Some(Modifier::Max), Some(Type::S32)) => Is::ReduxMaxS32,
        (Opcode::Redux, Some(Modifier::Max), _) => Is::ReduxMaxU32,
        (Opcode::Redux, Some(Modifier::And), _) => Is::ReduxAnd,
        (Opcode::Redux, Some(Modifier::Or), _) => Is::ReduxOr,
        (Opcode::Redux, Some(Modifier::Xor), _) => Is::ReduxXor,
        (Opcode::Activemask, ..) => Is::ActiveMask,
        (Opcode::Elect, ..) => Is::Elect,
        _ => return None,
    })
}
