//! How loads, stores and atomic operations use memory.
//!
//! [`Used`] is built from the operation alone; [`super::addresses::addresses`] has the addresses of the lanes. The executors
//! (`access.rs`, `atomic.rs`) take the number of bytes, which is also the alignment, from it. The observer (`observe.rs`)
//! reports it to the sanitizers.

use crate::fault::Use;
use softwarp_ir::{Access, Address, Atomic, AtomicOp, Order};

/// An access to memory by an instruction.
pub(super) struct Used<'a> {
    pub address: &'a Address,
    /// The bytes of each thread's access. Its address must be a multiple of this.
    pub bytes: u64,
    pub usage: Use,
    pub order: Order,
    /// Bytes of an element.
    pub element: u64,
    /// Into how many elements it is divided.
    pub elements: u64,
    pub how: How<'a>,
}

/// The kind of an access.
#[derive(Clone, Copy)]
pub(super) enum How<'a> {
    Load,
    Store(&'a Access),
    /// `red` has no result: it only reduces.
    Atomic {
        reduces: bool,
        op: AtomicOp,
    },
}

impl<'a> Used<'a> {
    /// `ld`
    #[inline]
    pub fn load(access: &'a Access) -> Used<'a> {
        Used::plain(access, Use::Read, How::Load)
    }

    /// `st`
    #[inline]
    pub fn store(access: &'a Access) -> Used<'a> {
        Used::plain(access, Use::Write, How::Store(access))
    }

    #[inline]
    fn plain(access: &'a Access, usage: Use, how: How<'a>) -> Used<'a> {
        let (address, order) = (&access.address, access.order);
        let (element, elements) = (u64::from(access.bytes), access.registers.len() as u64);
        Used { address, bytes: element * elements, usage, order, element, elements, how }
    }

    /// `atom`, `red`
    #[inline]
    pub fn atomic(atomic: &'a Atomic) -> Used<'a> {
        let (element, elements) = (u64::from(atomic.ty.bits() / 8), atomic.b.len() as u64);
        Used {
            address: &atomic.address,
            bytes: element * elements,
            usage: Use::Atomic,
            order: atomic.order,
            element,
            elements,
            how: How::Atomic { reduces: atomic.d.is_empty(), op: atomic.op },
        }
    }
}
