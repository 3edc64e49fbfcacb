//! Guard pages on hosts that have none for us: the setting does nothing.

use softwarp_units::lanes::Row;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Memory between guard pages. There is none.
#[derive(Debug)]
pub(super) enum Guarded {}

/// Whether buffers lie between guard pages.
pub(super) fn is_on() -> bool {
    false
}

impl Guarded {
    /// None.
    pub(super) fn new(_: usize, _: usize) -> Option<Guarded> {
        None
    }

    /// Its first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        match *self {}
    }

    /// Bytes that may be accessed from there on.
    pub(super) fn capacity(&self) -> usize {
        match *self {}
    }
}

/// Rows of words between guard pages. There are none.
#[derive(Debug)]
pub(super) enum GuardedRows {}

impl GuardedRows {
    /// None.
    pub(super) fn new(_: usize) -> Option<GuardedRows> {
        None
    }
}

impl Deref for GuardedRows {
    type Target = [Row<u32>];

    fn deref(&self) -> &[Row<u32>] {
        match *self {}
    }
}

impl DerefMut for GuardedRows {
    fn deref_mut(&mut self) -> &mut [Row<u32>] {
        match *self {}
    }
}
