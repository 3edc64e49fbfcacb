//! The warps of a CTA together: where all threads of all warps come to the same barrier they go on behind it, and where
//! all have ended the next CTA begins, without a return to the caller.
//!
//! Warps run one after the other. The first one decides which barrier or end the others have to come to
//! ([`Context::stop`]). If one is left elsewhere, or the budget is spent, the caller goes on with each warp from where it
//! stands.

use super::{Emitted, Emitter, G32, G64, Late, Unit, field};
use crate::assembler::*;
use crate::classes::Class;
use crate::context::{COMPACT, Context, Entry, MIXED};
use crate::flow::before;
use crate::places::Place;
use softwarp_ir::{Function, Guard, Op, Slot, Step};
use softwarp_isa::device::BARRIERS;
use std::mem::offset_of;

/// Whether compiled code can begin a kernel again, in the frames of a CTA that has ended.
pub(crate) fn begins_ctas(function: &Function) -> bool {
    function.start.zeroed.is_some() && function.parameter_bytes == 0
}

impl Unit {
    /// Where warps are left at barriers and ends: in a CTA whose warps are together, the last warp goes on for all.
    pub(super) fn arrivals(&mut self) -> Emitted {
        let [mut arrive, mut resume, mut spent] = [self.arrive, self.resume, self.leave_together];
        let leave = self.leave;
        let [mut differs, mut counted, mut all] = std::array::from_fn(|_| self.a.create_label());
        let [mut apart, mut again] = std::array::from_fn(|_| self.a.create_label());
        self.place(&mut arrive)?;
        let a = &mut self.a;
        a.cmp(dword_ptr(r15 + offset_of!(Context, stop)), eax)?;
        a.jne(differs)?;
        self.place(&mut counted)?;
        let a = &mut self.a;
        a.mov(rax, qword_ptr(r15 + offset_of!(Context, current)))?;
        a.add(rax, size_of::<Entry>() as i32)?;
        a.cmp(rax, qword_ptr(r15 + offset_of!(Context, last)))?;
        a.jae(all)?;
        a.test(rbp, rbp)?;
        a.jle(spent)?;
        a.mov(qword_ptr(r15 + offset_of!(Context, current)), rax)?;
        self.enter_warp()?;
        // The first warp of a CTA decides where the others have to come to.
        self.place(&mut differs)?;
        let a = &mut self.a;
        a.mov(rcx, qword_ptr(r15 + offset_of!(Context, current)))?;
        a.cmp(rcx, qword_ptr(r15 + offset_of!(Context, first)))?;
        a.jne(apart)?;
        a.mov(dword_ptr(r15 + offset_of!(Context, stop)), eax)?;
        a.jmp(counted)?;
        self.place(&mut all)?;
        self.a.test(rbp, rbp)?;
        self.a.jle(spent)?;
        self.a.jmp(rdx)?;
        // The budget is spent: the current warp has come to the same place as those before it.
        self.place(&mut spent)?;
        self.a.mov(eax, dword_ptr(r15 + offset_of!(Context, stop)))?;
        // It is left by itself, as any other from here on.
        self.place(&mut apart)?;
        self.a.mov(dword_ptr(r15 + offset_of!(Context, exit)), eax)?;
        self.a.jmp(leave)?;
        self.place(&mut resume)?;
        let a = &mut self.a;
        a.mov(rcx, qword_ptr(r15 + offset_of!(Context, first)))?;
        a.mov(qword_ptr(r15 + offset_of!(Context, current)), rcx)?;
        a.mov(rsi, qword_ptr(r15 + offset_of!(Context, last)))?;
        self.place(&mut again)?;
        let a = &mut self.a;
        a.mov(dword_ptr(rcx + offset_of!(Entry, op)), eax)?;
        a.mov(qword_ptr(rcx + offset_of!(Entry, target)), rdx)?;
        a.add(rcx, size_of::<Entry>() as i32)?;
        a.cmp(rcx, rsi)?;
        a.jb(again)?;
        a.mov(rax, qword_ptr(r15 + offset_of!(Context, current)))?;
        self.enter_warp()
    }

    /// Enters the warp in `rax`, with all its lanes.
    fn enter_warp(&mut self) -> Emitted {
        let a = &mut self.a;
        a.mov(r12, qword_ptr(rax + offset_of!(Entry, narrow)))?;
        a.mov(r13, qword_ptr(rax + offset_of!(Entry, wide)))?;
        a.mov(r14, qword_ptr(rax + offset_of!(Entry, predicates)))?;
        a.jmp(qword_ptr(rax + offset_of!(Entry, target)))
    }

    /// The warps before the current one have come to [`Context::stop`], if warps were together: their entries are
    /// written, and warps are no longer together. `rcx` and `rdx` are used.
    pub(super) fn dissolve(&mut self) -> Emitted {
        let [mut again, mut done] = std::array::from_fn(|_| self.a.create_label());
        let a = &mut self.a;
        a.mov(rcx, qword_ptr(r15 + offset_of!(Context, first)))?;
        a.test(rcx, rcx)?;
        a.jz(done)?;
        a.mov(edx, dword_ptr(r15 + offset_of!(Context, stop)))?;
        self.place(&mut again)?;
        let a = &mut self.a;
        a.cmp(rcx, qword_ptr(r15 + offset_of!(Context, current)))?;
        a.jae(done)?;
        a.mov(dword_ptr(rcx + offset_of!(Entry, op)), edx)?;
        a.mov(qword_ptr(rcx + offset_of!(Entry, left)), rbp)?;
        a.add(rcx, size_of::<Entry>() as i32)?;
        a.jmp(again)?;
        self.place(&mut done)?;
        let a = &mut self.a;
        a.mov(qword_ptr(r15 + offset_of!(Context, first)), 0)?;
        a.mov(dword_ptr(r15 + offset_of!(Context, stop)), MIXED as i32)
    }
}

impl Emitter<'_> {
    /// Leaves uniform code before a barrier. Affine values are written to the first lanes of their rows only, since
    /// nearly always code is entered behind the barrier again.
    pub(super) fn leave_at_barrier(&mut self, start: usize, op: usize) -> Emitted {
        let mut affine = Vec::new();
        for web in self.live_at(before(op)) {
            let written = self.is_written(web, op);
            let Class::Affine(steps) = self.classes.webs[web] else {
                if written {
                    self.save(web)?;
                }
                continue;
            };
            let slot = self.flow.webs[web].slot;
            affine.push((slot, steps));
            if !written {
                continue;
            }
            let first = self.first(slot);
            match (self.places[web], slot.is_wide()) {
                (Place::Scalar(from), true) => self.unit.a.mov(first, G64[usize::from(from)])?,
                (Place::Scalar(from), false) => self.unit.a.mov(first, G32[usize::from(from)])?,
                _ => {}
            }
        }
        let at = self.at_barriers.partition_point(|(other, _)| *other < op as u32);
        if self.at_barriers.get(at).is_none_or(|(other, _)| *other != op as u32) {
            self.at_barriers.insert(at, (op as u32, affine));
        }
        self.pay(start, op)?;
        let at = op as u32 | COMPACT;
        if !self.has_constant_number(op) {
            self.unit.a.mov(dword_ptr(field!(exit)), at as i32)?;
            return self.leave();
        }
        let label = self.arrive(at)?;
        self.late.push(Late::Behind { op, label });
        Ok(())
    }

    /// Whether a web may have been written since code was entered, before an operation. Otherwise its row has it.
    fn is_written(&mut self, web: usize, op: usize) -> bool {
        let block = self.flow.block_of[op];
        let flow = self.flow;
        let written = self.written.get_or_insert_with(|| flow.written_since_entry());
        let mut inside = flow.blocks[block].start..op;
        written[block][web] || inside.any(|op| flow.writes(op).iter().any(|touch| touch.web == web))
    }

    /// A warp has come to a barrier or an end. Returns the label of the code that runs when all have.
    fn arrive(&mut self, at: u32) -> Emitted<CodeLabel> {
        let (together, arrive) = (self.unit.a.create_label(), self.unit.arrive);
        self.unit.a.mov(eax, at as i32)?;
        self.unit.a.lea_label(rdx, together)?;
        self.unit.a.jmp(arrive)?;
        Ok(together)
    }

    /// Whether an operation ends all threads.
    pub(super) fn is_end(&self, op: usize) -> bool {
        match self.function.ops.get(op) {
            Some(Op::Other(Guard::ALWAYS, step)) => matches!(**step, Step::Return | Step::Exit),
            _ => false,
        }
    }

    /// Whether the number of a barrier is a constant, and there is such a barrier.
    fn has_constant_number(&self, op: usize) -> bool {
        let Some(Op::Other(_, step)) = self.function.ops.get(op) else { return false };
        let Step::Barrier(barrier) = &**step else { return false };
        let slot = barrier.number;
        let number = self.function.narrow_constants.iter().find(|(constant, _)| *constant == slot.number());
        !slot.is_wide() && number.is_some_and(|&(_, number)| number < BARRIERS)
    }

    /// Leaves uniform code at the end of the kernel.
    pub(super) fn leave_at_end(&mut self, start: usize, op: usize) -> Emitted {
        self.pay(start, op)?;
        let label = self.arrive(op as u32)?;
        self.late.push(Late::Ended { op, label });
        Ok(())
    }

    /// Pays for an operation that all warps of the CTA execute.
    fn pay_for_all(&mut self, op: usize) -> Emitted {
        let count = self.instructions(op, op + 1);
        if count != 0 {
            self.unit.a.mov(eax, dword_ptr(field!(warps)))?;
            self.unit.a.imul_3(eax, eax, count)?;
            self.unit.a.sub(rbp, rax)?;
        }
        Ok(())
    }

    /// All warps have come to a barrier, and go on behind it.
    pub(super) fn go_on_behind(&mut self, op: usize) -> Emitted {
        let behind = self.flow.block_of.get(op + 1).copied();
        let Some(block) = behind.filter(|&block| self.flow.blocks[block].start == op + 1) else {
            let leave = self.unit.leave_together;
            return self.unit.a.jmp(leave);
        };
        let passed = *self.own.passed[block].get_or_insert_with(|| self.unit.a.create_label());
        self.pay_for_all(op)?;
        let resume = self.unit.resume;
        self.unit.a.lea_label(rdx, passed)?;
        self.unit.a.mov(eax, op as i32 + 1)?;
        self.unit.a.jmp(resume)
    }

    /// All warps have ended: the next CTA begins in their place, if the caller has one.
    pub(super) fn begin_next_cta(&mut self, op: usize) -> Emitted {
        let (leave, resume) = (self.unit.leave_together, self.unit.resume);
        let mut begin = self.unit.a.create_label();
        let asm = &mut self.unit.a;
        asm.vzeroupper()?;
        asm.mov(rdi, r15)?;
        asm.call(qword_ptr(field!(next_cta)))?;
        asm.mov(r11, qword_ptr(field!(constants)))?;
        asm.test(eax, eax)?;
        asm.jz(leave)?;
        self.pay_for_all(op)?;
        self.unit.a.lea_label(rdx, begin)?;
        self.unit.a.xor(eax, eax)?;
        self.unit.a.jmp(resume)?;
        self.unit.place(&mut begin)?;
        self.prepare_frame()?;
        let first = self.own.enters[0];
        self.unit.a.jmp(first)
    }

    /// Makes the frame what it is at the beginning of a CTA: `%ctaid`, and zeros in what may be read before it is
    /// written.
    fn prepare_frame(&mut self) -> Emitted {
        for &(slot, axis) in &self.function.start.of_cta {
            let place = r15 + (offset_of!(Context, cta) + 4 * usize::from(axis).min(3));
            self.unit.a.vpbroadcastd(zmm0, dword_ptr(place))?;
            for part in 0..2 {
                let row = self.row(Slot::narrow(slot), part);
                self.unit.a.vmovdqa64(row, zmm0)?;
            }
        }
        if let Some([narrow, wide]) = &self.function.start.zeroed {
            self.unit.a.vpxord(zmm0, zmm0, zmm0)?;
            let narrow = narrow.iter().map(|&slot| (Slot::narrow(slot), 2));
            for (slot, parts) in narrow.chain(wide.iter().map(|&slot| (Slot::wide(slot), 4))) {
                for part in 0..parts {
                    let row = self.row(slot, part);
                    self.unit.a.vmovdqa64(row, zmm0)?;
                }
            }
        }
        for predicate in 0..self.function.predicates {
            self.unit.a.mov(dword_ptr(r14 + 4 * predicate as usize), 0)?;
        }
        Ok(())
    }
}
