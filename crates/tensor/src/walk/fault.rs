//! When the hardware refuses a copy: mostly an illegal instruction, with no reason given. Here each reason has a rule.
//!
//! What a rule says of tiles, plain im2col and reductions is what an H200 did; of the modes and types that it lacks,
//! what the manual and the driver's header say.

use super::order::{bounds, spatial};
use super::{Direction, Mode, Request};
use crate::map::{Columns, MOST_DIMENSIONS, Map, MapShape};
use crate::types::{Element, Interleave, Swizzle, WideMode};

/// Why a copy is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} [{code}]")]
pub struct CopyFault {
    /// The rule that is broken: a name from [`RULES`].
    pub code: &'static str,
    /// How it is broken, with the numbers.
    pub message: String,
}

impl CopyFault {
    /// The error that the driver reports for it.
    pub fn error(&self) -> &'static str {
        match self.code {
            "copy-shared-alignment" => "CUDA_ERROR_MISALIGNED_ADDRESS",
            "copy-global-memory" | "copy-shared-memory" => "CUDA_ERROR_ILLEGAL_ADDRESS",
            _ => "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        }
    }
}

/// The rules by name, with what they say.
pub const RULES: &[(&str, &str)] = &[
    (
        "copy-mode",
        "loads take tile, gather4, im2col and the W modes; stores tile, scatter4 and im2col_no_offs; reductions tile and im2col_no_offs; and the map must be of the mode's kind",
    ),
    ("copy-rank", "a map has 1 to 5 dimensions; im2col needs 3 to 5, gather4 and scatter4 exactly 2"),
    ("copy-dimension", "no dimension has more than 2^31 elements, although the driver encodes up to 2^32"),
    ("copy-four-rows", "gather4 and scatter4 need a box of one row, without interleave"),
    ("copy-w-interleave", "the W modes take no interleaved tensors"),
    (
        "copy-start",
        "without interleave, a copy starts at a multiple of 16 bytes in dimension 0; padded and 6-bit types at a multiple of 128 elements",
    ),
    (
        "copy-base",
        "im2col: the filter's base, before offsets, lies within [lower corner, size + upper corner) in each spatial dimension; in the W modes it may lie to the left in W",
    ),
    ("copy-w-offsets", "wHalo is below 512 (im2col::w) or 32 (im2col::w::128), wOffset below 32"),
    ("copy-negative", "a store or reduction has no negative coordinate"),
    (
        "copy-store-corners",
        "a store or reduction needs lower corners of at least 0 and upper corners of at most 0",
    ),
    ("copy-reduce-type", "a reduction takes the element types of its operation only"),
    (
        "copy-packed-direction",
        "b4x16_p64 is loaded only; of 6-bit elements, the 128B swizzle with 64-byte atoms is stored only",
    ),
    ("copy-shared-alignment", "the shared address is a multiple of 128 bytes"),
];

/// Copies compare coordinates as signed 32-bit numbers.
const LARGEST_DIMENSION: u64 = 1 << 31;

fn fault<T>(code: &'static str, message: String) -> Result<T, CopyFault> {
    Err(CopyFault { code, message })
}

pub(super) fn check(map: &Map, request: &Request) -> Result<(), CopyFault> {
    if !(1..=MOST_DIMENSIONS).contains(&map.rank) {
        return fault("copy-rank", format!("the map has {} dimensions, not 1 to 5", map.rank));
    }
    for (dimension, size) in map.dims.iter().enumerate() {
        if *size > LARGEST_DIMENSION {
            let message = format!("dimension {dimension} has {size} elements, more than {LARGEST_DIMENSION}");
            return fault("copy-dimension", message);
        }
    }
    mode(map, request)?;
    types(map, request)?;
    start(map, request)?;
    match &map.shape {
        MapShape::Tiled(_) => {}
        MapShape::Im2col(columns) => base(map, columns, request)?,
        MapShape::Wide(_, columns) => along_w(map, columns, request)?,
    }
    if request.direction != Direction::Load {
        negative(map, request)?;
    }
    // Last, as the hardware does: what breaks another rule too is an illegal instruction.
    if !request.shared.is_multiple_of(128) {
        let message = format!("the shared address {:#x} is no multiple of 128", request.shared);
        return fault("copy-shared-alignment", message);
    }
    Ok(())
}

fn mode(map: &Map, request: &Request) -> Result<(), CopyFault> {
    let (mode, direction) = (request.mode, request.direction);
    let (fits, what) = match direction {
        Direction::Load => (!matches!(mode, Mode::Scatter4 | Mode::Im2colNoOffs), "load"),
        Direction::Store => (matches!(mode, Mode::Tile | Mode::Scatter4 | Mode::Im2colNoOffs), "store"),
        Direction::Reduce(_) => (matches!(mode, Mode::Tile | Mode::Im2colNoOffs), "reduction"),
    };
    if !fits {
        return fault("copy-mode", format!("there is no {what} in mode {mode}"));
    }
    let kind = match map.shape {
        MapShape::Tiled(_) => "tiled",
        MapShape::Im2col(_) => "im2col",
        MapShape::Wide(WideMode::W, _) => "im2col::w",
        MapShape::Wide(WideMode::W128, _) => "im2col::w::128",
    };
    let needs = match mode {
        Mode::Tile | Mode::Gather4 | Mode::Scatter4 => "tiled",
        Mode::Im2col | Mode::Im2colNoOffs => "im2col",
        Mode::Im2colW | Mode::Im2colW128 => mode.name(),
    };
    if kind != needs {
        return fault("copy-mode", format!("mode {mode} needs a map of kind {needs}; this one is {kind}"));
    }
    match (&map.shape, mode) {
        (MapShape::Tiled(sizes), Mode::Gather4 | Mode::Scatter4) => {
            if map.rank != 2 {
                return fault(
                    "copy-rank",
                    format!("{mode} needs a map of 2 dimensions; this one has {}", map.rank),
                );
            }
            if sizes[1] != 1 || map.interleave != Interleave::None {
                let interleave = map.interleave;
                let message =
                    format!("{mode}: the box has {} rows, the interleave is {interleave}", sizes[1]);
                return fault("copy-four-rows", message);
            }
        }
        (MapShape::Im2col(_) | MapShape::Wide(..), _) if map.rank < 3 => {
            return fault("copy-rank", format!("{mode} needs 3 to 5 dimensions; the map has {}", map.rank));
        }
        (MapShape::Wide(..), _) if map.interleave != Interleave::None => {
            return fault("copy-w-interleave", format!("{mode} with interleave {}", map.interleave));
        }
        _ => {}
    }
    Ok(())
}

fn types(map: &Map, request: &Request) -> Result<(), CopyFault> {
    let element = map.element;
    match request.direction {
        Direction::Reduce(operation) if !operation.takes(element) => {
            let names: Vec<&str> = operation.elements().iter().map(|one| one.name()).collect();
            let message = format!("{operation} reduces {}, not {element}", names.join(", "));
            fault("copy-reduce-type", message)
        }
        Direction::Store if element == Element::B4x16P64 => {
            fault("copy-packed-direction", format!("{element} cannot be stored"))
        }
        Direction::Load if element == Element::B6x16 && map.swizzle == Swizzle::B128Atom64 => {
            let message = format!("{element} cannot be loaded with swizzle {}", map.swizzle);
            fault("copy-packed-direction", message)
        }
        _ => Ok(()),
    }
}

fn start(map: &Map, request: &Request) -> Result<(), CopyFault> {
    let first = request.coordinates[0];
    if map.interleave != Interleave::None {
        return Ok(());
    }
    let multiple = match map.element {
        // Where rows of half the length exist, they may start in the middle.
        Element::B6x16 if matches!(map.shape, MapShape::Tiled([64, ..])) => 64,
        Element::B4x16P64 | Element::B6x16 => 128,
        element => 128 / element.bits(),
    };
    if i64::from(first) % i64::from(multiple) != 0 {
        let bits = i64::from(first) * i64::from(map.element.bits());
        let message = format!(
            "coordinate 0 is {first}, {} bytes into the row: with {} it must be a multiple of {multiple}",
            bits / 8,
            map.element
        );
        return fault("copy-start", message);
    }
    Ok(())
}

const NAMES: [&str; 3] = ["W", "H", "D"];

fn base(map: &Map, columns: &Columns, request: &Request) -> Result<(), CopyFault> {
    let (first, count) = spatial(map);
    for (index, name) in NAMES.iter().enumerate().take(count) {
        let (lower, upper) = bounds(map, columns, index);
        let at = i64::from(request.coordinates[first + index]);
        if at < lower || at >= upper {
            let message = format!("the base is {at} in {name}, outside the bounding box [{lower}, {upper})");
            return fault("copy-base", message);
        }
    }
    Ok(())
}

fn along_w(map: &Map, columns: &Columns, request: &Request) -> Result<(), CopyFault> {
    let (first, _) = spatial(map);
    let (lower, upper) = bounds(map, columns, 0);
    let at = i64::from(request.coordinates[first]);
    if at >= upper {
        let message = format!("the base is {at} in W, right of the bounding box [{lower}, {upper})");
        return fault("copy-base", message);
    }
    let most_halo = if request.mode == Mode::Im2colW { 512 } else { 32 };
    let [halo, offset, _] = request.offsets;
    if halo >= most_halo || offset >= 32 {
        let mode = request.mode;
        let message =
            format!("{mode} needs wHalo < {most_halo} and wOffset < 32; they are {halo} and {offset}");
        return fault("copy-w-offsets", message);
    }
    Ok(())
}

fn negative(map: &Map, request: &Request) -> Result<(), CopyFault> {
    let count = if request.mode == Mode::Scatter4 { MOST_DIMENSIONS } else { map.rank };
    for (dimension, at) in request.coordinates.iter().enumerate().take(count) {
        if *at < 0 {
            return fault(
                "copy-negative",
                format!("coordinate {dimension} is {at}: stores take none below 0"),
            );
        }
    }
    if let MapShape::Im2col(columns) = &map.shape {
        for (index, name) in NAMES.iter().enumerate().take(spatial(map).1) {
            let (lower, upper) = (columns.lower[index], columns.upper[index]);
            if lower < 0 || upper > 0 {
                let message = format!(
                    "the corners in {name} are {lower} and {upper}: stores take none below 0 and above 0"
                );
                return fault("copy-store-corners", message);
            }
        }
    }
    Ok(())
}
