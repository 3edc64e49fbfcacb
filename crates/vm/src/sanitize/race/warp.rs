//! Weak reads and writes of a whole warp at once.
//!
//! Nearly all accesses are such. What lanes of a warp access together has mostly been accessed by one warp before, too, at
//! one clock: so what was found out for one lane is kept for the others. Where half of a warp accesses a row of words side
//! by side, and the row has been accessed in no other way, one cell of shadow memory stands for all of them.

use super::{Cell, Now, PAGE, Page, ROW, Shadow, Verdict};
use crate::sanitize::clock::Plane;
use crate::sanitize::epoch::{Epoch, Thread};
use softwarp_units::lanes::{ALL, LANES};

/// Lanes of half a warp.
const HALF: u32 = ALL >> (LANES / 2);

/// Accesses of lanes that know the same.
#[derive(Clone, Copy)]
pub(in crate::sanitize) struct Lanes<'a> {
    pub(in crate::sanitize) mask: u32,
    pub(in crate::sanitize) addresses: &'a [u64; LANES],
    /// The bytes of each lane's access.
    pub(in crate::sanitize) bytes: u64,
    /// Whether the elements of each half of the warp lie side by side.
    pub(in crate::sanitize) side_by_side: [bool; 2],
    /// The words that lanes write, one row after the other.
    pub(in crate::sanitize) words: Option<&'a [[u32; LANES]]>,
}

/// Results for one lane that hold for the others of its warp that know the same. The words that the lanes of a warp
/// access together have mostly been accessed by the same warp before, at the same clock.
#[derive(Debug)]
struct Memo {
    /// A warp by its number among all, and the clock up to which all of its lanes are known.
    writer: (u32, u32),
    /// A record of reads: warp, clock, whether of several lanes, and warps.
    readers: (u32, u32, bool, u32),
    /// Whether these are ordered before.
    behind: bool,
    /// The bit of the own warp among readers.
    own: u32,
}

impl Memo {
    fn new(now: &Now<'_>) -> Memo {
        // No warp has the highest number.
        let own = 1u32.checked_shl(now.thread.warp as u32).unwrap_or(0);
        Memo { writer: (u32::MAX, 0), readers: (u32::MAX, 0, false, 0), behind: false, own }
    }

    /// Whether a weak write is surely ordered before this access.
    #[inline(always)]
    fn behind_write(&mut self, write: &Epoch, now: &Now<'_>) -> bool {
        if write.is_none() {
            return true;
        }
        if !write.is_plain() {
            return false;
        }
        if write.warp() == self.writer.0 && write.clock <= self.writer.1 {
            return true;
        }
        if write.same_thread(&now.epoch) && !write.several() && !now.several {
            return true;
        }
        self.look_up_writer(write, now)
    }

    fn look_up_writer(&mut self, write: &Epoch, now: &Now<'_>) -> bool {
        let of = write.thread(now.causality.warps);
        let Some(known) = now.known.clock(Plane::Thread, of.cta, of.warp) else { return false };
        self.writer = (write.warp(), known.least());
        write.clock <= known.least()
    }

    /// Whether a record of reads is ordered before this access, if that does not depend on the lane.
    #[inline(always)]
    fn behind_readers(&mut self, read: &Epoch, readers: u32, now: &Now<'_>) -> Option<bool> {
        let key = (read.warp(), read.clock, read.several(), readers);
        if key != self.readers {
            self.behind = now.warp_behind_readers(read, readers)?;
            self.readers = key;
        }
        Some(self.behind)
    }
}

impl Now<'_> {
    /// Goes on to another lane of the warp at the same access.
    #[inline]
    fn become_lane(&mut self, lane: usize, several: bool) {
        (self.epoch, self.thread.lane, self.several) = (self.epoch.of_lane(lane), lane, several);
    }

    /// Whether a read is ordered before this access, whichever lanes they are of.
    fn warp_behind(&self, read: &Epoch) -> bool {
        let Thread { cta, warp, .. } = read.thread(self.causality.warps);
        self.known.knows_all(Plane::Thread, cta, warp, read.clock)
    }

    /// Whether all reads that a record stands for are ordered before this access, where the answer is the same for all
    /// lanes that know the same; nothing where it depends on the lane.
    fn warp_behind_readers(&self, read: &Epoch, readers: u32) -> Option<bool> {
        let Thread { cta, warp, .. } = read.thread(self.causality.warps);
        let clock = self.known.clock(Plane::Thread, cta, warp);
        if clock.is_some_and(|clock| !clock.is_uniform()) {
            return None;
        }
        let own_cta = cta == self.thread.cta;
        if !self.causality.exhausted && !self.known.knows_all(Plane::Thread, cta, warp, read.clock) {
            // A thread is behind its own reads.
            return (!own_cta || warp != self.thread.warp).then_some(false);
        }
        let others = readers & !(1 << warp);
        let known = |warp: usize| {
            own_cta && warp == self.thread.warp || self.known.knows_all(Plane::Thread, cta, warp, read.clock)
        };
        Some(self.causality.exhausted || softwarp_units::lanes::lanes(others).all(known))
    }
}

/// Remembers a weak read or write of a thread, or of the threads that a row is accessed by, if it is certainly not a race. Says
/// whether it did.
#[inline(always)]
fn settle<const WRITES: bool>(cell: &mut Cell, now: &Now<'_>, memo: &mut Memo) -> bool {
    let epoch = now.epoch;
    if cell.extra != 0 || !memo.behind_write(&cell.write, now) {
        return false;
    }
    let read = cell.read;
    if WRITES {
        let only_own = || read.same_thread(&epoch) && !read.several() && cell.readers == memo.own;
        let behind =
            read.is_none() || only_own() || memo.behind_readers(&read, cell.readers, now) == Some(true);
        let settled = behind && (cell.other.is_none() || now.warp_behind(&cell.other));
        if settled {
            *cell = Cell { write: epoch, ..Cell::default() };
        }
        return settled;
    }
    if read.warp() == epoch.warp() && read.clock == epoch.clock {
        let several = now.several || read.several() || read.lane() != epoch.lane();
        cell.read.set_several(several);
        return true;
    }
    let behind = match read.is_none() {
        true => Some(true),
        false => memo.behind_readers(&read, cell.readers, now),
    };
    let Some(behind) = behind else { return false };
    cell.read = epoch;
    cell.read.set_several(now.several);
    if behind {
        cell.readers = memo.own;
    } else if read.cta(now.causality.warps) == now.thread.cta {
        // The oldest of the clocks, as in `remember_reader`.
        cell.read.clock = read.clock.min(epoch.clock);
        cell.readers |= memo.own;
        let warps = now.causality.warps;
        if read.warp() != epoch.warp() && (cell.other.is_none() || cell.other.cta(warps) == now.thread.cta) {
            cell.other = read;
        }
    } else {
        cell.readers = memo.own;
        cell.other = read;
    }
    true
}

impl Page {
    /// Half a warp accesses a row side by side. Returns whether that is remembered in one cell.
    #[inline]
    fn settle_row<const WRITES: bool>(
        &mut self,
        row: usize,
        now: &Now<'_>,
        values: Option<&[u32]>,
        memo: &mut Memo,
    ) -> bool {
        if self.shift != 2 || self.rows >> row & 1 == 0 {
            return false;
        }
        let settled = self.cells.get_mut(row * ROW).is_some_and(|cell| settle::<WRITES>(cell, now, memo));
        if WRITES && settled {
            self.values.resize(self.cells.len(), 0);
            if let Some(into) = self.values.get_mut(row * ROW..(row + 1) * ROW) {
                match values {
                    Some(values) => into.copy_from_slice(values),
                    None => into.fill(0),
                }
            }
        }
        settled
    }
}

impl Shadow {
    /// Weak reads or writes of lanes that know the same; `now` is the first of them. Says which lanes race with which
    /// earlier access, and of writes which lanes overwrite what a strong operation wrote.
    pub(in crate::sanitize) fn touch_lanes<const WRITES: bool>(
        &mut self,
        those: Lanes<'_>,
        now: &mut Now<'_>,
        mut found: impl FnMut(usize, Verdict, Epoch),
    ) -> u32 {
        let Lanes { mask, addresses, words, .. } = those;
        let mut memo = Memo::new(now);
        let mut rest = mask;
        // Both halves of the warp read the same.
        let twice = !WRITES && mask == ALL && addresses[..LANES / 2] == addresses[LANES / 2..];
        if twice {
            rest = HALF;
        }
        let (mut overwritten, mut unsettled) = (0, 0);
        let rows = self.settle_rows::<WRITES>(&those, now, &mut memo, &mut rest, twice);
        let mut last = (u64::MAX, 0);
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize % LANES;
            let address = addresses[lane];
            rest &= rest - 1;
            let mut several = twice;
            if !WRITES {
                // Neighbours that read the same are one read of several lanes.
                while rest != 0 && addresses[rest.trailing_zeros() as usize % LANES] == address {
                    rest &= rest - 1;
                    several = true;
                }
            }
            now.become_lane(lane, several);
            if last.0 != address / PAGE {
                let Some(at) = self.place(address / PAGE) else { continue };
                last = (address / PAGE, at);
            }
            let shift = (address | those.bytes).trailing_zeros().min(2);
            if self.pages.get(last.1).is_none_or(|page| page.shift > shift) && !self.cut(last.1, shift) {
                continue;
            }
            let Some(page) = self.pages.get_mut(last.1) else { continue };
            let size = page.shift;
            let first = ((address % PAGE) >> size) as usize;
            for part in 0..(those.bytes >> size) as usize {
                let index = first + part;
                page.spread(index);
                let value = words.and_then(|words| {
                    let at = part << size;
                    let word = words.get(at / 4)?[lane] >> (8 * (at % 4));
                    Some(if size < 2 { word & ((1 << (8 << size)) - 1) } else { word })
                });
                let Some(cell) = page.cells.get_mut(index) else { continue };
                if settle::<WRITES>(cell, now, &mut memo) {
                    if WRITES {
                        page.set_value(index, value.unwrap_or(0));
                    }
                    continue;
                }
                unsettled |= 1 << lane;
                if WRITES && cell.extra != 0 {
                    overwritten |= 1 << lane;
                }
                if let Some((verdict, before)) = page.touch(index, now, value) {
                    found(lane, verdict, before);
                }
            }
        }
        self.join_rows(rows, unsettled);
        overwritten
    }

    /// Remembers halves of the warp that access rows side by side, each in one cell, and takes them from `rest`. Returns
    /// the page and the row of those that are written otherwise.
    #[inline(always)]
    fn settle_rows<const WRITES: bool>(
        &mut self,
        those: &Lanes<'_>,
        now: &mut Now<'_>,
        memo: &mut Memo,
        rest: &mut u32,
        twice: bool,
    ) -> [Option<(usize, usize)>; 2] {
        let mut rows = [None; 2];
        for half in [0, LANES / 2] {
            let part = HALF << half;
            if *rest & part != part || those.bytes != 4 || !those.side_by_side[half / ROW] {
                continue;
            }
            let address = those.addresses[half];
            if !address.is_multiple_of(4 * ROW as u64) {
                continue;
            }
            let Some(at) = self.place(address / PAGE) else { continue };
            let Some(page) = self.pages.get_mut(at) else { continue };
            let row = (address % PAGE) as usize / (4 * ROW);
            now.become_lane(half, twice);
            let values = those.words.and_then(|words| words.first()?.get(half..half + ROW));
            if page.settle_row::<WRITES>(row, now, values, memo) {
                *rest &= !part;
            } else if WRITES && page.shift == 2 {
                rows[half / ROW] = Some((at, row));
            }
        }
        rows
    }

    /// Rows that were written side by side have a common cell again, if no lane of the half is unsettled.
    fn join_rows(&mut self, rows: [Option<(usize, usize)>; 2], unsettled: u32) {
        for (row, half) in rows.into_iter().zip([0, LANES / 2]) {
            if let Some((at, row)) = row
                && unsettled & HALF << half == 0
                && let Some(page) = self.pages.get_mut(at)
            {
                page.rows |= 1 << row;
            }
        }
    }
}
