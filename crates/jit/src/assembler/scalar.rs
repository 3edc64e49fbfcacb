//! Instructions on general-purpose registers, jumps, and those on one float.

use super::encode::{Constant, Map, Opcode, Plain, Prefix};
use super::operands::*;
use super::{Assembler, CodeLabel, Encoded};

/// Bytes of a register's width.
const fn bytes(wide: bool) -> u8 {
    if wide { 8 } else { 4 }
}

/// Arithmetic with two operands: registers, or one in memory, or one a constant.
pub(crate) trait Arithmetic<D, S> {
    /// Encodes one by its number: `add` is 0, `cmp` is 7.
    fn arithmetic(&mut self, number: u8, d: D, s: S);
}

impl<R: General> Arithmetic<R, R> for Assembler {
    #[inline]
    fn arithmetic(&mut self, number: u8, d: R, s: R) {
        self.plain_register(Plain::new(8 * number + 1, R::WIDE), s.number(), d.number(), Constant::NONE);
    }
}

impl<R: General> Arithmetic<R, AsmMemoryOperand> for Assembler {
    #[inline]
    fn arithmetic(&mut self, number: u8, d: R, s: AsmMemoryOperand) {
        let opcode = Plain::new(8 * number + 3, R::WIDE);
        self.plain_memory(opcode, d.number(), &s, bytes(R::WIDE), Constant::NONE);
    }
}

impl<R: General> Arithmetic<AsmMemoryOperand, R> for Assembler {
    #[inline]
    fn arithmetic(&mut self, number: u8, d: AsmMemoryOperand, s: R) {
        let opcode = Plain::new(8 * number + 1, R::WIDE);
        self.plain_memory(opcode, s.number(), &d, bytes(R::WIDE), Constant::NONE);
    }
}

/// The opcode of arithmetic with a constant, and the constant: in one byte if it fits.
#[inline]
fn with_constant(wide: bool, value: i32) -> (Plain, Constant) {
    match i8::try_from(value) {
        Ok(_) => (Plain::new(0x83, wide), Constant(value & 0xff, 1)),
        Err(_) => (Plain::new(0x81, wide), Constant(value, 4)),
    }
}

impl<R: General> Arithmetic<R, i32> for Assembler {
    #[inline]
    fn arithmetic(&mut self, number: u8, d: R, s: i32) {
        let (opcode, constant) = with_constant(R::WIDE, s);
        self.plain_register(opcode, number, d.number(), constant);
    }
}

impl Arithmetic<AsmMemoryOperand, i32> for Assembler {
    #[inline]
    fn arithmetic(&mut self, number: u8, d: AsmMemoryOperand, s: i32) {
        let (opcode, constant) = with_constant(d.bytes == 8, s);
        self.plain_memory(opcode, number, &d, bytes(d.bytes == 8), constant);
    }
}

/// Moves between registers and memory, and of constants.
pub(crate) trait Copying<D, S> {
    /// Encodes a move.
    fn copy(&mut self, d: D, s: S);
}

impl<R: General> Copying<R, R> for Assembler {
    #[inline]
    fn copy(&mut self, d: R, s: R) {
        self.plain_register(Plain::new(0x89, R::WIDE), s.number(), d.number(), Constant::NONE);
    }
}

impl<R: General> Copying<R, AsmMemoryOperand> for Assembler {
    #[inline]
    fn copy(&mut self, d: R, s: AsmMemoryOperand) {
        self.plain_memory(Plain::new(0x8b, R::WIDE), d.number(), &s, bytes(R::WIDE), Constant::NONE);
    }
}

impl<R: General> Copying<AsmMemoryOperand, R> for Assembler {
    #[inline]
    fn copy(&mut self, d: AsmMemoryOperand, s: R) {
        self.plain_memory(Plain::new(0x89, R::WIDE), s.number(), &d, bytes(R::WIDE), Constant::NONE);
    }
}

impl Copying<AsmMemoryOperand, i32> for Assembler {
    #[inline]
    fn copy(&mut self, d: AsmMemoryOperand, s: i32) {
        let wide = d.bytes == 8;
        self.plain_memory(Plain::new(0xc7, wide), 0, &d, bytes(wide), Constant(s, 4));
    }
}

impl Copying<AsmRegister32, i32> for Assembler {
    #[inline]
    fn copy(&mut self, d: AsmRegister32, s: i32) {
        self.copy(d, s as u32);
    }
}

impl Copying<AsmRegister32, u32> for Assembler {
    #[inline]
    fn copy(&mut self, d: AsmRegister32, s: u32) {
        self.numbered(0xb8, false, d.0, (u64::from(s), 4));
    }
}

impl Copying<AsmRegister64, u64> for Assembler {
    #[inline]
    fn copy(&mut self, d: AsmRegister64, s: u64) {
        // A move of 32 bits clears the others.
        match u32::try_from(s) {
            Ok(_) => self.numbered(0xb8, false, d.0, (s, 4)),
            Err(_) => self.numbered(0xb8, true, d.0, (s, 8)),
        }
    }
}

impl Copying<AsmMemoryOperand, AsmRegister8> for Assembler {
    #[inline]
    fn copy(&mut self, d: AsmMemoryOperand, s: AsmRegister8) {
        self.plain_memory(Plain::new(0x88, false), s.0, &d, 1, Constant::NONE);
    }
}

impl Copying<AsmMemoryOperand, AsmRegister16> for Assembler {
    #[inline]
    fn copy(&mut self, d: AsmMemoryOperand, s: AsmRegister16) {
        let opcode = Plain { prefix: Prefix::P66, ..Plain::new(0x89, false) };
        self.plain_memory(opcode, s.0, &d, 2, Constant::NONE);
    }
}

/// An operand that is read and written.
pub(crate) trait Place: Copy {
    /// Encodes an instruction with this operand.
    fn encode_place(self, asm: &mut Assembler, byte: u8, number: u8);
}

impl<R: General> Place for R {
    #[inline]
    fn encode_place(self, asm: &mut Assembler, byte: u8, number: u8) {
        asm.plain_register(Plain::new(byte, R::WIDE), number, self.number(), Constant::NONE);
    }
}

impl Place for AsmMemoryOperand {
    #[inline]
    fn encode_place(self, asm: &mut Assembler, byte: u8, number: u8) {
        let wide = self.bytes == 8;
        asm.plain_memory(Plain::new(byte, wide), number, &self, bytes(wide), Constant::NONE);
    }
}

/// The amount of a shift: a constant, or `cl`.
pub(crate) trait Amount: Copy {
    /// Encodes a shift by its number.
    fn encode_shift(self, asm: &mut Assembler, wide: bool, number: u8, d: u8);
}

impl Amount for u32 {
    #[inline]
    fn encode_shift(self, asm: &mut Assembler, wide: bool, number: u8, d: u8) {
        if self >= 64 {
            asm.fail();
        }
        asm.plain_register(Plain::new(0xc1, wide), number, d, Constant(self as i32, 1));
    }
}

impl Amount for AsmRegister8 {
    #[inline]
    fn encode_shift(self, asm: &mut Assembler, wide: bool, number: u8, d: u8) {
        if self != cl {
            asm.fail();
        }
        asm.plain_register(Plain::new(0xd3, wide), number, d, Constant::NONE);
    }
}

/// The place that a jump or call goes to: a label, or an address in a register or in memory.
pub(crate) trait Target: Copy {
    /// Encodes a jump or call: its opcodes for labels, and its number among those with an address in memory.
    fn encode_target(self, asm: &mut Assembler, short: Option<u8>, near: u8, number: u8);
}

impl Target for CodeLabel {
    #[inline]
    fn encode_target(self, asm: &mut Assembler, short: Option<u8>, near: u8, _: u8) {
        asm.forget_vectors();
        asm.jump_to(short, near.into(), self);
    }
}

impl Target for AsmMemoryOperand {
    #[inline]
    fn encode_target(self, asm: &mut Assembler, _: Option<u8>, _: u8, number: u8) {
        asm.forget_vectors();
        asm.keep_in_place();
        // At most: prefix, opcode, ModRM, SIB and offset.
        asm.align_jump(8);
        asm.plain_memory(Plain::new(0xff, false), number, &self, 8, Constant::NONE);
    }
}

impl Target for AsmRegister64 {
    #[inline]
    fn encode_target(self, asm: &mut Assembler, _: Option<u8>, _: u8, number: u8) {
        asm.forget_vectors();
        asm.keep_in_place();
        asm.align_jump(3);
        asm.plain_register(Plain::new(0xff, false), number, self.0, Constant::NONE);
    }
}

/// Methods by the form of their operands.
macro_rules! form {
    (arithmetic: $($name:ident $number:literal;)*) => {
        $(#[inline]
        pub(crate) fn $name<D, S>(&mut self, d: D, s: S) -> Encoded
        where
            Assembler: Arithmetic<D, S>,
        {
            self.arithmetic($number, d, s);
            Ok(())
        })*
    };
    (one: $($name:ident $byte:literal $number:literal;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: impl Place) -> Encoded {
            d.encode_place(self, $byte, $number);
            Ok(())
        })*
    };
    (shift: $($name:ident $number:literal;)*) => {
        $(#[inline]
        pub(crate) fn $name<R: General>(&mut self, d: R, by: impl Amount) -> Encoded {
            by.encode_shift(self, R::WIDE, $number, d.number());
            Ok(())
        })*
    };
    (two: $($name:ident $byte:literal;)*) => {
        $(#[inline]
        pub(crate) fn $name<R: General>(&mut self, d: R, s: R) -> Encoded {
            self.plain_register(Plain::escaped($byte, R::WIDE), d.number(), s.number(), Constant::NONE);
            Ok(())
        })*
    };
    (jump: $($name:ident $condition:literal;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, to: CodeLabel) -> Encoded {
            self.jump_to(Some(0x70 | $condition), 0x800f | $condition << 8, to);
            Ok(())
        })*
    };
    (set: $($name:ident $condition:literal;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: AsmRegister8) -> Encoded {
            self.plain_register(Plain::escaped(0x90 | $condition, false), 0, d.0, Constant::NONE);
            Ok(())
        })*
    };
    (exchange: $($name:ident $escaped:literal $byte:literal;)*) => {
        $(#[inline]
        pub(crate) fn $name<R: General>(&mut self, d: AsmMemoryOperand, s: R) -> Encoded {
            let opcode = if $escaped { Plain::escaped($byte, R::WIDE) } else { Plain::new($byte, R::WIDE) };
            self.plain_memory(opcode, s.number(), &d, bytes(R::WIDE), Constant::NONE);
            Ok(())
        })*
    };
    (extend: $($name:ident $byte:literal;)*) => {
        $(/// Of 8 or 16 bits.
        #[inline]
        pub(crate) fn $name(&mut self, d: AsmRegister32, s: AsmMemoryOperand) -> Encoded {
            let (byte, size) = if s.bytes == 1 { ($byte, 1) } else { ($byte + 1, 2) };
            self.plain_memory(Plain::escaped(byte, false), d.0, &s, size, Constant::NONE);
            Ok(())
        })*
    };
}

/// An opcode with the prefix VEX of an instruction on the first word of a vector.
const fn single(prefix: Prefix, wide: bool, byte: u8) -> Opcode {
    Opcode { prefix, map: Map::M0F, wide, byte, length: 0, bytes: 4, element: 0, index: 0 }
}

/// Instructions on one float. They have the prefix VEX, whichever level the others are for, and clear the rest of a
/// vector register: of one with a low number, which has no other place.
impl Assembler {
    #[inline]
    pub(crate) fn vaddss(&mut self, d: AsmRegisterXmm, a: AsmRegisterXmm, b: AsmRegisterXmm) -> Encoded {
        self.vex_register(single(Prefix::F3, false, 0x58), [d.0, a.0, b.0], None);
        Ok(())
    }

    #[inline]
    pub(crate) fn vaddsd(&mut self, d: AsmRegisterXmm, a: AsmRegisterXmm, b: AsmRegisterXmm) -> Encoded {
        self.vex_register(single(Prefix::F2, false, 0x58), [d.0, a.0, b.0], None);
        Ok(())
    }

    /// Compares floats; the parity flag is set if one is a NaN.
    #[inline]
    pub(crate) fn vucomiss(&mut self, a: AsmRegisterXmm, b: AsmRegisterXmm) -> Encoded {
        self.vex_register(single(Prefix::NP, false, 0x2e), [a.0, 0, b.0], None);
        Ok(())
    }

    #[inline]
    pub(crate) fn vucomisd(&mut self, a: AsmRegisterXmm, b: AsmRegisterXmm) -> Encoded {
        self.vex_register(single(Prefix::P66, false, 0x2e), [a.0, 0, b.0], None);
        Ok(())
    }

    /// `vmovd` or `vmovq` to a vector.
    #[inline]
    pub(crate) fn vmov_to<R: General>(&mut self, d: AsmRegisterXmm, s: R) -> Encoded {
        self.vex_register(single(Prefix::P66, R::WIDE, 0x6e), [d.0, 0, s.number()], None);
        Ok(())
    }

    /// The same from a vector.
    #[inline]
    pub(crate) fn vmov_from<R: General>(&mut self, d: R, s: AsmRegisterXmm) -> Encoded {
        self.vex_register(single(Prefix::P66, R::WIDE, 0x7e), [s.0, 0, d.number()], None);
        Ok(())
    }

    /// Loads MXCSR, the control register of floating-point instructions.
    #[inline]
    pub(crate) fn vldmxcsr(&mut self, from: AsmMemoryOperand) -> Encoded {
        self.vex_memory(single(Prefix::NP, false, 0xae), [2, 0], &from, None);
        Ok(())
    }
}

impl Assembler {
    form! { arithmetic: add 0; or 1; and 4; sub 5; xor 6; cmp 7; }
    form! { one: inc 0xff 0; dec 0xff 1; not 0xf7 2; neg 0xf7 3; div 0xf7 6; idiv 0xf7 7; }
    form! { shift: shl 4; shr 5; sar 7; }
    form! { two:
        imul_2 0xaf; bsf 0xbc; bsr 0xbd;
        cmovb 0x42; cmovae 0x43; cmovz 0x44; cmova 0x47; cmovl 0x4c; cmovg 0x4f;
    }
    form! { jump: jo 0; jb 2; jae 3; jz 4; jne 5; jnz 5; jbe 6; ja 7; js 8; jp 10; jnp 11; jl 12; jge 13; jle 14; jg 15; }
    form! { set:
        setb 2; setae 3; sete 4; setne 5; setbe 6; seta 7; setl 12; setge 13; setle 14; setg 15;
    }
    form! { extend: movzx 0xb6; movsx 0xbe; }
    form! { exchange: cmpxchg true 0xb1; xadd true 0xc1; xchg false 0x87; }

    /// A move.
    #[inline]
    pub(crate) fn mov<D, S>(&mut self, d: D, s: S) -> Encoded
    where
        Assembler: Copying<D, S>,
    {
        self.copy(d, s);
        Ok(())
    }

    /// A 32-bit word with its sign, in 64 bits.
    #[inline]
    pub(crate) fn movsxd(&mut self, d: AsmRegister64, s: AsmRegister32) -> Encoded {
        self.plain_register(Plain::new(0x63, true), d.0, s.0, Constant::NONE);
        Ok(())
    }

    /// The address of a memory operand.
    #[inline]
    pub(crate) fn lea<R: General>(&mut self, d: R, s: AsmMemoryOperand) -> Encoded {
        self.plain_memory(Plain::new(0x8d, R::WIDE), d.number(), &s, 0, Constant::NONE);
        Ok(())
    }

    /// Prefetches the cache line of a memory operand.
    pub(crate) fn prefetcht0(&mut self, s: AsmMemoryOperand) -> Encoded {
        self.plain_memory(Plain::escaped(0x18, false), 1, &s, 1, Constant::NONE);
        Ok(())
    }

    /// The address of a label.
    pub(crate) fn lea_label(&mut self, d: AsmRegister64, label: CodeLabel) -> Encoded {
        self.raw([0x48 | (d.0 >> 3) << 2, 0x8d, (d.0 & 7) << 3 | 5]);
        self.distance_to(label);
        Ok(())
    }

    /// Sets flags by the bits that two operands have in common.
    #[inline]
    pub(crate) fn test<D, S>(&mut self, d: D, s: S) -> Encoded
    where
        Assembler: Testing<D, S>,
    {
        self.encode_test(d, s);
        Ok(())
    }

    /// The product with a constant.
    #[inline]
    pub(crate) fn imul_3<R: General>(&mut self, d: R, s: R, by: i32) -> Encoded {
        let (byte, constant) = match i8::try_from(by) {
            Ok(_) => (0x6b, Constant(by & 0xff, 1)),
            Err(_) => (0x69, Constant(by, 4)),
        };
        self.plain_register(Plain::new(byte, R::WIDE), d.number(), s.number(), constant);
        Ok(())
    }

    /// How many bits are set.
    #[inline]
    pub(crate) fn popcnt<R: General>(&mut self, d: R, s: R) -> Encoded {
        let opcode = Plain { prefix: Prefix::F3, ..Plain::escaped(0xb8, R::WIDE) };
        self.plain_register(opcode, d.number(), s.number(), Constant::NONE);
        Ok(())
    }

    /// Sets the carry by a bit.
    #[inline]
    pub(crate) fn bt<R: General>(&mut self, d: R, bit: u32) -> Encoded {
        if bit >= 8 * u32::from(bytes(R::WIDE)) {
            self.fail();
        }
        self.plain_register(Plain::escaped(0xba, R::WIDE), 4, d.number(), Constant(bit as i32, 1));
        Ok(())
    }

    /// Sets a bit.
    #[inline]
    pub(crate) fn bts(&mut self, d: AsmMemoryOperand, bit: impl Bit) -> Encoded {
        bit.encode_bit(self, d, 5, 0xab);
        Ok(())
    }

    /// Clears a bit.
    #[inline]
    pub(crate) fn btr(&mut self, d: AsmMemoryOperand, bit: impl Bit) -> Encoded {
        bit.encode_bit(self, d, 6, 0xb3);
        Ok(())
    }

    /// What follows is atomic.
    #[inline]
    pub(crate) fn lock(&mut self) -> &mut Assembler {
        self.raw([0xf0]);
        self.lock_end = self.length;
        self
    }

    #[inline]
    pub(crate) fn push(&mut self, register: AsmRegister64) -> Encoded {
        self.make_words();
        self.numbered(0x50, false, register.0, (0, 0));
        Ok(())
    }

    #[inline]
    pub(crate) fn pop(&mut self, register: AsmRegister64) -> Encoded {
        self.numbered(0x58, false, register.0, (0, 0));
        Ok(())
    }

    #[inline]
    pub(crate) fn jmp(&mut self, to: impl Target) -> Encoded {
        to.encode_target(self, Some(0xeb), 0xe9, 4);
        Ok(())
    }

    #[inline]
    pub(crate) fn call(&mut self, to: impl Target) -> Encoded {
        to.encode_target(self, None, 0xe8, 2);
        Ok(())
    }

    #[inline]
    pub(crate) fn ret(&mut self) -> Encoded {
        self.forget_vectors();
        self.keep_in_place();
        self.align_jump(1);
        self.raw([0xc3]);
        Ok(())
    }

    /// The sign of `rax` in all bits of `rdx`.
    #[inline]
    pub(crate) fn cqo(&mut self) -> Encoded {
        self.raw([0x48, 0x99]);
        Ok(())
    }

    /// What comes before is seen by other threads before what follows.
    #[inline]
    pub(crate) fn mfence(&mut self) -> Encoded {
        self.raw([0x0f, 0xae, 0xf0]);
        Ok(())
    }

    #[inline]
    pub(crate) fn nop(&mut self) -> Encoded {
        self.raw([0x90]);
        Ok(())
    }
}

/// Operands of `test`.
pub(crate) trait Testing<D, S> {
    /// Encodes it.
    fn encode_test(&mut self, d: D, s: S);
}

impl<R: General> Testing<R, R> for Assembler {
    #[inline]
    fn encode_test(&mut self, d: R, s: R) {
        self.plain_register(Plain::new(0x85, R::WIDE), s.number(), d.number(), Constant::NONE);
    }
}

impl Testing<AsmRegister8, i32> for Assembler {
    #[inline]
    fn encode_test(&mut self, d: AsmRegister8, s: i32) {
        if !(0..256).contains(&s) {
            self.fail();
        }
        self.plain_register(Plain::new(0xf6, false), 0, d.0, Constant(s, 1));
    }
}

/// A bit of a word in memory: a constant, or a register.
pub(crate) trait Bit: Copy {
    /// Encodes an instruction on it.
    fn encode_bit(self, asm: &mut Assembler, d: AsmMemoryOperand, number: u8, byte: u8);
}

impl Bit for i32 {
    #[inline]
    fn encode_bit(self, asm: &mut Assembler, d: AsmMemoryOperand, number: u8, _: u8) {
        if !(0..64).contains(&self) {
            asm.fail();
        }
        asm.plain_memory(Plain::escaped(0xba, true), number, &d, 8, Constant(self, 1));
    }
}

impl Bit for AsmRegister64 {
    #[inline]
    fn encode_bit(self, asm: &mut Assembler, d: AsmMemoryOperand, _: u8, byte: u8) {
        asm.plain_memory(Plain::escaped(byte, true), self.0, &d, 8, Constant::NONE);
    }
}
