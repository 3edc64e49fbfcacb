//! Holds recordings against the GPU at hand, and records what it does.

use super::forms::{self, Kernel, OUT};
use super::golden::{self, Collected, Content, Golden, GoldenError, SampleRow, SumRow};
use super::programs::Program;
use super::{ChunkDifference, Failure, Outcome, Refused, Report, RowDifference, Settings, approx, chunks};
use crate::gpu::{Gpu, GpuError};
use crate::run::differences;
use crate::run::file::LaunchFile;
use crate::space::CHUNKS;
use softwarp::source::Source;
use softwarp_gpu::{ClientError, Device, Stage};
use std::path::{Path, PathBuf};

/// Why nothing could be held against a GPU.
#[derive(Debug, thiserror::Error)]
pub enum OnGpuError {
    /// Recordings cannot be read.
    #[error(transparent)]
    Golden(#[from] GoldenError),
    /// The GPU cannot be used.
    #[error(transparent)]
    Gpu(GpuError),
}

/// What one row came to on the GPU.
pub enum Came<T> {
    /// It ran.
    Results(T),
    /// It ran and failed.
    Failed(String),
    /// This GPU, or its driver, does not take it.
    Refused(String),
}

/// What memories hold, by name.
type Memories = Vec<(String, Vec<u8>)>;

/// What only softwarp replays.
const TENSOR: &str = "recorded calls and copies of tensor maps are replayed by softwarp alone";
const BUG: &str = "a planted bug: the sanitizers of softwarp look for it, a GPU does not";

/// Whether an error is about one program, and what it came to; else no other program can run either.
fn came<T>(error: GpuError) -> Result<Came<T>, OnGpuError> {
    if error.fault().is_some() || error.timed_out() {
        return Ok(Came::Failed(error.to_string()));
    }
    match &error {
        GpuError::File(_) | GpuError::Target(_) => Ok(Came::Refused(error.to_string())),
        GpuError::Client(ClientError::Job(failure)) => Ok(match failure.stage {
            Stage::Load => Came::Refused(first_lines(&error.to_string())),
            _ => Came::Failed(error.to_string()),
        }),
        GpuError::Client(ClientError::Ended(_)) => Ok(Came::Failed(error.to_string())),
        GpuError::Client(_) => Err(OnGpuError::Gpu(error)),
    }
}

/// Messages of a compiler can be long.
fn first_lines(text: &str) -> String {
    text.lines().take(3).collect::<Vec<_>>().join(" ")
}

/// A GPU, and what it is.
pub struct OnGpu<'a> {
    gpu: &'a mut Gpu,
    device: Device,
}

impl<'a> OnGpu<'a> {
    /// Starts to use it.
    pub fn new(gpu: &'a mut Gpu) -> Result<OnGpu<'a>, OnGpuError> {
        let device = gpu.device().map_err(OnGpuError::Gpu)?;
        Ok(OnGpu { gpu, device })
    }

    /// What it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Runs a program and reads memories back.
    pub fn program(
        &mut self,
        program: &Program,
        file: &LaunchFile,
        read: Vec<String>,
    ) -> Result<Came<Memories>, OnGpuError> {
        let source = Source::new(program.name.clone(), program.ptx.clone().into_bytes());
        match self.gpu.run(file, &[source], read) {
            Ok(results) => Ok(Came::Results(results.memories)),
            Err(error) => came(error),
        }
    }

    /// Runs a kernel of a form; gives its words.
    fn kernel(&mut self, kernel: Option<Kernel>) -> Result<Came<Vec<u64>>, OnGpuError> {
        let Some(Kernel { source, file }) = kernel else {
            return Ok(Came::Refused("there is no kernel for such a form".to_owned()));
        };
        match self.gpu.run(&file, &[source], vec![OUT.to_owned()]) {
            Ok(results) => {
                let bytes = results.memories.first().map_or(&[][..], |(_, bytes)| bytes);
                let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
                Ok(Came::Results(words.collect()))
            }
            Err(error) => came(error),
        }
    }

    /// The results of a form on single inputs.
    pub fn samples(&mut self, row: &SampleRow) -> Result<Came<Vec<u64>>, OnGpuError> {
        self.kernel(forms::samples(row, &self.device))
    }

    /// The sums of a form over chunks.
    pub fn sums(&mut self, row: &SumRow, chunks: &[u64]) -> Result<Came<Vec<u64>>, OnGpuError> {
        self.kernel(forms::sums(row, chunks, &self.device))
    }
}

/// Holds what is recorded in files and folders against a GPU.
pub fn verify(
    paths: &[PathBuf],
    settings: &Settings,
    on: &mut OnGpu<'_>,
    progress: &dyn Fn(u64, u64),
) -> Result<Report, OnGpuError> {
    let Collected { found, skipped, unread } = golden::collect(paths, settings)?;
    let mut report = Report { skipped, unread, ..Report::default() };
    let total = found.iter().map(|golden| golden.content.rows()).sum::<usize>() as u64;
    let mut done = 0;
    for Golden { file, content } in found {
        let mut step = || {
            done += 1;
            progress(done, total);
        };
        match content {
            Content::Tensor(_) => refuse(&mut report, &file, "tensor maps", TENSOR.to_owned()),
            Content::Programs(programs) => {
                for program in programs {
                    let came = of_program(on, &program)?;
                    add(&mut report, &file, program.name, came);
                    step();
                }
            }
            Content::Samples(rows) => {
                for row in rows {
                    let came = of_samples(on, &row)?;
                    add(&mut report, &file, row.form, came);
                    step();
                }
            }
            Content::Sums(rows) => {
                for row in rows {
                    let came = of_sums(on, &row, settings)?;
                    add(&mut report, &file, row.form, came);
                    step();
                }
            }
        }
    }
    Ok(report)
}

fn refuse(report: &mut Report, file: &Path, name: &str, why: String) {
    report.refused.push(Refused { file: file.to_owned(), name: name.to_owned(), why });
}

fn add(report: &mut Report, file: &Path, name: String, came: Came<Option<Failure>>) {
    let failure = match came {
        Came::Refused(why) => return refuse(report, file, &name, why),
        Came::Failed(got) => Some(Failure::Words { expected: "a result".to_owned(), got }),
        Came::Results(failure) => failure,
    };
    report.outcomes.push(Outcome { file: file.to_owned(), form: name, failure });
}

fn of_program(on: &mut OnGpu<'_>, program: &Program) -> Result<Came<Option<Failure>>, OnGpuError> {
    let file = match LaunchFile::from_value(&program.launch, program.files.as_ref()) {
        Ok(file) => file,
        Err(error) => return Ok(Came::Results(Some(Failure::Unusable(error.to_string())))),
    };
    if file.bug.is_some() {
        return Ok(Came::Refused(BUG.to_owned()));
    }
    if file.expect.is_empty() && !file.control {
        let why = "it says nothing to compare with: there is neither `expect` nor `bug`";
        return Ok(Came::Results(Some(Failure::Unusable(why.to_owned()))));
    }
    let read = file.expect.iter().map(|(name, _)| name.clone()).collect();
    Ok(match on.program(program, &file, read)? {
        Came::Results(memories) => {
            Came::Results(differences(&file, &memories).first().map(|(name, found)| Failure::Words {
                expected: "other results".to_owned(),
                got: format!("`{name}`: {found}"),
            }))
        }
        Came::Failed(why) => Came::Failed(why),
        Came::Refused(why) => Came::Refused(why),
    })
}

fn of_samples(on: &mut OnGpu<'_>, row: &SampleRow) -> Result<Came<Option<Failure>>, OnGpuError> {
    Ok(match on.samples(row)? {
        Came::Results(results) => {
            let mut differing = Vec::new();
            for (values, got) in row.rows.iter().zip(results) {
                let Some((expected, sources)) = values.split_last() else { continue };
                if *expected != got {
                    differing.push(RowDifference { sources: sources.to_vec(), expected: *expected, got });
                }
            }
            Came::Results((!differing.is_empty()).then_some(Failure::Rows(differing)))
        }
        Came::Failed(why) => Came::Failed(why),
        Came::Refused(why) => Came::Refused(why),
    })
}

fn of_sums(
    on: &mut OnGpu<'_>,
    row: &SumRow,
    settings: &Settings,
) -> Result<Came<Option<Failure>>, OnGpuError> {
    let usable = if approx::is_known(row) { Ok(()) } else { super::prepare(row).map(drop) };
    if let Err(failure) = usable {
        return Ok(Came::Results(Some(failure)));
    }
    if row.sums.len() as u64 != CHUNKS {
        let why = format!("{} sums instead of {CHUNKS}", row.sums.len());
        return Ok(Came::Results(Some(Failure::Unusable(why))));
    }
    let chunks = chunks(&row.form, row.n, settings.depth);
    Ok(match on.sums(row, &chunks)? {
        Came::Results(results) => {
            let size = row.n / CHUNKS;
            let mut differing = Vec::new();
            for (chunk, got) in chunks.into_iter().zip(results) {
                let expected = row.sums.get(chunk as usize).copied().unwrap_or_default();
                if got != expected {
                    let (first, last) = (chunk * size, (chunk + 1) * size - 1);
                    differing.push(ChunkDifference { chunk, first, last, expected, got });
                }
            }
            Came::Results((!differing.is_empty()).then_some(Failure::Chunks(differing)))
        }
        Came::Failed(why) => Came::Failed(why),
        Came::Refused(why) => Came::Refused(why),
    })
}
