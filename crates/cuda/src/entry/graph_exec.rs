//! Graphs that can be launched (driver API: "Graph Management").

use super::event::set_recorded;
use super::stream::of;
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::driver::graph::exec::Refusal;
use crate::driver::graph::update::Mismatch;
use crate::driver::graph::{Exec, Graph, NodeHandle, Owner};
use crate::driver::work::NodeKind;
use crate::driver::{Driver, driver};
use crate::ffi::{Host, Out};
use crate::handle::{Handle, lock};
use crate::stream::Stream;
use std::mem::offset_of;
use std::sync::Arc;

c_struct! {
    /// `CUDA_GRAPH_INSTANTIATE_PARAMS`
    InstantiateParameters {
        flags: u64,
        stream: Handle<Stream>,
        error_node: NodeHandle,
        result: u32,
        padding: u32,
    }
}

c_struct! {
    /// `CUgraphExecUpdateResultInfo`
    UpdateResult {
        result: u32,
        padding: u32,
        node: NodeHandle,
        from: NodeHandle,
    }
}

impl UpdateResult {
    /// Writes it; what is between the fields stays, as recorded.
    fn give(&self, to: Out<UpdateResult>) {
        to.part(offset_of!(UpdateResult, result)).set_if_any(self.result);
        to.part(offset_of!(UpdateResult, node)).set_if_any(self.node);
        to.part(offset_of!(UpdateResult, from)).set_if_any(self.from);
    }
}

/// `CUgraphInstantiate_flags`
mod flag {
    pub const AUTO_FREE: u64 = 1;
    pub const UPLOAD: u64 = 2;
    pub const DEVICE_LAUNCH: u64 = 4;
    pub const PRIORITY: u64 = 8;
}

/// A graph for the device has a kernel, a copy or a fill, and nothing that needs the host.
fn check_device_launch(graph: &Graph, flags: u64) -> Result<(), Refusal> {
    if flags & flag::DEVICE_LAUNCH == 0 {
        return Ok(());
    }
    let kinds = [NodeKind::Kernel, NodeKind::Copy, NodeKind::Fill];
    let inner = [NodeKind::Empty, NodeKind::Graph];
    let is_foreign = |kind| !kinds.contains(&kind) && !inner.contains(&kind);
    ensure(graph.any(|work| kinds.contains(&work.kind())), Code::INVALID_VALUE)?;
    ensure(flags & flag::AUTO_FREE == 0, Code::INVALID_VALUE)?;
    match graph.nodes().iter().find(|node| is_foreign(node.work.kind())) {
        Some(node) => Err(Refusal::Node(node.handle)),
        None => Ok(()),
    }
}

fn try_instantiate(
    to: Out<Handle<Exec>>,
    graph: Handle<Graph>,
    flags: u64,
    allowed: u64,
) -> Result<(), Refusal> {
    let driver = driver()?;
    to.required()?;
    let graph = driver.graph(graph)?;
    ensure(flags & !allowed == 0, Code::INVALID_VALUE)?;
    // A graph that was given to a node, or that a node chooses, is launched with the graph of the node.
    let is_part = matches!(graph.owner(), Owner::Moved(_) | Owner::Body(_));
    ensure(!is_part, Code::INVALID_VALUE)?;
    check_device_launch(&graph, flags)?;
    let exec = Exec::new(driver, &graph, flags)?;
    let objects = lock(&exec.objects).clone();
    driver.retain_objects(&objects);
    to.set(driver.execs.insert(Arc::new(exec)).ok_or(Code::OUT_OF_MEMORY)?)?;
    Ok(())
}

fn instantiate(to: Out<Handle<Exec>>, graph: Handle<Graph>, flags: u64, allowed: u64) -> Done {
    try_instantiate(to, graph, flags, allowed).map_err(Refusal::code)
}

/// What the parameters of `cuGraphInstantiateWithParams` say afterwards: the result and a node.
fn result_of(done: Result<(), Refusal>) -> (u32, NodeHandle) {
    match done {
        Ok(()) => (0, Handle::NULL),
        Err(Refusal::Other(_)) => (1, Handle::NULL),
        Err(Refusal::Structure) => (2, Handle::NULL),
        Err(Refusal::Node(node)) => (3, node),
        Err(Refusal::Condition) => (5, Handle::NULL),
    }
}

/// Flags that are allowed without a stream to upload in.
const PLAIN: u64 = flag::AUTO_FREE | flag::DEVICE_LAUNCH | flag::PRIORITY;

fn update(driver: &Driver, exec: Handle<Exec>, graph: Handle<Graph>) -> Result<UpdateResult, Code> {
    let (exec, graph) = (driver.exec(exec)?, driver.graph(graph)?);
    ensure(!matches!(graph.owner(), Owner::Moved(_) | Owner::Body(_)), Code::INVALID_VALUE)?;
    let (result, node) = match exec.update(driver, &graph) {
        Ok(()) => (0, Handle::NULL),
        Err(Mismatch::Graph(Refusal::Structure) | Mismatch::Count) => (2, Handle::NULL),
        Err(Mismatch::Graph(Refusal::Node(node))) => (6, node),
        Err(Mismatch::Graph(Refusal::Condition | Refusal::Other(_))) => (1, Handle::NULL),
        Err(Mismatch::Topology(node)) => (2, node),
        Err(Mismatch::Kind(node)) => (3, node),
        Err(Mismatch::Parameters(node)) => (5, node),
        Err(Mismatch::Function(node)) => (7, node),
        Err(Mismatch::Attributes(node)) => (8, node),
    };
    Ok(UpdateResult { result, padding: 0, node, from: Handle::NULL })
}

fn update_done(result: u32) -> Done {
    ensure(result == 0, Code::GRAPH_EXEC_UPDATE_FAILURE)
}

fn launch(exec: Handle<Exec>, stream: Handle<Stream>) -> Done {
    let driver = driver()?;
    let found = driver.exec(exec)?;
    let (driver, context, stream) = of(stream)?;
    driver.captures.forbid_stream(stream.id)?;
    let prepared = found.prepare(driver)?;
    driver.issue(&context, &stream, prepared.work)?;
    for (event, time) in prepared.events {
        set_recorded(&event, &stream, time);
    }
    Ok(())
}

crate::entries! {
    /// Makes a graph launchable.
    fn cuGraphInstantiate(
        to: Out<Handle<Exec>>, graph: Handle<Graph>, error_node: Out<NodeHandle>, _log: Host, _room: usize,
    ) {
        instantiate(to, graph, 0, PLAIN)?;
        error_node.set_if_any(Handle::NULL);
        Ok(())
    }

    /// Makes a graph launchable. A log is written of what is wrong.
    fn cuGraphInstantiate_v2(
        to: Out<Handle<Exec>>, graph: Handle<Graph>, error_node: Out<NodeHandle>, log: Host, room: usize,
    ) {
        let done = instantiate(to, graph, 0, PLAIN);
        error_node.set_if_any(Handle::NULL);
        if !log.is_null() {
            // SAFETY: the caller's buffer has this room.
            unsafe { log.set_text("", room) };
        }
        done
    }

    /// Makes a graph launchable.
    fn cuGraphInstantiateWithFlags(to: Out<Handle<Exec>>, graph: Handle<Graph>, flags: u64) {
        instantiate(to, graph, flags, PLAIN)
    }

    /// Makes a graph launchable.
    fn cuGraphInstantiateWithParams / cuGraphInstantiateWithParams_ptsz(
        to: Out<Handle<Exec>>, graph: Handle<Graph>, parameters: Out<InstantiateParameters>,
    ) {
        let given = parameters.get()?;
        if given.flags & flag::UPLOAD != 0 {
            of(given.stream)?;
        }
        let done = try_instantiate(to, graph, given.flags, PLAIN | flag::UPLOAD);
        let (result, error_node) = result_of(done);
        parameters.set(InstantiateParameters { error_node, result, ..given })?;
        done.map_err(Refusal::code)
    }

    /// Destroys a launchable graph. Launches that were submitted are still done.
    fn cuGraphExecDestroy(exec: Handle<Exec>) {
        let driver = driver()?;
        let removed = driver.execs.remove(exec).map_err(|_| Code::INVALID_VALUE)?;
        let objects = std::mem::take(&mut *lock(&removed.objects));
        driver.release_objects(&objects);
        Ok(())
    }

    /// The flags that a launchable graph was made with.
    fn cuGraphExecGetFlags(exec: Handle<Exec>, flags: Out<u64>) {
        flags.required()?;
        flags.set(driver()?.exec(exec)?.flags)
    }

    /// The number of a launchable graph.
    fn cuGraphExecGetId(exec: Handle<Exec>, to: Out<u32>) {
        to.required()?;
        to.set(driver()?.exec(exec)?.id as u32)
    }

    /// Launches a graph in a stream.
    fn cuGraphLaunch / cuGraphLaunch_ptsz(exec: Handle<Exec>, stream: Handle<Stream>) {
        launch(exec, stream)
    }

    /// Makes a graph ready to be launched in a stream: it is.
    fn cuGraphUpload / cuGraphUpload_ptsz(exec: Handle<Exec>, stream: Handle<Stream>) {
        driver()?.exec(exec)?;
        let (driver, _, stream) = of(stream)?;
        driver.captures.forbid_stream(stream.id)
    }

    /// Gives a launchable graph the work of a graph that has the same nodes and edges.
    fn cuGraphExecUpdate(
        exec: Handle<Exec>, graph: Handle<Graph>, error_node: Out<NodeHandle>, result: Out<u32>,
    ) {
        let updated = update(driver()?, exec, graph)?;
        error_node.set_if_any(updated.node);
        result.set_if_any(updated.result);
        update_done(updated.result)
    }

    /// Gives a launchable graph the work of a graph that has the same nodes and edges.
    fn cuGraphExecUpdate_v2(exec: Handle<Exec>, graph: Handle<Graph>, result: Out<UpdateResult>) {
        let updated = update(driver()?, exec, graph)?;
        updated.give(result);
        update_done(updated.result)
    }

    /// Whether a node of a launchable graph does anything.
    fn cuGraphNodeGetEnabled(exec: Handle<Exec>, node: NodeHandle, to: Out<u32>) {
        to.required()?;
        let enabled = driver()?.exec(exec)?.change(node, |node| Ok(node.enabled))?;
        to.set(enabled.into())
    }

    /// Sets whether a node of a launchable graph does anything: only kernels, copies and fills can be left out.
    fn cuGraphNodeSetEnabled(exec: Handle<Exec>, node: NodeHandle, is_enabled: u32) {
        driver()?.exec(exec)?.change(node, |node| {
            let kinds = [NodeKind::Kernel, NodeKind::Copy, NodeKind::Fill];
            ensure(kinds.contains(&node.work.kind()), Code::INVALID_VALUE)?;
            node.enabled = is_enabled != 0;
            Ok(())
        })
    }
}
