//! Nodes of graphs that allocate and free memory (driver API: "Graph Management").

use super::graph::edges;
use super::graph_node::add;
use super::pool::{Access, Location, PoolProperties};
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::context::Context;
use crate::driver::graph::memory::{Allocation, Place};
use crate::driver::graph::{EdgeData, Graph, NodeHandle};
use crate::driver::work::Work;
use crate::driver::{Driver, current, driver};
use crate::ffi::{In, Out};
use crate::handle::{Handle, lock};
use crate::memory::Kind;
use crate::stream::Stream;
use std::sync::Arc;

c_struct! {
    /// `CUDA_MEM_ALLOC_NODE_PARAMS`
    AllocateParameters {
        properties: PoolProperties,
        accesses: In<Access>,
        access_count: usize,
        bytes: usize,
        address: u64,
    }
}

/// `CUmemAllocationType` values.
mod allocation_type {
    pub const PINNED: u32 = 1;
    pub const MANAGED: u32 = 2;
}

/// Takes memory for a node.
fn allocation(driver: &Driver, context: &Context, bytes: u64, place: Place) -> Result<Arc<Allocation>, Code> {
    let address = match place.is_managed {
        true => super::memory::allocate_host(driver, context, bytes, Kind::Managed, 1)?,
        false => super::memory::take(driver, context, bytes, Kind::Graph)?,
    };
    Ok(Arc::new(Allocation::new(address, bytes, place)))
}

/// Takes memory in the order of a stream that is captured.
pub(crate) fn take_in_graph(
    driver: &'static Driver,
    context: &Context,
    stream: &Arc<Stream>,
    bytes: u64,
) -> Result<u64, Code> {
    let memory = allocation(driver, context, bytes, Place::device(context.device))?;
    let address = memory.address;
    driver.issue(context, stream, Work::Allocate(memory))?;
    Ok(address)
}

/// The work of a node that allocates. The address is written to its parameters.
pub(crate) fn allocate_work(parameters: Out<AllocateParameters>) -> Result<Work, Code> {
    let (driver, context) = current()?;
    let mut given = parameters.get()?;
    let Location { kind, id } = given.properties.location;
    let is_managed = given.properties.allocation == allocation_type::MANAGED;
    let is_known = is_managed || given.properties.allocation == allocation_type::PINNED;
    ensure(given.bytes != 0 && is_known, Code::INVALID_VALUE)?;
    // Managed memory may be on the host's side, or anywhere; other memory is a device's.
    ensure(kind == 1 || is_managed && kind <= 4, Code::INVALID_VALUE)?;
    if kind == 1 {
        driver.device(id).map_err(|_| Code::INVALID_VALUE)?;
    }
    let place = Place { is_managed, location: kind, id };
    let memory = allocation(driver, &context, given.bytes as u64, place)?;
    given.address = memory.address;
    parameters.set(given)?;
    Ok(Work::Allocate(memory))
}

/// The work of a node that frees.
pub(crate) fn free_work(driver: &Driver, address: u64) -> Result<Work, Code> {
    let block = lock(&driver.blocks).at(address);
    let block = block.filter(|block| !block.is_host() || block.kind == Kind::Managed);
    block.map(|_| Work::Free(address)).ok_or(Code::INVALID_VALUE)
}

/// The parameters of a node that allocates.
pub(crate) fn allocate_parameters(memory: &Allocation) -> AllocateParameters {
    let Place { is_managed, location, id } = memory.place;
    let location = Location { kind: location, id };
    let properties = PoolProperties {
        allocation: if is_managed { allocation_type::MANAGED } else { allocation_type::PINNED },
        handles: 0,
        location,
        security: 0,
        most: 0,
        usage: 0,
        reserved: [0; 54],
    };
    AllocateParameters {
        properties,
        accesses: In::NULL,
        access_count: 0,
        bytes: memory.bytes as usize,
        address: memory.address,
    }
}

fn attribute(device: i32, value: Out<u64>) -> Result<&'static Driver, Code> {
    let driver = driver()?;
    driver.device(device)?;
    value.required()?;
    Ok(driver)
}

fn node_after(
    to: Out<NodeHandle>,
    graph: Handle<Graph>,
    nodes: In<NodeHandle>,
    count: usize,
    work: impl FnOnce(&Driver) -> Result<Work, Code>,
) -> Done {
    let driver = driver()?;
    to.required()?;
    let after = edges(nodes, In::<EdgeData>::NULL, count)?;
    add(driver, to, graph, after, work)
}

crate::entries! {
    /// Adds a node that allocates memory.
    fn cuGraphAddMemAllocNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize,
        parameters: Out<AllocateParameters>,
    ) {
        node_after(to, graph, nodes, count, |_| allocate_work(parameters))
    }

    /// The parameters of a node that allocates memory.
    fn cuGraphMemAllocNodeGetParams(node: NodeHandle, to: Out<AllocateParameters>) {
        to.required()?;
        match driver()?.node(node)?.work {
            Work::Allocate(memory) => to.set(allocate_parameters(&memory)),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// Adds a node that frees memory.
    fn cuGraphAddMemFreeNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize, address: u64,
    ) {
        node_after(to, graph, nodes, count, |driver| free_work(driver, address))
    }

    /// The address that a node frees.
    fn cuGraphMemFreeNodeGetParams(node: NodeHandle, to: Out<u64>) {
        to.required()?;
        match driver()?.node(node)?.work {
            Work::Free(address) => to.set(address),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// How much memory graphs use.
    fn cuDeviceGetGraphMemAttribute(device: i32, id: u32, value: Out<u64>) {
        let driver = attribute(device, value)?;
        let found = lock(&driver.graph_memory).attribute(id);
        value.set(found.ok_or(Code::INVALID_VALUE)?)
    }

    /// Sets a mark of the memory of graphs back.
    fn cuDeviceSetGraphMemAttribute(device: i32, id: u32, value: Out<u64>) {
        let driver = attribute(device, value)?;
        ensure(value.get()? == 0, Code::INVALID_VALUE)?;
        ensure(lock(&driver.graph_memory).reset(id), Code::INVALID_VALUE)
    }

    /// Gives back what graphs keep and do not use.
    fn cuDeviceGraphMemTrim(device: i32) {
        let driver = driver()?;
        driver.device(device)?;
        lock(&driver.graph_memory).trim();
        Ok(())
    }
}
