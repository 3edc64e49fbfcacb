//! Atomic operations on 32-bit integers, lane by lane, the lowest first.
//!
//! Only one thread of the host accesses the shared memory of a cluster, so that plain instructions do there: an
//! instruction for each lane where all take part and no result is wanted. In other memory they have the prefix `lock`.

use super::plain::Plain;
use super::{Emitted, Emitter, Late, RCX, XMM, ZMM, field};
use crate::assembler::*;
use crate::classes::Class;
use crate::context::{Context, POLLS, Region};
use crate::flow::before;
use crate::{Level, Mode};
use softwarp_ir::{Atomic, AtomicOp, Guard, Slot};
use softwarp_isa::Type;
use std::mem::offset_of;

/// The number of `rsi`.
const RSI: u8 = 6;

/// Changes a word of memory.
fn update(
    asm: &mut Assembler,
    operation: AtomicOp,
    place: AsmMemoryOperand,
    operand: AsmRegister32,
) -> Emitted {
    match operation {
        AtomicOp::And => asm.and(place, operand),
        AtomicOp::Or => asm.or(place, operand),
        AtomicOp::Xor => asm.xor(place, operand),
        _ => asm.add(place, operand),
    }
}

impl Emitter<'_> {
    /// Emits an atomic operation.
    pub(super) fn atomic(&mut self, op: usize, guard: Guard, atomic: &Atomic) -> Emitted {
        let (slow, back) = (self.unit.a.create_label(), self.unit.a.create_label());
        let (Some(base), Some(operand)) = (atomic.address.base, atomic.b.first().copied().flatten()) else {
            return self.call_interpreter(op, None);
        };
        self.late.push(Late::Slow { op, label: slow, back, apart: self.apart });
        let masked = self.begin_guard(guard, back)?;
        let plain = Plain::word(op, &atomic.address, (operand, base), slow, self.sites[op]);
        let is_read =
            |&d: &Slot| self.flow.written(op, d).is_some_and(|web| self.flow.is_live(web, before(op + 1)));
        let result = atomic.d.first().copied().flatten().filter(is_read);
        let is_plain = matches!(atomic.op, AtomicOp::Add | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
        self.offsets(&plain)?;
        match !self.masked && result.is_none() && plain.is_shared() && is_plain {
            true => self.all_lanes(&plain, atomic.op, operand)?,
            false => {
                self.store_offsets(base)?;
                self.store_operands(op, operand)?;
                self.each_lane(&plain, atomic, result.is_some())?;
            }
        }
        self.unit.a.inc(qword_ptr(field!(atomics)))?;
        if let Some(d) = result {
            for part in 0..2 {
                let from = zmmword_ptr(r15 + (offset_of!(Context, lane_results) + 64 * part));
                self.unit.a.vmovdqu64(zmm0, from)?;
                self.put(op, d, part, 0)?;
            }
        }
        self.count_poll(op, back)?;
        self.end_guard(guard, masked, back)
    }

    /// Counts an atomic operation as a poll, where lanes may wait elsewhere. Behind a branch in uniform code there are
    /// fewer operations than polls.
    fn count_poll(&mut self, op: usize, back: CodeLabel) -> Emitted {
        if self.runs_some() {
            self.unit.a.dec(dword_ptr(field!(turn)))?;
        }
        if self.mode == Mode::Masked {
            let label = self.unit.a.create_label();
            self.late.push(Late::Polled { op, label, back });
            self.unit.a.jz(label)?;
        }
        Ok(())
    }

    /// The polls of masked code have ended with an operation: it is left behind it, so that lanes that wait go first.
    /// Where none wait, it goes on.
    pub(super) fn end_turn(&mut self, op: usize, back: CodeLabel) -> Emitted {
        let mut others = self.unit.a.create_label();
        self.unit.a.cmp(dword_ptr(field!(first_pending)), -1)?;
        self.unit.a.jne(others)?;
        self.begin_turn()?;
        self.unit.a.jmp(back)?;
        self.unit.place(&mut others)?;
        self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
        self.load_mask(eax)?;
        let start = self.flow.blocks[self.flow.block_of[op]].start;
        self.leave_at(start, op + 1)
    }

    /// Counts polls from the start.
    pub(super) fn begin_turn(&mut self) -> Emitted {
        self.unit.a.mov(qword_ptr(field!(turn)), POLLS as i32)
    }

    /// Writes the lanes' offsets, which are in the first temporary registers, to the context.
    fn store_offsets(&mut self, base: Slot) -> Emitted {
        for (part, &offsets) in ZMM.iter().enumerate().take(if base.is_wide() { 4 } else { 2 }) {
            let to = zmmword_ptr(r15 + (offset_of!(Context, lane_offsets) + 64 * part));
            self.unit.a.vmovdqu64(to, offsets)?;
        }
        Ok(())
    }

    /// Writes the lanes' operands to the context.
    fn store_operands(&mut self, op: usize, operand: Slot) -> Emitted {
        for part in 0..2 {
            let from = self.register(op, operand, part, 4, false)?;
            let to = zmmword_ptr(r15 + (offset_of!(Context, lane_values) + 64 * part));
            self.unit.a.vmovdqu64(to, ZMM[usize::from(from)])?;
        }
        Ok(())
    }

    /// An instruction for each of all lanes, by the offsets in the first temporary registers.
    fn all_lanes(&mut self, plain: &Plain<'_>, operation: AtomicOp, operand: Slot) -> Emitted {
        let Some(base) = plain.base else { return Ok(()) };
        let uniform = self.class(plain.op, operand) == Class::UNIFORM;
        // With AVX2, code for vector instructions uses `rsi`.
        if uniform && !base.is_wide() && self.unit.level == Level::Avx512 {
            return self.all_lanes_alike(plain, operation, operand);
        }
        self.store_offsets(base)?;
        match uniform {
            true => self.scalar_to(plain.op, operand, RCX)?,
            false => self.store_operands(plain.op, operand)?,
        }
        let asm = &mut self.unit.a;
        asm.mov(rdx, plain.region(offset_of!(Region, host)).qword())?;
        let place = dword_ptr(rdx + rax);
        for lane in 0..32 {
            match base.is_wide() {
                true => asm.mov(rax, qword_ptr(r15 + (offset_of!(Context, lane_offsets) + 8 * lane)))?,
                false => asm.mov(eax, dword_ptr(r15 + (offset_of!(Context, lane_offsets) + 4 * lane)))?,
            }
            if !uniform {
                asm.mov(ecx, dword_ptr(r15 + (offset_of!(Context, lane_values) + 4 * lane)))?;
            }
            update(asm, operation, place, ecx)?;
        }
        Ok(())
    }

    /// The same with an operand that all lanes have. Offsets, of 32 bits, are taken from vector registers in pairs.
    fn all_lanes_alike(&mut self, plain: &Plain<'_>, operation: AtomicOp, operand: Slot) -> Emitted {
        self.unit.a.push(rsi)?;
        self.scalar_to(plain.op, operand, RSI)?;
        let asm = &mut self.unit.a;
        asm.mov(rdx, plain.region(offset_of!(Region, host)).qword())?;
        let [low, high] = [dword_ptr(rdx + rcx), dword_ptr(rdx + rax)];
        for part in 0..2 {
            for quarter in 0..4 {
                let four = match quarter {
                    0 => XMM[part],
                    _ => {
                        asm.vextracti32x4(xmm4, ZMM[part], quarter)?;
                        xmm4
                    }
                };
                for pair in 0..2 {
                    match pair {
                        0 => asm.vmovq(rax, four)?,
                        _ => asm.vpextrq(rax, four, 1)?,
                    }
                    asm.mov(ecx, eax)?;
                    asm.shr(rax, 32u32)?;
                    update(asm, operation, low, esi)?;
                    update(asm, operation, high, esi)?;
                }
            }
        }
        asm.pop(rsi)
    }

    /// A loop over the lanes that take part.
    fn each_lane(&mut self, plain: &Plain<'_>, atomic: &Atomic, wanted: bool) -> Emitted {
        let (mut again, mut done) = (self.unit.a.create_label(), self.unit.a.create_label());
        let host = plain.region(offset_of!(Region, host)).qword();
        let (masked, wide) = (self.masked, plain.is_wide());
        let asm = &mut self.unit.a;
        match masked {
            true => {
                asm.kunpckwd(k1, k7, k6)?;
                asm.kmovd(ecx, k1)?;
            }
            false => asm.mov(ecx, -1)?,
        }
        for register in [rsi, rdi, r8] {
            asm.push(register)?;
        }
        asm.mov(esi, ecx)?;
        asm.mov(rdx, host)?;
        self.unit.place(&mut again)?;
        let asm = &mut self.unit.a;
        asm.bsf(edi, esi)?;
        asm.jz(done)?;
        asm.lea(ecx, ptr(rsi - 1))?;
        asm.and(esi, ecx)?;
        match wide {
            true => asm.mov(rax, qword_ptr(r15 + rdi * 8 + offset_of!(Context, lane_offsets)))?,
            false => asm.mov(eax, dword_ptr(r15 + rdi * 4 + offset_of!(Context, lane_offsets)))?,
        }
        asm.mov(ecx, dword_ptr(r15 + rdi * 4 + offset_of!(Context, lane_values)))?;
        self.one_lane(atomic, plain.is_shared(), wanted)?;
        self.unit.a.jmp(again)?;
        self.unit.place(&mut done)?;
        for register in [r8, rdi, rsi] {
            self.unit.a.pop(register)?;
        }
        Ok(())
    }

    /// The operation of lane `edi` at `rdx + rax` with the operand `ecx`.
    fn one_lane(&mut self, atomic: &Atomic, shared: bool, wanted: bool) -> Emitted {
        let result = dword_ptr(r15 + rdi * 4 + offset_of!(Context, lane_results));
        let place = dword_ptr(rdx + rax);
        let asm = &mut self.unit.a;
        if !shared && wanted {
            asm.lock().xadd(place, ecx)?;
            return asm.mov(result, ecx);
        }
        if !shared {
            return match atomic.op {
                AtomicOp::And => asm.lock().and(place, ecx),
                AtomicOp::Or => asm.lock().or(place, ecx),
                AtomicOp::Xor => asm.lock().xor(place, ecx),
                _ => asm.lock().add(place, ecx),
            };
        }
        let is_plain = matches!(atomic.op, AtomicOp::Add | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
        if is_plain && !wanted {
            return update(asm, atomic.op, place, ecx);
        }
        asm.mov(r8d, place)?;
        if wanted {
            asm.mov(result, r8d)?;
        }
        let signed = atomic.ty == Type::S32;
        match atomic.op {
            AtomicOp::And => asm.and(ecx, r8d)?,
            AtomicOp::Or => asm.or(ecx, r8d)?,
            AtomicOp::Xor => asm.xor(ecx, r8d)?,
            AtomicOp::Min | AtomicOp::Max => {
                asm.cmp(r8d, ecx)?;
                match (atomic.op, signed) {
                    (AtomicOp::Min, true) => asm.cmovl(ecx, r8d)?,
                    (AtomicOp::Min, false) => asm.cmovb(ecx, r8d)?,
                    (_, true) => asm.cmovg(ecx, r8d)?,
                    (_, false) => asm.cmova(ecx, r8d)?,
                }
            }
            _ => asm.add(ecx, r8d)?,
        }
        asm.mov(place, ecx)
    }
}
