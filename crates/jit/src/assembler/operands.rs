//! Registers, memory operands and their decorations.

use std::ops::{Add, Mul, Sub};

/// No register.
pub(super) const NONE: u8 = u8::MAX;

/// How a result is written, and numbers are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Decoration {
    /// The mask register; 0 for all elements.
    pub(super) mask: u8,
    /// Elements that are not written become 0.
    pub(super) zeroing: bool,
    /// One more than the rounding, which has two bits; 0 for the one that is set.
    pub(super) rounding: u8,
}

/// A register of 512 bits, with its decorations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsmRegisterZmm(pub(super) u8, pub(super) Decoration);

/// A register of 256 bits, with its decorations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsmRegisterYmm(pub(super) u8, pub(super) Decoration);

/// A register of 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsmRegisterXmm(pub(super) u8);

/// A mask register, with its decorations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsmRegisterK(pub(super) u8, pub(super) Decoration);

/// A general-purpose register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsmRegister64(pub(super) u8);

/// Its lower 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsmRegister32(pub(super) u8);

/// Its lower 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsmRegister16(pub(super) u8);

/// The lower 8 bits of one of the first four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsmRegister8(pub(super) u8);

/// A memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsmMemoryOperand {
    pub(super) base: u8,
    /// Or none.
    pub(super) index: u8,
    /// Bytes of the index register.
    pub(super) index_bytes: u8,
    /// What the index is multiplied with.
    pub(super) scale: u8,
    /// An element, for all lanes.
    pub(super) broadcast: bool,
    pub(super) mask: u8,
    /// Bytes that are accessed; 0 if that does not matter.
    pub(super) bytes: u8,
    /// All its elements are the same.
    pub(super) even: bool,
    pub(super) displacement: i64,
}

/// A register of 512 bits, or memory: the last operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register(AsmRegisterZmm),
    Memory(AsmMemoryOperand),
}

impl AsmMemoryOperand {
    #[inline]
    fn new(base: u8) -> AsmMemoryOperand {
        AsmMemoryOperand {
            base,
            index: NONE,
            index_bytes: 0,
            scale: 1,
            broadcast: false,
            mask: 0,
            bytes: 0,
            even: false,
            displacement: 0,
        }
    }

    /// Whether it is an element for all lanes.
    pub(crate) fn is_broadcast(self) -> bool {
        self.broadcast
    }

    /// The same whose 32-bit words are all equal: instructions may read one of them.
    #[inline]
    pub(crate) fn even(self) -> AsmMemoryOperand {
        AsmMemoryOperand { even: true, ..self }
    }

    #[inline]
    fn sized(self, bytes: u8) -> AsmMemoryOperand {
        AsmMemoryOperand { bytes, ..self }
    }
}

/// An index register with what it is multiplied with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled {
    register: u8,
    bytes: u8,
    scale: i32,
}

macro_rules! scaled {
    ($register:ident, $bytes:literal) => {
        impl Mul<i32> for $register {
            type Output = Scaled;
            #[inline]
            fn mul(self, scale: i32) -> Scaled {
                Scaled { register: self.0, bytes: $bytes, scale }
            }
        }
    };
}
scaled!(AsmRegister64, 8);
scaled!(AsmRegisterYmm, 32);
scaled!(AsmRegisterZmm, 64);

impl Add<Scaled> for AsmRegister64 {
    type Output = AsmMemoryOperand;
    #[inline]
    fn add(self, Scaled { register, bytes, scale }: Scaled) -> AsmMemoryOperand {
        // 0 has no encoding.
        let scale = u8::try_from(scale).unwrap_or(0);
        AsmMemoryOperand { index: register, index_bytes: bytes, scale, ..AsmMemoryOperand::new(self.0) }
    }
}

impl Add for AsmRegister64 {
    type Output = AsmMemoryOperand;
    #[inline]
    fn add(self, index: AsmRegister64) -> AsmMemoryOperand {
        self + index * 1
    }
}

impl From<AsmRegister64> for AsmMemoryOperand {
    #[inline]
    fn from(base: AsmRegister64) -> AsmMemoryOperand {
        AsmMemoryOperand::new(base.0)
    }
}

impl Add<i32> for AsmMemoryOperand {
    type Output = AsmMemoryOperand;
    #[inline]
    fn add(self, offset: i32) -> AsmMemoryOperand {
        let displacement = self.displacement.saturating_add(i64::from(offset));
        AsmMemoryOperand { displacement, ..self }
    }
}

impl Add<usize> for AsmMemoryOperand {
    type Output = AsmMemoryOperand;
    #[inline]
    fn add(self, offset: usize) -> AsmMemoryOperand {
        let displacement = self.displacement.saturating_add_unsigned(offset as u64);
        AsmMemoryOperand { displacement, ..self }
    }
}

impl Add<i32> for AsmRegister64 {
    type Output = AsmMemoryOperand;
    #[inline]
    fn add(self, offset: i32) -> AsmMemoryOperand {
        AsmMemoryOperand::from(self) + offset
    }
}

impl Add<usize> for AsmRegister64 {
    type Output = AsmMemoryOperand;
    #[inline]
    fn add(self, offset: usize) -> AsmMemoryOperand {
        AsmMemoryOperand::from(self) + offset
    }
}

impl Sub<i32> for AsmRegister64 {
    type Output = AsmMemoryOperand;
    #[inline]
    fn sub(self, offset: i32) -> AsmMemoryOperand {
        let mut memory = AsmMemoryOperand::from(self);
        memory.displacement = -i64::from(offset);
        memory
    }
}

macro_rules! pointers {
    ($($name:ident $bytes:literal $broadcast:literal $doc:literal;)*) => {
        $(
            #[doc = $doc]
            #[inline]
            pub(crate) fn $name(place: impl Into<AsmMemoryOperand>) -> AsmMemoryOperand {
                AsmMemoryOperand { broadcast: $broadcast, ..place.into().sized($bytes) }
            }
        )*
    };
}
pointers! {
    ptr 0 false "An address.";
    byte_ptr 1 false "Memory of 8 bits.";
    word_ptr 2 false "Memory of 16 bits.";
    dword_ptr 4 false "Memory of 32 bits.";
    qword_ptr 8 false "Memory of 64 bits.";
    xmmword_ptr 16 false "Memory of 128 bits.";
    ymmword_ptr 32 false "Memory of 256 bits.";
    zmmword_ptr 64 false "Memory of 512 bits.";
    dword_bcst 4 true "Memory of 32 bits, for all elements.";
    qword_bcst 8 true "Memory of 64 bits, for all elements.";
}

macro_rules! roundings {
    ($register:ident: $($name:ident $rounding:literal)*) => {
        impl $register {
            $(
                /// The same with a rounding, without exceptions.
                #[inline]
                pub(crate) fn $name(mut self) -> $register {
                    self.1.rounding = $rounding + 1;
                    self
                }
            )*

            /// The same with zeros in elements that are not written.
            #[inline]
            pub(crate) fn z(mut self) -> $register {
                self.1.zeroing = true;
                self
            }
        }
    };
}
roundings!(AsmRegisterZmm: rn_sae 0 rd_sae 1 ru_sae 2 rz_sae 3);

macro_rules! masks {
    ($register:ident: $($name:ident $mask:literal)*) => {
        impl $register {
            $(
                /// The same with a mask.
                // Not all types have all of them in use.
                #[allow(dead_code)]
                #[inline]
                pub(crate) fn $name(mut self) -> $register {
                    self.1.mask = $mask;
                    self
                }
            )*
        }
    };
}
masks!(AsmRegisterZmm: k1 1 k2 2 k3 3 k4 4 k5 5 k6 6 k7 7);
masks!(AsmRegisterYmm: k1 1 k2 2);

masks!(AsmRegisterK: k1 1 k2 2);

impl AsmRegisterZmm {
    /// The same with a mask.
    #[inline]
    pub(crate) fn under(mut self, mask: AsmRegisterK) -> AsmRegisterZmm {
        self.1.mask = mask.0;
        self
    }
}

impl AsmRegisterK {
    /// The same with a mask.
    #[inline]
    pub(crate) fn under(mut self, mask: AsmRegisterK) -> AsmRegisterK {
        self.1.mask = mask.0;
        self
    }
}

impl AsmMemoryOperand {
    /// The same with a mask.
    #[inline]
    pub(crate) fn under(self, mask: AsmRegisterK) -> AsmMemoryOperand {
        self.masked(mask.0)
    }

    /// The same with a mask, by its number.
    #[inline]
    pub(super) fn masked(self, mask: u8) -> AsmMemoryOperand {
        AsmMemoryOperand { mask, ..self }
    }

    #[inline]
    pub(crate) fn k1(self) -> AsmMemoryOperand {
        self.masked(1)
    }

    #[inline]
    pub(crate) fn k2(self) -> AsmMemoryOperand {
        self.masked(2)
    }

    #[cfg(test)]
    pub(crate) fn k6(self) -> AsmMemoryOperand {
        self.masked(6)
    }

    #[cfg(test)]
    pub(crate) fn k7(self) -> AsmMemoryOperand {
        self.masked(7)
    }
}

macro_rules! registers {
    ($make:expr, $type:ident: $($name:ident $number:literal)*) => {
        $(
            #[allow(non_upper_case_globals, dead_code)]
            pub(crate) const $name: $type = $make($number);
        )*
    };
}

const fn zmm(number: u8) -> AsmRegisterZmm {
    AsmRegisterZmm(number, Decoration { mask: 0, zeroing: false, rounding: 0 })
}

const fn ymm(number: u8) -> AsmRegisterYmm {
    AsmRegisterYmm(number, Decoration { mask: 0, zeroing: false, rounding: 0 })
}

const fn mask(number: u8) -> AsmRegisterK {
    AsmRegisterK(number, Decoration { mask: 0, zeroing: false, rounding: 0 })
}

registers!(zmm, AsmRegisterZmm:
    zmm0 0 zmm1 1 zmm2 2 zmm3 3 zmm4 4 zmm5 5 zmm6 6 zmm7 7 zmm8 8 zmm9 9 zmm10 10 zmm11 11 zmm12 12 zmm13 13
    zmm14 14 zmm15 15 zmm16 16 zmm17 17 zmm18 18 zmm19 19 zmm20 20 zmm21 21 zmm22 22 zmm23 23 zmm24 24 zmm25 25
    zmm26 26 zmm27 27 zmm28 28 zmm29 29 zmm30 30 zmm31 31);
registers!(ymm, AsmRegisterYmm:
    ymm0 0 ymm1 1 ymm2 2 ymm3 3 ymm4 4 ymm5 5 ymm6 6 ymm7 7 ymm8 8 ymm9 9 ymm10 10 ymm11 11 ymm12 12 ymm13 13
    ymm14 14 ymm15 15 ymm16 16 ymm17 17 ymm18 18 ymm19 19 ymm20 20 ymm21 21 ymm22 22 ymm23 23 ymm24 24 ymm25 25
    ymm26 26 ymm27 27 ymm28 28 ymm29 29 ymm30 30 ymm31 31);
registers!(AsmRegisterXmm, AsmRegisterXmm:
    xmm0 0 xmm1 1 xmm2 2 xmm3 3 xmm4 4 xmm5 5 xmm6 6 xmm7 7 xmm8 8 xmm9 9 xmm10 10 xmm11 11 xmm12 12 xmm13 13
    xmm14 14 xmm15 15 xmm16 16 xmm17 17 xmm18 18 xmm19 19 xmm20 20 xmm21 21 xmm22 22 xmm23 23 xmm24 24 xmm25 25
    xmm26 26 xmm27 27 xmm28 28 xmm29 29 xmm30 30 xmm31 31);
registers!(mask, AsmRegisterK: k1 1 k2 2 k3 3 k4 4 k5 5 k6 6 k7 7);
registers!(AsmRegister64, AsmRegister64:
    rax 0 rcx 1 rdx 2 rbx 3 rsp 4 rbp 5 rsi 6 rdi 7 r8 8 r9 9 r10 10 r11 11 r12 12 r13 13 r14 14 r15 15);
registers!(AsmRegister32, AsmRegister32:
    eax 0 ecx 1 edx 2 ebx 3 esp 4 ebp 5 esi 6 edi 7 r8d 8 r9d 9 r10d 10 r11d 11 r12d 12 r13d 13 r14d 14 r15d 15);
registers!(AsmRegister16, AsmRegister16: cx 1);
registers!(AsmRegister8, AsmRegister8: al 0 cl 1 dl 2);

/// A general-purpose register of 32 or 64 bits.
pub(crate) trait General: Copy {
    /// It has 64 bits.
    const WIDE: bool;
    /// Its number.
    fn number(self) -> u8;
}

impl General for AsmRegister32 {
    const WIDE: bool = false;
    #[inline]
    fn number(self) -> u8 {
        self.0
    }
}

impl General for AsmRegister64 {
    const WIDE: bool = true;
    #[inline]
    fn number(self) -> u8 {
        self.0
    }
}
