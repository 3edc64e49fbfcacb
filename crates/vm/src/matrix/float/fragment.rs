//! `mma.sync.m16n8k16` and `m16n8k8` with f16 or bf16 factors and sums in f32, on the registers of a warp.
//!
//! Lane 4g + t holds elements of rows g and g + 8, and of columns 2t and 2t + 1 (PTX ISA section 9.7.14.5). Registers of
//! A and C are turned so that the 16 rows of a column lie beside each other; a factor of B is then the same for all of
//! them.

use super::lanes::{Addends, Factors, Words, sums};
use super::rules::{Order, Rule};
use crate::lanes::LANES;
#[cfg(target_arch = "x86_64")]
use softwarp_num::Level;
use softwarp_num::{Format, Vectorise, vectorised};

/// A register of all lanes.
pub type Row = [u32; LANES];

/// The registers of D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Sums(pub [Row; 4]);

impl Sums {
    /// Zeros.
    pub const ZERO: Sums = Sums([[0; LANES]; 4]);
}

/// D = A·B + C of a warp. Returns false if the numbers are not ordinary: then D is not to be used, and
/// [`super::multiply`] has the answer. `a` has two registers and `b` one for every eight products; factors are f16 or
/// bf16, C and D f32.
pub fn multiply(factors: Format, a: &[&Row], b: &[&Row], c: &[&Row; 4], d: &mut Sums) -> bool {
    #[cfg(target_arch = "x86_64")]
    if Level::current() == Level::Avx512 {
        // SAFETY: the current level is at most the best, whose features were detected on this CPU.
        if unsafe { super::wide::multiply(factors, a, b, c, d) } {
            return true;
        }
    }
    portable(factors, a, b, c, d)
}

/// [`multiply`] in loops for any CPU.
pub fn portable(factors: Format, a: &[&Row], b: &[&Row], c: &[&Row; 4], d: &mut Sums) -> bool {
    let halves = match factors {
        Format::F16 => [Words::F16, Words::HighF16],
        Format::Bf16 => [Words::Bf16, Words::HighBf16],
        _ => return false,
    };
    match (a, b) {
        (&[a0, a1], &[b0]) => {
            vectorised(Multiply::<8, 2> { halves, a: &[[a0, a1]], b: &[b0], c, d: &mut d.0 })
        }
        (&[a0, a1, a2, a3], &[b0, b1]) => {
            let a = &[[a0, a1], [a2, a3]];
            vectorised(Multiply::<16, 4> { halves, a, b: &[b0, b1], c, d: &mut d.0 })
        }
        _ => false,
    }
}

/// A product of `K` factors; `H` is how many halves of B's registers there are.
struct Multiply<'a, const K: usize, const H: usize> {
    /// How the two factors of a word are read.
    halves: [Words; 2],
    /// Of each eight columns, the upper and the lower rows.
    a: &'a [[&'a Row; 2]],
    b: &'a [&'a Row],
    c: &'a [&'a Row; 4],
    d: &'a mut [Row; 4],
}

impl<const K: usize, const H: usize> Vectorise for Multiply<'_, K, H> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        match self.halves {
            // Known where it is compiled, so that the loops have no choice to make.
            [Words::F16, _] => self.by(Words::F16, Words::HighF16),
            _ => self.by(Words::Bf16, Words::HighBf16),
        }
    }
}

impl<const K: usize, const H: usize> Multiply<'_, K, H> {
    #[inline(always)]
    fn by(self, low: Words, high: Words) -> bool {
        let rule = Rule { order: Order::Together, fraction: 25, mantissa: 23 };
        let mut a = Factors::<ROWS, K>::ZERO;
        for (at, &[upper, lower]) in self.a.iter().enumerate() {
            for (pair, words) in columns(upper, lower).iter().enumerate() {
                a.take((at * 8 + pair * 2) % K, low, words);
                a.take((at * 8 + pair * 2 + 1) % K, high, words);
            }
        }
        let mut b = Factors::<LANES, H>::ZERO;
        for (at, words) in self.b.iter().enumerate() {
            b.take(at * 2 % H, low, words);
            b.take((at * 2 + 1) % H, high, words);
        }
        let mut addends = Addends::ZERO;
        let [upper, lower] = [&self.c[..2], &self.c[2..]];
        for odd in 0..2 {
            let c = columns(upper[odd], lower[odd]);
            let mut d = [[0; ROWS]; 4];
            for (pair, d) in d.iter_mut().enumerate() {
                addends.take(Words::F32, &c[pair]);
                let place = |at: usize| (at / 8 * 2 + at % 2, (pair * 2 + odd) * 4 + at % 8 / 2);
                *d = sums(&a, &b, place, &addends, rule, false);
            }
            [self.d[odd], self.d[odd + 2]] = lanes(&d);
        }
        a.ordinary() && b.ordinary() && addends.ordinary()
    }
}

/// The rows of C and D.
const ROWS: usize = 16;

/// Of two registers, the upper and the lower rows of a fragment, the columns of words.
#[inline(always)]
fn columns(upper: &Row, lower: &Row) -> [[u32; ROWS]; 4] {
    let mut columns = [[0; ROWS]; 4];
    for row in 0..8 {
        for column in 0..4 {
            columns[column][row] = upper[row * 4 + column];
            columns[column][row + 8] = lower[row * 4 + column];
        }
    }
    columns
}

/// Two registers of columns.
#[inline(always)]
fn lanes(columns: &[[u32; ROWS]; 4]) -> [Row; 2] {
    let mut rows = [[0; LANES]; 2];
    for row in 0..8 {
        for column in 0..4 {
            rows[0][row * 4 + column] = columns[column][row];
            rows[1][row * 4 + column] = columns[column][row + 8];
        }
    }
    rows
}
