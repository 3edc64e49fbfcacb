//! Launches by the first version of the API, which keeps parameters and sizes in the function (driver API: "Execution
//! Control (deprecated)").

use super::launch::{cuLaunchKernel, function};
use super::memory::second;
use crate::code::{Code, Done, ensure};
use crate::ffi::{Host, In};
use crate::handle::{Handle, lock};
use crate::module::Function;
use crate::settings::OldLaunch;
use crate::stream::Stream;
use std::sync::Arc;

/// The most bytes of parameters that are kept.
const MOST: usize = 1 << 16;

/// Threads of a block.
const MOST_THREADS: u64 = 1024;

/// Changes what is kept for a function.
fn change(handle: Handle<Function>, f: impl FnOnce(&Arc<Function>, &mut OldLaunch) -> Done) -> Done {
    let (driver, _) = second()?;
    let function = function(driver, handle)?;
    f(&function, lock(&driver.settings.launches).entry(handle.bits()).or_default())
}

/// Writes bytes of the parameters.
fn set(handle: Handle<Function>, offset: i32, bytes: &[u8]) -> Done {
    change(handle, |_, kept| {
        let start = usize::try_from(offset).map_err(|_| Code::INVALID_VALUE)?;
        let end = start.checked_add(bytes.len()).filter(|&end| end <= MOST).ok_or(Code::INVALID_VALUE)?;
        if kept.parameters.len() < end {
            kept.parameters.resize(end, 0);
        }
        kept.parameters[start..end].copy_from_slice(bytes);
        Ok(())
    })
}

fn launch(handle: Handle<Function>, grid: [i32; 2], stream: Handle<Stream>) -> Done {
    let (driver, _) = second()?;
    let function = function(driver, handle)?;
    let mut kept = lock(&driver.settings.launches).get(&handle.bits()).cloned().unwrap_or_default();
    // Parameters that were not set are zero.
    kept.parameters.resize(function.parameter_bytes as usize, 0);
    let [x, y] = grid.map(|size| u32::try_from(size).unwrap_or(0));
    let [block_x, block_y, block_z] = kept.block;
    let size = [kept.parameters.len()];
    let extra = [1, Host::of(&kept.parameters).address(), 2, In::of(&size).address(), 0];
    let extra = In::of(&extra);
    match cuLaunchKernel(handle, x, y, 1, block_x, block_y, block_z, kept.shared, stream, In::NULL, extra) {
        0 => Ok(()),
        code => Err(Code(code)),
    }
}

crate::entries! {
    /// Sets the size of blocks.
    fn cuFuncSetBlockShape(handle: Handle<Function>, x: i32, y: i32, z: i32) {
        change(handle, |_, kept| {
            let size = [x, y, z].map(|size| u32::try_from(size).unwrap_or(0));
            let threads = size.iter().try_fold(1u64, |all, &size| all.checked_mul(size.into()));
            ensure(threads.is_some_and(|threads| (1..=MOST_THREADS).contains(&threads)), Code::INVALID_VALUE)?;
            kept.block = size;
            Ok(())
        })
    }

    /// Sets how much dynamic shared memory launches have.
    fn cuFuncSetSharedSize(handle: Handle<Function>, bytes: u32) {
        change(handle, |function, kept| {
            ensure(bytes <= function.most_dynamic(), Code::INVALID_VALUE)?;
            kept.shared = bytes;
            Ok(())
        })
    }

    /// Says how many bytes of parameters there are: as many as the function has.
    fn cuParamSetSize(handle: Handle<Function>, _bytes: u32) {
        change(handle, |_, _| Ok(()))
    }

    /// Sets an integer parameter.
    fn cuParamSeti(handle: Handle<Function>, offset: i32, value: u32) {
        set(handle, offset, &value.to_le_bytes())
    }

    /// Sets a floating-point parameter.
    fn cuParamSetf(handle: Handle<Function>, offset: i32, value: f32) {
        set(handle, offset, &value.to_le_bytes())
    }

    /// Sets bytes of the parameters.
    fn cuParamSetv(handle: Handle<Function>, offset: i32, from: Host, bytes: u32) {
        ensure(!from.is_null() && bytes as usize <= MOST, Code::INVALID_VALUE)?;
        // SAFETY: the caller passes `bytes` bytes.
        unsafe { from.read(bytes as usize, |bytes| set(handle, offset, bytes)) }
    }

    /// Launches one block.
    fn cuLaunch(handle: Handle<Function>) {
        launch(handle, [1, 1], Handle::NULL)
    }

    /// Launches a grid.
    fn cuLaunchGrid(handle: Handle<Function>, width: i32, height: i32) {
        launch(handle, [width, height], Handle::NULL)
    }

    /// Launches a grid, in the order of a stream.
    fn cuLaunchGridAsync(handle: Handle<Function>, width: i32, height: i32, stream: Handle<Stream>) {
        launch(handle, [width, height], stream)
    }
}
