//! `mma` and `wmma.mma` by [`softwarp_units::matrix::registers`]: the matrices stay where they are.

use softwarp_ir::matrix::{Mma, Product};
use softwarp_units::lanes::{Frame, Slot};
use softwarp_units::matrix::float::fragment::{Row, Sums};
use softwarp_units::matrix::layout::Layout;
use softwarp_units::matrix::lines::ROWS;
use softwarp_units::matrix::registers::{self, Operands};

/// The most registers of A, B and C.
const MOST: usize = 24;

/// Multiplies; or returns false, and has done nothing.
pub(super) fn multiply(frame: &mut Frame, op: &Mma, taking: u32) -> bool {
    let mma = &*op.product;
    let Layout { a, b, c, products, turned, .. } = &mma.layout;
    let counts = [a, b, c].map(|fragment| fragment.registers());
    if *products != 1 || mma.scales.is_some() || counts.iter().sum::<usize>() > MOST {
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
    let (left, rest) = rows.split_at_mut(counts[0]);
    let (right, rest) = rest.split_at_mut(counts[1]);
    let (addends, _) = rest.split_at_mut(counts[2]);
    let row = |slot: Slot| &frame.narrow[slot.number() as usize].0;
    for (rows, slots) in [(&mut *left, &op.a), (&mut *right, &op.b), (&mut *addends, &op.c)] {
        rows.iter_mut().zip(slots).for_each(|(place, &slot)| *place = row(slot));
    }
    // Registers of A and B beyond the distinct ones are copies, which are not read.
    let (left, right) = (&left[..a.distinct().min(left.len())], &right[..b.distinct().min(right.len())]);
    let (a, b) = if *turned { (right, left) } else { (left, right) };
    let sparse = mma.sparse.as_ref().zip(op.metadata.map(row));
    let of_product = Operands { a, b, c: addends, sparse };
    let done = match &mma.product {
        Product::Float(product) => registers::floats(product, &of_product, d),
        Product::Integer(product) => registers::integers(product, &of_product, d),
        Product::Double(_) => false,
    };
    if done {
        let each = op.d.len() / d.len();
        let results = d.iter().flat_map(|sums| &sums.0[..each.min(4)]);
        for (&slot, row) in op.d.iter().zip(results) {
            if let Some(slot) = slot {
                frame.set_row(slot, *row, taking);
            }
        }
    }
    done
}
