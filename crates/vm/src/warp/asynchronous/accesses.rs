//! The accesses to memory of asynchronous operations.
//!
//! A [`LaneAccess`] says which lane accesses memory, where, how many bytes, and how. One function for each kind of
//! operation builds its accesses from the operation and the frame. The executor checks and performs them
//! ([`LaneAccess::cells`]), and the observer (`observe.rs`) reports them to the sanitizers.

use super::operand::{Destination, OperandAddress};
use super::{MAP_ALIGNMENT, complete_tx};
use crate::fault::{Tried, Use};
use crate::memory::Spaces;
use crate::memory::cell::SharedBytes;
use crate::sanitize::Agent;
use crate::warp::{Env, Warp};
use softwarp_ir::asynchronous::{
    Choice, CopyAsync, CopyMap, ReduceAsync, ReplaceField, StoreAsync, ZeroBulk,
};
use softwarp_ir::{Address, Order, Scope};
use softwarp_tensor::object::SIZE;
use softwarp_units::lanes::{ALL, LANES};

/// One access of a lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneAccess {
    pub lane: usize,
    pub at: OperandAddress,
    pub bytes: u64,
    /// The address must be a multiple of this.
    pub alignment: u64,
    pub usage: Use,
    pub order: Order,
    /// The agent that performs it, for the sanitizers.
    pub agent: Agent,
    /// The mbarrier that it completes on.
    pub mbarrier: Option<OperandAddress>,
}

impl LaneAccess {
    /// The cells that it accesses, and the index of the first; a fault if it must not.
    pub fn cells<'a>(&self, spaces: &Spaces<'a>) -> Tried<(&'a SharedBytes, u64)> {
        self.at.need(spaces, self.lane, (self.bytes, self.alignment), self.usage)
    }

    /// Signals to its mbarrier, if it has one, that the bytes have been transferred.
    pub fn complete(&self, spaces: &Spaces<'_>) -> Tried<()> {
        let bytes = u32::try_from(self.bytes).unwrap_or(u32::MAX);
        self.mbarrier.map_or(Ok(()), |mbarrier| complete_tx(spaces, mbarrier, bytes, self.lane))
    }

    /// The same access to another destination.
    pub fn to(self, target: Destination) -> LaneAccess {
        LaneAccess { at: target.at, mbarrier: target.mbarrier, ..self }
    }
}

/// One access of each lane.
pub(super) struct Accesses {
    pub at: [OperandAddress; LANES],
    pub bytes: [u64; LANES],
    pub alignment: u64,
    pub usage: Use,
    pub order: Order,
    pub agent: Agent,
    pub mbarriers: Option<[OperandAddress; LANES]>,
}

impl Accesses {
    /// The access of one lane.
    #[inline]
    pub fn of(&self, lane: usize) -> LaneAccess {
        LaneAccess {
            lane,
            at: self.at[lane],
            bytes: self.bytes[lane],
            alignment: self.alignment,
            usage: self.usage,
            order: self.order,
            agent: self.agent,
            mbarrier: self.mbarriers.as_ref().map(|mbarriers| mbarriers[lane]),
        }
    }

    /// Weak accesses by the threads themselves.
    #[inline(always)]
    fn by_threads(usage: Use, at: [OperandAddress; LANES], bytes: [u64; LANES], alignment: u64) -> Accesses {
        let (order, agent, mbarriers) = (Order::WEAK, Agent::Thread, None);
        Accesses { at, bytes, alignment, usage, order, agent, mbarriers }
    }
}

/// The accesses of a copy: one read and one write of each lane.
pub(super) struct CopyAccesses {
    pub from: Accesses,
    pub to: Accesses,
}

impl Warp {
    /// `cp.async`: what is not read is written as zeros. Inlined, so that the rows are built in place.
    #[inline]
    pub(super) fn copy_accesses(
        &self,
        env: &Env<'_>,
        call: usize,
        copy: &CopyAsync,
        taking: u32,
    ) -> CopyAccesses {
        let whole = u64::from(copy.bytes);
        let frame = &self.calls[call].frame;
        let read = match copy.choice {
            Choice::All => [whole; LANES],
            Choice::Size(slot) => frame.row::<u32>(slot).map(|size| source_bytes(size.into(), whole)),
            Choice::Ignore(predicate) => {
                let ignored = predicate.lanes(frame, ALL);
                std::array::from_fn(|lane| if ignored >> lane & 1 == 1 { 0 } else { whole })
            }
        };
        let access = |usage: Use, operand: &Address, bytes: [u64; LANES]| Accesses {
            agent: Agent::Copy,
            ..Accesses::by_threads(usage, self.operands(env, call, operand, taking), bytes, whole)
        };
        CopyAccesses {
            from: access(Use::Read, &copy.from, read),
            to: access(Use::Write, &copy.to, [whole; LANES]),
        }
    }

    /// `st.async`
    pub(super) fn store_accesses(
        &self,
        env: &Env<'_>,
        call: usize,
        store: &StoreAsync,
        taking: u32,
    ) -> Accesses {
        let bytes = u64::from(store.bytes) * store.data.len() as u64;
        let stored = self.accesses_by_threads(env, call, (Use::Write, &store.to), (bytes, bytes), taking);
        self.completing_on(env, call, store.mbarrier.as_ref(), stored, taking)
    }

    /// `red.async`
    pub(super) fn reduce_accesses(
        &self,
        env: &Env<'_>,
        call: usize,
        reduce: &ReduceAsync,
        taking: u32,
    ) -> Accesses {
        let bytes = u64::from(reduce.ty.bits() / 8);
        let reduced = self.accesses_by_threads(env, call, (Use::Atomic, &reduce.to), (bytes, bytes), taking);
        let reduced = Accesses { order: Order::relaxed(Scope::Cluster), ..reduced };
        self.completing_on(env, call, reduce.mbarrier.as_ref(), reduced, taking)
    }

    /// `st.bulk`
    pub(super) fn zero_accesses(&self, env: &Env<'_>, call: usize, zero: &ZeroBulk, taking: u32) -> Accesses {
        let sizes = self.calls[call].frame.row::<u64>(zero.size);
        Accesses::by_threads(Use::Write, self.operands(env, call, &zero.to, taking), sizes, 8)
    }

    /// `tensormap.replace`
    pub(super) fn replace_accesses(
        &self,
        env: &Env<'_>,
        call: usize,
        replace: &ReplaceField,
        taking: u32,
    ) -> Accesses {
        let whole = (SIZE as u64, MAP_ALIGNMENT);
        self.accesses_by_threads(env, call, (Use::Write, &replace.map), whole, taking)
    }

    /// `tensormap.cp_fenceproxy`
    pub(super) fn copy_map_accesses(
        &self,
        env: &Env<'_>,
        call: usize,
        copy: &CopyMap,
        taking: u32,
    ) -> CopyAccesses {
        let whole = (SIZE as u64, MAP_ALIGNMENT);
        CopyAccesses {
            from: self.accesses_by_threads(env, call, (Use::Read, &copy.from), whole, taking),
            to: self.accesses_by_threads(env, call, (Use::Write, &copy.to), whole, taking),
        }
    }

    /// Weak accesses of the threads themselves, of as many bytes in each lane.
    fn accesses_by_threads(
        &self,
        env: &Env<'_>,
        call: usize,
        (usage, operand): (Use, &Address),
        (bytes, alignment): (u64, u64),
        taking: u32,
    ) -> Accesses {
        let at = self.operands(env, call, operand, taking);
        Accesses::by_threads(usage, at, [bytes; LANES], alignment)
    }

    /// Accesses of `st.async` and `red.async`, which complete on an mbarrier or are done by the threads themselves.
    fn completing_on(
        &self,
        env: &Env<'_>,
        call: usize,
        mbarrier: Option<&Address>,
        accesses: Accesses,
        taking: u32,
    ) -> Accesses {
        let Some(mbarrier) = mbarrier else { return accesses };
        let mbarriers = Some(self.operands(env, call, mbarrier, taking));
        Accesses { agent: Agent::Store, mbarriers, ..accesses }
    }
}

/// How many bytes `cp.async` reads: a size above the largest begins anew, as recorded.
pub(super) fn source_bytes(size: u64, whole: u64) -> u64 {
    size.checked_sub(1).map_or(0, |less| less % whole + 1)
}
