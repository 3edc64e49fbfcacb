//! Graphs, their edges, and graphs that can be launched.

use super::capture::EdgeData;
use crate::ffi::{In, Out, Text};

crate::driver! {
    fn cuGraphCreate(graph: Out<u64>, flags: u32);
    fn cuGraphDestroy(graph: u64);
    fn cuGraphClone(clone: Out<u64>, graph: u64);
    fn cuGraphNodeFindInClone(node: Out<u64>, original: u64, clone: u64);
    fn cuGraphNodeGetType(node: u64, kind: Out<u32>);
    fn cuGraphNodeGetContainingGraph(node: u64, graph: Out<u64>);
    fn cuGraphNodeGetLocalId(node: u64, id: Out<u32>);
    fn cuGraphNodeGetToolsId(node: u64, id: Out<u64>);
    fn cuGraphGetId(graph: u64, id: Out<u32>);
    fn cuGraphExecGetId(exec: u64, id: Out<u32>);
    fn cuGraphGetNodes(graph: u64, nodes: Out<u64>, count: Out<usize>);
    fn cuGraphGetRootNodes(graph: u64, nodes: Out<u64>, count: Out<usize>);
    fn cuGraphGetEdges(graph: u64, from: Out<u64>, to: Out<u64>, count: Out<usize>);
    fn cuGraphGetEdges_v2(graph: u64, from: Out<u64>, to: Out<u64>, data: Out<EdgeData>, count: Out<usize>);
    fn cuGraphNodeGetDependencies(node: u64, nodes: Out<u64>, count: Out<usize>);
    fn cuGraphNodeGetDependencies_v2(node: u64, nodes: Out<u64>, data: Out<EdgeData>, count: Out<usize>);
    fn cuGraphNodeGetDependentNodes(node: u64, nodes: Out<u64>, count: Out<usize>);
    fn cuGraphNodeGetDependentNodes_v2(node: u64, nodes: Out<u64>, data: Out<EdgeData>, count: Out<usize>);
    fn cuGraphAddDependencies_v2(graph: u64, from: In<u64>, to: In<u64>, data: In<EdgeData>, count: usize);
    fn cuGraphRemoveDependencies_v2(graph: u64, from: In<u64>, to: In<u64>, data: In<EdgeData>, count: usize);
    fn cuGraphDestroyNode(node: u64);
    fn cuGraphDebugDotPrint(graph: u64, file: Text, flags: u32);
    fn cuGraphInstantiateWithFlags(exec: Out<u64>, graph: u64, flags: u64);
    fn cuGraphInstantiateWithParams / cuGraphInstantiateWithParams_ptsz(exec: Out<u64>, graph: u64, parameters: u64);
    fn cuGraphExecGetFlags(exec: u64, flags: Out<u64>);
    fn cuGraphExecDestroy(exec: u64);
    fn cuGraphExecUpdate_v2(exec: u64, graph: u64, result: u64);
    fn cuGraphLaunch / cuGraphLaunch_ptsz(exec: u64, stream: u64);
    fn cuGraphUpload / cuGraphUpload_ptsz(exec: u64, stream: u64);
    fn cuGraphNodeGetEnabled(exec: u64, node: u64, enabled: Out<u32>);
    fn cuGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32);
    fn cuDeviceGraphMemTrim(device: i32);
    fn cuDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: u64);
    fn cuDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: u64);
}
