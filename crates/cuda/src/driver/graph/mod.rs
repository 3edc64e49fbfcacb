//! Graphs: work with dependencies, which is kept and done as often as the program likes.
//!
//! A [`Graph`] can be changed. An [`Exec`] is a copy in an order that respects the dependencies; launching it does its
//! work in that order. A cycle is found when the copy is made.

pub mod exec;
pub mod memory;

pub use exec::{Exec, ExecNode};

use crate::code::{Code, ensure};
use crate::driver::Driver;
use crate::driver::work::Work;
use crate::handle::{Handle, Handled, Kind, lock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// What the handle of a node stands for: the graph that has the node.
#[derive(Debug)]
pub struct NodeOf {
    /// The handle of the graph.
    pub graph: Handle<Graph>,
}

impl Handled for NodeOf {
    const KIND: Kind = Kind::GraphNode;
}

/// The handle of a node.
pub type NodeHandle = Handle<NodeOf>;

crate::c_struct! {
    /// `CUgraphEdgeData`
    EdgeData {
        from_port: u8,
        to_port: u8,
        kind: u8,
        reserved: [u8; 5],
    }
}

impl EdgeData {
    /// The whole node comes before the whole node.
    pub const DEFAULT: EdgeData = EdgeData { from_port: 0, to_port: 0, kind: 0, reserved: [0; 5] };
}

/// A dependency of a node.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The node that comes before.
    pub from: NodeHandle,
    /// What is said about the edge. The nodes are done one after the other whatever it says.
    pub data: EdgeData,
}

impl Edge {
    /// The plain dependency on a node.
    pub fn plain(from: NodeHandle) -> Edge {
        Edge { from, data: EdgeData::DEFAULT }
    }
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its handle.
    pub handle: NodeHandle,
    /// What it does.
    pub work: Work,
    /// What it comes after.
    pub after: Vec<Edge>,
    /// In a clone, the node that it was copied from.
    pub original: Option<NodeHandle>,
}

/// References of a graph to user objects: handles, and how many references to each.
pub type Objects = BTreeMap<u64, u32>;

/// A graph.
#[derive(Debug, Default)]
pub struct Graph {
    /// A number that no other graph has.
    pub id: u64,
    /// The node of which it is the child graph. Such a graph is the node's and is not destroyed by itself.
    pub is_child: bool,
    nodes: Mutex<Vec<Node>>,
    /// User objects that it keeps.
    pub objects: Mutex<Objects>,
}

impl Handled for Graph {
    const KIND: Kind = Kind::Graph;
}

fn position(nodes: &[Node], handle: NodeHandle) -> Option<usize> {
    nodes.iter().rposition(|node| node.handle == handle)
}

impl Graph {
    /// An empty graph.
    pub fn new(id: u64, is_child: bool) -> Graph {
        Graph { id, is_child, ..Graph::default() }
    }

    /// Adds a node. Its dependencies must be nodes of the graph, each once.
    pub fn add(&self, handle: NodeHandle, work: Work, after: Vec<Edge>) -> Result<(), Code> {
        let mut nodes = lock(&self.nodes);
        for (index, edge) in after.iter().enumerate() {
            ensure(position(&nodes, edge.from).is_some(), Code::INVALID_VALUE)?;
            let is_first = after[..index].iter().all(|before| before.from != edge.from);
            ensure(is_first, Code::INVALID_VALUE)?;
        }
        nodes.push(Node { handle, work, after, original: None });
        Ok(())
    }

    /// All nodes, in the order in which they were added.
    pub fn nodes(&self) -> Vec<Node> {
        lock(&self.nodes).clone()
    }

    /// Takes all nodes out.
    pub fn take_nodes(&self) -> Vec<Node> {
        std::mem::take(&mut lock(&self.nodes))
    }

    /// A node.
    pub fn node(&self, handle: NodeHandle) -> Result<Node, Code> {
        let nodes = lock(&self.nodes);
        position(&nodes, handle).map(|index| nodes[index].clone()).ok_or(Code::INVALID_VALUE)
    }

    /// Whether one of the nodes is of a kind.
    pub fn any(&self, is: impl Fn(&Work) -> bool) -> bool {
        lock(&self.nodes).iter().any(|node| is(&node.work))
    }

    /// Changes what a node does.
    pub fn change<R>(
        &self,
        handle: NodeHandle,
        change: impl FnOnce(&mut Work) -> Result<R, Code>,
    ) -> Result<R, Code> {
        let mut nodes = lock(&self.nodes);
        let index = position(&nodes, handle).ok_or(Code::INVALID_VALUE)?;
        change(&mut nodes[index].work)
    }

    /// Nodes that come directly after a node, with what is said about the edges.
    pub fn dependents(&self, handle: NodeHandle) -> Vec<Edge> {
        let nodes = lock(&self.nodes);
        let edges = nodes.iter().flat_map(|node| node.after.iter().map(move |edge| (node.handle, edge)));
        edges
            .filter(|(_, edge)| edge.from == handle)
            .map(|(to, edge)| Edge { from: to, data: edge.data })
            .collect()
    }

    /// Adds a dependency. One that is there is an error; a cycle is not one yet.
    pub fn connect(&self, edge: Edge, to: NodeHandle) -> Result<(), Code> {
        let mut nodes = lock(&self.nodes);
        ensure(edge.from != to && position(&nodes, edge.from).is_some(), Code::INVALID_VALUE)?;
        let index = position(&nodes, to).ok_or(Code::INVALID_VALUE)?;
        let after = &mut nodes[index].after;
        ensure(after.iter().all(|there| there.from != edge.from), Code::INVALID_VALUE)?;
        after.push(edge);
        Ok(())
    }

    /// Removes a dependency, which must be there.
    pub fn disconnect(&self, from: NodeHandle, to: NodeHandle) -> Result<(), Code> {
        let mut nodes = lock(&self.nodes);
        let index = position(&nodes, to).ok_or(Code::INVALID_VALUE)?;
        let after = &mut nodes[index].after;
        let place = after.iter().position(|edge| edge.from == from).ok_or(Code::INVALID_VALUE)?;
        after.remove(place);
        Ok(())
    }

    /// Removes a node with its edges.
    pub fn remove(&self, handle: NodeHandle) -> Result<Node, Code> {
        let mut nodes = lock(&self.nodes);
        let index = position(&nodes, handle).ok_or(Code::INVALID_VALUE)?;
        let removed = nodes.remove(index);
        for node in nodes.iter_mut() {
            node.after.retain(|edge| edge.from != handle);
        }
        Ok(removed)
    }

    /// The nodes in an order that respects the dependencies: of those that can be next, the one that was added first.
    pub fn ordered(&self) -> Result<Vec<Node>, Code> {
        let nodes = self.nodes();
        let order = order(&nodes).ok_or(Code::INVALID_VALUE)?;
        Ok(order.into_iter().map(|index| nodes[index].clone()).collect())
    }

    /// Whether nodes are among others or come before them.
    pub fn precede(&self, wanted: &[NodeHandle], ends: &[NodeHandle]) -> bool {
        let nodes = lock(&self.nodes);
        let indices = by_handle(&nodes);
        let mut reached = BTreeSet::new();
        let mut open: Vec<u64> = ends.iter().map(|end| end.bits()).collect();
        while let Some(next) = open.pop() {
            if reached.insert(next)
                && let Some(&index) = indices.get(&next)
            {
                open.extend(nodes[index].after.iter().map(|edge| edge.from.bits()));
            }
        }
        wanted.iter().all(|node| reached.contains(&node.bits()))
    }
}

fn by_handle(nodes: &[Node]) -> BTreeMap<u64, usize> {
    nodes.iter().enumerate().map(|(index, node)| (node.handle.bits(), index)).collect()
}

/// The indices of nodes in an order that respects the dependencies. None if there is a cycle.
fn order(nodes: &[Node]) -> Option<Vec<usize>> {
    let indices = by_handle(nodes);
    let mut missing: Vec<usize> = nodes.iter().map(|node| node.after.len()).collect();
    let mut dependents = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for edge in &node.after {
            dependents[*indices.get(&edge.from.bits())?].push(index);
        }
    }
    let mut ready: BTreeSet<usize> = (0..nodes.len()).filter(|&index| missing[index] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(next) = ready.pop_first() {
        order.push(next);
        for &dependent in &dependents[next] {
            missing[dependent] -= 1;
            if missing[dependent] == 0 {
                ready.insert(dependent);
            }
        }
    }
    (order.len() == nodes.len()).then_some(order)
}

impl Driver {
    /// A graph by its handle.
    pub fn graph(&self, handle: Handle<Graph>) -> Result<Arc<Graph>, Code> {
        self.graphs.get(handle).map_err(|_| Code::INVALID_VALUE)
    }

    /// The graph that has a node.
    pub fn graph_of(&self, node: NodeHandle) -> Result<(Handle<Graph>, Arc<Graph>), Code> {
        let place = self.nodes.get(node).map_err(|_| Code::INVALID_VALUE)?;
        Ok((place.graph, self.graph(place.graph)?))
    }

    /// A node by its handle.
    pub fn node(&self, handle: NodeHandle) -> Result<Node, Code> {
        self.graph_of(handle)?.1.node(handle)
    }

    /// Makes an empty graph.
    pub fn new_graph(&self, is_child: bool) -> Result<Handle<Graph>, Code> {
        let graph = Graph::new(self.new_id(), is_child);
        self.graphs.insert(Arc::new(graph)).ok_or(Code::OUT_OF_MEMORY)
    }

    /// Adds a node to a graph.
    pub fn add_node(&self, graph: Handle<Graph>, work: Work, after: Vec<Edge>) -> Result<NodeHandle, Code> {
        let found = self.graph(graph)?;
        let handle = self.nodes.insert(Arc::new(NodeOf { graph })).ok_or(Code::OUT_OF_MEMORY)?;
        if let Err(code) = found.add(handle, work, after) {
            let _ = self.nodes.remove(handle);
            return Err(code);
        }
        Ok(handle)
    }

    /// Copies a graph with its child graphs. Nodes that allocate or free memory are not copied.
    pub fn clone_graph(&self, of: Handle<Graph>, is_child: bool) -> Result<Handle<Graph>, Code> {
        let original = self.graph(of)?;
        let has_memory = original.any(|work| matches!(work, Work::Allocate(_) | Work::Free(_)));
        ensure(!has_memory, Code::NOT_SUPPORTED)?;
        let clone = self.new_graph(is_child)?;
        let graph = self.graph(clone)?;
        let mut copies = Vec::new();
        let mut handles = BTreeMap::new();
        for node in original.nodes() {
            let handle = self.nodes.insert(Arc::new(NodeOf { graph: clone })).ok_or(Code::OUT_OF_MEMORY)?;
            handles.insert(node.handle.bits(), handle);
            let work = match node.work {
                Work::Child(child) => Work::Child(self.clone_graph(child, true)?),
                work => work,
            };
            copies.push(Node { handle, work, original: Some(node.handle), ..node });
        }
        for edge in copies.iter_mut().flat_map(|node| &mut node.after) {
            edge.from = *handles.get(&edge.from.bits()).ok_or(Code::INVALID_VALUE)?;
        }
        *lock(&graph.nodes) = copies;
        let objects = lock(&original.objects).clone();
        self.retain_objects(&objects);
        *lock(&graph.objects) = objects;
        Ok(clone)
    }

    /// Destroys a graph with its nodes and child graphs.
    pub fn destroy_graph(&self, handle: Handle<Graph>) -> Result<(), Code> {
        let graph = self.graphs.remove(handle).map_err(|_| Code::INVALID_VALUE)?;
        for node in graph.take_nodes() {
            let _ = self.nodes.remove(node.handle);
            self.drop_work(node.work);
        }
        let objects = std::mem::take(&mut *lock(&graph.objects));
        self.release_objects(&objects);
        Ok(())
    }

    /// Drops what a node did: a child graph is destroyed.
    pub fn drop_work(&self, work: Work) {
        if let Work::Child(child) = work {
            let _ = self.destroy_graph(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(u64, u64)], nodes: u64) -> Graph {
        let graph = Graph::default();
        for node in 1..=nodes {
            graph.add(Handle::of(node), Work::Empty, Vec::new()).expect("added");
        }
        for &(from, to) in edges {
            graph.connect(Edge::plain(Handle::of(from)), Handle::of(to)).expect("connected");
        }
        graph
    }

    fn handles(graph: &Graph) -> Vec<u64> {
        graph.ordered().expect("no cycle").iter().map(|node| node.handle.bits()).collect()
    }

    #[test]
    fn nodes_come_after_what_they_depend_on_and_else_in_the_order_in_which_they_were_added() {
        assert_eq!(handles(&graph(&[(4, 1), (1, 3)], 4)), [2, 4, 1, 3]);
        assert_eq!(handles(&graph(&[], 3)), [1, 2, 3]);
        assert_eq!(handles(&graph(&[(3, 2), (3, 1)], 3)), [3, 1, 2]);
    }

    #[test]
    fn a_cycle_can_be_made_and_has_no_order() {
        let graph = graph(&[(1, 2), (2, 3), (3, 1)], 3);
        assert_eq!(graph.ordered().err(), Some(Code::INVALID_VALUE));
        graph.disconnect(Handle::of(3), Handle::of(1)).expect("there");
        assert_eq!(handles(&graph), [1, 2, 3]);
        assert_eq!(graph.disconnect(Handle::of(3), Handle::of(1)), Err(Code::INVALID_VALUE));
    }

    #[test]
    fn an_edge_is_there_once_and_between_nodes_of_the_graph() {
        let graph = graph(&[(1, 2)], 2);
        let refused = Err(Code::INVALID_VALUE);
        assert_eq!(graph.connect(Edge::plain(Handle::of(1)), Handle::of(2)), refused);
        assert_eq!(graph.connect(Edge::plain(Handle::of(1)), Handle::of(1)), refused);
        assert_eq!(graph.connect(Edge::plain(Handle::of(7)), Handle::of(1)), refused);
        let twice = vec![Edge::plain(Handle::of(1)); 2];
        assert_eq!(graph.add(Handle::of(3), Work::Empty, twice), refused);
    }

    #[test]
    fn removing_a_node_removes_its_edges() {
        let graph = graph(&[(1, 2), (2, 3)], 3);
        graph.remove(Handle::of(2)).expect("there");
        assert_eq!(handles(&graph), [1, 3]);
        assert!(graph.nodes().iter().all(|node| node.after.is_empty()));
    }

    #[test]
    fn nodes_precede_those_that_depend_on_them() {
        let graph = graph(&[(1, 2), (2, 3)], 4);
        assert!(graph.precede(&[Handle::of(1), Handle::of(3)], &[Handle::of(3)]));
        assert!(!graph.precede(&[Handle::of(4)], &[Handle::of(3)]));
        assert!(graph.precede(&[], &[]));
    }
}
