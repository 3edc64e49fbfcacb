//! A row of the instruction table as data: its line, and where its forms exist. [`language`] reads the lines.

pub(crate) mod language;

use crate::availability::{self, Availability};
use crate::{Target, Version};

/// One condition on the module's version and target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The word that brings it; `None` if the form as a whole does.
    pub word: Option<&'static str>,
    /// Any one of these suffices.
    pub any_of: &'static [Availability],
    /// When it ended, if it did.
    pub removed: Option<Removal>,
}

/// The end of a form, and what took its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The version that is the first without it.
    pub version: Version,
    /// The first architecture that it ended on; 0 for all.
    pub least_sm: u16,
    /// What to do instead, as one line of help.
    pub instead: &'static str,
}

impl Removal {
    /// Whether a module of this version for this target is without it.
    pub fn concerns(&self, version: Version, target: Target) -> bool {
        target.sm() >= self.least_sm && version >= self.version
    }

    /// When and where, in words: `PTX 6.4 on sm_70 and newer`.
    pub fn in_words(&self) -> String {
        match self.least_sm {
            0 => format!("PTX {}", self.version),
            sm => format!("PTX {} on sm_{sm} and newer", self.version),
        }
    }
}

impl Gate {
    /// Whether a module of this version for this target may pass.
    pub fn is_open(&self, version: Version, target: Target) -> bool {
        self.removal(version, target).is_none()
            && self.any_of.iter().any(|one| one.targets.contain(target) && version >= one.since)
    }

    /// What ended it for a module of this version for this target.
    pub fn removal(&self, version: Version, target: Target) -> Option<&Removal> {
        self.removed.as_ref().filter(|removed| removed.concerns(version, target))
    }

    /// Where it is open, in words: `sm_89, PTX 8.1; sm_90 or newer, PTX 7.8`.
    pub fn in_words(&self) -> String {
        availability::in_words(self.any_of)
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct TableRow {
    /// The syntax line.
    pub line: &'static str,
    /// Where its forms exist: any one of these suffices.
    pub availability: &'static [Availability],
    /// When they ended, if they did.
    pub removed: Option<Removal>,
}

/// A row whose forms exist to this day.
pub(crate) const fn row(availability: &'static [Availability], line: &'static str) -> TableRow {
    TableRow { line, availability, removed: None }
}

/// A row whose forms were removed.
pub(crate) const fn old(
    removed: Removal,
    availability: &'static [Availability],
    line: &'static str,
) -> TableRow {
    TableRow { line, availability, removed: Some(removed) }
}

/// The rows of a section of the manual, and the names of sets in them.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Names of sets, each with its members separated by spaces.
    pub sets: &'static [(&'static str, &'static str)],
    /// The rows.
    pub rows: &'static [TableRow],
}
