//! Products of matrices of numbers inside the fast range, sixteen columns at a time: the same bits as [`super::exact`].
//!
//! What is infinite, not a number, or so large or small that f32 could not hold a product, is left to `exact`: the
//! functions here then return `None`.

use super::exact::{canonical, half};
use super::lanes::{Addends, Factors, Words, fits, sums};
use super::rules::Rule;
use crate::matrix::FloatProduct;
use softwarp_num::half::{Binary16, Half, f16_of_e4m3, f16_of_e5m2};
use softwarp_num::{Avx2, Avx512, Format, Vectorise, vectorised};

/// How many columns are worked on together.
const WIDTH: usize = 16;

/// The most products that make a sum: those of FP8.
const LONGEST: usize = 32;

/// All of A·B + C in one sum.
pub fn together(
    product: &FloatProduct,
    rule: Rule,
    a: &[u32],
    b: &[u32],
    c: &[u32],
    d: &mut [u32],
) -> Option<()> {
    let known =
        |format| matches!(format, Format::F16 | Format::Bf16 | Format::Tf32 | Format::E5m2 | Format::E4m3);
    if !known(product.a)
        || !known(product.b)
        || product.c != product.d
        || product.k == 0
        || product.n == 0
        || product.k > LONGEST
        || !fits(rule, product.k)
    {
        return None;
    }
    // They take long to compile: with SSE2 alone, one serves all lengths.
    if cfg!(target_arch = "x86_64") && Avx2::current().is_none() {
        return Together::<LONGEST> { product, rule, a, b, c, d }.run();
    }
    match product.k {
        ..=8 => sized(Together::<8> { product, rule, a, b, c, d }),
        9..=16 => sized(Together::<16> { product, rule, a, b, c, d }),
        _ => sized(Together::<LONGEST> { product, rule, a, b, c, d }),
    }
}

/// Runs the loop at AVX2 or above, which is known to be there, or at the only level of another architecture.
#[inline(always)]
fn sized<const K: usize>(together: Together<'_, K>) -> Option<()> {
    match (Avx512::current(), Avx2::current()) {
        (Some(cpu), _) => cpu.run(together),
        (_, Some(cpu)) => cpu.run(together),
        _ if cfg!(target_arch = "x86_64") => None,
        _ => together.run(),
    }
}

/// Sums of at most that many products.
struct Together<'a, const K: usize> {
    product: &'a FloatProduct,
    rule: Rule,
    a: &'a [u32],
    b: &'a [u32],
    c: &'a [u32],
    d: &'a mut [u32],
}

impl<const K: usize> Vectorise for Together<'_, K> {
    type Output = Option<()>;

    #[inline(always)]
    fn run(self) -> Option<()> {
        let FloatProduct { n, k, .. } = *self.product;
        let narrow = self.product.d == Format::F16;
        // Columns of B, sixteen beside each other.
        let mut b = vec![Factors::<WIDTH, K>::ZERO; n.div_ceil(WIDTH)];
        let mut words = [0; WIDTH];
        for (b, columns) in b.iter_mut().zip(self.b.chunks(WIDTH * k)) {
            for at in 0..k {
                for (word, column) in words.iter_mut().zip(columns.chunks_exact(k)) {
                    *word = column[at];
                }
                taken(b, at, self.product.b, &words);
            }
        }
        let mut a = Factors::<K, 1>::ZERO;
        let mut factors = [0; K];
        let mut addends = Addends::ZERO;
        for ((row, c), d) in
            self.a.chunks_exact(k).zip(self.c.chunks_exact(n)).zip(self.d.chunks_exact_mut(n))
        {
            factors[..k].copy_from_slice(row);
            taken(&mut a, 0, self.product.a, &factors);
            for ((b, c), d) in b.iter().zip(c.chunks(WIDTH)).zip(d.chunks_mut(WIDTH)) {
                words[..c.len()].copy_from_slice(c);
                match narrow {
                    true => addends.take(Words::F16, &words),
                    false => addends.take(Words::F32, &words),
                }
                let codes = match narrow {
                    true => sums(b, &a, |at| (0, at), &addends, self.rule, true),
                    false => sums(b, &a, |at| (0, at), &addends, self.rule, false),
                };
                d.copy_from_slice(&codes[..d.len()]);
            }
        }
        let in_range = a.is_in_range() && addends.is_in_range() && b.iter().all(Factors::is_in_range);
        in_range.then_some(())
    }
}

/// Takes a column of factors.
#[inline(always)]
fn taken<const N: usize, const K: usize>(
    into: &mut Factors<N, K>,
    at: usize,
    format: Format,
    words: &[u32; N],
) {
    match format {
        Format::F16 => into.take(at, Words::F16, words),
        Format::Bf16 => into.take(at, Words::Bf16, words),
        Format::Tf32 => into.take(at, Words::Tf32, words),
        Format::E5m2 => into.take(at, Words::E5m2, words),
        _ => into.take(at, Words::E4m3, words),
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
    let factors = |format: Format, codes: &[u32], first: bool| -> Vec<u32> {
        let from = if first { 0 } else { 2 };
        let pairs = codes.chunks_exact(4).flat_map(|four| &four[from..from + 2]);
        match format {
            Format::E5m2 => pairs.map(|code| f16_of_e5m2(*code)).collect(),
            _ => pairs.map(|code| f16_of_e4m3(*code)).collect(),
        }
    };
    if k == 0 || k % 4 != 0 {
        return None;
    }
    let step = FloatProduct { a: Format::F16, b: Format::F16, c: product.d, k: k / 2, ..*product };
    let (zero, mut first, mut sum) = (vec![0; m * n], vec![0; m * n], vec![0; m * n]);
    together(&step, rule, &factors(product.a, a, true), &factors(product.b, b, true), &zero, &mut first)?;
    together(&step, rule, &factors(product.a, a, false), &factors(product.b, b, false), &first, &mut sum)?;
    for ((d, c), sum) in d.iter_mut().zip(c).zip(sum) {
        *d = match product.d {
            Format::F16 => half(Format::F16.decode((*c).into()) + Format::F16.decode(sum.into())),
            _ => canonical(f32::from_bits(*c) + f32::from_bits(sum)),
        };
    }
    Some(())
}

/// See [`super::rules::Order::Sequential`].
pub fn sequential(product: &FloatProduct, a: &[u32], b: &[u32], c: &[u32], d: &mut [u32]) -> Option<()> {
    let fits = product.a == Format::F16 && product.b == Format::F16 && (product.n, product.k) == (8, 4);
    fits.then(|| vectorised(Sequential { product, a, b, c, d }))
}

struct Sequential<'a> {
    product: &'a FloatProduct,
    a: &'a [u32],
    b: &'a [u32],
    c: &'a [u32],
    d: &'a mut [u32],
}

impl Vectorise for Sequential<'_> {
    type Output = ();

    /// Eight columns beside each other.
    #[inline(always)]
    fn run(self) {
        let mut b = [[0.0; 8]; 4];
        for (column, codes) in self.b.chunks_exact(4).enumerate().take(8) {
            b.iter_mut().zip(codes).for_each(|(b, &code)| b[column] = Binary16::widen(code as u16));
        }
        let widen = |code: u32| match self.product.c {
            Format::F16 => Binary16::widen(code as u16),
            _ => f32::from_bits(code),
        };
        let rows = self.a.as_chunks::<4>().0.iter();
        for ((a, c), d) in rows.zip(self.c.as_chunks::<8>().0).zip(self.d.as_chunks_mut::<8>().0) {
            let a = a.map(|code| Binary16::widen(code as u16));
            for column in 0..8 {
                let b = [b[0][column], b[1][column], b[2][column], b[3][column]];
                let c = widen(c[column]);
                d[column] = match self.product.d {
                    Format::F16 => {
                        let pair = |at: usize| a[at + 1].mul_add(b[at + 1], a[at] * b[at]);
                        Binary16::narrow(c + pair(0) + pair(2)).into()
                    }
                    _ => {
                        let sum = a.iter().zip(b).fold(0.0, |sum: f32, (a, b)| a.mul_add(b, sum));
                        canonical(c + sum)
                    }
                };
            }
        }
    }
}
