//! Basic blocks and loop depths.

use crate::buffers::Buffer;
use crate::decode::Action;
use softwarp_ir::{Function, Op};
use std::ops::Deref;

/// A basic block: operations from `start` to before `end`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Blocks that may follow.
    pub(crate) next: Next,
    /// The number of loops around it.
    pub(crate) depth: u32,
    /// Its branch leads past blocks that fall through into the target and have no other way out: an `if` without an
    /// `else`. This is the target.
    pub(crate) skips_to: Option<usize>,
}

/// A list of blocks, sorted. Nearly all have two at most, which take no memory of their own.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    Few([usize; 2], usize),
    Many(Vec<usize>),
}

impl Default for Next {
    fn default() -> Next {
        Next::Few([0; 2], 0)
    }
}

impl Deref for Next {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        match self {
            Next::Few(all, count) => &all[..*count],
            Next::Many(all) => all,
        }
    }
}

impl Next {
    /// The blocks at some operations, and perhaps one more.
    fn of(targets: &[u32], block_of: &[usize], more: Option<usize>) -> Next {
        let at = |&target: &u32| block_of.get(target as usize).copied();
        if let [] | [_] = targets {
            return match (targets.first().and_then(at), more) {
                (Some(a), Some(b)) if a != b => Next::Few([a.min(b), a.max(b)], 2),
                (Some(one), _) | (None, Some(one)) => Next::Few([one; 2], 1),
                (None, None) => Next::default(),
            };
        }
        let mut all: Vec<usize> = targets.iter().filter_map(at).chain(more).collect();
        all.sort_unstable();
        all.dedup();
        Next::Many(all)
    }
}

/// The most operations of a block.
pub(crate) const LONGEST: usize = 1024;

/// Code that does not jump checks the budget each time that it has come to a multiple of as many operations. To leave it
/// there costs more than at the end of a warp.
pub(crate) const CHECKED: usize = 8 * LONGEST;

/// The most blocks of a function: as many as the words of waiting blocks have bits.
pub(crate) const MOST_BLOCKS: usize = 512;

/// The basic blocks of a function. One also begins after an operation that leaves compiled code. `None` for a function with
/// more than [`MOST_BLOCKS`].
pub(crate) fn blocks(function: &Function, actions: &[Action]) -> Option<(Vec<Block>, Buffer<usize>)> {
    let ops = &function.ops;
    let mut leaders = Buffer::filled(false, ops.len() + 1);
    leaders[0] = true;
    for (at, op) in ops.iter().enumerate() {
        if let Op::Alu(_) = op {
            continue;
        }
        op.targets().iter().for_each(|&target| leaders[(target as usize).min(ops.len())] = true);
        if matches!(op, Op::Branch(..)) || op.ends_block() || actions[at].may_always_leave(op) {
            leaders[at + 1] = true;
        }
    }
    let mut start = 0;
    for (at, leader) in leaders.iter_mut().enumerate() {
        *leader |= at - start >= LONGEST;
        start = if *leader { at } else { start };
    }
    let count = leaders[..ops.len()].iter().filter(|leader| **leader).count();
    if count > MOST_BLOCKS {
        return None;
    }
    let mut block_of = Buffer::filled(0, ops.len());
    let mut blocks = Vec::with_capacity(count);
    let mut start = 0;
    leaders[ops.len()] = true;
    for end in (1..=ops.len()).filter(|&at| leaders[at]) {
        block_of[start..end].fill(blocks.len());
        blocks.push(Block { start, end, ..Block::default() });
        start = end;
    }
    for number in 0..blocks.len() {
        let op = &ops[blocks[number].end - 1];
        let behind = (!op.ends_block() && number + 1 < blocks.len()).then_some(number + 1);
        let next = Next::of(op.targets(), &block_of, behind);
        // A backward jump spans a loop: code is in the order of the text.
        for &first in next.iter().filter(|first| **first <= number) {
            blocks[first..=number].iter_mut().for_each(|inside| inside.depth += 1);
        }
        blocks[number].next = next;
    }
    Some((blocks, block_of))
}
