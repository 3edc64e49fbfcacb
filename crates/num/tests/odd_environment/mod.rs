//! Floating-point environments that a host program may have set, for tests: MXCSR on x86-64, FPCR on AArch64.
//!
//! `unsafe` is here to read and write that register, as such a program does.

use std::arch::asm;

/// What the register is in each of these environments: rounding up, down and toward zero, subnormals flushed, and all
/// of it with exceptions that trap.
#[cfg(target_arch = "x86_64")]
pub const ODD: &[u64] = &[0x5f80, 0x3f80, 0x7f80, 0x9f80, 0x1fc0, 0xdfc0, 0x1000, 0xf040];
#[cfg(target_arch = "aarch64")]
pub const ODD: &[u64] = &[1 << 22, 2 << 22, 3 << 22, 1 << 24, 1 << 25, 3 << 24 | 1 << 22];

/// The bits of the register that are not flags of exceptions.
#[cfg(target_arch = "x86_64")]
const CONTROL: u64 = 0xffc0;
#[cfg(target_arch = "aarch64")]
const CONTROL: u64 = u64::MAX;

/// Sets the environment of this thread; gives the one before.
pub fn set(word: u64) -> u64 {
    let before = get();
    #[cfg(target_arch = "x86_64")]
    {
        let word = word as u32;
        // SAFETY: loads MXCSR from a word; no reserved bit is set in those above, nor in one that was read.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: writes FPCR.
    unsafe {
        asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags));
    }
    before
}

/// The environment of this thread.
pub fn get() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut word = 0u32;
        // SAFETY: stores MXCSR to a word of ours.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        u64::from(word) & CONTROL
    }
    #[cfg(target_arch = "aarch64")]
    {
        let word: u64;
        // SAFETY: reads FPCR.
        unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nostack, preserves_flags)) };
        word & CONTROL
    }
}

/// Does something in an odd environment, and sees that it is still there afterwards.
pub fn within<R>(word: u64, work: impl FnOnce() -> R) -> R {
    let before = set(word);
    let result = apart(work);
    let after = set(before);
    assert_eq!(after, get_of(word), "the environment {word:#x} was not restored");
    result
}

/// A call that stays one: otherwise arithmetic may be done before or after the environment is set.
#[inline(never)]
fn apart<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// What [`get`] gives of such a word.
fn get_of(word: u64) -> u64 {
    word & CONTROL
}
