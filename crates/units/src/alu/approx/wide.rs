//! The approximate functions of one f64 (PTX ISA section 9.7.3).
//!
//! The special function unit takes the upper half of an f64 and gives the upper half of the result, from the tables
//! for f32. `rsqrt.approx.f64` refines that with ordinary arithmetic.

use super::tables::{RECIPROCAL, RECIPROCAL_ROOT};

/// Bits of a NaN, of which the upper half is f32's.
const NAN: u64 = 0x7fff_ffff << 32;
const INFINITY: u32 = 0x7ff0_0000;

/// The upper half of an f64: its exponent, and its 20 bits of fraction as 23.
#[inline(always)]
fn split(high: u32) -> (i32, u32) {
    ((high >> 20 & 0x7ff) as i32 - 1023, (high & 0xf_ffff) << 3)
}

/// The upper half of `significand · 2^(exponent − 24)`, with the significand, of 24 bits or one more, cut; zero if that
/// is subnormal.
#[inline(always)]
fn join(significand: i64, exponent: i32) -> u64 {
    let exponent = exponent + i32::from(significand == 1 << 24);
    let fraction = if significand == 1 << 24 { 0 } else { significand as u32 >> 3 & 0xf_ffff };
    let field = exponent - 1 + 1023;
    if field < 1 { 0 } else { u64::from((field as u32) << 20 | fraction) << 32 }
}

/// `rcp.approx.ftz.f64`
#[inline(always)]
pub fn reciprocal(x: u64) -> u64 {
    let high = (x >> 32) as u32;
    let magnitude = high & 0x7fff_ffff;
    let (exponent, fraction) = split(magnitude);
    let quotient = RECIPROCAL.at(fraction >> 16, (fraction & 0xffff) << 1) >> 17;
    let regular = join(quotient, -exponent);
    let result = if magnitude < 0x0010_0000 {
        u64::from(INFINITY) << 32
    } else if magnitude == INFINITY {
        0
    } else {
        regular
    };
    if magnitude > INFINITY { NAN } else { result | x & 1 << 63 }
}

/// `rsqrt.approx.ftz.f64`
#[inline(always)]
pub fn reciprocal_root(x: u64) -> u64 {
    let high = (x >> 32) as u32;
    let magnitude = high & 0x7fff_ffff;
    let (exponent, fraction) = split(magnitude);
    let segment = (exponent & 1) as u32 * 64 + (fraction >> 17);
    let root = RECIPROCAL_ROOT.at(segment, fraction & 0x1_ffff) >> 17;
    let root = if exponent & 1 == 0 && fraction == 0 { 1 << 24 } else { root };
    if magnitude < 0x0010_0000 {
        u64::from(INFINITY) << 32 | x & 1 << 63
    } else if magnitude > INFINITY || x >> 63 == 1 {
        NAN
    } else if magnitude == INFINITY {
        0
    } else {
        join(root, -(exponent >> 1))
    }
}

/// `rsqrt.approx.f64`
#[inline(always)]
pub fn refined_reciprocal_root(x: f64) -> u64 {
    // Subnormal numbers are scaled to have an approximation.
    let subnormal = x.abs() < f64::MIN_POSITIVE;
    let scaled = if subnormal { x * f64::from_bits(0x4350_0000_0000_0000) } else { x };
    let first = f64::from_bits(reciprocal_root(scaled.to_bits()));
    let error = scaled.mul_add(-(first * first), 1.0);
    let refined = error.mul_add(0.375, 0.5).mul_add(error * first, first);
    let regular = if subnormal { refined * f64::from_bits(0x41a0_0000_0000_0000) } else { refined };
    if x.is_nan() {
        x.to_bits() | 1 << 51
    } else if x == 0.0 {
        f64::INFINITY.copysign(x).to_bits()
    } else if x < 0.0 {
        0xfff8 << 48
    } else if x == f64::INFINITY {
        0
    } else {
        regular.to_bits()
    }
}
