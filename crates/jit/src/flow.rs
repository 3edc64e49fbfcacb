//! Control flow and live ranges: basic blocks, loop depths, live slots, and webs.
//!
//! A web is a set of definitions and uses of a slot that must share a place: the transitive closure of "this use may
//! read this definition" (def-use chains joined by union-find). Different webs of one slot are different values.

use crate::Shape;
use crate::decode::{Action, decode, has_pairs};
use softwarp_ir::{Class, Function, Guard, Op, Role, Slot};
use std::ops::Range;

/// A basic block: operations from `start` to before `end`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Blocks that may follow.
    pub(crate) next: Vec<usize>,
    /// The number of loops around it.
    pub(crate) depth: u32,
    /// Its branch leads past blocks that fall through into the target and have no other way out: an `if` without an
    /// `else`. This is the target.
    pub(crate) skips_to: Option<usize>,
}

/// A use or definition of a slot by an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) slot: Slot,
    pub(crate) web: usize,
}

/// The uses and definitions of an operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touches {
    pub(crate) reads: Vec<Touch>,
    pub(crate) writes: Vec<Touch>,
}

/// A web of definitions and uses.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    pub(crate) slot: Slot,
    /// Operations that define it.
    pub(crate) defs: Vec<usize>,
    /// Whether it may be read before it is written.
    pub(crate) from_start: bool,
    /// Uses and definitions, weighted by loop depth.
    pub(crate) weight: f64,
    /// Positions where it is live, in half-open ranges. An operation has three: before it, where it reads, and where it
    /// writes.
    pub(crate) live: Vec<(u32, u32)>,
    /// Where it is live for lanes that wait until others have executed the blocks of an `if`.
    pub(crate) held: Vec<(u32, u32)>,
}

impl Web {
    pub(crate) fn is_wide(&self) -> bool {
        self.slot.is_wide()
    }

    /// Whether it is live at a position.
    pub(crate) fn is_live(&self, position: u32) -> bool {
        let at = self.live.partition_point(|&(start, _)| start <= position);
        at > 0 && position < self.live[at - 1].1
    }
}

/// The control flow of a function, with what each operation does and the webs of its slots.
pub(crate) struct Flow {
    pub(crate) actions: Vec<Action>,
    pub(crate) blocks: Vec<Block>,
    /// The block of each operation.
    pub(crate) block_of: Vec<usize>,
    pub(crate) touches: Vec<Touches>,
    pub(crate) webs: Vec<Web>,
    /// Slots that are never written: the launch or the function gives them.
    pub(crate) fixed: Vec<bool>,
    narrow: usize,
}

impl Flow {
    /// The flow of a function; `None` if there is nothing to compile.
    pub(crate) fn of(function: &Function, shape: Shape) -> Option<Flow> {
        let actions = decode(function, shape);
        let ops = &function.ops;
        if ops.is_empty() || has_pairs(function) {
            return None;
        }
        let (blocks, block_of) = blocks(function, &actions);
        let narrow = function.narrow as usize;
        let mut flow = Flow {
            actions,
            blocks,
            block_of,
            touches: Vec::new(),
            webs: Vec::new(),
            fixed: Vec::new(),
            narrow,
        };
        let count = narrow + function.wide as usize;
        let slots = flow.collect(function);
        flow.fixed = vec![true; count];
        for (_, writes) in &slots {
            writes.iter().for_each(|&slot| flow.fixed[index(slot, narrow)] = false);
        }
        let live_in = flow.liveness(&slots, count);
        flow.build_webs(function, &slots, &live_in, count);
        flow.find_ifs(function);
        Some(flow)
    }

    /// Finds branches that skip a few blocks.
    fn find_ifs(&mut self, function: &Function) {
        for block in 0..self.blocks.len() {
            let last = self.blocks[block].end - 1;
            let Op::Branch(guard, target) = function.ops[last] else { continue };
            let Some(to) = self.block_at(target as usize) else { continue };
            if guard == Guard::ALWAYS || to < block + 2 {
                continue;
            }
            let inside = self.blocks[block].end..self.blocks[to].start;
            let straight =
                |op: usize| !matches!(self.actions[op], Action::Branch | Action::Exit | Action::Exchange);
            if inside.len() > LONGEST_IF || !inside.clone().all(straight) {
                continue;
            }
            self.blocks[block].skips_to = Some(to);
            let (start, end) = (before(inside.start), before(inside.end));
            for web in self.webs.iter_mut().filter(|web| web.is_live(end)) {
                web.held.push((start, end));
            }
        }
    }

    /// The operations that a branch skips, of a block that has one.
    pub(crate) fn skipped(&self, block: usize) -> Option<(Range<usize>, usize)> {
        let to = self.blocks[block].skips_to?;
        Some((self.blocks[block].end..self.blocks[to].start, to))
    }

    /// Whether compiled code is likely to be faster than the interpreter: a sum over the operations, weighted by loop
    /// depth, of what each costs compiled and interpreted, in units of about a nanosecond.
    pub(crate) fn is_profitable(&self) -> bool {
        let (mut compiled, mut interpreted) = (0.0, 0.0);
        for block in &self.blocks {
            let weight = 8f64.powi(block.depth.min(8) as i32);
            for action in &self.actions[block.start..block.end] {
                let (native, loops) = match action {
                    Action::Nothing => (0.0, 0.0),
                    Action::Copy(..) | Action::Compute(_) | Action::Branch => (1.0, 4.0),
                    Action::Load | Action::Store => (3.0, 8.0),
                    Action::Exchange => (2.0, 20.0),
                    Action::Atomic => (40.0, 120.0),
                    Action::Loop => (20.0, 12.0),
                    Action::Step => (35.0, 20.0),
                    Action::Exit => (60.0, 30.0),
                };
                compiled += weight * native;
                interpreted += weight * loops;
            }
        }
        compiled < 0.8 * interpreted
    }

    /// Whether a slot is never written.
    pub(crate) fn is_fixed(&self, slot: Slot) -> bool {
        self.fixed[index(slot, self.narrow)]
    }

    /// The web that an operation reads a slot of.
    pub(crate) fn read(&self, op: usize, slot: Slot) -> Option<usize> {
        self.touches[op].reads.iter().find(|touch| touch.slot == slot).map(|touch| touch.web)
    }

    /// The web that an operation writes a slot of.
    pub(crate) fn written(&self, op: usize, slot: Slot) -> Option<usize> {
        self.touches[op].writes.iter().find(|touch| touch.slot == slot).map(|touch| touch.web)
    }

    /// The block that begins at an operation.
    pub(crate) fn block_at(&self, op: usize) -> Option<usize> {
        let block = *self.block_of.get(op)?;
        (self.blocks[block].start == op).then_some(block)
    }

    /// Rows that each operation reads and writes. One under a guard reads what it writes.
    fn collect(&self, function: &Function) -> Vec<(Vec<Slot>, Vec<Slot>)> {
        let mut all = Vec::with_capacity(function.ops.len());
        for (op, action) in function.ops.iter().zip(&self.actions) {
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            match action {
                Action::Nothing => {}
                Action::Copy(d, s) => {
                    reads.push(*s);
                    writes.push(*d);
                }
                _ => op.clone().visit(|slot, role| match (slot.class(), role) {
                    (Class::Predicate, _) => {}
                    (_, Role::Write) => writes.push(*slot),
                    _ => reads.push(*slot),
                }),
            }
            if op.guard() != Guard::ALWAYS || matches!(action, Action::Exit) {
                reads.extend_from_slice(&writes);
            }
            all.push((reads, writes));
        }
        all
    }

    /// Backward dataflow: the slots that are live where each block begins.
    fn liveness(&self, slots: &[(Vec<Slot>, Vec<Slot>)], count: usize) -> Vec<Vec<bool>> {
        let mut live_in = vec![vec![false; count]; self.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (number, block) in self.blocks.iter().enumerate().rev() {
                let mut live = vec![false; count];
                for &next in &block.next {
                    live.iter_mut().zip(&live_in[next]).for_each(|(live, next)| *live |= next);
                }
                for op in (block.start..block.end).rev() {
                    let (reads, writes) = &slots[op];
                    writes.iter().for_each(|&slot| live[index(slot, self.narrow)] = false);
                    reads.iter().for_each(|&slot| live[index(slot, self.narrow)] = true);
                }
                live.iter_mut().zip(&self.fixed).for_each(|(live, fixed)| *live &= !fixed);
                changed |= live != live_in[number];
                live_in[number] = live;
            }
        }
        live_in
    }

    fn build_webs(
        &mut self,
        function: &Function,
        slots: &[(Vec<Slot>, Vec<Slot>)],
        live_in: &[Vec<bool>],
        count: usize,
    ) {
        let mut sets = UnionFind::default();
        let nodes: Vec<Vec<usize>> = live_in
            .iter()
            .map(|live| live.iter().map(|&live| if live { sets.add() } else { usize::MAX }).collect())
            .collect();
        // The node of each use and definition.
        let mut uses: Vec<(Vec<usize>, Vec<usize>)> = Vec::with_capacity(slots.len());
        for (number, block) in self.blocks.iter().enumerate() {
            let mut current = nodes[number].clone();
            for (op, (reads, writes)) in slots.iter().enumerate().take(block.end).skip(block.start) {
                let node_of = |sets: &mut UnionFind, slot: Slot, current: &mut Vec<usize>| {
                    let at = index(slot, self.narrow);
                    if current[at] == usize::MAX {
                        current[at] = sets.add();
                    }
                    current[at]
                };
                let mut read = Vec::with_capacity(reads.len());
                for &slot in reads {
                    let fixed = self.fixed[index(slot, self.narrow)];
                    read.push(if fixed { usize::MAX } else { node_of(&mut sets, slot, &mut current) });
                }
                let partial =
                    function.ops[op].guard() != Guard::ALWAYS || matches!(self.actions[op], Action::Exit);
                let mut written = Vec::with_capacity(writes.len());
                for &slot in writes {
                    if !partial {
                        current[index(slot, self.narrow)] = sets.add();
                    }
                    written.push(node_of(&mut sets, slot, &mut current));
                }
                uses.push((read, written));
            }
            for &next in &block.next {
                for at in 0..count {
                    if nodes[next][at] != usize::MAX && current[at] != usize::MAX {
                        sets.join(current[at], nodes[next][at]);
                    }
                }
            }
        }
        // Number the webs.
        let mut number = vec![usize::MAX; sets.parents.len()];
        let mut web_of = |sets: &mut UnionFind, webs: &mut Vec<Web>, node: usize, slot: Slot| {
            let root = sets.root(node);
            if number[root] == usize::MAX {
                number[root] = webs.len();
                let (defs, live) = (Vec::new(), Vec::new());
                webs.push(Web { slot, defs, from_start: false, weight: 0.0, live, held: Vec::new() });
            }
            number[root]
        };
        let mut webs = Vec::new();
        let mut touches = vec![Touches::default(); slots.len()];
        for (op, ((reads, writes), (read, written))) in slots.iter().zip(&uses).enumerate() {
            let weight = 8f64.powi(self.blocks[self.block_of[op]].depth.min(8) as i32);
            for (&slot, &node) in reads.iter().zip(read).filter(|(_, node)| **node != usize::MAX) {
                let web = web_of(&mut sets, &mut webs, node, slot);
                webs[web].weight += weight;
                touches[op].reads.push(Touch { slot, web });
            }
            for (&slot, &node) in writes.iter().zip(written) {
                let web = web_of(&mut sets, &mut webs, node, slot);
                webs[web].weight += weight;
                webs[web].defs.push(op);
                touches[op].writes.push(Touch { slot, web });
            }
        }
        for (at, &node) in nodes[0].iter().enumerate().filter(|(_, node)| **node != usize::MAX) {
            let web = web_of(&mut sets, &mut webs, node, slot_at(at, self.narrow));
            webs[web].from_start = true;
        }
        // Live ranges, block by block and backward.
        for block in self.blocks.iter().rev() {
            let mut ends = vec![0u32; webs.len()];
            for &next in &block.next {
                for (at, &node) in nodes[next].iter().enumerate().filter(|(_, node)| **node != usize::MAX) {
                    let web = web_of(&mut sets, &mut webs, node, slot_at(at, self.narrow));
                    ends[web] = before(block.end);
                }
            }
            ends.resize(webs.len(), 0);
            for op in (block.start..block.end).rev() {
                let at = before(op);
                let partial =
                    function.ops[op].guard() != Guard::ALWAYS || matches!(self.actions[op], Action::Exit);
                // An operation that is not element by element may write before it has read everything.
                let early = u32::from(self.actions[op].is_elementwise());
                for &Touch { web, .. } in &touches[op].writes {
                    let end = if ends[web] == 0 { at + 3 } else { ends[web] };
                    if partial {
                        ends[web] = end;
                    } else {
                        webs[web].live.push((at + 1 + early, end));
                        ends[web] = 0;
                    }
                }
                for &Touch { web, .. } in &touches[op].reads {
                    if ends[web] == 0 {
                        ends[web] = at + 2;
                    }
                }
            }
            for (web, &end) in ends.iter().enumerate().filter(|(_, end)| **end != 0) {
                webs[web].live.push((before(block.start), end));
            }
        }
        for web in &mut webs {
            web.live.sort_unstable();
            let mut merged: Vec<(u32, u32)> = Vec::with_capacity(web.live.len());
            for &(start, end) in &web.live {
                match merged.last_mut() {
                    Some(last) if start <= last.1 => last.1 = last.1.max(end),
                    _ => merged.push((start, end)),
                }
            }
            web.live = merged;
        }
        (self.webs, self.touches) = (webs, touches);
    }
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

/// The most operations of a block. Code checks the budget after a block of this length.
pub(crate) const LONGEST: usize = 1024;

/// The basic blocks of a function. One also begins after an operation that leaves compiled code.
fn blocks(function: &Function, actions: &[Action]) -> (Vec<Block>, Vec<usize>) {
    let ops = &function.ops;
    let mut leaders = vec![false; ops.len() + 1];
    leaders[0] = true;
    for (at, op) in ops.iter().enumerate() {
        op.targets().iter().for_each(|&target| leaders[(target as usize).min(ops.len())] = true);
        if matches!(op, Op::Branch(..)) || op.ends_block() || actions[at].may_always_leave() {
            leaders[at + 1] = true;
        }
    }
    let mut start = 0;
    for (at, leader) in leaders.iter_mut().enumerate() {
        *leader |= at - start >= LONGEST;
        start = if *leader { at } else { start };
    }
    let starts: Vec<usize> = (0..ops.len()).filter(|&at| leaders[at]).collect();
    let mut block_of = vec![0; ops.len()];
    let mut blocks = Vec::with_capacity(starts.len());
    for (number, &start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(ops.len());
        block_of[start..end].fill(number);
        blocks.push(Block { start, end, next: Vec::new(), depth: 0, skips_to: None });
    }
    for number in 0..blocks.len() {
        let last = blocks[number].end - 1;
        let op = &ops[last];
        let mut next: Vec<usize> =
            op.targets().iter().filter_map(|&target| block_of.get(target as usize).copied()).collect();
        if !op.ends_block() && number + 1 < blocks.len() {
            next.push(number + 1);
        }
        next.sort_unstable();
        next.dedup();
        blocks[number].next = next;
    }
    // A backward jump spans a loop: code is in the order of the text.
    let mut depth = vec![0u32; blocks.len() + 1];
    for (number, block) in blocks.iter().enumerate() {
        for &next in block.next.iter().filter(|next| **next <= number) {
            (next..=number).for_each(|inside| depth[inside] += 1);
        }
    }
    blocks.iter_mut().zip(depth).for_each(|(block, depth)| block.depth = depth);
    (blocks, block_of)
}

/// Disjoint sets.
#[derive(Default)]
struct UnionFind {
    parents: Vec<usize>,
}

impl UnionFind {
    fn add(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.parents.len() - 1
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parents[node] != node {
            self.parents[node] = self.parents[self.parents[node]];
            node = self.parents[node];
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a] = b;
    }
}
