//! Loads and stores. Every access is checked against the bounds of a region and for alignment; one that fails a check is
//! left to the interpreter, which performs it, learns its region, or finds the fault.

use super::{Emitted, Emitter, Late, RAX, RCX, XMM, YMM, ZMM, field};
use crate::Mode;
use crate::classes::Class;
use crate::context::{CONSTANT_SITES, GENERIC_SITES, GLOBAL_SITES, Region};
use iced_x86::code_asm::*;
use softwarp_ir::{Access, Guard, Memory, Slot, Step};
use std::mem::offset_of;

/// The site of an access: which region is looked at. Accesses to `.global` and generic ones have different sites, since
/// the same address may mean different memory.
pub fn site(memory: Memory, op: usize) -> usize {
    let sites = match memory {
        Memory::Generic => GENERIC_SITES,
        Memory::Constant => CONSTANT_SITES,
        _ => GLOBAL_SITES,
    };
    sites.start + op % sites.len()
}

/// An access as it is compiled.
#[derive(Clone, Copy)]
struct Plain<'a> {
    op: usize,
    access: &'a Access,
    /// The first register that is loaded or stored.
    slot: Slot,
    /// The address but for an offset; none for a fixed address.
    base: Option<Slot>,
    slow: CodeLabel,
    store: bool,
}

impl Plain<'_> {
    fn bytes(&self) -> usize {
        usize::from(self.access.bytes)
    }

    /// Bytes of the whole access, which is aligned to them.
    fn total(&self) -> usize {
        self.bytes() * self.access.registers.len()
    }

    /// Whether it has one element.
    fn is_single(&self) -> bool {
        self.access.registers.len() == 1
    }

    /// Whether addresses have 64 bits.
    fn is_wide(&self) -> bool {
        self.base.is_none_or(Slot::is_wide)
    }

    fn is_shared(&self) -> bool {
        self.access.address.memory == Memory::Shared
    }

    /// A field of the region, once `rdx` is where the sites are.
    fn region(&self, offset: usize) -> AsmMemoryExpression {
        match self.is_shared() {
            true => AsmMemoryExpression(r15, offset),
            false => AsmMemoryExpression(
                rdx,
                site(self.access.address.memory, self.op) * size_of::<Region>() + offset,
            ),
        }
    }

    fn room(&self) -> AsmMemoryExpression {
        let size = self.total().trailing_zeros() as usize;
        self.region(offset_of!(Region, room) + 8 * size)
    }
}

/// A base register and an offset.
#[derive(Clone, Copy)]
struct AsmMemoryExpression(AsmRegister64, usize);

impl AsmMemoryExpression {
    fn qword(self) -> AsmMemoryOperand {
        qword_ptr(self.0 + self.1)
    }
    fn qwords(self) -> AsmMemoryOperand {
        qword_bcst(self.0 + self.1)
    }
    fn dwords(self) -> AsmMemoryOperand {
        dword_bcst(self.0 + self.1)
    }
    fn dword(self) -> AsmMemoryOperand {
        dword_ptr(self.0 + self.1)
    }
}

impl Emitter<'_> {
    /// Emits a load or a store of one element.
    pub(super) fn access(&mut self, op: usize, guard: Guard, step: &Step) -> Emitted {
        let (access, store) = match step {
            Step::Load(access) => (access, false),
            Step::Store(access) => (access, true),
            _ => return self.exit(op),
        };
        let Some(slot) = access.registers.first().and_then(|one| one.slot) else {
            return self.call_interpreter(op, None);
        };
        let base = access.address.base;
        let (slow, mut back) = (self.unit.a.create_label(), self.unit.a.create_label());
        let plain = Plain { op, access, slot, base, slow, store };
        if !self.has_code(&plain, guard) {
            return self.call_interpreter(op, None);
        }
        self.late.push(Late::Slow { op, label: slow, back });
        let before = self.masked;
        if let Some(predicate) = guard.predicate() {
            let holds = self.predicate(predicate);
            self.unit.a.mov(eax, holds)?;
            if guard.is_negated() {
                self.unit.a.not(eax)?;
            }
            if self.mode == Mode::Masked {
                self.unit.a.and(eax, dword_ptr(field!(mask)))?;
            }
            self.unit.a.test(eax, eax)?;
            self.unit.a.jz(back)?;
            if self.mode == Mode::Masked {
                self.load_mask(eax)?;
            } else {
                self.unit.a.cmp(eax, -1)?;
                self.unit.a.jne(slow)?;
            }
        }
        self.emit_access(&plain)?;
        self.masked = before;
        self.unit.place(&mut back)?;
        if self.mode == Mode::Masked && guard != Guard::ALWAYS {
            self.unit.a.mov(eax, dword_ptr(field!(mask)))?;
            self.load_mask(eax)?;
        }
        Ok(())
    }

    /// Whether there is code for an access; the interpreter performs others.
    fn has_code(&self, plain: &Plain<'_>, _guard: Guard) -> bool {
        let bytes = plain.bytes();
        let offset = plain.access.address.offset;
        if plain.base.is_some() && i32::try_from(offset).is_err() || !plain.is_wide() && !plain.is_shared() {
            return false;
        }
        match self.address_class(plain) {
            Class::Affine(0) => !plain.store,
            _ if !plain.is_single() => !plain.store,
            Class::Affine(stride) if stride == bytes as i64 && !self.masked => true,
            _ => bytes == 4 && !(plain.store && self.masked) || bytes == 8 && !plain.store,
        }
    }

    /// The class of the address.
    fn address_class(&self, plain: &Plain<'_>) -> Class {
        plain.base.map_or(Class::UNIFORM, |base| self.class(plain.op, base))
    }

    fn emit_access(&mut self, plain: &Plain<'_>) -> Emitted {
        if !plain.is_shared() {
            self.unit.a.mov(rdx, qword_ptr(field!(sites)))?;
        }
        match self.address_class(plain) {
            Class::Affine(0) => self.load_broadcast(plain),
            Class::Affine(stride) if stride == plain.bytes() as i64 && !self.masked && plain.is_single() => {
                self.contiguous(plain)
            }
            _ => self.scattered(plain),
        }
    }

    /// The place in the host's memory of the first of several elements one behind the other, in `rax`.
    fn check_elements(&mut self, plain: &Plain<'_>, count: usize) -> Emitted {
        let offset = plain.access.address.offset;
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
        asm.sub(rax, plain.region(offset_of!(Region, base)).qword())?;
        asm.cmp(rax, plain.room().qword())?;
        asm.jae(plain.slow)?;
        if count > 1 {
            asm.lea(rcx, ptr(rax + (count - 1) * plain.total()))?;
            asm.cmp(rcx, plain.room().qword())?;
            asm.jae(plain.slow)?;
        }
        if plain.total() > 1 {
            asm.test(al, plain.total() as i32 - 1)?;
            asm.jnz(plain.slow)?;
        }
        asm.add(rax, plain.region(offset_of!(Region, host)).qword())
    }

    /// A load from one place.
    fn load_broadcast(&mut self, plain: &Plain<'_>) -> Emitted {
        self.check_elements(plain, 1)?;
        if !plain.is_single() {
            for (n, slot) in
                plain.access.registers.iter().enumerate().filter_map(|(n, one)| Some((n, one.slot?)))
            {
                self.unit.a.mov(ecx, dword_ptr(rax + 4 * n))?;
                if let Class::Affine(_) = self.result_class(plain.op, slot) {
                    self.put_scalar(plain.op, slot, RCX)?;
                    continue;
                }
                self.unit.a.vpbroadcastd(zmm0, ecx)?;
                self.put(plain.op, slot, 0, 0)?;
                self.put(plain.op, slot, 1, 0)?;
            }
            return Ok(());
        }
        let wide = plain.slot.is_wide();
        let narrow_register = plain.access.registers.first().is_some_and(|one| one.bits < 32);
        match (plain.bytes(), plain.access.signed) {
            (8, _) => self.unit.a.mov(rax, qword_ptr(rax))?,
            (4, _) => self.unit.a.mov(eax, dword_ptr(rax))?,
            (2, true) => self.unit.a.movsx(eax, word_ptr(rax))?,
            (2, false) => self.unit.a.movzx(eax, word_ptr(rax))?,
            (_, true) => self.unit.a.movsx(eax, byte_ptr(rax))?,
            (_, false) => self.unit.a.movzx(eax, byte_ptr(rax))?,
        }
        if narrow_register {
            self.unit.a.and(eax, 0xffff)?;
        }
        if let Class::Affine(_) = self.result_class(plain.op, plain.slot) {
            return self.put_scalar(plain.op, plain.slot, RAX);
        }
        match wide {
            true => self.unit.a.vpbroadcastq(zmm0, rax)?,
            false => self.unit.a.vpbroadcastd(zmm0, eax)?,
        }
        for part in 0..if wide { 4 } else { 2 } {
            self.put(plain.op, plain.slot, part, 0)?;
        }
        Ok(())
    }

    /// All lanes one behind the other.
    fn contiguous(&mut self, plain: &Plain<'_>) -> Emitted {
        self.check_elements(plain, 32)?;
        self.move_half(plain, 0, rax, 0)?;
        self.move_half(plain, 1, rax, 16 * plain.bytes())
    }

    /// Moves half a row from or to consecutive elements at an address.
    fn move_half(&mut self, plain: &Plain<'_>, half: usize, at: AsmRegister64, offset: usize) -> Emitted {
        let (op, slot) = (plain.op, plain.slot);
        let parts = if plain.bytes() == 8 { 2 } else { 1 };
        for n in 0..parts {
            let part = half * parts + n;
            let place = at + (offset + 64 * n);
            if plain.store {
                let from = self.register(op, slot, part, 7, false)?;
                let z = ZMM[usize::from(from)];
                match plain.bytes() {
                    1 => self.unit.a.vpmovdb(xmmword_ptr(place), z)?,
                    2 => self.unit.a.vpmovdw(ymmword_ptr(place), z)?,
                    _ => self.unit.a.vmovdqu64(zmmword_ptr(place), z)?,
                }
                continue;
            }
            let target = self.target(op, slot, part, 7);
            let z = ZMM[usize::from(target)];
            match (plain.bytes(), plain.access.signed) {
                (1, true) => self.unit.a.vpmovsxbd(z, xmmword_ptr(place))?,
                (1, false) => self.unit.a.vpmovzxbd(z, xmmword_ptr(place))?,
                (2, true) => self.unit.a.vpmovsxwd(z, ymmword_ptr(place))?,
                (2, false) => self.unit.a.vpmovzxwd(z, ymmword_ptr(place))?,
                _ => self.unit.a.vmovdqu64(z, zmmword_ptr(place))?,
            }
            if plain.access.signed && plain.access.registers.first().is_some_and(|one| one.bits < 32) {
                let mask = self.unit.word(0xffff);
                self.unit.a.vpandd(z, z, mask)?;
            }
            self.put(op, slot, part, target)?;
        }
        Ok(())
    }

    /// Lanes anywhere in a region.
    fn scattered(&mut self, plain: &Plain<'_>) -> Emitted {
        let Some(base) = plain.base else { return Ok(()) };
        let wide = base.is_wide();
        let parts = if wide { 4 } else { 2 };
        let offset = plain.access.address.offset as i32;
        // Offsets of the lanes in the region, in the first temporary registers.
        match wide {
            true => {
                self.unit.a.mov(rax, plain.region(offset_of!(Region, base)).qword())?;
                self.unit.a.sub(rax, offset)?;
                self.unit.a.vpbroadcastq(zmm4, rax)?;
            }
            false => {
                self.unit.a.mov(eax, plain.region(offset_of!(Region, base)).dword())?;
                self.unit.a.sub(eax, offset)?;
                self.unit.a.vpbroadcastd(zmm4, eax)?;
            }
        }
        for (part, &offsets) in ZMM.iter().enumerate().take(parts) {
            let from = self.register(plain.op, base, part, part as u8, false)?;
            match wide {
                true => self.unit.a.vpsubq(offsets, ZMM[usize::from(from)], zmm4)?,
                false => self.unit.a.vpsubd(offsets, ZMM[usize::from(from)], zmm4)?,
            }
        }
        match self.masked {
            true => self.check_masked(plain, parts, wide)?,
            false => self.check_all(plain, wide)?,
        }
        if self.masked || !plain.is_single() {
            self.unit.a.mov(rdx, plain.region(offset_of!(Region, host)).qword())?;
            for (n, slot) in
                plain.access.registers.iter().enumerate().filter_map(|(n, one)| Some((n, one.slot?)))
            {
                self.gather(plain, wide, (slot, n * plain.bytes()))?;
            }
            return Ok(());
        }
        let (mut apart, mut done) = (self.unit.a.create_label(), self.unit.a.create_label());
        self.test_halves(plain, wide, apart)?;
        self.unit.a.add(rax, plain.region(offset_of!(Region, host)).qword())?;
        self.unit.a.add(rcx, plain.region(offset_of!(Region, host)).qword())?;
        // Where both halves store to one place, the lower lane wins.
        let halves = [(0, rax), (1, rcx)];
        let order = if plain.store { [1, 0] } else { [0, 1] };
        for (half, at) in order.map(|n: usize| halves[n]) {
            self.move_half(plain, half, at, 0)?;
        }
        self.unit.a.jmp(done)?;
        self.unit.place(&mut apart)?;
        self.unit.a.mov(rdx, plain.region(offset_of!(Region, host)).qword())?;
        match plain.store {
            true => self.scatter(plain, wide)?,
            false => self.gather(plain, wide, (plain.slot, 0))?,
        }
        self.unit.place(&mut done)
    }

    /// Checks the offsets of all lanes.
    fn check_all(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        let low = self.unit.constant_of(plain.total() as u64 - 1, wide);
        let asm = &mut self.unit.a;
        if wide {
            asm.vpmaxuq(zmm4, zmm0, zmm1)?;
            asm.vpmaxuq(zmm5, zmm2, zmm3)?;
            asm.vpmaxuq(zmm4, zmm4, zmm5)?;
            asm.vpcmpuq(k1, zmm4, plain.room().qwords(), 5)?;
            asm.vporq(zmm4, zmm0, zmm1)?;
            asm.vporq(zmm5, zmm2, zmm3)?;
            asm.vporq(zmm4, zmm4, zmm5)?;
            asm.vptestmq(k2, zmm4, low)?;
        } else {
            asm.vpmaxud(zmm4, zmm0, zmm1)?;
            asm.vpcmpud(k1, zmm4, plain.room().dwords(), 5)?;
            asm.vpord(zmm4, zmm0, zmm1)?;
            asm.vptestmd(k2, zmm4, low)?;
        }
        asm.kortestw(k1, k2)?;
        asm.jnz(plain.slow)
    }

    /// Checks the offsets of the lanes that take part.
    fn check_masked(&mut self, plain: &Plain<'_>, parts: usize, wide: bool) -> Emitted {
        let low = self.unit.constant_of(plain.total() as u64 - 1, wide);
        for (part, &offsets) in ZMM.iter().enumerate().take(parts) {
            self.part_mask(part, wide)?;
            let asm = &mut self.unit.a;
            match wide {
                true => {
                    asm.vpcmpuq(k2.k1(), offsets, plain.room().qwords(), 5)?;
                    asm.vptestmq(k3.k1(), offsets, low)?;
                }
                false => {
                    asm.vpcmpud(k2.k1(), offsets, plain.room().dwords(), 5)?;
                    asm.vptestmd(k3.k1(), offsets, low)?;
                }
            }
            asm.kortestw(k2, k3)?;
            asm.jnz(plain.slow)?;
        }
        Ok(())
    }

    /// The lanes of a part of a row that take part, in `k1`.
    fn part_mask(&mut self, part: usize, wide: bool) -> Emitted {
        let asm = &mut self.unit.a;
        match (wide, part) {
            (true, 0) | (false, 0) => asm.kmovw(k1, k6),
            (true, 1) => asm.kshiftrw(k1, k6, 8),
            (true, 2) | (false, _) => asm.kmovw(k1, k7),
            (true, _) => asm.kshiftrw(k1, k7, 8),
        }
    }

    /// Tests whether each half of the warp accesses consecutive elements: `rax` and `rcx` are then the offsets of the
    /// first ones.
    fn test_halves(&mut self, plain: &Plain<'_>, wide: bool, apart: CodeLabel) -> Emitted {
        let bytes = plain.bytes() as i64;
        if wide {
            for (first, ks) in [(0usize, [k1, k2]), (2, [k3, k4])] {
                self.unit.a.vpbroadcastq(zmm4, XMM[first])?;
                for (n, k) in ks.into_iter().enumerate() {
                    let steps = self.unit.steps(bytes, n, true);
                    self.unit.a.vpaddq(zmm5, zmm4, steps)?;
                    self.unit.a.vpcmpq(k, zmm5, ZMM[first + n], 0)?;
                }
            }
            let asm = &mut self.unit.a;
            asm.kandw(k1, k1, k2)?;
            asm.kandw(k3, k3, k4)?;
            asm.kandw(k1, k1, k3)?;
            asm.kortestb(k1, k1)?;
            asm.jae(apart)?;
            asm.vmovq(rax, xmm0)?;
            return asm.vmovq(rcx, xmm2);
        }
        let steps = self.unit.steps(bytes, 0, false);
        let asm = &mut self.unit.a;
        for (half, k) in [(0usize, k1), (1, k2)] {
            asm.vpbroadcastd(zmm4, XMM[half])?;
            asm.vpaddd(zmm4, zmm4, steps)?;
            asm.vpcmpd(k, zmm4, ZMM[half], 0)?;
        }
        asm.kandw(k1, k1, k2)?;
        asm.kortestw(k1, k1)?;
        asm.jae(apart)?;
        asm.vmovd(eax, xmm0)?;
        asm.vmovd(ecx, xmm1)
    }

    /// The lanes that a gather or scatter of a part takes, in `k2`.
    fn taking(&mut self, part: usize, wide: bool) -> Emitted {
        if self.masked {
            self.part_mask(part, wide)?;
            return self.unit.a.kmovw(k2, k1);
        }
        self.unit.a.kxnorw(k2, k2, k2)
    }

    /// Gathers an element. Its address is `rdx`, plus a lane's offset in the first temporary registers, plus `skip`.
    fn gather(&mut self, plain: &Plain<'_>, wide: bool, (slot, skip): (Slot, usize)) -> Emitted {
        let op = plain.op;
        match (plain.bytes(), wide) {
            (4, true) => {
                for half in 0..2usize {
                    for (n, to) in [(0, ymm4), (1, ymm5)] {
                        let part = 2 * half + n;
                        self.taking(part, true)?;
                        self.unit.a.vpxor(to, to, to)?;
                        self.unit.a.vpgatherqd(to.k2(), ymmword_ptr(rdx + ZMM[part] * 1 + skip))?;
                    }
                    self.unit.a.vinserti64x4(zmm4, zmm4, ymm5, 1)?;
                    self.put(op, slot, half, 4)?;
                }
            }
            (4, false) => {
                for (half, &offsets) in ZMM.iter().enumerate().take(2) {
                    self.taking(half, false)?;
                    self.unit.a.vpxord(zmm4, zmm4, zmm4)?;
                    self.unit.a.vpgatherdd(zmm4.k2(), zmmword_ptr(rdx + offsets * 1 + skip))?;
                    self.put(op, slot, half, 4)?;
                }
            }
            (_, true) => {
                for (part, &offsets) in ZMM.iter().enumerate().take(4) {
                    self.taking(part, true)?;
                    self.unit.a.vpxord(zmm4, zmm4, zmm4)?;
                    self.unit.a.vpgatherqq(zmm4.k2(), zmmword_ptr(rdx + offsets * 1 + skip))?;
                    self.put(op, slot, part, 4)?;
                }
            }
            (_, false) => {
                for part in 0..4usize {
                    self.taking(part, true)?;
                    if part % 2 == 1 {
                        self.unit.a.vextracti64x4(ymm5, ZMM[part / 2], 1)?;
                    } else {
                        self.unit.a.vmovdqa(ymm5, YMM[part / 2])?;
                    }
                    self.unit.a.vpxord(zmm4, zmm4, zmm4)?;
                    self.unit.a.vpgatherdq(zmm4.k2(), zmmword_ptr(rdx + ymm5 * 1 + skip))?;
                    self.put(op, slot, part, 4)?;
                }
            }
        }
        Ok(())
    }

    /// Stores 32-bit words to the offsets in the first temporary registers, from `rdx` on: of lanes with the same
    /// offset the lowest wins, so it comes last.
    fn scatter(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        let (op, slot) = (plain.op, plain.slot);
        let backwards = self.unit.words(std::array::from_fn(|n| 15 - n as u32));
        if !wide {
            self.unit.a.vmovdqa64(zmm5, backwards)?;
            for half in [1usize, 0] {
                let value = self.register(op, slot, half, 4, false)?;
                self.unit.a.vpermd(zmm4, zmm5, ZMM[usize::from(value)])?;
                self.unit.a.vpermd(ZMM[half], zmm5, ZMM[half])?;
                self.unit.a.kxnorw(k2, k2, k2)?;
                self.unit.a.vpscatterdd(zmmword_ptr(rdx + ZMM[half] * 1).k2(), zmm4)?;
            }
            return Ok(());
        }
        let eight = self.unit.wide_backwards();
        for half in [1usize, 0] {
            let value = self.register(op, slot, half, 4, false)?;
            self.unit.a.vmovdqa64(zmm5, backwards)?;
            // The upper eight words, reversed, are the lower ones.
            self.unit.a.vpermd(zmm4, zmm5, ZMM[usize::from(value)])?;
            self.unit.a.vmovdqa64(zmm5, eight)?;
            for n in [1usize, 0] {
                let part = 2 * half + n;
                self.unit.a.vpermq(ZMM[part], zmm5, ZMM[part])?;
                self.unit.a.kxnorw(k2, k2, k2)?;
                self.unit.a.vpscatterqd(ymmword_ptr(rdx + ZMM[part] * 1).k2(), ymm4)?;
                if n == 1 {
                    self.unit.a.vextracti64x4(ymm4, zmm4, 1)?;
                }
            }
        }
        Ok(())
    }
}

impl super::Unit {
    /// A word for all lanes, of 32 or 64 bits.
    fn constant_of(&mut self, value: u64, wide: bool) -> AsmMemoryOperand {
        match wide {
            true => self.steps_from(value),
            false => self.word(value as u32),
        }
    }

    /// 64-bit words in reversed order: their indices.
    fn wide_backwards(&mut self) -> AsmMemoryOperand {
        let bytes = (0..8u64).flat_map(|n| (7 - n).to_le_bytes()).collect();
        self.bytes(bytes)
    }

    fn steps_from(&mut self, value: u64) -> AsmMemoryOperand {
        self.bytes(value.to_le_bytes().repeat(8))
    }
}
