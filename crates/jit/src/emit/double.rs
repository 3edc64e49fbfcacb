//! Arithmetic of f64 on rows. NaNs keep their payloads: of several, the result is the one that the interpreter takes.
//! The instructions take the first of their operands.

use super::{Emitted, Emitter, ZMM, vector3};
use crate::assembler::*;
use crate::decode::Float;
use softwarp_ir::Slot;

impl Emitter<'_> {
    /// Arithmetic of f64, rounded to nearest even.
    pub(super) fn double(&mut self, op: usize, float: Float, d: Slot, [a, b, c]: [Slot; 3]) -> Emitted {
        for part in 0..4 {
            match float {
                // Of two NaNs, the second is taken.
                Float::Add => {
                    let one = self.register(op, b, part, 0, false)?;
                    let two = self.source(op, a, part, 1, false)?;
                    vector3!(self, vaddpd, zmm3, ZMM[usize::from(one)], two);
                }
                Float::Mul => {
                    let one = self.register(op, b, part, 0, false)?;
                    let two = self.source(op, a, part, 1, false)?;
                    vector3!(self, vmulpd, zmm3, ZMM[usize::from(one)], two);
                }
                Float::Sub => {
                    let one = self.register(op, a, part, 0, false)?;
                    let two = self.register(op, b, part, 1, false)?;
                    let (one, two) = (ZMM[usize::from(one)], ZMM[usize::from(two)]);
                    self.unit.a.vsubpd(zmm3, one, two)?;
                    self.take_nan(two)?;
                }
                Float::Div => {
                    let one = self.register(op, a, part, 0, false)?;
                    let two = self.source(op, b, part, 1, false)?;
                    vector3!(self, vdivpd, zmm3, ZMM[usize::from(one)], two);
                }
                Float::Fma => {
                    let two = self.register(op, b, part, 2, false)?;
                    let three = self.register(op, c, part, 1, false)?;
                    let (two, three) = (ZMM[usize::from(two)], ZMM[usize::from(three)]);
                    let one = self.source(op, a, part, 0, false)?;
                    self.unit.a.vmovapd(zmm3, two)?;
                    vector3!(self, vfmadd132pd, zmm3, three, one);
                    // The instruction takes a NaN of the factors first, the interpreter one of the summand before that of
                    // the first factor.
                    self.unit.a.vcmppd(k1, three, three, 3)?;
                    self.unit.a.vcmppd(k2, two, two, 7)?;
                    self.unit.a.kandw(k1, k1, k2)?;
                    self.unit.a.vaddpd(zmm3.k1(), three, three)?;
                }
                Float::Rcp => {
                    let one = self.wide_word(0x3ff0_0000_0000_0000);
                    self.unit.a.vmovapd(zmm3, one)?;
                    let by = self.source(op, a, part, 1, false)?;
                    vector3!(self, vdivpd, zmm3, zmm3, by);
                }
                Float::Sqrt => {
                    let of = self.register(op, a, part, 0, false)?;
                    self.unit.a.vsqrtpd(zmm3, ZMM[usize::from(of)])?;
                }
                Float::Neg => {
                    let of = self.register(op, a, part, 0, false)?;
                    let of = ZMM[usize::from(of)];
                    let sign = self.wide_word(1 << 63);
                    self.unit.a.vpxorq(zmm3, of, sign)?;
                    self.take_nan(of)?;
                }
                Float::Abs => {
                    let of = self.register(op, a, part, 0, false)?;
                    let of = ZMM[usize::from(of)];
                    let magnitude = self.wide_word(u64::MAX >> 1);
                    self.unit.a.vpandq(zmm3, of, magnitude)?;
                    self.take_nan(of)?;
                }
                Float::Min | Float::Max => self.choose_double(op, part, float == Float::Max, [a, b])?,
            }
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// A 64-bit word for all lanes.
    pub(super) fn wide_word(&mut self, value: u64) -> AsmMemoryOperand {
        self.unit.bytes(value.to_le_bytes().repeat(8))
    }

    /// Where a source is NaN, so is the result in `zmm3`: a sum with itself is quiet.
    fn take_nan(&mut self, source: AsmRegisterZmm) -> Emitted {
        self.unit.a.vcmppd(k1, source, source, 3)?;
        self.unit.a.vaddpd(zmm3.k1(), source, source)
    }

    /// The lesser or the larger number, in `zmm3`: −0 is less than +0, and a number is taken before a NaN.
    fn choose_double(&mut self, op: usize, part: usize, max: bool, [a, b]: [Slot; 2]) -> Emitted {
        let one = self.register(op, a, part, 0, false)?;
        let two = self.register(op, b, part, 1, false)?;
        let (one, two) = (ZMM[usize::from(one)], ZMM[usize::from(two)]);
        let a = &mut self.unit.a;
        // The order of the bits as integers, those of negative numbers inverted.
        for (key, of) in [(zmm2, one), (zmm4, two)] {
            a.vpsraq(key, of, 63)?;
            a.vpsrlq(key, key, 1)?;
            a.vpxorq(key, key, of)?;
        }
        match max {
            true => a.vpcmpgtq(k1, zmm2, zmm4)?,
            false => a.vpcmpgtq(k1, zmm4, zmm2)?,
        }
        a.vpblendmq(zmm3.k1(), two, one)?;
        a.vcmppd(k1, one, one, 3)?;
        a.vmovdqa64(zmm3.k1(), two)?;
        a.vcmppd(k2, two, two, 3)?;
        a.vmovdqa64(zmm3.k2(), one)?;
        a.kandw(k1, k1, k2)?;
        a.vaddpd(zmm3.k1(), two, two)
    }

    /// A comparison of f64, by the predicate of `vcmppd`: the lanes in which it holds, in `eax`.
    pub(super) fn compare_doubles(&mut self, op: usize, predicate: u8, a: Slot, b: Slot) -> Emitted {
        for (part, k) in [k1, k2, k3, k4].into_iter().enumerate() {
            let one = self.register(op, a, part, 0, false)?;
            let two = self.register(op, b, part, 1, false)?;
            let (one, two) = (ZMM[usize::from(one)], ZMM[usize::from(two)]);
            self.unit.a.vcmppd(k, one, two, i32::from(predicate))?;
        }
        self.unit.a.kunpckbw(k1, k2, k1)?;
        self.unit.a.kunpckbw(k2, k4, k3)?;
        self.unit.a.kunpckwd(k1, k2, k1)?;
        self.unit.a.kmovd(eax, k1)
    }
}
