//! The allocator with a reserve.
//!
//! `unsafe` is here for the calls of the allocator below and of the system. What is relied on: the mappings that are asked
//! for are new ones, at a place that the system chooses; nothing is ever read or written there; and each is given back once,
//! by who has taken its address out of [`RESERVE`].

use crate::RESERVE as BYTES;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// The reserve is first taken with an allocation of at least that many bytes: processes that need none do not hold one.
const LARGE: usize = 16 << 10;

/// The address of the reserve, while it is held.
static RESERVE: AtomicPtr<libc::c_void> = AtomicPtr::new(null_mut());

/// Whether it has been asked for.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Whether it was given back, and not taken again since.
static SHORT: AtomicBool = AtomicBool::new(false);

/// The bytes that the last allocation asked for that failed.
static FAILED: AtomicUsize = AtomicUsize::new(0);

/// The allocator of the system, with a reserve.
pub struct Heap;

// SAFETY: everything is done by the system's allocator, with the layouts that the caller has given. A reserve is no memory
// of an allocation. Nothing here unwinds or allocates.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        begin(layout.size());
        // SAFETY: the caller's promise.
        let place = unsafe { System.alloc(layout) };
        if place.is_null() && give_back(layout.size()) {
            // SAFETY: the same.
            return failing(unsafe { System.alloc(layout) }, layout.size());
        }
        place
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        begin(layout.size());
        // SAFETY: the caller's promise.
        let place = unsafe { System.alloc_zeroed(layout) };
        if place.is_null() && give_back(layout.size()) {
            // SAFETY: the same.
            return failing(unsafe { System.alloc_zeroed(layout) }, layout.size());
        }
        place
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; the place is one of the system's allocator.
        unsafe { System.dealloc(place, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        begin(size);
        // SAFETY: the caller's promise; the place is one of the system's allocator.
        let moved = unsafe { System.realloc(place, layout, size) };
        if moved.is_null() && give_back(size) {
            // SAFETY: the same: where it fails, nothing has been moved.
            return failing(unsafe { System.realloc(place, layout, size) }, size);
        }
        moved
    }
}

/// Takes the reserve, if this is the first large allocation.
#[inline]
fn begin(size: usize) {
    if size >= LARGE && !BEGUN.load(Ordering::Relaxed) {
        take_first();
    }
}

#[cold]
fn take_first() {
    if !BEGUN.swap(true, Ordering::Relaxed) {
        take();
    }
}

/// A new mapping that may be written. None where there is no room.
fn map(bytes: usize) -> Option<*mut libc::c_void> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: the system chooses a place where nothing is.
    let place = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
    (place != libc::MAP_FAILED).then_some(place)
}

/// Gives a mapping back.
fn unmap(place: *mut libc::c_void, bytes: usize) {
    // SAFETY: `map` has given it for these bytes, nothing refers to it, and it is given back once; see the head of the file.
    unsafe { libc::munmap(place, bytes) };
}

/// Takes the reserve, and says whether it is held.
fn take() -> bool {
    let Some(place) = map(BYTES) else { return false };
    // Another thread may have taken one meanwhile.
    if RESERVE.compare_exchange(null_mut(), place, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        unmap(place, BYTES);
    }
    true
}

/// An allocation of some bytes has failed: gives the reserve back. Returns whether it is worth a second try: another
/// thread may have given it back at the same time.
#[cold]
fn give_back(bytes: usize) -> bool {
    if bytes > BYTES {
        failing(null_mut(), bytes);
        return false;
    }
    let reserve = RESERVE.swap(null_mut(), Ordering::AcqRel);
    SHORT.store(true, Ordering::Release);
    if !reserve.is_null() {
        unmap(reserve, BYTES);
    }
    true
}

/// Notes that an allocation has failed, if it has.
fn failing(place: *mut u8, bytes: usize) -> *mut u8 {
    if place.is_null() {
        FAILED.store(bytes.max(1), Ordering::Relaxed);
    }
    place
}

/// The bytes that the last allocation asked for that failed; 0 if none has.
pub(crate) fn failed() -> usize {
    FAILED.load(Ordering::Relaxed)
}

/// Whether the reserve was given back, and cannot be taken again.
#[inline]
pub(crate) fn is_short() -> bool {
    SHORT.load(Ordering::Relaxed) && !take_again()
}

#[cold]
fn take_again() -> bool {
    let taken = take();
    if taken {
        SHORT.store(false, Ordering::Release);
    }
    taken
}

/// Whether the system has room for some bytes.
pub(crate) fn has_room(bytes: u64) -> bool {
    let Ok(bytes) = usize::try_from(bytes) else { return false };
    let found = map(bytes.max(1));
    if let Some(place) = found {
        unmap(place, bytes.max(1));
    }
    found.is_some()
}

#[cfg(test)]
mod tests {
    use super::{BYTES, FAILED, Heap, RESERVE, SHORT, give_back, has_room, is_short};
    use std::alloc::{GlobalAlloc, Layout};
    use std::sync::atomic::Ordering;

    #[test]
    fn the_reserve_is_given_back_and_taken_again() {
        let layout = Layout::from_size_align(BYTES, 64).expect("a layout");
        // SAFETY: each place is given back with the layout that it has.
        unsafe {
            let place = Heap.alloc(layout);
            assert!(!place.is_null() && !RESERVE.load(Ordering::Relaxed).is_null());
            let place = Heap.realloc(place, layout, 2 * BYTES);
            Heap.dealloc(place, Layout::from_size_align(2 * BYTES, 64).expect("a layout"));
            // More than any system has.
            let most = Layout::from_size_align(1 << 62, 64).expect("a layout");
            assert!(Heap.alloc(most).is_null() && Heap.alloc_zeroed(most).is_null());
        }
        assert_eq!(FAILED.load(Ordering::Relaxed), 1 << 62);
        assert!(!is_short() && has_room(1 << 20) && !has_room(1 << 62));
        assert!(give_back(1) && RESERVE.load(Ordering::Relaxed).is_null());
        assert!(SHORT.load(Ordering::Relaxed));
        // There is room for it.
        assert!(!is_short() && !SHORT.load(Ordering::Relaxed) && !RESERVE.load(Ordering::Relaxed).is_null());
    }
}
