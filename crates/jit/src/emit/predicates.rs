//! Predicates whose values are known where code is made, those that nothing reads, and those that only a branch reads.

use super::{Emitted, Emitter, ZMM};
use crate::Mode;
use crate::actions::arithmetic;
use crate::assembler::CodeLabel;
use crate::decode::{Action, Combine, Compute, Order};
use softwarp_ir::{Guard, Op, Slot, Step};

/// How far from an operation others are looked at.
const NEAR: usize = 16;

/// How many operations are looked at for one that reads a predicate.
const MOST: usize = 200;

/// The most blocks of a function in which a comparison of another block is looked for.
const BLOCKS: usize = 64;

/// Which of two sources a part of a row is, where all lanes of that part have the same predicate.
pub(super) fn chosen(predicate: u32, (part, parts): (usize, usize), [yes, no]: [Slot; 2]) -> Option<Slot> {
    let lanes = 32 / parts;
    let all = u32::MAX >> (32 - lanes);
    match predicate >> (lanes * part) & all {
        0 => Some(no),
        bits => Some(yes).filter(|_| bits == all),
    }
}

impl Emitter<'_> {
    /// The value of a predicate that an operation reads, where a comparison of its block has it known.
    pub(super) fn known_predicate(&self, op: usize, predicate: Slot) -> Option<u32> {
        let start = self.flow.blocks[self.flow.block_of[op]].start.max(op.saturating_sub(NEAR));
        let at = (start..op).rev().find(|&at| self.writes_predicate(at, predicate))?;
        self.known_of(at, predicate)
    }

    /// The predicate of a branch that skips a few blocks, where it is known and some lanes take the branch, but not all: a
    /// comparison of its block tells, or the last one on all ways to it.
    pub(crate) fn known_mixed(&self, branch: usize, predicate: Slot) -> Option<u32> {
        let block = self.flow.block_of[branch];
        if self.mode != Mode::Uniform || self.runs_some() || self.flow.skipped(block).is_none() {
            return None;
        }
        let start = self.flow.blocks[block].start;
        let known = match (start..branch).rev().find(|&at| self.writes_predicate(at, predicate)) {
            Some(at) => self.known_of(at, predicate),
            None if self.flow.blocks.len() <= BLOCKS => {
                self.known_of(self.reaching_writer(branch, predicate)?, predicate)
            }
            None => None,
        };
        known.filter(|&lanes| lanes != 0 && lanes != u32::MAX)
    }

    /// The lanes that pass a guard in uniform code, where they are known, and some do, but not all.
    pub(crate) fn known_lanes_of(&self, op: usize, guard: Guard) -> Option<u32> {
        if self.mode != Mode::Uniform || self.masked || self.runs_some() {
            return None;
        }
        let holds = self.known_predicate(op, guard.predicate()?)?;
        let lanes = if guard.is_negated() { !holds } else { holds };
        (lanes != 0 && lanes != u32::MAX).then_some(lanes)
    }

    /// The result of a comparison that writes a predicate, where it is known.
    fn known_of(&self, at: usize, predicate: Slot) -> Option<u32> {
        let (compute, alu) = arithmetic(self.function, &self.flow.actions, at)?;
        let Compute::Compare { width, signed, order, combine: Combine::Nothing } = compute else {
            return None;
        };
        alu.d.get(0).filter(|&first| first == predicate)?;
        self.known_result(at, (width, signed, order), [alu.s.get(0)?, alu.s.get(1)?])
    }

    /// Selects between a part of a row and zeros, by a predicate that is known. Returns whether one of the sources is zero.
    pub(super) fn select_or_zero(
        &mut self,
        op: usize,
        d: Slot,
        part: usize,
        predicate: u32,
        [yes, no]: [Slot; 2],
    ) -> Emitted<bool> {
        let is_zero =
            |slot: Slot| self.flow.is_fixed(slot) && self.classes.constant(self.flow, slot) == Some(0);
        let (from, lanes) = match () {
            () if is_zero(yes) => (no, !predicate),
            () if is_zero(no) => (yes, predicate),
            () => return Ok(false),
        };
        let word = |lane: usize| if lanes >> lane & 1 != 0 { u64::from(u32::MAX) } else { 0 };
        let pair = |n: usize| word(16 * part + 2 * n) | word(16 * part + 2 * n + 1) << 32;
        let mask = self.unit.constant(std::array::from_fn(pair));
        let from = self.register(op, from, part, 0, false)?;
        let target = self.target(op, d, part, 2);
        self.unit.a.vpandd(ZMM[usize::from(target)], ZMM[usize::from(from)], mask)?;
        self.put(op, d, part, target)?;
        Ok(true)
    }

    pub(super) fn writes_predicate(&self, op: usize, predicate: Slot) -> bool {
        let mut found = false;
        match &self.function.ops[op] {
            Op::Alu(alu) => found = alu.d.iter().any(|slot| slot == predicate),
            Op::Branch(..) => {}
            Op::Other(_, step) => {
                if let Step::Load(access) = &**step {
                    found = access.registers.iter().any(|one| one.slot == Some(predicate));
                } else if !matches!(**step, Step::Store(_)) {
                    step.clone()
                        .visit(&mut |slot: &mut Slot, role| found |= *slot == predicate && !role.is_read());
                }
            }
        }
        found
    }

    /// Whether a predicate that an operation writes is written again before anything reads it.
    pub(super) fn is_overwritten(&self, op: usize, predicate: Slot) -> bool {
        let end = self.flow.blocks[self.flow.block_of[op]].end.min(op + NEAR);
        for other in &self.function.ops[op + 1..end] {
            let Op::Alu(alu) = other else { return false };
            if alu.guard.predicate() == Some(predicate) || alu.s.iter().any(|slot| slot == predicate) {
                return false;
            }
            if alu.guard == Guard::ALWAYS && alu.d.iter().any(|slot| slot == predicate) {
                return true;
            }
        }
        false
    }

    /// Whether a predicate may be read from some operations on, before it is written. At most [`MOST`] operations are looked at.
    pub(super) fn is_read_behind(&self, predicate: Slot, from: &[usize]) -> bool {
        let (mut seen, mut left) = (vec![false; self.flow.blocks.len()], MOST);
        let mut waiting: Vec<(usize, usize)> =
            from.iter().filter_map(|&op| Some((*self.flow.block_of.get(op)?, op))).collect();
        while let Some((block, from)) = waiting.pop() {
            let mut is_written = false;
            for op in from..self.flow.blocks[block].end {
                left -= 1;
                if left == 0 || self.reads_predicate(op, predicate) {
                    return true;
                }
                is_written =
                    self.writes_predicate(op, predicate) && self.function.ops[op].guard() == Guard::ALWAYS;
                if is_written {
                    break;
                }
            }
            if is_written {
                continue;
            }
            for &next in self.flow.blocks[block].next.iter() {
                if !std::mem::replace(&mut seen[next], true) {
                    waiting.push((next, self.flow.blocks[next].start));
                }
            }
        }
        false
    }

    fn reads_predicate(&self, op: usize, predicate: Slot) -> bool {
        let op = &self.function.ops[op];
        let mut found = op.guard().predicate() == Some(predicate);
        match op {
            Op::Alu(alu) => found |= alu.s.iter().any(|slot| slot == predicate),
            Op::Branch(..) => {}
            Op::Other(_, step) => {
                if let Step::Store(access) = &**step {
                    found |= access.registers.iter().any(|one| one.slot == Some(predicate));
                } else if !matches!(**step, Step::Load(_)) {
                    step.clone()
                        .visit(&mut |slot: &mut Slot, role| found |= *slot == predicate && role.is_read());
                }
            }
        }
        found
    }

    /// Whether nothing but the branch behind a comparison of all lanes reads its result.
    pub(crate) fn only_branches(&self, op: usize, predicate: Slot) -> bool {
        let behind = self.branch_behind(op, predicate).filter(|_| !self.masked && !self.alone);
        behind.is_some_and(|(branch, target)| !self.is_read_behind(predicate, &[branch + 1, target]))
    }

    /// A branch that a comparison of scalars decides: all lanes take it, or none.
    pub(super) fn branch_by_scalars(&mut self, op: usize, compare: usize, [to, next]: [usize; 2]) -> Emitted {
        let (Action::Compute(Compute::Compare { width, signed, order, .. }), Op::Alu(alu)) =
            (self.flow.actions[compare], &self.function.ops[compare])
        else {
            return Ok(());
        };
        let (Some(a), Some(b)) = (alu.s.get(0), alu.s.get(1)) else { return Ok(()) };
        let order = if self.function.ops[op].guard().is_negated() { order.opposite() } else { order };
        self.pay(self.flow.blocks[self.flow.block_of[op]].start, op + 1)?;
        self.compare_flags(compare, width, a, b)?;
        if self.flow.blocks[to].start > op {
            let label = self.own.blocks.at(to);
            self.jump_if((order, signed), label)?;
        } else {
            let mut fall = self.unit.a.create_label();
            self.jump_if((order.opposite(), signed), fall)?;
            self.jump(op, Some(to))?;
            self.unit.place(&mut fall)?;
        }
        self.go_to(next, true)
    }

    /// Jumps if the operands of the last comparison are in an order.
    fn jump_if(&mut self, (order, signed): (Order, bool), to: CodeLabel) -> Emitted {
        let asm = &mut self.unit.a;
        match (order, signed) {
            (Order::Eq, _) => asm.jz(to),
            (Order::Ne, _) => asm.jne(to),
            (Order::Lt, true) => asm.jl(to),
            (Order::Le, true) => asm.jle(to),
            (Order::Gt, true) => asm.jg(to),
            (Order::Ge, true) => asm.jge(to),
            (Order::Lt, false) => asm.jb(to),
            (Order::Le, false) => asm.jbe(to),
            (Order::Gt, false) => asm.ja(to),
            (Order::Ge, false) => asm.jae(to),
        }
    }
}
