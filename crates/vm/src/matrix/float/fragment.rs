//! `mma.sync.m16n8k16` and `m16n8k8` with f16 or bf16 factors and sums in f32, on the registers of a warp.
//!
//! Every lane computes the four elements that it holds (PTX ISA section 9.7.14.5): lane 4g + t those of rows g and
//! g + 8 and of columns 2t and 2t + 1. Their rows of A lie in the four lanes of its own quad, so that a factor of A is
//! a shuffle within quads; columns of B are the same for all quads, so that a factor of B is four values repeated.

use super::lanes::{Addends, Factors, Sums};
use super::rules::Rule;
use crate::lanes::LANES;
use crate::matrix::{FloatProduct, Unit};
use softwarp_num::{Format, Vectorise, vectorised};

/// A register of all lanes.
pub type Row = [u32; LANES];

/// D = A·B + C of a warp, or `None` if the numbers are not ordinary: then [`super::multiply`] has the answer.
/// `a` has two registers and `b` one for every eight products; factors are f16 or bf16, C and D f32.
pub fn multiply(factors: Format, a: &[Row], b: &[Row], c: &[Row; 4]) -> Option<[Row; 4]> {
    match (factors, a, b) {
        (Format::F16, [a0, a1], [b0]) => vectorised(Multiply { a: [[a0, a1]], b: [b0], c, halves: F16 }),
        (Format::Bf16, [a0, a1], [b0]) => vectorised(Multiply { a: [[a0, a1]], b: [b0], c, halves: Bf16 }),
        (Format::F16, [a0, a1, a2, a3], [b0, b1]) => {
            vectorised(Multiply { a: [[a0, a1], [a2, a3]], b: [b0, b1], c, halves: F16 })
        }
        (Format::Bf16, [a0, a1, a2, a3], [b0, b1]) => {
            vectorised(Multiply { a: [[a0, a1], [a2, a3]], b: [b0, b1], c, halves: Bf16 })
        }
        _ => None,
    }
}

/// The two factors of each word of a register.
trait Halves {
    fn of(&self, words: &Row) -> Option<[Factors<LANES>; 2]>;
}

struct F16;
struct Bf16;

impl Halves for F16 {
    #[inline(always)]
    fn of(&self, words: &Row) -> Option<[Factors<LANES>; 2]> {
        Some([Factors::f16(words)?, Factors::f16(&words.map(|word| word >> 16))?])
    }
}

impl Halves for Bf16 {
    #[inline(always)]
    fn of(&self, words: &Row) -> Option<[Factors<LANES>; 2]> {
        Some([
            Factors::f32(&words.map(|word| word << 16))?,
            Factors::f32(&words.map(|word| word & 0xffff_0000))?,
        ])
    }
}

/// The products of `K` times eight factors.
struct Multiply<'a, H, const K: usize> {
    /// The registers of each eight columns of A: of its upper rows, and of its lower rows.
    a: [[&'a Row; 2]; K],
    b: [&'a Row; K],
    c: &'a [Row; 4],
    halves: H,
}

impl<H: Halves, const K: usize> Vectorise for Multiply<'_, H, K> {
    type Output = Option<[Row; 4]>;

    #[inline(always)]
    fn run(self) -> Option<[Row; 4]> {
        let product = FloatProduct {
            unit: Unit::Mma,
            a: Format::F16,
            b: Format::F16,
            c: Format::F32,
            d: Format::F32,
            m: 16,
            n: 8,
            k: 8 * K,
            sparse: false,
            scale: None,
        };
        let rule = Rule::of(&product);
        // Of each pair of columns, A's factors spread over the quads; by rows.
        let mut a = [[[Factors::ZERO; 8]; K]; 2];
        for step in 0..K {
            for rows in 0..2 {
                for (half, factors) in self.halves.of(self.a[step][rows])?.iter().enumerate() {
                    for owner in 0..4 {
                        a[rows][step][2 * owner + half] = factors.shuffled(|lane| lane & !3 | owner);
                    }
                }
            }
        }
        // Of each pair of rows, B's factors spread over the columns; by parity of columns.
        let mut b = [[[Factors::ZERO; 8]; K]; 2];
        for step in 0..K {
            for (half, factors) in self.halves.of(self.b[step])?.iter().enumerate() {
                for owner in 0..4 {
                    for odd in 0..2 {
                        let from = |lane: usize| (2 * (lane & 3) + odd) * 4 + owner;
                        b[odd][step][2 * owner + half] = factors.shuffled(from);
                    }
                }
            }
        }
        let mut d = [[0; LANES]; 4];
        for (at, d) in d.iter_mut().enumerate() {
            let c = Addends::f32(&self.c[at])?;
            *d = Sums::of(a[at / 2].as_flattened(), b[at % 2].as_flattened(), &c, rule).to_f32(rule.mantissa);
        }
        Some(d)
    }
}
