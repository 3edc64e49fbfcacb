//! Kernels that launch kernels with the device runtime's functions, as nvcc calls them.
//!
//! The driver's state is the process's own, so there is one test in this file.

mod driver_api;

use driver_api::*;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

/// `note` appends a number to a list; its first word is the length. `middle` and `top` append and launch, some of it into
/// the tail stream; `wrong` asks for launches that cannot be and appends the errors.
const SOURCE: &str = "
.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(
    .param .b64 k, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);
.extern .func (.param .b32 r) __cudaCDP2GetLastError();
.extern .func (.param .b32 r) __cudaCDP2MemsetAsync(.param .b64 p, .param .b32 v, .param .b64 n, .param .b64 s);

.func append(.reg .b64 %list, .reg .b32 %value)
{
    .reg .b32 %r1;
    .reg .b64 %d1;
    atom.global.add.u32 %r1, [%list], 1;
    mul.wide.u32 %d1, %r1, 4;
    add.u64 %d1, %d1, %list;
    st.global.u32 [%d1+4], %value;
    ret;
}

.visible .entry note(.param .u64 list, .param .u32 value)
{
    .reg .b32 %r1;
    .reg .b64 %d1;
    ld.param.u64 %d1, [list];
    ld.param.u32 %r1, [value];
    call append, (%d1, %r1);
    ret;
}

// Launches a kernel with a list and a number.
.func launch(.reg .b64 %kernel, .reg .b32 %threads, .reg .b64 %list, .reg .b32 %value, .reg .b64 %stream)
{
    .reg .pred %p1;
    .reg .b32 %r1;
    .reg .b64 %d1;
    {
        .param .b64 k;
        .param .align 4 .b8 g[12];
        .param .align 4 .b8 b[12];
        .param .b32 s;
        .param .b64 r;
        st.param.b64 [k], %kernel;
        st.param.b32 [g], 1;
        st.param.b32 [g+4], 1;
        st.param.b32 [g+8], 1;
        st.param.b32 [b], %threads;
        st.param.b32 [b+4], 1;
        st.param.b32 [b+8], 1;
        st.param.b32 [s], 0;
        call (r), __cudaCDP2GetParameterBufferV2, (k, g, b, s);
        ld.param.b64 %d1, [r];
    }
    setp.eq.u64 %p1, %d1, 0;
    @%p1 ret;
    st.u64 [%d1], %list;
    st.u32 [%d1+8], %value;
    {
        .param .b64 p;
        .param .b64 s;
        .param .b32 r;
        st.param.b64 [p], %d1;
        st.param.b64 [s], %stream;
        call (r), __cudaCDP2LaunchDeviceV2, (p, s);
        ld.param.b32 %r1, [r];
    }
    ret;
}

.visible .entry middle(.param .u64 list, .param .u32 value)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [list];
    ld.param.u32 %r1, [value];
    call append, (%d1, %r1);
    mov.u64 %d2, note;
    add.u32 %r2, %r1, 9;
    call launch, (%d2, 1, %d1, %r2, 3);
    add.u32 %r2, %r1, 1;
    call launch, (%d2, 1, %d1, %r2, 0);
    add.u32 %r2, %r1, 2;
    call launch, (%d2, 1, %d1, %r2, 0);
    ret;
}

.visible .entry top(.param .u64 list)
{
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [list];
    mov.u64 %d2, middle;
    call launch, (%d2, 1, %d1, 300, 3);
    call launch, (%d2, 1, %d1, 100, 0);
    call launch, (%d2, 1, %d1, 200, 4);
    call append, (%d1, 1);
    ret;
}

.visible .entry wrong(.param .u64 list)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [list];
    mov.u64 %d2, note;
    call launch, (%d2, 0, %d1, 7, 0);
    call (%r1), __cudaCDP2GetLastError, ();
    call append, (%d1, %r1);
    call launch, (%d2, 2048, %d1, 7, 0);
    call (%r1), __cudaCDP2GetLastError, ();
    call append, (%d1, %r1);
    call (%r1), __cudaCDP2GetLastError, ();
    call append, (%d1, %r1);
    ret;
}

.visible .entry fill(.param .u64 list)
{
    .reg .b32 %r1;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [list];
    add.u64 %d2, %d1, 4;
    mov.u64 %d3, 3000;
    call (%r1), __cudaCDP2MemsetAsync, (%d2, 0x15a, %d3, 0);
    ret;
}

.visible .entry fault(.param .u64 list)
{
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [list];
    mov.u64 %d2, note;
    mov.u64 %d1, 16;
    call launch, (%d2, 1, %d1, 7, 0);
    ret;
}
";

#[test]
fn a_grid_is_complete_when_all_that_it_launched_is() {
    let text = CString::new(SOURCE).expect("no NUL");
    let (mut context, mut linker, mut image, mut size, mut module, mut list) = (0, 0, null(), 0, 0, 0);
    // SAFETY: the functions are called as the driver API says: pointers are valid for what is read and written.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&raw mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        // The linker takes a text without a name.
        assert_eq!(cuLinkCreate_v2(0, null(), null_mut(), &raw mut linker), 0);
        let data = text.as_ptr().cast();
        let bytes = text.as_bytes_with_nul().len();
        let none = null();
        assert_eq!(cuLinkAddData_v2(linker, 1, data, bytes, none, 0, null(), null_mut()), 0);
        assert_eq!(cuLinkComplete(linker, &raw mut image, &raw mut size), 0);
        assert_eq!(cuModuleLoadData(&raw mut module, image), 0);
        assert_eq!(cuMemAlloc_v2(&raw mut list, 4096), 0);
    }
    let run = |name: &str| {
        let name = CString::new(name).expect("no NUL");
        let (mut function, mut argument) = (0, list);
        let mut parameters = [(&raw mut argument).cast::<c_void>()];
        let mut words = [0u32; 1024];
        // SAFETY: as above.
        let code = unsafe {
            assert_eq!(cuMemsetD32_v2(list, 0, 1024), 0);
            assert_eq!(cuModuleGetFunction(&raw mut function, module, name.as_ptr()), 0);
            let (parameters, none) = (parameters.as_mut_ptr(), null_mut());
            assert_eq!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, parameters, none), 0);
            cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), list, 4096)
        };
        (code, words)
    };
    let (code, words) = run("top");
    assert_eq!(code, 0);
    // What is in the tail stream is last; an H200 has the same order but for the first, which runs beside others.
    assert_eq!(words[..14], [13, 1, 100, 101, 102, 109, 200, 201, 202, 209, 300, 301, 302, 309]);
    // `cudaErrorInvalidConfiguration`, as on an H200; asking takes it away.
    assert_eq!(run("wrong").1[..5], [3, 9, 9, 0, 0]);
    let filled = run("fill").1;
    assert_eq!(filled[..2], [0, 0x5a5a_5a5a]);
    assert_eq!(filled[750..752], [0x5a5a_5a5a, 0]);
    // A fault of a grid that a grid launched is a fault of the launch.
    assert_eq!(run("fault").0, 700);
}
