//! What the codes of a format mean: decode, encode, classify, neighbours, limits, enumeration.
//!
//! PTX ISA 5.2.3. Everything follows from the format's [`Spec`](crate::Spec) row; floating formats of up
//! to 32 bits decode through the conversion body itself.

use crate::body;
use crate::environment::with_standard_floats;
use crate::parameters::Parameters;
use crate::path::{int_range, int_value, path};
use crate::{Conversion, Format, Kind, Rounding, Saturation, TopCodes};

/// What kind of number a code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names say it.
pub enum Class {
    Zero,
    /// Below the least normal number: the exponent field is zero.
    Subnormal,
    /// Any other finite number.
    Normal,
    Infinite,
    Nan,
}

impl Format {
    /// The value of a code as an f64: exact for every format but 64-bit integers beyond 2^53, which are
    /// rounded to nearest. Bits above the code are ignored.
    pub fn decode(self, code: u64) -> f64 {
        with_standard_floats(|| self.decode_here(code))
    }

    #[inline(always)]
    fn decode_here(self, code: u64) -> f64 {
        match (self, self.spec().kind) {
            (Format::F64, _) => f64::from_bits(code),
            (Format::U64, _) => code as f64,
            (_, Kind::Int { .. }) => int_value(self, code) as f64,
            _ => f32::from_bits(body::decode(self, (code & self.mask()) as u32)).into(),
        }
    }

    /// The code of a value, rounded once; `None` for random or ties-away rounding, for clamping to \[0, 1\],
    /// and where this format takes no such rounding (ue8m0 has `TowardZero` and `Up` only).
    ///
    /// Without saturation a value out of range becomes infinity, or NaN where there is none; formats that
    /// have neither, and integers, saturate in any case.
    pub fn encode(self, value: f64, rounding: Rounding, saturation: Saturation) -> Option<u64> {
        with_standard_floats(|| self.encode_here(value, rounding, saturation))
    }

    fn encode_here(self, value: f64, rounding: Rounding, saturation: Saturation) -> Option<u64> {
        let c = Conversion { rounding, saturation, ..Conversion::new(Format::F64, self) };
        let rounds = !matches!(rounding, Rounding::Stochastic | Rounding::NearestAway);
        if !rounds || matches!(saturation, Saturation::Clamp) {
            return None;
        }
        match self.spec().kind {
            // ue8m0 and s2f6 hold no value that f32 does not, but rounding twice would be wrong: what f32
            // cannot hold is first cut to f32 in a way that no second rounding can tell.
            Kind::Exponent { .. } | Kind::Fixed { .. } => {
                let sticky = Conversion::new(Format::F64, Format::F32).with_rounding(Rounding::TowardZero);
                let compiled = sticky.compiled()?;
                let cut = compiled.one(value.to_bits(), 0);
                let inexact = f64::from(f32::from_bits(cut as u32)) != value && !value.is_nan();
                // Fixed point has nothing but saturation.
                let fixed = matches!(self.spec().kind, Kind::Fixed { .. });
                let saturation = if fixed { Saturation::Finite } else { saturation };
                let compiled = Conversion { src: Format::F32, saturation, ..c }.compiled()?;
                Some(compiled.one(cut | u64::from(inexact), 0))
            }
            Kind::Float { .. } if self == Format::F64 => {
                let saturated = matches!(saturation, Saturation::Finite) && value.is_infinite();
                Some(if saturated { f64::MAX.copysign(value) } else { value }.to_bits())
            }
            _ => Some(body::element(path(c), c, &Parameters::of(c), value.to_bits(), 0)),
        }
    }

    /// What kind of number a code is.
    pub fn classify(self, code: u64) -> Class {
        with_standard_floats(|| self.classify_here(code))
    }

    fn classify_here(self, code: u64) -> Class {
        let value = self.decode(code);
        if value.is_nan() {
            Class::Nan
        } else if value.is_infinite() {
            Class::Infinite
        } else if value == 0.0 {
            Class::Zero
        } else if self.min_normal().is_some_and(|least| value.abs() < self.decode(least)) {
            Class::Subnormal
        } else {
            Class::Normal
        }
    }

    /// The code of the largest finite number.
    pub fn max_finite(self) -> u64 {
        match self.spec().kind {
            Kind::Float { padding, .. } => (self.magnitude_above_finite() - 1) << padding,
            Kind::Exponent { .. } => self.mask() - 1,
            Kind::Fixed { .. } => self.mask() >> 1,
            Kind::Int { .. } if self == Format::U64 => u64::MAX,
            Kind::Int { .. } => int_range(self).1 as u64,
        }
    }

    /// The code of the least number: the most negative one, or the smallest where there are none.
    pub fn min_finite(self) -> u64 {
        match self.spec().kind {
            Kind::Float { signed: true, .. } => self.max_finite() | 1 << (self.bits() - 1),
            Kind::Float { .. } | Kind::Exponent { .. } => 0,
            Kind::Fixed { .. } => 1 << (self.bits() - 1),
            Kind::Int { .. } => int_range(self).0 as u64 & self.mask(),
        }
    }

    /// The code of the least positive normal number; `None` where nothing is subnormal.
    pub fn min_normal(self) -> Option<u64> {
        match self.spec().kind {
            Kind::Float { mantissa, padding, .. } => Some(1 << (mantissa + padding)),
            _ => None,
        }
    }

    /// The code of the least positive number.
    pub fn min_positive(self) -> u64 {
        match self.spec().kind {
            Kind::Float { padding, .. } => 1 << padding,
            Kind::Exponent { .. } => 0,
            _ => 1,
        }
    }

    /// The code of positive infinity.
    pub fn infinity(self) -> Option<u64> {
        match self.spec().kind {
            Kind::Float { top: TopCodes::Ieee, padding, .. } => Some(self.max_finite() + (1 << padding)),
            _ => None,
        }
    }

    /// The NaN that conversions produce.
    pub fn canonical_nan(self) -> Option<u64> {
        match self.spec().kind {
            Kind::Float { top: TopCodes::Finite, .. } | Kind::Fixed { .. } | Kind::Int { .. } => None,
            Kind::Float { signed, padding, .. } => {
                Some(self.mask() >> u32::from(signed) >> padding << padding)
            }
            Kind::Exponent { .. } => Some(self.mask()),
        }
    }

    /// The code of the next larger number (infinity counts); `None` from the largest, and from NaN.
    ///
    /// Both zeros come before the least positive number.
    pub fn next_up(self, code: u64) -> Option<u64> {
        let code = code & self.mask();
        let last = self.infinity().unwrap_or(self.max_finite());
        let step = self.step();
        let negative = 1u64 << (self.bits() - 1);
        match self.spec().kind {
            _ if self.decode(code).is_nan() || code == last => None,
            Kind::Float { signed: true, .. } if code == negative => Some(step),
            Kind::Float { signed: true, .. } if code & negative != 0 => Some(code - step),
            _ => Some(code.wrapping_add(step) & self.mask()),
        }
    }

    /// The code of the next smaller number (infinity counts); `None` from the smallest, and from NaN.
    pub fn next_down(self, code: u64) -> Option<u64> {
        let code = code & self.mask();
        let step = self.step();
        let negative = 1u64 << (self.bits() - 1);
        match self.spec().kind {
            _ if self.decode(code).is_nan() => None,
            Kind::Float { signed: true, .. } => {
                let first = negative | self.infinity().unwrap_or(self.max_finite());
                match code {
                    0 => Some(negative | step),
                    _ if code == first => None,
                    _ if code & negative != 0 => Some(code + step),
                    _ => Some(code - step),
                }
            }
            _ if code == self.min_finite() => None,
            _ => Some(code.wrapping_sub(step) & self.mask()),
        }
    }

    /// How far apart neighbouring codes are: more than one only where low bits are padding.
    fn step(self) -> u64 {
        match self.spec().kind {
            Kind::Float { padding, .. } => 1 << padding,
            _ => 1,
        }
    }

    /// Every code, in order. For tf32, those whose padding is zero.
    pub fn codes(self) -> impl Iterator<Item = u64> {
        let step = self.step();
        (0..=self.mask() / step).map(move |n| n * step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_the_manual() {
        let rows = [
            (Format::E4m3, 448.0, 0.015625, 0.001953125),
            (Format::E5m2, 57344.0, 6.103515625e-05, 1.52587890625e-05),
            (Format::E2m3, 7.5, 1.0, 0.125),
            (Format::E3m2, 28.0, 0.25, 0.0625),
            (Format::E2m1, 6.0, 1.0, 0.5),
            (Format::Ue4m3, 448.0, 0.015625, 0.001953125),
            (Format::Ue5m3, 114688.0, 6.103515625e-05, 7.62939453125e-06),
            (Format::F16, 65504.0, 6.103515625e-05, 2f64.powi(-24)),
        ];
        for (format, max, normal, positive) in rows {
            assert_eq!(format.decode(format.max_finite()), max, "{format}");
            assert_eq!(format.min_normal().map(|code| format.decode(code)), Some(normal), "{format}");
            assert_eq!(format.decode(format.min_positive()), positive, "{format}");
        }
        assert_eq!(Format::Ue8m0.decode(0), 2f64.powi(-127));
        assert_eq!(Format::Ue8m0.decode(0xfe), 2f64.powi(127));
        assert_eq!(Format::S2f6.decode(Format::S2f6.min_finite()), -2.0);
        assert_eq!(Format::S2f6.decode(Format::S2f6.max_finite()), 1.984375);
        assert_eq!(Format::Tf32.max_finite(), 0x7f7f_e000);
    }

    #[test]
    fn neighbours_are_in_order_and_miss_nothing() {
        for format in Format::ALL.into_iter().filter(|format| format.bits() <= 16) {
            let mut code = match format.infinity() {
                Some(infinity) => infinity | 1 << (format.bits() - 1),
                None => format.min_finite(),
            };
            let mut count = 1;
            while let Some(next) = format.next_up(code) {
                assert!(format.decode(next) > format.decode(code), "{format} {code:x} {next:x}");
                let back = format.next_down(next).unwrap();
                assert_eq!(format.decode(back), format.decode(code), "{format} {code:x} {next:x}");
                code = next;
                count += 1;
            }
            let numbers = format.codes().filter(|&code| format.classify(code) != Class::Nan).count();
            let zeros = format.codes().filter(|&code| format.classify(code) == Class::Zero).count();
            assert_eq!(count, numbers - zeros.saturating_sub(1), "{format}");
        }
    }

    #[test]
    fn encode_is_the_inverse_of_decode() {
        for format in Format::ALL.into_iter().filter(|format| format.bits() <= 16) {
            // ue8m0 rounds toward zero or up only.
            let rounding = Rounding::TowardZero;
            for code in format.codes().filter(|&code| format.classify(code) != Class::Nan) {
                let again = format.encode(format.decode(code), rounding, Saturation::Finite);
                let infinite = format.classify(code) == Class::Infinite;
                assert!(again == Some(code) || infinite, "{format} {code:x} {again:x?}");
            }
        }
    }

    #[test]
    fn rounding_once_tells_values_just_off_a_tie() {
        let tie = 1.0 + 2f64.powi(-7);
        let above = f64::from_bits(tie.to_bits() + 1);
        let encode = |x| Format::S2f6.encode(x, Rounding::NearestEven, Saturation::Finite);
        assert_eq!(encode(tie), Some(0x40));
        assert_eq!(encode(above), Some(0x41));
        let up = |x| Format::Ue8m0.encode(x, Rounding::Up, Saturation::None);
        assert_eq!(up(1.0), Some(0x7f));
        assert_eq!(up(f64::from_bits(1f64.to_bits() + 1)), Some(0x80));
    }
}
