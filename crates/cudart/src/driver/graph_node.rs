//! Nodes of graphs.

use super::capture::EdgeData;
use super::memory::Copy3D;
use crate::ffi::{In, Out};

crate::c_struct! {
    /// `CUDA_KERNEL_NODE_PARAMS_v2`, and `_v3`, which is the same. It has a function or a kernel.
    KernelParameters {
        function: u64, grid: [u32; 3], block: [u32; 3], shared: u32, arguments: u64, extra: u64, kernel: u64, context: u64,
    }
}

crate::c_struct! {
    /// `CUDA_MEMSET_NODE_PARAMS`; `cudaMemsetParams` is the same.
    FillParameters { address: u64, pitch: usize, value: u32, element: u32, width: usize, height: usize, }
}

crate::c_struct! {
    /// `CUDA_HOST_NODE_PARAMS`; `cudaHostNodeParams` is the same.
    HostParameters { function: u64, data: u64, }
}

crate::c_struct! {
    /// `CUgraphNodeParams`; the words are a union.
    NodeParameters { kind: u32, reserved: [u32; 3], words: [u64; 29], reserved_behind: u64, }
}

crate::c_struct! {
    /// `CUDA_CONDITIONAL_NODE_PARAMS`; `cudaConditionalNodeParams` is the same.
    ConditionalParameters { handle: u64, choice: u32, count: u32, graphs: u64, context: u64, }
}

crate::driver! {
    fn cuGraphConditionalHandleCreate(handle: Out<u64>, graph: u64, context: u64, value: u32, flags: u32);
    fn cuGraphAddKernelNode_v2(node: Out<u64>, graph: u64, after: In<u64>, count: usize, parameters: In<KernelParameters>);
    fn cuGraphKernelNodeGetParams_v2(node: u64, parameters: Out<KernelParameters>);
    fn cuGraphKernelNodeSetParams_v2(node: u64, parameters: In<KernelParameters>);
    fn cuGraphExecKernelNodeSetParams_v2(exec: u64, node: u64, parameters: In<KernelParameters>);
    fn cuGraphKernelNodeGetAttribute(node: u64, attribute: u32, value: u64);
    fn cuGraphKernelNodeSetAttribute(node: u64, attribute: u32, value: u64);
    fn cuGraphKernelNodeCopyAttributes(to: u64, from: u64);
    fn cuGraphAddMemcpyNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, copy: In<Copy3D>, context: u64);
    fn cuGraphMemcpyNodeGetParams(node: u64, copy: Out<Copy3D>);
    fn cuGraphMemcpyNodeSetParams(node: u64, copy: In<Copy3D>);
    fn cuGraphExecMemcpyNodeSetParams(exec: u64, node: u64, copy: In<Copy3D>, context: u64);
    fn cuGraphAddMemsetNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, fill: In<FillParameters>, context: u64);
    fn cuGraphMemsetNodeGetParams(node: u64, fill: Out<FillParameters>);
    fn cuGraphMemsetNodeSetParams(node: u64, fill: In<FillParameters>);
    fn cuGraphExecMemsetNodeSetParams(exec: u64, node: u64, fill: In<FillParameters>, context: u64);
    fn cuGraphAddHostNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, host: In<HostParameters>);
    fn cuGraphHostNodeGetParams(node: u64, host: Out<HostParameters>);
    fn cuGraphHostNodeSetParams(node: u64, host: In<HostParameters>);
    fn cuGraphExecHostNodeSetParams(exec: u64, node: u64, host: In<HostParameters>);
    fn cuGraphAddChildGraphNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, child: u64);
    fn cuGraphChildGraphNodeGetGraph(node: u64, child: Out<u64>);
    fn cuGraphExecChildGraphNodeSetParams(exec: u64, node: u64, child: u64);
    fn cuGraphAddEmptyNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize);
    fn cuGraphAddEventRecordNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64);
    fn cuGraphEventRecordNodeGetEvent(node: u64, event: Out<u64>);
    fn cuGraphEventRecordNodeSetEvent(node: u64, event: u64);
    fn cuGraphExecEventRecordNodeSetEvent(exec: u64, node: u64, event: u64);
    fn cuGraphAddEventWaitNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, event: u64);
    fn cuGraphEventWaitNodeGetEvent(node: u64, event: Out<u64>);
    fn cuGraphEventWaitNodeSetEvent(node: u64, event: u64);
    fn cuGraphExecEventWaitNodeSetEvent(exec: u64, node: u64, event: u64);
    fn cuGraphAddMemAllocNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, parameters: u64);
    fn cuGraphMemAllocNodeGetParams(node: u64, parameters: u64);
    fn cuGraphAddMemFreeNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, pointer: u64);
    fn cuGraphMemFreeNodeGetParams(node: u64, pointer: Out<u64>);
    fn cuGraphAddNode_v2(node: Out<u64>, graph: u64, after: In<u64>, data: In<EdgeData>, count: usize, parameters: Out<NodeParameters>);
    fn cuGraphNodeGetParams(node: u64, parameters: Out<NodeParameters>);
    fn cuGraphNodeSetParams(node: u64, parameters: Out<NodeParameters>);
    fn cuGraphExecNodeSetParams(exec: u64, node: u64, parameters: Out<NodeParameters>);
}
