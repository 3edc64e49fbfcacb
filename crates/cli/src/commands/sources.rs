//! PTX files as the commands take them: a path, or `-` for standard input.

use super::{CommandError, cuda, files};
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
    if let Some(what) = no_text(path, &bytes) {
        return Err(CommandError::input(name(path), what));
    }
    Ok(Source::new(name(path), bytes))
}

/// The same. CUDA C++ is compiled to PTX.
pub fn read_or_compile(path: &Path) -> Result<Source, CommandError> {
    if path.extension().is_none_or(|end| end != "cu") {
        return read(path);
    }
    let bytes = files::read(path, MOST_TEXT)?;
    let source = String::from_utf8_lossy(&bytes);
    if source.contains(".version") {
        return read(path);
    }
    let name = name(path);
    let ptx = cuda::compile(path, &name, &source)?;
    Ok(Source::new(format!("{name} (PTX)"), ptx.into_bytes()))
}

/// What to say about a file that is surely no PTX.
fn no_text(path: &Path, bytes: &[u8]) -> Option<&'static str> {
    let has_version = || bytes.windows(8).any(|window| window == b".version");
    let ends_in = |ends: &[&str]| path.extension().is_some_and(|end| ends.iter().any(|one| end == *one));
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => Some(
            "it is an ELF file, a cubin or a program with machine code, and PTX is wanted: make it with `nvcc -ptx`, or \
             take it out with `cuobjdump -ptx`",
        ),
        [0x50, 0xed, 0x55, 0xba, ..] => {
            Some("it is a fat binary, and PTX is wanted: take it out with `cuobjdump -ptx`")
        }
        [b'B', b'C', 0xc0, 0xde, ..] => Some("it is LLVM bitcode, and PTX is wanted: make it with `llc`"),
        _ if ends_in(&["cu", "cuh", "cpp"]) && !has_version() => {
            Some("it is CUDA C++, and PTX is wanted: make it with `nvcc -ptx`")
        }
        _ => None,
    }
}

/// Refuses a file without anything in it.
pub fn not_empty(source: &Source) -> Result<(), CommandError> {
    match source.text.trim().is_empty() {
        true => Err(CommandError::input(&source.name, "the file is empty: PTX is wanted")),
        false => Ok(()),
    }
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
