//! A program of the driver API: a module, buffers, a launch, and the result; then a fault, which stays.
//!
//! The driver's state is the process's own, so there is one test in this file.

mod driver_api;

use cuda::code::Code;
use driver_api::*;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

const SOURCE: &str = include_str!("../../../bench/kernels/saxpy.ptx");

/// The first kernel of a text.
fn kernel_name() -> CString {
    let (_, rest) = SOURCE.split_once(".entry ").expect("a kernel");
    let name: String = rest.chars().take_while(|&it| it.is_alphanumeric() || it == '_').collect();
    CString::new(name).expect("no NUL")
}

#[test]
fn a_program_runs_and_a_fault_stays() {
    let n = 1000u32;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut y: Vec<f32> = vec![1.0; n as usize];
    let bytes = 4 * n as usize;
    let text = CString::new(SOURCE).expect("no NUL");
    let (mut count, mut context, mut module, mut function) = (0, 0, 0, 0);
    let (mut px, mut py) = (0u64, 0u64);
    // SAFETY: the functions are called as the driver API says: pointers are valid for what is read and written.
    unsafe {
        assert_eq!(cuMemAlloc_v2(&mut px, 16), Code::NOT_INITIALIZED.0);
        assert_eq!(cuInit(0), 0);
        assert_eq!((cuDeviceGetCount(&mut count), count), (0, 1));
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuModuleLoadData(&mut module, text.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, c"nothing".as_ptr().cast()), Code::NOT_FOUND.0);
        assert_eq!(cuModuleGetFunction(&mut function, module, kernel_name().as_ptr().cast()), 0);
        assert_eq!((cuMemAlloc_v2(&mut px, bytes), cuMemAlloc_v2(&mut py, bytes)), (0, 0));
        assert_eq!(cuMemcpyHtoD_v2(px, x.as_ptr().cast(), bytes), 0);
        assert_eq!(cuMemcpyHtoD_v2(py, y.as_ptr().cast(), bytes), 0);
        assert_eq!(cuMemcpyHtoD_v2(py, y.as_ptr().cast(), bytes + 1), Code::INVALID_VALUE.0);
    }
    let (mut size, mut factor) = (n, 2.0f32);
    let mut launch = |x: &mut u64, y: &mut u64| {
        let mut arguments: Vec<*mut c_void> = Vec::new();
        // In the order of the kernel's parameters.
        for parameter in parameters() {
            arguments.push(match parameter {
                'n' => (&raw mut size).cast(),
                'a' => (&raw mut factor).cast(),
                'x' => (&raw mut *x).cast(),
                _ => (&raw mut *y).cast(),
            });
        }
        // SAFETY: each argument points to as many bytes as the parameter has.
        unsafe { cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, 0, arguments.as_mut_ptr(), null_mut()) }
    };
    assert_eq!(launch(&mut px, &mut py), 0);
    // SAFETY: as above.
    unsafe {
        assert_eq!(cuMemcpyDtoH_v2(y.as_mut_ptr().cast(), py, bytes), 0);
    }
    assert!(y.iter().enumerate().all(|(i, &value)| value == 2.0 * i as f32 + 1.0));
    // A null pointer in a kernel: the launch is accepted, and everything after it fails.
    let mut nothing = 0u64;
    assert_eq!(launch(&mut px, &mut nothing), 0);
    // SAFETY: as above.
    unsafe {
        assert_eq!(cuCtxSynchronize(), Code::ILLEGAL_ADDRESS.0);
        assert_eq!(cuStreamQuery(0), Code::ILLEGAL_ADDRESS.0);
        assert_eq!(cuMemFree_v2(px), Code::ILLEGAL_ADDRESS.0);
        assert_eq!(cuMemcpyHtoD_v2(px, null(), 0), Code::ILLEGAL_ADDRESS.0);
    }
}

/// What the kernel's parameters are: `n`, `a`, `x` and `y`, by their types and order in the text.
fn parameters() -> Vec<char> {
    let (_, rest) = SOURCE.split_once(".entry ").expect("a kernel");
    let (list, _) = rest.split_once(')').expect("parameters");
    let mut pointers = ['x', 'y'].into_iter();
    let kinds = list.split(".param ").skip(1).map(|parameter| match parameter {
        it if it.contains(".u64") => pointers.next().expect("two pointers"),
        it if it.contains(".f32") => 'a',
        _ => 'n',
    });
    kinds.collect()
}
