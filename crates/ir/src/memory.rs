//! Accesses to memory: loads, stores and atomic operations.

use crate::{Order, Slot};
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
    /// Every one.
    pub const ALL: [Memory; 9] = [
        Memory::Generic,
        Memory::Global,
        Memory::Constant,
        Memory::Shared,
        Memory::Cluster,
        Memory::Local,
        Memory::Frame,
        Memory::Kernel,
        Memory::Function,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Memory::Generic => "generic",
            Memory::Global => "global",
            Memory::Constant => "const",
            Memory::Shared => "shared",
            Memory::Cluster => "shared::cluster",
            Memory::Local => "local",
            Memory::Frame => "frame",
            Memory::Kernel => "param",
            Memory::Function => "param::func",
        }
    }

    /// Whether it is shared memory, of whichever CTA.
    pub fn is_shared(self) -> bool {
        match self {
            Memory::Shared | Memory::Cluster => true,
            Memory::Generic | Memory::Global | Memory::Constant | Memory::Local | Memory::Frame => false,
            Memory::Kernel | Memory::Function => false,
        }
    }
}

/// An address: a slot or a fixed place, and an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Which memory.
    pub memory: Memory,
    /// The base, if there is more than the offset.
    pub base: Option<Slot>,
    /// Added to the base. Addresses of variables known when lowering are here.
    pub offset: i64,
    /// The variable that was named, for faults.
    pub named: Option<ObjectId>,
}

impl Address {
    /// A fixed address.
    pub fn fixed(memory: Memory, offset: i64, named: Option<ObjectId>) -> Address {
        Address { memory, base: None, offset, named }
    }

    /// Whether the base has 64 bits.
    pub fn is_wide(&self) -> bool {
        self.base.is_some_and(Slot::is_wide)
    }
}

/// A register of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The register; none for `_`.
    pub slot: Option<Slot>,
    /// Its width: 8, 16, 32, 64 or 128.
    pub bits: u8,
}

impl Element {
    /// A register of a given width.
    pub fn new(slot: Slot, bits: u8) -> Element {
        Element { slot: Some(slot), bits }
    }
}

/// A load or store.
#[derive(Clone, Debug)]
pub struct Access {
    /// The address.
    pub address: Address,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// Whether an element is extended with its sign when it is loaded into a wider register.
    pub signed: bool,
    /// A register for each element.
    pub registers: Vec<Element>,
    /// How it orders memory; if it is strong, it must be seen in order with others.
    pub order: Order,
}

impl Access {
    /// A weak access. `None` if an element has not 1, 2, 4, 8 or 16 bytes, or if
    /// the number of elements is not a power of two: PTX has no such access, and its size would be no alignment.
    pub fn new(address: Address, bytes: u8, signed: bool, registers: Vec<Element>) -> Option<Access> {
        if !matches!(bytes, 1 | 2 | 4 | 8 | 16) || !registers.len().is_power_of_two() {
            return None;
        }
        Some(Access { address, bytes, signed, registers, order: Order::WEAK })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_has_a_power_of_two_of_elements() {
        let memory = Memory::Global;
        let address = Address::fixed(memory, 0, None);
        let element = Element::new(Slot::narrow(0), 32);
        let access = |bytes, count| Access::new(address, bytes, false, vec![element; count]);
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
    /// The address.
    pub address: Address,
    /// The operation.
    pub op: AtomicOp,
    /// The type of the operands.
    pub ty: softwarp_isa::Type,
    /// What was there before, one for each element; empty for `red`.
    pub d: Vec<Option<Slot>>,
    /// The operand, one for each element.
    pub b: Vec<Option<Slot>>,
    /// The second operand, of `cas`.
    pub c: Option<Slot>,
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
