//! The conversion body: one element in, one element out, without a branch that depends on the data.
//!
//! PTX ISA, `cvt` in 9.7 and section 6.5. Every function here takes the [`Conversion`] as a value and is
//! inlined where that value is a constant, so the choices on it disappear and what remains is a straight
//! line that vectorises. There is no second implementation: single values, slices and every CPU
//! feature set run this code.
//!
//! A conversion goes through a working format (see [`crate::carrier`]): decode the source to it, exactly;
//! round, clamp and encode from it, once.

use crate::carrier::Carrier;
use crate::{Conversion, Format, Kind, Rounding, Saturation, Scaling, TopCodes};

/// Which way through the body a conversion takes. Known at compile time for each kernel, so that only
/// that way is compiled for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    IntToInt,
    IntToFloat,
    FloatToInt,
    /// The very same bits (`cvt.f32.f32` without modifiers is a move: NaNs stay as they are).
    Move,
    /// Float to float by way of binary32.
    By32,
    /// Float to float by way of binary64, from f64 or with a scale.
    By64,
    /// To f64.
    Widen,
    /// Rounded to an integral value.
    Integral,
    /// With random bits.
    Stochastic,
    /// To a power of two.
    ToExponent,
    /// To fixed point.
    ToFixed,
}

pub(crate) const fn path(c: Conversion) -> Path {
    match (c.src.is_int(), c.dst.is_int()) {
        (true, true) => return Path::IntToInt,
        (true, false) => return Path::IntToFloat,
        (false, true) => return Path::FloatToInt,
        (false, false) => {}
    }
    let identity = c.src as u8 == c.dst as u8
        && !c.ftz
        && matches!(c.saturation, Saturation::None)
        && matches!(c.src, Format::F32 | Format::F64);
    if c.integral {
        Path::Integral
    } else if identity {
        Path::Move
    } else if matches!(c.rounding, Rounding::Stochastic) {
        Path::Stochastic
    } else if matches!(c.dst, Format::Ue8m0) {
        Path::ToExponent
    } else if matches!(c.dst, Format::S2f6) {
        Path::ToFixed
    } else if matches!(c.dst, Format::F64) {
        Path::Widen
    } else if matches!(c.src, Format::F64) || !matches!(c.scaling, Scaling::None) {
        Path::By64
    } else {
        Path::By32
    }
}

/// Converts one element along `path`. `aux` is the element's random bits or scale, if it takes any.
#[inline(always)]
pub(crate) fn element(path: Path, c: Conversion, x: u64, aux: u32) -> u64 {
    match path {
        Path::IntToInt => int_to_int(c, x),
        Path::IntToFloat => int_to_float(c, x),
        Path::FloatToInt => float_to_int(c, x),
        Path::Move => x,
        Path::By32 => encode(c, decode(c.src, x as u32)).into(),
        Path::By64 => encode(c, rescale(c, x, aux)),
        Path::Widen => widen(c, x),
        Path::Integral => integral(c, x),
        Path::Stochastic => stochastic(c, x as u32, aux).into(),
        Path::ToExponent => to_exponent(c, decode(c.src, x as u32)).into(),
        Path::ToFixed => to_fixed(c, x, aux).into(),
    }
}

// ---- decode -------------------------------------------------------------------------------------------

/// The binary32 with the value of `code`: exact for every format of at most 32 bits that is not an
/// integer. NaNs keep sign and payload where the format has them.
#[inline(always)]
pub(crate) fn decode(format: Format, code: u32) -> u32 {
    match format.spec().kind {
        Kind::Float { exponent: 8, mantissa, padding: 0, .. } => code << (23 - mantissa),
        Kind::Float { exponent: 8, .. } => code,
        Kind::Float { exponent, mantissa, bias, top, signed, .. } => {
            let (mantissa, exponent, bias) = (u32::from(mantissa), u32::from(exponent), bias as u32);
            let magnitude = code & ((1 << (mantissa + exponent)) - 1);
            let aligned = magnitude << (23 - mantissa);
            let normal = aligned + ((127 - bias) << 23);
            // A subnormal is what remains of 1.m once the implicit one is taken away again. (Multiplying a
            // binary32 subnormal up would do as well, at a hundred cycles each on some CPUs.)
            let least = (128 - bias) << 23;
            let subnormal = (f32::from_bits(aligned + least) - f32::from_bits(least)).to_bits();
            let finite = if magnitude < 1 << mantissa { subnormal } else { normal };
            let value = match top {
                TopCodes::Ieee if magnitude >> mantissa == (1 << exponent) - 1 => aligned | 0x7f80_0000,
                TopCodes::NanOnly if magnitude == (1 << (mantissa + exponent)) - 1 => 0x7fff_ffff,
                _ => finite,
            };
            if signed { value | (code >> (mantissa + exponent) & 1) << 31 } else { value }
        }
        Kind::Exponent { .. } => match code & 0xff {
            0 => 0x0040_0000,
            0xff => 0x7fff_ffff,
            code => code << 23,
        },
        Kind::Fixed { fraction } => {
            let unit = f32::from_bits((127 - u32::from(fraction)) << 23);
            (f32::from(code as u8 as i8) * unit).to_bits()
        }
        Kind::Int { .. } => 0, // Integers take other paths.
    }
}

/// A binary32 as a binary64. NaNs keep sign and payload and become quiet.
#[inline(always)]
fn to_binary64(x: u32) -> u64 {
    let value = f64::from(f32::from_bits(x)).to_bits();
    let nan = u64::from(x >> 31) << 63 | 0x7ff8_0000_0000_0000 | u64::from(x & 0x7f_ffff) << 29;
    if x & 0x7fff_ffff > 0x7f80_0000 { nan } else { value }
}

/// The binary64 that a scaled conversion, or one from f64, encodes.
#[inline(always)]
fn rescale(c: Conversion, x: u64, scale: u32) -> u64 {
    if matches!(c.src, Format::F64) {
        return x;
    }
    let value = to_binary64(flushed(c, decode(c.src, x as u32)));
    if matches!(c.scaling, Scaling::None) {
        return value;
    }
    // 2^±(scale-127) is always a normal binary64, and so is the exact product.
    let power = match c.scaling {
        Scaling::Multiply => 1023 - 127 + u64::from(scale),
        _ => 1023 + 127 - u64::from(scale),
    };
    let scaled = (f64::from_bits(value) * f64::from_bits(power << 52)).to_bits();
    if scale == 0xff { 0x7fff_ffff_ffff_ffff } else { scaled }
}

/// With `DivideFlushed`, inputs that are subnormal in the source format become zero.
#[inline(always)]
fn flushed(c: Conversion, x: u32) -> u32 {
    let least_exponent = match (c.scaling, c.src.spec().kind) {
        (Scaling::DivideFlushed, Kind::Float { bias, .. }) => 128 - bias as u32,
        _ => return x,
    };
    if x & 0x7fff_ffff < least_exponent << 23 { x & 0x8000_0000 } else { x }
}

// ---- encode -------------------------------------------------------------------------------------------

/// Rounds the working value `x` to the destination, a floating format of at most 32 bits.
#[inline(always)]
fn encode<W: Carrier>(c: Conversion, x: W) -> W {
    let Kind::Float { exponent, mantissa, bias, top, signed, padding } = c.dst.spec().kind else {
        return x; // No other kind takes this path.
    };
    let (exponent, mantissa) = (u32::from(exponent), u32::from(mantissa));
    let zero = W::word(0);
    let one = W::word(1);
    let infinity_code = W::word(((1 << exponent) - 1) << mantissa);

    let mut sign = if signed { x >> (W::BITS - 1) } else { zero };
    let mut magnitude = x & W::MAGNITUDE;
    let nan = magnitude > W::INFINITY;

    if c.ftz && matches!(c.src, Format::F32) && magnitude < W::word(1) << W::MANTISSA {
        magnitude = zero;
    }
    if matches!(c.saturation, Saturation::Clamp) {
        magnitude = if nan | (sign != zero) { zero } else { magnitude.min(W::ONE) };
        sign = zero;
    }
    if matches!((c.dst, c.rounding), (Format::Tf32, Rounding::NearestAway)) {
        return encode_tf32_away(c, sign, magnitude);
    }

    // Out of range. The code after the largest finite one is infinity, or NaN where there is none, and as a
    // number it is what that code would be if it were finite: clamping the value to it, or to the largest
    // finite one, is the same as clamping the result.
    let above = c.dst.magnitude_above_finite();
    let inward = match c.rounding {
        Rounding::TowardZero => true,
        Rounding::Down => sign == zero,
        Rounding::Up => sign != zero,
        _ => false,
    };
    let (finite, over) = (value_of::<W>(c.dst, above - 1), value_of::<W>(c.dst, above));
    magnitude = if matches!(c.saturation, Saturation::Finite) || matches!(top, TopCodes::Finite) {
        magnitude.min(finite)
    } else {
        let limit = if inward & (magnitude != W::INFINITY) { finite } else { over };
        magnitude.min(limit)
    };

    let drop = W::MANTISSA - mantissa;
    let mut code = if W::BITS == 32 && exponent == 8 {
        // The same exponents: only the significand gets shorter.
        if drop == 0 {
            magnitude
        } else {
            let increment = increment(c, sign, (magnitude >> drop) & one, W::word((1 << drop) - 1));
            (magnitude + increment) >> drop
        }
    } else {
        // Adding a power of two so large that the sum's last bit is the result's last bit makes the CPU do
        // the rounding, to nearest even, and leaves the result's significand in the sum's low bits. The last
        // bit is that of the least normal number for everything below it.
        let least = least_exponent::<W>(bias);
        let binade = (magnitude & W::INFINITY).max(W::word(least) << W::MANTISSA);
        let power = binade + (W::word(u64::from(drop)) << W::MANTISSA);
        let sum = magnitude.float_add(power);
        let rounded = sum.float_sub(power);
        let significand = match c.rounding {
            Rounding::TowardZero => sum - flag(magnitude.float_less(rounded)),
            Rounding::Up | Rounding::Down if inward => sum - flag(magnitude.float_less(rounded)),
            Rounding::Up | Rounding::Down => sum + flag(rounded.float_less(magnitude)),
            _ => sum,
        } - power;
        significand + (binade >> drop) - W::word(least << mantissa)
    };

    if c.ftz && matches!(c.dst, Format::F32) && code < W::word(1) << mantissa {
        code = zero;
    }
    if c.relu {
        code = if sign != zero { zero } else { code };
        sign = zero;
    }
    if c.positive_zero {
        sign = if code == zero { zero } else { sign };
    }
    let mut result = code;
    if signed {
        result = result | sign << (exponent + mantissa);
    }
    if !matches!(c.saturation, Saturation::Clamp) {
        result = if nan { nan_result(c, x, mantissa, infinity_code) } else { result };
    }
    result << u32::from(padding)
}

/// One or nothing.
#[inline(always)]
fn flag<W: Carrier>(set: bool) -> W {
    W::word(u64::from(set))
}

/// The working format's exponent field for the least normal number of a format with this bias.
#[inline(always)]
const fn least_exponent<W: Carrier>(bias: i16) -> u64 {
    (W::BIAS - bias as i32 + 1) as u64
}

/// The working value of a positive normal code, read as a number even if it stands for something else.
#[inline(always)]
fn value_of<W: Carrier>(format: Format, code: u64) -> W {
    let Kind::Float { mantissa, bias, .. } = format.spec().kind else { return W::word(0) };
    let field = least_exponent::<W>(bias) - 1 + (code >> mantissa);
    let fraction = code & ((1 << mantissa) - 1);
    W::word(field << W::MANTISSA | fraction << (W::MANTISSA - u32::from(mantissa)))
}

/// What to add to the significand before its low bits (all ones in `low`) are cut off; `last` is the bit
/// that will be the result's last.
#[inline(always)]
fn increment<W: Carrier>(c: Conversion, sign: W, last: W, low: W) -> W {
    let zero = W::word(0);
    match c.rounding {
        Rounding::NearestEven => (low >> 1) + last,
        Rounding::NearestAway => (low >> 1) + W::word(1),
        Rounding::Up => {
            if sign == zero {
                low
            } else {
                zero
            }
        }
        Rounding::Down => {
            if sign == zero {
                zero
            } else {
                low
            }
        }
        Rounding::TowardZero | Rounding::Stochastic => zero,
    }
}

/// The code for a NaN: from f64 its sign and the upper part of its payload, made quiet; else the
/// destination's canonical one, or its largest number where it has no NaN.
#[inline(always)]
fn nan_result<W: Carrier>(c: Conversion, x: W, mantissa: u32, infinity_code: W) -> W {
    match (c.src, c.dst) {
        (Format::F64, Format::F16 | Format::Bf16 | Format::F32) => {
            let payload = (x >> (W::MANTISSA - mantissa)) & W::word((1 << mantissa) - 1);
            let sign = x >> (W::BITS - 1) << (c.dst.bits() - 1);
            sign | infinity_code | W::word(1 << (mantissa - 1)) | payload
        }
        (Format::Bf16, Format::F32) if !c.ftz => x,
        _ => {
            let magnitude = c.dst.mask() >> u32::from(c.dst.is_signed());
            let padding = if matches!(c.dst, Format::Tf32) { 13 } else { 0 };
            W::word(magnitude >> padding)
        }
    }
}

/// `cvt.rna.tf32.f32` as GPUs do it: half a unit is added to everything below infinity and the low bits
/// are cut, of NaNs too, so that the NaN 7f800001 becomes infinity. `.satfinite` then takes one unit
/// off everything from infinity up, NaNs included.
#[inline(always)]
fn encode_tf32_away<W: Carrier>(c: Conversion, sign: W, magnitude: W) -> W {
    let rounded = if magnitude < W::INFINITY { magnitude + W::word(0x1000) } else { magnitude };
    let mut result = rounded & !W::word(0x1fff);
    if matches!(c.saturation, Saturation::Finite) {
        result = if result >= W::INFINITY { result - W::word(0x2000) } else { result };
    }
    result | sign << 31
}

/// To f64, which holds every other format.
#[inline(always)]
fn widen(c: Conversion, x: u64) -> u64 {
    if matches!(c.src, Format::F64) {
        return clamped(c, x);
    }
    let mut narrow = decode(c.src, x as u32);
    let magnitude = narrow & 0x7fff_ffff;
    if c.ftz {
        narrow = if magnitude < 0x0080_0000 { narrow & 0x8000_0000 } else { narrow };
        narrow = if magnitude > 0x7f80_0000 { 0x7fff_ffff } else { narrow };
    }
    clamped(c, to_binary64(narrow))
}

/// `.sat` on a floating value that is already in its own format.
#[inline(always)]
fn clamped<W: Carrier>(c: Conversion, x: W) -> W {
    if !matches!(c.saturation, Saturation::Clamp) {
        return x;
    }
    // As unsigned numbers, negative values are above every positive one, NaNs included.
    let positive = x <= W::INFINITY;
    if positive { x.min(W::ONE) } else { W::word(0) }
}

/// `cvt.rs`: the random bits are added at the top of the discarded ones, and a carry rounds away from zero.
#[inline(always)]
fn stochastic(c: Conversion, x: u32, random: u32) -> u32 {
    let Kind::Float { exponent, mantissa, bias, .. } = c.dst.spec().kind else { return x };
    let (exponent, mantissa) = (u32::from(exponent), u32::from(mantissa));
    let sign = x >> 31;
    let magnitude = x & 0x7fff_ffff;
    let field = magnitude >> 23;
    let least = (127 - bias as i32 + 1) as u32;
    // f32 subnormals have no implicit one and the exponent of the least normal.
    let significand = magnitude & 0x7f_ffff | if field == 0 { 0 } else { 0x80_0000 };
    let field = field.max(1);
    // With more than 24 + 16 bits gone no random bits can make a carry.
    let gone = (23 - mantissa + least.minus_or_zero(field)).min(48);
    let random_bits = random_bits(c.dst);
    let random = u64::from(random) & ((1 << random_bits) - 1);
    let sum = u64::from(significand) + ((random << gone) >> random_bits);
    let rounded = (sum >> gone) as u32 + (field.minus_or_zero(least) << mantissa);

    let above = c.dst.magnitude_above_finite() as u32;
    let limit = if matches!(c.saturation, Saturation::Finite) { above - 1 } else { above };
    let code = rounded.min(limit);
    let code = if c.relu && sign != 0 { 0 } else { code | sign << (exponent + mantissa) };
    if magnitude > 0x7f80_0000 { (c.dst.mask() >> 1) as u32 } else { code }
}

/// How many random bits an element of this format takes under `.rs`.
pub(crate) const fn random_bits(dst: Format) -> u32 {
    if matches!(dst, Format::F16) { 13 } else { 16 }
}

/// To ue8m0: the exponent of the magnitude, one more if rounding up and anything lies below it.
#[inline(always)]
fn to_exponent(c: Conversion, x: u32) -> u32 {
    let magnitude = x & 0x7fff_ffff;
    let field = magnitude >> 23;
    let fraction = magnitude & 0x7f_ffff;
    // Code 0 is 2^-127, which binary32 writes with an exponent field of 0 and half a fraction.
    let exact_up_to = if field == 0 { 0x40_0000 } else { 0 };
    let up = matches!(c.rounding, Rounding::Up) && fraction > exact_up_to;
    let code = field + u32::from(up);
    let limit = if matches!(c.saturation, Saturation::Finite) { 0xfe } else { 0xff };
    if magnitude > 0x7f80_0000 { 0xff } else { code.min(limit) }
}

/// To fixed point: as many units as fit, rounded and clamped.
#[inline(always)]
fn to_fixed(c: Conversion, x: u64, scale: u32) -> u32 {
    let Kind::Fixed { fraction } = c.dst.spec().kind else { return 0 };
    let value = f64::from_bits(rescale(Conversion { dst: Format::F64, ..c }, x, scale));
    let units = (value * (1 << fraction) as f64).to_bits().float_round(c.rounding);
    let clamped = (f64::from_bits(units) as i32).clamp(-128, 127);
    let positive = if c.relu { clamped.max(0) } else { clamped };
    if value.is_nan() { 0x7f } else { positive as u8 as u32 }
}

// ---- integers -----------------------------------------------------------------------------------------

/// A floating value rounded to an integral one in its own format.
#[inline(always)]
fn integral(c: Conversion, x: u64) -> u64 {
    if matches!(c.src, Format::F64) {
        let rounded = x.float_round(c.rounding);
        let nan = x & u64::MAGNITUDE > u64::INFINITY;
        let quiet = x | 0x0008_0000_0000_0000;
        return clamped(c, if nan { quiet } else { rounded });
    }
    let mut value = decode(c.src, x as u32);
    let magnitude = value & u32::MAGNITUDE;
    if c.ftz && magnitude < 0x0080_0000 {
        value &= 0x8000_0000;
    }
    let rounded = value.float_round(c.rounding);
    let canonical = if magnitude > u32::INFINITY { 0x7fff_ffff } else { rounded };
    let plain = Conversion { rounding: Rounding::NearestEven, ftz: false, ..c };
    encode(plain, canonical).into()
}

#[inline(always)]
fn float_to_int(c: Conversion, x: u64) -> u64 {
    if matches!(c.src, Format::F64) {
        return to_int(c, x);
    }
    let narrow = decode(c.src, x as u32);
    if c.dst.bits() == 64 { to_int(c, to_binary64(narrow)) } else { to_int(c, narrow).into() }
}

/// Rounds the working value `x` to an integer of at most the carrier's width, clamped to its range.
#[inline(always)]
fn to_int<W: Carrier>(c: Conversion, x: W) -> W {
    let (zero, one) = (W::word(0), W::word(1));
    let sign = x >> (W::BITS - 1);
    let mut magnitude = x & W::MAGNITUDE;
    let nan = magnitude > W::INFINITY;
    if c.ftz {
        // Only f32 inputs are flushed, and only directed roundings can tell.
        let least = W::word((W::BIAS - 127 + 1) as u64) << W::MANTISSA;
        magnitude = if magnitude < least { zero } else { magnitude };
    }

    // The binary point lies `gone` bits up in the significand, or `missing` bits below it.
    let field = magnitude >> W::MANTISSA;
    let integral = W::word(W::BIAS as u64 + u64::from(W::MANTISSA));
    let gone = integral.minus_or_zero(field).min(W::word(u64::from(W::MANTISSA) + 2));
    let missing = field.minus_or_zero(integral).min(W::word(u64::from(W::BITS - 1 - W::MANTISSA)));
    let implicit = one << W::MANTISSA;
    let directed = matches!(c.rounding, Rounding::Up | Rounding::Down);
    let leading = if directed && magnitude == zero { zero } else { implicit };
    let significand = (magnitude & (implicit - one)) | leading;
    let last = significand.shr_by(gone) & one;
    let low = one.shl_by(gone) - one;
    // With no bit gone there is nothing to round, though the last bit may be odd.
    let increment = increment(c, sign, last, low) & low;
    let n = (significand + increment).shr_by(gone).shl_by(missing);
    let n = if field >= W::word(W::BIAS as u64 + u64::from(W::BITS)) { W::MAX } else { n };

    let positive = W::word(c.dst.mask() >> u32::from(c.dst.is_signed()));
    let negative = if c.dst.is_signed() { positive + one } else { zero };
    let n = n.min(if sign == zero { positive } else { negative });
    let code = if sign == zero { n } else { n.negated() & W::word(c.dst.mask()) };
    // Hardware marks NaN with the top bit where f64 or a 64-bit integer takes part.
    let marked = c.dst.bits() == 64 || matches!(c.src, Format::F64);
    let nan_code = if marked { W::word(1 << (c.dst.bits() - 1)) } else { zero };
    if nan { nan_code } else { code }
}

/// The least and the greatest number of an integer format (u64's greatest does not fit and is given as
/// i64's).
pub(crate) const fn int_range(format: Format) -> (i64, i64) {
    let bits = format.bits();
    match (format.is_signed(), bits) {
        (true, _) => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
        (false, 64) => (0, i64::MAX),
        (false, _) => (0, format.mask() as i64),
    }
}

/// An integer code as a number: sign- or zero-extended.
#[inline(always)]
pub(crate) fn int_value(format: Format, x: u64) -> i64 {
    let unused = 64 - format.bits();
    if format.is_signed() { (x << unused) as i64 >> unused } else { (x & format.mask()) as i64 }
}

#[inline(always)]
fn int_to_int(c: Conversion, x: u64) -> u64 {
    let value = int_value(c.src, x);
    if !matches!(c.saturation, Saturation::Clamp) {
        return value as u64 & c.dst.mask();
    }
    let (low, high) = int_range(c.dst);
    let clamped = match (c.src, c.dst) {
        (Format::U64, Format::U64) => x,
        (Format::U64, _) => x.min(high as u64),
        (_, Format::U64) => value.max(0) as u64,
        _ => value.clamp(low, high) as u64,
    };
    clamped & c.dst.mask()
}

#[inline(always)]
fn int_to_float(c: Conversion, x: u64) -> u64 {
    let value = int_value(c.src, x);
    let as_float = Conversion { src: Format::F64, ..c };
    match (c.src, c.dst) {
        (Format::U8 | Format::S8 | Format::U16 | Format::S16, Format::F64) => {
            clamped(c, f64::from(value as i32).to_bits())
        }
        (Format::U8 | Format::S8 | Format::U16 | Format::S16, _) => {
            let as_float = Conversion { src: Format::F32, ftz: false, ..c };
            encode(as_float, (value as i32 as f32).to_bits()).into()
        }
        (Format::U32, Format::F64) => clamped(c, f64::from(x as u32).to_bits()),
        (Format::S32, Format::F64) => clamped(c, f64::from(x as i32).to_bits()),
        (Format::U32, _) => encode(as_float, f64::from(x as u32).to_bits()),
        (Format::S32, _) => encode(as_float, f64::from(x as i32).to_bits()),
        _ => {
            let negative = c.src.is_signed() && value < 0;
            let magnitude = if negative { x.wrapping_neg() } else { x };
            let sign = u64::from(negative) << 63;
            if matches!(c.dst, Format::F64) {
                clamped(c, round_u64(c.rounding, negative, magnitude) | sign)
            } else {
                // Eleven bits more than f64 holds: fold them into one sticky bit, far below any rounding.
                let sticky = u64::from(magnitude & 0x7ff != 0) << 11;
                let folded = if magnitude >> 53 != 0 { magnitude & !0x7ff | sticky } else { magnitude };
                encode(as_float, (folded as f64).to_bits() | sign)
            }
        }
    }
}

/// The binary64 nearest to a 64-bit magnitude in the direction asked for.
#[inline(always)]
fn round_u64(rounding: Rounding, negative: bool, magnitude: u64) -> u64 {
    if matches!(rounding, Rounding::NearestEven) {
        return (magnitude as f64).to_bits();
    }
    let excess = 11u32.saturating_sub(magnitude.leading_zeros());
    let cut = magnitude >> excess << excess;
    let away = match rounding {
        Rounding::Up => !negative,
        Rounding::Down => negative,
        _ => false,
    };
    (cut as f64).to_bits() + u64::from(away && cut != magnitude)
}
