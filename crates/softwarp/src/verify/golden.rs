//! Reads golden files: JSON lines, plain or gzipped, of the kinds that [`super`] lists.

use super::programs::{self, Program};
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// A golden file and what it holds.
#[derive(Debug)]
pub struct Golden {
    /// Where it is.
    pub file: PathBuf,
    /// Its rows.
    pub content: Content,
}

/// The rows of a golden file.
#[derive(Debug)]
pub enum Content {
    /// Sums over whole input spaces.
    Sums(Vec<SumRow>),
    /// Single inputs and results.
    Samples(Vec<SampleRow>),
    /// Tensor maps and copies, as [`super::tensor`] reads them.
    Tensor(Vec<serde_json::Value>),
    /// Programs and what they computed, as [`super::programs`] runs them.
    Programs(Vec<Program>),
}

/// The sums of one form.
#[derive(Debug, Deserialize)]
pub struct SumRow {
    /// The form's spelling.
    pub form: String,
    /// Indices of the space.
    pub n: u64,
    /// One sum per chunk.
    #[serde(deserialize_with = "hex_numbers")]
    pub sums: Vec<u64>,
}

/// Single results of one form.
#[derive(Debug, Deserialize)]
pub struct SampleRow {
    /// The form's spelling.
    pub form: String,
    /// Sources and, last, the result.
    #[serde(deserialize_with = "hex_rows")]
    pub rows: Vec<Vec<u64>>,
}

/// Why a golden file cannot be read.
#[derive(Debug)]
pub enum GoldenError {
    /// The file or folder cannot be read.
    Io(PathBuf, std::io::Error),
    /// A line is not a row of the file's kind.
    Line(PathBuf, usize, String),
    /// The first row is of no kind that is replayed.
    Kind(PathBuf),
    /// Nothing to replay was found.
    Nothing(Vec<PathBuf>),
}

impl std::fmt::Display for GoldenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GoldenError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            GoldenError::Line(path, line, why) => write!(f, "{}:{line}: {why}", path.display()),
            GoldenError::Kind(path) => {
                write!(f, "{}: not a golden file: no row of a kind that is replayed", path.display())
            }
            GoldenError::Nothing(paths) => {
                let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                write!(f, "{}: no golden file in it", paths.join(", "))
            }
        }
    }
}

impl std::error::Error for GoldenError {}

fn hex<E: serde::de::Error>(text: &str) -> Result<u64, E> {
    u64::from_str_radix(text, 16).map_err(|_| E::custom(format!("`{text}` is not a 64-bit hex number")))
}

fn hex_numbers<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    Vec::<String>::deserialize(from)?.iter().map(|text| hex(text)).collect()
}

fn hex_rows<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Vec<u64>>, D::Error> {
    let rows = Vec::<Vec<String>>::deserialize(from)?;
    rows.iter().map(|row| row.iter().map(|text| hex(text)).collect()).collect()
}

/// Reads the files, and the golden files in the folders; what is in a folder but of another kind is
/// `skipped`.
pub fn collect(paths: &[PathBuf], skipped: &mut Vec<PathBuf>) -> Result<Vec<Golden>, GoldenError> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(read(path)?);
            continue;
        }
        for file in files_below(path)? {
            match read(&file) {
                Err(GoldenError::Kind(file)) => skipped.push(file),
                other => found.push(other?),
            }
        }
    }
    if found.is_empty() { Err(GoldenError::Nothing(paths.to_vec())) } else { Ok(found) }
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>, GoldenError> {
    let io = |error| GoldenError::Io(folder.to_owned(), error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else if [".jsonl", ".jsonl.gz"].iter().any(|end| path.to_string_lossy().ends_with(end))
            || programs::is_launch_file(&path)
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<Golden, GoldenError> {
    let io = |error| GoldenError::Io(path.to_owned(), error);
    let file = File::open(path).map_err(io)?;
    if path.extension().is_some_and(|extension| extension == "json") {
        let program = programs::read(path, file)?;
        return Ok(Golden { file: path.to_owned(), content: Content::Programs(vec![program]) });
    }
    let zipped = path.extension().is_some_and(|extension| extension == "gz");
    let text: Box<dyn Read> =
        if zipped { Box::new(flate2::read::MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut lines = BufReader::new(text).lines();
    let first = lines.next().ok_or_else(|| GoldenError::Kind(path.to_owned()))?;
    // A file that is no text is no golden file either.
    let first = first.map_err(|_| GoldenError::Kind(path.to_owned()))?;
    let keys: serde_json::Value =
        serde_json::from_str(&first).map_err(|_| GoldenError::Kind(path.to_owned()))?;
    let lines = std::iter::once(Ok(first)).chain(lines);
    let content = if keys.get("sums").is_some() {
        Content::Sums(rows(path, lines)?)
    } else if keys.get("rows").is_some() {
        Content::Samples(rows(path, lines)?)
    } else if super::tensor::is_known(&keys) {
        Content::Tensor(rows(path, lines)?)
    } else if programs::is_known(&keys) {
        Content::Programs(rows(path, lines)?)
    } else {
        return Err(GoldenError::Kind(path.to_owned()));
    };
    Ok(Golden { file: path.to_owned(), content })
}

fn rows<T: for<'de> Deserialize<'de>>(
    path: &Path,
    lines: impl Iterator<Item = std::io::Result<String>>,
) -> Result<Vec<T>, GoldenError> {
    let mut rows = Vec::new();
    for (number, line) in (1..).zip(lines) {
        let line = line.map_err(|error| GoldenError::Io(path.to_owned(), error))?;
        let row = serde_json::from_str(&line);
        rows.push(row.map_err(|error| GoldenError::Line(path.to_owned(), number, error.to_string()))?);
    }
    Ok(rows)
}
