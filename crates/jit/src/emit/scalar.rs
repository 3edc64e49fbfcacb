//! Arithmetic on values that are one scalar: the value of the first lane.

use super::{Emitted, Emitter, G32, G64, RAX, RCX, RDX};
use crate::assembler::*;
use crate::classes::Class;
use crate::decode::{Compute, Extend, Integer, Order, Width};
use crate::places::Place;
use softwarp_ir::{Alu, Slot};

/// Where the value of the first lane of a row is.
#[derive(Clone, Copy, PartialEq)]
enum Scalar {
    Constant(i32),
    /// A general-purpose register.
    Register(u8),
    Memory(AsmMemoryOperand),
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
        let place = match self.flow.is_fixed(slot) {
            true => Place::Frame,
            false => self.flow.read(op, slot).map_or(Place::Frame, |web| self.places[web]),
        };
        match (place, slot.is_wide()) {
            (Place::Scalar(from), true) => self.unit.a.mov(wide, G64[usize::from(from)]),
            (Place::Scalar(from), false) => self.unit.a.mov(narrow, G32[usize::from(from)]),
            (_, true) => self.unit.a.mov(wide, self.first(slot)),
            (_, false) => self.unit.a.mov(narrow, self.first(slot)),
        }
    }

    /// Where the value of the first lane of a source is.
    fn scalar_source(&self, op: usize, slot: Slot) -> Scalar {
        if self.flow.is_fixed(slot) {
            let value = self.classes.source(self.flow, op, slot).1;
            let value =
                value.map(|value| if slot.is_wide() { value as i64 } else { i64::from(value as i32) });
            let constant = value.and_then(|value| i32::try_from(value).ok()).map(Scalar::Constant);
            return constant.unwrap_or(Scalar::Memory(self.first(slot)));
        }
        match self.flow.read(op, slot).map(|web| self.places[web]) {
            Some(Place::Scalar(register)) => Scalar::Register(register),
            _ => Scalar::Memory(self.first(slot)),
        }
    }

    /// A sum, a difference or a bitwise operation, in the register of the result if it has one.
    fn scalar_pair(&mut self, op: usize, compute: Compute, d: Slot, [a, b]: [Slot; 2]) -> Emitted {
        let source = self.scalar_source(op, b);
        let own = self.flow.written(op, d).map(|web| self.places[web]);
        let to = match (own, source) {
            (Some(Place::Scalar(to)), Scalar::Register(other)) if to == other && a != b => RAX,
            (Some(Place::Scalar(to)), _) => to,
            _ => RAX,
        };
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
        match compute {
            Compute::Add(_) => pair!(add),
            Compute::Sub(_) => pair!(sub),
            Compute::And(_) => pair!(and),
            Compute::Or(_) => pair!(or),
            _ => pair!(xor),
        }
        if to == RAX { self.put_scalar(op, d, RAX) } else { Ok(()) }
    }

    /// Multiplies `rax` by a source: its lower 32 or all 64 bits. `rcx` may be used.
    fn multiply(&mut self, op: usize, by: Slot) -> Emitted {
        match self.scalar_source(op, by) {
            Scalar::Constant(value) if value.count_ones() == 1 && value > 0 => {
                self.unit.a.shl(rax, value.trailing_zeros())
            }
            Scalar::Constant(value) => self.unit.a.imul_3(rax, rax, value),
            Scalar::Register(other) => self.unit.a.imul_2(rax, G64[usize::from(other)]),
            Scalar::Memory(_) => {
                self.scalar_to(op, by, RCX)?;
                self.unit.a.imul_2(rax, rcx)
            }
        }
    }

    /// Writes the value of the first lane of a result.
    pub(super) fn put_scalar(&mut self, op: usize, slot: Slot, from: u8) -> Emitted {
        let Some(web) = self.flow.written(op, slot) else { return Ok(()) };
        let (narrow, wide) = (G32[usize::from(from)], G64[usize::from(from)]);
        match (self.places[web], slot.is_wide()) {
            (Place::Scalar(to), true) => self.unit.a.mov(G64[usize::from(to)], wide),
            (Place::Scalar(to), false) => self.unit.a.mov(G32[usize::from(to)], narrow),
            (_, true) => self.unit.a.mov(self.first(slot), wide),
            (_, false) => self.unit.a.mov(self.first(slot), narrow),
        }
    }

    /// Leaves compiled code if a 32-bit value wraps around from lane to lane, as a signed or as an unsigned number.
    fn check_lanes(&mut self, op: usize, slot: Slot, value: AsmRegister32, signed: bool) -> Emitted {
        let Class::Affine(steps) = self.class(op, slot) else { return Ok(()) };
        let (least, most) = steps.range();
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
        if let Compute::Add(_) | Compute::Sub(_) | Compute::And(_) | Compute::Or(_) | Compute::Xor(_) =
            compute
        {
            return self.scalar_pair(op, compute, d, [a, b]);
        }
        self.scalar_to(op, a, RAX)?;
        match compute {
            Compute::Copy(_) | Compute::Extend(Extend::Low32) => {}
            Compute::Extend(Extend::Zero64) => self.check_lanes(op, a, eax, false)?,
            Compute::Mul(_) | Compute::Mad(_) => {
                self.multiply(op, b)?;
                if let Compute::Mad(_) = compute {
                    self.scalar_to(op, source(2), RCX)?;
                    self.unit.a.add(rax, rcx)?;
                }
            }
            Compute::Wide { signed, add } => {
                match self.scalar_source(op, b) {
                    Scalar::Constant(value) if signed || value >= 0 => {
                        self.check_lanes(op, a, eax, signed)?;
                        if signed {
                            self.unit.a.movsxd(rax, eax)?;
                        }
                        self.multiply(op, b)?;
                    }
                    _ => {
                        self.scalar_to(op, b, RCX)?;
                        self.check_lanes(op, a, eax, signed)?;
                        self.check_lanes(op, b, ecx, signed)?;
                        if signed {
                            self.unit.a.movsxd(rax, eax)?;
                            self.unit.a.movsxd(rcx, ecx)?;
                        }
                        self.unit.a.imul_2(rax, rcx)?;
                    }
                }
                if add {
                    self.scalar_to(op, source(2), RCX)?;
                    self.unit.a.add(rax, rcx)?;
                }
            }
            Compute::Extend(Extend::Sign64) => {
                self.check_lanes(op, a, eax, true)?;
                self.unit.a.movsxd(rax, eax)?;
            }
            Compute::Extend(Extend::Field { shift, bits }) => {
                if shift != 0 {
                    self.unit.a.shr(eax, shift)?;
                }
                self.unit.a.and(eax, (u32::MAX >> (32 - bits.clamp(1, 32))) as i32)?;
            }
            Compute::Extend(Extend::Sign { from, .. }) => {
                let by = 32 - from.clamp(1, 32);
                self.unit.a.shl(eax, by)?;
                self.unit.a.sar(eax, by)?;
            }
            Compute::Neg(_) => self.unit.a.neg(rax)?,
            Compute::Not(_) => self.unit.a.not(rax)?,
            Compute::Shl(width) | Compute::Shr { width, .. } => match self.scalar_source(op, b) {
                Scalar::Constant(by @ 0..32) => self.shift_by(compute, width, by as u32)?,
                _ => {
                    self.scalar_to(op, b, RCX)?;
                    self.shift_scalar(compute, width)?;
                }
            },
            Compute::Min { width, signed } | Compute::Max { width, signed } => {
                self.scalar_to(op, b, RCX)?;
                let max = matches!(compute, Compute::Max { .. });
                let asm = &mut self.unit.a;
                match width {
                    Width::W32 => asm.cmp(eax, ecx)?,
                    Width::W64 => asm.cmp(rax, rcx)?,
                }
                match (max, signed) {
                    (true, true) => asm.cmovl(rax, rcx)?,
                    (true, false) => asm.cmovb(rax, rcx)?,
                    (false, true) => asm.cmovg(rax, rcx)?,
                    (false, false) => asm.cmova(rax, rcx)?,
                }
            }
            Compute::Integer(Integer::Divide { signed, remainder, short }) => {
                self.divide_scalar(op, (signed, remainder, short), [a, b])?;
            }
            // Nothing else has a result that is a scalar.
            _ => {}
        }
        self.put_scalar(op, d, RAX)
    }

    /// `rax` shifted by a constant below 32.
    fn shift_by(&mut self, compute: Compute, width: Width, by: u32) -> Emitted {
        let asm = &mut self.unit.a;
        match (compute, width) {
            (Compute::Shl(_), Width::W32) => asm.shl(eax, by),
            (Compute::Shl(_), Width::W64) => asm.shl(rax, by),
            (Compute::Shr { signed: true, .. }, Width::W32) => asm.sar(eax, by),
            (Compute::Shr { signed: true, .. }, Width::W64) => asm.sar(rax, by),
            (_, Width::W32) => asm.shr(eax, by),
            (_, Width::W64) => asm.shr(rax, by),
        }
    }

    /// `rax` shifted by `ecx`; an amount of the width or more leaves nothing, or the sign.
    fn shift_scalar(&mut self, compute: Compute, width: Width) -> Emitted {
        let bits = if width == Width::W32 { 32 } else { 64 };
        let asm = &mut self.unit.a;
        if let Compute::Shr { signed: true, .. } = compute {
            asm.mov(edx, bits - 1)?;
            asm.cmp(ecx, edx)?;
            asm.cmova(ecx, edx)?;
            return match width {
                Width::W32 => asm.sar(eax, cl),
                Width::W64 => asm.sar(rax, cl),
            };
        }
        asm.xor(edx, edx)?;
        match (compute, width) {
            (Compute::Shl(_), Width::W32) => asm.shl(eax, cl)?,
            (Compute::Shl(_), Width::W64) => asm.shl(rax, cl)?,
            (_, Width::W32) => asm.shr(eax, cl)?,
            (_, Width::W64) => asm.shr(rax, cl)?,
        }
        asm.cmp(ecx, bits)?;
        asm.cmovae(rax, rdx)
    }

    /// A comparison of values that are the same in all lanes: `eax` is all ones if it holds, else 0.
    pub(super) fn compare_scalars(
        &mut self,
        op: usize,
        (width, signed, order): (Width, bool, Order),
        a: Slot,
        b: Slot,
    ) -> Emitted {
        self.scalar_to(op, a, RCX)?;
        self.scalar_to(op, b, RDX)?;
        let asm = &mut self.unit.a;
        asm.xor(eax, eax)?;
        match width {
            Width::W32 => asm.cmp(ecx, edx)?,
            Width::W64 => asm.cmp(rcx, rdx)?,
        }
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
