//! Records what a GPU does, in the format that `verify` reads.
//!
//! Programs stand alone in their rows: files that a launch file names are read, and their bytes are in the row. Each row says
//! under `hardware` what it was recorded on.

use super::golden::{self, Collected, Content, Golden};
use super::gpu::{Came, OnGpu, OnGpuError};
use super::programs::Program;
use super::{Refused, Settings};
use crate::bytes::to_hex;
use crate::run::data::Files;
use crate::run::file::LaunchFile;
use crate::space::CHUNKS;
use base64::Engine;
use serde_json::{Map, Value as Json, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file of rows.
#[derive(Debug)]
pub struct Recorded {
    /// The recording or launch file that it was made from.
    pub from: PathBuf,
    /// Whether that is a launch file, of which many go into one file.
    pub single: bool,
    /// Its rows.
    pub rows: Vec<Json>,
}

/// What was recorded, and what was not.
#[derive(Debug, Default)]
pub struct Recording {
    /// The files.
    pub files: Vec<Recorded>,
    /// What has no results.
    pub refused: Vec<Refused>,
    /// Files that cannot be read.
    pub unread: Vec<super::Unread>,
}

/// Runs everything that is in files and folders on a GPU. `hardware` goes into each row.
pub fn record(
    paths: &[PathBuf],
    settings: &Settings,
    on: &mut OnGpu<'_>,
    hardware: &Json,
    progress: &dyn Fn(u64, u64),
) -> Result<Recording, OnGpuError> {
    let Collected { found, unread, .. } = golden::collect(paths, settings)?;
    let mut recording = Recording { unread, ..Recording::default() };
    let total = found.iter().map(|golden| golden.content.rows()).sum::<usize>() as u64;
    let mut done = 0;
    for Golden { file, content } in found {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let single = name.ends_with(".json") || name.ends_with(".json.gz");
        let mut rows = Vec::new();
        let mut keep = |name: &str, came: Came<Map<String, Json>>| {
            match came {
                Came::Results(mut row) => {
                    row.insert("hardware".to_owned(), hardware.clone());
                    rows.push(Json::Object(row));
                }
                Came::Failed(why) | Came::Refused(why) => {
                    recording.refused.push(Refused { file: file.clone(), name: name.to_owned(), why });
                }
            }
            done += 1;
            progress(done, total);
        };
        match content {
            Content::Tensor(_) => {
                let why = "tensor maps and their copies are not recorded".to_owned();
                keep("tensor maps", Came::Refused(why));
            }
            Content::Programs(programs) => {
                for program in programs {
                    let came = of_program(on, &program)?;
                    keep(&program.name, came);
                }
            }
            Content::Samples(samples) => {
                for row in samples {
                    let came = map(on.samples(&row)?, |results| {
                        let hex = |value: &u64| Json::from(format!("{value:x}"));
                        let row_of = |(values, result): (&Vec<u64>, u64)| {
                            let (_, sources) = values.split_last().unwrap_or((&0, &[]));
                            sources.iter().chain([&result]).map(hex).collect::<Json>()
                        };
                        let all: Json = row.rows.iter().zip(results).map(row_of).collect();
                        object(json!({"form": row.form, "rows": all}))
                    });
                    keep(&row.form, came);
                }
            }
            Content::Sums(sums) => {
                let chunks: Vec<u64> = (0..CHUNKS).collect();
                for row in sums {
                    let came = map(on.sums(&row, &chunks)?, |results| {
                        let sums: Json =
                            results.iter().map(|sum| Json::from(format!("{sum:016x}"))).collect();
                        object(json!({"form": row.form, "n": row.n, "sums": sums}))
                    });
                    keep(&row.form, came);
                }
            }
        }
        recording.files.push(Recorded { from: file, single, rows });
    }
    recording.files.retain(|file| !file.rows.is_empty());
    Ok(recording)
}

fn map<T, U>(came: Came<T>, with: impl FnOnce(T) -> U) -> Came<U> {
    match came {
        Came::Results(results) => Came::Results(with(results)),
        Came::Failed(why) => Came::Failed(why),
        Came::Refused(why) => Came::Refused(why),
    }
}

fn object(json: Json) -> Map<String, Json> {
    if let Json::Object(map) = json { map } else { Map::new() }
}

fn of_program(on: &mut OnGpu<'_>, program: &Program) -> Result<Came<Map<String, Json>>, OnGpuError> {
    let file = match LaunchFile::from_value(&program.launch, program.files.as_ref()) {
        Ok(file) => file,
        Err(error) => return Ok(Came::Refused(error.to_string())),
    };
    // What the file expects, and else what it reads back.
    let mut read: Vec<String> = file.expect.iter().map(|(name, _)| name.clone()).collect();
    if read.is_empty() {
        read = file.dumped().cloned().collect();
    }
    if read.is_empty() {
        read = file.buffers.iter().map(|buffer| buffer.name.clone()).collect();
    }
    read.retain(|name| !file.freed.contains(name));
    let launch = match alone(&program.launch, program.files.as_ref()) {
        Ok(launch) => launch,
        Err(why) => return Ok(Came::Refused(why)),
    };
    Ok(map(on.program(program, &file, read)?, |memories| {
        let mut launch = object(launch);
        let expect: Map<String, Json> =
            memories.iter().map(|(name, bytes)| (name.clone(), data(bytes))).collect();
        launch.insert("expect".to_owned(), expect.into());
        object(json!({"name": program.name, "ptx": program.ptx, "launch": launch}))
    }))
}

/// Bytes as launch files have them: digits if they are few, else compressed.
fn data(bytes: &[u8]) -> Json {
    if bytes.len() <= 64 {
        return to_hex(bytes).into();
    }
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let packed = packer.write_all(bytes).and_then(|()| packer.finish());
    match packed {
        Ok(packed) => json!({"zlib": base64::engine::general_purpose::STANDARD.encode(packed)}),
        Err(_) => to_hex(bytes).into(),
    }
}

/// A launch file that names no other files.
fn alone(launch: &Json, files: Option<&Files>) -> Result<Json, String> {
    let mut launch = object(launch.clone());
    launch.remove("ptx");
    launch.remove("$schema");
    // Where results go is for those who run it.
    if let Some(Json::Object(dumps)) = launch.get("dump") {
        let names: Json = dumps.keys().map(|name| Json::from(name.as_str())).collect();
        launch.insert("dump".to_owned(), names);
    }
    let Some(files) = files else { return Ok(launch.into()) };
    for (key, value) in &mut launch {
        if key != "dump" {
            inline(value, files, 0)?;
        }
    }
    Ok(launch.into())
}

/// How deep launch files are looked into.
const DEEPEST: usize = 64;

/// Puts the bytes of files in place of their names.
fn inline(value: &mut Json, files: &Files, depth: usize) -> Result<(), String> {
    let name = value.as_object().and_then(|map| match map.iter().next() {
        Some((key, Json::String(name))) if map.len() == 1 && (key == "npy" || key == "file") => {
            Some((key == "npy", name.clone()))
        }
        _ => None,
    });
    if let Some((array, name)) = name {
        *value = data(&files.bytes(&name, array)?);
        return Ok(());
    }
    if depth > DEEPEST {
        return Err("the launch file is nested too deeply".to_owned());
    }
    match value {
        Json::Object(map) => map.values_mut().try_for_each(|value| inline(value, files, depth + 1)),
        Json::Array(list) => list.iter_mut().try_for_each(|value| inline(value, files, depth + 1)),
        _ => Ok(()),
    }
}

/// Rows as a file has them, compressed if its name says so.
pub fn bytes(rows: &[Json], path: &Path) -> std::io::Result<Vec<u8>> {
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    if path.extension().is_none_or(|end| end != "gz") {
        return Ok(text.into_bytes());
    }
    let mut packer = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::best());
    packer.write_all(text.as_bytes())?;
    packer.finish()
}
