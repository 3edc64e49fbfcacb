//! Arithmetic on values that are one scalar: the value of the first lane.

use super::{Emitted, Emitter, G32, G64, RAX, RCX, RDX};
use crate::assembler::*;
use crate::classes::Class;
use crate::decode::{Compute, Extend, Integer, Order, Width};
use crate::fuse::Logic;
use softwarp_ir::{Alu, Slot};

/// Where the value of the first lane of a row is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scalar {
    Constant(i32),
    /// A general-purpose register.
    Register(u8),
    Memory(AsmMemoryOperand),
}

/// A sum, a difference or a bitwise operation of two scalars.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ScalarPair {
    Add,
    Sub,
    And,
    Or,
    Xor,
}

impl ScalarPair {
    /// None for other arithmetic.
    pub(super) fn of(compute: Compute) -> Option<ScalarPair> {
        match compute {
            Compute::Add(_) => Some(ScalarPair::Add),
            Compute::Sub(_) => Some(ScalarPair::Sub),
            Compute::And(_) => Some(ScalarPair::And),
            Compute::Or(_) => Some(ScalarPair::Or),
            Compute::Xor(_) => Some(ScalarPair::Xor),
            Compute::Copy(_) | Compute::Neg(_) | Compute::Mul(_) | Compute::High { .. } => None,
            Compute::Permute(_) | Compute::Mad(_) | Compute::Wide { .. } | Compute::Not(_) => None,
            Compute::Lop3(_) | Compute::Shl(_) | Compute::Shr { .. } | Compute::Funnel { .. } => None,
            Compute::Min { .. } | Compute::Max { .. } | Compute::Select(_) | Compute::Extend(_) => None,
            Compute::Halves | Compute::Pack64 | Compute::High32 | Compute::Compare { .. } => None,
            Compute::CompareFloat { .. } | Compute::CompareDouble { .. } => None,
            Compute::CompareShort { .. } | Compute::Integer(_) | Compute::Half(_) => None,
            Compute::Double(_) | Compute::Float(_) | Compute::Rounded(..) | Compute::Flushed(_) => None,
            Compute::Convert(_) | Compute::WideConvert(_) => None,
            Compute::Special(_) | Compute::Predicate(_) => None,
        }
    }
}

/// A shift.
#[derive(Clone, Copy)]
pub(super) enum Shift {
    Left,
    Right { signed: bool },
}

impl Emitter<'_> {
    /// The value of the first lane of a source, in a general-purpose register. One of 32 bits is extended with zeros.
    pub(super) fn scalar_to(&mut self, op: usize, slot: Slot, to: u8) -> Emitted {
        let (narrow, wide) = (G32[usize::from(to)], G64[usize::from(to)]);
        if self.flow.is_fixed(slot)
            && let (_, Some(value)) = self.classes.source(self.flow, op, slot)
        {
            return match u32::try_from(value) {
                Ok(0) => self.unit.a.xor(narrow, narrow),
                Ok(value) => self.unit.a.mov(narrow, value),
                Err(_) => self.unit.a.mov(wide, value),
            };
        }
        let web = if self.flow.is_fixed(slot) { None } else { self.flow.read(op, slot) };
        match (web.and_then(|web| self.places[web].scalar()), slot.is_wide()) {
            (Some(from), true) => self.unit.a.mov(wide, G64[usize::from(from)]),
            (Some(from), false) => self.unit.a.mov(narrow, G32[usize::from(from)]),
            (None, is_wide) => {
                self.check_first(slot)?;
                match is_wide {
                    true => self.unit.a.mov(wide, self.first(slot)),
                    false => self.unit.a.mov(narrow, self.first(slot)),
                }
            }
        }
    }

    /// Where the value of the first lane of a source is.
    pub(super) fn scalar_source(&self, op: usize, slot: Slot) -> Scalar {
        if self.flow.is_fixed(slot) {
            let value = self.classes.source(self.flow, op, slot).1;
            let value =
                value.map(|value| if slot.is_wide() { value as i64 } else { i64::from(value as i32) });
            let constant = value.and_then(|value| i32::try_from(value).ok()).map(Scalar::Constant);
            return constant.unwrap_or(Scalar::Memory(self.first(slot)));
        }
        let register = self.flow.read(op, slot).and_then(|web| self.places[web].scalar());
        register.map_or_else(|| Scalar::Memory(self.first(slot)), Scalar::Register)
    }

    /// A sum, a difference or a bitwise operation, in the register of the result if it has one.
    fn scalar_pair(&mut self, op: usize, pair: ScalarPair, d: Slot, [a, b]: [Slot; 2]) -> Emitted {
        let own = self.flow.written(op, d).and_then(|web| self.places[web].scalar());
        let is_own =
            |slot: Slot| own.is_some_and(|own| self.scalar_source(op, slot) == Scalar::Register(own));
        let swaps = pair != ScalarPair::Sub && is_own(b) && !is_own(a);
        let (a, b) = if swaps { (b, a) } else { (a, b) };
        let source = self.scalar_source(op, b);
        let is_taken = |to: u8| source == Scalar::Register(to) && a != b;
        let to = own.filter(|&to| !is_taken(to)).unwrap_or(RAX);
        if self.scalar_source(op, a) != Scalar::Register(to) {
            self.scalar_to(op, a, to)?;
        }
        let (narrow, wide) = (G32[usize::from(to)], G64[usize::from(to)]);
        let asm = &mut self.unit.a;
        macro_rules! pair {
            ($name:ident) => {
                match (source, d.is_wide()) {
                    (Scalar::Constant(value), true) => asm.$name(wide, value)?,
                    (Scalar::Constant(value), false) => asm.$name(narrow, value)?,
                    (Scalar::Register(other), true) => asm.$name(wide, G64[usize::from(other)])?,
                    (Scalar::Register(other), false) => asm.$name(narrow, G32[usize::from(other)])?,
                    (Scalar::Memory(memory), true) => asm.$name(wide, memory)?,
                    (Scalar::Memory(memory), false) => asm.$name(narrow, memory)?,
                }
            };
        }
        match pair {
            ScalarPair::Add => pair!(add),
            ScalarPair::Sub => pair!(sub),
            ScalarPair::And => pair!(and),
            ScalarPair::Or => pair!(or),
            ScalarPair::Xor => pair!(xor),
        }
        if to == RAX { self.put_scalar(op, d, RAX) } else { Ok(()) }
    }

    /// Writes the value of the first lane of a result.
    pub(super) fn put_scalar(&mut self, op: usize, slot: Slot, from: u8) -> Emitted {
        let Some(web) = self.flow.written(op, slot) else { return Ok(()) };
        let (narrow, wide) = (G32[usize::from(from)], G64[usize::from(from)]);
        match (self.places[web].scalar(), slot.is_wide()) {
            (Some(to), true) => self.unit.a.mov(G64[usize::from(to)], wide),
            (Some(to), false) => self.unit.a.mov(G32[usize::from(to)], narrow),
            (None, true) => self.unit.a.mov(self.first(slot), wide),
            (None, false) => self.unit.a.mov(self.first(slot), narrow),
        }
    }

    /// Leaves compiled code if a 32-bit value wraps around from lane to lane, as a signed or as an unsigned number.
    pub(super) fn check_lanes(
        &mut self,
        op: usize,
        slot: Slot,
        value: AsmRegister32,
        signed: bool,
    ) -> Emitted {
        let Class::Affine(steps) = self.class(op, slot) else { return Ok(()) };
        if steps.fit(self.classes.zeros(self.flow, op, slot)) {
            return Ok(());
        }
        // Steps of 32 bits do not wrap around in 64.
        let (least, most) = steps.range().ok_or(Unencodable)?;
        for end in [least, most].into_iter().filter(|&end| end != 0) {
            let exit = self.exit_label(op);
            self.unit.a.mov(edx, value)?;
            self.unit.a.add(edx, end as i32)?;
            match signed {
                true => self.unit.a.jo(exit)?,
                false => self.unit.a.jb(exit)?,
            }
        }
        Ok(())
    }

    pub(super) fn scalar(&mut self, op: usize, alu: &Alu, compute: Compute, d: Slot) -> Emitted {
        let source = |n: usize| alu.s.get(n).unwrap_or(d);
        let (a, b) = (source(0), source(1));
        if let Compute::Lop3(table) = compute {
            return self.logic(op, Logic { d, sources: [a, b, source(2)], count: 3, table });
        }
        if let Some(pair) = ScalarPair::of(compute) {
            return self.scalar_pair(op, pair, d, [a, b]);
        }
        if self.index(op, compute, d, [a, b, source(2)])? {
            return Ok(());
        }
        self.scalar_to(op, a, RAX)?;
        match compute {
            Compute::Copy(_) | Compute::Extend(Extend::Low32) => {}
            Compute::Wide { signed, add } => {
                self.scalar_to(op, b, RCX)?;
                self.check_lanes(op, a, eax, signed)?;
                self.check_lanes(op, b, ecx, signed)?;
                if signed {
                    self.unit.a.movsxd(rax, eax)?;
                    self.unit.a.movsxd(rcx, ecx)?;
                }
                self.unit.a.imul_2(rax, rcx)?;
                if add {
                    self.scalar_to(op, source(2), RCX)?;
                    self.unit.a.add(rax, rcx)?;
                }
            }
            Compute::Extend(Extend::Field { shift, bits }) => {
                if shift != 0 {
                    self.unit.a.shr(eax, shift)?;
                }
                self.unit.a.and(eax, (u32::MAX >> (32 - bits.clamp(1, 32))) as i32)?;
            }
            Compute::Extend(Extend::Sign { from, to }) => {
                let by = 32 - from.clamp(1, 32);
                self.unit.a.shl(eax, by)?;
                self.unit.a.sar(eax, by)?;
                if to < 32 {
                    self.unit.a.and(eax, (u32::MAX >> (32 - to.clamp(1, 32))) as i32)?;
                }
            }
            Compute::Neg(_) => self.unit.a.neg(rax)?,
            Compute::Not(_) => self.unit.a.not(rax)?,
            Compute::Shl(width) => self.shift(op, Shift::Left, width, b)?,
            Compute::Shr { width, signed } => self.shift(op, Shift::Right { signed }, width, b)?,
            Compute::Min { width, signed } => {
                self.compare_with_scalar(op, b, width)?;
                match signed {
                    true => self.unit.a.cmovg(rax, rcx)?,
                    false => self.unit.a.cmova(rax, rcx)?,
                }
            }
            Compute::Max { width, signed } => {
                self.compare_with_scalar(op, b, width)?;
                match signed {
                    true => self.unit.a.cmovl(rax, rcx)?,
                    false => self.unit.a.cmovb(rax, rcx)?,
                }
            }
            Compute::Integer(Integer::Divide { signed, remainder, short }) => {
                self.divide_scalar(op, (signed, remainder, short), [a, b])?;
            }
            Compute::High { signed } => {
                self.scalar_product(op, signed, b)?;
                self.unit.a.shr(rax, 32u32)?;
            }
            Compute::Funnel { left } => self.funnel_scalar(op, left, [b, source(2)])?,
            // `index` computes these, and code above the others.
            Compute::Mul(_) | Compute::Mad(_) | Compute::Lop3(_) => return Err(Unencodable),
            Compute::Extend(Extend::Sign64 | Extend::Zero64) => return Err(Unencodable),
            Compute::Add(_) | Compute::Sub(_) | Compute::And(_) => return Err(Unencodable),
            Compute::Or(_) | Compute::Xor(_) => return Err(Unencodable),
            // Results of these are vectors: no steps are claimed of them ([`crate::classes::Classes`]).
            Compute::Integer(_) | Compute::Permute(_) | Compute::Select(_) => return Err(Unencodable),
            Compute::Halves | Compute::Pack64 | Compute::High32 => return Err(Unencodable),
            Compute::Compare { .. } | Compute::CompareFloat { .. } => return Err(Unencodable),
            Compute::CompareDouble { .. } | Compute::CompareShort { .. } => return Err(Unencodable),
            Compute::Half(_) | Compute::Double(_) | Compute::Float(_) => return Err(Unencodable),
            Compute::Rounded(..) | Compute::Flushed(_) | Compute::Convert(_) => return Err(Unencodable),
            Compute::WideConvert(_) | Compute::Special(_) | Compute::Predicate(_) => return Err(Unencodable),
        }
        self.put_scalar(op, d, RAX)
    }

    /// The product of `rax` and a source, of 32 bits each, in `rax`.
    fn scalar_product(&mut self, op: usize, signed: bool, by: Slot) -> Emitted {
        self.scalar_to(op, by, RCX)?;
        if signed {
            self.unit.a.movsxd(rax, eax)?;
            self.unit.a.movsxd(rcx, ecx)?;
        }
        self.unit.a.imul_2(rax, rcx)
    }

    /// Both halves of a product of scalars. A result may be a vector all the same: other lanes may write it elsewhere.
    pub(super) fn both_halves_scalar(
        &mut self,
        op: usize,
        signed: bool,
        [low, high]: [Slot; 2],
        [a, b]: [Slot; 2],
    ) -> Emitted {
        self.scalar_to(op, a, RAX)?;
        self.scalar_product(op, signed, b)?;
        self.unit.a.mov(rcx, rax)?;
        self.unit.a.shr(rcx, 32u32)?;
        for (d, from) in [(low, RAX), (high, RCX)] {
            if let Class::Affine(_) = self.result_class(op, d) {
                self.put_scalar(op, d, from)?;
                continue;
            }
            self.unit.a.vpbroadcastd(zmm5, G32[usize::from(from)])?;
            for part in 0..2 {
                self.put(op, d, part, 5)?;
            }
        }
        Ok(())
    }

    /// `eax` and a source above it, shifted by an amount modulo 32.
    fn funnel_scalar(&mut self, op: usize, left: bool, [high, by]: [Slot; 2]) -> Emitted {
        self.scalar_to(op, high, RCX)?;
        self.unit.a.shl(rcx, 32u32)?;
        self.unit.a.or(rax, rcx)?;
        match (self.scalar_source(op, by), left) {
            (Scalar::Constant(by), true) => self.unit.a.shl(rax, by as u32 % 32)?,
            (Scalar::Constant(by), false) => self.unit.a.shr(rax, by as u32 % 32)?,
            (Scalar::Register(_) | Scalar::Memory(_), left) => {
                self.scalar_to(op, by, RCX)?;
                self.unit.a.and(ecx, 31)?;
                match left {
                    true => self.unit.a.shl(rax, cl)?,
                    false => self.unit.a.shr(rax, cl)?,
                }
            }
        }
        if left { self.unit.a.shr(rax, 32u32) } else { Ok(()) }
    }

    /// A bitwise function of scalars: `f(a, b, c) = g(a, b) ^ (c & h(a, b))`, where `g` and `h` are sums of products in
    /// the same way.
    pub(super) fn scalar_logic(&mut self, op: usize, logic: Logic) -> Emitted {
        let Logic { d, sources: [a, b, c], table, .. } = logic;
        let bit = |at: u32| table >> at & 1;
        let without: [u8; 4] = std::array::from_fn(|n| bit(2 * n as u32));
        let with: [u8; 4] = std::array::from_fn(|n| without[n] ^ bit(2 * n as u32 + 1));
        if with == [0; 4] {
            self.scalar_terms(op, without, [a, b], RAX)?;
            return self.put_scalar(op, d, RAX);
        }
        self.scalar_terms(op, with, [a, b], RAX)?;
        self.scalar_to(op, c, RCX)?;
        self.unit.a.and(rax, rcx)?;
        self.scalar_terms(op, without, [a, b], RCX)?;
        self.unit.a.xor(rax, rcx)?;
        self.put_scalar(op, d, RAX)
    }

    /// A bitwise function of two scalars by its results for 0 and 0, for 0 and 1, and so on; `rdx` is used.
    fn scalar_terms(&mut self, op: usize, results: [u8; 4], [a, b]: [Slot; 2], to: u8) -> Emitted {
        let [none, second, first, both] = results;
        let t = G64[usize::from(to)];
        // none ^ a & (first ^ none) ^ b & (second ^ none) ^ a & b & (all four)
        let terms = (first ^ none, second ^ none, none ^ first ^ second ^ both);
        match terms {
            (0, 0, 0) => {}
            (0, 1, 0) => self.scalar_to(op, b, to)?,
            (_, _, _) => self.scalar_to(op, a, to)?,
        }
        if !matches!(terms, (0, 0, 0) | (1, 0, 0) | (0, 1, 0)) {
            self.scalar_to(op, b, RDX)?;
        }
        match terms {
            (0, 0, 0) => self.unit.a.xor(t, t)?,
            (1, 0, 0) | (0, 1, 0) => {}
            (1, 1, 0) => self.unit.a.xor(t, rdx)?,
            (0, 0, _) => self.unit.a.and(t, rdx)?,
            (1, 1, _) => self.unit.a.or(t, rdx)?,
            // a & !b, or b & !a
            (1, 0, _) => {
                self.unit.a.not(rdx)?;
                self.unit.a.and(t, rdx)?;
            }
            (_, _, _) => {
                self.unit.a.not(t)?;
                self.unit.a.and(t, rdx)?;
            }
        }
        if none == 1 { self.unit.a.not(t) } else { Ok(()) }
    }

    /// Compares `rax` with a source, which is in `rcx` then.
    fn compare_with_scalar(&mut self, op: usize, b: Slot, width: Width) -> Emitted {
        self.scalar_to(op, b, RCX)?;
        match width {
            Width::W32 => self.unit.a.cmp(eax, ecx),
            Width::W64 => self.unit.a.cmp(rax, rcx),
        }
    }

    /// `rax` shifted by a source.
    fn shift(&mut self, op: usize, shift: Shift, width: Width, by: Slot) -> Emitted {
        match self.scalar_source(op, by) {
            Scalar::Constant(by @ 0..32) => self.shift_by(shift, width, by as u32),
            Scalar::Constant(_) | Scalar::Register(_) | Scalar::Memory(_) => {
                self.scalar_to(op, by, RCX)?;
                self.shift_scalar(shift, width)
            }
        }
    }

    /// `rax` shifted by a constant below 32.
    fn shift_by(&mut self, shift: Shift, width: Width, by: u32) -> Emitted {
        let asm = &mut self.unit.a;
        match (shift, width) {
            (Shift::Left, Width::W32) => asm.shl(eax, by),
            (Shift::Left, Width::W64) => asm.shl(rax, by),
            (Shift::Right { signed: true }, Width::W32) => asm.sar(eax, by),
            (Shift::Right { signed: true }, Width::W64) => asm.sar(rax, by),
            (Shift::Right { signed: false }, Width::W32) => asm.shr(eax, by),
            (Shift::Right { signed: false }, Width::W64) => asm.shr(rax, by),
        }
    }

    /// `rax` shifted by `ecx`; an amount of the width or more leaves nothing, or the sign.
    fn shift_scalar(&mut self, shift: Shift, width: Width) -> Emitted {
        let bits = if width == Width::W32 { 32 } else { 64 };
        let asm = &mut self.unit.a;
        if let Shift::Right { signed: true } = shift {
            asm.mov(edx, bits - 1)?;
            asm.cmp(ecx, edx)?;
            asm.cmova(ecx, edx)?;
            return match width {
                Width::W32 => asm.sar(eax, cl),
                Width::W64 => asm.sar(rax, cl),
            };
        }
        asm.xor(edx, edx)?;
        match (shift, width) {
            (Shift::Left, Width::W32) => asm.shl(eax, cl)?,
            (Shift::Left, Width::W64) => asm.shl(rax, cl)?,
            // Those with the sign have returned.
            (Shift::Right { .. }, Width::W32) => asm.shr(eax, cl)?,
            (Shift::Right { .. }, Width::W64) => asm.shr(rax, cl)?,
        }
        asm.cmp(ecx, bits)?;
        asm.cmovae(rax, rdx)
    }

    /// A comparison of values that are the same in all lanes, by the flags.
    pub(super) fn compare_flags(&mut self, op: usize, width: Width, a: Slot, b: Slot) -> Emitted {
        let first = match self.scalar_source(op, a) {
            Scalar::Register(first) => first,
            Scalar::Constant(_) | Scalar::Memory(_) => {
                self.scalar_to(op, a, RDX)?;
                RDX
            }
        };
        let (narrow, wide) = (G32[usize::from(first)], G64[usize::from(first)]);
        let second = self.scalar_source(op, b);
        let asm = &mut self.unit.a;
        match (second, width) {
            (Scalar::Constant(value), Width::W32) => asm.cmp(narrow, value),
            (Scalar::Constant(value), Width::W64) => asm.cmp(wide, value),
            (Scalar::Register(other), Width::W32) => asm.cmp(narrow, G32[usize::from(other)]),
            (Scalar::Register(other), Width::W64) => asm.cmp(wide, G64[usize::from(other)]),
            (Scalar::Memory(memory), Width::W32) => asm.cmp(narrow, memory),
            (Scalar::Memory(memory), Width::W64) => asm.cmp(wide, memory),
        }
    }

    /// The same: `eax` is all ones if it holds, else 0.
    pub(super) fn compare_scalars(
        &mut self,
        op: usize,
        (width, signed, order): (Width, bool, Order),
        a: Slot,
        b: Slot,
    ) -> Emitted {
        self.unit.a.xor(eax, eax)?;
        self.compare_flags(op, width, a, b)?;
        let asm = &mut self.unit.a;
        match (order, signed) {
            (Order::Eq, _) => asm.sete(al)?,
            (Order::Ne, _) => asm.setne(al)?,
            (Order::Lt, true) => asm.setl(al)?,
            (Order::Le, true) => asm.setle(al)?,
            (Order::Gt, true) => asm.setg(al)?,
            (Order::Ge, true) => asm.setge(al)?,
            (Order::Lt, false) => asm.setb(al)?,
            (Order::Le, false) => asm.setbe(al)?,
            (Order::Gt, false) => asm.seta(al)?,
            (Order::Ge, false) => asm.setae(al)?,
        }
        asm.neg(eax)
    }
}
