//! The number formats, as data: one row each, and everything else derived from the row.
//!
//! PTX ISA sections 5.2.1 to 5.2.3. A [`Format`] is the name of a row; its [`Spec`] is the row.
//! What a format's codes *mean* (decode, encode, neighbours, limits) is in [`crate::value`].

/// A scalar number format: how many bits, and what they mean.
///
/// The discriminant is the row in the table of [`Spec`]s, and the key by which the conversion
/// loops are monomorphised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)] // The table below documents each.
pub enum Format {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    E2m3,
    E3m2,
    E2m1,
    Ue8m0,
    Ue4m3,
    Ue5m3,
    S2f6,
    U2,
    S2,
    U4,
    S4,
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
}

/// What the codes with the largest exponent field stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopCodes {
    /// As in IEEE 754: mantissa zero is infinity, anything else NaN.
    Ieee,
    /// Only the all-ones magnitude is special, and it is NaN; the rest are finite numbers.
    NanOnly,
    /// Every code is a finite number.
    Finite,
}

/// How a format's bits make a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sign (if `signed`), exponent and mantissa fields, subnormals when the exponent field is 0.
    Float {
        /// Width of the exponent field.
        exponent: u8,
        /// Width of the mantissa field, the implicit bit not counted.
        mantissa: u8,
        /// What is subtracted from the exponent field.
        bias: i16,
        /// What the largest exponent field means.
        top: TopCodes,
        /// Whether there is a sign bit above the exponent field.
        signed: bool,
        /// Bits below the mantissa that are always zero (tf32 lives in the top of a 32-bit word).
        padding: u8,
    },
    /// Only an exponent: the code `c` is 2^(c - bias), the all-ones code NaN, and there is no zero.
    Exponent {
        /// What is subtracted from the code.
        bias: i16,
    },
    /// Two's complement with this many bits after the binary point.
    Fixed {
        /// Bits after the binary point.
        fraction: u8,
    },
    /// An integer; two's complement if signed.
    Int {
        /// Whether negative numbers exist.
        signed: bool,
    },
}

/// One row of the format table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The name PTX gives it, without the dot.
    pub name: &'static str,
    /// Bits of one code.
    pub bits: u8,
    /// What the bits mean.
    pub kind: Kind,
    /// One line for people.
    pub about: &'static str,
}

const fn float(exponent: u8, mantissa: u8, top: TopCodes) -> Kind {
    let bias = (1 << (exponent - 1)) - 1;
    Kind::Float { exponent, mantissa, bias, top, signed: true, padding: 0 }
}

const fn unsigned_float(exponent: u8, mantissa: u8) -> Kind {
    let bias = (1 << (exponent - 1)) - 1;
    Kind::Float { exponent, mantissa, bias, top: TopCodes::NanOnly, signed: false, padding: 0 }
}

const fn row(name: &'static str, bits: u8, kind: Kind, about: &'static str) -> Spec {
    Spec { name, bits, kind, about }
}

const INT: Kind = Kind::Int { signed: true };
const UINT: Kind = Kind::Int { signed: false };
const TF32: Kind =
    Kind::Float { exponent: 8, mantissa: 10, bias: 127, top: TopCodes::Ieee, signed: true, padding: 13 };

use TopCodes::{Finite, Ieee, NanOnly};

/// The table. Its order is the order of [`Format`]'s variants (a test holds them together).
#[rustfmt::skip]
const SPECS: [Spec; Format::COUNT] = [
    row("f16",   16, float(5, 10, Ieee),   "IEEE binary16"),
    row("bf16",  16, float(8, 7, Ieee),    "the upper half of an f32"),
    row("tf32",  32, TF32,                 "f32 with a 10-bit mantissa, low 13 bits zero; for matrix instructions"),
    row("f32",   32, float(8, 23, Ieee),   "IEEE binary32"),
    row("f64",   64, float(11, 52, Ieee),  "IEEE binary64"),
    row("e4m3",   8, float(4, 3, NanOnly), "FP8 for weights and activations; no infinity, NaN is 7f and ff"),
    row("e5m2",   8, float(5, 2, Ieee),    "FP8 for gradients; IEEE-like"),
    row("e2m3",   6, float(2, 3, Finite),  "FP6; neither infinity nor NaN"),
    row("e3m2",   6, float(3, 2, Finite),  "FP6; neither infinity nor NaN"),
    row("e2m1",   4, float(2, 1, Finite),  "FP4; neither infinity nor NaN"),
    row("ue8m0",  8, Kind::Exponent { bias: 127 }, "a power of two, for block scales; no zero, no sign, NaN is ff"),
    row("ue4m3",  7, unsigned_float(4, 3), "e4m3 without its sign, for block scales; NaN is 7f"),
    row("ue5m3",  8, unsigned_float(5, 3), "unsigned, for block scales; no infinity, NaN is ff"),
    row("s2f6",   8, Kind::Fixed { fraction: 6 }, "fixed point, two's complement, 6 fraction bits"),
    row("u2",     2, UINT, "2-bit unsigned integer (cvt.pack)"),
    row("s2",     2, INT,  "2-bit signed integer (cvt.pack)"),
    row("u4",     4, UINT, "4-bit unsigned integer (cvt.pack)"),
    row("s4",     4, INT,  "4-bit signed integer (cvt.pack)"),
    row("u8",     8, UINT, "8-bit unsigned integer"),
    row("s8",     8, INT,  "8-bit signed integer"),
    row("u16",   16, UINT, "16-bit unsigned integer"),
    row("s16",   16, INT,  "16-bit signed integer"),
    row("u32",   32, UINT, "32-bit unsigned integer"),
    row("s32",   32, INT,  "32-bit signed integer"),
    row("u64",   64, UINT, "64-bit unsigned integer"),
    row("s64",   64, INT,  "64-bit signed integer"),
];

impl Format {
    /// How many formats there are.
    pub const COUNT: usize = Format::S64 as usize + 1;

    /// Every format, in table order.
    #[rustfmt::skip]
    pub const ALL: [Format; Format::COUNT] = [
        Format::F16, Format::Bf16, Format::Tf32, Format::F32, Format::F64,
        Format::E4m3, Format::E5m2, Format::E2m3, Format::E3m2, Format::E2m1,
        Format::Ue8m0, Format::Ue4m3, Format::Ue5m3, Format::S2f6,
        Format::U2, Format::S2, Format::U4, Format::S4,
        Format::U8, Format::S8, Format::U16, Format::S16,
        Format::U32, Format::S32, Format::U64, Format::S64,
    ];

    /// The format's row.
    pub const fn spec(self) -> Spec {
        SPECS[self as usize]
    }

    /// The name PTX gives it, without the dot.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// Bits of one code.
    pub const fn bits(self) -> u32 {
        self.spec().bits as u32
    }

    /// Bits that one element takes inside a packed register: FP6 and ue4m3 codes sit in bytes.
    pub const fn pitch(self) -> u32 {
        match self.bits() {
            6 | 7 => 8,
            bits => bits,
        }
    }

    /// Bytes of one element that stands alone in memory (sub-byte codes take a byte).
    pub const fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// All ones in the bits of a code.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The exponent and mantissa fields, as one number, that follow those of the largest finite number of a
    /// floating format: infinity, NaN, or nothing that exists.
    pub(crate) const fn magnitude_above_finite(self) -> u64 {
        match self.spec().kind {
            Kind::Float { exponent, mantissa, top, .. } => match top {
                TopCodes::Ieee => ((1 << exponent) - 1) << mantissa,
                TopCodes::NanOnly => (1 << (exponent + mantissa)) - 1,
                TopCodes::Finite => 1 << (exponent + mantissa),
            },
            _ => self.mask(),
        }
    }

    /// Whether it is one of the integer formats.
    pub const fn is_int(self) -> bool {
        matches!(self.spec().kind, Kind::Int { .. })
    }

    /// Whether negative numbers exist in it.
    pub const fn is_signed(self) -> bool {
        match self.spec().kind {
            Kind::Float { signed, .. } | Kind::Int { signed } => signed,
            Kind::Exponent { .. } => false,
            Kind::Fixed { .. } => true,
        }
    }

    /// Finds a format by PTX's name for it.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// One or several elements of one format in one register: element 0 is the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packed {
    /// What each element is.
    pub element: Format,
    /// How many: 1, 2 or 4.
    pub lanes: u8,
}

impl Packed {
    /// A single element.
    pub const fn scalar(element: Format) -> Packed {
        Packed { element, lanes: 1 }
    }

    /// Bits of the whole register, which is also the width of the bit type that holds it
    /// (two FP6 are `.b16`, four FP4 are `.b16`).
    pub const fn bits(self) -> u32 {
        self.element.pitch() * self.lanes as u32
    }

    /// The lowest bit of element `lane`.
    pub const fn shift(self, lane: u32) -> u32 {
        self.element.pitch() * lane
    }

    /// The code of element `lane`; bits of the pitch above the code are ignored.
    pub const fn get(self, register: u64, lane: u32) -> u64 {
        (register >> self.shift(lane)) & self.element.mask()
    }

    /// Puts codes together, element 0 lowest; padding bits are zero.
    pub fn join(self, codes: &[u64]) -> u64 {
        let mask = self.element.mask();
        (0..).zip(codes).fold(0, |register, (lane, code)| register | (code & mask) << self.shift(lane))
    }
}

impl std::fmt::Display for Packed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lanes {
            1 => write!(f, "{}", self.element),
            n => write!(f, "{}x{n}", self.element),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_follows_the_enum() {
        for (i, format) in Format::ALL.into_iter().enumerate() {
            assert_eq!(format as usize, i);
            assert_eq!(Format::from_name(format.name()), Some(format));
            let name = format!("{format:?}").to_lowercase();
            assert_eq!(name, format.name());
        }
    }

    #[test]
    fn fields_add_up_to_the_width() {
        for format in Format::ALL {
            if let Kind::Float { exponent, mantissa, signed, padding, .. } = format.spec().kind {
                let bits = u32::from(exponent + mantissa + padding) + u32::from(signed);
                assert_eq!(bits, format.bits(), "{format}");
            }
        }
    }

    #[test]
    fn packed_registers_have_the_widths_of_table_9() {
        let rows = [
            (Format::F16, 2, 32),
            (Format::Bf16, 2, 32),
            (Format::F32, 2, 64),
            (Format::E4m3, 2, 16),
            (Format::E5m2, 2, 16),
            (Format::E2m3, 2, 16),
            (Format::E3m2, 2, 16),
            (Format::Ue8m0, 2, 16),
            (Format::S2f6, 2, 16),
            (Format::E2m1, 2, 8),
            (Format::E4m3, 4, 32),
            (Format::E5m2, 4, 32),
            (Format::E2m3, 4, 32),
            (Format::E3m2, 4, 32),
            (Format::E2m1, 4, 16),
        ];
        for (element, lanes, bits) in rows {
            assert_eq!(Packed { element, lanes }.bits(), bits, "{element}x{lanes}");
        }
    }

    #[test]
    fn fp6_elements_sit_in_bytes_with_two_zero_bits_on_top() {
        let pair = Packed { element: Format::E2m3, lanes: 2 };
        assert_eq!(pair.join(&[0x3f, 0xff]), 0x3f3f);
        assert_eq!(pair.get(0xffff, 1), 0x3f);
    }
}
