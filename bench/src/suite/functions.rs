//! Native twins with special functions and with integers.

use super::native::{Part, f, rsqrt, sum, twins};
use softwarp_num::{Cpu, multiversion};
use std::f32::consts::LN_2;

twins! {
    /// Prefix sums of segments of 256.
    scan = scan_part;
    /// Histograms of 16,384 elements each.
    histogram = histogram_part;
    /// Prices of options.
    blackscholes = blackscholes_part;
    /// Softmax of rows of 1,024.
    softmax = softmax_part;
    /// Softmax of rows of 512.
    short_softmax = short_softmax_part;
    /// A linear congruential generator.
    lcg = lcg_part;
    /// Philox4x32-10.
    philox = philox_part;
    /// SHA-256 of one block.
    sha256 = sha256_part;
    /// Powers of two.
    ex2_rows = ex2_part;
    /// Logarithms to the base two.
    lg2_rows = lg2_part;
    /// Reciprocals.
    rcp_rows = rcp_part;
    /// Reciprocals of square roots.
    rsqrt_rows = rsqrt_part;
    /// Sines.
    sin_rows = sin_part;
    /// Cosines.
    cos_rows = cos_part;
    /// Hyperbolic tangents.
    tanh_rows = tanh_part;
}

/// The rate and volatility of the options.
pub const RATE: f32 = 0.02;
pub const VOLATILITY: f32 = 0.3;
/// Steps of the generator.
pub const STEPS: u32 = 4096;
/// Keys of Philox.
pub const KEYS: [u32; 2] = [0x1234_5678, 0x9abc_def0];

#[inline(always)]
fn scan_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    let [out] = results else { return };
    let rows = inputs[0][part * out.len()..].chunks_exact(256);
    for (row, out) in rows.zip(out.chunks_exact_mut(256)) {
        let mut total = 0u32;
        for (x, out) in row.iter().zip(out) {
            total = total.wrapping_add(*x);
            *out = total;
        }
    }
}

#[inline(always)]
fn histogram_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    let [out] = results else { return };
    let mut bins = [[0u32; 256]; 4];
    for x in inputs[0][part * 16384..][..16384].as_chunks::<4>().0 {
        for (bins, x) in bins.iter_mut().zip(x) {
            bins[(x & 255) as usize] += 1;
        }
    }
    for (bin, out) in out.iter_mut().enumerate() {
        *out = bins.iter().map(|bins| bins[bin]).sum();
    }
}

/// `2^x` for `x` in -126 .. 127.
#[inline(always)]
fn exp2(x: f32) -> f32 {
    let x = x.max(-126.0);
    let shifted = x + 12_582_912.0;
    let r = x - (shifted - 12_582_912.0);
    let scale = f((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    let mut p = 1.535_336_2e-4f32;
    for c in [1.339_887_4e-3, 9.618_437e-3, 5.550_332_5e-2, 0.240_226_48, LN_2, 1.0] {
        p = p.mul_add(r, c);
    }
    p * scale
}

#[inline(always)]
fn exp(x: f32) -> f32 {
    exp2(x * std::f32::consts::LOG2_E)
}

/// The natural logarithm of a positive normal number, as in Cephes.
#[inline(always)]
fn ln(x: f32) -> f32 {
    let shifted = x.to_bits().wrapping_sub(0x3f35_04f3);
    let exponent = (shifted as i32 >> 23) as f32;
    let x = f((shifted & 0x7f_ffff).wrapping_add(0x3f35_04f3)) - 1.0;
    let mut p = 7.037_683_6e-2f32;
    for c in [
        -0.115_146_1,
        0.116_769_98,
        -0.124_201_41,
        0.142_493_23,
        -0.166_680_57,
        0.200_007_14,
        -0.249_999_94,
        0.333_333_3,
    ] {
        p = p.mul_add(x, c);
    }
    let square = x * x;
    exponent.mul_add(LN_2, (p * x).mul_add(square, (-0.5f32).mul_add(square, x)))
}

/// The cumulative normal distribution.
#[inline(always)]
fn cumulative(d: f32) -> f32 {
    let k = 1.0 / 0.231_641_9f32.mul_add(d.abs(), 1.0);
    let mut p = 1.330_274_4f32;
    for c in [-1.821_255_9, 1.781_477_9, -0.356_563_78, 0.319_381_54, 0.0] {
        p = p.mul_add(k, c);
    }
    let c = 0.398_942_3 * exp(-0.5 * d * d) * p;
    if d > 0.0 { 1.0 - c } else { c }
}

#[inline(always)]
fn blackscholes_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    let [call, put] = results else { return };
    let count = call.len();
    let slice = |buffer: usize| &inputs[buffer][part * count..][..count];
    let (price, strike, years) = (slice(0), slice(1), slice(2));
    let put = &mut put[..count];
    for i in 0..count {
        let (s, x, t) = (f(price[i]), f(strike[i]), f(years[i]));
        let root = VOLATILITY * t * rsqrt(t);
        let d1 = (RATE + 0.5 * VOLATILITY * VOLATILITY).mul_add(t, ln(s / x)) / root;
        let (n1, n2) = (cumulative(d1), cumulative(d1 - root));
        let present = x * exp(-RATE * t);
        call[i] = s.mul_add(n1, -(present * n2)).to_bits();
        put[i] = present.mul_add(1.0 - n2, -(s * (1.0 - n1))).to_bits();
    }
}

#[inline(always)]
fn softmax_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    softmax_rows(1024, part, &inputs[0], results);
}

#[inline(always)]
fn short_softmax_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    softmax_rows(512, part, &inputs[0], results);
}

#[inline(always)]
fn softmax_rows(columns: usize, part: usize, x: &[u32], results: &mut [&mut [u32]]) {
    let [out] = results else { return };
    let rows = x[part * out.len()..].chunks_exact(columns);
    for (row, out) in rows.zip(out.chunks_exact_mut(columns)) {
        let mut most = [f32::NEG_INFINITY; 64];
        for x in row.as_chunks::<64>().0 {
            for (most, x) in most.iter_mut().zip(x) {
                *most = if f(*x) > *most { f(*x) } else { *most };
            }
        }
        let most = most.iter().fold(f32::NEG_INFINITY, |most, &x| if x > most { x } else { most });
        for (out, x) in out.iter_mut().zip(row) {
            *out = exp(f(*x) - most).to_bits();
        }
        let factor = 1.0 / sum(out.as_chunks::<64>().0.iter().map(|x| x.map(f)));
        for out in out.iter_mut() {
            *out = (f(*out) * factor).to_bits();
        }
    }
}

#[inline(always)]
fn lcg_part<C: Cpu>(_: C, part: usize, _: &[Vec<u32>], results: &mut [&mut [u32]]) {
    const LANES: usize = 64;
    let [out] = results else { return };
    let first = part * out.len();
    for (block, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut x: [u32; LANES] = std::array::from_fn(|lane| (first + block * LANES + lane) as u32);
        for step in 0..STEPS {
            for x in &mut x {
                *x = (*x ^ step).wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            }
        }
        *out = x;
    }
}

#[inline(always)]
fn philox_part<C: Cpu>(_: C, part: usize, _: &[Vec<u32>], results: &mut [&mut [u32]]) {
    const LANES: usize = 32;
    let [out] = results else { return };
    let first = part * out.len() / 4;
    let product = |a: u64, b: u64| (a & 0xffff_ffff) * (b & 0xffff_ffff);
    for (block, out) in out.as_chunks_mut::<{ 4 * LANES }>().0.iter_mut().enumerate() {
        let mut words = [[0u64; LANES]; 4];
        words[0] = std::array::from_fn(|lane| (first + block * LANES + lane) as u64);
        let [mut k0, mut k1] = KEYS;
        for _ in 0..10 {
            let [xs, ys, zs, ws] = &mut words;
            for (((x, y), z), w) in xs.iter_mut().zip(ys).zip(zs).zip(ws) {
                let (a, b) = (product(0xD251_1F53, *x), product(0xCD9E_8D57, *z));
                *x = (b >> 32) ^ *y ^ u64::from(k0);
                *y = b & 0xffff_ffff;
                *z = (a >> 32) ^ *w ^ u64::from(k1);
                *w = a & 0xffff_ffff;
            }
            k0 = k0.wrapping_add(0x9E37_79B9);
            k1 = k1.wrapping_add(0xBB67_AE85);
        }
        for (lane, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *out = std::array::from_fn(|word| words[word][lane] as u32);
        }
    }
}

/// The constants of SHA-256's rounds.
#[rustfmt::skip]
const K: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];
/// The state before the first block.
const STATE: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

#[inline(always)]
fn sha256_part<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
    const LANES: usize = 16;
    let [out] = results else { return };
    let first = part * out.len();
    for (block, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let mut w: [[u32; LANES]; 16] = std::array::from_fn(|word| [inputs[0][word]; LANES]);
        w[0] = std::array::from_fn(|lane| (first + block * LANES + lane) as u32);
        let mut s: [[u32; LANES]; 8] = STATE.map(|word| [word; LANES]);
        for group in 0..4 {
            if group > 0 {
                schedule(&mut w);
            }
            let constants = &K[16 * group..][..16];
            for (half, constants) in constants.as_chunks::<8>().0.iter().enumerate() {
                let w = &w[8 * half..];
                round::<0, _>(&mut s, constants, w);
                round::<1, _>(&mut s, constants, w);
                round::<2, _>(&mut s, constants, w);
                round::<3, _>(&mut s, constants, w);
                round::<4, _>(&mut s, constants, w);
                round::<5, _>(&mut s, constants, w);
                round::<6, _>(&mut s, constants, w);
                round::<7, _>(&mut s, constants, w);
            }
        }
        *out = s[0].map(|a| a.wrapping_add(STATE[0]));
    }
}

/// The next 16 words of the message schedule.
#[inline(always)]
fn schedule<const N: usize>(w: &mut [[u32; N]; 16]) {
    for t in 0..16 {
        let (x, y, z) = (w[(t + 1) & 15], w[(t + 14) & 15], w[(t + 9) & 15]);
        for lane in 0..N {
            let (x, y) = (x[lane], y[lane]);
            let x = x.rotate_right(7) ^ x.rotate_right(18) ^ (x >> 3);
            let y = y.rotate_right(17) ^ y.rotate_right(19) ^ (y >> 10);
            w[t][lane] = w[t][lane].wrapping_add(x).wrapping_add(z[lane]).wrapping_add(y);
        }
    }
}

/// A round whose `a` is the word `-STEP` of the state modulo 8.
#[inline(always)]
fn round<const STEP: usize, const N: usize>(s: &mut [[u32; N]; 8], constants: &[u32; 8], w: &[[u32; N]]) {
    let at = |word: usize| (word + 8 - STEP) & 7;
    let (constant, w) = (constants[STEP], w[STEP]);
    for lane in 0..N {
        let [a, b, c, d, e, f, g, h] = std::array::from_fn(|word| s[at(word)][lane]);
        let t1 = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(constant)
            .wrapping_add(w[lane]);
        let t2 = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
            .wrapping_add((a & b) ^ (a & c) ^ (b & c));
        s[at(3)][lane] = d.wrapping_add(t1);
        s[at(7)][lane] = t1.wrapping_add(t2);
    }
}

/// The sum of a function of 64 numbers for each element, 32 elements abreast.
#[inline(always)]
fn sums(part: usize, x: &[u32], results: &mut [&mut [u32]], function: impl Fn(f32) -> f32) {
    const LANES: usize = 32;
    let [out] = results else { return };
    let x = &x[part * out.len()..];
    for (x, out) in x.as_chunks::<LANES>().0.iter().zip(out.as_chunks_mut::<LANES>().0) {
        let mut x = x.map(f);
        let mut sums = [0f32; LANES];
        for _ in 0..64 {
            for (x, sum) in x.iter_mut().zip(&mut sums) {
                *sum += function(*x);
                *x += 0.01;
            }
        }
        *out = sums.map(f32::to_bits);
    }
}

/// Declares a twin that sums a function.
macro_rules! sums {
    ($($name:ident = $function:expr;)*) => {$(
        #[inline(always)]
        fn $name<C: Cpu>(_: C, part: usize, inputs: &[Vec<u32>], results: &mut [&mut [u32]]) {
            sums(part, &inputs[0], results, $function);
        }
    )*};
}

sums! {
    ex2_part = exp2;
    lg2_part = #[inline(always)] |x| ln(x) * std::f32::consts::LOG2_E;
    rcp_part = #[inline(always)] |x| 1.0 / x;
    rsqrt_part = rsqrt;
    sin_part = sin;
    cos_part = #[inline(always)] |x| sin(x + std::f32::consts::FRAC_PI_2);
    tanh_part = #[inline(always)] |x| 1.0 - 2.0 / (exp(2.0 * x) + 1.0);
}

/// The sine of a number of some hundreds at most.
#[inline(always)]
fn sin(x: f32) -> f32 {
    let shifted = x.mul_add(std::f32::consts::FRAC_1_PI, 12_582_912.0);
    let turns = shifted - 12_582_912.0;
    let r = turns.mul_add(-std::f32::consts::PI, x);
    let square = r * r;
    let mut p = 2.6e-6f32;
    for c in [-1.980_7e-4, 8.333_025e-3, -0.166_666_57] {
        p = p.mul_add(square, c);
    }
    let sine = (p * square).mul_add(r, r);
    f(sine.to_bits() ^ shifted.to_bits() << 31)
}
