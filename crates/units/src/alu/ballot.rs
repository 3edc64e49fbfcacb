//! From what holds in each lane to a mask of lanes, at each level.
//!
//! Left to itself the compiler makes hundreds of instructions of this. These functions name the instruction that
//! does it; building its vector from single words costs nothing once they are inlined.

use crate::lanes::LANES;

/// What holds in each lane: all ones or zero.
pub type Holds = [i32; LANES];

/// The lanes in which it holds, with what every CPU has.
#[inline(always)]
pub fn baseline(holds: &Holds) -> u32 {
    (0..LANES).fold(0, |lanes, lane| lanes | holds[lane] as u32 & 1 << lane)
}

/// [`baseline`] with AVX2.
///
/// # Safety
/// The CPU has AVX2.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
pub fn avx2(holds: &Holds) -> u32 {
    use std::arch::x86_64::{_mm256_castsi256_ps, _mm256_movemask_ps, _mm256_setr_epi32};
    let mut lanes = 0;
    for (eighth, h) in holds.as_chunks::<8>().0.iter().enumerate() {
        let words = _mm256_setr_epi32(h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]);
        lanes |= (_mm256_movemask_ps(_mm256_castsi256_ps(words)) as u32) << (8 * eighth);
    }
    lanes
}

/// [`baseline`] with AVX-512.
///
/// # Safety
/// The CPU has AVX-512 F and DQ.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub fn avx512(holds: &Holds) -> u32 {
    use std::arch::x86_64::{_mm512_movepi32_mask, _mm512_setr_epi32};
    let mut lanes = 0;
    for (half, h) in holds.as_chunks::<16>().0.iter().enumerate() {
        let words = _mm512_setr_epi32(
            h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8], h[9], h[10], h[11], h[12], h[13], h[14],
            h[15],
        );
        lanes |= u32::from(_mm512_movepi32_mask(words)) << (16 * half);
    }
    lanes
}
