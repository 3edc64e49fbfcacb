//! Attributes of functions. The number of registers of a kernel is an estimate that grows with what is live and keeps to
//! the limits that programs and kernels give. Bytes of shared memory are as recorded on an H200.
//!
//! The driver's state is the process's own, so there is one test in this file.

mod driver_api;

use driver_api::*;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

/// `CU_FUNC_ATTRIBUTE_NUM_REGS`
const REGISTERS: u32 = 4;
/// `CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES`
const SHARED: u32 = 1;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`
const MAX_DYNAMIC: u32 = 8;
/// `CU_JIT_MAX_REGISTERS`
const MAX_REGISTERS: u32 = 0;
/// `CU_JIT_INPUT_PTX`
const PTX: u32 = 1;

/// A kernel that loads numbers, and then adds them up from the last to the first: all are live at once.
fn kernel(name: &str, directives: &str, live: u32) -> String {
    let mut text = format!(
        ".visible .entry {name}(.param .u64 p) {directives}\n{{\n.reg .b64 %d<2>;\n.reg .f32 %f<{}>;\nld.param.u64 %d1, [p];\n",
        live + 1
    );
    for n in 0..live {
        text += &format!("ld.global.f32 %f{n}, [%d1+{}];\n", 4 * n);
    }
    text += &format!("mov.f32 %f{live}, 0f00000000;\n");
    for n in (0..live).rev() {
        text += &format!("add.f32 %f{live}, %f{live}, %f{n};\n");
    }
    text + &format!("st.global.f32 [%d1], %f{live};\nret;\n}}\n")
}

fn attributes<const N: usize>(
    image: *const c_void,
    name: &str,
    most: Option<u64>,
    ids: [u32; N],
) -> [i32; N] {
    let name = CString::new(name).expect("no NUL");
    let (mut module, mut function, mut found) = (0, 0, [0; N]);
    let (count, mut value) = (u32::from(most.is_some()), most.unwrap_or(0));
    // SAFETY: the image is PTX with its NUL or what the linker gave; the other pointers are of variables here.
    unsafe {
        assert_eq!(cuModuleLoadDataEx(&mut module, image, count, &MAX_REGISTERS, &mut value), 0);
        assert_eq!(cuModuleGetFunction(&mut function, module, name.as_ptr()), 0);
        for (id, found) in ids.into_iter().zip(&mut found) {
            assert_eq!(cuFuncGetAttribute(found, id, function), 0);
        }
    }
    found
}

fn registers(image: *const c_void, name: &str, most: Option<u64>) -> i32 {
    attributes(image, name, most, [REGISTERS])[0]
}

/// Variables of a size, and an array without one if wanted: what the driver of an H200 says of the kernel.
const RECORDED: [(u32, bool, [i32; 2]); 9] = [
    (4, false, [4, 49148]),
    (4, true, [16, 49136]),
    (100, false, [100, 49052]),
    (100, true, [112, 49040]),
    (128, true, [128, 49024]),
    (129, false, [129, 49023]),
    (1000, true, [1008, 48144]),
    (49156, false, [49156, 183292]),
    (60000, false, [60000, 172448]),
];

fn shared_memory_is_as_recorded() {
    for (bytes, dynamic, expected) in RECORDED {
        let (array, used) =
            if dynamic { (".extern .shared .align 16 .b8 d[];\n", "mov.u32 %r3, d;\n") } else { ("", "") };
        let text = format!(
            ".version 8.3\n.target sm_90a\n.address_size 64\n{array}.visible .entry k(.param .u64 p)\n{{\n\
             .reg .b32 %r<4>;\n.reg .b64 %d<2>;\n.shared .align 128 .b8 s[{bytes}];\nld.param.u64 %d1, [p];\n\
             mov.u32 %r1, s;\n{used}st.global.u32 [%d1], %r1;\nret;\n}}\n"
        );
        let text = CString::new(text).expect("no NUL");
        let found = attributes(text.as_ptr().cast(), "k", None, [SHARED, MAX_DYNAMIC]);
        assert_eq!(found, expected, "{bytes} bytes, with an array without size: {dynamic}");
    }
}

#[test]
fn attributes_of_functions() {
    let text = String::from(".version 8.0\n.target sm_70\n.address_size 64\n")
        + &kernel("few", "", 2)
        + &kernel("many", "", 80)
        + &kernel("limited", ".maxnreg 40", 80);
    let text = CString::new(text).expect("no NUL");
    let (mut context, mut linker, mut image, mut bytes) = (0, 0, null(), 0);
    // SAFETY: the functions are called as the driver API says: pointers are valid for what is read and written.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
    }
    shared_memory_is_as_recorded();
    let of = |name, most| registers(text.as_ptr().cast(), name, most);
    assert!((1..=32).contains(&of("few", None)), "{}", of("few", None));
    assert!((58..=255).contains(&of("many", None)), "{}", of("many", None));
    assert_eq!(of("limited", None), 40);
    assert_eq!(of("many", Some(38)), 38);
    assert_eq!(of("many", Some(0)), of("many", None));
    let mut limit = 57;
    // SAFETY: as above; the linker is destroyed after its image has been used.
    unsafe {
        assert_eq!(cuLinkCreate_v2(1, &MAX_REGISTERS, &mut limit, &mut linker), 0);
        let (data, length) = (text.as_ptr().cast(), text.as_bytes().len());
        assert_eq!(cuLinkAddData_v2(linker, PTX, data, length, c"code".as_ptr(), 0, null(), null_mut()), 0);
        assert_eq!(cuLinkComplete(linker, &mut image, &mut bytes), 0);
        assert_eq!(registers(image, "many", None), 57);
        assert_eq!(cuLinkDestroy(linker), 0);
    }
}
