//! Global memory: what the host allocates, the modules' variables, and what kernels allocate with `malloc`.
//!
//! Allocations lie apart, so that an access past one of them falls between and is found. What was freed keeps its
//! address for as long as there is room, so that a later access can be told from one that never was right.

use super::cell::Cells;
use super::heap::Blocks;
use crate::account::{Account, Charge, Refused};
use softwarp_image::{Window, Windows};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Alignment of allocations, as the driver has it.
const ALIGNMENT: u64 = 256;

/// Something in global memory.
#[derive(Debug)]
pub struct Allocation {
    /// Its first address.
    pub base: u64,
    /// Its bytes: exactly what was asked for.
    pub bytes: u64,
    /// What it holds; nothing once it was freed.
    pub cells: Option<Cells>,
    /// What it takes of the host's memory.
    charge: Option<Charge>,
    /// What it is for.
    pub kind: AllocationKind,
}

/// What an allocation is for.
#[derive(Debug)]
pub enum AllocationKind {
    /// The host asked for it.
    Host,
    /// The modules' variables.
    Variables,
    /// What `malloc` gives parts of.
    Heap(Mutex<Blocks>),
    /// Addresses that stand for several places each: where these begin. It has no contents of its own.
    Multicast(Vec<u64>),
}

/// Why the host's request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryError {
    /// There is no room for a given number of bytes.
    OutOfMemory {
        /// How many.
        bytes: u64,
    },
    /// The limit on host memory does not allow it.
    Limit(Refused),
    /// An address that is not, or not wholly, in an allocation.
    OutOfBounds {
        /// The address.
        address: u64,
        /// How many bytes were wanted there.
        bytes: u64,
    },
    /// The allocation was freed.
    Freed {
        /// The address.
        address: u64,
    },
    /// The address stands for several places.
    Multicast {
        /// The address.
        address: u64,
    },
    /// An address that is not the first of an allocation.
    NotAllocated {
        /// The address.
        address: u64,
    },
    /// There is no such variable.
    NoVariable {
        /// Its name.
        name: String,
    },
    /// More bytes than a variable has.
    TooManyBytes {
        /// The variable.
        name: String,
        /// What it has.
        bytes: u64,
        /// What was given.
        given: u64,
    },
}

impl std::fmt::Display for MemoryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MemoryError::OutOfMemory { bytes } => write!(f, "no room for {bytes} bytes"),
            MemoryError::Limit(refused) => write!(f, "no room for {refused}"),
            MemoryError::OutOfBounds { address, bytes } => {
                write!(f, "{bytes} bytes at 0x{address:x} are not in an allocation")
            }
            MemoryError::Freed { address } => write!(f, "the memory at 0x{address:x} was freed"),
            MemoryError::Multicast { address } => {
                write!(f, "0x{address:x} is a multicast address, and stands for several places")
            }
            MemoryError::NotAllocated { address } => write!(f, "0x{address:x} does not begin an allocation"),
            MemoryError::NoVariable { name } => write!(f, "there is no variable `{name}`"),
            MemoryError::TooManyBytes { name, bytes, given } => {
                write!(f, "`{name}` has {bytes} bytes, not {given}")
            }
        }
    }
}

impl std::error::Error for MemoryError {}

/// Global memory.
#[derive(Debug)]
pub struct Global {
    /// By address.
    allocations: Vec<Allocation>,
    window: Window,
    next: u64,
    most_guard: u64,
    account: Account,
    /// Where the heap of `malloc` begins.
    heap: Option<u64>,
}

impl Global {
    /// None but what the modules' variables take.
    pub fn new(windows: &Windows, variables: u64, account: &Account) -> Result<Global, MemoryError> {
        let charge = Some(account.charge(variables).map_err(MemoryError::Limit)?);
        let cells = Some(Cells::new(variables).ok_or(MemoryError::OutOfMemory { bytes: variables })?);
        let base = windows.globals.base;
        let variables = Allocation { base, bytes: variables, cells, charge, kind: AllocationKind::Variables };
        // Addresses of 32 bits are scarce.
        let most_guard = if windows.heap.base < 1 << 32 { 1 << 12 } else { 1 << 30 };
        let (window, account) = (windows.heap, account.clone());
        Ok(Global {
            allocations: vec![variables],
            window,
            next: window.base,
            most_guard,
            account,
            heap: None,
        })
    }

    /// Bytes between an allocation and the next: in proportion, so that an index that is off by a row is found.
    fn guard(&self, bytes: u64) -> u64 {
        bytes.clamp(1 << 12, self.most_guard)
    }

    /// Where a given number of bytes can be.
    fn place(&mut self, bytes: u64) -> Option<u64> {
        let needed = bytes.checked_add(self.guard(bytes))?.checked_add(ALIGNMENT)?;
        let end = self.window.base + self.window.size;
        if end - self.next < needed {
            self.allocations.retain(|allocation| {
                allocation.cells.is_some() || matches!(allocation.kind, AllocationKind::Multicast(_))
            });
            let taken = self.allocations.iter().filter(|allocation| self.window.contains(allocation.base));
            let mut free = self.window.base;
            for allocation in taken {
                if allocation.base.saturating_sub(free) >= needed {
                    return Some(free);
                }
                let past = allocation.base + allocation.bytes + self.guard(allocation.bytes);
                free = past.next_multiple_of(ALIGNMENT);
            }
            return (end.saturating_sub(free) >= needed).then_some(free);
        }
        Some(self.next)
    }

    fn add(&mut self, bytes: u64, kind: AllocationKind) -> Result<u64, MemoryError> {
        let full = MemoryError::OutOfMemory { bytes };
        let base = self.place(bytes).ok_or(full.clone())?;
        let (cells, charge) = match kind {
            AllocationKind::Multicast(_) => (None, None),
            _ => {
                // Whatever else an allocation takes.
                let charge = self.account.charge(bytes.saturating_add(128)).map_err(MemoryError::Limit)?;
                (Some(Cells::new(bytes).ok_or(full)?), Some(charge))
            }
        };
        let past = (base + bytes + self.guard(bytes)).next_multiple_of(ALIGNMENT);
        self.next = self.next.max(past.min(self.window.base + self.window.size));
        let index = self.allocations.partition_point(|allocation| allocation.base < base);
        self.allocations.insert(index, Allocation { base, bytes, cells, charge, kind });
        Ok(base)
    }

    /// Takes memory for the host: zeros, at a multiple of 256.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        self.add(bytes, AllocationKind::Host)
    }

    /// Makes addresses that each stand for the same place in several pieces of memory, which begin there.
    pub fn add_multicast(&mut self, parts: &[u64], bytes: u64) -> Result<u64, MemoryError> {
        parts.iter().try_for_each(|&part| self.range(part, bytes).map(drop))?;
        self.add(bytes, AllocationKind::Multicast(parts.to_vec()))
    }

    /// The addresses that a multicast address stands for, if it is one, with a given number of bytes from it on.
    pub(crate) fn multicast(&self, address: u64, bytes: u64) -> Option<Vec<u64>> {
        let allocation = &self.allocations[self.before(address)?];
        let AllocationKind::Multicast(parts) = &allocation.kind else { return None };
        let offset = address - allocation.base;
        let inside = allocation.bytes.checked_sub(offset).is_some_and(|room| room >= bytes);
        inside.then(|| parts.iter().map(|part| part + offset).collect())
    }

    /// Gives it back.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let index = self.allocations.binary_search_by_key(&address, |allocation| allocation.base);
        let index = index.map_err(|_| MemoryError::NotAllocated { address })?;
        let allocation = &mut self.allocations[index];
        match allocation.kind {
            AllocationKind::Host => {}
            AllocationKind::Multicast(_) => {
                self.allocations.remove(index);
                return Ok(());
            }
            _ => return Err(MemoryError::NotAllocated { address }),
        }
        allocation.charge = None;
        allocation.cells.take().map(drop).ok_or(MemoryError::Freed { address })
    }

    /// Makes room for `malloc`, of a given number of bytes and with gaps between blocks, if there is none yet: where it is.
    pub(crate) fn prepare_heap(&mut self, bytes: u64, gap: u64) -> Result<u64, MemoryError> {
        if let Some(base) = self.heap {
            return Ok(base);
        }
        let base = self.add(bytes, AllocationKind::Heap(Mutex::new(Blocks::new(bytes, gap))))?;
        self.heap = Some(base);
        Ok(base)
    }

    /// All allocations, by address.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// The last allocation that begins at or before an address: an index into [`Global::allocations`].
    pub fn before(&self, address: u64) -> Option<usize> {
        self.allocations.partition_point(|allocation| allocation.base <= address).checked_sub(1)
    }

    fn heap(&self) -> Option<(&Allocation, MutexGuard<'_, Blocks>)> {
        let allocation = self.allocations.get(self.before(self.heap?)?)?;
        match &allocation.kind {
            AllocationKind::Heap(blocks) => Some((allocation, lock(blocks))),
            _ => None,
        }
    }

    /// `malloc`: zero if there is no room.
    pub(crate) fn take(&self, bytes: u64) -> u64 {
        let Some((allocation, mut blocks)) = self.heap() else { return 0 };
        blocks.take(bytes).map_or(0, |offset| allocation.base + offset)
    }

    /// `free`: whether there was something to free.
    pub(crate) fn give_back(&self, address: u64) -> bool {
        let Some((allocation, mut blocks)) = self.heap() else { return false };
        address.checked_sub(allocation.base).is_some_and(|offset| blocks.give_back(offset))
    }

    /// The bytes of the block of `malloc` that begins at an address, if it is in use.
    pub(crate) fn block(&self, address: u64) -> Option<u64> {
        let (allocation, blocks) = self.heap()?;
        let offset = address.checked_sub(allocation.base)?;
        blocks.before(offset).filter(|&(start, _, live)| live && start == offset).map(|(_, bytes, _)| bytes)
    }

    /// The cells of a range of addresses, and where in them it begins.
    pub fn range(&self, address: u64, bytes: u64) -> Result<(&Cells, u64), MemoryError> {
        let outside = MemoryError::OutOfBounds { address, bytes };
        let allocation = &self.allocations[self.before(address).ok_or(outside.clone())?];
        let offset = address - allocation.base;
        if allocation.bytes.checked_sub(offset).is_none_or(|room| room < bytes) {
            return Err(outside);
        }
        if let AllocationKind::Multicast(_) = allocation.kind {
            return Err(MemoryError::Multicast { address });
        }
        let cells = allocation.cells.as_ref().ok_or(MemoryError::Freed { address })?;
        Ok((cells, offset))
    }
}

/// A lock that does not mind that another thread panicked: what it guards is whole between operations.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::heap::GAP;

    #[test]
    fn allocations_are_aligned_apart_and_found_by_any_of_their_addresses() {
        let mut global = Global::new(&Windows::WIDE, 100, &Account::new(1 << 40)).unwrap();
        let a = global.allocate(1000).unwrap();
        let b = global.allocate(10).unwrap();
        assert!(a.is_multiple_of(256) && b.is_multiple_of(256) && b >= a + 1000 + 4096);
        assert_eq!(global.range(a + 999, 1).map(|(_, offset)| offset), Ok(999));
        assert_eq!(
            global.range(a + 999, 2).map(drop),
            Err(MemoryError::OutOfBounds { address: a + 999, bytes: 2 })
        );
        assert_eq!(global.free(a), Ok(()));
        assert_eq!(global.free(a), Err(MemoryError::Freed { address: a }));
        assert_eq!(global.free(b + 1), Err(MemoryError::NotAllocated { address: b + 1 }));
        assert_eq!(global.range(a, 1).map(drop), Err(MemoryError::Freed { address: a }));
    }

    #[test]
    fn what_was_freed_is_used_again_when_there_is_no_other_room() {
        let mut global = Global::new(&Windows::NARROW, 0, &Account::new(1 << 40)).unwrap();
        for _ in 0..50 {
            let a = global.allocate(1 << 28).unwrap();
            let b = global.allocate(1 << 28).unwrap();
            assert!(a.abs_diff(b) > 1 << 28);
            global.free(a).unwrap();
            global.free(b).unwrap();
        }
    }

    #[test]
    fn malloc_gives_blocks_until_there_is_no_room_and_again_after_free() {
        let mut global = Global::new(&Windows::WIDE, 0, &Account::new(1 << 40)).unwrap();
        assert_eq!(global.take(8), 0, "no heap yet");
        global.prepare_heap(256, GAP).unwrap();
        let blocks: Vec<u64> = (0..5).map(|_| global.take(40)).collect();
        assert!(blocks[..4].iter().all(|&block| block != 0 && block.is_multiple_of(16)), "{blocks:x?}");
        assert_eq!(blocks[4], 0);
        assert!(
            global.give_back(blocks[1]) && !global.give_back(blocks[1]) && !global.give_back(blocks[0] + 16)
        );
        assert_eq!(global.take(40), blocks[1]);
        assert_eq!(global.take(0), 0);
    }
}
