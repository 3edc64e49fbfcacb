//! Levels of detail (PTX ISA section 9.7.10.2): which levels of a mipmap a lookup reads, and how much of each.
//!
//! A level of detail is kept in 256ths, cut. Between two levels it is their weight; the nearest level is the next one
//! from a half on.
//!
//! Of gradients it is what an H200 makes of them, bit for bit on millions of recorded lookups. Each gradient, in texels,
//! is a [`Short`] number. Their lengths and those of the two diagonals between them are sums of parts, the longest one
//! counts, and its logarithm comes from a table.

use super::sampler::Filter;
use super::short::Short;

/// Levels of detail for each level.
const STEPS: u32 = 256;

/// A level of detail in 256ths, within those that there are.
#[inline]
pub fn explicit(detail: f32, levels: u32) -> u32 {
    let most = (levels.max(1) - 1) as f32;
    // NaN is 0.
    (detail.max(0.0).min(most) * STEPS as f32) as u32
}

/// The first level to read, and the weight of the next one.
#[inline]
pub fn split(detail: u32, filter: Filter) -> (u32, u32) {
    match filter {
        Filter::Point => ((detail + STEPS / 2) / STEPS, 0),
        Filter::Linear => (detail / STEPS, detail % STEPS),
    }
}

/// How far a lookup's neighbours are from it, in texels of the first level.
#[derive(Clone, Copy, Debug)]
pub struct Gradients {
    /// Along x of the screen, then along y; of each, by dimension.
    pub along: [[Short; 3]; 2],
    /// Both are in the same plane, so that there are diagonals between them.
    pub flat: bool,
}

/// The level of detail for gradients, within the levels that there are.
#[inline]
pub fn gradient(gradients: &Gradients, levels: u32) -> u32 {
    let [x, y] = gradients.along;
    let mut longest = length(x).larger(length(y));
    if gradients.flat {
        let diagonals = [false, true].map(|other| {
            diagonal(std::array::from_fn(|n| x[n].plus(if other { y[n].negated() } else { y[n] })))
        });
        longest = longest.larger(diagonals[0]).larger(diagonals[1]);
    }
    logarithm(longest).min((levels.max(1) - 1) * STEPS)
}

/// The largest part first.
fn sorted(parts: [Short; 3]) -> [Short; 3] {
    let mut sorted = parts.map(Short::magnitude);
    sorted.sort_by_key(|part| std::cmp::Reverse(part.size()));
    sorted
}

/// About the length of a vector: its largest part, 11/32 of the next and a quarter of the least.
fn length(parts: [Short; 3]) -> Short {
    let [most, middle, least] = sorted(parts);
    most.plus(middle.times(11, 3).shifted(-5).plus(least.shifted(-2)))
}

/// The length of a vector, times 11/16, for a root of a half. The factors of its parts are multiplied beforehand.
fn diagonal(parts: [Short; 3]) -> Short {
    let [most, middle, least] = sorted(parts);
    let others = middle.times(121, 6).shifted(-9).plus(least.times(11, 3).shifted(-6));
    most.times(11, 3).shifted(-4).plus(others)
}

/// The binary logarithm in 256ths; 0 below 1.
fn logarithm(number: Short) -> u32 {
    let exponent = u32::try_from(number.exponent()).unwrap_or(0);
    match number.exponent() >= 0 {
        true => exponent * STEPS + u32::from(LOGARITHMS[usize::from(number.fraction())]),
        false => 0,
    }
}

/// 256 times the binary logarithms of 1, 1 + 1/256 and so on. Most are those of the middle of a step, rounded.
#[rustfmt::skip]
const LOGARITHMS: [u8; 256] = [
    0, 2, 4, 5, 6, 8, 9, 11, 12, 13, 15, 16, 18, 19, 20, 22,
    23, 24, 26, 27, 28, 30, 31, 32, 34, 35, 36, 38, 39, 40, 42, 43,
    44, 45, 47, 48, 49, 50, 52, 53, 54, 55, 57, 58, 59, 60, 62, 63,
    64, 65, 66, 68, 69, 70, 71, 72, 74, 75, 76, 77, 78, 79, 81, 82,
    83, 84, 85, 86, 88, 89, 90, 91, 92, 93, 94, 95, 97, 98, 99, 100,
    101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116, 117,
    118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133,
    135, 136, 137, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149,
    150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 162, 163, 164,
    165, 166, 167, 168, 169, 170, 171, 172, 173, 173, 174, 175, 176, 177, 178, 179,
    180, 181, 181, 182, 183, 184, 185, 186, 187, 188, 188, 189, 190, 191, 192, 193,
    194, 195, 195, 196, 197, 198, 199, 200, 200, 201, 202, 203, 204, 205, 205, 206,
    207, 208, 209, 210, 210, 211, 212, 213, 214, 214, 215, 216, 217, 218, 218, 219,
    220, 221, 222, 222, 223, 224, 225, 226, 226, 227, 228, 229, 229, 230, 231, 232,
    233, 233, 234, 235, 236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244,
    245, 245, 246, 247, 248, 248, 249, 250, 251, 251, 252, 253, 253, 254, 255, 255,
];

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

    fn along(x: [f32; 3], y: [f32; 3], levels: u32) -> u32 {
        let along = [x, y].map(|parts| parts.map(Short::of));
        gradient(&Gradients { along, flat: true }, levels)
    }

    #[test]
    fn gradients_of_four_texels_are_two_levels_down() {
        assert_eq!(along([4.0, 0.0, 0.0], [0.0, 4.0, 0.0], 7), 512);
        assert_eq!(along([0.0, 4.0, 0.0], [0.0; 3], 7), 512);
        assert_eq!(along([0.5, 0.0, 0.0], [0.0, 0.25, 0.0], 7), 0);
        assert_eq!(along([1e9, 0.0, 0.0], [0.0; 3], 7), 6 * 256);
        assert_eq!(along([0.0, f32::NEG_INFINITY, 0.0], [0.0; 3], 7), 6 * 256);
        // Parallel ones add up to 11/8.
        assert_eq!(along([4.0, 0.0, 0.0], [4.0, 0.0, 0.0], 7), 512 + 118);
        assert_eq!(along([f32::NAN; 3], [f32::NAN; 3], 7), 0);
    }

    #[test]
    fn recorded_gradients_give_the_recorded_levels() {
        // Each on the edge between two levels of detail, where a digit more or less would be seen.
        let recorded = [
            ([-12.692_973, -4.436_834_3, 0.0], [-9.492_368, 3.444_952, 0.0], 1011),
            ([4.655_405_5, -8.876_795, 0.0], [-2.210_672, -7.028_383_7, 0.0], 901),
            ([10.290_815, -5.552_656, 0.0], [-7.727_895_7, -2.116_627_7, 0.0], 952),
            ([14.239_099, 3.621_420_6, 0.0], [14.740_89, -15.114_604, 0.0], 1151),
            ([3.061_048_5, 12.057_474, 0.0], [-10.066_938, 10.572_166, 0.0], 1051),
            ([-10.545_471, 6.138_677, 0.0], [-2.475_349_7, -14.115_427, 0.0], 1020),
            ([-2.379_382, 11.068_985, 0.0], [-9.731_781, -4.246_279_7, 0.0], 926),
            ([-2.723_798_8, -13.797_357, 0.0], [-13.448_528, 11.667_828, 0.0], 1107),
            ([-2.769_958_5, -6.070_235_3, -14.441_296], [15.023_349, -4.793_018, -14.659_103], 1186),
            ([-8.779_454, 6.746_760_4, 2.862_882], [2.757_093, 3.586_007, 7.134_913_4], 911),
            ([7.101_576_3, 3.779_801_4, 7.701_027_4], [-4.758_793_4, 6.615_405_6, -3.102_261_3], 892),
            ([3.259_069_2, -13.880_264, -5.656_574_7], [2.152_708_5, -15.257_281, 3.744_707_8], 1136),
        ];
        for (x, y, steps) in recorded {
            assert_eq!(along(x, y, 11), steps, "{x:?} {y:?}");
        }
    }
}
