//! A grid: clusters of CTAs, handed out to a pool of worker threads.
//!
//! A cluster exists from its start to its end only, so memory does not grow with the size of the grid. A cluster that
//! is busy for long may be waiting for another one (a scan with look-back, a barrier of the whole grid). It is suspended
//! then, and another one is started or resumed. The number and the size of suspended clusters are limited.
//!
//! Workers claim clusters in batches (guided self-scheduling), so that they seldom contend for the counter. The thread
//! that launches is one of them. It waits for the others awake for a moment before it sleeps: they end at about the same
//! time, and to be woken would take as long as a short launch.
//!
//! **Faults.** The first cluster in the order of the grid that fails decides what is reported, as far as clusters
//! end without waiting for one another: after a fault, those before it still run.

use crate::clock::Instant;
use crate::cluster::Cluster;
use crate::context::Launch;
use crate::cta::Turn;
use crate::cta_source::CtaSource;
use crate::fault::{Fault, FaultKind, Place};
use crate::helpers::{self, with_helpers};
use crate::memory::global::lock;
use crate::meter::Meter;
use crate::spare::Spare;
use crate::stats::{Counts, OpCount};
use crate::warp::keep_scratch;
use softwarp_num::with_standard_floats;
use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How many CTAs can have begun and not ended.
const MOST_RESIDENT: u64 = 2048;

/// How many places of warps are told when a launch is stopped.
const MOST_PLACES: usize = 4096;

/// How many bytes they can take together.
const MOST_BYTES: u64 = 1 << 30;

/// How many clusters a thread claims at once, at most.
const MOST_CLAIMED: u64 = 1024;

/// A thread first claims at most the grid divided by this and by the number of threads: too little to matter if its CTAs
/// take long.
const FIRST_PARTS: u64 = 64;

/// A thread claims at most what is left of the grid, divided by this and by the number of threads, so that all threads
/// end at about the same time.
const PARTS_LEFT: u64 = 4;

/// How many clusters a thread claims at once where nothing may depend on how long things take.
const REPEATABLE: u64 = 16;

/// How often the launching thread looks whether the others have ended, before it sleeps: some 50 µs.
const LOOKS: u32 = 1024;

/// A batch that takes at most this long lets a thread claim more the next time.
const QUICK: Duration = Duration::from_millis(1);

/// A thread claims what takes at least about this long, if its batch is as large: to claim takes a tenth of it.
const LEAST: Duration = Duration::from_micros(3);

impl Launch<'_> {
    /// Runs the grid, in the room that other launches have left if there is some. Returns what was executed, and what
    /// stopped it.
    pub(crate) fn run(&self, spare: &Spare) -> (Executed, Option<Box<Fault>>) {
        self.progress.ctas.store(self.ctas(), Ordering::Relaxed);
        let pool = WorkerPool {
            spare,
            suspended: Mutex::new(VecDeque::new()),
            waiting: AtomicU64::new(0),
            fault: Mutex::new(None),
            failed: AtomicU64::new(u64::MAX),
            done: Mutex::new(Executed::default()),
            working: AtomicUsize::new(0),
        };
        let workers = self.threads.min(usize::try_from(self.units()).unwrap_or(usize::MAX)).max(1);
        // A small launch does not start the threads of rayon.
        let alone = || with_standard_floats(|| pool.work(self));
        if workers == 1 || !helpers::are_there() {
            alone();
        } else {
            let together = with_helpers(|scope| {
                pool.working.store(workers - 1, Ordering::Relaxed);
                for _ in 1..workers {
                    scope.spawn(|_| {
                        with_standard_floats(|| pool.work(self));
                        pool.working.fetch_sub(1, Ordering::Release);
                    });
                }
                with_standard_floats(|| pool.work(self));
                pool.wait_awake();
            });
            if together.is_none() {
                alone();
            }
        }
        let fault = lock(&pool.fault).take().map(|(_, fault)| fault);
        let done = std::mem::take(&mut *lock(&pool.done));
        (done, fault)
    }
}

/// What a grid executed.
#[derive(Default)]
pub(crate) struct Executed {
    pub(crate) counts: Counts,
    /// Instructions of warps in compiled code.
    pub(crate) compiled: u64,
    /// Counts by function and operation.
    pub(crate) operations: Vec<Vec<OpCount>>,
}

/// The worker pool of a launch: what its threads share.
struct WorkerPool<'a> {
    /// Room that other launches have left.
    spare: &'a Spare,
    /// Clusters that are neither running nor ended.
    suspended: Mutex<VecDeque<(u64, Cluster)>>,
    /// How many those are.
    waiting: AtomicU64,
    /// The fault that is reported, and its cluster.
    fault: Mutex<Option<(u64, Box<Fault>)>>,
    /// The first cluster in which something happened; 0 if the launch as a whole has to stop.
    failed: AtomicU64,
    done: Mutex<Executed>,
    /// Other threads than the launching one that have not ended.
    working: AtomicUsize,
}

/// Has the other threads of a launch stop if this one panics: they may be waiting for what it was doing.
struct Watch<'a, 'b>(&'a WorkerPool<'b>);

impl Drop for Watch<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(0, Ordering::Relaxed);
        }
    }
}

/// The state of one thread of the host.
struct Worker {
    /// Clusters that it has claimed and not begun.
    claimed: Range<u64>,
    /// How many it claims at once. The batch doubles while batches are done quickly and no cluster waits for another, so
    /// that threads seldom contend for the counter, and is halved otherwise.
    batch: u64,
    /// When it claimed them, and how many.
    since: Option<Instant>,
    last: u64,
    /// Room that clusters left which have ended.
    spare: Vec<Cluster>,
    /// CTAs that have ended and are not in the launch's progress yet.
    ended: u64,
}

impl WorkerPool<'_> {
    fn work(&self, launch: &Launch<'_>) {
        let _watch = Watch(self);
        let mut meter = Meter::new(launch);
        // Doubled before it is used.
        let batch = launch.units() / (2 * FIRST_PARTS * launch.threads.max(1) as u64);
        let mut worker = Worker { claimed: 0..0, batch, since: None, last: 0, spare: Vec::new(), ended: 0 };
        let mut prefer_new = false;
        while let Some((index, mut cluster)) = self.next_cluster(launch, prefer_new, &mut worker, &mut meter)
        {
            let mut next = Next { pool: self, launch, worker: &mut worker, index };
            let turn = match launch.is_observed() {
                true => cluster.run::<true>(launch, &mut meter, &mut next),
                false => cluster.run::<false>(launch, &mut meter, &mut next),
            };
            let index = next.index;
            prefer_new = false;
            match turn {
                Ok(Turn::Done) => {
                    worker.ended += u64::from(launch.cluster_ctas());
                    worker.spare.push(cluster);
                }
                Ok(Turn::Busy | Turn::Waiting(_)) if self.failed.load(Ordering::Relaxed) == u64::MAX => {
                    prefer_new = true;
                    worker.batch = 0;
                    self.waiting.fetch_add(1, Ordering::Relaxed);
                    lock(&self.suspended).push_back((index, cluster));
                }
                // It may be waiting for the one that failed.
                Ok(Turn::Busy | Turn::Waiting(_)) => {}
                Err(mut fault) => {
                    if fault.kind.is_limit() {
                        fault.running = self.running(launch, Some(&mut cluster), &mut meter);
                    }
                    self.fail(index, fault);
                }
            }
        }
        worker.publish(launch);
        self.spare.put(launch, worker.spare);
        if self.failed.load(Ordering::Relaxed) == u64::MAX {
            keep_scratch(meter.native.take());
        }
        if let Err(fault) = meter.flush_now(launch)
            && fault.kind != FaultKind::TimeLimit
        {
            self.fail(u64::MAX - 1, fault);
        }
        let mut done = lock(&self.done);
        let Executed { counts, compiled, operations } = &mut *done;
        counts.merge(&meter.total);
        *compiled += meter.compiled;
        if operations.is_empty() {
            *operations = meter.operations;
        } else {
            for (mine, theirs) in operations.iter_mut().flatten().zip(meter.operations.iter().flatten()) {
                mine.warp += theirs.warp;
                mine.thread += theirs.thread;
            }
        }
    }

    /// Waits for the other threads for a moment, without sleeping.
    fn wait_awake(&self) {
        for _ in 0..LOOKS {
            if self.working.load(Ordering::Acquire) == 0 {
                return;
            }
            std::hint::spin_loop();
        }
    }

    /// Where warps are, of a cluster and of some that are suspended.
    fn running(&self, launch: &Launch<'_>, cluster: Option<&mut Cluster>, meter: &mut Meter) -> Vec<Place> {
        let mut places = cluster.map_or_else(Vec::new, |cluster| cluster.running(launch, meter));
        for (_, cluster) in lock(&self.suspended).iter_mut() {
            if places.len() >= MOST_PLACES {
                break;
            }
            places.extend(cluster.running(launch, meter));
        }
        places.truncate(MOST_PLACES);
        places
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

    /// A cluster to run: one that was suspended, or a new one.
    fn next_cluster(
        &self,
        launch: &Launch<'_>,
        prefer_new: bool,
        worker: &mut Worker,
        meter: &mut Meter,
    ) -> Option<(u64, Cluster)> {
        let mut prefer_new = prefer_new;
        loop {
            let failed = self.failed.load(Ordering::Relaxed);
            if let Some(random) = &mut meter.random {
                // With a random order, the first fault ends the launch.
                if failed != u64::MAX {
                    return None;
                }
                prefer_new = random.below(2) == 0;
            }
            if !prefer_new && let Some(found) = self.resume(failed, meter) {
                return Some(found);
            }
            let new = self.new_cluster(launch, failed, worker, meter);
            let found = new.or_else(|| self.resume(failed, meter));
            // No other thread begins the clusters that this one has claimed, so it waits for room.
            if found.is_some() || failed != u64::MAX || worker.claimed.is_empty() {
                return found;
            }
            prefer_new = false;
            std::thread::yield_now();
        }
    }

    /// A cluster that was suspended.
    fn resume(&self, failed: u64, meter: &mut Meter) -> Option<(u64, Cluster)> {
        // Nearly always there is none, and nothing to lock.
        if failed != u64::MAX || self.waiting.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut suspended = lock(&self.suspended);
        let found = match &mut meter.random {
            Some(random) => {
                let index = random.below(suspended.len());
                suspended.swap_remove_back(index)?
            }
            None => suspended.pop_front()?,
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(found)
    }

    /// Whether another cluster may begin.
    fn has_room(&self, launch: &Launch<'_>) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        // Each thread can always begin a cluster. The clusters of a cooperative launch must all begin, since they may
        // wait for one another.
        if waiting < launch.threads as u64 || launch.workspace != 0 {
            return true;
        }
        let size = lock(&self.suspended).front().map_or(0, |(_, cluster)| cluster.bytes());
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
        meter: &mut Meter,
    ) -> Option<(u64, Cluster)> {
        if !self.has_room(launch) {
            return None;
        }
        if worker.claimed.is_empty() {
            self.refill(launch, worker);
        }
        let index = launch.nth_unit(worker.claimed.next().filter(|&index| index < failed)?);
        match self.begin(launch, index, worker, meter) {
            Ok(cluster) => Some((index, cluster)),
            Err(mut fault) => {
                if fault.kind.is_limit() {
                    fault.running = self.running(launch, None, meter);
                }
                self.fail(index, fault);
                None
            }
        }
    }

    /// Claims more clusters for a thread that has begun all those it had claimed.
    fn refill(&self, launch: &Launch<'_>, worker: &mut Worker) {
        worker.publish(launch);
        if launch.next.load(Ordering::Relaxed) >= launch.units() {
            return;
        }
        if launch.is_repeatable() {
            worker.claimed = self.claim(launch, REPEATABLE..=REPEATABLE);
            return;
        }
        let took = worker.since.map(|since| since.elapsed());
        worker.since = Some(Instant::now());
        let quick = took.is_none_or(|took| took < QUICK);
        let batch = if quick { 2 * worker.batch } else { worker.batch / 2 };
        worker.batch = batch.clamp(1, MOST_CLAIMED);
        // The last batch tells how long a cluster takes.
        let least =
            took.map_or(1, |took| LEAST.as_nanos() as u64 * worker.last / (took.as_nanos() as u64).max(1));
        worker.claimed = self.claim(launch, least.clamp(1, worker.batch)..=worker.batch);
        worker.last = worker.claimed.end - worker.claimed.start;
    }

    /// Begins a cluster, in the room that another has left if there is some.
    fn begin(
        &self,
        launch: &Launch<'_>,
        index: u64,
        worker: &mut Worker,
        meter: &mut Meter,
    ) -> Result<Cluster, Box<Fault>> {
        let stop = |kind| {
            let kernel = launch.name.to_string();
            Box::new(Fault { kind, kernel, place: None, running: Vec::new(), registers: Vec::new() })
        };
        let mut cluster = match worker.spare.pop() {
            Some(cluster) => cluster,
            None => match self.spare.take(launch) {
                Some(cluster) => cluster,
                None => Cluster::new(launch).map_err(stop)?,
            },
        };
        cluster.start(launch, index, meter).map_err(stop)?;
        meter.take_work();
        // This also stops a grid of CTAs that do nothing.
        meter.flush(launch)?;
        Ok(cluster)
    }

    /// Claims a batch of clusters (guided self-scheduling): fewer toward the end, so that all threads end at about the
    /// same time.
    fn claim(&self, launch: &Launch<'_>, batch: RangeInclusive<u64>) -> Range<u64> {
        let last = launch.units();
        let now = launch.next.load(Ordering::Relaxed);
        if now >= last {
            return last..last;
        }
        // One thread alone has none to wait for.
        let parts = if launch.threads == 1 { 1 } else { PARTS_LEFT * launch.threads as u64 };
        let count = ((last - now) / parts).clamp(*batch.start(), *batch.end());
        let start = launch.next.fetch_add(count, Ordering::Relaxed);
        start.min(last)..(start + count).min(last)
    }
}

/// A cluster of one CTA that compiled code runs can go on as the next one.
struct Next<'a, 'b> {
    pool: &'a WorkerPool<'a>,
    launch: &'a Launch<'b>,
    worker: &'a mut Worker,
    /// The cluster that it is.
    index: u64,
}

impl CtaSource for Next<'_, '_> {
    fn next(&mut self) -> Option<u64> {
        let Next { pool, launch, worker, index } = self;
        let failed = pool.failed.load(Ordering::Relaxed);
        if failed != u64::MAX || pool.waiting.load(Ordering::Relaxed) != 0 {
            return None;
        }
        if worker.claimed.is_empty() {
            pool.refill(launch, worker);
        }
        *index = launch.nth_unit(worker.claimed.next()?);
        worker.ended += 1;
        Some(*index)
    }

    fn ahead(&self) -> u64 {
        match self.launch.seed {
            Some(_) => 0,
            None => self.worker.claimed.end - self.worker.claimed.start,
        }
    }

    fn begun(&mut self, count: u64) {
        self.worker.claimed.start += count;
        self.worker.ended += count;
        self.index += count;
    }
}

impl Worker {
    /// Adds what has ended to the launch's progress.
    fn publish(&mut self, launch: &Launch<'_>) {
        launch.progress.ctas_done.fetch_add(std::mem::take(&mut self.ended), Ordering::Relaxed);
    }
}
