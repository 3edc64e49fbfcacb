//! The memory that each thread has to itself, `.local` and the parameters of functions, with AVX-512.
//!
//! It is interleaved: a row of 128 bytes has the same word of all lanes. Where all lanes have one address, an access is a
//! copy of rows; elsewhere words are gathered and scattered, each lane's from its own column, so that no two lanes share a
//! place. Words of 64 bits are in two rows; elements of 8 and 16 bits are parts of words.

use super::plain::Plain;
use super::{Emitted, Emitter, Late, RAX, ZMM, field};
use crate::assembler::*;
use crate::classes::{Class, Steps};
use crate::context::{Context, Entry, Region};
use softwarp_ir::{Guard, Memory, Slot, Step};
use std::mem::offset_of;

/// Bytes of a row.
const ROW: usize = 128;

/// Where words of half a row are.
#[derive(Clone, Copy)]
enum Words {
    /// One behind the other, from `rax` on.
    Row(usize),
    /// At the offsets in the first temporary registers, from `rdx` on.
    Columns(usize),
}

/// How far elements of 8 and 16 bits are from the lowest bits of their words, where lanes have addresses of their own.
const SHIFTS: [AsmRegisterZmm; 2] = [zmm4, zmm5];

impl Words {
    /// The same for half a row.
    fn shifts(self, half: usize) -> AsmRegisterZmm {
        match self {
            Words::Row(_) => SHIFTS[0],
            Words::Columns(_) => SHIFTS[half],
        }
    }
}

impl Emitter<'_> {
    /// The address of a variable of the frame.
    pub(super) fn frame_address(&mut self, op: usize, d: Slot, offset: i32) -> Emitted {
        let base = qword_ptr(r15 + (offset_of!(Context, own) + offset_of!(Region, base)));
        self.unit.a.mov(rax, base)?;
        if offset != 0 {
            self.unit.a.add(rax, offset)?;
        }
        if let Class::Affine(_) = self.result_class(op, d) {
            return self.put_scalar(op, d, RAX);
        }
        self.unit.a.vpbroadcastq(zmm0, rax)?;
        (0..4).try_for_each(|part| self.put(op, d, part, 0))
    }

    /// A load or a store.
    pub(super) fn own(&mut self, op: usize, guard: Guard, step: &Step) -> Emitted {
        let (slow, back) = (self.unit.a.create_label(), self.unit.a.create_label());
        let Some(plain) = Plain::of(op, step, slow, 0) else { return self.exit(op) };
        self.late.push(Late::Slow { op, label: slow, back, apart: self.apart });
        let before = self.begin_guard(guard, back)?;
        self.folds.forget();
        match plain.base {
            Some(base) if self.class(op, base) != Class::UNIFORM => self.columns(&plain)?,
            Some(_) | None => self.rows(&plain)?,
        }
        self.end_guard(guard, before, back)
    }

    /// Where the memory of the warp's threads is.
    fn own_place(&mut self, plain: &Plain<'_>, to: AsmRegister64) -> Emitted {
        let place = match plain.address.memory {
            Memory::Function => offset_of!(Entry, parameters),
            Memory::Local | Memory::Frame => offset_of!(Entry, own),
            // Not memory that each thread has to itself.
            Memory::Generic | Memory::Global | Memory::Constant | Memory::Kernel => return Err(Unencodable),
            Memory::Shared | Memory::Cluster => return Err(Unencodable),
        };
        self.unit.a.mov(to, qword_ptr(field!(current)))?;
        self.unit.a.mov(to, qword_ptr(to + place))
    }

    /// All lanes have one address.
    fn rows(&mut self, plain: &Plain<'_>) -> Emitted {
        match plain.base {
            Some(_) => self.first_offset(plain)?,
            // From the beginning of the frame, or of the parameters, on.
            None => self.unit.a.mov(rax, plain.address.offset as u64)?,
        }
        let asm = &mut self.unit.a;
        asm.cmp(rax, plain.room().qword())?;
        asm.jae(plain.slow)?;
        asm.test(al, plain.total() as i32 - 1)?;
        asm.jnz(plain.slow)?;
        if plain.bytes() < 4 {
            asm.mov(ecx, eax)?;
            asm.and(ecx, 3)?;
            asm.shl(ecx, 3)?;
            asm.vpbroadcastd(zmm4, ecx)?;
            asm.and(rax, !3)?;
        }
        asm.shl(rax, 5)?;
        self.own_place(plain, rcx)?;
        self.unit.a.add(rax, rcx)?;
        self.elements_of(plain, Words::Row)
    }

    /// Lanes have addresses of their own.
    fn columns(&mut self, plain: &Plain<'_>) -> Emitted {
        self.offsets(plain)?;
        self.narrow_offsets()?;
        for (half, &offsets) in ZMM.iter().enumerate().take(2) {
            let lanes = self.unit.steps(Steps::even(4), half, false);
            if plain.bytes() < 4 {
                let [within, word] = [3, !3].map(|word| self.unit.word(word));
                let asm = &mut self.unit.a;
                asm.vpandd(SHIFTS[half], offsets, within)?;
                asm.vpslld(SHIFTS[half], SHIFTS[half], 3)?;
                asm.vpandd(offsets, offsets, word)?;
            }
            self.unit.a.vpslld(offsets, offsets, 5)?;
            self.unit.a.vpaddd(offsets, offsets, lanes)?;
        }
        self.own_place(plain, rdx)?;
        self.elements_of(plain, Words::Columns)
    }

    /// Moves all elements. Words are told by the distance of their row from the first.
    fn elements_of(&mut self, plain: &Plain<'_>, at: fn(usize) -> Words) -> Emitted {
        for n in 0..plain.count {
            for half in 0..2 {
                match (plain.bytes(), plain.store) {
                    (1 | 2, false) => self.load_part_of_word(plain, half, at(0))?,
                    (1 | 2, true) => self.store_part_of_word(plain, half, at(0))?,
                    (4, false) => {
                        self.load_words(at(n * ROW), half, 7)?;
                        self.put_element(plain, (n, half), 7)?;
                    }
                    (4, true) => {
                        let from = self.element(plain, (n, half), 7)?;
                        self.store_words(at(n * ROW), half, from)?;
                    }
                    (8, false) => self.load_long(plain, (n, half), at)?,
                    (8, true) => self.store_long(plain, (n, half), at)?,
                    (_, true | false) => return Err(Unencodable),
                }
            }
        }
        Ok(())
    }

    /// Elements of 8 or 16 bits of half a row, from parts of words.
    fn load_part_of_word(&mut self, plain: &Plain<'_>, half: usize, at: Words) -> Emitted {
        self.load_words(at, half, 7)?;
        let bits = 8 * plain.bytes() as u32;
        self.unit.a.vpsrlvd(zmm7, zmm7, at.shifts(half))?;
        if plain.signed {
            self.unit.a.vpslld(zmm7, zmm7, 32 - bits)?;
            self.unit.a.vpsrad(zmm7, zmm7, 32 - bits)?;
            if plain.registers.first().is_some_and(|one| one.bits < 32) {
                let low = self.unit.word(0xffff);
                self.unit.a.vpandd(zmm7, zmm7, low)?;
            }
        } else {
            let element = self.unit.word((1 << bits) - 1);
            self.unit.a.vpandd(zmm7, zmm7, element)?;
        }
        self.put_element(plain, (0, half), 7)
    }

    /// Stores them: other parts of the words stay as they are.
    fn store_part_of_word(&mut self, plain: &Plain<'_>, half: usize, at: Words) -> Emitted {
        let value = self.element(plain, (0, half), 6)?;
        let mask = (1 << (8 * plain.bytes() as u32)) - 1;
        let (element, elements) = (self.unit.word(mask), self.unit.words([mask; 16]));
        let asm = &mut self.unit.a;
        asm.vpandd(zmm6, ZMM[usize::from(value)], element)?;
        asm.vpsllvd(zmm6, zmm6, at.shifts(half))?;
        self.load_words(at, half, 7)?;
        // The bits that are replaced.
        let asm = &mut self.unit.a;
        asm.vmovdqa64(zmm3, elements)?;
        asm.vpsllvd(zmm3, zmm3, at.shifts(half))?;
        asm.vpandnd(zmm7, zmm3, zmm7)?;
        asm.vpord(zmm7, zmm7, zmm6)?;
        self.store_words(at, half, 7)
    }

    /// Words of 64 bits of half a row: their lower words and their upper ones by turns.
    fn load_long(&mut self, plain: &Plain<'_>, (n, half): (usize, usize), at: fn(usize) -> Words) -> Emitted {
        self.load_words(at(2 * n * ROW), half, 4)?;
        self.load_words(at((2 * n + 1) * ROW), half, 5)?;
        for part in 0..2 {
            let turns = std::array::from_fn(|word| (8 * part + word / 2 + 16 * (word % 2)) as u32);
            let turns = self.unit.words(turns);
            self.unit.a.vmovdqa64(zmm6, turns)?;
            self.unit.a.vpermi2d(zmm6, zmm4, zmm5)?;
            self.put_element(plain, (n, 2 * half + part), 6)?;
        }
        Ok(())
    }

    /// Stores them.
    fn store_long(
        &mut self,
        plain: &Plain<'_>,
        (n, half): (usize, usize),
        at: fn(usize) -> Words,
    ) -> Emitted {
        let first = self.element(plain, (n, 2 * half), 4)?;
        let second = self.element(plain, (n, 2 * half + 1), 5)?;
        for word in 0..2 {
            let words = self.unit.words(std::array::from_fn(|lane| (2 * lane + word) as u32));
            self.unit.a.vmovdqa64(zmm6, words)?;
            self.unit.a.vpermi2d(zmm6, ZMM[usize::from(first)], ZMM[usize::from(second)])?;
            self.store_words(at((2 * n + word) * ROW), half, 6)?;
        }
        Ok(())
    }

    fn load_words(&mut self, words: Words, half: usize, to: u8) -> Emitted {
        let to = ZMM[usize::from(to)];
        match words {
            Words::Row(at) => self.unit.a.vmovdqu32(to, zmmword_ptr(rax + (at + 64 * half))),
            Words::Columns(at) => {
                self.taking(half, false)?;
                self.unit.a.vpxord(to, to, to)?;
                self.unit.a.vpgatherdd(to.k2(), zmmword_ptr(rdx + ZMM[half] * 1 + at))
            }
        }
    }

    /// Stores words of the lanes that take part.
    fn store_words(&mut self, words: Words, half: usize, from: u8) -> Emitted {
        let from = ZMM[usize::from(from)];
        match words {
            Words::Row(at) => {
                let mut place = zmmword_ptr(rax + (at + 64 * half));
                if self.masked {
                    self.part_mask(half, false)?;
                    place = place.k1();
                }
                self.unit.a.vmovdqu32(place, from)
            }
            Words::Columns(at) => {
                self.taking(half, false)?;
                self.unit.a.vpscatterdd(zmmword_ptr(rdx + ZMM[half] * 1 + at).k2(), from)
            }
        }
    }
}
