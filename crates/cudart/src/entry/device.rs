//! Devices: properties, attributes, limits, flags, peers, and which one is current.

use crate::code::{Code, Done, ensure};
use crate::context::{current_device, device, device_count, ensure_context, let_go, retain, set_device};
use crate::driver::context::*;
use crate::ffi::{Bits, Out, Text, write_bytes};
use crate::properties::{Version, properties};
use crate::registry::forget_loaded;

/// `cudaDeviceMapHost`: memory of the host is always mapped.
const MAP_HOST: u32 = 8;
/// The flags that are kept: scheduling, local memory, and synchronisation of copies.
const KEPT_FLAGS: u32 = 7 | 16 | 128;

/// Checks flags, and gives those that are kept.
fn checked_flags(flags: u32) -> Result<u32, Code> {
    ensure(flags <= 0xff && matches!(flags & 7, 0 | 1 | 2 | 4), Code::INVALID_VALUE)?;
    Ok(flags & KEPT_FLAGS)
}

/// Writes the properties of a device.
fn get_properties(place: u64, number: i32, version: Version) -> Done {
    ensure(place != 0, Code::INVALID_VALUE)?;
    let bytes = properties(device(number)?, version)?;
    write_bytes(place, &bytes);
    Ok(())
}

/// Asks the driver for something of the current context, which must have a place.
fn of_context<T: Bits>(place: Out<T>, get: impl FnOnce(Out<T>) -> Done) -> Done {
    place.required()?;
    ensure_context()?;
    get(place)
}

/// Destroys the primary context of the thread's device.
fn reset() -> Done {
    let Some(device) = let_go()? else { return Ok(()) };
    forget_loaded();
    cuDevicePrimaryCtxReset_v2(device)
}

crate::entries! {
    /// How many devices there are.
    fn cudaGetDeviceCount(count: Out<i32>) {
        count.required()?;
        count.set(device_count()?)
    }

    /// The device of the thread.
    fn cudaGetDevice(number: Out<i32>) {
        number.required()?;
        number.set(current_device()?)
    }

    /// Chooses the device of the thread.
    fn cudaSetDevice(number: i32) {
        set_device(number)
    }

    /// Makes the context of a device.
    fn cudaInitDevice(number: i32, device_flags: u32, flags: u32) {
        let number = device(number)?;
        ensure(flags <= 1, Code::INVALID_VALUE)?;
        if flags == 1 {
            cuDevicePrimaryCtxSetFlags_v2(number, checked_flags(device_flags)?)?;
        }
        retain(number).map(|_| ())
    }

    /// The device that is most like what is asked for: the first.
    fn cudaChooseDevice(number: Out<i32>, properties: u64) {
        number.required()?;
        ensure(properties != 0, Code::INVALID_VALUE)?;
        device_count()?;
        number.set(0)
    }

    /// The devices that the program wants to use: the first of them is taken.
    fn cudaSetValidDevices(devices: crate::ffi::In<i32>, count: i32) {
        device_count()?;
        let devices = devices.all(usize::try_from(count).map_err(|_| Code::INVALID_VALUE)?)?;
        devices.into_iter().try_for_each(|number| device(number).map(|_| ()))
    }

    /// The properties of a device.
    fn cudaGetDeviceProperties(place: u64, number: i32) {
        get_properties(place, number, Version::Cuda13)
    }

    /// The properties of a device in the structure of CUDA 12.
    fn v12_cudaGetDeviceProperties_v2(place: u64, number: i32) {
        get_properties(place, number, Version::Cuda12)
    }

    /// An attribute of a device.
    fn cudaDeviceGetAttribute(value: Out<i32>, attribute: i32, number: i32) {
        value.required()?;
        cuDeviceGetAttribute(value, attribute, device(number)?)
    }

    /// The bus id of a device.
    fn cudaDeviceGetPCIBusId(id: Out<u8>, length: i32, number: i32) {
        id.required()?;
        cuDeviceGetPCIBusId(id, length, device(number)?)
    }

    /// The device with a bus id.
    fn cudaDeviceGetByPCIBusId(number: Out<i32>, id: Text) {
        number.required()?;
        device_count()?;
        cuDeviceGetByPCIBusId(number, id)
    }

    /// The widest 1D texture of linear memory.
    fn cudaDeviceGetTexture1DLinearMaxWidth(width: Out<usize>, format: crate::ffi::In<[i32; 5]>, number: i32) {
        width.required()?;
        let [x, y, z, w, kind] = format.get()?;
        let channels = [x, y, z, w].iter().filter(|bits| **bits != 0).count() as u32;
        let format = match (kind, x) {
            (1, 8) => 0x01,
            (1, 16) => 0x02,
            (1, 32) => 0x03,
            (0, 8) => 0x08,
            (0, 16) => 0x09,
            (0, 32) => 0x0a,
            (2, 16) => 0x10,
            (2, 32) => 0x20,
            _ => return Err(Code::INVALID_CHANNEL_DESCRIPTOR),
        };
        cuDeviceGetTexture1DLinearMaxWidth(width, format, channels, device(number)?)
    }

    /// The flags of the thread's device.
    fn cudaGetDeviceFlags(flags: Out<u32>) {
        flags.required()?;
        let (mut found, mut active) = (0, 0);
        cuDevicePrimaryCtxGetState(current_device()?, Out::of(&mut found), Out::of(&mut active))?;
        flags.set(found | MAP_HOST)
    }

    /// Sets the flags of the thread's device.
    fn cudaSetDeviceFlags(flags: u32) {
        device_count()?;
        cuDevicePrimaryCtxSetFlags_v2(current_device()?, checked_flags(flags)?)
    }

    /// Waits for all work of the device.
    fn cudaDeviceSynchronize() {
        ensure_context()?;
        cuCtxSynchronize()
    }

    /// Destroys all that the process has on the device.
    fn cudaDeviceReset() {
        reset()
    }

    /// A limit.
    fn cudaDeviceGetLimit(value: Out<usize>, limit: u32) {
        of_context(value, |value| cuCtxGetLimit(value, limit))
    }

    /// Sets a limit.
    fn cudaDeviceSetLimit(limit: u32, value: usize) {
        ensure_context()?;
        cuCtxSetLimit(limit, value)
    }

    /// How kernels want the cache.
    fn cudaDeviceGetCacheConfig(config: Out<u32>) {
        of_context(config, cuCtxGetCacheConfig)
    }

    /// Sets how kernels want the cache.
    fn cudaDeviceSetCacheConfig(config: u32) {
        ensure_context()?;
        cuCtxSetCacheConfig(config)
    }

    /// The banks of shared memory.
    fn cudaDeviceGetSharedMemConfig(config: Out<u32>) {
        of_context(config, cuCtxGetSharedMemConfig)
    }

    /// Sets the banks of shared memory.
    fn cudaDeviceSetSharedMemConfig(config: u32) {
        ensure_context()?;
        cuCtxSetSharedMemConfig(config)
    }

    /// The least and the greatest priority of streams.
    fn cudaDeviceGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        ensure_context()?;
        cuCtxGetStreamPriorityRange(least, greatest)
    }

    /// Forgets what was to stay in the cache.
    fn cudaCtxResetPersistingL2Cache() {
        ensure_context()?;
        cuCtxResetPersistingL2Cache()
    }

    /// Whether a device can use the memory of another.
    fn cudaDeviceCanAccessPeer(can: Out<i32>, number: i32, peer: i32) {
        can.required()?;
        cuDeviceCanAccessPeer(can, device(number)?, device(peer)?)
    }

    /// Lets the device use the memory of another.
    fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) {
        let peer = device(peer)?;
        ensure_context()?;
        ensure(peer != current_device()?, Code::PEER_ACCESS_UNSUPPORTED)?;
        cuCtxEnablePeerAccess(retain(peer)?, flags)
    }

    /// Undoes `cudaDeviceEnablePeerAccess`.
    fn cudaDeviceDisablePeerAccess(peer: i32) {
        let peer = device(peer)?;
        ensure_context()?;
        ensure(peer != current_device()?, Code::PEER_ACCESS_NOT_ENABLED)?;
        cuCtxDisablePeerAccess(retain(peer)?)
    }

    /// What two devices can do with each other.
    fn cudaDeviceGetP2PAttribute(value: Out<i32>, attribute: u32, source: i32, target: i32) {
        value.required()?;
        cuDeviceGetP2PAttribute(value, attribute, device(source)?, device(target)?)
    }

    /// The same as `cudaDeviceReset`.
    fn v12_cudaThreadExit() {
        reset()
    }

    /// The same as `cudaDeviceSynchronize`.
    fn v12_cudaThreadSynchronize() {
        ensure_context()?;
        cuCtxSynchronize()
    }

    /// The same as `cudaDeviceSetLimit`.
    fn v12_cudaThreadSetLimit(limit: u32, value: usize) {
        ensure_context()?;
        cuCtxSetLimit(limit, value)
    }

    /// The same as `cudaDeviceGetLimit`.
    fn v12_cudaThreadGetLimit(value: Out<usize>, limit: u32) {
        of_context(value, |value| cuCtxGetLimit(value, limit))
    }

    /// The same as `cudaDeviceGetCacheConfig`.
    fn v12_cudaThreadGetCacheConfig(config: Out<u32>) {
        of_context(config, cuCtxGetCacheConfig)
    }

    /// The same as `cudaDeviceSetCacheConfig`.
    fn v12_cudaThreadSetCacheConfig(config: u32) {
        ensure_context()?;
        cuCtxSetCacheConfig(config)
    }

    /// Makes a number one that the device can calculate with: every device has doubles.
    fn v12_cudaSetDoubleForDevice(number: u64) {
        ensure(number != 0, Code::INVALID_VALUE)
    }

    /// Undoes `cudaSetDoubleForDevice`.
    fn v12_cudaSetDoubleForHost(number: u64) {
        ensure(number != 0, Code::INVALID_VALUE)
    }

    /// Starts profiling: there is no profiler.
    fn cudaProfilerStart() {
        ensure_context()?;
        cuProfilerStart()
    }

    /// Ends profiling.
    fn cudaProfilerStop() {
        ensure_context()?;
        cuProfilerStop()
    }
}
