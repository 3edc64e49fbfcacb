//! Operations among the lanes of a warp, which all of them execute together.

use super::{Emitted, Emitter, ZMM, field};
use crate::assembler::*;
use crate::decode::constant;
use softwarp_ir::{WarpOp, WarpOpKind};

impl Emitter<'_> {
    /// Emits an operation of all lanes.
    pub(super) fn exchange(&mut self, op: usize, warp: &WarpOp) -> Emitted {
        self.unit.a.inc(qword_ptr(field!(exchanges)))?;
        match warp.op {
            WarpOpKind::Sync => Ok(()),
            WarpOpKind::ShflUp | WarpOpKind::ShflDown | WarpOpKind::ShflBfly | WarpOpKind::ShflIdx => {
                self.shuffle(op, warp)
            }
            _ => self.vote(op, warp),
        }
    }

    fn shuffle(&mut self, op: usize, warp: &WarpOp) -> Emitted {
        let (Some(a), Some(b), Some(c)) = (warp.s.get(0), warp.s.get(1), warp.s.get(2)) else {
            return Ok(());
        };
        let bounds = constant(self.function, c).unwrap_or(31);
        let (clamp, segment) = (bounds & 31, bounds >> 8 & 31);
        let by = constant(self.function, b);
        // The source of each lane where it is known, and whether it is in range.
        let source = |lane: u32, by: u32| {
            let (by, most) = (by & 31, lane & segment | clamp & !segment);
            let (from, holds) = match warp.op {
                WarpOpKind::ShflUp => (lane.wrapping_sub(by), lane as i32 - by as i32 >= most as i32),
                WarpOpKind::ShflDown => (lane + by, lane + by <= most),
                WarpOpKind::ShflBfly => (lane ^ by, lane ^ by <= most),
                _ => {
                    let from = lane & segment | by & !segment;
                    (from, from <= most)
                }
            };
            (if holds { from & 31 } else { lane }, holds)
        };
        let mut inside = u32::MAX;
        if let Some(by) = by {
            inside = (0..32).fold(0, |mask, lane| mask | u32::from(source(lane, by).1) << lane);
        } else if (clamp, segment) != (31, 0) {
            return self.call_interpreter_for_exchange(op);
        }
        let low = self.register(op, a, 0, 0, false)?;
        let high = self.register(op, a, 1, 1, false)?;
        let (low, high) = (ZMM[usize::from(low)], ZMM[usize::from(high)]);
        for (part, to) in [(0, 2u8), (1, 3)] {
            match by {
                Some(by) => {
                    let first = 16 * part as u32;
                    let sources = self.unit.words(std::array::from_fn(|n| source(first + n as u32, by).0));
                    self.unit.a.vmovdqa64(ZMM[usize::from(to)], sources)?;
                }
                None => {
                    // Indices are taken modulo 32.
                    let index = self.register(op, b, part, 4, false)?;
                    self.unit.a.vmovdqa64(ZMM[usize::from(to)], ZMM[usize::from(index)])?;
                }
            }
            self.unit.a.vpermi2d(ZMM[usize::from(to)], low, high)?;
        }
        if let Some(d) = warp.d {
            self.put(op, d, 0, 2)?;
            self.put(op, d, 1, 3)?;
        }
        if let Some(p) = warp.p {
            self.unit.a.mov(eax, inside as i32)?;
            self.put_predicate(p, eax)?;
        }
        Ok(())
    }

    /// An operation that the interpreter performs, and counts.
    fn call_interpreter_for_exchange(&mut self, op: usize) -> Emitted {
        self.unit.a.dec(qword_ptr(field!(exchanges)))?;
        self.call_interpreter(op, None)
    }

    fn vote(&mut self, op: usize, warp: &WarpOp) -> Emitted {
        let Some(a) = warp.s.get(0) else { return Ok(()) };
        let holds = self.predicate(a);
        self.unit.a.mov(ecx, holds)?;
        if warp.negated {
            self.unit.a.not(ecx)?;
        }
        let asm = &mut self.unit.a;
        match warp.op {
            WarpOpKind::VoteBallot => {
                asm.vpbroadcastd(zmm2, ecx)?;
                if let Some(d) = warp.d {
                    self.put(op, d, 0, 2)?;
                    self.put(op, d, 1, 2)?;
                }
                return Ok(());
            }
            WarpOpKind::VoteAll => {
                asm.xor(eax, eax)?;
                asm.cmp(ecx, -1)?;
                asm.sete(al)?;
            }
            WarpOpKind::VoteAny => {
                asm.xor(eax, eax)?;
                asm.test(ecx, ecx)?;
                asm.setne(al)?;
            }
            _ => {
                // All or none: one more is at most 1.
                asm.xor(eax, eax)?;
                asm.inc(ecx)?;
                asm.cmp(ecx, 1)?;
                asm.setbe(al)?;
            }
        }
        asm.neg(eax)?;
        match warp.p {
            Some(p) => self.put_predicate(p, eax),
            None => Ok(()),
        }
    }
}
