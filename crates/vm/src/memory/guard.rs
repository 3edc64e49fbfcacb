//! Guard pages, a setting for tests: every buffer lies between two pages that nothing may access.
//!
//! With `SOFTWARP_GUARD` an access outside of a buffer ends the process by a signal, whoever performs it: compiled code, the
//! interpreter or a copy. A buffer begins right after the first of its guard pages (`begin`), ends right before the second
//! (`end`), or does one or the other by turns (`1`). At the end there can be up to 15 bytes between, since buffers begin at
//! multiples of 16 at least. What is written there, and anywhere else in the pages of a buffer, is found when it is freed.
//!
//! `unsafe` is here for `mprotect`, and for the bytes of mappings.

use memmap2::{MmapOptions, MmapRaw};
use softwarp_units::lanes::Row;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The least alignment of buffers: that of their largest elements.
const LEAST: usize = 16;

/// The least alignment that buffers need for other reasons than speed.
const NEEDED: usize = 256;

/// Which end of a buffer is at a guard page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Begin,
    End,
    /// One or the other by turns.
    Both,
}

/// What `SOFTWARP_GUARD` says; `None` without guard pages.
fn wanted() -> Option<Side> {
    static KNOWN: OnceLock<Option<Side>> = OnceLock::new();
    *KNOWN.get_or_init(|| side(std::env::var("SOFTWARP_GUARD").ok().as_deref()))
}

fn side(text: Option<&str>) -> Option<Side> {
    match text {
        None | Some("" | "0") => None,
        Some("begin") => Some(Side::Begin),
        Some("end") => Some(Side::End),
        Some(_) => Some(Side::Both),
    }
}

/// Whether buffers lie between guard pages.
pub(super) fn is_on() -> bool {
    wanted().is_some()
}

/// The size of the host's pages.
fn page() -> Option<usize> {
    static KNOWN: OnceLock<Option<usize>> = OnceLock::new();
    // SAFETY: the function only returns a number.
    let ask = || usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok();
    KNOWN.get_or_init(ask).filter(|page| page.is_power_of_two())
}

/// Memory of a buffer between two guard pages: zeros.
#[derive(Debug)]
pub(super) struct Guarded {
    /// A guard page, the pages of the buffer, and another guard page.
    memory: MmapRaw,
    page: usize,
    /// Where the buffer begins in the mapping, and its bytes.
    begin: usize,
    bytes: usize,
}

impl Guarded {
    /// Memory for a number of bytes, at a multiple of a power of two; less than 256 is asked for only for speed. `None` if the
    /// host has not that many.
    pub(super) fn new(bytes: usize, alignment: usize) -> Option<Guarded> {
        static BUFFERS: AtomicUsize = AtomicUsize::new(0);
        let ends = match wanted()? {
            Side::Begin => false,
            Side::End => true,
            Side::Both => BUFFERS.fetch_add(1, Ordering::Relaxed).is_multiple_of(2),
        };
        Guarded::at(bytes, alignment, ends)
    }

    /// The same, at the end of its pages or at their beginning.
    fn at(bytes: usize, alignment: usize, ends: bool) -> Option<Guarded> {
        let page = page().filter(|page| page.is_multiple_of(alignment))?;
        let alignment = if alignment < NEEDED { LEAST } else { alignment };
        let room = Guarded::room(bytes)?.checked_next_multiple_of(page)?;
        let whole = room.checked_add(2 * page)?;
        let memory: MmapRaw = MmapOptions::new().len(whole).map_anon().ok()?.into();
        for guard in [0, page + room] {
            // SAFETY: the page is in the mapping, and nothing refers to it.
            let failed =
                unsafe { libc::mprotect(memory.as_mut_ptr().add(guard).cast(), page, libc::PROT_NONE) };
            if failed != 0 {
                return None;
            }
        }
        let before = if ends { (room - Guarded::room(bytes)?) & !(alignment - 1) } else { 0 };
        Some(Guarded { memory, page, begin: page + before, bytes })
    }

    /// Bytes that are accessed as a whole: elements of 16 bytes, and one at least.
    fn room(bytes: usize) -> Option<usize> {
        bytes.max(1).checked_next_multiple_of(LEAST)
    }

    /// Its first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        // SAFETY: it is in the mapping.
        let start = unsafe { self.memory.as_mut_ptr().add(self.begin) };
        NonNull::new(start).unwrap_or(NonNull::dangling())
    }

    /// Bytes that may be accessed from there on.
    pub(super) fn capacity(&self) -> usize {
        Guarded::room(self.bytes).unwrap_or(LEAST)
    }

    /// Whether something was written beside the buffer in its pages.
    fn is_torn(&self) -> bool {
        let (first, past) = (self.page, self.memory.len() - self.page);
        let end = self.begin + self.bytes;
        let is_zero = |from: usize, to: usize| {
            // SAFETY: the pages between the guard pages are readable, and nobody has the buffer any more.
            let bytes = unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(from), to - from) };
            bytes.iter().all(|&byte| byte == 0)
        };
        !is_zero(first, self.begin) || !is_zero(end, past)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if self.is_torn() {
            eprintln!("softwarp: something was written beside a buffer of {} bytes", self.bytes);
            std::process::abort();
        }
    }
}

/// Rows of words between guard pages, which one thread has.
#[derive(Debug)]
pub(super) struct GuardedRows {
    memory: Guarded,
    count: usize,
}

impl GuardedRows {
    /// A number of rows of zeros.
    pub(super) fn new(count: usize) -> Option<GuardedRows> {
        let bytes = count.checked_mul(size_of::<Row<u32>>())?;
        let memory = Guarded::new(bytes, NEEDED)?;
        Some(GuardedRows { memory, count })
    }
}

impl Deref for GuardedRows {
    type Target = [Row<u32>];

    fn deref(&self) -> &[Row<u32>] {
        // SAFETY: the mapping has that many rows from there on, aligned to 256 bytes; all bits are values of theirs, and
        // nobody else has them.
        unsafe { std::slice::from_raw_parts(self.memory.start().as_ptr().cast(), self.count) }
    }
}

impl DerefMut for GuardedRows {
    fn deref_mut(&mut self) -> &mut [Row<u32>] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start().as_ptr().cast(), self.count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_end_or_begin_at_guard_pages() {
        let page = page().expect("a size");
        for bytes in [0, 1, 16, 100, 4096, 5000] {
            for ends in [false, true] {
                let buffer = Guarded::at(bytes, 64, ends).expect("memory");
                let start = buffer.start().as_ptr() as usize;
                assert!(start.is_multiple_of(16) && buffer.capacity() >= bytes.max(16));
                match ends {
                    false => assert!(start.is_multiple_of(page)),
                    true => assert!((start + buffer.capacity()).is_multiple_of(page)),
                }
            }
        }
        let aligned = Guarded::at(300, 256, true).expect("memory");
        assert!((aligned.start().as_ptr() as usize).is_multiple_of(256));
        assert!(Guarded::at(usize::MAX - 40, 64, true).is_none());
    }

    #[test]
    fn what_is_written_beside_a_buffer_is_found() {
        let buffer = Guarded::at(100, 64, true).expect("memory");
        assert!(!buffer.is_torn());
        for beside in [-1isize, 100, 111] {
            let place = buffer.start().as_ptr().wrapping_offset(beside);
            // SAFETY: the byte is in the pages of the buffer.
            unsafe { place.write(1) };
            assert!(buffer.is_torn());
            // SAFETY: as above.
            unsafe { place.write(0) };
        }
        assert!(!buffer.is_torn());
    }

    #[test]
    fn the_setting_is_read() {
        let read = |text| side(Some(text));
        assert_eq!([side(None), read(""), read("0")], [None; 3]);
        assert_eq!([read("1"), read("yes")], [Some(Side::Both); 2]);
        assert_eq!([read("begin"), read("end")], [Some(Side::Begin), Some(Side::End)]);
    }
}
