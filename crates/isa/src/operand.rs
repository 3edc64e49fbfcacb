//! Which registers and constants a value operand takes.
//!
//! PTX ISA sections 5.2.1 (compatible types), 5.2.5 (what holds packed types) and 9.4.1 (operands wider
//! than the instruction's type). Where the assembler is freer, as with `.f16x2` registers, so is this.

use crate::{Class, Type};

/// What is done with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is a source.
    Read,
    /// It is a destination.
    Write,
    /// It is both (`wgmma`'s accumulator).
    ReadWrite,
}

/// How exactly a register's type must be the wanted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The rule of section 5.2.1, for operands of the instruction's own type: bits go with anything of
    /// the size, integers with integers of either sign. The assembler counts an `.f16x2` register as an
    /// integer of 32 bits here, and lets it hold a predicate.
    Typed,
    /// As [`Fit::Typed`], but `.f16x2` is no integer: for operands of a type that the manual fixes.
    Fixed,
    /// As [`Fit::Typed`], and wider registers too (section 9.4.1): `ld`, `st`, `suld`, `sust`.
    Wider,
    /// The very type.
    Exact,
    /// Integers and bits of 32 or 64 bits: an address in a register.
    AddressSized,
    /// Any register of the size; a predicate counts as 32 bits.
    Sized,
}

/// The kinds of number that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// An integer.
    Integer,
    /// `0f3f800000`
    F32,
    /// `0d…` or decimal.
    F64,
}

/// What may stand for a value besides a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forms {
    /// A register: false only where nothing but a constant may stand.
    pub register: bool,
    /// A constant or constant expression.
    pub immediate: bool,
    /// The name of a variable, for its address, or of a function (`mov`, `cvta`).
    pub address: bool,
    /// A special register.
    pub special: bool,
    /// `!p`: only predicates.
    pub negated: bool,
    /// `_`
    pub sink: bool,
    /// `-a`: operands of `vmad`.
    pub minus: bool,
    /// `a.b0`: a part of a register, in video instructions.
    pub selector: Selector,
}

/// Which parts of a 32-bit register an operand of a video instruction can name (PTX ISA section 9.7.18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    /// No part: the operand is the whole register.
    No,
    /// `.b0` to `.b3`, `.h0`, `.h1`: one byte or half of a scalar operand.
    Scalar,
    /// `.h10`: two halves of the two sources, each by its number from 0 to 3.
    Halves,
    /// `.b3210`: four bytes of the two sources, each by its number from 0 to 7.
    Bytes,
    /// `.h0`, `.h1`, `.h10`: the halves of a destination that are written.
    HalvesWritten,
    /// `.b0` to `.b3210`: the bytes of a destination that are written, highest first.
    BytesWritten,
}

impl Selector {
    /// Whether a word after the register's dot is such a selector.
    pub fn accepts(self, word: &str) -> bool {
        let parts = |letter: char, least: usize, most: usize, below: u8, falling: bool| {
            word.strip_prefix(letter).is_some_and(|digits| {
                let digits = digits.as_bytes();
                (least..=most).contains(&digits.len())
                    && digits.iter().all(|digit| (b'0'..b'0' + below).contains(digit))
                    && (!falling || digits.windows(2).all(|pair| pair[0] > pair[1]))
            })
        };
        match self {
            Selector::No => false,
            Selector::Scalar => parts('b', 1, 1, 4, false) || parts('h', 1, 1, 2, false),
            Selector::Halves => parts('h', 2, 2, 4, false),
            Selector::Bytes => parts('b', 4, 4, 8, false),
            Selector::HalvesWritten => parts('h', 1, 2, 2, true),
            Selector::BytesWritten => parts('b', 1, 4, 4, true),
        }
    }
}

/// A value operand: its type, and what may stand for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The type wanted.
    pub ty: Type,
    /// How exactly a register must have it.
    pub fit: Fit,
    /// Which kinds of operands may stand.
    pub forms: Forms,
}

impl Value {
    /// Whether the assembler takes a register declared with this type.
    pub fn accepts(&self, register: Type) -> bool {
        self.forms.register && fits(self.ty, self.fit, register)
    }

    /// Whether the assembler takes such a constant. A float's bits may stand for untyped ones of its size.
    pub fn accepts_literal(&self, literal: LiteralKind) -> bool {
        let integers = matches!(self.ty.class(), Class::Signed | Class::Unsigned | Class::Bits | Class::Pred);
        self.forms.immediate
            && match literal {
                LiteralKind::Integer => integers,
                LiteralKind::F32 => matches!(self.ty, Type::F32 | Type::F64 | Type::B32),
                LiteralKind::F64 => matches!(self.ty, Type::F32 | Type::F64 | Type::B64),
            }
    }

    /// The register type one would declare: its own where a variable can have it, else the bit type that
    /// holds it.
    pub fn register(&self) -> Type {
        if self.ty.is_fundamental() { self.ty } else { self.ty.register_type() }
    }
}

fn fits(ty: Type, fit: Fit, register: Type) -> bool {
    if !register.is_fundamental() {
        return false;
    }
    match fit {
        Fit::Exact => return register == ty.register_type() || register == ty,
        Fit::AddressSized => {
            let integer = register.is_int() || register.class() == Class::Bits;
            return integer && matches!(register.bits(), 32 | 64);
        }
        Fit::Sized => {
            let bits = if register == Type::Pred { 32 } else { register.bits() };
            return bits == ty.bits();
        }
        Fit::Typed | Fit::Fixed | Fit::Wider => {}
    }
    if !ty.is_fundamental() {
        let integers = matches!(ty.class(), Class::Signed | Class::Unsigned);
        return register == ty.register_type() || (integers && register == Type::F16x2 && ty.bits() == 32);
    }
    let size = match fit {
        Fit::Wider => register.bits() >= ty.bits() && register != Type::Pred,
        _ => register.bits() == ty.bits() || (ty == Type::Pred && register == Type::F16x2),
    };
    size && same_kind(ty, register, fit != Fit::Fixed)
}

/// Whether the two hold the same kind of thing, size aside.
fn same_kind(ty: Type, register: Type, f16x2_is_integer: bool) -> bool {
    match ty.class() {
        Class::Bits => register != Type::Pred,
        _ if register == ty || register.class() == Class::Bits => ty != Type::Pred || register == ty,
        Class::Signed | Class::Unsigned => register.is_int() || (register == Type::F16x2 && f16x2_is_integer),
        Class::Pred => register == Type::F16x2 && f16x2_is_integer,
        Class::Float | Class::Fixed => false,
    }
}
