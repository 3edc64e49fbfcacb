//! Asynchronous copies and mbarriers (PTX ISA sections 9.7.9.12, 9.7.9.25, 9.7.9.28, 9.7.13.7, 9.7.13.15 and
//! 9.7.13.16). What the slots in a step's operands are, in their order, is said at each.

use super::{AtomicOp, Order};
use softwarp_isa::Type;
use softwarp_tensor::Mode;
use softwarp_tensor::reduce::Operation;
use softwarp_tensor::replace::Field;

/// What is done asynchronously, or with an mbarrier.
#[derive(Clone, Debug)]
pub enum AsyncOp {
    /// An operation on the mbarrier at the address.
    Mbarrier(MbarrierOp),
    /// `mbarrier.pending_count`: reads a state, writes a count.
    PendingCount,
    /// `cp.async`: to the first address from the second; reads what the choice says.
    Copy(CopyAsync),
    /// `cp.async.mbarrier.arrive` at the address; without `.noinc` it first adds the arrival that it makes.
    CopyArrive {
        /// `.noinc`
        noinc: bool,
    },
    /// `cp.async.bulk` and `cp.reduce.async.bulk`: to the first address from the second, with the mbarrier third.
    /// Reads the size; then `ignoreBytesLeft` and `ignoreBytesRight`, the mask of CTAs, the mask of bytes, if it
    /// has them.
    Bulk(Bulk),
    /// `st.async`: to the first address, with the mbarrier second, if it has one. Reads a register for each
    /// element.
    Store(StoreAsync),
    /// `red.async`: likewise, with one register.
    Reduce(ReduceAsync),
    /// `st.bulk`: zeros at the address; reads how many.
    Zero,
    /// `cp.async.bulk.tensor` and its like: the map is the first address, then come shared memory and the mbarrier.
    /// Reads coordinates, offsets, the mask of CTAs.
    Tensor(TensorCopy),
    /// `tensormap.replace` of the map at the address; reads the value.
    Replace {
        /// Which field.
        field: Field,
        /// Which of its ordinals.
        ordinal: usize,
    },
    /// `tensormap.cp_fenceproxy`: a map, to the first address from the second.
    CopyMap,
}

impl AsyncOp {
    /// Whether it only looks whether others are ready.
    pub fn is_wait(&self) -> bool {
        matches!(self, AsyncOp::Mbarrier(MbarrierOp::Wait { .. }))
    }
}

/// An operation on an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierOp {
    /// `init`: reads the count.
    Init {
        /// `.layout::v1`
        second_layout: bool,
    },
    /// `inval`
    Inval,
    /// `expect_tx`: reads the bytes.
    ExpectTx,
    /// `complete_tx`: likewise.
    CompleteTx,
    /// `arrive`, `arrive_drop`: reads the bytes, or the count, if there is one; writes the state.
    Arrive {
        /// `arrive_drop`
        drop: bool,
        /// `.expect_tx`
        expect: bool,
        /// `.noComplete`: on the hardware, lanes do this one after the other.
        single: bool,
        /// How it orders memory.
        order: Order,
    },
    /// `test_wait`, `try_wait`: reads a state or a parity; writes a predicate, and perhaps a second one and a report,
    /// which stay zero here.
    Wait {
        /// `.parity`
        parity: bool,
        /// How it orders memory.
        order: Order,
    },
    /// `check_layout`: writes a predicate.
    CheckLayout {
        /// `.layout::v1`
        second: bool,
    },
}

/// `cp.async`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyAsync {
    /// 4, 8 or 16.
    pub bytes: u8,
    /// How much of it is read; the rest is zeros.
    pub choice: Choice,
}

/// How much `cp.async` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All.
    All,
    /// As many bytes as a register says.
    Size,
    /// Nothing where a predicate holds, or where it does not.
    Ignore {
        /// `!`
        negated: bool,
    },
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// What is computed from what is there and what comes; none for a copy.
    pub reduction: Option<(Operation, softwarp_tensor::Element)>,
    /// It completes on an mbarrier, and not in a group.
    pub mbarrier: bool,
    /// `.multicast::cluster`
    pub multicast: bool,
    /// `multimem`: the destination stands for several places.
    pub multimem: bool,
    /// `.cp_mask`
    pub masked: bool,
    /// `.ignore_oob`
    pub ignore_outside: bool,
}

/// `st.async`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreAsync {
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// Whether it completes on an mbarrier.
    pub mbarrier: bool,
}

/// `red.async`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceAsync {
    /// What is done.
    pub op: AtomicOp,
    /// To what.
    pub ty: Type,
    /// Whether it completes on an mbarrier.
    pub mbarrier: bool,
}

/// A copy of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorCopy {
    /// How it accesses the tensor.
    pub mode: Mode,
    /// What it does.
    pub way: TensorWay,
    /// Dimensions, as the instruction says.
    pub rank: u8,
    /// How many coordinates and how many offsets are read.
    pub coordinates: u8,
    /// See there.
    pub offsets: u8,
    /// `.multicast::cluster`
    pub multicast: bool,
}

/// What a copy of a tensor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorWay {
    /// To shared memory.
    Load,
    /// From there.
    Store,
    /// From there, into what is there.
    Reduce(Operation),
    /// Nothing, but it must be right.
    Prefetch,
}
