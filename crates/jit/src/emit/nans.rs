//! Which rows of f32 may hold any NaN in place of the canonical one, until something else than arithmetic reads them.

use super::Emitter;
use crate::buffers::Buffer;
use crate::decode::{Action, Compute, Float};
use crate::places::Place;
use softwarp_ir::{Guard, Op, Slot, Step, WarpOp, WarpOpKind};

impl Emitter<'_> {
    /// The webs all of whose definitions are results of arithmetic in f32, constants that are numbers, or such rows of
    /// other lanes.
    pub(super) fn find_lazy(&self) -> Buffer<bool> {
        let mut lazy: Buffer<bool> = (0..self.flow.webs.len()).map(|web| self.may_be_lazy(web)).collect();
        let mut moves: Vec<(usize, usize)> = Vec::new();
        for (op, action) in self.flow.actions.iter().enumerate() {
            if let Action::Exchange = action
                && let Some(from) = self.moved(op)
            {
                moves.extend(self.flow.writes(op).iter().map(|to| (to.web, from)));
            }
        }
        loop {
            let mut changed = false;
            for &(to, from) in &moves {
                // What a web begins with may be no number.
                let wrong = lazy[to] && (!lazy[from] || self.flow.webs[to].from_start);
                lazy[to] &= !wrong;
                changed |= wrong;
            }
            if !changed {
                return lazy;
            }
        }
    }

    /// The web that an operation moves from lane to lane.
    fn moved(&self, op: usize) -> Option<usize> {
        let (Action::Exchange, Op::Other(Guard::ALWAYS, step)) =
            (self.flow.actions[op], &self.function.ops[op])
        else {
            return None;
        };
        let Step::Warp(WarpOp { op: kind, s, .. }) = &**step else { return None };
        let shuffles = [WarpOpKind::ShflUp, WarpOpKind::ShflDown, WarpOpKind::ShflBfly, WarpOpKind::ShflIdx];
        self.flow.read(op, s.get(0).filter(|_| shuffles.contains(kind))?)
    }

    /// Whether the definitions of a web allow it, if what they move from lane to lane does.
    fn may_be_lazy(&self, web: usize) -> bool {
        let is_number = |slot: Slot| {
            let constant = self.function.narrow_constants.iter().find(|(number, _)| *number == slot.number());
            let shared = self.function.shared_narrow.iter().any(|(number, _)| *number == slot.number());
            constant.is_some_and(|&(_, value)| !shared && !f32::from_bits(value).is_nan())
        };
        let number = |op: usize| {
            let (Action::Compute(compute), Op::Alu(alu)) = (self.flow.actions[op], &self.function.ops[op])
            else {
                return self.moved(op).is_some();
            };
            match compute {
                _ if alu.guard != Guard::ALWAYS => false,
                Compute::Float(float) => !matches!(float, Float::Min | Float::Max),
                Compute::Copy(_) => {
                    alu.s.get(0).is_some_and(|slot| self.flow.is_fixed(slot) && is_number(slot))
                }
                _ => false,
            }
        };
        let vector = matches!(self.places[web], Place::Vector(_)) && !self.flow.webs[web].is_wide();
        vector && self.flow.defs(web).iter().all(|&op| number(op))
    }
}
