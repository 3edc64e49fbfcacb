//! `--trace`: every instruction that some threads execute, with its results and the memory that it uses.

use super::super::files::Output;
use super::super::sources::is_standard_input;
use super::super::{CommandError, remark};
use crate::run::Run;
use crate::run::file::LaunchFile;
use serde_json::{Value as Json, json};
use softwarp::debug::trace::{Filter, Followed, MemoryUse, Record, Tracer};
use softwarp::debug::value::Value;
use softwarp::debug::view::Program;
use softwarp::source::Source;
use softwarp::vm::device::{Module, ModuleId};
use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// Which threads are followed, and what of them is told.
#[derive(Debug, clap::Args)]
pub struct TraceArgs {
    /// Follow a thread: its CTA and itself, as in 0:5 or 1,0,0:5,0,0
    #[arg(long = "trace", value_name = "CTA:THREAD")]
    pub traced: Vec<Thread>,
    /// Tell only some instructions: line:30-40, source:kernel.cu:12, register:%r1 or kernel:NAME
    #[arg(long, value_name = "WHAT", requires = "traced")]
    trace_only: Vec<Only>,
    /// Write what is followed to a file, as a JSON object on each line, instead of telling it
    #[arg(long, value_name = "FILE", requires = "traced")]
    trace_file: Option<PathBuf>,
}

/// A thread to follow.
#[derive(Clone, Copy, Debug)]
pub struct Thread(Followed);

impl FromStr for Thread {
    type Err = String;

    fn from_str(text: &str) -> Result<Thread, String> {
        let (cta, thread) = text.split_once(':').unwrap_or(("0", text));
        let place = |text: &str| {
            let mut place = [0; 3];
            let parts: Vec<&str> = text.split(',').collect();
            if parts.len() > 3 {
                return Err("there are at most three dimensions".to_owned());
            }
            for (index, part) in place.iter_mut().zip(parts) {
                *index =
                    part.trim().parse().map_err(|_| format!("`{}` is not an index", part.escape_debug()))?;
            }
            Ok(place)
        };
        Ok(Thread(Followed { cta: place(cta)?, thread: place(thread)? }))
    }
}

impl std::fmt::Display for Thread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([cx, cy, cz], [x, y, z]) = (self.0.cta, self.0.thread);
        write!(f, "{cx},{cy},{cz}:{x},{y},{z}")
    }
}

impl Thread {
    /// Whether a launch has this thread.
    pub fn is_in(&self, grid: [u32; 3], block: [u32; 3]) -> bool {
        let within = |place: [u32; 3], sizes: [u32; 3]| place.iter().zip(sizes).all(|(at, size)| *at < size);
        within(self.0.cta, grid) && within(self.0.thread, block)
    }
}

/// A part of the filter.
#[derive(Clone, Debug)]
enum Only {
    Lines(u32, u32),
    Source(String, u32, u32),
    Register(String),
    Function(String),
}

impl FromStr for Only {
    type Err = String;

    fn from_str(text: &str) -> Result<Only, String> {
        let range = |text: &str| {
            let (from, to) = text.split_once('-').unwrap_or((text, text));
            let number = |part: &str| part.trim().parse::<u32>().ok();
            number(from).zip(number(to)).ok_or_else(|| format!("`{}` is no line", text.escape_debug()))
        };
        match text.split_once(':') {
            Some(("line", lines)) => range(lines).map(|(from, to)| Only::Lines(from, to)),
            Some(("source", place)) => {
                let (file, lines) = place.rsplit_once(':').ok_or("source takes FILE:LINE")?;
                range(lines).map(|(from, to)| Only::Source(file.to_owned(), from, to))
            }
            Some(("register", name)) => Ok(Only::Register(name.to_owned())),
            Some(("kernel" | "function", name)) => Ok(Only::Function(name.to_owned())),
            _ => Err("it is line:30-40, source:kernel.cu:12, register:%r1 or kernel:NAME".to_owned()),
        }
    }
}

impl TraceArgs {
    /// Whether threads are followed.
    pub fn is_wanted(&self) -> bool {
        !self.traced.is_empty()
    }

    fn filter(&self) -> Filter {
        let mut filter = Filter::default();
        for only in &self.trace_only {
            match only.clone() {
                Only::Lines(from, to) => filter.lines.push((from, to)),
                Only::Source(file, from, to) => filter.sources.push((file, from, to)),
                Only::Register(name) => filter.registers.push(name),
                Only::Function(name) => filter.functions.push(name),
            }
        }
        filter
    }
}

/// Follows the threads of the launches of a machine.
pub struct Follower {
    threads: Vec<Followed>,
    filter: Filter,
    program: Program,
    module: Arc<Module>,
    /// The file that records go to, and what went wrong with it.
    file: Option<Mutex<(Output, Option<CommandError>)>>,
}

impl Follower {
    /// Follows what the arguments name; nothing if they name nothing.
    pub fn new(
        args: &TraceArgs,
        sources: &[Source],
        machine: &Run,
        file: &LaunchFile,
    ) -> Result<Option<Follower>, CommandError> {
        if !args.is_wanted() {
            return Ok(None);
        }
        let module = machine.device().module(ModuleId::default());
        let module = module.map_err(|error| CommandError::Input(error.to_string()))?;
        let program = Program::new(sources, &module, machine.named_buffers(file));
        let threads = args.traced.iter().map(|thread| thread.0).collect();
        if args.trace_file.as_deref().is_some_and(is_standard_input) {
            return Err(CommandError::usage(
                "--trace-file -: standard output has the results, so name a file",
            ));
        }
        let file = args.trace_file.as_deref().map(Output::create).transpose()?;
        let file = file.map(|file| Mutex::new((file, None)));
        Ok(Some(Follower { threads, filter: args.filter(), program, module, file }))
    }

    /// Runs something with a debugger that follows the threads.
    pub fn follow<T>(&self, launch: usize, run: impl FnOnce(&Tracer<'_>) -> T) -> T {
        let sink = |record: Record| match &self.file {
            None => remark(&record.to_string()),
            Some(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                let (out, failed) = &mut *file;
                let line = format!("{}\n", json(launch, &record));
                if failed.is_none()
                    && let Err(error) = out.file.write_all(line.as_bytes())
                {
                    *failed = Some(out.failure(error));
                }
            }
        };
        let context = (&self.program, &*self.module);
        let tracer = Tracer::new(self.threads.clone(), self.filter.clone(), context, &sink);
        let result = run(&tracer);
        tracer.end();
        result
    }

    /// Keeps the file.
    pub fn end(self) -> Result<(), CommandError> {
        let Some(file) = self.file else { return Ok(()) };
        match file.into_inner().unwrap_or_else(PoisonError::into_inner) {
            (_, Some(error)) => Err(error),
            (file, None) => file.keep(),
        }
    }
}

fn value(value: &Value) -> Json {
    json!({"type": value.ty.name(), "value": value.number(), "bits": value.hexadecimal()})
}

/// A record for programs.
fn json(launch: usize, record: &Record) -> Json {
    let mut row = json!({
        "launch": launch,
        "cta": record.thread.cta,
        "thread": record.thread.thread,
        "function": record.function,
        "line": record.line,
        "instruction": record.text,
        "executed": record.executed,
    });
    if let Some(source) = &record.source {
        row["source"] = json!({"file": &*source.file, "line": source.line, "column": source.column});
    }
    if let Some(MemoryUse { space, address, name, stored }) = &record.memory {
        row["memory"] = json!({"space": space.name(), "address": format!("{address:#x}")});
        if let Some((name, offset)) = name {
            row["memory"]["name"] = name.as_str().into();
            row["memory"]["offset"] = (*offset).into();
        }
        if !stored.is_empty() {
            row["memory"]["stored"] = stored.iter().map(value).collect();
        }
    }
    let results = record.results.iter().map(|(name, one)| {
        let mut row = value(one);
        row["register"] = name.as_str().into();
        row
    });
    row["results"] = results.collect();
    row
}
