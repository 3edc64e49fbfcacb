//! Vectors of AVX-512 between registers of a warp and rows of matrices: what products of all kinds need there.
//!
//! Functions here are compiled for features that the caller must have. `unsafe` is only in the conversions between
//! vectors and arrays of the same size.
//!
//! A tile is 16 rows by 16 columns of C or D. A vector is one of its rows, with columns in the order in which
//! registers have them ([`ORDER`]), so that between these and those only 128 bits change places.

use super::float::fragment::{Row, Sums};
use std::arch::x86_64::*;

/// Columns of a vector.
pub const WIDTH: usize = 16;

/// The columns of a vector: even ones of eight, odd ones, and those of the next eight.
pub const ORDER: [usize; WIDTH] = [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15];

/// Four rows of a tile, `four` after the first four, from registers of 32-bit elements: four for every eight columns.
/// Where there are none, zeros.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn load(registers: &[&Row], tile: usize, four: usize) -> [__m512i; 4] {
    let at = tile * 8 + four / 2 * 2;
    let quarter = |at: usize| quarter(registers, at, four);
    exchanged([quarter(at), quarter(at + 1), quarter(at + 4), quarter(at + 5)])
}

/// Puts four rows of a tile into registers, those of every eight columns beside each other.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn store(registers: &mut [Sums], four: usize, rows: [__m512i; 4]) {
    let [first, second, third, fourth] = exchanged(rows);
    let at = four / 2 * 2;
    for (sums, pair) in registers.iter_mut().zip([[first, second], [third, fourth]]) {
        for (row, words) in sums.0[at..at + 2].iter_mut().zip(pair) {
            row.as_chunks_mut::<WIDTH>().0[four % 2] = words_of(words);
        }
    }
}

/// Four vectors of four 128 bits, turned over.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn exchanged(rows: [__m512i; 4]) -> [__m512i; 4] {
    let [a, b, c, d] = rows;
    let low = [_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0x44>(c, d)];
    let high = [_mm512_shuffle_i32x4::<0xee>(a, b), _mm512_shuffle_i32x4::<0xee>(c, d)];
    [
        _mm512_shuffle_i32x4::<0x88>(low[0], low[1]),
        _mm512_shuffle_i32x4::<0xdd>(low[0], low[1]),
        _mm512_shuffle_i32x4::<0x88>(high[0], high[1]),
        _mm512_shuffle_i32x4::<0xdd>(high[0], high[1]),
    ]
}

/// Sixteen vectors, turned over: what is in a lane of all becomes a vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn turned(lines: [__m512i; WIDTH]) -> [__m512i; WIDTH] {
    let mut within = [_mm512_setzero_si512(); WIDTH];
    // Four by four words in each 128 bits.
    for four in 0..4 {
        let line = |at: usize| lines[four * 4 + at];
        let low = |at: usize| _mm512_unpacklo_epi32(line(at), line(at + 1));
        let high = |at: usize| _mm512_unpackhi_epi32(line(at), line(at + 1));
        let [low, high] = [[low(0), low(2)], [high(0), high(2)]];
        within[four * 4] = _mm512_unpacklo_epi64(low[0], low[1]);
        within[four * 4 + 1] = _mm512_unpackhi_epi64(low[0], low[1]);
        within[four * 4 + 2] = _mm512_unpacklo_epi64(high[0], high[1]);
        within[four * 4 + 3] = _mm512_unpackhi_epi64(high[0], high[1]);
    }
    let mut steps = [_mm512_setzero_si512(); WIDTH];
    for at in 0..4 {
        let four = exchanged([within[at], within[4 + at], within[8 + at], within[12 + at]]);
        for lane in 0..4 {
            steps[lane * 4 + at] = four[lane];
        }
    }
    steps
}

/// Four rows of a register: its first or its second half. Zeros, if there is none.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn quarter(registers: &[&Row], at: usize, four: usize) -> __m512i {
    match registers.get(at) {
        Some(row) => vector(&row.as_chunks::<WIDTH>().0[four % 2]),
        None => _mm512_setzero_si512(),
    }
}

/// A vector of words.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn vector(words: &[u32; WIDTH]) -> __m512i {
    // SAFETY: both are 64 bytes of which any value is one of the type.
    unsafe { std::mem::transmute::<[u32; WIDTH], __m512i>(*words) }
}

/// A vector's words.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn words_of(vector: __m512i) -> [u32; WIDTH] {
    // SAFETY: both are 64 bytes of which any value is one of the type.
    unsafe { std::mem::transmute::<__m512i, [u32; WIDTH]>(vector) }
}
