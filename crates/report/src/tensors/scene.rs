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
const LINES: usize = 40;
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

    /// The column that a cell begins in.
    fn column(&self, cell: &Cell) -> f64 {
        cell.coordinates[self.x] as f64 / self.per_column as f64
    }

    /// How many columns a cell takes; of a pixel or slice, all of it.
    fn width(&self, cell: &Cell) -> f64 {
        if self.in_cells { f64::from(cell.elements) / self.per_column as f64 } else { 1.0 }
    }

    /// The plane that a cell is in, by the coordinates that are fixed there, and its row in it.
    fn plane(&self, cell: &Cell) -> ([i64; 5], i64) {
        let mut at = cell.coordinates;
        let y = self.y.map_or(0, |y| std::mem::take(&mut at[y]));
        at[self.x] = 0;
        if self.in_pixels {
            at[0] = 0;
        }
        (at, y)
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

/// What is in a piece of shared memory.
#[derive(Clone, Copy, Debug)]
pub enum Held {
    /// A cell that the tensor's side has, too.
    Cell(Cell),
    /// A cell that the tensor's side has no room for.
    Elsewhere,
    /// Nothing that the copy writes.
    Untouched,
}

/// A piece of shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Absolute address.
    pub shared: u64,
    /// Bytes.
    pub length: u32,
    /// What is there.
    pub held: Held,
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
    /// The lines of shared memory that are drawn, by number, in order.
    pub lines: Vec<u64>,
    /// Their pieces.
    pub pieces: Vec<Piece>,
    /// What is left out, in words.
    pub left_out: Vec<String>,
}

impl Scene {
    /// The scene of a copy. Both sides have the same cells.
    pub fn new(copy: &Copy) -> Scene {
        let axes = Axes::new(copy);
        let mut scene = Scene {
            axes,
            columns: (0, 0),
            rows: Vec::new(),
            tensor: ((0.0, 0.0), (0.0, 0.0)),
            bounds: bounds(copy, axes),
            planes: Vec::new(),
            lines: Vec::new(),
            pieces: Vec::new(),
            left_out: Vec::new(),
        };
        let cells: Vec<Cell> = copy.walk.cells().collect();
        let left = cells.iter().map(|cell| axes.column(cell).floor() as i64).min().unwrap_or(0);
        let most = (left - 1 + COLUMNS) as f64;
        let drawn = |cell: &Cell| axes.column(cell) + axes.width(cell) <= most;
        let mut chosen = Chosen::default();
        for row in cells.chunk_by(|a, b| a.row == b.row) {
            if !chosen.takes(axes, row.iter().filter(|cell| drawn(cell))) {
                break;
            }
            chosen.cells += row.len();
            for cell in row.iter().filter(|cell| drawn(cell)).take(if axes.in_cells { row.len() } else { 1 })
            {
                scene.place(*cell);
            }
        }
        let shown = &cells[..chosen.cells];
        scene.say_what_is_left_out(copy, &cells, chosen.cells, drawn);
        scene.window(copy, left);
        scene.shared(copy, shown, &chosen, drawn);
        scene
    }

    /// Puts a box into its plane.
    fn place(&mut self, cell: Cell) {
        let axes = self.axes;
        let (at, y) = axes.plane(&cell);
        let place = PlacedBox { x: axes.column(&cell), width: axes.width(&cell), y, cell };
        match self.planes.iter_mut().find(|plane| plane.at == at) {
            Some(plane) => plane.places.push(place),
            None => self.planes.push(Plane { at, places: vec![place] }),
        }
    }

    fn say_what_is_left_out(
        &mut self,
        copy: &Copy,
        cells: &[Cell],
        shown: usize,
        drawn: impl Fn(&Cell) -> bool,
    ) {
        let word = copy.row_word();
        if let (Some(first), Some(last)) = (cells.get(shown), cells.last()) {
            self.left_out.push(format!("{word}s {} to {}", first.row, last.row));
        }
        let hidden = cells[..shown].iter().filter(|cell| !drawn(cell));
        let (first, last) =
            (hidden.clone().map(|cell| cell.column).min(), hidden.map(|cell| cell.column).max());
        if let (Some(first), Some(last)) = (first, last) {
            self.left_out.push(match self.axes.in_cells {
                true => format!("cells {first} to {last} of each {word}"),
                false => format!("{word}s on the right"),
            });
        }
    }

    /// Chooses the columns and rows of the planes.
    fn window(&mut self, copy: &Copy, left: i64) {
        let size = |dimension: usize| i64::try_from(copy.map.dims[dimension]).unwrap_or(i64::MAX);
        let (width, height) = (size(self.axes.x), self.axes.y.map_or(1, size));
        let across = (width as f64 / self.axes.per_column as f64).ceil();
        self.tensor = ((0.0, width as f64 / self.axes.per_column as f64), (0.0, height as f64));
        let places = || self.planes.iter().flat_map(|plane| &plane.places);
        let right = places().map(|place| (place.x + place.width).ceil() as i64).max().unwrap_or(left + 1);
        let (mut left, mut right) = (left - 1, right + 1);
        if across <= WHOLE as f64 {
            let whole = (left.min(-1), right.max(across as i64 + 1));
            if whole.1 - whole.0 <= COLUMNS {
                (left, right) = whole;
            }
        }
        self.columns = (left, right.min(left + COLUMNS));
        let copied: BTreeSet<i64> = places().map(|place| place.y).collect();
        let mut rows: BTreeSet<i64> =
            copied.iter().flat_map(|y| [y.saturating_sub(1), *y, y.saturating_add(1)]).collect();
        if self.axes.y.is_none() {
            rows = BTreeSet::from([0]);
        } else if height <= WHOLE {
            rows.extend(-1..=height);
        }
        if rows.len() > ROWS {
            // What is copied is worth more than what is around it.
            rows = copied;
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
        self.rows = rows.into_iter().collect();
    }

    /// The lines of shared memory that have cells which are drawn, or all if all cells are.
    fn shared(&mut self, copy: &Copy, shown: &[Cell], chosen: &Chosen, drawn: impl Fn(&Cell) -> bool) {
        let start = copy.request.shared / LINE;
        let end = (copy.request.shared + copy.walk.footprint()).div_ceil(LINE);
        let all = self.left_out.is_empty() && end - start <= LINES as u64;
        self.lines = if all { (start..end).collect() } else { chosen.lines.iter().copied().collect() };
        let lines: BTreeSet<u64> = self.lines.iter().copied().collect();
        let written = copy.walk.cells().enumerate().map(|(index, cell)| Piece {
            shared: cell.shared,
            length: cell.length,
            held: if index < shown.len() && drawn(&cell) { Held::Cell(cell) } else { Held::Elsewhere },
        });
        let alone = padding(copy).map(|piece| Piece {
            shared: piece.shared,
            length: piece.length,
            held: Held::Untouched,
        });
        self.pieces = written.chain(alone).filter(|piece| lines.contains(&(piece.shared / LINE))).collect();
    }
}

/// The rows of a copy that there is room for on both sides, from the first on.
#[derive(Debug, Default)]
struct Chosen {
    planes: BTreeSet<[i64; 5]>,
    rows: BTreeSet<i64>,
    lines: BTreeSet<u64>,
    /// How many of the copy's cells are in these rows.
    cells: usize,
}

impl Chosen {
    /// Takes the cells of another row, if there is room for them.
    fn takes<'c>(&mut self, axes: Axes, row: impl Iterator<Item = &'c Cell> + Clone) -> bool {
        let places: Vec<([i64; 5], i64)> = row.clone().map(|cell| axes.plane(cell)).collect();
        let lines: Vec<u64> = row.map(|cell| cell.shared / LINE).collect();
        let more = |known: &BTreeSet<u64>, wanted: &[u64]| {
            known.len() + wanted.iter().filter(|one| !known.contains(one)).collect::<BTreeSet<_>>().len()
        };
        let mut planes = self.planes.clone();
        planes.extend(places.iter().map(|place| place.0));
        let mut rows = self.rows.clone();
        rows.extend(places.iter().map(|place| place.1));
        if planes.len() > PLANES || rows.len() > ROWS || more(&self.lines, &lines) > LINES {
            return false;
        }
        (self.planes, self.rows) = (planes, rows);
        self.lines.extend(lines);
        true
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
