//! Addresses of operands of asynchronous operations: the state space, and the check of bounds and alignment.

use crate::fault::{BadAccess, FaultKind, Problem, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::SharedBytes;
use crate::warp::Activation;
use crate::warp::addresses::addresses;
use softwarp_ir::{Address, Memory};
use softwarp_isa::device::CTA_SHARED;
use softwarp_units::lanes::{LANES, lanes};

/// An address in a state space that is not generic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OperandAddress {
    pub memory: Memory,
    pub address: u64,
    /// The generic address that the instruction had.
    generic: Option<u64>,
}

/// The addresses of an operand, lane by lane. They are unused in lanes that do not take part.
#[inline]
pub(super) fn operand_addresses(
    spaces: &Spaces<'_>,
    activation: &Activation,
    operand: &Address,
    taking: u32,
) -> [OperandAddress; LANES] {
    let row = addresses(activation, operand);
    let mut of_lanes = [OperandAddress::UNUSED; LANES];
    lanes(taking).for_each(|lane| of_lanes[lane] = OperandAddress::of(spaces, operand.memory, row[lane]));
    of_lanes
}

impl OperandAddress {
    /// The address of lanes that do not take part.
    pub const UNUSED: OperandAddress = OperandAddress { memory: Memory::Global, address: 0, generic: None };

    /// Finds the state space of a generic address.
    pub fn of(spaces: &Spaces<'_>, memory: Memory, address: u64) -> OperandAddress {
        match memory {
            Memory::Generic => {
                let (memory, base) = spaces.window_of(address);
                OperandAddress { memory, address: address.wrapping_sub(base), generic: Some(address) }
            }
            Memory::Frame => OperandAddress { memory: Memory::Local, address, generic: None },
            memory => OperandAddress { memory, address, generic: None },
        }
    }

    /// The same offset in the shared memory of another CTA of the cluster.
    pub(crate) fn in_cta(self, rank: u64) -> OperandAddress {
        let address = rank * CTA_SHARED + self.address % CTA_SHARED;
        OperandAddress { memory: Memory::Cluster, address, generic: None }
    }

    /// A given number of bytes further on.
    pub fn after(self, bytes: u64) -> OperandAddress {
        let generic = self.generic.map(|address| address.wrapping_add(bytes));
        OperandAddress { address: self.address.wrapping_add(bytes), generic, ..self }
    }

    /// Checks bounds and alignment: the cells that a given number of bytes from here on are in, and the index of the
    /// first.
    pub fn span<'a>(
        self,
        spaces: &Spaces<'a>,
        bytes: u64,
        alignment: u64,
        usage: Use,
    ) -> Result<(&'a SharedBytes, u64), Box<BadAccess>> {
        let OperandAddress { memory, address, generic } = self;
        let blame = |mut bad: Box<BadAccess>| {
            (bad.address, bad.generic) = (address, generic);
            bad.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            bad
        };
        let bad = |problem| {
            blame(spaces.bad(problem, usage, memory, address, bytes, spaces.nearest(memory, address)))
        };
        if matches!(memory, Memory::Local | Memory::Function) {
            return Err(bad(Problem::WrongSpace));
        }
        // Parameters do not begin at address 0 of their bank.
        let start =
            if memory == Memory::Kernel { spaces.image.header.arch.properties().parameter_start } else { 0 };
        if !address.wrapping_add(start).is_multiple_of(alignment.max(1)) {
            return Err(bad(Problem::Misaligned));
        }
        let one = |at: u64| spaces.judge(memory, at, 1, usage).map_err(blame);
        let (cells, start) = one(address)?;
        let Some(last) = bytes.checked_sub(1) else { return Ok((cells, start)) };
        let end = address.checked_add(last).ok_or_else(|| bad(Problem::OutOfBounds))?;
        let (other, place) = one(end)?;
        if !std::ptr::eq(cells, other) || place.wrapping_sub(start) != last {
            return Err(bad(Problem::OutOfBounds));
        }
        // What `malloc` gave are blocks with gaps of 16 bytes in one allocation.
        if memory == Memory::Global && spaces.view(memory, address, &mut 0).is_none() {
            for at in (address..end).step_by(16) {
                one(at)?;
            }
        }
        Ok((cells, start))
    }

    /// The same; a fault names the lane.
    pub fn need<'a>(
        self,
        spaces: &Spaces<'a>,
        lane: usize,
        (bytes, alignment): (u64, u64),
        usage: Use,
    ) -> Tried<(&'a SharedBytes, u64)> {
        self.span(spaces, bytes, alignment, usage).map_err(|bad| Trouble::new(lane, FaultKind::Access(bad)))
    }
}

/// A destination of a copy, and the mbarrier that the copy completes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    pub at: OperandAddress,
    pub mbarrier: Option<OperandAddress>,
}

impl Destination {
    /// The same offsets in each CTA of the cluster that a mask names (`.multicast::cluster`).
    pub(super) fn multicast(self, ctas: u32) -> Vec<Destination> {
        self.multicast_to(ctas, |rank| rank)
    }

    /// The same where of each pair of CTAs one counts the bytes: the one whose rank has the parity of the CTA that the
    /// mbarrier is in (`.cta_group::2`).
    pub(super) fn multicast_to_pairs(self, ctas: u32, parity: u64) -> Vec<Destination> {
        self.multicast_to(ctas, |rank| rank & !1 | parity & 1)
    }

    fn multicast_to(self, ctas: u32, counts: impl Fn(u64) -> u64) -> Vec<Destination> {
        let target = |rank: usize| Destination {
            at: self.at.in_cta(rank as u64),
            mbarrier: self.mbarrier.map(|mbarrier| mbarrier.in_cta(counts(rank as u64))),
        };
        lanes(ctas).map(target).collect()
    }
}
