//! Products of matrices of ordinary numbers, sixteen columns at a time: the same bits as [`super::exact`].
//!
//! What is infinite, not a number, or so large or small that f32 could not hold a product, is left to `exact`: the
//! functions here then return `None`.

use super::exact::{canonical, half};
use super::lanes::{Addends, Factors, Sums, fits};
use super::rules::Rule;
use crate::matrix::FloatProduct;
use softwarp_num::{Format, Vectorise, vectorised};

/// How many columns are worked on together.
const WIDTH: usize = 16;

/// All of A·B + C in one sum.
pub fn together(
    product: &FloatProduct,
    rule: Rule,
    a: &[u32],
    b: &[u32],
    c: &[u32],
    d: &mut [u32],
) -> Option<()> {
    if product.c != product.d || product.k == 0 || product.n == 0 || !fits(rule, product.k) {
        return None;
    }
    vectorised(Together { product, rule, a, b, c, d })
}

struct Together<'a> {
    product: &'a FloatProduct,
    rule: Rule,
    a: &'a [u32],
    b: &'a [u32],
    c: &'a [u32],
    d: &'a mut [u32],
}

impl Vectorise for Together<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn run(self) -> Option<()> {
        let FloatProduct { n, k, .. } = *self.product;
        // Rows of B, cut into pieces of so many columns.
        let mut b = Vec::with_capacity(n.div_ceil(WIDTH) * k);
        for columns in self.b.chunks(WIDTH * k) {
            for at in 0..k {
                let mut words = [0; WIDTH];
                for (word, column) in words.iter_mut().zip(columns.chunks_exact(k)) {
                    *word = column[at];
                }
                b.push(factors(self.product.b, words)?);
            }
        }
        let mut a = Vec::with_capacity(k);
        for ((row, c), d) in
            self.a.chunks_exact(k).zip(self.c.chunks_exact(n)).zip(self.d.chunks_exact_mut(n))
        {
            a.clear();
            for word in row {
                a.push(factors(self.product.a, [*word; WIDTH])?);
            }
            for ((b, c), d) in b.chunks_exact(k).zip(c.chunks(WIDTH)).zip(d.chunks_mut(WIDTH)) {
                let mut words = [0; WIDTH];
                words[..c.len()].copy_from_slice(c);
                let codes = match self.product.d {
                    Format::F16 => Sums::of(&a, b, &Addends::f16(&words)?, self.rule).to_f16(),
                    _ => Sums::of(&a, b, &Addends::f32(&words)?, self.rule).to_f32(self.rule.mantissa),
                };
                d.copy_from_slice(&codes[..d.len()]);
            }
        }
        Some(())
    }
}

/// Factors of a format.
#[inline(always)]
fn factors(format: Format, words: [u32; WIDTH]) -> Option<Factors<WIDTH>> {
    match format {
        Format::F16 => Factors::f16(&words),
        Format::Bf16 => Factors::f32(&words.map(|word| word << 16)),
        Format::Tf32 => Factors::f32(&words.map(|word| word & !0x1fff)),
        // e5m2 is the upper half of f16, with the same exponents.
        Format::E5m2 => Factors::f16(&words.map(|word| word << 8)),
        Format::E4m3 => Factors::e4m3(&words),
        _ => None,
    }
}

/// See [`super::rules::Order::Halves`].
pub fn halves(
    product: &FloatProduct,
    rule: Rule,
    a: &[u32],
    b: &[u32],
    c: &[u32],
    d: &mut [u32],
) -> Option<()> {
    let FloatProduct { m, n, k, .. } = *product;
    let widened = |format: Format, codes: &[u32], first: bool| -> Vec<u32> {
        let chosen = codes.iter().enumerate().filter(|(at, _)| (at % k % 4 < 2) == first);
        chosen.map(|(_, code)| half(format.decode((*code).into()))).collect()
    };
    if k == 0 || k % 4 != 0 {
        return None;
    }
    let step = FloatProduct { a: Format::F16, b: Format::F16, c: product.d, k: k / 2, ..*product };
    let (zero, mut first, mut sum) = (vec![0; m * n], vec![0; m * n], vec![0; m * n]);
    together(&step, rule, &widened(product.a, a, true), &widened(product.b, b, true), &zero, &mut first)?;
    together(&step, rule, &widened(product.a, a, false), &widened(product.b, b, false), &first, &mut sum)?;
    for ((d, c), sum) in d.iter_mut().zip(c).zip(sum) {
        *d = match product.d {
            Format::F16 => half(Format::F16.decode((*c).into()) + Format::F16.decode(sum.into())),
            _ => canonical(f32::from_bits(*c) + f32::from_bits(sum)),
        };
    }
    Some(())
}
