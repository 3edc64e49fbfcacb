//! `softwarp record`: makes recordings of what a GPU does.

use super::checking::count;
use super::driver::{DriverArgs, on_gpu};
use super::progress::Progress;
use super::{CommandError, Printed, files};
use crate::gpu::{in_json, in_words};
use crate::verify::Settings;
use crate::verify::gpu::OnGpu;
use crate::verify::record::{Recorded, bytes, record};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// Record what a GPU does, for softwarp verify
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Launch files (.json) or recordings (.jsonl, .jsonl.gz) to run, or a folder of them
    suite: PathBuf,
    /// Where the recordings go: a folder, or a file that ends in .jsonl or .jsonl.gz
    out: PathBuf,
    /// A date to put into each row, as you like to write it
    #[arg(long, value_name = "DATE")]
    date: Option<String>,
    /// Let files refer to others outside of their folder, and follow links out of folders
    #[arg(long)]
    allow_paths: bool,
    #[command(flatten)]
    driver: DriverArgs,
}

const HELP: &str = "\
Every program of the suite runs on the GPU, and what it computes is what the recording expects; recorded
conversions run on their inputs again. Each row says under `hardware` which GPU and driver it was. What
cannot be recorded is listed, with exit code 1: the rest is written. OUT is for `softwarp verify OUT`,
which replays it without a GPU, and `softwarp verify --gpu OUT`, which holds it against another one.

Example:
  softwarp record crates/cli/tests/golden my-gpu";

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let mut gpu = args.driver.gpu()?;
    let mut on = OnGpu::new(&mut gpu).map_err(on_gpu)?;
    let settings =
        Settings { allow_paths: args.allow_paths, max_input: files::user_limit(), ..Settings::default() };
    let mut hardware = in_json(on.device());
    if let Some(date) = &args.date {
        hardware["date"] = date.as_str().into();
    }
    let progress = Progress::new(0, "rows");
    let shown = |done, total| progress.of(done, total, "");
    let paths = std::slice::from_ref(&args.suite);
    let recording = record(paths, &settings, &mut on, &hardware, &shown).map_err(on_gpu)?;
    progress.finish();
    let mut text = String::new();
    for one in &recording.unread {
        text.push_str(&format!("not read {}: {}\n", one.file.display(), one.why));
    }
    for one in &recording.refused {
        text.push_str(&format!("not recorded {}: {}: {}\n", one.file.display(), one.name, one.why));
    }
    let mut rows = 0;
    for (path, all) in outputs(args, recording.files)? {
        rows += all.len();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let failed = |error| CommandError::Io(format!("cannot make {}: {error}", folder.display()));
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let packed = bytes(&all, &path);
        let packed = packed.map_err(|error| CommandError::Io(format!("{}: {error}", path.display())))?;
        files::Output::write(&path, &packed)?;
    }
    text.push_str(&format!("{} recorded on {}\n", count((rows, "row")), in_words(on.device())));
    let lacking = recording.refused.len() + recording.unread.len();
    let failure = (lacking > 0).then(|| {
        CommandError::Input(format!("{} of the suite could not be recorded", count((lacking, "row"))))
    });
    Ok(Printed { text, failure })
}

/// The files to write, with their rows.
fn outputs(args: &Args, files: Vec<Recorded>) -> Result<Vec<(PathBuf, Vec<Json>)>, CommandError> {
    let name = args.out.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let one = name.ends_with(".jsonl") || name.ends_with(".jsonl.gz");
    let mut outputs: Vec<(PathBuf, Vec<Json>)> = Vec::new();
    for Recorded { from, single, rows } in files {
        let path = match (one, single) {
            (true, _) => args.out.clone(),
            (false, true) => args.out.join("programs.jsonl.gz"),
            (false, false) => args.out.join(packed_name(&args.suite, &from)),
        };
        match outputs.iter_mut().find(|(known, _)| *known == path) {
            Some((_, known)) => known.extend(rows),
            None => outputs.push((path, rows)),
        }
    }
    for (path, rows) in &outputs {
        let kinds = |row: &Json| (row.get("sums").is_some(), row.get("rows").is_some());
        if rows.iter().any(|row| kinds(row) != kinds(&rows[0])) {
            let why = "a file has rows of one kind, and the suite has several: name a folder";
            return Err(CommandError::usage(format!("{}: {why}", path.display())));
        }
    }
    Ok(outputs)
}

/// Where a recording of the suite goes in the folder: where it is in the suite, compressed.
fn packed_name(suite: &Path, from: &Path) -> PathBuf {
    let inside = from.strip_prefix(suite).ok().filter(|path| !path.as_os_str().is_empty());
    let inside = inside.map(Path::to_owned);
    let path = inside.unwrap_or_else(|| from.file_name().unwrap_or_default().into());
    match path.extension().is_some_and(|end| end == "gz") {
        true => path,
        false => path.with_extension("jsonl.gz"),
    }
}
