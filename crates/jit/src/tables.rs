//! Tables of special functions, as compiled code reads them, from those of the interpreter.

use crate::decode::Special;
use softwarp_units::alu::approx::{
    EXPONENTIAL, LOGARITHM, RANGES_OF_TANGENT, RECIPROCAL, RECIPROCAL_ROOT, ROOT, SINE, Segment, TANGENT,
};
use std::sync::OnceLock;

/// The coefficients of a function, as sums of products of 16-bit words take them. With `g` a part of c1 less a multiple
/// of 2^15:
pub(crate) struct Coefficients {
    /// For each segment, c2 or a part of it, and above it g, of 16 bits each.
    pub(crate) products: Vec<u32>,
    /// c0 and the multiple of g that positions from −2^15 on lack, and for most functions what makes the number itself
    /// the multiple of the position that the products lack, and the exponent.
    pub(crate) constants: Vec<u32>,
    /// Added to the sum of products.
    pub(crate) bias: u32,
    /// A multiple of positions that is added apart, even. For other functions numbers are, or have, the multiple.
    pub(crate) multiple: Option<u32>,
    /// Whether positions may be odd: half of g, rounded down, is then added.
    pub(crate) has_odd: bool,
    /// Whether products are those of −g and −c2, and the sum is taken off: half of g is then rounded up.
    pub(crate) negated: bool,
}

/// The coefficients of a function.
pub(crate) fn coefficients(special: Special) -> &'static Coefficients {
    static KNOWN: [OnceLock<Coefficients>; 7] = [const { OnceLock::new() }; 7];
    let number = match special {
        Special::Rcp | Special::Div { .. } | Special::Dividend { .. } | Special::Divisor => 0,
        Special::Rsqrt => 1,
        Special::Sqrt => 2,
        Special::Ex2 { .. } => 3,
        Special::Lg2 => 4,
        Special::Tanh => 5,
        Special::Sin | Special::Cos => 6,
    };
    KNOWN[number].get_or_init(|| pack(special))
}

fn pack(special: Special) -> Coefficients {
    // The place of a segment among the bits of a number less its least normal one.
    let of_root = |segment: i32| (segment ^ 64) << 17;
    match special {
        Special::Rcp | Special::Div { .. } | Special::Dividend { .. } | Special::Divisor => {
            let place = |segment: i32| 4 * ((segment << 16) - (4 << 23));
            let all = of(&RECIPROCAL.segments, -(1 << 15), RECIPROCAL.bias, place);
            Coefficients { has_odd: false, ..all }
        }
        Special::Rsqrt => {
            let segments = by_parity(&RECIPROCAL_ROOT.segments);
            of(&segments, -(1 << 15), RECIPROCAL_ROOT.bias, |segment| 2 * of_root(segment))
        }
        Special::Sqrt => of(&by_parity(&ROOT.segments), 1 << 16, ROOT.bias, |segment| -4 * of_root(segment)),
        Special::Ex2 { .. } => {
            let place = |segment: i32| ((126 << 23) - (segment << 17)).wrapping_mul(4);
            of(&EXPONENTIAL.segments, 1 << 16, EXPONENTIAL.bias, place)
        }
        Special::Lg2 => fine(&LOGARITHM.segments, LOGARITHM.bias),
        Special::Tanh => of_tangent(),
        Special::Sin | Special::Cos => fine(&SINE.segments, SINE.bias),
    }
}

/// The segments of even exponents last: the biased exponent is then odd.
fn by_parity(segments: &[Segment]) -> Vec<Segment> {
    let (even, odd) = segments.split_at(segments.len() / 2);
    [odd, even].concat()
}

fn words(g: i32, c2: i32) -> u32 {
    debug_assert!(i16::try_from(g).is_ok() && i16::try_from(c2).is_ok());
    (g as u32) << 16 | u32::from(c2 as u16)
}

/// Coefficients in quarters of the table's unit; g is half of c1 less a multiple. To the constant of a segment something
/// is added.
fn of(segments: &[Segment], multiple: i32, bias: i64, place: impl Fn(i32) -> i32) -> Coefficients {
    let g_of = |c1: i32| {
        debug_assert!(c1 % 2 == 0);
        c1 / 2 - multiple
    };
    let negated = bias & 2 != 0;
    let sign = if negated { -1 } else { 1 };
    let products = segments.iter().map(|&[_, c1, c2]| words(sign * g_of(c1), sign * c2)).collect();
    let constants =
        (0..).zip(segments).map(|(n, &[c0, c1, _])| (c0 + 4 * g_of(c1)).wrapping_add(place(n)) as u32);
    let (constants, bias) = (constants.collect(), (bias >> 2) as u32);
    Coefficients { products, constants, bias, multiple: None, has_odd: true, negated }
}

/// Coefficients in units of 16 of the table's: g is an eighth of c1 less 2^15. Constants are in units of 2^9, and of
/// 32 bits: the number shifted left by nine bits is the multiple of the position.
fn fine(segments: &[Segment], bias: i64) -> Coefficients {
    let g_of = |c1: i32| {
        debug_assert!(c1 % 8 == 0);
        c1 / 8 - (1 << 15)
    };
    let negated = bias & 8 != 0;
    let sign = if negated { -1 } else { 1 };
    let products = segments.iter().map(|&[_, c1, c2]| {
        debug_assert!(c2 % 4 == 0);
        words(sign * g_of(c1), sign * c2 / 4)
    });
    let constants = (0u32..).zip(segments).map(|(n, &[c0, c1, _])| {
        ((c0 as u32) << 6).wrapping_add((g_of(c1) as u32) << 10).wrapping_sub(n << 26)
    });
    let (products, constants) = (products.collect(), constants.collect());
    Coefficients { products, constants, bias: (bias >> 4) as u32, multiple: None, has_odd: true, negated }
}

/// A power of two of which the hyperbolic tangent has segments of its own.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    /// Its first segment.
    pub(crate) first: u32,
    /// How many bits choose among the segments.
    pub(crate) bits: u32,
    /// By how many bits more than 26 its sums are scaled, so that they have 24 bits.
    pub(crate) scale: u32,
}

/// The ranges from 2^-8 on.
fn ranges() -> impl Iterator<Item = Range> {
    RANGES_OF_TANGENT.iter().enumerate().map(|(n, &[first, bits])| Range {
        first,
        bits,
        scale: 7u32.saturating_sub(n as u32),
    })
}

/// Words by the low four bits of the biased exponent of a range.
pub(crate) fn by_exponent(of: impl Fn(Range) -> u32) -> [u32; 16] {
    let mut words = [0; 16];
    for (n, range) in ranges().enumerate() {
        words[(127 - 8 + n) % 16] = of(range);
    }
    words
}

/// The coefficients of the hyperbolic tangent. Those of a segment have a factor, so that half of c1 has 16 bits. The low
/// four bits of a constant say by how many bits the sum is shifted right, before the others are added.
fn of_tangent() -> Coefficients {
    /// Halves less this have 16 bits with a sign, as this has.
    const MULTIPLE: u32 = 0x7ffe;
    let (mut products, mut constants) = (vec![0; 64], vec![0; 64]);
    for range in ranges() {
        let segments = TANGENT.segments.iter().enumerate().skip(range.first as usize).take(1 << range.bits);
        for (at, &[c0, c1, c2]) in segments {
            let mut shift = 0;
            while (c1 / 2) >> shift > i32::from(u16::MAX) {
                shift += 1;
            }
            let half = (c1 / 2) >> shift;
            debug_assert!(half << (shift + 1) == c1 && c2 >> shift << shift == c2);
            products[at] = words(half - MULTIPLE as i32, c2 >> shift);
            let constant = (c0 + ((4 * half) << shift)) << range.scale;
            constants[at] = (constant as u32) << 4 | (13 - range.scale - shift as u32);
        }
    }
    Coefficients { products, constants, bias: 0, multiple: Some(MULTIPLE), has_odd: true, negated: false }
}
