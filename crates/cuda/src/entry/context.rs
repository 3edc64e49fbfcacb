//! Contexts (driver API: "Context Management", "Primary Context Management").

use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::context::{self, Context};
use crate::driver::{Driver, current, driver};
use crate::ffi::{In, Out};
use crate::handle::{Handle, Missing, lock};
use crate::memory::{Block, Kind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `CU_CTX_MAP_HOST`: every context has it.
const MAP_HOST: u32 = 8;

/// `CU_CTX_COREDUMP_ENABLE` and `CU_CTX_USER_COREDUMP_ENABLE`
const CORE_DUMPS: u32 = 0x60;

/// Flags that contexts can have: how to wait (0, 1, 2 or 4), mapped memory, local memory, core dumps, and
/// `CU_CTX_SYNC_MEMOPS`.
fn check_flags(flags: u32) -> Done {
    ensure(flags & !0xff == 0 && matches!(flags & 7, 0 | 1 | 2 | 4), Code::INVALID_VALUE)
}

fn create(to: Out<Handle<Context>>, flags: u32, device: i32, old: bool) -> Done {
    let driver = driver()?;
    to.required()?;
    driver.device(device)?;
    check_flags(flags)?;
    driver.check_fault()?;
    // A context of the first version does not share its device.
    let taken = driver.contexts.all().iter().any(|(_, context)| context.old && context.is_active());
    ensure(!taken, Code::OUT_OF_MEMORY)?;
    // A core dump that the user triggers implies one on faults.
    let flags = if flags & 0x40 != 0 { flags & !0x40 | 0x20 } else { flags };
    let context = driver.new_context(device as u32, flags, false, old)?;
    let handle = Handle::of(context.handle);
    context::push(handle);
    to.set(handle)
}

/// Frees what belongs to a context: memory and modules. Its streams and events mean nothing without it.
fn clear(driver: &Driver, context: &Context) {
    driver.finish(&driver.streams_of(context));
    let blocks = lock(&driver.blocks).take(|block| block.context == context.handle);
    for block in blocks {
        driver.release(&block);
    }
    driver.images.clear(context.handle);
    for (handle, _) in driver.modules.all().into_iter().filter(|(_, it)| it.context == context.handle) {
        let _ = crate::entry::module::unload(driver, handle);
    }
}

/// Frees the memory of a context; modules keep their variables.
fn free_memory(driver: &Driver, context: &Context) {
    let is_memory =
        |block: &Block| block.context == context.handle && !matches!(block.kind, Kind::Variable(_));
    let blocks = lock(&driver.blocks).take(is_memory);
    for block in blocks {
        driver.release(&block);
    }
    driver.images.clear(context.handle);
}

/// The context of a handle, or the current one for null.
fn given(handle: Handle<Context>) -> Result<(&'static Driver, Arc<Context>), Code> {
    let driver = driver()?;
    if handle.is_null() {
        return Ok((driver, driver.current_context()?));
    }
    let context = driver.contexts.get(handle).map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
    ensure(context.is_active(), Code::CONTEXT_IS_DESTROYED)?;
    Ok((driver, context))
}

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`
const MULTIPROCESSOR_COUNT: u32 = 16;

c_struct! {
    /// `CUctxCreateParams`
    CreateParameters {
        affinities: In<u8>,
        affinity_count: i32,
        padding: u32,
        graphics: In<u8>,
    }
}

crate::entries! {
    /// Makes a context as the first version of the API does.
    fn cuCtxCreate(context: Out<Handle<Context>>, flags: u32, device: i32) {
        create(context, flags, device, true)
    }

    /// Makes a context and makes it current.
    fn cuCtxCreate_v2(context: Out<Handle<Context>>, flags: u32, device: i32) {
        create(context, flags, device, false)
    }

    /// Makes a context with affinities, of which there are none.
    fn cuCtxCreate_v3(context: Out<Handle<Context>>, affinities: In<u8>, count: i32, flags: u32, device: i32) {
        driver()?;
        ensure(count == 0 && affinities.is_null(), Code::INVALID_VALUE)?;
        create(context, flags, device, false)
    }

    /// Makes a context with parameters, which may be there and ask for nothing.
    fn cuCtxCreate_v4(context: Out<Handle<Context>>, parameters: In<CreateParameters>, flags: u32, device: i32) {
        driver()?;
        if !parameters.is_null() {
            let given = parameters.get()?;
            ensure(given.affinities.is_null() && given.affinity_count == 0 && given.graphics.is_null(), Code::NOT_SUPPORTED)?;
        }
        create(context, flags, device, false)
    }

    /// Destroys a context with everything in it.
    fn cuCtxDestroy_v2(context: Handle<Context>) {
        let driver = driver()?;
        ensure(!context.is_null(), Code::INVALID_VALUE)?;
        let found = driver.contexts.get(context).map_err(|missing| match missing {
            Missing::Destroyed => Code::INVALID_CONTEXT,
            Missing::Never => Code::CONTEXT_IS_DESTROYED,
        })?;
        ensure(!found.primary, Code::INVALID_CONTEXT)?;
        clear(driver, &found);
        found.active.store(false, Ordering::SeqCst);
        let _ = driver.contexts.remove(context);
        if context::current() == Some(context) {
            context::pop();
        }
        Ok(())
    }

    /// Destroys a context, by the name that the function had first.
    fn cuCtxDestroy(context: Handle<Context>) {
        match cuCtxDestroy_v2(context) {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }

    /// Makes a context current, above the one that is.
    fn cuCtxPushCurrent_v2(context: Handle<Context>) {
        let _ = driver()?;
        ensure(!context.is_null(), Code::INVALID_VALUE)?;
        context::push(context);
        Ok(())
    }

    /// Makes the context below the current one current.
    fn cuCtxPopCurrent_v2(context: Out<Handle<Context>>) {
        let _ = driver()?;
        let top = context::pop().ok_or(Code::INVALID_CONTEXT)?;
        context.set_if_any(top);
        Ok(())
    }

    /// Replaces the current context.
    fn cuCtxSetCurrent(context: Handle<Context>) {
        let _ = driver()?;
        context::replace((!context.is_null()).then_some(context));
        Ok(())
    }

    /// The current context.
    fn cuCtxGetCurrent(context: Out<Handle<Context>>) {
        let _ = driver()?;
        context.set(context::current().unwrap_or(Handle::NULL))
    }

    /// The device of the current context.
    fn cuCtxGetDevice(device: Out<i32>) {
        let driver = driver()?;
        device.required()?;
        let handle = context::current().ok_or(Code::INVALID_CONTEXT)?;
        let context = driver.contexts.get(handle).map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
        device.set(context.device as i32)
    }

    /// The device of a context.
    fn cuCtxGetDevice_v2(device: Out<i32>, context: Handle<Context>) {
        device.set(given(context)?.1.device as i32)
    }

    /// The flags of the current context.
    fn cuCtxGetFlags(flags: Out<u32>) {
        let (_, context) = current()?;
        let set = context.flags.load(Ordering::SeqCst);
        flags.set(if context.primary { set | MAP_HOST } else { set })
    }

    /// Sets the flags of the current context.
    fn cuCtxSetFlags(flags: u32) {
        let (_, context) = current()?;
        check_flags(flags)?;
        // Core dumps are not switched here.
        context.flags.store(flags & !CORE_DUMPS, Ordering::SeqCst);
        Ok(())
    }

    /// The number of a context.
    fn cuCtxGetId(context: Handle<Context>, id: Out<u64>) {
        id.set(given(context)?.1.id)
    }

    /// Waits for all work of the current context.
    fn cuCtxSynchronize() {
        let (driver, context) = current()?;
        driver.synchronize_context(&context)
    }

    /// Waits for all work of a context.
    fn cuCtxSynchronize_v2(context: Handle<Context>) {
        let (driver, context) = given(context)?;
        driver.check_fault()?;
        driver.synchronize_context(&context)
    }

    /// Sets a limit.
    fn cuCtxSetLimit(limit: u32, value: usize) {
        let (driver, context) = current()?;
        driver.captures.forbid_unsafe()?;
        let value = crate::limits::rounded(limit, value as u64)?;
        // The buffer of `printf` is there once a kernel that prints was launched.
        ensure(limit != crate::limits::PRINTF || !driver.has_printed(), Code::INVALID_VALUE)?;
        // So is the heap of `malloc`.
        ensure(limit != crate::limits::HEAP || driver.machine.set_heap(value), Code::INVALID_VALUE)?;
        context.limits[crate::limits::index(limit)?].store(value, Ordering::SeqCst);
        Ok(())
    }

    /// A limit.
    fn cuCtxGetLimit(value: Out<usize>, limit: u32) {
        let (_, context) = current()?;
        value.required()?;
        value.set(context.limits[crate::limits::index(limit)?].load(Ordering::SeqCst) as usize)
    }

    /// How many multiprocessors the context has: all of them (`CUexecAffinityParam`).
    fn cuCtxGetExecAffinity(to: Out<[u32; 2]>, kind: u32) {
        let (driver, _) = current()?;
        to.required()?;
        ensure(kind == 0, Code::INVALID_VALUE)?;
        let count = crate::attributes::attribute(driver.config.arch, 0, MULTIPROCESSOR_COUNT);
        to.set([kind, count.map_or(0, |count| count as u32)])
    }

    /// Which cache is preferred: it means nothing here.
    fn cuCtxGetCacheConfig(config: Out<u32>) {
        let (_, context) = current()?;
        config.set(context.cache.load(Ordering::SeqCst))
    }

    /// Sets which cache is preferred.
    fn cuCtxSetCacheConfig(config: u32) {
        let (_, context) = current()?;
        ensure(config <= 3, Code::INVALID_VALUE)?;
        context.cache.store(config, Ordering::SeqCst);
        Ok(())
    }

    /// The size of shared memory banks.
    fn cuCtxGetSharedMemConfig(config: Out<u32>) {
        current()?;
        config.set(1)
    }

    /// Sets the size of shared memory banks: it is fixed.
    fn cuCtxSetSharedMemConfig(config: u32) {
        current()?;
        ensure(config <= 2, Code::INVALID_VALUE)
    }

    /// The version of the API that a context is for.
    fn cuCtxGetApiVersion(context: Handle<Context>, version: Out<u32>) {
        let driver = driver()?;
        let context = match context.is_null() {
            true => driver.current_context()?,
            false => driver.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?,
        };
        version.set(if context.old { 3010 } else { 3020 })
    }

    /// The lowest and the highest priority of streams.
    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        current()?;
        least.set_if_any(0);
        greatest.set_if_any(-5);
        Ok(())
    }

    /// Forgets what is kept in the second-level cache: nothing.
    fn cuCtxResetPersistingL2Cache() {
        current()?;
        Ok(())
    }

    /// The current context, in an old way.
    fn cuCtxAttach(context: Out<Handle<Context>>, flags: u32) {
        let (_, found) = current()?;
        ensure(flags == 0, Code::INVALID_VALUE)?;
        context.set(Handle::of(found.handle))?;
        found.attached.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Destroys a context, in an old way.
    fn cuCtxDetach(context: Handle<Context>) {
        let (_, found) = current()?;
        ensure(context.bits() == found.handle, Code::INVALID_CONTEXT)?;
        if found.attached.load(Ordering::SeqCst) > 0 {
            found.attached.fetch_sub(1, Ordering::SeqCst);
            return Ok(());
        }
        match cuCtxDestroy_v2(context) {
            0 => Ok(()),
            code => Err(Code(code)),
        }
    }

    /// Retains a device's primary context.
    fn cuDevicePrimaryCtxRetain(context: Out<Handle<Context>>, device: i32) {
        let driver = driver()?;
        let gpu = driver.device(device)?;
        context.required()?;
        driver.check_fault()?;
        let mut primary = lock(&gpu.primary);
        let flags = primary.flags;
        let made = match &primary.context {
            Some(made) => made.clone(),
            None => driver.new_context(device as u32, flags, true, false)?,
        };
        made.active.store(true, Ordering::SeqCst);
        made.flags.store(flags, Ordering::SeqCst);
        primary.count += 1;
        primary.context = Some(made.clone());
        context.set(Handle::of(made.handle))
    }

    /// Releases a device's primary context.
    fn cuDevicePrimaryCtxRelease_v2(device: i32) {
        let driver = driver()?;
        let gpu = driver.device(device)?;
        let mut primary = lock(&gpu.primary);
        primary.count = primary.count.checked_sub(1).ok_or(Code::INVALID_CONTEXT)?;
        if primary.count == 0 && let Some(context) = primary.context.clone() {
            driver.finish(&driver.streams_of(&context));
            context.active.store(false, Ordering::SeqCst);
            primary.flags = 0;
        }
        Ok(())
    }

    /// Empties a device's primary context.
    fn cuDevicePrimaryCtxReset_v2(device: i32) {
        let driver = driver()?;
        let gpu = driver.device(device)?;
        let primary = lock(&gpu.primary);
        if let Some(context) = primary.context.clone() {
            driver.finish(&driver.streams_of(&context));
            free_memory(driver, &context);
            context.active.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    /// The flags of a device's primary context, and whether it is there.
    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        let driver = driver()?;
        let gpu = driver.device(device)?;
        flags.required()?;
        active.required()?;
        let primary = lock(&gpu.primary);
        let is_active = primary.context.as_ref().is_some_and(|context| context.is_active());
        flags.set(primary.flags)?;
        active.set(i32::from(is_active))
    }

    /// Sets the flags of a device's primary context.
    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) {
        let driver = driver()?;
        let gpu = driver.device(device)?;
        ensure(flags & MAP_HOST == 0, Code::INVALID_VALUE)?;
        check_flags(flags)?;
        let mut primary = lock(&gpu.primary);
        primary.flags = flags;
        if let Some(context) = &primary.context {
            context.flags.store(flags, Ordering::SeqCst);
        }
        Ok(())
    }
}
