//! Quotients of 64-bit words, and signs of floats.

use super::{Emitted, Emitter, Late, ZMM};
use crate::Level;
use crate::assembler::*;
use softwarp_ir::Slot;

/// Words below 2 to this power are divided in f64: a quotient, cut off, is exact, and fits in the fraction with its sign.
const MOST_BITS: u32 = 50;

impl Emitter<'_> {
    /// Quotients or remainders, all ones where the divisor is zero. Where a word has more than [`MOST_BITS`] bits, the
    /// interpreter does the row.
    pub(super) fn divide_wide(
        &mut self,
        op: usize,
        (signed, remainder): (bool, bool),
        d: Slot,
        [a, b]: [Slot; 2],
    ) -> Emitted {
        let (slow, mut back) = (self.unit.a.create_label(), self.unit.a.create_label());
        self.late.push(Late::Slow { op, label: slow, back, apart: self.apart });
        self.leave_if_long(op, signed, [a, b], slow)?;
        // As a sum with a whole number, it is the low part.
        let whole = self.wide_word(0x4338 << 48);
        for part in 0..4 {
            let one = self.register(op, a, part, 0, false)?;
            let two = self.register(op, b, part, 1, false)?;
            let (one, two) = (ZMM[usize::from(one)], ZMM[usize::from(two)]);
            let level = self.unit.level;
            let asm = &mut self.unit.a;
            asm.vcvtqq2pd(zmm2, one)?;
            asm.vcvtqq2pd(zmm3, two)?;
            asm.vdivpd(zmm2, zmm2, zmm3)?;
            if level == Level::Avx512 {
                asm.vcvttpd2qq(zmm2, zmm2)?;
            } else {
                asm.vrndscalepd(zmm2, zmm2, 11)?;
                asm.vaddpd(zmm2, zmm2, whole)?;
                asm.vpsubq(zmm2, zmm2, whole)?;
            }
            if remainder {
                asm.vpmullq(zmm2, zmm2, two)?;
                asm.vpsubq(zmm2, one, zmm2)?;
            }
            asm.vpxorq(zmm3, zmm3, zmm3)?;
            asm.vpcmpq(k1, two, zmm3, 0)?;
            asm.vpternlogq(zmm2.k1(), zmm2, zmm2, 0xff)?;
            self.put(op, d, part, 2)?;
        }
        self.unit.place(&mut back)
    }

    /// Goes to a label if a word of a lane that executes has more than [`MOST_BITS`] bits.
    fn leave_if_long(&mut self, op: usize, signed: bool, sources: [Slot; 2], to: CodeLabel) -> Emitted {
        let bias = self.wide_word(1 << MOST_BITS);
        let bits = if signed { MOST_BITS + 1 } else { MOST_BITS };
        let high = self.wide_word(u64::MAX << bits);
        for (part, k) in [k1, k2, k3, k4].into_iter().enumerate() {
            for (source, register, t) in [(sources[0], 0, zmm2), (sources[1], 1, zmm3)] {
                let from = self.register(op, source, part, register, false)?;
                match signed {
                    true => self.unit.a.vpaddq(t, ZMM[usize::from(from)], bias)?,
                    false => self.unit.a.vmovdqa64(t, ZMM[usize::from(from)])?,
                }
            }
            self.unit.a.vporq(zmm2, zmm2, zmm3)?;
            self.unit.a.vptestmq(k, zmm2, high)?;
        }
        let masked = self.masked;
        let asm = &mut self.unit.a;
        asm.kunpckbw(k1, k2, k1)?;
        asm.kunpckbw(k2, k4, k3)?;
        if masked {
            asm.kandw(k1, k1, k6)?;
            asm.kandw(k2, k2, k7)?;
        }
        asm.kortestw(k1, k2)?;
        asm.jnz(to)
    }

    /// The sign of the first source, the rest of the second.
    pub(super) fn copysign(&mut self, op: usize, wide: bool, d: Slot, [a, b]: [Slot; 2]) -> Emitted {
        for part in 0..if wide { 4 } else { 2 } {
            let sign = match wide {
                false => self.unit.word(1 << 31),
                true => self.wide_word(1 << 63),
            };
            self.unit.a.vmovdqa64(zmm2, sign)?;
            let one = self.register(op, a, part, 0, false)?;
            let two = self.register(op, b, part, 1, false)?;
            // Where the first operand has ones, the second, else the third.
            self.unit.a.vpternlogd(zmm2, ZMM[usize::from(one)], ZMM[usize::from(two)], 0xca)?;
            self.put(op, d, part, 2)?;
        }
        Ok(())
    }
}
