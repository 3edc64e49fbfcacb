//! PTX files as the commands take them: a path, or `-` for standard input.

use super::{CommandError, files};
use crate::input::MOST_TEXT;
use softwarp::source::{LONGEST, Source};
use std::path::{Path, PathBuf};

/// Reads a file, or standard input.
pub fn read(path: &Path) -> Result<Source, CommandError> {
    let bytes = files::read(path, MOST_TEXT)?;
    if bytes.len() as u64 > LONGEST {
        return Err(CommandError::input(
            name(path),
            "the file is longer than 4 GiB, the most that can be read",
        ));
    }
    Ok(Source::new(name(path), bytes))
}

/// How to call a file in diagnostics.
pub fn name(path: &Path) -> String {
    if is_standard_input(path) { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// Whether a path means standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Standard input ends once; a second `-` would be an empty file.
pub fn only_one_standard_input(paths: &[PathBuf]) -> Result<(), CommandError> {
    match paths.iter().filter(|path| is_standard_input(path)).count() {
        0 | 1 => Ok(()),
        _ => Err(CommandError::usage("`-` may be given once: standard input can be read only once")),
    }
}
