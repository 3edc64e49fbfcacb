//! Launches that prefer larger clusters, from sm_100 on.
//!
//! The driver's state is the process's own, so there is one test in this file.

mod driver_api;

use driver_api::*;
use std::ffi::c_void;

unsafe extern "C" {
    fn cuLaunchKernelEx(
        config: *const Config,
        function: u64,
        parameters: *mut *mut c_void,
        extra: *mut u64,
    ) -> u32;
}

/// `CUlaunchAttribute`
#[repr(C)]
#[derive(Clone, Copy)]
struct Attribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

/// `CUlaunchConfig`
#[repr(C)]
struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
    attributes: *const Attribute,
    count: u32,
}

/// `CUlaunchAttributeID` values.
const CLUSTER: u32 = 4;
const PREFERRED: u32 = 11;

const INVALID_CLUSTER_SIZE: u32 = 912;

/// Each CTA writes how many CTAs its cluster has.
const SOURCE: &std::ffi::CStr = c".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %d;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %cluster_nctarank;
    ld.param.u64 %d, [p];
    mad.wide.u32 %d, %r0, 4, %d;
    st.global.u32 [%d], %r1;
    ret;
}
";

fn attribute(id: u32, x: u32, z: u32) -> Attribute {
    let mut value = [0; 16];
    value[..3].copy_from_slice(&[x, 1, z]);
    Attribute { id, padding: 0, value }
}

#[test]
fn blocks_are_grouped_into_the_preferred_clusters() {
    let (mut context, mut module, mut function, mut p) = (0, 0, 0, 0u64);
    let mut sizes = [0u32; 8];
    // SAFETY: no other thread reads the environment yet; the functions are called as the driver API says, and pointers are
    // valid for what is read and written.
    unsafe {
        std::env::set_var("SOFTWARP_ARCH", "sm_100");
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuModuleLoadData(&mut module, SOURCE.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, c"k".as_ptr().cast()), 0);
        assert_eq!(cuMemAlloc_v2(&mut p, 32), 0);
        let mut arguments: [*mut c_void; 1] = [(&raw mut p).cast()];
        let mut launch = |attributes: &[Attribute]| {
            let (block, attributes, count) = ([32, 1, 1], attributes.as_ptr(), attributes.len() as u32);
            let config = Config { grid: [8, 1, 1], block, shared: 0, stream: 0, attributes, count };
            let code = cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), std::ptr::null_mut());
            if code == 0 {
                assert_eq!(cuCtxSynchronize(), 0);
                assert_eq!(cuMemcpyDtoH_v2(sizes.as_mut_ptr().cast(), p, 32), 0);
            }
            if code == 0 { Ok(sizes) } else { Err(code) }
        };
        let [two, four] = [attribute(CLUSTER, 2, 1), attribute(PREFERRED, 4, 1)];
        assert_eq!(launch(&[two]), Ok([2; 8]));
        assert_eq!(launch(&[two, four]), Ok([4; 8]));
        assert_eq!(launch(&[four, two]), Ok([4; 8]), "in any order");
        assert_eq!(launch(&[four]), Ok([4; 8]), "without another size");
        assert_eq!(launch(&[two, attribute(PREFERRED, 3, 1)]), Err(INVALID_CLUSTER_SIZE), "no multiple");
        assert_eq!(
            launch(&[two, attribute(PREFERRED, 16, 1)]),
            Err(INVALID_CLUSTER_SIZE),
            "more than the grid"
        );
        assert_eq!(launch(&[two, attribute(PREFERRED, 4, 2)]), Err(INVALID_CLUSTER_SIZE), "another depth");
    }
}
