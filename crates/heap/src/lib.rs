//! What is done where the system has no more memory: a limit of the process (`ulimit -v`), or of a system that promises no
//! more than it has.
//!
//! Rust ends the process where a list cannot grow. Two things keep the work on modules and kernels from that.
//!
//! - **A question first.** [`has_room`] says whether the system has room for some bytes: they are asked for and given back,
//!   unused. Work whose memory is known to be in proportion to something asks for all of it before it begins; longer work
//!   asks again from time to time for what it may take until the next time.
//! - **A reserve.** [`Heap`] is the system's allocator with some address space that is held and not used. The first
//!   allocation that fails gives it back and is tried again. [`is_short`] then says so until the reserve could be taken
//!   again: what sees it ends with an error.
//!
//! A program chooses `Heap` as its allocator, or not; the question is asked in any program. On systems other than Unix
//! there is no reserve, and the question is asked of the allocator. WebAssembly is not asked: its memory never shrinks.

#[cfg(unix)]
mod exit;
#[cfg(unix)]
mod reserve;

#[cfg(unix)]
pub use exit::exit_when_exhausted;
#[cfg(unix)]
pub use reserve::Heap;

/// Bytes of the reserve: what small allocations take between two looks at [`is_short`], and many times that.
pub const RESERVE: usize = 8 << 20;

/// Whether the system has room for some bytes, and the reserve is held if there is one. It takes about a microsecond.
pub fn has_room(bytes: u64) -> bool {
    #[cfg(unix)]
    return !reserve::is_short() && reserve::has_room(bytes);
    #[cfg(target_family = "wasm")]
    return usize::try_from(bytes).is_ok();
    #[cfg(not(any(unix, target_family = "wasm")))]
    return usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
}

/// Whether the system has room for some threads: their stacks, and what the C library and Rust take for each. A thread that
/// has no memory when it begins ends the process.
pub fn has_room_for_threads(count: usize) -> bool {
    /// For each.
    const THREAD: u64 = 4 << 20;
    has_room(count as u64 * THREAD)
}

/// Whether the reserve was given back, and there is no memory to take it again.
#[inline]
pub fn is_short() -> bool {
    #[cfg(unix)]
    return reserve::is_short();
    #[cfg(not(unix))]
    return false;
}
