//! The order in which threads run.
//!
//! PTX leaves it open, within what synchronization orders (PTX ISA section 8), and many bugs show in some orders
//! only. The fixed schedule runs warps round-robin in long slices, CTAs by their number, and of a warp's diverged lanes
//! those first that are behind. A random one varies, from a seed:
//!
//! - which warp of a CTA runs next, and for how many operations (from one to a whole slice);
//! - which CTA runs next, of those that have begun or could begin. The order in which CTAs begin is shuffled among 64
//!   neighbours only: kernels whose CTAs wait for earlier ones need these to be resident, as they are on a GPU;
//! - on targets with independent thread scheduling (sm_70 and newer), which lanes of a diverged warp run next. Lanes
//!   that come to an operation which a whole warp must execute together (`mma`, `bar`, `shfl` without `.sync`) wait
//!   there until no other lanes of the warp can run.
//!
//! The same seed gives the same order, on one thread of the host: `%clock` and `%globaltimer` then count reads instead
//! of time. All orders are sequentially consistent; reordered accesses are for the race sanitizer to find.

use softwarp_num::splitmix::{SplitMix64, hash, mix64};

/// The order in which threads run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Always the same, and the fastest.
    #[default]
    Fixed,
    /// A random order, from a seed.
    Random(u64),
}

impl Schedule {
    /// The seed of a random one.
    pub(crate) fn seed(self) -> Option<u64> {
        match self {
            Schedule::Fixed => None,
            Schedule::Random(seed) => Some(seed),
        }
    }
}

/// How many neighbours are shuffled.
const WINDOW: u64 = 64;

/// Random choices of a schedule, from a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64::new(hash(seed)))
    }

    /// A number below another.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0.below(most)
    }

    /// The cost of a slice, between two powers of two: short slices are as likely as long ones.
    pub(crate) fn slice(&mut self, least: u32, most: u32) -> i64 {
        let power = least + self.below((most - least + 1) as usize) as u32;
        1 << power
    }

    /// The first numbers, in any order.
    pub(crate) fn order<const N: usize>(&mut self, count: usize) -> [u8; N] {
        let mut order = std::array::from_fn(|index| index as u8);
        for index in (1..count.min(N)).rev() {
            order.swap(index, self.below(index + 1));
        }
        order
    }
}

/// A random permutation of `count` elements that moves each only among its neighbours.
pub(crate) fn shuffled(seed: u64, index: u64, count: u64) -> u64 {
    let base = index / WINDOW * WINDOW;
    let size = (count - base).min(WINDOW);
    let key = mix64(seed ^ mix64(base + 1));
    // A bijection of the whole window; what falls outside of a shorter one goes on (cycle walking).
    let (factor, term) = ((key % WINDOW) | 1, key >> 32);
    let step = |place: u64| place.wrapping_mul(factor).wrapping_add(term) % WINDOW;
    let mut place = step(index - base);
    while place >= size {
        place = step(place);
    }
    base + place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_shuffled_and_none_is_lost() {
        for seed in 0..50 {
            for count in [1, 2, 63, 64, 65, 200] {
                let mut seen: Vec<u64> = (0..count).map(|index| shuffled(seed, index, count)).collect();
                assert!(seen.iter().zip(0..).all(|(&to, from)| to / WINDOW == from / WINDOW));
                seen.sort_unstable();
                assert_eq!(seen, (0..count).collect::<Vec<_>>(), "{seed} {count}");
            }
        }
        let orders: std::collections::HashSet<Vec<u64>> =
            (0..50).map(|seed| (0..8).map(|index| shuffled(seed, index, 8)).collect()).collect();
        assert!(orders.len() > 10, "{}", orders.len());
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            (random.order::<32>(20), random.slice(5, 18), random.below(1000))
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        let (mut order, slice, _) = numbers(7);
        order.sort_unstable();
        assert_eq!(order, std::array::from_fn(|index| index as u8));
        assert!((1 << 5..=1 << 18).contains(&slice));
    }
}
