//! Whether the addends of a matrix product in AVX-512 are inside the fast range, and its sums within 32 bits.

use std::arch::x86_64::*;

/// The exponent field in f32 of the least addend inside the fast range, 2^−100.
pub const LEAST: i32 = 27;
/// The exponent field of the first addend beyond the fast range: 2^101.
const BEYOND: i32 = 228;

/// The extremes of all addends so far, and whether a sum has overflowed.
pub struct FastRange {
    most: __m512i,
    /// The least magnitude less one: zero is inside the fast range, and becomes the largest.
    least: __m512i,
    /// The sign of a lane is set if one of its sums has overflowed.
    overflow: __m512i,
}

impl FastRange {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn new() -> FastRange {
        let zero = _mm512_setzero_si512();
        FastRange { most: zero, least: _mm512_set1_epi32(-1), overflow: zero }
    }

    /// Takes in addends, without their signs.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn addends(&mut self, magnitude: __m512i) {
        self.most = _mm512_max_epu32(self.most, magnitude);
        self.least = _mm512_min_epu32(self.least, _mm512_sub_epi32(magnitude, _mm512_set1_epi32(1)));
    }

    /// Takes in `sum`, the sum of `a` and `b`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn sum(&mut self, a: __m512i, b: __m512i, sum: __m512i) {
        // Both addends have another sign than the sum.
        let wrapped = _mm512_ternarylogic_epi32::<0b0100_0010>(a, b, sum);
        self.overflow = _mm512_or_si512(self.overflow, wrapped);
    }

    /// Whether no addend was outside the fast range and no sum has overflowed.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    pub fn holds(&self) -> bool {
        _mm512_cmpge_epu32_mask(self.most, _mm512_set1_epi32(BEYOND << 23))
            | _mm512_cmplt_epu32_mask(self.least, _mm512_set1_epi32((LEAST << 23) - 1))
            | _mm512_movepi32_mask(self.overflow)
            == 0
    }
}
