//! Looks for what does not stop a launch and is wrong all the same: reads of memory that nobody has written, races,
//! and barriers that not everyone comes to.
//!
//! [`crate::device::Launch::sanitize`] says what to look for; [`crate::device::Report::findings`] is what was found,
//! and [`crate::device::Device::findings`] has it also where the launch was stopped. A launch that is looked at runs
//! on one thread of the host, in the loop that also traces: others pay nothing.
//!
//! What is reported is certain. Where the order of two accesses cannot be told, they count as ordered.

pub(crate) mod bounds;
mod clock;
pub(crate) mod defined;
mod finding;
pub(crate) mod init;
mod race;
mod registers;
mod state;
mod sync;

pub(crate) use clock::{Agent, Event};
pub use finding::{Finding, FindingKind, RegisterUse, Site, Touched, Until};
pub(crate) use state::heap::Given;
pub(crate) use state::{Actor, Sanitizer, Touch};
pub(crate) use sync::Coming;

/// Texels of arrays have no addresses: to sanitizers, they have numbers from here on.
pub const ARRAYS: u64 = 1 << 63;

/// What to look for; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sanitize {
    /// Reads of memory that nobody has written: shared, local, from `malloc`, and buffers from
    /// [`crate::device::Device::allocate_uninitialised`] that the host did not write either; and uses of registers that
    /// were not written.
    pub init: bool,
    /// Accesses of different threads to the same memory that nothing orders, one of them a write.
    pub race: bool,
    /// Barriers, operations among lanes and matrix instructions that not all execute that must.
    pub sync: bool,
    /// Accesses outside the variable or block that they were meant for, and to the stacks of other threads or of calls
    /// that are over. Load the modules with [`crate::device::LoadOptions::red_zones`], so that variables lie apart.
    pub bounds: bool,
    /// Blocks of the device's `malloc` that nobody frees: [`crate::device::Device::leaks`].
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
