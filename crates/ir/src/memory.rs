//! Accesses to memory: loads, stores and atomic operations.

use super::Order;
use softwarp_image::ObjectId;

/// Bytes of the window of `.local` where addresses have tags that name their thread.
pub const TAGGED: u64 = 1 << 32;

/// Which memory an access goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Whichever the generic address means.
    Generic,
    /// `.global`
    Global,
    /// `.const`
    Constant,
    /// `.shared`, of the CTA itself
    Shared,
    /// `.shared::cluster`, of any CTA of the cluster
    Cluster,
    /// `.local`
    Local,
    /// `.local`, with addresses that count from the start of the call's frame.
    Frame,
    /// A kernel's parameters.
    Kernel,
    /// The parameters, return values and arguments of a device function, per thread.
    Function,
}

impl Memory {
    /// Whether it is shared memory, of whichever CTA.
    pub fn is_shared(self) -> bool {
        matches!(self, Memory::Shared | Memory::Cluster)
    }
}

/// An address: a slot or a fixed place, and an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Which memory.
    pub memory: Memory,
    /// The slot of the base; [`NONE`](super::NONE) if there is only the offset.
    pub base: u32,
    /// Whether the base is in the rows of 64-bit words.
    pub wide: bool,
    /// Added to the base. Addresses of variables known when lowering are here.
    pub offset: i64,
    /// The variable that was named, for faults.
    pub named: Option<ObjectId>,
}

/// A load or store.
#[derive(Clone, Debug)]
pub struct Access {
    /// Where.
    pub address: Address,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// Whether an element is extended with its sign when it is loaded into a wider register.
    pub signed: bool,
    /// A register for each element: its slot ([`NONE`](super::NONE) for `_`) and its width in bits: 8, 16, 32, 64 or 128.
    pub registers: Vec<(u32, u8)>,
    /// How it orders memory; if it is strong, it must be seen in order with others.
    pub order: Order,
}

impl Access {
    /// A weak access. `None` if an element has not 1, 2, 4, 8 or 16 bytes, or if
    /// the number of elements is not a power of two: PTX has no such access, and its size would be no alignment.
    pub fn new(address: Address, bytes: u8, signed: bool, registers: Vec<(u32, u8)>) -> Option<Access> {
        if !matches!(bytes, 1 | 2 | 4 | 8 | 16) || !registers.len().is_power_of_two() {
            return None;
        }
        Some(Access { address, bytes, signed, registers, order: Order::WEAK })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NONE;

    #[test]
    fn an_access_has_a_power_of_two_of_elements() {
        let memory = Memory::Global;
        let address = Address { memory, base: NONE, wide: false, offset: 0, named: None };
        let access = |bytes, count| Access::new(address, bytes, false, vec![(0, 32); count]);
        for (bytes, count) in [(4, 0), (4, 3), (4, 5), (4, 6), (0, 1), (3, 1), (32, 1), (u8::MAX, 2)] {
            assert!(access(bytes, count).is_none(), "{count} elements of {bytes} bytes");
        }
        for (bytes, count) in [(1, 1), (2, 4), (4, 8), (8, 2), (16, 1)] {
            assert!(access(bytes, count).is_some(), "{count} elements of {bytes} bytes");
        }
    }
}

/// `atom` and `red`.
#[derive(Clone, Debug)]
pub struct Atomic {
    /// Where.
    pub address: Address,
    /// What is done.
    pub op: AtomicOp,
    /// To what.
    pub ty: softwarp_isa::Type,
    /// Slots that take what was there before, one for each element; none for `red`.
    pub d: Vec<u32>,
    /// Slots of the operand, one for each element.
    pub b: Vec<u32>,
    /// The slot of the second operand, of `cas`.
    pub c: u32,
    /// How it orders memory.
    pub order: Order,
    /// `.noftz`: subnormals stay.
    pub noftz: bool,
}

/// What an atomic operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are PTX's.
pub enum AtomicOp {
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Add,
    Inc,
    Dec,
    Min,
    Max,
}
