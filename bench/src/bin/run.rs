//! Running kernels: how many instructions a second, beside another interpreter and beside native loops.
//!
//! usage: `run [KERNEL]`
//!
//! Three kernels as nvcc writes them (`bench/kernels/`): a product of two 128 x 128 matrices, a product and a sum
//! 20,000 times over in each of 256 threads, and `y = a * x + y` over 2^20 elements. Every candidate of a kernel
//! in turn, many times, and its best time counts. All of them compute the same and are held against each other.
//! Instructions are PTX instructions of threads, as softwarp counts them.
//!
//! "native" is the kernel's work as a loop in Rust, a thread after the other, as the compiler likes it; "native,
//! step by step" hides each step's result from the compiler, which otherwise makes one product and one sum out of
//! several steps of `x * a + c`.

use ptoxide::{Argument, Context, LaunchParams};
use softwarp_bench::SplitMix64;
use softwarp_vm::device::{Device, Launch, LoadOptions};
use std::hint::black_box;
use std::time::Instant;

/// Rounds in which each candidate has a turn, and runs of one turn.
const TURNS: usize = 4;
const ROUNDS: usize = 50;
/// ptoxide takes seconds.
const PTOXIDE_ROUNDS: usize = 3;

/// A kernel, its launch and its data: words of 32 bits.
struct Kernel {
    name: &'static str,
    ptx: &'static str,
    grid: [u32; 2],
    block: [u32; 2],
    buffers: Vec<Vec<u32>>,
    arguments: Vec<Given>,
    /// The buffer that holds the result.
    result: usize,
    native: Vec<(&'static str, Native)>,
}

/// A kernel's work in Rust, on its buffers.
type Native = fn(&mut [Vec<u32>]);

/// An argument.
#[derive(Clone, Copy)]
enum Given {
    Buffer(usize),
    Word(u32),
}

const SIDE: usize = 128;
const STEPS: u32 = 20_000;
const LENGTH: usize = 1 << 20;
const FACTOR: f32 = 1.0 / 3.0;

fn kernels() -> Vec<Kernel> {
    let mut random = SplitMix64::new(1);
    let mut floats = |count: usize| {
        let next = |_| (random.next_fraction() - 0.5).to_bits();
        (0..count).map(next).collect::<Vec<u32>>()
    };
    let gemm = |name, block: [u32; 2], buffers| Kernel {
        name,
        ptx: include_str!("../../kernels/gemm.ptx"),
        grid: block.map(|side| SIDE as u32 / side),
        block,
        buffers,
        arguments: vec![Given::Buffer(0), Given::Buffer(1), Given::Buffer(2), Given::Word(SIDE as u32)],
        result: 2,
        native: vec![("native", native_gemm)],
    };
    let matrices = vec![floats(SIDE * SIDE), floats(SIDE * SIDE), vec![0; SIDE * SIDE]];
    vec![
        gemm("gemm 32x8", [32, 8], matrices.clone()),
        gemm("gemm 16x16", [16, 16], matrices),
        Kernel {
            name: "lcg",
            ptx: include_str!("../../kernels/lcg.ptx"),
            grid: [4, 1],
            block: [64, 1],
            buffers: vec![vec![0; 256]],
            arguments: vec![Given::Buffer(0), Given::Word(STEPS)],
            result: 0,
            native: vec![("native", native_lcg), ("native, step by step", native_lcg_steps)],
        },
        Kernel {
            name: "saxpy",
            ptx: include_str!("../../kernels/saxpy.ptx"),
            grid: [LENGTH as u32 / 256, 1],
            block: [256, 1],
            buffers: vec![floats(LENGTH), floats(LENGTH)],
            arguments: vec![
                Given::Word(LENGTH as u32),
                Given::Word(FACTOR.to_bits()),
                Given::Buffer(0),
                Given::Buffer(1),
            ],
            result: 1,
            native: vec![("native", native_saxpy)],
        },
    ]
}

fn native_gemm(buffers: &mut [Vec<u32>]) {
    let [a, b, c] = buffers else { return };
    let side = black_box(SIDE);
    for row in 0..side {
        for column in 0..side {
            let mut sum = 0f32;
            for k in 0..side {
                sum += f32::from_bits(a[row * side + k]) * f32::from_bits(b[k * side + column]);
            }
            c[row * side + column] = sum.to_bits();
        }
    }
}

fn native_lcg(buffers: &mut [Vec<u32>]) {
    let steps = black_box(STEPS);
    for (thread, out) in (0..).zip(&mut buffers[0]) {
        let mut x: u32 = thread;
        for _ in 0..steps {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        }
        *out = x;
    }
}

fn native_lcg_steps(buffers: &mut [Vec<u32>]) {
    let steps = black_box(STEPS);
    for (thread, out) in (0..).zip(&mut buffers[0]) {
        let mut x: u32 = thread;
        for _ in 0..steps {
            x = opaque(x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        }
        *out = x;
    }
}

/// Returns its argument, and hides its value from the compiler. Unlike with [`black_box`] it stays in its register.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn opaque(x: u32) -> u32 {
    let mut x = x;
    // SAFETY: there are no instructions.
    unsafe { std::arch::asm!("/* {0:e} */", inout(reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}

#[cfg(not(target_arch = "x86_64"))]
fn opaque(x: u32) -> u32 {
    black_box(x)
}

fn native_saxpy(buffers: &mut [Vec<u32>]) {
    let [x, y] = buffers else { return };
    let factor = black_box(FACTOR);
    for (x, y) in x.iter().zip(y) {
        *y = (factor * f32::from_bits(*x) + f32::from_bits(*y)).to_bits();
    }
}

/// softwarp with the kernel loaded, and its buffers.
struct Softwarp {
    device: Device,
    buffers: Vec<u64>,
}

impl Softwarp {
    fn new(kernel: &Kernel) -> Softwarp {
        let device = Device::load(&[kernel.ptx], LoadOptions::default()).expect("a legal module");
        let allocate = |words: &Vec<u32>| {
            let address = device.allocate(4 * words.len() as u64).expect("memory");
            device.write(address, &bytes(words)).expect("a buffer");
            address
        };
        let buffers = kernel.buffers.iter().map(allocate).collect();
        Softwarp { device, buffers }
    }

    /// Runs it once; gives the instructions of threads and of warps.
    fn run(&mut self, kernel: &Kernel, threads: usize) -> (u64, u64) {
        let argument = |given: &Given| match *given {
            Given::Buffer(index) => self.buffers[index].to_le_bytes().to_vec(),
            Given::Word(word) => word.to_le_bytes().to_vec(),
        };
        let arguments: Vec<Vec<u8>> = kernel.arguments.iter().map(argument).collect();
        let deep = |[x, y]: [u32; 2]| [x, y, 1];
        let launch = Launch {
            threads: Some(threads),
            ..Launch::new(entry(kernel), deep(kernel.grid), deep(kernel.block), &arguments)
        };
        let counts = self.device.launch(&launch).expect("it runs").counts;
        (counts.thread_instructions, counts.warp_instructions)
    }

    fn result(&self, kernel: &Kernel) -> Vec<u32> {
        let mut bytes = vec![0; 4 * kernel.buffers[kernel.result].len()];
        self.device.read(self.buffers[kernel.result], &mut bytes).expect("a buffer");
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }
}

fn entry(kernel: &Kernel) -> &'static str {
    kernel.name.split_whitespace().next().unwrap_or_default()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// ptoxide's best time and its result.
fn ptoxide(kernel: &Kernel) -> Result<(f64, Vec<u32>), String> {
    let mut context = Context::new_with_module(kernel.ptx).map_err(|error| error.to_string())?;
    let pointers: Vec<_> = kernel.buffers.iter().map(|words| context.alloc::<u32>(words.len())).collect();
    for (pointer, words) in pointers.iter().zip(&kernel.buffers) {
        context.write(*pointer, words);
    }
    let argument = |given: &Given| match *given {
        Given::Buffer(index) => Argument::ptr(pointers[index]),
        Given::Word(word) => Argument::U32(word),
    };
    let arguments: Vec<Argument> = kernel.arguments.iter().map(argument).collect();
    let ([gx, gy], [bx, by]) = (kernel.grid, kernel.block);
    let mut best = f64::INFINITY;
    let mut first = vec![0; kernel.buffers[kernel.result].len()];
    for round in 0..PTOXIDE_ROUNDS {
        let launch = LaunchParams::func(entry(kernel)).grid2d(gx, gy).block2d(bx, by);
        let start = Instant::now();
        context.run(launch, &arguments).map_err(|error| error.to_string())?;
        best = best.min(start.elapsed().as_secs_f64());
        if round == 0 {
            context.read(pointers[kernel.result], &mut first);
        }
    }
    Ok((best, first))
}

fn timed<T>(best: &mut f64, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = black_box(run());
    *best = best.min(start.elapsed().as_secs_f64());
    result
}

fn compare(kernel: &Kernel) {
    let (mut one, mut two) = (Softwarp::new(kernel), Softwarp::new(kernel));
    let mut natives = vec![kernel.buffers.clone(); kernel.native.len()];
    let mut best = vec![f64::INFINITY; 2 + kernel.native.len()];
    let (instructions, warp_instructions) = one.run(kernel, 1);
    two.run(kernel, 2);
    let expected = one.result(kernel);
    assert!(expected == two.result(kernel), "one thread and two compute the same");
    for ((name, native), buffers) in kernel.native.iter().zip(&mut natives) {
        native(buffers);
        agree(kernel, name, &expected, &buffers[kernel.result]);
    }
    for _ in 0..TURNS {
        for _ in 0..ROUNDS {
            timed(&mut best[0], || one.run(kernel, 1));
        }
        // Threads that have slept take a while to wake up.
        for _ in 0..ROUNDS {
            timed(&mut best[1], || two.run(kernel, 2));
        }
        for (n, ((_, native), buffers)) in kernel.native.iter().zip(&mut natives).enumerate() {
            (0..ROUNDS).for_each(|_| timed(&mut best[2 + n], || native(buffers)));
        }
    }
    println!("{}: {:.1} M instructions of threads", kernel.name, instructions as f64 / 1e6);
    let row = |name: &str, seconds: f64| {
        println!(
            "  {name:22} {:9.3} ms  {:8.0} M/s  {:6.2} x softwarp's time",
            seconds * 1e3,
            instructions as f64 / seconds / 1e6,
            seconds / best[0]
        );
    };
    row("softwarp", best[0]);
    println!("  {:22} {:9.2} ns per instruction of a warp", "", best[0] * 1e9 / warp_instructions as f64);
    row("softwarp, 2 threads", best[1]);
    for (n, (name, _)) in kernel.native.iter().enumerate() {
        row(name, best[2 + n]);
    }
    match ptoxide(kernel) {
        Ok((seconds, result)) => {
            agree(kernel, "ptoxide", &expected, &result);
            row("ptoxide", seconds);
        }
        Err(error) => println!("  ptoxide: {error}"),
    }
}

/// Results agree up to the rounding that `fma` saves.
fn agree(kernel: &Kernel, name: &str, expected: &[u32], found: &[u32]) {
    let near = |(&a, &b): (&u32, &u32)| {
        let (a, b) = (f32::from_bits(a), f32::from_bits(b));
        (a - b).abs() <= 1e-4 * a.abs().max(1.0)
    };
    let same = expected.len() == found.len()
        && expected.iter().zip(found).all(|pair| pair.0 == pair.1 || entry(kernel) != "lcg" && near(pair));
    assert!(same, "{}: {name} computes something else", kernel.name);
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for kernel in kernels().iter().filter(|kernel| kernel.name.starts_with(&wanted)) {
        compare(kernel);
    }
}
