//! Scalar codecs of the 16-bit formats, for the loops of other crates: one home for what arithmetic, matrix products,
//! textures and atomics do with f16, bf16 and FP8 values.
//!
//! PTX ISA 5.2.1 and 5.2.3. Every function is branchless and always inlined, so that a loop over lanes vectorises with
//! the features that the loop was compiled for. NaN results are the one NaN that arithmetic makes, 7fff. Tests hold
//! these functions against the conversions of [`Conversion`](crate::Conversion), which round in every other way too.

use crate::Format;

/// A format of 16 bits: f16 or bf16.
pub trait Half: Copy {
    /// Its row in the table of formats.
    const FORMAT: Format;
    /// The NaN that arithmetic makes.
    const NAN: u16 = 0x7fff;
    /// The code of infinity, which is the mask of the exponent field.
    const INFINITY: u16;
    /// The code of one.
    const ONE: u16;

    /// The value of a code, exactly. NaNs keep sign and payload.
    fn widen(code: u16) -> f32;

    /// The code of the nearest number, ties to even. Every NaN becomes [`Half::NAN`].
    fn narrow(x: f32) -> u16;

    /// The code of the next number toward zero. A finite number too large for the format becomes infinity all the same,
    /// as in the approximate functions; every NaN becomes [`Half::NAN`].
    fn truncate_or_overflow(x: f32) -> u16;

    /// The code of the next number toward zero; no finite number becomes infinity. Every NaN becomes [`Half::NAN`].
    #[inline(always)]
    fn truncate(x: f32) -> u16 {
        let code = Self::truncate_or_overflow(x);
        let overflowed = x.is_finite() && code & 0x7fff == Self::INFINITY;
        code - u16::from(overflowed)
    }

    /// Whether rounding to the format's precision with an unlimited exponent gives less than the least normal number:
    /// what `.ftz` flushes. False for bf16, for which PTX has no `.ftz`.
    #[inline(always)]
    fn is_tiny(_: f32) -> bool {
        false
    }
}

/// f16
#[derive(Clone, Copy, Debug)]
pub struct Binary16;

/// bf16
#[derive(Clone, Copy, Debug)]
pub struct Bfloat16;

impl Half for Binary16 {
    const FORMAT: Format = Format::F16;
    const INFINITY: u16 = 0x7c00;
    const ONE: u16 = 0x3c00;

    #[inline(always)]
    fn widen(code: u16) -> f32 {
        let code = u32::from(code);
        // A product with 2^112 corrects the exponent's bias and normalises subnormals.
        let scaled = f32::from_bits((code & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
        let top = if code & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
        f32::from_bits(scaled.to_bits() | top | (code & 0x8000) << 16)
    }

    #[inline(always)]
    fn narrow(x: f32) -> u16 {
        let code = f16_of_magnitude(x.to_bits() & 0x7fff_ffff) | x.to_bits() >> 16 & 0x8000;
        (if x.is_nan() { u32::from(Self::NAN) } else { code }) as u16
    }

    #[inline(always)]
    fn truncate_or_overflow(x: f32) -> u16 {
        let bits = x.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        let subnormal = (f32::from_bits(magnitude) * 16_777_216.0) as u32;
        let normal = magnitude.wrapping_sub(0x3800_0000) >> 13;
        let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
        let code = if magnitude >= 0x4780_0000 { 0x7c00 } else { finite };
        (if x.is_nan() { u32::from(Self::NAN) } else { code | bits >> 16 & 0x8000 }) as u16
    }

    #[inline(always)]
    fn is_tiny(x: f32) -> bool {
        // 2^13 times larger, the least numbers have all their bits.
        Self::narrow(x * 8192.0) & 0x7fff < 0x3800
    }
}

impl Half for Bfloat16 {
    const FORMAT: Format = Format::Bf16;
    const INFINITY: u16 = 0x7f80;
    const ONE: u16 = 0x3f80;

    #[inline(always)]
    fn widen(code: u16) -> f32 {
        f32::from_bits(u32::from(code) << 16)
    }

    #[inline(always)]
    fn narrow(x: f32) -> u16 {
        let bits = x.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        (if x.is_nan() { u32::from(Self::NAN) } else { rounded }) as u16
    }

    #[inline(always)]
    fn truncate_or_overflow(x: f32) -> u16 {
        if x.is_nan() { Self::NAN } else { (x.to_bits() >> 16) as u16 }
    }
}

/// The f16 nearest to a positive f32 that is no NaN, ties to even; both as bits.
#[inline(always)]
pub fn f16_of_magnitude(bits: u32) -> u32 {
    // The last place of 0.5 in f32 is that of the least f16, so the sum is rounded to a multiple of it.
    let subnormal = (f32::from_bits(bits) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let normal = bits.wrapping_add(0xfff + (bits >> 13 & 1)).wrapping_sub(0x3800_0000) >> 13;
    if bits < 0x3880_0000 { subnormal } else { normal.min(0x7c00) }
}

/// The f16 with the value of an e4m3 code. NaN becomes a quiet NaN with the code's sign.
#[inline(always)]
pub fn f16_of_e4m3(code: u32) -> u32 {
    let magnitude = code & 0x7f;
    let normal = (magnitude << 7) + (8 << 10);
    // Subnormals, multiples of 2^-9, are normal in f16: the integer's f32, shortened and with the exponent moved.
    let subnormal = ((magnitude as i32 as f32).to_bits() >> 13).wrapping_sub((127 - 15 + 9) << 10);
    let number = match magnitude {
        0 => 0,
        0x7f => 0x7e00,
        _ if magnitude < 8 => subnormal,
        _ => normal,
    };
    number | (code & 0x80) << 8
}

/// The f16 with the value of an e5m2 code, which is its upper byte.
#[inline(always)]
pub const fn f16_of_e5m2(code: u32) -> u32 {
    (code & 0xff) << 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splitmix::SplitMix64;
    use crate::{Conversion, Rounding};

    /// The codes of f32 numbers, as the conversions have them; every NaN is 7fff.
    fn converted(format: Format, rounding: Rounding, numbers: &[f32]) -> Vec<u16> {
        let compiled = Conversion::new(Format::F32, format).with_rounding(rounding).compiled();
        let source: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut codes = vec![0; 2 * numbers.len()];
        compiled.expect("a conversion of PTX").run(&source, &[], &mut codes);
        codes.as_chunks().0.iter().map(|code| u16::from_le_bytes(*code)).collect()
    }

    fn check<H: Half>() {
        let mut numbers = Vec::new();
        for code in 0..=u16::MAX {
            let value = H::widen(code);
            let expected = H::FORMAT.decode(code.into());
            assert!(f64::from(value) == expected || value.is_nan() && expected.is_nan(), "{code:x}");
            assert_eq!(value.is_sign_negative(), code & 0x8000 != 0, "{code:x}");
            // The numbers around this one, and those around the middle between it and the next.
            let step = if H::INFINITY == 0x7c00 { 1 << 12 } else { 1 << 15 };
            for bits in [value.to_bits(), value.to_bits().wrapping_add(step), value.to_bits() ^ step] {
                numbers.extend([-1, 0, 1].map(|by: i32| f32::from_bits(bits.wrapping_add_signed(by))));
            }
        }
        let mut random = SplitMix64::new(1);
        numbers.extend((0..1 << 18).map(|_| f32::from_bits(random.next_u32())));
        // Below f16's least normal number, where places are wider than these steps.
        numbers.extend((0..1 << 16).map(|n| n as f32 / 2f32.powi(31)));
        let nearest = converted(H::FORMAT, Rounding::NearestEven, &numbers);
        let toward_zero = converted(H::FORMAT, Rounding::TowardZero, &numbers);
        for ((&x, nearest), toward_zero) in numbers.iter().zip(nearest).zip(toward_zero) {
            assert_eq!(H::narrow(x), nearest, "{x:e}");
            assert_eq!(H::truncate(x), toward_zero, "{x:e}");
            let overflows = x.is_finite() && x.abs() >= 65536.0;
            match H::FORMAT {
                Format::F16 if overflows => {
                    assert_eq!(H::truncate_or_overflow(x) & 0x7fff, H::INFINITY, "{x:e}")
                }
                _ => assert_eq!(H::truncate_or_overflow(x), toward_zero, "{x:e}"),
            }
        }
        assert_eq!(H::widen(H::ONE), 1.0);
        assert_eq!(H::widen(H::INFINITY), f32::INFINITY);
    }

    #[test]
    fn f16_is_that_of_the_conversions() {
        check::<Binary16>();
    }

    #[test]
    fn bf16_is_that_of_the_conversions() {
        check::<Bfloat16>();
    }

    #[test]
    fn fp8_in_f16_has_the_same_value() {
        for code in 0..=0xff {
            let rows = [(Format::E4m3, f16_of_e4m3(code)), (Format::E5m2, f16_of_e5m2(code))];
            for (format, half) in rows {
                let (found, expected) = (Format::F16.decode(half.into()), format.decode(code.into()));
                let equal = found == expected && found.is_sign_negative() == expected.is_sign_negative();
                assert!(equal || found.is_nan() && expected.is_nan(), "{format} {code:x}");
            }
        }
    }
}
