//! Arrays, copies to and from them, texture objects and surface objects.

use cudart::entry::array::*;
use cudart::entry::array_copy::*;
use cudart::entry::copy::cudaMemcpy;
use cudart::entry::launch::cudaLaunchKernel;
use cudart::entry::library::{cudaLibraryGetKernel, cudaLibraryLoadData};
use cudart::entry::memory::{Extent, PitchedPointer, cudaMalloc};
use cudart::entry::texture::*;
use cudart::ffi::{Dim3, In, Out, Text, zeroed};

const PTX: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry read(.param .u64 to, .param .u64 texture, .param .f32 x, .param .f32 y) {
    .reg .b64 %d, %t; .reg .f32 %x, %y, %r<4>;
    ld.param.u64 %d, [to]; ld.param.u64 %t, [texture]; ld.param.f32 %x, [x]; ld.param.f32 %y, [y];
    tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x, %y}];
    st.global.f32 [%d], %r0; ret;
}
.visible .entry write(.param .u64 surface) {
    .reg .b64 %s; .reg .b32 %x, %y, %b, %v;
    ld.param.u64 %s, [surface];
    mov.u32 %x, %tid.x; mov.u32 %y, %tid.y;
    mul.lo.u32 %b, %x, 4; mad.lo.u32 %v, %y, 100, %x;
    sust.b.2d.b32.trap [%s, {%b, %y}], {%v}; ret;
}
";

const TO_DEVICE: i32 = 1;
const TO_HOST: i32 = 2;
const BETWEEN: i32 = 3;
const FLOAT: ChannelFormat = ChannelFormat { bits: [32, 0, 0, 0], kind: 2 };

fn ok(code: u32) {
    assert_eq!(code, 0);
}

fn made(call: impl FnOnce(Out<u64>) -> u32) -> u64 {
    let mut handle = 0;
    ok(call(Out::of(&mut handle)));
    handle
}

fn address<T: ?Sized>(value: &T) -> u64 {
    std::ptr::from_ref(value).cast::<u8>() as u64
}

fn launch(kernel: u64, block: [u32; 2], arguments: &[u64]) {
    let block = Dim3 { x: block[0], y: block[1], z: 1 };
    ok(cudaLaunchKernel(kernel, Dim3 { x: 1, y: 1, z: 1 }, block, address(arguments), 0, 0));
}

/// One test, since a process has one runtime.
#[test]
fn arrays_are_copied_and_read_and_written_by_kernels() {
    rows_and_bytes();
    planes();
    let text = std::ffi::CString::new(PTX).expect("no NUL");
    let no = In::NULL;
    let library =
        made(|to| cudaLibraryLoadData(to, text.as_ptr() as u64, no, In::NULL, 0, In::NULL, In::NULL, 0));
    textures(made(|to| cudaLibraryGetKernel(to, library, Text::of(c"read"))));
    surfaces(made(|to| cudaLibraryGetKernel(to, library, Text::of(c"write"))));
    resources_of_cuda_12();
    levels();
}

/// `cudaResourceDesc` of CUDA 12 has 64 bytes: what is after it is not read and not written.
fn resources_of_cuda_12() {
    const AFTER: u64 = 0x5555_5555_5555_5555;
    let format = ChannelFormat { bits: [32, 0, 0, 0], kind: 1 };
    let array = made(|to| cudaMallocArray(to, In::of(&format), 8, 4, 2));
    let mut resource = [AFTER; 18];
    resource[..8].fill(0);
    resource[1] = array;
    let given = || In::of(&resource).cast();
    let sampling: RuntimeSampling = zeroed();
    let texture = made(|to| v12_cudaCreateTextureObject(to, given(), In::of(&sampling), In::NULL));
    let surface = made(|to| v12_cudaCreateSurfaceObject(to, given()));
    for (object, get) in [
        (texture, v12_cudaGetTextureObjectResourceDesc as extern "C" fn(Out<RuntimeResource12>, u64) -> u32),
        (surface, v12_cudaGetSurfaceObjectResourceDesc),
    ] {
        let mut found = [AFTER; 18];
        ok(get(Out::of(&mut found).cast(), object));
        assert_eq!((found[0] as u32, found[1]), (0, array));
        assert_eq!(found[8..], [AFTER; 10]);
    }
    ok(cudaDestroyTextureObject(texture));
    ok(cudaDestroySurfaceObject(surface));
    ok(cudaFreeArray(array));
}

/// 8 columns and 4 rows of numbers.
fn table() -> Vec<f32> {
    (0..32_u8).map(f32::from).collect()
}

fn filled_array() -> u64 {
    let array = made(|to| cudaMallocArray(to, In::of(&FLOAT), 8, 4, 0));
    ok(cudaMemcpy2DToArray(array, 0, 0, address(&table()[..]), 32, 32, 4, TO_DEVICE));
    array
}

fn rows_and_bytes() {
    let array = filled_array();
    let (mut format, mut extent, mut flags): (ChannelFormat, Extent, u32) = (zeroed(), zeroed(), 9);
    ok(cudaArrayGetInfo(Out::of(&mut format), Out::of(&mut extent), Out::of(&mut flags), array));
    assert_eq!((format.bits, format.kind, flags), (FLOAT.bits, FLOAT.kind, 0));
    assert_eq!((extent.width, extent.height, extent.depth), (8, 4, 0));
    let mut read = [0_f32; 32];
    ok(cudaMemcpyFromArray(Out::of(&mut read).address(), array, 8, 1, 80, TO_HOST));
    assert_eq!(read[..20], table()[10..30]);
    // From the third number of the second row to the fourth of the first: rows of both are split.
    let other = made(|to| cudaMallocArray(to, In::of(&FLOAT), 8, 4, 0));
    ok(cudaMemcpyArrayToArray(other, 12, 0, array, 8, 1, 80, BETWEEN));
    ok(cudaMemcpy2DFromArray(Out::of(&mut read).address(), 32, other, 0, 0, 32, 4, TO_HOST));
    assert_eq!(read[3..23], table()[10..30]);
    assert_eq!(cudaMemcpyToArray(array, 0, 0, address(&read), 129, TO_DEVICE), 1);
    assert_eq!(cudaMemcpy2DToArray(array, 0, 0, address(&read), 28, 32, 4, TO_DEVICE), 12);
    assert_eq!(cudaMemcpy2DToArray(array, 0, 0, address(&read), 32, 32, 4, TO_HOST), 21);
    ok(cudaFreeArray(array));
    ok(cudaFreeArray(other));
    ok(cudaFreeArray(0));
}

fn planes() {
    let extent = Extent { width: 4, height: 2, depth: 3 };
    let array = made(|to| cudaMalloc3DArray(to, In::of(&FLOAT), extent, 0));
    let numbers = table();
    let memory = |pointer| PitchedPointer { pointer, pitch: 16, xsize: 16, ysize: 2 };
    let mut copy: Parameters3D = zeroed();
    copy.src.memory = memory(address(&numbers[..]));
    copy.dst.array = array;
    (copy.extent, copy.kind) = (extent, TO_DEVICE);
    ok(cudaMemcpy3D(In::of(&copy)));
    let mut read = [0_f32; 8];
    let mut copy: Parameters3D = zeroed();
    copy.src.array = array;
    copy.src.position = [1, 0, 2];
    copy.dst.memory = memory(Out::of(&mut read).address());
    (copy.extent, copy.kind) = (Extent { width: 3, height: 2, depth: 1 }, TO_HOST);
    ok(cudaMemcpy3D(In::of(&copy)));
    assert_eq!(read, [17.0, 18.0, 19.0, 0.0, 21.0, 22.0, 23.0, 0.0]);
    copy.kind = TO_DEVICE;
    assert_eq!(cudaMemcpy3D(In::of(&copy)), 21);
}

fn textures(kernel: u64) {
    let array = filled_array();
    let mut resource: RuntimeResource = zeroed();
    resource.words[0] = array;
    let mut sampling: RuntimeSampling = zeroed();
    (sampling.address, sampling.filter) = ([1; 3], 1);
    let texture = made(|to| cudaCreateTextureObject(to, In::of(&resource), In::of(&sampling), In::NULL));
    let to = made(|to| cudaMalloc(to, 4));
    let (x, y) = (3.0_f32, 1.5_f32);
    launch(kernel, [1, 1], &[address(&to), address(&texture), address(&x), address(&y)]);
    let mut value = 0_f32;
    ok(cudaMemcpy(Out::of(&mut value).address(), to, 4, TO_HOST));
    assert_eq!(value, (10.0 + 11.0) / 2.0);
    let mut found: RuntimeSampling = zeroed();
    ok(cudaGetTextureObjectTextureDesc(Out::of(&mut found), texture));
    assert_eq!((found.address, found.filter, found.read_mode), ([1; 3], 1, 0));
    let mut found: RuntimeResource = zeroed();
    ok(cudaGetTextureObjectResourceDesc(Out::of(&mut found), texture));
    assert_eq!((found.kind, found.words[0]), (0, array));
    ok(cudaDestroyTextureObject(texture));
}

fn surfaces(kernel: u64) {
    let format = ChannelFormat { bits: [32, 0, 0, 0], kind: 1 };
    let array = made(|to| cudaMallocArray(to, In::of(&format), 8, 4, 2));
    let mut resource: RuntimeResource = zeroed();
    resource.words[0] = array;
    let surface = made(|to| cudaCreateSurfaceObject(to, In::of(&resource)));
    launch(kernel, [8, 4], &[address(&surface)]);
    let mut read = [0_u32; 32];
    ok(cudaMemcpyFromArray(Out::of(&mut read).address(), array, 0, 0, 128, TO_HOST));
    let expected: Vec<u32> = (0..4).flat_map(|y| (0..8).map(move |x| 100 * y + x)).collect();
    assert_eq!(&read[..], expected);
    ok(cudaDestroySurfaceObject(surface));
}

fn levels() {
    let extent = Extent { width: 16, height: 16, depth: 0 };
    let mipmap = made(|to| cudaMallocMipmappedArray(to, In::of(&FLOAT), extent, 3, 0));
    let level = made(|to| cudaGetMipmappedArrayLevel(to, mipmap, 2));
    let mut extent: Extent = zeroed();
    ok(cudaArrayGetInfo(Out::NULL, Out::of(&mut extent), Out::NULL, level));
    assert_eq!((extent.width, extent.height), (4, 4));
    ok(cudaFreeMipmappedArray(mipmap));
}
