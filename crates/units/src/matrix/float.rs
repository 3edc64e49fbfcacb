//! Products of floating-point matrices, rounded as the H200's tensor cores round them.
//!
//! PTX ISA section 9.7.14 leaves the order, precision and rounding of the sums open. What is here was found by
//! recording results (`docs/matrix-rounding.md` tells the rules and what they were held against):
//!
//! - [`rules`] says for each unit and format how a sum is made,
//! - [`number`] takes codes apart and puts results together,
//! - [`exact`] follows the rules for any shape and format, in integers: what everything else is held against,
//! - [`lanes`] gives the same bits for numbers inside the fast range, many sums at a time,
//! - [`quick`] does so for matrices, and [`fragment`] for the registers of a warp, with [`wide`] where there is AVX-512,
//! - [`panel`] does so for sixteen rows and many columns, sparse ones too, with [`wide_panel`] where there is AVX-512.

pub mod exact;
#[cfg(target_arch = "x86_64")]
mod fast_range;
pub mod fragment;
pub mod lanes;
pub mod number;
pub mod panel;
pub mod quick;
pub mod rules;
#[cfg(target_arch = "x86_64")]
pub mod wide;
#[cfg(target_arch = "x86_64")]
pub mod wide_panel;

use super::{FloatProduct, Scales};
use rules::{Order, Rule};

/// D = A·B + C. `a` has m·k elements, row by row; `b` n·k, column by column (`k` runs fastest); `c` and `d` m·n, row
/// by row. An element is its format's bits.
pub fn multiply(
    product: &FloatProduct,
    a: &[u32],
    b: &[u32],
    c: &[u32],
    d: &mut [u32],
    scales: Option<&Scales<'_>>,
) {
    let rule = Rule::of(product);
    let done = match rule.order {
        Order::Together if scales.is_none() => quick::together(product, rule, a, b, c, d),
        Order::Halves => quick::halves(product, rule, a, b, c, d),
        Order::Sequential => quick::sequential(product, a, b, c, d),
        _ => None,
    };
    if done.is_none() {
        exact::multiply(product, rule, a, b, c, d, scales);
    }
}
