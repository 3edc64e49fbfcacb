//! Loads, stores and atomic operations (PTX ISA sections 9.7.9.8 to 9.7.9.12 and 9.7.13.5).
//!
//! Cache operators, eviction priorities, prefetch sizes and cache policies are hints, and are left out.

use crate::builder::{Builder, Lowered, Refusal, Register, because};
use crate::form::{Form, atomic};
use crate::operand::signature;
use softwarp_check::Reference;
use softwarp_check::checked::VarId;
use softwarp_ir::{Access, Address, Atomic, AtomicOp, Element, Memory, Order, Scope, Slot, Step};
use softwarp_isa::instruction::{Modifier, Opcode, Space};
use softwarp_isa::{Class, StateSpace, Type};
use softwarp_syntax::tree::{Operand, OperandKind, Range};

impl Builder<'_, '_> {
    /// Loads, stores and atomic operations, and hints about memory.
    pub fn accesses(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let opcode = form.instruction.opcode;
        match opcode {
            _ if form.has(Modifier::Async) || form.has(Modifier::Bulk) => Err(Refusal::Elsewhere),
            Opcode::Ld | Opcode::Ldu => self.load(form, operands),
            Opcode::St => self.store(form, operands),
            Opcode::Atom | Opcode::Red => {
                let op = atomic(&form.instruction).ok_or(Refusal::Form)?;
                self.atomic(form, operands, op, opcode == Opcode::Atom)
            }
            Opcode::Prefetch | Opcode::Prefetchu | Opcode::Discard | Opcode::Applypriority => Ok(()),
            _ => Err(Refusal::Elsewhere),
        }
    }

    /// `[a]`, `[a+4]`, `[4]`, in a state space as the instruction names it.
    pub fn address(&mut self, index: u32, space: Space) -> Lowered<Address> {
        let mut index = index;
        if let OperandKind::Unified(inner) = self.operand(index).kind {
            index = inner.start;
        }
        let OperandKind::Address(parts) = self.operand(index).kind else { return Err(Refusal::Form) };
        if parts.len != 1 {
            return Err(Refusal::Form);
        }
        self.address_of(parts.start, space)
    }

    /// The address that a part of an operand in brackets is.
    pub fn address_of(&mut self, part: u32, space: Space) -> Lowered<Address> {
        let (base, offset) = match self.operand(part).kind {
            OperandKind::Offset(base, offset) => (base.start, self.evaluate(offset)?.bits() as i64),
            _ => (part, 0),
        };
        match self.operand(base).kind {
            OperandKind::Literal(_) | OperandKind::Expr(_) => {
                let offset = (self.immediate(base)? as i64).wrapping_add(offset);
                Ok(Address::fixed(self.memory(space), offset, None))
            }
            OperandKind::Name(_) | OperandKind::Member(..) => self.named_address(base, space, offset),
            _ => Err(Refusal::Form),
        }
    }

    fn named_address(&mut self, base: u32, space: Space, offset: i64) -> Lowered<Address> {
        if let Some(register) = self.named_register(base)? {
            let base = Some(register.id);
            return Ok(Address { memory: self.memory(space), base, offset, named: None });
        }
        let Reference::Variable(id, member) = self.reference(base) else {
            return because("with such an address");
        };
        let placed = self.place(id, member)?;
        let offset = (placed.address as i64).wrapping_add(offset);
        Ok(Address::fixed(placed.memory, offset, Some(placed.object)))
    }

    /// The memory of a state space that an instruction names, for addresses in registers. In functions, the
    /// addresses of parameters are of copies on the stack.
    fn memory(&self, space: Space) -> Memory {
        match space {
            Space::Generic | Space::Tensor => Memory::Generic,
            Space::Const => Memory::Constant,
            Space::Global => Memory::Global,
            Space::Local => Memory::Local,
            Space::ParamEntry => Memory::Kernel,
            Space::Param | Space::ParamFunc if self.entry => Memory::Kernel,
            Space::Param | Space::ParamFunc => Memory::Local,
            Space::Shared | Space::SharedCta => Memory::Shared,
            Space::SharedCluster => Memory::Cluster,
        }
    }

    /// The registers of a vector, or of a single operand, and their widths. Constants are made rows.
    pub fn elements(&mut self, index: u32, ty: Type) -> Lowered<Vec<Element>> {
        match self.operand(index).kind {
            OperandKind::Vector(parts) => self.places(parts).map(|part| self.value(part, ty)).collect(),
            OperandKind::Name(_) if self.lanes(index) > 1 => {
                let Reference::Variable(id, member) = self.reference(index) else {
                    return because("with such an operand");
                };
                let lanes = 0..self.lanes(index);
                lanes.map(|n| self.register(id, member, n).map(Register::element)).collect()
            }
            _ => Ok(vec![self.value(index, ty)?]),
        }
    }

    fn value(&mut self, index: u32, ty: Type) -> Lowered<Element> {
        if matches!(self.operand(index).kind, OperandKind::Sink) {
            return Ok(Element { slot: None, bits: ty.bits() as u8 });
        }
        match self.named_register(index)? {
            Some(register) if register.bits > 1 => Ok(register.element()),
            Some(_) => because("with a predicate"),
            None => Ok(Element::new(self.source(index, ty)?, ty.bits() as u8)),
        }
    }

    fn access(&mut self, form: &Form, address: u32, values: u32) -> Lowered<Access> {
        let ty = form.ty();
        let order = Order::of(&form.instruction.modifiers, Order::WEAK);
        let address = self.address(address, form.space())?;
        let bytes = (ty.register_type().bits() / 8) as u8;
        let registers = self.elements(values, ty)?;
        let Some(access) = Access::new(address, bytes, ty.class() == Class::Signed, registers) else {
            return because("with such a number of elements");
        };
        Ok(Access { order, ..access })
    }

    /// Refuses special registers as what is loaded into: the assembler takes them as elements of a vector, and what becomes
    /// of the value is not said.
    fn only_registers(&mut self, index: u32) -> Lowered<()> {
        let places = match self.operand(index).kind {
            OperandKind::Vector(parts) => self.places(parts),
            _ => index..index + 1,
        };
        for place in places {
            if matches!(self.reference(place), Reference::Special(..)) {
                return because("into a special register");
            }
        }
        Ok(())
    }

    /// `ld`, `ldu`
    fn load(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        self.only_registers(operands.start)?;
        let access = self.access(form, operands.start + 1, operands.start)?;
        self.step(Step::Load(access))
    }

    /// `st`
    fn store(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let access = self.access(form, operands.start, operands.start + 1)?;
        self.step(Step::Store(access))
    }

    /// `atom`, which has a destination, and `red`, which has none.
    fn atomic(&mut self, form: &Form, operands: Range<Operand>, op: AtomicOp, fetches: bool) -> Lowered<()> {
        signature(&form.instruction.signatures, operands.len as usize)?;
        let ty = form.ty();
        let at = operands.start + u32::from(fetches);
        let mut d = match fetches {
            true => self.elements(operands.start, ty)?.into_iter().map(|one| one.slot).collect(),
            false => Vec::new(),
        };
        if d.iter().all(Option::is_none) {
            d.clear();
        }
        let b = match self.operand(at + 1).kind {
            OperandKind::Vector(parts) => {
                let slots = self.places(parts).map(|part| self.source(part, ty).map(Some));
                slots.collect::<Lowered<Vec<Option<Slot>>>>()?
            }
            OperandKind::Name(_) if self.lanes(at + 1) > 1 => {
                self.elements(at + 1, ty)?.into_iter().map(|one| one.slot).collect()
            }
            _ => vec![Some(self.source(at + 1, ty)?)],
        };
        let c = if op == AtomicOp::Cas { Some(self.source(at + 2, ty)?) } else { None };
        let address = self.address(at, form.space())?;
        let order = Order::of(&form.instruction.modifiers, Order::relaxed(Scope::Gpu));
        self.step(Step::Atomic(Atomic { address, op, ty, d, b, c, order, noftz: form.has(Modifier::Noftz) }))
    }

    /// Whether a variable is a register.
    pub fn is_register(&self, id: VarId) -> bool {
        self.variable(id).space == StateSpace::Reg
    }
}
