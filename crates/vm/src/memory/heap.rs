//! The heap of `malloc` and `free` in kernels: which parts of it are in use.
//!
//! Blocks are taken one behind another for as long as there is room, so that what was freed keeps its place and a
//! later access to it can be told from one that never was right. Only when no other room is left are freed blocks used
//! again: adjacent ones are merged (coalescing), and the smallest that is large enough is taken, the one with the
//! lowest address among equals (best fit). Every operation takes logarithmic time, but for one that merges what
//! was freed before it, which pays for itself: each block is merged once.

use std::collections::{BTreeMap, BTreeSet};

/// Alignment of blocks.
const ALIGNMENT: u64 = 16;

/// Bytes between blocks.
pub(crate) const GAP: u64 = 16;

/// The same where accesses past the end of a block are looked for.
pub(crate) const WIDE_GAP: u64 = 256;

/// The blocks of `malloc`, in use and free.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// By offset: the bytes that were asked for, and whether they are in use.
    blocks: BTreeMap<u64, (u64, bool)>,
    /// Blocks that were freed and not used again.
    freed: Vec<u64>,
    /// Room between blocks: offset and bytes.
    gaps: BTreeMap<u64, u64>,
    /// The same, by size.
    by_size: BTreeSet<(u64, u64)>,
    /// Everything from here on is free.
    next: u64,
    room: u64,
    /// Bytes between blocks.
    gap: u64,
}

impl Blocks {
    /// A heap of a given number of bytes, with a gap behind each block.
    pub(super) fn new(room: u64, gap: u64) -> Blocks {
        Blocks {
            blocks: BTreeMap::new(),
            freed: Vec::new(),
            gaps: BTreeMap::new(),
            by_size: BTreeSet::new(),
            next: 0,
            room,
            gap,
        }
    }

    /// The bytes that a block takes with the gap behind it. An access just past its end is then not in the next block.
    fn extent(&self, bytes: u64) -> Option<u64> {
        bytes.checked_next_multiple_of(ALIGNMENT)?.checked_add(self.gap)
    }

    /// Takes a given number of bytes: where they begin.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let needed = self.extent(bytes).filter(|_| bytes != 0)?;
        let place = match self.take_end(needed).or_else(|| self.take_gap(needed)) {
            Some(place) => place,
            None if self.freed.is_empty() => return None,
            None => {
                self.merge_freed();
                self.take_gap(needed).or_else(|| self.take_end(needed))?
            }
        };
        self.blocks.insert(place, (bytes, true));
        Some(place)
    }

    fn take_end(&mut self, needed: u64) -> Option<u64> {
        let place = self.next;
        (self.room - place >= needed).then(|| self.next += needed)?;
        Some(place)
    }

    fn take_gap(&mut self, needed: u64) -> Option<u64> {
        let &(bytes, place) = self.by_size.range((needed, 0)..).next()?;
        self.by_size.remove(&(bytes, place));
        self.gaps.remove(&place);
        if bytes > needed {
            self.add_gap(place + needed, bytes - needed);
        }
        Some(place)
    }

    fn add_gap(&mut self, place: u64, bytes: u64) {
        self.gaps.insert(place, bytes);
        self.by_size.insert((bytes, place));
    }

    fn remove_gap(&mut self, place: u64) -> Option<u64> {
        let bytes = self.gaps.remove(&place)?;
        self.by_size.remove(&(bytes, place));
        Some(bytes)
    }

    /// Makes gaps of all blocks that were freed.
    fn merge_freed(&mut self) {
        for offset in std::mem::take(&mut self.freed) {
            let Some((bytes, _)) = self.blocks.remove(&offset) else { continue };
            let (mut place, mut bytes) = (offset, self.extent(bytes).unwrap_or(0));
            if let Some((&before, &size)) = self.gaps.range(..place).next_back()
                && before + size == place
            {
                self.remove_gap(before);
                (place, bytes) = (before, bytes + size);
            }
            bytes += self.remove_gap(place + bytes).unwrap_or(0);
            if place + bytes == self.next {
                self.next = place;
            } else {
                self.add_gap(place, bytes);
            }
        }
    }

    /// Frees a block; whether one in use begins there.
    pub(super) fn give_back(&mut self, offset: u64) -> bool {
        match self.blocks.get_mut(&offset) {
            Some((_, live @ true)) => {
                *live = false;
                self.freed.push(offset);
                true
            }
            _ => false,
        }
    }

    /// The block that begins at or before an offset: its offset, its bytes, whether it is in use.
    pub(crate) fn before(&self, offset: u64) -> Option<(u64, u64, bool)> {
        self.blocks.range(..=offset).next_back().map(|(&offset, &(bytes, live))| (offset, bytes, live))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softwarp_num::splitmix::SplitMix64;

    #[test]
    fn blocks_never_overlap_and_all_room_comes_back() {
        let mut heap = Blocks::new(1 << 16, GAP);
        let mut live: Vec<(u64, u64)> = Vec::new();
        let mut generator = SplitMix64::new(1);
        let mut random = |below: u64| generator.below(below as usize) as u64;
        let mut refused = 0;
        for _ in 0..20_000 {
            if random(5) < 3 || live.is_empty() {
                let bytes = 1 + random(900);
                match heap.take(bytes) {
                    Some(place) => {
                        assert!(place.is_multiple_of(ALIGNMENT) && place + bytes <= 1 << 16);
                        assert!(live.iter().all(|&(at, of)| place >= at + of || at >= place + bytes));
                        live.push((place, bytes));
                    }
                    None => refused += 1,
                }
            } else {
                let (place, _) = live.swap_remove(random(live.len() as u64) as usize);
                assert!(heap.give_back(place) && !heap.give_back(place));
            }
        }
        assert!(refused > 100, "the heap was full at times");
        for (place, _) in live {
            assert!(heap.give_back(place));
        }
        assert_eq!(heap.take((1 << 16) - ALIGNMENT), Some(0), "everything was merged");
    }

    #[test]
    fn a_full_heap_refuses_without_looking_at_every_block() {
        let mut heap = Blocks::new(8 << 20, GAP);
        let mut count = 0;
        while heap.take(16).is_some() {
            count += 1;
        }
        assert_eq!(count, (8 << 20) / 32);
        // Linear in the number of blocks, this would take minutes.
        for _ in 0..2_000_000 {
            assert_eq!(heap.take(16), None);
        }
        for _ in 0..100_000 {
            assert!(heap.give_back(1024 * 32));
            assert_eq!(heap.take(16), Some(1024 * 32));
        }
    }
}
