//! The number formats, as tables ([`list`], [`one`], [`block`]), JSON and drawings ([`draw`]).

mod describe;
mod render;
mod svg;

pub use describe::{Field, bias, fields, formula, landmarks, nans};
pub use render::{block, json_block, json_list, json_one, list, one};
pub use svg::draw;

use softwarp::num::Format;
use softwarp::num::block::BlockFormat;

/// Whether a format has a scale for the whole tensor besides those of its blocks.
pub fn has_tensor_scale(format: BlockFormat) -> bool {
    format.scale() != Format::Ue8m0
}
