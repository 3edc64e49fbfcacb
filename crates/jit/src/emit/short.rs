//! Elements of 8 and 16 bits anywhere in a region, with AVX-512.
//!
//! There are no gathers of them. The words of 32 bits that they are in are gathered, aligned, and shifted. Such a word may
//! have bytes before or behind the region, which are shifted out: it is in the same page, and nothing of it is kept. Bytes
//! beside an element may not be written, so stores go lane by lane.

use super::plain::Plain;
use super::{Emitted, Emitter, ZMM};
use crate::assembler::*;
use crate::context::{Context, Region};
use std::mem::offset_of;

/// Offsets are below this, so that they have 31 bits also where up to three bytes are added.
const MOST: i32 = i32::MAX - 3;

impl Emitter<'_> {
    /// Moves an element for each lane, by the offsets in the first temporary registers, which are checked.
    pub(super) fn move_short(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        if wide {
            self.unit.a.cmp(plain.room().qword(), MOST)?;
            self.unit.a.ja(plain.slow)?;
            self.narrow_offsets()?;
        }
        self.unit.a.mov(rdx, plain.region(offset_of!(Region, host)).qword())?;
        match plain.store {
            true => self.store_short(plain),
            false => self.gather_short(plain),
        }
    }

    /// Gathers elements from `rdx` on.
    fn gather_short(&mut self, plain: &Plain<'_>) -> Emitted {
        let bits = 8 * plain.bytes() as u32;
        let [aligned, shift, element] = [!3, 8 * 3, (1 << bits) - 1].map(|word| self.unit.word(word));
        // Words are aligned in the host's memory, where the region may begin anywhere.
        let asm = &mut self.unit.a;
        asm.mov(ecx, edx)?;
        asm.and(ecx, 3)?;
        asm.sub(rdx, rcx)?;
        asm.vpbroadcastd(zmm4, ecx)?;
        let narrow = plain.registers.first().is_some_and(|one| one.bits < 32);
        for (half, &offsets) in ZMM.iter().enumerate().take(2) {
            let asm = &mut self.unit.a;
            asm.vpaddd(offsets, offsets, zmm4)?;
            asm.vpslld(zmm5, offsets, 3)?;
            asm.vpandd(zmm5, zmm5, shift)?;
            asm.vpandd(offsets, offsets, aligned)?;
            self.taking(half, false)?;
            let asm = &mut self.unit.a;
            asm.vpxord(zmm6, zmm6, zmm6)?;
            asm.vpgatherdd(zmm6.k2(), zmmword_ptr(rdx + offsets * 1))?;
            asm.vpsrlvd(zmm6, zmm6, zmm5)?;
            if plain.signed {
                asm.vpslld(zmm6, zmm6, 32 - bits)?;
                asm.vpsrad(zmm6, zmm6, 32 - bits)?;
            } else {
                asm.vpandd(zmm6, zmm6, element)?;
            }
            if plain.signed && narrow {
                let low = self.unit.word(0xffff);
                self.unit.a.vpandd(zmm6, zmm6, low)?;
            }
            self.put_element(plain, (0, half), 6)?;
        }
        Ok(())
    }

    /// Stores elements from `rdx` on: of lanes with one place the lowest wins, so it comes last.
    fn store_short(&mut self, plain: &Plain<'_>) -> Emitted {
        let [offsets, values] = [offset_of!(Context, lane_offsets), offset_of!(Context, lane_values)];
        for (half, &own) in ZMM.iter().enumerate().take(2) {
            let value = self.element(plain, (0, half), 4)?;
            let at = |place: usize| zmmword_ptr(r15 + (place + 64 * half));
            self.unit.a.vmovdqu64(at(offsets), own)?;
            self.unit.a.vmovdqu64(at(values), ZMM[usize::from(value)])?;
        }
        self.active_lanes()?;
        let asm = &mut self.unit.a;
        asm.push(rsi)?;
        asm.push(rdi)?;
        asm.mov(esi, ecx)?;
        asm.mov(edi, 31)?;
        let [mut again, mut skip] = [asm.create_label(), asm.create_label()];
        self.unit.place(&mut again)?;
        let asm = &mut self.unit.a;
        asm.add(esi, esi)?;
        asm.jae(skip)?;
        asm.mov(eax, dword_ptr(r15 + rdi * 4 + offsets))?;
        asm.mov(ecx, dword_ptr(r15 + rdi * 4 + values))?;
        match plain.bytes() {
            1 => asm.mov(byte_ptr(rdx + rax), cl)?,
            2 => asm.mov(word_ptr(rdx + rax), cx)?,
            _ => return Err(Unencodable),
        }
        self.unit.place(&mut skip)?;
        let asm = &mut self.unit.a;
        asm.sub(edi, 1)?;
        asm.jge(again)?;
        asm.pop(rdi)?;
        asm.pop(rsi)
    }
}
