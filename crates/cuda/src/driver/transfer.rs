//! Copies and fills of memory by its addresses.

use super::Driver;
use crate::code::{Code, Done, ensure};
use crate::ffi::Host;
use crate::handle::lock;
use crate::memory::Kind;
use std::sync::Arc;

/// One side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Memory that the driver knows, whatever kind it is.
    Known(u64),
    /// Memory of the program that the driver does not know.
    Pageable(u64),
}

/// What an address must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Memory of the device, or page-locked memory.
    Device,
    /// Anything.
    Any,
}

impl Side {
    /// What an address is, for a copy of a given number of bytes.
    pub(crate) fn of(driver: &Driver, address: u64, bytes: u64, wanted: Wanted) -> Result<Side, Code> {
        ensure(address != 0, Code::INVALID_VALUE)?;
        match driver.block(address) {
            Some(block) => {
                let is_inside = block.holds(address, bytes)
                    || block.kind == Kind::Mapped && lock(&driver.blocks).is_mapped(address, bytes);
                ensure(is_inside, Code::INVALID_VALUE)?;
                Ok(Side::Known(address))
            }
            None if wanted == Wanted::Any && !driver.is_device_address(address) => {
                Ok(Side::Pageable(address))
            }
            None => Err(Code::INVALID_VALUE),
        }
    }
}

/// A copy of bytes that was checked.
#[derive(Clone, Debug)]
pub struct Copy {
    /// Where to.
    pub(crate) to: Side,
    /// Where from.
    pub(crate) from: Side,
    /// How many.
    pub(crate) bytes: u64,
    /// The bytes of the source, if it may have changed when they are copied.
    pub(crate) kept: Option<Arc<[u8]>>,
}

impl Copy {
    /// Copies.
    pub(crate) fn perform(&self, driver: &Driver) -> Done {
        let from = self.kept.as_ref().map_or(self.from, |kept| Side::Pageable(kept.as_ptr() as u64));
        driver.summary.copied(self.bytes);
        copy_now(driver, self.to, from, self.bytes)
    }
}

/// Bytes of a piece that begins at an address: memory that is mapped may be in several allocations.
fn piece(driver: &Driver, address: u64, bytes: usize) -> usize {
    match driver.block(address) {
        Some(block) if block.kind == Kind::Mapped => {
            let room = block.base + block.bytes - address;
            usize::try_from(room).map_or(bytes, |room| room.min(bytes))
        }
        _ => bytes,
    }
}

/// Writes memory that the driver knows.
fn write(driver: &Driver, mut to: u64, mut data: &[u8]) -> Done {
    while !data.is_empty() {
        let (now, later) = data.split_at(piece(driver, to, data.len()));
        driver.machine.write(to, now).map_err(|_| Code::INVALID_VALUE)?;
        (to, data) = (to + now.len() as u64, later);
    }
    Ok(())
}

/// Reads memory that the driver knows.
fn read(driver: &Driver, mut from: u64, mut data: &mut [u8]) -> Done {
    while !data.is_empty() {
        let (now, later) = data.split_at_mut(piece(driver, from, data.len()));
        driver.machine.read(from, now).map_err(|_| Code::INVALID_VALUE)?;
        (from, data) = (from + now.len() as u64, later);
    }
    Ok(())
}

/// Copies bytes between any two places, now.
pub(crate) fn copy_now(driver: &Driver, to: Side, from: Side, bytes: u64) -> Done {
    let count = usize::try_from(bytes).map_err(|_| Code::INVALID_VALUE)?;
    match (to, from) {
        (Side::Pageable(to), Side::Pageable(from)) => {
            // SAFETY: the program says that it has `count` bytes at both addresses, and leaves them alone until the copy is
            // done. The machine has none there.
            unsafe { Host::at(to).copy_from(Host::at(from), count) };
            Ok(())
        }
        (Side::Known(to), Side::Pageable(from)) => {
            // SAFETY: the same, or these are the bytes that the copy has kept.
            unsafe { Host::at(from).read(count, |data| write(driver, to, data)) }
        }
        (Side::Pageable(to), Side::Known(from)) => {
            // SAFETY: the same.
            unsafe { Host::at(to).write(count, |data| read(driver, from, data)) }
        }
        (Side::Known(to), Side::Known(from)) => {
            let mut data = vec![0; count.min(COPIED)];
            // Overlapping parts are copied in the order that keeps what was there. Each but the first begins at a multiple
            // of 16, so that no aligned 16 bytes are in two.
            let starts: Vec<usize> =
                std::iter::successors(Some(0), |&start| Some(start + until_next(to + start as u64, COPIED)))
                    .take_while(|&start| start < count)
                    .collect();
            let mut part = |start: usize| {
                let data = &mut data[..until_next(to + start as u64, COPIED).min(count - start)];
                read(driver, from + start as u64, data)?;
                write(driver, to + start as u64, data)
            };
            match to > from {
                true => starts.into_iter().rev().try_for_each(&mut part),
                false => starts.into_iter().try_for_each(&mut part),
            }
        }
    }
}

/// Most bytes that are copied at a time.
const COPIED: usize = 1 << 20;

/// Most bytes that are filled at a time.
const FILLED: usize = 1 << 16;

/// How many bytes from an address on are copied or filled at a time: at most `most`, up to a multiple of 16.
fn until_next(address: u64, most: usize) -> usize {
    most - (address % 16) as usize
}

/// A fill: rows of elements.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub(crate) address: u64,
    pub(crate) pitch: u64,
    /// Bytes of an element: 1, 2 or 4.
    pub(crate) element: u64,
    pub(crate) value: u32,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl Fill {
    /// Checks the place. False if there is nothing to fill.
    pub(crate) fn check(&self, driver: &Driver) -> Result<bool, Code> {
        let &Fill { address, pitch, element, width, height, .. } = self;
        if width == 0 || height == 0 {
            return Ok(false);
        }
        ensure(address.is_multiple_of(element), Code::INVALID_VALUE)?;
        // A width that overflows is 0, as recorded.
        let row = width.wrapping_mul(element);
        if row == 0 {
            return Ok(false);
        }
        if height > 1 {
            ensure(pitch >= row && pitch.is_multiple_of(element), Code::INVALID_VALUE)?;
        }
        let all = pitch
            .checked_mul(height - 1)
            .and_then(|rows| rows.checked_add(row))
            .ok_or(Code::INVALID_VALUE)?;
        Side::of(driver, address, all, Wanted::Device)?;
        Ok(true)
    }

    /// Fills.
    pub(crate) fn perform(&self, driver: &Driver) -> Done {
        let &Fill { address, pitch, element, value, width, height } = self;
        let row = width.wrapping_mul(element);
        let pattern = value.to_le_bytes();
        let chunk: Vec<u8> =
            pattern[..element as usize].iter().copied().cycle().take((row as usize).min(FILLED)).collect();
        for line in 0..height {
            let mut at = 0;
            while at < row {
                let place = address + line * pitch + at;
                let part = &chunk[..until_next(place, FILLED).min((row - at) as usize)];
                write(driver, place, part)?;
                at += part.len() as u64;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_at_multiples_of_16() {
        for address in 0..64 {
            let end = address + until_next(address, FILLED) as u64;
            assert!(end.is_multiple_of(16) && end > address && end <= address + FILLED as u64, "{address}");
        }
    }
}
