//! Memory pools and allocation in the order of streams (driver API: "Stream Ordered Memory Allocator").

use super::memory::{allocate_host, take as take_memory, take_again};
use super::stream::of;
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::driver::capture::Status;
use crate::driver::work::Work;
use crate::driver::{Driver, driver};
use crate::ffi::{In, Out};
use crate::handle::{Handle, lock};
use crate::memory::{Block, Kind};
use crate::pool::{Memory, Pool, RESERVED, Returned, Usage};
use crate::stream::Stream;
use std::sync::Arc;

c_struct! {
    /// `CUmemLocation`
    Location {
        kind: u32,
        id: i32,
    }
}

c_struct! {
    /// `CUmemPoolProps`
    PoolProperties {
        allocation: u32,
        handles: u32,
        location: Location,
        security: u64,
        most: usize,
        usage: u16,
        reserved: [u8; 54],
    }
}

c_struct! {
    /// `CUmemAccessDesc`
    Access {
        location: Location,
        flags: u32,
    }
}

/// `CUmemLocationType` values.
mod location {
    pub const NONE: u32 = 0;
    pub const DEVICE: u32 = 1;
    pub const HOST_NUMA: u32 = 3;
}

/// `CUmemAllocationType` values.
mod allocation {
    pub const PINNED: u32 = 1;
    pub const MANAGED: u32 = 2;
}

/// What the memory of a pool at a place is, if there can be one.
fn memory_at(driver: &Driver, place: Location, kind: u32) -> Result<Memory, Code> {
    let is_managed = kind == allocation::MANAGED;
    ensure(is_managed || kind == allocation::PINNED, Code::INVALID_VALUE)?;
    let first = if is_managed { location::NONE } else { location::DEVICE };
    ensure((first..=location::HOST_NUMA).contains(&place.kind), Code::INVALID_VALUE)?;
    if place.kind == location::DEVICE {
        driver.device(place.id).map_err(|_| Code::INVALID_VALUE)?;
    }
    Ok(match place.kind {
        _ if is_managed => Memory::Managed,
        location::DEVICE => Memory::Device,
        _ => Memory::Host,
    })
}

/// The pool of a place: its own, or the one that was set.
fn pool_of(driver: &Driver, place: Location, kind: u32, is_default: bool) -> Result<Handle<Pool>, Code> {
    let memory = memory_at(driver, place, kind)?;
    if memory == Memory::Device {
        let device = place.id as u32;
        return if is_default { driver.default_pool(device) } else { driver.current_pool(device) };
    }
    let mut pools = lock(&driver.settings.pools);
    let [own, set] = pools.entry((place.kind, place.id, kind)).or_default();
    let set = set.filter(|&it| !is_default && driver.pools.get(it).is_ok());
    if let Some(found) = set.or(*own) {
        return Ok(found);
    }
    let made = Pool { is_default: true, memory, ..Pool::default() };
    *own = driver.pools.insert(Arc::new(made));
    own.ok_or(Code::OUT_OF_MEMORY)
}

/// A pool by its handle.
fn pool(driver: &Driver, handle: Handle<Pool>) -> Result<Arc<Pool>, Code> {
    driver.pools.get(handle).map_err(|_| Code::INVALID_VALUE)
}

fn take(to: Out<u64>, bytes: usize, from: Option<Handle<Pool>>, stream: Handle<Stream>) -> Done {
    let taken = of(stream).and_then(|(driver, context, stream)| {
        to.required()?;
        if bytes == 0 {
            return Ok(0);
        }
        if driver.captures.status(stream.id) != Status::None {
            return super::graph_memory::take_in_graph(driver, &context, &stream, bytes as u64);
        }
        let handle = match from {
            Some(handle) => handle,
            None => driver.current_pool(context.device)?,
        };
        let pool = pool(driver, handle)?;
        let reserved = |bytes: u64| bytes.checked_next_multiple_of(RESERVED).unwrap_or(u64::MAX);
        let (used, most) =
            (reserved(lock(&pool.usage).used.saturating_add(bytes as u64)), reserved(pool.most));
        ensure(most == 0 || used <= most, Code::OUT_OF_MEMORY)?;
        let (bytes, bits) = (bytes as u64, handle.bits());
        let address = match pool.memory {
            Memory::Device => match pool.take_again(bytes, stream.id) {
                Some(base) if take_again(driver, &context, base, bytes, Kind::Pooled(bits)) => Ok(base),
                _ => take_memory(driver, &context, bytes, Kind::Pooled(bits)),
            },
            Memory::Host => allocate_host(driver, &context, bytes, Kind::PooledHost(bits), 2),
            Memory::Managed => allocate_host(driver, &context, bytes, Kind::PooledManaged(bits), 1),
        }?;
        lock(&pool.usage).take(bytes);
        Ok(address)
    });
    to.set_if_any(*taken.as_ref().unwrap_or(&0));
    taken.map(drop)
}

/// A setting of a pool as 64 bits, and whether it is an `int`.
fn setting(usage: &Usage, id: u32) -> Option<(u64, bool)> {
    Some(match id {
        1..=3 => (usage.reuse[id as usize - 1].into(), true),
        4 => (usage.threshold, false),
        5 => (usage.reserved(), false),
        6 => (usage.reserved_high, false),
        7 => (usage.used, false),
        8 => (usage.used_high, false),
        _ => return None,
    })
}

crate::entries! {
    /// Takes memory from the device's pool, in the order of a stream.
    fn cuMemAllocAsync / cuMemAllocAsync_ptsz(to: Out<u64>, bytes: usize, stream: Handle<Stream>) {
        take(to, bytes, None, stream)
    }

    /// Takes memory from a pool, in the order of a stream.
    fn cuMemAllocFromPoolAsync / cuMemAllocFromPoolAsync_ptsz(
        to: Out<u64>, bytes: usize, from: Handle<Pool>, stream: Handle<Stream>,
    ) {
        take(to, bytes, Some(from), stream)
    }

    /// Frees memory in the order of a stream. The address means nothing from the call on.
    fn cuMemFreeAsync / cuMemFreeAsync_ptsz(address: u64, stream: Handle<Stream>) {
        let (driver, context, stream) = of(stream)?;
        if address == 0 {
            return Ok(());
        }
        let can_be_freed = |block: &Block| block.pool().is_some() || !block.is_host();
        let block = lock(&driver.blocks).at(address).filter(can_be_freed).ok_or(Code::INVALID_VALUE)?;
        ensure(!matches!(block.kind, Kind::Variable(_) | Kind::Mapped), Code::INVALID_VALUE)?;
        let is_captured = driver.captures.status(stream.id) != Status::None;
        if is_captured || block.kind == Kind::Graph {
            ensure(is_captured || lock(&driver.graph_memory).is_live(address), Code::INVALID_VALUE)?;
            return driver.issue(&context, &stream, Work::Free(address));
        }
        driver.give_back(&block);
        if let Kind::Pooled(handle) = block.kind
            && !driver.config.sanitize.any()
            && let Ok(pool) = pool(driver, Handle::of(handle))
        {
            pool.give_back(Returned { base: block.base, bytes: block.bytes, stream: stream.id });
        }
        driver.issue(&context, &stream, Work::Release(block))
    }

    /// The pool that a device began with.
    fn cuDeviceGetDefaultMemPool(to: Out<Handle<Pool>>, device: i32) {
        let driver = driver()?;
        driver.device(device)?;
        to.required()?;
        to.set(driver.default_pool(device as u32)?)
    }

    /// The pool that a device takes memory from.
    fn cuDeviceGetMemPool(to: Out<Handle<Pool>>, device: i32) {
        let driver = driver()?;
        driver.device(device)?;
        to.required()?;
        to.set(driver.current_pool(device as u32)?)
    }

    /// Sets the pool that a device takes memory from.
    fn cuDeviceSetMemPool(device: i32, to: Handle<Pool>) {
        let driver = driver()?;
        driver.device(device)?;
        pool(driver, to)?;
        driver.set_pool(device as u32, Some(to));
        Ok(())
    }

    /// Makes a pool.
    fn cuMemPoolCreate(to: Out<Handle<Pool>>, properties: In<PoolProperties>) {
        let driver = driver()?;
        let properties = properties.get()?;
        to.required()?;
        let PoolProperties { allocation, handles, location, most, .. } = properties;
        let memory = memory_at(driver, location, allocation)?;
        ensure(handles & !9 == 0, Code::INVALID_VALUE)?;
        let pool = Pool { memory, most: most as u64, ..Pool::default() };
        to.set(driver.pools.insert(Arc::new(pool)).ok_or(Code::OUT_OF_MEMORY)?)
    }

    /// The pool that a place began with.
    fn cuMemGetDefaultMemPool(to: Out<Handle<Pool>>, place: In<Location>, kind: u32) {
        let driver = driver()?;
        to.required()?;
        to.set(pool_of(driver, place.get()?, kind, true)?)
    }

    /// The pool that memory at a place is taken from.
    fn cuMemGetMemPool(to: Out<Handle<Pool>>, place: In<Location>, kind: u32) {
        let driver = driver()?;
        to.required()?;
        to.set(pool_of(driver, place.get()?, kind, false)?)
    }

    /// Sets the pool that memory at a place is taken from.
    fn cuMemSetMemPool(place: In<Location>, kind: u32, to: Handle<Pool>) {
        let driver = driver()?;
        let place = place.get()?;
        let memory = memory_at(driver, place, kind)?;
        ensure(pool(driver, to)?.memory == memory, Code::INVALID_VALUE)?;
        if memory == Memory::Device {
            driver.set_pool(place.id as u32, Some(to));
        } else {
            lock(&driver.settings.pools).entry((place.kind, place.id, kind)).or_default()[1] = Some(to);
        }
        Ok(())
    }

    /// Destroys a pool. What was taken from it stays.
    fn cuMemPoolDestroy(destroyed: Handle<Pool>) {
        let driver = driver()?;
        ensure(!pool(driver, destroyed)?.is_default, Code::INVALID_VALUE)?;
        for device in 0..driver.devices.len() as u32 {
            if driver.current_pool(device)? == destroyed {
                driver.set_pool(device, None);
            }
        }
        driver.pools.remove(destroyed).map(drop).map_err(|_| Code::INVALID_VALUE)
    }

    /// A setting or a count of a pool.
    fn cuMemPoolGetAttribute(of_pool: Handle<Pool>, id: u32, value: Out<u64>) {
        let driver = driver()?;
        let pool = pool(driver, of_pool)?;
        value.required()?;
        let (found, is_int) = setting(&lock(&pool.usage), id).ok_or(Code::INVALID_VALUE)?;
        match is_int {
            true => value.first_half().set(found as u32),
            false => value.set(found),
        }
    }

    /// Changes a setting of a pool, or resets a mark.
    fn cuMemPoolSetAttribute(of_pool: Handle<Pool>, id: u32, value: Out<u64>) {
        let driver = driver()?;
        let pool = pool(driver, of_pool)?;
        value.required()?;
        let mut usage = lock(&pool.usage);
        match id {
            1..=3 => usage.reuse[id as usize - 1] = value.first_half().get()?,
            4 => usage.threshold = value.get()?,
            6 | 8 => {
                ensure(value.get()? == 0, Code::INVALID_VALUE)?;
                match id {
                    6 => usage.reserved_high = usage.reserved(),
                    _ => usage.used_high = usage.used,
                }
            }
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }

    /// Gives back what a pool keeps: nothing is kept.
    fn cuMemPoolTrimTo(trimmed: Handle<Pool>, _kept: usize) {
        let driver = driver()?;
        pool(driver, trimmed).map(drop)
    }

    /// Who can use a pool's memory: every device.
    fn cuMemPoolGetAccess(flags: Out<u32>, of_pool: Handle<Pool>, location: In<Location>) {
        let driver = driver()?;
        let pool = pool(driver, of_pool)?;
        let location = location.get()?;
        if location.kind != location::DEVICE {
            return flags.set(if pool.memory == Memory::Device { 0 } else { 3 });
        }
        driver.device(location.id).map_err(|_| Code::INVALID_VALUE)?;
        flags.set(3)
    }

    /// Sets who can use a pool's memory.
    fn cuMemPoolSetAccess(of_pool: Handle<Pool>, accesses: In<Access>, count: usize) {
        let driver = driver()?;
        pool(driver, of_pool)?;
        for Access { location, flags } in accesses.all(count)? {
            driver.device(location.id)?;
            // The device that has the memory keeps its access.
            ensure(flags == 3, Code::INVALID_DEVICE)?;
        }
        Ok(())
    }
}
