//! Memory that nodes of graphs allocate and free.
//!
//! Its address is fixed when the node is made, and the memory is there as long as the node or a copy of it is. Between
//! the node that allocates it and the one that frees it, it is live.

use crate::driver;
use crate::handle::lock;
use crate::pool::RESERVED;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory of a node.
#[derive(Debug)]
pub struct Allocation {
    /// Where it begins.
    pub address: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What kind of memory it is, and where: words of `CUmemPoolProps`.
    pub place: Place,
    /// Whether a launch has used it.
    used: AtomicBool,
}

impl Allocation {
    /// Memory that was taken from the machine. It is given back when nothing refers to it.
    pub fn new(address: u64, bytes: u64, place: Place) -> Allocation {
        Allocation { address, bytes, place, used: AtomicBool::new(false) }
    }
}

/// What kind of memory an allocation is, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whether it is managed memory.
    pub is_managed: bool,
    /// `CUmemLocationType`
    pub location: u32,
    /// The number of the device.
    pub id: i32,
}

impl Place {
    /// Memory of a device.
    pub fn device(id: u32) -> Place {
        Place { is_managed: false, location: 1, id: id as i32 }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let Some(driver) = driver::existing() else { return };
        lock(&driver.blocks).remove(self.address);
        let _ = driver.machine.free(self.address);
        if self.place.is_managed {
            // SAFETY: the block has been freed, and references are never made to memory that kernels share.
            unsafe { crate::ffi::discard_pages(self.address, self.bytes) };
        }
        if self.used.load(Ordering::SeqCst) {
            lock(&driver.graph_memory).used -= self.bytes;
        }
    }
}

/// Memory of all graphs.
#[derive(Debug, Default)]
pub struct GraphMemory {
    live: BTreeMap<u64, Arc<Allocation>>,
    /// Bytes that launches have used and that are still there.
    used: u64,
    /// Bytes that are kept for launches: they stay until they are given back.
    reserved: u64,
    /// The most bytes so far, and the most that were reserved.
    high: [u64; 2],
}

impl GraphMemory {
    /// Makes memory live.
    pub fn allocate(&mut self, memory: &Arc<Allocation>) {
        if !memory.used.swap(true, Ordering::SeqCst) {
            self.used += memory.bytes;
        }
        let used = self.rounded();
        self.reserved = self.reserved.max(used);
        self.high = [self.high[0].max(used), self.high[1].max(self.reserved)];
        self.live.insert(memory.address, memory.clone());
    }

    /// Whether memory is live.
    pub fn is_live(&self, address: u64) -> bool {
        self.live.contains_key(&address)
    }

    /// Frees memory. What is returned must be dropped without this locked.
    pub fn free(&mut self, address: u64) -> Option<Arc<Allocation>> {
        self.live.remove(&address)
    }

    fn rounded(&self) -> u64 {
        self.used.next_multiple_of(RESERVED)
    }

    /// Gives back what is kept and not used.
    pub fn trim(&mut self) {
        self.reserved = self.rounded();
    }

    /// A count by its number (`CUgraphMem_attribute`): used, most used, reserved, most reserved.
    pub fn attribute(&self, id: u32) -> Option<u64> {
        match id {
            // What was freed counts as used until it is given back.
            0 | 2 => Some(self.reserved),
            1 => Some(self.high[0]),
            3 => Some(self.high[1]),
            _ => None,
        }
    }

    /// Sets a mark back to what is used now. False if the attribute is no mark.
    pub fn reset(&mut self, id: u32) -> bool {
        match id {
            1 => self.high[0] = self.reserved,
            3 => self.high[1] = self.reserved,
            _ => return false,
        }
        true
    }
}
