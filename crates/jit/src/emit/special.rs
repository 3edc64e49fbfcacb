//! Special functions of f32, to the bit those of the interpreter (`softwarp_units::alu::approx`).
//!
//! A function is a quadratic polynomial in each of 64 or 128 segments, in fixed point. A sum of products of 16-bit words
//! makes it (`vpmaddwd`): with q the position in the segment without its last bit, from −2^15 on, and s the square of the
//! position, it is `g·q + c2·s`, where g is half or an eighth of c1 less a multiple of 2^15. For that multiple the number
//! that the position comes from is added as a whole: what is above the position is taken off the constants.
//! Coefficients are found by permutations of registers (`vpermt2d`). The square is made of 32 words of 16 bits at once.
//!
//! Code in its place is for ordinary inputs. If an active lane has another one, code that stands outside of the blocks
//! does the whole row (`Special::has_general`), or the interpreter does.

use super::{Emitted, Emitter, Late, ZMM, field};
use crate::assembler::*;
use crate::context::Context;
use crate::decode::Special;
use crate::quotients::Reciprocal;
use crate::tables::{Coefficients, Range, by_exponent, coefficients};
use softwarp_ir::Slot;
use std::mem::offset_of;

/// Vector registers by what they hold: the number whose low bits are the position, part by part; the words of 32 bits
/// that become results; and others.
pub(super) const NUMBER: [u8; 2] = [0, 1];
pub(super) const RESULT: [AsmRegisterZmm; 2] = [zmm3, zmm4];
/// Constants of segments.
pub(super) const CONSTANT: [AsmRegisterZmm; 2] = [zmm5, zmm2];
/// Lanes that have an input for which the code is not.
pub(super) const RARE: [AsmRegisterK; 2] = [k4, k5];
/// Such lanes of both parts, in the order of packed words.
const RARE_WORDS: AsmRegisterK = k3;

pub(super) const SIGN: u32 = 1 << 31;
pub(super) const EXPONENT: u32 = 0x7f80_0000;
/// The least normal number.
pub(super) const LEAST: u32 = 1 << 23;
pub(super) const FRACTION: u32 = LEAST - 1;
pub(super) const NAN: u32 = 0x7fff_ffff;

/// The inputs that code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inputs {
    Ordinary,
    All,
}

/// Where lanes with other inputs are found.
#[derive(Clone, Copy)]
enum Found {
    /// In the first of two mask registers, or in both, part by part.
    First,
    Parts,
    /// In packed words, or there and part by part.
    Words,
    Everywhere,
}

/// A special function for all inputs, outside of the blocks.
#[derive(Clone, Copy)]
pub(crate) struct General {
    op: usize,
    special: Special,
    d: Slot,
    of: Slot,
    masked: bool,
    apart: Option<usize>,
    label: CodeLabel,
    back: CodeLabel,
}

impl Emitter<'_> {
    /// Emits a special function.
    pub(super) fn special(&mut self, op: usize, special: Special, d: Slot, sources: [Slot; 2]) -> Emitted {
        let (rare, mut back) = (self.unit.a.create_label(), self.unit.a.create_label());
        // The register of what is held is needed here.
        let held = self.held.is_some();
        let (masked, apart) = (self.masked, self.apart);
        self.late.push(match special.has_general() && !held {
            true => {
                Late::General(General { op, special, d, of: sources[0], masked, apart, label: rare, back })
            }
            false => Late::Slow { op, label: rare, back, apart },
        });
        if held {
            if self.reciprocals[op] == Reciprocal::Kept {
                self.unit.a.mov(dword_ptr(field!(rare_divisors)), -1)?;
            }
            self.unit.a.jmp(rare)?;
            return self.unit.place(&mut back);
        }
        if let Special::Dividend { ftz } = special {
            self.dividends(op, ftz, sources)?;
            self.leave_if(Found::Parts, rare)?;
        } else {
            self.function_of(op, special, Inputs::Ordinary, sources)?;
            self.leave_if(self.found(special), rare)?;
        }
        self.put(op, d, 0, 3)?;
        self.put(op, d, 1, 4)?;
        self.unit.place(&mut back)
    }

    /// Emits a special function for all inputs.
    pub(super) fn general(&mut self, general: General) -> Emitted {
        let General { op, special, d, of, masked, apart, mut label, back } = general;
        self.unit.place(&mut label)?;
        self.set_apart(apart);
        self.masked = masked;
        self.function_of(op, special, Inputs::All, [of; 2])?;
        if special == Special::Lg2 {
            let slow = self.unit.a.create_label();
            self.late.push(Late::Slow { op, label: slow, back, apart });
            self.leave_if(Found::Parts, slow)?;
        }
        self.put(op, d, 0, 3)?;
        self.put(op, d, 1, 4)?;
        self.set_apart(None);
        self.unit.a.jmp(back)
    }

    /// Where code for ordinary inputs leaves lanes with others.
    fn found(&self, special: Special) -> Found {
        match special {
            _ if self.masked => Found::Parts,
            Special::Rcp | Special::Divisor | Special::Rsqrt | Special::Sqrt => Found::Words,
            Special::Div { ftz: false } => Found::Words,
            Special::Div { ftz: true } | Special::Lg2 => Found::Everywhere,
            Special::Ex2 { .. } | Special::Sin | Special::Cos => Found::First,
            Special::Tanh | Special::Dividend { .. } => Found::Parts,
        }
    }

    /// Goes elsewhere if an active lane has another input.
    fn leave_if(&mut self, found: Found, to: CodeLabel) -> Emitted {
        let ([first, second], masked) = (RARE, self.masked);
        let a = &mut self.unit.a;
        match found {
            Found::First => a.kortestw(first, first)?,
            Found::Parts => {
                if masked {
                    a.kandw(first, first, k6)?;
                    a.kandw(second, second, k7)?;
                }
                a.kortestw(first, second)?;
            }
            Found::Words => a.kortestd(RARE_WORDS, RARE_WORDS)?,
            Found::Everywhere => {
                a.korw(first, first, second)?;
                a.kortestd(first, RARE_WORDS)?;
            }
        }
        a.jnz(to)
    }

    /// A function of both parts of a row.
    fn function_of(&mut self, op: usize, special: Special, inputs: Inputs, sources: [Slot; 2]) -> Emitted {
        let of = match special {
            Special::Div { ftz } if self.reciprocals[op] == Reciprocal::Again && !self.masked => {
                self.kept_reciprocals()?;
                return self.finish_quotient(op, ftz, sources[0]);
            }
            Special::Div { .. } | Special::Divisor => sources[1],
            _ => sources[0],
        };
        let first = self.number(op, (special, inputs), of, 0)?;
        let second = self.number(op, (special, inputs), of, 1)?;
        let numbers = [first, second].map(|register| ZMM[usize::from(register)]);
        self.sums(special, coefficients(special), numbers)?;
        match special {
            Special::Rcp | Special::Divisor | Special::Dividend { .. } => self.finish_reciprocal(op, of),
            Special::Div { ftz } => {
                self.finish_reciprocal(op, of)?;
                if self.reciprocals[op] == Reciprocal::Kept && !self.masked {
                    self.keep_reciprocals()?;
                }
                self.finish_quotient(op, ftz, sources[0])
            }
            Special::Rsqrt | Special::Sqrt => self.finish_root(op, special, of),
            Special::Ex2 { ftz } => self.finish_exponential(op, ftz, inputs, (of, numbers)),
            Special::Lg2 => self.finish_logarithm(op, inputs, (of, numbers)),
            Special::Sin | Special::Cos => match inputs {
                Inputs::Ordinary => self.finish_ordinary_sine(op, special, (of, numbers)),
                Inputs::All => self.finish_sine(op, special, (of, numbers)),
            },
            Special::Tanh => self.finish_tangent(op, inputs, (of, numbers)),
        }
    }

    /// Keeps reciprocals, and which divisors are not ordinary.
    fn keep_reciprocals(&mut self) -> Emitted {
        let a = &mut self.unit.a;
        for (part, r) in RESULT.into_iter().enumerate() {
            a.vmovdqa64(zmmword_ptr(r15 + (offset_of!(Context, reciprocals) + 64 * part)), r)?;
        }
        a.kmovd(eax, RARE_WORDS)?;
        a.mov(dword_ptr(field!(rare_divisors)), eax)
    }

    /// The reciprocals that were kept.
    fn kept_reciprocals(&mut self) -> Emitted {
        let a = &mut self.unit.a;
        for (part, r) in RESULT.into_iter().enumerate() {
            a.vmovdqa64(r, zmmword_ptr(r15 + (offset_of!(Context, reciprocals) + 64 * part)))?;
        }
        a.mov(eax, dword_ptr(field!(rare_divisors)))?;
        a.kmovd(RARE_WORDS, eax)
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
    fn number(
        &mut self,
        op: usize,
        (special, inputs): (Special, Inputs),
        of: Slot,
        part: usize,
    ) -> Emitted<u8> {
        let own = NUMBER[part];
        let x = self.register(op, of, part, own, true)?;
        let (n, x) = (ZMM[usize::from(own)], ZMM[usize::from(x)]);
        match special {
            Special::Ex2 { ftz } => self.fixed_exponent(ftz, inputs, n, x)?,
            Special::Sin | Special::Cos => self.fixed_angle(special, inputs, n, x)?,
            Special::Tanh => self.position_of_tangent(n, x)?,
            _ => {
                let same = (0..32u8).find(|&register| ZMM[usize::from(register)] == x);
                return Ok(same.unwrap_or(own));
            }
        }
        Ok(own)
    }

    /// An exponent in fixed point with 23 bits after the point. Negative numbers that are not whole are complemented.
    fn fixed_exponent(&mut self, ftz: bool, inputs: Inputs, n: AsmRegisterZmm, x: AsmRegisterZmm) -> Emitted {
        let [most, least, half, scale] =
            [128f32, -126.0, 0.5, 8_388_608.0].map(|value| self.unit.word(value.to_bits()));
        let (ones, fraction) = (self.unit.word(u32::MAX), self.unit.word(FRACTION));
        let a = &mut self.unit.a;
        if inputs == Inputs::Ordinary {
            a.vmulps(n, x, scale)?;
        } else {
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
        }
        a.vcvttps2dq(n, n)?;
        a.vpmovd2m(k1, n)?;
        a.vptestmd(k1.k1(), n, fraction)?;
        a.vpaddd(n.k1(), n, ones)
    }

    /// An angle's quarter turn in two bits, and its place in that in 23 bits, from the other end in odd quarters.
    fn fixed_angle(
        &mut self,
        special: Special,
        inputs: Inputs,
        n: AsmRegisterZmm,
        x: AsmRegisterZmm,
    ) -> Emitted {
        let [turn, scale] = [0.159_154_94f32, 33_554_432.0];
        let scaled = self.unit.word((turn * scale).to_bits());
        let [turn, scale] = [turn, scale].map(|value| self.unit.word(value.to_bits()));
        let [magnitude, quarter, fraction] = [SIGN - 1, 1 << 23, FRACTION].map(|word| self.unit.word(word));
        let a = &mut self.unit.a;
        a.vpandd(n, x, magnitude)?;
        if inputs == Inputs::Ordinary {
            a.vmovaps(zmm2, scaled)?;
            a.vmulps(n, n, zmm2.rz_sae())?;
        } else {
            a.vmovaps(zmm2, turn)?;
            a.vmulps(n, n, zmm2.rz_sae())?;
            // The fraction.
            a.vreduceps(n, n, 3)?;
            a.vmulps(n, n, scale)?;
        }
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
        let apart = self.unit.bytes([0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15].repeat(4));
        let mut twice = |word: u32| self.unit.word(word << 16 | word);
        let (byte, top) = (twice(0xff), twice(0x8000));
        // Rows of a squarer that leaves out what is worth less than the last bit. In two neighbouring rows only the lower
        // one has bits to lose.
        let rows = [(0xc000, 0xffff), (0x3000, 0xfff8), (0x0c00, 0xffe0), (0x0200, 0xffff)]
            .map(|(factor, kept)| (twice(factor), (kept != 0xffff).then(|| twice(kept))));
        let a = &mut self.unit.a;
        // The words of the second part come between those of the first, and are then put behind each four of them.
        match table.has_odd {
            true => {
                a.vpsrld(zmm2, numbers[0], 1)?;
                a.vpslld(zmm6, numbers[1], 15)?;
                // zmm2 & low | zmm6 & !low
                a.vpternlogd(zmm2, zmm6, low, 0xe4)?;
                a.vpshufb(zmm2, zmm2, apart)?;
            }
            false => {
                a.vpandd(zmm5, numbers[0], low)?;
                a.vpandd(zmm6, numbers[1], low)?;
                a.vpackusdw(zmm2, zmm5, zmm6)?;
            }
        }
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

    /// Words of a table by the indices of segments, in a register. `k1` and `k2` have the bits of the indices that a
    /// permutation of two registers does not look at.
    fn look_up(&mut self, table: &[u32], index: AsmRegisterZmm, to: AsmRegisterZmm) -> Emitted {
        let words: Vec<AsmMemoryOperand> = table
            .chunks_exact(16)
            .map(|words| self.unit.words(std::array::from_fn(|n| words.get(n).copied().unwrap_or(0))))
            .collect();
        let a = &mut self.unit.a;
        let targets = [to, zmm6, zmm6, zmm5];
        for (at, pair) in words.chunks_exact(2).enumerate() {
            a.vmovdqa64(targets[at], pair[0])?;
            a.vpermt2d(targets[at], index, pair[1])?;
            match at {
                1 => a.vmovdqa32(to.k1(), zmm6)?,
                3 => {
                    a.vmovdqa32(zmm6.k1(), zmm5)?;
                    a.vmovdqa32(to.k2(), zmm6)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The sums of products in all lanes, in the registers of results. Constants in quarters of the unit are added;
    /// others are in their registers.
    fn sums(&mut self, special: Special, table: &Coefficients, numbers: [AsmRegisterZmm; 2]) -> Emitted {
        let last = if table.has_odd { 17 } else { 16 };
        // The second index is kept if there is a register for it.
        let ahead = numbers[1] != zmm1;
        let indices = [zmm7, if ahead { zmm1 } else { zmm7 }];
        self.unit.a.vpsrld(indices[0], numbers[0], last)?;
        if ahead {
            self.unit.a.vpsrld(indices[1], numbers[1], last)?;
            self.check_exponents(special, indices)?;
        } else if self.checks_words(special) {
            self.unit.a.vpsrld(zmm6, numbers[1], last)?;
            self.check_exponents(special, [indices[0], zmm6])?;
        }
        self.squares(table, numbers)?;
        let [one, bias] = [1, table.bias].map(|word| self.unit.word(word));
        let [lower, upper] = [32 << last, 64 << last].map(|bit| self.unit.word(bit));
        for (part, (r, n)) in RESULT.into_iter().zip(numbers).enumerate() {
            let (a, index) = (&mut self.unit.a, indices[part]);
            if part == 1 && !ahead {
                a.vpsrld(index, n, last)?;
            }
            a.vptestmd(k1, n, lower)?;
            if table.products.len() > 64 {
                a.vptestmd(k2, n, upper)?;
            }
            self.look_up(&table.products, index, zmm2)?;
            let a = &mut self.unit.a;
            a.vpmaddwd(r, r, zmm2)?;
            if table.has_odd {
                a.vptestmd(k4, n, one)?;
                a.vpsrad(zmm2, zmm2, 17)?;
                a.vpaddd(r.k4(), r, zmm2)?;
            }
            if table.negated {
                a.vmovdqa64(zmm2, bias)?;
                a.vpsubd(r, zmm2, r)?;
            } else if table.bias != 0 {
                a.vpaddd(r, r, bias)?;
            }
            if matches!(special, Special::Lg2 | Special::Sin | Special::Cos | Special::Tanh) {
                self.look_up(&table.constants, index, CONSTANT[part])?;
                continue;
            }
            self.look_up(&table.constants, index, zmm2)?;
            self.unit.a.vpsrad(r, r, 13)?;
            self.unit.a.vpaddd(r, r, zmm2)?;
        }
        Ok(())
    }

    /// Whether exponents out of the ordinary are found in words of 16 bits: where all lanes are active.
    fn checks_words(&self, special: Special) -> bool {
        !self.masked && matches!(self.found(special), Found::Words | Found::Everywhere)
    }

    /// Finds exponents out of the ordinary: they are in words of 16 bits, with the indices.
    fn check_exponents(&mut self, special: Special, [first, second]: [AsmRegisterZmm; 2]) -> Emitted {
        if !self.checks_words(special) {
            return Ok(());
        }
        // The sign, the exponent and six or seven bits. The reciprocals of large numbers are subnormal.
        let (from, most, signed) = match special {
            Special::Rcp | Special::Div { .. } | Special::Divisor => (1 << 8, 252 << 8, true),
            _ => (1 << 6, 254 << 6, false),
        };
        let [from, most] = [from, most].map(|word: u32| self.unit.word(word << 16 | word));
        let a = &mut self.unit.a;
        a.vpackusdw(zmm6, first, second)?;
        if signed {
            a.vpaddw(zmm6, zmm6, zmm6)?;
        }
        a.vpsubw(zmm6, zmm6, from)?;
        a.vpcmpuw(RARE_WORDS, zmm6, most, 5)
    }

    /// The input again.
    pub(super) fn input(&mut self, op: usize, of: Slot, part: usize) -> Emitted<AsmRegisterZmm> {
        Ok(ZMM[usize::from(self.register(op, of, part, 7, true)?)])
    }
}
