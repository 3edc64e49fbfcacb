//! The files that are to be checked: those named, those below folders, and those that patterns match.

use crate::commands::{CommandError, sources};
use std::path::{Path, PathBuf};

/// Files in the order in which they are reported.
#[derive(Debug)]
pub struct Collected {
    pub files: Vec<PathBuf>,
    /// Whether folders or patterns were given, so that the files are not those of the command line.
    pub expanded: bool,
}

/// Finds the files. A folder stands for all `.ptx` files in it and below it, hidden folders and links to folders left
/// out; a word with `*`, `?` or `[` that names no file is a pattern, in which `**` is any number of folders, hidden
/// ones left out. Each file comes once.
pub fn collect(words: &[PathBuf]) -> Result<Collected, CommandError> {
    let mut collected = Collected { files: Vec::new(), expanded: false };
    for word in words {
        if sources::is_standard_input(word) {
            collected.files.push(word.clone());
        } else if word.is_dir() {
            collected.expanded = true;
            let before = collected.files.len();
            below(word, &mut collected.files)?;
            if collected.files.len() == before {
                return Err(CommandError::Usage(format!("there are no .ptx files in {}", word.display())));
            }
        } else if let Some(pattern) = pattern(word) {
            collected.expanded = true;
            matching(pattern, &mut collected.files)?;
        } else {
            collected.files.push(word.clone());
        }
    }
    if collected.expanded {
        let mut seen = std::collections::BTreeSet::new();
        collected.files.retain(|file| seen.insert(file.clone()));
    }
    Ok(collected)
}

/// The text of a word that is a pattern.
fn pattern(word: &Path) -> Option<&str> {
    word.to_str().filter(|text| text.contains(['*', '?', '[']) && !word.exists())
}

fn matching(pattern: &str, files: &mut Vec<PathBuf>) -> Result<(), CommandError> {
    let wrong = |why: &dyn std::fmt::Display| CommandError::Usage(format!("`{pattern}`: {why}"));
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
    let paths = glob::glob_with(pattern, options).map_err(|error| wrong(&error))?;
    let before = files.len();
    for path in paths {
        let path = path.map_err(|error| {
            CommandError::Io(format!("cannot read {}: {}", error.path().display(), error.error()))
        })?;
        match path.is_dir() {
            true => below(&path, files)?,
            false => files.push(path),
        }
    }
    if files.len() == before { Err(wrong(&"no file matches this pattern")) } else { Ok(()) }
}

/// The `.ptx` files of a folder and those below it, by name.
fn below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), CommandError> {
    let unreadable =
        |error: std::io::Error| CommandError::Io(format!("cannot read {}: {error}", folder.display()));
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        entries.push((entry.path(), entry.file_type().map_err(unreadable)?));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (path, kind) in entries {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_ptx = path.extension().is_some_and(|extension| extension == "ptx");
        if kind.is_dir() && !hidden {
            below(&path, files)?;
        } else if is_ptx && !kind.is_dir() && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}
