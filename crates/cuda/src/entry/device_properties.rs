//! Properties of devices beside their attributes (driver API: "Device Management", "Green Contexts").

use super::memory::second;
use crate::attributes::attribute;
use crate::c_struct;
use crate::code::{Code, ensure};
use crate::context::Context;
use crate::driver::{Driver, driver};
use crate::ffi::{Host, Out};
use crate::handle::Handle;
use crate::image::format_of;

c_struct! {
    /// `CUdevResource`
    DeviceResource {
        kind: u32,
        padding: [u8; 92],
        /// How many multiprocessors, the fewest that can be taken, and in what multiples.
        multiprocessors: [u32; 3],
        rest: [u32; 7],
        next: u64,
    }
}

/// `CU_DEV_RESOURCE_TYPE_SM`
const MULTIPROCESSORS: u32 = 1;

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`
const MULTIPROCESSOR_COUNT: u32 = 16;

/// Bytes of the largest texture over a row of memory, and the most texels of one.
const MOST_LINEAR: (u64, u64) = (1 << 32, 1 << 30);

/// All multiprocessors of a device.
fn all_of(driver: &Driver, device: i32, kind: u32) -> Result<DeviceResource, Code> {
    let gpu = driver.device(device)?;
    ensure(kind == MULTIPROCESSORS, Code::INVALID_VALUE)?;
    let count = attribute(driver.config.arch, gpu.number, MULTIPROCESSOR_COUNT).unwrap_or(1) as u32;
    let multiprocessors = [count, 8, 8];
    Ok(DeviceResource { kind, padding: [0; 92], multiprocessors, rest: [0; 7], next: 0 })
}

crate::entries! {
    /// The first fourteen attributes of a device.
    fn cuDeviceGetProperties(to: Out<[i32; 14]>, device: i32) {
        let driver = driver()?;
        to.required()?;
        let gpu = driver.device(device)?;
        let value = |index: usize| attribute(driver.config.arch, gpu.number, index as u32 + 1).unwrap_or(0);
        to.set(std::array::from_fn(value))
    }

    /// The most texels of a texture over a row of memory.
    fn cuDeviceGetTexture1DLinearMaxWidth(to: Out<usize>, format: u32, channels: u32, device: i32) {
        let driver = driver()?;
        to.required()?;
        driver.device(device)?;
        let texel = format_of(format, channels)?.bytes();
        let (bytes, texels) = MOST_LINEAR;
        to.set((bytes / u64::from(texel)).min(texels) as usize)
    }

    /// A number that Windows has for a device.
    fn cuDeviceGetLuid(_to: Host, _mask: Out<u32>, device: i32) {
        driver()?.device(device)?;
        Err(Code::NOT_SUPPORTED)
    }

    /// Makes writes of other devices visible.
    fn cuFlushGPUDirectRDMAWrites(_target: u32, _scope: u32) {
        second()?;
        Err(Code::NOT_SUPPORTED)
    }

    /// What a device has that contexts share.
    fn cuDeviceGetDevResource(device: i32, to: Out<DeviceResource>, kind: u32) {
        let driver = driver()?;
        to.required()?;
        to.set(all_of(driver, device, kind)?)
    }

    /// What a context has of its device: all.
    fn cuCtxGetDevResource(context: Handle<Context>, to: Out<DeviceResource>, kind: u32) {
        let driver = driver()?;
        to.required()?;
        let context = driver.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?;
        to.set(all_of(driver, context.device as i32, kind)?)
    }
}
