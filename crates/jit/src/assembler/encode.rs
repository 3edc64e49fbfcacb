//! The three encodings: with the prefix EVEX, with VEX, and of general-purpose instructions.

use super::Assembler;
use super::halves::{Last, Whole};
use super::operands::{AsmMemoryOperand, Decoration, NONE};

/// The prefix that an opcode has, or that EVEX and VEX stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// No prefix.
    NP,
    P66,
    F3,
    F2,
}

/// The map of opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Map {
    /// Behind `0f`.
    M0F = 1,
    /// Behind `0f 38`.
    M38 = 2,
    /// Behind `0f 3a`.
    M3A = 3,
}

/// An opcode with the prefix EVEX or VEX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opcode {
    pub(super) prefix: Prefix,
    pub(super) map: Map,
    /// The bit W.
    pub(super) wide: bool,
    pub(super) byte: u8,
    /// The length of vectors: 0 for 128 bits, 2 for 512.
    pub(super) length: u8,
    /// Bytes of a memory operand, in which EVEX counts short offsets.
    pub(super) bytes: u8,
    /// Bytes of an element that can be for all lanes; 0 if there is none.
    pub(super) element: u8,
    /// Bytes of the vector that is an index; 0 if there is none.
    pub(super) index: u8,
}

/// An immediate byte, or none.
pub(crate) type Immediate = Option<u8>;

/// An opcode of a general-purpose instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plain {
    pub(super) prefix: Prefix,
    /// Behind `0f`.
    pub(super) escaped: bool,
    /// Operands of 64 bits.
    pub(super) wide: bool,
    pub(super) byte: u8,
}

impl Plain {
    /// One without prefix, of 32 or 64 bits.
    #[inline]
    pub(super) fn new(byte: u8, wide: bool) -> Plain {
        Plain { prefix: Prefix::NP, escaped: false, wide, byte }
    }

    /// The same behind `0f`.
    #[inline]
    pub(super) fn escaped(byte: u8, wide: bool) -> Plain {
        Plain { escaped: true, ..Plain::new(byte, wide) }
    }
}

/// An immediate of a general-purpose instruction: its bytes, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constant(pub(super) i32, pub(super) u8);

impl Constant {
    pub(super) const NONE: Constant = Constant(0, 0);

    #[inline]
    fn bytes(self) -> Bytes {
        Bytes::new((self.0 as u32).into(), self.1.into())
    }
}

/// Some bytes, the first in the lowest bits, and how many.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) word: u64,
    pub(super) count: usize,
}

impl Bytes {
    pub(super) const NONE: Bytes = Bytes { word: 0, count: 0 };

    #[inline]
    pub(super) fn new(word: u64, count: usize) -> Bytes {
        Bytes { word, count }
    }

    /// The same with more behind them: eight at most.
    #[inline]
    fn with(self, word: u64, count: usize) -> Bytes {
        Bytes { word: self.word | word << (8 * self.count), count: self.count + count }
    }

    /// The same with an immediate byte.
    #[inline]
    fn with_immediate(self, immediate: Immediate) -> Bytes {
        match immediate {
            Some(byte) => self.with(byte.into(), 1),
            None => self,
        }
    }
}

/// ModRM, SIB and the offset of a memory operand, whose short form counts in units of a power of two: six bytes at most.
/// None if it has no encoding.
#[inline]
fn memory_bytes(reg: u8, memory: &AsmMemoryOperand, unit: u8) -> Option<Bytes> {
    let (base, reg) = (memory.base & 7, (reg & 7) << 3);
    let (offset, shift) = (memory.displacement, unit.trailing_zeros());
    let short = offset >> (shift & 63);
    let (mode, offset) = match short << (shift & 63) == offset && i64::from(short as i8) == short {
        // Base 5 without an offset means something else.
        true if offset == 0 && base != 5 => (0, Bytes::NONE),
        true => (0x40, Bytes::new((short as u8).into(), 1)),
        false if i64::from(offset as i32) == offset => (0x80u8, Bytes::new((offset as u32).into(), 4)),
        false => return None,
    };
    if memory.index == NONE {
        // Base 4 alone means that SIB follows.
        let sib = base == 4;
        let modes = u64::from(mode | reg | base) | u64::from(sib) << 10 | u64::from(sib) << 13;
        return Some(Bytes::new(modes, 1 + usize::from(sib)).with(offset.word, offset.count));
    }
    if !matches!(memory.scale, 1 | 2 | 4 | 8) {
        return None;
    }
    let sib = (memory.scale.trailing_zeros() as u8) << 6 | (memory.index & 7) << 3 | base;
    Some(Bytes::new(u64::from(mode | reg | 4) | u64::from(sib) << 8, 2).with(offset.word, offset.count))
}

/// ModRM of two registers.
#[inline]
fn register_byte(reg: u8, rm: u8) -> Bytes {
    Bytes::new(u64::from(0xc0 | (reg & 7) << 3 | rm & 7), 1)
}

/// Bit `bit` of a register's number.
#[inline]
fn bit(register: u8, bit: u32) -> u64 {
    u64::from(register >> bit & 1)
}

/// The prefix EVEX and the opcode. `x` and `b` are bits of the last operand's registers.
#[inline]
fn evex(opcode: Opcode, reg: u8, v: u8, (x, b): (u64, u64), v_high: u64, third: u64) -> u64 {
    let inverted = (bit(reg, 3) << 7 | x << 6 | b << 5 | bit(reg, 4) << 4) ^ 0xf0;
    let first = inverted | opcode.map as u64;
    let second = u64::from(opcode.wide) << 7 | u64::from(!v & 15) << 3 | 4 | opcode.prefix as u64;
    let third = third | (v_high ^ 1) << 3;
    0x62 | first << 8 | second << 16 | third << 24 | u64::from(opcode.byte) << 32
}

impl Assembler {
    /// EVEX with a register as the last operand. `decoration` has the mask of the result, and a rounding.
    #[inline(never)]
    pub(super) fn evex_register(
        &mut self,
        opcode: Opcode,
        [reg, v, rm]: [u8; 3],
        decoration: Decoration,
        immediate: Immediate,
    ) {
        if self.halves.is_some() {
            let last = Last::Register(rm);
            return self.in_halves(Whole { opcode, d: reg, v, last, how: decoration, byte: immediate });
        }
        let Decoration { mask, zeroing, rounding } = decoration;
        let (length, rounds) = match rounding {
            0 => (opcode.length, 0),
            _ => (rounding - 1, 1),
        };
        let third = u64::from(zeroing) << 7 | u64::from(length) << 5 | rounds << 4 | u64::from(mask);
        let head = evex(opcode, reg, v, (bit(rm, 4), bit(rm, 3)), bit(v, 4), third);
        let bytes = Bytes::new(head, 5).with(register_byte(reg, rm).word, 1).with_immediate(immediate);
        self.append(bytes);
    }

    /// EVEX with memory as the last operand.
    #[inline(never)]
    pub(super) fn evex_memory(
        &mut self,
        opcode: Opcode,
        [reg, v]: [u8; 2],
        memory: &AsmMemoryOperand,
        decoration: Decoration,
        immediate: Immediate,
    ) {
        if self.halves.is_some() {
            let last = Last::Memory(*memory);
            return self.in_halves(Whole { opcode, d: reg, v, last, how: decoration, byte: immediate });
        }
        let vector = opcode.index != 0;
        let (x, v_high) = match memory.index {
            NONE => (0, bit(v, 4)),
            index if vector => (bit(index, 3), bit(index, 4)),
            index => (bit(index, 3), bit(v, 4)),
        };
        let unit = if memory.broadcast { opcode.element } else { opcode.bytes };
        // Operands of another size, roundings, two masks, and `rsp` as an index have no encoding.
        let place = match vector {
            true => memory.index_bytes == opcode.index,
            false => memory.bytes == unit && memory.index_bytes <= 8 && memory.index != 4,
        };
        let masks = decoration.mask == 0 || memory.mask == 0;
        let legal = place && masks && unit != 0 && decoration.rounding == 0;
        let third = u64::from(decoration.zeroing) << 7
            | u64::from(opcode.length) << 5
            | u64::from(memory.broadcast) << 4
            | u64::from(decoration.mask | memory.mask);
        let head = Bytes::new(evex(opcode, reg, v, (x, bit(memory.base, 3)), v_high, third), 5);
        match memory_bytes(reg, memory, unit) {
            Some(bytes) if legal => self.append_all(head, bytes.with_immediate(immediate), Bytes::NONE),
            _ => self.fail(),
        }
    }

    /// VEX with a register as the last operand; all are below 16.
    #[inline(never)]
    pub(super) fn vex_register(&mut self, opcode: Opcode, [reg, v, rm]: [u8; 3], immediate: Immediate) {
        if (reg | v | rm) > 15 {
            return self.fail();
        }
        let head = vex(opcode, reg, v, (0, bit(rm, 3)));
        let bytes = Bytes::new(head, 4).with(register_byte(reg, rm).word, 1).with_immediate(immediate);
        self.append(bytes);
    }

    /// VEX with memory as the last operand.
    #[inline(never)]
    pub(super) fn vex_memory(
        &mut self,
        opcode: Opcode,
        [reg, v]: [u8; 2],
        memory: &AsmMemoryOperand,
        immediate: Immediate,
    ) {
        let index = if memory.index == NONE { 0 } else { memory.index };
        let head = Bytes::new(vex(opcode, reg, v, (bit(index, 3), bit(memory.base, 3))), 4);
        let legal = memory.bytes == opcode.bytes && is_plain(memory) && (reg | v) < 16;
        match memory_bytes(reg, memory, 1) {
            Some(bytes) if legal => self.append_all(head, bytes.with_immediate(immediate), Bytes::NONE),
            _ => self.fail(),
        }
    }

    /// A gather by VEX: the result, the mask, and memory whose index is a vector.
    pub(super) fn gather_from(&mut self, opcode: Opcode, [reg, v]: [u8; 2], memory: &AsmMemoryOperand) {
        let head = Bytes::new(vex(opcode, reg, v, (bit(memory.index, 3), bit(memory.base, 3))), 4);
        let legal = (reg | v | memory.index) < 16 && ![reg, v].contains(&memory.index) && reg != v;
        match memory_bytes(reg, memory, 1) {
            Some(bytes) if legal => self.append_all(head, bytes, Bytes::NONE),
            _ => self.fail(),
        }
    }

    /// A general-purpose instruction with a register as the last operand.
    #[inline(never)]
    pub(super) fn plain_register(&mut self, opcode: Plain, reg: u8, rm: u8, constant: Constant) {
        let head = plain(opcode, reg, (0, bit(rm, 3))).with(register_byte(reg, rm).word, 1);
        self.append_all(head, constant.bytes(), Bytes::NONE);
    }

    /// One with memory, of some bytes.
    #[inline(never)]
    pub(super) fn plain_memory(
        &mut self,
        opcode: Plain,
        reg: u8,
        memory: &AsmMemoryOperand,
        size: u8,
        constant: Constant,
    ) {
        let index = if memory.index == NONE { 0 } else { memory.index };
        let head = plain(opcode, reg, (bit(index, 3), bit(memory.base, 3)));
        let legal = memory.bytes == size && is_plain(memory);
        match memory_bytes(reg, memory, 1) {
            Some(bytes) if legal => self.append_all(head, bytes, constant.bytes()),
            _ => self.fail(),
        }
    }

    /// One without ModRM, whose opcode has a register's number in its last bits.
    #[inline(never)]
    pub(super) fn numbered(&mut self, byte: u8, wide: bool, register: u8, (constant, count): (u64, usize)) {
        let rex = u64::from(wide) << 3 | u64::from(register >> 3);
        let prefix = if rex != 0 { Bytes::new(0x40 | rex, 1) } else { Bytes::NONE };
        let head = prefix.with(u64::from(byte | register & 7), 1);
        self.append_all(head, Bytes::new(constant, count), Bytes::NONE);
    }

    /// Bytes as they are.
    #[inline]
    pub(super) fn raw<const N: usize>(&mut self, bytes: [u8; N]) {
        let word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        self.append(Bytes::new(word, N));
    }
}

/// Whether an operand has no decorations and no vector as its index.
#[inline]
fn is_plain(memory: &AsmMemoryOperand) -> bool {
    !memory.broadcast && memory.mask == 0 && memory.index_bytes <= 8 && memory.index != 4
}

/// The prefix VEX of three bytes and the opcode.
#[inline]
fn vex(opcode: Opcode, reg: u8, v: u8, (x, b): (u64, u64)) -> u64 {
    let first = ((bit(reg, 3) << 7 | x << 6 | b << 5) ^ 0xe0) | opcode.map as u64;
    let second = u64::from(opcode.wide) << 7
        | u64::from(!v & 15) << 3
        | u64::from(opcode.length) << 2
        | opcode.prefix as u64;
    0xc4 | first << 8 | second << 16 | u64::from(opcode.byte) << 24
}

/// Prefixes and opcode of a general-purpose instruction.
#[inline]
fn plain(opcode: Plain, reg: u8, (x, b): (u64, u64)) -> Bytes {
    let mut bytes = match opcode.prefix {
        Prefix::NP => Bytes::NONE,
        Prefix::P66 => Bytes::new(0x66, 1),
        Prefix::F3 => Bytes::new(0xf3, 1),
        Prefix::F2 => Bytes::new(0xf2, 1),
    };
    let rex = u64::from(opcode.wide) << 3 | bit(reg, 3) << 2 | x << 1 | b;
    if rex != 0 {
        bytes = bytes.with(0x40 | rex, 1);
    }
    match opcode.escaped {
        true => bytes.with(0x0f | u64::from(opcode.byte) << 8, 2),
        false => bytes.with(opcode.byte.into(), 1),
    }
}
