//! What [`super::panel`] does, in AVX-512: pairs of 16-bit numbers are multiplied and added in one instruction.
//!
//! A vector is a row of sixteen columns of D. A word of it meets a word that all columns share: two neighbours of a
//! row of A. In a sparse A the elements that are not there are zeros.

#![allow(clippy::needless_range_loop, reason = "several arrays side by side")]

use super::{Factors, Int, IntegerProduct};
use crate::matrix::float::fragment::{Row, Sums};
use crate::matrix::lines::{Line, Places, ROWS};
use crate::matrix::vectors::{self, ORDER, WIDTH};
use softwarp_num::Avx512;
use std::arch::x86_64::*;

/// What [`super::panel`] does.
pub fn multiply(
    _: Avx512,
    product: &IntegerProduct,
    a: &[Line; ROWS],
    b: &[Line],
    places: Option<&Places>,
    c: &[&Row],
    d: &mut [Sums],
) -> bool {
    let Factors::Integers(of_a, of_b) = product.factors else { return false };
    let whole = if places.is_some() { 2 * product.k } else { product.k };
    let work = Work { of_a, of_b, saturate: product.saturate, stored: product.k, a, b, places, c };
    // SAFETY: the token says that the CPU has the features.
    unsafe {
        match whole {
            0..=32 => work.run::<16>(d),
            33..=64 => work.run::<32>(d),
            65..=128 => work.run::<64>(d),
            _ => return false,
        }
    }
    true
}

struct Work<'a> {
    of_a: Int,
    of_b: Int,
    saturate: bool,
    stored: usize,
    a: &'a [Line; ROWS],
    b: &'a [Line],
    places: Option<&'a Places>,
    c: &'a [&'a Row],
}

impl Work<'_> {
    /// Sums of `P` pairs of products.
    #[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    fn run<const P: usize>(&self, d: &mut [Sums]) {
        let rows = self.rows::<P>();
        let mut columns = [_mm512_setzero_si512(); P];
        for (tile, d) in d.chunks_mut(2).enumerate() {
            for (chunk, columns) in columns.chunks_mut(WIDTH).enumerate() {
                let mut lines = [_mm512_setzero_si512(); WIDTH];
                for (line, column) in lines.iter_mut().zip(ORDER) {
                    if let Some(column) = self.b.get(tile * WIDTH + column) {
                        *line = decode(self.of_b, column, chunk);
                    }
                }
                columns.copy_from_slice(&vectors::turned(lines));
            }
            for four in 0..ROWS / 4 {
                let mut sums = vectors::load(self.c, tile, four);
                for below in 0..4 {
                    let mut sum = _mm512_setzero_si512();
                    for (pair, column) in rows[four * 4 + below].iter().zip(&columns) {
                        sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_set1_epi32(*pair), *column));
                    }
                    sums[below] = self.added(sums[below], sum);
                }
                vectors::store(d, four, sums);
            }
        }
    }

    /// A in pairs.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn rows<const P: usize>(&self) -> [[i32; P]; ROWS] {
        let mut rows = [[0; P]; ROWS];
        for ((row, pairs), line) in rows.iter_mut().enumerate().zip(self.a) {
            for chunk in 0..P / WIDTH {
                let words = vectors::words_of(decode(self.of_a, line, chunk));
                let Some(places) = self.places else {
                    pairs[chunk * WIDTH..][..WIDTH].copy_from_slice(&words.map(|word| word as i32));
                    continue;
                };
                let halves = words.iter().flat_map(|&word| [word & 0xffff, word >> 16]);
                let first = chunk * 2 * WIDTH;
                for (at, number) in (first..self.stored).zip(halves) {
                    let place = usize::from(places[row][at]) % (2 * P);
                    let (pair, shift) = (&mut pairs[place / 2], 16 * (place % 2) as u32);
                    // What meets the same element of B is added; halves do not reach each other.
                    let sum = ((*pair as u32 >> shift) + number) & 0xffff;
                    *pair = (*pair as u32 & !(0xffff << shift) | sum << shift) as i32;
                }
            }
        }
        rows
    }

    /// The sum with C.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn added(&self, c: __m512i, products: __m512i) -> __m512i {
        let sum = _mm512_add_epi32(c, products);
        if !self.saturate {
            return sum;
        }
        // Both addends have another sign than the sum.
        let wrapped = _mm512_movepi32_mask(_mm512_ternarylogic_epi32::<0b0100_0010>(c, products, sum));
        let limit = _mm512_xor_si512(_mm512_srai_epi32::<31>(c), _mm512_set1_epi32(i32::MAX));
        _mm512_mask_mov_epi32(sum, wrapped, limit)
    }
}

/// 32 elements of a line, in 16 bits each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn decode(int: Int, line: &Line, chunk: usize) -> __m512i {
    let line = vectors::vector(&line.0);
    if int.bits == 8 {
        let bytes = match chunk {
            0 => _mm512_castsi512_si256(line),
            _ => _mm512_extracti64x4_epi64::<1>(line),
        };
        return if int.signed { _mm512_cvtepi8_epi16(bytes) } else { _mm512_cvtepu8_epi16(bytes) };
    }
    let bytes = match chunk {
        0 => _mm512_castsi512_si128(line),
        1 => _mm512_extracti32x4_epi32::<1>(line),
        2 => _mm512_extracti32x4_epi32::<2>(line),
        _ => _mm512_extracti32x4_epi32::<3>(line),
    };
    // The two halves of a byte at the top of 16 bits each.
    let bytes = _mm512_cvtepu8_epi32(bytes);
    let low = _mm512_slli_epi32::<12>(_mm512_and_si512(bytes, _mm512_set1_epi32(15)));
    let high = _mm512_slli_epi32::<24>(_mm512_andnot_si512(_mm512_set1_epi32(15), bytes));
    let both = _mm512_or_si512(low, high);
    if int.signed { _mm512_srai_epi16::<12>(both) } else { _mm512_srli_epi16::<12>(both) }
}
