//! Putting variables one after another: each at the next multiple of its alignment (PTX ISA section 5.4.5).
//!
//! The assembler has an order of its own, which programs must not rely on. Here it is the order of the text.
//!
//! **Red zones.** A layout for finding accesses out of bounds leaves unused bytes behind every variable, in proportion to
//! its size, so that an index that is too large by one, or by a row, leads to none.

use crate::image::{Extent, Object};

/// Memory that is being filled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// The address of the first byte.
    origin: u64,
    filled: Extent,
    zones: RedZones,
}

/// Unused bytes behind variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedZones {
    least: u64,
    most: u64,
}

impl RedZones {
    /// None.
    pub const NONE: RedZones = RedZones { least: 0, most: 0 };

    /// As many bytes as the variable has, but not fewer or more than this.
    pub const fn between(least: u64, most: u64) -> RedZones {
        RedZones { least, most }
    }

    fn behind(self, bytes: u64) -> u64 {
        bytes.clamp(self.least, self.most)
    }
}

impl Cursor {
    /// Memory from an address on, which alignment takes into account. Offsets count from there.
    pub fn starting_at(origin: u64) -> Cursor {
        Cursor { origin, ..Cursor::default() }
    }

    /// Puts red zones behind variables.
    #[must_use]
    pub fn with(self, zones: RedZones) -> Cursor {
        Cursor { zones, ..self }
    }

    /// Leaves a red zone before the first variable, too.
    pub fn lead(&mut self) {
        self.filled.bytes += self.zones.least;
    }

    /// Where the next object goes, without putting it there; `None` past the end of addresses.
    pub fn next(&self, alignment: u64) -> Option<u64> {
        let free = self.origin.checked_add(self.filled.bytes)?;
        Some(free.checked_next_multiple_of(alignment.max(1))? - self.origin)
    }

    /// Puts an object at the next place that suits it, or says that there is none.
    pub fn put(&mut self, object: &mut Object) -> Result<(), TooMuch> {
        let at = self.next(object.alignment).ok_or(TooMuch)?;
        self.reserve(at, object.total(), object.alignment)?;
        object.offset = Some(at);
        Ok(())
    }

    /// Marks what is up to the end of an object at `at` as filled.
    pub fn reserve(&mut self, at: u64, bytes: u64, alignment: u64) -> Result<(), TooMuch> {
        let zone = self.zones.behind(bytes);
        let end = at.checked_add(bytes).and_then(|end| end.checked_add(zone));
        let end = end.filter(|&end| end <= i64::MAX as u64).ok_or(TooMuch)?;
        self.filled.bytes = self.filled.bytes.max(end);
        self.filled.alignment = self.filled.alignment.max(alignment);
        Ok(())
    }

    /// What is filled so far.
    pub fn extent(&self) -> Extent {
        self.filled
    }
}

/// The memory ends before the object does.
#[derive(Clone, Copy, Debug)]
pub struct TooMuch;
