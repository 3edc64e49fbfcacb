//! Maps that are legal and perhaps not what was meant.

use super::Checker;
use super::tensor::ADDRESS_BITS;
use crate::codes;
use crate::map::{Map, MapShape};
use crate::types::{Element, Interleave, Swizzle};
use softwarp_isa::device::TensorFeature;

impl Checker<'_> {
    /// All warnings that need legal numbers.
    pub(super) fn suspicions(&mut self, map: &Map) {
        let interleaved = map.interleave != Interleave::None;
        if !interleaved && map.element_strides[0] != 1 {
            let message = format!("element_strides[0] = {} is ignored", map.element_strides[0]);
            self.report(&codes::FIRST_STEP, message, Some("element_strides[0] = 1".into()));
        }
        self.shape(map, interleaved);
        self.bytes(map);
        self.strides(map);
        self.one_way(map);
    }

    fn shape(&mut self, map: &Map, interleaved: bool) {
        let (bytes, span) = (self.description.inner_bytes(), u64::from(map.swizzle.span()));
        if !interleaved && !map.element.is_padded() && bytes * 2 <= span {
            let message = format!(
                "a row of {bytes} bytes takes {span} bytes of shared memory, with the swizzle {}",
                map.swizzle
            );
            self.report(&codes::SPAN_UNFILLED, message, Some("a longer row or a narrower swizzle".into()));
        }
        let MapShape::Tiled(box_dims) = map.shape else { return };
        let slice = if interleaved { map.rank.checked_sub(2) } else { None };
        for dimension in (0..map.rank).filter(|&dimension| Some(dimension) != slice) {
            let (size, dim) = (box_dims[dimension], map.dims[dimension]);
            if u64::from(size) > dim {
                let message = format!("box[{dimension}] = {size} is more than dims[{dimension}] = {dim}");
                self.report(&codes::BOX_BEYOND, message, None);
            }
        }
        if let Some(slice) = slice
            && box_dims[slice] != 1
        {
            let message = format!("box[{slice}] = {} is ignored: a copy moves one slice", box_dims[slice]);
            self.report(
                &codes::SLICES,
                message,
                Some(format!("box[{slice}] = 1, and a copy for each slice")),
            );
        }
    }

    fn bytes(&mut self, map: &Map) {
        let (reckoned, copied) = (self.description.reckoned_bytes(), map.copied_bytes());
        // The driver never counts whole slices, so that with interleave only what it rounded off is worth a word.
        let rounded = match map.shape {
            MapShape::Tiled(sizes) => {
                (0..map.rank).any(|index| sizes[index] % map.element_strides[index] != 0)
            }
            _ => false,
        };
        if reckoned != copied && (rounded || map.interleave == Interleave::None) {
            let message =
                format!("the driver counts {reckoned} bytes; a copy completes {copied} on its mbarrier");
            self.report(&codes::BYTES, message, Some(format!("expect {copied} bytes")));
        }
    }

    fn strides(&mut self, map: &Map) {
        let mut zero = false;
        for dimension in 1..map.rank {
            if map.strides[dimension] == 0 && map.dims[dimension] > 1 {
                zero = true;
                let name = dimension - 1;
                let message = format!(
                    "strides[{name}] = 0 repeats dimension {dimension} {} times",
                    map.dims[dimension]
                );
                self.report(&codes::ZERO_STRIDE, message, None);
            }
        }
        let end = u128::from(map.address) + reach(map).div_ceil(8);
        if end > 1 << ADDRESS_BITS {
            let message = format!("the tensor ends at 0x{end:x}");
            self.report(&codes::ADDRESS_END, message, None);
        }
        if !zero && let Some((dimension, under)) = overlap(map) {
            let (name, stride) = (dimension - 1, map.strides[dimension]);
            let message = format!("strides[{name}] = {stride} steps over elements that take {under} bytes");
            self.report(&codes::OVERLAP, message, None);
        }
        let row = u128::from(map.dims[0]) * u128::from(map.element.bits());
        if map.interleave == Interleave::None && row % 128 != 0 {
            let (bytes, behind) = (row.div_ceil(8), (128 - row % 128) / 8);
            let message = format!("rows are {bytes} bytes; stores also write the {behind} bytes behind each");
            self.report(&codes::ROW_END, message, None);
        }
    }

    fn one_way(&mut self, map: &Map) {
        let target = self.target;
        let whole_rows = self.description.inner() == 128 && map.dims[0].is_multiple_of(128);
        let mut only = |message: String| self.report(&codes::ONE_WAY, message, None);
        let atoms =
            matches!(map.swizzle, Swizzle::B128Atom32 | Swizzle::B128Atom32Flip8 | Swizzle::B128Atom64);
        if !target.supports(TensorFeature::SubByteLoads) {
            if map.element == Element::B4x16P64 {
                only(format!("{target} can neither load nor store {}", map.element));
            } else if map.element.is_packed() {
                only(format!("{target} stores {} and does not load it", map.element));
            } else if atoms {
                only(format!("{target} stores with the swizzle {} and does not load with it", map.swizzle));
            }
        } else if map.element == Element::B6x16 {
            let aligned = map.address.is_multiple_of(32)
                && map.strides[1..].iter().all(|stride| stride.is_multiple_of(32));
            if !aligned || !whole_rows || matches!(map.swizzle, Swizzle::B128Atom64 | Swizzle::B64) {
                let swizzle = map.swizzle;
                only(format!("only stores take {} so (swizzle {swizzle}, alignment and rows)", map.element));
            }
        }
    }
}

/// Bits of an element, or of a slice.
fn unit_bits(map: &Map) -> u128 {
    match map.interleave {
        Interleave::None => map.element.bits().into(),
        slice => (slice.bytes() * 8).into(),
    }
}

/// Bits from the tensor's address to the end of its last element.
fn reach(map: &Map) -> u128 {
    let unit = unit_bits(map);
    let outer: u128 = (1..map.rank)
        .map(|dimension| u128::from(map.dims[dimension] - 1) * u128::from(map.strides[dimension]) * 8)
        .sum();
    u128::from(map.dims[0]) * unit + outer
}

/// The dimension whose stride is too small for what lies within one step, and the bytes of that. Taken from the
/// smallest stride to the largest: each must step over all that the smaller ones reach.
fn overlap(map: &Map) -> Option<(usize, u128)> {
    let mut dimensions: Vec<usize> = (1..map.rank).filter(|&dimension| map.dims[dimension] > 1).collect();
    dimensions.sort_by_key(|&dimension| map.strides[dimension]);
    let mut within = u128::from(map.dims[0]) * unit_bits(map);
    for dimension in dimensions {
        let step = u128::from(map.strides[dimension]) * 8;
        if step < within {
            return Some((dimension, within.div_ceil(8)));
        }
        within += u128::from(map.dims[dimension] - 1) * step;
    }
    None
}
