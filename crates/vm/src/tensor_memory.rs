//! Tensor memory of a CTA (PTX ISA sections 9.7.16.1 and 9.7.16.7): its cells, what is allocated, and allocations that
//! two CTAs make together.
//!
//! The cells of a lane lie side by side. They are allocated with the first column, and zeros for each CTA that begins.
//! On the hardware the CTAs of a multiprocessor share the columns; here each CTA has all of them.

use crate::host_memory::{Account, Charge, Refused};
use softwarp_units::tensor_core::{Address, COLUMNS, LANES};

/// The fewest columns of an allocation, and what their number is a multiple of.
const UNIT: usize = 32;

/// Columns that were allocated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) first: usize,
    pub(crate) columns: usize,
}

/// The instruction that allocated columns: its warp, and its place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) warp: u32,
    pub(crate) code: u32,
    pub(crate) pc: u32,
}

/// An operation that warps of two CTAs perform together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collective {
    Allocate { columns: usize },
    Free(Allocation),
    Relinquish,
}

/// The state of a pair's operation in one of the CTAs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Meeting {
    #[default]
    Nothing,
    /// A warp of this CTA has come, and waits.
    Came(u32, Collective),
    /// The operation is done, and the warp has not noticed: the first column of an allocation.
    Done(usize),
}

/// Tensor memory of a CTA.
#[derive(Debug, Default)]
pub(crate) struct TensorMemory {
    /// [`COLUMNS`] words of each lane, one lane after the other; empty as long as nothing was allocated.
    words: Vec<u32>,
    allocations: Vec<Allocation>,
    /// By their first columns, who made allocations.
    owners: Vec<(usize, Owner)>,
    relinquished: bool,
    meeting: Meeting,
    charge: Option<Charge>,
}

/// What a warp that wants something of tensor memory gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is done: the first column of an allocation.
    Done(usize),
    /// It must wait.
    Wait,
    /// It is wrong.
    Wrong(String),
}

impl TensorMemory {
    /// For a CTA that begins.
    pub(crate) fn restart(&mut self) {
        self.allocations.clear();
        self.owners.clear();
        self.words.fill(0);
        (self.relinquished, self.meeting) = (false, Meeting::Nothing);
    }

    /// Bytes of the cells.
    const BYTES: u64 = (LANES * COLUMNS * size_of::<u32>()) as u64;

    /// Makes sure that there are cells.
    pub(crate) fn provide(&mut self, account: &Account) -> Result<(), Refused> {
        if self.words.is_empty() {
            self.charge = Some(account.charge(Self::BYTES)?);
            self.words = vec![0; LANES * COLUMNS];
        }
        Ok(())
    }

    /// Notes who made the allocation that begins at a column.
    pub(crate) fn own(&mut self, first: usize, owner: Owner) {
        self.owners.retain(|it| it.0 != first);
        self.owners.push((first, owner));
    }

    /// Who made the allocation that a column is in.
    pub(crate) fn owner(&self, column: usize) -> Option<Owner> {
        let holds = |it: &&Allocation| (it.first..it.first + it.columns).contains(&column);
        let allocation = self.allocations.iter().find(holds)?;
        self.owners.iter().find(|it| it.0 == allocation.first).map(|it| it.1)
    }

    /// Allocations that were not returned: their columns, and who made them.
    pub(crate) fn left(&self) -> impl Iterator<Item = (u32, Owner)> {
        self.allocations.iter().filter_map(|allocation| {
            let owner = self.owners.iter().find(|it| it.0 == allocation.first)?.1;
            Some((allocation.columns as u32, owner))
        })
    }

    /// The cells of some lanes.
    #[inline]
    pub(crate) fn lanes(&self, first: usize, count: usize) -> &[u32] {
        self.words.get(first * COLUMNS..(first + count) * COLUMNS).unwrap_or_default()
    }

    /// The cells of some lanes, to be written.
    #[inline]
    pub(crate) fn lanes_mut(&mut self, first: usize, count: usize) -> &mut [u32] {
        self.words.get_mut(first * COLUMNS..(first + count) * COLUMNS).unwrap_or_default()
    }

    /// Checks that columns are allocated and lanes exist.
    pub(crate) fn check(&self, address: Address, lanes: usize, columns: usize) -> Result<(), String> {
        let (lane, column) = (address.lane(), address.column());
        if lane + lanes > LANES {
            return Err(format!(
                "tensor memory address {:#010x} is out of range: lanes {lane} to {} do not all exist, there are {LANES}",
                address.0,
                lane + lanes - 1
            ));
        }
        self.check_columns(address, column, columns)
    }

    fn check_columns(&self, address: Address, column: usize, columns: usize) -> Result<(), String> {
        let end = column + columns;
        if end > COLUMNS {
            return Err(format!(
                "tensor memory address {:#010x} is out of range: columns {column} to {} do not all exist, there are {COLUMNS}",
                address.0,
                end - 1
            ));
        }
        // An access may cross from one allocation to the next.
        let mut at = column;
        while at < end {
            let holds = |it: &&Allocation| (it.first..it.first + it.columns).contains(&at);
            match self.allocations.iter().find(holds) {
                Some(it) => at = it.first + it.columns,
                None => {
                    return Err(format!(
                        "column {at} of tensor memory is not allocated (access of columns {column} to {} at address {:#010x})",
                        end - 1,
                        address.0
                    ));
                }
            }
        }
        Ok(())
    }

    /// The first columns that are free, as many as wanted.
    fn room(&self, columns: usize) -> Option<usize> {
        (0..=COLUMNS - columns).step_by(UNIT).find(|&first| {
            self.allocations.iter().all(|it| it.first + it.columns <= first || first + columns <= it.first)
        })
    }

    /// Whether something can be done, apart from room.
    fn allows(&self, wanted: Collective) -> Result<(), String> {
        match wanted {
            Collective::Allocate { columns } => {
                if !columns.is_power_of_two() || !(UNIT..=COLUMNS).contains(&columns) {
                    return Err(format!(
                        "tcgen05.alloc of {columns} columns: the number must be a power of two from 32 to 512"
                    ));
                }
                if self.relinquished {
                    return Err(
                        "tcgen05.alloc after tcgen05.relinquish_alloc_permit in the same CTA".to_owned()
                    );
                }
                Ok(())
            }
            Collective::Free(allocation) => {
                match self.allocations.iter().find(|it| it.first == allocation.first) {
                    Some(it) if it.columns == allocation.columns => Ok(()),
                    Some(it) => Err(format!(
                        "tcgen05.dealloc of {} columns at column {}: the allocation there has {}",
                        allocation.columns, allocation.first, it.columns
                    )),
                    None => Err(format!(
                        "tcgen05.dealloc at column {}, where no allocation begins",
                        allocation.first
                    )),
                }
            }
            Collective::Relinquish => Ok(()),
        }
    }

    /// Does what is allowed; the first column of an allocation, none if there is no room.
    fn perform(&mut self, wanted: Collective) -> Option<usize> {
        match wanted {
            Collective::Allocate { columns } => {
                let first = self.room(columns)?;
                self.allocations.push(Allocation { first, columns });
                Some(first)
            }
            Collective::Free(allocation) => {
                self.allocations.retain(|it| *it != allocation);
                Some(0)
            }
            Collective::Relinquish => {
                self.relinquished = true;
                Some(0)
            }
        }
    }
}

/// What a warp of a CTA wants of its tensor memory.
pub(crate) fn alone(memory: &mut TensorMemory, wanted: Collective) -> Answer {
    if let Err(wrong) = memory.allows(wanted) {
        return Answer::Wrong(wrong);
    }
    memory.perform(wanted).map_or(Answer::Wait, Answer::Done)
}

/// What a warp of a CTA wants together with one of its peer. `memories` are those of the cluster's CTAs.
pub(crate) fn together(memories: &mut [TensorMemory], rank: usize, warp: u32, wanted: Collective) -> Answer {
    let peer = rank ^ 1;
    if peer >= memories.len() {
        return Answer::Wrong(format!(
            ".cta_group::2 needs a peer CTA: the cluster has {}, and this is the one with rank {rank}",
            memories.len()
        ));
    }
    match memories[rank].meeting {
        Meeting::Done(first) => {
            memories[rank].meeting = Meeting::Nothing;
            return Answer::Done(first);
        }
        Meeting::Came(other, before) if other != warp || before != wanted => {
            return Answer::Wrong(format!(
                "warp {warp} manages tensor memory with .cta_group::2 while warp {other} of the same CTA still waits to"
            ));
        }
        _ => {}
    }
    if let Err(wrong) = memories[rank].allows(wanted) {
        return Answer::Wrong(wrong);
    }
    memories[rank].meeting = Meeting::Came(warp, wanted);
    let Meeting::Came(_, others) = memories[peer].meeting else { return Answer::Wait };
    if others != wanted {
        return Answer::Wrong(format!(
            "the CTAs of a pair manage tensor memory differently: one wants to {}, the other to {}",
            words(wanted),
            words(others)
        ));
    }
    // Both have the same allocations, unless some were made with `.cta_group::1`.
    if let Collective::Allocate { columns } = wanted
        && memories[rank].room(columns) != memories[peer].room(columns)
    {
        return Answer::Wait;
    }
    let Some(first) = memories[rank].perform(wanted) else { return Answer::Wait };
    memories[peer].perform(wanted);
    memories[rank].meeting = Meeting::Nothing;
    memories[peer].meeting = Meeting::Done(first);
    Answer::Done(first)
}

fn words(wanted: Collective) -> String {
    match wanted {
        Collective::Allocate { columns } => format!("allocate {columns} columns"),
        Collective::Free(it) => format!("free {} columns at column {}", it.columns, it.first),
        Collective::Relinquish => "relinquish the permit".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocate(memory: &mut TensorMemory, columns: usize) -> Answer {
        alone(memory, Collective::Allocate { columns })
    }

    fn wrong(answer: Answer) -> String {
        match answer {
            Answer::Wrong(wrong) => wrong,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn columns_are_allocated_and_returned() {
        let mut memory = TensorMemory::default();
        assert_eq!(allocate(&mut memory, 256), Answer::Done(0));
        assert_eq!(allocate(&mut memory, 128), Answer::Done(256));
        assert_eq!(allocate(&mut memory, 256), Answer::Wait);
        assert!(wrong(allocate(&mut memory, 48)).contains("48 columns"));
        let free = |first, columns| Collective::Free(Allocation { first, columns });
        assert!(wrong(alone(&mut memory, free(0, 128))).contains("has 256"));
        assert!(wrong(alone(&mut memory, free(32, 128))).contains("no allocation begins"));
        assert_eq!(alone(&mut memory, free(0, 256)), Answer::Done(0));
        assert_eq!(allocate(&mut memory, 256), Answer::Done(0));
        assert_eq!(alone(&mut memory, Collective::Relinquish), Answer::Done(0));
        assert!(wrong(allocate(&mut memory, 32)).contains("relinquish"));
        assert!(memory.check(Address(380), 128, 4).is_ok());
        assert!(memory.check(Address(380), 128, 8).is_err_and(|it| it.starts_with("column 384")));
        assert!(memory.check(Address(120 << 16), 16, 4).is_err_and(|it| it.contains("lanes 120 to 135")));
    }

    #[test]
    fn a_pair_allocates_together() {
        let mut memories = [TensorMemory::default(), TensorMemory::default()];
        let wanted = Collective::Allocate { columns: 64 };
        assert_eq!(together(&mut memories, 0, 3, wanted), Answer::Wait);
        assert_eq!(together(&mut memories, 0, 3, wanted), Answer::Wait);
        assert_eq!(together(&mut memories, 1, 2, wanted), Answer::Done(0));
        assert_eq!(together(&mut memories, 0, 3, wanted), Answer::Done(0));
        assert_eq!(together(&mut memories, 0, 3, wanted), Answer::Wait);
        let other = Collective::Allocate { columns: 32 };
        assert!(wrong(together(&mut memories, 1, 2, other)).contains("differently"));
        assert!(wrong(together(&mut memories[..1], 0, 0, wanted)).contains("needs a peer"));
    }
}
