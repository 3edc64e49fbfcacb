//! The command line.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command that these words are, the program's name first; gives the exit code.
#[pyfunction]
pub fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| softwarp_cli::run_words(words))
}
