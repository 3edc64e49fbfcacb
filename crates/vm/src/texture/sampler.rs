//! Coordinates to texels (PTX ISA section 5.3.2): filter and address modes.
//!
//! As an H200 has it, seen on recorded lookups: a normalized coordinate is cut to 21 binary digits behind the point
//! before it is multiplied by the size. For linear filtering the position between two texels' centres is rounded to
//! 1/256, halves up; whole steps give the texel, the rest its neighbour's weight. Wrapping and mirroring need normalized
//! coordinates and are clamping without. NaN is 0.

/// What coordinates out of range do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// They begin again.
    Wrap,
    /// They go back.
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
    /// By dimension.
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

/// Weights of all texels together.
pub const WHOLE: u32 = 256;

/// NaN and subnormal coordinates are 0.
#[inline(always)]
fn settled(coordinate: f32) -> f32 {
    if coordinate.abs() >= f32::MIN_POSITIVE { coordinate } else { 0.0 }
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
    /// A dimension of so many texels.
    pub fn new(size: u32, mode: AddressMode, normalized: bool) -> Axis {
        let mode = match mode {
            AddressMode::Wrap | AddressMode::Mirror if !normalized => AddressMode::Clamp,
            mode => mode,
        };
        Axis { size: i32::try_from(size).unwrap_or(i32::MAX).max(1), mode, normalized }
    }

    /// A normalized coordinate in units of 2^-21, made small where that changes nothing.
    #[inline(always)]
    fn fixed(&self, coordinate: f32) -> i64 {
        const UNIT: f32 = (1 << DIGITS) as f32;
        // Scaling by a power of two and rounding down are exact.
        let cut = |most: f32| (settled(coordinate).clamp(-most, most) * UNIT).floor() as i64;
        match self.mode {
            AddressMode::Wrap => cut(33_554_432.0) & ((1 << DIGITS) - 1),
            AddressMode::Mirror => cut(33_554_432.0) & ((2 << DIGITS) - 1),
            AddressMode::Clamp | AddressMode::Border => cut(128.0),
        }
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

    /// The texel that a coordinate is in, so many texels on.
    #[inline(always)]
    pub fn point(&self, coordinate: f32, offset: i32) -> Option<u32> {
        let index = match self.normalized {
            true => ((self.fixed(coordinate) * i64::from(self.size)) >> DIGITS) as i32,
            false => settled(coordinate).clamp(-1_048_576.0, 1_048_576.0).floor() as i32,
        };
        self.texel(index + offset)
    }

    /// The texels whose centres are around a coordinate, so many texels on.
    #[inline(always)]
    pub fn linear(&self, coordinate: f32, offset: i32) -> Neighbours {
        let position =
            match self.normalized {
                true => {
                    let scaled = (self.fixed(coordinate) * i64::from(self.size)) << 8;
                    ((scaled + (1 << (DIGITS - 1))) >> DIGITS) as i32 - 128
                }
                false => (f64::from(settled(coordinate).clamp(-1_048_576.0, 1_048_576.0)) * 256.0 - 127.5)
                    .floor() as i32,
            };
        let (first, weight) = ((position >> 8) + offset, (position & 255) as u32);
        if self.mode == AddressMode::Clamp && (first < 0 || first >= self.size - 1) {
            let edge = Some(if first < 0 { 0 } else { self.size as u32 - 1 });
            return Neighbours { texels: [edge; 2], weight: 0 };
        }
        Neighbours { texels: [self.texel(first), self.texel(first + 1)], weight }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn normalized_coordinates_have_21_digits() {
        // 0.5 + 2^-22 is cut to a half, which is between two texels of seven and not past the middle of the fourth.
        let axis = Axis::new(7, AddressMode::Wrap, true);
        assert_eq!(axis.linear(0.5 + 2f32.powi(-22), 0), axis.linear(0.5, 0));
        assert_ne!(axis.linear(0.313_337_06, 0).weight, 178);
    }
}
