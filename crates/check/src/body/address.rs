//! Addresses (PTX ISA sections 5.1, 6.4.1 and 6.4.2): `[a]`, `[a+4]`, and the address of a variable as a
//! value.
//!
//! A variable's state space must be the instruction's. Without one, the instruction wants a generic
//! address, and the assembler converts that of a global, shared or local variable. A register as an address
//! can have any integer type; but 32 bits of an address of global or generic memory ask for the 32-bit ABI,
//! which is gone.

use super::Walk;
use super::accepts::{Accepts, Spaces};
use super::forms::{Special, Want};
use super::labels::Marks;
use super::meaning::Meaning;
use super::mismatch::{Fits, Forbidden, Misuse, Reason, Sort, mismatch};
use super::remark::Remark;
use super::rule::{AddressRule, Width};
use crate::checked::{VarId, VariableKind};
use crate::names::Entity;
use softwarp_isa::instruction::{LiteralKind, Space};
use softwarp_isa::{Class, Opaque, StateSpace, Type, Version};
use softwarp_syntax::Span;
use softwarp_syntax::tree::{ExprId, Operand, OperandKind, Range, Symbol};

/// The version and the target from which modules may take the address of a texture, sampler or surface.
pub(super) const INDIRECT_TEXTURES: (Version, u16) = (Version::new(3, 1), 20);

/// The version from which functions may take the address of their return parameters.
const RETURN_ADDRESSES: Version = Version::new(5, 1);

impl Walk<'_, '_> {
    /// `[a]`, in one of these spaces.
    pub(super) fn address(
        &mut self,
        special: Special,
        spaces: (Spaces, AddressRule),
        operand: &Operand,
    ) -> Fits {
        let at = operand.span;
        if spaces.1.unchecked && matches!(operand.kind, OperandKind::Address(_)) {
            return self.names_exist(operand);
        }
        if spaces.1.bare && matches!(operand.kind, OperandKind::Name(_) | OperandKind::Offset(..)) {
            return self.bare_address(special, spaces, operand);
        }
        let inner = match operand.kind {
            OperandKind::Unified(inner) => inner.of(&self.context.module.operands).first(),
            _ => None,
        };
        let OperandKind::Address(parts) = inner.unwrap_or(operand).kind else {
            return match operand.kind {
                OperandKind::Error => Ok(()),
                OperandKind::Literal(_) | OperandKind::Expr(_) => mismatch(at, Reason::Sort(Sort::Constant)),
                OperandKind::Vector(_) => mismatch(at, Reason::Sort(Sort::Vector)),
                _ => mismatch(at, Reason::Sort(Sort::Register)),
            };
        };
        let [part] = parts.of(&self.context.module.operands) else {
            return mismatch(at, Reason::Sort(Sort::List));
        };
        self.address_part(special, spaces, part)?;
        if inner.is_some() { self.unified(special, part) } else { Ok(()) }
    }

    /// An address without its brackets: a register of any type, or a variable.
    fn bare_address(&mut self, special: Special, spaces: (Spaces, AddressRule), operand: &Operand) -> Fits {
        if let OperandKind::Name(symbol) = operand.kind {
            match self.meaning(symbol) {
                Meaning::Register { ty, lanes: 1, .. } if ty != Type::Pred => return Ok(()),
                Meaning::Special(_) => return mismatch(operand.span, Reason::Forbidden(Forbidden::Special)),
                _ => {}
            }
        }
        self.address_part(special, spaces, operand)
    }

    /// `[x].unified`: a variable there must have that attribute.
    fn unified(&mut self, special: Special, part: &Operand) -> Fits {
        let symbol = match part.kind {
            OperandKind::Name(symbol) => Some(symbol),
            OperandKind::Offset(base, _) => match base.of(&self.context.module.operands) {
                [Operand { kind: OperandKind::Name(symbol), .. }] => Some(*symbol),
                _ => None,
            },
            _ => None,
        };
        match symbol.map(|symbol| self.meaning(symbol)) {
            Some(Meaning::Variable(id)) => {
                let unified = self.context.checked.variable(id).attributes.unified.is_some();
                if unified && special != Special::Store {
                    self.remark = None;
                    Ok(())
                } else {
                    mismatch(part.span, Reason::Misused(id, Misuse::Unified))
                }
            }
            _ => Ok(()),
        }
    }

    /// What stands in the brackets of an address.
    pub(super) fn address_part(
        &mut self,
        special: Special,
        spaces: (Spaces, AddressRule),
        part: &Operand,
    ) -> Fits {
        let at = part.span;
        match part.kind {
            OperandKind::Name(symbol) => self.named_address(special, spaces, symbol, at),
            OperandKind::Offset(base, offset) => self.offset_address(special, spaces, base, offset),
            OperandKind::Literal(_) | OperandKind::Expr(_) => self.immediate_address(spaces.0, part),
            OperandKind::Error => Ok(()),
            OperandKind::Vector(_) => mismatch(at, Reason::Sort(Sort::Vector)),
            _ => mismatch(at, Reason::Sort(Sort::Constant)),
        }
    }

    fn offset_address(
        &mut self,
        special: Special,
        spaces: (Spaces, AddressRule),
        base: Range<Operand>,
        offset: ExprId,
    ) -> Fits {
        if self.kind_of_expression(offset) != LiteralKind::Integer {
            return mismatch(
                self.context.module.expression(offset).span,
                Reason::Forbidden(Forbidden::FloatOffset),
            );
        }
        match base.of(&self.context.module.operands) {
            [Operand { kind: OperandKind::Name(symbol), span }] => {
                self.named_address(special, spaces, *symbol, *span)
            }
            [base @ Operand { kind: OperandKind::Literal(_) | OperandKind::Expr(_), .. }] => {
                self.immediate_address(spaces.0, base)
            }
            _ => Ok(()),
        }
    }

    fn immediate_address(&mut self, spaces: Spaces, part: &Operand) -> Fits {
        let kind = match part.kind {
            OperandKind::Literal(literal) => super::operand::kind_of(literal),
            OperandKind::Expr(id) => self.kind_of_expression(id),
            _ => LiteralKind::Integer,
        };
        if kind != LiteralKind::Integer {
            mismatch(part.span, Reason::Forbidden(Forbidden::FloatOffset))
        } else if spaces.has(Space::Local) || spaces.is_empty() {
            Ok(())
        } else {
            mismatch(part.span, Reason::Forbidden(Forbidden::ImmediateAddress))
        }
    }

    fn named_address(
        &mut self,
        special: Special,
        spaces: (Spaces, AddressRule),
        symbol: Symbol,
        at: Span,
    ) -> Fits {
        match self.meaning(symbol) {
            Meaning::Register { id, ty, lanes } => {
                if lanes > 1 {
                    return mismatch(at, Reason::Sort(Sort::Vector));
                }
                if special == Special::Store && self.kernel && spaces.0.has(Space::Param) {
                    self.notice(at, Remark::ParameterStore);
                }
                self.register_address(spaces, id, ty, at)
            }
            Meaning::Variable(id)
                if spaces.1.only.is_some_and(|only| self.context.checked.variable(id).space != only) =>
            {
                let global = spaces.1.only == Some(StateSpace::Global);
                let only = if global { Space::Global } else { Space::Shared };
                mismatch(at, Reason::Space { id, spaces: Spaces::one(only) })
            }
            Meaning::Variable(id) if spaces.1.opaque && self.is_module_handle(id) => {
                self.notice(at, Remark::OpaqueMemory(id));
                Ok(())
            }
            Meaning::Variable(id) => self.variable_address(special, spaces.0, id, at),
            Meaning::Special(_) if spaces.1.no_special => mismatch(at, Reason::Forbidden(Forbidden::Special)),
            Meaning::Special(register) if register.ty == Type::Pred => {
                mismatch(at, Reason::Forbidden(Forbidden::Special))
            }
            Meaning::Special(register) if register.components == 1 => {
                match spaces.1.width == Width::Long && register.ty.bits() != 64 {
                    true => mismatch(at, Reason::Forbidden(Forbidden::Special)),
                    false => Ok(()),
                }
            }
            Meaning::Special(_) => mismatch(at, Reason::Sort(Sort::Vector)),
            Meaning::WarpSize if spaces.0.has(Space::Local) => Ok(()),
            Meaning::WarpSize => mismatch(at, Reason::Forbidden(Forbidden::ImmediateAddress)),
            Meaning::Function(_) => mismatch(at, Reason::Sort(Sort::Function)),
            Meaning::Label(_) => mismatch(at, Reason::Sort(Sort::Label)),
            Meaning::Unknown => mismatch(at, Reason::Undeclared(symbol)),
        }
    }

    /// Whether a variable is an opaque one at module scope.
    fn is_module_handle(&self, id: VarId) -> bool {
        let variable = self.context.checked.variable(id);
        variable.opaque().is_some() && variable.space == StateSpace::Global
    }

    /// Whether addresses of global memory have 64 bits. Before `.address_size` (PTX 2.3), they have 32.
    fn has_wide_addresses(&self) -> bool {
        self.context.version() >= Version::new(2, 3)
    }

    fn register_address(
        &mut self,
        (spaces, rule): (Spaces, AddressRule),
        id: VarId,
        ty: Type,
        at: Span,
    ) -> Fits {
        let integer = ty.is_int() || ty.class() == Class::Bits;
        let width = match rule.width {
            Width::Any => ty != Type::B128,
            Width::NotSixteen => ty != Type::B128 && ty.bits() != 16,
            Width::WordOrLong => matches!(ty.bits(), 32 | 64),
            Width::Long => ty.bits() == 64,
            Width::Word => ty.bits() == 32,
            Width::Bits => ty == Type::B32,
        };
        if !integer || !width {
            return mismatch(at, Reason::AddressType { id, ty, width: rule.width });
        }
        if ty.bits() == 32 && rule.wide && self.has_wide_addresses() {
            return mismatch(at, Reason::NarrowAddress);
        }
        if self.kernel && spaces.has(Space::ParamFunc) {
            return mismatch(at, Reason::Forbidden(Forbidden::NotOfKernel));
        }
        Ok(())
    }

    fn variable_address(&mut self, special: Special, spaces: Spaces, id: VarId, at: Span) -> Fits {
        let variable = self.context.checked.variable(id);
        if variable.opaque().is_some() || variable.space == StateSpace::Tex {
            return mismatch(at, Reason::Misused(id, Misuse::OpaqueAccess));
        }
        if !spaces.is_empty() && !spaces.iter().any(|space| reaches(space, variable.space)) {
            return mismatch(at, Reason::Space { id, spaces });
        }
        if variable.space != StateSpace::Param {
            if variable.space == StateSpace::Const || variable.attributes.unified.is_some() {
                self.notice_access(special, id, at);
            }
            return Ok(());
        }
        let kind = variable.kind;
        if spaces.has(Space::ParamFunc) && self.kernel && kind != VariableKind::Local {
            return mismatch(at, Reason::Forbidden(Forbidden::NotOfKernel));
        }
        if spaces.has(Space::ParamEntry) && kind == VariableKind::Local {
            return mismatch(at, Reason::Forbidden(Forbidden::NotOfEntry));
        }
        match (special, kind) {
            (Special::Store, VariableKind::KernelParameter | VariableKind::Parameter) => {
                mismatch(at, Reason::Misused(id, Misuse::WritesInput))
            }
            (Special::Load, VariableKind::Return) => mismatch(at, Reason::Misused(id, Misuse::ReadsReturn)),
            (Special::Load, VariableKind::Local) if !self.is_returned(id) => {
                self.notice(at, Remark::Unreturned(id));
                Ok(())
            }
            (_, VariableKind::Parameter) if spaces.has(Space::ParamEntry) => {
                self.notice(at, Remark::EntryParameter(id));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notices accesses to constants and `.unified` variables that the manual does not have.
    fn notice_access(&mut self, special: Special, id: VarId, at: Span) {
        let variable = self.context.checked.variable(id);
        let bank = u64::from(variable.bank.unwrap_or(0));
        let remark = match (special, variable.attributes.unified.is_some()) {
            (Special::Load, true) => Remark::PlainLoad(id),
            (Special::Store | Special::Update, true) => Remark::UnifiedStore(id),
            (Special::Load, false)
                if variable.space == StateSpace::Const && bank != self.bank.unwrap_or(0) =>
            {
                Remark::OtherBank(id)
            }
            _ => return,
        };
        self.notice(at, remark);
    }

    /// The address of a variable as a value: `mov.u64 d, x`, `cvta.global.u64 d, x`.
    pub(super) fn address_of(&mut self, special: Special, accepts: Accepts, id: VarId, at: Span) -> Fits {
        let variable = self.context.checked.variable(id);
        if let (StateSpace::Param, VariableKind::Local) = (variable.space, variable.kind) {
            return mismatch(at, Reason::Misused(id, Misuse::AddressTaken));
        }
        let too_old = self.context.version() < RETURN_ADDRESSES || self.context.target().sm() < 30;
        if variable.kind == VariableKind::Return && too_old {
            return mismatch(at, Reason::Misused(id, Misuse::ReturnAddress));
        }
        if special == Special::Mov && (variable.opaque().is_some() || variable.space == StateSpace::Tex) {
            let (since, least_sm) = INDIRECT_TEXTURES;
            let texture = variable.opaque() == Some(Opaque::Texref);
            return if self.context.version() < since || self.context.target().sm() < least_sm {
                mismatch(at, Reason::Misused(id, Misuse::OpaqueVersion))
            } else if accepts.ty == Type::U64 {
                if texture && self.context.checked.header.independent_textures {
                    self.notice(at, Remark::IndependentTexture(id));
                }
                Ok(())
            } else {
                mismatch(at, Reason::Misused(id, Misuse::OpaqueAddress))
            };
        }
        let value = accepts.ty;
        if !(value.is_int() || value.class() == Class::Bits) {
            return mismatch(at, Reason::Sort(Sort::Variable));
        }
        if special == Special::Mov {
            return match (variable.space, value.bits()) {
                (StateSpace::Global, 32) if self.has_wide_addresses() => mismatch(at, Reason::NarrowAddress),
                _ => Ok(()),
            };
        }
        match accepts.space {
            Some(space) if !reaches(space, variable.space) => {
                mismatch(at, Reason::Space { id, spaces: Spaces::one(space) })
            }
            _ => Ok(()),
        }
    }

    /// `a[4]`, `a[i]`: the address of an element.
    pub(super) fn indexed(
        &mut self,
        special: Special,
        want: &Want,
        accepts: Accepts,
        parts: Range<Operand>,
        at: Span,
    ) -> Fits {
        let [Operand { kind: OperandKind::Name(symbol), .. }, index] =
            parts.of(&self.context.module.operands)
        else {
            return Ok(());
        };
        match index.kind {
            OperandKind::Literal(literal) if super::operand::kind_of(literal) != LiteralKind::Integer => {
                return mismatch(index.span, Reason::Forbidden(Forbidden::FloatOffset));
            }
            _ => self.names_exist(index)?,
        }
        match self.meaning(*symbol) {
            Meaning::Variable(id) if !self.context.checked.variable(id).is_array() => {
                mismatch(at, Reason::Misused(id, Misuse::NoArray))
            }
            Meaning::Register { id, .. } => mismatch(at, Reason::Misused(id, Misuse::NoArray)),
            Meaning::Variable(id) if accepts.has(Accepts::ADDRESS) && !want.writes => {
                self.address_of(special, accepts, id, at)
            }
            Meaning::Variable(_) => mismatch(at, Reason::Sort(Sort::Variable)),
            Meaning::Unknown => mismatch(at, Reason::Undeclared(*symbol)),
            _ => mismatch(at, Reason::Sort(Sort::Label)),
        }
    }

    /// The label that a branch names.
    pub(super) fn label_operand(&mut self, special: Special, operand: &Operand) -> Fits {
        let at = operand.span;
        let OperandKind::Name(symbol) = operand.kind else {
            return if matches!(operand.kind, OperandKind::Error) {
                Ok(())
            } else {
                mismatch(at, Reason::Sort(Sort::Constant))
            };
        };
        let visible = self.is_label(symbol);
        if special != Special::IndexedBranch {
            return match visible {
                true if self.marks_code(symbol) => Ok(()),
                true => mismatch(at, Reason::NoCode(symbol)),
                false => mismatch(at, Reason::Undeclared(symbol)),
            };
        }
        match self.context.names.lookup(symbol).map(|found| found.entity) {
            Some(Entity::Label(number)) if self.memory.labels.marks(number) == Marks::BranchTargets => Ok(()),
            None if !visible => mismatch(at, Reason::Undeclared(symbol)),
            _ => mismatch(at, Reason::Forbidden(Forbidden::NoTable)),
        }
    }
}

/// Whether an instruction that names this space can have the address of a variable in that one.
fn reaches(space: Space, variable: StateSpace) -> bool {
    match space.of_variables() {
        Some(own) => own == variable,
        None if space == Space::Tensor => false,
        None => matches!(variable, StateSpace::Global | StateSpace::Shared | StateSpace::Local),
    }
}
