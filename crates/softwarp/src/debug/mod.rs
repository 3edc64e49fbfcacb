//! Debugging of launches: breakpoints, steps forward and backward, registers, memory and barriers.
//!
//! A [`Target`] runs the launches, a [`Frontend`] decides at each stop what comes next, and [`debug`] brings them together
//! in a [`Session`]. Modules must be loaded for debugging
//! ([`LoadOptions::debug`](crate::vm::device::LoadOptions::debug)). At a stop, [`View`] gives the registers, variables and
//! calls of a thread, and evaluates [`expression`]s. [`trace`] records what threads do, without stopping.
//!
//! [`Target`]: drive::Target
//! [`Frontend`]: drive::Frontend
//! [`Session`]: session::Session
//! [`debug`]: drive::debug
//! [`View`]: view::View

pub mod code;
pub mod drive;
pub mod expression;
pub mod operands;
pub mod session;
pub mod trace;
pub mod value;
pub mod view;
