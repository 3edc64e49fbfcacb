//! Races: the last accesses to each piece of memory, and whether they are ordered before the current access (PTX ISA
//! section 8.7).
//!
//! Shadow memory in the manner of FastTrack: of each piece of four bytes (or fewer, where fewer are accessed) the last
//! weak write, the last reads, and beside them what was strong or asynchronous. Two accesses that conflict race if they
//! are neither ordered by [`Causality`] nor morally strong.
//!
//! What the lanes of half a warp access side by side is one record for sixteen pieces, until some of them are accessed
//! otherwise.
//!
//! Reads of one CTA are one record: which of its warps, and the oldest of their clocks. Readers of other CTAs are
//! represented by one of them; so is the last reader of another warp, if there are none. So a race with one of many
//! concurrent readers may be missed, never one with a writer.
//!
//! Two weak writes of the same value are no race here, though they are to the model: compilers and people rely on it.

use super::Agent;
use super::causality::{Causality, plane_of};
use super::clock::{Knowledge, Plane};
use super::epoch::{Epoch, Thread};
use crate::fault::Use;
use crate::host_memory::{Account, Charge};
use std::collections::HashMap;

mod warp;

pub(super) use warp::Lanes;

/// Bytes of memory that a page of the shadow is for.
const PAGE: u64 = 1024;

/// Bytes of the shadow for a piece of memory.
const PIECE: usize = size_of::<Cell>() + size_of::<u32>();

/// Pieces of four bytes that may have a common cell.
const ROW: usize = 16;

/// The most bytes that the shadow of global memory takes: what is used beyond them is not checked.
const MOST_BYTES: usize = 2 << 30;

/// Pages that are found at once.
const CACHED: usize = 256;

/// The kinds of conflicts between an access and an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing orders it behind an earlier one.
    Unordered,
    /// The earlier one is asynchronous, and was not waited for.
    Unwaited,
    /// It is asynchronous, and a proxy fence is missing after the earlier write.
    Unfenced,
    /// It reads through a texture memory that was written in the same launch.
    Stale,
}

/// The last accesses to a piece of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// The last weak write.
    write: Epoch,
    /// The last weak read.
    read: Epoch,
    /// The warps of its CTA that read, its clock being the oldest of theirs.
    readers: u32,
    /// A read of another CTA, or else of another warp than that of the last.
    other: Epoch,
    /// The index of further accesses among the page's extras, from 1 on; 0 for none.
    extra: u32,
}

impl Cell {
    /// The cell with the lanes of its accesses `more` places higher.
    fn of_later_lanes(self, more: usize) -> Cell {
        let [write, read, other] = [self.write, self.read, self.other].map(|it| it.of_later_lane(more));
        Cell { write, read, other, ..self }
    }
}

/// Accesses that most pieces do not have.
#[derive(Clone, Copy, Debug, Default)]
struct Extra {
    /// The last strong write, and an earlier one that it did not observe.
    strong: [Epoch; 2],
    /// Strong reads.
    reads: [Epoch; 2],
    /// Reads of agents.
    agents: [Epoch; 4],
}

/// Pages begin in pieces of four bytes, and are cut into smaller ones once less is accessed.
#[derive(Debug)]
struct Page {
    cells: Vec<Cell>,
    /// The values of weak writes; empty before the first.
    values: Vec<u32>,
    /// A bit for each [`ROW`] of pieces of four bytes: its first cell stands for all of them, each accessed by the next lane.
    rows: u16,
    extras: Vec<Extra>,
    /// The binary logarithm of the bytes of a piece.
    shift: u32,
}

/// An access that is checked: by one lane, or by the first of several that read the same place together.
pub(super) struct Now<'a> {
    pub(super) epoch: Epoch,
    /// Several lanes do the same at once.
    pub(super) several: bool,
    pub(super) thread: Thread,
    known: &'a Knowledge,
    causality: &'a Causality,
    /// Whether it is in shared memory.
    shared: bool,
    /// The warp that was looked up last, by its number among all, and a clock up to which all its lanes are known.
    memo: std::cell::Cell<(u32, u32)>,
}

impl<'a> Now<'a> {
    pub(super) fn new(
        epoch: Epoch,
        thread: Thread,
        known: &'a Knowledge,
        causality: &'a Causality,
        shared: bool,
    ) -> Now<'a> {
        let memo = std::cell::Cell::new((u32::MAX, 0));
        Now { epoch, several: false, thread, known, causality, shared, memo }
    }

    /// Whether an earlier access is ordered before this one.
    #[inline]
    fn behind(&self, before: &Epoch) -> bool {
        let (warp, clock) = self.memo.get();
        before.is_own() && before.warp() == warp && before.clock <= clock || self.looks_behind(before)
    }

    fn looks_behind(&self, before: &Epoch) -> bool {
        let of = before.thread(self.causality.warps);
        let agent = before.agent();
        if matches!(agent, Agent::Thread | Agent::Lookup) {
            let Thread { cta, warp, lane } = of;
            if let Some(known) = self.known.clock(Plane::Thread, cta, warp) {
                self.memo.set((before.warp(), known.least()));
            }
            // Of several lanes at least one is another.
            let own = before.same_thread(&self.epoch) && !before.several() && !self.several;
            return own
                || match before.several() {
                    true => self.known.knows_all(Plane::Thread, cta, warp, before.clock),
                    false => self.known.knows(Plane::Thread, cta, warp, lane, before.clock),
                }
                || before.is_init() && self.known.knows(Plane::Init, cta, warp, lane, before.clock);
        }
        if before.same_operation(&self.epoch) {
            return true;
        }
        // What a thread gives to the tensor cores is done in order.
        if agent == Agent::Product
            && self.epoch.agent() == agent
            && (before.same_thread(&self.epoch)
                || self.known.knows(Plane::Pipelined, of.cta, of.warp, of.lane, before.clock))
        {
            return true;
        }
        let Some(plane) = plane_of(agent) else {
            return self.known.knows_phase(before.mbarrier(), before.clock);
        };
        self.known.knows(plane, of.cta, of.warp, of.lane, before.clock)
            || of == self.thread && self.causality.has_waited(of, agent, before.clock)
    }

    /// The conflict of this access with an earlier one, if there is one.
    fn conflict(&self, before: &Epoch) -> Option<(Verdict, Epoch)> {
        if before.is_none() || self.behind(before) || self.causality.morally_strong(before, &self.epoch) {
            return None;
        }
        if self.causality.exhausted {
            return None;
        }
        if before.usage() == Use::Read && self.epoch.is_tolerant()
            || self.epoch.usage() == Use::Read && before.is_tolerant()
        {
            return None;
        }
        let waited = || {
            let of = before.thread(self.causality.warps);
            let known = |known: &Knowledge| match plane_of(before.agent()) {
                Some(plane) => known.knows(plane, of.cta, of.warp, of.lane, before.clock),
                None => known.knows_phase(before.mbarrier(), before.clock),
            };
            self.causality.has_waited(of, before.agent(), before.clock) || self.causality.any_thread(known)
        };
        let verdict = if before.is_own() || waited() { Verdict::Unordered } else { Verdict::Unwaited };
        Some((verdict, *before))
    }

    /// Whether an asynchronous access needs a proxy fence behind an earlier write, and there is none.
    fn unfenced(&self, before: &Epoch) -> bool {
        if before.is_none() || !self.epoch.agent().has_own_proxy() || before.agent() != Agent::Thread {
            return false;
        }
        let Thread { cta, warp, lane } = before.thread(self.causality.warps);
        let plane = if self.shared { Plane::FencedShared } else { Plane::FencedGlobal };
        !self.known.knows(plane, cta, warp, lane, before.clock)
    }

    /// Whether all that a record of reads stands for is ordered before this.
    fn behind_readers(&self, cell: &Cell) -> bool {
        let of = cell.read.thread(self.causality.warps);
        let others = cell.readers & !(1 << of.warp);
        self.causality.exhausted
            || self.behind(&cell.read)
                && softwarp_units::lanes::lanes(others).all(|warp| {
                    // Reads by lanes of the own warp are not distinguished: they count as reads by this lane.
                    of.cta == self.thread.cta && warp == self.thread.warp
                        || self.known.knows_all(Plane::Thread, of.cta, warp, cell.read.clock)
                })
    }
}

impl Page {
    fn new() -> Page {
        let cells = vec![Cell::default(); (PAGE / 4) as usize];
        Page { cells, values: Vec::new(), rows: u16::MAX, extras: Vec::new(), shift: 2 }
    }

    /// Gives each piece of a row a cell of its own.
    #[inline]
    fn spread(&mut self, at: usize) {
        // Without rows, pieces may be smaller.
        if self.rows != 0 && self.rows >> (at / ROW) & 1 == 1 {
            self.rows &= !(1 << (at / ROW));
            if let Some([first, others @ ..]) = self.cells.get_mut(at / ROW * ROW..(at / ROW + 1) * ROW) {
                for (other, more) in others.iter_mut().zip(1..) {
                    *other = first.of_later_lanes(more);
                }
            }
        }
    }

    /// Remembers what a weak write writes to a piece.
    #[inline]
    fn set_value(&mut self, at: usize, value: u32) {
        if self.values.is_empty() {
            self.values.resize(self.cells.len(), 0);
        }
        self.values[at] = value;
    }

    /// Makes pieces smaller.
    fn cut(&mut self, shift: u32) {
        (0..self.cells.len()).step_by(ROW).for_each(|row| self.spread(row));
        let times = 1 << (self.shift - shift);
        let kept = (1 << (8 << shift)) - 1;
        let parts = |value: u32| (0..times).map(move |part| value >> (8 * (part << shift)) & kept);
        self.values = self.values.iter().copied().flat_map(parts).collect();
        let extras = &mut self.extras;
        let mut cut = Vec::with_capacity(self.cells.len() * times as usize);
        for cell in &self.cells {
            for part in 0..times {
                let mut cell = *cell;
                if part != 0 && cell.extra != 0 {
                    let extra = extras[cell.extra as usize - 1];
                    extras.push(extra);
                    cell.extra = extras.len() as u32;
                }
                cut.push(cell);
            }
        }
        (self.cells, self.shift) = (cut, shift);
    }

    fn extra(&mut self, at: usize) -> &mut Extra {
        if self.cells[at].extra == 0 {
            self.extras.push(Extra::default());
            self.cells[at].extra = self.extras.len() as u32;
        }
        &mut self.extras[self.cells[at].extra as usize - 1]
    }

    fn peek(&self, at: usize) -> Option<&Extra> {
        self.extras.get((self.cells[at].extra as usize).wrapping_sub(1))
    }

    /// Remembers an access to a piece, with what a weak write writes there; the earlier access that it races with, if
    /// there is one.
    #[inline]
    fn touch(&mut self, at: usize, now: &Now<'_>, value: Option<u32>) -> Option<(Verdict, Epoch)> {
        let epoch = &now.epoch;
        let cell = &self.cells[at];
        if epoch.usage() == Use::Read {
            // Reads of the same warp without a write between them.
            if cell.read.warp() == epoch.warp()
                && cell.read.clock == epoch.clock
                && cell.write.is_none()
                && cell.extra == 0
                && epoch.is_plain()
            {
                let cell = &mut self.cells[at];
                if now.several || cell.read.lane() != epoch.lane() {
                    cell.read.set_several(true);
                }
                return None;
            }
            return self.read(at, now);
        }
        self.write(at, now, value)
    }

    fn write(&mut self, at: usize, now: &Now<'_>, value: Option<u32>) -> Option<(Verdict, Epoch)> {
        let epoch = &now.epoch;
        let cell = self.cells[at];
        let extra = self.peek(at).copied().unwrap_or_default();
        let mut found = now.conflict(&cell.write);
        if found.is_none() && now.unfenced(&cell.write) {
            found = Some((Verdict::Unfenced, cell.write));
        }
        let weak = epoch.strong().is_none();
        let same = value.is_some() && value == self.values.get(at).copied();
        if matches!(found, Some((Verdict::Unordered, _))) && weak && same {
            found = None;
        }
        found = found.or_else(|| self.strong_conflict(&extra, now));
        if found.is_none() && !cell.read.is_none() && !epoch.is_tolerant() && !now.behind_readers(&cell) {
            // The last read may be this thread's own: then it is not the one that nothing orders.
            let other = now.conflict(&cell.other).filter(|_| now.behind(&cell.read));
            found = other.or(Some((Verdict::Unordered, cell.read)));
        }
        found = found
            .or_else(|| now.conflict(&cell.other))
            .or_else(|| extra.reads.iter().find_map(|read| now.conflict(read)))
            .or_else(|| extra.agents.iter().find_map(|read| now.conflict(read)));
        if weak {
            self.set_value(at, value.unwrap_or(0));
            self.cells[at] = Cell { write: *epoch, extra: cell.extra, ..Cell::default() };
            if cell.extra != 0 {
                *self.extra(at) = Extra::default();
            }
        } else {
            let strong = &mut self.extra(at).strong;
            // An atomic operation observes the write before it.
            let observed = epoch.usage() == Use::Atomic && now.causality.morally_strong(&strong[0], epoch);
            if !observed && !strong[0].is_none() && !now.behind(&strong[0]) {
                strong[1] = strong[0];
            }
            strong[0] = *epoch;
        }
        found
    }

    /// The strong write that an access races with. Who is behind an atomic operation or a strong read of the same place is
    /// behind what that observed, too (PTX ISA section 8.9.5).
    fn strong_conflict(&self, extra: &Extra, now: &Now<'_>) -> Option<(Verdict, Epoch)> {
        extra.strong.iter().find_map(|write| {
            let found = now.conflict(write)?;
            let seen = |read: &Epoch| {
                !read.is_none() && now.causality.morally_strong(read, write) && now.behind(read)
            };
            (!extra.reads.iter().any(seen)).then_some(found)
        })
    }

    fn read(&mut self, at: usize, now: &Now<'_>) -> Option<(Verdict, Epoch)> {
        let epoch = &now.epoch;
        let cell = self.cells[at];
        let extra = if cell.extra == 0 { None } else { self.peek(at).copied() };
        if epoch.agent() == Agent::Lookup {
            let written = cell.write.some().or_else(|| extra.and_then(|extra| extra.strong[0].some()));
            if let Some(before) = written {
                return Some((Verdict::Stale, before));
            }
        }
        let mut found = now.conflict(&cell.write);
        if found.is_none() && now.unfenced(&cell.write) {
            found = Some((Verdict::Unfenced, cell.write));
        }
        if let Some(extra) = &extra {
            found = found.or_else(|| self.strong_conflict(extra, now));
        }
        if !epoch.is_own() {
            remember(&mut self.extra(at).agents, now);
        } else if epoch.strong().is_some() {
            let reads = &mut self.extra(at).reads;
            remember(reads, now);
        } else {
            self.remember_reader(at, now);
        }
        found
    }

    /// Remembers a weak read of a thread.
    fn remember_reader(&mut self, at: usize, now: &Now<'_>) {
        let cell = self.cells[at];
        let before = cell.read.thread(now.causality.warps);
        let mut epoch = now.epoch;
        epoch.set_several(now.several);
        let own = 1u32.checked_shl(now.thread.warp as u32).unwrap_or(0);
        let mut after = Cell { read: epoch, readers: own, ..cell };
        if !cell.read.is_none() && !now.behind_readers(&cell) {
            if before.cta == now.thread.cta {
                // The oldest of the clocks is kept, so that no false race is found.
                after.read.clock = cell.read.clock.min(epoch.clock);
                after.readers |= cell.readers;
                if before.warp == now.thread.warp {
                    let other = cell.read.lane() != epoch.lane();
                    after.read.set_several(now.several || cell.read.several() || other);
                } else if cell.other.is_none() || cell.other.thread(now.causality.warps).cta == before.cta {
                    after.other = cell.read;
                }
            } else {
                after.other = cell.read;
            }
        }
        self.cells[at] = after;
    }
}

/// Remembers a read in place of one that is ordered before it, or of the oldest.
fn remember(reads: &mut [Epoch], now: &Now<'_>) {
    let epoch = now.epoch;
    let same = |read: &Epoch| read.warp() == epoch.warp() && read.agent() == epoch.agent();
    let settled = |read: &&mut Epoch| read.is_none() || now.behind(read) || !epoch.is_own() && same(read);
    if let Some(place) = reads.iter_mut().find(settled) {
        *place = epoch;
    } else {
        reads.rotate_left(1);
        if let Some(last) = reads.last_mut() {
            *last = epoch;
        }
    }
}

/// The last accesses to a memory.
#[derive(Debug)]
pub(super) struct Shadow {
    pages: Vec<Page>,
    places: HashMap<u64, u32>,
    /// Pages found last, by a hash of their numbers.
    cache: Box<[(u64, u32); CACHED]>,
    bytes: usize,
    /// The charge for its host memory.
    charge: Option<Charge>,
    /// Accesses that were not checked, since there was no room for what they touch.
    missed: u64,
}

impl Default for Shadow {
    fn default() -> Shadow {
        Shadow {
            pages: Vec::new(),
            places: HashMap::new(),
            cache: Box::new([(u64::MAX, 0); CACHED]),
            bytes: 0,
            charge: None,
            missed: 0,
        }
    }
}

impl Shadow {
    /// The same, with an account of host memory that it is charged to from now on.
    pub(super) fn charged_to(&mut self, account: &Account) -> &mut Shadow {
        self.charge.get_or_insert_with(|| account.nothing());
        self
    }

    #[inline]
    fn page(&mut self, key: u64) -> Option<&mut Page> {
        let at = self.place(key)?;
        self.pages.get_mut(at)
    }

    /// The index of the page with a number.
    #[inline]
    fn place(&mut self, key: u64) -> Option<usize> {
        // Multiplicative hashing: lanes of a warp are often a power of two apart.
        let slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % CACHED;
        let cached = self.cache[slot];
        if cached.0 == key {
            return Some(cached.1 as usize);
        }
        let at = match self.places.get(&key) {
            Some(&at) => at,
            None => {
                let bytes = PAGE as usize / 4 * PIECE;
                if !self.reserve(bytes) {
                    return None;
                }
                self.places.insert(key, self.pages.len() as u32);
                self.pages.push(Page::new());
                self.pages.len() as u32 - 1
            }
        };
        self.cache[slot] = (key, at);
        Some(at as usize)
    }

    /// Takes memory, if there is some. Accesses to memory that has no shadow are not checked.
    fn reserve(&mut self, bytes: usize) -> bool {
        let fits = self.bytes.saturating_add(bytes) <= MOST_BYTES
            && self.charge.as_mut().is_none_or(|charge| charge.grow(bytes as u64).is_ok());
        match fits {
            true => self.bytes += bytes,
            false => self.missed += 1,
        }
        fits
    }

    /// Makes the pieces of a page as small as an access needs them. Returns whether there is memory for that.
    #[cold]
    fn cut(&mut self, page: usize, shift: u32) -> bool {
        let Some(pieces) = self.pages.get(page).map(|page| page.cells.len() << (page.shift - shift)) else {
            return false;
        };
        let more = pieces - self.pages[page].cells.len();
        let fits = self.reserve(more * PIECE);
        if fits {
            self.pages[page].cut(shift);
        }
        fits
    }

    /// How many accesses were not checked for want of memory, and how many bytes it has.
    pub(super) fn missed(&self) -> (u64, u64) {
        (self.missed, self.bytes as u64)
    }

    /// Remembers an access to some bytes, with what a weak write writes there; the earlier one that it races with, if
    /// there is one, and the last strong write there before it; an empty one if others than threads used it.
    #[inline]
    pub(super) fn touch(
        &mut self,
        address: u64,
        bytes: u64,
        now: &Now<'_>,
        data: Option<&[u8]>,
    ) -> (Option<(Verdict, Epoch)>, Option<Epoch>) {
        let mut found = None;
        let mut strong = None;
        let end = address.saturating_add(bytes);
        let mut at = address;
        let shift = (address | bytes).trailing_zeros().min(2);
        while at < end {
            let Some(place) = self.place(at / PAGE) else { return (found, strong) };
            if self.pages[place].shift > shift && !self.cut(place, shift) {
                return (found, strong);
            }
            let page = &mut self.pages[place];
            let size = 1 << page.shift;
            let last = end.min((at / PAGE + 1) * PAGE);
            while at < last {
                let index = ((at % PAGE) >> page.shift) as usize;
                page.spread(index);
                if let Some(extra) = page.peek(index) {
                    strong = Some(extra.strong[0]);
                }
                let value = data.and_then(|data| data.get((at - address) as usize..)).map(|data| {
                    data.iter().take(size as usize).rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
                });
                let one = page.touch(index, now, value);
                found = found.or(one);
                at += size;
            }
        }
        (found, strong)
    }

    /// The bytes are new: earlier accesses are forgotten.
    pub(super) fn forget(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        let (first, last) = (address / PAGE, end.div_ceil(PAGE));
        let keys: Vec<u64> = match last - first < self.places.len() as u64 {
            true => (first..last).filter(|key| self.places.contains_key(key)).collect(),
            false => self.places.keys().copied().filter(|key| (first..last).contains(key)).collect(),
        };
        for key in keys {
            let Some(page) = self.page(key) else { continue };
            let size = 1 << page.shift;
            (0..page.cells.len()).step_by(ROW).for_each(|row| page.spread(row));
            for (index, cell) in page.cells.iter_mut().enumerate() {
                let at = key * PAGE + index as u64 * size;
                if at >= address && at < end {
                    *cell = Cell::default();
                }
            }
        }
    }
}
