//! Elements of A and B, and how they lie in 16 bytes.
//!
//! FP6 and FP4 numbers, where they meet FP8 ones, become e4m3: all of them are numbers of that format. (So the
//! subnormal ones have the exponents that e4m3 gives them; `docs/matrix-rounding.md` says that this is an assumption.)

use super::copy::Packing;
use crate::matrix::lines::Line;
use softwarp_num::{Format, Rounding, Saturation};
use std::sync::LazyLock;

/// What an element of A or B is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A number, in 32, 16 or 8 bits.
    Float(Format),
    /// e2m1, two in a byte: of `.kind::mxf4` and `.kind::mxf4nvf4`.
    Packed,
    /// An integer of 8 bits.
    Integer {
        /// Whether it is `.s8`.
        signed: bool,
    },
}

/// Where 16 bytes are from: elements of less than 8 bits lie differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Shared memory: 16 elements, packed.
    Shared,
    /// Tensor memory: each in a byte.
    Tensor,
}

impl Element {
    /// Bits of an element as products take it.
    pub fn bits(self) -> u32 {
        match self {
            Element::Float(Format::Tf32) => 32,
            Element::Float(Format::F16 | Format::Bf16) => 16,
            Element::Float(_) | Element::Integer { .. } => 8,
            Element::Packed => 4,
        }
    }

    /// The format that products take.
    pub fn format(self) -> Format {
        match self {
            Element::Float(Format::E2m1 | Format::E2m3 | Format::E3m2) => Format::E4m3,
            Element::Float(format) => format,
            Element::Packed => Format::E2m1,
            Element::Integer { .. } => Format::S8,
        }
    }

    /// The bit that is the sign of an element as products take it.
    pub fn sign(self) -> u32 {
        1 << (self.bits() - 1)
    }

    /// Whether it is of less than 8 bits in a container of 8.
    pub fn is_small(self) -> bool {
        matches!(self, Element::Float(Format::E2m1 | Format::E2m3 | Format::E3m2))
    }

    /// How elements lie in 16 bytes of shared memory.
    pub fn packing(self) -> Packing {
        match self {
            Element::Float(Format::E2m1) => Packing::Four,
            Element::Float(Format::E2m3 | Format::E3m2) => Packing::Six,
            _ => Packing::Bytes,
        }
    }

    /// 16 bytes as products take them.
    #[inline]
    pub fn take(self, from: From, words: [u32; 4]) -> [u32; 4] {
        let Element::Float(format @ (Format::E2m1 | Format::E2m3 | Format::E3m2)) = self else {
            return words;
        };
        let packing = if from == From::Tensor { Packing::Bytes } else { self.packing() };
        let table = &TABLES[format as usize - Format::E2m3 as usize];
        packing
            .unpack(words)
            .map(|word| u32::from_le_bytes(word.to_le_bytes().map(|code| table[usize::from(code)])))
    }
}

/// Of e2m3, e3m2 and e2m1: the code of e4m3 for each byte that contains one.
static TABLES: LazyLock<[[u8; 256]; 3]> = LazyLock::new(|| {
    [(Format::E2m3, 0), (Format::E3m2, 0), (Format::E2m1, 2)].map(|(format, shift): (Format, u32)| {
        std::array::from_fn(|byte| {
            let code = byte as u64 >> shift & ((1 << format.bits()) - 1);
            let value = Format::E4m3.encode(format.decode(code), Rounding::NearestEven, Saturation::None);
            value.map_or(0, |code| code as u8)
        })
    })
});

/// Inverts the signs of all elements of lines.
pub fn negate(element: Element, lines: &mut [Line]) {
    let bits = element.bits();
    let signs = (0..32 / bits).fold(0, |signs, at| signs | element.sign() << (at * bits));
    lines.iter_mut().flat_map(|line| &mut line.0).for_each(|word| *word ^= signs);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_become_e4m3() {
        for format in [Format::E2m1, Format::E2m3, Format::E3m2] {
            let shift = if format == Format::E2m1 { 2 } else { 0 };
            for code in 0..1u32 << format.bits() {
                let taken = Element::Float(format).take(From::Tensor, [code << shift, 0, 0, 0]);
                let value = Format::E4m3.decode(u64::from(taken[0] & 0xff));
                assert_eq!(value.to_bits(), format.decode(code.into()).to_bits(), "{format:?} {code:#x}");
                let packed = Element::Float(format).take(From::Shared, [code, 0, 0, 0]);
                assert_eq!(packed[0] & 0xff, taken[0] & 0xff);
            }
        }
    }
}
