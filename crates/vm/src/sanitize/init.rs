//! Shadow bits for initialised memory: which bytes have been written, one bit for each byte.
//!
//! Only allocations that the host made uninitialised have bits in global memory; everything else counts as written. A
//! launch that is not sanitized may write anything, so after it all global memory counts as written.

use crate::host_memory::{Account, Charge};
use crate::memory::cell::{SharedBytes, Unit};
use crate::memory::global::MemoryError;
use softwarp_units::lanes::{LANES, lanes};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A bit for each byte of a memory: it was written.
#[derive(Debug)]
pub(crate) struct Written {
    bits: SharedBytes,
    bytes: u64,
    /// The charge for the bits, where these are not charged together with others.
    _charge: Option<Charge>,
}

impl Written {
    /// Bytes of the host that the bits of a memory take: an eighth.
    pub(crate) fn size(bytes: u64) -> u64 {
        bytes.div_ceil(64).saturating_mul(8)
    }

    /// Nothing is; `None` if the host has no memory for it.
    pub(crate) fn nothing(bytes: u64) -> Option<Written> {
        Some(Written { bits: SharedBytes::new(Written::size(bytes))?, bytes, _charge: None })
    }

    /// Calls a function for the words of bits that a range has bits in, with a mask of these.
    fn words(&self, at: u64, bytes: u64, mut f: impl FnMut(usize, u64)) {
        let end = at.saturating_add(bytes).min(self.bytes);
        let mut at = at;
        while at < end {
            let count = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - count)) << (at % 64);
            f((at / 64 * 8) as usize, mask);
            at += count;
        }
    }

    /// Marks bytes as written.
    pub(crate) fn write(&self, at: u64, bytes: u64) {
        self.words(at, bytes, |word, mask| (u64::load(&self.bits, word) | mask).store(&self.bits, word));
    }

    /// Marks bytes as not written.
    pub(crate) fn forget(&self, at: u64, bytes: u64) {
        self.words(at, bytes, |word, mask| (u64::load(&self.bits, word) & !mask).store(&self.bits, word));
    }

    /// Whether all were written.
    pub(crate) fn all(&self, at: u64, bytes: u64) -> bool {
        let mut all = true;
        self.words(at, bytes, |word, mask| all &= u64::load(&self.bits, word) & mask == mask);
        all
    }
}

/// The state of a range of addresses in global memory.
pub(super) enum Part<'a> {
    /// All of it counts as written.
    Written,
    /// It is in one allocation: the bits, and the first address.
    Of(&'a Written, u64),
    /// Part of it is in such an allocation.
    Mixed,
}

/// Allocations of global memory that began without contents, by their first address. What is not here counts as
/// written. A clone has the allocations of that moment, and the same bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unwritten {
    allocations: BTreeMap<u64, Arc<Written>>,
}

impl Unwritten {
    /// An allocation that holds nothing. The account is charged for its bits.
    pub(crate) fn add(&mut self, account: &Account, base: u64, bytes: u64) -> Result<(), MemoryError> {
        let charge = account.charge(Written::size(bytes)).map_err(MemoryError::Limit)?;
        let written = Written::nothing(bytes).ok_or(MemoryError::OutOfMemory { bytes })?;
        self.allocations.insert(base, Arc::new(Written { _charge: Some(charge), ..written }));
        Ok(())
    }

    /// Whether everything counts as written.
    pub(super) fn is_empty(&self) -> bool {
        self.allocations.is_empty()
    }

    pub(crate) fn has(&self, base: u64) -> bool {
        self.allocations.contains_key(&base)
    }

    pub(crate) fn remove(&mut self, base: u64) {
        self.allocations.remove(&base);
    }

    /// Everything counts as written from now on.
    pub(crate) fn clear(&mut self) {
        self.allocations.clear();
    }

    fn find(&self, address: u64) -> Option<(&Written, u64)> {
        let (base, written) = self.allocations.range(..=address).next_back()?;
        let at = address - base;
        (at < written.bytes).then_some((written, at))
    }

    /// The state of a range of addresses.
    pub(super) fn part(&self, from: u64, to: u64) -> Part<'_> {
        if let Some((written, at)) = self.find(from) {
            let inside = to - from <= written.bytes - at;
            return if inside { Part::Of(written, from - at) } else { Part::Mixed };
        }
        match self.allocations.range(from..to).next() {
            Some(_) => Part::Mixed,
            None => Part::Written,
        }
    }

    pub(crate) fn write(&self, address: u64, bytes: u64) {
        if let Some((written, at)) = self.find(address) {
            written.write(at, bytes);
        }
    }

    pub(crate) fn forget(&self, address: u64, bytes: u64) {
        if let Some((written, at)) = self.find(address) {
            written.forget(at, bytes);
        }
    }

    pub(crate) fn all(&self, address: u64, bytes: u64) -> bool {
        self.find(address).is_none_or(|(written, at)| written.all(at, bytes))
    }
}

/// The bytes of their own memory that the lanes of a warp have written: by word, the lanes for each of its bytes.
#[derive(Debug, Default)]
pub(super) struct Stack {
    words: HashMap<u64, [u32; 4]>,
}

impl Stack {
    pub(super) fn write(&mut self, lane: usize, address: u64, bytes: u64) {
        for at in address..address.saturating_add(bytes) {
            self.words.entry(at / 4).or_default()[(at % 4) as usize] |= 1 << (lane % LANES);
        }
    }

    pub(super) fn all(&self, lane: usize, address: u64, bytes: u64) -> bool {
        let written = |at: u64| self.words.get(&(at / 4)).map_or(0, |word| word[(at % 4) as usize]);
        (address..address.saturating_add(bytes)).all(|at| written(at) >> (lane % LANES) & 1 == 1)
    }

    /// Lanes leave a call: what they had there is gone.
    pub(super) fn forget(&mut self, mask: u32, from: u64, to: u64) {
        if lanes(mask).next().is_none() || self.words.is_empty() {
            return;
        }
        let inside = |word: u64| (from..to).contains(&(word * 4));
        for (_, lanes) in self.words.iter_mut().filter(|(word, _)| inside(**word)) {
            lanes.iter_mut().for_each(|lanes| *lanes &= !mask);
        }
        self.words.retain(|_, lanes| lanes.iter().any(|&lanes| lanes != 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_one_by_one_across_words_of_bits() {
        let written = Written::nothing(200).unwrap();
        written.write(60, 8);
        assert!(written.all(60, 8) && !written.all(59, 2) && !written.all(67, 2));
        written.write(0, 1000);
        assert!(written.all(0, 200));
        written.forget(64, 1);
        assert!(!written.all(60, 8) && written.all(65, 135));
    }

    #[test]
    fn lanes_write_their_own_stack_and_lose_it_when_they_leave() {
        let mut stack = Stack::default();
        stack.write(3, 100, 8);
        assert!(stack.all(3, 100, 8) && !stack.all(4, 100, 4) && !stack.all(3, 100, 12));
        stack.forget(1 << 3, 104, 200);
        assert!(stack.all(3, 100, 4) && !stack.all(3, 104, 4));
    }
}
