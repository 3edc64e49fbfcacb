//! Floating-point operations, conversions and special functions that have code, as data.

#![allow(clippy::wildcard_enum_match_arm, reason = "a form or a rounding that is not listed is not compiled")]

use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode};

/// A rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Down,
    Up,
    Zero,
}

impl Rounding {
    /// To whole numbers.
    pub(crate) fn of(modifier: Modifier) -> Option<Rounding> {
        Some(match modifier {
            Modifier::Rni => Rounding::Nearest,
            Modifier::Rmi => Rounding::Down,
            Modifier::Rpi => Rounding::Up,
            Modifier::Rzi => Rounding::Zero,
            _ => return None,
        })
    }

    /// Of results, not to nearest.
    pub(crate) fn directed(modifier: Modifier) -> Option<Rounding> {
        Some(match modifier {
            Modifier::Rm => Rounding::Down,
            Modifier::Rp => Rounding::Up,
            Modifier::Rz => Rounding::Zero,
            _ => return None,
        })
    }

    /// In the instructions of AVX-512, without exceptions.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn bits(self) -> i32 {
        8 | match self {
            Rounding::Nearest => 0,
            Rounding::Down => 1,
            Rounding::Up => 2,
            Rounding::Zero => 3,
        }
    }
}

/// A floating-point operation, to nearest, without flushing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Rcp,
    Sqrt,
    Neg,
    Abs,
    Min,
    Max,
}

impl Float {
    /// Whether its result is rounded.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn rounds(self) -> bool {
        match self {
            Float::Add | Float::Sub | Float::Mul | Float::Fma | Float::Div | Float::Rcp | Float::Sqrt => true,
            Float::Neg | Float::Abs | Float::Min | Float::Max => false,
        }
    }

    /// Whether its result is one of its sources, or the canonical NaN.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn chooses(self) -> bool {
        match self {
            Float::Min | Float::Max => true,
            Float::Add | Float::Sub | Float::Mul | Float::Fma | Float::Div => false,
            Float::Rcp | Float::Sqrt | Float::Neg | Float::Abs => false,
        }
    }

    /// How many sources it has.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn sources(self) -> usize {
        match self {
            Float::Fma => 3,
            Float::Add | Float::Sub | Float::Mul | Float::Div | Float::Min | Float::Max => 2,
            Float::Rcp | Float::Sqrt | Float::Neg | Float::Abs => 1,
        }
    }
}

/// Arithmetic of f16 or bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Half {
    /// A sum, a difference, a product, `fma`, `neg`, `abs`, `min` or `max`.
    pub(crate) float: Float,
    /// bf16
    pub(crate) brain: bool,
    /// Two in a word.
    pub(crate) pair: bool,
}

/// The arithmetic of halves of a form.
pub(crate) fn half(form: &InstructionForm) -> Option<Half> {
    let &[ty] = form.types.as_slice() else { return None };
    let (brain, pair) = match ty {
        Type::F16 => (false, false),
        Type::F16x2 => (false, true),
        Type::Bf16 => (true, false),
        Type::Bf16x2 => (true, true),
        _ => return None,
    };
    let float = match (form.opcode, form.modifiers.as_slice()) {
        (Opcode::Add, [] | [Modifier::Rn]) => Float::Add,
        (Opcode::Sub, [] | [Modifier::Rn]) => Float::Sub,
        (Opcode::Mul, [] | [Modifier::Rn]) => Float::Mul,
        (Opcode::Fma, [Modifier::Rn]) => Float::Fma,
        (Opcode::Neg, []) => Float::Neg,
        (Opcode::Abs, []) => Float::Abs,
        (Opcode::Min, []) => Float::Min,
        (Opcode::Max, []) => Float::Max,
        _ => return None,
    };
    Some(Half { float, brain, pair })
}

/// A special function of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Rcp,
    /// `div.approx` and `div.full`: they differ only for divisors that have no code.
    Div {
        ftz: bool,
    },
    /// The factors of such a quotient, each of two sources.
    Dividend {
        ftz: bool,
    },
    Divisor,
    Rsqrt,
    Sqrt,
    Ex2 {
        ftz: bool,
    },
    Lg2,
    Sin,
    Cos,
    Tanh,
}

impl Special {
    /// Whether there is code for all inputs beside that for ordinary ones. Otherwise the interpreter does the others.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn has_general(self) -> bool {
        match self {
            Special::Ex2 { .. } | Special::Lg2 | Special::Sin | Special::Cos | Special::Tanh => true,
            Special::Rcp | Special::Div { .. } | Special::Dividend { .. } | Special::Divisor => false,
            Special::Rsqrt | Special::Sqrt => false,
        }
    }
}

/// A function with `.approx` or `.full`, and with `.ftz` or not.
pub(crate) fn special(opcode: Opcode, modifiers: &[Modifier], ftz: bool) -> Option<Special> {
    use Modifier::{Approx, Full};
    Some(match (opcode, modifiers) {
        (Opcode::Rcp, [Approx]) => Special::Rcp,
        (Opcode::Div, [Approx | Full]) => Special::Div { ftz },
        (Opcode::Rsqrt, [Approx]) => Special::Rsqrt,
        (Opcode::Sqrt, [Approx]) => Special::Sqrt,
        (Opcode::Ex2, [Approx]) => Special::Ex2 { ftz },
        (Opcode::Lg2, [Approx]) => Special::Lg2,
        (Opcode::Sin, [Approx]) => Special::Sin,
        (Opcode::Cos, [Approx]) => Special::Cos,
        (Opcode::Tanh, [Approx]) => Special::Tanh,
        _ => return None,
    })
}
