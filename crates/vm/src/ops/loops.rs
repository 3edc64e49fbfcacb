//! Loops that are compiled for CPU features, as values that are safe to run.
//!
//! A function with `#[target_feature]` is sound to call only on a CPU that has the features. The two types here keep
//! that obligation in one place: [`Kernels`] has one function for each [`Level`] and never gives out one above the
//! detected level; a [`Kernel`] is either one of those or an ordinary safe function, so anybody may run it.
//!
//! `unsafe` is here for the call itself ([`Kernel::run`]) and for the contract of [`Kernels::new`].

use super::level;
use crate::lanes::Frame;
use crate::program::Inst;
use softwarp_num::Level;

/// A function that may be compiled for CPU features.
pub(crate) type Raw = unsafe fn(&mut Frame, &Inst, u32);

/// The loop of an arithmetic operation: frame, operands, lanes that take part.
///
/// **Invariant**: this CPU has the features that the function was compiled for. Nothing outside this module can make
/// a `Kernel` of a function that needs features:
///
/// ```compile_fail,E0423
/// use softwarp_vm::{lanes::Frame, program::{Inst, Kernel}};
/// unsafe fn needs_avx512(_: &mut Frame, _: &Inst, _: u32) {}
/// let kernel = Kernel(needs_avx512);
/// ```
///
/// ```compile_fail,E0308
/// use softwarp_vm::{lanes::Frame, program::{Inst, Kernel}};
/// unsafe fn needs_avx512(_: &mut Frame, _: &Inst, _: u32) {}
/// let kernel = Kernel::of(needs_avx512);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Kernel(Raw);

impl Kernel {
    /// A safe function, which needs no features.
    pub fn of(function: fn(&mut Frame, &Inst, u32)) -> Kernel {
        Kernel(function)
    }

    /// Runs it.
    #[inline(always)]
    pub fn run(self, frame: &mut Frame, inst: &Inst, mask: u32) {
        // SAFETY: the CPU has the features, by the type's invariant.
        unsafe { (self.0)(frame, inst, mask) }
    }
}

/// A loop, compiled for each level.
#[derive(Clone, Copy, Debug)]
pub struct Kernels([Raw; Level::ALL.len()]);

impl Kernels {
    /// The functions of the levels, least first.
    ///
    /// # Safety
    /// Each needs at most the features of its level, and FMA and F16C above the baseline.
    pub(crate) const unsafe fn new(functions: [Raw; Level::ALL.len()]) -> Kernels {
        Kernels(functions)
    }

    /// The one of the level in use.
    pub fn best(self) -> Kernel {
        self.at(level())
    }

    /// Those of all levels up to the one in use, least first.
    pub fn available(self) -> Vec<Kernel> {
        Level::ALL.into_iter().filter(|&one| one <= level()).map(|one| self.at(one)).collect()
    }

    /// The one of a level, or of the level in use if that is less.
    fn at(self, asked: Level) -> Kernel {
        // The features of the level in use were detected, FMA and F16C too if it is above the baseline; lower levels
        // need a part of them.
        Kernel(self.0[asked.min(level()) as usize])
    }
}
