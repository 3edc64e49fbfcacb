//! Reads golden files: JSON lines, plain or gzipped, of the kinds that [`super`] lists, and launch files.
//!
//! A file in a folder that looks like a test by its name and by what is in it is replayed, or it is an error
//! ([`Unread`]): it is not passed over. Folders are walked once each, whatever links there are, and links that lead
//! out of the folder are errors unless that is allowed.

use super::programs::{self, Program};
use super::{Settings, Unread};
use crate::input::{self, Input, InputError, Lines, MOST_DATA, MOST_JSON, MOST_LINES};
use crate::json;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use softwarp::isa::nearest;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A golden file and what it holds.
#[derive(Debug)]
pub struct Golden {
    /// The path of the file.
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

impl Content {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        match self {
            Content::Sums(rows) => rows.len(),
            Content::Samples(rows) => rows.len(),
            Content::Tensor(rows) => rows.len(),
            Content::Programs(rows) => rows.len(),
        }
    }
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
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// The file or folder cannot be read.
    #[error("{path}: {1}", path = .0.display())]
    Input(PathBuf, InputError),
    /// A line is not a row of the file's kind.
    #[error("{path}:{1}: {2}", path = .0.display())]
    Line(PathBuf, usize, String),
    /// A JSON file that is no test, or a recording that only another test replays.
    #[error("{}: not a golden file: it is neither a launch file nor a row that is replayed", .0.display())]
    Kind(PathBuf),
    /// Nothing to replay was found.
    #[error("{}: no golden file in it", listed(.0))]
    Nothing(Vec<PathBuf>),
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

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

/// What was found in files and folders.
#[derive(Debug, Default)]
pub struct Collected {
    /// The golden files.
    pub found: Vec<Golden>,
    /// JSON files in a folder that are no tests.
    pub skipped: Vec<PathBuf>,
    /// Files in a folder that should be replayed, and cannot be read.
    pub unread: Vec<Unread>,
}

/// Reads the files, and the golden files in the folders.
pub fn collect(paths: &[PathBuf], settings: &Settings) -> Result<Collected, GoldenError> {
    let mut all = Collected::default();
    for path in paths {
        if !path.is_dir() {
            all.found.push(read(path, settings)?);
            continue;
        }
        for file in files_below(path, settings, &mut all.unread) {
            match read(&file, settings) {
                Ok(golden) => all.found.push(golden),
                Err(GoldenError::Kind(file)) => all.skipped.push(file),
                // The file is named beside the reason.
                Err(GoldenError::Input(of, error)) if of == file => {
                    all.unread.push(Unread { file, why: error.to_string() })
                }
                Err(error) => all.unread.push(Unread { file, why: error.to_string() }),
            }
        }
    }
    match all.found.is_empty() && all.unread.is_empty() {
        true => Err(GoldenError::Nothing(paths.to_vec())),
        false => Ok(all),
    }
}

/// Whether a file looks like a test by its name.
fn is_named_as_test(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    [".json", ".jsonl", ".json.gz", ".jsonl.gz"].iter().any(|end| name.ends_with(end))
}

/// The files below a folder that look like tests, in order.
fn files_below(root: &Path, settings: &Settings, unread: &mut Vec<Unread>) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    // Links may lead to a folder twice, or back to one that is being walked.
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    let real_root = root.canonicalize().ok();
    seen.extend(real_root.clone());
    while let Some(folder) = folders.pop() {
        let mut fail = |file: &Path, why: &dyn std::fmt::Display| {
            unread.push(Unread { file: file.to_owned(), why: why.to_string() });
        };
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                fail(&folder, &error);
                continue;
            }
        };
        for entry in entries {
            let path = match entry {
                Ok(entry) => entry.path(),
                Err(error) => {
                    fail(&folder, &error);
                    continue;
                }
            };
            let named = is_named_as_test(&path);
            let (real, metadata) =
                match path.canonicalize().and_then(|real| Ok((real, std::fs::metadata(&path)?))) {
                    Ok(found) => found,
                    Err(error) => {
                        // A broken link, or one in a circle.
                        if named {
                            fail(&path, &error);
                        }
                        continue;
                    }
                };
            let outside =
                !settings.allow_paths && real_root.as_ref().is_some_and(|root| !real.starts_with(root));
            if outside && (named || metadata.is_dir()) {
                fail(&path, &"a link that leads outside of the folder; --allow-paths follows it");
            } else if metadata.is_dir() && seen.insert(real) {
                folders.push(path);
            } else if named && metadata.is_file() {
                files.push(path);
            } else if named && !metadata.is_dir() {
                fail(&path, &"it is not a regular file");
            }
        }
    }
    files.sort();
    files
}

/// The kinds of rows, by the keys that tell them.
const KINDS: &[&[&str]] = &[
    &["form", "n", "sums"],
    &["form", "rows"],
    &["name", "ptx", "launch"],
    &["api", "rc"],
    &["map", "coords", "result"],
    &["field", "before", "after"],
];

/// The keys of recordings that `verify` does not replay. Files of them are listed as skipped.
const ELSEWHERE: &[&[&str]] = &[
    // Reductions of every pair of some values, which a test of `tensor` replays.
    &["element", "reduce", "result"],
    // Verdicts of the assembler on forms of `cvt`, which tests of `isa` replay.
    &["form", "accepted"],
    &["form", "accepted_reg_types"],
    &["form", "min_ptx_by_target"],
    // Verdicts on modules, which tests of `check` replay.
    &["ptx", "mode", "ok"],
    // Answers of the driver and the runtime.
    &["what", "rc"],
    &["name", "steps"],
    &["api", "code", "string"],
    &["module", "kernel", "what"],
    &["symbol", "exported"],
];

/// What to say about a row that is of no kind: the key that is misspelt, or a key that no kind has, and the keys of
/// all kinds.
fn of_no_kind(row: &Json) -> String {
    let Some(row) = row.as_object() else { return "a row must be an object".to_owned() };
    for kind in KINDS {
        let missing: Vec<&str> = kind.iter().copied().filter(|key| !row.contains_key(*key)).collect();
        if let &[missing] = missing.as_slice()
            && let Some(key) = row.keys().find(|key| nearest(key, [missing]).is_some())
        {
            return format!("there is no key `{}`: did you mean `{missing}`?", json::shown(key));
        }
    }
    let known: BTreeSet<&str> = KINDS.iter().copied().flatten().copied().collect();
    let known: Vec<&str> = known.into_iter().collect();
    let kinds: Vec<String> = KINDS.iter().map(|keys| keys.join(", ")).collect();
    let kinds = format!("a row has {}", kinds.join("; or "));
    match row.keys().find(|key| !known.contains(&key.as_str()) && !json::is_remark(key)) {
        Some(key) => match json::near(key, &known) {
            Some(near) => format!("there is no key `{}`: did you mean `{near}`? {kinds}", json::shown(key)),
            None => format!("there is no key `{}`: {kinds}", json::shown(key)),
        },
        None => format!("keys are missing: {kinds}"),
    }
}

fn read(path: &Path, settings: &Settings) -> Result<Golden, GoldenError> {
    let unreadable = |error| GoldenError::Input(path.to_owned(), error);
    let line_error = |line, why: String| GoldenError::Line(path.to_owned(), line, why);
    let limit = settings.limit(MOST_DATA);
    // Standard input has rows, as a .jsonl file does.
    let input = if path == Path::new("-") { Input::stdin(limit) } else { Input::open(path, limit) };
    let input = input.map_err(unreadable)?;
    let golden = |content| Golden { file: path.to_owned(), content };
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let zipped = name.ends_with(".gz");
    if name.ends_with(".json") || name.ends_with(".json.gz") {
        let limit = settings.limit(MOST_JSON);
        let bytes = match zipped {
            true => input::all(flate2::read::MultiGzDecoder::new(input), limit),
            false => input::all(input, limit),
        };
        let text = String::from_utf8(bytes.map_err(unreadable)?);
        let text = text.map_err(|_| line_error(1, "not UTF-8".to_owned()))?;
        let launch =
            json::parse(&text).map_err(|error| line_error(error.line(), format!("not JSON: {error}")))?;
        return Ok(golden(Content::Programs(vec![programs::read(path, launch, settings)?])));
    }
    let mut lines = Lines::new(input, zipped, settings.limit(MOST_JSON), settings.limit(MOST_LINES));
    let first = lines.next().ok_or_else(|| line_error(1, "the file is empty".to_owned()))?;
    let first = first.map_err(unreadable)?;
    let keys = json::parse(&first).map_err(|error| line_error(1, format!("not JSON: {error}")))?;
    let rows = Rows { path, lines: std::iter::once(Ok(first)).chain(lines) };
    Ok(golden(if keys.get("sums").is_some() {
        Content::Sums(rows.typed(&["form", "n", "sums", "samples"])?)
    } else if keys.get("rows").is_some() && keys.get("form").is_some() {
        Content::Samples(rows.typed(&["form", "rows"])?)
    } else if super::tensor::is_known(&keys) {
        Content::Tensor(rows.each(|row| match super::tensor::is_known(&row) {
            true => Ok(row),
            false => Err(of_no_kind(&row)),
        })?)
    } else if programs::is_known(&keys) {
        Content::Programs(rows.typed(&["name", "ptx", "launch"])?)
    } else if ELSEWHERE.iter().any(|kind| kind.iter().all(|key| keys.get(*key).is_some())) {
        return Err(GoldenError::Kind(path.to_owned()));
    } else {
        return Err(line_error(1, of_no_kind(&keys)));
    }))
}

/// The rows of a file.
struct Rows<'a, L> {
    path: &'a Path,
    lines: L,
}

impl<L: Iterator<Item = Result<String, InputError>>> Rows<'_, L> {
    fn each<T>(self, read: impl Fn(Json) -> Result<T, String>) -> Result<Vec<T>, GoldenError> {
        let mut rows = Vec::new();
        for (number, line) in (1..).zip(self.lines) {
            let line = line.map_err(|error| GoldenError::Input(self.path.to_owned(), error))?;
            let row = json::parse(&line).map_err(|error| error.to_string()).and_then(&read);
            rows.push(row.map_err(|why| GoldenError::Line(self.path.to_owned(), number, why))?);
        }
        Ok(rows)
    }

    /// Rows that have these keys, and remarks.
    fn typed<T: DeserializeOwned>(self, keys: &[&str]) -> Result<Vec<T>, GoldenError> {
        self.each(|row| {
            if let Some(why) = row.as_object().and_then(|row| json::unknown(row, keys)) {
                return Err(why);
            }
            serde_json::from_value(row).map_err(|error| error.to_string())
        })
    }
}
