//! A whole lookup: from coordinates to four words (PTX ISA sections 9.7.10.3 and 9.7.10.4).

use super::Geometry;
use super::array::Level;
use super::cube::project;
use super::filter::{Tap, mean, spread, whole_mean};
use super::format::Format;
use super::level::{self, Gradients};
use super::sampler::{Axis, Filter, Neighbours, Sampler, WHOLE};
use super::short::Short;
use crate::memory::cell::{SharedBytes, Unit};
use std::cell::RefCell;

/// The most texels of a lookup: eight of each of two levels.
const MOST_TAPS: usize = 16;

/// A texture, ready for lookups.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The memory of its texels.
    pub cells: &'a SharedBytes,
    /// Its levels.
    pub levels: &'a [Level],
    /// Layers; of cubes, faces.
    pub layers: u32,
    /// Samples of a texel.
    pub samples: u32,
    /// The format of its texels.
    pub format: Format,
    /// The geometry of the instruction.
    pub geometry: Geometry,
    /// Integers are given as they are.
    pub integers: bool,
    /// The sampler.
    pub sampler: &'a Sampler,
    /// The border colour, as a texel.
    pub border: [u32; 4],
    /// A list for the offsets of the texels that are read, for the observer.
    pub seen: Option<&'a RefCell<Vec<u64>>>,
}

/// The point of a lookup.
#[derive(Clone, Copy, Debug, Default)]
pub struct SamplePoint {
    /// Coordinates, or a direction.
    pub at: [f32; 3],
    /// The layer.
    pub layer: u32,
    /// The level of detail, in 256ths.
    pub detail: u32,
    /// Texels to go on in each dimension.
    pub offset: [i32; 3],
}

/// The texels of a lookup.
#[derive(Debug, Default)]
struct Taps {
    taps: [Tap; MOST_TAPS],
    count: usize,
}

impl Taps {
    #[inline(always)]
    fn push(&mut self, code: [u32; 4], weight: u32, group: u8) {
        if let Some(tap) = self.taps.get_mut(self.count) {
            *tap = Tap { code, weight, group };
            self.count += 1;
        }
    }
}

/// A border colour as a texel. For integers that are not fractions it is the low bits of what the host gave.
pub fn border(format: Format, integers: bool, colour: [f32; 4]) -> [u32; 4] {
    let channel = format.channel;
    let whole = integers && channel.is_normalizable();
    let mut code = [0; 4];
    for (code, part) in code.iter_mut().zip(colour).take(usize::from(format.channels)) {
        *code =
            if whole { part.to_bits() & ((1 << (8 * channel.bytes())) - 1) } else { channel.nearest(part) };
    }
    code
}

/// Reads a texel as it is stored.
#[inline(always)]
pub fn texel(cells: &SharedBytes, format: Format, at: u64) -> [u32; 4] {
    let at = at as usize;
    let mut code = [0; 4];
    let bytes = format.channel.bytes() as usize;
    for (n, code) in code.iter_mut().enumerate().take(usize::from(format.channels)) {
        let at = at + n * bytes;
        *code = match bytes {
            1 => u32::from(u8::load(cells, at)),
            2 => u32::from(u16::load(cells, at)),
            _ => u32::load(cells, at),
        };
    }
    code
}

impl View<'_> {
    /// The first level.
    fn base(&self) -> Level {
        self.levels.first().copied().unwrap_or(Level { offset: 0, size: [1; 3], pitch: 0, slice: 0 })
    }

    fn level(&self, index: u32) -> Level {
        let last = self.levels.len().saturating_sub(1);
        self.levels.get(last.min(index as usize)).copied().unwrap_or_else(|| self.base())
    }

    /// The result of an instruction for a texel: integers, or the bits of singles.
    #[inline(always)]
    fn plain(&self, mut code: [u32; 4]) -> [u32; 4] {
        let channel = self.format.channel;
        for code in code.iter_mut().take(usize::from(self.format.channels)) {
            *code = if self.whole() { channel.extend(*code) } else { channel.float(*code) };
        }
        code
    }

    /// Whether texels are read as integers: those of 32 bits always are.
    #[inline(always)]
    fn whole(&self) -> bool {
        let channel = self.format.channel;
        !channel.is_float() && (self.integers || !channel.is_normalizable())
    }

    #[inline(always)]
    fn read(&self, level: &Level, x: Option<u32>, y: Option<u32>, slice: Option<u32>) -> [u32; 4] {
        let (Some(x), Some(y), Some(slice)) = (x, y, slice) else { return self.border };
        let row = level.offset + u64::from(slice) * level.slice + u64::from(y) * level.pitch;
        let at = row + u64::from(x) * u64::from(self.format.bytes());
        if let Some(seen) = self.seen {
            seen.borrow_mut().push(at);
        }
        texel(self.cells, self.format, at)
    }

    /// The axes of a level: width, height, depth.
    fn axes(&self, level: &Level) -> [Axis; 3] {
        let normalized = self.sampler.normalized || self.geometry.is_cube();
        std::array::from_fn(|n| Axis::new(level.size[n], self.sampler.address[n], normalized))
    }

    /// The slice of a layer, and where on it.
    fn slice(&self, place: &SamplePoint) -> (u32, [f32; 3]) {
        match self.geometry {
            Geometry::Cube | Geometry::ACube => {
                let (face, [s, t]) = project(place.at);
                let cubes = (self.layers / 6).max(1);
                let cube = if self.geometry == Geometry::ACube { place.layer.min(cubes - 1) } else { 0 };
                (cube * 6 + face, [s, t, 0.0])
            }
            geometry if geometry.is_layered() => (place.layer.min(self.layers.max(1) - 1), place.at),
            _ => (0, place.at),
        }
    }

    /// The level of detail for gradients.
    ///
    /// The hardware takes them as they are in one and two dimensions. For volumes and cubes it is given the coordinates
    /// of neighbours instead, and takes the differences.
    pub fn detail(&self, at: [f32; 3], along: [[f32; 3]; 2]) -> u32 {
        let size = self.base().size;
        let dimensions = self.geometry.dimensions();
        let texels = |n: usize| match (n < dimensions, self.sampler.normalized) {
            (false, _) => 0,
            (true, true) => size[n],
            (true, false) => 1,
        };
        let gradients = match self.geometry {
            Geometry::Cube | Geometry::ACube => super::cube::moves(at, along, size[0]),
            Geometry::D3 => {
                let moved =
                    |by: [f32; 3], n: usize| Short::difference(at[n] + by[n], at[n]).of_texels(texels(n));
                Gradients { along: along.map(|by| [0, 1, 2].map(|n| moved(by, n))), flat: true }
            }
            _ => {
                let along = along.map(|by| [0, 1, 2].map(|n| Short::of(by[n]).of_texels(texels(n))));
                Gradients { along, flat: true }
            }
        };
        level::gradient(&gradients, self.levels.len() as u32)
    }

    /// The value at a place.
    pub fn sample(&self, place: &SamplePoint) -> [u32; 4] {
        let (slice, at) = self.slice(place);
        let place = SamplePoint { at, layer: slice, ..*place };
        let (first, next) = level::split(place.detail, self.sampler.mip_filter);
        let linear = self.sampler.filter == Filter::Linear;
        // Between levels there is a mean, be it of one texel.
        if !linear && self.sampler.mip_filter == Filter::Point {
            let level = self.level(first);
            return self.plain(self.nearest(&level, &place));
        }
        let mut taps = Taps::default();
        for (index, share, group) in [(first, WHOLE - next, 0), (first + 1, next, 2)] {
            if share == 0 {
                continue;
            }
            let level = self.level(index);
            match linear {
                true => self.around(&level, &place, share, group, &mut taps),
                false => taps.push(self.nearest(&level, &place), share, group),
            }
        }
        self.mean(taps.taps.get(..taps.count).unwrap_or(&[]))
    }

    /// The result of an instruction for several texels.
    fn mean(&self, taps: &[Tap]) -> [u32; 4] {
        if self.whole() { whole_mean(self.format, taps) } else { mean(self.format, taps) }
    }

    /// The texel that a place is in.
    fn nearest(&self, level: &Level, place: &SamplePoint) -> [u32; 4] {
        let axes = self.axes(level);
        let part = |n: usize| axes[n].point(place.at[n], place.offset[n]);
        match self.geometry.dimensions() {
            1 if self.geometry == Geometry::D1 => self.read(level, part(0), part(1), Some(0)),
            1 => self.read(level, part(0), Some(0), Some(place.layer)),
            3 => self.read(level, part(0), part(1), part(2)),
            _ => self.read(level, part(0), part(1), Some(place.layer)),
        }
    }

    /// The texels around a place, with their part of a share of the weight.
    fn around(&self, level: &Level, place: &SamplePoint, share: u32, group: u8, taps: &mut Taps) {
        let axes = self.axes(level);
        let part = |n: usize| axes[n].linear(place.at[n], place.offset[n]);
        let x = part(0);
        match self.geometry.dimensions() {
            // A texture of one dimension is one row to the hardware, and a lookup is at its edge: with a border
            // above the row, that is half of the result.
            1 if self.geometry == Geometry::D1 => self.plane(level, x, part(1), Some(0), share, group, taps),
            1 => {
                let row = Neighbours { texels: [Some(0); 2], weight: 0 };
                self.plane(level, x, row, Some(place.layer), share, group, taps);
            }
            3 => {
                let z = part(2);
                let second = (share * z.weight + 127) >> 8;
                let planes = [(z.texels[0], share - second, 0), (z.texels[1], second, 1)];
                for (slice, share, own) in planes.into_iter().take(if z.weight > 0 { 2 } else { 1 }) {
                    self.plane(level, x, part(1), slice, share, group + own, taps);
                }
            }
            _ => self.plane(level, x, part(1), Some(place.layer), share, group, taps),
        }
    }

    /// Four texels of a slice.
    #[allow(clippy::too_many_arguments)]
    fn plane(
        &self,
        level: &Level,
        x: Neighbours,
        y: Neighbours,
        slice: Option<u32>,
        share: u32,
        group: u8,
        taps: &mut Taps,
    ) {
        for (n, weight) in spread(share, x.weight, y.weight).into_iter().enumerate() {
            // On the line between two centres, nothing beside it is read.
            if (n & 1 == 0 || x.weight > 0) && (n >> 1 == 0 || y.weight > 0) {
                taps.push(self.read(level, x.texels[n & 1], y.texels[n >> 1], slice), weight, group);
            }
        }
    }

    /// The texel with these numbers; zeros outside. Of a level that is asked for, the nearest one. Of multi-sampled
    /// textures, one of its samples.
    pub fn fetch(&self, index: [i32; 3], layer: u32, level: Option<i32>, sample: u32) -> [u32; 4] {
        let own = usize::try_from(level.unwrap_or(0)).ok().and_then(|level| self.levels.get(level));
        let Some(own) = own else { return [0; 4] };
        let inside = |n: usize| match level.is_some() {
            true => Some(index[n].clamp(0, own.size[n] as i32 - 1) as u32),
            false => u32::try_from(index[n]).ok().filter(|&index| index < own.size[n]),
        };
        if layer >= self.layers {
            return [0; 4];
        }
        let (x, y, slice) = match self.geometry.dimensions() {
            1 => (inside(0), Some(0), Some(layer)),
            3 => (inside(0), inside(1), inside(2)),
            _ if sample >= self.samples => (None, None, None),
            _ => (inside(0), inside(1), Some(layer * self.samples + sample)),
        };
        match (x, y, slice) {
            (Some(_), Some(_), Some(_)) => self.plain(self.read(own, x, y, slice)),
            _ => [0; 4],
        }
    }

    /// One channel of the four texels around a place: below left, below right, above right, above left, where y
    /// grows downwards.
    pub fn gather(&self, place: &SamplePoint, channel: usize) -> [u32; 4] {
        let (slice, at) = self.slice(place);
        let level = self.base();
        let axes = self.axes(&level);
        let [x, y] = [0, 1].map(|n| axes[n].linear(at[n], place.offset[n]));
        let one = |i: usize, j: usize| {
            let code = self.read(&level, x.texels[i], y.texels[j], Some(slice));
            self.mean(&[Tap { code, weight: WHOLE, group: 0 }]).get(channel).copied().unwrap_or(0)
        };
        [one(0, 1), one(1, 1), one(1, 0), one(0, 0)]
    }
}
