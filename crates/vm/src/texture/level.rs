//! Levels of detail (PTX ISA section 9.7.10.2): which levels of a mipmap a lookup reads, and how much of each.
//!
//! A level of detail is kept in 256ths, cut. Between two levels it is their weight; the nearest level is the next one
//! from a half on.

use super::sampler::Filter;

/// Levels of detail for each level.
const STEPS: u32 = 256;

/// A level of detail in 256ths, within those that there are.
pub fn explicit(detail: f32, levels: u32) -> u32 {
    let most = (levels.max(1) - 1) as f32;
    // NaN is 0.
    (detail.max(0.0).min(most) * STEPS as f32) as u32
}

/// The first level to read, and the weight of the next one.
pub fn split(detail: u32, filter: Filter) -> (u32, u32) {
    match filter {
        Filter::Point => ((detail + STEPS / 2) / STEPS, 0),
        Filter::Linear => (detail / STEPS, detail % STEPS),
    }
}

/// The level of detail for gradients that are in texels of the first level: along x of the screen, then along y.
pub fn gradient(along: [[f32; 3]; 2], levels: u32) -> u32 {
    let length = |parts: [f32; 3]| {
        let mut sorted = parts.map(|part| f64::from(if part.is_nan() { 0.0 } else { part.abs() }));
        sorted.sort_by(f64::total_cmp);
        sorted[2] + (sorted[1] + sorted[0]) * (11.0 / 32.0)
    };
    let [x, y] = along.map(length);
    let size = x.max(y).max((x + y) * (11.0 / 16.0));
    logarithm(size).min((levels.max(1) - 1) * STEPS)
}

/// The binary logarithm in 256ths, from a table of 256 rows; 0 below 1.
fn logarithm(value: f64) -> u32 {
    if value.is_nan() || value < 1.0 {
        return 0;
    }
    let exponent = (value.to_bits() >> 52) as u32 - 1023;
    let row = value.to_bits() >> 44 & 0xff;
    exponent.min(31) * STEPS + ((row as f64 / 256.0 + 1.0).log2() * 256.0).round() as u32
}
