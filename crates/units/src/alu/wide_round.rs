//! f64 arithmetic in integers, for the roundings that the CPU is not set to: `.rz`, `.rm`, `.rp`.
//!
//! A finite number is a sign, an integer and a power of two. The exact result, or enough of its bits with the last
//! one set if something was cut off, goes to [`Exact::round`], which is the only place that rounds.

use softwarp_num::Rounding;

/// Bits of an f64 below the exponent.
const FRACTION: u32 = 52;
/// The exponent of the last place of subnormal numbers.
const LEAST: i32 = -1074;

/// `(−1)^negative · magnitude · 2^exponent`. The last bit of the magnitude may stand for anything below it.
#[derive(Clone, Copy, Debug)]
struct Exact {
    negative: bool,
    magnitude: u128,
    exponent: i32,
}

impl Exact {
    /// A finite number.
    #[inline]
    fn of(x: f64) -> Exact {
        let bits = x.to_bits();
        let field = (bits >> FRACTION & 0x7ff) as i32;
        let fraction = bits & ((1 << FRACTION) - 1);
        let magnitude = if field == 0 { fraction } else { fraction | 1 << FRACTION };
        Exact {
            negative: x.is_sign_negative(),
            magnitude: magnitude.into(),
            exponent: LEAST + (field - 1).max(0),
        }
    }

    /// The number, rounded. A magnitude with a last bit that stands for more must have at least 55 bits.
    fn round(self, rounding: Rounding) -> f64 {
        let signed = |x: f64| if self.negative { -x } else { x };
        if self.magnitude == 0 {
            return signed(0.0);
        }
        let length = 128 - self.magnitude.leading_zeros() as i32;
        // A given number of low bits do not fit.
        let cut = (length - 53).max(LEAST - self.exponent);
        if cut <= 0 {
            // Exact; the magnitude has at most 53 bits.
            return signed(scale(self.magnitude as u64, self.exponent));
        }
        let kept = self.magnitude.checked_shr(cut as u32).unwrap_or(0) as u64;
        let rest = self.magnitude & !u128::MAX.checked_shl(cut as u32).unwrap_or(0);
        let half = 1u128.checked_shl(cut as u32 - 1).unwrap_or(u128::MAX);
        let away = match rounding {
            Rounding::Up => !self.negative && rest != 0,
            Rounding::Down => self.negative && rest != 0,
            Rounding::TowardZero => false,
            _ => rest > half || rest == half && kept & 1 == 1,
        };
        let result = scale(kept + u64::from(away), self.exponent + cut);
        let overflow_stays = match rounding {
            Rounding::Up => self.negative,
            Rounding::Down => !self.negative,
            Rounding::TowardZero => true,
            _ => false,
        };
        signed(if result.is_infinite() && overflow_stays { f64::MAX } else { result })
    }
}

/// `magnitude · 2^exponent`, which must be an f64 or too large for one.
fn scale(magnitude: u64, exponent: i32) -> f64 {
    let length = 64 - magnitude.leading_zeros() as i32;
    if length + exponent > 1024 {
        return f64::INFINITY;
    }
    let field = exponent + length - 1 + 1023;
    if magnitude == 0 || field <= 0 {
        return f64::from_bits(magnitude.checked_shl((exponent - LEAST) as u32).unwrap_or(0));
    }
    // At most 53 bits, or 54 with a carry that leaves zeros.
    let shift = FRACTION as i32 + 1 - length;
    let significand = if shift >= 0 { magnitude << shift } else { magnitude >> -shift };
    f64::from_bits((significand & ((1 << FRACTION) - 1)) | (field as u64) << FRACTION)
}

/// `a * b`, rounded.
pub fn mul(a: f64, b: f64, rounding: Rounding) -> f64 {
    if !(a.is_finite() && b.is_finite()) {
        return a * b;
    }
    product(a, b).round(rounding)
}

fn product(a: f64, b: f64) -> Exact {
    let (a, b) = (Exact::of(a), Exact::of(b));
    Exact {
        negative: a.negative != b.negative,
        magnitude: a.magnitude * b.magnitude,
        exponent: a.exponent + b.exponent,
    }
}

/// `a * b + c`, rounded once.
pub fn fma(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    if !(a.is_finite() && b.is_finite() && c.is_finite()) {
        // Infinities and NaNs only, where the size of a product of finite numbers must not matter.
        let product = if a.is_finite() && b.is_finite() { 0.0 } else { a * b };
        return product + c;
    }
    let (p, c) = (product(a, b), Exact::of(c));
    if p.magnitude == 0 && c.magnitude == 0 {
        let negative = if p.negative == c.negative { p.negative } else { rounding == Rounding::Down };
        return Exact { negative, ..p }.round(rounding);
    }
    if p.magnitude == 0 || c.magnitude == 0 {
        return if p.magnitude == 0 { c } else { p }.round(rounding);
    }
    // The larger one moves up until its top bit is bit 125, the other follows, with whatever falls off below kept
    // in its last bit.
    let top = |x: Exact| x.exponent + 128 - x.magnitude.leading_zeros() as i32;
    let (large, small) = if top(p) >= top(c) { (p, c) } else { (c, p) };
    let exponent = top(large) - 126;
    let large_magnitude = moved(large.magnitude, large.exponent - exponent);
    let small_magnitude = moved(small.magnitude, small.exponent - exponent);
    let (negative, magnitude) = if large.negative == small.negative {
        (large.negative, large_magnitude + small_magnitude)
    } else if large_magnitude >= small_magnitude {
        (large.negative, large_magnitude - small_magnitude)
    } else {
        (small.negative, small_magnitude - large_magnitude)
    };
    let negative = if magnitude == 0 { rounding == Rounding::Down } else { negative };
    Exact { negative, magnitude, exponent }.round(rounding)
}

/// Shifted left, or right with the last bit set if anything was lost.
fn moved(magnitude: u128, left: i32) -> u128 {
    if left >= 0 {
        return magnitude.checked_shl(left as u32).unwrap_or(0);
    }
    let right = left.unsigned_abs();
    let kept = magnitude.checked_shr(right).unwrap_or(0);
    let lost = magnitude & !u128::MAX.checked_shl(right).unwrap_or(0) != 0;
    kept | u128::from(lost)
}

/// `a / b`, rounded.
pub fn div(a: f64, b: f64, rounding: Rounding) -> f64 {
    let special = !(a.is_finite() && b.is_finite()) || a == 0.0 || b == 0.0;
    if special {
        return a / b;
    }
    let (a, b) = (Exact::of(a), Exact::of(b));
    // At least 128 − 1 − 53 bits of quotient.
    let up = a.magnitude.leading_zeros() as i32;
    let dividend = a.magnitude << up;
    let quotient = dividend / b.magnitude;
    let inexact = !dividend.is_multiple_of(b.magnitude);
    Exact {
        negative: a.negative != b.negative,
        magnitude: quotient | u128::from(inexact),
        exponent: a.exponent - up - b.exponent,
    }
    .round(rounding)
}

/// The square root, rounded.
pub fn sqrt(a: f64, rounding: Rounding) -> f64 {
    if !a.is_finite() || a <= 0.0 {
        return a.sqrt();
    }
    let a = Exact::of(a);
    // An even exponent, and at least 126 bits: a root of at least 63.
    let up = (a.magnitude.leading_zeros() - 1) as i32;
    let up = up - (a.exponent - up).rem_euclid(2);
    let square = a.magnitude << up;
    let root = square.isqrt();
    let inexact = root * root != square;
    Exact { negative: false, magnitude: root | u128::from(inexact), exponent: (a.exponent - up) / 2 }
        .round(rounding)
}
