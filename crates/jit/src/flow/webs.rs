//! Webs and their live ranges.

use super::{Extent, Flow, Slots, Touch, Web, before, index, join_ranges, slot_at};
use crate::budget::Budget;
use crate::buffers::{Buffer, Pooled};
use crate::sets::{BitSets, UnionFind};
use softwarp_ir::{Function, Slot};

/// No node.
const NONE: u32 = u32::MAX;

/// Finds webs. A node stands for the value of a slot where a block begins, or from a definition on.
pub(super) struct Builder<'a> {
    live_in: &'a BitSets,
    sets: UnionFind,
    /// The first node of each block: slots that are live there have nodes in their order.
    first: Vec<u32>,
    /// The end of these nodes.
    borders: u32,
    /// The node of each use and definition, in the order of [`Slots`]; none for rows that are never written.
    uses: Buffer<u32>,
    /// The webs of nodes that stand for their sets.
    numbers: Buffer<u32>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(live_in: &'a BitSets, blocks: usize, slots: &Slots) -> Builder<'a> {
        let live: usize = (0..blocks).map(|block| live_in.count(block)).sum();
        let mut sets = UnionFind::new(live + slots.all.len());
        let mut first = Vec::with_capacity(blocks);
        for block in 0..blocks {
            first.push(sets.len() as u32);
            (0..live_in.count(block)).for_each(|_| _ = sets.add());
        }
        let (borders, uses) = (sets.len() as u32, Buffer::new(slots.all.len()));
        Builder { live_in, sets, first, borders, uses, numbers: Buffer::default() }
    }

    /// Joins the nodes of definitions and uses that may be the same value.
    pub(super) fn find_nodes(&mut self, function: &Function, flow: &Flow, slots: &Slots) {
        let mut current = Buffer::filled(NONE, flow.fixed.len());
        let mut known = Buffer::<usize>::new(slots.all.len());
        for (number, block) in flow.blocks.iter().enumerate() {
            for (node, at) in (self.first[number]..).zip(self.live_in.iter(number)) {
                current[at] = node;
                known.push(at);
            }
            for op in block.start..block.end {
                for at in slots.reads(op).iter().map(|&slot| index(slot, flow.narrow)) {
                    if current[at] == NONE && !flow.fixed[at] {
                        current[at] = self.sets.add();
                        known.push(at);
                    }
                    self.uses.push(current[at]);
                }
                let partial = flow.is_partial(function, op);
                for at in slots.writes(op).iter().map(|&slot| index(slot, flow.narrow)) {
                    if current[at] == NONE || !partial {
                        current[at] = self.sets.add();
                        known.push(at);
                    }
                    self.uses.push(current[at]);
                }
            }
            for &next in block.next.iter() {
                if !flow.budget.spend(1 + self.nodes_of(next)) {
                    return;
                }
                for (node, at) in (self.first[next]..).zip(self.live_in.iter(next)) {
                    if current[at] != NONE {
                        self.sets.join(current[at], node);
                    }
                }
            }
            known.drain(..).for_each(|at| current[at] = NONE);
        }
        self.numbers = Buffer::filled(NONE, self.sets.len());
    }

    /// How many rows are live where a block begins.
    fn nodes_of(&self, block: usize) -> usize {
        let end = self.first.get(block + 1).copied().unwrap_or(self.borders);
        (end - self.first[block]) as usize
    }

    /// The web of a node of a slot.
    fn web_of(&mut self, webs: &mut Vec<Web>, node: u32, slot: Slot) -> usize {
        let number = &mut self.numbers[self.sets.root(node) as usize];
        if *number == NONE {
            *number = webs.len() as u32;
            let (defs, live) = (Extent::default(), Extent::default());
            webs.push(Web { slot, defs, from_start: false, weight: 0.0, live, held: Extent::default() });
        }
        *number as usize
    }

    /// Numbers the webs, and finds those of each operation.
    pub(super) fn number(&mut self, flow: &mut Flow, slots: &Slots) {
        let ops = slots.starts.len();
        let (mut webs, mut touches) = (Buffer::<Web>::new(ops), Buffer::<Touch>::new(slots.all.len()));
        let mut defs = Buffer::<(u32, usize)>::new(ops);
        flow.touched = Buffer::new(ops);
        for op in 0..ops {
            // Powers of eight.
            let weight = (1u64 << (3 * flow.blocks[flow.block_of[op]].depth.min(8))) as f64;
            let (reads, writes) = slots.ranges(op);
            let start = touches.len() as u32;
            for at in reads {
                if self.uses[at] == NONE {
                    continue;
                }
                let slot = slots.all[at];
                let web = self.web_of(&mut webs, self.uses[at], slot);
                webs[web].weight += weight;
                touches.push(Touch { slot, web });
            }
            flow.touched.push((start, touches.len() as u32));
            for at in writes {
                let slot = slots.all[at];
                let web = self.web_of(&mut webs, self.uses[at], slot);
                webs[web].weight += weight;
                defs.push((web as u32, op));
                touches.push(Touch { slot, web });
            }
        }
        let live_in = self.live_in;
        for (node, at) in (self.first[0]..).zip(live_in.iter(0)) {
            let web = self.web_of(&mut webs, node, slot_at(at, flow.narrow));
            webs[web].from_start = true;
        }
        let (extents, defs) = by_web(&defs, webs.len(), flow.budget);
        webs.iter_mut().zip(extents.iter()).for_each(|(web, extent)| web.defs = *extent);
        (flow.webs, flow.touches, flow.defs) = (webs, touches, defs);
    }

    /// Finds live ranges, block by block and backward.
    pub(super) fn find_live(&mut self, function: &Function, flow: &mut Flow) {
        let mut webs = std::mem::take(&mut flow.webs);
        let ends = Buffer::filled((0, usize::MAX), webs.len());
        let mut around = Around { all: Buffer::new(2 * webs.len()), ends };
        let mut found = Buffer::<(u32, (u32, u32))>::new(2 * webs.len());
        flow.around_of = vec![(0, 0); flow.blocks.len()];
        let live_in = self.live_in;
        for (number, block) in flow.blocks.iter().enumerate().rev() {
            let first = around.all.len();
            for &next in block.next.iter() {
                if !flow.budget.spend(1 + self.nodes_of(next)) {
                    break;
                }
                for (node, at) in (self.first[next]..).zip(live_in.iter(next)) {
                    let web = self.web_of(&mut webs, node, slot_at(at, flow.narrow));
                    around.set_end(web, before(block.end), number);
                }
            }
            for op in (block.start..block.end).rev() {
                let at = before(op);
                let partial = flow.is_partial(function, op);
                // An operation that is not element by element may write before it has read everything.
                let early = u32::from(flow.actions[op].is_elementwise());
                for &Touch { web, .. } in flow.writes(op) {
                    let end = around.end(web).unwrap_or(at + 3);
                    if !partial {
                        found.push((web as u32, (at + 1 + early, end)));
                    }
                    around.set_end(web, if partial { end } else { 0 }, number);
                }
                for &Touch { web, .. } in flow.reads(op) {
                    let end = around.end(web).unwrap_or(at + 2);
                    around.set_end(web, end, number);
                }
            }
            for at in first..around.all.len() {
                let web = around.all[at];
                if let Some(end) = around.end(web) {
                    found.push((web as u32, (before(block.start), end)));
                    around.set_end(web, 0, number);
                }
            }
            flow.around_of[number] = (first, around.all.len());
        }
        // The last was found first.
        found.reverse();
        let (extents, mut ranges) = by_web(&found, webs.len(), flow.budget);
        for (web, &Extent(start, end)) in webs.iter_mut().zip(extents.iter()) {
            let count = join_ranges(&mut ranges[start as usize..end as usize]);
            web.live = Extent(start, start + count as u32);
        }
        (flow.webs, flow.around, flow.ranges) = (webs, around.all, ranges);
    }
}

/// The webs around the operations of blocks, while live ranges are found.
struct Around {
    all: Buffer<usize>,
    /// Where a web ends that is live, else 0; and the last block that it was seen in.
    ends: Buffer<(u32, usize)>,
}

impl Around {
    fn end(&self, web: usize) -> Option<u32> {
        self.ends.get(web).map(|end| end.0).filter(|&end| end != 0)
    }

    fn set_end(&mut self, web: usize, end: u32, block: usize) {
        if web >= self.ends.len() {
            self.ends.resize(web + 1, (0, usize::MAX));
        }
        if self.ends[web].1 != block {
            self.all.push(web);
        }
        self.ends[web] = (end, block);
    }
}

/// How many things are sorted at once.
const PART: usize = 1 << 14;

/// Sorts what belongs to webs by their numbers. What belongs to one keeps its order.
pub(crate) fn by_web<T: Copy + Default + Pooled>(
    found: &[(u32, T)],
    webs: usize,
    budget: &Budget<'_>,
) -> (Buffer<Extent>, Buffer<T>) {
    let mut extents = Buffer::filled(Extent::default(), webs);
    for part in found.chunks(PART) {
        if !budget.spend(part.len()) {
            return (Buffer::filled(Extent::default(), webs), Buffer::default());
        }
        part.iter().for_each(|&(web, _)| extents[web as usize].1 += 1);
    }
    let mut start = 0;
    for extent in extents.iter_mut() {
        let count = extent.1;
        *extent = Extent(start, start);
        start += count;
    }
    let mut sorted = Buffer::filled(T::default(), found.len());
    for part in found.chunks(PART) {
        if !budget.spend(part.len()) {
            break;
        }
        for &(web, value) in part {
            let end = &mut extents[web as usize].1;
            sorted[*end as usize] = value;
            *end += 1;
        }
    }
    (extents, sorted)
}
