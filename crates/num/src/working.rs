//! The two working formats of the conversion body: binary32 in a `u32`, binary64 in a `u64`.
//!
//! Every format of at most 32 bits has an exact image in binary32, everything else the conversions meet
//! in binary64. The body is written once over [`Working`]; 32-bit lanes are twice as many per vector.

use crate::Rounding;
use std::ops::{Add, BitAnd, BitOr, BitXor, Not, Shl, Shr, Sub};

/// A working format: a word that holds an IEEE binary format, with the operations the body needs. All of them vectorise.
pub(crate) trait Working:
    Copy
    + Ord
    + Add<Output = Self>
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Bits of the word.
    const BITS: u32;
    /// Bits of the mantissa field.
    const MANTISSA: u32;
    /// The exponent bias.
    const BIAS: i32;
    /// The pattern of +infinity.
    const INFINITY: Self;
    /// All ones.
    const MAX: Self;
    /// All bits but the sign.
    const MAGNITUDE: Self;
    /// The low bits of `n`.
    fn word(n: u64) -> Self;
    /// `self >> by`, with `by` below the word's width.
    fn shr_by(self, by: Self) -> Self;
    /// `self << by`, with `by` below the word's width.
    fn shl_by(self, by: Self) -> Self;
    /// Two's complement.
    fn negated(self) -> Self;
    /// The sum as floating-point numbers.
    fn float_add(self, other: Self) -> Self;
    /// The difference as floating-point numbers.
    fn float_sub(self, other: Self) -> Self;
    /// Whether `self < other` as floating-point numbers.
    fn float_less(self, other: Self) -> bool;
    /// Rounded to an integral number.
    fn float_round(self, rounding: Rounding) -> Self;
    /// `max(self - other, 0)`.
    fn minus_or_zero(self, other: Self) -> Self;
}

macro_rules! working {
    ($word:ty, $float:ty, $mantissa:literal, $bias:literal) => {
        impl Working for $word {
            const BITS: u32 = <$word>::BITS;
            const MANTISSA: u32 = $mantissa;
            const BIAS: i32 = $bias;
            const INFINITY: $word = <$float>::INFINITY.to_bits();
            const MAX: $word = <$word>::MAX;
            const MAGNITUDE: $word = <$word>::MAX >> 1;

            #[inline(always)]
            fn word(n: u64) -> $word {
                n as $word
            }
            #[inline(always)]
            fn shr_by(self, by: $word) -> $word {
                self.wrapping_shr(by as u32)
            }
            #[inline(always)]
            fn shl_by(self, by: $word) -> $word {
                self.wrapping_shl(by as u32)
            }
            #[inline(always)]
            fn negated(self) -> $word {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn float_add(self, other: $word) -> $word {
                (<$float>::from_bits(self) + <$float>::from_bits(other)).to_bits()
            }
            #[inline(always)]
            fn float_sub(self, other: $word) -> $word {
                (<$float>::from_bits(self) - <$float>::from_bits(other)).to_bits()
            }
            #[inline(always)]
            fn float_less(self, other: $word) -> bool {
                <$float>::from_bits(self) < <$float>::from_bits(other)
            }
            #[inline(always)]
            fn float_round(self, rounding: Rounding) -> $word {
                let x = <$float>::from_bits(self);
                match rounding {
                    Rounding::TowardZero => x.trunc(),
                    Rounding::Down => x.floor(),
                    Rounding::Up => x.ceil(),
                    _ => x.round_ties_even(),
                }
                .to_bits()
            }
            #[inline(always)]
            fn minus_or_zero(self, other: $word) -> $word {
                // Not saturating_sub: compilers turn max and sub into vector instructions everywhere.
                self.max(other) - other
            }
        }
    };
}

working!(u32, f32, 23, 127);
working!(u64, f64, 52, 1023);
