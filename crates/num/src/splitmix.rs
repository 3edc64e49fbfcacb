//! SplitMix64: pseudorandom numbers from a seed, the same on every machine.
//!
//! Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014). The state is a counter that
//! grows by a fixed odd constant; an output is a bijective mix of the counter. The n-th output can therefore be computed
//! without those before it. Not for cryptography.
//!
//! Stochastic rounding takes its random bits from here, and so do random schedules, made inputs and tests.

/// By how much the state grows for each output: 2^64 divided by the golden ratio, made odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function: a bijection of 64-bit words in which every bit of the input affects every bit of the output.
#[inline(always)]
pub const fn mix64(z: u64) -> u64 {
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Output number `index` (from 0) of the generator with this seed.
#[inline(always)]
pub const fn output(seed: u64, index: u64) -> u64 {
    mix64(seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GAMMA)))
}

/// The first output of the generator with this seed: a hash of 64 bits.
#[inline(always)]
pub const fn hash(seed: u64) -> u64 {
    output(seed, 0)
}

/// The generator.
#[derive(Clone, Copy, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator with this seed.
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next output.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix64(self.0)
    }

    /// The upper half of the next output.
    #[inline]
    pub const fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A number from 0 to less than 1, with 24 bits.
    #[inline]
    pub const fn next_fraction(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / 16_777_216.0
    }

    /// A number below `limit` (0 if that is 0): the upper half of a 128-bit product.
    #[inline]
    pub const fn below(&mut self, limit: usize) -> usize {
        ((self.next_u64() as u128 * limit as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_those_of_the_reference() {
        // The first outputs for seed 0 of the authors' program.
        let expected = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        let mut generator = SplitMix64::new(0);
        for (index, expected) in (0..).zip(expected) {
            assert_eq!(generator.next_u64(), expected);
            assert_eq!(output(0, index), expected);
        }
        assert_eq!(hash(0), expected[0]);
    }

    #[test]
    fn numbers_below_a_limit_reach_all_of_them() {
        let mut generator = SplitMix64::new(1);
        let mut seen = [false; 10];
        (0..1000).for_each(|_| seen[generator.below(10)] = true);
        assert_eq!(seen, [true; 10]);
        assert_eq!(generator.below(0), 0);
    }
}
