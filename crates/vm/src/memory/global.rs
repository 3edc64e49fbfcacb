//! Global memory of a device: what the host allocates or lends, the variables of loaded modules, and what kernels
//! allocate with `malloc`.
//!
//! Allocations lie apart, so that an access past one of them falls between and is found. What was freed, or unloaded,
//! keeps its address for as long as there is room, so that a later access can be told from one that never was right.

use super::cell::SharedBytes;
use super::distance;
use super::heap::Blocks;
use super::host::{HostMemory, HostPlace};
use crate::host_memory::{Account, Charge, Refused};
use softwarp_image::{Window, Windows};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Alignment of allocations, as the driver has it.
pub(super) const ALIGNMENT: u64 = 256;

/// How many freed allocations are remembered. Of more, the older half is forgotten.
const MOST_FREED: usize = 1 << 16;

/// An allocation in global memory.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    /// Its first address.
    pub base: u64,
    /// Its bytes: exactly what was asked for.
    pub bytes: u64,
    /// The contents; none once it was freed.
    pub cells: Option<Arc<SharedBytes>>,
    /// The charge for its host memory.
    pub(super) charge: Option<Arc<Charge>>,
    /// The use of it.
    pub kind: AllocationKind,
}

impl Allocation {
    /// Whether it was freed, or its module unloaded.
    pub fn is_freed(&self) -> bool {
        self.cells.is_none() && !matches!(self.kind, AllocationKind::Multicast(_))
    }
}

/// The use of an allocation.
#[derive(Clone, Debug)]
pub(crate) enum AllocationKind {
    /// The host asked for it, or lends it.
    Host,
    /// The variables of a module, in the order of its text.
    Variables(Arc<[Variable]>),
    /// The heap of `malloc`.
    Heap(Arc<Mutex<Blocks>>),
    /// Addresses that stand for several places each: where these begin. It has no contents of its own.
    Multicast(Arc<[u64]>),
}

/// A variable of a module, in the module's allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its name.
    pub name: Box<str>,
    /// Its offset in the allocation.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// Why the host's request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// There is no room for a given number of bytes.
    #[error("no room for {bytes} bytes")]
    OutOfMemory {
        /// How many.
        bytes: u64,
    },
    /// The limit on host memory does not allow it.
    #[error("no room for {0}")]
    Limit(Refused),
    /// The system has no room for what reading a module, or translating a kernel of it, may take.
    #[error(
        "no memory to load the module or its kernel: that may take {bytes} bytes, and the system has no room for them"
    )]
    Module {
        /// How many.
        bytes: u64,
    },
    /// An address that is not, or not wholly, in an allocation.
    #[error("{bytes} bytes at 0x{address:x} are not in an allocation")]
    OutOfBounds {
        /// The address.
        address: u64,
        /// How many bytes were wanted there.
        bytes: u64,
    },
    /// The allocation was freed.
    #[error("{}", freed(*.address, *.base, *.bytes))]
    Freed {
        /// The address.
        address: u64,
        /// The first address of the allocation.
        base: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// The address is of a variable whose module was unloaded.
    #[error("0x{address:x} {}, which was unloaded", unloaded(.variable.as_deref()))]
    Unloaded {
        /// The address.
        address: u64,
        /// The variable that is nearest, if the module had one.
        variable: Option<String>,
    },
    /// Memory of the host that is too small, or too large for an address space.
    #[error("{bytes} bytes of host memory cannot be mapped: there must be at least {least}")]
    HostSize {
        /// Its bytes.
        bytes: u64,
        /// The fewest that can be.
        least: u64,
    },
    /// Memory of the host that does not begin where it must.
    #[error("host memory at 0x{address:x} cannot be mapped: it must begin at a multiple of {multiple}")]
    HostAlignment {
        /// Its address for the host.
        address: u64,
        /// The alignment that is required.
        multiple: u64,
    },
    /// Memory of the host cannot have its own address in the device, since something else has addresses there.
    #[error("{bytes} bytes cannot be mapped at 0x{address:x}: some of the addresses are taken")]
    AddressTaken {
        /// The address.
        address: u64,
        /// How many bytes were wanted there.
        bytes: u64,
    },
    /// An alignment that is not a power of two, or larger than the address space.
    #[error("memory cannot be aligned to {alignment} bytes")]
    BadAlignment {
        /// The alignment that was asked for.
        alignment: u64,
    },
    /// The address stands for several places.
    #[error("0x{address:x} is a multicast address, and stands for several places")]
    Multicast {
        /// The address.
        address: u64,
    },
    /// An address that is not the first of an allocation.
    #[error("0x{address:x} does not begin an allocation")]
    NotAllocated {
        /// The address.
        address: u64,
    },
    /// The device has no first module, or it was unloaded.
    #[error("the device's first module is not loaded")]
    NoModule,
    /// There is no such variable.
    #[error("there is no variable `{name}`")]
    NoVariable {
        /// Its name.
        name: String,
    },
    /// More bytes than a variable has.
    #[error("`{name}` has {bytes} bytes, not {given}")]
    TooManyBytes {
        /// The variable.
        name: String,
        /// The bytes of the variable.
        bytes: u64,
        /// The bytes that were given.
        given: u64,
    },
}

fn freed(address: u64, base: u64, bytes: u64) -> String {
    match address == base {
        true => format!("the allocation of {bytes} bytes at 0x{base:x} was freed"),
        false => {
            format!("0x{address:x} is in the allocation of {bytes} bytes at 0x{base:x}, which was freed")
        }
    }
}

fn unloaded(variable: Option<&str>) -> String {
    variable.map_or("is of a module".into(), |name| format!("is at or near `{name}` of a module"))
}

/// Global memory. A clone is what is there at that moment: allocations and frees of one are not seen by the other, but
/// the bytes are the same. So a launch works on a clone, and the host can allocate and free meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    /// The allocations, by address.
    pub(super) allocations: Arc<Vec<Allocation>>,
    /// How many of them were freed.
    pub(super) freed: usize,
    /// The region for allocations of the host.
    pub(super) buffers: Region,
    /// The region for variables of modules.
    pub(super) variables: Region,
    /// Addresses that have other meanings: constants, parameters and functions; `.local` and `.shared`.
    pub(super) windows: [Window; 2],
    pub(super) account: Account,
    /// The first address of the heap of `malloc`.
    heap: Option<u64>,
    /// Addresses among those for allocations of the host that are kept for memory that is mapped there.
    pub(super) reserved: Arc<Vec<Window>>,
}

/// A part of the address space that allocations are put into, one behind another for as long as there is room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) window: Window,
    /// Everything from here on is free.
    next: u64,
    /// The fewest and the most bytes between an allocation and the next.
    guards: [u64; 2],
}

impl Region {
    fn new(window: Window, guards: [u64; 2]) -> Region {
        Region { window, next: window.base, guards }
    }

    /// Bytes between an allocation and the next: in proportion, so that an index that is off by a row is found.
    fn guard(&self, bytes: u64) -> u64 {
        bytes.clamp(self.guards[0], self.guards[1])
    }

    fn end(&self) -> u64 {
        self.window.base + self.window.size
    }
}

impl Global {
    /// None yet.
    pub fn new(windows: &Windows, account: &Account) -> Global {
        // A 32-bit address space has little room for gaps.
        let narrow = windows.heap.base < 1 << 32;
        let most = if narrow { 1 << 12 } else { 1 << 30 };
        let least = if narrow { 1 << 12 } else { 1 << 20 };
        let span = |first: Window, last: Window| Window {
            base: first.base,
            size: last.base + last.size - first.base,
        };
        Global {
            allocations: Arc::default(),
            freed: 0,
            buffers: Region::new(windows.heap, [1 << 12, most]),
            variables: Region::new(windows.globals, [least, most]),
            windows: [span(windows.constant, windows.code), span(windows.local, windows.shared)],
            account: account.clone(),
            heap: None,
            reserved: Arc::default(),
        }
    }

    fn region(&mut self, kind: &AllocationKind) -> &mut Region {
        match kind {
            AllocationKind::Variables(_) => &mut self.variables,
            _ => &mut self.buffers,
        }
    }

    /// A free address for a given number of bytes.
    pub(super) fn place(&mut self, bytes: u64, alignment: u64, kind: &AllocationKind) -> Option<u64> {
        let region = *self.region(kind);
        let needed = bytes.checked_add(region.guard(bytes))?.checked_add(ALIGNMENT)?;
        // At the end of the region, variables need no guard behind them: no other variables follow.
        let at_end = if let AllocationKind::Variables(_) = kind { bytes } else { needed };
        let next = region.next.checked_next_multiple_of(alignment)?;
        if region.end().checked_sub(next).is_some_and(|room| room >= at_end) {
            return Some(next);
        }
        self.forget_freed(0);
        let mut free = region.window.base.checked_next_multiple_of(alignment)?;
        let allocated = self.allocations.iter().map(|it| (it.base, it.bytes));
        let reserved = self.reserved.iter().map(|it| (it.base, it.size));
        let mut taken: Vec<(u64, u64)> =
            allocated.chain(reserved).filter(|&(base, _)| region.window.contains(base)).collect();
        taken.sort_unstable();
        for (base, bytes) in taken {
            if base.saturating_sub(free) >= needed {
                return Some(free);
            }
            let past = base + bytes + region.guard(bytes);
            free = past.checked_next_multiple_of(alignment)?.max(free);
        }
        (region.end().saturating_sub(free) >= at_end).then_some(free)
    }

    /// Forgets all freed allocations but for a given number with the highest addresses.
    fn forget_freed(&mut self, kept: usize) {
        let mut forgotten = self.freed.saturating_sub(kept);
        self.freed -= forgotten;
        Arc::make_mut(&mut self.allocations).retain(|allocation| {
            let forget = forgotten > 0 && allocation.is_freed();
            forgotten -= usize::from(forget);
            !forget
        });
    }

    fn add(&mut self, bytes: u64, alignment: u64, kind: AllocationKind) -> Result<u64, MemoryError> {
        let full = MemoryError::OutOfMemory { bytes };
        let base = self.place(bytes, alignment, &kind).ok_or(full.clone())?;
        let (cells, charge) = match kind {
            AllocationKind::Multicast(_) => (None, None),
            _ => {
                // The host memory of the allocation's own structures.
                let more = if let AllocationKind::Variables(_) = kind { 0 } else { 128 };
                let charge = self.account.charge(bytes.saturating_add(more)).map_err(MemoryError::Limit)?;
                let cells = match kind {
                    // Those of a module may be lent to the host (`map_variables`).
                    AllocationKind::Variables(_) => SharedBytes::aligned(bytes, ALIGNMENT as usize),
                    _ => SharedBytes::new(bytes),
                };
                (Some(Arc::new(cells.ok_or(full)?)), Some(Arc::new(charge)))
            }
        };
        self.advance(base, bytes, &kind);
        self.insert(Allocation { base, bytes, cells, charge, kind });
        Ok(base)
    }

    /// A region has something at an address now.
    pub(super) fn advance(&mut self, base: u64, bytes: u64, kind: &AllocationKind) {
        let region = self.region(kind);
        let past = (base + bytes + region.guard(bytes)).next_multiple_of(ALIGNMENT);
        region.next = region.next.max(past.min(region.end()));
    }

    pub(super) fn insert(&mut self, allocation: Allocation) {
        let index = self.allocations.partition_point(|it| it.base < allocation.base);
        Arc::make_mut(&mut self.allocations).insert(index, allocation);
    }

    /// Takes memory for the host: zeros, at a multiple of 256.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        self.add(bytes, ALIGNMENT, AllocationKind::Host)
    }

    /// The same, at a multiple of a power of two if that is more than 256.
    pub fn allocate_aligned(&mut self, bytes: u64, alignment: u64) -> Result<u64, MemoryError> {
        if !alignment.is_power_of_two() {
            return Err(MemoryError::BadAlignment { alignment });
        }
        self.add(bytes, alignment.max(ALIGNMENT), AllocationKind::Host)
    }

    /// Takes memory for the variables of a module: zeros.
    pub fn add_variables(&mut self, bytes: u64, variables: Arc<[Variable]>) -> Result<u64, MemoryError> {
        self.add(bytes, ALIGNMENT, AllocationKind::Variables(variables))
    }

    /// The range of addresses that belong to the variables of a module and no other, if they begin at an address.
    pub fn variables_window(&self, base: u64, bytes: u64) -> Window {
        let size = bytes + self.variables.guard(bytes);
        Window { base, size: size.min(self.variables.end().saturating_sub(base)) }
    }

    /// Makes memory of the host part of it: its address.
    pub fn map_host(&mut self, memory: &HostMemory, place: HostPlace) -> Result<u64, MemoryError> {
        let (cells, kind) = (memory.cells.clone(), AllocationKind::Host);
        let bytes = cells.len();
        let base = match place {
            HostPlace::Anywhere => {
                let base = self.place(bytes, ALIGNMENT, &kind).ok_or(MemoryError::OutOfMemory { bytes })?;
                self.advance(base, bytes, &kind);
                base
            }
            HostPlace::SameAddress => {
                let address = cells.host_address();
                if !self.is_free(address, bytes) {
                    return Err(MemoryError::AddressTaken { address, bytes });
                }
                address
            }
            HostPlace::Reserved(address) => {
                if !self.is_reserved(address, bytes) {
                    return Err(MemoryError::AddressTaken { address, bytes });
                }
                address
            }
        };
        self.insert(Allocation { base, bytes, cells: Some(cells), charge: None, kind });
        Ok(base)
    }

    /// Makes the variables of a module, which begin at an address, known at the address that they have for the host too:
    /// managed variables. They are there until [`Global::free`].
    pub fn map_variables(&mut self, address: u64) -> Result<u64, MemoryError> {
        let begins = |it: &&Allocation| it.base == address && matches!(it.kind, AllocationKind::Variables(_));
        let cells = self.allocations.iter().find(begins).and_then(|it| it.cells.clone());
        let cells = cells.ok_or(MemoryError::NotAllocated { address })?;
        let (base, bytes) = (cells.host_address(), cells.len());
        let is_mapped = |it: &Allocation| {
            it.base == base && it.cells.as_ref().is_some_and(|mapped| Arc::ptr_eq(mapped, &cells))
        };
        if self.allocations.iter().any(is_mapped) {
            return Ok(base);
        }
        if !self.is_free(base, bytes) {
            return Err(MemoryError::AddressTaken { address: base, bytes });
        }
        self.insert(Allocation { base, bytes, cells: Some(cells), charge: None, kind: AllocationKind::Host });
        Ok(base)
    }

    /// Makes addresses that each stand for the same place in several pieces of memory, which begin there.
    pub fn add_multicast(&mut self, parts: &[u64], bytes: u64) -> Result<u64, MemoryError> {
        parts.iter().try_for_each(|&part| self.range(part, bytes).map(drop))?;
        self.add(bytes, ALIGNMENT, AllocationKind::Multicast(parts.into()))
    }

    /// The addresses that a multicast address stands for, if it is one, with a given number of bytes from it on.
    pub(crate) fn multicast(&self, address: u64, bytes: u64) -> Option<Vec<u64>> {
        let allocation = &self.allocations[self.before(address)?];
        let AllocationKind::Multicast(parts) = &allocation.kind else { return None };
        let offset = address - allocation.base;
        let inside = allocation.bytes.checked_sub(offset).is_some_and(|room| room >= bytes);
        inside.then(|| parts.iter().map(|part| part + offset).collect())
    }

    /// Gives back what the host allocated or mapped.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let index = self.allocations.binary_search_by_key(&address, |allocation| allocation.base);
        let index = index.map_err(|_| MemoryError::NotAllocated { address })?;
        match self.allocations[index].kind {
            AllocationKind::Host => self.release(index),
            AllocationKind::Multicast(_) => {
                Arc::make_mut(&mut self.allocations).remove(index);
                Ok(())
            }
            _ => Err(MemoryError::NotAllocated { address }),
        }
    }

    /// Gives back the variables of a module that begin at an address.
    pub fn remove_variables(&mut self, address: u64) -> Result<(), MemoryError> {
        let begins = |it: &Allocation| it.base == address && matches!(it.kind, AllocationKind::Variables(_));
        let index = self.allocations.iter().position(begins);
        self.release(index.ok_or(MemoryError::NotAllocated { address })?)
    }

    /// Drops the contents of an allocation and remembers where it was.
    fn release(&mut self, index: usize) -> Result<(), MemoryError> {
        if self.allocations[index].is_freed() {
            return Err(self.allocations[index].gone(self.allocations[index].base));
        }
        let allocation = &mut Arc::make_mut(&mut self.allocations)[index];
        (allocation.cells, allocation.charge) = (None, None);
        self.freed += 1;
        if self.freed > MOST_FREED {
            self.forget_freed(MOST_FREED / 2);
        }
        Ok(())
    }

    /// Makes room for `malloc`, of a given number of bytes and with gaps between blocks, if there is none yet: where it is.
    pub(crate) fn prepare_heap(&mut self, bytes: u64, gap: u64) -> Result<u64, MemoryError> {
        if let Some(base) = self.heap {
            return Ok(base);
        }
        let blocks = Arc::new(Mutex::new(Blocks::new(bytes, gap)));
        let base = self.add(bytes, ALIGNMENT, AllocationKind::Heap(blocks))?;
        self.heap = Some(base);
        Ok(base)
    }

    /// Whether there is room for `malloc`.
    pub(crate) fn has_heap(&self) -> bool {
        self.heap.is_some()
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
    pub fn range(&self, address: u64, bytes: u64) -> Result<(&SharedBytes, u64), MemoryError> {
        let outside = MemoryError::OutOfBounds { address, bytes };
        let allocation = &self.allocations[self.before(address).ok_or(outside.clone())?];
        let offset = address - allocation.base;
        if allocation.bytes.checked_sub(offset).is_none_or(|room| room < bytes) {
            return Err(outside);
        }
        if let AllocationKind::Multicast(_) = allocation.kind {
            return Err(MemoryError::Multicast { address });
        }
        let cells = allocation.cells.as_ref().ok_or_else(|| allocation.gone(address))?;
        Ok((cells, offset))
    }
}

impl Allocation {
    /// The error of an access to it after it was freed.
    fn gone(&self, address: u64) -> MemoryError {
        let offset = address - self.base;
        match &self.kind {
            AllocationKind::Variables(list) => {
                let variable = nearest(list, offset).map(|variable| variable.name.to_string());
                MemoryError::Unloaded { address, variable }
            }
            _ => MemoryError::Freed { address, base: self.base, bytes: self.bytes },
        }
    }
}

/// The variable that is nearest to an offset in a module's allocation; of several, the first in the text.
pub(crate) fn nearest(variables: &[Variable], offset: u64) -> Option<&Variable> {
    variables.iter().min_by_key(|variable| distance(offset, variable.offset, variable.bytes))
}

/// Locks even if another thread has panicked: the data is consistent between operations.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::heap::GAP;

    #[test]
    fn allocations_are_aligned_apart_and_found_by_any_of_their_addresses() {
        let mut global = Global::new(&Windows::WIDE, &Account::new(1 << 40));
        let a = global.allocate(1000).unwrap();
        let b = global.allocate(10).unwrap();
        assert!(a.is_multiple_of(256) && b.is_multiple_of(256) && b >= a + 1000 + 4096);
        assert_eq!(global.range(a + 999, 1).map(|(_, offset)| offset), Ok(999));
        assert_eq!(
            global.range(a + 999, 2).map(drop),
            Err(MemoryError::OutOfBounds { address: a + 999, bytes: 2 })
        );
        assert_eq!(global.free(a), Ok(()));
        let freed = |address| MemoryError::Freed { address, base: a, bytes: 1000 };
        assert_eq!(global.free(a), Err(freed(a)));
        assert_eq!(global.free(b + 1), Err(MemoryError::NotAllocated { address: b + 1 }));
        assert_eq!(global.range(a + 7, 1).map(drop), Err(freed(a + 7)));
        assert_eq!(
            freed(a + 7).to_string(),
            format!("0x{:x} is in the allocation of 1000 bytes at 0x{a:x}, which was freed", a + 7)
        );
    }

    #[test]
    fn what_was_freed_is_used_again_when_there_is_no_other_room() {
        let mut global = Global::new(&Windows::NARROW, &Account::new(1 << 40));
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
        let mut global = Global::new(&Windows::WIDE, &Account::new(1 << 40));
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
