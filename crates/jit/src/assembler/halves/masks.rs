//! Mask registers without AVX-512: words of the context.
//!
//! A comparison has ones in all bits of the elements for which it holds. These are kept as a vector beside the word, until
//! another place of the code may be reached: most masks are used as vectors at once, and their words are never made.

use super::super::{Assembler, CodeLabel};
use super::*;

/// What is known about mask registers.
#[derive(Default)]
pub(super) struct Masks {
    /// The bytes of the elements of each one that is a vector.
    vectors: [Option<u8>; 8],
    /// Those whose words are still to be made of the vectors.
    late: [bool; 8],
    /// The one whose vector is in registers.
    last: Option<u8>,
    /// The one of whose word the first half of a vector was made, and the bytes of its elements.
    begun: Option<(u8, u8)>,
}

const MASK_OF_FLOATS: Opcode = op(NP, M0F, 32, 0x50);
const MASK_OF_DOUBLES: Opcode = op(P66, M0F, 32, 0x50);
const MASK_OF_BYTES: Opcode = op(P66, M0F, 32, 0xd7);
const PACK_WORDS: Opcode = op(P66, M0F, 32, 0x63);
const PERMUTE64: Opcode = op(P66, M3A, 64, 0x00);

/// The word of a mask register, or some bytes of it.
fn word(mask: u8, offset: usize, bytes: u8) -> AsmMemoryOperand {
    emulated!(masks, 8 * usize::from(mask) + offset, bytes)
}

/// A half of its vector.
fn vector(mask: u8, half: usize) -> AsmMemoryOperand {
    emulated!(vectors, 64 * usize::from(mask) + 32 * half, 32)
}

impl Assembler {
    fn masks(&mut self) -> &mut Masks {
        &mut self.halves.get_or_insert_default().masks
    }

    /// The result of a comparison is in the registers of the last mask.
    pub(super) fn put_mask(&mut self, mask: u8, element: u8) {
        let masks = self.masks();
        masks.vectors[usize::from(mask)] = Some(element);
        masks.late[usize::from(mask)] = true;
        masks.last = Some(mask);
        masks.begun = None;
    }

    /// Before the registers of the last mask are written, for another mask.
    pub(super) fn keep_last_mask(&mut self, next: u8) {
        let masks = self.masks();
        let Some(last) = masks.last.take() else { return };
        if last == next || masks.vectors[usize::from(last)].is_none() {
            return;
        }
        for half in 0..2 {
            self.vex_memory(STORE, [LAST_MASK + half as u8, 0], &vector(last, half), None);
        }
    }

    /// Half of a mask as a vector, in a register.
    pub(super) fn mask_half(&mut self, mask: u8, element: u8, half: usize) -> u8 {
        let masks = self.masks();
        let known = masks.vectors[usize::from(mask)] == Some(element);
        if known && masks.last == Some(mask) {
            return LAST_MASK + half as u8;
        }
        if known {
            self.y(LOAD, M, 0, Operand::Memory(vector(mask, half)));
            return M;
        }
        self.make_word(mask);
        match element {
            4 => {
                let lanes = Operand::Memory(emulated!(lanes, 32 * half, 32));
                self.y(BROADCAST32, M, 0, Operand::Memory(word(mask, 0, 4)));
                self.y(AND, M, M, lanes);
                self.y(EQUAL32, M, M, lanes);
            }
            8 => {
                let lanes = Operand::Memory(emulated!(wide_lanes, 32 * half, 32));
                self.y(BROADCAST64, M, 0, Operand::Memory(word(mask, 0, 8)));
                self.y(AND, M, M, lanes);
                self.y(EQUAL64, M, M, lanes);
            }
            _ => self.fail(),
        }
        // It is kept: a mask that is used once is often used again.
        self.vex_memory(STORE, [M, 0], &vector(mask, half), None);
        let masks = self.masks();
        if half == 0 {
            masks.begun = Some((mask, element));
        } else if masks.begun.take() == Some((mask, element)) {
            masks.vectors[usize::from(mask)] = Some(element);
            masks.last = masks.last.filter(|&last| last != mask);
        }
        M
    }

    /// Makes the word of a mask, if it has only a vector. The first free register and that of masks are used.
    fn make_word(&mut self, mask: u8) {
        let masks = self.masks();
        if !std::mem::take(&mut masks.late[usize::from(mask)]) {
            return;
        }
        let (element, last) = (masks.vectors[usize::from(mask)], masks.last == Some(mask));
        let mut halves = [LAST_MASK, LAST_MASK + 1];
        if !last {
            halves = [M, A];
            for (half, to) in halves.into_iter().enumerate() {
                self.y(LOAD, to, 0, Operand::Memory(vector(mask, half)));
            }
        }
        if element == Some(2) {
            self.y(PACK_WORDS, M, halves[0], halves[1]);
            self.y_byte(PERMUTE64, M, 0, M, Some(0xd8));
            self.y(MASK_OF_BYTES, FIRST.0, 0, M);
            return self.put_word(mask);
        }
        let (opcode, bits) = match element {
            Some(8) => (MASK_OF_DOUBLES, 4),
            Some(4) => (MASK_OF_FLOATS, 8),
            Some(1) => (MASK_OF_BYTES, 32),
            Some(_) | None => return self.fail(),
        };
        self.y(opcode, FIRST.0, 0, halves[0]);
        self.y(opcode, SECOND.0, 0, halves[1]);
        self.join(bits);
        self.put_word(mask);
    }

    /// The second free register, shifted up, and the first one, in the first.
    fn join(&mut self, bits: u8) {
        // A rotation, which changes no flags.
        let opcode = Opcode { length: 0, ..op(Prefix::F2, M3A, 64, 0xf0) };
        self.vex_register(opcode, [SECOND.0, 0, SECOND.0], Some(64 - bits));
        let sum = AsmMemoryOperand { bytes: 0, ..FIRST + SECOND };
        self.plain_memory(Plain::new(0x8d, true), FIRST.0, &sum, 0, Constant::NONE);
    }

    /// The first free register is the word of a mask.
    fn put_word(&mut self, mask: u8) {
        self.plain_memory(Plain::new(0x89, true), FIRST.0, &word(mask, 0, 8), 8, Constant::NONE);
    }

    /// The same; what was known of the mask no longer holds.
    fn set_word(&mut self, mask: u8) {
        let masks = self.masks();
        masks.vectors[usize::from(mask)] = None;
        masks.late[usize::from(mask)] = false;
        if masks.last == Some(mask) {
            masks.last = None;
        }
        masks.begun = None;
        self.put_word(mask);
    }

    /// Makes the words of all masks: another place of the code may be reached from here.
    pub(in super::super) fn make_words(&mut self) {
        if self.halves.is_some() {
            for mask in 1..8 {
                self.make_word(mask);
            }
        }
    }

    /// The same; this place may be reached from elsewhere.
    pub(in super::super) fn forget_vectors(&mut self) {
        if self.halves.is_some() {
            self.make_words();
            *self.masks() = Masks::default();
        }
    }

    /// The word of a mask, in a register: its low bytes.
    pub(super) fn fetch_mask(&mut self, to: AsmRegister64, mask: u8, bytes: u8) {
        self.make_word(mask);
        self.fetch(to, word(mask, 0, bytes));
    }

    /// An instruction on mask registers, or one of the few that have the prefix VEX in any case.
    pub(in super::super) fn mask_in_halves(&mut self, opcode: Opcode, [d, a, b]: [u8; 3], byte: Immediate) {
        let bytes = match (opcode.prefix, opcode.wide) {
            (P66, false) => 1,
            (NP, false) => 2,
            (Prefix::F2, false) | (P66, true) => 4,
            (Prefix::F3, _) | (NP | Prefix::F2, true) => return self.fail(),
        };
        match (opcode.map, opcode.byte) {
            (M0F, 0x41) => self.combine(AND, [d, a, b]),
            (M0F, 0x45) => self.combine(OR, [d, a, b]),
            (M0F, 0x46) if a == b => {
                self.numbered(0xb8, false, FIRST.0, (0xffff, 4));
                self.set_word(d);
            }
            (M0F, 0x47) => self.combine(XOR, [d, a, b]),
            (M0F, 0x4b) => {
                self.make_word(a);
                self.fetch_mask(FIRST, b, bytes);
                self.fetch(SECOND, word(a, 0, bytes));
                self.join(8 * bytes);
                self.set_word(d);
            }
            (M0F, 0x98) => self.test_masks(d, b, bytes),
            (M3A, 0x30 | 0x31) => {
                let (by, width) = (usize::from(byte.unwrap_or(0)), if opcode.byte == 0x30 { 2 } else { 4 });
                let left = width - (by / 8).min(width);
                if by % 8 != 0 || !matches!(left, 1 | 2 | 4) {
                    return self.fail();
                }
                self.make_word(b);
                self.fetch(FIRST, word(b, by / 8, left as u8));
                self.set_word(d);
            }
            (M0F, 0x90) => {
                self.fetch_mask(FIRST, b, bytes);
                self.set_word(d);
            }
            (M0F, 0x92) if bytes == 4 => {
                self.plain_register(Plain::new(0x8b, false), FIRST.0, b, Constant::NONE);
                self.set_word(d);
            }
            (M0F, 0x93) => {
                self.fetch_mask(AsmRegister64(d), b, bytes);
            }
            (M0F, 0x6f) => {
                let from = self.in_register(home(b, 0), R);
                self.write_half(d, 0, from);
            }
            (M0F, 0xef) => {
                let from = self.in_register(home(a, 0), A);
                self.y(XOR, R, from, home(b, 0));
                self.write_half(d, 0, R);
            }
            _ => self.fail(),
        }
    }

    /// A mask from memory.
    pub(in super::super) fn mask_from_memory(&mut self, mask: u8, memory: &AsmMemoryOperand) {
        self.fetch(FIRST, *memory);
        self.set_word(mask);
    }

    /// A mask of two, of 16 bits.
    fn combine(&mut self, opcode: Opcode, [d, a, b]: [u8; 3]) {
        self.make_word(a);
        self.make_word(b);
        let load = Opcode { length: 0, bytes: 8, ..op(F3, M0F, 32, 0x7e) };
        self.vex_memory(load, [M, 0], &word(a, 0, 8), None);
        self.vex_memory(load, [A, 0], &word(b, 0, 8), None);
        self.y(opcode, M, M, A);
        let to = Opcode { length: 0, ..op(P66, M0F, 32, 0x7e) };
        self.vex_register(to, [M, 0, FIRST.0], None);
        self.plain_register(Plain::escaped(0xb7, false), FIRST.0, FIRST.0, Constant::NONE);
        self.set_word(d);
    }

    /// Sets the zero flag if two masks have no bits, and the carry if together they have all.
    fn test_masks(&mut self, a: u8, b: u8, bytes: u8) {
        self.make_word(a);
        self.fetch_mask(FIRST, b, bytes);
        if a == b {
            self.plain_register(Plain::new(0x85, false), FIRST.0, FIRST.0, Constant::NONE);
        } else {
            self.fetch(SECOND, word(a, 0, bytes));
            self.plain_register(Plain::new(0x09, false), SECOND.0, FIRST.0, Constant::NONE);
        }
        // All bits and one more carry into the bit above.
        let next = AsmMemoryOperand { bytes: 0, ..FIRST + 1 };
        self.plain_memory(Plain::new(0x8d, true), SECOND.0, &next, 0, Constant::NONE);
        let bit = Constant(8 * i32::from(bytes), 1);
        self.plain_register(Plain::escaped(0xba, true), 4, SECOND.0, bit);
    }

    /// A label in code that is part of an instruction.
    pub(super) fn label_here(&mut self) -> CodeLabel {
        let mut label = self.create_label();
        // A label that is new has no place yet.
        let _ = self.set_label(&mut label);
        label
    }
}
