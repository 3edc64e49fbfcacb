//! Counts of what was executed, and the view of it from outside.
//!
//! The plain loop counts runs of operations between jumps, which costs it nothing to speak of. Counts for each
//! operation, and a [`Tracer`], are there when asked for: then a second instance of the loop runs.

use crate::decode::Code;
use crate::decode::Program;
use crate::fault::{Fault, FaultKind, Tried, Trouble};
use crate::grid::Launch;
use crate::schedule::Random;
use softwarp_image::FunctionId;
use softwarp_ir::Op;
use softwarp_syntax::Span;
use softwarp_units::lanes::Frame;
use std::sync::atomic::{AtomicU64, Ordering};

/// What has been executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions, each once for all lanes of a warp that execute it together.
    pub warp_instructions: u64,
    /// Instructions, once for each active lane.
    pub thread_instructions: u64,
    /// Branches at which the lanes of a warp parted.
    pub divergent_branches: u64,
    /// Operations among the lanes of a warp.
    pub exchanges: u64,
}

impl Counts {
    pub(crate) fn merge(&mut self, other: &Counts) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.divergent_branches += other.divergent_branches;
        self.exchanges += other.exchanges;
    }

    /// Counts instructions by their operations. Runs between jumps, which are what is counted otherwise, leave out the
    /// one that a fault ended.
    pub(crate) fn recount(&mut self, program: &Program, operations: &[(FunctionId, Vec<OpCount>)]) {
        (self.warp_instructions, self.thread_instructions) = (0, 0);
        for (code, (_, counts)) in program.codes.iter().zip(operations) {
            for (op, count) in counts.iter().enumerate() {
                let begins = code.instructions_between(op, op + 1);
                self.warp_instructions += begins * count.warp;
                self.thread_instructions += begins * count.thread;
            }
        }
    }
}

/// How far a launch is: to be read from another thread while it runs.
#[derive(Debug, Default)]
pub struct Progress {
    /// CTAs that there are.
    pub ctas: AtomicU64,
    /// CTAs that have ended.
    pub ctas_done: AtomicU64,
    /// Instructions of warps.
    pub warp_instructions: AtomicU64,
}

/// An operation that a warp executes.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The function.
    pub function: FunctionId,
    /// Where in the text.
    pub span: Span,
    /// Which operation of the function.
    pub index: u32,
    /// The operation.
    pub op: &'a Op,
    /// `%ctaid`
    pub cta: [u32; 3],
    /// The warp in its CTA.
    pub warp: u32,
    /// The lanes that are active, whatever its guard says.
    pub lanes: u32,
}

/// Someone who looks on.
pub trait Tracer: Sync {
    /// An operation is about to be executed, on these registers.
    fn before(&self, event: &Event<'_>, frame: &Frame);

    /// It was executed; not called for operations that end a run of lanes (calls, returns, barriers, branches).
    fn after(&self, frame: &Frame);
}

/// How often an operation was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpCount {
    /// By warps.
    pub warp: u64,
    /// By active lanes.
    pub thread: u64,
}

/// After how much cost the limits are looked at again.
pub(crate) const LOOK: i64 = 1 << 14;

/// After how much work within one instruction.
const LOOK_WITHIN: u64 = 1 << 14;

/// What one thread of the host counts.
pub(crate) struct Watch {
    pub(crate) total: Counts,
    since: Counts,
    /// Work beyond one step for each instruction, since the limits were looked at.
    work: u64,
    /// The same of the operation that is executed.
    of_operation: i64,
    /// What slices cost since the limits were looked at.
    cost: i64,
    /// The same of parts of a slice.
    within_slice: i64,
    clock: u64,
    /// Of a random schedule.
    pub(crate) random: Option<Random>,
    /// By function and operation.
    pub(crate) operations: Vec<Vec<OpCount>>,
}

impl Watch {
    pub(crate) fn new(launch: &Launch<'_>) -> Watch {
        let codes = launch.program.codes.iter().filter(|_| launch.watched());
        let operations = codes.map(|code| vec![OpCount::default(); code.ops.len()]).collect();
        let zero = Counts::default();
        let random = launch.seed.map(Random::new);
        Watch {
            total: zero,
            since: zero,
            work: 0,
            of_operation: 0,
            cost: 0,
            within_slice: 0,
            clock: 0,
            random,
            operations,
        }
    }

    #[inline(always)]
    pub(crate) fn count(&mut self, operations: u64, mask: u32) {
        self.since.warp_instructions += operations;
        self.since.thread_instructions += operations * u64::from(mask.count_ones());
    }

    #[inline]
    pub(crate) fn diverged(&mut self) {
        self.since.divergent_branches += 1;
    }

    #[inline]
    pub(crate) fn exchanged(&mut self) {
        self.since.exchanges += 1;
    }

    /// A clock that never stands still. With a random schedule, time is not the host's, so that a seed says all.
    pub(crate) fn clock(&mut self, launch: &Launch<'_>) -> u64 {
        self.clock = match self.random {
            Some(_) => self.clock + 64,
            None => (self.clock + 1).max(launch.nanoseconds()),
        };
        self.clock
    }

    /// `%globaltimer`
    pub(crate) fn nanoseconds(&mut self, launch: &Launch<'_>) -> u64 {
        match self.random {
            Some(_) => self.clock(launch),
            None => launch.nanoseconds(),
        }
    }

    /// A slice has cost so much.
    #[inline]
    pub(crate) fn spend(&mut self, cost: i64) {
        self.cost += cost;
    }

    /// The operation that is executed does more than others: that many units of work, each of which is a step.
    #[inline]
    pub(crate) fn work(&mut self, units: u64) {
        let units = units.min(u32::MAX.into());
        self.work += units;
        self.of_operation += units as i64;
    }

    /// What the operation did more than others.
    #[inline]
    pub(crate) fn take_work(&mut self) -> i64 {
        std::mem::take(&mut self.of_operation)
    }

    /// The same as [`Watch::work`] in the middle of an operation that may do much more: it can be stopped there.
    pub(crate) fn work_within(&mut self, launch: &Launch<'_>, units: u64) -> Tried<()> {
        self.work(units);
        if self.work < if launch.watched() { LOOK_WITHIN / 16 } else { LOOK_WITHIN } {
            return Ok(());
        }
        self.flush_now(launch).map_err(|fault| Trouble::new(0, fault.kind))
    }

    /// A part of a slice has cost so much: looks at the limits now and then.
    #[inline]
    pub(crate) fn spend_within(&mut self, launch: &Launch<'_>, cost: i64) -> Tried<()> {
        self.within_slice += cost;
        if self.within_slice < LOOK {
            return Ok(());
        }
        self.flush_now(launch).map_err(|fault| Trouble::new(0, fault.kind))
    }

    /// Adds up what was counted, and sees whether the launch has to stop.
    #[inline]
    pub(crate) fn flush(&mut self, launch: &Launch<'_>) -> Result<(), Box<Fault>> {
        // Rarely, for very short slices.
        if self.cost < LOOK && self.work < LOOK_WITHIN {
            return Ok(());
        }
        self.flush_now(launch)
    }

    pub(crate) fn flush_now(&mut self, launch: &Launch<'_>) -> Result<(), Box<Fault>> {
        launch.progress.warp_instructions.fetch_add(self.since.warp_instructions, Ordering::Relaxed);
        let now = self.since.warp_instructions + std::mem::take(&mut self.work);
        let before = launch.steps.fetch_add(now, Ordering::Relaxed);
        self.total.merge(&self.since);
        self.since = Counts::default();
        (self.cost, self.within_slice) = (0, 0);
        let kind = if launch.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            FaultKind::Cancelled
        } else if launch.most_instructions.is_some_and(|most| before.saturating_add(now) > most) {
            FaultKind::StepLimit
        } else if launch.most_time.is_some_and(|most| launch.started.elapsed() > most) {
            FaultKind::TimeLimit
        } else {
            return Ok(());
        };
        Err(Box::new(Fault { kind, kernel: launch.name.to_string(), place: None }))
    }

    pub(crate) fn before(&mut self, launch: &Launch<'_>, seen: &Seen<'_>, frame: &Frame) {
        if let Some(count) = self.operations.get_mut(seen.number).and_then(|ops| ops.get_mut(seen.pc)) {
            count.warp += 1;
            count.thread += u64::from(seen.mask.count_ones());
        }
        let (code, pc) = (seen.code, seen.pc);
        if let Some(tracer) = launch.tracer
            && let Some(op) = code.ops.get(pc)
        {
            let span = code.spans.get(pc).copied().unwrap_or_default();
            let function = code.function;
            let (cta, warp, lanes) = (seen.cta, seen.warp, seen.mask);
            tracer.before(&Event { function, span, index: pc as u32, op, cta, warp, lanes }, frame);
        }
    }

    pub(crate) fn after(&mut self, launch: &Launch<'_>, frame: &Frame) {
        if let Some(tracer) = launch.tracer {
            tracer.after(frame);
        }
    }
}

/// An operation that is about to be executed.
pub(crate) struct Seen<'a> {
    pub(crate) code: &'a Code,
    pub(crate) number: usize,
    pub(crate) pc: usize,
    pub(crate) mask: u32,
    pub(crate) cta: [u32; 3],
    pub(crate) warp: u32,
}
