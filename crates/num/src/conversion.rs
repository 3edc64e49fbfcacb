//! A conversion as a value: from which format, to which, and how.
//!
//! PTX ISA sections 6.5 and `cvt` of 9.7. This file says *what* a conversion is; [`crate::body`] is the
//! one body that performs it, and [`crate::kernel`] finds the body's instance for a conversion.

use crate::Format;

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
/// `isa` crate. Not every combination exists: [`Conversion::kernel`] says which do.
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

    /// The same with another rounding.
    pub const fn with_rounding(self, rounding: Rounding) -> Conversion {
        Conversion { rounding, ..self }
    }

    /// The same with another saturation.
    pub const fn with_saturation(self, saturation: Saturation) -> Conversion {
        Conversion { saturation, ..self }
    }
}
