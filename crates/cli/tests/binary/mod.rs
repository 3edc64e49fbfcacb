//! The binary, for the tests of its commands.

pub use softwarp_testkit::process::{Ran, run};
use std::path::Path;
use std::process::Command;

/// The binary with arguments, to be run in a folder.
pub fn command(folder: &Path, arguments: &[&str]) -> Command {
    softwarp_testkit::process::command(env!("CARGO_BIN_EXE_softwarp"), folder, arguments)
}
