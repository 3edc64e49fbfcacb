//! Looks for what does not stop a launch and is wrong all the same: reads of memory that nobody has written, races,
//! and barriers that not everyone comes to.
//!
//! [`crate::device::Launch::sanitize`] says what to look for; [`crate::device::Report::findings`] is what was found,
//! and [`crate::device::Device::findings`] has it also where the launch was stopped. A launch that is looked at runs
//! on one thread of the host, in the loop that also traces: others pay nothing.
//!
//! What is reported is certain. Where the order of two accesses cannot be told, they count as ordered.

mod clock;
mod finding;
pub(crate) mod init;
mod race;
mod registers;
mod state;
mod sync;

pub(crate) use clock::{Agent, Event};
pub use finding::{Finding, FindingKind, Site, Touched, Until};
pub(crate) use state::{Actor, Sanitizer, Touch};

/// Texels of arrays have no addresses: to sanitizers, they have numbers from here on.
pub const ARRAYS: u64 = 1 << 63;

/// What to look for; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sanitize {
    /// Reads of memory that nobody has written: shared, local, from `malloc`, and buffers from
    /// [`crate::device::Device::allocate_uninitialised`] that the host did not write either.
    pub init: bool,
    /// Accesses of different threads to the same memory that nothing orders, one of them a write.
    pub race: bool,
    /// Barriers and operations among lanes that not all come to that must.
    pub sync: bool,
}

impl Sanitize {
    /// Everything.
    pub const ALL: Sanitize = Sanitize { init: true, race: true, sync: true };

    /// Whether anything is looked for.
    pub fn any(self) -> bool {
        self.init || self.race || self.sync
    }
}
