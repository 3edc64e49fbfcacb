//! Progress of work that takes long, on standard error: a bar on a terminal, and else a line now and then.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Work shorter than this shows no bar.
const BAR_AFTER: Duration = Duration::from_secs(2);

/// Work shorter than this shows no line, in seconds; each further line comes after twice the time.
const LINE_AFTER: u64 = 15;

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
        if self.bar.is_hidden() && elapsed > BAR_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
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
        self.bar.finish_and_clear();
        self.began.elapsed()
    }
}

impl Drop for Progress {
    /// Leaves a clean line for whatever is said next, after an error too.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
