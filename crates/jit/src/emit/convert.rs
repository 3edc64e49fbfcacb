//! Conversions between f32, 16-bit floats and integers.

use super::{Emitted, Emitter, YMM, ZMM};
use crate::assembler::*;
use crate::decode::{Convert, Rounding, ShortType};
use softwarp_ir::Slot;

impl Emitter<'_> {
    /// Emits a conversion within rows of 32-bit words.
    pub(super) fn convert(&mut self, op: usize, convert: Convert, d: Slot, [a, b]: [Slot; 2]) -> Emitted {
        for part in 0..2 {
            let from = self.register(op, a, part, 0, convert.takes_any_nan())?;
            let from = ZMM[usize::from(from)];
            match convert {
                Convert::FromS32 => self.unit.a.vcvtdq2ps(zmm2, from)?,
                Convert::FromU32 => self.unit.a.vcvtudq2ps(zmm2, from)?,
                Convert::FromLow { bits, signed } => {
                    self.unit.a.vpslld(zmm2, from, 32 - bits)?;
                    match signed {
                        true => self.unit.a.vpsrad(zmm2, zmm2, 32 - bits)?,
                        false => self.unit.a.vpsrld(zmm2, zmm2, 32 - bits)?,
                    }
                    self.unit.a.vcvtdq2ps(zmm2, zmm2)?;
                }
                Convert::ToS32(rounding) => self.convert_to_signed(from, rounding)?,
                Convert::ToU32(rounding) => self.convert_to_unsigned(from, rounding)?,
                Convert::ToLow { bits, rounding } => {
                    self.convert_to_unsigned(from, rounding)?;
                    let most = self.unit.word((1 << bits) - 1);
                    self.unit.a.vpminud(zmm2, zmm2, most)?;
                }
                Convert::Clamp { bits, signed } => {
                    let most = self.unit.word((1 << bits) - 1);
                    let a = &mut self.unit.a;
                    if signed {
                        a.vpxord(zmm2, zmm2, zmm2)?;
                        a.vpmaxsd(zmm2, from, zmm2)?;
                    }
                    a.vpminud(zmm2, if signed { zmm2 } else { from }, most)?;
                }
                Convert::Whole(rounding) => {
                    self.unit.a.vrndscaleps(zmm2, from, rounding.bits())?;
                    self.canonical(2)?;
                }
                Convert::Saturate => {
                    let one = self.unit.word(0x3f80_0000);
                    self.unit.a.vpxord(zmm3, zmm3, zmm3)?;
                    self.unit.a.vmaxps(zmm2, from, zmm3)?;
                    self.unit.a.vminps(zmm2, zmm2, one)?;
                }
                Convert::FromF16 => {
                    self.unit.a.vpmovdw(ymm2, from)?;
                    self.unit.a.vcvtph2ps(zmm2, ymm2)?;
                    self.canonical(2)?;
                }
                Convert::FromBf16 => self.unit.a.vpslld(zmm2, from, 16)?,
                Convert::ToF16 => self.convert_to_f16(from, 2)?,
                Convert::ToBf16 => self.convert_to_bf16(from, 2)?,
                Convert::ToF16Pair | Convert::ToBf16Pair => {
                    let brain = convert == Convert::ToBf16Pair;
                    let half = |emitter: &mut Self, from, to| match brain {
                        false => emitter.convert_to_f16(from, to),
                        true => emitter.convert_to_bf16(from, to),
                    };
                    half(self, from, 2)?;
                    let low = self.register(op, b, part, 0, true)?;
                    half(self, ZMM[usize::from(low)], 3)?;
                    self.unit.a.vpslld(zmm2, zmm2, 16)?;
                    self.unit.a.vpord(zmm2, zmm2, zmm3)?;
                }
            }
            self.put(op, d, part, 2)?;
        }
        Ok(())
    }

    /// To an unsigned integer, in `zmm2`: out of range the nearest one, and 0 for a NaN.
    fn convert_to_unsigned(&mut self, from: AsmRegisterZmm, rounding: Rounding) -> Emitted {
        let a = &mut self.unit.a;
        // The larger of a NaN and a number is the second.
        a.vpxord(zmm3, zmm3, zmm3)?;
        a.vmaxps(zmm2, from, zmm3)?;
        match rounding {
            Rounding::Zero | Rounding::Down => a.vcvttps2udq(zmm2, zmm2),
            Rounding::Nearest => a.vcvtps2udq(zmm2, zmm2.rn_sae()),
            Rounding::Up => a.vcvtps2udq(zmm2, zmm2.ru_sae()),
        }
    }

    /// To a signed integer, in `zmm2`: out of range the nearest one, and 0 for a NaN.
    fn convert_to_signed(&mut self, from: AsmRegisterZmm, rounding: Rounding) -> Emitted {
        let (limit, most) = (self.unit.word(0x4f00_0000), self.unit.word(i32::MAX as u32));
        let a = &mut self.unit.a;
        // Out of range the instruction gives the least integer.
        match rounding {
            Rounding::Zero => a.vcvttps2dq(zmm2, from)?,
            Rounding::Nearest => a.vcvtps2dq(zmm2, from.rn_sae())?,
            Rounding::Down => a.vcvtps2dq(zmm2, from.rd_sae())?,
            Rounding::Up => a.vcvtps2dq(zmm2, from.ru_sae())?,
        }
        a.vcmpps(k1, from, limit, 0x1d)?;
        a.vmovdqa32(zmm2.k1(), most)?;
        a.vcmpps(k1, from, from, 3)?;
        a.vpxord(zmm2.k1(), zmm2, zmm2)
    }

    /// To f16, to nearest.
    pub(super) fn convert_to_f16(&mut self, from: AsmRegisterZmm, to: u8) -> Emitted {
        let nan = self.unit.word(0x7fff);
        let (z, y) = (ZMM[usize::from(to)], YMM[usize::from(to)]);
        let a = &mut self.unit.a;
        a.vcmpps(k1, from, from, 3)?;
        a.vcvtps2ph(y, from, 0)?;
        a.vpmovzxwd(z, y)?;
        a.vmovdqa32(z.k1(), nan)
    }

    /// To bf16, to nearest.
    pub(super) fn convert_to_bf16(&mut self, from: AsmRegisterZmm, to: u8) -> Emitted {
        let [nan, one, half] = [0x7fff, 1, 0x7fff].map(|word| self.unit.word(word));
        let z = ZMM[usize::from(to)];
        let a = &mut self.unit.a;
        a.vcmpps(k1, from, from, 3)?;
        a.vpsrld(z, from, 16)?;
        a.vpandd(z, z, one)?;
        a.vpaddd(z, z, from)?;
        a.vpaddd(z, z, half)?;
        a.vpsrld(z, z, 16)?;
        a.vmovdqa32(z.k1(), nan)
    }

    /// Compares 16-bit words, as 32-bit words of the same order.
    pub(super) fn compare_shorts(
        &mut self,
        op: usize,
        (of, predicate): (ShortType, u8),
        sources: [Slot; 2],
    ) -> Emitted {
        for (part, k) in [k1, k2].into_iter().enumerate() {
            for (source, to, half) in [(sources[0], 0u8, ymm2), (sources[1], 1, ymm3)] {
                let from = self.register(op, source, part, to, false)?;
                let (from, to) = (ZMM[usize::from(from)], ZMM[usize::from(to)]);
                match of {
                    ShortType::S16 | ShortType::Bf16 => self.unit.a.vpslld(to, from, 16)?,
                    ShortType::F16 => {
                        self.unit.a.vpmovdw(half, from)?;
                        self.unit.a.vcvtph2ps(to, half)?;
                    }
                }
            }
            match of {
                ShortType::S16 => self.unit.a.vpcmpd(k, zmm0, zmm1, i32::from(predicate))?,
                ShortType::F16 | ShortType::Bf16 => {
                    self.unit.a.vcmpps(k, zmm0, zmm1, i32::from(predicate))?
                }
            }
        }
        self.unit.a.kunpckwd(k1, k2, k1)?;
        self.unit.a.kmovd(eax, k1)
    }

    /// Two rows of 16-bit words as one of 32-bit words, the first below.
    pub(super) fn halves(&mut self, op: usize, d: Slot, [a, b]: [Slot; 2]) -> Emitted {
        let low = self.unit.word(0xffff);
        for part in 0..2 {
            let upper = self.register(op, b, part, 0, false)?;
            self.unit.a.vpslld(zmm2, ZMM[usize::from(upper)], 16)?;
            let lower = self.register(op, a, part, 0, false)?;
            // zmm2 | lower & 0xffff
            self.unit.a.vpternlogd(zmm2, ZMM[usize::from(lower)], low, 0xf8)?;
            self.put(op, d, part, 2)?;
        }
        Ok(())
    }
}
