//! Kernels of many kinds: interpreted, compiled, and as `auto` has them, on one thread.
//!
//! usage: `field [KERNEL]...`
//!
//! `bench/kernels/field.cu` has what programs do beside what the suite has: bytes, halves and doubles, arrays of threads,
//! calls, gathers, atomic operations, switches, shuffles and votes, volatile and acquiring loads, asynchronous copies, and
//! products of matrices. The best time of each counts. Results and counts of
//! instructions must be the same.

#![forbid(unsafe_code)]

use softwarp_testkit::SplitMix64;
use softwarp_vm::device::{Device, Jit, Launch, LoadOptions};
use std::time::{Duration, Instant};

const SOURCE: &str = include_str!("../../kernels/field.ptx");

/// How long each candidate runs.
const TURN: Duration = Duration::from_millis(150);

/// Bytes of each buffer.
const BYTES: usize = 1 << 24;
/// Bytes of the output that are compared.
const COMPARED: usize = 1 << 22;

/// The input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Nothing,
    Words,
    /// Between -4 and 4.
    Floats,
    Doubles,
    Halves,
}

const CTAS: [u32; 3] = [512, 1, 1];
const LINE: [u32; 3] = [256, 1, 1];
/// An image of 512 x 512.
const TILES: [u32; 3] = [16, 64, 1];
const TILE: [u32; 3] = [32, 8, 1];

/// Kernels with their inputs, grids and CTAs.
const KERNELS: &[(&str, Input, [u32; 3], [u32; 3])] = &[
    ("dgemm", Input::Doubles, [64, 1, 1], LINE),
    ("layernorm", Input::Floats, CTAS, LINE),
    ("convolution", Input::Floats, TILES, TILE),
    ("heat", Input::Floats, TILES, TILE),
    ("life", Input::Words, TILES, TILE),
    ("bitonic", Input::Words, CTAS, LINE),
    ("fft", Input::Floats, CTAS, LINE),
    ("grey", Input::Words, CTAS, LINE),
    ("lookup", Input::Words, CTAS, LINE),
    ("digits", Input::Words, CTAS, LINE),
    ("haxpy", Input::Words, CTAS, LINE),
    ("bf16gemv", Input::Words, CTAS, LINE),
    ("dp4a", Input::Words, CTAS, LINE),
    ("insertion", Input::Floats, CTAS, LINE),
    ("calls", Input::Floats, CTAS, LINE),
    ("trigonometry", Input::Floats, CTAS, LINE),
    ("powers", Input::Floats, CTAS, LINE),
    ("gelu", Input::Floats, CTAS, LINE),
    ("doubles", Input::Doubles, CTAS, LINE),
    ("hash64", Input::Words, CTAS, LINE),
    ("choices", Input::Words, CTAS, LINE),
    ("votes", Input::Words, CTAS, LINE),
    ("sums", Input::Floats, CTAS, LINE),
    ("bins", Input::Words, CTAS, LINE),
    ("chase", Input::Words, CTAS, LINE),
    ("neighbours", Input::Words, CTAS, LINE),
    ("argmax", Input::Floats, CTAS, LINE),
    ("collatz", Input::Nothing, CTAS, LINE),
    ("modular", Input::Words, CTAS, LINE),
    ("volatiles", Input::Floats, CTAS, LINE),
    ("acquires", Input::Words, CTAS, LINE),
    ("tiles", Input::Floats, CTAS, LINE),
    ("rotations", Input::Floats, CTAS, LINE),
    ("fnv", Input::Words, CTAS, LINE),
    ("shuffled", Input::Words, CTAS, LINE),
    ("bits64", Input::Words, CTAS, LINE),
    ("fp8", Input::Floats, CTAS, LINE),
    ("copies", Input::Floats, CTAS, LINE),
    ("fragments", Input::Halves, CTAS, LINE),
    ("pairs", Input::Halves, CTAS, LINE),
];

fn data(input: Input) -> Vec<u8> {
    let mut random = SplitMix64::new(1);
    let mut fraction = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * 8.0 - 4.0;
    // Numbers of f16 with exponents from -4 to 1.
    let half = |word: u64| (word as u16 & 0x83ff) | (11 + (word >> 16) as u16 % 6) << 10;
    match input {
        Input::Halves => {
            let mut random = SplitMix64::new(2);
            (0..BYTES / 2).flat_map(|_| half(random.next_u64()).to_le_bytes()).collect()
        }
        Input::Nothing => Vec::new(),
        Input::Floats => (0..BYTES / 4).flat_map(|_| (fraction() as f32).to_le_bytes()).collect(),
        Input::Doubles => (0..BYTES / 8).flat_map(|_| fraction().to_le_bytes()).collect(),
        Input::Words => (0..BYTES / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect(),
    }
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let device = Device::load(&[SOURCE], LoadOptions::default()).expect("a valid module");
    let [input, output] = [(); 2].map(|()| device.allocate(BYTES as u64).expect("memory"));
    println!(
        "| | interpreted, ms | compiled, ms | `auto`, ms | interpreted / compiled |\n|---|---|---|---|---|"
    );
    let mut logarithms = Vec::new();
    for &(name, kind, grid, block) in KERNELS {
        if !names.is_empty() && !names.iter().any(|one| one == name) {
            continue;
        }
        device.write(input, &data(kind)).expect("inside");
        let buffers = if kind == Input::Nothing { vec![output] } else { vec![input, output] };
        let arguments: Vec<Vec<u8>> = buffers.iter().map(|buffer| buffer.to_le_bytes().to_vec()).collect();
        let ways = [Jit::Off, Jit::On, Jit::Auto].map(|jit| {
            let launch = Launch { jit, threads: Some(1), ..Launch::new(name, grid, block, &arguments) };
            run(&device, output, &launch)
        });
        let [(off, left, counts), (on, compiled, compiled_counts), (auto, ..)] = &ways;
        assert!(left == compiled && counts == compiled_counts, "{name}: compiled code does something else");
        logarithms.push((off / on).ln());
        println!("| {name} | {off:.3} | {on:.3} | {auto:.3} | {:.1} |", off / on);
    }
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp();
    println!("| geometric mean | | | | {mean:.1} |");
}

/// The best time of a launch in milliseconds, and what the first one left: its output and its counts.
fn run(device: &Device, output: u64, launch: &Launch<'_>) -> (f64, Vec<u8>, String) {
    let (begin, zeros) = (Instant::now(), vec![0; COMPARED]);
    let (mut best, mut left, mut counts) = (f64::INFINITY, zeros.clone(), String::new());
    for round in 0.. {
        if round >= 3 && begin.elapsed() > TURN {
            break;
        }
        device.write(output, &zeros).expect("inside");
        let start = Instant::now();
        let report = device.launch(launch).unwrap_or_else(|error| panic!("{}: {error}", launch.kernel));
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
        if round == 0 {
            device.read(output, &mut left).expect("inside");
            counts = format!("{:?}", report.counts);
        }
    }
    (best, left, counts)
}
