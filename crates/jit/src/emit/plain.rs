//! An access to memory as it is compiled, and the regions that accesses look at.

use crate::assembler::*;
use crate::context::{CONSTANT_SITES, Context, GENERIC_SITES, GLOBAL_SITES, PARAMETER_SITES, Region};
use crate::memory::memory_of;
use softwarp_ir::{Address, Atomic, Element, Function, Memory, Op, Slot, Step};
use std::mem::offset_of;

/// The site of each operation: which region an access looks at. Those of one memory are given out in turn. Accesses to
/// `.global` and generic ones have different sites, since the same address may mean different memory.
pub(crate) fn sites(function: &Function) -> Vec<u8> {
    let mut next = [0usize; 4];
    let site = |op: &Op| {
        let Op::Other(_, step) = op else { return 0 };
        let Some(memory) = memory_of(step) else { return 0 };
        let (kind, sites) = match memory {
            Memory::Generic => (0, GENERIC_SITES),
            Memory::Constant => (1, CONSTANT_SITES),
            Memory::Kernel => (3, PARAMETER_SITES),
            Memory::Global => (2, GLOBAL_SITES),
            // They have a region of their own, or no code.
            Memory::Shared | Memory::Cluster => (2, GLOBAL_SITES),
            Memory::Local | Memory::Frame | Memory::Function => (2, GLOBAL_SITES),
        };
        let number = next[kind];
        next[kind] += usize::from(memory != Memory::Shared);
        (sites.start + number % sites.len()) as u8
    };
    function.ops.iter().map(site).collect()
}

/// An access as it is compiled.
#[derive(Clone, Copy)]
pub(super) struct Plain<'a> {
    pub(super) op: usize,
    pub(super) address: &'a Address,
    pub(super) registers: &'a [Element],
    /// Bytes of an element. Those of several elements that are shorter are packed in words of 4 bytes, which count as
    /// elements.
    size: usize,
    /// How many elements there are.
    pub(super) count: usize,
    pub(super) signed: bool,
    /// The first register that is loaded or stored.
    pub(super) slot: Slot,
    /// The address but for an offset; none for a fixed address.
    pub(super) base: Option<Slot>,
    pub(super) slow: CodeLabel,
    pub(super) store: bool,
    /// Whether it is ordered with accesses of other threads.
    pub(super) strong: bool,
    /// Which region is looked at.
    site: u8,
}

impl<'a> Plain<'a> {
    /// A load or store of an operation.
    pub(super) fn of(op: usize, step: &'a Step, slow: CodeLabel, site: u8) -> Option<Plain<'a>> {
        let (access, store) = match step {
            Step::Load(access) => (access, false),
            Step::Store(access) => (access, true),
            Step::Return | Step::Exit | Step::Trap | Step::Breakpoint | Step::Yield => return None,
            Step::Switch(_) | Step::Call(_) | Step::Special(_) | Step::FrameAddress(_) => return None,
            Step::Alloca(_) | Step::StackSave(_) | Step::StackRestore(_) | Step::Fence(_) => return None,
            Step::Barrier(_) | Step::Warp(_) | Step::Multimem(_) | Step::Group(_) => return None,
            Step::Texture(_) | Step::Cluster(_) | Step::Asynchronous(_) | Step::Matrix(_) => return None,
            Step::Atomic(_) | Step::TensorCore(_) => return None,
        };
        let slot = access.registers.first()?.slot?;
        let (address, registers) = (&access.address, &access.registers[..]);
        let (size, count, base) = match (usize::from(access.bytes), registers.len()) {
            (bytes @ (1 | 2), count @ 2..) => (4, bytes * count / 4, address.base),
            (bytes, count) => (bytes, count, address.base),
        };
        let (signed, strong) = (access.signed, access.order.is_strong());
        Some(Plain { op, address, registers, size, count, signed, slot, base, slow, store, strong, site })
    }

    /// The access of an atomic operation.
    pub(super) fn atomic(op: usize, atomic: &'a Atomic, slot: Slot, slow: CodeLabel, site: u8) -> Plain<'a> {
        let (address, size, count) = (&atomic.address, atomic.ty.bits() as usize / 8, atomic.b.len());
        let (registers, base, signed) = (&[][..], address.base, false);
        let (store, strong) = (true, true);
        Plain { op, address, registers, size, count, signed, slot, base, slow, store, strong, site }
    }

    pub(super) fn bytes(&self) -> usize {
        self.size
    }

    /// Bytes of the whole access, which is aligned to them.
    pub(super) fn total(&self) -> usize {
        self.bytes() * self.count
    }

    /// The slots that it reads or writes, with their numbers in the vector.
    pub(super) fn slots(&self) -> impl Iterator<Item = (usize, Slot)> + use<'a> {
        self.registers.iter().enumerate().filter_map(|(n, one)| Some((n, one.slot?)))
    }

    /// Whether its registers are shorter than its elements.
    pub(super) fn is_packed(&self) -> bool {
        self.registers.len() > self.count
    }

    /// Whether an element that is loaded is extended to a row of 64-bit words.
    pub(super) fn widens(&self) -> bool {
        !self.store && self.size < 8 && !self.is_packed() && self.slot.is_wide()
    }

    /// Whether each element has a register of its own, and is not extended to 64 bits.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_packed() && !self.widens()
    }

    /// Whether it has one element.
    pub(super) fn is_single(&self) -> bool {
        self.count == 1
    }

    /// Whether addresses have 64 bits.
    pub(super) fn is_wide(&self) -> bool {
        self.base.is_none_or(Slot::is_wide)
    }

    pub(super) fn is_shared(&self) -> bool {
        self.address.memory == Memory::Shared
    }

    /// A field of the region.
    pub(super) fn region(&self, offset: usize) -> AsmMemoryExpression {
        let region = match self.address.memory {
            Memory::Shared => offset_of!(Context, shared),
            Memory::Local | Memory::Frame => offset_of!(Context, own),
            Memory::Function => offset_of!(Context, parameters),
            Memory::Generic | Memory::Global | Memory::Constant | Memory::Kernel | Memory::Cluster => {
                offset_of!(Context, sites) + usize::from(self.site) * size_of::<Region>()
            }
        };
        AsmMemoryExpression(r15, region + offset)
    }

    pub(super) fn room(&self) -> AsmMemoryExpression {
        let size = self.total().trailing_zeros() as usize;
        self.region(offset_of!(Region, room) + 8 * size)
    }
}

/// A base register and an offset.
#[derive(Clone, Copy)]
pub(super) struct AsmMemoryExpression(AsmRegister64, usize);

impl AsmMemoryExpression {
    pub(super) fn qword(self) -> AsmMemoryOperand {
        qword_ptr(self.0 + self.1)
    }
    pub(super) fn qwords(self) -> AsmMemoryOperand {
        qword_bcst(self.0 + self.1)
    }
    pub(super) fn dwords(self) -> AsmMemoryOperand {
        dword_bcst(self.0 + self.1)
    }
    pub(super) fn dword(self) -> AsmMemoryOperand {
        dword_ptr(self.0 + self.1)
    }
}
