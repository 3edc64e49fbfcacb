//! Products of matrices of `f64` (PTX ISA section 9.7.14.5.14): one fused multiplication and addition after another,
//! in the order of `k`.

use crate::alu::double::fused;
use softwarp_num::{Rounding, Vectorise, vectorised};

/// Columns of B: those of every shape.
const COLUMNS: usize = 8;

/// The most elements of a column.
const LONGEST: usize = 16;

/// D = A·B + C. `a` has m·k elements, row by row; `b` n·k, column by column; `c` and `d` m·n, row by row.
pub fn multiply(rounding: Rounding, k: usize, a: &[u64], b: &[u64], c: &[u64], d: &mut [u64]) {
    let columns = b.len() / k;
    let quickly = rounding == Rounding::NearestEven && columns == COLUMNS && k <= LONGEST;
    if quickly {
        vectorised(Nearest { k, a, b, c, d });
    }
    for ((row, c), d) in a.chunks_exact(k).zip(c.chunks_exact(columns)).zip(d.chunks_exact_mut(columns)) {
        for ((column, &c), d) in b.chunks_exact(k).zip(c).zip(d) {
            // What became NaN once stays NaN, and only of NaN the bits are other than the CPU's.
            if quickly && !f64::from_bits(*d).is_nan() {
                continue;
            }
            let factors = row.iter().zip(column);
            *d = factors.fold(c, |sum, (&x, &y)| fused(x, y, sum, rounding));
        }
    }
}

/// All columns of a row at a time, as the CPU rounds.
struct Nearest<'a> {
    k: usize,
    a: &'a [u64],
    b: &'a [u64],
    c: &'a [u64],
    d: &'a mut [u64],
}

impl Vectorise for Nearest<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut steps = [[0.0; COLUMNS]; LONGEST];
        for (column, elements) in self.b.chunks_exact(self.k).enumerate() {
            for (step, &element) in steps.iter_mut().zip(elements) {
                step[column % COLUMNS] = f64::from_bits(element);
            }
        }
        let rows = self.a.chunks_exact(self.k).zip(self.c.as_chunks::<COLUMNS>().0);
        for ((row, c), d) in rows.zip(self.d.as_chunks_mut::<COLUMNS>().0) {
            let mut sums = c.map(f64::from_bits);
            for (&x, step) in row.iter().zip(&steps) {
                let x = f64::from_bits(x);
                for (sum, &y) in sums.iter_mut().zip(step) {
                    *sum = x.mul_add(y, *sum);
                }
            }
            *d = sums.map(f64::to_bits);
        }
    }
}
