//! `cvt` and `cvt.pack`: which spellings are legal, where, and what they mean.
//!
//! PTX ISA sections 9.7.10.24 and 9.7.10.25 (numbers of the 9.4 edition, as everywhere in this crate;
//! editions move them). The rows are in `table/convert.rs`, in the language of all other instructions;
//! `cvt/table.rs` expands them. This file is what one asks of a legal form, [`FormError`] what one learns about an
//! illegal spelling.

mod diagnose;
mod error;
mod modifier;
mod registers;
mod table;

use std::fmt;

use softwarp_num::{Conversion, Cvt, Format, Rounding, Saturation, Scaling};

pub use error::{FormError, Problem, ProblemKind};
pub use modifier::{Modifier, ModifierKind, Modifiers};

use crate::availability::{self, Availability};
use crate::mnemonic;
use crate::{Class, Target, Type, Version};
use table::{Entry, TABLE};

/// Which of the two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// `cvt`
    Cvt,
    /// `cvt.pack`
    CvtPack,
}

impl Opcode {
    const CVT: &'static str = "cvt";
    const PACK: &'static str = "pack";

    /// As it is spelled.
    pub const fn name(self) -> &'static str {
        match self {
            Opcode::Cvt => "cvt",
            Opcode::CvtPack => "cvt.pack",
        }
    }
}

/// The names the manual gives the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperandName {
    /// The destination.
    D,
    /// The source; of several, the one that becomes the highest element.
    A,
    /// The second source.
    B,
    /// The third source, of four.
    E,
    /// The fourth source, of four.
    F,
    /// What `cvt.pack` copies into the bits above the two results.
    C,
    /// The random bits of `.rs`.
    Rbits,
    /// The ue8m0 scale or scales of `.scaled::…`.
    ScaleFactor,
}

impl OperandName {
    /// Every name.
    pub const ALL: [OperandName; 8] = [
        OperandName::D,
        OperandName::A,
        OperandName::B,
        OperandName::E,
        OperandName::F,
        OperandName::C,
        OperandName::Rbits,
        OperandName::ScaleFactor,
    ];

    /// As the manual writes it.
    pub const fn name(self) -> &'static str {
        match self {
            OperandName::D => "d",
            OperandName::A => "a",
            OperandName::B => "b",
            OperandName::E => "e",
            OperandName::F => "f",
            OperandName::C => "c",
            OperandName::Rbits => "rbits",
            OperandName::ScaleFactor => "scale-factor",
        }
    }

    fn from_name(name: &str) -> Option<OperandName> {
        OperandName::ALL.into_iter().find(|operand| operand.name() == name)
    }
}

impl fmt::Display for OperandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One operand of a form: a single name, or several in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// `a`
    Single(OperandName),
    /// `{a, b, e, f}`
    Vector(Vec<OperandName>),
}

impl Operand {
    /// The names in it.
    pub fn names(&self) -> &[OperandName] {
        match self {
            Operand::Single(name) => std::slice::from_ref(name),
            Operand::Vector(names) => names,
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Single(name) => name.fmt(f),
            Operand::Vector(names) => {
                let names: Vec<&str> = names.iter().map(|name| name.name()).collect();
                write!(f, "{{{}}}", names.join(", "))
            }
        }
    }
}

/// What a form does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Semantics {
    /// A conversion.
    Cvt(Cvt),
    /// `cvt.pack`: `a` and `b`, clamped to the range of `to`, side by side with `b` lowest, and above
    /// them the low bits of `c` if there is one.
    Pack {
        /// The integer format of each field.
        to: Format,
        /// Whether there is an operand `c`.
        with_c: bool,
    },
}

/// A legal form of `cvt` or `cvt.pack`: everything its spelling says, operands aside.
///
/// A small handle on a row of the table, made by [`CvtForm::parse`] or taken from [`CvtForm::all`]; equal
/// handles are equal forms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CvtForm(u16);

impl CvtForm {
    fn entry(self) -> &'static Entry {
        &TABLE.entries[usize::from(self.0)]
    }

    /// Every legal form, in the order of the table.
    pub fn all() -> impl Iterator<Item = CvtForm> {
        (0..TABLE.entries.len() as u16).map(CvtForm)
    }

    /// Reads a spelling: `cvt.rn.f16.f32`, or the same without `cvt.`. Modifiers may stand in any
    /// order, and after the types too; the destination type comes before the source type.
    pub fn parse(spelling: &str) -> Result<CvtForm, FormError> {
        diagnose::parse(spelling)
    }

    /// The form that a resolved mnemonic has: its words in the table's order.
    pub fn from_words(words: &[mnemonic::Modifier]) -> Option<CvtForm> {
        TABLE.find_words(words).map(CvtForm)
    }

    /// Which instruction it is.
    pub fn opcode(self) -> Opcode {
        self.entry().opcode
    }

    /// Its modifiers.
    pub fn modifiers(self) -> Modifiers {
        self.entry().modifiers
    }

    /// Its type words, in order: destination, source, and the type of `c` if there is one.
    pub fn types(self) -> &'static [Type] {
        self.entry().types.as_slice()
    }

    /// The destination type. For `cvt.pack` it is the type of the fields, not of the register.
    pub fn dtype(self) -> Type {
        self.types()[0]
    }

    /// The source type.
    pub fn atype(self) -> Type {
        self.types()[1]
    }

    /// Its operands, in order.
    pub fn operands(self) -> &'static [Operand] {
        &self.entry().operands
    }

    /// Whether it has an operand of that name.
    pub fn has_operand(self, name: OperandName) -> bool {
        self.operands().iter().any(|operand| operand.names().contains(&name))
    }

    /// Where it exists: any one of these suffices.
    pub fn availability(self) -> &'static [Availability] {
        self.entry().availability
    }

    /// The least `.version` of a module that may use it on this target; `None` where none may.
    pub fn min_version(self, target: Target) -> Option<Version> {
        availability::min_version(self.availability(), target)
    }

    /// Where it exists, in words: `sm_89, PTX 8.1; sm_90 or newer, PTX 7.8`.
    pub fn availability_in_words(self) -> String {
        availability::in_words(self.availability())
    }

    /// What it does with numbers.
    pub fn semantics(self) -> Semantics {
        let (dst, src) = (self.dtype(), self.atype());
        // Every type word of the table is one of numbers, save the .b32 of cvt.pack's third.
        let format = |ty: Type| ty.packed().map_or(Format::U32, |packed| packed.element);
        let has = |modifier| self.modifiers().has(modifier);
        if self.opcode() == Opcode::CvtPack {
            return Semantics::Pack { to: format(dst), with_c: self.has_operand(OperandName::C) };
        }
        let rounding = self.modifiers().rounding();
        let to_integral = rounding.is_some_and(|r| r.kind() == ModifierKind::IntegerRounding);
        let element = Conversion {
            src: format(src),
            dst: format(dst),
            rounding: rounding.and_then(Modifier::rounding).unwrap_or(Rounding::NearestEven),
            integral: to_integral && dst.class() == Class::Float,
            ftz: has(Modifier::Ftz),
            saturation: match (has(Modifier::Sat), has(Modifier::Satfinite)) {
                (true, _) => Saturation::Clamp,
                (false, true) => Saturation::Finite,
                (false, false) => Saturation::None,
            },
            relu: has(Modifier::Relu),
            positive_zero: has(Modifier::Pzo),
            scaling: match (has(Modifier::ScaledN1), has(Modifier::ScaledN2)) {
                (true, _) => Scaling::DivideFlushed,
                (false, true) if dst == Type::Bf16x2 => Scaling::Multiply,
                (false, true) => Scaling::Divide,
                (false, false) => Scaling::None,
            },
        };
        Semantics::Cvt(Cvt {
            element,
            lanes: dst.lanes(),
            packed_source: src.lanes() > 1,
            shared_scale: has(Modifier::ScaledN1),
        })
    }
}

impl fmt::Display for CvtForm {
    /// The canonical spelling: opcode, modifiers in their order, types.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.opcode().name())?;
        self.modifiers().iter().try_for_each(|modifier| write!(f, "{modifier}"))?;
        self.types().iter().try_for_each(|ty| write!(f, ".{ty}"))
    }
}

impl fmt::Debug for CvtForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
