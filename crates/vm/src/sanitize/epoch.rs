//! Epochs of FastTrack: an access as shadow memory records it, with the warp and its clock, the operation, and how it
//! accessed memory. An epoch is compared with a vector clock in constant time.

use super::Agent;
use crate::fault::Use;
use softwarp_ir::{Order, Scope};
use softwarp_units::lanes::LANES;

/// A thread: the number of its CTA in the order in which they began, its warp and lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) cta: u32,
    pub(super) warp: usize,
    pub(super) lane: usize,
}

/// Bits of a lane.
const LANE_BITS: u32 = LANES.trailing_zeros();

/// The most CTAs of a launch that are told apart: each takes memory, also when it has ended.
const MOST_CTAS: usize = 1 << 24;

/// Bits for the warps of a CTA.
fn warp_bits(warps: usize) -> u32 {
    warps.next_power_of_two().trailing_zeros()
}

impl Thread {
    /// Whether threads of the CTA with a number can be told apart from all others.
    pub(super) fn can_be(cta: usize, warps: usize) -> bool {
        cta < ((1 << (32 - LANE_BITS - warp_bits(warps))) - 1).min(MOST_CTAS)
    }

    fn packed(self, warps: usize) -> u32 {
        ((self.cta << warp_bits(warps)) | self.warp as u32) << LANE_BITS | self.lane as u32
    }
}

/// An access, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    who: u32,
    /// The clock of the warp; for an agent, the number of operations issued to it; for an mbarrier, its phase.
    pub(super) clock: u32,
    /// The operation.
    pub(super) op: u32,
    /// See the constants below.
    flags: u32,
}

const USAGE: u32 = 0b11;
const STRONG: u32 = 1 << 2;
const SCOPE: u32 = 3;
const SEVERAL: u32 = 1 << 5;
const INIT: u32 = 1 << 6;
const AGENT: u32 = 7;
const TOLERANT: u32 = 1 << 10;
const SIZE: u32 = 11;
const NUMBER: u32 = 14;

/// Numbers of mbarriers that an access can have.
pub(super) const MOST_MBARRIERS: u32 = 1 << (32 - NUMBER);

impl Epoch {
    /// No access.
    pub(super) const NONE: Epoch = Epoch { who: u32::MAX, clock: 0, op: 0, flags: 0 };

    pub(super) fn new(
        (thread, warps): (Thread, usize),
        (clock, op): (u32, u32),
        usage: Use,
        order: Order,
        agent: Agent,
    ) -> Epoch {
        let strong = if order.is_strong() { STRONG } else { 0 };
        let flags = usage as u32 | strong | (order.scope as u32) << SCOPE | (agent as u32) << AGENT;
        Epoch { who: thread.packed(warps), clock, op, flags }
    }

    /// The epoch of another lane of the warp at the same access.
    #[inline]
    pub(super) fn of_lane(self, lane: usize) -> Epoch {
        Epoch { who: self.who & !(LANES as u32 - 1) | lane as u32, ..self }
    }

    /// The epoch of the lane `more` places higher; unchanged if it is no access.
    #[inline]
    pub(super) fn of_later_lane(self, more: usize) -> Epoch {
        if self.is_none() { self } else { self.of_lane((self.lane() + more) % LANES) }
    }

    #[inline]
    pub(super) fn is_none(&self) -> bool {
        self.who == u32::MAX
    }

    /// The access, if there is one.
    #[inline]
    pub(super) fn some(self) -> Option<Epoch> {
        (!self.is_none()).then_some(self)
    }

    pub(super) fn thread(&self, warps: usize) -> Thread {
        let warp = self.who >> LANE_BITS;
        let bits = warp_bits(warps);
        Thread { cta: warp >> bits, warp: (warp & ((1 << bits) - 1)) as usize, lane: self.lane() }
    }

    /// The number of its CTA.
    #[inline]
    pub(super) fn cta(&self, warps: usize) -> u32 {
        self.warp() >> warp_bits(warps)
    }

    #[inline]
    pub(super) fn lane(&self) -> usize {
        (self.who % LANES as u32) as usize
    }

    /// The number of its warp among all.
    #[inline]
    pub(super) fn warp(&self) -> u32 {
        self.who >> LANE_BITS
    }

    #[inline]
    pub(super) fn same_thread(&self, other: &Epoch) -> bool {
        self.who == other.who
    }

    /// Whether both are of one bulk copy or product: kernels issue the same one in all lanes of a warp.
    pub(super) fn same_operation(&self, other: &Epoch) -> bool {
        let key = |epoch: &Epoch| (epoch.warp(), epoch.op, epoch.clock, epoch.agent());
        !matches!(self.agent(), Agent::Thread | Agent::Lookup | Agent::Copy) && key(self) == key(other)
    }

    #[inline]
    pub(super) fn usage(&self) -> Use {
        match self.flags & USAGE {
            0 => Use::Read,
            1 => Use::Write,
            _ => Use::Atomic,
        }
    }

    /// The scope, if it is strong.
    #[inline]
    pub(super) fn strong(&self) -> Option<Scope> {
        let scopes = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];
        (self.flags & STRONG != 0).then_some(scopes[(self.flags >> SCOPE & 3) as usize])
    }

    pub(super) fn agent(&self) -> Agent {
        const AGENTS: [Agent; 8] = [
            Agent::Thread,
            Agent::Copy,
            Agent::Source,
            Agent::Target,
            Agent::Counted,
            Agent::Product,
            Agent::Lookup,
            Agent::Store,
        ];
        AGENTS[(self.flags >> AGENT & 7) as usize]
    }

    /// Whether it is of the thread itself.
    #[inline]
    pub(super) fn is_own(&self) -> bool {
        matches!(self.flags >> AGENT & 7, 0 | 6)
    }

    /// Whether it is weak, and of the thread itself other than by way of a texture.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.flags & STRONG == 0 && self.flags >> AGENT & 7 == 0
    }

    /// Several lanes of the warp did it.
    #[inline]
    pub(super) fn several(&self) -> bool {
        self.flags & SEVERAL != 0
    }

    #[inline]
    pub(super) fn set_several(&mut self, several: bool) {
        self.flags = self.flags & !SEVERAL | if several { SEVERAL } else { 0 };
    }

    /// Whether it is `mbarrier.init`.
    pub(super) fn is_init(&self) -> bool {
        self.flags & INIT != 0
    }

    pub(super) fn of_init(self) -> Epoch {
        Epoch { flags: self.flags | INIT, ..self }
    }

    /// Whether it is an atomic operation whose location may be read at the same time.
    pub(super) fn is_tolerant(&self) -> bool {
        self.flags & TOLERANT != 0
    }

    pub(super) fn of_tolerant(self) -> Epoch {
        Epoch { flags: self.flags | TOLERANT, ..self }
    }

    /// The same with elements of a given number of bytes.
    pub(super) fn of_size(self, bytes: u64) -> Epoch {
        Epoch { flags: self.flags | (bytes.trailing_zeros().min(4) + 1) << SIZE, ..self }
    }

    /// Whether both are plain loads and stores whose elements have different sizes, as far as these are known.
    pub(super) fn differs_in_size(&self, other: &Epoch) -> bool {
        let size = |epoch: &Epoch| epoch.flags >> SIZE & 7;
        let plain = self.usage() != Use::Atomic && other.usage() != Use::Atomic;
        plain && size(self) != 0 && size(other) != 0 && size(self) != size(other)
    }

    /// The mbarrier that it completes on.
    pub(super) fn mbarrier(&self) -> u32 {
        self.flags >> NUMBER
    }

    pub(super) fn of_mbarrier(self, number: u32) -> Epoch {
        Epoch { flags: self.flags | number << NUMBER, ..self }
    }
}

impl Default for Epoch {
    fn default() -> Epoch {
        Epoch::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use softwarp_ir::Semantics;

    #[test]
    fn an_access_keeps_all_that_it_is_made_of() {
        let thread = Thread { cta: 12345, warp: 6, lane: 31 };
        let order = Order { semantics: Semantics::Release, scope: Scope::Cluster };
        let epoch = Epoch::new((thread, 7), (9, 77), Use::Atomic, order, Agent::Counted)
            .of_mbarrier(MOST_MBARRIERS - 1);
        assert_eq!(epoch.thread(7), thread);
        assert_eq!(
            (epoch.usage(), epoch.strong(), epoch.agent()),
            (Use::Atomic, Some(Scope::Cluster), Agent::Counted)
        );
        assert_eq!((epoch.mbarrier(), epoch.clock, epoch.op), (MOST_MBARRIERS - 1, 9, 77));
        assert!(!epoch.several() && !epoch.is_init() && !epoch.is_none());
        assert_eq!(epoch.of_lane(2).thread(7), Thread { lane: 2, ..thread });
        assert!(Thread::can_be(12345, 32) && !Thread::can_be((1 << 22) - 1, 32));
    }
}
