//! `--sanitize`: what to look for besides faults, and what was found.

use super::super::checking::{SHOWN, count};
use super::super::{CommandError, remark};
use super::Args;
use super::compared;
use super::document::Document;
use crate::render;
use crate::run::{Run, finding};
use serde_json::Value as Json;
use softwarp::source::Source;
use softwarp::vm::comparison::Comparisons;
use softwarp::vm::sanitize::{Finding, NotLookedAt, Sanitize};

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum What {
    /// Reads of memory, and uses of registers, that were never written
    Init,
    /// Accesses of several threads that nothing orders
    Race,
    /// Barriers, operations among lanes and matrix instructions that some miss
    Sync,
    /// Accesses outside the variable that they were meant for, or to another thread's local memory
    Bounds,
    /// Blocks from malloc that are never freed
    Leak,
    /// All of these
    All,
}

/// As the machine has it.
pub fn wanted(list: &[What]) -> Sanitize {
    let has = |what| list.contains(&what) || list.contains(&What::All);
    Sanitize {
        init: has(What::Init),
        race: has(What::Race),
        sync: has(What::Sync),
        bounds: has(What::Bounds),
        leak: has(What::Leak),
    }
}

/// What the sanitizers found in all launches.
#[derive(Debug, Default)]
pub struct Found {
    /// The findings, in the order of the launches.
    pub findings: Vec<Finding>,
    /// Accesses that were not checked, and why.
    pub not_looked_at: Vec<NotLookedAt>,
    /// What compare mode did.
    pub comparisons: Comparisons,
}

/// Adds what was found to what is printed.
pub fn report(
    result: &mut Document,
    args: &Args,
    machine: &mut Run,
    sources: &[Source],
    found: &Found,
    colour: bool,
) {
    let Found { findings, not_looked_at, comparisons } = found;
    compared::report(result, comparisons, findings, &args.mismatches);
    if args.sanitize.is_empty() && comparisons.launches() == 0 {
        return;
    }
    for one in findings.iter().take(SHOWN) {
        let event = finding::event(machine, sources, one);
        remark(render::event(sources, &event, colour).trim_end_matches('\n'));
        remark("");
    }
    let list: Vec<Json> = findings.iter().map(|one| finding::json(machine, sources, one)).collect();
    result.add("findings", list.into());
    if !not_looked_at.is_empty() {
        not_looked_at.iter().for_each(|one| remark(&format!("note: {one}")));
        let list = not_looked_at.iter().map(|one| {
            let (what, count) = (one.word(), one.count());
            serde_json::json!({ "what": what, "count": count, "message": one.to_string() })
        });
        result.add("not_looked_at", list.collect::<Vec<Json>>().into());
    }
    if !findings.is_empty() {
        result.ok = false;
        remark(&count((findings.len(), "finding")));
        result.failure.get_or_insert(CommandError::Reported(1));
    }
}
