//! Hostile kernels: random ones with wrong addresses end the same compiled and interpreted, and none by a signal, while
//! every buffer lies between two pages that nothing may access (`SOFTWARP_GUARD`).
//!
//! Batches run in processes of their own, so that a signal is a failed test and not the end of it. `SOFTWARP_HOSTILE` says
//! how many kernels there are (3,000 without it), at each level of the CPU; `SOFTWARP_SEED` runs one of them, here. The
//! fuzz target `hostile` has the same generator.

#[allow(dead_code, reason = "the fuzz target makes choices from bytes, and other generators make more kinds")]
#[path = "compiled/choices.rs"]
mod choices;
#[path = "hostile/kernel.rs"]
mod kernel;
#[path = "hostile/run.rs"]
mod run;

use choices::Choices;
use softwarp_num::{LEVEL_VARIABLE, Level};
use std::io::Write;
use std::process::Command;

/// Kernels of a process.
const BATCH: u64 = 500;

/// The first kernel of a batch and the one after its last, for the process that runs it.
const RANGE: &str = "SOFTWARP_HOSTILE_RANGE";

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn compare(seed: u64) -> bool {
    run::compare(&format!("seed {seed}"), &mut Choices::seeded(seed))
}

/// Runs a batch at a level of the CPU, with guard pages at one end of buffers. Returns what went wrong.
fn batch(level: Level, guard: &str, first: u64, past: u64) -> Result<(), String> {
    let mut tests = Command::new(std::env::current_exe().expect("this test"));
    tests.args(["--exact", "a_batch_of_hostile_kernels", "--nocapture", "--test-threads=1"]);
    tests
        .env(LEVEL_VARIABLE, level.name())
        .env("SOFTWARP_GUARD", guard)
        .env(RANGE, format!("{first}..{past}"));
    let done = tests.output().expect("it starts");
    if done.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    let last = output.lines().rev().find_map(|line| line.strip_prefix("seed ")).unwrap_or("?");
    let how = format!("{}={} SOFTWARP_GUARD={guard} SOFTWARP_SEED={last}", LEVEL_VARIABLE, level.name());
    Err(format!("{}: {how}\n{}", done.status, String::from_utf8_lossy(&done.stderr)))
}

#[test]
fn hostile_kernels_end_the_same_and_none_by_a_signal() {
    if let Some(seed) = number("SOFTWARP_SEED") {
        compare(seed);
        return;
    }
    let count = number("SOFTWARP_HOSTILE").unwrap_or(3000);
    let levels = [Level::Avx2, Level::Avx512].into_iter().filter(|&level| level <= Level::current());
    for level in levels {
        for (n, first) in (0..count).step_by(BATCH as usize).enumerate() {
            let guard = ["end", "begin", "1"][n % 3];
            batch(level, guard, first, (first + BATCH).min(count)).unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }
}

/// What the processes of the test above run.
#[test]
fn a_batch_of_hostile_kernels() {
    let Ok(range) = std::env::var(RANGE) else { return };
    let (first, past) = range.split_once("..").expect("a range");
    let [first, past]: [u64; 2] = [first, past].map(|number| number.parse().expect("a number"));
    let mut faults = 0;
    for seed in first..past {
        // It is the last line if a signal ends the process.
        println!("seed {seed}");
        std::io::stdout().flush().expect("written");
        faults += u64::from(compare(seed));
    }
    // Some kernels are right by chance, and should be: checks must not refuse those.
    let count = past - first;
    assert!(count < 100 || (count / 10..count - count / 10).contains(&faults), "{faults} of {count} fault");
}
