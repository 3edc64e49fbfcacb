//! Tells the sanitizers what asynchronous operations touch, and what happens at mbarriers. What is asynchronous is done
//! by agents (`sanitize::causality`), which are done when somebody has waited for them.

use super::mbarrier::parity;
use super::place::Place;
use super::tensor::walk;
use crate::fault::Use;
use crate::sanitize::{Actor, Agent, Event, Sanitizer, Touch};
use crate::warp::bounds::observe_range;
use crate::warp::observe::{Meter, located};
use crate::warp::{Env, Split, Warp};
use softwarp_ir::asynchronous::TensorWay;
use softwarp_ir::{Address, AsyncOp, Memory, Order, Scope};
use softwarp_tensor::Source;
use softwarp_units::lanes::lanes;

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
        split: &Split,
    ) {
        let call = split.call as usize;
        let see = Observer { env, sanitizer, actor, meter: Meter::new(env.launch) };
        let taking = actor.lanes;
        let places = |address: &Address| self.places(env, call, address, taking);
        let barriers = |mbarrier: &Address, order: Order, event: Event| {
            let at = places(mbarrier);
            lanes(taking).for_each(|lane| see.barrier(lane, at[lane], order, event));
        };
        // `st.async` and `red.async`.
        let stores = |to: &Address, mbarrier: Option<&Address>, bytes: u64, usage: Use, order: Order| {
            let (to, barriers) = (places(to), mbarrier.map(places));
            for lane in lanes(taking) {
                let mbarrier = barriers.as_ref().map(|barriers| barriers[lane]);
                if let Some(mbarrier) = mbarrier {
                    see.barrier(lane, mbarrier, UNORDERED, Event::Use);
                }
                see.touch(lane, to[lane], bytes, usage, order, By::storing(mbarrier));
            }
        };
        let issue = |agent: Agent| sanitizer.issue(env.launch, actor, agent);
        match op {
            AsyncOp::PendingCount(_) => {}
            AsyncOp::MbarrierInit(init) => barriers(&init.mbarrier, Order::WEAK, Event::Begin),
            // Libraries invalidate them behind the last wait of a thread, while others may be leaving theirs.
            AsyncOp::MbarrierInval(inval) => barriers(&inval.mbarrier, UNORDERED, Event::Begin),
            AsyncOp::MbarrierWait(wait) => {
                let at = places(&wait.mbarrier);
                let over = self.over(env, call, wait, taking).unwrap_or(0);
                for lane in lanes(taking) {
                    let event = if over >> lane & 1 == 1 { Event::Pass(wait.order) } else { Event::Use };
                    see.barrier(lane, at[lane], wait.order, event);
                }
            }
            AsyncOp::MbarrierArrive(arrive) => {
                barriers(&arrive.mbarrier, arrive.order, Event::Arrive(arrive.order));
            }
            AsyncOp::MbarrierTx(tx) => barriers(&tx.mbarrier, UNORDERED, Event::Use),
            AsyncOp::MbarrierCheckLayout(check) => barriers(&check.mbarrier, UNORDERED, Event::Use),
            AsyncOp::CopyArrive(arrive) => {
                barriers(&arrive.mbarrier, UNORDERED, Event::ArriveBehind(Agent::Copy));
            }
            AsyncOp::Copy(copy) => {
                let (to, from) = (places(&copy.to), places(&copy.from));
                let amounts = self.amounts(call, copy);
                issue(Agent::Copy);
                let by = By::in_group(Agent::Copy);
                for lane in lanes(taking) {
                    see.touch(lane, from[lane], amounts[lane], Use::Read, Order::WEAK, by);
                    see.touch(lane, to[lane], copy.bytes.into(), Use::Write, Order::WEAK, by);
                }
            }
            AsyncOp::Bulk(bulk) => {
                let operands = self.bulk_operands(env, call, bulk, taking);
                let counts = bulk.mbarrier.is_some();
                let (usage, order) = match bulk.reduction {
                    Some(_) => (Use::Atomic, Order::relaxed(Scope::Gpu)),
                    None => (Use::Write, Order::WEAK),
                };
                issue(Agent::Source);
                for lane in lanes(taking) {
                    let bytes = u64::from(operands.sizes[lane]);
                    // What is wrong with an address is found when it is used.
                    let targets = operands.targets(&env.spaces, bulk, lane).unwrap_or_default();
                    let source = if counts { see.reads(&targets) } else { By::in_group(Agent::Source) };
                    see.touch(lane, operands.from[lane], bytes, Use::Read, Order::WEAK, source);
                    for (to, barrier) in targets {
                        let target = if counts { By::counted(barrier) } else { By::in_group(Agent::Target) };
                        if counts {
                            see.barrier(lane, barrier, UNORDERED, Event::Use);
                        }
                        see.touch(lane, to, bytes, usage, order, target);
                    }
                }
            }
            AsyncOp::Store(store) => {
                let bytes = u64::from(store.bytes) * store.data.len() as u64;
                stores(&store.to, store.mbarrier.as_ref(), bytes, Use::Write, Order::WEAK);
            }
            AsyncOp::Reduce(reduce) => {
                let bytes = u64::from(reduce.ty.bits() / 8);
                let order = Order::relaxed(Scope::Cluster);
                stores(&reduce.to, reduce.mbarrier.as_ref(), bytes, Use::Atomic, order);
            }
            AsyncOp::Zero(zero) => {
                let (to, sizes) = (places(&zero.to), self.calls[call].frame.row::<u64>(zero.size));
                for lane in lanes(taking) {
                    see.touch(lane, to[lane], sizes[lane], Use::Write, Order::WEAK, By::THREAD);
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
                for asked in self.asked(env, call, copy, taking) {
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
            AsyncOp::Replace(replace) => {
                let map = places(&replace.map);
                for lane in lanes(taking).take(1) {
                    see.touch(lane, map[lane], 128, Use::Write, Order::WEAK, By::THREAD);
                }
            }
            AsyncOp::CopyMap(copy) => {
                let (to, from) = (places(&copy.to), places(&copy.from));
                for lane in lanes(taking).take(1) {
                    see.touch(lane, from[lane], 128, Use::Read, Order::WEAK, By::THREAD);
                    see.touch(lane, to[lane], 128, Use::Write, Order::WEAK, By::THREAD);
                }
            }
        }
    }
}
