//! Nodes of graphs: copies, fills, functions of the program, graphs, events (driver API: "Graph Management").

use super::graph::edges;
use super::stream::event;
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::context::Context;
use crate::driver::event::Event;
use crate::driver::graph::{Edge, Exec, Graph, NodeHandle, Owner};
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

/// Adds a node and gives its handle.
pub(crate) fn add(
    driver: &'static Driver,
    to: Out<NodeHandle>,
    graph: Handle<Graph>,
    after: Vec<Edge>,
    work: impl FnOnce(&'static Driver) -> Result<Work, Code>,
) -> Done {
    driver.graph(graph)?;
    let work = work(driver)?;
    let node = driver.add_node(graph, work.clone(), after).inspect_err(|_| driver.undo_work(work))?;
    to.set(node)
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

pub(crate) fn fill_work(driver: &Driver, parameters: FillParameters) -> Result<Work, Code> {
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

pub(crate) fn fill_parameters(work: &Work) -> Result<FillParameters, Code> {
    let Work::Fill(Fill { address, pitch, element, value, width, height }) = *work else {
        return Err(Code::INVALID_VALUE);
    };
    let (width, height, element) = (width as usize, height as usize, element as u32);
    Ok(FillParameters { address, pitch: pitch as usize, value, element, width, height })
}

pub(crate) fn host_work(parameters: HostParameters) -> Result<Work, Code> {
    let function = parameters.function.get().ok_or(Code::INVALID_VALUE)?;
    Ok(Work::HostFunction(HostFunction { function, data: parameters.data }))
}

pub(crate) fn host_parameters(work: &Work) -> Result<HostParameters, Code> {
    match work {
        Work::HostFunction(it) => Ok(HostParameters { function: FunctionAt::of(it.function), data: it.data }),
        _ => Err(Code::INVALID_VALUE),
    }
}

pub(crate) fn copy_work(driver: &Driver, asked: Copy3D) -> Result<Work, Code> {
    Ok(Work::Rows(Arc::new(Rows::checked(driver, asked)?)))
}

pub(crate) fn copy_parameters(work: &Work) -> Result<Copy3D, Code> {
    match work {
        Work::Copy(copy) => Ok(Copy3D::of_bytes(copy.to, copy.from, copy.bytes)),
        Work::Rows(rows) => Ok(rows.asked),
        _ => Err(Code::INVALID_VALUE),
    }
}

pub(crate) fn event_of(driver: &Driver, handle: Handle<Event>) -> Result<EventOf, Code> {
    Ok(EventOf { handle, event: event(driver, handle)? })
}

fn event_handle(work: &Work, kind: NodeKind) -> Result<Handle<Event>, Code> {
    match work {
        Work::RecordEvent(of) | Work::WaitEvent(of) if work.kind() == kind => Ok(of.handle),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// A graph becomes a node of another: a copy of it, or, if it is given away, itself.
pub(crate) fn child_work(
    driver: &Driver,
    child: Handle<Graph>,
    graph: Handle<Graph>,
    is_moved: bool,
) -> Result<Work, Code> {
    ensure(child != graph, Code::INVALID_VALUE)?;
    if !is_moved {
        return Ok(Work::Child(driver.clone_graph(child, Owner::Copy(graph))?));
    }
    let found = driver.graph(child)?;
    ensure(!driver.is_part_of(graph, child), Code::INVALID_VALUE)?;
    ensure(!found.any(|work| matches!(work, Work::Conditional(_))), Code::NOT_SUPPORTED)?;
    found.give_to(Owner::Moved(graph))?;
    Ok(Work::Child(child))
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
        add_plain(to, graph, (nodes, count), |driver| child_work(driver, child, graph, false))
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
        let updated = driver.exec(exec)?.update_child(driver, node, &graph);
        updated.map_err(|mismatch| mismatch.code())
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
}
