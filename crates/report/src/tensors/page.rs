//! A copy as a page that moves: choices of type, swizzle and box, sliders for the coordinates, what is under the pointer
//! in both memories, and bank conflicts.
//!
//! The page stands alone and computes the walk itself, in a port of `softwarp-tensor`'s to JavaScript
//! (`page/walk.js`), since every position of every slider would be too many to compute here; conflicts alike
//! (`page/banks.js`). The maps that can be chosen are worked out here ([`choices`]). A test runs the page in a browser
//! and holds what it makes equal to the original.

pub mod choices;

use super::request::{Copy, coordinate_count, offset_count};
use super::scene::Axes;
use super::svg;
use super::view::{dimension_name, tensor_line};
use crate::svg::escape;
use serde_json::{Value as Json, json};
use softwarp::tensor::map::{Columns, MapShape};
use softwarp::tensor::{Direction, Element, Interleave, Mode, Packing, WideMode};

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const WALK: &str = include_str!("page/walk.js");
const BANKS: &str = include_str!("page/banks.js");
const DRAW: &str = include_str!("page/draw.js");
const CONTROLS: &str = include_str!("page/controls.js");

/// The page of a copy.
pub fn page(copy: &Copy) -> String {
    let direction = match copy.request.direction {
        Direction::Load => "load",
        _ => "store",
    };
    let title = format!("{}, {}", copy.verb(), copy.request.mode);
    // Nothing in a script element is escaped; an angle bracket could end it.
    let mut data = data(copy, direction);
    data["choices"] = choices::table(copy, direction);
    let data = data.to_string().replace('<', "\\u003c");
    let style = format!("{}\n{STYLE}", svg::STYLE);
    let parts = [
        ("{{title}}", escape(&title).into_owned()),
        ("{{map_line}}", escape(&tensor_line(copy)).into_owned()),
        ("{{style}}", style),
        ("{{definitions}}", svg::DEFINITIONS.to_owned()),
        ("{{data}}", data),
        ("{{walk}}", WALK.to_owned()),
        ("{{banks}}", BANKS.to_owned()),
        ("{{draw}}", DRAW.to_owned()),
        ("{{controls}}", CONTROLS.to_owned()),
    ];
    parts.iter().fold(PAGE.to_owned(), |page, (name, part)| page.replace(name, part))
}

/// What the walk looks at, and what the controls may be set to.
fn data(copy: &Copy, direction: &str) -> Json {
    let map = &copy.map;
    let slice = map.interleave != Interleave::None;
    let (kind, columns, sizes) = match (&map.shape, copy.request.mode) {
        (MapShape::Tiled(sizes), Mode::Gather4 | Mode::Scatter4) => ("four", None, *sizes),
        (MapShape::Tiled(sizes), _) => ("tile", None, *sizes),
        (MapShape::Im2col(columns), _) => ("im2col", Some(*columns), [1; 5]),
        (MapShape::Wide(_, columns), _) => ("wide", Some(*columns), [1; 5]),
    };
    let columns = columns.unwrap_or(Columns { lower: [0; 3], upper: [0; 3], channels: sizes[0], pixels: 0 });
    let walk = &copy.walk;
    let (global_unit, shared_unit) = match walk.packing() {
        Packing::Plain => (1, 1),
        Packing::Padded(bytes) => (bytes, 16),
        Packing::SixBits => (12, 16),
    };
    let (row_bytes, pitch) = walk.row_bytes();
    let exchanges: Vec<Json> =
        map.swizzle.exchanges().iter().map(|one| json!([one.mask, one.shift])).collect();
    let axes = Axes::new(copy);
    json!({
        "rank": map.rank, "dims": map.dims, "strides": map.strides.map(|stride| stride.to_string()),
        "steps": map.element_strides, "box": sizes, "kind": kind, "direction": direction,
        "w128": matches!(map.shape, MapShape::Wide(WideMode::W128, _)),
        "slice": if slice { map.interleave.bytes() } else { 0 },
        "bits": map.element.bits(), "packed": walk.packing() != Packing::Plain,
        "inner": columns.channels, "pixels": columns.pixels, "lower": columns.lower, "upper": columns.upper,
        "firstSpatial": usize::from(!slice), "spatial": map.rank.saturating_sub(2).min(3),
        "cornerBits": match map.rank { 4 => 8, 5 => 5, _ => 16 },
        "firstStep": first_step(copy), "units": row_bytes / shared_unit, "globalUnit": global_unit,
        "sharedUnit": shared_unit, "pitch": pitch, "exchanges": exchanges, "grain": map.swizzle.grain().min(16),
        "reach": map.swizzle.reach(), "sharedBytes": copy.arch.properties().multiprocessor_shared,
        "axes": {
            "x": axes.x, "y": axes.y, "perColumn": axes.per_column, "inCells": axes.in_cells,
            "title": axes.title(copy),
        },
        "inPixels": axes.in_pixels, "byPlace": svg::by_place(copy), "rowWord": copy.row_word(),
        "names": (0..map.rank).map(|dimension| dimension_name(copy, dimension)).collect::<Vec<_>>(),
        "at": copy.coordinates(), "offsets": copy.request.offsets, "shared": copy.request.shared,
        "controls": controls(copy, &columns),
    })
}

/// What the first coordinate is a multiple of.
fn first_step(copy: &Copy) -> u32 {
    match (copy.map.element, &copy.map.shape) {
        _ if copy.map.interleave != Interleave::None => 1,
        (Element::B6x16, MapShape::Tiled([64, ..])) => 64,
        (Element::B4x16P64 | Element::B6x16, _) => 128,
        (element, _) => 128 / element.bits(),
    }
}

/// The farthest that a slider goes; numbers can be typed beyond it.
const FARTHEST: i64 = 512;

/// A slider for each operand: over the tensor and a little beyond, or over what the operand may be.
fn controls(copy: &Copy, columns: &Columns) -> Vec<Json> {
    let (map, mode) = (&copy.map, copy.request.mode);
    let spatial = |dimension: usize| {
        let first = usize::from(map.interleave == Interleave::None);
        let images = !matches!(map.shape, MapShape::Tiled(_));
        dimension.checked_sub(first).filter(|index| images && index + 2 < map.rank)
    };
    let size = |dimension: usize| i64::try_from(map.dims[dimension.min(4)]).unwrap_or(FARTHEST).min(FARTHEST);
    let mut all = Vec::new();
    for index in 0..coordinate_count(map, mode) {
        let four = matches!(mode, Mode::Gather4 | Mode::Scatter4);
        let (name, dimension) = match four && index > 0 {
            true => (format!("row {}", index - 1), 1),
            false => (dimension_name(copy, index), index),
        };
        let (least, most) = match spatial(dimension) {
            Some(spatial) => {
                let (lower, upper) = (i64::from(columns.lower[spatial]), i64::from(columns.upper[spatial]));
                (lower, (size(dimension) + upper - 1).max(lower))
            }
            None => {
                let beyond = match &map.shape {
                    MapShape::Tiled(sizes) => i64::from(sizes[dimension.min(4)]),
                    _ => 1,
                };
                (-beyond, size(dimension) + 1)
            }
        };
        let step = if index == 0 { i64::from(first_step(copy)) } else { 1 };
        let (least, most) = (least - least.rem_euclid(step), most + (step - most.rem_euclid(step)) % step);
        all.push(json!({
            "name": name, "list": "at", "index": index, "least": least, "most": most, "step": step,
            "lowest": i32::MIN, "highest": i32::MAX,
        }));
    }
    let names = match mode {
        Mode::Im2col => ["offset in W", "offset in H", "offset in D"],
        _ => ["wHalo", "wOffset", ""],
    };
    for (index, name) in names.iter().enumerate().take(offset_count(map, mode)) {
        all.push(json!({
            "name": name, "list": "offsets", "index": index, "least": 0, "most": 31, "step": 1,
            "lowest": 0, "highest": u32::MAX,
        }));
    }
    all.push(json!({
        "name": "shared address", "list": "shared", "index": 0, "least": 0, "most": 2048, "step": 128,
        "lowest": 0, "highest": copy.arch.properties().multiprocessor_shared,
    }));
    all
}
