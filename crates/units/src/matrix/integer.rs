//! Products of matrices of integers and of bits (PTX ISA sections 9.7.14.5.14 and 9.7.15.5.2): exact, and then
//! wrapped or limited.

#[cfg(target_arch = "x86_64")]
mod wide;

use super::float::fragment::{Row, Sums};
use super::lines::{Line, Places, ROWS as LINES};
#[cfg(target_arch = "x86_64")]
use softwarp_num::Avx512;
use softwarp_num::{Vectorise, vectorised};

/// Integers of up to 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Int {
    /// How many bits.
    pub bits: u32,
    /// Whether the highest bit is negative.
    pub signed: bool,
}

impl Int {
    /// The numbers that the low bits of words are.
    #[inline(always)]
    fn extend(self, words: &[u32], into: &mut [f32]) {
        let shift = 32 - self.bits;
        let numbers = words.iter().zip(into);
        if self.signed {
            numbers.for_each(|(&word, number)| *number = ((word << shift) as i32 >> shift) as f32);
        } else {
            numbers.for_each(|(&word, number)| *number = (word << shift >> shift) as i32 as f32);
        }
    }
}

/// What is multiplied, and how an element of the product is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Factors {
    /// Integers: of A and of B.
    Integers(Int, Int),
    /// Words of bits: those that are set in both are counted.
    And,
    /// Words of bits: those that differ are counted.
    Xor,
}

/// A product of matrices of integers: D = A·B + C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntegerProduct {
    /// The types of the factors, or what is done with bits.
    pub factors: Factors,
    /// `.satfinite`: limited to 32 bits, not wrapped.
    pub saturate: bool,
    /// Rows of A, C and D.
    pub m: usize,
    /// Columns of B, C and D.
    pub n: usize,
    /// How many products make an element; of bits, how many words.
    pub k: usize,
}

/// D = A·B + C. `a` has m·k elements, row by row; `b` n·k, column by column; `c` and `d` m·n, row by row.
pub fn multiply(product: &IntegerProduct, a: &[u32], b: &[u32], c: &[u32], d: &mut [u32]) {
    vectorised(Work { product, a, b, c, d });
}

/// D = A·B + C of sixteen rows, as [`super::float::panel`] has them. Returns false if that is not done here.
pub fn panel(
    product: &IntegerProduct,
    a: &[Line; LINES],
    b: &[Line],
    places: Option<&Places>,
    c: &[&Row],
    d: &mut [Sums],
) -> bool {
    let fits = (b.len(), d.len()) == (product.n, product.n / 8) && (c.is_empty() || c.len() == 4 * d.len());
    #[cfg(target_arch = "x86_64")]
    if let (true, Some(cpu)) = (fits, Avx512::current()) {
        return wide::multiply(cpu, product, a, b, places, c, d);
    }
    let _ = (a, places, fits);
    false
}

struct Work<'a> {
    product: &'a IntegerProduct,
    a: &'a [u32],
    b: &'a [u32],
    c: &'a [u32],
    d: &'a mut [u32],
}

impl Vectorise for Work<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.product.factors {
            Factors::Integers(a, b) => self.integers(a, b),
            Factors::And => self.bits(|x, y| x & y),
            Factors::Xor => self.bits(|x, y| x ^ y),
        }
    }
}

/// The longest row or column.
const LONGEST: usize = 64;

/// The most elements that A has.
const LARGEST: usize = 1024;

/// Columns and rows that are worked on together.
const COLUMNS: usize = 8;
const ROWS: usize = 4;

/// 2²³ + 2²²: what is added to it is in the low bits of the sum.
const SHIFT: f32 = 12_582_912.0;

impl Work<'_> {
    /// The numbers are made `f32`, in which all sums are exact: 64 · 255² is less than 2²². Eight columns are a vector.
    #[inline(always)]
    fn integers(self, of_a: Int, of_b: Int) {
        let IntegerProduct { saturate, m, n, k, .. } = *self.product;
        let (mut left, mut right) = ([0.0; LARGEST], [0.0; COLUMNS * LONGEST]);
        of_a.extend(self.a, &mut left);
        for first in (0..n).step_by(COLUMNS) {
            let width = COLUMNS.min(n - first);
            of_b.extend(&self.b[first * k..][..width * k], &mut right);
            let mut columns = [[0.0; COLUMNS]; LONGEST];
            for (at, line) in columns.iter_mut().enumerate().take(k) {
                for (column, element) in line.iter_mut().enumerate() {
                    *element = right[(column * k + at) % right.len()];
                }
            }
            for row in (0..m).step_by(ROWS) {
                let mut sums = [[0.0; COLUMNS]; ROWS];
                for (at, line) in columns.iter().enumerate().take(k) {
                    for (below, sums) in sums.iter_mut().enumerate() {
                        let x = left[((row + below) * k + at) % LARGEST];
                        for (sum, &y) in sums.iter_mut().zip(line) {
                            *sum += x * y;
                        }
                    }
                }
                for (row, sums) in (row..m).zip(&sums) {
                    let place = row * n + first;
                    let (c, d) = (&self.c[place..][..width], &mut self.d[place..][..width]);
                    for ((d, &c), &sum) in d.iter_mut().zip(c).zip(sums) {
                        let sum = (sum + SHIFT).to_bits().wrapping_sub(SHIFT.to_bits()) as i32;
                        let c = c as i32;
                        *d = if saturate { c.saturating_add(sum) } else { c.wrapping_add(sum) } as u32;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn bits(self, both: impl Fn(u32, u32) -> u32) {
        let IntegerProduct { n, k, .. } = *self.product;
        let lines = self.a.chunks_exact(k).zip(self.c.chunks_exact(n)).zip(self.d.chunks_exact_mut(n));
        for ((row, c), d) in lines {
            for ((d, &c), column) in d.iter_mut().zip(c).zip(self.b.chunks_exact(k)) {
                let set = row.iter().zip(column).map(|(&x, &y)| both(x, y).count_ones());
                *d = c.wrapping_add(set.sum());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S8: Int = Int { bits: 8, signed: true };
    const U4: Int = Int { bits: 4, signed: false };

    #[test]
    fn sums_wrap_or_are_limited() {
        let product =
            |saturate| IntegerProduct { factors: Factors::Integers(S8, U4), saturate, m: 1, n: 2, k: 2 };
        let (a, b, c) = ([0x80, 0x7f], [1, 0, 15, 15], [i32::MIN as u32, 5]);
        let mut d = [0; 2];
        multiply(&product(false), &a, &b, &c, &mut d);
        assert_eq!(d, [i32::MAX as u32 - 127, -10i32 as u32]);
        multiply(&product(true), &a, &b, &c, &mut d);
        assert_eq!(d, [i32::MIN as u32, -10i32 as u32]);
    }

    #[test]
    fn bits_are_counted_where_they_agree_or_differ() {
        let product = |factors| IntegerProduct { factors, saturate: false, m: 1, n: 1, k: 2 };
        let (a, b) = ([0xff00_0000, 1], [0xf0f0_0000, 3]);
        let mut d = [0];
        multiply(&product(Factors::And), &a, &b, &[10], &mut d);
        assert_eq!(d, [10 + 4 + 1]);
        multiply(&product(Factors::Xor), &a, &b, &[10], &mut d);
        assert_eq!(d, [10 + 8 + 1]);
    }
}
