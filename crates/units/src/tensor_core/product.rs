//! Sixteen rows of D = A·B + D in tensor memory.
//!
//! The sums are those of [`crate::matrix`], by the rule for tensor cores of this generation
//! (`docs/matrix-rounding.md`). D goes through the order of registers that [`panel`] works in.

use super::COLUMNS;
use super::element::Element;
use super::instruction::{Instruction, Scale};
use super::packed;
use crate::matrix::float::fragment::{Row, Sums};
use crate::matrix::float::panel::{self, Panel};
use crate::matrix::float::rules::Rule;
use crate::matrix::integer::{self, Factors, Int, IntegerProduct};
use crate::matrix::lines::{Line, Places, ROWS};
use crate::matrix::{self, BlockScale, FloatProduct, Scales, Unit};
use softwarp_num::Format;

/// A product without D.
#[derive(Clone, Copy, Debug)]
pub struct Product<'a> {
    /// What is multiplied.
    pub instruction: &'a Instruction,
    /// The rows of A.
    pub a: &'a [Line; ROWS],
    /// The columns of B: a multiple of eight.
    pub b: &'a [Line],
    /// If A is sparse: where in its row each stored element is.
    pub places: Option<&'a Places>,
    /// The scales of rows and columns, if there are any.
    pub scales: Option<Scales<'a>>,
    /// `enable-input-d`: D is added.
    pub adds: bool,
    /// `scale-input-d`: D is divided by this power of two before.
    pub scale_d: u32,
}

/// Buffers.
#[derive(Debug, Default)]
pub struct Scratch {
    c: Vec<Sums>,
    d: Vec<Sums>,
    elements: [Vec<u32>; 5],
    packed: packed::Scratch,
}

/// D in tensor memory: sixteen lanes of [`COLUMNS`] words, its first column, and the lanes that are written, a bit each.
#[derive(Debug)]
pub struct Block<'a> {
    /// The words of the lanes.
    pub words: &'a mut [u32],
    /// The first column.
    pub column: usize,
    /// The lanes that are written.
    pub written: u16,
}

/// D = A·B + D.
pub fn multiply(product: &Product<'_>, block: &mut Block<'_>, scratch: &mut Scratch) {
    if let (Element::Packed, Some(scales)) = (product.instruction.factors[0], product.scales) {
        return packed::multiply(product, &scales, block, &mut scratch.packed);
    }
    let narrow = product.instruction.d == Format::F16;
    let tiles = product.b.len() / 8;
    let Scratch { c, d, .. } = scratch;
    d.resize(tiles, Sums::ZERO);
    c.resize(tiles, Sums::ZERO);
    if product.adds {
        gather(block, narrow, c);
        if product.scale_d != 0 {
            divide(c, narrow, product.scale_d);
        }
    }
    let done = match (product.instruction.factors, product.scales) {
        ([Element::Integer { signed: a }, Element::Integer { signed: b }], _) => {
            integers(product, [a, b], c, d)
        }
        (_, Some(scales)) => rescaled(product, &scales, c, d),
        _ => floats(product, &float_product(product, None), registers(product, c), d),
    };
    if !done {
        if product.adds && product.scales.is_some() {
            // It was divided by the scales.
            gather(block, narrow, &mut scratch.c);
        }
        by_elements(product, scratch);
    }
    scatter(&scratch.d, narrow, block);
}

/// The registers of C; none if it is not added.
fn registers<'a>(product: &Product<'_>, c: &'a [Sums]) -> Vec<&'a Row> {
    let each = if product.instruction.d == Format::F16 { 2 } else { 4 };
    match product.adds {
        true => c.iter().flat_map(|sums| &sums.0[..each]).collect(),
        false => Vec::new(),
    }
}

/// The product of floating-point numbers.
fn float_product(product: &Product<'_>, scale: Option<BlockScale>) -> FloatProduct {
    let it = product.instruction;
    FloatProduct {
        unit: Unit::Tcgen05,
        a: it.factors[0].format(),
        b: it.factors[1].format(),
        c: it.d,
        d: it.d,
        m: ROWS,
        n: product.b.len(),
        k: it.stored(),
        sparse: it.sparse,
        scale,
    }
}

/// Without scales, for numbers inside the fast range.
fn floats(product: &Product<'_>, of: &FloatProduct, c: Vec<&Row>, d: &mut [Sums]) -> bool {
    let Product { instruction, a, b, places, .. } = *product;
    panel::multiply(&Panel { product: of, rule: Rule::of(of), a, b, length: instruction.k, places }, &c, d)
}

/// With one scale for each row and column: C is divided by both, and the sums are multiplied, which changes exponents
/// only. If that is not done here, C and D are not to be used.
fn rescaled(product: &Product<'_>, scales: &Scales<'_>, c: &mut [Sums], d: &mut [Sums]) -> bool {
    const MOST: i32 = 100;
    let n = product.b.len();
    let known =
        |codes: &[u32]| codes.iter().all(|&code| (127 - MOST / 2..=127 + MOST / 2).contains(&(code as i32)));
    if scales.a.len() != ROWS || scales.b.len() != n || !known(scales.a) || !known(scales.b) {
        return false;
    }
    let power = |row: usize, column: usize| scales.a[row] as i32 + scales.b[column] as i32 - 254;
    let mut inside = true;
    let mut scaled = |word: &mut u32, power: i32| {
        let exponent = (*word >> 23 & 0xff) as i32;
        if *word << 1 != 0 {
            inside &= (127 - MOST..=127 + MOST).contains(&(exponent + power)) && (1..255).contains(&exponent);
            *word = word.wrapping_add_signed(power << 23);
        }
    };
    if product.adds {
        each_element(c, |row, column, word| scaled(word, -power(row, column)));
    }
    let of = float_product(product, None);
    if !floats(product, &of, registers(product, c), d) {
        return false;
    }
    each_element(d, |row, column, word| scaled(word, power(row, column)));
    inside
}

/// Visits the words of registers of f32: the row, the column and the word.
fn each_element(sums: &mut [Sums], mut f: impl FnMut(usize, usize, &mut u32)) {
    for (tile, sums) in sums.iter_mut().enumerate() {
        for (register, row) in sums.0.iter_mut().enumerate() {
            for (lane, word) in row.iter_mut().enumerate() {
                f(register / 2 * 8 + lane / 4, tile * 8 + lane % 4 * 2 + register % 2, word);
            }
        }
    }
}

/// Integers.
fn integers(product: &Product<'_>, signed: [bool; 2], c: &[Sums], d: &mut [Sums]) -> bool {
    let of = integer_product(product, signed);
    integer::panel(&of, product.a, product.b, product.places, &registers(product, c), d)
}

fn integer_product(product: &Product<'_>, signed: [bool; 2]) -> IntegerProduct {
    let [a, b] = signed.map(|signed| Int { bits: 8, signed });
    IntegerProduct {
        factors: Factors::Integers(a, b),
        saturate: product.instruction.saturate,
        m: ROWS,
        n: product.b.len(),
        k: product.instruction.stored(),
    }
}

/// D by elements, row by row: any numbers.
fn by_elements(product: &Product<'_>, scratch: &mut Scratch) {
    let it = product.instruction;
    let narrow = it.d == Format::F16;
    let (n, stored, k) = (product.b.len(), it.stored(), it.k);
    let [bits_a, bits_b] = it.factors.map(Element::bits);
    let Scratch { c, d, elements: [a, b, chosen, before, after], .. } = scratch;
    b.clear();
    b.resize(n * k, 0);
    for (line, elements) in product.b.iter().zip(b.chunks_exact_mut(k)) {
        line.elements(bits_b, elements);
    }
    a.clear();
    a.resize(stored, 0);
    for matrix in [&mut *before, &mut *after] {
        matrix.clear();
        matrix.resize(n, 0);
    }
    chosen.resize(n * stored, 0);
    let scale = it.scale.map(|Scale { format, count, .. }| BlockScale { format, block: stored / count });
    for (row, line) in product.a.iter().enumerate() {
        line.elements(bits_a, a);
        if product.adds {
            (0..n).for_each(|column| before[column] = element(c, narrow, row, column));
        }
        let b = match product.places {
            None => &**b,
            Some(places) => {
                let places = &places[row];
                for (elements, chosen) in b.chunks_exact(k).zip(chosen.chunks_exact_mut(stored)) {
                    chosen.iter_mut().zip(places).for_each(|(to, &at)| *to = elements[usize::from(at) % k]);
                }
                &**chosen
            }
        };
        match it.factors {
            [Element::Integer { signed: x }, Element::Integer { signed: y }] => {
                let of = IntegerProduct { m: 1, ..integer_product(product, [x, y]) };
                integer::multiply(&of, a, b, before, after);
            }
            _ => {
                let of = FloatProduct { m: 1, ..float_product(product, scale) };
                let of_row = product.scales.zip(it.scale).map(|(scales, Scale { count, .. })| Scales {
                    a: &scales.a[row * count..][..count],
                    b: scales.b,
                });
                matrix::multiply(&of, a, b, before, after, of_row.as_ref());
            }
        }
        (0..n).for_each(|column| set_element(d, narrow, row, column, after[column]));
    }
}

/// Where an element of D is: the tile, the register, the lane, and how far up in the word.
fn place(narrow: bool, row: usize, column: usize) -> (usize, usize, usize, usize) {
    let lane = row % 8 * 4 + column % 8 / 2;
    match narrow {
        true => (column / 8, row / 8, lane, column % 2 * 16),
        false => (column / 8, row / 8 * 2 + column % 2, lane, 0),
    }
}

fn element(sums: &[Sums], narrow: bool, row: usize, column: usize) -> u32 {
    let (tile, register, lane, shift) = place(narrow, row, column);
    let word = sums[tile].0[register][lane] >> shift;
    if narrow { word & 0xffff } else { word }
}

fn set_element(sums: &mut [Sums], narrow: bool, row: usize, column: usize, value: u32) {
    let (tile, register, lane, shift) = place(narrow, row, column);
    let word = &mut sums[tile].0[register][lane];
    *word = if narrow { *word & !(0xffff << shift) | (value & 0xffff) << shift } else { value };
}

/// Takes D from tensor memory. Of f16, the low half of a word has an element.
fn gather(block: &Block<'_>, narrow: bool, into: &mut [Sums]) {
    for (row, words) in block.words.chunks_exact(COLUMNS).take(ROWS).enumerate() {
        let (half, lane) = (row / 8, row % 8 * 4);
        for (sums, words) in into.iter_mut().zip(words[block.column..].as_chunks::<8>().0) {
            let [w0, w1, w2, w3, w4, w5, w6, w7] = *words;
            if narrow {
                let pairs = [[w0, w1], [w2, w3], [w4, w5], [w6, w7]];
                let words = pairs.map(|[low, high]| low & 0xffff | high << 16);
                sums.0[half][lane..lane + 4].copy_from_slice(&words);
            } else {
                sums.0[half * 2][lane..lane + 4].copy_from_slice(&[w0, w2, w4, w6]);
                sums.0[half * 2 + 1][lane..lane + 4].copy_from_slice(&[w1, w3, w5, w7]);
            }
        }
    }
}

/// Puts D into tensor memory.
fn scatter(from: &[Sums], narrow: bool, block: &mut Block<'_>) {
    let Block { words, column, written } = block;
    for (row, words) in words.chunks_exact_mut(COLUMNS).take(ROWS).enumerate() {
        if *written >> row & 1 == 0 {
            continue;
        }
        let (half, lane) = (row / 8, row % 8 * 4);
        for (sums, words) in from.iter().zip(words[*column..].as_chunks_mut::<8>().0) {
            for pair in 0..4 {
                let [low, high] = match narrow {
                    true => {
                        let word = sums.0[half][lane + pair];
                        [word & 0xffff, word >> 16]
                    }
                    false => [sums.0[half * 2][lane + pair], sums.0[half * 2 + 1][lane + pair]],
                };
                [words[pair * 2], words[pair * 2 + 1]] = [low, high];
            }
        }
    }
}

/// Divides C by a power of two. What becomes subnormal is cut toward zero.
fn divide(c: &mut [Sums], narrow: bool, power: u32) {
    for word in c.iter_mut().flat_map(|sums| sums.0.as_flattened_mut()) {
        *word = match narrow {
            true => halved(*word & 0xffff, 10, 5, power) | halved(*word >> 16, 10, 5, power) << 16,
            false => halved(*word, 23, 8, power),
        };
    }
}

/// A number of a format with such a mantissa and exponent, divided by a power of two and cut toward zero.
fn halved(code: u32, mantissa: u32, exponent: u32, power: u32) -> u32 {
    let sign = code & 1 << (mantissa + exponent);
    let magnitude = code ^ sign;
    let field = magnitude >> mantissa;
    if field == (1 << exponent) - 1 || magnitude == 0 {
        return code;
    }
    if field > power {
        return code - (power << mantissa);
    }
    let significand = if field == 0 { magnitude } else { magnitude & ((1 << mantissa) - 1) | 1 << mantissa };
    sign | significand.checked_shr(power + 1 - field.max(1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_halved_and_cut() {
        for power in 0..16 {
            for value in [1.0f32, -3.5, 1e-38, -1e-40, 0.0, 1e30] {
                let exact = f64::from(value) / f64::from(1 << power);
                let found = f32::from_bits(halved(value.to_bits(), 23, 8, power));
                assert!((f64::from(found) - exact).abs() < f64::from(f32::from_bits(1)), "{value} {power}");
                assert!(f64::from(found).abs() <= exact.abs());
            }
        }
        assert_eq!(halved(0x3c00, 10, 5, 15), 0x0200);
        assert_eq!(halved(0x7c00, 10, 5, 3), 0x7c00);
    }
}
