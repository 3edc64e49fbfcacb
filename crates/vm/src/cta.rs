//! A CTA: its warps, which take turns on one thread of the host (round-robin), and its barriers. Its shared memory is
//! with the cluster's.

use crate::barrier::{Barriers, ClusterBarrier, WARPS};
use crate::context::Launch;
use crate::cta_source::CtaSource;
use crate::fast::{CACHED_REGIONS, HINTS};
use crate::fault::{Fault, FaultKind, Place, Waiting};
use crate::host_memory::Charge;
use crate::memory::cell::CachedRegion;
use crate::memory::shared::Shared;
use crate::meter::Meter;
use crate::tensor_memory::TensorMemory;
use crate::warp::{Env, Progress, Stop, Warp, run_ctas};
use softwarp_isa::device::RESERVED_SHARED_USED;
use softwarp_units::lanes::LANES;

/// How many rounds without progress a CTA gets before another CTA gets its turn.
const PATIENCE: u32 = 4;

/// How many rounds of all warps a turn has at most.
const ROUNDS: u32 = 4096;

/// How a CTA's or a cluster's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// All threads have exited.
    Done,
    /// It has run for long, and may be waiting for others.
    Busy,
    /// All of the CTA's threads wait at barriers; whether any of them did something before.
    Waiting(bool),
}

/// The state that the CTAs of a cluster share.
#[derive(Debug)]
pub(crate) struct Common {
    /// The shared memory of the CTAs, by rank.
    pub(crate) shared: Vec<Shared>,
    pub(crate) barrier: ClusterBarrier,
    /// Tensor memory of the CTAs, by rank.
    pub(crate) tensor: Vec<TensorMemory>,
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
    /// Whether it has begun for compiled code, which runs alone at first.
    compiled: bool,
    /// What the warps stand at meanwhile.
    stops: Vec<Stop>,
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
            compiled: false,
            stops: Vec::new(),
        }
    }

    /// The host memory of a CTA besides shared memory, registers and stacks, in bytes.
    pub(crate) fn fixed_bytes(launch: &Launch<'_>) -> u64 {
        let warps = u64::from(launch.block_threads().div_ceil(LANES as u32));
        (size_of::<Cta>() + Barriers::BYTES) as u64
            + RESERVED_SHARED_USED
            + warps * (size_of::<Warp>() as u64 + 1024)
    }

    /// Gives up what the next launch does not use. A charge takes over those of the warps.
    pub(crate) fn give_up(&mut self, held: &mut Charge) {
        self.barriers.restart(std::iter::empty());
        *self.hints = [0; HINTS];
        self.warps.iter_mut().for_each(|warp| warp.give_up(held));
    }

    /// Makes it room for a CTA of another launch. The bytes that its warps have kept have no charge yet.
    pub(crate) fn use_again(&mut self, launch: &Launch<'_>) -> u64 {
        self.warps.iter_mut().map(|warp| warp.use_again(launch)).sum()
    }

    /// Takes the charges for what the warps have kept from another: whether that has as much.
    pub(crate) fn take_charges(&mut self, held: &mut Charge) -> bool {
        self.warps.iter_mut().all(|warp| warp.take_charge(held))
    }

    /// Bytes that the registers and stacks of its warps take.
    pub(crate) fn bytes(&self) -> u64 {
        self.warps.iter().map(Warp::bytes).sum::<u64>()
    }

    /// The warps, and the environment that they run in.
    fn parts<'a>(
        &'a mut self,
        launch: &'a Launch<'a>,
        common: &'a mut Common,
        meter: &'a mut Meter,
    ) -> (&'a mut Vec<Warp>, &'a mut u32, Env<'a>) {
        let Cta { place, rank, warps, barriers, hints, phase, .. } = self;
        let spaces = launch.spaces(&common.shared, *rank);
        let (cluster, tensor) = (&mut common.barrier, &mut common.tensor[..]);
        let pieces = [CachedRegion::EMPTY; CACHED_REGIONS];
        (
            warps,
            phase,
            Env { launch, spaces, cta: *place, rank: *rank, barriers, cluster, tensor, hints, pieces, meter },
        )
    }

    /// Begins the CTA at a place of the grid.
    pub(crate) fn start(
        &mut self,
        launch: &Launch<'_>,
        common: &mut Common,
        place: [u32; 3],
        meter: &mut Meter,
    ) -> Result<(), FaultKind> {
        self.place = place;
        self.phase = common.barrier.phase();
        if launch.compiled().is_some() && launch.cluster_ctas() == 1 {
            return self.start_compiled(launch, common, meter);
        }
        self.barriers.restart((0..self.warps.len()).map(|warp| launch.lanes(warp)));
        if let Some(sanitizer) = launch.sanitizer {
            sanitizer.start(launch, place, (0..self.warps.len()).map(|warp| launch.lanes(warp)).collect());
        }
        let (warps, _, mut env) = self.parts(launch, common, meter);
        for (index, warp) in warps.iter_mut().enumerate() {
            warp.start(&mut env, launch.lanes(index))?;
        }
        Ok(())
    }

    /// Runs it until it ends, waits or has been busy for long. Where compiled code runs, others may follow that `next`
    /// gives; the CTA is then the last of them.
    pub(crate) fn run<const OBSERVING: bool>(
        &mut self,
        launch: &Launch<'_>,
        common: &mut Common,
        meter: &mut Meter,
        next: &mut dyn CtaSource,
    ) -> Result<Turn, Box<Fault>> {
        if !OBSERVING && self.compiled && self.run_compiled(launch, common, meter, next)? {
            return Ok(Turn::Done);
        }
        let (warps, phase, mut env) = self.parts(launch, common, meter);
        let mut idle_rounds = 0;
        let mut rounds = 0;
        let mut any_moved = pass(warps, phase, &mut env);
        let most_rounds = env.meter.random.as_mut().map_or(ROUNDS, |random| 1 + random.below(8) as u32);
        loop {
            rounds += 1;
            let (mut moved, mut paused, mut running) = (false, false, 0);
            let order = env.meter.random.as_mut().map(|random| random.order::<WARPS>(warps.len()));
            for index in 0..warps.len() {
                let index = order.map_or(index, |order| usize::from(order[index]));
                if warps[index].live() == 0 {
                    continue;
                }
                running += 1;
                if !warps[index].is_ready() {
                    continue;
                }
                let (before, rest) = warps.split_at_mut(index);
                let [warp, after @ ..] = rest else { continue };
                match warp.run::<OBSERVING>(&mut env, [before, after])? {
                    Progress::Paused => paused = true,
                    Progress::Blocked | Progress::Done => moved = true,
                }
                moved |= warp.has_advanced();
                env.meter.flush(launch)?;
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
                    for (columns, owner) in env.tensor[env.rank as usize].left() {
                        sanitizer.tensor_left(launch, env.cta, owner, columns);
                    }
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

    /// Begins it for compiled code: most of what the interpreter needs is left out until it is needed.
    fn start_compiled(
        &mut self,
        launch: &Launch<'_>,
        common: &mut Common,
        meter: &mut Meter,
    ) -> Result<(), FaultKind> {
        self.compiled = true;
        let code = &launch.program.codes[0];
        let (warps, _, mut env) = self.parts(launch, common, meter);
        for (index, warp) in warps.iter_mut().enumerate() {
            match warp.is_prepared() {
                true => warp.restart(&mut env, code),
                false => warp.start(&mut env, launch.lanes(index))?,
            }
            warp.clear_splits();
        }
        Ok(())
    }

    /// Runs compiled code. Returns whether all threads have exited; otherwise the interpreter goes on.
    fn run_compiled(
        &mut self,
        launch: &Launch<'_>,
        common: &mut Common,
        meter: &mut Meter,
        next: &mut dyn CtaSource,
    ) -> Result<bool, Box<Fault>> {
        self.compiled = false;
        let mut stops = std::mem::take(&mut self.stops);
        let (warps, _, mut env) = self.parts(launch, common, meter);
        let done = run_ctas(&mut env, warps, &mut stops, next);
        self.place = env.cta;
        self.stops = stops;
        done
    }

    /// Whether all threads wait at barriers, or have only polled mbarriers for that many slices.
    pub(crate) fn only_polls(&self, slices: u32) -> bool {
        self.warps.iter().all(|warp| warp.live() == 0 || !warp.is_ready() || warp.idle() >= slices)
    }

    /// Performs an operation among lanes without those that will not come; whether there was one.
    pub(crate) fn force(&mut self, launch: &Launch<'_>, common: &mut Common, meter: &mut Meter) -> bool {
        let (warps, _, mut env) = self.parts(launch, common, meter);
        warps.iter_mut().any(|warp| warp.exchange_complete(&mut env, true))
    }

    /// Where the threads are.
    pub(crate) fn running(
        &mut self,
        launch: &Launch<'_>,
        common: &mut Common,
        meter: &mut Meter,
    ) -> Vec<Place> {
        let (warps, _, env) = self.parts(launch, common, meter);
        warps.iter().flat_map(|warp| warp.running(&env)).collect()
    }

    /// The threads that wait at barriers, and where.
    pub(crate) fn waiting(
        &mut self,
        launch: &Launch<'_>,
        common: &mut Common,
        meter: &mut Meter,
    ) -> Vec<Waiting> {
        let (warps, _, env) = self.parts(launch, common, meter);
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
