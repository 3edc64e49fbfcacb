//! CTAs of a cluster (PTX ISA sections 9.7.9.23 and 9.7.13.3).

use super::run::Flow;
use super::{Env, Split, Warp};
use crate::fault::Tried;
use crate::program::Operands;
use crate::program::cluster::ClusterOp;

impl Warp {
    /// A step of its kind, by the lanes of a split that take part.
    pub(super) fn cluster(
        &mut self,
        _env: &mut Env<'_>,
        _split: &mut Split,
        op: &ClusterOp,
        _operands: &Operands,
        _taking: u32,
    ) -> Tried<Flow> {
        match *op {}
    }
}
