//! Vector operands (PTX ISA sections 6.4.3 and 6.5): `{a, b}`, or a register declared with `.v2`.
//!
//! The assembler gives a vector in braces one element type. Neighbours must go together: the same type but
//! for signs, or bits of the size on one side. If any element is untyped, so is the vector.

use super::Walk;
use super::accepts::Accepts;
use super::forms::{Special, Want};
use super::meaning::{self, Meaning};
use super::mismatch::{Fits, Forbidden, Mismatch, Reason, Sort, mismatch};
use super::operand::{constant_of, kind_of, packs, reads};
use super::remark::Remark;
use crate::checked::VarId;
use softwarp_isa::instruction::LiteralKind;
use softwarp_isa::{Class, Type};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{Operand, OperandKind};

/// One element of a vector in braces.
#[derive(Clone, Copy)]
enum Element {
    /// A register, or an element of a vector register; a special register has no declaration.
    Register(Type, Option<VarId>),
    Constant(LiteralKind),
    Sink,
}

impl Walk<'_, '_> {
    /// A vector of as many elements as the form wants.
    pub(super) fn vector(
        &mut self,
        want: &Want,
        counts: &[u8],
        accepts: Accepts,
        bare: bool,
        operand: &Operand,
    ) -> Fits {
        let at = operand.span;
        let sized = |found: usize| {
            let fits = counts.iter().any(|&count| usize::from(count) == found);
            if fits { Ok(()) } else { mismatch(at, Reason::Size { found }) }
        };
        match operand.kind {
            OperandKind::Vector(parts) => {
                let parts = parts.of(&self.context.module.operands);
                sized(parts.len())?;
                self.braced(want, accepts, parts, at)
            }
            OperandKind::Name(symbol) => match self.meaning(symbol) {
                Meaning::Register { id, ty, lanes } if lanes > 1 => {
                    sized(usize::from(lanes))?;
                    if accepts.register(ty) { Ok(()) } else { mismatch(at, Reason::Type { id, ty }) }
                }
                Meaning::Special(_) if !accepts.has(Accepts::SPECIAL) => {
                    mismatch(at, Reason::Forbidden(Forbidden::Special))
                }
                Meaning::Special(register) if register.components > 1 && !want.writes => {
                    // The fourth element of %tid and the like is zero.
                    sized(4)?;
                    if reads(accepts, register) {
                        Ok(())
                    } else {
                        mismatch(at, Reason::SpecialType { ty: register.ty })
                    }
                }
                _ if bare => self.bare(want, counts, accepts, operand),
                Meaning::Unknown => mismatch(at, Reason::Undeclared(symbol)),
                _ => mismatch(at, Reason::Size { found: 1 }),
            },
            OperandKind::Error => Ok(()),
            OperandKind::Sink => mismatch(at, Reason::Forbidden(Forbidden::Sink)),
            _ if bare => self.bare(want, counts, accepts, operand),
            _ => mismatch(at, Reason::Size { found: 1 }),
        }
    }

    /// One value without braces.
    fn bare(&mut self, want: &Want, counts: &[u8], accepts: Accepts, operand: &Operand) -> Fits {
        if !counts.contains(&1) {
            self.notice(operand.span, Remark::OtherShape);
        }
        self.value(Special::No, want, accepts, operand)
    }

    /// The elements of a vector in braces.
    pub(super) fn braced(&mut self, want: &Want, accepts: Accepts, parts: &[Operand], at: Span) -> Fits {
        match self.element_type(want, parts)? {
            Element::Register(ty, _) if accepts.register(ty) => {}
            Element::Register(ty, Some(id)) => return mismatch(at, Reason::Type { id, ty }),
            Element::Register(ty, None) => return mismatch(at, Reason::SpecialType { ty }),
            Element::Constant(kind) => constant_of(want, accepts, kind, at)?,
            Element::Sink => return mismatch(at, Reason::Forbidden(Forbidden::Sink)),
        }
        if ![Accepts::NO_SPECIAL, Accepts::EACH, Accepts::PLAIN, Accepts::NO_PREDICATE, Accepts::NO_SINK]
            .into_iter()
            .any(|form| accepts.has(form))
        {
            return Ok(());
        }
        for part in parts {
            let each = accepts.has(Accepts::EACH);
            if accepts.has(Accepts::PLAIN) && matches!(part.kind, OperandKind::Member(..)) {
                return mismatch(part.span, Reason::Forbidden(Forbidden::Special));
            }
            match self.element(part)? {
                Element::Register(ty @ Type::Pred, Some(id)) if accepts.has(Accepts::NO_PREDICATE) => {
                    return mismatch(part.span, Reason::Type { id, ty });
                }
                Element::Sink if accepts.has(Accepts::NO_SINK) && part.kind == OperandKind::Sink => {
                    return mismatch(part.span, Reason::Forbidden(Forbidden::Sink));
                }
                Element::Register(_, None) if accepts.has(Accepts::NO_SPECIAL) => {
                    return mismatch(part.span, Reason::Forbidden(Forbidden::Special));
                }
                Element::Register(ty, Some(id)) if each && !accepts.register(ty) => {
                    return mismatch(part.span, Reason::Type { id, ty });
                }
                Element::Constant(_) if each => return mismatch(part.span, Reason::Sort(Sort::Constant)),
                _ => {}
            }
        }
        Ok(())
    }

    /// `{a, b}` packed into a value of bits, or unpacked from it.
    pub(super) fn packed(&mut self, want: &Want, accepts: Accepts, parts: &[Operand], at: Span) -> Fits {
        match self.element_type(want, parts)? {
            Element::Register(ty, _) => packs(accepts, ty, parts.len(), at),
            Element::Constant(_) if !want.writes => Ok(()),
            Element::Constant(_) => mismatch(at, Reason::Sort(Sort::Constant)),
            Element::Sink => mismatch(at, Reason::Forbidden(Forbidden::Sink)),
        }
    }

    /// The type that all of a vector's elements have together.
    fn element_type(&mut self, want: &Want, parts: &[Operand]) -> Result<Element, Mismatch> {
        let mut whole = Element::Sink;
        let mut previous = Element::Sink;
        for part in parts {
            let element = self.element(part)?;
            if matches!(element, Element::Sink) {
                if !want.writes {
                    return Err(Mismatch { at: part.span, why: Reason::Forbidden(Forbidden::Sink) });
                }
                continue;
            }
            if want.writes && matches!(element, Element::Constant(_)) {
                return Err(Mismatch { at: part.span, why: Reason::Sort(Sort::Constant) });
            }
            go_together(previous, element)
                .map_err(|(first, other)| Mismatch { at: part.span, why: Reason::Mixed { first, other } })?;
            whole = match (whole, element) {
                (Element::Sink | Element::Constant(_), element) => element,
                (Element::Register(..), Element::Register(ty, _)) if ty.class() == Class::Bits => element,
                _ => whole,
            };
            previous = element;
        }
        Ok(whole)
    }

    fn element(&mut self, part: &Operand) -> Result<Element, Mismatch> {
        let wrong = |why| Err(Mismatch { at: part.span, why });
        match part.kind {
            OperandKind::Sink => Ok(Element::Sink),
            OperandKind::Literal(literal) => Ok(Element::Constant(kind_of(literal))),
            OperandKind::Expr(id) => Ok(Element::Constant(self.kind_of_expression(id))),
            OperandKind::Name(symbol) => match self.meaning(symbol) {
                Meaning::Register { id, ty, lanes: 1 } => Ok(Element::Register(ty, Some(id))),
                Meaning::Special(register) if register.components == 1 => {
                    Ok(Element::Register(untyped(register.ty), None))
                }
                Meaning::WarpSize => Ok(Element::Constant(LiteralKind::Integer)),
                Meaning::Unknown => wrong(Reason::Undeclared(symbol)),
                Meaning::Register { .. } | Meaning::Special(_) => wrong(Reason::Sort(Sort::Vector)),
                Meaning::Variable(_) => wrong(Reason::Sort(Sort::Variable)),
                Meaning::Function(_) => wrong(Reason::Sort(Sort::Function)),
                Meaning::Label(_) => wrong(Reason::Sort(Sort::Label)),
            },
            OperandKind::Member(base, member) => {
                let element = meaning::element(self.context.text(member));
                let (ty, id, lanes) = match self.meaning(base) {
                    Meaning::Register { id, ty, lanes } => (ty, Some(id), lanes),
                    Meaning::Special(register) => (untyped(register.ty), None, register.components),
                    Meaning::Unknown => return wrong(Reason::Undeclared(base)),
                    _ => return wrong(Reason::Sort(Sort::Variable)),
                };
                match element {
                    Some(element) if lanes > 1 && element < lanes => Ok(Element::Register(ty, id)),
                    // The assembler passes over the parts of registers that video instructions have.
                    _ if lanes == 1 && id.is_some() && is_part(self.context.text(member)) => {
                        Ok(Element::Register(ty, id))
                    }
                    _ => wrong(Reason::Member { lanes }),
                }
            }
            OperandKind::Error => Ok(Element::Sink),
            OperandKind::Not(_) | OperandKind::Negated(_) => wrong(Reason::Forbidden(Forbidden::Negated)),
            OperandKind::Vector(_) => wrong(Reason::Sort(Sort::Vector)),
            OperandKind::Address(_) | OperandKind::Unified(_) => wrong(Reason::Sort(Sort::Address)),
            OperandKind::Pair(_) => wrong(Reason::Sort(Sort::Pair)),
            OperandKind::Paren(_) => wrong(Reason::Sort(Sort::List)),
            OperandKind::Offset(..) | OperandKind::Index(_) => wrong(Reason::Sort(Sort::Variable)),
        }
    }
}

/// Whether this names bytes or halves of a register, as operands of video instructions do: `b0`, `h10`, `b3210`.
fn is_part(text: &str) -> bool {
    let digits = |letter: char, most: usize| {
        text.strip_prefix(letter).is_some_and(|digits| {
            (1..=most).contains(&digits.len()) && digits.bytes().all(|digit| (b'0'..b'4').contains(&digit))
        })
    };
    digits('b', 4) || digits('h', 2)
}

/// What a special register is among a vector's elements: bits of its size.
fn untyped(ty: Type) -> Type {
    match ty.bits() {
        64 => Type::B64,
        32 => Type::B32,
        _ => ty,
    }
}

/// Whether two neighbours in a vector may have these types; if not, the types.
fn go_together(one: Element, other: Element) -> Result<(), (Type, Type)> {
    let untyped = |ty: Type| ty.class() == Class::Bits;
    let float = |kind: LiteralKind| kind != LiteralKind::Integer;
    let fits = match (one, other) {
        (Element::Sink, _) | (_, Element::Sink) => true,
        (Element::Constant(one), Element::Constant(other)) => float(one) == float(other),
        (Element::Register(ty, _), Element::Constant(kind))
        | (Element::Constant(kind), Element::Register(ty, _)) => {
            untyped(ty) || (ty.class() == Class::Float) == float(kind)
        }
        (Element::Register(one, _), Element::Register(other, _)) => {
            let alike = one == other || (one.is_int() && other.is_int());
            // The assembler counts predicates as 32 bits here.
            let bits = |ty: Type| if ty == Type::Pred { 32 } else { ty.bits() };
            bits(one) == bits(other) && (alike || untyped(one) || untyped(other))
        }
    };
    let ty = |element| match element {
        Element::Register(ty, _) => ty,
        Element::Constant(kind) if float(kind) => Type::F64,
        Element::Constant(_) | Element::Sink => Type::S64,
    };
    if fits { Ok(()) } else { Err((ty(one), ty(other))) }
}
