//! Code outside of the blocks: entries, exits, calls of the interpreter, and the dispatcher of masked code.

use super::{Alone, Emitted, Emitter, G32, G64, Labels, Late, Unit, ZMM, field};
use crate::assembler::*;
use crate::classes::{Class, Steps};
use crate::context::{GOES_ON, IN_REGISTERS};
use crate::flow::{Flow, Touch, before};
use crate::places::{Place, SCALARS, TEMPORARIES};
use crate::stops::begins_ctas;
use crate::{Level, Mode};
use softwarp_ir::{Op, Slot};
use std::mem::offset_of;

/// A predicate of `vpcmpd`.
const NOT_EQUAL: i32 = 4;

impl Emitter<'_> {
    /// Writes a web to its row of the frame.
    pub(super) fn save(&mut self, web: usize) -> Emitted {
        let slot = self.flow.webs[web].slot;
        if self.places[web] == Place::Frame && self.classes.webs[web].is_vector() {
            return Ok(());
        }
        if let Class::Affine(steps) = self.classes.webs[web]
            && self.held != Some(web)
        {
            return self.save_affine(web, steps);
        }
        self.clean(web)?;
        for part in 0..if slot.is_wide() { 4 } else { 2 } {
            let from = self.web_part(web, part, 0, false)?;
            let from = self.in_register(from, slot.is_wide(), 0)?;
            self.save_part(slot, part, from)?;
        }
        self.clean = None;
        Ok(())
    }

    /// Writes a part of a row to the frame, from a register.
    fn save_part(&mut self, slot: Slot, part: usize, from: u8) -> Emitted {
        let (row, z, wide) = (self.row(slot, part), ZMM[usize::from(from)], slot.is_wide());
        if !self.masked {
            return self.unit.a.vmovdqa64(row, z);
        }
        let mask = self.mask_of_part(part, wide)?;
        match wide {
            true => self.unit.a.vmovdqa64(row.under(mask), z),
            false => self.unit.a.vmovdqa32(row.under(mask), z),
        }
    }

    /// Writes a web to its row of the frame of which the first lane is known.
    fn save_affine(&mut self, web: usize, steps: Steps) -> Emitted {
        let slot = self.flow.webs[web].slot;
        let (first, wide) = (self.first(slot), slot.is_wide());
        let asm = &mut self.unit.a;
        match (self.places[web].scalar(), wide) {
            (Some(from), true) => asm.vpbroadcastq(zmm0, G64[usize::from(from)])?,
            (Some(from), false) => asm.vpbroadcastd(zmm0, G32[usize::from(from)])?,
            (None, true) => asm.vpbroadcastq(zmm0, first)?,
            (None, false) => asm.vpbroadcastd(zmm0, first)?,
        }
        for part in 0..if wide { 4 } else { 2 } {
            if steps == Steps::ZERO {
                self.save_part(slot, part, 0)?;
                continue;
            }
            let steps = self.unit.steps(steps, part, wide);
            match wide {
                true => self.unit.a.vpaddq(zmm1, zmm0, steps)?,
                false => self.unit.a.vpaddd(zmm1, zmm0, steps)?,
            }
            self.save_part(slot, part, 1)?;
        }
        Ok(())
    }

    /// Reads a web from its row of the frame.
    pub(super) fn load(&mut self, web: usize) -> Emitted {
        let slot = self.flow.webs[web].slot;
        match self.places[web] {
            // The first lane may not take part.
            Place::Frame | Place::Scalar(_)
                if self.apart.is_some() && self.classes.webs[web] == Class::UNIFORM =>
            {
                self.load_from_any(web)
            }
            Place::Frame | Place::Halves => Ok(()),
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
                    let mask = self.mask_of_part(part, slot.is_wide())?;
                    match slot.is_wide() {
                        true => self.unit.a.vmovdqa64(z.under(mask), row)?,
                        false => self.unit.a.vmovdqa32(z.under(mask), row)?,
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
        match (self.places[web].scalar(), slot.is_wide()) {
            (Some(to), true) => asm.mov(G64[usize::from(to)], rax),
            (Some(to), false) => asm.mov(super::G32[usize::from(to)], eax),
            (None, true) => asm.mov(first, rax),
            (None, false) => asm.mov(first, eax),
        }
    }

    /// The mask register of the lanes of a part of a row that take part: `k6`, `k7` or `k1`, which is written then.
    pub(super) fn mask_of_part(&mut self, part: usize, wide: bool) -> Emitted<AsmRegisterK> {
        let is_lower = part == 0 || wide && part == 1;
        let half = if is_lower { k6 } else { k7 };
        if !wide || part.is_multiple_of(2) {
            return Ok(half);
        }
        self.unit.a.kshiftrw(k1, half, 8)?;
        Ok(k1)
    }

    /// Writes everything that is live at a position to the frame.
    pub(super) fn save_live(&mut self, position: u32) -> Emitted {
        self.outside_at(position)?.into_iter().try_for_each(|web| self.save(web))
    }

    /// The code that leaves before an operation.
    pub(super) fn exit_label(&mut self, op: usize) -> CodeLabel {
        let kind = usize::from(self.apart.is_some());
        match self.late.get((self.exits[op][kind] as usize).wrapping_sub(1)) {
            Some(&Late::Exit { label, apart, .. }) if apart == self.apart => label,
            Some(_) | None => {
                let label = self.unit.a.create_label();
                self.late.push(Late::Exit { op, label, apart: self.apart });
                self.exits[op][kind] = self.late.len() as u32;
                label
            }
        }
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
        if self.mode == Mode::Uniform && self.is_end(op) && begins_ctas(self.function) {
            return self.leave_at_end(start, op);
        }
        self.load_untouched(op)?;
        self.save_live(before(op))?;
        self.pay(start, op)?;
        self.leave_before(op)
    }

    /// Leaves before an operation, when everything is in the frame.
    fn leave_before(&mut self, op: usize) -> Emitted {
        let stops = self.is_barrier(op) || self.is_end(op);
        let exit = if stops { op as u32 } else { op as u32 | GOES_ON };
        self.unit.a.mov(dword_ptr(field!(exit)), exit as i32)?;
        self.leave()
    }

    /// Leaves code for some lanes, while the others wait at a block.
    fn leave_apart(&mut self, start: usize, op: usize, to: usize) -> Emitted {
        self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
        self.load_mask(eax)?;
        self.save_live(before(op))?;
        self.pay(start, op)?;
        self.unit.a.mov(dword_ptr(field!(exit)), op as i32)?;
        self.let_others_wait(to)
    }

    /// Goes on with the code that leaves for some lanes, while the others wait at a block.
    fn let_others_wait(&mut self, to: usize) -> Emitted {
        let known = self.waits.iter().find(|&&(other, _)| other == to).map(|&(_, label)| label);
        let label = known.unwrap_or_else(|| {
            let label = self.unit.a.create_label();
            self.late.push(Late::Wait { block: to, label });
            self.waits.push((to, label));
            label
        });
        self.unit.a.jmp(label)
    }

    /// Leaves code for some lanes, whose values are in the frame already. The others wait at a block.
    fn wait_at(&mut self, to: usize) -> Emitted {
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
        let leave = self.unit.leave;
        asm.jmp(leave)
    }

    pub(super) fn leave(&mut self) -> Emitted {
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
        let flow = self.flow;
        for web in different(flow.reads(op)) {
            self.save(web)?;
        }
        let perform = self.perform;
        self.unit.a.mov(eax, op as i32)?;
        self.unit.a.call(perform)?;
        if masked {
            self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
            self.load_mask(eax)?;
        }
        let exit = self.exit_label(op);
        self.unit.a.jz(exit)?;
        self.check_same(op)?;
        for web in different(flow.writes(op)) {
            self.load(web)?;
        }
        match back {
            Some(back) => self.unit.a.jmp(back),
            None => Ok(()),
        }
    }

    /// After an operation that the interpreter has performed: checks what the divergence analysis says of its results.
    /// The analysis says that a load from one address gives the same value in all lanes. That does not hold where each
    /// thread has memory of its own at the address, or where another thread of the host writes while one lane after the
    /// other loads. Code is left after the operation then.
    fn check_same(&mut self, op: usize) -> Emitted {
        let flow = self.flow;
        let is_affine = |web: &usize| !self.classes.webs[*web].is_vector();
        let webs: Vec<usize> = different(flow.writes(op)).filter(is_affine).collect();
        if webs.is_empty() {
            return Ok(());
        }
        let label = self.unit.a.create_label();
        self.late.push(Late::Differs { op, label, apart: self.apart });
        if !self.masked {
            return self.verify(webs.into_iter(), label);
        }
        for web in webs {
            self.check_same_of_some(web, label)?;
        }
        Ok(())
    }

    /// Checks that the row of a web is the same in the lanes of the mask registers, which are those of the context's mask.
    fn check_same_of_some(&mut self, web: usize, differs: CodeLabel) -> Emitted {
        let slot = self.flow.webs[web].slot;
        let (row, wide) = (slot.number() as usize, slot.is_wide());
        let asm = &mut self.unit.a;
        asm.mov(eax, dword_ptr(field!(mask)))?;
        asm.bsf(ecx, eax)?;
        match wide {
            true => asm.vpbroadcastq(zmm0, qword_ptr(r13 + rcx * 8 + row * 256))?,
            false => asm.vpbroadcastd(zmm0, dword_ptr(r12 + rcx * 4 + row * 128))?,
        }
        for part in 0..if wide { 4 } else { 2 } {
            let (row, mask) = (self.row(slot, part), self.mask_of_part(part, wide)?);
            match wide {
                true => self.unit.a.vpcmpq(k2.under(mask), zmm0, row, NOT_EQUAL)?,
                false => self.unit.a.vpcmpd(k2.under(mask), zmm0, row, NOT_EQUAL)?,
            }
            self.unit.a.kortestw(k2, k2)?;
            self.unit.a.jnz(differs)?;
        }
        Ok(())
    }

    /// Leaves code after an operation whose results are in the frame alone.
    fn leave_behind(&mut self, op: usize) -> Emitted {
        let flow = self.flow;
        let start = flow.blocks[flow.block_of[op]].start;
        match self.apart {
            Some(_) => {
                self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
                self.load_mask(eax)?;
            }
            None => self.load_untouched(op)?,
        }
        for web in self.live_at(before(op + 1)) {
            if flow.writes(op).iter().all(|touch| touch.web != web) {
                self.save(web)?;
            }
        }
        self.pay(start, op + 1)?;
        match self.apart {
            Some(to) => {
                self.unit.a.mov(dword_ptr(field!(exit)), (op + 1) as i32)?;
                self.let_others_wait(to)
            }
            None => self.leave_before(op + 1),
        }
    }

    /// Saves or restores registers: vectors and scalars.
    fn move_registers(&mut self, (vectors, scalars): (u32, u16), save: bool) -> Emitted {
        let asm = &mut self.unit.a;
        for register in (TEMPORARIES..32).filter(|register| vectors >> register & 1 != 0) {
            let place = zmmword_ptr(r15 + (offset_of!(crate::Context, saved) + 64 * usize::from(register)));
            match save {
                true => asm.vmovdqa64(place, ZMM[usize::from(register)])?,
                false => asm.vmovdqa64(ZMM[usize::from(register)], place)?,
            }
        }
        for register in SCALARS.into_iter().filter(|register| scalars >> register & 1 != 0) {
            let place =
                qword_ptr(r15 + (offset_of!(crate::Context, saved_scalars) + 8 * usize::from(register)));
            match save {
                true => asm.mov(place, G64[usize::from(register)])?,
                false => asm.mov(G64[usize::from(register)], place)?,
            }
        }
        Ok(())
    }

    /// The routine that has the interpreter perform the operation in `eax`, and the one that leaves with all registers in
    /// the context. The zero flag says whether code has to be left.
    fn register_routines(&mut self) -> Emitted {
        let [mut perform, mut leave, mut save] =
            [self.perform, self.leave_with_registers, self.unit.a.create_label()];
        let used = self.used_registers();
        if self.mode == Mode::Uniform {
            self.unit.place(&mut save)?;
            self.move_registers(used, true)?;
            self.unit.a.ret()?;
            self.unit.place(&mut leave)?;
            self.unit.a.call(save)?;
            let out = self.unit.leave;
            self.unit.a.jmp(out)?;
        }
        self.unit.place(&mut perform)?;
        match self.mode {
            Mode::Uniform => self.unit.a.call(save)?,
            Mode::Masked => self.move_registers(used, true)?,
        }
        let asm = &mut self.unit.a;
        asm.vzeroupper()?;
        asm.mov(rdi, r15)?;
        asm.mov(esi, eax)?;
        // Calls have the stack aligned to 16 bytes.
        asm.sub(rsp, 8)?;
        asm.call(qword_ptr(field!(step)))?;
        asm.add(rsp, 8)?;
        asm.mov(r11, qword_ptr(field!(constants)))?;
        asm.test(eax, eax)?;
        self.move_registers(used, false)?;
        self.unit.a.ret()
    }

    /// Leaves uniform code before an operation that is paid for up to there. Values stay in registers, and the caller
    /// writes them to the frame.
    pub(super) fn leave_in_registers(&mut self, op: usize) -> Emitted {
        self.unit.a.mov(dword_ptr(field!(exit)), (op as u32 | IN_REGISTERS) as i32)?;
        let leave = self.leave_with_registers;
        self.unit.a.jmp(leave)
    }

    /// All registers that webs have and that have to be saved, as bits: vectors and scalars.
    fn used_registers(&self) -> (u32, u16) {
        let (vectors, scalars) = self.used;
        match self.unit.level {
            // They are in the context always.
            Level::Avx2 => (0, scalars),
            Level::Avx512 => (vectors, scalars),
        }
    }

    /// Emits what stands outside of the blocks.
    pub(super) fn stubs(&mut self) -> Emitted {
        self.unit.mark(super::Part::Rest);
        let mut next = 0;
        self.late_code(&mut next)?;
        self.register_routines()?;
        match self.mode {
            Mode::Uniform => self.uniform_entries()?,
            Mode::Masked => self.masked_routines()?,
        }
        self.late_code(&mut next)
    }

    /// Emits code outside of the blocks that has become necessary, from the `next` on.
    fn late_code(&mut self, next: &mut usize) -> Emitted {
        while *next < self.late.len() {
            let late = self.late[*next];
            *next += 1;
            self.pace(1)?;
            match late {
                Late::Exit { op, mut label, apart } => {
                    self.unit.place(&mut label)?;
                    if self.mode == Mode::Uniform && apart.is_none() {
                        let block = self.flow.block_of.get(op);
                        let start = block.map_or(op, |&block| self.flow.blocks[block].start);
                        self.pay(start, op)?;
                        self.load_untouched(op)?;
                        self.leave_in_registers(op)?;
                        continue;
                    }
                    self.set_apart(apart);
                    self.exit(op)?;
                    self.set_apart(None);
                }
                Late::Differs { op, mut label, apart } => {
                    self.unit.place(&mut label)?;
                    self.set_apart(apart);
                    self.leave_behind(op)?;
                    self.set_apart(None);
                }
                Late::Wait { block, mut label } => {
                    self.unit.place(&mut label)?;
                    self.set_apart(Some(block));
                    self.wait_at(block)?;
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
                    self.rebuild_address(op)?;
                    self.call_interpreter(op, Some(back))?;
                    self.set_apart(None);
                }
                Late::Counted { mut label, back } => {
                    self.unit.place(&mut label)?;
                    self.counted(back)?;
                }
                Late::General(general) => self.general(general)?,
                Late::Guarded { op, mut label, back } => {
                    self.unit.place(&mut label)?;
                    let function = self.function;
                    if let Op::Other(guard, step) = &function.ops[op] {
                        self.access_of_some(op, *guard, step)?;
                    }
                    self.unit.a.jmp(back)?;
                }
                Late::Halves { op, mut label, slow, checked, count } => {
                    self.unit.place(&mut label)?;
                    self.check_general(op, [slow, checked], count)?;
                }
                Late::Alone(number) => self.check_apart(number)?,
                Late::Learn { op, mut label, again } => {
                    self.unit.place(&mut label)?;
                    self.learn_region(op, again)?;
                }
                Late::Polled { op, mut label, back } => {
                    self.unit.place(&mut label)?;
                    self.end_turn(op, back)?;
                }
                Late::Diverge { op, mut label, predicate, behind } => {
                    self.unit.place(&mut label)?;
                    if let Op::Branch(_, target) = self.function.ops[op] {
                        self.diverge(op, target as usize, predicate, behind)?;
                    }
                }
                Late::Choose { op, max, sources, mut label, back, held } => {
                    self.unit.place(&mut label)?;
                    self.held = held;
                    self.choose_again(op, max, sources)?;
                    self.held = None;
                    self.unit.a.jmp(back)?;
                }
                Late::Canonical { registers, mut label, back } => {
                    self.unit.place(&mut label)?;
                    for register in registers {
                        self.canonical(register)?;
                    }
                    self.unit.a.jmp(back)?;
                }
                Late::Known { quick, back } => self.known(quick, back)?,
                Late::Branch { op, quick } => self.branch_known(op, quick)?,
                Late::Wrapping { mut first, above, general, most, wide, signed } => {
                    self.unit.place(&mut first)?;
                    self.check_wrapping((above, general), most, (wide, signed))?;
                }
                Late::Arrived { at, mut label, back } => {
                    self.unit.place(&mut label)?;
                    self.arrived(at, back)?;
                }
                Late::Behind { op, mut label } => {
                    self.unit.place(&mut label)?;
                    self.go_on_behind(op)?;
                }
                Late::Ended { op, mut label } => {
                    self.unit.place(&mut label)?;
                    self.begin_next_cta(op)?;
                }
                Late::Dispatch { block, mut label } => {
                    self.unit.place(&mut label)?;
                    self.unit.a.mov(eax, block as i32)?;
                    let dispatch = self.own.dispatch;
                    self.unit.a.jmp(dispatch)?;
                }
            }
        }
        Ok(())
    }

    /// Compiles operations again, with each access checked alone.
    fn check_apart(&mut self, number: usize) -> Emitted {
        let Alone { last, back, .. } = self.without_groups[number];
        let enters = std::mem::take(&mut self.without_groups[number].enters);
        let Some(&(first, _)) = enters.first() else { return Ok(()) };
        self.alone = true;
        for op in first..=last {
            self.pace(enters.len())?;
            if let Some(&(_, mut label)) = enters.iter().find(|(at, _)| *at == op) {
                self.unit.place(&mut label)?;
            }
            self.operation(op)?;
        }
        self.alone = false;
        self.unit.a.jmp(back)
    }

    /// What follows is for some lanes, while others wait at a block.
    pub(super) fn set_apart(&mut self, apart: Option<usize>) {
        self.apart = apart;
        self.masked = self.runs_some();
    }

    /// Entries of uniform code: everything that the block reads is loaded, and claims about it are verified. Where one
    /// does not hold, masked code goes on.
    fn uniform_entries(&mut self) -> Emitted {
        for block in 0..self.flow.blocks.len() {
            self.unit.place(&mut self.own.enters.at(block))?;
            let position = before(self.flow.blocks[block].start);
            self.pace(2 * self.flow.around(position).len())?;
            self.verify(self.live_at(position), self.other.starts.at(block))?;
            for web in self.live_at(position) {
                self.load(web)?;
            }
            let to = self.own.blocks.at(block);
            self.unit.a.jmp(to)?;
        }
        Ok(())
    }

    /// The routines of masked code: loading and saving what a block reads, starts, and switches to uniform code.
    fn masked_routines(&mut self) -> Emitted {
        for block in 0..self.flow.blocks.len() {
            let position = before(self.flow.blocks[block].start);
            self.unit.place(&mut self.own.enters.at(block))?;
            for web in self.live_at(position) {
                self.load(web)?;
            }
            self.pace(1)?;
            self.unit.a.ret()?;
            self.unit.place(&mut self.own.saves.at(block))?;
            self.save_live(position)?;
            self.unit.a.ret()?;
            self.unit.place(&mut self.own.starts.at(block))?;
            self.unit.a.mov(eax, block as i32)?;
            let enter = self.own.enter_masked;
            self.unit.a.jmp(enter)?;
            self.unit.place(&mut self.own.switches.at(block))?;
            self.save_live(position)?;
            let to = self.other.enters.at(block);
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
    pub(crate) fn leave_at_blocks(&mut self, labels: &Labels, flow: &Flow) -> Emitted {
        self.mark(super::Part::Rest);
        for (block, mut label) in flow.blocks.iter().zip(labels.starts.iter()) {
            self.place(&mut label)?;
            self.a.mov(dword_ptr(field!(exit)), (block.start as u32 | GOES_ON) as i32)?;
            let leave = self.leave;
            self.a.jmp(leave)?;
        }
        Ok(())
    }
}

/// The webs of some touches, each once.
fn different(touches: &[Touch]) -> impl Iterator<Item = usize> {
    let is_first = |at: usize| touches[..at].iter().all(|before| before.web != touches[at].web);
    (0..touches.len()).filter(move |&at| is_first(at)).map(|at| touches[at].web)
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
