//! Races: who used a piece of memory last, and whether that is ordered before who uses it now (PTX ISA chapter 8).
//!
//! **Order in a CTA.** Each warp has a clock, and knows the clocks of others up to which it is ordered behind them.
//! Barriers hand these on; so do fences to later fences, and atomic operations and other strong accesses to later
//! ones at the same place, whether there are fences or not. Lanes of a warp are ordered by anything that orders
//! warps, and by operations among lanes that name each other. That is more order than the memory model gives, never
//! less: two accesses that are unordered here are a race.
//!
//! **Order between CTAs.** Both must have executed something strong since the earlier access; then they count as
//! ordered. The cluster's barrier is strong: to arrive there and to leave it.
//!
//! Two writes of the same value are no race here, though they are to the model: compilers and people rely on it.

use crate::fault::Use;
use std::collections::HashMap;

/// Bytes that are looked up together.
const PAGE: u64 = 64;

/// The most pages that are kept: what is used beyond them is not looked at.
const MOST_PAGES: usize = 1 << 19;

/// The most places of strong accesses that are told apart.
const MOST_PLACES: usize = 1 << 14;

/// The barrier of the cluster, behind those of the CTA.
pub(super) const CLUSTER: u32 = crate::cta::BARRIERS;

/// Barriers of a CTA, of its cluster and of its warpgroups.
const BARRIERS: usize = (crate::cta::FIRST_GROUP + crate::cta::GROUPS) as usize;

/// Which accesses of which warps are ordered.
#[derive(Debug)]
pub(super) struct Clocks {
    /// Of each warp, what it knows of each.
    known: Vec<Vec<u32>>,
    /// What whoever executed a fence knew.
    fences: Vec<u32>,
    /// What whoever did something strong at a place knew; where there are too many, some share.
    places: HashMap<u64, Vec<u32>>,
    barriers: [Vec<u32>; BARRIERS],
}

impl Clocks {
    pub(super) fn new(warps: usize) -> Clocks {
        let own = |warp: usize| (0..warps).map(|other| u32::from(other == warp)).collect();
        let nothing = vec![0; warps];
        let barriers = std::array::from_fn(|_| nothing.clone());
        Clocks { known: (0..warps).map(own).collect(), fences: nothing, places: HashMap::new(), barriers }
    }

    /// A warp's own clock.
    pub(super) fn now(&self, warp: usize) -> u32 {
        self.known[warp][warp]
    }

    /// What lanes did before is ordered before what others of their warp do from now on.
    pub(super) fn tick(&mut self, warp: usize) {
        self.known[warp][warp] = self.known[warp][warp].saturating_add(1);
    }

    /// A fence: ordered behind every fence before it.
    pub(super) fn fence(&mut self, warp: usize) {
        join(&mut self.fences, &self.known[warp]);
        join(&mut self.known[warp], &self.fences);
        self.tick(warp);
    }

    /// Something strong at a place: ordered behind everything strong there before it.
    pub(super) fn strong(&mut self, warp: usize, place: u64) {
        let warps = self.known.len();
        let place = if self.places.len() < MOST_PLACES { place } else { place % MOST_PLACES as u64 };
        let here = self.places.entry(place).or_insert_with(|| vec![0; warps]);
        join(here, &self.known[warp]);
        join(&mut self.known[warp], here);
    }

    /// Lanes of a warp come to a barrier.
    pub(super) fn arrive(&mut self, warp: usize, barrier: u32) {
        if let Some(barrier) = self.barriers.get_mut(barrier as usize) {
            join(barrier, &self.known[warp]);
        }
        self.tick(warp);
    }

    /// A barrier lets warps go.
    pub(super) fn release(&mut self, barrier: u32, warps: impl Iterator<Item = usize>) {
        let Some(barrier) = self.barriers.get_mut(barrier as usize) else { return };
        for warp in warps {
            if let Some(known) = self.known.get_mut(warp) {
                join(known, barrier);
            }
        }
        barrier.fill(0);
    }

    /// A warp passes a barrier that it may have arrived at long before. Others may have arrived again since: that
    /// is more order than there is, never less.
    pub(super) fn pass(&mut self, warp: usize, barrier: u32) {
        if let (Some(known), Some(barrier)) = (self.known.get_mut(warp), self.barriers.get(barrier as usize))
        {
            join(known, barrier);
        }
        self.tick(warp);
    }

    /// Whether what a warp did at a time of its clock is ordered before what another thread of a warp does now.
    fn ordered(&self, before: &Record, now: &Record) -> bool {
        let [before_warp, warp] = [before, now].map(|record| usize::from(record.thread) / 32);
        let Some(known) = self.known.get(warp) else { return true };
        if before_warp == warp {
            return known[warp] > before.clock;
        }
        known.get(before_warp).is_none_or(|&known| known >= before.clock)
    }
}

fn join(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

/// An access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Which of the grid.
    pub(super) cta: u32,
    /// Which of the CTA.
    pub(super) thread: u16,
    pub(super) usage: Use,
    /// Atomic, volatile, relaxed and stronger.
    pub(super) strong: bool,
    /// Of its warp.
    pub(super) clock: u32,
    /// How many strong operations there were before, in the whole launch.
    pub(super) after: u32,
    /// The operation.
    pub(super) op: u32,
}

/// The last accesses to some bytes: one or four.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    write: Option<Record>,
    /// What was written.
    value: u32,
    /// A write that was atomic or otherwise strong: these do not race with each other.
    strong: Option<Record>,
    reads: [Option<Record>; 2],
}

/// What decides about order.
pub(super) struct Order<'a> {
    /// Of the CTA that accesses.
    pub(super) clocks: &'a Clocks,
    /// Of each CTA that did something strong, how many such operations there were in the launch then.
    pub(super) strong: &'a HashMap<u32, u32>,
    /// Whether the memory is only the CTA's: then plain accesses also race with strong ones.
    pub(super) shared: bool,
}

impl Order<'_> {
    fn conflict(&self, before: &Record, now: &Record) -> bool {
        let reads = before.usage == Use::Read && now.usage == Use::Read;
        let strong = if self.shared { before.strong && now.strong } else { before.strong || now.strong };
        if reads || strong {
            return false;
        }
        if before.cta == now.cta {
            return before.thread != now.thread && !self.clocks.ordered(before, now);
        }
        let passed = |cta: u32| self.strong.get(&cta).is_some_and(|&at| at > before.after);
        !(passed(before.cta) && passed(now.cta))
    }

    /// Whether an access need not be remembered when another comes.
    fn settled(&self, before: &Option<Record>, now: &Record) -> bool {
        before.is_none_or(|before| {
            before.cta == now.cta && (before.thread == now.thread || self.clocks.ordered(&before, now))
        })
    }
}

impl Piece {
    /// Remembers an access; the earlier one that it races with, if there is one.
    fn touch(&mut self, now: &Record, value: Option<u32>, order: &Order<'_>) -> Option<Record> {
        let races = |before: &Option<Record>| before.filter(|before| order.conflict(before, now));
        let mut found = races(&self.write);
        if found.is_some() && now.usage == Use::Write && !now.strong && value == Some(self.value) {
            found = None;
        }
        found = found.or_else(|| races(&self.strong));
        if now.usage == Use::Read {
            let [first, second] = &self.reads;
            if order.settled(first, now) {
                self.reads[0] = Some(*now);
            } else if order.settled(second, now) || first.map(|it| it.cta) == second.map(|it| it.cta) {
                self.reads[1] = Some(*now);
            }
            return found;
        }
        found = found.or_else(|| self.reads.iter().find_map(races));
        if now.strong {
            self.strong = Some(*now);
        } else {
            *self = Piece { write: Some(*now), value: value.unwrap_or(0), ..Piece::default() };
        }
        found
    }
}

/// Pages begin in pieces of four bytes, and are cut into bytes once less is accessed.
#[derive(Debug)]
struct Page {
    pieces: Vec<Piece>,
}

impl Page {
    fn cut(&mut self) {
        if self.pieces.len() == PAGE as usize {
            return;
        }
        let byte = |at: usize| {
            let piece = &self.pieces[at / 4];
            Piece { value: piece.value >> (8 * (at % 4)) & 0xff, ..*piece }
        };
        self.pieces = (0..PAGE as usize).map(byte).collect();
    }
}

/// The last accesses to a memory.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    pages: HashMap<u64, Page>,
}

impl Shadow {
    /// Remembers an access to some bytes, aligned to their number, with what a write puts there; the earlier one
    /// that it races with, if there is one.
    pub(super) fn touch(
        &mut self,
        address: u64,
        bytes: u64,
        now: &Record,
        data: Option<&[u8]>,
        order: &Order<'_>,
    ) -> Option<Record> {
        let full = self.pages.len() >= MOST_PAGES;
        let mut found = None;
        let mut done = 0;
        while done < bytes {
            let at = address.wrapping_add(done);
            let key = at / PAGE;
            let page = match self.pages.get_mut(&key) {
                Some(page) => page,
                None if full => return found,
                None => self
                    .pages
                    .entry(key)
                    .or_insert_with(|| Page { pieces: vec![Piece::default(); (PAGE / 4) as usize] }),
            };
            if !bytes.is_multiple_of(4) {
                page.cut();
            }
            let size = PAGE / page.pieces.len() as u64;
            let value = data.and_then(|data| data.get(done as usize..)).map(|data| {
                data.iter().take(size as usize).rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
            });
            if let Some(piece) = page.pieces.get_mut((at % PAGE / size) as usize) {
                found = found.or(piece.touch(now, value, order));
            }
            done += size;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(thread: u16, usage: Use, clocks: &Clocks) -> Record {
        let clock = clocks.now(usize::from(thread) / 32);
        Record { cta: 0, thread, usage, strong: false, clock, after: 0, op: thread.into() }
    }

    #[test]
    fn a_barrier_orders_those_who_come_to_it_and_nobody_else() {
        let (mut clocks, mut shadow, strong) = (Clocks::new(3), Shadow::default(), HashMap::new());
        let mut touch = |thread, usage, clocks: &Clocks| {
            let order = Order { clocks, strong: &strong, shared: true };
            shadow.touch(64, 4, &record(thread, usage, clocks), None, &order).map(|record| record.thread)
        };
        assert_eq!(touch(0, Use::Write, &clocks), None);
        for warp in [0, 1] {
            clocks.arrive(warp, 3);
        }
        clocks.release(3, [0, 1].into_iter());
        assert_eq!(touch(32, Use::Read, &clocks), None, "warp 1 was there");
        assert_eq!(touch(64, Use::Read, &clocks), Some(0), "warp 2 was not");
        assert_eq!(touch(1, Use::Write, &clocks), Some(32));
    }

    #[test]
    fn bytes_beside_each_other_are_different_places() {
        let (clocks, mut shadow, strong) = (Clocks::new(2), Shadow::default(), HashMap::new());
        let order = Order { clocks: &clocks, strong: &strong, shared: true };
        for thread in 0..64 {
            let now = record(thread, Use::Write, &clocks);
            assert!(shadow.touch(thread.into(), 1, &now, Some(&[thread as u8]), &order).is_none());
        }
        let now = record(32, Use::Write, &clocks);
        assert!(shadow.touch(3, 1, &now, Some(&[3]), &order).is_none(), "the same value");
        assert_eq!(shadow.touch(4, 4, &now, Some(&[9; 4]), &order).map(|record| record.thread), Some(4));
    }

    #[test]
    fn strong_accesses_order_ctas_if_both_do_them() {
        let clocks = Clocks::new(1);
        let mut shadow = Shadow::default();
        let mut strong = HashMap::new();
        let write = record(0, Use::Write, &clocks);
        let read = Record { cta: 1, ..record(0, Use::Read, &clocks) };
        let mut touch = |record: &Record, strong: &HashMap<u32, u32>| {
            let order = Order { clocks: &clocks, strong, shared: false };
            shadow.touch(0, 8, record, None, &order).is_some()
        };
        assert!(!touch(&write, &strong));
        strong.insert(0, 1);
        assert!(touch(&read, &strong));
        strong.insert(1, 2);
        assert!(!touch(&read, &strong));
    }
}
