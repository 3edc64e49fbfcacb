//! The end of the process: everything that was submitted is done, in its order, and counted.
//!
//! `exit` calls functions that were registered, the last one first, and destroys the program's static objects between
//! them. There are two functions here:
//!
//! - [`begin`] comes before functions and destructors of static objects of the program, which may look at what waiting
//!   copies and functions write, and before libraries are unloaded. It is registered when the driver is made, when a
//!   library is loaded, and, above all others, when the first thread of the process calls `exit` or returns from `main`:
//!   that ends its variables before anything else. It waits for what is submitted, as long as some of it ends now and
//!   then: a kernel may wait for what a destructor does.
//! - [`end`] is called last. It waits until the limit (`SOFTWARP_EXIT_TIMEOUT`, counted from the first of these calls)
//!   and stops what has not ended then, with a message. Then it writes what is left to write.
//!
//! Between the two, calls that wait for work, among them those that unload code and destroy contexts, wait no longer than
//! the limit; a thread keeps watch over it, since what a destructor waits for need not be a call of this library. Calls
//! after [`end`] wait for what they submit. A process that ends by a signal or by `_exit` calls none of this.

use super::{Driver, existing, report};
use crate::code::Code;
use crate::exit;
use crate::handle::lock;
use crate::stream::{Done, Stream, TaskKind, is_inside_task};
use softwarp::vm::threads::spawn;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// How long the first of the functions waits for a task.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it looks whether tasks have ended.
const LOOK: Duration = Duration::from_millis(100);

/// How long it is waited for what was told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// How long a thread waits that ends the process inside of a stream's task: others may wait for that task.
const INSIDE: Duration = Duration::from_secs(1);

/// How far the end of the process has come.
#[derive(Debug, Default)]
pub struct Ending {
    /// When it began.
    began: OnceLock<Instant>,
    /// A thread keeps watch over the limit.
    is_watched: AtomicBool,
    /// Kernels and waits stop.
    stop: AtomicBool,
    /// What did not end was stopped and told.
    stopped: Mutex<bool>,
    /// Kernels that were submitted and did not begin, because an earlier one was stopped.
    lost: AtomicU64,
}

impl Ending {
    /// Kernels and waits stop when this becomes true.
    pub fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// Whether kernels and waits have to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// Has [`begin`] called before what the program has registered so far. A process can have a bounded number of such
/// functions; of very many libraries, the first ones do it.
pub fn come_first() {
    const MOST: u64 = 256;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if COUNT.fetch_add(1, Ordering::Relaxed) < MOST {
        exit::at_exit(begin);
    }
}

/// The first thread of the process has called `exit`, or returned from `main`: [`begin`] is the first function that is
/// called.
pub fn come_first_of_all() {
    if existing().is_some() {
        exit::at_exit(begin);
    }
}

/// The process begins to end.
pub extern "C" fn begin() {
    let _ = catch_unwind(|| {
        if let Some(driver) = existing() {
            let is_first = driver.ending.began.set(Instant::now()).is_ok();
            let pending = driver.all_streams().iter().any(|stream| stream.pending().is_some());
            // It is registered more than once, and waits in vain only once.
            if !is_first && (!pending || driver.ending.is_watched.load(Ordering::SeqCst)) {
                return;
            }
            if !driver.wait_patiently() {
                driver.watch();
            }
            driver.output.flush();
            driver.summary.so_far();
        }
    });
}

/// The last of the functions was called.
static OVER: AtomicBool = AtomicBool::new(false);

/// Called by every call of the driver: functions of the program can come after the last function here. What they submit
/// is done before the call returns.
#[inline]
pub fn after_the_end() {
    if OVER.load(Ordering::Relaxed)
        && let Some(driver) = existing()
    {
        driver.finish_all();
        driver.output.flush();
        driver.summary.end();
    }
}

/// The process ends, and nothing of the program runs after this.
pub extern "C" fn end() {
    let _ = catch_unwind(|| {
        if let Some(driver) = existing() {
            driver.ending.began.get_or_init(Instant::now);
            driver.finish_all();
            match driver.ending.lost.load(Ordering::SeqCst) {
                0 => {}
                1 => report::write(driver, "softwarp: 1 launch did not begin, since the process ended"),
                lost => report::write(
                    driver,
                    &format!("softwarp: {lost} launches did not begin, since the process ended"),
                ),
            }
            driver.output.flush();
            report::leaks(driver);
            driver.summary.end();
            OVER.store(true, Ordering::Relaxed);
        }
    });
}

impl Driver {
    /// The time until which work is waited for, if the process ends.
    fn limit_of_end(&self) -> Option<Instant> {
        let began = *self.ending.began.get()?;
        let limit = began.checked_add(self.config.exit_timeout);
        Some(limit.unwrap_or(began + Duration::from_secs(1 << 30)))
    }

    /// A kernel does not begin. After a fault that is usual.
    pub(super) fn lose(&self) {
        if self.ending.is_stopped() {
            self.ending.lost.fetch_add(1, Ordering::SeqCst);
            self.summary.refused();
        }
    }

    /// Waits for all work that streams have; at the end of the process until its limit, when what has not ended is
    /// stopped.
    pub fn finish(&self, streams: &[Arc<Stream>]) {
        let Some(limit) = self.limit_of_end() else {
            // What others submit meanwhile is not waited for.
            let all = streams.iter().filter(|it| !it.is_done_here());
            let pending: Vec<_> = all.filter_map(|stream| stream.pending()).collect();
            pending.iter().for_each(|last| self.wait(last));
            return;
        };
        let limit = if is_inside_task() { limit.min(Instant::now() + INSIDE) } else { limit };
        let has_more = |stream: &Arc<Stream>| stream.is_done_here() && stream.waiting() > 0;
        if !self.wait_until(streams, limit) || streams.iter().any(has_more) {
            self.stop();
        }
        if self.ending.is_stopped() {
            // Another thread that stops it has said so then.
            drop(lock(&self.ending.stopped));
        }
    }

    /// Waits for a task as [`finish`](Driver::finish) does for streams.
    pub fn finish_task(&self, done: &Done) {
        match self.limit_of_end() {
            None => self.wait(done),
            Some(limit) => {
                if !done.wait_until(limit) {
                    self.stop();
                }
            }
        }
    }

    /// Waits for work that streams have now, as long as some of it ends now and then; whether all of it is done.
    fn wait_patiently(&self) -> bool {
        let patience = if is_inside_task() { INSIDE } else { PATIENCE };
        let limit = self.limit_of_end();
        let streams = self.all_streams();
        let others = streams.iter().filter(|it| !it.is_done_here());
        let mut pending: Vec<_> = others.filter_map(|it| Some((it.pending()?, it))).collect();
        let (mut done, mut since) = (0, Instant::now());
        loop {
            let now = Instant::now();
            let end = limit.map_or(now + LOOK, |limit| limit.min(now + LOOK));
            // Later ones are asked after one that takes long, so that all that have ended are seen.
            pending.retain(|(last, _)| !last.wait_until(end));
            if pending.is_empty() {
                return true;
            }
            let performed =
                pending.iter().fold(pending.len() as u64, |sum, (_, it)| sum.wrapping_add(it.performed()));
            if std::mem::replace(&mut done, performed) != performed {
                since = Instant::now();
            }
            if since.elapsed() >= patience || limit.is_some_and(|limit| Instant::now() >= limit) {
                return false;
            }
        }
    }

    /// Has what does not end stopped when it is time, whatever the program waits for meanwhile.
    fn watch(&'static self) {
        let is_new = !self.ending.is_watched.swap(true, Ordering::SeqCst);
        let Some(limit) = self.limit_of_end().filter(|_| is_new) else { return };
        let watch = move || {
            std::thread::sleep(limit.saturating_duration_since(Instant::now()));
            if self.all_streams().iter().any(|stream| stream.pending().is_some()) {
                self.stop();
            }
        };
        // Without a thread, calls that wait keep to the limit, and the end of the process does.
        let _ = spawn("softwarp end", watch);
    }

    /// Waits for a task, however long it takes. Tasks whose threads cannot start while this one holds the loader's lock
    /// are done here.
    fn wait(&self, done: &Done) {
        let mut period = Duration::from_millis(5);
        while !done.wait_until(Instant::now() + period) {
            self.all_streams().iter().for_each(|stream| stream.take_over());
            period = (2 * period).min(Duration::from_secs(1));
        }
    }

    /// Waits for all work of all contexts.
    fn finish_all(&self) {
        self.finish(&self.all_streams());
    }

    /// Waits for work that streams have now, until a time at most; whether all of it is done.
    fn wait_until(&self, streams: &[Arc<Stream>], end: Instant) -> bool {
        let pending: Vec<_> =
            streams.iter().filter(|it| !it.is_done_here()).filter_map(|stream| stream.pending()).collect();
        // All are waited for, so that those that end do so in any case.
        let mut all = true;
        for last in pending {
            all &= last.wait_until(end);
        }
        all
    }

    /// Stops what has not ended. Kernels that run report it themselves; the rest is reported here.
    fn stop(&self) {
        let mut is_stopped = lock(&self.ending.stopped);
        if std::mem::replace(&mut *is_stopped, true) {
            return;
        }
        let streams = self.all_streams();
        let pending: Vec<_> = streams.iter().filter(|stream| stream.pending().is_some()).collect();
        let doing = |kind| pending.iter().any(|it| !it.is_done_here() && it.doing() == Some(kind));
        let here = pending.iter().filter(|it| it.is_done_here()).map(|it| it.waiting()).max().unwrap_or(0);
        let (functions, waits) = (doing(TaskKind::HostFunction), doing(TaskKind::Wait));
        self.ending.stop.store(true, Ordering::SeqCst);
        if functions {
            let what = "a function of the program that a stream has called did not return";
            self.tell(&format!("{what}{}", self.after_limit()));
        }
        if waits {
            let what = "a stream waited for a value in memory or for an event";
            self.tell(&format!("{what}{}", self.after_limit()));
        }
        if here > 0 {
            self.tell("the process was ended inside of work of a stream, which has more to do");
        }
        self.wait_until(&streams, Instant::now() + GRACE);
    }

    /// Says that something did not end.
    fn tell(&self, what: &str) {
        report::write(self, &format!("softwarp: {what}"));
        self.summary.timed_out(Code::LAUNCH_TIMEOUT);
        self.set_fault(Code::LAUNCH_TIMEOUT);
    }

    /// After how long something was stopped, in words.
    pub fn after_limit(&self) -> String {
        let seconds = self.config.exit_timeout.as_secs_f64();
        format!(", {seconds} s after the process began to end (SOFTWARP_EXIT_TIMEOUT)")
    }
}
