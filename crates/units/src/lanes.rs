//! The registers of a warp: rows of 32 lanes.
//!
//! A register is one row, whatever its type: of 32-bit words if it has at most 32 bits, of 64-bit words if it
//! has 64, two of these if it has 128; a predicate is one bit per lane. Rows are what instructions work on: one
//! loop over a row is one vector operation or two.
//!
//! **Invariant**: in a row of 32-bit words, the bits above the register's own width are zero.

use std::fmt;
use std::hint::select_unpredictable;
use std::num::NonZeroU32;

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
    /// The rows of such words, to be written.
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
    /// Predicates: a bit for each lane. [`Slot::CARRY`] is the carry flag.
    pub predicates: Vec<u32>,
}

/// The kind of row that a slot names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A row of 32-bit words.
    Narrow,
    /// A row of 64-bit words.
    Wide,
    /// A predicate.
    Predicate,
}

/// A row or a predicate of a frame, by its class and number. `Option<Slot>` has the same size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(NonZeroU32);

impl Slot {
    /// The carry flag of the condition code register.
    pub const CARRY: Slot = Slot::new(Class::Predicate, 0);

    /// A slot. Numbers have 30 bits.
    #[inline]
    pub const fn new(class: Class, number: u32) -> Slot {
        let class = match class {
            Class::Narrow => 1,
            Class::Wide => 2,
            Class::Predicate => 3,
        };
        match NonZeroU32::new(number << 2 | class) {
            Some(slot) => Slot(slot),
            None => Slot(NonZeroU32::MIN),
        }
    }

    /// A row of 32-bit words.
    #[inline]
    pub const fn narrow(number: u32) -> Slot {
        Slot::new(Class::Narrow, number)
    }

    /// A row of 64-bit words.
    #[inline]
    pub const fn wide(number: u32) -> Slot {
        Slot::new(Class::Wide, number)
    }

    /// A predicate.
    #[inline]
    pub const fn predicate(number: u32) -> Slot {
        Slot::new(Class::Predicate, number)
    }

    /// The kind of row.
    #[inline(always)]
    pub const fn class(self) -> Class {
        match self.0.get() & 3 {
            1 => Class::Narrow,
            2 => Class::Wide,
            _ => Class::Predicate,
        }
    }

    /// Whether it is a row of 64-bit words.
    #[inline(always)]
    pub const fn is_wide(self) -> bool {
        matches!(self.class(), Class::Wide)
    }

    /// The number of the row among those of its class.
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0.get() >> 2
    }

    /// The slot of the same class with another number.
    #[inline]
    pub const fn with_number(self, number: u32) -> Slot {
        Slot::new(self.class(), number)
    }

    /// The next slot of the same class: the high half of a register of 128 bits.
    #[inline]
    pub const fn next(self) -> Slot {
        self.with_number(self.number() + 1)
    }
}

impl fmt::Display for Slot {
    /// `r4` for a row of 32-bit words, `d4` for one of 64-bit words, `p4` for a predicate.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.class() {
            Class::Narrow => 'r',
            Class::Wide => 'd',
            Class::Predicate => 'p',
        };
        write!(f, "{letter}{}", self.number())
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What names a row of a frame: a [`Slot`], or its number where the class is known.
pub trait RowNumber: Copy {
    /// The number of the row among those of its class.
    fn row_number(self) -> usize;
}

impl RowNumber for u32 {
    #[inline(always)]
    fn row_number(self) -> usize {
        self as usize
    }
}

impl RowNumber for Slot {
    #[inline(always)]
    fn row_number(self) -> usize {
        self.number() as usize
    }
}

/// A guard: the lanes where a predicate holds, or those where it does not; or all lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guard(u32);

impl Guard {
    /// No guard: all active lanes.
    pub const ALWAYS: Guard = Guard(0);

    /// The lanes where a predicate holds; with `negated`, those where it does not.
    #[inline]
    pub const fn new(predicate: Slot, negated: bool) -> Guard {
        Guard(predicate.number() << 2 | 2 | negated as u32)
    }

    /// The predicate.
    #[inline]
    pub const fn predicate(self) -> Option<Slot> {
        if self.0 == 0 { None } else { Some(Slot::predicate(self.0 >> 2)) }
    }

    /// Whether the predicate is negated (`@!p`).
    #[inline]
    pub const fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    /// Which of the active lanes pass.
    #[inline(always)]
    pub fn lanes(self, frame: &Frame, active: u32) -> u32 {
        if self.0 == 0 {
            return active;
        }
        let holds = frame.predicate(self.0 >> 2);
        active & if self.0 & 1 == 1 { !holds } else { holds }
    }
}

impl fmt::Display for Guard {
    /// `@p1 ` or `@!p1 `; nothing without a guard.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.predicate(), self.is_negated()) {
            (None, _) => Ok(()),
            (Some(predicate), false) => write!(f, "@{predicate} "),
            (Some(predicate), true) => write!(f, "@!{predicate} "),
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guard({})", self.to_string().trim_end())
    }
}

impl Frame {
    /// A row.
    #[inline(always)]
    pub fn row<T: Word>(&self, slot: impl RowNumber) -> [T; LANES] {
        T::rows(self)[slot.row_number()].0
    }

    /// Writes those lanes of a row that the mask names.
    #[inline(always)]
    pub fn set_row<T: Word>(&mut self, slot: impl RowNumber, values: [T; LANES], mask: u32) {
        let row = &mut T::rows_mut(self)[slot.row_number()].0;
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
    pub fn predicate(&self, slot: impl RowNumber) -> u32 {
        self.predicates[slot.row_number()]
    }

    /// Writes those lanes of a predicate that the mask names.
    #[inline(always)]
    pub fn set_predicate(&mut self, slot: impl RowNumber, values: u32, mask: u32) {
        let predicate = &mut self.predicates[slot.row_number()];
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
