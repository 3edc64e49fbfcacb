//! Where the choices of a generator come from: random numbers from a seed, or the bytes of a fuzzer.

use softwarp_num::splitmix::SplitMix64;

/// A source of choices.
pub enum Choices<'a> {
    /// Random numbers.
    Random(SplitMix64),
    /// Bytes; where there are no more, the first of everything is chosen.
    Bytes(&'a [u8]),
}

impl Choices<'_> {
    /// Those of a seed.
    pub fn seeded(seed: u64) -> Choices<'static> {
        Choices::Random(SplitMix64::new(seed))
    }

    /// Whether there are no more bytes.
    pub fn are_spent(&self) -> bool {
        matches!(self, Choices::Bytes([]))
    }

    /// A number of as many bits as is needed for `count` possibilities.
    fn number(&mut self, count: u64) -> u64 {
        match self {
            Choices::Random(random) => random.next_u64(),
            Choices::Bytes(bytes) => {
                let wanted = match count {
                    ..=0x100 => 1,
                    0x101..=0x1_0000 => 2,
                    _ => 8,
                };
                let (taken, rest) = bytes.split_at(bytes.len().min(wanted));
                *bytes = rest;
                taken.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
            }
        }
    }

    /// One of `count` possibilities.
    pub fn below(&mut self, count: u64) -> u64 {
        self.number(count) % count.max(1)
    }

    /// Whether the last of `count` possibilities was chosen.
    pub fn once_in(&mut self, count: u64) -> bool {
        self.below(count) == count - 1
    }

    /// Any 64 bits, often few of them.
    pub fn bits(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(256),
            1 => self.below(256) << self.below(64),
            2 => !self.below(256),
            _ => self.number(u64::MAX),
        }
    }

    /// One of a list.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}
