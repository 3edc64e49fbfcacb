//! Control flow and live ranges: basic blocks, loop depths, live slots, and webs.
//!
//! A web is a set of definitions and uses of a slot that must share a place: the transitive closure of "this use may
//! read this definition" (def-use chains joined by union-find). Different webs of one slot are different values.

mod webs;

use crate::Level;
use crate::assembler::{Encoded, Unencodable};
pub(crate) use crate::blocks::{Block, CHECKED};
use crate::blocks::{LONGEST, MOST_BLOCKS, blocks};
use crate::budget::Budget;
use crate::buffers::{Buffer, pooled};
use crate::decode::{Action, decode};
use crate::fuse::{Fused, Fuser};
use crate::sets::{BitSets, insert, remove};
use crate::stops::{begins_ctas, is_barrier, is_end};
use softwarp_ir::{Class, Function, Guard, Op, Role, Slot, Step};
use std::ops::Range;
use webs::Builder;
pub(crate) use webs::by_web;

/// A use or definition of a slot by an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) slot: Slot,
    pub(crate) web: usize,
}

/// The rows that operations read and write, one operation behind the other: what it reads, then what it writes.
struct Slots {
    all: Buffer<Slot>,
    /// Where the rows of each operation begin, and those among them that it writes.
    starts: Buffer<(u32, u32)>,
}

impl Slots {
    fn ranges(&self, op: usize) -> (Range<usize>, Range<usize>) {
        let (start, writes) = self.starts[op];
        let end = self.starts.get(op + 1).map_or(self.all.len(), |next| next.0 as usize);
        (start as usize..writes as usize, writes as usize..end)
    }

    fn reads(&self, op: usize) -> &[Slot] {
        &self.all[self.ranges(op).0]
    }

    fn writes(&self, op: usize) -> &[Slot] {
        &self.all[self.ranges(op).1]
    }

    /// The same, where some operations are computed together.
    fn with(&self, actions: &[Action], fused: &[Fused]) -> Slots {
        let mut slots =
            Slots { all: Buffer::new(self.all.len()), starts: Buffer::filled((0, 0), self.starts.len()) };
        for (op, action) in actions.iter().enumerate() {
            let (reads, writes) = match action {
                Action::Nothing => (&[][..], &[][..]),
                Action::Fused(number) => {
                    let fused = &fused[*number as usize];
                    (fused.reads(), fused.writes())
                }
                Action::Copy(..) | Action::Compute(_) | Action::Loop | Action::Branch | Action::Exit => {
                    (self.reads(op), self.writes(op))
                }
                Action::Load | Action::Poll | Action::Store | Action::LoadOwn | Action::StoreOwn => {
                    (self.reads(op), self.writes(op))
                }
                Action::FrameAddress | Action::Atomic | Action::Fence | Action::Exchange | Action::Step => {
                    (self.reads(op), self.writes(op))
                }
            };
            let start = slots.all.len() as u32;
            slots.starts[op] = (start, start + reads.len() as u32);
            // Most are one or two.
            reads.iter().chain(writes).for_each(|&slot| slots.all.push(slot));
        }
        slots
    }
}

/// A web of definitions and uses.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    pub(crate) slot: Slot,
    /// Operations that define it: those of [`Flow::defs`].
    defs: Extent,
    /// Whether it may be read before it is written.
    pub(crate) from_start: bool,
    /// Uses and definitions, weighted by loop depth.
    pub(crate) weight: f64,
    /// Positions where it is live: those of [`Flow::live_ranges`].
    live: Extent,
    /// Where it is live for lanes that wait until others have executed the blocks of an `if`: ranges of [`Flow::held`].
    held: Extent,
}

impl Web {
    pub(crate) fn is_wide(&self) -> bool {
        self.slot.is_wide()
    }
}

/// A part of a list: where it begins, and where it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent(u32, u32);

impl Extent {
    pub(crate) fn of<T>(self, list: &[T]) -> &[T] {
        &list[self.0 as usize..self.1 as usize]
    }
}

pooled!(Extent, Touch, Web);

/// Whether a position is in one of some ranges, which are sorted.
#[inline]
pub(crate) fn is_in(ranges: &[(u32, u32)], position: u32) -> bool {
    // Most webs have one.
    if let &[(start, end)] = ranges {
        return start <= position && position < end;
    }
    let at = ranges.partition_point(|&(start, _)| start <= position);
    at > 0 && position < ranges[at - 1].1
}

/// The control flow of a function, with what each operation does and the webs of its slots.
pub(crate) struct Flow<'a> {
    /// What the compilation may take.
    pub(crate) budget: &'a Budget<'a>,
    pub(crate) actions: Buffer<Action>,
    /// What some operations compute in place of several.
    pub(crate) fused: Vec<Fused>,
    pub(crate) blocks: Vec<Block>,
    /// The block of each operation.
    pub(crate) block_of: Buffer<usize>,
    touches: Buffer<Touch>,
    /// Where those of each operation begin, and those among them that it writes.
    touched: Buffer<(u32, u32)>,
    pub(crate) webs: Buffer<Web>,
    /// Definitions of webs.
    defs: Buffer<usize>,
    /// Positions where webs are live, in half-open ranges. An operation has three positions: before it, where it reads,
    /// and where it writes.
    pub(crate) ranges: Buffer<(u32, u32)>,
    /// The same where webs are live for lanes that wait.
    held: Buffer<(u32, u32)>,
    /// Webs that are live somewhere in a block, block by block.
    around: Buffer<usize>,
    /// Where those of each block begin and end.
    around_of: Vec<(usize, usize)>,
    /// Slots that are never written: the launch or the function gives them.
    pub(crate) fixed: Buffer<bool>,
    narrow: usize,
}

impl<'a> Flow<'a> {
    /// The flow of a function. Fails if there is nothing to compile, there are too many blocks, or the budget is spent.
    pub(crate) fn of(function: &Function, level: Level, budget: &'a Budget<'a>) -> Encoded<Flow<'a>> {
        let ops = &function.ops;
        budget.check()?;
        if ops.is_empty() || ops.len() > MOST_BLOCKS * LONGEST {
            return Err(Unencodable);
        }
        let actions = decode(function, level).ok_or(Unencodable)?;
        let (blocks, block_of) = blocks(function, &actions).ok_or(Unencodable)?;
        let narrow = function.narrow as usize;
        let rows = narrow + function.wide as usize;
        // The sets of rows that are live, or written, by block.
        budget.allow_borders(rows);
        budget.reserve((rows / 8 * 3 * blocks.len()) as u64);
        budget.check()?;
        let mut flow = Flow {
            budget,
            actions,
            fused: Vec::new(),
            blocks,
            block_of,
            touches: Buffer::default(),
            touched: Buffer::default(),
            webs: Buffer::default(),
            defs: Buffer::default(),
            ranges: Buffer::default(),
            held: Buffer::default(),
            around: Buffer::default(),
            around_of: Vec::new(),
            fixed: Buffer::filled(true, narrow + function.wide as usize),
            narrow,
        };
        let count = narrow + function.wide as usize;
        let mut slots = flow.collect(function);
        for op in 0..ops.len() {
            slots.writes(op).iter().for_each(|&slot| flow.fixed[index(slot, narrow)] = false);
        }
        let live_in = flow.liveness(&slots, count);
        budget.allow_borders((0..flow.blocks.len()).map(|block| live_in.count(block)).sum());
        budget.check()?;
        if flow.fuse(function, &slots, &live_in) {
            slots = slots.with(&flow.actions, &flow.fused);
        }
        let mut builder = Builder::new(&live_in, flow.blocks.len(), &slots);
        builder.find_nodes(function, &flow, &slots);
        budget.check()?;
        builder.number(&mut flow, &slots);
        builder.find_live(function, &mut flow);
        budget.check()?;
        flow.find_ifs(function);
        budget.check()?;
        Ok(flow)
    }

    /// Finds operations that are computed together; returns whether there are any. No row that is live where a block
    /// begins is another for it.
    fn fuse(&mut self, function: &Function, slots: &Slots, live_in: &BitSets) -> bool {
        let mut fuser = Fuser::new(function);
        for block in &self.blocks {
            if let Some(first) = Fuser::first(&self.actions[block.start..block.end]) {
                let is_live = |slot: usize| {
                    self.budget.spend(block.next.len());
                    block.next.iter().any(|&next| live_in.contains(next, slot))
                };
                let rows = |op: usize| (slots.reads(op), slots.writes(op));
                fuser.block(&self.actions, block.start + first..block.end, rows, is_live);
            }
        }
        self.fused = fuser.finish(&mut self.actions);
        !self.fused.is_empty()
    }

    /// Finds branches that skip a few blocks.
    fn find_ifs(&mut self, function: &Function) {
        let mut held = Vec::new();
        for block in 0..self.blocks.len() {
            let last = self.blocks[block].end - 1;
            let Op::Branch(guard, target) = function.ops[last] else { continue };
            let Some(to) = self.block_at(target as usize) else { continue };
            if guard == Guard::ALWAYS || to < block + 2 {
                continue;
            }
            let inside = self.blocks[block].end..self.blocks[to].start;
            let straight = |op: usize| self.actions[op].may_be_skipped();
            if inside.len() > LONGEST_IF || !inside.clone().all(straight) {
                continue;
            }
            self.blocks[block].skips_to = Some(to);
            let (start, end) = (before(inside.start), before(inside.end));
            if !self.budget.spend(self.around(end).len()) {
                return;
            }
            held.extend(self.live(end).map(|web| (web as u32, (start, end))));
        }
        if !held.is_empty() {
            let (extents, held) = by_web(&held, self.webs.len(), self.budget);
            self.webs.iter_mut().zip(extents.iter()).for_each(|(web, extent)| web.held = *extent);
            self.held = held;
        }
    }

    /// The operations that a branch skips, of a block that has one.
    pub(crate) fn skipped(&self, block: usize) -> Option<(Range<usize>, usize)> {
        let to = self.blocks[block].skips_to?;
        Some((self.blocks[block].end..self.blocks[to].start, to))
    }

    /// Whether compiled code is likely to be faster than the interpreter: a sum over the operations, weighted by loop
    /// depth, of what each costs compiled and interpreted, in units of about a nanosecond.
    pub(crate) fn is_profitable(&self, function: &Function, level: Level) -> bool {
        // How long the code of an operation takes beside that of AVX-512.
        let slower = if level == Level::Avx2 { 2.0 } else { 1.0 };
        let (mut compiled, mut interpreted) = (0.0, 0.0);
        for block in &self.blocks {
            let weight = 8f64.powi(block.depth.min(8) as i32);
            for op in block.start..block.end {
                let (native, loops) = match self.actions[op] {
                    Action::Nothing => (0.0, 0.0),
                    Action::Copy(..) | Action::Compute(_) | Action::Branch => (slower, 4.0),
                    Action::Fused(_) => (slower, 8.0),
                    Action::Load | Action::Store => (3.0 * slower, 8.0),
                    Action::Poll => (4.0 * slower, 40.0),
                    Action::LoadOwn | Action::StoreOwn => (6.0, 40.0),
                    Action::FrameAddress => (slower, 10.0),
                    Action::Exchange => (2.0 * slower, 20.0),
                    // A loop over lanes, at either level.
                    Action::Atomic => (40.0, 120.0),
                    Action::Fence => (12.0, 30.0),
                    Action::Loop => (20.0, 12.0),
                    Action::Step => (35.0, 20.0),
                    // All warps of a CTA come to it, and go on in compiled code.
                    Action::Exit if is_barrier(&function.ops[op]) => (4.0, 30.0),
                    Action::Exit if is_end(&function.ops[op]) && begins_ctas(function) => (4.0, 60.0),
                    Action::Exit => (60.0, 30.0),
                };
                compiled += weight * native;
                interpreted += weight * loops;
            }
        }
        compiled < 0.8 * interpreted
    }

    /// Forward dataflow: the webs that are written, on some path, between the last place where code is entered and the
    /// start of each block. Code is entered at the start, and behind operations at which it is left; all values are in
    /// the frame there. `is_kept` says which operations write which webs to the frame, too: they do not count.
    pub(crate) fn written_since_entry(&self, is_kept: impl Fn(usize, usize) -> bool) -> BitSets {
        let (blocks, webs) = (self.blocks.len(), self.webs.len());
        let (mut written, mut own) = (BitSets::new(blocks, webs), BitSets::new(blocks, webs));
        for (number, block) in self.blocks.iter().enumerate() {
            let own = own.words_mut(number);
            for op in block.start..block.end {
                let writes = self.writes(op).iter().filter(|touch| !is_kept(op, touch.web));
                writes.for_each(|touch| insert(own, touch.web));
            }
        }
        let (mut changed, width) = (true, webs.div_ceil(64));
        while changed {
            changed = false;
            for (number, block) in self.blocks.iter().enumerate() {
                if self.actions[block.end - 1].always_leaves() {
                    continue;
                }
                for &next in block.next.iter() {
                    if !self.budget.spend(width) {
                        return written;
                    }
                    for at in 0..width {
                        let out = written.words(number)[at] | own.words(number)[at];
                        let into = &mut written.words_mut(next)[at];
                        changed |= out & !*into != 0;
                        *into |= out;
                    }
                }
            }
        }
        written
    }

    /// Whether a slot is never written.
    pub(crate) fn is_fixed(&self, slot: Slot) -> bool {
        self.fixed[index(slot, self.narrow)]
    }

    /// The index of a row among all rows.
    pub(crate) fn index(&self, slot: Slot) -> usize {
        index(slot, self.narrow)
    }

    /// The web that an operation reads a slot of.
    pub(crate) fn read(&self, op: usize, slot: Slot) -> Option<usize> {
        self.reads(op).iter().find(|touch| touch.slot == slot).map(|touch| touch.web)
    }

    /// The web that an operation writes a slot of.
    pub(crate) fn written(&self, op: usize, slot: Slot) -> Option<usize> {
        self.writes(op).iter().find(|touch| touch.slot == slot).map(|touch| touch.web)
    }

    /// The block that begins at an operation.
    pub(crate) fn block_at(&self, op: usize) -> Option<usize> {
        let block = *self.block_of.get(op)?;
        (self.blocks[block].start == op).then_some(block)
    }

    /// What an operation reads, except rows that are never written.
    pub(crate) fn reads(&self, op: usize) -> &[Touch] {
        let (start, writes) = self.touched[op];
        &self.touches[start as usize..writes as usize]
    }

    /// How many rows an operation reads and writes.
    pub(crate) fn touches_of(&self, op: usize) -> usize {
        self.reads(op).len() + self.writes(op).len()
    }

    /// What an operation writes.
    pub(crate) fn writes(&self, op: usize) -> &[Touch] {
        let end = self.touched.get(op + 1).map_or(self.touches.len(), |next| next.0 as usize);
        &self.touches[self.touched[op].1 as usize..end]
    }

    /// The webs that are live somewhere in the block of a position.
    pub(crate) fn around(&self, position: u32) -> &[usize] {
        match self.block_of.get(position as usize / 3) {
            Some(&block) => &self.around[self.around_of[block].0..self.around_of[block].1],
            None => &[],
        }
    }

    /// The webs that are live at a position.
    pub(crate) fn live(&self, position: u32) -> impl Iterator<Item = usize> {
        let around = self.around(position);
        self.budget.spend(around.len());
        around.iter().copied().filter(move |&web| self.is_live(web, position))
    }

    /// Whether a web is live at a position.
    pub(crate) fn is_live(&self, web: usize, position: u32) -> bool {
        is_in(self.live_ranges(web), position)
    }

    /// Where a web is live, in sorted ranges.
    pub(crate) fn live_ranges(&self, web: usize) -> &[(u32, u32)] {
        self.webs[web].live.of(&self.ranges)
    }

    /// Where it is live for lanes that wait until others have executed the blocks of an `if`.
    pub(crate) fn held(&self, web: usize) -> &[(u32, u32)] {
        self.webs[web].held.of(&self.held)
    }

    /// Where that is among all ranges.
    pub(crate) fn live_extent(&self, web: usize) -> Extent {
        self.webs[web].live
    }

    /// Operations that define a web.
    pub(crate) fn defs(&self, web: usize) -> &[usize] {
        self.webs[web].defs.of(&self.defs)
    }

    /// Whether an operation may leave what it writes as it was.
    fn is_partial(&self, function: &Function, op: usize) -> bool {
        function.ops[op].guard() != Guard::ALWAYS || self.actions[op].always_leaves()
    }

    /// Rows that each operation reads and writes. One under a guard reads what it writes. A row that is a destination
    /// more than once is written once: what is written last remains in it.
    fn collect(&self, function: &Function) -> Slots {
        let ops = function.ops.len();
        let mut slots = Slots { all: Buffer::new(4 * ops), starts: Buffer::new(ops) };
        let mut writes = Vec::new();
        let is_row = |slot: &Slot| slot.class() != Class::Predicate;
        for (number, (op, action)) in function.ops.iter().zip(self.actions.iter()).enumerate() {
            let reads = &mut *slots.all;
            let start = reads.len() as u32;
            match (action, op) {
                (Action::Nothing, _) | (_, Op::Branch(..)) => {}
                (Action::Copy(d, s), _) => {
                    reads.push(*s);
                    writes.push(*d);
                }
                (_, Op::Alu(alu)) => {
                    reads.extend(alu.s.iter().filter(is_row));
                    writes.extend(alu.d.iter().filter(is_row));
                }
                // A load and a store are the most common: no operation is cloned to be visited.
                (_, Op::Other(_, step)) => {
                    if let Step::Load(access) = &**step {
                        reads.extend(access.address.base);
                        writes.extend(access.registers.iter().filter_map(|one| one.slot).filter(is_row));
                    } else if let Step::Store(access) = &**step {
                        reads.extend(access.address.base);
                        reads.extend(access.registers.iter().filter_map(|one| one.slot).filter(is_row));
                    } else {
                        step.as_ref().clone().visit(&mut |slot: &mut Slot, role| match role {
                            Role::Write | Role::Read | Role::Address if !is_row(slot) => {}
                            Role::Write => writes.push(*slot),
                            Role::Read | Role::Address => reads.push(*slot),
                        });
                    }
                }
            }
            leave_each_once(&mut writes);
            if self.is_partial(function, number) {
                writes.iter().for_each(|&slot| reads.push(slot));
            }
            slots.starts.push((start, reads.len() as u32));
            writes.drain(..).for_each(|slot| reads.push(slot));
        }
        slots
    }

    /// Backward dataflow: the slots that are live where each block begins.
    fn liveness(&self, slots: &Slots, count: usize) -> BitSets {
        let blocks = self.blocks.len();
        // What each block writes. What is live first is what a block reads before that.
        let (mut live_in, mut kills) = (BitSets::new(blocks, count), BitSets::new(blocks, count));
        for (number, block) in self.blocks.iter().enumerate() {
            let (reads, writes) = (live_in.words_mut(number), kills.words_mut(number));
            for op in (block.start..block.end).rev() {
                for slot in slots.writes(op).iter().map(|&slot| index(slot, self.narrow)) {
                    remove(reads, slot);
                    insert(writes, slot);
                }
                for slot in slots.reads(op).iter().map(|&slot| index(slot, self.narrow)) {
                    if !self.fixed[slot] {
                        insert(reads, slot);
                    }
                }
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (number, block) in self.blocks.iter().enumerate().rev() {
                for &next in block.next.iter() {
                    if !self.budget.spend(count.div_ceil(64)) {
                        return live_in;
                    }
                    changed |= live_in.add(number, next, kills.words(number));
                }
            }
        }
        live_in
    }
}

/// Leaves out rows that stand in a list before.
fn leave_each_once(rows: &mut Vec<Slot>) {
    let mut kept = 0;
    for at in 0..rows.len() {
        if !rows[..kept].contains(&rows[at]) {
            rows[kept] = rows[at];
            kept += 1;
        }
    }
    rows.truncate(kept);
}

/// Joins ranges that overlap or touch, at the front; they are sorted by where they start. Returns how many are left.
pub(crate) fn join_ranges(ranges: &mut [(u32, u32)]) -> usize {
    let mut kept = 0;
    for at in 0..ranges.len() {
        let (start, end) = ranges[at];
        if kept > 0 && start <= ranges[kept - 1].1 {
            ranges[kept - 1].1 = ranges[kept - 1].1.max(end);
        } else {
            ranges[kept] = (start, end);
            kept += 1;
        }
    }
    kept
}

/// The position before an operation.
pub(crate) fn before(op: usize) -> u32 {
    3 * op as u32
}

/// The index of a row among all rows: those of 32-bit words first.
fn index(slot: Slot, narrow: usize) -> usize {
    slot.number() as usize + if slot.is_wide() { narrow } else { 0 }
}

fn slot_at(index: usize, narrow: usize) -> Slot {
    if index < narrow { Slot::narrow(index as u32) } else { Slot::wide((index - narrow) as u32) }
}

/// The most operations that a branch skips and that are compiled once more, for lanes that do not take it.
const LONGEST_IF: usize = 128;
