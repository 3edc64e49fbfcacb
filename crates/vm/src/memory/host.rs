//! Memory of the host program that a device uses as its own: what pinned, mapped and managed memory are made of.
//!
//! Kernels and the host then see the same bytes, without copies. Two ways lead here:
//! - [`HostMemory::new`] allocates pages that this crate owns; everything about it is safe. The host reads and writes
//!   them through [`SharedBytes::read`] and [`SharedBytes::write`].
//! - [`HostMemory::borrow`] takes memory that the caller owns, by a pointer. It is `unsafe`: see there.
//!
//! **Why this is sound.** The interpreter touches lent memory exactly as its own: inside the bounds that were given, by
//! atomic accesses or the vector moves that `memory/wide.rs` argues for. The bytes have no invalid values. What remains
//! is that the memory stays where it is, and that the host does not access it by plain loads and stores at the same time
//! as a kernel; the owner promises both. The device drops its last reference when the allocation was freed and the last
//! launch that began before has ended.

use super::cell::SharedBytes;
use super::global::{ALIGNMENT, MemoryError};
use std::ptr::NonNull;
use std::sync::Arc;

/// The alignment of memory that is made here: a page.
const PAGE: usize = 4096;

/// The fewest bytes that can be lent: the largest element.
const LEAST: usize = 16;

/// Memory of the host that can be mapped into a device. Clones are the same memory.
#[derive(Clone, Debug)]
pub struct HostMemory {
    pub(super) cells: Arc<SharedBytes>,
}

impl HostMemory {
    /// A given number of bytes of zeros, at the start of a page.
    pub fn new(bytes: u64) -> Result<HostMemory, MemoryError> {
        let cells = SharedBytes::aligned(bytes, PAGE).ok_or(MemoryError::OutOfMemory { bytes })?;
        Ok(HostMemory { cells: Arc::new(cells) })
    }

    /// Memory that the caller owns. It must begin at a multiple of 256 and have at least 16 bytes, as every page has.
    ///
    /// # Safety
    /// The bytes from `start` on are readable and writable, and stay so until all clones of the result are gone and
    /// every device that it was mapped into has freed it and ended the launches that began before. While a launch runs,
    /// no other thread accesses bytes that a kernel accesses, unless atomically or ordered with the
    /// kernel's accesses by other means.
    pub unsafe fn borrow(start: NonNull<u8>, bytes: usize) -> Result<HostMemory, MemoryError> {
        let address = start.as_ptr() as u64;
        let ends = (start.as_ptr() as usize).checked_add(bytes).is_some();
        if bytes < LEAST || !ends || isize::try_from(bytes).is_err() {
            return Err(MemoryError::HostSize { bytes: bytes as u64, least: LEAST as u64 });
        }
        if !address.is_multiple_of(ALIGNMENT) {
            return Err(MemoryError::HostAlignment { address, multiple: ALIGNMENT });
        }
        // SAFETY: as the caller says; the size and the alignment were just seen.
        let cells = unsafe { SharedBytes::lent(start, bytes) };
        Ok(HostMemory { cells: Arc::new(cells) })
    }

    /// The bytes, to be read and written by the host at any time.
    pub fn bytes(&self) -> &SharedBytes {
        &self.cells
    }
}

/// The address of the host's memory in the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostPlace {
    /// Any free address: mapped memory.
    #[default]
    Anywhere,
    /// At the address that it has for the host, so that both use the same pointers: managed memory.
    SameAddress,
    /// At an address that was reserved ([`Device::reserve`](crate::device::Device::reserve)).
    Reserved(u64),
}
