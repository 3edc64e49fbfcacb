//! Which rows of f32 may hold any NaN in place of the canonical one, until something else than arithmetic reads them.

use super::Emitter;
use crate::actions::arithmetic;
use crate::buffers::Buffer;
use crate::decode::{Action, Compute, constant};
use crate::places::Place;
use softwarp_ir::{Guard, Op, Slot, Step, WarpOp, WarpOpKind};

impl Emitter<'_> {
    /// The webs all of whose definitions are results of arithmetic in f32, constants that are numbers, or such rows of
    /// other lanes.
    pub(super) fn find_lazy(&self) -> Buffer<bool> {
        self.closed((0..self.flow.webs.len()).map(|web| self.may_be_lazy(web)).collect())
    }

    /// The webs without signalling NaNs: results of arithmetic, and such rows of other lanes. Only minima and maxima ask
    /// for them.
    pub(super) fn find_quiet(&self) -> Buffer<bool> {
        let chooses = |action: &Action| match action.compute() {
            Some(Compute::Float(float)) => float.chooses(),
            Some(_) | None => false,
        };
        match self.flow.actions.iter().any(chooses) {
            true => self.closed((0..self.flow.webs.len()).map(|web| self.may_be_quiet(web)).collect()),
            false => Buffer::default(),
        }
    }

    /// Without the webs to which something is moved from lane to lane that does not have the property.
    fn closed(&self, mut webs: Buffer<bool>) -> Buffer<bool> {
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
            self.flow.budget.spend(16 * moves.len());
            for &(to, from) in &moves {
                // What a web begins with may be no number.
                let wrong = webs[to] && (!webs[from] || self.flow.webs[to].from_start);
                webs[to] &= !wrong;
                changed |= wrong;
            }
            if !changed || self.flow.budget.check().is_err() {
                return webs;
            }
            // What is moved may be written before or after.
            moves.reverse();
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
        // Other operations among lanes give integers, and nothing is claimed of a new one.
        let shuffles = [WarpOpKind::ShflUp, WarpOpKind::ShflDown, WarpOpKind::ShflBfly, WarpOpKind::ShflIdx];
        self.flow.read(op, s.get(0).filter(|_| shuffles.contains(kind))?)
    }

    /// Whether the definitions of a web allow it, if what they move from lane to lane does.
    fn may_be_lazy(&self, web: usize) -> bool {
        let number = |op: usize| {
            let (Action::Compute(compute), Op::Alu(alu)) = (self.flow.actions[op], &self.function.ops[op])
            else {
                return self.moved(op).is_some();
            };
            if alu.guard != Guard::ALWAYS {
                return false;
            }
            match compute {
                Compute::Float(float) => !float.chooses(),
                Compute::Copy(_) => alu.s.get(0).is_some_and(|slot| self.is_number(slot)),
                // What these write is no f32 with any NaN.
                Compute::Add(_) | Compute::Sub(_) | Compute::Neg(_) | Compute::Mul(_) => false,
                Compute::High { .. } | Compute::Permute(_) | Compute::Mad(_) | Compute::Wide { .. } => false,
                Compute::And(_) | Compute::Or(_) | Compute::Xor(_) | Compute::Not(_) => false,
                Compute::Lop3(_) | Compute::Shl(_) | Compute::Shr { .. } | Compute::Funnel { .. } => false,
                Compute::Min { .. } | Compute::Max { .. } | Compute::Select(_) | Compute::Extend(_) => false,
                Compute::Halves | Compute::Pack64 | Compute::High32 | Compute::Compare { .. } => false,
                Compute::CompareFloat { .. } | Compute::CompareDouble { .. } => false,
                Compute::CompareShort { .. } | Compute::Integer(_) | Compute::Half(_) => false,
                Compute::Double(_) | Compute::Rounded(..) | Compute::Flushed(_) => false,
                Compute::Convert(_) | Compute::WideConvert(_) => false,
                Compute::Special(_) | Compute::Predicate(_) => false,
            }
        };
        let vector = matches!(self.places[web], Place::Vector(_)) && !self.flow.webs[web].is_wide();
        vector && self.flow.defs(web).iter().all(|&op| number(op))
    }

    /// Whether a row is a constant that is a number.
    fn is_number(&self, slot: Slot) -> bool {
        let value = constant(self.function, slot).filter(|_| self.flow.is_fixed(slot));
        value.is_some_and(|value| !f32::from_bits(value).is_nan())
    }

    /// Whether the definitions of a web give no signalling NaN, if what they move from lane to lane is none.
    fn may_be_quiet(&self, web: usize) -> bool {
        let quiet = |op: usize| match arithmetic(self.function, &self.flow.actions, op) {
            // Others only change the sign.
            Some((Compute::Float(float), _)) => float.rounds() || float.chooses(),
            Some((Compute::Copy(_), alu)) => alu.s.get(0).is_some_and(|slot| self.is_number(slot)),
            // Nothing is claimed of other arithmetic.
            Some(_) => false,
            None => self.moved(op).is_some(),
        };
        let web = (&self.flow.webs[web], self.flow.defs(web));
        !web.0.from_start && !web.0.is_wide() && web.1.iter().all(|&op| quiet(op))
    }

    /// The sources of a minimum or maximum in the order in which `vrangeps` gives the result, if it does for all NaNs:
    /// neither is a signalling NaN, so that a number is taken before a NaN, and of two NaNs the first, which is the
    /// canonical one.
    pub(super) fn quiet_sources(&self, op: usize, [a, b]: [Slot; 2]) -> Option<[Slot; 2]> {
        let web = |slot: Slot| self.flow.read(op, slot).filter(|_| !self.flow.is_fixed(slot));
        let is_quiet = |slot: Slot| match web(slot) {
            Some(web) => self.quiet.get(web).is_some_and(|&quiet| quiet),
            None => self.is_number(slot),
        };
        let is_canonical = |slot: Slot| web(slot).is_none_or(|web| !self.lazy[web]);
        match is_quiet(a) && is_quiet(b) {
            true if is_canonical(a) => Some([a, b]),
            true if is_canonical(b) => Some([b, a]),
            true | false => None,
        }
    }
}
