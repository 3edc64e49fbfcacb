//! A launch that is looked at: what is known of its memory, and what was found.

mod asynchronous;
mod bounds;
mod collective;
pub(crate) mod heap;
mod undefined;

use super::bounds::Bounds;
use super::clock::{Agent, CLUSTER, Clocks};
use super::init::{Stack, Unwritten, Written};
use super::race::{Order, Record, Shadow, Verdict as Judgement};
use super::registers::Registers;
use super::sync::{Arrivals, Coming, Verdict};
use super::{ARRAYS, Finding, FindingKind, Sanitize, Site, Touched};
use crate::fault::{Fault, FaultKind, Nearest, Place, Use};
use crate::grid::Launch;
use crate::lanes::LANES;
use crate::memory::global::lock;
use crate::program::{Memory, Program};
use softwarp_image::window::reserved_shared;
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

/// Numbers between the first bytes of two arrays: more than any has bytes.
const ARRAY: u64 = 1 << 44;

/// The most arrays that are told apart.
const MOST_ARRAYS: u64 = (1 << 18) - 1;

/// The most findings that are kept.
const MOST: usize = 1000;

/// Looks at a launch. The lock is never waited for: one thread of the host runs it.
#[derive(Debug)]
pub(crate) struct Sanitizer<'a> {
    pub(crate) wants: Sanitize,
    unwritten: &'a Unwritten,
    /// The variables of the launch, if bounds are looked at.
    pub(crate) bounds: Option<Bounds>,
    /// The number of the first operation of each function; operations are counted through all of them.
    bases: Vec<u32>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    findings: Vec<Finding>,
    /// Which finding it is: kind, operations, memory.
    seen: HashMap<(u8, u32, u32, u64), usize>,
    /// Those that run, by their number in the grid.
    ctas: HashMap<u32, Cta>,
    global: Shadow,
    /// Blocks of `malloc` that are in use, by address.
    blocks: BTreeMap<u64, heap::Taken>,
    /// Arrays of texels by their addresses in the host, in the order in which they were used.
    arrays: HashMap<usize, u64>,
    /// How many strong operations there were.
    strong_operations: u32,
    /// How many there were at the last of each CTA.
    strong: HashMap<u32, u32>,
}

/// What is known of a CTA.
#[derive(Debug)]
struct Cta {
    clocks: Clocks,
    shared: Shadow,
    /// Of shared memory.
    written: Option<Written>,
    /// Of each warp.
    stacks: Vec<Stack>,
    arrivals: Arrivals,
    /// Of each warp.
    registers: Vec<Registers>,
    /// Of each warp, what it has executed for its warpgroup.
    sequences: Vec<collective::Sequence>,
}

/// Lanes that execute an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actor {
    /// `%ctaid`
    pub(crate) cta: [u32; 3],
    pub(crate) warp: u32,
    pub(crate) lanes: u32,
    /// An index into the program's codes.
    pub(crate) code: u32,
    pub(crate) pc: u32,
}

/// One lane's access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch<'a> {
    pub(crate) lane: usize,
    pub(crate) usage: Use,
    pub(crate) strong: bool,
    pub(crate) space: Memory,
    /// Whose shared memory it is, if it is that: `%ctaid`.
    pub(crate) cta: [u32; 3],
    /// In its space; of shared memory, from the first byte that is not the system's.
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// What a plain write puts there.
    pub(crate) data: Option<&'a [u8]>,
    /// Who does it.
    pub(crate) agent: Agent,
}

impl<'a> Sanitizer<'a> {
    pub(crate) fn new(wants: Sanitize, program: &Program, unwritten: &'a Unwritten) -> Sanitizer<'a> {
        let mut next = 0;
        let bases = program.codes.iter().map(|code| {
            let base = next;
            next += code.ops.len() as u32 + 1;
            base
        });
        Sanitizer { wants, unwritten, bounds: None, bases: bases.collect(), state: Mutex::default() }
    }

    /// What was found.
    pub(crate) fn findings(self) -> Vec<Finding> {
        self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).findings
    }

    /// A CTA begins, with these lanes in its warps.
    pub(crate) fn start(&self, launch: &Launch<'_>, cta: [u32; 3], warps: Vec<u32>) {
        let written = if self.wants.init { Written::nothing(launch.shared_bytes) } else { None };
        let cta_state = Cta {
            clocks: Clocks::new(warps.len()),
            shared: Shadow::default(),
            written,
            stacks: warps.iter().map(|_| Stack::default()).collect(),
            registers: warps.iter().map(|_| Registers::default()).collect(),
            sequences: vec![collective::Sequence::default(); warps.len()],
            arrivals: Arrivals::new(warps),
        };
        lock(&self.state).ctas.insert(launch.linear(cta) as u32, cta_state);
    }

    /// A CTA has ended.
    pub(crate) fn end(&self, launch: &Launch<'_>, cta: [u32; 3]) {
        let ended = lock(&self.state).ctas.remove(&(launch.linear(cta) as u32));
        if let Some(mut ended) = ended
            && self.wants.sync
        {
            self.compare_groups(launch, cta, &ended.sequences);
            let left = ended.arrivals.ended();
            self.verdicts(&mut lock(&self.state), launch, cta, &left);
        }
    }

    fn op(&self, actor: &Actor) -> u32 {
        self.bases.get(actor.code as usize).map_or(actor.pc, |base| base + actor.pc)
    }

    /// Where a thread executed an operation.
    fn site(&self, launch: &Launch<'_>, op: u32, cta: [u32; 3], thread: u32, lanes: u32) -> Site {
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

    fn site_of(&self, launch: &Launch<'_>, actor: &Actor, lane: usize) -> Site {
        let thread = actor.warp * LANES as u32 + lane as u32;
        self.site(launch, self.op(actor), actor.cta, thread, actor.lanes)
    }

    /// Lanes arrive at the cluster's barrier, or are about to wait there.
    pub(crate) fn cluster_barrier(&self, launch: &Launch<'_>, actor: &Actor, arrives: bool) {
        let mut state = lock(&self.state);
        if let Some(cta) = state.strong(launch.linear(actor.cta) as u32)
            && arrives
        {
            cta.clocks.arrive(actor.warp as usize, CLUSTER);
        }
    }

    /// The cluster's barrier lets lanes of a warp go.
    pub(crate) fn cluster_passed(&self, launch: &Launch<'_>, cta: [u32; 3], warp: u32) {
        let mut state = lock(&self.state);
        if let Some(cta) = state.strong(launch.linear(cta) as u32) {
            cta.clocks.pass(warp as usize, CLUSTER);
        }
    }

    /// A fence.
    pub(crate) fn fence(&self, launch: &Launch<'_>, actor: &Actor) {
        let mut state = lock(&self.state);
        if let Some(cta) = state.strong(launch.linear(actor.cta) as u32) {
            cta.clocks.fence(actor.warp as usize);
        }
    }

    /// Strong accesses were made at these places, which do not order what they themselves touch.
    pub(crate) fn strong(
        &self,
        launch: &Launch<'_>,
        actor: &Actor,
        places: impl Iterator<Item = (Memory, u64)>,
    ) {
        let mut state = lock(&self.state);
        let Some(cta) = state.strong(launch.linear(actor.cta) as u32) else { return };
        for (space, address) in places {
            // Elements of any size; shared memory and global memory are different places.
            let place = address / 16 * 2 + u64::from(space.is_shared());
            cta.clocks.strong(actor.warp as usize, place);
        }
        cta.clocks.tick(actor.warp as usize);
    }

    /// The number of the first byte of an array of texels.
    pub(crate) fn array(&self, address: usize) -> u64 {
        let mut state = lock(&self.state);
        let next = state.arrays.len() as u64;
        // Far apart, and a shared number for those beyond what there can be.
        ARRAYS + (*state.arrays.entry(address).or_insert(next)).min(MOST_ARRAYS) * ARRAY
    }

    /// An access of one lane. What the memory is called is asked for only when something is found.
    pub(crate) fn touch(
        &self,
        launch: &Launch<'_>,
        actor: &Actor,
        touch: &Touch<'_>,
        named: &dyn Fn() -> Option<Nearest>,
    ) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let linear = launch.linear(actor.cta) as u32;
        let shared = touch.space == Memory::Shared;
        let owner = if shared { launch.linear(touch.cta) as u32 } else { linear };
        let mut found = Vec::new();
        if self.wants.init
            && let Some(cta) = state.ctas.get_mut(&owner)
            && !self.initialised(cta, actor, touch)
        {
            found.push((FindingKind::Uninitialised, None));
        }
        // After so many strong operations that they can no longer be counted, everything counts as ordered.
        if self.wants.race
            && (shared || touch.space == Memory::Global)
            && state.strong_operations < u32::MAX
            // It is taken out, so that the clocks of another CTA can be looked at meanwhile.
            && let Some(mut shadow) = state.shadow(shared.then_some(owner))
            && let Some(cta) = state.ctas.get(&linear)
        {
            let now = Record {
                cta: linear,
                thread: (actor.warp * LANES as u32 + touch.lane as u32) as u16,
                usage: touch.usage,
                strong: touch.strong,
                agent: touch.agent,
                clock: cta.clocks.now(actor.warp as usize, touch.agent),
                after: state.strong_operations,
                op: self.op(actor),
            };
            let order = Order { clocks: &cta.clocks, strong: &state.strong, shared };
            if let Some((verdict, before)) =
                shadow.touch(touch.address, touch.bytes, &now, touch.data, &order)
            {
                let (first, second, across) = (before.usage, touch.usage, before.cta != linear);
                let kind = match verdict {
                    Judgement::Unordered => FindingKind::Race { first, second, across },
                    Judgement::Unwaited => {
                        FindingKind::Unwaited { first, second, until: before.agent.into() }
                    }
                    Judgement::Unfenced => FindingKind::MissingProxyFence,
                    Judgement::Stale => FindingKind::StaleTexture,
                };
                found.push((kind, Some(before)));
            }
            state.put_back(shared.then_some(owner), shadow);
        }
        for (kind, before) in found {
            let other = before.map(|before| {
                let thread = u32::from(before.thread);
                let at = launch.nth(before.cta.into());
                self.site(launch, before.op, at, thread, 1 << (thread % LANES as u32))
            });
            let nearest = named();
            let base = nearest.as_ref().map_or(0, |nearest| nearest.base);
            // Whichever came first this time: it is the same race.
            let (op, earlier) = (self.op(actor), before.map_or(u32::MAX, |it| it.op));
            let number = match kind {
                FindingKind::Unwaited { .. } => 6,
                FindingKind::MissingProxyFence => 7,
                FindingKind::StaleTexture => 8,
                _ => u8::from(before.is_some()),
            };
            let key = (number, op.min(earlier), op.max(earlier), base);
            // As the program has it.
            let start = || launch.window(touch.cta) + reserved_shared(launch.image.header.arch);
            let address = touch.address + if shared { start() } else { 0 };
            let bytes = touch.bytes as u32;
            let touched = Some(Touched { space: touch.space, address, bytes, nearest });
            let at = self.site_of(launch, actor, touch.lane);
            state.report(key, Finding { kind, kernel: launch.name.into(), at, other, touched, count: 1 });
        }
    }

    /// Whether what an access reads was written; it is from now on.
    fn initialised(&self, cta: &mut Cta, actor: &Actor, touch: &Touch<'_>) -> bool {
        let Touch { address, bytes, lane, .. } = *touch;
        let (reads, writes) = (touch.usage != Use::Write, touch.usage != Use::Read);
        match touch.space {
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

    /// Lanes leave a call, whose variables were in this range.
    pub(crate) fn left(&self, launch: &Launch<'_>, actor: &Actor, from: u64, to: u64) {
        let mut state = lock(&self.state);
        let cta = state.ctas.get_mut(&(launch.linear(actor.cta) as u32));
        if let Some(stack) = cta.and_then(|cta| cta.stacks.get_mut(actor.warp as usize)) {
            stack.forget(actor.lanes, from, to);
        }
    }

    /// Lanes exit.
    pub(crate) fn exited(&self, launch: &Launch<'_>, actor: &Actor) {
        let op = self.op(actor);
        if let Some(cta) = lock(&self.state).ctas.get_mut(&(launch.linear(actor.cta) as u32)) {
            cta.arrivals.exited(actor, op);
        }
    }

    /// Lanes execute an operation among lanes, and name these.
    pub(crate) fn exchanged(&self, launch: &Launch<'_>, actor: &Actor, named: u32) {
        let mut state = lock(&self.state);
        if let Some(cta) = state.ctas.get_mut(&(launch.linear(actor.cta) as u32)) {
            cta.clocks.tick(actor.warp as usize);
        }
        let outside = actor.lanes & !named;
        if self.wants.sync && outside != 0 {
            let at = self.site_of(launch, actor, outside.trailing_zeros() as usize % LANES);
            let kind = FindingKind::NotNamed { named, came: actor.lanes };
            let kernel = launch.name.into();
            let finding = Finding { kind, kernel, at, other: None, touched: None, count: 1 };
            state.report((2, self.op(actor), u32::MAX, 0), finding);
        }
    }

    /// An operation among lanes goes on without some that it names.
    pub(crate) fn gave_up(&self, launch: &Launch<'_>, actor: &Actor, named: u32) {
        if !self.wants.sync {
            return;
        }
        let at = self.site_of(launch, actor, actor.lanes.trailing_zeros() as usize % LANES);
        let kind = FindingKind::MissingLanes { named, came: actor.lanes };
        let finding = Finding { kind, kernel: launch.name.into(), at, other: None, touched: None, count: 1 };
        lock(&self.state).report((3, self.op(actor), u32::MAX, 0), finding);
    }

    /// Lanes come to a barrier.
    pub(crate) fn arrived(&self, launch: &Launch<'_>, actor: &Actor, coming: &Coming) {
        let op = self.op(actor);
        let mut state = lock(&self.state);
        let Some(cta) = state.ctas.get_mut(&(launch.linear(actor.cta) as u32)) else { return };
        cta.clocks.arrive(actor.warp as usize, coming.barrier);
        let found = cta.arrivals.arrived(actor, op, coming);
        if self.wants.sync {
            self.verdicts(&mut state, launch, actor.cta, &found);
        }
    }

    /// All threads of a barrier have arrived and none waits: it begins anew.
    pub(crate) fn renewed(&self, launch: &Launch<'_>, place: [u32; 3], barrier: u32) {
        if let Some(cta) = lock(&self.state).ctas.get_mut(&(launch.linear(place) as u32)) {
            cta.arrivals.renewed(barrier);
        }
    }

    /// A barrier lets lanes go.
    pub(crate) fn released(&self, launch: &Launch<'_>, place: [u32; 3], barrier: u32, waiting: &[u32]) {
        let mut state = lock(&self.state);
        let Some(cta) = state.ctas.get_mut(&(launch.linear(place) as u32)) else { return };
        let warps = waiting.iter().enumerate().filter(|(_, mask)| **mask != 0).map(|(warp, _)| warp);
        cta.clocks.release(barrier, warps);
        let verdicts = cta.arrivals.released(barrier);
        if !self.wants.sync {
            return;
        }
        self.verdicts(&mut state, launch, place, &verdicts);
    }

    /// Reports what is wrong with barriers.
    fn verdicts(&self, state: &mut State, launch: &Launch<'_>, place: [u32; 3], verdicts: &[Verdict]) {
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
    /// A CTA does something strong.
    fn strong(&mut self, cta: u32) -> Option<&mut Cta> {
        self.strong_operations = self.strong_operations.saturating_add(1);
        self.strong.insert(cta, self.strong_operations);
        self.ctas.get_mut(&cta)
    }

    /// The last accesses to global memory, or to the shared memory of a CTA, for as long as they are needed.
    fn shadow(&mut self, shared: Option<u32>) -> Option<Shadow> {
        match shared {
            None => Some(std::mem::take(&mut self.global)),
            Some(cta) => self.ctas.get_mut(&cta).map(|cta| std::mem::take(&mut cta.shared)),
        }
    }

    fn put_back(&mut self, shared: Option<u32>, shadow: Shadow) {
        match shared {
            None => self.global = shadow,
            Some(cta) => {
                if let Some(cta) = self.ctas.get_mut(&cta) {
                    cta.shared = shadow;
                }
            }
        }
    }

    fn report(&mut self, key: (u8, u32, u32, u64), finding: Finding) {
        let next = self.findings.len();
        let index = *self.seen.entry(key).or_insert(next);
        if index < next {
            self.findings[index].count += 1;
        } else if next < MOST {
            self.findings.push(finding);
        }
    }
}
