//! Sums for many elements at once: the same bits as [`super::exact`] for ordinary numbers.
//!
//! A factor becomes its value in f32 and its exponent. The product of two values is exact, since no factor has more
//! than 11 bits. Multiplied by the power of two that makes the sum's unit 1, it is cut by converting it to an integer;
//! integers are added. No data decides a branch, so that these loops become vector instructions.
//!
//! **Invariant**: [`Factors`] and [`Addends`] hold ordinary numbers only: zeros, and those whose exponents lie in
//! [`FACTORS`] or [`ADDENDS`]. With these nothing leaves the range of f32, and [`Sums::of`] may convert to integers
//! without looking at what it converts; that is its `unsafe`.

use super::rules::Rule;
use std::ops::RangeInclusive;

/// The exponents of ordinary factors.
const FACTORS: RangeInclusive<i32> = -50..=50;

/// The exponents of ordinary numbers that are added to products.
const ADDENDS: RangeInclusive<i32> = -100..=100;

/// The exponent of zero: whatever is added to it, no product's is less.
const OF_ZERO: i32 = -1000;

/// Whether sums of so many products by a rule fit 32 bits: each is less than 4 in the largest's scale.
pub fn fits(rule: Rule, products: usize) -> bool {
    rule.fraction <= 25 && products <= 1 << (29 - rule.fraction)
}

/// Values and exponents of some ordinary numbers.
#[derive(Clone, Copy, Debug)]
struct Parts<const N: usize> {
    values: [f32; N],
    /// Of subnormal numbers their format's least, of zeros [`OF_ZERO`].
    exponents: [i32; N],
}

/// Factors of products.
#[derive(Clone, Copy, Debug)]
pub struct Factors<const N: usize>(Parts<N>);

/// What is added to products.
#[derive(Clone, Copy, Debug)]
pub struct Addends<const N: usize>(Parts<N>);

impl<const N: usize> Parts<N> {
    const ZERO: Parts<N> = Parts { values: [0.0; N], exponents: [OF_ZERO; N] };

    /// Numbers of f16 in the low 16 bits of words, and whether all are ordinary.
    #[inline(always)]
    fn f16(words: &[u32; N]) -> (Parts<N>, bool) {
        let mut parts = Parts::ZERO;
        let mut largest = 0;
        for lane in 0..N {
            let word = words[lane];
            let magnitude = word & 0x7fff;
            largest = largest.max(magnitude);
            // With the field of 2^−14 in front, a subnormal number's mantissa reads as 2^−14 more than it is worth.
            let normal = f32::from_bits((magnitude << 13) + (112 << 23));
            let subnormal = f32::from_bits((magnitude << 13) + (113 << 23)) - f32::from_bits(113 << 23);
            let value = if magnitude < 0x400 { subnormal } else { normal };
            parts.values[lane] = f32::from_bits(value.to_bits() | (word & 0x8000) << 16);
            let exponent = (magnitude >> 10).max(1) as i32 - 15;
            parts.exponents[lane] = if magnitude == 0 { OF_ZERO } else { exponent };
        }
        (parts, largest < 0x7c00)
    }

    /// Numbers of e4m3 in the low 8 bits of words, and whether all are ordinary: all but NaN.
    #[inline(always)]
    fn e4m3(words: &[u32; N]) -> (Parts<N>, bool) {
        let mut parts = Parts::ZERO;
        let mut largest = 0;
        for lane in 0..N {
            let word = words[lane];
            let magnitude = word & 0x7f;
            largest = largest.max(magnitude);
            let normal = f32::from_bits((magnitude << 20) + (120 << 23));
            let subnormal = f32::from_bits((magnitude << 20) + (121 << 23)) - f32::from_bits(121 << 23);
            let value = if magnitude < 8 { subnormal } else { normal };
            parts.values[lane] = f32::from_bits(value.to_bits() | (word & 0x80) << 24);
            let exponent = (magnitude >> 3).max(1) as i32 - 7;
            parts.exponents[lane] = if magnitude == 0 { OF_ZERO } else { exponent };
        }
        (parts, largest < 0x7f)
    }

    /// Numbers of f32, and whether all are zeros or have one of these exponents.
    #[inline(always)]
    fn f32(words: &[u32; N], exponents: RangeInclusive<i32>) -> (Parts<N>, bool) {
        let mut parts = Parts::ZERO;
        let (mut least, mut largest) = (*exponents.end(), *exponents.start());
        for lane in 0..N {
            let word = words[lane];
            let exponent = (word >> 23 & 0xff) as i32 - 127;
            let zero = word << 1 == 0;
            least = least.min(if zero { *exponents.start() } else { exponent });
            largest = largest.max(if zero { *exponents.start() } else { exponent });
            parts.values[lane] = f32::from_bits(word);
            parts.exponents[lane] = if zero { OF_ZERO } else { exponent };
        }
        (parts, least >= *exponents.start() && largest <= *exponents.end())
    }

    #[inline(always)]
    fn shuffled(&self, from: impl Fn(usize) -> usize) -> Parts<N> {
        let mut parts = *self;
        for lane in 0..N {
            parts.values[lane] = self.values[from(lane)];
            parts.exponents[lane] = self.exponents[from(lane)];
        }
        parts
    }
}

impl<const N: usize> Factors<N> {
    /// Zeros.
    pub const ZERO: Factors<N> = Factors(Parts::ZERO);

    /// Numbers of f16 in the low 16 bits of words.
    #[inline(always)]
    pub fn f16(words: &[u32; N]) -> Option<Factors<N>> {
        let (parts, ordinary) = Parts::f16(words);
        ordinary.then_some(Factors(parts))
    }

    /// Numbers of e4m3 in the low 8 bits of words.
    #[inline(always)]
    pub fn e4m3(words: &[u32; N]) -> Option<Factors<N>> {
        let (parts, ordinary) = Parts::e4m3(words);
        ordinary.then_some(Factors(parts))
    }

    /// Numbers of a format that is the upper part of f32's, the other bits being zero: at least 13.
    #[inline(always)]
    pub fn f32(words: &[u32; N]) -> Option<Factors<N>> {
        let (parts, ordinary) = Parts::f32(words, FACTORS);
        ordinary.then_some(Factors(parts))
    }

    /// The same numbers, each lane's from another lane.
    #[inline(always)]
    pub fn shuffled(&self, from: impl Fn(usize) -> usize) -> Factors<N> {
        Factors(self.0.shuffled(from))
    }
}

impl<const N: usize> Addends<N> {
    /// Numbers of f16.
    #[inline(always)]
    pub fn f16(words: &[u32; N]) -> Option<Addends<N>> {
        let (parts, ordinary) = Parts::f16(words);
        ordinary.then_some(Addends(parts))
    }

    /// Numbers of f32.
    #[inline(always)]
    pub fn f32(words: &[u32; N]) -> Option<Addends<N>> {
        let (parts, ordinary) = Parts::f32(words, ADDENDS);
        ordinary.then_some(Addends(parts))
    }
}

/// Exact sums of cut addends.
#[derive(Clone, Copy, Debug)]
pub struct Sums<const N: usize> {
    /// The sums, in units.
    whole: [f64; N],
    /// The units.
    unit: [f32; N],
}

impl<const N: usize> Sums<N> {
    /// The sums of the products of `a` and `b` and of `c`. They must fit ([`fits`]).
    #[inline(always)]
    pub fn of(a: &[Factors<N>], b: &[Factors<N>], c: &Addends<N>, rule: Rule) -> Sums<N> {
        // Only zeros have less.
        let mut largest = c.0.exponents.map(|exponent| exponent.max(*ADDENDS.start()));
        for (a, b) in a.iter().zip(b) {
            for lane in 0..N {
                largest[lane] = largest[lane].max(a.0.exponents[lane] + b.0.exponents[lane]);
            }
        }
        let fraction = rule.fraction.min(25) as i32;
        let power = |exponent: i32| f32::from_bits(((127 + exponent) as u32) << 23);
        let scale = largest.map(|largest| power(fraction - largest));
        let unit = largest.map(|largest| power(largest - fraction));
        let mut units = [0i32; N];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..N {
                let cut = cut(a.0.values[lane] * b.0.values[lane] * scale[lane]);
                units[lane] = units[lane].wrapping_add(cut);
            }
        }
        let mut whole = [0.0; N];
        for lane in 0..N {
            whole[lane] = f64::from(units[lane]) + f64::from(cut(c.0.values[lane] * scale[lane]));
        }
        Sums { whole, unit }
    }

    /// Cut toward zero to so many bits of f32's mantissa.
    #[inline(always)]
    pub fn to_f32(&self, mantissa: u32) -> [u32; N] {
        let mut codes = [0; N];
        for lane in 0..N {
            let kept = self.whole[lane].to_bits() & (u64::MAX << (52 - mantissa));
            codes[lane] = (f64::from_bits(kept) as f32 * self.unit[lane]).to_bits();
        }
        codes
    }

    /// Rounded to nearest even to f16.
    #[inline(always)]
    pub fn to_f16(&self) -> [u32; N] {
        let mut codes = [0; N];
        for lane in 0..N {
            // Cut to f32 with the last bit telling that something was cut, so that the second rounding is right.
            let bits = self.whole[lane].to_bits();
            let kept = bits & u64::MAX << 29 | u64::from(bits << 35 != 0) << 29;
            codes[lane] = half_of((f64::from_bits(kept) as f32 * self.unit[lane]).to_bits());
        }
        codes
    }
}

/// The whole part of a scaled addend of [`Sums::of`].
#[inline(always)]
fn cut(units: f32) -> i32 {
    // SAFETY: `units` is finite and less than 2^27 in magnitude, so that an i32 holds it. It is an ordinary number, or
    // the product of two, which are less than 2 or 4 times 2^(their exponents' sum) and are multiplied by
    // 2^(fraction − an exponent that is at least this sum), where the fraction is at most 25.
    unsafe { units.to_int_unchecked() }
}

/// A finite number of f32 rounded to nearest even to f16; zero is positive.
#[inline(always)]
fn half_of(code: u32) -> u32 {
    let magnitude = code & 0x7fff_ffff;
    // A subnormal result: in the sum with 0.5, f16's last bit is the last bit.
    let low = (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits();
    let high = magnitude.max(113 << 23) - (112 << 23);
    let high = (high + 0xfff + (high >> 13 & 1)) >> 13;
    let kept = if magnitude < 113 << 23 { low } else { high.min(0x7c00) };
    if kept == 0 { 0 } else { code >> 16 & 0x8000 | kept }
}
