//! The reasons why an operand is not what a form wants, as data. `explain` and `explain_operand` word them.

use super::accepts::Spaces;
use super::ranges::Bounds;
use super::rule::Width;
use crate::checked::VarId;
use softwarp_isa::instruction::LiteralKind;
use softwarp_isa::special::SpecialRegister;
use softwarp_isa::{Opaque, Type, Version};
use softwarp_syntax::Span;
use softwarp_syntax::tree::Symbol;

/// What is wrong with an operand, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mismatch {
    pub at: Span,
    pub why: Reason,
}

/// What is wrong with an operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reason {
    /// Nothing of that name is declared.
    Undeclared(Symbol),
    /// It is not of the sort that is wanted.
    Sort(Sort),
    /// A register of another type.
    Type {
        id: VarId,
        ty: Type,
    },
    /// A special register of another type.
    SpecialType {
        ty: Type,
    },
    /// A constant of a kind that does not fit.
    Constant(LiteralKind),
    /// A constant beyond the range.
    Range {
        value: i64,
        least: i64,
        most: i64,
    },
    /// A vector of the wrong number of elements.
    Size {
        found: usize,
    },
    /// Elements of types that do not go together.
    Mixed {
        first: Type,
        other: Type,
    },
    /// Packed elements that do not make up the value.
    Packed {
        bits: u32,
    },
    /// What stands after the dot is no element.
    Member {
        lanes: u8,
    },
    /// The predicate beside a result needs a newer version or target.
    PredicateUnavailable {
        version: Version,
        sm: u16,
    },
    /// Something that cannot stand here whatever its type.
    Forbidden(Forbidden),
    /// A variable that cannot be used like this.
    Misused(VarId, Misuse),
    /// A special register that the module's version or target does not have.
    SpecialUnavailable(&'static SpecialRegister),
    /// A variable of another state space than the instruction's.
    Space {
        id: VarId,
        spaces: Spaces,
    },
    AddressType {
        id: VarId,
        ty: Type,
        width: Width,
    },
    /// A 32-bit address of global memory.
    NarrowAddress,
    /// Not a handle of this kind.
    Handle(Opaque),
    /// The label of a list of targets or a prototype.
    NoCode(Symbol),
    /// A constant that the operation cannot have.
    Bounds {
        value: i64,
        bounds: &'static Bounds,
    },
    /// A constant above that of another operand.
    Above {
        value: i64,
        most: i64,
        of: &'static str,
    },
    /// A constant that is no part of a whole.
    Fraction {
        value: f32,
    },
}

/// Operands that a form does not take, of whatever type they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forbidden {
    Negated,
    /// `!1.5`
    InvertedFloat,
    Sink,
    /// Something else than the sink.
    OnlySink,
    /// A special register.
    Special,
    /// A special register as a destination.
    ReadOnly,
    ImmediateAddress,
    FloatOffset,
    /// `.param::func` on a parameter of a kernel.
    NotOfKernel,
    /// `.param::entry` on a parameter of a function.
    NotOfEntry,
    /// A handle in a register, in too old a module.
    IndirectHandle,
    /// A sampler is missing.
    Sampler,
    FunctionOffset,
    /// Not the label of a `.branchtargets` above.
    NoTable,
}

/// Uses that a variable does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misuse {
    /// A write to an input parameter.
    WritesInput,
    /// A read of a return parameter.
    ReadsReturn,
    /// The address of a local `.param`.
    AddressTaken,
    /// The address of a return parameter, in too old a module.
    ReturnAddress,
    /// An opaque variable accessed as memory.
    OpaqueAccess,
    /// The address of an opaque variable, not in `.u64`.
    OpaqueAddress,
    /// The address of an opaque variable, in too old a module.
    OpaqueVersion,
    /// An element of a variable that is not an array.
    NoArray,
    /// `[x].unified` of a variable that is not, or is written.
    Unified,
}

/// What an operand is, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Register,
    Variable,
    Function,
    Label,
    Constant,
    Vector,
    Address,
    Pair,
    List,
}

impl Sort {
    pub fn name(self) -> &'static str {
        match self {
            Sort::Register => "a register",
            Sort::Variable => "a variable in memory",
            Sort::Function => "a function",
            Sort::Label => "a label",
            Sort::Constant => "a constant",
            Sort::Vector => "a vector",
            Sort::Address => "an address in brackets",
            Sort::Pair => "a pair",
            Sort::List => "a list in parentheses",
        }
    }
}

/// Whether an operand is what is wanted, and if not, why.
pub(super) type Fits = Result<(), Mismatch>;

/// An operand that is not what is wanted.
pub(super) fn mismatch(at: Span, why: Reason) -> Fits {
    Err(Mismatch { at, why })
}
