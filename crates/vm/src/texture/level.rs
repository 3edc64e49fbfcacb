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
///
/// An H200 takes the longest of both, and of 11/16 of their sum and difference. Within 2/256 of a level of what it was
/// seen to give; the same where gradients are along an axis.
pub fn gradient(along: [[f32; 3]; 2], levels: u32) -> u32 {
    let [x, y] = along.map(|parts| parts.map(|part| if part.is_nan() { 0.0 } else { f64::from(part) }));
    let both = |f: fn(f64, f64) -> f64| length(std::array::from_fn(|n| f(x[n], y[n]))) * (11.0 / 16.0);
    let size = length(x).max(length(y)).max(both(|a, b| a + b)).max(both(|a, b| a - b));
    logarithm(size).min((levels.max(1) - 1) * STEPS)
}

/// The length of a vector, as adders have it: the largest part, 11/32 of the next and a quarter of the least, each with
/// nine digits behind the largest one's first.
fn length(parts: [f64; 3]) -> f64 {
    let mut sorted = parts.map(f64::abs);
    sorted.sort_by(f64::total_cmp);
    let [least, middle, most] = sorted;
    let digits = 2f64.powi(most.log2().floor().clamp(-1000.0, 1000.0) as i32 - 9);
    let cut = |part: f64| (part / digits).floor() * digits;
    if most == 0.0 || !most.is_finite() {
        most
    } else {
        cut(most) + cut(middle * (11.0 / 32.0)) + cut(least / 4.0)
    }
}

/// The binary logarithm in 256ths, from a table with a row for each of 256 steps; 0 below 1.
fn logarithm(value: f64) -> u32 {
    if value.is_nan() || value < 1.0 {
        return 0;
    }
    let exponent = (value.to_bits() >> 52) as u32 - 1023;
    let row = value.to_bits() >> 44 & 0xff;
    let step = match row {
        0 | 255 => row as u32,
        _ => (((row as f64 + 0.47) / 256.0 + 1.0).log2() * 256.0).round() as u32,
    };
    exponent.min(127) * STEPS + step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_detail_are_cut_and_stay_inside() {
        for (detail, steps) in [(0.0, 0), (-3.0, 0), (f32::NAN, 0), (1.5, 384), (2.7207, 696), (9.0, 1024)] {
            assert_eq!(explicit(detail, 5), steps, "{detail}");
        }
        assert_eq!(split(384, Filter::Point), (2, 0));
        assert_eq!(split(383, Filter::Point), (1, 0));
        assert_eq!(split(383, Filter::Linear), (1, 127));
    }

    #[test]
    fn gradients_of_four_texels_are_two_levels_down() {
        let along = |x: [f32; 3], y: [f32; 3]| gradient([x, y], 7);
        assert_eq!(along([4.0, 0.0, 0.0], [0.0, 4.0, 0.0]), 512);
        assert_eq!(along([0.0, 4.0, 0.0], [0.0; 3]), 512);
        assert_eq!(along([0.5, 0.0, 0.0], [0.0, 0.25, 0.0]), 0);
        assert_eq!(along([1e9, 0.0, 0.0], [0.0; 3]), 6 * 256);
        // Parallel ones add up to 11/8.
        assert_eq!(along([4.0, 0.0, 0.0], [4.0, 0.0, 0.0]), 512 + 118);
        assert_eq!(along([f32::NAN; 3], [f32::NAN; 3]), 0);
    }
}
