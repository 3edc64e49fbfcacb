//! Asking for memory ahead of its use: what makes a conversion of a large array run at memory speed.
//!
//! Hardware prefetchers stop at page borders, and a store to a line that is not cached waits for it to be
//! read first. Asking for both sides ahead, in several streams at once, hides most of that.
//!
//! With [`crate::clones`], one of the two places in this crate with `unsafe`: prefetches are reached through
//! intrinsics on raw pointers. They have no architectural effect and read nothing, whatever the address.

/// Bytes that memory is asked for ahead of its use, in each stream; by measurement.
const AHEAD: usize = 1024;

/// Asks for the `len` bytes that lie [`AHEAD`] of `start` in `bytes`, to be read. Past the end it asks
/// for what lies there, in vain but at no harm.
#[inline(always)]
pub(crate) fn soon_read(bytes: &[u8], start: usize, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (start + AHEAD..start + AHEAD + len).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch has no architectural effect.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, start, len, AHEAD);
}

/// As [`soon_read`], to be written.
#[inline(always)]
pub(crate) fn soon_written(bytes: &[u8], start: usize, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (start + AHEAD..start + AHEAD + len).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: as above. (CPUs without the write hint treat the instruction as a no-op or a read hint.)
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(bytes.as_ptr().wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, start, len, AHEAD);
}
