//! Files that have PTX inside: fat binaries, cubins, and programs, libraries and object files with fat binaries in them.

use super::{CommandError, remark, sources};
use softwarp::isa::Target;
use softwarp::source::Source;
use softwarp_container::{Arch, Chosen, Kind, Modules, Present, ReadError, Text, Wanted, modules};
use std::path::{Path, PathBuf};

/// How many modules of a file are listed.
const MOST: usize = 20;

/// A module of a file. One of several texts is linked.
#[derive(Debug)]
pub struct Module {
    /// The texts.
    pub sources: Vec<Source>,
    /// The file, or the module in it: `program#2`.
    pub path: PathBuf,
    /// Whether products and sums may be contracted, where the file says what the assembler was told.
    pub fmad: Option<bool>,
}

/// Whether bytes are no PTX file but may have PTX inside. The driver's texts end with a NUL.
pub fn is_container(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0x7f, b'E', b'L', b'F', ..] | [0x50, 0xed, 0x55, 0xba, ..] | [0x01, 0x5a, 0xe5, 0x1e, ..]
    ) || bytes.last() == Some(&0) && bytes.windows(8).any(|window| window == b".version")
}

/// The file and the number of a module in it, of a path such as `program#2` that is no file itself.
pub fn numbered(path: &Path) -> Option<(PathBuf, usize)> {
    let (file, number) = in_words(path)?;
    let is_one = !path.exists() && file.is_file();
    is_one.then_some((file, number))
}

/// The same for a name in a folder.
pub fn split(folder: &Path, name: &Path) -> (PathBuf, Option<usize>) {
    match in_words(name).filter(|_| numbered(&folder.join(name)).is_some()) {
        Some((file, number)) => (file, Some(number)),
        None => (name.to_owned(), None),
    }
}

fn in_words(path: &Path) -> Option<(PathBuf, usize)> {
    let (file, number) = path.to_str()?.rsplit_once('#')?;
    Some((PathBuf::from(file), number.parse().ok().filter(|number| *number > 0)?))
}

/// The modules of a file for a GPU; without one, for the newest that there is PTX for. Or the one with a number.
pub fn read(
    path: &Path,
    bytes: &[u8],
    arch: Option<Target>,
    number: Option<usize>,
) -> Result<Vec<Module>, CommandError> {
    let name = sources::name(path);
    let wanted = arch.and_then(|target| Arch::from_name(target.name())).map_or(Wanted::Any, Wanted::Target);
    let found = modules(bytes, wanted).map_err(|error| refused(&name, &error))?;
    tell_choice(&name, &found);
    let count = found.modules.len();
    let several = count > 1;
    let module = |(index, chosen): (usize, Chosen)| {
        let label = if several { format!("{name}#{}", index + 1) } else { name.clone() };
        tell_missing(&label, &chosen);
        module(label, chosen)
    };
    let modules = found.modules.into_iter().enumerate();
    match number {
        None => Ok(modules.map(module).collect()),
        Some(number) if number <= count => Ok(modules.skip(number - 1).take(1).map(module).collect()),
        Some(number) => Err(CommandError::Usage(format!(
            "{name}#{number}: {name} has {}",
            super::checking::count((count, "module"))
        ))),
    }
}

/// The only module of a file, or which ones there are.
pub fn only(path: &Path, mut modules: Vec<Module>) -> Result<Module, CommandError> {
    let name = sources::name(path);
    match modules.len() {
        1 => modules.pop().ok_or_else(|| CommandError::input(&name, "it has no PTX")),
        count => Err(CommandError::Usage(format!(
            "{name} has {count} PTX modules: choose one, as in {name}#1: {}",
            listed(&modules)
        ))),
    }
}

/// What the modules of a file are, in words: `program#1 (hello), program#2 (other)`.
fn listed(modules: &[Module]) -> String {
    let one = |module: &Module| {
        let kernels: Vec<&str> = module.sources.iter().flat_map(|source| entries(&source.text)).collect();
        format!("{} ({})", module.path.display(), kernels.join(", "))
    };
    let mut words: Vec<String> = modules.iter().take(MOST).map(one).collect();
    if modules.len() > MOST {
        words.push(format!("and {} more", modules.len() - MOST));
    }
    words.join(", ")
}

/// The names of the first kernels of a text.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    let name = |rest: &'_ str| -> usize {
        rest.find(|one: char| !one.is_alphanumeric() && !matches!(one, '_' | '$' | '%')).unwrap_or(rest.len())
    };
    text.split(".entry").skip(1).map(str::trim_start).map(move |rest| &rest[..name(rest)]).take(4)
}

fn module(label: String, chosen: Chosen) -> Module {
    let fmad = chosen.texts.iter().find_map(|text| text.options.fmad);
    let count = chosen.texts.len();
    let source = |(index, text): (usize, Text)| {
        let part = match (count, text.name) {
            (1, _) => format!("{label} (PTX)"),
            (_, Some(file)) => format!("{label} (PTX of {file})"),
            (_, None) => format!("{label} (PTX, part {} of {count})", index + 1),
        };
        Source::new(part, text.source.into_bytes())
    };
    let sources = chosen.texts.into_iter().enumerate().map(source).collect();
    Module { sources, path: PathBuf::from(label), fmad }
}

/// The architectures of all PTX of a file, the lowest first.
fn of_kind(present: &[Present], kind: Kind) -> Vec<Arch> {
    let mut archs: Vec<Arch> =
        present.iter().filter(|one| one.kind == kind).filter_map(|one| one.arch).collect();
    archs.sort_unstable();
    archs.dedup();
    archs
}

/// Says which PTX is taken, where there is some for several GPUs.
fn tell_choice(name: &str, found: &Modules) {
    let archs = of_kind(&found.present, Kind::Ptx);
    let taken =
        found.modules.iter().filter(|module| module.kind == Kind::Ptx).filter_map(|module| module.arch);
    if let (Some(taken), true) = (taken.max(), archs.len() > 1) {
        let others: Vec<String> = archs.iter().filter(|arch| **arch != taken).map(Arch::to_string).collect();
        remark(&format!(
            "note: {name}: the PTX for {taken} is taken; there is also some for {} (--arch chooses)",
            others.join(", ")
        ));
    }
}

fn tell_missing(label: &str, chosen: &Chosen) {
    if chosen.missing > 0 {
        let words = match chosen.missing {
            1 => "1 part of it has no PTX; what it defines is missing".to_owned(),
            count => format!("{count} parts of it have no PTX; what they define is missing"),
        };
        remark(&format!("note: {label}: {words}"));
    }
}

/// What to say about a file that gives no PTX.
fn refused(name: &str, error: &ReadError) -> CommandError {
    let ReadError::NoCode(none) = error else { return CommandError::input(name, error) };
    let help = match (of_kind(&none.present, Kind::Ptx).is_empty(), none.wanted) {
        (true, _) => "rebuild with -lineinfo, which keeps the PTX, or give the PTX",
        (false, Wanted::Any) => "give the PTX",
        (false, _) => "name one of these with --arch",
    };
    CommandError::input(name, format!("{}; {help}", none.summary()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_in_a_text() {
        let text = ".visible .entry hello(\n)\n{ }\n.entry\t_Z5otherPi() { } // .entry";
        assert_eq!(entries(text).collect::<Vec<_>>(), ["hello", "_Z5otherPi", ""]);
    }

    #[test]
    fn texts_and_containers_are_told_apart() {
        assert!(is_container(b"\x7fELF") && is_container(b".version 8.0\n\0"));
        assert!(!is_container(b".version 8.0\n") && !is_container(b"") && !is_container(b"\0"));
    }
}
