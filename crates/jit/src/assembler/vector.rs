//! Instructions on vectors of 512 bits, with the prefix EVEX.

use super::encode::Map::{M0F, M3A, M38};
use super::encode::Prefix::{self, F2, F3, NP, P66};
use super::encode::{Immediate, Map, Opcode};
use super::operands::*;
use super::{Assembler, Encoded};

/// An opcode whose memory operand has 64 bytes.
const fn opcode(prefix: Prefix, map: Map, width: u8, byte: u8) -> Opcode {
    Opcode { prefix, map, wide: width == 64, byte, length: 2, bytes: 64, element: 0, index: 0 }
}

impl Opcode {
    /// The same whose memory operand may be an element for all lanes, as wide as the bit W says.
    const fn broadcasts(self) -> Opcode {
        Opcode { element: if self.wide { 8 } else { 4 }, ..self }
    }

    /// The same whose memory operand has fewer bytes.
    const fn of(self, bytes: u8) -> Opcode {
        Opcode { bytes, ..self }
    }

    /// The same with a vector as the index.
    const fn by(self, index: u8) -> Opcode {
        Opcode { bytes: if self.wide { 8 } else { 4 }, index, ..self }
    }

    /// The same on vectors of 128 bits.
    const fn short(self) -> Opcode {
        Opcode { length: 0, ..self }
    }
}

const PLAIN: Decoration = Decoration { mask: 0, zeroing: false, rounding: 0 };

/// The last operand of an instruction: a register or memory.
pub(crate) trait Source: Copy {
    /// Encodes an instruction with this operand.
    fn encode(self, asm: &mut Assembler, opcode: Opcode, result: (u8, Decoration), v: u8, byte: Immediate);
}

macro_rules! sources {
    ($($register:ident)*) => {
        $(impl Source for $register {
            #[inline]
            fn encode(self, asm: &mut Assembler, opcode: Opcode, (d, how): (u8, Decoration), v: u8, byte: Immediate) {
                let Decoration { mask, zeroing, rounding } = self.1;
                if mask != 0 || zeroing {
                    asm.fail();
                }
                asm.evex_register(opcode, [d, v, self.0], Decoration { rounding, ..how }, byte);
            }
        })*
    };
}
sources!(AsmRegisterZmm AsmRegisterYmm AsmRegisterK);

macro_rules! undecorated_sources {
    ($($register:ident)*) => {
        $(impl Source for $register {
            #[inline]
            fn encode(self, asm: &mut Assembler, opcode: Opcode, (d, how): (u8, Decoration), v: u8, byte: Immediate) {
                asm.evex_register(opcode, [d, v, self.0], how, byte);
            }
        })*
    };
}
undecorated_sources!(AsmRegisterXmm AsmRegister32 AsmRegister64);

impl Source for AsmMemoryOperand {
    #[inline]
    fn encode(self, asm: &mut Assembler, opcode: Opcode, (d, how): (u8, Decoration), v: u8, byte: Immediate) {
        asm.evex_memory(opcode, [d, v], &self, how, byte);
    }
}

impl Source for Operand {
    #[inline(never)]
    fn encode(self, asm: &mut Assembler, opcode: Opcode, result: (u8, Decoration), v: u8, byte: Immediate) {
        match self {
            Operand::Register(register) => register.encode(asm, opcode, result, v, byte),
            Operand::Memory(memory) => memory.encode(asm, opcode, result, v, byte),
        }
    }
}

/// A register of 512 bits, or memory.
pub(crate) trait Whole: Source {}
impl Whole for AsmRegisterZmm {}
impl Whole for Operand {}
impl Whole for AsmMemoryOperand {}

/// A register of 256 bits, or memory.
pub(crate) trait Half: Source {}
impl Half for AsmRegisterYmm {}
impl Half for AsmMemoryOperand {}

/// A register of 128 bits, or memory.
pub(crate) trait Quarter: Source {}
impl Quarter for AsmRegisterXmm {}
impl Quarter for AsmMemoryOperand {}

/// A 32-bit word for all lanes: the first of a vector, a general-purpose register, or memory.
pub(crate) trait Word: Source {
    /// The opcode of its broadcast.
    const OPCODE: Opcode;
}

impl Word for AsmRegisterXmm {
    const OPCODE: Opcode = opcode(P66, M38, 32, 0x58).of(4);
}

impl Word for AsmMemoryOperand {
    const OPCODE: Opcode = <AsmRegisterXmm as Word>::OPCODE;
}

impl Word for AsmRegister32 {
    const OPCODE: Opcode = opcode(P66, M38, 32, 0x7c);
}

/// A word of 64 bits that a broadcast can take.
pub(crate) trait WideWord: Source {
    /// The opcode of its broadcast.
    const OPCODE: Opcode;
}

impl WideWord for AsmRegisterXmm {
    const OPCODE: Opcode = opcode(P66, M38, 64, 0x59).of(8);
}

impl WideWord for AsmMemoryOperand {
    const OPCODE: Opcode = <AsmRegisterXmm as WideWord>::OPCODE;
}

impl WideWord for AsmRegister64 {
    const OPCODE: Opcode = opcode(P66, M38, 64, 0x7c);
}

/// Where a result is written that may be in memory.
pub(crate) trait Destination: Copy {
    /// Encodes an instruction with this result.
    fn encode_result(self, asm: &mut Assembler, opcode: Opcode, from: AsmRegisterZmm, byte: Immediate);
}

macro_rules! destinations {
    ($($register:ident)*) => {
        $(impl Destination for $register {
            #[inline]
            fn encode_result(self, asm: &mut Assembler, opcode: Opcode, from: AsmRegisterZmm, byte: Immediate) {
                asm.evex_register(opcode, [from.0, 0, self.0], Decoration { rounding: from.1.rounding, ..self.1 }, byte);
            }
        })*
    };
}
destinations!(AsmRegisterZmm AsmRegisterYmm);

impl Destination for AsmMemoryOperand {
    #[inline]
    fn encode_result(self, asm: &mut Assembler, opcode: Opcode, from: AsmRegisterZmm, byte: Immediate) {
        asm.evex_memory(opcode, [from.0, 0], &self, from.1, byte);
    }
}

/// Instructions that move vectors: loads and stores have different opcodes.
pub(crate) trait Move<D, S> {
    /// Encodes a move, by the opcode of a load and the byte of a store.
    fn encode_move(&mut self, opcode: Opcode, store: u8, d: D, s: S);
}

impl<S: Whole> Move<AsmRegisterZmm, S> for Assembler {
    #[inline]
    fn encode_move(&mut self, opcode: Opcode, _: u8, d: AsmRegisterZmm, s: S) {
        s.encode(self, opcode, (d.0, d.1), 0, None);
    }
}

impl Move<AsmMemoryOperand, AsmRegisterZmm> for Assembler {
    #[inline]
    fn encode_move(&mut self, opcode: Opcode, store: u8, d: AsmMemoryOperand, s: AsmRegisterZmm) {
        d.encode_result(self, Opcode { byte: store, ..opcode }, s, None);
    }
}

impl Assembler {
    /// An immediate byte.
    #[inline]
    pub(super) fn byte(&mut self, value: i64) -> Immediate {
        if !(0..256).contains(&value) {
            self.fail();
        }
        Some(value as u8)
    }

    /// A source that is not last: it has no decorations.
    #[inline]
    fn bare(&mut self, register: AsmRegisterZmm) -> u8 {
        if register.1 != PLAIN {
            self.fail();
        }
        register.0
    }
}

/// Methods by the form of their operands.
macro_rules! form {
    // Three operands, the last of which may be in memory, and a byte.
    (three byte: $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(
            &mut self,
            d: AsmRegisterZmm,
            a: AsmRegisterZmm,
            b: impl Whole,
            byte: impl Into<i64>,
        ) -> Encoded {
            let (a, byte) = (self.bare(a), self.byte(byte.into()));
            b.encode(self, $opcode, (d.0, d.1), a, byte);
            Ok(())
        })*
    };
    // The same without it.
    (three $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: AsmRegisterZmm, a: AsmRegisterZmm, b: impl Whole) -> Encoded {
            let a = self.bare(a);
            b.encode(self, $opcode, (d.0, d.1), a, None);
            Ok(())
        })*
    };
    // A comparison, whose result is a mask.
    (compare $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: AsmRegisterK, a: AsmRegisterZmm, b: impl Whole) -> Encoded {
            let a = self.bare(a);
            b.encode(self, $opcode, (d.0, d.1), a, None);
            Ok(())
        })*
    };
    // The same with a predicate.
    (compare_by $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(
            &mut self,
            d: AsmRegisterK,
            a: AsmRegisterZmm,
            b: impl Whole,
            byte: impl Into<i64>,
        ) -> Encoded {
            let (a, byte) = (self.bare(a), self.byte(byte.into()));
            b.encode(self, $opcode, (d.0, d.1), a, byte);
            Ok(())
        })*
    };
    // Two operands, the last of which is of a kind.
    ($kind:ident $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: AsmRegisterZmm, a: impl $kind) -> Encoded {
            a.encode(self, $opcode, (d.0, d.1), 0, None);
            Ok(())
        })*
    };
    // The same and a byte.
    ($kind:ident byte $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: AsmRegisterZmm, a: impl $kind, byte: impl Into<i64>) -> Encoded {
            let byte = self.byte(byte.into());
            a.encode(self, $opcode, (d.0, d.1), 0, byte);
            Ok(())
        })*
    };
    // A shift by a byte; the opcode has three more bits.
    (shift: $($name:ident $opcode:expr, $more:literal;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: AsmRegisterZmm, a: AsmRegisterZmm, byte: impl Into<i64>) -> Encoded {
            let byte = self.byte(byte.into());
            a.encode(self, $opcode, ($more, d.1), d.0, byte);
            Ok(())
        })*
    };
    // A move; stores have another opcode.
    (moves: $($name:ident $opcode:expr, $store:literal;)*) => {
        $(#[inline]
        pub(crate) fn $name<D, S>(&mut self, d: D, s: S) -> Encoded
        where
            Assembler: Move<D, S>,
        {
            self.encode_move($opcode, $store, d, s);
            Ok(())
        })*
    };
    // The first operand may be in memory.
    (to: $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: impl Destination, a: AsmRegisterZmm) -> Encoded {
            d.encode_result(self, $opcode, a, None);
            Ok(())
        })*
    };
    // The same and a byte.
    (to byte: $($name:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: impl Destination, a: AsmRegisterZmm, byte: impl Into<i64>) -> Encoded {
            let byte = self.byte(byte.into());
            d.encode_result(self, $opcode, a, byte);
            Ok(())
        })*
    };
    // From a register to another, of these types.
    (between: $($name:ident $to:ident $from:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: $to, a: $from) -> Encoded {
            a.encode(self, $opcode, (d.0, d.1), 0, None);
            Ok(())
        })*
    };
    // A gather, whose result has a mask.
    (gather: $($name:ident $to:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: $to, a: AsmMemoryOperand) -> Encoded {
            if d.1.mask == 0 {
                self.fail();
            }
            a.encode(self, $opcode, (d.0, d.1), 0, None);
            Ok(())
        })*
    };
    // A scatter, whose memory operand has a mask.
    (scatter: $($name:ident $from:ident $opcode:expr;)*) => {
        $(#[inline]
        pub(crate) fn $name(&mut self, d: AsmMemoryOperand, a: $from) -> Encoded {
            if d.mask == 0 {
                self.fail();
            }
            d.encode(self, $opcode, (a.0, a.1), 0, None);
            Ok(())
        })*
    };
}

impl Assembler {
    form! { three
        vpaddd opcode(P66, M0F, 32, 0xfe).broadcasts();
        vpaddq opcode(P66, M0F, 64, 0xd4).broadcasts();
        vpaddw opcode(P66, M0F, 32, 0xfd);
        vpsubd opcode(P66, M0F, 32, 0xfa).broadcasts();
        vpsubq opcode(P66, M0F, 64, 0xfb).broadcasts();
        vpandd opcode(P66, M0F, 32, 0xdb).broadcasts();
        vpandq opcode(P66, M0F, 64, 0xdb).broadcasts();
        vpord opcode(P66, M0F, 32, 0xeb).broadcasts();
        vporq opcode(P66, M0F, 64, 0xeb).broadcasts();
        vpxord opcode(P66, M0F, 32, 0xef).broadcasts();
        vpxorq opcode(P66, M0F, 64, 0xef).broadcasts();
        vpmulld opcode(P66, M38, 32, 0x40).broadcasts();
        vpmullq opcode(P66, M38, 64, 0x40).broadcasts();
        vpmuldq opcode(P66, M38, 64, 0x28).broadcasts();
        vpmuludq opcode(P66, M0F, 64, 0xf4).broadcasts();
        vpminsd opcode(P66, M38, 32, 0x39).broadcasts();
        vpminsq opcode(P66, M38, 64, 0x39).broadcasts();
        vpminud opcode(P66, M38, 32, 0x3b).broadcasts();
        vpminuq opcode(P66, M38, 64, 0x3b).broadcasts();
        vpmaxsd opcode(P66, M38, 32, 0x3d).broadcasts();
        vpmaxsq opcode(P66, M38, 64, 0x3d).broadcasts();
        vpmaxud opcode(P66, M38, 32, 0x3f).broadcasts();
        vpmaxuq opcode(P66, M38, 64, 0x3f).broadcasts();
        vpsllvd opcode(P66, M38, 32, 0x47).broadcasts();
        vpsllvq opcode(P66, M38, 64, 0x47).broadcasts();
        vpsrlvd opcode(P66, M38, 32, 0x45).broadcasts();
        vpsrlvq opcode(P66, M38, 64, 0x45).broadcasts();
        vpsravd opcode(P66, M38, 32, 0x46).broadcasts();
        vpsravq opcode(P66, M38, 64, 0x46).broadcasts();
        vpshufb opcode(P66, M38, 32, 0x00);
        vpmulhuw opcode(P66, M0F, 32, 0xe4);
        vpmaddwd opcode(P66, M0F, 32, 0xf5);
        vpdpwssd opcode(P66, M38, 32, 0x52).broadcasts();
        vpmadd52luq opcode(P66, M38, 64, 0xb4).broadcasts();
        vpackusdw opcode(P66, M38, 32, 0x2b).broadcasts();
        vpunpcklwd opcode(P66, M0F, 32, 0x61);
        vpunpckhwd opcode(P66, M0F, 32, 0x69);
        vpunpckldq opcode(P66, M0F, 32, 0x62).broadcasts();
        vpunpckhdq opcode(P66, M0F, 32, 0x6a).broadcasts();
        vpunpcklqdq opcode(P66, M0F, 64, 0x6c).broadcasts();
        vpunpckhqdq opcode(P66, M0F, 64, 0x6d).broadcasts();
        vpermb opcode(P66, M38, 32, 0x8d);
        vpermd opcode(P66, M38, 32, 0x36).broadcasts();
        vpermq opcode(P66, M38, 64, 0x36).broadcasts();
        vpermt2d opcode(P66, M38, 32, 0x7e).broadcasts();
        vpermi2d opcode(P66, M38, 32, 0x76).broadcasts();
        vpblendmd opcode(P66, M38, 32, 0x64).broadcasts();
        vpblendmq opcode(P66, M38, 64, 0x64).broadcasts();
        vaddps opcode(NP, M0F, 32, 0x58).broadcasts();
        vsubps opcode(NP, M0F, 32, 0x5c).broadcasts();
        vmulps opcode(NP, M0F, 32, 0x59).broadcasts();
        vdivps opcode(NP, M0F, 32, 0x5e).broadcasts();
        vminps opcode(NP, M0F, 32, 0x5d).broadcasts();
        vmaxps opcode(NP, M0F, 32, 0x5f).broadcasts();
        vfmadd213ps opcode(P66, M38, 32, 0xa8).broadcasts();
        vfmadd231ps opcode(P66, M38, 32, 0xb8).broadcasts();
        vaddpd opcode(P66, M0F, 64, 0x58).broadcasts();
        vsubpd opcode(P66, M0F, 64, 0x5c).broadcasts();
        vmulpd opcode(P66, M0F, 64, 0x59).broadcasts();
        vdivpd opcode(P66, M0F, 64, 0x5e).broadcasts();
        vminpd opcode(P66, M0F, 64, 0x5d).broadcasts();
        vmaxpd opcode(P66, M0F, 64, 0x5f).broadcasts();
        vfmadd132pd opcode(P66, M38, 64, 0x98).broadcasts();
        vpandnd opcode(P66, M0F, 32, 0xdf).broadcasts();
        vpandnq opcode(P66, M0F, 64, 0xdf).broadcasts();
        vpsubw opcode(P66, M0F, 32, 0xf9);
        vpaddb opcode(P66, M0F, 32, 0xfc);
        vpmaddubsw opcode(P66, M38, 32, 0x04);
    }

    form! { compare
        vptestmd opcode(P66, M38, 32, 0x27).broadcasts();
        vptestmq opcode(P66, M38, 64, 0x27).broadcasts();
        vptestnmd opcode(F3, M38, 32, 0x27).broadcasts();
        vpcmpgtd opcode(P66, M0F, 32, 0x66).broadcasts();
        vpcmpgtq opcode(P66, M38, 64, 0x37).broadcasts();
        vptestmb opcode(P66, M38, 32, 0x26);
    }

    form! { compare_by
        vpcmpd opcode(P66, M3A, 32, 0x1f).broadcasts();
        vpcmpud opcode(P66, M3A, 32, 0x1e).broadcasts();
        vpcmpq opcode(P66, M3A, 64, 0x1f).broadcasts();
        vpcmpuq opcode(P66, M3A, 64, 0x1e).broadcasts();
        vcmpps opcode(NP, M0F, 32, 0xc2).broadcasts();
        vcmppd opcode(P66, M0F, 64, 0xc2).broadcasts();
        vpcmpuw opcode(P66, M3A, 64, 0x3e);
    }

    form! { Whole
        vsqrtps opcode(NP, M0F, 32, 0x51).broadcasts();
        vcvtdq2ps opcode(NP, M0F, 32, 0x5b).broadcasts();
        vcvtudq2ps opcode(F2, M0F, 32, 0x7a).broadcasts();
        vcvtps2dq opcode(P66, M0F, 32, 0x5b).broadcasts();
        vcvttps2dq opcode(F3, M0F, 32, 0x5b).broadcasts();
        vcvttps2udq opcode(NP, M0F, 32, 0x78).broadcasts();
        vcvtps2udq opcode(NP, M0F, 32, 0x79).broadcasts();
        vsqrtpd opcode(P66, M0F, 64, 0x51).broadcasts();
        vgetexpps opcode(P66, M38, 32, 0x42).broadcasts();
        vcvtqq2pd opcode(F3, M0F, 64, 0xe6).broadcasts();
        vcvtuqq2pd opcode(F3, M0F, 64, 0x7a).broadcasts();
        vcvttpd2qq opcode(P66, M0F, 64, 0x7a).broadcasts();
        vcvttpd2uqq opcode(P66, M0F, 64, 0x78).broadcasts();
        vplzcntd opcode(P66, M38, 32, 0x44).broadcasts();
        vpabsd opcode(P66, M38, 32, 0x1e).broadcasts();
        vpabsq opcode(P66, M38, 64, 0x1f).broadcasts();
        vmovsldup opcode(F3, M0F, 32, 0x12);
    }

    form! { Half
        vpmovzxdq opcode(P66, M38, 32, 0x35).of(32);
        vpmovsxdq opcode(P66, M38, 32, 0x25).of(32);
        vpmovzxwd opcode(P66, M38, 32, 0x33).of(32);
        vpmovsxwd opcode(P66, M38, 32, 0x23).of(32);
        vcvtph2ps opcode(P66, M38, 32, 0x13).of(32);
        vcvtps2pd opcode(NP, M0F, 32, 0x5a).of(32);
        vcvtdq2pd opcode(F3, M0F, 32, 0xe6).of(32);
        vcvtudq2pd opcode(F3, M0F, 32, 0x7a).of(32);
    }

    form! { Quarter
        vpmovzxbd opcode(P66, M38, 32, 0x31).of(16);
        vpmovsxbd opcode(P66, M38, 32, 0x21).of(16);
    }

    form! { Whole byte
        vpshufd opcode(P66, M0F, 32, 0x70).broadcasts();
        vrndscaleps opcode(P66, M3A, 32, 0x08).broadcasts();
        vreduceps opcode(P66, M3A, 32, 0x56).broadcasts();
        vrndscalepd opcode(P66, M3A, 64, 0x09).broadcasts();
    }

    form! { shift:
        vpsrld opcode(P66, M0F, 32, 0x72), 2;
        vpsrad opcode(P66, M0F, 32, 0x72), 4;
        vpslld opcode(P66, M0F, 32, 0x72), 6;
        vprold opcode(P66, M0F, 32, 0x72), 1;
        vprord opcode(P66, M0F, 32, 0x72), 0;
        vpsrlq opcode(P66, M0F, 64, 0x73), 2;
        vpsllq opcode(P66, M0F, 64, 0x73), 6;
        vpsrlw opcode(P66, M0F, 32, 0x71), 2;
        vpsraq opcode(P66, M0F, 64, 0x72), 4;
        vpsraw opcode(P66, M0F, 32, 0x71), 4;
        vpsllw opcode(P66, M0F, 32, 0x71), 6;
    }

    form! { moves:
        vmovdqa32 opcode(P66, M0F, 32, 0x6f), 0x7f;
        vmovdqa64 opcode(P66, M0F, 64, 0x6f), 0x7f;
        vmovdqu32 opcode(F3, M0F, 32, 0x6f), 0x7f;
        vmovdqu64 opcode(F3, M0F, 64, 0x6f), 0x7f;
        vmovdqu8 opcode(F2, M0F, 32, 0x6f), 0x7f;
        vmovaps opcode(NP, M0F, 32, 0x28), 0x29;
        vmovapd opcode(P66, M0F, 64, 0x28), 0x29;
    }

    form! { to:
        vpmovqd opcode(F3, M38, 32, 0x35).of(32);
        vpmovdw opcode(F3, M38, 32, 0x33).of(32);
        vpmovdb opcode(F3, M38, 32, 0x31).of(16);
        vpcompressd opcode(P66, M38, 32, 0x8b).of(4);
    }

    form! { to byte:
        vcvtps2ph opcode(P66, M3A, 32, 0x1d).of(32);
        vextracti64x4 opcode(P66, M3A, 64, 0x3b).of(32);
    }

    form! { between:
        vpmovd2m AsmRegisterK AsmRegisterZmm opcode(F3, M38, 32, 0x39);
        vpmovq2m AsmRegisterK AsmRegisterZmm opcode(F3, M38, 64, 0x39);
        vpmovm2d AsmRegisterZmm AsmRegisterK opcode(F3, M38, 32, 0x38);
        vpmovm2q AsmRegisterZmm AsmRegisterK opcode(F3, M38, 64, 0x38);
        vpmovb2m AsmRegisterK AsmRegisterZmm opcode(F3, M38, 32, 0x29);
        vpmovm2b AsmRegisterZmm AsmRegisterK opcode(F3, M38, 32, 0x28);
        vcvttpd2dq AsmRegisterYmm AsmRegisterZmm opcode(P66, M0F, 64, 0xe6);
        vcvttpd2udq AsmRegisterYmm AsmRegisterZmm opcode(NP, M0F, 64, 0x78);
        vcvtpd2ps AsmRegisterYmm AsmRegisterZmm opcode(P66, M0F, 64, 0x5a);
        vcvtqq2ps AsmRegisterYmm AsmRegisterZmm opcode(NP, M0F, 64, 0x5b);
        vcvtuqq2ps AsmRegisterYmm AsmRegisterZmm opcode(F2, M0F, 64, 0x7a);
    }

    form! { gather:
        vpgatherdd AsmRegisterZmm opcode(P66, M38, 32, 0x90).by(64);
        vpgatherdq AsmRegisterZmm opcode(P66, M38, 64, 0x90).by(32);
        vpgatherqd AsmRegisterYmm opcode(P66, M38, 32, 0x91).by(64);
        vpgatherqq AsmRegisterZmm opcode(P66, M38, 64, 0x91).by(64);
    }

    form! { scatter:
        vpscatterdd AsmRegisterZmm opcode(P66, M38, 32, 0xa0).by(64);
        vpscatterqd AsmRegisterYmm opcode(P66, M38, 32, 0xa1).by(64);
        vpscatterqq AsmRegisterZmm opcode(P66, M38, 64, 0xa1).by(64);
    }

    form! { three byte:
        vrangeps opcode(P66, M3A, 32, 0x50).broadcasts();
        vpshldw opcode(P66, M3A, 64, 0x70);
        vpternlogd opcode(P66, M3A, 32, 0x25).broadcasts();
        vpternlogq opcode(P66, M3A, 64, 0x25).broadcasts();
    }

    /// The elements that are of certain classes of floats.
    #[inline]
    pub(crate) fn vfpclassps(&mut self, d: AsmRegisterK, a: AsmRegisterZmm, byte: impl Into<i64>) -> Encoded {
        let byte = self.byte(byte.into());
        a.encode(self, opcode(P66, M3A, 32, 0x66), (d.0, d.1), 0, byte);
        Ok(())
    }

    /// A quarter of a vector.
    #[inline]
    pub(crate) fn vextracti32x4(
        &mut self,
        d: impl Quarter,
        a: AsmRegisterZmm,
        byte: impl Into<i64>,
    ) -> Encoded {
        let (a, byte) = (self.bare(a), self.byte(byte.into()));
        d.encode(self, opcode(P66, M3A, 32, 0x39).of(16), (a, PLAIN), 0, byte);
        Ok(())
    }

    /// A quarter of a vector in memory, for all quarters.
    #[inline]
    pub(crate) fn vbroadcasti32x4(&mut self, d: AsmRegisterZmm, a: AsmMemoryOperand) -> Encoded {
        a.encode(self, opcode(P66, M38, 32, 0x5a).of(16), (d.0, d.1), 0, None);
        Ok(())
    }

    /// Half a vector in memory, for both halves.
    #[inline]
    pub(crate) fn vbroadcasti64x4(&mut self, d: AsmRegisterZmm, a: AsmMemoryOperand) -> Encoded {
        a.encode(self, opcode(P66, M38, 64, 0x5b).of(32), (d.0, d.1), 0, None);
        Ok(())
    }

    /// A 64-bit word of a vector.
    #[inline]
    pub(crate) fn vpextrq(&mut self, d: AsmRegister64, a: AsmRegisterXmm, byte: impl Into<i64>) -> Encoded {
        let byte = self.byte(byte.into());
        d.encode(self, opcode(P66, M3A, 64, 0x16).short(), (a.0, PLAIN), 0, byte);
        Ok(())
    }

    /// Replaces a half of a vector.
    #[inline]
    pub(crate) fn vinserti64x4(
        &mut self,
        d: AsmRegisterZmm,
        a: AsmRegisterZmm,
        b: impl Half,
        byte: impl Into<i64>,
    ) -> Encoded {
        let (a, byte) = (self.bare(a), self.byte(byte.into()));
        b.encode(self, opcode(P66, M3A, 64, 0x3a).of(32), (d.0, d.1), a, byte);
        Ok(())
    }

    /// Replaces a quarter of a vector.
    #[inline]
    pub(crate) fn vinserti32x4(
        &mut self,
        d: AsmRegisterZmm,
        a: AsmRegisterZmm,
        b: impl Quarter,
        byte: impl Into<i64>,
    ) -> Encoded {
        let (a, byte) = (self.bare(a), self.byte(byte.into()));
        b.encode(self, opcode(P66, M3A, 32, 0x38).of(16), (d.0, d.1), a, byte);
        Ok(())
    }

    /// A 32-bit word for all lanes.
    #[inline]
    pub(crate) fn vpbroadcastd<A: Word>(&mut self, d: AsmRegisterZmm, a: A) -> Encoded {
        a.encode(self, A::OPCODE, (d.0, d.1), 0, None);
        Ok(())
    }

    /// A 64-bit word for all lanes.
    #[inline]
    pub(crate) fn vpbroadcastq<A: WideWord>(&mut self, d: AsmRegisterZmm, a: A) -> Encoded {
        a.encode(self, A::OPCODE, (d.0, d.1), 0, None);
        Ok(())
    }

    /// The first 32-bit word of a vector.
    #[inline]
    pub(crate) fn vmovd(&mut self, d: AsmRegister32, a: AsmRegisterXmm) -> Encoded {
        d.encode(self, opcode(P66, M0F, 32, 0x7e).short(), (a.0, PLAIN), 0, None);
        Ok(())
    }

    /// The first 64-bit word of a vector.
    #[inline]
    pub(crate) fn vmovq(&mut self, d: AsmRegister64, a: AsmRegisterXmm) -> Encoded {
        d.encode(self, opcode(P66, M0F, 64, 0x7e).short(), (a.0, PLAIN), 0, None);
        Ok(())
    }
}
