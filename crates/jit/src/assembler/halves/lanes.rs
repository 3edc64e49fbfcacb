//! Gathers, and what goes lane by lane: scatters, and stores of short elements under a mask.

use super::super::Encoded;
use super::*;

/// A half of a place for vectors.
fn spilled(which: usize, half: usize) -> AsmMemoryOperand {
    emulated!(spilled, 64 * which + 32 * half, 32)
}

impl Assembler {
    /// Elements of memory at the offsets of a vector, for those of a mask.
    pub(super) fn gather(&mut self, whole: &Whole) {
        let Last::Memory(memory) = whole.last else { return self.fail() };
        let (wide_index, wide) = (whole.opcode.byte == 0x91, whole.opcode.wide);
        let opcode = Opcode { length: 1, bytes: memory.bytes, index: 0, ..whole.opcode };
        if wide_index && !wide {
            return self.gather_narrow(whole, memory, opcode);
        }
        for half in 0..2 {
            let mask = self.mask_half(whole.how.mask, if wide { 8 } else { 4 }, half);
            self.move_to(Operand::Register(mask), M);
            let indices = match (wide, wide_index) {
                // Four offsets of 32 bits.
                (true, false) => match home(memory.index, 0) {
                    Operand::Register(from) => {
                        self.vex_register(EXTRACT, [from, 0, T], Some(half as u8));
                        T
                    }
                    Operand::Memory(from) => {
                        let opcode = Opcode { length: 0, bytes: 16, ..LOAD };
                        self.vex_memory(opcode, [T, 0], &part(from, 16 * half, 16), None);
                        T
                    }
                },
                (true, true) | (false, true | false) => self.in_register(home(memory.index, half), T),
            };
            self.move_to(home(whole.d, half), R);
            self.gather_from(opcode, [R, M], &AsmMemoryOperand { index: indices, ..memory });
            self.write_half(whole.d, half, R);
        }
    }

    /// 32-bit words at offsets of 64 bits: four of each half.
    fn gather_narrow(&mut self, whole: &Whole, memory: AsmMemoryOperand, opcode: Opcode) {
        let mask = self.mask_half(whole.how.mask, 4, 0);
        self.move_to(Operand::Register(mask), M);
        self.vex_register(EXTRACT, [M, 0, A], Some(1));
        self.move_to(home(whole.d, 0), R);
        self.vex_register(EXTRACT, [R, 0, U], Some(1));
        for (half, [to, mask]) in [[R, M], [U, A]].into_iter().enumerate() {
            let indices = self.in_register(home(memory.index, half), T);
            self.gather_from(opcode, [to, mask], &AsmMemoryOperand { index: indices, ..memory });
        }
        self.y_byte(INSERT, R, R, U, Some(1));
        self.write_half(whole.d, 0, R);
    }

    /// Stores elements at the offsets of a vector, for those of a mask, the lowest first.
    pub(super) fn scatter(&mut self, whole: &Whole) {
        let Last::Memory(memory) = whole.last else { return self.fail() };
        let (wide_index, wide) = (whole.opcode.byte == 0xa1, whole.opcode.wide);
        // The free registers, and those that hold an offset and an element.
        if [FIRST.0, SECOND.0, 0, 1].contains(&memory.base) {
            return self.fail();
        }
        self.make_words();
        let offsets = self.in_memory(memory.index, 0);
        let elements = self.in_memory(whole.d, 1);
        self.fetch_mask(FIRST, whole.how.mask, if wide_index { 1 } else { 2 });
        let at = |memory: AsmMemoryOperand, bytes: u8| AsmMemoryOperand {
            index: SECOND.0,
            index_bytes: 8,
            scale: bytes,
            bytes,
            ..memory
        };
        let bytes = if wide { 8 } else { 4 };
        let to = AsmMemoryOperand { index: 0, index_bytes: 8, bytes, mask: 0, ..memory };
        let looped = self.each_lane(|asm| {
            match wide_index {
                true => asm.fetch(rax, at(offsets, 8)),
                // With its sign.
                false => asm.plain_memory(Plain::new(0x63, true), 0, &at(offsets, 4), 4, Constant::NONE),
            }
            asm.fetch(rcx, at(elements, bytes));
            asm.plain_memory(Plain::new(0x89, wide), 1, &to, bytes, Constant::NONE);
        });
        self.failed |= looped.is_err();
    }

    /// The memory of a vector register: its own, or a place where it is written.
    fn in_memory(&mut self, register: u8, which: usize) -> AsmMemoryOperand {
        if let Operand::Memory(memory) = home(register, 0) {
            return memory;
        }
        for half in 0..2 {
            let from = self.in_register(home(register, half), R);
            self.vex_memory(STORE, [from, 0], &spilled(which, half), None);
        }
        spilled(which, 0)
    }

    /// Stores elements of 1, 2 or 4 bytes, which the register of results has, one after the other, for those of a mask.
    pub(super) fn store_lanes(&mut self, mask: u8, memory: &AsmMemoryOperand, bytes: u8) {
        if [FIRST.0, SECOND.0, 1].contains(&memory.base) || memory.index != NONE {
            return self.fail();
        }
        self.make_words();
        self.vex_memory(STORE, [R, 0], &spilled(0, 0), None);
        self.fetch_mask(FIRST, mask, if bytes == 4 { 1 } else { 2 });
        let at = |memory: AsmMemoryOperand| AsmMemoryOperand {
            index: SECOND.0,
            index_bytes: 8,
            scale: bytes,
            bytes,
            mask: 0,
            ..memory
        };
        let (from, to) = (at(spilled(0, 0)), at(*memory));
        let opcode = match bytes {
            1 => Plain::new(0x88, false),
            2 => Plain { prefix: P66, ..Plain::new(0x89, false) },
            4 => Plain::new(0x89, false),
            _ => return self.fail(),
        };
        let looped = self.each_lane(|asm| {
            asm.fetch(rcx, from);
            asm.plain_memory(opcode, 1, &to, bytes, Constant::NONE);
        });
        self.failed |= looped.is_err();
    }

    /// The elements of a mask, one behind the other, and zeros.
    pub(super) fn compress(&mut self, whole: &Whole) {
        // The result is the last operand.
        let (Last::Register(to), true) = (whole.last, whole.how.zeroing) else { return self.fail() };
        self.make_words();
        let from = self.in_memory(whole.d, 0);
        self.zero(R);
        for half in 0..2 {
            self.vex_memory(STORE, [R, 0], &spilled(1, half), None);
        }
        self.fetch_mask(FIRST, whole.how.mask, 2);
        let at = |memory: AsmMemoryOperand, index: u8| AsmMemoryOperand {
            index,
            index_bytes: 8,
            scale: 4,
            bytes: 4,
            ..memory
        };
        let looped = self.push(rdx).and_then(|()| {
            self.plain_register(Plain::new(0x31, false), 2, 2, Constant::NONE);
            self.each_lane(|asm| {
                asm.fetch(rcx, at(from, SECOND.0));
                asm.plain_memory(Plain::new(0x89, false), 1, &at(spilled(1, 0), 2), 4, Constant::NONE);
                asm.plain_register(Plain::new(0xff, false), 0, 2, Constant::NONE);
            })?;
            self.pop(rdx)
        });
        self.failed |= looped.is_err();
        for half in 0..2 {
            self.y(LOAD, R, 0, Operand::Memory(spilled(1, half)));
            self.write_half(to, half, R);
        }
    }

    /// A loop over the bits of the first free register: the second one is the number of each. `rax` and `rcx` can be
    /// used in it.
    fn each_lane(&mut self, body: impl FnOnce(&mut Assembler)) -> Encoded {
        self.push(rax)?;
        self.push(rcx)?;
        let mut done = self.create_label();
        let again = self.label_here();
        self.bsf(edi, esi)?;
        self.jz(done)?;
        body(self);
        self.lea(ecx, ptr(rsi - 1))?;
        self.and(esi, ecx)?;
        self.jmp(again)?;
        self.set_label(&mut done)?;
        self.pop(rcx)?;
        self.pop(rax)
    }
}
