//! Graphs that can be launched.

use super::{Graph, NodeHandle, Objects};
use crate::code::{Code, Done};
use crate::driver::Driver;
use crate::driver::event::Event;
use crate::driver::work::{Reached, Work};
use crate::handle::{Handle, Handled, Kind, lock};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A node of a graph that can be launched.
#[derive(Clone, Debug)]
pub struct ExecNode {
    /// The node that it was copied from.
    pub source: NodeHandle,
    /// What it does.
    pub work: Work,
    /// The indices of the nodes that it comes after, sorted.
    after: Vec<usize>,
    /// Whether it does anything.
    pub enabled: bool,
}

/// A graph that can be launched: nodes in an order that respects the dependencies.
#[derive(Debug, Default)]
pub struct Exec {
    /// A number that no other has.
    pub id: u64,
    /// The flags that it was made with.
    pub flags: u64,
    nodes: Mutex<Vec<ExecNode>>,
    /// User objects that it keeps.
    pub objects: Objects,
}

impl Handled for Exec {
    const KIND: Kind = Kind::GraphExec;
}

/// Why a graph cannot replace the work of another (`CUgraphExecUpdateResult`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Other nodes or other edges.
    Topology,
    /// A node is of another kind.
    Kind(NodeHandle),
    /// What cannot be changed was changed.
    Parameters(NodeHandle),
}

/// The nodes of a graph in their order. Child graphs become graphs that can be launched.
fn copied(driver: &Driver, graph: &Graph) -> Result<Vec<ExecNode>, Code> {
    let nodes = graph.ordered()?;
    let places: BTreeMap<u64, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.handle.bits(), index)).collect();
    let mut copies = Vec::with_capacity(nodes.len());
    for node in nodes {
        let work = match node.work {
            Work::Child(child) => Work::Subgraph(Arc::new(Exec::new(driver, &*driver.graph(child)?, 0)?)),
            work => work,
        };
        let mut after: Vec<usize> =
            node.after.iter().filter_map(|edge| places.get(&edge.from.bits()).copied()).collect();
        after.sort_unstable();
        copies.push(ExecNode { source: node.handle, work, after, enabled: true });
    }
    Ok(copies)
}

impl Exec {
    /// Makes a graph launchable. It is an error if the graph has a cycle.
    pub fn new(driver: &Driver, graph: &Graph, flags: u64) -> Result<Exec, Code> {
        let nodes = Mutex::new(copied(driver, graph)?);
        let objects = lock(&graph.objects).clone();
        Ok(Exec { id: driver.new_id(), flags, nodes, objects })
    }

    /// Changes a node that was copied from a given one.
    pub fn change<R>(
        &self,
        source: NodeHandle,
        change: impl FnOnce(&mut ExecNode) -> Result<R, Code>,
    ) -> Result<R, Code> {
        let mut nodes = lock(&self.nodes);
        change(nodes.iter_mut().find(|node| node.source == source).ok_or(Code::INVALID_VALUE)?)
    }

    /// Takes the work of the nodes of a graph that has the same nodes and edges.
    pub fn update(&self, driver: &Driver, graph: &Graph) -> Result<(), Mismatch> {
        let new = copied(driver, graph).map_err(|_| Mismatch::Topology)?;
        let mut nodes = lock(&self.nodes);
        let is_same = nodes.len() == new.len() && nodes.iter().zip(&new).all(|(a, b)| a.after == b.after);
        if !is_same {
            return Err(Mismatch::Topology);
        }
        for (old, new) in nodes.iter().zip(&new) {
            if old.work.kind() != new.work.kind() {
                return Err(Mismatch::Kind(new.source));
            }
            if matches!((&old.work, &new.work), (Work::Allocate(a), Work::Allocate(b)) if !Arc::ptr_eq(a, b))
            {
                return Err(Mismatch::Parameters(new.source));
            }
        }
        for (old, new) in nodes.iter_mut().zip(new) {
            old.work = new.work;
        }
        Ok(())
    }

    /// What is done in order. Those of child graphs are among them.
    pub fn works(&self) -> Vec<Work> {
        let nodes = lock(&self.nodes).clone();
        let mut works = Vec::with_capacity(nodes.len());
        for node in nodes.into_iter().filter(|node| node.enabled) {
            match node.work {
                Work::Subgraph(child) => works.extend(child.works()),
                Work::Empty => {}
                work => works.push(work),
            }
        }
        works
    }
}

/// Work of a launch, and the events that it records.
#[derive(Debug)]
pub struct Prepared {
    /// All work, in order.
    pub work: Work,
    /// Events with the place for the time at which they are reached.
    pub events: Vec<(Arc<Event>, Reached)>,
}

impl Exec {
    /// Makes ready for a launch: memory that it allocates must be free, events are those of now.
    pub fn prepare(&self, driver: &Driver) -> Result<Prepared, Code> {
        let mut works = self.works();
        self.free_before(driver, &works)?;
        let mut events = Vec::new();
        for work in &mut works {
            *work = match std::mem::replace(work, Work::Empty) {
                Work::RecordEvent(of) => {
                    let time = Reached::default();
                    events.push((of.event, time.clone()));
                    Work::Reach(time)
                }
                Work::WaitEvent(of) => match of.event.recorded().done {
                    Some(done) => Work::WaitFor(done),
                    None => Work::Empty,
                },
                work => work,
            };
        }
        Ok(Prepared { work: Work::Sequence(works.into()), events })
    }

    /// Memory of an earlier launch that is still allocated is freed if the flags allow it. Otherwise it is an error.
    fn free_before(&self, driver: &Driver, works: &[Work]) -> Done {
        const AUTO_FREE: u64 = 1;
        for work in works {
            let Work::Allocate(memory) = work else { continue };
            let address = memory.address;
            let is_freed = works.iter().any(|other| matches!(other, Work::Free(freed) if *freed == address));
            if is_freed || !lock(&driver.graph_memory).is_live(address) {
                continue;
            }
            if self.flags & AUTO_FREE == 0 {
                return Err(Code::INVALID_VALUE);
            }
            let freed = lock(&driver.graph_memory).free(address);
            drop(freed);
        }
        Ok(())
    }
}

impl Driver {
    /// A launchable graph by its handle.
    pub fn exec(&self, handle: Handle<Exec>) -> Result<Arc<Exec>, Code> {
        self.execs.get(handle).map_err(|_| Code::INVALID_VALUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::graph::Edge;
    use crate::driver::{driver, initialise};

    /// A graph of empty nodes, each after the one before.
    fn chain(driver: &Driver, count: usize) -> (Handle<Graph>, Vec<NodeHandle>) {
        let graph = driver.new_graph(false).expect("room");
        let mut nodes: Vec<NodeHandle> = Vec::new();
        for _ in 0..count {
            let after = nodes.last().copied().map(Edge::plain).into_iter().collect();
            nodes.push(driver.add_node(graph, Work::Empty, after).expect("added"));
        }
        (graph, nodes)
    }

    fn instantiate(driver: &Driver, graph: Handle<Graph>) -> Result<Exec, Code> {
        Exec::new(driver, &*driver.graph(graph)?, 0)
    }

    #[test]
    fn a_graph_with_a_cycle_cannot_be_launched() {
        initialise().expect("a device");
        let driver = driver().expect("initialised");
        let (graph, nodes) = chain(driver, 3);
        let found = driver.graph(graph).expect("there");
        found.connect(Edge::plain(nodes[2]), nodes[0]).expect("a cycle is not refused yet");
        assert_eq!(instantiate(driver, graph).err(), Some(Code::INVALID_VALUE));
        found.disconnect(nodes[2], nodes[0]).expect("there");
        assert!(instantiate(driver, graph).is_ok());
    }

    #[test]
    fn an_update_needs_the_same_nodes_and_edges() {
        initialise().expect("a device");
        let driver = driver().expect("initialised");
        let (first, _) = chain(driver, 2);
        let exec = instantiate(driver, first).expect("no cycle");
        let update = |handle| exec.update(driver, &driver.graph(handle).expect("there"));
        assert_eq!(update(chain(driver, 2).0), Ok(()));
        assert_eq!(update(chain(driver, 3).0), Err(Mismatch::Topology));
        let (unconnected, nodes) = chain(driver, 2);
        driver.graph(unconnected).and_then(|graph| graph.disconnect(nodes[0], nodes[1])).expect("there");
        assert_eq!(update(unconnected), Err(Mismatch::Topology));
        let (other, nodes) = chain(driver, 1);
        let node = driver.add_node(other, Work::Free(0), vec![Edge::plain(nodes[0])]).expect("added");
        assert_eq!(update(other), Err(Mismatch::Kind(node)));
    }

    #[test]
    fn a_clone_has_nodes_of_its_own_and_child_graphs_of_its_own() {
        initialise().expect("a device");
        let driver = driver().expect("initialised");
        let (inner, _) = chain(driver, 2);
        let (graph, nodes) = chain(driver, 1);
        let child = Work::Child(driver.clone_graph(inner, true).expect("cloned"));
        let node = driver.add_node(graph, child, vec![Edge::plain(nodes[0])]).expect("added");
        let clone = driver.clone_graph(graph, false).expect("cloned");
        let copies = driver.graph(clone).expect("there").nodes();
        assert_eq!(copies[1].original, Some(node));
        assert_eq!(copies[1].after[0].from, copies[0].handle);
        driver.destroy_graph(graph).expect("there");
        assert!(driver.node(node).is_err());
        assert!(instantiate(driver, clone).is_ok());
    }
}
