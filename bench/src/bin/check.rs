//! Parsing and checking a module: how fast, and in how much memory.
//!
//! usage: `check [--json] [--make FILE [NAME…]] [--megabytes N] [FILE]`
//!
//! Without a file, the module is made of the functions of `crates/check/tests/golden/real.jsonl.gz`, about 3 MB
//! (or what `--megabytes` says) of what compilers write, and the same on every run; `--make` writes it and ends; with
//! names, only recorded modules of these names are its parts. Each step is timed over and over, on one core but for the
//! last, and its best time counts. Memory is what the allocator has given out at most, the text itself not counted.
//! `check.py` beside this adds ptxas and ZLUDA's parser.
//!
//! "function by function" is what `softwarp check` does with large files. Where a module has to be read as a whole,
//! those rows are left out.

use softwarp_check::{Locals, Options, check, resolve_outline};
use softwarp_isa::Target;
use softwarp_syntax::tree::Item;
use softwarp_syntax::{Diagnostic, Severity, parse};
use softwarp_testkit::recording;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

const ROUNDS: usize = 25;
/// How long the made module is, at least, unless another length is asked for.
const LENGTH: usize = 3_000_000;
/// What the made module is for: the recorded modules for this target are its parts.
const TARGET: &str = "sm_90a";

/// Counts the bytes that are in use, while it is told to.
struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(given: usize, taken: usize) {
    if ON.load(Relaxed) {
        let before = IN_USE.fetch_add(given, Relaxed);
        PEAK.fetch_max((before + given).saturating_sub(taken), Relaxed);
        IN_USE.fetch_sub(taken, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator as it came; the counters are beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps alloc's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller keeps dealloc's contract.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: the caller keeps realloc's contract.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a step costs.
struct Cost {
    name: &'static str,
    seconds: f64,
    /// The most bytes in use at once.
    peak: usize,
}

fn measure<T>(name: &'static str, mut run: impl FnMut() -> T) -> Cost {
    let mut seconds = f64::INFINITY;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let result = black_box(run());
        seconds = seconds.min(began.elapsed().as_secs_f64());
        drop(result);
    }
    // Counting costs time, so it has a round of its own.
    IN_USE.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    ON.store(true, Relaxed);
    let result = black_box(run());
    ON.store(false, Relaxed);
    drop(result);
    Cost { name, seconds, peak: PEAK.load(Relaxed) }
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let megabytes = arguments.iter().position(|argument| argument == "--megabytes");
    let length = megabytes.map_or(LENGTH, |at| {
        let number = arguments.drain(at..=at + 1).next_back().expect("a number behind --megabytes");
        number.parse::<usize>().expect("a number of megabytes") * 1_000_000
    });
    let json = arguments.iter().any(|argument| argument == "--json");
    let make = arguments.iter().position(|argument| argument == "--make").and_then(|n| arguments.get(n + 1));
    if let Some(path) = make {
        let names: Vec<&String> =
            arguments.iter().filter(|&name| !name.starts_with('-') && name != path).collect();
        std::fs::write(path, made(&names, length)).expect("the file can be written");
        return;
    }
    let file = arguments.iter().find(|argument| !argument.starts_with('-'));
    let text =
        file.map_or_else(|| made(&[], length), |path| std::fs::read_to_string(path).expect("a file of text"));
    let options = Options { relocatable: true, ..Options::default() };
    let whole = || {
        let parsed = parse(&text);
        let diagnostics = check(&parsed.module, &text, options);
        (parsed, diagnostics)
    };
    let (parsed, diagnostics) = whole();
    let errors = |list: &[Diagnostic]| list.iter().filter(|one| one.severity() == Severity::Error).count();
    let errors = errors(&parsed.diagnostics) + errors(&diagnostics);
    drop((parsed, diagnostics));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let by_function = |threads| resolve_outline(&text, options, Locals::Few, threads);
    let mut costs = vec![measure("parse", || parse(&text)), measure("parse and check", whole)];
    if by_function(1).is_some() {
        costs.push(measure("function by function", || by_function(1)));
        costs.push(measure("the same, all cores", || by_function(cores)));
    }
    if json {
        let rows: serde_json::Map<_, _> = costs
            .iter()
            .map(|cost| {
                (cost.name.to_owned(), serde_json::json!({"seconds": cost.seconds, "peak": cost.peak}))
            })
            .collect();
        println!("{}", serde_json::json!({"bytes": text.len(), "errors": errors, "costs": rows}));
        return;
    }
    println!("{} bytes, {errors} errors", text.len());
    for Cost { name, seconds, peak } in costs {
        let (speed, times) = (text.len() as f64 / seconds / 1e6, peak as f64 / text.len() as f64);
        println!("{name:20} {speed:7.1} MB/s  {:7.2} ms  memory {times:.2} x the file", seconds * 1e3);
    }
}

/// The recorded modules for [`TARGET`], in order; those of these names, if there are any.
fn recorded(names: &[&String]) -> Vec<String> {
    recording::values(recording::golden("check", "real.jsonl.gz"))
        .filter(|row| row["arch"] == TARGET && row["mode"] == "exe")
        .filter(|row| names.is_empty() || names.iter().any(|name| row["name"] == name.as_str()))
        .filter_map(|row| row["ptx"].as_str().map(str::to_owned))
        // Debugging sections refer to labels of their own module.
        .filter(|ptx| !ptx.contains(".section"))
        .collect()
}

/// The recorded modules one after another, over and over, without their headers, and with names of their own.
fn made(names: &[&String], length: usize) -> String {
    let modules = recorded(names);
    let target = Target::from_name(TARGET).expect("a target");
    let mut text = format!(".version 9.4\n.target {}\n.address_size 64\n", target.name());
    for turn in 0.. {
        for (number, module) in modules.iter().enumerate() {
            if text.len() >= length {
                return text;
            }
            text.push_str(&renamed(module, &format!("_{turn}_{number}")));
        }
        assert!(!modules.is_empty(), "nothing is recorded for {TARGET}");
    }
    text
}

/// A module without its header, the names of its functions and variables with `suffix` after them.
fn renamed(ptx: &str, suffix: &str) -> String {
    let parsed = parse(ptx);
    let mut names = BTreeSet::new();
    let mut left_out = BTreeMap::new();
    for item in &parsed.module.items {
        match item {
            Item::Function(function) => {
                names.insert(parsed.module.name(function.name.symbol));
            }
            Item::Variable(variables) => {
                let declarators = variables.declarators.of(&parsed.module.declarators);
                names.extend(declarators.iter().map(|one| parsed.module.name(one.name.symbol)));
            }
            Item::Version(one) => drop(left_out.insert(one.span.start as usize, one.span.end as usize)),
            Item::Target(one) => drop(left_out.insert(one.span.start as usize, one.span.end as usize)),
            Item::AddressSize(one) => drop(left_out.insert(one.span.start as usize, one.span.end as usize)),
            Item::File(one) => drop(left_out.insert(one.span.start as usize, one.span.end as usize)),
            _ => {}
        }
    }
    let mut text = String::with_capacity(ptx.len() + ptx.len() / 8);
    let mut at = 0;
    while at < ptx.len() {
        if let Some(&end) = left_out.get(&at) {
            at = end;
            continue;
        }
        let rest = &ptx[at..];
        let line = rest.trim_start_matches([' ', '\t']);
        if (at == 0 || ptx.as_bytes()[at - 1] == b'\n')
            && (line.starts_with(".loc\t") || line.starts_with(".loc "))
        {
            at += rest.find('\n').map_or(rest.len(), |end| end + 1);
            continue;
        }
        let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
        let word = &rest[..rest.find(|c| !inside(c)).unwrap_or(rest.len())];
        match rest.chars().next() {
            Some(_) if !word.is_empty() => {
                // `add` may be a kernel too; as an opcode it has a dot behind it, and `.u64` one before it.
                let dotted = text.ends_with('.') || rest[word.len()..].starts_with('.');
                text.push_str(word);
                if names.contains(word) && !dotted {
                    text.push_str(suffix);
                }
                at += word.len();
            }
            Some(c) => {
                text.push(c);
                at += c.len_utf8();
            }
            None => break,
        }
    }
    text
}
