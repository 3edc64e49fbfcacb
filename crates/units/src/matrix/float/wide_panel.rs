//! What [`super::panel`] does, in AVX-512: the same bits as [`super::exact`] for numbers inside the fast range.
//!
//! A vector is a row of sixteen columns of D. Columns of B are decoded to f32 and turned over, so that an element of A,
//! read from memory into all lanes, meets sixteen of them; multiply, scale, cut, add is all that a product takes then
//! (see [`super::lanes`], whose limits are those here). In a sparse product each element of A says which of B's it
//! meets.
//!
//! Exponents are bytes. Of B, a vector has four steps of `k` of all sixteen columns: in each 128 bits, four columns of
//! one step after the other. An exponent of A fills 32 bits in memory, so that 128 bits of these, in all four lanes,
//! meet them; the largest of the four steps is found last.
//!
//! The columns of a vector are in the order in which C and D have them: even ones of eight, odd ones, and those of the
//! next eight. Of f16 neighbours share a word, and the order is the natural one.

#![allow(clippy::needless_range_loop, reason = "several arrays side by side")]

use super::fast_range::{FastRange, LEAST};
use super::fragment::{Row, Sums};
use super::panel::Panel;
use super::rules::{Order, Rule};
use crate::matrix::lines::{Line, ROWS};
use crate::matrix::vectors::{self, ORDER, WIDTH};
use softwarp_num::{Avx512, Format};
use std::arch::x86_64::*;

/// The fields of the least and the greatest factor inside the fast range: 2^−50 and 2^34.
const FACTORS: [i32; 2] = [77, 161];
/// Twice the least of them.
const PRODUCT: i32 = FACTORS[0] * 2 - 127;
/// What a byte of A's exponents has more than the field has more than the least. A byte of B's is what the field has
/// less than the greatest, so that the difference of two is a product's field in f32, and 0 if a factor is zero: of
/// zero, A's byte is 0 and B's 255.
const MORE: i32 = PRODUCT + FACTORS[1] - FACTORS[0];

/// What [`super::panel::multiply`] does.
pub fn multiply(_: Avx512, panel: &Panel<'_>, c: &[&Row], d: &mut [Sums]) -> bool {
    let narrow = panel.product.d == Format::F16;
    // SAFETY: the token says that the CPU has the features.
    unsafe {
        match (panel.length, panel.places.is_some(), narrow) {
            (..=8, false, false) => product::<8, 8, false>(panel, c, d),
            (..=16, false, false) => product::<16, 16, false>(panel, c, d),
            (..=32, false, false) => product::<32, 32, false>(panel, c, d),
            (..=16, true, false) => product::<8, 16, false>(panel, c, d),
            (..=32, true, false) => product::<16, 32, false>(panel, c, d),
            (..=64, true, false) => product::<32, 64, false>(panel, c, d),
            (..=16, false, true) => product::<16, 16, true>(panel, c, d),
            (..=32, false, true) => product::<32, 32, true>(panel, c, d),
            (..=32, true, true) => product::<16, 32, true>(panel, c, d),
            (..=64, true, true) => product::<32, 64, true>(panel, c, d),
            _ => false,
        }
    }
}

/// A, ready to be multiplied: `K` elements of each row, of `D` that there would be.
#[repr(align(64))]
struct Left<const K: usize, const D: usize> {
    exponents: [[u32; D]; ROWS],
    values: [[f32; K]; ROWS],
    /// Of a sparse A: where in [`Right::values`] what an element meets is, less than `D`.
    places: [[usize; K]; ROWS],
}

/// Sixteen columns of B.
struct Right<const D: usize> {
    /// In quarters of `D`; the others are not used.
    exponents: [__m512i; 16],
    values: [__m512; D],
}

/// Sums of `K` products. If A is sparse, `D` is more.
#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn product<const K: usize, const D: usize, const NARROW: bool>(
    panel: &Panel<'_>,
    c: &[&Row],
    d: &mut [Sums],
) -> bool {
    let mut left =
        Left::<K, D> { exponents: [[0; D]; ROWS], values: [[0.0; K]; ROWS], places: [[0; K]; ROWS] };
    let mut outside = take_rows(&mut left, panel);
    let mut right = Right::<D> { exponents: [_mm512_setzero_si512(); 16], values: [_mm512_setzero_ps(); D] };
    let mut range = FastRange::new();
    let Rule { fraction, mantissa, .. } = panel.rule;
    let long = super::panel::is_long(panel.rule, K);
    let fraction = fraction as i32;
    let kept = _mm512_set1_epi32(-1 << (23 - mantissa));
    for (tile, d) in d.chunks_mut(2).enumerate() {
        outside |= take_columns::<D, NARROW>(&mut right, panel, tile);
        for four in 0..ROWS / 4 {
            let addends = load::<NARROW>(c, tile, four);
            let mut results = [_mm512_setzero_si512(); 4];
            for (below, result) in results.iter_mut().enumerate() {
                let (row, c) = (four * 4 + below, addends[below]);
                let magnitude = _mm512_and_si512(c, _mm512_set1_epi32(i32::MAX));
                range.addends(magnitude);

                // Exponents as fields of f32.
                let mut of_c = _mm512_and_si512(magnitude, _mm512_set1_epi32(0xff << 23));
                if NARROW {
                    let some = _mm512_test_epi32_mask(magnitude, magnitude);
                    of_c = _mm512_maskz_max_epi32(some, of_c, _mm512_set1_epi32(113 << 23));
                }
                let exponents = largest(&left.exponents[row], &right.exponents);
                let exponents = _mm512_max_epi32(exponents, of_c);
                let scale = _mm512_sub_epi32(_mm512_set1_epi32((254 + fraction) << 23), exponents);
                let scale = _mm512_castsi512_ps(scale);
                let unit = _mm512_sub_epi32(exponents, _mm512_set1_epi32(fraction << 23));
                let unit = _mm512_castsi512_ps(unit);

                let c = _mm512_cvttps_epi32(_mm512_mul_ps(_mm512_castsi512_ps(c), scale));
                if K == 32 && long {
                    let first = row_times_columns(&left, row, &right, scale, 0..K / 2);
                    let last = row_times_columns(&left, row, &right, scale, K / 2..K);
                    let (cut, lost) = long_sum([first, last, c]);
                    *result = match NARROW {
                        true => to_halves(lost, cut, unit),
                        false => _mm512_castps_si512(_mm512_mul_ps(cut, unit)),
                    };
                    continue;
                }
                let units = row_times_columns(&left, row, &right, scale, 0..K);
                let sum = _mm512_add_epi32(units, c);
                if K == 16 || D == 64 {
                    range.sum(units, c, sum);
                }
                let cut = _mm512_cvt_roundepi32_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(sum);
                *result = match NARROW {
                    true => {
                        let lost = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(cut), sum);
                        to_halves(lost, cut, unit)
                    }
                    false => {
                        let cut = match K {
                            // FP8
                            32 => _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(cut), kept)),
                            _ => cut,
                        };
                        _mm512_castps_si512(_mm512_mul_ps(cut, unit))
                    }
                };
            }
            store::<NARROW>(d, four, results);
        }
    }
    range.holds() && outside == 0
}

/// The sum of three vectors of integers, cut to 24 bits, and which of its elements lost something.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn long_sum(addends: [__m512i; 3]) -> (__m512, u16) {
    let half = |upper: bool| {
        let of = |x| match upper {
            true => _mm512_extracti64x4_epi64::<1>(x),
            false => _mm512_castsi512_si256(x),
        };
        let [a, b, c] = addends.map(|x| _mm512_cvtepi32_epi64(of(x)));
        let sum = _mm512_add_epi64(_mm512_add_epi64(a, b), c);
        let cut = _mm512_cvt_roundepi64_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(sum);
        (cut, _mm512_cmpneq_epi64_mask(_mm512_cvttps_epi64(cut), sum))
    };
    let ((low, lost), (high, also)) = (half(false), half(true));
    (_mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high), u16::from(lost) | u16::from(also) << 8)
}

/// The sums of the products of a row of A with all columns: multiplied by `scale`, cut and added.
#[inline]
#[target_feature(enable = "avx512f")]
fn row_times_columns<const K: usize, const D: usize>(
    left: &Left<K, D>,
    row: usize,
    right: &Right<D>,
    scale: __m512,
    steps: std::ops::Range<usize>,
) -> __m512i {
    let (values, places) = (&left.values[row], &left.places[row]);
    let mut units = _mm512_setzero_si512();
    for at in steps {
        let other = match K == D {
            true => &right.values[at],
            // SAFETY: all of them are less than `D`: they are 0 at first, and `take_rows` writes remainders
            // of `D` only. A check would be two more instructions.
            false => unsafe { right.values.get_unchecked(places[at]) },
        };
        let product = _mm512_mul_ps(_mm512_set1_ps(values[at]), *other);
        units = _mm512_add_epi32(units, _mm512_cvttps_epi32(_mm512_mul_ps(product, scale)));
    }
    units
}

/// Takes A; gives which of its elements are outside the fast range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn take_rows<const K: usize, const D: usize>(left: &mut Left<K, D>, panel: &Panel<'_>) -> u64 {
    let mut outside = 0;
    for row in 0..ROWS {
        for (chunk, from) in (0..K).step_by(WIDTH).enumerate() {
            let values = decode(panel.product.a, &panel.a[row], chunk);
            let field = _mm512_srli_epi32::<24>(_mm512_slli_epi32::<1>(_mm512_castps_si512(values)));
            // In all four bytes.
            let four = _mm512_set4_epi32(0x0c0c_0c0c, 0x0808_0808, 0x0404_0404, 0);
            let (distance, zero, odd) =
                relative(panel.product.a, panel.rule, _mm512_shuffle_epi8(field, four));
            let exponents = _mm512_add_epi8(distance, _mm512_set1_epi8(MORE as i8));
            let exponents = _mm512_maskz_mov_epi8(!zero, exponents);
            outside |= odd;
            let count = (K - from).min(WIDTH);
            let lanes = floats_of(values);
            left.values[row][from..][..count].copy_from_slice(&lanes[..count]);
            let exponents = vectors::words_of(exponents);
            match panel.places {
                Some(places) if K != D => {
                    for (at, word) in (from..from + count).zip(exponents) {
                        let place = usize::from(places[row][at]) % D;
                        left.places[row][at] = place;
                        // All four bytes are the same.
                        left.exponents[row][place] = left.exponents[row][place].max(word);
                    }
                }
                _ => left.exponents[row][from % D..][..count].copy_from_slice(&exponents[..count]),
            }
        }
    }
    outside
}

/// Takes the columns of a vector; gives which of their elements are outside the fast range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn take_columns<const D: usize, const NARROW: bool>(
    right: &mut Right<D>,
    panel: &Panel<'_>,
    tile: usize,
) -> u64 {
    let mut outside = 0;
    for (chunk, from) in (0..D).step_by(WIDTH).enumerate() {
        let mut lines = [_mm512_setzero_si512(); WIDTH];
        for (at, line) in lines.iter_mut().enumerate() {
            let column = tile * WIDTH + if NARROW { at } else { ORDER[at] };
            if let Some(column) = panel.b.get(column) {
                *line = _mm512_castps_si512(decode(panel.product.b, column, chunk));
            }
        }
        let steps = vectors::turned(lines);
        let count = (D - from).min(WIDTH);
        for (value, step) in right.values[from..].iter_mut().zip(steps) {
            *value = _mm512_castsi512_ps(step);
        }
        for quarter in 0..count / 4 {
            let field =
                |step: usize| _mm512_srli_epi32::<24>(_mm512_slli_epi32::<1>(steps[quarter * 4 + step]));
            let [first, second] =
                [_mm512_packus_epi32(field(0), field(1)), _mm512_packus_epi32(field(2), field(3))];
            let (distance, zero, odd) =
                relative(panel.product.b, panel.rule, _mm512_packus_epi16(first, second));
            let greatest = _mm512_set1_epi8((FACTORS[1] - FACTORS[0]) as i8);
            let exponents = _mm512_sub_epi8(greatest, distance);
            right.exponents[from / 4 + quarter] = _mm512_mask_mov_epi8(exponents, zero, _mm512_set1_epi8(-1));
            outside |= odd;
        }
    }
    outside
}

/// Sixteen elements of a line.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn decode(format: Format, line: &Line, chunk: usize) -> __m512 {
    let line = vectors::vector(&line.0);
    match format {
        Format::F16 | Format::Bf16 => {
            let codes = match chunk {
                0 => _mm512_castsi512_si256(line),
                _ => _mm512_extracti64x4_epi64::<1>(line),
            };
            match format {
                Format::F16 => _mm512_cvtph_ps(codes),
                _ => _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(codes))),
            }
        }
        Format::E4m3 | Format::E5m2 => {
            let codes = match chunk {
                0 => _mm512_castsi512_si128(line),
                1 => _mm512_extracti32x4_epi32::<1>(line),
                2 => _mm512_extracti32x4_epi32::<2>(line),
                _ => _mm512_extracti32x4_epi32::<3>(line),
            };
            // In the upper bytes: a sign and e5m2 are where f16 has them.
            let codes = _mm256_slli_epi16::<8>(_mm256_cvtepu8_epi16(codes));
            if format == Format::E5m2 {
                return _mm512_cvtph_ps(codes);
            }
            let magnitude = _mm256_and_si256(codes, _mm256_set1_epi16(0x7f00));
            let nan = _mm256_cmpeq_epi16_mask(magnitude, _mm256_set1_epi16(0x7f00));
            let sign = _mm256_andnot_si256(_mm256_set1_epi16(i16::MAX), codes);
            let codes = _mm256_or_si256(_mm256_srli_epi16::<1>(magnitude), sign);
            let codes = _mm256_mask_mov_epi16(codes, nan, _mm256_set1_epi16(0x7c00));
            // The bias is eight less than f16's.
            _mm512_mul_ps(_mm512_cvtph_ps(codes), _mm512_set1_ps(256.0))
        }
        _ => _mm512_castsi512_ps(_mm512_and_si512(line, _mm512_set1_epi32(!0x1fff))),
    }
}

/// By how much fields in f32 are more than the least one inside the fast range; which are of zeros; which are outside the fast range.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn relative(format: Format, rule: Rule, fields: __m512i) -> (__m512i, u64, u64) {
    // That of subnormal numbers.
    let least = match format {
        Format::F16 | Format::E5m2 => 113,
        Format::E4m3 if rule.order == Order::Halves => 113,
        Format::E4m3 => 121,
        _ => 0,
    };
    let zero = _mm512_testn_epi8_mask(fields, fields);
    let fields = _mm512_max_epu8(fields, _mm512_set1_epi8(least));
    let distance = _mm512_sub_epi8(fields, _mm512_set1_epi8(FACTORS[0] as i8));
    let beyond = _mm512_cmpgt_epu8_mask(distance, _mm512_set1_epi8((FACTORS[1] - FACTORS[0]) as i8));
    (distance, zero, beyond & !zero)
}

/// The largest exponents of products of a row and sixteen columns, as fields of f32: at least [`LEAST`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn largest<const D: usize>(row: &[u32; D], columns: &[__m512i; 16]) -> __m512i {
    let mut largest = _mm512_set1_epi8(LEAST as i8);
    for (four, columns) in row.as_chunks::<4>().0.iter().zip(columns) {
        // SAFETY: both are 16 bytes of which any value is one of the type.
        let four = unsafe { std::mem::transmute::<[u32; 4], __m128i>(*four) };
        largest = _mm512_max_epu8(largest, _mm512_subs_epu8(_mm512_broadcast_i32x4(four), *columns));
    }
    let largest = _mm512_max_epu8(largest, _mm512_shuffle_epi32::<0b01_00_11_10>(largest));
    let largest = _mm512_max_epu8(largest, _mm512_shuffle_epi32::<0b10_11_00_01>(largest));
    // Each column's into the highest byte of its word, and down by one bit.
    let spread = _mm512_set4_epi32(0x0380_8080, 0x0280_8080, 0x0180_8080, 0x0080_8080);
    _mm512_srli_epi32::<1>(_mm512_shuffle_epi8(largest, spread))
}

/// Loads four rows of C in sixteen columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn load<const NARROW: bool>(c: &[&Row], tile: usize, four: usize) -> [__m512i; 4] {
    if !NARROW {
        return vectors::load(c, tile, four);
    }
    let at = tile * 4 + four / 2;
    let [first, second] = [vectors::quarter(c, at, four), vectors::quarter(c, at + 2, four)];
    let rows = [_mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15)];
    let pairs = rows.map(|rows| _mm512_permutex2var_epi64(first, rows, second));
    let low = |pair| _mm512_castps_si512(_mm512_cvtph_ps(_mm512_castsi512_si256(pair)));
    let high = |pair| _mm512_castps_si512(_mm512_cvtph_ps(_mm512_extracti64x4_epi64::<1>(pair)));
    [low(pairs[0]), high(pairs[0]), low(pairs[1]), high(pairs[1])]
}

/// Stores four rows of D in sixteen columns.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn store<const NARROW: bool>(d: &mut [Sums], four: usize, rows: [__m512i; 4]) {
    if !NARROW {
        return vectors::store(d, four, rows);
    }
    let first = _mm512_inserti64x4::<1>(rows[0], _mm512_castsi512_si256(rows[1]));
    let second = _mm512_inserti64x4::<1>(rows[2], _mm512_castsi512_si256(rows[3]));
    let halves = [_mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13), _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15)];
    for (sums, half) in d.iter_mut().zip(halves) {
        let words = vectors::words_of(_mm512_permutex2var_epi64(first, half, second));
        sums.0[four / 2].as_chunks_mut::<WIDTH>().0[four % 2] = words;
    }
}

/// Sums of units, which were cut to 24 bits, rounded to nearest even, in the lower half.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn to_halves(lost: u16, cut: __m512, unit: __m512) -> __m512i {
    // The last bit tells that something was cut, so that the second rounding is right.
    let bits = _mm512_castps_si512(cut);
    let sticky = _mm512_mask_or_epi32(bits, lost, bits, _mm512_set1_epi32(1));
    let values = _mm512_mul_ps(_mm512_castsi512_ps(sticky), unit);
    let halves = _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(values);
    // Zero has no sign.
    let some = _mm256_test_epi16_mask(halves, _mm256_set1_epi16(i16::MAX));
    _mm512_castsi256_si512(_mm256_maskz_mov_epi16(some, halves))
}

/// A vector's numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn floats_of(vector: __m512) -> [f32; WIDTH] {
    // SAFETY: both are 64 bytes of which any value is one of the type.
    unsafe { std::mem::transmute::<__m512, [f32; WIDTH]>(vector) }
}
