//! Asynchronous copies and mbarriers (PTX ISA sections 9.7.9.25 and 9.7.13.15).

use super::run::Flow;
use super::{Env, Split, Warp};
use crate::fault::Tried;
use crate::program::Operands;
use crate::program::asynchronous::AsyncOp;

impl Warp {
    /// A step of its kind, by the lanes of a split that take part.
    pub(super) fn asynchronous(
        &mut self,
        _env: &mut Env<'_>,
        _split: &mut Split,
        op: &AsyncOp,
        _operands: &Operands,
        _taking: u32,
    ) -> Tried<Flow> {
        match *op {}
    }
}
