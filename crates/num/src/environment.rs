//! The floating-point environment: rounding mode, flushing of subnormals and exception masks of the thread.
//!
//! The arithmetic of this workspace, and Rust's, assumes the environment that a program begins with: rounding to nearest
//! even, subnormals kept, no traps. A host program may have changed it (MXCSR on x86-64, FPCR on AArch64; compilers do
//! with `-ffast-math`), and then results would differ in their bits. [`with_standard_floats`] sets it and restores what
//! was there, also when the work panics. It is read first and written only if it differs.
//!
//! `unsafe` is here for the instructions that read and write the control register. They touch nothing else. A compiler
//! does not know that floating-point instructions depend on it, so the work that runs after a write is behind a call
//! that is not inlined.
//!
//! On other architectures the environment is left as it is.

/// Does `work` in the standard floating-point environment.
#[inline(always)]
pub fn with_standard_floats<R>(work: impl FnOnce() -> R) -> R {
    let before = control::read();
    if control::standard(before) == before { work() } else { changed(before, work) }
}

#[cold]
#[inline(never)]
fn changed<R>(before: control::Word, work: impl FnOnce() -> R) -> R {
    struct Restore(control::Word);
    impl Drop for Restore {
        fn drop(&mut self) {
            control::write(self.0);
        }
    }
    let _restore = Restore(before);
    control::write(control::standard(before));
    apart(work)
}

/// A call that stays one, so that nothing of the work is done before it.
#[inline(never)]
fn apart<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// MXCSR.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod control {
    use std::arch::asm;

    pub(super) type Word = u32;

    /// Flush to zero, rounding, the masks of all exceptions, denormals are zeros.
    const CONTROL: Word = 0xffc0;
    /// To nearest even, subnormals kept, all exceptions masked.
    const STANDARD: Word = 0x1f80;

    /// The word with the standard environment set. Flags of exceptions stay.
    #[inline(always)]
    pub(super) fn standard(word: Word) -> Word {
        word & !CONTROL | STANDARD
    }

    #[inline(always)]
    pub(super) fn read() -> Word {
        let mut word: Word = 0;
        // SAFETY: stores the register to a word of ours.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    pub(super) fn write(word: Word) {
        // SAFETY: loads the register from a word of ours. All callers pass one that was read, or `standard` of it, so
        // no reserved bit is set.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags, readonly)) };
    }
}

/// FPCR.
#[cfg(all(target_arch = "aarch64", not(miri)))]
mod control {
    use std::arch::asm;

    pub(super) type Word = u64;

    /// To nearest even, subnormals kept, no traps, no other NaNs: zeros.
    #[inline(always)]
    pub(super) fn standard(_: Word) -> Word {
        0
    }

    #[inline(always)]
    pub(super) fn read() -> Word {
        let word: Word;
        // SAFETY: reads the register.
        unsafe { asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack, preserves_flags)) };
        word
    }

    pub(super) fn write(word: Word) {
        // SAFETY: writes a word that was read, or zero.
        unsafe { asm!("msr fpcr, {}", in(reg) word, options(nostack, preserves_flags)) };
    }
}

/// Nothing.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod control {
    pub(super) type Word = ();

    pub(super) fn standard(_: Word) -> Word {}

    pub(super) fn read() -> Word {}

    pub(super) fn write(_: Word) {}
}
