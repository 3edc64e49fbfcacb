//! Launches that run to their end.

use super::spec::{Machine, Ready, Spec};
use super::words;
use crate::request::{Answer, read};
use serde_json::{Value as Json, json};
use softwarp::vm::device::{Launch, LaunchError, Report};
use softwarp::vm::fault::FaultKind;
use softwarp_listing::counted::{Counted, counted};
use softwarp_listing::observe::{Observer, Seen};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The most findings that are told.
const MOST_FINDINGS: usize = 200;
/// The most bytes of what a kernel prints.
pub const MOST_PRINTED: usize = 1 << 16;

/// What a kernel printed.
#[derive(Debug, Default)]
pub struct Printed(Mutex<String>);

impl Printed {
    /// Adds to it.
    pub fn add(&self, text: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST_PRINTED.saturating_sub(all.len());
        all.push_str(&text[..text.floor_char_boundary(room)]);
    }

    /// All of it.
    pub fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What was executed, by line.
pub fn stats(ready: &Ready, machine: &Machine, report: &Report, observer: &Observer) -> Json {
    let module = machine.device.module(Default::default());
    let sources = std::slice::from_ref(&ready.source);
    let functions: Vec<Counted> =
        module.map_or_else(|_| Vec::new(), |module| counted(&module, sources, std::slice::from_ref(report)));
    let mut lines: BTreeMap<u32, (u64, u64, Seen)> = BTreeMap::new();
    for one in functions.iter().flat_map(|function| &function.instructions) {
        let (warp, thread, seen) = lines.entry(one.line).or_default();
        *warp += one.count.warp;
        *thread += one.count.thread;
        if let Some(operation) = one.operation {
            seen.add(&observer.seen(operation));
        }
    }
    let line = |(line, (warp, thread, seen)): (&u32, &(u64, u64, Seen))| {
        json!({
            "line": line.saturating_sub(1), "warp": warp, "thread": thread, "divergent": seen.divergent,
            "requests": seen.requests, "sectors": seen.sectors, "sharedRequests": seen.shared_requests,
            "conflicts": seen.conflicts,
        })
    };
    json!({
        "warpInstructions": report.counts.warp_instructions,
        "threadInstructions": report.counts.thread_instructions,
        "divergentBranches": report.counts.divergent_branches,
        "ctas": report.ctas,
        "lines": lines.iter().map(line).collect::<Vec<_>>(),
    })
}

/// Runs a launch to its end.
pub fn run(request: &Json) -> Answer {
    let spec: Spec = read(request)?;
    let ready = spec.ready()?;
    let machine = ready.machine(false)?;
    let (printed, observer) = (Printed::default(), Observer::default());
    let print = |text: &str| printed.add(text);
    let launch = Launch {
        print: Some(&print),
        sanitize: ready.sanitize,
        most_instructions: Some(ready.limit),
        count_operations: true,
        tracer: Some(&observer),
        ..ready.launch(&machine)
    };
    let (report, fault) = match machine.device.launch(&launch) {
        Ok(report) => (Some(report), None),
        Err(LaunchError::Fault(fault)) => (machine.device.stopped(), Some(fault)),
        Err(error) => return Err(words::refusal(&ready, &error)),
    };
    let mut findings = machine.device.findings();
    if ready.sanitize.leak {
        findings.extend(machine.device.leaks());
    }
    let told: Vec<Json> =
        findings.iter().take(MOST_FINDINGS).map(|one| words::finding(&ready, &machine, one)).collect();
    let state = match &fault {
        None => "done",
        Some(fault) if fault.kind == FaultKind::StepLimit => "limit",
        Some(_) => "fault",
    };
    Ok(json!({
        "state": state,
        "fault": fault.as_ref().map(|fault| words::fault(&ready, &machine, fault)),
        "findings": told,
        "findingsTotal": findings.len(),
        "buffers": words::buffers(&machine),
        "stats": report.as_ref().map(|report| stats(&ready, &machine, report, &observer)),
        "printed": printed.take(),
    }))
}
