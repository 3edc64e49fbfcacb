//! Products of integers.
//!
//! `vpmuludq` multiplies the even words of two vectors. Shifted down, the odd words are even ones. Words of the products
//! of both are put together by `vpermi2d`.

use super::{Emitted, Emitter, Vector, ZMM, vector3};
use crate::assembler::*;
use crate::classes::Class;
use crate::decode::{Compute, Width};
use crate::flow::before;
use softwarp_ir::Slot;

/// The longest block whose recurrences are looked for.
const SHORT: usize = 64;

/// How many operations the block of a recurrence has at most for each product in it: more take longer than the products.
const PER_PRODUCT: usize = 8;

impl Emitter<'_> {
    /// The sources with the one first that is not the same in all lanes, and whether the other is.
    fn uniform_last(&self, op: usize, [a, b]: [Slot; 2]) -> ([Slot; 2], bool) {
        let is_uniform = |slot: Slot| self.class(op, slot) == Class::UNIFORM;
        match (is_uniform(a), is_uniform(b)) {
            (true, false) => ([b, a], true),
            (_, uniform) => ([a, b], uniform),
        }
    }

    /// Products of even words in `zmm4` and of odd words in `zmm3`; `zmm5` is used.
    pub(super) fn products(&mut self, signed: bool, a: AsmRegisterZmm, b: AsmRegisterZmm) -> Emitted {
        let asm = &mut self.unit.a;
        asm.vpsrlq(zmm5, a, 32)?;
        asm.vpsrlq(zmm3, b, 32)?;
        match signed {
            true => {
                asm.vpmuldq(zmm4, a, b)?;
                asm.vpmuldq(zmm3, zmm5, zmm3)
            }
            false => {
                asm.vpmuludq(zmm4, a, b)?;
                asm.vpmuludq(zmm3, zmm5, zmm3)
            }
        }
    }

    /// The products of a part of two sources.
    fn products_of(&mut self, op: usize, part: usize, signed: bool, s: [Slot; 2]) -> Emitted {
        let ([a, b], uniform) = self.uniform_last(op, s);
        let one = self.register(op, a, part, 0, false)?;
        let one = ZMM[usize::from(one)];
        if !uniform {
            let two = self.register(op, b, part, 1, false)?;
            let two = ZMM[usize::from(two)];
            return self.products(signed, one, two);
        }
        let two = self.even_words(op, b, part)?;
        self.unit.a.vpsrlq(zmm5, one, 32)?;
        match signed {
            true => {
                vector3!(self, vpmuldq, zmm4, one, two);
                vector3!(self, vpmuldq, zmm3, zmm5, two);
            }
            false => {
                vector3!(self, vpmuludq, zmm4, one, two);
                vector3!(self, vpmuludq, zmm3, zmm5, two);
            }
        }
        Ok(())
    }

    /// The high or the low words of [`Emitter::products`].
    pub(super) fn words_of_products(&mut self, to: AsmRegisterZmm, high: bool) -> Emitted {
        let indices =
            std::array::from_fn(|lane| (lane as u32 & !1) + 16 * (lane as u32 & 1) + u32::from(high));
        let indices = self.unit.words(indices);
        self.unit.a.vmovdqa64(to, indices)?;
        self.unit.a.vpermi2d(to, zmm4, zmm3)
    }

    /// The high halves of products.
    pub(super) fn high(&mut self, op: usize, signed: bool, d: Slot, s: [Slot; 2]) -> Emitted {
        for part in 0..2 {
            self.products_of(op, part, signed, s)?;
            let target = self.target(op, d, part, 5);
            self.words_of_products(ZMM[usize::from(target)], true)?;
            self.put(op, d, part, target)?;
        }
        Ok(())
    }

    /// Both halves of products.
    pub(super) fn both_halves(
        &mut self,
        op: usize,
        signed: bool,
        [low, high]: [Slot; 2],
        s: [Slot; 2],
    ) -> Emitted {
        let is_scalar = |slot| !self.result_class(op, slot).is_vector();
        if is_scalar(low) || is_scalar(high) {
            return self.both_halves_scalar(op, signed, [low, high], s);
        }
        for part in 0..2 {
            self.products_of(op, part, signed, s)?;
            for (d, is_high) in [(low, false), (high, true)] {
                let target = self.target(op, d, part, 5);
                self.words_of_products(ZMM[usize::from(target)], is_high)?;
                self.put(op, d, part, target)?;
            }
        }
        Ok(())
    }

    /// The low words of products with a factor that is the same in all lanes, in `zmm4`, for one part after the other:
    /// sooner than by `vpmulld`, but with more instructions. `k2` keeps the mask of the odd words.
    pub(super) fn low_words(&mut self, op: usize, part: usize, s: [Slot; 2]) -> Emitted {
        if part == 0 {
            self.unit.a.mov(ecx, 0xaaaa)?;
            self.unit.a.kmovd(k2, ecx)?;
        }
        self.products_of(op, part, false, s)?;
        self.unit.a.vmovsldup(zmm4.k2(), zmm3)
    }

    /// The low words of products in a recurrence.
    pub(super) fn recurrent_product(&mut self, op: usize, d: Slot, s: [Slot; 2]) -> Emitted {
        for part in 0..2 {
            self.low_words(op, part, s)?;
            self.put(op, d, part, 4)?;
        }
        Ok(())
    }

    /// A product in a recurrence and a sum with a value that is the same in all lanes, whose even and odd words are summed
    /// with those of the product. `k2` is used.
    fn recurrent_sum(&mut self, op: usize, d: Slot, [a, b, c]: [Slot; 3]) -> Emitted {
        let ([a, b], _) = self.uniform_last(op, [a, b]);
        self.unit.a.mov(ecx, 0xaaaa)?;
        self.unit.a.kmovd(k2, ecx)?;
        for part in 0..2 {
            let one = ZMM[usize::from(self.register(op, a, part, 0, false)?)];
            let two = self.even_words(op, b, part)?;
            self.unit.a.vpsrlq(zmm5, one, 32)?;
            let sum = self.register(op, c, part, 4, false)?;
            if sum != 4 {
                self.unit.a.vmovdqa64(zmm4, ZMM[usize::from(sum)])?;
            }
            self.unit.a.vmovdqa64(zmm3, zmm4)?;
            // Of 52 bits of the factors and the product, the low 32 count.
            vector3!(self, vpmadd52luq, zmm4, one, two);
            vector3!(self, vpmadd52luq, zmm3, zmm5, two);
            self.unit.a.vmovsldup(zmm4.k2(), zmm3)?;
            self.put(op, d, part, 4)?;
        }
        Ok(())
    }

    /// A source that is the same in all lanes, of which the even words are read, each for two lanes. A row that is never
    /// written is the same in the lanes that the warp has only: the first lane, which each warp has, is read for all.
    fn even_words(&mut self, op: usize, slot: Slot, part: usize) -> Emitted<Vector> {
        let of_first = |slot: Slot| Vector::Memory(qword_bcst(r12 + slot.number() as usize * 128));
        if self.flow.is_fixed(slot) && self.classes.constant(self.flow, slot).is_none() {
            return Ok(of_first(slot));
        }
        Ok(match self.source(op, slot, part, 1, false)? {
            Vector::Broadcast(slot) => of_first(slot),
            source @ (Vector::Register(_) | Vector::Memory(_) | Vector::Loaded(_)) => source,
        })
    }

    /// A product and a sum.
    pub(super) fn multiply_add(&mut self, op: usize, width: Width, d: Slot, [a, b, c]: [Slot; 3]) -> Emitted {
        let soon = width == Width::W32 && self.is_recurrent(op, [a, b]);
        if soon && self.unit.has_ifma && self.class(op, c) == Class::UNIFORM {
            return self.recurrent_sum(op, d, [a, b, c]);
        }
        for part in 0..if width == Width::W32 { 2 } else { 4 } {
            let product = match (soon, width) {
                (true, _) => {
                    self.low_words(op, part, [a, b])?;
                    zmm4
                }
                (false, _) => {
                    let one = self.register(op, a, part, 0, false)?;
                    let two = self.source(op, b, part, 1, false)?;
                    match width {
                        Width::W32 => vector3!(self, vpmulld, zmm3, ZMM[usize::from(one)], two),
                        Width::W64 => vector3!(self, vpmullq, zmm3, ZMM[usize::from(one)], two),
                    }
                    zmm3
                }
            };
            let three = self.source(op, c, part, 1, false)?;
            let target = self.target(op, d, part, 2);
            match width {
                Width::W32 => vector3!(self, vpaddd, ZMM[usize::from(target)], product, three),
                Width::W64 => vector3!(self, vpaddq, ZMM[usize::from(target)], product, three),
            }
            self.put(op, d, part, target)?;
        }
        Ok(())
    }

    /// Products of twice the width.
    pub(super) fn wide_products(
        &mut self,
        op: usize,
        (signed, add): (bool, bool),
        d: Slot,
        [a, b, c]: [Slot; 3],
    ) -> Emitted {
        let ([a, b], uniform) = self.uniform_last(op, [a, b]);
        // Where the step from lane to lane is known, a second part is that much further than the first.
        let further = match self.result_class(op, d) {
            Class::HalfAffine(step) if !self.masked => {
                Some(self.unit.constant([step.wrapping_mul(8) as u64; 8]))
            }
            Class::HalfAffine(_) | Class::Affine(_) | Class::Varying | Class::Unknown => None,
        };
        for part in 0..4 {
            if let (Some(further), 1) = (further, part % 2) {
                self.unit.a.vpaddq(zmm3, zmm3, further)?;
                self.put(op, d, part, 3)?;
                continue;
            }
            self.widened(op, a, part, signed, 0)?;
            let two = match uniform {
                true => self.even_words(op, b, part / 2)?,
                false => {
                    self.widened(op, b, part, signed, 1)?;
                    Vector::Register(1)
                }
            };
            match signed {
                true => vector3!(self, vpmuldq, zmm3, zmm0, two),
                false => vector3!(self, vpmuludq, zmm3, zmm0, two),
            }
            if add {
                let c = self.source(op, c, part, 1, false)?;
                vector3!(self, vpaddq, zmm3, zmm3, c);
            }
            self.put(op, d, part, 3)?;
        }
        Ok(())
    }

    /// Whether a product, one factor of which is the same in all lanes, is a part of a recurrence in a short loop: its
    /// latency then counts.
    pub(super) fn is_recurrent(&self, op: usize, s: [Slot; 2]) -> bool {
        let flow = self.flow;
        let (number, block) = (flow.block_of[op], &flow.blocks[flow.block_of[op]]);
        let ops = block.start..block.end;
        if ops.len() > SHORT || !block.next.contains(&number) || !self.uniform_last(op, s).1 {
            return false;
        }
        // Others only make the block longer.
        let is_product = |op: &usize| {
            let of = flow.actions[*op].compute();
            matches!(of, Some(Compute::Mul(Width::W32) | Compute::Mad(Width::W32)))
        };
        if ops.len() > PER_PRODUCT * ops.clone().filter(is_product).count() {
            return false;
        }
        // What depends on the product, in this round and in the next.
        let mut webs: Vec<usize> = flow.writes(op).iter().map(|touch| touch.web).collect();
        for (round, ops) in [op + 1..block.end, block.start..op].into_iter().enumerate() {
            if round == 1 {
                webs.retain(|&web| flow.is_live(web, before(block.start)));
            }
            for op in ops {
                if flow.reads(op).iter().any(|touch| webs.contains(&touch.web)) {
                    webs.extend(flow.writes(op).iter().map(|touch| touch.web));
                }
            }
        }
        flow.reads(op).iter().any(|touch| webs.contains(&touch.web))
    }
}
