//! A grid: clusters of CTAs, most often of one, handed out to the threads of the host.
//!
//! A cluster exists from its start to its end only; a grid of billions takes no more room than those that run. One
//! that is busy for long may be waiting for another (a scan that looks back, a barrier of the whole grid), so it is
//! set aside, and another is started or resumed. How many can be aside is limited by their number and their size.
//!
//! **Faults.** The first cluster in the order of the grid that fails decides what is reported, as far as clusters
//! end without waiting for one another: after a fault, those before it still run.

use crate::account::{Account, Refused};
use crate::cluster::{Cluster, Shared};
use crate::cta::Turn;
use crate::decode::Program;
use crate::fault::{Fault, FaultKind};
use crate::memory::Spaces;
use crate::memory::cell::Cells;
use crate::memory::constant::Constant;
use crate::memory::global::{Global, lock};
use crate::sanitize::Sanitizer;
use crate::schedule::shuffled;
use crate::stats::{Counts, OpCount, Progress, Tracer, Watch};
use crate::texture::Textures;
use softwarp_image::{FunctionId, Image, Windows};
use softwarp_isa::device::CTA_SHARED;
use softwarp_num::with_standard_floats;
use softwarp_units::lanes::LANES;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many CTAs can have begun and not ended.
const MOST_RESIDENT: u64 = 2048;

/// How many bytes they can take together.
const MOST_BYTES: u64 = 1 << 30;

/// How many clusters a thread claims at once, at most.
const MOST_CLAIMED: u64 = 32;

/// How long those may take that it claimed for it to claim more the next time.
const QUICK: Duration = Duration::from_millis(1);

/// A launch: everything that does not change while it runs.
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Program,
    pub(crate) image: &'a Image,
    pub(crate) windows: &'a Windows,
    pub(crate) global: &'a Global,
    pub(crate) constant: &'a Constant,
    pub(crate) textures: &'a Textures,
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
    /// Where a cooperative launch has the barrier of its grid; 0 for any other.
    pub(crate) workspace: u64,
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
    /// Of a random schedule.
    pub(crate) seed: Option<u64>,
    /// Host memory of the device.
    pub(crate) account: &'a Account,
    /// What calls of all warps may take of it together.
    pub(crate) stacks: Account,
    /// Steps that were executed.
    pub(crate) steps: AtomicU64,
    /// The next cluster that no thread has claimed.
    pub(crate) next: AtomicU64,
    /// CTAs that never began, since others took their work.
    pub(crate) cancelled: AtomicU64,
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
            shared_start: window + self.image.header.arch.properties().reserved_shared,
            cluster,
            window,
            kernel: self.kernel,
            tagged: self.tags(),
        }
    }
}

impl Launch<'_> {
    /// Whether addresses in `.local` have the tags of their threads: see [`crate::sanitize::bounds`].
    pub(crate) fn tags(&self) -> bool {
        let wanted = self.sanitizer.is_some_and(|sanitizer| sanitizer.wants.bounds);
        wanted && self.image.red_zones && self.image.header.address_bits == 64
    }

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

    /// The cluster that begins as the nth.
    fn nth_unit(&self, index: u64) -> u64 {
        self.seed.map_or(index, |seed| shuffled(seed, index, self.units()))
    }

    /// `clusterlaunchcontrol.try_cancel`: takes a cluster that has not begun out of the grid; `%ctaid` of its first
    /// CTA.
    pub(crate) fn cancel_cluster(&self) -> Option<[u32; 3]> {
        let units = self.units();
        if self.next.load(Ordering::Relaxed) >= units {
            return None;
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < units).then(|| {
            let index = self.nth_unit(index);
            self.cancelled.fetch_add(self.cluster_ctas().into(), Ordering::Relaxed);
            self.progress.ctas_done.fetch_add(self.cluster_ctas().into(), Ordering::Relaxed);
            self.cta(index, 0)
        })
    }

    /// The host has no memory for something, though it may be used.
    pub(crate) fn no_memory(&self, what: &'static str, bytes: u64) -> FaultKind {
        let (used, most) = (self.account.used(), self.account.most());
        FaultKind::OutOfMemory { what, bytes, used, most }
    }

    /// What a refusal to calls means: all stacks together are too large, or there is no memory at all.
    pub(crate) fn stack_refused(&self, what: &'static str, refused: Refused) -> FaultKind {
        match refused.most == self.stacks.most() {
            true => FaultKind::StackOverflow,
            false => FaultKind::out_of_memory(what, refused),
        }
    }

    /// Whether the launch has to stop: by request, by its time, or by its steps and some that are not counted yet.
    pub(crate) fn is_over(&self, steps: u64) -> bool {
        let done = self.steps.load(Ordering::Relaxed).saturating_add(steps);
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
            || self.most_instructions.is_some_and(|most| done > most)
            || self.most_time.is_some_and(|most| self.started.elapsed() > most)
    }

    /// Time since the launch.
    pub(crate) fn nanoseconds(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Whether every operation is looked at.
    pub(crate) fn watched(&self) -> bool {
        self.tracer.is_some() || self.count_operations || self.sanitizer.is_some() || self.seed.is_some()
    }

    /// Runs it: what was executed, and what stopped it.
    pub(crate) fn run(&self) -> (Counts, Vec<Vec<OpCount>>, Option<Box<Fault>>) {
        self.progress.ctas.store(self.ctas(), Ordering::Relaxed);
        let crew = Crew {
            aside: Mutex::new(VecDeque::new()),
            waiting: AtomicU64::new(0),
            fault: Mutex::new(None),
            failed: AtomicU64::new(u64::MAX),
            done: Mutex::new((Counts::default(), Vec::new())),
        };
        let workers = self.threads.min(usize::try_from(self.units()).unwrap_or(usize::MAX)).max(1);
        rayon::in_place_scope(|scope| {
            for _ in 1..workers {
                scope.spawn(|_| with_standard_floats(|| crew.work(self)));
            }
            with_standard_floats(|| crew.work(self));
        });
        let fault = lock(&crew.fault).take().map(|(_, fault)| fault);
        let (counts, operations) = std::mem::take(&mut *lock(&crew.done));
        (counts, operations, fault)
    }
}

/// What the threads of the host share.
struct Crew {
    /// Clusters that are neither running nor ended.
    aside: Mutex<VecDeque<(u64, Cluster)>>,
    /// How many those are.
    waiting: AtomicU64,
    /// What happened in which cluster.
    fault: Mutex<Option<(u64, Box<Fault>)>>,
    /// The first cluster in which something happened; 0 if the launch as a whole has to stop.
    failed: AtomicU64,
    done: Mutex<(Counts, Vec<Vec<OpCount>>)>,
}

/// What a thread of the host has to itself.
struct Worker {
    /// Clusters that it has claimed and not begun.
    claimed: Range<u64>,
    /// How many it claimed: more and more while they are quickly done and none waits for others, so that threads
    /// seldom meet.
    appetite: u64,
    /// When it did.
    since: Instant,
    /// Room that clusters left which have ended.
    spare: Vec<Cluster>,
    /// CTAs that have ended and are not in the launch's progress yet.
    ended: u64,
}

impl Crew {
    fn work(&self, launch: &Launch<'_>) {
        let mut watch = Watch::new(launch);
        let mut worker =
            Worker { claimed: 0..0, appetite: 0, since: Instant::now(), spare: Vec::new(), ended: 0 };
        let mut prefer_new = false;
        while let Some((index, mut cluster)) = self.next_cluster(launch, prefer_new, &mut worker, &mut watch)
        {
            let turn = match launch.watched() {
                true => cluster.run::<true>(launch, &mut watch),
                false => cluster.run::<false>(launch, &mut watch),
            };
            prefer_new = false;
            match turn {
                Ok(Turn::Done) => {
                    worker.ended += u64::from(launch.cluster_ctas());
                    worker.spare.push(cluster);
                }
                Ok(Turn::Busy | Turn::Waiting(_)) if self.failed.load(Ordering::Relaxed) == u64::MAX => {
                    prefer_new = true;
                    worker.appetite = 0;
                    self.waiting.fetch_add(1, Ordering::Relaxed);
                    lock(&self.aside).push_back((index, cluster));
                }
                // It may be waiting for the one that failed.
                Ok(Turn::Busy | Turn::Waiting(_)) => {}
                Err(fault) => self.fail(index, fault),
            }
        }
        worker.publish(launch);
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
        worker: &mut Worker,
        watch: &mut Watch,
    ) -> Option<(u64, Cluster)> {
        let mut prefer_new = prefer_new;
        loop {
            let failed = self.failed.load(Ordering::Relaxed);
            if let Some(random) = &mut watch.random {
                // In any order, whatever failed first ends the launch.
                if failed != u64::MAX {
                    return None;
                }
                prefer_new = random.below(2) == 0;
            }
            if !prefer_new && let Some(found) = self.set_aside(failed, watch) {
                return Some(found);
            }
            let new = self.new_cluster(launch, failed, worker, watch);
            let found = new.or_else(|| self.set_aside(failed, watch));
            // What it has claimed, nobody else will begin: it waits for room.
            if found.is_some() || failed != u64::MAX || worker.claimed.is_empty() {
                return found;
            }
            prefer_new = false;
            std::thread::yield_now();
        }
    }

    /// A cluster that was set aside.
    fn set_aside(&self, failed: u64, watch: &mut Watch) -> Option<(u64, Cluster)> {
        // Nearly always there is none, and nothing to lock.
        if failed != u64::MAX || self.waiting.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut aside = lock(&self.aside);
        let found = match &mut watch.random {
            Some(random) => {
                let index = random.below(aside.len());
                aside.swap_remove_back(index)?
            }
            None => aside.pop_front()?,
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(found)
    }

    /// Whether another cluster may begin.
    fn has_room(&self, launch: &Launch<'_>) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        // There must always be one for each thread, and all of those that may wait for all.
        if waiting < launch.threads as u64 || launch.workspace != 0 {
            return true;
        }
        let size = lock(&self.aside).front().map_or(0, |(_, cluster)| cluster.bytes());
        let resident = waiting + launch.threads as u64;
        resident.saturating_mul(launch.cluster_ctas().into()) <= MOST_RESIDENT
            && resident.saturating_mul(size) <= MOST_BYTES.min(launch.account.most() / 2)
            && size <= launch.account.left()
    }

    fn new_cluster(
        &self,
        launch: &Launch<'_>,
        failed: u64,
        worker: &mut Worker,
        watch: &mut Watch,
    ) -> Option<(u64, Cluster)> {
        if !self.has_room(launch) {
            return None;
        }
        if worker.claimed.is_empty() {
            worker.publish(launch);
            let quick = std::mem::replace(&mut worker.since, Instant::now()).elapsed() < QUICK;
            let appetite = if quick { 2 * worker.appetite } else { worker.appetite / 2 };
            worker.appetite = appetite.clamp(1, MOST_CLAIMED);
            worker.claimed = self.claim(launch, worker.appetite);
        }
        let index = launch.nth_unit(worker.claimed.next().filter(|&index| index < failed)?);
        match self.begin(launch, index, worker, watch) {
            Ok(cluster) => Some((index, cluster)),
            Err(fault) => {
                self.fail(index, fault);
                None
            }
        }
    }

    /// Begins a cluster, in the room that another has left if there is some.
    fn begin(
        &self,
        launch: &Launch<'_>,
        index: u64,
        worker: &mut Worker,
        watch: &mut Watch,
    ) -> Result<Cluster, Box<Fault>> {
        let stop = |kind| Box::new(Fault { kind, kernel: launch.name.to_string(), place: None });
        let mut cluster = match worker.spare.pop() {
            Some(cluster) => cluster,
            None => Cluster::new(launch).map_err(stop)?,
        };
        cluster.start(launch, index, watch).map_err(stop)?;
        watch.take_work();
        // A grid of CTAs that do nothing is stopped, too.
        watch.flush(launch)?;
        Ok(cluster)
    }

    /// Claims clusters: that many at once where there are many left, and fewer toward the end, so that all threads end
    /// at about the same time.
    fn claim(&self, launch: &Launch<'_>, appetite: u64) -> Range<u64> {
        let last = launch.units();
        let now = launch.next.load(Ordering::Relaxed);
        if now >= last {
            return last..last;
        }
        let count = ((last - now) / (8 * launch.threads as u64)).min(appetite).max(1);
        let start = launch.next.fetch_add(count, Ordering::Relaxed);
        start.min(last)..(start + count).min(last)
    }
}

impl Worker {
    /// Adds what has ended to the launch's progress.
    fn publish(&mut self, launch: &Launch<'_>) {
        launch.progress.ctas_done.fetch_add(std::mem::take(&mut self.ended), Ordering::Relaxed);
    }
}
