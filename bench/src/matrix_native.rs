//! The product of two matrices of halves as tensor cores add it up, in Rust on one thread: what `mma.sync.m16n8k16` with
//! sums in f32 gives, to the bit (`docs/matrix-rounding.md`). Numbers must be finite and sums far from overflow.

#![allow(
    clippy::needless_range_loop,
    reason = "several arrays side by side, and loops that must become vectors"
)]

use softwarp_num::{Cpu, multiversion};

/// Products in a sum.
const STEP: usize = 16;

/// Columns that are computed at a time.
const COLUMNS: usize = 64;

/// Bits that an addend keeps behind the point of the largest.
const FRACTION: i32 = 25;

/// The exponent of zero.
const OF_ZERO: i32 = -1000;

/// Values and exponents.
struct Parts {
    values: Vec<f32>,
    exponents: Vec<i32>,
}

impl Parts {
    fn of(halves: &[u16]) -> Parts {
        let exponent = |bits: u16| match bits & 0x7fff {
            0 => OF_ZERO,
            magnitude => i32::from(magnitude >> 10).max(1) - 15,
        };
        Parts {
            values: halves.iter().map(|&bits| half::f16::from_bits(bits).to_f32()).collect(),
            exponents: halves.iter().map(|&bits| exponent(bits)).collect(),
        }
    }
}

multiversion! {
    /// Computes D.
    struct Product(a: &Parts, b: &Parts, side: usize, d: &mut [f32]);
}

multiversion! {
    fn loops[][](a: &Parts, b: &Parts, side: usize, d: &mut [f32]): Product = product;
}

/// D of two square matrices.
pub fn multiply(a: &[u16], b: &[u16], side: usize, d: &mut [f32]) {
    let (a, b) = (Parts::of(a), Parts::of(b));
    loops().best().run(&a, &b, side, d);
}

#[inline(always)]
fn product<C: Cpu>(_: C, a: &Parts, b: &Parts, side: usize, d: &mut [f32]) {
    for column in (0..side).step_by(COLUMNS) {
        for row in 0..side {
            let mut sums = [0f32; COLUMNS];
            for k in (0..side).step_by(STEP) {
                step(a, b, (row, column, k, side), &mut sums);
            }
            d[row * side + column..][..COLUMNS].copy_from_slice(&sums);
        }
    }
}

/// The whole part of a number below 2^28, by its bits: the conversion that saturates does not become vectors.
#[inline(always)]
fn cut(x: f32) -> i32 {
    let bits = x.to_bits();
    let mantissa = bits << 4 & 0x07ff_fff0 | 1 << 27;
    let shift = 154u32.wrapping_sub(bits >> 23 & 0xff).min(31);
    let sign = bits as i32 >> 31;
    (mantissa.wrapping_shr(shift) as i32 ^ sign).wrapping_sub(sign)
}

/// Adds sixteen products to each sum.
#[inline(always)]
fn step(
    a: &Parts,
    b: &Parts,
    (row, column, k, side): (usize, usize, usize, usize),
    sums: &mut [f32; COLUMNS],
) {
    // Sums that wrap around: checks would keep the loops from becoming vectors.
    let power = |exponent: i32| f32::from_bits((exponent.wrapping_add(127) as u32) << 23);
    let (left, left_exponents) =
        (&a.values[row * side + k..][..STEP], &a.exponents[row * side + k..][..STEP]);
    let line = |of: usize| (k + of) * side + column;
    let mut largest = [0; COLUMNS];
    for lane in 0..COLUMNS {
        // Of zero it is less than that of any product.
        largest[lane] = ((sums[lane].to_bits() >> 23 & 0xff) as i32).wrapping_sub(127).max(-100);
    }
    for at in 0..STEP {
        let exponents = &b.exponents[line(at)..][..COLUMNS];
        for lane in 0..COLUMNS {
            largest[lane] = largest[lane].max(left_exponents[at].wrapping_add(exponents[lane]));
        }
    }
    let (mut units, mut scale, mut unit) = ([0i32; COLUMNS], [0f32; COLUMNS], [0f32; COLUMNS]);
    for lane in 0..COLUMNS {
        scale[lane] = power(FRACTION.wrapping_sub(largest[lane]));
        unit[lane] = power(largest[lane].wrapping_sub(FRACTION));
    }
    for at in 0..STEP {
        let values = &b.values[line(at)..][..COLUMNS];
        for lane in 0..COLUMNS {
            units[lane] = units[lane].wrapping_add(cut(left[at] * values[lane] * scale[lane]));
        }
    }
    for lane in 0..COLUMNS {
        let all = units[lane].wrapping_add(cut(sums[lane] * scale[lane]));
        let magnitude = all.unsigned_abs();
        let kept = magnitude & (u32::MAX << 8) >> magnitude.leading_zeros().min(31);
        let sum = kept as f32 * unit[lane];
        sums[lane] = if all < 0 { -sum } else { sum };
    }
}
