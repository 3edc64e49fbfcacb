//! The lookups that programs do most, a warp at a time: two dimensions, one level, bytes or singles.
//!
//! The same results as [`super::sample`], which a test holds them to; what is the same for all lanes is found once.

#![allow(
    clippy::needless_range_loop,
    reason = "several arrays side by side, and loops that must become vectors"
)]

use super::Geometry;
use super::filter::{SIGN, byte_means, single_means, spread};
use super::format::{Channel, Format};
use super::sample::View;
use super::sampler::{AddressMode, Axis, Filter, Rows, WHOLE};
use softwarp_num::{Vectorise, vectorised};
use softwarp_units::lanes::{LANES, has_lane};
use std::hint::select_unpredictable;
use std::sync::atomic::{AtomicU32, Ordering};

/// Looks up all lanes at once, if the texture is one of those: whether it did.
pub fn look(
    view: &View<'_>,
    x: &[u32; LANES],
    y: &[u32; LANES],
    taking: u32,
    results: &mut [[u32; LANES]; 4],
) -> bool {
    let floats = view.format.channel == Channel::F32 || !view.integers;
    // With linear filtering only between levels, one texel is a mean.
    let mean_of_one = view.sampler.filter != view.sampler.mip_filter && view.sampler.filter == Filter::Point;
    if view.geometry != Geometry::D2 || !floats || mean_of_one || view.seen.is_some() {
        return false;
    }
    match view.format {
        Format { channel: Channel::U8, channels: 4 } => all::<1, true>(view, x, y, taking, results),
        Format { channel: Channel::F32, channels: 1 } => all::<1, false>(view, x, y, taking, results),
        Format { channel: Channel::F32, channels: 2 } => all::<2, false>(view, x, y, taking, results),
        Format { channel: Channel::F32, channels: 4 } => all::<4, false>(view, x, y, taking, results),
        _ => None,
    }
    .is_some()
}

/// Lookups in a texture whose texels are `N` words: four bytes as fractions, or singles.
struct Work<'a, const N: usize, const BYTES: bool> {
    words: &'a [AtomicU32],
    /// The index of the texture's first word.
    start: u32,
    /// In words.
    pitch: u32,
    filter: Filter,
    border: Option<[u32; N]>,
    x: &'a Rows,
    y: &'a Rows,
    taking: u32,
    results: &'a mut [[u32; LANES]; 4],
}

/// `None` if it is too large, or lies unevenly.
fn all<const N: usize, const BYTES: bool>(
    view: &View<'_>,
    x: &[u32; LANES],
    y: &[u32; LANES],
    taking: u32,
    results: &mut [[u32; LANES]; 4],
) -> Option<()> {
    let level = view.levels.first()?;
    let words = view.cells.words();
    let in_words = |bytes: u64| u32::try_from(bytes / 4).ok().filter(|_| bytes.is_multiple_of(4));
    u32::try_from(words.len()).ok()?;
    let (start, pitch) = (in_words(level.offset)?, in_words(level.pitch)?);
    let sampler = view.sampler;
    let axis = |n: usize| Axis::new(level.size[n], sampler.address[n], sampler.normalized);
    let (filter, x, y) =
        (sampler.filter, &Rows::of(axis(0), sampler.filter, x), &Rows::of(axis(1), sampler.filter, y));
    let bordered = sampler.address.contains(&AddressMode::Border);
    let border = bordered.then(|| match BYTES {
        true => [u32::from_le_bytes(view.border.map(|code| code as u8)); N],
        false => std::array::from_fn(|n| view.border[n]),
    });
    vectorised(Work::<N, BYTES> { words, start, pitch, filter, border, x, y, taking, results });
    Some(())
}

impl<const N: usize, const BYTES: bool> Vectorise for Work<'_, N, BYTES> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        match self.filter {
            Filter::Point => self.point(),
            Filter::Linear => self.linear(),
        }
    }
}

impl<const N: usize, const BYTES: bool> Work<'_, N, BYTES> {
    /// The words of texels, where some are: the first or second in each dimension.
    #[inline(always)]
    fn texels<const TAPS: usize>(&self) -> [[[u32; LANES]; TAPS]; N] {
        let mut at = [[0; LANES]; TAPS];
        for tap in 0..TAPS {
            let (x, y) = (self.x.texels[tap & 1], self.y.texels[tap >> 1]);
            let mut own = [0; LANES];
            for lane in 0..LANES {
                let row = self.start.wrapping_add(y[lane].wrapping_mul(self.pitch));
                own[lane] = row.wrapping_add(x[lane].wrapping_mul(N as u32));
            }
            at[tap] = own;
        }
        let mut texels = [[[0; LANES]; TAPS]; N];
        gather(self.words, &at, &mut texels);
        if let Some(border) = self.border {
            for tap in 0..TAPS {
                let (left, above) = (&self.x.outside[tap & 1], &self.y.outside[tap >> 1]);
                for n in 0..N {
                    for lane in 0..LANES {
                        let own = texels[n][tap][lane];
                        texels[n][tap][lane] = if left[lane] | above[lane] { border[n] } else { own };
                    }
                }
            }
        }
        texels
    }

    /// Keeps a channel of those lanes that take part.
    #[inline(always)]
    fn keep(&mut self, channel: usize, row: [u32; LANES]) {
        // A choice between values, not places: it becomes a masked store.
        let before = self.results[channel];
        let mut after = before;
        for lane in 0..LANES {
            after[lane] = select_unpredictable(has_lane(self.taking, lane), row[lane], before[lane]);
        }
        self.results[channel] = after;
    }

    #[inline(always)]
    fn point(&mut self) {
        let words = self.texels::<1>();
        if !BYTES {
            for n in 0..N {
                self.keep(n, words[n][0]);
            }
            return;
        }
        for n in 0..4 {
            let mut row = [0; LANES];
            for lane in 0..LANES {
                row[lane] = Channel::U8.float(words[0][0][lane] >> (8 * n) & 0xff);
            }
            self.keep(n, row);
        }
    }

    #[inline(always)]
    fn linear(&mut self) {
        let mut weights = [[0; LANES]; 4];
        for lane in 0..LANES {
            let own = spread(WHOLE, self.x.weights[lane], self.y.weights[lane]);
            for tap in 0..4 {
                weights[tap][lane] = own[tap];
            }
        }
        let mut texels = self.texels::<4>();
        if BYTES {
            for n in 0..4 {
                self.keep(n, byte_means(&texels[0], n, &weights));
            }
        } else {
            for n in 0..N {
                for tap in 1..4 {
                    for lane in 0..LANES {
                        let beside = tap & 1 == 1 && self.x.weights[lane] == 0;
                        let below = tap >> 1 == 1 && self.y.weights[lane] == 0;
                        let own = texels[n][tap][lane];
                        texels[n][tap][lane] = if beside | below { SIGN } else { own };
                    }
                }
                self.keep(n, single_means(&texels[n], &weights));
            }
        }
    }
}

/// Reads texels of `N` words. By itself, so that where they are is computed as vectors and not for each.
#[inline(never)]
fn gather<const N: usize, const TAPS: usize>(
    words: &[AtomicU32],
    at: &[[u32; LANES]; TAPS],
    into: &mut [[[u32; LANES]; TAPS]; N],
) {
    for tap in 0..TAPS {
        for lane in 0..LANES {
            let at = at[tap][lane] as usize;
            let texel = &words[at..at + N];
            for n in 0..N {
                into[n][tap][lane] = texel[n].load(Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::array::{Array, ArrayDescription};
    use super::super::sample::{SamplePoint, border};
    use super::super::sampler::Sampler;
    use super::*;
    use softwarp_num::splitmix::SplitMix64;

    #[test]
    fn a_warp_at_once_gets_what_its_lanes_would() {
        let mut generator = SplitMix64::new(1);
        let mut random = || generator.next_u32() >> 1;
        for name in ["u8x4", "f32x1", "f32x2", "f32x4"] {
            let format = Format::parse(name).unwrap();
            let size = [13, 7, 1];
            let shape =
                ArrayDescription { format, geometry: Geometry::D2, size, layers: 1, levels: 1, samples: 1 };
            let array = Array::new(shape, &crate::host_memory::Account::new(1 << 30)).unwrap();
            let data: Vec<u8> = (0..array.level_bytes(0)).map(|_| random() as u8).collect();
            array.write(0, &data).unwrap();
            for filter in [Filter::Point, Filter::Linear] {
                let kinds = [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Clamp, AddressMode::Border];
                for (mode, normalized) in kinds.into_iter().flat_map(|mode| [(mode, true), (mode, false)]) {
                    let sampler = Sampler {
                        address: [mode; 3],
                        filter,
                        normalized,
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
                        seen: None,
                    };
                    for turn in 0..8 {
                        let scale = if normalized { 1.0 } else { 10.0 };
                        let mut coordinate = |lane: usize| match (turn, STRANGE.get(lane)) {
                            (0, Some(&strange)) => strange,
                            // Halves of 256ths of a texel, where weights are rounded.
                            (1, _) => (random() % 16384) as f32 / 512.0 - 8.0,
                            _ => scale * (random() as f32 / 1e9 - 1.0),
                        };
                        let x: [u32; LANES] = std::array::from_fn(|lane| coordinate(lane).to_bits());
                        let y: [u32; LANES] = std::array::from_fn(|lane| coordinate(31 - lane).to_bits());
                        let taking = if turn < 2 { u32::MAX } else { random() };
                        let mut results = [[7; LANES]; 4];
                        if turn < 2 {
                            results = [[0; LANES]; 4];
                        }
                        assert!(look(&view, &x, &y, taking, &mut results));
                        for lane in 0..LANES {
                            let at = [f32::from_bits(x[lane]), f32::from_bits(y[lane]), 0.0];
                            let mut own = view.sample(&SamplePoint { at, ..SamplePoint::default() });
                            if turn >= 2 {
                                // What takes no part, and channels that are not there, stay.
                                let channels = usize::from(format.channels);
                                let from = if has_lane(taking, lane) { channels } else { 0 };
                                own[from..].fill(7);
                            }
                            let result = results.map(|row| row[lane]);
                            assert_eq!(result, own, "{name} {mode:?} {normalized} {filter:?} {at:?}");
                        }
                    }
                }
            }
        }
    }

    /// Coordinates at the ends of what is told apart.
    const STRANGE: [f32; 18] = [
        0.0,
        -0.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN,
        1e-40,
        -1e-40,
        -1e-30,
        -0.001_953_125,
        -0.001_953_126,
        0.001_953_125,
        0.001_953_124_9,
        1_048_576.0,
        -1_048_577.0,
        33_554_434.0,
        -33_554_434.0,
    ];
}
