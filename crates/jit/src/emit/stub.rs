//! Code outside of the blocks: entries, exits, calls of the interpreter, and the dispatcher of masked code.

use super::{Emitted, Emitter, G64, Labels, Late, Unit, ZMM, field};
use crate::Mode;
use crate::classes::{Class, Steps};
use crate::context::{COMPACT, IN_REGISTERS};
use crate::flow::{Flow, before};
use crate::places::{Place, SCALARS, TEMPORARIES};
use iced_x86::code_asm::*;
use softwarp_ir::{BarrierOp, Guard, Op, Step};
use std::mem::offset_of;

/// The most blocks of a function: as many as the words of waiting blocks have bits.
pub(crate) const MOST_BLOCKS: usize = 512;

impl Emitter<'_> {
    /// The webs that are live at a position.
    fn live(&self, position: u32) -> Vec<usize> {
        (0..self.flow.webs.len()).filter(|&web| self.flow.webs[web].is_live(position)).collect()
    }

    /// Writes a web to its row of the frame.
    fn save(&mut self, web: usize) -> Emitted {
        let slot = self.flow.webs[web].slot;
        if self.places[web] == Place::Frame && self.classes.webs[web] == Class::Varying {
            return Ok(());
        }
        for part in 0..if slot.is_wide() { 4 } else { 2 } {
            let from = self.web_part(web, part, 0, false)?;
            let from = self.in_register(from, slot.is_wide(), 0)?;
            let row = self.row(slot, part);
            match self.masked {
                false => self.unit.a.vmovdqa64(row, ZMM[usize::from(from)])?,
                true => {
                    let (mask, wide) = (part, slot.is_wide());
                    self.mask_of_part(mask, wide)?;
                    match wide {
                        true => self.unit.a.vmovdqa64(row.k1(), ZMM[usize::from(from)])?,
                        false => self.unit.a.vmovdqa32(row.k1(), ZMM[usize::from(from)])?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a web from its row of the frame.
    fn load(&mut self, web: usize) -> Emitted {
        let slot = self.flow.webs[web].slot;
        match self.places[web] {
            // The first lane may not take part.
            Place::Frame | Place::Scalar(_)
                if self.apart.is_some() && self.classes.webs[web] == Class::UNIFORM =>
            {
                self.load_from_any(web)
            }
            Place::Frame => Ok(()),
            Place::Scalar(to) => match slot.is_wide() {
                true => self.unit.a.mov(G64[usize::from(to)], self.first(slot)),
                false => self.unit.a.mov(super::G32[usize::from(to)], self.first(slot)),
            },
            Place::Vector(registers) => {
                for part in 0..if slot.is_wide() { 4 } else { 2 } {
                    let (row, z) = (self.row(slot, part), ZMM[usize::from(registers[part])]);
                    if !self.masked {
                        self.unit.a.vmovdqa64(z, row)?;
                        continue;
                    }
                    self.mask_of_part(part, slot.is_wide())?;
                    match slot.is_wide() {
                        true => self.unit.a.vmovdqa64(z.k1(), row)?,
                        false => self.unit.a.vmovdqa32(z.k1(), row)?,
                    }
                }
                Ok(())
            }
        }
    }

    /// Reads a value that is the same in the lanes of the context's mask from the first of them.
    fn load_from_any(&mut self, web: usize) -> Emitted {
        let slot = self.flow.webs[web].slot;
        let (row, first) = (slot.number() as usize, self.first(slot));
        let asm = &mut self.unit.a;
        asm.mov(eax, dword_ptr(field!(mask)))?;
        asm.bsf(ecx, eax)?;
        match slot.is_wide() {
            true => asm.mov(rax, qword_ptr(r13 + rcx * 8 + row * 256))?,
            false => asm.mov(eax, dword_ptr(r12 + rcx * 4 + row * 128))?,
        }
        match (self.places[web], slot.is_wide()) {
            (Place::Scalar(to), true) => asm.mov(G64[usize::from(to)], rax),
            (Place::Scalar(to), false) => asm.mov(super::G32[usize::from(to)], eax),
            (_, true) => asm.mov(first, rax),
            (_, false) => asm.mov(first, eax),
        }
    }

    fn mask_of_part(&mut self, part: usize, wide: bool) -> Emitted {
        let asm = &mut self.unit.a;
        match (wide, part) {
            (_, 0) => asm.kmovw(k1, k6),
            (true, 1) => asm.kshiftrw(k1, k6, 8),
            (true, 2) | (false, _) => asm.kmovw(k1, k7),
            (true, _) => asm.kshiftrw(k1, k7, 8),
        }
    }

    /// Writes everything that is live at a position to the frame.
    pub(super) fn save_live(&mut self, position: u32) -> Emitted {
        for web in self.live(position) {
            self.save(web)?;
        }
        Ok(())
    }

    /// The code that leaves before an operation.
    pub(super) fn exit_label(&mut self, op: usize) -> CodeLabel {
        let known = self.late.iter().find_map(|late| match late {
            Late::Exit { op: of, label, apart } if *of == op && *apart == self.apart => Some(*label),
            _ => None,
        });
        known.unwrap_or_else(|| {
            let label = self.unit.a.create_label();
            self.late.push(Late::Exit { op, label, apart: self.apart });
            label
        })
    }

    /// Leaves before an operation.
    pub(super) fn exit(&mut self, op: usize) -> Emitted {
        let start = self.flow.block_of.get(op).map_or(op, |&block| self.flow.blocks[block].start);
        self.leave_at(start, op)
    }

    /// Leaves before an operation, and pays for those before it.
    pub(super) fn leave_at(&mut self, start: usize, op: usize) -> Emitted {
        if let Some(to) = self.apart {
            return self.leave_apart(start, op, to);
        }
        if self.mode == Mode::Uniform && self.is_barrier(op) {
            return self.leave_at_barrier(start, op);
        }
        self.save_live(before(op))?;
        self.pay(start, op)?;
        self.unit.a.mov(dword_ptr(field!(exit)), op as i32)?;
        self.leave()
    }

    /// Whether an operation is a barrier of all threads.
    fn is_barrier(&self, op: usize) -> bool {
        match self.function.ops.get(op) {
            Some(Op::Other(Guard::ALWAYS, step)) => match &**step {
                Step::Barrier(barrier) => barrier.op == BarrierOp::Sync && barrier.count.is_none(),
                _ => false,
            },
            _ => false,
        }
    }

    /// Leaves uniform code before a barrier. Affine values are written to the first lanes of their rows only, since
    /// nearly always code is entered behind the barrier again.
    fn leave_at_barrier(&mut self, start: usize, op: usize) -> Emitted {
        let mut affine = Vec::new();
        for web in self.live(before(op)) {
            let Class::Affine(steps) = self.classes.webs[web] else {
                self.save(web)?;
                continue;
            };
            let slot = self.flow.webs[web].slot;
            affine.push((slot, steps));
            let first = self.first(slot);
            match (self.places[web], slot.is_wide()) {
                (Place::Scalar(from), true) => self.unit.a.mov(first, G64[usize::from(from)])?,
                (Place::Scalar(from), false) => self.unit.a.mov(first, super::G32[usize::from(from)])?,
                _ => {}
            }
        }
        let at = self.at_barriers.partition_point(|(other, _)| *other < op as u32);
        if self.at_barriers.get(at).is_none_or(|(other, _)| *other != op as u32) {
            self.at_barriers.insert(at, (op as u32, affine));
        }
        self.pay(start, op)?;
        self.unit.a.mov(dword_ptr(field!(exit)), (op as u32 | COMPACT) as i32)?;
        self.leave()
    }

    /// The same in code for some lanes, while the others wait at a block.
    fn leave_apart(&mut self, start: usize, op: usize, to: usize) -> Emitted {
        self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
        self.load_mask(eax)?;
        self.save_live(before(op))?;
        self.pay(start, op)?;
        self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
        self.unit.a.not(eax)?;
        self.load_mask(eax)?;
        self.save_live(before(self.flow.blocks[to].start))?;
        let asm = &mut self.unit.a;
        asm.mov(rdx, qword_ptr(field!(pending)))?;
        asm.mov(dword_ptr(rdx + 4 * to), eax)?;
        asm.mov(rdx, qword_ptr(field!(pending_blocks)))?;
        asm.bts(qword_ptr(rdx + 8 * (to / 64)), (to % 64) as i32)?;
        asm.mov(dword_ptr(field!(first_pending)), to as i32)?;
        asm.mov(dword_ptr(field!(exit)), op as i32)?;
        let leave = self.unit.leave;
        asm.jmp(leave)
    }

    fn leave(&mut self) -> Emitted {
        let label = match self.mode {
            Mode::Uniform => self.unit.leave,
            Mode::Masked => self.own.leave_masked,
        };
        self.unit.a.jmp(label)
    }

    /// Has the interpreter perform an operation. What it reads is written to the frame, and what it wrote is read.
    pub(super) fn call_interpreter(&mut self, op: usize, back: Option<CodeLabel>) -> Emitted {
        let masked = self.runs_some();
        if masked {
            self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
            self.load_mask(eax)?;
        }
        let touches = &self.flow.touches[op];
        let mut reads: Vec<usize> = touches.reads.iter().map(|touch| touch.web).collect();
        let mut writes: Vec<usize> = touches.writes.iter().map(|touch| touch.web).collect();
        for list in [&mut reads, &mut writes] {
            list.sort_unstable();
            list.dedup();
        }
        for &web in &reads {
            self.save(web)?;
        }
        let save = self.save_registers;
        self.unit.a.call(save)?;
        let asm = &mut self.unit.a;
        asm.vzeroupper()?;
        asm.mov(rdi, r15)?;
        asm.mov(esi, op as i32)?;
        asm.call(qword_ptr(field!(step)))?;
        asm.mov(r11, qword_ptr(field!(constants)))?;
        asm.test(eax, eax)?;
        let restore = self.restore_registers;
        self.unit.a.call(restore)?;
        if masked {
            self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
            self.load_mask(eax)?;
        }
        let exit = self.exit_label(op);
        self.unit.a.jz(exit)?;
        for &web in &writes {
            self.load(web)?;
        }
        match back {
            Some(back) => self.unit.a.jmp(back),
            None => Ok(()),
        }
    }

    /// Saves or restores all registers that webs have.
    fn move_registers(&mut self, save: bool) -> Emitted {
        let (vectors, scalars) = (self.used_vectors(), self.used_scalars());
        let asm = &mut self.unit.a;
        for register in vectors {
            let place = zmmword_ptr(r15 + (offset_of!(crate::Context, saved) + 64 * usize::from(register)));
            match save {
                true => asm.vmovdqa64(place, ZMM[usize::from(register)])?,
                false => asm.vmovdqa64(ZMM[usize::from(register)], place)?,
            }
        }
        for register in scalars {
            let place =
                qword_ptr(r15 + (offset_of!(crate::Context, saved_scalars) + 8 * usize::from(register)));
            match save {
                true => asm.mov(place, G64[usize::from(register)])?,
                false => asm.mov(G64[usize::from(register)], place)?,
            }
        }
        Ok(())
    }

    /// The routines that move registers.
    fn register_routines(&mut self) -> Emitted {
        let labels = [self.save_registers, self.restore_registers, self.leave_with_registers];
        let [mut save, mut restore, mut leave] = labels;
        self.unit.place(&mut save)?;
        self.move_registers(true)?;
        self.unit.a.ret()?;
        self.unit.place(&mut restore)?;
        self.move_registers(false)?;
        self.unit.a.ret()?;
        if self.mode == Mode::Uniform {
            self.unit.place(&mut leave)?;
            self.move_registers(true)?;
            let out = self.unit.leave;
            self.unit.a.jmp(out)?;
        }
        Ok(())
    }

    /// Leaves uniform code before an operation that is paid for up to there. Values stay in registers, and the caller
    /// writes them to the frame.
    pub(super) fn leave_in_registers(&mut self, op: usize) -> Emitted {
        self.unit.a.mov(dword_ptr(field!(exit)), (op as u32 | IN_REGISTERS) as i32)?;
        let leave = self.leave_with_registers;
        self.unit.a.jmp(leave)
    }

    /// All general-purpose registers that webs have.
    fn used_scalars(&self) -> Vec<u8> {
        let used = |register: &u8| self.places.contains(&Place::Scalar(*register));
        SCALARS.into_iter().filter(used).collect()
    }

    /// All vector registers that webs have.
    fn used_vectors(&self) -> Vec<u8> {
        let mut used = [false; 32];
        for (web, place) in self.places.iter().enumerate() {
            if let Place::Vector(registers) = place {
                let count = if self.flow.webs[web].is_wide() { 4 } else { 2 };
                registers[..count].iter().for_each(|&register| used[usize::from(register)] = true);
            }
        }
        (TEMPORARIES..32).filter(|&register| used[usize::from(register)]).collect()
    }

    /// Emits what stands outside of the blocks.
    pub(super) fn stubs(&mut self) -> Emitted {
        self.unit.mark(super::Part::Rest);
        let mut next = 0;
        while next < self.late.len() {
            let late = self.late[next];
            next += 1;
            match late {
                Late::Exit { op, mut label, apart } => {
                    self.unit.place(&mut label)?;
                    if self.mode == Mode::Uniform && apart.is_none() {
                        let block = self.flow.block_of.get(op);
                        let start = block.map_or(op, |&block| self.flow.blocks[block].start);
                        self.pay(start, op)?;
                        self.leave_in_registers(op)?;
                        continue;
                    }
                    self.set_apart(apart);
                    self.exit(op)?;
                    self.set_apart(None);
                }
                Late::Spent { block, mut label } => {
                    self.unit.place(&mut label)?;
                    let start = self.flow.blocks[block].start;
                    match self.mode {
                        Mode::Uniform => self.leave_in_registers(start)?,
                        Mode::Masked => self.leave_at(start, start)?,
                    }
                }
                Late::Slow { op, mut label, back, apart } => {
                    self.unit.place(&mut label)?;
                    self.set_apart(apart);
                    self.call_interpreter(op, Some(back))?;
                    self.set_apart(None);
                }
                Late::CheckAlone { op, mut label, back, slow } => {
                    self.unit.place(&mut label)?;
                    self.check_apart_from_group(op, slow, back)?;
                }
                Late::Diverge { op, mut label } => {
                    self.unit.place(&mut label)?;
                    if let Op::Branch(_, target) = self.function.ops[op] {
                        self.diverge(op, target as usize)?;
                    }
                }
                Late::Dispatch { block, mut label } => {
                    self.unit.place(&mut label)?;
                    self.unit.a.mov(eax, block as i32)?;
                    let dispatch = self.own.dispatch;
                    self.unit.a.jmp(dispatch)?;
                }
            }
        }
        self.register_routines()?;
        match self.mode {
            Mode::Uniform => self.uniform_entries(),
            Mode::Masked => self.masked_routines(),
        }
    }

    /// What follows is for some lanes, while others wait at a block.
    fn set_apart(&mut self, apart: Option<usize>) {
        self.apart = apart;
        self.masked = self.runs_some();
    }

    /// Entries of uniform code: everything that the block reads is loaded, and claims about it are verified. Where one
    /// does not hold, masked code goes on.
    fn uniform_entries(&mut self) -> Emitted {
        for block in 0..self.flow.blocks.len() {
            let mut label = self.own.enters[block];
            self.unit.place(&mut label)?;
            self.own.enters[block] = label;
            let fail = self.other.starts[block];
            for web in self.live(before(self.flow.blocks[block].start)) {
                if let Class::Affine(steps) = self.classes.webs[web] {
                    self.verify(web, steps, fail)?;
                }
                self.load(web)?;
            }
            let to = self.own.blocks[block];
            self.unit.a.jmp(to)?;
            let start = self.flow.blocks[block].start;
            if start > 0 && self.is_barrier(start - 1) {
                let mut label = self.unit.a.create_label();
                self.unit.place(&mut label)?;
                self.own.passed[block] = Some(label);
                for web in self.live(before(start)) {
                    self.load(web)?;
                }
                self.unit.a.jmp(to)?;
            }
        }
        Ok(())
    }

    /// Checks that a row is affine.
    fn verify(&mut self, web: usize, steps: Steps, fail: CodeLabel) -> Emitted {
        let slot = self.flow.webs[web].slot;
        let wide = slot.is_wide();
        for part in 0..if wide { 4 } else { 2 } {
            let (row, first) = (self.row(slot, part), self.first(slot));
            let steps = (steps != Steps::ZERO).then(|| self.unit.steps(steps, part, wide));
            let asm = &mut self.unit.a;
            match wide {
                true => {
                    asm.vpbroadcastq(zmm0, first)?;
                    if let Some(steps) = steps {
                        asm.vpaddq(zmm0, zmm0, steps)?;
                    }
                    asm.vpcmpq(k1, zmm0, row, 4)?;
                }
                false => {
                    asm.vpbroadcastd(zmm0, first)?;
                    if let Some(steps) = steps {
                        asm.vpaddd(zmm0, zmm0, steps)?;
                    }
                    asm.vpcmpd(k1, zmm0, row, 4)?;
                }
            }
            asm.kortestw(k1, k1)?;
            asm.jnz(fail)?;
        }
        Ok(())
    }

    /// The routines of masked code: loading and saving what a block reads, starts, and switches to uniform code.
    fn masked_routines(&mut self) -> Emitted {
        for block in 0..self.flow.blocks.len() {
            let position = before(self.flow.blocks[block].start);
            let mut label = self.own.enters[block];
            self.unit.place(&mut label)?;
            self.own.enters[block] = label;
            for web in self.live(position) {
                self.load(web)?;
            }
            self.unit.a.ret()?;
            let mut label = self.own.saves[block];
            self.unit.place(&mut label)?;
            self.own.saves[block] = label;
            self.save_live(position)?;
            self.unit.a.ret()?;
            let mut label = self.own.starts[block];
            self.unit.place(&mut label)?;
            self.own.starts[block] = label;
            self.unit.a.mov(eax, block as i32)?;
            let enter = self.own.enter_masked;
            self.unit.a.jmp(enter)?;
            let mut label = self.own.switches[block];
            self.unit.place(&mut label)?;
            self.own.switches[block] = label;
            self.save_live(position)?;
            let to = self.other.enters[block];
            self.unit.a.jmp(to)?;
        }
        let words = self.flow.blocks.len().div_ceil(64);
        let mut enter = self.own.enter_masked;
        self.unit.place(&mut enter)?;
        self.unit.a.mov(ebx, eax)?;
        self.each_pending(words, offset_of!(crate::Context, masked_loads))?;
        let asm = &mut self.unit.a;
        asm.mov(eax, dword_ptr(field!(mask)))?;
        asm.kmovd(k6, eax)?;
        asm.kshiftrd(k7, k6, 16)?;
        asm.mov(rcx, qword_ptr(field!(masked_loads)))?;
        asm.call(qword_ptr(rcx + rbx * 8))?;
        asm.mov(rcx, qword_ptr(field!(masked_blocks)))?;
        asm.jmp(qword_ptr(rcx + rbx * 8))?;
        let mut leave = self.own.leave_masked;
        self.unit.place(&mut leave)?;
        self.each_pending(words, offset_of!(crate::Context, masked_saves))?;
        let out = self.unit.leave;
        self.unit.a.jmp(out)?;
        let mut dispatch = self.own.dispatch;
        self.unit.place(&mut dispatch)?;
        dispatcher(self.unit, words)
    }

    /// Calls a routine for the lanes that wait at each block, these in the mask registers.
    fn each_pending(&mut self, words: usize, routines: usize) -> Emitted {
        for word in 0..words {
            self.unit.a.mov(r8, qword_ptr(field!(pending_blocks)))?;
            self.unit.a.mov(r9, qword_ptr(r8 + 8 * word))?;
            let (mut again, mut done) = (self.unit.a.create_label(), self.unit.a.create_label());
            self.unit.place(&mut again)?;
            let asm = &mut self.unit.a;
            asm.test(r9, r9)?;
            asm.jz(done)?;
            asm.bsf(r10, r9)?;
            asm.lea(rdx, ptr(r9 - 1))?;
            asm.and(r9, rdx)?;
            if word != 0 {
                asm.add(r10, 64 * word as i32)?;
            }
            asm.mov(rcx, qword_ptr(field!(pending)))?;
            asm.mov(eax, dword_ptr(rcx + r10 * 4))?;
            asm.kmovd(k6, eax)?;
            asm.kshiftrd(k7, k6, 16)?;
            asm.mov(rcx, qword_ptr(r15 + routines))?;
            asm.call(qword_ptr(rcx + r10 * 8))?;
            asm.jmp(again)?;
            self.unit.place(&mut done)?;
            self.unit.a.nop()?;
        }
        Ok(())
    }
}

impl Unit {
    /// Without masked code, what would enter it leaves before the block.
    pub(crate) fn leave_at_blocks(&mut self, labels: &mut Labels, flow: &Flow) -> Emitted {
        self.mark(super::Part::Rest);
        for (block, label) in flow.blocks.iter().zip(&mut labels.starts) {
            self.place(label)?;
            self.a.mov(dword_ptr(field!(exit)), block.start as i32)?;
            let leave = self.leave;
            self.a.jmp(leave)?;
        }
        Ok(())
    }
}

/// The dispatcher: lanes that came to the block in `eax` wait there, and the lowest block goes on.
fn dispatcher(unit: &mut Unit, words: usize) -> Emitted {
    let asm = &mut unit.a;
    asm.mov(rdx, qword_ptr(field!(pending)))?;
    asm.mov(r8, qword_ptr(field!(pending_blocks)))?;
    asm.mov(ecx, dword_ptr(field!(mask)))?;
    asm.or(dword_ptr(rdx + rax * 4), ecx)?;
    asm.bts(qword_ptr(r8), rax)?;
    let (mut found, mut chosen, mut last) = (asm.create_label(), asm.create_label(), asm.create_label());
    let mut rest = asm.create_label();
    // The lowest block, in rbx.
    for word in 0..words {
        asm.mov(r9, qword_ptr(r8 + 8 * word))?;
        asm.mov(ecx, 64 * word as i32)?;
        asm.test(r9, r9)?;
        asm.jnz(found)?;
    }
    unit.place(&mut found)?;
    let asm = &mut unit.a;
    asm.bsf(rbx, r9)?;
    asm.add(rbx, rcx)?;
    asm.btr(qword_ptr(r8), rbx)?;
    asm.mov(eax, dword_ptr(rdx + rbx * 4))?;
    asm.mov(dword_ptr(field!(mask)), eax)?;
    asm.mov(dword_ptr(rdx + rbx * 4), 0)?;
    asm.kmovd(k6, eax)?;
    asm.kshiftrd(k7, k6, 16)?;
    // The next one at which lanes wait.
    for word in 0..words {
        asm.mov(r9, qword_ptr(r8 + 8 * word))?;
        asm.mov(ecx, 64 * word as i32)?;
        asm.test(r9, r9)?;
        asm.jnz(chosen)?;
    }
    asm.mov(dword_ptr(field!(first_pending)), -1)?;
    asm.cmp(eax, -1)?;
    asm.jne(rest)?;
    asm.mov(rcx, qword_ptr(field!(masked_switches)))?;
    asm.jmp(qword_ptr(rcx + rbx * 8))?;
    unit.place(&mut chosen)?;
    let asm = &mut unit.a;
    asm.bsf(r9, r9)?;
    asm.add(r9, rcx)?;
    asm.mov(dword_ptr(field!(first_pending)), r9d)?;
    unit.place(&mut rest)?;
    let asm = &mut unit.a;
    asm.mov(rcx, qword_ptr(field!(masked_blocks)))?;
    asm.jmp(qword_ptr(rcx + rbx * 8))?;
    unit.place(&mut last)?;
    unit.a.nop()
}
