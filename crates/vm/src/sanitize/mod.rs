//! Dynamic analyses of a launch, for mistakes that are no faults. A sanitized launch runs on one thread of the host.
//!
//! | analysis | what it finds | algorithm | files |
//! |---|---|---|---|
//! | `race` | data races | happens-before with vector clocks; FastTrack epochs in shadow memory | `causality`, `clock`, `channel`, `race`, `epoch` |
//! | `init` | reads of memory and uses of registers that were never written | a shadow bit for each byte, and for each lane of a register | `init`, `defined` |
//! | `sync` | barriers and collective instructions that not all threads execute | counts of arrivals; hashes of sequences | `sync`, `state/collective` |
//! | `bounds` | accesses outside variables | red zones, quarantine and tags | `bounds` |
//! | `leak` | blocks of `malloc` that are never freed | a table of blocks | `state/heap` |
//!
//! [`crate::device::Launch::sanitize`] says what to look for; [`crate::device::Report::findings`] is what was found,
//! and [`crate::device::Device::findings`] has it also where the launch was stopped. A launch that is looked at runs
//! on one thread of the host, in the loop that also traces: others pay nothing.
//!
//! There are no false positives by design: where the order of two accesses is unknown, they count as ordered. Only the
//! order of execution that ran is analysed, and memory beyond the limits ([`NotLookedAt`]) is not.

pub(crate) mod bounds;
mod causality;
mod channel;
mod clock;
pub(crate) mod defined;
mod epoch;
mod finding;
pub(crate) mod init;
mod limits;
mod race;
mod registers;
mod state;
mod sync;
mod touch;
mod watch;

pub(crate) use causality::Event;
pub use finding::{Finding, FindingKind, Missing, RegisterUse, Site, Touched, Until};
pub use limits::NotLookedAt;
pub(crate) use state::Sanitizer;
pub(crate) use state::heap::Given;
pub(crate) use state::tensor::TensorCells;
pub(crate) use sync::Coming;
pub(crate) use touch::{Actor, Kind, MbarrierPhase, ShadowAddress, Span, Tolerant, Touch, Touches};
pub(crate) use watch::Watch;

/// Texels of arrays have no addresses: to sanitizers, they have numbers from here on.
pub const ARRAYS: u64 = 1 << 63;

/// Where the sanitizers have the cells of a CTA's tensor memory: behind all of its shared memory.
pub(crate) const TENSOR: u64 = 1 << 40;

/// The agent of an access: the thread itself, or a unit that works for it asynchronously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// The thread itself.
    Thread,
    /// `cp.async`; `tcgen05.ld` and `.st`
    Copy,
    /// A bulk copy in a group, where it reads.
    Source,
    /// A bulk copy in a group, where it writes.
    Target,
    /// A copy that completes on an mbarrier.
    Counted,
    /// `wgmma.mma_async`; `tcgen05.mma`, `.cp` and `.shift`
    Product,
    /// The thread itself, by way of a texture: what it reads may be older than what is in memory.
    Lookup,
    /// `st.async`, `red.async`: it completes on an mbarrier, and has no proxy of its own.
    Store,
}

impl Agent {
    /// Whether it uses what threads wrote only behind a proxy fence.
    fn has_own_proxy(self) -> bool {
        matches!(self, Agent::Source | Agent::Target | Agent::Counted | Agent::Product)
    }
}

/// The sanitizers to run; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sanitize {
    /// Reads of memory that was never written: shared, local, from `malloc`, and buffers from
    /// [`crate::device::Device::allocate_uninitialised`] that the host did not write either; and uses of registers
    /// that were not written.
    pub init: bool,
    /// Accesses of different threads to the same memory that nothing orders, one of them a write.
    pub race: bool,
    /// Barriers, operations among lanes and matrix instructions that some of the required threads do not execute.
    pub sync: bool,
    /// Accesses outside the variable or block that they were meant for, and to the stacks of other threads or of calls
    /// that are over. Load the modules with [`crate::device::LoadOptions::red_zones`], so that variables lie apart.
    pub bounds: bool,
    /// Blocks of the device's `malloc` that are never freed: [`crate::device::Device::leaks`].
    pub leak: bool,
}

impl Sanitize {
    /// Everything.
    pub const ALL: Sanitize = Sanitize { init: true, race: true, sync: true, bounds: true, leak: true };

    /// Whether anything is looked for.
    pub fn any(self) -> bool {
        self.init || self.race || self.sync || self.bounds || self.leak
    }
}
