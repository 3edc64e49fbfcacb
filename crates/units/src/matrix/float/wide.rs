//! What [`super::fragment`] does, in AVX-512: the same bits for numbers inside the fast range.
//!
//! It works as [`super::lanes`] does, in an order that the registers of a warp already have. A word of B holds the
//! factors of two steps of `k` for one column; sixteen lanes are eight columns by two steps, the partial sums of even
//! and odd steps beside each other, and what A contributes is the same pair of numbers in all columns. Integers may be
//! added in any order, so the two are joined last. The largest exponents come first, in bytes, eight steps of a column
//! in 64 bits.
//!
//! Two rows of C and D are kept in one vector: the four words of each 128 bits are two columns of the first row and
//! the same two of the second, in which order `shuffle_ps` joins the pairs of two rows.

#![allow(clippy::needless_range_loop, reason = "several arrays side by side")]

use super::fast_range::{FastRange, LEAST};
use super::fragment::{Row, Sums};
use crate::lanes;
use softwarp_num::{Avx512, Format};
use std::arch::x86_64::*;

/// What [`super::fragment::multiply`] does. Returns false also if a sum leaves 32 bits: then
/// [`super::fragment::portable`] may still have the answer.
pub fn multiply(_: Avx512, factors: Format, a: &[&Row], b: &[&Row], c: &[&Row], d: &mut Sums) -> bool {
    // SAFETY: the token says that the CPU has the features.
    unsafe {
        match (a, b) {
            (&[a0, a1], &[b0]) => shaped([[a0, a1]], [b0], factors, c, d),
            (&[a0, a1, a2, a3], &[b0, b1]) => shaped([[a0, a1], [a2, a3]], [b0, b1], factors, c, d),
            _ => false,
        }
    }
}

/// What [`super::fragment::multiply_rows`] does.
pub fn multiply_rows(
    _: Avx512,
    factors: Format,
    rows: &mut [lanes::Row<u32>],
    reads: &[u32],
    writes: &[u32],
) -> bool {
    // SAFETY: the token says that the CPU has the features.
    unsafe { in_rows(factors, rows, reads, writes) }
}

/// Compiled for the features, so that rows of D are copied in whole vectors.
#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn in_rows(factors: Format, rows: &mut [lanes::Row<u32>], reads: &[u32], writes: &[u32]) -> bool {
    let row = |slot: u32| &rows[slot as usize].0;
    let mut d = Sums::ZERO;
    let done = match *reads {
        [a0, a1, a2, a3, b0, b1, ref c @ ..] => {
            let (a, b) = ([[row(a0), row(a1)], [row(a2), row(a3)]], [row(b0), row(b1)]);
            match *c {
                [c0, c1, c2, c3] => shaped(a, b, factors, &[c0, c1, c2, c3].map(row), &mut d),
                [c0, c1] => shaped(a, b, factors, &[c0, c1].map(row), &mut d),
                _ => false,
            }
        }
        _ => false,
    };
    if done {
        for (&slot, sums) in writes.iter().zip(&d.0) {
            // A result that is not wanted has no row.
            if let Some(row) = rows.get_mut(slot as usize) {
                row.0 = *sums;
            }
        }
    }
    done
}

/// Finds out about formats.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn shaped<const EIGHTS: usize>(
    a: [[&Row; 2]; EIGHTS],
    b: [&Row; EIGHTS],
    factors: Format,
    c: &[&Row],
    d: &mut Sums,
) -> bool {
    match (factors, c) {
        (Format::F16, &[c0, c1, c2, c3]) => product::<F16, EIGHTS, 4>(a, b, [c0, c1, c2, c3], d),
        (Format::Bf16, &[c0, c1, c2, c3]) => product::<BF16, EIGHTS, 4>(a, b, [c0, c1, c2, c3], d),
        (Format::F16, &[c0, c1]) => product::<F16, EIGHTS, 2>(a, b, [c0, c1], d),
        _ => false,
    }
}

/// Factors of f16, as a parameter.
const F16: bool = true;
/// Factors of bf16.
const BF16: bool = false;

/// The bits of an addend that are kept after the largest addend's point.
const FRACTION: i32 = 25;

/// The exponent field in f32 of f16's least normal number.
const LEAST_HALF: i32 = 113;

/// A, ready to be multiplied: the values of pairs and the exponents of eight steps of rows, in memory, from where they
/// are read into all lanes. By reference: an array in a struct would be filled with zeros elsewhere, and copied.
struct Left<'a, const EIGHTS: usize> {
    exponents: &'a mut [[[i64; 8]; 2]; EIGHTS],
    values: &'a mut [[[[i64; 8]; 4]; 2]; EIGHTS],
}

/// Words of 64 bits that are aligned as vectors are.
#[repr(align(64))]
struct Quads<T>(T);

/// B, ready to be multiplied: exponents by columns, and the values of pairs of all columns.
struct Right<const EIGHTS: usize> {
    exponents: [__m512i; EIGHTS],
    values: [[__m512; 4]; EIGHTS],
}

/// `EIGHTS` times eight products a sum. Of each eight, A has two registers and B one. C and D have `C` registers: four
/// of f32 or two of f16.
#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn product<const HALF: bool, const EIGHTS: usize, const C: usize>(
    a: [[&Row; 2]; EIGHTS],
    b: [&Row; EIGHTS],
    c: [&Row; C],
    d: &mut Sums,
) -> bool {
    let narrow = C == 2;
    let zero = _mm512_setzero_si512();
    let mut right = Right { exponents: [zero; EIGHTS], values: [[_mm512_setzero_ps(); 4]; EIGHTS] };
    let mut outside = take_columns::<HALF, EIGHTS>(&mut right, b);
    let mut exponents = Quads([[[0; 8]; 2]; EIGHTS]);
    let mut values = Quads([[[[0; 8]; 4]; 2]; EIGHTS]);
    let mut left = Left { exponents: &mut exponents.0, values: &mut values.0 };
    outside |= take_rows::<HALF, EIGHTS>(&mut left, a);

    let mut range = FastRange::new();
    for side in 0..2 {
        // If narrow, both are the same register.
        let [even, odd] = [load(c[side * C / 2]), load(c[side * C / 2 + C / 4])];
        for four in 0..2 {
            let mut both = [zero; 2];
            for (two, both) in both.iter_mut().enumerate() {
                let row = four * 4 + two * 2;
                let c = match narrow {
                    true => from_halves(even[four], two),
                    false => _mm512_permutex2var_epi32(even[four], rows(two as i32), odd[four]),
                };
                let TwoRows { sum, cut, unit } =
                    two_rows::<HALF, EIGHTS, C>(&left, &right, [side, row], c, &mut range);
                if narrow {
                    let halves = to_halves(sum, cut, unit);
                    d.0[side][row * 4..][..8].copy_from_slice(&halves);
                    continue;
                }
                *both = _mm512_castps_si512(_mm512_mul_ps(cut, unit));
            }
            if narrow {
                continue;
            }
            for odd in 0..2 {
                let row = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 16, 20, 24, 28, 18, 22, 26, 30);
                let words = _mm512_add_epi32(row, _mm512_set1_epi32(odd));
                let words = _mm512_permutex2var_epi32(both[0], words, both[1]);
                d.0[side * 2 + odd as usize][four * 16..][..16].copy_from_slice(&words_of(words));
            }
        }
    }
    range.holds() && outside == 0
}

/// Takes B; returns which of its elements are outside the fast range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn take_columns<const HALF: bool, const EIGHTS: usize>(right: &mut Right<EIGHTS>, b: [&Row; EIGHTS]) -> u64 {
    let mut outside = 0;
    let by_columns = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for eight in 0..EIGHTS {
        let [low, high] = load(b[eight]);
        let (exponents, odd) = exponents::<HALF>(low, high);
        right.exponents[eight] = _mm512_permutexvar_epi64(by_columns, exponents);
        outside |= odd;
        for half in 0..2 {
            // Two words of all columns.
            let column = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
            let words = _mm512_add_epi32(column, _mm512_set1_epi32(half * 2));
            let words = _mm512_permutex2var_epi32(low, words, high);
            let at = half as usize * 2;
            right.values[eight][at] = values::<HALF>(_mm512_castsi512_si256(words));
            right.values[eight][at + 1] = values::<HALF>(_mm512_extracti64x4_epi64::<1>(words));
        }
    }
    outside
}

/// Takes A; returns which of its elements are outside the fast range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn take_rows<const HALF: bool, const EIGHTS: usize>(
    left: &mut Left<'_, EIGHTS>,
    a: [[&Row; 2]; EIGHTS],
) -> u64 {
    let mut outside = 0;
    for eight in 0..EIGHTS {
        for side in 0..2 {
            let [low, high] = load(a[eight][side]);
            let (exponents, odd) = exponents::<HALF>(low, high);
            left.exponents[eight][side] = quads(exponents);
            outside |= odd;
            for (at, half) in [low, high].into_iter().enumerate() {
                let pair = [_mm512_castsi512_si256(half), _mm512_extracti64x4_epi64::<1>(half)];
                for (rows, codes) in pair.into_iter().enumerate() {
                    left.values[eight][side][at * 2 + rows] =
                        quads(_mm512_castps_si512(values::<HALF>(codes)));
                }
            }
        }
    }
    outside
}

/// Sums of two rows.
struct TwoRows {
    /// In units, 2^−[`FRACTION`] of the largest addend's exponent.
    sum: __m512i,
    /// The sum cut to 24 bits.
    cut: __m512,
    /// The value of a unit.
    unit: __m512,
}

/// The sums of a row and the next one, of the half `side` of D, with all columns. `c` has what is added to them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn two_rows<const HALF: bool, const EIGHTS: usize, const C: usize>(
    left: &Left<'_, EIGHTS>,
    right: &Right<EIGHTS>,
    [side, row]: [usize; 2],
    c: __m512i,
    range: &mut FastRange,
) -> TwoRows {
    let magnitude = _mm512_and_si512(c, _mm512_set1_epi32(i32::MAX));
    range.addends(magnitude);

    // The order in which packing has left rows.
    let at = row % 4 * 2 + row / 4;
    let first = largest(left.exponents, &right.exponents, side, at);
    let second = largest(left.exponents, &right.exponents, side, at + 2);
    let exponents = over_steps(first, second);
    let bias = if HALF { 127 - 30 } else { 127 + 2 * CENTRE };
    let exponents = _mm512_add_epi32(exponents, _mm512_set1_epi32(bias));
    let mut of_c = _mm512_srli_epi32::<23>(magnitude);
    if C == 2 {
        let some = _mm512_test_epi32_mask(magnitude, magnitude);
        of_c = _mm512_maskz_max_epi32(some, of_c, _mm512_set1_epi32(LEAST_HALF));
    }
    let exponents = _mm512_max_epi32(exponents, of_c);
    let exponents = _mm512_max_epi32(exponents, _mm512_set1_epi32(LEAST));
    let scale = _mm512_sub_epi32(_mm512_set1_epi32(254 + FRACTION), exponents);
    let scale = _mm512_slli_epi32::<23>(scale);
    // The inverse of the scale.
    let unit = _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32(254 << 23), scale));

    let of_first = _mm512_castsi512_ps(_mm512_unpacklo_epi32(scale, scale));
    let of_second = _mm512_castsi512_ps(_mm512_unpackhi_epi32(scale, scale));
    let first = sums(left.values, &right.values, side, row, of_first);
    let second = sums(left.values, &right.values, side, row + 1, of_second);
    let [even, odd] = joined(first, second);
    let units = _mm512_add_epi32(even, odd);
    let c = _mm512_mul_ps(_mm512_castsi512_ps(c), _mm512_castsi512_ps(scale));
    let c = _mm512_cvttps_epi32(c);
    let sum = _mm512_add_epi32(units, c);
    range.sum(units, c, sum);
    let cut = _mm512_cvt_roundepi32_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(sum);
    TwoRows { sum, cut, unit }
}

/// Where in C's registers of even and odd columns, four rows of each, two rows are.
#[inline]
#[target_feature(enable = "avx512f")]
fn rows(two: i32) -> __m512i {
    let first = _mm512_setr_epi32(0, 16, 4, 20, 1, 17, 5, 21, 2, 18, 6, 22, 3, 19, 7, 23);
    _mm512_add_epi32(first, _mm512_set1_epi32(two * 8))
}

/// Two of four rows of halves.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn from_halves(rows: __m512i, two: usize) -> __m512i {
    let rows = match two {
        0 => _mm512_castsi512_si256(rows),
        _ => _mm512_extracti64x4_epi64::<1>(rows),
    };
    let alternating = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    _mm512_permutexvar_epi64(alternating, _mm512_castps_si512(_mm512_cvtph_ps(rows)))
}

/// Two rows of halves: sums of units, which were cut to 24 bits, rounded to nearest even.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn to_halves(sum: __m512i, cut: __m512, unit: __m512) -> [u32; 8] {
    // The last bit tells that something was cut, so that the second rounding is right.
    let lost = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(cut), sum);
    let bits = _mm512_castps_si512(cut);
    let sticky = _mm512_mask_or_epi32(bits, lost, bits, _mm512_set1_epi32(1));
    let values = _mm512_mul_ps(_mm512_castsi512_ps(sticky), unit);
    let by_rows = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    let values = _mm512_castsi512_ps(_mm512_permutexvar_epi64(by_rows, _mm512_castps_si512(values)));
    let halves = _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(values);
    // Zero has no sign.
    let some = _mm256_test_epi16_mask(halves, _mm256_set1_epi16(i16::MAX));
    let halves = _mm256_maskz_mov_epi16(some, halves);
    // SAFETY: both are 32 bytes of which any value is one of the type.
    unsafe { std::mem::transmute::<__m256i, [u32; 8]>(halves) }
}

/// The even and the odd words of two vectors.
#[inline]
#[target_feature(enable = "avx512f")]
fn joined(first: __m512i, second: __m512i) -> [__m512i; 2] {
    let (first, second) = (_mm512_castsi512_ps(first), _mm512_castsi512_ps(second));
    let (even, odd) = (_mm512_shuffle_ps::<0x88>(first, second), _mm512_shuffle_ps::<0xdd>(first, second));
    [_mm512_castps_si512(even), _mm512_castps_si512(odd)]
}

/// The values of sixteen factors.
#[inline]
#[target_feature(enable = "avx512f")]
fn values<const HALF: bool>(codes: __m256i) -> __m512 {
    match HALF {
        F16 => _mm512_cvtph_ps(codes),
        BF16 => _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(codes))),
    }
}

/// In the middle of bf16's exponents inside the fast range, which are −50 to 34: a byte holds the sum of two less this, and less
/// still if one is of zero.
const CENTRE: i32 = -8;
/// The distance of the least and the greatest from it.
const REACH: i32 = 42;

/// The exponents of 64 factors in bytes, and which of them are outside the fast range. A byte of f16 is the exponent's field, one
/// of bf16 the exponent less [`CENTRE`], that of zero the least byte. Of each 128 bits, those of `low` come first.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn exponents<const HALF: bool>(low: __m512i, high: __m512i) -> (__m512i, u64) {
    let fields = _mm512_packus_epi16(fields::<HALF>(low), fields::<HALF>(high));
    let zero = _mm512_testn_epi8_mask(fields, fields);
    let of_zero = _mm512_set1_epi8(i8::MIN);
    match HALF {
        F16 => {
            let outside = _mm512_cmpeq_epi8_mask(fields, _mm512_set1_epi8(31));
            (_mm512_mask_mov_epi8(fields, zero, of_zero), outside)
        }
        BF16 => {
            let exponents = _mm512_sub_epi8(fields, _mm512_set1_epi8((127 + CENTRE) as i8));
            let distance = _mm512_add_epi8(exponents, _mm512_set1_epi8(REACH as i8));
            let outside = _mm512_cmpgt_epu8_mask(distance, _mm512_set1_epi8(2 * REACH as i8));
            (_mm512_mask_mov_epi8(exponents, zero, of_zero), outside & !zero)
        }
    }
}

/// The fields of exponents of 32 factors. A subnormal number has the least normal one's; then only zero has none.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn fields<const HALF: bool>(codes: __m512i) -> __m512i {
    let magnitude = _mm512_and_si512(codes, _mm512_set1_epi16(i16::MAX));
    let field = match HALF {
        F16 => _mm512_srli_epi16::<10>(magnitude),
        BF16 => _mm512_srli_epi16::<7>(magnitude),
    };
    let some = _mm512_test_epi16_mask(magnitude, magnitude);
    _mm512_maskz_max_epu16(some, field, _mm512_set1_epi16(1))
}

/// The largest sums of exponents of a row and all columns, over steps whose numbers are the same modulo eight.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn largest<const EIGHTS: usize>(
    a: &[[[i64; 8]; 2]; EIGHTS],
    b: &[__m512i; EIGHTS],
    side: usize,
    at: usize,
) -> __m512i {
    let mut largest = _mm512_adds_epi8(_mm512_set1_epi64(a[0][side][at]), b[0]);
    for eight in 1..EIGHTS {
        largest = _mm512_max_epi8(largest, _mm512_adds_epi8(_mm512_set1_epi64(a[eight][side][at]), b[eight]));
    }
    largest
}

/// The largest bytes of each eight in two rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn over_steps(first: __m512i, second: __m512i) -> __m512i {
    let [even, odd] = joined(first, second);
    let four = _mm512_max_epi8(even, odd);
    let two = _mm512_max_epi8(four, _mm512_slli_epi32::<16>(four));
    _mm512_srai_epi32::<24>(_mm512_max_epi8(two, _mm512_slli_epi32::<8>(two)))
}

/// The sums of a row's products with all columns, of even and odd steps: multiplied by `scale` and cut.
#[inline]
#[target_feature(enable = "avx512f")]
fn sums<const EIGHTS: usize>(
    a: &[[[[i64; 8]; 4]; 2]; EIGHTS],
    b: &[[__m512; 4]; EIGHTS],
    side: usize,
    row: usize,
    scale: __m512,
) -> __m512i {
    let mut units = _mm512_setzero_si512();
    for eight in 0..EIGHTS {
        for pair in 0..4 {
            let factor = _mm512_castsi512_ps(_mm512_set1_epi64(a[eight][side][row / 2][row % 2 * 4 + pair]));
            let product = _mm512_mul_ps(factor, b[eight][pair]);
            units = _mm512_add_epi32(units, _mm512_cvttps_epi32(_mm512_mul_ps(product, scale)));
        }
    }
    units
}

/// A register's two halves.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(row: &Row) -> [__m512i; 2] {
    // SAFETY: both are 128 bytes of which any value is one of the type.
    unsafe { std::mem::transmute::<Row, [__m512i; 2]>(*row) }
}

/// A vector's 64-bit words.
#[inline]
#[target_feature(enable = "avx512f")]
fn quads(vector: __m512i) -> [i64; 8] {
    // SAFETY: both are 64 bytes of which any value is one of the type.
    unsafe { std::mem::transmute::<__m512i, [i64; 8]>(vector) }
}

/// A vector's words.
#[inline]
#[target_feature(enable = "avx512f")]
fn words_of(vector: __m512i) -> [u32; 16] {
    // SAFETY: both are 64 bytes of which any value is one of the type.
    unsafe { std::mem::transmute::<__m512i, [u32; 16]>(vector) }
}
