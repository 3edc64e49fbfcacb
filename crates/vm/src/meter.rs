//! The counters of one thread of the host while it runs a launch, and the checks of the launch's limits.

use crate::context::Launch;
use crate::decode::Code;
use crate::fault::{Fault, FaultKind, Tried, Trouble};
use crate::schedule::Random;
use crate::stats::{Counts, Event, OpCount};
use softwarp_units::lanes::Frame;
use std::sync::atomic::Ordering;

/// The cost after which the limits are checked again.
pub(crate) const LOOK: i64 = 1 << 14;

/// The work within one instruction after which the limits are checked.
const LOOK_WITHIN: u64 = 1 << 14;

/// The counters of one thread of the host.
pub(crate) struct Meter {
    pub(crate) total: Counts,
    since: Counts,
    /// Work beyond one step for each instruction, since the limits were checked.
    work: u64,
    /// Work beyond one step of the operation that is executed.
    of_operation: i64,
    /// The cost of slices since the limits were checked.
    cost: i64,
    /// The cost of the part of a slice that has been executed.
    within_slice: i64,
    clock: u64,
    /// The random numbers of a random schedule.
    pub(crate) random: Option<Random>,
    /// Room for compiled code.
    pub(crate) native: Option<Box<softwarp_jit::Scratch>>,
    /// Instructions of warps that compiled code executed.
    pub(crate) compiled: u64,
    /// Counts by function and operation.
    pub(crate) operations: Vec<Vec<OpCount>>,
}

impl Meter {
    pub(crate) fn new(launch: &Launch<'_>) -> Meter {
        let codes = launch.program.codes.iter().filter(|_| launch.is_observed());
        let operations = codes.map(|code| vec![OpCount::default(); code.ops.len()]).collect();
        let zero = Counts::default();
        let random = launch.seed.map(Random::new);
        Meter {
            total: zero,
            since: zero,
            work: 0,
            of_operation: 0,
            cost: 0,
            within_slice: 0,
            clock: 0,
            random,
            native: None,
            compiled: 0,
            operations,
        }
    }

    #[inline(always)]
    pub(crate) fn count(&mut self, operations: u64, mask: u32) {
        self.since.warp_instructions += operations;
        self.since.thread_instructions += operations * u64::from(mask.count_ones());
    }

    /// Adds instructions that each of several warps executed in compiled code, with all their threads.
    #[inline]
    pub(crate) fn count_warps(&mut self, instructions: u64, warps: u64, threads: u64) {
        self.since.warp_instructions += instructions * warps;
        self.compiled += instructions * warps;
        self.since.thread_instructions += instructions * threads;
    }

    /// Adds what compiled code executed.
    #[inline]
    pub(crate) fn count_native(&mut self, done: &softwarp_jit::Done) {
        self.since.warp_instructions += done.instructions;
        self.compiled += done.instructions;
        self.since.thread_instructions += done.threads;
        self.since.divergent_branches += done.divergent;
        self.since.exchanges += done.exchanges;
    }

    #[inline]
    pub(crate) fn diverged(&mut self) {
        self.since.divergent_branches += 1;
    }

    #[inline]
    pub(crate) fn exchanged(&mut self) {
        self.since.exchanges += 1;
    }

    /// A clock that advances with each read. With a random schedule or a debugger it does not depend on the host's time,
    /// so that a launch can be repeated.
    pub(crate) fn clock(&mut self, launch: &Launch<'_>) -> u64 {
        self.clock = match launch.is_repeatable() {
            true => self.clock + 64,
            false => (self.clock + 1).max(launch.nanoseconds()),
        };
        self.clock
    }

    /// `%globaltimer`
    pub(crate) fn nanoseconds(&mut self, launch: &Launch<'_>) -> u64 {
        match launch.is_repeatable() {
            true => self.clock(launch),
            false => launch.nanoseconds(),
        }
    }

    /// Adds the cost of a slice.
    #[inline]
    pub(crate) fn spend(&mut self, cost: i64) {
        self.cost += cost;
    }

    /// Adds work of the operation that is executed: units beyond the first step, each of which counts as a step.
    #[inline]
    pub(crate) fn work(&mut self, units: u64) {
        let units = units.min(u32::MAX.into());
        self.work += units;
        self.of_operation += units as i64;
    }

    /// The work of the operation since the last call.
    #[inline]
    pub(crate) fn take_work(&mut self) -> i64 {
        std::mem::take(&mut self.of_operation)
    }

    /// The same as [`Meter::work`] in the middle of an operation that may do much work. Fails if the launch has to
    /// stop.
    pub(crate) fn work_within(&mut self, launch: &Launch<'_>, units: u64) -> Tried<()> {
        self.work(units);
        if self.work < if launch.is_observed() { LOOK_WITHIN / 16 } else { LOOK_WITHIN } {
            return Ok(());
        }
        self.flush_now(launch).map_err(|fault| Trouble::new(0, fault.kind))
    }

    /// Adds the cost of a part of a slice, and checks the limits from time to time.
    #[inline]
    pub(crate) fn spend_within(&mut self, launch: &Launch<'_>, cost: i64) -> Tried<()> {
        self.within_slice += cost;
        if self.within_slice < LOOK {
            return Ok(());
        }
        self.flush_now(launch).map_err(|fault| Trouble::new(0, fault.kind))
    }

    /// Whether enough has been done since the last check for [`Meter::flush`] to check the limits.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.cost >= LOOK || self.work >= LOOK_WITHIN
    }

    /// How many times that work can be added, each time after it was seen that no check is due.
    pub(crate) fn times_before_due(&self, work: u64) -> u64 {
        match self.is_due() {
            true => 0,
            false => (LOOK_WITHIN - self.work).div_ceil(work.max(1)),
        }
    }

    /// Adds the counts to the launch's, and checks whether it has to stop.
    #[inline]
    pub(crate) fn flush(&mut self, launch: &Launch<'_>) -> Result<(), Box<Fault>> {
        // Very short slices do not check each time.
        if !self.is_due() {
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
        } else if softwarp_heap::is_short() {
            launch.no_memory("the launch", softwarp_heap::RESERVE as u64)
        } else {
            return Ok(());
        };
        Err(Box::new(Fault {
            kind,
            kernel: launch.name.to_string(),
            place: None,
            running: Vec::new(),
            registers: Vec::new(),
        }))
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
