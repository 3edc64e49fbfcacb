//! Launches made ready: for commands that run them in another way than `softwarp run`.

use super::super::CommandError;
use super::super::checking::target;
use super::arguments::Given;
use super::document::Shown;
use super::dumps::{Dump, ReadBack};
use super::launch_args::{self, LaunchArgs, Prepared};
use super::refusal::Refusal;
use super::{hints, limits, table};
use crate::run::file::LaunchFile;
use crate::run::{Memories, Run, RunError};
use softwarp::source::Source;
use softwarp::vm::device::LoadOptions;

/// Everything that launches need.
pub struct Ready {
    /// The launches, and the memory that they need.
    pub file: LaunchFile,
    /// The launch file, if there is one.
    launch_file: Option<Source>,
    /// The PTX files.
    pub sources: Vec<Source>,
    /// How modules are loaded.
    pub load: LoadOptions,
    /// What is read back, as the command line has it.
    dumps: Vec<String>,
    /// No block is given, so that the kernel says it.
    needs_block: bool,
    colour: bool,
}

impl Ready {
    fn refusal(&self) -> Refusal<'_> {
        Refusal { sources: &self.sources, launch_file: self.launch_file.as_ref(), colour: self.colour }
    }
}

/// Reads the files that arguments name.
pub fn ready(args: &LaunchArgs) -> Result<Ready, CommandError> {
    super::sources::only_one_standard_input(&args.files)?;
    let arch = args.arch.as_deref().map(target).transpose()?;
    let colour = args.colour.wanted();
    let Prepared { given: Given { file, launch_file }, sources, fmad } =
        launch_args::prepare(args, arch, colour)?;
    let needs_block = launch_file.is_none() && args.block.is_none();
    let memory = args.memory.map(|limits::Bytes(bytes)| bytes);
    let fidelity = args.fidelity.fidelity(fmad);
    let load = LoadOptions { arch, memory, fidelity, ..LoadOptions::default() };
    let asked = args.dump.iter().map(|text| Dump::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let dumps = match asked.is_empty() {
        true => file.dumped().cloned().collect(),
        false => args.dump.clone(),
    };
    Ok(Ready { file, launch_file, sources, load, dumps, needs_block, colour })
}

/// A machine with the modules and the memory, and the launches with the names that kernels have in the PTX.
pub fn machine(ready: &Ready) -> Result<(Run, LaunchFile), CommandError> {
    let texts: Vec<&str> = ready.sources.iter().map(|source| source.text.as_str()).collect();
    let refusal = ready.refusal();
    let mut file = ready.file.clone();
    let machine = Run::prepare(&file, &texts, ready.load).map_err(|error| refusal.of(&error, None))?;
    hints::name_kernels(&mut file, &machine, &refusal)?;
    if ready.needs_block {
        // What it tells is for those who run a kernel; a debugger shows the block.
        hints::default_blocks(&mut file, &machine);
    }
    Ok((machine, file))
}

/// Shows why a launch did not begin.
pub fn refused(ready: &Ready, error: &RunError, machine: &Run) -> CommandError {
    ready.refusal().of(error, Some((machine, &ready.file)))
}

/// What is read back, as tables. What cannot be read is told in its place.
pub fn tables(machine: &Run, ready: &Ready) -> String {
    let asked = ready.dumps.iter().filter_map(|text| Dump::parse(text).ok()).collect();
    let read = match ReadBack::new(asked, false, &ready.file, machine) {
        Ok(read) => read,
        Err(error) => return error.line().unwrap_or_default().to_owned(),
    };
    let one = |shown: &Shown| {
        let memory = machine.memory(&shown.name);
        memory.and_then(|memory| table::table(shown, &memory)).unwrap_or_else(|error| format!("{error}\n"))
    };
    read.shown.iter().map(one).collect()
}
