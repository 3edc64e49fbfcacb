//! What a GPU computed beside what the machine did, memory by memory.
//!
//! Addresses differ from run to run: a word that is an address within a buffer here and the address of the same byte of the
//! same buffer on the GPU is the same.

use crate::literal::display;
use crate::run::compare::{Difference, Rule};
use softwarp::num::Format;

/// Where buffers are, here and on the GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(pub Vec<Place>);

/// A buffer on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its address here.
    pub here: u64,
    /// Its address on the GPU.
    pub gpu: u64,
    /// Its size.
    pub bytes: u64,
}

impl Places {
    /// Whether two words are addresses of the same byte. One right behind a buffer is an address of it too.
    fn are_same(&self, here: u64, gpu: u64) -> bool {
        self.0.iter().any(|place| {
            let offset = here.wrapping_sub(place.here);
            offset <= place.bytes && gpu.wrapping_sub(place.gpu) == offset
        })
    }
}

/// What the comparison of a memory came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The memory's name.
    pub name: String,
    /// How many elements it has.
    pub elements: usize,
    /// How many of them differ.
    pub differing: usize,
    /// How many words are addresses of the same byte.
    pub addresses: usize,
    /// The first that differs.
    pub first: Option<First>,
}

/// An element that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// Which one, from 0.
    pub index: usize,
    /// Its bytes.
    pub width: usize,
    /// What its bits mean, if that is known.
    pub format: Option<Format>,
    /// Its bits here.
    pub here: u64,
    /// Its bits on the GPU.
    pub gpu: u64,
}

impl First {
    fn word(&self, bits: u64) -> String {
        let digits = 2 * self.width;
        match self.format {
            Some(format) => format!("{} (0x{bits:0digits$x})", display(format, bits)),
            None => format!("0x{bits:0digits$x}"),
        }
    }

    /// Both values.
    pub fn words(&self) -> String {
        format!("the GPU has {}, softwarp {}", self.word(self.gpu), self.word(self.here))
    }
}

/// Compares a memory. `rule` says what counts as the same, `format` what it holds, if that is known.
pub fn compare(
    name: &str,
    format: Option<Format>,
    rule: &Rule,
    places: &Places,
    here: &[u8],
    gpu: &[u8],
) -> Compared {
    let same =
        |elements| Compared { name: name.to_owned(), elements, differing: 0, addresses: 0, first: None };
    if *rule != Rule::Exact {
        return match rule.difference(name, gpu, here) {
            Some(Difference::Values { count, of, index, width, format: meaning, got, expected }) => {
                let format = meaning.or(format.filter(|format| format.bytes() == width));
                let first = First { index, width, format, here: expected, gpu: got };
                Compared { differing: count, first: Some(first), ..same(of) }
            }
            _ => same(here.len()),
        };
    }
    // Types with two numbers in a byte are compared as bytes.
    let format = format.filter(|format| format.pitch() >= 8);
    let width = match format {
        Some(format) if here.len().is_multiple_of(format.bytes()) => format.bytes(),
        _ if here.len().is_multiple_of(4) => 4,
        _ => 1,
    };
    let format = format.filter(|format| format.bytes() == width);
    let mut compared = same(here.len().div_ceil(width.max(1)));
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
    let is_address = |at: usize| {
        let word = at / 8 * 8..at / 8 * 8 + 8;
        let (Some(x), Some(y)) = (here.get(word.clone()), gpu.get(word)) else { return false };
        places.are_same(value(x), value(y))
    };
    for (index, (x, y)) in here.chunks(width).zip(gpu.chunks(width)).enumerate() {
        if x == y {
            continue;
        }
        if is_address(index * width) {
            compared.addresses += 1;
            continue;
        }
        compared.differing += 1;
        let (here, gpu) = (value(x), value(y));
        compared.first.get_or_insert(First { index, width, format, here, gpu });
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found_and_all_are_counted() {
        let here: Vec<u8> = [1.0f32, 2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let gpu: Vec<u8> = [1.0f32, 2.5, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let found = compare("y", Some(Format::F32), &Rule::Exact, &Places::default(), &here, &gpu);
        assert_eq!((found.elements, found.differing), (3, 2));
        let first = found.first.expect("one differs");
        assert_eq!(first.index, 1);
        assert_eq!(first.words(), "the GPU has 2.5 (0x40200000), softwarp 2 (0x40000000)");
        let near = Rule::Near { format: Format::F32, relative: 0.5, absolute: 0.0, raw: Vec::new() };
        assert_eq!(compare("y", None, &near, &Places::default(), &here, &gpu).differing, 0);
    }

    #[test]
    fn addresses_of_the_same_byte_are_the_same() {
        let places = Places(vec![Place { here: 0x1000, gpu: 0x7000, bytes: 16 }]);
        let word = |address: u64| address.to_le_bytes().to_vec();
        let count = |here: u64, gpu: u64| {
            compare("p", None, &Rule::Exact, &places, &word(here), &word(gpu)).differing
        };
        assert_eq!((count(0x1008, 0x7008), count(0x1010, 0x7010)), (0, 0));
        assert_eq!((count(0x1008, 0x7000), count(0x1011, 0x7011)), (1, 1));
    }
}
