//! Warps that have nothing to do between two barriers, or before the end of the kernel.
//!
//! In a tree of sums, `if (threadIdx.x < n)` leaves fewer warps at each step. `%tid.x` grows from warp to warp, so where
//! one is above the bound, or its last lanes are, those behind it are, too: they are not entered.

use super::{Emitted, Emitter, Quick, field};
use crate::Mode;
use crate::assembler::*;
use crate::context::Entry;
use crate::decode::{Action, Combine, Compute, Order};
use softwarp_ir::start::Given;
use softwarp_ir::{Guard, Op, Slot, Special};
use std::mem::offset_of;

/// A comparison of `%tid.x` with a constant: where it is above in a warp, it is in those behind.
#[derive(Clone, Copy)]
pub(crate) struct Behind {
    /// The row of `%tid.x`.
    tid: Slot,
    /// The result in a warp that is above.
    above: bool,
}

/// The warps behind the current one come to the same barrier or end.
#[derive(Clone, Copy)]
pub(super) struct Idle {
    /// The row of `%tid.x`.
    tid: Slot,
    /// How many instructions each of them executes.
    instructions: i32,
    /// The predicate that each of them writes and reads later, and its lanes.
    writes: Option<(Slot, i32)>,
}

/// The most instructions that warps which are passed over may execute.
const MOST: i32 = 1 << 10;

impl Emitter<'_> {
    /// Whether a comparison, whose first source is the one that grows from lane to lane, decides for the warps behind.
    pub(super) fn decides_behind(
        &self,
        op: usize,
        (order, wraps): (Order, bool),
        [tid, bound]: [Slot; 2],
    ) -> Option<Behind> {
        let is_tid = |given: &Given| *given == Given::Special(tid.number(), Special::Tid(0));
        if wraps || tid.is_wide() || !self.flow.is_fixed(tid) || !self.function.start.given.iter().any(is_tid)
        {
            return None;
        }
        let bound = self.classes.source(self.flow, op, bound).1?;
        let above = match order {
            Order::Gt | Order::Ge => true,
            Order::Lt | Order::Le => false,
            // No warp as a whole is below.
            Order::Ne | Order::Eq if bound < 32 => order == Order::Ne,
            Order::Ne | Order::Eq => return None,
        };
        Some(Behind { tid, above })
    }

    /// What the warps behind the current one do, where a branch that a comparison decides leads to a barrier or an end: they
    /// have been entered where its block begins, and do nothing but compare.
    pub(super) fn find_idle(
        &self,
        (branch, holds): (usize, bool),
        behind: Option<Behind>,
        (first, stop): (usize, usize),
    ) -> Option<Idle> {
        let behind = behind.filter(|behind| behind.above == holds && self.mode == Mode::Uniform)?;
        let block = self.flow.block_of[branch];
        let start = self.flow.blocks[block].start;
        let predicate = self.function.ops[branch].guard().predicate()?;
        let is_entered = start > 0 && self.is_barrier(start - 1);
        let comes_here = |from: usize| from + 1 != block && self.flow.blocks[from].next.contains(&block);
        if !is_entered || (0..self.flow.blocks.len()).any(comes_here) {
            return None;
        }
        let mut others = (start..branch).filter(|&op| self.flow.actions[op] != Action::Nothing);
        let writes_predicate = |op: usize| match &self.function.ops[op] {
            Op::Alu(alu) => alu.guard == Guard::ALWAYS && alu.d.iter().all(|slot| slot == predicate),
            Op::Branch(..) | Op::Other(..) => false,
        };
        let writes = match (others.next(), others.next()) {
            // The comparison was earlier, and the predicate has been written.
            (None, _) => None,
            (Some(op), None) if writes_predicate(op) => {
                let is_read = self.is_read_behind(predicate, &[stop]);
                is_read.then_some((predicate, if holds { -1 } else { 0 }))
            }
            (Some(_), None | Some(_)) => return None,
        };
        let instructions =
            self.instructions(start, branch + 1).saturating_add(self.instructions(first, stop));
        (instructions < MOST).then_some(Idle { tid: behind.tid, instructions, writes })
    }

    /// Behind a barrier, before a branch by the predicate of an earlier comparison that decides for the warps behind: makes
    /// the comparison again.
    pub(super) fn compare_again(&mut self, branch: usize, predicate: Slot) -> Emitted<Option<Quick>> {
        let start = self.flow.blocks[self.flow.block_of[branch]].start;
        let is_nothing = |op: usize| self.flow.actions[op] == Action::Nothing;
        if self.mode != Mode::Uniform
            || self.masked
            || self.alone
            || start == 0
            || !self.is_barrier(start - 1)
            || !(start..branch).all(is_nothing)
        {
            return Ok(None);
        }
        let Some(op) = self.reaching_writer(branch, predicate) else { return Ok(None) };
        let (
            Op::Alu(alu),
            Action::Compute(Compute::Compare { width, signed, order, combine: Combine::Nothing }),
        ) = (&self.function.ops[op], self.flow.actions[op])
        else {
            return Ok(None);
        };
        let (Some(a), Some(b), None) = (alu.s.get(0), alu.s.get(1), alu.s.get(2)) else { return Ok(None) };
        let fixed = [a, b].iter().all(|&slot| self.flow.is_fixed(slot));
        let decides = [(a, b), (b, a)]
            .iter()
            .any(|&(tid, bound)| self.decides_behind(op, (order, false), [tid, bound]).is_some());
        if alu.guard != Guard::ALWAYS || alu.d.count() != 1 || !fixed || !decides {
            return Ok(None);
        }
        self.compare_ends(op, (width, signed, order), [a, b], predicate)
    }

    /// The operation that wrote a predicate last, on all ways to a branch in another block before which its own does not
    /// write it.
    pub(super) fn reaching_writer(&self, branch: usize, predicate: Slot) -> Option<usize> {
        let blocks = &self.flow.blocks;
        let mut seen = vec![false; blocks.len()];
        let mut waiting = vec![self.flow.block_of[branch]];
        let mut found = None;
        while let Some(block) = waiting.pop() {
            // The first block is where the kernel begins.
            if block == 0 {
                return None;
            }
            self.flow.budget.spend(blocks.len());
            for from in (0..blocks.len()).filter(|&from| blocks[from].next.contains(&block)) {
                if std::mem::replace(&mut seen[from], true) {
                    continue;
                }
                let mut ops = blocks[from].start..blocks[from].end;
                match ops.rfind(|&op| self.writes_predicate(op, predicate)) {
                    None => waiting.push(from),
                    Some(op) if found.is_none_or(|other| other == op) => found = Some(op),
                    Some(_) => return None,
                }
            }
        }
        found
    }

    /// Where the current warp has come to a barrier or an end, passes over the warps behind it. Their `%tid.x` is above its
    /// own, unless the CTA has another row between them: then they are entered.
    pub(super) fn pass_over(&mut self, idle: Idle, together: CodeLabel) -> Emitted {
        const ENTRY: i32 = size_of::<Entry>() as i32;
        const { assert!(ENTRY.count_ones() == 1 && ENTRY >= 32) };
        let mut rows = self.unit.a.create_label();
        let tid = self.first(idle.tid);
        let a = &mut self.unit.a;
        a.mov(rax, qword_ptr(field!(last)))?;
        a.sub(rax, ENTRY)?;
        // How many threads the last warp is behind the current one, by its place and by `%tid.x`.
        a.mov(rdx, rax)?;
        a.sub(rdx, qword_ptr(field!(current)))?;
        a.shr(edx, ENTRY.ilog2() - 5)?;
        a.mov(ecx, tid)?;
        a.add(ecx, edx)?;
        a.mov(r12, qword_ptr(rax + offset_of!(Entry, narrow)))?;
        a.cmp(ecx, tid)?;
        a.jne(rows)?;
        if let Some((predicate, lanes)) = idle.writes {
            self.write_behind(predicate, lanes)?;
        }
        let a = &mut self.unit.a;
        // What they execute.
        a.imul_3(edx, edx, idle.instructions)?;
        a.shr(edx, 5)?;
        a.sub(rbp, rdx)?;
        a.mov(qword_ptr(field!(current)), rax)?;
        a.jmp(together)?;
        self.unit.place(&mut rows)
    }

    /// Writes a predicate of the warps behind the current one, up to that in `rax`.
    fn write_behind(&mut self, predicate: Slot, lanes: i32) -> Emitted {
        let (mut again, mut done) = (self.unit.a.create_label(), self.unit.a.create_label());
        let place = self.predicate(predicate);
        self.unit.a.mov(rcx, qword_ptr(field!(current)))?;
        self.unit.place(&mut again)?;
        let a = &mut self.unit.a;
        a.cmp(rcx, rax)?;
        a.jae(done)?;
        a.add(rcx, size_of::<Entry>() as i32)?;
        a.mov(r14, qword_ptr(rcx + offset_of!(Entry, predicates)))?;
        a.mov(place, lanes)?;
        a.jmp(again)?;
        self.unit.place(&mut done)
    }
}
