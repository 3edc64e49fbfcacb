//! Streams and events.

use crate::ffi::{Out, StreamCallback};
use std::ffi::c_void;

crate::driver! {
    fn cuStreamCreate(stream: Out<u64>, flags: u32);
    fn cuStreamCreateWithPriority(stream: Out<u64>, flags: u32, priority: i32);
    fn cuStreamDestroy_v2(stream: u64);
    fn cuStreamSynchronize / cuStreamSynchronize_ptsz(stream: u64);
    fn cuStreamQuery / cuStreamQuery_ptsz(stream: u64);
    fn cuStreamGetPriority / cuStreamGetPriority_ptsz(stream: u64, priority: Out<i32>);
    fn cuStreamGetFlags / cuStreamGetFlags_ptsz(stream: u64, flags: Out<u32>);
    fn cuStreamGetId / cuStreamGetId_ptsz(stream: u64, id: Out<u64>);
    fn cuStreamGetDevice / cuStreamGetDevice_ptsz(stream: u64, device: Out<i32>);
    fn cuStreamWaitEvent / cuStreamWaitEvent_ptsz(stream: u64, event: u64, flags: u32);
    fn cuStreamAddCallback / cuStreamAddCallback_ptsz(stream: u64, callback: StreamCallback, data: *mut c_void, flags: u32);
    fn cuStreamAttachMemAsync / cuStreamAttachMemAsync_ptsz(stream: u64, pointer: u64, bytes: usize, flags: u32);
    fn cuStreamCopyAttributes / cuStreamCopyAttributes_ptsz(to: u64, from: u64);
    fn cuStreamGetAttribute / cuStreamGetAttribute_ptsz(stream: u64, attribute: u32, value: u64);
    fn cuStreamSetAttribute / cuStreamSetAttribute_ptsz(stream: u64, attribute: u32, value: u64);
    fn cuEventCreate(event: Out<u64>, flags: u32);
    fn cuEventDestroy_v2(event: u64);
    fn cuEventRecord / cuEventRecord_ptsz(event: u64, stream: u64);
    fn cuEventRecordWithFlags / cuEventRecordWithFlags_ptsz(event: u64, stream: u64, flags: u32);
    fn cuEventQuery(event: u64);
    fn cuEventSynchronize(event: u64);
    fn cuEventElapsedTime_v2(time: Out<f32>, start: u64, end: u64);
}
