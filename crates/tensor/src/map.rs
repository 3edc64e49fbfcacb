//! A tensor map, as asked for and as legal.

use crate::types::{Element, Fill, Interleave, Promotion, Swizzle, WideMode};

/// The most dimensions.
pub const MOST_DIMENSIONS: usize = 5;

/// A tensor map as the arguments of the driver's function say it, not yet checked: any numbers, lists of any length. Dimension 0
/// is the fastest; corners are W first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Element type.
    pub element: Element,
    /// Where the tensor is in global memory.
    pub address: u64,
    /// Elements in each dimension; their number is the rank.
    pub dims: Vec<u64>,
    /// Bytes from one element to the next in each dimension but the first: one less than the dimensions.
    pub strides: Vec<u64>,
    /// Traversal strides.
    pub element_strides: Vec<u32>,
    /// Interleave.
    pub interleave: Interleave,
    /// Swizzle, with atomicity.
    pub swizzle: Swizzle,
    /// L2 promotion.
    pub promotion: Promotion,
    /// Fill.
    pub fill: Fill,
    /// Tiled or im2col.
    pub access: Access,
}

impl Description {
    /// A tensor accessed in boxes: at address 0, traversed without skipping, not interleaved, not swizzled, zeros
    /// outside. The fields are public: change what is different.
    pub fn tiled(element: Element, dims: &[u64], strides: &[u64], box_dims: &[u32]) -> Description {
        Description {
            element,
            address: 0,
            dims: dims.to_vec(),
            strides: strides.to_vec(),
            element_strides: vec![1; dims.len()],
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            promotion: Promotion::None,
            fill: Fill::Zero,
            access: Access::Tiled { box_dims: box_dims.to_vec() },
        }
    }

    /// A tensor accessed in columns of pixels, otherwise as by [`Description::tiled`]; the corners are W first.
    pub fn im2col(
        element: Element,
        dims: &[u64],
        strides: &[u64],
        (lower, upper): (&[i32], &[i32]),
        (channels, pixels): (u32, u32),
    ) -> Description {
        let access = Access::Im2col { lower: lower.to_vec(), upper: upper.to_vec(), channels, pixels };
        Description { access, ..Description::tiled(element, dims, strides, &[]) }
    }

    /// A tensor accessed in columns of pixels along W, otherwise as by [`Description::tiled`].
    pub fn wide(
        element: Element,
        dims: &[u64],
        strides: &[u64],
        mode: WideMode,
        (lower, upper): (i32, i32),
        (channels, pixels): (u32, u32),
    ) -> Description {
        let access = Access::Wide { mode, lower, upper, channels, pixels };
        Description { access, ..Description::tiled(element, dims, strides, &[]) }
    }

    /// Elements of a row of the box in dimension 0, or channels of a pixel.
    pub fn inner(&self) -> u32 {
        match &self.access {
            Access::Tiled { box_dims } => box_dims.first().copied().unwrap_or(0),
            Access::Im2col { channels, .. } | Access::Wide { channels, .. } => *channels,
        }
    }

    /// Bytes of them in global memory, rounded up.
    pub fn inner_bytes(&self) -> u64 {
        (u64::from(self.inner()) * u64::from(self.element.bits())).div_ceil(8)
    }

    /// Bytes that a copy moves, as the driver reckons: it rounds down where a traversal stride does not divide the
    /// box, counts dimension 0's stride though copies ignore it, and counts elements also where slices are moved.
    /// This is what it holds against the size of shared memory and writes into the object.
    pub fn reckoned_bytes(&self) -> u64 {
        let elements = match &self.access {
            Access::Tiled { box_dims } => box_dims
                .iter()
                .zip(&self.element_strides)
                .take(MOST_DIMENSIONS)
                .map(|(&size, &step)| u128::from(size / step.max(1)))
                .fold(1, u128::saturating_mul),
            Access::Im2col { channels, pixels, .. } | Access::Wide { channels, pixels, .. } => {
                u128::from(*channels) * u128::from(*pixels)
            }
        };
        let bytes = elements.saturating_mul(u128::from(self.element.bits())).div_ceil(8);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// The strides of a tensor without padding: one less than its dimensions. They need not be legal, since rows may end
/// anywhere.
pub fn packed_strides(element: Element, dims: &[u64]) -> Vec<u64> {
    let mut strides = Vec::new();
    let row = dims.first().map_or(0, |&dim| (u128::from(dim) * u128::from(element.bits())).div_ceil(8));
    let mut stride = u64::try_from(row).unwrap_or(u64::MAX);
    for dim in dims.iter().skip(1) {
        strides.push(stride);
        stride = stride.saturating_mul(*dim);
    }
    strides
}

/// How the tensor is accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Tiled: a copy moves a box.
    Tiled {
        /// Size of the box in each dimension.
        box_dims: Vec<u32>,
    },
    /// im2col: a copy moves a column of pixels.
    Im2col {
        /// Lower corner of the bounding box in W, H, D.
        lower: Vec<i32>,
        /// Upper corner, from the tensor's end.
        upper: Vec<i32>,
        /// Channels per pixel.
        channels: u32,
        /// Pixels per column.
        pixels: u32,
    },
    /// In columns of pixels along W.
    Wide {
        /// `im2col::w` or `im2col::w::128`.
        mode: WideMode,
        /// Lower corner of the bounding box in W.
        lower: i32,
        /// Upper corner, from the tensor's end.
        upper: i32,
        /// Channels per pixel.
        channels: u32,
        /// Pixels per column.
        pixels: u32,
    },
}

/// A legal tensor map, with fixed lists: what is beyond the rank is 1 (dimensions, boxes, traversal strides) or 0
/// (strides, corners).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// Element type.
    pub element: Element,
    /// Number of dimensions.
    pub rank: usize,
    /// Where the tensor is in global memory.
    pub address: u64,
    /// Elements in each dimension.
    pub dims: [u64; MOST_DIMENSIONS],
    /// Bytes from one element to the next in each dimension; dimension 0 has the size of an element, or of a slice.
    pub strides: [u64; MOST_DIMENSIONS],
    /// Traversal strides.
    pub element_strides: [u32; MOST_DIMENSIONS],
    /// Interleave.
    pub interleave: Interleave,
    /// Swizzle.
    pub swizzle: Swizzle,
    /// L2 promotion.
    pub promotion: Promotion,
    /// Fill.
    pub fill: Fill,
    /// Tiled or im2col.
    pub shape: MapShape,
}

/// How a legal map accesses its tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapShape {
    /// In boxes of this size.
    Tiled([u32; MOST_DIMENSIONS]),
    /// In columns of pixels; the corners are W, H, D.
    Im2col(Columns),
    /// In columns of pixels along W.
    Wide(WideMode, Columns),
}

/// Columns of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Lower corner in W, H, D.
    pub lower: [i32; 3],
    /// Upper corner in W, H, D, from the tensor's end.
    pub upper: [i32; 3],
    /// Channels per pixel.
    pub channels: u32,
    /// Pixels per column.
    pub pixels: u32,
}

impl Map {
    /// Bytes of an element that is at least a byte; of an interleaved tensor, of a slice. Packed elements have no
    /// such size: see [`Element::bits`].
    pub fn unit_bytes(&self) -> u32 {
        match self.interleave {
            Interleave::None => self.element.bits() / 8,
            slice => slice.bytes(),
        }
    }

    /// The description of which this is the map.
    pub fn describe(&self) -> Description {
        let rank = self.rank.min(MOST_DIMENSIONS);
        let corners = |list: &[i32; 3]| list[..rank.saturating_sub(2)].to_vec();
        Description {
            element: self.element,
            address: self.address,
            dims: self.dims[..rank].to_vec(),
            strides: self.strides[..rank].iter().skip(1).copied().collect(),
            element_strides: self.element_strides[..rank].to_vec(),
            interleave: self.interleave,
            swizzle: self.swizzle,
            promotion: self.promotion,
            fill: self.fill,
            access: match self.shape {
                MapShape::Tiled(box_dims) => Access::Tiled { box_dims: box_dims[..rank].to_vec() },
                MapShape::Im2col(columns) => Access::Im2col {
                    lower: corners(&columns.lower),
                    upper: corners(&columns.upper),
                    channels: columns.channels,
                    pixels: columns.pixels,
                },
                MapShape::Wide(mode, columns) => Access::Wide {
                    mode,
                    lower: columns.lower[0],
                    upper: columns.upper[0],
                    channels: columns.channels,
                    pixels: columns.pixels,
                },
            },
        }
    }

    /// Bytes that a whole copy completes on its mbarrier, what lies outside the tensor included, halos not. The
    /// object's own count may differ: see [`Description::reckoned_bytes`].
    pub fn copied_bytes(&self) -> u64 {
        let interleaved = self.interleave != Interleave::None;
        let units = match &self.shape {
            MapShape::Tiled(box_dims) => {
                let steps = box_dims.iter().zip(&self.element_strides).enumerate().take(self.rank);
                let counts = steps.map(|(dimension, (size, step))| match dimension {
                    _ if interleaved && dimension + 2 == self.rank => 1,
                    0 if !interleaved => *size,
                    _ => size.div_ceil((*step).max(1)),
                });
                counts.fold(1, |units, count| u64::saturating_mul(units, count.into()))
            }
            MapShape::Im2col(columns) | MapShape::Wide(_, columns) => {
                let pixels = match self.shape {
                    MapShape::Wide(WideMode::W128, _) => 128,
                    _ => columns.pixels,
                };
                u64::from(pixels) * if interleaved { 1 } else { u64::from(columns.channels) }
            }
        };
        let bits = if interleaved { self.interleave.bytes() * 8 } else { self.element.bits() };
        units.saturating_mul(u64::from(bits)) / 8
    }

    /// The map of a description that has no errors. Lists are cut and filled up to their fixed length, so that this
    /// is total; for an illegal description the result is meaningless.
    pub(crate) fn resolve(description: &Description) -> Map {
        let rank = description.dims.len().min(MOST_DIMENSIONS);
        let unit = match description.interleave {
            Interleave::None => description.element.bits() / 8,
            slice => slice.bytes(),
        };
        let mut strides = [0; MOST_DIMENSIONS];
        strides[0] = u64::from(unit);
        for (to, from) in strides[1..].iter_mut().zip(&description.strides) {
            *to = *from;
        }
        Map {
            element: description.element,
            rank,
            address: description.address,
            dims: filled(&description.dims, 1),
            strides,
            element_strides: filled(&description.element_strides, 1),
            interleave: description.interleave,
            swizzle: description.swizzle,
            promotion: description.promotion,
            fill: description.fill,
            shape: match &description.access {
                Access::Tiled { box_dims } => MapShape::Tiled(filled(box_dims, 1)),
                Access::Im2col { lower, upper, channels, pixels } => MapShape::Im2col(Columns {
                    lower: filled(lower, 0),
                    upper: filled(upper, 0),
                    channels: *channels,
                    pixels: *pixels,
                }),
                Access::Wide { mode, lower, upper, channels, pixels } => MapShape::Wide(
                    *mode,
                    Columns {
                        lower: [*lower, 0, 0],
                        upper: [*upper, 0, 0],
                        channels: *channels,
                        pixels: *pixels,
                    },
                ),
            },
        }
    }
}

/// A list cut or filled up to a fixed length.
fn filled<T: Copy, const N: usize>(list: &[T], filler: T) -> [T; N] {
    let mut all = [filler; N];
    for (to, from) in all.iter_mut().zip(list) {
        *to = *from;
    }
    all
}
