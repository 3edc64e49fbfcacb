//! Linear memory, memory of the host, managed memory, copies and fills.

use crate::ffi::{In, Out};

crate::c_struct! {
    /// `CUDA_MEMCPY2D`.
    Copy2D {
        src_x: usize, src_y: usize, src_type: u32, src_host: u64, src_device: u64, src_array: u64, src_pitch: usize,
        dst_x: usize, dst_y: usize, dst_type: u32, dst_host: u64, dst_device: u64, dst_array: u64, dst_pitch: usize,
        width: usize, height: usize,
    }
}

crate::c_struct! {
    /// One side of `CUDA_MEMCPY3D_PEER`; `reserved` is the context there, and null in `CUDA_MEMCPY3D`.
    Side3D {
        x: usize, y: usize, z: usize, lod: usize, kind: u32, host: u64, device: u64, array: u64, reserved: u64,
        pitch: usize, height: usize,
    }
}

crate::c_struct! {
    /// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
    Copy3D { src: Side3D, dst: Side3D, width: usize, height: usize, depth: usize, }
}

crate::c_struct! {
    /// `CUmemLocation`.
    Location { kind: u32, id: i32, }
}

crate::driver! {
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>);
    fn cuMemAlloc_v2(pointer: Out<u64>, bytes: usize);
    fn cuMemAllocPitch_v2(pointer: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32);
    fn cuMemFree_v2(pointer: u64);
    fn cuMemAllocHost_v2(pointer: Out<u64>, bytes: usize);
    fn cuMemFreeHost(pointer: u64);
    fn cuMemHostAlloc(pointer: Out<u64>, bytes: usize, flags: u32);
    fn cuMemHostRegister_v2(pointer: u64, bytes: usize, flags: u32);
    fn cuMemHostUnregister(pointer: u64);
    fn cuMemHostGetDevicePointer_v2(device: Out<u64>, host: u64, flags: u32);
    fn cuMemHostGetFlags(flags: Out<u32>, host: u64);
    fn cuMemAllocManaged(pointer: Out<u64>, bytes: usize, flags: u32);
    fn cuMemPrefetchAsync_v2 / cuMemPrefetchAsync_v2_ptsz(pointer: u64, bytes: usize, to: Location, flags: u32, stream: u64);
    fn cuMemAdvise_v2(pointer: u64, bytes: usize, advice: u32, location: Location);
    fn cuMemRangeGetAttribute(data: u64, size: usize, attribute: u32, pointer: u64, bytes: usize);
    fn cuMemRangeGetAttributes(data: In<u64>, sizes: In<usize>, attributes: In<u32>, count: usize, pointer: u64, bytes: usize);
    fn cuPointerGetAttributes(count: u32, attributes: In<u32>, data: In<u64>, pointer: u64);
    fn cuPointerGetAttribute(data: u64, attribute: u32, pointer: u64);
    fn cuMemcpy / cuMemcpy_ptds(to: u64, from: u64, bytes: usize);
    fn cuMemcpyHtoD_v2 / cuMemcpyHtoD_v2_ptds(to: u64, from: u64, bytes: usize);
    fn cuMemcpyDtoH_v2 / cuMemcpyDtoH_v2_ptds(to: u64, from: u64, bytes: usize);
    fn cuMemcpyDtoD_v2 / cuMemcpyDtoD_v2_ptds(to: u64, from: u64, bytes: usize);
    fn cuMemcpyAsync / cuMemcpyAsync_ptsz(to: u64, from: u64, bytes: usize, stream: u64);
    fn cuMemcpyHtoDAsync_v2 / cuMemcpyHtoDAsync_v2_ptsz(to: u64, from: u64, bytes: usize, stream: u64);
    fn cuMemcpyDtoHAsync_v2 / cuMemcpyDtoHAsync_v2_ptsz(to: u64, from: u64, bytes: usize, stream: u64);
    fn cuMemcpyDtoDAsync_v2 / cuMemcpyDtoDAsync_v2_ptsz(to: u64, from: u64, bytes: usize, stream: u64);
    fn cuMemcpyPeer / cuMemcpyPeer_ptds(to: u64, to_context: u64, from: u64, from_context: u64, bytes: usize);
    fn cuMemcpyPeerAsync / cuMemcpyPeerAsync_ptsz(to: u64, to_context: u64, from: u64, from_context: u64, bytes: usize, stream: u64);
    fn cuMemcpy2DUnaligned_v2 / cuMemcpy2DUnaligned_v2_ptds(copy: In<Copy2D>);
    fn cuMemcpy2DAsync_v2 / cuMemcpy2DAsync_v2_ptsz(copy: In<Copy2D>, stream: u64);
    fn cuMemcpy3D_v2 / cuMemcpy3D_v2_ptds(copy: In<Copy3D>);
    fn cuMemcpy3DAsync_v2 / cuMemcpy3DAsync_v2_ptsz(copy: In<Copy3D>, stream: u64);
    fn cuMemcpy3DPeer / cuMemcpy3DPeer_ptds(copy: In<Copy3D>);
    fn cuMemcpy3DPeerAsync / cuMemcpy3DPeerAsync_ptsz(copy: In<Copy3D>, stream: u64);
    fn cuMemsetD8_v2 / cuMemsetD8_v2_ptds(to: u64, value: u8, count: usize);
    fn cuMemsetD8Async / cuMemsetD8Async_ptsz(to: u64, value: u8, count: usize, stream: u64);
    fn cuMemsetD2D8_v2 / cuMemsetD2D8_v2_ptds(to: u64, pitch: usize, value: u8, width: usize, height: usize);
    fn cuMemsetD2D8Async / cuMemsetD2D8Async_ptsz(to: u64, pitch: usize, value: u8, width: usize, height: usize, stream: u64);
}
