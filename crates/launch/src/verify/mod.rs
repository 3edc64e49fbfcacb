//! Replays recorded results and counts agreements.
//!
//! A golden file is a file of JSON lines, perhaps gzipped; what it holds is told by the keys of its rows:
//!
//! | keys | what is replayed |
//! |---|---|
//! | `form`, `n`, `sums` | a `cvt` over its whole input space, as 64 sums ([`space`]); or an approximate function ([`approx`]) |
//! | `form`, `rows` | a `cvt` or `cvt.pack` on single inputs: sources, then the result. Of two f32 sources the second may be left out, and is then derived as in a space. |
//! | `name`, `ptx`, `launch` | a program: a module, and its launch file with what to expect ([`programs`]) |
//!
//! Tensor maps and copies have rows of their own: [`tensor`] lists them. A launch file (`.json`, `.json.gz`) with the
//! module that it names is a golden file, too.
//!
//! [`mod@gpu`] holds the same recordings against a GPU, and [`mod@record`] makes new ones there.
//!
//! Nothing here prints: the caller renders the [`Report`].

pub mod approx;
pub mod forms;
pub mod golden;
pub mod gpu;
pub mod programs;
pub mod record;
pub mod tensor;

use crate::input::{self, InputError};
use crate::space::{self, CHUNKS, Replay};
use golden::{Collected, Content, Golden, GoldenError, SampleRow, SumRow};
use rayon::prelude::*;
use softwarp::isa::{CvtForm, Semantics};
use softwarp::num::{Cvt, Extra, extend, pack};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How much to replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// The edges of each space and a few chunks that depend on the form.
    #[default]
    Subset,
    /// Every chunk.
    Full,
}

/// What one golden row came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The file it is from.
    pub file: PathBuf,
    /// The `cvt` form, as the file spells it; of other rows, what they are.
    pub form: String,
    /// What went wrong; `None` if everything replayed agrees.
    pub failure: Option<Failure>,
}

/// How a row disagrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The row cannot be replayed: the form is unknown, or the row does not fit it.
    Unusable(String),
    /// Chunks whose sums differ, as ranges of input indices.
    Chunks(Vec<ChunkDifference>),
    /// Inputs whose results differ.
    Rows(Vec<RowDifference>),
    /// Something else differs.
    Words {
        /// What was recorded.
        expected: String,
        /// Ours.
        got: String,
    },
}

/// A chunk whose sum differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkDifference {
    /// The number of the chunk, less than 64.
    pub chunk: u64,
    /// Its first input index.
    pub first: u64,
    /// Its last input index.
    pub last: u64,
    /// The recorded sum.
    pub expected: u64,
    /// Ours.
    pub got: u64,
}

/// An input whose result differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowDifference {
    /// The sources.
    pub sources: Vec<u64>,
    /// The recorded result.
    pub expected: u64,
    /// Ours.
    pub got: u64,
}

/// A file that looks like a test and was not replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The file.
    pub file: PathBuf,
    /// Why it was not replayed.
    pub why: String,
}

/// How to replay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// How much to replay.
    pub depth: Depth,
    /// Where the manual gives only bounds, results must still be equal.
    pub exact: bool,
    /// What a program may take.
    pub limits: programs::Limits,
    /// Files may refer to others outside of their folder.
    pub allow_paths: bool,
    /// The longest file, instead of the usual limits of [`crate::input`].
    pub max_input: Option<u64>,
}

impl Settings {
    /// The longest file, where it is usually this long.
    fn limit(&self, usual: u64) -> u64 {
        self.max_input.unwrap_or(usual)
    }
}

/// A program that was not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The file it is from.
    pub file: PathBuf,
    /// Its name.
    pub name: String,
    /// Why it was not run.
    pub why: String,
}

/// What a replay came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Every row, in the order of the files.
    pub outcomes: Vec<Outcome>,
    /// Files in a folder that hold nothing this version replays.
    pub skipped: Vec<PathBuf>,
    /// Files that a recording lacks. What can be compared without them was.
    pub missing: Vec<PathBuf>,
    /// Programs that the machine refuses to load, and why.
    pub refused: Vec<Refused>,
    /// Files in a folder that look like tests and cannot be read.
    pub unread: Vec<Unread>,
}

impl Report {
    /// Rows that agree.
    pub fn passed(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.failure.is_none()).count()
    }

    /// Rows that do not.
    pub fn failed(&self) -> usize {
        self.outcomes.len() - self.passed()
    }
}

/// Replays golden files, and the golden files in folders. `progress` hears of work done and in all.
pub fn verify(
    paths: &[PathBuf],
    depth: Depth,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Report, GoldenError> {
    verify_with(paths, &Settings { depth, ..Settings::default() }, progress)
}

/// Replays what is recorded in files and folders, with all settings.
pub fn verify_with(
    paths: &[PathBuf],
    settings: &Settings,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Report, GoldenError> {
    let (depth, exact) = (settings.depth, settings.exact);
    let Collected { found, skipped, unread } = golden::collect(paths, settings)?;
    let mut report = Report { skipped, unread, ..Report::default() };
    let mut sums = Vec::new();
    let mut programs = Vec::new();
    let mut functions = Vec::new();
    for golden in found {
        let Golden { file, content } = golden;
        match content {
            Content::Samples(rows) => {
                let replay = |row: &SampleRow| Outcome {
                    file: file.clone(),
                    form: row.form.clone(),
                    failure: replay_samples(row).err(),
                };
                report.outcomes.extend(rows.iter().map(replay));
            }
            Content::Tensor(rows) => {
                let in_folder = paths.iter().any(|path| path != &file);
                report.missing.extend(tensor::missing(&file, &rows, in_folder));
                report.outcomes.extend(tensor::replay(&file, &rows));
            }
            Content::Programs(rows) => programs.extend(rows.into_iter().map(|row| (file.clone(), row))),
            Content::Sums(rows) => {
                // Left open until all files are read: spaces are walked once for all forms.
                for row in rows {
                    if approx::is_known(&row) {
                        functions.push((file.clone(), row));
                        continue;
                    }
                    sums.push((report.outcomes.len(), row));
                    let form = sums.last().map(|(_, row)| row.form.clone()).unwrap_or_default();
                    report.outcomes.push(Outcome { file: file.clone(), form, failure: None });
                }
            }
        }
    }
    programs::replay(&programs, settings.limits, &mut report, progress);
    let done = std::cell::Cell::new(0);
    for (file, row) in functions {
        let more = |count| {
            done.set(done.get() + count);
            progress(done.get(), done.get());
        };
        let failure = approx::replay(&file, &row, depth, exact, &more).err();
        report.outcomes.push(Outcome { file, form: row.form, failure });
    }
    report.missing.sort();
    report.missing.dedup();
    for (outcome, failure) in replay_sums(&sums, depth, progress) {
        if let Some(outcome) = report.outcomes.get_mut(outcome) {
            outcome.failure = Some(failure);
        }
    }
    Ok(report)
}

/// What a file beside another one holds, of at most a given number of bytes; `None` if there is none.
fn beside(file: &Path, name: &str, limit: u64) -> Result<Option<Vec<u8>>, InputError> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let bytes = input::confined(folder, Path::new(name), false).and_then(|path| input::read(&path, limit));
    match bytes {
        Err(InputError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

fn semantics(form: &str) -> Result<Semantics, Failure> {
    CvtForm::parse(form).map(CvtForm::semantics).map_err(|error| Failure::Unusable(error.to_string()))
}

fn replay_samples(row: &SampleRow) -> Result<(), Failure> {
    let semantics = semantics(&row.form)?;
    let mut differences = Vec::new();
    for values in &row.rows {
        let evaluated = values
            .split_last()
            .and_then(|(&expected, sources)| Some((evaluate(semantics, sources)?, expected, sources)));
        let Some((got, expected, sources)) = evaluated else {
            return Err(Failure::Unusable(format!("a row of {} values does not fit it", values.len())));
        };
        if got != expected {
            differences.push(RowDifference { sources: sources.to_vec(), expected, got });
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(Failure::Rows(differences)) }
}

/// The result in a register of at least 32 bits; `None` if the sources are too many or too few.
fn evaluate(semantics: Semantics, sources: &[u64]) -> Option<u64> {
    match (semantics, sources) {
        (Semantics::Cvt(cvt), &[a]) if cvt.sources() <= 2 => evaluate_cvt(cvt, &[a, space::second(a)]),
        (Semantics::Cvt(cvt), _) if cvt.sources() == sources.len() => evaluate_cvt(cvt, sources),
        (Semantics::Pack { to, with_c: false }, &[a, b]) => Some(pack(to, a as i32, b as i32, None).into()),
        (Semantics::Pack { to, with_c: true }, &[a, b, c]) => {
            Some(pack(to, a as i32, b as i32, Some(c as u32)).into())
        }
        _ => None,
    }
}

fn evaluate_cvt(cvt: Cvt, sources: &[u64]) -> Option<u64> {
    // Random bits and scales are not recorded.
    if cvt.compiled()?.aux_bytes() != 0 {
        return None;
    }
    let register = cvt.eval(sources, Extra::default())?;
    let element = cvt.element.dst;
    Some(if cvt.lanes == 1 { extend(element, register, element.bits().max(32)) } else { register })
}

/// Indices that one task covers: small enough to keep all cores busy to the end.
const TASK: u64 = 1 << 20;

/// Replays rows of sums together; returns the failures by the number given with each row.
fn replay_sums(
    rows: &[(usize, SumRow)],
    depth: Depth,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Vec<(usize, Failure)> {
    let mut failures = Vec::new();
    let mut replays = Vec::new();
    for (outcome, row) in rows {
        match prepare(row) {
            Ok(replay) => replays.push((*outcome, row, replay)),
            Err(failure) => failures.push((*outcome, failure)),
        }
    }

    // Everything that wants the same indices goes into one task.
    let mut tasks: BTreeMap<(u64, u64), Vec<usize>> = BTreeMap::new();
    for (k, (_, row, replay)) in replays.iter().enumerate() {
        for chunk in chunks(&row.form, replay.indices(), depth) {
            tasks.entry((replay.indices(), chunk)).or_default().push(k);
        }
    }
    let tasks: Vec<_> = tasks
        .iter()
        .flat_map(|(&(len, chunk), members)| {
            let size = len / CHUNKS;
            let pieces = size.div_ceil(TASK).max(1);
            (0..pieces).map(move |piece| {
                let start = chunk * size + piece * TASK;
                (chunk, start..(start + TASK).min((chunk + 1) * size), members)
            })
        })
        .collect();
    let work = |(_, range, members): &(u64, std::ops::Range<u64>, &Vec<usize>)| {
        (range.end - range.start) * members.len() as u64
    };
    let total = tasks.iter().map(work).sum();
    let done = std::sync::atomic::AtomicU64::new(0);
    let partial_sums: Vec<Vec<u64>> = tasks
        .par_iter()
        .map(|task| {
            let members: Vec<&Replay> = task.2.iter().map(|&k| &replays[k].2).collect();
            let sums = space::sums(&members, task.1.clone());
            let done = done.fetch_add(work(task), std::sync::atomic::Ordering::Relaxed) + work(task);
            progress(done, total);
            sums
        })
        .collect();

    let mut got: BTreeMap<(usize, u64), u64> = BTreeMap::new();
    for ((chunk, _, members), sums) in tasks.iter().zip(partial_sums) {
        for (&k, sum) in members.iter().zip(sums) {
            let entry = got.entry((k, *chunk)).or_default();
            *entry = entry.wrapping_add(sum);
        }
    }
    let mut differences: BTreeMap<usize, Vec<ChunkDifference>> = BTreeMap::new();
    for ((k, chunk), got) in got {
        let (outcome, row, replay) = &replays[k];
        let expected = row.sums[chunk as usize];
        if got != expected {
            let size = replay.indices() / CHUNKS;
            let (first, last) = (chunk * size, (chunk + 1) * size - 1);
            let difference = ChunkDifference { chunk, first, last, expected, got };
            differences.entry(*outcome).or_default().push(difference);
        }
    }
    failures.extend(differences.into_iter().map(|(outcome, chunks)| (outcome, Failure::Chunks(chunks))));
    failures
}

fn prepare(row: &SumRow) -> Result<Replay, Failure> {
    let unusable = |why: String| Err(Failure::Unusable(why));
    let replay = match semantics(&row.form)? {
        Semantics::Cvt(cvt) => Replay::new(cvt),
        Semantics::Pack { .. } => None,
    };
    let Some(replay) = replay else {
        return unusable("takes operands that a space of inputs does not give".into());
    };
    if row.n != replay.indices() {
        return unusable(format!("n is {}, but its space has {} inputs", row.n, replay.indices()));
    }
    if row.sums.len() as u64 != CHUNKS {
        return unusable(format!("{} sums instead of {CHUNKS}", row.sums.len()));
    }
    Ok(replay)
}

/// The chunks to replay: all of a small space; of a large one an edge and one that the form's name picks.
fn chunks(form: &str, len: u64, depth: Depth) -> Vec<u64> {
    let name = form.bytes().fold(0, |hash, byte| softwarp::num::splitmix::hash(hash ^ u64::from(byte)));
    match (depth, len) {
        (Depth::Full, _) | (_, ..=0x1_0000) => (0..CHUNKS).collect(),
        (_, ..=0x100_0000) => (0..8).map(|k| (name + 8 * k) % CHUNKS).collect(),
        // Zeros and subnormals; infinities and NaNs of either sign; and one more.
        _ => {
            let edge = [0, 31, 32, 63][(name >> 8) as usize % 4];
            let other = name % CHUNKS;
            if other == edge { vec![edge] } else { vec![edge, other] }
        }
    }
}
