//! PTX files as the commands take them: a path, or `-` for standard input.

use super::containers::{self, Module};
use super::{CommandError, cuda, files};
use crate::input::MOST_TEXT;
use softwarp::isa::Target;
use softwarp::source::{LONGEST, Source};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Reads a file of text, or standard input.
pub fn read(path: &Path) -> Result<Source, CommandError> {
    let bytes = files::read(path, MOST_TEXT)?;
    text(path, bytes)
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<Source, CommandError> {
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

/// The PTX modules of a file: a text is one, CUDA C++ is compiled to one, and files with PTX inside may have several.
/// Of those for several GPUs, the ones for `arch` are taken.
pub fn modules(path: &Path, arch: Option<Target>) -> Result<Vec<Module>, CommandError> {
    if let Some((file, number)) = containers::numbered(path) {
        let bytes = files::read(&file, MOST_TEXT)?;
        return match containers::is_container(&bytes) {
            true => containers::read(&file, &bytes, arch, Some(number)),
            false => Err(files::unreadable(path, std::io::Error::from(std::io::ErrorKind::NotFound).into())),
        };
    }
    let bytes = files::read(path, MOST_TEXT)?;
    if containers::is_container(&bytes) {
        return containers::read(path, &bytes, arch, None);
    }
    let source = match cuda_source(path, &bytes) {
        Some(source) => {
            let name = name(path);
            let ptx = cuda::compile(path, &name, &source)?;
            Source::new(format!("{name} (PTX)"), ptx.into_bytes())
        }
        None => text(path, bytes)?,
    };
    Ok(vec![Module { sources: vec![source], path: path.to_owned(), fmad: None }])
}

/// The only PTX module of a file.
pub fn module(path: &Path, arch: Option<Target>) -> Result<Module, CommandError> {
    containers::only(path, modules(path, arch)?)
}

/// The only PTX text of a file.
pub fn single(path: &Path, arch: Option<Target>) -> Result<Source, CommandError> {
    only_text(path, module(path, arch)?)
}

fn only_text(path: &Path, mut module: Module) -> Result<Source, CommandError> {
    match (module.sources.len(), module.sources.pop()) {
        (1, Some(source)) => Ok(source),
        (count, _) => Err(CommandError::input(
            name(path),
            format!("it was linked of {count} PTX texts, and one is wanted"),
        )),
    }
}

/// The text of a PTX file, or the only one inside another file, and whether it comes from inside.
pub fn text_or_inside(path: &Path, arch: Option<Target>) -> Result<(Source, bool), CommandError> {
    if containers::numbered(path).is_some() {
        return Ok((single(path, arch)?, true));
    }
    let bytes = files::read(path, MOST_TEXT)?;
    match containers::is_container(&bytes) {
        true => {
            let module = containers::only(path, containers::read(path, &bytes, arch, None)?)?;
            Ok((only_text(path, module)?, true))
        }
        false => Ok((text(path, bytes)?, false)),
    }
}

/// The text of a file of CUDA C++.
fn cuda_source<'a>(path: &Path, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
    let is_named_so = path.extension().is_some_and(|end| end == "cu");
    let source = is_named_so.then(|| String::from_utf8_lossy(bytes))?;
    (!source.contains(".version")).then_some(source)
}

/// What to say about a file that is surely no PTX.
fn no_text(path: &Path, bytes: &[u8]) -> Option<&'static str> {
    let has_version = || bytes.windows(8).any(|window| window == b".version");
    let ends_in = |ends: &[&str]| path.extension().is_some_and(|end| ends.iter().any(|one| end == *one));
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => Some("it is an ELF file, and PTX is wanted: `nvcc -ptx` makes it"),
        [0x50, 0xed, 0x55, 0xba, ..] => Some("it is a fat binary, and PTX is wanted: `nvcc -ptx` makes it"),
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
