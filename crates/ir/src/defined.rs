//! Which registers the operations of a function read and write, and what undefined ones make undefined: what the
//! sanitizer needs that finds registers which were not written.
//!
//! A function has such a table only if a register may be read before it is written on some path from its start, or if
//! it has `shfl.sync`, whose results may be undefined. Rows of all kinds are numbered together: the first two stand for
//! what is always defined.

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
    /// The rows of 64-bit words.
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
    guard: Option<u32>,
    start: u32,
    bases: u16,
    reads: u16,
    writes: u16,
}

/// What an operation does with registers.
#[derive(Clone, Copy, Debug)]
pub struct Uses<'a> {
    /// What it makes of undefined ones.
    pub effect: Effect,
    /// The row of its guard, if it has one.
    pub guard: Option<u32>,
    /// Rows that it reads, without the guard's: the bases of addresses, then the others in the order of the operands.
    pub reads: &'a [u32],
    /// How many of them are bases of addresses.
    pub bases: usize,
    /// Rows that it writes.
    pub writes: &'a [u32],
}

impl Table {
    /// A function with a given number of rows, these of them of 64-bit words, before its operations are known.
    pub fn new(rows: u32, wide: std::ops::Range<u32>, parameter_bytes: u64) -> Table {
        Table { rows, wide, parameter_bytes, ..Table::default() }
    }

    /// Appends an operation: its guard's row, those of addresses, and the others that it reads and writes.
    pub fn push(&mut self, effect: Effect, guard: Option<u32>, bases: &[u32], reads: &[u32], writes: &[u32]) {
        let start = self.pool.len() as u32;
        self.pool.extend(bases.iter().chain(reads).chain(writes));
        // An operation has some hundreds of operands at most.
        let [bases, reads, writes] = [bases, reads, writes].map(|rows| rows.len() as u16);
        self.flows.push(Flow { effect, guard, start, bases, reads: bases + reads, writes });
    }

    /// What an operation does with registers.
    pub fn uses(&self, op: usize) -> Uses<'_> {
        let Some(&Flow { effect, guard, start, bases, reads, writes }) = self.flows.get(op) else {
            return Uses { effect: Effect::Any, guard: None, reads: &[], bases: 0, writes: &[] };
        };
        let (start, reads) = (start as usize, usize::from(reads));
        let all = self.pool.get(start..start + reads + usize::from(writes)).unwrap_or(&[]);
        let (reads, writes) = all.split_at(reads.min(all.len()));
        Uses { effect, guard, reads, bases: usize::from(bases).min(reads.len()), writes }
    }
}
