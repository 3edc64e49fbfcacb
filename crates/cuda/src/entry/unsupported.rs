//! Functions that refuse what they are asked for: memory and semaphores of other APIs, graphics, core dumps and
//! checkpoints.

use super::memory::second;
use crate::code::{Code, ensure};
use crate::driver::driver;
use crate::ffi::{Host, In, Out};
use crate::handle::Handle;
use crate::stream::Stream;
use crate::symbols::not_supported;

crate::entries! {
    /// Memory of another API.
    fn cuImportExternalMemory(to: Out<u64>, description: In<u64>) {
        second()?;
        to.required()?;
        description.get()?;
        Err(not_supported("cuImportExternalMemory"))
    }

    /// A semaphore of another API.
    fn cuImportExternalSemaphore(to: Out<u64>, description: In<u64>) {
        second()?;
        to.required()?;
        description.get()?;
        Err(not_supported("cuImportExternalSemaphore"))
    }

    /// Gives memory of another API back: there is none.
    fn cuDestroyExternalMemory(_memory: u64) {
        second()?;
        Err(Code::INVALID_VALUE)
    }

    /// Gives a semaphore of another API back: there is none.
    fn cuDestroyExternalSemaphore(_semaphore: u64) {
        second()?;
        Err(Code::INVALID_VALUE)
    }

    /// A setting of core dumps: there are none, so that those that are switches are off.
    fn cuCoredumpGetAttribute(id: u32, value: Out<u8>, bytes: Out<usize>) {
        second()?;
        bytes.required()?;
        ensure((1..=7).contains(&id), Code::INVALID_VALUE)?;
        ensure(id <= 4, Code::NOT_SUPPORTED)?;
        value.set_if_any(0);
        bytes.set(1)
    }

    /// A handle of memory for other devices.
    fn cuMemGetHandleForAddressRange(to: Host, address: u64, bytes: usize, _kind: u32, _flags: u64) {
        second()?;
        ensure(!to.is_null() && address != 0 && bytes != 0, Code::INVALID_VALUE)?;
        Err(not_supported("cuMemGetHandleForAddressRange"))
    }

    /// Launches kernels on several devices that wait for one another.
    fn cuLaunchCooperativeKernelMultiDevice(launches: In<u64>, count: u32, _flags: u32) {
        second()?;
        ensure(!launches.is_null() && count != 0, Code::INVALID_VALUE)?;
        Err(not_supported("cuLaunchCooperativeKernelMultiDevice"))
    }

    /// Gives a resource of a graphics API back: there is none.
    fn cuGraphicsUnregisterResource(_resource: u64) {
        second()?;
        Err(Code::INVALID_HANDLE)
    }

    /// Lets kernels use resources of a graphics API.
    fn cuGraphicsMapResources / cuGraphicsMapResources_ptsz(count: u32, resources: In<u64>, _stream: Handle<Stream>) {
        second()?;
        ensure(count != 0 && !resources.is_null(), Code::INVALID_VALUE)?;
        Err(Code::INVALID_HANDLE)
    }

    /// Calls a function when a device says something.
    fn cuDeviceRegisterAsyncNotification(device: i32, function: Host, _data: Host, to: Out<u64>) {
        driver()?.device(device)?;
        ensure(!function.is_null(), Code::INVALID_VALUE)?;
        to.required()?;
        Err(not_supported("cuDeviceRegisterAsyncNotification"))
    }

    /// What a process does that is being checkpointed: no other process is known.
    fn cuCheckpointProcessGetState(process: i32, state: Out<u32>) {
        driver()?;
        state.required()?;
        ensure(process == std::process::id() as i32, Code::OPERATING_SYSTEM)?;
        state.set(0)
    }
}
