//! The 128-byte object that the hardware reads (PTX ISA section 5.5.8), bit for bit as the driver makes it.
//!
//! The manual calls it opaque. The layout was found from objects that the driver made on sm_90, and from the code
//! that the assembler makes of `tensormap.replace` (both agree where both speak). Little-endian words:
//!
//! | at | bits |
//! |---|---|
//! | 00, 04 | address |
//! | 08 | 0 im2col · 6:4 rank − 1 · 10:7 element · 12:11 interleave · 14:13 swizzle · 15 NaN fill · 16 TF32 · 18:17 L2 promotion · 20:19 atomicity · 22 96-byte swizzle |
//! | 0C–18 | stride / 16, low 32 bits, from dimension 1 |
//! | 1C | stride bits 39:36, four bits each |
//! | 20–30 | dimension − 1 |
//! | 34 | traversal strides − 1, three bits each · 31:24 box in dimension 0 − 1, or channels − 1 |
//! | 38 | tiled: the other box dimensions − 1, a byte each · im2col: lower corners in the low half, upper in the high, 16, 8 or 5 bits each for 3, 4, 5 dimensions |
//! | 3C | im2col: pixels − 1 |
//! | 40 | the driver's count of bytes: [`Description::reckoned_bytes`]; copies ignore it |
//! | 48 | alignment of the destination in shared memory |
//!
//! What `cuTensorMapEncodeIm2colWide` makes on sm_90 has nothing of its own: it is an im2col object whose corners in
//! H and D are 0, and the mode (W or W128) is in the instruction alone. So a wide map decodes as an im2col map.
//!
//! Atomicity, the 96-byte swizzle and packed elements are from the assembler alone: no driver made such an object
//! for us, so the alignment at 48 is for them what the manual says, and other bits may be set. The assembler keeps
//! bit 21 of word 08 untouched; what it means is not known.

use crate::codes;
use crate::map::{Access, Columns, Description, MOST_DIMENSIONS, Map, MapShape};
use crate::types::{Element, Fill, Interleave, Promotion, Swizzle};
use softwarp_diagnostic::Diagnostic;

/// Bytes of an object.
pub const SIZE: usize = 128;

/// Word of the modes.
pub(crate) const MODES: usize = 2;
/// First word of the strides.
pub(crate) const STRIDES: usize = 3;
/// Word of the strides' top bits.
pub(crate) const STRIDES_TOP: usize = 7;
/// First word of the dimensions.
pub(crate) const DIMS: usize = 8;
/// Word of traversal strides and the box in dimension 0.
pub(crate) const STEPS: usize = 13;
/// Word of the other box dimensions, or of the corners.
pub(crate) const BOX: usize = 14;
const PIXELS: usize = 15;
const BYTES: usize = 16;
const ALIGNMENT: usize = 18;

/// A run of bits in a word.
#[derive(Clone, Copy)]
pub(crate) struct Bits {
    pub(crate) at: u32,
    pub(crate) count: u32,
}

pub(crate) const IM2COL: Bits = Bits { at: 0, count: 1 };
pub(crate) const RANK: Bits = Bits { at: 4, count: 3 };
pub(crate) const ELEMENT: Bits = Bits { at: 7, count: 4 };
pub(crate) const INTERLEAVE: Bits = Bits { at: 11, count: 2 };
pub(crate) const SWIZZLE: Bits = Bits { at: 13, count: 2 };
pub(crate) const FILL: Bits = Bits { at: 15, count: 1 };
pub(crate) const TF32: Bits = Bits { at: 16, count: 1 };
const PROMOTION: Bits = Bits { at: 17, count: 2 };
pub(crate) const ATOMICITY: Bits = Bits { at: 19, count: 2 };
pub(crate) const SPAN_96: Bits = Bits { at: 22, count: 1 };
/// The box in dimension 0, or the channels.
pub(crate) const INNER: Bits = Bits { at: 24, count: 8 };

impl Bits {
    /// The `index`th of several runs of `count` bits, side by side.
    pub(crate) fn nth(count: u32, index: usize) -> Bits {
        Bits { at: count * index as u32, count }
    }

    const fn mask(self) -> u32 {
        (u32::MAX >> (32 - self.count)) << self.at
    }

    fn get(self, word: u32) -> u32 {
        (word & self.mask()) >> self.at
    }

    fn get_signed(self, word: u32) -> i32 {
        (word << (32 - self.at - self.count)).cast_signed() >> (32 - self.count)
    }

    /// Writes the low bits of a value, as the hardware does.
    pub(crate) fn set(self, word: &mut u32, value: u32) {
        *word = *word & !self.mask() | value << self.at & self.mask();
    }
}

/// The words of an object.
pub(crate) fn words(bytes: &[u8; SIZE]) -> [u32; SIZE / 4] {
    let mut words = [0; SIZE / 4];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

/// The object of words.
pub(crate) fn bytes(words: &[u32; SIZE / 4]) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

/// Writes a stride where the hardware looks for it, as the hardware writes it.
pub(crate) fn set_stride(words: &mut [u32; SIZE / 4], index: usize, stride: u64) {
    words[STRIDES + index] = (stride >> 4) as u32;
    Bits::nth(4, index).set(&mut words[STRIDES_TOP], (stride >> 36) as u32);
}

/// The bits of a corner: lower ones first.
fn corner_bits(rank: usize, index: usize, upper: bool) -> Bits {
    let count = corner_width(rank);
    Bits { at: count * index as u32 + if upper { 16 } else { 0 }, count }
}

/// Bits of a corner, by rank.
pub(crate) fn corner_width(rank: usize) -> u32 {
    match rank {
        ..=3 => 16,
        4 => 8,
        _ => 5,
    }
}

/// The object of a map.
pub fn encode(map: &Map) -> [u8; SIZE] {
    let rank = map.rank.clamp(1, MOST_DIMENSIONS);
    let mut words = [0; SIZE / 4];
    words[0] = map.address as u32;
    words[1] = (map.address >> 32) as u32;

    let (element, tf32) = map.element.object_code();
    let (swizzle, atomicity, span_96) = map.swizzle.object_code();
    let modes = [
        (IM2COL, u32::from(!matches!(map.shape, MapShape::Tiled(_)))),
        (RANK, rank as u32 - 1),
        (ELEMENT, element),
        (INTERLEAVE, map.interleave.driver()),
        (SWIZZLE, swizzle),
        (FILL, map.fill.driver()),
        (TF32, u32::from(tf32)),
        (PROMOTION, map.promotion.driver()),
        (ATOMICITY, atomicity),
        (SPAN_96, u32::from(span_96)),
    ];
    for (bits, value) in modes {
        bits.set(&mut words[MODES], value);
    }

    for (index, stride) in map.strides[1..rank].iter().enumerate() {
        set_stride(&mut words, index, *stride);
    }
    for index in 0..rank {
        words[DIMS + index] = map.dims[index].wrapping_sub(1) as u32;
        Bits::nth(3, index).set(&mut words[STEPS], map.element_strides[index].wrapping_sub(1));
    }
    match &map.shape {
        MapShape::Tiled(box_dims) => {
            INNER.set(&mut words[STEPS], box_dims[0].wrapping_sub(1));
            for (index, size) in box_dims[1..rank].iter().enumerate() {
                Bits::nth(8, index).set(&mut words[BOX], size.wrapping_sub(1));
            }
        }
        MapShape::Im2col(columns) | MapShape::Wide(_, columns) => encode_columns(columns, rank, &mut words),
    }
    words[BYTES] = map.describe().reckoned_bytes() as u32;
    words[ALIGNMENT] = map.swizzle.alignment();
    bytes(&words)
}

fn encode_columns(columns: &Columns, rank: usize, words: &mut [u32; SIZE / 4]) {
    INNER.set(&mut words[STEPS], columns.channels.wrapping_sub(1));
    for index in 0..rank.saturating_sub(2) {
        corner_bits(rank, index, false).set(&mut words[BOX], columns.lower[index].cast_unsigned());
        corner_bits(rank, index, true).set(&mut words[BOX], columns.upper[index].cast_unsigned());
    }
    words[PIXELS] = columns.pixels.wrapping_sub(1);
}

/// What an object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The map described, right or wrong.
    pub description: Description,
    /// Bits that are set where nothing is known to have a meaning: offset of the word in bytes, and the bits.
    pub unknown: Vec<(usize, u32)>,
    /// What else is worth saying.
    pub notes: Vec<String>,
}

/// Reads an object. Numbers may be anything; a field whose value stands for nothing makes the object unreadable.
pub fn decode(object: &[u8; SIZE]) -> Result<Decoded, Vec<Diagnostic>> {
    let words = words(object);
    let modes = words[MODES];
    let mut findings = Vec::new();
    let mut unreadable = |what: &str, value: String, known: &str| {
        let message = format!("{what} in the word at 0x08 (0x{modes:08x}) is {value}; {known}");
        findings.push(codes::diagnostic(&codes::OBJECT, message, None));
    };

    let rank = RANK.get(modes) as usize + 1;
    let im2col = IM2COL.get(modes) == 1;
    if rank > MOST_DIMENSIONS {
        unreadable("the rank", rank.to_string(), "it is 1 to 5");
    } else if im2col && rank < 3 {
        unreadable("the rank", rank.to_string(), "it is 3 to 5 where the im2col bit is set");
    }
    let code = ELEMENT.get(modes);
    let element = Element::from_object_code(code, TF32.get(modes) == 1);
    if element.is_none() {
        unreadable("the element type", code.to_string(), "0 to 13 are known");
    }
    let interleave = Interleave::from_driver(INTERLEAVE.get(modes));
    if interleave.is_none() {
        unreadable("the interleave", INTERLEAVE.get(modes).to_string(), "0 to 2 are known");
    }
    let (mode, atomicity, span_96) = (SWIZZLE.get(modes), ATOMICITY.get(modes), SPAN_96.get(modes) == 1);
    let swizzle = Swizzle::from_object_code(mode, atomicity, span_96);
    if swizzle.is_none() {
        let span = if span_96 { " with the bit for 96 bytes" } else { "" };
        let value = format!("mode {mode}{span} with atomicity {atomicity}");
        unreadable(
            "the swizzle",
            value,
            "only mode 3 alone has atomicities, and the bit for 96 bytes stands alone",
        );
    }
    let (Some(element), Some(interleave), Some(swizzle), true) =
        (element, interleave, swizzle, findings.is_empty())
    else {
        return Err(findings);
    };

    let description = Description {
        element,
        address: u64::from(words[0]) | u64::from(words[1]) << 32,
        dims: (0..rank).map(|index| u64::from(words[DIMS + index]) + 1).collect(),
        strides: (0..rank - 1).map(|index| stride(&words, index)).collect(),
        element_strides: (0..rank).map(|index| Bits::nth(3, index).get(words[STEPS]) + 1).collect(),
        interleave,
        swizzle,
        promotion: Promotion::from_driver(PROMOTION.get(modes)).unwrap_or(Promotion::None),
        fill: Fill::from_driver(FILL.get(modes)).unwrap_or(Fill::Zero),
        access: if im2col { columns(&words, rank) } else { box_dims(&words, rank) },
    };
    let notes = notes(&description, &words);
    Ok(Decoded { unknown: unknown(&description, &words), notes, description })
}

fn stride(words: &[u32; SIZE / 4], index: usize) -> u64 {
    u64::from(words[STRIDES + index]) << 4 | u64::from(Bits::nth(4, index).get(words[STRIDES_TOP])) << 36
}

fn box_dims(words: &[u32; SIZE / 4], rank: usize) -> Access {
    let mut box_dims = vec![INNER.get(words[STEPS]) + 1];
    box_dims.extend((0..rank - 1).map(|index| Bits::nth(8, index).get(words[BOX]) + 1));
    Access::Tiled { box_dims }
}

fn columns(words: &[u32; SIZE / 4], rank: usize) -> Access {
    let corners = |upper| {
        (0..rank - 2).map(|index| corner_bits(rank, index, upper).get_signed(words[BOX])).collect::<Vec<_>>()
    };
    Access::Im2col {
        lower: corners(false),
        upper: corners(true),
        channels: INNER.get(words[STEPS]) + 1,
        pixels: words[PIXELS].saturating_add(1),
    }
}

/// What encoding the description would not have set, but for the two words that follow from others.
fn unknown(description: &Description, object: &[u32; SIZE / 4]) -> Vec<(usize, u32)> {
    let known = words(&encode(&Map::resolve(description)));
    let differing = object.iter().zip(&known).map(|(object, known)| object & !known).enumerate();
    differing
        .filter(|&(at, bits)| bits != 0 && at != BYTES && at != ALIGNMENT)
        .map(|(at, bits)| (4 * at, bits))
        .collect()
}

fn notes(description: &Description, words: &[u32; SIZE / 4]) -> Vec<String> {
    let mut notes = Vec::new();
    let bytes = description.reckoned_bytes();
    if u64::from(words[BYTES]) != bytes {
        let stale = words[BYTES];
        notes.push(format!(
            "the word at 0x40 counts {stale} bytes; the driver would count {bytes}. Copies ignore it"
        ));
    }
    let alignment = description.swizzle.alignment();
    if words[ALIGNMENT] != alignment {
        let stale = words[ALIGNMENT];
        notes
            .push(format!("the word at 0x48 says an alignment of {stale}; the driver would say {alignment}"));
    }
    if let Access::Im2col { lower, upper, .. } = &description.access
        && lower
            .iter()
            .chain(upper)
            .enumerate()
            .all(|(index, &corner)| corner == 0 || index % lower.len() == 0)
    {
        notes.push("a map for im2col::w looks the same: the instruction decides".to_string());
    }
    notes
}
