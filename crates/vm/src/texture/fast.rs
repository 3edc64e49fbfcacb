//! The lookups that programs do most, a warp at a time: two dimensions, one level, bytes or singles.
//!
//! The same results as [`super::sample`], which a test holds them to; what is the same for all lanes is found once.

use super::Geometry;
use super::filter::{SINGLE, aligned, fraction, single, spread};
use super::format::{Channel, Format};
use super::sample::View;
use super::sampler::{Axis, Filter, Neighbours};
use crate::lanes::{LANES, lanes};
use crate::memory::cell::{Cells, Unit};

/// A texel of a format that is done here.
trait Texel: Copy + Default {
    const BYTES: u64;

    fn load(cells: &Cells, at: u64) -> Self;

    /// As an instruction gets it.
    fn plain(self) -> [u32; 4];

    /// The mean of four.
    fn mean(texels: [Self; 4], weights: [u32; 4]) -> [u32; 4];
}

/// `u8x4`, as fractions.
#[derive(Clone, Copy, Default)]
struct Bytes(u32);

impl Texel for Bytes {
    const BYTES: u64 = 4;

    #[inline(always)]
    fn load(cells: &Cells, at: u64) -> Bytes {
        Bytes(u32::load(cells, at as usize))
    }

    #[inline(always)]
    fn plain(self) -> [u32; 4] {
        self.0.to_le_bytes().map(|code| Channel::U8.float(code.into()))
    }

    #[inline(always)]
    fn mean(texels: [Bytes; 4], weights: [u32; 4]) -> [u32; 4] {
        let parts = texels.map(|texel| texel.0.to_le_bytes());
        std::array::from_fn(|n| {
            let own = [0, 1, 2, 3].map(|tap: usize| (u32::from(parts[tap][n]), weights[tap]));
            fraction(Channel::U8, own.into_iter())
        })
    }
}

/// So many singles.
#[derive(Clone, Copy)]
struct Singles<const N: usize>([u32; N]);

impl<const N: usize> Default for Singles<N> {
    fn default() -> Singles<N> {
        Singles([0; N])
    }
}

impl<const N: usize> Texel for Singles<N> {
    const BYTES: u64 = 4 * N as u64;

    #[inline(always)]
    fn load(cells: &Cells, at: u64) -> Singles<N> {
        Singles(std::array::from_fn(|n| u32::load(cells, at as usize + 4 * n)))
    }

    #[inline(always)]
    fn plain(self) -> [u32; 4] {
        std::array::from_fn(|n| self.0.get(n).copied().unwrap_or(0))
    }

    #[inline(always)]
    fn mean(texels: [Singles<N>; 4], weights: [u32; 4]) -> [u32; 4] {
        let mut result = [0; 4];
        for (n, result) in result.iter_mut().enumerate().take(N) {
            let own = [0, 1, 2, 3].map(|tap: usize| (texels[tap].0[n], weights[tap]));
            *result = single(aligned(own.into_iter().filter(|&(_, weight)| weight > 0), SINGLE).0);
        }
        result
    }
}

/// Looks up all lanes at once, if the texture is one of those: whether it did.
pub fn look(
    view: &View<'_>,
    x: &[u32; LANES],
    y: &[u32; LANES],
    taking: u32,
    results: &mut [[u32; LANES]; 4],
) -> bool {
    let floats = view.format.channel == Channel::F32 || !view.integers;
    if view.geometry != Geometry::D2 || !floats {
        return false;
    }
    match view.format {
        Format { channel: Channel::U8, channels: 4 } => all::<Bytes>(view, x, y, taking, results),
        Format { channel: Channel::F32, channels: 1 } => all::<Singles<1>>(view, x, y, taking, results),
        Format { channel: Channel::F32, channels: 2 } => all::<Singles<2>>(view, x, y, taking, results),
        Format { channel: Channel::F32, channels: 4 } => all::<Singles<4>>(view, x, y, taking, results),
        _ => return false,
    }
    true
}

fn all<T: Texel>(
    view: &View<'_>,
    x: &[u32; LANES],
    y: &[u32; LANES],
    taking: u32,
    results: &mut [[u32; LANES]; 4],
) {
    let Some(level) = view.levels.first() else { return };
    let sampler = view.sampler;
    let axis = |n: usize| Axis::new(level.size[n], sampler.address[n], sampler.normalized);
    let (across, down) = (axis(0), axis(1));
    let read = |x: Option<u32>, y: Option<u32>| match (x, y) {
        (Some(x), Some(y)) => {
            T::load(view.cells, level.offset + u64::from(y) * level.pitch + u64::from(x) * T::BYTES)
        }
        _ => border::<T>(view),
    };
    for lane in lanes(taking) {
        let (x, y) = (f32::from_bits(x[lane]), f32::from_bits(y[lane]));
        let value = match sampler.filter {
            Filter::Point => read(across.point(x, 0), down.point(y, 0)).plain(),
            Filter::Linear => {
                let (x, y): (Neighbours, Neighbours) = (across.linear(x, 0), down.linear(y, 0));
                let weights = spread(256, x.weight, y.weight);
                let texels = [0, 1, 2, 3].map(|n: usize| read(x.texels[n & 1], y.texels[n >> 1]));
                T::mean(texels, weights)
            }
        };
        for (row, word) in results.iter_mut().zip(value) {
            row[lane] = word;
        }
    }
}

/// The border colour, as if it were in memory.
#[cold]
fn border<T: Texel>(view: &View<'_>) -> T {
    let Some(cells) = Cells::new(16) else { return T::default() };
    let bytes = view.format.channel.bytes() as usize;
    for (n, code) in view.border.iter().enumerate().take(usize::from(view.format.channels)) {
        cells.write((n * bytes) as u64, code.to_le_bytes().get(..bytes).unwrap_or(&[]));
    }
    T::load(&cells, 0)
}

#[cfg(test)]
mod tests {
    use super::super::array::{Array, ArrayDescription};
    use super::super::sample::{Place, border};
    use super::super::sampler::{AddressMode, Sampler};
    use super::*;

    #[test]
    fn a_warp_at_once_gets_what_its_lanes_would() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32
        };
        for name in ["u8x4", "f32x1", "f32x2", "f32x4"] {
            let format = Format::parse(name).unwrap();
            let size = [13, 7, 1];
            let shape =
                ArrayDescription { format, geometry: Geometry::D2, size, layers: 1, levels: 1, samples: 1 };
            let array = Array::new(shape).unwrap();
            let data: Vec<u8> = (0..array.level_bytes(0)).map(|_| random() as u8).collect();
            array.write(0, &data).unwrap();
            for filter in [Filter::Point, Filter::Linear] {
                for mode in [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Clamp, AddressMode::Border]
                {
                    let sampler = Sampler {
                        address: [mode; 3],
                        filter,
                        normalized: true,
                        border: [0.5, 2.0, -1.0, 0.25],
                        ..Sampler::default()
                    };
                    let view = View {
                        cells: &array.cells,
                        levels: &array.levels,
                        layers: 1,
                        samples: 1,
                        format,
                        geometry: Geometry::D2,
                        integers: false,
                        sampler: &sampler,
                        border: border(format, false, sampler.border),
                    };
                    let mut row = || std::array::from_fn(|_| (random() as f32 / 1e9 - 1.0).to_bits());
                    let (x, y): ([u32; LANES], [u32; LANES]) = (row(), row());
                    let mut results = [[0; LANES]; 4];
                    assert!(look(&view, &x, &y, u32::MAX, &mut results));
                    for lane in 0..LANES {
                        let at = [f32::from_bits(x[lane]), f32::from_bits(y[lane]), 0.0];
                        let alone = view.sample(&Place { at, ..Place::default() });
                        assert_eq!(results.map(|row| row[lane]), alone, "{name} {mode:?} {filter:?} {at:?}");
                    }
                }
            }
        }
    }
}
