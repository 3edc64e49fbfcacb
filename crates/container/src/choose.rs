//! Which code of a container runs on a device.
//!
//! NVIDIA's driver takes the machine code for the device if there is some, else the newest PTX that is not newer than
//! the device. Here machine code does not run: PTX is taken first, then the PTX inside machine code that the device
//! could run.

use super::compression::Budget;
use super::{
    Arch, Contents, Entry, Form, Image, Kind, MOST_UNPACKED, NoCode, Present, ReadError, Text, Wanted,
};
use std::cmp::Reverse;

/// The code that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The PTX modules to be linked with each other. One, except in linked containers and linked cubins.
    pub texts: Vec<Text>,
    /// What they came from.
    pub kind: Kind,
    /// What the entry is for.
    pub arch: Option<Arch>,
    /// How many of the parts that a cubin was linked of have no PTX. What they define is missing.
    pub missing: usize,
}

impl Image<'_> {
    /// Chooses the code for a device.
    ///
    /// - A PTX text and a linked container are taken as they are; whether their target fits is for the check to say.
    /// - Else the PTX entry with the highest architecture up to the device's. One with a suffix must be for that very
    ///   number, and comes before one without.
    /// - Else the PTX in a cubin with the same major number up to the device's, the highest first.
    /// - Else, if newer code is wanted, the PTX entry with the lowest architecture above the device's, one without a suffix
    ///   first; else the PTX in such a cubin.
    pub fn choose(&self, wanted: Wanted) -> Result<Chosen, ReadError> {
        self.choose_for(wanted, &mut Budget::new(MOST_UNPACKED))
    }

    pub(super) fn choose_for(&self, wanted: Wanted, budget: &mut Budget) -> Result<Chosen, ReadError> {
        if matches!(self.form, Form::Text | Form::Linked) {
            return self.all(budget);
        }
        if let Some(entry) = self.candidates(Kind::Ptx, |arch| wanted.takes_ptx(arch)).first() {
            return Ok(chosen(entry, entry.contents(budget)?));
        }
        for entry in self.candidates(Kind::Cubin, |arch| wanted.takes_machine_code(arch)) {
            let contents = entry.contents(budget)?;
            if !contents.texts.is_empty() {
                return Ok(chosen(entry, contents));
            }
        }
        for kind in [Kind::Ptx, Kind::Cubin] {
            for entry in self.candidates(kind, |arch| wanted.takes_newer(arch)).into_iter().rev() {
                let contents = entry.contents(budget)?;
                if !contents.texts.is_empty() {
                    return Ok(chosen(entry, contents));
                }
            }
        }
        Err(ReadError::NoCode(NoCode { wanted, form: self.form, present: self.present() }))
    }

    /// What is in it, in words.
    pub fn present(&self) -> Vec<Present> {
        self.entries.iter().map(|entry| Present { kind: entry.kind, arch: entry.arch }).collect()
    }

    /// Everything, to be linked.
    fn all(&self, budget: &mut Budget) -> Result<Chosen, ReadError> {
        let mut texts = Vec::new();
        for entry in &self.entries {
            texts.append(&mut entry.contents(budget)?.texts);
        }
        let arch = self.entries.iter().filter_map(|entry| entry.arch).max();
        Ok(Chosen { texts, kind: Kind::Ptx, arch, missing: 0 })
    }

    /// The entries of a kind that the device runs, the best first; of equals in their order.
    fn candidates(&self, kind: Kind, runs: impl Fn(Arch) -> bool) -> Vec<&Entry<'_>> {
        let fits = |entry: &&Entry<'_>| entry.kind == kind && entry.arch.is_some_and(&runs);
        let mut entries: Vec<_> = self.entries.iter().filter(fits).collect();
        entries.sort_by_key(|entry| Reverse(entry.arch));
        entries
    }
}

fn chosen(entry: &Entry<'_>, contents: Contents) -> Chosen {
    Chosen { texts: contents.texts, kind: entry.kind, arch: entry.arch, missing: contents.missing }
}
