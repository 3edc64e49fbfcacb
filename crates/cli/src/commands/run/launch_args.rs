//! The arguments that describe a launch: those that `softwarp run` and `softwarp debug` have in common.

use super::super::checking::ErrorColour;
use super::super::{CommandError, containers, fidelity, files, sources};
use super::arguments::{self, Dimensions, Given};
use super::dumps::Dump;
use super::{limits, refusal};
use crate::input::{InputError, MOST_DATA, MOST_JSON, confined};
use crate::run::data::Files;
use crate::run::file::LaunchFile;
use softwarp::isa::Target;
use softwarp::source::Source;
use std::path::{Path, PathBuf};

/// A launch, by a launch file or by arguments.
#[derive(Debug, clap::Args)]
pub struct LaunchArgs {
    /// A launch file, or PTX files, or files with PTX inside, which are linked if there are several; `-` is standard
    /// input
    #[arg(required = true, value_name = "FILE")]
    pub(in crate::commands) files: Vec<PathBuf>,
    /// The kernel, by its name in the PTX or in C++; the only one of the module without it
    #[arg(long, value_name = "NAME")]
    pub(in crate::commands) kernel: Option<String>,
    /// CTAs of the grid, in up to three dimensions
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(in crate::commands) grid: Option<Dimensions>,
    /// Threads of a CTA, in up to three dimensions; without it, what the kernel requires (.reqntid), or one
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(in crate::commands) block: Option<Dimensions>,
    /// CTAs of a cluster, in up to three dimensions; without it, what the kernel says
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(in crate::commands) cluster: Option<Dimensions>,
    /// All CTAs are there at once, and can wait for one another (`grid.sync()`)
    #[arg(long)]
    pub(in crate::commands) cooperative: bool,
    /// Bytes of shared memory beyond what the kernel declares
    #[arg(long, value_name = "BYTES")]
    pub(in crate::commands) shared: Option<u32>,
    /// The next argument of the kernel
    #[arg(long = "arg", value_name = "KIND:VALUE")]
    pub(in crate::commands) arguments: Vec<String>,
    /// Memory that is no argument itself
    #[arg(long = "buffer", value_name = "NAME=CONTENTS")]
    pub(in crate::commands) buffers: Vec<String>,
    /// Put data into a variable of the module
    #[arg(long, value_name = "NAME=DATA")]
    pub(in crate::commands) set: Vec<String>,
    /// Read a buffer, variable or surface back, into a file or into what is printed
    #[arg(long, value_name = "NAME[:TYPE][=FILE]")]
    pub(in crate::commands) dump: Vec<String>,
    /// Let a launch file name files outside of its folder
    #[arg(long)]
    pub(in crate::commands) allow_paths: bool,
    /// The most memory of this computer to take, as in 512M or 4G; without it, half of what there is
    #[arg(long, value_name = "BYTES")]
    pub(in crate::commands) memory: Option<limits::Bytes>,
    /// The GPU to be, as in sm_90a, instead of the module's .target
    #[arg(long, value_name = "SM")]
    pub(in crate::commands) arch: Option<String>,
    #[command(flatten)]
    pub(in crate::commands) fidelity: fidelity::FidelityArgs,
    #[command(flatten)]
    pub(in crate::commands) colour: ErrorColour,
}

/// What is to be run.
pub(super) struct Prepared {
    pub(super) given: Given,
    pub(super) sources: Vec<Source>,
    /// Whether products and sums may be contracted, where a file says what the assembler was told.
    pub(super) fmad: Option<bool>,
}

/// Reads what is to be run, and the PTX files.
pub(super) fn prepare(
    args: &LaunchArgs,
    arch: Option<Target>,
    colour: bool,
) -> Result<Prepared, CommandError> {
    let (mut read, mut fmad) = (Vec::new(), None);
    for path in &args.files {
        let module = sources::module(path, arch)?;
        fmad = fmad.or(module.fmad);
        read.extend(module.sources);
    }
    let is_json = |source: &Source| source.text.trim_start().starts_with(['{', '[']);
    if !read.iter().any(is_json) {
        read.iter().try_for_each(sources::not_empty)?;
        return Ok(Prepared { given: arguments::given(args)?, sources: read, fmad });
    }
    let ([path], Ok([source])) = (args.files.as_slice(), <[Source; 1]>::try_from(read)) else {
        return Err(CommandError::usage("a launch file stands alone: it names its module"));
    };
    arguments::only_for_ptx(args)?;
    if source.text.len() as u64 > files::limit(MOST_JSON) {
        return Err(files::unreadable(path, InputError::TooLong { limit: files::limit(MOST_JSON) }));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let found =
        Files { folder: folder.to_owned(), any_place: args.allow_paths, longest: files::limit(MOST_DATA) };
    let file = LaunchFile::read(&source.text, Some(&found));
    let file = file.map_err(|errors| refusal::mistakes(&source, &errors.0, colour))?;
    let name = match &file.ptx {
        Some(name) => PathBuf::from(name),
        None if sources::is_standard_input(path) => {
            return Err(CommandError::input(
                &source.name,
                "a launch file from standard input must have `ptx`",
            ));
        }
        None => path.with_extension("ptx").file_name().unwrap_or_default().into(),
    };
    // A module in a file, by its number: the file must be in the folder.
    let (name, number) = containers::split(folder, &name);
    let module = confined(folder, &name, args.allow_paths).map_err(|error| match error {
        InputError::Outside { .. } => CommandError::input(&source.name, format!("ptx: {error}")),
        _ => files::unreadable(&folder.join(&name), error),
    })?;
    let module = match number {
        None => sources::module(&module, arch)?,
        Some(number) => sources::module(Path::new(&format!("{}#{number}", module.display())), arch)?,
    };
    module.sources.iter().try_for_each(sources::not_empty)?;
    let given = Given { file, launch_file: Some(source) };
    Ok(Prepared { given, sources: module.sources, fmad: module.fmad })
}

/// What is read back: what the command line asks for, or else what the launch file does.
pub(super) fn wanted_dumps(
    args: &LaunchArgs,
    asked: Vec<Dump>,
    file: &LaunchFile,
) -> Result<Vec<Dump>, CommandError> {
    if !asked.is_empty() {
        return Ok(asked);
    }
    let folder = args.files.first().and_then(|path| path.parent()).unwrap_or(Path::new(""));
    let dump = |name: &String| match file.dump.iter().find(|dump| &dump.name == name) {
        Some(dump) => Dump::of_file(dump, folder, args.allow_paths),
        None => Ok(Dump::of_name(name)),
    };
    file.dumped().map(dump).collect()
}
