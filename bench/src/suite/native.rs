//! The kernels' work as one would write it for a CPU: loops over 16 to 64 elements abreast, which the compiler turns into
//! vector instructions, blocked where the kernel is blocked.
//!
//! A twin computes one part of its results. Parts are computed one after the other or on all cores.

use softwarp_num::{Cpu, multiversion};

multiversion! {
    /// Computes part number `part` of the results from the buffers. There is a slice for each buffer of results.
    pub struct Part(part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]);
}

macro_rules! twins {
    ($($(#[$about:meta])* $name:ident = $body:ident;)*) => {$(
        multiversion! {
            $(#[$about])*
            pub fn $name[][](part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]): Part = $body;
        }
    )*};
}
pub(crate) use twins;

twins! {
    /// `y = a x + y`.
    saxpy = saxpy_part;
    /// `a = b + s c`.
    triad = triad_part;
    /// A product of matrices, row by row.
    gemm = gemm_part;
    /// A product of matrices in blocks of registers.
    blocked_gemm = blocked_gemm_part;
    /// A five-point stencil.
    stencil = stencil_part;
    /// Sums of 512 elements each.
    reduce = reduce_part;
    /// A transposed matrix.
    transpose = transpose_part;
    /// The Mandelbrot set.
    mandelbrot = mandelbrot_part;
    /// Accelerations of bodies.
    nbody = nbody_part;
    /// A sparse matrix by a vector.
    spmv = spmv_part;
}

/// The factor of saxpy and triad.
pub const FACTOR: f32 = 1.0 / 3.0;
/// The side of the matrices that are multiplied.
pub const GEMM: usize = 256;
/// The side of the stencil's and the transposed matrix.
pub const SIDE: usize = 1024;
/// The side of the picture, and the most iterations.
pub const PICTURE: usize = 512;
pub const ITERATIONS: u32 = 256;

#[inline(always)]
pub fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
fn saxpy_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    let [y] = results else { return };
    let x = &inputs[0][part * y.len()..][..y.len()];
    for (x, y) in x.iter().zip(y.iter_mut()) {
        *y = FACTOR.mul_add(f(*x), f(*y)).to_bits();
    }
}

#[inline(always)]
fn triad_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    let [a] = results else { return };
    let b = &inputs[0][part * a.len()..][..a.len()];
    let c = &inputs[1][part * a.len()..][..a.len()];
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = FACTOR.mul_add(f(*c), f(*b)).to_bits();
    }
}

#[inline(always)]
fn gemm_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    let [c] = results else { return };
    let a = &inputs[0][part * c.len()..][..c.len()];
    for (a, c) in a.chunks_exact(GEMM).zip(c.chunks_exact_mut(GEMM)) {
        c.fill(0);
        for (a, b) in a.iter().zip(inputs[1].chunks_exact(GEMM)) {
            for (c, b) in c.iter_mut().zip(b) {
                *c = f(*a).mul_add(f(*b), f(*c)).to_bits();
            }
        }
    }
}

/// Rows and columns of a block of registers.
const ROWS: usize = 4;
const COLUMNS: usize = 64;

#[inline(always)]
fn blocked_gemm_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    let [c] = results else { return };
    let a = &inputs[0][part * c.len()..][..c.len()];
    let b = inputs[1].as_slice();
    for (a, c) in a.chunks_exact(ROWS * GEMM).zip(c.chunks_exact_mut(ROWS * GEMM)) {
        for column in (0..GEMM).step_by(COLUMNS) {
            let mut sums = [[0f32; COLUMNS]; ROWS];
            for k in 0..GEMM {
                let Some(b) = b[k * GEMM + column..].first_chunk::<COLUMNS>() else { return };
                let a: [f32; ROWS] = std::array::from_fn(|row| f(a[row * GEMM + k]));
                for (lane, b) in b.iter().enumerate() {
                    for row in 0..ROWS {
                        sums[row][lane] = a[row].mul_add(f(*b), sums[row][lane]);
                    }
                }
            }
            for (row, sums) in sums.iter().enumerate() {
                for (c, sum) in c[row * GEMM + column..].iter_mut().zip(sums) {
                    *c = sum.to_bits();
                }
            }
        }
    }
}

#[inline(always)]
fn stencil_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    let [out] = results else { return };
    let rows = out.len() / SIDE;
    for (row, out) in (part * rows..).zip(out.chunks_exact_mut(SIDE)) {
        if row == 0 || row == SIDE - 1 {
            continue;
        }
        let line = |row: usize| &inputs[0][row * SIDE..][..SIDE];
        let (above, middle, below) = (line(row - 1), line(row), line(row + 1));
        for x in 1..SIDE - 1 {
            let sum = f(middle[x - 1]) + f(middle[x + 1]) + f(above[x]) + f(below[x]);
            out[x] = 0.5f32.mul_add(f(middle[x]), 0.125 * sum).to_bits();
        }
    }
}

/// A sum, 64 elements abreast.
#[inline(always)]
pub fn sum(x: impl Iterator<Item = [f32; 64]>) -> f32 {
    let mut sums = [0f32; 64];
    for x in x {
        for (sum, x) in sums.iter_mut().zip(x) {
            *sum += x;
        }
    }
    let mut width = 32;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}

#[inline(always)]
fn reduce_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    let [out] = results else { return };
    let rows = inputs[0][part * out.len() * 512..].chunks_exact(512);
    for (row, out) in rows.zip(out.iter_mut()) {
        *out = sum(row.as_chunks::<64>().0.iter().map(|x| x.map(f))).to_bits();
    }
}

#[inline(always)]
fn transpose_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    const BLOCK: usize = 16;
    let [out] = results else { return };
    let rows = out.len() / SIDE;
    for x in (0..SIDE).step_by(BLOCK) {
        for y in (0..rows).step_by(BLOCK) {
            let mut block = [[0u32; BLOCK]; BLOCK];
            for (j, line) in block.iter_mut().enumerate() {
                let from = &inputs[0][(x + j) * SIDE + part * rows + y..][..BLOCK];
                line.copy_from_slice(from);
            }
            for j in 0..BLOCK {
                let to = &mut out[(y + j) * SIDE + x..][..BLOCK];
                for (i, to) in to.iter_mut().enumerate() {
                    *to = block[i][j];
                }
            }
        }
    }
}

#[inline(always)]
fn mandelbrot_part<C: Cpu>(_: C, part: usize, _: &[Vec<u32>], results: &mut [&mut [u32]]) {
    const LANES: usize = 32;
    let [out] = results else { return };
    let start = part * out.len();
    for (block, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let at = start + block * LANES;
        let ci = 3.0 * (at / PICTURE) as f32 / PICTURE as f32 - 1.5;
        let cr: [f32; LANES] =
            std::array::from_fn(|lane| 3.0 * ((at % PICTURE + lane) as f32) / PICTURE as f32 - 2.0);
        let (mut zr, mut zi, mut count) = ([0f32; LANES], [0f32; LANES], [0u32; LANES]);
        for _ in 0..ITERATIONS {
            let mut any = 0;
            for lane in 0..LANES {
                let (r, i) = (zr[lane], zi[lane]);
                let (r2, i2) = (r * r, i * i);
                let active = u32::from(r2 + i2 <= 4.0);
                zr[lane] = r2 - i2 + cr[lane];
                zi[lane] = (r + r).mul_add(i, ci);
                count[lane] += active;
                any |= active;
            }
            if any == 0 {
                break;
            }
        }
        *out = count;
    }
}

/// `1 / sqrt(x)`: a first guess from the bits, and three steps of Newton's method.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    let mut y = f(0x5f37_59df - (x.to_bits() >> 1));
    let half = 0.5 * x;
    for _ in 0..3 {
        y *= (-half * y).mul_add(y, 1.5);
    }
    y
}

#[inline(always)]
fn nbody_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    const LANES: usize = 32;
    let [out] = results else { return };
    let bodies = inputs[0].as_chunks::<4>().0;
    let mine = &bodies[part * out.len() / 4..];
    for (mine, out) in mine.as_chunks::<LANES>().0.iter().zip(out.as_chunks_mut::<{ 4 * LANES }>().0) {
        let me: [[f32; LANES]; 3] = std::array::from_fn(|axis| mine.map(|body| f(body[axis])));
        let mut sums = [[0f32; LANES]; 3];
        for other in bodies {
            let [x, y, z, mass] = other.map(f);
            for lane in 0..LANES {
                let (dx, dy, dz) = (x - me[0][lane], y - me[1][lane], z - me[2][lane]);
                let inverse = rsqrt(dx.mul_add(dx, dy.mul_add(dy, dz.mul_add(dz, 0.01))));
                let s = mass * inverse * inverse * inverse;
                sums[0][lane] = dx.mul_add(s, sums[0][lane]);
                sums[1][lane] = dy.mul_add(s, sums[1][lane]);
                sums[2][lane] = dz.mul_add(s, sums[2][lane]);
            }
        }
        for (lane, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *out = [sums[0][lane].to_bits(), sums[1][lane].to_bits(), sums[2][lane].to_bits(), 0];
        }
    }
}

#[inline(always)]
fn spmv_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    let [starts, columns, values, x, ..] = inputs else { return };
    let [y] = results else { return };
    for (row, y) in (part * y.len()..).zip(y.iter_mut()) {
        let range = starts[row] as usize..starts[row + 1] as usize;
        let (mut columns, mut values) =
            (columns[range.clone()].chunks_exact(4), values[range].chunks_exact(4));
        let mut sums = [0f32; 4];
        for (columns, values) in columns.by_ref().zip(values.by_ref()) {
            for lane in 0..4 {
                sums[lane] = f(values[lane]).mul_add(f(x[columns[lane] as usize]), sums[lane]);
            }
        }
        for ((column, value), sum) in columns.remainder().iter().zip(values.remainder()).zip(&mut sums) {
            *sum = f(*value).mul_add(f(x[*column as usize]), *sum);
        }
        *y = (sums[0] + sums[1] + (sums[2] + sums[3])).to_bits();
    }
}
