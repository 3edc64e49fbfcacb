//! The calling thread: its number, and whether it ends.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A variable with a destructor, which is gone when the thread ends.
struct Alive;

impl Drop for Alive {
    fn drop(&mut self) {
        if let Some(function) = LEAVING.get() {
            function();
        }
    }
}

thread_local! {
    static ALIVE: Alive = const { Alive };
    /// It has no destructor, so that it is there when the thread ends.
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// What [`at_leave`] was given.
static LEAVING: OnceLock<fn()> = OnceLock::new();

/// Has a function called when a thread ends that has called [`is_leaving`]. `exit` ends the thread that calls it before
/// it calls functions that were registered. Only the first function counts.
pub fn at_leave(function: fn()) {
    let _ = LEAVING.set(function);
}

/// Whether the thread ends, so that its variables with destructors are gone. It may still call the driver, in destructors
/// of static objects and in functions that `exit` calls.
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
