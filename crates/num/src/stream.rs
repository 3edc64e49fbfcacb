//! Asking for memory ahead of its use, and writing past the caches: what makes a conversion of a large array
//! run at memory speed.
//!
//! Hardware prefetchers stop at page borders, and a store to a line that is not cached waits for it to be
//! read first. Asking for both sides ahead, in several streams at once, hides most of that. Where more is
//! written than read, and too much to stay cached, storing whole lines past the caches avoids that reading
//! altogether.
//!
//! `unsafe` is here because these instructions are reached through intrinsics on raw pointers. Prefetches have no
//! architectural effect and read nothing, whatever the address. Stores past the caches need a feature of the CPU, of
//! which the token [`Avx512`](crate::Avx512) is the proof, and write only through borrowed lines. They are weakly ordered; [`Fenced`] puts
//! a fence behind them before other code can read the lines, also when the work between panics.

use crate::levels::{Avx2, Baseline};
#[cfg(target_arch = "x86_64")]
use crate::{level_features, levels::Avx512};

/// Bytes that memory is asked for ahead of its use, in each stream; by measurement.
const AHEAD: usize = 1024;

/// Asks for the `len` bytes that lie [`AHEAD`] of `start` in `bytes`, to be read. Past the end it asks
/// for what lies there, in vain but at no harm.
#[inline(always)]
pub(crate) fn soon_read(bytes: &[u8], start: usize, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (start + AHEAD..start + AHEAD + len).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch has no architectural effect.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, start, len, AHEAD);
}

/// As [`soon_read`], to be written.
#[inline(always)]
pub(crate) fn soon_written(bytes: &[u8], start: usize, len: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (start + AHEAD..start + AHEAD + len).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: as above. (CPUs without the write hint treat the instruction as a no-op or a read hint.)
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(bytes.as_ptr().wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, start, len, AHEAD);
}

/// Results of at least this many bytes may be written past the caches: they would not stay there.
pub(crate) const LARGE: usize = 4 << 20;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// A cache line.
#[repr(C, align(64))]
pub(crate) struct Line([u8; LINE]);

/// The bytes before the first whole line, and the whole lines.
#[inline(always)]
pub(crate) fn lines(bytes: &mut [u8]) -> (&mut [u8], &mut [Line]) {
    // SAFETY: any bytes are a `Line`.
    let (before, lines, _) = unsafe { bytes.align_to_mut() };
    (before, lines)
}

/// How a loop writes whole lines, by the token of its level: as here, but at AVX-512.
pub(crate) trait Stores: Copy {
    /// Whether they go past the caches.
    const PAST_CACHES: bool = false;

    /// Copies as many bytes as there are lines for.
    #[inline(always)]
    fn store(self, from: &[u8], to: &mut [Line]) {
        for (from, to) in from.as_chunks().0.iter().zip(to) {
            to.0 = *from;
        }
    }

    /// Writes, for each 4-bit code, low half of a byte first, its entry in a table.
    #[inline(always)]
    fn look_up(self, table: &[u32; 16], codes: &[u8], to: &mut [Line]) {
        for (codes, to) in codes.chunks_exact(LINE / 8).zip(to) {
            for (&code, to) in codes.iter().zip(to.0.as_chunks_mut::<8>().0) {
                let [low, high] = [code & 15, code >> 4].map(|code| u64::from(table[usize::from(code)]));
                *to = (low | high << 32).to_le_bytes();
            }
        }
    }

    /// Makes what was stored visible to other threads before anything that is written later.
    #[inline(always)]
    fn finish(self) {}
}

impl Stores for Baseline {}

impl Stores for Avx2 {}

/// Stores that are [finished](Stores::finish) when this goes.
pub(crate) struct Fenced<S: Stores>(S);

impl<S: Stores> Fenced<S> {
    #[inline(always)]
    pub(crate) fn new(stores: S) -> Fenced<S> {
        Fenced(stores)
    }

    /// As [`Stores::store`].
    #[inline(always)]
    pub(crate) fn store(&self, from: &[u8], to: &mut [Line]) {
        self.0.store(from, to);
    }

    /// As [`Stores::look_up`].
    #[inline(always)]
    pub(crate) fn look_up(&self, table: &[u32; 16], codes: &[u8], to: &mut [Line]) {
        self.0.look_up(table, codes, to);
    }
}

impl<S: Stores> Drop for Fenced<S> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Stores that leave the caches alone.
#[cfg(target_arch = "x86_64")]
impl Stores for Avx512 {
    const PAST_CACHES: bool = true;

    #[inline(always)]
    fn store(self, from: &[u8], to: &mut [Line]) {
        use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
        for (from, to) in from.chunks_exact(LINE).zip(to) {
            // SAFETY: the token says that the CPU has AVX-512; both are 64 bytes, and a `Line` is aligned.
            unsafe { _mm512_stream_si512((&raw mut to.0).cast(), _mm512_loadu_si512(from.as_ptr().cast())) };
        }
    }

    #[inline(always)]
    fn look_up(self, table: &[u32; 16], codes: &[u8], to: &mut [Line]) {
        // SAFETY: the token says that the CPU has AVX-512.
        unsafe { look_up_lines(table, codes, to) };
    }

    #[inline(always)]
    fn finish(self) {
        // SAFETY: SSE is part of x86-64.
        unsafe { std::arch::x86_64::_mm_sfence() };
    }
}

#[cfg(target_arch = "x86_64")]
level_features! { Avx512 compile
    fn look_up_lines(table: &[u32; 16], codes: &[u8], to: &mut [Line]) {
        use std::arch::x86_64::*;
        // SAFETY: the table has 64 bytes.
        let table = unsafe { _mm512_loadu_si512(table.as_ptr().cast()) };
        let half = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
        let shift = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
        for (n, (codes, to)) in codes.as_chunks::<{ LINE / 8 }>().0.iter().zip(to).enumerate() {
            if n % 8 == 0 {
                soon_read(codes, 0, LINE);
            }
            let codes = _mm512_castsi128_si512(_mm_cvtsi64_si128(i64::from_le_bytes(*codes)));
            // Each lane gets the four bytes that its code is in, and shifts it down; the table's index is the
            // lowest four bits of a lane.
            let codes = _mm512_srlv_epi32(_mm512_permutexvar_epi32(half, codes), shift);
            // SAFETY: a `Line` is 64 bytes, aligned.
            unsafe { _mm512_stream_si512((&raw mut to.0).cast(), _mm512_permutexvar_epi32(codes, table)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    fn bytes(lines: &[Line]) -> Vec<u8> {
        lines.iter().flat_map(|line| line.0).collect()
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn past_the_caches_goes_the_same_as_through_them() {
        if Level::best() < Level::Avx512 {
            return;
        }
        // SAFETY: the CPU has the levels, as just asked.
        let (stores, through_caches) = unsafe { (Avx512::new(), Avx2::new()) };
        let from: Vec<u8> = (0..1024u32).map(|n| (n * 7 + n / 256) as u8).collect();
        let table = std::array::from_fn(|n| 0x0102_0304 * n as u32);
        for count in [0, 1, 2, 10] {
            let [mut ours, mut theirs] = [(); 2].map(|()| [const { Line([0xcd; LINE]) }; 16]);
            stores.store(&from, &mut ours[..count]);
            through_caches.store(&from, &mut theirs[..count]);
            stores.finish();
            assert_eq!(bytes(&ours), bytes(&theirs));
            stores.look_up(&table, &from, &mut ours[..count]);
            through_caches.look_up(&table, &from, &mut theirs[..count]);
            stores.finish();
            assert_eq!(bytes(&ours), bytes(&theirs));
        }
    }
}
