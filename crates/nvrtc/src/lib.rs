//! A shared library with the functions of NVRTC, NVIDIA's compiler for CUDA C++ at run time, that hands every call to
//! NVIDIA's own library.
//!
//! A cubin that NVRTC makes has no PTX in it, unless `-lineinfo` is among the options. softwarp runs PTX. So this
//! library adds the option where machine code is made. `softwarp exec` puts it where programs look for NVRTC.

#![allow(non_snake_case, reason = "NVRTC's functions have their own names")]

pub mod compile;
mod library;
mod options;
mod place;

use std::ffi::{c_char, c_int, c_long, c_void};

/// `NVRTC_ERROR_INTERNAL_ERROR`
const INTERNAL_ERROR: c_long = 11;

/// Six words hold the arguments of every function: none has more, and none takes or returns other numbers than whole
/// ones and pointers.
macro_rules! forward {
    ($name:ident) => {
        /// Handed on as it is.
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long {
            library::call(stringify!($name), [a, b, c, d, e, f]).unwrap_or(INTERNAL_ERROR)
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/api.rs"));

/// Compiles a program. Where machine code is made, it keeps its PTX.
#[unsafe(no_mangle)]
extern "C" fn nvrtcCompileProgram(program: *mut c_void, count: c_int, given: *const *const c_char) -> c_long {
    let call = |count: c_int, list: *const *const c_char| {
        let arguments = [program as c_long, c_long::from(count), list as c_long, 0, 0, 0];
        library::call("nvrtcCompileProgram", arguments).unwrap_or(INTERNAL_ERROR)
    };
    let Some(list) = library::strings(given, count) else { return call(count, given) };
    if !options::needs_line_info(&list) {
        return call(count, given);
    }
    let mut longer = library::pointers(given, count);
    longer.push(c"-lineinfo".as_ptr());
    call(count.saturating_add(1), longer.as_ptr())
}

/// The name of a result. It is asked for where the library was not found, too.
#[unsafe(no_mangle)]
extern "C" fn nvrtcGetErrorString(result: c_int) -> *const c_char {
    match library::call("nvrtcGetErrorString", [c_long::from(result), 0, 0, 0, 0, 0]) {
        Some(text) => text as *const c_char,
        None => c"NVRTC_ERROR_INTERNAL_ERROR".as_ptr(),
    }
}
