//! Vector instructions on a whole row at each level: copies to and from memory that threads share, gathers, and masks
//! of lanes.
//!
//! Other threads may access the same memory meanwhile. A compiler may not merge atomic accesses into wide ones, and its
//! plain accesses must not race, so the copies are inline assembly.
//!
//! **Relied on**: a vector move, or an element of a gather, transfers each naturally aligned element of at most 8 bytes
//! in one piece. The manuals of Intel and AMD promise that for scalar accesses, and for aligned 16-byte moves on CPUs
//! with AVX; for the other moves here it is how all known implementations behave (an aligned element lies in one cache
//! line), and no more than that. With `--cfg softwarp_element_copies`, under Miri, and on other architectures, every
//! element is an atomic access of its own instead ([`WHOLE_MOVES`]); ThreadSanitizer is run on that path.
//!
//! `unsafe` is here because of these copies, and because a level's instructions are only for CPUs that have them.

use super::cell::{Size, Unit};
use softwarp_units::alu::ballot::{self, Holds};
use softwarp_units::lanes::{ALL, LANES, Word, has_lane};
#[cfg(target_arch = "x86_64")]
use std::arch::{asm, x86_64::*};
use std::hint::select_unpredictable;

/// Whether rows are moved by vector instructions, and not element by element.
#[allow(unexpected_cfgs, reason = "the second one is set by hand, for tools that watch accesses")]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "what asks is for x86-64"))]
pub(crate) const WHOLE_MOVES: bool =
    cfg!(all(target_arch = "x86_64", not(any(miri, softwarp_element_copies))));

/// A level, as a type: code that is compiled for each of them is generic over it.
pub(crate) trait Cpu {
    /// The lanes in which it holds.
    ///
    /// # Safety
    /// The CPU has the level.
    unsafe fn ballot(holds: &Holds) -> u32;

    /// The lanes whose word is the first one's with so much more added for each lane.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    unsafe fn apart<W: Address>(row: &[W; LANES], lead: W, step: u64) -> u32 {
        let mut holds = [0; LANES];
        for lane in 0..LANES {
            holds[lane] = -i32::from(row[lane] == lead.plus(lane as u64 * step));
        }
        // SAFETY: as the caller says.
        unsafe { Self::ballot(&holds) }
    }

    /// Whether each word of the first half of a row is the first lead with so much more added for each lane, and
    /// of the second half likewise the second lead.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    unsafe fn halves<W: Address>(row: &[W; LANES], leads: [W; 2], step: u64) -> bool {
        let mut differ = 0;
        for lane in 0..LANES {
            let expected = leads[lane / (LANES / 2)].plus((lane % (LANES / 2)) as u64 * step);
            differ |= row[lane].into() ^ expected.into();
        }
        differ == 0
    }

    /// Writes the places of all lanes: their words with an offset added, less a base; of lanes that do not take
    /// part, the first one's. Returns whether all are at most `last` and multiples of the size.
    ///
    /// # Safety
    /// The CPU has the level.
    #[inline(always)]
    unsafe fn place<W: Address>(row: &[W; LANES], from: LaneAddresses<W>, each: &mut [u64; LANES]) -> bool {
        let mut right = [0; LANES];
        for lane in 0..LANES {
            let word = select_unpredictable(has_lane(from.taking, lane), row[lane], from.lead);
            let place = word.plus(from.offset).into().wrapping_sub(from.base);
            each[lane] = place;
            right[lane] = -i32::from(place <= from.last && from.size.divides(place));
        }
        // SAFETY: as the caller says.
        unsafe { Self::ballot(&right) == ALL }
    }

    /// Copies a given number of elements, a multiple of 16, by vector moves. Each element is moved whole if both sides of it are
    /// aligned.
    ///
    /// # Safety
    /// The CPU has the level. Both sides have room for as many. While this runs, others only access what is in memory
    /// that threads share, and atomically.
    #[cfg(target_arch = "x86_64")]
    unsafe fn copy<T: Unit>(from: *const u8, to: *mut u8, count: usize);

    /// Reads elements, a multiple of 16, from memory that threads share.
    ///
    /// # Safety
    /// The CPU has the level. As many elements are there, aligned; while this runs, others only access them atomically.
    #[inline(always)]
    unsafe fn read<T: Unit>(from: *const u8, into: &mut [T]) {
        #[cfg(target_arch = "x86_64")]
        if WHOLE_MOVES {
            // SAFETY: as the caller says; the slice has room for its elements.
            return unsafe { Self::copy::<T>(from, into.as_mut_ptr().cast(), into.len()) };
        }
        for (at, value) in into.iter_mut().enumerate() {
            // SAFETY: as the caller says.
            *value = unsafe { T::load_from(from.add(at * T::BYTES)) };
        }
    }

    /// Writes elements, a multiple of 16, to memory that threads share.
    ///
    /// # Safety
    /// As of [`Cpu::read`].
    #[inline(always)]
    unsafe fn write<T: Unit>(row: &[T], to: *mut u8) {
        #[cfg(target_arch = "x86_64")]
        if WHOLE_MOVES {
            // SAFETY: as the caller says; the slice has its elements.
            return unsafe { Self::copy::<T>(row.as_ptr().cast(), to, row.len()) };
        }
        for (at, value) in row.iter().enumerate() {
            // SAFETY: as the caller says.
            unsafe { value.store_to(to.add(at * T::BYTES)) };
        }
    }

    /// Reads an element at each of 32 places, in bytes from a start, in memory that threads share.
    ///
    /// # Safety
    /// The CPU has the level. An element is at each place, aligned; while this runs, others only access these
    /// atomically.
    #[inline(always)]
    unsafe fn gather<T: Unit>(start: *const u8, at: &[u64; LANES], into: &mut [T; LANES]) {
        for (value, &at) in into.iter_mut().zip(at) {
            // SAFETY: as the caller says.
            *value = unsafe { T::load_from(start.add(at as usize)) };
        }
    }
}

/// A word that addresses are held in.
pub(crate) trait Address: Word + PartialEq + Into<u64> {
    /// The address with an offset added, as the word's width has it.
    fn plus(self, offset: u64) -> Self;
}

impl Address for u32 {
    #[inline(always)]
    fn plus(self, offset: u64) -> u32 {
        self.wrapping_add(offset as u32)
    }
}

impl Address for u64 {
    #[inline(always)]
    fn plus(self, offset: u64) -> u64 {
        self.wrapping_add(offset)
    }
}

/// The parameters that turn addresses into places.
#[derive(Clone, Copy)]
pub(crate) struct LaneAddresses<W> {
    pub(crate) taking: u32,
    /// The address of the first lane that takes part.
    pub(crate) lead: W,
    pub(crate) offset: u64,
    /// The address of the first byte.
    pub(crate) base: u64,
    /// The last place that is inside.
    pub(crate) last: u64,
    /// The alignment of places.
    pub(crate) size: Size,
}

/// The level that every CPU of the architecture has.
pub(crate) struct Baseline;

impl Cpu for Baseline {
    #[inline(always)]
    unsafe fn ballot(holds: &Holds) -> u32 {
        ballot::baseline(holds)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn copy<T: Unit>(from: *const u8, to: *mut u8, count: usize) {
        for at in (0..count * T::BYTES).step_by(16) {
            // SAFETY: these 16 bytes are inside both sides, as the caller says.
            unsafe {
                asm!(
                    "movups xmm0, [{from}]",
                    "movups [{to}], xmm0",
                    from = in(reg) from.add(at),
                    to = in(reg) to.add(at),
                    out("xmm0") _,
                    options(nostack, preserves_flags),
                );
            }
        }
    }
}

/// AVX2.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Cpu for Avx2 {
    #[inline(always)]
    unsafe fn ballot(holds: &Holds) -> u32 {
        // SAFETY: the CPU has the level, as the caller says.
        unsafe { ballot::avx2(holds) }
    }

    #[inline(always)]
    unsafe fn copy<T: Unit>(from: *const u8, to: *mut u8, count: usize) {
        if T::BYTES == 1 {
            // SAFETY: the same, and the CPU has the lower level, too.
            return unsafe { Baseline::copy::<T>(from, to, count) };
        }
        for at in (0..count * T::BYTES).step_by(32) {
            // SAFETY: these 32 bytes are inside both sides, as the caller says.
            unsafe {
                asm!(
                    "vmovups ymm0, [{from}]",
                    "vmovups [{to}], ymm0",
                    from = in(reg) from.add(at),
                    to = in(reg) to.add(at),
                    out("ymm0") _,
                    options(nostack, preserves_flags),
                );
            }
        }
    }
}

/// AVX-512.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Cpu for Avx512 {
    #[inline(always)]
    unsafe fn ballot(holds: &Holds) -> u32 {
        // SAFETY: the CPU has the level, as the caller says.
        unsafe { ballot::avx512(holds) }
    }

    #[inline(always)]
    unsafe fn apart<W: Address>(row: &[W; LANES], lead: W, step: u64) -> u32 {
        // SAFETY: the CPU has the level, as the caller says.
        unsafe { apart_avx512(row, lead, step) }
    }

    #[inline(always)]
    unsafe fn halves<W: Address>(row: &[W; LANES], leads: [W; 2], step: u64) -> bool {
        // SAFETY: the CPU has the level, as the caller says.
        unsafe { halves_avx512(row, leads, step) }
    }

    #[inline(always)]
    unsafe fn place<W: Address>(row: &[W; LANES], from: LaneAddresses<W>, each: &mut [u64; LANES]) -> bool {
        // SAFETY: the CPU has the level, as the caller says.
        unsafe { place_avx512(row, from, each) }
    }

    #[inline(always)]
    unsafe fn copy<T: Unit>(from: *const u8, to: *mut u8, count: usize) {
        if T::BYTES < 4 {
            // SAFETY: the same, and the CPU has the lower level, too.
            return unsafe { Avx2::copy::<T>(from, to, count) };
        }
        for at in (0..count * T::BYTES).step_by(64) {
            // SAFETY: these 64 bytes are inside both sides, as the caller says.
            unsafe {
                asm!(
                    "vmovups zmm0, [{from}]",
                    "vmovups [{to}], zmm0",
                    from = in(reg) from.add(at),
                    to = in(reg) to.add(at),
                    out("zmm0") _,
                    options(nostack, preserves_flags),
                );
            }
        }
    }

    #[inline(always)]
    unsafe fn gather<T: Unit>(start: *const u8, at: &[u64; LANES], into: &mut [T; LANES]) {
        if !WHOLE_MOVES || !matches!(T::BYTES, 4 | 8) {
            // SAFETY: the same, and the CPU has the lower level, too.
            return unsafe { Baseline::gather::<T>(start, at, into) };
        }
        let (at, into) = (at.as_ptr(), into.as_mut_ptr().cast::<u8>());
        match T::BYTES {
            4 => {
                for half in 0..2 {
                    // SAFETY: the places are as the caller says; sixteen of them are read, and as many written.
                    unsafe {
                        asm!(
                            "kxnorw k1, k1, k1",
                            "kxnorw k2, k2, k2",
                            "vmovdqu64 zmm0, [{at}]",
                            "vmovdqu64 zmm1, [{at} + 64]",
                            "vpxor xmm2, xmm2, xmm2",
                            "vpxor xmm3, xmm3, xmm3",
                            "vpgatherqd ymm2{{k1}}, [{start} + zmm0]",
                            "vpgatherqd ymm3{{k2}}, [{start} + zmm1]",
                            "vinserti64x4 zmm2, zmm2, ymm3, 1",
                            "vmovdqu64 [{into}], zmm2",
                            start = in(reg) start,
                            at = in(reg) at.add(16 * half),
                            into = in(reg) into.add(64 * half),
                            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _,
                            out("k1") _, out("k2") _,
                            options(nostack, preserves_flags),
                        );
                    }
                }
            }
            _ => {
                for quarter in 0..4 {
                    // SAFETY: the places are as the caller says; eight of them are read, and as many written.
                    unsafe {
                        asm!(
                            "kxnorw k1, k1, k1",
                            "vmovdqu64 zmm0, [{at}]",
                            "vpxor xmm1, xmm1, xmm1",
                            "vpgatherqq zmm1{{k1}}, [{start} + zmm0]",
                            "vmovdqu64 [{into}], zmm1",
                            start = in(reg) start,
                            at = in(reg) at.add(8 * quarter),
                            into = in(reg) into.add(64 * quarter),
                            out("zmm0") _, out("zmm1") _,
                            out("k1") _,
                            options(nostack, preserves_flags),
                        );
                    }
                }
            }
        }
    }
}

/// Eight words of a row, as words of 64 bits.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn eight<W: Address>(row: &[W; LANES], n: usize) -> __m512i {
    let words = row[8 * n..8 * n + 8].as_ptr();
    // SAFETY: a given number of words are there, and they may be at any address.
    unsafe {
        match size_of::<W>() {
            8 => _mm512_loadu_si512(words.cast()),
            _ => _mm512_cvtepu32_epi64(_mm256_loadu_si256(words.cast())),
        }
    }
}

/// Sums, as wide as the words that addresses are held in.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn sum<W: Address>(a: __m512i, b: __m512i) -> __m512i {
    let sum = _mm512_add_epi64(a, b);
    match size_of::<W>() {
        8 => sum,
        _ => _mm512_and_si512(sum, _mm512_set1_epi64(0xffff_ffff)),
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn apart_avx512<W: Address>(row: &[W; LANES], lead: W, step: u64) -> u32 {
    let lead = _mm512_set1_epi64(lead.into() as i64);
    let steps = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(step as i64));
    let mut same = 0;
    for n in 0..4 {
        let further = _mm512_add_epi64(steps, _mm512_set1_epi64((8 * n as u64 * step) as i64));
        same |= u32::from(_mm512_cmpeq_epi64_mask(eight(row, n), sum::<W>(lead, further))) << (8 * n);
    }
    same
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn place_avx512<W: Address>(row: &[W; LANES], from: LaneAddresses<W>, each: &mut [u64; LANES]) -> bool {
    let all = |word: u64| _mm512_set1_epi64(word as i64);
    let (lead, offset, base) = (all(from.lead.into()), all(from.offset), all(from.base));
    let further = all(from.offset.wrapping_sub(from.base));
    let (last, low) = (all(from.last), all(from.size.bytes() - 1));
    let mut wrong = 0;
    for (n, eight_places) in each.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let words = _mm512_mask_mov_epi64(lead, (from.taking >> (8 * n)) as u8, eight(row, n));
        let places = match size_of::<W>() {
            8 => _mm512_add_epi64(words, further),
            _ => _mm512_sub_epi64(sum::<W>(words, offset), base),
        };
        wrong |= _mm512_cmpgt_epu64_mask(places, last) | _mm512_test_epi64_mask(places, low);
        // SAFETY: there is room for as many, at any address.
        unsafe { _mm512_storeu_si512(eight_places.as_mut_ptr().cast(), places) };
    }
    wrong == 0
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn halves_avx512<W: Address>(row: &[W; LANES], leads: [W; 2], step: u64) -> bool {
    // Set where one of both differs, or a bit was set before.
    const OR_DIFFERENT: i32 = 0b1111_0110;
    let [first, second] = leads.map(|lead| _mm512_set1_epi64(lead.into() as i64));
    let mut differ = _mm512_setzero_si512();
    for (n, lead) in [first, first, second, second].into_iter().enumerate() {
        let further = |lane: u64| ((8 * (n as u64 % 2) + lane) * step) as i64;
        let steps = _mm512_setr_epi64(
            further(0),
            further(1),
            further(2),
            further(3),
            further(4),
            further(5),
            further(6),
            further(7),
        );
        differ = _mm512_ternarylogic_epi64::<OR_DIFFERENT>(differ, eight(row, n), sum::<W>(lead, steps));
    }
    _mm512_test_epi64_mask(differ, differ) == 0
}
