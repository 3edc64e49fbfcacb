//! A launch that was stopped: what is told about it, and what is still read back.

use super::super::{CommandError, remark};
use super::document::Document;
use super::report::Stats;
use crate::render;
use crate::run::{Run, fault};
use softwarp::source::Source;
use softwarp::vm::fault::Fault as Stop;

/// What to print. After a limit or a request, what was done so far is printed too; after a fault of the kernel it
/// means nothing, as on a GPU. What was counted is told in either case.
pub fn stopped(
    machine: &mut Run,
    sources: &[Source],
    stop: &Stop,
    names: &[String],
    stats: Option<Stats>,
    colour: bool,
) -> Document {
    let event = fault::event(machine, stop);
    remark(render::event(sources, &event, colour).trim_end_matches('\n'));
    let mut result = Document::new(false);
    result.failure = Some(CommandError::Reported(1));
    result.add("fault", fault::json(machine, sources, stop));
    if fault::was_cut_short(stop) {
        result.add_dumps(names.iter().filter(|name| machine.memory(name).is_ok()).cloned().collect());
    }
    if let Some(stats) = stats {
        stats.tell(&mut result);
    }
    result
}
