//! A launch that was stopped: what is told about it, and what is still read back.

use super::super::{CommandError, remark};
use super::document::{Document, Shown};
use super::refusal::Refusal;
use super::report::Stats;
use crate::render;
use crate::run::{Memories, Run, fault};
use softwarp::vm::fault::Fault as Stop;

/// What to print. After a limit or a request, what was done so far is printed too; after a fault of the kernel it
/// means nothing, as on a GPU. What was counted is told in either case.
pub fn stopped(
    machine: &mut Run,
    refusal: &Refusal<'_>,
    stop: &Stop,
    hints: Vec<String>,
    shown: &[Shown],
    stats: Option<Stats>,
) -> Document {
    let Refusal { sources, colour, .. } = *refusal;
    let mut event = fault::event(machine, sources, stop);
    event.notes.extend(hints.iter().map(|hint| format!("hint: {hint}")));
    remark(render::event(sources, &event, colour).trim_end_matches('\n'));
    let mut result = Document::new(false);
    result.failure = Some(CommandError::Reported(1));
    let mut told = fault::json(machine, sources, stop);
    if let Some(members) = told.as_object_mut().filter(|_| !hints.is_empty()) {
        members.insert("hints".to_owned(), hints.into());
    }
    result.add("fault", told);
    if fault::was_cut_short(stop) {
        let there = |one: &&Shown| machine.memory(&one.name).is_ok();
        result.add_dumps(shown.iter().filter(there).cloned().collect());
    }
    if let Some(stats) = stats {
        stats.tell(&mut result);
    }
    result
}
