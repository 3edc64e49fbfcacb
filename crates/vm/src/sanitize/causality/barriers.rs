//! Synchronisation by the barriers of CTAs and clusters, and by `bar.warp.sync`.

use super::{Causality, join_option};
use softwarp_ir::Scope;
use softwarp_units::lanes::lanes;
use std::sync::Arc;

impl Causality {
    /// Lanes come to a barrier of the CTA.
    pub(in super::super) fn arrive(&mut self, cta: u32, warp: usize, mask: u32, barrier: u32) {
        let Some(handed) = self.handed(cta, warp, mask) else { return };
        if let Some(barrier) = self.cta_mut(cta).and_then(|cta| cta.barriers.get_mut(barrier as usize)) {
            join_option(barrier, &handed);
        }
        self.tick(cta, warp);
    }

    /// A barrier of the CTA lets lanes go: these of each warp.
    pub(in super::super) fn release(&mut self, cta: u32, barrier: u32, waiting: &[u32]) {
        let Some(state) = self.cta_mut(cta) else { return };
        let Some(brought) = state.barriers.get_mut(barrier as usize).and_then(Option::take) else { return };
        for (warp, &mask) in state.warps.iter_mut().zip(waiting).filter(|(_, mask)| **mask != 0) {
            // The lanes that waited have contributed their knowledge. The knowledge of exited lanes is not used.
            let mask = if warp.lanes & !warp.exited & !mask == 0 { u32::MAX } else { mask };
            warp.set(mask, Arc::clone(&brought));
        }
    }

    /// Lanes of a warp have come to `bar.warp.sync` together.
    pub(in super::super) fn sync_lanes(&mut self, cta: u32, warp: usize, mask: u32) {
        let Some(handed) = self.handed(cta, warp, mask) else { return };
        if let Some(warp) = self.warp_mut(cta, warp) {
            warp.set(mask, handed);
        }
        self.tick(cta, warp);
    }

    /// Lanes arrive at the barrier of the cluster, in this phase of it.
    pub(in super::super) fn arrive_cluster(
        &mut self,
        cta: u32,
        warp: usize,
        mask: u32,
        relaxed: bool,
        phase: u32,
    ) {
        let brought = if relaxed {
            let mut brought = None;
            for lane in lanes(mask) {
                let heads = self.fenced(cta, warp, lane);
                let wide = heads.iter().filter(|(scope, _)| *scope >= Scope::Cluster);
                wide.for_each(|(_, known)| join_option(&mut brought, known));
            }
            brought
        } else {
            self.handed(cta, warp, mask)
        };
        let slots = self.clusters.entry(self.cluster(cta)).or_default();
        let slot = &mut slots[phase as usize % 2];
        if slot.0 != phase {
            *slot = (phase, None);
        }
        if let Some(brought) = &brought {
            join_option(&mut slot.1, brought);
        }
        self.tick(cta, warp);
    }

    /// Lanes pass the barrier of the cluster: this phase of it is complete.
    pub(in super::super) fn pass_cluster(&mut self, cta: u32, warp: usize, mask: u32, phase: u32) {
        let slots = self.clusters.get(&self.cluster(cta));
        let slot = slots.map(|slots| &slots[phase as usize % 2]).filter(|slot| slot.0 == phase);
        if let Some(brought) = slot.and_then(|slot| slot.1.clone()) {
            self.acquire(cta, warp, mask, &brought);
        }
    }
}
