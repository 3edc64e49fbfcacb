//! Registers of products that four warps compute together (PTX ISA section 9.7.15.7): who uses them while `wgmma` may
//! still be at work, and which of them were written without a `wgmma.fence` since; and registers that `tcgen05.ld` may
//! still be writing (section 9.7.16.8).
//!
//! CUTLASS uses what `tcgen05.ld` loads before it waits, or waits for some loads only, and lets the assembler see to the
//! registers. So such a use counts only if the warp never waits for loads.

use softwarp_ir::group::{GroupOp, Named, Queue};
use std::collections::{HashMap, VecDeque};

/// The most groups that are remembered.
const MOST_GROUPS: usize = 64;

/// The most uses before a wait that are remembered.
const MOST_EARLY: usize = 64;

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
    /// The registers that loads from tensor memory may still be writing, and the loads.
    loading: HashMap<u32, u32>,
    /// Loads that no wait has followed, each with the first use of what it loads.
    early: Vec<EarlyUse>,
    /// Whether there was a wait for loads.
    waits: bool,
}

/// A use of a register before a wait for the load that writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EarlyUse {
    /// The operation that uses it.
    pub(super) op: u32,
    /// The load.
    pub(super) load: u32,
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

    /// `tcgen05.ld`
    pub(super) fn load(&mut self, op: u32, named: &Named) -> Option<Misuse> {
        let misuse = self.plain(op, named);
        self.loading.extend(named.writes.iter().map(|&register| (register, op)));
        misuse
    }

    /// `tcgen05.wait::ld`
    pub(super) fn loaded(&mut self) {
        self.loading.clear();
        self.early.clear();
        self.waits = true;
    }

    /// Uses of what was loaded, if the warp has never waited for loads.
    pub(super) fn early(&self) -> &[EarlyUse] {
        if self.waits { &[] } else { &self.early }
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
            moved(&mut self.loading, named);
            return None;
        }
        let mut registers = named.reads.iter().chain(&named.writes);
        if let Some(load) = registers.find_map(|register| self.loading.remove(register))
            && self.early.len() < MOST_EARLY
            && self.early.iter().all(|it| it.load != load)
        {
            self.early.push(EarlyUse { op, load });
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
