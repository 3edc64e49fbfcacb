//! The approximate functions of one f32 (PTX ISA section 9.7.3), to the bit what an H200 makes of them.

use super::interpolate::{Table, cut};
use super::tables::{EXPONENTIAL, LOGARITHM, RECIPROCAL, RECIPROCAL_ROOT, ROOT, SINE, TANGENT};
use crate::alu::mode::Mode;
use crate::alu::single::{NAN, UP, bits, flush, output_of_product};
use softwarp_num::Rounding;

const MAGNITUDE: u32 = 0x7fff_ffff;
const INFINITY: u32 = 0x7f80_0000;

/// 2^exponent, within the range of f64's normal numbers.
#[inline(always)]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// A positive finite number as an exponent and the bits of a fraction, as if there were no subnormal numbers.
#[inline(always)]
fn split(x: f32) -> (i32, u32) {
    let wide = f64::from(x).to_bits();
    ((wide >> 52) as i32 - 1023, (wide >> 29) as u32 & 0x7f_ffff)
}

/// What comes of a product with a power of two.
#[inline(always)]
fn finish(x: f64, ftz: bool) -> f32 {
    let x = x as f32;
    if ftz { flush(x) } else { x }
}

#[inline(always)]
fn input(x: f32, ftz: bool) -> f32 {
    if ftz { flush(x) } else { x }
}

/// `rcp.approx`
#[inline(always)]
pub fn reciprocal(x: f32, ftz: bool) -> u32 {
    let x = input(x, ftz);
    let magnitude = x.abs();
    let (exponent, fraction) = split(magnitude);
    let quotient = RECIPROCAL.at(fraction >> 16, (fraction & 0xffff) << 1) >> 17;
    let regular = finish(quotient as f64 * power(-24 - exponent.clamp(-900, 900)), ftz);
    let result = if magnitude == 0.0 {
        f32::INFINITY
    } else if magnitude == f32::INFINITY {
        0.0
    } else {
        regular
    };
    if x.is_nan() { NAN } else { result.copysign(x).to_bits() }
}

/// What `div.approx` and `div.full` multiply: the dividend and the reciprocal. A divisor that is too small to have one
/// is scaled first, and the dividend with it; one that is too large only by `div.full`.
#[inline(always)]
pub fn quotient_factors(a: f32, b: f32, ftz: bool, full: bool) -> (f32, f32) {
    let (a, b) = (input(a, ftz), input(b, ftz));
    let large = b.abs() > f32::from_bits(0x7e80_0000);
    let small = b.abs() < f32::MIN_POSITIVE;
    let scale = match (large && full, small && !ftz) {
        (true, _) => 0.25,
        (_, true) => 16_777_216.0,
        _ => 1.0,
    };
    (input(a * scale, ftz), f32::from_bits(reciprocal(input(b * scale, ftz), true)))
}

/// `div.approx` and `div.full`
#[inline(always)]
pub fn quotient(a: f32, b: f32, ftz: bool, full: bool) -> u32 {
    let (scaled, r) = quotient_factors(a, b, ftz, full);
    let mode = Mode { ftz, ..Mode::PLAIN };
    output_of_product(scaled * r, || scaled * UP * r, mode)
}

/// The root tables' value: segments for even exponents, then those for odd ones.
#[inline(always)]
fn of_root(table: &Table<128>, exponent: i32, fraction: u32) -> i64 {
    table.at((exponent & 1) as u32 * 64 + (fraction >> 17), fraction & 0x1_ffff)
}

/// `rsqrt.approx`
#[inline(always)]
pub fn reciprocal_root(x: f32, ftz: bool) -> u32 {
    let x = input(x, ftz);
    let (exponent, fraction) = split(x.abs());
    let value = of_root(&RECIPROCAL_ROOT, exponent, fraction) >> 17;
    // Powers of four are exact.
    let value = if exponent & 1 == 0 && fraction == 0 { 1 << 24 } else { value };
    let regular = (value as f64 * power(-24 - (exponent >> 1))) as f32;
    if x == 0.0 {
        f32::INFINITY.copysign(x).to_bits()
    } else if x == f32::INFINITY {
        0
    } else if x > 0.0 {
        regular.to_bits()
    } else {
        NAN
    }
}

/// `sqrt.approx`
#[inline(always)]
pub fn root(x: f32, ftz: bool) -> u32 {
    let x = input(x, ftz);
    let (exponent, fraction) = split(x.abs());
    let value = of_root(&ROOT, exponent, fraction) >> 18;
    let regular = (value as f64 * power(-23 + (exponent >> 1))) as f32;
    if x == 0.0 || x == f32::INFINITY {
        x.to_bits()
    } else if x > 0.0 {
        regular.to_bits()
    } else {
        NAN
    }
}

/// `lg2.approx`
#[inline(always)]
pub fn logarithm(x: f32, ftz: bool) -> u32 {
    let x = input(x, ftz);
    // A subnormal number is taken 2^24 times larger, and the result less 24.
    let subnormal = x < f32::MIN_POSITIVE;
    let (exponent, fraction) = split(x.abs());
    let exponent = if subnormal { exponent + 24 } else { exponent };
    let value = (i64::from(exponent) << 41) + LOGARITHM.at(fraction >> 17, fraction & 0x1_ffff);
    // The sum has 36 bits after the point, and if it is negative each is complemented.
    let magnitude = cut((if value < 0 { !(value >> 5) } else { value >> 5 }) as u64, 36);
    let regular = if value < 0 { -magnitude } else { magnitude };
    let regular = if subnormal { regular - 24.0 } else { regular };
    if x == 0.0 {
        f32::NEG_INFINITY.to_bits()
    } else if x == f32::INFINITY {
        INFINITY
    } else if x == 1.0 {
        0
    } else if x > 0.0 {
        regular.to_bits()
    } else {
        NAN
    }
}

/// `ex2.approx`
#[inline(always)]
pub fn exponential(x: f32, ftz: bool) -> u32 {
    if ftz {
        return bits(exponential_of_normal(x));
    }
    // A result that may be subnormal is the square of the root's.
    let small = x < -126.0;
    let value = exponential_of_normal(if small { x * 0.5 } else { x });
    bits(if small { value * value } else { value })
}

/// 2^x where that is a normal number; 0 and infinity beyond.
#[inline(always)]
fn exponential_of_normal(x: f32) -> f32 {
    let magnitude = x.abs().min(512.0);
    let fixed = (f64::from(magnitude) * power(23)) as i64;
    let fraction = fixed & 0x7f_ffff;
    // Negative numbers are complemented bit by bit, except whole ones.
    let signed = match (x < 0.0, fraction) {
        (false, _) => fixed,
        (true, 0) => -fixed,
        (true, _) => !fixed,
    };
    let (whole, fraction) = ((signed >> 23) as i32, (signed & 0x7f_ffff) as u32);
    let significand = EXPONENTIAL.at(fraction >> 17, fraction & 0x1_ffff) >> 17;
    let value = significand as f64 * power(whole - 23);
    if x.is_nan() { x } else { flush(value as f32) }
}

/// `sin.approx`
#[inline(always)]
pub fn sine(x: f32, ftz: bool) -> u32 {
    of_quadrants(x, 0, ftz)
}

/// `cos.approx`
#[inline(always)]
pub fn cosine(x: f32, ftz: bool) -> u32 {
    of_quadrants(x, 1, ftz)
}

/// The sine after that many quarter turns.
#[inline(always)]
fn of_quadrants(x: f32, ahead: u32, ftz: bool) -> u32 {
    let turns = crate::alu::single::mul(input(x, ftz).abs(), 0.159_154_94, Rounding::TowardZero);
    let turns = input(turns, ftz);
    // Whole turns do not matter, and there is nothing else in a large number.
    let fixed = if turns < 16_777_216.0 { (f64::from(turns) * power(25)) as u64 } else { 0 };
    let fraction = fixed as u32 & 0x7f_ffff;
    let quadrant = (fixed >> 23) as u32 + ahead;
    let odd = quadrant & 1 == 1;
    let position = if odd { !fraction & 0x7f_ffff } else { fraction };
    let value = match (fraction, odd) {
        (0, false) => 0.0,
        (0, true) => 1.0,
        _ => cut(SINE.at(position >> 17, position & 0x1_ffff) as u64, 41),
    };
    let negative = (quadrant & 2 != 0) != (ahead == 0 && x.is_sign_negative());
    let signed = if negative { -value } else { value };
    if x.to_bits() & MAGNITUDE >= INFINITY { NAN } else { signed.to_bits() }
}

/// `tanh.approx`
#[inline(always)]
pub fn tangent(x: f32) -> u32 {
    let magnitude = x.abs();
    let (exponent, fraction) = split(magnitude);
    let [first, bits_of_segment] = RANGES_OF_TANGENT[(exponent.clamp(-8, 2) + 8) as usize];
    let segment = first + (fraction >> (23 - bits_of_segment));
    // 17 bits after those that choose the segment.
    let position = fraction << bits_of_segment >> 6 & 0x1_ffff;
    let value = cut(TANGENT.at(segment, position) as u64, 41);
    let result = if magnitude < 0.003_906_25 {
        magnitude
    } else if magnitude >= 8.0 {
        1.0
    } else {
        value
    };
    if x.is_nan() { NAN } else { result.copysign(x).to_bits() }
}

/// For the powers of two from 2^-8 to 2^2, which segment is the first, and how many bits choose among them.
pub const RANGES_OF_TANGENT: [[u32; 2]; 11] =
    [[0, 0], [1, 0], [2, 0], [3, 1], [5, 1], [7, 2], [11, 2], [15, 2], [19, 3], [27, 4], [43, 3]];
