//! Parameters and return values of a function, as it is entered and left. How they travel is said at
//! [`softwarp_ir::Call`].
//!
//! Most stay where the caller puts them and finds them. A `.reg` parameter is loaded on entry, a `.reg` return value
//! stored on return. Where the body takes the address of one, it gets a copy in the frame, since such addresses are
//! of `.local` memory (section 9.7.9.1).

use crate::builder::{Builder, EPILOGUE, Lowered, Register, because};
use softwarp_check::Reference;
use softwarp_check::checked::{VarId, VariableKind};
use softwarp_ir::{Access, Address, Element, Memory, Op, Step};
use softwarp_isa::StateSpace;
use softwarp_isa::instruction::Opcode;
use softwarp_syntax::tree::{OperandKind, Statement};

/// Where the values that travel between functions lie in the per-thread parameter memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    /// Where the next goes at the earliest.
    pub end: u64,
}

impl Layout {
    /// The place of the next value.
    pub fn put(&mut self, bytes: u64, alignment: u64) -> u64 {
        let alignment = alignment.max(16);
        let at = self.end.checked_next_multiple_of(alignment).unwrap_or(self.end);
        self.end = at.saturating_add(bytes);
        at
    }
}

/// Where a parameter or return value lies.
#[derive(Clone, Copy, Debug)]
struct Home {
    memory: Memory,
    offset: u64,
}

impl Home {
    /// In the parameter memory, where the caller puts or finds it.
    fn passed(offset: u64) -> Home {
        Home { memory: Memory::Function, offset }
    }

    fn in_frame(offset: u64) -> Home {
        Home { memory: Memory::Frame, offset }
    }
}

/// The largest parameter that is copied to the frame, in bytes: more than any ABI passes.
const MOST_COPIED: u64 = 1 << 16;

impl Builder<'_, '_> {
    /// Finds out where parameters, return values and arguments lie.
    pub fn place_parameters(&mut self, argument_bytes: u64) {
        let checked = self.of.checked;
        let function = checked.function(self.id);
        let mut layout = Layout::default();
        if !self.entry {
            for &id in function.parameters.iter().chain(&function.returns) {
                let variable = checked.variable(id);
                let at = layout.put(self.session.parameter_size(variable), variable.alignment);
                self.memory.homes.insert(id, at);
            }
        }
        self.memory.arguments = layout.put(argument_bytes, 128);
        self.memory.scratch = layout.put(0, 16);
        self.memory.parameter_bytes = layout.end;
    }

    /// Whether a variable is a parameter or return value of this function, which is no kernel.
    pub fn is_parameter(&self, id: VarId) -> bool {
        let variable = self.variable(id);
        variable.space == StateSpace::Param
            && matches!(variable.kind, VariableKind::Parameter | VariableKind::Return)
    }

    /// Parameters and return values whose addresses the body takes.
    fn addresses_taken(&self) -> Vec<VarId> {
        let mut taken = Vec::new();
        if self.memory.homes.is_empty() {
            return taken;
        }
        for statement in self.statements {
            let Statement::Instruction(instruction) = statement else { continue };
            let opcode = self.form(instruction.mnemonic).map(|form| form.instruction.opcode);
            if !matches!(opcode, Some(Opcode::Mov | Opcode::Cvta)) {
                continue;
            }
            for index in self.places(instruction.operands) {
                let name = match self.operand(index).kind {
                    OperandKind::Name(_) => index,
                    OperandKind::Offset(parts, _) | OperandKind::Index(parts) => parts.start,
                    _ => continue,
                };
                if let Reference::Variable(id, _) = self.reference(name)
                    && self.is_parameter(id)
                    && !taken.contains(&id)
                {
                    taken.push(id);
                }
            }
        }
        taken
    }

    /// What stands before the first statement.
    pub fn enter(&mut self) {
        for id in self.addresses_taken() {
            let variable = self.variable(id);
            let size = self.session.parameter_size(variable);
            if size > MOST_COPIED {
                // Every instruction that takes the address is refused then.
                continue;
            }
            let at = self.memory.local_bytes.next_multiple_of(variable.alignment.max(16));
            self.memory.local_bytes = at.saturating_add(size);
            self.memory.in_frame.insert(id, at);
        }
        let parameters = if self.entry { &[][..] } else { &self.of.checked.function(self.id).parameters };
        for &id in parameters {
            let at = self.memory.homes.get(&id).copied().unwrap_or(0);
            if self.is_register(id) {
                match self.parameter_registers(id).and_then(|registers| parameter_access(at, registers)) {
                    Ok(access) => self.step_always(Step::Load(access)),
                    Err(_) => self.refuse_parameter(id),
                }
            } else if let Some(&frame) = self.memory.in_frame.get(&id) {
                self.copy_parameter(id, Home::passed(at), Home::in_frame(frame));
            }
        }
    }

    /// `ret`
    pub fn leave(&mut self) -> Lowered<()> {
        match self.has_epilogue() {
            true => self.push(Op::Branch(self.current.guard, EPILOGUE)),
            false => self.step(Step::Return)?,
        }
        Ok(())
    }

    /// Whether something is to be done before the function returns.
    pub fn has_epilogue(&self) -> bool {
        let returns = &self.of.checked.function(self.id).returns;
        !self.entry && returns.iter().any(|id| self.is_register(*id) || self.memory.in_frame.contains_key(id))
    }

    /// What stands behind the last statement: return values are put where the caller finds them.
    pub fn epilogue(&mut self) {
        let returns = if self.entry { &[][..] } else { &self.of.checked.function(self.id).returns };
        for &id in returns {
            let at = self.memory.homes.get(&id).copied().unwrap_or(0);
            if self.is_register(id) {
                match self.parameter_registers(id).and_then(|registers| parameter_access(at, registers)) {
                    Ok(access) => self.step_always(Step::Store(access)),
                    Err(_) => self.refuse_parameter(id),
                }
            } else if let Some(&frame) = self.memory.in_frame.get(&id) {
                self.copy_parameter(id, Home::in_frame(frame), Home::passed(at));
            }
        }
        self.step_always(Step::Return);
    }

    fn parameter_registers(&mut self, id: VarId) -> Lowered<Vec<Element>> {
        let lanes = self.variable(id).vector.max(1);
        let registers: Lowered<Vec<_>> =
            (0..lanes).map(|n| self.register(id, None, n).map(Register::element)).collect();
        registers.and_then(|registers| match registers.iter().any(|one| one.bits == 1) {
            true => because("with a predicate as a parameter"),
            false => Ok(registers),
        })
    }

    fn refuse_parameter(&mut self, id: VarId) {
        let variable = self.variable(id);
        let name = self.of.module.name(variable.name);
        self.refuse(variable.span, format!("predicates are not passed to functions: `{name}`"));
    }

    /// Copies a parameter from one memory to another, in words that are aligned in both.
    fn copy_parameter(&mut self, id: VarId, from: Home, to: Home) {
        let size = self.session.parameter_size(self.variable(id));
        let word = self.variable(id).alignment.clamp(1, 8);
        let mut done = 0;
        while done < size {
            let mut bytes = word;
            while bytes > size - done {
                bytes /= 2;
            }
            let bits = 8 * bytes as u32;
            let register = self.fresh(bits.max(16));
            let access = |home: Home| {
                let registers = vec![Element::new(register, bits as u8)];
                Access::new(fixed(home.memory, home.offset + done), bytes as u8, false, registers)
            };
            // Sizes and alignments are powers of two, so both are accesses.
            let (Some(load), Some(store)) = (access(from), access(to)) else { return };
            self.step_always(Step::Load(load));
            self.step_always(Step::Store(store));
            done += bytes;
        }
    }
}

fn fixed(memory: Memory, offset: u64) -> Address {
    Address::fixed(memory, offset as i64, None)
}

/// Registers at a place in the parameter memory.
pub(super) fn parameter_access(at: u64, registers: Vec<Element>) -> Lowered<Access> {
    let bytes = registers.first().map_or(1, |one| one.bits / 8);
    let access = Access::new(fixed(Memory::Function, at), bytes, false, registers);
    access.map_or_else(|| because("with such a number of elements"), Ok)
}
