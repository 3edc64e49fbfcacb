//! Happens-before, lane by lane: the causality order of the PTX memory model (PTX ISA sections 8.8 and 8.9), computed
//! with vector clocks ([`super::clock`]) while the launch runs.
//!
//! Each lane has a [`Knowledge`] of what is ordered before what it does next. It grows by what synchronizes:
//!
//! - barriers of the CTA and of the cluster, among those who come to them; `bar.warp.sync`, among the lanes that come to
//!   it. Other operations among lanes order no memory.
//! - a release pattern with an acquire pattern on the same location, if the acquire observes the release: it reads what the
//!   release wrote, or what atomic operations made of it since. Observed and observer must be morally strong, and so must
//!   the first operation of the release and the last of the acquire: strong, with scopes that include each other.
//! - mbarriers: arrivals with the waits for their phase.
//!
//! `fence.sc` counts as `fence.acq_rel`: which of two such fences comes first is decided by the run, so that a program
//! which relies on it alone races in another run.

use super::channel::{Channel, Received};
use super::clock::{Knowledge, Plane, join, join_option};
use super::epoch::{Epoch, Thread};
use crate::fault::Use;
use softwarp_ir::{Fence, Order, Scope};
use softwarp_units::lanes::{LANES, lanes};
use std::collections::HashMap;
use std::sync::Arc;

mod agents;
mod barriers;
mod diagnosis;
mod mbarrier;

pub(super) use agents::{Agents, plane_of};
pub(crate) use mbarrier::Event;
use mbarrier::Mbarrier;

/// The most locations of messages. Strong writes to further locations send nothing, and races there are not reported.
const MOST_LOCATIONS: usize = 1 << 18;

/// After how many messages it is counted how many are still there.
const COUNTED: u32 = 1 << 18;

/// The most messages that are kept, by sender: beyond them, everything counts as ordered.
const MOST_MESSAGES: usize = 1 << 20;

/// How many strong reads of a lane are told apart that no acquire has followed.
const MOST_PENDING: usize = 4;

/// How many releases at a location are remembered with their threads.
const MOST_RELEASES: usize = 16;

/// A location: whose shared memory it is, none for global memory, and the address.
pub(super) type Location = (Option<u32>, u64);

/// The CTAs of a launch that have begun.
#[derive(Debug, Default)]
pub(super) struct Causality {
    /// Warps of a CTA.
    pub(super) warps: usize,
    /// In the order in which they began.
    ctas: Vec<Begun>,
    /// The numbers of those that run, by their place in the grid.
    running: HashMap<u32, u32>,
    /// The last of them that was asked for.
    last: Option<(u32, u32)>,
    messages: HashMap<Location, Messages>,
    /// Whether some of the messages may be in shared memory.
    in_shared: bool,
    /// How many were sent since they were counted.
    sent: u32,
    /// There were too many.
    pub(super) exhausted: bool,
    /// CTAs that have no number.
    pub(super) unnumbered: u64,
    /// Strong writes that sent nothing, since there were too many locations.
    pub(super) unsent: u64,
    mbarriers: HashMap<Location, Mbarrier>,
    /// The number of the next mbarrier.
    next_mbarrier: u32,
    /// The knowledge that was brought to the barrier of each cluster in a phase.
    clusters: HashMap<u32, [PhaseKnowledge; 2]>,
}

/// A phase of a cluster's barrier, and what was brought to it.
type PhaseKnowledge = (u32, Option<Arc<Knowledge>>);

/// A CTA that has begun.
#[derive(Debug)]
struct Begun {
    linear: u32,
    cluster: u32,
    /// While it runs.
    state: Option<Box<Cta>>,
}

#[derive(Debug)]
struct Cta {
    /// The clock of the last synchronisation.
    clock: u32,
    warps: Vec<Warp>,
    barriers: [Option<Arc<Knowledge>>; softwarp_isa::device::BARRIERS as usize],
}

/// A warp: what its lanes know.
#[derive(Debug)]
struct Warp {
    /// The lanes that have threads.
    lanes: u32,
    exited: u32,
    /// The clock of its accesses now.
    now: u32,
    /// Lanes that know the same. Every lane is in one of them.
    groups: Vec<(u32, Arc<Knowledge>)>,
    /// The state of its lanes for patterns with fences, from the first fence on.
    fences: Option<Box<[Lane; LANES]>>,
    agents: Option<Box<Agents>>,
}

/// The state of a lane for patterns of several operations.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// By scope: the knowledge at its last release fence, and its clock then.
    released: [Option<(Arc<Knowledge>, u32)>; 4],
    /// The knowledge that `fence.mbarrier_init` covers.
    init: Option<Arc<Knowledge>>,
    /// The messages that it has observed with strong reads and not acquired; without a location if of several.
    pending: Vec<(Option<Location>, Received)>,
    /// Strong writes of others that it read last, to say what is wrong; and whether it could observe them.
    observed: Vec<(Epoch, bool)>,
}

/// The messages at a location.
#[derive(Debug, Default)]
struct Messages {
    channel: Channel,
    /// The write that must be observed to receive.
    last: Option<Epoch>,
    /// Release operations by thread: a later strong write of the same thread continues them.
    releases: Vec<(Thread, Scope, Arc<Knowledge>)>,
}

/// The effect of a strong access at its location.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strong {
    pub(super) order: Order,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// `red`, which reads and yet is no part of an acquire pattern.
    pub(super) reduction: bool,
}

impl Causality {
    /// A CTA begins, with these lanes in its warps; its number.
    pub(super) fn start(&mut self, linear: u32, cluster: u32, warps: &[u32]) {
        self.warps = warps.len().max(1);
        let number = self.ctas.len();
        // CTAs beyond the largest number are not checked.
        if !Thread::can_be(number, self.warps) {
            self.unnumbered += 1;
            return;
        }
        let nothing = Arc::new(Knowledge::default());
        let warp = |&lanes: &u32| Warp {
            lanes,
            exited: 0,
            now: 1,
            groups: vec![(u32::MAX, Arc::clone(&nothing))],
            fences: None,
            agents: None,
        };
        let warps = warps.iter().map(warp).collect();
        let state = Some(Box::new(Cta { clock: 1, warps, barriers: Default::default() }));
        self.running.insert(linear, number as u32);
        self.last = None;
        self.ctas.push(Begun { linear, cluster, state });
    }

    /// A CTA has ended.
    pub(super) fn end(&mut self, linear: u32) {
        self.last = None;
        if let Some(number) = self.running.remove(&linear) {
            self.ctas[number as usize].state = None;
            let others = |location: &Location| location.0 != Some(number);
            if self.in_shared {
                self.messages.retain(|location, _| others(location));
                self.in_shared = self.messages.keys().any(|location| location.0.is_some());
            }
            if !self.mbarriers.is_empty() {
                self.mbarriers.retain(|location, _| others(location));
            }
        }
    }

    /// The number of a CTA that runs.
    #[inline]
    pub(super) fn number(&mut self, linear: u32) -> Option<u32> {
        if let Some((last, number)) = self.last
            && last == linear
        {
            return Some(number);
        }
        let number = *self.running.get(&linear)?;
        self.last = Some((linear, number));
        Some(number)
    }

    /// The index in the grid of a CTA, by its number.
    pub(super) fn linear(&self, number: u32) -> u32 {
        self.ctas.get(number as usize).map_or(0, |cta| cta.linear)
    }

    /// The cluster of a CTA.
    pub(super) fn cluster(&self, number: u32) -> u32 {
        self.ctas.get(number as usize).map_or(0, |cta| cta.cluster)
    }

    fn cta_mut(&mut self, number: u32) -> Option<&mut Cta> {
        self.ctas.get_mut(number as usize)?.state.as_deref_mut()
    }

    fn warp(&self, cta: u32, warp: usize) -> Option<&Warp> {
        self.ctas.get(cta as usize)?.state.as_ref()?.warps.get(warp)
    }

    fn warp_mut(&mut self, cta: u32, warp: usize) -> Option<&mut Warp> {
        self.cta_mut(cta)?.warps.get_mut(warp)
    }

    /// The clock of what a warp does now.
    #[inline]
    pub(super) fn now(&self, cta: u32, warp: usize) -> u32 {
        self.warp(cta, warp).map_or(0, |warp| warp.now)
    }

    /// The knowledge of a lane.
    #[inline]
    pub(super) fn known(&self, cta: u32, warp: usize, lane: usize) -> Option<&Arc<Knowledge>> {
        Some(self.warp(cta, warp)?.known(lane))
    }

    /// Lanes of a warp that know the same, as one of them does.
    #[inline]
    pub(super) fn alike(&self, cta: u32, warp: usize, lane: usize) -> u32 {
        let Some(warp) = self.warp(cta, warp) else { return u32::MAX };
        warp.groups.iter().find(|(mask, _)| mask >> lane & 1 == 1).map_or(u32::MAX, |(mask, _)| *mask)
    }

    /// Whether any thread that runs knows something.
    pub(super) fn any_thread(&self, mut knows: impl FnMut(&Knowledge) -> bool) -> bool {
        let running = self.running.values().filter_map(|&number| self.ctas[number as usize].state.as_ref());
        running.flat_map(|cta| &cta.warps).flat_map(|warp| &warp.groups).any(|(_, known)| knows(known))
    }

    /// Lanes of a warp exit.
    pub(super) fn exited(&mut self, cta: u32, warp: usize, mask: u32) {
        if let Some(warp) = self.warp_mut(cta, warp) {
            warp.exited |= mask;
        }
    }

    /// Advances the clock of a warp: later accesses are distinguished from earlier ones.
    fn tick(&mut self, cta: u32, warp: usize) {
        if let Some(cta) = self.cta_mut(cta) {
            cta.clock = cta.clock.saturating_add(1);
            let now = cta.clock;
            if let Some(warp) = cta.warps.get_mut(warp) {
                warp.now = now;
            }
        }
    }

    /// The knowledge that lanes of a warp release together.
    fn handed(&self, cta: u32, warp: usize, mask: u32) -> Option<Arc<Knowledge>> {
        let of = (cta, self.warps);
        let state = self.warp(cta, warp)?;
        let mut groups = state.groups.iter().filter(|(lanes, _)| lanes & mask != 0);
        let mut handed = Arc::clone(&groups.next()?.1);
        groups.for_each(|(_, known)| join(&mut handed, known));
        let into = Arc::make_mut(&mut handed);
        let whole = state.lanes & !mask == 0;
        into.learn(Plane::Thread, of, warp, (mask, whole), state.now);
        if let Some(agents) = &state.agents {
            agents.hand_on(into, of, warp, (mask, whole));
        }
        Some(handed)
    }

    /// Lanes of a warp acquire knowledge.
    fn acquire(&mut self, cta: u32, warp: usize, mask: u32, learned: &Arc<Knowledge>) {
        let Some(warp) = self.warp_mut(cta, warp) else { return };
        let more = |(lanes, known): &(u32, Arc<Knowledge>)| {
            if lanes & mask == 0 {
                return None;
            }
            let mut joined = Arc::clone(known);
            join(&mut joined, learned);
            (!Arc::ptr_eq(&joined, known)).then_some((lanes & mask, joined))
        };
        let changed: Vec<_> = warp.groups.iter().filter_map(more).collect();
        changed.into_iter().for_each(|(lanes, known)| warp.set(lanes, known));
    }

    /// A fence.
    pub(super) fn fence(&mut self, cta: u32, warp: usize, mask: u32, fence: Fence) {
        let scope = fence.order.scope;
        let of = (cta, self.warps);
        if fence.mbarrier_init {
            let now = self.now(cta, warp);
            for lane in lanes(mask) {
                let mut known = Knowledge::default();
                known.learn(Plane::Init, of, warp, (1 << lane, false), now);
                if let Some(lane) = self.lane_mut(cta, warp, lane) {
                    join_option(&mut lane.init, &Arc::new(known));
                }
            }
            return self.tick(cta, warp);
        }
        if fence.order.acquires() {
            for lane in lanes(mask) {
                let Some(state) = self.warp(cta, warp).and_then(|warp| warp.fences.as_ref()) else { break };
                let pending: Vec<_> =
                    state[lane].pending.iter().flat_map(|(_, it)| it.within(scope)).cloned().collect();
                pending.iter().for_each(|learned| self.acquire(cta, warp, 1 << lane, learned));
            }
        }
        if fence.order.releases() {
            for lane in lanes(mask) {
                let Some(warp) = self.warp_mut(cta, warp) else { return };
                let released = Some((Arc::clone(warp.known(lane)), warp.now));
                warp.lane(lane).released[scope as usize] = released;
            }
            self.tick(cta, warp);
        }
    }

    /// A proxy fence: all that lanes know, and their own accesses, are fenced. Lanes that know the same also share
    /// what each of them fenced. That hides no race, since accesses that are not ordered are found anyway.
    pub(super) fn proxy(&mut self, cta: u32, warp: usize, mask: u32, plane: Plane) {
        let of = (cta, self.warps);
        if let Some(state) = self.warp_mut(cta, warp) {
            let whole = state.lanes & !mask == 0;
            for (alike, known) in state.groups.clone().into_iter().filter(|(lanes, _)| lanes & mask != 0) {
                let mut known = known;
                let fenced = Arc::make_mut(&mut known);
                fenced.copy_plane(plane);
                fenced.learn(plane, of, warp, (mask, whole), state.now);
                state.set(alike & mask, known);
            }
        }
        self.tick(cta, warp);
    }

    fn lane_mut(&mut self, cta: u32, warp: usize, lane: usize) -> Option<&mut Lane> {
        Some(self.warp_mut(cta, warp)?.lane(lane))
    }

    /// The knowledge that the fences of a lane release with its next strong write, by scope.
    fn fenced(&self, cta: u32, warp: usize, lane: usize) -> Vec<(Scope, Arc<Knowledge>)> {
        let Some(state) = self.warp(cta, warp) else { return Vec::new() };
        let Some(fences) = &state.fences else { return Vec::new() };
        let scopes = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];
        let released = scopes.iter().zip(&fences[lane].released).filter_map(|(&scope, released)| {
            let (known, clock) = released.as_ref()?;
            let mut known = Arc::clone(known);
            let into = Arc::make_mut(&mut known);
            into.learn(Plane::Thread, (cta, self.warps), warp, (1 << lane, false), *clock);
            if let Some(agents) = &state.agents {
                agents.hand_on(into, (cta, self.warps), warp, (1 << lane, false));
            }
            Some((scope, known))
        });
        let init = fences[lane].init.iter().map(|known| (Scope::Cluster, Arc::clone(known)));
        released.chain(init).collect()
    }

    /// What a lane sends with a strong write, and whether some of it is of now.
    fn heads(&self, thread: Thread, order: Order) -> Vec<(Scope, Arc<Knowledge>)> {
        let Thread { cta, warp, lane } = thread;
        let mut heads = self.fenced(cta, warp, lane);
        if order.releases()
            && let Some(handed) = self.handed(cta, warp, 1 << lane)
        {
            heads.push((order.scope, handed));
        }
        heads
    }

    /// A lane receives: at once if it acquires, or with a later fence.
    fn receive(&mut self, thread: Thread, at: Location, order: Order, received: Received) {
        let Thread { cta, warp, lane } = thread;
        if received.is_empty() {
            return;
        }
        if order.acquires() {
            for learned in received.within(order.scope) {
                self.acquire(cta, warp, 1 << lane, learned);
            }
            // A fence with a wider scope may acquire the rest.
            if !received.is_more_than(order.scope) {
                return;
            }
        }
        let Some(lane) = self.lane_mut(cta, warp, lane) else { return };
        if let Some((_, pending)) = lane.pending.iter_mut().find(|(of, _)| *of == Some(at)) {
            return pending.merge(&received);
        }
        if lane.pending.len() >= MOST_PENDING {
            let (_, oldest) = lane.pending.remove(0);
            match lane.pending.first_mut() {
                Some((place, first)) => {
                    *place = None;
                    first.merge(&oldest);
                }
                None => lane.pending.push((None, oldest)),
            }
        }
        lane.pending.push((Some(at), received));
    }

    /// A lane accesses a location with a strong operation: `now`, which is the access itself.
    pub(super) fn strong(&mut self, thread: Thread, at: Location, now: &Epoch, strong: Strong) {
        let Thread { cta, warp, lane } = thread;
        let Strong { order, reads, writes, reduction } = strong;
        let place = (cta, self.cluster(cta));
        let here = if self.messages.is_empty() { None } else { self.messages.get(&at) };
        let observed =
            reads && here.is_some_and(|here| here.last.is_none_or(|last| self.morally_strong(&last, now)));
        if observed && !reduction {
            let received = here.map(|here| here.channel.receive(place)).unwrap_or_default();
            // Code that counts CTAs has a fence before the atomic operation and none behind it.
            if writes && let Some(scope) = self.counts_behind_fence(thread, now) {
                for learned in received.within(scope) {
                    self.acquire(cta, warp, 1 << lane, learned);
                }
            }
            self.receive(thread, at, order, received);
        }
        if reads && order.acquires() && !reduction {
            // An earlier strong read of the same location is acquired, too.
            let fences = self.warp(cta, warp).and_then(|warp| warp.fences.as_ref());
            let earlier = fences.and_then(|fences| fences[lane].pending.iter().find(|it| it.0 == Some(at)));
            let earlier: Vec<_> =
                earlier.iter().flat_map(|(_, it)| it.within(order.scope)).cloned().collect();
            earlier.iter().for_each(|learned| self.acquire(cta, warp, 1 << lane, learned));
        }
        if !writes {
            return;
        }
        let mut heads = self.heads(thread, order);
        let known = self.messages.contains_key(&at);
        if !known && (heads.is_empty() || self.messages.len() >= MOST_LOCATIONS) {
            self.unsent += u64::from(!heads.is_empty());
            return;
        }
        self.in_shared |= at.0.is_some();
        let here = self.messages.entry(at).or_default();
        if order.releases() {
            if let Some((_, head)) = heads.last() {
                here.releases.retain(|(of, scope, _)| (*of, *scope) != (thread, order.scope));
                if here.releases.len() >= MOST_RELEASES {
                    here.releases.remove(0);
                }
                here.releases.push((thread, order.scope, Arc::clone(head)));
            }
        } else {
            let own = here.releases.iter().filter(|(of, ..)| *of == thread);
            heads.extend(own.map(|(_, scope, known)| (*scope, Arc::clone(known))));
        }
        if !observed {
            here.channel = Channel::default();
        }
        for (scope, head) in &heads {
            here.channel.send(place, *scope, head);
            self.sent += 1;
        }
        here.last = Some(*now);
        if here.channel.is_empty() && here.releases.is_empty() {
            self.messages.remove(&at);
        }
        if self.sent >= COUNTED {
            self.sent = 0;
            let kept: usize = self.messages.values().map(|here| here.channel.len()).sum();
            self.exhausted |= kept > MOST_MESSAGES;
        }
        if order.releases() {
            self.tick(cta, warp);
        }
    }

    /// The scope of the last fence for the device that a lane executed, if an access is an atomic operation that may count
    /// CTAs.
    fn counts_behind_fence(&self, thread: Thread, now: &Epoch) -> Option<Scope> {
        let fences = self.warp(thread.cta, thread.warp)?.fences.as_ref()?;
        let released = &fences[thread.lane].released;
        let wide = [Scope::Gpu, Scope::Sys].into_iter().find(|&scope| released[scope as usize].is_some());
        wide.filter(|_| now.usage() == Use::Atomic && !now.is_tolerant())
    }

    /// A weak write: a read of its value observes no release.
    pub(super) fn weak(&mut self, at: Location) {
        if !self.messages.is_empty()
            && let Some(here) = self.messages.get_mut(&at)
        {
            here.channel = Channel::default();
            here.last = None;
        }
    }

    /// Whether two strong accesses have scopes that include each other, and overlap completely.
    pub(super) fn morally_strong(&self, one: &Epoch, other: &Epoch) -> bool {
        let includes = |scope: Scope, from: u32, to: u32| match scope {
            Scope::Cta => from == to,
            Scope::Cluster => from == to || self.cluster(from) == self.cluster(to),
            Scope::Gpu | Scope::Sys => true,
        };
        let [from, to] = [one, other].map(|epoch| epoch.thread(self.warps).cta);
        match (one.strong(), other.strong()) {
            (Some(mine), Some(theirs)) => {
                includes(mine, from, to) && includes(theirs, to, from) && !one.differs_in_size(other)
            }
            _ => false,
        }
    }
}

impl Warp {
    #[inline]
    fn known(&self, lane: usize) -> &Arc<Knowledge> {
        let group = self.groups.iter().find(|(mask, _)| mask >> lane & 1 == 1);
        // Every lane is in one of them.
        &group.unwrap_or(&self.groups[0]).1
    }

    /// Lanes know this from now on.
    fn set(&mut self, mask: u32, known: Arc<Knowledge>) {
        if mask == u32::MAX {
            self.groups.clear();
            self.groups.push((mask, known));
            return;
        }
        self.groups.iter_mut().for_each(|(lanes, _)| *lanes &= !mask);
        match self.groups.iter_mut().find(|(_, other)| Arc::ptr_eq(other, &known)) {
            Some((lanes, _)) => *lanes |= mask,
            None => self.groups.push((mask, known)),
        }
        self.groups.retain(|(lanes, _)| *lanes != 0);
    }

    fn lane(&mut self, lane: usize) -> &mut Lane {
        &mut self.fences.get_or_insert_with(Box::default)[lane % LANES]
    }
}
