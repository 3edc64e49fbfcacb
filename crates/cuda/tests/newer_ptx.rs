//! PTX for a newer GPU than the one that the driver says it has: it runs, since no GPU was asked for.
//!
//! The driver's state is the process's own, so there is one test in this file. That such code is refused where a GPU is
//! asked for is tested with `softwarp exec --arch`.

mod driver_api;

use driver_api::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`
const MAJOR: u32 = 75;

unsafe extern "C" {
    fn cuDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32) -> u32;
}

/// PTX for a target whose kernel `k` stores a number. `add.f32x2` is for sm_100 and newer.
fn ptx(target: &str, number: u32) -> String {
    format!(
        ".version 9.0\n.target {target}\n.address_size 64\n\
         .visible .entry k(.param .u64 p) {{\n.reg .b64 %d, %a, %b; .reg .f32 %x, %y; .reg .b32 %r;\n\
         ld.param.u64 %d, [p]; mov.f32 %x, 0f3f800000; mov.b64 %a, {{%x, %x}}; add.rn.f32x2 %b, %a, %a;\n\
         mov.b64 {{%x, %y}}, %b; add.f32 %x, %x, %y; cvt.rni.u32.f32 %r, %x; add.u32 %r, %r, {number};\n\
         st.global.u32 [%d], %r; ret; }}\n\0"
    )
}

/// A fat binary with uncompressed PTX: each with the number of its architecture and its flags.
fn fat_binary(texts: &[(u32, u64, String)]) -> Vec<u64> {
    let mut entries = Vec::new();
    for (number, flags, text) in texts {
        let mut text = text.as_bytes().to_vec();
        text.resize(text.len().next_multiple_of(8), 0);
        let mut entry = vec![0; 64];
        entry[..8].copy_from_slice(&[1, 0, 1, 1, 64, 0, 0, 0]);
        entry[8..16].copy_from_slice(&(text.len() as u64).to_le_bytes());
        entry[26] = 9;
        entry[28..32].copy_from_slice(&number.to_le_bytes());
        entry[40..48].copy_from_slice(&(flags | 0x11).to_le_bytes());
        entries.extend(entry);
        entries.extend(text);
    }
    let mut bytes = 0xba55_ed50_u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend((entries.len() as u64).to_le_bytes());
    bytes.extend(entries);
    bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect()
}

/// What the kernel of code stores.
fn run(image: *const c_void) -> u32 {
    let (mut module, mut function, mut p, mut stored) = (0, 0, 0_u64, 0_u32);
    // SAFETY: the image is code, as the callers have it; the other pointers are of variables here.
    unsafe {
        assert_eq!(cuModuleLoadData(&mut module, image), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, c"k".as_ptr().cast()), 0);
        assert_eq!(cuMemAlloc_v2(&mut p, 4), 0);
        let mut arguments: [*mut c_void; 1] = [(&raw mut p).cast()];
        let arguments = arguments.as_mut_ptr();
        assert_eq!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments, null_mut()), 0);
        assert_eq!(cuMemcpyDtoH_v2((&raw mut stored).cast(), p, 4), 0);
    }
    stored
}

#[test]
fn code_for_newer_gpus_runs() {
    const SPECIFIC: u64 = 0x10_0000;
    const FAMILY: u64 = 0x20_0000;
    let (mut context, mut major) = (0, 0);
    // SAFETY: no other thread reads the environment yet; pointers are of variables here.
    unsafe {
        std::env::remove_var("SOFTWARP_ARCH");
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!((cuDeviceGetAttribute(&mut major, MAJOR, 0), major), (0, 9));
    }
    for target in ["sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_120", "sm_120a"] {
        assert_eq!(run(ptx(target, 10).as_ptr().cast()), 14, "{target}");
    }
    // The lowest of those that are newer.
    let newer = [
        (120, 0, ptx("sm_120", 120)),
        (100, SPECIFIC, ptx("sm_100a", 1)),
        (100, FAMILY, ptx("sm_100f", 100)),
        (120, SPECIFIC, ptx("sm_120a", 2)),
    ];
    assert_eq!(run(fat_binary(&newer).as_ptr().cast()), 104);
    // What the GPU runs comes first.
    let old =
        |target, number| ptx(target, number).replace("add.rn.f32x2 %b, %a, %a;", "mov.b64 %b, {%x, %x};");
    let with_old = [newer[0].clone(), (90, SPECIFIC, old("sm_90a", 90))];
    assert_eq!(run(fat_binary(&with_old).as_ptr().cast()), 92);
    let text = ptx("sm_120a", 1000);
    // As in the library of the device runtime, which nvcc adds to programs: it is left out.
    let device_runtime = ".version 9.0\n.target sm_121\n.address_size 64\n\
        .extern .func (.param .b64 r) __cuda_syscall_cnpv2GetParameterBufferV2;\n\
        .visible .func (.param .b64 r) cudaGetParameterBufferV2 { ret; }\n\0";
    let (mut linker, mut image, mut bytes) = (0, null(), 0);
    // SAFETY: the text ends with a NUL; the other pointers are of variables here.
    unsafe {
        assert_eq!(cuLinkCreate_v2(0, null(), null_mut(), &mut linker), 0);
        let (data, name) = (text.as_ptr().cast(), c"text".as_ptr().cast());
        assert_eq!(cuLinkAddData_v2(linker, 1, data, text.len(), name, 0, null(), null_mut()), 0);
        let data = device_runtime.as_ptr().cast();
        assert_eq!(cuLinkAddData_v2(linker, 1, data, device_runtime.len(), name, 0, null(), null_mut()), 0);
        assert_eq!(cuLinkComplete(linker, &mut image, &mut bytes), 0);
    }
    assert_eq!(run(image), 1004);
    // What runs on this GPU alone cannot be linked with what does not.
    let here = old("sm_90a", 90);
    // SAFETY: as above.
    unsafe {
        assert_eq!(cuLinkCreate_v2(0, null(), null_mut(), &mut linker), 0);
        for text in [&ptx("sm_120", 120).replace(" k(", " other("), &here] {
            let (data, name) = (text.as_ptr().cast(), c"text".as_ptr().cast());
            assert_eq!(cuLinkAddData_v2(linker, 1, data, text.len(), name, 0, null(), null_mut()), 0);
        }
        assert_eq!(cuLinkComplete(linker, &mut image, &mut bytes), 0);
    }
    assert_eq!(run(image), 92);
}
