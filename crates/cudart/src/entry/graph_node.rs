//! Nodes of graphs: fills, functions of the program, graphs, events, memory, and nodes of any kind.

use super::array_copy::Parameters3D;
use super::graph_kernel;
use crate::code::{Code, Done, ensure};
use crate::context::{current_handle, ensure_context};
use crate::driver::capture::EdgeData;
use crate::driver::graph_node::*;
use crate::driver::memory::Copy3D;
use crate::ffi::{In, Out, zeroed};
use crate::symbols::not_supported;

/// `cudaGraphNodeType` of nodes whose parameters differ from the driver's, and of nodes that do not exist here.
mod kind {
    pub const KERNEL: u32 = 0;
    pub const COPY: u32 = 1;
    pub const SIGNAL_SEMAPHORE: u32 = 8;
    pub const WAIT_SEMAPHORE: u32 = 9;
    pub const CONDITIONAL: u32 = 13;
}

/// Where the parameters of a kind begin in `cudaGraphNodeParams`.
const PARAMETERS: usize = 16;
/// Where the copy begins, behind flags and a context.
const COPY: usize = PARAMETERS + 16;

/// Calls the driver with its parameters of any kind. What it writes to them is the caller's to see.
fn with_parameters(given: Out<NodeParameters>, call: impl FnOnce(Out<NodeParameters>) -> Done) -> Done {
    let kind = given.cast::<u32>().get()?;
    ensure_context()?;
    let mut there: NodeParameters = zeroed();
    there.kind = kind;
    let place = Out::of(&mut there);
    let nothing = 0;
    match kind {
        kind::KERNEL => {
            let parameters = graph_kernel::to_driver(given.part(PARAMETERS).get()?, &nothing)?;
            place.part(PARAMETERS).set(parameters)?;
            call(place)
        }
        kind::COPY => {
            let copy: Parameters3D = given.part(COPY).get()?;
            place.part::<Copy3D>(COPY).set(copy.to_driver()?)?;
            place.part::<u64>(PARAMETERS + 8).set(current_handle()?)?;
            call(place)
        }
        kind::SIGNAL_SEMAPHORE | kind::WAIT_SEMAPHORE => {
            Err(Code(not_supported("a node of a graph for external semaphores")))
        }
        kind::CONDITIONAL => {
            let mut condition: ConditionalParameters = given.part(PARAMETERS).get()?;
            if condition.context == 0 {
                condition.context = current_handle()?;
            }
            let there = place.part::<ConditionalParameters>(PARAMETERS);
            there.set(condition)?;
            call(place)?;
            // The graphs that the node chooses from are the caller's to see.
            let graphs = std::mem::offset_of!(ConditionalParameters, graphs);
            given.part::<u64>(PARAMETERS + graphs).set(there.get()?.graphs)
        }
        _ => call(given),
    }
}

/// Writes the parameters of a node of any kind.
fn give_parameters(found: NodeParameters, to: Out<NodeParameters>) -> Done {
    let mut found = found;
    let place = Out::of(&mut found);
    match place.get()?.kind {
        kind::KERNEL => {
            let parameters = graph_kernel::of_driver(place.part(PARAMETERS).get()?);
            let mut here: NodeParameters = zeroed();
            Out::of(&mut here).part(PARAMETERS).set(parameters)?;
            to.set(here)
        }
        kind::COPY => {
            let copy = Parameters3D::of_driver(&place.part::<Copy3D>(COPY).get()?)?;
            let mut here: NodeParameters = zeroed();
            here.kind = kind::COPY;
            Out::of(&mut here).part(COPY).set(copy)?;
            to.set(here)
        }
        _ => to.set(found),
    }
}

/// Adds a node of any kind.
fn add_any(
    node: Out<u64>,
    graph: u64,
    (after, data, count): (In<u64>, In<EdgeData>, usize),
    parameters: Out<NodeParameters>,
) -> Done {
    node.required()?;
    with_parameters(parameters, |it| cuGraphAddNode_v2(node, graph, after, data, count, it))
}

crate::entries! {
    /// Adds a node that fills.
    fn cudaGraphAddMemsetNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, fill: In<FillParameters>) {
        node.required()?;
        ensure_context()?;
        cuGraphAddMemsetNode(node, graph, after, count, fill, current_handle()?)
    }

    /// The parameters of a node that fills.
    fn cudaGraphMemsetNodeGetParams(node: u64, fill: Out<FillParameters>) {
        fill.required()?;
        ensure_context()?;
        cuGraphMemsetNodeGetParams(node, fill)
    }

    /// Changes a node that fills.
    fn cudaGraphMemsetNodeSetParams(node: u64, fill: In<FillParameters>) {
        ensure_context()?;
        cuGraphMemsetNodeSetParams(node, fill)
    }

    /// Changes a node of a launchable graph that fills.
    fn cudaGraphExecMemsetNodeSetParams(exec: u64, node: u64, fill: In<FillParameters>) {
        ensure_context()?;
        cuGraphExecMemsetNodeSetParams(exec, node, fill, current_handle()?)
    }

    /// Adds a node that calls a function of the program.
    fn cudaGraphAddHostNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, host: In<HostParameters>) {
        node.required()?;
        ensure_context()?;
        cuGraphAddHostNode(node, graph, after, count, host)
    }

    /// The parameters of a node that calls a function of the program.
    fn cudaGraphHostNodeGetParams(node: u64, host: Out<HostParameters>) {
        host.required()?;
        ensure_context()?;
        cuGraphHostNodeGetParams(node, host)
    }

    /// Changes a node that calls a function of the program.
    fn cudaGraphHostNodeSetParams(node: u64, host: In<HostParameters>) {
        ensure_context()?;
        cuGraphHostNodeSetParams(node, host)
    }

    /// Changes a node of a launchable graph that calls a function of the program.
    fn cudaGraphExecHostNodeSetParams(exec: u64, node: u64, host: In<HostParameters>) {
        ensure_context()?;
        cuGraphExecHostNodeSetParams(exec, node, host)
    }

    /// Adds a node that is a copy of a graph.
    fn cudaGraphAddChildGraphNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, child: u64) {
        node.required()?;
        ensure_context()?;
        cuGraphAddChildGraphNode(node, graph, after, count, child)
    }

    /// The graph of a node that is one.
    fn cudaGraphChildGraphNodeGetGraph(node: u64, child: Out<u64>) {
        child.required()?;
        ensure_context()?;
        cuGraphChildGraphNodeGetGraph(node, child)
    }

    /// Changes a node of a launchable graph that is a graph.
    fn cudaGraphExecChildGraphNodeSetParams(exec: u64, node: u64, child: u64) {
        ensure_context()?;
        cuGraphExecChildGraphNodeSetParams(exec, node, child)
    }

    /// Adds a node that does nothing.
    fn cudaGraphAddEmptyNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize) {
        node.required()?;
        ensure_context()?;
        cuGraphAddEmptyNode(node, graph, after, count)
    }

    /// Adds a node that records an event.
    fn cudaGraphAddEventRecordNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64) {
        node.required()?;
        ensure_context()?;
        cuGraphAddEventRecordNode(node, graph, after, count, event)
    }

    /// The event that a node records.
    fn cudaGraphEventRecordNodeGetEvent(node: u64, event: Out<u64>) {
        event.required()?;
        ensure_context()?;
        cuGraphEventRecordNodeGetEvent(node, event)
    }

    /// Changes the event that a node records.
    fn cudaGraphEventRecordNodeSetEvent(node: u64, event: u64) {
        ensure_context()?;
        cuGraphEventRecordNodeSetEvent(node, event)
    }

    /// Changes the event that a node of a launchable graph records.
    fn cudaGraphExecEventRecordNodeSetEvent(exec: u64, node: u64, event: u64) {
        ensure_context()?;
        cuGraphExecEventRecordNodeSetEvent(exec, node, event)
    }

    /// Adds a node that waits for an event.
    fn cudaGraphAddEventWaitNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64) {
        node.required()?;
        ensure_context()?;
        cuGraphAddEventWaitNode(node, graph, after, count, event)
    }

    /// The event that a node waits for.
    fn cudaGraphEventWaitNodeGetEvent(node: u64, event: Out<u64>) {
        event.required()?;
        ensure_context()?;
        cuGraphEventWaitNodeGetEvent(node, event)
    }

    /// Changes the event that a node waits for.
    fn cudaGraphEventWaitNodeSetEvent(node: u64, event: u64) {
        ensure_context()?;
        cuGraphEventWaitNodeSetEvent(node, event)
    }

    /// Changes the event that a node of a launchable graph waits for.
    fn cudaGraphExecEventWaitNodeSetEvent(exec: u64, node: u64, event: u64) {
        ensure_context()?;
        cuGraphExecEventWaitNodeSetEvent(exec, node, event)
    }

    /// Adds a node that allocates memory. Its address is written to the parameters.
    fn cudaGraphAddMemAllocNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, parameters: u64) {
        node.required()?;
        ensure(parameters != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuGraphAddMemAllocNode(node, graph, after, count, parameters)
    }

    /// The parameters of a node that allocates memory.
    fn cudaGraphMemAllocNodeGetParams(node: u64, parameters: u64) {
        ensure(parameters != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuGraphMemAllocNodeGetParams(node, parameters)
    }

    /// Adds a node that frees memory.
    fn cudaGraphAddMemFreeNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, pointer: u64) {
        node.required()?;
        ensure_context()?;
        cuGraphAddMemFreeNode(node, graph, after, count, pointer)
    }

    /// The address that a node frees.
    fn cudaGraphMemFreeNodeGetParams(node: u64, pointer: Out<u64>) {
        pointer.required()?;
        ensure_context()?;
        cuGraphMemFreeNodeGetParams(node, pointer)
    }

    /// Makes a condition for a graph.
    fn cudaGraphConditionalHandleCreate(handle: Out<u64>, graph: u64, value: u32, flags: u32) {
        handle.required()?;
        ensure_context()?;
        cuGraphConditionalHandleCreate(handle, graph, current_handle()?, value, flags)
    }

    /// Makes a condition for a graph. Only the current context can be named.
    fn cudaGraphConditionalHandleCreate_v2(handle: Out<u64>, graph: u64, context: u64, value: u32, flags: u32) {
        handle.required()?;
        ensure_context()?;
        let context = if context == 0 { current_handle()? } else { context };
        cuGraphConditionalHandleCreate(handle, graph, context, value, flags)
    }

    /// Adds a node of any kind.
    fn cudaGraphAddNode(
        node: Out<u64>, graph: u64, after: In<u64>, data: In<EdgeData>, count: usize, parameters: Out<NodeParameters>,
    ) {
        add_any(node, graph, (after, data, count), parameters)
    }

    /// Adds a node of any kind.
    fn v12_cudaGraphAddNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, parameters: Out<NodeParameters>,
    ) {
        add_any(node, graph, (after, In::NULL, count), parameters)
    }

    /// The parameters of a node of any kind.
    fn cudaGraphNodeGetParams(node: u64, parameters: Out<NodeParameters>) {
        parameters.required()?;
        ensure_context()?;
        let mut found = zeroed();
        cuGraphNodeGetParams(node, Out::of(&mut found))?;
        give_parameters(found, parameters)
    }

    /// Changes a node of any kind.
    fn cudaGraphNodeSetParams(node: u64, parameters: Out<NodeParameters>) {
        with_parameters(parameters, |it| cuGraphNodeSetParams(node, it))
    }

    /// Changes a node of any kind of a launchable graph.
    fn cudaGraphExecNodeSetParams(exec: u64, node: u64, parameters: Out<NodeParameters>) {
        with_parameters(parameters, |it| cuGraphExecNodeSetParams(exec, node, it))
    }
}
