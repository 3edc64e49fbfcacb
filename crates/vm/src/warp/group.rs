//! Groups of products (PTX ISA section 9.7.15.7): the four warps of a warpgroup multiply together, so a group is
//! complete when all of them have issued what is in it. Other groups are always complete.

use super::run::Flow;
use super::{Env, Warp};
use softwarp_ir::group::{GroupOp, Queue};

/// Warps that multiply together.
const WARPGROUP: usize = 4;

/// Groups that a wait can leave pending.
const GROUPS: usize = 8;

/// What a warp has issued of products.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Products {
    issued: u32,
    /// How many were issued when the last groups were committed, the last one first.
    groups: [u32; GROUPS],
}

impl Products {
    /// One is issued.
    pub(crate) fn issue(&mut self) {
        self.issued = self.issued.wrapping_add(1);
    }

    fn commit(&mut self) {
        self.groups.rotate_right(1);
        self.groups[0] = self.issued;
    }

    /// Whether it has issued what is in another's groups but the last few.
    fn has(&self, other: &Products, pending: u32) -> bool {
        let Some(&needed) = other.groups.get(pending as usize) else { return true };
        self.issued.wrapping_sub(needed) <= u32::MAX / 2
    }
}

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
                    // The others first, then again.
                    (self.yielded, self.waited) = (true, true);
                    return Flow::Gone;
                }
                self.advanced = true;
            }
            _ => {}
        }
        Flow::Next
    }
}
