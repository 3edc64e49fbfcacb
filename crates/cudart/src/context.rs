//! The current device of a thread, and the primary contexts that this library holds.
//!
//! A context that is current is used, also one that the program made with the driver API. Else the primary context of the
//! thread's device is made current. It is retained once in a process, until `cudaDeviceReset`.

use crate::code::{Code, Done, ensure, set_unusable};
use crate::driver::context as driver;
use crate::ffi::Out;
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Locks; a thread that panicked has left nothing half done that matters here.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static DEVICE: Cell<i32> = const { Cell::new(0) };
}

/// The primary context of a device.
#[derive(Clone, Copy, Default)]
struct Primary {
    handle: u64,
    retained: bool,
}

static PRIMARIES: Mutex<Vec<Primary>> = Mutex::new(Vec::new());

/// Starts the driver and counts its devices, once.
pub fn device_count() -> Result<i32, Code> {
    static COUNT: OnceLock<Result<i32, Code>> = OnceLock::new();
    if let Some(count) = COUNT.get() {
        return *count;
    }
    // No thread waits for another one here, which may have to wait for the loader to open the driver.
    let mut count = 0;
    let started = driver::cuInit(0).and_then(|()| driver::cuDeviceGetCount(Out::of(&mut count)));
    let found = started.and_then(|()| ensure(count > 0, Code::NO_DEVICE)).map(|()| count);
    *COUNT.get_or_init(|| {
        if let Err(code) = found {
            set_unusable(code);
        }
        found
    })
}

/// Checks the number of a device.
pub fn device(number: i32) -> Result<i32, Code> {
    let count = device_count()?;
    ensure((0..count).contains(&number), Code::INVALID_DEVICE)?;
    Ok(number)
}

/// The context that is current for the driver, 0 if none is.
pub fn current_handle() -> Result<u64, Code> {
    device_count()?;
    let mut handle = 0;
    driver::cuCtxGetCurrent(Out::of(&mut handle))?;
    Ok(handle)
}

/// The device of the calling thread.
pub fn current_device() -> Result<i32, Code> {
    let handle = current_handle()?;
    let is_primary = lock(&PRIMARIES).iter().any(|it| it.handle == handle);
    if handle == 0
        || is_primary && lock(&PRIMARIES).get(DEVICE.get() as usize).is_some_and(|it| it.handle == handle)
    {
        return Ok(DEVICE.get());
    }
    let mut device = 0;
    driver::cuCtxGetDevice(Out::of(&mut device))?;
    Ok(device)
}

/// Retains the primary context of a device unless it is held.
pub fn retain(device: i32) -> Result<u64, Code> {
    let mut primaries = lock(&PRIMARIES);
    let index = device as usize;
    if primaries.len() <= index {
        primaries.resize(index + 1, Primary::default());
    }
    let primary = &mut primaries[index];
    if !primary.retained {
        let mut handle = 0;
        let retained = driver::cuDevicePrimaryCtxRetain(Out::of(&mut handle), device);
        retained.map_err(|code| if code.is_fault() { Code::DEVICES_UNAVAILABLE } else { code })?;
        *primary = Primary { handle, retained: true };
    }
    Ok(primary.handle)
}

/// Makes a context current if none is.
pub fn ensure_context() -> Done {
    let current = current_handle()?;
    let stale = current != 0 && lock(&PRIMARIES).iter().any(|it| it.handle == current && !it.retained);
    if current != 0 && !stale {
        return Ok(());
    }
    let handle = retain(DEVICE.get())?;
    if handle == current { Ok(()) } else { driver::cuCtxSetCurrent(handle) }
}

/// Makes a device the thread's own, with its primary context.
pub fn set_device(number: i32) -> Done {
    let number = device(number)?;
    DEVICE.set(number);
    let handle = retain(number)?;
    if current_handle()? == handle { Ok(()) } else { driver::cuCtxSetCurrent(handle) }
}

/// Lets go of the primary context of the thread's device; the device, if the context was held.
pub fn let_go() -> Result<Option<i32>, Code> {
    let number = current_device()?;
    match lock(&PRIMARIES).get_mut(number as usize) {
        Some(primary) if primary.retained => primary.retained = false,
        _ => return Ok(None),
    }
    Ok(Some(number))
}
