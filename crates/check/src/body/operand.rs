//! Whether an operand is what a form wants (PTX ISA sections 6.1 to 6.5).
//!
//! On the clean path this looks names up and tests bits, nothing else; what is wrong is a [`Mismatch`], which
//! [`super::explain`] puts into words.

use super::Walk;
use super::accepts::Accepts;
use super::forms::{FormTable, Special, Want, What};
use super::meaning::{self, Meaning};
use super::mismatch::{Fits, Forbidden, Reason, Sort, mismatch};
use super::ranges::Bounds;
use crate::constant::{self, WARP_SIZE};
use softwarp_isa::instruction::LiteralKind;
use softwarp_isa::special::SpecialRegister;
use softwarp_isa::{Class, Opaque, Type};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{Expr, ExprId, Literal, Operand, OperandKind, Symbol, UnaryOp};

impl Walk<'_, '_> {
    /// Whether an operand is what is wanted.
    pub(super) fn fits(
        &mut self,
        forms: &FormTable,
        special: Special,
        want: &Want,
        operand: &Operand,
    ) -> Fits {
        match want.what {
            What::Value(accepts) => {
                self.value(special, want, accepts, operand)?;
                self.within(want.bounds, operand)
            }
            What::Address(spaces, rule) => self.address(special, (spaces, rule), operand),
            What::Vector { counts, element, bare } => {
                self.vector(want, forms.counts(counts), element, bare, operand)?;
                self.elements_within(want, operand)?;
                self.within(want.bounds, operand)
            }
            What::Pair { parts, second_optional, since } => {
                if let (OperandKind::Pair(_), Some((version, sm))) = (operand.kind, since)
                    && (self.context.version() < version || self.context.target().sm() < sm)
                {
                    return mismatch(operand.span, Reason::PredicateUnavailable { version, sm });
                }
                self.pair(forms, special, parts, second_optional, operand)
            }
            What::Handle { of, coordinates, array, cube, of_sampler } => {
                let of = if of_sampler && self.context.checked.header.independent_textures {
                    Opaque::Samplerref
                } else {
                    of
                };
                self.handle(of, coordinates, (array, cube), operand)
            }
            What::Tensor { dimensions, overrides } => self.tensor(dimensions, overrides, operand),
            What::Fabric { endpoint, offset, counter } => self.fabric(endpoint, offset, counter, operand),
            What::Immediate(range) => {
                self.immediate(range, operand)?;
                self.within(want.bounds, operand)
            }
            What::Label => self.label_operand(special, operand),
            What::Sink => match operand.kind {
                OperandKind::Sink | OperandKind::Error => Ok(()),
                _ => mismatch(operand.span, Reason::Forbidden(Forbidden::OnlySink)),
            },
            What::Any => self.names_exist(operand),
        }
    }

    fn pair(
        &mut self,
        forms: &FormTable,
        special: Special,
        parts: u32,
        optional: bool,
        operand: &Operand,
    ) -> Fits {
        let (first, second) = (forms.part(parts), forms.part(parts + 1));
        match operand.kind {
            OperandKind::Pair(both) => {
                let [one, other] = both.of(&self.context.module.operands) else {
                    return mismatch(operand.span, Reason::Sort(Sort::Pair));
                };
                // The assembler cannot read `_|_`.
                if matches!((one.kind, other.kind), (OperandKind::Sink, OperandKind::Sink)) {
                    return mismatch(other.span, Reason::Forbidden(Forbidden::Sink));
                }
                self.fits(forms, special, &first, one)?;
                self.fits(forms, special, &second, other)
            }
            _ if optional => self.fits(forms, special, &first, operand),
            _ => mismatch(operand.span, Reason::Sort(Sort::Register)),
        }
    }

    /// A single value: a register, or what else the form lets stand for one.
    pub(super) fn value(
        &mut self,
        special: Special,
        want: &Want,
        accepts: Accepts,
        operand: &Operand,
    ) -> Fits {
        let at = operand.span;
        match operand.kind {
            OperandKind::Name(symbol) => self.named_value(special, want, accepts, symbol, at),
            OperandKind::Literal(literal) => constant_of(want, accepts, kind_of(literal), at),
            OperandKind::Member(base, member) => self.member(want, accepts, (base, member), at),
            OperandKind::Expr(id) => {
                let kind = self.kind_of_expression(id);
                if kind != LiteralKind::Integer && self.inverts(id) {
                    return mismatch(at, Reason::Forbidden(Forbidden::InvertedFloat));
                }
                constant_of(want, accepts, kind, at)
            }
            OperandKind::Sink if accepts.has(Accepts::SINK) => Ok(()),
            OperandKind::Sink => mismatch(at, Reason::Forbidden(Forbidden::Sink)),
            OperandKind::Not(inner) => {
                let [inner] = inner.of(&self.context.module.operands) else { return Ok(()) };
                if !accepts.has(Accepts::NEGATED) || !is_simple(inner) {
                    return mismatch(at, Reason::Forbidden(Forbidden::Negated));
                }
                self.value(special, want, accepts, inner)
            }
            OperandKind::Negated(inner) => match inner.of(&self.context.module.operands) {
                [inner] if accepts.has(Accepts::MINUS) && is_register(inner) => {
                    self.value(special, want, accepts, inner)
                }
                _ => mismatch(at, Reason::Forbidden(Forbidden::Negated)),
            },
            OperandKind::Vector(parts) => match parts.of(&self.context.module.operands) {
                [one] if accepts.has(Accepts::BRACED) && !want.writes && self.is_special(one) => Ok(()),
                [one] if accepts.has(Accepts::BRACED) && is_simple(one) => {
                    self.value(special, want, accepts, one)
                }
                parts if accepts.has(Accepts::PACKED) => self.packed(want, accepts, parts, at),
                _ => mismatch(at, Reason::Sort(Sort::Vector)),
            },
            OperandKind::Offset(base, offset) => {
                let [base] = base.of(&self.context.module.operands) else { return Ok(()) };
                self.offset_value(special, want, accepts, (base, offset), at)
            }
            OperandKind::Index(parts) => self.indexed(special, want, accepts, parts, at),
            OperandKind::Address(_) | OperandKind::Unified(_) => mismatch(at, Reason::Sort(Sort::Address)),
            OperandKind::Pair(_) => mismatch(at, Reason::Sort(Sort::Pair)),
            OperandKind::Paren(_) => mismatch(at, Reason::Sort(Sort::List)),
            OperandKind::Error => Ok(()),
        }
    }

    fn named_value(
        &mut self,
        special: Special,
        want: &Want,
        accepts: Accepts,
        symbol: Symbol,
        at: Span,
    ) -> Fits {
        match self.meaning(symbol) {
            Meaning::Register { ty, lanes: 1, .. } if accepts.register(ty) => Ok(()),
            Meaning::Register { id, ty, lanes: 1 } => mismatch(at, Reason::Type { id, ty }),
            Meaning::Register { ty, lanes, .. } if accepts.has(Accepts::PACKED) => {
                packs(accepts, ty, usize::from(lanes), at)
            }
            Meaning::Register { .. } => mismatch(at, Reason::Sort(Sort::Vector)),
            Meaning::Variable(id) if accepts.has(Accepts::ADDRESS) && !want.writes => {
                self.address_of(special, accepts, id, at)
            }
            Meaning::Variable(_) => mismatch(at, Reason::Sort(Sort::Variable)),
            Meaning::Function(_) if want.writes || !accepts.has(Accepts::FUNCTION) => {
                mismatch(at, Reason::Sort(Sort::Function))
            }
            Meaning::Function(_) => Ok(()),
            Meaning::Label(_) => mismatch(at, Reason::Sort(Sort::Label)),
            Meaning::Special(register) if register.components == 1 => {
                self.special_value(want, accepts, register, at)
            }
            Meaning::Special(_) => mismatch(at, Reason::Sort(Sort::Vector)),
            Meaning::WarpSize => constant_of(want, accepts, LiteralKind::Integer, at),
            Meaning::Unknown => mismatch(at, Reason::Undeclared(symbol)),
        }
    }

    /// `v.x`, `%tid.x`
    fn member(&mut self, want: &Want, accepts: Accepts, (base, member): (Symbol, Symbol), at: Span) -> Fits {
        let text = self.context.text(member);
        let element = meaning::element(text);
        let selected = accepts.selector.accepts(text);
        match self.meaning(base) {
            Meaning::Register { ty, lanes: 1, .. } if selected && accepts.register(ty) => Ok(()),
            Meaning::Register { id, ty, lanes: 1 } if selected => mismatch(at, Reason::Type { id, ty }),
            Meaning::Register { id, ty, lanes } => {
                match element {
                    Some(element) if element < lanes && lanes > 1 && !accepts.video => {
                        if accepts.register(ty) { Ok(()) } else { mismatch(at, Reason::Type { id, ty }) }
                    }
                    _ => mismatch(at, Reason::Member { lanes }),
                }
            }
            Meaning::Special(register) => match element {
                Some(element) if element < register.components && register.components > 1 => {
                    self.special_value(want, accepts, register, at)
                }
                _ => mismatch(at, Reason::Member { lanes: register.components }),
            },
            Meaning::Unknown => mismatch(at, Reason::Undeclared(base)),
            _ => mismatch(at, Reason::Sort(Sort::Variable)),
        }
    }

    fn special_value(
        &mut self,
        want: &Want,
        accepts: Accepts,
        register: &'static SpecialRegister,
        at: Span,
    ) -> Fits {
        if want.writes {
            return mismatch(at, Reason::Forbidden(Forbidden::ReadOnly));
        }
        if !accepts.has(Accepts::SPECIAL) {
            return mismatch(at, Reason::Forbidden(Forbidden::Special));
        }
        let (version, target) = (self.context.version(), self.context.target());
        if !register.availability.iter().any(|one| one.targets.contain(target) && version >= one.since) {
            return mismatch(at, Reason::SpecialUnavailable(register));
        }
        if reads(accepts, register) { Ok(()) } else { mismatch(at, Reason::SpecialType { ty: register.ty }) }
    }

    /// `x+4` where a value is wanted. To the assembler it has any size, whatever the size of `x`; only its
    /// kind counts.
    fn offset_value(
        &mut self,
        special: Special,
        want: &Want,
        accepts: Accepts,
        (base, offset): (&Operand, ExprId),
        at: Span,
    ) -> Fits {
        if self.kind_of_expression(offset) != LiteralKind::Integer {
            return mismatch(
                self.context.module.expression(offset).span,
                Reason::Forbidden(Forbidden::FloatOffset),
            );
        }
        if want.writes || accepts.has(Accepts::NO_OFFSET) {
            return mismatch(at, Reason::Sort(Sort::Constant));
        }
        let OperandKind::Name(symbol) = base.kind else {
            return if is_simple(base) {
                self.value(special, want, accepts, base)
            } else {
                mismatch(at, Reason::Sort(Sort::Constant))
            };
        };
        let integers = matches!(accepts.ty.class(), Class::Signed | Class::Unsigned | Class::Bits);
        match self.meaning(symbol) {
            Meaning::Function(_) => mismatch(at, Reason::Forbidden(Forbidden::FunctionOffset)),
            Meaning::Register { .. } if accepts.has(Accepts::FIXED) => {
                self.value(special, want, accepts, base)
            }
            Meaning::Register { ty, lanes: 1, .. } if of_one_kind(accepts.ty, ty) => Ok(()),
            // Where the manual fixes the type, the register has its size.
            Meaning::Special(register)
                if register.components == 1
                    && accepts.ty != Type::Pred
                    && (!accepts.has(Accepts::FIXED) || register.ty.bits() == accepts.ty.bits()) =>
            {
                Ok(())
            }
            Meaning::Special(_) if accepts.has(Accepts::PACKED) => Ok(()),
            Meaning::Variable(_) if accepts.has(Accepts::NO_VARIABLE) => {
                mismatch(at, Reason::Sort(Sort::Variable))
            }
            Meaning::Variable(id) if integers => {
                let opaque = self.context.checked.variable(id).opaque().is_some();
                let addressed = special == Special::Address || (special == Special::Mov && !opaque);
                if addressed && accepts.has(Accepts::ADDRESS) {
                    self.address_of(special, accepts, id, at)
                } else if opaque && accepts.has(Accepts::FIXED) {
                    mismatch(at, Reason::Sort(Sort::Variable))
                } else {
                    Ok(())
                }
            }
            _ => self.value(special, want, accepts, base),
        }
    }

    /// Whether an operand is a special register of one word.
    pub(super) fn is_special(&mut self, operand: &Operand) -> bool {
        let (OperandKind::Name(symbol) | OperandKind::Member(symbol, _)) = operand.kind else { return false };
        let scalar = matches!(operand.kind, OperandKind::Name(_));
        match self.meaning(symbol) {
            Meaning::Special(register) => (register.components == 1) == scalar,
            _ => false,
        }
    }

    /// A constant from a range.
    fn immediate(&mut self, range: Option<(i64, i64)>, operand: &Operand) -> Fits {
        let at = operand.span;
        let value = match operand.kind {
            OperandKind::Literal(Literal::Int { value, .. }) => value as i64,
            OperandKind::Literal(literal) => return mismatch(at, Reason::Constant(kind_of(literal))),
            OperandKind::Expr(id) => match self.kind_of_expression(id) {
                LiteralKind::Integer => {
                    match constant::evaluate(self.context, id).and_then(constant::Value::int) {
                        Some(value) => value as i64,
                        None => return Ok(()),
                    }
                }
                kind => return mismatch(at, Reason::Constant(kind)),
            },
            OperandKind::Error => return Ok(()),
            OperandKind::Name(symbol) => match self.meaning(symbol) {
                Meaning::WarpSize => WARP_SIZE as i64,
                Meaning::Unknown => return mismatch(at, Reason::Undeclared(symbol)),
                _ => return mismatch(at, Reason::Sort(Sort::Register)),
            },
            _ => return mismatch(at, Reason::Sort(Sort::Register)),
        };
        match range {
            Some((least, most)) if value < least || value > most => {
                mismatch(at, Reason::Range { value, least, most })
            }
            _ => Ok(()),
        }
    }

    /// Whether the constants in a vector are within the bounds of its elements.
    fn elements_within(&mut self, want: &Want, operand: &Operand) -> Fits {
        let OperandKind::Vector(parts) = operand.kind else { return Ok(()) };
        let parts = parts.of(&self.context.module.operands);
        for (bounds, part) in want.elements.iter().zip(parts) {
            self.within(Some(bounds), part)?;
        }
        Ok(())
    }

    /// Whether a constant is within the bounds that the operand has, if it has some.
    fn within(&mut self, bounds: Option<&'static Bounds>, operand: &Operand) -> Fits {
        let Some(bounds) = bounds else { return Ok(()) };
        let value = match operand.kind {
            OperandKind::Literal(Literal::Int { value, .. }) => Some(value),
            OperandKind::Expr(id) => constant::evaluate(self.context, id).and_then(constant::Value::int),
            OperandKind::Name(symbol) if matches!(self.meaning(symbol), Meaning::WarpSize) => Some(WARP_SIZE),
            _ => None,
        };
        match value.and_then(|value| bounds.broken_by(value as i64)) {
            Some(value) => mismatch(operand.span, Reason::Bounds { value, bounds }),
            None => Ok(()),
        }
    }

    /// Whether an expression has a `!` or `~`, which are of integers.
    fn inverts(&self, id: ExprId) -> bool {
        let mut rest = vec![id];
        while let Some(id) = rest.pop() {
            match self.context.module.expression(id).is {
                Expr::Unary(UnaryOp::Not | UnaryOp::Complement, _) => return true,
                Expr::Unary(_, inner) | Expr::Paren(inner) => rest.push(inner),
                Expr::Binary(_, left, right) => rest.extend([left, right]),
                Expr::Conditional(_, then, otherwise) => rest.extend([then, otherwise]),
                _ => {}
            }
        }
        false
    }

    /// Whether a constant expression is a float or an integer.
    pub(super) fn kind_of_expression(&self, id: ExprId) -> LiteralKind {
        if let Expr::Literal(literal) = self.context.module.expression(id).is {
            return kind_of(literal);
        }
        let mut kind = LiteralKind::Integer;
        // What is computed from floats has 64 bits.
        let mut computed = false;
        let mut rest = vec![id];
        while let Some(id) = rest.pop() {
            match self.context.module.expression(id).is {
                Expr::Literal(Literal::Int { .. }) => {}
                Expr::Literal(literal) => kind = kind_of(literal),
                Expr::Unary(UnaryOp::Plus, inner) | Expr::Paren(inner) => rest.push(inner),
                Expr::Unary(_, inner) => {
                    computed = true;
                    rest.push(inner);
                }
                Expr::Binary(op, left, right) if gives_number(op) => {
                    computed = true;
                    rest.extend([left, right]);
                }
                Expr::Conditional(_, then, otherwise) => rest.extend([then, otherwise]),
                _ => {}
            }
        }
        if computed && kind == LiteralKind::F32 { LiteralKind::F64 } else { kind }
    }

    /// Whether every name in an operand means something: all that can be asked where no table says more.
    pub(super) fn names_exist(&mut self, operand: &Operand) -> Fits {
        if let OperandKind::Name(symbol) = operand.kind
            && !matches!(self.meaning(symbol), Meaning::Unknown)
        {
            return Ok(());
        }
        let module = self.context.module;
        let mut rest = vec![*operand];
        while let Some(operand) = rest.pop() {
            if let OperandKind::Name(symbol) | OperandKind::Member(symbol, _) = operand.kind
                && matches!(self.meaning(symbol), Meaning::Unknown)
            {
                return mismatch(operand.span, Reason::Undeclared(symbol));
            }
            if let Some(parts) = operand.kind.parts() {
                rest.extend(parts.of(&module.operands));
            }
        }
        Ok(())
    }
}

/// Whether an operand has no parts: those that have are looked into once only.
fn is_simple(operand: &Operand) -> bool {
    matches!(
        operand.kind,
        OperandKind::Name(_) | OperandKind::Member(..) | OperandKind::Literal(_) | OperandKind::Expr(_)
    )
}

/// Whether an operand is a register by its form, or part of one.
fn is_register(operand: &Operand) -> bool {
    matches!(operand.kind, OperandKind::Name(_) | OperandKind::Member(..))
}

/// Whether an operator gives a number of its operands' kind; comparisons give integers.
fn gives_number(op: softwarp_syntax::tree::BinaryOp) -> bool {
    use softwarp_syntax::tree::BinaryOp::{Add, Div, Mul, Sub};
    matches!(op, Add | Div | Mul | Sub)
}

/// Whether a value of one type may stand for another, their sizes aside.
fn of_one_kind(wanted: Type, given: Type) -> bool {
    let untyped = |ty: Type| ty.class() == Class::Bits;
    let integer = |ty: Type| ty.is_int() || ty == Type::F16x2;
    match (wanted, given) {
        (Type::Pred, _) | (_, Type::Pred) => false,
        _ => {
            untyped(wanted)
                || untyped(given)
                || (integer(wanted) && integer(given))
                || (wanted.class() == Class::Float && given.class() == Class::Float && !integer(given))
        }
    }
}

/// Whether a special register can be read as a value of that kind.
pub(super) fn reads(accepts: Accepts, register: &SpecialRegister) -> bool {
    let narrower = [Type::U16, Type::U32].into_iter().any(|ty| accepts.register(ty));
    accepts.register(register.ty) || (register.narrow && narrower)
}

#[inline]
pub(super) fn kind_of(literal: Literal) -> LiteralKind {
    match literal {
        Literal::Int { .. } => LiteralKind::Integer,
        Literal::F32(_) => LiteralKind::F32,
        Literal::F64(_) => LiteralKind::F64,
    }
}

#[inline]
pub(super) fn constant_of(want: &Want, accepts: Accepts, kind: LiteralKind, at: Span) -> Fits {
    let form = match kind {
        LiteralKind::Integer => Accepts::INTEGER,
        LiteralKind::F32 => Accepts::F32,
        LiteralKind::F64 => Accepts::F64,
    };
    if accepts.has(form) {
        Ok(())
    } else if want.writes || !accepts.constants() {
        mismatch(at, Reason::Sort(Sort::Constant))
    } else {
        mismatch(at, Reason::Constant(kind))
    }
}

/// Whether that many elements of this type make up a value (section 9.7.10.1: `mov` packs and unpacks).
pub(super) fn packs(accepts: Accepts, element: Type, lanes: usize, at: Span) -> Fits {
    let bits = element.bits().saturating_mul(lanes as u32);
    if element != Type::Pred && bits == accepts.ty.bits() && matches!(lanes, 1 | 2 | 4) {
        Ok(())
    } else {
        mismatch(at, Reason::Packed { bits })
    }
}
