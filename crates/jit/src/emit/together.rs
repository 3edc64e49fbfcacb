//! The warps of a CTA together: where all threads of all warps come to the same barrier they go on behind it, and where
//! all have ended the next CTA begins, without a return to the caller.
//!
//! Warps run one after the other. The first one decides which barrier or end the others have to come to
//! ([`Context::stop`]). If one is left elsewhere, or the budget is spent, the caller goes on with each warp from where it
//! stands.

use super::{Emitted, Emitter, G32, G64, Late, Unit, field};
use crate::Mode;
use crate::assembler::*;
use crate::blocks::Block;
use crate::classes::Class;
use crate::context::{COMPACT, Context, Entry, MIXED};
use crate::decode::value_of;
use crate::flow::before;
use crate::places::Place;
use crate::stops;
use softwarp_ir::{Op, Slot, Step};
use softwarp_isa::device::BARRIERS;
use std::mem::offset_of;

impl Unit {
    /// Where warps are left at barriers and ends that the code there does not deal with.
    pub(super) fn arrivals(&mut self) -> Emitted {
        let [mut arrive, mut spent] = [self.arrive, self.leave_together];
        let (leave, mut apart) = (self.leave, self.a.create_label());
        self.place(&mut arrive)?;
        // The first warp of a CTA decides where the others have to come to.
        let a = &mut self.a;
        a.mov(rcx, qword_ptr(r15 + offset_of!(Context, current)))?;
        a.cmp(rcx, qword_ptr(r15 + offset_of!(Context, first)))?;
        a.jne(apart)?;
        a.mov(dword_ptr(r15 + offset_of!(Context, stop)), eax)?;
        a.jmp(rdx)?;
        // The budget is spent: the current warp has come to the same place as those before it.
        self.place(&mut spent)?;
        self.a.mov(eax, dword_ptr(r15 + offset_of!(Context, stop)))?;
        // It is left by itself, as any other from here on.
        self.place(&mut apart)?;
        self.a.mov(dword_ptr(r15 + offset_of!(Context, exit)), eax)?;
        self.a.jmp(leave)
    }

    /// Enters the warp in `rax`, with all its lanes, where warps that are together were entered last.
    pub(super) fn enter_warp(&mut self) -> Emitted {
        let a = &mut self.a;
        a.mov(qword_ptr(r15 + offset_of!(Context, current)), rax)?;
        a.mov(r12, qword_ptr(rax + offset_of!(Entry, narrow)))?;
        a.mov(r13, qword_ptr(rax + offset_of!(Entry, wide)))?;
        a.mov(r14, qword_ptr(rax + offset_of!(Entry, predicates)))?;
        a.jmp(qword_ptr(r15 + offset_of!(Context, target)))
    }

    /// Enters all warps at an operation, one after the other: the first one now.
    fn enter_all(&mut self, op: usize, code: CodeLabel) -> Emitted {
        let a = &mut self.a;
        a.lea_label(rdx, code)?;
        a.mov(qword_ptr(r15 + offset_of!(Context, target)), rdx)?;
        a.mov(dword_ptr(r15 + offset_of!(Context, begun)), op as i32)?;
        a.mov(rax, qword_ptr(r15 + offset_of!(Context, first)))?;
        self.enter_warp()
    }

    /// If warps were together, those before the current one have come to [`Context::stop`], and those behind it have not
    /// been entered: their entries are written, and warps are no longer together. `rax`, `rcx` and `rdx` are used.
    pub(super) fn dissolve(&mut self) -> Emitted {
        let [mut again, mut behind, mut more, mut done] = std::array::from_fn(|_| self.a.create_label());
        let a = &mut self.a;
        a.mov(rcx, qword_ptr(r15 + offset_of!(Context, first)))?;
        a.test(rcx, rcx)?;
        a.jz(done)?;
        a.mov(edx, dword_ptr(r15 + offset_of!(Context, stop)))?;
        self.place(&mut again)?;
        let a = &mut self.a;
        a.cmp(rcx, qword_ptr(r15 + offset_of!(Context, current)))?;
        a.jae(behind)?;
        a.mov(dword_ptr(rcx + offset_of!(Entry, op)), edx)?;
        a.mov(qword_ptr(rcx + offset_of!(Entry, left)), rbp)?;
        a.add(rcx, size_of::<Entry>() as i32)?;
        a.jmp(again)?;
        self.place(&mut behind)?;
        let a = &mut self.a;
        a.mov(edx, dword_ptr(r15 + offset_of!(Context, begun)))?;
        a.mov(rax, qword_ptr(r15 + offset_of!(Context, target)))?;
        self.place(&mut more)?;
        let a = &mut self.a;
        a.add(rcx, size_of::<Entry>() as i32)?;
        a.cmp(rcx, qword_ptr(r15 + offset_of!(Context, last)))?;
        a.jae(done)?;
        a.mov(dword_ptr(rcx + offset_of!(Entry, op)), edx)?;
        a.mov(qword_ptr(rcx + offset_of!(Entry, target)), rax)?;
        a.jmp(more)?;
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
            self.pace(1)?;
            // Others are in their rows, or nowhere else but in the first lanes of these.
            let written = self.is_in_register(web) && self.is_written(web, op);
            let class = self.classes.webs[web];
            let is_pair = self.places[web] == Place::Halves;
            if is_pair || !class.is_vector() {
                affine.push((self.flow.webs[web].slot, class));
            }
            if is_pair || !written {
                continue;
            }
            match class {
                Class::Affine(_) => self.save_first(web)?,
                Class::HalfAffine(_) | Class::Varying | Class::Unknown => self.save(web)?,
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
        let known = self.late.iter().find_map(|late| {
            let Late::Behind { op: other, label } = late else { return None };
            (*other == op).then_some(*label)
        });
        let label = known.unwrap_or_else(|| self.unit.a.create_label());
        if known.is_none() {
            self.late.push(Late::Behind { op, label });
        }
        self.arrive(at, label)
    }

    /// Whether a web is in a register.
    fn is_in_register(&self, web: usize) -> bool {
        matches!(self.places[web], Place::Vector(_) | Place::Scalar(_))
    }

    /// Whether a web may have been written since code was entered, before an operation. Otherwise its row has it.
    fn is_written(&mut self, web: usize, op: usize) -> bool {
        let block = self.flow.block_of[op];
        let (flow, kept) = (self.flow, &self.kept);
        let is_kept = |op: usize, web: usize| kept.binary_search(&(op, web)).is_ok();
        let written = self.written.get_or_insert_with(|| flow.written_since_entry(is_kept));
        let mut inside = flow.blocks[block].start..op;
        flow.budget.spend(inside.len());
        let writes = |op| flow.writes(op).iter().any(|touch| touch.web == web && !is_kept(op, web));
        written.contains(block, web) || inside.any(writes)
    }

    /// Results that are written to the frame where they are computed: those of values that are live at a barrier in a
    /// deeper loop, which would otherwise write them each time. Operations and webs, sorted.
    pub(super) fn find_kept(&self) -> Vec<(usize, usize)> {
        let mut kept = Vec::new();
        let depth = |op: usize| self.flow.blocks[self.flow.block_of[op]].depth;
        let blocks = self.flow.blocks.iter().filter(|block| block.depth > 0 && self.mode == Mode::Uniform);
        // A barrier ends its block.
        for barrier in blocks.map(|block| block.end - 1).filter(|&op| self.is_barrier(op)) {
            for web in self.live_at(before(barrier)) {
                if !self.flow.budget.spend(self.flow.defs(web).len()) {
                    return Vec::new();
                }
                let outside = self.flow.defs(web).iter().filter(|&&op| depth(op) < depth(barrier));
                kept.extend(
                    outside
                        .map(|&op| (op, web))
                        .filter(|_| !matches!(self.places[web], Place::Frame | Place::Halves)),
                );
            }
        }
        if !kept.is_empty() {
            // Where some lanes execute alone, the others have values of their own.
            let skipped = |block| Some(self.flow.skipped(block)?.0);
            let skipped: Vec<_> = (0..self.flow.blocks.len()).filter_map(skipped).collect();
            kept.sort_unstable();
            kept.dedup();
            self.flow.budget.spend(skipped.len() * kept.len());
            kept.retain(|(op, _)| !skipped.iter().any(|skipped| skipped.contains(op)));
        }
        kept
    }

    /// Behind an operation: writes its results to the frame that barriers do not write.
    pub(super) fn keep(&mut self, op: usize) -> Emitted {
        let first = self.kept.partition_point(|&(other, _)| other < op);
        for n in first..self.kept.len() {
            let (other, web) = self.kept[n];
            if other != op {
                break;
            }
            match self.classes.webs[web] {
                Class::Affine(_) => self.save_first(web)?,
                Class::HalfAffine(_) | Class::Varying | Class::Unknown => self.save(web)?,
            }
        }
        Ok(())
    }

    /// Writes an affine web to the first lane of its row.
    fn save_first(&mut self, web: usize) -> Emitted {
        let slot = self.flow.webs[web].slot;
        let first = self.first(slot);
        match (self.places[web], slot.is_wide()) {
            (Place::Scalar(from), true) => self.unit.a.mov(first, G64[usize::from(from)]),
            (Place::Scalar(from), false) => self.unit.a.mov(first, G32[usize::from(from)]),
            // It is there.
            (Place::Frame, true | false) => Ok(()),
            // Affine webs have no such places.
            (Place::Vector(_) | Place::Halves, true | false) => Err(Unencodable),
        }
    }

    /// The webs with registers that a block between two barriers does not touch: where it is entered after the first one,
    /// they stay in the frame.
    fn find_untouched(&self, block: usize) -> Vec<usize> {
        let (start, end) = (self.flow.blocks[block].start, self.flow.blocks[block].end);
        let between = start > 0 && self.is_barrier(start - 1) && self.is_barrier(end - 1);
        let comes_here = |(number, from): (usize, &Block)| number + 1 != block && from.next.contains(&block);
        if self.mode != Mode::Uniform || !between || self.flow.blocks.iter().enumerate().any(comes_here) {
            return Vec::new();
        }
        let mut webs: Vec<usize> =
            self.live_at(before(start)).filter(|&web| self.is_in_register(web)).collect();
        for op in start..end {
            if !self.flow.budget.spend(webs.len()) {
                return Vec::new();
            }
            let touches = |web: usize| {
                self.flow.reads(op).iter().chain(self.flow.writes(op)).any(|touch| touch.web == web)
            };
            webs.retain(|&web| !touches(web));
        }
        webs
    }

    /// Before uniform code is left in the middle of a block: loads what was left in the frame.
    pub(super) fn load_untouched(&mut self, op: usize) -> Emitted {
        let Some(&block) = self.flow.block_of.get(op) else { return Ok(()) };
        let webs = match self.untouched.take() {
            Some((other, webs)) if other == block => webs,
            Some(_) | None => self.find_untouched(block),
        };
        for &web in &webs {
            self.load(web)?;
        }
        self.untouched = Some((block, webs));
        Ok(())
    }

    /// A warp has come to a barrier or an end, and the next one is entered. Returns the label of the code that runs when
    /// all have come.
    fn arrive(&mut self, at: u32, together: CodeLabel) -> Emitted {
        let [label, mut back] = std::array::from_fn(|_| self.unit.a.create_label());
        self.late.push(Late::Arrived { at, label, back });
        self.unit.a.cmp(dword_ptr(field!(stop)), at as i32)?;
        self.unit.a.jne(label)?;
        self.unit.place(&mut back)?;
        if let Some(idle) = self.idle.take() {
            self.pass_over(idle, together)?;
        }
        let a = &mut self.unit.a;
        a.mov(rax, qword_ptr(field!(current)))?;
        a.add(rax, size_of::<Entry>() as i32)?;
        a.cmp(rax, qword_ptr(field!(last)))?;
        a.jae(together)?;
        self.unit.enter_warp()
    }

    /// A warp has come to a barrier or an end, where those before it did not.
    pub(super) fn arrived(&mut self, at: u32, back: CodeLabel) -> Emitted {
        let arrive = self.unit.arrive;
        self.unit.a.mov(eax, at as i32)?;
        self.unit.a.lea_label(rdx, back)?;
        self.unit.a.jmp(arrive)
    }

    /// Where a block behind a barrier is entered: what it reads is loaded, and the block follows.
    pub(super) fn enter_behind(&mut self, block: usize) -> Emitted {
        let start = self.flow.blocks[block].start;
        if self.mode == Mode::Uniform && start > 0 && self.is_barrier(start - 1) {
            let mut label = *self.own.passed[block].get_or_insert_with(|| self.unit.a.create_label());
            self.unit.place(&mut label)?;
            self.own.passed[block] = Some(label);
            self.abreast(block)?;
            // They are in the same order.
            let untouched = self.find_untouched(block);
            let mut untouched = untouched.iter().peekable();
            for web in self.live_at(before(start)) {
                if untouched.next_if_eq(&&web).is_none() {
                    self.load(web)?;
                }
            }
        }
        Ok(())
    }

    /// Whether an operation is a barrier of all threads.
    pub(super) fn is_barrier(&self, op: usize) -> bool {
        self.function.ops.get(op).is_some_and(stops::is_barrier)
    }

    /// Whether an operation ends all threads.
    pub(super) fn is_end(&self, op: usize) -> bool {
        self.function.ops.get(op).is_some_and(stops::is_end)
    }

    /// Whether the number of a barrier is a constant, and there is such a barrier.
    pub(super) fn has_constant_number(&self, op: usize) -> bool {
        let Some(Op::Other(_, step)) = self.function.ops.get(op) else { return false };
        let Step::Barrier(barrier) = &**step else { return false };
        let slot = barrier.number;
        let number = value_of(&self.function.narrow_constants, slot);
        !slot.is_wide() && number.is_some_and(|number| number < BARRIERS)
    }

    /// Leaves uniform code at the end of the kernel.
    pub(super) fn leave_at_end(&mut self, start: usize, op: usize) -> Emitted {
        self.pay(start, op)?;
        let known = self.late.iter().find_map(|late| {
            let Late::Ended { op: other, label } = late else { return None };
            (*other == op).then_some(*label)
        });
        let label = known.unwrap_or_else(|| self.unit.a.create_label());
        if known.is_none() {
            self.late.push(Late::Ended { op, label });
        }
        self.arrive(op as u32, label)
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
        let leave = self.unit.leave_together;
        let Some(block) = behind.filter(|&block| self.flow.blocks[block].start == op + 1) else {
            return self.unit.a.jmp(leave);
        };
        self.unit.a.test(rbp, rbp)?;
        self.unit.a.jle(leave)?;
        let passed = *self.own.passed[block].get_or_insert_with(|| self.unit.a.create_label());
        self.pay_for_all(op)?;
        self.unit.enter_all(op + 1, passed)
    }

    /// All warps have ended: the next CTA begins in their place, if the caller has one.
    pub(super) fn begin_next_cta(&mut self, op: usize) -> Emitted {
        let leave = self.unit.leave_together;
        let mut begin = self.unit.a.create_label();
        let asm = &mut self.unit.a;
        asm.test(rbp, rbp)?;
        asm.jle(leave)?;
        asm.vzeroupper()?;
        asm.mov(rdi, r15)?;
        asm.call(qword_ptr(field!(next_cta)))?;
        asm.mov(r11, qword_ptr(field!(constants)))?;
        asm.test(eax, eax)?;
        asm.jz(leave)?;
        self.pay_for_all(op)?;
        self.unit.enter_all(0, begin)?;
        self.unit.place(&mut begin)?;
        self.prepare_frame()?;
        let first = self.own.enters.at(0);
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
        let predicates = self.function.predicates as usize;
        for pair in 0..predicates / 2 {
            self.unit.a.mov(qword_ptr(r14 + 8 * pair), 0)?;
        }
        if !predicates.is_multiple_of(2) {
            self.unit.a.mov(dword_ptr(r14 + 4 * (predicates - 1)), 0)?;
        }
        Ok(())
    }
}
