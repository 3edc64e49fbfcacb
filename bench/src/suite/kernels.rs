//! The kernels of the suite, their launches and their data.

use super::functions::{self, KEYS, RATE, STEPS, VOLATILITY};
use super::native::{self, FACTOR, GEMM, ITERATIONS, PICTURE, Part, SIDE};
use softwarp_bench::SplitMix64;

/// What nvcc made of `suite.cu`.
pub const SUITE: &str = include_str!("../../kernels/suite.ptx");
/// Softmax, by Triton 3.2 for `sm_90a`.
const TRITON_SOFTMAX: &str = include_str!("../../kernels/triton_softmax.ptx");

/// A kernel, its launch and its data: words of 32 bits.
pub struct Kernel {
    /// What tables call it.
    pub name: &'static str,
    pub ptx: &'static str,
    /// The kernel's name in the module.
    pub entry: &'static str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub inputs: Vec<Vec<u32>>,
    pub results: Vec<Results>,
    pub arguments: Vec<Given>,
    pub native: Part,
    pub agreement: Agreement,
}

/// A buffer of results.
#[derive(Clone)]
pub struct Results {
    /// What it holds before the first launch.
    pub words: Vec<u32>,
    /// How many words a part of the native twin computes.
    pub part: usize,
}

/// An argument.
#[derive(Clone, Copy)]
pub enum Given {
    /// The address of a buffer: inputs first, then results.
    Buffer(usize),
    Word(u32),
}

/// How far the results of the native twin may be from those of the kernel.
#[derive(Clone, Copy)]
pub enum Agreement {
    /// Bit by bit.
    Exact,
    /// As floats: the difference is at most this, relative to the larger of one and the value.
    Near(f32),
    /// Word by word: at most this many of a thousand words may differ.
    Most(usize),
}

use Given::{Buffer, Word};

/// Random data.
pub struct Data(SplitMix64);

impl Data {
    fn floats(&mut self, count: usize, least: f32, most: f32) -> Vec<u32> {
        (0..count).map(|_| (least + (most - least) * self.0.next_fraction()).to_bits()).collect()
    }

    fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.0.next_u64() as u32).collect()
    }
}

fn zeros(count: usize, part: usize) -> Vec<Results> {
    vec![Results { words: vec![0; count], part }]
}

/// A kernel of `suite.cu` with CTAs in a row.
fn row(name: &'static str, grid: usize, block: u32, native: Part) -> Kernel {
    Kernel {
        name,
        ptx: SUITE,
        entry: name,
        grid: [grid as u32, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        inputs: Vec::new(),
        results: Vec::new(),
        arguments: Vec::new(),
        native,
        agreement: Agreement::Near(1e-4),
    }
}

/// A kernel of `suite.cu` with CTAs that cover a square.
fn square(name: &'static str, side: usize, tile: [u32; 2], block: [u32; 2], native: Part) -> Kernel {
    let [x, y] = tile.map(|tile| side as u32 / tile);
    Kernel { grid: [x, y, 1], block: [block[0], block[1], 1], ..row(name, 1, 1, native) }
}

/// Makes a kernel and its data.
pub type Make = fn(&mut Data) -> Kernel;

/// The names of all kernels, and what makes them.
pub const KERNELS: &[(&str, Make)] = &[
    ("saxpy", saxpy),
    ("triad", triad),
    ("stencil", stencil),
    ("spmv", spmv),
    ("gemm", gemm),
    ("tiled16", tiled16),
    ("tiled32", tiled32),
    ("transpose", transpose),
    ("reduce", reduce),
    ("scan", scan),
    ("histogram", histogram),
    ("softmax", softmax),
    ("softmax, Triton", triton_softmax),
    ("mandelbrot", mandelbrot),
    ("nbody", nbody),
    ("blackscholes", blackscholes),
    ("lcg", lcg),
    ("philox", philox),
    ("sha256", sha256),
];

/// Special functions.
pub const FUNCTIONS: &[(&str, Make)] = &[
    ("ex2", |data| special("ex2", "ex2_rows", functions::ex2_rows().best(), data)),
    ("lg2", |data| special("lg2", "lg2_rows", functions::lg2_rows().best(), data)),
    ("rcp", |data| special("rcp", "rcp_rows", functions::rcp_rows().best(), data)),
    ("rsqrt", |data| special("rsqrt", "rsqrt_rows", functions::rsqrt_rows().best(), data)),
    ("sin", |data| special("sin", "sin_rows", functions::sin_rows().best(), data)),
    ("cos", |data| special("cos", "cos_rows", functions::cos_rows().best(), data)),
    ("tanh", |data| special("tanh", "tanh_rows", functions::tanh_rows().best(), data)),
];

/// Launches of a kernel that does nothing.
pub const EMPTY: &[(&str, Make)] = &[
    ("one empty CTA", |_| empty("one empty CTA", 1)),
    ("2^20 empty CTAs", |_| empty("2^20 empty CTAs", 1 << 20)),
];

/// Makes a kernel.
pub fn make(&(_, make): &(&str, Make)) -> Kernel {
    make(&mut Data(SplitMix64::new(1)))
}

/// With CTAs of one warp.
fn empty(name: &'static str, ctas: usize) -> Kernel {
    Kernel { entry: "empty", ..row(name, ctas, 32, Part::of(|_, _, _| {})) }
}

const LENGTH: usize = 1 << 20;

fn saxpy(data: &mut Data) -> Kernel {
    Kernel {
        inputs: vec![data.floats(LENGTH, -0.5, 0.5)],
        results: vec![Results { words: data.floats(LENGTH, -0.5, 0.5), part: 1 << 14 }],
        arguments: vec![Word(LENGTH as u32), Word(FACTOR.to_bits()), Buffer(0), Buffer(1)],
        ..row("saxpy", LENGTH / 256, 256, native::saxpy().best())
    }
}

fn triad(data: &mut Data) -> Kernel {
    const LENGTH: usize = 1 << 22;
    Kernel {
        inputs: vec![data.floats(LENGTH, -0.5, 0.5), data.floats(LENGTH, -0.5, 0.5)],
        results: zeros(LENGTH, 1 << 14),
        arguments: vec![Word(LENGTH as u32), Word(FACTOR.to_bits()), Buffer(0), Buffer(1), Buffer(2)],
        ..row("triad", LENGTH / 256, 256, native::triad().best())
    }
}

fn stencil(data: &mut Data) -> Kernel {
    Kernel {
        inputs: vec![data.floats(SIDE * SIDE, 0.0, 1.0)],
        results: zeros(SIDE * SIDE, 32 * SIDE),
        arguments: vec![Buffer(0), Buffer(1), Word(SIDE as u32), Word(SIDE as u32)],
        ..square("stencil", SIDE, [32, 8], [32, 8], native::stencil().best())
    }
}

/// Rows of 0 to 31 elements.
fn spmv(data: &mut Data) -> Kernel {
    const ROWS: usize = 1 << 15;
    let mut starts = vec![0];
    for _ in 0..ROWS {
        let last = starts[starts.len() - 1];
        starts.push(last + (data.0.next_u64() & 31) as u32);
    }
    let count = starts[ROWS] as usize;
    let columns = data.words(count).iter().map(|word| word % ROWS as u32).collect();
    Kernel {
        inputs: vec![starts, columns, data.floats(count, -0.5, 0.5), data.floats(ROWS, -0.5, 0.5)],
        results: zeros(ROWS, ROWS / 32),
        arguments: vec![Buffer(0), Buffer(1), Buffer(2), Buffer(3), Buffer(4), Word(ROWS as u32)],
        ..row("spmv", ROWS / 256, 256, native::spmv().best())
    }
}

fn product(name: &'static str, block: [u32; 2], native: Part, data: &mut Data) -> Kernel {
    Kernel {
        inputs: vec![data.floats(GEMM * GEMM, -0.5, 0.5), data.floats(GEMM * GEMM, -0.5, 0.5)],
        results: zeros(GEMM * GEMM, 16 * GEMM),
        arguments: vec![Buffer(0), Buffer(1), Buffer(2), Word(GEMM as u32)],
        ..square(name, GEMM, block, block, native)
    }
}

fn gemm(data: &mut Data) -> Kernel {
    product("gemm", [32, 8], native::gemm().best(), data)
}

fn tiled16(data: &mut Data) -> Kernel {
    product("tiled16", [16, 16], native::blocked_gemm().best(), data)
}

fn tiled32(data: &mut Data) -> Kernel {
    product("tiled32", [32, 32], native::blocked_gemm().best(), data)
}

fn transpose(data: &mut Data) -> Kernel {
    Kernel {
        inputs: vec![data.floats(SIDE * SIDE, 0.0, 1.0)],
        results: zeros(SIDE * SIDE, 128 * SIDE),
        arguments: vec![Buffer(0), Buffer(1), Word(SIDE as u32)],
        agreement: Agreement::Exact,
        ..square("transpose", SIDE, [32, 32], [32, 8], native::transpose().best())
    }
}

fn reduce(data: &mut Data) -> Kernel {
    Kernel {
        inputs: vec![data.floats(LENGTH, 0.0, 1.0)],
        results: zeros(LENGTH / 512, 64),
        arguments: vec![Buffer(0), Buffer(1)],
        ..row("reduce", LENGTH / 512, 256, native::reduce().best())
    }
}

fn scan(data: &mut Data) -> Kernel {
    Kernel {
        inputs: vec![data.words(LENGTH)],
        results: zeros(LENGTH, 1 << 14),
        arguments: vec![Buffer(0), Buffer(1)],
        agreement: Agreement::Exact,
        ..row("scan", LENGTH / 256, 256, functions::scan().best())
    }
}

fn histogram(data: &mut Data) -> Kernel {
    Kernel {
        inputs: vec![data.words(LENGTH)],
        results: zeros(LENGTH / 64, 256),
        arguments: vec![Buffer(0), Buffer(1)],
        agreement: Agreement::Exact,
        ..row("histogram", LENGTH / 16384, 256, functions::histogram().best())
    }
}

fn softmax(data: &mut Data) -> Kernel {
    Kernel {
        inputs: vec![data.floats(LENGTH, -5.0, 5.0)],
        results: zeros(LENGTH, 1 << 14),
        arguments: vec![Buffer(0), Buffer(1)],
        ..row("softmax", LENGTH / 1024, 256, functions::softmax().best())
    }
}

fn triton_softmax(data: &mut Data) -> Kernel {
    Kernel {
        ptx: TRITON_SOFTMAX,
        entry: "softmax",
        dynamic_shared: 16,
        inputs: vec![data.floats(LENGTH, -5.0, 5.0)],
        results: zeros(LENGTH, 1 << 14),
        arguments: vec![Buffer(0), Buffer(1), Word(512), Word(512)],
        ..row("softmax, Triton", LENGTH / 512, 128, functions::short_softmax().best())
    }
}

fn mandelbrot(_: &mut Data) -> Kernel {
    Kernel {
        results: zeros(PICTURE * PICTURE, 8 * PICTURE),
        arguments: vec![Buffer(0), Word(PICTURE as u32), Word(ITERATIONS)],
        agreement: Agreement::Most(10),
        ..square("mandelbrot", PICTURE, [32, 8], [32, 8], native::mandelbrot().best())
    }
}

fn nbody(data: &mut Data) -> Kernel {
    const BODIES: usize = 2048;
    Kernel {
        inputs: vec![data.floats(4 * BODIES, 0.0, 1.0)],
        results: zeros(4 * BODIES, 256),
        arguments: vec![Buffer(0), Buffer(1), Word(BODIES as u32)],
        ..row("nbody", BODIES / 256, 256, native::nbody().best())
    }
}

fn blackscholes(data: &mut Data) -> Kernel {
    const OPTIONS: usize = 1 << 18;
    let buffers = (0..5).map(Buffer);
    let words = [RATE, VOLATILITY].map(|value| Word(value.to_bits()));
    Kernel {
        inputs: vec![
            data.floats(OPTIONS, 5.0, 30.0),
            data.floats(OPTIONS, 1.0, 100.0),
            data.floats(OPTIONS, 0.25, 10.0),
        ],
        results: [zeros(OPTIONS, 1 << 13), zeros(OPTIONS, 1 << 13)].concat(),
        arguments: buffers.chain(words).collect(),
        ..row("blackscholes", OPTIONS / 256, 256, functions::blackscholes().best())
    }
}

fn lcg(_: &mut Data) -> Kernel {
    const GENERATORS: usize = 1 << 12;
    Kernel {
        results: zeros(GENERATORS, 256),
        arguments: vec![Buffer(0), Word(STEPS)],
        agreement: Agreement::Exact,
        ..row("lcg", GENERATORS / 256, 256, functions::lcg().best())
    }
}

fn philox(_: &mut Data) -> Kernel {
    const COUNTERS: usize = 1 << 18;
    Kernel {
        results: zeros(4 * COUNTERS, 1 << 14),
        arguments: vec![Buffer(0), Word(KEYS[0]), Word(KEYS[1])],
        agreement: Agreement::Exact,
        ..row("philox", COUNTERS / 256, 256, functions::philox().best())
    }
}

fn sha256(data: &mut Data) -> Kernel {
    const BLOCKS: usize = 1 << 15;
    Kernel {
        inputs: vec![data.words(16)],
        results: zeros(BLOCKS, BLOCKS / 32),
        arguments: vec![Buffer(0), Buffer(1)],
        agreement: Agreement::Exact,
        ..row("sha256", BLOCKS / 256, 256, functions::sha256().best())
    }
}

/// Sums of a function of 64 numbers each.
fn special(name: &'static str, entry: &'static str, native: Part, data: &mut Data) -> Kernel {
    const COUNT: usize = 1 << 15;
    Kernel {
        entry,
        inputs: vec![data.floats(COUNT, 0.5, 2.0)],
        results: zeros(COUNT, COUNT / 32),
        arguments: vec![Buffer(0), Buffer(1)],
        agreement: Agreement::Near(1e-3),
        ..row(name, COUNT / 256, 256, native)
    }
}
