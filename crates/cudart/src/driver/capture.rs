//! Capture of streams.

use crate::ffi::{In, Out};

/// `CUgraphEdgeData`.
pub type EdgeData = [u8; 8];

crate::driver! {
    fn cuStreamBeginCapture_v2 / cuStreamBeginCapture_v2_ptsz(stream: u64, mode: u32);
    fn cuStreamBeginCaptureToGraph / cuStreamBeginCaptureToGraph_ptsz(stream: u64, graph: u64, nodes: In<u64>, data: In<EdgeData>, count: usize, mode: u32);
    fn cuStreamEndCapture / cuStreamEndCapture_ptsz(stream: u64, graph: Out<u64>);
    fn cuStreamIsCapturing / cuStreamIsCapturing_ptsz(stream: u64, status: Out<u32>);
    fn cuStreamGetCaptureInfo_v2 / cuStreamGetCaptureInfo_v2_ptsz(stream: u64, status: Out<u32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, count: Out<usize>);
    fn cuStreamGetCaptureInfo_v3 / cuStreamGetCaptureInfo_v3_ptsz(stream: u64, status: Out<u32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, data: Out<u64>, count: Out<usize>);
    fn cuStreamUpdateCaptureDependencies_v2 / cuStreamUpdateCaptureDependencies_v2_ptsz(stream: u64, nodes: In<u64>, data: In<EdgeData>, count: usize, flags: u32);
}
