//! Code outside of the blocks: entries, exits, calls of the interpreter, and the dispatcher of masked code.

use super::{Emitted, Emitter, G64, Labels, Late, Unit, ZMM, field};
use crate::Mode;
use crate::classes::Class;
use crate::flow::{Flow, before};
use crate::places::{Place, TEMPORARIES};
use iced_x86::code_asm::*;
use softwarp_ir::Op;
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
            Late::Exit { op: of, label } if *of == op => Some(*label),
            _ => None,
        });
        known.unwrap_or_else(|| {
            let label = self.unit.a.create_label();
            self.late.push(Late::Exit { op, label });
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
        self.save_live(before(op))?;
        self.pay(start, op)?;
        self.unit.a.mov(dword_ptr(field!(exit)), op as i32)?;
        self.leave()
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
        let masked = self.mode == Mode::Masked;
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
        let live = self.live(before(op));
        self.spill(&live, masked, true)?;
        let asm = &mut self.unit.a;
        asm.vzeroupper()?;
        asm.mov(rdi, r15)?;
        asm.mov(esi, op as i32)?;
        asm.call(qword_ptr(field!(step)))?;
        asm.mov(r11, qword_ptr(field!(constants)))?;
        asm.test(eax, eax)?;
        self.spill(&live, masked, false)?;
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

    /// Saves or restores registers around a call. In masked code lanes that wait elsewhere have values in any of them.
    fn spill(&mut self, live: &[usize], all: bool, save: bool) -> Emitted {
        let mut vectors: Vec<u8> = Vec::new();
        let mut scalars: Vec<u8> = Vec::new();
        for &web in live {
            match self.places[web] {
                Place::Vector(registers) => {
                    let count = if self.flow.webs[web].is_wide() { 4 } else { 2 };
                    vectors.extend_from_slice(&registers[..count]);
                }
                Place::Scalar(register) => scalars.push(register),
                Place::Frame => {}
            }
        }
        if all {
            vectors = self.used_vectors();
        }
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
                Late::Exit { op, mut label } => {
                    self.unit.place(&mut label)?;
                    self.exit(op)?;
                }
                Late::Spent { block, mut label } => {
                    self.unit.place(&mut label)?;
                    let start = self.flow.blocks[block].start;
                    self.leave_at(start, start)?;
                }
                Late::Slow { op, mut label, back } => {
                    self.unit.place(&mut label)?;
                    self.call_interpreter(op, Some(back))?;
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
        match self.mode {
            Mode::Uniform => self.uniform_entries(),
            Mode::Masked => self.masked_routines(),
        }
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
                if let Class::Affine(stride) = self.classes.webs[web] {
                    self.verify(web, stride, fail)?;
                }
                self.load(web)?;
            }
            let to = self.own.blocks[block];
            self.unit.a.jmp(to)?;
        }
        Ok(())
    }

    /// Checks that a row is affine.
    fn verify(&mut self, web: usize, stride: i64, fail: CodeLabel) -> Emitted {
        let slot = self.flow.webs[web].slot;
        let wide = slot.is_wide();
        for part in 0..if wide { 4 } else { 2 } {
            let (row, first) = (self.row(slot, part), self.first(slot));
            let steps = (stride != 0).then(|| self.unit.steps(stride, part, wide));
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
