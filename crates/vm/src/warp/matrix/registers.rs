//! `mma` and `wmma.mma` by [`softwarp_units::matrix::registers`]: the matrices stay where they are.

use softwarp_ir::matrix::{Mma, Product};
use softwarp_ir::{NONE, Operands};
use softwarp_units::lanes::Frame;
use softwarp_units::matrix::float::fragment::{Row, Sums};
use softwarp_units::matrix::layout::Layout;
use softwarp_units::matrix::lines::ROWS;
use softwarp_units::matrix::registers::{self, Operands as Registers};

/// Registers of A, B and C, and of metadata.
const MOST: usize = 25;

/// Multiplies; or returns false, and has done nothing.
pub(super) fn multiply(frame: &mut Frame, mma: &Mma, operands: &Operands, taking: u32) -> bool {
    let Layout { a, b, c, products, turned, .. } = &mma.layout;
    let counts = [a, b, c].map(|fragment| fragment.registers());
    let all: usize = counts.iter().sum::<usize>() + usize::from(mma.sparse.is_some());
    if *products != 1 || mma.scales.is_some() || all > MOST || operands.reads.len() < all {
        return false;
    }
    let mut d = [Sums::ZERO; 2];
    let (m, n) = match &mma.product {
        Product::Float(product) => (product.m, product.n),
        Product::Integer(product) => (product.m, product.n),
        Product::Double(_) => return false,
    };
    let m = if mma.sparse.is_some() { ROWS } else { m };
    let Some(d) = d.get_mut(..m.div_ceil(ROWS) * n / 8) else { return false };
    let nothing = [0; softwarp_units::lanes::LANES];
    let mut rows: [&Row; MOST] = [&nothing; MOST];
    for (row, &slot) in rows.iter_mut().zip(&operands.reads) {
        *row = &frame.narrow[slot as usize].0;
    }
    let (left, rest) = rows.split_at(counts[0]);
    let (right, rest) = rest.split_at(counts[1]);
    let (addends, rest) = rest.split_at(counts[2]);
    // Copies of A and B may follow what is looked at.
    let (left, right) = (&left[..a.distinct().min(left.len())], &right[..b.distinct().min(right.len())]);
    let (a, b) = if *turned { (right, left) } else { (left, right) };
    let sparse = mma.sparse.as_ref().map(|sparsity| (sparsity, rest[0]));
    let of_product = Registers { a, b, c: addends, sparse };
    let done = match &mma.product {
        Product::Float(product) => registers::floats(product, &of_product, d),
        Product::Integer(product) => registers::integers(product, &of_product, d),
        Product::Double(_) => false,
    };
    if done {
        let each = operands.writes.len() / d.len();
        let results = d.iter().flat_map(|sums| &sums.0[..each.min(4)]);
        for (&slot, row) in operands.writes.iter().zip(results) {
            if slot != NONE {
                frame.set_row(slot, *row, taking);
            }
        }
    }
    done
}
