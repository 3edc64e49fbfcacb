//! Operations among the lanes of a warp, and barriers.

use super::{Generator, SHORT};
use softwarp_ir::{Barrier, BarrierOp, Guard, Slot, Slots, Step, WarpOp, WarpOpKind};

impl Generator<'_, '_> {
    /// An operation among lanes.
    pub(super) fn exchange(&mut self) {
        use WarpOpKind::*;
        let kind = self.choices.pick(&[
            Sync,
            ShflUp,
            ShflDown,
            ShflBfly,
            ShflIdx,
            VoteAll,
            VoteAny,
            VoteUni,
            VoteBallot,
            MatchAny32,
            MatchAny64,
            MatchAll32,
            MatchAll64,
            ReduxAdd,
            ReduxMinU32,
            ReduxMinS32,
            ReduxMaxU32,
            ReduxMaxS32,
            ReduxAnd,
            ReduxOr,
            ReduxXor,
            ActiveMask,
            Elect,
        ]);
        let (d, p, q) = (Some(self.register()), Some(self.predicate()), self.predicate());
        // All lanes have to come to those that name them.
        let all = Some(Slot::narrow(SHORT));
        let alone = matches!(kind, ActiveMask);
        let members = if alone || !self.around.is_empty() { None } else { all };
        let votes = matches!(kind, VoteAll | VoteAny | VoteUni | VoteBallot);
        let shuffles = matches!(kind, ShflUp | ShflDown | ShflBfly | ShflIdx);
        if members.is_none() && !alone && !votes || shuffles && self.ended {
            return self.arithmetic();
        }
        let (a, b, c) = (self.source(), self.source(), self.choices.pick(&[3, 3, 0]));
        let lane =
            if self.choices.once_in(2) { Slot::narrow(self.below(u64::from(SHORT)) as u32) } else { b };
        let clamp = if self.choices.once_in(4) { self.source() } else { Slot::narrow(c) };
        let pair = if self.choices.once_in(2) { p } else { None };
        let (d, p, s) = match kind {
            Sync => (None, None, vec![]),
            ShflUp | ShflDown | ShflBfly | ShflIdx => (d, pair, vec![a, lane, clamp]),
            VoteAll | VoteAny | VoteUni => (None, p, vec![q]),
            VoteBallot => (d, None, vec![q]),
            MatchAny32 => (d, None, vec![a]),
            MatchAny64 => (d, None, vec![self.wide()]),
            MatchAll32 => (d, p, vec![a]),
            MatchAll64 => (d, p, vec![self.wide()]),
            ActiveMask => (d, None, vec![]),
            Elect => (d, p, vec![]),
            _ => (d, None, vec![a]),
        };
        let negated = votes && self.choices.once_in(2);
        let op = WarpOp { op: kind, members, d, p, s: Slots::of(&s), negated };
        let guard = if alone && self.choices.once_in(2) { self.guard() } else { Guard::ALWAYS };
        self.step(guard, Step::Warp(op));
    }

    /// A barrier of all threads; before and behind it, threads exchange words through shared memory.
    pub(super) fn barrier(&mut self) {
        let number = Slot::narrow(self.below(2) as u32);
        let op = self.choices.pick(&[
            BarrierOp::Sync,
            BarrierOp::Sync,
            BarrierOp::Popc,
            BarrierOp::And,
            BarrierOp::Or,
        ]);
        let d = match op {
            BarrierOp::Sync | BarrierOp::Arrive => None,
            BarrierOp::Popc => Some(self.register()),
            BarrierOp::And | BarrierOp::Or => Some(self.predicate()),
        };
        let predicate = Guard::new(self.predicate(), self.choices.once_in(2));
        let barrier = Barrier { op, number, count: None, predicate, d, aligned: true };
        if self.choices.once_in(2) {
            return self.step(Guard::ALWAYS, Step::Barrier(barrier));
        }
        self.step(Guard::ALWAYS, Step::Barrier(Barrier { op: BarrierOp::Sync, d: None, ..barrier }));
        self.exchange_in_shared(Barrier { op: BarrierOp::Sync, d: None, ..barrier });
    }
}
