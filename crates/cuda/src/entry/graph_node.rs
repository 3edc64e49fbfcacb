//! Nodes of graphs: copies, fills, functions of the program, graphs, events (driver API: "Graph Management").

use super::graph::edges;
use super::graph_kernel::{kernel_parameters, kernel_work, launch_of};
use super::graph_memory::{allocate_parameters, allocate_work, free_work};
use super::stream::event;
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::context::Context;
use crate::driver::event::Event;
use crate::driver::graph::{Edge, EdgeData, Exec, Graph, NodeHandle};
use crate::driver::rows::{Copy3D, Rows};
use crate::driver::transfer::Fill;
use crate::driver::work::{EventOf, NodeKind, Work};
use crate::driver::{Driver, driver};
use crate::ffi::{FunctionAt, Host, HostFunction, In, Out};
use crate::handle::Handle;
use std::sync::Arc;

c_struct! {
    /// `CUDA_MEMSET_NODE_PARAMS`
    FillParameters {
        address: u64,
        pitch: usize,
        value: u32,
        element: u32,
        width: usize,
        height: usize,
    }
}

c_struct! {
    /// `CUDA_HOST_NODE_PARAMS`
    HostParameters {
        function: FunctionAt,
        data: Host,
    }
}

c_struct! {
    /// `CUgraphNodeParams`: a kind and the parameters of that kind.
    NodeParameters {
        kind: u32,
        reserved: [u32; 3],
        parameters: [u64; 29],
        reserved_behind: u64,
    }
}

/// Where the parameters of a kind begin in [`NodeParameters`].
const PARAMETERS: usize = 16;
/// Where the copy begins in `CUDA_MEMCPY_NODE_PARAMS`, behind flags and a context.
const COPY: usize = PARAMETERS + 16;

/// Adds a node and gives its handle.
pub(crate) fn add(
    driver: &'static Driver,
    to: Out<NodeHandle>,
    graph: Handle<Graph>,
    after: Vec<Edge>,
    work: impl FnOnce(&'static Driver) -> Result<Work, Code>,
) -> Done {
    driver.graph(graph)?;
    to.set(driver.add_node(graph, work(driver)?, after)?)
}

/// Changes a node to work of the same kind.
pub(crate) fn change(
    driver: &Driver,
    node: NodeHandle,
    work: impl FnOnce(&Work) -> Result<Work, Code>,
) -> Done {
    driver.graph_of(node)?.1.change(node, |old| replace(old, work))
}

/// Changes a node of a launchable graph to work of the same kind.
pub(crate) fn exec_change(
    driver: &Driver,
    exec: Handle<Exec>,
    node: NodeHandle,
    work: impl FnOnce(&Work) -> Result<Work, Code>,
) -> Done {
    driver.exec(exec)?.change(node, |old| replace(&mut old.work, work))
}

fn replace(old: &mut Work, work: impl FnOnce(&Work) -> Result<Work, Code>) -> Done {
    let new = work(old)?;
    ensure(new.kind() == old.kind(), Code::INVALID_VALUE)?;
    *old = new;
    Ok(())
}

fn fill_work(driver: &Driver, parameters: FillParameters) -> Result<Work, Code> {
    let FillParameters { address, pitch, value, element, width, height } = parameters;
    let mask = match element {
        1 => 0xff,
        2 => 0xffff,
        4 => u32::MAX,
        _ => return Err(Code::INVALID_VALUE),
    };
    let fill = Fill {
        address,
        pitch: pitch as u64,
        element: element.into(),
        value: value & mask,
        width: width as u64,
        height: height as u64,
    };
    ensure(fill.check(driver)?, Code::INVALID_VALUE)?;
    Ok(Work::Fill(fill))
}

fn fill_parameters(work: &Work) -> Result<FillParameters, Code> {
    let Work::Fill(Fill { address, pitch, element, value, width, height }) = *work else {
        return Err(Code::INVALID_VALUE);
    };
    let (width, height, element) = (width as usize, height as usize, element as u32);
    Ok(FillParameters { address, pitch: pitch as usize, value, element, width, height })
}

fn host_work(parameters: HostParameters) -> Result<Work, Code> {
    let function = parameters.function.get().ok_or(Code::INVALID_VALUE)?;
    Ok(Work::HostFunction(HostFunction { function, data: parameters.data }))
}

fn host_parameters(work: &Work) -> Result<HostParameters, Code> {
    match work {
        Work::HostFunction(it) => Ok(HostParameters { function: FunctionAt::of(it.function), data: it.data }),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn copy_work(driver: &Driver, asked: Copy3D) -> Result<Work, Code> {
    Ok(Work::Rows(Arc::new(Rows::checked(driver, asked)?)))
}

fn copy_parameters(work: &Work) -> Result<Copy3D, Code> {
    match work {
        Work::Copy(copy) => Ok(Copy3D::of_bytes(copy.to, copy.from, copy.bytes)),
        Work::Rows(rows) => Ok(rows.asked),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn event_of(driver: &Driver, handle: Handle<Event>) -> Result<EventOf, Code> {
    Ok(EventOf { handle, event: event(driver, handle)? })
}

fn event_handle(work: &Work, kind: NodeKind) -> Result<Handle<Event>, Code> {
    match work {
        Work::RecordEvent(of) | Work::WaitEvent(of) if work.kind() == kind => Ok(of.handle),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// A copy of a graph becomes a node of another.
fn child_work(driver: &Driver, child: Handle<Graph>, graph: Handle<Graph>) -> Result<Work, Code> {
    ensure(child != graph, Code::INVALID_VALUE)?;
    Ok(Work::Child(driver.clone_graph(child, true)?))
}

/// The work that parameters of any kind describe. `graph` is the graph that the node is of.
fn any_work(
    driver: &'static Driver,
    given: Out<NodeParameters>,
    graph: Handle<Graph>,
    old: Option<&Work>,
) -> Result<Work, Code> {
    let kind = NodeKind::of(given.get()?.kind).ok_or(Code::NOT_SUPPORTED)?;
    let event = || event_of(driver, given.part(PARAMETERS).get()?);
    match kind {
        NodeKind::Kernel => {
            let before = old.map(launch_of).transpose()?;
            kernel_work(driver, given.part(PARAMETERS).get()?, before.map(|it| &**it))
        }
        NodeKind::Copy => copy_work(driver, given.part(COPY).get()?),
        NodeKind::Fill => fill_work(driver, given.part(PARAMETERS).get()?),
        NodeKind::Host => host_work(given.part(PARAMETERS).get()?),
        NodeKind::Graph => child_work(driver, given.part(PARAMETERS).get()?, graph),
        NodeKind::Empty => Ok(Work::Empty),
        NodeKind::WaitEvent => Ok(Work::WaitEvent(event()?)),
        NodeKind::RecordEvent => Ok(Work::RecordEvent(event()?)),
        // Such nodes cannot be changed.
        NodeKind::Allocate | NodeKind::Free if old.is_some() => Err(Code::INVALID_VALUE),
        NodeKind::Allocate => allocate_work(given.part(PARAMETERS)),
        NodeKind::Free => free_work(driver, given.part(PARAMETERS).get()?),
    }
}

/// Writes the parameters of a node of any kind.
fn any_parameters(work: &Work, to: Out<NodeParameters>) -> Done {
    let kind = work.kind() as u32;
    to.set(NodeParameters { kind, reserved: [0; 3], parameters: [0; 29], reserved_behind: 0 })?;
    match work {
        Work::Launch(launch) => to.part(PARAMETERS).set(kernel_parameters(launch)),
        Work::Copy(_) | Work::Rows(_) => to.part(COPY).set(copy_parameters(work)?),
        Work::Fill(_) => to.part(PARAMETERS).set(fill_parameters(work)?),
        Work::HostFunction(_) => to.part(PARAMETERS).set(host_parameters(work)?),
        Work::Child(child) => to.part(PARAMETERS).set(*child),
        Work::WaitEvent(of) | Work::RecordEvent(of) => to.part(PARAMETERS).set(of.handle),
        Work::Allocate(memory) => to.part(PARAMETERS).set(allocate_parameters(memory)),
        Work::Free(address) => to.part(PARAMETERS).set(*address),
        _ => Ok(()),
    }
}

fn add_any(
    to: Out<NodeHandle>,
    graph: Handle<Graph>,
    after: Result<Vec<Edge>, Code>,
    parameters: Out<NodeParameters>,
) -> Done {
    let driver = driver()?;
    to.required()?;
    add(driver, to, graph, after?, |driver| any_work(driver, parameters, graph, None))
}

fn set_any(node: NodeHandle, parameters: Out<NodeParameters>) -> Done {
    let driver = driver()?;
    let (graph, found) = driver.graph_of(node)?;
    let old = found.node(node)?.work;
    ensure(NodeKind::of(parameters.get()?.kind) == Some(old.kind()), Code::INVALID_VALUE)?;
    let new = any_work(driver, parameters, graph, Some(&old))?;
    change(driver, node, |_| Ok(new))?;
    driver.drop_work(old);
    Ok(())
}

/// Adds a node whose dependencies are plain.
fn add_plain(
    to: Out<NodeHandle>,
    graph: Handle<Graph>,
    (nodes, count): (In<NodeHandle>, usize),
    work: impl FnOnce(&'static Driver) -> Result<Work, Code>,
) -> Done {
    let driver = driver()?;
    to.required()?;
    add(driver, to, graph, edges(nodes, In::NULL, count)?, work)
}

fn child_exec(driver: &Driver, child: Handle<Graph>) -> Result<Arc<Exec>, Code> {
    Ok(Arc::new(Exec::new(driver, &*driver.graph(child)?, 0)?))
}

crate::entries! {
    /// Adds a node that copies.
    fn cuGraphAddMemcpyNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize, parameters: In<Copy3D>,
        _context: Handle<Context>,
    ) {
        add_plain(to, graph, (nodes, count), |driver| copy_work(driver, parameters.get()?))
    }

    /// The parameters of a node that copies.
    fn cuGraphMemcpyNodeGetParams(node: NodeHandle, to: Out<Copy3D>) {
        to.required()?;
        to.set(copy_parameters(&driver()?.node(node)?.work)?)
    }

    /// Changes a node that copies.
    fn cuGraphMemcpyNodeSetParams(node: NodeHandle, parameters: In<Copy3D>) {
        let driver = driver()?;
        change(driver, node, |_| copy_work(driver, parameters.get()?))
    }

    /// Changes a node of a launchable graph that copies.
    fn cuGraphExecMemcpyNodeSetParams(
        exec: Handle<Exec>, node: NodeHandle, parameters: In<Copy3D>, _context: Handle<Context>,
    ) {
        let driver = driver()?;
        exec_change(driver, exec, node, |_| copy_work(driver, parameters.get()?))
    }

    /// Adds a node that fills.
    fn cuGraphAddMemsetNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize, parameters: In<FillParameters>,
        _context: Handle<Context>,
    ) {
        add_plain(to, graph, (nodes, count), |driver| fill_work(driver, parameters.get()?))
    }

    /// The parameters of a node that fills.
    fn cuGraphMemsetNodeGetParams(node: NodeHandle, to: Out<FillParameters>) {
        to.required()?;
        to.set(fill_parameters(&driver()?.node(node)?.work)?)
    }

    /// Changes a node that fills.
    fn cuGraphMemsetNodeSetParams(node: NodeHandle, parameters: In<FillParameters>) {
        let driver = driver()?;
        change(driver, node, |_| fill_work(driver, parameters.get()?))
    }

    /// Changes a node of a launchable graph that fills.
    fn cuGraphExecMemsetNodeSetParams(
        exec: Handle<Exec>, node: NodeHandle, parameters: In<FillParameters>, _context: Handle<Context>,
    ) {
        let driver = driver()?;
        exec_change(driver, exec, node, |_| fill_work(driver, parameters.get()?))
    }

    /// Adds a node that calls a function of the program.
    fn cuGraphAddHostNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize, parameters: In<HostParameters>,
    ) {
        add_plain(to, graph, (nodes, count), |_| host_work(parameters.get()?))
    }

    /// The parameters of a node that calls a function of the program.
    fn cuGraphHostNodeGetParams(node: NodeHandle, to: Out<HostParameters>) {
        to.required()?;
        to.set(host_parameters(&driver()?.node(node)?.work)?)
    }

    /// Changes a node that calls a function of the program.
    fn cuGraphHostNodeSetParams(node: NodeHandle, parameters: In<HostParameters>) {
        change(driver()?, node, |_| host_work(parameters.get()?))
    }

    /// Changes a node of a launchable graph that calls a function of the program.
    fn cuGraphExecHostNodeSetParams(exec: Handle<Exec>, node: NodeHandle, parameters: In<HostParameters>) {
        exec_change(driver()?, exec, node, |_| host_work(parameters.get()?))
    }

    /// Adds a node that is a copy of a graph.
    fn cuGraphAddChildGraphNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize, child: Handle<Graph>,
    ) {
        add_plain(to, graph, (nodes, count), |driver| child_work(driver, child, graph))
    }

    /// The graph of a node that is one.
    fn cuGraphChildGraphNodeGetGraph(node: NodeHandle, to: Out<Handle<Graph>>) {
        to.required()?;
        match driver()?.node(node)?.work {
            Work::Child(child) => to.set(child),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// Changes a node of a launchable graph that is a graph.
    fn cuGraphExecChildGraphNodeSetParams(exec: Handle<Exec>, node: NodeHandle, child: Handle<Graph>) {
        let driver = driver()?;
        let graph = driver.graph(child)?;
        driver.exec(exec)?.change(node, |old| {
            let Work::Subgraph(there) = &old.work else { return Err(Code::INVALID_VALUE) };
            there.update(driver, &graph).map_err(|_| Code::GRAPH_EXEC_UPDATE_FAILURE)
        })
    }

    /// Adds a node that does nothing.
    fn cuGraphAddEmptyNode(to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize) {
        add_plain(to, graph, (nodes, count), |_| Ok(Work::Empty))
    }

    /// Adds a node that records an event.
    fn cuGraphAddEventRecordNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize, recorded: Handle<Event>,
    ) {
        add_plain(to, graph, (nodes, count), |driver| Ok(Work::RecordEvent(event_of(driver, recorded)?)))
    }

    /// The event that a node records.
    fn cuGraphEventRecordNodeGetEvent(node: NodeHandle, to: Out<Handle<Event>>) {
        to.required()?;
        to.set(event_handle(&driver()?.node(node)?.work, NodeKind::RecordEvent)?)
    }

    /// Changes the event that a node records.
    fn cuGraphEventRecordNodeSetEvent(node: NodeHandle, recorded: Handle<Event>) {
        let driver = driver()?;
        change(driver, node, |_| Ok(Work::RecordEvent(event_of(driver, recorded)?)))
    }

    /// Changes the event that a node of a launchable graph records.
    fn cuGraphExecEventRecordNodeSetEvent(exec: Handle<Exec>, node: NodeHandle, recorded: Handle<Event>) {
        let driver = driver()?;
        exec_change(driver, exec, node, |_| Ok(Work::RecordEvent(event_of(driver, recorded)?)))
    }

    /// Adds a node that waits for an event.
    fn cuGraphAddEventWaitNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize, waited: Handle<Event>,
    ) {
        add_plain(to, graph, (nodes, count), |driver| Ok(Work::WaitEvent(event_of(driver, waited)?)))
    }

    /// The event that a node waits for.
    fn cuGraphEventWaitNodeGetEvent(node: NodeHandle, to: Out<Handle<Event>>) {
        to.required()?;
        to.set(event_handle(&driver()?.node(node)?.work, NodeKind::WaitEvent)?)
    }

    /// Changes the event that a node waits for.
    fn cuGraphEventWaitNodeSetEvent(node: NodeHandle, waited: Handle<Event>) {
        let driver = driver()?;
        change(driver, node, |_| Ok(Work::WaitEvent(event_of(driver, waited)?)))
    }

    /// Changes the event that a node of a launchable graph waits for.
    fn cuGraphExecEventWaitNodeSetEvent(exec: Handle<Exec>, node: NodeHandle, waited: Handle<Event>) {
        let driver = driver()?;
        exec_change(driver, exec, node, |_| Ok(Work::WaitEvent(event_of(driver, waited)?)))
    }

    /// Adds a node of any kind.
    fn cuGraphAddNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize, parameters: Out<NodeParameters>,
    ) {
        add_any(to, graph, edges(nodes, In::NULL, count), parameters)
    }

    /// Adds a node of any kind.
    fn cuGraphAddNode_v2(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, data: In<EdgeData>, count: usize,
        parameters: Out<NodeParameters>,
    ) {
        add_any(to, graph, edges(nodes, data, count), parameters)
    }

    /// The parameters of a node of any kind.
    fn cuGraphNodeGetParams(node: NodeHandle, to: Out<NodeParameters>) {
        to.required()?;
        any_parameters(&driver()?.node(node)?.work, to)
    }

    /// Changes a node of any kind.
    fn cuGraphNodeSetParams(node: NodeHandle, parameters: Out<NodeParameters>) {
        set_any(node, parameters)
    }

    /// Changes a node of a launchable graph.
    fn cuGraphExecNodeSetParams(exec: Handle<Exec>, node: NodeHandle, parameters: Out<NodeParameters>) {
        let driver = driver()?;
        exec_change(driver, exec, node, |old| {
            ensure(NodeKind::of(parameters.get()?.kind) == Some(old.kind()), Code::INVALID_VALUE)?;
            // A graph is copied only to make it launchable.
            let graph = parameters.part(PARAMETERS);
            match old {
                Work::Subgraph(_) => Ok(Work::Subgraph(child_exec(driver, graph.get()?)?)),
                old => any_work(driver, parameters, Handle::NULL, Some(old)),
            }
        })
    }
}
