//! What warps know of each other: the order of accesses in a CTA (PTX ISA chapter 8).
//!
//! Each warp has a clock, and knows the clocks of others up to which it is ordered behind them. Barriers hand these on;
//! so do fences to later fences, and atomic operations and other strong accesses to later ones at the same place,
//! whether there are fences or not. Lanes of a warp are ordered by anything that orders warps, and by operations among
//! lanes that name each other. That is more order than the memory model gives, never less: two accesses that are
//! unordered here are a race.
//!
//! **Asynchronous operations** are done by agents, which are like threads of their own: a warp has one for each way to
//! wait, whose clock counts what the warp has issued. Who waits for a group, or at an mbarrier, knows that what was
//! issued up to there is complete, and hands that on as it hands on its clock. An mbarrier gives what was known to those
//! who arrived in phases that are complete.
//!
//! **Proxies.** Besides the clocks of others, a warp knows up to which of them there was a proxy fence since.

use super::race::Record;
use crate::program::group::Queue;
use std::collections::{HashMap, VecDeque};

/// The most places of strong accesses that are told apart.
const MOST_PLACES: usize = 1 << 14;

/// The most groups that are remembered.
const MOST_GROUPS: usize = 256;

/// The barrier of the cluster, behind those of the CTA.
pub(super) const CLUSTER: u32 = crate::cta::BARRIERS;

/// Barriers of a CTA, and of its cluster.
const BARRIERS: usize = CLUSTER as usize + 1;

/// Warps that multiply together.
const WARPGROUP: usize = 4;

/// Who accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// The thread itself.
    Thread,
    /// `cp.async`
    Copy,
    /// A bulk copy in a group, where it reads.
    Source,
    /// A bulk copy in a group, where it writes.
    Target,
    /// A copy that completes on an mbarrier.
    Counted,
    /// `wgmma.mma_async`
    Product,
    /// The thread itself, by way of a texture: what it reads may be older than what is in memory.
    Lookup,
}

/// How many agents there are.
const AGENTS: usize = 6;

impl Agent {
    /// Whether it reads what threads wrote only behind a proxy fence.
    pub(super) fn has_own_proxy(self) -> bool {
        matches!(self, Agent::Source | Agent::Counted | Agent::Product)
    }
}

/// What happens at an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It is new, or no more.
    Begin,
    /// Threads arrive.
    Arrive,
    /// What an agent of the warp was given last completes there.
    Complete(Agent),
    /// Both.
    ArriveBehind(Agent),
    /// Threads wait there, and need wait no longer.
    Pass,
}

/// What is known of an mbarrier.
#[derive(Debug)]
struct Mbarrier {
    /// Of the phase that is not complete.
    parity: u32,
    /// What those knew who arrived in it.
    current: Vec<u32>,
    /// What those knew who arrived before.
    complete: Vec<u32>,
}

/// Which accesses of which warps are ordered. A list of clocks has one for each warp, then one for each of its agents
/// in turn, then what is fenced of each warp.
#[derive(Debug)]
pub(super) struct Clocks {
    warps: usize,
    /// Of each warp, what it knows of each.
    known: Vec<Vec<u32>>,
    /// What whoever executed a fence knew.
    fences: Vec<u32>,
    /// What was known to those who told other CTAs.
    told: Vec<u32>,
    /// What whoever did something strong at a place knew; where there are too many, some share.
    places: HashMap<u64, Vec<u32>>,
    mbarriers: HashMap<u64, Mbarrier>,
    barriers: [Vec<u32>; BARRIERS],
    /// How much each agent of each warp was given.
    issued: Vec<[u32; AGENTS]>,
    /// Of each warp and queue, how much had been given to its agent when groups were committed.
    groups: Vec<[VecDeque<u32>; 3]>,
}

impl Clocks {
    pub(super) fn new(warps: usize) -> Clocks {
        let nothing = vec![0; warps * (AGENTS + 1)];
        let own = |warp: usize| {
            let mut known = nothing.clone();
            known[warp] = 1;
            known
        };
        Clocks {
            warps,
            known: (0..warps).map(own).collect(),
            fences: nothing.clone(),
            told: nothing.clone(),
            places: HashMap::new(),
            mbarriers: HashMap::new(),
            barriers: std::array::from_fn(|_| nothing.clone()),
            issued: vec![[0; AGENTS]; warps],
            groups: vec![Default::default(); warps],
        }
    }

    /// Where a list has the clock of a warp's agent.
    fn place_of(&self, agent: Agent, warp: usize) -> usize {
        agent as usize * self.warps + warp
    }

    /// The clock of a warp, or of one of its agents.
    pub(super) fn now(&self, warp: usize, agent: Agent) -> u32 {
        match agent {
            Agent::Thread | Agent::Lookup => self.known[warp][warp],
            agent => self.issued[warp][agent as usize],
        }
    }

    /// What lanes did before is ordered before what others of their warp do from now on.
    pub(super) fn tick(&mut self, warp: usize) {
        self.known[warp][warp] = self.known[warp][warp].saturating_add(1);
    }

    /// A fence: ordered behind every fence before it.
    pub(super) fn fence(&mut self, warp: usize) {
        join(&mut self.fences, &self.known[warp]);
        join(&mut self.known[warp], &self.fences);
        self.tick(warp);
    }

    /// A proxy fence: all that is known is fenced.
    pub(super) fn proxy(&mut self, warp: usize) {
        let (known, fenced) = self.known[warp].split_at_mut(self.warps * AGENTS);
        join(fenced, &known[..self.warps]);
        self.tick(warp);
    }

    /// Something strong at a place: ordered behind everything strong there before it.
    pub(super) fn strong(&mut self, warp: usize, place: u64) {
        let length = self.fences.len();
        let place = if self.places.len() < MOST_PLACES { place } else { place % MOST_PLACES as u64 };
        let here = self.places.entry(place).or_insert_with(|| vec![0; length]);
        join(here, &self.known[warp]);
        join(&mut self.known[warp], here);
    }

    /// Lanes of a warp come to a barrier.
    pub(super) fn arrive(&mut self, warp: usize, barrier: u32) {
        if let Some(barrier) = self.barriers.get_mut(barrier as usize) {
            join(barrier, &self.known[warp]);
        }
        self.tick(warp);
    }

    /// A barrier lets warps go.
    pub(super) fn release(&mut self, barrier: u32, warps: impl Iterator<Item = usize>) {
        let Some(barrier) = self.barriers.get_mut(barrier as usize) else { return };
        for warp in warps {
            if let Some(known) = self.known.get_mut(warp) {
                join(known, barrier);
            }
        }
        barrier.fill(0);
    }

    /// A warp passes a barrier that it may have arrived at long before. Others may have arrived again since: that
    /// is more order than there is, never less.
    pub(super) fn pass(&mut self, warp: usize, barrier: u32) {
        if let (Some(known), Some(barrier)) = (self.known.get_mut(warp), self.barriers.get(barrier as usize))
        {
            join(known, barrier);
        }
        self.tick(warp);
    }

    /// A warp gives something to its agents.
    pub(super) fn issue(&mut self, warp: usize, agents: &[Agent]) {
        for &agent in agents {
            let issued = &mut self.issued[warp][agent as usize];
            *issued = issued.saturating_add(1);
        }
    }

    /// What was issued since the last time becomes a group.
    pub(super) fn commit(&mut self, warp: usize, queue: Queue) {
        let issued = self.issued[warp][agents(queue)[0] as usize];
        let groups = &mut self.groups[warp][queue as usize];
        groups.push_back(issued);
        if groups.len() > MOST_GROUPS {
            groups.pop_front();
        }
    }

    /// A warp waits for its groups but the last ones; for what they read only, or also for what is in no group.
    pub(super) fn wait(&mut self, warp: usize, queue: Queue, pending: u32, reads: bool, all: bool) {
        let groups = &self.groups[warp][queue as usize];
        let group = groups.len().checked_sub(1 + pending as usize).and_then(|index| groups.get(index));
        let issued = self.issued[warp][agents(queue)[0] as usize];
        let Some(complete) = (if all { Some(issued) } else { group.copied() }) else { return };
        let agents = if reads { &agents(queue)[..1] } else { agents(queue) };
        // A product of four warps is complete when it is for all of them, and they issue the same ones.
        let (first, count) = match queue {
            Queue::Products => (warp / WARPGROUP * WARPGROUP, WARPGROUP),
            _ => (warp, 1),
        };
        for &agent in agents {
            for other in (first..first + count).filter(|&other| other < self.warps) {
                let place = self.place_of(agent, other);
                let known = &mut self.known[warp][place];
                *known = (*known).max(complete);
            }
        }
    }

    /// Something happens at an mbarrier whose phase has this parity, on behalf of a warp.
    pub(super) fn mbarrier(&mut self, warp: usize, place: u64, parity: u32, event: Event) {
        if event == Event::Begin {
            self.mbarriers.remove(&place);
            return self.tick(warp);
        }
        let nothing = || vec![0; self.fences.len()];
        if self.mbarriers.len() >= MOST_PLACES && !self.mbarriers.contains_key(&place) {
            // There are too many to tell them apart: whatever was issued counts as complete.
            for agent in [Agent::Copy, Agent::Source, Agent::Target, Agent::Counted, Agent::Product] {
                for other in 0..self.warps {
                    let place = self.place_of(agent, other);
                    self.known[warp][place] = self.issued[other][agent as usize];
                }
            }
            return self.fence(warp);
        }
        let fresh = || Mbarrier { parity, current: nothing(), complete: nothing() };
        let here = self.mbarriers.entry(place).or_insert_with(fresh);
        here.roll(parity);
        if matches!(event, Event::Arrive | Event::ArriveBehind(_)) {
            join(&mut here.current, &self.known[warp]);
        }
        if let Event::Complete(agent) | Event::ArriveBehind(agent) = event {
            let clock = &mut here.current[agent as usize * self.warps + warp];
            *clock = (*clock).max(self.issued[warp][agent as usize]);
        }
        if event == Event::Pass {
            join(&mut self.known[warp], &here.complete);
        }
        self.tick(warp);
    }

    /// A warp tells other CTAs something.
    pub(super) fn tell(&mut self, warp: usize) {
        join(&mut self.told, &self.known[warp]);
        self.tick(warp);
    }

    /// Another CTA arrives at an mbarrier of this one. It may know all that it was told.
    pub(super) fn arrive_from_afar(&mut self, place: u64, parity: u32) {
        let nothing = || vec![0; self.told.len()];
        if self.mbarriers.len() < MOST_PLACES || self.mbarriers.contains_key(&place) {
            let fresh = || Mbarrier { parity, current: nothing(), complete: nothing() };
            let here = self.mbarriers.entry(place).or_insert_with(fresh);
            here.roll(parity);
            join(&mut here.current, &self.told);
        }
    }

    /// Whether what a warp did at a time of its clock, or its agent, is ordered before what another thread of a warp
    /// does now.
    pub(super) fn ordered(&self, before: &Record, now: &Record) -> bool {
        let [before_warp, warp] = [before, now].map(|record| usize::from(record.thread) / 32);
        let Some(known) = self.known.get(warp) else { return true };
        let agent = if before.agent == Agent::Lookup { Agent::Thread } else { before.agent };
        if agent == Agent::Thread && before_warp == warp {
            return known[warp] > before.clock;
        }
        known.get(self.place_of(agent, before_warp)).is_none_or(|&known| known >= before.clock)
    }

    /// Whether anybody has waited for what an agent did.
    pub(super) fn waited(&self, before: &Record) -> bool {
        let place = self.place_of(before.agent, usize::from(before.thread) / 32);
        self.known.iter().any(|known| known.get(place).is_some_and(|&known| known >= before.clock))
    }

    /// Whether there is a proxy fence between what a thread did and what is done now.
    pub(super) fn fenced(&self, before: &Record, now: &Record) -> bool {
        let [before_warp, warp] = [before, now].map(|record| usize::from(record.thread) / 32);
        let Some(known) = self.known.get(warp) else { return true };
        known.get(AGENTS * self.warps + before_warp).is_none_or(|&fenced| fenced >= before.clock)
    }
}

impl Mbarrier {
    /// If the phase has ended since, all who arrived in it are known to who waits.
    fn roll(&mut self, parity: u32) {
        if self.parity != parity {
            self.parity = parity;
            join(&mut self.complete, &self.current);
            self.current.fill(0);
        }
    }
}

/// The agents that a queue is for: what reads first.
fn agents(queue: Queue) -> &'static [Agent] {
    match queue {
        Queue::Copies => &[Agent::Copy],
        Queue::Bulk => &[Agent::Source, Agent::Target],
        Queue::Products => &[Agent::Product],
    }
}

fn join(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}
