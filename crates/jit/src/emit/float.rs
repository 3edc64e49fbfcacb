//! Arithmetic of f32 on rows.

use super::{Emitted, Emitter, Late, Vector, ZMM, vector3};
use crate::assembler::*;
use crate::decode::Float;
use crate::places::Place;
use softwarp_ir::Slot;

/// The registers of the parts of a minimum or maximum.
const CHOSEN: [u8; 2] = [5, 6];

impl Emitter<'_> {
    /// Arithmetic of f32, rounded to nearest even.
    pub(super) fn float(&mut self, op: usize, float: Float, d: Slot, [a, b, c]: [Slot; 3]) -> Emitted {
        if let Float::Min | Float::Max = float {
            self.min_max(op, float == Float::Max, d, [a, b])?;
            self.end_ready(op);
            // Code outside of the blocks writes their registers.
            self.folds.forget();
            return Ok(());
        }
        self.ready(op, &[a, b, c])?;
        self.float_part(op, 0, float, d, [a, b, c])?;
        match self.same_parts(op, d) {
            Some([low, high]) => self.unit.a.vmovdqa64(high, low)?,
            None => self.float_part(op, 1, float, d, [a, b, c])?,
        }
        self.end_ready(op);
        Ok(())
    }

    /// The registers of a result whose lanes are all the same: one part is computed.
    fn same_parts(&self, op: usize, d: Slot) -> Option<[AsmRegisterZmm; 2]> {
        let web = self.flow.written(op, d).filter(|&web| self.same[web] && !self.masked)?;
        let Place::Vector([low, high, ..]) = self.places[web] else { return None };
        Some([low, high].map(|register| ZMM[usize::from(register)]))
    }

    /// A part of the row.
    fn float_part(&mut self, op: usize, part: usize, float: Float, d: Slot, [a, b, c]: [Slot; 3]) -> Emitted {
        let lazy = self.takes_any_nan(op, d);
        let merging = if lazy { self.merging(op, d, part)? } else { None };
        if let (Some(t), Float::Fma) = (merging, float) {
            return self.fma_merging(op, part, (d, t), [a, b, c]);
        }
        // The last instruction of these gives the result.
        let direct = match float {
            Float::Add | Float::Sub | Float::Mul | Float::Div => true,
            Float::Fma | Float::Rcp | Float::Sqrt | Float::Neg | Float::Abs => false,
            Float::Min | Float::Max => false,
        };
        let target = self.target(op, d, part, 2);
        let t = merging.filter(|_| direct).unwrap_or(ZMM[usize::from(target)]);
        match float {
            Float::Add => {
                let (one, two) = self.float_operands(op, part, [a, b], true)?;
                vector3!(self, vaddps, t, one, two);
            }
            Float::Sub => {
                let (one, two) = self.float_operands(op, part, [a, b], false)?;
                vector3!(self, vsubps, t, one, two);
            }
            Float::Mul => {
                let (one, two) = self.float_operands(op, part, [a, b], true)?;
                vector3!(self, vmulps, t, one, two);
            }
            Float::Div => {
                let (one, two) = self.float_operands(op, part, [a, b], false)?;
                vector3!(self, vdivps, t, one, two);
            }
            Float::Rcp => {
                let one = self.unit.word(0x3f80_0000);
                self.unit.a.vmovaps(zmm3, one)?;
                let by = self.source(op, a, part, 1, true)?;
                vector3!(self, vdivps, t, zmm3, by);
            }
            Float::Sqrt => {
                let of = self.register(op, a, part, 0, true)?;
                self.unit.a.vsqrtps(t, ZMM[usize::from(of)])?;
            }
            Float::Neg => {
                let of = self.register(op, a, part, 0, true)?;
                let sign = self.unit.word(1 << 31);
                self.unit.a.vpxord(t, ZMM[usize::from(of)], sign)?;
            }
            Float::Abs => {
                let of = self.register(op, a, part, 0, true)?;
                let magnitude = self.unit.word(u32::MAX >> 1);
                self.unit.a.vpandd(t, ZMM[usize::from(of)], magnitude)?;
            }
            Float::Fma => self.fma(op, part, target, [a, b, c])?,
            // They have code of their own.
            Float::Min | Float::Max => return Ok(()),
        }
        if merging.is_some() && direct {
            return Ok(());
        }
        if !lazy {
            self.canonical(target)?;
        }
        self.put(op, d, part, target)
    }

    /// Two operands of an instruction, the first in a register. The second is best in memory: operands that may be
    /// exchanged are.
    fn float_operands(
        &mut self,
        op: usize,
        part: usize,
        [a, b]: [Slot; 2],
        commutes: bool,
    ) -> Emitted<(AsmRegisterZmm, Vector)> {
        let one = self.source(op, a, part, 0, true)?;
        let two = self.source(op, b, part, 1, true)?;
        let swaps =
            commutes && matches!((one, two), (Vector::Loaded(_) | Vector::Broadcast(_), Vector::Register(_)));
        let (one, two) = if swaps { (two, one) } else { (one, two) };
        let one = self.in_register(one, false, 0)?;
        Ok((ZMM[usize::from(one)], two))
    }

    /// The register of a part of a result with the mask of the lanes that are written, if it has one: an instruction can
    /// write it as it is.
    pub(super) fn merging(&mut self, op: usize, d: Slot, part: usize) -> Emitted<Option<AsmRegisterZmm>> {
        let place = self.flow.written(op, d).map(|web| self.places[web]);
        let Some(Place::Vector(registers)) = place.filter(|_| self.masked) else { return Ok(None) };
        let z = ZMM[usize::from(registers[part])];
        let mask = self.mask_of_part(part, d.is_wide())?;
        Ok(Some(z.under(mask)))
    }

    /// `a * b + c` in the register of the result, which keeps the lanes that are not written.
    fn fma_merging(
        &mut self,
        op: usize,
        part: usize,
        (d, t): (Slot, AsmRegisterZmm),
        [a, b, c]: [Slot; 3],
    ) -> Emitted {
        let three = self.source(op, c, part, 3, true)?;
        let two = self.source(op, b, part, 1, true)?;
        let one = self.source(op, a, part, 0, true)?;
        // 0 is no register of a web.
        let own = self.flow.written(op, d).and_then(|web| self.places[web].vector());
        let own = own.map_or(0, |registers| registers[part]);
        let is_own = |source: Vector| matches!(source, Vector::Register(register) if register == own);
        if is_own(one) || is_own(two) {
            let (other, three) = (if is_own(one) { two } else { one }, three);
            let other = self.in_register(other, false, 0)?;
            vector3!(self, vfmadd213ps, t, ZMM[usize::from(other)], three);
            return Ok(());
        }
        if !is_own(three) {
            let three = self.in_register(three, false, 3)?;
            self.unit.a.vmovaps(t, ZMM[usize::from(three)])?;
        }
        let one = self.in_register(one, false, 0)?;
        vector3!(self, vfmadd231ps, t, ZMM[usize::from(one)], two);
        Ok(())
    }

    /// `a * b + c`, in a target that may be the register of a source.
    pub(super) fn fma(&mut self, op: usize, part: usize, target: u8, [a, b, c]: [Slot; 3]) -> Emitted {
        let three = self.source(op, c, part, 3, true)?;
        let two = self.source(op, b, part, 1, true)?;
        let one = self.source(op, a, part, 0, true)?;
        let t = ZMM[usize::from(target)];
        let is_target = |source: Vector| matches!(source, Vector::Register(register) if register == target);
        if is_target(one) || is_target(two) {
            // The product and the sum are in this order, whichever factor is in the target.
            let (held, other) = if is_target(one) { (one, two) } else { (two, one) };
            if is_target(three) || is_target(other) {
                let other = self.in_register(other, false, 0)?;
                let three = self.in_register(three, false, 3)?;
                self.unit.a.vmovaps(zmm4, t)?;
                let pick = |register: u8| if register == target { zmm4 } else { ZMM[usize::from(register)] };
                let (x, y) = (pick(other), pick(three));
                self.unit.a.vmovaps(t, y)?;
                let _ = held;
                return self.unit.a.vfmadd231ps(t, zmm4, x);
            }
            let other = self.in_register(other, false, 0)?;
            vector3!(self, vfmadd213ps, t, ZMM[usize::from(other)], three);
            return Ok(());
        }
        if !is_target(three) {
            let three = self.in_register(three, false, target)?;
            if three != target {
                self.unit.a.vmovaps(t, ZMM[usize::from(three)])?;
            }
        }
        // A memory operand is best: the other factor is in a register.
        let (one, two) = if matches!(one, Vector::Register(_)) { (one, two) } else { (two, one) };
        let one = self.in_register(one, false, 0)?;
        vector3!(self, vfmadd231ps, t, ZMM[usize::from(one)], two);
        Ok(())
    }

    /// The lesser or the larger number. `vrangeps` orders zeros as PTX does, and prefers numbers to quiet NaNs. Where a
    /// result is a NaN, the row is computed again, unless the sources tell that it is the right one.
    fn min_max(&mut self, op: usize, max: bool, d: Slot, [a, b]: [Slot; 2]) -> Emitted {
        let same = self.same_parts(op, d);
        let parts = if same.is_some() { 1 } else { 2 };
        if let Some(sources) = self.quiet_sources(op, [a, b]) {
            for (part, chosen) in CHOSEN.into_iter().enumerate().take(parts) {
                let target = self.target(op, d, part, chosen);
                self.range(op, part, max, sources, target)?;
                self.put(op, d, part, target)?;
            }
            return same.map_or(Ok(()), |[low, high]| self.unit.a.vmovdqa64(high, low));
        }
        for (part, chosen) in CHOSEN.into_iter().enumerate().take(parts) {
            self.range(op, part, max, [a, b], chosen)?;
        }
        let (label, mut back) = (self.unit.a.create_label(), self.unit.a.create_label());
        let [low, high] = CHOSEN.map(|register| ZMM[usize::from(register)]);
        self.unit.a.vcmpps(k5, low, if same.is_some() { low } else { high }, 3)?;
        self.unit.a.kortestw(k5, k5)?;
        self.unit.a.jnz(label)?;
        self.unit.place(&mut back)?;
        self.folds.keep(op);
        self.late.push(Late::Choose { op, max, sources: [a, b], label, back, held: self.held });
        for (part, chosen) in CHOSEN.into_iter().enumerate() {
            self.put(op, d, part, if same.is_some() { CHOSEN[0] } else { chosen })?;
        }
        Ok(())
    }

    /// A part of it, if no result is a NaN.
    fn range(&mut self, op: usize, part: usize, max: bool, [a, b]: [Slot; 2], to: u8) -> Emitted {
        // The sign is that of the result.
        let which = if max { 0b0101 } else { 0b0100 };
        let one = self.register(op, a, part, 0, true)?;
        let two = self.source(op, b, part, 1, true)?;
        let (t, one) = (ZMM[usize::from(to)], ZMM[usize::from(one)]);
        match two {
            Vector::Register(two) => self.unit.a.vrangeps(t, one, ZMM[usize::from(two)], which),
            Vector::Memory(two) | Vector::Loaded(two) => self.unit.a.vrangeps(t, one, two, which),
            Vector::Broadcast(slot) => self.unit.a.vrangeps(t, one, self.broadcast_of(slot), which),
        }
    }

    /// The same where a result of the row is a NaN.
    pub(super) fn choose_again(&mut self, op: usize, max: bool, sources: [Slot; 2]) -> Emitted {
        self.folds.restore(op);
        for (part, chosen) in CHOSEN.into_iter().enumerate() {
            self.choose(op, part, max, sources)?;
            self.unit.a.vmovdqa64(ZMM[usize::from(chosen)], zmm2)?;
        }
        self.folds.clear();
        Ok(())
    }

    /// The lesser or the larger number, in the third temporary register: −0 is less than +0, and a number is taken
    /// before a NaN.
    pub(super) fn choose(&mut self, op: usize, part: usize, max: bool, [a, b]: [Slot; 2]) -> Emitted {
        let one = self.register(op, a, part, 0, true)?;
        let two = self.register(op, b, part, 1, true)?;
        let (one, two) = (ZMM[usize::from(one)], ZMM[usize::from(two)]);
        let nan = self.unit.word(0x7fff_ffff);
        let a = &mut self.unit.a;
        // The order of the bits as integers, those of negative numbers inverted.
        for (key, of) in [(zmm3, one), (zmm4, two)] {
            a.vpsrad(key, of, 31)?;
            a.vpsrld(key, key, 1)?;
            a.vpxord(key, key, of)?;
        }
        a.vpcmpgtd(k1, zmm3, zmm4)?;
        match max {
            true => a.vpblendmd(zmm2.k1(), two, one)?,
            false => a.vpblendmd(zmm2.k1(), one, two)?,
        }
        a.vcmpps(k1, one, one, 3)?;
        a.vmovdqa32(zmm2.k1(), two)?;
        a.vcmpps(k2, two, two, 3)?;
        a.vmovdqa32(zmm2.k2(), one)?;
        a.kandw(k1, k1, k2)?;
        a.vmovdqa32(zmm2.k1(), nan)
    }
}
