//! What compare mode writes: folders that reproduce launches whose compiled code differs from the interpreter.

use softwarp::vm::comparison::Reproduction;
use softwarp_container::one_file;
use std::io;
use std::path::{Path, PathBuf};

/// Writes a folder in a place that reproduces a launch, with what is to be said of it. Returns its path.
pub fn reproduce(place: &Path, reproduction: &Reproduction, words: &str) -> io::Result<PathBuf> {
    let (name, code) = one_file(&reproduction.texts).map_err(io::Error::other)?;
    softwarp::reproduction::write(place, reproduction, (name, &code), words)
}
