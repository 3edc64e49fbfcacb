//! Bits of integers: reversed, and the low ones of words.

use super::{Emitted, Emitter, ZMM};
use crate::assembler::*;
use softwarp_ir::Slot;

impl Emitter<'_> {
    /// The bits in the opposite order: of nibbles by tables, and the bytes by a permutation.
    pub(super) fn reverse(&mut self, op: usize, wide: bool, d: Slot, a: Slot) -> Emitted {
        let reversed: [u8; 16] = std::array::from_fn(|nibble| (nibble as u8).reverse_bits());
        let low = self.unit.bytes(reversed.repeat(4));
        let high = self.unit.bytes(reversed.map(|nibble| nibble >> 4).repeat(4));
        let last = if wide { 7 } else { 3 };
        let order = self.unit.bytes((0..64u8).map(|at| (at ^ last) % 16).collect());
        let nibbles = self.unit.word(0x0f0f_0f0f);
        for part in 0..if wide { 4 } else { 2 } {
            let from = self.register(op, a, part, 0, false)?;
            let from = ZMM[usize::from(from)];
            let asm = &mut self.unit.a;
            asm.vpsrld(zmm2, from, 4)?;
            asm.vpandd(zmm2, zmm2, nibbles)?;
            asm.vpandd(zmm3, from, nibbles)?;
            asm.vmovdqa64(zmm4, low)?;
            asm.vpshufb(zmm3, zmm4, zmm3)?;
            asm.vmovdqa64(zmm4, high)?;
            asm.vpshufb(zmm2, zmm4, zmm2)?;
            asm.vpord(zmm3, zmm3, zmm2)?;
            asm.vpshufb(zmm3, zmm3, order)?;
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// Ones from a place on, as many as a count says; both are taken modulo 32 if they wrap. In `zmm4`.
    pub(super) fn ones(&mut self, wrap: bool, [mut place, mut count]: [AsmRegisterZmm; 2]) -> Emitted {
        if wrap {
            let most = self.unit.word(31);
            self.unit.a.vpandd(zmm3, place, most)?;
            self.unit.a.vpandd(zmm4, count, most)?;
            [place, count] = [zmm3, zmm4];
        }
        let asm = &mut self.unit.a;
        asm.vpternlogd(zmm5, zmm5, zmm5, 0xff)?;
        asm.vpsllvd(zmm4, zmm5, count)?;
        asm.vpxord(zmm4, zmm4, zmm5)?;
        asm.vpsllvd(zmm4, zmm4, place)
    }

    /// The low bits of words, as many as a count says: with zeros above, or with their sign. In `zmm4`.
    pub(super) fn low_bits(
        &mut self,
        (signed, wrap): (bool, bool),
        [a, mut count]: [AsmRegisterZmm; 2],
    ) -> Emitted {
        let (most, full) = (self.unit.word(31), self.unit.word(32));
        let asm = &mut self.unit.a;
        if wrap {
            asm.vpandd(zmm4, count, most)?;
            count = zmm4;
        }
        if !signed {
            asm.vpternlogd(zmm5, zmm5, zmm5, 0xff)?;
            asm.vpsllvd(zmm4, zmm5, count)?;
            return asm.vpandnd(zmm4, zmm4, a);
        }
        asm.vpminud(zmm4, count, full)?;
        asm.vmovdqa64(zmm5, full)?;
        asm.vpsubd(zmm5, zmm5, zmm4)?;
        asm.vpsllvd(zmm4, a, zmm5)?;
        asm.vpsravd(zmm4, zmm4, zmm5)
    }
}
