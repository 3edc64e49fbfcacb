//! Accesses of lanes anywhere in a region: gathers and scatters.

use super::plain::Plain;
use super::{Emitted, Emitter, XMM, YMM, ZMM};
use crate::Level;
use crate::assembler::*;
use crate::classes::Steps;
use crate::context::{Context, Region};
use crate::places::Place;
use crate::spans::Span;
use softwarp_ir::Slot;
use std::mem::offset_of;

impl Emitter<'_> {
    /// Lanes anywhere in a region.
    pub(super) fn scattered(&mut self, plain: &Plain<'_>) -> Emitted {
        match self.span(plain) {
            None => self.apart(plain, None),
            Some((span, _)) if span.first == plain.op => {
                self.begin_span(&span)?;
                self.apart(plain, Some(span))
            }
            Some(kept) => {
                let mut done = self.unit.a.create_label();
                self.load_kept(plain, kept, done)?;
                self.apart(plain, None)?;
                self.unit.place(&mut done)
            }
        }
    }

    /// The same; the first load of a span loads all of it.
    fn apart(&mut self, plain: &Plain<'_>, span: Option<Span>) -> Emitted {
        if let (true, true, 4, Some(base)) =
            (self.masked, plain.is_single() && plain.is_whole(), plain.bytes(), plain.base)
        {
            let (mut several, mut done) = (self.unit.a.create_label(), self.unit.a.create_label());
            self.single_lane(plain, base, several)?;
            self.unit.a.jmp(done)?;
            self.unit.place(&mut several)?;
            if let Some(span) = span {
                self.load_span(plain, &span, done)?;
            }
            self.offsets(plain)?;
            self.move_elements(plain, base.is_wide())?;
            return self.unit.place(&mut done);
        }
        if let Some(steps) = self.strides(plain) {
            return self.strided(plain, steps);
        }
        let wide = plain.is_wide();
        let whole = plain.is_single() && plain.bytes() >= 4;
        if let (Some(step), true, Some(base)) = (self.halves_step(plain), whole, plain.base) {
            if step == plain.bytes() as i64 {
                self.half_places(plain, base, 16)?;
                return self.move_halves(plain, [(rax, 0), (rcx, 0)]);
            }
            if step == 0 && !plain.store {
                self.half_places(plain, base, 1)?;
                return self.move_two(plain, [(rax, 0), (rcx, 0)]);
            }
        }
        if self.masked || !plain.is_single() {
            self.offsets(plain)?;
            return self.move_elements(plain, wide);
        }
        let (mut apart, mut done) = (self.unit.a.create_label(), self.unit.a.create_label());
        self.test_halves(plain, wide, apart)?;
        self.offsets_of_addresses(plain, wide)?;
        self.check_offsets(plain, 16)?;
        self.places_of_offsets(plain)?;
        self.move_halves(plain, [(rax, 0), (rcx, 0)])?;
        self.unit.a.jmp(done)?;
        self.unit.place(&mut apart)?;
        if let Some(span) = span {
            self.load_span(plain, &span, done)?;
        }
        self.offsets(plain)?;
        self.move_elements(plain, wide)?;
        self.unit.place(&mut done)
    }

    /// The offsets in the region of the addresses in `rax` and `rcx`, there.
    pub(super) fn offsets_of_addresses(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        let offset = plain.address.offset as i32;
        let asm = &mut self.unit.a;
        for (at, narrow) in [(rax, eax), (rcx, ecx)] {
            match wide {
                true => {
                    if offset != 0 {
                        asm.add(at, offset)?;
                    }
                    asm.sub(at, plain.region(offset_of!(Region, base)).qword())?;
                }
                false => {
                    if offset != 0 {
                        asm.add(narrow, offset)?;
                    }
                    asm.sub(narrow, plain.region(offset_of!(Region, base)).dword())?;
                }
            }
        }
        Ok(())
    }

    /// The places in the host's memory for the offsets in `rax` and `rcx`, there.
    pub(super) fn places_of_offsets(&mut self, plain: &Plain<'_>) -> Emitted {
        let host = plain.region(offset_of!(Region, host));
        self.unit.a.add(rax, host.qword())?;
        self.unit.a.add(rcx, host.qword())
    }

    /// Checks the offsets of the first lanes of both halves, in `rax` and `rcx`, and those of several elements behind each.
    pub(super) fn check_offsets(&mut self, plain: &Plain<'_>, count: usize) -> Emitted {
        let (room, total) = (plain.room(), plain.total());
        let asm = &mut self.unit.a;
        // A place before the region has a negative offset.
        asm.mov(rdx, rax)?;
        asm.or(rdx, rcx)?;
        if count > 1 {
            asm.jl(plain.slow)?;
        }
        asm.test(dl, total as i32 - 1)?;
        asm.jnz(plain.slow)?;
        for at in [rax, rcx] {
            let last = if count > 1 { rdx } else { at };
            if count > 1 {
                asm.lea(rdx, ptr(at + (count - 1) * total))?;
            }
            asm.cmp(last, room.qword())?;
            asm.jae(plain.slow)?;
        }
        Ok(())
    }

    /// An access of a word by one lane. If several take part, it goes to `several`.
    fn single_lane(&mut self, plain: &Plain<'_>, base: Slot, several: CodeLabel) -> Emitted {
        let asm = &mut self.unit.a;
        asm.kunpckwd(k1, k7, k6)?;
        asm.kmovd(eax, k1)?;
        asm.lea(ecx, ptr(rax - 1))?;
        asm.test(ecx, eax)?;
        asm.jnz(several)?;
        asm.bsf(edx, eax)?;
        let wide = base.is_wide();
        for part in 0..if wide { 4 } else { 2 } {
            let from = self.register(plain.op, base, part, 0, false)?;
            let place = r15 + (offset_of!(Context, lane_offsets) + 64 * part);
            self.unit.a.vmovdqu64(zmmword_ptr(place), ZMM[usize::from(from)])?;
        }
        let offset = plain.address.offset as i32;
        let asm = &mut self.unit.a;
        match wide {
            true => {
                asm.mov(rax, qword_ptr(r15 + rdx * 8 + offset_of!(Context, lane_offsets)))?;
                asm.add(rax, offset)?;
                asm.sub(rax, plain.region(offset_of!(Region, base)).qword())?;
            }
            false => {
                asm.mov(eax, dword_ptr(r15 + rdx * 4 + offset_of!(Context, lane_offsets)))?;
                asm.add(eax, offset)?;
                asm.sub(eax, plain.region(offset_of!(Region, base)).dword())?;
            }
        }
        asm.cmp(rax, plain.room().qword())?;
        asm.jae(plain.slow)?;
        asm.test(al, plain.total() as i32 - 1)?;
        asm.jnz(plain.slow)?;
        asm.add(rax, plain.region(offset_of!(Region, host)).qword())?;
        if plain.store {
            for part in 0..2 {
                let from = self.register(plain.op, plain.slot, part, 0, false)?;
                let place = r15 + (offset_of!(Context, lane_values) + 64 * part);
                self.unit.a.vmovdqu64(zmmword_ptr(place), ZMM[usize::from(from)])?;
            }
            let asm = &mut self.unit.a;
            asm.mov(ecx, dword_ptr(r15 + rdx * 4 + offset_of!(Context, lane_values)))?;
            return asm.mov(dword_ptr(rax), ecx);
        }
        self.unit.a.vpbroadcastd(zmm4, dword_ptr(rax))?;
        self.put(plain.op, plain.slot, 0, 4)?;
        self.put(plain.op, plain.slot, 1, 4)
    }

    /// The offsets of the lanes in the region, in the first temporary registers, checked.
    pub(super) fn offsets(&mut self, plain: &Plain<'_>) -> Emitted {
        self.raw_offsets(plain)?;
        self.check_all(plain, plain.is_wide())
    }

    /// The same without checks.
    pub(super) fn raw_offsets(&mut self, plain: &Plain<'_>) -> Emitted {
        let wide = plain.is_wide();
        let parts = if wide { 4 } else { 2 };
        let Some(base) = plain.base else {
            self.first_offset(plain)?;
            for &offsets in &ZMM[..parts] {
                self.unit.a.vpbroadcastq(offsets, rax)?;
            }
            return Ok(());
        };
        let offset = plain.address.offset as i32;
        match wide {
            true => {
                let base = plain.region(offset_of!(Region, base));
                if offset == 0 {
                    self.unit.a.vpbroadcastq(zmm4, base.qword())?;
                } else {
                    self.unit.a.mov(rax, base.qword())?;
                    self.unit.a.sub(rax, offset)?;
                    self.unit.a.vpbroadcastq(zmm4, rax)?;
                }
            }
            false => {
                let base = plain.region(offset_of!(Region, base));
                if offset == 0 {
                    self.unit.a.vpbroadcastd(zmm4, base.dword())?;
                } else {
                    self.unit.a.mov(eax, base.dword())?;
                    self.unit.a.sub(eax, offset)?;
                    self.unit.a.vpbroadcastd(zmm4, eax)?;
                }
            }
        }
        for (part, &offsets) in ZMM.iter().enumerate().take(parts) {
            let from = ZMM[usize::from(self.register(plain.op, base, part, part as u8, false)?)];
            // Lanes that take no part have the offset 0, which passes the check if that of another lane does.
            let to = match self.masked {
                true => {
                    self.part_mask(part, wide)?;
                    offsets.k1().z()
                }
                false => offsets,
            };
            match wide {
                true => self.unit.a.vpsubq(to, from, zmm4)?,
                false => self.unit.a.vpsubd(to, from, zmm4)?,
            }
        }
        Ok(())
    }

    /// Gathers or scatters all elements, by the offsets in the first temporary registers.
    fn move_elements(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        if plain.bytes() < 4 {
            return self.move_short(plain, wide);
        }
        self.unit.a.mov(rdx, plain.region(offset_of!(Region, host)).qword())?;
        let narrows = wide && !plain.store && plain.is_single() && plain.bytes() == 4;
        if !narrows || self.unit.level != Level::Avx512 {
            return self.move_from(plain, wide);
        }
        let (mut large, mut done) = (self.unit.a.create_label(), self.unit.a.create_label());
        self.unit.a.cmp(plain.room().qword(), i32::MAX)?;
        self.unit.a.ja(large)?;
        self.narrow_offsets()?;
        self.move_from(plain, false)?;
        self.unit.a.jmp(done)?;
        self.unit.place(&mut large)?;
        self.move_from(plain, true)?;
        self.unit.place(&mut done)
    }

    /// Makes words of 32 bits of the offsets in the first temporary registers, which are below 2^31: a gather by sixteen of
    /// them takes about as long as one by eight offsets of 64 bits.
    pub(super) fn narrow_offsets(&mut self) -> Emitted {
        let even = self.unit.words(std::array::from_fn(|n| 2 * n as u32));
        let asm = &mut self.unit.a;
        asm.vmovdqa64(zmm5, even)?;
        asm.vpermt2d(zmm0, zmm5, zmm1)?;
        asm.vmovdqa64(zmm1, zmm2)?;
        asm.vpermt2d(zmm1, zmm5, zmm3)
    }

    /// The same, from `rdx` on.
    pub(super) fn move_from(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        match (plain.is_single(), plain.store) {
            (false, _) => self.move_several(plain, wide),
            (true, true) => self.scatter(plain, wide),
            (true, false) => self.gather(plain, wide),
        }
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

    /// The lanes of a part of a row that take part, in `k1`.
    pub(super) fn part_mask(&mut self, part: usize, wide: bool) -> Emitted {
        let asm = &mut self.unit.a;
        match (wide, part) {
            (true, 0) | (false, 0) => asm.kmovw(k1, k6),
            (true, 1) => asm.kshiftrw(k1, k6, 8),
            (true, 2) | (false, _) => asm.kmovw(k1, k7),
            (true, _) => asm.kshiftrw(k1, k7, 8),
        }
    }

    /// Tests whether each half of the warp accesses consecutive elements: `rax` and `rcx` are then the addresses of the
    /// first ones, but for the offset that all have.
    fn test_halves(&mut self, plain: &Plain<'_>, wide: bool, apart: CodeLabel) -> Emitted {
        let Some(base) = plain.base else { return Ok(()) };
        let bytes = plain.bytes() as i64;
        let mut from = [0u8; 4];
        for (part, from) in from.iter_mut().enumerate().take(if wide { 4 } else { 2 }) {
            *from = self.register(plain.op, base, part, part as u8, false)?;
        }
        if wide {
            for (first, ks, all) in [(0usize, [k1, k2], zmm4), (2, [k3, k4], zmm6)] {
                self.unit.a.vpbroadcastq(all, XMM[usize::from(from[first])])?;
                for (n, k) in ks.into_iter().enumerate() {
                    let steps = self.unit.steps(Steps::even(bytes), n, true);
                    self.unit.a.vpaddq(zmm5, all, steps)?;
                    self.unit.a.vpcmpq(k, zmm5, ZMM[usize::from(from[first + n])], 0)?;
                }
            }
            let asm = &mut self.unit.a;
            asm.kandw(k1, k1, k2)?;
            asm.kandw(k3, k3, k4)?;
            asm.kandw(k1, k1, k3)?;
            asm.kortestb(k1, k1)?;
            asm.jae(apart)?;
            asm.vmovq(rax, xmm4)?;
            return asm.vmovq(rcx, xmm6);
        }
        let steps = self.unit.steps(Steps::even(bytes), 0, false);
        let asm = &mut self.unit.a;
        for (half, k, all) in [(from[0], k1, zmm4), (from[1], k2, zmm6)] {
            let half = usize::from(half);
            asm.vpbroadcastd(all, XMM[half])?;
            asm.vpaddd(zmm5, all, steps)?;
            asm.vpcmpd(k, zmm5, ZMM[half], 0)?;
        }
        asm.kandw(k1, k1, k2)?;
        asm.kortestw(k1, k1)?;
        asm.jae(apart)?;
        asm.vmovd(eax, xmm4)?;
        asm.vmovd(ecx, xmm6)
    }

    /// The lanes that a gather or scatter of a part takes, in `k2`.
    pub(super) fn taking(&mut self, part: usize, wide: bool) -> Emitted {
        if self.masked {
            self.part_mask(part, wide)?;
            return self.unit.a.kmovw(k2, k1);
        }
        self.unit.a.kxnorw(k2, k2, k2)
    }

    /// The lanes that take part, as bits in `ecx`.
    pub(super) fn active_lanes(&mut self) -> Emitted {
        let asm = &mut self.unit.a;
        if !self.masked {
            return asm.mov(ecx, -1);
        }
        asm.kunpckwd(k1, k7, k6)?;
        asm.kmovd(ecx, k1)
    }

    /// Gathers an element. Its address is `rdx`, plus a lane's offset in the first temporary registers.
    fn gather(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        match (plain.bytes(), wide) {
            (4, true) => {
                for half in 0..2usize {
                    for (at, to) in [(0, ymm4), (1, ymm5)] {
                        let part = 2 * half + at;
                        self.taking(part, true)?;
                        self.unit.a.vpxor(to, to, to)?;
                        self.unit.a.vpgatherqd(to.k2(), ymmword_ptr(rdx + ZMM[part] * 1))?;
                    }
                    self.unit.a.vinserti64x4(zmm4, zmm4, ymm5, 1)?;
                    self.put_element(plain, (0, half), 4)?;
                }
            }
            (4, false) => {
                let slot = plain.registers.first().and_then(|one| one.slot).filter(|_| plain.is_whole());
                let web = slot.and_then(|slot| self.flow.written(plain.op, slot));
                let place = web.map(|web| self.places[web]);
                for (half, &offsets) in ZMM.iter().enumerate().take(2) {
                    self.taking(half, false)?;
                    let from = zmmword_ptr(rdx + offsets * 1);
                    if let (true, Some(Place::Vector(registers))) = (self.masked, place) {
                        // Other lanes keep what they have.
                        self.unit.a.vpgatherdd(ZMM[usize::from(registers[half])].k2(), from)?;
                        continue;
                    }
                    let to = self.element_target(plain, (0, half), 4);
                    let z = ZMM[usize::from(to)];
                    self.unit.a.vpxord(z, z, z)?;
                    self.unit.a.vpgatherdd(z.k2(), from)?;
                    self.put_element(plain, (0, half), to)?;
                }
            }
            (_, true) => {
                for (part, &offsets) in ZMM.iter().enumerate().take(4) {
                    self.taking(part, true)?;
                    self.unit.a.vpxord(zmm4, zmm4, zmm4)?;
                    self.unit.a.vpgatherqq(zmm4.k2(), zmmword_ptr(rdx + offsets * 1))?;
                    self.put_element(plain, (0, part), 4)?;
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
                    self.unit.a.vpgatherdq(zmm4.k2(), zmmword_ptr(rdx + ymm5 * 1))?;
                    self.put_element(plain, (0, part), 4)?;
                }
            }
        }
        Ok(())
    }

    /// Stores an element to the offsets in the first temporary registers, from `rdx` on. The hardware stores 128 bytes at a
    /// time, one group of lanes after the other. Of the lanes of a group with the same offset the lowest wins, so it comes
    /// last: offsets, values and masks are reversed.
    fn scatter(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        let backwards = self.unit.words(std::array::from_fn(|n| 15 - n as u32));
        if plain.bytes() == 4 && !wide {
            self.unit.a.vmovdqa64(zmm5, backwards)?;
            for half in [1usize, 0] {
                self.unit.a.vpermd(ZMM[half], zmm5, ZMM[half])?;
                let value = self.element(plain, (0, half), 4)?;
                self.unit.a.vpermd(zmm4, zmm5, ZMM[usize::from(value)])?;
                self.taking_backwards(half, false)?;
                self.unit.a.vpscatterdd(zmmword_ptr(rdx + ZMM[half] * 1).k2(), zmm4)?;
            }
            return Ok(());
        }
        let order = if plain.bytes() == 4 { [3usize, 2, 1, 0] } else { [1, 0, 3, 2] };
        for part in order {
            let offsets = self.offsets_backwards(part, wide)?;
            let at = rdx + offsets * 1;
            if plain.bytes() == 8 {
                let value = self.element(plain, (0, part), 4)?;
                self.unit.a.vpermq(zmm4, zmm5, ZMM[usize::from(value)])?;
                self.taking_backwards(part, true)?;
                self.unit.a.vpscatterqq(zmmword_ptr(at).k2(), zmm4)?;
                continue;
            }
            let value = self.element(plain, (0, part / 2), 4)?;
            self.unit.a.vmovdqa64(zmm6, backwards)?;
            // The upper eight words, reversed, are the lower ones.
            self.unit.a.vpermd(zmm4, zmm6, ZMM[usize::from(value)])?;
            if part % 2 == 0 {
                self.unit.a.vextracti64x4(ymm4, zmm4, 1)?;
            }
            self.taking_backwards(part, true)?;
            self.unit.a.vpscatterqd(ymmword_ptr(at).k2(), ymm4)?;
        }
        Ok(())
    }

    /// The offsets of eight lanes in reversed order, as words of 64 bits: in their own register or in `zmm3`. The indices of
    /// reversed words are in `zmm5`.
    pub(super) fn offsets_backwards(&mut self, part: usize, wide: bool) -> Emitted<AsmRegisterZmm> {
        let eight = self.unit.wide_backwards();
        let offsets = match (wide, part % 2) {
            (true, _) => ZMM[part],
            (false, 0) => {
                self.unit.a.vpmovzxdq(zmm3, YMM[part / 2])?;
                zmm3
            }
            (false, _) => {
                self.unit.a.vextracti64x4(ymm3, ZMM[part / 2], 1)?;
                self.unit.a.vpmovzxdq(zmm3, ymm3)?;
                zmm3
            }
        };
        self.unit.a.vmovdqa64(zmm5, eight)?;
        self.unit.a.vpermq(offsets, zmm5, offsets)?;
        Ok(offsets)
    }

    /// The lanes of a part that a scatter takes, in reversed order, in `k2`.
    pub(super) fn taking_backwards(&mut self, part: usize, wide: bool) -> Emitted {
        if !self.masked {
            return self.unit.a.kxnorw(k2, k2, k2);
        }
        self.part_mask(part, wide)?;
        match wide {
            true => {
                let eight = self.unit.wide_backwards();
                self.unit.a.vpmovm2q(zmm7, k1)?;
                self.unit.a.vmovdqa64(zmm6, eight)?;
                self.unit.a.vpermq(zmm7, zmm6, zmm7)?;
                self.unit.a.vpmovq2m(k2, zmm7)
            }
            false => {
                self.unit.a.vpmovm2d(zmm7, k1)?;
                self.unit.a.vpermd(zmm7, zmm5, zmm7)?;
                self.unit.a.vpmovd2m(k2, zmm7)
            }
        }
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
