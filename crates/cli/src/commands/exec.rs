//! `softwarp exec`: runs a CUDA program with softwarp's libraries in place of the GPU's.

mod environment;
mod libraries;
mod program;
mod summary;

use super::checking::target;
use super::run::sanitize::What;
use super::{CommandError, Printed, files, output, sources};
use libraries::Libraries;
pub(super) use libraries::command;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use summary::Total;

/// Run a CUDA program without a GPU: its kernels run here
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// What to look for in kernels besides faults, separated by commas
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',')]
    sanitize: Vec<What>,
    /// Exit with 1 if the program succeeds but had faults or findings; without --sanitize it looks for all
    #[arg(long)]
    check: bool,
    /// The GPU that the program sees, as in sm_90 or 90
    #[arg(long, value_name = "SM", alias = "target")]
    arch: Option<String>,
    /// How many GPUs the program sees
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    devices: Option<u32>,
    /// The threads of this machine that run a kernel; all cores without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// The memory of a GPU, in bytes, or with K, M or G
    #[arg(long, value_name = "SIZE", value_parser = files::size)]
    memory: Option<u64>,
    /// How long the end of the program waits for kernels that it has launched; 30 seconds without it
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    exit_timeout: Option<f64>,
    /// Append the reports of faults and findings to this file instead of standard error; `-` is standard output, after
    /// what the program writes
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Whether kernels are compiled to machine code, or compiled code is compared with the interpreter; without it, what
    /// SOFTWARP_JIT says, else auto
    #[arg(long, value_enum, value_name = "WHEN")]
    jit: Option<super::jit::When>,
    /// Where `--jit compare` writes folders that reproduce what it found; without it, what SOFTWARP_MISMATCHES says,
    /// else softwarp-mismatches
    #[arg(long, value_name = "DIR")]
    mismatches: Option<PathBuf>,
    /// Show every call of the driver and the runtime with its result on standard error
    #[arg(long)]
    trace: bool,
    /// Whether Python clients link through the driver because nvJitLink is hidden from them
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    hide_nvjitlink: environment::When,
    /// Give Triton `softwarp ptxas` as its assembler
    #[arg(long)]
    ptxas: bool,
    /// The folder with libcuda.so and libcudart.so; without it and SOFTWARP_LIB, they are looked for beside this program
    #[arg(long, value_name = "DIR")]
    lib: Option<PathBuf>,
    /// No summary
    #[arg(long)]
    quiet: bool,
    /// How to write the summary
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Write the summary to this file instead of standard error; `-` is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "quiet")]
    summary: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

const HELP: &str = "\
The program finds softwarp's libcuda.so.1 and libcudart.so by LD_LIBRARY_PATH; other settings are for
Triton, numba-cuda, PyCUDA and nvcc. A program of nvcc must have PTX in it, as it does without options. A
runtime that is linked into it, nvcc's default, is redirected to libcudart.so by LD_AUDIT, or LD_PRELOAD
where glibc is older than 2.35; that needs the program's symbols.

The exit code is the program's, 128 + n if signal n ended it, 127 if there is no such program, 126 if it
cannot be run, 2 if the arguments are wrong or the libraries are missing. With --check it is 1 where the
program's is 0 and there was a fault, a finding, or a kernel that could not be executed or did not end.

JSON fields of the summary: processes, launches, kernels, warps, warp_instructions, thread_instructions,
kernel_seconds, bytes_copied, faults, fault_code (of the first fault, or null), refused (launches that
could not be executed), findings (how many of each kind), not_looked_at (launches in which a sanitizer
reached a limit), compared (what --jit compare did), not_ended (the kernels of launches that had not
ended when their process did), exit_code.

Examples:
  softwarp exec -- ./saxpy 1000
  softwarp exec --check -- python3 train.py
  softwarp exec --sanitize race,sync --report bugs.txt -- ./reduce
  softwarp exec --jit compare -- ./saxpy 1000";

/// A time in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| Duration::try_from_secs_f64(*seconds).is_ok());
    seconds.ok_or_else(|| "it must be a number of seconds such as 30".to_owned())
}

/// How to write the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let to_stdout = |path: &Option<PathBuf>| path.as_deref().is_some_and(sources::is_standard_input);
    if to_stdout(&args.report) && to_stdout(&args.summary) {
        return Err(CommandError::usage("--report and --summary cannot both write to standard output"));
    }
    let arch = args.arch.as_deref().map(target).transpose()?;
    let program = program::find(&args.program[0])?;
    let libraries = Libraries::find(args.lib.clone())?;
    libraries.warn_about(&program);
    let folder = libraries.link()?;
    let counts = folder.path().join("summary.jsonl");
    // The program has standard output for itself while it runs.
    let kept = to_stdout(&args.report).then(|| folder.path().join("report.txt"));
    let report = kept.as_deref().or(args.report.as_deref());
    let variables = environment::variables(args, arch, &folder, &program, &counts, report)?;
    let code = program::run(&program, &args.program, &variables)?;
    program.explain(code);
    let total = Total::read(&counts);
    if let Some(mut report) = kept.and_then(|path| File::open(path).ok()) {
        output::stdout(|out| io::copy(&mut report, out).map(|_| ()))?;
    }
    drop(folder);
    write_summary(args, &total, code)?;
    let code = if args.check && code == 0 && total.has_found() { 1 } else { code };
    Ok(Printed { text: String::new(), failure: (code > 0).then_some(CommandError::Reported(code)) })
}

fn write_summary(args: &Args, total: &Total, code: u8) -> Result<(), CommandError> {
    if args.quiet {
        return Ok(());
    }
    let text = match args.format {
        Format::Text => total.text(),
        Format::Json => format!("{}\n", total.json(code)),
    };
    match &args.summary {
        Some(path) => files::Output::write(path, text.as_bytes()),
        None => {
            output::stderr(&text);
            Ok(())
        }
    }
}
