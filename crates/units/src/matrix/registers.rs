//! Products of matrices in the registers of a warp: `mma` and `wmma` of 16 rows and multiples of eight columns, without
//! collecting elements first (PTX ISA sections 9.7.14.4.5, 9.7.14.5.14 and 9.7.14.6.3).

use super::FloatProduct;
use super::float::fragment::{self, Row, Sums, added, halves_added};
use super::float::panel::{self, Panel};
use super::float::rules::{Order, Rule};
use super::integer::{self, IntegerProduct};
use super::lines::{Line, ROWS, collect, places};
use super::sparse::Sparsity;
use crate::lanes::LANES;
use softwarp_num::Format;

/// The registers of a product.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// A, every sixteen rows one behind the other.
    pub a: &'a [&'a Row],
    /// B, every eight columns one behind the other.
    pub b: &'a [&'a Row],
    /// C, every sixteen rows one behind the other, and in these every eight columns.
    pub c: &'a [&'a Row],
    /// How A is sparse, and its metadata.
    pub sparse: Option<(&'a Sparsity, &'a Row)>,
}

/// The most columns.
const COLUMNS: usize = 16;

/// D = A·B + C, where every sixteen rows and eight columns are one element of `d`. Returns false if that is not done here, or
/// a number is outside the fast range: then D is not to be used.
pub fn floats(product: &FloatProduct, operands: &Operands<'_>, d: &mut [Sums]) -> bool {
    let (rows, blocks) = (rows(product.m, operands), product.n / 8);
    let halves = rows / ROWS;
    if product.scale.is_some() || !rows.is_multiple_of(ROWS) || !fits(halves, blocks, operands, d) {
        return false;
    }
    if by_fragments(product, operands, d) {
        return true;
    }
    let mut b = [Line::ZERO; COLUMNS];
    let b = &mut b[..product.n];
    collect(operands.b, false, b);
    let chosen = operands.sparse.map(|(sparsity, metadata)| places(sparsity, metadata));
    let product = FloatProduct { m: ROWS, ..*product };
    let [of_a, of_c] = [operands.a.len() / halves, operands.c.len() / halves];
    let parts = operands.a.chunks(of_a).zip(operands.c.chunks(of_c)).zip(d.chunks_mut(blocks));
    parts.into_iter().all(|((registers, c), d)| {
        let mut a = [Line::ZERO; ROWS];
        collect(registers, true, &mut a);
        let rule = Rule::of(&product);
        let length = operands.sparse.map_or(product.k, |(sparsity, _)| sparsity.length);
        let panel = Panel { product: &product, rule, a: &a, b, length, places: chosen.as_ref() };
        match rule.order {
            Order::Together => panel::multiply(&panel, c, d),
            Order::Fours => fours(&panel, c, d),
            Order::Halves => in_halves(&panel, c, d),
            _ => false,
        }
    })
}

/// What is made of products of m16n8 that [`fragment`] knows.
fn by_fragments(product: &FloatProduct, operands: &Operands<'_>, d: &mut [Sums]) -> bool {
    let FloatProduct { a, b, c, d: of_d, m, n, .. } = *product;
    let order = Rule::of(product).order;
    let known = matches!(a, Format::F16 | Format::Bf16 | Format::Tf32) && a == b && c == of_d;
    if !known || operands.sparse.is_some() || !matches!(order, Order::Together | Order::Fours) {
        return false;
    }
    let (halves, blocks) = (m / ROWS, n / 8);
    let [of_a, of_b, of_c] =
        [operands.a.len() / halves, operands.b.len() / blocks, operands.c.len() / (halves * blocks)];
    d.iter_mut().enumerate().all(|(at, d)| {
        let left = &operands.a[at / blocks * of_a..][..of_a];
        let right = &operands.b[at % blocks * of_b..][..of_b];
        let addends = &operands.c[at * of_c..][..of_c];
        match (order, left, right) {
            (Order::Fours, &[upper, lower, next_upper, next_lower], &[low, high]) => {
                let mut first = Sums::ZERO;
                fragment::multiply(a, &[upper, lower], &[low], addends, &mut first)
                    && fragment::multiply(a, &[next_upper, next_lower], &[high], &first.0.each_ref(), d)
            }
            (Order::Fours, ..) => false,
            _ => fragment::multiply(a, left, right, addends, d),
        }
    })
}

/// Multiplies matrices of integers. If A has eight rows, the lower eight rows of D are zeros.
pub fn integers(product: &IntegerProduct, operands: &Operands<'_>, d: &mut [Sums]) -> bool {
    let (rows, blocks) = (rows(product.m, operands), product.n / 8);
    let halves = rows.div_ceil(ROWS);
    if !rows.is_multiple_of(8) || !fits(halves, blocks, operands, d) {
        return false;
    }
    let mut b = [Line::ZERO; COLUMNS];
    let b = &mut b[..product.n];
    collect(operands.b, false, b);
    let chosen = operands.sparse.map(|(sparsity, metadata)| places(sparsity, metadata));
    let [of_a, of_c] = [operands.a.len() / halves, operands.c.len() / halves];
    let parts = operands.a.chunks(of_a).zip(operands.c.chunks(of_c)).zip(d.chunks_mut(blocks));
    parts.into_iter().all(|((registers, c), d)| {
        let mut a = [Line::ZERO; ROWS];
        collect(registers, true, &mut a[..rows.min(ROWS)]);
        let zero = [0; LANES];
        let short = rows == 8 && c.len() == 2;
        let padded = if short { [c[0], c[1], &zero, &zero] } else { [&zero; 4] };
        let c = if short { &padded } else { c };
        integer::panel(product, &a, b, chosen.as_ref(), c, d)
    })
}

/// How many rows there are: products of a sparse A are those of one row.
fn rows(m: usize, operands: &Operands<'_>) -> usize {
    if operands.sparse.is_some() { ROWS } else { m }
}

/// Whether there are registers of everything.
fn fits(halves: usize, blocks: usize, operands: &Operands<'_>, d: &[Sums]) -> bool {
    let Operands { a, b, c, .. } = operands;
    let all =
        [a.len(), c.len(), d.len()].iter().all(|&count| count > 0 && count.is_multiple_of(halves.max(1)));
    all && halves > 0
        && (1..=COLUMNS / 8).contains(&blocks)
        && !b.is_empty()
        && b.len().is_multiple_of(blocks)
        && d.len() == halves * blocks
}

/// See [`Order::Fours`].
fn fours(panel: &Panel<'_>, c: &[&Row], d: &mut [Sums]) -> bool {
    let product = FloatProduct { k: 4, n: 8, ..*panel.product };
    let four = |line: &Line, at: usize| {
        let mut part = Line::ZERO;
        part.set(0, line.0.as_chunks().0[at]);
        part
    };
    let mut sums = [Sums::ZERO; COLUMNS / 8];
    let parts = c.chunks_exact(4).zip(panel.b.chunks_exact(8)).zip(sums.iter_mut().zip(d));
    parts.into_iter().all(|((c, b), (first, d))| {
        let part = |at: usize, c: &[&Row], d: &mut Sums| {
            let a = panel.a.each_ref().map(|line| four(line, at));
            let b: [Line; 8] = std::array::from_fn(|column| four(&b[column], at));
            let rule = Rule { order: Order::Together, ..panel.rule };
            let panel = Panel { product: &product, rule, a: &a, b: &b, length: 4, places: None };
            panel::multiply(&panel, c, std::slice::from_mut(d))
        };
        part(0, c, first) && part(1, &first.0.each_ref(), d)
    })
}

/// See [`Order::Halves`].
fn in_halves(panel: &Panel<'_>, c: &[&Row], d: &mut [Sums]) -> bool {
    let product = FloatProduct { k: panel.product.k / 2, ..*panel.product };
    // A word holds four neighbours: of each sum two.
    let half = |line: &Line, shift: u32| {
        let mut part = Line::ZERO;
        for (word, pair) in part.0.iter_mut().zip(line.0.as_chunks::<2>().0) {
            *word = pair[0] >> shift & 0xffff | (pair[1] >> shift & 0xffff) << 16;
        }
        part
    };
    let mut sums = [Sums::ZERO; COLUMNS / 8];
    let Some(sums) = sums.get_mut(..d.len()) else { return false };
    let registers = c.len() / d.len().max(1);
    for shift in [0, 16] {
        let a = panel.a.each_ref().map(|line| half(line, shift));
        let mut b = [Line::ZERO; COLUMNS];
        let b = &mut b[..panel.b.len()];
        let places = panel.places.map(|places| {
            b.copy_from_slice(panel.b);
            let first = shift as usize / 8;
            places.map(|row| std::array::from_fn(|at| row[(at / 2 * 4 + at % 2 + first) % row.len()]))
        });
        if places.is_none() {
            b.iter_mut().zip(panel.b).for_each(|(part, line)| *part = half(line, shift));
        }
        let first = sums.to_vec();
        let before: Vec<&Row> = first.iter().flat_map(|sums| &sums.0[..registers]).collect();
        let length = if places.is_some() { panel.length } else { product.k };
        let panel = Panel { product: &product, a: &a, b, length, places: places.as_ref(), ..*panel };
        if !panel::multiply(&panel, &before, sums) {
            return false;
        }
    }
    for ((d, sums), c) in d.iter_mut().zip(sums).zip(c.chunks(registers)) {
        let narrow = product.d == Format::F16;
        for ((d, sum), c) in d.0.iter_mut().zip(&sums.0).zip(c) {
            *d = if narrow { halves_added(c, sum) } else { added(c, sum) };
        }
    }
    true
}
