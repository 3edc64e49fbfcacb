//! Register allocation: gives virtual registers their rows.
//!
//! Compilers write every value to a register of its own, tens of thousands of them; a row each would be far more
//! than any cache holds. So registers that are never live at the same time share a row.
//!
//! **Why this is sound in a warp.** A row has a column for each lane, and a write touches only the columns of the
//! lanes that execute it. So a column is written and read by its own lane alone, in the order of that lane's own
//! steps, whatever the others do meanwhile and however the warp is scheduled. (`shfl` and its like read other
//! lanes' columns, but of lanes that stand at the same operation, where its sources are live.) Each lane is then a
//! sequential program of its own on its own column, and what holds for those holds here: two registers may share
//! a row if on no path of the control flow both are live at one point, or one is written while the other is live.
//!
//! **What is computed.** For each register the hull, in text order, of all points where it is live or mentioned:
//!
//! - every operation that reads or writes it;
//! - for every block that reads it before writing it, and from there backwards through all predecessors up to
//!   blocks that write it, the whole way. A write under a guard does not stop this, since other lanes keep what
//!   was there before; a register that is live at the entry is live from the start, where rows are zero.
//!
//! Hulls are supersets of the points of liveness, so registers with disjoint hulls may share. An operation reads
//! before it writes: what is read last and what is written first in one operation may share, too.
//!
//! The way backwards is walked for one register at a time, and each block once. Of functions where that adds up to
//! too much, the remaining registers get the hull of their mentions, extended over every run of overlapping loops
//! that it touches: a path leaves the hull of a loop-free stretch only by a branch backwards, and then the branch
//! and its target are in one such run.

use crate::defined::{Names, is_needed, table};
use crate::virtuals::{ConstantRows, Rows, Virtual};
use softwarp_ir::Role;
use softwarp_ir::defined::Table;
use softwarp_ir::{Guard, Op, Slot};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The first predicate that registers get: the carry flag stands before it.
const FIRST_PREDICATE: u32 = Slot::CARRY.number() + 1;

/// The rows that registers have got.
pub struct Allocated {
    /// The rows of the frame.
    pub rows: Rows,
    /// The rows of 32-bit and of 64-bit words that may be read before they are written.
    pub zeroed: [Vec<u32>; 2],
    /// The table of registers.
    pub table: Option<Box<Table>>,
    /// The number of each virtual register's slot.
    pub slots: Vec<u32>,
}

/// Whether registers that are never live at the same time share a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// They do.
    Rows,
    /// Each has a row of its own, for a debugger.
    None,
}

/// Replaces the virtual registers in a function's operations by slots. Constants come first, in their order. A table of
/// registers is made if the function needs one, or `always`; `names` is called only then.
pub fn allocate(
    ops: &mut [Op],
    registers: &[Virtual],
    constants: ConstantRows,
    (sharing, always): (Sharing, bool),
    names: impl FnOnce() -> Names,
) -> Allocated {
    let hulls = hulls(ops, registers);
    let whole = (sharing == Sharing::None).then(|| vec![Hull { start: 0, end: u32::MAX }; hulls.len()]);
    let held = whole.as_ref().unwrap_or(&hulls);
    let (slots, rows) = assign(held, registers, constants);
    let zeroed = live_at_start(held, registers, &slots);
    let exposed: Vec<u32> = (0..hulls.len() as u32).filter(|&n| hulls[n as usize].start == 0).collect();
    let needed = is_needed(ops, &exposed, always);
    let table = needed.then(|| Box::new(table(ops, &exposed, &names(), registers, &slots, rows)));
    for op in ops {
        op.visit(|slot, _| {
            if let Some(&row) = slots.get(slot.number() as usize) {
                *slot = slot.with_number(row);
            }
        });
    }
    Allocated { rows, zeroed, table, slots }
}

/// The rows of registers that are live where the function begins.
fn live_at_start(hulls: &[Hull], registers: &[Virtual], slots: &[u32]) -> [Vec<u32>; 2] {
    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
    for ((hull, register), &slot) in hulls.iter().zip(registers).zip(slots) {
        if hull.start != 0 {
            continue;
        }
        match register {
            Virtual::Narrow => narrow.push(slot),
            Virtual::Wide => wide.push(slot),
            Virtual::Pair => wide.extend([slot, slot + 1]),
            Virtual::High | Virtual::Predicate | Virtual::NarrowConstant(_) | Virtual::WideConstant(_) => {}
        }
    }
    [narrow, wide].map(|mut rows| {
        rows.sort_unstable();
        rows.dedup();
        rows
    })
}

/// A range of points: operation n reads at 2n and writes at 2n + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hull {
    start: u32,
    end: u32,
}

impl Hull {
    const EMPTY: Hull = Hull { start: u32::MAX, end: 0 };

    fn include(&mut self, start: u32, end: u32) {
        self.start = self.start.min(start);
        self.end = self.end.max(end);
    }

    fn is_empty(self) -> bool {
        self.start > self.end
    }
}

/// Lists of numbers, one after the other.
#[derive(Debug, Default)]
struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Groups items by their list, keeping their order.
    fn new(lists: usize, pairs: &[(u32, u32)]) -> Lists {
        let mut starts = vec![0u32; lists + 1];
        for &(list, _) in pairs {
            starts[list as usize + 1] += 1;
        }
        for n in 0..lists {
            starts[n + 1] += starts[n];
        }
        let mut next = starts.clone();
        let mut items = vec![0; pairs.len()];
        for &(list, item) in pairs {
            let at = &mut next[list as usize];
            items[*at as usize] = item;
            *at += 1;
        }
        Lists { starts, items }
    }

    fn of(&self, list: u32) -> &[u32] {
        let list = list as usize;
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

/// The control flow of a function.
#[derive(Debug)]
struct Flow {
    /// The first operation of each block, and the number of operations.
    starts: Vec<u32>,
    predecessors: Lists,
    /// Branches backwards: the target and the branch, as points; runs that overlap are one.
    loops: Vec<Hull>,
}

impl Flow {
    fn new(ops: &[Op]) -> Flow {
        let count = ops.len() as u32;
        let mut leads = vec![false; ops.len() + 1];
        leads[0] = true;
        for (n, op) in ops.iter().enumerate() {
            let to = op.targets();
            to.iter().for_each(|&target| leads[target.min(count) as usize] = true);
            leads[n + 1] |= !to.is_empty() || op.ends_block();
        }
        let mut starts: Vec<u32> = (0..count).filter(|&n| leads[n as usize]).collect();
        starts.push(count);
        let mut edges = Vec::new();
        let mut loops = Vec::new();
        for (block, bounds) in starts.windows(2).enumerate() {
            let last = bounds[1] - 1;
            let op = &ops[last as usize];
            let mut targets = Cow::from(op.targets());
            if targets.len() > 1 {
                // Tables repeat their targets.
                targets.to_mut().sort_unstable();
                targets.to_mut().dedup();
            }
            for &target in &*targets {
                if let Ok(to) = starts.binary_search(&target)
                    && target < count
                {
                    edges.push((to as u32, block as u32));
                }
                if target <= last {
                    loops.push(Hull { start: 2 * target, end: 2 * last + 1 });
                }
            }
            if !op.ends_block() && bounds[1] < count {
                edges.push((block as u32 + 1, block as u32));
            }
        }
        let predecessors = Lists::new(starts.len(), &edges);
        Flow { starts, predecessors, loops: merged(loops) }
    }

    /// The points of a block.
    fn block(&self, block: u32) -> (u32, u32) {
        let block = block as usize;
        (2 * self.starts[block], (2 * self.starts[block + 1]).saturating_sub(1))
    }
}

fn merged(mut ranges: Vec<Hull>) -> Vec<Hull> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut runs: Vec<Hull> = Vec::new();
    for range in ranges {
        match runs.last_mut() {
            Some(run) if range.start <= run.end => run.end = run.end.max(range.end),
            Some(_) | None => runs.push(range),
        }
    }
    runs
}

/// Where registers are mentioned.
struct Mentions {
    hulls: Vec<Hull>,
    /// For each register, blocks that read it before they write it.
    exposed: Lists,
    /// For each register, blocks that write it whatever the guard.
    written: Lists,
}

const NEVER: u32 = u32::MAX;

fn mentions(ops: &mut [Op], registers: &[Virtual], flow: &Flow) -> Mentions {
    let mut hulls = vec![Hull::EMPTY; registers.len()];
    let (mut exposed, mut written) = (Vec::new(), Vec::new());
    // The last block that did so, for each register.
    let mut exposed_in = vec![NEVER; registers.len()];
    let mut written_in = vec![NEVER; registers.len()];
    for block in 0..flow.starts.len() as u32 - 1 {
        for n in flow.starts[block as usize]..flow.starts[block as usize + 1] {
            let op = &mut ops[n as usize];
            let always = op.guard() == Guard::ALWAYS;
            op.visit(|slot, role| {
                let number = slot.number() as usize;
                let register = match registers.get(number) {
                    None | Some(Virtual::NarrowConstant(_) | Virtual::WideConstant(_)) => return,
                    Some(Virtual::High) => number - 1,
                    Some(_) => number,
                };
                let point = 2 * n + u32::from(role == Role::Write);
                hulls[register].include(point, point);
                if written_in[register] == block {
                    return;
                }
                match role {
                    Role::Read | Role::Address => {
                        if std::mem::replace(&mut exposed_in[register], block) != block {
                            exposed.push((register as u32, block));
                        }
                    }
                    Role::Write if always => {
                        written_in[register] = block;
                        written.push((register as u32, block));
                    }
                    Role::Write => {}
                }
            });
        }
    }
    let exposed = Lists::new(registers.len(), &exposed);
    Mentions { hulls, exposed, written: Lists::new(registers.len(), &written) }
}

/// A given number of ways into blocks are walked for all registers together before the walk gives up.
const MOST_STEPS: usize = 1 << 23;

fn hulls(ops: &mut [Op], registers: &[Virtual]) -> Vec<Hull> {
    hulls_within(ops, registers, MOST_STEPS)
}

fn hulls_within(ops: &mut [Op], registers: &[Virtual], mut steps: usize) -> Vec<Hull> {
    let flow = Flow::new(ops);
    let Mentions { mut hulls, exposed, written } = mentions(ops, registers, &flow);
    let blocks = flow.starts.len();
    let mut live = vec![NEVER; blocks];
    let mut stops = vec![NEVER; blocks];
    let mut rest: Vec<u32> = Vec::new();
    for register in 0..registers.len() as u32 {
        if exposed.of(register).is_empty() {
            continue;
        }
        let hull = &mut hulls[register as usize];
        if steps == 0 {
            extend_over_loops(hull, &flow.loops);
            continue;
        }
        written.of(register).iter().for_each(|&block| stops[block as usize] = register);
        rest.extend(exposed.of(register));
        rest.iter().for_each(|&block| live[block as usize] = register);
        while let Some(block) = rest.pop() {
            let predecessors = flow.predecessors.of(block);
            steps = steps.saturating_sub(predecessors.len().max(1));
            let (start, _) = flow.block(block);
            hull.include(start, start);
            for &before in predecessors {
                let (_, end) = flow.block(before);
                hull.include(end, end);
                let reached = live[before as usize] == register || stops[before as usize] == register;
                if !reached {
                    live[before as usize] = register;
                    rest.push(before);
                }
            }
        }
    }
    hulls
}

/// The hull of a register about which nothing is known but its mentions. It may also be live at the entry.
fn extend_over_loops(hull: &mut Hull, loops: &[Hull]) {
    hull.include(0, 0);
    // Runs are in order and do not overlap: the last that begins inside ends last, and none begins before it has ended.
    let inside = loops.partition_point(|run| run.start <= hull.end);
    if let Some(last) = loops[..inside].last() {
        hull.end = hull.end.max(last.end);
    }
}

/// The slots of one kind of row.
#[derive(Debug, Default)]
struct Pool {
    /// Those in use, by the point after which they are free.
    used: BinaryHeap<Reverse<(u32, u32)>>,
    free: Vec<u32>,
    count: u32,
}

impl Pool {
    fn take(&mut self, hull: Hull) -> u32 {
        while let Some(&Reverse((end, slot))) = self.used.peek()
            && end < hull.start
        {
            self.used.pop();
            self.free.push(slot);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.used.push(Reverse((hull.end, slot)));
        slot
    }
}

fn assign(hulls: &[Hull], registers: &[Virtual], constants: ConstantRows) -> (Vec<u32>, Rows) {
    let mut order: Vec<u32> = (0..hulls.len() as u32).filter(|&n| !hulls[n as usize].is_empty()).collect();
    order.sort_unstable_by_key(|&n| (hulls[n as usize].start, n));
    let (mut narrow, mut wide, mut pairs, mut predicates) =
        (Pool::default(), Pool::default(), Pool::default(), Pool::default());
    let mut slots = vec![0; registers.len()];
    for n in order {
        let hull = hulls[n as usize];
        slots[n as usize] = match registers[n as usize] {
            Virtual::Narrow => constants.narrow + narrow.take(hull),
            Virtual::Wide => constants.wide + wide.take(hull),
            Virtual::Pair => pairs.take(hull),
            Virtual::Predicate => FIRST_PREDICATE + predicates.take(hull),
            Virtual::High | Virtual::NarrowConstant(_) | Virtual::WideConstant(_) => continue,
        };
    }
    // Pairs lie behind the single rows.
    let singles = constants.wide + wide.count;
    let mut low = 0;
    for (slot, register) in slots.iter_mut().zip(registers) {
        match *register {
            Virtual::Pair => {
                *slot = singles + 2 * *slot;
                low = *slot;
            }
            Virtual::High => *slot = low + 1,
            Virtual::NarrowConstant(slot_) | Virtual::WideConstant(slot_) => *slot = slot_,
            Virtual::Narrow | Virtual::Wide | Virtual::Predicate => {}
        }
    }
    let rows = Rows {
        narrow: constants.narrow + narrow.count,
        wide: singles + 2 * pairs.count,
        predicates: FIRST_PREDICATE + predicates.count,
    };
    (slots, rows)
}

#[cfg(test)]
mod tests;
