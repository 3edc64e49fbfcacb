//! The conversion body: one element in, one element out, without a branch that depends on the data.
//!
//! PTX ISA, `cvt` in 9.7 and section 6.5. Every function here takes formats and the kind of rounding as values and is
//! inlined where they are constants, so the choices on them disappear and what remains is a straight line that
//! vectorises. All other modifiers are numbers ([`Parameters`]), constant or not. There is no second implementation:
//! single values, slices, loops of one conversion and of many, and every CPU feature set run this code.
//!
//! A conversion goes through a working format (see [`crate::working`]): decode the source to it, exactly;
//! round, clamp and encode from it, once.

use crate::parameters::Parameters;
use crate::path::{Path, int_value};
use crate::working::Working;
use crate::{Conversion, Format, Kind, Rounding, Scaling, TopCodes};

/// Converts one element along `path`, with the conversion's parameters. `aux` is the element's random bits or scale, if
/// it takes any.
#[inline(always)]
pub(crate) fn element(path: Path, c: Conversion, p: &Parameters, x: u64, aux: u32) -> u64 {
    match path {
        Path::IntToInt => clamp_int(p, int_value(c.src, x)),
        Path::IntToFloat => int_to_float(c, p, x),
        Path::FloatToInt => float_to_int(c, p, x),
        Path::Move => x,
        Path::By32 => encode(c.dst, c.rounding, p, decode(c.src, x as u32)).into(),
        Path::By64 => encode(c.dst, c.rounding, p, to_working64(c, p, x, aux)),
        Path::Widen => match c.src {
            Format::F64 => clamped(p, x),
            _ => clamped(p, widen(p, decode(c.src, x as u32))),
        },
        Path::Integral => match c.src {
            Format::F64 => integral64(c.rounding, p, x),
            _ => {
                let rounded = integral32(c.rounding, p, decode(c.src, x as u32));
                encode(c.dst, Rounding::NearestEven, p, rounded).into()
            }
        },
        Path::Stochastic => stochastic(c.dst, p, x as u32, aux).into(),
        Path::ToExponent => to_exponent(p, decode(c.src, x as u32)).into(),
        Path::ToFixed => to_fixed(c.dst, c.rounding, p, to_working64(c, p, x, aux)).into(),
    }
}

/// The binary64 that a scaled conversion, or one from f64, encodes.
#[inline(always)]
fn to_working64(c: Conversion, p: &Parameters, x: u64, scale: u32) -> u64 {
    match (c.src, c.scaling) {
        (Format::F64, _) => x,
        (_, Scaling::None) => to_binary64(decode(c.src, x as u32)),
        _ => rescale(p, decode(c.src, x as u32), scale),
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
pub(crate) fn to_binary64(x: u32) -> u64 {
    let value = f64::from(f32::from_bits(x)).to_bits();
    let nan = u64::from(x >> 31) << 63 | 0x7ff8_0000_0000_0000 | u64::from(x & 0x7f_ffff) << 29;
    if x & 0x7fff_ffff > 0x7f80_0000 { nan } else { value }
}

/// A decoded value as a binary64 times or divided by a scale.
#[inline(always)]
pub(crate) fn rescale(p: &Parameters, x: u32, scale: u32) -> u64 {
    let value = to_binary64(flushed(p, x));
    // 2^±(scale-127) is always a normal binary64, and so is the exact product. The sums wrap if it divides.
    let power = p.scale.wrapping_add(u64::from(scale) ^ p.divides).wrapping_sub(p.divides);
    let scaled = (f64::from_bits(value) * f64::from_bits(power << 52)).to_bits();
    if scale == 0xff { 0x7fff_ffff_ffff_ffff } else { scaled }
}

/// Small magnitudes become zero, where the conversion says so.
#[inline(always)]
fn flushed(p: &Parameters, x: u32) -> u32 {
    if x & 0x7fff_ffff < p.flush_input as u32 { x & 0x8000_0000 } else { x }
}

// ---- encode -------------------------------------------------------------------------------------------

/// Rounds the working value `x` to a floating format of at most 32 bits. The directed roundings are one: the parameters
/// say in which direction.
#[inline(always)]
pub(crate) fn encode<W: Working>(dst: Format, rounding: Rounding, p: &Parameters, x: W) -> W {
    let Kind::Float { exponent, mantissa, bias, signed, padding, .. } = dst.spec().kind else {
        return x; // No other kind takes this path.
    };
    let (exponent, mantissa) = (u32::from(exponent), u32::from(mantissa));
    let (zero, one) = (W::word(0), W::word(1));

    let top = x >> (W::BITS - 1);
    let sign = if signed { top & W::word(p.sign) } else { zero };
    let mut magnitude = x & W::MAGNITUDE;
    let nan = magnitude > W::INFINITY;
    magnitude = if magnitude < W::word(p.flush) { zero } else { magnitude };
    magnitude = if x > W::word(p.zero_above) { zero } else { magnitude };
    if matches!(rounding, Rounding::NearestAway) {
        return encode_tf32_away(p, sign, magnitude);
    }

    let inward = match rounding {
        Rounding::TowardZero => true,
        Rounding::Down | Rounding::Up => sign ^ W::word(p.downward) != zero,
        _ => false,
    };
    let toward_zero = inward & (magnitude != W::INFINITY);
    magnitude = magnitude.min(if toward_zero { W::word(p.limit_inward) } else { W::word(p.limit) });

    let drop = W::MANTISSA - mantissa;
    let mut code = if W::BITS == 32 && exponent == 8 {
        // The same exponents: only the significand gets shorter.
        if drop == 0 {
            magnitude
        } else {
            let increment = increment(rounding, inward, (magnitude >> drop) & one, W::word((1 << drop) - 1));
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
        let significand = match rounding {
            Rounding::TowardZero => sum - flag(magnitude.float_less(rounded)),
            Rounding::Up | Rounding::Down if inward => sum - flag(magnitude.float_less(rounded)),
            Rounding::Up | Rounding::Down => sum + flag(rounded.float_less(magnitude)),
            _ => sum,
        } - power;
        significand + (binade >> drop) - W::word(least << mantissa)
    };

    if matches!(dst, Format::F32) {
        code = if code < W::word(p.flush_result) { zero } else { code };
    }
    let mut result = code;
    if signed {
        let sign = if code < W::word(p.signless_below) { zero } else { sign };
        result = result | sign << (exponent + mantissa);
    }
    let payload = (x >> drop) & W::word(p.nan_payload);
    let nan_sign = top << (dst.bits() - 1) & W::word(p.nan_sign);
    result = if nan { W::word(p.nan) | payload | nan_sign } else { result };
    result << u32::from(padding)
}

/// One or nothing.
#[inline(always)]
fn flag<W: Working>(set: bool) -> W {
    W::word(u64::from(set))
}

/// The working format's exponent field for the least normal number of a format with this bias.
#[inline(always)]
const fn least_exponent<W: Working>(bias: i16) -> u64 {
    (W::BIAS - bias as i32 + 1) as u64
}

/// What to add to the significand before its low bits (all ones in `low`) are cut off; `last` is the bit
/// that will be the result's last.
#[inline(always)]
fn increment<W: Working>(rounding: Rounding, inward: bool, last: W, low: W) -> W {
    match rounding {
        Rounding::NearestEven => (low >> 1) + last,
        Rounding::NearestAway => (low >> 1) + W::word(1),
        Rounding::Up | Rounding::Down if !inward => low,
        _ => W::word(0),
    }
}

/// `cvt.rna.tf32.f32` as GPUs do it: half a unit is added to everything below infinity and the low bits
/// are cut, of NaNs too, so that the NaN 7f800001 becomes infinity. `.satfinite` then takes one unit
/// off everything from infinity up, NaNs included.
#[inline(always)]
fn encode_tf32_away<W: Working>(p: &Parameters, sign: W, magnitude: W) -> W {
    let rounded = if magnitude < W::INFINITY { magnitude + W::word(0x1000) } else { magnitude };
    let result = rounded & !W::word(0x1fff);
    let unit = W::INFINITY - W::word(p.limit);
    let result = if result >= W::INFINITY { result - unit } else { result };
    result | sign << 31
}

/// A decoded value as a binary64, which holds every other format.
#[inline(always)]
pub(crate) fn widen(p: &Parameters, x: u32) -> u64 {
    let magnitude = x & 0x7fff_ffff;
    let flushed = flushed(p, x);
    to_binary64(if magnitude > p.nan_above as u32 { 0x7fff_ffff } else { flushed })
}

/// `.sat` on a floating value that is already in its own format.
#[inline(always)]
pub(crate) fn clamped(p: &Parameters, x: u64) -> u64 {
    // As unsigned numbers, negative values are above every positive one, NaNs included.
    if x > p.zero_above { 0 } else { x.min(p.limit) }
}

/// `cvt.rs`: the random bits are added at the top of the discarded ones, and a carry rounds away from zero.
#[inline(always)]
pub(crate) fn stochastic(dst: Format, p: &Parameters, x: u32, random: u32) -> u32 {
    let Kind::Float { exponent, mantissa, bias, .. } = dst.spec().kind else { return x };
    let (exponent, mantissa) = (u32::from(exponent), u32::from(mantissa));
    let sign = (x >> 31) & p.sign as u32;
    let magnitude = x & 0x7fff_ffff;
    let field = magnitude >> 23;
    let least = (127 - bias as i32 + 1) as u32;
    // f32 subnormals have no implicit one and the exponent of the least normal.
    let significand = magnitude & 0x7f_ffff | if field == 0 { 0 } else { 0x80_0000 };
    let field = field.max(1);
    // With more than 24 + 16 bits gone no random bits can make a carry.
    let gone = (23 - mantissa + least.minus_or_zero(field)).min(48);
    let random_bits = random_bits(dst);
    let random = u64::from(random) & ((1 << random_bits) - 1);
    let sum = u64::from(significand) + ((random << gone) >> random_bits);
    let rounded = (sum >> gone) as u32 + (field.minus_or_zero(least) << mantissa);

    let code = rounded.min(p.limit as u32);
    let code = if x > p.zero_above as u32 { 0 } else { code | sign << (exponent + mantissa) };
    if magnitude > 0x7f80_0000 { (dst.mask() >> 1) as u32 } else { code }
}

/// How many random bits an element of this format takes under `.rs`.
pub(crate) const fn random_bits(dst: Format) -> u32 {
    if matches!(dst, Format::F16) { 13 } else { 16 }
}

/// To ue8m0: the exponent of the magnitude, one more if rounding up and anything lies below it.
#[inline(always)]
pub(crate) fn to_exponent(p: &Parameters, x: u32) -> u32 {
    let magnitude = x & 0x7fff_ffff;
    let field = magnitude >> 23;
    let fraction = magnitude & 0x7f_ffff;
    // Code 0 is 2^-127, which binary32 writes with an exponent field of 0 and half a fraction.
    let exact_up_to = if field == 0 { 0x40_0000 } else { 0 };
    let up = fraction > (exact_up_to | p.flush as u32);
    let code = field + u32::from(up);
    if magnitude > 0x7f80_0000 { 0xff } else { code.min(p.limit as u32) }
}

/// From binary64 to fixed point: as many units as fit, rounded and clamped.
#[inline(always)]
pub(crate) fn to_fixed(dst: Format, rounding: Rounding, p: &Parameters, x: u64) -> u32 {
    let Kind::Fixed { fraction } = dst.spec().kind else { return 0 };
    let value = f64::from_bits(x);
    let units = (value * (1 << fraction) as f64).to_bits().float_round(rounding);
    let clamped = (f64::from_bits(units) as i32).clamp(p.low as i32, p.high as i32);
    if value.is_nan() { 0x7f } else { clamped as u8 as u32 }
}

// ---- integers -----------------------------------------------------------------------------------------

/// A decoded value rounded to an integral one; NaNs become the canonical one.
#[inline(always)]
pub(crate) fn integral32(rounding: Rounding, p: &Parameters, x: u32) -> u32 {
    let rounded = flushed(p, x).float_round(rounding);
    if x & u32::MAGNITUDE > u32::INFINITY { 0x7fff_ffff } else { rounded }
}

/// An f64 rounded to an integral one; NaNs become quiet.
#[inline(always)]
pub(crate) fn integral64(rounding: Rounding, p: &Parameters, x: u64) -> u64 {
    let rounded = x.float_round(rounding);
    let nan = x & u64::MAGNITUDE > u64::INFINITY;
    let quiet = x | 0x0008_0000_0000_0000;
    clamped(p, if nan { quiet } else { rounded })
}

#[inline(always)]
fn float_to_int(c: Conversion, p: &Parameters, x: u64) -> u64 {
    if matches!(c.src, Format::F64) {
        return to_int(c.rounding, p, x);
    }
    let narrow = decode(c.src, x as u32);
    if c.dst.bits() == 64 {
        to_int(c.rounding, p, to_binary64(narrow))
    } else {
        to_int(c.rounding, p, narrow).into()
    }
}

/// Rounds the working value `x` to an integer of at most its width, clamped to the integer's range.
#[inline(always)]
pub(crate) fn to_int<W: Working>(rounding: Rounding, p: &Parameters, x: W) -> W {
    let (zero, one) = (W::word(0), W::word(1));
    let sign = x >> (W::BITS - 1);
    let mut magnitude = x & W::MAGNITUDE;
    let nan = magnitude > W::INFINITY;
    magnitude = if magnitude < W::word(p.flush) { zero } else { magnitude };

    // The binary point lies `gone` bits up in the significand, or `missing` bits below it.
    let field = magnitude >> W::MANTISSA;
    let integral = W::word(W::BIAS as u64 + u64::from(W::MANTISSA));
    let gone = integral.minus_or_zero(field).min(W::word(u64::from(W::MANTISSA) + 2));
    let missing = field.minus_or_zero(integral).min(W::word(u64::from(W::BITS - 1 - W::MANTISSA)));
    let implicit = one << W::MANTISSA;
    let directed = matches!(rounding, Rounding::Up | Rounding::Down);
    let leading = if directed && magnitude == zero { zero } else { implicit };
    let significand = (magnitude & (implicit - one)) | leading;
    let last = significand.shr_by(gone) & one;
    let low = one.shl_by(gone) - one;
    // With no bit gone there is nothing to round, though the last bit may be odd.
    let inward = sign ^ W::word(p.downward) != zero;
    let increment = increment(rounding, inward, last, low) & low;
    let n = (significand + increment).shr_by(gone).shl_by(missing);
    let n = if field >= W::word(W::BIAS as u64 + u64::from(W::BITS)) { W::MAX } else { n };

    let n = n.min(if sign == zero { W::word(p.positive) } else { W::word(p.negative) });
    let code = if sign == zero { n } else { n.negated() & W::word(p.mask) };
    if nan { W::word(p.nan) } else { code }
}

/// An integer clamped to the destination's range, if the conversion saturates; what is above the destination's bits is
/// no part of the result.
#[inline(always)]
pub(crate) fn clamp_int(p: &Parameters, value: i64) -> u64 {
    ((value ^ p.flip as i64).clamp(p.low, p.high) ^ p.flip as i64) as u64
}

#[inline(always)]
fn int_to_float(c: Conversion, p: &Parameters, x: u64) -> u64 {
    match (c.src, c.dst) {
        (Format::U8 | Format::S8 | Format::U16 | Format::S16, Format::F64) => {
            clamped(p, to_binary64(small_int(c.src, x)))
        }
        (Format::U8 | Format::S8 | Format::U16 | Format::S16, _) => {
            encode(c.dst, c.rounding, p, small_int(c.src, x)).into()
        }
        (Format::U32 | Format::S32, Format::F64) => clamped(p, folded_int(c.src, x)),
        (_, Format::F64) => clamped(p, round_u64(c.rounding, p, x)),
        _ => encode(c.dst, c.rounding, p, folded_int(c.src, x)),
    }
}

/// The binary32 of an integer of at most 16 bits.
#[inline(always)]
pub(crate) fn small_int(src: Format, x: u64) -> u32 {
    (int_value(src, x) as i32 as f32).to_bits()
}

/// The binary64 of an integer of 32 bits; of one with 64 bits, a binary64 that rounds to the same number of a format of
/// at most 32 bits.
#[inline(always)]
pub(crate) fn folded_int(src: Format, x: u64) -> u64 {
    match src {
        Format::U32 => f64::from(x as u32).to_bits(),
        Format::S32 => f64::from(x as i32).to_bits(),
        _ => {
            let negative = src.is_signed() && (x as i64) < 0;
            let magnitude = if negative { x.wrapping_neg() } else { x };
            // Eleven bits more than f64 holds: fold them into one sticky bit, far below any rounding.
            let sticky = u64::from(magnitude & 0x7ff != 0) << 11;
            let folded = if magnitude >> 53 != 0 { magnitude & !0x7ff | sticky } else { magnitude };
            (folded as f64).to_bits() | u64::from(negative) << 63
        }
    }
}

/// The binary64 nearest to a 64-bit integer in the direction asked for.
#[inline(always)]
pub(crate) fn round_u64(rounding: Rounding, p: &Parameters, x: u64) -> u64 {
    let sign = x & p.source_sign;
    let magnitude = if sign != 0 { x.wrapping_neg() } else { x };
    if matches!(rounding, Rounding::NearestEven) {
        return (magnitude as f64).to_bits() | sign;
    }
    let excess = 11u32.saturating_sub(magnitude.leading_zeros());
    let cut = magnitude >> excess << excess;
    let directed = matches!(rounding, Rounding::Up | Rounding::Down);
    let away = directed && sign >> 63 == p.downward;
    ((cut as f64).to_bits() + u64::from(away && cut != magnitude)) | sign
}
