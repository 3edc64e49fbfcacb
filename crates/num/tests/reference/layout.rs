//! The formats as the manual words them, and what each code stands for.
//!
//! A table of its own, on purpose: nothing here asks the crate under test what a format is.

use super::exact::Exact;
use softwarp_num::Format;
use std::sync::OnceLock;

/// What is special among the codes of a floating format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// The all-ones exponent field: infinity with a zero mantissa, NaN with any other.
    InfinityAndNan,
    /// NaN where exponent and mantissa are all ones; nothing else.
    OneNan,
    /// Nothing: all codes are finite numbers.
    Nothing,
}

/// How a format's bits make a number.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    /// Sign, exponent field, mantissa field, zero padding.
    Float { signed: bool, exponent: u32, mantissa: u32, bias: i32, specials: Specials, padding: u32 },
    /// The code `c` is 2^(c - 127); ff is NaN.
    PowerOfTwo,
    /// Two's complement over 2^fraction.
    Fixed { bits: u32, fraction: u32 },
    /// Integers.
    Integer { bits: u32, signed: bool },
}

use Specials::{InfinityAndNan, Nothing, OneNan};

/// The layout of a format.
#[rustfmt::skip]
pub fn layout_of(format: Format) -> Layout {
    let float = |signed, exponent, mantissa, bias, specials, padding| {
        Layout::Float { signed, exponent, mantissa, bias, specials, padding }
    };
    match format {
        Format::F16   => float(true,  5, 10, 15,   InfinityAndNan, 0),
        Format::Bf16  => float(true,  8, 7,  127,  InfinityAndNan, 0),
        Format::Tf32  => float(true,  8, 10, 127,  InfinityAndNan, 13),
        Format::F32   => float(true,  8, 23, 127,  InfinityAndNan, 0),
        Format::F64   => float(true, 11, 52, 1023, InfinityAndNan, 0),
        Format::E4m3  => float(true,  4, 3,  7,    OneNan, 0),
        Format::E5m2  => float(true,  5, 2,  15,   InfinityAndNan, 0),
        Format::E2m3  => float(true,  2, 3,  1,    Nothing, 0),
        Format::E3m2  => float(true,  3, 2,  3,    Nothing, 0),
        Format::E2m1  => float(true,  2, 1,  1,    Nothing, 0),
        Format::Ue4m3 => float(false, 4, 3,  7,    OneNan, 0),
        Format::Ue5m3 => float(false, 5, 3,  15,   OneNan, 0),
        Format::Ue8m0 => Layout::PowerOfTwo,
        Format::S2f6  => Layout::Fixed { bits: 8, fraction: 6 },
        Format::U2    => Layout::Integer { bits: 2,  signed: false },
        Format::S2    => Layout::Integer { bits: 2,  signed: true },
        Format::U4    => Layout::Integer { bits: 4,  signed: false },
        Format::S4    => Layout::Integer { bits: 4,  signed: true },
        Format::U8    => Layout::Integer { bits: 8,  signed: false },
        Format::S8    => Layout::Integer { bits: 8,  signed: true },
        Format::U16   => Layout::Integer { bits: 16, signed: false },
        Format::S16   => Layout::Integer { bits: 16, signed: true },
        Format::U32   => Layout::Integer { bits: 32, signed: false },
        Format::S32   => Layout::Integer { bits: 32, signed: true },
        Format::U64   => Layout::Integer { bits: 64, signed: false },
        Format::S64   => Layout::Integer { bits: 64, signed: true },
    }
}

/// Bits of one code.
pub fn width(format: Format) -> u32 {
    match layout_of(format) {
        Layout::Float { signed, exponent, mantissa, padding, .. } => {
            u32::from(signed) + exponent + mantissa + padding
        }
        Layout::PowerOfTwo => 8,
        Layout::Fixed { bits, .. } | Layout::Integer { bits, .. } => bits,
    }
}

/// How many codes a format of at most 32 bits has.
pub fn count(format: Format) -> u64 {
    1 << width(format)
}

/// What a code stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Number {
    Nan,
    Infinite {
        negative: bool,
    },
    /// `negative` tells the zeros apart; elsewhere it is the sign of `value`.
    Finite {
        negative: bool,
        value: Exact,
    },
}

impl Number {
    fn finite(value: Exact) -> Number {
        Number::Finite { negative: value.is_negative(), value }
    }

    /// A zero.
    pub fn zero(negative: bool) -> Number {
        Number::Finite { negative, value: Exact::zero() }
    }
}

/// The integer that a code of an integer or fixed-point format spells.
pub fn integer(bits: u32, signed: bool, code: u64) -> i128 {
    let n = i128::from(code);
    if signed && code >> (bits - 1) & 1 == 1 { n - (1 << bits) } else { n }
}

/// The number that a code stands for, straight from the definition of its fields.
pub fn number(format: Format, code: u64) -> Number {
    match layout_of(format) {
        Layout::Integer { bits, signed } => Number::finite(Exact::new(integer(bits, signed, code), 0)),
        Layout::Fixed { bits, fraction } => {
            Number::finite(Exact::new(integer(bits, true, code), -(fraction as i32)))
        }
        Layout::PowerOfTwo if code == 0xff => Number::Nan,
        Layout::PowerOfTwo => Number::finite(Exact::new(1, code as i32 - 127)),
        Layout::Float { signed, exponent, mantissa, bias, specials, padding } => {
            let code = code >> padding;
            let mantissa_field = code & ((1 << mantissa) - 1);
            let exponent_field = code >> mantissa & ((1 << exponent) - 1);
            let negative = signed && code >> (exponent + mantissa) & 1 == 1;
            let top = exponent_field == (1 << exponent) - 1;
            match specials {
                InfinityAndNan if top && mantissa_field == 0 => return Number::Infinite { negative },
                InfinityAndNan if top => return Number::Nan,
                OneNan if top && mantissa_field == (1 << mantissa) - 1 => return Number::Nan,
                _ => {}
            }
            let magnitude = if exponent_field == 0 {
                Exact::new(mantissa_field, 1 - bias - mantissa as i32)
            } else {
                Exact::new((1 << mantissa) + mantissa_field, exponent_field as i32 - bias - mantissa as i32)
            };
            let value = if negative { magnitude.negated() } else { magnitude };
            Number::Finite { negative, value }
        }
    }
}

/// Whether a code is a subnormal number: exponent field zero, mantissa not.
pub fn is_subnormal(format: Format, code: u64) -> bool {
    match layout_of(format) {
        Layout::Float { exponent, mantissa, padding, .. } => {
            let code = code >> padding;
            code >> mantissa & ((1 << exponent) - 1) == 0 && code & ((1 << mantissa) - 1) != 0
        }
        _ => false,
    }
}

/// The code of the sign bit alone; zero where there is none.
pub fn sign_bit(format: Format) -> u64 {
    match layout_of(format) {
        Layout::Float { signed: true, .. } => 1 << (width(format) - 1),
        _ => 0,
    }
}

/// The code of 1.0 in a floating format.
pub fn one(format: Format) -> u64 {
    match layout_of(format) {
        Layout::Float { mantissa, bias, padding, .. } => (bias as u64) << (mantissa + padding),
        other => panic!("{other:?} has no need of a one"),
    }
}

/// The code of the largest number, or with `negative` the most negative one.
pub fn largest(format: Format, negative: bool) -> u64 {
    match layout_of(format) {
        Layout::Float { exponent, mantissa, specials, padding, .. } => {
            let codes = 1 << (exponent + mantissa);
            let largest = match specials {
                InfinityAndNan => codes - (1 << mantissa) - 1,
                OneNan => codes - 2,
                Nothing => codes - 1,
            };
            largest << padding | if negative { sign_bit(format) } else { 0 }
        }
        Layout::PowerOfTwo => 0xfe,
        Layout::Fixed { bits, .. } | Layout::Integer { bits, signed: true } => {
            if negative {
                1 << (bits - 1)
            } else {
                (1 << (bits - 1)) - 1
            }
        }
        Layout::Integer { bits, signed: false } => {
            if negative {
                0
            } else {
                u64::MAX >> (64 - bits)
            }
        }
    }
}

/// The code of infinity.
pub fn infinity(format: Format, negative: bool) -> Option<u64> {
    match layout_of(format) {
        Layout::Float { specials: InfinityAndNan, padding, .. } => {
            Some(largest(format, negative) + (1 << padding))
        }
        _ => None,
    }
}

/// Every finite value of a format of at most 16 bits with its code, in order; −0 left out.
pub fn values(format: Format) -> &'static [(Exact, u64)] {
    static VALUES: [OnceLock<Vec<(Exact, u64)>>; Format::COUNT] = [const { OnceLock::new() }; Format::COUNT];
    assert!(width(format) <= 16, "{format} has too many values to list");
    VALUES[format as usize].get_or_init(|| {
        let mut values: Vec<_> = (0..count(format))
            .filter_map(|code| match number(format, code) {
                Number::Finite { negative, value } if !(negative && value.is_zero()) => Some((value, code)),
                _ => None,
            })
            .collect();
        values.sort();
        values
    })
}
