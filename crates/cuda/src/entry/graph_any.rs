//! Nodes of graphs of any kind, by one structure (driver API: "Graph Management").

use super::graph::edges;
use super::graph_condition::{conditional_parameters, conditional_work};
use super::graph_kernel::{KernelParameters, kernel_parameters, kernel_work, launch_of};
use super::graph_memory::{allocate_parameters, allocate_work, free_work};
use super::graph_node::{
    add, change, child_work, copy_parameters, copy_work, event_of, exec_change, fill_parameters, fill_work,
    host_parameters, host_work,
};
use super::graph_operation::{exec_operation_work, operation_parameters, operation_work};
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::driver::graph::{Edge, EdgeData, Exec, Graph, NodeHandle};
use crate::driver::work::{NodeKind, Work};
use crate::driver::{Driver, driver};
use crate::ffi::{In, Out};
use crate::handle::Handle;
use crate::symbols::not_supported;

c_struct! {
    /// `CUgraphNodeParams`: a kind and the parameters of that kind.
    NodeParameters {
        kind: u32,
        reserved: [u32; 3],
        parameters: [u64; 29],
        reserved_behind: u64,
    }
}

c_struct! {
    /// `CUDA_CHILD_GRAPH_NODE_PARAMS`
    ChildParameters {
        graph: Handle<Graph>,
        ownership: i32,
        padding: u32,
    }
}

/// `CUgraphChildGraphNodeOwnership`
mod ownership {
    pub const COPY: i32 = 0;
    pub const MOVE: i32 = 1;
    /// What a node's parameters say: its graph cannot be used for another node.
    pub const INVALID: i32 = -1;
}

/// Where the parameters of a kind begin in [`NodeParameters`].
const PARAMETERS: usize = 16;
/// Where the copy begins in `CUDA_MEMCPY_NODE_PARAMS`, behind flags and a context.
const COPY: usize = PARAMETERS + 16;

/// The kind that parameters name. What is reserved must be 0.
fn kind_of(given: Out<NodeParameters>) -> Result<NodeKind, Code> {
    let NodeParameters { kind, reserved, reserved_behind, .. } = given.get()?;
    ensure(reserved == [0; 3] && reserved_behind == 0, Code::INVALID_VALUE)?;
    match kind {
        8 => Err(not_supported("CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL")),
        9 => Err(not_supported("CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT")),
        kind => NodeKind::of(kind).ok_or(Code::INVALID_VALUE),
    }
}

/// A function and a context that are both given must belong together.
fn check_context(driver: &Driver, parameters: &KernelParameters) -> Done {
    let (function, context) = (parameters.first.function, parameters.context);
    if function.is_null() || context.is_null() {
        return Ok(());
    }
    let own = match driver.functions.get(function) {
        Ok(function) => function.context,
        // What the handle is, is looked at later.
        Err(_) => return Ok(()),
    };
    ensure(own == context.bits(), Code::INVALID_CONTEXT)
}

/// The work that parameters of any kind describe. `graph` is the graph that the node is of.
fn any_work(
    driver: &'static Driver,
    given: Out<NodeParameters>,
    graph: Handle<Graph>,
    old: Option<&Work>,
) -> Result<Work, Code> {
    let event = || event_of(driver, given.part(PARAMETERS).get()?);
    match kind_of(given)? {
        NodeKind::Kernel => {
            let before = old.map(launch_of).transpose()?;
            kernel_work(driver, given.part(PARAMETERS).get()?, before.map(|it| &**it))
        }
        NodeKind::Copy => copy_work(driver, given.part(COPY).get()?),
        NodeKind::Fill => fill_work(driver, given.part(PARAMETERS).get()?),
        NodeKind::Host => host_work(given.part(PARAMETERS).get()?),
        NodeKind::Graph => {
            let ChildParameters { graph: child, ownership, .. } = given.part(PARAMETERS).get()?;
            ensure([ownership::COPY, ownership::MOVE].contains(&ownership), Code::INVALID_VALUE)?;
            child_work(driver, child, graph, ownership == ownership::MOVE)
        }
        NodeKind::Empty => Ok(Work::Empty),
        NodeKind::WaitEvent => Ok(Work::WaitEvent(event()?)),
        NodeKind::RecordEvent => Ok(Work::RecordEvent(event()?)),
        NodeKind::Memory => operation_work(driver, given.part(PARAMETERS).get()?),
        // Such nodes cannot be changed.
        NodeKind::Allocate | NodeKind::Free | NodeKind::Conditional if old.is_some() => {
            Err(Code::NOT_SUPPORTED)
        }
        NodeKind::Allocate => allocate_work(given.part(PARAMETERS)),
        NodeKind::Free => free_work(driver, given.part(PARAMETERS).get()?),
        NodeKind::Conditional => conditional_work(driver, graph, given.part(PARAMETERS)),
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
        Work::Child(child) => {
            let ownership = ownership::INVALID;
            to.part(PARAMETERS).set(ChildParameters { graph: *child, ownership, padding: 0 })
        }
        Work::WaitEvent(of) | Work::RecordEvent(of) => to.part(PARAMETERS).set(of.handle),
        Work::Allocate(memory) => to.part(PARAMETERS).set(allocate_parameters(memory)),
        Work::Free(address) => to.part(PARAMETERS).set(*address),
        Work::Memory(_) => to.part(PARAMETERS).set(operation_parameters(work)?),
        Work::Conditional(node) => to.part(PARAMETERS).set(conditional_parameters(node)),
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
    ensure(kind_of(parameters)? == old.kind(), Code::INVALID_VALUE)?;
    let new = any_work(driver, parameters, graph, Some(&old))?;
    change(driver, node, |_| Ok(new))?;
    driver.drop_work(old);
    Ok(())
}

/// Newer functions check that a kernel's function is of the context that is named.
fn check_kernel(parameters: Out<NodeParameters>) -> Done {
    if kind_of(parameters)? != NodeKind::Kernel {
        return Ok(());
    }
    check_context(driver()?, &parameters.part(PARAMETERS).get()?)
}

crate::entries! {
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

    /// Adds a node of any kind.
    fn cuGraphAddNode_v3(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, data: In<EdgeData>, count: usize,
        parameters: Out<NodeParameters>,
    ) {
        driver()?;
        check_kernel(parameters)?;
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

    /// Changes a node of any kind.
    fn cuGraphNodeSetParams_v2(node: NodeHandle, parameters: Out<NodeParameters>) {
        driver()?;
        check_kernel(parameters)?;
        set_any(node, parameters)
    }

    /// Changes a node of a launchable graph.
    fn cuGraphExecNodeSetParams(exec: Handle<Exec>, node: NodeHandle, parameters: Out<NodeParameters>) {
        let driver = driver()?;
        let kind = kind_of(parameters)?;
        if kind == NodeKind::Graph {
            let ChildParameters { graph, .. } = parameters.part(PARAMETERS).get()?;
            let graph = driver.graph(graph)?;
            let updated = driver.exec(exec)?.update_child(driver, node, &graph);
            return updated.map_err(|mismatch| mismatch.code());
        }
        exec_change(driver, exec, node, |old| {
            ensure(kind == old.kind(), Code::INVALID_VALUE)?;
            match kind {
                NodeKind::Memory => exec_operation_work(driver, parameters.part(PARAMETERS).get()?, old),
                _ => any_work(driver, parameters, Handle::NULL, Some(old)),
            }
        })
    }
}
