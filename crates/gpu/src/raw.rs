//! The driver's functions as C has them, found in its library at run time.

use crate::error::DriverError;
use libloading::Library;
use std::ffi::{OsStr, c_char, c_void};

/// A result of the driver; 0 is success.
pub type Code = u32;
/// A pointer that only the driver follows.
pub type Handle = *mut c_void;

/// `CUDA_ARRAY3D_DESCRIPTOR`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrayDescriptor {
    pub size: [u64; 3],
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// `CUDA_ARRAY_DESCRIPTOR`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PlaneDescriptor {
    pub width: u64,
    pub height: u64,
    pub format: u32,
    pub channels: u32,
}

/// One side of `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CopySide {
    pub start: [u64; 3],
    pub level: u64,
    /// `CUmemorytype`: 1 is the host, 3 an array.
    pub kind: u32,
    pub host: *mut c_void,
    pub device: u64,
    pub array: Handle,
    pub reserved: u64,
    pub pitch: u64,
    pub height: u64,
}

impl CopySide {
    /// Nothing.
    pub const NONE: CopySide = CopySide {
        start: [0; 3],
        level: 0,
        kind: 0,
        host: std::ptr::null_mut(),
        device: 0,
        array: std::ptr::null_mut(),
        reserved: 0,
        pitch: 0,
        height: 0,
    };
}

/// `CUDA_MEMCPY3D`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Copy3D {
    pub from: CopySide,
    pub to: CopySide,
    pub size: [u64; 3],
}

/// `CUDA_RESOURCE_DESC`: the kind, a union of 32 words, and flags.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Resource {
    pub kind: u32,
    pub members: [u64; 16],
    pub flags: u32,
}

/// `CUDA_TEXTURE_DESC`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TextureDescriptor {
    pub address: [u32; 3],
    pub filter: u32,
    pub flags: u32,
    pub anisotropy: u32,
    pub mip_filter: u32,
    pub mip_bias: f32,
    pub mip_clamp: [f32; 2],
    pub border: [f32; 4],
    pub reserved: [u32; 12],
}

/// `CUlaunchAttribute`
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchAttribute {
    pub id: u32,
    pub pad: u32,
    pub value: [u32; 16],
}

/// `CUlaunchConfig`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub stream: Handle,
    pub attributes: *const LaunchAttribute,
    pub count: u32,
}

/// `CUtensorMap`
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct TensorMapObject(pub [u8; 128]);

macro_rules! functions {
    ($($name:ident($($argument:ident: $ty:ty),* $(,)?);)*) => {
        /// The functions, each if the library has it.
        #[allow(non_snake_case, reason = "the driver's functions have their own names")]
        #[derive(Debug)]
        pub struct Functions {
            _library: Library,
            $(pub $name: Option<unsafe extern "C" fn($($ty),*) -> Code>,)*
        }

        impl Functions {
            /// Opens a library.
            pub fn open(library: &OsStr) -> Result<Functions, DriverError> {
                let missing = |error: libloading::Error| DriverError::Missing {
                    library: library.to_string_lossy().into_owned(),
                    why: std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string),
                };
                // SAFETY: the library that the user or the system names as the CUDA driver is one: its initialisers may run,
                // as in every program that is linked with it.
                let opened = unsafe { Library::new(library) }.map_err(missing)?;
                Ok(Functions {
                    $(
                        // SAFETY: a function of this name in the driver's library has this type: `cuda.h` declares it so,
                        // and the driver keeps to what it declared under a name. The pointer is used only while
                        // `_library`, in the same struct, keeps the library open.
                        $name: unsafe { opened.get(concat!(stringify!($name), "\0").as_bytes()) }
                            .ok()
                            .map(|symbol| *symbol),
                    )*
                    _library: opened,
                })
            }
        }
    };
}

functions! {
    cuInit(flags: u32);
    cuDriverGetVersion(version: *mut i32);
    cuGetErrorName(code: Code, to: *mut *const c_char);
    cuGetErrorString(code: Code, to: *mut *const c_char);
    cuDeviceGetCount(count: *mut i32);
    cuDeviceGet(device: *mut i32, ordinal: i32);
    cuDeviceGetName(name: *mut c_char, length: i32, device: i32);
    cuDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: i32);
    cuDevicePrimaryCtxRetain(context: *mut Handle, device: i32);
    cuCtxSetCurrent(context: Handle);
    cuCtxSetLimit(limit: u32, value: usize);
    cuCtxSynchronize();
    cuModuleLoadDataEx(
        module: *mut Handle, image: *const c_void, count: u32, options: *const u32, values: *mut *mut c_void,
    );
    cuModuleUnload(module: Handle);
    cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char);
    cuModuleGetTexRef(reference: *mut Handle, module: Handle, name: *const c_char);
    cuModuleGetSurfRef(reference: *mut Handle, module: Handle, name: *const c_char);
    cuLinkCreate_v2(count: u32, options: *const u32, values: *mut *mut c_void, state: *mut Handle);
    cuLinkAddData_v2(
        state: Handle, kind: u32, data: *const c_void, bytes: usize, name: *const c_char, count: u32,
        options: *const u32, values: *mut *mut c_void,
    );
    cuLinkComplete(state: Handle, cubin: *mut *mut c_void, bytes: *mut usize);
    cuLinkDestroy(state: Handle);
    cuMemAlloc_v2(address: *mut u64, bytes: usize);
    cuMemFree_v2(address: u64);
    cuMemsetD8_v2(address: u64, value: u8, bytes: usize);
    cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize);
    cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize);
    cuMemcpy3D_v2(copy: *const Copy3D);
    cuArray3DCreate_v2(array: *mut Handle, descriptor: *const ArrayDescriptor);
    cuArrayDestroy(array: Handle);
    cuMipmappedArrayCreate(array: *mut Handle, descriptor: *const ArrayDescriptor, levels: u32);
    cuMipmappedArrayGetLevel(level: *mut Handle, array: Handle, number: u32);
    cuMipmappedArrayDestroy(array: Handle);
    cuTexObjectCreate(
        object: *mut u64, resource: *const Resource, texture: *const TextureDescriptor, view: *const c_void,
    );
    cuTexObjectDestroy(object: u64);
    cuSurfObjectCreate(object: *mut u64, resource: *const Resource);
    cuSurfObjectDestroy(object: u64);
    cuTexRefSetFormat(reference: Handle, format: u32, channels: i32);
    cuTexRefSetFilterMode(reference: Handle, mode: u32);
    cuTexRefSetMipmapFilterMode(reference: Handle, mode: u32);
    cuTexRefSetMipmapLevelClamp(reference: Handle, least: f32, most: f32);
    cuTexRefSetAddressMode(reference: Handle, dimension: i32, mode: u32);
    cuTexRefSetBorderColor(reference: Handle, colour: *mut f32);
    cuTexRefGetFlags(flags: *mut u32, reference: Handle);
    cuTexRefSetFlags(reference: Handle, flags: u32);
    cuTexRefSetArray(reference: Handle, array: Handle, flags: u32);
    cuTexRefSetMipmappedArray(reference: Handle, array: Handle, flags: u32);
    cuTexRefSetAddress_v2(offset: *mut usize, reference: Handle, address: u64, bytes: usize);
    cuTexRefSetAddress2D_v3(reference: Handle, plane: *const PlaneDescriptor, address: u64, pitch: usize);
    cuSurfRefSetArray(reference: Handle, array: Handle, flags: u32);
    cuFuncSetAttribute(function: Handle, attribute: u32, value: i32);
    cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    );
    cuLaunchKernelEx(
        config: *const LaunchConfig, function: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    );
    cuTensorMapEncodeTiled(
        map: *mut TensorMapObject, element: u32, rank: u32, address: u64, dims: *const u64, strides: *const u64,
        box_dims: *const u32, element_strides: *const u32, interleave: u32, swizzle: u32, promotion: u32, fill: u32,
    );
    cuTensorMapEncodeIm2col(
        map: *mut TensorMapObject, element: u32, rank: u32, address: u64, dims: *const u64, strides: *const u64,
        lower: *const i32, upper: *const i32, channels: u32, pixels: u32, element_strides: *const u32,
        interleave: u32, swizzle: u32, promotion: u32, fill: u32,
    );
    cuTensorMapEncodeIm2colWide(
        map: *mut TensorMapObject, element: u32, rank: u32, address: u64, dims: *const u64, strides: *const u64,
        lower: i32, upper: i32, channels: u32, pixels: u32, element_strides: *const u32, interleave: u32, mode: u32,
        swizzle: u32, promotion: u32, fill: u32,
    );
}

// The sizes that `cuda.h` gives these on 64-bit systems.
const _: () = {
    assert!(size_of::<ArrayDescriptor>() == 40);
    assert!(size_of::<PlaneDescriptor>() == 24);
    assert!(size_of::<Copy3D>() == 200);
    assert!(size_of::<Resource>() == 144);
    assert!(size_of::<TextureDescriptor>() == 104);
    assert!(size_of::<LaunchAttribute>() == 72);
    assert!(size_of::<LaunchConfig>() == 56);
    assert!(size_of::<TensorMapObject>() == 128);
};
