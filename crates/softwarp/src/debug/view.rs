//! What can be seen of a launch that is stopped, by one of its threads.

use super::code::{Code, Instruction, InstructionKey};
use super::expression::{self, Evaluated, NoValue, Scope, Variable};
use super::operands::{Operands, RegisterKey, display_types, shown_type};
use super::value::Value;
use crate::demangle::demangled;
use crate::image::{FunctionId, Image, Object, ObjectId};
use crate::ir::debug::Register;
use crate::ir::{self, Memory};
use crate::isa::{StateSpace, Type};
use crate::lower::special_register;
use crate::source::Source;
use crate::vm::debug::{Call, State, Thread};
use crate::vm::device::Module;
use std::collections::HashMap;

/// The thread that commands are about, and one of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Focus {
    /// `%ctaid`
    pub cta: [u32; 3],
    /// The warp in its CTA.
    pub warp: u32,
    /// The lane.
    pub lane: u32,
    /// The call: 0 is the innermost.
    pub call: usize,
}

impl Focus {
    /// The thread.
    pub fn thread(self) -> Thread {
        Thread { warp: self.warp, lane: self.lane }
    }
}

/// Memory that the host gave a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The name.
    pub name: String,
    /// The first address.
    pub address: u64,
    /// The size.
    pub bytes: u64,
    /// The type of its elements; without one, they are shown as 32-bit words.
    pub ty: Option<Type>,
}

/// What stays the same while modules are loaded.
#[derive(Debug, Default)]
pub struct Program {
    /// The instructions.
    pub code: Code,
    /// The types to show registers with, by module.
    pub types: Vec<HashMap<RegisterKey, Type>>,
    /// Named memory.
    pub buffers: Vec<Buffer>,
}

impl Program {
    /// What there is to know of a module, of whose files these are the texts.
    pub fn new(sources: &[Source], module: &Module, buffers: Vec<Buffer>) -> Program {
        let code = Code::new(sources.iter().zip(module.units.iter().map(|unit| &unit.module)));
        let mut operands = Operands::default();
        let types = (0..).zip(&module.units).map(|unit| display_types(&mut operands, unit)).collect();
        Program { code, types, buffers }
    }
}

/// A launch that is stopped, as a thread sees it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The machine.
    pub state: &'a dyn State,
    /// The modules.
    pub program: &'a Program,
    /// The thread.
    pub focus: Focus,
}

impl<'a> View<'a> {
    /// The module that defines a function.
    pub fn unit(&self, function: FunctionId) -> u32 {
        self.state.image().function(function).unit
    }

    /// The instruction that the warp is about to execute.
    pub fn next(&self) -> Option<&'a Instruction> {
        let at = self.state.at();
        self.program.code.get(InstructionKey { unit: self.unit(at.function), start: at.span.start })
    }

    /// The calls of the thread, the innermost first.
    pub fn calls(&self) -> Vec<Call> {
        self.state.calls(self.focus.thread())
    }

    /// The call that the focus is on.
    pub fn call(&self) -> Option<Call> {
        self.calls().get(self.focus.call).copied()
    }

    /// The instruction of a call.
    pub fn instruction(&self, call: &Call) -> Option<&'a Instruction> {
        self.program.code.get(InstructionKey { unit: self.unit(call.function), start: call.span.start })
    }

    /// A function as it was lowered.
    fn lowered(&self, function: FunctionId) -> Option<&ir::Function> {
        self.state.program().functions().find(|one| one.function == function)
    }

    /// The registers whose names mean something where the focus is, each with its value.
    pub fn registers(&self) -> Vec<(&Register, Value)> {
        let Some(call) = self.call() else { return Vec::new() };
        let Some(registers) = self.lowered(call.function).and_then(|one| one.debug.as_deref()) else {
            return Vec::new();
        };
        let at = call.span.start;
        let here = registers.iter().filter(|one| one.scope.start <= at && at <= one.scope.end);
        here.filter_map(|register| Some((register, self.value(&call, register)?))).collect()
    }

    /// The value of a register in a call.
    pub fn value(&self, call: &Call, register: &Register) -> Option<Value> {
        let unit = self.unit(call.function) as usize;
        let key = (register.variable, register.member, register.element);
        let used = self.program.types.get(unit).and_then(|types| types.get(&key)).copied();
        let bits = self.bits(register)?;
        Some(Value::new(register.ty, bits).as_type(shown_type(register.ty, used)))
    }

    /// The bits of a register in the call that the focus is on.
    pub fn bits(&self, register: &Register) -> Option<u128> {
        let read = |slot| self.state.register(self.focus.thread(), self.focus.call, slot);
        let low = u128::from(read(register.slot)?);
        match register.ty {
            Type::B128 => Some(low | u128::from(read(register.slot.next())?) << 64),
            _ => Some(low),
        }
    }

    /// A register of the call by what the text refers to.
    pub fn register_of(&self, key: RegisterKey) -> Option<&Register> {
        let call = self.call()?;
        self.lowered(call.function)?.debug.as_deref()?.of(key.0, key.1, key.2)
    }

    /// Evaluates an expression.
    pub fn evaluate(&self, text: &str) -> Result<Evaluated, NoValue> {
        expression::evaluate(text, self)
    }

    /// A named thing that has an address: a variable of the module or the function, or a buffer.
    fn object(&self, name: &str) -> Option<(ObjectId, &Object)> {
        let function = self.call().map(|call| call.function);
        let image = self.state.image();
        let named = |object: &&(usize, &Object)| &*object.1.name == name && object.1.space != StateSpace::Reg;
        let all = || image.objects.iter().enumerate();
        let own = all().find(|one| named(&one) && one.1.function.is_some() && one.1.function == function);
        let found = own.or_else(|| all().find(|one| named(&one) && one.1.function.is_none()));
        // C++ gives variables of functions long names: `_ZZ1kE4part` is `part`.
        let called = |object: &Object| {
            let of_function = object.function.is_none() || object.function == function;
            let full =
                demangled(&object.name, false).filter(|_| of_function && object.space != StateSpace::Reg);
            full.is_some_and(|full| full == name || full.rsplit("::").next() == Some(name))
        };
        let found = found.or_else(|| all().find(|one| called(one.1)));
        found.map(|(index, object)| (ObjectId(index as u32), object))
    }

    /// Where an object is, for the thread and call of the focus.
    pub fn variable_of(&self, id: ObjectId) -> Option<Variable> {
        let image: &Image = self.state.image();
        let object = image.object(id);
        let ty = object.value_type()?;
        let windows = &image.windows;
        let (space, address) = match object.space {
            StateSpace::Global => (Memory::Global, image.address(windows, id, None)?),
            StateSpace::Const => (Memory::Constant, image.address(windows, id, None)?),
            StateSpace::Shared => {
                let kernel = image.functions.iter().find(|one| &*one.name == self.state.shape().kernel);
                let reserved = image.header.arch.properties().reserved_shared;
                let own = match kernel {
                    Some(kernel) if object.is_dynamic_shared() => reserved + kernel.dynamic_offset(object),
                    _ => image.address(windows, id, None)?,
                };
                (Memory::Shared, self.state.shared_window() + own)
            }
            StateSpace::Local if object.function.is_some() => (Memory::Frame, object.offset?),
            StateSpace::Param => (Memory::Kernel, image.address(windows, id, None)?),
            _ => return None,
        };
        let generic = match object.space {
            StateSpace::Global | StateSpace::Const | StateSpace::Shared => {
                Some(windows.generic(object.space, address))
            }
            _ => None,
        };
        let bytes = match object.is_dynamic_shared() {
            true => {
                let first = image.header.arch.properties().reserved_shared;
                let past = self.state.shared_window() + first + self.state.shape().shared_bytes;
                past.saturating_sub(address)
            }
            false => object.total(),
        };
        Some(Variable { space, address, generic, ty, bytes })
    }

    /// The variables that can be named where the focus is: those of the function, then those of the module.
    pub fn variables(&self) -> Vec<(&str, Variable)> {
        let function = self.call().map(|call| call.function);
        let image = self.state.image();
        let own = |object: &Object| object.function.is_some() && object.function == function;
        let all = image.objects.iter().enumerate().filter(|(_, object)| object.space != StateSpace::Reg);
        let (mine, others): (Vec<_>, Vec<_>) =
            all.filter(|(_, one)| own(one) || one.function.is_none()).partition(|(_, one)| own(one));
        let placed = mine
            .into_iter()
            .chain(others)
            .filter_map(|(index, object)| Some((&*object.name, self.variable_of(ObjectId(index as u32))?)));
        placed.collect()
    }

    /// The variable or buffer that a generic address is in, and the offset there.
    pub fn name_of(&self, space: Memory, address: u64) -> Option<(String, u64)> {
        let inside = |start: u64, bytes: u64| address.checked_sub(start).filter(|offset| *offset < bytes);
        if matches!(space, Memory::Generic | Memory::Global) {
            let buffers = self.program.buffers.iter();
            let found = buffers.filter_map(|one| Some((one.name.clone(), inside(one.address, one.bytes)?)));
            if let Some(found) = found.min_by_key(|one| one.1) {
                return Some(found);
            }
        }
        let same = |variable: &Variable| match space {
            Memory::Generic => variable.generic,
            Memory::Cluster => (variable.space == Memory::Shared).then_some(variable.address),
            _ => (variable.space == space).then_some(variable.address),
        };
        let variables = self.variables().into_iter();
        let found =
            variables.filter_map(|(name, one)| Some((name.to_owned(), inside(same(&one)?, one.bytes)?)));
        found.min_by_key(|one| one.1)
    }
}

impl Scope for View<'_> {
    fn register(&self, name: &str) -> Option<Value> {
        let call = self.call()?;
        let registers = self.lowered(call.function).and_then(|one| one.debug.as_deref());
        if let Some(register) = registers.and_then(|all| all.named(name, call.span.start)) {
            return self.value(&call, register);
        }
        let (base, component) = name.split_once('.').unwrap_or((name, "x"));
        let component = ["x", "y", "z", "w"].iter().position(|one| *one == component)?;
        let special = special_register(base, component as u8)?;
        let ty = if special.is_wide() { Type::U64 } else { Type::U32 };
        let bits = self.state.special(self.focus.thread(), special)?;
        Some(Value::new(ty, bits.into()))
    }

    fn variable(&self, name: &str) -> Option<Variable> {
        let object = self.object(name);
        let buffer = self.program.buffers.iter().find(|buffer| buffer.name == name);
        // A parameter that points to a buffer of the same name is less interesting than the buffer.
        if let Some((id, _)) = object.filter(|(_, one)| buffer.is_none() || one.space != StateSpace::Param) {
            return self.variable_of(id);
        }
        let buffer = buffer?;
        Some(Variable {
            space: Memory::Global,
            address: buffer.address,
            generic: Some(buffer.address),
            ty: buffer.ty.unwrap_or(Type::B32),
            bytes: buffer.bytes,
        })
    }

    fn read(&self, space: Memory, address: u64, into: &mut [u8]) -> Result<(), NoValue> {
        let address = match space {
            // A plain address in `.shared` is one of the CTA's own.
            Memory::Shared if address < self.state.shared_window() => address + self.state.shared_window(),
            _ => address,
        };
        let read = self.state.read(self.focus.thread(), self.focus.call, space, address, into);
        read.map_err(|error| NoValue(error.to_string()))
    }
}
