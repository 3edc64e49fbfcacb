//! Counts of what was executed, and the view of it from outside.
//!
//! The plain loop counts runs of operations between jumps, which costs it nothing to speak of. Counts for each
//! operation, and a [`Tracer`], are there when asked for: then a second instance of the loop runs.

use crate::fault::{Fault, FaultKind};
use crate::grid::Launch;
use crate::lanes::Frame;
use crate::program::{Code, Op, Program};
use softwarp_image::FunctionId;
use softwarp_syntax::Span;
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

/// What one thread of the host counts.
pub(crate) struct Watch {
    pub(crate) total: Counts,
    since: Counts,
    clock: u64,
    /// By function and operation.
    pub(crate) operations: Vec<Vec<OpCount>>,
}

impl Watch {
    pub(crate) fn new(launch: &Launch<'_>) -> Watch {
        let codes = launch.program.codes.iter().filter(|_| launch.watched());
        let operations = codes.map(|code| vec![OpCount::default(); code.ops.len()]).collect();
        let zero = Counts::default();
        Watch { total: zero, since: zero, clock: 0, operations }
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

    /// A clock that never stands still.
    pub(crate) fn clock(&mut self, launch: &Launch<'_>) -> u64 {
        self.clock = (self.clock + 1).max(launch.nanoseconds());
        self.clock
    }

    /// Adds up what was counted, and sees whether the launch has to stop.
    #[inline]
    pub(crate) fn flush(&mut self, launch: &Launch<'_>) -> Result<(), Box<Fault>> {
        // Rarely, for very short slices.
        if self.since.warp_instructions < 1 << 12 {
            return Ok(());
        }
        self.flush_now(launch)
    }

    pub(crate) fn flush_now(&mut self, launch: &Launch<'_>) -> Result<(), Box<Fault>> {
        let now = self.since.warp_instructions;
        let before = launch.progress.warp_instructions.fetch_add(now, Ordering::Relaxed);
        self.total.merge(&self.since);
        self.since = Counts::default();
        let kind = if launch.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            FaultKind::Cancelled
        } else if launch.most_instructions.is_some_and(|most| before + now > most) {
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
