//! Tells the sanitizers what asynchronous operations touch, and what happens at mbarriers. What is asynchronous is done
//! by agents (`sanitize::clock`), which are done when somebody has waited for them.

use super::bulk::targets;
use super::mbarrier::parity;
use super::place::Place;
use super::tensor::walk;
use crate::fault::Use;
use crate::lanes::{LANES, lanes};
use crate::program::asynchronous::{AsyncOp, MbarrierOp, TensorWay};
use crate::program::{Memory, Operands};
use crate::sanitize::{Actor, Agent, Event, Sanitizer, Touch};
use crate::warp::bounds::observe_range;
use crate::warp::observe::located;
use crate::warp::{Env, Split, Warp};
use softwarp_tensor::Source;

/// Reports to a sanitizer.
struct Observer<'a, 'b> {
    env: &'a Env<'b>,
    sanitizer: &'a Sanitizer<'a>,
    actor: &'a Actor,
}

impl Observer<'_, '_> {
    fn touch(&self, lane: usize, place: Place, bytes: u64, usage: Use, strong: bool, agent: Agent) {
        let (env, Place { memory, address, .. }) = (self.env, place);
        if memory != Memory::Global && !memory.is_shared() {
            return;
        }
        let Some((space, cta, start)) = located(env, memory, address) else { return };
        // What is wrong with a place is found when it is used.
        if bytes == 0 || place.span(&env.spaces, bytes, 1, usage).is_err() {
            return;
        }
        observe_range(env, (self.sanitizer, self.actor), lane, (memory, address), bytes, usage);
        let touch = Touch { lane, usage, strong, space, cta, address: start, bytes, data: None, agent };
        self.sanitizer.touch(env.launch, self.actor, &touch, &|| env.spaces.nearest(memory, address));
    }

    /// An operation on an mbarrier, which orders.
    fn barrier(&self, lane: usize, place: Place, usage: Use, event: Event) {
        self.touch(lane, place, 8, usage, true, Agent::Thread);
        if let Some((_, owner, start)) = located(self.env, Memory::Shared, place.address) {
            let parity = parity(&self.env.spaces, place, lane).unwrap_or(0);
            self.sanitizer.mbarrier(self.env.launch, self.actor, (owner, start, parity), event);
        }
    }

    /// Whether a place is in the CTA's own shared memory: what completes there, its threads can wait for.
    fn is_own(&self, place: Place) -> bool {
        located(self.env, Memory::Shared, place.address).is_some_and(|(_, owner, _)| owner == self.env.cta)
    }
}

impl Warp {
    pub(in crate::warp) fn observe_async(
        &self,
        env: &Env<'_>,
        sanitizer: &Sanitizer<'_>,
        actor: &Actor,
        op: &AsyncOp,
        operands: &Operands,
        split: &Split,
    ) {
        let call = split.call as usize;
        let see = Observer { env, sanitizer, actor };
        let [first, second, third] =
            [0, 1, 2].map(|index| self.places(env, call, operands, index, actor.lanes));
        let row = |index| self.narrow(call, operands, index).unwrap_or([0; LANES]);
        let taking = actor.lanes;
        let issue = |agents: &[Agent]| sanitizer.issue(env.launch, actor, agents);
        match op {
            AsyncOp::PendingCount => {}
            AsyncOp::Mbarrier(MbarrierOp::Init { .. } | MbarrierOp::Inval) => {
                lanes(taking).for_each(|lane| see.barrier(lane, first[lane], Use::Write, Event::Begin));
            }
            AsyncOp::Mbarrier(MbarrierOp::Wait { parity }) => {
                let over = self.over(env, call, operands, *parity, taking).unwrap_or(0);
                for lane in lanes(taking) {
                    let event =
                        if over >> lane & 1 == 1 { Event::Pass } else { Event::Complete(Agent::Thread) };
                    see.barrier(lane, first[lane], Use::Atomic, event);
                }
            }
            AsyncOp::Mbarrier(_) => {
                lanes(taking).for_each(|lane| see.barrier(lane, first[lane], Use::Atomic, Event::Arrive));
            }
            AsyncOp::CopyArrive { .. } => {
                let event = Event::ArriveBehind(Agent::Copy);
                lanes(taking).for_each(|lane| see.barrier(lane, first[lane], Use::Atomic, event));
            }
            AsyncOp::Copy(copy) => {
                let amounts = self.amounts(call, *copy, operands);
                issue(&[Agent::Copy]);
                for lane in lanes(taking) {
                    see.touch(lane, second[lane], amounts[lane], Use::Read, false, Agent::Copy);
                    see.touch(lane, first[lane], copy.bytes.into(), Use::Write, false, Agent::Copy);
                }
            }
            AsyncOp::Bulk(bulk) => {
                let (sizes, masks) = (row(0), row(if bulk.ignore_outside { 3 } else { 1 }));
                let (usage, strong) = match bulk.reduction {
                    Some(_) => (Use::Atomic, true),
                    None => (Use::Write, false),
                };
                issue(if bulk.mbarrier { &[Agent::Counted] } else { &[Agent::Source, Agent::Target] });
                for lane in lanes(taking) {
                    let bytes = u64::from(sizes[lane]);
                    // What is wrong with an address is found when it is used.
                    let one = (first[lane], third[lane]);
                    let targets = targets(&env.spaces, bulk, one, (bytes, masks[lane]), lane);
                    let targets = targets.unwrap_or_default();
                    let own = targets.iter().any(|(_, barrier)| see.is_own(*barrier));
                    let [source, target] = agents(bulk.mbarrier, own);
                    see.touch(lane, second[lane], bytes, Use::Read, false, source);
                    for (to, barrier) in targets {
                        see.touch(lane, to, bytes, usage, strong, target);
                        if bulk.mbarrier {
                            see.barrier(lane, barrier, Use::Atomic, Event::Complete(Agent::Counted));
                        }
                    }
                }
            }
            AsyncOp::Store(store) => {
                let bytes = u64::from(store.bytes) * operands.reads.len() as u64;
                issue(&[Agent::Counted]);
                for lane in lanes(taking) {
                    let own = store.mbarrier && see.is_own(second[lane]);
                    let agent = if own { Agent::Counted } else { Agent::Thread };
                    see.touch(lane, first[lane], bytes, Use::Write, false, agent);
                    if store.mbarrier {
                        see.barrier(lane, second[lane], Use::Atomic, Event::Complete(Agent::Counted));
                    }
                }
            }
            AsyncOp::Reduce(reduce) => {
                for lane in lanes(taking) {
                    let bytes = u64::from(reduce.ty.bits() / 8);
                    see.touch(lane, first[lane], bytes, Use::Atomic, true, Agent::Thread);
                    if reduce.mbarrier {
                        see.barrier(lane, second[lane], Use::Atomic, Event::Arrive);
                    }
                }
            }
            AsyncOp::Zero => {
                if let Some(&slot) = operands.reads.first() {
                    let sizes = self.calls[call].frame.row::<u64>(slot);
                    for lane in lanes(taking) {
                        see.touch(lane, first[lane], sizes[lane], Use::Write, false, Agent::Thread);
                    }
                }
            }
            AsyncOp::Tensor(copy) => {
                let (global, shared, strong) = match copy.way {
                    TensorWay::Prefetch => return,
                    TensorWay::Load => (Use::Read, Use::Write, false),
                    TensorWay::Store => (Use::Write, Use::Read, false),
                    TensorWay::Reduce(_) => (Use::Atomic, Use::Read, true),
                };
                let loads = copy.way == TensorWay::Load;
                issue(if loads { &[Agent::Counted] } else { &[Agent::Source, Agent::Target] });
                for asked in self.asked(env, call, copy, operands, taking) {
                    let Some((base, walk)) = walk(env, copy, &asked) else { continue };
                    let own = asked.targets.iter().any(|(_, barrier)| see.is_own(*barrier));
                    let [source, target] = agents(loads, own);
                    let [of_global, of_shared] = if loads { [source, target] } else { [target, source] };
                    for run in walk {
                        let bytes = run.length.into();
                        let inside = run.shared.wrapping_sub(asked.request.shared);
                        if let Source::Global(offset) = run.source {
                            let place = Place::of(&env.spaces, Memory::Global, base.wrapping_add(offset));
                            see.touch(asked.lane, place, bytes, global, strong, of_global);
                        }
                        for (to, _) in &asked.targets {
                            see.touch(asked.lane, to.after(inside), bytes, shared, false, of_shared);
                        }
                    }
                    if loads {
                        for (_, barrier) in &asked.targets {
                            let event = Event::Complete(Agent::Counted);
                            see.barrier(asked.lane, *barrier, Use::Atomic, event);
                        }
                    }
                }
            }
            // All lanes do the same.
            AsyncOp::Replace { .. } => {
                for lane in lanes(taking).take(1) {
                    see.touch(lane, first[lane], 128, Use::Write, false, Agent::Thread);
                }
            }
            AsyncOp::CopyMap => {
                for lane in lanes(taking).take(1) {
                    see.touch(lane, second[lane], 128, Use::Read, false, Agent::Thread);
                    see.touch(lane, first[lane], 128, Use::Write, false, Agent::Thread);
                }
            }
        }
    }
}

/// Who reads and who writes for a copy that completes on an mbarrier, the CTA's own or not, or in a group. What
/// completes in another CTA, threads learn in ways that are not followed: there they count as doing it themselves.
fn agents(mbarrier: bool, own: bool) -> [Agent; 2] {
    match (mbarrier, own) {
        (true, true) => [Agent::Counted; 2],
        (true, false) => [Agent::Thread; 2],
        (false, _) => [Agent::Source, Agent::Target],
    }
}
