//! `softwarp check`: checks PTX files by the rules of the assembler.

mod baseline;
mod collect;
pub(super) mod config;
mod fix;
pub(super) mod formats;
pub(super) mod policy;
mod sarif;

use super::checking::{CheckArgs, Colour, SHOWN, count, summary};
use super::progress::{Progress, Working};
use super::{CommandError, Printed, print, remark, sources};
use baseline::Baseline;
use clap::ValueEnum;
use collect::{Collected, collect};
use config::Config;
use policy::{Finding, Policy, Warnings};
use rayon::prelude::*;
use serde_json::Value as Json;
use softwarp::check::Options;
use softwarp::diagnostic::Severity;
use softwarp::source::Source;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Check PTX files: would the assembler take them, and if not, why
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Files, folders (all .ptx files in and below them) and patterns such as 'build/**/*.ptx'; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    checking: CheckArgs,
    /// Print a JSON object a line for each diagnostic; the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// How to print: for people, for programs, as annotations for GitHub's CI, or as a SARIF 2.1.0 log
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Colours in text: on a terminal unless NO_COLOR is set, always, or never
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: Colour,
    /// Print errors only: no warnings and no counts
    #[arg(short, long)]
    quiet: bool,
    /// Take a warning for an error, by its code; several may be given, also with commas between them
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    deny: Vec<String>,
    /// Do not report a warning, by its code; several may be given, also with commas between them
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    allow: Vec<String>,
    /// What warnings are [default: warn]
    #[arg(short = 'W', long, value_enum, value_name = "LEVEL")]
    warnings: Option<Warnings>,
    /// Pass over the findings that this file lists
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write all findings into the baseline, and exit with 0
    #[arg(long)]
    write_baseline: bool,
    /// The configuration, instead of softwarp.toml in the working directory or a folder above it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long, conflicts_with = "config")]
    no_config: bool,
    /// Change the files where it is certain what was meant, and check again; of standard input, print the changed text
    #[arg(long, conflicts_with_all = ["baseline", "write_baseline"])]
    fix: bool,
    /// Change no file: print what --fix would change, as a unified diff
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// How many threads take part; all cores without it
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

const HELP: &str = "\
Diagnostics go to standard output, then a count for each file to standard error (of folders and patterns, for
each file with findings, and for all together). Every diagnostic has a code; `softwarp explain CODE` says what it
means. Exit 0 if there are no errors (warnings are allowed), 1 if there are, 2 for a usage error, or if a file or
stream cannot be read or written.

JSON fields: file, line, column, end_line, end_column, severity (error, warning), code, message, help (or
null), related (a list of line, column, message), fix (or null: message, and edits, a list of line, column,
end_line, end_column, text). Lines and columns count from 1, columns in characters; the end is one past the
last character.

--fix makes only changes that are certain: there is one legal spelling that a slip of the pen leads to, or
one thing that is missing. What it did goes to standard error. Fixed files are checked again, until nothing
more is certain. --fix --dry-run prints the changes as a diff.

Configuration (softwarp.toml): arch = \"sm_90a\", allow = [\"W0401\"], deny = [\"W0602\"], warnings = \"allow\",
\"warn\" or \"error\", baseline = \"FILE\". Arguments come before it.

Examples:
  softwarp check kernel.ptx
  softwarp check --arch sm_100a --relocatable a.ptx b.ptx
  softwarp check -W error build
  nvcc -ptx -o - kernel.cu | softwarp check --json -
  softwarp check --format github 'build/**/*.ptx'
  softwarp check --fix --dry-run kernel.ptx
  softwarp check --baseline known.json --write-baseline build";

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Github,
    Sarif,
}

/// How files are checked and reported.
struct Checker {
    options: Options,
    policy: Policy,
    baseline: Option<Baseline>,
    format: Format,
    colour: bool,
    quiet: bool,
    /// For the functions of one file. Several files are checked side by side.
    threads: usize,
    /// For everything.
    jobs: usize,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    let config = if args.no_config { Config::default() } else { Config::find(args.config.as_deref())? };
    let options = args.checking.options_or(config.arch.as_deref())?;
    let policy = Policy::new(&config, args.warnings, &args.allow, &args.deny)?;
    sources::only_one_standard_input(&args.files)?;
    let collected = collect(&args.files)?;
    let place = args.baseline.as_ref().or(config.baseline.as_ref());
    let format = if args.json { Format::Json } else { args.format };
    let colour = args.color.wanted(&std::io::stdout());
    let jobs = args.jobs.map_or_else(super::checking::threads, usize::from);
    let threads = (jobs / collected.files.len().max(1)).max(1);
    let mut checker =
        Checker { options, policy, baseline: None, format, colour, quiet: args.quiet, threads, jobs };
    if args.write_baseline {
        let Some(place) = place else {
            return Err(CommandError::usage(
                "--write-baseline needs --baseline, or a baseline in softwarp.toml",
            ));
        };
        return checker.write_baseline(&collected, place);
    }
    if args.fix {
        if !fix::format_fits(format, &args.files, args.dry_run) {
            return Err(CommandError::usage(
                "--fix prints the changed text of standard input, and --dry-run a diff: neither goes with a --format \
                 for programs",
            ));
        }
        return fix::run(&checker, &collected, args.dry_run);
    }
    checker.baseline = place.map(|path| Baseline::read(path)).transpose()?;
    checker.report(&collected)
}

impl Checker {
    /// What counts in a file: for each PTX text in it, where it comes from, the text and the findings.
    fn findings(&self, path: &Path) -> Result<Vec<(PathBuf, Source, Vec<Finding>)>, CommandError> {
        let mut found = Vec::new();
        for module in sources::modules(path, self.options.arch)? {
            // What one part lacks, another may have.
            let relocatable = self.options.relocatable || module.sources.len() > 1;
            for source in module.sources {
                let findings = self
                    .policy
                    .apply(source.diagnose_on(Options { relocatable, ..self.options }, self.threads));
                found.push((module.path.clone(), source, findings));
            }
        }
        Ok(found)
    }

    /// Something about each file, in the order of the files.
    fn each<T: Send>(
        &self,
        files: &[PathBuf],
        one: impl Fn(&Path) -> Result<T, CommandError> + Sync,
    ) -> Vec<Result<T, CommandError>> {
        match files {
            // One file needs no threads, and starting them takes longer than most checks.
            [file] if sources::is_standard_input(file) => vec![one(file)],
            [file] => vec![Working::during("checking", || one(file))],
            files => {
                let (progress, done) = (Progress::new(files.len() as u64, "files"), AtomicU64::new(0));
                let counted = |file: &PathBuf| {
                    let outcome = one(file);
                    progress.at(done.fetch_add(1, Ordering::Relaxed) + 1);
                    outcome
                };
                match rayon::ThreadPoolBuilder::new().num_threads(self.jobs).build() {
                    Ok(pool) if self.jobs > 1 => pool.install(|| files.par_iter().map(counted).collect()),
                    _ => files.iter().map(counted).collect(),
                }
            }
        }
    }

    fn write_baseline(&self, collected: &Collected, place: &Path) -> Result<Printed, CommandError> {
        let all = self.each(&collected.files, |path| self.findings(path));
        let mut baseline = Baseline::empty(place);
        for found in all {
            for (path, _, findings) in found? {
                baseline.add(&path, &findings);
            }
        }
        baseline.write(place)?;
        if !self.quiet {
            let findings = count((baseline.count() as usize, "finding"));
            remark(&format!("{findings} written to {}", place.display()));
        }
        Ok(Printed::default())
    }

    /// Prints what there is to say, diagnostics first and counts last.
    fn report(&self, collected: &Collected) -> Result<Printed, CommandError> {
        let outcomes = self.each(&collected.files, |path| {
            let found = self.findings(path)?.into_iter();
            Ok(found
                .map(|(path, source, findings)| FileReport::new(self, &path, &source, findings))
                .collect())
        });
        let (mut text, mut results, mut failures, mut reports) =
            (String::new(), Vec::new(), Vec::new(), Vec::new());
        for outcome in outcomes {
            let mut of_file: Vec<FileReport> = outcome.unwrap_or_else(|failure| {
                failures.push(failure);
                Vec::new()
            });
            for report in &mut of_file {
                text.push_str(&std::mem::take(&mut report.text));
                results.append(&mut report.results);
            }
            reports.append(&mut of_file);
        }
        if self.format == Format::Sarif {
            let lines: Vec<String> =
                failures.iter().filter_map(|one| one.line().map(str::to_owned)).collect();
            text = super::json(&sarif::log(results, &lines));
        }
        print(&text)?;
        let refused = reports.iter().any(|report| report.errors > 0);
        let code =
            failures.iter().map(|failure| failure.report().code()).max().unwrap_or(0).max(u8::from(refused));
        if !self.quiet {
            counts(&reports, collected);
        }
        Ok(Printed { text: String::new(), failure: (code > 0).then_some(CommandError::Reported(code)) })
    }
}

/// Writes the counts: of each file, or where the files were looked for, of those with findings and of all.
fn counts(reports: &[FileReport], collected: &Collected) {
    for report in reports {
        if !collected.expanded || report.errors + report.warnings > 0 {
            remark(&report.summary);
        }
    }
    if collected.expanded {
        let sum = |of: fn(&FileReport) -> usize| reports.iter().map(of).sum();
        let files = count((reports.len(), "file"));
        remark(&summary(sum(|report| report.errors), sum(|report| report.warnings), &files));
    }
    let gone: u64 = reports.iter().map(|report| report.gone).sum();
    if gone > 0 {
        let findings = count((gone as usize, "finding"));
        remark(&format!("{findings} of the baseline did not occur; --write-baseline updates it"));
    }
}

/// What a file came to, as it will be printed.
struct FileReport {
    text: String,
    /// For a SARIF log.
    results: Vec<Json>,
    summary: String,
    errors: usize,
    warnings: usize,
    /// Findings of the baseline that did not occur.
    gone: u64,
}

impl FileReport {
    fn new(checker: &Checker, path: &Path, source: &Source, findings: Vec<Finding>) -> FileReport {
        let (mut findings, gone) = match &checker.baseline {
            Some(baseline) => baseline.filter(path, findings),
            None => (findings, 0),
        };
        if checker.quiet {
            findings.retain(|finding| finding.severity == Severity::Error);
        }
        let shown = if checker.format == Format::Text { findings.len().min(SHOWN) } else { findings.len() };
        let text = findings[..shown].iter().map(|finding| match checker.format {
            Format::Text => {
                crate::render::text_as(source, &finding.diagnostic, finding.severity, checker.colour)
            }
            Format::Json => formats::json(source, finding),
            Format::Github => formats::github(source, finding),
            Format::Sarif => String::new(),
        });
        let text = text.collect();
        let results =
            if checker.format == Format::Sarif { sarif::results(source, &findings) } else { Vec::new() };
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        let warnings = findings.len() - errors;
        let mut summary = summary(errors, warnings, &source.name);
        if shown < findings.len() {
            summary.push_str(&format!(", of which the first {shown} are shown; --json prints all"));
        }
        FileReport { text, results, summary, errors, warnings, gone }
    }
}
