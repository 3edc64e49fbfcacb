//! A copy drawn in the manner of the manual's figures: the tensor with its bounding box and the order of the walk on
//! the left, shared memory in cells of 16 bytes on the right. Colours follow the source.
//!
//! The drawing stands alone: no scripts, no links, and colours for light and dark.

use super::banks::bank;
use super::request::Copy;
use super::scene::{Held, LINE, Piece, PlacedBox, Plane, Range, Scene};
use super::tuple;
use super::view::{dimension_name, map_line, size_line};
use crate::svg::{Area, Page, Svg, dark, light, point};
use softwarp::tensor::{Cell, Direction, Interleave, Mode};
use std::fmt::Write;

const MARGIN: f64 = 28.0;
/// Above the two panels: titles.
const TOP: f64 = 112.0;
/// Of a cell of shared memory.
const CELL: (f64, f64) = (46.0, 22.0);
/// Room for addresses before a line of it.
const ADDRESSES: f64 = 62.0;
/// Between the panels.
const GAP: f64 = 64.0;
/// Room for the coordinates beside a plane, and for its title above.
const LABELS: (f64, f64) = (58.0, 40.0);
/// Where rows are left out between two.
const SKIP: f64 = 9.0;
/// The longest walk that is drawn as a line.
const LONGEST_WALK: usize = 600;

pub(super) const STYLE: &str = concat!(
    light!(),
    "\
.mid{text-anchor:middle}.end{text-anchor:end}
.grid{fill:none;stroke:#d4dae0}
.out{fill:#eef0f2;stroke:#d4dae0}
.tensor{fill:none;stroke:#1f2933;stroke-width:1.8}
.box{fill:none;stroke:#b3261e;stroke-width:2;stroke-dasharray:7 4}
.walk,.arrow{fill:none;stroke:#1f2933;stroke-opacity:.6;stroke-width:1.1;marker-end:url(#tip)}
.walk{marker-start:url(#start)}
.tip{fill:#1f2933}
.over{paint-order:stroke;stroke:#fdfdfb;stroke-width:3px;stroke-linejoin:round}
.c{stroke:#6b7785;stroke-width:.7}
.c0{fill:#cfe4f8}.c1{fill:#cdeccd}.c2{fill:#f6e6b4}.c3{fill:#f8cfc4}.c4{fill:#e0d4f5}.c5{fill:#bfe8e4}.c6{fill:#f5d3e6}.c7{fill:#dfe3c0}
.fill{fill:url(#hatch);stroke:#6b7785;stroke-width:.7}
.none{fill:none;stroke:#9aa5b1;stroke-dasharray:2 3}
@media (prefers-color-scheme:dark){
",
    dark!(),
    "\
.grid{stroke:#39434d}
.out{fill:#1d232a;stroke:#39434d}
.tensor{stroke:#e8edf2}
.box{stroke:#ff8a80}
.walk,.arrow{stroke:#e8edf2}.tip{fill:#e8edf2}
.over{stroke:#15191e}
.c{stroke:#8b98a5}
.c0{fill:#1f4568}.c1{fill:#22512b}.c2{fill:#5a4a14}.c3{fill:#6b2f22}.c4{fill:#463469}.c5{fill:#15514c}.c6{fill:#632c4b}.c7{fill:#4a4f22}
}"
);

/// What fills and arrows are made of.
pub(super) const DEFINITIONS: &str = "\
<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<path d=\"M0 0V6\" stroke=\"#7b8794\" stroke-width=\"1.6\"/></pattern>\
<marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
<path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker>\
<marker id=\"start\" viewBox=\"0 0 8 8\" refX=\"4\" refY=\"4\" markerWidth=\"5\" markerHeight=\"5\">\
<circle class=\"tip\" cx=\"4\" cy=\"4\" r=\"4\"/></marker></defs>\n";

/// Whether cells have the colour of their place in a line before swizzling, as the manual numbers them. Pixels, slices
/// and gathered rows each have their own.
pub(super) fn by_place(copy: &Copy) -> bool {
    copy.map.interleave == Interleave::None && copy.request.mode == Mode::Tile
}

fn colour(copy: &Copy, cell: &Cell) -> u64 {
    if by_place(copy) { cell.linear / 16 % 8 } else { cell.row % 8 }
}

/// The name of a row of the copy: `r3`, or of a pixel or slice `p3` or `s3`.
fn row_label(copy: &Copy, row: u64) -> String {
    let letter = copy.row_word().chars().next().unwrap_or('r');
    format!("{letter}{row}")
}

/// The name of a cell: `r3c2`, or where a row is one cell that of the row.
fn cell_label(copy: &Copy, cell: &Cell) -> String {
    let (row_bytes, _) = copy.walk.row_bytes();
    let row = row_label(copy, cell.row);
    if row_bytes > 16 { format!("{row}c{}", cell.column) } else { row }
}

/// What a cell says of itself.
fn title(copy: &Copy, cell: &Cell) -> String {
    let at = tuple(&cell.coordinates[..copy.map.rank]);
    let global = match (cell.global, copy.request.direction) {
        (Some(offset), _) => format!("byte {offset:#x} of the tensor"),
        (None, Direction::Load) => "outside of the tensor: filled".to_owned(),
        (None, _) => "outside of the tensor: skipped".to_owned(),
    };
    let (shared, linear, bank) = (cell.shared, cell.linear, bank(cell.shared));
    let unswizzled = if shared == linear { String::new() } else { format!(" (unswizzled {linear:#x})") };
    format!(
        "{} {}, cell {}: {at}\n{global}\nshared {shared:#x}{unswizzled}, bank {bank}",
        copy.row_word(),
        cell.row,
        cell.column
    )
}

/// Draws a copy.
pub fn draw(copy: &Copy) -> String {
    let scene = Scene::new(copy);
    let mut drawing = Drawing { copy, svg: Svg::default(), walks: false };
    let size = Sizes::new(&scene);
    let mut y = TOP;
    for plane in &scene.planes {
        y = drawing.plane(&scene, &size, plane, y) + 18.0;
    }
    let left = LABELS.0 + size.width(&scene);
    let shared = MARGIN + left + GAP;
    let bottom = drawing.shared(&scene, shared, TOP).max(y);
    let arrow = (MARGIN + left + GAP * 0.25, TOP + 60.0);
    let (from, to) = if copy.request.direction == Direction::Load { (0.0, 0.5) } else { (0.5, 0.0) };
    let (from, to) = (arrow.0 + from * GAP, arrow.0 + to * GAP);
    drawing.svg.path("arrow", format_args!("M{from:.1} {0:.1}H{to:.1}", arrow.1));
    let width = (shared + ADDRESSES + 8.0 * CELL.0 + MARGIN).max(760.0);
    let height = drawing.legend(&scene, bottom + 16.0, width) + 28.0;
    drawing.finish(&scene, width, height)
}

/// The size of a box in a plane, and where rows begin.
struct Sizes {
    across: f64,
    down: f64,
    rows: Vec<(i64, f64)>,
}

impl Sizes {
    fn new(scene: &Scene) -> Sizes {
        let across = if scene.axes.in_cells { CELL.0 } else { 36.0 };
        Sizes { across, down: CELL.1, rows: tops(scene.rows.iter().copied()) }
    }

    fn width(&self, scene: &Scene) -> f64 {
        (scene.columns.1 - scene.columns.0) as f64 * self.across
    }

    fn height(&self) -> f64 {
        self.rows.last().map_or(0.0, |(_, top)| top + self.down)
    }

    fn row(&self, row: i64) -> Option<f64> {
        self.rows.iter().find(|(known, _)| *known == row).map(|(_, top)| *top)
    }

    /// Where the edge before a row is, if it is drawn.
    fn edge(&self, at: f64) -> Option<f64> {
        let row = at as i64;
        self.row(row).or_else(|| self.row(row.checked_sub(1)?).map(|top| top + self.down))
    }
}

/// Where lines begin: one below the other, with a gap where some are left out.
fn tops(lines: impl Iterator<Item = i64>) -> Vec<(i64, f64)> {
    let (mut y, mut last) = (0.0, None);
    let placed = lines.map(|line| {
        if last.is_some_and(|last| line - last > 1) {
            y += SKIP;
        }
        last = Some(line);
        let top = y;
        y += CELL.1;
        (line, top)
    });
    placed.collect()
}

struct Drawing<'a> {
    copy: &'a Copy,
    svg: Svg,
    /// Whether a walk was drawn, for the legend.
    walks: bool,
}

impl Drawing<'_> {
    /// A cell with what it says: coloured if something is copied, hatched if it is outside.
    fn cell(&mut self, area: Area, cell: &Cell, label: &str) {
        let (colour, title) = (colour(self.copy, cell), title(self.copy, cell));
        self.svg.group(&title, |svg| {
            svg.rect(&format!("c c{colour}"), area).end();
            if !cell.in_bounds() {
                svg.rect("fill", area).end();
            }
            let size = if label.len() as f64 * 6.0 > area.width - 2.0 { 7.5 } else { 10.0 };
            if label.len() as f64 * 0.6 * size <= area.width {
                let middle = point(area.at.x + area.width / 2.0, area.at.y + area.height / 2.0 + 3.5);
                // Hatching must not go through the letters.
                svg.text(middle, size, if cell.in_bounds() { "m mid" } else { "m mid over" }, label);
            }
        });
    }

    /// Draws a plane of the tensor below `y`; returns where it ends.
    fn plane(&mut self, scene: &Scene, size: &Sizes, plane: &Plane, y: f64) -> f64 {
        let (left, top) = (MARGIN + LABELS.0, y + LABELS.1);
        self.plane_title(scene, plane, (left, y));
        let column = |at: f64| left + (at - scene.columns.0 as f64) * size.across;
        let (tensor_x, tensor_y) = scene.tensor;
        for &(row, row_top) in &size.rows {
            let inside_y = row as f64 >= tensor_y.0 && (row as f64) < tensor_y.1;
            if scene.axes.y.is_some() {
                self.svg.text(point(left - 6.0, top + row_top + 15.0), 9.5, "m end faint", &row.to_string());
            }
            for x in scene.columns.0..scene.columns.1 {
                let inside = inside_y && x as f64 >= tensor_x.0 && (x as f64) < tensor_x.1;
                let class = if inside { "grid" } else { "out" };
                let at = point(column(x as f64), top + row_top);
                self.svg.rect(class, Area { at, width: size.across, height: size.down }).end();
            }
        }
        for x in scene.columns.0..scene.columns.1 {
            let label = (x * scene.axes.per_column).to_string();
            self.svg.text(point(column(x as f64 + 0.5), top - 5.0), 9.0, "m mid faint", &label);
        }
        for place in &plane.places {
            let Some(row) = size.row(place.y) else { continue };
            let label = match scene.axes.in_cells {
                true => cell_label(self.copy, &place.cell),
                false => row_label(self.copy, place.cell.row),
            };
            let at = point(column(place.x), top + row);
            let area = Area { at, width: place.width * size.across, height: size.down };
            self.cell(area, &place.cell, &label);
        }
        self.walk(&plane.places, size, |place| (column(place.x), column(place.x + place.width)), top);
        self.outline("tensor", scene, size, (scene.tensor.0, Some(scene.tensor.1)), (left, top));
        match scene.bounds {
            (across, None) if scene.axes.in_cells => {
                let rows: std::collections::BTreeSet<i64> =
                    plane.places.iter().map(|place| place.y).collect();
                for row in rows {
                    let down = (row as f64, row as f64 + 1.0);
                    self.outline("box", scene, size, (across, Some(down)), (left, top));
                }
            }
            bounds => self.outline("box", scene, size, bounds, (left, top)),
        }
        top + size.height()
    }

    fn plane_title(&mut self, scene: &Scene, plane: &Plane, (x, y): (f64, f64)) {
        let mut title = scene.axes.title(self.copy);
        for dimension in scene.axes.fixed(self.copy) {
            let _ = write!(title, "; {} = {}", dimension_name(self.copy, dimension), plane.at[dimension]);
        }
        self.svg.text(point(x, y + 14.0), 11.5, "faint", &title);
    }

    /// The order of the walk through the boxes of a plane: below the numbers of a row, and between rows along the
    /// edges of boxes, so that no number is struck through.
    fn walk(&mut self, places: &[PlacedBox], size: &Sizes, x: impl Fn(&PlacedBox) -> (f64, f64), top: f64) {
        const INSET: f64 = 3.5;
        let mut points = String::new();
        let mut before: Option<(f64, i64, f64)> = None;
        for place in places.iter().take(LONGEST_WALK) {
            let Some(row) = size.row(place.y) else { continue };
            let ((left, right), low) = (x(place), top + row + size.down - INSET);
            let onward = before.is_some_and(|(end, y, _)| y == place.y && end <= left);
            match before {
                None => {
                    let _ = write!(points, "M{:.1} {low:.1}", left + INSET);
                }
                Some(_) if onward => {}
                // Along the edge between the rows, and down at the side of the next box.
                Some((end, y, from)) => {
                    let edge = if place.y >= y { from + INSET } else { from - size.down + INSET };
                    let _ = write!(points, "H{:.1}V{edge:.1}H{:.1}V{low:.1}", end - INSET, left + INSET);
                }
            }
            before = Some((right, place.y, low));
        }
        if let (Some((end, ..)), true) = (before, places.len() > 1) {
            let _ = write!(points, "H{:.1}", end - INSET);
            self.svg.path("walk", points);
            self.walks = true;
        }
    }

    /// A rectangle in a plane, open where it goes beyond what is drawn.
    fn outline(
        &mut self,
        class: &str,
        scene: &Scene,
        size: &Sizes,
        (across, down): (Range, Option<Range>),
        (left, top): (f64, f64),
    ) {
        let (first, last) = (scene.columns.0 as f64, scene.columns.1 as f64);
        let (x0, x1) = (across.0.clamp(first, last), across.1.clamp(first, last));
        if x0 >= x1 {
            return;
        }
        let x = |at: f64| left + (at - first) * size.across;
        let (upper, lower) =
            (down.and_then(|down| size.edge(down.0)), down.and_then(|down| size.edge(down.1)));
        let Some(&(first_row, _)) = size.rows.first() else { return };
        // Without an edge in sight, all rows are either within or beyond.
        let beyond = |down: &Range| {
            down.1 <= first_row as f64 || down.0 > size.rows.last().map_or(0, |row| row.0) as f64
        };
        if down.as_ref().is_some_and(beyond) && upper.is_none() && lower.is_none() {
            return;
        }
        let (y0, y1) = (top + upper.unwrap_or(0.0), top + lower.unwrap_or(size.height()));
        let mut path = String::new();
        let mut line = |drawn: bool, from: (f64, f64), to: (f64, f64)| {
            if drawn {
                let _ = write!(path, "M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1);
            }
        };
        line(upper.is_some(), (x(x0), y0), (x(x1), y0));
        line(across.1 <= last, (x(x1), y0), (x(x1), y1));
        line(lower.is_some(), (x(x1), y1), (x(x0), y1));
        line(across.0 >= first, (x(x0), y1), (x(x0), y0));
        self.svg.path(class, path);
    }

    /// Draws shared memory at `x` below `y`; returns where it ends.
    fn shared(&mut self, scene: &Scene, x: f64, y: f64) -> f64 {
        let (left, top) = (x + ADDRESSES, y + LABELS.1);
        self.svg.text(
            point(left, y + 14.0),
            11.5,
            "faint",
            "shared memory: 128 bytes a line, 16 a cell; banks above",
        );
        for cell in 0..8 {
            let at = left + (f64::from(cell) + 0.5) * CELL.0;
            self.svg.text(
                point(at, top - 5.0),
                9.0,
                "m mid faint",
                &format!("{}–{}", 4 * cell, 4 * cell + 3),
            );
        }
        let lines = tops(scene.lines.iter().map(|line| *line as i64));
        for (line, y) in &lines {
            let address = format!("{:#x}", *line as u64 * LINE);
            self.svg.text(point(left - 6.0, top + y + 15.0), 9.5, "m end faint", &address);
        }
        for piece in &scene.pieces {
            let Piece { shared, length, held } = *piece;
            let line = (shared / LINE) as i64;
            let Ok(found) = lines.binary_search_by_key(&line, |(line, _)| *line) else { continue };
            let at = point(left + (shared % LINE) as f64 / 16.0 * CELL.0, top + lines[found].1);
            let area = Area { at, width: f64::from(length) / 16.0 * CELL.0, height: CELL.1 };
            match held {
                Held::Cell(cell) => self.cell(area, &cell, &cell_label(self.copy, &cell)),
                Held::Untouched => self.svg.rect("none", area).markup("<title>untouched</title>"),
                Held::Elsewhere => {
                    self.svg.group("not drawn", |svg| {
                        svg.rect("grid", area).end();
                        let middle = point(at.x + area.width / 2.0, at.y + area.height / 2.0 + 3.0);
                        svg.text(middle, 10.0, "mid faint", "…");
                    });
                }
            }
        }
        top + lines.last().map_or(0.0, |(_, y)| y + CELL.1)
    }

    /// What is drawn and what it means, below `y`; returns where it ends.
    fn legend(&mut self, scene: &Scene, y: f64, width: f64) -> f64 {
        let bounds = match self.copy.map.shape {
            softwarp::tensor::map::MapShape::Tiled(_) => "box",
            _ => "bounding box of the bases",
        };
        let outside = match self.copy.request.direction {
            Direction::Load => "outside the tensor: filled",
            _ => "outside the tensor: skipped",
        };
        let any = |wanted: fn(&Held) -> bool| scene.pieces.iter().any(|piece| wanted(&piece.held));
        let colours = match by_place(self.copy) {
            true => "colour: place in a line of 128 bytes before the swizzle",
            false => "colours by turns, one for each",
        };
        let word = self.copy.row_word();
        let (name, meaning) = match self.copy.walk.row_bytes().0 > 16 {
            true => (format!("{}c1", row_label(self.copy, 3)), format!("{word} 3, cell 1")),
            false => (row_label(self.copy, 3), format!("{word} 3")),
        };
        let colours = if by_place(self.copy) { colours.to_owned() } else { format!("{colours} {word}") };
        let items = [
            (Some("c c0"), format!("{name}: {meaning}; {colours}")),
            (
                any(|held| matches!(held, Held::Cell(cell) if !cell.in_bounds())).then_some("fill"),
                outside.to_owned(),
            ),
            (any(|held| matches!(held, Held::Untouched)).then_some("none"), "untouched".to_owned()),
            (Some("tensor"), "tensor".to_owned()),
            (Some("box"), bounds.to_owned()),
            (self.walks.then_some("walk"), "order of the copy".to_owned()),
        ];
        let (mut x, mut y) = (MARGIN, y);
        for (class, words) in items {
            let Some(class) = class else { continue };
            let room = 50.0 + 5.5 * words.chars().count() as f64;
            if x > MARGIN && x + room > width {
                (x, y) = (MARGIN, y + 20.0);
            }
            match class {
                "walk" => self.svg.path(class, format_args!("M{x:.1} {:.1}h20", y + 6.5)),
                _ => self.svg.rect(class, Area { at: point(x, y), width: 22.0, height: 13.0 }).end(),
            }
            self.svg.text(point(x + 28.0, y + 10.5), 10.5, "faint", &words);
            x += room;
        }
        y + 13.0
    }

    fn finish(mut self, scene: &Scene, width: f64, height: f64) -> String {
        let body = self.svg.take();
        self.svg.text(point(MARGIN, 34.0), 17.0, "", &self.copy.title());
        self.svg.text(point(MARGIN, 56.0), 12.5, "faint", &map_line(self.copy));
        let bytes = match self.copy.request.direction {
            Direction::Load => format!("; {} bytes on the mbarrier", self.copy.walk.transaction_bytes()),
            _ => String::new(),
        };
        self.svg.text(point(MARGIN, 76.0), 12.5, "faint", &format!("{}{bytes}", size_line(self.copy)));
        if !scene.left_out.is_empty() {
            let line = format!("Not drawn, on either side: {}.", scene.left_out.join("; "));
            self.svg.text(point(MARGIN, 94.0), 11.5, "faint", &line);
        }
        self.svg.markup(body);
        self.svg.finish(Page { width, height, style: STYLE, definitions: DEFINITIONS })
    }
}
