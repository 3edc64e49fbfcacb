//! Sets of small numbers: bit sets, and disjoint sets.

use crate::buffers::Buffer;

/// Sets of small numbers, in one list of words.
pub(crate) struct BitSets {
    words: Buffer<u64>,
    /// Words of a set.
    width: usize,
}

impl BitSets {
    /// Empty ones, for numbers below a count.
    pub(crate) fn new(sets: usize, count: usize) -> BitSets {
        let width = count.div_ceil(64);
        BitSets { words: Buffer::filled(0, sets * width), width }
    }

    /// The words of a set.
    pub(crate) fn words(&self, set: usize) -> &[u64] {
        &self.words[set * self.width..(set + 1) * self.width]
    }

    /// The same, to be changed.
    pub(crate) fn words_mut(&mut self, set: usize) -> &mut [u64] {
        &mut self.words[set * self.width..(set + 1) * self.width]
    }

    pub(crate) fn contains(&self, set: usize, number: usize) -> bool {
        self.words(set)[number / 64] >> (number % 64) & 1 != 0
    }

    /// Adds the numbers of another set that are not among some. Returns whether there are more then.
    pub(crate) fn add(&mut self, set: usize, other: usize, without: &[u64]) -> bool {
        let (to, from) = (set * self.width, other * self.width);
        let mut more = 0;
        for (at, without) in without.iter().enumerate() {
            let new = self.words[from + at] & !without & !self.words[to + at];
            self.words[to + at] |= new;
            more |= new;
        }
        more != 0
    }

    /// How many numbers a set has.
    pub(crate) fn count(&self, set: usize) -> usize {
        self.words(set).iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The numbers of a set, the least first.
    pub(crate) fn iter(&self, set: usize) -> Numbers<'_> {
        Numbers { rest: 0, base: 0_usize.wrapping_sub(64), words: self.words(set).iter() }
    }
}

/// Adds a number to the set that some words are.
pub(crate) fn insert(words: &mut [u64], number: usize) {
    words[number / 64] |= 1 << (number % 64);
}

/// Removes a number.
pub(crate) fn remove(words: &mut [u64], number: usize) {
    words[number / 64] &= !(1 << (number % 64));
}

/// The numbers of a set.
pub(crate) struct Numbers<'a> {
    /// Bits of the present word.
    rest: u64,
    /// The number of its lowest bit.
    base: usize,
    words: std::slice::Iter<'a, u64>,
}

impl Iterator for Numbers<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.rest == 0 {
            self.rest = *self.words.next()?;
            self.base = self.base.wrapping_add(64);
        }
        let bit = self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(self.base + bit)
    }
}

/// Disjoint sets of nodes.
pub(crate) struct UnionFind {
    parents: Buffer<u32>,
}

impl UnionFind {
    /// None yet, and room for some nodes.
    pub(crate) fn new(nodes: usize) -> UnionFind {
        UnionFind { parents: Buffer::new(nodes) }
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }

    /// Adds a node in a set of its own.
    pub(crate) fn add(&mut self) -> u32 {
        let node = self.parents.len() as u32;
        self.parents.push(node);
        node
    }

    /// The node that stands for the set of another.
    pub(crate) fn root(&mut self, mut node: u32) -> u32 {
        loop {
            let parent = self.parents[node as usize];
            if parent == node {
                return node;
            }
            let above = self.parents[parent as usize];
            self.parents[node as usize] = above;
            node = above;
        }
    }

    pub(crate) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a as usize] = b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let mut bits = BitSets::new(3, 130);
        [129, 0, 64, 63, 5].into_iter().for_each(|number| insert(bits.words_mut(1), number));
        remove(bits.words_mut(1), 5);
        assert_eq!(bits.iter(1).collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!([0, 1, 2].map(|set| bits.count(set)), [0, 4, 0]);
        assert!(bits.contains(1, 64) && !bits.contains(1, 5));
        assert!(bits.add(2, 1, &[1, 0, 0]) && !bits.add(2, 1, &[1, 0, 0]) && bits.add(2, 1, &[0; 3]));
        assert_eq!(bits.iter(2).collect::<Vec<_>>(), [0, 63, 64, 129]);
        let mut sets = UnionFind::new(3);
        let [a, b, c] = [sets.add(), sets.add(), sets.add()];
        sets.join(a, c);
        assert!(sets.root(a) == sets.root(c) && sets.root(a) != sets.root(b) && sets.len() == 3);
    }
}
