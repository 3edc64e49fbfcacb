//! Operations among the lanes of a warp, which all of them execute together.

use super::{Emitted, Emitter, ZMM};
use crate::Mode;
use crate::assembler::*;
use crate::decode::{Action, constant};
use softwarp_ir::{Op, Step, WarpOp, WarpOpKind};

impl Emitter<'_> {
    /// Emits an operation of all lanes. It is counted together with others of its block ([`Emitter::exchanges`]).
    pub(super) fn exchange(&mut self, op: usize, warp: &WarpOp) -> Emitted {
        if !self.has_exchange(warp) {
            return self.call_interpreter(op, None);
        }
        match warp.op {
            WarpOpKind::Sync => Ok(()),
            WarpOpKind::ShflUp | WarpOpKind::ShflDown | WarpOpKind::ShflBfly | WarpOpKind::ShflIdx => {
                self.shuffle(op, warp)
            }
            WarpOpKind::VoteAll | WarpOpKind::VoteAny | WarpOpKind::VoteUni | WarpOpKind::VoteBallot => {
                self.vote(op, warp)
            }
            _ => self.reduce(op, warp),
        }
    }

    /// Whether an operation has code. Otherwise the interpreter performs it, and counts it.
    fn has_exchange(&self, warp: &WarpOp) -> bool {
        let shuffles = matches!(
            warp.op,
            WarpOpKind::ShflUp | WarpOpKind::ShflDown | WarpOpKind::ShflBfly | WarpOpKind::ShflIdx
        );
        let (Some(by), Some(bounds)) = (warp.s.get(1), warp.s.get(2)) else { return true };
        let bounds = constant(self.function, bounds).unwrap_or(31);
        // Sources that are known at run time only are those of whole warps.
        !shuffles || constant(self.function, by).is_some() || (bounds & 31, bounds >> 8 & 31) == (31, 0)
    }

    /// How many operations of all lanes there are from one operation to before another that the interpreter does not count.
    pub(super) fn exchanges(&self, start: usize, end: usize) -> i32 {
        let is_counted = |op: &usize| match (self.flow.actions[*op], &self.function.ops[*op]) {
            (Action::Exchange, Op::Other(_, step)) if self.mode == Mode::Uniform => match &**step {
                Step::Warp(warp) => self.has_exchange(warp),
                _ => false,
            },
            _ => false,
        };
        (start..end.min(self.flow.actions.len())).filter(is_counted).count() as i32
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
        }
        let any_nan = warp.d.is_some_and(|d| self.takes_any_nan(op, d));
        let low = self.register(op, a, 0, 0, any_nan)?;
        let high = self.register(op, a, 1, 1, any_nan)?;
        // Results are made where they belong, unless a source is there.
        let to: [u8; 2] = std::array::from_fn(|part| {
            let target = warp.d.map_or(2, |d| self.target(op, d, part, 2 + part as u8));
            if target == low || target == high { 2 + part as u8 } else { target }
        });
        let (low, high) = (ZMM[usize::from(low)], ZMM[usize::from(high)]);
        // What the third temporary register has.
        let mut loaded = None;
        for (part, to) in to.into_iter().enumerate() {
            let to = ZMM[usize::from(to)];
            match by {
                Some(by) => {
                    let first = 16 * part as u32;
                    let sources: [u32; 16] = std::array::from_fn(|n| source(first + n as u32, by).0);
                    let half = sources[0] / 16;
                    if sources.iter().all(|source| source / 16 == half) {
                        let from = if half == 0 { low } else { high };
                        self.lanes_of(to, from, sources.map(|source| source % 16), &mut loaded)?;
                        continue;
                    }
                    let sources = self.unit.words(sources);
                    self.unit.a.vmovdqa64(to, sources)?;
                }
                None => {
                    // Indices are taken modulo 32.
                    let index = self.register(op, b, part, 4, false)?;
                    self.unit.a.vmovdqa64(to, ZMM[usize::from(index)])?;
                }
            }
            self.unit.a.vpermi2d(to, low, high)?;
        }
        if let Some(d) = warp.d {
            self.put(op, d, 0, to[0])?;
            self.put(op, d, 1, to[1])?;
        }
        if let Some(p) = warp.p.filter(|&p| !self.is_overwritten(op, p)) {
            self.unit.a.mov(eax, inside as i32)?;
            self.put_predicate(p, eax)?;
        }
        Ok(())
    }

    /// Lanes of a register, by their numbers. Those that `zmm4` has may be loaded before.
    fn lanes_of(
        &mut self,
        to: AsmRegisterZmm,
        from: AsmRegisterZmm,
        lanes: [u32; 16],
        loaded: &mut Option<[u32; 16]>,
    ) -> Emitted {
        if (0..16).all(|lane| lanes[lane] == lane as u32) {
            return self.unit.a.vmovdqa64(to, from);
        }
        // The same within each four lanes.
        if (0..16).all(|lane| lanes[lane] == lane as u32 / 4 * 4 + lanes[lane % 4] && lanes[lane % 4] < 4) {
            let order = (0..4).fold(0, |order, lane| order | lanes[lane] << (2 * lane));
            return self.unit.a.vpshufd(to, from, order);
        }
        if *loaded != Some(lanes) {
            let words = self.unit.words(lanes);
            self.unit.a.vmovdqa64(zmm4, words)?;
            *loaded = Some(lanes);
        }
        self.unit.a.vpermd(to, zmm4, from)
    }

    /// A reduction: of both halves of the row, and then of lanes 8, 4, 2 and 1 apart.
    fn reduce(&mut self, op: usize, warp: &WarpOp) -> Emitted {
        let (Some(a), Some(d)) = (warp.s.get(0), warp.d) else { return Ok(()) };
        let low = self.register(op, a, 0, 0, false)?;
        let high = self.register(op, a, 1, 1, false)?;
        self.reduced(warp.op, ZMM[usize::from(low)], ZMM[usize::from(high)])?;
        for apart in [8, 4, 2, 1] {
            self.lanes_of(zmm3, zmm2, std::array::from_fn(|lane| lane as u32 ^ apart), &mut None)?;
            self.reduced(warp.op, zmm2, zmm3)?;
        }
        self.put(op, d, 0, 2)?;
        self.put(op, d, 1, 2)
    }

    /// A step of a reduction, in `zmm2`.
    fn reduced(&mut self, kind: WarpOpKind, a: AsmRegisterZmm, b: AsmRegisterZmm) -> Emitted {
        let asm = &mut self.unit.a;
        match kind {
            WarpOpKind::ReduxAnd => asm.vpandd(zmm2, a, b),
            WarpOpKind::ReduxOr => asm.vpord(zmm2, a, b),
            WarpOpKind::ReduxXor => asm.vpxord(zmm2, a, b),
            WarpOpKind::ReduxMinS32 => asm.vpminsd(zmm2, a, b),
            WarpOpKind::ReduxMinU32 => asm.vpminud(zmm2, a, b),
            WarpOpKind::ReduxMaxS32 => asm.vpmaxsd(zmm2, a, b),
            WarpOpKind::ReduxMaxU32 => asm.vpmaxud(zmm2, a, b),
            _ => asm.vpaddd(zmm2, a, b),
        }
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
