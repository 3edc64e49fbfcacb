//! The modifiers of a conversion as numbers: limits, masks and codes that the body ([`crate::body`]) compares with and
//! selects by.
//!
//! The body takes the formats and the kind of rounding as constants and everything else from here, without a branch on
//! it. A loop that is compiled for one conversion has the parameters as constants, too, and those without effect
//! disappear. A loop that several conversions share reads them at run time.

use crate::path::{Path, path};
use crate::{Conversion, Format, Kind, Rounding, Saturation, Scaling, TopCodes};

/// See the [module](self). "Working" is the working format that the path takes: binary32 or binary64. Without a
/// modifier, its parameters have no effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters {
    /// Decoded binary32 magnitudes below this become zero (`.ftz`, scaling with flushing).
    pub(crate) flush_input: u64,
    /// Decoded binary32 magnitudes above this become the canonical NaN (`.ftz` to f64).
    pub(crate) nan_above: u64,
    /// Working magnitudes below this become zero.
    pub(crate) flush: u64,
    /// Working words above this, as unsigned numbers, become zero: negative ones (`.relu`), and NaNs too (`.sat`).
    pub(crate) zero_above: u64,
    /// 1 if results keep the sign.
    pub(crate) sign: u64,
    /// The largest working magnitude, where rounding goes away from zero or to nearest.
    pub(crate) limit: u64,
    /// The largest working magnitude below infinity, where rounding goes toward zero.
    pub(crate) limit_inward: u64,
    /// Codes below this lose their sign: 1 for `.pzo`, else 0.
    pub(crate) signless_below: u64,
    /// Codes below this become zero (`.ftz`).
    pub(crate) flush_result: u64,
    /// The code of a NaN.
    pub(crate) nan: u64,
    /// The bits of a NaN's payload that are kept, in the result.
    pub(crate) nan_payload: u64,
    /// The sign bit of the result if NaNs keep theirs.
    pub(crate) nan_sign: u64,
    /// Of the directed roundings: 1 for downward, 0 for upward.
    pub(crate) downward: u64,
    /// The largest magnitude of a positive integer.
    pub(crate) positive: u64,
    /// The largest magnitude of a negative integer.
    pub(crate) negative: u64,
    /// The bits of the integer result.
    pub(crate) mask: u64,
    /// The limits of an integer, as signed numbers, once `flip` is applied.
    pub(crate) low: i64,
    pub(crate) high: i64,
    /// The top bit if the integer source is unsigned with 64 bits: it makes its order that of signed numbers.
    pub(crate) flip: u64,
    /// The sign bit of a 64-bit integer source that has one.
    pub(crate) source_sign: u64,
    /// The binary64 exponent field of a scale of 2^-127 or, dividing, of its inverse.
    pub(crate) scale: u64,
    /// All ones if the scale divides, else 0.
    pub(crate) divides: u64,
}

/// The fields of a working format.
#[derive(Clone, Copy)]
struct Fields {
    bits: u32,
    mantissa: u32,
    bias: i32,
}

const BINARY32: Fields = Fields { bits: 32, mantissa: 23, bias: 127 };
const BINARY64: Fields = Fields { bits: 64, mantissa: 52, bias: 1023 };

impl Fields {
    const fn infinity(self) -> u64 {
        ((1 << (self.bits - 1 - self.mantissa)) - 1) << self.mantissa
    }

    const fn one(self) -> u64 {
        (self.bias as u64) << self.mantissa
    }

    const fn magnitude(self) -> u64 {
        u64::MAX >> (65 - self.bits)
    }

    /// The exponent field of the least normal number of a format with this bias.
    const fn least_exponent(self, bias: i16) -> u64 {
        (self.bias - bias as i32 + 1) as u64
    }

    /// The working value of a positive normal code, read as a number even if it stands for something else.
    const fn value_of(self, format: Format, code: u64) -> u64 {
        let Kind::Float { mantissa, bias, .. } = format.spec().kind else { return 0 };
        let field = self.least_exponent(bias) - 1 + (code >> mantissa);
        let fraction = code & ((1 << mantissa) - 1);
        field << self.mantissa | fraction << (self.mantissa - mantissa as u32)
    }
}

const SIGN: u64 = 1 << 63;
/// The least normal binary32.
const LEAST_BINARY32: u64 = 1 << 23;

impl Parameters {
    const NONE: Parameters = Parameters {
        flush_input: 0,
        nan_above: u64::MAX,
        flush: 0,
        zero_above: u64::MAX,
        sign: 1,
        limit: u64::MAX,
        limit_inward: u64::MAX,
        signless_below: 0,
        flush_result: 0,
        nan: 0,
        nan_payload: 0,
        nan_sign: 0,
        downward: 0,
        positive: 0,
        negative: 0,
        mask: u64::MAX,
        low: i64::MIN,
        high: i64::MAX,
        flip: 0,
        source_sign: 0,
        scale: 0,
        divides: 0,
    };

    /// The parameters of a conversion.
    pub(crate) const fn of(c: Conversion) -> Parameters {
        let none = Parameters {
            downward: matches!(c.rounding, Rounding::Down) as u64,
            source_sign: if c.src.is_signed() { SIGN } else { 0 },
            ..Parameters::NONE
        };
        match path(c) {
            Path::IntToInt => none.int_to_int(c),
            Path::FloatToInt => none.float_to_int(c),
            Path::Move => none,
            Path::IntToFloat => {
                let (src, fields) = match c.src.bits() {
                    8 | 16 => (Format::F32, BINARY32),
                    _ => (Format::F64, BINARY64),
                };
                match c.dst {
                    Format::F64 => none.clamped(c, BINARY64),
                    _ => none.encoded(Conversion { src, ftz: false, ..c }, fields),
                }
            }
            Path::By32 => none.encoded(c, BINARY32),
            Path::By64 => none.scaled(c).encoded(c, BINARY64),
            Path::Widen => {
                let flushed = if c.ftz {
                    Parameters { flush_input: LEAST_BINARY32, nan_above: BINARY32.infinity(), ..none }
                } else {
                    none
                };
                flushed.clamped(c, BINARY64)
            }
            Path::Integral => {
                let flushed = if c.ftz { Parameters { flush_input: LEAST_BINARY32, ..none } } else { none };
                match c.dst {
                    Format::F64 => flushed.clamped(c, BINARY64),
                    _ => flushed
                        .encoded(Conversion { rounding: Rounding::NearestEven, ftz: false, ..c }, BINARY32),
                }
            }
            Path::Stochastic => {
                let above = c.dst.magnitude_above_finite();
                Parameters {
                    limit: if matches!(c.saturation, Saturation::Finite) { above - 1 } else { above },
                    zero_above: if c.relu { BINARY32.magnitude() } else { u64::MAX },
                    sign: !c.relu as u64,
                    ..none
                }
            }
            Path::ToExponent => Parameters {
                limit: if matches!(c.saturation, Saturation::Finite) { 0xfe } else { 0xff },
                // Any fraction above this counts.
                flush: if matches!(c.rounding, Rounding::Up) { 0 } else { u64::MAX },
                ..none
            },
            Path::ToFixed => Parameters { low: if c.relu { 0 } else { -128 }, high: 127, ..none.scaled(c) },
        }
    }

    const fn int_to_int(self, c: Conversion) -> Parameters {
        if !matches!(c.saturation, Saturation::Clamp) {
            return self;
        }
        let (low, high) = crate::path::int_range(c.dst);
        match (c.src, c.dst) {
            (Format::U64, Format::U64) => self,
            (Format::U64, _) => Parameters { flip: SIGN, high: high ^ i64::MIN, ..self },
            _ => Parameters { low, high, ..self },
        }
    }

    const fn float_to_int(self, c: Conversion) -> Parameters {
        let fields = if c.dst.bits() == 64 || matches!(c.src, Format::F64) { BINARY64 } else { BINARY32 };
        let positive = c.dst.mask() >> c.dst.is_signed() as u32;
        // Hardware marks NaN with the top bit where f64 or a 64-bit integer takes part.
        let marked = fields.bits == 64;
        Parameters {
            // Only f32 inputs are flushed, and only directed roundings can tell.
            flush: if c.ftz { fields.least_exponent(127) << fields.mantissa } else { 0 },
            positive,
            negative: if c.dst.is_signed() { positive + 1 } else { 0 },
            mask: c.dst.mask(),
            nan: if marked { 1 << (c.dst.bits() - 1) } else { 0 },
            ..self
        }
    }

    /// `.sat` on a floating value that is already in its own format.
    const fn clamped(self, c: Conversion, fields: Fields) -> Parameters {
        if !matches!(c.saturation, Saturation::Clamp) {
            return self;
        }
        Parameters { zero_above: fields.infinity(), limit: fields.one(), ..self }
    }

    const fn scaled(self, c: Conversion) -> Parameters {
        let flushed = match (c.scaling, c.src.spec().kind) {
            (Scaling::DivideFlushed, Kind::Float { bias, .. }) => (128 - bias as u64) << 23,
            _ => 0,
        };
        match c.scaling {
            Scaling::None => self,
            Scaling::Multiply => Parameters { scale: 1023 - 127, divides: 0, ..self },
            _ => Parameters { flush_input: flushed, scale: 1023 + 127, divides: u64::MAX, ..self },
        }
    }

    /// For results in a floating format of at most 32 bits.
    const fn encoded(self, c: Conversion, fields: Fields) -> Parameters {
        let Kind::Float { exponent, mantissa, top, padding, .. } = c.dst.spec().kind else { return self };
        let clamps = matches!(c.saturation, Saturation::Clamp);
        // The code after the largest finite one is infinity, or NaN where there is none, and as a number it is what
        // that code would be if it were finite: clamping the value to it, or to the largest finite one, is the same as
        // clamping the result.
        let above = c.dst.magnitude_above_finite();
        let (finite, over) = (fields.value_of(c.dst, above - 1), fields.value_of(c.dst, above));
        let saturates = matches!(c.saturation, Saturation::Finite) || matches!(top, TopCodes::Finite);
        let (limit, limit_inward) = match (clamps, saturates) {
            (true, _) => (fields.one(), fields.one()),
            (_, true) => (finite, finite),
            _ => (over, finite),
        };
        // From f64 a NaN keeps its sign and the upper part of its payload, made quiet; else it becomes the
        // destination's canonical one, or its largest number where it has no NaN.
        let (nan, nan_payload, nan_sign) = match (c.src, c.dst) {
            _ if clamps => (0, 0, 0),
            (Format::F64, Format::F16 | Format::Bf16 | Format::F32) => {
                let quiet = ((1 << exponent) - 1) << mantissa | 1 << (mantissa - 1);
                (quiet, (1 << mantissa) - 1, 1 << (c.dst.bits() - 1))
            }
            (Format::Bf16, Format::F32) if !c.ftz => (0, u64::MAX, 0),
            _ => (c.dst.mask() >> c.dst.is_signed() as u32 >> padding, 0, 0),
        };
        Parameters {
            flush: if c.ftz && matches!(c.src, Format::F32) { 1 << fields.mantissa } else { 0 },
            zero_above: if clamps {
                fields.infinity()
            } else if c.relu {
                fields.magnitude()
            } else {
                u64::MAX
            },
            sign: !(clamps || c.relu) as u64,
            limit,
            limit_inward,
            signless_below: c.positive_zero as u64,
            flush_result: if c.ftz && matches!(c.dst, Format::F32) { 1 << mantissa } else { 0 },
            nan,
            nan_payload,
            nan_sign,
            ..self
        }
    }
}
