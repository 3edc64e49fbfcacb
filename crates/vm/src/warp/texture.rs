//! Textures and surfaces (PTX ISA sections 9.7.10 and 9.7.11).

use super::run::Flow;
use super::{Env, Split, Warp};
use crate::fault::Tried;
use crate::program::Operands;
use crate::program::texture::TextureOp;

impl Warp {
    /// A step of its kind, by the lanes of a split that take part.
    pub(super) fn texture(
        &mut self,
        _env: &mut Env<'_>,
        _split: &mut Split,
        op: &TextureOp,
        _operands: &Operands,
        _taking: u32,
    ) -> Tried<Flow> {
        match *op {}
    }
}
