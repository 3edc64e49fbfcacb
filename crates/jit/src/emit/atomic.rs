//! Atomic operations, lane by lane, the lowest first (`update.rs` has the loop), and polls.
//!
//! Only one thread of the host accesses the shared memory of a cluster, so that plain instructions do there: an
//! instruction for each lane where all take part, no result is wanted, and it is on 32-bit integers. In other memory they
//! have the prefix `lock`.

use super::plain::Plain;
use super::update::Number;
use super::{Emitted, Emitter, Late, RCX, XMM, ZMM, field};
use crate::assembler::*;
use crate::classes::Class;
use crate::context::{Context, POLL_COST, POLLS, Region};
use crate::flow::before;
use crate::{Level, Mode};
use softwarp_ir::{Atomic, AtomicOp, Guard, Slot, Step};
use std::mem::offset_of;

/// The number of `rsi`.
const RSI: u8 = 6;

/// Whether an operation is one instruction of the CPU, where its result is not wanted.
pub(super) fn is_single_instruction(atomic: &Atomic) -> bool {
    let integer = matches!(Number::of(atomic), Ok(Number::Integer { .. }));
    integer
        && match atomic.op {
            AtomicOp::Add | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => true,
            AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Inc | AtomicOp::Dec => false,
            AtomicOp::Min | AtomicOp::Max => false,
        }
}

/// Changes a word of memory by such an instruction.
pub(super) fn update<R: General>(
    asm: &mut Assembler,
    operation: AtomicOp,
    place: AsmMemoryOperand,
    operand: R,
) -> Emitted {
    match operation {
        AtomicOp::And => asm.and(place, operand),
        AtomicOp::Or => asm.or(place, operand),
        AtomicOp::Xor => asm.xor(place, operand),
        AtomicOp::Add => asm.add(place, operand),
        AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Inc | AtomicOp::Dec => Err(Unencodable),
        AtomicOp::Min | AtomicOp::Max => Err(Unencodable),
    }
}

impl Emitter<'_> {
    /// Emits an atomic operation.
    pub(super) fn atomic(&mut self, op: usize, guard: Guard, atomic: &Atomic) -> Emitted {
        let (slow, back) = (self.unit.a.create_label(), self.unit.a.create_label());
        let Some(operand) = atomic.b.first().copied().flatten() else {
            return self.call_interpreter(op, None);
        };
        self.late.push(Late::Slow { op, label: slow, back, apart: self.apart });
        let masked = self.begin_guard(guard, back)?;
        let plain = Plain::atomic(op, atomic, operand, slow, self.sites[op]);
        let is_read =
            |&d: &Slot| self.flow.written(op, d).is_some_and(|web| self.flow.is_live(web, before(op + 1)));
        let results: Vec<Option<Slot>> =
            (0..atomic.b.len()).map(|n| atomic.d.get(n).copied().flatten().filter(is_read)).collect();
        self.offsets(&plain)?;
        let instructions = !self.masked && results == [None] && plain.is_shared() && !operand.is_wide();
        match plain.base.filter(|_| instructions && is_single_instruction(atomic)) {
            Some(base) => self.all_lanes(&plain, atomic.op, (operand, base))?,
            None => {
                self.store_offsets(plain.is_wide())?;
                for (n, result) in results.into_iter().enumerate() {
                    self.each_lane(&plain, atomic, (n, result.is_some()))?;
                    self.put_results(op, result)?;
                }
            }
        }
        self.unit.a.inc(qword_ptr(field!(atomics)))?;
        self.count_poll(op, back)?;
        self.end_guard(guard, masked, back)
    }

    /// Emits a strong load.
    pub(super) fn poll(&mut self, op: usize, guard: Guard, step: &Step) -> Emitted {
        let mut back = self.unit.a.create_label();
        self.access(op, guard, step)?;
        self.unit.a.sub(rbp, POLL_COST as i32)?;
        self.unit.a.add(qword_ptr(field!(polled)), POLL_COST as i32)?;
        self.count_poll(op, back)?;
        self.unit.place(&mut back)
    }

    /// Writes the results of the lanes.
    fn put_results(&mut self, op: usize, result: Option<Slot>) -> Emitted {
        let Some(d) = result else { return Ok(()) };
        for part in 0..if d.is_wide() { 4 } else { 2 } {
            let from = zmmword_ptr(r15 + (offset_of!(Context, lane_results) + 64 * part));
            self.unit.a.vmovdqu64(zmm0, from)?;
            self.put(op, d, part, 0)?;
        }
        Ok(())
    }

    /// Counts an atomic operation or a strong load as a poll, where lanes may wait elsewhere. Behind a branch in uniform code there are
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
    fn store_offsets(&mut self, wide: bool) -> Emitted {
        for (part, &offsets) in ZMM.iter().enumerate().take(if wide { 4 } else { 2 }) {
            let to = zmmword_ptr(r15 + (offset_of!(Context, lane_offsets) + 64 * part));
            self.unit.a.vmovdqu64(to, offsets)?;
        }
        Ok(())
    }

    /// An instruction for each of all lanes, by the offsets in the first temporary registers.
    fn all_lanes(
        &mut self,
        plain: &Plain<'_>,
        operation: AtomicOp,
        (operand, base): (Slot, Slot),
    ) -> Emitted {
        let uniform = self.class(plain.op, operand) == Class::UNIFORM;
        // With AVX2, code for vector instructions uses `rsi`.
        if uniform && !base.is_wide() && self.unit.level == Level::Avx512 {
            return self.all_lanes_alike(plain, operation, operand);
        }
        self.store_offsets(base.is_wide())?;
        match uniform {
            true => self.scalar_to(plain.op, operand, RCX)?,
            false => self.store_lanes(plain.op, operand)?,
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
                let four = match quarter == 0 {
                    true => XMM[part],
                    false => {
                        asm.vextracti32x4(xmm4, ZMM[part], quarter)?;
                        xmm4
                    }
                };
                for pair in 0..2 {
                    match pair == 0 {
                        true => asm.vmovq(rax, four)?,
                        false => asm.vpextrq(rax, four, 1)?,
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
}
