//! `mma` and `wmma.mma` (PTX ISA sections 9.7.14.4.5, 9.7.14.5.14 and 9.7.14.6.3): the matrices are collected from
//! the lanes' registers, multiplied, and D is handed out again.

use softwarp_ir::matrix::{BlockScale, Mma, Product};
use softwarp_num::{Format, Rounding, Vectorise, vectorised};
use softwarp_units::lanes::{ALL, Frame, LANES, Slot};
use softwarp_units::matrix::float::fragment;
use softwarp_units::matrix::layout::Layout;
use softwarp_units::matrix::sparse::Sparsity;
use softwarp_units::matrix::{FloatProduct, Scales, double, integer};

/// Elements of the largest factor: `mma.sp.m16n8k128`.
const FACTOR: usize = 1024;

/// Elements of the largest C and D.
const SUMS: usize = 256;

/// Multiplies.
pub(crate) fn multiply(frame: &mut Frame, op: &Mma, taking: u32) {
    if at_once(frame, op, taking) != Some(true) && !super::registers::multiply(frame, op, taking) {
        by_matrices(frame, op, taking);
    }
}

/// Any product: A, B and C are collected, and D is handed out. Apart, since it needs much of the stack.
#[inline(never)]
fn by_matrices(frame: &mut Frame, op: &Mma, taking: u32) {
    let mma = &*op.product;
    if let Product::Double(rounding) = mma.product {
        return multiply_doubles(frame, op, rounding, taking);
    }
    let Layout { a: of_a, b: of_b, c: of_c, d: of_d, products, turned } = &mma.layout;
    let (mut a, mut b, mut c, mut d) = ([0; FACTOR], [0; FACTOR], [0; SUMS], [0; SUMS]);
    vectorised(Collect { frame, op, into: [&mut a, &mut b, &mut c] });
    for (matrix, &(shift, mask)) in [&mut a, &mut b].into_iter().zip(&mma.within) {
        if shift != 0 || mask == 0x3f {
            matrix.iter_mut().for_each(|element| *element = *element >> shift & mask);
        }
    }
    let (a, b, c, d) = (&a[..of_a.size], &b[..of_b.size], &c[..of_c.size], &mut d[..of_d.size]);
    let metadata = op.metadata.map(|slot| &frame.narrow[slot.number() as usize].0);
    let scales = mma.scales.zip(op.scales).map(|(count, scales)| {
        let words = |of: BlockScale| [of.data, of.byte, of.thread].map(|slot| frame.row::<u32>(slot));
        let [a, b] = scales.map(words);
        BlockScales::select(count, a, b)
    });
    match (&mma.sparse, metadata) {
        (Some(sparsity), Some(metadata)) => {
            let mut chosen = [0; FACTOR];
            each_row(sparsity, metadata, b, &mut chosen, |row, chosen| {
                let (k, n) = (sparsity.stored(), of_d.size / ROWS);
                let range = row * n..(row + 1) * n;
                let scales = scales.as_ref().map(|scales| scales.of_row(row));
                let (a, c) = (&a[row * k..][..k], &c[range.clone()]);
                one(&mma.product, a, chosen, c, &mut d[range], scales.as_ref());
            });
        }
        _ => {
            let scales = scales.as_ref().map(BlockScales::all);
            for at in 0..*products {
                let part = |size: usize| at * size / products..(at + 1) * size / products;
                let (a, b, c) = (&a[part(a.len())], &b[part(b.len())], &c[part(c.len())]);
                let (a, b) = if *turned { (b, a) } else { (a, b) };
                let range = part(d.len());
                one(&mma.product, a, b, c, &mut d[range], scales.as_ref());
            }
        }
    }
    for (register, &slot) in op.d.iter().enumerate() {
        if let Some(slot) = slot {
            frame.set_row(slot, of_d.scatter(register, d), taking);
        }
    }
}

/// The commonest forms, without collecting matrices: all of m16n8 but the sparse and the scaled ones. Returns whether it
/// is done.
fn at_once(frame: &mut Frame, op: &Mma, taking: u32) -> Option<bool> {
    let Product::Float(FloatProduct {
        a: left, b: right, m: 16, n: 8, k, sparse: false, scale: None, ..
    }) = op.product.product
    else {
        return None;
    };
    let eight = |format| matches!(format, Format::E4m3 | Format::E5m2);
    let word = match left {
        Format::F16 | Format::Bf16 if left == right => 2,
        Format::Tf32 if left == right => 1,
        _ if eight(left) && eight(right) => 4,
        _ => return None,
    };
    if word == 2 && taking == ALL && in_rows(frame, left, op) {
        return Some(true);
    }
    let mut d = fragment::Sums::ZERO;
    let row = |slot: &Slot| &frame.narrow[slot.number() as usize].0;
    let mut multiply = |a: &[&_], b: &[&_], c: &[&_]| match word {
        4 => fragment::multiply_bytes([left, right], a, b, c, &mut d),
        _ => fragment::multiply(left, a, b, c, &mut d),
    };
    let ordinary = match (k / word, &op.a[..], &op.b[..], &op.c[..]) {
        (8, [a0, a1, a2, a3], [b0, b1], [c0, c1, c2, c3]) => {
            multiply(&[a0, a1, a2, a3].map(row), &[b0, b1].map(row), &[c0, c1, c2, c3].map(row))
        }
        (8, [a0, a1, a2, a3], [b0, b1], [c0, c1]) => {
            multiply(&[a0, a1, a2, a3].map(row), &[b0, b1].map(row), &[c0, c1].map(row))
        }
        (4, [a0, a1], [b0], [c0, c1, c2, c3]) => {
            multiply(&[a0, a1].map(row), &[row(b0)], &[c0, c1, c2, c3].map(row))
        }
        (4, [a0, a1], [b0], [c0, c1]) => multiply(&[a0, a1].map(row), &[row(b0)], &[c0, c1].map(row)),
        _ => return None,
    };
    if ordinary {
        for (&slot, row) in op.d.iter().zip(&d.0) {
            if let Some(slot) = slot {
                frame.set_row(slot, *row, taking);
            }
        }
    }
    Some(ordinary)
}

/// m16n8k16 of f16 or bf16 in the rows of the frame. Returns false, and has done nothing, if that is not possible.
#[inline(always)]
fn in_rows(frame: &mut Frame, factors: Format, op: &Mma) -> bool {
    let (&[a0, a1, a2, a3], &[b0, b1]) = (&op.a[..], &op.b[..]) else { return false };
    let mut d = [0; 4];
    let Some(d) = d.get_mut(..op.d.len()) else { return false };
    for (row, slot) in d.iter_mut().zip(&op.d) {
        let Some(slot) = slot else { return false };
        *row = slot.number();
    }
    let rows = &mut frame.narrow;
    match op.c[..] {
        [c0, c1, c2, c3] => {
            let reads = [a0, a1, a2, a3, b0, b1, c0, c1, c2, c3].map(Slot::number);
            fragment::multiply_rows(factors, rows, &reads, d)
        }
        [c0, c1] => {
            let reads = [a0, a1, a2, a3, b0, b1, c0, c1].map(Slot::number);
            fragment::multiply_rows(factors, rows, &reads, d)
        }
        _ => false,
    }
}

/// Collects A, B and C. Compiled for CPU features.
struct Collect<'a, 'b> {
    frame: &'a Frame,
    op: &'a Mma,
    into: [&'b mut [u32]; 3],
}

impl Vectorise for Collect<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Mma { a, b, c, product, .. } = self.op;
        let Layout { a: of_a, b: of_b, c: of_c, .. } = &product.layout;
        for ((slots, fragment), matrix) in [(a, of_a), (b, of_b), (c, of_c)].into_iter().zip(self.into) {
            let registers = slots.iter().take(fragment.distinct());
            fragment.gather(registers.map(|slot| &self.frame.narrow[slot.number() as usize].0), matrix);
        }
    }
}

/// Rows of a sparse A, and of a scaled one.
const ROWS: usize = 16;

/// One product.
pub(super) fn one(
    product: &Product,
    a: &[u32],
    b: &[u32],
    c: &[u32],
    d: &mut [u32],
    scales: Option<&Scales<'_>>,
) {
    match product {
        Product::Float(product) => softwarp_units::matrix::multiply(product, a, b, c, d, scales),
        Product::Integer(product) => integer::multiply(product, a, b, c, d),
        Product::Double(_) => {}
    }
}

/// For each row of a sparse A: calls a function with the elements of B that meet those that are stored.
pub(super) fn each_row(
    sparsity: &Sparsity,
    metadata: &[u32; LANES],
    b: &[u32],
    chosen: &mut [u32],
    mut f: impl FnMut(usize, &[u32]),
) {
    let stored = sparsity.stored();
    let mut positions = [0; LONGEST];
    for row in 0..ROWS {
        sparsity.positions(metadata, row, &mut positions);
        let columns = b.chunks_exact(sparsity.length).zip(chosen.chunks_exact_mut(stored));
        let mut count = 0;
        for (column, chosen) in columns {
            for (chosen, &position) in chosen.iter_mut().zip(&positions) {
                *chosen = column[usize::from(position) % sparsity.length];
            }
            count += stored;
        }
        f(row, &chosen[..count]);
    }
}

/// Stored elements of the longest row of a sparse A.
const LONGEST: usize = 64;

/// The scales of blocks: of A's 16 rows and B's 8 columns, up to four each.
struct BlockScales {
    count: usize,
    a: [u32; ROWS * 4],
    b: [u32; 8 * 4],
}

impl BlockScales {
    /// Takes them from words: of A and of B each the data, which byte, and which threads.
    fn select(count: usize, a: [[u32; LANES]; 3], b: [[u32; LANES]; 3]) -> BlockScales {
        let mut scales = BlockScales { count, a: [0; ROWS * 4], b: [0; 8 * 4] };
        let byte = |words: &[u32; LANES], lane: usize, byte: u32| words[lane] >> (byte % 4 * 8) & 0xff;
        let [data, bytes, threads] = a;
        for (row, into) in scales.a.chunks_exact_mut(count).enumerate().take(ROWS) {
            // One of two pairs of lanes: the first has the upper row.
            let lane = row % 8 * 4 + threads[0] as usize % 2 * 2 + row / 8;
            (0..).zip(into).for_each(|(at, scale)| *scale = byte(&data, lane, bytes[0].wrapping_add(at)));
        }
        let [data, bytes, threads] = b;
        for (column, into) in scales.b.chunks_exact_mut(count).enumerate().take(8) {
            let lane = column * 4 + threads[0] as usize % 4;
            (0..).zip(into).for_each(|(at, scale)| *scale = byte(&data, lane, bytes[0].wrapping_add(at)));
        }
        scales
    }

    fn all(&self) -> Scales<'_> {
        Scales { a: &self.a[..ROWS * self.count], b: &self.b[..8 * self.count] }
    }

    fn of_row(&self, row: usize) -> Scales<'_> {
        Scales { a: &self.a[row * self.count..][..self.count], ..self.all() }
    }
}

/// Elements of the largest matrix of `f64`: A of `mma.m16n8k16`.
const DOUBLES: usize = 256;

fn multiply_doubles(frame: &mut Frame, op: &Mma, rounding: Rounding, taking: u32) {
    let Layout { a: of_a, b: of_b, c: of_c, d: of_d, .. } = &op.product.layout;
    let (mut a, mut b, mut c, mut d) = ([0; DOUBLES], [0; DOUBLES], [0; DOUBLES], [0; DOUBLES]);
    let row = |slot: &Slot| &frame.wide[slot.number() as usize].0;
    of_a.gather_wide(op.a.iter().map(row), &mut a);
    of_b.gather_wide(op.b.iter().map(row), &mut b);
    of_c.gather_wide(op.c.iter().map(row), &mut c);
    // B has eight columns.
    let k = of_b.size / 8;
    double::multiply(rounding, k, &a[..of_a.size], &b[..of_b.size], &c[..of_c.size], &mut d[..of_d.size]);
    for (register, &slot) in op.d.iter().enumerate() {
        if let Some(slot) = slot {
            frame.set_row(slot, of_d.scatter_wide(register, &d), taking);
        }
    }
}
