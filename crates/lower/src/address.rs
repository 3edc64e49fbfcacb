//! Addresses as values (PTX ISA sections 6.4, 9.7.9.8 `mov`, `cvta`, `isspacep`, and the stack).
//!
//! Most addresses are known when the program is lowered and become constants. What lies in a call's frame has an
//! address only when the call runs.

use crate::builder::{Builder, Lowered, Refusal, because};
use crate::form::Form;
use softwarp_check::Reference;
use softwarp_check::checked::{VarId, VariableKind};
use softwarp_image::{Extent, ObjectId, Window};
use softwarp_ir::TAGGED;
use softwarp_ir::cluster::IsOwnShared;
use softwarp_ir::texture::handle_of;
use softwarp_ir::{Alloca, ClusterOp, FrameAddress, Memory, Slot, StackRestore, StackSave, Step};
use softwarp_isa::instruction::{Modifier, Opcode, Space};
use softwarp_isa::{StateSpace, Type};
use softwarp_syntax::tree::{Operand, OperandKind, Range};
use softwarp_units::alu::simple::Simple;

/// Where a variable is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// The memory that it is in.
    pub memory: Memory,
    /// Its address there.
    pub address: u64,
    /// The variable in the image.
    pub object: ObjectId,
}

impl Builder<'_, '_> {
    /// Conversions and questions about addresses, and the stack.
    pub fn addresses(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        match form.instruction.opcode {
            Opcode::Cvta if form.has(Modifier::To) => self.cvta_to(form, operands),
            Opcode::Cvta => self.cvta(form, operands),
            Opcode::Isspacep => self.is_space(form, operands),
            Opcode::Alloca => self.alloca(form, operands),
            Opcode::Stacksave => self.stack_save(form, operands),
            Opcode::Stackrestore => self.stack_restore(form, operands),
            Opcode::Createpolicy => self.zero(operands),
            _ => Err(Refusal::Elsewhere),
        }
    }

    /// Where a variable is, or a member of a family of them.
    pub fn place(&self, id: VarId, member: Option<u32>) -> Lowered<Placed> {
        let image = self.session.image;
        let object = image.object_of(self.unit, id);
        let is = image.object(object);
        let inside = |memory, start: u64| {
            let member = is.stride().wrapping_mul(u64::from(member.unwrap_or(0)));
            Ok(Placed { memory, address: start.wrapping_add(member), object })
        };
        let refuse = || because(format!("with `{}`", is.name));
        if is.opaque().is_some() {
            return refuse();
        }
        match (is.space, is.kind) {
            (StateSpace::Param, VariableKind::Parameter | VariableKind::Return) => {
                match self.memory.in_frame.get(&id) {
                    Some(&at) => inside(Memory::Frame, at),
                    None => inside(Memory::Function, self.memory.homes.get(&id).copied().unwrap_or(0)),
                }
            }
            (StateSpace::Param, VariableKind::Local) => match is.offset {
                Some(offset) => inside(Memory::Function, self.memory.arguments.wrapping_add(offset)),
                None => refuse(),
            },
            (StateSpace::Local, VariableKind::Local) => match is.offset {
                Some(offset) => inside(Memory::Frame, offset),
                None => refuse(),
            },
            (StateSpace::Local, VariableKind::Module) => {
                // At the top of the thread's memory, above all frames.
                let Extent { bytes, alignment } = image.thread;
                match is.offset.filter(|_| bytes.is_multiple_of(alignment)) {
                    Some(offset) => {
                        let start = self.session.windows.local.size.wrapping_sub(bytes);
                        inside(Memory::Local, start.wrapping_add(offset))
                    }
                    None => refuse(),
                }
            }
            (StateSpace::Shared, _) if is.is_dynamic_shared() => {
                let start = image.function(self.session.kernel).dynamic_shared.or(is.offset).unwrap_or(0);
                inside(Memory::Shared, start.wrapping_add(image.header.arch.properties().reserved_shared))
            }
            (space, _) => {
                let memory = match space {
                    StateSpace::Global => Memory::Global,
                    StateSpace::Const => Memory::Constant,
                    StateSpace::Shared => Memory::Shared,
                    StateSpace::Param => Memory::Kernel,
                    _ => return refuse(),
                };
                match image.address(&self.session.windows, object, member) {
                    Some(address) => Ok(Placed { memory, address, object }),
                    None => refuse(),
                }
            }
        }
    }

    /// The address of a variable in its own state space, in a row of a given number of bits.
    pub fn variable_address(
        &mut self,
        id: VarId,
        member: Option<u32>,
        offset: i64,
        bits: u32,
    ) -> Lowered<Slot> {
        let image = self.session.image;
        let object = image.object_of(self.unit, id);
        if image.object(object).opaque().is_some()
            && let Some(handle) = handle_of(image, &self.session.windows, object, member)
        {
            return Ok(self.constant(handle.wrapping_add_signed(offset), bits));
        }
        let placed = self.place(id, member)?;
        let address = placed.address.wrapping_add_signed(offset);
        match placed.memory {
            Memory::Frame => {
                let d = self.fresh(bits);
                self.step_always(Step::FrameAddress(FrameAddress { d, offset: address }));
                Ok(d)
            }
            Memory::Function => because("with the address of such a `.param`"),
            Memory::Shared => Ok(self.shared_address(address, bits)),
            _ => Ok(self.constant(address, bits)),
        }
    }

    /// `x+4`, `x[4]` or a function, as a value of this type.
    pub fn address_value(&mut self, index: u32, ty: Type) -> Lowered<Slot> {
        match self.operand(index).kind {
            OperandKind::Offset(base, offset) => {
                let offset = self.evaluate(offset)?.bits() as i64;
                match self.reference(base.start) {
                    Reference::Variable(id, member) if self.variable(id).space != StateSpace::Reg => {
                        self.variable_address(id, member, offset, ty.bits())
                    }
                    Reference::Variable(..) => {
                        let register = self.source(base.start, ty)?;
                        let offset = self.constant(offset as u64, ty.bits());
                        let (sum, add) =
                            if ty.bits() > 32 { (64, Simple::Add64) } else { (32, Simple::Add32) };
                        let sum = self.fresh(sum);
                        self.simple_always(add, sum, &[register, offset]);
                        Ok(sum)
                    }
                    _ => because("with such an address"),
                }
            }
            OperandKind::Index(parts) => {
                let (Reference::Variable(id, member), Ok(element)) =
                    (self.reference(parts.start), self.immediate(parts.start + 1))
                else {
                    return because("with an index that is no constant");
                };
                let offset = element.wrapping_mul(self.variable(id).element_bytes()) as i64;
                self.variable_address(id, member, offset, ty.bits())
            }
            _ => match self.reference(index) {
                Reference::Function(id) => {
                    let function = self.session.image.function_of(self.unit, id);
                    let address = self.session.image.function_address(&self.session.windows, function);
                    Ok(self.constant(address, ty.bits()))
                }
                _ => because("with such an address"),
            },
        }
    }

    /// `cvta`: an address in a state space to a generic one.
    fn cvta(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let (d, a, ty) = (operands.start, operands.start + 1, form.ty());
        let named = match self.operand(a).kind {
            OperandKind::Name(_) => self.reference(a),
            OperandKind::Offset(base, _) | OperandKind::Index(base) => self.reference(base.start),
            _ => Reference::Nothing,
        };
        let window = match named {
            // Parameters of functions lie on the stack if their addresses are taken.
            Reference::Variable(id, _) if self.is_parameter(id) => Some(self.session.windows.local),
            _ => self.window(form.space()),
        };
        let source = self.source(a, ty)?;
        self.shifted(d, source, ty, window, true)
    }

    /// `cvta.to`: a generic address to one in a state space.
    fn cvta_to(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let ty = form.ty();
        let source = self.source(operands.start + 1, ty)?;
        self.shifted(operands.start, source, ty, self.window(form.space()), false)
    }

    fn shifted(&mut self, d: u32, source: Slot, ty: Type, window: Option<Window>, up: bool) -> Lowered<()> {
        let destination = self.destination(d, ty)?;
        let wide = ty.bits() > 32;
        let Some(window) = window else {
            self.simple(if wide { Simple::Move64 } else { Simple::Move32 }, destination.slot, &[source]);
            return Ok(());
        };
        let base = self.constant(window.base, ty.bits());
        let simple = match (wide, up) {
            (true, true) => Simple::Add64,
            (true, false) => Simple::Sub64,
            (false, true) => Simple::Add32,
            (false, false) => Simple::Sub32,
        };
        self.simple(simple, destination.slot, &[source, base]);
        Ok(())
    }

    /// The window of a state space as an instruction names it; `None` for global memory.
    fn window(&self, space: Space) -> Option<Window> {
        self.session.windows.of(space.of_variables()?)
    }

    /// `isspacep`
    fn is_space(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let address = self.source(operands.start + 1, Type::U64)?;
        let d = self.destination(operands.start, Type::Pred)?.slot;
        let mut windows = self.session.windows;
        if self.session.image.red_zones && windows.local.base > u64::from(u32::MAX) {
            windows.local.size = TAGGED;
        }
        match (form.space(), form.space().of_variables().and_then(|space| windows.of(space))) {
            // Which part of the window that is, each CTA of a cluster knows for itself.
            (Space::Shared | Space::SharedCta, Some(_)) => {
                return self.step(Step::Cluster(ClusterOp::IsOwn(IsOwnShared { d, address })));
            }
            (_, Some(window)) => self.inside(d, address, window, None, false),
            (_, None) => {
                // The parameters of a kernel count as global too (section 9.7.9.19, and so does an H200).
                let mut also = None;
                for window in [windows.shared, windows.local] {
                    let truth = self.fresh(1);
                    self.always(|builder| builder.inside(truth, address, window, also, false));
                    also = Some(truth);
                }
                self.inside(d, address, windows.constant, also, true);
            }
        }
        Ok(())
    }

    fn inside(&mut self, d: Slot, address: Slot, window: Window, also: Option<Slot>, inverted: bool) {
        let (base, size) = (self.wide_constant(window.base), self.wide_constant(window.size));
        let sources: Vec<Slot> = [address, base, size].into_iter().chain(also).collect();
        self.simple(Simple::Inside { inverted }, d, &sources);
    }

    /// `alloca`
    fn alloca(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let ty = form.ty();
        let size = self.source(operands.start + 1, ty)?;
        // Without one, the stack's own.
        let alignment = if operands.len > 2 { self.immediate(operands.start + 2)? } else { 8 };
        if !alignment.is_power_of_two() {
            return because("with an alignment that is no power of two");
        }
        let d = self.destination(operands.start, ty)?.slot;
        self.step(Step::Alloca(Alloca { size, d, alignment }))
    }

    /// `stacksave`
    fn stack_save(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let d = self.destination(operands.start, form.ty())?.slot;
        self.step(Step::StackSave(StackSave { d }))
    }

    /// `stackrestore`
    fn stack_restore(&mut self, form: &Form, operands: Range<Operand>) -> Lowered<()> {
        let a = self.source(operands.start, form.ty())?;
        self.step(Step::StackRestore(StackRestore { a }))
    }

    /// `createpolicy`: what it makes is a hint.
    fn zero(&mut self, operands: Range<Operand>) -> Lowered<()> {
        let Some(register) = self.named_register(operands.start)? else { return Err(Refusal::Form) };
        let zero = self.constant(0, 64);
        self.simple(Simple::Move64, register.id, &[zero]);
        Ok(())
    }
}
