//! Rules about what a copy moves: the box, traversal strides, columns of pixels, and what they take in shared memory.

use super::Checker;
use crate::codes;
use crate::map::{Access, MOST_DIMENSIONS};
use crate::object::corner_width;
use crate::types::Interleave;
use softwarp_isa::device::TensorFeature;

const MOST_IN_BOX: u32 = 256;
const MOST_PIXELS: u32 = 1024;
const LARGEST_STEP: u32 = 8;

impl Checker<'_> {
    /// Box or columns, traversal strides, and the size of the whole.
    pub(super) fn access(&mut self) {
        let description = self.description;
        match &description.access {
            Access::Tiled { box_dims } => {
                for (index, &size) in box_dims.iter().take(MOST_DIMENSIONS).enumerate() {
                    if !(1..=MOST_IN_BOX).contains(&size) {
                        let name = format!("box[{index}]");
                        self.report_range(&codes::BOX, &name, size.into(), 1, MOST_IN_BOX.into());
                    }
                }
            }
            Access::Im2col { lower, upper, channels, pixels } => {
                self.columns(*channels, *pixels);
                self.corners(lower, upper);
            }
            Access::Wide { lower, upper, channels, pixels, .. } => {
                self.columns(*channels, *pixels);
                self.corners(&[*lower], &[*upper]);
            }
        }
        for (index, &step) in description.element_strides.iter().take(MOST_DIMENSIONS).enumerate() {
            if !(1..=LARGEST_STEP).contains(&step) {
                let name = format!("element_strides[{index}]");
                self.report_range(&codes::ELEMENT_STRIDE, &name, step.into(), 1, LARGEST_STEP.into());
            }
        }
        self.inner();
        let (bytes, most) = (description.reckoned_bytes(), self.target.properties().multiprocessor_shared);
        if bytes > most {
            let message =
                format!("a copy is {bytes} bytes; {} has {most} bytes of shared memory", self.target);
            self.report(&codes::SHARED, message, Some("copy less at a time".into()));
        }
    }

    /// The word for the innermost extent of the access.
    fn inner_name(&self) -> &'static str {
        if matches!(self.description.access, Access::Tiled { .. }) { "box[0]" } else { "channels" }
    }

    /// The innermost row: whole units of 16 bytes, within the swizzle's span.
    fn inner(&mut self) {
        let description = self.description;
        let (element, inner, name) = (description.element, description.inner(), self.inner_name());
        if element.is_packed() && !self.target.supports(TensorFeature::SubByteElements) {
            return;
        }
        if element.is_padded() {
            let half = self.has_half_rows() && inner == 64;
            if inner != 128 && !half {
                let right = if self.has_half_rows() { "64 or 128" } else { "128" };
                let message = format!("{name} = {inner}; of {element} it is {right}");
                self.report(&codes::PACKED_INNER, message, None);
            }
            return;
        }
        let bits = element.bits();
        let bytes = description.inner_bytes();
        if u64::from(inner) * u64::from(bits) % 128 != 0 {
            let group = 128 / bits;
            let next = u64::from(inner - inner % group) + u64::from(group);
            let message = format!("{name} = {inner} of {element} is {bytes} bytes, not a multiple of 16");
            self.report(&codes::INNER_BYTES, message, Some(format!("{name} = {next} is the next that is")));
        }
        let span = description.swizzle.span();
        if description.interleave == Interleave::None && span != 0 && bytes > span.into() {
            let most = span * 8 / bits;
            let message = format!(
                "{name} = {inner} of {element} is {bytes} bytes; the swizzle {} spans {span}",
                description.swizzle
            );
            self.report(&codes::SPAN, message, Some(format!("{name} = {most} at most, or another swizzle")));
        }
    }

    fn columns(&mut self, channels: u32, pixels: u32) {
        if !(1..=MOST_IN_BOX).contains(&channels) {
            self.report_range(&codes::CHANNELS, "channels", channels.into(), 1, MOST_IN_BOX.into());
        }
        if !(1..=MOST_PIXELS).contains(&pixels) {
            self.report_range(&codes::PIXELS, "pixels", pixels.into(), 1, MOST_PIXELS.into());
        }
    }

    /// Corners within their bits, and a bounding box between them. Where they are missing they count as 0.
    fn corners(&mut self, lower: &[i32], upper: &[i32]) {
        let dims = &self.description.dims;
        let spatial = dims.len().clamp(2, MOST_DIMENSIONS) - 2;
        let first = usize::from(self.description.interleave == Interleave::None);
        let limit = 1 << (corner_width(dims.len()) - 1);
        for (index, &dim) in dims.iter().skip(first).take(spatial).enumerate() {
            let low = lower.get(index).copied().unwrap_or(0);
            let high = upper.get(index).copied().unwrap_or(0);
            for (name, corner) in [("lower", low), ("upper", high)] {
                if !(-limit..limit).contains(&corner) {
                    let name = format!("{name}[{index}]");
                    self.report_range(
                        &codes::CORNER,
                        &name,
                        corner.into(),
                        (-limit).into(),
                        (limit - 1).into(),
                    );
                }
            }
            // The driver's own arithmetic.
            let end = (dim as i32).wrapping_add(high);
            if end <= low && (1..=1 << 32).contains(&dim) {
                let dimension = index + first;
                let message = if dim > i32::MAX as u64 {
                    format!(
                        "dims[{dimension}] = {dim} is past 2^31 - 1, so that bases would run from {low} to {end}"
                    )
                } else {
                    format!(
                        "bases in dimension {dimension} run from lower[{index}] = {low} up to, not including, \
                         dims[{dimension}] + upper[{index}] = {dim} + {high} = {end}"
                    )
                };
                self.report(&codes::BOUNDING_BOX, message, None);
            }
        }
    }
}
