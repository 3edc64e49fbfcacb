//! Use of one device's memory by another (driver API: "Peer Context Memory Access"). All devices share one memory.

use crate::code::{Code, ensure};
use crate::context::Context;
use crate::driver::{Driver, current, driver};
use crate::ffi::Out;
use crate::handle::{Handle, lock};
use std::sync::Arc;

/// `CUdevice_P2PAttribute` values.
mod attribute {
    pub const RANK: u32 = 1;
    pub const ACCESS: u32 = 2;
    pub const ATOMICS: u32 = 3;
    pub const ARRAYS: u32 = 4;
    pub const ONLY_PARTIAL_ATOMICS: u32 = 5;
}

fn peer(driver: &Driver, handle: Handle<Context>) -> Result<Arc<Context>, Code> {
    driver.contexts.get(handle).ok().filter(|context| context.is_active()).ok_or(Code::INVALID_CONTEXT)
}

crate::entries! {
    /// Lets the current context use the memory of another one, of another device.
    fn cuCtxEnablePeerAccess(other: Handle<Context>, flags: u32) {
        let (driver, context) = current()?;
        let other = peer(driver, other)?;
        ensure(flags == 0, Code::INVALID_VALUE)?;
        ensure(other.device != context.device, Code::PEER_ACCESS_UNSUPPORTED)?;
        let is_new = lock(&driver.settings.peers).insert((context.handle, other.handle));
        ensure(is_new, Code::PEER_ACCESS_ALREADY_ENABLED)
    }

    /// Ends the use of another context's memory.
    fn cuCtxDisablePeerAccess(other: Handle<Context>) {
        let (driver, context) = current()?;
        let other = peer(driver, other)?;
        let was_there = lock(&driver.settings.peers).remove(&(context.handle, other.handle));
        ensure(was_there, Code::PEER_ACCESS_NOT_ENABLED)
    }

    /// What one device can do with the memory of another.
    fn cuDeviceGetP2PAttribute(value: Out<i32>, id: u32, from: i32, to: i32) {
        let driver = driver()?;
        value.required()?;
        driver.device(from)?;
        driver.device(to)?;
        ensure(from != to, Code::INVALID_DEVICE)?;
        value.set(match id {
            attribute::RANK | attribute::ONLY_PARTIAL_ATOMICS => 0,
            attribute::ACCESS | attribute::ATOMICS | attribute::ARRAYS => 1,
            _ => return Err(Code::INVALID_VALUE),
        })
    }
}
