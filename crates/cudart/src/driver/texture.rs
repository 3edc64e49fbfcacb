//! Texture and surface objects.

use crate::ffi::{In, Out};

crate::c_struct! {
    /// `CUDA_RESOURCE_DESC`. The words are a union: a handle; or an address, a format with its channels and sizes.
    Resource { kind: u32, words: [u64; 16], flags: u32, }
}

crate::c_struct! {
    /// `CUDA_TEXTURE_DESC`.
    Sampling {
        address: [u32; 3], filter: u32, flags: u32, anisotropy: u32, mip_filter: u32, bias: f32, clamp: [f32; 2],
        border: [f32; 4], reserved: [u32; 12],
    }
}

crate::c_struct! {
    /// `CUDA_RESOURCE_VIEW_DESC` without the reserved words behind it.
    ViewFields { format: u32, size: [usize; 3], levels: [u32; 2], layers: [u32; 2], }
}

crate::c_struct! {
    /// `CUDA_RESOURCE_VIEW_DESC`.
    View { fields: ViewFields, reserved: [u32; 16], }
}

crate::driver! {
    fn cuTexObjectCreate(object: Out<u64>, resource: In<Resource>, sampling: In<Sampling>, view: In<View>);
    fn cuTexObjectDestroy(object: u64);
    fn cuTexObjectGetResourceDesc(resource: Out<Resource>, object: u64);
    fn cuTexObjectGetTextureDesc(sampling: Out<Sampling>, object: u64);
    fn cuTexObjectGetResourceViewDesc(view: Out<View>, object: u64);
    fn cuSurfObjectCreate(object: Out<u64>, resource: In<Resource>);
    fn cuSurfObjectDestroy(object: u64);
    fn cuSurfObjectGetResourceDesc(resource: Out<Resource>, object: u64);
}
