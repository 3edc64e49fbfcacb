//! Capture of streams into graphs (driver API: "Stream Management").

use super::graph::edges;
use super::stream::find;
use crate::code::{Code, Done, ensure};
use crate::context::Context;
use crate::driver::capture::{self, Begin, Mode, Status};
use crate::driver::graph::{EdgeData, Graph, NodeHandle, Owner};
use crate::driver::{Driver, driver};
use crate::ffi::{In, Out};
use crate::handle::Handle;
use crate::stream::Stream;
use std::sync::Arc;

/// What a capture adds to, and after what.
struct Place {
    graph: Handle<Graph>,
    after: Vec<NodeHandle>,
}

fn begin(
    stream: Handle<Stream>,
    mode: u32,
    place: impl FnOnce(&Driver) -> Result<Option<Place>, Code>,
) -> Done {
    let (driver, context, stream) = find(stream)?;
    ensure(!Arc::ptr_eq(&stream, &context.legacy), Code::STREAM_CAPTURE_UNSUPPORTED)?;
    let mode = Mode::of(mode).ok_or(Code::INVALID_VALUE)?;
    ensure(driver.captures.status(stream.id) == Status::None, Code::ILLEGAL_STATE)?;
    let begin = match place(driver)? {
        Some(Place { graph, after }) => Begin { mode, graph, given: true, front: after },
        None => Begin { mode, graph: driver.new_graph(Owner::Program)?, given: false, front: Vec::new() },
    };
    driver.captures.begin(driver.new_id(), &stream, begin)
}

/// Whether a stream is captured. Of the legacy default stream it cannot be said while a stream that it waits for is.
fn status(driver: &Driver, context: &Context, stream: &Arc<Stream>) -> Result<Status, Code> {
    let is_legacy = Arc::ptr_eq(stream, &context.legacy);
    ensure(!is_legacy || !driver.captures.blocks_legacy(context.handle), Code::STREAM_CAPTURE_IMPLICIT)?;
    Ok(driver.captures.status(stream.id))
}

/// Where information about a capture goes.
struct Wanted {
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<Handle<Graph>>,
    nodes: Out<In<NodeHandle>>,
    edges: Out<In<EdgeData>>,
    count: Out<usize>,
}

fn info(stream: Handle<Stream>, wanted: &Wanted) -> Done {
    let (driver, context, stream) = find(stream)?;
    wanted.status.required()?;
    let status = status(driver, &context, &stream)?;
    wanted.status.set(status as u32)?;
    if status != Status::Active {
        return Ok(());
    }
    driver.captures.info(stream.id, |info| {
        wanted.id.set_if_any(info.id);
        wanted.graph.set_if_any(info.graph);
        wanted.nodes.set_if_any(In::of(info.front));
        wanted.edges.set_if_any(In::of(info.edges));
        wanted.count.set_if_any(info.front.len());
    });
    Ok(())
}

fn update(
    stream: Handle<Stream>,
    nodes: In<NodeHandle>,
    data: In<EdgeData>,
    count: usize,
    flags: u32,
) -> Done {
    let (driver, _, stream) = find(stream)?;
    ensure(flags <= 1, Code::INVALID_VALUE)?;
    let nodes: Vec<NodeHandle> = edges(nodes, data, count)?.iter().map(|edge| edge.from).collect();
    driver.captures.update(driver, stream.id, &nodes, flags == 1)
}

crate::entries! {
    /// Begins to capture a stream into a new graph; calls that may be unsafe are forbidden to all threads.
    fn cuStreamBeginCapture / cuStreamBeginCapture_ptsz(stream: Handle<Stream>) {
        begin(stream, 0, |_| Ok(None))
    }

    /// Begins to capture a stream into a new graph.
    fn cuStreamBeginCapture_v2 / cuStreamBeginCapture_v2_ptsz(stream: Handle<Stream>, mode: u32) {
        begin(stream, mode, |_| Ok(None))
    }

    /// Begins to capture a stream into a graph.
    fn cuStreamBeginCaptureToGraph / cuStreamBeginCaptureToGraph_ptsz(
        stream: Handle<Stream>, graph: Handle<Graph>, nodes: In<NodeHandle>, data: In<EdgeData>, count: usize, mode: u32,
    ) {
        begin(stream, mode, |driver| {
            let found = driver.graph(graph)?;
            let after: Vec<NodeHandle> = edges(nodes, data, count)?.iter().map(|edge| edge.from).collect();
            for &node in &after {
                found.node(node)?;
            }
            Ok(Some(Place { graph, after }))
        })
    }

    /// Ends a capture.
    fn cuStreamEndCapture / cuStreamEndCapture_ptsz(stream: Handle<Stream>, to: Out<Handle<Graph>>) {
        // A stream that was destroyed while it was captured has no context any more.
        let found = find(stream).map_err(|code| match code {
            Code::CONTEXT_IS_DESTROYED => Code::INVALID_CONTEXT,
            code => code,
        });
        let ended = found.and_then(|(driver, _, stream)| driver.captures.end(driver, stream.id));
        to.set_if_any(*ended.as_ref().unwrap_or(&Handle::NULL));
        ended.map(drop)
    }

    /// Whether a stream is being captured into a graph.
    fn cuStreamIsCapturing / cuStreamIsCapturing_ptsz(stream: Handle<Stream>, to: Out<u32>) {
        let (driver, context, stream) = find(stream)?;
        to.required()?;
        to.set(status(driver, &context, &stream)? as u32)
    }

    /// Whether a stream is being captured, and the number of the capture.
    fn cuStreamGetCaptureInfo / cuStreamGetCaptureInfo_ptsz(
        stream: Handle<Stream>, status: Out<u32>, id: Out<u64>,
    ) {
        info(stream, &Wanted {
            status, id, graph: Out::NULL, nodes: Out::NULL, edges: Out::NULL, count: Out::NULL,
        })
    }

    /// The capture of a stream, and what its next work depends on.
    fn cuStreamGetCaptureInfo_v2 / cuStreamGetCaptureInfo_v2_ptsz(
        stream: Handle<Stream>, status: Out<u32>, id: Out<u64>, graph: Out<Handle<Graph>>, nodes: Out<In<NodeHandle>>,
        count: Out<usize>,
    ) {
        info(stream, &Wanted { status, id, graph, nodes, edges: Out::NULL, count })
    }

    /// The capture of a stream, and what its next work depends on.
    fn cuStreamGetCaptureInfo_v3 / cuStreamGetCaptureInfo_v3_ptsz(
        stream: Handle<Stream>, status: Out<u32>, id: Out<u64>, graph: Out<Handle<Graph>>, nodes: Out<In<NodeHandle>>,
        edges: Out<In<EdgeData>>, count: Out<usize>,
    ) {
        info(stream, &Wanted { status, id, graph, nodes, edges, count })
    }

    /// Changes what the next work of a stream depends on.
    fn cuStreamUpdateCaptureDependencies / cuStreamUpdateCaptureDependencies_ptsz(
        stream: Handle<Stream>, nodes: In<NodeHandle>, count: usize, flags: u32,
    ) {
        update(stream, nodes, In::NULL, count, flags)
    }

    /// Changes what the next work of a stream depends on.
    fn cuStreamUpdateCaptureDependencies_v2 / cuStreamUpdateCaptureDependencies_v2_ptsz(
        stream: Handle<Stream>, nodes: In<NodeHandle>, data: In<EdgeData>, count: usize, flags: u32,
    ) {
        update(stream, nodes, data, count, flags)
    }

    /// Sets how much of captures concerns the thread, and gives what it was.
    fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) {
        driver()?;
        mode.set(capture::exchange_mode(mode.get()?))
    }
}
