//! Bytes that the threads of a launch read and write at the same time.
//!
//! CTAs run on threads of the host and may touch the same memory without order, which PTX allows: what they read
//! is then some value that was written. So every access here is atomic (relaxed unless said otherwise), as wide as
//! the instruction's element, and at an address aligned to that width.
//!
//! `unsafe` is here for three things. Memory is asked for already zeroed, so that the pages of a
//! large buffer exist only once they are touched, and so that memory the host cannot give is an error and not an
//! abort. And words of 64 bits are looked at as words of 8, 16 and 32 bits: the place is inside the allocation and
//! aligned (checked beside each use), integers have no invalid bits, and no access to it is other than atomic.
//! Accesses of different widths may race; that is outside what the language promises, and is what every machine
//! that it runs on defines: each byte is one that was written. And whole rows are copied by the processor's own
//! instructions (`memory/wide.rs`).

use super::wide::{Address, Cpu, From};
use crate::lanes::LANES;
use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory of a fixed size, zero at first.
pub struct Cells {
    words: Box<[AtomicU64]>,
    bytes: usize,
}

impl std::fmt::Debug for Cells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cells({} bytes)", self.bytes)
    }
}

/// What an element can be.
pub trait Unit: Copy + Default + PartialEq {
    /// Its bytes.
    const BYTES: usize;

    /// Reads one.
    fn load(cells: &Cells, at: usize) -> Self;

    /// Writes one.
    fn store(self, cells: &Cells, at: usize);

    /// Replaces one by what the function makes of it; gives what was there before.
    fn update(cells: &Cells, at: usize, f: impl FnMut(Self) -> Self) -> Self;

    /// Reads one.
    ///
    /// # Safety
    /// One is there, aligned.
    unsafe fn load_from(place: *const u8) -> Self;

    /// Copies one.
    ///
    /// # Safety
    /// Both sides are one, aligned.
    unsafe fn copy(from: *const u8, to: *mut u8);

    /// From the low bits of a word.
    fn from_word(word: u64) -> Self;

    /// As a word, extended with zeros.
    fn to_word(self) -> u64;
}

macro_rules! unit {
    ($unit:ty, $atomic:ty) => {
        impl Unit for $unit {
            const BYTES: usize = size_of::<$unit>();

            #[inline(always)]
            fn load(cells: &Cells, at: usize) -> Self {
                place::<$atomic>(cells, at).load(Ordering::Relaxed)
            }

            #[inline(always)]
            fn store(self, cells: &Cells, at: usize) {
                place::<$atomic>(cells, at).store(self, Ordering::Relaxed);
            }

            #[inline(always)]
            fn update(cells: &Cells, at: usize, mut f: impl FnMut(Self) -> Self) -> Self {
                let place = place::<$atomic>(cells, at);
                let mut before = place.load(Ordering::Relaxed);
                loop {
                    let after = f(before);
                    match place.compare_exchange_weak(before, after, Ordering::SeqCst, Ordering::Relaxed) {
                        Ok(_) => return before,
                        Err(now) => before = now,
                    }
                }
            }

            #[inline(always)]
            unsafe fn load_from(place: *const u8) -> Self {
                // SAFETY: as the caller says; see the head of the file.
                unsafe { (*place.cast::<$atomic>()).load(Ordering::Relaxed) }
            }

            #[inline(always)]
            unsafe fn copy(from: *const u8, to: *mut u8) {
                // SAFETY: as the caller says; see the head of the file.
                unsafe {
                    let value = (*from.cast::<$atomic>()).load(Ordering::Relaxed);
                    (*to.cast::<$atomic>()).store(value, Ordering::Relaxed);
                }
            }

            #[inline(always)]
            fn from_word(word: u64) -> Self {
                word as $unit
            }

            #[inline(always)]
            fn to_word(self) -> u64 {
                self.into()
            }
        }
    };
}

unit!(u8, AtomicU8);
unit!(u16, AtomicU16);
unit!(u32, AtomicU32);
unit!(u64, AtomicU64);

/// The place of an element.
#[inline(always)]
fn place<A>(cells: &Cells, at: usize) -> &A {
    let size = size_of::<A>();
    assert!(at.is_multiple_of(size) && at <= cells.capacity() - size, "places are checked before");
    // SAFETY: inside and aligned, as just seen; see the head of the file.
    unsafe { &*cells.words.as_ptr().cast::<u8>().add(at).cast::<A>() }
}

impl Cells {
    /// So many bytes of zeros; `None` if the host has not so many.
    pub fn new(bytes: u64) -> Option<Cells> {
        let bytes = usize::try_from(bytes).ok()?;
        let count = (bytes / 8).checked_add(2)?;
        let layout = Layout::array::<AtomicU64>(count).ok()?;
        // SAFETY: the layout is not empty. Zeros are a valid `AtomicU64`, and the box frees with the same layout.
        let words = unsafe {
            let start = alloc_zeroed(layout).cast::<AtomicU64>();
            if start.is_null() {
                return None;
            }
            Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, count))
        };
        Some(Cells { words, bytes })
    }

    /// How many bytes there are.
    pub fn len(&self) -> u64 {
        self.bytes as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    #[inline(always)]
    fn capacity(&self) -> usize {
        self.words.len() * 8
    }

    /// Whether so many elements can begin at a place.
    #[inline(always)]
    fn has<T: Unit>(&self, at: usize, count: usize) -> bool {
        let bytes = T::BYTES * count;
        at.is_multiple_of(T::BYTES) && self.capacity() >= bytes && at <= self.capacity() - bytes
    }

    /// Copies elements out, 16 or 32; the first place is aligned, and the last element inside.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    pub(crate) unsafe fn read_row<C: Cpu, T: Unit>(&self, at: u64, into: &mut [T]) {
        let at = at as usize;
        assert!(self.has::<T>(at, into.len()) && into.len().is_multiple_of(16), "places are checked before");
        // SAFETY: they are here, and there.
        unsafe { C::copy::<T>(self.start().add(at), into.as_mut_ptr().cast(), into.len()) };
    }

    /// Copies elements in, 16 or 32; the first place is aligned, and the last element inside.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    pub(crate) unsafe fn write_row<C: Cpu, T: Unit>(&self, at: u64, row: &[T]) {
        let at = at as usize;
        assert!(self.has::<T>(at, row.len()) && row.len().is_multiple_of(16), "places are checked before");
        // SAFETY: they are here, and there. The words are atomics, so they may be written through a shared
        // reference.
        unsafe { C::copy::<T>(row.as_ptr().cast(), self.start().add(at).cast_mut(), row.len()) };
    }

    fn start(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    /// The places of 32 lanes, if so many bytes, a power of two, are inside at each of them, and each is a multiple
    /// of that.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    pub(crate) unsafe fn places<'a, 'b, C: Cpu, W: Address>(
        &'b self,
        row: &[W; LANES],
        from: From<W>,
        at: &'a mut [u64; LANES],
    ) -> Option<Places<'a, 'b>> {
        let last = self.len().checked_sub(from.bytes)?;
        // SAFETY: as the caller says.
        let inside = unsafe { C::place(row, From { last, ..from }, at) };
        inside.then_some(Places { cells: self, at, bytes: from.bytes })
    }

    /// Zeros everything. Nobody else uses it meanwhile.
    pub fn clear(&mut self) {
        for word in &mut self.words {
            *word.get_mut() = 0;
        }
    }

    /// Copies bytes out.
    pub fn read(&self, at: u64, into: &mut [u8]) {
        let mut at = at as usize;
        let head = (at.wrapping_neg() & 7).min(into.len());
        let (head, rest) = into.split_at_mut(head);
        for byte in head {
            *byte = u8::load(self, at);
            at += 1;
        }
        let (words, tail) = rest.as_chunks_mut::<8>();
        for word in words {
            *word = u64::load(self, at).to_le_bytes();
            at += 8;
        }
        for byte in tail {
            *byte = u8::load(self, at);
            at += 1;
        }
    }

    /// Copies bytes in.
    pub fn write(&self, at: u64, mut bytes: &[u8]) {
        let mut at = at as usize;
        while let Some((&first, rest)) = bytes.split_first() {
            match bytes.first_chunk::<8>() {
                Some(word) if at.is_multiple_of(8) => {
                    u64::from_le_bytes(*word).store(self, at);
                    (bytes, at) = (&bytes[8..], at + 8);
                }
                _ => {
                    first.store(self, at);
                    (bytes, at) = (rest, at + 1);
                }
            }
        }
    }

    /// Holds off all other users of 128-bit elements that must be whole, which are two words to the host.
    pub fn lock_pairs() -> MutexGuard<'static, ()> {
        static LOCK: Mutex<()> = Mutex::new(());
        LOCK.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 32 places of as many bytes in memory: inside, and aligned.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a, 'b> {
    cells: &'b Cells,
    at: &'a [u64; LANES],
    bytes: u64,
}

impl<'b> Places<'_, 'b> {
    pub(crate) fn cells(&self) -> &'b Cells {
        self.cells
    }

    /// Where the elements of all places begin that lie so far behind each.
    #[inline(always)]
    fn start<T: Unit>(&self, skip: u64) -> *const u8 {
        let (skip, size) = (skip as usize, T::BYTES);
        assert!(
            skip.is_multiple_of(size) && skip + size <= self.bytes as usize,
            "elements are parts of an access"
        );
        // SAFETY: the bytes from every place on are inside, so these from the start on are.
        unsafe { self.cells.start().add(skip) }
    }

    /// Reads an element of each place.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    pub(crate) unsafe fn gather<C: Cpu, T: Unit>(&self, skip: u64) -> [T; LANES] {
        let mut row = [T::default(); LANES];
        // SAFETY: all places are inside and aligned, and the element is one of theirs.
        unsafe { C::gather(self.start::<T>(skip), self.at, &mut row) };
        row
    }

    /// Writes an element of those places that a mask names, the highest last.
    #[inline(always)]
    pub(crate) fn scatter<T: Unit>(&self, skip: u64, row: &[T; LANES], mask: u32) {
        let start = self.start::<T>(skip);
        for (lane, (value, &at)) in row.iter().zip(self.at).enumerate() {
            if mask >> lane & 1 == 1 {
                // SAFETY: all places are inside and aligned, and the element is one of theirs. The words are
                // atomics, so they may be written through a shared reference.
                unsafe { T::copy(std::ptr::from_ref(value).cast(), start.add(at as usize).cast_mut()) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::ALL;
    use crate::memory::wide::Baseline;

    #[test]
    fn bytes_go_in_and_come_out_at_any_place() {
        let cells = Cells::new(100).unwrap();
        let bytes: Vec<u8> = (1..=40).collect();
        for at in 0..16 {
            cells.write(at, &bytes);
            let mut back = [0; 40];
            cells.read(at, &mut back);
            assert_eq!(back[..], bytes[..]);
        }
        assert_eq!(u32::load(&cells, 16), u32::from_le_bytes([2, 3, 4, 5]));
        assert_eq!(u16::load(&cells, 16), u16::from_le_bytes([2, 3]));
    }

    /// Addresses as they stand, all lanes taking part.
    fn plain(at: &[u64; LANES], bytes: u64) -> From<u64> {
        From { taking: ALL, lead: at[0], offset: 0, base: 0, last: 0, bytes }
    }

    /// The places of a row, with what every CPU has.
    fn places<'a>(
        cells: &'a Cells,
        at: &[u64; LANES],
        bytes: u64,
        each: &'a mut [u64; LANES],
    ) -> Option<Places<'a, 'a>> {
        // SAFETY: every CPU has the level.
        unsafe { cells.places::<Baseline, u64>(at, plain(at, bytes), each) }
    }

    #[test]
    fn a_gather_reads_each_place() {
        let cells = Cells::new(64).unwrap();
        7u32.store(&cells, 60);
        let mut at = [0; LANES];
        at[31] = 60;
        // SAFETY: every CPU has the level.
        let row: [u32; LANES] =
            unsafe { places(&cells, &at, 4, &mut [0; LANES]).unwrap().gather::<Baseline, u32>(0) };
        assert_eq!(row[31], 7);
        assert_eq!(row[30], 0);
    }

    #[test]
    fn places_outside_or_misaligned_are_none() {
        let cells = Cells::new(64).unwrap();
        assert!(places(&cells, &[60; LANES], 4, &mut [0; LANES]).is_some());
        for wrong in [1 << 40, 61, 62, 64] {
            let mut at = [0; LANES];
            at[17] = wrong;
            assert!(places(&cells, &at, 4, &mut [0; LANES]).is_none(), "{wrong}");
        }
        assert!(places(&cells, &[0; LANES], 128, &mut [0; LANES]).is_none());
    }

    #[test]
    #[should_panic(expected = "elements are parts of an access")]
    fn an_element_outside_an_access_is_caught() {
        let cells = Cells::new(64).unwrap();
        places(&cells, &[56; LANES], 8, &mut [0; LANES]).unwrap().scatter(8, &[0u32; LANES], ALL);
    }

    fn copies<C: Cpu>() {
        let cells = Cells::new(8 * 40).unwrap();
        for word in 0..80u32 {
            word.store(&cells, 4 * word as usize);
        }
        for first in [0u32, 1, 2, 7, 8] {
            let mut row = [0; LANES];
            // SAFETY: the caller saw that the CPU has the level.
            unsafe { cells.read_row::<C, u32>(u64::from(first) * 4, &mut row) };
            assert_eq!(row, std::array::from_fn(|lane| first + lane as u32));
            let at: [u64; LANES] = std::array::from_fn(|lane| 8 * (31 - lane as u64));
            let mut each = [0; LANES];
            // SAFETY: the caller saw that the CPU has the level.
            let (narrow, wide) = unsafe {
                let places = cells.places::<C, u64>(&at, plain(&at, 8), &mut each).unwrap();
                (places.gather::<C, u32>(4), places.gather::<C, u64>(0))
            };
            assert_eq!(narrow, std::array::from_fn(|lane| 2 * (31 - lane as u32) + 1));
            assert_eq!(
                wide,
                std::array::from_fn(|lane| u64::from(narrow[lane]) << 32 | u64::from(narrow[lane] - 1))
            );
        }
    }

    fn finds<C: Cpu, W: Address>(words: [W; LANES], lead: W) {
        // SAFETY: the caller saw that the CPU has the level.
        unsafe {
            assert_eq!(C::apart(&words, lead, 8), ALL & !(1 << 9));
            assert_eq!(C::apart(&words, lead, 0), 1);
            let from = From { taking: ALL & !(1 << 9), lead, offset: 16, base: 8, last: 1000, bytes: 8 };
            let (mut each, mut plainly) = ([0; LANES], [0; LANES]);
            assert_eq!(C::place(&words, from, &mut each), Baseline::place(&words, from, &mut plainly));
            assert_eq!(each, plainly);
            assert_eq!(each[9], each[0]);
            for (from, right) in [
                (from, true),
                (From { taking: ALL, ..from }, false),
                (From { last: each[31], ..from }, true),
                (From { last: each[31] - 1, ..from }, false),
                (From { bytes: 16, ..from }, false),
            ] {
                assert_eq!(C::place(&words, from, &mut each), right);
            }
        }
    }

    fn finds_all<C: Cpu>() {
        // Words of 32 bits begin anew on the way.
        let narrow = std::array::from_fn(|lane| {
            if lane == 9 { 5 } else { 0u32.wrapping_sub(8).wrapping_add(8 * lane as u32) }
        });
        let wide = std::array::from_fn(|lane| if lane == 9 { 5 } else { 64 + 8 * lane as u64 });
        finds::<C, u32>(narrow, narrow[0]);
        finds::<C, u64>(wide, wide[0]);
        copies::<C>();
    }

    #[test]
    fn rows_and_gathers_are_the_same_at_all_levels() {
        finds_all::<Baseline>();
        #[cfg(target_arch = "x86_64")]
        {
            use crate::memory::wide::{Avx2, Avx512};
            use softwarp_num::Level;
            if crate::ops::level() >= Level::Avx2 {
                finds_all::<Avx2>();
            }
            if crate::ops::level() >= Level::Avx512 {
                finds_all::<Avx512>();
            }
        }
    }

    #[test]
    fn memory_that_no_machine_has_is_refused() {
        assert!(Cells::new(u64::MAX).is_none());
        assert!(Cells::new(1 << 62).is_none());
    }
}
