//! Conversions of or to rows of 64-bit words.

use super::rounded::by;
use super::{Emitted, Emitter, YMM, ZMM};
use crate::Level;
use crate::assembler::*;
use crate::decode::{Rounding, WideConvert};
use softwarp_ir::Slot;

impl Emitter<'_> {
    /// Emits a conversion of or to 64 bits.
    pub(super) fn wide_convert(&mut self, op: usize, convert: WideConvert, d: Slot, a: Slot) -> Emitted {
        match convert {
            WideConvert::SingleOfDouble(_)
            | WideConvert::SingleOfInteger { .. }
            | WideConvert::WordOfDouble { .. }
            | WideConvert::Field { .. } => self.shortened(op, convert, d, a),
            WideConvert::DoubleOfWord { .. }
            | WideConvert::DoubleOfInteger { .. }
            | WideConvert::DoubleOfSingle
            | WideConvert::IntegerOfDouble { .. }
            | WideConvert::IntegerOfSingle { .. }
            | WideConvert::Whole(_)
            | WideConvert::OfLow { .. } => {
                for part in 0..4 {
                    self.lengthened(op, convert, part, a)?;
                    self.put(op, d, part, 3)?;
                }
                Ok(())
            }
        }
    }

    /// Eight 64-bit results, in `zmm3`.
    fn lengthened(&mut self, op: usize, convert: WideConvert, part: usize, a: Slot) -> Emitted {
        match convert {
            WideConvert::DoubleOfWord { signed } => {
                self.widened(op, a, part, signed, 0)?;
                self.unit.a.vcvtqq2pd(zmm3, zmm0)
            }
            WideConvert::OfLow { bits, signed } => {
                self.widened(op, a, part, false, 0)?;
                self.unit.a.vpsllq(zmm3, zmm0, 64 - bits)?;
                match signed {
                    true => self.unit.a.vpsraq(zmm3, zmm3, 64 - bits),
                    false => self.unit.a.vpsrlq(zmm3, zmm3, 64 - bits),
                }
            }
            WideConvert::DoubleOfSingle => {
                let from = self.eight_words(op, a, part)?;
                self.unit.a.vcvtps2pd(zmm3, from)
            }
            WideConvert::IntegerOfSingle { signed, rounding } => {
                let from = self.eight_words(op, a, part)?;
                self.unit.a.vcvtps2pd(zmm0, from)?;
                self.integer_of_double(zmm0, (signed, rounding))
            }
            WideConvert::DoubleOfInteger { signed } => {
                let from = self.register(op, a, part, 0, false)?;
                self.double_of_integer(ZMM[usize::from(from)], signed)
            }
            WideConvert::IntegerOfDouble { signed, rounding } => {
                let from = self.register(op, a, part, 0, false)?;
                self.integer_of_double(ZMM[usize::from(from)], (signed, rounding))
            }
            WideConvert::Whole(rounding) => {
                let from = self.register(op, a, part, 0, false)?;
                self.unit.a.vrndscalepd(zmm3, ZMM[usize::from(from)], rounding.bits())
            }
            // These have 32-bit results.
            WideConvert::SingleOfDouble(_) | WideConvert::SingleOfInteger { .. } => Err(Unencodable),
            WideConvert::WordOfDouble { .. } | WideConvert::Field { .. } => Err(Unencodable),
        }
    }

    /// Eight words of a row of 32-bit words.
    fn eight_words(&mut self, op: usize, a: Slot, part: usize) -> Emitted<AsmRegisterYmm> {
        let from = usize::from(self.register(op, a, part / 2, 0, false)?);
        if part.is_multiple_of(2) {
            return Ok(YMM[from]);
        }
        self.unit.a.vextracti64x4(ymm0, ZMM[from], 1)?;
        Ok(ymm0)
    }

    /// f64 of 64-bit integers, rounded once, in `zmm3`.
    fn double_of_integer(&mut self, from: AsmRegisterZmm, signed: bool) -> Emitted {
        if self.unit.level == Level::Avx512 {
            return match signed {
                true => self.unit.a.vcvtqq2pd(zmm3, from),
                false => self.unit.a.vcvtuqq2pd(zmm3, from),
            };
        }
        // Both halves as the low parts of 2^84 and 2^52. A signed integer is one without a sign, less 2^63.
        let both: u64 = if signed { 0x4530_0000_8010_0000 } else { 0x4530_0000_0010_0000 };
        let [sign, low, high_one, low_one, both] =
            [1 << 63, u64::from(u32::MAX), 0x4530 << 48, 0x4330 << 48, both].map(|word| self.wide_word(word));
        let a = &mut self.unit.a;
        a.vmovdqa64(zmm2, from)?;
        if signed {
            a.vpxorq(zmm2, zmm2, sign)?;
        }
        a.vpsrlq(zmm3, zmm2, 32)?;
        a.vporq(zmm3, zmm3, high_one)?;
        a.vsubpd(zmm3, zmm3, both)?;
        a.vpandq(zmm2, zmm2, low)?;
        a.vporq(zmm2, zmm2, low_one)?;
        a.vaddpd(zmm3, zmm3, zmm2)
    }

    /// 64-bit integers of f64, in `zmm3`: out of range the nearest one, and the sign bit alone for a NaN.
    fn integer_of_double(&mut self, from: AsmRegisterZmm, (signed, rounding): (bool, Rounding)) -> Emitted {
        let (limit, most) = (self.wide_word(0x43e0 << 48), self.wide_word(u64::MAX >> 1));
        let nan = self.wide_word(1 << 63);
        let a = &mut self.unit.a;
        a.vrndscalepd(zmm2, from, rounding.bits())?;
        if signed {
            // Out of range and for a NaN the instruction gives the least integer.
            a.vcvttpd2qq(zmm3, zmm2)?;
            a.vcmppd(k1, zmm2, limit, 0x1d)?;
            return a.vmovdqa64(zmm3.k1(), most);
        }
        // The larger of a number and a NaN is the second. Out of range the instruction gives the largest integer.
        a.vcmppd(k1, zmm2, zmm2, 3)?;
        a.vpxorq(zmm3, zmm3, zmm3)?;
        a.vmaxpd(zmm2, zmm3, zmm2)?;
        a.vcvttpd2uqq(zmm3, zmm2)?;
        a.vmovdqa64(zmm3.k1(), nan)
    }

    /// Conversions of 64-bit words to 32 bits.
    fn shortened(&mut self, op: usize, convert: WideConvert, d: Slot, a: Slot) -> Emitted {
        for part in 0..2 {
            for (half, to) in [(0, 3u8), (1, 4)] {
                let from = self.register(op, a, 2 * part + half, 0, false)?;
                let (from, to) = (ZMM[usize::from(from)], YMM[usize::from(to)]);
                let asm = &mut self.unit.a;
                match convert {
                    WideConvert::SingleOfDouble(Rounding::Nearest) => asm.vcvtpd2ps(to, from)?,
                    WideConvert::SingleOfDouble(rounding) => asm.vcvtpd2ps(to, by(from, rounding))?,
                    WideConvert::SingleOfInteger { signed: true } => asm.vcvtqq2ps(to, from)?,
                    WideConvert::SingleOfInteger { signed: false } => asm.vcvtuqq2ps(to, from)?,
                    WideConvert::WordOfDouble { signed, rounding } => {
                        self.word_of_double(from, to, (signed, rounding))?;
                    }
                    WideConvert::Field { shift: 0, .. } => asm.vpmovqd(to, from)?,
                    WideConvert::Field { shift, .. } => {
                        asm.vpsrlq(zmm0, from, shift)?;
                        asm.vpmovqd(to, zmm0)?;
                    }
                    // These have 64-bit results.
                    WideConvert::DoubleOfWord { .. } | WideConvert::DoubleOfInteger { .. } => {
                        return Err(Unencodable);
                    }
                    WideConvert::DoubleOfSingle | WideConvert::IntegerOfDouble { .. } => {
                        return Err(Unencodable);
                    }
                    WideConvert::IntegerOfSingle { .. } | WideConvert::Whole(_) => return Err(Unencodable),
                    WideConvert::OfLow { .. } => return Err(Unencodable),
                }
            }
            self.unit.a.vinserti64x4(zmm3, zmm3, ymm4, 1)?;
            if let WideConvert::Field { bits, .. } = convert
                && bits < 32
            {
                let mask = self.unit.word((1 << bits) - 1);
                self.unit.a.vpandd(zmm3, zmm3, mask)?;
            }
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// Eight 32-bit integers of f64: out of range the nearest one, and the sign bit alone for a NaN.
    fn word_of_double(
        &mut self,
        from: AsmRegisterZmm,
        to: AsmRegisterYmm,
        (signed, rounding): (bool, Rounding),
    ) -> Emitted {
        let most = self.wide_word(if signed { f64::from(i32::MAX) } else { f64::from(u32::MAX) }.to_bits());
        let nan = self.wide_word(f64::from(1u32 << 31).to_bits());
        let a = &mut self.unit.a;
        a.vrndscalepd(zmm2, from, rounding.bits())?;
        // The lesser and the larger of a number and a NaN are the second.
        a.vmovapd(zmm1, most)?;
        a.vminpd(zmm2, zmm1, zmm2)?;
        if signed {
            // Out of range and for a NaN the instruction gives the least integer.
            return a.vcvttpd2dq(to, zmm2);
        }
        a.vpxorq(zmm1, zmm1, zmm1)?;
        a.vmaxpd(zmm2, zmm1, zmm2)?;
        a.vcmppd(k1, zmm2, zmm2, 3)?;
        a.vmovdqa64(zmm2.k1(), nan)?;
        a.vcvttpd2udq(to, zmm2)
    }
}
