//! Loads and stores. Every access is checked against the bounds of a region and for alignment; one that fails a check is
//! left to the interpreter, which performs it, learns its region, or finds the fault.

use super::plain::Plain;
use super::{Checked, Emitted, Emitter, Late, RAX, ZMM, field};
use crate::assembler::*;
use crate::classes::{Class, Steps};
use crate::context::{Context, Region};
use crate::groups::Group;
use crate::reach::Reach;
use crate::{Level, Mode};
use softwarp_ir::{Guard, Slot, Step};
use std::mem::offset_of;

/// How the lanes of a warp access memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// All lanes one place.
    One,
    /// Each half of the warp one place.
    Two,
    /// All lanes one behind the other.
    Consecutive,
    /// The lanes of each half one behind the other.
    Halves,
    /// Anywhere.
    Scattered,
}

/// Where an access goes on whose checks fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failing {
    /// With a call of the interpreter.
    Own,
    /// With code in which each access of the group is checked alone.
    Group,
    /// With the same code once the interpreter has learned the region, and otherwise outside of compiled code: the
    /// accesses of the group are in one region, or one of them is a fault.
    Region,
    /// Nowhere: another access has checked for it.
    Never,
}

/// A distance that instructions can have, also with the bytes of a row added.
fn displacement(distance: i64) -> Option<i32> {
    i32::try_from(distance).ok().filter(|distance| distance.unsigned_abs() < 1 << 30)
}

impl Emitter<'_> {
    /// Emits a load or a store of one element. In uniform code, one under a guard that all lanes pass has code of its own.
    pub(super) fn access(&mut self, op: usize, guard: Guard, step: &Step) -> Emitted {
        let Some(predicate) = guard.predicate().filter(|_| self.mode == Mode::Uniform && !self.masked) else {
            return self.access_of_some(op, guard, step);
        };
        let [slow, some, mut back] = std::array::from_fn(|_| self.unit.a.create_label());
        let plain = Plain::of(op, step, slow, self.sites[op]);
        let Some(plain) = plain.filter(|plain| self.has_code(plain, true) && self.has_code(plain, false))
        else {
            return self.access_of_some(op, guard, step);
        };
        if self.known_lanes_of(op, guard).is_some() {
            return self.access_of_some(op, guard, step);
        }
        self.late.push(Late::Slow { op, label: slow, back, apart: None });
        self.late.push(Late::Guarded { op, label: some, back });
        self.passing(guard, predicate)?;
        self.unit.a.cmp(eax, -1)?;
        self.unit.a.jne(some)?;
        self.clean_stored(&plain)?;
        self.emit_access(&plain)?;
        self.clean = None;
        self.unit.place(&mut back)
    }

    /// The same under a guard that some lanes may not pass.
    pub(super) fn access_of_some(&mut self, op: usize, guard: Guard, step: &Step) -> Emitted {
        let (slow, back) = (self.unit.a.create_label(), self.unit.a.create_label());
        let Some(mut plain) = Plain::of(op, step, slow, self.sites[op]) else {
            return self.call_interpreter(op, None);
        };
        if !self.has_code(&plain, self.masked || guard != Guard::ALWAYS) {
            return self.call_interpreter(op, None);
        }
        match self.failing(&plain, guard) {
            Failing::Own => self.late.push(Late::Slow { op, label: slow, back, apart: self.apart }),
            // Its region is known.
            Failing::Region if plain.is_shared() => plain.slow = self.exit_label(op),
            Failing::Region => {
                let mut again = self.unit.a.create_label();
                self.unit.place(&mut again)?;
                self.late.push(Late::Learn { op, label: slow, again });
            }
            Failing::Group | Failing::Never => {}
        }
        let before = match self.known_lanes_of(op, guard) {
            Some(lanes) => {
                self.unit.a.mov(eax, lanes as i32)?;
                self.load_mask(eax)?;
                (self.masked, self.lanes) = (true, Some(lanes));
                false
            }
            None => self.begin_guard(guard, back)?,
        };
        self.clean_stored(&plain)?;
        self.emit_access(&plain)?;
        self.clean = None;
        if !before && guard != Guard::ALWAYS {
            self.lanes = None;
        }
        self.end_guard(guard, before, back)
    }

    /// Makes the NaNs of a row that is stored canonical.
    fn clean_stored(&mut self, plain: &Plain<'_>) -> Emitted {
        let ([one], true) = (plain.registers, plain.store) else { return Ok(()) };
        let slot = one.slot.filter(|&slot| !self.flow.is_fixed(slot));
        match slot.and_then(|slot| self.flow.read(plain.op, slot)) {
            Some(web) => self.clean(web),
            None => Ok(()),
        }
    }

    /// Whether there is code for an access; the interpreter performs others.
    pub(super) fn has_code(&self, plain: &Plain<'_>, masked: bool) -> bool {
        let (bytes, offset) = (plain.bytes(), plain.address.offset);
        if plain.base.is_some() && i32::try_from(offset).is_err() || !plain.is_wide() && !plain.is_shared() {
            return false;
        }
        let anywhere = self.unit.level == Level::Avx512;
        bytes >= 4 || plain.is_single() && (anywhere || self.pattern(plain, masked) != Pattern::Scattered)
    }

    /// How the lanes access memory.
    fn pattern(&self, plain: &Plain<'_>, masked: bool) -> Pattern {
        let Class::Affine(steps) = self.address_class(plain) else { return Pattern::Scattered };
        let (bytes, total) = (plain.bytes() as i64, plain.total() as i64);
        if steps == Steps::ZERO {
            return Pattern::One;
        }
        match () {
            () if !plain.is_single() => Pattern::Scattered,
            () if steps == Steps::even(bytes) => Pattern::Consecutive,
            () if masked || steps.half % total != 0 => Pattern::Scattered,
            () if steps.lane == bytes => Pattern::Halves,
            () if steps.lane == 0 && !plain.store && bytes >= 4 => Pattern::Two,
            () => Pattern::Scattered,
        }
    }

    /// Whether all lanes of each half of the warp read one element, or else elements one behind the other; `None` where
    /// lanes read anywhere.
    pub(super) fn reads_elements(&self, plain: &Plain<'_>) -> Option<bool> {
        match self.pattern(plain, false) {
            Pattern::One | Pattern::Two => Some(true),
            Pattern::Consecutive | Pattern::Halves => Some(false),
            Pattern::Scattered => None,
        }
    }

    /// The class of the address.
    fn address_class(&self, plain: &Plain<'_>) -> Class {
        plain.base.map_or(Class::UNIFORM, |base| self.class(plain.op, base))
    }

    /// Whether the lanes access memory anywhere.
    pub(super) fn is_scattered(&self, plain: &Plain<'_>) -> bool {
        self.pattern(plain, self.masked) == Pattern::Scattered
    }

    fn emit_access(&mut self, plain: &Plain<'_>) -> Emitted {
        let pattern = self.pattern(plain, self.masked);
        if self.leave_to_reader(plain, pattern) {
            return Ok(());
        }
        self.folds.forget();
        if plain.strong && plain.store {
            self.unit.a.inc(qword_ptr(field!(atomics)))?;
        }
        match pattern {
            Pattern::One if plain.store => self.store_one(plain),
            Pattern::One => self.load_broadcast(plain),
            Pattern::Consecutive => self.contiguous(plain),
            Pattern::Halves => self.access_halves(plain),
            Pattern::Two => self.load_two(plain),
            Pattern::Scattered => self.scattered(plain),
        }
    }

    /// Leaves a load to the operation that reads it, if it can be.
    fn leave_to_reader(&mut self, plain: &Plain<'_>, pattern: Pattern) -> bool {
        let Some(group) = self.group(plain.op).filter(|_| !plain.store) else { return false };
        let offset = self.distance(plain, &group);
        let other = self.half(plain).checked_add(offset.into());
        let Some(other) = other.and_then(displacement) else { return false };
        match pattern {
            Pattern::One | Pattern::Two => self.fold(plain, [offset, other], true),
            Pattern::Consecutive | Pattern::Halves => self.fold(plain, [offset, other], false),
            Pattern::Scattered => false,
        }
    }

    /// The offset in the region of what the first lane accesses, in `rax`.
    pub(super) fn first_offset(&mut self, plain: &Plain<'_>) -> Emitted {
        let offset = plain.address.offset;
        match plain.base {
            None => self.unit.a.mov(rax, offset as u64)?,
            Some(base) => self.scalar_to(plain.op, base, RAX)?,
        }
        let asm = &mut self.unit.a;
        match (plain.base, offset as i32) {
            (None, _) | (_, 0) => {}
            (Some(base), offset) if base.is_wide() => asm.add(rax, offset)?,
            (_, offset) => asm.add(eax, offset)?,
        }
        // A place before the region has a large offset.
        match plain.is_wide() {
            true => asm.sub(rax, plain.region(offset_of!(Region, base)).qword()),
            false => asm.sub(eax, plain.region(offset_of!(Region, base)).dword()),
        }
    }

    /// Checks the first and the last byte that are accessed, where the first lane's offset is in `rax`. `rcx` is used.
    pub(super) fn check_ends(&mut self, plain: &Plain<'_>, reach: Reach) -> Emitted {
        let bytes = plain.region(offset_of!(Region, room)).qword();
        for end in reach.compared(plain.is_wide()) {
            let at = if end == 0 { rax } else { rcx };
            if end != 0 {
                self.add_to(rcx, end)?;
            }
            self.unit.a.cmp(at, bytes)?;
            self.unit.a.jae(plain.slow)?;
        }
        Ok(())
    }

    /// The place in the host's memory of the first of several elements one behind the other, in `rax`.
    pub(super) fn check_elements(&mut self, plain: &Plain<'_>, count: usize) -> Emitted {
        self.first_offset(plain)?;
        let asm = &mut self.unit.a;
        let row = count == 32 && plain.total() == 4;
        let room = if row { plain.region(offset_of!(Region, row)) } else { plain.room() };
        if count == 1 || row || plain.is_wide() {
            asm.cmp(rax, room.qword())?;
            asm.jae(plain.slow)?;
        }
        if count > 1 && !row {
            asm.lea(rcx, ptr(rax + (count - 1) * plain.total()))?;
            asm.cmp(rcx, plain.room().qword())?;
            asm.jae(plain.slow)?;
        }
        self.check_alignment(plain)?;
        self.unit.a.add(rax, plain.region(offset_of!(Region, host)).qword())
    }

    /// Checks the alignment of the offset in `rax`, unless it is known: regions of shared memory are aligned.
    pub(super) fn check_alignment(&mut self, plain: &Plain<'_>) -> Emitted {
        if plain.total() > 1 && !self.is_aligned(plain) {
            self.unit.a.test(al, plain.total() as i32 - 1)?;
            self.unit.a.jnz(plain.slow)?;
        }
        Ok(())
    }

    /// Whether the address of the first lane is known to be aligned.
    pub(super) fn is_aligned(&self, plain: &Plain<'_>) -> bool {
        let is_multiple = plain.address.offset % plain.total() as i64 == 0;
        let zeros = |base: Slot| self.classes.zeros(self.flow, plain.op, base);
        plain.is_shared() && is_multiple && plain.base.is_none_or(|base| zeros(base) >= plain.total().ilog2())
    }

    /// The place in the host's memory of what the first lane accesses, in `rax`, and the bytes that are to be added to it.
    /// It is checked for all lanes, alone or with others of a group. `rcx` is used.
    pub(super) fn check(&mut self, plain: &Plain<'_>, pattern: Pattern) -> Emitted<i32> {
        let Some(group) = self.group(plain.op) else {
            self.check_alone(plain, pattern)?;
            return Ok(0);
        };
        let pointer = qword_ptr(r15 + (offset_of!(Context, pointers) + 8 * group.pointer));
        if group.first != plain.op {
            self.unit.a.mov(rax, pointer)?;
            return Ok(self.distance(plain, &group));
        }
        self.first_offset(plain)?;
        let reach = self.reach(plain, &group).ok_or(Unencodable)?;
        self.check_ends(plain, reach)?;
        self.check_alignment(plain)?;
        self.unit.a.add(rax, plain.region(offset_of!(Region, host)).qword())?;
        self.unit.a.mov(pointer, rax)?;
        Ok(0)
    }

    /// The bytes that all lanes access in a group, by its first access. None where they are too far apart to be checked
    /// together.
    fn reach(&self, first: &Plain<'_>, group: &Group) -> Option<Reach> {
        match self.address_class(first) {
            Class::Affine(steps) => Reach::of(steps, group.range, first.total()),
            Class::Unknown | Class::HalfAffine(_) | Class::Varying => None,
        }
    }

    /// The group with which an access is checked, if its first access is checked for the group.
    pub(super) fn group(&self, op: usize) -> Option<Group> {
        if self.mode != Mode::Uniform || self.masked || self.alone {
            return None;
        }
        self.groups.get(op).filter(|group| self.checked.iter().any(|checked| checked.first == group.first))
    }

    /// Where an access whose checks fail goes on: its own call of the interpreter; or, if it checks for a group, the same
    /// code with another region, or code in which each access is checked alone. One that relies on the checks of another
    /// goes nowhere.
    fn failing(&mut self, plain: &Plain<'_>, guard: Guard) -> Failing {
        let scattered = self.pattern(plain, self.masked || guard != Guard::ALWAYS) == Pattern::Scattered;
        let is_near = |group: &Group| group.first != plain.op || self.reach(plain, group).is_some();
        let group = self.groups.get(plain.op).filter(|group| !scattered && is_near(group));
        match group {
            Some(group) if group.first == plain.op && self.mode == Mode::Uniform => {
                if self.masked || self.alone {
                    return Failing::Own;
                }
                let is_one_region = group.is_in_one_region(plain.address);
                let alone = (!is_one_region).then_some(plain.slow);
                self.checked.push(Checked { first: plain.op, alone });
                if is_one_region { Failing::Region } else { Failing::Group }
            }
            Some(_) if self.group(plain.op).is_some() => Failing::Never,
            Some(_) | None => Failing::Own,
        }
    }

    /// How far an access is from the first of its group.
    pub(super) fn distance(&self, plain: &Plain<'_>, group: &Group) -> i32 {
        (plain.address.offset - group.offset) as i32
    }

    fn check_alone(&mut self, plain: &Plain<'_>, pattern: Pattern) -> Emitted {
        match pattern {
            Pattern::One => self.check_elements(plain, 1),
            Pattern::Consecutive => self.check_elements(plain, 32),
            Pattern::Halves => self.check_halves(plain, 16),
            Pattern::Two => self.check_halves(plain, 1),
            Pattern::Scattered => Ok(()),
        }
    }

    /// What the first lane of the second half accesses, in `rcx`.
    fn second_half(&mut self, plain: &Plain<'_>) -> Emitted {
        let half = self.half(plain);
        self.add_to(rcx, half)
    }

    /// The place of the second half: a register, which is `rax` or `rcx`, and what is to be added to it.
    fn other_half(&mut self, plain: &Plain<'_>, offset: i32) -> Emitted<(AsmRegister64, i32)> {
        let other = self.half(plain).checked_add(offset.into());
        match other.and_then(displacement) {
            Some(offset) => Ok((rax, offset)),
            None => {
                self.second_half(plain)?;
                Ok((rcx, offset))
            }
        }
    }

    /// `rax` plus a constant.
    pub(super) fn add_to(&mut self, to: AsmRegister64, distance: i64) -> Emitted {
        let asm = &mut self.unit.a;
        match i32::try_from(distance) {
            Ok(distance) => asm.lea(to, ptr(rax + distance)),
            Err(_) => {
                asm.mov(to, distance as u64)?;
                asm.add(to, rax)
            }
        }
    }

    /// The step between the halves of the warp.
    fn half(&self, plain: &Plain<'_>) -> i64 {
        match self.address_class(plain) {
            Class::Affine(steps) => steps.half,
            Class::HalfAffine(_) | Class::Varying | Class::Unknown => 0,
        }
    }

    /// The place in the host's memory of what the first lane accesses, in `rax`. It is checked for both halves, each the
    /// first of several elements.
    fn check_halves(&mut self, plain: &Plain<'_>, count: usize) -> Emitted {
        self.first_offset(plain)?;
        self.second_half(plain)?;
        let is_above = !plain.is_wide() && self.half(plain) >= 0;
        let asm = &mut self.unit.a;
        for at in [rax, rcx] {
            if count == 1 || !is_above {
                asm.cmp(at, plain.room().qword())?;
                asm.jae(plain.slow)?;
            }
            if count > 1 {
                asm.lea(rdx, ptr(at + (count - 1) * plain.total()))?;
                asm.cmp(rdx, plain.room().qword())?;
                asm.jae(plain.slow)?;
            }
        }
        self.check_alignment(plain)?;
        self.unit.a.add(rax, plain.region(offset_of!(Region, host)).qword())
    }

    /// Each half of the warp one behind the other.
    fn access_halves(&mut self, plain: &Plain<'_>) -> Emitted {
        let offset = self.check(plain, Pattern::Halves)?;
        let other = self.other_half(plain, offset)?;
        self.move_halves(plain, [(rax, offset), other])
    }

    /// Moves both halves, from or to registers with offsets.
    pub(super) fn move_halves(&mut self, plain: &Plain<'_>, at: [(AsmRegister64, i32); 2]) -> Emitted {
        // Where both halves store to one place: of lanes that are stored together the lowest wins, and with more than
        // 4 bytes the second half is stored after the first.
        let order = if plain.store && plain.total() <= 4 { [1, 0] } else { [0, 1] };
        for half in order {
            let (base, offset) = at[half];
            self.move_half(plain, half, base, offset)?;
        }
        Ok(())
    }

    /// A load from one place for each half of the warp.
    fn load_two(&mut self, plain: &Plain<'_>) -> Emitted {
        let offset = self.check(plain, Pattern::Two)?;
        let halves = [(rax, offset), self.other_half(plain, offset)?];
        self.move_two(plain, halves)
    }

    /// Loads an element for each half of the warp, from registers with offsets.
    pub(super) fn move_two(&mut self, plain: &Plain<'_>, halves: [(AsmRegister64, i32); 2]) -> Emitted {
        let wide = plain.bytes() == 8;
        let parts = if wide { 4 } else { 2 };
        for part in 0..parts {
            let (base, offset) = halves[part / (parts / 2)];
            let at = base + offset;
            let target = self.element_target(plain, (0, part), 7);
            let z = ZMM[usize::from(target)];
            match wide {
                true => self.unit.a.vpbroadcastq(z, qword_ptr(at))?,
                false => self.unit.a.vpbroadcastd(z, dword_ptr(at))?,
            }
            self.put_element(plain, (0, part), target)?;
        }
        Ok(())
    }

    /// All lanes one behind the other.
    fn contiguous(&mut self, plain: &Plain<'_>) -> Emitted {
        if let Some(lanes) = self.leading_words(plain) {
            let offset = self.check_leading(plain, lanes)?;
            return self.move_leading(plain, lanes, offset);
        }
        let offset = match self.masked {
            false => self.check(plain, Pattern::Consecutive)?,
            true => {
                self.check_taking(plain)?;
                0
            }
        };
        self.prefetch(plain, offset, plain.bytes() as i32 / 2)?;
        self.move_half(plain, 0, rax, offset)?;
        self.move_half(plain, 1, rax, offset + 16 * plain.bytes() as i32)
    }

    /// The place of the first lane, in `rax`, once those of the lanes that take part are checked: in the host's memory, or, for
    /// a load of short elements with AVX2, where their copies are if others may not be read.
    fn check_taking(&mut self, plain: &Plain<'_>) -> Emitted {
        self.first_offset(plain)?;
        let [mut some, mut checked] = std::array::from_fn(|_| self.unit.a.create_label());
        let asm = &mut self.unit.a;
        // Mostly there is room for all lanes.
        asm.cmp(rax, plain.room().qword())?;
        asm.jae(some)?;
        asm.lea(rcx, ptr(rax + 31 * plain.bytes()))?;
        asm.cmp(rcx, plain.room().qword())?;
        asm.jb(checked)?;
        self.unit.place(&mut some)?;
        let asm = &mut self.unit.a;
        asm.kunpckwd(k1, k7, k6)?;
        asm.kmovd(ecx, k1)?;
        // The first and the last of them.
        for last in [false, true] {
            match last {
                false => asm.bsf(edx, ecx)?,
                true => asm.bsr(edx, ecx)?,
            }
            asm.lea(rdx, ptr(rax + rdx * plain.bytes() as i32))?;
            asm.cmp(rdx, plain.room().qword())?;
            asm.jae(plain.slow)?;
        }
        let host = plain.region(offset_of!(Region, host)).qword();
        if !self.loads_whole_rows(plain) {
            self.unit.place(&mut checked)?;
            self.check_alignment(plain)?;
            return self.unit.a.add(rax, host);
        }
        let mut done = self.unit.a.create_label();
        self.check_alignment(plain)?;
        self.unit.a.add(rax, host)?;
        self.copy_taking(plain)?;
        self.unit.a.jmp(done)?;
        self.unit.place(&mut checked)?;
        self.check_alignment(plain)?;
        self.unit.a.add(rax, host)?;
        self.unit.place(&mut done)
    }

    /// Whether elements are loaded without a mask, also those of lanes that take no part: AVX2 has no loads of elements of 8
    /// and 16 bits under a mask.
    fn loads_whole_rows(&self, plain: &Plain<'_>) -> bool {
        self.unit.level == Level::Avx2 && plain.bytes() < 4 && !plain.store
    }

    /// Copies the elements of the lanes in `ecx` to the context, from `rax` on, which is then where the copies are. With
    /// AVX2, `rsi` and `rdi` are free.
    fn copy_taking(&mut self, plain: &Plain<'_>) -> Emitted {
        let [mut again, mut done] = std::array::from_fn(|_| self.unit.a.create_label());
        let copies = offset_of!(Context, lane_values);
        self.unit.a.mov(esi, ecx)?;
        self.unit.place(&mut again)?;
        let asm = &mut self.unit.a;
        asm.bsf(edi, esi)?;
        asm.jz(done)?;
        match plain.bytes() {
            1 => {
                asm.movzx(ecx, byte_ptr(rax + rdi))?;
                asm.mov(byte_ptr(r15 + rdi * 1 + copies), cl)?;
            }
            2 => {
                asm.movzx(ecx, word_ptr(rax + rdi * 2))?;
                asm.mov(word_ptr(r15 + rdi * 2 + copies), cx)?;
            }
            _ => return Err(Unencodable),
        }
        asm.lea(ecx, ptr(rsi - 1))?;
        asm.and(esi, ecx)?;
        asm.jmp(again)?;
        self.unit.place(&mut done)?;
        self.unit.a.lea(rax, ptr(r15 + copies))
    }

    /// Moves half a row from or to consecutive elements at an address.
    fn move_half(&mut self, plain: &Plain<'_>, half: usize, at: AsmRegister64, offset: i32) -> Emitted {
        let parts = if plain.bytes() == 8 { 2 } else { 1 };
        let cut =
            plain.bytes() < 4 && plain.signed && plain.registers.first().is_some_and(|one| one.bits < 32);
        for n in 0..parts {
            let part = half * parts + n;
            let place = at + (offset + 64 * n as i32);
            if self.masked {
                self.part_mask(part, parts == 2)?;
            }
            if plain.store {
                let from = self.element(plain, (0, part), 7)?;
                self.store_part(plain.bytes(), place, ZMM[usize::from(from)])?;
                continue;
            }
            let target = self.element_target(plain, (0, part), 7);
            let z = ZMM[usize::from(target)];
            self.load_part(plain, z, place)?;
            if cut {
                let mask = self.unit.word(0xffff);
                self.unit.a.vpandd(z, z, mask)?;
            }
            self.put_element(plain, (0, part), target)?;
        }
        Ok(())
    }

    /// Stores a part of a row, for the lanes in `k1` if only some take part.
    fn store_part(&mut self, bytes: usize, place: AsmMemoryOperand, from: AsmRegisterZmm) -> Emitted {
        let masked = |memory: AsmMemoryOperand| if self.masked { memory.k1() } else { memory };
        let asm = &mut self.unit.a;
        match bytes {
            1 => asm.vpmovdb(masked(xmmword_ptr(place)), from),
            2 => asm.vpmovdw(masked(ymmword_ptr(place)), from),
            4 => asm.vmovdqu32(masked(zmmword_ptr(place)), from),
            8 => asm.vmovdqu64(masked(zmmword_ptr(place)), from),
            _ => Err(Unencodable),
        }
    }

    /// Loads a part of a row, for the lanes in `k1` if only some take part and others may not be read.
    fn load_part(&mut self, plain: &Plain<'_>, to: AsmRegisterZmm, place: AsmMemoryOperand) -> Emitted {
        let to = if self.masked && !self.loads_whole_rows(plain) { to.k1().z() } else { to };
        let asm = &mut self.unit.a;
        match (plain.bytes(), plain.signed) {
            (1, true) => asm.vpmovsxbd(to, xmmword_ptr(place)),
            (1, false) => asm.vpmovzxbd(to, xmmword_ptr(place)),
            (2, true) => asm.vpmovsxwd(to, ymmword_ptr(place)),
            (2, false) => asm.vpmovzxwd(to, ymmword_ptr(place)),
            (4, _) => asm.vmovdqu32(to, zmmword_ptr(place)),
            (8, _) => asm.vmovdqu64(to, zmmword_ptr(place)),
            (_, true | false) => Err(Unencodable),
        }
    }
}
