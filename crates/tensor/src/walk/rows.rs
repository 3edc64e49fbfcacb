//! The rows of a copy: what a row holds, what of it is in the tensor, and where each begins in both memories.
//!
//! All rows of a copy are alike but for being in the tensor or not: they start at the same coordinate in
//! dimension 0. Without interleave, a row is a row of the box, or a pixel; of an interleaved tensor it is one slice.

use super::order::{Band, Order};
use super::{Direction, Packing, Request};
use crate::map::{Map, MapShape};
use crate::types::{Element, Swizzle};
use std::ops::Range;

/// More units than any legal row has; what claims more is cut, so that no sum of rows overflows.
const MOST_UNITS: u64 = 1 << 24;

/// Elements in a unit of a type below a byte that lies differently in the two memories.
const UNIT_ELEMENTS: u32 = 16;

/// What all rows have in common. A row is counted in units: bytes, or groups of sixteen elements below a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLayout {
    pub interleaved: bool,
    /// Elements (of an interleaved tensor, slices) in each dimension.
    pub dims: [i64; 5],
    /// Bytes from one to the next in each dimension; those of dimension 0 count only if interleaved.
    pub strides: [u64; 5],
    pub element_bits: u32,
    pub packing: Packing,
    pub swizzle: Swizzle,
    /// Absolute shared address of the first row.
    pub shared: u64,
    /// How many rows.
    pub rows: u64,
    /// Units of a row.
    pub units: u32,
    /// Bytes of a unit.
    pub global_unit: u32,
    pub shared_unit: u32,
    /// Bytes from one row to the next in shared memory, before swizzling.
    pub pitch: u32,
    /// Units of a row before those in the tensor, and how many those are.
    pub before: u32,
    pub inside: u32,
    /// Bytes from the start of the tensor's row to the first unit inside.
    pub start: u64,
}

/// Part of a row, or of several that follow one another in both memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Byte offset in the tensor; `None` if outside of it.
    pub source: Option<u64>,
    /// Shared address before swizzling.
    pub linear: u64,
    /// Units, at least one.
    pub units: u32,
}

/// Equal parts of rows at equal steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strip {
    /// Byte offset of the first in the tensor; `None` if all are outside of it.
    pub source: Option<u64>,
    /// Bytes from one to the next in global memory.
    pub step: u64,
    /// Shared address of the first before swizzling; the next is the layout's pitch further.
    pub linear: u64,
    /// How many, and units of each.
    pub rows: u32,
    pub units: u32,
}

impl Strip {
    /// Its parts one by one.
    #[inline]
    pub fn pieces(self, layout: &RowLayout) -> impl Iterator<Item = Piece> {
        let Strip { mut source, step, mut linear, rows, units } = self;
        let pitch = u64::from(layout.pitch);
        (0..rows).map(move |_| {
            let piece = Piece { source, linear, units };
            source = source.map(|source| source.saturating_add(step));
            linear = linear.wrapping_add(pitch);
            piece
        })
    }
}

/// Rows `first` to `last` of a band are in the tensor, if dimension 0 is; the first of them begins at `offset`,
/// each next one `step` further.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub first: u32,
    pub last: u32,
    pub offset: u64,
    pub step: u64,
}

impl RowLayout {
    pub fn new(map: &Map, request: &Request, rows: u64) -> RowLayout {
        let interleaved = map.interleave.bytes() != 0;
        let (packing, global_unit, shared_unit) = match (map.element, request.direction) {
            (Element::B4x16P64, _) => (Packing::Padded(8), 8, 16),
            (Element::B6x16, Direction::Load) => (Packing::Padded(12), 12, 16),
            (Element::B6x16, _) => (Packing::SixBits, 12, 16),
            _ => (Packing::Plain, 1, 1),
        };
        let mut strides = map.strides;
        strides[0] = u64::from(map.unit_bytes());
        let mut layout = RowLayout {
            interleaved,
            dims: map.dims.map(|dim| i64::try_from(dim).unwrap_or(i64::MAX)),
            strides,
            element_bits: map.element.bits(),
            packing,
            swizzle: map.swizzle,
            shared: request.shared,
            rows,
            units: map.unit_bytes(),
            global_unit,
            shared_unit,
            pitch: map.unit_bytes(),
            before: 0,
            inside: map.unit_bytes(),
            start: 0,
        };
        if !interleaved {
            layout.set_row(map, request);
        }
        layout
    }

    /// What a row of a tensor that is not interleaved holds.
    fn set_row(&mut self, map: &Map, request: &Request) {
        let elements = match &map.shape {
            MapShape::Tiled(sizes) => sizes[0],
            MapShape::Im2col(columns) | MapShape::Wide(_, columns) => columns.channels,
        };
        let units = |elements: u64| match self.packing {
            Packing::Plain => elements.saturating_mul(u64::from(self.element_bits)) / 8,
            _ => elements / u64::from(UNIT_ELEMENTS),
        };
        let at = i64::from(request.coordinates[0]);
        let within = |end: i64| end.clamp(0, i64::from(elements)) as u64;
        let before = within(-at);
        let inside = within(self.dims[0].saturating_sub(at)).saturating_sub(before);
        let row = units(u64::from(elements)).min(MOST_UNITS) as u32;
        let mut held = units(inside);
        if request.direction != Direction::Load && self.packing == Packing::Plain {
            // The hardware writes chunks of 16 bytes, the last one whole.
            held = held.next_multiple_of(16);
        }
        self.start = units((at + before as i64).max(0) as u64) * u64::from(self.global_unit);
        self.before = units(before).min(u64::from(row)) as u32;
        self.inside = (held.min(u64::from(row)) as u32).min(row - self.before);
        self.units = row;
        let bytes = row * self.shared_unit;
        self.pitch = match self.swizzle.span() {
            0 => bytes,
            span => bytes.max(1).next_multiple_of(span),
        };
    }

    /// Which rows of a band are in the tensor.
    pub fn extent(&self, band: &Band) -> Extent {
        let outside = Extent { first: 0, last: 0, offset: 0, step: 0 };
        let mut offset = self.start;
        for (dimension, &at) in band.at.iter().enumerate() {
            if dimension == band.axis || (dimension == 0 && !self.interleaved) {
                continue;
            }
            if at < 0 || at >= self.dims[dimension] {
                return outside;
            }
            offset = offset.saturating_add((at as u64).saturating_mul(self.strides[dimension]));
        }
        let at = band.at[band.axis];
        let steps_to = |coordinate: i64| -> u32 {
            let steps = coordinate.saturating_sub(at).max(0) as u64;
            steps.div_ceil(band.step.max(1).unsigned_abs()).min(u64::from(band.rows)) as u32
        };
        let (first, last) = (steps_to(0), steps_to(self.dims[band.axis]));
        if first >= last || self.inside == 0 {
            return outside;
        }
        let begin = (at + i64::from(first) * band.step).max(0) as u64;
        let stride = self.strides[band.axis];
        Extent {
            first,
            last,
            offset: offset.saturating_add(begin.saturating_mul(stride)),
            step: stride.saturating_mul(band.step.unsigned_abs()),
        }
    }

    /// The parts of a band: rows outside, then of the rows inside what is before, in and behind the tensor, then
    /// rows outside. Rows that follow one another in both memories are one.
    pub fn strips(&self, band: &Band, linear: u64) -> [Strip; 5] {
        let extent = self.extent(band);
        let behind = self.before + self.inside;
        let strip = |source: Option<u64>, rows: Range<u32>, units: Range<u32>| {
            let row = linear.wrapping_add(u64::from(rows.start) * u64::from(self.pitch));
            self.merged(Strip {
                source,
                step: if source.is_some() { extent.step } else { self.row_bytes() },
                linear: row.wrapping_add(u64::from(units.start) * u64::from(self.shared_unit)),
                rows: rows.end - rows.start,
                units: units.end - units.start,
            })
        };
        let inside = extent.first..extent.last;
        [
            strip(None, 0..extent.first, 0..self.units),
            strip(None, inside.clone(), 0..self.before),
            strip(Some(extent.offset), inside.clone(), self.before..behind),
            strip(None, inside, behind..self.units),
            strip(None, extent.last..band.rows, 0..self.units),
        ]
    }

    /// A strip's rows as one, if they follow one another in both memories.
    fn merged(&self, strip: Strip) -> Strip {
        match strip.rows.checked_mul(strip.units) {
            Some(units) if strip.units == self.units && self.is_dense(strip.step) => {
                Strip { rows: strip.rows.min(1), units, ..strip }
            }
            _ => strip,
        }
    }

    /// Bytes of a row in global memory.
    fn row_bytes(&self) -> u64 {
        u64::from(self.units) * u64::from(self.global_unit)
    }

    /// Whether rows that are `step` apart in global memory follow one another, there and in shared memory.
    fn is_dense(&self, step: u64) -> bool {
        self.units * self.shared_unit == self.pitch && self.row_bytes() == step
    }

    /// What is left of a piece after that many units.
    pub fn after(&self, piece: Piece, units: u32) -> Option<Piece> {
        let left = piece.units.checked_sub(units).filter(|left| *left > 0)?;
        let (units, global, shared) = (u64::from(units), self.global_unit.into(), self.shared_unit.into());
        Some(Piece {
            source: piece.source.map(|source| source.saturating_add(units.saturating_mul(global))),
            linear: piece.linear.wrapping_add(units.wrapping_mul(shared)),
            units: left,
        })
    }
}

/// An iterator over the pieces of a copy.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    layout: RowLayout,
    order: Order,
    /// Where the row at hand begins in shared memory, before swizzling.
    linear: u64,
    /// The band at hand: its rows, the row at hand, and which part of that is next.
    rows: u32,
    row: u32,
    part: u32,
    extent: Extent,
}

impl Pieces {
    pub fn new(layout: RowLayout, order: Order) -> Pieces {
        let extent = Extent { first: 0, last: 0, offset: 0, step: 0 };
        Pieces { layout, order, linear: layout.shared, rows: 0, row: 0, part: 0, extent }
    }

    /// `count` whole rows from the one at hand, all in the tensor or all outside.
    fn whole_rows(&mut self, source: Option<u64>, count: u32) -> Piece {
        let piece = Piece { source, linear: self.linear, units: self.layout.units * count };
        self.row += count;
        self.linear = self.linear.wrapping_add(u64::from(count) * u64::from(self.layout.pitch));
        piece
    }

    /// How many of `rows` rows are one piece, where each is `step` further in global memory.
    fn together(&self, rows: u32, step: u64) -> u32 {
        if self.layout.is_dense(step) { rows.min(u32::MAX / self.layout.units.max(1)) } else { 1 }
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    #[inline]
    fn next(&mut self) -> Option<Piece> {
        let layout = &self.layout;
        if layout.units == 0 {
            return None;
        }
        while self.row == self.rows {
            let band = self.order.next()?;
            self.extent = layout.extent(&band);
            (self.rows, self.row, self.part) = (band.rows, 0, 0);
        }
        let extent = self.extent;
        if self.row < extent.first || self.row >= extent.last {
            let end = if self.row < extent.first { extent.first } else { self.rows };
            let count = self.together(end - self.row, layout.row_bytes());
            return Some(self.whole_rows(None, count));
        }
        let steps = u64::from(self.row - extent.first);
        let source = extent.offset.saturating_add(steps.saturating_mul(extent.step));
        if layout.inside == layout.units {
            let count = self.together(extent.last - self.row, extent.step);
            return Some(self.whole_rows(Some(source), count));
        }
        // A row with parts before, in and behind the tensor; those of no length are passed over.
        let behind = layout.before + layout.inside;
        let part = if layout.before == 0 { self.part.max(1) } else { self.part };
        let (from, to, source) = match part {
            0 => (0, layout.before, None),
            1 => (layout.before, behind, Some(source)),
            _ => (behind, layout.units, None),
        };
        let linear = self.linear.wrapping_add(u64::from(from) * u64::from(layout.shared_unit));
        self.part = part + 1;
        if to == layout.units {
            self.part = 0;
            self.row += 1;
            self.linear = self.linear.wrapping_add(u64::from(layout.pitch));
        }
        Some(Piece { source, linear, units: to - from })
    }
}
