//! Products of matrices of `f64` (PTX ISA section 9.7.14.5.14): one fused multiplication and addition after another,
//! in the order of `k`.

use crate::ops::double::fused;
use softwarp_num::Rounding;

/// D = A·B + C. `a` has m·k elements, row by row; `b` n·k, column by column; `c` and `d` m·n, row by row.
pub fn multiply(rounding: Rounding, k: usize, a: &[u64], b: &[u64], c: &[u64], d: &mut [u64]) {
    let columns = b.len() / k;
    for ((row, c), d) in a.chunks_exact(k).zip(c.chunks_exact(columns)).zip(d.chunks_exact_mut(columns)) {
        for ((column, &c), d) in b.chunks_exact(k).zip(c).zip(d) {
            let factors = row.iter().zip(column);
            *d = factors.fold(c, |sum, (&x, &y)| fused(x, y, sum, rounding));
        }
    }
}
