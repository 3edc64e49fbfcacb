//! Whether an operand is what a form wants (PTX ISA sections 6.1 to 6.5).
//!
//! On the clean path this looks names up and tests bits, nothing else; what is wrong is a [`Misfit`], which
//! [`super::explain`] puts into words.

use super::Walk;
use super::meaning::{self, Meaning};
use super::plan::{Accepts, Plans, Spaces, Special, Want, What};
use super::ranges::Bounds;
use super::rule::Width;
use crate::checked::VarId;
use crate::constant::{self, WARP_SIZE};
use softwarp_isa::instruction::LiteralKind;
use softwarp_isa::special::SpecialRegister;
use softwarp_isa::{Class, Opaque, Type, Version};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{Expr, ExprId, Literal, Operand, OperandKind, Symbol, UnaryOp};

/// What is wrong with an operand, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misfit {
    pub at: Span,
    pub why: Why,
}

/// What is wrong with an operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
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

pub(super) type Fits = Result<(), Misfit>;

pub(super) fn misfit(at: Span, why: Why) -> Fits {
    Err(Misfit { at, why })
}

impl Walk<'_, '_> {
    /// Whether an operand is what is wanted.
    pub(super) fn fits(&mut self, plans: &Plans, special: Special, want: &Want, operand: &Operand) -> Fits {
        match want.what {
            What::Value(accepts) => {
                self.value(special, want, accepts, operand)?;
                self.within(want.bounds, operand)
            }
            What::Address(spaces, rule) => self.address(special, (spaces, rule), operand),
            What::Vector { counts, element, bare } => {
                self.vector(want, plans.counts(counts), element, bare, operand)?;
                self.elements_within(want, operand)?;
                self.within(want.bounds, operand)
            }
            What::Pair { parts, second_optional, since } => {
                if let (OperandKind::Pair(_), Some((version, sm))) = (operand.kind, since)
                    && (self.context.version() < version || self.context.target().sm() < sm)
                {
                    return misfit(operand.span, Why::PredicateUnavailable { version, sm });
                }
                self.pair(plans, special, parts, second_optional, operand)
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
                _ => misfit(operand.span, Why::OnlySink),
            },
            What::Any => self.names_exist(operand),
        }
    }

    fn pair(
        &mut self,
        plans: &Plans,
        special: Special,
        parts: u32,
        optional: bool,
        operand: &Operand,
    ) -> Fits {
        let (first, second) = (plans.part(parts), plans.part(parts + 1));
        match operand.kind {
            OperandKind::Pair(both) => {
                let [one, other] = both.of(&self.context.module.operands) else {
                    return misfit(operand.span, Why::Sort(Sort::Pair));
                };
                self.fits(plans, special, &first, one)?;
                self.fits(plans, special, &second, other)
            }
            _ if optional => self.fits(plans, special, &first, operand),
            _ => misfit(operand.span, Why::Sort(Sort::Register)),
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
                    return misfit(at, Why::InvertedFloat);
                }
                constant_of(want, accepts, kind, at)
            }
            OperandKind::Sink if accepts.has(Accepts::SINK) => Ok(()),
            OperandKind::Sink => misfit(at, Why::Sink),
            OperandKind::Not(inner) => {
                let [inner] = inner.of(&self.context.module.operands) else { return Ok(()) };
                if !accepts.has(Accepts::NEGATED) || !is_simple(inner) {
                    return misfit(at, Why::Negated);
                }
                self.value(special, want, accepts, inner)
            }
            OperandKind::Negated(inner) => match inner.of(&self.context.module.operands) {
                [inner] if accepts.has(Accepts::MINUS) && is_register(inner) => {
                    self.value(special, want, accepts, inner)
                }
                _ => misfit(at, Why::Negated),
            },
            OperandKind::Vector(parts) => match parts.of(&self.context.module.operands) {
                [one] if accepts.has(Accepts::BRACED) && !want.writes && self.is_special(one) => Ok(()),
                [one] if accepts.has(Accepts::BRACED) && is_simple(one) => {
                    self.value(special, want, accepts, one)
                }
                parts if accepts.has(Accepts::PACKED) => self.packed(want, accepts, parts, at),
                _ => misfit(at, Why::Sort(Sort::Vector)),
            },
            OperandKind::Offset(base, offset) => {
                let [base] = base.of(&self.context.module.operands) else { return Ok(()) };
                self.offset_value(special, want, accepts, (base, offset), at)
            }
            OperandKind::Index(parts) => self.indexed(special, want, accepts, parts, at),
            OperandKind::Address(_) | OperandKind::Unified(_) => misfit(at, Why::Sort(Sort::Address)),
            OperandKind::Pair(_) => misfit(at, Why::Sort(Sort::Pair)),
            OperandKind::Paren(_) => misfit(at, Why::Sort(Sort::List)),
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
            Meaning::Register { id, ty, lanes: 1 } => misfit(at, Why::Type { id, ty }),
            Meaning::Register { ty, lanes, .. } if accepts.has(Accepts::PACKED) => {
                packs(accepts, ty, usize::from(lanes), at)
            }
            Meaning::Register { .. } => misfit(at, Why::Sort(Sort::Vector)),
            Meaning::Variable(id) if accepts.has(Accepts::ADDRESS) && !want.writes => {
                self.address_of(special, accepts, id, at)
            }
            Meaning::Variable(_) => misfit(at, Why::Sort(Sort::Variable)),
            Meaning::Function(_) if want.writes || !accepts.has(Accepts::FUNCTION) => {
                misfit(at, Why::Sort(Sort::Function))
            }
            Meaning::Function(_) => Ok(()),
            Meaning::Label(_) => misfit(at, Why::Sort(Sort::Label)),
            Meaning::Special(register) if register.components == 1 => {
                self.special_value(want, accepts, register, at)
            }
            Meaning::Special(_) => misfit(at, Why::Sort(Sort::Vector)),
            Meaning::WarpSize => constant_of(want, accepts, LiteralKind::Integer, at),
            Meaning::Unknown => misfit(at, Why::Undeclared(symbol)),
        }
    }

    /// `v.x`, `%tid.x`
    fn member(&mut self, want: &Want, accepts: Accepts, (base, member): (Symbol, Symbol), at: Span) -> Fits {
        let text = self.context.text(member);
        let element = meaning::element(text);
        let selected = accepts.selector.accepts(text);
        match self.meaning(base) {
            Meaning::Register { ty, lanes: 1, .. } if selected && accepts.register(ty) => Ok(()),
            Meaning::Register { id, ty, lanes: 1 } if selected => misfit(at, Why::Type { id, ty }),
            Meaning::Register { id, ty, lanes } => {
                match element {
                    Some(element) if element < lanes && lanes > 1 && !accepts.video => {
                        if accepts.register(ty) { Ok(()) } else { misfit(at, Why::Type { id, ty }) }
                    }
                    _ => misfit(at, Why::Member { lanes }),
                }
            }
            Meaning::Special(register) => match element {
                Some(element) if element < register.components && register.components > 1 => {
                    self.special_value(want, accepts, register, at)
                }
                _ => misfit(at, Why::Member { lanes: register.components }),
            },
            Meaning::Unknown => misfit(at, Why::Undeclared(base)),
            _ => misfit(at, Why::Sort(Sort::Variable)),
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
            return misfit(at, Why::ReadOnly);
        }
        if !accepts.has(Accepts::SPECIAL) {
            return misfit(at, Why::Special);
        }
        let (version, target) = (self.context.version(), self.context.target());
        if !register.availability.iter().any(|one| one.targets.contain(target) && version >= one.since) {
            return misfit(at, Why::SpecialUnavailable(register));
        }
        if reads(accepts, register) { Ok(()) } else { misfit(at, Why::SpecialType { ty: register.ty }) }
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
            return misfit(self.context.module.expression(offset).span, Why::FloatOffset);
        }
        if want.writes || accepts.has(Accepts::NO_OFFSET) {
            return misfit(at, Why::Sort(Sort::Constant));
        }
        let OperandKind::Name(symbol) = base.kind else {
            return if is_simple(base) {
                self.value(special, want, accepts, base)
            } else {
                misfit(at, Why::Sort(Sort::Constant))
            };
        };
        let integers = matches!(accepts.ty.class(), Class::Signed | Class::Unsigned | Class::Bits);
        match self.meaning(symbol) {
            Meaning::Function(_) => misfit(at, Why::FunctionOffset),
            Meaning::Register { .. } if accepts.has(Accepts::FIXED) => {
                self.value(special, want, accepts, base)
            }
            Meaning::Register { ty, lanes: 1, .. } if of_one_kind(accepts.ty, ty) => Ok(()),
            Meaning::Special(register)
                if register.components == 1 && (integers || special == Special::Mov) =>
            {
                Ok(())
            }
            Meaning::Special(_) if accepts.has(Accepts::PACKED) => Ok(()),
            Meaning::Variable(_) if accepts.has(Accepts::NO_VARIABLE) => {
                misfit(at, Why::Sort(Sort::Variable))
            }
            Meaning::Variable(id) if integers => {
                let opaque = self.context.checked.variable(id).opaque().is_some();
                let addressed = special == Special::Address || (special == Special::Mov && !opaque);
                if addressed && accepts.has(Accepts::ADDRESS) {
                    self.address_of(special, accepts, id, at)
                } else if opaque && accepts.has(Accepts::FIXED) {
                    misfit(at, Why::Sort(Sort::Variable))
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
            OperandKind::Literal(literal) => return misfit(at, Why::Constant(kind_of(literal))),
            OperandKind::Expr(id) => match self.kind_of_expression(id) {
                LiteralKind::Integer => {
                    match constant::evaluate(self.context, id).and_then(constant::Value::int) {
                        Some(value) => value as i64,
                        None => return Ok(()),
                    }
                }
                kind => return misfit(at, Why::Constant(kind)),
            },
            OperandKind::Error => return Ok(()),
            OperandKind::Name(symbol) => match self.meaning(symbol) {
                Meaning::WarpSize => WARP_SIZE as i64,
                Meaning::Unknown => return misfit(at, Why::Undeclared(symbol)),
                _ => return misfit(at, Why::Sort(Sort::Register)),
            },
            _ => return misfit(at, Why::Sort(Sort::Register)),
        };
        match range {
            Some((least, most)) if value < least || value > most => {
                misfit(at, Why::Range { value, least, most })
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
            Some(value) => misfit(operand.span, Why::Bounds { value, bounds }),
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
        let mut rest = vec![id];
        while let Some(id) = rest.pop() {
            match self.context.module.expression(id).is {
                Expr::Literal(Literal::Int { .. }) => {}
                Expr::Literal(literal) => kind = kind_of(literal),
                Expr::Unary(_, inner) | Expr::Paren(inner) => rest.push(inner),
                Expr::Binary(op, left, right) if gives_number(op) => rest.extend([left, right]),
                Expr::Conditional(_, then, otherwise) => rest.extend([then, otherwise]),
                _ => {}
            }
        }
        kind
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
                return misfit(operand.span, Why::Undeclared(symbol));
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

pub(super) fn kind_of(literal: Literal) -> LiteralKind {
    match literal {
        Literal::Int { .. } => LiteralKind::Integer,
        Literal::F32(_) => LiteralKind::F32,
        Literal::F64(_) => LiteralKind::F64,
    }
}

pub(super) fn constant_of(want: &Want, accepts: Accepts, kind: LiteralKind, at: Span) -> Fits {
    let form = match kind {
        LiteralKind::Integer => Accepts::INTEGER,
        LiteralKind::F32 => Accepts::F32,
        LiteralKind::F64 => Accepts::F64,
    };
    if accepts.has(form) {
        Ok(())
    } else if want.writes || !accepts.constants() {
        misfit(at, Why::Sort(Sort::Constant))
    } else {
        misfit(at, Why::Constant(kind))
    }
}

/// Whether that many elements of this type make up a value (section 9.7.10.1: `mov` packs and unpacks).
pub(super) fn packs(accepts: Accepts, element: Type, lanes: usize, at: Span) -> Fits {
    let bits = element.bits().saturating_mul(lanes as u32);
    if element != Type::Pred && bits == accepts.ty.bits() && matches!(lanes, 1 | 2 | 4) {
        Ok(())
    } else {
        misfit(at, Why::Packed { bits })
    }
}
