//! Accesses to memory of a sanitized launch, and the synchronization that orders them.

use super::{
    Actor, Causality, Kind, MbarrierPhase, Sanitizer, Shadow, ShadowAddress, State, Tolerant, Touch, Touches,
};
use crate::fault::{Nearest, Use};
use crate::launch_info::LaunchInfo;
use crate::memory::global::lock;
use crate::sanitize::Agent;
use crate::sanitize::causality::{Location, Strong};
use crate::sanitize::epoch::{Epoch, Thread};
use crate::sanitize::finding::Until;
use crate::sanitize::race::{Lanes, Now, Verdict};
use crate::sanitize::{Finding, FindingKind, TENSOR, Touched};
use softwarp_ir::{Fence, Memory, Order};
use softwarp_units::lanes::{LANES, lanes};

/// A race that was found.
struct Found {
    lane: usize,
    verdict: Verdict,
    before: Epoch,
    now: Epoch,
}

/// The memory that a finding is about.
#[derive(Clone, Copy)]
struct Spot {
    usage: Use,
    space: Memory,
    cta: [u32; 3],
    address: u64,
    bytes: u64,
}

/// The same access of several lanes of a warp, as causality knows it.
struct WarpAccess {
    /// The number of the CTA whose shared memory it is; none in global memory.
    owner: Option<u32>,
    /// Lane 0 of the warp.
    thread: Thread,
    /// The access of lane 0.
    epoch: Epoch,
    /// Bytes of an element.
    element: u64,
}

/// The result of comparing the accesses of several lanes with shadow memory.
#[derive(Default)]
struct Met {
    found: Vec<Found>,
    /// The last strong write before the access of each lane.
    strong_before: Vec<(usize, Epoch)>,
    /// Lanes whose weak writes replaced what a strong operation wrote.
    overwritten: u32,
}

impl WarpAccess {
    fn thread(&self, lane: usize) -> Thread {
        Thread { lane, ..self.thread }
    }

    /// Compares the accesses with earlier ones, and remembers them. None if a lane cannot be followed.
    fn compare(&self, shadow: &mut Shadow, causality: &Causality, touches: &Touches<'_>) -> Option<Met> {
        let &Touches { usage, order, bytes, addresses, .. } = touches;
        let mut met = Met::default();
        let weak = !order.is_strong() && usage != Use::Atomic;
        let mut rest = touches.lanes;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize % LANES;
            let alike = causality.alike(self.thread.cta, self.thread.warp, first) & rest | 1 << first;
            rest &= !alike;
            let known = causality.known(self.thread.cta, self.thread.warp, first)?;
            let epoch = self.epoch.of_lane(first);
            let mut now = Now::new(epoch, self.thread(first), known, causality, self.owner.is_some());
            let found = &mut met.found;
            let mut note = |lane: usize, verdict, before: Epoch| {
                // Of several lanes that read the same, one that did not write it.
                let is_other = |&other: &usize| !before.same_thread(&epoch.of_lane(other));
                let same = lanes(touches.lanes).filter(|&other| addresses[other] == addresses[lane]);
                let lane = same.filter(is_other).find(|&other| other >= lane).unwrap_or(lane);
                found.push(Found { lane, verdict, before, now: epoch.of_lane(lane) });
            };
            if weak {
                let side_by_side = touches.span.side_by_side;
                let those = Lanes { mask: alike, addresses, bytes, side_by_side, words: None };
                met.overwritten |= match touches.kind {
                    Kind::Store(words) => {
                        shadow.touch_lanes::<true>(Lanes { words, ..those }, &mut now, note)
                    }
                    _ => shadow.touch_lanes::<false>(those, &mut now, note),
                };
                continue;
            }
            for lane in lanes(alike) {
                (now.epoch, now.thread.lane) = (epoch.of_lane(lane), lane);
                let (race, strong) = shadow.touch(addresses[lane], bytes, &now, None);
                if let Some((verdict, before)) = race {
                    note(lane, verdict, before);
                }
                met.strong_before.extend(strong.and_then(Epoch::some).map(|write| (lane, write)));
            }
        }
        Some(met)
    }

    /// Records what the accesses order: strong ones observe and release, and weak writes end a release.
    fn order(&self, causality: &mut Causality, touches: &Touches<'_>, met: &Met) {
        let &Touches { order, addresses, .. } = touches;
        if !order.is_strong() {
            lanes(met.overwritten).for_each(|lane| causality.weak((self.owner, addresses[lane])));
            return;
        }
        let (reduction, reads, writes) = match touches.kind {
            Kind::Load => (false, true, false),
            Kind::Store(_) => (false, false, true),
            Kind::Atomic { reduces, .. } => (reduces, true, true),
        };
        let strong = Strong { order, reads, writes, reduction };
        for lane in lanes(touches.lanes) {
            let (thread, now) = (self.thread(lane), self.epoch.of_lane(lane));
            if reads && let Some((_, write)) = met.strong_before.iter().find(|(of, _)| *of == lane) {
                causality.observed(thread, write, &now);
            }
            for element in 0..touches.elements {
                let at = addresses[lane] + element * self.element;
                causality.strong(thread, (self.owner, at), &now, strong);
            }
        }
    }
}

impl Sanitizer<'_> {
    /// Lanes arrive at the cluster's barrier, in this phase of it.
    pub(crate) fn cluster_arrived(&self, launch: &LaunchInfo<'_>, actor: &Actor, relaxed: bool, phase: u32) {
        let mut state = lock(&self.state);
        if let Some(number) = state.causality.number(launch.linear(actor.cta) as u32) {
            state.causality.arrive_cluster(number, actor.warp as usize, actor.lanes, relaxed, phase);
        }
    }

    /// The cluster's barrier lets lanes of a warp go: this phase of it is complete.
    pub(crate) fn cluster_passed(
        &self,
        launch: &LaunchInfo<'_>,
        cta: [u32; 3],
        (warp, lanes): (u32, u32),
        phase: u32,
    ) {
        let mut state = lock(&self.state);
        if let Some(number) = state.causality.number(launch.linear(cta) as u32) {
            state.causality.pass_cluster(number, warp as usize, lanes, phase);
        }
    }

    /// Lanes have come to `bar.warp.sync` together.
    pub(crate) fn synced(&self, launch: &LaunchInfo<'_>, cta: [u32; 3], warp: u32, lanes: u32) {
        let mut state = lock(&self.state);
        if let Some(number) = state.causality.number(launch.linear(cta) as u32) {
            state.causality.sync_lanes(number, warp as usize, lanes);
        }
    }

    /// A fence.
    pub(crate) fn fence(&self, launch: &LaunchInfo<'_>, actor: &Actor, fence: Fence) {
        let mut state = lock(&self.state);
        if let Some(number) = state.causality.number(launch.linear(actor.cta) as u32) {
            state.causality.fence(number, actor.warp as usize, actor.lanes, fence);
        }
    }

    /// The same access of several lanes. What the memory is called is asked for only when something is found.
    pub(crate) fn touches(
        &self,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        touches: &Touches<'_>,
        named: &dyn Fn(usize) -> Option<Nearest>,
    ) {
        if let Some(watch) = self.watch {
            watch.touches(self.op(actor), actor, touches);
        }
        let mut state = lock(&self.state);
        let state = &mut *state;
        let &Touches { usage, space, cta, bytes, addresses, .. } = touches;
        let spot = |lane: usize| Spot { usage, space, cta, address: addresses[lane], bytes };
        // Most launches have no global memory that is not written.
        if self.wants.init && !(space == Memory::Global && self.unwritten.is_empty()) {
            let unwritten = self.uninitialised(state, launch, actor, touches);
            for lane in lanes(unwritten) {
                self.tell_unwritten(state, launch, actor, lane, spot(lane), named(lane));
            }
        }
        if !self.wants.race || !matches!(space, Memory::Shared | Memory::Global) {
            return;
        }
        let Some(access) = self.warp_access(state, launch, actor, touches) else { return };
        let State { causality, global, shared, .. } = state;
        let shadow = match access.owner {
            Some(owner) => shared.entry(owner).or_default(),
            None => global,
        };
        let shadow = shadow.charged_to(launch.account);
        let Some(seen) = access.compare(shadow, causality, touches) else { return };
        access.order(causality, touches, &seen);
        for found in seen.found {
            let lane = found.lane;
            self.tell(state, launch, actor, &found, spot(lane), &|| named(lane));
        }
    }

    /// The common part of the accesses of several lanes.
    fn warp_access(
        &self,
        state: &mut State,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        touches: &Touches<'_>,
    ) -> Option<WarpAccess> {
        let causality = &mut state.causality;
        let cta = causality.number(launch.linear(actor.cta) as u32)?;
        let owner = match touches.space {
            Memory::Shared => Some(causality.number(launch.linear(touches.cta) as u32)?),
            _ => None,
        };
        let tolerant = match touches.kind {
            Kind::Atomic { tolerant: Tolerant::Everywhere, .. } => true,
            Kind::Atomic { tolerant: Tolerant::InGlobal, .. } => owner.is_none(),
            _ => false,
        };
        let warp = actor.warp as usize;
        let (clock, element) = (causality.now(cta, warp), touches.bytes / touches.elements.max(1));
        let thread = Thread { cta, warp, lane: 0 };
        let (usage, order) = (touches.usage, touches.order);
        let epoch =
            Epoch::new((thread, causality.warps), (clock, self.op(actor)), usage, order, Agent::Thread);
        let mut epoch = epoch.of_size(element);
        if tolerant {
            epoch = epoch.of_tolerant();
        }
        Some(WarpAccess { owner, thread, epoch, element })
    }

    /// An access of one lane, or of an agent for it.
    pub(crate) fn touch(
        &self,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        touch: &Touch<'_>,
        named: &dyn Fn() -> Option<Nearest>,
    ) {
        if let Some(watch) = self.watch {
            watch.touch(self.op(actor), actor, touch);
        }
        let mut state = lock(&self.state);
        let state = &mut *state;
        let &Touch { usage, order, at, bytes, agent, lane, .. } = touch;
        let ShadowAddress { space, cta, address } = at;
        let spot = Spot { usage, space, cta, address, bytes };
        if self.wants.init && !spot.is_tensor() {
            self.check_written(state, launch, actor, (lane, spot), named);
        }
        if !self.wants.race || !matches!(space, Memory::Shared | Memory::Global) {
            return;
        }
        let warp = actor.warp as usize;
        let Some((number, location)) = self.place(state, launch, actor, at) else { return };
        let completes = touch.completes.and_then(|phase| {
            let (_, at) = self.place(state, launch, actor, phase.mbarrier())?;
            state.causality.phase(at, phase.parity)
        });
        let State { causality, global, shared, .. } = state;
        let shadow = match location.0 {
            Some(owner) => shared.entry(owner).or_default(),
            None => global,
        };
        let shadow = shadow.charged_to(launch.account);
        let clock = match agent {
            Agent::Thread | Agent::Lookup => causality.now(number, warp),
            // Without a number for its mbarrier, it cannot be followed.
            Agent::Counted | Agent::Store if completes.is_none() => return,
            Agent::Counted | Agent::Store => completes.map_or(0, |(_, phase)| phase),
            agent => causality.issued(number, warp, agent),
        };
        let Some(known) = causality.known(number, warp, lane) else { return };
        let thread = Thread { cta: number, warp, lane };
        let mut epoch = Epoch::new((thread, causality.warps), (clock, self.op(actor)), usage, order, agent);
        if let Some((mbarrier, _)) = completes {
            epoch = epoch.of_mbarrier(mbarrier);
        }
        let now = Now::new(epoch, thread, known, causality, location.0.is_some());
        let (race, strong) = shadow.touch(address, bytes, &now, touch.data);
        if order.is_strong() && agent == Agent::Thread {
            let (reads, writes) = (usage != Use::Write, usage != Use::Read);
            causality.strong(thread, location, &epoch, Strong { order, reads, writes, reduction: false });
        } else if strong.is_some() && usage != Use::Read {
            causality.weak(location);
        }
        if let Some((verdict, before)) = race {
            let found = Found { lane, verdict, before, now: epoch };
            self.tell(state, launch, actor, &found, spot, named);
        }
    }

    /// The number of the CTA that accesses, and how causality knows the place.
    fn place(
        &self,
        state: &mut State,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        ShadowAddress { space, cta, address }: ShadowAddress,
    ) -> Option<(u32, Location)> {
        let number = state.causality.number(launch.linear(actor.cta) as u32)?;
        let owner = match space {
            Memory::Shared => Some(state.causality.number(launch.linear(cta) as u32)?),
            _ => None,
        };
        Some((number, (owner, address)))
    }

    /// An event at an mbarrier. The mbarrier itself is also memory that is accessed.
    pub(crate) fn mbarrier(
        &self,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        (lane, order): (usize, Order),
        phase: MbarrierPhase,
        event: super::Event,
        named: &dyn Fn() -> Option<Nearest>,
    ) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let usage = if event == super::Event::Begin { Use::Write } else { Use::Atomic };
        let MbarrierPhase { cta, address, parity } = phase;
        let spot = Spot { usage, space: Memory::Shared, cta, address, bytes: 8 };
        if self.wants.init {
            self.check_written(state, launch, actor, (lane, spot), named);
        }
        if !self.wants.race {
            return;
        }
        let warp = actor.warp as usize;
        let Some((number, location)) = self.place(state, launch, actor, phase.mbarrier()) else { return };
        let State { causality, shared, .. } = state;
        let Some(shadow) = location.0.map(|owner| shared.entry(owner).or_default()) else { return };
        let shadow = shadow.charged_to(launch.account);
        let Some(known) = causality.known(number, warp, lane) else { return };
        let thread = Thread { cta: number, warp, lane };
        let clock = causality.now(number, warp);
        let mut epoch =
            Epoch::new((thread, causality.warps), (clock, self.op(actor)), usage, order, Agent::Thread);
        if event == super::Event::Begin {
            epoch = epoch.of_init();
        }
        let now = Now::new(epoch, thread, known, causality, true);
        let race = shadow.touch(address, 8, &now, None).0;
        causality.mbarrier(thread, location, parity, event);
        if let Some((verdict, before)) = race {
            let found = Found { lane, verdict, before, now: epoch };
            self.tell(state, launch, actor, &found, spot, named);
        }
    }

    /// Whether what an access reads was written, if it reads.
    fn check_written(
        &self,
        state: &mut State,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        (lane, spot): (usize, Spot),
        named: &dyn Fn() -> Option<Nearest>,
    ) {
        let Spot { usage, space, cta, address, bytes } = spot;
        let owner = launch.linear(if space == Memory::Shared { cta } else { actor.cta }) as u32;
        let Some(cta) = state.ctas.get_mut(&owner) else { return };
        if !self.initialised(cta, actor, usage, (space, lane, address, bytes)) {
            self.tell_unwritten(state, launch, actor, lane, spot, named());
        }
    }

    fn tell_unwritten(
        &self,
        state: &mut State,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        lane: usize,
        spot: Spot,
        nearest: Option<Nearest>,
    ) {
        let base = nearest.as_ref().map_or(0, |nearest| nearest.base);
        let key = (0, self.op(actor), u32::MAX, base);
        let (kind, kernel) = (FindingKind::Uninitialised, launch.name.into());
        let (at, touched) = (self.site_of(launch, actor, lane), spot.touched(launch, nearest));
        state.report(key, Finding { kind, kernel, at, other: None, touched, count: 1 });
    }

    /// Reports a race.
    fn tell(
        &self,
        state: &mut State,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        found: &Found,
        spot: Spot,
        named: &dyn Fn() -> Option<Nearest>,
    ) {
        let &Found { lane, verdict, before, now } = found;
        let of = before.thread(state.causality.warps);
        let (linear, cta) = (state.causality.linear(of.cta), now.thread(state.causality.warps).cta);
        let (first, second, across) = (before.usage(), spot.usage, of.cta != cta);
        let later = now.thread(state.causality.warps);
        let (number, kind) = match verdict {
            Verdict::Unordered | Verdict::Unwaited
                if spot.is_tensor() && state.causality.has_unacquired(later, &before) =>
            {
                (10, FindingKind::MissingTensorFence)
            }
            Verdict::Unordered => {
                let missing = state.causality.missing(&before, &now);
                (1, FindingKind::Race { first, second, across, missing })
            }
            Verdict::Unwaited => {
                // Only one of the two generations of tensor cores is in a GPU.
                let until = match (before.agent(), spot.is_tensor()) {
                    (Agent::Product, _) if launch.image.header.arch.sm() >= 100 => Until::Committed,
                    (Agent::Copy, true) => Until::TensorAccesses,
                    (agent, _) => agent.into(),
                };
                (6, FindingKind::Unwaited { first, second, until })
            }
            Verdict::Unfenced => (7, FindingKind::MissingProxyFence),
            Verdict::Stale => (8, FindingKind::StaleTexture),
        };
        let thread = of.warp as u32 * LANES as u32 + of.lane as u32;
        let at = launch.nth(linear.into());
        let other = Some(self.site(launch, before.op, at, thread, 1 << of.lane));
        let nearest = named();
        let base = nearest.as_ref().map_or(0, |nearest| nearest.base);
        // It is the same race whichever access came first in this run.
        let key = (number, now.op.min(before.op), now.op.max(before.op), base);
        let (at, touched) = (self.site_of(launch, actor, lane), spot.touched(launch, nearest));
        let finding = Finding { kind, kernel: launch.name.into(), at, other, touched, count: 1 };
        state.report(key, finding);
    }
}

impl Spot {
    /// Whether it is a cell of tensor memory.
    fn is_tensor(&self) -> bool {
        self.space == Memory::Shared && self.address >= TENSOR
    }

    /// As the program has it; cells of tensor memory have no addresses in memory.
    fn touched(self, launch: &LaunchInfo<'_>, nearest: Option<Nearest>) -> Option<Touched> {
        if self.is_tensor() {
            return None;
        }
        let shared = self.space == Memory::Shared;
        let start = || launch.window(self.cta) + launch.image.header.arch.properties().reserved_shared;
        let address = self.address + if shared { start() } else { 0 };
        Some(Touched { space: self.space, address, bytes: self.bytes as u32, nearest })
    }
}
