//! Runs a kernel in all ways, compares the results and times them.
//!
//! The interpreter and compiled code run in processes of their own: in one, the environment variable `SOFTWARP_JIT` holds
//! for all launches.

use super::kernels::{Agreement, Given, Kernel, Results};
use rayon::prelude::*;
use softwarp_vm::device::{Device, Launch, LoadOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Rounds in which each candidate has a turn.
const TURNS: usize = 4;
/// How long a turn is.
pub const TURN: Duration = Duration::from_millis(60);
/// Devices on which a process launches a kernel for the first time.
const PREPARATIONS: usize = 3;

/// Times of a kernel in milliseconds, with one thread and with all.
pub struct Times {
    pub native: [f64; 2],
    pub compiled: [f64; 2],
    pub interpreter: [f64; 2],
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// Time to compile it.
    pub compile: f64,
    /// Instructions in its PTX.
    pub instructions: usize,
}

/// How many threads "all" is.
pub fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// How softwarp runs kernels: the environment variable `SOFTWARP_JIT` says it, to a process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Interpreter,
    Compiled,
}

impl Way {
    fn variable(self) -> &'static str {
        match self {
            Way::Interpreter => "off",
            Way::Compiled => "on",
        }
    }
}

/// softwarp with the kernel loaded, and its buffers.
struct Softwarp {
    device: Device,
    /// Addresses of inputs, then results.
    buffers: Vec<u64>,
}

impl Softwarp {
    fn new(kernel: &Kernel) -> Softwarp {
        let device = Device::load(&[kernel.ptx], LoadOptions::default()).expect("a legal module");
        let allocate = |words: &Vec<u32>| {
            let address = device.allocate(4 * words.len() as u64).expect("memory");
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            device.write(address, &bytes).expect("a buffer");
            address
        };
        let buffers = kernel.inputs.iter().chain(kernel.results.iter().map(|results| &results.words));
        let buffers = buffers.map(allocate).collect();
        Softwarp { device, buffers }
    }

    /// Runs it once; gives the instructions of warps.
    fn run(&self, kernel: &Kernel, grid: [u32; 3], threads: usize) -> u64 {
        let argument = |given: &Given| match *given {
            Given::Buffer(index) => self.buffers[index].to_le_bytes().to_vec(),
            Given::Word(word) => word.to_le_bytes().to_vec(),
        };
        let arguments: Vec<Vec<u8>> = kernel.arguments.iter().map(argument).collect();
        let launch = Launch {
            threads: Some(threads),
            dynamic_shared: kernel.dynamic_shared,
            exclusive: true,
            ..Launch::new(kernel.entry, grid, kernel.block, &arguments)
        };
        self.device.launch(&launch).expect("it runs").counts.warp_instructions
    }

    fn results(&self, kernel: &Kernel) -> Vec<Vec<u32>> {
        let buffers = &self.buffers[kernel.inputs.len()..];
        let read = |(results, &address): (&Results, &u64)| {
            let mut bytes = vec![0; 4 * results.words.len()];
            self.device.read(address, &mut bytes).expect("a buffer");
            bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
        };
        kernel.results.iter().zip(buffers).map(read).collect()
    }
}

/// What a process finds out about a kernel in one turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// A hash of the results of one launch.
    hash: u64,
    warp_instructions: u64,
    /// The first launch of one CTA less a later one, in milliseconds: lowering, and compiling.
    prepare: f64,
    /// Milliseconds with one thread and with all.
    best: [f64; 2],
}

/// Runs a kernel in this process, for so long with one thread and with all, and prints a [`Turn`].
///
/// # Panics
/// If results are not near those of the native twin.
pub fn work(kernel: &Kernel, time: Duration) {
    let prepare = prepare_time(kernel);
    let softwarp = Softwarp::new(kernel);
    let warp_instructions = softwarp.run(kernel, kernel.grid, 1);
    let found = softwarp.results(kernel);
    let mut words: Vec<Vec<u32>> = kernel.results.iter().map(|results| results.words.clone()).collect();
    native(kernel, &mut words, false);
    assert_agree(kernel, &found, &words);
    let mut hasher = DefaultHasher::new();
    found.hash(&mut hasher);
    let mut best = [f64::INFINITY; 2];
    for (best, threads) in best.iter_mut().zip([1, all_threads()]) {
        turn(best, time, || _ = softwarp.run(kernel, kernel.grid, threads));
    }
    println!("{} {warp_instructions} {prepare} {} {}", hasher.finish(), best[0], best[1]);
}

/// One turn of a kernel, in a process of its own.
fn ask(kernel: &Kernel, way: Way) -> Turn {
    let program = std::env::current_exe().expect("this program's path");
    let mut command = Command::new(program);
    command.args(["--work", kernel.name]).env("SOFTWARP_JIT", way.variable()).stderr(Stdio::inherit());
    let output = command.output().expect("this program runs again");
    let text = String::from_utf8_lossy(&output.stdout);
    let parse = |text: &str| -> Option<Turn> {
        let mut fields = text.split_whitespace();
        Some(Turn {
            hash: fields.next()?.parse().ok()?,
            warp_instructions: fields.next()?.parse().ok()?,
            prepare: fields.next()?.parse().ok()?,
            best: [fields.next()?.parse().ok()?, fields.next()?.parse().ok()?],
        })
    };
    parse(&text).unwrap_or_else(|| panic!("{}: no times with SOFTWARP_JIT={}", kernel.name, way.variable()))
}

/// Runs the native twin, on this thread or on all.
fn native(kernel: &Kernel, results: &mut [Vec<u32>], all: bool) {
    let mut parts: Vec<Vec<&mut [u32]>> = Vec::new();
    for (results, words) in kernel.results.iter().zip(results) {
        for (number, part) in words.chunks_exact_mut(results.part).enumerate() {
            match parts.get_mut(number) {
                Some(parts) => parts.push(part),
                None => parts.push(vec![part]),
            }
        }
    }
    let run =
        |(number, results): (usize, &mut Vec<&mut [u32]>)| kernel.native.run(number, &kernel.inputs, results);
    if all {
        parts.par_iter_mut().enumerate().for_each(run);
    } else {
        parts.iter_mut().enumerate().for_each(run);
    }
}

/// Runs a candidate for so long, and twice at least.
fn turn(best: &mut f64, time: Duration, mut run: impl FnMut()) {
    let begin = Instant::now();
    let mut runs = 0;
    while runs < 2 || begin.elapsed() < time {
        let start = Instant::now();
        run();
        *best = best.min(start.elapsed().as_secs_f64() * 1e3);
        runs += 1;
    }
}

/// Runs a kernel in all ways.
///
/// # Panics
/// If results differ.
pub fn measure(kernel: &Kernel) -> Times {
    let mut words: Vec<Vec<u32>> = kernel.results.iter().map(|results| results.words.clone()).collect();
    let mut best = [f64::INFINITY; 2];
    let (mut interpreter, mut compiled) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        turn(&mut best[0], TURN, || native(kernel, &mut words, false));
        compiled.push(ask(kernel, Way::Compiled));
        turn(&mut best[1], TURN, || native(kernel, &mut words, true));
        interpreter.push(ask(kernel, Way::Interpreter));
    }
    let known = interpreter[0];
    for turn in interpreter.iter().chain(&compiled) {
        assert!(turn.hash == known.hash, "{}: results differ", kernel.name);
        assert!(turn.warp_instructions == known.warp_instructions, "{}: instructions differ", kernel.name);
    }
    let least = |turns: &[Turn], time: fn(&Turn) -> f64| turns.iter().map(time).fold(f64::INFINITY, f64::min);
    let both = |turns: &[Turn]| [least(turns, |turn| turn.best[0]), least(turns, |turn| turn.best[1])];
    let prepare = |turns: &[Turn]| least(turns, |turn| turn.prepare);
    Times {
        native: best,
        compiled: both(&compiled),
        interpreter: both(&interpreter),
        warp_instructions: known.warp_instructions,
        compile: (prepare(&compiled) - prepare(&interpreter)).max(0.0),
        instructions: instructions(kernel),
    }
}

fn assert_agree(kernel: &Kernel, expected: &[Vec<u32>], found: &[Vec<u32>]) {
    let near = |(&a, &b): (&u32, &u32)| match kernel.agreement {
        Agreement::Near(tolerance) => {
            let (a, b) = (f32::from_bits(a), f32::from_bits(b));
            (a - b).abs() <= tolerance * a.abs().max(1.0)
        }
        Agreement::Exact | Agreement::Most(_) => a == b,
    };
    let few = match kernel.agreement {
        Agreement::Most(of_thousand) => of_thousand,
        Agreement::Exact | Agreement::Near(_) => 0,
    };
    for (expected, found) in expected.iter().zip(found) {
        let others = expected.iter().zip(found).filter(|&pair| !near(pair)).count();
        let first = expected.iter().zip(found).position(|pair| !near(pair));
        let (name, length) = (kernel.name, expected.len());
        assert!(
            others * 1000 <= few * length,
            "{name}: native differs in {others} of {length}, first at {first:?}"
        );
    }
}

/// The first launch of one CTA less a later one.
fn prepare_time(kernel: &Kernel) -> f64 {
    let one = |_| {
        let softwarp = Softwarp::new(kernel);
        let run = || {
            let start = Instant::now();
            softwarp.run(kernel, [1; 3], 1);
            start.elapsed().as_secs_f64() * 1e3
        };
        let first = run();
        first - run().min(run())
    };
    (0..PREPARATIONS).map(one).fold(f64::INFINITY, f64::min)
}

/// Instructions of a kernel as nvcc and Triton write them: a line each, with a semicolon, and no directive.
fn instructions(kernel: &Kernel) -> usize {
    let start = kernel.ptx.find(&format!(".entry {}(", kernel.entry)).unwrap_or_default();
    let body = kernel.ptx[start..].split("\n}").next().unwrap_or_default();
    body.lines().map(str::trim).filter(|line| line.ends_with(';') && !line.starts_with(['.', '/'])).count()
}
