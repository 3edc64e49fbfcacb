//! Code generation: from operations to instructions with AVX-512.
//!
//! Registers: `r15` the context, `r12`, `r13`, `r14` the rows of 32-bit words, the rows of 64-bit words and the
//! predicates of the frame, `rbp` the budget, `r11` constants; `rax`, `rcx`, `rdx` and the first vector registers are temporary.
//! `k6` and `k7` are the lanes that an operation writes, where these are not all.

mod access;
mod compute;
mod control;
mod exchange;
mod scalar;
mod stub;

pub use access::site;
pub(crate) use stub::MOST_BLOCKS;

use crate::classes::{Class, Classes};
use crate::context::{Context, Register};
use crate::decode::{Action, Compute, Float};
use crate::flow::{Flow, Touch};
use crate::places::{Place, TEMPORARIES, places};
use crate::{Mode, Shape};
use iced_x86::IcedError;
use iced_x86::code_asm::*;
use softwarp_ir::{Alu, Function, Guard, Op, Slot, Step};
use std::collections::HashMap;
use std::mem::offset_of;

pub(crate) type Emitted<T = ()> = Result<T, IcedError>;

pub(crate) const ZMM: [AsmRegisterZmm; 32] = [
    zmm0, zmm1, zmm2, zmm3, zmm4, zmm5, zmm6, zmm7, zmm8, zmm9, zmm10, zmm11, zmm12, zmm13, zmm14, zmm15,
    zmm16, zmm17, zmm18, zmm19, zmm20, zmm21, zmm22, zmm23, zmm24, zmm25, zmm26, zmm27, zmm28, zmm29, zmm30,
    zmm31,
];
pub(crate) const YMM: [AsmRegisterYmm; 32] = [
    ymm0, ymm1, ymm2, ymm3, ymm4, ymm5, ymm6, ymm7, ymm8, ymm9, ymm10, ymm11, ymm12, ymm13, ymm14, ymm15,
    ymm16, ymm17, ymm18, ymm19, ymm20, ymm21, ymm22, ymm23, ymm24, ymm25, ymm26, ymm27, ymm28, ymm29, ymm30,
    ymm31,
];
pub(crate) const XMM: [AsmRegisterXmm; 32] = [
    xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13, xmm14, xmm15,
    xmm16, xmm17, xmm18, xmm19, xmm20, xmm21, xmm22, xmm23, xmm24, xmm25, xmm26, xmm27, xmm28, xmm29, xmm30,
    xmm31,
];
pub(crate) const G64: [AsmRegister64; 16] =
    [rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15];
pub(crate) const G32: [AsmRegister32; 16] =
    [eax, ecx, edx, ebx, esp, ebp, esi, edi, r8d, r9d, r10d, r11d, r12d, r13d, r14d, r15d];

/// The number of `rax`.
pub(crate) const RAX: u8 = 0;
pub(crate) const RCX: u8 = 1;
pub(crate) const RDX: u8 = 2;

/// A vector operand.
#[derive(Clone, Copy)]
pub(crate) enum Vector {
    Register(u8),
    /// 64 bytes of memory.
    Memory(AsmMemoryOperand),
    /// The first word of a row, for all lanes.
    Broadcast(Slot),
}

/// A vector instruction with three operands, the last of which may be in memory.
macro_rules! vector3 {
    ($self:ident, $op:ident, $d:expr, $a:expr, $b:expr) => {
        match $b {
            Vector::Register(b) => $self.unit.a.$op($d, $a, ZMM[usize::from(b)])?,
            Vector::Memory(b) => $self.unit.a.$op($d, $a, b)?,
            Vector::Broadcast(slot) => {
                let b = $self.broadcast_of(slot);
                $self.unit.a.$op($d, $a, b)?
            }
        }
    };
}
pub(crate) use vector3;

/// A field of the context.
macro_rules! field {
    ($field:ident) => {
        (r15 + std::mem::offset_of!(crate::context::Context, $field))
    };
}
pub(crate) use field;

/// Everything that is assembled together: both kinds of code of a function, constants and stubs.
pub(crate) struct Unit {
    pub(crate) a: CodeAssembler,
    constants: HashMap<Vec<u8>, usize>,
    /// Where code returns to its caller.
    pub(crate) leave: CodeLabel,
    last_label: Option<usize>,
    /// Where the code of operations and other parts begins: the index of an instruction, and what it belongs to.
    pub(crate) marks: Vec<(usize, Part)>,
}

/// What instructions belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The code that is called.
    Frame,
    /// An operation, in code that all lanes execute together.
    Uniform(u32),
    /// An operation, in code that some lanes execute.
    Masked(u32),
    /// Entries, exits, and rare cases.
    Rest,
}

impl Unit {
    pub(crate) fn new() -> Emitted<Unit> {
        let mut a = CodeAssembler::new(64)?;
        let leave = a.create_label();
        Ok(Unit { a, constants: HashMap::new(), leave, last_label: None, marks: Vec::new() })
    }

    /// What follows belongs to a part.
    pub(crate) fn mark(&mut self, part: Part) {
        self.marks.push((self.a.instructions().len(), part));
    }

    /// Puts a label here. An instruction can have one label only.
    pub(crate) fn place(&mut self, label: &mut CodeLabel) -> Emitted {
        if self.last_label == Some(self.a.instructions().len()) {
            self.a.nop()?;
        }
        self.last_label = Some(self.a.instructions().len());
        self.a.set_label(label)
    }

    /// 64 bytes that code reads.
    pub(crate) fn bytes(&mut self, bytes: Vec<u8>) -> AsmMemoryOperand {
        let next = self.constants.len();
        let index = *self.constants.entry(bytes).or_insert(next);
        zmmword_ptr(r11 + 64 * index)
    }

    /// The constants, in their order.
    pub(crate) fn constants(&self) -> Vec<Register> {
        let mut constants = vec![Register::default(); self.constants.len()];
        for (bytes, &index) in &self.constants {
            for (word, bytes) in constants[index].0.iter_mut().zip(bytes.chunks_exact(8)) {
                *word = u64::from_le_bytes(std::array::from_fn(|n| bytes[n]));
            }
        }
        constants
    }

    /// A word for all lanes.
    pub(crate) fn word(&mut self, value: u32) -> AsmMemoryOperand {
        self.bytes(value.to_le_bytes().repeat(16))
    }

    /// A row of words that grow by a constant: a part of it.
    pub(crate) fn steps(&mut self, stride: i64, part: usize, wide: bool) -> AsmMemoryOperand {
        let lanes = if wide { 8 } else { 16 };
        let mut bytes = Vec::with_capacity(64);
        for lane in part * lanes..(part + 1) * lanes {
            let value = stride.wrapping_mul(lane as i64);
            if wide {
                bytes.extend_from_slice(&value.to_le_bytes());
            } else {
                bytes.extend_from_slice(&(value as u32).to_le_bytes());
            }
        }
        self.bytes(bytes)
    }

    /// 16 words of 32 bits.
    pub(crate) fn words(&mut self, words: [u32; 16]) -> AsmMemoryOperand {
        self.bytes(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }

    /// Begins the function that callers call: `extern "C" fn(*mut Context, code)`.
    pub(crate) fn prologue(&mut self) -> Emitted {
        self.mark(Part::Frame);
        let a = &mut self.a;
        for register in [rbx, rbp, r12, r13, r14, r15] {
            a.push(register)?;
        }
        a.sub(rsp, 8)?;
        a.mov(r15, rdi)?;
        a.mov(r12, qword_ptr(r15 + offset_of!(Context, narrow)))?;
        a.mov(r13, qword_ptr(r15 + offset_of!(Context, wide)))?;
        a.mov(r14, qword_ptr(r15 + offset_of!(Context, predicates)))?;
        a.mov(rbp, qword_ptr(r15 + offset_of!(Context, budget)))?;
        a.mov(r11, qword_ptr(r15 + offset_of!(Context, constants)))?;
        a.jmp(rsi)
    }

    /// Ends it.
    pub(crate) fn finish(&mut self) -> Emitted {
        let mut leave = self.leave;
        self.mark(Part::Frame);
        self.place(&mut leave)?;
        let a = &mut self.a;
        a.mov(qword_ptr(r15 + offset_of!(Context, budget)), rbp)?;
        a.vzeroupper()?;
        a.add(rsp, 8)?;
        for register in [r15, r14, r13, r12, rbp, rbx] {
            a.pop(register)?;
        }
        a.ret()
    }
}

/// Labels of the code of one mode, by block.
#[derive(Clone)]
pub(crate) struct Labels {
    /// The block itself.
    pub(crate) blocks: Vec<CodeLabel>,
    /// Entered from the frame: loads what the block reads. Of masked code: a routine that loads it for the lanes in
    /// `k6` and `k7`.
    pub(crate) enters: Vec<CodeLabel>,
    /// A routine of masked code that saves what the block reads.
    pub(crate) saves: Vec<CodeLabel>,
    /// From masked code to uniform code.
    pub(crate) switches: Vec<CodeLabel>,
    /// Masked code, entered from the frame.
    pub(crate) starts: Vec<CodeLabel>,
    /// Enters masked code at the block in `eax`.
    pub(crate) enter_masked: CodeLabel,
    /// Leaves masked code.
    pub(crate) leave_masked: CodeLabel,
    pub(crate) dispatch: CodeLabel,
}

impl Labels {
    pub(crate) fn new(unit: &mut Unit, blocks: usize) -> Labels {
        let mut labels = || (0..blocks).map(|_| unit.a.create_label()).collect::<Vec<_>>();
        let [blocks, enters, saves, switches, starts] = std::array::from_fn(|_| labels());
        let [enter_masked, leave_masked, dispatch] = std::array::from_fn(|_| unit.a.create_label());
        Labels { blocks, enters, saves, switches, starts, enter_masked, leave_masked, dispatch }
    }
}

/// Code that stands outside of the blocks.
#[derive(Clone, Copy)]
pub(crate) enum Late {
    /// Leaves compiled code before an operation.
    Exit { op: usize, label: CodeLabel },
    /// Leaves it before a block, when the budget is spent.
    Spent { block: usize, label: CodeLabel },
    /// Has the interpreter perform an operation, and goes on behind it.
    Slow { op: usize, label: CodeLabel, back: CodeLabel },
    /// A branch that diverges: the lanes that take it are in `eax`.
    Diverge { op: usize, label: CodeLabel },
    /// Masked code goes on with the lowest block at which lanes wait.
    Dispatch { block: usize, label: CodeLabel },
}

/// Emits the code of one mode of a function.
pub(crate) struct Emitter<'a> {
    pub(crate) unit: &'a mut Unit,
    pub(crate) function: &'a Function,
    pub(crate) flow: &'a Flow,
    pub(crate) classes: Classes,
    pub(crate) places: Vec<Place>,
    pub(crate) mode: Mode,
    /// Webs of f32 whose NaNs are made canonical when they are used.
    pub(crate) lazy: Vec<bool>,
    pub(crate) own: &'a mut Labels,
    /// The labels of the other mode.
    pub(crate) other: &'a Labels,
    /// Whether there is masked code.
    pub(crate) has_masked: bool,
    pub(crate) late: Vec<Late>,
    /// Only the lanes in the mask registers are written.
    pub(crate) masked: bool,
    /// An affine web whose first lane is in the last temporary register, since its place in the frame is written.
    held: Option<usize>,
}

/// The last temporary register.
const HELD: u8 = TEMPORARIES - 1;

impl<'a> Emitter<'a> {
    pub(crate) fn new(
        unit: &'a mut Unit,
        function: &'a Function,
        flow: &'a Flow,
        (shape, mode): (Shape, Mode),
        (own, other): (&'a mut Labels, &'a Labels),
        has_masked: bool,
    ) -> Emitter<'a> {
        let classes = Classes::of(function, flow, shape, mode);
        let places = places(flow, &classes, mode);
        let mut emitter = Emitter {
            unit,
            function,
            flow,
            classes,
            places,
            mode,
            lazy: Vec::new(),
            own,
            other,
            has_masked,
            late: Vec::new(),
            masked: mode == Mode::Masked,
            held: None,
        };
        emitter.lazy = (0..flow.webs.len()).map(|web| emitter.is_lazy(web)).collect();
        emitter
    }

    /// Whether all definitions of a web are results of arithmetic in f32, or constants that are numbers.
    fn is_lazy(&self, web: usize) -> bool {
        let is_number = |slot: Slot| {
            let constant = self.function.narrow_constants.iter().find(|(number, _)| *number == slot.number());
            let shared = self.function.shared_narrow.iter().any(|(number, _)| *number == slot.number());
            constant.is_some_and(|&(_, value)| !shared && !f32::from_bits(value).is_nan())
        };
        let number = |op: usize| match (&self.function.ops[op], self.flow.actions[op]) {
            (Op::Alu(alu), _) if alu.guard != Guard::ALWAYS => false,
            (Op::Alu(alu), Action::Compute(compute)) => match compute {
                Compute::Float(float) => !matches!(float, Float::Min | Float::Max),
                Compute::Copy(_) => {
                    alu.s.get(0).is_some_and(|slot| self.flow.is_fixed(slot) && is_number(slot))
                }
                _ => false,
            },
            _ => false,
        };
        let vector = matches!(self.places[web], Place::Vector(_)) && !self.flow.webs[web].is_wide();
        vector && self.flow.webs[web].defs.iter().all(|&op| number(op))
    }

    /// The memory of a part of a row: 64 bytes.
    pub(crate) fn row(&self, slot: Slot, part: usize) -> AsmMemoryOperand {
        let (base, bytes) = if slot.is_wide() { (r13, 256) } else { (r12, 128) };
        zmmword_ptr(base + (slot.number() as usize * bytes + 64 * part))
    }

    /// The first word of a row.
    pub(crate) fn first(&self, slot: Slot) -> AsmMemoryOperand {
        match slot.is_wide() {
            true => qword_ptr(r13 + slot.number() as usize * 256),
            false => dword_ptr(r12 + slot.number() as usize * 128),
        }
    }

    pub(crate) fn broadcast_of(&self, slot: Slot) -> AsmMemoryOperand {
        match slot.is_wide() {
            true => qword_bcst(r13 + slot.number() as usize * 256),
            false => dword_bcst(r12 + slot.number() as usize * 128),
        }
    }

    /// A predicate.
    pub(crate) fn predicate(&self, slot: Slot) -> AsmMemoryOperand {
        dword_ptr(r14 + slot.number() as usize * 4)
    }

    /// A part of a source, as an operand of an instruction on words as wide as the row's. `float` says that any NaN is
    /// as good as the canonical one. The temporary register may be used.
    pub(crate) fn source(
        &mut self,
        op: usize,
        slot: Slot,
        part: usize,
        temporary: u8,
        float: bool,
    ) -> Emitted<Vector> {
        if self.flow.is_fixed(slot) {
            return Ok(Vector::Memory(self.row(slot, part)));
        }
        let Some(web) = self.flow.read(op, slot) else { return Ok(Vector::Memory(self.row(slot, part))) };
        self.web_part(web, part, temporary, float)
    }

    /// A part of a web.
    pub(crate) fn web_part(
        &mut self,
        web: usize,
        part: usize,
        temporary: u8,
        float: bool,
    ) -> Emitted<Vector> {
        let slot = self.flow.webs[web].slot;
        let wide = slot.is_wide();
        let t = ZMM[usize::from(temporary)];
        match (self.classes.webs[web], self.places[web]) {
            (Class::Varying | Class::Unknown, Place::Vector(registers)) => {
                if self.lazy[web] && !float {
                    self.unit.a.vmovdqa64(t, ZMM[usize::from(registers[part])])?;
                    self.canonical(temporary)?;
                    return Ok(Vector::Register(temporary));
                }
                Ok(Vector::Register(registers[part]))
            }
            (Class::Varying | Class::Unknown, _) => Ok(Vector::Memory(self.row(slot, part))),
            (Class::Affine(0), Place::Frame) if self.held == Some(web) => Ok(Vector::Register(HELD)),
            (Class::Affine(0), Place::Frame) => Ok(Vector::Broadcast(slot)),
            (Class::Affine(stride), place) => {
                match (place, wide) {
                    _ if self.held == Some(web) => self.unit.a.vmovdqa64(t, ZMM[usize::from(HELD)])?,
                    (Place::Scalar(g), true) => self.unit.a.vpbroadcastq(t, G64[usize::from(g)])?,
                    (Place::Scalar(g), false) => self.unit.a.vpbroadcastd(t, G32[usize::from(g)])?,
                    (_, true) => self.unit.a.vpbroadcastq(t, self.first(slot))?,
                    (_, false) => self.unit.a.vpbroadcastd(t, self.first(slot))?,
                }
                if stride != 0 {
                    let steps = self.unit.steps(stride, part, wide);
                    match wide {
                        true => self.unit.a.vpaddq(t, t, steps)?,
                        false => self.unit.a.vpaddd(t, t, steps)?,
                    }
                }
                Ok(Vector::Register(temporary))
            }
        }
    }

    /// A part of a source, in a register: the temporary one, or its own, which must not be written.
    pub(crate) fn register(
        &mut self,
        op: usize,
        slot: Slot,
        part: usize,
        temporary: u8,
        float: bool,
    ) -> Emitted<u8> {
        let source = self.source(op, slot, part, temporary, float)?;
        self.in_register(source, slot.is_wide(), temporary)
    }

    pub(crate) fn in_register(&mut self, source: Vector, wide: bool, temporary: u8) -> Emitted<u8> {
        let t = ZMM[usize::from(temporary)];
        match source {
            Vector::Register(register) => return Ok(register),
            Vector::Memory(memory) => self.unit.a.vmovdqa64(t, memory)?,
            Vector::Broadcast(slot) => match wide {
                true => self.unit.a.vpbroadcastq(t, self.first(slot))?,
                false => self.unit.a.vpbroadcastd(t, self.first(slot))?,
            },
        }
        Ok(temporary)
    }

    /// Makes NaNs the canonical one.
    pub(crate) fn canonical(&mut self, register: u8) -> Emitted {
        let z = ZMM[usize::from(register)];
        let nan = self.unit.word(0x7fff_ffff);
        self.unit.a.vcmpps(k5, z, z, 3)?;
        self.unit.a.vmovdqa32(z.k5(), nan)
    }

    /// The register in which a part of a result may be computed: the web's own, if nothing needs a mask.
    pub(crate) fn target(&self, op: usize, slot: Slot, part: usize, temporary: u8) -> u8 {
        match self.flow.written(op, slot).map(|web| self.places[web]) {
            Some(Place::Vector(registers)) if !self.masked => registers[part],
            _ => temporary,
        }
    }

    /// Writes a part of a result that is in a register.
    pub(crate) fn put(&mut self, op: usize, slot: Slot, part: usize, from: u8) -> Emitted {
        let Some(web) = self.flow.written(op, slot) else { return Ok(()) };
        let (z, wide) = (ZMM[usize::from(from)], slot.is_wide());
        let place = self.places[web];
        if !self.masked {
            return match place {
                Place::Vector(registers) if registers[part] == from => Ok(()),
                Place::Vector(registers) => self.unit.a.vmovdqa64(ZMM[usize::from(registers[part])], z),
                _ => self.unit.a.vmovdqa64(self.row(slot, part), z),
            };
        }
        self.put_masked(place, slot, (part, wide), from)
    }

    fn put_masked(&mut self, place: Place, slot: Slot, (part, wide): (usize, bool), from: u8) -> Emitted {
        let z = ZMM[usize::from(from)];
        let row = self.row(slot, part);
        let a = &mut self.unit.a;
        if wide {
            let mask = if part < 2 { k6 } else { k7 };
            match part % 2 {
                0 => a.kmovw(k1, mask)?,
                _ => a.kshiftrw(k1, mask, 8)?,
            }
            return match place {
                Place::Vector(registers) => a.vmovdqa64(ZMM[usize::from(registers[part])].k1(), z),
                _ => a.vmovdqa64(row.k1(), z),
            };
        }
        match (place, part) {
            (Place::Vector(registers), 0) => a.vmovdqa32(ZMM[usize::from(registers[0])].k6(), z),
            (Place::Vector(registers), _) => a.vmovdqa32(ZMM[usize::from(registers[1])].k7(), z),
            (_, 0) => a.vmovdqa32(row.k6(), z),
            (_, _) => a.vmovdqa32(row.k7(), z),
        }
    }

    /// How many instructions begin from one operation to before another.
    pub(crate) fn instructions(&self, start: usize, end: usize) -> i32 {
        self.function.instructions_between(start, end).min(i32::MAX as u64) as i32
    }

    /// The class of a source.
    pub(crate) fn class(&self, op: usize, slot: Slot) -> Class {
        self.classes.source(self.flow, op, slot).0
    }

    /// The class of a result.
    pub(crate) fn result_class(&self, op: usize, slot: Slot) -> Class {
        self.flow.written(op, slot).map_or(Class::Varying, |web| self.classes.webs[web])
    }

    /// Emits an operation.
    pub(crate) fn operation(&mut self, op: usize) -> Emitted {
        let number = op as u32;
        self.unit.mark(match self.mode {
            Mode::Uniform => Part::Uniform(number),
            Mode::Masked => Part::Masked(number),
        });
        let function = self.function;
        match (self.flow.actions[op], &function.ops[op]) {
            (Action::Nothing, _) => Ok(()),
            (Action::Copy(d, s), _) => self.copy(op, d, s),
            (Action::Compute(compute), Op::Alu(alu)) => {
                self.hold(op)?;
                self.guarded(op, alu, compute)?;
                self.held = None;
                Ok(())
            }
            (Action::Exchange, Op::Other(_, step)) if self.mode == Mode::Uniform => match &**step {
                Step::Warp(warp) => self.exchange(op, warp),
                _ => self.exit(op),
            },
            (Action::Loop | Action::Step | Action::Exchange, _) => self.call_interpreter(op, None),
            (Action::Load | Action::Store, Op::Other(guard, step)) => self.access(op, *guard, step),
            (Action::Branch, Op::Branch(guard, target)) => self.branch(op, *guard, *target as usize),
            _ => self.exit(op),
        }
    }

    /// Keeps the first lane of an affine source whose place in the frame is also that of the result: the result is
    /// written part by part.
    fn hold(&mut self, op: usize) -> Emitted {
        let touches = &self.flow.touches[op];
        let is_held = |web: usize, slot: Slot| {
            matches!(self.classes.webs[web], Class::Affine(_))
                && self.places[web] == Place::Frame
                && touches.writes.iter().any(|write| write.slot == slot && write.web != web)
        };
        let held = touches.reads.iter().find(|read| is_held(read.web, read.slot));
        let Some(&Touch { slot, web }) = held else { return Ok(()) };
        if !touches.writes.iter().any(|write| self.classes.webs[write.web] == Class::Varying) {
            return Ok(());
        }
        let (z, first) = (ZMM[usize::from(HELD)], self.first(slot));
        match slot.is_wide() {
            true => self.unit.a.vpbroadcastq(z, first)?,
            false => self.unit.a.vpbroadcastd(z, first)?,
        }
        self.held = Some(web);
        Ok(())
    }

    fn copy(&mut self, op: usize, d: Slot, s: Slot) -> Emitted {
        if let Class::Affine(_) = self.result_class(op, d) {
            self.scalar_to(op, s, RAX)?;
            return self.put_scalar(op, d, RAX);
        }
        for part in 0..if d.is_wide() { 4 } else { 2 } {
            let target = self.target(op, d, part, 0);
            let from = self.register(op, s, part, target, false)?;
            self.put(op, d, part, from)?;
        }
        Ok(())
    }

    /// Arithmetic under a guard: lanes that do not pass keep what they have.
    fn guarded(&mut self, op: usize, alu: &Alu, compute: Compute) -> Emitted {
        let Some(predicate) = alu.guard.predicate() else { return self.compute(op, alu, compute) };
        let mut skip = self.unit.a.create_label();
        let holds = self.predicate(predicate);
        self.unit.a.mov(eax, holds)?;
        if alu.guard.is_negated() {
            self.unit.a.not(eax)?;
        }
        if self.mode == Mode::Masked {
            self.unit.a.and(eax, dword_ptr(field!(mask)))?;
        }
        self.unit.a.test(eax, eax)?;
        self.unit.a.jz(skip)?;
        self.load_mask(eax)?;
        let before = std::mem::replace(&mut self.masked, true);
        self.compute(op, alu, compute)?;
        self.masked = before;
        if self.mode == Mode::Masked {
            self.unit.place(&mut skip)?;
            self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
            return self.load_mask(eax);
        }
        self.unit.place(&mut skip)
    }

    /// Loads the mask registers.
    pub(crate) fn load_mask(&mut self, from: AsmRegister32) -> Emitted {
        self.unit.a.kmovd(k6, from)?;
        self.unit.a.kshiftrd(k7, k6, 16)
    }
}
