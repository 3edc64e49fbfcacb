//! The Language Server Protocol 3.17: what of it this server reads and writes, in files named after its sections.
//!
//! Structures have the members that the server uses. Members of a message that are not named here are passed over.
//! Reading and writing is by tables of members ([`json`]) instead of derived code, which would be most of this crate.

mod base;
mod calls;
mod completion;
pub mod json;
mod language;
mod structures;
mod synchronization;
mod workspace;

pub use base::*;
pub use calls::*;
pub use completion::*;
pub use language::*;
pub use structures::*;
pub use synchronization::*;
pub use workspace::*;
