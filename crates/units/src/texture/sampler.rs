//! Coordinates to texels (PTX ISA section 5.3.2): filter and address modes.
//!
//! As an H200 has it, seen on recorded lookups: a normalized coordinate is cut to 21 binary digits behind the point
//! before it is multiplied by the size. For linear filtering the position between two texels' centres is rounded to
//! 1/256, halves up; whole steps give the texel, the rest its neighbour's weight. Wrapping and mirroring need normalized
//! coordinates and are clamping without. NaN is 0.

#![allow(
    clippy::needless_range_loop,
    reason = "several arrays side by side, and loops that must become vectors"
)]

use crate::lanes::LANES;
use softwarp_num::{Vectorise, vectorised};

/// What coordinates out of range do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// They wrap around: the texture is repeated.
    Wrap,
    /// They are reflected: the texture is repeated mirrored.
    Mirror,
    /// They stay at the edge.
    #[default]
    Clamp,
    /// They give the border colour.
    Border,
}

/// How values are computed from texels, and from levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The one where the coordinate is.
    #[default]
    Point,
    /// A mean of those around it.
    Linear,
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampler {
    /// The address mode of each dimension.
    pub address: [AddressMode; 3],
    /// Within a level.
    pub filter: Filter,
    /// Between levels.
    pub mip_filter: Filter,
    /// Coordinates go from 0 to 1.
    pub normalized: bool,
    /// Coordinates count texels, whatever a texture says: of samplers of their own.
    pub force_unnormalized: bool,
    /// What lies outside, where it does.
    pub border: [f32; 4],
}

/// Binary digits of a normalized coordinate behind the point.
const DIGITS: u32 = 21;

/// Coordinates that count texels are outside of everything here.
const FARTHEST: f32 = 1_048_576.0;

/// Weights of all texels together.
pub const WHOLE: u32 = 256;

/// NaN and subnormal coordinates are 0.
#[inline(always)]
fn settled(coordinate: f32) -> f32 {
    if coordinate.abs() >= f32::MIN_POSITIVE { coordinate } else { 0.0 }
}

/// A whole number below 2^31 as an integer. Adding this much leaves it in the low bits of the sum; vectors have no
/// instruction for what `as` does with numbers that are too large.
#[inline(always)]
fn integer(whole: f32) -> i32 {
    const UNITS: f64 = 6_755_399_441_055_744.0;
    (f64::from(whole) + UNITS).to_bits() as i32
}

/// A dimension of a level, and what coordinates do there.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    size: i32,
    mode: AddressMode,
    normalized: bool,
}

/// Two neighbours of a coordinate, and the second one's weight; `None` for the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// Both.
    pub texels: [Option<u32>; 2],
    /// Of 256.
    pub weight: u32,
}

impl Axis {
    /// A dimension of a given number of texels.
    #[inline]
    pub fn new(size: u32, mode: AddressMode, normalized: bool) -> Axis {
        let mode = match mode {
            AddressMode::Wrap | AddressMode::Mirror if !normalized => AddressMode::Clamp,
            mode => mode,
        };
        Axis { size: i32::try_from(size).unwrap_or(i32::MAX).max(1), mode, normalized }
    }

    /// A normalized coordinate in units of 2^-21, made small where that changes nothing.
    #[inline(always)]
    fn fixed(&self, coordinate: f32) -> i32 {
        const UNIT: f32 = (1 << DIGITS) as f32;
        // Scaling by a power of two and rounding down are exact, and so is what is left of whole numbers.
        let cut = |most: f32| (settled(coordinate).clamp(-most, most) * UNIT).floor();
        let rest = |number: f32, period: f32| integer(number - (number / period).floor() * period);
        match self.mode {
            AddressMode::Wrap => rest(cut(33_554_432.0), UNIT),
            AddressMode::Mirror => rest(cut(33_554_432.0), 2.0 * UNIT),
            // Far outside, with any offset.
            AddressMode::Clamp | AddressMode::Border => integer(cut(32.0)),
        }
    }

    /// The number of the texel that a coordinate is in.
    #[inline(always)]
    fn whole(&self, coordinate: f32) -> i32 {
        match self.normalized {
            true => ((i64::from(self.fixed(coordinate)) * i64::from(self.size)) >> DIGITS) as i32,
            false => integer(settled(coordinate).clamp(-FARTHEST, FARTHEST).floor()),
        }
    }

    /// How far a coordinate is from the first texel's centre, in 256ths of a texel, halves up.
    #[inline(always)]
    fn position(&self, coordinate: f32) -> i32 {
        let from_edge = match self.normalized {
            true => {
                let scaled = i64::from(self.fixed(coordinate)) * i64::from(self.size);
                ((scaled + (1 << (DIGITS - 9))) >> (DIGITS - 8)) as i32
            }
            false => {
                let scaled = settled(coordinate).clamp(-FARTHEST, FARTHEST) * 256.0;
                let whole = scaled.floor();
                // Inexact only for small negative numbers, whose rest is more than a half anyway.
                integer(whole) + i32::from(scaled - whole >= 0.5)
            }
        };
        from_edge - 128
    }

    /// The texel with a number, or the border.
    #[inline(always)]
    fn texel(&self, index: i32) -> Option<u32> {
        if (0..self.size).contains(&index) {
            return Some(index as u32);
        }
        Some(match self.mode {
            AddressMode::Wrap => index.rem_euclid(self.size) as u32,
            AddressMode::Mirror => {
                let twice = index.rem_euclid(2 * self.size);
                twice.min(2 * self.size - 1 - twice) as u32
            }
            AddressMode::Clamp => index.clamp(0, self.size - 1) as u32,
            AddressMode::Border => return None,
        })
    }

    /// The texel that a coordinate is in, a given number of texels on.
    #[inline(always)]
    pub fn point(&self, coordinate: f32, offset: i32) -> Option<u32> {
        self.texel(self.whole(coordinate) + offset)
    }

    /// The texels whose centres are around a coordinate, a given number of texels on.
    #[inline(always)]
    pub fn linear(&self, coordinate: f32, offset: i32) -> Neighbours {
        let position = self.position(coordinate);
        let (first, weight) = ((position >> 8) + offset, (position & 255) as u32);
        if self.mode == AddressMode::Clamp && (first < 0 || first >= self.size - 1) {
            let edge = Some(if first < 0 { 0 } else { self.size as u32 - 1 });
            return Neighbours { texels: [edge; 2], weight: 0 };
        }
        Neighbours { texels: [self.texel(first), self.texel(first + 1)], weight }
    }

    /// The texel with a number that a coordinate without an offset can give; for the border, the nearest.
    #[inline(always)]
    fn near(&self, index: i32) -> u32 {
        let last = self.size - 1;
        let texel = match self.mode {
            // From -1 to the size.
            AddressMode::Wrap if index < 0 => last,
            AddressMode::Wrap if index > last => 0,
            AddressMode::Wrap => index,
            // From -1 to twice the size.
            AddressMode::Mirror if index > last => (2 * self.size - 1 - index).max(0),
            AddressMode::Mirror => index.max(0),
            AddressMode::Clamp | AddressMode::Border => index.clamp(0, last),
        };
        texel as u32
    }

    #[inline(always)]
    fn is_outside(&self, index: i32) -> bool {
        self.mode == AddressMode::Border && !(0..self.size).contains(&index)
    }

    /// What an axis does with the coordinates of a warp. Each mode has a loop of its own, with the mode as a constant.
    #[inline(always)]
    fn rows(self, filter: Filter, coordinates: &[u32; LANES]) -> Rows {
        use AddressMode::{Border, Clamp, Mirror, Wrap};
        let size = self.size;
        let is = |mode, normalized| Axis { size, mode, normalized }.rows_of(filter, coordinates);
        match (self.mode, self.normalized) {
            (Wrap, _) => is(Wrap, true),
            (Mirror, _) => is(Mirror, true),
            (Clamp, true) => is(Clamp, true),
            (Clamp, false) => is(Clamp, false),
            (Border, true) => is(Border, true),
            (Border, false) => is(Border, false),
        }
    }

    #[inline(always)]
    fn rows_of(self, filter: Filter, coordinates: &[u32; LANES]) -> Rows {
        let mut rows = Rows { texels: [[0; LANES]; 2], outside: [[false; LANES]; 2], weights: [0; LANES] };
        match filter {
            Filter::Point => {
                for lane in 0..LANES {
                    let index = self.whole(f32::from_bits(coordinates[lane]));
                    rows.texels[0][lane] = self.near(index);
                    rows.outside[0][lane] = self.is_outside(index);
                }
            }
            Filter::Linear => {
                for lane in 0..LANES {
                    let position = self.position(f32::from_bits(coordinates[lane]));
                    let first = position >> 8;
                    let edge = self.mode == AddressMode::Clamp && (first < 0 || first >= self.size - 1);
                    rows.texels[0][lane] = self.near(first);
                    rows.texels[1][lane] = self.near(first + 1);
                    rows.outside[0][lane] = self.is_outside(first);
                    rows.outside[1][lane] = self.is_outside(first + 1);
                    rows.weights[lane] = if edge { 0 } else { (position & 255) as u32 };
                }
            }
        }
        rows
    }
}

/// [`Neighbours`] for each lane of a warp; of a point filter, only the first ones.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Both, inside.
    pub texels: [[u32; LANES]; 2],
    /// Whether it is the border instead.
    pub outside: [[bool; LANES]; 2],
    /// Of 256, the second one's.
    pub weights: [u32; LANES],
}

impl Rows {
    /// Where coordinates are, without offsets.
    #[inline]
    pub fn of(axis: Axis, filter: Filter, coordinates: &[u32; LANES]) -> Rows {
        struct Work<'a>(Axis, Filter, &'a [u32; LANES]);
        impl Vectorise for Work<'_> {
            type Output = Rows;
            #[inline(always)]
            fn run(self) -> Rows {
                self.0.rows(self.1, self.2)
            }
        }
        vectorised(Work(axis, filter, coordinates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softwarp_num::splitmix::SplitMix64;

    #[test]
    fn normalized_coordinates_wrap_mirror_clamp_and_leave() {
        let at = |mode, x| Axis::new(4, mode, true).point(x, 0);
        for (x, wrap, mirror, clamp, border) in [
            (0.1, 0, 0, 0, Some(0)),
            (0.99, 3, 3, 3, Some(3)),
            (1.0, 0, 3, 3, None),
            (1.3, 1, 2, 3, None),
            (-0.1, 3, 0, 0, None),
            (-1.1, 3, 3, 0, None),
            (f32::NAN, 0, 0, 0, Some(0)),
            (f32::INFINITY, 0, 0, 3, None),
            (f32::NEG_INFINITY, 0, 0, 0, None),
        ] {
            assert_eq!(at(AddressMode::Wrap, x), Some(wrap), "wrap {x}");
            assert_eq!(at(AddressMode::Mirror, x), Some(mirror), "mirror {x}");
            assert_eq!(at(AddressMode::Clamp, x), Some(clamp), "clamp {x}");
            assert_eq!(at(AddressMode::Border, x), border, "border {x}");
        }
    }

    #[test]
    fn wrapping_without_normalized_coordinates_is_clamping() {
        for mode in [AddressMode::Wrap, AddressMode::Mirror] {
            let axis = Axis::new(8, mode, false);
            assert_eq!(
                (axis.point(-3.0, 0), axis.point(9.5, 0), axis.point(2.7, 1)),
                (Some(0), Some(7), Some(3))
            );
        }
    }

    #[test]
    fn weights_are_256ths_with_halves_up() {
        let axis = Axis::new(8, AddressMode::Clamp, false);
        let at = |x| axis.linear(x, 0);
        assert_eq!(at(2.5), Neighbours { texels: [Some(2), Some(3)], weight: 0 });
        assert_eq!(at(2.5 + 1.0 / 512.0).weight, 1);
        assert_eq!(at(2.5 + 0.99 / 512.0).weight, 0);
        assert_eq!(at(0.2), Neighbours { texels: [Some(0), Some(0)], weight: 0 });
        assert_eq!(at(7.9), Neighbours { texels: [Some(7), Some(7)], weight: 0 });
    }

    #[test]
    fn positions_are_what_wider_arithmetic_gives() {
        let mut random = SplitMix64::new(1);
        for n in 0..200_000 {
            let word = random.next_u32();
            // All magnitudes that matter, then halves of 256ths and their neighbours.
            let bits = if n % 2 == 0 { word & 0x8fff_ffff | 0x3000_0000 } else { word };
            let near = ((word >> 12) as i32 - (1 << 19)) as f32 / 512.0;
            let near = [near, near.next_up(), near.next_down()][n % 3];
            for coordinate in [f32::from_bits(bits), near] {
                let settled = f64::from(settled(coordinate));
                let axis = |mode, normalized| Axis::new(1500, mode, normalized);
                let counted = (settled.clamp(-1_048_576.0, 1_048_576.0) * 256.0 - 127.5).floor() as i32;
                assert_eq!(axis(AddressMode::Clamp, false).position(coordinate), counted, "{coordinate:e}");
                let cut = |most: f64| (settled.clamp(-most, most) * 2_097_152.0).floor() as i64;
                for (mode, fixed) in [
                    (AddressMode::Wrap, cut(33_554_432.0) & 0x1f_ffff),
                    (AddressMode::Mirror, cut(33_554_432.0) & 0x3f_ffff),
                    (AddressMode::Clamp, cut(32.0)),
                ] {
                    let position = ((((fixed * 1500) << 8) + (1 << 20)) >> 21) as i32 - 128;
                    assert_eq!(axis(mode, true).position(coordinate), position, "{mode:?} {coordinate:e}");
                }
            }
        }
    }

    #[test]
    fn normalized_coordinates_have_21_digits() {
        // 0.5 + 2^-22 is cut to a half, which is between two texels of seven and not past the middle of the fourth.
        let axis = Axis::new(7, AddressMode::Wrap, true);
        assert_eq!(axis.linear(0.5 + 2f32.powi(-22), 0), axis.linear(0.5, 0));
        assert_ne!(axis.linear(0.313_337_06, 0).weight, 178);
    }
}
