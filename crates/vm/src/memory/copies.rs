//! Copies of all global memory, and where two of them differ: for launches that run more than once from the same contents.

use super::cell::SharedBytes;
use super::global::{ALIGNMENT, Allocation, AllocationKind, Global, MemoryError, lock};
use super::heap::Blocks;
use crate::host_memory::{Account, Charge};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

/// Bytes that are compared and copied at once.
pub(crate) const PAGE: usize = 4096;

/// Bytes that are read at once.
const CHUNK: usize = 16 * PAGE;

/// Memory that copies of allocations are kept in. It stays for the next launch, which then copies only what has changed.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// By where the original is in the host's memory, and its bytes.
    of: BTreeMap<(u64, u64), (Arc<SharedBytes>, Charge)>,
}

/// A page in which two memories differ.
pub(crate) struct DifferingPage<'a> {
    /// The allocation, by its index in both.
    pub(crate) allocation: usize,
    /// The first byte in the allocation.
    pub(crate) offset: u64,
    /// The bytes in one memory and in the other.
    pub(crate) bytes: [&'a [u8]; 2],
}

/// Pages of a memory as they were.
pub(crate) type Pages = Vec<(usize, u64, Box<[u8]>)>;

impl Copies {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The same memory with other cells: those of an earlier copy where there are some, with any contents. The copies of
    /// memory that is gone are given back.
    pub(crate) fn of(&mut self, global: &Global, account: &Account) -> Result<Global, MemoryError> {
        let key = |cells: &SharedBytes| (cells.host_address(), cells.len());
        let live: HashSet<_> = global.contents().map(|(_, _, cells)| key(cells)).collect();
        self.of.retain(|key, _| live.contains(key));
        for (_, _, cells) in global.contents() {
            if let std::collections::btree_map::Entry::Vacant(place) = self.of.entry(key(cells)) {
                let bytes = cells.len();
                let charge = account.charge(bytes).map_err(MemoryError::Limit)?;
                let copy = SharedBytes::aligned(bytes, ALIGNMENT as usize);
                place.insert((Arc::new(copy.ok_or(MemoryError::OutOfMemory { bytes })?), charge));
            }
        }
        Ok(global.with_cells(|cells| self.of.get(&key(cells)).map(|(copy, _)| copy.clone())))
    }
}

impl Global {
    /// The same allocations with other cells, where there are some; the heap of `malloc` has a table of its own.
    fn with_cells(&self, mut other: impl FnMut(&SharedBytes) -> Option<Arc<SharedBytes>>) -> Global {
        let changed = |allocation: &Allocation| {
            let mut allocation = allocation.clone();
            allocation.cells = allocation.cells.map(|cells| other(&cells).unwrap_or(cells));
            if let AllocationKind::Heap(blocks) = &mut allocation.kind {
                let copy = lock(blocks).clone();
                *blocks = Arc::new(Mutex::new(copy));
            }
            allocation
        };
        let mut copy = self.clone();
        copy.allocations = Arc::new(self.allocations.iter().map(changed).collect());
        copy
    }

    /// The allocations that have contents: index, first address, cells. Cells that have several addresses come once.
    pub(crate) fn contents(&self) -> impl Iterator<Item = (usize, u64, &Arc<SharedBytes>)> {
        let mut seen = HashSet::new();
        let all = self.allocations.iter().enumerate();
        let with = all.filter_map(|(index, it)| Some((index, it.base, it.cells.as_ref()?)));
        with.filter(move |(_, _, cells)| {
            !cells.is_empty() && seen.insert((cells.host_address(), cells.len()))
        })
    }

    /// All addresses of a byte of an allocation: its cells may be known at several.
    pub(crate) fn addresses_of(&self, allocation: usize, offset: u64) -> Vec<u64> {
        let Some(cells) = self.allocations.get(allocation).and_then(|it| it.cells.as_ref()) else {
            return Vec::new();
        };
        let same = |it: &&Allocation| it.cells.as_ref().is_some_and(|there| Arc::ptr_eq(there, cells));
        self.allocations.iter().filter(same).map(|it| it.base + offset).collect()
    }

    /// Whether two allocations show parts of the same memory of the host, which are not wholly the same. Their copies would
    /// not be.
    pub(crate) fn has_overlaps(&self) -> bool {
        let mut ranges: Vec<(u64, u64)> =
            self.contents().map(|(_, _, cells)| (cells.host_address(), cells.len())).collect();
        ranges.sort_unstable();
        ranges.windows(2).any(|pair| matches!(pair, [(one, bytes), (next, _)] if one + bytes > *next))
    }

    /// Bytes at a place of an allocation.
    pub(crate) fn page(&self, allocation: usize, offset: u64, into: &mut [u8]) {
        if let Some(cells) = self.allocations.get(allocation).and_then(|it| it.cells.as_ref()) {
            cells.read(offset, into);
        }
    }

    /// Calls a function for each page in which two memories with the same allocations differ, until it returns false.
    pub(crate) fn for_differing(&self, other: &Global, mut f: impl FnMut(&DifferingPage<'_>) -> bool) {
        let mut rooms = [vec![0; CHUNK], vec![0; CHUNK]];
        let [one, two] = &mut rooms;
        for (allocation, _, cells) in self.contents() {
            let Some(others) = other.allocations.get(allocation).and_then(|it| it.cells.as_ref()) else {
                continue;
            };
            let bytes = cells.len().min(others.len());
            for start in (0..bytes).step_by(CHUNK) {
                let count = (bytes - start).min(CHUNK as u64) as usize;
                let (one, two) = (&mut one[..count], &mut two[..count]);
                cells.read(start, one);
                others.read(start, two);
                if one == two {
                    continue;
                }
                let pages = one.chunks(PAGE).zip(two.chunks(PAGE)).zip((start..).step_by(PAGE));
                for ((one, two), offset) in pages.filter(|((one, two), _)| one != two) {
                    if !f(&DifferingPage { allocation, offset, bytes: [one, two] }) {
                        return;
                    }
                }
            }
        }
    }

    /// Gives a memory with the same allocations the contents of this one.
    pub(crate) fn copy_to(&self, other: &Global) {
        self.for_differing(other, |page| {
            other.put(page.allocation, page.offset, page.bytes[0]);
            true
        });
    }

    /// Writes bytes at a place of an allocation.
    pub(crate) fn put(&self, allocation: usize, offset: u64, bytes: &[u8]) {
        if let Some(cells) = self.allocations.get(allocation).and_then(|it| it.cells.as_ref()) {
            cells.write(offset, bytes);
        }
    }

    /// The pages of this memory where another one has other bytes.
    pub(crate) fn pages_unlike(&self, other: &Global) -> Pages {
        let mut pages = Pages::new();
        self.for_differing(other, |page| {
            pages.push((page.allocation, page.offset, page.bytes[0].into()));
            true
        });
        pages
    }

    fn shared_blocks(&self) -> Option<&Mutex<Blocks>> {
        self.allocations.iter().find_map(|it| match &it.kind {
            AllocationKind::Heap(blocks) => Some(&**blocks),
            _ => None,
        })
    }

    /// The blocks of `malloc`, as they are now.
    pub(crate) fn blocks(&self) -> Option<Blocks> {
        self.shared_blocks().map(|blocks| lock(blocks).clone())
    }

    /// Gives it these blocks of `malloc`.
    pub(crate) fn set_blocks(&self, to: Option<&Blocks>) {
        if let (Some(blocks), Some(to)) = (self.shared_blocks(), to) {
            lock(blocks).clone_from(to);
        }
    }
}
