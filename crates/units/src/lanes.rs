//! The registers of a warp: rows of 32 lanes.
//!
//! A register is one row, whatever its type: of 32-bit words if it has at most 32 bits, of 64-bit words if it
//! has 64, two of these if it has 128; a predicate is one bit per lane. Rows are what instructions work on: one
//! loop over a row is one vector operation or two.
//!
//! **Invariant**: in a row of 32-bit words, the bits above the register's own width are zero.

use std::hint::select_unpredictable;

/// The lanes of a warp.
pub const LANES: usize = 32;

/// All lanes.
pub const ALL: u32 = u32::MAX;

/// A row of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Row<T>(pub [T; LANES]);

/// A word that rows are made of.
pub trait Word: Copy + Default {
    /// The rows of such words.
    fn rows(frame: &Frame) -> &[Row<Self>];
    /// The same, to be written.
    fn rows_mut(frame: &mut Frame) -> &mut [Row<Self>];
}

impl Word for u32 {
    #[inline(always)]
    fn rows(frame: &Frame) -> &[Row<u32>] {
        &frame.narrow
    }
    #[inline(always)]
    fn rows_mut(frame: &mut Frame) -> &mut [Row<u32>] {
        &mut frame.narrow
    }
}

impl Word for u64 {
    #[inline(always)]
    fn rows(frame: &Frame) -> &[Row<u64>] {
        &frame.wide
    }
    #[inline(always)]
    fn rows_mut(frame: &mut Frame) -> &mut [Row<u64>] {
        &mut frame.wide
    }
}

/// The registers of one call of a function, for all lanes of a warp.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Registers of at most 32 bits, and constants.
    pub narrow: Vec<Row<u32>>,
    /// Registers of 64 bits, halves of those of 128, and constants.
    pub wide: Vec<Row<u64>>,
    /// Predicates: a bit for each lane. [`CARRY`] is the carry flag.
    pub predicates: Vec<u32>,
}

/// The predicate slot of the condition code register's carry flag.
pub const CARRY: u32 = 0;

impl Frame {
    /// A row.
    #[inline(always)]
    pub fn row<T: Word>(&self, slot: u32) -> [T; LANES] {
        T::rows(self)[slot as usize].0
    }

    /// Writes those lanes of a row that the mask names.
    #[inline(always)]
    pub fn set_row<T: Word>(&mut self, slot: u32, values: [T; LANES], mask: u32) {
        let row = &mut T::rows_mut(self)[slot as usize].0;
        if mask == ALL {
            *row = values;
            return;
        }
        let before = *row;
        let mut after = before;
        for lane in 0..LANES {
            // A choice between values, not places: it becomes a masked store.
            after[lane] = select_unpredictable(has_lane(mask, lane), values[lane], before[lane]);
        }
        *row = after;
    }

    /// A predicate.
    #[inline(always)]
    pub fn predicate(&self, slot: u32) -> u32 {
        self.predicates[slot as usize]
    }

    /// Writes those lanes of a predicate that the mask names.
    #[inline(always)]
    pub fn set_predicate(&mut self, slot: u32, values: u32, mask: u32) {
        let predicate = &mut self.predicates[slot as usize];
        *predicate = *predicate & !mask | values & mask;
    }
}

/// Whether a mask names a lane. In loops over lanes this becomes a vector's mask: a plain shift has lanes at its ends
/// that the compiler makes cases of their own.
#[inline(always)]
pub fn has_lane(mask: u32, lane: usize) -> bool {
    let half = (mask >> (lane / 16 * 16)) as u16;
    u32::from(half) >> (lane % 16) & 1 == 1
}

/// The lanes that a mask names, lowest first.
#[inline]
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}
