//! Reason an operand is not what a form wants: data, which `explain` puts into words.

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
    Negated,
    /// `!1.5`
    InvertedFloat,
    Sink,
    /// Something else than the sink.
    OnlySink,
    Special,
    ReadOnly,
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
    ImmediateAddress,
    FloatOffset,
    WritesInput(VarId),
    ReadsReturn(VarId),
    /// `.param::func` or `.param::entry` on the other kind of parameter.
    ParameterKind {
        func: bool,
    },
    /// The address of a local `.param`.
    AddressTaken(VarId),
    /// The address of a return parameter, in too old a module.
    ReturnAddress(VarId),
    /// An opaque variable accessed as memory.
    OpaqueAccess(VarId),
    /// The address of an opaque variable, not in `.u64`.
    OpaqueAddress(VarId),
    /// The same, in too old a module.
    OpaqueVersion(VarId),
    /// Not a handle of this kind.
    Handle(Opaque),
    /// A handle in a register, in too old a module.
    IndirectHandle,
    /// A sampler is missing.
    Sampler,
    NoArray(VarId),
    /// `[x].unified` of a variable that is not, or is written.
    Unified(VarId),
    FunctionOffset,
    /// Not the label of a `.branchtargets` above.
    NoTable,
    /// The label of a list of targets or a prototype.
    NoCode(Symbol),
    /// A constant that the operation cannot have.
    Bounds {
        value: i64,
        bounds: &'static Bounds,
    },
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
