//! Values of which each half of a warp has a first lane of its own ([`Class::HalfAffine`]): addresses of CTAs with rows of 16
//! threads.

use super::plain::Plain;
use super::{Emitted, Emitter, XMM, ZMM};
use crate::assembler::*;
use crate::classes::Class;
use crate::decode::{Compute, Extend};
use softwarp_ir::{Alu, Slot};

impl Emitter<'_> {
    /// The step from lane to lane of an address in vectors, if all lanes take part.
    pub(super) fn halves_step(&self, plain: &Plain<'_>) -> Option<i64> {
        let base = plain.base.filter(|_| !self.masked)?;
        match self.class(plain.op, base) {
            Class::HalfAffine(step) => Some(step),
            _ => None,
        }
    }

    /// The values of the first lanes of both halves, in `rax` and `rcx`.
    pub(super) fn first_lanes(&mut self, op: usize, slot: Slot) -> Emitted {
        for (half, (wide, narrow)) in [(rax, eax), (rcx, ecx)].into_iter().enumerate() {
            let part = if slot.is_wide() { 2 * half } else { half };
            let from = self.register(op, slot, part, 0, false)?;
            if from != 0 {
                self.unit.a.vmovdqa64(zmm0, ZMM[usize::from(from)])?;
            }
            match slot.is_wide() {
                true => self.unit.a.vmovq(wide, XMM[0])?,
                false => self.unit.a.vmovd(narrow, XMM[0])?,
            }
        }
        Ok(())
    }

    /// Before a result is claimed to have a step in 64 bits: leaves compiled code if a source of 32 bits wraps around
    /// within a half of the warp.
    pub(super) fn check_steps(&mut self, op: usize, alu: &Alu, compute: Compute, d: Slot) -> Emitted {
        let (count, signed) = match compute {
            Compute::Wide { signed, .. } => (2, signed),
            Compute::Extend(Extend::Sign64) => (1, true),
            Compute::Extend(Extend::Zero64) => (1, false),
            _ => return Ok(()),
        };
        // Where some lanes execute, nothing relies on the claim.
        if self.masked || !matches!(self.result_class(op, d), Class::HalfAffine(_)) {
            return Ok(());
        }
        for slot in alu.s.iter().take(count) {
            match self.class(op, slot) {
                Class::Affine(steps) if steps.lane != 0 => {
                    self.scalar_to(op, slot, super::RAX)?;
                    self.unit.a.mov(ecx, eax)?;
                    self.unit.a.add(ecx, steps.half as i32)?;
                    self.check_half_lanes(op, steps.lane, signed)?;
                }
                Class::HalfAffine(step) if step != 0 => {
                    self.first_lanes(op, slot)?;
                    self.check_half_lanes(op, step, signed)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Leaves compiled code if one of the 32-bit values of both halves wraps around from lane to lane. Those of the first
    /// lanes are in `eax` and `ecx`.
    fn check_half_lanes(&mut self, op: usize, step: i64, signed: bool) -> Emitted {
        let exit = self.exit_label(op);
        for first in [eax, ecx] {
            self.unit.a.add(first, 15 * step as i32)?;
            match signed {
                true => self.unit.a.jo(exit)?,
                false => self.unit.a.jb(exit)?,
            }
        }
        Ok(())
    }
}
