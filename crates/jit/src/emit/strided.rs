//! Accesses at a constant distance from lane to lane that is more than an element: columns, and rows of which each lane
//! has several elements.
//!
//! Where the distance is two or four words, registers are loaded and stored whole, with masks, and words are brought
//! together or apart in between. Accesses of 16 bytes are those of `several.rs`. Others are gathers and scatters.

use super::plain::Plain;
use super::several::LanePlaces;
use super::{Emitted, Emitter, ZMM};
use crate::assembler::*;
use crate::classes::{Class, Steps};
use crate::context::Region;
use softwarp_ir::Element;
use std::mem::offset_of;

/// Words of 32 bits that lanes have at a constant distance.
#[derive(Clone, Copy)]
struct Words {
    /// The distance of lanes in words: two or four.
    stride: usize,
    /// The words of a lane: one or two.
    count: usize,
}

impl Words {
    /// The elements of a vector that belong to lanes, words or pairs of them; none if all do.
    fn mask(self) -> Option<u32> {
        match (self.stride, self.count) {
            (2, 1) => Some(0x5555),
            (4, 1) => Some(0x1111),
            (4, 2) => Some(0b0101_0101),
            (_, _) => None,
        }
    }
}

impl Emitter<'_> {
    /// The steps of the lanes of an access by all of them, if they are apart from one another, one behind the other.
    pub(super) fn strides(&self, plain: &Plain<'_>) -> Option<Steps> {
        let (bytes, total) = (plain.bytes(), plain.total() as i64);
        let Class::Affine(steps) = plain.base.map(|base| self.class(plain.op, base))? else { return None };
        let Steps { lane, half } = steps;
        // Far below what wraps around.
        let apart = half < 1 << 26 && (total..=half / 16).contains(&lane);
        let aligned = lane % total == 0 && half % total == 0;
        (!self.masked && matches!(bytes, 4 | 8) && apart && aligned && !plain.widens()).then_some(steps)
    }

    /// An access whose lanes have steps.
    pub(super) fn strided(&mut self, plain: &Plain<'_>, steps: Steps) -> Emitted {
        self.first_offset(plain)?;
        let asm = &mut self.unit.a;
        asm.cmp(rax, plain.room().qword())?;
        asm.jae(plain.slow)?;
        let (_, last) = steps.range().ok_or(Unencodable)?;
        asm.lea(rcx, ptr(rax + last as usize))?;
        asm.cmp(rcx, plain.room().qword())?;
        asm.jae(plain.slow)?;
        self.check_alignment(plain)?;
        let host = plain.region(offset_of!(Region, host)).qword();
        self.unit.a.add(rax, host)?;
        if plain.total() == 16 {
            self.prefetch(plain, 0, 8)?;
            return self.move_sixteen(plain, LanePlaces::Steps(steps));
        }
        let stride = match (plain.bytes(), plain.count, steps) {
            (4, 1 | 2, Steps { lane: 8, half: 128 }) => 2,
            (4, 1 | 2, Steps { lane: 16, half: 256 }) => 4,
            (_, _, Steps { .. }) => {
                self.unit.a.mov(rdx, rax)?;
                for (part, to) in [zmm0, zmm1].into_iter().enumerate() {
                    let offsets = self.unit.steps(steps, part, false);
                    self.unit.a.vmovdqa64(to, offsets)?;
                }
                return self.move_from(plain, false);
            }
        };
        self.prefetch(plain, 0, 2 * stride as i32)?;
        let words = Words { stride, count: plain.count };
        if let Some(mask) = words.mask() {
            self.unit.a.mov(ecx, mask)?;
            self.unit.a.kmovd(k1, ecx)?;
        }
        match plain.store {
            true => self.store_strided(plain, words),
            false => self.load_strided(plain, words),
        }
    }

    /// Loads rows of words that are two or four words apart, from `rax` on. Two words of a lane are loaded in one piece.
    fn load_strided(&mut self, plain: &Plain<'_>, words: Words) -> Emitted {
        let stride = words.stride;
        for half in 0..2 {
            for (at, to) in [zmm0, zmm1, zmm2, zmm3].into_iter().enumerate().take(stride) {
                let place = zmmword_ptr(rax + 64 * (stride * half + at));
                match (words.mask(), words.count) {
                    (None, _) => self.unit.a.vmovdqu64(to, place)?,
                    (Some(_), 1) => self.unit.a.vmovdqu32(to.k1().z(), place)?,
                    (Some(_), _) => self.unit.a.vmovdqu64(to.k1().z(), place)?,
                }
            }
            for n in 0..plain.count {
                let together = self.unit.words(std::array::from_fn(|at| (stride * at + n) as u32 % 32));
                let target = self.element_target(plain, (n, half), 6);
                let t = ZMM[usize::from(target)];
                if stride == 2 {
                    self.unit.a.vmovdqa64(t, together)?;
                    self.unit.a.vpermi2d(t, zmm0, zmm1)?;
                } else {
                    self.unit.a.vmovdqa64(zmm4, together)?;
                    self.unit.a.vmovdqa64(zmm5, zmm4)?;
                    self.unit.a.vpermi2d(zmm4, zmm0, zmm1)?;
                    self.unit.a.vpermi2d(zmm5, zmm2, zmm3)?;
                    self.unit.a.vinserti64x4(t, zmm4, ymm5, 1)?;
                }
                self.put_element(plain, (n, half), target)?;
            }
        }
        Ok(())
    }

    /// Stores rows of words two or four words apart, from `rax` on. Two words of a lane are stored in one piece.
    fn store_strided(&mut self, plain: &Plain<'_>, words: Words) -> Emitted {
        let stride = words.stride;
        for half in 0..2 {
            let first = self.element(plain, (0, half), 4)?;
            let second = if words.count == 2 { self.element(plain, (1, half), 5)? } else { first };
            for part in 0..stride {
                // Lanes from this one on; where there is one word of each, what is between them is not stored.
                let lane = 16 / stride * part;
                let apart = |at: usize| lane + at / stride + 16 * (at % stride % words.count);
                let apart = self.unit.words(std::array::from_fn(|at| apart(at) as u32));
                let place = zmmword_ptr(rax + 64 * (stride * half + part));
                self.unit.a.vmovdqa64(zmm7, apart)?;
                match words.count == 1 {
                    true => self.unit.a.vpermd(zmm7, zmm7, ZMM[usize::from(first)])?,
                    false => {
                        self.unit.a.vpermi2d(zmm7, ZMM[usize::from(first)], ZMM[usize::from(second)])?;
                    }
                }
                match (words.mask(), words.count) {
                    (None, _) => self.unit.a.vmovdqu64(place, zmm7)?,
                    (Some(_), 1) => self.unit.a.vmovdqu32(place.k1(), zmm7)?,
                    (Some(_), _) => self.unit.a.vmovdqu64(place.k1(), zmm7)?,
                }
            }
        }
        Ok(())
    }

    /// Loads two rows of 64-bit words whose lanes are one behind the other, from `rax` on: all of memory there is loaded.
    pub(super) fn load_pairs(&mut self, plain: &Plain<'_>) -> Emitted {
        for part in 0..4 {
            for (n, to) in [zmm0, zmm1].into_iter().enumerate() {
                self.unit.a.vmovdqu64(to, zmmword_ptr(rax + (128 * part + 64 * n)))?;
            }
            for (n, slot) in plain.slots() {
                let together =
                    self.unit.words(std::array::from_fn(|at| (4 * (at / 2) + at % 2 + 2 * n) as u32));
                let target = self.target(plain.op, slot, part, 6);
                let t = ZMM[usize::from(target)];
                self.unit.a.vmovdqa64(t, together)?;
                self.unit.a.vpermi2d(t, zmm0, zmm1)?;
                self.put(plain.op, slot, part, target)?;
            }
        }
        Ok(())
    }

    /// Stores two rows of 64-bit words in the same way.
    pub(super) fn store_pairs(&mut self, plain: &Plain<'_>) -> Emitted {
        let [Element { slot: Some(first), .. }, Element { slot: Some(second), .. }] = plain.registers[..]
        else {
            return Ok(());
        };
        for part in 0..4 {
            let from = [
                self.register(plain.op, first, part, 0, false)?,
                self.register(plain.op, second, part, 1, false)?,
            ];
            let [first, second] = from.map(|register| ZMM[usize::from(register)]);
            for n in 0..2 {
                // Two 32-bit words of one, then two of the other.
                let word = |at: usize| (8 * n + 2 * (at / 4) + at % 2 + 16 * (at / 2 % 2)) as u32;
                let apart = self.unit.words(std::array::from_fn(word));
                self.unit.a.vmovdqa64(zmm2, apart)?;
                self.unit.a.vpermi2d(zmm2, first, second)?;
                self.unit.a.vmovdqu64(zmmword_ptr(rax + (128 * part + 64 * n)), zmm2)?;
            }
        }
        Ok(())
    }
}
