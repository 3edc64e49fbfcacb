//! What the benchmarks share.

#![forbid(unsafe_code)]

pub use softwarp_testkit::SplitMix64;

use std::hint::black_box;
use std::time::Instant;

/// The best time of several rounds, in milliseconds. What `work` returns is dropped outside the measured time.
pub fn best_milliseconds<T>(rounds: usize, mut work: impl FnMut() -> T) -> f64 {
    let round = |_| {
        let start = Instant::now();
        let result = black_box(work());
        let time = start.elapsed().as_secs_f64() * 1e3;
        drop(result);
        time
    };
    (0..rounds).map(round).fold(f64::INFINITY, f64::min)
}
