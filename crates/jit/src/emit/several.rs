//! Accesses of several elements by each lane. All elements of a lane, 8 or 16 bytes, are moved in one piece, since threads
//! that run elsewhere on the host must not see half of them.
//!
//! Two words of 32 bits are an element of 64 bits in memory. 16 bytes are moved lane by lane, as quarters of vector
//! registers, or, where lanes are consecutive, several lanes at a time: such moves are aligned to 16 bytes, so
//! that no lane's elements are in two lines of the host's caches. Between memory and rows, words are brought together by
//! element (a transposition).

use super::plain::Plain;
use super::{Emitted, Emitter, YMM, ZMM, field};
use crate::Level;
use crate::assembler::*;
use crate::classes::Steps;

/// Where the elements of each lane are.
#[derive(Clone, Copy)]
pub(super) enum LanePlaces {
    /// At these steps from `rax` on.
    Steps(Steps),
    /// At the addresses in [`Context::lane_offsets`]; `rax` is used.
    Kept,
}

impl Emitter<'_> {
    /// Moves the elements of each lane, by the offsets in the first temporary registers, from `rdx` on.
    pub(super) fn move_several(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        match (plain.total(), plain.store) {
            (16, _) => {
                self.keep_addresses(plain, wide)?;
                self.move_sixteen(plain, LanePlaces::Kept)
            }
            (8, true) => self.scatter_pairs(plain, wide),
            (8, false) => self.gather_pairs(plain, wide),
            (_, true | false) => Err(Unencodable),
        }
    }

    /// Gathers two words for each lane.
    fn gather_pairs(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        for half in 0..2 {
            for (at, to) in [zmm4, zmm5].into_iter().enumerate() {
                let part = 2 * half + at;
                self.taking(part, true)?;
                self.unit.a.vpxord(to, to, to)?;
                if wide {
                    self.unit.a.vpgatherqq(to.k2(), zmmword_ptr(rdx + ZMM[part] * 1))?;
                    continue;
                }
                match at == 0 {
                    true => self.unit.a.vmovdqa(ymm6, YMM[half])?,
                    false => self.unit.a.vextracti64x4(ymm6, ZMM[half], 1)?,
                }
                self.unit.a.vpgatherdq(to.k2(), zmmword_ptr(rdx + ymm6 * 1))?;
            }
            for n in 0..2 {
                let together = self.unit.words(std::array::from_fn(|lane| (2 * lane + n) as u32));
                let target = self.element_target(plain, (n, half), 6);
                let t = ZMM[usize::from(target)];
                self.unit.a.vmovdqa64(t, together)?;
                self.unit.a.vpermi2d(t, zmm4, zmm5)?;
                self.put_element(plain, (n, half), target)?;
            }
        }
        Ok(())
    }

    /// Stores two words of each lane. Of lanes with the same offset the lowest of eight wins, so it comes last.
    fn scatter_pairs(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        for part in [1, 0, 3, 2] {
            let offsets = self.offsets_backwards(part, wide)?;
            self.taking_backwards(part, true)?;
            let (half, first) = (part / 2, 8 * (part % 2));
            let low = self.element(plain, (0, half), 4)?;
            let high = self.element(plain, (1, half), 5)?;
            let apart = |at: usize| first + 7 - at / 2 + 16 * (at % 2);
            let apart = self.unit.words(std::array::from_fn(|at| apart(at) as u32));
            self.unit.a.vmovdqa64(zmm7, apart)?;
            self.unit.a.vpermi2d(zmm7, ZMM[usize::from(low)], ZMM[usize::from(high)])?;
            self.unit.a.vpscatterqq(zmmword_ptr(rdx + offsets * 1).k2(), zmm7)?;
        }
        Ok(())
    }

    /// Writes the addresses of all lanes to the context, by the offsets in the first temporary registers from `rdx` on. Lanes
    /// that take no part in a store have an address in the context.
    fn keep_addresses(&mut self, plain: &Plain<'_>, wide: bool) -> Emitted {
        self.unit.a.vpbroadcastq(zmm4, rdx)?;
        let redirects = self.masked && plain.store;
        if redirects {
            self.unit.a.lea(rcx, ptr(field!(lane_results)))?;
        }
        for part in 0..4 {
            let offsets = match (wide, part % 2) {
                (true, _) => ZMM[part],
                (false, 0) => {
                    self.unit.a.vpmovzxdq(zmm5, YMM[part / 2])?;
                    zmm5
                }
                (false, _) => {
                    self.unit.a.vextracti64x4(ymm5, ZMM[part / 2], 1)?;
                    self.unit.a.vpmovzxdq(zmm5, ymm5)?;
                    zmm5
                }
            };
            self.unit.a.vpaddq(zmm5, offsets, zmm4)?;
            let mut addresses = zmm5;
            if redirects {
                self.part_mask(part, true)?;
                self.unit.a.vpbroadcastq(zmm6, rcx)?;
                self.unit.a.vmovdqa64(zmm6.k1(), zmm5)?;
                addresses = zmm6;
            }
            self.unit.a.vmovdqu64(zmmword_ptr(field!(lane_offsets) + 64 * part), addresses)?;
        }
        Ok(())
    }

    /// Moves 16 bytes for each lane.
    pub(super) fn move_sixteen(&mut self, plain: &Plain<'_>, lanes: LanePlaces) -> Emitted {
        let is_row = matches!(lanes, LanePlaces::Steps(steps) if steps == Steps::even(16));
        match (is_row && self.unit.level == Level::Avx512, plain.bytes(), plain.store) {
            (true, 8, false) => self.load_pairs(plain),
            (true, 8, true) => self.store_pairs(plain),
            (true, _, false) => self.load_fours(plain),
            (true, _, true) => self.store_fours(plain),
            (false, 8, false) => self.load_pairs_apart(plain, lanes),
            (false, 8, true) => self.store_pairs_apart(plain, lanes),
            (false, _, false) => {
                for half in 0..2 {
                    self.load_quarters(lanes, half)?;
                    self.transpose([0, 1, 2, 3])?;
                    for n in 0..4 {
                        let target = self.element_target(plain, (n, half), n as u8);
                        self.transposed(ZMM[usize::from(target)], n)?;
                        self.put_element(plain, (n, half), target)?;
                    }
                }
                Ok(())
            }
            (false, _, true) => {
                for half in 0..2 {
                    let mut rows = [0; 4];
                    for (n, row) in rows.iter_mut().enumerate() {
                        *row = self.element(plain, (n, half), n as u8)?;
                    }
                    self.transpose(rows)?;
                    for (n, &to) in ZMM.iter().enumerate().take(4) {
                        self.transposed(to, n)?;
                    }
                    for lane in [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8] {
                        let place = self.lane_place(lanes, 16 * half + lane)?;
                        self.unit.a.vextracti32x4(place, ZMM[lane % 4], (lane / 4) as i32)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// The 16 bytes of a lane.
    fn lane_place(&mut self, lanes: LanePlaces, lane: usize) -> Emitted<AsmMemoryOperand> {
        match lanes {
            LanePlaces::Steps(steps) => Ok(xmmword_ptr(rax + steps.at(lane) as usize)),
            LanePlaces::Kept => {
                self.unit.a.mov(rax, qword_ptr(field!(lane_offsets) + 8 * lane))?;
                Ok(xmmword_ptr(rax + 0))
            }
        }
    }

    /// Loads 16 bytes as a quarter of a register. The first one comes first.
    fn load_quarter(&mut self, to: AsmRegisterZmm, quarter: usize, from: AsmMemoryOperand) -> Emitted {
        match (quarter, self.unit.level) {
            // What the register had does not matter then.
            (0, Level::Avx512) => self.unit.a.vbroadcasti32x4(to, from),
            (_, Level::Avx512 | Level::Avx2) => self.unit.a.vinserti32x4(to, to, from, quarter as i32),
        }
    }

    /// Loads 16 bytes for each lane of a half into the first four temporary registers: every fourth lane is in one register.
    pub(super) fn load_quarters(&mut self, lanes: LanePlaces, half: usize) -> Emitted {
        for (n, &to) in ZMM.iter().enumerate().take(4) {
            for quarter in 0..4 {
                let place = self.lane_place(lanes, 16 * half + 4 * quarter + n)?;
                self.load_quarter(to, quarter, place)?;
            }
        }
        Ok(())
    }

    /// Begins to transpose four registers, four words by four words in each quarter. The rest is [`Emitter::transposed`].
    pub(super) fn transpose(&mut self, from: [u8; 4]) -> Emitted {
        let [a, b, c, d] = from.map(|register| ZMM[usize::from(register)]);
        let asm = &mut self.unit.a;
        asm.vpunpckldq(zmm4, a, b)?;
        asm.vpunpckhdq(zmm5, a, b)?;
        asm.vpunpckldq(zmm6, c, d)?;
        asm.vpunpckhdq(zmm7, c, d)
    }

    /// One of the four registers of a transposition.
    pub(super) fn transposed(&mut self, to: AsmRegisterZmm, n: usize) -> Emitted {
        match n {
            0 => self.unit.a.vpunpcklqdq(to, zmm4, zmm6),
            1 => self.unit.a.vpunpckhqdq(to, zmm4, zmm6),
            2 => self.unit.a.vpunpcklqdq(to, zmm5, zmm7),
            3 => self.unit.a.vpunpckhqdq(to, zmm5, zmm7),
            _ => Err(Unencodable),
        }
    }

    /// Loads two words of 64 bits for each lane.
    fn load_pairs_apart(&mut self, plain: &Plain<'_>, lanes: LanePlaces) -> Emitted {
        for part in 0..4 {
            for (n, to) in [zmm0, zmm1].into_iter().enumerate() {
                for quarter in 0..4 {
                    let place = self.lane_place(lanes, 8 * part + 2 * quarter + n)?;
                    self.load_quarter(to, quarter, place)?;
                }
            }
            let target = self.element_target(plain, (0, part), 2);
            self.unit.a.vpunpcklqdq(ZMM[usize::from(target)], zmm0, zmm1)?;
            self.put_element(plain, (0, part), target)?;
            let target = self.element_target(plain, (1, part), 3);
            self.unit.a.vpunpckhqdq(ZMM[usize::from(target)], zmm0, zmm1)?;
            self.put_element(plain, (1, part), target)?;
        }
        Ok(())
    }

    /// Stores two words of 64 bits of each lane.
    fn store_pairs_apart(&mut self, plain: &Plain<'_>, lanes: LanePlaces) -> Emitted {
        for part in 0..4 {
            let low = self.element(plain, (0, part), 0)?;
            let high = self.element(plain, (1, part), 1)?;
            let [low, high] = [low, high].map(|register| ZMM[usize::from(register)]);
            self.unit.a.vpunpcklqdq(zmm2, low, high)?;
            self.unit.a.vpunpckhqdq(zmm3, low, high)?;
            for lane in (0..8).rev() {
                let place = self.lane_place(lanes, 8 * part + lane)?;
                let from = if lane % 2 == 0 { zmm2 } else { zmm3 };
                self.unit.a.vextracti32x4(place, from, (lane / 2) as i32)?;
            }
        }
        Ok(())
    }

    /// Loads four words for each lane, whose lanes are consecutive from `rax` on.
    fn load_fours(&mut self, plain: &Plain<'_>) -> Emitted {
        // Words of eight lanes: two elements of them, one after the other.
        let [first, second] = [0, 2].map(|n| std::array::from_fn(|at| (4 * (at % 8) + at / 8 + n) as u32));
        let upper = std::array::from_fn(|at| (8 + at % 8 + 16 * (at / 8)) as u32);
        let [first, second, upper] = [first, second, upper].map(|words| self.unit.words(words));
        for half in 0..2 {
            let asm = &mut self.unit.a;
            for (n, &to) in ZMM.iter().enumerate().take(4) {
                asm.vmovdqu64(to, zmmword_ptr(rax + (256 * half + 64 * n)))?;
            }
            for (to, words, [a, b]) in [
                (zmm4, first, [zmm0, zmm1]),
                (zmm5, first, [zmm2, zmm3]),
                (zmm6, second, [zmm0, zmm1]),
                (zmm7, second, [zmm2, zmm3]),
            ] {
                asm.vmovdqa64(to, words)?;
                asm.vpermi2d(to, a, b)?;
            }
            for (n, (a, b, low)) in [(zmm4, zmm5, ymm5), (zmm6, zmm7, ymm7)].into_iter().enumerate() {
                let target = self.element_target(plain, (2 * n, half), 0);
                self.unit.a.vinserti64x4(ZMM[usize::from(target)], a, low, 1)?;
                self.put_element(plain, (2 * n, half), target)?;
                let target = self.element_target(plain, (2 * n + 1, half), 0);
                let t = ZMM[usize::from(target)];
                self.unit.a.vmovdqa64(t, upper)?;
                self.unit.a.vpermi2d(t, a, b)?;
                self.put_element(plain, (2 * n + 1, half), target)?;
            }
        }
        Ok(())
    }

    /// Stores four words of each lane in the same way.
    fn store_fours(&mut self, plain: &Plain<'_>) -> Emitted {
        // Words of two rows by turns: of the lower lanes, then of the upper ones.
        let turns = [0, 8].map(|lane| std::array::from_fn(|at| (lane + at / 2 + 16 * (at % 2)) as u32));
        // Pairs of words of two registers by turns.
        let pairs =
            [0, 8].map(|n| std::array::from_fn(|at| (n + at / 4 * 2 + at % 2 + 16 * (at / 2 % 2)) as u32));
        let [turns, pairs] = [turns, pairs].map(|both| both.map(|words| self.unit.words(words)));
        for half in 0..2 {
            let mut rows = [zmm0; 4];
            for (n, row) in rows.iter_mut().enumerate() {
                *row = ZMM[usize::from(self.element(plain, (n, half), n as u8)?)];
            }
            let asm = &mut self.unit.a;
            for (to, words, n) in
                [(zmm4, turns[0], 0), (zmm5, turns[0], 2), (zmm6, turns[1], 0), (zmm7, turns[1], 2)]
            {
                asm.vmovdqa64(to, words)?;
                asm.vpermi2d(to, rows[n], rows[n + 1])?;
            }
            for (n, [a, b]) in [[zmm4, zmm5], [zmm6, zmm7]].into_iter().enumerate() {
                for (m, words) in pairs.into_iter().enumerate() {
                    asm.vmovdqa64(zmm0, words)?;
                    asm.vpermi2d(zmm0, a, b)?;
                    asm.vmovdqu64(zmmword_ptr(rax + (256 * half + 128 * n + 64 * m)), zmm0)?;
                }
            }
        }
        Ok(())
    }
}
