//! A whole `cvt` instruction: several elements at once, with random bits and scales.

use crate::{Conversion, Packed};

/// What a `cvt` instruction does with its registers: one [`Conversion`] per element, and where the
/// elements come from and go.
///
/// The destination is one register of `lanes` elements. With `packed_source` the source is one too;
/// otherwise there are `lanes` source registers, the first of which (PTX's `a`) becomes the highest
/// element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cvt {
    /// What happens to each element.
    pub element: Conversion,
    /// Elements converted: 1, 2 or 4.
    pub lanes: u8,
    /// Whether the source elements share one register.
    pub packed_source: bool,
    /// Whether one scale serves all elements (`n1`) or each has its own (`n2`).
    pub shared_scale: bool,
}

impl Cvt {
    /// The layout of the destination.
    pub const fn dst(self) -> Packed {
        Packed { element: self.element.dst, lanes: self.lanes }
    }

    /// The layout of each source register.
    pub const fn src(self) -> Packed {
        Packed { element: self.element.src, lanes: if self.packed_source { self.lanes } else { 1 } }
    }
}
