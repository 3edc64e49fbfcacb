//! `--gpu` and `--compare`: the same launch on a GPU of this computer.

use super::super::driver::{DriverArgs, no_gpu};
use super::super::{CommandError, Printed, remark};
use super::document::{Document, Style};
use super::dumps::{Dump, ReadBack};
use super::refusal::{self, Refusal};
use super::{Args, CANCEL, comparison, finish, hints, launch_args};
use crate::gpu::{self, Gpu, GpuError};
use crate::run::file::LaunchFile;
use crate::run::{Memories, Options, Run, differences};
use serde_json::{Value as Json, json};
use softwarp::num::Format;
use softwarp::source::Source;
use softwarp::vm::device::LoadOptions;
use softwarp_gpu::ClientError;
use softwarp_gpu::job::Results;
use std::time::Duration;

/// Where a launch runs.
#[derive(Debug, clap::Args)]
pub struct GpuArgs {
    /// Run on a GPU of this computer instead, through its CUDA driver
    #[arg(long)]
    pub(super) gpu: bool,
    /// Run on the GPU and here, and show the first difference
    #[arg(long)]
    pub(super) compare: bool,
    #[command(flatten)]
    driver: DriverArgs,
}

impl GpuArgs {
    /// Whether a GPU takes part.
    pub fn is_wanted(&self) -> bool {
        self.gpu || self.compare
    }

    /// Refuses options that need a GPU where none takes part, and the reverse.
    pub fn check(&self, args: &Args) -> Result<(), CommandError> {
        if !self.is_wanted() {
            return match self.driver.given() {
                Some(option) => Err(CommandError::usage(format!("{option} goes with --gpu or --compare"))),
                None => Ok(()),
            };
        }
        let fidelity = args.launch.fidelity.is_given();
        let not_on_gpu = [
            ("--stats", args.stats.is_some(), true),
            ("--coverage", args.coverage.is_some(), true),
            ("--sanitize", !args.sanitize.is_empty(), true),
            ("--trace", args.trace.is_wanted(), true),
            ("--repeat", args.repeat.is_some(), true),
            ("--arch", args.launch.arch.is_some(), false),
            ("--threads", args.threads.is_some(), false),
            ("--jit", args.jit.is_some(), false),
            ("--steps", args.steps.is_some(), false),
            ("--time", args.time.is_some(), false),
            ("--schedule", args.schedule.is_some(), false),
            ("--memory", args.launch.memory.is_some(), false),
            ("--fmad and --fidelity", fidelity, false),
        ];
        for (option, given, always) in not_on_gpu {
            if given && (always || !self.compare) {
                let or = if always { "" } else { ", or compare with it (--compare)" };
                let why = format!("{option}: a GPU has no such thing; run it without --gpu{or}");
                return Err(CommandError::usage(why));
            }
        }
        if self.compare && args.check {
            let why = "--compare compares with softwarp, --check with the launch file: give one of them";
            return Err(CommandError::usage(why));
        }
        Ok(())
    }
}

/// What is to be run.
pub struct OnGpu<'a> {
    pub args: &'a Args,
    pub file: LaunchFile,
    pub sources: &'a [Source],
    pub refusal: Refusal<'a>,
    pub asked: Vec<Dump>,
    pub load: LoadOptions,
    /// No block is given, so that the kernel says it.
    pub needs_block: bool,
    /// Something else has standard output.
    pub taken: bool,
    /// Types of memories that the command line says.
    pub formats: Vec<(String, Format)>,
    /// The time limit of the run here.
    pub most_time: Option<Duration>,
}

impl OnGpu<'_> {
    /// Runs it, there or on both, and prints.
    pub fn run(mut self) -> Result<Printed, CommandError> {
        let note = self.name_kernels()?;
        let mut gpu = self.args.gpu.driver.gpu()?;
        let style = Style::wanted(self.args.format);
        let device = gpu.device().map_err(|error| self.refused(&error))?;
        if style == Style::Text {
            remark(&format!("on {}", gpu::in_words(&device)));
        }
        let asked = std::mem::take(&mut self.asked);
        let dumps = launch_args::wanted_dumps(&self.args.launch, asked, &self.file)?;
        let printed = match self.args.gpu.compare {
            true => {
                let options = Options {
                    threads: self.args.threads,
                    jit: self.args.jit.map_or_else(Default::default, super::super::jit::When::jit),
                    most_instructions: self.args.steps,
                    most_time: self.most_time,
                    cancel: Some(&CANCEL),
                    schedule: super::limits::schedules(self.args)?.next().unwrap_or_default(),
                    ..Options::default()
                };
                comparison::run(&self, &mut gpu, &dumps, &options, gpu::in_json(&device), style)?
            }
            false => self.there(&mut gpu, dumps, gpu::in_json(&device), style)?,
        };
        if let Some(note) = note {
            remark(&note);
        }
        Ok(printed)
    }

    /// Finds the kernels by their names in C++, and the blocks that they are for, where softwarp can load the module. The
    /// driver's verdict counts: a module that softwarp refuses is tried as it is.
    fn name_kernels(&mut self) -> Result<Option<String>, CommandError> {
        let texts: Vec<&str> = self.sources.iter().map(|source| source.text.as_str()).collect();
        let bare = LaunchFile { launches: self.file.launches.clone(), ..LaunchFile::default() };
        let Ok(machine) = Run::prepare(&bare, &texts, self.load) else {
            return match self.file.launches.iter().any(|launch| launch.kernel.is_empty()) {
                true => Err(CommandError::usage("softwarp cannot load the module: give --kernel NAME")),
                false => Ok(None),
            };
        };
        hints::name_kernels(&mut self.file, &machine, &self.refusal)?;
        let note = if self.needs_block { hints::default_blocks(&mut self.file, &machine) } else { None };
        hints::warn_of_types(&self.file, &machine);
        hints::arguments_fit(&self.file, &machine, &self.refusal)?;
        for dump in &self.asked {
            let known = self.file.surfaces.iter().any(|surface| surface.name == dump.name);
            if !known && !machine.has(&self.file, &dump.name) {
                return Err(CommandError::usage(format!(
                    "--dump {}: there is no buffer, variable or surface of this name",
                    dump.name
                )));
            }
        }
        Ok(note)
    }

    fn there(
        &self,
        gpu: &mut Gpu,
        dumps: Vec<Dump>,
        device: Json,
        style: Style,
    ) -> Result<Printed, CommandError> {
        let Args { check, .. } = *self.args;
        let mut read: Vec<String> = dumps.iter().map(|dump| dump.name.clone()).collect();
        if check {
            read.extend(self.file.expect.iter().map(|(name, _)| name.clone()));
        }
        read.sort();
        read.dedup();
        let (mut result, memories) = match gpu.run(&self.file, self.sources, read) {
            Ok(results) => {
                let check_alone = check && self.args.launch.dump.is_empty();
                let read_back = ReadBack::new(dumps, check_alone, &self.file, &results)?;
                let found = check.then(|| differences(&self.file, &results.memories));
                (finish(self.args, &self.file, &results, &read_back, found)?, results)
            }
            Err(error) => match fault(&error) {
                Some(fault) => {
                    remark(&format!("error: {}", words(&error)));
                    let mut result = Document::new(false);
                    result.failure = Some(CommandError::Reported(1));
                    result.add("fault", fault);
                    (result, Results::default())
                }
                None => return Err(self.refused(&error)),
            },
        };
        result.add("device", device);
        if self.taken {
            return Ok(Printed { text: String::new(), failure: result.failure });
        }
        result.print(&memories, style)
    }

    /// Why nothing ran.
    pub fn refused(&self, error: &GpuError) -> CommandError {
        match (error, self.refusal.launch_file) {
            (GpuError::File(error), Some(source)) => {
                refusal::mistakes(source, std::slice::from_ref(error), self.refusal.colour)
            }
            (GpuError::Client(error @ (ClientError::Device(_) | ClientError::Start(_))), _) => {
                CommandError::Io(no_gpu(error))
            }
            _ => CommandError::Input(error.to_string()),
        }
    }
}

impl OnGpu<'_> {
    /// The type of the numbers in a memory, if that is known.
    pub fn format(&self, name: &str) -> Option<Format> {
        let dumped = self.file.dump.iter().find(|dump| dump.name == name).and_then(|dump| dump.format);
        let known = self.file.buffer(name).and_then(|buffer| buffer.elements.as_ref());
        self.formats
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, format)| *format)
            .or(dumped)
            .or(known.and_then(|known| known.format))
    }
}

/// What stopped a kernel on the GPU, in words.
pub fn words(error: &GpuError) -> String {
    match (error.fault(), error.timed_out()) {
        (Some(failure), _) => {
            let kernel = failure.of.as_ref().map_or(String::new(), |kernel| format!(" in kernel `{kernel}`"));
            let name = failure.name.as_deref().unwrap_or("an error");
            format!("the GPU stopped{kernel}: {name}: {}", last(&failure.message))
        }
        (None, true) => format!("the GPU was stopped: {error} (--timeout)"),
        _ => error.to_string(),
    }
}

/// The driver's own words, without the function that it was asked by.
fn last(message: &str) -> &str {
    message.rsplit(": ").next().unwrap_or(message)
}

/// What stopped a kernel on the GPU, for programs; none if it is about something else.
pub fn fault(error: &GpuError) -> Option<Json> {
    if error.timed_out() {
        return Some(json!({"kind": "time_limit", "message": words(error)}));
    }
    let failure = error.fault()?;
    Some(json!({
        "kind": failure.name,
        "message": words(error),
        "code": failure.code,
        "kernel": failure.of,
        "launch": failure.launch,
    }))
}
