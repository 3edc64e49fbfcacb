//! Products of matrices of integers and of bits (PTX ISA sections 9.7.14.5.14 and 9.7.15.5.2): exact, and then
//! wrapped or limited.

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
    /// The number that the low bits of a word are.
    #[inline(always)]
    fn value(self, word: u32) -> i32 {
        let shift = 32 - self.bits;
        if self.signed { (word << shift) as i32 >> shift } else { (word << shift >> shift) as i32 }
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
    /// What is multiplied.
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
            Factors::Integers(a, b) => {
                self.with(|x| a.value(x), |x| b.value(x), |x, y| x.wrapping_mul(y));
            }
            Factors::And => self.with(|x| x as i32, |x| x as i32, |x, y| (x & y).count_ones() as i32),
            Factors::Xor => self.with(|x| x as i32, |x| x as i32, |x, y| (x ^ y).count_ones() as i32),
        }
    }
}

/// Columns that are worked on at a time.
const COLUMNS: usize = 8;

/// The longest column: of `mma.sp.m16n8k128`, whose stored elements are 64, and of dense ones.
const LONGEST: usize = 128;

impl Work<'_> {
    #[inline(always)]
    fn with(self, left: impl Fn(u32) -> i32, right: impl Fn(u32) -> i32, times: impl Fn(i32, i32) -> i32) {
        let IntegerProduct { saturate, n, k, .. } = *self.product;
        let mut turned = [[0; COLUMNS]; LONGEST];
        for first in (0..n).step_by(COLUMNS) {
            // Eight columns side by side: their sums are one vector.
            let columns = COLUMNS.min(n - first);
            for (column, elements) in self.b[first * k..].chunks_exact(k).take(columns).enumerate() {
                for (line, &element) in turned.iter_mut().zip(elements) {
                    line[column] = right(element);
                }
            }
            let rows = self.a.chunks_exact(k).zip(self.c.chunks_exact(n)).zip(self.d.chunks_exact_mut(n));
            for ((row, c), d) in rows {
                let mut sums = [0i32; COLUMNS];
                for (&x, line) in row.iter().zip(&turned) {
                    let x = left(x);
                    for (sum, &y) in sums.iter_mut().zip(line) {
                        *sum = sum.wrapping_add(times(x, y));
                    }
                }
                let (c, d) = (&c[first..first + columns], &mut d[first..first + columns]);
                for ((d, &c), &sum) in d.iter_mut().zip(c).zip(&sums) {
                    let c = c as i32;
                    *d = if saturate { c.saturating_add(sum) } else { c.wrapping_add(sum) } as u32;
                }
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
