//! Properties that operations are declared with.

/// What an operation does besides computing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// It reads or writes memory.
    pub memory: bool,
    /// It may wait for other lanes, warps or CTAs.
    pub waits: bool,
    /// It may stop the launch with a fault.
    pub faults: bool,
    /// All lanes of the warp execute it together, and it does not wait for missing lanes by itself.
    pub collective: bool,
    /// Other threads may react to it. A thread that only polls an mbarrier makes no progress for others. Reading a
    /// clock counts, since a thread that does may give up.
    pub progress: bool,
    /// It may read registers of lanes that do not take part.
    pub lanes: bool,
}
