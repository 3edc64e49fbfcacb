//! The state of the sanitizers in one launch: shadow memory of each space, the clocks of its threads, and the findings.

mod asynchronous;
mod bounds;
mod collective;
pub(crate) mod heap;
mod race;
pub(crate) mod tensor;
mod undefined;

use super::bounds::Bounds;
use super::causality::{Causality, Event};
use super::init::{Part, Stack, Unwritten, Written};
use super::race::Shadow;
use super::registers::Registers;
use super::sync::{Arrivals, Coming, Verdict};
use super::touch::{Actor, Kind, MbarrierPhase, ShadowAddress, Tolerant, Touch, Touches};
use super::watch::Watch;
use super::{ARRAYS, Finding, FindingKind, NotLookedAt, Sanitize, Site};
use crate::decode::Program;
use crate::fault::{Fault, FaultKind, Place, Use};
use crate::launch_info::LaunchInfo;
use crate::memory::global::lock;
use softwarp_ir::Memory;
use softwarp_units::lanes::{LANES, lanes};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

/// The distance between the numbers of the first bytes of two arrays: more than the bytes of any array.
const ARRAY: u64 = 1 << 44;

/// The most arrays that are told apart.
const MOST_ARRAYS: u64 = (1 << 18) - 1;

/// The most bytes between the lowest and the highest address of lanes for which all are checked at once.
const MOST_SPAN: u64 = 2048;

/// The most findings that are kept.
const MOST: usize = 1000;

/// The identity of a finding: kind, operations, memory.
type Key = (u8, u32, u32, u64);

/// Looks at a launch. The lock is never waited for: one thread of the host runs it.
#[derive(Debug)]
pub(crate) struct Sanitizer<'a> {
    pub(crate) wants: Sanitize,
    unwritten: &'a Unwritten,
    /// The variables of the launch, if bounds are checked.
    pub(crate) bounds: Option<Bounds>,
    /// A byte whose last write is wanted.
    pub(crate) watch: Option<&'a Watch>,
    /// The number of the first operation of each function; operations are counted through all of them.
    bases: Vec<u32>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    findings: Vec<Finding>,
    /// The indices of findings.
    seen: HashMap<Key, usize>,
    /// The CTAs that run, by their index in the grid.
    ctas: HashMap<u32, Cta>,
    causality: Causality,
    /// The last accesses to global memory.
    global: Shadow,
    /// The last accesses to the shared memory of CTAs that run, by their numbers.
    shared: HashMap<u32, Shadow>,
    /// Accesses to the shared memory of CTAs that have ended which were not checked, and the bytes of shadow memory
    /// that there were.
    missed: (u64, u64),
    /// Findings that were not kept.
    dropped: u64,
    /// Blocks of `malloc` that are in use, by address.
    blocks: BTreeMap<u64, heap::Taken>,
    /// Arrays of texels by their addresses in the host, in the order in which they were used.
    arrays: HashMap<usize, u64>,
}

/// The state of a CTA.
#[derive(Debug)]
struct Cta {
    /// The written bytes of shared memory.
    written: Option<Written>,
    /// The written cells of tensor memory, from their first use on.
    tensor: Option<Written>,
    /// The written bytes of local memory, for each warp.
    stacks: Vec<Stack>,
    arrivals: Arrivals,
    /// The registers of products, for each warp.
    registers: Vec<Registers>,
    /// The instructions for whole warpgroups, for each warp.
    sequences: Vec<collective::Sequence>,
}

impl<'a> Sanitizer<'a> {
    pub(crate) fn new(wants: Sanitize, program: &Program, unwritten: &'a Unwritten) -> Sanitizer<'a> {
        let mut next = 0;
        let bases = program.codes.iter().map(|code| {
            let base = next;
            next += code.ops.len() as u32 + 1;
            base
        });
        let bases = bases.collect();
        Sanitizer { wants, unwritten, bounds: None, watch: None, bases, state: Mutex::default() }
    }

    /// The findings, and the limits that were reached.
    pub(crate) fn findings(self) -> (Vec<Finding>, Vec<NotLookedAt>) {
        let state = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let limits = state.limits();
        (state.findings, limits)
    }

    /// A CTA begins, with these lanes in its warps.
    pub(crate) fn start(&self, launch: &LaunchInfo<'_>, cta: [u32; 3], warps: Vec<u32>) {
        let linear = launch.linear(cta) as u32;
        let mut state = lock(&self.state);
        if self.wants.race {
            let of: [u64; 3] = std::array::from_fn(|axis| u64::from(cta[axis] / launch.cluster[axis].max(1)));
            let [x, y, _] = launch.clusters().map(u64::from);
            let cluster = of[0] + x * (of[1] + y * of[2]);
            state.causality.start(linear, cluster as u32, &warps);
        }
        let written = if self.wants.init { Written::nothing(launch.shared_bytes) } else { None };
        let cta_state = Cta {
            written,
            tensor: None,
            stacks: warps.iter().map(|_| Stack::default()).collect(),
            registers: warps.iter().map(|_| Registers::default()).collect(),
            sequences: vec![collective::Sequence::default(); warps.len()],
            arrivals: Arrivals::new(warps),
        };
        state.ctas.insert(linear, cta_state);
    }

    /// A CTA has ended.
    pub(crate) fn end(&self, launch: &LaunchInfo<'_>, cta: [u32; 3]) {
        let mut state = lock(&self.state);
        let linear = launch.linear(cta) as u32;
        let ended = state.ctas.remove(&linear);
        if let Some(number) = state.causality.number(linear)
            && let Some(shadow) = state.shared.remove(&number)
        {
            let ((before, most), (count, bytes)) = (state.missed, shadow.missed());
            state.missed = (before + count, most.max(bytes));
        }
        state.causality.end(linear);
        drop(state);
        if let Some(ended) = &ended
            && self.wants.race
        {
            self.never_loaded(launch, cta, &ended.registers);
        }
        if let Some(mut ended) = ended
            && self.wants.sync
        {
            self.compare_groups(launch, cta, &ended.sequences);
            let left = ended.arrivals.ended();
            self.verdicts(&mut lock(&self.state), launch, cta, &left);
        }
    }

    /// Where the last write of the watched byte was.
    pub(crate) fn last_write(&self, launch: &LaunchInfo<'_>) -> Option<Site> {
        let write = self.watch?.last()?;
        Some(self.site(launch, write.op, write.cta, write.thread, write.lanes))
    }

    fn op(&self, actor: &Actor) -> u32 {
        self.bases.get(actor.code as usize).map_or(actor.pc, |base| base + actor.pc)
    }

    /// The site of an operation of a thread.
    fn site(&self, launch: &LaunchInfo<'_>, op: u32, cta: [u32; 3], thread: u32, lanes: u32) -> Site {
        let index = self.bases.partition_point(|&base| base <= op).saturating_sub(1);
        let code = &launch.program.codes[index];
        let pc = op - self.bases[index];
        let function = launch.image.function(code.function);
        let at = (pc as usize).min(code.spans.len().saturating_sub(1));
        let place = Place {
            function: code.function,
            function_name: function.name.to_string(),
            unit: function.unit,
            span: code.spans.get(at).copied().unwrap_or_default(),
            cta,
            thread: launch.thread(thread),
            warp: thread / LANES as u32,
            lanes,
        };
        Site { place, location: code.location(pc) }
    }

    fn site_of(&self, launch: &LaunchInfo<'_>, actor: &Actor, lane: usize) -> Site {
        let thread = actor.warp * LANES as u32 + lane as u32;
        self.site(launch, self.op(actor), actor.cta, thread, actor.lanes)
    }

    /// The number of the first byte of an array of texels.
    pub(crate) fn array(&self, address: usize) -> u64 {
        let mut state = lock(&self.state);
        let next = state.arrays.len() as u64;
        // The numbers of arrays are far apart. Arrays beyond the limit share a number.
        ARRAYS + (*state.arrays.entry(address).or_insert(next)).min(MOST_ARRAYS) * ARRAY
    }

    /// Whether what an access reads was written; it is from now on.
    fn initialised(
        &self,
        cta: &mut Cta,
        actor: &Actor,
        usage: Use,
        (space, lane, address, bytes): (Memory, usize, u64, u64),
    ) -> bool {
        let (reads, writes) = (usage != Use::Write, usage != Use::Read);
        match space {
            Memory::Global => {
                let all = !reads || self.unwritten.all(address, bytes);
                if writes {
                    self.unwritten.write(address, bytes);
                }
                all
            }
            Memory::Shared => {
                let Some(written) = &cta.written else { return true };
                let all = !reads || written.all(address, bytes);
                if writes {
                    written.write(address, bytes);
                }
                all
            }
            Memory::Local => {
                let Some(stack) = cta.stacks.get_mut(actor.warp as usize) else { return true };
                let all = !reads || stack.all(lane, address, bytes);
                if writes {
                    stack.write(lane, address, bytes);
                }
                all
            }
            _ => true,
        }
    }

    /// The lanes that read memory that was not written. The memory counts as written from now on.
    fn uninitialised(
        &self,
        state: &mut State,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        touches: &Touches<'_>,
    ) -> u32 {
        let &Touches { space, addresses, bytes, usage, .. } = touches;
        let place = if space == Memory::Shared { touches.cta } else { actor.cta };
        let (low, past) = (touches.span.low, touches.span.high.saturating_add(bytes));
        let in_global = match space {
            Memory::Global => Some(self.unwritten.part(low, past)),
            _ => None,
        };
        if let Some(Part::Written) = in_global {
            return 0;
        }
        let Some(cta) = state.ctas.get_mut(&(launch.linear(place) as u32)) else { return 0 };
        let whole = match in_global {
            Some(Part::Of(written, base)) => Some((written, base)),
            Some(_) => None,
            None => cta.written.as_ref().filter(|_| space == Memory::Shared).map(|written| (written, 0)),
        };
        // Nearly always, all of it was written, or all is written now.
        if let Some((written, base)) = whole
            && past - low <= MOST_SPAN
        {
            if written.all(low - base, past - low) {
                return 0;
            }
            if usage == Use::Write && touches.is_dense() {
                written.write(low - base, past - low);
                return 0;
            }
        }
        let mut unwritten = 0;
        for lane in lanes(touches.lanes) {
            let written = self.initialised(cta, actor, usage, (space, lane, addresses[lane], bytes));
            unwritten |= u32::from(!written) << lane;
        }
        unwritten
    }

    /// Lanes leave a call, whose variables were in this range.
    pub(crate) fn left(&self, launch: &LaunchInfo<'_>, actor: &Actor, from: u64, to: u64) {
        let mut state = lock(&self.state);
        let cta = state.ctas.get_mut(&(launch.linear(actor.cta) as u32));
        if let Some(stack) = cta.and_then(|cta| cta.stacks.get_mut(actor.warp as usize)) {
            stack.forget(actor.lanes, from, to);
        }
    }

    /// Lanes exit.
    pub(crate) fn exited(&self, launch: &LaunchInfo<'_>, actor: &Actor) {
        let op = self.op(actor);
        let mut state = lock(&self.state);
        let linear = launch.linear(actor.cta) as u32;
        if let Some(cta) = state.ctas.get_mut(&linear) {
            cta.arrivals.exited(actor, op);
        }
        if let Some(number) = state.causality.number(linear) {
            state.causality.exited(number, actor.warp as usize, actor.lanes);
        }
    }

    /// Lanes execute an operation among lanes, and name these.
    pub(crate) fn exchanged(&self, launch: &LaunchInfo<'_>, actor: &Actor, named: u32) {
        let outside = actor.lanes & !named;
        if self.wants.sync && outside != 0 {
            let mut state = lock(&self.state);
            let at = self.site_of(launch, actor, outside.trailing_zeros() as usize % LANES);
            let kind = FindingKind::NotNamed { named, came: actor.lanes };
            let kernel = launch.name.into();
            let finding = Finding { kind, kernel, at, other: None, touched: None, count: 1 };
            state.report((2, self.op(actor), u32::MAX, 0), finding);
        }
    }

    /// An operation among lanes goes on without some that it names.
    pub(crate) fn gave_up(&self, launch: &LaunchInfo<'_>, actor: &Actor, named: u32) {
        if !self.wants.sync {
            return;
        }
        let at = self.site_of(launch, actor, actor.lanes.trailing_zeros() as usize % LANES);
        let kind = FindingKind::MissingLanes { named, came: actor.lanes };
        let finding = Finding { kind, kernel: launch.name.into(), at, other: None, touched: None, count: 1 };
        lock(&self.state).report((3, self.op(actor), u32::MAX, 0), finding);
    }

    /// Lanes come to a barrier.
    pub(crate) fn arrived(&self, launch: &LaunchInfo<'_>, actor: &Actor, coming: &Coming) {
        let op = self.op(actor);
        let mut state = lock(&self.state);
        let linear = launch.linear(actor.cta) as u32;
        if self.wants.race
            && let Some(number) = state.causality.number(linear)
        {
            state.causality.arrive(number, actor.warp as usize, actor.lanes, coming.barrier);
        }
        let Some(cta) = state.ctas.get_mut(&linear) else { return };
        let found = cta.arrivals.arrived(actor, op, coming);
        if self.wants.sync {
            self.verdicts(&mut state, launch, actor.cta, &found);
        }
    }

    /// All threads of a barrier have arrived and none waits: it begins anew.
    pub(crate) fn renewed(&self, launch: &LaunchInfo<'_>, place: [u32; 3], barrier: u32) {
        if let Some(cta) = lock(&self.state).ctas.get_mut(&(launch.linear(place) as u32)) {
            cta.arrivals.renewed(barrier);
        }
    }

    /// A barrier lets lanes go.
    pub(crate) fn released(&self, launch: &LaunchInfo<'_>, place: [u32; 3], barrier: u32, waiting: &[u32]) {
        let mut state = lock(&self.state);
        let linear = launch.linear(place) as u32;
        if self.wants.race
            && let Some(number) = state.causality.number(linear)
        {
            state.causality.release(number, barrier, waiting);
        }
        let Some(cta) = state.ctas.get_mut(&linear) else { return };
        let verdicts = cta.arrivals.released(barrier);
        if !self.wants.sync {
            return;
        }
        self.verdicts(&mut state, launch, place, &verdicts);
    }

    /// Reports what is wrong with barriers.
    fn verdicts(&self, state: &mut State, launch: &LaunchInfo<'_>, place: [u32; 3], verdicts: &[Verdict]) {
        for verdict in verdicts {
            let (op, thread, lanes) = verdict.at;
            let at = self.site(launch, op, place, thread, lanes);
            let other = verdict.other.map(|(op, thread, lanes)| self.site(launch, op, place, thread, lanes));
            let key = (4, op, verdict.other.map_or(u32::MAX, |(op, ..)| op), verdict.barrier.into());
            let (kind, kernel) = (verdict.kind.clone(), launch.name.into());
            state.report(key, Finding { kind, kernel, at, other, touched: None, count: 1 });
        }
    }

    /// A fault that is a finding, too.
    pub(crate) fn stopped(&self, program: &Program, fault: &Fault) {
        let FaultKind::Deadlock(waiting) = &fault.kind else { return };
        if !self.wants.sync {
            return;
        }
        let location = |place: &Place| {
            let code = program.codes.iter().find(|code| code.function == place.function)?;
            let op = code.spans.iter().position(|span| *span == place.span)?;
            code.location(op as u32)
        };
        let site = |place: &Place| Site { place: place.clone(), location: location(place) };
        let Some(first) = waiting.first() else { return };
        let other = waiting.iter().find(|one| one.place.span != first.place.span);
        let kind = FindingKind::Deadlock {
            barrier: first.barrier,
            arrived: first.arrived,
            expected: first.expected,
        };
        let kernel = fault.kernel.clone();
        let (at, other) = (site(&first.place), other.map(|one| site(&one.place)));
        let finding = Finding { kind, kernel, at, other, touched: None, count: 1 };
        lock(&self.state).report((5, 0, 0, 0), finding);
    }
}

impl State {
    fn report(&mut self, key: Key, finding: Finding) {
        let next = self.findings.len();
        let index = *self.seen.entry(key).or_insert(next);
        if index < next {
            self.findings[index].count += 1;
        } else if next < MOST {
            self.findings.push(finding);
        } else {
            self.dropped += 1;
        }
    }

    /// The limits that were reached.
    fn limits(&self) -> Vec<NotLookedAt> {
        let mut accesses = self.missed;
        for shadow in self.shared.values().chain([&self.global]) {
            let (count, bytes) = shadow.missed();
            accesses = (accesses.0 + count, accesses.1.max(bytes));
        }
        let (count, bytes) = accesses;
        let counted = [
            NotLookedAt::Accesses { count, bytes },
            NotLookedAt::Ctas { count: self.causality.unnumbered },
            NotLookedAt::Locations { count: self.causality.unsent },
            NotLookedAt::Findings { count: self.dropped },
        ];
        let mut limits: Vec<_> = counted.into_iter().filter(|it| it.count() != Some(0)).collect();
        limits.extend(self.causality.exhausted.then_some(NotLookedAt::Messages));
        limits
    }
}
