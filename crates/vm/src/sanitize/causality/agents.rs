//! Agents, which perform asynchronous operations on behalf of the lanes of a warp (PTX ISA section 8.9.1.1).
//!
//! An agent's clock counts the operations that the warp has issued to it. Each lane commits its operations to groups.
//! A lane that waits for its groups knows that the operations in them are complete, and releases that with the rest of
//! its knowledge.

use super::super::Agent;
use super::super::clock::{Knowledge, Plane};
use super::{Causality, Thread};
use softwarp_ir::group::Queue;
use softwarp_units::lanes::{LANES, lanes};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most groups of a warp that are remembered.
const MOST_GROUPS: usize = 256;

/// Warps that multiply together.
const WARPGROUP: usize = 4;

/// The planes that lanes wait for in groups of their own.
const OWN: [Plane; 3] = [Plane::Copy, Plane::Source, Plane::Target];

/// The agents of a warp.
#[derive(Debug, Default)]
pub(in super::super) struct Agents {
    /// The number of operations issued, by queue.
    issued: [u32; 3],
    /// By plane of [`OWN`] and lane: how many operations the lane knows to be complete.
    complete: [[u32; LANES]; OWN.len()],
    /// By queue: how many operations had been issued when lanes committed a group, and the lanes.
    groups: [VecDeque<(u32, u32)>; 3],
}

fn queue_of(agent: Agent) -> Queue {
    match agent {
        Agent::Copy => Queue::Copies,
        Agent::Product => Queue::Products,
        _ => Queue::Bulk,
    }
}

impl Agents {
    /// Lanes of a warp, all or not, hand on what they have waited for.
    pub(super) fn hand_on(
        &self,
        into: &mut Knowledge,
        of: (u32, usize),
        warp: usize,
        (mask, whole): (u32, bool),
    ) {
        for (plane, complete) in OWN.into_iter().zip(&self.complete) {
            let first = complete[mask.trailing_zeros() as usize % LANES];
            if lanes(mask).all(|lane| complete[lane] == first) {
                if first != 0 {
                    into.learn(plane, of, warp, (mask, whole), first);
                }
            } else {
                lanes(mask).for_each(|lane| into.learn(plane, of, warp, (1 << lane, false), complete[lane]));
            }
        }
    }
}

impl Causality {
    fn agents(&mut self, cta: u32, warp: usize) -> Option<&mut Agents> {
        Some(self.warp_mut(cta, warp)?.agents.get_or_insert_with(Box::default))
    }

    /// A warp gives something to an agent; how much that is now.
    pub(in super::super) fn issue(&mut self, cta: u32, warp: usize, agent: Agent) {
        if let Some(agents) = self.agents(cta, warp) {
            let issued = &mut agents.issued[queue_of(agent) as usize];
            *issued = issued.saturating_add(1);
        }
    }

    /// Lanes order what they gave to the tensor cores before what is given to them later.
    pub(in super::super) fn order_products(&mut self, cta: u32, warp: usize, mask: u32) {
        let (issued, of) = (self.issued(cta, warp, Agent::Product), (cta, self.warps));
        if issued != 0 {
            let mut known = Knowledge::default();
            known.learn(Plane::Pipelined, of, warp, (mask, mask == u32::MAX), issued);
            self.acquire(cta, warp, mask, &Arc::new(known));
        }
    }

    /// The number of operations that were issued to an agent.
    pub(in super::super) fn issued(&self, cta: u32, warp: usize, agent: Agent) -> u32 {
        let agents = self.warp(cta, warp).and_then(|warp| warp.agents.as_ref());
        agents.map_or(0, |agents| agents.issued[queue_of(agent) as usize])
    }

    /// Whether a lane has waited for what it gave to an agent.
    pub(in super::super) fn has_waited(&self, thread: Thread, agent: Agent, issued: u32) -> bool {
        let agents = self.warp(thread.cta, thread.warp).and_then(|warp| warp.agents.as_ref());
        let plane = plane_of(agent).and_then(|plane| OWN.iter().position(|&own| own == plane));
        agents.zip(plane).is_some_and(|(agents, plane)| agents.complete[plane][thread.lane] >= issued)
    }

    /// The operations that lanes issued since the last commit become a group of each lane.
    pub(in super::super) fn commit(&mut self, cta: u32, warp: usize, mask: u32, queue: Queue) {
        let Some(agents) = self.agents(cta, warp) else { return };
        let issued = agents.issued[queue as usize];
        let groups = &mut agents.groups[queue as usize];
        groups.push_back((issued, mask));
        if groups.len() > MOST_GROUPS {
            groups.pop_front();
        }
    }

    /// Lanes wait for their groups but the last ones; for what they read only, or also for what is in no group.
    pub(in super::super) fn wait(
        &mut self,
        (cta, warp, mask): (u32, usize, u32),
        (queue, pending): (Queue, u32),
        reads: bool,
        all: bool,
    ) {
        let of = (cta, self.warps);
        let Some(agents) = self.agents(cta, warp) else { return };
        let issued = agents.issued[queue as usize];
        let complete: [u32; LANES] = std::array::from_fn(|lane| {
            let mut groups = agents.groups[queue as usize].iter().rev().filter(|it| it.1 >> lane & 1 == 1);
            let group = groups.nth(pending as usize).map_or(0, |group| group.0);
            if all { issued } else { group }
        });
        let planes = match queue {
            Queue::Copies => &OWN[..1],
            Queue::Bulk if reads => &OWN[1..2],
            Queue::Bulk => &OWN[1..],
            Queue::Products => {
                // A product of four warps is complete when it is for all of them, and they issue the same ones.
                let first = warp / WARPGROUP * WARPGROUP;
                let mut known = Knowledge::default();
                let clock = lanes(mask).map(|lane| complete[lane]).max().unwrap_or(0);
                for other in (first..first + WARPGROUP).filter(|&other| other < of.1) {
                    known.learn(Plane::Product, of, other, (u32::MAX, true), clock);
                }
                return self.acquire(cta, warp, mask, &Arc::new(known));
            }
        };
        for (plane, own) in OWN.iter().zip(&mut agents.complete).filter(|(plane, _)| planes.contains(plane)) {
            debug_assert!(OWN.contains(plane));
            lanes(mask).for_each(|lane| own[lane] = own[lane].max(complete[lane]));
        }
    }
}

/// The plane that says what an agent has done.
pub(in super::super) fn plane_of(agent: Agent) -> Option<Plane> {
    Some(match agent {
        Agent::Thread | Agent::Lookup => Plane::Thread,
        Agent::Copy => Plane::Copy,
        Agent::Source => Plane::Source,
        Agent::Target => Plane::Target,
        Agent::Product => Plane::Product,
        Agent::Counted | Agent::Store => return None,
    })
}
