//! Sets of small numbers: bit sets, and disjoint sets.

/// A set of small numbers.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BitSet(pub(crate) Vec<u64>);

impl BitSet {
    /// An empty one, for numbers below a count.
    pub(crate) fn new(count: usize) -> BitSet {
        BitSet(vec![0; count.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(crate) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 != 0
    }

    /// Adds the numbers of another.
    pub(crate) fn add(&mut self, other: &BitSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The numbers, the least first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    64 * at + bit
                })
            })
        })
    }
}

/// Disjoint sets of nodes.
#[derive(Default)]
pub(crate) struct UnionFind {
    parents: Vec<u32>,
}

impl UnionFind {
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
        let mut set = BitSet::new(130);
        [129, 0, 64, 63, 5].into_iter().for_each(|number| set.insert(number));
        set.remove(5);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!(set.count(), 4);
        let mut sets = UnionFind::default();
        let [a, b, c] = [sets.add(), sets.add(), sets.add()];
        sets.join(a, c);
        assert!(sets.root(a) == sets.root(c) && sets.root(a) != sets.root(b) && sets.len() == 3);
    }
}
