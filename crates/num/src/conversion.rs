//! A conversion as a value: from which format, to which, and how.
//!
//! PTX ISA sections 6.5 and `cvt` of 9.7. This file says *what* a conversion is; [`crate::body`] is the
//! one body that performs it, and [`crate::conversion_loop`] finds the body's instance for a conversion.

use crate::{Format, Kind};

/// Which neighbour to take when a value lies between two representable ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Rounding {
    /// The nearer; of two equally near, the one whose last bit is zero (`rn`, `rni`).
    #[default]
    NearestEven,
    /// The nearer; of two equally near, the one further from zero (`rna`).
    NearestAway,
    /// The one nearer zero (`rz`, `rzi`).
    TowardZero,
    /// The lower one (`rm`, `rmi`).
    Down,
    /// The upper one (`rp`, `rpi`).
    Up,
    /// Away from zero if the discarded bits plus given random bits carry, else toward zero (`rs`).
    Stochastic,
}

/// What happens to values outside the destination's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Saturation {
    /// Floats overflow to infinity (or NaN where there is none), float to integer clamps, integer to
    /// integer keeps the low bits.
    #[default]
    None,
    /// `.sat`: integers clamp to the destination's range, floats to \[0, 1\] with NaN becoming +0.
    Clamp,
    /// `.satfinite`: values beyond the largest finite number become it, with the sign kept.
    Finite,
}

/// What the scale operand (a ue8m0 power of two) does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Scaling {
    /// There is none.
    #[default]
    None,
    /// The input is divided by it before it is converted.
    Divide,
    /// As `Divide`, with subnormal inputs flushed to zero first (`.scaled::n1::ue8m0`).
    DivideFlushed,
    /// The converted value is multiplied by it, in the destination's precision.
    Multiply,
}

/// The conversion of one element.
///
/// Build one with [`Conversion::new`] and the `with_…` methods, or take it from a `cvt` form of the
/// `isa` crate. Not every combination exists: [`Conversion::compiled`] says which do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversion {
    /// The format of the input.
    pub src: Format,
    /// The format of the result.
    pub dst: Format,
    /// How to round.
    pub rounding: Rounding,
    /// Round to an integral value, still in a floating format (`cvt.rni.f32.f32`). Float to integer
    /// needs no such flag.
    pub integral: bool,
    /// Flush f32 subnormals, input and result, to zero of the same sign.
    pub ftz: bool,
    /// What to do with values out of range.
    pub saturation: Saturation,
    /// Negative results become +0, and NaN the canonical NaN.
    pub relu: bool,
    /// A result of −0 becomes +0 (`.pzo`).
    pub positive_zero: bool,
    /// What the scale operand does.
    pub scaling: Scaling,
}

impl Conversion {
    /// A conversion with rounding to nearest even and no modifier.
    pub const fn new(src: Format, dst: Format) -> Conversion {
        Conversion {
            src,
            dst,
            rounding: Rounding::NearestEven,
            integral: false,
            ftz: false,
            saturation: Saturation::None,
            relu: false,
            positive_zero: false,
            scaling: Scaling::None,
        }
    }

    /// This conversion with another rounding.
    pub const fn with_rounding(self, rounding: Rounding) -> Conversion {
        Conversion { rounding, ..self }
    }

    /// This conversion with another saturation.
    pub const fn with_saturation(self, saturation: Saturation) -> Conversion {
        Conversion { saturation, ..self }
    }

    /// The conversion that does the same with the fewest modifiers, so that equal work has the same loops.
    pub const fn canonical(self) -> Conversion {
        let mut c = self;
        let (from_int, to_int) = (c.src.is_int(), c.dst.is_int());
        if to_int || (from_int && c.src.bits() <= precision(c.dst)) {
            // Nothing is rounded between integers, nor where the destination holds every input.
            if from_int {
                c.rounding = Rounding::NearestEven;
            }
            c.integral = false;
        }
        let widening = matches!((c.src, c.dst), (Format::F16 | Format::Bf16, Format::F32))
            || (!from_int && matches!(c.dst, Format::F64) && !matches!(c.src, Format::F64));
        if widening {
            c.rounding = Rounding::NearestEven;
        }
        if !from_int && to_int {
            c.saturation = Saturation::None; // Clamps anyway.
        }
        if from_int {
            c.ftz = false; // No integer is a subnormal float.
        }
        let directed = matches!(c.rounding, Rounding::Up | Rounding::Down);
        let same_range = matches!(c.dst, Format::F32 | Format::F64 | Format::Bf16 | Format::Tf32);
        if !directed && !same_range && matches!(c.scaling, Scaling::None) {
            c.ftz = false; // An f32 subnormal gives zero in any case.
        }
        if matches!(c.dst, Format::F16) {
            c.ftz = false; // Hardware keeps f32 subnormals on the way to f16, whatever the manual says.
        }
        if c.relu || c.saturation as u8 == Saturation::Clamp as u8 {
            c.positive_zero = false; // There is no negative zero left.
        }
        c
    }

    /// The conversion as a number, for use as a const generic argument.
    pub(crate) const fn code(self) -> u32 {
        self.src as u32
            | (self.dst as u32) << 5
            | (self.rounding as u32) << 10
            | (self.saturation as u32) << 13
            | (self.scaling as u32) << 15
            | (self.integral as u32) << 17
            | (self.ftz as u32) << 18
            | (self.relu as u32) << 19
            | (self.positive_zero as u32) << 20
    }

    /// The inverse of [`Conversion::code`].
    pub(crate) const fn from_code(code: u32) -> Conversion {
        Conversion {
            src: Format::ALL[(code & 31) as usize],
            dst: Format::ALL[(code >> 5 & 31) as usize],
            rounding: Rounding::ALL[(code >> 10 & 7) as usize],
            saturation: Saturation::ALL[(code >> 13 & 3) as usize],
            scaling: Scaling::ALL[(code >> 15 & 3) as usize],
            integral: code >> 17 & 1 != 0,
            ftz: code >> 18 & 1 != 0,
            relu: code >> 19 & 1 != 0,
            positive_zero: code >> 20 & 1 != 0,
        }
    }
}

/// Bits of significand, the implicit one counted.
const fn precision(format: Format) -> u32 {
    match format.spec().kind {
        Kind::Float { mantissa, .. } => mantissa as u32 + 1,
        _ => format.bits(),
    }
}

impl Rounding {
    /// Every rounding.
    pub const ALL: [Rounding; 6] = [
        Rounding::NearestEven,
        Rounding::NearestAway,
        Rounding::TowardZero,
        Rounding::Down,
        Rounding::Up,
        Rounding::Stochastic,
    ];
}

impl Saturation {
    /// Every saturation.
    pub const ALL: [Saturation; 3] = [Saturation::None, Saturation::Clamp, Saturation::Finite];
}

impl Scaling {
    /// Every scaling.
    pub const ALL: [Scaling; 4] = [Scaling::None, Scaling::Divide, Scaling::DivideFlushed, Scaling::Multiply];
}

/// Bytes of auxiliary input per element.
pub(crate) const fn aux_bytes(c: Conversion) -> usize {
    match (c.rounding, c.scaling) {
        (Rounding::Stochastic, _) => 2,
        (_, Scaling::None) => 0,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_its_conversion() {
        for code in 0..1 << 21 {
            if (code & 31) < Format::COUNT as u32
                && (code >> 5 & 31) < Format::COUNT as u32
                && (code >> 10 & 7) < 6
                && (code >> 13 & 3) < 3
            {
                assert_eq!(Conversion::from_code(code).code(), code);
            }
        }
    }
}
