//! Asynchronous copies and mbarriers (PTX ISA sections 9.7.9.12, 9.7.9.25, 9.7.9.28, 9.7.13.7, 9.7.13.15 and
//! 9.7.13.16).
//!
//! A copy is done, and its completion signalled, when it is issued: that is one of the orders that PTX allows. What
//! remains to wait for is other threads, at mbarriers; a wait that fails lets these go first. The CTAs of a cluster
//! run on one thread of the host, so that shared memory needs no atomic operations of the host.
//!
//! What an operation accesses is described once (`accesses.rs`, `bulk.rs`, `tensor.rs`): the executor performs it, and
//! the observer (`observe.rs`) reports it to the sanitizers.

mod accesses;
mod bulk;
mod mbarrier;
mod observe;
mod operand;
mod small;
mod tensor;

pub(super) use accesses::LaneAccess;
pub(crate) use mbarrier::{arrive, complete_tx};
pub(super) use observe::completing;
pub(super) use operand::OperandAddress;
pub(super) use tensor::Tensors;

use super::run::Flow;
use super::{Env, Split, State, Warp};
use crate::fault::{AwaitedMbarrier, FaultKind, Place as FaultPlace, Tried, Trouble};
use softwarp_ir::{Address, AsyncOp, Op, Slot, Step};
use softwarp_units::lanes::{LANES, lanes};
use softwarp_units::mbarrier::Mbarrier;

/// The alignment of a tensor map.
const MAP_ALIGNMENT: u64 = 64;

/// A copy that breaks a rule.
fn refused<T>(lane: usize, rule: &'static str, message: String) -> Tried<T> {
    Err(Trouble::new(lane, FaultKind::Copy { rule, message }))
}

impl Warp {
    /// An asynchronous operation, by the lanes of a split that take part.
    pub(super) fn asynchronous(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        op: &AsyncOp,
        taking: u32,
    ) -> Tried<Flow> {
        let call = split.call as usize;
        match op {
            AsyncOp::MbarrierWait(wait) => {
                if !self.wait(env, call, wait, taking)? {
                    // As for `nanosleep`, other splits run first.
                    (self.yielded, self.waited) = (true, true);
                    split.pc += 1;
                    return Ok(Flow::Gone);
                }
            }
            AsyncOp::MbarrierInit(init) => self.mbarrier_init(env, call, init, taking)?,
            AsyncOp::MbarrierInval(inval) => self.mbarrier_inval(env, call, inval, taking)?,
            AsyncOp::MbarrierTx(tx) => self.mbarrier_tx(env, call, tx, taking)?,
            AsyncOp::MbarrierArrive(arrive) => self.mbarrier_arrive(env, call, arrive, taking)?,
            AsyncOp::MbarrierCheckLayout(check) => self.mbarrier_check_layout(env, call, check, taking)?,
            AsyncOp::PendingCount(pending) => {
                let frame = &mut self.calls[call].frame;
                let counts = frame.row::<u64>(pending.state).map(Mbarrier::pending_of);
                frame.set_row(pending.d, counts, taking);
            }
            AsyncOp::Copy(copy) => self.copy_async(env, call, copy, taking)?,
            AsyncOp::CopyArrive(arrive) => self.copy_arrive(env, call, arrive, taking)?,
            AsyncOp::Bulk(bulk) => self.bulk(env, call, bulk, taking)?,
            AsyncOp::Store(store) => self.store_async(env, call, store, taking)?,
            AsyncOp::Reduce(reduce) => self.reduce_async(env, call, reduce, taking)?,
            AsyncOp::Zero(zero) => self.store_zeros(env, call, zero, taking)?,
            AsyncOp::Tensor(copy) => self.tensor_copy(env, call, copy, taking)?,
            AsyncOp::Replace(replace) => self.replace(env, call, replace, taking)?,
            AsyncOp::CopyMap(copy) => self.copy_map(env, call, copy, taking)?,
        }
        Ok(Flow::Next)
    }

    /// The mbarriers that lanes poll: the place of each wait that failed, and its mbarrier. Such lanes stand at the
    /// operation after the wait.
    pub(crate) fn polled(&self, env: &Env<'_>) -> Vec<(FaultPlace, AwaitedMbarrier)> {
        let waits = self.splits.iter().filter(|split| split.state == State::Ready).filter_map(|split| {
            let before = Split { pc: split.pc.checked_sub(1)?, ..*split };
            let code = &env.launch.program.codes[self.calls[split.call as usize].code as usize];
            let Op::Other(_, step) = code.ops.get(before.pc as usize)? else { return None };
            let Step::Asynchronous(AsyncOp::MbarrierWait(wait)) = &**step else { return None };
            let awaited = self.awaited(env, split.call as usize, wait, split.mask)?;
            Some((self.place(env, &before, before.mask, None), awaited))
        });
        waits.collect()
    }

    /// A source of at most 32 bits; `None` without one.
    fn narrow(&self, call: usize, slot: Option<Slot>) -> Option<[u32; LANES]> {
        slot.map(|slot| self.calls[call].frame.row(slot))
    }

    /// The addresses of an operand, lane by lane. They are unused in lanes that do not take part.
    #[inline]
    pub(super) fn operands(
        &self,
        env: &Env<'_>,
        call: usize,
        operand: &Address,
        taking: u32,
    ) -> [OperandAddress; LANES] {
        operand::operand_addresses(&env.spaces, &self.calls[call], operand, taking)
    }
}

/// The lanes among these that have the same as the first of them.
fn alike<T: PartialEq>(row: &[T; LANES], rest: u32) -> u32 {
    let lead = rest.trailing_zeros() as usize % LANES;
    lanes(rest).filter(|&lane| row[lane] == row[lead]).fold(0, |mask, lane| mask | 1 << lane)
}
