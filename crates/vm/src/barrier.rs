//! Barriers: the sixteen of a CTA (PTX ISA section 9.7.13.1), the one of a cluster (section 9.7.13.3), and groups of
//! warpgroup products, which wait for the other warps of the warpgroup (section 9.7.15.7).
//!
//! **Of a CTA.** A barrier counts threads. An aligned one (`bar`) counts a warp, as 32 threads, once all of its lanes
//! that have not exited are there; the other kind counts each thread by itself. A barrier without a count waits for
//! all threads of the CTA that have not exited.
//!
//! **Of a cluster.** It counts threads, too. It completes when all threads of the cluster that have not exited have
//! arrived, and begins anew at once. Phases are
//! numbered, and a thread waits for the end of a phase.

use crate::launch_info::LaunchInfo;
use softwarp_isa::device::{BARRIERS, CTA_THREADS, WARP_SIZE};
use softwarp_units::lanes::{LANES, lanes};

/// The most warps of a CTA.
pub(crate) const WARPS: usize = (CTA_THREADS / WARP_SIZE) as usize;

/// Lanes that come to a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) warp: u32,
    pub(crate) lanes: u32,
    /// How many threads take part, if that is said.
    pub(crate) count: Option<u32>,
    pub(crate) aligned: bool,
    /// The lanes whose predicate holds, in a reduction.
    pub(crate) holds: Option<u32>,
}

/// The result of a barrier's reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduced {
    pub(crate) count: u32,
    pub(crate) all: bool,
    pub(crate) any: bool,
}

/// A barrier.
#[derive(Clone, Debug)]
struct State {
    /// Lanes of each warp that wait.
    waiting: [u32; WARPS],
    /// Waiting lanes of aligned barriers, which count once the whole warp has come.
    aligned: [u32; WARPS],
    /// Lanes that arrived and went on, of warps that have not arrived as a whole.
    passed: [u32; WARPS],
    /// Threads that arrived and went on.
    arrived: u32,
    count: Option<u32>,
    reduced: Reduced,
}

const FRESH: State = State {
    waiting: [0; WARPS],
    aligned: [0; WARPS],
    passed: [0; WARPS],
    arrived: 0,
    count: None,
    reduced: Reduced { count: 0, all: true, any: false },
};

/// The barriers of a CTA.
#[derive(Debug)]
pub(crate) struct Barriers {
    states: Vec<State>,
    /// Lanes of each warp that have not exited.
    live: [u32; WARPS],
    warps: usize,
    /// The barriers that threads have come to, a bit each.
    used: u32,
    /// Barriers whose waiting lanes may go.
    completed: Vec<u32>,
    /// The products that each warp has issued.
    products: [Products; WARPS],
}

impl Barriers {
    /// The size of the structure in host memory.
    pub(crate) const BYTES: usize = size_of::<Barriers>() + BARRIERS as usize * size_of::<State>();

    pub(crate) fn new() -> Barriers {
        let states = vec![FRESH; BARRIERS as usize];
        Barriers {
            states,
            live: [0; WARPS],
            warps: 0,
            used: 0,
            completed: Vec::new(),
            products: [Products::default(); WARPS],
        }
    }

    pub(crate) fn restart(&mut self, live: impl Iterator<Item = u32>) {
        for number in lanes(std::mem::take(&mut self.used)) {
            self.states[number] = FRESH;
        }
        self.completed.clear();
        self.products = [Products::default(); WARPS];
        self.live = [0; WARPS];
        self.warps = 0;
        for (place, mask) in self.live.iter_mut().zip(live) {
            *place = mask;
            self.warps += 1;
        }
    }

    /// The products that each warp has issued, and the lanes of each warp that have not exited.
    pub(crate) fn products(&mut self) -> (&mut [Products; WARPS], &[u32; WARPS]) {
        (&mut self.products, &self.live)
    }

    pub(crate) fn any_completed(&self) -> bool {
        !self.completed.is_empty()
    }

    fn note(&mut self, number: u32, arrival: Arrival) -> &mut State {
        self.used |= 1 << number;
        let state = &mut self.states[number as usize];
        state.count = state.count.or(arrival.count);
        if let Some(holds) = arrival.holds {
            state.reduced.count += holds.count_ones();
            state.reduced.all &= holds == arrival.lanes;
            state.reduced.any |= holds != 0;
        }
        state
    }

    /// Lanes come and wait.
    pub(crate) fn wait(&mut self, number: u32, arrival: Arrival) {
        let warp = arrival.warp as usize;
        let state = self.note(number, arrival);
        state.waiting[warp] |= arrival.lanes;
        if arrival.aligned {
            state.aligned[warp] |= arrival.lanes;
        }
        self.check(number);
    }

    /// Lanes come and go on. Returns whether the barrier begins anew, since all have come and none waits.
    pub(crate) fn arrive(&mut self, number: u32, arrival: Arrival) -> bool {
        let warp = arrival.warp as usize;
        let live = self.live[warp];
        let state = self.note(number, arrival);
        if !arrival.aligned {
            state.arrived += arrival.lanes.count_ones();
        } else {
            state.passed[warp] |= arrival.lanes;
            if live & !state.passed[warp] == 0 {
                state.passed[warp] = 0;
                state.arrived += LANES as u32;
            }
        }
        self.check(number);
        self.used >> number & 1 == 0
    }

    /// Lanes have exited.
    pub(crate) fn exit(&mut self, warp: u32, live: u32) {
        self.live[warp as usize] = live;
        for number in lanes(self.used) {
            self.check(number as u32);
        }
    }

    /// How many threads have come, and how many are waited for.
    pub(crate) fn counted(&self, number: u32) -> (u32, u32) {
        let state = &self.states[number as usize];
        let live = self.live[..self.warps].iter();
        match state.count {
            None => {
                let here =
                    live.clone().zip(&state.waiting).map(|(live, waiting)| (live & waiting).count_ones());
                (here.sum(), live.map(|live| live.count_ones()).sum())
            }
            Some(count) => {
                let warps = live.zip(&state.waiting).zip(&state.aligned);
                let here = warps.map(|((&live, &waiting), &aligned)| {
                    let whole = aligned != 0 && live & !waiting == 0;
                    let alone = (waiting & !aligned).count_ones();
                    if whole { LANES as u32 } else { alone }
                });
                (state.arrived + here.sum::<u32>(), count)
            }
        }
    }

    fn check(&mut self, number: u32) {
        let (here, expected) = self.counted(number);
        let waited = self.states[number as usize].waiting.iter().any(|&mask| mask != 0);
        if here < expected || self.completed.contains(&number) {
            return;
        }
        if waited {
            self.completed.push(number);
        } else if self.states[number as usize].count.is_some() {
            // All have arrived and none waits: the barrier begins anew.
            self.states[number as usize] = FRESH;
            self.used &= !(1 << number);
        }
    }

    /// A barrier whose lanes may go, made fresh.
    pub(crate) fn take_completed(&mut self) -> Option<(u32, Reduced, [u32; WARPS])> {
        let number = self.completed.pop()?;
        self.used &= !(1 << number);
        let state = std::mem::replace(&mut self.states[number as usize], FRESH);
        Some((number, state.reduced, state.waiting))
    }
}

/// The barrier of a cluster.
#[derive(Debug)]
pub(crate) struct ClusterBarrier {
    /// The lanes of every warp, CTA by CTA.
    warps: Vec<Lanes>,
    /// Warps of a CTA.
    each: usize,
    /// Threads that have neither exited nor arrived.
    missing: u32,
    /// Threads that have not exited.
    live: u32,
    phase: u32,
}

/// Lanes of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Lanes {
    /// Lanes that have not exited.
    live: u32,
    /// Lanes that have arrived in this phase.
    arrived: u32,
}

impl ClusterBarrier {
    pub(crate) fn new(launch: &LaunchInfo<'_>) -> ClusterBarrier {
        let each = launch.block_threads().div_ceil(LANES as u32) as usize;
        let warps = vec![Lanes::default(); each * launch.cluster_ctas() as usize];
        ClusterBarrier { warps, each, missing: 0, live: 0, phase: 0 }
    }

    pub(crate) fn restart(&mut self, launch: &LaunchInfo<'_>) {
        for (index, warp) in self.warps.iter_mut().enumerate() {
            *warp = Lanes { live: launch.lanes(index % self.each), arrived: 0 };
        }
        self.live = launch.block_threads() * launch.cluster_ctas();
        (self.missing, self.phase) = (self.live, 0);
    }

    fn of(&mut self, rank: u32, warp: u32) -> Option<&mut Lanes> {
        self.warps.get_mut(rank as usize * self.each + warp as usize)
    }

    /// The phase that is not complete yet.
    pub(crate) fn phase(&self) -> u32 {
        self.phase
    }

    /// How many threads have arrived, and how many are waited for.
    pub(crate) fn counted(&self) -> (u32, u32) {
        (self.live - self.missing, self.live)
    }

    /// Lanes arrive. Returns those that had already arrived in this phase, which is an error.
    pub(crate) fn arrive(&mut self, rank: u32, warp: u32, lanes: u32) -> u32 {
        let Some(of) = self.of(rank, warp) else { return 0 };
        let again = of.arrived & lanes;
        if again == 0 {
            of.arrived |= lanes;
            self.missing = self.missing.saturating_sub(lanes.count_ones());
            self.check();
        }
        again
    }

    /// Lanes come to wait. Returns those that must wait for the end of this phase. Lanes that have not arrived in
    /// this phase do not wait, even if they have never arrived: the hardware does the same.
    pub(crate) fn wait(&mut self, rank: u32, warp: u32, lanes: u32) -> u32 {
        self.of(rank, warp).map_or(0, |of| of.arrived & lanes)
    }

    /// Lanes have exited: these are left.
    pub(crate) fn exit(&mut self, rank: u32, warp: u32, live: u32) {
        let Some(of) = self.of(rank, warp) else { return };
        let gone = of.live & !live;
        let absent = (gone & !of.arrived).count_ones();
        of.live = live;
        self.live = self.live.saturating_sub(gone.count_ones());
        self.missing = self.missing.saturating_sub(absent);
        self.check();
    }

    fn check(&mut self) {
        // Without threads, no thread can wait.
        if self.missing != 0 || self.live == 0 {
            return;
        }
        self.phase = self.phase.wrapping_add(1);
        self.missing = self.live;
        self.warps.iter_mut().for_each(|warp| warp.arrived = 0);
    }
}

/// Groups that a wait can leave pending.
const GROUPS: usize = 8;

/// The products that a warp has issued.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Products {
    issued: u32,
    /// How many products had been issued when each of the last groups was committed, the last group first.
    groups: [u32; GROUPS],
}

impl Products {
    /// A product is issued.
    pub(crate) fn issue(&mut self) {
        self.issued = self.issued.wrapping_add(1);
    }

    pub(crate) fn commit(&mut self) {
        self.groups.rotate_right(1);
        self.groups[0] = self.issued;
    }

    /// Whether the warp has issued the products of another warp's groups, except the last `pending`.
    pub(crate) fn has(&self, other: &Products, pending: u32) -> bool {
        let Some(&needed) = other.groups.get(pending as usize) else { return true };
        self.issued.wrapping_sub(needed) <= u32::MAX / 2
    }
}
