//! `softwarp verify`: replays recorded results and counts agreements.

use super::checking::{count, seconds};
use super::driver::{DriverArgs, on_gpu};
use super::progress::Progress;
use super::{CommandError, Printed, files};
use crate::gpu;
use crate::input::InputError;
use crate::verify::golden::GoldenError;
use crate::verify::gpu::{OnGpu, verify as verify_on_gpu};
use crate::verify::programs::Limits;
use crate::verify::{Depth, Failure, Outcome, Refused, Report, Settings, Unread, verify_with};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::time::Duration;

/// Replay recorded results and count agreements
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Golden files (.jsonl or .jsonl.gz) and launch files (.json), or folders of them; `-` is rows on standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Replay everything, not only the edges and a part of each input space
    #[arg(long)]
    full: bool,
    /// Hold approximate functions to the recorded bits, not only to the manual's bounds
    #[arg(long)]
    exact: bool,
    /// Time limit for each program, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    time: Duration,
    /// Stop a launch after N steps: instructions of warps, and more for costly ones
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Let files refer to others outside of their folder, and follow links out of folders
    #[arg(long)]
    allow_paths: bool,
    /// Hold the recordings against a GPU of this computer instead, through its CUDA driver
    #[arg(long)]
    gpu: bool,
    #[command(flatten)]
    driver: DriverArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Rows and programs that differ are printed, those that cannot be read or that the machine refuses to load
with the reason, and last the count; exit 1 if there are any. Every launch file must say what to expect, and
every row of a .jsonl file must be of a kind that is replayed. Other .json files are listed as skipped.

With --gpu, programs run on the GPU, and conversions as kernels that are made for them. What this GPU or its
driver does not take is listed as skipped, and so are planted bugs and recorded tensor maps.

Examples:
  softwarp verify crates/cli/tests/golden --full
  softwarp verify --gpu crates/cli/tests/golden";

/// How many differences of a row are printed.
const SHOWN: usize = 8;

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    super::sources::only_one_standard_input(&args.paths)?;
    if let Some(option) = args.driver.given().filter(|_| !args.gpu) {
        return Err(CommandError::usage(format!("{option} goes with --gpu")));
    }
    if args.gpu && args.steps.is_some() {
        return Err(CommandError::usage("--steps: a GPU counts none; --timeout limits the time"));
    }
    let depth = if args.full { Depth::Full } else { Depth::Subset };
    let progress = Progress::new(0, "parts");
    let limits = Limits { time: args.time, steps: args.steps };
    let settings = Settings {
        depth,
        exact: args.exact,
        limits,
        allow_paths: args.allow_paths,
        max_input: files::user_limit(),
    };
    let shown = |done, total| progress.of(done, total, "");
    let (report, device) = match args.gpu {
        true => {
            let mut gpu = args.driver.gpu()?;
            let mut on = OnGpu::new(&mut gpu).map_err(on_gpu)?;
            let report = verify_on_gpu(&args.paths, &settings, &mut on, &shown).map_err(on_gpu)?;
            (report, Some(on.device().clone()))
        }
        false => (verify_with(&args.paths, &settings, &shown).map_err(unreadable)?, None),
    };
    progress.finish();
    let text = match args.json {
        true => {
            let mut json = in_json(&report);
            if let Some(device) = &device {
                json["device"] = gpu::in_json(device);
            }
            super::json(&json)
        }
        false => {
            let on = device.map_or(String::new(), |device| format!("on {}\n", gpu::in_words(&device)));
            on + &in_words(&report)
        }
    };
    let rows = if report.failed() == 1 { "row differs" } else { "rows differ" };
    let verdicts = [
        (report.failed(), format!("{} {rows} from what was recorded", report.failed())),
        (report.unread.len(), format!("{} cannot be read", count((report.unread.len(), "file")))),
        (
            if args.gpu { 0 } else { report.refused.len() },
            format!("{} cannot be run", count((report.refused.len(), "program"))),
        ),
    ];
    let bad: Vec<String> =
        verdicts.into_iter().filter(|(number, _)| *number > 0).map(|(_, words)| words).collect();
    let failure = (!bad.is_empty()).then(|| CommandError::Input(bad.join(", ")));
    Ok(Printed { text, failure })
}

/// A path that does not exist is the caller's fault; what is in a file is the file's.
pub(super) fn unreadable(error: GoldenError) -> CommandError {
    match &error {
        GoldenError::Input(_, InputError::Io(io)) if io.kind() == std::io::ErrorKind::NotFound => {
            CommandError::usage(error)
        }
        _ => CommandError::Input(error.to_string()),
    }
}

fn in_words(report: &Report) -> String {
    let mut text = String::new();
    for path in &report.skipped {
        text.push_str(&format!("skipped {}: nothing in it is replayed\n", path.display()));
    }
    for path in &report.missing {
        text.push_str(&format!("missing {}: what needs it is not compared\n", path.display()));
    }
    for outcome in &report.outcomes {
        let Some(failure) = &outcome.failure else { continue };
        text.push_str(&format!(
            "{}: {}: {}\n",
            outcome.file.display(),
            outcome.form,
            failure_in_words(failure)
        ));
    }
    for one in &report.unread {
        text.push_str(&format!("not read {}: {}\n", one.file.display(), one.why));
    }
    for one in &report.refused {
        text.push_str(&format!("skipped {}: {}: {}\n", one.file.display(), one.name, one.why));
    }
    text.push_str(&format!("{} passed, {} failed", report.passed(), report.failed()));
    if !report.refused.is_empty() {
        text.push_str(&format!(", {} skipped", report.refused.len()));
    }
    if !report.unread.is_empty() {
        text.push_str(&format!(", {} not read", report.unread.len()));
    }
    text.push('\n');
    text
}

/// The first few, and how many more there are.
fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    let count = items.len();
    let shown: Vec<String> = items.take(SHOWN).collect();
    let more = if count > SHOWN { format!(" … and {} more", count - SHOWN) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn failure_in_words(failure: &Failure) -> String {
    match failure {
        Failure::Unusable(why) => why.clone(),
        Failure::Chunks(chunks) => {
            let range =
                |chunk: &crate::verify::ChunkDifference| format!("0x{:x}..=0x{:x}", chunk.first, chunk.last);
            format!("the sums over these inputs differ: {}", listed(chunks.iter().map(range)))
        }
        Failure::Rows(rows) => {
            let row = |row: &crate::verify::RowDifference| {
                let sources: Vec<String> = row.sources.iter().map(|source| format!("0x{source:x}")).collect();
                format!("{} gives 0x{:x}, expected 0x{:x}", sources.join(" "), row.got, row.expected)
            };
            listed(rows.iter().map(row))
        }
        Failure::Words { expected, got } => format!("recorded {expected}, got {got}"),
    }
}

fn in_json(report: &Report) -> Json {
    let hex = |bits: u64| format!("0x{bits:x}");
    let failure = |failure: &Failure| match failure {
        Failure::Unusable(why) => json!({"unusable": why}),
        Failure::Chunks(chunks) => {
            let chunks: Vec<Json> = chunks
                .iter()
                .map(|c| {
                    json!({
                        "chunk": c.chunk, "first": hex(c.first), "last": hex(c.last),
                        "expected": hex(c.expected), "got": hex(c.got),
                    })
                })
                .collect();
            json!({ "chunks": chunks })
        }
        Failure::Rows(rows) => {
            let row = |r: &crate::verify::RowDifference| {
                let sources: Vec<String> = r.sources.iter().copied().map(hex).collect();
                json!({"sources": sources, "expected": hex(r.expected), "got": hex(r.got)})
            };
            json!({"rows": rows.iter().map(row).collect::<Vec<Json>>()})
        }
        Failure::Words { expected, got } => json!({"expected": expected, "got": got}),
    };
    let outcome = |outcome: &Outcome| {
        json!({
            "file": outcome.file.display().to_string(), "form": outcome.form,
            "failure": outcome.failure.as_ref().map(failure),
        })
    };
    let refused =
        |one: &Refused| json!({"file": one.file.display().to_string(), "name": one.name, "why": one.why});
    let unread = |one: &Unread| json!({"file": one.file.display().to_string(), "why": one.why});
    let names =
        |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<String>>();
    json!({
        "passed": report.passed(),
        "failed": report.failed(),
        "skipped": names(&report.skipped),
        "missing": names(&report.missing),
        "unread": report.unread.iter().map(unread).collect::<Vec<Json>>(),
        "refused": report.refused.iter().map(refused).collect::<Vec<Json>>(),
        "outcomes": report.outcomes.iter().map(outcome).collect::<Vec<Json>>(),
    })
}
