//! Loops that are compiled for CPU features, as values that are safe to run ([`softwarp_num::multiversion!`]).
//!
//! `unsafe` is here for the instructions of a level that make a mask of lanes.

use super::ballot::{self, Holds};
use crate::alu::Inst;
use crate::lanes::Frame;
use softwarp_num::{Avx2, Avx512, Baseline, Cpu, Levels, multiversion};

multiversion! {
    /// The loop of an arithmetic operation: frame, operands, lanes that take part.
    ///
    /// Nothing outside `softwarp_num` can make an `AluLoop` of a function that needs features:
    ///
    /// ```compile_fail,E0423
    /// use softwarp_units::{lanes::Frame, alu::{Inst, AluLoop}};
    /// unsafe fn needs_avx512(_: &mut Frame, _: &Inst, _: u32) {}
    /// let alu_loop = AluLoop(needs_avx512);
    /// ```
    ///
    /// ```compile_fail,E0308
    /// use softwarp_units::{lanes::Frame, alu::{Inst, AluLoop}};
    /// unsafe fn needs_avx512(_: &mut Frame, _: &Inst, _: u32) {}
    /// let alu_loop = AluLoop::of(needs_avx512);
    /// ```
    pub struct AluLoop(frame: &mut Frame, inst: &Inst, mask: u32);
}

/// A loop, compiled for each level.
pub type AluLoops = Levels<AluLoop>;

/// A token whose level has instructions that make a mask of lanes.
pub trait Ballot: Cpu {
    /// The lanes in which it holds.
    fn ballot(self, holds: &Holds) -> u32;
}

impl Ballot for Baseline {
    #[inline(always)]
    fn ballot(self, holds: &Holds) -> u32 {
        ballot::baseline(holds)
    }
}

impl Ballot for Avx2 {
    #[inline(always)]
    fn ballot(self, holds: &Holds) -> u32 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the token says that the CPU has the level.
        return unsafe { ballot::avx2(holds) };
        #[cfg(not(target_arch = "x86_64"))]
        ballot::baseline(holds)
    }
}

impl Ballot for Avx512 {
    #[inline(always)]
    fn ballot(self, holds: &Holds) -> u32 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the token says that the CPU has the level.
        return unsafe { ballot::avx512(holds) };
        #[cfg(not(target_arch = "x86_64"))]
        ballot::baseline(holds)
    }
}
