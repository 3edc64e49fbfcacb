//! CTAs of a cluster (PTX ISA sections 9.7.9.23, 9.7.9.24 and 9.7.13.3).

use super::run::{Flow, first};
use super::{Env, Split, State, Warp};
use crate::fault::{FaultKind, Tried, Trouble};
use crate::lanes::{Frame, LANES};
use crate::program::cluster::{ClusterOp, Pointer};
use crate::program::{NONE, Operands};
use softwarp_image::window::CTA_SHARED;

/// The bits of an address in `.shared` that are a rank.
const RANK: u64 = 0xff * CTA_SHARED;

impl Warp {
    /// A step of its kind, by the lanes of a split that take part.
    pub(super) fn cluster(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        op: &ClusterOp,
        operands: &Operands,
        taking: u32,
    ) -> Tried<Flow> {
        let frame = &mut self.calls[split.call as usize].frame;
        let read = |index: usize| operands.reads.get(index).copied().unwrap_or(NONE);
        let d = operands.writes.first().copied().unwrap_or(NONE);
        match *op {
            ClusterOp::Arrive => {
                let again = env.cluster.arrive(env.rank, self.index, taking);
                if again != 0 {
                    return Err(Trouble::new(first(again), FaultKind::ArrivesTwice));
                }
            }
            ClusterOp::Wait => return Ok(self.cluster_wait(env, split, taking)),
            ClusterOp::Map(pointer) => {
                let (from, ranks) = (pointers(frame, read(0), pointer), frame.row::<u32>(read(1)));
                let base = if pointer.generic { env.spaces.windows.shared.base } else { 0 };
                let mapped: [u64; LANES] = std::array::from_fn(|lane| {
                    let place = from[lane].wrapping_sub(base) & !RANK;
                    base.wrapping_add(place | u64::from(ranks[lane]) * CTA_SHARED & RANK)
                });
                match pointer.wide {
                    true => frame.set_row(d, mapped, taking),
                    false => frame.set_row(d, mapped.map(|address| address as u32), taking),
                }
            }
            ClusterOp::Rank(pointer) => {
                let base = if pointer.generic { env.spaces.windows.shared.base } else { 0 };
                let from = pointers(frame, read(0), pointer);
                let ranks = from.map(|address| ((address.wrapping_sub(base) & RANK) / CTA_SHARED) as u32);
                frame.set_row(d, ranks, taking);
            }
            ClusterOp::IsOwn => {
                let start = env.spaces.windows.shared.base.wrapping_add(env.spaces.window);
                let addresses = frame.row::<u64>(read(0));
                let own = |lane: usize| addresses[lane].wrapping_sub(start) < CTA_SHARED;
                let holds = (0..LANES).fold(0, |mask, lane| mask | u32::from(own(lane)) << lane);
                frame.set_predicate(d, holds, taking);
            }
        }
        Ok(Flow::Next)
    }

    /// `barrier.cluster.wait`: lanes whose phase is over go on.
    fn cluster_wait(&mut self, env: &mut Env<'_>, split: &mut Split, taking: u32) -> Flow {
        let waiting = env.cluster.wait(env.rank, self.index, taking);
        if waiting != taking
            && let Some(sanitizer) = env.launch.sanitizer
        {
            sanitizer.cluster_passed(env.launch, env.cta, self.index);
        }
        if waiting == 0 {
            return Flow::Next;
        }
        self.part(split, waiting);
        split.state = State::Cluster(env.cluster.phase());
        Flow::Gone
    }
}

/// Addresses of all lanes.
fn pointers(frame: &Frame, slot: u32, pointer: Pointer) -> [u64; LANES] {
    match pointer.wide {
        true => frame.row::<u64>(slot),
        false => frame.row::<u32>(slot).map(u64::from),
    }
}
