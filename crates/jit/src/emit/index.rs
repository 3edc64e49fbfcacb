//! Arithmetic of indices and addresses that are scalars: products, sums of products and extensions to 64 bits, in the
//! register of the result where it has one.

use super::scalar::Scalar;
use super::{Emitted, Emitter, G32, G64, RAX, RCX};
use crate::decode::{Compute, Extend};
use softwarp_ir::Slot;

impl Emitter<'_> {
    /// Emits such arithmetic; `false` for everything else.
    pub(super) fn index(
        &mut self,
        op: usize,
        compute: Compute,
        d: Slot,
        sources: [Slot; 3],
    ) -> Emitted<bool> {
        let [a, b, c] = sources;
        match compute {
            Compute::Mul(_) => self.product(op, d, [a, b], None)?,
            Compute::Mad(_) => self.product(op, d, [a, b], Some(c))?,
            Compute::Wide { signed, add } => match self.scalar_source(op, b) {
                Scalar::Constant(by) if signed || by >= 0 => {
                    self.extended(op, signed, d, (a, by), Some(c).filter(|_| add))?;
                }
                Scalar::Constant(_) | Scalar::Register(_) | Scalar::Memory(_) => return Ok(false),
            },
            Compute::Extend(Extend::Sign64) => self.extended(op, true, d, (a, 1), None)?,
            Compute::Extend(Extend::Zero64) => self.extended(op, false, d, (a, 1), None)?,
            // The others are computed by `scalar`.
            Compute::Extend(Extend::Low32 | Extend::Field { .. } | Extend::Sign { .. }) => return Ok(false),
            Compute::Copy(_) | Compute::Add(_) | Compute::Sub(_) | Compute::Neg(_) => return Ok(false),
            Compute::High { .. } | Compute::Permute(_) | Compute::And(_) | Compute::Or(_) => {
                return Ok(false);
            }
            Compute::Xor(_) | Compute::Not(_) | Compute::Lop3(_) | Compute::Shl(_) => return Ok(false),
            Compute::Shr { .. } | Compute::Funnel { .. } | Compute::Min { .. } => return Ok(false),
            Compute::Max { .. } | Compute::Select(_) | Compute::Halves | Compute::Pack64 => return Ok(false),
            Compute::High32 | Compute::Compare { .. } | Compute::CompareFloat { .. } => return Ok(false),
            Compute::CompareDouble { .. } | Compute::CompareShort { .. } => return Ok(false),
            Compute::Integer(_) | Compute::Half(_) | Compute::Double(_) | Compute::Float(_) => {
                return Ok(false);
            }
            Compute::Rounded(..) | Compute::Flushed(_) | Compute::Convert(_) => return Ok(false),
            Compute::WideConvert(_) | Compute::Special(_) | Compute::Predicate(_) => return Ok(false),
        }
        Ok(true)
    }

    /// The register in which a result is computed: its own, unless a source that is read later is there.
    fn own_register(&self, op: usize, d: Slot, later: &[Slot]) -> u8 {
        let own = self.flow.written(op, d).and_then(|web| self.places[web].scalar());
        let taken = |own: u8| later.iter().any(|&slot| self.scalar_source(op, slot) == Scalar::Register(own));
        own.filter(|&own| !taken(own)).unwrap_or(RAX)
    }

    /// `a * b`, or `a * b + c`, as wide as they are.
    fn product(&mut self, op: usize, d: Slot, [a, b]: [Slot; 2], c: Option<Slot>) -> Emitted {
        let own = self.flow.written(op, d).and_then(|web| self.places[web].scalar());
        let is_own = |source: Scalar| own.is_some_and(|own| source == Scalar::Register(own));
        let is_constant = |source: Scalar| matches!(source, Scalar::Constant(_));
        let (first, second) = (self.scalar_source(op, a), self.scalar_source(op, b));
        let swaps = is_own(second) && !is_own(first) || is_constant(first) && !is_constant(second);
        let (a, b) = if swaps { (b, a) } else { (a, b) };
        let later = [b, c.unwrap_or(b)];
        let to = self.own_register(op, d, if a == b && c.is_none() { &[] } else { &later });
        if self.scalar_source(op, a) != Scalar::Register(to) {
            self.scalar_to(op, a, to)?;
        }
        let (narrow, wide) = (G32[usize::from(to)], G64[usize::from(to)]);
        let by = match self.scalar_source(op, b) {
            Scalar::Memory(_) => {
                self.scalar_to(op, b, RCX)?;
                Scalar::Register(RCX)
            }
            by @ (Scalar::Constant(_) | Scalar::Register(_)) => by,
        };
        let asm = &mut self.unit.a;
        match (by, d.is_wide()) {
            (Scalar::Constant(by), true) if is_power(by) => asm.shl(wide, by.trailing_zeros())?,
            (Scalar::Constant(by), false) if is_power(by) => asm.shl(narrow, by.trailing_zeros())?,
            (Scalar::Constant(by), true) => asm.imul_3(wide, wide, by)?,
            (Scalar::Constant(by), false) => asm.imul_3(narrow, narrow, by)?,
            (Scalar::Register(by), true) => asm.imul_2(wide, G64[usize::from(by)])?,
            (Scalar::Register(by), false) => asm.imul_2(narrow, G32[usize::from(by)])?,
            (Scalar::Memory(_), _) => {}
        }
        if let Some(c) = c {
            self.add_scalar(op, to, c, d.is_wide())?;
        }
        if to == RAX { self.put_scalar(op, d, RAX) } else { Ok(()) }
    }

    /// `a * by` of a 32-bit number, or `a * by + c`, in 64 bits. Compiled code is left if lanes wrap around.
    fn extended(
        &mut self,
        op: usize,
        signed: bool,
        d: Slot,
        (a, by): (Slot, i32),
        c: Option<Slot>,
    ) -> Emitted {
        let from = match self.scalar_source(op, a) {
            Scalar::Register(from) => from,
            Scalar::Constant(_) | Scalar::Memory(_) => {
                self.scalar_to(op, a, RAX)?;
                RAX
            }
        };
        let from = G32[usize::from(from)];
        self.check_lanes(op, a, from, signed)?;
        let to = match c {
            Some(c) => self.own_register(op, d, &[c]),
            None => self.own_register(op, d, &[]),
        };
        let wide = G64[usize::from(to)];
        match signed {
            true => self.unit.a.movsxd(wide, from)?,
            false => self.unit.a.mov(G32[usize::from(to)], from)?,
        }
        match by {
            1 => {}
            by if is_power(by) => self.unit.a.shl(wide, by.trailing_zeros())?,
            by => self.unit.a.imul_3(wide, wide, by)?,
        }
        if let Some(c) = c {
            self.add_scalar(op, to, c, true)?;
        }
        if to == RAX { self.put_scalar(op, d, RAX) } else { Ok(()) }
    }

    /// Adds a source to a register.
    fn add_scalar(&mut self, op: usize, to: u8, source: Slot, wide: bool) -> Emitted {
        let (narrow, full) = (G32[usize::from(to)], G64[usize::from(to)]);
        let source = self.scalar_source(op, source);
        let asm = &mut self.unit.a;
        match (source, wide) {
            (Scalar::Constant(value), true) => asm.add(full, value),
            (Scalar::Constant(value), false) => asm.add(narrow, value),
            (Scalar::Register(other), true) => asm.add(full, G64[usize::from(other)]),
            (Scalar::Register(other), false) => asm.add(narrow, G32[usize::from(other)]),
            (Scalar::Memory(memory), true) => asm.add(full, memory),
            (Scalar::Memory(memory), false) => asm.add(narrow, memory),
        }
    }
}

/// Whether a factor is a power of two.
fn is_power(by: i32) -> bool {
    by > 0 && by.count_ones() == 1
}
