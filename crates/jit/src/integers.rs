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
    /// `popc`
    Population { wide: bool },
    /// `clz`
    LeadingZeros { wide: bool },
    /// `bfind`; with `shift`, `bfind.shiftamt`.
    Highest { wide: bool, signed: bool, shift: bool },
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
    /// A quotient or a remainder of 64-bit words.
    DivideWide { signed: bool, remainder: bool },
    /// `copysign`
    CopySign { wide: bool },
    /// `brev`
    Reverse { wide: bool },
    /// `bmsk`: ones from a place on.
    Ones { wrap: bool },
    /// `szext`: the low bits of a word.
    LowBits { signed: bool, wrap: bool },
    /// A sum with a carry.
    Carry(Carry),
    /// A funnel shift by an amount of at most 32.
    FunnelClamped { left: bool },
}

/// A sum with a carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carry {
    pub(crate) wide: bool,
    pub(crate) addend: Addend,
    /// The carry is an addend. A difference without it has a one there.
    pub(crate) reads: bool,
    /// The carry is written.
    pub(crate) writes: bool,
}

/// What is added up with a carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addend {
    /// Two words.
    Word,
    /// A word and the complement of another.
    Complement,
    /// The low half of a product, and a word.
    Low,
    /// The high half of a product of 32-bit words, and a word.
    High { signed: bool },
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
        match self {
            Short::Shr | Short::Min | Short::Max | Short::Abs | Short::Wide { .. } => true,
            // The low 16 bits of the result depend on those of the sources alone.
            Short::Add | Short::Sub | Short::Mul | Short::Mad | Short::Neg | Short::Not => false,
            Short::Shl => false,
        }
    }
}

impl Short {
    /// Whether it has one source.
    pub(crate) fn has_one_source(self) -> bool {
        match self {
            Short::Neg | Short::Not | Short::Abs => true,
            Short::Add | Short::Sub | Short::Mul | Short::Mad | Short::Shl | Short::Shr => false,
            Short::Min | Short::Max | Short::Wide { .. } => false,
        }
    }

    /// Whether its third source is added to a product.
    pub(crate) fn adds(self) -> bool {
        match self {
            Short::Mad | Short::Wide { add: true } => true,
            Short::Add | Short::Sub | Short::Mul | Short::Wide { add: false } => false,
            Short::Neg | Short::Not | Short::Abs | Short::Shl | Short::Shr => false,
            Short::Min | Short::Max => false,
        }
    }

    /// Whether its result has 32 bits.
    pub(crate) fn is_wide(self) -> bool {
        match self {
            Short::Wide { .. } => true,
            Short::Add | Short::Sub | Short::Mul | Short::Mad | Short::Neg | Short::Not => false,
            Short::Abs | Short::Shl | Short::Shr | Short::Min | Short::Max => false,
        }
    }
}

impl Integer {
    /// Whether results of scalars are computed as scalars.
    pub(crate) fn has_scalar(self) -> bool {
        match self {
            Integer::Divide { .. } => true,
            Integer::Short(_) | Integer::Extract { .. } | Integer::Insert { .. } => false,
            Integer::Population { .. } | Integer::LeadingZeros { .. } | Integer::Highest { .. } => false,
            Integer::Magnitude { .. } | Integer::HighSum { .. } | Integer::HighWide { .. } => false,
            Integer::DivideWide { .. } | Integer::Dot { .. } | Integer::Permute => false,
            Integer::Distance { .. } | Integer::CopySign { .. } | Integer::Reverse { .. } => false,
            Integer::Ones { .. } | Integer::LowBits { .. } | Integer::Carry(_) => false,
            Integer::FunnelClamped { .. } => false,
        }
    }

    /// Whether each lane's result may be written as soon as the lane's sources are read.
    pub(crate) fn is_elementwise(self) -> bool {
        match self {
            // Words of 64 bits give results of 32 bits, or take amounts of 32 bits.
            Integer::Extract { wide, .. } | Integer::Insert { wide } | Integer::Population { wide } => !wide,
            Integer::LeadingZeros { wide } | Integer::Highest { wide, .. } => !wide,
            Integer::Short(_) | Integer::Magnitude { .. } | Integer::HighSum { .. } => true,
            Integer::HighWide { .. } | Integer::Divide { .. } | Integer::DivideWide { .. } => true,
            Integer::Dot { .. } | Integer::Permute | Integer::Distance { .. } => true,
            Integer::CopySign { .. } | Integer::Reverse { .. } | Integer::Ones { .. } => true,
            Integer::LowBits { .. } | Integer::Carry(_) | Integer::FunnelClamped { .. } => true,
        }
    }
}

/// The operation of a form.
pub(crate) fn integer(form: &InstructionForm) -> Option<Integer> {
    use Modifier::{Clamp, Hi, L, R, Shiftamt, Wrap};
    let ty = *form.types.first()?;
    let signed = matches!(ty, Type::S16 | Type::S32 | Type::S64);
    if let Type::B16 | Type::U16 | Type::S16 = ty {
        return short(form, signed);
    }
    let wide = matches!(ty, Type::B64 | Type::U64 | Type::S64 | Type::F64);
    if !wide && !matches!(ty, Type::B32 | Type::U32 | Type::S32 | Type::F32) {
        return None;
    }
    Some(match (form.opcode, form.modifiers.as_slice(), ty) {
        (Opcode::Bfe, [], _) => Integer::Extract { wide, signed },
        (Opcode::Bfi, [], _) => Integer::Insert { wide },
        (Opcode::Brev, [], _) => Integer::Reverse { wide },
        (Opcode::Bmsk, [ends @ (Clamp | Wrap)], _) => Integer::Ones { wrap: *ends == Wrap },
        (Opcode::Szext, [ends @ (Clamp | Wrap)], _) => Integer::LowBits { signed, wrap: *ends == Wrap },
        (Opcode::Popc, [], _) => Integer::Population { wide },
        (Opcode::Clz, [], _) => Integer::LeadingZeros { wide },
        (Opcode::Bfind, [], _) => Integer::Highest { wide, signed, shift: false },
        (Opcode::Bfind, [Shiftamt], _) => Integer::Highest { wide, signed, shift: true },
        (Opcode::Abs, [], Type::S32 | Type::S64) => Integer::Magnitude { wide },
        (Opcode::Mad, [Hi], Type::U32 | Type::S32) => Integer::HighSum { signed },
        (Opcode::Mul, [Hi], Type::U64 | Type::S64) => Integer::HighWide { signed },
        (Opcode::Div | Opcode::Rem, [], Type::U32 | Type::S32) => {
            Integer::Divide { signed, remainder: form.opcode == Opcode::Rem, short: false }
        }
        (Opcode::Dp4a, [], _) => Integer::Dot { signed: [ty == Type::S32, *form.types.get(1)? == Type::S32] },
        (Opcode::Prmt, [], Type::B32) => Integer::Permute,
        (Opcode::Sad, [], Type::U32 | Type::S32) => Integer::Distance { signed },
        (Opcode::Copysign, [], _) => Integer::CopySign { wide },
        (Opcode::Div | Opcode::Rem, [], Type::U64 | Type::S64) => {
            Integer::DivideWide { signed, remainder: form.opcode == Opcode::Rem }
        }
        (Opcode::Shf, [direction @ (L | R), Clamp], Type::B32) => {
            Integer::FunnelClamped { left: *direction == L }
        }
        (Opcode::Add | Opcode::Sub | Opcode::Mad | Opcode::Addc | Opcode::Subc | Opcode::Madc, _, _) => {
            Integer::Carry(carry(form, wide, signed)?)
        }
        _ => return None,
    })
}

/// A sum with a carry.
fn carry(form: &InstructionForm, wide: bool, signed: bool) -> Option<Carry> {
    use Modifier::{Cc, Hi, Lo};
    let reads = matches!(form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
    let (kept, writes) = match form.modifiers.as_slice() {
        [kept @ .., Cc] => (kept, true),
        all => (all, false),
    };
    let addend = match (form.opcode, kept) {
        (Opcode::Add | Opcode::Addc, []) => Addend::Word,
        (Opcode::Sub | Opcode::Subc, []) => Addend::Complement,
        (Opcode::Mad | Opcode::Madc, [Lo]) => Addend::Low,
        (Opcode::Mad | Opcode::Madc, [Hi]) if !wide => Addend::High { signed },
        _ => return None,
    };
    let integer = matches!(form.types.first()?, Type::U32 | Type::S32 | Type::U64 | Type::S64);
    (integer && (reads || writes)).then_some(Carry { wide, addend, reads, writes })
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
