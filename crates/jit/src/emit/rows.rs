//! Values of which each half of a warp has a first lane of its own ([`Class::HalfAffine`]): addresses of CTAs with rows of 16
//! threads.

use super::plain::Plain;
use super::scalar::Scalar;
use super::{Emitted, Emitter, G32, Late, RAX, RCX, RDX, Vector, XMM, ZMM};
use crate::assembler::*;
use crate::classes::{Class, Steps};
use crate::context::{LEAST_OFFSET, Region};
use crate::decode::{Compute, Extend};
use crate::places::Place;
use crate::row_addresses::RowAddress;
use softwarp_ir::{Alu, Op, Slot};
use std::mem::offset_of;

impl Emitter<'_> {
    /// The step from lane to lane of an address in vectors, if all lanes take part.
    pub(super) fn halves_step(&self, plain: &Plain<'_>) -> Option<i64> {
        let base = plain.base.filter(|_| !self.masked)?;
        match self.class(plain.op, base) {
            Class::HalfAffine(step) => Some(step),
            Class::Affine(_) | Class::Varying | Class::Unknown => None,
        }
    }

    /// The values of the first lanes of both halves, in `rax` and `rcx`.
    pub(super) fn first_lanes(&mut self, op: usize, slot: Slot) -> Emitted {
        if self.flow.read(op, slot).is_some_and(|web| self.places[web] == Place::Halves) {
            self.unit.a.mov(eax, self.lane_of_half(slot, 0))?;
            return self.unit.a.mov(ecx, self.lane_of_half(slot, 1));
        }
        for (half, (wide, narrow)) in [(rax, eax), (rcx, ecx)].into_iter().enumerate() {
            let part = if slot.is_wide() { 2 * half } else { half };
            let from = self.register(op, slot, part, 0, false)?;
            if from != 0 {
                self.unit.a.vmovdqa64(zmm0, ZMM[usize::from(from)])?;
            }
            match slot.is_wide() {
                true => self.unit.a.vmovq(wide, XMM[0])?,
                false => self.unit.a.vmovd(narrow, XMM[0])?,
            }
        }
        Ok(())
    }

    /// Before a result is claimed to have a step in 64 bits: leaves compiled code if a source of 32 bits wraps around
    /// within a half of the warp.
    pub(super) fn check_steps(&mut self, op: usize, alu: &Alu, compute: Compute, d: Slot) -> Emitted {
        // Where some lanes execute, nothing relies on the claim.
        let claims = match self.result_class(op, d) {
            Class::HalfAffine(_) => !self.masked,
            Class::Affine(_) | Class::Varying | Class::Unknown => false,
        };
        if !claims {
            return Ok(());
        }
        let (count, signed) = match compute {
            Compute::Wide { signed, .. } => (2, signed),
            Compute::Extend(Extend::Sign64) => (1, true),
            Compute::Extend(Extend::Zero64) => (1, false),
            // Results and sources wrap around together.
            Compute::Copy(_) | Compute::Add(_) | Compute::Sub(_) | Compute::Mul(_) => return Ok(()),
            Compute::Mad(_) | Compute::Shl(_) | Compute::Extend(Extend::Low32) => return Ok(()),
            // Sources and results have the same width, or no step is claimed.
            Compute::Extend(Extend::Field { .. } | Extend::Sign { .. }) => return Ok(()),
            Compute::Neg(_) | Compute::High { .. } | Compute::Permute(_) => return Ok(()),
            Compute::And(_) | Compute::Or(_) | Compute::Xor(_) | Compute::Not(_) => return Ok(()),
            Compute::Lop3(_) | Compute::Shr { .. } | Compute::Funnel { .. } => return Ok(()),
            Compute::Min { .. } | Compute::Max { .. } | Compute::Select(_) => return Ok(()),
            Compute::Halves | Compute::Pack64 | Compute::High32 => return Ok(()),
            Compute::Compare { .. } | Compute::CompareFloat { .. } => return Ok(()),
            Compute::CompareDouble { .. } | Compute::CompareShort { .. } => return Ok(()),
            Compute::Integer(_) | Compute::Half(_) | Compute::Double(_) => return Ok(()),
            Compute::Float(_) | Compute::Rounded(..) | Compute::Flushed(_) => return Ok(()),
            Compute::Convert(_) | Compute::WideConvert(_) => return Ok(()),
            Compute::Special(_) | Compute::Predicate(_) => return Ok(()),
        };
        for slot in alu.s.iter().take(count) {
            match self.class(op, slot) {
                Class::Affine(steps) if steps.lane != 0 => {
                    self.scalar_to(op, slot, super::RAX)?;
                    self.unit.a.mov(ecx, eax)?;
                    self.unit.a.add(ecx, steps.half as i32)?;
                    self.check_half_lanes(op, steps.lane, signed)?;
                }
                Class::HalfAffine(step) if step != 0 => {
                    self.first_lanes(op, slot)?;
                    self.check_half_lanes(op, step, signed)?;
                }
                // Without steps nothing wraps around; what varies has no result with a step.
                Class::Affine(_) | Class::HalfAffine(_) | Class::Varying | Class::Unknown => {}
            }
        }
        Ok(())
    }

    /// Leaves compiled code if one of the 32-bit values of both halves wraps around from lane to lane. Those of the first
    /// lanes are in `eax` and `ecx`.
    fn check_half_lanes(&mut self, op: usize, step: i64, signed: bool) -> Emitted {
        let exit = self.exit_label(op);
        for first in [eax, ecx] {
            self.unit.a.add(first, 15 * step as i32)?;
            match signed {
                true => self.unit.a.jo(exit)?,
                false => self.unit.a.jb(exit)?,
            }
        }
        Ok(())
    }

    /// The first lane of a half, in a row of 32-bit words.
    fn lane_of_half(&self, slot: Slot, half: usize) -> AsmMemoryOperand {
        self.first(slot) + 64 * half
    }

    /// Whether a result is two scalars.
    pub(super) fn is_pair(&self, op: usize, d: Slot) -> bool {
        self.flow.written(op, d).is_some_and(|web| self.places[web] == Place::Halves)
    }

    /// A part of a row that is two scalars, in a temporary register.
    pub(super) fn pair_part(&mut self, slot: Slot, step: i64, part: usize, temporary: u8) -> Emitted<Vector> {
        let t = ZMM[usize::from(temporary)];
        let first = self.lane_of_half(slot, part);
        self.unit.a.vpbroadcastd(t, first)?;
        if step != 0 {
            let steps = self.unit.steps(Steps { lane: step, half: 0 }, part, false);
            self.unit.a.vpaddd(t, t, steps)?;
        }
        Ok(Vector::Register(temporary))
    }

    /// The value of a source in the first lane of a half, in a general-purpose register.
    fn half_to(&mut self, op: usize, slot: Slot, half: usize, to: u8) -> Emitted {
        if let Class::Affine(steps) = self.class(op, slot) {
            self.scalar_to(op, slot, to)?;
            return match (half, steps.half as i32) {
                (0, _) | (_, 0) => Ok(()),
                (_, step) => self.unit.a.add(G32[usize::from(to)], step),
            };
        }
        match self.flow.read(op, slot).map(|web| self.places[web]) {
            Some(Place::Vector(_)) => {
                let from = self.register(op, slot, half, 0, false)?;
                if from != 0 {
                    self.unit.a.vmovdqa64(zmm0, ZMM[usize::from(from)])?;
                }
                self.unit.a.vmovd(G32[usize::from(to)], XMM[0])
            }
            Some(Place::Frame | Place::Scalar(_) | Place::Halves) | None => {
                self.unit.a.mov(G32[usize::from(to)], self.lane_of_half(slot, half))
            }
        }
    }

    /// Arithmetic on two scalars. Both results are computed before one is written: the result may have the row of a
    /// source, whose first lane is read for both.
    pub(super) fn pair(&mut self, op: usize, compute: Compute, d: Slot, sources: [Slot; 3]) -> Emitted {
        // The registers of pointers are written.
        self.folds.forget();
        let [a, b, _] = sources;
        if let Compute::Add(_) = compute {
            for (own, other) in [(a, b), (b, a)] {
                let is_uniform = self.class(op, other) == Class::UNIFORM;
                if own == d && other != d && is_uniform && self.is_pair_in_row(op, own) {
                    return self.add_to_pair(op, d, other);
                }
            }
        }
        self.half_of_pair(op, compute, sources, 1)?;
        self.unit.a.mov(edx, eax)?;
        self.half_of_pair(op, compute, sources, 0)?;
        self.begin_row(d);
        self.unit.a.mov(self.lane_of_half(d, 0), eax)?;
        self.unit.a.mov(self.lane_of_half(d, 1), edx)
    }

    /// Whether a source has the first lanes of both halves in its row.
    fn is_pair_in_row(&self, op: usize, slot: Slot) -> bool {
        let web = if self.flow.is_fixed(slot) { None } else { self.flow.read(op, slot) };
        web.is_some_and(|web| match self.places[web] {
            Place::Halves => true,
            Place::Frame => self.classes.webs[web].is_vector(),
            Place::Vector(_) | Place::Scalar(_) => false,
        })
    }

    /// One of both results, in `eax`; `ecx` is used.
    fn half_of_pair(&mut self, op: usize, compute: Compute, [a, b, c]: [Slot; 3], half: usize) -> Emitted {
        self.half_to(op, a, half, RAX)?;
        match compute {
            Compute::Copy(_) => Ok(()),
            Compute::Add(_) => {
                self.half_to(op, b, half, RCX)?;
                self.unit.a.add(eax, ecx)
            }
            Compute::Sub(_) => {
                self.half_to(op, b, half, RCX)?;
                self.unit.a.sub(eax, ecx)
            }
            Compute::Mul(_) => {
                self.half_to(op, b, half, RCX)?;
                self.unit.a.imul_2(eax, ecx)
            }
            Compute::Mad(_) => {
                self.half_to(op, b, half, RCX)?;
                self.unit.a.imul_2(eax, ecx)?;
                self.half_to(op, c, half, RCX)?;
                self.unit.a.add(eax, ecx)
            }
            Compute::Shl(_) => {
                let by = self.classes.constant(self.flow, b).unwrap_or(0);
                self.unit.a.shl(eax, by & 31)
            }
            // No other arithmetic is done on two scalars ([`crate::row_addresses`]).
            Compute::Neg(_) | Compute::High { .. } | Compute::Permute(_) => Err(Unencodable),
            Compute::Wide { .. } | Compute::And(_) | Compute::Or(_) => Err(Unencodable),
            Compute::Xor(_) | Compute::Not(_) | Compute::Lop3(_) => Err(Unencodable),
            Compute::Shr { .. } | Compute::Funnel { .. } => Err(Unencodable),
            Compute::Min { .. } | Compute::Max { .. } | Compute::Select(_) => Err(Unencodable),
            Compute::Extend(_) | Compute::Halves | Compute::Pack64 => Err(Unencodable),
            Compute::High32 | Compute::Compare { .. } => Err(Unencodable),
            Compute::CompareFloat { .. } | Compute::CompareDouble { .. } => Err(Unencodable),
            Compute::CompareShort { .. } | Compute::Integer(_) => Err(Unencodable),
            Compute::Half(_) | Compute::Double(_) | Compute::Float(_) => Err(Unencodable),
            Compute::Rounded(..) | Compute::Flushed(_) => Err(Unencodable),
            Compute::Convert(_) | Compute::WideConvert(_) => Err(Unencodable),
            Compute::Special(_) | Compute::Predicate(_) => Err(Unencodable),
        }
    }

    /// Adds a value that is the same in all lanes to two scalars, where they are.
    fn add_to_pair(&mut self, op: usize, d: Slot, other: Slot) -> Emitted {
        let source = self.scalar_source(op, other);
        let from = match source {
            Scalar::Register(register) => register,
            Scalar::Memory(_) => {
                self.scalar_to(op, other, RAX)?;
                RAX
            }
            Scalar::Constant(_) => RAX,
        };
        for half in 0..2 {
            let place = self.lane_of_half(d, half);
            match source {
                Scalar::Constant(value) => self.unit.a.add(place, value)?,
                Scalar::Register(_) | Scalar::Memory(_) => self.unit.a.add(place, G32[usize::from(from)])?,
            }
        }
        Ok(())
    }

    /// The places in the host's memory of what the first lanes of both halves access, in `rax` and `rcx`: those of several
    /// elements each are checked.
    pub(super) fn half_places(&mut self, plain: &Plain<'_>, base: Slot, count: usize) -> Emitted {
        let address = self.addresses.of_access(plain.op);
        match address.filter(|address| is_simple(plain, address)) {
            Some(address) => self.check_simple(plain, address, count)?,
            None => {
                self.half_offsets(plain, base)?;
                self.check_offsets(plain, count)?;
            }
        }
        self.places_of_offsets(plain)
    }

    /// Checks the offsets of an address that the access computes, in `rax` and `rcx`, with few instructions, if its base is
    /// in the region, and the region is not too large. Then an index that wraps around gives an offset behind it. Otherwise
    /// all is checked, outside of the blocks.
    fn check_simple(&mut self, plain: &Plain<'_>, address: RowAddress, count: usize) -> Emitted {
        let [general, mut checked] = std::array::from_fn(|_| self.unit.a.create_label());
        self.late.push(Late::Halves { op: plain.op, label: general, slow: plain.slow, checked, count });
        self.first_lanes(address.product, address.index)?;
        self.offsets_of_indices(plain, address, Some(general))?;
        let room = if count > 1 { plain.region(offset_of!(Region, half)) } else { plain.room() };
        let asm = &mut self.unit.a;
        asm.test(dl, plain.total() as i32 - 1)?;
        asm.jnz(general)?;
        for at in [rax, rcx] {
            asm.cmp(at, room.qword())?;
            asm.jae(general)?;
        }
        self.unit.place(&mut checked)
    }

    /// The same, where all is checked.
    pub(super) fn check_general(
        &mut self,
        op: usize,
        [slow, checked]: [CodeLabel; 2],
        count: usize,
    ) -> Emitted {
        let function = self.function;
        let (Op::Other(_, step), Some(address)) = (&function.ops[op], self.addresses.of_access(op)) else {
            return Err(Unencodable);
        };
        let plain = Plain::of(op, step, slow, self.sites[op]).ok_or(Unencodable)?;
        self.row_offsets(&plain, address)?;
        self.check_offsets(&plain, count)?;
        self.unit.a.jmp(checked)
    }

    /// The offsets in the region of what the first lanes of both halves access, in `rax` and `rcx`.
    fn half_offsets(&mut self, plain: &Plain<'_>, base: Slot) -> Emitted {
        if let Some(address) = self.addresses.of_access(plain.op) {
            return self.row_offsets(plain, address);
        }
        self.first_lanes(plain.op, base)?;
        self.offsets_of_addresses(plain, base.is_wide())
    }

    /// The same for an address that the access computes. Leaves compiled code before the product if an index wraps around
    /// within a half.
    fn row_offsets(&mut self, plain: &Plain<'_>, address: RowAddress) -> Emitted {
        let RowAddress { product, step, signed, .. } = address;
        self.first_lanes(product, address.index)?;
        let last = 15 * step as i32;
        let exit = self.exit_label(product);
        let asm = &mut self.unit.a;
        for first in [eax, ecx] {
            match (signed, last) {
                (_, 0) => {}
                (false, _) => {
                    asm.cmp(first, !last)?;
                    asm.ja(exit)?;
                }
                (true, 1..) => {
                    asm.cmp(first, i32::MAX - last)?;
                    asm.jg(exit)?;
                }
                (true, _) => {
                    asm.cmp(first, i32::MIN - last)?;
                    asm.jl(exit)?;
                }
            }
        }
        self.offsets_of_indices(plain, address, None)
    }

    /// The offsets in the region for the indices in `eax` and `ecx`, in `rax` and `rcx`, and that of the base in `rdx`. Goes
    /// to a label if that is before the region.
    fn offsets_of_indices(
        &mut self,
        plain: &Plain<'_>,
        RowAddress { sum, signed, factor, base, .. }: RowAddress,
        before: Option<CodeLabel>,
    ) -> Emitted {
        if signed {
            self.unit.a.movsxd(rax, eax)?;
            self.unit.a.movsxd(rcx, ecx)?;
        }
        self.scalar_to(sum, base, RDX)?;
        let asm = &mut self.unit.a;
        asm.sub(rdx, plain.region(offset_of!(Region, base)).qword())?;
        if let Some(before) = before {
            asm.js(before)?;
        }
        let offset = plain.address.offset as i32;
        asm.lea(rax, ptr(rdx + rax * factor + offset))?;
        asm.lea(rcx, ptr(rdx + rcx * factor + offset))
    }

    /// Where an access whose address has no place is left to the interpreter: computes the address.
    pub(super) fn rebuild_address(&mut self, access: usize) -> Emitted {
        let Some(address) = self.addresses.of_access(access) else { return Ok(()) };
        self.rebuilds = true;
        for op in address.product..access {
            self.perform_operation(op)?;
        }
        self.rebuilds = false;
        self.unit.mark(super::Part::Rest);
        Ok(())
    }
}

/// Whether few instructions check an access to words: all offsets from that of the base are multiples of a word, and the
/// constant one is small.
fn is_simple(plain: &Plain<'_>, address: &RowAddress) -> bool {
    let (total, offset) = (plain.total() as i64, plain.address.offset);
    total == 4 && offset % total == 0 && i64::from(address.factor) % total == 0 && offset >= LEAST_OFFSET
}
