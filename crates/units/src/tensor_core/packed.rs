//! Products of e2m1 numbers with scales, of `.kind::mxf4` and `.kind::mxf4nvf4`: the same bits as
//! [`crate::matrix::float::exact`] by [`Order::Blocks`](crate::matrix::float::rules::Order::Blocks).
//!
//! Sixteen products at a time are added as integers of 16 bits, for many columns at once; then each element adds its
//! groups, multiplied by their scales, and C in 64 bits.

#![allow(
    clippy::needless_range_loop,
    reason = "several arrays side by side, and loops that must become vectors"
)]

use super::COLUMNS;
use super::product::{Block, Product};
use crate::matrix::Scales;
use crate::matrix::float::number::{Finite, Number, Sum};
use crate::matrix::lines::ROWS;
use softwarp_num::{Format, Vectorise, vectorised};

/// Products that are added before they are scaled.
const GROUP: usize = 16;

/// Bits of an addend that are kept after the largest addend's point.
const FRACTION: u32 = 35;

/// Buffers.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Of each step of `k`, the elements of all columns, in halves.
    b: Vec<i16>,
    /// Those that a sparse row meets.
    chosen: Vec<i16>,
    /// Of each group, the sums of all columns, in quarters.
    sums: Vec<[i16; WIDTH]>,
    /// Of each scale of a column, those of all columns: significands and exponents.
    columns: [Vec<[i32; WIDTH]>; 2],
    /// Columns that are left to [`by_rule`].
    slow: Vec<u32>,
}

/// e2m1 in halves.
const HALVES: [i16; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// A scale: a significand as an integer, and its exponent.
#[derive(Clone, Copy, Debug)]
struct Factor {
    significand: i32,
    exponent: i32,
}

impl Factor {
    /// What stands for NaN.
    const NAN: i32 = -1;

    fn of(format: Format, code: u32) -> Factor {
        match Number::of(format, code) {
            Number::Finite(it) => Factor { significand: it.significand as i32, exponent: it.exponent },
            _ => Factor { significand: Factor::NAN, exponent: 0 },
        }
    }
}

/// D = A·B + D.
pub(super) fn multiply(
    product: &Product<'_>,
    scales: &Scales<'_>,
    block: &mut Block<'_>,
    scratch: &mut Scratch,
) {
    let it = product.instruction;
    let (n, k, stored) = (product.b.len(), it.k, it.stored());
    let (groups, format) = (stored / GROUP, it.scale.map_or(Format::Ue8m0, |scale| scale.format));
    let count = it.scale.map_or(1, |scale| scale.count);
    let Scratch { b, chosen, sums, columns, slow } = scratch;
    let stride = n.next_multiple_of(WIDTH);
    b.clear();
    b.resize(k * stride, 0);
    for (column, line) in product.b.iter().enumerate() {
        let mut codes = [0; 128];
        line.elements(4, &mut codes);
        let steps = b.chunks_exact_mut(stride).zip(codes);
        steps.for_each(|(step, code)| step[column] = HALVES[code as usize & 15]);
    }
    let chunks = n.div_ceil(WIDTH);
    scales_of_columns(columns, format, scales.b, (n, count));
    sums.clear();
    sums.resize(groups * chunks, [0; WIDTH]);
    slow.clear();
    slow.resize(n, 0);
    for (row, line) in product.a.iter().enumerate().take(ROWS) {
        if block.written >> row & 1 == 0 {
            continue;
        }
        let mut codes = [0; 128];
        line.elements(4, &mut codes);
        let b = match product.places {
            None => &b[..],
            Some(places) => {
                chosen.clear();
                for &at in &places[row][..stored] {
                    chosen.extend_from_slice(&b[usize::from(at) % k * stride..][..stride]);
                }
                &chosen[..]
            }
        };
        vectorised(Dots { codes: &codes, b, stride, sums });
        let of_row = &scales.a[row * count..][..count];
        let rows: Vec<Factor> = of_row.iter().map(|&code| Factor::of(format, code)).collect();
        let words = &mut block.words[row * COLUMNS + block.column..][..n];
        if !product.adds {
            words.fill(0);
        }
        let fraction = if format == Format::Ue8m0 { 2 } else { 8 };
        let columns = [&columns[0][..], &columns[1][..]];
        let combine = Combine { sums, row: &rows, columns, fraction, words, slow };
        if !vectorised(combine) {
            continue;
        }
        for column in (0..n).filter(|&column| slow[column] != 0) {
            let numbers = (0..groups).map(|group| {
                let at = group * count / groups;
                let scale = [of_row[at], scales.b[column * count + at]].map(|code| Number::of(format, code));
                (sums[group * chunks + column / WIDTH][column % WIDTH], scale)
            });
            words[column] = by_rule(numbers, words[column]);
        }
    }
}

/// The scales of columns, by scale and column.
fn scales_of_columns(
    into: &mut [Vec<[i32; WIDTH]>; 2],
    format: Format,
    codes: &[u32],
    (n, count): (usize, usize),
) {
    let chunks = n.div_ceil(WIDTH);
    into.iter_mut().for_each(|it| {
        it.clear();
        it.resize(count * chunks, [0; WIDTH]);
    });
    for (at, &code) in codes.iter().enumerate() {
        let (column, scale) = (at / count, at % count);
        let factor = Factor::of(format, code);
        let place = scale * chunks + column / WIDTH;
        into[0][place][column % WIDTH] = factor.significand;
        into[1][place][column % WIDTH] = factor.exponent;
    }
}

/// Sums of the products of a row with all columns, group by group.
struct Dots<'a> {
    codes: &'a [u32; 128],
    b: &'a [i16],
    /// Columns of a step of `k`: a multiple of [`WIDTH`].
    stride: usize,
    sums: &'a mut [[i16; WIDTH]],
}

impl Vectorise for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Dots { codes, b, stride, sums } = self;
        let chunks = stride / WIDTH;
        let columns = b.as_chunks::<WIDTH>().0;
        for (group, sums) in sums.chunks_exact_mut(chunks).enumerate() {
            let factors: [i16; GROUP] =
                std::array::from_fn(|step| HALVES[codes[(group * GROUP + step) % 128] as usize & 15]);
            let columns = &columns[group * GROUP * chunks..][..GROUP * chunks];
            for (chunk, sums) in sums.iter_mut().enumerate() {
                // A sum of its own, so that it stays in a register.
                let mut sum = [0i16; WIDTH];
                for step in 0..GROUP {
                    let columns = columns[step * chunks + chunk];
                    sum = std::array::from_fn(|at| {
                        sum[at].wrapping_add(factors[step].wrapping_mul(columns[at]))
                    });
                }
                *sums = sum;
            }
        }
    }
}

/// A row of D: the sums of its groups, multiplied by their scales, and C, which is in `words` before. Elements that are
/// special, subnormal or large are left, and marked; whether there are any.
struct Combine<'a> {
    /// By group and column.
    sums: &'a [[i16; WIDTH]],
    row: &'a [Factor],
    /// By scale and column: significands and exponents.
    columns: [&'a [[i32; WIDTH]]; 2],
    /// Bits of a scaled sum behind its point.
    fraction: i32,
    words: &'a mut [u32],
    slow: &'a mut [u32],
}

/// Columns that are worked on together.
const WIDTH: usize = 16;

/// The exponent of zero.
const OF_ZERO: i32 = -1000;

/// 2 to a power, between the least and the greatest normal number.
#[inline(always)]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Adds C in units of 2 to the power of the largest exponent, less the fraction.
#[inline(always)]
fn add(c: &[u32; WIDTH], largest: &[i32; WIDTH], total: &mut [i64; WIDTH]) {
    for column in 0..WIDTH {
        let field = (c[column] >> 23 & 0xff) as i32;
        let zero = c[column] << 1 == 0;
        // Never more than 12 up; what is more than 63 down is nothing.
        let down = (largest[column] - (field - 127)).clamp(0, 63);
        let magnitude = (u64::from(c[column] & 0x7f_ffff | 0x80_0000) << 12 >> down) as i64;
        let sign = i64::from(c[column] as i32 >> 31);
        total[column] += if zero { 0 } else { (magnitude ^ sign) - sign };
    }
}

/// Sums as f32, cut toward zero. Those whose exponents may leave the range are marked.
#[inline(always)]
fn rounded(total: &[i64; WIDTH], largest: &[i32; WIDTH], bad: &mut [u32; WIDTH]) -> [u32; WIDTH] {
    let mut words = [0; WIDTH];
    for column in 0..WIDTH {
        let nothing = largest[column] == OF_ZERO;
        bad[column] |= u32::from(!nothing & ((largest[column] + 90) as u32 >= 180));
        let unit = power((largest[column] - FRACTION as i32).clamp(-200, 200));
        let value = total[column] as f64 * unit;
        // Without the bits that f32 has not. Zero is positive.
        words[column] = (f64::from_bits(value.to_bits() & !((1 << 29) - 1)) as f32).to_bits();
    }
    words
}

impl Vectorise for Combine<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Combine { sums, row, columns, fraction, words, slow } = self;
        let chunks = words.len().div_ceil(WIDTH).max(1);
        let groups = (sums.len() / chunks).min(MOST);
        let each = (groups / row.len().max(1)).max(1);
        let mut any = 0;
        for (at, (words, slow)) in words.chunks_mut(WIDTH).zip(slow.chunks_mut(WIDTH)).enumerate() {
            let mut c = [0u32; WIDTH];
            c[..words.len()].copy_from_slice(words);
            let mut bad = [0u32; WIDTH];
            let mut largest = [OF_ZERO; WIDTH];
            for column in 0..WIDTH {
                let field = (c[column] >> 23 & 0xff) as i32;
                let zero = c[column] << 1 == 0;
                bad[column] = u32::from(!zero & ((field as u32).wrapping_sub(54) >= 146));
                largest[column] = if zero { OF_ZERO } else { field - 127 };
            }
            let mut significands = [[0i32; WIDTH]; MOST];
            let mut exponents = [[0i32; WIDTH]; MOST];
            for group in 0..groups {
                let own = row[(group / each).min(row.len() - 1)];
                let place = group / each * chunks + at;
                let (Some(significand), Some(exponent), Some(sum)) =
                    (columns[0].get(place), columns[1].get(place), sums.get(group * chunks + at))
                else {
                    continue;
                };
                for column in 0..WIDTH {
                    let scaled = i32::from(sum[column]) * own.significand * significand[column];
                    bad[column] |= (own.significand | significand[column]) as u32 >> 31;
                    significands[group][column] = scaled;
                    exponents[group][column] = own.exponent + exponent[column];
                    let counts = if scaled == 0 { OF_ZERO } else { own.exponent + exponent[column] };
                    largest[column] = largest[column].max(counts);
                }
            }
            let mut total = [0i64; WIDTH];
            for group in 0..groups {
                let (significands, exponents) = (&significands[group], &exponents[group]);
                for column in 0..WIDTH {
                    // In units of 2 to the power of the largest exponent, less the fraction.
                    let up = FRACTION as i32 - fraction - (largest[column] - exponents[column]);
                    bad[column] |= u32::from((significands[column] != 0) & (up < 0));
                    total[column] += i64::from(significands[column]) << (up & 63);
                }
            }
            add(&c, &largest, &mut total);
            let c = rounded(&total, &largest, &mut bad);
            for (((word, slow), &bad), &c) in words.iter_mut().zip(slow).zip(&bad).zip(&c) {
                *slow = bad;
                any |= bad;
                *word = if bad == 0 { c } else { *word };
            }
        }
        any != 0
    }
}

/// The most groups.
const MOST: usize = 6;

/// The same by the rule, for all numbers: of sums in quarters with their scales, and C.
#[cold]
fn by_rule(sums: impl Iterator<Item = (i16, [Number; 2])>, c: u32) -> u32 {
    let numbers = sums.map(|(sum, [row, column])| {
        let (negative, significand) = (sum < 0, sum.unsigned_abs().into());
        Number::Finite(Finite { negative, significand, exponent: 0, fraction: 2 }).times(row.times(column))
    });
    let numbers: Vec<Number> = numbers.chain([Number::of(Format::F32, c)]).collect();
    Sum::of(numbers.into_iter(), FRACTION).to_f32(23)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row by [`Combine`] and by the rule.
    #[test]
    fn rows_are_combined_by_the_rule() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u32
        };
        for round in 0..2000 {
            let (format, count) = if round % 2 == 0 { (Format::Ue8m0, 2) } else { (Format::Ue4m3, 4) };
            let (n, chunks) = (24, 2);
            let code = |x: u32| if round % 2 == 0 { 117 + x % 20 } else { x % 128 };
            let mut codes = |count: usize| (0..count).map(|_| code(random())).collect::<Vec<u32>>();
            let (of_row, of_columns) = (codes(count), codes(count * n));
            let sums: Vec<[i16; WIDTH]> =
                (0..4 * chunks).map(|_| std::array::from_fn(|_| (random() % 4609) as i16 - 2304)).collect();
            let before: Vec<u32> = (0..n)
                .map(|_| match random() % 4 {
                    0 => 0,
                    1 => random(),
                    _ => f32::to_bits((random() as f32 - 1e9) * 2f32.powi(random() as i32 % 40 - 40)),
                })
                .collect();
            let mut words = before.clone();
            let row: Vec<Factor> = of_row.iter().map(|&code| Factor::of(format, code)).collect();
            let mut columns = [Vec::new(), Vec::new()];
            scales_of_columns(&mut columns, format, &of_columns, (n, count));
            let columns = [&columns[0][..], &columns[1][..]];
            let fraction = if count == 2 { 2 } else { 8 };
            let mut slow = vec![0; n];
            let (words_, slow_) = (&mut words[..], &mut slow[..]);
            vectorised(Combine { sums: &sums, row: &row, columns, fraction, words: words_, slow: slow_ });
            for column in 0..n {
                let numbers = (0..4).map(|group| {
                    let at = group * count / 4;
                    let scale =
                        [of_row[at], of_columns[column * count + at]].map(|code| Number::of(format, code));
                    (sums[group * chunks + column / WIDTH][column % WIDTH], scale)
                });
                let wanted = by_rule(numbers, before[column]);
                assert!(slow[column] != 0 || words[column] == wanted, "{:#x} {wanted:#x}", words[column]);
            }
        }
    }
}
