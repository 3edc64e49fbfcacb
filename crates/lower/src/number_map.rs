//! Maps whose keys are numbers.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A keyed hash of one number by a multiplication whose halves are added up. Constants of the module are keys, so
/// that without a random factor a file could make them collide.
#[derive(Clone)]
pub struct MultiplyShift {
    key: [u64; 2],
    hash: u64,
}

impl Default for MultiplyShift {
    fn default() -> MultiplyShift {
        let state = RandomState::new();
        MultiplyShift { key: [state.hash_one(0u64), state.hash_one(1u64) | 1], hash: 0 }
    }
}

impl BuildHasher for MultiplyShift {
    type Hasher = MultiplyShift;

    fn build_hasher(&self) -> MultiplyShift {
        self.clone()
    }
}

impl Hasher for MultiplyShift {
    fn finish(&self) -> u64 {
        self.hash
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    fn write_u64(&mut self, value: u64) {
        let [add, factor] = self.key;
        let product = u128::from(self.hash ^ value ^ add) * u128::from(factor);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }
}

/// A map from numbers.
pub type NumberMap<V> = HashMap<u64, V, MultiplyShift>;
