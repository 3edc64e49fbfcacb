//! Synchronisation by mbarriers (PTX ISA section 9.7.13.15).
//!
//! Arrivals of a phase are messages to the threads that wait for its end. Phases are numbered; what is asynchronous
//! and completes on an mbarrier is done when the phase is over in which it was issued.

use super::super::Agent;
use super::super::channel::Channel;
use super::super::clock::{Knowledge, Plane};
use super::super::epoch::MOST_MBARRIERS;
use super::agents::plane_of;
use super::{Causality, Location, Thread};
use softwarp_ir::{Order, Scope};
use std::sync::Arc;

/// An event at an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It is initialised, or invalidated.
    Begin,
    /// A thread arrives.
    Arrive(Order),
    /// The operations of an agent so far complete before the phase does.
    ArriveBehind(Agent),
    /// A thread waits there, and need wait no longer.
    Pass(Order),
    /// It is read or changed in any other way.
    Use,
}

/// The state of an mbarrier.
#[derive(Debug)]
pub(super) struct Mbarrier {
    number: u32,
    /// The parity of the phase that is not complete, and its number from 1 on.
    parity: u32,
    phase: u32,
    /// From the arrivals in it.
    current: Channel,
    /// From the arrivals in the phase before.
    complete: Channel,
}

impl Mbarrier {
    /// If the phase has ended since, its arrivals become known to threads that wait for it.
    fn roll(&mut self, parity: u32) {
        if self.parity != parity {
            self.parity = parity;
            self.phase = self.phase.saturating_add(1);
            self.complete.merge(std::mem::take(&mut self.current));
        }
    }
}

impl Causality {
    fn at(&mut self, at: Location, parity: u32) -> Option<&mut Mbarrier> {
        let number = self.mbarriers.len() as u32;
        if number >= MOST_MBARRIERS && !self.mbarriers.contains_key(&at) {
            return None;
        }
        let next = self.next_mbarrier;
        let fresh = || {
            let (current, complete) = Default::default();
            Mbarrier { number: next % MOST_MBARRIERS, parity, phase: 1, current, complete }
        };
        let entry = self.mbarriers.entry(at);
        if matches!(entry, std::collections::hash_map::Entry::Vacant(_)) {
            self.next_mbarrier = self.next_mbarrier.wrapping_add(1);
        }
        let here = entry.or_insert_with(fresh);
        here.roll(parity);
        Some(here)
    }

    /// The number of an mbarrier and of its phase that is not complete, whose parity this is.
    pub(in super::super) fn phase(&mut self, at: Location, parity: u32) -> Option<(u32, u32)> {
        self.at(at, parity).map(|here| (here.number, here.phase))
    }

    /// An event at an mbarrier whose phase has this parity, on behalf of a thread.
    pub(in super::super) fn mbarrier(&mut self, thread: Thread, at: Location, parity: u32, event: Event) {
        let Thread { cta, warp, lane } = thread;
        let place = (cta, self.cluster(cta));
        match event {
            Event::Begin => {
                if let Some(here) = self.mbarriers.get_mut(&at) {
                    // Accesses that complete there from now on belong to later phases.
                    (here.phase, here.parity) = (here.phase.saturating_add(1), 0);
                    (here.current, here.complete) = Default::default();
                }
            }
            Event::Use => {}
            Event::Arrive(order) => {
                let heads = self.heads(thread, order);
                let Some(here) = self.at(at, parity) else { return };
                for (scope, head) in &heads {
                    here.current.send(place, *scope, head);
                }
                if order.releases() {
                    self.tick(cta, warp);
                }
            }
            Event::ArriveBehind(agent) => {
                let issued = self.issued(cta, warp, agent);
                let of = (cta, self.warps);
                let Some(here) = self.at(at, parity) else { return };
                let mut known = Knowledge::default();
                let plane = plane_of(agent).unwrap_or(Plane::Copy);
                known.learn(plane, of, warp, (1 << lane, false), issued);
                here.current.send(place, Scope::Cluster, &Arc::new(known));
            }
            Event::Pass(order) => {
                let Some(here) = self.at(at, parity) else { return };
                let mut received = here.complete.receive(place);
                let mut known = Knowledge::default();
                known.learn_phase(here.number, here.phase - 1);
                received.learn(&Arc::new(known));
                self.receive(thread, at, order, received);
            }
        }
    }
}
