//! A grid: clusters of CTAs, most often of one, handed out to the threads of the host.
//!
//! A cluster exists from its start to its end only; a grid of billions takes no more room than those that run. One
//! that is busy for long may be waiting for another (a scan that looks back, a barrier of the whole grid), so it is
//! set aside, and another is started or resumed. How many can be aside is limited by their number and their size.
//!
//! **Faults.** The first cluster in the order of the grid that fails decides what is reported, as far as clusters
//! end without waiting for one another: after a fault, those before it still run.

use crate::cluster::{Cluster, Shared};
use crate::cta::Turn;
use crate::fault::{Fault, FaultKind};
use crate::lanes::LANES;
use crate::memory::cell::Cells;
use crate::memory::global::{Global, lock};
use crate::memory::{Constant, Spaces};
use crate::program::Program;
use crate::sanitize::Sanitizer;
use crate::stats::{Counts, OpCount, Progress, Tracer, Watch};
use softwarp_image::window::{CTA_SHARED, reserved_shared};
use softwarp_image::{FunctionId, Image, Windows};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many CTAs can have begun and not ended.
const MOST_RESIDENT: u64 = 2048;

/// How many bytes they can take together.
const MOST_BYTES: u64 = 1 << 30;

/// A launch: everything that does not change while it runs.
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Program,
    pub(crate) image: &'a Image,
    pub(crate) windows: &'a Windows,
    pub(crate) global: &'a Global,
    pub(crate) constant: &'a Constant,
    pub(crate) parameters: &'a Cells,
    pub(crate) kernel: FunctionId,
    pub(crate) name: &'a str,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// CTAs of a cluster; the grid is a multiple.
    pub(crate) cluster: [u32; 3],
    /// Somebody asked for clusters: `%is_explicit_cluster`.
    pub(crate) clustered: bool,
    pub(crate) dynamic_shared: u32,
    pub(crate) shared_bytes: u64,
    /// `%gridid`
    pub(crate) number: u64,
    pub(crate) threads: usize,
    /// Only one thread of the host takes part.
    pub(crate) alone: bool,
    pub(crate) most_stack: u64,
    pub(crate) most_instructions: Option<u64>,
    pub(crate) most_time: Option<Duration>,
    pub(crate) cancel: Option<&'a AtomicBool>,
    pub(crate) print: Option<&'a (dyn Fn(&str) + Sync)>,
    pub(crate) tracer: Option<&'a dyn Tracer>,
    pub(crate) count_operations: bool,
    pub(crate) sanitizer: Option<&'a Sanitizer<'a>>,
    pub(crate) progress: &'a Progress,
    pub(crate) started: Instant,
}

impl<'a> Launch<'a> {
    /// What a CTA with a rank in a cluster with this shared memory sees.
    pub(crate) fn spaces(&self, cluster: &'a [Shared], rank: u32) -> Spaces<'a> {
        let window = u64::from(rank) * CTA_SHARED;
        Spaces {
            image: self.image,
            windows: self.windows,
            global: self.global,
            allocations: self.global.allocations(),
            constant: self.constant,
            parameters: self.parameters,
            shared: &cluster[rank as usize].cells,
            shared_start: window + reserved_shared(self.image.header.arch),
            cluster,
            window,
            kernel: self.kernel,
        }
    }
}

impl Launch<'_> {
    /// Threads in a CTA.
    pub(crate) fn block_threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// `%tid` of a thread of a CTA.
    pub(crate) fn thread(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [index % x, index / x % y, index / x / y]
    }

    /// Lanes of a warp of a CTA that there are threads for.
    pub(crate) fn lanes(&self, warp: usize) -> u32 {
        match self.block_threads().saturating_sub(warp as u32 * LANES as u32) {
            rest @ 0..32 => (1 << rest) - 1,
            _ => u32::MAX,
        }
    }

    /// CTAs in a cluster.
    pub(crate) fn cluster_ctas(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Clusters in each dimension.
    pub(crate) fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis] / self.cluster[axis].max(1))
    }

    /// `%ctaid` of the CTA with a rank in a cluster of the grid.
    pub(crate) fn cta(&self, cluster: u64, rank: u32) -> [u32; 3] {
        let [x, y, _] = self.clusters().map(u64::from);
        let [width, height, _] = self.cluster;
        let first = [cluster % x, cluster / x % y, cluster / x / y];
        let inside = [rank % width, rank / width % height, rank / width / height];
        std::array::from_fn(|axis| first[axis] as u32 * self.cluster[axis] + inside[axis])
    }

    /// Where the part of `.shared` begins that a CTA has in its cluster.
    pub(crate) fn window(&self, cta: [u32; 3]) -> u64 {
        let [x, y, z]: [u64; 3] = std::array::from_fn(|axis| u64::from(cta[axis] % self.cluster[axis]));
        let [width, height, _] = self.cluster.map(u64::from);
        (x + width * (y + height * z)) * CTA_SHARED
    }

    /// `%ctaid` of the CTA with a rank in the cluster of another.
    pub(crate) fn sibling(&self, cta: [u32; 3], rank: u32) -> [u32; 3] {
        let [x, y, _] = self.clusters().map(u64::from);
        let of: [u64; 3] = std::array::from_fn(|axis| u64::from(cta[axis] / self.cluster[axis]));
        self.cta(of[0] + x * (of[1] + y * of[2]), rank)
    }

    /// `%ctaid` of a CTA by its number in the grid.
    pub(crate) fn nth(&self, index: u64) -> [u32; 3] {
        let (x, y) = (u64::from(self.grid[0]), u64::from(self.grid[1]));
        [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
    }

    /// Which of the grid's CTAs one is.
    pub(crate) fn linear(&self, cta: [u32; 3]) -> u64 {
        let [x, y, z] = cta.map(u64::from);
        x + u64::from(self.grid[0]) * (y + u64::from(self.grid[1]) * z)
    }

    fn ctas(&self) -> u64 {
        self.grid.iter().map(|&size| u64::from(size)).product()
    }

    /// How many clusters there are.
    fn units(&self) -> u64 {
        self.clusters().iter().map(|&size| u64::from(size)).product()
    }

    /// `%globaltimer`
    pub(crate) fn nanoseconds(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Whether every operation is looked at.
    pub(crate) fn watched(&self) -> bool {
        self.tracer.is_some() || self.count_operations || self.sanitizer.is_some()
    }

    /// Runs it.
    pub(crate) fn run(&self) -> Result<(Counts, Vec<Vec<OpCount>>), Box<Fault>> {
        self.progress.ctas.store(self.ctas(), Ordering::Relaxed);
        let crew = Crew {
            next: AtomicU64::new(0),
            resident: AtomicU64::new(0),
            aside: Mutex::new(VecDeque::new()),
            fault: Mutex::new(None),
            failed: AtomicU64::new(u64::MAX),
            done: Mutex::new((Counts::default(), Vec::new())),
        };
        let workers = self.threads.min(usize::try_from(self.units()).unwrap_or(usize::MAX)).max(1);
        rayon::in_place_scope(|scope| {
            for _ in 1..workers {
                scope.spawn(|_| crew.work(self));
            }
            crew.work(self);
        });
        match lock(&crew.fault).take() {
            Some((_, fault)) => Err(fault),
            None => Ok(std::mem::take(&mut *lock(&crew.done))),
        }
    }
}

/// What the threads of the host share.
struct Crew {
    /// The next cluster that has not begun.
    next: AtomicU64,
    /// Clusters that have begun and not ended.
    resident: AtomicU64,
    /// Clusters that are neither running nor ended.
    aside: Mutex<VecDeque<(u64, Cluster)>>,
    /// What happened in which cluster.
    fault: Mutex<Option<(u64, Box<Fault>)>>,
    /// The first cluster in which something happened; 0 if the launch as a whole has to stop.
    failed: AtomicU64,
    done: Mutex<(Counts, Vec<Vec<OpCount>>)>,
}

impl Crew {
    fn work(&self, launch: &Launch<'_>) {
        let mut watch = Watch::new(launch);
        let mut spare = Vec::new();
        let mut prefer_new = false;
        while let Some((index, mut cluster)) = self.next_cluster(launch, prefer_new, &mut spare, &mut watch) {
            let turn = match launch.watched() {
                true => cluster.run::<true>(launch, &mut watch),
                false => cluster.run::<false>(launch, &mut watch),
            };
            prefer_new = false;
            match turn {
                Ok(Turn::Done) => {
                    launch.progress.ctas_done.fetch_add(launch.cluster_ctas().into(), Ordering::Relaxed);
                    self.resident.fetch_sub(1, Ordering::Relaxed);
                    spare.push(cluster);
                }
                Ok(Turn::Busy | Turn::Waiting(_)) if self.failed.load(Ordering::Relaxed) == u64::MAX => {
                    prefer_new = true;
                    lock(&self.aside).push_back((index, cluster));
                }
                // It may be waiting for the one that failed.
                Ok(Turn::Busy | Turn::Waiting(_)) => {}
                Err(fault) => self.fail(index, fault),
            }
        }
        if let Err(fault) = watch.flush_now(launch)
            && fault.kind != FaultKind::TimeLimit
        {
            self.fail(u64::MAX - 1, fault);
        }
        let mut done = lock(&self.done);
        let (counts, operations) = &mut *done;
        counts.merge(&watch.total);
        if operations.is_empty() {
            *operations = watch.operations;
        } else {
            for (mine, theirs) in operations.iter_mut().flatten().zip(watch.operations.iter().flatten()) {
                mine.warp += theirs.warp;
                mine.thread += theirs.thread;
            }
        }
    }

    fn fail(&self, index: u64, fault: Box<Fault>) {
        // Limits concern the launch, not a cluster.
        let index = if fault.place.is_none() { 0 } else { index };
        self.failed.fetch_min(index, Ordering::Relaxed);
        let mut first = lock(&self.fault);
        if first.as_ref().is_none_or(|(at, _)| index < *at) {
            *first = Some((index, fault));
        }
    }

    /// A cluster to run: one that was set aside, or a new one.
    fn next_cluster(
        &self,
        launch: &Launch<'_>,
        prefer_new: bool,
        spare: &mut Vec<Cluster>,
        watch: &mut Watch,
    ) -> Option<(u64, Cluster)> {
        let failed = self.failed.load(Ordering::Relaxed);
        let aside = || (failed == u64::MAX).then(|| lock(&self.aside).pop_front()).flatten();
        if !prefer_new && let Some(found) = aside() {
            return Some(found);
        }
        match self.new_cluster(launch, failed, spare, watch) {
            Some(new) => Some(new),
            None => aside(),
        }
    }

    fn new_cluster(
        &self,
        launch: &Launch<'_>,
        failed: u64,
        spare: &mut Vec<Cluster>,
        watch: &mut Watch,
    ) -> Option<(u64, Cluster)> {
        let last = launch.units().min(failed);
        if self.next.load(Ordering::Relaxed) >= last {
            return None;
        }
        let resident = self.resident.fetch_add(1, Ordering::Relaxed);
        let size = lock(&self.aside).front().map_or(0, |(_, cluster)| cluster.bytes());
        let room = (resident + 1).saturating_mul(launch.cluster_ctas().into()) <= MOST_RESIDENT
            && (resident + 1).saturating_mul(size) <= MOST_BYTES;
        // One for each thread there must always be.
        let index =
            (room || resident < launch.threads as u64).then(|| self.next.fetch_add(1, Ordering::Relaxed));
        let Some(index) = index.filter(|&index| index < last) else {
            self.resident.fetch_sub(1, Ordering::Relaxed);
            return None;
        };
        let Some(mut cluster) = spare.pop().or_else(|| Cluster::new(launch)) else {
            let kernel = launch.name.to_string();
            self.fail(index, Box::new(Fault { kind: FaultKind::OutOfMemory, kernel, place: None }));
            return None;
        };
        cluster.start(launch, index, watch);
        Some((index, cluster))
    }
}
