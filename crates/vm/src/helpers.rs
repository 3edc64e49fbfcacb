//! The threads of the host that help the one that launches.
//!
//! They are one fewer than there are cores. `rayon`'s usual pool has one for each core: with the thread that launches they
//! would be one too many, and the one that finds no work yields its core again and again before it sleeps, at the cost of
//! those that work. That pool serves where the helpers are busy with another launch, so that launches do not wait for each
//! other, and in processes that were forked from the one that started them.
//!
//! A thread that starts may have to wait for the loader's lock, which a thread that loads or unloads a library holds: as
//! long as the helpers have not started, launches do without them.

use crate::threads;
use rayon::{Scope, ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use softwarp_heap::has_room_for_threads;
use std::error::Error;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{io, process};

/// How long the launch that starts the helpers waits for them.
const START: Duration = Duration::from_millis(20);

/// How many helpers have started.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// The threads.
struct Helpers {
    pool: ThreadPool,
    /// The process that they are of: one that is forked from it has none.
    process: u32,
    /// Whether they work for a launch.
    busy: AtomicBool,
}

impl Helpers {
    /// Those of this process, if it has more than one core.
    fn get() -> Option<&'static Helpers> {
        static HELPERS: OnceLock<Option<Helpers>> = OnceLock::new();
        let helpers = HELPERS.get_or_init(|| {
            let count = cores().checked_sub(1).filter(|&count| count != 0)?;
            if !has_room_for_threads(count) {
                return None;
            }
            let started = |_| {
                STARTED.fetch_add(1, Ordering::Release);
            };
            let builder = ThreadPoolBuilder::new().num_threads(count).start_handler(started);
            let pool = builder.spawn_handler(begin).build().ok()?;
            let end = Instant::now() + START;
            while STARTED.load(Ordering::Acquire) < count && Instant::now() < end {
                thread::sleep(Duration::from_micros(20));
            }
            Some(Helpers { pool, process: process::id(), busy: AtomicBool::new(false) })
        });
        helpers.as_ref().filter(|helpers| helpers.process == process::id())
    }
}

/// Begins a thread of a pool.
fn begin(thread: ThreadBuilder) -> io::Result<()> {
    threads::spawn("softwarp kernel", || thread.run())
}

/// How many cores the process may use. To ask the system takes longer than a small launch.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Whether a launch can be helped.
pub(crate) fn are_there() -> bool {
    if rayon::current_thread_index().is_some() {
        return true;
    }
    match Helpers::get() {
        Some(helpers) => STARTED.load(Ordering::Acquire) >= helpers.pool.current_num_threads(),
        None => usual_are_there(),
    }
}

/// Whether there is `rayon`'s usual pool, which begins when it is first asked for something.
fn usual_are_there() -> bool {
    static USUAL: OnceLock<bool> = OnceLock::new();
    *USUAL.get_or_init(|| {
        let build = || match ThreadPoolBuilder::new().spawn_handler(begin).build_global() {
            Ok(()) => true,
            // The program has one already, or a thread cannot be made.
            Err(error) => error.source().is_none(),
        };
        has_room_for_threads(cores()) && build()
    })
}

/// Helpers at work.
struct Claim<'a>(&'a Helpers);

impl<'a> Claim<'a> {
    /// None if they work for another launch.
    fn new(helpers: &'a Helpers) -> Option<Claim<'a>> {
        (!helpers.busy.swap(true, Ordering::Acquire)).then_some(Claim(helpers))
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
    }
}

/// Does work on this thread that may spawn more for others, and waits for all of it. None where there are no others: nothing
/// is done then.
pub(crate) fn with_helpers<'scope, R>(work: impl FnOnce(&Scope<'scope>) -> R) -> Option<R> {
    // A thread of a pool has the others of that pool.
    let is_one = rayon::current_thread_index().is_some();
    let own = if is_one { None } else { Helpers::get() };
    match own.and_then(Claim::new) {
        Some(claim) => Some(claim.0.pool.in_place_scope(work)),
        None => (is_one || usual_are_there()).then(|| rayon::in_place_scope(work)),
    }
}
