//! Asynchronous copies and mbarriers (PTX ISA sections 9.7.9.12, 9.7.9.25, 9.7.9.28, 9.7.13.7, 9.7.13.15 and
//! 9.7.13.16).

use crate::{Address, AtomicOp, Guard, Order, Slot};
use softwarp_isa::Type;
use softwarp_tensor::Mode;
use softwarp_tensor::reduce::Operation;
use softwarp_tensor::replace::Field;

/// `mbarrier.init`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbarrierInit {
    /// The mbarrier.
    pub mbarrier: Address,
    /// The expected arrivals.
    pub count: Slot,
    /// `.layout::v1`
    pub second_layout: bool,
}

/// `mbarrier.inval`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbarrierInval {
    /// The mbarrier.
    pub mbarrier: Address,
}

/// `mbarrier.expect_tx`, `mbarrier.complete_tx`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbarrierTx {
    /// The mbarrier.
    pub mbarrier: Address,
    /// The bytes.
    pub bytes: Slot,
    /// `.multicast::cluster::32b`: the mask of CTAs.
    pub multicast: Option<Slot>,
    /// `complete_tx`
    pub complete: bool,
}

/// `mbarrier.arrive`, `mbarrier.arrive_drop`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbarrierArrive {
    /// The state before.
    pub d: Option<Slot>,
    /// The mbarrier.
    pub mbarrier: Address,
    /// How many arrivals; with `expect`, how many bytes; 1 without it.
    pub count: Option<Slot>,
    /// `.multicast::cluster::32b`: the mask of CTAs.
    pub multicast: Option<Slot>,
    /// `arrive_drop`
    pub drop: bool,
    /// `.expect_tx`
    pub expect: bool,
    /// `.noComplete`: on the hardware, lanes do this one after the other.
    pub single: bool,
    /// How it orders memory.
    pub order: Order,
}

/// `mbarrier.test_wait`, `mbarrier.try_wait`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbarrierWait {
    /// Whether the phase is complete.
    pub d: Slot,
    /// A second predicate, which stays false here.
    pub second: Option<Slot>,
    /// A report, which stays zero here.
    pub report: Option<Slot>,
    /// The mbarrier.
    pub mbarrier: Address,
    /// The state, or with `parity` the parity, of the phase.
    pub phase: Slot,
    /// `.parity`
    pub parity: bool,
    /// How it orders memory.
    pub order: Order,
}

/// `mbarrier.check_layout`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbarrierCheckLayout {
    /// The predicate.
    pub d: Slot,
    /// The mbarrier.
    pub mbarrier: Address,
    /// `.layout::v1`
    pub second_layout: bool,
}

/// `mbarrier.pending_count`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingCount {
    /// The count.
    pub d: Slot,
    /// A state.
    pub state: Slot,
}

/// `cp.async`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyAsync {
    /// The destination.
    pub to: Address,
    /// The source.
    pub from: Address,
    /// How much of it is read; the rest is zeros.
    pub choice: Choice,
    /// 4, 8 or 16.
    pub bytes: u8,
}

/// How much `cp.async` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All bytes.
    All,
    /// As many bytes as a register says.
    Size(Slot),
    /// Nothing where this holds.
    Ignore(Guard),
}

/// `cp.async.mbarrier.arrive`; without `.noinc` it first adds the arrival that it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyArrive {
    /// The mbarrier.
    pub mbarrier: Address,
    /// `.noinc`
    pub noinc: bool,
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// The destination.
    pub to: Address,
    /// The source.
    pub from: Address,
    /// How many bytes.
    pub size: Slot,
    /// `.ignore_oob`: `ignoreBytesLeft` and `ignoreBytesRight`.
    pub ignore: Option<[Slot; 2]>,
    /// The mbarrier that it completes on; without one it completes in a group.
    pub mbarrier: Option<Address>,
    /// `.multicast::cluster`: the mask of CTAs.
    pub multicast: Option<Slot>,
    /// `.cp_mask`: the mask of bytes.
    pub mask: Option<Slot>,
    /// What is computed from what is there and what comes; none for a copy.
    pub reduction: Option<(Operation, softwarp_tensor::Element)>,
    /// `multimem`: the destination stands for several places.
    pub multimem: bool,
}

/// `st.async`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreAsync {
    /// The destination.
    pub to: Address,
    /// The mbarrier that it completes on, if there is one.
    pub mbarrier: Option<Address>,
    /// What is stored, a register for each element.
    pub data: Vec<Slot>,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub bytes: u8,
}

/// `red.async`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceAsync {
    /// The destination.
    pub to: Address,
    /// The mbarrier that it completes on, if there is one.
    pub mbarrier: Option<Address>,
    /// The operand.
    pub b: Slot,
    /// What is done.
    pub op: AtomicOp,
    /// The type.
    pub ty: Type,
}

/// `st.bulk`: zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroBulk {
    /// The destination.
    pub to: Address,
    /// How many bytes.
    pub size: Slot,
}

/// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`, `cp.async.bulk.prefetch.tensor`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorCopy {
    /// The tensor map.
    pub map: Address,
    /// The place in shared memory; none for a prefetch.
    pub shared: Option<Address>,
    /// The mbarrier that it completes on; without one it completes in a group.
    pub mbarrier: Option<Address>,
    /// The coordinates.
    pub coordinates: Vec<Slot>,
    /// The offsets of im2col modes.
    pub offsets: Vec<Slot>,
    /// `.multicast::cluster`: the mask of CTAs.
    pub multicast: Option<Slot>,
    /// `.cta_group::2`: of each pair of CTAs, the one with the parity of the mbarrier's CTA counts the bytes.
    pub pair: bool,
    /// How it accesses the tensor.
    pub mode: Mode,
    /// What it does.
    pub way: TensorWay,
    /// Dimensions, as the instruction says.
    pub rank: u8,
}

/// `tensormap.replace`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplaceField {
    /// The tensor map.
    pub map: Address,
    /// The value.
    pub value: Slot,
    /// Which field.
    pub field: Field,
    /// The field's ordinal; 0 where the instruction takes none.
    pub ordinal: usize,
}

/// `tensormap.cp_fenceproxy`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyMap {
    /// The destination.
    pub to: Address,
    /// The source.
    pub from: Address,
}

/// What a copy of a tensor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorWay {
    /// From global to shared memory.
    Load,
    /// From shared to global memory.
    Store,
    /// From there, into what is there.
    Reduce(Operation),
    /// Nothing, but it must be right.
    Prefetch,
}
