//! Arithmetic of f16 and bf16, one or two in a word: in f32, rounded to the half.
//!
//! f32 is wide enough that sums and products may be rounded twice. The first rounding of `fma` is to odd: where its
//! results rounded down and up differ, the last bit is set.

use super::{Emitted, Emitter, YMM, ZMM};
use crate::assembler::*;
use crate::functions::{Float, Half};
use softwarp_ir::Slot;

impl Emitter<'_> {
    /// Emits arithmetic of halves, rounded to nearest even.
    pub(super) fn half_precision(&mut self, op: usize, half: Half, d: Slot, sources: [Slot; 3]) -> Emitted {
        for part in 0..2 {
            self.half_of_words(op, part, (half, false), sources, 3)?;
            if half.pair {
                self.half_of_words(op, part, (half, true), sources, 5)?;
                self.unit.a.vpslld(zmm5, zmm5, 16)?;
                self.unit.a.vpord(zmm3, zmm3, zmm5)?;
            }
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// The results of the low or the high halves of words, in the low halves.
    fn half_of_words(
        &mut self,
        op: usize,
        part: usize,
        (half, high): (Half, bool),
        sources: [Slot; 3],
        to: u8,
    ) -> Emitted {
        let count = match half.float {
            Float::Fma => 3,
            Float::Neg | Float::Abs => 1,
            Float::Add | Float::Sub | Float::Mul | Float::Min | Float::Max => 2,
            // No instruction on halves.
            Float::Div | Float::Rcp | Float::Sqrt => return Err(Unencodable),
        };
        for (slot, temporary) in sources.into_iter().zip(0u8..).take(count) {
            let from = self.register(op, slot, part, temporary, false)?;
            self.widen_half((half.brain, high), from, temporary)?;
        }
        let [sign, magnitude, one] = [1 << 31, u32::MAX >> 1, 1].map(|word| self.unit.word(word));
        let unit = self.unit.word(1f32.to_bits());
        let asm = &mut self.unit.a;
        match half.float {
            Float::Add => asm.vaddps(zmm4, zmm0, zmm1)?,
            Float::Sub => asm.vsubps(zmm4, zmm0, zmm1)?,
            Float::Neg => asm.vpxord(zmm4, zmm0, sign)?,
            Float::Abs => asm.vpandd(zmm4, zmm0, magnitude)?,
            Float::Fma => {
                asm.vmovaps(zmm4, zmm0)?;
                asm.vmovaps(zmm6, zmm0)?;
                asm.vfmadd213ps(zmm4, zmm1, zmm2.rd_sae())?;
                asm.vfmadd213ps(zmm6, zmm1, zmm2.ru_sae())?;
                asm.vcmpps(k1, zmm4, zmm6, 4)?;
                asm.vfmadd213ps(zmm0, zmm1, zmm2.rz_sae())?;
                asm.vmovaps(zmm4, zmm0)?;
                asm.vpord(zmm4.k1(), zmm0, one)?;
            }
            Float::Min | Float::Max => {
                // They prefer numbers to quiet NaNs, which products are.
                if half.brain {
                    for factor in [zmm0, zmm1] {
                        asm.vmulps(factor, factor, unit)?;
                    }
                }
                let which = if half.float == Float::Max { 0b0101 } else { 0b0100 };
                asm.vrangeps(zmm4, zmm0, zmm1, which)?;
            }
            Float::Mul => asm.vmulps(zmm4, zmm0, zmm1)?,
            Float::Div | Float::Rcp | Float::Sqrt => return Err(Unencodable),
        }
        match half.brain {
            true => self.convert_to_bf16(zmm4, to),
            false => self.convert_to_f16(zmm4, to),
        }
    }

    /// Halves as f32, in a temporary register.
    fn widen_half(&mut self, (brain, high): (bool, bool), from: u8, to: u8) -> Emitted {
        let (from, t, narrow) = (ZMM[usize::from(from)], ZMM[usize::from(to)], YMM[usize::from(to)]);
        let upper = self.unit.word(0xffff_0000);
        let asm = &mut self.unit.a;
        match (brain, high) {
            (true, true) => asm.vpandd(t, from, upper),
            (true, false) => asm.vpslld(t, from, 16),
            (false, true) => {
                asm.vpsrld(t, from, 16)?;
                asm.vpmovdw(narrow, t)?;
                asm.vcvtph2ps(t, narrow)
            }
            (false, false) => {
                asm.vpmovdw(narrow, from)?;
                asm.vcvtph2ps(t, narrow)
            }
        }
    }
}
