//! CTAs of a cluster (PTX ISA sections 9.7.9.23, 9.7.9.24, 9.7.13.3, 9.7.13.17 and 9.7.13.18).

use super::addresses::addresses;
use super::asynchronous::{LaneAccess, OperandAddress, completing};
use super::run::{Flow, first};
use super::{Env, Split, State, Warp};
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::cell::Unit;
use crate::sanitize::{Actor, Agent, Sanitizer, ShadowAddress, Touch};
use softwarp_ir::cluster::{Response, TryCancel};
use softwarp_ir::{ClusterOp, Memory, Order, Slot};
use softwarp_isa::device::CTA_SHARED;
use softwarp_units::lanes::{Frame, LANES, lanes};

/// The bits of an address in `.shared` that are a rank.
const RANK: u64 = 0xff * CTA_SHARED;

/// Bytes of a response of `clusterlaunchcontrol.try_cancel`.
const RESPONSE: u64 = 16;

impl Warp {
    /// Executes an operation of clusters for the lanes of a split that take part.
    pub(super) fn cluster(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        op: &ClusterOp,
        taking: u32,
    ) -> Tried<Flow> {
        let frame = &mut self.calls[split.call as usize].frame;
        let shared = env.spaces.windows.shared.base;
        match op {
            ClusterOp::Arrive(_) => {
                let again = env.cluster.arrive(env.rank, self.index, taking);
                if again != 0 {
                    return Err(Trouble::new(first(again), FaultKind::ArrivesTwice));
                }
            }
            ClusterOp::Wait => return Ok(self.cluster_wait(env, split, taking)),
            ClusterOp::Map(map) => {
                let (from, ranks) = (pointers(frame, map.address), frame.row::<u32>(map.rank));
                let base = if map.generic { shared } else { 0 };
                let mapped: [u64; LANES] = std::array::from_fn(|lane| {
                    let place = from[lane].wrapping_sub(base) & !RANK;
                    base.wrapping_add(place | (u64::from(ranks[lane]) * CTA_SHARED) & RANK)
                });
                match map.d.is_wide() {
                    true => frame.set_row(map.d, mapped, taking),
                    false => frame.set_row(map.d, mapped.map(|address| address as u32), taking),
                }
            }
            ClusterOp::Rank(rank) => {
                let base = if rank.generic { shared } else { 0 };
                let from = pointers(frame, rank.address);
                let ranks = from.map(|address| ((address.wrapping_sub(base) & RANK) / CTA_SHARED) as u32);
                frame.set_row(rank.d, ranks, taking);
            }
            ClusterOp::IsOwn(is_own) => {
                let start = shared.wrapping_add(env.spaces.window);
                let addresses = frame.row::<u64>(is_own.address);
                let own = |lane: usize| addresses[lane].wrapping_sub(start) < CTA_SHARED;
                let holds = (0..LANES).fold(0, |mask, lane| mask | u32::from(own(lane)) << lane);
                frame.set_predicate(is_own.d, holds, taking);
            }
            ClusterOp::TryCancel(request) => self.try_cancel(env, split, request, taking)?,
            ClusterOp::IsCancelled(query) => {
                let responses = responses_of(frame, query.response);
                let cancelled = |lane: usize| u32::from(responses[lane].first.is_some()) << lane;
                let holds = (0..LANES).fold(0, |mask, lane| mask | cancelled(lane));
                frame.set_predicate(query.d, holds, taking);
            }
            ClusterOp::FirstCta(query) => {
                // Without a cluster that was cancelled the manual does not say what happens.
                let responses = responses_of(frame, query.response).map(|one| one.first.unwrap_or_default());
                for (d, axis) in query.d.iter().zip(usize::from(query.from)..) {
                    if let &Some(d) = d {
                        let row = responses.map(|first| first.get(axis).copied().unwrap_or(0));
                        frame.set_row(d, row, taking);
                    }
                }
            }
        }
        Ok(Flow::Next)
    }

    /// `clusterlaunchcontrol.try_cancel`: performed when it is issued, as every asynchronous operation is.
    fn try_cancel(
        &mut self,
        env: &mut Env<'_>,
        split: &Split,
        request: &TryCancel,
        taking: u32,
    ) -> Tried<()> {
        let spaces = &env.spaces;
        for lane in lanes(taking) {
            let first = env.launch.cancel_cluster();
            let halves = Response { first }.halves();
            for response in self.responses(env, split, request, lane) {
                let (cells, at) = response.cells(spaces)?;
                halves[0].store(cells, at as usize);
                halves[1].store(cells, at as usize + 8);
                response.complete(spaces)?;
            }
        }
        Ok(())
    }

    /// The responses that a lane's request writes, in one CTA or in all of the cluster. The executor writes them, and
    /// [`Warp::observe_cancel`] reports them.
    fn responses(&self, env: &Env<'_>, split: &Split, request: &TryCancel, lane: usize) -> Vec<LaneAccess> {
        let spaces = &env.spaces;
        let activation = &self.calls[split.call as usize];
        let own = [request.response, request.mbarrier]
            .map(|operand| OperandAddress::of(spaces, operand.memory, addresses(activation, &operand)[lane]));
        let response = |[at, mbarrier]: [OperandAddress; 2]| LaneAccess {
            lane,
            at,
            bytes: RESPONSE,
            alignment: RESPONSE,
            usage: Use::Write,
            order: Order::WEAK,
            agent: Agent::Counted,
            mbarrier: Some(mbarrier),
        };
        if !request.multicast {
            return vec![response(own)];
        }
        let in_cta = |operand: OperandAddress, rank: u64| {
            let address = (operand.address & !RANK) | (rank * CTA_SHARED);
            OperandAddress::of(spaces, Memory::Cluster, address)
        };
        let ranks = 0..u64::from(env.launch.cluster_ctas());
        ranks.map(|rank| response(own.map(|operand| in_cta(operand, rank)))).collect()
    }

    /// Tells the sanitizers of responses that are about to be written.
    pub(super) fn observe_cancel(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        split: &Split,
        request: &TryCancel,
    ) {
        let responses = lanes(actor.lanes).flat_map(|lane| self.responses(env, split, request, lane));
        for LaneAccess { lane, at, bytes, usage, order, agent, mbarrier, .. } in responses {
            let at = at.address;
            let Ok((_, start)) = env.spaces.shared_of(at) else { continue };
            let Some(address) = at.checked_sub(start) else { continue };
            let cta = env.launch.sibling(env.cta, (start / CTA_SHARED) as u32);
            let place = ShadowAddress { space: Memory::Shared, cta, address };
            let completes = mbarrier.and_then(|mbarrier| completing(env, mbarrier, lane));
            let touch = Touch { order, agent, completes, ..Touch::by_thread(lane, usage, place, bytes) };
            sanitizer.touch(env.launch, actor, &touch, &|| env.spaces.nearest(Memory::Cluster, at));
        }
    }

    /// `barrier.cluster.wait`: lanes whose phase is over go on.
    fn cluster_wait(&mut self, env: &mut Env<'_>, split: &mut Split, taking: u32) -> Flow {
        let waiting = env.cluster.wait(env.rank, self.index, taking);
        if waiting != taking
            && let Some(sanitizer) = env.launch.sanitizer
        {
            let phase = env.cluster.phase().wrapping_sub(1);
            sanitizer.cluster_passed(env.launch, env.cta, (self.index, taking & !waiting), phase);
        }
        if waiting == 0 {
            return Flow::Next;
        }
        self.leave_behind(split, waiting);
        split.state = State::Cluster(env.cluster.phase());
        Flow::Gone
    }
}

/// Responses that lanes have in registers.
fn responses_of(frame: &Frame, halves: [Slot; 2]) -> [Response; LANES] {
    let [low, high] = halves.map(|slot| frame.row::<u64>(slot));
    std::array::from_fn(|lane| Response::of([low[lane], high[lane]]))
}

/// Addresses of all lanes.
fn pointers(frame: &Frame, slot: Slot) -> [u64; LANES] {
    match slot.is_wide() {
        true => frame.row::<u64>(slot),
        false => frame.row::<u32>(slot).map(u64::from),
    }
}
