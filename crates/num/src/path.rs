//! Which way a conversion takes through the body that converts an element.

use crate::conversion::{Conversion, Rounding, Saturation, Scaling};
use crate::format::Format;

/// Which way through the body a conversion takes. Known at compile time for each loop, so that only
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
