//! What a program that nvcc built does: it registers a fat binary, launches kernels and copies to variables.

use cudart::entry::copy::*;
use cudart::entry::device::*;
use cudart::entry::error::*;
use cudart::entry::launch::*;
use cudart::entry::memory::*;
use cudart::entry::registration::*;
use cudart::entry::stream::*;
use cudart::ffi::{Dim3, Out, Text};

const PTX: &str = "
.version 8.0
.target sm_90
.address_size 64
.const .align 4 .u32 factor = 1;
.global .align 4 .u32 calls = 5;
.visible .entry scale(.param .u64 data, .param .u32 count) {
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [count];
    setp.ge.u32 %p, %r1, %r2;
    @%p ret;
    ld.param.u64 %d1, [data];
    cvta.to.global.u64 %d1, %d1;
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d1, %d1, %d2;
    ld.global.u32 %r3, [%d1];
    ld.const.u32 %r4, [factor];
    mul.lo.u32 %r3, %r3, %r4;
    st.global.u32 [%d1], %r3;
    atom.global.add.u32 %r5, [calls], 1;
    ret;
}
.visible .entry broken() {
    trap;
}
";

/// A fat binary with PTX, as nvcc stores it without compression.
fn fat_binary(ptx: &str) -> Vec<u8> {
    let mut text = ptx.as_bytes().to_vec();
    text.resize((text.len() + 1).next_multiple_of(8), 0);
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&0xba55_ed50_u32.to_le_bytes());
    bytes.extend_from_slice(&[1, 0, 16, 0]);
    bytes.extend_from_slice(&(64 + text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[1, 0, 1, 1]);
    bytes.extend_from_slice(&64_u32.to_le_bytes());
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[0, 0, 8, 0]);
    bytes.extend_from_slice(&90_u32.to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&0x11_u64.to_le_bytes());
    bytes.extend_from_slice(&[0; 16]);
    bytes.extend_from_slice(&text);
    bytes
}

/// The wrapper of a fat binary; what it points to stays.
fn wrapper(version: u32, data: Vec<u8>, parts: Vec<Vec<u8>>) -> u64 {
    let address = |bytes: Vec<u8>| bytes.leak().as_ptr() as u64;
    let mut list: Vec<u64> = parts.into_iter().map(address).collect();
    list.push(0);
    let list = if version == 2 { list.leak().as_ptr() as u64 } else { 0 };
    let words = vec![u64::from(version) << 32 | 0x4662_43b1, address(data), list];
    words.leak().as_ptr() as u64
}

const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };
/// Addresses of the host that stand for stubs and shadow variables.
static STUBS: [u64; 8] = [0; 8];

fn stub(index: usize) -> u64 {
    &raw const STUBS[index] as u64
}

fn register(
    wrapper: u64,
    functions: &[(usize, &std::ffi::CStr)],
    variables: &[(usize, &std::ffi::CStr)],
) -> u64 {
    let binary = __cudaRegisterFatBinary(wrapper);
    for (index, name) in functions {
        __cudaRegisterFunction(binary, stub(*index), 0, Text::of(name), -1, 0, 0, 0, 0, 0);
    }
    for (index, name) in variables {
        __cudaRegisterVar(binary, stub(*index), 0, Text::of(name), 0, 4, 0, 0);
    }
    __cudaRegisterFatBinaryEnd(binary);
    binary
}

/// Launches as the code between `<<<` and `>>>` does.
fn launch(function: u64, block: u32, arguments: &[u64]) -> u32 {
    let (mut kernel, mut grid, mut sizes, mut shared, mut stream) = (0, ONE, ONE, 0, 0);
    assert_eq!(__cudaPushCallConfiguration(ONE, Dim3 { x: block, y: 1, z: 1 }, 0, 0), 0);
    assert_eq!(__cudaGetKernel(Out::of(&mut kernel), function), 0);
    let popped = __cudaPopCallConfiguration(
        Out::of(&mut grid),
        Out::of(&mut sizes),
        Out::of(&mut shared),
        Out::of(&mut stream),
    );
    assert_eq!((popped, sizes.x), (0, block));
    __cudaLaunchKernel(kernel, grid, sizes, arguments.as_ptr() as u64, shared, stream)
}

/// One test, since a process has one runtime, and a fault at the end stays.
#[test]
fn a_program_registers_launches_copies_and_faults() {
    registered_code_is_launched();
    relocatable_code_is_linked();
    structures_have_their_sizes();
    errors_are_per_thread();
    a_reset_gives_variables_their_first_values();
    a_fault_stays();
}

fn registered_code_is_launched() {
    register(
        wrapper(1, fat_binary(PTX), Vec::new()),
        &[(0, c"scale"), (1, c"broken")],
        &[(2, c"factor"), (3, c"calls")],
    );
    let numbers: Vec<u32> = (0..32).collect();
    let mut device = 0;
    assert_eq!(cudaMalloc(Out::of(&mut device), 128), 0);
    assert_eq!(cudaMemcpy(device, numbers.as_ptr() as u64, 128, 1), 0);
    let factor = 3_u32;
    assert_eq!(cudaMemcpyToSymbol(stub(2), &raw const factor as u64, 4, 0, 1), 0);
    let count = 32_u32;
    let arguments = [&raw const device as u64, &raw const count as u64];
    assert_eq!(launch(stub(0), 64, &arguments), 0);
    let mut results = vec![0_u32; 32];
    assert_eq!(cudaMemcpy(results.as_mut_ptr() as u64, device, 128, 2), 0);
    assert_eq!(results, numbers.iter().map(|number| number * 3).collect::<Vec<_>>());

    let (mut calls, mut size) = (0_u32, 0_usize);
    assert_eq!(cudaMemcpyFromSymbol(&raw mut calls as u64, stub(3), 4, 0, 2), 0);
    assert_eq!(calls, 5 + 32);
    assert_eq!(cudaGetSymbolSize(Out::of(&mut size), stub(3)), 0);
    assert_eq!(size, 4);
    assert_eq!(
        cudaMemcpyToSymbol(stub(2), &raw const factor as u64, 4, 1, 1),
        1,
        "past the end of the variable"
    );
    assert_eq!(cudaMemcpyToSymbol(stub(7), &raw const factor as u64, 4, 0, 1), 13, "no such variable");
    assert_eq!(launch(stub(0), 1025, &arguments), 1);
    assert_eq!(cudaGetLastError(), 1);
    assert_eq!(cudaFree(device), 0);
}

fn relocatable_code_is_linked() {
    const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let caller = "
        .extern .func (.param .b32 result) seven();
        .visible .entry store(.param .u64 to) {
            .reg .b32 %r;
            .reg .b64 %d;
            .param .b32 got;
            call.uni (got), seven, ();
            ld.param.b32 %r, [got];
            ld.param.u64 %d, [to];
            st.u32 [%d], %r;
            ret;
        }";
    let callee = "
        .visible .func (.param .b32 result) seven() {
            st.param.b32 [result], 7;
            ret;
        }";
    let parts = [caller, callee].map(|text| fat_binary(&format!("{HEADER}{text}"))).to_vec();
    let binary = register(wrapper(2, fat_binary(HEADER), parts), &[(4, c"store"), (5, c"missing")], &[]);
    let (mut device, mut result) = (0, 0_u32);
    assert_eq!(cudaMalloc(Out::of(&mut device), 4), 0);
    let arguments = [&raw const device as u64];
    assert_eq!(launch(stub(4), 1, &arguments), 0);
    assert_eq!(cudaMemcpy(&raw mut result as u64, device, 4, 2), 0);
    assert_eq!(result, 7);
    assert_eq!(launch(stub(5), 1, &arguments), 98, "a kernel without code");
    __cudaUnregisterFatBinary(binary);
    assert_eq!(cudaLaunchKernel(stub(4), ONE, ONE, 0, 0, 0), 400, "a kernel that is gone");
    cudaGetLastError();
}

fn structures_have_their_sizes() {
    let (mut new, mut old) = ([0xa5_u8; 1008], [0xa5_u8; 1032]);
    assert_eq!(cudaGetDeviceProperties(Out::of(&mut new).address(), 0), 0);
    assert_eq!(v12_cudaGetDeviceProperties_v2(Out::of(&mut old).address(), 0), 0);
    let int = |bytes: &[u8], at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    // major, multiProcessorCount, maxTexture2D[0], sharedMemPerBlockOptin, clusterLaunch
    let of_13 = [360, 384, 404, 672, 748].map(|at| int(&new, at));
    let of_12 = [360, 388, 420, 696, 772].map(|at| int(&old, at));
    assert_eq!(of_13, of_12);
    assert_eq!((of_13[0], of_13[3], of_13[4]), (9, 232_448, 1));
    assert!(new[784..].iter().all(|byte| *byte == 0xa5), "reserved words are left alone");
    assert!(old[780..].iter().all(|byte| *byte == 0xa5), "reserved words are left alone");
    let mut attributes = PointerAttributes { kind: 9, device: 9, device_pointer: 9, host_pointer: 9 };
    let heap = [0_u8; 16];
    assert_eq!(cudaPointerGetAttributes(Out::of(&mut attributes), &raw const heap as u64), 0);
    assert_eq!((attributes.kind, attributes.device, attributes.device_pointer), (0, -2, 0));
}

fn errors_are_per_thread() {
    assert_eq!(cudaMalloc(Out::NULL, 16), 1);
    std::thread::spawn(|| {
        assert_eq!(cudaPeekAtLastError(), 0);
        assert_eq!(cudaSetDevice(9), 101);
        assert_eq!(cudaPeekAtLastError(), 101);
    })
    .join()
    .expect("no panic");
    assert_eq!(cudaFree(0), 0);
    assert_eq!(cudaPeekAtLastError(), 1, "a success does not clear it");
    assert_eq!(cudaGetLastError(), 1);
    assert_eq!(cudaGetLastError(), 0);
    assert_eq!(cudaStreamQuery(0), 0);
}

fn a_reset_gives_variables_their_first_values() {
    let mut calls = 0_u32;
    assert_eq!(cudaDeviceReset(), 0);
    assert_eq!(cudaMemcpyFromSymbol(&raw mut calls as u64, stub(3), 4, 0, 2), 0);
    assert_eq!(calls, 5);
}

fn a_fault_stays() {
    assert_eq!(launch(stub(1), 1, &[]), 0);
    assert_eq!(cudaDeviceSynchronize(), 719);
    assert_eq!(cudaGetLastError(), 719);
    let mut pointer = 0;
    assert_eq!(cudaMalloc(Out::of(&mut pointer), 16), 719);
    assert_eq!(cudaDeviceReset(), 0);
    assert_eq!(cudaMalloc(Out::of(&mut pointer), 16), 46);
}
