//! Barriers of CTAs: which threads arrive, and which should have (PTX ISA section 9.7.13.1).
//!
//! A barrier is judged when it lets its lanes go, so that the order in which lanes come does not matter; but a warp that
//! comes again meanwhile, or with another count than others, is found when it comes. When the CTA ends, those barriers
//! are found at which threads arrived and none ever waited.

use super::Actor;
use super::FindingKind;
use softwarp_units::lanes::LANES;

/// An operation, a thread of the CTA, and lanes of its warp.
type At = (u32, u32, u32);

/// The operands of a barrier instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coming {
    pub(crate) barrier: u32,
    /// How many threads take part; of a barrier for the whole CTA, all of them in whole warps.
    pub(crate) count: u32,
    /// Whether they wait.
    pub(crate) waits: bool,
    /// All of the warp must come.
    pub(crate) aligned: bool,
    /// All of the CTA must come.
    pub(crate) all: bool,
}

/// Lanes that came to a barrier.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    barrier: u32,
    count: u32,
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

/// An error of a barrier.
#[derive(Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) barrier: u32,
    pub(super) kind: FindingKind,
    pub(super) at: At,
    pub(super) other: Option<At>,
}

/// The lanes that are at barriers of a CTA, and the lanes that have exited.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// The lanes that each warp began with.
    warps: Vec<u32>,
    here: Vec<Arrival>,
    /// With which operation.
    exits: Vec<(u32, u32, u32)>,
    /// Barriers that threads have waited at, a bit each.
    waited: u32,
    /// The first arrival at each barrier that did not wait.
    arrived: [Option<At>; BARRIERS],
}

const BARRIERS: usize = softwarp_isa::device::BARRIERS as usize;

impl Arrivals {
    pub(super) fn new(warps: Vec<u32>) -> Arrivals {
        Arrivals { warps, here: Vec::new(), exits: Vec::new(), waited: 0, arrived: [None; BARRIERS] }
    }

    /// Lanes come to a barrier: errors that show at once.
    pub(super) fn arrived(&mut self, actor: &Actor, op: u32, coming: &Coming) -> Vec<Verdict> {
        let &Coming { barrier, count, waits, aligned, all } = coming;
        let (warp, lanes) = (actor.warp, actor.lanes);
        let arrival = Arrival { barrier, count, warp, lanes, op, aligned, all };
        let mut found = Vec::new();
        let mut wrong = |kind: FindingKind, other: &Arrival| {
            found.push(Verdict { barrier, kind, at: arrival.at(), other: Some(other.at()) });
        };
        let mut others = self.here.iter().filter(|it| it.barrier == barrier);
        if let Some(other) = others.clone().find(|it| it.warp == warp && it.lanes & lanes != 0) {
            wrong(FindingKind::ArrivesTwice { barrier, warp }, other);
            return found;
        } else if let Some(other) = others.find(|it| it.count != count) {
            wrong(FindingKind::BarrierCounts { barrier, first: other.count, second: count }, other);
        }
        if let Some(arrived) = self.arrived.get_mut(barrier as usize) {
            if waits {
                self.waited |= 1 << barrier;
            } else {
                arrived.get_or_insert(arrival.at());
            }
        }
        self.here.push(arrival);
        found
    }

    /// All threads of a barrier have arrived, and none waited.
    pub(super) fn renewed(&mut self, barrier: u32) {
        self.here.retain(|it| it.barrier != barrier);
    }

    /// The CTA has ended.
    pub(super) fn ended(&mut self) -> Vec<Verdict> {
        let arrived = (0..).zip(&self.arrived).filter_map(|(barrier, at)| Some((barrier, (*at)?)));
        let without = arrived.filter(|(barrier, _)| self.waited >> barrier & 1 == 0);
        let verdict = |(barrier, at)| {
            let kind = FindingKind::ArriveWithoutSync { barrier };
            Verdict { barrier, kind, at, other: None }
        };
        without.map(verdict).collect()
    }

    pub(super) fn exited(&mut self, actor: &Actor, op: u32) {
        self.exits.push((actor.warp, actor.lanes, op));
    }

    /// The operation with which one of some lanes of a warp exited.
    fn exit(&self, warp: u32, missing: u32) -> Option<At> {
        let (_, lanes, op) = self.exits.iter().find(|(of, lanes, _)| *of == warp && lanes & missing != 0)?;
        let lane = (lanes & missing).trailing_zeros();
        Some((*op, warp * LANES as u32 + lane % LANES as u32, *lanes))
    }

    /// A barrier completes: errors in the set of lanes that arrived.
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
                found.push(Verdict { barrier, kind, at: here.at(), other: Some(there.at()) });
            } else if missing != 0 {
                let kind = FindingKind::DivergentBarrier { barrier, warp, came: lanes, missing };
                found.push(Verdict { barrier, kind, at: here.at(), other: self.exit(warp, missing) });
            }
        }
        if exited != 0 && came.iter().all(|it| it.all) {
            let kind = FindingKind::MissedBarrier { barrier, exited };
            found.push(Verdict { barrier, kind, at: first.at(), other: exit });
        }
        found
    }
}
