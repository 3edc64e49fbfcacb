//! What the tests and benchmarks of all crates share. No product code depends on it.
//!
//! - [`recording`]: reads recordings, files of JSON lines that may be compressed with gzip.
//! - [`expected`]: compares a text with a file; `SOFTWARP_BLESS=1` rewrites the file instead.
//! - [`files`]: temporary folders with files in them.
//! - [`process`]: runs a program with arguments and standard input.
//! - [`SplitMix64`] and [`hash`]: random numbers from a seed, those of `softwarp_num`.
//!
//! Everything panics when something is missing or unreadable, with the path in the message.
//!
//! ```
//! use softwarp_testkit::{SplitMix64, recording};
//!
//! let rows = recording::values(recording::golden("isa", "instructions.jsonl.gz"));
//! assert!(rows.take(10).all(|row| row["ok"].is_boolean()));
//! let mut random = SplitMix64::new(1);
//! assert!(random.below(6) < 6);
//! ```

#![forbid(unsafe_code)]

pub mod expected;
pub mod files;
pub mod process;
pub mod recording;

pub use softwarp_num::splitmix::{SplitMix64, hash};

use std::path::PathBuf;

/// A path of the repository, from its root.
pub fn repository(path: &str) -> PathBuf {
    let mut found = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    found.pop();
    found.pop();
    found.join(path)
}

/// The folder of examples.
pub fn examples() -> PathBuf {
    repository("examples")
}
