//! Allocation (driver API: "Memory Management").

use crate::code::{Code, Done, ensure};
use crate::context::Context;
use crate::driver::{Driver, current, current_for, driver};
use crate::ffi::{Host, Out};
use crate::handle::{Handle, lock};
use crate::memory::{Block, Kind};
use crate::stream::Stream;
use softwarp::vm::memory::host::HostPlace;
use std::sync::Arc;

/// Blocks begin at multiples of this, as recorded.
const ALIGNMENT: u64 = 512;

/// Blocks of more than 1 MiB begin at multiples of this.
const LARGE_ALIGNMENT: u64 = 2 << 20;

/// Rows of pitched memory are multiples of this.
const PITCH: u64 = 512;

/// Takes memory of the device.
pub(crate) fn allocate(driver: &Driver, context: &Context, bytes: u64, kind: Kind) -> Result<u64, Code> {
    driver.captures.forbid_unsafe()?;
    take(driver, context, bytes, kind)
}

/// The same, even while streams are captured.
pub(crate) fn take(driver: &Driver, context: &Context, bytes: u64, kind: Kind) -> Result<u64, Code> {
    let alignment = if bytes > 1 << 20 { LARGE_ALIGNMENT } else { ALIGNMENT };
    let unwritten = driver.config.sanitize.init;
    let taken = match unwritten {
        true => driver.machine.allocate_uninitialised(bytes),
        false => driver.machine.allocate_aligned(bytes, alignment),
    };
    let base = taken.map_err(|_| Code::OUT_OF_MEMORY)?;
    record(driver, context, base, bytes, kind, 0);
    Ok(base)
}

/// Takes memory of the device where as much was freed; whether that can be.
pub(crate) fn take_again(driver: &Driver, context: &Context, base: u64, bytes: u64, kind: Kind) -> bool {
    let is_taken = driver.machine.allocate_again(base, bytes).is_ok();
    if is_taken {
        record(driver, context, base, bytes, kind, 0);
    }
    is_taken
}

fn record(driver: &Driver, context: &Context, base: u64, bytes: u64, kind: Kind, flags: u32) {
    let (context, device) = (context.handle, context.device);
    lock(&driver.blocks).insert(Block { base, bytes, kind, flags, context, device, id: 0 });
}

/// Takes memory of the host that kernels see at the same address.
pub(crate) fn allocate_host(
    driver: &Driver,
    context: &Context,
    bytes: u64,
    kind: Kind,
    flags: u32,
) -> Result<u64, Code> {
    driver.captures.forbid_unsafe()?;
    let memory = crate::ffi::shared_pages(bytes).ok_or(Code::OUT_OF_MEMORY)?;
    let base = driver.machine.map_host(&memory, HostPlace::SameAddress).map_err(|_| Code::OUT_OF_MEMORY)?;
    record(driver, context, base, bytes, kind, flags);
    Ok(base)
}

/// Runs an allocation; what fails gives the address 0.
fn give(to: Out<u64>, allocate: impl FnOnce() -> Result<u64, Code>) -> Done {
    match allocate() {
        Ok(address) => to.set(address),
        Err(code) => {
            to.set_if_any(0);
            Err(code)
        }
    }
}

/// The context of a call that names a stream, for functions of the second version of the API.
pub(crate) fn second_for(stream: Handle<Stream>) -> Result<(&'static Driver, Arc<Context>), Code> {
    let (driver, context) = current_for(stream)?;
    ensure(!context.old, Code::INVALID_CONTEXT)?;
    Ok((driver, context))
}

/// The current context, or else the one that memory belongs to.
fn context_of_memory(driver: &Driver, address: u64) -> Result<Arc<Context>, Code> {
    match driver.current_context() {
        Err(Code::INVALID_CONTEXT) => {
            let block = lock(&driver.blocks).at(address);
            block.and_then(|block| driver.active_context(block.context)).ok_or(Code::INVALID_VALUE)
        }
        current => current,
    }
}

/// The current context, for functions of the second version of the API.
pub(crate) fn second() -> Result<(&'static Driver, Arc<Context>), Code> {
    let (driver, context) = current()?;
    ensure(!context.old, Code::INVALID_CONTEXT)?;
    Ok((driver, context))
}

/// Waits for all work of the current context, and of the one that memory belongs to.
fn synchronize_for(driver: &Driver, context: &Context, block: &Block) -> Done {
    if block.context != context.handle
        && let Some(owner) = driver.active_context(block.context)
    {
        driver.synchronize(&owner)?;
    }
    driver.synchronize(context)
}

/// Frees what begins at an address. All work that was submitted is done before.
fn free(driver: &Driver, context: &Context, address: u64, is_right: impl Fn(&Block) -> bool) -> Done {
    let block = lock(&driver.blocks).at(address).filter(is_right).ok_or(Code::INVALID_VALUE)?;
    driver.captures.forbid_unsafe()?;
    synchronize_for(driver, context, &block)?;
    lock(&driver.blocks).remove(address);
    driver.release(&block);
    Ok(())
}

fn host_alloc(to: Out<u64>, bytes: usize, flags: u32) -> Done {
    give(to, || {
        let (driver, context) = second()?;
        to.required()?;
        ensure(flags & !7 == 0, Code::INVALID_VALUE)?;
        if bytes == 0 {
            return Ok(0);
        }
        // Every allocation is mapped; write combining is kept.
        allocate_host(driver, &context, bytes as u64, Kind::Pinned, flags & 4 | 2)
    })
}

crate::entries! {
    /// Takes linear memory, in contexts of the first version.
    fn cuMemAlloc(to: Out<u32>, bytes: u32) {
        let taken = current().and_then(|(driver, context)| {
            ensure(context.old, Code::INVALID_CONTEXT)?;
            ensure(bytes != 0, Code::INVALID_VALUE)?;
            allocate(driver, &context, bytes.into(), Kind::Device)
        });
        to.set_if_any(*taken.as_ref().unwrap_or(&0) as u32);
        taken?;
        to.required().map(drop)
    }

    /// Takes linear memory.
    fn cuMemAlloc_v2(to: Out<u64>, bytes: usize) {
        give(to, || {
            let driver = driver()?;
            let context = driver.current_context()?;
            driver.check_noticed_fault()?;
            ensure(!context.old, Code::INVALID_CONTEXT)?;
            to.required()?;
            ensure(bytes != 0, Code::INVALID_VALUE)?;
            allocate(driver, &context, bytes as u64, Kind::Device)
        })
    }

    /// Takes linear memory for rows.
    fn cuMemAllocPitch_v2(to: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32) {
        let mut row = 0;
        let done = give(to, || {
            let (driver, context) = second()?;
            to.required()?;
            pitch.required()?;
            ensure(matches!(element, 4 | 8 | 16) && width != 0 && height != 0, Code::INVALID_VALUE)?;
            row = (width as u64).checked_next_multiple_of(PITCH).ok_or(Code::INVALID_VALUE)?;
            let bytes = row.checked_mul(height as u64).ok_or(Code::OUT_OF_MEMORY)?;
            allocate(driver, &context, bytes, Kind::Device)
        });
        pitch.set_if_any(row as usize);
        done
    }

    /// Frees linear or managed memory.
    fn cuMemFree_v2(address: u64) {
        let driver = driver()?;
        if address == 0 {
            return Ok(());
        }
        let context = context_of_memory(driver, address);
        driver.check_fault()?;
        let context = context?;
        let is_of_graph = lock(&driver.blocks).at(address).is_some_and(|block| block.kind == Kind::Graph);
        if is_of_graph {
            driver.captures.forbid_unsafe()?;
            driver.synchronize(&context)?;
            // A graph's memory is free again for its next launch.
            let freed = lock(&driver.graph_memory).free(address);
            return ensure(freed.is_some(), Code::INVALID_VALUE);
        }
        let is_right = |block: &Block| block.pool().is_some() || matches!(block.kind, Kind::Device | Kind::Managed);
        free(driver, &context, address, is_right)
    }

    /// Takes page-locked memory.
    fn cuMemHostAlloc(to: Out<u64>, bytes: usize, flags: u32) {
        host_alloc(to, bytes, flags)
    }

    /// Takes page-locked memory.
    fn cuMemAllocHost_v2(to: Out<u64>, bytes: usize) {
        host_alloc(to, bytes, 0)
    }

    /// Frees page-locked memory.
    fn cuMemFreeHost(address: Host) {
        let driver = driver()?;
        if address.is_null() {
            return Ok(());
        }
        let context = match driver.current_context() {
            Err(Code::INVALID_CONTEXT) => {
                context_of_memory(driver, address.address()).map_err(|_| Code::INVALID_CONTEXT)?
            }
            current => current?,
        };
        driver.check_fault()?;
        free(driver, &context, address.address(), |block| block.kind == Kind::Pinned)
    }

    /// Takes managed memory: the host and kernels see it at one address.
    fn cuMemAllocManaged(to: Out<u64>, bytes: usize, flags: u32) {
        give(to, || {
            let (driver, context) = second()?;
            to.required()?;
            ensure(bytes != 0 && matches!(flags, 1 | 2), Code::INVALID_VALUE)?;
            allocate_host(driver, &context, bytes as u64, Kind::Managed, flags)
        })
    }

    /// The address by which kernels see page-locked memory.
    fn cuMemHostGetDevicePointer_v2(to: Out<u64>, address: Host, flags: u32) {
        give(to, || {
            let (driver, _) = second()?;
            to.required()?;
            ensure(flags == 0 && !address.is_null(), Code::INVALID_VALUE)?;
            let block = driver.block(address.address()).filter(Block::is_host).ok_or(Code::INVALID_VALUE)?;
            ensure(!block.is_managed(), Code::INVALID_VALUE)?;
            Ok(address.address())
        })
    }

    /// The flags of page-locked memory.
    fn cuMemHostGetFlags(flags: Out<u32>, address: Host) {
        let (driver, _) = second()?;
        flags.required()?;
        let is_right = |block: &Block| matches!(block.kind, Kind::Pinned | Kind::Registered);
        flags.set(driver.block(address.address()).filter(is_right).ok_or(Code::INVALID_VALUE)?.flags)
    }

    /// Makes memory of the program page-locked: kernels see it.
    fn cuMemHostRegister_v2(address: Host, bytes: usize, flags: u32) {
        let (driver, context) = second()?;
        ensure(!address.is_null() && bytes != 0 && flags & !0xb == 0, Code::INVALID_VALUE)?;
        let start = address.address();
        let end = start.checked_add(bytes as u64).ok_or(Code::INVALID_VALUE)?;
        let there = driver.block(start).or_else(|| driver.block(end - 1));
        match there {
            Some(Block { kind: Kind::Registered, .. }) => return Err(Code::HOST_MEMORY_ALREADY_REGISTERED),
            Some(_) => return Err(Code::INVALID_VALUE),
            None => {}
        }
        driver.captures.forbid_unsafe()?;
        crate::registered::map(&driver.machine, start, end)?;
        record(driver, &context, start, bytes as u64, Kind::Registered, flags & 1 | 2);
        Ok(())
    }

    /// Ends the registration of memory of the program.
    fn cuMemHostUnregister(address: Host) {
        let driver = driver()?;
        ensure(!address.is_null(), Code::INVALID_VALUE)?;
        let context = driver.current_context()?;
        driver.check_fault()?;
        let start = address.address();
        let block = match driver.block(start) {
            Some(block) if block.kind == Kind::Registered && block.base == start => block,
            Some(_) => return Err(Code::INVALID_VALUE),
            None => return Err(Code::HOST_MEMORY_NOT_REGISTERED),
        };
        driver.captures.forbid_unsafe()?;
        synchronize_for(driver, &context, &block)?;
        if let Some(block) = lock(&driver.blocks).remove(start) {
            crate::registered::unmap(&driver.machine, block.base, block.base + block.bytes);
        }
        Ok(())
    }

    /// Free memory, and all of it.
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        free.set_if_any(0);
        total.set_if_any(0);
        let (driver, _) = second()?;
        let all = driver.config.device_memory();
        let created = lock(&driver.virtual_memory).bytes();
        let used = created.saturating_add(lock(&driver.blocks).device_bytes());
        free.set_if_any(all.saturating_sub(used) as usize);
        total.set_if_any(all as usize);
        Ok(())
    }

    /// The allocation that an address is in.
    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, address: u64) {
        let found = second().and_then(|(driver, _)| {
            if base.is_null() && bytes.is_null() {
                return Ok(None);
            }
            driver.block(address).map(Some).ok_or(Code::NOT_FOUND)
        });
        match found {
            Ok(None) => Ok(()),
            Ok(Some(block)) => {
                base.set_if_any(block.base);
                bytes.set_if_any(block.bytes as usize);
                Ok(())
            }
            Err(code) => {
                base.set_if_any(0);
                bytes.set_if_any(0);
                Err(code)
            }
        }
    }
}
