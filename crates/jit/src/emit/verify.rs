//! Where uniform code is entered, what the analysis claims is verified.

use super::{Emitted, Emitter};
use crate::assembler::*;
use crate::classes::{Class, Steps};

impl Emitter<'_> {
    /// Checks that rows are affine. The lanes in which all rows of 32-bit words were so are in `k1`, those of 64-bit
    /// words in `k2`.
    pub(super) fn verify(&mut self, webs: impl Iterator<Item = usize>, fail: CodeLabel) -> Emitted {
        let mut seen = [false; 2];
        for web in webs {
            let (steps, halves) = match self.classes.webs[web] {
                Class::Affine(steps) => (steps, false),
                Class::HalfAffine(lane) => (Steps { lane, half: 0 }, true),
                Class::Varying if self.same[web] => (Steps::ZERO, false),
                Class::Unknown | Class::Varying => continue,
            };
            let slot = self.flow.webs[web].slot;
            let (wide, first) = (slot.is_wide(), self.first(slot));
            let begins = !std::mem::replace(&mut seen[usize::from(wide)], true);
            let parts = if wide { 4 } else { 2 };
            for part in 0..parts {
                // The value that the steps are added to.
                let begins_half = halves && part == parts / 2;
                let half = if wide { 128usize } else { 64 };
                let first = if begins_half { first + half } else { first };
                match (part == 0 || begins_half, wide) {
                    (true, true) => self.unit.a.vpbroadcastq(zmm0, first)?,
                    (true, false) => self.unit.a.vpbroadcastd(zmm0, first)?,
                    (false, true | false) => {}
                }
                let row = self.row(slot, part);
                let steps = (steps != Steps::ZERO).then(|| self.unit.steps(steps, part, wide));
                let expected = if steps.is_some() { zmm1 } else { zmm0 };
                let asm = &mut self.unit.a;
                match (wide, steps) {
                    (_, None) => {}
                    (true, Some(steps)) => asm.vpaddq(zmm1, zmm0, steps)?,
                    (false, Some(steps)) => asm.vpaddd(zmm1, zmm0, steps)?,
                }
                match (wide, begins && part == 0) {
                    (true, true) => asm.vpcmpq(k2, expected, row, 0)?,
                    (true, false) => asm.vpcmpq(k2.k2(), expected, row, 0)?,
                    (false, true) => asm.vpcmpd(k1, expected, row, 0)?,
                    (false, false) => asm.vpcmpd(k1.k1(), expected, row, 0)?,
                }
            }
        }
        // The carry is set where all bits are.
        let asm = &mut self.unit.a;
        if seen[0] {
            asm.kortestw(k1, k1)?;
            asm.jae(fail)?;
        }
        if seen[1] {
            asm.kortestb(k2, k2)?;
            asm.jae(fail)?;
        }
        Ok(())
    }
}
