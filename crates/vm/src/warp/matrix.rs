//! Matrix instructions (PTX ISA sections 9.7.14 and 9.7.15).

use super::run::Flow;
use super::{Env, Split, Warp};
use crate::fault::Tried;
use crate::program::Operands;
use crate::program::matrix::MatrixOp;

impl Warp {
    /// A step of its kind, by the lanes of a split that take part.
    pub(super) fn matrix(
        &mut self,
        _env: &mut Env<'_>,
        _split: &mut Split,
        op: &MatrixOp,
        _operands: &Operands,
        _taking: u32,
    ) -> Tried<Flow> {
        match *op {}
    }
}
