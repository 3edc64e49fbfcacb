//! Virtual memory through the driver API: a range of two pieces that copies and kernels use as one, a piece at two
//! addresses, and what a kernel takes, as the compiler's log says it.
//!
//! The driver's state is the process's own, so there is one test in this file.

mod driver_api;

use cuda::code::Code;
use driver_api::*;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;

// What a C program is linked with.
unsafe extern "C" {
    fn cuMemCreate(handle: *mut u64, bytes: usize, properties: *const [u64; 4], flags: u64) -> u32;
    fn cuMemSetAccess(address: u64, bytes: usize, access: *const [u32; 3], count: usize) -> u32;
}

const PIECE: usize = 2 << 20;

/// `CUmemAllocationProp` for memory of the first device, and `CUmemAccessDesc` that lets it read and write.
const PROPERTIES: [u64; 4] = [1, 1, 0, 0];
const ACCESS: [u32; 3] = [1, 0, 3];

const SOURCE: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.global .u32 g[5];
.visible .entry put(.param .u64 p, .param .u32 v)\n{
    .reg .u64 %d<3>; .reg .u32 %r<3>; .shared .u32 s[8];
    ld.param.u64 %d0, [p]; ld.param.u32 %r0, [v]; mov.u32 %r1, %tid.x;
    st.volatile.shared.u32 [s], %r0; bar.sync 2;
    mul.wide.u32 %d1, %r1, 4; add.s64 %d2, %d0, %d1; st.global.u32 [%d2], %r0;
    ret;\n}\n";

/// The module's kernel, loaded with a verbose log, which is checked.
///
/// # Safety
/// A context is current.
unsafe fn kernel() -> u64 {
    /// `CU_JIT_INFO_LOG_BUFFER`, its size, and `CU_JIT_LOG_VERBOSE`.
    const OPTIONS: [u32; 3] = [3, 4, 12];
    let text = CString::new(SOURCE).expect("no NUL");
    let name = CString::new("put").expect("no NUL");
    let mut log = vec![0u8; 4096];
    let mut values = [log.as_mut_ptr() as u64, log.len() as u64, 1];
    let (mut module, mut function, mut registers) = (0, 0, 0);
    // SAFETY: the text ends with a NUL, and the log has the size that is said.
    unsafe {
        let loaded =
            cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 3, OPTIONS.as_ptr(), values.as_mut_ptr());
        assert_eq!(loaded, 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, name.as_ptr()), 0);
        assert_eq!(cuFuncGetAttribute(&mut registers, 4, function), 0);
    }
    let log = String::from_utf8(log[..values[1] as usize].to_vec()).expect("text");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[0], "ptxas info    : 20 bytes gmem");
    assert_eq!(lines[1], "ptxas info    : Compiling entry function 'put' for 'sm_90a'");
    assert_eq!(
        lines[4],
        format!("ptxas info    : Used {registers} registers, used 3 barriers, 32 bytes smem")
    );
    assert!(lines[5].starts_with("ptxas info    : Compile time = "), "{log}");
    function
}

#[test]
fn mapped_pieces_are_used_as_one_range() {
    let (mut context, mut range, mut alias) = (0, 0, 0);
    let (mut first, mut second, mut held) = (0, 0, 0);
    let (mut pooled, mut again) = (0, 0);
    let mut words = [0u32; 4];
    // SAFETY: the functions are called as the driver API says: pointers are valid for what is read and written.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        let function = kernel();

        assert_eq!(cuMemAddressReserve(&mut range, 2 * PIECE, 0, 0, 0), 0);
        assert_eq!(cuMemAddressReserve(&mut alias, PIECE, 0, 0, 0), 0);
        assert_eq!(cuMemCreate(&mut first, PIECE, &PROPERTIES, 0), 0);
        assert_eq!(cuMemCreate(&mut second, PIECE, &PROPERTIES, 0), 0);
        assert_eq!(cuMemMap(range, PIECE, 0, first, 0), 0);
        assert_eq!(cuMemMap(range + PIECE as u64, PIECE, 0, second, 0), 0);
        assert_eq!(cuMemMap(alias, PIECE, 0, second, 0), 0);
        assert_eq!(cuMemSetAccess(range, 2 * PIECE, &ACCESS, 1), 0);
        assert_eq!(cuMemSetAccess(alias, PIECE, &ACCESS, 1), 0);

        // The last words of the first piece and the first of the second.
        let middle = range + PIECE as u64 - 8;
        assert_eq!(cuMemsetD32_v2(middle, 7, 4), 0);
        let (mut address, mut value) = (middle + 4, 9u32);
        let mut parameters =
            [std::ptr::from_mut(&mut address).cast::<c_void>(), std::ptr::from_mut(&mut value).cast()];
        let launched = cuLaunchKernel(function, 1, 1, 1, 2, 1, 1, 0, 0, parameters.as_mut_ptr(), null_mut());
        assert_eq!((launched, cuCtxSynchronize()), (0, 0));
        assert_eq!(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), middle, 16), 0);
        assert_eq!(words, [7, 9, 9, 7]);
        // The second piece at its other address.
        assert_eq!(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), alias, 16), 0);
        assert_eq!(words, [9, 7, 0, 0]);

        // What is mapped stays when the handle is given back; what was unmapped means nothing.
        assert_eq!(cuMemRetainAllocationHandle(&mut held, alias), 0);
        assert_eq!((held, cuMemRelease(second), cuMemRelease(held)), (second, 0, 0));
        assert_eq!(cuMemRelease(second), Code::INVALID_VALUE.0);
        assert_eq!(cuMemUnmap(range, 2 * PIECE), 0);
        assert_eq!(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), range, 16), Code::INVALID_VALUE.0);
        assert_eq!(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), alias, 16), 0);
        assert_eq!(cuMemAddressFree(range, 2 * PIECE), 0);
        assert_eq!(cuMemAddressFree(alias, PIECE), Code::INVALID_VALUE.0);

        // A pool gives memory again in the order of the stream, without what was in it.
        assert_eq!(cuMemAllocAsync(&mut pooled, 1000, 0), 0);
        assert_eq!(cuMemsetD32_v2(pooled, 5, 4), 0);
        assert_eq!(cuMemFreeAsync(pooled, 0), 0);
        assert_eq!(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), pooled, 16), Code::INVALID_VALUE.0);
        assert_eq!(cuMemAllocAsync(&mut again, 1000, 0), 0);
        assert_eq!(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), again, 16), 0);
        assert_eq!((again, words), (pooled, [0; 4]));
    }
}
