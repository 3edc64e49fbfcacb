//! Nodes of graphs that run kernels (driver API: "Graph Management").

use super::graph::edges;
use super::graph_node::{add, change, exec_change};
use super::launch::{checked, set_in_request};
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::context::Context;
use crate::driver::graph::{Exec, Graph, NodeHandle};
use crate::driver::kernel::{KernelLaunch, Request};
use crate::driver::work::Work;
use crate::driver::{Driver, driver};
use crate::ffi::{Host, In, Out};
use crate::handle::{Handle, Kind};
use crate::module::{Function, Kernel};
use std::sync::Arc;

c_struct! {
    /// `CUDA_KERNEL_NODE_PARAMS_v1`
    KernelParametersV1 {
        function: Handle<Function>,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        parameters: In<u64>,
        extra: In<u64>,
    }
}

c_struct! {
    /// `CUDA_KERNEL_NODE_PARAMS_v2`, and `_v3`, which is the same.
    KernelParameters {
        first: KernelParametersV1,
        kernel: Handle<Kernel>,
        context: Handle<Context>,
    }
}

impl From<KernelParametersV1> for KernelParameters {
    fn from(first: KernelParametersV1) -> Self {
        KernelParameters { first, kernel: Handle::NULL, context: Handle::NULL }
    }
}

/// The launch of a node. A kernel that was there before leaves its attributes.
pub(crate) fn kernel_work(
    driver: &Driver,
    parameters: KernelParameters,
    before: Option<&KernelLaunch>,
) -> Result<Work, Code> {
    let KernelParameters { first, kernel, .. } = parameters;
    let KernelParametersV1 { function, grid, block, shared, parameters, extra } = first;
    let handle = if function.is_null() { kernel.cast() } else { function };
    let mut request = Request { grid, block, shared, ..Request::default() };
    if let Some(before) = before {
        request.cluster = before.request.cluster;
        request.cooperative = before.request.cooperative;
    }
    let mut launch = checked(driver, handle, request, parameters, extra)?;
    launch.attributes = before.map(|before| before.attributes.clone()).unwrap_or_default();
    Ok(Work::Launch(Arc::new(launch)))
}

/// The launch of a node that is one.
pub(crate) fn launch_of(work: &Work) -> Result<&Arc<KernelLaunch>, Code> {
    match work {
        Work::Launch(launch) => Ok(launch),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// The parameters of a launch. Pointers in them are valid until the node is changed.
pub(crate) fn kernel_parameters(launch: &KernelLaunch) -> KernelParameters {
    let is_kernel = launch.handle.has_kind(Kind::Kernel);
    let pointers = launch
        .pointers
        .get_or_init(|| launch.arguments.iter().map(|bytes| Host::of(bytes).address()).collect());
    let Request { grid, block, shared, .. } = launch.request;
    let first = KernelParametersV1 {
        function: if is_kernel { Handle::NULL } else { launch.handle },
        grid,
        block,
        shared,
        parameters: In::of(pointers),
        extra: In::NULL,
    };
    let kernel = if is_kernel { launch.handle.cast() } else { Handle::NULL };
    KernelParameters { first, kernel, context: Handle::of(launch.function.context) }
}

fn set_parameters(node: NodeHandle, parameters: KernelParameters) -> Done {
    let driver = driver()?;
    change(driver, node, |old| kernel_work(driver, parameters, Some(launch_of(old)?)))
}

fn exec_set_parameters(exec: Handle<Exec>, node: NodeHandle, parameters: KernelParameters) -> Done {
    let driver = driver()?;
    exec_change(driver, exec, node, |old| kernel_work(driver, parameters, Some(launch_of(old)?)))
}

/// Does what an attribute of a node asks for.
fn with_attribute(launch: &KernelLaunch, id: u32, value: [u32; 16]) -> Result<Work, Code> {
    let mut request = launch.request.clone();
    set_in_request(&mut request, id, value)?;
    let mut attributes = launch.attributes.clone();
    attributes.insert(id, value);
    Ok(Work::Launch(Arc::new(KernelLaunch {
        handle: launch.handle,
        function: launch.function.clone(),
        request,
        arguments: launch.arguments.clone(),
        pointers: std::sync::OnceLock::new(),
        attributes,
    })))
}

/// An attribute of a node: as it was set, or as the launch has it.
fn attribute(launch: &KernelLaunch, id: u32) -> Result<[u32; 16], Code> {
    // What can be set can be asked for.
    set_in_request(&mut launch.request.clone(), id, [0; 16])?;
    if let Some(&value) = launch.attributes.get(&id) {
        return Ok(value);
    }
    let mut value = [0; 16];
    match id {
        2 => value[0] = launch.request.cooperative.into(),
        4 => value[..3].copy_from_slice(&launch.request.cluster.unwrap_or_default()),
        _ => {}
    }
    Ok(value)
}

crate::entries! {
    /// Adds a node that runs a kernel.
    fn cuGraphAddKernelNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize,
        parameters: In<KernelParametersV1>,
    ) {
        let driver = driver()?;
        to.required()?;
        let (after, parameters) = (edges(nodes, In::NULL, count)?, parameters.get()?);
        add(driver, to, graph, after, |driver| kernel_work(driver, parameters.into(), None))
    }

    /// Adds a node that runs a kernel.
    fn cuGraphAddKernelNode_v2(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize,
        parameters: In<KernelParameters>,
    ) {
        let driver = driver()?;
        to.required()?;
        let (after, parameters) = (edges(nodes, In::NULL, count)?, parameters.get()?);
        add(driver, to, graph, after, |driver| kernel_work(driver, parameters, None))
    }

    /// The parameters of a node that runs a kernel.
    fn cuGraphKernelNodeGetParams(node: NodeHandle, to: Out<KernelParametersV1>) {
        to.required()?;
        to.set(kernel_parameters(launch_of(&driver()?.node(node)?.work)?).first)
    }

    /// The parameters of a node that runs a kernel.
    fn cuGraphKernelNodeGetParams_v2(node: NodeHandle, to: Out<KernelParameters>) {
        to.required()?;
        to.set(kernel_parameters(launch_of(&driver()?.node(node)?.work)?))
    }

    /// Changes a node that runs a kernel.
    fn cuGraphKernelNodeSetParams(node: NodeHandle, parameters: In<KernelParametersV1>) {
        set_parameters(node, parameters.get()?.into())
    }

    /// Changes a node that runs a kernel.
    fn cuGraphKernelNodeSetParams_v2(node: NodeHandle, parameters: In<KernelParameters>) {
        set_parameters(node, parameters.get()?)
    }

    /// Changes a node of a launchable graph that runs a kernel.
    fn cuGraphExecKernelNodeSetParams(exec: Handle<Exec>, node: NodeHandle, parameters: In<KernelParametersV1>) {
        exec_set_parameters(exec, node, parameters.get()?.into())
    }

    /// Changes a node of a launchable graph that runs a kernel.
    fn cuGraphExecKernelNodeSetParams_v2(exec: Handle<Exec>, node: NodeHandle, parameters: In<KernelParameters>) {
        exec_set_parameters(exec, node, parameters.get()?)
    }

    /// An attribute of a node that runs a kernel.
    fn cuGraphKernelNodeGetAttribute(node: NodeHandle, id: u32, to: Out<[u32; 16]>) {
        to.required()?;
        to.set(attribute(launch_of(&driver()?.node(node)?.work)?, id)?)
    }

    /// Sets an attribute of a node that runs a kernel.
    fn cuGraphKernelNodeSetAttribute(node: NodeHandle, id: u32, value: In<[u32; 16]>) {
        let value = value.get()?;
        change(driver()?, node, |old| with_attribute(launch_of(old)?, id, value))
    }

    /// Gives a node that runs a kernel the attributes of another.
    fn cuGraphKernelNodeCopyAttributes(to: NodeHandle, from: NodeHandle) {
        let driver = driver()?;
        let from = driver.node(from)?;
        let from = launch_of(&from.work)?;
        ensure(launch_of(&driver.node(to)?.work).is_ok(), Code::INVALID_VALUE)?;
        for id in from.attributes.keys().copied().chain([2, 4]) {
            let value = attribute(from, id)?;
            change(driver, to, |old| with_attribute(launch_of(old)?, id, value))?;
        }
        Ok(())
    }
}
