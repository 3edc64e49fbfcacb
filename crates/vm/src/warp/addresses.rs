//! The addresses of a warp's lanes in one state space, and checks of each lane's access.

use super::Activation;
use super::run::first;
use crate::fault::{FaultKind, Tried, Trouble, Use};
use crate::memory::Spaces;
use crate::memory::cell::{SharedBytes, Unit};
use crate::memory::order;
use crate::sanitize::Span;
use crate::sanitize::bounds::{TAG_SHIFT, TAGGED};
use softwarp_ir::{Address, Memory, Slot};
use softwarp_num::{Vectorise, vectorised};
use softwarp_units::lanes::{ALL, Frame, LANES, has_lane, lanes};

/// The addresses of the lanes that take part, all in one state space. Lanes that do not take part have the
/// address of the first that does.
pub(super) struct Group {
    pub(super) memory: Memory,
    pub(super) lanes: u32,
    pub(super) addresses: [u64; LANES],
    /// The base of the window, which was subtracted from generic addresses.
    pub(super) window: Option<u64>,
    /// The bytes of each lane's access.
    pub(super) bytes: u64,
    pub(super) shape: Shape,
}

/// Properties of the addresses of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) aligned: bool,
    pub(super) uniform: bool,
}

/// Computes the range of addresses; compiled for CPU features.
struct Measure<'a> {
    addresses: &'a [u64; LANES],
    bytes: u64,
}

impl Vectorise for Measure<'_> {
    type Output = Span;

    #[inline(always)]
    fn run(self) -> Span {
        let (mut low, mut high) = (u64::MAX, 0);
        for &address in self.addresses {
            low = low.min(address);
            high = high.max(address);
        }
        let side_by_side = [0, LANES / 2].map(|half| {
            let mut differ = 0;
            for lane in 0..LANES / 2 {
                let next = self.addresses[half].wrapping_add(lane as u64 * self.bytes);
                differ |= self.addresses[half + lane] ^ next;
            }
            differ == 0
        });
        Span { low, high, side_by_side }
    }
}

/// Looks at addresses; compiled for CPU features.
struct Look<'a> {
    addresses: &'a [u64; LANES],
    bytes: u64,
}

impl Vectorise for Look<'_> {
    type Output = Shape;

    #[inline(always)]
    fn run(self) -> Shape {
        let first = self.addresses[0];
        let (mut low, mut differ) = (0, 0);
        for &address in self.addresses {
            low |= address;
            differ |= address ^ first;
        }
        Shape { aligned: low & (self.bytes - 1) == 0, uniform: differ == 0 }
    }
}

/// The addresses that an operand stands for, of all lanes.
#[inline]
pub(super) fn addresses(activation: &Activation, address: &Address) -> [u64; LANES] {
    let mut row = match address.base {
        None if address.memory == Memory::Shared => {
            [activation.window.wrapping_add_signed(address.offset); LANES]
        }
        None => [address.offset as u64; LANES],
        Some(slot) => based(&activation.frame, slot, address.offset),
    };
    if address.memory == Memory::Frame {
        row.iter_mut().for_each(|at| *at = at.wrapping_add(activation.base));
    }
    row
}

/// The addresses at an offset from those in a row.
#[inline(always)]
pub(super) fn based(frame: &Frame, base: Slot, offset: i64) -> [u64; LANES] {
    match base.is_wide() {
        true => frame.row::<u64>(base).map(|base| base.wrapping_add_signed(offset)),
        false => frame.row::<u32>(base).map(|base| base.wrapping_add(offset as u32).into()),
    }
}

/// Calls a function for each group of lanes whose addresses are in the same state space.
#[inline]
pub(super) fn grouped(
    spaces: &Spaces<'_>,
    memory: Memory,
    addresses: [u64; LANES],
    bytes: u64,
    taking: u32,
    mut f: impl FnMut(&Group) -> Tried<()>,
) -> Tried<()> {
    let mut rest = taking;
    while rest != 0 {
        let lead = first(rest);
        let (mut space, mut window, mut mask) = (memory, None, rest);
        if memory == Memory::Generic {
            let (found, base) = spaces.window_of(addresses[lead]);
            mask = lanes(rest).fold(0, |mask, lane| {
                mask | u32::from(spaces.window_of(addresses[lane]) == (found, base)) << lane
            });
            (space, window) = (found, Some(base));
        } else if memory == Memory::Frame {
            space = Memory::Local;
        }
        let mut own = addresses;
        if mask != ALL {
            (0..LANES).filter(|lane| mask >> lane & 1 == 0).for_each(|lane| own[lane] = addresses[lead]);
        }
        if let Some(base) = window {
            own.iter_mut().for_each(|at| *at = at.wrapping_sub(base));
        }
        if spaces.tagged && space == Memory::Local {
            own.iter_mut().filter(|at| **at < TAGGED).for_each(|at| *at &= (1 << TAG_SHIFT) - 1);
        }
        let shape = vectorised(Look { addresses: &own, bytes });
        f(&Group { memory: space, lanes: mask, addresses: own, window, bytes, shape })?;
        rest &= !mask;
    }
    Ok(())
}

impl Group {
    /// The range of the addresses.
    pub(super) fn span(&self) -> Span {
        vectorised(Measure { addresses: &self.addresses, bytes: self.bytes })
    }

    /// The lanes whose addresses are multiples of what they access.
    pub(super) fn aligned(&self) -> u32 {
        if self.shape.aligned {
            return self.lanes;
        }
        let aligned = lanes(self.lanes).filter(|&lane| self.addresses[lane].is_multiple_of(self.bytes));
        aligned.fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Checks one lane's access. Returns the cells and the index of the first, or a fault.
    pub(super) fn judge<'a>(
        &self,
        spaces: &Spaces<'a>,
        lane: usize,
        usage: Use,
    ) -> Tried<(&'a SharedBytes, u64)> {
        spaces.judge(self.memory, self.addresses[lane], self.bytes, usage).map_err(|mut bad| {
            bad.generic = self.window.map(|base| self.addresses[lane].wrapping_add(base));
            Trouble::new(lane, FaultKind::Access(bad))
        })
    }

    pub(super) fn is_private(&self) -> bool {
        matches!(self.memory, Memory::Local | Memory::Function)
    }

    /// A piece of memory of all lanes that take part, as words.
    pub(super) fn load<T: Unit>(&self, spaces: &Spaces<'_>, skip: u64) -> Tried<[[u64; 2]; LANES]> {
        if self.shape.uniform {
            let (cells, at) = self.judge(spaces, first(self.lanes), Use::Read)?;
            return Ok([T::load(cells, (at + skip) as usize).words(); LANES]);
        }
        if self.memory == Memory::Constant && self.shape.aligned && self.is_constant(spaces) {
            let cells = &spaces.constant.cells;
            return Ok(self.addresses.map(|at| T::load(cells, (at + skip) as usize).words()));
        }
        let mut row = [[0; 2]; LANES];
        for lane in lanes(self.lanes) {
            let (cells, at) = self.judge(spaces, lane, Use::Read)?;
            row[lane] = T::load(cells, (at + skip) as usize).words();
        }
        Ok(row)
    }

    /// Whether all bytes from the first to the last that lanes access are one bank's or one buffer's.
    fn is_constant(&self, spaces: &Spaces<'_>) -> bool {
        let Span { low, high, .. } = self.span();
        high.checked_add(self.bytes).is_some_and(|end| spaces.constant.holds(low, end - low))
    }

    /// Writes a piece of all lanes that take part, the one that wins last; none if one of them must not.
    pub(super) fn store<T: Unit>(
        &self,
        spaces: &Spaces<'_>,
        skip: u64,
        row: &[[u64; 2]; LANES],
    ) -> Tried<()> {
        for lane in lanes(self.lanes) {
            self.judge(spaces, lane, Use::Write)?;
        }
        for lane in order::storing(self.bytes).filter(|&lane| has_lane(self.lanes, lane)) {
            let (cells, at) = self.judge(spaces, lane, Use::Write)?;
            T::of_words(row[lane]).store(cells, (at + skip) as usize);
        }
        Ok(())
    }
}
