//! PTX files that are read, checked and linked, for the commands that need an image of them.

use super::checking::{CheckArgs, SHOWN, count, errors, summary};
use super::{CommandError, remark, sources};
use rayon::prelude::*;
use softwarp::check::Options;
use softwarp::image::{self, Image, Unit, lay_out};
use softwarp::source::{CheckedSource, Source};
use softwarp::syntax::Severity;
use std::path::PathBuf;

/// The files of a command that links them, and how they are checked.
#[derive(Debug, clap::Args)]
pub struct LinkedArgs {
    /// The files, which are linked if there are several; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    checking: CheckArgs,
}

impl LinkedArgs {
    /// The options of the checker, if the arguments are right.
    pub fn options(&self) -> Result<Options, CommandError> {
        let options = self.checking.options()?;
        sources::only_one_standard_input(&self.files)?;
        Ok(options)
    }

    /// All files, or every reason why one cannot be read.
    pub fn read(&self, options: Options) -> Result<LinkedFiles, CommandError> {
        read(&self.files, options)
    }
}

/// The texts of files.
#[derive(Debug, Default)]
pub struct LinkedFiles {
    /// The texts.
    pub sources: Vec<Source>,
    /// Whether products and sums may be contracted, where a file says what the assembler was told.
    pub fmad: Option<bool>,
}

fn read(files: &[PathBuf], options: Options) -> Result<LinkedFiles, CommandError> {
    let (mut read, mut code) = (LinkedFiles::default(), 0);
    for file in files {
        match sources::module(file, options.arch) {
            Ok(module) => {
                read.fmad = read.fmad.or(module.fmad);
                read.sources.extend(module.sources);
            }
            Err(failure) => code = code.max(failure.report().code()),
        }
    }
    if code > 0 { Err(CommandError::Reported(code)) } else { Ok(read) }
}

/// What the files mean, unless there are errors, which are shown. Of warnings only the number is told: they are
/// for `softwarp check`.
pub fn check(sources: &[Source], options: Options, colour: bool) -> Result<Vec<CheckedSource>, CommandError> {
    checked_by(sources, options, colour, Source::check)
}

/// The same, for commands that do not ask for the bodies of functions: those of large files are empty.
pub fn check_outlines(
    sources: &[Source],
    options: Options,
    colour: bool,
) -> Result<Vec<CheckedSource>, CommandError> {
    let threads = (super::checking::threads() / sources.len().max(1)).max(1);
    checked_by(sources, options, colour, |source, options| source.check_outline(options, threads))
}

fn checked_by(
    sources: &[Source],
    options: Options,
    colour: bool,
    check: impl Fn(&Source, Options) -> CheckedSource + Sync,
) -> Result<Vec<CheckedSource>, CommandError> {
    // What one file lacks, another may have.
    let options = Options { relocatable: options.relocatable || sources.len() > 1, ..options };
    let checked: Vec<CheckedSource> = match sources {
        [source] => vec![check(source, options)],
        sources => sources.par_iter().map(|source| check(source, options)).collect(),
    };
    let (mut refused, mut warnings) = (false, 0);
    for (source, checked) in sources.iter().zip(&checked) {
        let errors: Vec<_> = errors(&checked.diagnostics).collect();
        warnings += checked.diagnostics.len() - errors.len();
        for error in errors.iter().take(SHOWN) {
            remark(crate::render::text(source, error, colour).trim_end_matches('\n'));
            remark("");
        }
        if !errors.is_empty() {
            refused = true;
            remark(&summary(errors.len(), 0, &source.name));
        }
    }
    if refused {
        return Err(CommandError::Reported(1));
    }
    if warnings > 0 {
        let pronoun = if warnings == 1 { "it" } else { "them" };
        remark(&format!("{}; `softwarp check` shows {pronoun}", count((warnings, "warning"))));
    }
    Ok(checked)
}

/// The image of the files together, unless there are errors, which are shown.
pub fn laid_out(
    sources: &[Source],
    checked: &[CheckedSource],
    options: Options,
    colour: bool,
) -> Result<Image, CommandError> {
    let units: Vec<Unit<'_>> =
        checked.iter().map(|checked| Unit { module: &checked.module, checked: &checked.checked }).collect();
    let outcome = lay_out(&units, image::Options { relocatable: options.relocatable, red_zones: false });
    // Warnings about modules together are shown: no other command has them.
    let findings = match &outcome {
        Ok(image) => &image.warnings,
        Err(findings) => findings,
    };
    for finding in findings.iter().take(SHOWN) {
        remark(crate::render::linked(sources, finding, colour).trim_end_matches('\n'));
        remark("");
    }
    outcome.map_err(|findings| {
        let errors = findings.iter().filter(|one| one.severity() == Severity::Error).count();
        let files: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        remark(&summary(errors, findings.len() - errors, &files.join(", ")));
        CommandError::Reported(1)
    })
}
