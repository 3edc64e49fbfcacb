//! Loops over bytes: hexadecimal digits, words that count or look random, and a hash.

use softwarp::num::splitmix;

/// Reads hexadecimal digits, two for each byte.
pub fn from_hex(digits: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    if !digits.len().is_multiple_of(2) {
        return Err(format!("{} hexadecimal digits: there are two for each byte", digits.len()));
    }
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| "data has a character that is no hexadecimal digit".to_owned())
}

/// Bytes as hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    let nibble = |bits: u8| char::from(b"0123456789abcdef"[usize::from(bits & 15)]);
    bytes.iter().flat_map(|byte| [nibble(byte >> 4), nibble(*byte)]).collect()
}

/// A rule that makes 32-bit words, which are stored as bytes in little-endian order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// The word `w` is `w * factor + more`.
    Linear {
        /// What the index of a word is multiplied by.
        factor: u32,
        /// What is added.
        more: u32,
    },
    /// The word `w` is the high half of splitmix64's output step on the seed + `w`.
    Splitmix(u64),
}

impl Words {
    /// The word `w` is `w`.
    pub const IOTA: Words = Words::Linear { factor: 1, more: 0 };

    fn word(self, index: u64) -> u32 {
        match self {
            Words::Linear { factor, more } => (index as u32).wrapping_mul(factor).wrapping_add(more),
            Words::Splitmix(seed) => (splitmix::hash(seed.wrapping_add(index)) >> 32) as u32,
        }
    }

    /// A byte of the words.
    pub fn byte(self, at: u64) -> u8 {
        self.word(at / 4).to_le_bytes()[(at % 4) as usize]
    }

    /// Writes the first bytes of the words. A last word that does not fit is cut.
    pub fn fill(self, bytes: &mut [u8]) {
        self.fill_from(0, bytes);
    }

    /// Hands over the first bytes of the words in pieces: where each is, and its bytes.
    pub fn pieces<E>(self, bytes: u64, mut put: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut piece = vec![0; bytes.min(PIECE) as usize];
        for first in (0..bytes).step_by(PIECE as usize) {
            let part = &mut piece[..(bytes - first).min(PIECE) as usize];
            self.fill_from(first / 4, part);
            put(first, part)?;
        }
        Ok(())
    }

    fn fill_from(self, first: u64, bytes: &mut [u8]) {
        let mut words = bytes.chunks_exact_mut(4);
        let mut index = first;
        for word in &mut words {
            word.copy_from_slice(&self.word(index).to_le_bytes());
            index += 1;
        }
        let last = self.word(index).to_le_bytes();
        let rest = words.into_remainder();
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// How many bytes are made at a time.
const PIECE: u64 = 1 << 18;

/// The hash FNV-1a of 64 bits.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(words: Words, bytes: u64) -> Vec<u8> {
        let mut memory = vec![0; bytes as usize];
        let put = |at: u64, piece: &[u8]| {
            memory[at as usize..at as usize + piece.len()].copy_from_slice(piece);
            Ok::<(), ()>(())
        };
        words.pieces(bytes, put).expect("nothing fails");
        memory
    }

    #[test]
    fn words_count_and_mix_and_the_last_is_cut() {
        assert_eq!(made(Words::IOTA, 10), [0, 0, 0, 0, 1, 0, 0, 0, 2, 0]);
        // splitmix64's first output for the seed 0 is e220a8397b1dcdaf.
        assert_eq!(made(Words::Splitmix(0), 4), [0x39, 0xa8, 0x20, 0xe2]);
        let long = made(Words::IOTA, PIECE + 4);
        assert_eq!(long[PIECE as usize..], [0, 0, 1, 0]);
        let linear = Words::Linear { factor: 3, more: 5 };
        let bytes = made(linear, 11);
        assert_eq!(bytes, [5, 0, 0, 0, 8, 0, 0, 0, 11, 0, 0]);
        assert!((0u64..).zip(&bytes).all(|(at, byte)| linear.byte(at) == *byte));
    }

    #[test]
    fn digits_and_bytes_are_the_same_thing() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&all)), Ok(all));
    }

    #[test]
    fn the_hash_is_fnv1a() {
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
