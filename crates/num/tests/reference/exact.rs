//! Exact numbers: rationals over one fixed denominator.
//!
//! Every number that a conversion meets is a multiple of 2^-1140 (the least f64 is 2^-1074; a narrow
//! number divided by the largest scale stays above 2^-300). With that one denominator a rational is its
//! numerator, sums and comparisons are those of integers, and nothing is ever reduced or rounded.

use num_bigint::{BigInt, Sign};
use std::ops::{Add, Sub};

/// The denominator is 2 to this power.
const DENOMINATOR: i32 = 1140;

/// A multiple of 2^-1140.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exact(BigInt);

impl Exact {
    /// `n · 2^exponent`.
    pub fn new(n: impl Into<BigInt>, exponent: i32) -> Exact {
        Exact(n.into()).times_power(exponent + DENOMINATOR)
    }

    /// Zero.
    pub fn zero() -> Exact {
        Exact(BigInt::ZERO)
    }

    /// `self · 2^exponent`.
    pub fn times_power(&self, exponent: i32) -> Exact {
        if exponent >= 0 {
            return Exact(&self.0 << exponent);
        }
        let lost = self.0.trailing_zeros().is_some_and(|zeros| zeros < u64::from(exponent.unsigned_abs()));
        assert!(!lost, "a number is no multiple of the fixed denominator");
        Exact(&self.0 >> exponent.unsigned_abs())
    }

    /// `self · n`.
    pub fn times(&self, n: u32) -> Exact {
        Exact(&self.0 * n)
    }

    /// The greatest multiple of `2^exponent` that is not above, as a count of `2^exponent`.
    pub fn floor_in_units(&self, exponent: i32) -> BigInt {
        // The shift of a negative BigInt rounds down.
        &self.0 >> (exponent + DENOMINATOR)
    }

    /// The greatest `e` with `2^e <= |self|`; `None` for zero.
    pub fn exponent(&self) -> Option<i32> {
        let bits = i32::try_from(self.0.bits()).expect("numbers are short");
        (bits > 0).then(|| bits - 1 - DENOMINATOR)
    }

    /// Below zero.
    pub fn is_negative(&self) -> bool {
        self.0.sign() == Sign::Minus
    }

    /// Equal to zero.
    pub fn is_zero(&self) -> bool {
        self.0.sign() == Sign::NoSign
    }

    /// The distance from zero.
    pub fn abs(&self) -> Exact {
        Exact(BigInt::from(self.0.magnitude().clone()))
    }

    /// The other sign.
    pub fn negated(&self) -> Exact {
        Exact(-&self.0)
    }
}

impl Add for &Exact {
    type Output = Exact;

    fn add(self, other: &Exact) -> Exact {
        Exact(&self.0 + &other.0)
    }
}

impl Sub for &Exact {
    type Output = Exact;

    fn sub(self, other: &Exact) -> Exact {
        Exact(&self.0 - &other.0)
    }
}
