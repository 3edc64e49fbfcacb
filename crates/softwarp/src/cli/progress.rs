//! A progress bar for work that takes long, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// A bar that appears once its work has taken a while.
pub struct Progress {
    bar: ProgressBar,
    began: Instant,
}

impl Progress {
    /// Begins work of `total` units, measured in `unit`.
    pub fn new(total: u64, unit: &str) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = format!("{{bar:32}} {{percent:>3}}% of {{human_len}} {unit}, {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Progress { bar, began: Instant::now() }
    }

    /// Tells how much is done.
    pub fn at(&self, done: u64) {
        if self.bar.is_hidden() && self.began.elapsed() > PATIENCE && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done);
    }

    /// Tells how much is done, and of how much.
    pub fn of(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.at(done);
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
