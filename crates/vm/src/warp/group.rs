//! Groups of products (PTX ISA section 9.7.15.7): the four warps of a warpgroup multiply together, so a group is
//! complete when all of them have issued what is in it. Other groups are always complete.

use super::run::Flow;
use super::{Env, Warp};
use softwarp_ir::group::{GroupOp, Queue};

/// Warps that multiply together.
const WARPGROUP: usize = 4;

impl Warp {
    pub(super) fn group(&mut self, env: &mut Env<'_>, op: GroupOp) -> Flow {
        let own = self.index as usize;
        let (products, live) = env.barriers.products();
        match op {
            GroupOp::Commit(Queue::Products) => products[own].commit(),
            GroupOp::Wait { queue: Queue::Products, pending, .. } => {
                let first = own / WARPGROUP * WARPGROUP;
                let mut others = products.iter().zip(live).skip(first).take(WARPGROUP);
                if !others.all(|(other, &live)| live == 0 || other.has(&products[own], pending)) {
                    // The other warps run first; then the operation is executed again.
                    (self.yielded, self.waited) = (true, true);
                    return Flow::Again;
                }
                self.advanced = true;
            }
            _ => {}
        }
        Flow::Next
    }
}
