//! Tells the sanitizers what asynchronous operations touch, and what happens at mbarriers. What is asynchronous is done
//! by agents (`sanitize::causality`), which are done when somebody has waited for them.

use super::bulk::targets;
use super::mbarrier::parity;
use super::place::Place;
use super::tensor::walk;
use crate::fault::Use;
use crate::sanitize::{Actor, Agent, Event, Sanitizer, Touch};
use crate::warp::bounds::observe_range;
use crate::warp::observe::{Meter, located};
use crate::warp::{Env, Split, Warp};
use softwarp_ir::asynchronous::{AsyncOp, MbarrierOp, TensorWay};
use softwarp_ir::{Memory, Operands, Order, Scope};
use softwarp_tensor::Source;
use softwarp_units::lanes::{LANES, lanes};

/// Reports to a sanitizer.
struct Observer<'a, 'b> {
    env: &'a Env<'b>,
    sanitizer: &'a Sanitizer<'a>,
    actor: &'a Actor,
    meter: Meter<'a>,
}

/// Who does something, and with which mbarrier it completes.
#[derive(Clone, Copy)]
struct By {
    agent: Agent,
    mbarrier: Option<Place>,
}

impl By {
    const THREAD: By = By { agent: Agent::Thread, mbarrier: None };

    /// An agent whose work is waited for in groups.
    fn in_group(agent: Agent) -> By {
        By { agent, mbarrier: None }
    }

    /// What completes on an mbarrier.
    fn counted(mbarrier: Place) -> By {
        By { agent: Agent::Counted, mbarrier: Some(mbarrier) }
    }

    /// `st.async` and `red.async`, which may complete on one.
    fn storing(mbarrier: Option<Place>) -> By {
        By { agent: if mbarrier.is_some() { Agent::Store } else { Agent::Thread }, mbarrier }
    }
}

/// How mbarriers are accessed where nothing is said.
const UNORDERED: Order = Order { semantics: softwarp_ir::Semantics::Relaxed, scope: Scope::Cluster };

/// How the sanitizers know the mbarrier that something completes on: whose it is, where, and the parity of its phase.
pub(crate) fn completing(env: &Env<'_>, mbarrier: Place, lane: usize) -> Option<([u32; 3], u64, u32)> {
    let (_, owner, start) = located(env, Memory::Shared, mbarrier.address)?;
    Some((owner, start, parity(&env.spaces, mbarrier, lane)?))
}

impl Observer<'_, '_> {
    fn touch(&self, lane: usize, place: Place, bytes: u64, usage: Use, order: Order, by: By) {
        let (env, Place { memory, address, .. }) = (self.env, place);
        if memory != Memory::Global && !memory.is_shared() || self.meter.is_over(bytes) {
            return;
        }
        let Some((space, cta, start)) = located(env, memory, address) else { return };
        // What is wrong with a place is found when it is used.
        if bytes == 0 || place.span(&env.spaces, bytes, 1, usage).is_err() {
            return;
        }
        observe_range(env, (self.sanitizer, self.actor), lane, (memory, address), bytes, usage);
        let completes = by.mbarrier.and_then(|mbarrier| completing(env, mbarrier, lane));
        let (address_of, data, agent) = (start, None, by.agent);
        let touch =
            Touch { lane, usage, order, space, cta, address: address_of, bytes, data, agent, completes };
        self.sanitizer.touch(env.launch, self.actor, &touch, &|| env.spaces.nearest(memory, address));
    }

    /// An operation on an mbarrier.
    fn barrier(&self, lane: usize, place: Place, order: Order, event: Event) {
        let env = self.env;
        // What is wrong with a place is found when it is used.
        let is_right = place.span(&env.spaces, 8, 8, Use::Atomic).is_ok();
        if let Some((_, owner, start)) = located(env, Memory::Shared, place.address)
            && place.memory.is_shared()
            && is_right
        {
            let parity = parity(&env.spaces, place, lane).unwrap_or(0);
            let named = || env.spaces.nearest(place.memory, place.address);
            let at = (owner, start, parity);
            self.sanitizer.mbarrier(env.launch, self.actor, (lane, order), at, event, &named);
        }
    }

    /// Whether a place is in the CTA's own shared memory.
    fn is_own(&self, place: Place) -> bool {
        located(self.env, Memory::Shared, place.address).is_some_and(|(_, owner, _)| owner == self.env.cta)
    }

    /// Who reads for a copy to several places that completes there on mbarriers: one of its own CTA, if there is one.
    fn reads(&self, targets: &[(Place, Place)]) -> By {
        let own = targets.iter().find(|(_, mbarrier)| self.is_own(*mbarrier)).or(targets.first());
        own.map_or(By::THREAD, |(_, mbarrier)| By::counted(*mbarrier))
    }
}

impl Warp {
    pub(crate) fn observe_async(
        &self,
        env: &Env<'_>,
        sanitizer: &Sanitizer<'_>,
        actor: &Actor,
        op: &AsyncOp,
        operands: &Operands,
        split: &Split,
    ) {
        let call = split.call as usize;
        let see = Observer { env, sanitizer, actor, meter: Meter::new(env.launch) };
        let [first, second, third] =
            [0, 1, 2].map(|index| self.places(env, call, operands, index, actor.lanes));
        let row = |index| self.narrow(call, operands, index).unwrap_or([0; LANES]);
        let taking = actor.lanes;
        let issue = |agent: Agent| sanitizer.issue(env.launch, actor, agent);
        match op {
            AsyncOp::PendingCount => {}
            AsyncOp::Mbarrier(MbarrierOp::Init { .. }) => {
                lanes(taking).for_each(|lane| see.barrier(lane, first[lane], Order::WEAK, Event::Begin));
            }
            // Libraries invalidate them behind the last wait of a thread, while others may be leaving theirs.
            AsyncOp::Mbarrier(MbarrierOp::Inval) => {
                lanes(taking).for_each(|lane| see.barrier(lane, first[lane], UNORDERED, Event::Begin));
            }
            AsyncOp::Mbarrier(MbarrierOp::Wait { parity, order }) => {
                let over = self.over(env, call, operands, *parity, taking).unwrap_or(0);
                for lane in lanes(taking) {
                    let event = if over >> lane & 1 == 1 { Event::Pass(*order) } else { Event::Use };
                    see.barrier(lane, first[lane], *order, event);
                }
            }
            AsyncOp::Mbarrier(MbarrierOp::Arrive { order, .. }) => {
                let event = Event::Arrive(*order);
                lanes(taking).for_each(|lane| see.barrier(lane, first[lane], *order, event));
            }
            AsyncOp::Mbarrier(_) => {
                lanes(taking).for_each(|lane| see.barrier(lane, first[lane], UNORDERED, Event::Use));
            }
            AsyncOp::CopyArrive { .. } => {
                let event = Event::ArriveBehind(Agent::Copy);
                lanes(taking).for_each(|lane| see.barrier(lane, first[lane], UNORDERED, event));
            }
            AsyncOp::Copy(copy) => {
                let amounts = self.amounts(call, *copy, operands);
                issue(Agent::Copy);
                let by = By::in_group(Agent::Copy);
                for lane in lanes(taking) {
                    see.touch(lane, second[lane], amounts[lane], Use::Read, Order::WEAK, by);
                    see.touch(lane, first[lane], copy.bytes.into(), Use::Write, Order::WEAK, by);
                }
            }
            AsyncOp::Bulk(bulk) => {
                let (sizes, masks) = (row(0), row(if bulk.ignore_outside { 3 } else { 1 }));
                let (usage, order) = match bulk.reduction {
                    Some(_) => (Use::Atomic, Order::relaxed(Scope::Gpu)),
                    None => (Use::Write, Order::WEAK),
                };
                issue(Agent::Source);
                for lane in lanes(taking) {
                    let bytes = u64::from(sizes[lane]);
                    // What is wrong with an address is found when it is used.
                    let one = (first[lane], third[lane]);
                    let targets = targets(&env.spaces, bulk, one, (bytes, masks[lane]), lane);
                    let targets = targets.unwrap_or_default();
                    let source =
                        if bulk.mbarrier { see.reads(&targets) } else { By::in_group(Agent::Source) };
                    see.touch(lane, second[lane], bytes, Use::Read, Order::WEAK, source);
                    for (to, barrier) in targets {
                        let target =
                            if bulk.mbarrier { By::counted(barrier) } else { By::in_group(Agent::Target) };
                        if bulk.mbarrier {
                            see.barrier(lane, barrier, UNORDERED, Event::Use);
                        }
                        see.touch(lane, to, bytes, usage, order, target);
                    }
                }
            }
            AsyncOp::Store(store) => {
                let bytes = u64::from(store.bytes) * operands.reads.len() as u64;
                for lane in lanes(taking) {
                    let by = By::storing(store.mbarrier.then_some(second[lane]));
                    if store.mbarrier {
                        see.barrier(lane, second[lane], UNORDERED, Event::Use);
                    }
                    see.touch(lane, first[lane], bytes, Use::Write, Order::WEAK, by);
                }
            }
            AsyncOp::Reduce(reduce) => {
                for lane in lanes(taking) {
                    let bytes = u64::from(reduce.ty.bits() / 8);
                    let by = By::storing(reduce.mbarrier.then_some(second[lane]));
                    if reduce.mbarrier {
                        see.barrier(lane, second[lane], UNORDERED, Event::Use);
                    }
                    see.touch(lane, first[lane], bytes, Use::Atomic, Order::relaxed(Scope::Cluster), by);
                }
            }
            AsyncOp::Zero => {
                if let Some(&slot) = operands.reads.first() {
                    let sizes = self.calls[call].frame.row::<u64>(slot);
                    for lane in lanes(taking) {
                        see.touch(lane, first[lane], sizes[lane], Use::Write, Order::WEAK, By::THREAD);
                    }
                }
            }
            AsyncOp::Tensor(copy) => {
                let (global, shared, order) = match copy.way {
                    TensorWay::Prefetch => return,
                    TensorWay::Load => (Use::Read, Use::Write, Order::WEAK),
                    TensorWay::Store => (Use::Write, Use::Read, Order::WEAK),
                    TensorWay::Reduce(_) => (Use::Atomic, Use::Read, Order::relaxed(Scope::Gpu)),
                };
                let loads = copy.way == TensorWay::Load;
                issue(Agent::Source);
                for asked in self.asked(env, call, copy, operands, taking) {
                    let Some((base, walk)) = walk(env, copy, &asked) else { continue };
                    let of_global =
                        if loads { see.reads(&asked.targets) } else { By::in_group(Agent::Target) };
                    if loads {
                        for (_, barrier) in &asked.targets {
                            see.barrier(asked.lane, *barrier, UNORDERED, Event::Use);
                        }
                    }
                    for run in walk {
                        let bytes = run.length.into();
                        let inside = run.shared.wrapping_sub(asked.request.shared);
                        if let Source::Global(offset) = run.source {
                            let place = Place::of(&env.spaces, Memory::Global, base.wrapping_add(offset));
                            see.touch(asked.lane, place, bytes, global, order, of_global);
                        }
                        for (to, barrier) in &asked.targets {
                            let by = if loads { By::counted(*barrier) } else { By::in_group(Agent::Source) };
                            see.touch(asked.lane, to.after(inside), bytes, shared, Order::WEAK, by);
                        }
                    }
                }
            }
            // All lanes do the same.
            AsyncOp::Replace { .. } => {
                for lane in lanes(taking).take(1) {
                    see.touch(lane, first[lane], 128, Use::Write, Order::WEAK, By::THREAD);
                }
            }
            AsyncOp::CopyMap => {
                for lane in lanes(taking).take(1) {
                    see.touch(lane, second[lane], 128, Use::Read, Order::WEAK, By::THREAD);
                    see.touch(lane, first[lane], 128, Use::Write, Order::WEAK, By::THREAD);
                }
            }
        }
    }
}
