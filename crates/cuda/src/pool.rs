//! Memory pools. A pool is an account of what was taken from it; memory itself is the machine's.

use crate::handle::{Handled, Kind, lock};
use std::sync::Mutex;

/// Pools reserve memory in multiples of this, as recorded.
pub const RESERVED: u64 = 32 << 20;

/// What a pool's memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// The device's.
    #[default]
    Device,
    /// Page-locked memory of the host.
    Host,
    /// Managed memory.
    Managed,
}

/// A pool.
#[derive(Debug, Default)]
pub struct Pool {
    /// What its memory is.
    pub memory: Memory,
    /// Whether it is a device's own, which cannot be destroyed.
    pub is_default: bool,
    /// The most bytes that it may reserve; 0 is no limit.
    pub most: u64,
    /// What was taken from it.
    pub usage: Mutex<Usage>,
    /// What was given back and may be taken again in the order of the same stream.
    pub returned: Mutex<Vec<Returned>>,
}

/// Memory that was given back to a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// The first address.
    pub base: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The number of the stream in whose order it was given back.
    pub stream: u64,
}

/// The most freed pieces that a pool keeps for reuse.
const MOST_RETURNED: usize = 256;

impl Pool {
    /// Memory was given back in the order of a stream.
    pub fn give_back(&self, returned: Returned) {
        let mut all = lock(&self.returned);
        if all.len() == MOST_RETURNED {
            all.remove(0);
        }
        all.push(returned);
    }

    /// Memory of a size that was given back last in the order of a stream.
    pub fn take_again(&self, bytes: u64, stream: u64) -> Option<u64> {
        let mut all = lock(&self.returned);
        let at = all.iter().rposition(|it| it.bytes == bytes && it.stream == stream)?;
        Some(all.remove(at).base)
    }
}

/// What a pool has given, and its settings.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Whether memory may be used again across events, opportunistically, and with dependencies of its own.
    pub reuse: [u32; 3],
    /// Bytes that are kept when work is done.
    pub threshold: u64,
    /// Bytes that were taken, and the most so far.
    pub used: u64,
    /// The most that were taken.
    pub used_high: u64,
    /// The most that were reserved.
    pub reserved_high: u64,
}

impl Default for Usage {
    fn default() -> Usage {
        Usage { reuse: [1; 3], threshold: 0, used: 0, used_high: 0, reserved_high: 0 }
    }
}

impl Usage {
    /// Bytes that are reserved.
    pub fn reserved(&self) -> u64 {
        self.used.next_multiple_of(RESERVED)
    }

    /// Memory is taken.
    pub fn take(&mut self, bytes: u64) {
        self.used = self.used.saturating_add(bytes);
        self.used_high = self.used_high.max(self.used);
        self.reserved_high = self.reserved_high.max(self.reserved());
    }

    /// Memory is given back.
    pub fn give_back(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }
}

impl Handled for Pool {
    const KIND: Kind = Kind::Pool;
}
