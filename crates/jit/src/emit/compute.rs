//! Arithmetic on rows.

use super::predicates::chosen;
use super::scalar::Shift;
use super::{Emitted, Emitter, RAX, Vector, YMM, ZMM, vector3};
use crate::assembler::*;
use crate::classes::Class;
use crate::decode::{Combine, Compute, Extend, Order, PredicateOp, Width};
use crate::flow::before;
use crate::fuse::Logic;
use softwarp_ir::{Alu, Guard, Op, Slot};

/// An instruction with three operands.
type Instruction = fn(&mut Assembler, AsmRegisterZmm, AsmRegisterZmm, Operand) -> Emitted;

/// Applies an instruction to each part of two rows: on words of 32 or of 64 bits.
macro_rules! by_width {
    ($self:ident, $width:expr, $narrow:ident, $wide:ident, $at:expr, $d:expr, $a:expr, $b:expr) => {{
        let instructions: [Instruction; 2] = [Assembler::$narrow, Assembler::$wide];
        $self.binary($at, instructions[usize::from($width == Width::W64)], $width, $d, [$a, $b])
    }};
}

fn parts(width: Width) -> usize {
    match width {
        Width::W32 => 2,
        Width::W64 => 4,
    }
}

impl Emitter<'_> {
    /// Emits arithmetic: in general-purpose registers if the result is affine, else in vectors.
    pub(super) fn compute(&mut self, op: usize, alu: &Alu, compute: Compute) -> Emitted {
        if let Compute::Predicate(of) = compute {
            return self.predicates(op, alu, of);
        }
        if let Compute::CompareFloat { ftz: true, .. } = compute {
            return self.compare_flushed(op, alu, compute);
        }
        if let Compute::Compare { .. }
        | Compute::CompareFloat { .. }
        | Compute::CompareDouble { .. }
        | Compute::CompareShort { .. } = compute
        {
            return self.compare(op, alu, compute);
        }
        let Some(d) = alu.d.get(0) else { return Ok(()) };
        if let Class::Affine(_) = self.result_class(op, d) {
            return match self.classes.shifted_bits(self.flow, op, compute, alu) {
                Some((slot, by, mask)) => {
                    self.scalar_to(op, slot, RAX)?;
                    self.unit.a.shr(eax, by)?;
                    self.unit.a.and(eax, mask as i32)?;
                    self.put_scalar(op, d, RAX)
                }
                None => self.scalar(op, alu, compute, d),
            };
        }
        if self.is_shift_before_bits(op, compute, d) {
            return Ok(());
        }
        if self.is_pair(op, d) {
            let source = |n: usize| alu.s.get(n).unwrap_or(d);
            return self.pair(op, compute, d, std::array::from_fn(source));
        }
        self.check_steps(op, alu, compute, d)?;
        self.ready_for(op, alu, compute)?;
        self.vector(op, alu, compute, d)?;
        self.end_ready(op);
        Ok(())
    }

    /// Whether nothing but the operation behind a shift reads the result, which it computes itself
    /// ([`crate::classes::Classes::shifted_bits`]).
    fn is_shift_before_bits(&self, op: usize, compute: Compute, d: Slot) -> bool {
        let (Compute::Shr { .. }, Some(web), Some(Op::Alu(alu))) =
            (compute, self.flow.written(op, d), self.function.ops.get(op + 1))
        else {
            return false;
        };
        let Some(behind) = self.flow.actions[op + 1].compute() else { return false };
        let is_affine = |d: Slot| !self.result_class(op + 1, d).is_vector();
        self.flow.block_of[op] == self.flow.block_of[op + 1]
            && !self.flow.is_live(web, before(op + 2))
            && alu.guard == Guard::ALWAYS
            && alu.d.get(0).is_some_and(is_affine)
            && alu.s.get(0) == Some(d)
            && self.classes.shifted_bits(self.flow, op + 1, behind, alu).is_some()
    }

    /// Applies an instruction to each part of two rows.
    fn binary(
        &mut self,
        op: usize,
        instruction: Instruction,
        width: Width,
        d: Slot,
        [a, b]: [Slot; 2],
    ) -> Emitted {
        for part in 0..parts(width) {
            let a = self.register(op, a, part, 0, false)?;
            let b = self.source(op, b, part, 1, false)?;
            let (a, b) = (ZMM[usize::from(a)], self.operand(b));
            if let Some(d) = self.merging(op, d, part)? {
                instruction(&mut self.unit.a, d, a, b)?;
                continue;
            }
            let target = self.target(op, d, part, 2);
            instruction(&mut self.unit.a, ZMM[usize::from(target)], a, b)?;
            self.put(op, d, part, target)?;
        }
        Ok(())
    }

    fn vector(&mut self, op: usize, alu: &Alu, compute: Compute, d: Slot) -> Emitted {
        let source = |n: usize| alu.s.get(n).unwrap_or(d);
        let (a, b) = self.ordered(op, compute, source(0), source(1));
        match compute {
            Compute::Copy(width) => {
                for part in 0..parts(width) {
                    let target = self.target(op, d, part, 0);
                    let from = self.register(op, a, part, target, self.takes_any_nan(op, d))?;
                    self.put(op, d, part, from)?;
                }
                Ok(())
            }
            Compute::Add(width) => by_width!(self, width, vpaddd, vpaddq, op, d, a, b),
            Compute::Sub(width) => by_width!(self, width, vpsubd, vpsubq, op, d, a, b),
            Compute::And(width) => by_width!(self, width, vpandd, vpandq, op, d, a, b),
            Compute::Or(width) => by_width!(self, width, vpord, vporq, op, d, a, b),
            Compute::Xor(width) => by_width!(self, width, vpxord, vpxorq, op, d, a, b),
            Compute::Min { width, signed: true } => by_width!(self, width, vpminsd, vpminsq, op, d, a, b),
            Compute::Min { width, signed: false } => by_width!(self, width, vpminud, vpminuq, op, d, a, b),
            Compute::Max { width, signed: true } => by_width!(self, width, vpmaxsd, vpmaxsq, op, d, a, b),
            Compute::Max { width, signed: false } => by_width!(self, width, vpmaxud, vpmaxuq, op, d, a, b),
            Compute::Shl(Width::W32) => self.binary(op, Assembler::vpsllvd, Width::W32, d, [a, b]),
            Compute::Shr { width: Width::W32, signed: true } => {
                self.binary(op, Assembler::vpsravd, Width::W32, d, [a, b])
            }
            Compute::Shr { width: Width::W32, signed: false } => {
                self.binary(op, Assembler::vpsrlvd, Width::W32, d, [a, b])
            }
            Compute::Shl(Width::W64) => self.shift_wide(op, Shift::Left, d, a, b),
            Compute::Shr { width: Width::W64, signed } => {
                self.shift_wide(op, Shift::Right { signed }, d, a, b)
            }
            Compute::Neg(width) => self.negated(op, (false, width), d, a),
            Compute::Not(width) => self.negated(op, (true, width), d, a),
            Compute::Mul(Width::W32) if self.is_recurrent(op, [a, b]) => {
                self.recurrent_product(op, d, [a, b])
            }
            Compute::Mul(width) => by_width!(self, width, vpmulld, vpmullq, op, d, a, b),
            Compute::Mad(width) => self.multiply_add(op, width, d, [a, b, source(2)]),
            Compute::Wide { signed, add } => self.wide_products(op, (signed, add), d, [a, b, source(2)]),
            Compute::Lop3(table) => self.logic(op, Logic { d, sources: [a, b, source(2)], count: 3, table }),
            Compute::High { signed } => self.high(op, signed, d, [a, b]),
            Compute::Permute(selector) => self.permute(op, selector, d, a, b),
            Compute::Funnel { left } => match self.classes.constant(self.flow, source(2)) {
                Some(by) => self.funnel_by(op, (left, by & 31), d, [a, b]),
                None => self.funnel(op, left, d, [a, b, source(2)]),
            },
            Compute::Select(width) => self.select(op, width, d, [a, b, source(2)]),
            Compute::Extend(extend) => self.extend(op, extend, d, a),
            Compute::Pack64 => self.packed(op, d, [a, b]),
            Compute::High32 => self.narrowed(op, d, a, true),
            Compute::Float(float) => self.float(op, float, d, [a, b, source(2)]),
            Compute::Convert(convert) => self.convert(op, convert, d, [a, b]),
            Compute::Halves => self.halves(op, d, [a, b]),
            Compute::Flushed(float) => self.flushed(op, float, d, [a, b, source(2)]),
            Compute::Special(special) => self.special(op, special, d, [a, b]),
            Compute::Integer(integer) => self.integer(op, integer, d, [a, b, source(2), source(3)]),
            Compute::Half(half) => self.half_precision(op, half, d, [a, b, source(2)]),
            Compute::Double(float) => self.double(op, float, d, [a, b, source(2)]),
            Compute::WideConvert(convert) => self.wide_convert(op, convert, d, a),
            Compute::Rounded(float, rounding) => self.rounded(op, (float, rounding), d, [a, b, source(2)]),
            Compute::Compare { .. }
            | Compute::CompareFloat { .. }
            | Compute::CompareDouble { .. }
            | Compute::CompareShort { .. }
            | Compute::Predicate(_) => Err(Unencodable),
        }
    }

    /// `-a` or `!a`.
    fn negated(&mut self, op: usize, (is_not, width): (bool, Width), d: Slot, a: Slot) -> Emitted {
        for part in 0..parts(width) {
            let from = self.source(op, a, part, 0, false)?;
            let target = self.target(op, d, part, 2);
            let (z, t) = (zmm1, ZMM[usize::from(target)]);
            match (is_not, width) {
                (true, _) if let Vector::Register(from) = from => {
                    let from = ZMM[usize::from(from)];
                    self.unit.a.vpternlogd(t, from, from, 0x55)?;
                }
                (false, Width::W32) => {
                    self.unit.a.vpxord(z, z, z)?;
                    vector3!(self, vpsubd, t, z, from);
                }
                (false, Width::W64) => {
                    self.unit.a.vpxord(z, z, z)?;
                    vector3!(self, vpsubq, t, z, from);
                }
                (true, Width::W32) => {
                    self.unit.a.vpternlogd(z, z, z, 0xff)?;
                    vector3!(self, vpxord, t, z, from);
                }
                (true, Width::W64) => {
                    self.unit.a.vpternlogd(z, z, z, 0xff)?;
                    vector3!(self, vpxorq, t, z, from);
                }
            }
            self.put(op, d, part, target)?;
        }
        Ok(())
    }

    /// 64-bit words of two 32-bit words, the low ones first.
    fn packed(&mut self, op: usize, d: Slot, [a, b]: [Slot; 2]) -> Emitted {
        for part in 0..4 {
            self.widened(op, a, part, false, 0)?;
            self.widened(op, b, part, false, 1)?;
            self.unit.a.vpsllq(zmm1, zmm1, 32)?;
            self.unit.a.vporq(zmm3, zmm0, zmm1)?;
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// Whether what an operation writes may hold any NaN in place of the canonical one.
    pub(super) fn takes_any_nan(&self, op: usize, d: Slot) -> bool {
        self.flow.written(op, d).is_some_and(|web| self.lazy[web])
    }

    /// Eight words of a row of 32-bit words, extended to 64 bits, in a temporary register.
    pub(super) fn widened(&mut self, op: usize, slot: Slot, part: usize, signed: bool, to: u8) -> Emitted {
        let source = self.source(op, slot, part / 2, to, false)?;
        let t = ZMM[usize::from(to)];
        let narrow = match source {
            Vector::Memory(_) => {
                let half = ymmword_ptr(r12 + (slot.number() as usize * 128 + 32 * part));
                return match signed {
                    true => self.unit.a.vpmovsxdq(t, half),
                    false => self.unit.a.vpmovzxdq(t, half),
                };
            }
            Vector::Register(_) | Vector::Broadcast(_) | Vector::Loaded(_) => {
                self.in_register(source, false, to)?
            }
        };
        if part % 2 == 1 {
            self.unit.a.vextracti64x4(YMM[usize::from(to)], ZMM[usize::from(narrow)], 1)?;
        }
        let from = if part % 2 == 1 { YMM[usize::from(to)] } else { YMM[usize::from(narrow)] };
        match signed {
            true => self.unit.a.vpmovsxdq(t, from),
            false => self.unit.a.vpmovzxdq(t, from),
        }
    }

    fn shift_wide(&mut self, op: usize, shift: Shift, d: Slot, a: Slot, b: Slot) -> Emitted {
        for part in 0..4 {
            self.widened(op, b, part, false, 1)?;
            let value = self.register(op, a, part, 0, false)?;
            let value = ZMM[usize::from(value)];
            match shift {
                Shift::Left => self.unit.a.vpsllvq(zmm3, value, zmm1)?,
                Shift::Right { signed: true } => self.unit.a.vpsravq(zmm3, value, zmm1)?,
                Shift::Right { signed: false } => self.unit.a.vpsrlvq(zmm3, value, zmm1)?,
            }
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    fn funnel(&mut self, op: usize, left: bool, d: Slot, [a, b, c]: [Slot; 3]) -> Emitted {
        for part in 0..2 {
            let amount = self.register(op, c, part, 2, false)?;
            let (mask, full) = (self.unit.word(31), self.unit.word(32));
            self.unit.a.vpandd(zmm2, ZMM[usize::from(amount)], mask)?;
            self.unit.a.vmovdqa64(zmm3, full)?;
            self.unit.a.vpsubd(zmm3, zmm3, zmm2)?;
            let low = self.register(op, a, part, 0, false)?;
            let high = self.register(op, b, part, 1, false)?;
            let (low, high) = (ZMM[usize::from(low)], ZMM[usize::from(high)]);
            match left {
                true => {
                    self.unit.a.vpsllvd(zmm2, high, zmm2)?;
                    self.unit.a.vpsrlvd(zmm3, low, zmm3)?;
                }
                false => {
                    self.unit.a.vpsrlvd(zmm2, low, zmm2)?;
                    self.unit.a.vpsllvd(zmm3, high, zmm3)?;
                }
            }
            self.unit.a.vpord(zmm3, zmm3, zmm2)?;
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// A funnel shift by a constant; a rotation if both words are the same.
    fn funnel_by(&mut self, op: usize, (left, by): (bool, u32), d: Slot, [a, b]: [Slot; 2]) -> Emitted {
        for part in 0..2 {
            let low = self.register(op, a, part, 0, false)?;
            let low = ZMM[usize::from(low)];
            if a == b {
                let target = self.target(op, d, part, 2);
                match left {
                    true => self.unit.a.vprold(ZMM[usize::from(target)], low, by)?,
                    false => self.unit.a.vprord(ZMM[usize::from(target)], low, by)?,
                }
                self.put(op, d, part, target)?;
                continue;
            }
            let high = self.register(op, b, part, 1, false)?;
            let high = ZMM[usize::from(high)];
            let (up, down) = if left { (by, 32 - by) } else { (32 - by, by) };
            self.unit.a.vpslld(zmm2, high, up)?;
            self.unit.a.vpsrld(zmm3, low, down)?;
            self.unit.a.vpord(zmm3, zmm3, zmm2)?;
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// Bytes of two words, by a constant selector.
    fn permute(&mut self, op: usize, selector: u16, d: Slot, a: Slot, b: Slot) -> Emitted {
        let mut masks = [[0x80u8; 64]; 2];
        for (at, (low, high)) in (0..64usize).map(|at| (at, (at % 4, at / 4 % 4))) {
            let byte = usize::from(selector >> (4 * low) & 7);
            masks[byte / 4][at] = (4 * high + byte % 4) as u8;
        }
        let [first, second] = masks.map(|mask| self.unit.bytes(mask.to_vec()));
        for part in 0..2 {
            let one = self.register(op, a, part, 0, false)?;
            let two = self.register(op, b, part, 1, false)?;
            let target = self.target(op, d, part, 4);
            self.unit.a.vpshufb(zmm2, ZMM[usize::from(one)], first)?;
            self.unit.a.vpshufb(zmm3, ZMM[usize::from(two)], second)?;
            self.unit.a.vpord(ZMM[usize::from(target)], zmm2, zmm3)?;
            self.put(op, d, part, target)?;
        }
        Ok(())
    }

    fn select(&mut self, op: usize, width: Width, d: Slot, [a, b, c]: [Slot; 3]) -> Emitted {
        let predicate = c.number() as usize * 4;
        let known = self.known_predicate(op, c);
        for part in 0..parts(width) {
            if let Some(from) = known.and_then(|known| chosen(known, (part, parts(width)), [a, b])) {
                let target = self.target(op, d, part, 2);
                let from = self.register(op, from, part, target, false)?;
                self.put(op, d, part, from)?;
                continue;
            }
            if let (Some(known), Width::W32) = (known, width)
                && self.select_or_zero(op, d, part, known, [a, b])?
            {
                continue;
            }
            let no = self.register(op, b, part, 0, false)?;
            let yes = self.source(op, a, part, 1, false)?;
            let target = self.target(op, d, part, 2);
            let (no, t) = (ZMM[usize::from(no)], ZMM[usize::from(target)]);
            match width {
                Width::W32 => {
                    self.unit.a.kmovw(k2, word_ptr(r14 + (predicate + 2 * part)))?;
                    vector3!(self, vpblendmd, t.k2(), no, yes);
                }
                Width::W64 => {
                    self.unit.a.kmovb(k2, byte_ptr(r14 + (predicate + part)))?;
                    vector3!(self, vpblendmq, t.k2(), no, yes);
                }
            }
            self.put(op, d, part, target)?;
        }
        Ok(())
    }

    fn extend(&mut self, op: usize, extend: Extend, d: Slot, a: Slot) -> Emitted {
        match extend {
            Extend::Sign64 | Extend::Zero64 => {
                for part in 0..4 {
                    self.widened(op, a, part, extend == Extend::Sign64, 0)?;
                    self.put(op, d, part, 0)?;
                }
                Ok(())
            }
            Extend::Low32 => self.narrowed(op, d, a, false),
            Extend::Field { shift, bits } => {
                for part in 0..2 {
                    let from = self.register(op, a, part, 0, false)?;
                    let target = self.target(op, d, part, 2);
                    let t = ZMM[usize::from(target)];
                    if shift == 0 && bits == 32 {
                        self.unit.a.vmovdqa64(t, ZMM[usize::from(from)])?;
                    } else if shift == 0 {
                        let mask = self.unit.word(u32::MAX >> (32 - bits.clamp(1, 32)));
                        self.unit.a.vpandd(t, ZMM[usize::from(from)], mask)?;
                    } else {
                        self.unit.a.vpsrld(t, ZMM[usize::from(from)], shift)?;
                        let mask = self.unit.word(u32::MAX >> (32 - bits.clamp(1, 32)));
                        self.unit.a.vpandd(t, t, mask)?;
                    }
                    self.put(op, d, part, target)?;
                }
                Ok(())
            }
            Extend::Sign { from, to } => {
                let by = 32 - from.clamp(1, 32);
                let low = (to < 32).then(|| self.unit.word(u32::MAX >> (32 - to.clamp(1, 32))));
                for part in 0..2 {
                    let source = self.register(op, a, part, 0, false)?;
                    let target = self.target(op, d, part, 2);
                    let t = ZMM[usize::from(target)];
                    self.unit.a.vpslld(t, ZMM[usize::from(source)], by)?;
                    self.unit.a.vpsrad(t, t, by)?;
                    if let Some(low) = low {
                        self.unit.a.vpandd(t, t, low)?;
                    }
                    self.put(op, d, part, target)?;
                }
                Ok(())
            }
        }
    }

    /// The low or high halves of 64-bit words.
    fn narrowed(&mut self, op: usize, d: Slot, a: Slot, high: bool) -> Emitted {
        for part in 0..2 {
            for (half, to) in [(0, 3u8), (1, 4)] {
                let from = self.register(op, a, 2 * part + half, 0, false)?;
                let mut from = ZMM[usize::from(from)];
                if high {
                    self.unit.a.vpsrlq(zmm0, from, 32)?;
                    from = zmm0;
                }
                self.unit.a.vpmovqd(YMM[usize::from(to)], from)?;
            }
            self.unit.a.vinserti64x4(zmm3, zmm3, ymm4, 1)?;
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// A comparison of rows: the lanes in which it holds, in `eax`.
    pub(super) fn compare(&mut self, op: usize, alu: &Alu, compute: Compute) -> Emitted {
        let (Some(a), Some(b)) = (alu.s.get(0), alu.s.get(1)) else { return Ok(()) };
        let single = alu.d.get(0).filter(|_| alu.d.count() == 1 && alu.s.get(2).is_none());
        let mut quick = None;
        let combine = match compute {
            Compute::Compare { width, signed, order, combine } => {
                let uniform = |slot| self.class(op, slot) == Class::UNIFORM;
                if let Some(holds) = self.known_result(op, (width, signed, order), [a, b]) {
                    self.unit.a.mov(eax, holds)?;
                } else if self.mode == crate::Mode::Uniform && uniform(a) && uniform(b) {
                    if single.is_some_and(|predicate| self.only_branches(op, predicate)) {
                        self.decides = Some(op);
                        return Ok(());
                    }
                    self.compare_scalars(op, (width, signed, order), a, b)?;
                } else {
                    if let Some(predicate) = single {
                        quick = self.compare_ends(op, (width, signed, order), [a, b], predicate)?;
                    }
                    match quick.and_then(|quick| quick.mixed) {
                        Some(lanes) => self.unit.a.mov(eax, lanes)?,
                        None => self.compare_integers(op, (width, signed, order), a, b)?,
                    }
                }
                combine
            }
            Compute::CompareDouble { predicate, combine } => {
                self.compare_doubles(op, predicate, a, b)?;
                combine
            }
            Compute::CompareShort { of, predicate, combine } => {
                self.compare_shorts(op, (of, predicate), [a, b])?;
                combine
            }
            // Where it flushes, no source is subnormal ([`Emitter::compare_flushed`]).
            Compute::CompareFloat { predicate, combine, ftz: true | false } => {
                for (part, k) in [(0, k1), (1, k2)] {
                    let one = self.register(op, a, part, 0, true)?;
                    let two = self.source(op, b, part, 1, true)?;
                    let one = ZMM[usize::from(one)];
                    let two = self.operand(two);
                    self.unit.a.vcmpps(k, one, two, i32::from(predicate))?;
                }
                self.unit.a.kunpckwd(k1, k2, k1)?;
                self.unit.a.kmovd(eax, k1)?;
                combine
            }
            // They are no comparisons.
            Compute::Copy(_) | Compute::Add(_) | Compute::Sub(_) | Compute::Neg(_) | Compute::Mul(_) => {
                return Err(Unencodable);
            }
            Compute::High { .. } | Compute::Permute(_) | Compute::Mad(_) | Compute::Wide { .. } => {
                return Err(Unencodable);
            }
            Compute::And(_) | Compute::Or(_) | Compute::Xor(_) | Compute::Not(_) | Compute::Lop3(_) => {
                return Err(Unencodable);
            }
            Compute::Shl(_) | Compute::Shr { .. } | Compute::Funnel { .. } => return Err(Unencodable),
            Compute::Min { .. } | Compute::Max { .. } | Compute::Select(_) => return Err(Unencodable),
            Compute::Extend(_) | Compute::Halves | Compute::Pack64 | Compute::High32 => {
                return Err(Unencodable);
            }
            Compute::Integer(_) | Compute::Half(_) | Compute::Double(_) => return Err(Unencodable),
            Compute::Float(_) | Compute::Rounded(..) | Compute::Flushed(_) => return Err(Unencodable),
            Compute::Convert(_) | Compute::WideConvert(_) => return Err(Unencodable),
            Compute::Special(_) | Compute::Predicate(_) => return Err(Unencodable),
        };
        // The second result is the first of the opposite comparison.
        if alu.d.count() == 2 {
            self.unit.a.mov(edx, eax)?;
            self.unit.a.not(edx)?;
        }
        let with = alu.s.get(2).map(|c| self.predicate(c));
        if let Some(with) = with {
            for register in if alu.d.count() == 2 { &[eax, edx][..] } else { &[eax] } {
                match combine {
                    Combine::Nothing => {}
                    Combine::And => self.unit.a.and(*register, with)?,
                    Combine::Or => self.unit.a.or(*register, with)?,
                    Combine::Xor => self.unit.a.xor(*register, with)?,
                }
            }
        }
        if let Some(q) = alu.d.get(1) {
            self.put_predicate(q, edx)?;
        }
        match alu.d.get(0) {
            Some(p) => self.put_predicate(p, eax),
            None => Ok(()),
        }?;
        self.in_eax = alu.d.get(0).filter(|_| !self.masked);
        match quick {
            Some(quick) => self.end_quick(op, quick),
            None => Ok(()),
        }
    }

    fn compare_integers(
        &mut self,
        op: usize,
        (width, signed, order): (Width, bool, Order),
        a: Slot,
        b: Slot,
    ) -> Emitted {
        let predicate = i32::from(order.predicate());
        let masks = [k1, k2, k3, k4];
        for (part, &k) in masks.iter().enumerate().take(parts(width)) {
            let one = self.register(op, a, part, 0, false)?;
            let two = self.source(op, b, part, 1, false)?;
            let one = ZMM[usize::from(one)];
            let two = self.operand(two);
            let asm = &mut self.unit.a;
            match (width, signed) {
                (Width::W32, true) => asm.vpcmpd(k, one, two, predicate)?,
                (Width::W32, false) => asm.vpcmpud(k, one, two, predicate)?,
                (Width::W64, true) => asm.vpcmpq(k, one, two, predicate)?,
                (Width::W64, false) => asm.vpcmpuq(k, one, two, predicate)?,
            }
        }
        if width == Width::W64 {
            self.unit.a.kunpckbw(k1, k2, k1)?;
            self.unit.a.kunpckbw(k2, k4, k3)?;
        }
        self.unit.a.kunpckwd(k1, k2, k1)?;
        self.unit.a.kmovd(eax, k1)
    }

    /// Writes a predicate; `ecx` is used.
    pub(super) fn put_predicate(&mut self, slot: Slot, value: AsmRegister32) -> Emitted {
        let place = self.predicate(slot);
        if self.masked {
            // before ^ (before ^ value) & mask
            self.unit.a.kunpckwd(k1, k7, k6)?;
            self.unit.a.kmovd(ecx, k1)?;
            self.unit.a.xor(value, place)?;
            self.unit.a.and(value, ecx)?;
            return self.unit.a.xor(place, value);
        }
        self.unit.a.mov(place, value)
    }

    fn predicates(&mut self, _op: usize, alu: &Alu, of: PredicateOp) -> Emitted {
        let Some(d) = alu.d.get(0) else { return Ok(()) };
        let source = |n: usize| alu.s.get(n).map(|slot| self.predicate(slot));
        if let PredicateOp::Truth(holds) = of {
            self.unit.a.mov(eax, if holds { -1 } else { 0 })?;
            return self.put_predicate(d, eax);
        }
        let (Some(a), b) = (source(0), source(1)) else { return Ok(()) };
        self.unit.a.mov(eax, a)?;
        match (of, b) {
            (PredicateOp::Copy, _) => {}
            (PredicateOp::Not, _) => self.unit.a.not(eax)?,
            (PredicateOp::And, Some(b)) => self.unit.a.and(eax, b)?,
            (PredicateOp::Or, Some(b)) => self.unit.a.or(eax, b)?,
            (PredicateOp::Xor, Some(b)) => self.unit.a.xor(eax, b)?,
            (PredicateOp::And | PredicateOp::Or | PredicateOp::Xor, None) => return Err(Unencodable),
            (PredicateOp::Truth(_), _) => return Err(Unencodable),
        }
        self.put_predicate(d, eax)?;
        self.in_eax = Some(d).filter(|_| !self.masked);
        Ok(())
    }
}
