//! A kernel that waits for its whole grid with the device runtime's functions, linked through the driver's linker.
//!
//! The driver's state is the process's own, so there is one test in this file.

mod driver_api;

use driver_api::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// Each thread adds 1 to a count, waits for the grid, and writes the count that it sees at its rank.
const SOURCE: &str = "
.version 8.0
.target sm_70
.address_size 64
.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.extern .func (.param .b32 r) cudaCGGetRank(.param .b64 thread, .param .b64 grid, .param .b64 handle);
.visible .entry k(.param .u64 p)
{
    .local .align 4 .b8 rank[4];
    .reg .b32 %r<4>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [p];
    atom.global.add.u32 %r1, [%d1], 1;
    { .param .b32 s; .param .b64 r;
      st.param.b32 [s], 1;
      call (r), cudaCGGetIntrinsicHandle, (s);
      ld.param.b64 %d2, [r]; }
    { .param .b64 h; .param .b32 f; .param .b32 r;
      st.param.b64 [h], %d2;
      st.param.b32 [f], 0;
      call (r), cudaCGSynchronize, (h, f); }
    cvta.local.u64 %d3, rank;
    { .param .b64 t; .param .b64 g; .param .b64 h; .param .b32 r;
      st.param.b64 [t], %d3;
      st.param.b64 [g], 0;
      st.param.b64 [h], %d2;
      call (r), cudaCGGetRank, (t, g, h); }
    ld.local.u32 %r2, [rank];
    ld.volatile.global.u32 %r3, [%d1];
    mad.wide.u32 %d4, %r2, 4, %d1;
    st.global.u32 [%d4+4], %r3;
    ret;
}
";

/// `CUjitInputType` values.
const PTX: u32 = 1;
const LIBRARY: u32 = 4;

#[test]
fn a_grid_waits_for_itself() {
    let threads = 4 * 64;
    let mut counts = vec![0u32; 1 + threads];
    let (mut context, mut linker, mut module, mut function, mut p) = (0, 0, 0, 0, 0u64);
    let (mut image, mut bytes) = (null(), 0);
    let archive = b"!<arch>\n";
    // SAFETY: the functions are called as the driver API says: pointers are valid for what is read and written.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuLinkCreate_v2(0, null(), null_mut(), &mut linker), 0);
        let add = |kind, data: &[u8]| {
            let name = c"code".as_ptr().cast();
            cuLinkAddData_v2(linker, kind, data.as_ptr().cast(), data.len(), name, 0, null(), null_mut())
        };
        // Without a NUL: the size says where the text ends.
        assert_eq!(add(PTX, SOURCE.as_bytes()), 0);
        assert_eq!(add(LIBRARY, archive), 0);
        assert_eq!(cuLinkComplete(linker, &mut image, &mut bytes), 0);
        assert_eq!(cuModuleLoadData(&mut module, image), 0);
        assert_eq!(cuLinkDestroy(linker), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, c"k".as_ptr().cast()), 0);
        assert_eq!(cuMemAlloc_v2(&mut p, 4 * counts.len()), 0);
        assert_eq!(cuMemsetD32_v2(p, 0, counts.len()), 0);
        let mut arguments: [*mut c_void; 1] = [(&raw mut p).cast()];
        let launched = cuLaunchCooperativeKernel(function, 2, 2, 1, 32, 2, 1, 0, 0, arguments.as_mut_ptr());
        assert_eq!(launched, 0);
        assert_eq!(cuMemcpyDtoH_v2(counts.as_mut_ptr().cast(), p, 4 * counts.len()), 0);
    }
    assert!(counts.iter().all(|&count| count == threads as u32), "{counts:?}");
}
