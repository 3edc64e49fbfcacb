//! Nodes of graphs that choose by a condition (driver API: "Graph Management").

use crate::c_struct;
use crate::code::{Code, ensure};
use crate::context::Context;
use crate::driver::graph::condition::{Choice, Condition};
use crate::driver::graph::{Graph, Owner};
use crate::driver::work::{Conditional, Work};
use crate::driver::{Driver, driver};
use crate::ffi::{In, Out};
use crate::handle::Handle;
use std::sync::Arc;

c_struct! {
    /// `CUDA_CONDITIONAL_NODE_PARAMS`
    ConditionalParameters {
        handle: u64,
        choice: u32,
        count: u32,
        bodies: In<Handle<Graph>>,
        context: Handle<Context>,
    }
}

/// How deep nodes that choose may be in one another.
const MOST_NESTED: usize = 128;

/// The most graphs that a node chooses from.
const MOST_BODIES: u32 = 1 << 16;

/// The context that is meant: the one that was given, or the current one.
fn context_of(driver: &Driver, context: Handle<Context>) -> Result<u64, Code> {
    if context.is_null() {
        return Ok(driver.current_context()?.handle);
    }
    driver.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?;
    Ok(context.bits())
}

/// Whether a graph is too deep inside others for a node that chooses.
fn is_too_deep(driver: &Driver, graph: Handle<Graph>) -> bool {
    let mut next = Some(graph);
    for _ in 0..MOST_NESTED {
        let Some(graph) = next else { return false };
        next = driver.graph(graph).ok().and_then(|found| found.owner().graph());
    }
    next.is_some()
}

/// The work of a node that chooses. Its graphs are made and written to the parameters.
pub(crate) fn conditional_work(
    driver: &Driver,
    graph: Handle<Graph>,
    parameters: Out<ConditionalParameters>,
) -> Result<Work, Code> {
    let given = parameters.get()?;
    let choice = Choice::of(given.choice).ok_or(Code::INVALID_VALUE)?;
    ensure(choice.allows(given.count) && given.count <= MOST_BODIES, Code::INVALID_VALUE)?;
    let condition = driver.condition(graph, given.handle)?;
    ensure(context_of(driver, given.context)? == condition.context, Code::INVALID_CONTEXT)?;
    ensure(!is_too_deep(driver, graph), Code::NOT_SUPPORTED)?;
    ensure(condition.take(), Code::INVALID_VALUE)?;
    let bodies: Result<Vec<_>, Code> =
        (0..given.count).map(|_| driver.new_graph(Owner::Body(graph))).collect();
    let bodies = bodies.inspect_err(|_| condition.give_back())?;
    let node = Arc::new(Conditional { condition, choice, bodies });
    parameters.set(conditional_parameters(&node))?;
    Ok(Work::Conditional(node))
}

/// The parameters of a node that chooses. Its graphs stay where they are as long as the node.
pub(crate) fn conditional_parameters(node: &Conditional<Handle<Graph>>) -> ConditionalParameters {
    ConditionalParameters {
        handle: node.condition.address,
        choice: node.choice as u32,
        count: node.bodies.len() as u32,
        bodies: In::of(&node.bodies),
        context: Handle::of(node.condition.context),
    }
}

crate::entries! {
    /// Makes a condition for a graph. If the flag says so, it has the given value whenever a launch begins.
    fn cuGraphConditionalHandleCreate(
        to: Out<u64>, graph: Handle<Graph>, context: Handle<Context>, value: u32, flags: u32,
    ) {
        /// `CU_GRAPH_COND_ASSIGN_DEFAULT`
        const ASSIGN: u32 = 1;
        let driver = driver()?;
        to.required()?;
        let graph = driver.graph(graph)?;
        ensure(flags & !ASSIGN == 0, Code::INVALID_VALUE)?;
        let context = context_of(driver, context)?;
        let initial = (flags & ASSIGN != 0).then_some(value);
        to.set(graph.add_condition(Condition::new(driver, context, initial)?))
    }
}
