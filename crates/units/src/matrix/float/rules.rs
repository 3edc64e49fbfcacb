//! How each unit adds up: the table that everything here follows.
//!
//! Rows that an H200 executes are from its results. The others, for formats that only later machines have, are from
//! what others have published about those.

use crate::matrix::{FloatProduct, Unit};
use softwarp_num::Format;

/// In which order products are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// C and all products in one sum.
    Together,
    /// A sum of C and the first four products, then one of that and the other four.
    Fours,
    /// Factors become f16. From zero, one sum of the products whose index modulo 4 is 0 or 1, one of the others and
    /// the first sum; C is then added as `add.rn` does.
    Halves,
    /// Without tensor cores, in f32, every operation rounded to nearest. For results in f32: fused, in the order of
    /// `k` from zero, then C is added. For f16: C, plus the first two products, plus the last two.
    Sequential,
    /// Products are added exactly in groups of that many, and multiplied by the group's scales; C and the groups are
    /// one sum.
    Blocks {
        /// How many products make a group.
        group: usize,
    },
}

/// The least exponent in whose scale a sum is made. Only products of bf16 and tf32 have less.
pub const LEAST: i32 = -133;

/// How a sum is made.
///
/// Every addend has a significand and an exponent, a product the sums and products of its factors': it lies in
/// [1, 4) and is not normalised. Subnormal numbers have the least normal exponent. All addends are written as
/// multiples of the largest exponent's power of two times 2^−`fraction`, cut toward zero, and added exactly. Zeros have
/// no exponent, and the largest counts as [`LEAST`] if it is less. The result is cut toward zero to f32, or rounded to nearest even to f16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The order of additions.
    pub order: Order,
    /// Bits of an addend that are kept after the largest addend's point.
    pub fraction: u32,
    /// Bits of the mantissa of a result in f32.
    pub mantissa: u32,
}

impl Rule {
    /// The rule for a product.
    pub fn of(product: &FloatProduct) -> Rule {
        let factors = [product.a, product.b];
        let eight = factors.iter().all(|factor| matches!(factor, Format::E4m3 | Format::E5m2));
        let (order, fraction, mantissa) = match (product.unit, factors, product.k) {
            (Unit::Wgmma, ..) if eight => (Order::Together, 13, 13),
            (Unit::Wgmma, ..) => (Order::Together, 25, 23),
            (Unit::Mma, ..) if eight && product.scale.is_none() => (Order::Halves, 25, 23),
            // `wmma.m16n16k8`; `mma.m16n8k8` is one sum.
            (Unit::Mma, [Format::Tf32, _], 8) if product.n == 16 => (Order::Fours, 25, 23),
            (Unit::Mma, [Format::F16, Format::F16], 4) => (Order::Sequential, 25, 23),
            // From documents:
            (Unit::Mma, [Format::E2m1, Format::E2m1], 64) if product.scale.is_some() => {
                (Order::Blocks { group: 16 }, 35, 23)
            }
            (Unit::Mma, ..) => (Order::Together, 25, 23),
            (Unit::Tcgen05, [Format::E2m1, Format::E2m1], _) => (Order::Blocks { group: 16 }, 35, 23),
            (Unit::Tcgen05, ..) => (Order::Together, 25, 23),
        };
        Rule { order, fraction, mantissa }
    }
}
