//! Rules about the tensor in global memory: rank, lists, address, dimensions, strides.

use super::Checker;
use crate::codes;
use crate::map::{Access, MOST_DIMENSIONS};
use crate::types::{Element, Interleave};
use softwarp_isa::device::TensorFeature;

/// Bits of a virtual address, as far as the driver cares.
pub(super) const ADDRESS_BITS: u32 = 57;
const STRIDE_BITS: u32 = 40;

impl Checker<'_> {
    /// The rank, and the lengths of the lists that it determines.
    pub(super) fn lists(&mut self) {
        let description = self.description;
        let rank = description.dims.len();
        if !(1..=MOST_DIMENSIONS).contains(&rank) {
            self.report(&codes::RANK, format!("the rank is {rank}, which is not within 1 to 5"), None);
        }
        if description.interleave != Interleave::None && rank < 3 {
            let interleave = description.interleave;
            let message = format!("the rank is {rank}; with {interleave} interleave it is at least 3");
            self.report(
                &codes::RANK_INTERLEAVED,
                message,
                Some("add dimensions of 1, or do not interleave".into()),
            );
        }
        let im2col = !matches!(description.access, Access::Tiled { .. });
        if im2col && rank < 3 {
            let message = format!("the rank is {rank}; for im2col it is at least 3");
            self.report(&codes::RANK_IM2COL, message, Some("add dimensions of 1".into()));
        }
        self.length("strides", description.strides.len(), rank.saturating_sub(1));
        self.length("element_strides", description.element_strides.len(), rank);
        match &description.access {
            Access::Tiled { box_dims } => self.length("box", box_dims.len(), rank),
            Access::Im2col { lower, upper, .. } => {
                self.length("lower", lower.len(), rank.saturating_sub(2));
                self.length("upper", upper.len(), rank.saturating_sub(2));
            }
            Access::Wide { .. } => {}
        }
    }

    fn length(&mut self, list: &str, length: usize, expected: usize) {
        if length != expected {
            let rank = self.description.dims.len();
            let message = format!("{list} has {length} entries; for rank {rank} it has {expected}");
            self.report(&codes::LENGTHS, message, None);
        }
    }

    /// Address, dimensions and strides.
    pub(super) fn tensor(&mut self) {
        let description = self.description;
        let alignment = self.alignment();
        if !description.address.is_multiple_of(alignment) {
            self.report_multiple(&codes::ADDRESS_ALIGNMENT, "address", description.address, alignment);
        }
        if description.address >> ADDRESS_BITS != 0 {
            let message = format!("address = 0x{:x} is not below 2^{ADDRESS_BITS}", description.address);
            self.report(&codes::ADDRESS_RANGE, message, None);
        }
        for (index, &dim) in description.dims.iter().take(MOST_DIMENSIONS).enumerate() {
            if !(1..=1 << 32).contains(&dim) {
                self.report_range(&codes::DIMENSION, &format!("dims[{index}]"), dim.into(), 1, 1 << 32);
            }
        }
        for (index, &stride) in description.strides.iter().take(MOST_DIMENSIONS - 1).enumerate() {
            let name = format!("strides[{index}]");
            if !stride.is_multiple_of(alignment) {
                self.report_multiple(&codes::STRIDE_ALIGNMENT, &name, stride, alignment);
            }
            if stride >> STRIDE_BITS != 0 {
                let message = format!("{name} = {stride} is not below 2^{STRIDE_BITS}");
                self.report(&codes::STRIDE_RANGE, message, None);
            }
        }
        self.packed_extent();
    }

    /// What addresses and strides are multiples of.
    fn alignment(&self) -> u64 {
        let description = self.description;
        let padded = description.element.is_padded()
            && self.target.supports(TensorFeature::SubByteElements)
            && !self.has_half_rows();
        if description.interleave == Interleave::B32 || padded { 32 } else { 16 }
    }

    /// Whether the weaker rules for stores of six-bit elements hold.
    pub(super) fn has_half_rows(&self) -> bool {
        self.description.element == Element::B6x16 && self.target.supports(TensorFeature::HalfRows)
    }

    fn packed_extent(&mut self) {
        if !self.target.supports(TensorFeature::SubByteElements) {
            return;
        }
        let group = match self.description.element {
            Element::B4x16 => 2,
            Element::B6x16 if self.has_half_rows() => 64,
            Element::B4x16P64 | Element::B6x16 => 128,
            _ => return,
        };
        if let Some(&dim) = self.description.dims.first()
            && !dim.is_multiple_of(group)
        {
            self.report_multiple(&codes::PACKED_EXTENT, "dims[0]", dim, group);
        }
    }
}
