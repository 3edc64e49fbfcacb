//! Capture of streams into graphs.

use crate::context::ensure_context;
use crate::driver::capture::*;
use crate::driver::context::cuThreadExchangeStreamCaptureMode;
use crate::ffi::{In, Out};

crate::entries! {
    /// Begins to capture a stream into a new graph.
    fn cudaStreamBeginCapture / cudaStreamBeginCapture_ptsz(stream: u64, mode: u32) {
        ensure_context()?;
        cuStreamBeginCapture_v2(stream, mode)
    }

    /// Begins to capture a stream into a graph.
    fn cudaStreamBeginCaptureToGraph / cudaStreamBeginCaptureToGraph_ptsz(
        stream: u64, graph: u64, nodes: In<u64>, data: In<EdgeData>, count: usize, mode: u32,
    ) {
        ensure_context()?;
        cuStreamBeginCaptureToGraph(stream, graph, nodes, data, count, mode)
    }

    /// Ends a capture.
    fn cudaStreamEndCapture / cudaStreamEndCapture_ptsz(stream: u64, graph: Out<u64>) {
        ensure_context()?;
        cuStreamEndCapture(stream, graph)
    }

    /// Whether a stream is captured.
    fn cudaStreamIsCapturing / cudaStreamIsCapturing_ptsz(stream: u64, status: Out<u32>) {
        ensure_context()?;
        cuStreamIsCapturing(stream, status)
    }

    /// The capture of a stream, and what its next work depends on.
    fn cudaStreamGetCaptureInfo / cudaStreamGetCaptureInfo_ptsz(
        stream: u64, status: Out<u32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, data: Out<u64>, count: Out<usize>,
    ) {
        ensure_context()?;
        cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, data, count)
    }

    /// The capture of a stream, and what its next work depends on.
    fn v12_cudaStreamGetCaptureInfo_v2 / v12_cudaStreamGetCaptureInfo_v2_ptsz(
        stream: u64, status: Out<u32>, id: Out<u64>, graph: Out<u64>, nodes: Out<u64>, count: Out<usize>,
    ) {
        ensure_context()?;
        cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count)
    }

    /// Whether a stream is captured, and the number of the capture.
    fn v12_cudaStreamGetCaptureInfo / v12_cudaStreamGetCaptureInfo_ptsz(stream: u64, status: Out<u32>, id: Out<u64>) {
        ensure_context()?;
        cuStreamGetCaptureInfo_v2(stream, status, id, Out::NULL, Out::NULL, Out::NULL)
    }

    /// Changes what the next work of a stream depends on.
    fn cudaStreamUpdateCaptureDependencies / cudaStreamUpdateCaptureDependencies_ptsz(
        stream: u64, nodes: In<u64>, data: In<EdgeData>, count: usize, flags: u32,
    ) {
        ensure_context()?;
        cuStreamUpdateCaptureDependencies_v2(stream, nodes, data, count, flags)
    }

    /// Changes what the next work of a stream depends on.
    fn v12_cudaStreamUpdateCaptureDependencies / v12_cudaStreamUpdateCaptureDependencies_ptsz(
        stream: u64, nodes: In<u64>, count: usize, flags: u32,
    ) {
        ensure_context()?;
        cuStreamUpdateCaptureDependencies_v2(stream, nodes, In::NULL, count, flags)
    }

    /// Sets how much of captures concerns the thread, and gives what it was.
    fn cudaThreadExchangeStreamCaptureMode(mode: Out<u32>) {
        mode.required()?;
        ensure_context()?;
        cuThreadExchangeStreamCaptureMode(mode)
    }
}
