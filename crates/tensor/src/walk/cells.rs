//! A copy in small pieces for people: each with its tensor coordinates and where it lies in both memories.

use super::Packing;
use super::order::{Band, Order};
use super::rows::{Extent, RowLayout};

/// A small piece of a copy: contiguous in both memories, all in the tensor or all outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The number of its row in the copy: the box row, pixel, or slice.
    pub row: u64,
    /// Its number in the row.
    pub column: u32,
    /// Tensor coordinates of its first element, the fastest dimension first; 0 beyond the rank.
    pub coordinates: [i64; 5],
    /// How many elements along dimension 0 it has; 1 for a slice of an interleaved tensor.
    pub elements: u32,
    /// Byte offset from the tensor's address; `None` if it is out of bounds, so that a load fills it and a store
    /// skips it. (A store may write elements behind the end of a row, in its last 16 bytes.)
    pub global: Option<u64>,
    /// Absolute shared address, before swizzling.
    pub linear: u64,
    /// Absolute shared address.
    pub shared: u64,
    /// Bytes in shared memory, padding of a unit included.
    pub length: u32,
}

impl Cell {
    /// Whether it is in the tensor.
    pub fn in_bounds(&self) -> bool {
        self.global.is_some()
    }
}

/// An iterator over the cells of a copy; see [`Walk::cells`](super::Walk::cells).
#[derive(Clone, Debug)]
pub struct Cells {
    layout: RowLayout,
    order: Order,
    /// Bytes of a cell in shared memory, at most.
    grain: u32,
    at: Option<(Band, Extent)>,
    /// The row at hand, in its band and in the copy; the unit and the cell at hand in the row.
    band_row: u32,
    row: u64,
    unit: u32,
    column: u32,
}

impl Cells {
    pub(super) fn new(layout: &RowLayout, order: Order, grain: u32) -> Cells {
        Cells { layout: *layout, order, grain, at: None, band_row: 0, row: 0, unit: 0, column: 0 }
    }

    /// How many elements that many units have.
    fn elements(&self, units: u32) -> u32 {
        if self.layout.interleaved {
            return 1;
        }
        match self.layout.packing {
            Packing::Plain => (units * 8).checked_div(self.layout.element_bits).unwrap_or(0),
            _ => units * 16,
        }
    }
}

impl Iterator for Cells {
    type Item = Cell;

    fn next(&mut self) -> Option<Cell> {
        let layout = self.layout;
        if layout.units == 0 {
            return None;
        }
        let (band, extent) = match self.at {
            Some(at) if self.band_row < at.0.rows => at,
            _ => {
                let band = self.order.next()?;
                self.band_row = 0;
                *self.at.insert((band, layout.extent(&band)))
            }
        };
        let inside = (extent.first..extent.last).contains(&self.band_row);
        let edges = [layout.before, layout.before + layout.inside, layout.units];
        let edge = if inside { edges.into_iter().find(|edge| *edge > self.unit) } else { None };
        let linear = layout.shared.wrapping_add(self.row.wrapping_mul(layout.pitch.into()));
        let linear = linear.wrapping_add(u64::from(self.unit) * u64::from(layout.shared_unit));
        // To the end of the cell, of what is in the tensor, and of the row, whichever is nearest.
        let grain = u64::from(self.grain.max(layout.shared_unit));
        let to_cell_end = ((grain - linear % grain) as u32 / layout.shared_unit).max(1);
        let units = to_cell_end.min(edge.unwrap_or(layout.units) - self.unit);
        let held = inside && (layout.before..layout.before + layout.inside).contains(&self.unit);
        let global = held.then(|| {
            let row = extent.step.saturating_mul((self.band_row - extent.first).into());
            let unit = u64::from(self.unit - layout.before) * u64::from(layout.global_unit);
            extent.offset.saturating_add(row).saturating_add(unit)
        });
        let mut coordinates = band.at;
        coordinates[band.axis] += i64::from(self.band_row) * band.step;
        coordinates[0] += i64::from(if layout.interleaved { 0 } else { self.elements(self.unit) });
        let cell = Cell {
            row: self.row,
            column: self.column,
            coordinates,
            elements: self.elements(units),
            global,
            linear,
            shared: layout.swizzle.apply(linear),
            length: units * layout.shared_unit,
        };
        self.unit += units;
        self.column += 1;
        if self.unit >= layout.units {
            (self.unit, self.column) = (0, 0);
            self.band_row += 1;
            self.row += 1;
        }
        Some(cell)
    }
}
