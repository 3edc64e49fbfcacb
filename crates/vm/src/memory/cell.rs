//! Bytes that the threads of a launch read and write at the same time.
//!
//! CTAs run on threads of the host and may touch the same memory without order, which PTX allows: what they read
//! is then some value that was written. So every access here is atomic (relaxed unless said otherwise), as wide as
//! the instruction's element, and at an address aligned to that width.
//!
//! `unsafe` is here for five things.
//! - Memory is asked for already zeroed, so that the pages of a large buffer exist only once they are touched, and so
//!   that memory the host cannot give is an error and not an abort.
//! - For tests, memory lies between guard pages ([`super::guard`]).
//! - Memory can belong to the host program ([`super::host`]): its owner promises that it stays valid.
//! - Words of 64 bits are accessed as words of 8, 16 and 32 bits: the place is inside the allocation and aligned
//!   (checked beside each use), integers have no invalid bits, and no access to it is other than atomic.
//! - Whole rows are copied by vector instructions (`memory/wide.rs`).
//!
//! What is relied on beyond the language: accesses of different widths to one place may race. Rust leaves that
//! undefined; x86-64 and AArch64 define it, each byte being one that was written.

use super::guard::{self, Guarded};
use super::wide::{Address, Cpu, LaneAddresses};
use super::{order, sixteen};
use softwarp_units::lanes::LANES;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Memory of a fixed size that threads share, zero at first unless the host lends it.
pub struct SharedBytes {
    start: NonNull<u8>,
    /// Bytes that may be accessed from `start` on: at least 16, and at least `bytes`.
    capacity: usize,
    bytes: usize,
    owner: Owner,
}

/// The owner of the memory, which frees it.
enum Owner {
    /// It was allocated here, with this layout, from there on.
    Allocated(NonNull<u8>, Layout),
    /// It is a mapping between guard pages, which keeps it.
    Guarded { _memory: Box<Guarded> },
    /// The host lends it.
    Host,
}

// SAFETY: the memory is valid for as long as this exists, whichever thread has it, and every access through a shared
// reference is atomic or one of the vector moves of `memory/wide.rs`.
unsafe impl Send for SharedBytes {}
// SAFETY: as above.
unsafe impl Sync for SharedBytes {}

impl Drop for SharedBytes {
    fn drop(&mut self) {
        if let Owner::Allocated(allocated, layout) = self.owner {
            // SAFETY: it was allocated with this layout, and there is no other reference to it.
            unsafe { dealloc(allocated.as_ptr(), layout) };
        }
    }
}

impl std::fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedBytes({} bytes)", self.bytes)
    }
}

/// A number of bytes that is a power of two: the size of an access, which is also its alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(u64);

impl Size {
    /// A given number of bytes; `None` if that is not a power of two.
    #[inline(always)]
    pub(crate) const fn new(bytes: u64) -> Option<Size> {
        if bytes.is_power_of_two() { Some(Size(bytes)) } else { None }
    }

    /// In bytes.
    #[inline(always)]
    pub(crate) const fn bytes(self) -> u64 {
        self.0
    }

    /// Whether a place is a multiple of it.
    #[inline(always)]
    pub(crate) const fn divides(self, at: u64) -> bool {
        at & (self.0 - 1) == 0
    }
}

/// The types of elements: unsigned integers.
pub(crate) trait Unit: Copy + Default + PartialEq {
    /// Its bytes.
    const BYTES: usize;

    /// Reads one.
    fn load(cells: &SharedBytes, at: usize) -> Self;

    /// Writes one.
    fn store(self, cells: &SharedBytes, at: usize);

    /// Replaces one by what the function makes of it; gives what was there before.
    fn update(cells: &SharedBytes, at: usize, f: impl FnMut(Self) -> Self) -> Self;

    /// Reads one from memory that threads share.
    ///
    /// # Safety
    /// One is there, aligned; while this runs, others only access it atomically.
    unsafe fn load_from(place: *const u8) -> Self;

    /// Writes one to memory that threads share.
    ///
    /// # Safety
    /// As of [`Unit::load_from`].
    unsafe fn store_to(self, place: *mut u8);

    /// From the low bits of two words, the low one first.
    fn of_words(words: [u64; 2]) -> Self;

    /// As two words, extended with zeros.
    fn words(self) -> [u64; 2];
}

/// An element of at most 8 bytes.
pub(crate) trait Scalar: Unit {
    /// From the low bits of a word.
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        Self::of_words([word, 0])
    }

    /// As a word, extended with zeros.
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.words()[0]
    }
}

/// An atomic integer of at most 64 bits.
///
/// # Safety
/// It is as large and aligned as an integer of 8, 16, 32 or 64 bits, and any bits are a value of it.
unsafe trait AtomicInteger {}

macro_rules! unit {
    ($unit:ty, $atomic:ty) => {
        // SAFETY: the standard library says so of its atomic integers; they are aligned to their size.
        unsafe impl AtomicInteger for $atomic {}

        impl Unit for $unit {
            const BYTES: usize = size_of::<$unit>();

            #[inline(always)]
            fn load(cells: &SharedBytes, at: usize) -> Self {
                place::<$atomic>(cells, at).load(Ordering::Relaxed)
            }

            #[inline(always)]
            fn store(self, cells: &SharedBytes, at: usize) {
                place::<$atomic>(cells, at).store(self, Ordering::Relaxed);
            }

            #[inline(always)]
            fn update(cells: &SharedBytes, at: usize, mut f: impl FnMut(Self) -> Self) -> Self {
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
            unsafe fn store_to(self, place: *mut u8) {
                // SAFETY: as the caller says; see the head of the file.
                unsafe { (*place.cast::<$atomic>()).store(self, Ordering::Relaxed) }
            }

            #[inline(always)]
            fn of_words([word, _]: [u64; 2]) -> Self {
                word as $unit
            }

            #[inline(always)]
            fn words(self) -> [u64; 2] {
                [self.into(), 0]
            }
        }

        impl Scalar for $unit {}
    };
}

unit!(u8, AtomicU8);
unit!(u16, AtomicU16);
unit!(u32, AtomicU32);
unit!(u64, AtomicU64);

/// 16 bytes, which are accessed in one piece, too ([`sixteen`]).
impl Unit for u128 {
    const BYTES: usize = 16;

    #[inline(always)]
    fn load(cells: &SharedBytes, at: usize) -> Self {
        let place = cells.sixteen(at);
        // SAFETY: 16 bytes are there, aligned; see the head of the file.
        unsafe { sixteen::load(place) }
    }

    #[inline(always)]
    fn store(self, cells: &SharedBytes, at: usize) {
        let place = cells.sixteen(at);
        // SAFETY: as above. The words are atomics, so they may be written through a shared reference.
        unsafe { sixteen::store(place.cast_mut(), self) }
    }

    #[inline(always)]
    fn update(cells: &SharedBytes, at: usize, mut f: impl FnMut(Self) -> Self) -> Self {
        let place = cells.sixteen(at).cast_mut();
        let mut before = u128::load(cells, at);
        loop {
            let after = f(before);
            // SAFETY: as above.
            let now = unsafe { sixteen::compare_exchange(place, before, after) };
            if now == before {
                return before;
            }
            before = now;
        }
    }

    #[inline(always)]
    unsafe fn load_from(place: *const u8) -> Self {
        // SAFETY: as the caller says; see the head of the file.
        unsafe { sixteen::load(place) }
    }

    #[inline(always)]
    unsafe fn store_to(self, place: *mut u8) {
        // SAFETY: as the caller says; see the head of the file.
        unsafe { sixteen::store(place, self) }
    }

    #[inline(always)]
    fn of_words([low, high]: [u64; 2]) -> Self {
        u128::from(high) << 64 | u128::from(low)
    }

    #[inline(always)]
    fn words(self) -> [u64; 2] {
        [self as u64, (self >> 64) as u64]
    }
}

/// The place of an element.
#[inline(always)]
fn place<A: AtomicInteger>(cells: &SharedBytes, at: usize) -> &A {
    let size = size_of::<A>();
    assert!(at.is_multiple_of(size) && at <= cells.capacity() - size, "places are checked before");
    // SAFETY: inside and aligned, as just seen (there are at least 16 bytes); see the head of the file.
    unsafe { &*cells.start().add(at).cast::<A>() }
}

/// Bytes of a line of the host's caches. An access to two lines takes longer than one to a single line.
const LINE: usize = 64;

impl SharedBytes {
    /// A given number of bytes of zeros, from the beginning of a line of the host's caches on; `None` if the host has
    /// not that many.
    pub(crate) fn new(bytes: u64) -> Option<SharedBytes> {
        SharedBytes::aligned(bytes, LINE)
    }

    /// The same, at a multiple of a power of two, which is at least 16: that is what makes a multiple of 16 aligned for
    /// 16 bytes.
    pub(super) fn aligned(bytes: u64, alignment: usize) -> Option<SharedBytes> {
        let alignment = alignment.max(16);
        // An allocator that is asked for an alignment writes the zeros itself. More bytes are asked for instead.
        let (bytes, unit) = (usize::try_from(bytes).ok()?, align_of::<AtomicU64>());
        if guard::is_on() {
            let memory = Box::new(Guarded::new(bytes, alignment)?);
            let (start, capacity) = (memory.start(), memory.capacity());
            return Some(SharedBytes { start, capacity, bytes, owner: Owner::Guarded { _memory: memory } });
        }
        let capacity = (bytes / 8).checked_add(2)?.checked_mul(8)?;
        let more = alignment.saturating_sub(unit);
        let layout = Layout::from_size_align(capacity.checked_add(more)?, unit).ok()?;
        // SAFETY: the layout is not empty.
        let allocated = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let skipped = (allocated.as_ptr() as usize).wrapping_neg() % alignment;
        // SAFETY: at most `more` bytes are skipped, since both addresses are multiples of `unit`.
        let start = unsafe { allocated.add(skipped) };
        Some(SharedBytes { start, capacity, bytes, owner: Owner::Allocated(allocated, layout) })
    }

    /// Memory of the host.
    ///
    /// # Safety
    /// From `start` on there are at least that many bytes, at least 16. `start` is a multiple of 16. The bytes stay valid
    /// for as long as this exists, and others only access them atomically meanwhile, or not at the same time.
    pub(super) unsafe fn lent(start: NonNull<u8>, bytes: usize) -> SharedBytes {
        SharedBytes { start, capacity: bytes, bytes, owner: Owner::Host }
    }

    /// The address of the first byte in the host's memory.
    pub fn host_address(&self) -> u64 {
        self.start.as_ptr() as u64
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
        self.capacity
    }

    /// Everything as words of 32 bits.
    pub(crate) fn words(&self) -> &[AtomicU32] {
        // SAFETY: that many are inside, and they are aligned; see the head of the file.
        unsafe { std::slice::from_raw_parts(self.start().cast(), self.capacity / 4) }
    }

    /// Whether a given number of elements can begin at a place.
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
        // SAFETY: all of them are inside and aligned, as just seen; the CPU has the level, as the caller says.
        unsafe { C::read::<T>(self.start().add(at), into) };
    }

    /// Copies elements in, 16 or 32; the first place is aligned, and the last element inside.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    pub(crate) unsafe fn write_row<C: Cpu, T: Unit>(&self, at: u64, row: &[T]) {
        let at = at as usize;
        assert!(self.has::<T>(at, row.len()) && row.len().is_multiple_of(16), "places are checked before");
        // SAFETY: all of them are inside and aligned, as just seen; the CPU has the level, as the caller says. The words
        // are atomics, so they may be written through a shared reference.
        unsafe { C::write::<T>(row, self.start().add(at).cast_mut()) };
    }

    #[inline(always)]
    fn start(&self) -> *const u8 {
        self.start.as_ptr()
    }

    /// The places of 32 lanes, if the bytes of an access are inside at each of them, and each is aligned to its size.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    pub(crate) unsafe fn places<'a, 'b, C: Cpu, W: Address>(
        &'b self,
        row: &[W; LANES],
        from: LaneAddresses<W>,
        at: &'a mut [u64; LANES],
    ) -> Option<LaneOffsets<'a, 'b>> {
        let last = self.len().checked_sub(from.size.bytes())?;
        // SAFETY: as the caller says.
        let inside = unsafe { C::place(row, LaneAddresses { last, ..from }, at) };
        inside.then_some(LaneOffsets { cells: self, at, size: from.size })
    }

    /// Zeros everything. No other thread uses it meanwhile.
    pub(crate) fn clear(&mut self) {
        // SAFETY: no other thread uses it: the reference is the only one.
        unsafe { self.zero() };
    }

    /// Zeros everything.
    ///
    /// # Safety
    /// No other thread uses it meanwhile.
    pub(crate) unsafe fn zero(&self) {
        // SAFETY: all bytes are inside, and no other thread uses them, as the caller says.
        unsafe { self.start.as_ptr().write_bytes(0, self.capacity) };
    }

    /// Where 16 aligned bytes are.
    #[inline(always)]
    fn sixteen(&self, at: usize) -> *const u8 {
        assert!(self.has::<u128>(at, 1), "places are checked before");
        // SAFETY: inside, as just seen.
        unsafe { self.start().add(at) }
    }

    /// How many of the `left` bytes from a place on are accessed next, in one piece: at most 16.
    #[inline(always)]
    fn next_piece(at: usize, left: usize) -> u32 {
        1 << (at | 16).trailing_zeros().min(left.ilog2())
    }

    /// Copies bytes out: each aligned piece of up to 16 bytes at once.
    pub fn read(&self, at: u64, into: &mut [u8]) {
        let (mut at, mut rest) = (at as usize, into);
        while !rest.is_empty() {
            let read;
            (read, rest) = match Self::next_piece(at, rest.len()) {
                16 => {
                    let count = rest.len() / 16 * 16;
                    let (pieces, others) = rest.split_at_mut(count);
                    let pieces = pieces.as_chunks_mut().0;
                    assert!(self.has::<u128>(at, pieces.len()), "places are checked before");
                    // SAFETY: all of them are inside and aligned, as just seen.
                    unsafe { sixteen::read(self.start().add(at), pieces) };
                    (count, others)
                }
                8 => self.read_one::<u64, 8>(at, rest),
                4 => self.read_one::<u32, 4>(at, rest),
                2 => self.read_one::<u16, 2>(at, rest),
                _ => self.read_one::<u8, 1>(at, rest),
            };
            at += read;
        }
    }

    /// Copies the first bytes of an aligned access of up to 16 bytes out, in one piece; the rest of the slice, which has
    /// room for the whole access, is left as it is.
    pub(crate) fn read_first(&self, at: u64, count: usize, whole: &mut [u8]) {
        let end = (at as usize).checked_add(whole.len());
        match end.is_some_and(|end| whole.len() <= 16 && end <= self.capacity()) {
            // What is after them may be another's, and is not kept.
            true => {
                let mut bytes = [0; 16];
                self.read(at, &mut bytes[..whole.len()]);
                whole[..count].copy_from_slice(&bytes[..count]);
            }
            false => self.read(at, &mut whole[..count]),
        }
    }

    /// Copies one element out. Returns its bytes, and the rest of the slice.
    #[inline(always)]
    fn read_one<'a, T: Scalar, const N: usize>(
        &self,
        at: usize,
        into: &'a mut [u8],
    ) -> (usize, &'a mut [u8]) {
        let (bytes, rest) = into.split_at_mut(N);
        bytes.copy_from_slice(&T::load(self, at).to_word().to_le_bytes()[..N]);
        (N, rest)
    }

    /// Copies bytes in: each aligned piece of up to 16 bytes at once.
    pub fn write(&self, at: u64, bytes: &[u8]) {
        let (mut at, mut rest) = (at as usize, bytes);
        while !rest.is_empty() {
            let written;
            (written, rest) = match Self::next_piece(at, rest.len()) {
                16 => {
                    let count = rest.len() / 16 * 16;
                    let (pieces, others) = rest.split_at(count);
                    let pieces = pieces.as_chunks().0;
                    assert!(self.has::<u128>(at, pieces.len()), "places are checked before");
                    // SAFETY: all of them are inside and aligned, as just seen. The words are atomics, so they may be
                    // written through a shared reference.
                    unsafe { sixteen::write(pieces, self.start().add(at).cast_mut()) };
                    (count, others)
                }
                8 => self.write_one::<u64, 8>(at, rest),
                4 => self.write_one::<u32, 4>(at, rest),
                2 => self.write_one::<u16, 2>(at, rest),
                _ => self.write_one::<u8, 1>(at, rest),
            };
            at += written;
        }
    }

    /// Copies one element in. Returns its bytes, and the rest of the slice.
    #[inline(always)]
    fn write_one<'a, T: Scalar, const N: usize>(&self, at: usize, bytes: &'a [u8]) -> (usize, &'a [u8]) {
        let (bytes, rest) = bytes.split_at(N);
        let mut word = [0; 8];
        word[..N].copy_from_slice(bytes);
        T::from_word(u64::from_le_bytes(word)).store(self, at);
        (N, rest)
    }
}

/// A piece of memory that was found before: its cells, and the address of its first byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedRegion<'a> {
    base: u64,
    cells: Option<&'a SharedBytes>,
}

impl<'a> CachedRegion<'a> {
    /// None.
    pub(crate) const EMPTY: CachedRegion<'a> = CachedRegion { base: 0, cells: None };

    pub(crate) fn new(base: u64, cells: &'a SharedBytes) -> CachedRegion<'a> {
        CachedRegion { base, cells: Some(cells) }
    }

    /// The first of a given number of elements at each of two addresses, if all are inside and aligned.
    #[inline(always)]
    fn places<T: Unit>(&self, addresses: [u64; 2], count: usize) -> Option<[*const u8; 2]> {
        let cells = self.cells?;
        let [a, b] = addresses.map(|address| address.wrapping_sub(self.base));
        let last = cells.len().checked_sub((T::BYTES * count) as u64)?;
        let right = a <= last && b <= last && (a | b) & (T::BYTES as u64 - 1) == 0;
        // SAFETY: both are inside, as just seen.
        right.then(|| unsafe { [cells.start().add(a as usize), cells.start().add(b as usize)] })
    }

    /// The elements at two addresses, if they are inside and aligned.
    #[inline(always)]
    pub(crate) fn elements<T: Unit>(&self, addresses: [u64; 2]) -> Option<[T; 2]> {
        // SAFETY: one is there, aligned.
        self.places::<T>(addresses, 1).map(|places| places.map(|place| unsafe { T::load_from(place) }))
    }

    /// Copies half a row out from each of two addresses, if all of it is inside and aligned. Returns whether.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    pub(crate) unsafe fn read_halves<C: Cpu, T: Unit>(
        &self,
        addresses: [u64; 2],
        into: &mut [T; LANES],
    ) -> bool {
        let Some([first, second]) = self.places::<T>(addresses, LANES / 2) else { return false };
        let (low, high) = into.split_at_mut(LANES / 2);
        // SAFETY: half a row is at each place, aligned; the CPU has the level, as the caller says.
        unsafe {
            C::read::<T>(first, low);
            C::read::<T>(second, high);
        }
        true
    }

    /// Copies half a row in at each of two addresses, if all of it is inside and aligned. Returns whether.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    pub(crate) unsafe fn write_halves<C: Cpu, T: Unit>(&self, addresses: [u64; 2], row: &[T; LANES]) -> bool {
        let Some([first, second]) = self.places::<T>(addresses, LANES / 2) else { return false };
        let (low, high) = row.split_at(LANES / 2);
        let mut halves = [(low, first), (high, second)];
        // Where they overlap, the lower half wins if both are stored together.
        if order::together(T::BYTES as u64) == LANES {
            halves.reverse();
        }
        for (half, place) in halves {
            // SAFETY: there is room for half a row at each place, aligned; the CPU has the level, as the caller says.
            // The words are atomics, so they may be written through a shared reference.
            unsafe { C::write::<T>(half, place.cast_mut()) };
        }
        true
    }
}

/// 32 places of an access in memory: its bytes are inside at each of them, and each is aligned to its size.
#[derive(Clone, Copy)]
pub(crate) struct LaneOffsets<'a, 'b> {
    cells: &'b SharedBytes,
    at: &'a [u64; LANES],
    size: Size,
}

impl<'b> LaneOffsets<'_, 'b> {
    pub(crate) fn cells(&self) -> &'b SharedBytes {
        self.cells
    }

    /// Pointers to elements that lie so far behind each place.
    #[inline(always)]
    fn start<T: Unit>(&self, skip: u64) -> *const u8 {
        let (skip, size) = (skip as usize, T::BYTES);
        assert!(
            skip.is_multiple_of(size) && skip + size <= self.size.bytes() as usize,
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
        // SAFETY: all places are inside and aligned, and the element is one of theirs: it is no larger than the access,
        // and both sizes are powers of two, so it is aligned too. The CPU has the level, as the caller says.
        unsafe { C::gather(self.start::<T>(skip), self.at, &mut row) };
        row
    }

    /// Writes an element of those places that a mask names; where these are the same, the one that wins last.
    #[inline(always)]
    pub(crate) fn scatter<T: Unit>(&self, skip: u64, row: &[T; LANES], mask: u32) {
        let start = self.start::<T>(skip);
        for lane in order::storing(self.size.bytes()) {
            let (value, at) = (row[lane % LANES], self.at[lane % LANES]);
            if mask >> lane & 1 == 1 {
                // SAFETY: all places are inside and aligned, and the element is one of theirs, as in `gather`. The
                // words are atomics, so they may be written through a shared reference.
                unsafe { value.store_to(start.add(at as usize).cast_mut()) };
            }
        }
    }
}

#[cfg(test)]
#[path = "cell/tests.rs"]
mod tests;
