//! In which order a copy visits the tensor: boxes (PTX ISA section 5.5.3), four rows (5.5.3.4), columns of pixels
//! (5.5.4, 5.5.5).
//!
//! Every mode comes down to bands: rows that follow one another along one axis by a constant step.
//!
//! Tiles and plain im2col are as recorded on an H200. The W modes are not: no GPU that has them was at hand. The halo
//! of `.im2col::w` continues the walk behind its pixels; that of `.im2col::w::128` follows every 32 pixels, as the
//! manual says, and we read it as pixels that are loaded twice, since the next 32 go on where the last 32 ended.

use super::{Mode, Request};
use crate::map::{Columns, MOST_DIMENSIONS, Map, MapShape};
use crate::object;

/// Pixels of `.im2col::w::128`, and after how many of them a halo follows.
const W128_PIXELS: u32 = 128;
const W128_GROUP: u32 = 32;

/// Rows at equal steps along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    /// Tensor coordinates of the first row's first element.
    pub at: [i64; MOST_DIMENSIONS],
    pub axis: usize,
    pub step: i64,
    pub rows: u32,
}

/// An iterator over the bands of a copy.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Tile(Tile),
    Four { column: i64, rows: [i32; 4], next: usize },
    Column { pixels: Pixels, left: u32 },
    Groups { pixels: Pixels, halo: u32, groups: u32, halo_walk: Option<Pixels>, left: u32 },
}

impl Order {
    pub fn new(map: &Map, request: &Request) -> Order {
        match (&map.shape, request.mode) {
            (MapShape::Tiled(_), Mode::Gather4 | Mode::Scatter4) => {
                let [column, rows @ ..] = request.coordinates;
                Order::Four { column: column.into(), rows, next: 0 }
            }
            (MapShape::Tiled(sizes), _) => Order::Tile(Tile::new(map, sizes, request)),
            (MapShape::Im2col(columns), _) => {
                Order::Column { pixels: Pixels::new(map, columns, request), left: columns.pixels }
            }
            (MapShape::Wide(_, columns), mode) => {
                let [halo, shift, _] = request.offsets;
                let pixels = Pixels::along_w(map, columns, request, shift.into());
                if mode == Mode::Im2colW128 {
                    let groups = W128_PIXELS / W128_GROUP;
                    Order::Groups { pixels, halo, groups, halo_walk: None, left: W128_GROUP }
                } else {
                    Order::Column { pixels, left: columns.pixels.saturating_add(halo) }
                }
            }
        }
    }

    /// How many rows all bands have.
    pub fn rows(&self) -> u64 {
        match self {
            Order::Tile(whole) => {
                whole.counts.iter().fold(1, |rows: u64, count| rows.saturating_mul((*count).into()))
            }
            Order::Four { rows, .. } => rows.len() as u64,
            Order::Column { left, .. } => u64::from(*left),
            Order::Groups { halo, groups, .. } => {
                u64::from(*groups) * (u64::from(W128_GROUP) + u64::from(*halo))
            }
        }
    }
}

impl Iterator for Order {
    type Item = Band;

    fn next(&mut self) -> Option<Band> {
        match self {
            Order::Tile(whole) => whole.next(),
            Order::Four { column, rows, next } => {
                let row = *rows.get(*next)?;
                *next += 1;
                Some(Band { at: [*column, row.into(), 0, 0, 0], axis: 1, step: 1, rows: 1 })
            }
            Order::Column { pixels, left } => pixels.next(left),
            // A halo repeats what the next group begins with: it walks ahead on its own.
            Order::Groups { pixels, halo, groups, halo_walk, left } => {
                while *groups > 0 {
                    if let Some(band) = halo_walk.as_mut().unwrap_or(pixels).next(left) {
                        return Some(band);
                    }
                    if halo_walk.take().is_none() {
                        *halo_walk = Some(pixels.clone());
                        *left = *halo;
                    } else {
                        *groups -= 1;
                        *left = W128_GROUP;
                    }
                }
                None
            }
        }
    }
}

/// A box, dimension by dimension.
#[derive(Clone, Debug)]
pub(crate) struct Tile {
    /// The dimension along which bands run.
    axis: usize,
    at: [i64; MOST_DIMENSIONS],
    steps: [i64; MOST_DIMENSIONS],
    /// Rows in each dimension, and the number of the band's first.
    counts: [u32; MOST_DIMENSIONS],
    number: [u32; MOST_DIMENSIONS],
    done: bool,
}

impl Tile {
    fn new(map: &Map, sizes: &[u32; MOST_DIMENSIONS], request: &Request) -> Tile {
        let interleaved = map.interleave.bytes() != 0;
        let axis = if interleaved { 0 } else { 1 };
        let mut at = [0; MOST_DIMENSIONS];
        let mut counts = [1; MOST_DIMENSIONS];
        for dimension in 0..map.rank.min(MOST_DIMENSIONS) {
            at[dimension] = request.coordinates[dimension].into();
            // An interleaved copy takes exactly one slice of the channels, whatever the box says.
            if dimension >= axis && !(interleaved && dimension + 2 == map.rank) {
                counts[dimension] = sizes[dimension].div_ceil(map.element_strides[dimension].max(1));
            }
        }
        let done = counts.contains(&0);
        Tile {
            axis,
            at,
            steps: map.element_strides.map(i64::from),
            counts,
            number: [0; MOST_DIMENSIONS],
            done,
        }
    }

    #[inline]
    fn next(&mut self) -> Option<Band> {
        if self.done {
            return None;
        }
        let axis = self.axis;
        let band = Band { at: self.at, axis, step: self.steps[axis], rows: self.counts[axis] };
        self.done = true;
        for dimension in axis + 1..MOST_DIMENSIONS {
            self.number[dimension] += 1;
            self.at[dimension] += self.steps[dimension];
            if self.number[dimension] < self.counts[dimension] {
                self.done = false;
                break;
            }
            self.at[dimension] -= i64::from(self.number[dimension]) * self.steps[dimension];
            self.number[dimension] = 0;
        }
        Some(band)
    }
}

/// The pixels of a column: base positions in a bounding box, which wrap from one dimension to the next and in the
/// end to the next image.
#[derive(Clone, Debug)]
pub(crate) struct Pixels {
    /// Coordinates of the base, not offset.
    base: [i64; MOST_DIMENSIONS],
    /// What is added to a base.
    offsets: [i64; MOST_DIMENSIONS],
    /// The spatial dimensions that are walked: W, H, D or W alone.
    first: usize,
    walked: usize,
    /// The bounding box in these, half open, and the steps.
    lower: [i64; 3],
    upper: [i64; 3],
    steps: [i64; 3],
    /// The dimension of the images, and its step.
    image: usize,
    image_step: i64,
}

/// The spatial dimensions of a map: the first, and how many. Dimension 0 is the channels, unless they are
/// interleaved: then these are the last but one.
pub(crate) fn spatial(map: &Map) -> (usize, usize) {
    (if map.interleave.bytes() != 0 { 0 } else { 1 }, map.rank.saturating_sub(2).min(3))
}

/// The bounding box in a spatial dimension: the first base, and behind the last.
pub(crate) fn bounds(map: &Map, columns: &Columns, spatial_index: usize) -> (i64, i64) {
    let dim = map.dims.get(spatial(map).0 + spatial_index).copied().unwrap_or(1);
    let corner = |corners: &[i32; 3]| corners.get(spatial_index).copied().map_or(0, i64::from);
    (corner(&columns.lower), i64::try_from(dim).unwrap_or(i64::MAX).saturating_add(corner(&columns.upper)))
}

/// Offsets as the hardware gets them, packed into one register with as many bits for each as a corner has. What is
/// too large loses its upper bits, but those of H reach into D: so the assembler packs.
fn offsets(given: &[u32], bits: u32) -> [i64; 3] {
    let mask = (1 << bits) - 1;
    let packed = given.iter().enumerate().fold(0, |packed: u64, (index, offset)| {
        let offset = u64::from(*offset);
        packed | if index == 0 { offset & mask } else { offset << (bits * index as u32) }
    });
    std::array::from_fn(|index| (packed >> (bits * index as u32) & mask) as i64)
}

impl Pixels {
    fn new(map: &Map, columns: &Columns, request: &Request) -> Pixels {
        let (first, walked) = spatial(map);
        let mut pixels = Pixels {
            base: [0; MOST_DIMENSIONS],
            offsets: [0; MOST_DIMENSIONS],
            first,
            walked,
            lower: [0; 3],
            upper: [1; 3],
            steps: [1; 3],
            image: map.rank.clamp(1, MOST_DIMENSIONS) - 1,
            image_step: 1,
        };
        for dimension in 0..map.rank.min(MOST_DIMENSIONS) {
            pixels.base[dimension] = request.coordinates[dimension].into();
        }
        for index in 0..walked {
            (pixels.lower[index], pixels.upper[index]) = bounds(map, columns, index);
            pixels.steps[index] = i64::from(map.element_strides[first + index].max(1));
        }
        // Stores have no offsets.
        if request.mode == Mode::Im2col {
            let offsets = offsets(&request.offsets[..walked], object::corner_width(map.rank));
            pixels.offsets[first..first + walked].copy_from_slice(&offsets[..walked]);
        }
        pixels.image_step = map.element_strides[pixels.image].into();
        pixels
    }

    /// Only W is walked and strided; bounding box and start move by `shift` together.
    fn along_w(map: &Map, columns: &Columns, request: &Request, shift: i64) -> Pixels {
        let mut pixels = Pixels::new(map, columns, request);
        pixels.walked = pixels.walked.min(1);
        pixels.image_step = 1;
        pixels.base[pixels.first] += shift;
        pixels.lower[0] += shift;
        pixels.upper[0] = pixels.upper[0].saturating_add(shift);
        pixels
    }

    /// The pixels up to the end of W, at most as many as are left.
    fn next(&mut self, left: &mut u32) -> Option<Band> {
        if *left == 0 {
            return None;
        }
        let axis = self.first;
        let mut at = self.base;
        for (at, offset) in at.iter_mut().zip(self.offsets) {
            *at += offset;
        }
        let step = self.steps[0];
        let ahead = self.upper[0].saturating_sub(self.base[axis]).max(1).unsigned_abs();
        let rows = ahead.div_ceil(step.unsigned_abs()).min(u64::from(*left)) as u32;
        *left -= rows;
        self.base[axis] += i64::from(rows) * step;
        if self.base[axis] >= self.upper[0] {
            self.wrap();
        }
        Some(Band { at, axis, step, rows })
    }

    fn wrap(&mut self) {
        self.base[self.first] = self.lower[0];
        for index in 1..self.walked {
            let base = &mut self.base[self.first + index];
            *base += self.steps[index];
            if *base < self.upper[index] {
                return;
            }
            *base = self.lower[index];
        }
        self.base[self.image] += self.image_step;
    }
}
