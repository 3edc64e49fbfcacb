//! Events: points in the order of a stream.

use crate::driver::capture::Captured;
use crate::handle::{Handled, Kind, lock};
use crate::stream::Done;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// An event.
#[derive(Debug, Default)]
pub struct Event {
    /// Its handle's context.
    pub context: u64,
    /// Whether it keeps a time.
    pub timed: bool,
    /// Whether other processes may use it.
    pub shared: bool,
    /// What was last recorded.
    pub recorded: Mutex<Recorded>,
}

/// What an event was last recorded as.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The point in the order of the stream; none before the first record.
    pub done: Option<Arc<Done>>,
    /// When the point was reached.
    pub time: Arc<Mutex<Option<Instant>>>,
    /// The point in a graph, if the stream was captured.
    pub captured: Option<Captured>,
}

impl Handled for Event {
    const KIND: Kind = Kind::Event;
}

impl Event {
    /// What was last recorded.
    pub fn recorded(&self) -> Recorded {
        lock(&self.recorded).clone()
    }
}
