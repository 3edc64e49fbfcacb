//! `softwarp run`: executes kernels, as a launch file says or as the arguments do.

mod arguments;
mod counted;
mod coverage;
mod document;
mod dumps;
mod hints;
mod limits;
mod lines;
mod observe;
mod refusal;
mod report;
pub(super) mod sanitize;
mod stop;
mod table;
mod trace;

use super::checking::{ErrorColour, count, target};
use super::progress::Progress as Bar;
use super::{CommandError, Printed, fidelity, files, output, remark, sources};
use crate::input::{InputError, MOST_DATA, MOST_JSON, confined};
use crate::run::data::Files;
use crate::run::file::LaunchFile;
use crate::run::{Options, Run, RunError};
use arguments::{Dimensions, Given};
use document::{Document, Shown, Style};
use dumps::{Dump, ReadBack};
use refusal::Refusal;
use serde_json::{Map, Value as Json};
use softwarp::source::Source;
use softwarp::vm::device::{LaunchError, LoadOptions, Report};
use softwarp::vm::stats::{Progress, Tracer};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Execute kernels on the CPU, exactly as a GPU would
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A launch file, or PTX files, which are linked if there are several; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The kernel, by its name in the PTX or in C++; the only one of the module without it
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// CTAs of the grid, in up to three dimensions
    #[arg(long, value_name = "X[,Y[,Z]]")]
    grid: Option<Dimensions>,
    /// Threads of a CTA, in up to three dimensions
    #[arg(long, value_name = "X[,Y[,Z]]")]
    block: Option<Dimensions>,
    /// CTAs of a cluster, in up to three dimensions; without it, what the kernel says
    #[arg(long, value_name = "X[,Y[,Z]]")]
    cluster: Option<Dimensions>,
    /// All CTAs are there at once, and can wait for one another (`grid.sync()`)
    #[arg(long)]
    cooperative: bool,
    /// Bytes of shared memory beyond what the kernel declares
    #[arg(long, value_name = "BYTES")]
    shared: Option<u32>,
    /// The next argument of the kernel
    #[arg(long = "arg", value_name = "KIND:VALUE")]
    arguments: Vec<String>,
    /// Memory that is no argument itself
    #[arg(long = "buffer", value_name = "NAME=CONTENTS")]
    buffers: Vec<String>,
    /// Put data into a variable of the module
    #[arg(long, value_name = "NAME=DATA")]
    set: Vec<String>,
    /// Read a buffer, variable or surface back, into a file or into what is printed
    #[arg(long, value_name = "NAME[:TYPE][=FILE]")]
    dump: Vec<String>,
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
    /// Write how often each line was executed, of the PTX and of the program that it was made from, as lcov has it
    #[arg(long, value_name = "FILE")]
    coverage: Option<PathBuf>,
    /// Look for more than faults, as a list: init, race, sync, bounds, leak, or all of them
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    sanitize: Vec<sanitize::What>,
    /// Follow a thread: its CTA and itself, as in 0:5 or 1,0,0:5,0,0
    #[arg(long, value_name = "CTA:THREAD")]
    trace: Vec<trace::Thread>,
    /// How many threads of this computer take part; all cores without it
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Stop a launch after N steps: instructions of warps, and more for costly ones
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Stop a launch after this time
    #[arg(long, value_name = "SECONDS")]
    time: Option<f64>,
    /// Let a launch file name files outside of its folder
    #[arg(long)]
    allow_paths: bool,
    /// The most memory of this computer to take, as in 512M or 4G; without it, half of what there is
    #[arg(long, value_name = "BYTES")]
    memory: Option<limits::Bytes>,
    /// In which order threads run: fixed, or random:SEED, which is another for each seed
    #[arg(long, value_name = "ORDER")]
    schedule: Option<limits::Order>,
    /// Run N random schedules with consecutive seeds, and stop at the first fault, finding or difference
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    /// The GPU to be, as in sm_90a, instead of the module's .target
    #[arg(long, value_name = "SM")]
    arch: Option<String>,
    #[command(flatten)]
    fidelity: fidelity::FidelityArgs,
    #[command(flatten)]
    colour: ErrorColour,
}

const HELP: &str = "\
Arguments of the kernel, in the order of its parameters:
  buffer:x=CONTENTS      memory, by address; buffer:x and buffer:x+8 are the same memory again
  constant:c=CONTENTS    constants, by their address there (.ptr .const)
  u32:7  i32:-1  f32:1.5 a number: u8 to u64, s8 to s64 (or i8 to i64), f16, bf16, f32, f64, and the
                         smaller formats
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
beyond a limit of the sanitizers is in \"not_looked_at\": [...].

A launch file is JSON; docs/launch-files.md has the format.

Examples:
  softwarp run examples/saxpy.json
  softwarp run examples/saxpy.ptx --block 32 --arg f32:2 --arg buffer:x=f32:1,2,3 \\
      --arg buffer:y=f32:10*3 --arg u32:3 --dump y:f32
  softwarp run examples/saxpy.ptx --grid 4 --block 256 --arg f32:2 --arg buffer:x=@x.npy \\
      --arg buffer:y=@y.npy --arg u32:1000 --dump y=out.npy
  softwarp run kernel.json --check --stats";

/// Stops launches when the user asks for it.
static CANCEL: AtomicBool = AtomicBool::new(false);

/// Runs the command.
pub fn run(args: &Args) -> Result<Printed, CommandError> {
    sources::only_one_standard_input(&args.files)?;
    let arch = args.arch.as_deref().map(target).transpose()?;
    let most_time =
        match args.time {
            Some(seconds) => Some(Duration::try_from_secs_f64(seconds).map_err(|_| {
                CommandError::usage(format!("--time {seconds}: it must be a number of seconds"))
            })?),
            None => None,
        };
    if args.threads == Some(0) {
        return Err(CommandError::usage("--threads 0: there must be at least one"));
    }
    if args.coverage.as_deref().is_some_and(sources::is_standard_input) {
        return Err(CommandError::usage("--coverage -: standard output has the results, so name a file"));
    }
    let asked: Vec<Dump> = args.dump.iter().map(|text| Dump::parse(text)).collect::<Result<_, _>>()?;
    let colour = args.colour.wanted();
    let (Given { mut file, launch_file }, sources) = prepare(args, colour)?;
    if !args.trace.is_empty() && args.threads.is_some_and(|threads| threads > 1) {
        return Err(CommandError::usage("--threads: a launch that is followed (--trace) runs on one thread"));
    }
    for thread in &args.trace {
        if !file.launches.iter().any(|launch| thread.is_in(launch.grid, launch.block)) {
            let why = "no launch has such a thread: see its grid and block";
            return Err(CommandError::usage(format!("--trace {thread}: {why}")));
        }
    }
    if args.check && file.expect.is_empty() {
        return Err(CommandError::usage("--check: the launch file has no `expect` to compare with"));
    }

    // A second request does not wait.
    let handler = || {
        if CANCEL.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    let _ = ctrlc::set_handler(handler);

    let texts: Vec<&str> = sources.iter().map(|source| source.text.as_str()).collect();
    let wanted = sanitize::wanted(&args.sanitize);
    let memory = args.memory.map(|limits::Bytes(bytes)| bytes);
    let fidelity = args.fidelity.fidelity();
    let load = LoadOptions { arch, memory, fidelity, red_zones: wanted.bounds };
    let refusal = Refusal { sources: &sources, launch_file: launch_file.as_ref(), colour };
    let mut asked = Some(asked);
    let mut read_back = None;
    let mut last = None;
    for schedule in limits::schedules(args)? {
        let machine = Run::prepare(&file, &texts, load).map_err(|error| refusal.of(&error, None))?;
        if let Some(asked) = asked.take() {
            hints::name_kernels(&mut file, &machine, &refusal)?;
            hints::warn_of_types(&file, &machine);
            read_back = Some(ReadBack::new(
                wanted_dumps(args, asked, &file)?,
                args.check && args.dump.is_empty(),
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
    if launch_file.is_none() && args.block.is_none() && last.is_some() {
        remark("note: one thread ran in each CTA: --block says how many there are");
    }
    let (result, machine) = last.ok_or_else(|| CommandError::usage("there is nothing to run"))?;
    result.print(&machine, Style::wanted(args.format))
}

/// What is read back: what the command line asks for, or else what the launch file does.
fn wanted_dumps(args: &Args, asked: Vec<Dump>, file: &LaunchFile) -> Result<Vec<Dump>, CommandError> {
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
        let tracer = trace::Follower::new(&args.trace, sources);
        let observer = observe::Observer::default();
        let both = observe::Both(&tracer, &observer);
        let tracers: Option<&dyn Tracer> = match (args.trace.is_empty(), args.stats) {
            (true, Some(report::Detail::Lines)) => Some(&observer),
            (false, Some(report::Detail::Lines)) => Some(&both),
            (false, _) => Some(&tracer),
            (true, _) => None,
        };
        let mut reports = Vec::new();
        let mut found = sanitize::Found::default();
        for index in 0..file.launches.len() {
            let progress = Progress::default();
            let block = file.launches.get(index).map_or([1; 3], |launch| launch.block);
            tracer.begin(index, block);
            let options = Options {
                // What is followed is told in one order.
                threads: if args.trace.is_empty() { args.threads } else { Some(1) },
                most_instructions: args.steps,
                cancel: Some(&CANCEL),
                print: Some(&output::stderr),
                tracer: tracers,
                count_operations: args.stats.is_some() || args.coverage.is_some(),
                progress: Some(&progress),
                ..*options
            };
            let outcome = watched(&progress, || machine.launch(file, index, &options));
            tracer.end();
            found.findings.extend(machine.device().findings());
            found.not_looked_at.extend(machine.device().not_looked_at());
            match outcome {
                Ok(report) => reports.push(report),
                Err(RunError::Launch { error: LaunchError::Fault(fault), .. }) => {
                    reports.extend(machine.device().stopped());
                    let stats = self.counts(&machine, &reports, &observer)?;
                    let hints = hints::of_fault(&machine, sources, file.launches.get(index), &fault);
                    let shown = &read_back.shown;
                    let mut stopped = stop::stopped(&mut machine, refusal, &fault, hints, shown, stats);
                    sanitize::report(&mut stopped, args, &mut machine, sources, &found, colour);
                    return Ok((stopped, machine));
                }
                Err(error) => return Err(refusal.of(&error, Some((&machine, file)))),
            }
        }
        found.findings.extend(machine.device().leaks());
        let mut result = finish(args, file, &machine, read_back)?;
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
            let functions = counted::counted(machine, sources, reports);
            table = wants_lines.then(|| lines::LineTable::new(sources, &functions, observer));
            if let Some(path) = &args.coverage {
                coverage::write(path, sources, &functions)?;
            }
        }
        Ok(args.stats.map(|_| report::Stats::new(reports, table)))
    }
}

/// What is to be run, and the PTX files.
fn prepare(args: &Args, colour: bool) -> Result<(Given, Vec<Source>), CommandError> {
    let read: Vec<Source> =
        args.files.iter().map(|path| sources::read_or_compile(path)).collect::<Result<_, _>>()?;
    let is_json = |source: &Source| source.text.trim_start().starts_with(['{', '[']);
    if !read.iter().any(is_json) {
        read.iter().try_for_each(sources::not_empty)?;
        return Ok((arguments::given(args)?, read));
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
    let module = confined(folder, &name, args.allow_paths).map_err(|error| match error {
        InputError::Outside { .. } => CommandError::input(&source.name, format!("ptx: {error}")),
        _ => files::unreadable(&folder.join(&name), error),
    })?;
    let module = sources::read_or_compile(&module)?;
    sources::not_empty(&module)?;
    Ok((Given { file, launch_file: Some(source) }, vec![module]))
}

/// Runs something while another thread shows how far it is once it takes long: a bar on a terminal, else lines.
fn watched<T>(progress: &Progress, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let shows = scope.spawn(|| {
            let bar = Bar::new(0, "CTAs");
            while !done.load(Ordering::Relaxed) {
                let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
                let instructions =
                    format!("{:.1e} instructions of warps", read(&progress.warp_instructions) as f64);
                bar.of(read(&progress.ctas_done), read(&progress.ctas), &instructions);
                std::thread::park_timeout(Duration::from_millis(100));
            }
            bar.finish();
        });
        /// Ends the other thread, after a panic too.
        struct End<'a>(&'a AtomicBool, &'a std::thread::Thread);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
                self.1.unpark();
            }
        }
        let _end = End(&done, shows.thread());
        work()
    })
}

fn finish(
    args: &Args,
    file: &LaunchFile,
    machine: &Run,
    read_back: &ReadBack,
) -> Result<Document, CommandError> {
    let wrong = |error: RunError| CommandError::Input(error.to_string());
    let mut result = Document::new(true);
    for dump in &read_back.files {
        dump.write(file, &machine.memory(&dump.name).map_err(wrong)?)?;
    }
    let shown: &[Shown] = &read_back.shown;
    if !args.dump.is_empty() || !shown.is_empty() || !args.check {
        // What cannot be read is known before anything is printed.
        shown.iter().try_for_each(|one| machine.memory(&one.name).map(drop)).map_err(wrong)?;
        result.add_dumps(shown.to_vec());
    }
    if args.check {
        let found = machine.differences(file).map_err(wrong)?;
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
