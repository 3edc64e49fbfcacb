//! The ends of special functions: from sums of products and constants to results.

use super::interpolate::{FINE, rounding};
use super::special::{
    CONSTANT, EXPONENT, FRACTION, Inputs, LEAST, NAN, NUMBER, RARE, RARE_WORDS, RESULT, SIGN, UNUSUAL,
};
use super::{Emitted, Emitter, ZMM};
use crate::assembler::*;
use crate::decode::Special;
use crate::tables::{by_exponent, coefficients};
use softwarp_ir::Slot;

const ONE: u32 = 0x3f80_0000;

/// The bits of an exponent that differ where 32 is taken off one from 128 to 159.
const LESS_BY_32: u32 = 0xe0 << 23;

/// The lesser magnitude of two numbers, by `vrangeps`.
const LEAST_MAGNITUDE: u32 = 0b1010;

/// Both parts of a row: the input, and the numbers that positions come from.
type Row = (Slot, [AsmRegisterZmm; 2]);

/// 2^-n
fn power(n: u32) -> u32 {
    (127 - n) << 23
}

impl Emitter<'_> {
    /// A reciprocal: the exponent is less that of the number, and the sign is its sign.
    pub(super) fn finish_reciprocal(&mut self, op: usize, of: Slot) -> Emitted {
        let [exponent, sign, first, most] =
            [EXPONENT, SIGN, 252 << 23, 251 << 23].map(|word| self.unit.word(word));
        for (part, r) in RESULT.into_iter().enumerate() {
            let x = self.input(op, of, part)?;
            let masked = self.masked;
            let a = &mut self.unit.a;
            a.vpsrad(r, r, 2)?;
            a.vpxord(zmm6, x, sign)?;
            a.vpsubd(r, r, zmm6)?;
            if masked {
                a.vpandd(zmm6, x, exponent)?;
                a.vmovdqa64(zmm2, first)?;
                a.vpsubd(zmm6, zmm2, zmm6)?;
                a.vpcmpud(RARE[part], zmm6, most, 6)?;
            }
        }
        Ok(())
    }

    /// The product of a dividend and the reciprocal.
    pub(super) fn finish_quotient(&mut self, op: usize, ftz: bool, dividend: Slot) -> Emitted {
        let [nan, magnitude, ones, least] = [NAN, SIGN - 1, u32::MAX, LEAST].map(|word| self.unit.word(word));
        for (part, r) in RESULT.into_iter().enumerate() {
            let rare = RARE[part];
            let x = self.input(op, dividend, part)?;
            let masked = self.masked;
            let a = &mut self.unit.a;
            a.vmulps(r, r, x)?;
            if ftz {
                // Subnormal numbers, and the least normal one, which may have been one.
                if masked {
                    a.vfpclassps(k1, x, 0x20)?;
                    a.korw(rare, rare, k1)?;
                } else {
                    a.vfpclassps(rare, x, 0x20)?;
                }
                a.vpandd(zmm6, r, magnitude)?;
                a.vpaddd(zmm6, zmm6, ones)?;
                a.vpcmpud(k1, zmm6, least, 1)?;
                a.korw(rare, rare, k1)?;
            }
            a.vcmpps(k1, r, r, 3)?;
            a.vmovdqa32(r.k1(), nan)?;
        }
        Ok(())
    }

    /// A root or its reciprocal: the number less the least normal one has twice the exponent that is added or taken off,
    /// and below it what positions come from.
    pub(super) fn finish_root(&mut self, op: usize, special: Special, of: Slot) -> Emitted {
        let reciprocal = special == Special::Rsqrt;
        let less = if reciprocal { LEAST.wrapping_add(188 << 24) } else { LEAST.wrapping_sub(63 << 24) };
        let [two, less, lower, least, range] =
            [2, less, 0xff_ffff, LEAST, 0x7f00_0000].map(|word| self.unit.word(word));
        for (part, r) in RESULT.into_iter().enumerate() {
            let x = self.input(op, of, part)?;
            let (masked, classifies) = (self.masked, self.classifies());
            let a = &mut self.unit.a;
            a.vpsubd(zmm6, x, less)?;
            if reciprocal {
                // Powers of four are exact.
                a.vptestnmd(k1, zmm6, lower)?;
                a.vpsubd(zmm6.k1(), zmm6, two)?;
                a.vpsrld(r, r, 1)?;
                a.vpsubd(r, r, zmm6)?;
                a.vpsrld(r, r, 1)?;
            } else {
                a.vpsrad(r, r, 2)?;
                a.vpaddd(r, r, zmm6)?;
                a.vpsrld(r, r, 1)?;
            }
            if classifies {
                a.vfpclassps(RARE[part], x, UNUSUAL)?;
            } else if masked {
                a.vpsubd(zmm6, x, least)?;
                a.vpcmpud(RARE[part], zmm6, range, 5)?;
            }
        }
        Ok(())
    }

    /// A power of two: the number has the exponent.
    pub(super) fn finish_exponential(
        &mut self,
        op: usize,
        ftz: bool,
        inputs: Inputs,
        (of, numbers): Row,
    ) -> Emitted {
        let [lowest, range] = [(-126i32 << 23) as u32, 254 << 23].map(|word| self.unit.word(word));
        let [least, nan] = [(-126f32).to_bits(), NAN].map(|word| self.unit.word(word));
        for (r, n) in RESULT.into_iter().zip(numbers) {
            self.unit.a.vpsrld(r, r, 2)?;
            self.unit.a.vpaddd(r, r, n)?;
        }
        match inputs {
            // Numbers out of the range give a wrong sign or exponent.
            Inputs::Ordinary if self.classifies() => {
                for (rare, r) in RARE.into_iter().zip(RESULT) {
                    self.unit.a.vfpclassps(rare, r, UNUSUAL)?;
                }
            }
            Inputs::Ordinary => {
                let (masked, a) = (self.masked, &mut self.unit.a);
                let [first, second] = [zmm6, zmm7];
                a.vpsubd(first, numbers[0], lowest)?;
                a.vpsubd(second, numbers[1], lowest)?;
                if masked {
                    a.vpcmpud(RARE[1], second, range, 5)?;
                } else {
                    a.vpmaxud(first, first, second)?;
                }
                a.vpcmpud(RARE[0], first, range, 5)?;
            }
            Inputs::All => {
                for (part, r) in RESULT.into_iter().enumerate() {
                    let x = self.input(op, of, part)?;
                    let a = &mut self.unit.a;
                    a.vcmpps(k1, x, least, 0x11)?;
                    match ftz {
                        true => a.vpxord(r.k1(), r, r)?,
                        false => a.vmulps(r.k1(), r, r)?,
                    }
                    a.vcmpps(k1, x, x, 3)?;
                    a.vmovdqa32(r.k1(), nan)?;
                }
            }
        }
        Ok(())
    }

    /// The sum of an exponent and the logarithm of a significand. Magnitudes below 1 are taken with nine more bits, and
    /// those below 2^-9, which are not ordinary, with all.
    pub(super) fn finish_logarithm(&mut self, op: usize, inputs: Inputs, (of, numbers): Row) -> Emitted {
        if inputs == Inputs::Ordinary && self.classifies() {
            return self.finish_ordinary_logarithm(numbers);
        }
        let [one, exponent, sign, least, range] =
            [ONE, EXPONENT, SIGN, LEAST, 0x7f00_0000].map(|word| self.unit.word(word));
        let [coarse, fine, all] = [power(23), power(32), power(36)].map(|word| self.unit.word(word));
        let rounded = self.unit.word(rounding(false));
        let subtracts_sums = self.subtracts_sums(coefficients(Special::Lg2));
        let general = inputs == Inputs::All;
        for (part, ((r, constant), n)) in RESULT.into_iter().zip(CONSTANT).zip(numbers).enumerate() {
            let rare = RARE[part];
            let a = &mut self.unit.a;
            a.vpslld(zmm6, n, 9)?;
            a.vpaddd(constant, constant, zmm6)?;
            a.vpsrad(zmm6, r, FINE)?;
            match subtracts_sums {
                true => a.vpsubd(zmm6, constant, zmm6)?,
                false => a.vpaddd(zmm6, zmm6, constant)?,
            }
            if general {
                a.vpslld(constant, constant, FINE)?;
                match subtracts_sums {
                    true => {
                        a.vpsubd(constant, constant, r)?;
                        a.vpaddd(constant, constant, rounded)?;
                    }
                    false => a.vpaddd(constant, constant, r)?,
                }
            }
            a.vmovdqa64(r, zmm6)?;
            // The number is not needed any more.
            let negative = ZMM[usize::from(NUMBER[part])];
            let x = self.input(op, of, part)?;
            let masked = self.masked;
            let a = &mut self.unit.a;
            a.vpandd(zmm6, x, exponent)?;
            a.vpsubd(zmm6, zmm6, one)?;
            a.vpsrld(negative, r, 9)?;
            a.vpaddd(zmm6, zmm6, negative)?;
            a.vpsrad(negative, zmm6, 31)?;
            // Negative sums are complemented.
            a.vpxord(zmm6, zmm6, negative)?;
            a.vpcmpud(k1, zmm6, least, 1)?;
            a.vpxord(zmm6.k1(), r, negative)?;
            a.vpcmpud(if general { k2.k1() } else { rare.k1() }, zmm6, least, 1)?;
            a.vcvtudq2ps(zmm6, zmm6.rz_sae())?;
            a.vmovdqa64(r, coarse)?;
            a.vmovdqa32(r.k1(), fine)?;
            a.vmulps(r, zmm6, r)?;
            if general {
                a.vpsrad(constant, constant, 1)?;
                a.vpxord(constant, constant, negative)?;
                a.vcvtdq2ps(constant, constant.rz_sae())?;
                a.vmulps(r.k2(), constant, all)?;
            }
            // r | negative & sign
            a.vpternlogd(r, negative, sign, 0xf8)?;
            if general {
                a.vpcmpd(k1, x, one, 4)?;
                a.vmovdqa32(r.k1().z(), r)?;
            }
            if general || masked {
                a.vpsubd(zmm6, x, least)?;
                a.vpcmpud(if general { rare } else { k1 }, zmm6, range, 5)?;
            }
            if masked && !general {
                a.korw(rare, rare, k1)?;
            }
        }
        Ok(())
    }

    /// Finishes logarithms of ordinary numbers with AVX-512: the sum has 32 bits after the point, and is cut to f32 before and after
    /// the exponent is added, both times towards zero. Of negative results, all bits of the sum are complemented.
    fn finish_ordinary_logarithm(&mut self, numbers: [AsmRegisterZmm; 2]) -> Emitted {
        let [one, ones, limit] = [ONE, u32::MAX, power(9)].map(|word| self.unit.word(word));
        let [scale, negative] = [power(32), power(32) | SIGN].map(|word| self.unit.word(word));
        let subtracts_sums = self.subtracts_sums(coefficients(Special::Lg2));
        let a = &mut self.unit.a;
        for ((r, constant), x) in RESULT.into_iter().zip(CONSTANT).zip(numbers) {
            a.vpslld(zmm6, x, 9)?;
            a.vpaddd(constant, constant, zmm6)?;
            a.vpsrad(r, r, FINE)?;
            match subtracts_sums {
                true => a.vpsubd(r, constant, r)?,
                false => a.vpaddd(r, r, constant)?,
            }
            a.vpcmpud(k1, x, one, 1)?;
            a.vpxord(r.k1(), r, ones)?;
            a.vcvtudq2ps(r, r.rz_sae())?;
            a.vgetexpps(zmm6, x)?;
            a.vaddps(zmm6.k1(), zmm6, one)?;
            a.vmovaps(constant, scale)?;
            a.vmovdqa32(constant.k1(), negative)?;
            a.vfmadd213ps(r, constant, zmm6.rz_sae())?;
        }
        // Sums of numbers near to 1 lack bits.
        match self.masked {
            true => {
                for ((rare, r), x) in RARE.into_iter().zip(RESULT).zip(numbers) {
                    let a = &mut self.unit.a;
                    a.vfpclassps(rare, x, UNUSUAL)?;
                    a.vrangeps(zmm6, r, r, LEAST_MAGNITUDE)?;
                    a.vpcmpud(k1, zmm6, limit, 1)?;
                    a.korw(rare, rare, k1)?;
                }
            }
            false => {
                a.vfpclassps(RARE[0], numbers[0], UNUSUAL)?;
                a.vfpclassps(RARE[1], numbers[1], UNUSUAL)?;
                a.vrangeps(zmm6, RESULT[0], RESULT[1], LEAST_MAGNITUDE)?;
                a.vpcmpud(RARE_WORDS, zmm6, limit, 1)?;
            }
        }
        Ok(())
    }

    /// The sine of an angle within a quarter turn, with the sign of the quarter. Ordinary ones are neither below 2^-9 nor
    /// so near to 1 that the sum has more than 32 bits; where an angle is a whole quarter, or could not be converted, it is
    /// one of both.
    pub(super) fn finish_ordinary_sine(
        &mut self,
        op: usize,
        special: Special,
        (of, numbers): Row,
    ) -> Emitted {
        let [least, sign, less] = [LEAST, SIGN, LESS_BY_32].map(|word| self.unit.word(word));
        let a = &mut self.unit.a;
        for ((r, constant), n) in RESULT.into_iter().zip(CONSTANT).zip(numbers) {
            a.vpslld(zmm6, n, 9)?;
            a.vpaddd(constant, constant, zmm6)?;
            a.vpsrad(r, r, 5)?;
            a.vpaddd(r, r, constant)?;
        }
        if self.masked {
            a.vpcmpud(RARE[0], RESULT[0], least, 1)?;
            a.vpcmpud(RARE[1], RESULT[1], least, 1)?;
        } else {
            a.vpminud(zmm6, RESULT[0], RESULT[1])?;
            a.vpcmpud(RARE[0], zmm6, least, 1)?;
        }
        for (part, (r, n)) in RESULT.into_iter().zip(numbers).enumerate() {
            let a = &mut self.unit.a;
            a.vcvtudq2ps(r, r.rz_sae())?;
            a.vpslld(zmm6, n, 7)?;
            if special == Special::Sin {
                let x = self.input(op, of, part)?;
                // (zmm6 ^ x) & sign
                self.unit.a.vpternlogd(zmm6, x, sign, 0x28)?;
                // r ^ zmm6 ^ less
                self.unit.a.vpternlogd(r, zmm6, less, 0x96)?;
            } else {
                a.vmovdqa64(zmm7, sign)?;
                // zmm6 & zmm7 | less
                a.vpternlogd(zmm6, zmm7, less, 0xea)?;
                a.vpxord(r, r, zmm6)?;
            }
        }
        Ok(())
    }

    /// The same for all inputs: small sines are taken with all bits.
    pub(super) fn finish_sine(&mut self, op: usize, special: Special, (of, numbers): Row) -> Emitted {
        let [least, half, quarter, fraction, one, sign, nan] =
            [LEAST, 1 << 22, 1 << 23, FRACTION, ONE, SIGN, NAN].map(|word| self.unit.word(word));
        let [coarse, fine] = [power(32), power(37)].map(|word| self.unit.word(word));
        for (part, ((r, constant), n)) in RESULT.into_iter().zip(CONSTANT).zip(numbers).enumerate() {
            let x = self.input(op, of, part)?;
            let a = &mut self.unit.a;
            a.vpslld(zmm6, n, 9)?;
            a.vpaddd(constant, constant, zmm6)?;
            a.vpsrad(zmm6, r, 5)?;
            a.vpaddd(zmm6, zmm6, constant)?;
            a.vpcmpud(k1, zmm6, least, 1)?;
            a.vpslld(constant, constant, 5)?;
            a.vpaddd(zmm6.k1(), r, constant)?;
            a.vcvtudq2ps(zmm6, zmm6.rz_sae())?;
            a.vmulps(r, zmm6, coarse)?;
            a.vmulps(r.k1(), zmm6, fine)?;
            // Sums of more than 32 bits.
            a.vptestmd(k1.k1(), n, half)?;
            a.vmovdqa32(r.k1(), one)?;
            // Whole quarters are exact.
            a.vptestmd(k2, n, quarter)?;
            a.vmovdqa64(zmm6, n)?;
            a.vpxord(zmm6.k2(), n, fraction)?;
            a.vptestnmd(k3, zmm6, fraction)?;
            a.vpxord(r.k3(), r, r)?;
            a.kandw(k2, k2, k3)?;
            a.vmovdqa32(r.k2(), one)?;
            a.vpslld(zmm6, n, 7)?;
            if special == Special::Sin {
                a.vpxord(zmm6, zmm6, x)?;
            }
            // r ^ zmm6 & sign
            a.vpternlogd(r, zmm6, sign, 0x78)?;
            a.vfpclassps(k1, x, 0x99)?;
            a.vmovdqa32(r.k1(), nan)?;
        }
        Ok(())
    }

    /// The hyperbolic tangent with its sign. Ordinary numbers are neither small, where it is the number itself, nor large,
    /// where it is 1.
    pub(super) fn finish_tangent(&mut self, op: usize, inputs: Inputs, of: Slot) -> Emitted {
        const SMALL: u32 = 0x3b80_0000;
        const LARGE: u32 = 0x4100_0000;
        let [magnitude, small, large, range, infinity, one, sign, nan, fifteen] =
            [SIGN - 1, SMALL, LARGE, LARGE - SMALL, EXPONENT, ONE, SIGN, NAN, 15]
                .map(|word| self.unit.word(word));
        let scales = self.unit.words(by_exponent(|range| power(26 + range.scale)));
        for (part, (r, constant)) in RESULT.into_iter().zip(CONSTANT).enumerate() {
            let x = self.input(op, of, part)?;
            let a = &mut self.unit.a;
            a.vpandd(zmm6, constant, fifteen)?;
            a.vpsravd(r, r, zmm6)?;
            a.vpsrld(constant, constant, 4)?;
            a.vpaddd(r, r, constant)?;
            a.vcvtdq2ps(r, r.rz_sae())?;
            a.vpsrld(zmm6, x, 23)?;
            a.vpermd(zmm6, zmm6, scales)?;
            a.vmulps(r, r, zmm6)?;
            a.vpandd(zmm6, x, magnitude)?;
            if inputs == Inputs::Ordinary {
                a.vpsubd(zmm6, zmm6, small)?;
                a.vpcmpud(RARE[part], zmm6, range, 5)?;
                a.vpternlogd(r, x, sign, 0xf8)?;
                continue;
            }
            a.vpcmpud(k1, zmm6, small, 1)?;
            a.vmovdqa32(r.k1(), zmm6)?;
            a.vpcmpud(k1, zmm6, large, 5)?;
            a.vmovdqa32(r.k1(), one)?;
            a.vpternlogd(r, x, sign, 0xf8)?;
            a.vpcmpud(k1, zmm6, infinity, 6)?;
            a.vmovdqa32(r.k1(), nan)?;
        }
        Ok(())
    }
}
