//! Graphs, their edges, and graphs that can be launched.

use crate::code::{Code, ensure};
use crate::context::{device, ensure_context};
use crate::driver::capture::EdgeData;
use crate::driver::graph::*;
use crate::ffi::{In, Out, Text};

crate::entries! {
    /// Makes an empty graph.
    fn cudaGraphCreate(graph: Out<u64>, flags: u32) {
        graph.required()?;
        ensure_context()?;
        cuGraphCreate(graph, flags)
    }

    /// Destroys a graph.
    fn cudaGraphDestroy(graph: u64) {
        ensure_context()?;
        cuGraphDestroy(graph)
    }

    /// Copies a graph.
    fn cudaGraphClone(clone: Out<u64>, graph: u64) {
        clone.required()?;
        ensure_context()?;
        cuGraphClone(clone, graph)
    }

    /// The node of a clone that was copied from a node.
    fn cudaGraphNodeFindInClone(node: Out<u64>, original: u64, clone: u64) {
        node.required()?;
        ensure_context()?;
        cuGraphNodeFindInClone(node, original, clone)
    }

    /// The kind of a node.
    fn cudaGraphNodeGetType(node: u64, kind: Out<u32>) {
        kind.required()?;
        ensure_context()?;
        cuGraphNodeGetType(node, kind)
    }

    /// The graph that has a node.
    fn cudaGraphNodeGetContainingGraph(node: u64, graph: Out<u64>) {
        graph.required()?;
        ensure_context()?;
        cuGraphNodeGetContainingGraph(node, graph)
    }

    /// The number of a node within its graph.
    fn cudaGraphNodeGetLocalId(node: u64, id: Out<u32>) {
        id.required()?;
        ensure_context()?;
        cuGraphNodeGetLocalId(node, id)
    }

    /// A number of a node that no other node has.
    fn cudaGraphNodeGetToolsId(node: u64, id: Out<u64>) {
        id.required()?;
        ensure_context()?;
        cuGraphNodeGetToolsId(node, id)
    }

    /// The number of a graph.
    fn cudaGraphGetId(graph: u64, id: Out<u32>) {
        id.required()?;
        ensure_context()?;
        cuGraphGetId(graph, id)
    }

    /// The number of a graph that can be launched.
    fn cudaGraphExecGetId(exec: u64, id: Out<u32>) {
        id.required()?;
        ensure_context()?;
        cuGraphExecGetId(exec, id)
    }

    /// All nodes of a graph.
    fn cudaGraphGetNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        ensure_context()?;
        cuGraphGetNodes(graph, nodes, count)
    }

    /// The nodes of a graph that depend on no other.
    fn cudaGraphGetRootNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) {
        ensure_context()?;
        cuGraphGetRootNodes(graph, nodes, count)
    }

    /// All edges of a graph.
    fn cudaGraphGetEdges(graph: u64, from: Out<u64>, to: Out<u64>, data: Out<EdgeData>, count: Out<usize>) {
        ensure_context()?;
        cuGraphGetEdges_v2(graph, from, to, data, count)
    }

    /// All edges of a graph.
    fn v12_cudaGraphGetEdges(graph: u64, from: Out<u64>, to: Out<u64>, count: Out<usize>) {
        ensure_context()?;
        cuGraphGetEdges(graph, from, to, count)
    }

    /// What a node comes after.
    fn cudaGraphNodeGetDependencies(node: u64, nodes: Out<u64>, data: Out<EdgeData>, count: Out<usize>) {
        ensure_context()?;
        cuGraphNodeGetDependencies_v2(node, nodes, data, count)
    }

    /// What a node comes after.
    fn v12_cudaGraphNodeGetDependencies(node: u64, nodes: Out<u64>, count: Out<usize>) {
        ensure_context()?;
        cuGraphNodeGetDependencies(node, nodes, count)
    }

    /// What comes after a node.
    fn cudaGraphNodeGetDependentNodes(node: u64, nodes: Out<u64>, data: Out<EdgeData>, count: Out<usize>) {
        ensure_context()?;
        cuGraphNodeGetDependentNodes_v2(node, nodes, data, count)
    }

    /// What comes after a node.
    fn v12_cudaGraphNodeGetDependentNodes(node: u64, nodes: Out<u64>, count: Out<usize>) {
        ensure_context()?;
        cuGraphNodeGetDependentNodes(node, nodes, count)
    }

    /// Adds edges.
    fn cudaGraphAddDependencies(graph: u64, from: In<u64>, to: In<u64>, data: In<EdgeData>, count: usize) {
        ensure_context()?;
        cuGraphAddDependencies_v2(graph, from, to, data, count)
    }

    /// Adds edges.
    fn v12_cudaGraphAddDependencies(graph: u64, from: In<u64>, to: In<u64>, count: usize) {
        ensure_context()?;
        cuGraphAddDependencies_v2(graph, from, to, In::NULL, count)
    }

    /// Removes edges.
    fn cudaGraphRemoveDependencies(graph: u64, from: In<u64>, to: In<u64>, data: In<EdgeData>, count: usize) {
        ensure_context()?;
        cuGraphRemoveDependencies_v2(graph, from, to, data, count)
    }

    /// Removes edges.
    fn v12_cudaGraphRemoveDependencies(graph: u64, from: In<u64>, to: In<u64>, count: usize) {
        ensure_context()?;
        cuGraphRemoveDependencies_v2(graph, from, to, In::NULL, count)
    }

    /// Removes a node.
    fn cudaGraphDestroyNode(node: u64) {
        ensure_context()?;
        cuGraphDestroyNode(node)
    }

    /// Writes a drawing of a graph to a file.
    fn cudaGraphDebugDotPrint(graph: u64, file: Text, flags: u32) {
        ensure(!file.is_null(), Code::INVALID_VALUE)?;
        ensure_context()?;
        cuGraphDebugDotPrint(graph, file, flags)
    }

    /// Makes a graph launchable.
    fn cudaGraphInstantiate(exec: Out<u64>, graph: u64, flags: u64) {
        exec.required()?;
        ensure_context()?;
        cuGraphInstantiateWithFlags(exec, graph, flags)
    }

    /// Makes a graph launchable.
    fn cudaGraphInstantiateWithFlags(exec: Out<u64>, graph: u64, flags: u64) {
        exec.required()?;
        ensure_context()?;
        cuGraphInstantiateWithFlags(exec, graph, flags)
    }

    /// Makes a graph launchable. What is wrong is written to the parameters.
    fn cudaGraphInstantiateWithParams / cudaGraphInstantiateWithParams_ptsz(exec: Out<u64>, graph: u64, parameters: u64) {
        exec.required()?;
        ensure(parameters != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuGraphInstantiateWithParams(exec, graph, parameters)
    }

    /// The flags that a launchable graph was made with.
    fn cudaGraphExecGetFlags(exec: u64, flags: Out<u64>) {
        flags.required()?;
        ensure_context()?;
        cuGraphExecGetFlags(exec, flags)
    }

    /// Destroys a launchable graph.
    fn cudaGraphExecDestroy(exec: u64) {
        ensure_context()?;
        cuGraphExecDestroy(exec)
    }

    /// Gives a launchable graph the work of a graph that has the same nodes and edges.
    fn cudaGraphExecUpdate(exec: u64, graph: u64, result: u64) {
        ensure_context()?;
        cuGraphExecUpdate_v2(exec, graph, result)
    }

    /// Launches a graph in a stream.
    fn cudaGraphLaunch / cudaGraphLaunch_ptsz(exec: u64, stream: u64) {
        ensure_context()?;
        cuGraphLaunch(exec, stream)
    }

    /// Makes a graph ready to be launched in a stream.
    fn cudaGraphUpload / cudaGraphUpload_ptsz(exec: u64, stream: u64) {
        ensure_context()?;
        cuGraphUpload(exec, stream)
    }

    /// Whether a node of a launchable graph does anything.
    fn cudaGraphNodeGetEnabled(exec: u64, node: u64, enabled: Out<u32>) {
        enabled.required()?;
        ensure_context()?;
        cuGraphNodeGetEnabled(exec, node, enabled)
    }

    /// Sets whether a node of a launchable graph does anything.
    fn cudaGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32) {
        ensure_context()?;
        cuGraphNodeSetEnabled(exec, node, enabled)
    }

    /// Gives back memory that graphs keep.
    fn cudaDeviceGraphMemTrim(number: i32) {
        let number = device(number)?;
        ensure_context()?;
        cuDeviceGraphMemTrim(number)
    }

    /// How much memory graphs use.
    fn cudaDeviceGetGraphMemAttribute(number: i32, attribute: u32, value: u64) {
        let number = device(number)?;
        ensure(value != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuDeviceGetGraphMemAttribute(number, attribute, value)
    }

    /// Sets a mark of the memory of graphs back.
    fn cudaDeviceSetGraphMemAttribute(number: i32, attribute: u32, value: u64) {
        let number = device(number)?;
        ensure(value != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuDeviceSetGraphMemAttribute(number, attribute, value)
    }
}
