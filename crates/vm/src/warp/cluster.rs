//! CTAs of a cluster (PTX ISA sections 9.7.9.23, 9.7.9.24, 9.7.13.3, 9.7.13.17 and 9.7.13.18).

use super::access::addresses;
use super::asynchronous::{Place, complete_tx, completing};
use super::run::{Flow, first};
use super::{Env, Split, State, Warp};
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::cell::Unit;
use crate::sanitize::{Actor, Agent, Sanitizer, Touch};
use softwarp_ir::cluster::{ClusterOp, Pointer, Response};
use softwarp_ir::{Memory, NONE, Operands, Order};
use softwarp_isa::device::CTA_SHARED;
use softwarp_units::lanes::{Frame, LANES, lanes};

/// The bits of an address in `.shared` that are a rank.
const RANK: u64 = 0xff * CTA_SHARED;

/// Bytes of a response of `clusterlaunchcontrol.try_cancel`.
const RESPONSE: u64 = 16;

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
            ClusterOp::Arrive { .. } => {
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
                    base.wrapping_add(place | (u64::from(ranks[lane]) * CTA_SHARED) & RANK)
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
            ClusterOp::TryCancel { multicast } => self.try_cancel(env, split, operands, multicast, taking)?,
            ClusterOp::IsCancelled => {
                let responses = responses(frame, read(0), read(1));
                let cancelled = |lane: usize| u32::from(responses[lane].first.is_some()) << lane;
                let holds = (0..LANES).fold(0, |mask, lane| mask | cancelled(lane));
                frame.set_predicate(d, holds, taking);
            }
            ClusterOp::FirstCta(dimension) => {
                // Without a cluster that was cancelled there is nothing to say, and it is not said what happens.
                let responses = responses(frame, read(0), read(1)).map(|one| one.first.unwrap_or_default());
                let from = usize::from(dimension);
                for (&d, axis) in operands.writes.iter().zip(from..).filter(|(d, _)| **d != NONE) {
                    let row = responses.map(|first| first.get(axis).copied().unwrap_or(0));
                    frame.set_row(d, row, taking);
                }
            }
        }
        Ok(Flow::Next)
    }

    /// `clusterlaunchcontrol.try_cancel`: done when it is issued, like all that is asynchronous.
    fn try_cancel(
        &mut self,
        env: &mut Env<'_>,
        split: &Split,
        operands: &Operands,
        multicast: bool,
        taking: u32,
    ) -> Tried<()> {
        let spaces = &env.spaces;
        for lane in lanes(taking) {
            let first = env.launch.cancel_cluster();
            let halves = Response { first }.halves();
            for [response, mbarrier] in self.answers(env, split, operands, multicast, lane) {
                let (cells, at) = response.need(spaces, lane, (RESPONSE, RESPONSE), Use::Write)?;
                halves[0].store(cells, at as usize);
                halves[1].store(cells, at as usize + 8);
                complete_tx(spaces, mbarrier, RESPONSE as u32, lane)?;
            }
        }
        Ok(())
    }

    /// Where a lane's request is answered: the response and the mbarrier, in one CTA or in all.
    fn answers(
        &self,
        env: &Env<'_>,
        split: &Split,
        operands: &Operands,
        multicast: bool,
        lane: usize,
    ) -> Vec<[Place; 2]> {
        let &[response, mbarrier] = &operands.addresses[..] else { return Vec::new() };
        let spaces = &env.spaces;
        let activation = &self.calls[split.call as usize];
        let own = [response, mbarrier]
            .map(|address| Place::of(spaces, address.memory, addresses(activation, &address)[lane]));
        if !multicast {
            return vec![own];
        }
        let inside = |place: Place, rank: u64| (place.address & !RANK) | (rank * CTA_SHARED);
        let ranks = 0..u64::from(env.launch.cluster_ctas());
        ranks.map(|rank| own.map(|place| Place::of(spaces, Memory::Cluster, inside(place, rank)))).collect()
    }

    /// Tells the sanitizers of responses that are about to be written.
    pub(super) fn observe_cancel(
        &self,
        env: &Env<'_>,
        (sanitizer, actor): (&Sanitizer<'_>, &Actor),
        split: &Split,
        operands: &Operands,
        multicast: bool,
    ) {
        for lane in lanes(actor.lanes) {
            for [Place { address: at, .. }, mbarrier] in self.answers(env, split, operands, multicast, lane) {
                let Ok((_, start)) = env.spaces.shared_of(at) else { continue };
                let Some(address) = at.checked_sub(start) else { continue };
                let cta = env.launch.sibling(env.cta, (start / CTA_SHARED) as u32);
                let touch = Touch {
                    lane,
                    usage: Use::Write,
                    order: Order::WEAK,
                    space: Memory::Shared,
                    cta,
                    address,
                    bytes: RESPONSE,
                    data: None,
                    agent: Agent::Counted,
                    completes: completing(env, mbarrier, lane),
                };
                sanitizer.touch(env.launch, actor, &touch, &|| env.spaces.nearest(Memory::Cluster, at));
            }
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
        self.part(split, waiting);
        split.state = State::Cluster(env.cluster.phase());
        Flow::Gone
    }
}

/// Responses of all lanes.
fn responses(frame: &Frame, low: u32, high: u32) -> [Response; LANES] {
    let (low, high) = (frame.row::<u64>(low), frame.row::<u64>(high));
    std::array::from_fn(|lane| Response::of([low[lane], high[lane]]))
}

/// Addresses of all lanes.
fn pointers(frame: &Frame, slot: u32, pointer: Pointer) -> [u64; LANES] {
    match pointer.wide {
        true => frame.row::<u64>(slot),
        false => frame.row::<u32>(slot).map(u64::from),
    }
}
