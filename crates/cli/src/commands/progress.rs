//! Progress of work that takes long, on standard error: a bar or a spinner on a terminal, which are gone when the work is
//! done, and else a line now and then for work that can be counted.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use softwarp_heap::has_room_for_threads;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work shorter than this shows no bar and no spinner.
const BAR_AFTER: Duration = Duration::from_millis(500);

/// Work shorter than this shows no line, in seconds; each further line comes after twice the time.
const LINE_AFTER: u64 = 15;

/// The bar or spinner that is on the terminal.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Whether standard error ends within a line, so that a bar would take the place of text.
static WITHIN_A_LINE: AtomicBool = AtomicBool::new(false);

fn set_shown(bar: Option<&ProgressBar>) {
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = bar.cloned();
}

/// Puts a bar on the terminal, unless it is there or must not be.
fn show(bar: &ProgressBar) {
    if bar.is_hidden() && !WITHIN_A_LINE.load(Ordering::Relaxed) {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        set_shown(Some(bar));
    }
}

/// Takes a bar from the terminal.
fn clear(bar: &ProgressBar) {
    set_shown(None);
    bar.finish_and_clear();
}

/// Writes text to standard error while no bar is on its line. While what was written last ends within a line, none
/// comes again.
pub fn beside(text: &str, write: impl FnOnce()) {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let ends = text.is_empty() || text.ends_with('\n');
    WITHIN_A_LINE.store(!ends, Ordering::Relaxed);
    match shown {
        None => write(),
        Some(bar) if ends => bar.suspend(write),
        Some(bar) => {
            clear(&bar);
            bar.set_draw_target(ProgressDrawTarget::hidden());
            write();
        }
    }
}

/// What shows how far some work is.
pub struct Progress {
    bar: ProgressBar,
    unit: &'static str,
    began: Instant,
    terminal: bool,
    /// When the next line is due, in seconds.
    next_line: AtomicU64,
}

impl Progress {
    /// Begins work of `total` units, measured in `unit`.
    pub fn new(total: u64, unit: &'static str) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = format!("{{bar:32}} {{percent:>3}}% of {{human_len}} {unit}, {{eta}} left {{msg}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        let terminal = std::io::stderr().is_terminal();
        Progress { bar, unit, began: Instant::now(), terminal, next_line: AtomicU64::new(LINE_AFTER) }
    }

    /// Tells how much is done.
    pub fn at(&self, done: u64) {
        self.of(done, self.bar.length().unwrap_or(0), "");
    }

    /// Tells how much is done, of how much, and what else there is to say.
    pub fn of(&self, done: u64, total: u64, more: &str) {
        let elapsed = self.began.elapsed();
        if !self.terminal {
            return self.line(elapsed.as_secs(), done, total, more);
        }
        if elapsed > BAR_AFTER {
            show(&self.bar);
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
        if !self.bar.is_hidden() && !more.is_empty() {
            self.bar.set_message(more.to_owned());
        }
    }

    fn line(&self, seconds: u64, done: u64, total: u64, more: &str) {
        let due = self.next_line.load(Ordering::Relaxed);
        let later = seconds.saturating_mul(2);
        // Of several threads, one tells.
        if seconds < due
            || self.next_line.compare_exchange(due, later, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return;
        }
        let comma = if more.is_empty() { "" } else { ", " };
        super::remark(&format!("{seconds} s: {done} of {total} {}{comma}{more}", self.unit));
    }

    /// Takes the bar away; returns how long the work took.
    pub fn finish(&self) -> Duration {
        clear(&self.bar);
        self.began.elapsed()
    }
}

impl Drop for Progress {
    /// Leaves a clean line for whatever is said next, after an error too.
    fn drop(&mut self) {
        clear(&self.bar);
    }
}

/// Shows that some work goes on which cannot be counted, and for how long: a spinner, on a terminal only.
pub struct Working {
    /// Ends the thread that shows it, when it is dropped; there is none where there is no terminal.
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Working {
    /// Begins work: "checking", "quantizing".
    pub fn begin(what: &'static str) -> Working {
        let is_shown = std::io::stderr().is_terminal() && has_room_for_threads(1);
        let shown = is_shown.then(|| {
            let (end, ended) = mpsc::channel::<()>();
            let show = move || {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
                    bar.set_style(style);
                }
                bar.set_message(what);
                let mut wait = BAR_AFTER;
                while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    wait = Duration::from_millis(100);
                    show(&bar);
                    bar.tick();
                }
                clear(&bar);
            };
            // Without memory for a thread, nothing is shown.
            Some((end, std::thread::Builder::new().spawn(show).ok()?))
        });
        Working { shown: shown.flatten() }
    }

    /// Does some work, and shows that it goes on.
    pub fn during<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
        let _working = Working::begin(what);
        work()
    }
}

impl Drop for Working {
    /// Waits until the line is clean, for whatever is said next.
    fn drop(&mut self) {
        if let Some((end, thread)) = self.shown.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_gives_its_result() {
        assert_eq!(Working::during("counting", || 7), 7);
    }

    #[test]
    fn lines_are_due_at_growing_intervals() {
        let progress = Progress::new(8, "CTAs");
        let due = || progress.next_line.load(Ordering::Relaxed);
        progress.line(LINE_AFTER - 1, 1, 8, "");
        assert_eq!(due(), LINE_AFTER);
        progress.line(LINE_AFTER + 1, 2, 8, "7 instructions");
        assert_eq!(due(), 2 * (LINE_AFTER + 1));
        progress.line(LINE_AFTER + 2, 2, 8, "");
        assert_eq!(due(), 2 * (LINE_AFTER + 1));
    }
}
