//! Accesses of a block whose bounds are checked together: those at constant distances from one another.
//!
//! The first access of a group checks the range that all of them lie in, and keeps where its own place is in the host's
//! memory. The others are at constant distances from there. Where the check fails, the interpreter learns the region, and
//! the check is made again; or, where accesses of a group may be in different regions, other code of the block goes on, in
//! which each is checked alone.

use crate::buffers::Buffer;
use crate::context::POINTERS;
use crate::decode::Action;
use crate::flow::Flow;
use softwarp_ir::{Access, Address, Function, Guard, Memory, Op, Slot, Step};

/// The furthest distance between accesses of a group.
const FURTHEST: u64 = 1 << 20;

/// What the accesses of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// None for a fixed address.
    base: Option<Slot>,
    /// The value of the base; none for one that is never written.
    web: Option<usize>,
    memory: Memory,
    /// Bytes of an access.
    total: usize,
}

/// A group of accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// The operation that checks.
    pub(crate) first: usize,
    /// The constant that its address adds to the base.
    pub(crate) offset: i64,
    /// The least and the largest distance of an access to the first.
    pub(crate) range: (i64, i64),
    /// Where the place of the first access is kept.
    pub(crate) pointer: usize,
    count: usize,
}

/// Bytes of a bank of `.const`: its variables are one region.
const BANK: i64 = 1 << 16;

impl Group {
    /// Whether the accesses of the group are in one region that can be learned, unless one is a fault; by the address of the
    /// first. Fixed addresses may be those of different variables, and generic ones in memory without a region.
    pub(crate) fn is_in_one_region(&self, first: &Address) -> bool {
        let [least, most] = [self.range.0, self.range.1].map(|distance| first.offset.wrapping_add(distance));
        match first.memory {
            Memory::Shared | Memory::Kernel => true,
            Memory::Global => first.base.is_some(),
            Memory::Constant => first.base.is_some() || least.div_euclid(BANK) == most.div_euclid(BANK),
            Memory::Generic | Memory::Cluster | Memory::Local | Memory::Frame | Memory::Function => false,
        }
    }
}

/// The groups of a function.
pub(crate) struct Groups {
    groups: Vec<Group>,
    /// The group of each operation that has one.
    of: Buffer<Option<u32>>,
    /// The last access of a group, by block.
    last: Vec<Option<usize>>,
}

impl Groups {
    pub(crate) fn of(function: &Function, flow: &Flow) -> Groups {
        let mut groups = Groups {
            groups: Vec::new(),
            of: Buffer::filled(None, function.ops.len()),
            last: vec![None; flow.blocks.len()],
        };
        let mut open = Vec::new();
        for block in &flow.blocks {
            open.clear();
            groups.find(function, flow, block.start..block.end, &mut open);
        }
        let mut pointers = vec![0; flow.blocks.len()];
        for group in groups.groups.iter_mut().filter(|group| group.count > 1) {
            let next = &mut pointers[flow.block_of[group.first]];
            group.pointer = *next;
            *next += 1;
        }
        for op in 0..function.ops.len() {
            if groups.get(op).is_some() {
                groups.last[flow.block_of[op]] = Some(op);
            }
        }
        groups
    }

    /// The last access of a block that is in a group.
    pub(crate) fn last_in(&self, block: usize) -> Option<usize> {
        self.last[block]
    }

    /// The group of an access, unless it is alone.
    pub(crate) fn get(&self, op: usize) -> Option<Group> {
        let group = self.groups[self.of.get(op).copied().flatten()? as usize];
        (group.count > 1 && group.pointer < POINTERS).then_some(group)
    }

    /// Finds those of a block. `open` has the groups that accesses may still be added to.
    fn find(
        &mut self,
        function: &Function,
        flow: &Flow,
        ops: std::ops::Range<usize>,
        open: &mut Vec<(Key, usize)>,
    ) {
        for op in ops {
            flow.budget.spend(1 + open.len());
            if let Some((key, offset)) = key(function, flow, op) {
                let known = open.iter().find(|(other, _)| *other == key).map(|&(_, number)| number);
                let number = known.unwrap_or_else(|| {
                    open.push((key, self.groups.len()));
                    self.groups.push(Group { first: op, offset, range: (0, 0), pointer: 0, count: 0 });
                    self.groups.len() - 1
                });
                let group = &mut self.groups[number];
                let near =
                    offset.checked_sub(group.offset).filter(|distance| distance.unsigned_abs() < FURTHEST);
                if let Some(distance) = near
                    && distance % key.total as i64 == 0
                {
                    group.range = (group.range.0.min(distance), group.range.1.max(distance));
                    group.count += 1;
                    self.of[op] = Some(number as u32);
                }
            }
            if open.is_empty() {
                continue;
            }
            for touch in flow.writes(op) {
                if open.iter().any(|(key, _)| key.web == Some(touch.web)) {
                    open.retain(|(key, _)| key.web != Some(touch.web));
                }
            }
        }
    }
}

/// A load or store.
fn access(function: &Function, op: usize) -> Option<&Access> {
    let Op::Other(Guard::ALWAYS, step) = &function.ops[op] else { return None };
    if let Step::Load(access) | Step::Store(access) = &**step { Some(access) } else { None }
}

fn key(function: &Function, flow: &Flow, op: usize) -> Option<(Key, i64)> {
    // Others are not checked together.
    if !matches!(flow.actions[op], Action::Load | Action::Store) {
        return None;
    }
    let access = access(function, op)?;
    let base = access.address.base;
    let web = match base.filter(|&base| !flow.is_fixed(base)) {
        Some(base) => Some(flow.read(op, base)?),
        None => None,
    };
    let total = usize::from(access.bytes) * access.registers.len();
    Some((Key { base, web, memory: access.address.memory, total }, access.address.offset))
}

#[cfg(test)]
mod tests {
    #[test]
    fn banks() {
        assert_eq!(super::BANK as u64, softwarp_image::image::BANK_BYTES);
    }
}
