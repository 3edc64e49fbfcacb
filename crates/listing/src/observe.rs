//! What executions of a line cost: branches at which lanes part, sectors of global memory, and conflicts of
//! the banks of shared memory.

use crate::counted::Operation;
use softwarp::ir::{Access, Memory, Op, Step};
use softwarp::units::lanes::{Frame, lanes};
use softwarp::vm::stats::{Event, Tracer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Bytes of a sector of global memory.
const SECTOR: u64 = 32;
/// Banks of shared memory, each of which gives a word of four bytes at a time.
pub const BANKS: u64 = 32;
/// Bytes of a word.
pub const WORD: u64 = 4;

/// What was seen of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Branches at which the lanes of a warp parted.
    pub divergent: u64,
    /// Loads and stores of warps in `.global`.
    pub requests: u64,
    /// Sectors that these touched, each once for a request.
    pub sectors: u64,
    /// Loads and stores of warps in `.shared`.
    pub shared_requests: u64,
    /// How many more times than without conflicts the banks were needed for them.
    pub conflicts: u64,
}

impl Seen {
    /// Adds what was seen elsewhere.
    pub fn add(&mut self, other: &Seen) {
        self.divergent += other.divergent;
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.shared_requests += other.shared_requests;
        self.conflicts += other.conflicts;
    }
}

/// Looks at every operation of launches.
#[derive(Debug, Default)]
pub struct Observer {
    seen: Mutex<BTreeMap<Operation, Seen>>,
}

impl Observer {
    /// What was seen of an operation.
    pub fn seen(&self, operation: Operation) -> Seen {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&operation).copied().unwrap_or_default()
    }
}

impl Tracer for Observer {
    fn before(&self, event: &Event<'_>, frame: &Frame) {
        let active = event.op.guard().lanes(frame, event.lanes);
        let seen = match event.op {
            Op::Branch(..) if active != 0 && active != event.lanes => {
                Seen { divergent: 1, ..Seen::default() }
            }
            Op::Other(_, step) if active != 0 => match &**step {
                Step::Load(access) | Step::Store(access) => match access.address.memory {
                    Memory::Global => {
                        let sectors = sectors(addresses(access, frame, active), bytes(access));
                        Seen { requests: 1, sectors, ..Seen::default() }
                    }
                    Memory::Shared => {
                        let conflicts = conflicts(addresses(access, frame, active), bytes(access));
                        Seen { shared_requests: 1, conflicts, ..Seen::default() }
                    }
                    _ => return,
                },
                _ => return,
            },
            _ => return,
        };
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry((event.function, event.index)).or_default().add(&seen);
    }

    fn after(&self, _frame: &Frame) {}
}

/// The bytes that each lane accesses.
pub fn bytes(access: &Access) -> u64 {
    u64::from(access.bytes) * access.registers.len() as u64
}

/// The address that each lane accesses, with its lane.
fn addresses(access: &Access, frame: &Frame, active: u32) -> impl Iterator<Item = (usize, u64)> {
    let address = access.address;
    let base: [u64; 32] = match address.base {
        None => [0; 32],
        Some(slot) if slot.is_wide() => frame.row::<u64>(slot),
        Some(slot) => frame.row::<u32>(slot).map(u64::from),
    };
    lanes(active).map(move |lane| (lane, base[lane].wrapping_add_signed(address.offset)))
}

/// The sectors that a request touches: of lanes with their addresses, each of which accesses the same number of bytes.
pub fn sectors(lanes: impl Iterator<Item = (usize, u64)>, bytes: u64) -> u64 {
    let last = bytes.max(1) - 1;
    let touched = lanes.flat_map(|(_, address)| address / SECTOR..=address.saturating_add(last) / SECTOR);
    touched.collect::<BTreeSet<u64>>().len() as u64
}

/// How many more times than without conflicts the banks are needed: lanes that access different words of one bank wait for
/// one another. Accesses of 8 bytes are made by half of a warp at a time, those of 16 by a quarter.
pub fn conflicts(lanes: impl Iterator<Item = (usize, u64)>, bytes: u64) -> u64 {
    let words = bytes.div_ceil(WORD).max(1);
    let together = (BANKS / words).max(1) as usize;
    let mut groups: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for (lane, address) in lanes {
        let first = address / WORD;
        groups.entry(lane / together).or_default().extend((0..words).map(|word| first.wrapping_add(word)));
    }
    let waits = |touched: &BTreeSet<u64>| {
        let mut of_bank = [0; BANKS as usize];
        touched.iter().for_each(|word| of_bank[(word % BANKS) as usize] += 1);
        of_bank.into_iter().max().unwrap_or(1).max(1) - 1
    };
    groups.values().map(waits).sum()
}
