//! Sums in integers, element by element: any shape, any format, any value.

use super::number::{Number, Sum};
use super::rules::{Order, Rule};
use crate::matrix::{FloatProduct, Scales};
use softwarp_num::{Format, Rounding, Saturation};

/// D = A·B + C as [`super::multiply`].
pub fn multiply(
    product: &FloatProduct,
    rule: Rule,
    a: &[u32],
    b: &[u32],
    c: &[u32],
    d: &mut [u32],
    scales: Option<&Scales<'_>>,
) {
    let FloatProduct { n, k, .. } = *product;
    let take = |format, codes: &[u32]| codes.iter().map(|&code| taken(rule, format, code)).collect();
    let (a, b): (Vec<Number>, Vec<Number>) = (take(product.a, a), take(product.b, b));
    let blocks = product.scale.map_or(0, |scale| k / scale.block.max(1));
    let scale = |codes: &[u32], at: usize| -> Vec<Number> {
        let format = product.scale.map_or(Format::Ue8m0, |scale| scale.format);
        codes.iter().skip(at * blocks).take(blocks).map(|&code| Number::of(format, code)).collect()
    };
    for (row, (a, line)) in a.chunks_exact(k.max(1)).zip(d.chunks_exact_mut(n.max(1))).enumerate() {
        let of_row = scales.map_or(Vec::new(), |scales| scale(scales.a, row));
        for (column, (b, d)) in b.chunks_exact(k.max(1)).zip(line).enumerate() {
            let c = c[row * n + column];
            *d = match rule.order {
                Order::Together if of_row.is_empty() => together(product, rule, products(a, b), c),
                Order::Together => {
                    let of_column = scales.map_or(Vec::new(), |scales| scale(scales.b, column));
                    let scale = |at: usize| of_row[at / (k / blocks)].times(of_column[at / (k / blocks)]);
                    let products = products(a, b).enumerate();
                    together(product, rule, products.map(|(at, product)| product.times(scale(at))), c)
                }
                Order::Fours => (0..k).step_by(4).fold(c, |c, from| {
                    let four = from..(from + 4).min(k);
                    together(product, rule, products(&a[four.clone()], &b[four]), c)
                }),
                Order::Halves => halves(product, rule, a, b, c),
                Order::Sequential => sequential(product, a, b, c),
                Order::Blocks { group } => {
                    let of_column = scales.map_or(Vec::new(), |scales| scale(scales.b, column));
                    let groups = a.chunks(group).zip(b.chunks(group)).enumerate().map(|(at, (a, b))| {
                        let block = at * group / (k / blocks.max(1)).max(1);
                        let scale = of_row.get(block).zip(of_column.get(block));
                        scale.map_or(Number::Nan, |(row, column)| exactly(a, b).times(row.times(*column)))
                    });
                    together(product, rule, groups, c)
                }
            };
        }
    }
}

/// A factor as the unit takes it.
fn taken(rule: Rule, format: Format, code: u32) -> Number {
    match rule.order {
        // Every FP8 number is one of f16, where some that were subnormal are not.
        Order::Halves => {
            let value = format.decode(code.into());
            let half = Format::F16.encode(value, Rounding::NearestEven, Saturation::None);
            half.map_or(Number::Nan, |half| Number::of(Format::F16, half as u32))
        }
        _ => Number::of(format, code),
    }
}

fn products<'a>(a: &'a [Number], b: &'a [Number]) -> impl Iterator<Item = Number> + Clone + 'a {
    a.iter().zip(b).map(|(a, b)| a.times(*b))
}

/// C and products in one sum.
fn together(
    product: &FloatProduct,
    rule: Rule,
    products: impl Iterator<Item = Number> + Clone,
    c: u32,
) -> u32 {
    // Where one of C and D is f32, so is the sum, and the other is converted.
    let wide = product.c == Format::F32 || product.d == Format::F32;
    let c = if wide { Number::of(Format::F32, widened(product.c, c)) } else { Number::of(product.c, c) };
    let sum = Sum::of(products.chain([c]), rule.fraction);
    match (wide, product.d) {
        (false, _) => sum.to_f16(),
        (true, Format::F16) => half(f32::from_bits(sum.to_f32(rule.mantissa)).into()),
        (true, _) => sum.to_f32(rule.mantissa),
    }
}

/// See [`Order::Halves`].
fn halves(product: &FloatProduct, rule: Rule, a: &[Number], b: &[Number], c: u32) -> u32 {
    let narrow = product.d == Format::F16;
    let mut sum = Number::ZERO;
    let mut code = 0;
    for first in [true, false] {
        let half = products(a, b).enumerate().filter(move |(at, _)| (at % 4 < 2) == first);
        let whole = Sum::of(half.map(|(_, product)| product).chain([sum]), rule.fraction);
        code = if narrow { whole.to_f16() } else { whole.to_f32(rule.mantissa) };
        sum = Number::of(product.d, code);
    }
    if narrow {
        // Exact in f64, and so rounded once.
        let total = Format::F16.decode(c.into()) + Format::F16.decode(code.into());
        half(total)
    } else {
        canonical(f32::from_bits(c) + f32::from_bits(code))
    }
}

/// See [`Order::Sequential`].
fn sequential(product: &FloatProduct, a: &[Number], b: &[Number], c: u32) -> u32 {
    let c = f32::from_bits(widened(product.c, c));
    let value = |number: &Number| match *number {
        Number::Finite(x) => {
            let magnitude = x.significand as f32 * f32::powi(2.0, x.exponent - x.fraction);
            if x.negative { -magnitude } else { magnitude }
        }
        Number::Infinite { negative: false } => f32::INFINITY,
        Number::Infinite { negative: true } => f32::NEG_INFINITY,
        Number::Nan => f32::NAN,
    };
    let mut factors = a.iter().zip(b).map(|(a, b)| (value(a), value(b)));
    if product.d == Format::F16 {
        let mut pair = || {
            let [(a, b), (x, y)] = [factors.next(), factors.next()].map(|pair| pair.unwrap_or((0.0, 0.0)));
            x.mul_add(y, a * b)
        };
        let (first, last) = (pair(), pair());
        half((c + first + last).into())
    } else {
        canonical(c + factors.fold(0.0, |sum: f32, (a, b)| a.mul_add(b, sum)))
    }
}

/// The sum of products of FP4 numbers, which are few and all of one size.
fn exactly(a: &[Number], b: &[Number]) -> Number {
    match Sum::of(products(a, b), 32) {
        Sum::Finite { units, exponent } => Number::Finite(super::number::Finite {
            negative: units < 0,
            significand: units.unsigned_abs() >> (-exponent - 2).clamp(0, 63),
            exponent: 0,
            fraction: 2,
        }),
        _ => Number::Nan,
    }
}

/// A number of f16 or f32 as the code of f32.
fn widened(format: Format, code: u32) -> u32 {
    (format.decode(code.into()) as f32).to_bits()
}

/// Rounded to f16; NaN is 7fff.
pub fn half(x: f64) -> u32 {
    match Format::F16.encode(x, Rounding::NearestEven, Saturation::None) {
        Some(code) if !x.is_nan() => code as u32,
        _ => 0x7fff,
    }
}

/// The code of f32; NaN is 7fffffff.
pub fn canonical(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}
