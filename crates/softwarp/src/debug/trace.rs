//! Traces: every instruction that some threads execute, what it reads from and writes to memory, and its results.

use super::code::InstructionKey;
use super::operands::{Operands, RegisterKey, Use, instruction_at};
use super::value::Value;
use super::view::{Focus, Program, View};
use crate::image::FunctionId;
use crate::ir::{Address, Memory, Op, Step};
use crate::isa::{Class, Type};
use crate::lineinfo::SourceLine;
use crate::vm::debug::{At, Control, Debugger, State, Thread};
use crate::vm::device::Module;
use crate::vm::fault::Fault;
use std::sync::{Mutex, PoisonError};

/// A thread to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// `%ctaid`
    pub cta: [u32; 3],
    /// `%tid`
    pub thread: [u32; 3],
}

/// Which instructions are recorded. Of each list, one must fit; an empty list fits all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Lines of the PTX, from and to.
    pub lines: Vec<(u32, u32)>,
    /// Lines of files that the PTX was made from, from and to.
    pub sources: Vec<(String, u32, u32)>,
    /// Registers that an instruction reads or writes, by name.
    pub registers: Vec<String>,
    /// Kernels and functions, by name in the PTX or in C++.
    pub functions: Vec<String>,
}

/// Memory that an instruction uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// The state space.
    pub space: Memory,
    /// The address.
    pub address: u64,
    /// The variable or buffer that it is in, and the offset there.
    pub name: Option<(String, u64)>,
    /// The values that are stored, in the types of the instruction.
    pub stored: Vec<Value>,
}

impl std::fmt::Display for MemoryUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some((name, 0)) => write!(f, "[{name}]")?,
            Some((name, offset)) => write!(f, "[{name}+{offset}]")?,
            None => write!(f, "[{} {:#x}]", self.space.name(), self.address)?,
        }
        for (index, value) in self.stored.iter().enumerate() {
            write!(f, "{}{value}", if index == 0 { " ← " } else { ", " })?;
        }
        Ok(())
    }
}

/// An instruction that a thread executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The thread.
    pub thread: Followed,
    /// The function, by its name in the PTX.
    pub function: String,
    /// The line in the PTX.
    pub line: u32,
    /// The line of the program that the PTX was made from.
    pub source: Option<SourceLine>,
    /// The instruction, on one line.
    pub text: String,
    /// Whether the thread passed its guard.
    pub executed: bool,
    /// The memory that it uses, if it is a load, a store or an atomic operation.
    pub memory: Option<MemoryUse>,
    /// The registers that it wrote, with their values.
    pub results: Vec<(String, Value)>,
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Followed { cta: [cx, cy, cz], thread: [x, y, z] } = self.thread;
        write!(f, "{cx},{cy},{cz}:{x},{y},{z}  {:>5}  {}", self.line, self.text)?;
        if !self.executed {
            return write!(f, "  (not executed: its guard is false)");
        }
        // An operand that is a name needs no other one.
        let says = |name: &str| self.text.contains(&format!("[{name}]"));
        let named = |one: &&MemoryUse| one.name.as_ref().is_none_or(|(name, at)| *at != 0 || !says(name));
        if let Some(memory) = self.memory.as_ref().filter(|one| !one.stored.is_empty() || named(one)) {
            write!(f, "  {memory}")?;
        }
        for (index, (name, value)) in self.results.iter().enumerate() {
            write!(f, "{}{name} = {value}", if index == 0 { "  → " } else { ", " })?;
        }
        Ok(())
    }
}

/// An instruction whose results are not there yet.
struct Pending {
    record: Record,
    place: Thread,
    depth: u32,
    function: FunctionId,
    /// Its operations.
    operations: std::ops::Range<u32>,
    writes: Vec<(RegisterKey, Type)>,
}

/// Follows threads of a launch, and gives each instruction when it is done.
pub struct Tracer<'a> {
    threads: Vec<Followed>,
    filter: Filter,
    program: &'a Program,
    module: &'a Module,
    state: Mutex<(Vec<Pending>, Operands)>,
    sink: &'a (dyn Fn(Record) + Sync),
}

impl<'a> Tracer<'a> {
    /// Follows threads of launches of a module.
    pub fn new(
        threads: Vec<Followed>,
        filter: Filter,
        (program, module): (&'a Program, &'a Module),
        sink: &'a (dyn Fn(Record) + Sync),
    ) -> Tracer<'a> {
        Tracer { threads, filter, program, module, state: Mutex::default(), sink }
    }

    /// Gives the instructions whose results never came: the launch has ended.
    pub fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.drain(..).for_each(|pending| (self.sink)(pending.record));
    }

    /// Gives an instruction whose results are there; keeps it if it is not done.
    fn finish(&self, state: &dyn State, mut pending: Pending, next: bool) -> Option<Pending> {
        let calls = state.calls(pending.place);
        let same = calls
            .first()
            .filter(|call| call.function == pending.function && calls.len() == pending.depth as usize + 1);
        if let Some(call) = same {
            if !next && pending.operations.contains(&call.index) {
                return Some(pending);
            }
            let (cta, warp, lane) = (pending.record.thread.cta, pending.place.warp, pending.place.lane);
            let view = View { state, program: self.program, focus: Focus { cta, warp, lane, call: 0 } };
            for (key, ty) in &pending.writes {
                let Some(register) = view.register_of(*key) else { continue };
                let Some(bits) = view.bits(register) else { continue };
                pending.record.results.push((register.name.clone(), Value::new(*ty, bits)));
            }
        }
        (self.sink)(pending.record);
        None
    }

    fn is_wanted(&self, record: &Record, uses: &[Use], view: &View<'_>) -> bool {
        let Filter { lines, sources, registers, functions } = &self.filter;
        let fits = |all: bool, one: bool| all || one;
        let line = lines.iter().any(|(from, to)| (*from..=*to).contains(&record.line));
        let source = sources.iter().any(|(file, from, to)| {
            record.source.as_ref().is_some_and(|at| {
                std::path::Path::new(&*at.file).ends_with(file) && (*from..=*to).contains(&at.line)
            })
        });
        let named = |one: &Use| view.register_of(one.register).map(|register| register.name.as_str());
        let register = !registers.is_empty()
            && uses.iter().filter_map(named).any(|name| registers.iter().any(|one| one == name));
        let function = functions.iter().any(|name| {
            let own = crate::demangle::demangled(&record.function, false);
            let plain = own.as_deref().map(|own| own.split('<').next().unwrap_or(own));
            record.function == *name || own.as_deref() == Some(name) || plain == Some(name.as_str())
        });
        fits(lines.is_empty(), line)
            && fits(sources.is_empty(), source)
            && fits(registers.is_empty(), register)
            && fits(functions.is_empty(), function)
    }

    /// What a thread is about to execute.
    fn begin(
        &self,
        state: &dyn State,
        at: &At<'_>,
        thread: Followed,
        lane: u32,
        operands: &mut Operands,
    ) -> Option<Pending> {
        let unit = state.image().function(at.function).unit;
        let loaded = self.module.units.get(unit as usize)?;
        let place = self.program.code.get(InstructionKey { unit, start: at.span.start })?;
        let instruction = instruction_at(&loaded.module, at.span.start)?;
        let uses = operands.uses((unit, loaded), instruction);
        let focus = Focus { cta: at.cta, warp: at.warp, lane, call: 0 };
        let view = View { state, program: self.program, focus };
        let text: Vec<&str> = place.span.text(&loaded.source).split_whitespace().collect();
        let executed = at.executing >> lane & 1 == 1;
        let record = Record {
            thread,
            function: state.image().function(at.function).name.to_string(),
            line: place.line,
            source: place.source.clone(),
            text: text.join(" "),
            executed,
            memory: None,
            results: Vec::new(),
        };
        if !self.is_wanted(&record, &uses, &view) {
            return None;
        }
        let memory = at.op.filter(|_| executed).and_then(|op| memory_use(&view, op, &uses));
        let writes = uses.iter().filter(|one| one.writes && executed).map(|one| (one.register, one.ty));
        Some(Pending {
            record: Record { memory, ..record },
            place: Thread { warp: at.warp, lane },
            depth: at.depth,
            function: at.function,
            operations: at.index..at.index + operations(state, at),
            writes: writes.map(|(register, ty)| (register, shown(&view, register, ty))).collect(),
        })
    }
}

/// The type to show a result with: instructions on bits leave it to other uses of the register.
fn shown(view: &View<'_>, register: RegisterKey, ty: Type) -> Type {
    let used = || {
        let unit = view.unit(view.call()?.function) as usize;
        view.program.types.get(unit)?.get(&register).copied()
    };
    if ty.class() == Class::Bits { super::operands::shown_type(ty, used()) } else { ty }
}

/// How many operations the instruction has.
fn operations(state: &dyn State, at: &At<'_>) -> u32 {
    let function = state.program().functions().find(|one| one.function == at.function);
    let count = |one: &crate::ir::Function| {
        let starts = |op: &u32| one.instructions_between(*op as usize, *op as usize + 1) != 0;
        let past = (at.index + 1..one.ops.len() as u32).find(starts);
        past.unwrap_or(one.ops.len() as u32) - at.index
    };
    function.map_or(1, count)
}

/// The memory that a load, a store or an atomic operation uses.
fn memory_use(view: &View<'_>, op: &Op, uses: &[Use]) -> Option<MemoryUse> {
    let Op::Other(_, step) = op else { return None };
    let (address, stores): (&Address, bool) = match &**step {
        Step::Load(access) => (&access.address, false),
        Step::Store(access) => (&access.address, true),
        Step::Atomic(atomic) => (&atomic.address, false),
        _ => return None,
    };
    let at = view.state.addresses(address)[view.focus.lane as usize % 32];
    let (space, at) = match address.memory {
        Memory::Frame => (Memory::Local, at),
        space => (space, at),
    };
    let mut stored = Vec::new();
    if stores {
        for one in uses.iter().filter(|one| !one.writes && !one.address) {
            let Some(register) = view.register_of(one.register) else { continue };
            let ty = shown(view, one.register, one.ty);
            stored.extend(view.bits(register).map(|bits| Value::new(ty, bits)));
        }
    }
    let named = address.named.filter(|_| address.base.is_none()).and_then(|id| {
        let start = view.variable_of(id)?.address;
        Some((view.state.image().object(id).name.to_string(), at.checked_sub(start)?))
    });
    let name = match address.memory {
        Memory::Frame => address.named.map(|id| (view.state.image().object(id).name.to_string(), 0)),
        _ => named.or_else(|| view.name_of(space, at)),
    };
    Some(MemoryUse { space, address: at, name, stored })
}

impl Debugger for Tracer<'_> {
    fn before(&self, state: &dyn State) -> Control {
        let at = state.at();
        if !self.threads.iter().any(|one| one.cta == at.cta) {
            return Control::Continue;
        }
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (pending, operands) = &mut *guard;
        for one in std::mem::take(pending) {
            let here = one.record.thread.cta == at.cta;
            let next = one.place.warp == at.warp && at.lanes >> one.place.lane & 1 == 1;
            pending.extend(if here { self.finish(state, one, next) } else { Some(one) });
        }
        let [width, height, _] = state.shape().block;
        for &thread in self.threads.iter().filter(|one| one.cta == at.cta) {
            let [x, y, z] = thread.thread;
            let index = z.saturating_mul(height).saturating_add(y).saturating_mul(width).saturating_add(x);
            let inside = thread.thread.iter().zip(state.shape().block).all(|(at, size)| *at < size);
            if inside && index / 32 == at.warp && at.lanes >> (index % 32) & 1 == 1 {
                pending.extend(self.begin(state, &at, thread, index % 32, operands));
            }
        }
        Control::Continue
    }

    fn failed(&self, _state: &dyn State, _fault: &Fault) {}
}
