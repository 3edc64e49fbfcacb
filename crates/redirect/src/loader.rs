//! The loader of a program: what it is called by, and what it can do.

use crate::elf::Elf;
use crate::mapped::Mapped;
use crate::search;
use std::path::{Path, PathBuf};

/// The loader of programs that do not say which they need, for the programs that they start.
const USUAL: &str = "/lib64/ld-linux-x86-64.so.2";

/// How the objects of a program can be seen before anything in them runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By `LD_AUDIT`: glibc since 2.35. Before, any auditor makes calls between libraries slower, and a program that
    /// opens a namespace of its own crash.
    Audit,
    /// By `LD_PRELOAD`: glibc before 2.35.
    Preload,
    /// Not at all: another C library.
    None,
}

/// The way for a program.
pub fn way(program: &Path) -> Way {
    let loader = loader(program, 0).unwrap_or_else(|| USUAL.into());
    Mapped::open(&loader).map_or(Way::Audit, |bytes| of_loader(&bytes))
}

/// The way for programs of a loader. glibc's has a version for each of its versions that added symbols to it: 2.35 did.
fn of_loader(bytes: &[u8]) -> Way {
    let has = |version: &[u8]| search::find(bytes, version, 0).is_some();
    if has(b"\0GLIBC_2.35\0") {
        Way::Audit
    } else if has(b"\0GLIBC_2.2.5\0") {
        Way::Preload
    } else {
        Way::None
    }
}

/// The loader of a program, or of the interpreter of a script.
fn loader(program: &Path, depth: u32) -> Option<PathBuf> {
    let bytes = Mapped::open(program).ok()?;
    if let Some(line) = bytes.strip_prefix(b"#!") {
        // As the system does, an interpreter may be a script, but not for ever.
        let word = script_interpreter(line).filter(|_| depth < 4)?;
        return loader(&word, depth + 1);
    }
    path(Elf::read(&bytes)?.interpreter()?)
}

/// A path in a file. One that is not UTF-8 is not looked at.
fn path(bytes: &[u8]) -> Option<PathBuf> {
    str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// The interpreter of a script: of `env`, the program that it finds.
fn script_interpreter(text: &[u8]) -> Option<PathBuf> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let line = line.get(..line.len().min(4096))?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = path(words.next()?)?;
    if first.file_name().is_none_or(|name| name != "env") {
        return Some(first);
    }
    let is_program = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
    let name = path(words.find(is_program)?)?;
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_are_told_by_their_versions() {
        assert_eq!(of_loader(b"\0GLIBC_2.2.5\0GLIBC_2.4\0GLIBC_2.35\0"), Way::Audit);
        assert_eq!(of_loader(b"\0GLIBC_2.2.5\0GLIBC_2.4\0"), Way::Preload);
        assert_eq!(of_loader(b"musl libc"), Way::None);
    }

    #[test]
    fn interpreters_are_read() {
        let read = |line: &str| script_interpreter(line.as_bytes());
        assert_eq!(read(" /bin/sh -e\nexit"), Some("/bin/sh".into()));
        assert_eq!(read("\n/bin/sh"), None);
        assert_eq!(read("/usr/bin/env\n"), None);
        let found = read("/usr/bin/env -S A=1 sh -e\n").expect("sh is in PATH");
        assert!(found.ends_with("sh") && found.is_absolute(), "{found:?}");
    }
}
