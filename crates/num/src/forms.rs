//! Which conversions exist, as data.

use crate::Format::*;
use crate::Rounding::*;
use crate::{Conversion, Format, Rounding, Saturation, Scaling};

/// A family: every source to every destination with every rounding and every set of modifiers.
struct Family {
    src: &'static [Format],
    dst: &'static [Format],
    roundings: &'static [Rounding],
    /// Conversions between any two formats that have the modifiers.
    modifiers: &'static [Conversion],
}

macro_rules! families {
    ($([$($src:ident)*] => [$($dst:ident)*] [$($rounding:ident)*]
        [$(($saturation:ident $scaling:ident $($flag:ident)*))*];)*) => {
        &[$(Family {
            src: &[$($src),*],
            dst: &[$($dst),*],
            roundings: &[$($rounding),*],
            modifiers: &[$(Conversion {
                saturation: Saturation::$saturation,
                scaling: Scaling::$scaling,
                $($flag: true,)*
                ..Conversion::new(F32, F32)
            }),*],
        }),*]
    };
}

/// All that PTX has, in canonical form, and besides: from every narrow format straight to f32, to FP8 without
/// saturation, and to ue4m3.
#[rustfmt::skip]
const FAMILIES: &[Family] = families! {
    // Integers.
    [U8 S8 U16 S16 U32 S32 U64 S64] => [U8 S8 U16 S16 U32 S32 U64 S64]
        [NearestEven] [(None None) (Clamp None)];
    [U8 S8 U16 S16 U32 S32 U64 S64] => [F16 F32 F64]
        [NearestEven TowardZero Down Up] [(None None) (Clamp None)];
    [U8 S8 U16 S16 U32 S32 U64 S64] => [Bf16]
        [NearestEven TowardZero Down Up] [(None None)];
    [F16 Bf16 F32 F64] => [U8 S8 U16 S16 U32 S32 U64 S64]
        [NearestEven TowardZero Down Up] [(None None)];
    [F32] => [U8 S8 U16 S16 U32 S32 U64 S64]
        [Down Up] [(None None ftz)];

    // A float in its own format, perhaps rounded to an integral value.
    [F16] => [F16] [NearestEven] [(None None) (Clamp None)];
    [F64] => [F64] [NearestEven] [(None None) (Clamp None)];
    [Bf16] => [Bf16] [NearestEven] [(None None)];
    [F32] => [F32] [NearestEven] [(None None) (None None ftz) (Clamp None) (Clamp None ftz)];
    [F16] => [F16] [NearestEven TowardZero Down Up] [(None None integral) (Clamp None integral)];
    [F64] => [F64] [NearestEven TowardZero Down Up] [(None None integral) (Clamp None integral)];
    [Bf16] => [Bf16] [NearestEven TowardZero Down Up] [(None None integral)];
    [F32] => [F32] [NearestEven TowardZero Down Up]
        [(None None integral) (None None integral ftz) (Clamp None integral) (Clamp None integral ftz)];

    // Between the fundamental floats and bf16, tf32.
    [F32] => [F16] [NearestEven TowardZero Down Up] [(None None) (Clamp None)];
    [F32] => [Bf16] [NearestEven TowardZero Down Up]
        [(None None) (None None ftz) (None None ftz positive_zero)];
    [F32] => [F16 Bf16 Tf32] [NearestEven TowardZero]
        [(None None) (None None relu) (Finite None) (Finite None relu)
         (None None positive_zero) (Finite None positive_zero)];
    [F32] => [Tf32] [NearestAway] [(None None) (Finite None)];
    [F64] => [F16] [NearestEven TowardZero Down Up] [(None None) (Clamp None)];
    [F64] => [Bf16] [NearestEven TowardZero Down Up] [(None None)];
    [F64] => [F32] [NearestEven TowardZero Down Up]
        [(None None) (None None ftz) (Clamp None) (Clamp None ftz)];
    [F16] => [Bf16] [NearestEven TowardZero Down Up] [(None None)];
    [Bf16] => [F16] [NearestEven TowardZero Down Up] [(None None)];
    [F16] => [F32] [NearestEven] [(None None) (None None ftz) (Clamp None) (Clamp None ftz)];
    [Bf16] => [F32] [NearestEven] [(None None) (None None ftz)];
    [F16] => [F64] [NearestEven] [(None None) (Clamp None)];
    [Bf16] => [F64] [NearestEven] [(None None)];
    [F32] => [F64] [NearestEven] [(None None) (None None ftz) (Clamp None) (Clamp None ftz)];

    // Down to the narrow formats.
    [F32 F16 Bf16] => [E4m3 E5m2 E2m3 E3m2 E2m1] [NearestEven TowardZero]
        [(Finite None) (Finite None relu) (Finite None positive_zero)
         (Finite DivideFlushed) (Finite DivideFlushed relu) (Finite DivideFlushed positive_zero)];
    [F32 F16 Bf16] => [E4m3 E5m2] [NearestEven TowardZero] [(None None)];
    [F32 F16 Bf16] => [Ue5m3] [NearestEven TowardZero Up] [(None None) (Finite None)];
    [F32 F16 Bf16] => [Ue5m3] [NearestEven TowardZero] [(None DivideFlushed) (Finite DivideFlushed)];
    [F32] => [Ue4m3] [NearestEven TowardZero Up] [(None None) (Finite None)];
    [F32 Bf16] => [Ue8m0] [TowardZero Up] [(None None) (Finite None)];
    [F32 Bf16] => [S2f6] [NearestEven TowardZero]
        [(Finite None) (Finite None relu) (Finite Divide) (Finite Divide relu)];

    // With random bits.
    [F32] => [F16 Bf16] [Stochastic]
        [(None None) (None None relu) (Finite None) (Finite None relu)];
    [F32] => [E4m3 E5m2 E2m3 E3m2 E2m1] [Stochastic] [(Finite None) (Finite None relu)];

    // Up from the narrow formats.
    [E4m3 E5m2 E2m3 E3m2 E2m1] => [F16] [NearestEven] [(None None) (None None relu)];
    [E4m3 E5m2 E2m3 E3m2 E2m1 S2f6] => [Bf16] [NearestEven]
        [(None None) (None None relu) (Finite None) (Finite None relu)
         (None Multiply) (None Multiply relu) (Finite Multiply) (Finite Multiply relu)];
    [Ue5m3] => [F16] [NearestEven] [(None None)];
    [Ue5m3] => [Bf16] [NearestEven]
        [(None None) (Finite None) (None Multiply) (Finite Multiply)];
    [Ue8m0] => [Bf16] [NearestEven] [(None None)];
    [E4m3 E5m2 E2m3 E3m2 E2m1 Ue8m0 Ue4m3 Ue5m3 S2f6] => [F32] [NearestEven] [(None None)];
};

/// Whether a conversion in canonical form exists.
pub(crate) fn exists(c: Conversion) -> bool {
    FAMILIES.iter().any(|family| {
        family.src.contains(&c.src)
            && family.dst.contains(&c.dst)
            && family.roundings.contains(&c.rounding)
            && family.modifiers.iter().any(|modifiers| {
                *modifiers == Conversion { rounding: modifiers.rounding, src: F32, dst: F32, ..c }
            })
    })
}
