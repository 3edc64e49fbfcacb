//! Races: who used a piece of memory last, and whether that is ordered before who uses it now (PTX ISA chapter 8).
//!
//! [`super::clock`] has the order in a CTA. **Between CTAs**, both must have executed something strong since the earlier
//! access; then they count as ordered. The cluster's barrier is strong: to arrive there and to leave it.
//!
//! Two writes of the same value are no race here, though they are to the model: compilers and people rely on it.

use super::clock::{Agent, Clocks};
use crate::fault::Use;
use std::collections::HashMap;

/// Bytes that are looked up together.
const PAGE: u64 = 64;

/// The most pages that are kept: what is used beyond them is not looked at.
const MOST_PAGES: usize = 1 << 19;

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
    /// Who did it for the thread.
    pub(super) agent: Agent,
    /// Of its warp and agent.
    pub(super) clock: u32,
    /// How many strong operations there were before, in the whole launch.
    pub(super) after: u32,
    /// The operation.
    pub(super) op: u32,
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing orders it behind an earlier one.
    Unordered,
    /// The earlier one is asynchronous, and nobody waited for it.
    Unwaited,
    /// It is asynchronous and reads what was written without a proxy fence.
    Unfenced,
    /// It reads by way of a texture what was written in the same launch.
    Stale,
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
    fn conflict(&self, before: &Record, now: &Record) -> Option<Verdict> {
        let reads = before.usage == Use::Read && now.usage == Use::Read;
        let strong = if self.shared { before.strong && now.strong } else { before.strong || now.strong };
        if reads || strong {
            return None;
        }
        if before.cta == now.cta {
            let ordered =
                before.same_thread(now) || before.same_deed(now) || self.clocks.ordered(before, now);
            return match before.agent {
                _ if ordered => None,
                Agent::Thread | Agent::Lookup => Some(Verdict::Unordered),
                _ if self.clocks.waited(before) => Some(Verdict::Unordered),
                _ => Some(Verdict::Unwaited),
            };
        }
        let passed = |cta: u32| self.strong.get(&cta).is_some_and(|&at| at > before.after);
        (!(passed(before.cta) && passed(now.cta))).then_some(Verdict::Unordered)
    }

    /// Whether an asynchronous read needs a proxy fence behind an earlier write, and there is none.
    fn unfenced(&self, before: &Record, now: &Record) -> bool {
        now.usage == Use::Read
            && now.agent.has_own_proxy()
            && before.agent == Agent::Thread
            && before.cta == now.cta
            && !self.clocks.fenced(before, now)
    }

    /// Whether an access need not be remembered when another comes.
    fn settled(&self, before: &Option<Record>, now: &Record) -> bool {
        before.is_none_or(|before| {
            before.cta == now.cta && (before.same_thread(now) || self.clocks.ordered(&before, now))
        })
    }
}

impl Record {
    /// Whether both are of one bulk copy or product: kernels issue the same one in all lanes of a warp.
    fn same_deed(&self, now: &Record) -> bool {
        !matches!(self.agent, Agent::Thread | Agent::Lookup | Agent::Copy)
            && (self.agent, self.op, self.clock) == (now.agent, now.op, now.clock)
            && self.thread / 32 == now.thread / 32
    }

    /// Whether a thread did both, and the first by itself.
    fn same_thread(&self, now: &Record) -> bool {
        matches!(self.agent, Agent::Thread | Agent::Lookup) && self.thread == now.thread
    }
}

impl Piece {
    /// Remembers an access; the earlier one that it races with, if there is one.
    fn touch(&mut self, now: &Record, value: Option<u32>, order: &Order<'_>) -> Option<(Verdict, Record)> {
        let races =
            |before: &Option<Record>| before.and_then(|before| Some((order.conflict(&before, now)?, before)));
        if now.agent == Agent::Lookup
            && let Some(before) = self.write.or(self.strong)
        {
            return Some((Verdict::Stale, before));
        }
        let unfenced = self.write.filter(|write| order.unfenced(write, now));
        let mut found = races(&self.write).or(unfenced.map(|write| (Verdict::Unfenced, write)));
        if matches!(found, Some((Verdict::Unordered, _)))
            && now.usage == Use::Write
            && !now.strong
            && value == Some(self.value)
        {
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
    ) -> Option<(Verdict, Record)> {
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
        let clock = clocks.now(usize::from(thread) / 32, Agent::Thread);
        Record {
            cta: 0,
            thread,
            usage,
            strong: false,
            agent: Agent::Thread,
            clock,
            after: 0,
            op: thread.into(),
        }
    }

    #[test]
    fn a_barrier_orders_those_who_come_to_it_and_nobody_else() {
        let (mut clocks, mut shadow, strong) = (Clocks::new(3), Shadow::default(), HashMap::new());
        let mut touch = |thread, usage, clocks: &Clocks| {
            let order = Order { clocks, strong: &strong, shared: true };
            shadow.touch(64, 4, &record(thread, usage, clocks), None, &order).map(|(_, record)| record.thread)
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
        assert_eq!(shadow.touch(4, 4, &now, Some(&[9; 4]), &order).map(|(_, record)| record.thread), Some(4));
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
