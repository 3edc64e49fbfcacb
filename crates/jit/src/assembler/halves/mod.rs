//! Instructions on 512 bits as pairs of instructions on 256 bits, for CPUs with AVX2 and without AVX-512.
//!
//! The emitter writes the same instructions for both. Here each becomes two with the prefix VEX, one for each half of a
//! vector; what AVX2 lacks is made of several. The first vector registers are pairs of registers of 256 bits; the others
//! have their places in the context ([`Context::saved`]), which instructions use as memory operands. Mask registers are
//! words of the context (`masks.rs`).
//!
//! `rsi` and `rdi` are used, so webs do not get them. No flags are changed but by what is there to change them (`kortest`),
//! and by loops over lanes (`lanes.rs`).
//!
//! An instruction whose result is a register of 256 bits leaves the rest of the vector as it was.

mod convert;
mod lanes;
mod masks;
mod permute;
mod rules;

use super::Assembler;
use super::encode::Map::{M0F, M3A, M38};
use super::encode::Prefix::{self, F3, NP, P66};
use super::encode::{Constant, Immediate, Map, Opcode, Plain};
use super::operands::*;
use crate::context::{Context, Emulated, Register};
use masks::Masks;
use std::mem::offset_of;

/// Vector registers that are pairs of registers of 256 bits.
const PAIRS: u8 = 4;

/// Registers of 256 bits that are free between instructions: for the first source, for the last one, for the result, and
/// two more. Behind them is one for a mask.
const A: u8 = 8;
const B: u8 = 9;
const R: u8 = 10;
const T: u8 = 11;
const U: u8 = 12;
const M: u8 = 13;
/// Both halves of the mask that was computed last.
const LAST_MASK: u8 = 14;

/// General-purpose registers that are free between instructions.
const FIRST: AsmRegister64 = rsi;
const SECOND: AsmRegister64 = rdi;

/// The base register of the context.
const CONTEXT: AsmRegister64 = r15;

/// What is known while instructions are made of halves.
#[derive(Default)]
pub(super) struct Halves {
    masks: Masks,
}

/// An operand of an instruction on 256 bits.
#[derive(Clone, Copy)]
enum Operand {
    Register(u8),
    Memory(AsmMemoryOperand),
}

impl From<u8> for Operand {
    fn from(register: u8) -> Operand {
        Operand::Register(register)
    }
}

/// The last operand of an instruction on 512 bits.
#[derive(Clone, Copy)]
pub(super) enum Last {
    /// A vector register, or one of another kind, by its number.
    Register(u8),
    Memory(AsmMemoryOperand),
    /// A register of 256 bits that is both halves.
    Both(u8),
}

/// An instruction on 512 bits.
#[derive(Clone, Copy)]
pub(super) struct Whole {
    pub(super) opcode: Opcode,
    pub(super) d: u8,
    pub(super) v: u8,
    pub(super) last: Last,
    pub(super) how: Decoration,
    pub(super) byte: Immediate,
}

/// An opcode with the prefix VEX, of 256 bits.
const fn op(prefix: Prefix, map: Map, width: u8, byte: u8) -> Opcode {
    Opcode { prefix, map, wide: width == 64, byte, length: 1, bytes: 32, element: 0, index: 0 }
}

const LOAD: Opcode = op(F3, M0F, 32, 0x6f);
const STORE: Opcode = op(F3, M0F, 32, 0x7f);
const AND: Opcode = op(P66, M0F, 32, 0xdb);
/// The second source where the first has zeros.
const AND_NOT: Opcode = op(P66, M0F, 32, 0xdf);
const OR: Opcode = op(P66, M0F, 32, 0xeb);
const XOR: Opcode = op(P66, M0F, 32, 0xef);
const ADD32: Opcode = op(P66, M0F, 32, 0xfe);
const ADD64: Opcode = op(P66, M0F, 32, 0xd4);
const SUB32: Opcode = op(P66, M0F, 32, 0xfa);
const SUB64: Opcode = op(P66, M0F, 32, 0xfb);
const EQUAL32: Opcode = op(P66, M0F, 32, 0x76);
const EQUAL64: Opcode = op(P66, M38, 32, 0x29);
const GREATER32: Opcode = op(P66, M0F, 32, 0x66);
const GREATER64: Opcode = op(P66, M38, 32, 0x37);
const BLEND_WORDS: Opcode = op(P66, M3A, 32, 0x4a);
const BLEND_BYTES: Opcode = op(P66, M3A, 32, 0x4c);
const EXTRACT: Opcode = op(P66, M3A, 32, 0x39);
const INSERT: Opcode = op(P66, M3A, 32, 0x38);
const BROADCAST32: Opcode = Opcode { bytes: 4, ..op(P66, M38, 32, 0x58) };
const BROADCAST64: Opcode = Opcode { bytes: 8, ..op(P66, M38, 32, 0x59) };
/// Shifts by a byte, and which of their group: down, down with the sign, up.
const SHIFT32: Opcode = op(P66, M0F, 32, 0x72);
const SHIFT64: Opcode = op(P66, M0F, 32, 0x73);
const DOWN: u8 = 2;
const DOWN_SIGNED: u8 = 4;
const UP: u8 = 6;

/// A place in the context.
fn place(offset: usize, bytes: u8) -> AsmMemoryOperand {
    AsmMemoryOperand { bytes, ..CONTEXT + offset }
}

/// A place in what the context has for this.
macro_rules! emulated {
    ($field:ident, $more:expr, $bytes:expr) => {
        place(offset_of!(Context, emulated) + offset_of!(Emulated, $field) + $more, $bytes)
    };
}
use emulated;

/// A half of a vector register.
fn home(register: u8, half: usize) -> Operand {
    match register < PAIRS {
        true => Operand::Register(2 * register + half as u8),
        false => {
            let at = offset_of!(Context, saved) + size_of::<Register>() * usize::from(register);
            Operand::Memory(place(at + 32 * half, 32))
        }
    }
}

/// A part of memory.
fn part(memory: AsmMemoryOperand, offset: usize, bytes: u8) -> AsmMemoryOperand {
    AsmMemoryOperand { bytes, mask: 0, broadcast: false, ..memory + offset }
}

impl Last {
    fn half(self, half: usize) -> Operand {
        match self {
            Last::Register(register) => home(register, half),
            Last::Memory(memory) => Operand::Memory(part(memory, 32 * half, 32)),
            Last::Both(register) => Operand::Register(register),
        }
    }
}

impl Assembler {
    /// Makes every instruction on 512 bits of halves.
    pub(crate) fn use_halves(&mut self) {
        self.halves = Some(Halves::default());
    }

    /// An instruction on 512 bits.
    #[inline(never)]
    pub(super) fn in_halves(&mut self, mut whole: Whole) {
        let rounding = std::mem::take(&mut whole.how.rounding);
        if let Last::Memory(memory) = &mut whole.last
            && memory.mask != 0
        {
            // A result in memory.
            whole.how.mask = std::mem::take(&mut memory.mask);
        }
        if !rules::leaves_out_memory(&whole) {
            return self.fail();
        }
        if let Last::Memory(memory) = whole.last
            && memory.broadcast
        {
            let opcode = if memory.bytes == 8 { BROADCAST64 } else { BROADCAST32 };
            self.y(opcode, B, 0, Operand::Memory(part(memory, 0, memory.bytes)));
            whole.last = Last::Both(B);
        }
        if rounding != 0 {
            self.set_rounding(rounding);
        }
        self.by_rule(&whole);
        if rounding != 0 {
            self.set_rounding(0);
        }
    }

    /// Sets the rounding: one more than its number, or 0 for the one to nearest.
    fn set_rounding(&mut self, rounding: u8) {
        let opcode = Opcode { length: 0, bytes: 4, ..op(NP, M0F, 32, 0xae) };
        let from = emulated!(rounding, 4 * usize::from(rounding), 4);
        self.vex_memory(opcode, [2, 0], &from, None);
    }

    /// An instruction on 256 bits.
    fn y(&mut self, opcode: Opcode, d: u8, a: u8, b: impl Into<Operand>) {
        self.y_byte(opcode, d, a, b, None);
    }

    /// The same with an immediate byte.
    fn y_byte(&mut self, opcode: Opcode, d: u8, a: u8, b: impl Into<Operand>, byte: Immediate) {
        match b.into() {
            Operand::Register(b) => self.vex_register(opcode, [d, a, b], byte),
            Operand::Memory(b) => self.vex_memory(opcode, [d, a], &b, byte),
        }
    }

    /// A shift by a byte.
    fn shift(&mut self, opcode: Opcode, which: u8, d: u8, a: u8, by: u8) {
        self.vex_register(opcode, [which, d, a], Some(by));
    }

    /// The second source where the sign bits of a mask are set, else the first.
    fn blend(&mut self, d: u8, a: u8, b: u8, mask: u8) {
        self.vex_register(BLEND_WORDS, [d, a, b], Some(mask << 4));
    }

    /// All bits set.
    fn ones(&mut self, d: u8) {
        self.y(EQUAL32, d, d, d);
    }

    fn zero(&mut self, d: u8) {
        self.y(XOR, d, d, d);
    }

    /// An operand in a register: its own, or the one that is given.
    fn in_register(&mut self, operand: Operand, otherwise: u8) -> u8 {
        match operand {
            Operand::Register(register) => register,
            Operand::Memory(_) => self.move_to(operand, otherwise),
        }
    }

    /// An operand in the register that is given.
    fn move_to(&mut self, operand: Operand, register: u8) -> u8 {
        match operand {
            Operand::Register(from) if from == register => {}
            Operand::Register(_) | Operand::Memory(_) => self.y(LOAD, register, 0, operand),
        }
        register
    }

    /// Writes a register to a half of a vector.
    fn write_half(&mut self, register: u8, half: usize, from: u8) {
        match home(register, half) {
            Operand::Register(to) if to == from => {}
            Operand::Register(to) => self.y(LOAD, to, 0, from),
            Operand::Memory(memory) => self.vex_memory(STORE, [from, 0], &memory, None),
        }
    }

    /// Writes half of a result, for the elements of its mask. The first free register may be used.
    fn put_half(&mut self, whole: &Whole, half: usize, from: u8, element: u8) {
        let Decoration { mask, zeroing, .. } = whole.how;
        if mask == 0 {
            return self.write_half(whole.d, half, from);
        }
        let mask = self.mask_half(mask, element, half);
        let target = match home(whole.d, half) {
            Operand::Register(to) => to,
            Operand::Memory(_) => A,
        };
        if zeroing {
            self.y(AND, target, from, mask);
        } else {
            self.move_to(home(whole.d, half), target);
            let opcode = if element < 4 { BLEND_BYTES } else { BLEND_WORDS };
            self.vex_register(opcode, [target, target, from], Some(mask << 4));
        }
        self.write_half(whole.d, half, target);
    }

    /// Writes both halves of a result.
    fn put_both(&mut self, whole: &Whole, from: [u8; 2], element: u8) {
        for (half, from) in from.into_iter().enumerate() {
            self.put_half(whole, half, from, element);
        }
    }

    /// A constant of the context, for all 32-bit words.
    fn word(&mut self, d: u8, which: crate::context::Word) {
        let from = emulated!(words, 4 * which as usize, 4);
        self.y(BROADCAST32, d, 0, Operand::Memory(from));
    }

    /// A move from memory to a general-purpose register: of 1, 2, 4 or 8 bytes, with zeros above.
    fn fetch(&mut self, d: AsmRegister64, from: AsmMemoryOperand) {
        let opcode = match from.bytes {
            1 => Plain::escaped(0xb6, false),
            2 => Plain::escaped(0xb7, false),
            bytes => Plain::new(0x8b, bytes == 8),
        };
        self.plain_memory(opcode, d.0, &from, from.bytes, Constant::NONE);
    }
}
