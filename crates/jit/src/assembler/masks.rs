//! Instructions on mask registers, and a few on vectors of 256 bits, with the prefix VEX.

use super::encode::Map::{M0F, M3A};
use super::encode::Prefix::{self, F2, NP, P66};
use super::encode::{Immediate, Map, Opcode};
use super::operands::*;
use super::{Assembler, Encoded};

/// An opcode with the bit W for a width of 64, and the bit L for a length of 1.
const fn opcode(prefix: Prefix, map: Map, width: u8, length: u8, byte: u8) -> Opcode {
    Opcode { prefix, map, wide: width == 64, byte, length, bytes: 0, element: 0, index: 0 }
}

/// Moves to and from mask registers.
pub(crate) trait MaskMove<D, S> {
    /// Encodes a move. `opcode` is that between mask registers; `other` has the prefix of moves from and
    /// to general-purpose registers.
    fn encode_mask_move(&mut self, opcode: Opcode, other: Prefix, d: D, s: S);
}

impl MaskMove<AsmRegisterK, AsmRegisterK> for Assembler {
    #[inline]
    fn encode_mask_move(&mut self, opcode: Opcode, _: Prefix, d: AsmRegisterK, s: AsmRegisterK) {
        self.by_vex(opcode, [d.0, 0, s.0], None);
    }
}

impl MaskMove<AsmRegisterK, AsmMemoryOperand> for Assembler {
    #[inline]
    fn encode_mask_move(&mut self, opcode: Opcode, _: Prefix, d: AsmRegisterK, s: AsmMemoryOperand) {
        self.by_vex_from(opcode, d.0, &s);
    }
}

impl MaskMove<AsmRegisterK, AsmRegister32> for Assembler {
    #[inline]
    fn encode_mask_move(&mut self, opcode: Opcode, prefix: Prefix, d: AsmRegisterK, s: AsmRegister32) {
        self.by_vex(Opcode { prefix, wide: false, byte: 0x92, ..opcode }, [d.0, 0, s.0], None);
    }
}

impl MaskMove<AsmRegister32, AsmRegisterK> for Assembler {
    #[inline]
    fn encode_mask_move(&mut self, opcode: Opcode, prefix: Prefix, d: AsmRegister32, s: AsmRegisterK) {
        self.by_vex(Opcode { prefix, wide: false, byte: 0x93, ..opcode }, [d.0, 0, s.0], None);
    }
}

impl Assembler {
    /// An instruction on registers.
    #[inline]
    fn by_vex(&mut self, opcode: Opcode, registers: [u8; 3], immediate: Immediate) {
        match self.halves {
            None => self.vex_register(opcode, registers, immediate),
            Some(_) => self.mask_in_halves(opcode, registers, immediate),
        }
    }

    /// One whose last operand is memory.
    #[inline]
    fn by_vex_from(&mut self, opcode: Opcode, d: u8, memory: &AsmMemoryOperand) {
        match self.halves {
            None => self.vex_memory(opcode, [d, 0], memory, None),
            Some(_) => self.mask_from_memory(d, memory),
        }
    }
}

/// Methods by the form of their operands.
macro_rules! form {
    (three: $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: AsmRegisterK, a: AsmRegisterK, b: AsmRegisterK) -> Encoded {
            self.by_vex($opcode, [d.0, a.0, b.0], None);
            Ok(())
        })*
    };
    (test: $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, a: AsmRegisterK, b: AsmRegisterK) -> Encoded {
            self.by_vex($opcode, [a.0, 0, b.0], None);
            Ok(())
        })*
    };
    (shift: $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: AsmRegisterK, a: AsmRegisterK, by: impl Into<i64>) -> Encoded {
            let by = self.byte(by.into());
            self.by_vex($opcode, [d.0, 0, a.0], by);
            Ok(())
        })*
    };
    (moves: $($name:ident $opcode:expr, $bytes:literal, $other:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name<D, S>(&mut self, d: D, s: S) -> Encoded
        where
            Assembler: MaskMove<D, S>,
        {
            self.encode_mask_move(Opcode { bytes: $bytes, ..$opcode }, $other, d, s);
            Ok(())
        })*
    };
}

impl Assembler {
    form! { three:
        kandw opcode(NP, M0F, 32, 1, 0x41);
        korw opcode(NP, M0F, 32, 1, 0x45);
        kxnorw opcode(NP, M0F, 32, 1, 0x46);
        kxorw opcode(NP, M0F, 32, 1, 0x47);
        kunpckbw opcode(P66, M0F, 32, 1, 0x4b);
        kunpckwd opcode(NP, M0F, 32, 1, 0x4b);
    }

    form! { test:
        kortestb opcode(P66, M0F, 32, 0, 0x98);
        kortestw opcode(NP, M0F, 32, 0, 0x98);
        kortestd opcode(P66, M0F, 64, 0, 0x98);
    }

    form! { shift:
        kshiftrw opcode(P66, M3A, 64, 0, 0x30);
        kshiftrd opcode(P66, M3A, 32, 0, 0x31);
    }

    form! { moves:
        kmovb opcode(P66, M0F, 32, 0, 0x90), 1, P66;
        kmovw opcode(NP, M0F, 32, 0, 0x90), 2, NP;
        kmovd opcode(P66, M0F, 64, 0, 0x90), 4, F2;
    }

    /// The complement of 16 bits.
    #[inline]
    pub(crate) fn knotw(&mut self, d: AsmRegisterK, a: AsmRegisterK) -> Encoded {
        self.by_vex(opcode(NP, M0F, 32, 0, 0x44), [d.0, 0, a.0], None);
        Ok(())
    }

    /// A copy of 256 bits. The other bits become 0.
    #[inline]
    pub(crate) fn vmovdqa(&mut self, d: AsmRegisterYmm, a: AsmRegisterYmm) -> Encoded {
        self.by_vex(opcode(P66, M0F, 32, 1, 0x6f), [d.0, 0, a.0], None);
        Ok(())
    }

    /// The exclusive or of 256 bits. The other bits become 0.
    #[inline]
    pub(crate) fn vpxor(&mut self, d: AsmRegisterYmm, a: AsmRegisterYmm, b: AsmRegisterYmm) -> Encoded {
        self.by_vex(opcode(P66, M0F, 32, 1, 0xef), [d.0, a.0, b.0], None);
        Ok(())
    }

    /// Clears the upper parts of vectors, for code without them.
    #[inline]
    pub(crate) fn vzeroupper(&mut self) -> Encoded {
        self.raw([0xc5, 0xf8, 0x77]);
        Ok(())
    }
}
