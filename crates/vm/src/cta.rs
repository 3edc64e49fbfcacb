//! A CTA: its warps and its sixteen barriers (PTX ISA section 9.7.13.1). Its shared memory is with the cluster's.
//!
//! Warps take turns on one thread of the host. A barrier counts threads. An aligned one (`bar`) counts a warp, as
//! 32 threads, once all of its lanes that have not exited are there; the other kind counts each thread by itself.
//! A barrier without a count waits for all threads of the CTA that have not exited.

use crate::cluster::Common;
use crate::fast::{HINTS, PIECES};
use crate::fault::{Fault, FaultKind, Waiting};
use crate::grid::Launch;
use crate::memory::cell::Piece;
use crate::stats::Watch;
use crate::warp::{Env, Products, Progress, Warp};
use softwarp_isa::device::{BARRIERS, CTA_THREADS, RESERVED_SHARED_USED, WARP_SIZE};
use softwarp_units::lanes::{LANES, lanes};

/// The most warps of a CTA.
const WARPS: usize = (CTA_THREADS / WARP_SIZE) as usize;

/// How often all warps may use up their slices with nothing else happening before another CTA gets its turn.
const PATIENCE: u32 = 4;

/// How many rounds of all warps a turn has at most.
const ROUNDS: u32 = 4096;

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

/// What a barrier's reduction came to.
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
    /// Those among them that came with the whole warp, or want to.
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
    /// Those that somebody came to, a bit each.
    used: u32,
    /// Barriers whose waiting lanes may go.
    completed: Vec<u32>,
    /// What warps have issued of products.
    products: [Products; WARPS],
}

impl Barriers {
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

    fn restart(&mut self, live: impl Iterator<Item = u32>) {
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

    /// What warps have issued of products, and their lanes that have not exited.
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

    /// Lanes come and go on. Says whether the barrier begins anew, since all have come and none waits.
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
    fn counted(&self, number: u32) -> (u32, u32) {
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
            // Everyone arrived and nobody waits: it begins anew.
            self.states[number as usize] = FRESH;
            self.used &= !(1 << number);
        }
    }

    /// A barrier whose lanes may go, made fresh.
    fn take_completed(&mut self) -> Option<(u32, Reduced, [u32; WARPS])> {
        let number = self.completed.pop()?;
        self.used &= !(1 << number);
        let state = std::mem::replace(&mut self.states[number as usize], FRESH);
        Some((number, state.reduced, state.waiting))
    }
}

/// How a CTA's or a cluster's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// All threads have exited.
    Done,
    /// It has been busy for long, perhaps waiting for others.
    Busy,
    /// All of the CTA's threads wait at barriers; whether any of them did something before.
    Waiting(bool),
}

/// A CTA.
pub(crate) struct Cta {
    /// `%ctaid`
    place: [u32; 3],
    /// `%cluster_ctarank`
    rank: u32,
    warps: Vec<Warp>,
    barriers: Barriers,
    hints: Box<[u32; HINTS]>,
    /// The phase of the cluster's barrier that its warps know of.
    phase: u32,
}

impl Cta {
    /// Room for a CTA of a launch, with its rank in the cluster.
    pub(crate) fn new(launch: &Launch<'_>, rank: u32) -> Cta {
        let warps = launch.block_threads().div_ceil(LANES as u32);
        Cta {
            place: [0; 3],
            rank,
            warps: (0..warps).map(|index| Warp::new(launch, index)).collect(),
            barriers: Barriers::new(),
            hints: Box::new([0; HINTS]),
            phase: 0,
        }
    }

    /// Bytes that one takes besides shared memory, registers and stacks.
    pub(crate) fn fixed_bytes(launch: &Launch<'_>) -> u64 {
        let warps = u64::from(launch.block_threads().div_ceil(LANES as u32));
        let barriers = size_of::<Barriers>() + BARRIERS as usize * size_of::<State>();
        (size_of::<Cta>() + barriers) as u64
            + RESERVED_SHARED_USED
            + warps * (size_of::<Warp>() as u64 + 1024)
    }

    /// Bytes that the registers and stacks of its warps take.
    pub(crate) fn bytes(&self) -> u64 {
        self.warps.iter().map(Warp::bytes).sum::<u64>()
    }

    /// What its warps run in, and they.
    fn parts<'a>(
        &'a mut self,
        launch: &'a Launch<'a>,
        common: &'a mut Common,
        watch: &'a mut Watch,
    ) -> (&'a mut Vec<Warp>, &'a mut u32, Env<'a>) {
        let Cta { place, rank, warps, barriers, hints, phase } = self;
        let spaces = launch.spaces(&common.shared, *rank);
        let cluster = &mut common.barrier;
        let pieces = [Piece::NOWHERE; PIECES];
        (
            warps,
            phase,
            Env { launch, spaces, cta: *place, rank: *rank, barriers, cluster, hints, pieces, watch },
        )
    }

    /// Begins the CTA at a place of the grid.
    pub(crate) fn start(
        &mut self,
        launch: &Launch<'_>,
        common: &mut Common,
        place: [u32; 3],
        watch: &mut Watch,
    ) -> Result<(), FaultKind> {
        self.place = place;
        self.phase = common.barrier.phase();
        self.barriers.restart((0..self.warps.len()).map(|warp| launch.lanes(warp)));
        if let Some(sanitizer) = launch.sanitizer {
            sanitizer.start(launch, place, (0..self.warps.len()).map(|warp| launch.lanes(warp)).collect());
        }
        let (warps, _, mut env) = self.parts(launch, common, watch);
        for (index, warp) in warps.iter_mut().enumerate() {
            warp.start(&mut env, launch.lanes(index))?;
        }
        Ok(())
    }

    /// Runs it until it ends, waits or has been busy for long.
    pub(crate) fn run<const WATCHED: bool>(
        &mut self,
        launch: &Launch<'_>,
        common: &mut Common,
        watch: &mut Watch,
    ) -> Result<Turn, Box<Fault>> {
        let (warps, phase, mut env) = self.parts(launch, common, watch);
        let mut idle_rounds = 0;
        let mut rounds = 0;
        let mut any_moved = pass(warps, phase, &mut env);
        let most_rounds = env.watch.random.as_mut().map_or(ROUNDS, |random| 1 + random.below(8) as u32);
        loop {
            rounds += 1;
            let (mut moved, mut paused, mut running) = (false, false, 0);
            let order = env.watch.random.as_mut().map(|random| random.order::<WARPS>(warps.len()));
            for index in 0..warps.len() {
                let index = order.map_or(index, |order| usize::from(order[index]));
                if warps[index].live() == 0 {
                    continue;
                }
                running += 1;
                if !warps[index].is_ready() {
                    continue;
                }
                match warps[index].run::<WATCHED>(&mut env)? {
                    Progress::Paused => paused = true,
                    Progress::Blocked | Progress::Done => moved = true,
                }
                moved |= warps[index].has_advanced();
                env.watch.flush(launch)?;
                while let Some((number, reduced, waiting)) = env.barriers.take_completed() {
                    moved = true;
                    if let Some(sanitizer) = launch.sanitizer {
                        sanitizer.released(launch, env.cta, number, &waiting);
                    }
                    for (warp, _) in warps.iter_mut().zip(waiting).filter(|(_, mask)| *mask != 0) {
                        warp.release(launch, number, reduced);
                    }
                }
                moved |= pass(warps, phase, &mut env);
            }
            any_moved |= moved | paused;
            if running == 0 {
                if let Some(sanitizer) = launch.sanitizer {
                    sanitizer.end(launch, env.cta);
                }
                return Ok(Turn::Done);
            }
            if moved || warps.iter().any(|warp| warp.live() != 0 && warp.is_ready()) {
                idle_rounds = if moved { 0 } else { idle_rounds + 1 };
                let long = idle_rounds >= PATIENCE || rounds >= most_rounds;
                if long && warps.iter().any(|warp| warp.live() != 0) {
                    return Ok(Turn::Busy);
                }
                continue;
            }
            if !paused {
                return Ok(Turn::Waiting(any_moved));
            }
        }
    }

    /// Whether all threads wait at barriers or have polled mbarriers for that many slices, and done nothing else.
    pub(crate) fn only_polls(&self, slices: u32) -> bool {
        self.warps.iter().all(|warp| warp.live() == 0 || !warp.is_ready() || warp.idle() >= slices)
    }

    /// Performs an operation among lanes without those that will not come; whether there was one.
    pub(crate) fn force(&mut self, launch: &Launch<'_>, common: &mut Common, watch: &mut Watch) -> bool {
        let (warps, _, mut env) = self.parts(launch, common, watch);
        warps.iter_mut().any(|warp| warp.exchange_complete(&mut env, true))
    }

    /// Who waits at which barrier.
    pub(crate) fn waiting(
        &mut self,
        launch: &Launch<'_>,
        common: &mut Common,
        watch: &mut Watch,
    ) -> Vec<Waiting> {
        let (warps, _, env) = self.parts(launch, common, watch);
        let waiting = warps.iter().flat_map(|warp| warp.waiting(&env)).map(|(barrier, place)| {
            let counted =
                barrier.map_or_else(|| env.cluster.counted(), |number| env.barriers.counted(number));
            Waiting { place, barrier, mbarrier: None, arrived: counted.0, expected: counted.1 }
        });
        let polled = warps.iter().flat_map(|warp| warp.polled(&env)).map(|(place, mbarrier)| {
            let (pending, expected) = (mbarrier.pending, mbarrier.expected);
            let arrived = expected.saturating_sub(pending);
            Waiting { place, barrier: None, mbarrier: Some(mbarrier), arrived, expected }
        });
        waiting.chain(polled).collect()
    }
}

/// Lets lanes go that waited for a phase of the cluster's barrier that is over; whether one ended.
#[inline]
fn pass(warps: &mut [Warp], known: &mut u32, env: &mut Env<'_>) -> bool {
    if *known == env.cluster.phase() {
        return false;
    }
    *known = env.cluster.phase();
    warps.iter_mut().for_each(|warp| warp.pass(env));
    true
}
