//! `softwarp run`: executes kernels, as a launch file says or as the arguments do.

mod arguments;
mod document;
mod limits;
mod report;
pub(super) mod sanitize;
mod stop;
mod trace;

use super::checking::{ErrorColour, SHOWN, count, target};
use super::progress::Progress as Bar;
use super::{CommandError, Printed, fidelity, files, output, remark, sources};
use crate::input::{InputError, MOST_JSON, confined};
use crate::render::{self, Event};
use crate::run::file::LaunchFile;
use crate::run::{Options, Run, RunError};
use arguments::{Dimensions, Dump, Given};
use document::Document;
use serde_json::{Map, Value as Json};
use softwarp::diagnostic::Location;
use softwarp::source::Source;
use softwarp::vm::device::{LaunchError, LoadError, LoadOptions, Report};
use softwarp::vm::stats::Progress;
use std::collections::BTreeMap;
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
    /// The kernel; the only one of the module without it
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
    /// Put data into a variable of the module
    #[arg(long, value_name = "NAME=DATA")]
    set: Vec<String>,
    /// Read a buffer, variable or surface back, into a file or into the JSON
    #[arg(long, value_name = "NAME[:TYPE][=FILE]")]
    dump: Vec<String>,
    /// Compare with what the launch file expects, by its rule
    #[arg(long)]
    check: bool,
    /// Count what is executed
    #[arg(long)]
    stats: bool,
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
  buffer:x=@x.npy        memory that holds an array (or, of any other file, its bytes), by address
  buffer:y=zero:4096     4096 bytes of zeros; also none:BYTES (never written), iota32:BYTES (words
                         0, 1, 2, ...), splitmix32:SEED:BYTES (random words) and hex:DIGITS
  buffer:x  buffer:x+16  a buffer that was given before, and an address inside it
  constant:c=@c.npy      the same in constant memory, by its address there (.ptr .const)
  u32:7  f32:1.5         a number: u8 to u64, s8 to s64, f16, bf16, f32, f64, and the smaller formats
  bytes:00ff             a struct, in hexadecimal

Prints {\"ok\": true, \"dumps\": {\"y\": hexadecimal}}; what --dump names a file for is written there
instead: an array if it ends in .npy, else bytes. A buffer that began as an array keeps its type and
shape; else TYPE says what it holds (f32, u16, ...), and without one it is bytes.
A fault prints {\"ok\": false, \"fault\": {...}}, with kind, message, file, line, instruction, cta, thread
and more, and shows itself on standard error; exit code 1. What kernels print goes to standard error.
With --sanitize there is also \"findings\": [...]; a run with findings goes on, and has \"ok\": false. What was
beyond a limit of the sanitizers is in \"not_looked_at\": [...].

A launch file is JSON; docs/running.md has the format.

Examples:
  softwarp run examples/saxpy.json
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
    let asked: Vec<Dump> = args.dump.iter().map(|text| Dump::parse(text)).collect::<Result<_, _>>()?;
    let (given, sources) = prepare(args)?;
    let (file, launch_file) = (given.file, given.launch_file.as_deref());
    for (index, dump) in asked.iter().enumerate() {
        // Before anything runs: what cannot be written is known now.
        dump.format(&given.arrays)?;
        if let Some(path) =
            dump.path.as_ref().filter(|path| asked[..index].iter().any(|one| one.path.as_ref() == Some(path)))
        {
            return Err(CommandError::usage(format!(
                "--dump: two memories cannot both go to {}",
                path.display()
            )));
        }
    }
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

    let colour = args.colour.wanted();
    let texts: Vec<&str> = sources.iter().map(|source| source.text.as_str()).collect();
    let wanted = sanitize::wanted(&args.sanitize);
    let memory = args.memory.map(|limits::Bytes(bytes)| bytes);
    let fidelity = args.fidelity.fidelity();
    let load = LoadOptions { arch, memory, fidelity, red_zones: wanted.bounds };
    let mut last = None;
    for schedule in limits::schedules(args)? {
        let machine = Run::prepare(&file, &texts, load);
        let machine = machine.map_err(|error| refused(&error, &sources, launch_file, colour))?;
        let options = Options { most_time, schedule, sanitize: wanted, ..Options::default() };
        let attempt = Attempt { args, file: &file, asked: &asked, arrays: &given.arrays, sources: &sources };
        let (mut result, machine) = attempt.run(machine, &options, launch_file, colour)?;
        limits::add_seed(&mut result, schedule);
        if result.failure.is_some() {
            return result.print(&machine);
        }
        last = Some((result, machine));
    }
    let (result, machine) = last.ok_or_else(|| CommandError::usage("there is nothing to run"))?;
    result.print(&machine)
}

/// What is the same for all orders that are tried.
struct Attempt<'a> {
    args: &'a Args,
    file: &'a LaunchFile,
    asked: &'a [Dump],
    arrays: &'a BTreeMap<String, arguments::ArrayType>,
    sources: &'a [Source],
}

impl Attempt<'_> {
    /// Runs all launches on a machine, and reads back what was asked for.
    fn run(
        &self,
        mut machine: Run,
        options: &Options<'_>,
        launch_file: Option<&str>,
        colour: bool,
    ) -> Result<(Document, Run), CommandError> {
        let Attempt { args, file, asked, arrays, sources } = *self;
        let names = read_back(file, asked, args.check, &machine)?;
        let tracer = trace::Follower::new(&args.trace, sources);
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
                tracer: (!args.trace.is_empty()).then_some(&tracer as _),
                count_operations: args.stats,
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
                    let stats = args.stats.then(|| report::Stats::new(&reports));
                    let mut stopped = stop::stopped(&mut machine, sources, &fault, &names, stats, colour);
                    sanitize::report(&mut stopped, args, &mut machine, sources, &found, colour);
                    return Ok((stopped, machine));
                }
                Err(error) => return Err(refused(&error, sources, launch_file, colour)),
            }
        }
        found.findings.extend(machine.device().leaks());
        let mut result = finish(args, file, &machine, asked, arrays, names, &reports)?;
        sanitize::report(&mut result, args, &mut machine, sources, &found, colour);
        Ok((result, machine))
    }
}

/// What is to be run, and the PTX files.
fn prepare(args: &Args) -> Result<(Given, Vec<Source>), CommandError> {
    let read: Vec<Source> = args.files.iter().map(|path| sources::read(path)).collect::<Result<_, _>>()?;
    let is_json = |source: &Source| source.text.trim_start().starts_with(['{', '[']);
    if !read.iter().any(is_json) {
        let given = arguments::given(args, &read)?;
        return Ok((given, read));
    }
    let ([source], [path]) = (read.as_slice(), args.files.as_slice()) else {
        return Err(CommandError::usage("a launch file stands alone: it names its module"));
    };
    arguments::only_for_ptx(args)?;
    if source.text.len() as u64 > files::limit(MOST_JSON) {
        return Err(files::unreadable(path, InputError::TooLong { limit: files::limit(MOST_JSON) }));
    }
    let file = LaunchFile::parse(&source.text).map_err(|error| CommandError::input(&source.name, error))?;
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
    let folder = path.parent().unwrap_or(Path::new(""));
    let module = confined(folder, &name, args.allow_paths).map_err(|error| match error {
        InputError::Outside { .. } => CommandError::input(&source.name, format!("ptx: {error}")),
        _ => files::unreadable(&folder.join(&name), error),
    })?;
    let module = sources::read(&module)?;
    Ok((Given { file, arrays: BTreeMap::new(), launch_file: Some(source.name.clone()) }, vec![module]))
}

/// What is read back into the JSON at the end.
fn read_back(
    file: &LaunchFile,
    asked: &[Dump],
    check: bool,
    machine: &Run,
) -> Result<Vec<String>, CommandError> {
    for dump in asked {
        if !machine.has(file, &dump.name) {
            let why = format!("--dump {}: there is no buffer, variable or surface of this name", dump.name);
            return Err(CommandError::usage(why));
        }
    }
    let names: Vec<&String> = match (asked.is_empty(), check) {
        (false, _) => asked.iter().filter(|dump| dump.path.is_none()).map(|dump| &dump.name).collect(),
        (true, true) => Vec::new(),
        (true, false) => file.dumped().collect(),
    };
    // A name that is given twice is one member.
    let once = names.iter().enumerate().filter(|(index, name)| !names[..*index].contains(name));
    Ok(once.map(|(_, name)| (*name).clone()).collect())
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
    asked: &[Dump],
    arrays: &BTreeMap<String, arguments::ArrayType>,
    names: Vec<String>,
    reports: &[Report],
) -> Result<Document, CommandError> {
    let wrong = |error: RunError| CommandError::Input(error.to_string());
    let mut result = Document::new(true);
    for dump in asked.iter().filter(|dump| dump.path.is_some()) {
        dump.write(&machine.memory(&dump.name).map_err(wrong)?, arrays)?;
    }
    if !asked.is_empty() || !names.is_empty() || !args.check {
        // What cannot be read is known before anything is printed.
        names.iter().try_for_each(|name| machine.memory(name).map(drop)).map_err(wrong)?;
        result.add_dumps(names);
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
    if args.stats {
        report::Stats::new(reports).tell(&mut result);
    }
    Ok(result)
}

/// What cannot be run, shown as `softwarp check` shows what is wrong.
fn refused(error: &RunError, sources: &[Source], launch_file: Option<&str>, colour: bool) -> CommandError {
    let show = |text: String| {
        remark(text.trim_end_matches('\n'));
        remark("");
    };
    match error {
        RunError::Load(LoadError::Invalid(found)) => {
            for (unit, diagnostic) in found.iter().take(SHOWN) {
                if let Some(source) = sources.get(*unit as usize) {
                    show(render::text(source, diagnostic, colour));
                }
            }
            CommandError::Input(format!("{}: the module cannot be loaded", count((found.len(), "error"))))
        }
        RunError::Load(LoadError::Unlinked(found)) => {
            found.iter().take(SHOWN).for_each(|one| show(render::linked(sources, one, colour)));
            CommandError::Input(format!("{}: the modules cannot be linked", count((found.len(), "error"))))
        }
        RunError::Launch { error: LaunchError::Unsupported(list), .. } => {
            for one in list.iter().take(SHOWN) {
                let places = vec![(Location { unit: one.unit, span: one.span }, None)];
                show(render::event(
                    sources,
                    &Event { message: one.what.clone(), places, notes: Vec::new() },
                    colour,
                ));
            }
            let what = count((list.len(), "instruction"));
            CommandError::Input(format!("{what} of the kernel cannot be executed by the machine yet"))
        }
        // Who said how to launch is at fault.
        RunError::Launch { error, index } => match launch_file {
            None => CommandError::usage(error),
            Some(name) => CommandError::input(name, format!("launches[{index}]: {error}")),
        },
        RunError::File(_) | RunError::Memory { .. } | RunError::Texture { .. } | RunError::Load(_) => {
            launch_file.map_or_else(
                || CommandError::Input(error.to_string()),
                |name| CommandError::input(name, error),
            )
        }
    }
}
