//! What the host knows about addresses: which allocation an address is in, and what kind of memory that is.

use std::collections::BTreeMap;

/// What kind of memory an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Linear memory of the device.
    Device,
    /// Memory of the device from a pool: the pool's handle.
    Pooled(u64),
    /// Page-locked memory of the host, from the driver.
    Pinned,
    /// Page-locked memory of the host from a pool: the pool's handle.
    PooledHost(u64),
    /// Managed memory from a pool: the pool's handle.
    PooledManaged(u64),
    /// Memory of the program that was registered.
    Registered,
    /// Managed memory.
    Managed,
    /// A variable of a module: its handle.
    Variable(u64),
    /// Memory of the device that belongs to a node of a graph.
    Graph,
    /// Memory of the device that was mapped at reserved addresses.
    Mapped,
}

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first address, for kernels and for the host.
    pub base: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What it is.
    pub kind: Kind,
    /// The flags that it was made with, as they are reported.
    pub flags: u32,
    /// The handle of the context that it belongs to.
    pub context: u64,
    /// The number of its device.
    pub device: u32,
    /// A number that no other allocation has.
    pub id: u64,
}

impl Block {
    /// Whether the host can access it by its address.
    pub fn is_host(&self) -> bool {
        match self.kind {
            Kind::Pinned | Kind::Registered | Kind::Managed => true,
            Kind::PooledHost(_) | Kind::PooledManaged(_) => true,
            Kind::Device | Kind::Pooled(_) | Kind::Variable(_) | Kind::Graph | Kind::Mapped => false,
        }
    }

    /// Whether it is managed memory.
    pub fn is_managed(&self) -> bool {
        matches!(self.kind, Kind::Managed | Kind::PooledManaged(_))
    }

    /// The handle of the pool that it is from, if it is from one.
    pub fn pool(&self) -> Option<u64> {
        match self.kind {
            Kind::Pooled(pool) | Kind::PooledHost(pool) | Kind::PooledManaged(pool) => Some(pool),
            _ => None,
        }
    }

    /// Whether a given number of bytes at an address are inside.
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        let inside = address.checked_sub(self.base);
        inside.and_then(|inside| inside.checked_add(bytes)).is_some_and(|end| end <= self.bytes)
    }
}

/// All allocations, by address.
#[derive(Debug, Default)]
pub struct Blocks {
    blocks: BTreeMap<u64, Block>,
    next: u64,
}

impl Blocks {
    /// Adds an allocation and numbers it.
    pub fn insert(&mut self, block: Block) {
        self.next += 1;
        self.blocks.insert(block.base, Block { id: self.next, ..block });
    }

    /// The allocation that an address is in.
    pub fn find(&self, address: u64) -> Option<Block> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        (address - block.base < block.bytes).then_some(*block)
    }

    /// The allocation that begins at an address.
    pub fn at(&self, base: u64) -> Option<Block> {
        self.blocks.get(&base).copied()
    }

    /// Removes the allocation that begins at an address.
    pub fn remove(&mut self, base: u64) -> Option<Block> {
        self.blocks.remove(&base)
    }

    /// Whether any allocation has addresses in a range.
    pub fn overlaps(&self, base: u64, bytes: u64) -> bool {
        let end = base.saturating_add(bytes);
        self.blocks.range(..end).next_back().is_some_and(|(_, block)| block.base + block.bytes > base)
    }

    /// Removes the allocations for which something holds.
    pub fn take(&mut self, wanted: impl Fn(&Block) -> bool) -> Vec<Block> {
        let bases: Vec<u64> =
            self.blocks.values().filter(|block| wanted(block)).map(|block| block.base).collect();
        bases.into_iter().filter_map(|base| self.blocks.remove(&base)).collect()
    }

    /// Whether bytes from an address on are in mapped memory, which may be in several pieces.
    pub fn is_mapped(&self, address: u64, bytes: u64) -> bool {
        let Some(end) = address.checked_add(bytes) else { return false };
        let mut next = address;
        while next < end {
            match self.find(next) {
                Some(block) if block.kind == Kind::Mapped => next = block.base + block.bytes,
                _ => return false,
            }
        }
        true
    }

    /// Bytes of all allocations that are the device's, but for those that are mapped, which have an account of their own.
    pub fn device_bytes(&self) -> u64 {
        let is_counted = |block: &&Block| !block.is_host() && block.kind != Kind::Mapped;
        self.blocks.values().filter(is_counted).map(|block| block.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_find_their_allocation() {
        let mut blocks = Blocks::default();
        let block =
            Block { base: 1000, bytes: 100, kind: Kind::Device, flags: 0, context: 0, device: 0, id: 0 };
        blocks.insert(block);
        blocks.insert(Block { base: 2000, bytes: 1, ..block });
        assert_eq!(blocks.find(999), None);
        assert_eq!(blocks.find(1000).map(|it| it.base), Some(1000));
        assert_eq!(blocks.find(1099).map(|it| it.id), Some(1));
        assert_eq!(blocks.find(1100), None);
        assert!(blocks.overlaps(1099, 10) && !blocks.overlaps(1100, 900) && blocks.overlaps(0, u64::MAX));
        assert!(block.holds(1000, 100) && !block.holds(1001, 100) && !block.holds(1, u64::MAX));
        assert_eq!(blocks.remove(1000).map(|it| it.bytes), Some(100));
        assert_eq!(blocks.find(1000), None);
    }
}
