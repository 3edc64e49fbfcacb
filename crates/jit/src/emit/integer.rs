//! Integer operations on rows beyond those on whole words: 16-bit words, bit fields, quotients, dot products.

use super::{Emitted, Emitter, RAX, RCX, YMM, ZMM};
use crate::assembler::*;
use crate::integers::{Integer, Short};
use softwarp_ir::Slot;

/// What is counted in words of 64 bits.
#[derive(Clone, Copy)]
enum Count {
    Ones,
    /// Bits above the highest one that is set; of signed words, that differs from the sign. `highest` has the place of that
    /// one computed, or the shift that brings it to the top.
    Above {
        signed: bool,
        highest: Option<bool>,
    },
}

impl Emitter<'_> {
    /// Emits an integer operation.
    pub(super) fn integer(&mut self, op: usize, integer: Integer, d: Slot, s: [Slot; 4]) -> Emitted {
        match integer {
            Integer::Short(short) => self.short(op, short, d, s),
            Integer::Extract { wide: true, signed } => self.extract_wide(op, signed, d, s),
            Integer::Insert { wide: true } => self.insert_wide(op, d, s),
            Integer::HighWide { signed } => self.high_wide(op, signed, d, s),
            Integer::Reverse { wide } => self.reverse(op, wide, d, s[0]),
            Integer::Carry(carry) => self.carry(op, carry, d, s),
            Integer::Divide { signed, remainder, short } => self.divide(op, (signed, remainder, short), d, s),
            Integer::DivideWide { signed, remainder } => {
                self.divide_wide(op, (signed, remainder), d, [s[0], s[1]])
            }
            Integer::Population { wide: true } => self.count_wide(op, Count::Ones, d, s[0]),
            Integer::LeadingZeros { wide: true } => {
                self.count_wide(op, Count::Above { signed: false, highest: None }, d, s[0])
            }
            Integer::Highest { wide: true, signed, shift } => {
                self.count_wide(op, Count::Above { signed, highest: Some(shift) }, d, s[0])
            }
            Integer::CopySign { wide } => self.copysign(op, wide, d, [s[0], s[1]]),
            Integer::Magnitude { wide: true } => {
                for part in 0..4 {
                    let a = self.register(op, s[0], part, 0, false)?;
                    self.unit.a.vpabsq(zmm3, ZMM[usize::from(a)])?;
                    self.put(op, d, part, 3)?;
                }
                Ok(())
            }
            Integer::Extract { wide: false, .. }
            | Integer::Insert { wide: false }
            | Integer::Population { wide: false }
            | Integer::LeadingZeros { wide: false }
            | Integer::Highest { wide: false, .. }
            | Integer::Magnitude { wide: false }
            | Integer::HighSum { .. }
            | Integer::Dot { .. }
            | Integer::Permute
            | Integer::Distance { .. }
            | Integer::Ones { .. }
            | Integer::LowBits { .. }
            | Integer::FunnelClamped { .. } => {
                for part in 0..2 {
                    self.integer_part(op, integer, part, s)?;
                    self.put(op, d, part, 4)?;
                }
                Ok(())
            }
        }
    }

    /// A part of a row of 32-bit words, in `zmm4`.
    fn integer_part(&mut self, op: usize, integer: Integer, part: usize, s: [Slot; 4]) -> Emitted {
        let a = self.register(op, s[0], part, 0, false)?;
        let a = ZMM[usize::from(a)];
        match integer {
            Integer::Population { .. } => self.population(a),
            Integer::LeadingZeros { .. } => self.unit.a.vplzcntd(zmm4, a),
            Integer::Magnitude { .. } => self.unit.a.vpabsd(zmm4, a),
            Integer::Highest { signed, shift, .. } => {
                let asm = &mut self.unit.a;
                match signed {
                    true => {
                        asm.vpsrad(zmm2, a, 31)?;
                        asm.vpxord(zmm2, zmm2, a)?;
                        asm.vplzcntd(zmm4, zmm2)?;
                    }
                    false => asm.vplzcntd(zmm4, a)?,
                }
                self.highest(32, shift)
            }
            Integer::Ones { wrap } => {
                let b = self.integer_source(op, s, part, 1)?;
                self.ones(wrap, [a, b])
            }
            Integer::LowBits { signed, wrap } => {
                let b = self.integer_source(op, s, part, 1)?;
                self.low_bits((signed, wrap), [a, b])
            }
            Integer::Extract { signed, .. } => {
                let [b, c] = self.integer_sources(op, s, part)?;
                self.extract(signed, [a, b, c])
            }
            Integer::Insert { .. } => {
                let [b, c] = self.integer_sources(op, s, part)?;
                let length = self.register(op, s[3], part, 3, false)?;
                self.insert([a, b, c, ZMM[usize::from(length)]])
            }
            Integer::HighSum { signed } => {
                let [b, c] = self.integer_sources(op, s, part)?;
                self.products(signed, a, b)?;
                self.words_of_products(zmm5, true)?;
                self.unit.a.vpaddd(zmm4, zmm5, c)
            }
            Integer::Dot { signed } => {
                let [b, c] = self.integer_sources(op, s, part)?;
                self.dot(signed, [a, b, c])
            }
            Integer::Permute => {
                let [b, c] = self.integer_sources(op, s, part)?;
                self.permute_by([a, b, c])
            }
            Integer::Distance { signed } => {
                let [b, c] = self.integer_sources(op, s, part)?;
                let asm = &mut self.unit.a;
                match signed {
                    true => {
                        asm.vpmaxsd(zmm4, a, b)?;
                        asm.vpminsd(zmm3, a, b)?;
                    }
                    false => {
                        asm.vpmaxud(zmm4, a, b)?;
                        asm.vpminud(zmm3, a, b)?;
                    }
                }
                asm.vpsubd(zmm4, zmm4, zmm3)?;
                asm.vpaddd(zmm4, zmm4, c)
            }
            Integer::FunnelClamped { left } => {
                let [b, c] = self.integer_sources(op, s, part)?;
                let most = self.unit.word(32);
                let asm = &mut self.unit.a;
                asm.vmovdqa64(zmm3, most)?;
                asm.vpminud(zmm4, c, zmm3)?;
                asm.vpsubd(zmm3, zmm3, zmm4)?;
                match left {
                    true => {
                        asm.vpsllvd(zmm4, b, zmm4)?;
                        asm.vpsrlvd(zmm3, a, zmm3)?;
                    }
                    false => {
                        asm.vpsrlvd(zmm4, a, zmm4)?;
                        asm.vpsllvd(zmm3, b, zmm3)?;
                    }
                }
                asm.vpord(zmm4, zmm4, zmm3)
            }
            // They have code for whole rows.
            Integer::Short(_) | Integer::HighWide { .. } | Integer::CopySign { .. } => Err(Unencodable),
            Integer::Reverse { .. } | Integer::Carry(_) => Err(Unencodable),
            Integer::Divide { .. } | Integer::DivideWide { .. } => Err(Unencodable),
        }
    }

    /// A part of the source with a number, in a register.
    fn integer_source(
        &mut self,
        op: usize,
        s: [Slot; 4],
        part: usize,
        number: u8,
    ) -> Emitted<AsmRegisterZmm> {
        let register = self.register(op, s[usize::from(number)], part, number, false)?;
        Ok(ZMM[usize::from(register)])
    }

    /// A part of the second and the third source.
    fn integer_sources(&mut self, op: usize, s: [Slot; 4], part: usize) -> Emitted<[AsmRegisterZmm; 2]> {
        Ok([self.integer_source(op, s, part, 1)?, self.integer_source(op, s, part, 2)?])
    }

    /// The place of the highest bit, or the amount of a shift that brings it to the top, of the numbers of bits above it in
    /// `zmm4`: there. All ones if there is none.
    fn highest(&mut self, bits: u32, shift: bool) -> Emitted {
        let [top, none] = [bits - 1, bits].map(|word| self.unit.word(word));
        let asm = &mut self.unit.a;
        if shift {
            asm.vpcmpd(k2, zmm4, none, 0)?;
            asm.vpternlogd(zmm3, zmm3, zmm3, 0xff)?;
            return asm.vmovdqa32(zmm4.under(k2), zmm3);
        }
        asm.vmovdqa64(zmm3, top)?;
        asm.vpsubd(zmm4, zmm3, zmm4)
    }

    /// Counts bits of 64-bit words.
    fn count_wide(&mut self, op: usize, count: Count, d: Slot, s: Slot) -> Emitted {
        for half in 0..2 {
            for n in 0..2 {
                let a = self.register(op, s, 2 * half + n, 0, false)?;
                self.count_part(count, ZMM[usize::from(a)])?;
                match n == 0 {
                    true => self.unit.a.vpmovqd(ymm5, zmm4)?,
                    false => self.unit.a.vpmovqd(ymm6, zmm4)?,
                }
            }
            self.unit.a.vinserti64x4(zmm4, zmm5, ymm6, 1)?;
            if let Count::Above { highest: Some(shift), .. } = count {
                self.highest(64, shift)?;
            }
            self.put(op, d, half, 4)?;
        }
        Ok(())
    }

    /// The number of ones or of leading zeros of 64-bit words, in the lower halves of those of `zmm4`.
    fn count_part(&mut self, count: Count, a: AsmRegisterZmm) -> Emitted {
        let full = match count {
            Count::Ones => {
                self.population(a)?;
                self.unit.a.vpsrlq(zmm3, zmm4, 32)?;
                return self.unit.a.vpaddd(zmm4, zmm4, zmm3);
            }
            Count::Above { .. } => self.unit.word(32),
        };
        let asm = &mut self.unit.a;
        match count {
            Count::Above { signed: true, .. } => {
                asm.vpsraq(zmm2, a, 63)?;
                asm.vpxord(zmm2, zmm2, a)?;
                asm.vplzcntd(zmm3, zmm2)?;
            }
            Count::Above { signed: false, .. } | Count::Ones => asm.vplzcntd(zmm3, a)?,
        }
        // Those of the upper half, and of the lower one where that is zero.
        asm.vpsrlq(zmm4, zmm3, 32)?;
        asm.vpcmpd(k2, zmm4, full, 0)?;
        asm.vpaddd(zmm4.under(k2), zmm4, zmm3)
    }

    /// On 16-bit words, which have zeros above.
    fn short(&mut self, op: usize, short: Short, d: Slot, [a, b, c, _]: [Slot; 4]) -> Emitted {
        let unary = short.has_one_source();
        for part in 0..2 {
            self.short_source(op, a, part, 0, short.is_signed())?;
            if !unary {
                // The amount of a shift has 32 bits.
                self.short_source(op, b, part, 1, short.is_signed() && short != Short::Shr)?;
            }
            let asm = &mut self.unit.a;
            match short {
                Short::Add => asm.vpaddd(zmm3, zmm0, zmm1)?,
                Short::Sub => asm.vpsubd(zmm3, zmm0, zmm1)?,
                Short::Mul | Short::Mad | Short::Wide { .. } => asm.vpmulld(zmm3, zmm0, zmm1)?,
                Short::Neg => {
                    asm.vpxord(zmm3, zmm3, zmm3)?;
                    asm.vpsubd(zmm3, zmm3, zmm0)?;
                }
                Short::Not => asm.vpternlogd(zmm3, zmm0, zmm0, 0x55)?,
                Short::Shl => asm.vpsllvd(zmm3, zmm0, zmm1)?,
                Short::Shr => asm.vpsravd(zmm3, zmm0, zmm1)?,
                Short::Min => asm.vpminsd(zmm3, zmm0, zmm1)?,
                Short::Max => asm.vpmaxsd(zmm3, zmm0, zmm1)?,
                Short::Abs => asm.vpabsd(zmm3, zmm0)?,
            }
            if short.adds() {
                let c = self.register(op, c, part, 2, false)?;
                self.unit.a.vpaddd(zmm3, zmm3, ZMM[usize::from(c)])?;
            }
            if !short.is_wide() {
                let low = self.unit.word(0xffff);
                self.unit.a.vpandd(zmm3, zmm3, low)?;
            }
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// A source in a temporary register, extended from 16 bits with its sign.
    fn short_source(&mut self, op: usize, slot: Slot, part: usize, to: u8, signed: bool) -> Emitted {
        let from = self.register(op, slot, part, to, false)?;
        let t = ZMM[usize::from(to)];
        match signed {
            true => {
                self.unit.a.vpslld(t, ZMM[usize::from(from)], 16)?;
                self.unit.a.vpsrad(t, t, 16)
            }
            false if from != to => self.unit.a.vmovdqa64(t, ZMM[usize::from(from)]),
            false => Ok(()),
        }
    }

    /// The number of ones: of each nibble by a table, added up.
    fn population(&mut self, a: AsmRegisterZmm) -> Emitted {
        let table = [0u8, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];
        let table = self.unit.bytes(table.repeat(4));
        let (low, ones, pairs) =
            (self.unit.word(0x0f0f_0f0f), self.unit.word(0x0101_0101), self.unit.word(0x0001_0001));
        let asm = &mut self.unit.a;
        asm.vpsrld(zmm2, a, 4)?;
        asm.vpandd(zmm2, zmm2, low)?;
        asm.vpandd(zmm4, a, low)?;
        asm.vmovdqa64(zmm3, table)?;
        asm.vpshufb(zmm2, zmm3, zmm2)?;
        asm.vpshufb(zmm4, zmm3, zmm4)?;
        asm.vpaddb(zmm4, zmm4, zmm2)?;
        asm.vpmaddubsw(zmm4, zmm4, ones)?;
        asm.vpmaddwd(zmm4, zmm4, pairs)
    }

    /// A field from a place on, of a length: their low bytes. What lies beyond the top is zero, or the sign.
    fn extract(&mut self, signed: bool, [a, place, length]: [AsmRegisterZmm; 3]) -> Emitted {
        let (byte, full) = (self.unit.word(0xff), self.unit.word(32));
        let asm = &mut self.unit.a;
        asm.vpandd(zmm3, place, byte)?;
        asm.vpandd(zmm4, length, byte)?;
        if signed {
            asm.vpsravd(zmm3, a, zmm3)?;
            // How many bits above the field are not used.
            asm.vpminud(zmm4, zmm4, full)?;
            asm.vmovdqa64(zmm5, full)?;
            asm.vpsubd(zmm5, zmm5, zmm4)?;
            asm.vpsllvd(zmm4, zmm3, zmm5)?;
            return asm.vpsravd(zmm4, zmm4, zmm5);
        }
        asm.vpsrlvd(zmm3, a, zmm3)?;
        asm.vpternlogd(zmm5, zmm5, zmm5, 0xff)?;
        asm.vpsllvd(zmm4, zmm5, zmm4)?;
        asm.vpandnd(zmm4, zmm4, zmm3)
    }

    /// The second word with the low bits of the first at a place in it.
    fn insert(&mut self, [a, b, place, length]: [AsmRegisterZmm; 4]) -> Emitted {
        let byte = self.unit.word(0xff);
        let asm = &mut self.unit.a;
        asm.vpandd(zmm4, length, byte)?;
        asm.vpandd(zmm5, place, byte)?;
        asm.vpternlogd(zmm6, zmm6, zmm6, 0xff)?;
        asm.vpsllvd(zmm4, zmm6, zmm4)?;
        asm.vpxord(zmm4, zmm4, zmm6)?;
        asm.vpsllvd(zmm4, zmm4, zmm5)?;
        asm.vpsllvd(zmm5, a, zmm5)?;
        // The field where the mask has ones, else the second word.
        asm.vpternlogd(zmm4, zmm5, b, 0xca)
    }

    /// A sum of products of bytes: of the even ones, and of the odd ones, as 16-bit words.
    fn dot(&mut self, signed: [bool; 2], [a, b, c]: [AsmRegisterZmm; 3]) -> Emitted {
        let asm = &mut self.unit.a;
        for (signed, from, even, odd) in [(signed[0], a, zmm3, zmm4), (signed[1], b, zmm5, zmm6)] {
            asm.vpsllw(even, from, 8)?;
            match signed {
                true => {
                    asm.vpsraw(even, even, 8)?;
                    asm.vpsraw(odd, from, 8)?;
                }
                false => {
                    asm.vpsrlw(even, even, 8)?;
                    asm.vpsrlw(odd, from, 8)?;
                }
            }
        }
        asm.vpmaddwd(zmm3, zmm3, zmm5)?;
        asm.vpmaddwd(zmm4, zmm4, zmm6)?;
        asm.vpaddd(zmm4, zmm4, zmm3)?;
        asm.vpaddd(zmm4, zmm4, c)
    }

    /// Bytes of two words, each chosen by four bits: three for the byte, one for its sign in all bits.
    fn permute_by(&mut self, [a, b, selector]: [AsmRegisterZmm; 3]) -> Emitted {
        let words = self.unit.bytes((0..64u8).map(|at| at % 16 / 4 * 4).collect());
        let [low, pairs, nibbles] = [0xffff, 0x00ff_00ff, 0x0f0f_0f0f].map(|word| self.unit.word(word));
        let [places, second, sign] = [0x0303_0303, 0x0404_0404, 0x0808_0808].map(|word| self.unit.word(word));
        let asm = &mut self.unit.a;
        // A byte for each nibble.
        asm.vpandd(zmm4, selector, low)?;
        asm.vpslld(zmm3, zmm4, 8)?;
        asm.vpord(zmm3, zmm3, zmm4)?;
        asm.vpandd(zmm3, zmm3, pairs)?;
        asm.vpslld(zmm4, zmm3, 4)?;
        asm.vpord(zmm3, zmm3, zmm4)?;
        asm.vpandd(zmm3, zmm3, nibbles)?;
        asm.vptestmb(k1, zmm3, second)?;
        asm.vptestmb(k2, zmm3, sign)?;
        asm.vpandd(zmm3, zmm3, places)?;
        asm.vpaddb(zmm3, zmm3, words)?;
        asm.vpshufb(zmm4, a, zmm3)?;
        asm.vpshufb(zmm4.k1(), b, zmm3)?;
        asm.vpmovb2m(k1, zmm4)?;
        asm.vpmovm2b(zmm3, k1)?;
        asm.vmovdqu8(zmm4.k2(), zmm3)
    }

    /// [`Emitter::extract`] of 64-bit words; places and lengths are whole words.
    fn extract_wide(&mut self, op: usize, signed: bool, d: Slot, [a, b, c, _]: [Slot; 4]) -> Emitted {
        for part in 0..4 {
            let a = self.register(op, a, part, 0, false)?;
            let a = ZMM[usize::from(a)];
            self.widened(op, b, part, false, 1)?;
            self.widened(op, c, part, false, 2)?;
            let full = self.unit.bytes(64u64.to_le_bytes().repeat(8));
            let asm = &mut self.unit.a;
            match signed {
                true => {
                    asm.vpsravq(zmm3, a, zmm1)?;
                    asm.vpminuq(zmm2, zmm2, full)?;
                    asm.vmovdqa64(zmm4, full)?;
                    asm.vpsubq(zmm4, zmm4, zmm2)?;
                    asm.vpsllvq(zmm3, zmm3, zmm4)?;
                    asm.vpsravq(zmm3, zmm3, zmm4)?;
                }
                false => {
                    asm.vpsrlvq(zmm3, a, zmm1)?;
                    asm.vpternlogd(zmm4, zmm4, zmm4, 0xff)?;
                    asm.vpsllvq(zmm4, zmm4, zmm2)?;
                    asm.vpandnq(zmm3, zmm4, zmm3)?;
                }
            }
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// [`Emitter::insert`] of 64-bit words; places and lengths are whole words.
    fn insert_wide(&mut self, op: usize, d: Slot, [a, b, c, length]: [Slot; 4]) -> Emitted {
        for part in 0..4 {
            self.widened(op, c, part, false, 1)?;
            self.widened(op, length, part, false, 2)?;
            let a = self.register(op, a, part, 0, false)?;
            let asm = &mut self.unit.a;
            asm.vpternlogd(zmm4, zmm4, zmm4, 0xff)?;
            asm.vpsllvq(zmm2, zmm4, zmm2)?;
            asm.vpxorq(zmm3, zmm2, zmm4)?;
            asm.vpsllvq(zmm3, zmm3, zmm1)?;
            asm.vpsllvq(zmm1, ZMM[usize::from(a)], zmm1)?;
            let b = self.register(op, b, part, 0, false)?;
            self.unit.a.vpternlogq(zmm3, zmm1, ZMM[usize::from(b)], 0xca)?;
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// The high half of a product of 64-bit words, from four products of their halves.
    fn high_wide(&mut self, op: usize, signed: bool, d: Slot, [a, b, ..]: [Slot; 4]) -> Emitted {
        let low = self.unit.bytes(u64::from(u32::MAX).to_le_bytes().repeat(8));
        for part in 0..4 {
            let one = self.register(op, a, part, 0, false)?;
            let two = self.register(op, b, part, 1, false)?;
            let (one, two) = (ZMM[usize::from(one)], ZMM[usize::from(two)]);
            let asm = &mut self.unit.a;
            asm.vpsrlq(zmm2, one, 32)?;
            asm.vpsrlq(zmm3, two, 32)?;
            asm.vpmuludq(zmm4, one, two)?;
            asm.vpsrlq(zmm4, zmm4, 32)?;
            asm.vpmuludq(zmm5, zmm2, two)?;
            // What is carried out of the low half: neither sum overflows.
            asm.vpaddq(zmm5, zmm5, zmm4)?;
            asm.vpandq(zmm4, zmm5, low)?;
            asm.vpsrlq(zmm5, zmm5, 32)?;
            asm.vpmuludq(zmm6, one, zmm3)?;
            asm.vpaddq(zmm4, zmm4, zmm6)?;
            asm.vpsrlq(zmm4, zmm4, 32)?;
            asm.vpmuludq(zmm3, zmm2, zmm3)?;
            asm.vpaddq(zmm3, zmm3, zmm5)?;
            asm.vpaddq(zmm3, zmm3, zmm4)?;
            if signed {
                asm.vpsraq(zmm4, one, 63)?;
                asm.vpandq(zmm4, zmm4, two)?;
                asm.vpsubq(zmm3, zmm3, zmm4)?;
                asm.vpsraq(zmm4, two, 63)?;
                asm.vpandq(zmm4, zmm4, one)?;
                asm.vpsubq(zmm3, zmm3, zmm4)?;
            }
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// Quotients or remainders, all ones where the divisor is zero. A quotient in f64, cut off, is exact: it is at least
    /// a part of the divisor away from the next whole number, which is more than half a unit of its last place.
    fn divide(
        &mut self,
        op: usize,
        (signed, remainder, short): (bool, bool, bool),
        d: Slot,
        [a, b, ..]: [Slot; 4],
    ) -> Emitted {
        for part in 0..2 {
            self.short_source(op, a, part, 0, signed && short)?;
            self.short_source(op, b, part, 1, signed && short)?;
            let asm = &mut self.unit.a;
            asm.vptestnmd(k1, zmm1, zmm1)?;
            for (half, to) in [(0, 3), (1, 4)] {
                asm.vextracti64x4(ymm5, zmm0, half)?;
                asm.vextracti64x4(ymm6, zmm1, half)?;
                match signed {
                    true => {
                        asm.vcvtdq2pd(zmm5, ymm5)?;
                        asm.vcvtdq2pd(zmm6, ymm6)?;
                        asm.vdivpd(zmm5, zmm5, zmm6)?;
                        asm.vcvttpd2dq(YMM[to], zmm5)?;
                    }
                    false => {
                        asm.vcvtudq2pd(zmm5, ymm5)?;
                        asm.vcvtudq2pd(zmm6, ymm6)?;
                        asm.vdivpd(zmm5, zmm5, zmm6)?;
                        asm.vcvttpd2udq(YMM[to], zmm5)?;
                    }
                }
            }
            asm.vinserti64x4(zmm3, zmm3, ymm4, 1)?;
            if remainder {
                asm.vpmulld(zmm3, zmm3, zmm1)?;
                asm.vpsubd(zmm3, zmm0, zmm3)?;
            }
            asm.vpternlogd(zmm3.k1(), zmm3, zmm3, 0xff)?;
            if short {
                let low = self.unit.word(0xffff);
                self.unit.a.vpandd(zmm3, zmm3, low)?;
            }
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// A quotient or a remainder of values that are the same in all lanes, in `rax`; 64 bits hold what overflows 32.
    pub(super) fn divide_scalar(
        &mut self,
        op: usize,
        (signed, remainder, short): (bool, bool, bool),
        [a, b]: [Slot; 2],
    ) -> Emitted {
        self.scalar_to(op, a, RAX)?;
        self.scalar_to(op, b, RCX)?;
        let (mut zero, mut end) = (self.unit.a.create_label(), self.unit.a.create_label());
        let asm = &mut self.unit.a;
        match (signed, short) {
            (true, true) => {
                for register in [rax, rcx] {
                    asm.shl(register, 48u32)?;
                    asm.sar(register, 48u32)?;
                }
            }
            (true, false) => {
                asm.movsxd(rax, eax)?;
                asm.movsxd(rcx, ecx)?;
            }
            (false, true | false) => {}
        }
        asm.test(rcx, rcx)?;
        asm.jz(zero)?;
        match signed {
            true => {
                asm.cqo()?;
                asm.idiv(rcx)?;
            }
            false => {
                asm.xor(edx, edx)?;
                asm.div(rcx)?;
            }
        }
        if remainder {
            asm.mov(rax, rdx)?;
        }
        asm.jmp(end)?;
        self.unit.place(&mut zero)?;
        self.unit.a.mov(eax, -1)?;
        self.unit.place(&mut end)?;
        match short {
            true => self.unit.a.and(eax, 0xffff),
            false => self.unit.a.mov(eax, eax),
        }
    }
}
