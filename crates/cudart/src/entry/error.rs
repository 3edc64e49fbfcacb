//! Errors and versions.

use crate::code::{Code, last, take_last};
use crate::driver::context::cuDriverGetVersion;
use crate::ffi::{Out, Text};

/// The version of CUDA 12 whose runtime API this is, 12.9.
pub const LAST_12: i32 = 12090;
/// The version of CUDA 13 whose runtime API this is, 13.4.
pub const LAST_13: i32 = 13040;

/// The last error of the thread, which has none afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> u32 {
    take_last().0
}

/// The last error of the thread.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> u32 {
    last().0
}

/// The name of an error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(code: u32) -> Text {
    Text::of(Code(code).name())
}

/// What an error is called in words.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(code: u32) -> Text {
    Text::of(Code(code).text())
}

crate::entries! {
    /// The version of the runtime API.
    fn cudaRuntimeGetVersion(version: Out<i32>) {
        version.set(LAST_13)
    }

    /// The version of the runtime API for programs of CUDA 12.
    fn v12_cudaRuntimeGetVersion(version: Out<i32>) {
        version.set(LAST_12)
    }

    /// The version of the driver API that the driver has.
    fn cudaDriverGetVersion(version: Out<i32>) {
        version.required()?;
        match cuDriverGetVersion(version) {
            Err(Code::INSUFFICIENT_DRIVER) => version.set(0),
            other => other,
        }
    }
}
