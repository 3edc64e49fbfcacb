//! Special functions of f32, to the bit those of the interpreter (`softwarp_units::alu::approx`).
//!
//! A function is a quadratic polynomial in each of 64 or 128 segments, in fixed point. A sum of products of 16-bit words
//! makes it (`vpmaddwd`): with q the position in the segment without its last bit, from −2^15 on, and s the square of the
//! position, it is `g·q + c2·s`, where g is half of c1 less a multiple of 2^15, for which the position itself is added.
//! Coefficients are found by permutations of registers (`vpermt2d`). The square is made of 32 words of 16 bits at once.
//!
//! Inputs that are not ordinary (`Special::has_rare`) are left to the interpreter: if an active lane has one, it does the
//! whole row.

use super::{Emitted, Emitter, Late, ZMM};
use crate::decode::Special;
use crate::tables::{Coefficients, Multiple, Range, by_exponent, coefficients};
use iced_x86::code_asm::*;
use softwarp_ir::Slot;

/// Vector registers by what they hold: the number whose low bits are the position, part by part; the words of 32 bits
/// that become results; and others.
const NUMBER: [u8; 2] = [0, 1];
const RESULT: [AsmRegisterZmm; 2] = [zmm3, zmm4];
/// Lanes that the interpreter has to do.
const RARE: [AsmRegisterK; 2] = [k4, k5];

const SIGN: u32 = 1 << 31;
const EXPONENT: u32 = 0x7f80_0000;
/// The least normal number.
const LEAST: u32 = 1 << 23;
const FRACTION: u32 = LEAST - 1;
const POSITION: u32 = (1 << 17) - 1;
const NAN: u32 = 0x7fff_ffff;

impl Emitter<'_> {
    /// Emits a special function.
    pub(super) fn special(&mut self, op: usize, special: Special, d: Slot, sources: [Slot; 2]) -> Emitted {
        let (slow, mut back) = (self.unit.a.create_label(), self.unit.a.create_label());
        let held = self.held.is_some();
        if held || special.has_rare() {
            self.late.push(Late::Slow { op, label: slow, back, apart: self.apart });
        }
        if held {
            // The register of what is held is needed here.
            self.unit.a.jmp(slow)?;
            return self.unit.place(&mut back);
        }
        if let Special::Dividend { ftz } = special {
            self.dividends(op, ftz, sources)?;
            return self.put_special(op, d, Some((slow, &mut back)));
        }
        let of = match special {
            Special::Div { .. } | Special::Divisor => sources[1],
            _ => sources[0],
        };
        let table = &coefficients(special);
        let [first, second] = [self.number(op, special, of, 0)?, self.number(op, special, of, 1)?];
        let numbers = [first, second].map(|register| ZMM[usize::from(register)]);
        self.squares(table, numbers)?;
        for (part, n) in numbers.into_iter().enumerate() {
            self.interpolated(table, n, part)?;
            match special {
                Special::Rcp | Special::Divisor | Special::Dividend { .. } => {
                    self.finish_reciprocal(op, of, part)?
                }
                Special::Div { ftz } => {
                    self.finish_reciprocal(op, of, part)?;
                    self.finish_quotient(op, ftz, sources[0], part)?;
                }
                Special::Rsqrt | Special::Sqrt => self.finish_root(op, special, of, part)?,
                Special::Ex2 { ftz } => self.finish_exponential(op, ftz, of, (n, part))?,
                Special::Lg2 => self.finish_logarithm(op, of, part)?,
                Special::Sin | Special::Cos => self.finish_sine(op, special, of, (n, part))?,
                Special::Tanh => self.finish_tangent(op, of, part)?,
            }
        }
        let rare = special.has_rare().then_some((slow, &mut back));
        self.put_special(op, d, rare)
    }

    /// Writes a result. If a lane has a rare input, the interpreter makes it.
    fn put_special(&mut self, op: usize, d: Slot, rare: Option<(CodeLabel, &mut CodeLabel)>) -> Emitted {
        let [first, second] = RARE;
        if let Some((slow, _)) = rare {
            if self.masked {
                self.unit.a.kandw(first, first, k6)?;
                self.unit.a.kandw(second, second, k7)?;
            }
            self.unit.a.kortestw(first, second)?;
            self.unit.a.jnz(slow)?;
        }
        self.put(op, d, 0, 3)?;
        self.put(op, d, 1, 4)?;
        match rare {
            Some((_, back)) => self.unit.place(back),
            None => Ok(()),
        }
    }

    /// Dividends: they are scaled only where divisors are rare.
    fn dividends(&mut self, op: usize, ftz: bool, [a, b]: [Slot; 2]) -> Emitted {
        let [exponent, least, most, one] =
            [EXPONENT, LEAST, 251 << 23, 0x3f80_0000].map(|word| self.unit.word(word));
        for part in 0..2 {
            let by = self.input(op, b, part)?;
            self.unit.a.vpandd(zmm6, by, exponent)?;
            self.unit.a.vpsubd(zmm6, zmm6, least)?;
            self.unit.a.vpcmpud(RARE[part], zmm6, most, 6)?;
            let x = self.input(op, a, part)?;
            self.unit.a.vmulps(RESULT[part], x, one)?;
            if ftz {
                self.unit.a.vfpclassps(k1, x, 0x20)?;
                self.unit.a.korw(RARE[part], RARE[part], k1)?;
            }
        }
        Ok(())
    }

    /// The number whose low bits are the position in a segment, and the bits above them the segment: a register.
    fn number(&mut self, op: usize, special: Special, of: Slot, part: usize) -> Emitted<u8> {
        let own = NUMBER[part];
        let x = self.register(op, of, part, own, true)?;
        let (n, x) = (ZMM[usize::from(own)], ZMM[usize::from(x)]);
        match special {
            Special::Ex2 { ftz } => self.fixed_exponent(ftz, n, x)?,
            Special::Sin | Special::Cos => self.fixed_angle(special, n, x)?,
            Special::Tanh => self.position_of_tangent(n, x)?,
            _ => {
                let same = (0..32u8).find(|&register| ZMM[usize::from(register)] == x);
                return Ok(same.unwrap_or(own));
            }
        }
        Ok(own)
    }

    /// An exponent in fixed point with 23 bits after the point. Negative numbers that are not whole are complemented.
    fn fixed_exponent(&mut self, ftz: bool, n: AsmRegisterZmm, x: AsmRegisterZmm) -> Emitted {
        let [most, least, half, scale] =
            [128f32, -126.0, 0.5, 8_388_608.0].map(|value| self.unit.word(value.to_bits()));
        let (ones, fraction) = (self.unit.word(u32::MAX), self.unit.word(FRACTION));
        let a = &mut self.unit.a;
        a.vmovaps(zmm2, most)?;
        a.vmovaps(zmm3, least)?;
        match ftz {
            true => a.vminps(n, zmm2, x)?,
            false => {
                // A result that may be subnormal is the square of the root's.
                a.vcmpps(k1, x, zmm3, 0x11)?;
                a.vminps(n, zmm2, x)?;
                a.vmulps(n.k1(), n, half)?;
            }
        }
        a.vmaxps(n, zmm3, n)?;
        a.vmulps(n, n, scale)?;
        a.vcvttps2dq(n, n)?;
        a.vpmovd2m(k1, n)?;
        a.vptestmd(k1.k1(), n, fraction)?;
        a.vpaddd(n.k1(), n, ones)
    }

    /// An angle's quarter turn in two bits, and its place in that in 23 bits, from the other end in odd quarters.
    fn fixed_angle(&mut self, special: Special, n: AsmRegisterZmm, x: AsmRegisterZmm) -> Emitted {
        let [turn, scale] = [0.159_154_94f32, 33_554_432.0].map(|value| self.unit.word(value.to_bits()));
        let [magnitude, quarter, fraction] = [SIGN - 1, 1 << 23, FRACTION].map(|word| self.unit.word(word));
        let a = &mut self.unit.a;
        a.vpandd(n, x, magnitude)?;
        a.vmovaps(zmm2, turn)?;
        a.vmulps(n, n, zmm2.rz_sae())?;
        // The fraction.
        a.vreduceps(n, n, 3)?;
        a.vmulps(n, n, scale)?;
        a.vcvttps2dq(n, n)?;
        if special == Special::Cos {
            a.vpaddd(n, n, quarter)?;
        }
        a.vptestmd(k1, n, quarter)?;
        a.vpxord(n.k1(), n, fraction)
    }

    /// The segment of a hyperbolic tangent, and above it the position: each power of two has its own segments.
    fn position_of_tangent(&mut self, n: AsmRegisterZmm, x: AsmRegisterZmm) -> Emitted {
        let [shifts, firsts] = [|range: Range| 15 - range.bits, |range: Range| range.first << 17]
            .map(|of: fn(Range) -> u32| self.unit.words(by_exponent(of)));
        let a = &mut self.unit.a;
        a.vpsrld(zmm2, x, 23)?;
        a.vpslld(n, x, 9)?;
        a.vpermd(zmm3, zmm2, shifts)?;
        a.vpermd(zmm2, zmm2, firsts)?;
        a.vpsrlvd(n, n, zmm3)?;
        a.vpaddd(n, n, zmm2)
    }

    /// The squares of positions, in the lower halves of words, and the positions in the upper ones: in the registers of
    /// results.
    fn squares(&mut self, table: &Coefficients, numbers: [AsmRegisterZmm; 2]) -> Emitted {
        let low = self.unit.word(0xffff);
        let mut twice = |word: u32| self.unit.word(word << 16 | word);
        let (byte, top) = (twice(0xff), twice(0x8000));
        // Rows of a squarer that leaves out what is worth less than the last bit. In two neighbouring rows only the lower
        // one has bits to lose.
        let rows = [(0xc000, 0xffff), (0x3000, 0xfff8), (0x0c00, 0xffe0), (0x0200, 0xffff)]
            .map(|(factor, kept)| (twice(factor), (kept != 0xffff).then(|| twice(kept))));
        let a = &mut self.unit.a;
        for (to, n) in [zmm5, zmm6].into_iter().zip(numbers) {
            match table.odd {
                Some(_) => {
                    a.vpsrld(to, n, 1)?;
                    a.vpandd(to, to, low)?;
                }
                None => a.vpandd(to, n, low)?,
            }
        }
        a.vpackusdw(zmm2, zmm5, zmm6)?;
        a.vpsrlw(zmm3, zmm2, 1)?;
        a.vpandd(zmm4, zmm3, byte)?;
        a.vpaddw(zmm4, zmm4, zmm3)?;
        for (row, (factor, kept)) in rows.into_iter().enumerate() {
            let to = if row == 0 { zmm5 } else { zmm6 };
            a.vpandd(to, zmm2, factor)?;
            match kept {
                Some(kept) => {
                    a.vpandd(zmm3, zmm4, kept)?;
                    a.vpmulhuw(to, to, zmm3)?;
                }
                None => a.vpmulhuw(to, to, zmm4)?,
            }
            if row != 0 {
                a.vpaddw(zmm5, zmm5, zmm6)?;
            }
        }
        a.vpxord(zmm2, zmm2, top)?;
        a.vpunpcklwd(RESULT[0], zmm5, zmm2)?;
        a.vpunpckhwd(RESULT[1], zmm5, zmm2)
    }

    /// Words of a table by the indices in `zmm5`, in `zmm2`. `k1` and `k2` have the bits of the indices that a
    /// permutation of two registers does not look at.
    fn look_up(&mut self, table: &[u32]) -> Emitted {
        let words: Vec<AsmMemoryOperand> = table
            .chunks_exact(16)
            .map(|words| self.unit.words(std::array::from_fn(|n| words.get(n).copied().unwrap_or(0))))
            .collect();
        let a = &mut self.unit.a;
        let to = [zmm2, zmm6, zmm6, zmm7];
        for (at, pair) in words.chunks_exact(2).enumerate() {
            a.vmovdqa64(to[at], pair[0])?;
            a.vpermt2d(to[at], zmm5, pair[1])?;
            match at {
                1 => a.vmovdqa32(zmm2.k1(), zmm6)?,
                3 => {
                    a.vmovdqa32(zmm6.k1(), zmm7)?;
                    a.vmovdqa32(zmm2.k2(), zmm6)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The function in its segment. The result is a significand; of functions with wide sums, it is the sum less what is
    /// in `zmm2`, in units of 2^-13 of that.
    fn interpolated(&mut self, table: &Coefficients, n: AsmRegisterZmm, part: usize) -> Emitted {
        let r = RESULT[part];
        let [one, lower, upper, two] = [1, 32, 64, 1 << 16].map(|word| self.unit.word(word));
        let (bias, last) = (self.unit.word(table.bias), if table.odd.is_some() { 17 } else { 16 });
        let a = &mut self.unit.a;
        a.vpsrld(zmm5, n, last)?;
        a.vptestmd(k1, zmm5, lower)?;
        if table.products.len() > 64 {
            a.vptestmd(k2, zmm5, upper)?;
        }
        self.look_up(&table.products)?;
        let a = &mut self.unit.a;
        a.vpmaddwd(r, r, zmm2)?;
        if let Some(rounds_up) = table.odd {
            a.vptestmd(k3, n, one)?;
            if rounds_up {
                a.vpaddd(zmm2, zmm2, two)?;
            }
            a.vpsrad(zmm2, zmm2, 17)?;
            a.vpaddd(r.k3(), r, zmm2)?;
        }
        if table.bias != 0 {
            a.vpaddd(r, r, bias)?;
        }
        self.look_up(&table.constants)?;
        self.add_multiple(table, n, r)
    }

    /// Adds the multiple of the position that the products lack.
    fn add_multiple(&mut self, table: &Coefficients, n: AsmRegisterZmm, r: AsmRegisterZmm) -> Emitted {
        let [position, low, seven, fifteen, sign] =
            [POSITION, 0xffff, 7, 15, SIGN].map(|word| self.unit.word(word));
        let a = &mut self.unit.a;
        if let Multiple::OfSegment = table.multiple {
            a.vpandd(zmm6, zmm2, seven)?;
            a.vpandd(zmm7, n, position)?;
            a.vpmulld(zmm6, zmm6, zmm7)?;
            a.vpslld(zmm6, zmm6, 2)?;
            a.vpsrad(zmm2, zmm2, 3)?;
            return a.vpaddd(zmm2, zmm2, zmm6);
        }
        if let Multiple::Scaled = table.multiple {
            a.vpslld(zmm6, n, 15)?;
            a.vpxord(zmm6, zmm6, sign)?;
            a.vpsrad(zmm6, zmm6, 1)?;
            a.vpaddd(r, r, zmm6)?;
            a.vpandd(zmm6, zmm2, fifteen)?;
            a.vpsravd(r, r, zmm6)?;
            a.vpsrld(zmm2, zmm2, 4)?;
            return a.vpaddd(r, r, zmm2);
        }
        a.vpsrad(r, r, 13)?;
        a.vpaddd(r, r, zmm2)?;
        match table.multiple {
            Multiple::LessTwoOfEven => {
                a.vpsrld(r, r, 2)?;
                a.vpandd(zmm6, n, low)?;
                a.vpsubd(r, r, zmm6)
            }
            Multiple::LessTwo => {
                a.vpandd(zmm6, n, position)?;
                a.vpaddd(zmm6, zmm6, zmm6)?;
                a.vpsubd(r, r, zmm6)?;
                a.vpsrld(r, r, 2)
            }
            _ => {
                a.vpsrld(r, r, 2)?;
                a.vpandd(zmm6, n, position)?;
                a.vpaddd(r, r, zmm6)
            }
        }
    }

    /// The input again.
    fn input(&mut self, op: usize, of: Slot, part: usize) -> Emitted<AsmRegisterZmm> {
        Ok(ZMM[usize::from(self.register(op, of, part, 5, true)?)])
    }

    /// The exponent and the sign of a reciprocal.
    fn finish_reciprocal(&mut self, op: usize, of: Slot, part: usize) -> Emitted {
        let r = RESULT[part];
        let x = self.input(op, of, part)?;
        let [exponent, sign, first, most] =
            [EXPONENT, SIGN, 252 << 23, 251 << 23].map(|word| self.unit.word(word));
        let a = &mut self.unit.a;
        a.vpandd(zmm6, x, exponent)?;
        a.vmovdqa64(zmm2, first)?;
        a.vpsubd(zmm2, zmm2, zmm6)?;
        a.vpcmpud(RARE[part], zmm2, most, 6)?;
        a.vpaddd(r, r, zmm2)?;
        // r | x & sign
        a.vpternlogd(r, x, sign, 0xf8)
    }

    /// The product of a dividend and the reciprocal.
    fn finish_quotient(&mut self, op: usize, ftz: bool, dividend: Slot, part: usize) -> Emitted {
        let (r, rare) = (RESULT[part], RARE[part]);
        let x = self.input(op, dividend, part)?;
        let [nan, magnitude, ones, least] = [NAN, SIGN - 1, u32::MAX, LEAST].map(|word| self.unit.word(word));
        let a = &mut self.unit.a;
        a.vmulps(r, r, x)?;
        if ftz {
            // Subnormal numbers, and the least normal one, which may have been one.
            a.vfpclassps(k1, x, 0x20)?;
            a.korw(rare, rare, k1)?;
            a.vpandd(zmm6, r, magnitude)?;
            a.vpaddd(zmm6, zmm6, ones)?;
            a.vpcmpud(k1, zmm6, least, 1)?;
            a.korw(rare, rare, k1)?;
        }
        a.vcmpps(k1, r, r, 3)?;
        a.vmovdqa32(r.k1(), nan)
    }

    /// The exponent of a root or its reciprocal.
    fn finish_root(&mut self, op: usize, special: Special, of: Slot, part: usize) -> Emitted {
        let r = RESULT[part];
        let x = self.input(op, of, part)?;
        let [one, least, range, lower, exponent] =
            [1, LEAST, 0x7f00_0000, 0xff_ffff, EXPONENT].map(|word| self.unit.word(word));
        let [up, down] = [63 << 23, 188 << 23].map(|word| self.unit.word(word));
        let a = &mut self.unit.a;
        a.vpsubd(zmm6, x, least)?;
        a.vpcmpud(RARE[part], zmm6, range, 5)?;
        if special == Special::Rsqrt {
            // Powers of four are exact.
            a.vptestnmd(k1, zmm6, lower)?;
            a.vpaddd(r.k1(), r, one)?;
            a.vpaddd(r, r, down)?;
        } else {
            a.vpsrld(r, r, 1)?;
            a.vpaddd(r, r, up)?;
        }
        a.vpsrld(zmm6, zmm6, 1)?;
        a.vpandd(zmm6, zmm6, exponent)?;
        match special {
            Special::Rsqrt => a.vpsubd(r, r, zmm6),
            _ => a.vpaddd(r, r, zmm6),
        }
    }

    /// The exponent of a power of two.
    fn finish_exponential(
        &mut self,
        op: usize,
        ftz: bool,
        of: Slot,
        (n, part): (AsmRegisterZmm, usize),
    ) -> Emitted {
        let r = RESULT[part];
        let x = self.input(op, of, part)?;
        let [whole, bias, least, nan] =
            [!FRACTION, 126 << 23, (-126f32).to_bits(), NAN].map(|word| self.unit.word(word));
        let a = &mut self.unit.a;
        a.vpandd(zmm6, n, whole)?;
        a.vpaddd(r, r, bias)?;
        a.vpaddd(r, r, zmm6)?;
        a.vcmpps(k1, x, least, 0x11)?;
        match ftz {
            true => a.vpxord(r.k1(), r, r)?,
            false => a.vmulps(r.k1(), r, r)?,
        }
        a.vcmpps(k1, x, x, 3)?;
        a.vmovdqa32(r.k1(), nan)
    }

    /// The sum of an exponent and the logarithm of a significand. Magnitudes below 1 are taken with eight more bits, and
    /// those below 2^-8 with all.
    fn finish_logarithm(&mut self, op: usize, of: Slot, part: usize) -> Emitted {
        // The number is not needed any more.
        let (r, all) = (RESULT[part], ZMM[usize::from(NUMBER[part])]);
        let x = self.input(op, of, part)?;
        let [one, exponent, sign, least, range] =
            [0x3f80_0000, EXPONENT, SIGN, LEAST, 0x7f00_0000].map(|word| self.unit.word(word));
        let [coarse, fine, whole] =
            [127 - 23, 127 - 31, 127 - 36].map(|exponent: u32| self.unit.word(exponent << 23));
        let a = &mut self.unit.a;
        a.vpsrad(zmm6, r, 13)?;
        a.vpaddd(zmm6, zmm6, zmm2)?;
        a.vpsrad(zmm6, zmm6, 3)?;
        a.vpandd(zmm7, x, exponent)?;
        a.vpsubd(zmm7, zmm7, one)?;
        a.vpaddd(zmm6, zmm6, zmm7)?;
        a.vpsrad(zmm7, zmm6, 31)?;
        a.vpsrad(all, r, 3)?;
        a.vpsrad(r, r, 8)?;
        a.vpslld(zmm2, zmm2, 5)?;
        a.vpaddd(r, r, zmm2)?;
        a.vpslld(zmm2, zmm2, 5)?;
        a.vpaddd(all, all, zmm2)?;
        a.vpslld(zmm2, x, 8)?;
        // r ^ !zmm2 & sign
        a.vpternlogd(r, zmm2, sign, 0xd2)?;
        // Negative sums are complemented.
        for sum in [zmm6, r, all] {
            a.vpxord(sum, sum, zmm7)?;
        }
        a.vpcmpud(k1, zmm6, least, 1)?;
        a.vpcmpud(k2.k1(), r, least, 1)?;
        for sum in [zmm6, r, all] {
            a.vcvtdq2ps(sum, sum.rz_sae())?;
        }
        a.vmulps(zmm6, zmm6, coarse)?;
        a.vmulps(zmm6.k1(), r, fine)?;
        a.vmulps(zmm6.k2(), all, whole)?;
        // zmm6 | zmm7 & sign
        a.vpternlogd(zmm6, zmm7, sign, 0xf8)?;
        a.vpcmpd(k1, x, one, 4)?;
        a.vmovdqa32(r.k1().z(), zmm6)?;
        a.vpsubd(zmm7, x, least)?;
        a.vpcmpud(RARE[part], zmm7, range, 5)
    }

    /// The sine of an angle within a quarter turn, with the sign of the quarter. Small ones are taken with eight more
    /// bits.
    fn finish_sine(
        &mut self,
        op: usize,
        special: Special,
        of: Slot,
        (n, part): (AsmRegisterZmm, usize),
    ) -> Emitted {
        let (r, rare) = (RESULT[part], RARE[part]);
        let x = self.input(op, of, part)?;
        let [least, quarter, fraction, one, sign, nan] =
            [LEAST, 1 << 23, FRACTION, 0x3f80_0000, SIGN, NAN].map(|word| self.unit.word(word));
        let [coarse, fine] = [127 - 26, 127 - 34].map(|exponent: u32| self.unit.word(exponent << 23));
        let a = &mut self.unit.a;
        a.vpsrad(zmm6, r, 13)?;
        a.vpaddd(zmm6, zmm6, zmm2)?;
        a.vpsrad(r, r, 5)?;
        a.vpslld(zmm2, zmm2, 8)?;
        a.vpaddd(r, r, zmm2)?;
        a.vpcmpud(k1, zmm6, least, 1)?;
        a.vpcmpud(rare.k1(), r, least, 1)?;
        a.vcvtdq2ps(zmm6, zmm6.rz_sae())?;
        a.vcvtdq2ps(r, r.rz_sae())?;
        a.vmulps(zmm6, zmm6, coarse)?;
        a.vmulps(zmm6.k1(), r, fine)?;
        // Whole quarters are exact.
        a.vptestmd(k2, n, quarter)?;
        a.vmovdqa64(zmm7, n)?;
        a.vpxord(zmm7.k2(), n, fraction)?;
        a.vptestnmd(k3, zmm7, fraction)?;
        a.vpxord(zmm6.k3(), zmm6, zmm6)?;
        a.kandnw(rare, k3, rare)?;
        a.kandw(k2, k2, k3)?;
        a.vmovdqa32(zmm6.k2(), one)?;
        a.vpslld(zmm7, n, 7)?;
        if special == Special::Sin {
            a.vpxord(zmm7, zmm7, x)?;
        }
        // zmm6 ^ zmm7 & sign
        a.vpternlogd(zmm6, zmm7, sign, 0x78)?;
        a.vfpclassps(k1, x, 0x99)?;
        a.vmovdqa64(r, zmm6)?;
        a.vmovdqa32(r.k1(), nan)
    }

    /// The hyperbolic tangent with its sign: the number itself if that is small, and 1 if it is large.
    fn finish_tangent(&mut self, op: usize, of: Slot, part: usize) -> Emitted {
        let r = RESULT[part];
        let x = self.input(op, of, part)?;
        let [magnitude, small, large, infinity, one, sign, nan] =
            [SIGN - 1, 0x3b80_0000, 0x4100_0000, EXPONENT, 0x3f80_0000, SIGN, NAN]
                .map(|word| self.unit.word(word));
        let scales = self.unit.words(by_exponent(|range| (127 - 26 - range.scale) << 23));
        let a = &mut self.unit.a;
        a.vcvtdq2ps(r, r.rz_sae())?;
        a.vpsrld(zmm6, x, 23)?;
        a.vpermd(zmm6, zmm6, scales)?;
        a.vmulps(r, r, zmm6)?;
        a.vpandd(zmm6, x, magnitude)?;
        a.vpcmpud(k1, zmm6, small, 1)?;
        a.vmovdqa32(r.k1(), zmm6)?;
        a.vpcmpud(k1, zmm6, large, 5)?;
        a.vmovdqa32(r.k1(), one)?;
        a.vpternlogd(r, x, sign, 0xf8)?;
        a.vpcmpud(k1, zmm6, infinity, 6)?;
        a.vmovdqa32(r.k1(), nan)
    }
}
