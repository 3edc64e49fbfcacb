//! Nodes of graphs that wait for values in memory and write values to it (driver API: "Graph Management").

use super::graph::edges;
use super::graph_node::{add, change, exec_change};
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::context::Context;
use crate::driver::graph::{Exec, Graph, NodeHandle};
use crate::driver::memory_operation::{Batch, Operation};
use crate::driver::work::Work;
use crate::driver::{Driver, driver};
use crate::ffi::{In, Out};
use crate::handle::Handle;
use std::sync::Arc;

c_struct! {
    /// `CUDA_BATCH_MEM_OP_NODE_PARAMS`, and `_v2`, which is the same.
    OperationParameters {
        context: Handle<Context>,
        count: u32,
        padding: u32,
        operations: In<Operation>,
        flags: u32,
        padding_behind: u32,
    }
}

/// The work of a node.
pub(crate) fn operation_work(driver: &Driver, given: OperationParameters) -> Result<Work, Code> {
    let context = match given.context.is_null() {
        true => driver.current_context()?.handle,
        false => given.context.bits(),
    };
    driver.contexts.get(Handle::of(context)).map_err(|_| Code::INVALID_VALUE)?;
    ensure(given.flags == 0 && (1..=256).contains(&given.count), Code::INVALID_VALUE)?;
    let operations = given.operations.all(given.count as usize)?;
    Ok(Work::Memory(Arc::new(Batch::of(driver, context, operations)?)))
}

/// The work of a node of a launchable graph in place of other work.
pub(crate) fn exec_operation_work(
    driver: &Driver,
    given: OperationParameters,
    old: &Work,
) -> Result<Work, Code> {
    let new = operation_work(driver, given)?;
    match (old, &new) {
        (Work::Memory(old), Work::Memory(batch)) if old.may_become(batch) => Ok(new),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// The parameters of a node. The operations stay where they are until the node is changed.
pub(crate) fn operation_parameters(work: &Work) -> Result<OperationParameters, Code> {
    let Work::Memory(batch) = work else { return Err(Code::INVALID_VALUE) };
    let (context, count) = (Handle::of(batch.context), batch.given.len() as u32);
    let operations = In::of(&batch.given);
    Ok(OperationParameters { context, count, padding: 0, operations, flags: 0, padding_behind: 0 })
}

fn set(node: NodeHandle, parameters: In<OperationParameters>) -> Done {
    let driver = driver()?;
    change(driver, node, |_| operation_work(driver, parameters.get()?))
}

crate::entries! {
    /// Adds a node that waits for values in memory and writes values to it.
    fn cuGraphAddBatchMemOpNode(
        to: Out<NodeHandle>, graph: Handle<Graph>, nodes: In<NodeHandle>, count: usize,
        parameters: In<OperationParameters>,
    ) {
        let driver = driver()?;
        to.required()?;
        let after = edges(nodes, In::NULL, count)?;
        add(driver, to, graph, after, |driver| operation_work(driver, parameters.get()?))
    }

    /// The parameters of a node.
    fn cuGraphBatchMemOpNodeGetParams(node: NodeHandle, to: Out<OperationParameters>) {
        to.required()?;
        to.set(operation_parameters(&driver()?.node(node)?.work)?)
    }

    /// Changes a node.
    fn cuGraphBatchMemOpNodeSetParams(node: NodeHandle, parameters: In<OperationParameters>) {
        set(node, parameters)
    }

    /// Changes a node of a launchable graph: addresses, values, and what is compared.
    fn cuGraphExecBatchMemOpNodeSetParams(exec: Handle<Exec>, node: NodeHandle, parameters: In<OperationParameters>) {
        let driver = driver()?;
        exec_change(driver, exec, node, |old| exec_operation_work(driver, parameters.get()?, old))
    }
}
