//! Which bytes a tensor copy moves where (PTX ISA sections 5.5.3 to 5.5.7), without moving them.
//!
//! A [`Request`] is what an instruction asks for: a mode, coordinates, offsets and a shared address. A [`Walk`]
//! over a map and a request gives [`Run`]s: pieces that are contiguous in both memories, in the order of the
//! shared memory before swizzling, as long as possible. It is lazy and takes no memory: the largest tensor costs as
//! much as the smallest. For people, [`Walk::cells`] and [`Walk::elements`] give the same bytes in small pieces
//! with their tensor coordinates.
//!
//! ```
//! use softwarp_tensor::{Target, Description, Direction, Element, Map, Mode, Request, Run, Source, Walk};
//!
//! let description = Description::tiled(Element::F32, &[10, 8], &[48], &[8, 2]);
//! let map = Map::new(&description, Target::SM_90).expect("legal");
//! let request = Request {
//!     mode: Mode::Tile,
//!     direction: Direction::Load,
//!     coordinates: [4, 3, 0, 0, 0],
//!     offsets: [0; 3],
//!     shared: 1024,
//! };
//! let walk = Walk::new(&map, &request).expect("no fault");
//! assert_eq!(walk.transaction_bytes(), 64);
//! // Each row: six elements of the tensor, then two that it does not have.
//! let runs: Vec<Run> = walk.collect();
//! assert_eq!(runs[0], Run { source: Source::Global(3 * 48 + 16), shared: 1024, length: 24 });
//! assert_eq!(runs[1], Run { source: Source::Fill, shared: 1048, length: 8 });
//! assert_eq!(runs[2], Run { source: Source::Global(4 * 48 + 16), shared: 1056, length: 24 });
//! assert_eq!(runs.len(), 4);
//! ```

mod cells;
mod fault;
mod order;
mod rows;

use crate::map::Map;
use crate::reduce::Operation;
use crate::swizzle::{CELL, LINE};
pub use cells::{Cell, Cells};
pub use fault::{CopyFault, RULES};
use order::Order;
use rows::Pieces;
pub(crate) use rows::{Piece, RowLayout, Strip};
use std::fmt;

/// How an instruction accesses the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A box: `.tile`.
    Tile,
    /// Four rows of a 2D tensor, loaded: `.tile::gather4`.
    Gather4,
    /// Four rows of a 2D tensor, stored: `.tile::scatter4`.
    Scatter4,
    /// A column of pixels, loaded: `.im2col`.
    Im2col,
    /// A column of pixels, stored: `.im2col_no_offs`.
    Im2colNoOffs,
    /// A column of pixels along W: `.im2col::w`.
    Im2colW,
    /// 128 pixels along W, with a halo after every 32: `.im2col::w::128`.
    Im2colW128,
}

impl Mode {
    /// Every mode.
    pub const ALL: &[Mode] = &[
        Mode::Tile,
        Mode::Gather4,
        Mode::Scatter4,
        Mode::Im2col,
        Mode::Im2colNoOffs,
        Mode::Im2colW,
        Mode::Im2colW128,
    ];

    /// What PTX calls it, without the leading dot.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Tile => "tile",
            Mode::Gather4 => "tile::gather4",
            Mode::Scatter4 => "tile::scatter4",
            Mode::Im2col => "im2col",
            Mode::Im2colNoOffs => "im2col_no_offs",
            Mode::Im2colW => "im2col::w",
            Mode::Im2colW128 => "im2col::w::128",
        }
    }

    /// Finds it by its name.
    pub fn from_name(name: &str) -> Option<Mode> {
        Mode::ALL.iter().copied().find(|one| one.name() == name)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From global to shared memory; also for a prefetch, which stops on the way.
    Load,
    /// From shared to global memory.
    Store,
    /// From shared memory into what global memory holds.
    Reduce(Operation),
}

/// What an instruction asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// How it accesses the tensor.
    pub mode: Mode,
    /// Which way the bytes go.
    pub direction: Direction,
    /// Tensor coordinates, the fastest dimension first; for gather4 and scatter4 the column and four rows. What is
    /// beyond the rank is not looked at.
    pub coordinates: [i32; 5],
    /// im2col: offsets in W, H, D; the W modes: wHalo and wOffset. Other modes do not look at them.
    pub offsets: [u32; 3],
    /// Absolute shared address.
    pub shared: u64,
}

/// What is at the global end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Bytes of the tensor, from that many past its address. (What would be past 2^64 is at the last address.)
    Global(u64),
    /// Nothing, since it is out of bounds: a load fills, a store skips.
    Fill,
}

/// Bytes that are contiguous in both memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// What is at the global end.
    pub source: Source,
    /// Absolute shared address, swizzled.
    pub shared: u64,
    /// Bytes. Where the walk's [`Packing`] differs between the two memories, those in global memory.
    pub length: u32,
}

/// How elements below a byte lie in the two memories. Each run of a packing that is not plain is one unit of
/// sixteen elements, with 16 bytes in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Global and shared memory have the same bytes.
    Plain,
    /// A given number of bytes, which in shared memory are followed by padding that is never written.
    Padded(u32),
    /// Sixteen 6-bit elements in 12 bytes of global memory; in shared memory a byte each, 6 bits low.
    SixBits,
}

/// An iterator over the runs of a copy; see the [module](self).
#[derive(Clone, Debug)]
pub struct Walk {
    layout: RowLayout,
    /// The order of the rows, from the first.
    order: Order,
    pieces: Pieces,
    /// What is left of the piece that is being cut.
    rest: Option<Piece>,
    /// A run that the next one may continue.
    ready: Option<Run>,
}

impl Walk {
    /// The walk for a request, or why the hardware refuses it.
    pub fn new(map: &Map, request: &Request) -> Result<Walk, CopyFault> {
        fault::check(map, request)?;
        let order = Order::new(map, request);
        let layout = RowLayout::new(map, request, order.rows());
        let pieces = Pieces::new(layout, order.clone());
        Ok(Walk { layout, order, pieces, rest: None, ready: None })
    }

    /// The bytes that complete on the mbarrier of a load: fill counts, padding does not.
    pub fn transaction_bytes(&self) -> u64 {
        self.layout.rows.saturating_mul(u64::from(self.layout.units) * u64::from(self.layout.global_unit))
    }

    /// Bytes of shared memory from the request's address to behind the last that the copy may touch.
    pub fn footprint(&self) -> u64 {
        let length = self.layout.rows.saturating_mul(u64::from(self.layout.pitch));
        let end = self.layout.shared.saturating_add(length);
        // The last bytes may be exchanged with what is behind them.
        let end = end.checked_next_multiple_of(self.layout.swizzle.reach()).unwrap_or(end);
        end - self.layout.shared
    }

    /// How the elements lie in the two memories.
    pub fn packing(&self) -> Packing {
        self.layout.packing
    }

    /// Rows of the copy: box rows, pixels, or slices of an interleaved tensor.
    pub fn rows(&self) -> u64 {
        self.layout.rows
    }

    /// Bytes of a row in shared memory, and from one row to the next there.
    pub fn row_bytes(&self) -> (u32, u32) {
        (self.layout.units * self.layout.shared_unit, self.layout.pitch)
    }

    /// The copy in cells of 16 bytes of shared memory (8 where a swizzle exchanges halves), cut where the
    /// tensor begins or ends.
    pub fn cells(&self) -> Cells {
        Cells::new(&self.layout, self.order.clone(), self.layout.swizzle.grain().min(CELL))
    }

    /// The copy element by element; types below a byte in bytes or in units of sixteen elements, interleaved
    /// tensors in cells of their slices.
    pub fn elements(&self) -> Cells {
        let element = if self.layout.interleaved { CELL } else { (self.layout.element_bits / 8).max(1) };
        Cells::new(&self.layout, self.order.clone(), element.min(self.layout.swizzle.grain()))
    }

    pub(crate) fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// The bytes of the copy before swizzling, in strips; empty strips are left out. Rows of one strip are in the order
    /// of the runs.
    pub(crate) fn strips(&self) -> impl Iterator<Item = Strip> {
        let layout = self.layout;
        let mut linear = layout.shared;
        self.order
            .clone()
            .flat_map(move |band| {
                let strips = layout.strips(&band, linear);
                linear = linear.wrapping_add(u64::from(band.rows) * u64::from(layout.pitch));
                strips
            })
            .filter(|strip| strip.rows > 0 && strip.units > 0)
    }

    /// The next piece of at most a unit, or of what swizzling leaves together.
    fn cut(&mut self) -> Option<Run> {
        let piece = match self.rest.take() {
            Some(piece) => piece,
            None => self.pieces.next()?,
        };
        let layout = &self.layout;
        let (address, difference) = (piece.linear, layout.swizzle.difference(piece.linear));
        let units = if layout.packing != Packing::Plain {
            1
        } else if layout.swizzle.exchanges().is_empty() {
            piece.units
        } else {
            // Up to the next place where the exchange breaks what is contiguous.
            let line = u64::from(LINE);
            let grain = if difference == 0 { line } else { difference & difference.wrapping_neg() };
            piece.units.min((grain - address % grain) as u32)
        };
        self.rest = layout.after(piece, units);
        Some(Run {
            source: piece.source.map_or(Source::Fill, Source::Global),
            shared: address ^ difference,
            length: units.saturating_mul(layout.global_unit),
        })
    }
}

impl Iterator for Walk {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let mut run = self.ready.take().or_else(|| self.cut())?;
        while self.layout.packing == Packing::Plain
            && let Some(next) = self.cut()
        {
            match run.joined(&next) {
                Some(longer) => run = longer,
                None => {
                    self.ready = Some(next);
                    break;
                }
            }
        }
        Some(run)
    }
}

impl Run {
    /// Both as one run, if the next one goes on where this ends.
    fn joined(&self, next: &Run) -> Option<Run> {
        let length = u64::from(self.length);
        let follows = match (self.source, next.source) {
            (Source::Global(here), Source::Global(there)) => here.checked_add(length) == Some(there),
            (here, there) => here == there,
        };
        let length = self.length.checked_add(next.length)?;
        (follows && self.shared.checked_add(u64::from(self.length)) == Some(next.shared))
            .then_some(Run { length, ..*self })
    }
}
