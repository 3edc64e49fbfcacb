//! Atomic operations of one lane after the other: the loop over lanes, and what is done to an element of memory.
//!
//! Where the CPU has no instruction for an operation, or its result is wanted, the new value is computed from the old one.
//! It is stored, or, in memory that other threads of the host may access, exchanged for the old one by `cmpxchg`, again and
//! again until no other thread has written in between.
//!
//! Sums of floats are those of the interpreter: in f32 there is one NaN, and in global memory subnormal numbers are zeros
//! (FTZ and DAZ are set in MXCSR meanwhile); in f64 NaNs stay as they are in global memory, and that of the operand is
//! preferred.

use super::atomic::{is_single_instruction, update};
use super::plain::Plain;
use super::{Emitted, Emitter, ZMM};
use crate::assembler::*;
use crate::context::{Context, Region};
use softwarp_ir::{Atomic, AtomicOp, Memory};
use softwarp_isa::Type;
use std::mem::offset_of;

/// What a lane does.
#[derive(Clone, Copy)]
struct Lane<'a> {
    atomic: &'a Atomic,
    /// The element, and where its result is kept.
    place: AsmMemoryOperand,
    result: AsmMemoryOperand,
    /// Whether the result is wanted.
    wanted: bool,
}

impl Lane<'_> {
    /// Whether no other thread of the host accesses the memory.
    fn is_alone(&self) -> bool {
        self.atomic.address.memory == Memory::Shared
    }
}

/// What an atomic operation is on.
pub(super) enum Number {
    Single,
    Double,
    Integer { signed: bool },
}

impl Number {
    /// Of an operation that has code ([`crate::memory::is_plain_atomic`]).
    pub(super) fn of(atomic: &Atomic) -> Emitted<Number> {
        match (atomic.ty, atomic.op) {
            (Type::F32, AtomicOp::Add) => Ok(Number::Single),
            (Type::F64, AtomicOp::Add) => Ok(Number::Double),
            (Type::S32 | Type::S64, _) => Ok(Number::Integer { signed: true }),
            (Type::U32 | Type::U64 | Type::B32 | Type::B64, _) => Ok(Number::Integer { signed: false }),
            _ => Err(Unencodable),
        }
    }
}

impl Emitter<'_> {
    /// A loop over the lanes that take part, for one of the elements that each has. Their offsets are in the context.
    pub(super) fn each_lane(
        &mut self,
        plain: &Plain<'_>,
        atomic: &Atomic,
        (n, wanted): (usize, bool),
    ) -> Emitted {
        let (op, bytes) = (plain.op, plain.bytes());
        if let Some(operand) = atomic.b[n] {
            self.store_lanes(op, operand)?;
        }
        // The second operand is where the result will be.
        for part in 0..bytes / 2 {
            let Some(c) = atomic.c else { break };
            let from = self.register(op, c, part, 4, false)?;
            let to = zmmword_ptr(r15 + (offset_of!(Context, lane_results) + 64 * part));
            self.unit.a.vmovdqu64(to, ZMM[usize::from(from)])?;
        }
        let (mut again, mut done) = (self.unit.a.create_label(), self.unit.a.create_label());
        self.active_lanes()?;
        let asm = &mut self.unit.a;
        for register in [rsi, rdi, r8, r9] {
            asm.push(register)?;
        }
        asm.mov(esi, ecx)?;
        asm.mov(rdx, plain.region(offset_of!(Region, host)).qword())?;
        let flushes = self.begin_flushing(atomic)?;
        self.unit.place(&mut again)?;
        let asm = &mut self.unit.a;
        asm.bsf(edi, esi)?;
        asm.jz(done)?;
        asm.lea(ecx, ptr(rsi - 1))?;
        asm.and(esi, ecx)?;
        match plain.is_wide() {
            true => asm.mov(rax, qword_ptr(r15 + rdi * 8 + offset_of!(Context, lane_offsets)))?,
            false => asm.mov(eax, dword_ptr(r15 + rdi * 4 + offset_of!(Context, lane_offsets)))?,
        }
        asm.lea(r8, ptr(rdx + rax))?;
        let [values, results] = [offset_of!(Context, lane_values), offset_of!(Context, lane_results)];
        let place = r8 + n * bytes;
        match bytes {
            8 => {
                asm.mov(rcx, qword_ptr(r15 + rdi * 8 + values))?;
                let (place, result) = (qword_ptr(place), qword_ptr(r15 + rdi * 8 + results));
                self.one_lane([rax, rcx, r9], Lane { atomic, place, result, wanted })?;
            }
            4 => {
                asm.mov(ecx, dword_ptr(r15 + rdi * 4 + values))?;
                let (place, result) = (dword_ptr(place), dword_ptr(r15 + rdi * 4 + results));
                self.one_lane([eax, ecx, r9d], Lane { atomic, place, result, wanted })?;
            }
            _ => return Err(Unencodable),
        }
        self.unit.a.jmp(again)?;
        self.unit.place(&mut done)?;
        if flushes {
            self.unit.a.vldmxcsr(dword_ptr(r15 + offset_of!(Context, float_control)))?;
        }
        for register in [r9, r8, rdi, rsi] {
            self.unit.a.pop(register)?;
        }
        Ok(())
    }

    /// Has floating-point instructions take subnormal numbers as zeros, where sums do; whether that has to be ended. The
    /// region's place in the host's memory is in `rdx`.
    fn begin_flushing(&mut self, atomic: &Atomic) -> Emitted<bool> {
        let sum = atomic.op == AtomicOp::Add && atomic.ty == Type::F32;
        if !sum || atomic.noftz || atomic.address.memory == Memory::Shared {
            return Ok(false);
        }
        let mut shared = self.unit.a.create_label();
        if atomic.address.memory == Memory::Generic {
            self.unit.a.cmp(rdx, own_shared())?;
            self.unit.a.jz(shared)?;
        }
        self.unit.a.vldmxcsr(dword_ptr(r15 + (offset_of!(Context, float_control) + 4)))?;
        self.unit.place(&mut shared)?;
        Ok(true)
    }

    /// The operation of a lane, whose operand is in the second register.
    fn one_lane<R: General>(&mut self, [old, operand, new]: [R; 3], lane: Lane<'_>) -> Emitted {
        let Lane { atomic, place, result, wanted } = lane;
        let alone = lane.is_alone();
        let asm = &mut self.unit.a;
        if atomic.op == AtomicOp::Exch && !alone {
            asm.xchg(place, operand)?;
            return if wanted { asm.mov(result, operand) } else { Ok(()) };
        }
        if atomic.op == AtomicOp::Cas {
            asm.mov(old, operand)?;
            asm.mov(new, result)?;
            match alone {
                true => asm.cmpxchg(place, new)?,
                false => asm.lock().cmpxchg(place, new)?,
            }
            return if wanted { asm.mov(result, old) } else { Ok(()) };
        }
        if is_single_instruction(atomic) && !wanted {
            return update(if alone { asm } else { asm.lock() }, atomic.op, place, operand);
        }
        if atomic.op == AtomicOp::Add && is_single_instruction(atomic) && !alone {
            asm.lock().xadd(place, operand)?;
            return asm.mov(result, operand);
        }
        let mut again = asm.create_label();
        asm.mov(old, place)?;
        self.unit.place(&mut again)?;
        match Number::of(atomic)? {
            Number::Single => self.sum_of_floats()?,
            Number::Double => self.sum_of_doubles(atomic.address.memory)?,
            Number::Integer { signed } => self.new_value([old, operand, new], atomic.op, signed)?,
        }
        let asm = &mut self.unit.a;
        match alone {
            true => asm.mov(place, new)?,
            false => {
                asm.lock().cmpxchg(place, new)?;
                asm.jnz(again)?;
            }
        }
        if wanted { asm.mov(result, old) } else { Ok(()) }
    }

    /// The new value of an integer.
    fn new_value<R: General>(
        &mut self,
        [old, operand, new]: [R; 3],
        operation: AtomicOp,
        signed: bool,
    ) -> Emitted {
        let asm = &mut self.unit.a;
        match operation {
            AtomicOp::Exch => asm.mov(new, operand),
            AtomicOp::Min => {
                asm.mov(new, operand)?;
                asm.cmp(old, operand)?;
                match signed {
                    true => asm.cmovl(new, old),
                    false => asm.cmovb(new, old),
                }
            }
            AtomicOp::Max => {
                asm.mov(new, operand)?;
                asm.cmp(old, operand)?;
                match signed {
                    true => asm.cmovg(new, old),
                    false => asm.cmova(new, old),
                }
            }
            // From the operand on, it begins again with 0.
            AtomicOp::Inc => {
                let mut below = asm.create_label();
                asm.lea(new, ptr(rax + 1))?;
                asm.cmp(old, operand)?;
                asm.jb(below)?;
                asm.xor(new, new)?;
                self.unit.place(&mut below)
            }
            AtomicOp::Dec => {
                asm.lea(new, ptr(rax - 1))?;
                asm.cmp(old, operand)?;
                asm.cmova(new, operand)?;
                asm.test(old, old)?;
                asm.cmovz(new, operand)
            }
            AtomicOp::And => {
                asm.mov(new, old)?;
                asm.and(new, operand)
            }
            AtomicOp::Or => {
                asm.mov(new, old)?;
                asm.or(new, operand)
            }
            AtomicOp::Xor => {
                asm.mov(new, old)?;
                asm.xor(new, operand)
            }
            AtomicOp::Add => {
                asm.mov(new, old)?;
                asm.add(new, operand)
            }
            AtomicOp::Cas => Err(Unencodable),
        }
    }

    /// The sum of `eax` and `ecx` in f32, in `r9d`.
    fn sum_of_floats(&mut self) -> Emitted {
        let asm = &mut self.unit.a;
        let mut number = asm.create_label();
        asm.vmov_to(xmm0, eax)?;
        asm.vmov_to(xmm1, ecx)?;
        asm.vaddss(xmm0, xmm0, xmm1)?;
        asm.vmov_from(r9d, xmm0)?;
        asm.vucomiss(xmm0, xmm0)?;
        asm.jnp(number)?;
        asm.mov(r9d, 0x7fff_ffffu32)?;
        self.unit.place(&mut number)
    }

    /// The sum of `rax` and `rcx` in f64, in `r9`. Of two NaNs, the CPU prefers that of the first, and makes it quiet.
    fn sum_of_doubles(&mut self, memory: Memory) -> Emitted {
        let asm = &mut self.unit.a;
        let [mut done, mut operand] = std::array::from_fn(|_| asm.create_label());
        asm.vmov_to(xmm0, rax)?;
        asm.vmov_to(xmm1, rcx)?;
        asm.vaddsd(xmm0, xmm0, xmm1)?;
        asm.vmov_from(r9, xmm0)?;
        if memory == Memory::Shared {
            return Ok(());
        }
        asm.vucomisd(xmm0, xmm0)?;
        asm.jnp(done)?;
        if memory == Memory::Generic {
            asm.cmp(rdx, own_shared())?;
            asm.jz(done)?;
        }
        asm.vmov_to(xmm0, rax)?;
        asm.vucomisd(xmm1, xmm1)?;
        asm.jp(operand)?;
        asm.vucomisd(xmm0, xmm0)?;
        asm.jnp(done)?;
        asm.mov(r9, rax)?;
        asm.jmp(done)?;
        self.unit.place(&mut operand)?;
        self.unit.a.mov(r9, rcx)?;
        self.unit.place(&mut done)
    }
}

/// Where the CTA's shared memory is in the host's.
fn own_shared() -> AsmMemoryOperand {
    qword_ptr(r15 + (offset_of!(Context, shared) + offset_of!(Region, host)))
}
