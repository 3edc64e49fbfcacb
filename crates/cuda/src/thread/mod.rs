//! The calling thread: its number, whether it ends, and what is called when it ends the process.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod destructors;
mod exit_hook;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

pub use exit_hook::{at_exit_of_main, notice};

/// A variable with a destructor, which is gone when the thread ends.
struct Alive;

impl Drop for Alive {
    fn drop(&mut self) {}
}

thread_local! {
    static ALIVE: Alive = const { Alive };
    /// It has no destructor, so that it is there when the thread ends.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// Whether the thread ends, so that its variables with destructors are gone. It may still call the driver, in destructors
/// of the program's own variables.
pub fn is_leaving() -> bool {
    ALIVE.try_with(|_| ()).is_err()
}

/// A number that no other thread has.
pub fn number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    if NUMBER.get() == 0 {
        NUMBER.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
    }
    NUMBER.get()
}
