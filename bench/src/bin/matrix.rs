//! Matrix instructions: a product of two 512 x 512 matrices of halves with sums in f32, beside a native loop.
//!
//! usage: `matrix`
//!
//! `bench/kernels/hgemm.ptx` copies tiles to shared memory, reads them with `ldmatrix` and multiplies with
//! `mma.sync.m16n8k16`. "native" is the same product in Rust: the halves are converted to f32, and rows of D are
//! computed in blocks, on all cores. softwarp rounds every sum as tensor cores do; the native loop rounds as f32 does,
//! so that results are compared up to that. A second native loop rounds as tensor cores do, on one thread
//! (`matrix_native.rs`): its results are the same. softwarp compiles kernels or interprets them. Every candidate in turn, many times, and its best time counts. Then what
//! each form of matrix instruction takes.

#![forbid(unsafe_code)]

#[path = "../matrix_forms.rs"]
mod forms;
#[path = "../matrix_native.rs"]
mod native_alike;

use rayon::prelude::*;
use softwarp_bench::SplitMix64;
use softwarp_vm::device::{Device, Jit, Launch, LoadOptions};
use std::hint::black_box;
use std::time::Instant;

const SIDE: usize = 512;

/// Rounds in which each candidate runs once.
const TURNS: usize = 20;

/// Rows of D, and columns of A, that the native loop works on at a time.
const ROWS: usize = 8;
const BLOCK: usize = 64;

fn halves(count: usize, random: &mut SplitMix64) -> Vec<u16> {
    (0..count).map(|_| half::f16::from_f32(random.next_fraction() - 0.5).to_bits()).collect()
}

fn native(a: &[u16], b: &[u16], d: &mut [f32]) {
    let widen = |x: &[u16]| -> Vec<f32> { x.par_iter().map(|&x| half::f16::from_bits(x).to_f32()).collect() };
    let (a, b) = (widen(a), widen(b));
    d.par_chunks_mut(ROWS * SIDE).zip(a.par_chunks(ROWS * SIDE)).for_each(|(d, a)| {
        d.fill(0.0);
        for block in (0..SIDE).step_by(BLOCK) {
            for (d, a) in d.chunks_exact_mut(SIDE).zip(a.chunks_exact(SIDE)) {
                for k in block..block + BLOCK {
                    for (d, b) in d.iter_mut().zip(&b[k * SIDE..][..SIDE]) {
                        *d += a[k] * b;
                    }
                }
            }
        }
    });
}

/// softwarp with the kernel and its buffers.
struct Softwarp {
    device: Device,
    arguments: Vec<Vec<u8>>,
    result: u64,
}

impl Softwarp {
    fn new(a: &[u16], b: &[u16]) -> Softwarp {
        let ptx = include_str!("../../kernels/hgemm.ptx");
        let device = Device::load(&[ptx], LoadOptions::default()).expect("a legal module");
        let place = |bytes: Vec<u8>| {
            let address = device.allocate(bytes.len() as u64).expect("memory");
            device.write(address, &bytes).expect("a buffer");
            address
        };
        let bytes = |x: &[u16]| x.iter().flat_map(|x| x.to_le_bytes()).collect();
        let [a, b, result] = [place(bytes(a)), place(bytes(b)), place(vec![0; 4 * SIDE * SIDE])];
        let mut arguments: Vec<Vec<u8>> = [a, b, result].map(|address| address.to_le_bytes().to_vec()).into();
        arguments.extend([SIDE as u32; 2].map(|side| side.to_le_bytes().to_vec()));
        Softwarp { device, arguments, result }
    }

    fn run(&mut self, threads: usize, jit: Jit) {
        let side = SIDE as u32 / 64;
        let launch = Launch {
            threads: Some(threads),
            jit,
            ..Launch::new("hgemm", [side, side, 1], [128, 1, 1], &self.arguments)
        };
        black_box(self.device.launch(&launch).expect("it runs"));
    }

    fn result(&self) -> Vec<f32> {
        let mut bytes = vec![0; 4 * SIDE * SIDE];
        self.device.read(self.result, &mut bytes).expect("a buffer");
        bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
    }
}

fn main() {
    let mut random = SplitMix64::new(1);
    let (a, b) = (halves(SIDE * SIDE, &mut random), halves(SIDE * SIDE, &mut random));
    let mut softwarp = Softwarp::new(&a, &b);
    let mut d = vec![0.0; SIDE * SIDE];
    let mut alike = d.clone();
    let names = [
        "compiled, 1 thread",
        "interpreted, 1 thread",
        "compiled, 2 threads",
        "native, rounded alike, 1 thread",
        "native, all cores",
    ];
    let mut best = [f64::INFINITY; 5];
    for _ in 0..TURNS {
        for (at, best) in best.iter_mut().enumerate() {
            let start = Instant::now();
            match at {
                0 => softwarp.run(1, Jit::On),
                1 => softwarp.run(1, Jit::Off),
                2 => softwarp.run(2, Jit::On),
                3 => native_alike::multiply(black_box(&a), black_box(&b), SIDE, &mut alike),
                _ => native(black_box(&a), black_box(&b), &mut d),
            }
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let near = |(x, y): (&f32, &f32)| (x - y).abs() <= 1e-4 * y.abs().max(1.0);
    assert!(softwarp.result().iter().zip(&d).all(near), "softwarp and the native loop compute the same");
    assert!(softwarp.result() == alike, "softwarp and the loop that rounds alike compute the same");
    let operations = 2.0 * (SIDE * SIDE * SIDE) as f64;
    println!("{SIDE} x {SIDE} x {SIDE} of f16, sums in f32");
    for (name, seconds) in names.iter().zip(best) {
        println!(
            "  {name:31} {:9.2} ms  {:7.2} GFLOP/s  {:6.2} x the time of the loop that rounds alike",
            seconds * 1e3,
            operations / seconds / 1e9,
            seconds / best[3]
        );
    }
    forms::table();
}
