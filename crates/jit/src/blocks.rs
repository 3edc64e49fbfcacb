//! Basic blocks and loop depths.

use crate::buffers::Buffer;
use crate::decode::Action;
use softwarp_ir::{Function, Op};

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

/// The most operations of a block.
pub(crate) const LONGEST: usize = 1024;

/// Code that does not jump checks the budget each time that it has come to a multiple of as many operations. To leave it
/// there costs more than at the end of a warp.
pub(crate) const CHECKED: usize = 8 * LONGEST;

/// The basic blocks of a function. One also begins after an operation that leaves compiled code.
pub(crate) fn blocks(function: &Function, actions: &[Action]) -> (Vec<Block>, Buffer<usize>) {
    let ops = &function.ops;
    let mut leaders = Buffer::filled(false, ops.len() + 1);
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
    let mut block_of = Buffer::filled(0, ops.len());
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
