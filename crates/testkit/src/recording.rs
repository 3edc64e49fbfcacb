//! Recordings: files of JSON lines, one row each, compressed with gzip if their names end with `.gz`.

use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The path of a recording of a crate: `crates/NAME/tests/golden/FILE`.
pub fn golden(crate_name: &str, file: &str) -> PathBuf {
    crate::repository("crates").join(crate_name).join("tests/golden").join(file)
}

/// A file, decompressed.
pub fn open(path: impl AsRef<Path>) -> Box<dyn BufRead> {
    let path = path.as_ref();
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match path.extension() {
        Some(extension) if extension == "gz" => Box::new(BufReader::new(GzDecoder::new(file))),
        _ => Box::new(BufReader::new(file)),
    }
}

/// All bytes of a file, decompressed.
pub fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = open(&path).read_to_end(&mut bytes);
    read.unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()));
    bytes
}

/// The rows of a recording, read as they are asked for.
pub fn rows<T: DeserializeOwned>(path: impl AsRef<Path>) -> impl Iterator<Item = T> {
    let name = path.as_ref().display().to_string();
    open(&path).lines().enumerate().map(move |(line, text)| {
        let text = text.unwrap_or_else(|error| panic!("{name}:{}: {error}", line + 1));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}:{}: {error}", line + 1))
    })
}

/// The rows of a recording as JSON.
pub fn values(path: impl AsRef<Path>) -> impl Iterator<Item = Value> {
    rows(path)
}

/// The texts between backquotes in `docs/assembler-differences.md`: among them the cases in which we differ from the
/// assembler, with their reasons beside them.
pub fn listed_differences() -> Vec<String> {
    let path = crate::repository("docs/assembler-differences.md");
    let text = std::fs::read_to_string(path).expect("the list of differences");
    text.split('`').map(str::to_owned).collect()
}
