//! Accesses of all lanes to one place: at a fixed address, or at one that all lanes have.

use super::access::Pattern;
use super::plain::Plain;
use super::{Emitted, Emitter, RAX, RCX, ZMM, field};
use crate::assembler::*;
use crate::classes::Class;
use crate::context::Context;
use softwarp_ir::Slot;
use std::mem::offset_of;

/// The lane whose value remains where several store to one place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Winner {
    /// Any: all store the same.
    Any,
    Lane(usize),
    /// The lowest of those that take part.
    Lowest,
    /// The one whose number is in `rdx`.
    Computed,
}

/// How many lanes are stored together: 128 bytes.
fn together(plain: &Plain<'_>) -> usize {
    (128 / plain.total()).min(32)
}

impl Emitter<'_> {
    /// A store to one place. Lanes are stored 128 bytes at a time: of those that are stored together the lowest wins, and
    /// what comes later overwrites what came before.
    pub(super) fn store_one(&mut self, plain: &Plain<'_>) -> Emitted {
        let offset = self.check(plain, Pattern::One)?;
        let winner = self.winner(plain)?;
        let is_several = plain.registers.len() > 1;
        for (n, slot) in plain.slots() {
            self.value_of(plain.op, slot, winner)?;
            let bytes = plain.total() / plain.registers.len();
            // Several elements are brought together in the context.
            let at = match is_several {
                true => ptr(field!(elements) + n * bytes),
                false => rax + offset,
            };
            match bytes {
                1 => self.unit.a.mov(byte_ptr(at), cl)?,
                2 => self.unit.a.mov(word_ptr(at), cx)?,
                4 => self.unit.a.mov(dword_ptr(at), ecx)?,
                8 => self.unit.a.mov(qword_ptr(at), rcx)?,
                _ => return Err(Unencodable),
            }
        }
        match is_several {
            true => self.move_one(plain, [field!(elements), rax + offset]),
            false => Ok(()),
        }
    }

    /// Moves the elements of an access between two places in one piece. `rcx` or the first temporary register is used.
    fn move_one(&mut self, plain: &Plain<'_>, [from, to]: [AsmMemoryOperand; 2]) -> Emitted {
        let asm = &mut self.unit.a;
        match plain.total() {
            4 => {
                asm.mov(ecx, dword_ptr(from))?;
                asm.mov(dword_ptr(to), ecx)
            }
            8 => {
                asm.mov(rcx, qword_ptr(from))?;
                asm.mov(qword_ptr(to), rcx)
            }
            16 => {
                asm.vinserti32x4(zmm0, zmm0, xmmword_ptr(from), 0)?;
                asm.vextracti32x4(xmmword_ptr(to), zmm0, 0)
            }
            _ => Err(Unencodable),
        }
    }

    /// The lane whose value remains.
    fn winner(&mut self, plain: &Plain<'_>) -> Emitted<Winner> {
        let mut slots = plain.registers.iter().filter_map(|one| one.slot);
        if slots.all(|slot| self.class(plain.op, slot) == Class::UNIFORM) {
            return Ok(Winner::Any);
        }
        let together = together(plain);
        if !self.masked {
            return Ok(Winner::Lane(32 - together));
        }
        if together == 32 {
            let lowest = self.lanes.map(|lanes| Winner::Lane(lanes.trailing_zeros() as usize));
            return Ok(lowest.unwrap_or(Winner::Lowest));
        }
        // The lowest of the last lanes that are stored together.
        let asm = &mut self.unit.a;
        asm.kunpckwd(k1, k7, k6)?;
        asm.kmovd(edx, k1)?;
        asm.bsr(ecx, edx)?;
        asm.and(ecx, -(together as i32))?;
        asm.shr(edx, cl)?;
        asm.bsf(edx, edx)?;
        asm.add(edx, ecx)?;
        Ok(Winner::Computed)
    }

    /// The value of a row in one lane, in `rcx`.
    fn value_of(&mut self, op: usize, slot: Slot, winner: Winner) -> Emitted {
        if self.class(op, slot) == Class::UNIFORM {
            return self.scalar_to(op, slot, RCX);
        }
        let (wide, lanes) = (slot.is_wide(), if slot.is_wide() { 8 } else { 16 });
        match winner {
            Winner::Any | Winner::Lane(_) => {
                let lane = if let Winner::Lane(lane) = winner { lane } else { 0 };
                let from = self.register(op, slot, lane / lanes, 0, false)?;
                let (quarter, within) = (lane % lanes / (lanes / 4), lane % (lanes / 4));
                match quarter == 0 {
                    true => self.unit.a.vmovdqa64(zmm0, ZMM[usize::from(from)])?,
                    false => self.unit.a.vextracti32x4(xmm0, ZMM[usize::from(from)], quarter as i32)?,
                }
                let asm = &mut self.unit.a;
                match (wide, within) {
                    (false, 0) => return asm.vmovd(ecx, xmm0),
                    (true, 0) | (false, 1) => asm.vmovq(rcx, xmm0)?,
                    (true | false, _) => asm.vpextrq(rcx, xmm0, 1)?,
                }
                if !wide && within % 2 == 1 { asm.shr(rcx, 32u32) } else { Ok(()) }
            }
            Winner::Lowest => {
                let low = self.register(op, slot, 0, 0, false)?;
                self.unit.a.vpcompressd(zmm2.k6().z(), ZMM[usize::from(low)])?;
                let high = self.register(op, slot, 1, 0, false)?;
                self.unit.a.vpcompressd(zmm3.k7().z(), ZMM[usize::from(high)])?;
                self.unit.a.vmovd(ecx, xmm2)?;
                self.unit.a.vmovd(edx, xmm3)?;
                self.unit.a.kortestw(k6, k6)?;
                self.unit.a.cmovz(ecx, edx)
            }
            Winner::Computed => {
                self.store_lanes(op, slot)?;
                let values = offset_of!(Context, lane_values);
                match wide {
                    true => self.unit.a.mov(rcx, qword_ptr(r15 + rdx * 8 + values)),
                    false => self.unit.a.mov(ecx, dword_ptr(r15 + rdx * 4 + values)),
                }
            }
        }
    }

    /// Writes a row to the context, where its lanes can be read.
    pub(super) fn store_lanes(&mut self, op: usize, slot: Slot) -> Emitted {
        for part in 0..if slot.is_wide() { 4 } else { 2 } {
            let from = self.register(op, slot, part, 4, false)?;
            let to = zmmword_ptr(r15 + (offset_of!(Context, lane_values) + 64 * part));
            self.unit.a.vmovdqu64(to, ZMM[usize::from(from)])?;
        }
        Ok(())
    }

    /// A load of several elements from one place, which are in the context by now.
    fn load_several(&mut self, plain: &Plain<'_>) -> Emitted {
        let wide = plain.bytes() == 8;
        for (n, slot) in plain.slots() {
            let at = field!(elements) + n * plain.bytes();
            match wide {
                true => self.unit.a.mov(rcx, qword_ptr(at))?,
                false => self.unit.a.mov(ecx, dword_ptr(at))?,
            }
            if let Class::Affine(_) = self.result_class(plain.op, slot) {
                self.put_scalar(plain.op, slot, RCX)?;
                continue;
            }
            match wide {
                true => self.unit.a.vpbroadcastq(zmm0, rcx)?,
                false => self.unit.a.vpbroadcastd(zmm0, ecx)?,
            }
            for part in 0..if wide { 4 } else { 2 } {
                self.put(plain.op, slot, part, 0)?;
            }
        }
        Ok(())
    }

    /// A load from one place.
    pub(super) fn load_broadcast(&mut self, plain: &Plain<'_>) -> Emitted {
        let offset = self.check(plain, Pattern::One)?;
        if plain.registers.len() > 1 {
            self.move_one(plain, [rax + offset, field!(elements)])?;
        }
        if plain.is_packed() {
            for n in 0..plain.count {
                self.unit.a.vpbroadcastd(zmm0, dword_ptr(field!(elements) + 4 * n))?;
                self.put_element(plain, (n, 0), 0)?;
                self.put_element(plain, (n, 1), 0)?;
            }
            return Ok(());
        }
        if !plain.is_single() {
            return self.load_several(plain);
        }
        let wide = plain.slot.is_wide();
        let narrow_register = plain.registers.first().is_some_and(|one| one.bits < 32);
        match (plain.bytes(), plain.signed) {
            (8, _) => self.unit.a.mov(rax, qword_ptr(rax + offset))?,
            (4, _) => self.unit.a.mov(eax, dword_ptr(rax + offset))?,
            (2, true) => self.unit.a.movsx(eax, word_ptr(rax + offset))?,
            (2, false) => self.unit.a.movzx(eax, word_ptr(rax + offset))?,
            (1, true) => self.unit.a.movsx(eax, byte_ptr(rax + offset))?,
            (1, false) => self.unit.a.movzx(eax, byte_ptr(rax + offset))?,
            (_, true | false) => return Err(Unencodable),
        }
        if plain.widens() && plain.signed {
            self.unit.a.movsxd(rax, eax)?;
        }
        if narrow_register {
            self.unit.a.and(eax, 0xffff)?;
        }
        if let Class::Affine(_) = self.result_class(plain.op, plain.slot) {
            return self.put_scalar(plain.op, plain.slot, RAX);
        }
        match wide {
            true => self.unit.a.vpbroadcastq(zmm0, rax)?,
            false => self.unit.a.vpbroadcastd(zmm0, eax)?,
        }
        for part in 0..if wide { 4 } else { 2 } {
            self.put(plain.op, plain.slot, part, 0)?;
        }
        Ok(())
    }
}
