//! Rules about the options and which of them go together, by target.

use super::Checker;
use super::is_recorded;
use crate::codes;
use crate::map::Access;
use crate::types::{Element, Fill, Interleave, Swizzle, WideMode};
use softwarp_isa::device::TensorFeature;

impl Checker<'_> {
    /// Element type, swizzle, interleave, fill and wide mode.
    pub(super) fn modes(&mut self) {
        let (description, target) = (self.description, self.target);
        let (element, swizzle, interleave) =
            (description.element, description.swizzle, description.interleave);
        if element.is_packed() && !target.supports(TensorFeature::SubByteElements) {
            let message = format!("{target} has no elements of less than a byte ({element})");
            self.report(&codes::ELEMENT_TARGET, message, Some("u8, two or more elements in each".into()));
        } else {
            self.packed_modes();
        }
        if description.fill == Fill::Nan && !element.is_float() {
            let message = format!("elements of {element} cannot be filled with NaN");
            self.report(&codes::NAN_FILL, message, Some("fill with zero".into()));
        }
        self.swizzle();
        if interleave == Interleave::B32 && swizzle != Swizzle::B32 {
            let rule = if is_recorded(target) {
                &codes::LOOSE_INTERLEAVE_SWIZZLE
            } else {
                &codes::INTERLEAVE_SWIZZLE
            };
            let message = format!("the interleave is 32B and the swizzle {swizzle}");
            self.report(rule, message, Some("the 32B swizzle".into()));
        }
        if let Access::Wide { mode, .. } = description.access {
            self.wide(mode);
        }
    }

    fn packed_modes(&mut self) {
        let description = self.description;
        let (element, swizzle) = (description.element, description.swizzle);
        if element == Element::B6x16 && description.interleave != Interleave::None {
            let message = format!("{element} with {} interleave", description.interleave);
            self.report(&codes::PACKED_INTERLEAVE, message, Some("no interleave".into()));
        }
        let allowed = match element {
            Element::B4x16P64 => {
                matches!(swizzle, Swizzle::None | Swizzle::B128 | Swizzle::B128Atom32)
            }
            Element::B6x16 => {
                matches!(swizzle, Swizzle::None | Swizzle::B128 | Swizzle::B128Atom32 | Swizzle::B128Atom64)
                    || swizzle == Swizzle::B64 && self.has_half_rows()
            }
            _ => true,
        };
        // The 96-byte swizzle has a rule of its own.
        if !allowed && swizzle != Swizzle::B96 {
            let message = format!("{element} cannot have the swizzle {swizzle}");
            self.report(&codes::PACKED_SWIZZLE, message, Some("none, 128B or 128B_ATOM_32B".into()));
        }
    }

    fn swizzle(&mut self) {
        let (description, target) = (self.description, self.target);
        let swizzle = description.swizzle;
        let missing = match swizzle {
            Swizzle::None | Swizzle::B32 | Swizzle::B64 | Swizzle::B128 => false,
            Swizzle::B128Atom32 | Swizzle::B128Atom32Flip8 | Swizzle::B128Atom64 => {
                !target.supports(TensorFeature::SwizzleAtoms)
            }
            Swizzle::B96 => !target.supports(TensorFeature::Swizzle96),
        };
        if missing {
            let message = format!("{target} has no swizzle {swizzle}");
            self.report(&codes::SWIZZLE_TARGET, message, Some("none, 32B, 64B or 128B".into()));
        } else if swizzle == Swizzle::B96 {
            if description.interleave != Interleave::None {
                let message = format!("the swizzle is 96B and the interleave {}", description.interleave);
                self.report(&codes::SPAN_96, message, None);
            }
            if description.element.is_padded() {
                let message = format!("the swizzle is 96B and the element type {}", description.element);
                self.report(&codes::SPAN_96, message, None);
            }
            if matches!(description.access, Access::Wide { mode: WideMode::W128, .. }) {
                self.report(&codes::SPAN_96, "the swizzle is 96B and the access im2col::w::128".into(), None);
            }
        }
    }

    fn wide(&mut self, mode: WideMode) {
        let (description, target) = (self.description, self.target);
        let (swizzle, interleave) = (description.swizzle, description.interleave);
        let mut loose = false;
        if interleave != Interleave::None {
            loose = true;
            let rule = if is_recorded(target) { &codes::WIDE_LOOSE } else { &codes::WIDE_INTERLEAVE };
            let message = format!("im2col::w with {interleave} interleave");
            self.report(rule, message, Some("no interleave".into()));
        }
        // The 96-byte swizzle has a rule of its own.
        if !matches!(swizzle, Swizzle::B64 | Swizzle::B128 | Swizzle::B128Atom32 | Swizzle::B96) {
            loose = true;
            let rule = if is_recorded(target) { &codes::WIDE_LOOSE } else { &codes::WIDE_SWIZZLE };
            let message = format!("im2col::w with the swizzle {swizzle}");
            self.report(rule, message, Some("64B, 128B or 128B_ATOM_32B".into()));
        }
        if is_recorded(target) && !loose {
            let message =
                format!("{target} has no im2col::w: the driver makes the map, and no instruction takes it");
            self.report(&codes::WIDE_UNUSABLE, message, None);
        } else if !is_recorded(target)
            && mode == WideMode::W128
            && !target.supports(TensorFeature::Im2colW128)
        {
            let message = format!("{target} has no im2col::w::128");
            self.report(&codes::WIDE_TARGET, message, Some("im2col::w".into()));
        }
    }
}
