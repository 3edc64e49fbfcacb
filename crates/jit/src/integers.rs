//! Integer operations that have code beyond those on whole words, as data.

use softwarp_isa::Type;
use softwarp_isa::instruction::{InstructionForm, Modifier, Opcode};

/// An integer operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    /// On 16 bits, with zeros above.
    Short(Short),
    /// `bfe`: a field of a word.
    Extract { wide: bool, signed: bool },
    /// `bfi`: a word with a field put into another.
    Insert { wide: bool },
    /// `popc`, of 32 bits.
    Population,
    /// `clz`, of 32 bits.
    LeadingZeros,
    /// `bfind`, of 32 bits.
    Highest { signed: bool },
    /// `abs`
    Magnitude { wide: bool },
    /// The high half of a product of 32-bit words, and a sum.
    HighSum { signed: bool },
    /// The high half of a product of 64-bit words.
    HighWide { signed: bool },
    /// A quotient or a remainder of 32-bit words, or of 16-bit words.
    Divide { signed: bool, remainder: bool, short: bool },
    /// `dp4a`: which factors have signed bytes.
    Dot { signed: [bool; 2] },
    /// `prmt`, by selectors that are not constant.
    Permute,
    /// `sad`, of 32 bits.
    Distance { signed: bool },
    /// `copysign`, of f32.
    CopySign,
    /// A funnel shift by an amount of at most 32.
    FunnelClamped { left: bool },
}

/// An operation on signed 16-bit words, or one whose result is cut off to 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    Add,
    Sub,
    Mul,
    Mad,
    Neg,
    Not,
    Shl,
    /// With the sign.
    Shr,
    /// Of signed words.
    Min,
    Max,
    Abs,
    /// A product of 32 bits; with a third source, a sum.
    Wide {
        add: bool,
    },
}

impl Short {
    /// Whether its sources are extended with their signs.
    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Short::Shr | Short::Min | Short::Max | Short::Abs | Short::Wide { .. })
    }
}

impl Integer {
    /// Whether results of scalars are computed as scalars.
    pub(crate) fn has_scalar(self) -> bool {
        matches!(self, Integer::Divide { .. })
    }

    /// Whether each lane's result may be written as soon as the lane's sources are read.
    pub(crate) fn is_elementwise(self) -> bool {
        !matches!(self, Integer::Extract { wide: true, .. } | Integer::Insert { wide: true })
    }
}

/// The operation of a form.
pub(crate) fn integer(form: &InstructionForm) -> Option<Integer> {
    use Modifier::{Clamp, Hi, L, R};
    let ty = *form.types.first()?;
    let signed = matches!(ty, Type::S16 | Type::S32 | Type::S64);
    let wide = matches!(ty, Type::B64 | Type::U64 | Type::S64);
    Some(match (form.opcode, form.modifiers.as_slice(), ty) {
        (_, _, Type::B16 | Type::U16 | Type::S16) => return short(form, signed),
        (Opcode::Bfe, [], _) => Integer::Extract { wide, signed },
        (Opcode::Bfi, [], _) => Integer::Insert { wide },
        (Opcode::Popc, [], Type::B32) => Integer::Population,
        (Opcode::Clz, [], Type::B32) => Integer::LeadingZeros,
        (Opcode::Bfind, [], Type::U32 | Type::S32) => Integer::Highest { signed },
        (Opcode::Abs, [], Type::S32 | Type::S64) => Integer::Magnitude { wide },
        (Opcode::Mad, [Hi], Type::U32 | Type::S32) => Integer::HighSum { signed },
        (Opcode::Mul, [Hi], Type::U64 | Type::S64) => Integer::HighWide { signed },
        (Opcode::Div | Opcode::Rem, [], Type::U32 | Type::S32) => {
            Integer::Divide { signed, remainder: form.opcode == Opcode::Rem, short: false }
        }
        (Opcode::Dp4a, [], _) => Integer::Dot { signed: [ty == Type::S32, *form.types.get(1)? == Type::S32] },
        (Opcode::Prmt, [], Type::B32) => Integer::Permute,
        (Opcode::Sad, [], Type::U32 | Type::S32) => Integer::Distance { signed },
        (Opcode::Copysign, [], Type::F32) => Integer::CopySign,
        (Opcode::Shf, [direction @ (L | R), Clamp], Type::B32) => {
            Integer::FunnelClamped { left: *direction == L }
        }
        _ => return None,
    })
}

/// The operation of a form on 16 bits.
fn short(form: &InstructionForm, signed: bool) -> Option<Integer> {
    use Modifier::{Lo, Wide};
    Some(Integer::Short(match (form.opcode, form.modifiers.as_slice()) {
        (Opcode::Add, []) => Short::Add,
        (Opcode::Sub, []) => Short::Sub,
        (Opcode::Mul, [Lo]) => Short::Mul,
        (Opcode::Mad, [Lo]) => Short::Mad,
        (Opcode::Neg, []) => Short::Neg,
        (Opcode::Not, []) => Short::Not,
        (Opcode::Shl, []) => Short::Shl,
        (Opcode::Shr, []) if signed => Short::Shr,
        (Opcode::Min, []) if signed => Short::Min,
        (Opcode::Max, []) if signed => Short::Max,
        (Opcode::Abs, []) if signed => Short::Abs,
        (Opcode::Mul, [Wide]) if signed => Short::Wide { add: false },
        (Opcode::Mad, [Wide]) if signed => Short::Wide { add: true },
        (Opcode::Div | Opcode::Rem, []) => {
            let remainder = form.opcode == Opcode::Rem;
            return Some(Integer::Divide { signed, remainder, short: true });
        }
        _ => return None,
    }))
}
