//! Instructions that AVX2 lacks, of several, and conversions between elements of different widths.

use super::*;
use crate::context::Word;

const SUB_FLOATS: Opcode = op(NP, M0F, 32, 0x5c);
const COMPARE_FLOATS: Opcode = op(NP, M0F, 32, 0xc2);
const SUB_DOUBLES: Opcode = op(P66, M0F, 32, 0x5c);
const ADD_DOUBLES: Opcode = op(P66, M0F, 32, 0x58);
const FROM_INTEGERS: Opcode = op(NP, M0F, 32, 0x5b);
const MULTIPLY_WORDS: Opcode = op(P66, M0F, 32, 0xf4);
const PACK: Opcode = op(P66, M38, 32, 0x2b);
const PACK_BYTES: Opcode = op(P66, M0F, 32, 0x67);
const PERMUTE64: Opcode = op(P66, M3A, 64, 0x00);

/// The order of 64-bit words behind a packing, which is within halves of 128 bits.
const IN_ORDER: Immediate = Some(0xd8);

impl Assembler {
    /// An instruction that AVX2 lacks, on each half.
    pub(super) fn each_half(&mut self, whole: &Whole, element: u8) {
        for half in 0..2 {
            let (a, last) = (home(whole.v, half), whole.last.half(half));
            let done = match (whole.opcode.prefix, whole.opcode.map, whole.opcode.byte) {
                (P66, M38, 0x40) => self.multiply_wide(a, last),
                (P66, M38, 0x46) => self.shift_wide(a, last),
                (P66, M38, byte @ (0x39 | 0x3b | 0x3d | 0x3f)) => self.choose_wide(byte, a, last),
                (P66, M38, 0x1f) => self.magnitude_wide(last),
                (P66, M38, 0x44) => self.leading_zeros(last),
                (P66, M3A, 0x50) => self.choose_float(whole.byte == Some(5), a, last),
                (P66, M3A, 0x56) => self.fraction(whole.byte, last),
                (Prefix::F2, M0F, 0x7a) if !whole.opcode.wide => self.floats_of_unsigned(last),
                (NP, M0F, 0x78) => self.unsigned_of(last, op(F3, M0F, 32, 0x5b)),
                (NP, M0F, 0x79) => self.unsigned_of(last, op(P66, M0F, 32, 0x5b)),
                (F3, M0F, 0xe6) => self.doubles_of_wide(last),
                _ => return self.fail(),
            };
            self.put_half(whole, half, done, element);
        }
    }

    /// The low half of a product of 64-bit words.
    fn multiply_wide(&mut self, a: Operand, b: Operand) -> u8 {
        let a = self.in_register(a, A);
        let b = self.in_register(b, T);
        self.shift(SHIFT64, DOWN, U, a, 32);
        self.y(MULTIPLY_WORDS, U, U, b);
        self.shift(SHIFT64, DOWN, R, b, 32);
        self.y(MULTIPLY_WORDS, R, R, a);
        self.y(ADD64, R, R, U);
        self.shift(SHIFT64, UP, R, R, 32);
        self.y(MULTIPLY_WORDS, U, a, b);
        self.y(ADD64, R, R, U);
        R
    }

    /// The sign of 64-bit words in all of their bits.
    fn signs_wide(&mut self, d: u8, of: u8) {
        self.zero(d);
        self.y(GREATER64, d, d, of);
    }

    /// 64-bit words shifted down with their signs.
    fn shift_wide(&mut self, a: Operand, by: Operand) -> u8 {
        let a = self.in_register(a, A);
        self.signs_wide(T, a);
        self.y(XOR, R, a, T);
        self.y(op(P66, M38, 64, 0x45), R, R, by);
        self.y(XOR, R, R, T);
        R
    }

    /// The lesser or the larger 64-bit words, by the opcode of the instruction.
    fn choose_wide(&mut self, byte: u8, a: Operand, b: Operand) -> u8 {
        let a = self.in_register(a, A);
        let b = self.in_register(b, T);
        match byte {
            0x39 | 0x3d => self.y(GREATER64, R, a, b),
            0x3b | 0x3f => {
                self.ones(U);
                self.shift(SHIFT64, UP, U, U, 63);
                self.y(XOR, R, a, U);
                self.y(XOR, U, b, U);
                self.y(GREATER64, R, R, U);
            }
            _ => self.fail(),
        }
        match byte {
            0x39 | 0x3b => self.blend(R, a, b, R),
            0x3d | 0x3f => self.blend(R, b, a, R),
            _ => self.fail(),
        }
        R
    }

    fn magnitude_wide(&mut self, of: Operand) -> u8 {
        let of = self.in_register(of, A);
        self.signs_wide(T, of);
        self.y(XOR, R, of, T);
        self.y(SUB64, R, R, T);
        R
    }

    /// From the exponents of words as floats. Each bit below another one is cleared, so that nothing is rounded up.
    fn leading_zeros(&mut self, of: Operand) -> u8 {
        let of = self.in_register(of, A);
        self.shift(SHIFT32, DOWN, R, of, 1);
        self.y(AND_NOT, R, R, of);
        self.y(FROM_INTEGERS, R, 0, R);
        self.shift(SHIFT32, DOWN, R, R, 23);
        self.word(T, Word::ExponentOf31);
        self.y(SUB32, R, T, R);
        // Words with the highest bit are negative, and 0 has the exponent 0.
        self.zero(T);
        self.y(op(P66, M38, 32, 0x3d), R, R, T);
        self.word(T, Word::Bits);
        self.y(op(P66, M38, 32, 0x39), R, R, T);
        R
    }

    /// The lesser or the larger float: −0 is less than +0, and a number is taken before a NaN.
    fn choose_float(&mut self, max: bool, a: Operand, b: Operand) -> u8 {
        let a = self.in_register(a, A);
        let b = self.in_register(b, T);
        let opcode = op(NP, M0F, 32, if max { 0x5f } else { 0x5d });
        // Equal ones are the second of each.
        self.y(opcode, R, a, b);
        self.y(opcode, U, b, a);
        self.y(if max { AND } else { OR }, R, R, U);
        for (of, other) in [(a, b), (b, a)] {
            self.y_byte(COMPARE_FLOATS, U, of, of, Some(3));
            self.blend(R, R, other, U);
        }
        R
    }

    /// A float less the whole number below or above it, by the byte of the instruction.
    fn fraction(&mut self, byte: Immediate, of: Operand) -> u8 {
        let of = self.in_register(of, A);
        self.y_byte(op(P66, M3A, 32, 0x08), R, 0, of, byte.map(|byte| byte & 3 | 8));
        // Infinities have none.
        self.y_byte(COMPARE_FLOATS, T, R, of, Some(0));
        self.y(SUB_FLOATS, R, of, R);
        self.y(AND_NOT, R, T, R);
        R
    }

    /// Floats of unsigned words: of their high and low parts, rounded once.
    fn floats_of_unsigned(&mut self, of: Operand) -> u8 {
        let of = self.in_register(of, A);
        self.shift(SHIFT32, DOWN, R, of, 16);
        self.y(FROM_INTEGERS, R, 0, R);
        self.shift(SHIFT32, UP, T, of, 16);
        self.shift(SHIFT32, DOWN, T, T, 16);
        self.y(FROM_INTEGERS, T, 0, T);
        self.word(U, Word::TwoTo16);
        self.y(op(P66, M38, 32, 0xa8), R, U, T);
        R
    }

    /// Unsigned words of floats, by an instruction for signed ones. Those that do not fit have all bits.
    fn unsigned_of(&mut self, of: Operand, opcode: Opcode) -> u8 {
        let of = self.in_register(of, A);
        self.word(U, Word::TwoTo31);
        // What is not less, less 2^31.
        self.y_byte(COMPARE_FLOATS, T, U, of, Some(2));
        self.y(AND, U, U, T);
        self.y(SUB_FLOATS, R, of, U);
        self.y(opcode, R, 0, R);
        self.shift(SHIFT32, DOWN_SIGNED, U, R, 31);
        self.shift(SHIFT32, UP, T, T, 31);
        self.y(XOR, R, R, T);
        self.y(OR, R, R, U);
        R
    }

    /// Doubles of 64-bit words below 2^51.
    fn doubles_of_wide(&mut self, of: Operand) -> u8 {
        self.y(BROADCAST64, T, 0, Operand::Memory(emulated!(wide_words, 0, 8)));
        self.y(ADD64, R, T, of);
        self.y(SUB_DOUBLES, R, R, T);
        R
    }

    /// A vector of the elements of half of one, or of a quarter, which are wider.
    pub(super) fn widen(&mut self, whole: &Whole, element: u8) {
        let (opcode, bytes) = (whole.opcode, whole.opcode.bytes / 2);
        let unsigned = (opcode.prefix, opcode.map, opcode.byte) == (F3, M0F, 0x7a);
        let own = match unsigned {
            true => Opcode { bytes, ..op(P66, M38, 32, 0x35) },
            false => Opcode { length: 1, bytes, ..opcode },
        };
        for (half, to) in [R, T].into_iter().enumerate() {
            let from = match whole.last {
                Last::Memory(memory) => Operand::Memory(part(memory, half * usize::from(bytes), bytes)),
                Last::Both(from) => Operand::Register(from),
                Last::Register(register) => match home(register, 0) {
                    Operand::Memory(memory) => {
                        Operand::Memory(part(memory, half * usize::from(bytes), bytes))
                    }
                    Operand::Register(from) if half == 0 => Operand::Register(from),
                    Operand::Register(from) if bytes == 16 => {
                        self.vex_register(EXTRACT, [from, 0, U], Some(1));
                        Operand::Register(U)
                    }
                    Operand::Register(from) => {
                        self.y_byte(op(P66, M0F, 32, 0x70), U, 0, from, Some(0xee));
                        Operand::Register(U)
                    }
                },
            };
            self.y(own, to, 0, from);
            if unsigned {
                // As the low part of 2^52.
                self.y(BROADCAST64, U, 0, Operand::Memory(emulated!(wide_words, 8, 8)));
                self.y(OR, to, to, U);
                self.y(SUB_DOUBLES, to, to, U);
            }
        }
        self.put_both(whole, [R, T], element);
    }

    /// Half a vector of the elements of one, converted to half their width.
    pub(super) fn shorten(&mut self, whole: &Whole) {
        let opcode = whole.opcode;
        if opcode.map == M3A {
            // The result is the last operand.
            let Last::Register(to) = whole.last else { return self.fail() };
            for (half, short) in [R, T].into_iter().enumerate() {
                let from = self.in_register(home(whole.d, half), A);
                self.vex_register(Opcode { length: 1, ..opcode }, [from, 0, short], whole.byte);
            }
            self.y_byte(INSERT, R, R, T, Some(1));
            return self.write_half(to, 0, R);
        }
        for (half, short) in [R, T].into_iter().enumerate() {
            let from = self.in_register(whole.last.half(half), A);
            if opcode.prefix == P66 {
                self.y(op(P66, M0F, 32, opcode.byte), short, 0, from);
                continue;
            }
            // Unsigned words: the low parts of 2^52 and the number without its fraction.
            self.y(BROADCAST64, U, 0, Operand::Memory(emulated!(wide_words, 8, 8)));
            self.y_byte(op(P66, M3A, 32, 0x09), short, 0, from, Some(11));
            self.y(ADD_DOUBLES, short, short, U);
        }
        if opcode.prefix == P66 {
            self.y_byte(INSERT, R, R, T, Some(1));
        } else {
            self.low_words();
        }
        self.write_half(whole.d, 0, R);
    }

    /// The low halves of the 64-bit words of two registers.
    fn low_words(&mut self) {
        self.y_byte(op(NP, M0F, 32, 0xc6), R, R, T, Some(0x88));
        self.y_byte(PERMUTE64, R, 0, R, IN_ORDER);
    }

    /// Elements cut off to half their width, or to bytes. The result is the last operand.
    pub(super) fn narrow(&mut self, whole: &Whole) {
        for (half, to) in [R, T].into_iter().enumerate() {
            let from = self.in_register(home(whole.d, half), to);
            let by = match whole.opcode.byte {
                0x31 => 24,
                0x33 => 16,
                0x35 => {
                    self.move_to(Operand::Register(from), to);
                    continue;
                }
                _ => return self.fail(),
            };
            self.shift(SHIFT32, UP, to, from, by);
            self.shift(SHIFT32, DOWN, to, to, by);
        }
        let bytes = match whole.opcode.byte {
            0x35 => {
                self.low_words();
                4
            }
            0x33 => {
                self.y(PACK, R, R, T);
                self.y_byte(PERMUTE64, R, 0, R, IN_ORDER);
                2
            }
            0x31 => {
                self.y(PACK, R, R, T);
                self.y_byte(PERMUTE64, R, 0, R, IN_ORDER);
                self.y(PACK_BYTES, R, R, R);
                self.y_byte(PERMUTE64, R, 0, R, Some(8));
                1
            }
            _ => return self.fail(),
        };
        match whole.last {
            Last::Register(to) if whole.how.mask == 0 => self.write_half(to, 0, R),
            Last::Memory(memory) if whole.how.mask != 0 => self.store_lanes(whole.how.mask, &memory, bytes),
            Last::Memory(memory) if bytes == 1 => {
                let opcode = Opcode { length: 0, bytes: 16, ..STORE };
                self.vex_memory(opcode, [R, 0], &part(memory, 0, 16), None);
            }
            Last::Memory(memory) => self.vex_memory(STORE, [R, 0], &part(memory, 0, 32), None),
            Last::Register(_) | Last::Both(_) => self.fail(),
        }
    }

    /// Takes a quarter out of a vector, or replaces one. In memory, it is accessed by a move of 16 bytes.
    pub(super) fn move_quarter(&mut self, whole: &Whole) {
        let quarter = usize::from(whole.byte.unwrap_or(0) & 3);
        let (half, odd) = (quarter / 2, quarter % 2);
        let short = |opcode: Opcode| Opcode { length: 0, bytes: 16, ..opcode };
        if whole.how.mask != 0 {
            return self.fail();
        }
        if whole.opcode.byte == 0x39 {
            let mut from = self.in_register(home(whole.d, half), R);
            if odd == 1 {
                self.vex_register(EXTRACT, [from, 0, R], Some(1));
                from = R;
            }
            return match whole.last {
                Last::Register(to) => self.write_half(to, 0, from),
                Last::Memory(memory) => {
                    self.vex_memory(short(STORE), [from, 0], &part(memory, 0, 16), None);
                }
                Last::Both(_) => self.fail(),
            };
        }
        match whole.last {
            Last::Memory(memory) => self.vex_memory(short(LOAD), [R, 0], &part(memory, 0, 16), None),
            Last::Register(from) => _ = self.move_to(home(from, 0), R),
            Last::Both(_) => return self.fail(),
        }
        if whole.d != whole.v {
            let other = self.in_register(home(whole.v, 1 - half), T);
            self.write_half(whole.d, 1 - half, other);
        }
        let before = self.in_register(home(whole.v, half), T);
        self.vex_register(INSERT, [T, before, R], Some(odd as u8));
        self.write_half(whole.d, half, T);
    }

    /// Takes a half out of a vector, or replaces one.
    pub(super) fn move_half(&mut self, whole: &Whole) {
        let which = usize::from(whole.byte.unwrap_or(0) & 1);
        if whole.opcode.byte == 0x3b {
            let from = self.in_register(home(whole.d, which), R);
            match whole.last {
                Last::Register(to) => self.write_half(to, 0, from),
                Last::Memory(memory) => self.vex_memory(STORE, [from, 0], &part(memory, 0, 32), None),
                Last::Both(_) => self.fail(),
            }
            return;
        }
        let from = match whole.last {
            Last::Memory(memory) => Operand::Memory(part(memory, 0, 32)),
            other => other.half(0),
        };
        // The result may have the register of the last operand.
        let from = self.move_to(from, R);
        if whole.d != whole.v {
            let other = self.in_register(home(whole.v, 1 - which), T);
            self.write_half(whole.d, 1 - which, other);
        }
        self.write_half(whole.d, which, from);
    }
}
