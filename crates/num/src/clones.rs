//! The conversion loop, compiled once per CPU feature set, and the choice between them.
//!
//! `unsafe` is here because calling a function that was compiled for CPU features is sound only on a CPU that has
//! them. [`Level::best`] asks the CPU, and [`Level::current`] never exceeds that answer, whatever the environment says.

use crate::environment::with_standard_floats;
use crate::kernel::convert_elements;
use crate::stream::Cached;
#[cfg(target_arch = "x86_64")]
use crate::stream::PastCaches;
use std::sync::OnceLock;

/// A set of CPU features that the loops are compiled for, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every CPU of the architecture has (SSE2 on x86-64, NEON on AArch64).
    Baseline,
    /// AVX2 (x86-64-v3).
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL (x86-64-v4).
    Avx512,
}

/// The environment variable that forces a lower level: `baseline`, `avx2` or `avx512`.
pub const LEVEL_VARIABLE: &str = "SOFTWARP_SIMD";

impl Level {
    /// Every level, least first.
    pub const ALL: [Level; 3] = [Level::Baseline, Level::Avx2, Level::Avx512];

    /// The name that the environment variable takes.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// The highest level that this CPU has.
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(detect)
    }

    /// The level in use: the best, or the lower one that the environment asked for when first read.
    pub fn current() -> Level {
        static CURRENT: OnceLock<Level> = OnceLock::new();
        *CURRENT.get_or_init(|| {
            let asked = std::env::var(LEVEL_VARIABLE).unwrap_or_default();
            let asked = Level::ALL.into_iter().find(|level| level.name() == asked);
            asked.map_or(Level::best(), |level| level.min(Level::best()))
        })
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    if has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        Level::Avx512
    } else if has_avx2() {
        Level::Avx2
    } else {
        Level::Baseline
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Baseline
}

/// Work to be compiled for each level by [`vectorised`].
///
/// Mark `run`, and everything hot that it calls, `#[inline(always)]`: only what is inlined is compiled with
/// a level's features. (A closure would do if closures could be marked so.)
pub trait Vectorise {
    /// What it results in.
    type Output;
    /// Does it.
    fn run(self) -> Self::Output;
}

/// Runs `work` compiled for the current level's features, in the floating-point environment of the caller.
#[cfg(target_arch = "x86_64")]
pub fn vectorised<W: Vectorise>(work: W) -> W::Output {
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn with_avx2<W: Vectorise>(work: W) -> W::Output {
        work.run()
    }
    #[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    fn with_avx512<W: Vectorise>(work: W) -> W::Output {
        work.run()
    }
    match Level::current() {
        Level::Baseline => work.run(),
        // SAFETY: the current level is at most the best, whose features were detected on this CPU.
        Level::Avx2 => unsafe { with_avx2(work) },
        // SAFETY: as above.
        Level::Avx512 => unsafe { with_avx512(work) },
    }
}

/// Runs `work`.
#[cfg(not(target_arch = "x86_64"))]
pub fn vectorised<W: Vectorise>(work: W) -> W::Output {
    work.run()
}

/// `(src, aux, dst)`, as in [`crate::Kernel::run`].
///
/// # Safety
/// The CPU must have the features that the function was compiled for.
type Loop = unsafe fn(&[u8], &[u8], &mut [u8]);

/// One conversion's loop for each level.
#[derive(Clone, Copy)]
pub(crate) struct Clones([Loop; Level::ALL.len()]);

impl Clones {
    /// Runs the loop for the current level.
    pub(crate) fn run(&self, src: &[u8], aux: &[u8], dst: &mut [u8]) {
        self.run_at(Level::current(), src, aux, dst);
    }

    /// Runs the loop for a level, or for the best that the CPU has if that is less.
    pub(crate) fn run_at(&self, level: Level, src: &[u8], aux: &[u8], dst: &mut [u8]) {
        let convert = self.0[level.min(Level::best()) as usize];
        // SAFETY: `convert` was compiled for a level that is at most `Level::best()`, and the features of
        // that level were detected on this CPU; lower levels' features are contained in it.
        with_standard_floats(|| unsafe { convert(src, aux, dst) });
    }
}

fn baseline<const CODE: u32, const PACKED: bool>(src: &[u8], aux: &[u8], dst: &mut [u8]) {
    convert_elements::<CODE, PACKED, _>(Cached, src, aux, dst);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn avx2<const CODE: u32, const PACKED: bool>(src: &[u8], aux: &[u8], dst: &mut [u8]) {
    convert_elements::<CODE, PACKED, _>(Cached, src, aux, dst);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn avx512<const CODE: u32, const PACKED: bool>(src: &[u8], aux: &[u8], dst: &mut [u8]) {
    // SAFETY: this function has the features that are asked for, and runs only where the CPU has them.
    let stores = unsafe { PastCaches::new() };
    convert_elements::<CODE, PACKED, _>(stores, src, aux, dst);
}

/// The clones of the conversion with this code.
#[cfg(target_arch = "x86_64")]
pub(crate) const fn clones<const CODE: u32, const PACKED: bool>() -> Clones {
    Clones([baseline::<CODE, PACKED>, avx2::<CODE, PACKED>, avx512::<CODE, PACKED>])
}

/// The clones of the conversion with this code.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const fn clones<const CODE: u32, const PACKED: bool>() -> Clones {
    Clones([baseline::<CODE, PACKED>, baseline::<CODE, PACKED>, baseline::<CODE, PACKED>])
}
