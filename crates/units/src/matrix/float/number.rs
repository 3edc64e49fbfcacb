//! Codes taken apart into significand and exponent, and sums put together into codes.

use super::rules::LEAST;
use softwarp_num::{Format, Kind, TopCodes};

/// A finite number: ± significand · 2^(exponent − fraction).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finite {
    /// Whether it is negative; zero may be.
    pub negative: bool,
    /// The significand as an integer.
    pub significand: u64,
    /// Where the significand's point is: 2^exponent is worth `1 << fraction`.
    pub exponent: i32,
    /// Bits of the significand after its point.
    pub fraction: i32,
}

/// What a code stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A number.
    Finite(Finite),
    /// An infinity.
    Infinite {
        /// Whether it is the negative one.
        negative: bool,
    },
    /// Not a number.
    Nan,
}

impl Number {
    /// Zero.
    pub const ZERO: Number =
        Number::Finite(Finite { negative: false, significand: 0, exponent: 0, fraction: 0 });

    /// Takes a code apart, of a floating-point format or a power of two. A subnormal number keeps its format's least
    /// exponent; bits of tf32 that are no part of it do not count.
    pub fn of(format: Format, code: u32) -> Number {
        let code = u64::from(code) & format.mask();
        match format.spec().kind {
            Kind::Float { exponent, mantissa, bias, top, signed, padding } => {
                let code = code >> padding;
                let magnitude = code & ((1 << (exponent + mantissa)) - 1);
                let negative = signed && code != magnitude;
                let (field, bits) = (magnitude >> mantissa, magnitude & ((1 << mantissa) - 1));
                let largest = field == (1 << exponent) - 1;
                match top {
                    TopCodes::Ieee if largest && bits == 0 => Number::Infinite { negative },
                    TopCodes::Ieee if largest => Number::Nan,
                    TopCodes::NanOnly if largest && bits == (1 << mantissa) - 1 => Number::Nan,
                    _ => Number::Finite(Finite {
                        negative,
                        significand: bits | u64::from(field > 0) << mantissa,
                        exponent: field.max(1) as i32 - i32::from(bias),
                        fraction: mantissa.into(),
                    }),
                }
            }
            Kind::Exponent { bias } if code != format.mask() => Number::Finite(Finite {
                negative: false,
                significand: 1,
                exponent: code as i32 - i32::from(bias),
                fraction: 0,
            }),
            _ => Number::Nan,
        }
    }

    /// The product, exactly.
    pub fn times(self, other: Number) -> Number {
        match (self, other) {
            (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
            (Number::Finite(a), Number::Finite(b)) => Number::Finite(Finite {
                negative: a.negative != b.negative,
                significand: a.significand * b.significand,
                exponent: a.exponent + b.exponent,
                fraction: a.fraction + b.fraction,
            }),
            (a, b) if a.is_zero() || b.is_zero() => Number::Nan,
            (a, b) => Number::Infinite { negative: a.is_negative() != b.is_negative() },
        }
    }

    fn is_zero(self) -> bool {
        matches!(self, Number::Finite(Finite { significand: 0, .. }))
    }

    fn is_negative(self) -> bool {
        matches!(self, Number::Finite(Finite { negative: true, .. }) | Number::Infinite { negative: true })
    }
}

/// A sum of numbers before it is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// `units` · 2^`exponent`.
    Finite {
        /// How many units.
        units: i64,
        /// What a unit is.
        exponent: i32,
    },
    /// An infinity.
    Infinite {
        /// Whether it is the negative one.
        negative: bool,
    },
    /// NaN among the addends, or infinities of both signs.
    Nan,
}

impl Sum {
    /// The sum of addends that are cut to `fraction` bits below the largest exponent.
    pub fn of(addends: impl Iterator<Item = Number> + Clone, fraction: u32) -> Sum {
        let (mut largest, mut infinite) = (None, [false; 2]);
        for addend in addends.clone() {
            match addend {
                Number::Nan => return Sum::Nan,
                Number::Infinite { negative } => infinite[usize::from(negative)] = true,
                Number::Finite(x) if x.significand != 0 => largest = largest.max(Some(x.exponent)),
                Number::Finite(_) => {}
            }
        }
        match infinite {
            [true, true] => return Sum::Nan,
            [false, false] => {}
            [_, negative] => return Sum::Infinite { negative },
        }
        let Some(largest) = largest else { return Sum::Finite { units: 0, exponent: 0 } };
        let exponent = largest.max(LEAST) - fraction as i32;
        let units = addends.map(|addend| cut(addend, exponent)).sum();
        Sum::Finite { units, exponent }
    }

    /// Cut toward zero to f32, with only a given number of bits of its mantissa. Zero is positive; what is too large becomes
    /// infinity.
    pub fn to_f32(self, mantissa: u32) -> u32 {
        let (units, exponent) = match self {
            Sum::Nan => return 0x7fff_ffff,
            Sum::Infinite { negative } => return u32::from(negative) << 31 | 0x7f80_0000,
            Sum::Finite { units, exponent } => (units, exponent),
        };
        let magnitude = units.unsigned_abs();
        let Some(top) = magnitude.checked_ilog2() else { return 0 };
        let own = (top as i32 + exponent).max(-126);
        // What the last bit that is kept is worth.
        let last = own - mantissa as i32;
        let kept = shift(magnitude, exponent - last) << (23 - mantissa);
        let sign = u32::from(units < 0) << 31;
        match kept {
            0 => 0,
            _ if own > 127 => sign | 0x7f80_0000,
            // The significand's leading bit adds one to the field, unless the number is subnormal.
            _ => sign | ((((own + 126) as u32) << 23) + kept as u32),
        }
    }

    /// Rounded to nearest, ties to even, to f16. Zero is positive.
    pub fn to_f16(self) -> u32 {
        let (units, exponent) = match self {
            Sum::Nan => return 0x7fff,
            Sum::Infinite { negative } => return u32::from(negative) << 15 | 0x7c00,
            Sum::Finite { units, exponent } => (units, exponent),
        };
        let magnitude = units.unsigned_abs();
        let Some(top) = magnitude.checked_ilog2() else { return 0 };
        let own = (top as i32 + exponent).max(-14);
        let last = own - 10;
        // Twice the last bit, and whether anything is below: enough to round by.
        let twice = shift(magnitude, exponent - last + 1);
        let inexact = shift(twice, last - 1 - exponent) != magnitude;
        let up = twice & 1 == 1 && (inexact || twice & 2 == 2);
        let kept = (twice >> 1) + u64::from(up);
        let sign = u32::from(units < 0) << 15;
        match kept {
            0 => 0,
            _ if own > 15 => sign | 0x7c00,
            // A carry out of the significand is one more in the field, which may make it infinity's.
            _ => sign | ((((own + 14) as u32) << 10) + kept as u32),
        }
    }
}

/// An addend in units of 2^`exponent`, cut toward zero.
fn cut(addend: Number, exponent: i32) -> i64 {
    let Number::Finite(x) = addend else { return 0 };
    let magnitude = shift(x.significand, x.exponent - x.fraction - exponent) as i64;
    if x.negative { -magnitude } else { magnitude }
}

/// `x` · 2^`left`, cut; what is shifted out above is lost.
fn shift(x: u64, left: i32) -> u64 {
    match left {
        0..=63 => x << left,
        -63..0 => x >> -left,
        _ => 0,
    }
}
