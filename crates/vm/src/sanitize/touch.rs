//! What the interpreter tells the sanitizers of an access to memory: who makes it, where, how many bytes, how.

use super::Agent;
use crate::fault::Use;
use softwarp_ir::{AtomicOp, Memory, Order};
use softwarp_units::lanes::{ALL, LANES};

/// Lanes that execute an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actor {
    /// `%ctaid`
    pub(crate) cta: [u32; 3],
    pub(crate) warp: u32,
    pub(crate) lanes: u32,
    /// An index into the program's codes.
    pub(crate) code: u32,
    pub(crate) pc: u32,
}

/// One access of a lane, or of an agent for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch<'a> {
    pub(crate) lane: usize,
    pub(crate) usage: Use,
    pub(crate) order: Order,
    pub(crate) at: ShadowAddress,
    pub(crate) bytes: u64,
    /// The bytes that a plain write stores, if they are known.
    pub(crate) data: Option<&'a [u8]>,
    /// The agent that makes it.
    pub(crate) agent: Agent,
    /// The mbarrier that it completes on.
    pub(crate) completes: Option<MbarrierPhase>,
}

impl Touch<'_> {
    /// A weak access by the thread itself. The bytes that it writes are not known.
    pub(crate) fn by_thread(lane: usize, usage: Use, at: ShadowAddress, bytes: u64) -> Self {
        let (order, data, agent, completes) = (Order::WEAK, None, Agent::Thread, None);
        Touch { lane, usage, order, at, bytes, data, agent, completes }
    }
}

/// An address as the sanitizers know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShadowAddress {
    pub(crate) space: Memory,
    /// `%ctaid` of the CTA whose shared memory it is in; the CTA of the thread in other spaces.
    pub(crate) cta: [u32; 3],
    /// In its space; of shared memory, from the first byte that is not the system's.
    pub(crate) address: u64,
}

/// A phase of an mbarrier: whose shared memory the mbarrier is in (`%ctaid`), its address there, and the parity of the
/// phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MbarrierPhase {
    pub(crate) cta: [u32; 3],
    pub(crate) address: u64,
    pub(crate) parity: u32,
}

impl MbarrierPhase {
    /// The address of the mbarrier.
    pub(super) fn mbarrier(self) -> ShadowAddress {
        ShadowAddress { space: Memory::Shared, cta: self.cta, address: self.address }
    }
}

/// The same access of several lanes.
pub(crate) struct Touches<'a> {
    pub(crate) lanes: u32,
    pub(crate) usage: Use,
    pub(crate) order: Order,
    pub(crate) space: Memory,
    /// `%ctaid` of the CTA whose shared memory it is in; the CTA of the thread in other spaces.
    pub(crate) cta: [u32; 3],
    /// The address of each lane, as in [`Touch`].
    pub(crate) addresses: &'a [u64; LANES],
    /// The lowest and highest address, of these lanes or of more.
    pub(crate) span: Span,
    pub(crate) bytes: u64,
    /// Into how many elements of the same size it is divided.
    pub(crate) elements: u64,
    pub(crate) kind: Kind<'a>,
}

/// The range of the addresses of lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// The lowest and the highest.
    pub(crate) low: u64,
    pub(crate) high: u64,
    /// Whether the elements of each half of the warp lie side by side.
    pub(crate) side_by_side: [bool; 2],
}

impl Touches<'_> {
    /// Whether a whole warp accesses elements side by side.
    pub(super) fn is_dense(&self) -> bool {
        let half = LANES as u64 / 2 * self.bytes;
        let next = self.addresses[0].checked_add(half) == Some(self.addresses[LANES / 2]);
        self.lanes == ALL && self.span.side_by_side == [true; 2] && next
    }
}

/// The kind of an access of several lanes.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    Load,
    /// The words that lanes store, if they are known: those of all lanes, one row after the other. The last may be
    /// part of a word.
    Store(Option<&'a [[u32; LANES]]>),
    /// `red` has no result.
    Atomic {
        reduces: bool,
        tolerant: Tolerant,
    },
}

/// The state spaces in which weak reads of memory that an atomic operation changes are not races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tolerant {
    Never,
    /// `min`, `max`, `and`, `or`: the value changes in one direction only. Graph algorithms read it while other
    /// threads lower it.
    InGlobal,
    /// `cas`: the first value that a loop reads may be old, since the swap fails then.
    Everywhere,
}

impl Tolerant {
    pub(crate) fn of(op: AtomicOp) -> Tolerant {
        match op {
            AtomicOp::Cas => Tolerant::Everywhere,
            AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or => Tolerant::InGlobal,
            AtomicOp::Add | AtomicOp::Inc | AtomicOp::Dec | AtomicOp::Exch | AtomicOp::Xor => Tolerant::Never,
        }
    }
}
