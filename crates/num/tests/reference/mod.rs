//! An independent, slow conversion that follows the definitions: exact numbers, lists of values,
//! neighbours, and one rule after another. The crate under test is held against it.
//!
//! [`Step`] is the costly part, shared by all conversions that differ only in modifiers applied to the
//! rounded result; [`finish`] applies those.

#![allow(dead_code, missing_docs)] // Each test file uses a part.

pub mod cases;
pub mod exact;
pub mod layout;
pub mod nan;
pub mod round;

use layout::{
    Layout, Number, infinity, integer, is_subnormal, largest, layout_of, number, one, sign_bit, width,
};
use round::{choose, neighbours, overflow_code, overflows, random_width};
use softwarp_num::{Conversion, Format, Rounding, Saturation, Scaling};

/// What is left of a number once it is rounded, before modifiers of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounded {
    Nan {
        from_scale: bool,
    },
    Infinite {
        negative: bool,
    },
    /// Rounded to beyond the largest finite number.
    Beyond {
        negative: bool,
    },
    /// For floating formats, the magnitude's code; for others the whole code.
    Finite {
        negative: bool,
        code: u64,
    },
}

/// The part of a conversion that decides how a number is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    pub src: Format,
    pub dst: Format,
    pub rounding: Rounding,
    pub integral: bool,
    pub ftz: bool,
    pub scaling: Scaling,
}

impl From<Conversion> for Step {
    fn from(c: Conversion) -> Step {
        let Conversion { src, dst, rounding, integral, ftz, scaling, .. } = c;
        Step { src, dst, rounding, integral, ftz, scaling }
    }
}

/// Formats without a sign take the magnitude, whatever the rounding.
fn drops_sign(format: Format) -> bool {
    matches!(format, Format::Ue8m0 | Format::Ue4m3 | Format::Ue5m3)
}

impl Step {
    /// The number that is to be rounded: flushed and scaled.
    fn input(self, code: u64, aux: u32) -> Result<Number, Rounded> {
        let mut x = number(self.src, code);
        // On hardware .ftz does nothing on the way from f32 to f16.
        let flushes = self.ftz && self.src == Format::F32 && self.dst != Format::F16;
        if let Number::Finite { negative, .. } = x
            && (flushes || self.scaling == Scaling::DivideFlushed)
            && is_subnormal(self.src, code)
        {
            x = Number::zero(negative);
        }
        if self.scaling != Scaling::None {
            if aux == 0xff {
                let from_scale = x != Number::Nan;
                return Err(Rounded::Nan { from_scale });
            }
            let power = aux as i32 - 127;
            let power = if self.scaling == Scaling::Multiply { power } else { -power };
            if let Number::Finite { negative, value } = x {
                x = Number::Finite { negative, value: value.times_power(power) };
            }
        }
        if drops_sign(self.dst) {
            x = match x {
                Number::Infinite { .. } => Number::Infinite { negative: false },
                Number::Finite { value, .. } => Number::Finite { negative: false, value: value.abs() },
                Number::Nan => Number::Nan,
            };
        }
        Ok(x)
    }

    /// Rounds one source code. `aux` is the random bits or the scale.
    pub fn round(self, code: u64, aux: u32) -> Rounded {
        let (negative, value) = match self.input(code, aux) {
            Err(decided) => return decided,
            Ok(Number::Nan) => return Rounded::Nan { from_scale: false },
            Ok(Number::Infinite { negative }) => return Rounded::Infinite { negative },
            Ok(Number::Finite { negative, value }) => (negative, value),
        };
        let width = random_width(self.dst);
        let random = (aux & ((1 << width) - 1), width);
        let mut value = value;
        if self.integral {
            // The integers on either side, of a type that has room for every float's integers.
            let whole = round::neighbours(Format::S64, &value);
            value = choose(self.rounding, &value, whole, random).value;
        }
        match choose(self.rounding, &value, neighbours(self.dst, &value), random).code {
            None => Rounded::Beyond { negative },
            Some(code) => Rounded::Finite { negative, code: code & !sign_bit(self.dst) },
        }
    }
}

/// Applies what follows rounding: overflow, saturation, flushing, `.sat`, `.relu`, `.pzo`.
pub fn finish(c: Conversion, source: u64, rounded: Rounded) -> u64 {
    if let Layout::Integer { .. } = layout_of(c.dst) {
        return finish_integer(c, source, rounded);
    }
    let finite_only = c.saturation == Saturation::Finite;
    let largest_of = |negative| (negative, largest(c.dst, negative) & !sign_bit(c.dst));
    let overflowed = |negative| match overflow_code(c.dst, negative) {
        Some(code) if !finite_only => (negative, code & !sign_bit(c.dst)),
        _ => largest_of(negative),
    };
    let (mut negative, mut code) = match rounded {
        Rounded::Nan { from_scale } => return nan::result(c, (!from_scale).then_some(source)),
        Rounded::Finite { negative, code } => (negative, code),
        Rounded::Infinite { negative } => overflowed(negative),
        Rounded::Beyond { negative } if overflows(c.rounding, negative) => overflowed(negative),
        Rounded::Beyond { negative } => largest_of(negative),
    };
    if let Layout::Fixed { .. } = layout_of(c.dst) {
        // Two's complement: the sign is in the code, and there is one zero.
        return if c.relu && negative { 0 } else { code };
    }
    if c.ftz && c.dst == Format::F32 && is_subnormal(c.dst, code) {
        code = 0;
    }
    if c.saturation == Saturation::Clamp {
        (negative, code) = (false, if negative { 0 } else { code.min(one(c.dst)) });
    }
    if c.relu && negative {
        (negative, code) = (false, 0);
    }
    if c.positive_zero && code == 0 {
        negative = false;
    }
    code | if negative { sign_bit(c.dst) } else { 0 }
}

/// Float to integer clamps; integer to integer keeps the low bits unless `.sat` clamps.
fn finish_integer(c: Conversion, source: u64, rounded: Rounded) -> u64 {
    match (layout_of(c.src), rounded) {
        (_, Rounded::Finite { code, .. }) => code,
        (Layout::Integer { bits, signed }, _) if c.saturation == Saturation::None => {
            integer(bits, signed, source) as u64 & (u64::MAX >> (64 - width(c.dst)))
        }
        (_, Rounded::Infinite { negative } | Rounded::Beyond { negative }) => largest(c.dst, negative),
        (_, Rounded::Nan { from_scale }) => nan::result(c, (!from_scale).then_some(source)),
    }
}

/// The result of a conversion of one element.
pub fn expected(c: Conversion, code: u64, aux: u32) -> u64 {
    finish(c, code, Step::from(c).round(code, aux))
}

/// Whether a code is infinity.
pub fn is_infinite(format: Format, code: u64) -> bool {
    Some(code & !sign_bit(format)) == infinity(format, false)
}
