//! Arithmetic of f32 that is rounded in a direction, by the rounding of an instruction.

use super::{Emitted, Emitter, ZMM};
use crate::assembler::*;
use crate::decode::{Float, Rounding};
use softwarp_ir::Slot;

/// An operand of an instruction that rounds so.
pub(super) fn by(register: AsmRegisterZmm, rounding: Rounding) -> AsmRegisterZmm {
    match rounding {
        Rounding::Nearest => register.rn_sae(),
        Rounding::Down => register.rd_sae(),
        Rounding::Up => register.ru_sae(),
        Rounding::Zero => register.rz_sae(),
    }
}

impl Emitter<'_> {
    /// Arithmetic of f32, rounded in a direction.
    pub(super) fn rounded(
        &mut self,
        op: usize,
        (float, rounding): (Float, Rounding),
        d: Slot,
        [a, b, c]: [Slot; 3],
    ) -> Emitted {
        for part in 0..2 {
            let one = self.register(op, a, part, 0, true)?;
            let one = ZMM[usize::from(one)];
            match float {
                Float::Sqrt => self.unit.a.vsqrtps(zmm2, by(one, rounding))?,
                Float::Rcp => {
                    let numerator = self.unit.word(0x3f80_0000);
                    self.unit.a.vmovaps(zmm3, numerator)?;
                    self.unit.a.vdivps(zmm2, zmm3, by(one, rounding))?;
                }
                Float::Add | Float::Sub | Float::Mul | Float::Div | Float::Fma => {
                    let two = self.register(op, b, part, 1, true)?;
                    let two = by(ZMM[usize::from(two)], rounding);
                    if float == Float::Add {
                        self.unit.a.vaddps(zmm2, one, two)?;
                    } else if float == Float::Sub {
                        self.unit.a.vsubps(zmm2, one, two)?;
                    } else if float == Float::Mul {
                        self.unit.a.vmulps(zmm2, one, two)?;
                    } else if float == Float::Div {
                        self.unit.a.vdivps(zmm2, one, two)?;
                    } else {
                        let three = self.register(op, c, part, 3, true)?;
                        self.unit.a.vmovaps(zmm2, ZMM[usize::from(three)])?;
                        self.unit.a.vfmadd231ps(zmm2, one, two)?;
                    }
                }
                // They are exact.
                Float::Neg | Float::Abs | Float::Min | Float::Max => return Err(Unencodable),
            }
            self.canonical(2)?;
            self.put(op, d, part, 2)?;
        }
        Ok(())
    }
}
