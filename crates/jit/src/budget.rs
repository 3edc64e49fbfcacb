//! What the compilation of a function may take: time, memory, and work in proportion to the function.
//!
//! Everything whose work grows with the function counts its steps ([`Budget::spend`]): a step is about as much as looking
//! at an operand. Most passes take a number of steps in proportion to operations and to rows that are live between
//! blocks; fixpoints, and code that is repeated for what is live, may take more. From time to time the caller is asked
//! whether to go on, and the system whether it has memory left. Where the budget is spent, or there is no memory, everything
//! ends soon, and what was computed is not used: the function is interpreted.

use crate::assembler::{Encoded, Unencodable};
use softwarp_heap::{has_room, is_short};
use std::cell::Cell;

/// What a caller allows for a compilation.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The most bytes of memory that it may take.
    pub memory: u64,
    /// Whether it is to be given up. It is asked after a bounded amount of work: a fraction of a millisecond.
    pub stop: &'a dyn Fn() -> bool,
}

impl Default for Limits<'_> {
    /// A gigabyte, and any time.
    fn default() -> Self {
        Limits { memory: 1 << 30, stop: &|| false }
    }
}

/// Why a function was not compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It has no code, does not pay, or takes too much: the same would come out again.
    Never,
    /// The caller has asked to give it up ([`Limits::stop`]).
    Stopped,
}

/// The steps after which the caller is asked.
const LOOK: u64 = 1 << 16;

/// Bytes of code that are emitted in a step.
const EMITTED: usize = 64;

/// The most steps for each operation and each row that is live where a block begins, and beside these. Ordinary functions
/// take some ten to five hundred.
const STEPS: u64 = 8192;
const FEWEST: u64 = 1 << 22;

/// The most bytes of code for each of these, and beside them. Without AVX-512, a special function may have ten thousand.
const CODE: usize = 1 << 15;
const LEAST_CODE: usize = 1 << 20;

/// The part of the memory that the code may be, since it is copied when it grows and when it is finished, and the most.
const CODE_PART: u64 = 4;
const MOST_CODE: usize = 1 << 30;

/// Bytes that the compiler's lists take for each operation, and for each row that is live where a block begins.
const OPERATION: u64 = 512;
const BORDER: u64 = 64;

/// Bytes that small lists take together.
const SMALL: u64 = 4 << 20;

/// Bytes of lists for which the system is not asked: most functions take less, and a question as long as a hundredth of the
/// time of compiling one.
const FEW: u64 = 1 << 20;

/// The budget of a compilation.
pub(crate) struct Budget<'a> {
    limits: Limits<'a>,
    /// The steps that were taken, at how many of them the caller is asked next, and the most.
    taken: Cell<u64>,
    next: Cell<u64>,
    most: Cell<u64>,
    /// The most bytes of code, and how many there were when it was last asked for.
    code: Cell<usize>,
    emitted: Cell<usize>,
    /// Bytes of lists that were allowed for.
    bytes: Cell<u64>,
    ended: Cell<Option<Refused>>,
}

impl<'a> Budget<'a> {
    /// The budget of a function with a number of operations.
    pub(crate) fn new(limits: Limits<'a>, operations: usize) -> Budget<'a> {
        let budget = Budget {
            limits,
            taken: Cell::new(0),
            next: Cell::new(0),
            most: Cell::new(FEWEST),
            code: Cell::new(LEAST_CODE),
            emitted: Cell::new(0),
            bytes: Cell::new(0),
            ended: Cell::new(None),
        };
        budget.allow(operations, OPERATION);
        budget
    }

    /// Allows for more elements of the function, each of which takes a number of bytes in lists.
    fn allow(&self, elements: usize, bytes: u64) {
        self.most.set(self.most.get().saturating_add(STEPS.saturating_mul(elements as u64)));
        let most = usize::try_from(self.limits.memory / CODE_PART).unwrap_or(usize::MAX).min(MOST_CODE);
        self.code.set(self.code.get().saturating_add(CODE.saturating_mul(elements)).min(most));
        self.reserve(bytes.saturating_mul(elements as u64));
        self.spend(elements);
    }

    /// Allows for rows that are live where blocks begin.
    pub(crate) fn allow_borders(&self, rows: usize) {
        self.allow(rows, BORDER);
    }

    /// Allows for lists of some bytes. Whether there is memory for them, by the limit and in fact.
    pub(crate) fn reserve(&self, bytes: u64) -> bool {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        let has_room = bytes <= self.limits.memory / 2 && self.has_room(bytes);
        if !has_room {
            self.end(Refused::Never);
        }
        has_room
    }

    /// Whether the system has room for some bytes, and for what lists may take until the next look: as much again as what
    /// was allowed for, since they double where they grow.
    fn has_room(&self, bytes: u64) -> bool {
        match self.bytes.get() {
            ..FEW => !is_short(),
            allowed => has_room(bytes.saturating_add(allowed).saturating_add(SMALL)),
        }
    }

    /// Adds steps. False once the compilation is given up.
    #[inline]
    pub(crate) fn spend(&self, steps: usize) -> bool {
        let taken = self.taken.get().saturating_add(steps as u64);
        self.taken.set(taken);
        taken < self.next.get() || self.look()
    }

    /// Looks at the limits.
    #[cold]
    fn look(&self) -> bool {
        if self.ended.get().is_none() {
            self.next.set(self.taken.get().saturating_add(LOOK));
            if (self.limits.stop)() {
                self.end(Refused::Stopped);
            } else if self.taken.get() > self.most.get() || !self.has_room(0) {
                self.end(Refused::Never);
            }
        }
        self.ended.get().is_none()
    }

    /// Gives the compilation up. Each further call of [`Budget::spend`] says so.
    fn end(&self, why: Refused) {
        if self.ended.get().is_none() {
            self.ended.set(Some(why));
            self.next.set(0);
        }
    }

    /// Fails once the compilation is given up.
    pub(crate) fn check(&self) -> Encoded {
        if self.ended.get().is_none() { Ok(()) } else { Err(Unencodable) }
    }

    /// Adds steps and those of the code that was emitted since the last time, and fails once the compilation is given up, or
    /// if there is more code than is allowed.
    #[inline]
    pub(crate) fn pace(&self, steps: usize, code: usize) -> Encoded {
        let emitted = code.saturating_sub(self.emitted.replace(code)) / EMITTED;
        if self.spend(steps + emitted) && code <= self.code.get() { Ok(()) } else { Err(Unencodable) }
    }

    /// Why the compilation was given up, or else failed.
    pub(crate) fn refused(&self) -> Refused {
        self.ended.get().unwrap_or(Refused::Never)
    }

    /// The steps that were taken.
    pub(crate) fn steps(&self) -> u64 {
        self.taken.get()
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, FEWEST, Limits, Refused};
    use std::cell::Cell;

    #[test]
    fn a_budget_ends() {
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 3
        };
        let budget = Budget::new(Limits { stop: &stop, ..Limits::default() }, 1000);
        let spent = (0..1000).take_while(|_| budget.spend(1000)).count();
        assert!((100..400).contains(&spent), "{spent}");
        assert_eq!(
            (budget.spend(0), budget.check().is_err(), budget.refused()),
            (false, true, Refused::Stopped)
        );
        assert_eq!(asked.get(), 4);
        let budget = Budget::new(Limits::default(), 10);
        assert!(budget.spend(FEWEST as usize) && budget.pace(0, 1 << 20).is_ok());
        assert!(budget.pace(0, 1 << 21).is_err());
        assert!(!budget.spend(FEWEST as usize) && budget.refused() == Refused::Never);
        assert!(Budget::new(Limits { memory: 1 << 20, ..Limits::default() }, 1 << 12).check().is_err());
    }
}
