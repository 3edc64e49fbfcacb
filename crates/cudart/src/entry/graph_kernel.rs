//! Nodes of graphs that run kernels.

use crate::code::{Code, ensure};
use crate::context::ensure_context;
use crate::driver::graph_node::*;
use crate::ffi::{In, Out, zeroed};
use crate::registry;

crate::c_struct! {
    /// `cudaKernelNodeParams`, with which `cudaKernelNodeParamsV2` begins.
    RuntimeKernelParameters {
        function: u64, grid: [u32; 3], block: [u32; 3], shared: u32, arguments: u64, extra: u64,
    }
}

/// The driver's parameters. `nothing` is the array of arguments of a kernel that has none.
pub fn to_driver(given: RuntimeKernelParameters, nothing: &u64) -> Result<KernelParameters, Code> {
    let RuntimeKernelParameters { function, grid, block, shared, mut arguments, extra } = given;
    let function = registry::kernel(function)?;
    if arguments == 0 && extra == 0 {
        arguments = In::of(nothing).address();
    }
    Ok(KernelParameters { function, grid, block, shared, arguments, extra, ..zeroed() })
}

/// What the driver's parameters are here: the function is the address that the program knows, if there is one.
pub fn of_driver(from: KernelParameters) -> RuntimeKernelParameters {
    let KernelParameters { function, grid, block, shared, arguments, extra, kernel, .. } = from;
    let handle = if function == 0 { kernel } else { function };
    let function = registry::host_of(handle).unwrap_or(handle);
    RuntimeKernelParameters { function, grid, block, shared, arguments, extra }
}

crate::entries! {
    /// Adds a node that runs a kernel.
    fn cudaGraphAddKernelNode(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, parameters: In<RuntimeKernelParameters>,
    ) {
        node.required()?;
        let parameters = parameters.get()?;
        ensure_context()?;
        let nothing = 0;
        cuGraphAddKernelNode_v2(node, graph, after, count, In::of(&to_driver(parameters, &nothing)?))
    }

    /// The parameters of a node that runs a kernel.
    fn cudaGraphKernelNodeGetParams(node: u64, parameters: Out<RuntimeKernelParameters>) {
        parameters.required()?;
        ensure_context()?;
        let mut found = zeroed();
        cuGraphKernelNodeGetParams_v2(node, Out::of(&mut found))?;
        parameters.set(of_driver(found))
    }

    /// Changes a node that runs a kernel.
    fn cudaGraphKernelNodeSetParams(node: u64, parameters: In<RuntimeKernelParameters>) {
        let parameters = parameters.get()?;
        ensure_context()?;
        let nothing = 0;
        cuGraphKernelNodeSetParams_v2(node, In::of(&to_driver(parameters, &nothing)?))
    }

    /// Changes a node of a launchable graph that runs a kernel.
    fn cudaGraphExecKernelNodeSetParams(exec: u64, node: u64, parameters: In<RuntimeKernelParameters>) {
        let parameters = parameters.get()?;
        ensure_context()?;
        let nothing = 0;
        cuGraphExecKernelNodeSetParams_v2(exec, node, In::of(&to_driver(parameters, &nothing)?))
    }

    /// An attribute of a node that runs a kernel.
    fn cudaGraphKernelNodeGetAttribute(node: u64, attribute: u32, value: u64) {
        ensure(value != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuGraphKernelNodeGetAttribute(node, attribute, value)
    }

    /// Sets an attribute of a node that runs a kernel.
    fn cudaGraphKernelNodeSetAttribute(node: u64, attribute: u32, value: u64) {
        ensure(value != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuGraphKernelNodeSetAttribute(node, attribute, value)
    }

    /// Gives a node that runs a kernel the attributes of another.
    fn cudaGraphKernelNodeCopyAttributes(to: u64, from: u64) {
        ensure_context()?;
        cuGraphKernelNodeCopyAttributes(to, from)
    }
}
