//! Registers of products that four warps compute together (PTX ISA section 9.7.15.7): who uses them while `wgmma` may
//! still be at work, and which of them were written without a `wgmma.fence` since.

use softwarp_ir::group::{GroupOp, Named, Queue};
use std::collections::{HashMap, VecDeque};

/// The most groups that are remembered.
const MOST_GROUPS: usize = 64;

/// A register that a product uses.
#[derive(Clone, Copy, Debug)]
struct Used {
    /// The operation.
    op: u32,
    /// Its number among the products of the warp.
    number: u32,
    /// Whether it is written, and not only read.
    written: bool,
}

/// An error in the use of a register, with the other operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misuse {
    /// A product may still be using it.
    Unwaited(u32),
    /// A product is to use it, and it was written since the last fence; or there was no fence at all.
    Unfenced(Option<u32>),
}

/// The registers of a warp, in the functions that have products.
#[derive(Debug, Default)]
pub(super) struct Registers {
    fenced: bool,
    /// The registers written since the last fence, and the operations.
    written: HashMap<u32, u32>,
    /// The registers that products may still be using.
    used: HashMap<u32, Used>,
    issued: u32,
    groups: VecDeque<u32>,
}

impl Registers {
    /// A product is issued.
    pub(super) fn product(&mut self, op: u32, named: &Named) -> Option<Misuse> {
        self.issued = self.issued.saturating_add(1);
        let mut held = named.reads.iter().chain(&named.writes);
        let unfenced = held.find_map(|register| self.written.get(register)).copied();
        let misuse = (!self.fenced || unfenced.is_some()).then_some(Misuse::Unfenced(unfenced));
        for (registers, written) in [(&named.reads, false), (&named.writes, true)] {
            for &register in registers {
                self.used.insert(register, Used { op, number: self.issued, written });
            }
        }
        if misuse.is_some() {
            // It is reported once.
            self.fenced = true;
            self.written.clear();
        }
        misuse
    }

    /// Groups and fences.
    pub(super) fn group(&mut self, op: GroupOp) {
        match op {
            GroupOp::Registers => {
                self.fenced = true;
                self.written.clear();
            }
            GroupOp::Commit(Queue::Products) => {
                self.groups.push_back(self.issued);
                if self.groups.len() > MOST_GROUPS {
                    self.groups.pop_front();
                }
            }
            GroupOp::Wait { queue: Queue::Products, pending, .. } => {
                let index = self.groups.len().checked_sub(1 + pending as usize);
                let complete = index.and_then(|index| self.groups.get(index)).copied().unwrap_or(0);
                self.used.retain(|_, used| used.number > complete);
            }
            _ => {}
        }
    }

    /// Any other operation.
    pub(super) fn plain(&mut self, op: u32, named: &Named) -> Option<Misuse> {
        if named.moves {
            moved(&mut self.written, named);
            moved(&mut self.used, named);
            return None;
        }
        let read =
            named.reads.iter().find(|register| self.used.get(register).is_some_and(|used| used.written));
        let write = named.writes.iter().find(|register| self.used.contains_key(register));
        let misused = read.or(write).and_then(|register| self.used.remove(register));
        self.written.extend(named.writes.iter().map(|&register| (register, op)));
        misused.map(|used| Misuse::Unwaited(used.op))
    }
}

/// Registers become what others are.
fn moved<T: Copy>(map: &mut HashMap<u32, T>, named: &Named) {
    let state = named.reads.iter().find_map(|from| map.get(from)).copied();
    for &to in &named.writes {
        match state {
            Some(state) => map.insert(to, state),
            None => map.remove(&to),
        };
    }
}
