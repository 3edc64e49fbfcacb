//! Forms of `cvt` that have code.

use crate::functions::Rounding;
use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Modifier};

/// A form of `cvt`, by what its source and its result are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// The same word, of 32 or 64 bits.
    Copy32,
    Copy64,
    Extend(Extend),
    Short(Convert),
    Wide(WideConvert),
}

/// A conversion between integers of different widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extend {
    /// 32 bits to 64 with the sign.
    Sign64,
    /// 32 bits to 64 with zeros.
    Zero64,
    /// The low 32 bits of 64.
    Low32,
    /// Some bits of 32, shifted down.
    Field { shift: u32, bits: u32 },
    /// Sign extension of the low bits within 32.
    Sign { from: u32, to: u32 },
}

/// A conversion of f32, 16-bit floats and integers. To floats they are to nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convert {
    FromS32,
    FromU32,
    /// Of the low bits of a word.
    FromLow {
        bits: u32,
        signed: bool,
    },
    ToS32(Rounding),
    ToU32(Rounding),
    /// To an unsigned integer of 8 or 16 bits.
    ToLow {
        bits: u32,
        rounding: Rounding,
    },
    /// An integer to the range of an unsigned one of 8 or 16 bits.
    Clamp {
        bits: u32,
        signed: bool,
    },
    /// f32 to a whole number.
    Whole(Rounding),
    /// f32 to the range from 0 to 1.
    Saturate,
    FromF16,
    FromBf16,
    ToF16,
    ToBf16,
    /// Two f32 to a word of two f16, the first above.
    ToF16Pair,
    ToBf16Pair,
}

impl Convert {
    /// Whether its source is of f32, and any NaN as good as the canonical one.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn takes_any_nan(self) -> bool {
        use Convert::{
            Clamp, FromBf16, FromF16, FromLow, FromS32, FromU32, Saturate, ToBf16, ToBf16Pair, ToF16,
        };
        use Convert::{ToF16Pair, ToLow, ToS32, ToU32, Whole};
        match self {
            FromS32 | FromU32 | FromLow { .. } | FromF16 | FromBf16 | Clamp { .. } => false,
            ToS32(_) | ToU32(_) | ToLow { .. } | Whole(_) | Saturate => true,
            ToF16 | ToBf16 | ToF16Pair | ToBf16Pair => true,
        }
    }
}

/// A conversion of or to rows of 64-bit words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WideConvert {
    /// f64 of 32-bit integers.
    DoubleOfWord { signed: bool },
    /// f64 of 64-bit integers.
    DoubleOfInteger { signed: bool },
    /// f64 of f32.
    DoubleOfSingle,
    /// f32 of f64.
    SingleOfDouble(Rounding),
    /// f32 of 64-bit integers.
    SingleOfInteger { signed: bool },
    /// 32-bit integers of f64.
    WordOfDouble { signed: bool, rounding: Rounding },
    /// 64-bit integers of f64.
    IntegerOfDouble { signed: bool, rounding: Rounding },
    /// 64-bit integers of f32.
    IntegerOfSingle { signed: bool, rounding: Rounding },
    /// f64 to a whole number.
    Whole(Rounding),
    /// 64-bit integers of the low bits of 32-bit words.
    OfLow { bits: u32, signed: bool },
    /// Bits of 64-bit words, shifted down.
    Field { shift: u32, bits: u32 },
}

impl WideConvert {
    /// Whether source and result have the same width.
    pub(crate) fn is_elementwise(self) -> bool {
        use WideConvert::{
            DoubleOfInteger, DoubleOfSingle, DoubleOfWord, Field, IntegerOfDouble, IntegerOfSingle,
        };
        use WideConvert::{OfLow, SingleOfDouble, SingleOfInteger, Whole, WordOfDouble};
        match self {
            DoubleOfInteger { .. } | IntegerOfDouble { .. } | Whole(_) => true,
            DoubleOfWord { .. } | DoubleOfSingle | SingleOfDouble(_) | SingleOfInteger { .. } => false,
            WordOfDouble { .. } | IntegerOfSingle { .. } | OfLow { .. } | Field { .. } => false,
        }
    }

    /// Whether only AVX-512 has an instruction for it.
    pub(crate) fn needs_avx512(self) -> bool {
        use WideConvert::{
            DoubleOfInteger, DoubleOfSingle, DoubleOfWord, Field, IntegerOfDouble, IntegerOfSingle,
        };
        use WideConvert::{OfLow, SingleOfDouble, SingleOfInteger, Whole, WordOfDouble};
        match self {
            IntegerOfDouble { .. } | IntegerOfSingle { .. } | SingleOfInteger { .. } => true,
            DoubleOfWord { .. } | DoubleOfInteger { .. } | DoubleOfSingle | SingleOfDouble(_) => false,
            WordOfDouble { .. } | Whole(_) | OfLow { .. } | Field { .. } => false,
        }
    }
}

/// A form of `cvt`.
pub(crate) fn conversion(form: &InstructionForm) -> Option<Conversion> {
    use Modifier::{Ftz, Rmi, Rn, Rni, Rpi, Rzi, Sat};
    use Type::{Bf16, Bf16x2, F16, F16x2, F32, S8, S16, S32, S64, U8, U16, U32, U64};
    let &[to, from] = form.types.as_slice() else { return None };
    Some(match (form.modifiers.as_slice(), to, from) {
        (&[], U64 | S64, U32) => Conversion::Extend(Extend::Zero64),
        (&[], U64 | S64, S32) => Conversion::Extend(Extend::Sign64),
        (&[], U32 | S32, U64 | S64) => Conversion::Extend(Extend::Low32),
        (&[], U32 | S32, U32 | S32) => Conversion::Copy32,
        (&[], U64 | S64, U64 | S64) => Conversion::Copy64,
        (&[], U8 | S8, U8 | S8 | U16 | S16 | U32 | S32) | (&[], U16 | S16 | U32 | S32, U8) => {
            Conversion::Extend(Extend::Field { shift: 0, bits: 8 })
        }
        (&[], U16 | S16, U16 | S16 | U32 | S32) | (&[], U32 | S32, U16) => {
            Conversion::Extend(Extend::Field { shift: 0, bits: 16 })
        }
        (&[], U32 | S32, S16) => Conversion::Extend(Extend::Sign { from: 16, to: 32 }),
        (&[], U32 | S32, S8) => Conversion::Extend(Extend::Sign { from: 8, to: 32 }),
        (&[], U16 | S16, S8) => Conversion::Extend(Extend::Sign { from: 8, to: 16 }),
        (&[Rn], F32, S32) => Conversion::Short(Convert::FromS32),
        (&[Rn], F32, U32) => Conversion::Short(Convert::FromU32),
        (&[Rn], F32, S16 | U16 | S8 | U8) => {
            Conversion::Short(Convert::FromLow { bits: from.bits(), signed: matches!(from, S16 | S8) })
        }
        (&[rounding @ (Rmi | Rpi)], S32, F32)
        | (&[rounding @ (Rzi | Rni)] | &[rounding @ (Rzi | Rni), Ftz], S32, F32) => {
            Conversion::Short(Convert::ToS32(Rounding::of(rounding)?))
        }
        // What is negative becomes 0, subnormal or not.
        (&[rounding @ (Rni | Rmi | Rpi | Rzi)] | &[rounding @ (Rni | Rmi | Rzi), Ftz], U32, F32) => {
            Conversion::Short(Convert::ToU32(Rounding::of(rounding)?))
        }
        (&[rounding @ (Rni | Rmi | Rpi | Rzi)] | &[rounding @ (Rni | Rzi), Ftz], F32, F32) => {
            Conversion::Short(Convert::Whole(Rounding::of(rounding)?))
        }
        (&[rounding @ (Rni | Rmi | Rpi | Rzi)], U8 | U16, F32) => {
            Conversion::Short(Convert::ToLow { bits: to.bits(), rounding: Rounding::of(rounding)? })
        }
        (&[Sat], U8 | U16, S32 | U32) => {
            Conversion::Short(Convert::Clamp { bits: to.bits(), signed: from == S32 })
        }
        (&[Sat], F32, F32) => Conversion::Short(Convert::Saturate),
        (&[], F32, F16) => Conversion::Short(Convert::FromF16),
        (&[], F32, Bf16) => Conversion::Short(Convert::FromBf16),
        (&[Rn], F16, F32) => Conversion::Short(Convert::ToF16),
        (&[Rn], Bf16, F32) => Conversion::Short(Convert::ToBf16),
        (&[Rn], F16x2, F32) => Conversion::Short(Convert::ToF16Pair),
        (&[Rn], Bf16x2, F32) => Conversion::Short(Convert::ToBf16Pair),
        _ => return wide(form).map(Conversion::Wide),
    })
}

/// A form of `cvt` of or to 64 bits.
fn wide(form: &InstructionForm) -> Option<WideConvert> {
    use Modifier::{Rn, Rzi};
    use Type::{F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
    let &[to, from] = form.types.as_slice() else { return None };
    let signed = |ty: Type| matches!(ty, S8 | S16 | S32 | S64);
    Some(match (form.modifiers.as_slice(), to, from) {
        (&[Rn], F64, S32 | U32) => WideConvert::DoubleOfWord { signed: signed(from) },
        (&[Rn], F64, S64 | U64) => WideConvert::DoubleOfInteger { signed: signed(from) },
        (&[Rn], F32, S64 | U64) => WideConvert::SingleOfInteger { signed: signed(from) },
        (&[], F64, F32) => WideConvert::DoubleOfSingle,
        (&[Rn], F32, F64) => WideConvert::SingleOfDouble(Rounding::Nearest),
        (&[rounding], F32, F64) => WideConvert::SingleOfDouble(Rounding::directed(rounding)?),
        (&[rounding], S32 | U32, F64) => {
            WideConvert::WordOfDouble { signed: signed(to), rounding: Rounding::of(rounding)? }
        }
        (&[rounding], S64 | U64, F64) => {
            WideConvert::IntegerOfDouble { signed: signed(to), rounding: Rounding::of(rounding)? }
        }
        (&[rounding], S64 | U64, F32) => {
            WideConvert::IntegerOfSingle { signed: signed(to), rounding: Rounding::of(rounding)? }
        }
        // A subnormal number becomes 0, flushed or not.
        (&[Rzi, Modifier::Ftz], S64 | U64, F32) => {
            WideConvert::IntegerOfSingle { signed: signed(to), rounding: Rounding::Zero }
        }
        (&[rounding], F64, F64) => WideConvert::Whole(Rounding::of(rounding)?),
        (&[], S64 | U64, S8 | U8 | S16 | U16) => {
            WideConvert::OfLow { bits: from.bits(), signed: signed(from) }
        }
        (&[], S8 | U8 | S16 | U16, S64 | U64) => WideConvert::Field { shift: 0, bits: to.bits() },
        _ => return None,
    })
}
