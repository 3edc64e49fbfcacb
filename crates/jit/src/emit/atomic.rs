//! Atomic operations on 32-bit integers, lane by lane, the lowest first.
//!
//! Only one thread of the host accesses the shared memory of a cluster, so that plain instructions do there. In other
//! memory they have the prefix `lock`.

use super::plain::Plain;
use super::{Emitted, Emitter, Late, ZMM, field};
use crate::assembler::*;
use crate::context::{Context, Region};
use softwarp_ir::{Atomic, AtomicOp, Guard, Slot};
use softwarp_isa::Type;
use std::mem::offset_of;

impl Emitter<'_> {
    /// Emits an atomic operation.
    pub(super) fn atomic(&mut self, op: usize, guard: Guard, atomic: &Atomic) -> Emitted {
        let (slow, back) = (self.unit.a.create_label(), self.unit.a.create_label());
        let (Some(base), Some(operand)) = (atomic.address.base, atomic.b.first().copied().flatten()) else {
            return self.call_interpreter(op, None);
        };
        self.late.push(Late::Slow { op, label: slow, back, apart: self.apart });
        let before = self.begin_guard(guard, back)?;
        let plain = Plain::word(op, &atomic.address, (operand, base), slow, self.sites[op]);
        self.offsets(&plain)?;
        self.lanes_of(base, operand, op)?;
        self.each_lane(&plain, atomic)?;
        self.unit.a.inc(qword_ptr(field!(atomics)))?;
        if let Some(d) = atomic.d.first().copied().flatten() {
            for part in 0..2 {
                let from = zmmword_ptr(r15 + (offset_of!(Context, lane_results) + 64 * part));
                self.unit.a.vmovdqu64(zmm0, from)?;
                self.put(op, d, part, 0)?;
            }
        }
        self.end_guard(guard, before, back)
    }

    /// Writes the lanes' offsets, which are in the first temporary registers, and their operands to the context.
    fn lanes_of(&mut self, base: Slot, operand: Slot, op: usize) -> Emitted {
        for (part, &offsets) in ZMM.iter().enumerate().take(if base.is_wide() { 4 } else { 2 }) {
            let to = zmmword_ptr(r15 + (offset_of!(Context, lane_offsets) + 64 * part));
            self.unit.a.vmovdqu64(to, offsets)?;
        }
        for part in 0..2 {
            let from = self.register(op, operand, part, 4, false)?;
            let to = zmmword_ptr(r15 + (offset_of!(Context, lane_values) + 64 * part));
            self.unit.a.vmovdqu64(to, ZMM[usize::from(from)])?;
        }
        Ok(())
    }

    /// A loop over the lanes that take part.
    fn each_lane(&mut self, plain: &Plain<'_>, atomic: &Atomic) -> Emitted {
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
        self.one_lane(atomic, plain.is_shared())?;
        self.unit.a.jmp(again)?;
        self.unit.place(&mut done)?;
        for register in [r8, rdi, rsi] {
            self.unit.a.pop(register)?;
        }
        Ok(())
    }

    /// The operation of lane `edi` at `rdx + rax` with the operand `ecx`.
    fn one_lane(&mut self, atomic: &Atomic, shared: bool) -> Emitted {
        let result = dword_ptr(r15 + rdi * 4 + offset_of!(Context, lane_results));
        let wanted = atomic.d.iter().any(Option::is_some);
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
            return match atomic.op {
                AtomicOp::And => asm.and(place, ecx),
                AtomicOp::Or => asm.or(place, ecx),
                AtomicOp::Xor => asm.xor(place, ecx),
                _ => asm.add(place, ecx),
            };
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
