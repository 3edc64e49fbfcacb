//! Special functions of f32, to the bit those of the interpreter (`softwarp_units::alu::approx`).
//!
//! A function is a quadratic polynomial in each of 64 or 128 segments (`interpolate.rs`). Here is what comes before it, in
//! `finish.rs` what comes behind it.
//!
//! Code in its place is for ordinary inputs. If an active lane has another one, code that stands outside of the blocks
//! does the whole row (`Special::has_general`), or the interpreter does.

use super::{Emitted, Emitter, Late, ZMM, field};
use crate::Level;
use crate::assembler::*;
use crate::context::Context;
use crate::decode::Special;
use crate::quotients::Reciprocal;
use crate::tables::{Range, by_exponent, coefficients};
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
pub(super) const RARE_WORDS: AsmRegisterK = k3;

pub(super) const SIGN: u32 = 1 << 31;
pub(super) const EXPONENT: u32 = 0x7f80_0000;
/// The least normal number.
pub(super) const LEAST: u32 = 1 << 23;
pub(super) const FRACTION: u32 = LEAST - 1;
pub(super) const NAN: u32 = 0x7fff_ffff;
/// All classes of `vfpclassps`: what is not positive and normal.
pub(super) const UNUSUAL: u32 = 0xff;

/// The inputs that code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inputs {
    Ordinary,
    All,
}

/// Where lanes with other inputs are found.
#[derive(Clone, Copy)]
pub(super) enum Found {
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
    pub(super) fn found(&self, special: Special) -> Found {
        if self.masked {
            return Found::Parts;
        }
        match special {
            Special::Rsqrt | Special::Sqrt | Special::Ex2 { .. } if self.classifies() => Found::Parts,
            Special::Rcp | Special::Divisor | Special::Rsqrt | Special::Sqrt => Found::Words,
            Special::Div { ftz: false } => Found::Words,
            Special::Div { ftz: true } | Special::Lg2 => Found::Everywhere,
            Special::Ex2 { .. } | Special::Sin | Special::Cos => Found::First,
            Special::Tanh | Special::Dividend { .. } => Found::Parts,
        }
    }

    /// Whether one instruction finds the numbers of a part that are not positive and normal.
    pub(super) fn classifies(&self) -> bool {
        self.unit.level == Level::Avx512
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
            Special::Rcp | Special::Dividend { .. } | Special::Rsqrt | Special::Sqrt => sources[0],
            Special::Ex2 { .. } | Special::Lg2 | Special::Sin | Special::Cos | Special::Tanh => sources[0],
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
            Special::Tanh => self.finish_tangent(op, inputs, of),
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
            Special::Rcp
            | Special::Div { .. }
            | Special::Dividend { .. }
            | Special::Divisor
            | Special::Rsqrt
            | Special::Sqrt
            | Special::Lg2 => {
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
        a.vpmovd2m(k2, x)?;
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
        a.vptestmd(k1.k2(), n, fraction)?;
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

    /// The input again.
    pub(super) fn input(&mut self, op: usize, of: Slot, part: usize) -> Emitted<AsmRegisterZmm> {
        Ok(ZMM[usize::from(self.register(op, of, part, 7, true)?)])
    }
}
