//! Arrays, textures and surfaces through the driver API: copies of rows, what kernels read and write, and a stream that
//! waits for a number in memory.
//!
//! The driver's state is the process's own, so there is one test in this file.

mod driver_api;

use cuda::code::Code;
use driver_api::*;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

// What a C program is linked with.
unsafe extern "C" {
    fn cuMemcpy2D_v2(copy: *const Copy2D) -> u32;
    fn cuArrayCreate_v2(array: *mut u64, descriptor: *const [u64; 3]) -> u32;
    fn cuTexObjectCreate(
        object: *mut u64,
        resource: *const [u64; 18],
        sampling: *const [u32; 26],
        view: *const c_void,
    ) -> u32;
}

/// A side of `CUDA_MEMCPY2D`: x, y, the kind of memory, host, device, array, pitch.
type Side = [u64; 7];

/// `CUDA_MEMCPY2D`
#[repr(C)]
struct Copy2D {
    from: Side,
    to: Side,
    width: u64,
    height: u64,
}

const SOURCE: &str = "
.version 8.0
.target sm_90
.address_size 64
.global .texref row;
.global .surfref plane;
.visible .entry between(.param .u64 out, .param .u64 texture) {
    .reg .b64 %o, %t; .reg .f32 %x, %y, %r<4>;
    ld.param.u64 %o, [out]; ld.param.u64 %t, [texture];
    mov.f32 %x, 0f40000000; mov.f32 %y, 0f3FC00000;
    tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x, %y}];
    st.global.f32 [%o], %r0; ret;
}
.visible .entry fifth(.param .u64 out) {
    .reg .b64 %o; .reg .b32 %i; .reg .f32 %r<4>;
    ld.param.u64 %o, [out]; mov.u32 %i, 5;
    tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [row, {%i}];
    st.global.f32 [%o], %r0; ret;
}
.visible .entry exchange(.param .u64 out) {
    .reg .b64 %o; .reg .b32 %x, %y, %v;
    ld.param.u64 %o, [out]; mov.u32 %x, 4; mov.u32 %y, 2;
    suld.b.2d.b32.trap {%v}, [plane, {%x, %y}];
    st.global.u32 [%o], %v; mov.b32 %v, 0f42C80000;
    sust.b.2d.b32.trap [plane, {%x, %y}], {%v}; ret;
}
.visible .entry three(.param .u64 out) {
    .reg .b64 %o; .reg .b32 %v;
    ld.param.u64 %o, [out]; mov.u32 %v, 3; st.global.u32 [%o], %v; ret;
}
";

const HOST: u64 = 1;
const DEVICE: u64 = 2;
const ARRAY: u64 = 3;

/// `CU_AD_FORMAT_FLOAT`, one channel.
const FLOAT: u64 = 0x20 | 1 << 32;

fn launch(module: u64, name: &str, stream: u64, arguments: &mut [u64]) {
    let (name, mut function) = (CString::new(name).expect("no NUL"), 0);
    let mut pointers: Vec<*mut c_void> = arguments.iter_mut().map(|it| (&raw mut *it).cast()).collect();
    // SAFETY: each argument points to as many bytes as the parameter has.
    unsafe {
        assert_eq!(cuModuleGetFunction(&mut function, module, name.as_ptr()), 0);
        let pointers = pointers.as_mut_ptr();
        assert_eq!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, pointers, null_mut()), 0);
    }
}

fn number(address: u64) -> f32 {
    let mut value = 0.0f32;
    // SAFETY: there is room for a number.
    assert_eq!(unsafe { cuMemcpyDtoH_v2((&raw mut value).cast(), address, 4) }, 0);
    value
}

fn allocate(bytes: usize) -> u64 {
    let mut address = 0;
    // SAFETY: there is room for an address.
    assert_eq!(unsafe { cuMemAlloc_v2(&mut address, bytes) }, 0);
    address
}

#[test]
fn kernels_see_arrays_and_arrays_see_copies() {
    let texels: Vec<f32> = (0..32).map(|it| it as f32).collect();
    let text = CString::new(SOURCE).expect("no NUL");
    let (mut context, mut module, mut array, mut stream) = (0, 0, 0, 0);
    let host = texels.as_ptr() as u64;
    // SAFETY: the functions are called as the driver API says: pointers are valid for what is read and written.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuModuleLoadData(&mut module, text.as_ptr().cast()), 0);
        assert_eq!(cuArrayCreate_v2(&mut array, &[8, 4, FLOAT]), 0);
    }
    let out = allocate(1024);
    let whole = Copy2D {
        from: [0, 0, HOST, host, 0, 0, 32],
        to: [0, 0, ARRAY, 0, 0, array, 0],
        width: 32,
        height: 4,
    };
    let part = Copy2D {
        from: [8, 1, ARRAY, 0, 0, array, 0],
        to: [0, 0, DEVICE, 0, out, 0, 512],
        width: 16,
        height: 2,
    };
    let mut pair = [0.0f32; 2];
    // SAFETY: as above.
    unsafe {
        assert_eq!(cuMemcpy2D_v2(&whole), 0);
        assert_eq!(cuMemcpy2D_v2(&Copy2D { width: 33, ..whole }), Code::INVALID_VALUE.0);
        assert_eq!(cuMemcpy2D_v2(&part), 0);
        assert_eq!(cuMemcpyAtoH_v2(pair.as_mut_ptr().cast(), array, 4, 8), 0);
    }
    assert_eq!((number(out), number(out + 12), number(out + 512), pair), (10.0, 13.0, 18.0, [1.0, 2.0]));

    // A texture object that is read between two texels.
    let (mut resource, mut sampling, mut texture) = ([0; 18], [0; 26], 0);
    resource[1] = array;
    sampling[..4].copy_from_slice(&[1, 1, 1, 1]);
    // SAFETY: as above.
    assert_eq!(unsafe { cuTexObjectCreate(&mut texture, &resource, &sampling, null()) }, 0);
    launch(module, "between", 0, &mut [out, texture]);
    assert_eq!(number(out), 9.5);

    // References: a row of memory, and the array as a surface.
    let (row, mut reference, mut offset) = (allocate(128), 0, 1);
    // SAFETY: as above.
    unsafe {
        assert_eq!(cuMemcpyHtoD_v2(row, texels.as_ptr().cast(), 128), 0);
        assert_eq!(cuModuleGetTexRef(&mut reference, module, c"plane".as_ptr()), Code::NOT_FOUND.0);
        assert_eq!(cuModuleGetTexRef(&mut reference, module, c"row".as_ptr()), 0);
        assert_eq!(cuTexRefSetFormat(reference, 0x20, 1), 0);
        assert_eq!((cuTexRefSetAddress_v2(&mut offset, reference, row, 128), offset), (0, 0));
        assert_eq!(cuModuleGetSurfRef(&mut reference, module, c"plane".as_ptr()), 0);
        assert_eq!(cuSurfRefSetArray(reference, array, 0), 0);
    }
    launch(module, "fifth", 0, &mut [out]);
    assert_eq!(number(out), 5.0);
    launch(module, "exchange", 0, &mut [out]);
    assert_eq!(number(out), 17.0);
    launch(module, "exchange", 0, &mut [out]);
    assert_eq!(number(out), 100.0);

    // A stream waits for a number that a kernel of another stream writes.
    let flag = allocate(4);
    // SAFETY: as above.
    unsafe {
        assert_eq!(cuStreamCreate(&mut stream, 1), 0);
        assert_eq!(cuStreamWaitValue32_v2(stream, flag, 3, 0), 0);
        assert_eq!(cuStreamQuery(stream), Code::NOT_READY.0);
        launch(module, "three", 0, &mut [flag]);
        assert_eq!(cuStreamSynchronize(stream), 0);
        assert_eq!((cuTexObjectDestroy(texture), cuArrayDestroy(array)), (0, 0));
        assert_eq!(cuArrayDestroy(array), Code::CONTEXT_IS_DESTROYED.0);
    }
}
