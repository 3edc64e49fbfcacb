//! Quadratic polynomials of special functions, in fixed point.
//!
//! A sum of products of 16-bit words makes them (`vpmaddwd`, `vpdpwssd`): with q the position in the segment without its
//! last bit, from −2^15 on, and s the square of the position, it is `g·q + c2·s`, where g is half or an eighth of c1 less
//! a multiple of 2^15. For that multiple the number that the position comes from is added as a whole: what is above the
//! position is taken off the constants. The hyperbolic tangent has another multiple, which is one more product.
//!
//! Coefficients are found by permutations of registers of 32-bit words: with AVX-512 lanes keep the index until the
//! permutation that has their segment (`vpermi2d` with a mask), so that nothing is left to be merged. (`vpermw` has two
//! micro-operations.) The square is made of 32 words of 16 bits at once. All of it waits for the two ports that have
//! instructions on 512 bits. Reads of 64 bytes take time from them, too: where there are registers for it, a part of a
//! table is read once for both parts of a row.
//!
//! Gathers took more time, on Emerald Rapids: one has three micro-operations on these ports and one for its mask, where
//! permutations of 64 words have two, and of 128 five, but more than that beside other work.

use super::special::{CONSTANT, Found, RARE_WORDS, RESULT};
use super::{Emitted, Emitter, ZMM};
use crate::assembler::*;
use crate::decode::Special;
use crate::places::TEMPORARIES;
use crate::tables::Coefficients;
use crate::{Level, Mode};

/// By how many bits sums are shifted right before constants in quarters of the unit are added.
const QUARTERS: u32 = 13;

/// By how many bits sums are shifted right before other constants are added.
pub(super) const FINE: u32 = 5;

/// The lanes of each part whose segments are among the lower 32 of 64, and the others.
const HALVES: [[AsmRegisterK; 2]; 2] = [[k5, k1], [k4, k2]];

/// Where the 16 bits of positions that are squared are, in registers of both parts: from bit 0, 1 or 16 on.
enum Words {
    Lower([AsmRegisterZmm; 2]),
    Middle([AsmRegisterZmm; 2]),
    Upper([AsmRegisterZmm; 2]),
}

/// Whether the constants of a function are in quarters of the unit.
fn has_quarters(special: Special) -> bool {
    match special {
        Special::Rcp | Special::Div { .. } | Special::Dividend { .. } | Special::Divisor => true,
        Special::Rsqrt | Special::Sqrt | Special::Ex2 { .. } => true,
        Special::Lg2 | Special::Sin | Special::Cos | Special::Tanh => false,
    }
}

/// What is added to sums that are to be taken off constants.
pub(super) fn rounding(quarters: bool) -> u32 {
    (1 << if quarters { QUARTERS } else { FINE }) - 1
}

impl Emitter<'_> {
    /// The sums of products in all lanes, in the registers of results, from coefficients that are looked up in words of 32
    /// bits. Constants in quarters of the unit are added; others are in their registers.
    pub(super) fn sums(
        &mut self,
        special: Special,
        table: &Coefficients,
        numbers: [AsmRegisterZmm; 2],
    ) -> Emitted {
        if let Some(registers) = self.registers_of_both(table, numbers) {
            return self.sums_of_both(special, table, numbers, registers);
        }
        let last = if table.has_odd { 17 } else { 16 };
        // The second index is kept if there is a register for it.
        let ahead = numbers[1] != zmm1;
        let indices = [zmm7, if ahead { zmm1 } else { zmm7 }];
        self.unit.a.vpsrld(indices[0], numbers[0], last)?;
        if ahead {
            self.unit.a.vpsrld(indices[1], numbers[1], last)?;
        }
        if self.checks_words(special) {
            let second = if ahead { indices[1] } else { zmm6 };
            if !ahead {
                self.unit.a.vpsrld(second, numbers[1], last)?;
            }
            self.unit.a.vpackusdw(zmm6, indices[0], second)?;
            self.check_exponents(special, zmm6)?;
        }
        self.squares(if table.has_odd { Words::Middle(numbers) } else { Words::Lower(numbers) })?;
        let level = self.unit.level;
        let quarters = has_quarters(special);
        let [lower, upper] = [32 << last, 64 << last].map(|bit| self.unit.word(bit));
        for (part, (r, n)) in RESULT.into_iter().zip(numbers).enumerate() {
            let (a, index) = (&mut self.unit.a, indices[part]);
            if part == 1 && !ahead {
                a.vpsrld(index, n, last)?;
            }
            a.vptestmd(k1, n, lower)?;
            if level == Level::Avx512 {
                a.knotw(k5, k1)?;
            }
            if table.products.len() > 64 {
                a.vptestmd(k2, n, upper)?;
            }
            self.look_up(&table.products, index, zmm2)?;
            self.weighted_sum((table, quarters), (r, n), [zmm2, zmm6], k4)?;
            if !quarters {
                self.look_up(&table.constants, index, CONSTANT[part])?;
                continue;
            }
            self.look_up(&table.constants, index, zmm2)?;
            self.add_constant(table, r, zmm2)?;
        }
        Ok(())
    }

    /// The registers of both indices, and of what is found in the upper half of a table, if there are enough.
    fn registers_of_both(
        &self,
        table: &Coefficients,
        numbers: [AsmRegisterZmm; 2],
    ) -> Option<[[AsmRegisterZmm; 2]; 2]> {
        if self.unit.level != Level::Avx512 {
            return None;
        }
        let (used, _) = self.used;
        let spare = (TEMPORARIES..32).filter(|register| used >> register & 1 == 0);
        let all = [7, 1, 0].into_iter().chain(spare).map(|register| ZMM[usize::from(register)]);
        let mut free = all.filter(|register| !numbers.contains(register));
        let indices = [free.next()?, free.next()?];
        let upper = match table.products.len() > 64 {
            true => [free.next()?, free.next()?],
            false => indices,
        };
        Some([indices, upper])
    }

    /// The same as [`Self::sums`] where there are registers for both parts at once.
    fn sums_of_both(
        &mut self,
        special: Special,
        table: &Coefficients,
        numbers: [AsmRegisterZmm; 2],
        [indices, found]: [[AsmRegisterZmm; 2]; 2],
    ) -> Emitted {
        let last = if table.has_odd { 17 } else { 16 };
        for (index, number) in indices.into_iter().zip(numbers) {
            match table.has_odd {
                // The position without its last bit is above the index.
                true => self.unit.a.vprold(index, number, 32 - last)?,
                false => self.unit.a.vpsrld(index, number, last)?,
            }
        }
        self.squares(if table.has_odd { Words::Upper(indices) } else { Words::Lower(numbers) })?;
        let quarters = has_quarters(special);
        let lower = self.unit.word(32 << last);
        for ([is_lower, is_upper], n) in HALVES.into_iter().zip(numbers) {
            self.unit.a.vptestmd(is_upper, n, lower)?;
            self.unit.a.knotw(is_lower, is_upper)?;
        }
        if table.products.len() > 64 {
            for (part, index) in indices.into_iter().enumerate() {
                self.upper_segments(part, index, true)?;
            }
        }
        self.look_up_both(&table.products, indices, found)?;
        for (part, (r, n)) in RESULT.into_iter().zip(numbers).enumerate() {
            self.weighted_sum((table, quarters), (r, n), [CONSTANT[part], zmm6], RARE_WORDS)?;
        }
        self.look_up_both(&table.constants, indices, found)?;
        if quarters {
            for (r, constant) in RESULT.into_iter().zip(CONSTANT) {
                self.add_constant(table, r, constant)?;
            }
        }
        if self.checks_words(special) {
            self.unit.a.vpackusdw(zmm6, indices[0], indices[1])?;
            self.check_exponents(special, zmm6)?;
        }
        Ok(())
    }

    /// Words of a table by the indices of the segments of both parts, in the registers of constants.
    fn look_up_both(
        &mut self,
        table: &[u32],
        indices: [AsmRegisterZmm; 2],
        found: [AsmRegisterZmm; 2],
    ) -> Emitted {
        let words = self.words_of(table);
        let a = &mut self.unit.a;
        for (at, four) in words.chunks_exact(4).enumerate() {
            let to = if at == 0 { CONSTANT } else { found };
            for (half, two) in four.chunks_exact(2).enumerate() {
                a.vmovdqa64(zmm6, two[0])?;
                for part in 0..2 {
                    if half == 0 {
                        a.vmovdqa64(to[part], indices[part])?;
                    }
                    a.vpermi2d(to[part].under(HALVES[part][half]), zmm6, two[1])?;
                }
            }
        }
        if words.len() > 4 {
            for part in 0..2 {
                let mask = self.upper_segments(part, indices[part], false)?;
                self.unit.a.vmovdqa32(CONSTANT[part].under(mask), found[part])?;
            }
        }
        Ok(())
    }

    /// The lanes of a part whose segments are the upper 64 of 128, found once, before they are looked up, if mask registers
    /// are free, as they are where all lanes are active. Elsewhere they are found each time.
    fn upper_segments(&mut self, part: usize, index: AsmRegisterZmm, before: bool) -> Emitted<AsmRegisterK> {
        let keeps =
            self.mode == Mode::Uniform && !self.masked && self.apart.is_none() && self.leading.is_none();
        let mask = if keeps { [k6, k7][part] } else { RARE_WORDS };
        if before == keeps {
            let upper = self.unit.word(64);
            self.unit.a.vptestmd(mask, index, upper)?;
        }
        Ok(mask)
    }

    /// A table in memory.
    fn words_of(&mut self, table: &[u32]) -> Vec<AsmMemoryOperand> {
        let words = table.chunks_exact(16);
        words.map(|words| self.unit.words(std::array::from_fn(|n| words[n]))).collect()
    }

    /// Words of a table by the indices of segments, in a register. `k1` and `k2` have the bits of the indices that a
    /// permutation of two registers does not look at, and `k5` the complement of the first, with AVX-512.
    fn look_up(&mut self, table: &[u32], index: AsmRegisterZmm, to: AsmRegisterZmm) -> Emitted {
        let words = self.words_of(table);
        let merges = self.unit.level == Level::Avx512;
        let a = &mut self.unit.a;
        for (at, four) in words.chunks_exact(4).enumerate() {
            let [first, second] = [[four[0], four[1]], [four[2], four[3]]];
            let to = if at == 0 { to } else { zmm5 };
            if merges {
                // Lanes keep the index until their permutation: fewer instructions, one behind the other.
                a.vmovdqa64(to, index)?;
                a.vmovdqa64(zmm6, first[0])?;
                a.vpermi2d(to.k5(), zmm6, first[1])?;
                a.vmovdqa64(zmm6, second[0])?;
                a.vpermi2d(to.k1(), zmm6, second[1])?;
                continue;
            }
            a.vmovdqa64(to, first[0])?;
            a.vpermt2d(to, index, first[1])?;
            a.vmovdqa64(zmm6, second[0])?;
            a.vpermt2d(zmm6, index, second[1])?;
            a.vmovdqa32(to.k1(), zmm6)?;
        }
        if words.len() > 4 {
            a.vmovdqa32(to.k2(), zmm5)?;
        }
        Ok(())
    }

    /// The sum of the products of a part and of what is added to all of them. It is known whether constants in quarters of the
    /// unit follow. Another register is free. Where products are negated, the sum may be left to be subtracted from constants,
    /// so that what is shifted out is rounded up ([`Self::subtracts_sums`]).
    fn weighted_sum(
        &mut self,
        (table, quarters): (&Coefficients, bool),
        (r, n): (AsmRegisterZmm, AsmRegisterZmm),
        [coefficients, free]: [AsmRegisterZmm; 2],
        odd: AsmRegisterK,
    ) -> Emitted {
        let accumulates = self.unit.has_vbmi;
        let start = match table.negated {
            true => rounding(quarters).wrapping_sub(table.bias),
            false => table.bias,
        };
        let multiple =
            table.multiple.map(|multiple| [multiple << 16, multiple / 2].map(|word| self.unit.word(word)));
        let starts_at_zero = start == 0;
        let [one, bias, start] = [1, table.bias, start].map(|word| self.unit.word(word));
        let a = &mut self.unit.a;
        if table.has_odd {
            a.vptestmd(odd, n, one)?;
        }
        if accumulates {
            a.vmovdqa64(free, r)?;
            if let Some([multiple, half]) = multiple {
                a.vmovdqa32(r.under(odd).z(), half)?;
                a.vpdpwssd(r, free, multiple)?;
            } else if table.has_odd && starts_at_zero {
                a.vpsrad(r.under(odd).z(), coefficients, 17)?;
                return a.vpdpwssd(r, free, coefficients);
            } else {
                a.vmovdqa64(r, start)?;
            }
            a.vpdpwssd(r, free, coefficients)?;
        } else if let Some([multiple, half]) = multiple {
            a.vpmaddwd(free, r, multiple)?;
            a.vpmaddwd(r, r, coefficients)?;
            a.vpaddd(r, r, free)?;
            a.vpaddd(r.under(odd), r, half)?;
        } else {
            a.vpmaddwd(r, r, coefficients)?;
        }
        if table.has_odd {
            a.vpsrad(coefficients, coefficients, 17)?;
        }
        match (table.has_odd, accumulates || table.bias == 0, table.negated) {
            (true, true, _) => a.vpaddd(r.under(odd), r, coefficients),
            (false, true, _) => Ok(()),
            // What does not wait for the products is added first.
            (has_odd, _, true) => {
                a.vmovdqa64(free, bias)?;
                if has_odd {
                    a.vpsubd(free.under(odd), free, coefficients)?;
                }
                a.vpsubd(r, free, r)
            }
            (true, ..) => {
                a.vmovdqa64(free, bias)?;
                a.vpaddd(free.under(odd), free, coefficients)?;
                a.vpaddd(r, r, free)
            }
            (false, ..) => a.vpaddd(r, r, bias),
        }
    }

    /// Whether sums of products are subtracted from constants.
    pub(super) fn subtracts_sums(&self, table: &Coefficients) -> bool {
        table.negated && self.unit.has_vbmi
    }

    /// Adds a constant in quarters of the unit to the sum of a part.
    fn add_constant(&mut self, table: &Coefficients, r: AsmRegisterZmm, constant: AsmRegisterZmm) -> Emitted {
        let subtracts_sums = self.subtracts_sums(table);
        let a = &mut self.unit.a;
        a.vpsrad(r, r, QUARTERS)?;
        match subtracts_sums {
            true => a.vpsubd(r, constant, r),
            false => a.vpaddd(r, r, constant),
        }
    }

    /// The squares of positions, in the lower halves of words, and the positions in the upper ones: in the registers of
    /// results.
    fn squares(&mut self, words: Words) -> Emitted {
        let low = self.unit.word(0xffff);
        let top = self.unit.word(0x8000_8000);
        let lower_first = [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15];
        let apart = match words {
            Words::Upper(_) => lower_first.map(|byte| byte ^ 2),
            Words::Lower(_) | Words::Middle(_) => lower_first,
        };
        let apart = self.unit.bytes(apart.repeat(4));
        let a = &mut self.unit.a;
        match words {
            // The words of one part come between those of the other, and are then put apart, four by four.
            Words::Upper([first, second]) => {
                a.vpsrld(zmm2, second, 16)?;
                // zmm2 & low | first & !low
                a.vpternlogd(zmm2, first, low, 0xe4)?;
                a.vpshufb(zmm2, zmm2, apart)?;
            }
            Words::Middle([first, second]) => {
                a.vpsrld(zmm2, first, 1)?;
                a.vpslld(zmm6, second, 15)?;
                // zmm2 & low | zmm6 & !low
                a.vpternlogd(zmm2, zmm6, low, 0xe4)?;
                a.vpshufb(zmm2, zmm2, apart)?;
            }
            Words::Lower([first, second]) => {
                a.vpandd(zmm5, first, low)?;
                a.vpandd(zmm6, second, low)?;
                a.vpackusdw(zmm2, zmm5, zmm6)?;
            }
        }
        match self.unit.has_vbmi {
            true => self.square_and_look_up()?,
            false => self.square_by_rows()?,
        }
        let a = &mut self.unit.a;
        a.vpxord(zmm2, zmm2, top)?;
        a.vpunpcklwd(RESULT[0], zmm5, zmm2)?;
        a.vpunpckhwd(RESULT[1], zmm5, zmm2)
    }

    /// The squares of the words in `zmm2`, in `zmm5`, with all rows of a squarer that leaves out what is worth less than the
    /// last bit. In two neighbouring rows only the lower one has bits to lose.
    fn square_by_rows(&mut self) -> Emitted {
        let mut twice = |word: u32| self.unit.word(word << 16 | word);
        let byte = twice(0xff);
        let [first, second, third, fourth] = [0xc000, 0x3000, 0x0c00, 0x0200].map(&mut twice);
        let [second_kept, third_kept] = [0xfff8, 0xffe0].map(&mut twice);
        let a = &mut self.unit.a;
        a.vpsrlw(zmm3, zmm2, 1)?;
        a.vpandd(zmm4, zmm3, byte)?;
        a.vpaddw(zmm4, zmm4, zmm3)?;
        a.vpandd(zmm5, zmm2, first)?;
        a.vpmulhuw(zmm5, zmm5, zmm4)?;
        a.vpandd(zmm6, zmm2, fourth)?;
        a.vpmulhuw(zmm6, zmm6, zmm4)?;
        a.vpaddw(zmm5, zmm5, zmm6)?;
        a.vpandd(zmm6, zmm2, second)?;
        a.vpandd(zmm3, zmm4, second_kept)?;
        a.vpmulhuw(zmm6, zmm6, zmm3)?;
        a.vpandd(zmm3, zmm2, third)?;
        a.vpandd(zmm4, zmm4, third_kept)?;
        a.vpmulhuw(zmm3, zmm3, zmm4)?;
        a.vpaddw(zmm6, zmm6, zmm3)?;
        a.vpaddw(zmm5, zmm5, zmm6)
    }

    /// The same in other parts. The five upper bits have products with each other and with bits 4 to 10: of all these, only
    /// that of bits 4 and 11 is worth less than the last bit, so that one product of words, rounded down, is their sum. The
    /// sum of the products of bits 1 to 3 with bits 13 to 15 is looked up in lower bytes, and that of bits 6 to 10 with each
    /// other in upper ones.
    fn square_and_look_up(&mut self) -> Emitted {
        let mut twice = |word: u32| self.unit.word(word << 16 | word);
        let [upper, lower, low_byte, one] = [0xf800, 0x07f0, 0x00ff, 0x0101].map(&mut twice);
        let [apart, among] = [APART, AMONG].map(|sums| self.unit.bytes(sums.to_vec()));
        let a = &mut self.unit.a;
        a.vpsrlw(zmm3, zmm2, 1)?;
        // Bits 13 to 15 and 1 to 3 are the last of a lower byte, and bits 6 to 11 those of an upper one.
        a.vpshldw(zmm3, zmm3, zmm2, 3)?;
        a.vpermb(zmm4, zmm3, apart)?;
        a.vpermb(zmm3, zmm3, among)?;
        // zmm4 & low_byte | zmm3 & !low_byte
        a.vpternlogd(zmm4, zmm3, low_byte, 0xe4)?;
        a.vmovdqa64(zmm3, one)?;
        a.vpmaddubsw(zmm4, zmm4, zmm3)?;
        a.vpandd(zmm5, zmm2, upper)?;
        a.vpandd(zmm6, zmm2, lower)?;
        a.vpsrlw(zmm3, zmm5, 1)?;
        a.vpaddw(zmm6, zmm6, zmm3)?;
        a.vpmulhuw(zmm5, zmm5, zmm6)?;
        a.vpaddw(zmm5, zmm5, zmm4)
    }

    /// Whether inputs out of the ordinary are found in words of 16 bits: where all lanes are active.
    fn checks_words(&self, special: Special) -> bool {
        let classified = special == Special::Lg2 && self.classifies();
        let in_words = match self.found(special) {
            Found::Words | Found::Everywhere => true,
            Found::Parts | Found::First => false,
        };
        !self.masked && !classified && in_words
    }

    /// Finds inputs out of the ordinary by their exponents, which are in words of 16 bits, with the indices.
    fn check_exponents(&mut self, special: Special, words: AsmRegisterZmm) -> Emitted {
        if !self.checks_words(special) {
            return Ok(());
        }
        // The sign, the exponent and six or seven bits. The reciprocals of large numbers are subnormal.
        let (from, most, signed) = match special {
            Special::Rcp | Special::Div { .. } | Special::Divisor => (1 << 8, 252 << 8, true),
            Special::Dividend { .. } | Special::Rsqrt | Special::Sqrt | Special::Ex2 { .. } => {
                (1 << 6, 254 << 6, false)
            }
            Special::Lg2 | Special::Sin | Special::Cos | Special::Tanh => (1 << 6, 254 << 6, false),
        };
        let [from, most] = [from, most].map(|word: u32| self.unit.word(word << 16 | word));
        let a = &mut self.unit.a;
        let words = match signed {
            true => {
                a.vpaddw(zmm6, words, words)?;
                zmm6
            }
            false => words,
        };
        a.vpsubw(zmm6, words, from)?;
        a.vpcmpuw(RARE_WORDS, zmm6, most, 5)
    }
}

/// Sums of products of bits 1 to 3, the upper ones of an index, with bits 13 to 15.
const APART: [u8; 64] = sums(13, 3, 1);

/// Sums of products of bits 6 to 10 with each other, by these bits and one more.
const AMONG: [u8; 64] = sums(6, 5, 0);

/// What the squarer adds up, for words whose bits from `first` on are the lower ones of an index, that many, and whose bits
/// from `others` on are the next three, if that is not 0. It takes each pair of bits once, and here only those with one of the
/// others, if there are any.
const fn sums(first: u32, count: u32, others: u32) -> [u8; 64] {
    let mut sums = [0; 64];
    let mut index = 0;
    while index < 64 {
        let lower = (index & ((1 << count) - 1)) << first;
        let upper = if others == 0 { 0 } else { (index >> count & 7) << others };
        let mut bit = 0;
        while bit < 16 {
            if lower >> bit & 1 == 1 {
                let (with, itself) = match others == 0 {
                    true => (lower & ((1 << bit) - 1), (1 << (2 * bit)) >> 17),
                    false => (upper, 0),
                };
                sums[index as usize] += (with >> (16 - bit)) as u8 + itself as u8;
            }
            bit += 1;
        }
        index += 1;
    }
    sums
}
