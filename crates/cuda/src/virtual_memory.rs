//! Virtual memory: addresses that are reserved, memory that is created without an address, and what is mapped where.

use softwarp::vm::memory::host::HostMemory;
use std::collections::BTreeMap;

/// Memory is created and mapped in multiples of this.
pub const PIECE: u64 = 2 << 20;

/// Memory without an address (`CUmemGenericAllocationHandle`).
#[derive(Clone, Debug)]
pub struct Created {
    /// The bytes.
    pub memory: HostMemory,
    /// How many.
    pub bytes: u64,
    /// What it was created with, as the program said it.
    pub properties: [u64; 4],
    /// How often the program holds the handle.
    pub held: u32,
}

/// Memory at addresses.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The handle of the memory.
    pub handle: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What devices may do with it (`CUmemAccess_flags`).
    pub access: u32,
}

/// All of it.
#[derive(Debug, Default)]
pub struct VirtualMemory {
    /// Reserved addresses: the first, and how many.
    pub reserved: BTreeMap<u64, u64>,
    /// Memory by its handle.
    pub created: BTreeMap<u64, Created>,
    /// What is mapped, by the first address.
    pub mapped: BTreeMap<u64, Mapping>,
}

impl VirtualMemory {
    /// Whether addresses lie in one reservation.
    pub fn is_reserved(&self, address: u64, bytes: u64) -> bool {
        let Some((base, size)) = self.reserved.range(..=address).next_back() else { return false };
        address.checked_add(bytes).is_some_and(|end| end <= base + size)
    }

    /// The first address of what is mapped in a range, if it is mapped from its start to its end and nothing sticks out.
    pub fn mapped_in(&self, address: u64, bytes: u64) -> Option<Vec<u64>> {
        let mut next = address;
        let end = address.checked_add(bytes)?;
        let mut found = Vec::new();
        while next < end {
            let mapping = self.mapped.get(&next)?;
            found.push(next);
            next = next.checked_add(mapping.bytes)?;
        }
        (next == end).then_some(found)
    }

    /// Whether anything is mapped in a range.
    pub fn is_mapped(&self, address: u64, bytes: u64) -> bool {
        let end = address.saturating_add(bytes);
        self.mapped.range(..end).next_back().is_some_and(|(base, mapping)| base + mapping.bytes > address)
    }

    /// The mapping that an address is in, with its first address.
    pub fn at(&self, address: u64) -> Option<(u64, &Mapping)> {
        let (base, mapping) = self.mapped.range(..=address).next_back()?;
        (address - base < mapping.bytes).then_some((*base, mapping))
    }

    /// Bytes of all memory.
    pub fn bytes(&self) -> u64 {
        self.created.values().map(|created| created.bytes).sum()
    }

    /// Forgets memory that neither the program nor a mapping holds.
    pub fn drop_unused(&mut self, handle: u64) {
        let is_held = self.created.get(&handle).is_some_and(|created| created.held > 0);
        if !is_held && !self.mapped.values().any(|mapping| mapping.handle == handle) {
            self.created.remove(&handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_mapped_as_a_whole() {
        let mut memory = VirtualMemory::default();
        memory.reserved.insert(100, 60);
        for base in [100, 120] {
            memory.mapped.insert(base, Mapping { handle: 1, bytes: 20, access: 0 });
        }
        assert!(memory.is_reserved(100, 60) && memory.is_reserved(130, 30) && !memory.is_reserved(130, 31));
        assert!(!memory.is_reserved(99, 1) && !memory.is_reserved(100, u64::MAX));
        assert_eq!(memory.mapped_in(100, 40), Some(vec![100, 120]));
        assert_eq!(memory.mapped_in(100, 20), Some(vec![100]));
        assert_eq!(memory.mapped_in(100, 30), None);
        assert_eq!(memory.mapped_in(100, 60), None);
        assert_eq!(memory.at(139).map(|(base, _)| base), Some(120));
        assert!(memory.at(140).is_none());
        assert!(memory.is_mapped(139, 5) && !memory.is_mapped(140, 20) && !memory.is_mapped(0, 100));
    }
}
