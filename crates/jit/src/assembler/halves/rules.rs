//! Which instructions on 256 bits make one on 512 bits.

use super::*;
use crate::context::Word;

/// Where the operands of an instruction are, if AVX2 has the same on 256 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Same {
    /// A result, two sources.
    Three,
    /// A result, one source.
    Two,
    /// A result that is also a source, and two more.
    Sum,
}

/// The instructions that AVX2 has, too.
fn same(opcode: Opcode) -> Option<Same> {
    use Prefix::{F3, NP, P66};
    Some(match (opcode.prefix, opcode.map, opcode.byte, opcode.wide) {
        (P66, M0F, 0xfe | 0xd4 | 0xfd | 0xfa | 0xfb | 0xdb | 0xeb | 0xef | 0xf4 | 0xe4 | 0xf5, _)
        | (P66, M0F, 0x61 | 0x69 | 0xdf | 0xf9 | 0xfc | 0x58 | 0x59 | 0x5c..=0x5f, _)
        | (P66, M0F, 0x62 | 0x6a | 0x6c | 0x6d, _)
        | (P66, M38, 0x40 | 0x39 | 0x3b | 0x3d | 0x3f | 0x46, false)
        | (P66, M38, 0x28 | 0x47 | 0x45 | 0x00 | 0x2b | 0x04, _)
        | (NP, M0F, 0x58 | 0x5c | 0x59 | 0x5e | 0x5d | 0x5f, _) => Same::Three,
        (P66, M38, 0xa8 | 0xb8 | 0x98, _) => Same::Sum,
        (NP | P66, M0F, 0x51, _)
        | (NP | P66, M0F, 0x5b, false)
        | (F3, M0F, 0x5b | 0x12, _)
        | (P66, M38, 0x1e, false)
        | (P66, M0F, 0x70, false)
        | (P66, M3A, 0x08 | 0x09, _) => Same::Two,
        _ => return None,
    })
}

/// Whether an instruction takes a hundred times as long where an element is a subnormal number: products, quotients and
/// roots. In registers of masked code, lanes that wait may have integers, which are such numbers.
fn is_slow_for_subnormal(opcode: Opcode) -> bool {
    match opcode.map {
        M0F => matches!(opcode.byte, 0x59 | 0x5e | 0x51),
        M38 => matches!(opcode.byte, 0xa8 | 0xb8 | 0x98),
        M3A => false,
    }
}

/// Whether memory is that of a frame, of the context or of constants, all of which no other thread accesses.
fn is_own(memory: &AsmMemoryOperand) -> bool {
    [r11, r12, r13, CONTEXT].contains(&AsmRegister64(memory.base))
}

/// Whether an instruction, made of halves, accesses no elements of memory that its mask leaves out: they may be outside of a
/// buffer.
pub(super) fn leaves_out_memory(whole: &Whole) -> bool {
    let opcode = whole.opcode;
    match whole.last {
        Last::Memory(memory) if whole.how.mask != 0 && !is_own(&memory) => match (opcode.map, opcode.byte) {
            // Moves, whose memory is that under the mask.
            (M0F, 0x6f | 0x7f | 0x28 | 0x29) => true,
            // Gathers and scatters.
            (M38, 0x90 | 0x91 | 0xa0 | 0xa1) => true,
            // Stores of the low parts of elements.
            (M38, 0x31 | 0x33 | 0x35) => opcode.prefix == F3,
            (M0F | M38 | M3A, _) => false,
        },
        Last::Memory(_) | Last::Register(_) | Last::Both(_) => true,
    }
}

/// The bytes of an element under a mask.
fn element(opcode: Opcode) -> u8 {
    match (opcode.prefix, opcode.map, opcode.byte) {
        (P66, M38, 0x00 | 0x26)
        | (P66, M0F, 0xfc)
        | (Prefix::F2, M0F, 0x6f | 0x7f)
        | (F3, M38, 0x28 | 0x29) => 1,
        (P66, M3A, 0x3e)
        | (P66, M0F, 0xfd | 0xe4 | 0xf5 | 0x61 | 0x69 | 0xf9 | 0x71)
        | (P66, M38, 0x04 | 0x2b) => 2,
        (P66, M38, 0x25 | 0x35) | (F3, M0F, 0xe6 | 0x7a) | (NP, M0F, 0x5a) => 8,
        // Those on words, of 64 bits or of 32.
        (NP | P66 | F3 | Prefix::F2, M0F | M38 | M3A, _) => match opcode.wide {
            true => 8,
            false => 4,
        },
    }
}

impl Assembler {
    /// An instruction on 512 bits, without a rounding and an operand for all lanes.
    pub(super) fn by_rule(&mut self, whole: &Whole) {
        use Prefix::{F2, NP};
        let (opcode, element) = (whole.opcode, element(whole.opcode));
        if let Some(same) = same(opcode) {
            return self.same(whole, same, element);
        }
        match (opcode.prefix, opcode.map, opcode.byte) {
            (P66 | F3 | F2, M0F, 0x6f) | (NP | P66, M0F, 0x28) => self.load(whole, element),
            (P66 | F3 | F2, M0F, 0x7f) | (NP | P66, M0F, 0x29) => self.store(whole, element),
            (P66, M0F, 0x71..=0x73) => self.shift_all(whole),
            (P66 | F3, M38, 0x26 | 0x27)
            | (P66, M0F, 0x66)
            | (P66, M38, 0x37)
            | (P66, M3A, 0x1e | 0x1f | 0x3e | 0x66)
            | (F3, M38, 0x29 | 0x39)
            | (NP | P66, M0F, 0xc2) => self.compare(whole, element),
            (P66, M38, 0x58 | 0x59 | 0x7c) => self.broadcast(whole, element),
            (P66, M0F, 0x7e) => self.first_word(whole),
            (P66, M3A, 0x16) if opcode.wide => self.one_of_two(whole),
            (P66, M38, 0x64) => self.choose(whole, element),
            (P66, M3A, 0x25) => self.ternary(whole),
            (P66, M38, 0x36 | 0x7e | 0x76) => self.permute(whole),
            (P66, M3A, 0x3a | 0x3b) => self.move_half(whole),
            (P66, M3A, 0x38 | 0x39) => self.move_quarter(whole),
            (P66, M38, 0x90 | 0x91) => self.gather(whole),
            (P66, M38, 0xa0 | 0xa1) => self.scatter(whole),
            (P66, M38, 0x8b) => self.compress(whole),
            (F3, M38, 0x31 | 0x33 | 0x35) => self.narrow(whole),
            (F3, M38, 0x28 | 0x38) => {
                let Last::Register(mask) = whole.last else { return self.fail() };
                for half in 0..2 {
                    let from = self.mask_half(mask, element, half);
                    self.write_half(whole.d, half, from);
                }
            }
            (P66, M38, 0x35 | 0x25 | 0x33 | 0x23 | 0x13 | 0x31 | 0x21)
            | (F3, M0F, 0xe6 | 0x7a)
            | (NP, M0F, 0x5a)
                if opcode.bytes <= 32 =>
            {
                self.widen(whole, element)
            }
            (P66, M3A, 0x1d) => self.shorten(whole),
            (P66, M0F, 0xe6 | 0x5a) | (NP, M0F, 0x78) if opcode.wide => self.shorten(whole),
            // These fail if they have no rule there.
            (NP | P66 | F3 | F2, M0F | M38 | M3A, _) => self.each_half(whole, element),
        }
    }

    /// An instruction that AVX2 has, too.
    fn same(&mut self, whole: &Whole, same: Same, element: u8) {
        let opcode = Opcode { length: 1, bytes: 32, element: 0, ..whole.opcode };
        if whole.how.mask != 0 && is_slow_for_subnormal(opcode) {
            return self.same_of_some(whole, same, opcode);
        }
        for half in 0..2 {
            let b = whole.last.half(half);
            let d = match home(whole.d, half) {
                Operand::Register(to) if whole.how.mask == 0 => to,
                Operand::Register(_) | Operand::Memory(_) => R,
            };
            let a = match same {
                Same::Two => 0,
                Same::Three | Same::Sum => self.in_register(home(whole.v, half), A),
            };
            if same == Same::Sum {
                self.move_to(home(whole.d, half), d);
            }
            self.y_byte(opcode, d, a, b, whole.byte);
            self.put_half(whole, half, d, element);
        }
    }

    /// Applies the instruction to the elements of a mask. The others are zeros there: they may be subnormal numbers.
    fn same_of_some(&mut self, whole: &Whole, same: Same, opcode: Opcode) {
        let element = element(opcode);
        for half in 0..2 {
            let mask = self.mask_half(whole.how.mask, element, half);
            self.y(AND, T, mask, whole.last.half(half));
            if same != Same::Two {
                self.y(AND, U, mask, home(whole.v, half));
            }
            if same == Same::Sum {
                self.y(AND, R, mask, home(whole.d, half));
            }
            self.y_byte(opcode, R, if same == Same::Two { 0 } else { U }, T, whole.byte);
            self.put_half(whole, half, R, element);
        }
    }

    /// A move to a register.
    fn load(&mut self, whole: &Whole, element: u8) {
        for half in 0..2 {
            let from = whole.last.half(half);
            match (from, home(whole.d, half)) {
                (Operand::Memory(memory), _) if whole.how.mask != 0 && !is_own(&memory) => {
                    self.load_masked(whole, half, &memory, element);
                }
                (_, Operand::Register(to)) if whole.how.mask == 0 => {
                    self.move_to(from, to);
                }
                (Operand::Register(_) | Operand::Memory(_), Operand::Register(_) | Operand::Memory(_)) => {
                    let from = self.in_register(from, R);
                    self.put_half(whole, half, from, element);
                }
            }
        }
    }

    /// Elements of memory under a mask; others are not accessed.
    fn load_masked(&mut self, whole: &Whole, half: usize, memory: &AsmMemoryOperand, element: u8) {
        let mask = self.mask_half(whole.how.mask, element, half);
        let opcode = match element {
            4 => op(P66, M38, 32, 0x8c),
            8 => op(P66, M38, 64, 0x8c),
            _ => return self.fail(),
        };
        self.vex_memory(opcode, [R, mask], memory, None);
        if !whole.how.zeroing {
            let before = self.in_register(home(whole.d, half), A);
            self.blend(R, before, R, mask);
        }
        self.write_half(whole.d, half, R);
    }

    /// A move to memory.
    fn store(&mut self, whole: &Whole, element: u8) {
        let Last::Memory(memory) = whole.last else { return self.fail() };
        for half in 0..2 {
            let to = part(memory, 32 * half, 32);
            if whole.how.mask == 0 {
                let from = self.in_register(home(whole.d, half), R);
                self.vex_memory(STORE, [from, 0], &to, None);
                continue;
            }
            let mask = self.mask_half(whole.how.mask, element, half);
            let from = self.in_register(home(whole.d, half), R);
            if is_own(&to) && element >= 4 {
                // Loads that follow get a whole store at once, and a masked one later.
                self.y(LOAD, A, 0, Operand::Memory(to));
                self.blend(A, A, from, mask);
                self.vex_memory(STORE, [A, 0], &to, None);
                continue;
            }
            let opcode = match element {
                4 => op(P66, M38, 32, 0x8e),
                8 => op(P66, M38, 64, 0x8e),
                _ => return self.fail(),
            };
            self.vex_memory(opcode, [from, mask], &to, None);
        }
    }

    /// Elements of the last source for those of a mask, and of the first for the others.
    fn choose(&mut self, whole: &Whole, element: u8) {
        if whole.how.mask == 0 || whole.how.zeroing {
            return self.fail();
        }
        for half in 0..2 {
            let mask = self.mask_half(whole.how.mask, element, half);
            let a = self.in_register(home(whole.v, half), A);
            let b = self.in_register(whole.last.half(half), U);
            self.blend(R, a, b, mask);
            self.write_half(whole.d, half, R);
        }
    }

    /// A shift or rotation by a byte. The number of the result stands where others have the second source.
    fn shift_all(&mut self, whole: &Whole) {
        let (which, by) = (whole.d, whole.byte.unwrap_or(0));
        let whole = &Whole { d: whole.v, ..*whole };
        let opcode = Opcode { length: 1, wide: false, ..whole.opcode };
        let element = element(whole.opcode);
        for half in 0..2 {
            let from = self.in_register(whole.last.half(half), A);
            match (which, whole.opcode.wide, opcode.byte) {
                (0 | 1, ..) => {
                    let up = if which == 1 { by % 32 } else { (32 - by % 32) % 32 };
                    self.shift(SHIFT32, UP, R, from, up);
                    self.shift(SHIFT32, DOWN, T, from, 32 - up);
                    self.y(OR, R, R, T);
                }
                (DOWN_SIGNED, true, 0x72) => {
                    self.zero(T);
                    self.y(GREATER64, T, T, from);
                    self.y(XOR, R, from, T);
                    self.shift(SHIFT64, DOWN, R, R, by);
                    self.y(XOR, R, R, T);
                }
                (UP | DOWN | DOWN_SIGNED, ..) => self.shift(opcode, which, R, from, by),
                (_, true | false, _) => return self.fail(),
            }
            self.put_half(whole, half, R, element);
        }
    }

    /// A word for all lanes: the first of a vector, of memory, or of a general-purpose register.
    fn broadcast(&mut self, whole: &Whole, element: u8) {
        let opcode = if element == 8 { BROADCAST64 } else { BROADCAST32 };
        match whole.last {
            Last::Register(number) if whole.opcode.byte == 0x7c => {
                let width = if element == 8 { 64 } else { 32 };
                let to = Opcode { length: 0, ..op(P66, M0F, width, 0x6e) };
                self.vex_register(to, [R, 0, number], None);
                self.y(opcode, R, 0, R);
            }
            Last::Register(number) => {
                let from = match home(number, 0) {
                    Operand::Memory(memory) => Operand::Memory(part(memory, 0, element)),
                    register => register,
                };
                self.y(opcode, R, 0, from);
            }
            Last::Memory(memory) => self.y(opcode, R, 0, Operand::Memory(part(memory, 0, element))),
            Last::Both(from) => self.y(opcode, R, 0, from),
        }
        self.put_both(whole, [R, R], element);
    }

    /// The first word of a vector, in a general-purpose register.
    fn first_word(&mut self, whole: &Whole) {
        let Last::Register(to) = whole.last else { return self.fail() };
        let wide = whole.opcode.wide;
        match home(whole.d, 0) {
            Operand::Register(from) => {
                let opcode = Opcode { length: 0, ..op(P66, M0F, if wide { 64 } else { 32 }, 0x7e) };
                self.vex_register(opcode, [from, 0, to], None);
            }
            Operand::Memory(memory) => {
                self.fetch(AsmRegister64(to), part(memory, 0, if wide { 8 } else { 4 }))
            }
        }
    }

    /// One of the first two words of 64 bits of a vector, in a general-purpose register.
    fn one_of_two(&mut self, whole: &Whole) {
        let (Last::Register(to), Some(number)) = (whole.last, whole.byte) else { return self.fail() };
        match home(whole.d, 0) {
            Operand::Register(from) => {
                let opcode = Opcode { length: 0, ..op(P66, M3A, 64, 0x16) };
                self.vex_register(opcode, [from, 0, to], whole.byte);
            }
            Operand::Memory(memory) => {
                self.fetch(AsmRegister64(to), part(memory, 8 * usize::from(number & 1), 8))
            }
        }
    }

    /// A comparison, whose result is a mask.
    fn compare(&mut self, whole: &Whole, element: u8) {
        let masked = whole.how.mask != 0;
        if !masked {
            self.keep_last_mask(whole.d);
        }
        let to = if masked { [R, T] } else { [LAST_MASK, LAST_MASK + 1] };
        for (half, to) in to.into_iter().enumerate() {
            self.compare_half(whole, half, to, element);
            if masked {
                let mask = self.mask_half(whole.how.mask, element, half);
                self.y(AND, to, to, mask);
            }
        }
        if masked {
            self.keep_last_mask(whole.d);
            self.move_to(Operand::Register(R), LAST_MASK);
            self.move_to(Operand::Register(T), LAST_MASK + 1);
        }
        self.put_mask(whole.d, element);
    }

    fn compare_half(&mut self, whole: &Whole, half: usize, to: u8, element: u8) {
        let (opcode, wide) = (whole.opcode, element == 8);
        let equal = if wide { EQUAL64 } else { EQUAL32 };
        let greater = if wide { GREATER64 } else { GREATER32 };
        let last = whole.last.half(half);
        match (opcode.map, opcode.byte) {
            (M0F, 0xc2) => {
                let a = self.in_register(home(whole.v, half), A);
                self.y_byte(Opcode { length: 1, bytes: 32, element: 0, ..opcode }, to, a, last, whole.byte);
            }
            // Some bits in common, or none.
            (M38, 0x26 | 0x27) => {
                let a = self.in_register(home(whole.v, half), A);
                self.y(AND, to, a, last);
                self.zero(U);
                let equal = if element == 1 { op(P66, M0F, 32, 0x74) } else { equal };
                self.y(equal, to, to, U);
                if opcode.prefix == P66 {
                    self.invert(to);
                }
            }
            (M0F, 0x66) | (M38, 0x37) => {
                let a = self.in_register(home(whole.v, half), A);
                self.y(greater, to, a, last);
            }
            // The signs.
            (M38, 0x29 | 0x39) => {
                let greater = if element == 1 { op(P66, M0F, 32, 0x64) } else { greater };
                self.zero(U);
                self.y(greater, to, U, last);
            }
            (M3A, 0x66) => self.classify(whole, last, to),
            (M3A, 0x1f) => self.compare_ordered(whole, half, to, (equal, greater)),
            (M3A, 0x3e) => {
                // Words of 16 bits: not less, which is the larger one being the first.
                if whole.byte != Some(5) {
                    return self.fail();
                }
                let a = self.in_register(home(whole.v, half), A);
                self.y(op(P66, M38, 32, 0x3e), to, a, last);
                self.y(op(P66, M0F, 32, 0x75), to, to, a);
            }
            (M3A, 0x1e) => self.compare_unsigned(whole, half, to, wide),
            (M0F | M38 | M3A, _) => self.fail(),
        }
    }

    /// Inverts all bits.
    pub(super) fn invert(&mut self, d: u8) {
        self.ones(U);
        self.y(XOR, d, d, U);
    }

    /// A comparison by a predicate, of signed integers, by instructions that compare.
    fn compare_ordered(&mut self, whole: &Whole, half: usize, to: u8, (equal, greater): (Opcode, Opcode)) {
        let (a, last) = (home(whole.v, half), whole.last.half(half));
        let predicate = whole.byte.unwrap_or(0);
        match predicate {
            0 | 4 => {
                let a = self.in_register(a, A);
                self.y(equal, to, a, last);
            }
            // The second is greater.
            1 | 5 => {
                let b = self.in_register(last, A);
                self.y(greater, to, b, a);
            }
            2 | 6 => {
                let a = self.in_register(a, A);
                self.y(greater, to, a, last);
            }
            _ => return self.fail(),
        }
        if matches!(predicate, 2 | 4 | 5) {
            self.invert(to);
        }
    }

    /// Compares unsigned integers.
    fn compare_unsigned(&mut self, whole: &Whole, half: usize, to: u8, wide: bool) {
        let (a, last) = (home(whole.v, half), whole.last.half(half));
        let predicate = whole.byte.unwrap_or(0);
        if matches!(predicate, 0 | 4) {
            let equal = if wide { EQUAL64 } else { EQUAL32 };
            return self.compare_ordered(whole, half, to, (equal, equal));
        }
        if !matches!(predicate, 1 | 2 | 5 | 6) {
            return self.fail();
        }
        if wide {
            // As signed ones, less 2^63.
            self.ones(U);
            self.shift(SHIFT64, UP, U, U, 63);
            self.y(XOR, A, U, a);
            self.y(XOR, M, U, last);
            match matches!(predicate, 1 | 5) {
                true => self.y(GREATER64, to, M, A),
                false => self.y(GREATER64, to, A, M),
            }
            if matches!(predicate, 2 | 5) {
                self.invert(to);
            }
            return;
        }
        let a = self.in_register(a, A);
        // The lesser one is the first, or the larger one.
        let least = matches!(predicate, 2 | 6);
        let opcode = op(P66, M38, 32, if least { 0x3b } else { 0x3f });
        self.y(opcode, to, a, last);
        self.y(EQUAL32, to, to, a);
        if matches!(predicate, 1 | 6) {
            self.invert(to);
        }
    }

    /// Floats of a class: subnormal ones, or infinities and NaNs.
    fn classify(&mut self, whole: &Whole, last: Operand, to: u8) {
        match whole.byte {
            Some(0x20) => {
                self.word(U, Word::Magnitude);
                self.y(AND, A, U, last);
                self.zero(U);
                self.y(GREATER32, to, A, U);
                self.word(U, Word::LeastNormal);
                self.y(GREATER32, U, U, A);
                self.y(AND, to, to, U);
            }
            Some(0x99) => {
                self.word(U, Word::Infinity);
                self.y(AND, to, U, last);
                self.y(EQUAL32, to, to, U);
            }
            _ => self.fail(),
        }
    }

    /// Bits of three sources by a table, the first of which is the result before.
    fn ternary(&mut self, whole: &Whole) {
        let table = whole.byte.unwrap_or(0);
        let (set, clear) = (table >> 4, table & 15);
        let element = if whole.opcode.wide { 8 } else { 4 };
        for half in 0..2 {
            let last = self.in_register(whole.last.half(half), T);
            let second = self.in_register(home(whole.v, half), A);
            self.of_two(clear, R, second, last);
            if set != clear {
                self.of_two(set, M, second, last);
                // The one where the first has ones, else the other.
                self.y(XOR, M, M, R);
                self.y(AND, M, M, home(whole.d, half));
                self.y(XOR, R, R, M);
            }
            self.put_half(whole, half, R, element);
        }
    }

    /// Bits of two sources by a table.
    fn of_two(&mut self, table: u8, d: u8, a: u8, b: u8) {
        match table {
            0 | 15 => self.zero(d),
            1 | 14 => self.y(OR, d, a, b),
            2 | 13 => self.y(AND_NOT, d, a, b),
            3 | 12 => _ = self.move_to(Operand::Register(a), d),
            4 | 11 => self.y(AND_NOT, d, b, a),
            5 | 10 => _ = self.move_to(Operand::Register(b), d),
            6 | 9 => self.y(XOR, d, a, b),
            7 | 8 => self.y(AND, d, a, b),
            _ => self.fail(),
        }
        if matches!(table, 15 | 1 | 13 | 3 | 11 | 5 | 9 | 7) {
            self.invert(d);
        }
    }
}
