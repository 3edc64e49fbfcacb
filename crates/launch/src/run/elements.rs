//! Memory as an array: the type of its elements, and its shape.

use crate::arrays;
use crate::names;
use crate::npy::DType;
use softwarp::num::Format;
use softwarp::num::slice::packed_len;

/// The array that a memory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elements {
    /// The type as NumPy has it.
    pub dtype: DType,
    /// The type of numbers, if it is one.
    pub format: Option<Format>,
    /// How many along each axis; of types with two codes in a byte, codes.
    pub shape: Vec<usize>,
}

impl Elements {
    /// Numbers of a type.
    pub fn new(format: Format, shape: Vec<usize>) -> Elements {
        Elements { dtype: arrays::dtype(format), format: Some(format), shape }
    }

    /// Elements of a NumPy type.
    pub fn of_dtype(dtype: DType, shape: Vec<usize>) -> Elements {
        let format = match (dtype.kind, dtype.size) {
            ('f', 2) => Some(Format::F16),
            ('f', 4) => Some(Format::F32),
            ('f', 8) => Some(Format::F64),
            ('i', size) => format(&format!("s{}", size.saturating_mul(8))),
            ('u', size) => format(&format!("u{}", size.saturating_mul(8))),
            ('b', 1) => Some(Format::U8),
            _ => None,
        };
        Elements { dtype, format, shape }
    }
}

/// A type of numbers by any of its names: `f32`, `i32`, `float8_e4m3fn`, `half`.
pub fn format(name: &str) -> Option<Format> {
    names::find(name)
}

/// How many numbers of a type are in memory of a given size, if that is a whole number of them.
pub fn count(format: Format, bytes: u64) -> Option<u64> {
    match format.pitch() {
        4 => bytes.checked_mul(2),
        _ => bytes.is_multiple_of(format.bytes() as u64).then(|| bytes / format.bytes() as u64),
    }
}

/// The bytes of numbers, as arrays have them.
pub fn pack(format: Format, codes: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(packed_len(format, codes.len()));
    match format.pitch() {
        4 => bytes.extend(codes.chunks(2).map(|pair| {
            let code = |index: usize| pair.get(index).map_or(0, |code| *code as u8 & 15);
            code(0) | code(1) << 4
        })),
        _ => codes.iter().for_each(|code| bytes.extend(&code.to_le_bytes()[..format.bytes()])),
    }
    bytes
}

/// The codes of numbers in memory, in order. What is left over at the end is no number.
pub fn codes(format: Format, bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let (width, several) = if format.pitch() == 4 { (1, 2) } else { (format.bytes(), 1) };
    bytes.chunks_exact(width).flat_map(move |bytes| {
        let all = bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        (0..several).map(move |index| all >> (4 * index) & format.mask())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_packed_and_unpacked() {
        for format in Format::ALL {
            let wanted: Vec<u64> = (0..8).map(|code| code & format.mask()).collect();
            let bytes = pack(format, &wanted);
            assert_eq!(codes(format, &bytes).collect::<Vec<u64>>(), wanted, "{format}");
            assert_eq!(bytes.len(), packed_len(format, 8), "{format}");
            assert_eq!(count(format, bytes.len() as u64), Some(8), "{format}");
        }
        assert_eq!(count(Format::F32, 6), None);
    }

    #[test]
    fn arrays_of_numpy_have_types_of_numbers() {
        let is = |text: &str| Elements::of_dtype(DType::parse(text).expect("a type"), vec![]).format;
        assert_eq!(
            (is("<f2"), is("<i8"), is("|u1")),
            (Some(Format::F16), Some(Format::S64), Some(Format::U8))
        );
        assert_eq!((is("<V2"), is("<c8"), is("<i3")), (None, None, None));
        for format in [Format::F32, Format::S8, Format::U64] {
            assert_eq!(Elements::of_dtype(arrays::dtype(format), vec![]).format, Some(format));
        }
    }
}
