//! Memory that each thread has to itself: `.local`, and the parameters of device functions.
//!
//! As on the hardware, it is interleaved: a row holds the same 32-bit word of all lanes of a warp. Lanes nearly
//! always use the same address, so an access is a copy of rows. Only the warp sees it, so nothing here is atomic.

use super::guard::{self, GuardedRows};
use softwarp_units::lanes::{LANES, Row};
use std::ops::{Deref, DerefMut};

/// Rows of words.
#[derive(Debug)]
enum Rows {
    Plain(Vec<Row<u32>>),
    /// Between guard pages.
    Guarded(GuardedRows),
}

impl Default for Rows {
    fn default() -> Rows {
        Rows::Plain(Vec::new())
    }
}

impl Deref for Rows {
    type Target = [Row<u32>];

    #[inline(always)]
    fn deref(&self) -> &[Row<u32>] {
        match self {
            Rows::Plain(rows) => rows,
            Rows::Guarded(rows) => rows,
        }
    }
}

impl DerefMut for Rows {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Row<u32>] {
        match self {
            Rows::Plain(rows) => rows,
            Rows::Guarded(rows) => rows,
        }
    }
}

impl Rows {
    /// As many as there are and more of zeros, before or after them. Says whether the host had memory for it.
    fn grow(&mut self, count: usize, before: bool) -> bool {
        let more = count - self.len();
        if guard::is_on() {
            let Some(mut rows) = GuardedRows::new(count) else { return false };
            let from = if before { more } else { 0 };
            rows[from..from + self.len()].copy_from_slice(self);
            *self = Rows::Guarded(rows);
            return true;
        }
        let Rows::Plain(rows) = self else { return false };
        if !before {
            rows.resize(count, Row([0; LANES]));
            return true;
        }
        let mut grown = Vec::new();
        if grown.try_reserve_exact(count).is_err() {
            return false;
        }
        grown.resize(more, Row([0; LANES]));
        grown.extend_from_slice(rows);
        *rows = grown;
        true
    }
}

/// Words of all lanes, from an address on.
#[derive(Debug, Default)]
pub struct LocalMemory {
    rows: Rows,
}

impl LocalMemory {
    /// How many bytes each lane has.
    pub fn len(&self) -> u64 {
        self.rows.len() as u64 * 4
    }

    /// How many bytes each lane would have if it grew to have at least that many: twice as many as before if it is more,
    /// since all rows move, but not more than `most`.
    pub(crate) fn grown(&self, bytes: u64, most: u64) -> u64 {
        let bytes = bytes.next_multiple_of(4);
        if bytes <= self.len() { self.len() } else { bytes.max((2 * self.len()).min(most)) }
    }

    /// Makes sure that there are a given number of bytes; new ones are zero and come before the others, as a stack grows. Says
    /// whether the host had memory for it.
    #[must_use]
    pub fn grow_down(&mut self, bytes: u64) -> bool {
        let Ok(rows) = usize::try_from(bytes.div_ceil(4)) else { return false };
        rows <= self.rows.len() || self.rows.grow(rows, true)
    }

    /// Makes sure that there are a given number of bytes; new ones are zero.
    pub fn grow(&mut self, bytes: u64) {
        let rows = usize::try_from(bytes.div_ceil(4)).unwrap_or(usize::MAX);
        let has = rows <= self.rows.len() || self.rows.grow(rows, false);
        assert!(has, "the host has no memory for {bytes} bytes of all lanes");
    }

    /// Makes room for a given number of bytes. Returns whether the host had memory for it.
    #[must_use]
    pub(crate) fn reserve(&mut self, bytes: u64) -> bool {
        let rows = usize::try_from(bytes.div_ceil(4)).unwrap_or(usize::MAX);
        match &mut self.rows {
            Rows::Plain(plain) => plain.try_reserve_exact(rows.saturating_sub(plain.len())).is_ok(),
            Rows::Guarded(_) => true,
        }
    }

    /// Where a word of all lanes is in the host's memory, for compiled code. The rows of those behind it follow.
    pub(crate) fn host_address(&mut self, at: u64) -> u64 {
        // The pointer is exposed: compiled code makes one of the number.
        self.rows.as_mut_ptr().expose_provenance() as u64 + at * LANES as u64
    }

    /// Bytes of the host that it takes.
    pub(crate) fn host_bytes(&self) -> u64 {
        let rows = match &self.rows {
            Rows::Plain(rows) => rows.capacity(),
            Rows::Guarded(rows) => rows.len(),
        };
        rows as u64 * size_of::<Row<u32>>() as u64
    }

    /// Zeros, of exactly a given number of bytes.
    pub fn reset(&mut self, bytes: u64) {
        match &mut self.rows {
            Rows::Plain(rows) => rows.clear(),
            // They stay where they are, which compiled code may know.
            Rows::Guarded(rows) if rows.len() as u64 == bytes.div_ceil(4) => {
                rows.fill(Row([0; LANES]));
            }
            Rows::Guarded(_) => self.rows = Rows::default(),
        }
        self.grow(bytes);
    }

    /// A word of all lanes.
    #[inline(always)]
    pub fn row(&self, at: u64) -> &[u32; LANES] {
        &self.rows[(at / 4) as usize].0
    }

    /// The same, to be written.
    #[inline(always)]
    pub fn row_mut(&mut self, at: u64) -> &mut [u32; LANES] {
        &mut self.rows[(at / 4) as usize].0
    }

    /// An aligned element of at most 8 bytes of one lane.
    #[inline]
    pub fn load(&self, lane: usize, at: u64, bytes: u64) -> u64 {
        let low = u64::from(self.row(at)[lane]);
        match bytes {
            8 => low | u64::from(self.row(at + 4)[lane]) << 32,
            4 => low,
            _ => low >> (8 * (at & 3)) & ((1 << (8 * bytes)) - 1),
        }
    }

    /// Writes an aligned element of at most 8 bytes of one lane.
    #[inline]
    pub fn store(&mut self, lane: usize, at: u64, bytes: u64, value: u64) {
        match bytes {
            8 => {
                self.row_mut(at)[lane] = value as u32;
                self.row_mut(at + 4)[lane] = (value >> 32) as u32;
            }
            4 => self.row_mut(at)[lane] = value as u32,
            _ => {
                let shift = 8 * (at & 3) as u32;
                let mask = ((1u32 << (8 * bytes)) - 1) << shift;
                let word = &mut self.row_mut(at)[lane];
                *word = *word & !mask | (value as u32) << shift & mask;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_all_widths_stay_in_their_lane_and_place() {
        let mut memory = LocalMemory::default();
        memory.grow(32);
        for (at, bytes) in [(8, 8), (4, 4), (2, 2), (1, 1), (0, 1), (24, 8)] {
            memory.store(3, at, bytes, 0x1122_3344_5566_7788 + at);
        }
        assert_eq!(memory.load(3, 8, 8), 0x1122_3344_5566_7790);
        assert_eq!(memory.load(3, 4, 4), 0x5566_778c);
        assert_eq!(memory.load(3, 0, 4), 0x778a_8988);
        assert_eq!(memory.load(3, 1, 1), 0x89);
        assert_eq!(memory.load(2, 8, 8), 0);
        assert_eq!(memory.load(4, 0, 4), 0);
    }
}
