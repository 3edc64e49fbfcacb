//! Functions of the driver by name.

use super::error::{LAST_12, LAST_13};
use crate::code::{Code, Done, ensure};
use crate::context::device_count;
use crate::driver::context::*;
use crate::driver::per_thread;
use crate::ffi::{Out, Text};

/// `cudaEnableLegacyStream` and `cudaEnablePerThreadDefaultStream`.
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

/// The version of the API whose functions a program gets that names none: that of its runtime, or of an older driver.
fn of_runtime(runtime: i32) -> Result<i32, Code> {
    let mut driver = 0;
    cuDriverGetVersion(Out::of(&mut driver))?;
    Ok(driver.min(runtime))
}

fn entry_point(name: Text, function: Out<u64>, version: i32, flags: u64, status: Out<u32>) -> Done {
    function.required()?;
    ensure(!name.is_null() && flags <= PER_THREAD, Code::INVALID_VALUE)?;
    device_count()?;
    let flags = match flags {
        0 if per_thread() => PER_THREAD,
        0 => LEGACY,
        other => other,
    };
    cuGetProcAddress_v2(name, function, version, flags, status)
}

crate::entries! {
    /// A function of the driver.
    fn cudaGetDriverEntryPoint / cudaGetDriverEntryPoint_ptsz(name: Text, function: Out<u64>, flags: u64, status: Out<u32>) {
        entry_point(name, function, of_runtime(LAST_13)?, flags, status)
    }

    /// A function of the driver, as it was in CUDA 12.
    fn v12_cudaGetDriverEntryPoint / v12_cudaGetDriverEntryPoint_ptsz(name: Text, function: Out<u64>, flags: u64, status: Out<u32>) {
        entry_point(name, function, of_runtime(LAST_12)?, flags, status)
    }

    /// A function of the driver in a version of the API.
    fn cudaGetDriverEntryPointByVersion / cudaGetDriverEntryPointByVersion_ptsz(
        name: Text, function: Out<u64>, version: u32, flags: u64, status: Out<u32>,
    ) {
        let version = i32::try_from(version).map_err(|_| Code::INVALID_VALUE)?;
        entry_point(name, function, version, flags, status)
    }

    /// Tables of functions for NVIDIA's own libraries: there are none.
    fn cudaGetExportTable(table: Out<u64>, _id: u64) {
        table.set(0)?;
        Err(Code::INVALID_VALUE)
    }
}
