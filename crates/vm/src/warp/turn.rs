//! Which split of a warp runs, and for how long: lanes that keep polling memory let others of their warp go first, since
//! they may wait for them.
//!
//! A *poll* is an atomic operation, or a load that is ordered with the stores of other threads. The polls of a warp are
//! counted while lanes of it are ready elsewhere, and the count starts again when they have reconverged. After [`POLLS`] of
//! them, the split that executed the last one goes behind the others. This depends on nothing but the operations that were executed,
//! so that compiled code does the same.

use super::run::Flow;
use super::{Split, State, Warp};
use crate::schedule::Random;
use softwarp_jit::POLLS;
use std::cmp::Reverse;

/// The number of slices without a split that has gone behind others, after which one does.
const LONG: u32 = 16;

impl Split {
    /// The split with the least order runs first. Only the operation changes while it runs, and it stops where others of
    /// its call stand: so it stays the first, wherever slices end.
    pub(super) fn order(&self) -> (u32, Reverse<u32>, u32, u32) {
        (self.age, Reverse(self.depth), self.call, self.pc)
    }
}

impl Warp {
    /// Whether there is one split, which can run.
    #[inline(always)]
    pub(super) fn is_together(&self) -> bool {
        matches!(self.splits[..], [Split { state: State::Ready, .. }])
    }

    /// The split that runs next, taken out, with all others that stand there. It becomes as old as the oldest of them,
    /// so that another one may be the first then.
    pub(super) fn pick(&mut self, random: Option<&mut Random>) -> Option<Split> {
        if random.is_some() {
            return self.pick_one(random);
        }
        loop {
            let picked = self.pick_one(None)?;
            let first = |other: &Split| other.state == State::Ready && other.order() < picked.order();
            if !self.splits.iter().any(first) {
                return Some(picked);
            }
            self.splits.push(picked);
        }
    }

    /// The first split, or any one, taken out, with all others that stand there.
    fn pick_one(&mut self, random: Option<&mut Random>) -> Option<Split> {
        let ready = |split: &Split| split.state == State::Ready;
        let first = self.splits.iter().filter(|split| ready(split)).min_by_key(|split| split.order())?;
        let mut picked = *first;
        if let Some(random) = random {
            let free = || self.splits.iter().filter(|split| ready(split) && !split.held);
            let count = free().count();
            if let Some(split) = free().nth(random.below(count.max(1))) {
                picked = *split;
            }
        }
        picked.mask = 0;
        let together = |split: &Split| ready(split) && split.call == picked.call && split.pc == picked.pc;
        let (mut mask, mut age) = (0, 0);
        self.splits.retain(|split| {
            let joins = together(split);
            if joins {
                mask |= split.mask;
                age = age.max(split.age);
            }
            !joins
        });
        (picked.mask, picked.age) = (mask, age);
        Some(picked)
    }

    /// The next operation ahead of a split at which other splits of its call stand.
    pub(super) fn stop(&self, running: &Split, end: usize) -> usize {
        let waiting =
            self.splits.iter().filter(|split| split.state == State::Ready && split.call == running.call);
        let ahead = waiting.map(|split| split.pc as usize).filter(|&pc| pc > running.pc as usize);
        ahead.min().unwrap_or(end).min(end)
    }

    /// Whether other splits stand where a split has come to: compiled code may be left there. They go on together.
    pub(super) fn has_met(&self, running: &Split) -> bool {
        let is_there = |split: &Split| split.call == running.call && split.pc == running.pc;
        self.splits.iter().any(|split| split.state == State::Ready && is_there(split))
    }

    /// Whether other splits of its call stand at operations before that of a split: these have gone behind it.
    pub(super) fn has_passed(&self, running: &Split) -> bool {
        let is_behind = |split: &Split| split.call == running.call && split.pc < running.pc;
        self.splits.iter().any(|split| split.state == State::Ready && is_behind(split))
    }

    pub(super) fn any_ready(&self) -> bool {
        self.splits.iter().any(|split| split.state == State::Ready)
    }

    /// Counts a poll by the split that runs.
    #[inline]
    pub(super) fn poll(&mut self) -> Flow {
        if !self.any_ready() {
            return Flow::Next;
        }
        self.polls_left = self.polls_left.saturating_sub(1);
        if self.polls_left == 0 { Flow::Behind } else { Flow::Next }
    }

    /// Before a split runs: if no others are ready, the lanes have reconverged.
    #[inline]
    pub(super) fn begin_turn(&mut self) {
        if !self.any_ready() {
            (self.polls_left, self.turns) = (POLLS, 0);
        }
    }

    /// At the end of the turn of a split: lets others go first if it kept polling, or after a long time of whatever it
    /// does.
    pub(super) fn end_turn(&mut self, split: &mut Split, polled: bool) {
        self.turns = if polled { LONG } else { self.turns + 1 };
        if self.turns >= LONG {
            self.turns = 0;
            split.age += u32::from(self.any_ready());
        }
    }

    /// Whether the split that ran has executed the last of its polls. They are counted from the start then.
    #[inline]
    pub(super) fn has_polled(&mut self) -> bool {
        let polled = self.polls_left == 0;
        if polled {
            self.polls_left = POLLS;
        }
        polled
    }
}
