//! Operations on memory that several devices have together (PTX ISA section 9.7.9.14).

use crate::{Address, AtomicOp, Element, Order};
use softwarp_isa::Type;

/// `multimem.ld_reduce`, `multimem.st`, `multimem.red`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultimemOp {
    /// What is loaded, a register for each element.
    pub d: Vec<Element>,
    /// The multimem address.
    pub address: Address,
    /// What is stored or combined, a register for each element.
    pub data: Vec<Element>,
    /// Whether it loads, stores or reduces.
    pub kind: MultimemKind,
    /// The type of an element.
    pub ty: Type,
    /// Sums are accumulated as `.f32` and rounded at the end.
    pub accumulates_f32: bool,
    /// How it orders memory; if it is strong, it must be seen in order with others.
    pub order: Order,
}

impl MultimemOp {
    /// Bytes of an element.
    pub fn element(&self) -> u64 {
        u64::from(self.ty.bits() / 8)
    }

    /// Bytes of an access.
    pub fn bytes(&self) -> u64 {
        self.element() * self.d.len().max(self.data.len()) as u64
    }
}

/// What is done at a multimem address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultimemKind {
    /// `multimem.ld_reduce`: reads all places and combines what is there.
    LoadReduce(AtomicOp),
    /// `multimem.st`: writes all places.
    Store,
    /// `multimem.red`: combines what is at each place with an operand.
    Reduce(AtomicOp),
}
