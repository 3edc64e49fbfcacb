//! Temporary folders.

use std::path::Path;
pub use tempfile::TempDir;

/// An empty temporary folder; it is deleted with the value.
pub fn temporary() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A temporary folder with text files, by their paths in it.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    folder_of(files.iter().copied())
}

/// A temporary folder with files of any contents, by their paths in it.
pub fn folder_of<N: AsRef<str>, T: AsRef<[u8]>>(files: impl IntoIterator<Item = (N, T)>) -> TempDir {
    let folder = temporary();
    for (name, contents) in files {
        let name = name.as_ref();
        let path = folder.path().join(name);
        let parent = path.parent().expect("a folder");
        std::fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{name}: {error}"));
        std::fs::write(&path, contents).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    folder
}

/// The names of a folder's entries, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
