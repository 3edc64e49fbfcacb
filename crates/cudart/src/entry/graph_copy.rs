//! Nodes of graphs that copy.

use super::array_copy::Parameters3D;
use super::copy::{copies_from_symbol, copies_to_symbol, part_of_variable};
use crate::code::{Code, Done, ensure};
use crate::context::{current_handle, ensure_context};
use crate::driver::graph_node::*;
use crate::driver::memory::Copy3D;
use crate::ffi::{In, Out, zeroed};

/// A copy to a variable.
fn to_symbol(symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32) -> Result<Parameters3D, Code> {
    let to = part_of_variable(symbol, offset, bytes)?;
    ensure(copies_to_symbol(kind), Code::INVALID_MEMCPY_DIRECTION)?;
    Ok(Parameters3D::of_bytes(to, from, bytes, kind))
}

/// A copy from a variable.
fn from_symbol(to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32) -> Result<Parameters3D, Code> {
    let from = part_of_variable(symbol, offset, bytes)?;
    ensure(copies_from_symbol(kind), Code::INVALID_MEMCPY_DIRECTION)?;
    Ok(Parameters3D::of_bytes(to, from, bytes, kind))
}

/// Adds a node that copies.
fn add(node: Out<u64>, graph: u64, (after, count): (In<u64>, usize), copy: Parameters3D) -> Done {
    node.required()?;
    ensure_context()?;
    let copy: Copy3D = copy.to_driver()?;
    cuGraphAddMemcpyNode(node, graph, after, count, In::of(&copy), current_handle()?)
}

/// Changes a node that copies.
fn change(node: u64, copy: Parameters3D) -> Done {
    ensure_context()?;
    cuGraphMemcpyNodeSetParams(node, In::of(&copy.to_driver()?))
}

/// Changes a node of a launchable graph that copies.
fn exec_change(exec: u64, node: u64, copy: Parameters3D) -> Done {
    ensure_context()?;
    cuGraphExecMemcpyNodeSetParams(exec, node, In::of(&copy.to_driver()?), current_handle()?)
}

crate::entries! {
    /// Adds a node that copies planes.
    fn cudaGraphAddMemcpyNode(node: Out<u64>, graph: u64, after: In<u64>, count: usize, copy: In<Parameters3D>) {
        add(node, graph, (after, count), copy.get()?)
    }

    /// Adds a node that copies bytes.
    fn cudaGraphAddMemcpyNode1D(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, to: u64, from: u64, bytes: usize, kind: i32,
    ) {
        add(node, graph, (after, count), Parameters3D::of_bytes(to, from, bytes, kind))
    }

    /// Adds a node that copies to a variable.
    fn cudaGraphAddMemcpyNodeToSymbol(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, symbol: u64, from: u64, bytes: usize, offset: usize,
        kind: i32,
    ) {
        add(node, graph, (after, count), to_symbol(symbol, from, bytes, offset, kind)?)
    }

    /// Adds a node that copies from a variable.
    fn cudaGraphAddMemcpyNodeFromSymbol(
        node: Out<u64>, graph: u64, after: In<u64>, count: usize, to: u64, symbol: u64, bytes: usize, offset: usize,
        kind: i32,
    ) {
        add(node, graph, (after, count), from_symbol(to, symbol, bytes, offset, kind)?)
    }

    /// The parameters of a node that copies.
    fn cudaGraphMemcpyNodeGetParams(node: u64, copy: Out<Parameters3D>) {
        copy.required()?;
        ensure_context()?;
        let mut found = zeroed();
        cuGraphMemcpyNodeGetParams(node, Out::of(&mut found))?;
        copy.set(Parameters3D::of_driver(&found)?)
    }

    /// Changes a node that copies.
    fn cudaGraphMemcpyNodeSetParams(node: u64, copy: In<Parameters3D>) {
        change(node, copy.get()?)
    }

    /// Changes a node to a copy of bytes.
    fn cudaGraphMemcpyNodeSetParams1D(node: u64, to: u64, from: u64, bytes: usize, kind: i32) {
        change(node, Parameters3D::of_bytes(to, from, bytes, kind))
    }

    /// Changes a node to a copy to a variable.
    fn cudaGraphMemcpyNodeSetParamsToSymbol(
        node: u64, symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32,
    ) {
        change(node, to_symbol(symbol, from, bytes, offset, kind)?)
    }

    /// Changes a node to a copy from a variable.
    fn cudaGraphMemcpyNodeSetParamsFromSymbol(
        node: u64, to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32,
    ) {
        change(node, from_symbol(to, symbol, bytes, offset, kind)?)
    }

    /// Changes a node of a launchable graph that copies.
    fn cudaGraphExecMemcpyNodeSetParams(exec: u64, node: u64, copy: In<Parameters3D>) {
        exec_change(exec, node, copy.get()?)
    }

    /// Changes a node of a launchable graph to a copy of bytes.
    fn cudaGraphExecMemcpyNodeSetParams1D(exec: u64, node: u64, to: u64, from: u64, bytes: usize, kind: i32) {
        exec_change(exec, node, Parameters3D::of_bytes(to, from, bytes, kind))
    }

    /// Changes a node of a launchable graph to a copy to a variable.
    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        exec: u64, node: u64, symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32,
    ) {
        exec_change(exec, node, to_symbol(symbol, from, bytes, offset, kind)?)
    }

    /// Changes a node of a launchable graph to a copy from a variable.
    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        exec: u64, node: u64, to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32,
    ) {
        exec_change(exec, node, from_symbol(to, symbol, bytes, offset, kind)?)
    }
}
