//! Compare mode: a launch runs interpreted and compiled, from the same memory ([`crate::comparison`] says what is promised).
//!
//! `results` has what is compared of two runs, `order` the runs in other orders, `reproduce` what a bug report needs.
//!
//! The interpreter works on the device's memory, compiled code on a copy. So nothing has to be put back: memory that the
//! host lends can change meanwhile, as it may. Copies stay for the next launch, and only pages that have changed are copied
//! again. Where the two differ, everything after that runs on copies of what the memory was before.

mod order;
mod reproduce;
mod results;

use super::launch::{Prepared, Ran, Variation};
use super::{Device, Module, ModuleId};
use crate::clock::Instant;
use crate::comparison::{Comparisons, Difference, Mismatch, NotCompared};
use crate::decode::Program;
use crate::fault::{FaultKind, Place};
use crate::launch::{Jit, Launch, LaunchError, Outcome};
use crate::memory::copies::{Copies, Pages};
use crate::memory::global::{Global, MemoryError, lock};
use crate::memory::heap::Blocks;
use crate::sanitize::{Finding, FindingKind, Sanitize, Site, Touched, Watch};
use crate::schedule::Schedule;
use order::Order;
use results::{Differences, Printed, Results};
use softwarp_ir::texture::SurfaceAccess;
use softwarp_ir::{Memory, Op, Step, TextureOp};
use std::collections::HashMap;
use std::sync::{Mutex, TryLockError};
use std::time::Duration;

/// What compare mode keeps from launch to launch.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Copies of memory.
    copies: Copies,
    /// What came of the launches of kernels that differed.
    seen: HashMap<(ModuleId, String), Seen>,
}

/// How often launches of a kernel differed, and why.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    order_dependent: u32,
    mismatches: u32,
    /// The time that the launches took to look into that depend on the order.
    spent: Duration,
}

/// After this many launches of a kernel that depend on the order, others that differ are counted as such without a look.
const MOST_ORDERED: u32 = 16;

/// The same after this time.
const MOST_SPENT: Duration = Duration::from_secs(120);

/// The most mismatches of a kernel that are looked into. Others are findings without the instruction.
const MOST_LOOKED_INTO: u32 = 4;

/// The most mismatches of a kernel that are kept to be reproduced.
const MOST_REPRODUCED: u32 = 1;

/// Steps that a run on a copy may take, besides four times what the interpreter took.
const MORE_STEPS: u64 = 1 << 20;

/// Time that a run on a copy may take, besides ten times what the interpreter took.
const MORE_TIME: Duration = Duration::from_secs(10);

/// What all runs of a launch have in common.
struct Comparing<'a> {
    device: &'a Device,
    launch: &'a Launch<'a>,
    module: &'a Module,
    program: &'a Program,
    prepared: &'a Prepared,
    started: Instant,
}

impl Device {
    /// Takes memory; if there is none, once more without the copies that compare mode keeps.
    pub(super) fn with_room<T>(&self, take: impl Fn() -> Result<T, MemoryError>) -> Result<T, MemoryError> {
        match take() {
            Err(MemoryError::Limit(_) | MemoryError::OutOfMemory { .. }) if self.drop_copies() => take(),
            taken => taken,
        }
    }

    /// Gives back the copies that compare mode keeps from launch to launch. Returns whether there were some.
    fn drop_copies(&self) -> bool {
        let Ok(mut kept) = self.comparing.try_lock() else { return false };
        let is_some = !kept.copies.is_empty();
        kept.copies = Copies::default();
        is_some
    }

    /// Runs a launch interpreted and compiled, and compares.
    pub(super) fn run_compared(
        &self,
        launch: &Launch<'_>,
        module: &Module,
        program: &Program,
    ) -> Result<Outcome, LaunchError> {
        let prepared = self.prepare(launch, module, program)?;
        let started = Instant::now();
        let comparing = Comparing { device: self, launch, module, program, prepared: &prepared, started };
        let mut kept = match self.comparing.try_lock() {
            Ok(kept) => Ok(kept),
            Err(TryLockError::Poisoned(kept)) => Ok(kept.into_inner()),
            Err(TryLockError::WouldBlock) => Err(NotCompared::Concurrent),
        };
        let copy = match &mut kept {
            Ok(kept) => comparing.copy(kept),
            Err(why) => Err(*why),
        };
        let printed = Mutex::new(Printed::default());
        let ran = comparing.interpret(&prepared.global, &printed);
        let steps = ran.steps;
        let mut real = Results::of(ran, printed);
        let (comparisons, finding) = match (copy, kept) {
            (Err(why), _) | (_, Err(why)) => (Comparisons::not_compared(why), None),
            (Ok(copy), Ok(mut kept)) => comparing.compare(&mut kept, &copy, &real, steps),
        };
        real.ran.outcome.report.comparisons = comparisons;
        real.ran.outcome.report.findings.extend(finding);
        self.finish(launch, &prepared, real.ran)
    }
}

impl Comparing<'_> {
    /// A copy of the memory as it is now, or why there is none.
    fn copy(&self, kept: &mut Kept) -> Result<(Global, Option<Blocks>), NotCompared> {
        let Comparing { launch, prepared, .. } = self;
        if launch.debugger.is_some() || launch.schedule != Schedule::Fixed {
            return Err(NotCompared::Observed);
        }
        if writes_surfaces(self.program) {
            return Err(NotCompared::Surface);
        }
        if prepared.global.has_overlaps() {
            return Err(NotCompared::Overlap);
        }
        let copy = kept.copies.of(&prepared.global, &self.device.account);
        let copy = copy.map_err(|_| NotCompared::Memory)?;
        prepared.global.copy_to(&copy);
        let blocks = copy.blocks();
        Ok((copy, blocks))
    }

    /// Runs the launch as it was asked for, interpreted and on one thread of the host.
    fn interpret(&self, global: &Global, printed: &Mutex<Printed>) -> Ran {
        let record = |text: &str| {
            lock(printed).add(text);
            if let Some(print) = self.launch.print {
                print(text);
            }
        };
        let launch = Launch { jit: Jit::Off, threads: Some(1), print: Some(&record), ..*self.launch };
        self.run(&launch, &Variation { global: Some(global), repeatable: true, ..Variation::default() })
    }

    /// Runs the launch on a copy of its memory, without observers.
    fn run_copy(&self, how: &How<'_>) -> Results {
        let printed = Mutex::new(Printed::default());
        let record = |text: &str| lock(&printed).add(text);
        let launch = Launch {
            jit: how.jit,
            schedule: how.schedule,
            threads: Some(1),
            print: Some(&record),
            most_instructions: Some(how.steps),
            most_time: Some(self.time_left().map_or(how.time, |left| left.min(how.time))),
            tracer: None,
            debugger: None,
            count_operations: false,
            progress: None,
            sanitize: Sanitize::default(),
            ..*self.launch
        };
        let &How { global, lanes_in_order, watch, .. } = how;
        let variation = Variation { global: Some(global), repeatable: true, lanes_in_order, watch };
        let ran = self.run(&launch, &variation);
        Results::of(ran, printed)
    }

    /// The time that the launch has left, if it is limited.
    fn time_left(&self) -> Option<Duration> {
        self.launch.most_time.map(|most| most.saturating_sub(self.started.elapsed()))
    }

    /// Whether a run on a copy was stopped since the launch has to: it was cancelled, or its time is over.
    fn was_stopped(&self, results: &Results) -> bool {
        results.was_cancelled() || results.has_limit() && self.time_left() == Some(Duration::ZERO)
    }

    fn run(&self, launch: &Launch<'_>, variation: &Variation<'_>) -> Ran {
        self.device.run_prepared(launch, (self.module, self.program), self.prepared, variation)
    }

    /// Runs compiled code and compares with what the interpreter did. The copy has the memory as it was before.
    fn compare(
        &self,
        kept: &mut Kept,
        (copy, blocks): &(Global, Option<Blocks>),
        real: &Results,
        steps: u64,
    ) -> (Comparisons, Option<Finding>) {
        let memory = &self.prepared.global;
        if real.has_limit() {
            return (Comparisons::not_compared(NotCompared::Limit), None);
        }
        // What the interpreter has changed, as it was.
        let before = copy.pages_unlike(memory);
        let limits = How {
            jit: Jit::On,
            schedule: Schedule::Fixed,
            lanes_in_order: false,
            steps: steps.saturating_mul(4).saturating_add(MORE_STEPS),
            time: real.ran.outcome.report.elapsed.saturating_mul(10).saturating_add(MORE_TIME),
            global: copy,
            watch: None,
        };
        let mut compiled = self.run_copy(&limits);
        let mut is_equal = Differences::of((&compiled, copy), (real, memory)).is_empty();
        if is_equal && self.hasten_masked() {
            self.restore(copy, blocks.as_ref(), &before);
            compiled = self.run_copy(&limits);
            is_equal = Differences::of((&compiled, copy), (real, memory)).is_empty();
        }
        if compiled.ran.outcome.report.compiled == 0 && !compiled.has_limit() {
            return (Comparisons { not_compiled: 1, ..Comparisons::default() }, None);
        }
        if is_equal {
            return (Comparisons { equal: 1, ..Comparisons::default() }, None);
        }
        if self.was_stopped(&compiled) {
            return (Comparisons::not_compared(NotCompared::Limit), None);
        }
        self.restore(copy, blocks.as_ref(), &before);
        self.look_into(kept, (copy, blocks.as_ref()), &limits)
    }

    /// Gives a copy the memory as it was before the interpreter ran, which has changed these pages.
    fn restore(&self, copy: &Global, blocks: Option<&Blocks>, before: &Pages) {
        self.prepared.global.copy_to(copy);
        before.iter().for_each(|(allocation, offset, bytes)| copy.put(*allocation, *offset, bytes));
        copy.set_blocks(blocks);
    }

    /// Has code for diverged lanes made, which is made late otherwise. Returns whether there is some to run.
    fn hasten_masked(&self) -> bool {
        let shape = softwarp_jit::Shape::of(self.launch.block);
        let codes = self.program.codes.iter();
        codes.filter(|code| code.native.hasten(shape)).count() != 0
    }

    /// Compiled code and the interpreter differ. Everything runs again on copies, from the memory that the copy has: whether
    /// they still do, and whether that comes from the order of threads.
    fn look_into(
        &self,
        kept: &mut Kept,
        (copy, blocks): (&Global, Option<&Blocks>),
        limits: &How<'_>,
    ) -> (Comparisons, Option<Finding>) {
        let started = Instant::now();
        let not_compared = |why| (Comparisons::not_compared(why), None);
        let key = (self.launch.module, self.launch.kernel.to_owned());
        let seen = kept.seen.get(&key).copied().unwrap_or_default();
        if seen.order_dependent >= MOST_ORDERED || seen.spent > MOST_SPENT {
            return (Comparisons { order_dependent: 1, ..Comparisons::default() }, None);
        }
        let (mut first, mut second) = (Copies::default(), Copies::default());
        let account = &self.device.account;
        let (Ok(start), Ok(interpreted)) = (first.of(copy, account), second.of(copy, account)) else {
            return not_compared(NotCompared::Memory);
        };
        copy.copy_to(&start);
        let order = Order { comparing: self, limits, start: &start, blocks };
        let other = order.run(&interpreted, |how| How { jit: Jit::Off, ..how });
        let compiled = order.run(copy, |how| how);
        if self.was_stopped(&other) || self.was_stopped(&compiled) {
            return not_compared(NotCompared::Limit);
        }
        if other.has_limit() {
            return not_compared(NotCompared::WaitsForHost);
        }
        let mut differences = Differences::of((&compiled, copy), (&other, &interpreted));
        if differences.is_empty() {
            return (Comparisons { equal: 1, ..Comparisons::default() }, None);
        }
        if seen.mismatches < MOST_LOOKED_INTO {
            order.explain(&mut differences, copy, (&other, &interpreted), &compiled);
            if self.time_left() == Some(Duration::ZERO) {
                return not_compared(NotCompared::Limit);
            }
        }
        let seen = kept.seen.entry(key).or_default();
        let Some(what) = differences.first([&compiled, &other]) else {
            seen.order_dependent += 1;
            seen.spent += started.elapsed();
            return (Comparisons { order_dependent: 1, ..Comparisons::default() }, None);
        };
        seen.mismatches += 1;
        let mut comparisons = Comparisons { mismatches: 1, ..Comparisons::default() };
        if seen.mismatches <= MOST_REPRODUCED {
            comparisons.reproductions.push(self.reproduction(&start));
        }
        let watched = seen.mismatches <= MOST_LOOKED_INTO;
        let place = differences.place();
        let writer = place.filter(|_| watched).and_then(|(allocation, offset)| {
            let watch = Watch::new(start.addresses_of(allocation, offset));
            let watching = |how| How { jit: Jit::Off, watch: Some(&watch), ..how };
            order.run(copy, watching).ran.last_write
        });
        let fault = other.ran.outcome.fault.as_ref().and_then(|fault| fault.place.clone());
        let fault = fault.filter(|_| matches!(what, Difference::Fault { .. }));
        let site = writer.or(fault.map(|place| Site { place, location: None }));
        (comparisons, Some(self.finding(what, place, site, &start)))
    }

    /// The finding. Without a place in the interpreter, it is at the beginning of the kernel.
    fn finding(
        &self,
        what: Difference,
        place: Option<(usize, u64)>,
        site: Option<Site>,
        start: &Global,
    ) -> Finding {
        let Launch { grid, block, cluster, dynamic_shared, kernel, .. } = *self.launch;
        let touched = place.filter(|_| matches!(what, Difference::Memory { .. }));
        let touched = touched.and_then(|(allocation, offset)| {
            let base = start.allocations().get(allocation)?.base;
            let nearest = start.nearest(base + offset);
            Some(Touched { space: Memory::Global, address: base + offset, bytes: 1, nearest })
        });
        let placed = site.is_some();
        let mismatch = Mismatch { grid, block, cluster, dynamic_shared, what, placed };
        Finding {
            kind: FindingKind::JitMismatch(Box::new(mismatch)),
            kernel: kernel.to_owned(),
            at: site.unwrap_or_else(|| self.beginning()),
            other: None,
            touched,
            count: 1,
        }
    }

    /// The first instruction of the kernel.
    fn beginning(&self) -> Site {
        let (image, kernel) = (&self.module.image, self.prepared.kernel);
        let function = image.function(kernel);
        let code = self.program.codes.first();
        let span = code.and_then(|code| code.spans.first()).copied().unwrap_or_default();
        let place = Place {
            function: kernel,
            function_name: function.name.to_string(),
            unit: function.unit,
            span,
            cta: [0; 3],
            thread: [0; 3],
            warp: 0,
            lanes: 1,
        };
        Site { place, location: code.and_then(|code| code.location(0)) }
    }
}

/// How a run on a copy differs from others.
#[derive(Clone, Copy)]
struct How<'a> {
    jit: Jit,
    schedule: Schedule,
    /// A random schedule leaves the order of a warp's lanes as it is.
    lanes_in_order: bool,
    /// The most steps.
    steps: u64,
    /// The most time.
    time: Duration,
    global: &'a Global,
    watch: Option<&'a Watch>,
}

/// Whether a program writes surfaces, which are not copied.
fn writes_surfaces(program: &Program) -> bool {
    let writes = |op: &Op| match op {
        Op::Other(_, step) => match &**step {
            Step::Texture(TextureOp::Surface(op)) => op.access != SurfaceAccess::Load,
            _ => false,
        },
        Op::Alu(_) | Op::Branch(..) => false,
    };
    program.codes.iter().any(|code| code.ops.iter().any(writes))
}

/// What stopped a launch, in words; that it ended, if nothing did.
fn words(kind: Option<&FaultKind>) -> String {
    kind.map_or_else(|| "no fault".to_owned(), ToString::to_string)
}
