//! A cluster: CTAs that run together, see each other's shared memory and have a barrier of their own (PTX ISA
//! sections 2.2.2 and 9.7.13.3).
//!
//! The CTAs of a cluster take turns on one thread of the host. A grid without clusters is one of clusters of one
//! CTA, which is the most common case.
//!
//! What the CTAs share is in [`Common`]; the barrier is in [`crate::barrier`].

use crate::barrier::ClusterBarrier;
use crate::context::Launch;
use crate::cta::{Common, Cta, Turn};
use crate::cta_source::CtaSource;
use crate::fault::{Fault, FaultKind, Place, Waiting};
use crate::host_memory::Charge;
use crate::memory::cell::SharedBytes;
use crate::memory::shared::Shared;
use crate::meter::Meter;
use crate::sanitize::init::Written;
use crate::tensor_memory::TensorMemory;
use crate::warp::cost::zeroing;
use softwarp_isa::device::RESERVED_SHARED_USED;
use std::cell::Cell;

/// How many turns each CTA gets while they only poll, before another cluster gets its turn.
const PATIENCE: u32 = 4;

/// How many turns each CTA gets at most before another cluster gets its turn.
const TURNS: u32 = 1024;

/// For how many slices warps that do nothing else may find that mbarriers are not ready.
const LONG: u32 = 1 << 13;

/// A cluster.
pub(crate) struct Cluster {
    /// The CTAs by rank.
    ctas: Vec<Cta>,
    common: Common,
    /// The host memory that it takes, besides the registers and stacks of its warps.
    held: Charge,
}

impl Cluster {
    /// Room for a cluster of a launch.
    pub(crate) fn new(launch: &Launch<'_>) -> Result<Cluster, FaultKind> {
        let ranks = 0..launch.cluster_ctas();
        let what = "shared memory and warps of CTAs";
        let bytes = Cluster::charged(launch);
        let held = launch.account.charge(bytes);
        let held = held.map_err(|refused| FaultKind::out_of_memory(what, refused))?;
        let memory = || {
            let (cells, reserved) =
                (SharedBytes::new(launch.shared_bytes)?, SharedBytes::new(RESERVED_SHARED_USED)?);
            Some(Shared { cells, reserved, ended: Cell::new(false) })
        };
        let shared = ranks.clone().map(|_| memory()).collect::<Option<Vec<_>>>();
        let shared = shared.ok_or_else(|| launch.no_memory(what, bytes))?;
        let tensor = ranks.clone().map(|_| TensorMemory::default()).collect();
        let ctas = ranks.map(|rank| Cta::new(launch, rank)).collect();
        Ok(Cluster { ctas, common: Common { shared, barrier: ClusterBarrier::new(launch), tensor }, held })
    }

    /// The bytes that a cluster of a launch is charged for, besides the registers and stacks of its warps.
    fn charged(launch: &Launch<'_>) -> u64 {
        // The `init` sanitizer has a bit for each byte.
        let looked_at = launch.sanitizer.is_some_and(|sanitizer| sanitizer.wants.init);
        let bits = if looked_at { Written::size(launch.shared_bytes) } else { 0 };
        let each = launch.shared_bytes + bits + Cta::fixed_bytes(launch);
        each.saturating_mul(launch.cluster_ctas().into())
    }

    /// Gives up what the next launch does not use, and all charges.
    pub(crate) fn give_up(&mut self) {
        self.common.tensor.iter_mut().for_each(|tensor| *tensor = TensorMemory::default());
        self.ctas.iter_mut().for_each(|cta| cta.give_up(&mut self.held));
        self.held.shrink(u64::MAX);
    }

    /// Makes it room for a launch with CTAs of the same size, which is charged for it: whether the account allows that.
    pub(crate) fn use_again(&mut self, launch: &Launch<'_>) -> bool {
        let kept: u64 = self.ctas.iter_mut().map(|cta| cta.use_again(launch)).sum();
        self.held.grow(Cluster::charged(launch) + kept).is_ok()
            && self.ctas.iter_mut().all(|cta| cta.take_charges(&mut self.held))
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.held.bytes() + self.ctas.iter().map(Cta::bytes).sum::<u64>()
    }

    /// Begins the cluster with a number in the grid.
    pub(crate) fn start(
        &mut self,
        launch: &Launch<'_>,
        index: u64,
        meter: &mut Meter,
    ) -> Result<(), FaultKind> {
        self.common.barrier.restart(launch);
        self.common.tensor.iter_mut().for_each(TensorMemory::restart);
        for shared in &mut self.common.shared {
            // A CTA does not see what another left in shared memory.
            shared.cells.clear();
            shared.reserved.clear();
            shared.ended.set(false);
            meter.work(zeroing(launch.shared_bytes));
        }
        for (rank, cta) in (0..).zip(&mut self.ctas) {
            cta.start(launch, &mut self.common, launch.cta(index, rank), meter)?;
        }
        Ok(())
    }

    /// Runs it until it ends or has been busy for long. A cluster of one CTA may go on with others that `next` gives.
    pub(crate) fn run<const OBSERVING: bool>(
        &mut self,
        launch: &Launch<'_>,
        meter: &mut Meter,
        next: &mut dyn CtaSource,
    ) -> Result<Turn, Box<Fault>> {
        let Cluster { ctas, common, .. } = self;
        let patience = if ctas.len() == 1 { 1 } else { PATIENCE };
        let (mut turns, mut idle) = (0, 0);
        loop {
            let (mut running, mut busy, mut moved) = (false, false, false);
            let first = meter.random.as_mut().map_or(0, |random| random.below(ctas.len()));
            for index in 0..ctas.len() {
                let rank = (first + index) % ctas.len();
                let cta = &mut ctas[rank];
                if common.shared[rank].ended.get() {
                    continue;
                }
                match cta.run::<OBSERVING>(launch, common, meter, next)? {
                    Turn::Done => {
                        common.shared[rank].ended.set(true);
                        // The CTA that ended may have been the only one that others waited for.
                        moved = true;
                    }
                    Turn::Busy => (running, busy) = (true, true),
                    Turn::Waiting(some) => (running, moved) = (true, moved | some),
                }
            }
            if !running {
                return Ok(Turn::Done);
            }
            (turns, idle) = (turns + 1, if moved { 0 } else { idle + 1 });
            let only_polls = |slices: u32| {
                let mut all = ctas.iter().enumerate();
                all.all(|(rank, cta)| common.shared[rank].ended.get() || cta.only_polls(slices))
            };
            if busy && !moved && only_polls(LONG) {
                return Err(deadlock(launch, ctas, common, meter));
            }
            // Only this cluster can complete its mbarriers, so it does not help to run other clusters first.
            if (busy && idle >= patience || turns >= TURNS) && !(busy && only_polls(1)) {
                return Ok(Turn::Busy);
            }
            // Operations among lanes may wait for lanes that wait at a barrier and will not come.
            if !busy && !moved && !ctas.iter_mut().any(|cta| cta.force(launch, common, meter)) {
                return Err(deadlock(launch, ctas, common, meter));
            }
        }
    }
}

impl Cluster {
    /// Where the threads are that have not ended.
    pub(crate) fn running(&mut self, launch: &Launch<'_>, meter: &mut Meter) -> Vec<Place> {
        let Cluster { ctas, common, .. } = self;
        let mut places = Vec::new();
        for (rank, cta) in ctas.iter_mut().enumerate() {
            if !common.shared[rank].ended.get() {
                places.extend(cta.running(launch, common, meter));
            }
        }
        places
    }
}

/// The fault of a deadlock: which threads wait at which barriers.
fn deadlock(launch: &Launch<'_>, ctas: &mut [Cta], common: &mut Common, meter: &mut Meter) -> Box<Fault> {
    let waiting: Vec<Waiting> = ctas.iter_mut().flat_map(|cta| cta.waiting(launch, common, meter)).collect();
    let place = waiting.first().map(|waiting| waiting.place.clone());
    Box::new(Fault {
        kind: FaultKind::Deadlock(waiting),
        kernel: launch.name.to_string(),
        place,
        running: Vec::new(),
        registers: Vec::new(),
    })
}
