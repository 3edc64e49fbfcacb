//! Accesses to memory of a sanitized launch, and the synchronization that orders them.

use super::{Actor, Kind, Sanitizer, State, Tolerant, Touch, Touches};
use crate::fault::{Nearest, Use};
use crate::launch_info::LaunchInfo;
use crate::memory::global::lock;
use crate::sanitize::Agent;
use crate::sanitize::causality::{Location, Strong};
use crate::sanitize::epoch::{Epoch, Thread};
use crate::sanitize::race::{Lanes, Now, Verdict};
use crate::sanitize::{Finding, FindingKind, Touched};
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
        let mut state = lock(&self.state);
        let state = &mut *state;
        let &Touches { usage, order, space, cta, bytes, addresses, .. } = touches;
        // Most launches have no global memory that nobody has written.
        if self.wants.init && !(space == Memory::Global && self.unwritten.is_empty()) {
            let unwritten = self.uninitialised(state, launch, actor, touches);
            for lane in lanes(unwritten) {
                let spot = Spot { usage, space, cta, address: addresses[lane], bytes };
                self.tell_unwritten(state, launch, actor, lane, spot, named(lane));
            }
        }
        if !self.wants.race || !matches!(space, Memory::Shared | Memory::Global) {
            return;
        }
        let op = self.op(actor);
        let Some(number) = state.causality.number(launch.linear(actor.cta) as u32) else { return };
        let owner = match space {
            Memory::Shared => match state.causality.number(launch.linear(cta) as u32) {
                Some(owner) => Some(owner),
                None => return,
            },
            _ => None,
        };
        let State { causality, global, shared, .. } = state;
        let shadow = match owner {
            Some(owner) => shared.entry(owner).or_default(),
            None => global,
        };
        let shadow = shadow.charged_to(launch.account);
        let warp = actor.warp as usize;
        let (clock, warps) = (causality.now(number, warp), causality.warps);
        let tolerant = match touches.kind {
            Kind::Atomic { tolerant: Tolerant::Everywhere, .. } => true,
            Kind::Atomic { tolerant: Tolerant::InGlobal, .. } => owner.is_none(),
            _ => false,
        };
        let mut found: Vec<Found> = Vec::new();
        // The last strong write before the access of each lane.
        let mut strong_before: Vec<(usize, Epoch)> = Vec::new();
        let mut overwritten = 0;
        let weak = !order.is_strong() && usage != Use::Atomic;
        let mut rest = touches.lanes;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize % LANES;
            let alike = causality.alike(number, warp, first) & rest | 1 << first;
            rest &= !alike;
            let Some(known) = causality.known(number, warp, first) else { return };
            let thread = Thread { cta: number, warp, lane: first };
            let mut epoch = Epoch::new((thread, warps), (clock, op), usage, order, Agent::Thread);
            epoch = epoch.of_size(bytes / touches.elements.max(1));
            if tolerant {
                epoch = epoch.of_tolerant();
            }
            let mut now = Now::new(epoch, thread, known, causality, owner.is_some());
            let mut note = |lane: usize, verdict, before: Epoch| {
                // Of several lanes that read the same, one that is not who wrote it.
                let is_other = |&other: &usize| !before.same_thread(&epoch.of_lane(other));
                let same = lanes(touches.lanes).filter(|&other| addresses[other] == addresses[lane]);
                let lane = same.filter(is_other).find(|&other| other >= lane).unwrap_or(lane);
                found.push(Found { lane, verdict, before, now: epoch.of_lane(lane) });
            };
            if weak {
                let side_by_side = touches.span.side_by_side;
                let those = Lanes { mask: alike, addresses, bytes, side_by_side, words: None };
                overwritten |= match touches.kind {
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
                strong_before.extend(strong.and_then(Epoch::some).map(|write| (lane, write)));
            }
        }
        let thread = |lane| Thread { cta: number, warp, lane };
        if order.is_strong() {
            let (reduction, reads, writes) = match touches.kind {
                Kind::Load => (false, true, false),
                Kind::Store(_) => (false, false, true),
                Kind::Atomic { reduces, .. } => (reduces, true, true),
            };
            let strong = Strong { order, reads, writes, reduction };
            let now = Epoch::new((thread(0), warps), (clock, op), usage, order, Agent::Thread);
            let mut now = now.of_size(bytes / touches.elements.max(1));
            if tolerant {
                now = now.of_tolerant();
            }
            for lane in lanes(touches.lanes) {
                if reads && let Some((_, write)) = strong_before.iter().find(|(of, _)| *of == lane) {
                    causality.observed(thread(lane), write, &now.of_lane(lane));
                }
                for element in 0..touches.elements {
                    let at = addresses[lane] + element * (bytes / touches.elements.max(1));
                    causality.strong(thread(lane), (owner, at), &now.of_lane(lane), strong);
                }
            }
        } else {
            lanes(overwritten).for_each(|lane| causality.weak((owner, addresses[lane])));
        }
        for found in found {
            let lane = found.lane;
            let spot = Spot { usage, space, cta, address: addresses[lane], bytes };
            self.tell(state, launch, actor, &found, spot, &|| named(lane));
        }
    }

    /// An access of one lane, or of an agent for it.
    pub(crate) fn touch(
        &self,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        touch: &Touch<'_>,
        named: &dyn Fn() -> Option<Nearest>,
    ) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let &Touch { usage, order, space, cta, bytes, address, agent, lane, .. } = touch;
        let spot = Spot { usage, space, cta, address, bytes };
        if self.wants.init {
            self.check_written(state, launch, actor, (lane, spot), named);
        }
        if !self.wants.race || !matches!(space, Memory::Shared | Memory::Global) {
            return;
        }
        let warp = actor.warp as usize;
        let Some((number, location)) = self.place(state, launch, actor, (space, cta, address)) else {
            return;
        };
        let completes = touch.completes.and_then(|(cta, address, parity)| {
            let (_, at) = self.place(state, launch, actor, (Memory::Shared, cta, address))?;
            state.causality.phase(at, parity)
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
        (space, cta, address): (Memory, [u32; 3], u64),
    ) -> Option<(u32, Location)> {
        let number = state.causality.number(launch.linear(actor.cta) as u32)?;
        let owner = match space {
            Memory::Shared => Some(state.causality.number(launch.linear(cta) as u32)?),
            _ => None,
        };
        Some((number, (owner, address)))
    }

    /// Something happens at an mbarrier of a CTA whose phase has this parity. The mbarrier itself is memory, too.
    pub(crate) fn mbarrier(
        &self,
        launch: &LaunchInfo<'_>,
        actor: &Actor,
        (lane, order): (usize, Order),
        (owner, address, parity): ([u32; 3], u64, u32),
        event: super::Event,
        named: &dyn Fn() -> Option<Nearest>,
    ) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let usage = if event == super::Event::Begin { Use::Write } else { Use::Atomic };
        let spot = Spot { usage, space: Memory::Shared, cta: owner, address, bytes: 8 };
        if self.wants.init {
            self.check_written(state, launch, actor, (lane, spot), named);
        }
        if !self.wants.race {
            return;
        }
        let warp = actor.warp as usize;
        let place = (Memory::Shared, owner, address);
        let Some((number, location)) = self.place(state, launch, actor, place) else { return };
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
        let (number, kind) = match verdict {
            Verdict::Unordered => {
                let missing = state.causality.missing(&before, &now);
                (1, FindingKind::Race { first, second, across, missing })
            }
            Verdict::Unwaited => (6, FindingKind::Unwaited { first, second, until: before.agent().into() }),
            Verdict::Unfenced => (7, FindingKind::MissingProxyFence),
            Verdict::Stale => (8, FindingKind::StaleTexture),
        };
        let thread = of.warp as u32 * LANES as u32 + of.lane as u32;
        let at = launch.nth(linear.into());
        let other = Some(self.site(launch, before.op, at, thread, 1 << of.lane));
        let nearest = named();
        let base = nearest.as_ref().map_or(0, |nearest| nearest.base);
        // Whichever came first this time: it is the same race.
        let key = (number, now.op.min(before.op), now.op.max(before.op), base);
        let (at, touched) = (self.site_of(launch, actor, lane), spot.touched(launch, nearest));
        let finding = Finding { kind, kernel: launch.name.into(), at, other, touched, count: 1 };
        state.report(key, finding);
    }
}

impl Spot {
    /// As the program has it.
    fn touched(self, launch: &LaunchInfo<'_>, nearest: Option<Nearest>) -> Option<Touched> {
        let shared = self.space == Memory::Shared;
        let start = || launch.window(self.cta) + launch.image.header.arch.properties().reserved_shared;
        let address = self.address + if shared { start() } else { 0 };
        Some(Touched { space: self.space, address, bytes: self.bytes as u32, nearest })
    }
}
