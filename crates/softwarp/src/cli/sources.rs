//! PTX files as the commands take them: a path, or `-` for standard input.

use super::Fault;
use super::files::Input;
use softwarp::source::{LONGEST, Source};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Reads a file, or standard input.
pub fn read(path: &Path) -> Result<Source, Fault> {
    let name = name(path);
    let too_long = || Fault::input(&name, "the file is longer than 4 GiB, the most that can be read");
    let input = Input::open(path)?;
    if input.length() > LONGEST {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(input.length() as usize);
    let unreadable = |error| Fault::Call(format!("cannot read {name}: {error}"));
    // A file may grow while it is read.
    input.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(too_long());
    }
    Ok(Source::new(name, bytes))
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
pub fn only_one_standard_input(paths: &[PathBuf]) -> Result<(), Fault> {
    match paths.iter().filter(|path| is_standard_input(path)).count() {
        0 | 1 => Ok(()),
        _ => Err(Fault::call("`-` may be given once: standard input can be read only once")),
    }
}
