//! Temporary folders.

use tempfile::TempDir;

/// An empty temporary folder; it is deleted with the value.
pub fn temporary() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A temporary folder with files, by their paths in it.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = temporary();
    for (name, text) in files {
        let path = folder.path().join(name);
        let parent = path.parent().expect("a folder");
        std::fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{name}: {error}"));
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    folder
}
