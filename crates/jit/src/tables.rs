//! Tables of special functions, as compiled code reads them, from those of the interpreter.

use crate::decode::Special;
use softwarp_units::alu::approx::{
    EXPONENTIAL, LOGARITHM, RANGES_OF_TANGENT, RECIPROCAL, RECIPROCAL_ROOT, ROOT, SINE, Segment, TANGENT,
};

/// The multiple of the position that is added to the sum of products, in the unit of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Multiple {
    /// Less two, where positions are even.
    LessTwoOfEven,
    LessTwo,
    Four,
    /// Four, as many times as the low three bits of the constant say.
    OfSegment,
    /// Two, before the sum is shifted right by the low four bits of the constant.
    Scaled,
}

impl Multiple {
    /// What halves of c1 are less in the products.
    fn of_half(self) -> i32 {
        match self {
            Multiple::LessTwoOfEven | Multiple::LessTwo => -(1 << 15),
            Multiple::Four => 1 << 16,
            Multiple::OfSegment => 0,
            Multiple::Scaled => 1 << 15,
        }
    }
}

/// The coefficients of a function. With `g` half of c1 less a multiple of 2^15:
pub(crate) struct Coefficients {
    /// For each segment, c2 and above it g, of 16 bits each.
    pub(crate) products: Vec<u32>,
    /// c0 and four times g.
    pub(crate) constants: Vec<u32>,
    pub(crate) multiple: Multiple,
    /// Added to the sum of products.
    pub(crate) bias: u32,
    /// Whether positions may be odd: half of g is then added, rounded up or down.
    pub(crate) odd: Option<bool>,
}

/// The coefficients of a function.
pub(crate) fn coefficients(special: Special) -> Coefficients {
    match special {
        Special::Rcp | Special::Div { .. } | Special::Dividend { .. } | Special::Divisor => {
            let all = of(&RECIPROCAL.segments, Multiple::LessTwoOfEven, RECIPROCAL.bias);
            Coefficients { odd: None, ..all }
        }
        Special::Rsqrt => of(&by_parity(&RECIPROCAL_ROOT.segments), Multiple::LessTwo, RECIPROCAL_ROOT.bias),
        Special::Sqrt => of(&by_parity(&ROOT.segments), Multiple::Four, ROOT.bias),
        Special::Ex2 { .. } => of(&EXPONENTIAL.segments, Multiple::Four, EXPONENTIAL.bias),
        Special::Lg2 => of(&LOGARITHM.segments, Multiple::OfSegment, LOGARITHM.bias),
        Special::Tanh => of_tangent(),
        Special::Sin | Special::Cos => of(&SINE.segments, Multiple::OfSegment, SINE.bias),
    }
}

/// The segments of even exponents last: the biased exponent is then odd.
fn by_parity(segments: &[Segment]) -> Vec<Segment> {
    let (even, odd) = segments.split_at(segments.len() / 2);
    [odd, even].concat()
}

fn of(segments: &[Segment], multiple: Multiple, bias: i64) -> Coefficients {
    let mut products = Vec::with_capacity(segments.len());
    let mut constants = Vec::with_capacity(segments.len());
    for &[c0, c1, c2] in segments {
        let half = c1 / 2;
        let times = match multiple {
            Multiple::OfSegment => (half + (1 << 15)) >> 16,
            _ => 0,
        };
        let g = half - multiple.of_half() - (times << 16);
        debug_assert!(i16::try_from(g).is_ok() && i16::try_from(c2).is_ok() && c1 % 2 == 0);
        products.push((g as u32) << 16 | u32::from(c2 as u16));
        let constant = (c0 + 4 * g) as u32;
        constants.push(match multiple {
            Multiple::OfSegment => constant << 3 | times as u32,
            _ => constant,
        });
    }
    Coefficients { products, constants, multiple, bias: (bias >> 2) as u32, odd: Some(bias & 2 != 0) }
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

/// The coefficients of the hyperbolic tangent. Those of a segment have a factor, so that half of c1 has 16 bits.
fn of_tangent() -> Coefficients {
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
            let g = half - (1 << 15);
            products[at] = (g as u32) << 16 | u32::from((c2 >> shift) as u16);
            let constant = (c0 + ((4 * half) << shift)) << range.scale;
            constants[at] = (constant as u32) << 4 | (13 - range.scale - shift as u32);
        }
    }
    Coefficients { products, constants, multiple: Multiple::Scaled, bias: 0, odd: Some(false) }
}
