//! What sanitizers cost: kernels with and without them, side by side.
//!
//! usage: `sanitize [KERNEL [SIDE]]`
//!
//! Kernels as nvcc writes them (`bench/kernels/`): the naive product of two matrices in f32 (`gemm`), the same with tiles
//! in shared memory and barriers (`tiled`), `y = a * x + y` (`saxpy`), a sum by shuffles and shared memory (`reduce`), and a
//! histogram with atomic operations in shared memory (`histogram`). Matrices have `SIDE` rows, 512 unless told otherwise;
//! the others 2^22 elements. A plain launch on one thread, and launches with each sanitizer and with all, in turn; the best
//! time of each counts: time on a core where Linux tells it, so that other work on the machine disturbs less. None of them
//! may find anything.

#![forbid(unsafe_code)]

use softwarp_bench::SplitMix64;
use softwarp_vm::device::{Device, Launch, LoadOptions};
use softwarp_vm::sanitize::Sanitize;
use std::time::Instant;

/// Rounds in which each candidate runs once.
const TURNS: usize = 3;

/// Elements of vectors.
const LENGTH: u32 = 1 << 22;

/// A kernel, its launch and its data: words of 32 bits.
struct Kernel {
    name: String,
    entry: &'static str,
    ptx: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    /// How many words each buffer has.
    buffers: Vec<usize>,
    arguments: Vec<Given>,
}

/// An argument.
#[derive(Clone, Copy)]
enum Given {
    Buffer(usize),
    Word(u32),
}

fn kernels(side: u32) -> Vec<Kernel> {
    use Given::{Buffer, Word};
    let product = |entry, ptx, [x, y]: [u32; 2]| Kernel {
        name: format!("{entry} {side}, CTAs of {x} x {y}"),
        entry,
        ptx,
        grid: [side / x, side / y, 1],
        block: [x, y, 1],
        buffers: vec![(side * side) as usize; 3],
        arguments: vec![Buffer(0), Buffer(1), Buffer(2), Word(side)],
    };
    let vector = |entry: &'static str, ptx, ctas, buffers, arguments| {
        let (grid, block) = ([ctas, 1, 1], [256, 1, 1]);
        Kernel { name: entry.to_string(), entry, ptx, grid, block, buffers, arguments }
    };
    let gemm = include_str!("../../kernels/gemm.ptx");
    let (length, ctas) = (LENGTH as usize, 256);
    vec![
        product("gemm", gemm, [32, 8]),
        product("gemm", gemm, [16, 16]),
        product("tiled", include_str!("../../kernels/tiled.ptx"), [16, 16]),
        vector(
            "saxpy",
            include_str!("../../kernels/saxpy.ptx"),
            LENGTH / 256,
            vec![length; 2],
            vec![Word(LENGTH), Word(0.5f32.to_bits()), Buffer(0), Buffer(1)],
        ),
        vector(
            "reduce",
            include_str!("../../kernels/reduce.ptx"),
            ctas,
            vec![length, ctas as usize],
            vec![Buffer(0), Buffer(1), Word(LENGTH)],
        ),
        vector(
            "histogram",
            include_str!("../../kernels/histogram.ptx"),
            ctas,
            vec![length, 256],
            vec![Buffer(0), Buffer(1), Word(LENGTH)],
        ),
    ]
}

/// A kernel that is loaded, and what is looked for.
struct Candidate {
    device: Device,
    sanitize: Sanitize,
    arguments: Vec<Vec<u8>>,
    best: f64,
}

impl Candidate {
    fn new(kernel: &Kernel, sanitize: Sanitize) -> Candidate {
        let options = LoadOptions { red_zones: sanitize.bounds, ..LoadOptions::default() };
        let device = Device::load(&[kernel.ptx], options).expect("a legal module");
        let mut random = SplitMix64::new(1);
        let allocate = |&words: &usize| {
            let address = device.allocate(4 * words as u64).expect("memory");
            let next = |_| (random.next_fraction() - 0.5).to_le_bytes();
            device.write(address, &(0..words).flat_map(next).collect::<Vec<u8>>()).expect("a buffer");
            address
        };
        let buffers: Vec<u64> = kernel.buffers.iter().map(allocate).collect();
        let argument = |given: &Given| match *given {
            Given::Buffer(index) => buffers[index].to_le_bytes().to_vec(),
            Given::Word(word) => word.to_le_bytes().to_vec(),
        };
        let arguments = kernel.arguments.iter().map(argument).collect();
        Candidate { device, sanitize, arguments, best: f64::INFINITY }
    }

    fn run(&mut self, kernel: &Kernel) {
        let launch = Launch {
            threads: Some(1),
            sanitize: self.sanitize,
            ..Launch::new(kernel.entry, kernel.grid, kernel.block, &self.arguments)
        };
        let (start, before) = (Instant::now(), on_core());
        let report = self.device.launch(&launch).expect("it runs");
        let spent = on_core().zip(before).map(|(after, before)| (after - before) as f64 / 1e9);
        self.best = self.best.min(spent.unwrap_or_else(|| start.elapsed().as_secs_f64()));
        assert!(report.findings.is_empty(), "{}: {} findings", kernel.name, report.findings.len());
    }
}

/// Nanoseconds that this thread has been on a core, where Linux tells them.
fn on_core() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next().unwrap_or_default();
    let side = arguments.next().and_then(|side| side.parse().ok()).unwrap_or(512);
    let none = Sanitize::default();
    let kinds = [
        none,
        Sanitize { init: true, ..none },
        Sanitize { sync: true, ..none },
        Sanitize { bounds: true, ..none },
        Sanitize { race: true, ..none },
        Sanitize::ALL,
    ];
    println!("| kernel | plain, ms | init | sync | bounds | race | all |\n|---|---|---|---|---|---|---|");
    for kernel in kernels(side).iter().filter(|kernel| kernel.name.starts_with(&wanted)) {
        let mut list = kinds.map(|kind| Candidate::new(kernel, kind));
        for _ in 0..TURNS {
            list.iter_mut().for_each(|one| one.run(kernel));
        }
        let plain = list[0].best;
        print!("| {} | {:.1} |", kernel.name, plain * 1e3);
        list[1..].iter().for_each(|one| print!(" {:.1} |", one.best / plain));
        println!();
    }
}
