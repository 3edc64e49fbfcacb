//! Arrays and mipmapped arrays.

use crate::ffi::{In, Out};

crate::c_struct! {
    /// `CUDA_ARRAY3D_DESCRIPTOR`.
    Descriptor { width: usize, height: usize, depth: usize, format: u32, channels: u32, flags: u32, }
}

crate::driver! {
    fn cuArray3DCreate_v2(array: Out<u64>, descriptor: In<Descriptor>);
    fn cuArray3DGetDescriptor_v2(descriptor: Out<Descriptor>, array: u64);
    fn cuArrayDestroy(array: u64);
    fn cuArrayGetPlane(plane: Out<u64>, array: u64, index: u32);
    fn cuArrayGetMemoryRequirements(requirements: u64, array: u64, device: i32);
    fn cuArrayGetSparseProperties(properties: u64, array: u64);
    fn cuMipmappedArrayCreate(mipmap: Out<u64>, descriptor: In<Descriptor>, levels: u32);
    fn cuMipmappedArrayGetLevel(array: Out<u64>, mipmap: u64, level: u32);
    fn cuMipmappedArrayDestroy(mipmap: u64);
    fn cuMipmappedArrayGetMemoryRequirements(requirements: u64, mipmap: u64, device: i32);
    fn cuMipmappedArrayGetSparseProperties(properties: u64, mipmap: u64);
}
