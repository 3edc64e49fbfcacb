//! Asynchronous copies and mbarriers (PTX ISA sections 9.7.9.12, 9.7.9.25, 9.7.9.28, 9.7.13.7, 9.7.13.15 and
//! 9.7.13.16).
//!
//! A copy is done, and its completion signalled, when it is issued: that is one of the orders that PTX allows. What
//! remains to wait for is other threads, at mbarriers; a wait that fails lets these go first. The CTAs of a cluster
//! run on one thread of the host, so that shared memory needs no atomic operations of the host.

mod bulk;
mod mbarrier;
mod observe;
mod place;
mod small;
mod tensor;

pub(crate) use mbarrier::complete_tx;
pub(super) use observe::completing;
pub(super) use place::Place;
pub(super) use tensor::Tensors;

use super::run::Flow;
use super::{Env, Split, State, Warp};
use crate::fault::{AwaitedMbarrier, FaultKind, Place as FaultPlace, Tried, Trouble};
use softwarp_ir::asynchronous::{AsyncOp, MbarrierOp};
use softwarp_ir::{NONE, Op, Operands, Step};
use softwarp_units::lanes::{LANES, lanes};
use softwarp_units::mbarrier::Mbarrier;

/// A copy that breaks a rule.
fn refused<T>(lane: usize, rule: &'static str, message: String) -> Tried<T> {
    Err(Trouble::new(lane, FaultKind::Copy { rule, message }))
}

impl Warp {
    /// A step of its kind, by the lanes of a split that take part.
    pub(super) fn asynchronous(
        &mut self,
        env: &mut Env<'_>,
        split: &mut Split,
        op: &AsyncOp,
        operands: &Operands,
        taking: u32,
    ) -> Tried<Flow> {
        let call = split.call as usize;
        match op {
            AsyncOp::Mbarrier(MbarrierOp::Wait { parity, .. }) => {
                if !self.wait(env, call, operands, *parity, taking)? {
                    // As `nanosleep` does: others first.
                    (self.yielded, self.waited) = (true, true);
                    split.pc += 1;
                    return Ok(Flow::Gone);
                }
                return Ok(Flow::Next);
            }
            AsyncOp::Mbarrier(op) => self.mbarrier(env, call, *op, operands, taking)?,
            AsyncOp::PendingCount => {
                let frame = &mut self.calls[call].frame;
                if let (&[state], &[d]) = (&operands.reads[..], &operands.writes[..]) {
                    let counts = frame.row::<u64>(state).map(Mbarrier::pending_of);
                    frame.set_row(d, counts, taking);
                }
            }
            AsyncOp::Copy(copy) => self.copy_async(env, call, *copy, operands, taking)?,
            AsyncOp::CopyArrive { noinc } => self.copy_arrive(env, call, *noinc, operands, taking)?,
            AsyncOp::Bulk(bulk) => self.bulk(env, call, bulk, operands, taking)?,
            AsyncOp::Store(store) => self.store_async(env, call, *store, operands, taking)?,
            AsyncOp::Reduce(reduce) => self.reduce_async(env, call, *reduce, operands, taking)?,
            AsyncOp::Zero => self.store_zeros(env, call, operands, taking)?,
            AsyncOp::Tensor(copy) => self.tensor_copy(env, call, copy, operands, taking)?,
            AsyncOp::Replace { field, ordinal } => {
                self.replace(env, call, (*field, *ordinal), operands, taking)?;
            }
            AsyncOp::CopyMap => self.copy_map(env, call, operands, taking)?,
        }
        Ok(Flow::Next)
    }

    /// The mbarriers that lanes poll, which stand right behind waits that failed: who waits where, and for which.
    pub(crate) fn polled(&self, env: &Env<'_>) -> Vec<(FaultPlace, AwaitedMbarrier)> {
        let waits = self.splits.iter().filter(|split| split.state == State::Ready).filter_map(|split| {
            let before = Split { pc: split.pc.checked_sub(1)?, ..*split };
            let code = &env.launch.program.codes[self.calls[split.call as usize].code as usize];
            let Op::Other(_, step) = code.ops.get(before.pc as usize)? else { return None };
            let Step::Asynchronous(op, operands) = &**step else { return None };
            let awaited = self.awaited(env, split.call as usize, operands, split.mask);
            let awaited = awaited.filter(|_| op.is_wait())?;
            Some((self.place(env, &before, before.mask, None), awaited))
        });
        waits.collect()
    }

    /// A source of at most 32 bits; `None` if there are not that many.
    fn narrow(&self, call: usize, operands: &Operands, index: usize) -> Option<[u32; LANES]> {
        let slot = *operands.reads.get(index)?;
        Some(self.calls[call].frame.row(slot))
    }

    /// Where an address operand points, lane by lane; nowhere in lanes that do not take part.
    fn places(
        &self,
        env: &Env<'_>,
        call: usize,
        operands: &Operands,
        index: usize,
        taking: u32,
    ) -> [Place; LANES] {
        match operands.addresses.get(index) {
            Some(address) => place::places(&env.spaces, &self.calls[call], address, taking),
            None => [Place::NOWHERE; LANES],
        }
    }

    /// Writes a row of words to a slot that may be none.
    fn put(&mut self, call: usize, slot: u32, values: [u64; LANES], mask: u32) {
        if slot != NONE {
            self.calls[call].frame.set_row(slot, values, mask);
        }
    }
}

/// The lanes among these that have the same as the first of them.
fn alike<T: PartialEq>(row: &[T; LANES], rest: u32) -> u32 {
    let lead = rest.trailing_zeros() as usize % LANES;
    lanes(rest).filter(|&lane| row[lane] == row[lead]).fold(0, |mask, lane| mask | 1 << lane)
}
