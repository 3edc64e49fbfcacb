//! Addresses of global memory that are chosen for what comes there: where something was freed, and where addresses are kept
//! for memory that is mapped later.

use super::cell::SharedBytes;
use super::global::{ALIGNMENT, Allocation, AllocationKind, Global, MemoryError};
use softwarp_image::Window;
use std::sync::Arc;

impl Global {
    /// Takes memory again at an address where as many bytes were freed: zeros.
    pub fn allocate_again(&mut self, base: u64, bytes: u64) -> Result<(), MemoryError> {
        let missing = MemoryError::NotAllocated { address: base };
        let found = self.allocations.binary_search_by_key(&base, |allocation| allocation.base);
        let index = found.map_err(|_| missing.clone())?;
        let there = &self.allocations[index];
        if !there.is_freed() || there.bytes != bytes || !matches!(there.kind, AllocationKind::Host) {
            return Err(missing);
        }
        let charge = self.account.charge(bytes.saturating_add(128)).map_err(MemoryError::Limit)?;
        let cells = SharedBytes::new(bytes).ok_or(MemoryError::OutOfMemory { bytes })?;
        let allocation = &mut Arc::make_mut(&mut self.allocations)[index];
        (allocation.cells, allocation.charge) = (Some(Arc::new(cells)), Some(Arc::new(charge)));
        self.freed -= 1;
        Ok(())
    }

    /// Takes memory at an address that means nothing yet: zeros.
    pub fn allocate_at(&mut self, base: u64, bytes: u64) -> Result<(), MemoryError> {
        let taken = MemoryError::AddressTaken { address: base, bytes };
        let end = base.checked_add(bytes.max(1)).ok_or(taken.clone())?;
        let meets = |start: u64, size: u64| start < end && start.saturating_add(size.max(1)) > base;
        let is_taken = self.windows.iter().any(|window| meets(window.base, window.size))
            || self.allocations.iter().any(|it| meets(it.base, it.bytes));
        let most = if self.buffers.window.base < 1 << 32 { 1 << 32 } else { 1 << 48 };
        if is_taken || !base.is_multiple_of(ALIGNMENT) || base == 0 || end > most {
            return Err(taken);
        }
        let charge = self.account.charge(bytes.saturating_add(128)).map_err(MemoryError::Limit)?;
        let cells = SharedBytes::new(bytes).ok_or(MemoryError::OutOfMemory { bytes })?;
        let kind = AllocationKind::Host;
        if self.buffers.window.contains(base) {
            self.advance(base, bytes, &kind);
        }
        let (cells, charge) = (Some(Arc::new(cells)), Some(Arc::new(charge)));
        self.insert(Allocation { base, bytes, cells, charge, kind });
        Ok(())
    }

    /// Keeps addresses for memory that is mapped there later: where they begin.
    pub fn reserve(&mut self, bytes: u64, alignment: u64) -> Result<u64, MemoryError> {
        if !alignment.is_power_of_two() {
            return Err(MemoryError::BadAlignment { alignment });
        }
        let full = MemoryError::OutOfMemory { bytes };
        let kind = AllocationKind::Host;
        let base = self.place(bytes, alignment.max(ALIGNMENT), &kind).ok_or(full)?;
        self.advance(base, bytes, &kind);
        Arc::make_mut(&mut self.reserved).push(Window { base, size: bytes });
        Ok(base)
    }

    /// Ends what [`Global::reserve`] did.
    pub fn unreserve(&mut self, base: u64) {
        Arc::make_mut(&mut self.reserved).retain(|window| window.base != base);
    }

    /// Whether addresses are reserved and nothing is mapped there. What was there before is forgotten.
    pub(super) fn is_reserved(&mut self, address: u64, bytes: u64) -> bool {
        let Some(end) = address.checked_add(bytes) else { return false };
        let holds = |window: &Window| window.base <= address && end <= window.base + window.size;
        if !self.reserved.iter().any(holds) {
            return false;
        }
        let meets = |it: &Allocation| it.base < end && it.base + it.bytes > address;
        let freed = self.allocations.iter().filter(|it| it.is_freed() && meets(it)).count();
        if freed > 0 {
            self.freed -= freed;
            Arc::make_mut(&mut self.allocations).retain(|it| !(it.is_freed() && meets(it)));
        }
        !self.allocations.iter().any(meets)
    }

    /// Whether addresses mean nothing yet. What was freed there is forgotten.
    pub(super) fn is_free(&mut self, address: u64, bytes: u64) -> bool {
        let Some(end) = address.checked_add(bytes.max(1)) else { return false };
        let meets = |base: u64, bytes: u64| base < end && base.saturating_add(bytes.max(1)) > address;
        let [low, high] = self.windows;
        let windows = [self.buffers.window, self.variables.window, low, high];
        if address == 0 || windows.iter().any(|window| meets(window.base, window.size)) {
            return false;
        }
        let freed = self.allocations.iter().filter(|it| it.is_freed() && meets(it.base, it.bytes)).count();
        if freed > 0 {
            self.freed -= freed;
            let meets = |it: &Allocation| meets(it.base, it.bytes);
            Arc::make_mut(&mut self.allocations).retain(|it| !(it.is_freed() && meets(it)));
        }
        !self.allocations.iter().any(|it| meets(it.base, it.bytes))
    }
}
