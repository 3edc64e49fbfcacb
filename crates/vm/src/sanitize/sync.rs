//! Who comes to a barrier, and who should have (PTX ISA section 9.7.13.1).
//!
//! A barrier is judged when it lets its lanes go, so that the order in which lanes come does not matter.

use super::FindingKind;
use super::state::Actor;
use crate::lanes::LANES;

/// An operation, a thread of the CTA, and lanes of its warp.
type At = (u32, u32, u32);

/// Lanes that came to a barrier.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    barrier: u32,
    warp: u32,
    lanes: u32,
    op: u32,
    /// All of the warp must come.
    aligned: bool,
    /// All of the CTA must come.
    all: bool,
}

impl Arrival {
    fn at(&self) -> At {
        (self.op, self.warp * LANES as u32 + self.lanes.trailing_zeros() % LANES as u32, self.lanes)
    }
}

/// Something that is wrong with a barrier.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) kind: FindingKind,
    pub(super) at: At,
    pub(super) other: Option<At>,
}

/// Those who came to the barriers of a CTA that have not let them go, and those who have exited.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// The lanes that each warp began with.
    warps: Vec<u32>,
    here: Vec<Arrival>,
    /// With which operation.
    exits: Vec<(u32, u32, u32)>,
}

impl Arrivals {
    pub(super) fn new(warps: Vec<u32>) -> Arrivals {
        Arrivals { warps, here: Vec::new(), exits: Vec::new() }
    }

    pub(super) fn arrived(&mut self, actor: &Actor, op: u32, barrier: u32, aligned: bool, all: bool) {
        let (warp, lanes) = (actor.warp, actor.lanes);
        self.here.push(Arrival { barrier, warp, lanes, op, aligned, all });
    }

    pub(super) fn exited(&mut self, actor: &Actor, op: u32) {
        self.exits.push((actor.warp, actor.lanes, op));
    }

    /// Where one of some lanes of a warp exited.
    fn exit(&self, warp: u32, missing: u32) -> Option<At> {
        let (_, lanes, op) = self.exits.iter().find(|(of, lanes, _)| *of == warp && lanes & missing != 0)?;
        let lane = (lanes & missing).trailing_zeros();
        Some((*op, warp * LANES as u32 + lane % LANES as u32, *lanes))
    }

    /// A barrier lets its lanes go: what is wrong about who came.
    pub(super) fn released(&mut self, barrier: u32) -> Vec<Verdict> {
        let mut came: Vec<Arrival> = self.here.iter().filter(|it| it.barrier == barrier).copied().collect();
        self.here.retain(|it| it.barrier != barrier);
        came.sort_by_key(|it| (it.warp, it.lanes.trailing_zeros()));
        let Some(first) = came.first() else { return Vec::new() };
        let mut found = Vec::new();
        let (mut exited, mut exit) = (0, None);
        for (warp, &began) in self.warps.iter().enumerate() {
            let warp = warp as u32;
            let of_warp = || came.iter().filter(|it| it.warp == warp);
            let lanes = of_warp().fold(0, |lanes, it| lanes | it.lanes);
            let missing = began & !lanes;
            let Some(here) = of_warp().find(|it| it.aligned) else {
                exited += missing.count_ones();
                exit = exit.or_else(|| self.exit(warp, missing));
                continue;
            };
            if let Some(there) = of_warp().find(|it| it.op != here.op) {
                let kind = FindingKind::DivergentBarrier { barrier, warp, came: here.lanes, missing: 0 };
                found.push(Verdict { kind, at: here.at(), other: Some(there.at()) });
            } else if missing != 0 {
                let kind = FindingKind::DivergentBarrier { barrier, warp, came: lanes, missing };
                found.push(Verdict { kind, at: here.at(), other: self.exit(warp, missing) });
            }
        }
        if exited != 0 && came.iter().all(|it| it.all) {
            let kind = FindingKind::MissedBarrier { barrier, exited };
            found.push(Verdict { kind, at: first.at(), other: exit });
        }
        found
    }
}
