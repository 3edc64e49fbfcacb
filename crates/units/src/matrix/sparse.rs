//! Sparse matrices (PTX ISA section 9.7.14.6.1): which elements of a row are there.
//!
//! Of every chunk of a row of A half of the elements are stored, and four bits of metadata say which: two numbers of two
//! bits. Where each chunk's bits are was seen on an H200, and is the same for `mma.sp` and `wgmma.mma_async.sp`.

use crate::lanes::LANES;

/// How a sparse matrix A with 16 rows is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sparsity {
    /// Elements of a chunk: 2 of `tf32`, 4, or 8 of elements of 4 bits, which come in pairs.
    pub chunk: usize,
    /// Bits of an element.
    pub bits: u32,
    /// The selector: which lanes of a group of four have the metadata.
    pub selector: usize,
    /// How many elements a row has, stored or not.
    pub length: usize,
}

impl Sparsity {
    /// Of elements of a given number of bits (4 only where they are packed), in rows of that many; `None` if no selector is like
    /// that.
    #[inline]
    pub fn new(bits: u32, length: usize, selector: usize) -> Option<Sparsity> {
        let chunk = match bits {
            32 => 2,
            4 => 8,
            _ => 4,
        };
        let sparsity = Sparsity { chunk, bits, selector, length };
        let lanes =
            sparsity.chunks().div_ceil(if bits >= 16 { 4 } else { 8 }) * if bits >= 16 { 1 } else { 2 };
        (selector.checked_mul(lanes).is_some_and(|first| first + lanes <= 4)).then_some(sparsity)
    }

    /// Chunks of a row.
    fn chunks(&self) -> usize {
        self.length / self.chunk
    }

    /// How many elements of a row are stored.
    #[inline]
    pub fn stored(&self) -> usize {
        self.length / 2
    }

    /// The metadata of a row: four bits for each chunk, from the lowest.
    fn metadata(&self, words: &[u32; LANES], row: usize) -> u64 {
        let (group, lower) = (row % 8 * 4, row / 8 % 2);
        let word = |lane: usize| u64::from(words[(group + lane) % LANES]);
        if self.bits >= 16 {
            // A lane has four chunks of each of its two rows.
            let lanes = self.chunks().div_ceil(4).min(4);
            let of_lane =
                |at: usize| (word(self.selector * lanes + at) >> (16 * lower) & 0xffff) << (16 * at);
            (0..lanes).fold(0, |all, at| all | of_lane(at))
        } else {
            // A lane has eight chunks of one row.
            let pairs = self.chunks().div_ceil(8).min(2);
            let of_lane = |at: usize| word(self.selector * 2 + at * 2 + lower) << (32 * at);
            (0..pairs).fold(0, |all, at| all | of_lane(at))
        }
    }

    /// Where in its row each stored element is.
    #[inline]
    pub fn positions(&self, words: &[u32; LANES], row: usize, into: &mut [u16]) {
        let mut metadata = self.metadata(words, row);
        let mut first = 0;
        let into = &mut into[..self.stored()];
        for places in into.chunks_mut(self.chunk / 2) {
            let bits = metadata as u16;
            metadata >>= 4;
            match places {
                // The two numbers are those of the element's halves.
                [place] => *place = first + (bits >> 1 & 1),
                [low, high] => [*low, *high] = [first + (bits & 3), first + (bits >> 2 & 3)],
                _ => {
                    for (within, place) in (0..).zip(places) {
                        *place = first + 2 * (bits >> (within / 2 * 2) & 3) + within % 2;
                    }
                }
            }
            first += self.chunk as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_halves_is_in_one_lane_of_four_for_16_and_in_two_for_32() {
        let mut words = [0x4444_4444; LANES];
        words[4 * 3 + 1] = 0x4444_44e4;
        let sparsity = Sparsity::new(16, 16, 1).expect("there are four selectors");
        let mut positions = [0; 8];
        sparsity.positions(&words, 3, &mut positions);
        assert_eq!(positions, [0, 1, 6, 7, 8, 9, 12, 13]);
        words[4 * 3 + 1] = 0xe444_4444;
        sparsity.positions(&words, 11, &mut positions);
        assert_eq!(positions, [0, 1, 4, 5, 8, 9, 14, 15]);
        let sparsity = Sparsity::new(16, 32, 0).expect("there are two");
        let mut positions = [0; 16];
        sparsity.positions(&words, 11, &mut positions);
        assert_eq!(positions[8..], [16, 17, 20, 21, 24, 25, 30, 31]);
        assert_eq!(Sparsity::new(16, 32, 2), None);
    }

    #[test]
    fn elements_of_four_bits_come_in_pairs_and_those_of_32_alone() {
        let mut words = [0x4444_4444; LANES];
        words[1] = 0x4444_444d;
        let sparsity = Sparsity::new(4, 64, 0).expect("it is one of two");
        let mut positions = [0; 32];
        sparsity.positions(&words, 8, &mut positions);
        assert_eq!(positions[..6], [2, 3, 6, 7, 8, 9]);
        words[0] = 0x4444_44e4;
        let sparsity = Sparsity::new(32, 8, 0).expect("it is one of four");
        let mut positions = [0; 4];
        sparsity.positions(&words, 0, &mut positions);
        assert_eq!(positions, [0, 3, 4, 6]);
    }
}
