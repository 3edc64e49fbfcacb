//! Where threads meet: barriers of a CTA, and operations among the lanes of a warp.

use crate::{Guard, Slot, Slots};

/// `bar` and `barrier`, of a CTA.
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    /// The operation.
    pub op: BarrierOp,
    /// The barrier's number.
    pub number: Slot,
    /// The number of threads that take part; without it, all.
    pub count: Option<Slot>,
    /// The predicate of a reduction.
    pub predicate: Guard,
    /// The result: a predicate, or a row of 32-bit words for `popc`.
    pub d: Option<Slot>,
    /// All threads of the warp execute it together (`bar`, `.aligned`).
    pub aligned: bool,
}

/// What is done at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names are PTX's.
pub enum BarrierOp {
    Sync,
    Arrive,
    Popc,
    And,
    Or,
}

/// Operations among the lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub struct WarpOp {
    /// The operation.
    pub op: WarpOpKind,
    /// The lanes that take part; without it, those that are active.
    pub members: Option<Slot>,
    /// The row that is written.
    pub d: Option<Slot>,
    /// The predicate that is written.
    pub p: Option<Slot>,
    /// Sources.
    pub s: Slots<3>,
    /// Whether a source that is a predicate is negated.
    pub negated: bool,
}

/// What is done among lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names are PTX's.
pub enum WarpOpKind {
    /// `bar.warp.sync`
    Sync,
    ShflUp,
    ShflDown,
    ShflBfly,
    ShflIdx,
    VoteAll,
    VoteAny,
    VoteUni,
    VoteBallot,
    MatchAny32,
    MatchAny64,
    MatchAll32,
    MatchAll64,
    ReduxAdd,
    ReduxMinU32,
    ReduxMinS32,
    ReduxMaxU32,
    ReduxMaxS32,
    ReduxAnd,
    ReduxOr,
    ReduxXor,
    /// `redux.f32`: minimum or maximum, of magnitudes, with NaN.
    ReduxF32 {
        max: bool,
        abs: bool,
        nan: bool,
    },
    ActiveMask,
    Elect,
}
