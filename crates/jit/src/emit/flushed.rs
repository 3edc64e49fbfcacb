//! Arithmetic in f32 with `.ftz`. Where a source or the result may be subnormal, the interpreter does the row.

use super::{Emitted, Emitter, Late, Vector, ZMM, vector3};
use crate::assembler::*;
use crate::decode::{Compute, Float, constant};
use softwarp_ir::{Alu, Slot};

/// The registers of results, part by part.
const RESULT: [u8; 2] = [5, 6];
/// Lanes that the interpreter has to do.
const RARE: [AsmRegisterK; 2] = [k3, k4];

impl Emitter<'_> {
    pub(super) fn flushed(&mut self, op: usize, float: Float, d: Slot, sources: [Slot; 3]) -> Emitted {
        let (slow, mut back) = (self.unit.a.create_label(), self.unit.a.create_label());
        let [a, b, c] = sources;
        self.find_subnormal(op, &sources[..float.sources()])?;
        for part in 0..2 {
            let r = ZMM[usize::from(RESULT[part])];
            match float {
                Float::Fma => self.fma(op, part, RESULT[part], [a, b, c])?,
                Float::Min | Float::Max => {
                    self.choose(op, part, float == Float::Max, [a, b])?;
                    self.unit.a.vmovdqa64(r, zmm2)?;
                }
                Float::Sqrt => {
                    let of = self.register(op, a, part, 0, true)?;
                    self.unit.a.vsqrtps(r, ZMM[usize::from(of)])?;
                }
                Float::Neg => {
                    let of = self.register(op, a, part, 0, true)?;
                    let sign = self.unit.word(1 << 31);
                    self.unit.a.vpxord(r, ZMM[usize::from(of)], sign)?;
                }
                Float::Abs => {
                    let of = self.register(op, a, part, 0, true)?;
                    let magnitude = self.unit.word(u32::MAX >> 1);
                    self.unit.a.vpandd(r, ZMM[usize::from(of)], magnitude)?;
                }
                Float::Rcp => {
                    let one = self.unit.word(0x3f80_0000);
                    self.unit.a.vmovaps(zmm0, one)?;
                    let by = self.source(op, a, part, 1, true)?;
                    vector3!(self, vdivps, r, zmm0, by);
                }
                Float::Add => {
                    let (one, two) = self.flushed_operands(op, part, [a, b])?;
                    vector3!(self, vaddps, r, one, two);
                }
                Float::Sub => {
                    let (one, two) = self.flushed_operands(op, part, [a, b])?;
                    vector3!(self, vsubps, r, one, two);
                }
                Float::Mul => {
                    let (one, two) = self.flushed_operands(op, part, [a, b])?;
                    vector3!(self, vmulps, r, one, two);
                }
                Float::Div => {
                    let (one, two) = self.flushed_operands(op, part, [a, b])?;
                    vector3!(self, vdivps, r, one, two);
                }
            }
            if float.rounds() {
                // Numbers below twice the least normal one, except zero: one may have been rounded up to that.
                let (exponent, magnitude) = (self.unit.word(0x7f00_0000), self.unit.word(u32::MAX >> 1));
                let asm = &mut self.unit.a;
                asm.vptestnmd(k1, r, exponent)?;
                asm.vptestmd(k1.k1(), r, magnitude)?;
                asm.korw(RARE[part], RARE[part], k1)?;
            }
            if !float.chooses() {
                self.canonical(RESULT[part])?;
            }
        }
        self.late.push(Late::Slow { op, label: slow, back, apart: self.apart });
        self.leave_rare(slow)?;
        for (part, from) in RESULT.into_iter().enumerate() {
            self.put(op, d, part, from)?;
        }
        self.unit.place(&mut back)
    }

    /// Two operands of an instruction, the first in a register.
    fn flushed_operands(
        &mut self,
        op: usize,
        part: usize,
        [a, b]: [Slot; 2],
    ) -> Emitted<(AsmRegisterZmm, Vector)> {
        let one = self.register(op, a, part, 0, true)?;
        let two = self.source(op, b, part, 1, true)?;
        Ok((ZMM[usize::from(one)], two))
    }

    /// A comparison with `.ftz`.
    pub(super) fn compare_flushed(&mut self, op: usize, alu: &Alu, compute: Compute) -> Emitted {
        let (slow, mut back) = (self.unit.a.create_label(), self.unit.a.create_label());
        let sources: Vec<Slot> = alu.s.iter().take(2).collect();
        self.find_subnormal(op, &sources)?;
        self.late.push(Late::Slow { op, label: slow, back, apart: self.apart });
        self.leave_rare(slow)?;
        self.compare(op, alu, compute)?;
        // The interpreter leaves the predicate in the frame only.
        self.in_eax = None;
        self.unit.place(&mut back)
    }

    /// Finds the lanes in which a source is subnormal.
    fn find_subnormal(&mut self, op: usize, sources: &[Slot]) -> Emitted {
        let doubtful: Vec<Slot> =
            sources.iter().copied().filter(|&slot| !self.is_never_subnormal(op, slot)).collect();
        for (part, rare) in RARE.into_iter().enumerate() {
            self.unit.a.kxorw(rare, rare, rare)?;
            for &slot in &doubtful {
                let of = self.register(op, slot, part, 0, true)?;
                self.unit.a.vfpclassps(k1, ZMM[usize::from(of)], 0x20)?;
                self.unit.a.korw(rare, rare, k1)?;
            }
        }
        Ok(())
    }

    /// Has the interpreter do an operation if a lane is rare.
    fn leave_rare(&mut self, slow: CodeLabel) -> Emitted {
        let [first, second] = RARE;
        if self.masked {
            self.unit.a.kandw(first, first, k6)?;
            self.unit.a.kandw(second, second, k7)?;
        }
        self.unit.a.kortestw(first, second)?;
        self.unit.a.jnz(slow)
    }

    /// Whether all definitions of a source flush their results, or it is a constant that is not subnormal.
    fn is_never_subnormal(&self, op: usize, slot: Slot) -> bool {
        if let Some(value) = constant(self.function, slot) {
            return !f32::from_bits(value).is_subnormal();
        }
        // Nothing is claimed of other arithmetic.
        let flushes = |&def: &usize| matches!(self.flow.actions[def].compute(), Some(Compute::Flushed(_)));
        !self.flow.is_fixed(slot)
            && self.flow.read(op, slot).is_some_and(|web| self.flow.defs(web).iter().all(flushes))
    }
}
