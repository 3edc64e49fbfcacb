//! `softwarp run`: executes kernels, as a launch file says or as the arguments do.

mod arguments;
mod compared;
mod comparison;
mod coverage;
mod document;
mod dumps;
mod gpu;
mod hints;
mod launch_args;
mod limits;
mod lines;
mod ready;
mod refusal;
mod report;
pub(super) mod sanitize;
mod stop;
mod table;
mod trace;

use super::checking::{count, target};
use super::progress::{Progress as Bar, Working};
use super::{CommandError, Printed, output, remark, sources};
use crate::run::compare::Difference;
use crate::run::file::LaunchFile;
use crate::run::{Memories, Options, Run, RunError, counted, observe};
use arguments::Given;
use document::{Document, Shown, Style};
use dumps::{Dump, ReadBack};
pub(super) use launch_args::LaunchArgs;
use launch_args::Prepared;
pub(super) use ready::{Ready, machine, ready, refused, tables};
use refusal::Refusal;
use serde_json::{Map, Value as Json};
use softwarp::isa::Target;
use softwarp::vm::device::{LaunchError, LoadOptions, ModuleId, Report};
use softwarp::vm::stats::{Progress, Tracer};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Execute kernels on the CPU, exactly as a GPU would
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    launch: LaunchArgs,
    /// How to print; without it, text on a terminal, else JSON
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Style>,
    /// Compare with what the launch file expects, by its rule
    #[arg(long)]
    check: bool,
    /// Count what is executed; with =lines, for each line of the PTX too
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all"
    )]
    stats: Option<report::Detail>,
    /// Write how often each line was executed, of the PTX and of the program that it was made from, as lcov has it; `-` is standard output, which then has no results
    #[arg(long, value_name = "FILE")]
    coverage: Option<PathBuf>,
    /// Look for more than faults, as a list: init, race, sync, bounds, leak, or all of them
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    sanitize: Vec<sanitize::What>,
    #[command(flatten)]
    trace: trace::TraceArgs,
    /// How many threads of this computer take part; all cores without it
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Whether kernels are compiled to machine code: never, before they run, or when they have run for long enough; or
    /// whether each launch runs both compiled and interpreted, and what differs is a finding; without it, what
    /// SOFTWARP_JIT says, else auto
    #[arg(long, value_enum, value_name = "WHEN")]
    jit: Option<super::jit::When>,
    /// Where `--jit compare` writes a folder that reproduces what it found: the module, memory and a launch file
    #[arg(long, value_name = "DIR", default_value = "softwarp-mismatches")]
    mismatches: PathBuf,
    /// Stop a launch after N steps: instructions of warps, and more for costly ones
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Stop a launch after this time
    #[arg(long, value_name = "SECONDS")]
    time: Option<f64>,
    /// In which order threads run: fixed, or random:SEED, which is another for each seed
    #[arg(long, value_name = "ORDER")]
    schedule: Option<limits::Order>,
    /// Run N random schedules with consecutive seeds, and stop at the first fault, finding or difference
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    #[command(flatten)]
    gpu: gpu::GpuArgs,
}

const HELP: &str = "\
Arguments of the kernel, in the order of its parameters:
  buffer:x=CONTENTS      memory, by address; buffer:x and buffer:x+8 are the same memory again
  constant:c=CONTENTS    constants, by their address there (.ptr .const)
  u32:7, i32:-1, f32:2   a number: u8 to u64, s8 to s64 (or i8 to i64), f16, bf16, f32, f64, and the
                         smaller formats, by any name that `softwarp formats` lists (float32, half, fp8)
  bytes:00ff             a struct, in hexadecimal
  'struct:u32:7;f32:1'   a struct of these members, laid out as in C
  texobj:t.json          a texture (surfobj: a surface) that a file describes as launch files do
  tensormap:m.json=x     a tensor map that a file describes, of the tensor in buffer x

Contents:
  @x.npy                 an array, or, of any other file, its bytes
  f32:1,2,3              numbers; also f32:1.5*100 (100 times 1.5) and u32:0..100 (0, 1, ... 99)
  zero:4096              4096 bytes of zeros; also none:BYTES (never written), iota32:BYTES (words
                         0, 1, 2, ...), splitmix32:SEED:BYTES (random words) and hex:DIGITS

Prints {\"ok\": true, \"dumps\": {\"y\": hexadecimal}}; with a type (--dump y:f32, --dump y:f32[2,4]), numbers.
On a terminal, or with --format text, it is a table. What --dump names a file for is written there
instead: an array if it ends in .npy, else bytes. A buffer that began as an array keeps its type and
shape; else TYPE says what it holds (f32, u16, ...), and without one it is bytes.
A fault prints {\"ok\": false, \"fault\": {...}}, with kind, message, file, line, instruction, cta, thread
and more, and shows itself on standard error; exit code 1. What kernels print goes to standard error.
With --sanitize there is also \"findings\": [...]; a run with findings goes on, and has \"ok\": false. What was
beyond a limit of the sanitizers is in \"not_looked_at\": [...]. With --jit compare there is \"compared\": {...},
and what differs between compiled code and the interpreter is a finding of the kind jit-mismatch.

A launch file is JSON; docs/launch-files.md has the format.

Examples:
  softwarp run examples/saxpy.json
  softwarp run examples/saxpy.ptx --block 32 --arg f32:2 \\
      --arg buffer:x=f32:1,2,3 --arg buffer:y=f32:10*3 --arg u32:3 --dump y:f32
  softwarp run examples/saxpy.ptx --grid 4 --block 256 --arg f32:2 \\
      --arg buffer:x=@x.npy --arg buffer:y=@y.npy --arg u32:1000 --dump y=out.npy
  softwarp run kernel.cubin --arg f32:2
  softwarp run kernel.json --check --stats
  softwarp run --gpu examples/saxpy.json
  softwarp run --compare examples/saxpy.json
  softwarp run --jit compare examples/saxpy.json";

/// Stops launches when the user asks for it.
static CANCEL: AtomicBool = AtomicBool::new(false);

/// Whether a launch is under way that can be stopped so.
static LAUNCHING: AtomicBool = AtomicBool::new(false);

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    sources::only_one_standard_input(&args.launch.files)?;
    args.gpu.check(args)?;
    let arch = args.launch.arch.as_deref().map(target).transpose()?;
    let most_time = time_limit(args)?;
    if args.threads == Some(0) {
        return Err(CommandError::usage("--threads 0: there must be at least one"));
    }
    let asked: Vec<Dump> = args.launch.dump.iter().map(|text| Dump::parse(text)).collect::<Result<_, _>>()?;
    let taken = takes_standard_output(args, &asked)?;
    let colour = args.launch.colour.wanted();
    let Prepared { given: Given { mut file, launch_file }, sources, fmad } =
        launch_args::prepare(&args.launch, arch, colour)?;
    if args.trace.is_wanted() && args.threads.is_some_and(|threads| threads > 1) {
        return Err(CommandError::usage("--threads: a launch that is followed (--trace) runs on one thread"));
    }
    let needs_block = launch_file.is_none() && args.launch.block.is_none();
    if args.check && file.expect.is_empty() {
        return Err(CommandError::usage("--check: the launch file has no `expect` to compare with"));
    }

    let load = load_options(args, arch, fmad);
    let refusal = Refusal { sources: &sources, launch_file: launch_file.as_ref(), colour };
    if args.gpu.is_wanted() {
        let (sources, load) = (sources.as_slice(), LoadOptions { red_zones: false, ..load });
        if fmad == Some(false) {
            remark(
                "note: the assembler was told --fmad=false; the driver's compiler cannot be, and fuses products and sums",
            );
        }
        let formats = asked.iter().filter_map(|dump| Some((dump.name.clone(), dump.format?))).collect();
        let on =
            gpu::OnGpu { args, file, sources, refusal, asked, load, needs_block, taken, formats, most_time };
        return on.run();
    }
    listen_for_interrupts();

    let texts: Vec<&str> = sources.iter().map(|source| source.text.as_str()).collect();
    let wanted = sanitize::wanted(&args.sanitize);
    let mut asked = Some(asked);
    let mut read_back = None;
    let mut block_note = None;
    let mut last = None;
    for schedule in limits::schedules(args)? {
        let machine = Working::during("loading", || Run::prepare(&file, &texts, load));
        let machine = machine.map_err(|error| refusal.of(&error, None))?;
        if let Some(asked) = asked.take() {
            hints::name_kernels(&mut file, &machine, &refusal)?;
            if needs_block {
                block_note = hints::default_blocks(&mut file, &machine);
            }
            traced_threads_exist(args, &file)?;
            hints::warn_of_types(&file, &machine);
            read_back = Some(ReadBack::new(
                launch_args::wanted_dumps(&args.launch, asked, &file)?,
                args.check && args.launch.dump.is_empty(),
                &file,
                &machine,
            )?);
        }
        let Some(read_back) = &read_back else { break };
        let options = Options { most_time, schedule, sanitize: wanted, ..Options::default() };
        let attempt = Attempt { args, file: &file, read_back, refusal: &refusal };
        let (mut result, machine) = attempt.run(machine, &options)?;
        limits::add_seed(&mut result, schedule);
        let failed = result.failure.is_some();
        last = Some((result, machine));
        if failed {
            break;
        }
    }
    if let (Some(note), true) = (&block_note, last.is_some()) {
        remark(note);
    }
    let (result, machine) = last.ok_or_else(|| CommandError::usage("there is nothing to run"))?;
    if taken {
        return Ok(Printed { text: String::new(), failure: result.failure });
    }
    result.print(&machine, Style::wanted(args.format))
}

/// `--time`
fn time_limit(args: &Args) -> Result<Option<Duration>, CommandError> {
    let limit = |seconds: f64| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| CommandError::usage(format!("--time {seconds}: it must be a number of seconds")))
    };
    args.time.map(limit).transpose()
}

/// Lets Ctrl-C stop a launch. While there is none, it ends the program.
fn listen_for_interrupts() {
    let handler = || {
        // A second request does not wait.
        if CANCEL.swap(true, Ordering::Relaxed) || !LAUNCHING.load(Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    if softwarp_heap::has_room_for_threads(1) {
        let _ = ctrlc::set_handler(handler);
    }
}

/// How modules are loaded here.
fn load_options(args: &Args, arch: Option<Target>, fmad: Option<bool>) -> LoadOptions {
    LoadOptions {
        arch,
        memory: args.launch.memory.map(|limits::Bytes(bytes)| bytes),
        fidelity: args.launch.fidelity.fidelity(fmad),
        red_zones: sanitize::wanted(&args.sanitize).bounds,
        debug: args.trace.is_wanted(),
        windows: None,
    }
}

/// Whether something is written to standard output in place of the results; two things cannot be.
fn takes_standard_output(args: &Args, asked: &[Dump]) -> Result<bool, CommandError> {
    let to_stdout = |path: Option<&Path>| path.is_some_and(sources::is_standard_input);
    let dumps = asked.iter().filter(|dump| to_stdout(dump.path.as_deref())).count();
    match dumps + usize::from(to_stdout(args.coverage.as_deref())) {
        0 => Ok(false),
        1 => Ok(true),
        _ => {
            Err(CommandError::usage("`-` is standard output: only one of --coverage and --dump can have it"))
        }
    }
}

/// Refuses threads to follow that no launch has.
fn traced_threads_exist(args: &Args, file: &LaunchFile) -> Result<(), CommandError> {
    for thread in &args.trace.traced {
        if !file.launches.iter().any(|launch| thread.is_in(launch.grid, launch.block)) {
            let why = "no launch has such a thread: see its grid and block";
            return Err(CommandError::usage(format!("--trace {thread}: {why}")));
        }
    }
    Ok(())
}

/// What is the same for all orders that are tried.
struct Attempt<'a> {
    args: &'a Args,
    file: &'a LaunchFile,
    read_back: &'a ReadBack,
    refusal: &'a Refusal<'a>,
}

impl Attempt<'_> {
    /// Runs all launches on a machine, and reads back what was asked for.
    fn run(&self, mut machine: Run, options: &Options<'_>) -> Result<(Document, Run), CommandError> {
        let Attempt { args, file, read_back, refusal } = *self;
        let Refusal { sources, colour, .. } = *refusal;
        let follower = trace::Follower::new(&args.trace, sources, &machine, file)?;
        let observer = observe::Observer::default();
        let counts_lines = args.stats == Some(report::Detail::Lines);
        let mut reports = Vec::new();
        let mut found = sanitize::Found::default();
        for index in 0..file.launches.len() {
            let progress = Progress::default();
            let options = Options {
                threads: args.threads,
                jit: args.jit.map_or(options.jit, super::jit::When::jit),
                most_instructions: args.steps,
                cancel: Some(&CANCEL),
                print: Some(&output::stderr),
                tracer: counts_lines.then_some(&observer as &dyn Tracer),
                count_operations: args.stats.is_some() || args.coverage.is_some(),
                progress: Some(&progress),
                ..*options
            };
            let outcome = match &follower {
                None => watched(&progress, || machine.launch(file, index, &options)),
                Some(follower) => follower.follow(index, |tracer| {
                    let options = Options { debugger: Some(tracer), ..options };
                    watched(&progress, || machine.launch(file, index, &options))
                }),
            };
            found.findings.extend(machine.device().findings());
            found.not_looked_at.extend(machine.device().not_looked_at());
            match outcome {
                Ok(mut report) => {
                    found.comparisons.add(std::mem::take(&mut report.comparisons));
                    reports.push(report);
                }
                Err(RunError::Launch { error: LaunchError::Fault(fault), .. }) => {
                    let stopped = machine.device().stopped();
                    stopped.iter().for_each(|report| found.comparisons.add(report.comparisons.clone()));
                    reports.extend(stopped);
                    let stats = self.counts(&machine, &reports, &observer)?;
                    let hints = hints::of_fault(&machine, sources, file.launches.get(index), &fault);
                    let shown = &read_back.shown;
                    let mut stopped = stop::stopped(&mut machine, refusal, &fault, hints, shown, stats);
                    sanitize::report(&mut stopped, args, &mut machine, sources, &found, colour);
                    follower.map_or(Ok(()), trace::Follower::end)?;
                    return Ok((stopped, machine));
                }
                Err(error) => return Err(refusal.of(&error, Some((&machine, file)))),
            }
        }
        follower.map_or(Ok(()), trace::Follower::end)?;
        found.findings.extend(machine.device().leaks());
        let wrong = |error: RunError| CommandError::Input(error.to_string());
        let differences = args.check.then(|| machine.differences(file)).transpose().map_err(wrong)?;
        let mut result = finish(args, file, &machine, read_back, differences)?;
        if let Some(stats) = self.counts(&machine, &reports, &observer)? {
            stats.tell(&mut result);
        }
        sanitize::report(&mut result, args, &mut machine, sources, &found, colour);
        Ok((result, machine))
    }

    /// What was executed, if that is asked for. Writes the file of `--coverage`.
    fn counts(
        &self,
        machine: &Run,
        reports: &[Report],
        observer: &observe::Observer,
    ) -> Result<Option<report::Stats>, CommandError> {
        let Attempt { args, refusal: Refusal { sources, .. }, .. } = *self;
        let wants_lines = args.stats == Some(report::Detail::Lines);
        let mut table = None;
        if wants_lines || args.coverage.is_some() {
            let module = machine.device().module(ModuleId::default());
            let functions =
                module.map_or_else(|_| Vec::new(), |module| counted::counted(&module, sources, reports));
            table = wants_lines.then(|| lines::LineTable::new(sources, &functions, observer));
            if let Some(path) = &args.coverage {
                coverage::write(path, sources, &functions)?;
            }
        }
        Ok(args.stats.map(|_| report::Stats::new(reports, table)))
    }
}

/// Runs something while another thread shows how far it is once it takes long: a bar on a terminal, else lines.
fn watched<T>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let show = || {
            let bar = Bar::new(0, "CTAs");
            while !done.load(Ordering::Relaxed) {
                let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
                let instructions =
                    format!("{:.1e} instructions of warps", read(&progress.warp_instructions) as f64);
                bar.of(read(&progress.ctas_done), read(&progress.ctas), &instructions);
                std::thread::park_timeout(Duration::from_millis(100));
            }
            bar.finish();
        };
        // Without memory for a thread, nothing is shown.
        let new = || std::thread::Builder::new().spawn_scoped(scope, show).ok();
        let shows = softwarp_heap::has_room_for_threads(1).then(new).flatten();
        /// Ends the other thread, after a panic too.
        struct End<'a>(&'a AtomicBool, Option<&'a std::thread::Thread>);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
                self.1.inspect(|thread| thread.unpark());
            }
        }
        let _end = End(&done, shows.as_ref().map(|shows| shows.thread()));
        LAUNCHING.store(true, Ordering::Relaxed);
        let done = work();
        LAUNCHING.store(false, Ordering::Relaxed);
        done
    })
}

/// What to print of memories: `differences` from what the launch file expects, if they were looked for.
fn finish(
    args: &Args,
    file: &LaunchFile,
    machine: &dyn Memories,
    read_back: &ReadBack,
    differences: Option<Vec<(String, Difference)>>,
) -> Result<Document, CommandError> {
    let wrong = |error: RunError| CommandError::Input(error.to_string());
    let mut result = Document::new(true);
    for dump in &read_back.files {
        dump.write(file, &machine.memory(&dump.name).map_err(wrong)?)?;
    }
    let shown: &[Shown] = &read_back.shown;
    if !args.launch.dump.is_empty() || !shown.is_empty() || !args.check {
        // What cannot be read is known before anything is printed.
        shown.iter().try_for_each(|one| machine.memory(&one.name).map(drop)).map_err(wrong)?;
        result.add_dumps(shown.to_vec());
    }
    if let Some(found) = differences {
        let words: Map<String, Json> =
            found.iter().map(|(name, difference)| (name.clone(), difference.to_string().into())).collect();
        result.ok = found.is_empty();
        result.add("differences", words.into());
        if !found.is_empty() {
            for (name, difference) in &found {
                remark(&format!("{name}: {difference}"));
            }
            let results = count((found.len(), "result"));
            let differ = if found.len() == 1 { "differs" } else { "differ" };
            result.failure =
                Some(CommandError::Input(format!("{results} {differ} from what the launch file expects")));
        }
    }
    Ok(result)
}
