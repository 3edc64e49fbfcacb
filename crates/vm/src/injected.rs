//! A mistake of this crate on purpose, for tests of what becomes of one: a panic inside of compiled code.

use std::cell::Cell;

thread_local! {
    static WANTED: Cell<bool> = const { Cell::new(false) };
}

/// Has the next operation panic that compiled code leaves to the interpreter on this thread, once.
pub fn panic_in_next_callback() {
    WANTED.set(true);
}

/// Panics if that is wanted.
#[inline]
pub(crate) fn panic_if_wanted() {
    if WANTED.get() {
        panic_once();
    }
}

#[cold]
fn panic_once() {
    assert!(!WANTED.replace(false), "a test has asked for this panic");
}
