//! What is missing between two accesses that race.

use super::super::Missing;
use super::super::channel::Received;
use super::super::clock::{Knowledge, Plane};
use super::super::epoch::Epoch;
use super::{Causality, Lane, Thread, plane_of};
use softwarp_ir::Scope;

/// How many strong writes that a lane has read are remembered.
const MOST_OBSERVED: usize = 8;

impl Causality {
    /// Whether a thread has received that an earlier access is done, by a wait that orders nothing, and has not acquired
    /// it.
    pub(in super::super) fn has_unacquired(&self, later: Thread, before: &Epoch) -> bool {
        let of = before.thread(self.warps);
        let Some(plane) = plane_of(before.agent()) else { return false };
        let knows = |known: &Knowledge| known.knows(plane, of.cta, of.warp, of.lane, before.clock);
        let lanes = self.warp(later.cta, later.warp).and_then(|warp| warp.fences.as_ref());
        let pending = lanes.and_then(|lanes| lanes.get(later.lane)).map(|lane| &lane.pending);
        pending.is_some_and(|all| all.iter().any(|(_, it)| it.within(Scope::Sys).any(|known| knows(known))))
    }

    /// A lane reads what a strong write wrote.
    pub(in super::super) fn observed(&mut self, thread: Thread, write: &Epoch, read: &Epoch) {
        if write.same_thread(read) {
            return;
        }
        let strong = self.morally_strong(write, read);
        let Some(lane) = self.lane_mut(thread.cta, thread.warp, thread.lane) else { return };
        lane.observed.retain(|(of, _)| !of.same_thread(write));
        if lane.observed.len() >= MOST_OBSERVED {
            lane.observed.remove(0);
        }
        lane.observed.push((*write, strong));
    }

    /// The synchronisation that is missing between two accesses that race.
    pub(in super::super) fn missing(&self, before: &Epoch, now: &Epoch) -> Missing {
        let [earlier, later] = [before, now].map(|epoch| epoch.thread(self.warps));
        if before.strong().is_some() && now.strong().is_some() {
            return Missing::AccessScope;
        }
        let knows = |known: &Knowledge| {
            known.knows(Plane::Thread, earlier.cta, earlier.warp, earlier.lane, before.clock)
        };
        let Some(cta) = self.ctas.get(later.cta as usize).and_then(|cta| cta.state.as_ref()) else {
            return Missing::Everything;
        };
        let groups = |at: usize| cta.warps[at].groups.iter();
        let own_warp = earlier.cta == later.cta && earlier.warp == later.warp;
        let others = (0..cta.warps.len()).filter(|&at| !(earlier.cta == later.cta && at == earlier.warp));
        if before.is_own() && others.flat_map(groups).any(|(_, known)| knows(known)) {
            return Missing::HandOn;
        }
        let lanes =
            || cta.warps.iter().filter_map(|warp| warp.fences.as_ref()).flat_map(|lanes| lanes.iter());
        let pending = |lane: &Lane| {
            let received = |(_, it): &(_, Received)| it.within(Scope::Sys).any(|known| knows(known));
            lane.pending.iter().any(received)
        };
        if lanes().any(pending) {
            return Missing::Acquire;
        }
        // A strong write of the earlier thread's CTA behind the earlier access, that this CTA has read.
        let behind = |write: &Epoch| {
            let thread = write.thread(self.warps);
            thread.cta == earlier.cta && write.clock >= before.clock && thread != later
        };
        let mut observed = lanes().flat_map(|lane| &lane.observed).filter(|(write, _)| behind(write));
        match observed.next() {
            Some((_, true)) => Missing::Release,
            Some((_, false)) => Missing::Scope,
            None if own_warp => Missing::WarpBarrier,
            None => Missing::Everything,
        }
    }
}
