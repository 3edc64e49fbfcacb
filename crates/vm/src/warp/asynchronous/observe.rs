//! Tells the sanitizers what asynchronous operations touch: as if the thread that issues them did, which is when it
//! happens here. Who waits at an mbarrier is ordered behind all that arrived or completed there before.

use super::bulk::targets;
use super::place::Place;
use super::tensor::walk;
use crate::fault::Use;
use crate::lanes::{LANES, lanes};
use crate::program::asynchronous::{AsyncOp, MbarrierOp, TensorWay};
use crate::program::{Memory, Operands};
use crate::sanitize::{Actor, Sanitizer, Touch};
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
    fn touch(&self, lane: usize, place: Place, bytes: u64, usage: Use, strong: bool) {
        let (env, Place { memory, address, .. }) = (self.env, place);
        if memory != Memory::Global && !memory.is_shared() {
            return;
        }
        let Some((space, cta, start)) = located(env, memory, address) else { return };
        // What is wrong with a place is found when it is used.
        if bytes == 0 || place.span(&env.spaces, bytes, 1, usage).is_err() {
            return;
        }
        let touch = Touch { lane, usage, strong, space, cta, address: start, bytes, data: None };
        self.sanitizer.touch(env.launch, self.actor, &touch, &|| env.spaces.nearest(memory, address));
    }

    /// An operation on an mbarrier, which orders.
    fn barrier(&self, lane: usize, place: Place, usage: Use) {
        self.touch(lane, place, 8, usage, true);
        let places = std::iter::once((Memory::Shared, place.address));
        self.sanitizer.strong(self.env.launch, self.actor, places);
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
        match op {
            AsyncOp::PendingCount => {}
            AsyncOp::Mbarrier(MbarrierOp::Init { .. } | MbarrierOp::Inval) => {
                lanes(taking).for_each(|lane| see.barrier(lane, first[lane], Use::Write));
            }
            AsyncOp::Mbarrier(_) | AsyncOp::CopyArrive { .. } => {
                lanes(taking).for_each(|lane| see.barrier(lane, first[lane], Use::Atomic));
            }
            AsyncOp::Copy(copy) => {
                let amounts = self.amounts(call, *copy, operands);
                for lane in lanes(taking) {
                    see.touch(lane, second[lane], amounts[lane], Use::Read, false);
                    see.touch(lane, first[lane], copy.bytes.into(), Use::Write, false);
                }
            }
            AsyncOp::Bulk(bulk) => {
                let (sizes, masks) = (row(0), row(if bulk.ignore_outside { 3 } else { 1 }));
                let (usage, strong) = match bulk.reduction {
                    Some(_) => (Use::Atomic, true),
                    None => (Use::Write, false),
                };
                for lane in lanes(taking) {
                    let bytes = u64::from(sizes[lane]);
                    see.touch(lane, second[lane], bytes, Use::Read, false);
                    // What is wrong with an address is found when it is used.
                    let one = (first[lane], third[lane]);
                    let targets = targets(&env.spaces, bulk, one, (bytes, masks[lane]), lane);
                    for (to, barrier) in targets.unwrap_or_default() {
                        see.touch(lane, to, bytes, usage, strong);
                        if bulk.mbarrier {
                            see.barrier(lane, barrier, Use::Atomic);
                        }
                    }
                }
            }
            AsyncOp::Store(store) => {
                let bytes = u64::from(store.bytes) * operands.reads.len() as u64;
                for lane in lanes(taking) {
                    see.touch(lane, first[lane], bytes, Use::Write, false);
                    if store.mbarrier {
                        see.barrier(lane, second[lane], Use::Atomic);
                    }
                }
            }
            AsyncOp::Reduce(reduce) => {
                for lane in lanes(taking) {
                    see.touch(lane, first[lane], u64::from(reduce.ty.bits() / 8), Use::Atomic, true);
                    if reduce.mbarrier {
                        see.barrier(lane, second[lane], Use::Atomic);
                    }
                }
            }
            AsyncOp::Zero => {
                if let Some(&slot) = operands.reads.first() {
                    let sizes = self.calls[call].frame.row::<u64>(slot);
                    for lane in lanes(taking) {
                        see.touch(lane, first[lane], sizes[lane], Use::Write, false);
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
                for asked in self.asked(env, call, copy, operands, taking) {
                    let Some((base, walk)) = walk(env, copy, &asked) else { continue };
                    for run in walk {
                        let bytes = run.length.into();
                        let inside = run.shared.wrapping_sub(asked.request.shared);
                        if let Source::Global(offset) = run.source {
                            let place = Place::of(&env.spaces, Memory::Global, base.wrapping_add(offset));
                            see.touch(asked.lane, place, bytes, global, strong);
                        }
                        for (target, _) in &asked.targets {
                            see.touch(asked.lane, target.after(inside), bytes, shared, false);
                        }
                    }
                    if copy.way == TensorWay::Load {
                        for (_, barrier) in &asked.targets {
                            see.barrier(asked.lane, *barrier, Use::Atomic);
                        }
                    }
                }
            }
            // All lanes do the same.
            AsyncOp::Replace { .. } => {
                lanes(taking).take(1).for_each(|lane| see.touch(lane, first[lane], 128, Use::Write, false));
            }
            AsyncOp::CopyMap => {
                for lane in lanes(taking).take(1) {
                    see.touch(lane, second[lane], 128, Use::Read, false);
                    see.touch(lane, first[lane], 128, Use::Write, false);
                }
            }
        }
    }
}
