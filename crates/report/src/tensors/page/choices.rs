//! The maps that a page can be switched to: every element type and swizzle of the target with some sizes of the box, or
//! of a pixel, in dimension 0.
//!
//! Each is checked and worked out here, so that the page decides nothing about what is legal. The page has what differs
//! from map to map in a table: for each key the values that occur, and for each map their numbers, or what is wrong.

use super::data;
use crate::tensors::request::{Asked, Copy};
use serde_json::{Map as Fields, Value as Json, json};
use softwarp::diagnostic::Severity;
use softwarp::isa::device::TensorFeature;
use softwarp::tensor::map::{Access, Description, MapShape, packed_strides};
use softwarp::tensor::{Element, Map, Mode, Swizzle, Target, WideMode};

/// Sizes of the box in dimension 0 that can be chosen, besides that of the copy.
const INNER: [u32; 6] = [8, 16, 32, 64, 128, 256];

/// The code of a copy that is larger than shared memory: the only rule that the page checks itself, since it depends
/// on numbers that are typed there.
const SHARED: &str = "E1024";

/// The types, swizzles and sizes that a page offers.
struct Offered {
    types: Vec<Element>,
    swizzles: Vec<Swizzle>,
    inner: Vec<u32>,
}

impl Offered {
    fn new(copy: &Copy) -> Offered {
        let arch = copy.arch;
        let types = Element::ALL
            .iter()
            .copied()
            .filter(|one| !one.is_packed() || arch.supports(TensorFeature::SubByteElements));
        let swizzles = Swizzle::ALL.iter().copied().filter(|one| has_swizzle(arch, *one));
        let mut inner = INNER.to_vec();
        inner.push(copy.map.describe().inner());
        inner.sort_unstable();
        inner.dedup();
        Offered { types: types.collect(), swizzles: swizzles.collect(), inner }
    }
}

fn has_swizzle(arch: Target, swizzle: Swizzle) -> bool {
    match swizzle {
        Swizzle::None | Swizzle::B32 | Swizzle::B64 | Swizzle::B128 => true,
        Swizzle::B128Atom32 | Swizzle::B128Atom32Flip8 | Swizzle::B128Atom64 => {
            arch.supports(TensorFeature::SwizzleAtoms)
        }
        Swizzle::B96 => arch.supports(TensorFeature::Swizzle96),
    }
}

/// The description of a copy's map with another type, swizzle and size in dimension 0. Strides stay as they are,
/// unless the tensor has no padding.
pub fn changed(copy: &Copy, element: Element, swizzle: Swizzle, inner: u32) -> Description {
    let mut description = copy.map.describe();
    if description.strides == packed_strides(description.element, &description.dims) {
        description.strides = packed_strides(element, &description.dims);
    }
    (description.element, description.swizzle) = (element, swizzle);
    match &mut description.access {
        Access::Tiled { box_dims } => box_dims.iter_mut().take(1).for_each(|size| *size = inner),
        Access::Im2col { channels, .. } | Access::Wide { channels, .. } => *channels = inner,
    }
    description
}

/// The same with 1 for all other sizes of what is copied.
fn smallest(description: &Description) -> Description {
    let mut small = description.clone();
    match &mut small.access {
        Access::Tiled { box_dims } => box_dims.iter_mut().skip(1).for_each(|size| *size = 1),
        Access::Im2col { pixels, .. } | Access::Wide { pixels, .. } => *pixels = 1,
    }
    small
}

/// The copy of a changed map, from which the page's numbers are taken, or what is wrong with the map.
fn copy_of(copy: &Copy, description: &Description) -> Result<Copy, String> {
    let small = smallest(description);
    let map = Map::new(&small, copy.arch).map_err(|findings| {
        let error = findings.into_iter().find(|finding| finding.severity() == Severity::Error);
        error.map_or_else(String::new, |error| format!("{}: {}", error.code.0, error.message))
    })?;
    let asked = Asked {
        at: None,
        offsets: None,
        mode: Some(copy.request.mode),
        direction: copy.request.direction,
        shared: 0,
    };
    let made = Copy::new(map, copy.arch, &asked).map_err(|refusal| refusal.to_string())?;
    let mut map = made.map;
    // What the page sets itself is as in the copy.
    map.shape = match (map.shape, copy.map.shape) {
        (MapShape::Tiled(mut sizes), MapShape::Tiled(given)) => {
            sizes[1..].copy_from_slice(&given[1..]);
            MapShape::Tiled(sizes)
        }
        (shape, _) => shape,
    };
    Ok(Copy { map, ..made })
}

/// What the page has to know of a map, without what does not depend on it.
fn fields(copy: &Copy, direction: &str) -> Fields<String, Json> {
    let mut fields = match data(copy, direction) {
        Json::Object(fields) => fields,
        _ => Fields::new(),
    };
    for key in ["at", "offsets", "shared", "pixels"] {
        fields.remove(key);
    }
    fields
}

/// The table of all maps.
pub fn table(copy: &Copy, direction: &str) -> Json {
    let offered = Offered::new(copy);
    let start = fields(copy, direction);
    let mut maps: Vec<Result<Fields<String, Json>, String>> = Vec::new();
    for &element in &offered.types {
        for &swizzle in &offered.swizzles {
            for &inner in &offered.inner {
                let description = changed(copy, element, swizzle, inner);
                maps.push(copy_of(copy, &description).map(|copy| fields(&copy, direction)));
            }
        }
    }
    let differs = |key: &String| maps.iter().flatten().any(|map| map.get(key) != start.get(key));
    let keys: Vec<&String> = start.keys().filter(|key| differs(key)).collect();
    let mut values: Vec<Vec<&Json>> = vec![Vec::new(); keys.len()];
    let mut rows: Vec<Json> = Vec::with_capacity(maps.len());
    for map in &maps {
        rows.push(match map {
            Err(why) => why.as_str().into(),
            Ok(map) => {
                keys.iter().zip(&mut values).map(|(key, values)| number_of(values, &map[*key])).collect()
            }
        });
    }
    let place = |found: Option<usize>| found.unwrap_or(0);
    json!({
        "types": offered.types.iter().map(|one| one.name()).collect::<Vec<_>>(),
        "swizzles": offered.swizzles.iter().map(|one| one.name()).collect::<Vec<_>>(),
        "inners": offered.inner, "innerName": inner_name(copy), "outer": outer(copy), "sharedCode": SHARED,
        "chosen": [
            place(offered.types.iter().position(|one| *one == copy.map.element)),
            place(offered.swizzles.iter().position(|one| *one == copy.map.swizzle)),
            place(offered.inner.iter().position(|one| *one == copy.map.describe().inner())),
        ],
        "keys": keys, "values": values, "table": rows,
    })
}

/// The number of a value among those of its key.
fn number_of<'v>(values: &mut Vec<&'v Json>, value: &'v Json) -> usize {
    values.iter().position(|known| *known == value).unwrap_or_else(|| {
        values.push(value);
        values.len() - 1
    })
}

fn inner_name(copy: &Copy) -> &'static str {
    if matches!(copy.map.shape, MapShape::Tiled(_)) { "box, dimension 0" } else { "channels of a pixel" }
}

/// The other sizes of what is copied, which may be any up to a limit: of the box, or how many pixels.
fn outer(copy: &Copy) -> Vec<Json> {
    match copy.map.shape {
        MapShape::Tiled(_) if copy.request.mode != Mode::Tile => Vec::new(),
        MapShape::Tiled(sizes) => (1..copy.map.rank)
            .map(|dimension| {
                json!({
                    "name": format!("box, dimension {dimension}"), "dimension": dimension,
                    "value": sizes[dimension.min(4)], "most": 256,
                })
            })
            .collect(),
        MapShape::Wide(WideMode::W128, _) => Vec::new(),
        MapShape::Im2col(columns) | MapShape::Wide(_, columns) => {
            vec![json!({"name": "pixels", "dimension": null, "value": columns.pixels, "most": 1024})]
        }
    }
}
