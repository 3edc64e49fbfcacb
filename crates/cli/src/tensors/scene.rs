//! What a drawing of a copy shows, before it has any size: planes of the tensor with the boxes that are copied, and
//! the pieces of shared memory. Large copies are cut, and say by how much.

use super::request::Copy;
use super::view::{dimension_name, padding};
use softwarp::tensor::map::MapShape;
use softwarp::tensor::{Cell, Interleave, Mode, Packing};
use std::collections::BTreeSet;

/// The most that is drawn: planes, columns and rows of a plane, lines of shared memory.
const PLANES: usize = 6;
const COLUMNS: i64 = 24;
const ROWS: usize = 24;
const LINES: u64 = 40;
/// Tensors of at most this size are drawn whole.
const WHOLE: i64 = 20;
/// Bytes of a line of shared memory: all banks once.
pub const LINE: u64 = 128;

/// Which of the tensor's dimensions are across and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes {
    /// Across.
    pub x: usize,
    /// Down, if there is another.
    pub y: Option<usize>,
    /// Elements in a column: those of a cell of 16 bytes where rows are drawn in cells, otherwise 1.
    pub per_column: i64,
    /// Whether the boxes are cells of rows; otherwise whole pixels or slices.
    pub in_cells: bool,
    /// Whether a box is a pixel, so that dimension 0 is inside of it.
    pub in_pixels: bool,
}

impl Axes {
    /// The dimensions that are drawn for a copy.
    pub fn new(copy: &Copy) -> Axes {
        let map = &copy.map;
        let interleaved = map.interleave != Interleave::None;
        let (x, y, in_cells) = match map.shape {
            MapShape::Tiled(_) if !interleaved => (0, 1, true),
            MapShape::Wide(..) => (1, map.rank - 1, false),
            MapShape::Im2col(_) if !interleaved => (1, 2, false),
            // Dimension rank − 2 is the one slice of channels.
            _ => (0, if map.rank == 3 { 2 } else { 1 }, false),
        };
        let per_column = match copy.walk.packing() {
            _ if !in_cells => 1,
            Packing::Plain => i64::from(128 / map.element.bits()),
            _ => 16,
        };
        Axes { x, y: (y < map.rank).then_some(y), per_column, in_cells, in_pixels: !in_cells && !interleaved }
    }

    /// What is across and what is down.
    pub fn title(&self, copy: &Copy) -> String {
        let across = dimension_name(copy, self.x);
        let unit = if self.in_cells { ", 16 bytes a cell" } else { "" };
        let down = self.y.map_or(String::new(), |y| format!(", {} ↓", dimension_name(copy, y)));
        format!("{across} →{unit}{down}")
    }

    /// The dimensions that are fixed in a plane, and worth a word.
    pub fn fixed(&self, copy: &Copy) -> Vec<usize> {
        let drawn = |dimension: usize| dimension == self.x || Some(dimension) == self.y;
        (0..copy.map.rank)
            .filter(|&dimension| !(drawn(dimension) || self.in_pixels && dimension == 0))
            .collect()
    }
}

/// A box in a plane of the tensor.
#[derive(Clone, Debug)]
pub struct PlacedBox {
    /// Columns from the left of the window.
    pub x: f64,
    /// How many columns wide it is.
    pub width: f64,
    /// Its coordinate in the dimension that is drawn downwards.
    pub y: i64,
    /// What is copied from there first.
    pub cell: Cell,
}

/// A plane of the tensor: two dimensions, the others fixed.
#[derive(Clone, Debug)]
pub struct Plane {
    /// Coordinates; those that vary do not count.
    pub at: [i64; 5],
    /// The boxes in it, in the order of the copy.
    pub places: Vec<PlacedBox>,
}

/// A piece of shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Absolute address.
    pub shared: u64,
    /// Bytes.
    pub length: u32,
    /// What is there; `None` if the copy does not write it.
    pub cell: Option<Cell>,
}

/// A range, half open, that may be open on either side.
pub type Range = (f64, f64);

/// Everything that is drawn.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Which dimensions are drawn.
    pub axes: Axes,
    /// The columns of every plane: the first, and behind the last.
    pub columns: (i64, i64),
    /// The rows of every plane.
    pub rows: Vec<i64>,
    /// The tensor across and down, in columns and rows.
    pub tensor: (Range, Range),
    /// The bounding box across and down.
    pub bounds: (Range, Option<Range>),
    /// The planes.
    pub planes: Vec<Plane>,
    /// The first line of shared memory, and how many there are.
    pub lines: (u64, u64),
    /// Their pieces.
    pub pieces: Vec<Piece>,
    /// What is left out, in words.
    pub left_out: Vec<String>,
}

impl Scene {
    /// The scene of a copy.
    pub fn new(copy: &Copy) -> Scene {
        let axes = Axes::new(copy);
        let mut planes: Vec<Plane> = Vec::new();
        let mut hidden_planes = BTreeSet::new();
        let mut last_row = None;
        for cell in copy.walk.cells() {
            // Where a box is a whole row, its first cell stands for it.
            if !axes.in_cells && last_row.replace(cell.row) == Some(cell.row) {
                continue;
            }
            let mut at = cell.coordinates;
            let y = axes.y.map_or(0, |y| std::mem::take(&mut at[y]));
            let x = std::mem::take(&mut at[axes.x]);
            if axes.in_pixels {
                at[0] = 0;
            }
            let column = x as f64 / axes.per_column as f64;
            let width = if axes.in_cells { f64::from(cell.elements) / axes.per_column as f64 } else { 1.0 };
            let place = PlacedBox { x: column, width, y, cell };
            let known = planes.iter().position(|plane| plane.at == at);
            match known {
                Some(index) => planes[index].places.push(place),
                None if planes.len() < PLANES => planes.push(Plane { at, places: vec![place] }),
                None => {
                    hidden_planes.insert(at);
                }
            }
        }
        let mut scene = Scene {
            axes,
            columns: (0, 0),
            rows: Vec::new(),
            tensor: ((0.0, 0.0), (0.0, 0.0)),
            bounds: bounds(copy, axes),
            planes,
            lines: (0, 0),
            pieces: Vec::new(),
            left_out: Vec::new(),
        };
        if !hidden_planes.is_empty() {
            scene.left_out.push(format!("{} planes of the tensor", hidden_planes.len()));
        }
        scene.window(copy);
        scene.shared(copy);
        scene
    }

    /// Chooses the columns and rows that are drawn, and takes away what is not.
    fn window(&mut self, copy: &Copy) {
        let size = |dimension: usize| i64::try_from(copy.map.dims[dimension]).unwrap_or(i64::MAX);
        let (width, height) = (size(self.axes.x), self.axes.y.map_or(1, size));
        let across = (width as f64 / self.axes.per_column as f64).ceil();
        self.tensor = ((0.0, width as f64 / self.axes.per_column as f64), (0.0, height as f64));
        let places = || self.planes.iter().flat_map(|plane| &plane.places);
        let left = places().map(|place| place.x.floor() as i64).min().unwrap_or(0);
        let right = places().map(|place| (place.x + place.width).ceil() as i64).max().unwrap_or(1);
        let (mut left, mut right) = (left - 1, right + 1);
        if across <= WHOLE as f64 && left >= -WHOLE && right <= 2 * WHOLE {
            (left, right) = (left.min(-1), right.max(across as i64 + 1));
        }
        let hidden = right - left - COLUMNS;
        if hidden > 0 {
            right = left + COLUMNS;
            self.left_out.push(format!("{hidden} columns on the right"));
        }
        self.columns = (left, right);
        let mut rows: BTreeSet<i64> = places()
            .flat_map(|place| [place.y.saturating_sub(1), place.y, place.y.saturating_add(1)])
            .collect();
        if self.axes.y.is_none() {
            rows = BTreeSet::from([0]);
        } else if height <= WHOLE {
            rows.extend(-1..=height);
        }
        if rows.len() > ROWS {
            // What is copied is worth more than what is around it.
            rows = places().map(|place| place.y).collect();
        }
        // One row is no wider than the mark of its absence.
        let single: Vec<i64> = rows
            .iter()
            .zip(rows.iter().skip(1))
            .filter(|(a, b)| **b - **a == 2)
            .map(|(a, _)| a + 1)
            .collect();
        if rows.len() + single.len() <= ROWS {
            rows.extend(single);
        }
        let hidden = rows.len().saturating_sub(ROWS);
        if hidden > 0 {
            self.left_out.push(format!("{hidden} rows of the tensor's planes"));
        }
        self.rows = rows.into_iter().take(ROWS).collect();
        let (columns, rows) = (self.columns, &self.rows);
        for plane in &mut self.planes {
            plane.places.retain(|place| {
                place.x >= columns.0 as f64
                    && place.x + place.width <= columns.1 as f64
                    && rows.contains(&place.y)
            });
        }
    }

    fn shared(&mut self, copy: &Copy) {
        let start = copy.request.shared / LINE;
        let all = (copy.request.shared + copy.walk.footprint()).div_ceil(LINE) - start;
        let shown = all.min(LINES);
        if shown < all {
            self.left_out.push(format!("{} lines of 128 bytes of shared memory", all - shown));
        }
        self.lines = (start, shown);
        let written = copy.walk.cells().map(|cell| Piece {
            shared: cell.shared,
            length: cell.length,
            cell: Some(cell),
        });
        let alone =
            padding(copy).map(|piece| Piece { shared: piece.shared, length: piece.length, cell: None });
        let end = (start + shown) * LINE;
        self.pieces = written.chain(alone).filter(|piece| piece.shared < end).collect();
    }
}

/// The bounding box across and down, in columns and rows.
fn bounds(copy: &Copy, axes: Axes) -> (Range, Option<Range>) {
    let map = &copy.map;
    let interleaved = map.interleave != Interleave::None;
    let at = |dimension: usize| f64::from(copy.request.coordinates[dimension.min(4)]);
    match &map.shape {
        MapShape::Tiled(sizes) => {
            let per = axes.per_column as f64;
            let across = (at(axes.x) / per, (at(axes.x) + f64::from(sizes[axes.x])) / per);
            let four = matches!(copy.request.mode, Mode::Gather4 | Mode::Scatter4);
            (across, axes.y.filter(|_| !four).map(|y| (at(y), at(y) + f64::from(sizes[y]))))
        }
        MapShape::Im2col(columns) | MapShape::Wide(_, columns) => {
            let first = usize::from(!interleaved);
            let wide = matches!(map.shape, MapShape::Wide(..));
            let shift = if wide { f64::from(copy.request.offsets[1]) } else { 0.0 };
            let range = |dimension: usize| {
                let spatial = dimension.checked_sub(first).filter(|index| *index + 2 < map.rank)?;
                let (lower, upper) = (*columns.lower.get(spatial)?, *columns.upper.get(spatial)?);
                Some((f64::from(lower) + shift, map.dims[dimension] as f64 + f64::from(upper) + shift))
            };
            (range(axes.x).unwrap_or((0.0, 0.0)), axes.y.filter(|_| !wide).and_then(range))
        }
    }
}
