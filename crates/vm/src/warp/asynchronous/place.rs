//! Where the operands of a copy are: state spaces, bounds and alignment of pieces of any length.

use crate::fault::{BadAccess, FaultKind, Problem, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::SharedBytes;
use crate::warp::Activation;
use crate::warp::access::addresses;
use softwarp_ir::{Address, Memory};
use softwarp_isa::device::CTA_SHARED;
use softwarp_units::lanes::{LANES, lanes};

/// An address in a state space that is not generic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub memory: Memory,
    pub address: u64,
    /// The generic address that the instruction had.
    generic: Option<u64>,
}

/// Where an operand points, lane by lane; nowhere in lanes that do not take part.
pub(super) fn places(
    spaces: &Spaces<'_>,
    activation: &Activation,
    address: &Address,
    taking: u32,
) -> [Place; LANES] {
    let at = addresses(activation, address);
    let mut places = [Place::NOWHERE; LANES];
    lanes(taking).for_each(|lane| places[lane] = Place::of(spaces, address.memory, at[lane]));
    places
}

impl Place {
    /// No place.
    pub const NOWHERE: Place = Place { memory: Memory::Global, address: 0, generic: None };

    /// What an address in a memory means.
    pub fn of(spaces: &Spaces<'_>, memory: Memory, address: u64) -> Place {
        match memory {
            Memory::Generic => {
                let (memory, base) = spaces.window_of(address);
                Place { memory, address: address.wrapping_sub(base), generic: Some(address) }
            }
            Memory::Frame => Place { memory: Memory::Local, address, generic: None },
            memory => Place { memory, address, generic: None },
        }
    }

    /// A given number of bytes further on.
    pub fn after(self, bytes: u64) -> Place {
        let generic = self.generic.map(|address| address.wrapping_add(bytes));
        Place { address: self.address.wrapping_add(bytes), generic, ..self }
    }

    /// The cells of a given number of bytes from here on, and where in them they begin.
    pub fn span<'a>(
        self,
        spaces: &Spaces<'a>,
        bytes: u64,
        alignment: u64,
        usage: Use,
    ) -> Result<(&'a SharedBytes, u64), Box<BadAccess>> {
        let Place { memory, address, generic } = self;
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
        // Parameters begin somewhere in a bank of their own.
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

    /// The same, with the lane that is to blame.
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

/// The same place, and its mbarrier, in each CTA of a cluster that a mask names.
pub(super) fn each(place: Place, barrier: Place, mask: u32) -> Vec<(Place, Place)> {
    let there = |place: Place, rank: usize| Place {
        memory: Memory::Cluster,
        address: rank as u64 * CTA_SHARED + place.address % CTA_SHARED,
        generic: None,
    };
    lanes(mask).map(|rank| (there(place, rank), there(barrier, rank))).collect()
}
