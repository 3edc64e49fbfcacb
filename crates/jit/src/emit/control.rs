//! Blocks, branches and divergence.
//!
//! In masked code, lanes that wait at a block are in `Context::pending`. The block with the lowest number runs first,
//! as the interpreter has it: a jump to a block behind one at which lanes wait goes through the dispatcher.

use super::idle::Behind;
use super::leading::Leading;
use super::{Checked, Emitted, Emitter, Late, field};
use crate::Mode;
use crate::assembler::*;
use crate::flow::CHECKED;
use softwarp_ir::{Guard, Slot};

impl Emitter<'_> {
    /// Emits all blocks, then the code that stands outside of them.
    pub(crate) fn emit(&mut self) -> Emitted {
        self.pace(0)?;
        for block in 0..self.flow.blocks.len() {
            self.unit.mark(super::Part::Rest);
            self.enter_behind(block)?;
            self.unit.place(&mut self.own.blocks.at(block))?;
            self.checked.clear();
            self.in_eax = None;
            self.folds.clear();
            let (start, end) = (self.flow.blocks[block].start, self.flow.blocks[block].end);
            for op in start..end {
                self.operation(op)?;
                if self.groups.last_in(block) == Some(op) {
                    self.compile_without_groups(op)?;
                }
            }
            let last = &self.function.ops[end - 1];
            if matches!(last, softwarp_ir::Op::Branch(..)) || self.always_leaves(end - 1) {
                continue;
            }
            self.pay(start, end)?;
            if start / CHECKED != end / CHECKED && block + 1 < self.flow.blocks.len() {
                self.look_at_budget(block + 1)?;
            }
            match block + 1 < self.flow.blocks.len() {
                true => self.go_to(block + 1, true)?,
                false => self.exit(end)?,
            }
        }
        self.stubs()
    }

    /// Behind the last access of the groups of a block: has the operations compiled again without groups, where code goes
    /// on there if a check fails.
    fn compile_without_groups(&mut self, last: usize) -> Emitted {
        let enter = |checked: Checked| Some((checked.first, checked.alone?));
        let enters: Vec<_> = self.checked.drain(..).filter_map(enter).collect();
        if enters.is_empty() {
            return Ok(());
        }
        let mut back = self.unit.a.create_label();
        self.unit.place(&mut back)?;
        self.folds.forget();
        self.late.push(Late::Alone(self.without_groups.len()));
        self.without_groups.push(super::Alone { last, enters, back });
        Ok(())
    }

    fn always_leaves(&self, op: usize) -> bool {
        self.flow.actions[op].always_leaves()
    }

    /// Subtracts the instructions of a block from the budget, and counts its operations among lanes.
    pub(super) fn pay(&mut self, start: usize, end: usize) -> Emitted {
        let exchanges = self.exchanges(start, end);
        if exchanges != 0 {
            self.unit.a.add(qword_ptr(field!(exchanges)), exchanges)?;
        }
        let count = self.instructions(start, end);
        if count == 0 {
            return Ok(());
        }
        if let Some(lanes) = self.lanes {
            let threads = (lanes.count_ones() as i32 - 32).saturating_mul(count);
            self.unit.a.add(qword_ptr(field!(threads)), threads)?;
        } else if self.runs_some() {
            let asm = &mut self.unit.a;
            asm.mov(ecx, dword_ptr(field!(mask)))?;
            asm.popcnt(ecx, ecx)?;
            asm.sub(ecx, 32)?;
            asm.imul_3(ecx, ecx, count)?;
            asm.movsxd(rcx, ecx)?;
            asm.add(qword_ptr(field!(threads)), rcx)?;
        }
        self.unit.a.sub(rbp, count)
    }

    /// Goes on with a block; `falls` says that it comes next.
    pub(super) fn go_to(&mut self, block: usize, falls: bool) -> Emitted {
        let label = self.own.blocks.at(block);
        if self.mode == Mode::Masked {
            let dispatch = self.unit.a.create_label();
            self.late.push(Late::Dispatch { block, label: dispatch });
            self.unit.a.cmp(dword_ptr(field!(first_pending)), block as i32)?;
            self.unit.a.jbe(dispatch)?;
        }
        if falls { Ok(()) } else { self.unit.a.jmp(label) }
    }

    /// The block that a branch leads to; none at the end of the function.
    pub(super) fn block_of_target(&self, target: usize) -> Option<usize> {
        self.flow.block_of.get(target).copied()
    }

    /// A branch. The predicate of its guard may be in `eax`.
    pub(super) fn branch(
        &mut self,
        op: usize,
        (guard, in_eax): (Guard, Option<Slot>),
        target: usize,
    ) -> Emitted {
        let start = self.flow.blocks[self.flow.block_of[op]].start;
        let (to, next) = (self.block_of_target(target), self.block_of_target(op + 1));
        let Some(predicate) = guard.predicate() else {
            self.pay(start, op + 1)?;
            return self.jump(op, to);
        };
        let (Some(to), Some(next)) = (to, next) else { return self.exit(op) };
        if let Some(compare) = self.decides.take() {
            return self.branch_by_scalars(op, compare, [to, next]);
        }
        let quick = match self.quick.take() {
            None => self.compare_again(op, predicate)?,
            quick => quick,
        };
        if let Some(quick) = quick {
            self.late.push(Late::Branch { op, quick });
        }
        self.pay(start, op + 1)?;
        let (mut fall, diverge) = (self.unit.a.create_label(), self.unit.a.create_label());
        if quick.is_none()
            && let Some(known) = self.known_mixed(op, predicate)
        {
            self.late.push(Late::Diverge { op, label: diverge, predicate: Some(known), behind: None });
            return self.diverge_as_known(guard, known, diverge);
        }
        let known = quick.and_then(|quick| quick.mixed);
        let behind = quick.and_then(|quick| quick.behind);
        self.late.push(Late::Diverge { op, label: diverge, predicate: known, behind });
        if let Some(known) = known.filter(|&known| known != 0 && known != u32::MAX) {
            return self.diverge_as_known(guard, known, diverge);
        }
        match in_eax == Some(predicate) && !self.runs_some() {
            true if guard.is_negated() => self.unit.a.not(eax)?,
            true => {}
            false => self.passing(guard, predicate)?,
        }
        let asm = &mut self.unit.a;
        asm.test(eax, eax)?;
        asm.jz(fall)?;
        match self.mode {
            Mode::Masked => asm.cmp(eax, dword_ptr(field!(mask)))?,
            Mode::Uniform => asm.cmp(eax, -1)?,
        }
        asm.jne(diverge)?;
        self.jump(op, Some(to))?;
        self.unit.place(&mut fall)?;
        self.go_to(next, true)
    }

    /// Goes on where a branch diverges by a predicate whose lanes are known.
    fn diverge_as_known(&mut self, guard: Guard, known: u32, diverge: CodeLabel) -> Emitted {
        let taking = if guard.is_negated() { !known } else { known };
        self.unit.a.mov(eax, taking as i32)?;
        self.unit.a.jmp(diverge)
    }

    /// Jumps to a block that was paid for. A jump back looks at the budget.
    pub(super) fn jump(&mut self, op: usize, to: Option<usize>) -> Emitted {
        let Some(to) = to else {
            let end = self.function.ops.len();
            return self.leave_at(end, end);
        };
        if self.flow.blocks[to].start <= op {
            self.look_at_budget(to)?;
        }
        self.go_to(to, false)
    }

    /// Leaves before a block if the budget is spent.
    fn look_at_budget(&mut self, block: usize) -> Emitted {
        let spent = self.unit.a.create_label();
        self.late.push(Late::Spent { block, label: spent });
        self.unit.a.test(rbp, rbp)?;
        self.unit.a.jle(spent)
    }

    /// A branch that diverges, the lanes that take it in `eax`: those at the lower block go on. Its predicate may be known,
    /// and that of the warps behind.
    pub(super) fn diverge(
        &mut self,
        op: usize,
        target: usize,
        predicate: Option<u32>,
        behind: Option<Behind>,
    ) -> Emitted {
        let (Some(to), Some(next)) = (self.block_of_target(target), self.block_of_target(op + 1)) else {
            return Ok(());
        };
        if to == next {
            // All lanes go on together, although they were apart for a moment.
            self.unit.a.inc(qword_ptr(field!(divergent)))?;
            return self.go_to(next, false);
        }
        if self.mode == Mode::Uniform && self.can_run_apart(op) {
            return self.run_apart(op, predicate, behind);
        }
        if !self.has_masked {
            // The interpreter executes the branch, which is paid for already.
            let start = self.flow.blocks[self.flow.block_of[op]].start;
            let paid = self.instructions(start, op + 1) - self.instructions(start, op);
            self.unit.a.add(rbp, paid)?;
            return self.leave_in_registers(op);
        }
        if self.mode == Mode::Uniform {
            self.save_live(crate::flow::before(op))?;
        }
        let back = to <= self.flow.block_of[op];
        let (low, high) = if back { (to, next) } else { (next, to) };
        let asm = &mut self.unit.a;
        asm.inc(qword_ptr(field!(divergent)))?;
        // ecx: the lanes that fall through.
        asm.mov(ecx, dword_ptr(field!(mask)))?;
        asm.xor(ecx, eax)?;
        let (low_mask, high_mask) = if back { (eax, ecx) } else { (ecx, eax) };
        asm.mov(dword_ptr(field!(mask)), low_mask)?;
        asm.mov(rdx, qword_ptr(field!(pending)))?;
        asm.or(dword_ptr(rdx + 4 * high), high_mask)?;
        asm.mov(rdx, qword_ptr(field!(pending_blocks)))?;
        asm.bts(qword_ptr(rdx + 8 * (high / 64)), (high % 64) as i32)?;
        asm.mov(ecx, dword_ptr(field!(first_pending)))?;
        self.begin_turn_unless_waited()?;
        let asm = &mut self.unit.a;
        asm.mov(edx, high as i32)?;
        asm.cmp(ecx, edx)?;
        asm.cmova(ecx, edx)?;
        asm.mov(dword_ptr(field!(first_pending)), ecx)?;
        if self.mode == Mode::Uniform {
            let start = self.other.starts.at(low);
            return self.unit.a.jmp(start);
        }
        let mask = dword_ptr(field!(mask));
        self.unit.a.mov(eax, mask)?;
        self.load_mask(eax)?;
        self.go_to(low, false)
    }

    /// Where lanes diverge: a turn begins unless others wait already. The first block at which lanes wait is in `ecx`.
    fn begin_turn_unless_waited(&mut self) -> Emitted {
        if self.mode == Mode::Uniform {
            return self.begin_turn();
        }
        let mut waited = self.unit.a.create_label();
        self.unit.a.cmp(ecx, -1)?;
        self.unit.a.jne(waited)?;
        self.begin_turn()?;
        self.unit.place(&mut waited)
    }

    /// Whether the operations that a branch skips can be compiled for some lanes while the values of the others stay where
    /// they are: what they write and others read is in vectors, and no scalar is kept in a row that others read.
    fn can_run_apart(&self, op: usize) -> bool {
        let block = self.flow.block_of[op];
        let Some((mut skipped, _)) = self.flow.skipped(block) else { return false };
        let end = crate::flow::before(skipped.end);
        skipped.all(|op| {
            self.flow.writes(op).iter().all(|touch| {
                if self.classes.webs[touch.web].is_vector() {
                    return true;
                }
                let is_same = |web: usize| self.flow.webs[web].slot == touch.slot;
                let in_row = self.places[touch.web] == crate::places::Place::Frame;
                let others = in_row && self.flow.live(end).any(is_same);
                !(others || self.flow.is_live(touch.web, end))
            })
        })
    }

    /// Executes the operations that a branch skips, for the lanes that do not take it: those that do are in `eax`. Then
    /// all lanes go on together. Where a barrier or the end comes next, the warps behind are passed over if all their lanes
    /// take the branch.
    fn run_apart(&mut self, op: usize, predicate: Option<u32>, behind: Option<Behind>) -> Emitted {
        let block = self.flow.block_of[op];
        let Some((_, to)) = self.flow.skipped(block) else { return Ok(()) };
        let asm = &mut self.unit.a;
        asm.not(eax)?;
        asm.mov(dword_ptr(field!(mask)), eax)?;
        asm.inc(qword_ptr(field!(divergent)))?;
        self.begin_turn()?;
        self.load_mask(eax)?;
        (self.masked, self.apart) = (true, Some(to));
        self.leading_group = None;
        let negated = self.function.ops[op].guard().is_negated();
        self.lanes = predicate.map(|lanes| if negated { lanes } else { !lanes });
        self.leading = self.lanes.and_then(Leading::of);
        for inside in block + 1..to {
            let (start, end) = (self.flow.blocks[inside].start, self.flow.blocks[inside].end);
            for op in start..end {
                self.operation(op)?;
            }
            self.pay(start, end)?;
        }
        (self.masked, self.apart, self.leading, self.lanes) = (false, None, None, None);
        self.unit.mark(super::Part::Rest);
        self.unit.a.mov(dword_ptr(field!(mask)), -1)?;
        if let Some((first, stop)) = self.stops_at(to) {
            self.idle = self.find_idle((op, !negated), behind, (first, stop));
            if self.idle.is_some() {
                self.leave_at(first, stop)?;
                self.idle = None;
                return Ok(());
            }
        }
        let label = self.own.blocks.at(to);
        self.unit.a.jmp(label)
    }
}
