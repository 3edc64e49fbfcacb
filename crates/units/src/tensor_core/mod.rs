//! The fifth generation of tensor cores (PTX ISA section 9.7.16): tensor memory, descriptors and products, apart from
//! where the bytes come from.
//!
//! [`fragment`] says which register of which thread holds which cell of tensor memory, [`descriptor`] where a matrix
//! lies in shared memory, [`instruction`] what an instruction descriptor asks for, [`layout`] which lanes and columns
//! hold a matrix, [`copy`] what `tcgen05.cp` moves, [`mask`] which columns of B count as zeros. [`element`] takes
//! elements out of their containers, and [`product`] multiplies.

pub mod copy;
pub mod descriptor;
pub mod element;
pub mod fragment;
pub mod instruction;
pub mod layout;
pub mod mask;
mod packed;
pub mod product;

/// Lanes of tensor memory: its rows.
pub const LANES: usize = 128;

/// Columns of tensor memory.
pub const COLUMNS: usize = 512;

/// A field of a descriptor, or of an address, that cannot be as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadField {
    /// The descriptor and its field.
    pub field: &'static str,
    /// What is wrong with it, in words that follow the field.
    pub problem: String,
}

impl BadField {
    /// A field and what is wrong with it.
    pub fn new(field: &'static str, problem: impl Into<String>) -> BadField {
        BadField { field, problem: problem.into() }
    }
}

impl std::fmt::Display for BadField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.field, self.problem)
    }
}

/// An address in tensor memory: the lane in the upper half, the column in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub u32);

impl Address {
    /// The lane.
    pub fn lane(self) -> usize {
        (self.0 >> 16) as usize
    }

    /// The column.
    pub fn column(self) -> usize {
        (self.0 & 0xffff) as usize
    }
}
