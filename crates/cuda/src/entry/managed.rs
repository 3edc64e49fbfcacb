//! Managed memory: advice and prefetching (driver API: "Unified Addressing"). Nothing moves here; what was said is kept.

use super::memory::second;
use super::pool::Location;
use super::stream::of;
use crate::code::{Code, Done, ensure};
use crate::driver::Driver;
use crate::ffi::{In, Out};
use crate::handle::{Handle, lock};
use crate::memory::Block;
use crate::settings::{Advice, NO_DEVICE, Place};
use crate::stream::Stream;

/// `CUmemLocationType` values.
mod location {
    pub const DEVICE: u32 = 1;
    pub const HOST: u32 = 2;
    pub const LAST: u32 = 4;
}

/// `CU_DEVICE_CPU`
const CPU: i32 = -1;

/// `CUmem_attach_flags` values.
mod attach {
    pub const GLOBAL: u32 = 1;
    pub const HOST: u32 = 2;
    pub const SINGLE: u32 = 4;
}

/// The place that a number of a device means: -1 is the host.
fn of_device(device: i32) -> Location {
    match device {
        CPU => Location { kind: location::HOST, id: 0 },
        id => Location { kind: location::DEVICE, id },
    }
}

/// A place, if there is one such.
fn place(driver: &Driver, it: Location) -> Result<Place, Code> {
    ensure((location::DEVICE..=location::LAST).contains(&it.kind), Code::INVALID_VALUE)?;
    if it.kind == location::DEVICE {
        driver.device(it.id)?;
    }
    Ok(Place { kind: it.kind, id: if it.kind == location::HOST { CPU } else { it.id } })
}

/// The managed memory that a range is in.
pub(crate) fn range(driver: &Driver, address: u64, bytes: usize) -> Result<Block, Code> {
    let is_inside = |block: &Block| block.is_managed() && block.holds(address, bytes as u64);
    ensure(bytes != 0, Code::INVALID_VALUE)?;
    driver.block(address).filter(is_inside).ok_or(Code::INVALID_VALUE)
}

/// Changes what is kept about memory.
fn change(driver: &Driver, block: &Block, f: impl FnOnce(&mut Advice)) {
    f(lock(&driver.settings.advice).entry(block.id).or_default());
}

pub(crate) fn prefetch(address: u64, bytes: usize, to: Location, flags: u32, stream: Handle<Stream>) -> Done {
    let (driver, _, stream) = of(stream)?;
    driver.captures.forbid_stream(stream.id)?;
    ensure(flags == 0, Code::INVALID_VALUE)?;
    let block = range(driver, address, bytes)?;
    let to = place(driver, to)?;
    change(driver, &block, |advice| advice.fetched = to);
    Ok(())
}

/// `CUmem_advise` values.
mod advise {
    pub const READ_MOSTLY: u32 = 1;
    pub const NOT_READ_MOSTLY: u32 = 2;
    pub const PREFERRED: u32 = 3;
    pub const NOT_PREFERRED: u32 = 4;
    pub const ACCESSED_BY: u32 = 5;
    pub const NOT_ACCESSED_BY: u32 = 6;
}

fn advise(address: u64, bytes: usize, advice: u32, about: Location) -> Done {
    let (driver, _) = second()?;
    ensure((advise::READ_MOSTLY..=advise::NOT_ACCESSED_BY).contains(&advice), Code::INVALID_VALUE)?;
    let block = range(driver, address, bytes)?;
    // Only these are about a place.
    let about = match advice {
        advise::PREFERRED | advise::ACCESSED_BY | advise::NOT_ACCESSED_BY => place(driver, about)?,
        _ => Place::default(),
    };
    change(driver, &block, |kept| match advice {
        advise::READ_MOSTLY => kept.read_mostly = true,
        advise::NOT_READ_MOSTLY => kept.read_mostly = false,
        advise::PREFERRED => kept.preferred = about,
        advise::NOT_PREFERRED => kept.preferred = Place::default(),
        advise::ACCESSED_BY if kept.accessed_by.contains(&about.id) => {}
        advise::ACCESSED_BY => kept.accessed_by.push(about.id),
        _ => kept.accessed_by.retain(|&id| id != about.id),
    });
    Ok(())
}

/// A place as the number of a device.
fn number(place: Place) -> i32 {
    match place.kind {
        location::DEVICE | location::HOST => place.id,
        _ => NO_DEVICE,
    }
}

/// Writes an attribute of memory (`CUmem_range_attribute`).
fn write(advice: &Advice, id: u32, to: Out<i32>, bytes: usize) -> Done {
    if id == 3 {
        ensure(bytes != 0 && bytes.is_multiple_of(4), Code::INVALID_VALUE)?;
        for index in 0..bytes / 4 {
            to.set_at(index, advice.accessed_by.get(index).copied().unwrap_or(NO_DEVICE));
        }
        return Ok(());
    }
    ensure(bytes == 4, Code::INVALID_VALUE)?;
    to.set(match id {
        1 => i32::from(advice.read_mostly),
        2 => number(advice.preferred),
        4 => number(advice.fetched),
        5 => advice.preferred.kind as i32,
        6 => advice.preferred.id,
        7 => advice.fetched.kind as i32,
        8 => advice.fetched.id,
        _ => return Err(Code::INVALID_VALUE),
    })
}

fn advice_of(driver: &Driver, address: u64, bytes: usize) -> Result<Advice, Code> {
    let block = range(driver, address, bytes)?;
    Ok(lock(&driver.settings.advice).get(&block.id).cloned().unwrap_or_default())
}

crate::entries! {
    /// Moves managed memory to where it is needed.
    fn cuMemPrefetchAsync / cuMemPrefetchAsync_ptsz(
        address: u64, bytes: usize, device: i32, stream: Handle<Stream>,
    ) {
        prefetch(address, bytes, of_device(device), 0, stream)
    }

    /// Moves managed memory to where it is needed.
    fn cuMemPrefetchAsync_v2 / cuMemPrefetchAsync_v2_ptsz(
        address: u64, bytes: usize, to: Location, flags: u32, stream: Handle<Stream>,
    ) {
        prefetch(address, bytes, to, flags, stream)
    }

    /// Says how managed memory will be used.
    fn cuMemAdvise(address: u64, bytes: usize, advice: u32, device: i32) {
        advise(address, bytes, advice, of_device(device))
    }

    /// Says how managed memory will be used.
    fn cuMemAdvise_v2(address: u64, bytes: usize, advice: u32, about: Location) {
        advise(address, bytes, advice, about)
    }

    /// What was said about managed memory.
    fn cuMemRangeGetAttribute(to: Out<i32>, room: usize, id: u32, address: u64, bytes: usize) {
        let (driver, _) = second()?;
        to.required()?;
        write(&advice_of(driver, address, bytes)?, id, to, room)
    }

    /// The same, several attributes at once.
    fn cuMemRangeGetAttributes(
        to: In<Out<i32>>, rooms: In<usize>, ids: In<u32>, count: usize, address: u64, bytes: usize,
    ) {
        let (driver, _) = second()?;
        ensure(count != 0, Code::INVALID_VALUE)?;
        let advice = advice_of(driver, address, bytes)?;
        for index in 0..count {
            write(&advice, ids.get_at(index)?, to.get_at(index)?.required()?, rooms.get_at(index)?)?;
        }
        Ok(())
    }

    /// Attaches managed memory to a stream: all streams see it as they did.
    fn cuStreamAttachMemAsync / cuStreamAttachMemAsync_ptsz(
        stream: Handle<Stream>, address: u64, bytes: usize, flags: u32,
    ) {
        let (driver, ..) = of(stream)?;
        ensure(matches!(flags, attach::GLOBAL | attach::HOST | attach::SINGLE), Code::INVALID_VALUE)?;
        ensure(flags != attach::SINGLE || stream.bits() > 2, Code::INVALID_VALUE)?;
        let block = range(driver, address, 1)?;
        ensure(block.base == address && (bytes == 0 || bytes as u64 == block.bytes), Code::INVALID_VALUE)
    }
}
