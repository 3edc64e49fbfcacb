//! Swizzling: how 16-byte cells are exchanged in shared memory (PTX ISA section 5.5.7).
//!
//! Every mode is an exclusive or on the absolute shared address: bits that say which 128-byte line an address
//! is in change the bits that say where in its line it is. So a line keeps its bytes, a swizzle undoes itself, and
//! a copy that starts in the middle of the repeating pattern needs no extra step: the manual's base offset is
//! the part of the address that the formula looks at anyway.
//!
//! 32B, 64B and 128B with 16-byte atoms are what an H200 does; no recording exists of the other atoms and of 96B.

use crate::types::Swizzle;

/// Bytes of a line of shared memory: what a swizzle exchanges stays within one.
pub const LINE: u32 = 128;

/// Bytes of a cell: the manual's tables number these.
pub const CELL: u32 = 16;

/// Address bits under `mask` change by the address bits `shift` above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The bits that change.
    pub mask: u64,
    /// How far above them those are that decide.
    pub shift: u32,
}

/// A mode for loops over many addresses: two exclusive ors, of which some change nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair(Exchange, Exchange);

impl Pair {
    /// Where a block of `N` bytes, at most a line and aligned to its size, comes to lie, and the difference in the
    /// address bits below that.
    #[inline]
    pub fn block<const N: usize>(self, address: u64) -> (usize, usize) {
        let Pair(first, second) = self;
        let difference = (address >> first.shift & first.mask) ^ (address >> second.shift & second.mask);
        let below = N as u64 - 1;
        ((address ^ difference & !below) as usize, (difference & below) as usize)
    }
}

/// How much stays together when a swizzle exchanges what is around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atomicity {
    /// 16 bytes.
    B16,
    /// 32 bytes.
    B32,
    /// 32 bytes, but every second line has the 8-byte halves of its cells exchanged.
    B32Flip8,
    /// 64 bytes.
    B64,
}

impl Swizzle {
    /// The mode as exclusive ors.
    pub const fn exchanges(self) -> &'static [Exchange] {
        match self {
            Swizzle::None => &[],
            Swizzle::B32 | Swizzle::B96 => &[Exchange { mask: 0x10, shift: 3 }],
            Swizzle::B64 => &[Exchange { mask: 0x30, shift: 3 }],
            Swizzle::B128 => &[Exchange { mask: 0x70, shift: 3 }],
            Swizzle::B128Atom32 => &[Exchange { mask: 0x60, shift: 2 }],
            Swizzle::B128Atom32Flip8 => {
                &[Exchange { mask: 0x60, shift: 2 }, Exchange { mask: 0x08, shift: 4 }]
            }
            Swizzle::B128Atom64 => &[Exchange { mask: 0x40, shift: 1 }],
        }
    }

    pub(crate) fn pair(self) -> Pair {
        let nothing = Exchange { mask: 0, shift: 0 };
        match *self.exchanges() {
            [first, second, ..] => Pair(first, second),
            [first] => Pair(first, nothing),
            [] => Pair(nothing, nothing),
        }
    }

    /// The bits by which every address in the line of `address` changes.
    pub fn difference(self, address: u64) -> u64 {
        self.exchanges().iter().fold(0, |bits, one| bits ^ (address >> one.shift & one.mask))
    }

    /// Where in shared memory a byte lies that would be at `address` without swizzling; and back.
    pub fn apply(self, address: u64) -> u64 {
        address ^ self.difference(address)
    }

    /// Bytes after which the pattern repeats; it starts at multiples of this.
    pub const fn period(self) -> u32 {
        match self {
            Swizzle::None => CELL,
            Swizzle::B32 | Swizzle::B96 | Swizzle::B128Atom64 => 256,
            Swizzle::B64 | Swizzle::B128Atom32 | Swizzle::B128Atom32Flip8 => 512,
            Swizzle::B128 => 1024,
        }
    }

    /// The boundary at which the manual counts base offsets from: the same for all 128B modes.
    pub const fn boundary(self) -> u32 {
        if self.span() == 128 { 1024 } else { self.period() }
    }

    /// The manual's swizzle base offset of a copy to `address`: the line of the pattern that it starts in.
    pub const fn base_offset(self, address: u64) -> u32 {
        (address % self.boundary() as u64) as u32 / LINE
    }

    /// The alignment in shared memory that the mode's atoms need.
    pub const fn atom_alignment(self) -> u32 {
        match self {
            Swizzle::B128Atom32 | Swizzle::B128Atom32Flip8 => 32,
            Swizzle::B128Atom64 => 64,
            _ => 16,
        }
    }

    /// Bytes of the blocks, aligned to their size, that no byte leaves.
    pub fn reach(self) -> u64 {
        let changed = self.exchanges().iter().fold(0, |bits, one| bits | one.mask);
        (changed + 1).next_power_of_two()
    }

    /// The longest pieces, aligned to their size, that no address in this mode breaks.
    pub const fn grain(self) -> u32 {
        match self {
            Swizzle::B128Atom32Flip8 => 8,
            _ => self.atom_alignment(),
        }
    }

    /// What stays together; nothing is exchanged without swizzling.
    pub const fn atomicity(self) -> Option<Atomicity> {
        match self {
            Swizzle::None => None,
            Swizzle::B32 | Swizzle::B64 | Swizzle::B96 | Swizzle::B128 => Some(Atomicity::B16),
            Swizzle::B128Atom32 => Some(Atomicity::B32),
            Swizzle::B128Atom32Flip8 => Some(Atomicity::B32Flip8),
            Swizzle::B128Atom64 => Some(Atomicity::B64),
        }
    }

    /// The mode with this span (0 for none) and atomicity; `None` where Table 14 has no such pair.
    pub fn with(span: u32, atomicity: Option<Atomicity>) -> Option<Swizzle> {
        Swizzle::ALL.iter().copied().find(|one| one.span() == span && one.atomicity() == atomicity)
    }
}
