//! Sums with a carry, which is a predicate of the frame.

use super::{Emitted, Emitter, ZMM};
use crate::assembler::*;
use crate::integers::{Addend, Carry};
use softwarp_ir::Slot;

impl Emitter<'_> {
    /// Emits a sum with a carry.
    pub(super) fn carry(&mut self, op: usize, carry: Carry, d: Slot, s: [Slot; 4]) -> Emitted {
        let place = r14 + Slot::CARRY.number() as usize * 4;
        let (parts, lanes) = if carry.wide { (4, 8) } else { (2, 16) };
        self.unit.a.xor(edx, edx)?;
        for part in 0..parts {
            let [x, y] = self.addends(op, carry, part, s)?;
            let asm = &mut self.unit.a;
            // An unsigned sum is below an addend where it overflows.
            match carry.wide {
                true => {
                    asm.vpaddq(zmm4, x, y)?;
                    asm.vpcmpuq(k3, zmm4, x, 1)?;
                }
                false => {
                    asm.vpaddd(zmm4, x, y)?;
                    asm.vpcmpud(k3, zmm4, x, 1)?;
                }
            }
            match (carry.reads, carry.wide) {
                (true, true) => asm.kmovb(k2, byte_ptr(place + part))?,
                (true, false) => asm.kmovw(k2, word_ptr(place + 2 * part))?,
                (false, true | false) => asm.kxnorw(k2, k2, k2)?,
            }
            let mut sum = 4;
            if carry.reads || carry.addend == Addend::Complement {
                sum = 3;
                asm.vpternlogd(zmm6, zmm6, zmm6, 0xff)?;
                asm.vmovdqa64(zmm3, zmm4)?;
                match carry.wide {
                    true => {
                        asm.vpsubq(zmm3.k2(), zmm4, zmm6)?;
                        asm.vpcmpuq(k4.k2(), zmm3, zmm4, 1)?;
                    }
                    false => {
                        asm.vpsubd(zmm3.k2(), zmm4, zmm6)?;
                        asm.vpcmpud(k4.k2(), zmm3, zmm4, 1)?;
                    }
                }
                asm.korw(k3, k3, k4)?;
            }
            if carry.writes {
                asm.kmovd(ecx, k3)?;
                asm.shl(ecx, (lanes * part) as u32)?;
                asm.or(edx, ecx)?;
            }
            self.put(op, d, part, sum)?;
        }
        if carry.writes { self.put_predicate(Slot::CARRY, edx) } else { Ok(()) }
    }

    /// What is added up, but for the carry.
    fn addends(
        &mut self,
        op: usize,
        carry: Carry,
        part: usize,
        s: [Slot; 4],
    ) -> Emitted<[AsmRegisterZmm; 2]> {
        let a = self.register(op, s[0], part, 0, false)?;
        let b = self.register(op, s[1], part, 1, false)?;
        let [a, b] = [a, b].map(|register| ZMM[usize::from(register)]);
        let product = match carry.addend {
            Addend::Word => return Ok([a, b]),
            Addend::Complement => {
                self.unit.a.vpternlogd(zmm5, b, b, 0x55)?;
                return Ok([a, zmm5]);
            }
            Addend::Low => {
                match carry.wide {
                    true => self.unit.a.vpmullq(zmm3, a, b)?,
                    false => self.unit.a.vpmulld(zmm3, a, b)?,
                }
                zmm3
            }
            Addend::High { signed } => {
                self.products(signed, a, b)?;
                self.words_of_products(zmm5, true)?;
                zmm5
            }
        };
        let c = self.register(op, s[2], part, 2, false)?;
        Ok([product, ZMM[usize::from(c)]])
    }
}
