//! Which registers the operations of a function read and write, and what undefined ones make undefined: what the
//! sanitizer needs that finds registers which were not written.
//!
//! A function has such a table only if a register may be read before it is written on some path from its start, or if
//! it has `shfl.sync`, whose results may be undefined. Rows of all kinds are numbered together: the first two stand for
//! what is always defined.

use super::NONE;
use softwarp_syntax::Span;

/// The row of constants, which are always defined.
pub const CONSTANT: u32 = 0;

/// The row of what the launch gives, which is always defined, too.
pub const GIVEN: u32 = 1;

/// The registers of a function.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// How many rows there are.
    pub rows: u32,
    /// Those of them that are of 64-bit words.
    pub wide: std::ops::Range<u32>,
    /// Bytes of the parameters, return values and arguments, which are followed, too.
    pub parameter_bytes: u64,
    /// Registers that may be read before they are written.
    pub origins: Vec<Origin>,
    /// Rows that are undefined at the start, and the register of each: an index into `origins`.
    pub start: Vec<(u32, u32)>,
    flows: Vec<Flow>,
    pool: Vec<u32>,
}

/// A register that may be read before it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// No operation writes it.
    pub never: bool,
}

/// What an operation makes of undefined registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// The result is undefined if one source is.
    #[default]
    Any,
    /// The result is undefined if all sources are that are no constants: operations that put bits together, or take
    /// some away.
    All,
    /// `selp`: the last source chooses between the other two.
    Select,
    /// `mov`: registers are copied, packed into another, or taken out of it.
    Move,
    /// Arithmetic on pairs: the halves of the result come from the halves of the sources.
    Halves,
    /// The low half of the source is all that matters.
    Low,
    /// As [`Effect::Any`], but defined if both sources are the same register: compilers write zero so.
    Difference,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    effect: Effect,
    guard: u32,
    start: u32,
    reads: u16,
    writes: u16,
}

/// What an operation does with registers.
#[derive(Clone, Copy, Debug)]
pub struct Uses<'a> {
    /// What it makes of undefined ones.
    pub effect: Effect,
    /// The row of its guard; [`NONE`] without one.
    pub guard: u32,
    /// Rows that it reads, in the order of its operands, without the guard's.
    pub reads: &'a [u32],
    /// Rows that it writes.
    pub writes: &'a [u32],
}

impl Table {
    /// A function with a given number of rows, these of them of 64-bit words, before its operations are known.
    pub fn new(rows: u32, wide: std::ops::Range<u32>, parameter_bytes: u64) -> Table {
        Table { rows, wide, parameter_bytes, ..Table::default() }
    }

    /// Appends an operation: its guard's row, and those that it reads and writes.
    pub fn push(&mut self, effect: Effect, guard: u32, reads: &[u32], writes: &[u32]) {
        let start = self.pool.len() as u32;
        self.pool.extend(reads.iter().chain(writes));
        // An operation has some hundreds of operands at most.
        let (reads, writes) = (reads.len() as u16, writes.len() as u16);
        self.flows.push(Flow { effect, guard, start, reads, writes });
    }

    /// What an operation does with registers.
    pub fn uses(&self, op: usize) -> Uses<'_> {
        let Some(&Flow { effect, guard, start, reads, writes }) = self.flows.get(op) else {
            return Uses { effect: Effect::Any, guard: NONE, reads: &[], writes: &[] };
        };
        let (start, reads) = (start as usize, usize::from(reads));
        let all = self.pool.get(start..start + reads + usize::from(writes)).unwrap_or(&[]);
        let (reads, writes) = all.split_at(reads.min(all.len()));
        Uses { effect, guard, reads, writes }
    }
}
