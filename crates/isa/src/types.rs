//! The type specifiers of PTX, as data: one row each, and everything else derived from the row.
//!
//! PTX ISA section 5.2 (Types): 5.2.1 fundamental types and when two of them are compatible, 5.2.2
//! where narrow ones may stand, 5.2.3 alternate formats, and the packed types after that. What the
//! numbers in a type look like bit by bit is [`softwarp_num::Format`]'s to say.
//!
//! Not here yet: the opaque types of section 5.3, vectors, and the sub-byte container types of the
//! matrix instructions.

use softwarp_num::{Format, Kind, Packed};

/// What sort of thing a type holds: PTX's "basic type".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Two's-complement integers.
    Signed,
    /// Integers from zero up.
    Unsigned,
    /// Floating-point numbers, the alternate formats included.
    Float,
    /// Fixed-point numbers (`s2f6`).
    Fixed,
    /// Bits without a meaning of their own.
    Bits,
    /// One truth value.
    Pred,
}

/// What a row of the table says about a type's contents.
#[derive(Clone, Copy)]
enum Contents {
    /// One or more numbers.
    Numbers(Packed),
    /// That many bits, untyped.
    Bits(u32),
    /// A predicate.
    Pred,
}

/// Whether a variable can have the type.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// Variables and instructions.
    Fundamental,
    /// Only instructions: the data lives in a variable of a bit type.
    Instruction,
}

const fn one(element: Format) -> Contents {
    Contents::Numbers(Packed::scalar(element))
}

const fn two(element: Format) -> Contents {
    Contents::Numbers(Packed { element, lanes: 2 })
}

const fn four(element: Format) -> Contents {
    Contents::Numbers(Packed { element, lanes: 4 })
}

use Contents::{Bits, Pred};
use Use::{Fundamental, Instruction};

/// Declares [`Type`] and its table together, so that neither can lack a row of the other.
macro_rules! types {
    ($($variant:ident $name:literal $usage:ident $contents:expr;)*) => {
        /// A type specifier of PTX, without its dot: `f32`, `e4m3x2`, `pred`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs)] // The table documents each.
        pub enum Type { $($variant,)* }

        const ROWS: &[(&str, Use, Contents)] = &[$(($name, $usage, $contents),)*];

        impl Type {
            /// Every type, in the order of the table: fundamental ones first.
            pub const ALL: &[Type] = &[$(Type::$variant,)*];
        }
    };
}

#[rustfmt::skip]
types! {
    // Table 8: the fundamental types.
    S8      "s8"      Fundamental one(Format::S8);
    S16     "s16"     Fundamental one(Format::S16);
    S32     "s32"     Fundamental one(Format::S32);
    S64     "s64"     Fundamental one(Format::S64);
    U8      "u8"      Fundamental one(Format::U8);
    U16     "u16"     Fundamental one(Format::U16);
    U32     "u32"     Fundamental one(Format::U32);
    U64     "u64"     Fundamental one(Format::U64);
    F16     "f16"     Fundamental one(Format::F16);
    F16x2   "f16x2"   Fundamental two(Format::F16);
    F32     "f32"     Fundamental one(Format::F32);
    F64     "f64"     Fundamental one(Format::F64);
    B8      "b8"      Fundamental Bits(8);
    B16     "b16"     Fundamental Bits(16);
    B32     "b32"     Fundamental Bits(32);
    B64     "b64"     Fundamental Bits(64);
    B128    "b128"    Fundamental Bits(128);
    Pred    "pred"    Fundamental Pred;
    // Alternate floating-point formats, and the one fixed-point format.
    Bf16    "bf16"    Instruction one(Format::Bf16);
    Tf32    "tf32"    Instruction one(Format::Tf32);
    E4m3    "e4m3"    Instruction one(Format::E4m3);
    E5m2    "e5m2"    Instruction one(Format::E5m2);
    E2m3    "e2m3"    Instruction one(Format::E2m3);
    E3m2    "e3m2"    Instruction one(Format::E3m2);
    E2m1    "e2m1"    Instruction one(Format::E2m1);
    Ue8m0   "ue8m0"   Instruction one(Format::Ue8m0);
    Ue4m3   "ue4m3"   Instruction one(Format::Ue4m3);
    Ue5m3   "ue5m3"   Instruction one(Format::Ue5m3);
    S2f6    "s2f6"    Instruction one(Format::S2f6);
    // Table 9: packed floating-point types. Its cell for e2m1x4 reads .b32; the assembler, and the
    // text on cvt, want .b16, which is also what four 4-bit codes take.
    F32x2   "f32x2"   Instruction two(Format::F32);
    Bf16x2  "bf16x2"  Instruction two(Format::Bf16);
    E4m3x2  "e4m3x2"  Instruction two(Format::E4m3);
    E5m2x2  "e5m2x2"  Instruction two(Format::E5m2);
    E2m3x2  "e2m3x2"  Instruction two(Format::E2m3);
    E3m2x2  "e3m2x2"  Instruction two(Format::E3m2);
    E2m1x2  "e2m1x2"  Instruction two(Format::E2m1);
    Ue8m0x2 "ue8m0x2" Instruction two(Format::Ue8m0);
    Ue5m3x2 "ue5m3x2" Instruction two(Format::Ue5m3);
    S2f6x2  "s2f6x2"  Instruction two(Format::S2f6);
    E4m3x4  "e4m3x4"  Instruction four(Format::E4m3);
    E5m2x4  "e5m2x4"  Instruction four(Format::E5m2);
    E2m3x4  "e2m3x4"  Instruction four(Format::E2m3);
    E3m2x4  "e3m2x4"  Instruction four(Format::E3m2);
    E2m1x4  "e2m1x4"  Instruction four(Format::E2m1);
    // Packed integer types.
    U16x2   "u16x2"   Instruction two(Format::U16);
    S16x2   "s16x2"   Instruction two(Format::S16);
    U8x4    "u8x4"    Instruction four(Format::U8);
    S8x4    "s8x4"    Instruction four(Format::S8);
    // The sub-byte integers that cvt.pack makes.
    U4      "u4"      Instruction one(Format::U4);
    S4      "s4"      Instruction one(Format::S4);
    U2      "u2"      Instruction one(Format::U2);
    S2      "s2"      Instruction one(Format::S2);
}

impl Type {
    const fn row(self) -> (&'static str, Use, Contents) {
        ROWS[self as usize]
    }

    /// The name, without its dot.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Finds a type by its name, without its dot.
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ALL.iter().copied().find(|ty| ty.name() == name)
    }

    /// Whether variables can have this type. The others type instructions only, and their data lives
    /// in registers of [`Type::register_type`].
    pub fn is_fundamental(self) -> bool {
        self.row().1 == Fundamental
    }

    /// The numbers in it: how many, in which format. `None` for bit types and predicates.
    pub const fn packed(self) -> Option<Packed> {
        match self.row().2 {
            Contents::Numbers(packed) => Some(packed),
            Contents::Bits(_) | Contents::Pred => None,
        }
    }

    /// How many numbers one value holds: 1, 2 or 4 (1 for bit types and predicates).
    pub const fn lanes(self) -> u8 {
        match self.packed() {
            Some(packed) => packed.lanes,
            None => 1,
        }
    }

    /// What sort of thing it holds.
    pub const fn class(self) -> Class {
        match self.row().2 {
            Contents::Bits(_) => Class::Bits,
            Contents::Pred => Class::Pred,
            Contents::Numbers(packed) => match packed.element.spec().kind {
                Kind::Float { .. } | Kind::Exponent { .. } => Class::Float,
                Kind::Fixed { .. } => Class::Fixed,
                Kind::Int { signed: true } => Class::Signed,
                Kind::Int { signed: false } => Class::Unsigned,
            },
        }
    }

    /// Whether it is a single integer.
    pub const fn is_int(self) -> bool {
        matches!(self.class(), Class::Signed | Class::Unsigned) && self.lanes() == 1
    }

    /// Bits of a value: of the code itself for a single number, of the whole register for several.
    pub const fn bits(self) -> u32 {
        match self.row().2 {
            Contents::Numbers(packed) if packed.lanes == 1 => packed.element.bits(),
            Contents::Numbers(packed) => packed.bits(),
            Contents::Bits(bits) => bits,
            Contents::Pred => 1,
        }
    }

    /// The bit type that holds it: `b16` for `bf16` and `e4m3x2`, `b8` for `e2m1x2` and `ue4m3`.
    /// A predicate is held by `pred` alone.
    pub const fn register_type(self) -> Type {
        match self.row().2 {
            Contents::Pred => Type::Pred,
            _ => match self.bits() {
                0..=8 => Type::B8,
                9..=16 => Type::B16,
                17..=32 => Type::B32,
                33..=64 => Type::B64,
                _ => Type::B128,
            },
        }
    }

    /// Whether an operand of one type may stand where the other is asked for (section 5.2.1): the
    /// same type; signed and unsigned integers of one size; a bit type and anything of its size that
    /// a variable can be. Predicates go with predicates only.
    ///
    /// Symmetric. Instructions that accept wider operands say so themselves.
    pub fn compatible(self, other: Type) -> bool {
        if self == other {
            return true;
        }
        let fundamental = self.is_fundamental() && other.is_fundamental();
        let typed_alike = self.is_int() && other.is_int();
        let untyped = self.class() == Class::Bits || other.class() == Class::Bits;
        fundamental && self.bits() == other.bits() && (typed_alike || untyped)
    }

    /// The opcodes that alone may have it as an instruction type (section 5.2.2), or `None` where the
    /// table of instructions decides case by case.
    pub fn only_on(self) -> Option<&'static [&'static str]> {
        match self {
            Type::U8 | Type::S8 | Type::B8 => Some(&["ld", "st", "cvt"]),
            _ => None,
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::fmt::Debug for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", self.name())
    }
}
