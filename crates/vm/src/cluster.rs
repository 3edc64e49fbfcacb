//! A cluster: CTAs that run together, see each other's shared memory and have a barrier of their own (PTX ISA
//! sections 2.2.2 and 9.7.13.3).
//!
//! The CTAs of a cluster take turns on one thread of the host. A grid without clusters is one of clusters of one
//! CTA, which is the plain case: there is one turn, and nobody else to look at.
//!
//! What the CTAs share is in [`Common`]; the barrier is in [`crate::barrier`].

use crate::account::Charge;
use crate::barrier::ClusterBarrier;
use crate::context::Launch;
use crate::cta::{Common, Cta, Turn};
use crate::fault::{Fault, FaultKind, Waiting};
use crate::memory::cell::SharedBytes;
use crate::memory::shared::Shared;
use crate::meter::Watch;
use crate::sanitize::init::Written;
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
    /// By rank.
    ctas: Vec<Cta>,
    common: Common,
    /// What it takes of the host's memory, besides the registers and stacks of its warps.
    held: Charge,
}

impl Cluster {
    /// Room for a cluster of a launch.
    pub(crate) fn new(launch: &Launch<'_>) -> Result<Cluster, FaultKind> {
        let ranks = 0..launch.cluster_ctas();
        let what = "shared memory and warps of CTAs";
        // The `init` sanitizer has a bit for each byte.
        let looked_at = launch.sanitizer.is_some_and(|sanitizer| sanitizer.wants.init);
        let bits = if looked_at { Written::size(launch.shared_bytes) } else { 0 };
        let each = launch.shared_bytes + bits + Cta::fixed_bytes(launch);
        let bytes = each.saturating_mul(launch.cluster_ctas().into());
        let held = launch.account.charge(bytes);
        let held = held.map_err(|refused| FaultKind::out_of_memory(what, refused))?;
        let memory = || {
            let (cells, reserved) =
                (SharedBytes::new(launch.shared_bytes)?, SharedBytes::new(RESERVED_SHARED_USED)?);
            Some(Shared { cells, reserved, ended: Cell::new(false) })
        };
        let shared = ranks.clone().map(|_| memory()).collect::<Option<Vec<_>>>();
        let shared = shared.ok_or_else(|| launch.no_memory(what, bytes))?;
        let ctas = ranks.map(|rank| Cta::new(launch, rank)).collect();
        Ok(Cluster { ctas, common: Common { shared, barrier: ClusterBarrier::new(launch) }, held })
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
        watch: &mut Watch,
    ) -> Result<(), FaultKind> {
        self.common.barrier.restart(launch);
        for shared in &mut self.common.shared {
            // What another CTA left in shared memory is not for this one to see.
            shared.cells.clear();
            shared.reserved.clear();
            shared.ended.set(false);
            watch.work(zeroing(launch.shared_bytes));
        }
        for (rank, cta) in (0..).zip(&mut self.ctas) {
            cta.start(launch, &mut self.common, launch.cta(index, rank), watch)?;
        }
        Ok(())
    }

    /// Runs it until it ends or has been busy for long.
    pub(crate) fn run<const WATCHED: bool>(
        &mut self,
        launch: &Launch<'_>,
        watch: &mut Watch,
    ) -> Result<Turn, Box<Fault>> {
        let Cluster { ctas, common, .. } = self;
        let patience = if ctas.len() == 1 { 1 } else { PATIENCE };
        let (mut turns, mut idle) = (0, 0);
        loop {
            let (mut running, mut busy, mut moved) = (false, false, false);
            let first = watch.random.as_mut().map_or(0, |random| random.below(ctas.len()));
            for index in 0..ctas.len() {
                let rank = (first + index) % ctas.len();
                let cta = &mut ctas[rank];
                if common.shared[rank].ended.get() {
                    continue;
                }
                match cta.run::<WATCHED>(launch, common, watch)? {
                    Turn::Done => {
                        common.shared[rank].ended.set(true);
                        // Others may have waited for nobody else.
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
                return Err(deadlock(launch, ctas, common, watch));
            }
            // Nobody else can do anything about mbarriers: there is no use in letting others go first.
            if (busy && idle >= patience || turns >= TURNS) && !(busy && only_polls(1)) {
                return Ok(Turn::Busy);
            }
            // Operations among lanes that wait for others which wait at a barrier: those will not come.
            if !busy && !moved && !ctas.iter_mut().any(|cta| cta.force(launch, common, watch)) {
                return Err(deadlock(launch, ctas, common, watch));
            }
        }
    }
}

/// Nothing can go on: who waits where.
fn deadlock(launch: &Launch<'_>, ctas: &mut [Cta], common: &mut Common, watch: &mut Watch) -> Box<Fault> {
    let waiting: Vec<Waiting> = ctas.iter_mut().flat_map(|cta| cta.waiting(launch, common, watch)).collect();
    let place = waiting.first().map(|waiting| waiting.place.clone());
    Box::new(Fault { kind: FaultKind::Deadlock(waiting), kernel: launch.name.to_string(), place })
}
