//! Where threads meet: barriers of a CTA, and operations among the lanes of a warp.

use super::Guard;

/// `bar` and `barrier`, of a CTA.
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    /// What is done there.
    pub op: BarrierOp,
    /// The slot of the barrier's number.
    pub number: u32,
    /// The slot of the number of threads that take part; [`NONE`](super::NONE) for all.
    pub count: u32,
    /// The slot of the predicate of a reduction, and whether it is negated.
    pub predicate: Guard,
    /// The slot of the result: a predicate, or a row of 32-bit words for `popc`.
    pub d: u32,
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
    /// What is done.
    pub op: WarpOpKind,
    /// The slot of the lanes that take part; [`NONE`](super::NONE) for those that are active.
    pub members: u32,
    /// Slots of destinations: a row, a predicate.
    pub d: [u32; 2],
    /// Slots of sources.
    pub s: [u32; 3],
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
