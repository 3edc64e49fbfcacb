//! Guards: the lanes that pass, and code that others skip.

use super::{Emitted, Emitter, field};
use crate::Mode;
use crate::assembler::*;
use softwarp_ir::{Guard, Slot};

impl Emitter<'_> {
    /// Begins code for the lanes that pass a guard; without any, it goes to `none`. Returns whether code was masked before.
    pub(crate) fn begin_guard(&mut self, guard: Guard, none: CodeLabel) -> Emitted<bool> {
        let before = self.masked;
        if let Some(predicate) = guard.predicate() {
            self.passing(guard, predicate)?;
            self.unit.a.test(eax, eax)?;
            self.unit.a.jz(none)?;
            self.load_mask(eax)?;
            (self.masked, self.leading, self.lanes) = (true, None, None);
        }
        Ok(before)
    }

    /// Ends it, at the label `none`.
    pub(crate) fn end_guard(&mut self, guard: Guard, before: bool, mut none: CodeLabel) -> Emitted {
        self.masked = before;
        self.unit.place(&mut none)?;
        if before && guard != Guard::ALWAYS {
            self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
            self.load_mask(eax)?;
        }
        Ok(())
    }

    /// The lanes that pass a guard, in `eax`.
    pub(crate) fn passing(&mut self, guard: Guard, predicate: Slot) -> Emitted {
        let holds = self.predicate(predicate);
        self.unit.a.mov(eax, holds)?;
        if guard.is_negated() {
            self.unit.a.not(eax)?;
        }
        if self.runs_some() {
            self.unit.a.and(eax, dword_ptr(field!(mask)))?;
        }
        Ok(())
    }

    /// Whether code is for some of the lanes, those of the context's mask.
    pub(crate) fn runs_some(&self) -> bool {
        self.mode == Mode::Masked || self.apart.is_some()
    }

    /// Loads the mask registers.
    pub(crate) fn load_mask(&mut self, from: AsmRegister32) -> Emitted {
        self.unit.a.kmovd(k6, from)?;
        self.unit.a.kshiftrd(k7, k6, 16)
    }
}
