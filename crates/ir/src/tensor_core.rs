//! Instructions of the fifth generation of tensor cores (PTX ISA section 9.7.16).

use crate::input::{Input, Parsed};
use crate::operand::{Operand, Part};
use crate::{Address, Slot};
use softwarp_units::tensor_core::copy::{Packing, Shape};
use softwarp_units::tensor_core::fragment::Fragment;
use softwarp_units::tensor_core::instruction::Modifiers;
use std::fmt;

/// An address in tensor memory: a register and an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorAddress {
    /// The register, if there is more than the offset.
    pub base: Option<Slot>,
    /// Added to it.
    pub offset: u32,
}

impl fmt::Display for TensorAddress {
    /// `[tensor r4+8]`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.base, self.offset) {
            (None, offset) => write!(f, "[tensor {offset:#x}]"),
            (Some(base), 0) => write!(f, "[tensor {base}]"),
            (Some(base), offset) => write!(f, "[tensor {base}+{offset}]"),
        }
    }
}

impl Operand for TensorAddress {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        if let Some(base) = &mut self.base {
            f(base, Part::Value);
        }
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }

    fn parse(input: &mut Input<'_>) -> Parsed<TensorAddress> {
        input.expect("[")?;
        input.expect("tensor")?;
        let base = if input.is_at_slot() { Some(input.slot()?) } else { None };
        let offset = if base.is_none() || input.eat("+") { input.number()? } else { 0 };
        input.expect("]")?;
        Ok(TensorAddress { base, offset })
    }
}

/// The matrix A of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorFactor {
    /// In shared memory, by its descriptor.
    Descriptor(Slot),
    /// In tensor memory.
    Tensor(TensorAddress),
}

impl Operand for TensorFactor {
    fn visit(&mut self, f: &mut impl FnMut(&mut Slot, Part)) {
        match self {
            TensorFactor::Descriptor(slot) => f(slot, Part::Value),
            TensorFactor::Tensor(address) => address.visit(f),
        }
    }

    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorFactor::Descriptor(slot) => write!(f, "{slot}"),
            TensorFactor::Tensor(address) => write!(f, "{address}"),
        }
    }

    fn parse(input: &mut Input<'_>) -> Parsed<TensorFactor> {
        match input.is_at_slot() {
            true => input.slot().map(TensorFactor::Descriptor),
            false => TensorAddress::parse(input).map(TensorFactor::Tensor),
        }
    }
}

/// `tcgen05.alloc`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorAlloc {
    /// Where in shared memory the address goes.
    pub to: Address,
    /// How many columns.
    pub columns: Slot,
    /// `.cta_group`: 1 or 2.
    pub ctas: u8,
}

/// `tcgen05.dealloc`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorDealloc {
    /// The address of the allocation.
    pub address: Slot,
    /// How many columns it has.
    pub columns: Slot,
    /// `.cta_group`: 1 or 2.
    pub ctas: u8,
}

/// `tcgen05.relinquish_alloc_permit`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorRelinquish {
    /// `.cta_group`: 1 or 2.
    pub ctas: u8,
}

/// `tcgen05.ld`
#[derive(Clone, Debug)]
pub struct TensorLoad {
    /// The registers.
    pub d: Vec<Option<Slot>>,
    /// Of `.red`: the result.
    pub reduced: Option<Slot>,
    /// The address.
    pub address: TensorAddress,
    /// What is loaded.
    pub fragment: Fragment,
    /// `immHalfSplitoff`: columns from the first access to the second.
    pub split: u32,
    /// `.red`
    pub reduction: Option<Reduction>,
}

/// What `tcgen05.ld.red` does with the columns of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// `.max`; otherwise `.min`
    pub max: bool,
    /// What the numbers are.
    pub numbers: ReducedNumbers,
}

/// The numbers of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReducedNumbers {
    /// `.f32`
    Float {
        /// `.abs`
        abs: bool,
        /// `.NaN`: the result is NaN if one of the numbers is.
        nan: bool,
    },
    /// `.s32`
    Signed,
    /// `.u32`
    Unsigned,
}

/// `tcgen05.st`
#[derive(Clone, Debug)]
pub struct TensorStore {
    /// The address.
    pub address: TensorAddress,
    /// The registers.
    pub data: Vec<Slot>,
    /// What is stored.
    pub fragment: Fragment,
    /// `immHalfSplitoff`: columns from the first access to the second.
    pub split: u32,
}

/// `tcgen05.wait`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorWait {
    /// `.wait::ld`; otherwise `.wait::st`
    pub loads: bool,
}

/// `tcgen05.fence`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorFence {
    /// `.fence::before_thread_sync`; otherwise `.fence::after_thread_sync`
    pub before: bool,
}

/// `tcgen05.commit`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorCommit {
    /// The mbarrier.
    pub mbarrier: Address,
    /// `.multicast::cluster`: the CTAs, a bit each.
    pub multicast: Option<Slot>,
    /// `.cta_group`: 1 or 2.
    pub ctas: u8,
}

/// `tcgen05.cp`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorCopyIn {
    /// The address in tensor memory.
    pub to: TensorAddress,
    /// The descriptor of the matrix in shared memory.
    pub from: Slot,
    /// The shape.
    pub shape: Shape,
    /// How elements lie in shared memory.
    pub packing: Packing,
    /// `.cta_group`: 1 or 2.
    pub ctas: u8,
}

/// `tcgen05.shift`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorShift {
    /// The address.
    pub address: TensorAddress,
    /// `.cta_group`: 1 or 2.
    pub ctas: u8,
}

/// `tcgen05.mma`
#[derive(Clone, Debug)]
pub struct TensorMma {
    /// D.
    pub d: TensorAddress,
    /// A.
    pub a: TensorFactor,
    /// The descriptor of B.
    pub b: Slot,
    /// The metadata of a sparse A.
    pub metadata: Option<TensorAddress>,
    /// The instruction descriptor.
    pub instruction: Slot,
    /// The scales of A and of B.
    pub scales: Option<[TensorAddress; 2]>,
    /// `disable-output-lane`: lanes that are not written, a bit each.
    pub disabled: Vec<Slot>,
    /// `enable-input-d`: D is added.
    pub adds: Slot,
    /// The zero-column mask descriptor.
    pub mask: Option<Slot>,
    /// The modifiers.
    pub modifiers: Modifiers,
    /// `scale-input-d`
    pub scale_d: u32,
}
