//! Graphs that replace the work of graphs that can be launched.

use super::exec::{Exec, ExecNode, Refusal, add_objects};
use super::{Graph, NodeHandle};
use crate::code::Code;
use crate::driver::Driver;
use crate::driver::kernel::KernelLaunch;
use crate::driver::transfer::Fill;
use crate::driver::work::{Conditional, Work};
use crate::handle::lock;
use std::sync::Arc;

/// Why a graph cannot replace the work of another (`CUgraphExecUpdateResult`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The graph cannot be made launchable.
    Graph(Refusal),
    /// There are more nodes or fewer.
    Count,
    /// A node has other dependencies.
    Topology(NodeHandle),
    /// A node is of another kind.
    Kind(NodeHandle),
    /// What cannot be changed was changed.
    Parameters(NodeHandle),
    /// The kernel of a node is of another context.
    Function(NodeHandle),
    /// An attribute that cannot be changed was changed.
    Attributes(NodeHandle),
}

impl Mismatch {
    /// The code of a call that gives a node of a launchable graph another graph.
    pub fn code(self) -> Code {
        match self {
            Mismatch::Graph(refusal) => refusal.code(),
            _ => Code::GRAPH_EXEC_UPDATE_FAILURE,
        }
    }
}

/// Whether a kernel can replace another.
fn compare_kernels(old: &KernelLaunch, new: &KernelLaunch, node: NodeHandle) -> Result<(), Mismatch> {
    if old.function.context != new.function.context {
        return Err(Mismatch::Function(node));
    }
    if old.request.cooperative != new.request.cooperative {
        return Err(Mismatch::Attributes(node));
    }
    Ok(())
}

/// Whether a fill can replace another: several rows can begin elsewhere and get another value.
fn is_like(old: &Fill, new: &Fill) -> bool {
    let shape = |fill: &Fill| (fill.pitch, fill.element, fill.width, fill.height);
    old.height == 1 && new.height == 1 || shape(old) == shape(new)
}

/// Whether the work of a node can be replaced by that of another.
fn compare_work(old: &Work, new: &ExecNode) -> Result<(), Mismatch> {
    let node = new.source;
    if old.kind() != new.work.kind() {
        return Err(Mismatch::Kind(node));
    }
    let is_allowed = match (old, &new.work) {
        (Work::Launch(old), Work::Launch(new)) => return compare_kernels(old, new, node),
        (Work::Subgraph(old), Work::Subgraph(new)) => return compare(old, new),
        (Work::Branch(old), Work::Branch(new)) => {
            if old.choice != new.choice || old.bodies.len() != new.bodies.len() {
                return Err(Mismatch::Parameters(node));
            }
            return old.bodies.iter().zip(&new.bodies).try_for_each(|(old, new)| compare(old, new));
        }
        (Work::Allocate(old), Work::Allocate(new)) => Arc::ptr_eq(old, new),
        (Work::Free(old), Work::Free(new)) => old == new,
        (Work::Fill(old), Work::Fill(new)) => is_like(old, new),
        (Work::Memory(old), Work::Memory(new)) => old.may_become(new),
        _ => true,
    };
    if is_allowed { Ok(()) } else { Err(Mismatch::Parameters(node)) }
}

/// Whether the work of a graph can be replaced by that of another: the nodes and edges must be the same.
fn compare(old: &Exec, new: &Exec) -> Result<(), Mismatch> {
    // The lock is not kept: child graphs are locked one at a time.
    let (old, new) = (old.nodes().clone(), new.nodes().clone());
    if old.len() != new.len() {
        return Err(Mismatch::Count);
    }
    for (old, new) in old.iter().zip(&new) {
        if old.after != new.after {
            return Err(Mismatch::Topology(new.source));
        }
    }
    old.iter().zip(&new).try_for_each(|(old, new)| compare_work(&old.work, new))
}

impl Exec {
    /// Takes the work of the nodes of a graph that has the same nodes and edges, and keeps its user objects in place of
    /// those before.
    pub fn update(&self, driver: &Driver, graph: &Graph) -> Result<(), Mismatch> {
        let new = Exec::new(driver, graph, 0).map_err(Mismatch::Graph)?;
        compare(self, &new)?;
        self.replace(&new);
        let objects = lock(&new.objects).clone();
        driver.retain_objects(&objects);
        let before = std::mem::replace(&mut *lock(&self.objects), objects);
        driver.release_objects(&before);
        Ok(())
    }

    /// Gives a node that is a graph the work of another graph, with its user objects.
    pub fn update_child(&self, driver: &Driver, node: NodeHandle, graph: &Graph) -> Result<(), Mismatch> {
        let missing = Mismatch::Graph(Refusal::Other(Code::INVALID_VALUE));
        let new = Exec::new(driver, graph, 0).map_err(Mismatch::Graph)?;
        let child = self.change(node, |node| match &node.work {
            Work::Subgraph(child) => Ok(child.clone()),
            _ => Err(Code::INVALID_VALUE),
        });
        let child = child.map_err(|_| missing)?;
        compare(&child, &new)?;
        child.replace(&new);
        let objects = lock(&new.objects).clone();
        driver.retain_objects(&objects);
        add_objects(&mut lock(&self.objects), &objects);
        Ok(())
    }

    /// Takes the work of another, which has the same nodes and edges. The graphs of nodes stay, so that their nodes are
    /// known by the nodes that they were first copied from.
    fn replace(&self, new: &Exec) {
        let works: Vec<Work> = new.nodes().iter().map(|node| node.work.clone()).collect();
        for (node, work) in self.nodes().iter_mut().zip(works) {
            match (&mut node.work, work) {
                (Work::Subgraph(old), Work::Subgraph(new)) => old.replace(&new),
                (Work::Branch(old), Work::Branch(new)) => {
                    let bodies = old.bodies.clone();
                    bodies.iter().zip(&new.bodies).for_each(|(old, new)| old.replace(new));
                    *old = Arc::new(Conditional {
                        condition: new.condition.clone(),
                        choice: new.choice,
                        bodies,
                    });
                }
                (old, new) => *old = new,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::graph::{Edge, Owner};
    use crate::driver::{driver, initialise};
    use crate::handle::Handle;

    /// A graph of empty nodes, each after the one before.
    fn chain(driver: &Driver, count: usize) -> (Handle<Graph>, Vec<NodeHandle>) {
        let graph = driver.new_graph(Owner::Program).expect("room");
        let mut nodes: Vec<NodeHandle> = Vec::new();
        for _ in 0..count {
            let after = nodes.last().copied().map(Edge::plain).into_iter().collect();
            nodes.push(driver.add_node(graph, Work::Empty, after).expect("added"));
        }
        (graph, nodes)
    }

    #[test]
    fn an_update_needs_the_same_nodes_and_edges() {
        initialise().expect("a device");
        let driver = driver().expect("initialised");
        let (first, _) = chain(driver, 2);
        let exec = Exec::new(driver, &driver.graph(first).expect("there"), 0).expect("no cycle");
        let update = |handle| exec.update(driver, &driver.graph(handle).expect("there"));
        assert_eq!(update(chain(driver, 2).0), Ok(()));
        assert_eq!(update(chain(driver, 3).0), Err(Mismatch::Count));
        let (unconnected, nodes) = chain(driver, 2);
        let graph = driver.graph(unconnected).expect("there");
        graph.disconnect(Edge::plain(nodes[0]), nodes[1]).expect("there");
        assert_eq!(update(unconnected), Err(Mismatch::Topology(nodes[1])));
        let (other, nodes) = chain(driver, 1);
        let node = driver.add_node(other, Work::Free(0), vec![Edge::plain(nodes[0])]).expect("added");
        assert_eq!(update(other), Err(Mismatch::Kind(node)));
    }
}
