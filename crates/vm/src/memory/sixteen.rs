//! Accesses of 16 aligned bytes in one piece (single-copy atomic).
//!
//! A GPU performs an aligned access of up to 16 bytes by one thread in one piece, as a vector or a scalar, whatever its
//! qualifier: another thread never sees half of a 16-byte store. Programs depend on that, such as CUB's look-back.
//!
//! - On x86-64 with AVX, aligned 16-byte vector moves are one access: Intel's manual (volume 3, "Guaranteed Atomic
//!   Operations") and AMD's (volume 2, "Access Atomicity") say so. Without AVX, loads and stores are made of
//!   `cmpxchg16b`.
//! - On AArch64 with FEAT_LSE2, `ldp` and `stp` of 16 aligned bytes are one access. Without it, they are made of an
//!   exclusive pair.
//! - Elsewhere, under Miri, and with `--cfg softwarp_element_copies`, an access is one of two words while a lock is held.
//!   All accesses of 16 bytes take it. Accesses of fewer bytes do not: they are whole by themselves.
//!
//! `unsafe` is here because memory is accessed by pointers, in inline assembly.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How the host accesses 16 bytes in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By moves.
    Move,
    /// By comparing and exchanging.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Exchange,
    /// Not at all: by two words, under a lock.
    Lock,
}

/// Whether instructions of the host are used, and not a lock.
#[allow(unexpected_cfgs, reason = "the last one is set by hand, for tools that watch accesses")]
const INSTRUCTIONS: bool =
    cfg!(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(miri, softwarp_element_copies))));

impl Way {
    /// What this host has.
    #[inline(always)]
    fn of_this_host() -> Way {
        if !INSTRUCTIONS {
            return Way::Lock;
        }
        host::way()
    }
}

/// Reads 16 bytes.
///
/// # Safety
/// They are at a multiple of 16, readable and writable. While this runs, others only access them atomically.
#[inline(always)]
pub(super) unsafe fn load(place: *const u8) -> u128 {
    // SAFETY: as the caller says.
    unsafe { load_by(Way::of_this_host(), place) }
}

/// Writes 16 bytes.
///
/// # Safety
/// As of [`load`].
#[inline(always)]
pub(super) unsafe fn store(place: *mut u8, value: u128) {
    // SAFETY: as the caller says.
    unsafe { store_by(Way::of_this_host(), place, value) }
}

/// Replaces 16 bytes if they are the expected ones. Returns what was there before.
///
/// # Safety
/// As of [`load`].
#[inline]
pub(super) unsafe fn compare_exchange(place: *mut u8, expected: u128, new: u128) -> u128 {
    // SAFETY: as the caller says.
    unsafe { exchange_by(Way::of_this_host(), place, expected, new) }
}

/// Copies from memory that threads share, 16 bytes at a time.
///
/// # Safety
/// As many bytes as the slice has can be read as by [`load`].
pub(super) unsafe fn read(from: *const u8, into: &mut [[u8; 16]]) {
    let way = Way::of_this_host();
    let mut rest = into;
    let mut from = from;
    if way == Way::Move {
        let (blocks, others) = rest.as_chunks_mut::<4>();
        for block in blocks {
            // SAFETY: the bytes are inside both sides; the host has the instructions.
            unsafe { host::read_four(from, block) };
            from = from.wrapping_add(64);
        }
        rest = others;
    }
    for bytes in rest {
        // SAFETY: as the caller says.
        *bytes = unsafe { load_by(way, from) }.to_le_bytes();
        from = from.wrapping_add(16);
    }
}

/// Copies to memory that threads share, 16 bytes at a time.
///
/// # Safety
/// As many bytes as the slice has can be written as by [`store`].
pub(super) unsafe fn write(bytes: &[[u8; 16]], to: *mut u8) {
    let way = Way::of_this_host();
    let mut rest = bytes;
    let mut to = to;
    if way == Way::Move {
        let (blocks, others) = rest.as_chunks::<4>();
        for block in blocks {
            // SAFETY: the bytes are inside both sides; the host has the instructions.
            unsafe { host::write_four(block, to) };
            to = to.wrapping_add(64);
        }
        rest = others;
    }
    for &bytes in rest {
        // SAFETY: as the caller says.
        unsafe { store_by(way, to, u128::from_le_bytes(bytes)) };
        to = to.wrapping_add(16);
    }
}

/// # Safety
/// As of [`load`]; the host has the way.
#[inline(always)]
unsafe fn load_by(way: Way, place: *const u8) -> u128 {
    match way {
        // SAFETY: as the caller says.
        Way::Move => unsafe { host::load(place) },
        // Zeros are replaced by zeros, and nothing else is replaced.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        // SAFETY: as the caller says.
        Way::Exchange => unsafe { host::exchange(place.cast_mut(), 0, 0) },
        // SAFETY: as the caller says.
        Way::Lock => unsafe { locked(place, |before| before) },
    }
}

/// # Safety
/// As of [`store`]; the host has the way.
#[inline(always)]
unsafe fn store_by(way: Way, place: *mut u8, value: u128) {
    match way {
        // SAFETY: as the caller says.
        Way::Move => unsafe { host::store(place, value) },
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        Way::Exchange => {
            let mut before = 0;
            loop {
                // SAFETY: as the caller says.
                let now = unsafe { host::exchange(place, before, value) };
                if now == before {
                    return;
                }
                before = now;
            }
        }
        Way::Lock => {
            // SAFETY: as the caller says.
            unsafe { locked(place, |_| value) };
        }
    }
}

/// # Safety
/// As of [`compare_exchange`]; the host has the way.
#[inline(always)]
unsafe fn exchange_by(way: Way, place: *mut u8, expected: u128, new: u128) -> u128 {
    match way {
        // SAFETY: as the caller says.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        Way::Move | Way::Exchange => unsafe { host::exchange(place, expected, new) },
        // SAFETY: as the caller says.
        _ => unsafe { locked(place, |before| if before == expected { new } else { before }) },
    }
}

/// Replaces two words by what a function makes of them, while all other accesses of 16 bytes wait. Returns what was there
/// before.
///
/// # Safety
/// As of [`load`].
#[inline(never)]
unsafe fn locked(place: *const u8, f: impl FnOnce(u128) -> u128) -> u128 {
    static LOCK: Mutex<()> = Mutex::new(());
    let _guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: both words are there and aligned, and others access them atomically, as the caller says.
    let words = unsafe { &*place.cast::<[AtomicU64; 2]>() };
    let [low, high] = [0, 1].map(|n| u128::from(words[n].load(Ordering::Relaxed)));
    let before = high << 64 | low;
    let after = f(before);
    if after != before {
        words[0].store(after as u64, Ordering::Relaxed);
        words[1].store((after >> 64) as u64, Ordering::Relaxed);
    }
    before
}

#[cfg(target_arch = "x86_64")]
mod host {
    use super::Way;
    use std::arch::asm;
    use std::arch::x86_64::__m128i;

    #[inline(always)]
    pub(super) fn way() -> Way {
        match (is_x86_feature_detected!("cmpxchg16b"), is_x86_feature_detected!("avx")) {
            (true, true) => Way::Move,
            (true, false) => Way::Exchange,
            (false, _) => Way::Lock,
        }
    }

    /// # Safety
    /// As of [`super::load`]; the CPU has AVX.
    #[inline(always)]
    pub(super) unsafe fn load(place: *const u8) -> u128 {
        let value: __m128i;
        // SAFETY: 16 bytes are there and aligned, and the CPU has AVX, as the caller says.
        unsafe {
            asm!(
                "vmovdqa {value}, xmmword ptr [{place}]",
                value = lateout(xmm_reg) value,
                place = in(reg) place,
                options(nostack, preserves_flags, readonly),
            );
        }
        // SAFETY: both are 16 bytes, of which any are a value.
        unsafe { std::mem::transmute::<__m128i, u128>(value) }
    }

    /// # Safety
    /// As of [`super::store`]; the CPU has AVX.
    #[inline(always)]
    pub(super) unsafe fn store(place: *mut u8, value: u128) {
        // SAFETY: both are 16 bytes, of which any are a value.
        let value = unsafe { std::mem::transmute::<u128, __m128i>(value) };
        // SAFETY: 16 bytes are there and aligned, and the CPU has AVX, as the caller says.
        unsafe {
            asm!(
                "vmovdqa xmmword ptr [{place}], {value}",
                value = in(xmm_reg) value,
                place = in(reg) place,
                options(nostack, preserves_flags),
            );
        }
    }

    /// # Safety
    /// As of [`super::compare_exchange`]; the CPU has `cmpxchg16b`.
    #[inline]
    pub(super) unsafe fn exchange(place: *mut u8, expected: u128, new: u128) -> u128 {
        let (low, high): (u64, u64);
        // The compiler does not give out `rbx`: it is as before afterwards.
        // SAFETY: 16 bytes are there and aligned, and the CPU has the instruction, as the caller says.
        unsafe {
            asm!(
                "xchg rbx, rsi",
                "lock cmpxchg16b xmmword ptr [rdi]",
                "mov rbx, rsi",
                in("rdi") place,
                inout("rsi") new as u64 => _,
                in("rcx") (new >> 64) as u64,
                inout("rax") expected as u64 => low,
                inout("rdx") (expected >> 64) as u64 => high,
                options(nostack),
            );
        }
        u128::from(high) << 64 | u128::from(low)
    }

    macro_rules! four {
        ($from:ident, $load:literal, $to:ident, $store:literal) => {
            asm!(
                concat!($load, " {a}, xmmword ptr [{from}]"),
                concat!($load, " {b}, xmmword ptr [{from} + 16]"),
                concat!($load, " {c}, xmmword ptr [{from} + 32]"),
                concat!($load, " {d}, xmmword ptr [{from} + 48]"),
                concat!($store, " xmmword ptr [{to}], {a}"),
                concat!($store, " xmmword ptr [{to} + 16], {b}"),
                concat!($store, " xmmword ptr [{to} + 32], {c}"),
                concat!($store, " xmmword ptr [{to} + 48], {d}"),
                from = in(reg) $from,
                to = in(reg) $to,
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack, preserves_flags),
            )
        };
    }

    /// # Safety
    /// As of [`super::read`], for 64 bytes; the CPU has AVX.
    #[inline(always)]
    pub(super) unsafe fn read_four(from: *const u8, into: &mut [[u8; 16]; 4]) {
        let to = into.as_mut_ptr();
        // SAFETY: 64 bytes are there on both sides, aligned on the first, and the CPU has AVX, as the caller says.
        unsafe { four!(from, "vmovdqa", to, "vmovdqu") }
    }

    /// # Safety
    /// As of [`super::write`], for 64 bytes; the CPU has AVX.
    #[inline(always)]
    pub(super) unsafe fn write_four(bytes: &[[u8; 16]; 4], to: *mut u8) {
        let from = bytes.as_ptr();
        // SAFETY: 64 bytes are there on both sides, aligned on the second, and the CPU has AVX, as the caller says.
        unsafe { four!(from, "vmovdqu", to, "vmovdqa") }
    }
}

#[cfg(target_arch = "aarch64")]
mod host {
    use super::Way;
    use std::arch::asm;

    #[inline(always)]
    pub(super) fn way() -> Way {
        if std::arch::is_aarch64_feature_detected!("lse2") { Way::Move } else { Way::Exchange }
    }

    fn joined(low: u64, high: u64) -> u128 {
        u128::from(high) << 64 | u128::from(low)
    }

    /// # Safety
    /// As of [`super::load`]; the CPU has FEAT_LSE2.
    #[inline(always)]
    pub(super) unsafe fn load(place: *const u8) -> u128 {
        let (low, high);
        // SAFETY: 16 bytes are there and aligned, as the caller says.
        unsafe {
            asm!(
                "ldp {low}, {high}, [{place}]",
                low = out(reg) low,
                high = out(reg) high,
                place = in(reg) place,
                options(nostack, preserves_flags, readonly),
            );
        }
        joined(low, high)
    }

    /// # Safety
    /// As of [`super::store`]; the CPU has FEAT_LSE2.
    #[inline(always)]
    pub(super) unsafe fn store(place: *mut u8, value: u128) {
        // SAFETY: 16 bytes are there and aligned, as the caller says.
        unsafe {
            asm!(
                "stp {low}, {high}, [{place}]",
                low = in(reg) value as u64,
                high = in(reg) (value >> 64) as u64,
                place = in(reg) place,
                options(nostack, preserves_flags),
            );
        }
    }

    /// What was read is written back where it is not the expected value: only then it was read in one piece.
    ///
    /// # Safety
    /// As of [`super::compare_exchange`].
    pub(super) unsafe fn exchange(place: *mut u8, expected: u128, new: u128) -> u128 {
        let (low, high): (u64, u64);
        // SAFETY: 16 bytes are there and aligned, as the caller says.
        unsafe {
            asm!(
                "2:",
                "ldaxp {low}, {high}, [{place}]",
                "cmp {low}, {expected_low}",
                "ccmp {high}, {expected_high}, #0, eq",
                "csel {to_low}, {new_low}, {low}, eq",
                "csel {to_high}, {new_high}, {high}, eq",
                "stlxp {failed:w}, {to_low}, {to_high}, [{place}]",
                "cbnz {failed:w}, 2b",
                low = out(reg) low,
                high = out(reg) high,
                to_low = out(reg) _,
                to_high = out(reg) _,
                failed = out(reg) _,
                expected_low = in(reg) expected as u64,
                expected_high = in(reg) (expected >> 64) as u64,
                new_low = in(reg) new as u64,
                new_high = in(reg) (new >> 64) as u64,
                place = in(reg) place,
                options(nostack),
            );
        }
        joined(low, high)
    }

    /// # Safety
    /// As of [`super::read`], for 64 bytes; the CPU has FEAT_LSE2.
    #[inline(always)]
    pub(super) unsafe fn read_four(from: *const u8, into: &mut [[u8; 16]; 4]) {
        for (n, bytes) in into.iter_mut().enumerate() {
            // SAFETY: as the caller says.
            *bytes = unsafe { load(from.add(16 * n)) }.to_le_bytes();
        }
    }

    /// # Safety
    /// As of [`super::write`], for 64 bytes; the CPU has FEAT_LSE2.
    #[inline(always)]
    pub(super) unsafe fn write_four(bytes: &[[u8; 16]; 4], to: *mut u8) {
        for (n, &bytes) in bytes.iter().enumerate() {
            // SAFETY: as the caller says.
            unsafe { store(to.add(16 * n), u128::from_le_bytes(bytes)) };
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod host {
    use super::Way;

    #[inline(always)]
    pub(super) fn way() -> Way {
        Way::Lock
    }

    /// # Safety
    /// As of [`super::load`].
    pub(super) unsafe fn load(place: *const u8) -> u128 {
        // SAFETY: as the caller says.
        unsafe { super::load_by(Way::Lock, place) }
    }

    /// # Safety
    /// As of [`super::store`].
    pub(super) unsafe fn store(place: *mut u8, value: u128) {
        // SAFETY: as the caller says.
        unsafe { super::store_by(Way::Lock, place, value) }
    }

    /// # Safety
    /// As of [`super::read`].
    pub(super) unsafe fn read_four(from: *const u8, into: &mut [[u8; 16]; 4]) {
        for (n, bytes) in into.iter_mut().enumerate() {
            // SAFETY: as the caller says.
            *bytes = unsafe { load(from.add(16 * n)) }.to_le_bytes();
        }
    }

    /// # Safety
    /// As of [`super::write`].
    pub(super) unsafe fn write_four(bytes: &[[u8; 16]; 4], to: *mut u8) {
        for (n, &bytes) in bytes.iter().enumerate() {
            // SAFETY: as the caller says.
            unsafe { store(to.add(16 * n), u128::from_le_bytes(bytes)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    #[repr(align(16))]
    struct Place(UnsafeCell<[u8; 16]>);

    // SAFETY: it is only accessed atomically.
    unsafe impl Sync for Place {}

    /// The ways that this host has.
    fn ways() -> Vec<Way> {
        match Way::of_this_host() {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Way::Move => vec![Way::Move, Way::Exchange],
            way => vec![way],
        }
    }

    #[test]
    fn each_way_reads_writes_and_exchanges() {
        for way in ways().into_iter().chain([Way::Lock]) {
            let place = Place(UnsafeCell::new([0; 16]));
            let at = place.0.get().cast::<u8>();
            let values = [0, 1, u128::MAX, 1 << 64, (7 << 64) | 9];
            for value in values {
                // SAFETY: the place is aligned, and nobody else has it.
                unsafe {
                    store_by(way, at, value);
                    assert_eq!(load_by(way, at), value, "{way:?}");
                    assert_eq!(exchange_by(way, at, value ^ 1, 5), value, "{way:?}");
                    assert_eq!(load_by(way, at), value, "{way:?}");
                    assert_eq!(exchange_by(way, at, value, 5), value, "{way:?}");
                    assert_eq!(load_by(way, at), 5, "{way:?}");
                }
            }
        }
    }

    /// Threads write words with equal halves by each way, and read them by each: none is in pieces, also where 8 bytes
    /// are written.
    #[test]
    fn no_access_is_torn() {
        const ROUNDS: u64 = if cfg!(miri) { 50 } else { 20_000 };
        let place = Place(UnsafeCell::new([0; 16]));
        std::thread::scope(|scope| {
            for (thread, way) in (0..4).zip(ways().into_iter().cycle()) {
                let place = &place;
                scope.spawn(move || {
                    let at = place.0.get().cast::<u8>();
                    for round in 0..ROUNDS {
                        let word = u128::from(4 * round + thread);
                        // SAFETY: the place is aligned, and others only access it atomically.
                        let read = unsafe {
                            match round % 2 {
                                0 => store_by(way, at, word << 64 | word),
                                _ => drop(exchange_by(way, at, word << 64 | word, word)),
                            }
                            load_by(way, at)
                        };
                        assert_eq!(read as u64, (read >> 64) as u64, "{way:?}: {read:#x} is in pieces");
                    }
                });
            }
        });
    }
}
