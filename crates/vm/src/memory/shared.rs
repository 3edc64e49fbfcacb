//! Shared memory of the CTAs of a cluster (PTX ISA sections 5.1.7 and 2.2.2).

use super::cell::SharedBytes;
use std::cell::Cell;

/// The shared memory of a CTA.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) cells: SharedBytes,
    /// The system's part, before the other.
    pub(crate) reserved: SharedBytes,
    /// The CTA has ended, and its memory with it.
    pub(crate) ended: Cell<bool>,
}
