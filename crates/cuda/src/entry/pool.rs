//! Memory pools and allocation in the order of streams (driver API: "Stream Ordered Memory Allocator").

use super::memory::take as take_memory;
use super::stream::of;
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::driver::capture::Status;
use crate::driver::work::Work;
use crate::driver::{Driver, driver};
use crate::ffi::{In, Out};
use crate::handle::{Handle, lock};
use crate::memory::Kind;
use crate::pool::{Pool, Usage};
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

/// `CU_MEM_LOCATION_TYPE_DEVICE`
const DEVICE: u32 = 1;

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
        let address = take_memory(driver, &context, bytes as u64, Kind::Pooled(handle.bits()))?;
        lock(&pool.usage).take(bytes as u64);
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
        let block = lock(&driver.blocks).at(address).filter(|block| !block.is_host()).ok_or(Code::INVALID_VALUE)?;
        ensure(!matches!(block.kind, Kind::Variable(_)), Code::INVALID_VALUE)?;
        let is_captured = driver.captures.status(stream.id) != Status::None;
        if is_captured || block.kind == Kind::Graph {
            ensure(is_captured || lock(&driver.graph_memory).is_live(address), Code::INVALID_VALUE)?;
            return driver.issue(&context, &stream, Work::Free(address));
        }
        driver.give_back(&block);
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
        let PoolProperties { allocation, handles, location, .. } = properties;
        ensure(matches!(allocation, 1 | 2) && matches!(location.kind, 1..=3), Code::INVALID_VALUE)?;
        ensure(handles & !9 == 0, Code::INVALID_VALUE)?;
        if location.kind == DEVICE {
            driver.device(location.id).map_err(|_| Code::INVALID_VALUE)?;
        }
        to.set(driver.pools.insert(Arc::default()).ok_or(Code::OUT_OF_MEMORY)?)
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
        pool(driver, of_pool)?;
        let location = location.get()?;
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
