//! Tells the sanitizers what asynchronous operations access, and what happens at mbarriers. It reports the accesses that
//! the executor performs: `accesses.rs`, `bulk.rs` and `tensor.rs` describe them.
//!
//! Asynchronous accesses are those of agents (`sanitize::causality`). They are complete when a thread has waited for
//! them.

use super::accesses::{Accesses, CopyAccesses, LaneAccess};
use super::mbarrier::Object;
use super::operand::OperandAddress;
use super::tensor::{TensorUse, walk};
use crate::fault::Use;
use crate::sanitize::{Actor, Agent, Event, MbarrierPhase, Sanitizer, Touch};
use crate::warp::bounds::observe_range;
use crate::warp::observe::{ObservedBytes, shadow_address};
use crate::warp::{Env, Split, Warp};
use softwarp_ir::asynchronous::{Bulk, MbarrierWait, TensorCopy};
use softwarp_ir::{Address, AsyncOp, Memory, Order, Scope};
use softwarp_tensor::Source;
use softwarp_units::lanes::{LANES, lanes};

/// Reports to a sanitizer.
struct Observer<'a, 'b> {
    env: &'a Env<'b>,
    sanitizer: &'a Sanitizer<'a>,
    actor: &'a Actor,
    observed: ObservedBytes<'a>,
}

/// The order of accesses to mbarriers by operations without `.sem`.
const UNORDERED: Order = Order { semantics: softwarp_ir::Semantics::Relaxed, scope: Scope::Cluster };

/// The phase of an mbarrier that an access completes on.
pub(crate) fn completing(env: &Env<'_>, mbarrier: OperandAddress, lane: usize) -> Option<MbarrierPhase> {
    let at = shadow_address(env, Memory::Shared, mbarrier.address)?;
    let parity = Object::find(&env.spaces, mbarrier, lane).ok()?.load().parity();
    Some(MbarrierPhase { cta: at.cta, address: at.address, parity })
}

impl Observer<'_, '_> {
    /// An access.
    fn touch(&self, access: &LaneAccess) {
        let &LaneAccess { lane, bytes, usage, order, agent, .. } = access;
        let (env, OperandAddress { memory, address, .. }) = (self.env, access.at);
        if memory != Memory::Global && !memory.is_shared() || self.observed.is_over(bytes) {
            return;
        }
        let Some(at) = shadow_address(env, memory, address) else { return };
        // The executor reports bad addresses.
        if bytes == 0 || access.at.span(&env.spaces, bytes, 1, usage).is_err() {
            return;
        }
        observe_range(env, (self.sanitizer, self.actor), lane, (memory, address), bytes, usage);
        let completes = access.mbarrier.and_then(|mbarrier| completing(env, mbarrier, lane));
        let touch = Touch { order, agent, completes, ..Touch::by_thread(lane, usage, at, bytes) };
        self.sanitizer.touch(env.launch, self.actor, &touch, &|| env.spaces.nearest(memory, address));
    }

    /// An access and the use of the mbarrier that it completes on.
    fn touch_and_complete(&self, access: &LaneAccess) {
        if let Some(mbarrier) = access.mbarrier {
            self.mbarrier(access.lane, mbarrier, UNORDERED, Event::Use);
        }
        self.touch(access);
    }

    /// One access of each lane.
    fn touch_each(&self, accesses: &Accesses) {
        lanes(self.actor.lanes).for_each(|lane| self.touch_and_complete(&accesses.of(lane)));
    }

    /// The reads and writes of some lanes.
    fn copies(&self, copies: &CopyAccesses, taking: impl Iterator<Item = usize>) {
        for lane in taking {
            self.touch(&copies.from.of(lane));
            self.touch(&copies.to.of(lane));
        }
    }

    /// An operation on an mbarrier.
    fn mbarrier(&self, lane: usize, mbarrier: OperandAddress, order: Order, event: Event) {
        let (env, OperandAddress { memory, address, .. }) = (self.env, mbarrier);
        // The executor reports bad addresses.
        if let Some(phase) = completing(env, mbarrier, lane) {
            let named = || env.spaces.nearest(memory, address);
            self.sanitizer.mbarrier(env.launch, self.actor, (lane, order), phase, event, &named);
        }
    }

    /// The same operation on the mbarrier of each lane.
    fn mbarriers(&self, mbarriers: &[OperandAddress; LANES], order: Order, event: Event) {
        lanes(self.actor.lanes).for_each(|lane| self.mbarrier(lane, mbarriers[lane], order, event));
    }

    /// Whether an operand is in the CTA's own shared memory.
    fn is_own(&self, operand: OperandAddress) -> bool {
        shadow_address(self.env, Memory::Shared, operand.address).is_some_and(|at| at.cta == self.env.cta)
    }

    /// The read of a copy that completes on these mbarriers. It completes with the one in its own CTA, if there is
    /// one, or else with the first.
    fn completing_read(&self, read: LaneAccess, mbarriers: &[OperandAddress]) -> LaneAccess {
        let own = mbarriers.iter().find(|mbarrier| self.is_own(**mbarrier)).or(mbarriers.first()).copied();
        LaneAccess { agent: own.map_or(Agent::Thread, |_| Agent::Counted), mbarrier: own, ..read }
    }

    /// An agent of the warp begins to work.
    fn issue(&self, agent: Agent) {
        self.sanitizer.issue(self.env.launch, self.actor, agent);
    }
}

impl Warp {
    /// An asynchronous operation is about to be executed.
    pub(crate) fn observe_async(
        &self,
        env: &Env<'_>,
        sanitizer: &Sanitizer<'_>,
        actor: &Actor,
        op: &AsyncOp,
        split: &Split,
    ) {
        let (call, taking) = (split.call as usize, actor.lanes);
        let see = Observer { env, sanitizer, actor, observed: ObservedBytes::new(env.launch) };
        let operands = |operand: &Address| self.operands(env, call, operand, taking);
        match op {
            AsyncOp::PendingCount(_) => {}
            AsyncOp::MbarrierInit(init) => {
                see.mbarriers(&operands(&init.mbarrier), Order::WEAK, Event::Begin);
            }
            // Libraries invalidate mbarriers after the last wait of a thread, while other threads may still leave
            // theirs.
            AsyncOp::MbarrierInval(inval) => {
                see.mbarriers(&operands(&inval.mbarrier), UNORDERED, Event::Begin);
            }
            AsyncOp::MbarrierWait(wait) => self.observe_wait(&see, call, wait),
            AsyncOp::MbarrierArrive(arrive) => {
                let named = (&arrive.mbarrier, arrive.multicast);
                for (places, taking) in self.mbarriers(env, call, named, taking) {
                    let event = Event::Arrive(arrive.order);
                    lanes(taking).for_each(|lane| see.mbarrier(lane, places[lane], arrive.order, event));
                }
            }
            AsyncOp::MbarrierTx(tx) => {
                for (places, taking) in self.mbarriers(env, call, (&tx.mbarrier, tx.multicast), taking) {
                    lanes(taking).for_each(|lane| see.mbarrier(lane, places[lane], UNORDERED, Event::Use));
                }
            }
            AsyncOp::MbarrierCheckLayout(check) => {
                see.mbarriers(&operands(&check.mbarrier), UNORDERED, Event::Use);
            }
            AsyncOp::CopyArrive(arrive) => {
                see.mbarriers(&operands(&arrive.mbarrier), UNORDERED, Event::ArriveBehind(Agent::Copy));
            }
            AsyncOp::Copy(copy) => {
                see.issue(Agent::Copy);
                see.copies(&self.copy_accesses(env, call, copy, taking), lanes(taking));
            }
            AsyncOp::Bulk(bulk) => self.observe_bulk(&see, call, bulk),
            AsyncOp::Store(store) => see.touch_each(&self.store_accesses(env, call, store, taking)),
            AsyncOp::Reduce(reduce) => see.touch_each(&self.reduce_accesses(env, call, reduce, taking)),
            AsyncOp::Zero(zero) => see.touch_each(&self.zero_accesses(env, call, zero, taking)),
            AsyncOp::Tensor(copy) => self.observe_tensor(&see, call, copy),
            // All lanes access the same map.
            AsyncOp::Replace(replace) => {
                let maps = self.replace_accesses(env, call, replace, taking);
                lanes(taking).take(1).for_each(|lane| see.touch(&maps.of(lane)));
            }
            AsyncOp::CopyMap(copy) => {
                see.copies(&self.copy_map_accesses(env, call, copy, taking), lanes(taking).take(1));
            }
        }
    }

    /// `test_wait`, `try_wait`
    fn observe_wait(&self, see: &Observer<'_, '_>, call: usize, wait: &MbarrierWait) {
        let (env, taking) = (see.env, see.actor.lanes);
        let mbarriers = self.operands(env, call, &wait.mbarrier, taking);
        let over = self.over(env, call, wait, taking).unwrap_or(0);
        for lane in lanes(taking) {
            let event = if over >> lane & 1 == 1 { Event::Pass(wait.order) } else { Event::Use };
            see.mbarrier(lane, mbarriers[lane], wait.order, event);
        }
    }

    /// `cp.async.bulk`, `cp.reduce.async.bulk`
    fn observe_bulk(&self, see: &Observer<'_, '_>, call: usize, bulk: &Bulk) {
        let (env, taking) = (see.env, see.actor.lanes);
        let accesses = self.bulk_accesses(env, call, bulk, taking);
        see.issue(Agent::Source);
        for lane in lanes(taking) {
            // The executor reports bad addresses.
            let targets = accesses.targets(&env.spaces, lane).unwrap_or_default();
            let mut read = accesses.from.of(lane);
            if bulk.mbarrier.is_some() {
                let mbarriers: Vec<_> = targets.iter().filter_map(|target| target.mbarrier).collect();
                read = see.completing_read(read, &mbarriers);
            }
            see.touch(&read);
            targets.iter().for_each(|target| see.touch_and_complete(target));
        }
    }

    /// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`, `cp.async.bulk.prefetch.tensor`
    fn observe_tensor(&self, see: &Observer<'_, '_>, call: usize, copy: &TensorCopy) {
        let (env, taking) = (see.env, see.actor.lanes);
        let Some(uses) = TensorUse::of(copy.way) else { return };
        see.issue(Agent::Source);
        for asked in self.asked(env, call, copy, taking) {
            let Some((base, walk)) = walk(env, copy, &asked) else { continue };
            let mbarriers: Vec<_> = asked.targets.iter().filter_map(|target| target.mbarrier).collect();
            mbarriers.iter().for_each(|at| see.mbarrier(asked.lane, *at, UNORDERED, Event::Use));
            let mut global = uses.global(&asked);
            if uses.global == Use::Read {
                global = see.completing_read(global, &mbarriers);
            }
            for run in walk {
                let (bytes, offset) = (run.length.into(), run.shared.wrapping_sub(asked.request.shared));
                if let Source::Global(start) = run.source {
                    let at = OperandAddress::of(&env.spaces, Memory::Global, base.wrapping_add(start));
                    see.touch(&LaneAccess { at, bytes, ..global });
                }
                for &target in &asked.targets {
                    see.touch(&uses.shared(&asked, target, offset, bytes));
                }
            }
        }
    }
}
