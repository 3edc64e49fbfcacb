//! Errors and versions.

use crate::code::{Code, last, take_last};
use crate::driver::context::cuDriverGetVersion;
use crate::ffi::{Out, Text};

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
        version.set(13040)
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
