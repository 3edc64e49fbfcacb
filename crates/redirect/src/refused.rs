//! What is called in place of functions that cannot be redirected: all fail.
//!
//! They take whatever arguments, and return what the callers of the function in their place can work with.

use std::ffi::c_int;

/// `cudaErrorInsufficientDriver`: what a program gets from a runtime that is too new for the driver.
const INSUFFICIENT_DRIVER: c_int = 35;
/// `cudaErrorNotSupported`
const NOT_SUPPORTED: c_int = 801;

/// The fields of `cudaChannelFormatDesc`.
type ChannelFormat = [c_int; 5];

extern "C" fn error() -> c_int {
    INSUFFICIENT_DRIVER
}

extern "C" fn not_supported() -> c_int {
    NOT_SUPPORTED
}

extern "C" fn nothing() -> usize {
    0
}

/// A registered fat binary, which only other functions here get.
extern "C" fn registered() -> usize {
    static HANDLE: usize = 0;
    (&raw const HANDLE).addr()
}

extern "C" fn error_name() -> usize {
    c"cudaErrorInsufficientDriver".as_ptr().addr()
}

extern "C" fn error_text() -> usize {
    c"the CUDA runtime in this object is not supported by softwarp".as_ptr().addr()
}

#[repr(C)]
struct Channels(ChannelFormat);

extern "C" fn channels() -> Channels {
    Channels([0; 5])
}

/// The function in place of one of a runtime that is refused as a whole.
pub fn of(name: &[u8]) -> usize {
    match name {
        b"__cudaRegisterFatBinary" => registered as *const () as usize,
        b"cudaGetErrorName" => error_name as *const () as usize,
        b"cudaGetErrorString" => error_text as *const () as usize,
        b"cudaCreateChannelDesc" => channels as *const () as usize,
        name if is_registration(name) => nothing as *const () as usize,
        _ => error as *const () as usize,
    }
}

/// Whether a function is called by constructors and destructors of every object with kernels.
pub fn is_registration(name: &[u8]) -> bool {
    name.starts_with(b"__cudaRegister")
        || name.starts_with(b"__cudaUnregister")
        || name == b"__cudaInitModule"
}

/// The function in place of one that softwarp's runtime lacks.
pub fn lacking() -> usize {
    not_supported as *const () as usize
}
