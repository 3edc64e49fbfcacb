//! The three encodings: with the prefix EVEX, with VEX, and of general-purpose instructions.

use super::Assembler;
use super::halves::{Last, Whole};
use super::operands::{AsmMemoryOperand, Decoration, NONE};

/// The prefix that an opcode has, or that EVEX and VEX stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Prefix {
    /// No prefix.
    NP,
    P66,
    F3,
    F2,
}

/// The map of opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Map {
    /// Behind `0f`.
    M0F = 1,
    /// Behind `0f 38`.
    M38 = 2,
    /// Behind `0f 3a`.
    M3A = 3,
}

/// An opcode with the prefix EVEX or VEX.
///
/// The order of fields is that of the prefix EVEX, so that it is made of them in a few instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Opcode {
    /// The bit W.
    pub(super) wide: bool,
    pub(super) map: Map,
    pub(super) prefix: Prefix,
    /// The length of vectors: 0 for 128 bits, 2 for 512.
    pub(super) length: u8,
    pub(super) byte: u8,
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

/// The mode of an offset, in ModRM, and its bytes; the short form counts in units of a power of two. None if it has no
/// encoding.
#[inline]
fn offset_bytes(offset: i64, base: u8, unit: u8) -> Option<(u8, Bytes)> {
    let shift = unit.trailing_zeros() & 63;
    let short = offset >> shift;
    if short << shift == offset && i64::from(short as i8) == short {
        // Base 5 without an offset means something else.
        let count = usize::from(offset != 0 || base & 7 == 5);
        return Some(((count as u8) << 6, Bytes::new((short as u8).into(), count)));
    }
    (i64::from(offset as i32) == offset).then(|| (0x80, Bytes::new((offset as u32).into(), 4)))
}

/// ModRM, SIB and the offset of a memory operand: six bytes at most. None if it has no encoding.
#[inline]
fn memory_bytes(reg: u8, memory: &AsmMemoryOperand, unit: u8) -> Option<Bytes> {
    let (modes, offset) = modes_and_offset(reg, memory, unit)?;
    Some(modes.with(offset.word, offset.count))
}

/// ModRM with SIB, and the offset.
#[inline]
fn modes_and_offset(reg: u8, memory: &AsmMemoryOperand, unit: u8) -> Option<(Bytes, Bytes)> {
    let (base, reg) = (memory.base & 7, (reg & 7) << 3);
    let (mode, offset) = offset_bytes(memory.displacement, base, unit)?;
    if memory.index == NONE {
        // Base 4 alone means that SIB follows.
        let sib = usize::from(base == 4);
        let modes = u64::from(mode | reg | base) | (0x2400 * sib as u64);
        return Some((Bytes::new(modes, 1 + sib), offset));
    }
    if !matches!(memory.scale, 1 | 2 | 4 | 8) {
        return None;
    }
    let sib = (memory.scale.trailing_zeros() as u8) << 6 | (memory.index & 7) << 3 | base;
    Some((Bytes::new(u64::from(mode | reg | 4) | u64::from(sib) << 8, 2), offset))
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

/// Where the bits of a register are in EVEX and ModRM: the first place of each of its five bits. EVEX has them inverted, so
/// they change what [`evex`] has.
const fn fields(places: [u32; 5]) -> [u64; 32] {
    let mut all = [0; 32];
    let mut number = 0;
    while number < 32 {
        let mut bit = 0;
        while bit < 5 {
            all[number] |= (number as u64 >> bit & 1) << places[bit];
            bit += 1;
        }
        number += 1;
    }
    all
}

/// The first operand, the second, and a register as the last one.
static FIRST: [u64; 32] = fields([43, 44, 45, 15, 12]);
static SECOND: [u64; 32] = fields([19, 20, 21, 22, 27]);
static LAST: [u64; 32] = fields([40, 41, 42, 13, 14]);

/// The prefix EVEX and the opcode, with registers of the number 0.
#[inline]
fn evex(opcode: Opcode) -> u64 {
    0x0_087c_f062
        | (opcode.map as u64) << 8
        | (opcode.prefix as u64) << 16
        | u64::from(opcode.wide) << 23
        | u64::from(opcode.length) << 29
        | u64::from(opcode.byte) << 32
}

/// The bits of a register.
#[inline]
fn field(fields: &[u64; 32], register: u8) -> u64 {
    fields[usize::from(register & 31)]
}

/// The prefix EVEX, the opcode, ModRM and SIB with an index, of which they had none; and whether there is such an encoding.
/// `sized` says whether the operand has the size that the instruction takes.
fn with_index(head: u64, opcode: Opcode, memory: &AsmMemoryOperand, sized: bool) -> (u64, bool) {
    let index = memory.index;
    // Neither a vector is an index of a scalar address, nor `rsp`.
    let legal = index != NONE
        && matches!(memory.scale, 1 | 2 | 4 | 8)
        && match opcode.index {
            0 => memory.index_bytes <= 8 && index != 4 && sized,
            bytes => memory.index_bytes == bytes && opcode.bytes != 0,
        };
    let scale = (u64::from(memory.scale.trailing_zeros()) & 3) << 6;
    let sib = scale | u64::from(index & 7) << 3 | u64::from(memory.base & 7);
    let mut head = head & !(7 << 40) | 4 << 40 | sib << 48;
    head ^= u64::from(index >> 3 & 1) << 14;
    if opcode.index != 0 {
        head ^= u64::from(index >> 4 & 1) << 27;
    }
    (head, legal)
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
            return self.halved(opcode, [reg, v], Last::Register(rm), decoration, immediate);
        }
        let Decoration { mask, zeroing, rounding } = decoration;
        let mut head = evex(opcode) | u64::from(zeroing) << 31 | u64::from(mask) << 24 | 0xc0 << 40;
        if rounding != 0 {
            head = head & !(3 << 29) | u64::from(rounding - 1) << 29 | 1 << 28;
        }
        head ^= field(&FIRST, reg) ^ field(&SECOND, v) ^ field(&LAST, rm);
        let byte = immediate.unwrap_or(0);
        let count = 6 + usize::from(immediate.is_some());
        self.append(Bytes::new(head | u64::from(byte) << 48, count));
    }

    /// An instruction on 512 bits without AVX-512.
    #[inline(never)]
    fn halved(&mut self, opcode: Opcode, [d, v]: [u8; 2], last: Last, how: Decoration, byte: Immediate) {
        self.in_halves(Whole { opcode, d, v, last, how, byte });
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
            return self.halved(opcode, [reg, v], Last::Memory(*memory), decoration, immediate);
        }
        // An element for all lanes takes less of the ports that load than a whole vector as an operand.
        let broadcast = memory.broadcast || memory.even && opcode.element != 0;
        let unit = if broadcast { opcode.element } else { opcode.bytes };
        let Some((mode, offset)) = offset_bytes(memory.displacement, memory.base, unit) else {
            return self.fail();
        };
        let head = evex(opcode)
            | u64::from(decoration.zeroing) << 31
            | u64::from(broadcast) << 28
            | u64::from(decoration.mask | memory.mask) << 24
            | u64::from(mode) << 40;
        let sized = unit != 0 && (memory.bytes == unit || memory.even && broadcast);
        // Operands of another size, roundings and two masks have no encoding.
        let mut illegal = decoration.rounding | u8::from(decoration.mask != 0) & u8::from(memory.mask != 0);
        let head = head ^ field(&FIRST, reg) ^ field(&SECOND, v) ^ field(&LAST, memory.base & 15);
        // Most have no index. Base 4 alone means that SIB follows.
        let (head, count) = if memory.index == NONE && opcode.index == 0 {
            illegal |= u8::from(!sized);
            let sib = usize::from(memory.base & 7 == 4);
            (head | (0x24 * sib as u64) << 48, 6 + sib)
        } else {
            let (head, legal) = with_index(head, opcode, memory, sized);
            illegal |= u8::from(!legal);
            (head, 7)
        };
        match illegal == 0 {
            true => self.append_both(Bytes::new(head, count), offset.with_immediate(immediate)),
            false => self.fail(),
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
            Some(bytes) if legal => self.append_both(head, bytes.with_immediate(immediate)),
            Some(_) | None => self.fail(),
        }
    }

    /// A gather by VEX: the result, the mask, and memory whose index is a vector.
    pub(super) fn gather_from(&mut self, opcode: Opcode, [reg, v]: [u8; 2], memory: &AsmMemoryOperand) {
        let head = Bytes::new(vex(opcode, reg, v, (bit(memory.index, 3), bit(memory.base, 3))), 4);
        let legal = (reg | v | memory.index) < 16 && ![reg, v].contains(&memory.index) && reg != v;
        match memory_bytes(reg, memory, 1) {
            Some(bytes) if legal => self.append_both(head, bytes),
            Some(_) | None => self.fail(),
        }
    }

    /// A general-purpose instruction with a register as the last operand.
    #[inline(never)]
    pub(super) fn plain_register(&mut self, opcode: Plain, reg: u8, rm: u8, constant: Constant) {
        let head = plain(opcode, reg, (0, bit(rm, 3))).with(register_byte(reg, rm).word, 1);
        let start = self.length;
        self.append_both(head, constant.bytes());
        self.set_movable(start);
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
        let start = self.length;
        match modes_and_offset(reg, memory, 1) {
            // Seven bytes at most, and eight.
            Some((modes, offset)) if legal => {
                let constant = constant.bytes();
                self.append_both(
                    head.with(modes.word, modes.count),
                    offset.with(constant.word, constant.count),
                );
            }
            Some(_) | None => self.fail(),
        }
        self.set_movable(start);
    }

    /// One without ModRM, whose opcode has a register's number in its last bits.
    #[inline(never)]
    pub(super) fn numbered(&mut self, byte: u8, wide: bool, register: u8, (constant, count): (u64, usize)) {
        let rex = u64::from(wide) << 3 | u64::from(register >> 3);
        let prefix = if rex != 0 { Bytes::new(0x40 | rex, 1) } else { Bytes::NONE };
        let head = prefix.with(u64::from(byte | register & 7), 1);
        self.append_both(head, Bytes::new(constant, count));
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
    let decorations = u8::from(memory.broadcast) | memory.mask;
    (decorations == 0) & (memory.index_bytes <= 8) & (memory.index != 4)
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
    let rex = u64::from(opcode.wide) << 3 | bit(reg, 3) << 2 | x << 1 | b;
    let byte = u64::from(opcode.byte);
    let (mut word, mut count) = if opcode.escaped { (0x0f | byte << 8, 2) } else { (byte, 1) };
    if rex != 0 {
        (word, count) = (word << 8 | 0x40 | rex, count + 1);
    }
    let prefix = match opcode.prefix {
        Prefix::NP => return Bytes::new(word, count),
        Prefix::P66 => 0x66,
        Prefix::F3 => 0xf3,
        Prefix::F2 => 0xf2,
    };
    Bytes::new(word << 8 | prefix, count + 1)
}
