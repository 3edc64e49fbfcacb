//! A panic while compiled code runs, as a mistake in softwarp would be: the launch ends with `CUDA_ERROR_UNKNOWN` and a
//! message, and the process goes on.
//!
//! The driver's state is the process's own, so there is one test in this file.

mod driver_api;

use cuda::code::Code;
use driver_api::*;
use softwarp::vm::injected::panic_in_next_callback;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Compiled code leaves `%smid` to the interpreter, and a kernel that reads it waits for nothing: it runs on the thread that
/// launches it.
const SOURCE: &str = "
.version 8.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %d<4>;
    .reg .b32 %r<2>;
    ld.param.u64 %d1, [p];
    mov.u32 %r1, %smid;
    cvt.u64.u32 %d2, %r1;
    st.global.u64 [%d1], %d2;
    ret;
}
";

#[test]
fn a_panic_in_compiled_code_is_an_unknown_error() {
    let report = std::env::temp_dir().join(format!("softwarp-panic-{}", std::process::id()));
    // SAFETY: no other thread of the process reads variables now.
    unsafe {
        std::env::set_var("SOFTWARP_JIT", "on");
        std::env::set_var("SOFTWARP_REPORT", &report);
    }
    let text = std::ffi::CString::new(SOURCE).expect("no NUL");
    let (mut context, mut module, mut function, mut p) = (0, 0, 0, 0u64);
    // SAFETY: the functions are called as the driver API says: pointers are valid for what is read and written.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuModuleLoadData(&mut module, text.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, c"k".as_ptr().cast()), 0);
        assert_eq!(cuMemAlloc_v2(&mut p, 8), 0);
        let mut arguments: [*mut c_void; 1] = [(&raw mut p).cast()];
        let mut launch =
            || cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, 0, arguments.as_mut_ptr(), null_mut());
        assert_eq!((launch(), cuCtxSynchronize()), (0, 0));
        panic_in_next_callback();
        assert_eq!(launch(), 0);
        assert_eq!(cuCtxSynchronize(), Code::UNKNOWN.0);
        assert_eq!(launch(), Code::UNKNOWN.0);
    }
    let said = std::fs::read_to_string(&report).expect("a report");
    std::fs::remove_file(&report).expect("it is there");
    let expected = "softwarp: kernel `k`: an error of softwarp itself: a test has asked for this panic";
    assert_eq!(said.lines().next(), Some(expected));
}
