//! What tables and drawings share: the pieces of shared memory that a copy leaves alone, and how to say what it does.

use super::request::Copy;
use softwarp::tensor::map::MapShape;
use softwarp::tensor::{Interleave, Packing};

/// Bytes behind a row that the copy does not write, since rows take whole spans of the swizzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Padding {
    pub row: u64,
    pub linear: u64,
    pub shared: u64,
    pub length: u32,
}

/// The padding of a copy, in cells of 16 bytes.
pub(super) fn padding(copy: &Copy) -> impl Iterator<Item = Padding> {
    let (bytes, pitch) = copy.walk.row_bytes();
    let (start, swizzle) = (copy.request.shared, copy.map.swizzle);
    (0..copy.walk.rows()).flat_map(move |row| {
        (bytes..pitch).step_by(16).map(move |at| {
            let linear = start + row * u64::from(pitch) + u64::from(at);
            Padding { row, linear, shared: swizzle.apply(linear), length: 16.min(pitch - at) }
        })
    })
}

/// Numbers as sizes: `64 × 8`.
fn product<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(" × ")
}

/// The map in a line: `f16 64 × 64, box 64 × 8, swizzle 128B`.
pub(super) fn map_line(copy: &Copy) -> String {
    let map = &copy.map;
    let mut line = format!("{} {}", map.element, product(&map.dims[..map.rank]));
    match &map.shape {
        MapShape::Tiled(sizes) => line += &format!(", box {}", product(&sizes[..map.rank])),
        MapShape::Im2col(columns) | MapShape::Wide(_, columns) => {
            line += &format!(", {} pixels of {} channels", columns.pixels, columns.channels);
        }
    }
    line + &steps(copy) + &format!(", swizzle {}", map.swizzle)
}

/// What of the map a page cannot change: `tensor of 64 × 64 elements on sm_90`.
pub(super) fn tensor_line(copy: &Copy) -> String {
    let map = &copy.map;
    format!("tensor of {} elements{} on {}", product(&map.dims[..map.rank]), steps(copy), copy.arch)
}

/// Traversal strides and interleave, where there are any.
fn steps(copy: &Copy) -> String {
    let (map, mut line) = (&copy.map, String::new());
    if map.element_strides[..map.rank].iter().any(|step| *step != 1) {
        let steps = map.element_strides[..map.rank].iter().map(u32::to_string).collect::<Vec<_>>();
        line += &format!(", traversal strides {}", steps.join(", "));
    }
    if map.interleave != Interleave::None {
        line += &format!(", interleave {}", map.interleave);
    }
    line
}

/// What the copy comes to, in a line.
pub(super) fn size_line(copy: &Copy) -> String {
    let (walk, word) = (&copy.walk, copy.row_word());
    let ((bytes, pitch), rows) = (walk.row_bytes(), walk.rows());
    let plural = if rows == 1 { "" } else { "s" };
    let mut line = format!("{rows} {word}{plural} of {bytes} bytes");
    if pitch != bytes {
        line += &format!(", one every {pitch}");
    }
    match walk.packing() {
        Packing::Plain => {}
        Packing::Padded(bytes) => line += &format!(" ({bytes} of each 16 are data, the rest is padding)"),
        Packing::SixBits => line += " (six bits of each byte)",
    }
    line
}

/// What a dimension is called: by its number, or of images by its letter.
pub(super) fn dimension_name(copy: &Copy, dimension: usize) -> String {
    let interleaved = copy.map.interleave != Interleave::None;
    let (rank, images) = (copy.map.rank, !matches!(copy.map.shape, MapShape::Tiled(_)));
    match dimension {
        _ if !images => format!("dimension {dimension}"),
        _ if dimension + 1 == rank => "N".to_owned(),
        _ if interleaved && dimension + 2 == rank || !interleaved && dimension == 0 => "C".to_owned(),
        _ => {
            let spatial = dimension - usize::from(!interleaved);
            ["W", "H", "D"]
                .get(spatial)
                .map_or_else(|| format!("dimension {dimension}"), |name| (*name).to_owned())
        }
    }
}
