//! Sums for many elements at once: the same bits as [`super::exact`] for numbers inside the fast range.
//!
//! A factor becomes its value in f32 and its exponent. The product of two values is exact, since no factor has more
//! than 11 bits. Multiplied by the power of two that makes the sum's unit 1, it is cut by converting it to an integer;
//! integers are added. No data decides a branch, so that these loops become vector instructions.
//!
//! **Invariant**: [`Factors`] and [`Addends`] hold only numbers inside the fast range: zeros, and those whose exponents lie in
//! `FACTORS` or `ADDENDS`. With these nothing leaves the range of f32, and [`sums`] may convert to integers
//! without looking at what it converts; that is its `unsafe`.

#![allow(
    clippy::needless_range_loop,
    reason = "several arrays side by side, and loops that must become vectors"
)]

use super::rules::Rule;
use softwarp_num::half::f16_of_magnitude;
use std::ops::RangeInclusive;

/// The exponents of factors inside the fast range.
const FACTORS: RangeInclusive<i32> = -50..=50;

/// The exponents inside the fast range of numbers that are added to products.
const ADDENDS: RangeInclusive<i32> = -100..=100;

/// The exponent of zero: whatever is added to it, no product's is less.
const OF_ZERO: i32 = -1000;

/// Whether sums of that many products by a rule fit 32 bits: each is less than 4 in the largest's scale.
pub fn fits(rule: Rule, products: usize) -> bool {
    rule.fraction <= 25 && products <= 1 << (29 - rule.fraction)
}

/// Values and exponents of numbers inside the fast range, the columns of `K` vectors.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Parts<const N: usize, const K: usize> {
    values: [[f32; N]; K],
    /// Of subnormal numbers their format's least, of zeros [`OF_ZERO`].
    exponents: [[i32; N]; K],
    /// Has [`OUTSIDE`] set if a number that was to be taken is outside the fast range.
    outside: [u32; N],
}

/// Factors of products.
#[derive(Clone, Copy, Debug)]
pub struct Factors<const N: usize, const K: usize>(Parts<N, K>);

/// What is added to products.
#[derive(Clone, Copy, Debug)]
pub struct Addends<const N: usize>(Parts<N, 1>);

/// What words hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// f16 in the low halves.
    F16,
    /// f16 in the high halves.
    HighF16,
    /// bf16 in the low halves.
    Bf16,
    /// bf16 in the high halves.
    HighBf16,
    /// tf32
    Tf32,
    /// f32
    F32,
    /// e4m3 in the low bytes.
    E4m3,
    /// e5m2 in the low bytes.
    E5m2,
}

/// The bit that [`part`] sets for a number outside the fast range.
const OUTSIDE: u32 = 0x8000;

/// A number: its value, its exponent, and [`OUTSIDE`] if it is outside the fast range, among other bits. What is there
/// instead of such a number is inside.
#[inline(always)]
fn part(words: Words, word: u32, range: &RangeInclusive<i32>) -> (f32, i32, u32) {
    match words {
        Words::F16 => small(word & 0xffff, 10, 15, 0x7c00),
        Words::HighF16 => small(word >> 16, 10, 15, 0x7c00),
        // The upper byte of f16, with its exponents.
        Words::E5m2 => small(word << 8 & 0xffff, 10, 15, 0x7c00),
        Words::E4m3 => small(word & 0xff, 3, 7, 0x7f),
        Words::Bf16 => large(word << 16, range),
        Words::HighBf16 => large(word & 0xffff_0000, range),
        Words::Tf32 => large(word & !0x1fff, range),
        Words::F32 => large(word, range),
    }
}

/// A number of a format whose exponents are all inside the fast range: its bits of mantissa, its bias, the least magnitude that is
/// no number.
#[inline(always)]
fn small(word: u32, mantissa: u32, bias: u32, above: u32) -> (f32, i32, u32) {
    let sign = if mantissa == 10 { 0x8000 } else { 0x80 };
    let magnitude = word & (sign - 1);
    let up = 23 - mantissa;
    // With the field of the least normal number in front, a subnormal number reads as that much more than it is worth.
    let least = (128 - bias) << 23;
    let normal = (magnitude << up) + least;
    let subnormal = (f32::from_bits(normal) - f32::from_bits(least)).to_bits();
    let value = if magnitude >> mantissa == 0 { subnormal } else { normal - (1 << 23) };
    let exponent = (magnitude >> mantissa).max(1) as i32 - bias as i32;
    let value = f32::from_bits(value | (word & sign) << sign.leading_zeros());
    // Infinity and NaN read as the numbers that would follow.
    (value, if magnitude == 0 { OF_ZERO } else { exponent }, magnitude + (OUTSIDE - above))
}

/// A number with f32's exponents.
#[inline(always)]
fn large(word: u32, range: &RangeInclusive<i32>) -> (f32, i32, u32) {
    let exponent = (word >> 23 & 0xff) as i32 - 127;
    let within = (exponent - range.start()) as u32 <= (range.end() - range.start()) as u32;
    let value = if within { word } else { 0 };
    let outside = if within | (word << 1 == 0) { 0 } else { OUTSIDE };
    (f32::from_bits(value), if within { exponent } else { OF_ZERO }, outside)
}

impl<const N: usize, const K: usize> Parts<N, K> {
    const ZERO: Parts<N, K> = Parts { values: [[0.0; N]; K], exponents: [[OF_ZERO; N]; K], outside: [0; N] };

    /// Takes numbers for one column; what is outside the fast range is noted, and taken as something else.
    #[inline(always)]
    fn take(&mut self, column: usize, words: Words, from: &[u32; N], range: RangeInclusive<i32>) {
        let (values, exponents) = (&mut self.values[column], &mut self.exponents[column]);
        for lane in 0..N {
            let (value, exponent, outside) = part(words, from[lane], &range);
            values[lane] = value;
            exponents[lane] = exponent;
            self.outside[lane] |= outside;
        }
    }

    #[inline(always)]
    fn is_in_range(&self) -> bool {
        self.outside.iter().fold(0, |all, outside| all | outside) & OUTSIDE == 0
    }
}

impl<const N: usize, const K: usize> Factors<N, K> {
    /// Zeros.
    pub const ZERO: Factors<N, K> = Factors(Parts::ZERO);

    /// Takes numbers for one column; those outside the fast range as others.
    #[inline(always)]
    pub fn take(&mut self, column: usize, words: Words, from: &[u32; N]) {
        self.0.take(column, words, from, FACTORS);
    }

    /// Whether all that was taken is inside the fast range.
    #[inline(always)]
    pub fn is_in_range(&self) -> bool {
        self.0.is_in_range()
    }
}

impl<const N: usize> Addends<N> {
    /// Zeros.
    pub const ZERO: Addends<N> = Addends(Parts::ZERO);

    /// Takes numbers; those outside the fast range as others.
    #[inline(always)]
    pub fn take(&mut self, words: Words, from: &[u32; N]) {
        self.0.take(0, words, from, ADDENDS);
    }

    /// Whether all that was taken is inside the fast range.
    #[inline(always)]
    pub fn is_in_range(&self) -> bool {
        self.0.is_in_range()
    }
}

/// The sums of C and of products, rounded to f16 or f32. They must fit ([`fits`]).
///
/// The sums are beside each other in `a` and `c`; in `b`, where all have the same factors, `place` finds the column and
/// the lane of each.
#[inline(always)]
pub fn sums<const N: usize, const K: usize, const M: usize, const J: usize>(
    a: &Factors<N, K>,
    b: &Factors<M, J>,
    place: impl Fn(usize) -> (usize, usize),
    c: &Addends<N>,
    rule: Rule,
    narrow: bool,
) -> [u32; N] {
    let fraction = rule.fraction.min(25) as i32;
    let power = |exponent: i32| f32::from_bits(((127 + exponent) as u32) << 23);
    let (mut values, mut exponents) = ([0.0; K], [0; K]);
    for at in 0..K {
        let (column, lane) = place(at);
        values[at] = b.0.values[column][lane];
        exponents[at] = b.0.exponents[column][lane];
    }
    let mut codes = [0; N];
    for lane in 0..N {
        // Only zeros have less.
        let mut largest = c.0.exponents[0][lane].max(*ADDENDS.start());
        for at in 0..K {
            largest = largest.max(a.0.exponents[at][lane] + exponents[at]);
        }
        let scale = power(fraction - largest);
        let mut units = 0i32;
        for at in 0..K {
            // SAFETY: at most 2^27 in magnitude, and finite. Each value is less than 2^(its exponent + 1) and is 0 where
            // the exponent is `OF_ZERO`: only `Parts::take` writes them, and `part` gives no others. So the product
            // is at most 4 times 2^(the sum of the exponents), however it is rounded, and the scale is
            // 2^(fraction − an exponent that is at least this sum), with a fraction of at most 25. The largest exponent
            // is from −100 to 100, so the scale is a finite power of two.
            units = units.wrapping_add(unsafe { cut(a.0.values[at][lane] * values[at] * scale) });
        }
        // SAFETY: less than 2^26 in magnitude, and finite: as above, for one value.
        let c = unsafe { cut(c.0.values[0][lane] * scale) };
        // Half the sum, whose sign is right where the sum itself leaves 32 bits.
        let sign = ((units & c) + ((units ^ c) >> 1)) >> 31;
        let magnitude = (units.wrapping_add(c) ^ sign).wrapping_sub(sign) as u32;
        let unit = power(largest - fraction);
        let code = match narrow {
            true => to_f16(magnitude, unit),
            false => to_f32(magnitude, unit, rule.mantissa),
        };
        let sign = sign as u32 & if narrow { 0x8000 } else { 0x8000_0000 };
        codes[lane] = if code == 0 { 0 } else { sign | code };
    }
    codes
}

/// A number of units cut toward zero to a given number of bits of f32's mantissa.
#[inline(always)]
fn to_f32(units: u32, unit: f32, mantissa: u32) -> u32 {
    let kept = units & (u32::MAX << (31 - mantissa)) >> units.leading_zeros().min(31);
    (kept as f32 * unit).to_bits()
}

/// A number of units rounded to nearest even to f16.
#[inline(always)]
fn to_f16(units: u32, unit: f32) -> u32 {
    // Cut to f32 with the last bit telling that something was cut, so that the second rounding is right.
    let mask = (u32::MAX << 8) >> units.leading_zeros().min(31);
    let last = mask & mask.wrapping_neg();
    let kept = units & mask | if units & !mask != 0 { last } else { 0 };
    f16_of_magnitude((kept as f32 * unit).to_bits())
}

/// The whole part of a number.
///
/// # Safety
/// It is less than 2^31 in magnitude, and no NaN.
#[inline(always)]
unsafe fn cut(units: f32) -> i32 {
    // SAFETY: an i32 holds it, as the caller says.
    unsafe { units.to_int_unchecked() }
}
