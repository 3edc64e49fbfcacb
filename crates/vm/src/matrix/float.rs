//! Products of floating-point matrices.
//!
//! A stand-in: one rounding to binary32 for each addition, in the order of `k`.

use super::{BlockScale, FloatProduct, Scales};
use softwarp_num::{Format, Rounding, Saturation};

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
    let FloatProduct { m, n, k, .. } = *product;
    let decode = |format: Format, code: u32| format.decode(code.into()) as f32;
    let block = product.scale.map_or(k, |scale| scale.block);
    for row in 0..m {
        for column in 0..n {
            let mut sum = decode(product.c, c[row * n + column]);
            for at in 0..k {
                let factor = decode(product.a, a[row * k + at]) * decode(product.b, b[column * k + at]);
                let scale = match (product.scale, scales) {
                    (Some(BlockScale { format, .. }), Some(scales)) => {
                        decode(format, scales.a[row * (k / block) + at / block])
                            * decode(format, scales.b[column * (k / block) + at / block])
                    }
                    _ => 1.0,
                };
                sum += factor * scale;
            }
            let encoded = product.d.encode(sum.into(), Rounding::NearestEven, Saturation::None);
            d[row * n + column] = encoded.unwrap_or(0) as u32;
        }
    }
}
