//! Graphs: work with dependencies, which is kept and done as often as the program likes.
//!
//! A [`Graph`] can be changed. An [`Exec`] is a copy in an order that respects the dependencies; launching it does its
//! work in that order. A cycle is found when the copy is made.

pub mod condition;
pub mod exec;
pub mod memory;
pub mod update;

use condition::Condition;
pub use exec::{Exec, ExecNode};

use crate::code::{Code, ensure};
use crate::driver::Driver;
use crate::driver::work::{NodeKind, Work};
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

    /// The second node, a kernel, may begin when all blocks of the first, a kernel, say so or end.
    pub const PROGRAMMATIC: EdgeData = EdgeData { from_port: 1, kind: 1, ..EdgeData::DEFAULT };

    /// Whether it says nothing that a dependency without data does not say.
    pub fn is_default(&self) -> bool {
        self.bytes() == EdgeData::DEFAULT.bytes()
    }

    fn bytes(&self) -> [u8; 8] {
        let [a, b, c, d, e] = self.reserved;
        [self.from_port, self.to_port, self.kind, a, b, c, d, e]
    }

    /// A programmatic dependency is one between kernels, from a point within the first. No other has ports.
    fn check(&self, from: &Work, to: &Work) -> Result<(), Code> {
        const PROGRAMMATIC: u8 = 1;
        if self.is_default() {
            return Ok(());
        }
        let are_kernels = from.kind() == NodeKind::Kernel && to.kind() == NodeKind::Kernel;
        let is_programmatic = self.kind == PROGRAMMATIC && matches!(self.from_port, 1 | 2);
        let has_no_rest = self.to_port == 0 && self.reserved == [0; 5];
        ensure(are_kernels && is_programmatic && has_no_rest, Code::INVALID_VALUE)
    }
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

/// Whose a graph is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// The program's.
    #[default]
    Program,
    /// A node's of a graph, for which it was copied.
    Copy(Handle<Graph>),
    /// A node's of a graph, to which the program gave it.
    Moved(Handle<Graph>),
    /// It is what a conditional node of a graph chooses.
    Body(Handle<Graph>),
}

impl Owner {
    /// The graph that has the node.
    pub fn graph(self) -> Option<Handle<Graph>> {
        match self {
            Owner::Program => None,
            Owner::Copy(graph) | Owner::Moved(graph) | Owner::Body(graph) => Some(graph),
        }
    }
}

/// A graph.
#[derive(Debug, Default)]
pub struct Graph {
    /// A number that no other graph has.
    pub id: u64,
    /// Whose it is. A graph of a node is not destroyed by itself.
    owner: Mutex<Owner>,
    nodes: Mutex<Vec<Node>>,
    /// Conditions that were made for it, by handle.
    conditions: Mutex<BTreeMap<u64, Arc<Condition>>>,
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
    pub fn new(id: u64, owner: Owner) -> Graph {
        Graph { id, owner: Mutex::new(owner), ..Graph::default() }
    }

    /// Whose it is.
    pub fn owner(&self) -> Owner {
        *lock(&self.owner)
    }

    /// A node gets it: it must be the program's.
    pub fn give_to(&self, owner: Owner) -> Result<(), Code> {
        let mut there = lock(&self.owner);
        ensure(*there == Owner::Program, Code::INVALID_VALUE)?;
        *there = owner;
        Ok(())
    }

    /// Adds a condition.
    pub fn add_condition(&self, condition: Condition) -> u64 {
        let handle = condition.address;
        lock(&self.conditions).insert(handle, Arc::new(condition));
        handle
    }

    /// Whether nodes have all of its conditions.
    pub fn has_unused_conditions(&self) -> bool {
        lock(&self.conditions).values().any(|condition| !condition.is_used())
    }

    /// Adds a node. Its dependencies must be nodes of the graph, each once.
    pub fn add(&self, handle: NodeHandle, work: Work, after: Vec<Edge>) -> Result<(), Code> {
        let mut nodes = lock(&self.nodes);
        for (index, edge) in after.iter().enumerate() {
            let before = position(&nodes, edge.from).ok_or(Code::INVALID_VALUE)?;
            edge.data.check(&nodes[before].work, &work)?;
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
        ensure(edge.from != to, Code::INVALID_VALUE)?;
        let before = position(&nodes, edge.from).ok_or(Code::INVALID_VALUE)?;
        let index = position(&nodes, to).ok_or(Code::INVALID_VALUE)?;
        edge.data.check(&nodes[before].work, &nodes[index].work)?;
        let after = &mut nodes[index].after;
        ensure(after.iter().all(|there| there.from != edge.from), Code::INVALID_VALUE)?;
        after.push(edge);
        Ok(())
    }

    /// Removes a dependency, which must be there with the same data.
    pub fn disconnect(&self, edge: Edge, to: NodeHandle) -> Result<(), Code> {
        let mut nodes = lock(&self.nodes);
        let index = position(&nodes, to).ok_or(Code::INVALID_VALUE)?;
        let after = &mut nodes[index].after;
        let is = |there: &Edge| there.from == edge.from && there.data.bytes() == edge.data.bytes();
        let place = after.iter().position(is).ok_or(Code::INVALID_VALUE)?;
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
    pub fn new_graph(&self, owner: Owner) -> Result<Handle<Graph>, Code> {
        let graph = Graph::new(self.new_id(), owner);
        self.graphs.insert(Arc::new(graph)).ok_or(Code::OUT_OF_MEMORY)
    }

    /// Adds a node to a graph. A graph that was given to a node gets no nodes any more that allocate or free memory.
    pub fn add_node(&self, graph: Handle<Graph>, work: Work, after: Vec<Edge>) -> Result<NodeHandle, Code> {
        let found = self.graph(graph)?;
        let has_memory = matches!(work, Work::Allocate(_) | Work::Free(_));
        ensure(!has_memory || !matches!(found.owner(), Owner::Moved(_)), Code::NOT_SUPPORTED)?;
        let handle = self.nodes.insert(Arc::new(NodeOf { graph })).ok_or(Code::OUT_OF_MEMORY)?;
        if let Err(code) = found.add(handle, work, after) {
            let _ = self.nodes.remove(handle);
            return Err(code);
        }
        Ok(handle)
    }

    /// A condition that was made for a graph or for one that it is a part of.
    pub fn condition(&self, graph: Handle<Graph>, handle: u64) -> Result<Arc<Condition>, Code> {
        let mut next = Some(graph);
        while let Some(graph) = next {
            let found = self.graph(graph)?;
            if let Some(condition) = lock(&found.conditions).get(&handle) {
                return Ok(condition.clone());
            }
            next = found.owner().graph();
        }
        Err(Code::INVALID_VALUE)
    }

    /// Whether a graph is another one, or a node of it or of its graphs has it.
    pub fn is_part_of(&self, graph: Handle<Graph>, whole: Handle<Graph>) -> bool {
        let mut next = Some(graph);
        while let Some(graph) = next.filter(|&graph| graph != whole) {
            next = self.graph(graph).ok().and_then(|found| found.owner().graph());
        }
        next.is_some()
    }

    /// Copies a graph with its child graphs. A graph with nodes that allocate or free memory, or that have a condition,
    /// cannot be copied.
    pub fn clone_graph(&self, of: Handle<Graph>, owner: Owner) -> Result<Handle<Graph>, Code> {
        let original = self.graph(of)?;
        let is_bound = |work: &Work| matches!(work, Work::Allocate(_) | Work::Free(_) | Work::Conditional(_));
        ensure(!original.any(is_bound), Code::NOT_SUPPORTED)?;
        let clone = self.new_graph(owner)?;
        let copied = self.copy_nodes(&original, clone);
        if let Err(code) = copied {
            let _ = self.destroy_graph(clone);
            return Err(code);
        }
        Ok(clone)
    }

    fn copy_nodes(&self, original: &Graph, clone: Handle<Graph>) -> Result<(), Code> {
        let graph = self.graph(clone)?;
        let mut handles = BTreeMap::new();
        for mut node in original.nodes() {
            let handle = self.nodes.insert(Arc::new(NodeOf { graph: clone })).ok_or(Code::OUT_OF_MEMORY)?;
            handles.insert(node.handle.bits(), handle);
            node.original = Some(node.handle);
            node.handle = handle;
            if let Work::Child(child) = node.work {
                node.work = Work::Child(self.clone_graph(child, Owner::Copy(clone))?);
            }
            lock(&graph.nodes).push(node);
        }
        for edge in lock(&graph.nodes).iter_mut().flat_map(|node| &mut node.after) {
            edge.from = *handles.get(&edge.from.bits()).ok_or(Code::INVALID_VALUE)?;
        }
        let objects = lock(&original.objects).clone();
        self.retain_objects(&objects);
        *lock(&graph.objects) = objects;
        Ok(())
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

    /// Drops what a node did: its graphs are destroyed.
    pub fn drop_work(&self, work: Work) {
        match work {
            Work::Child(child) => {
                let _ = self.destroy_graph(child);
            }
            Work::Conditional(node) => {
                node.condition.give_back();
                for &body in &node.bodies {
                    let _ = self.destroy_graph(body);
                }
            }
            _ => {}
        }
    }

    /// Drops what a node would have done: a graph that was given to it is the program's again.
    pub fn undo_work(&self, work: Work) {
        if let Work::Child(child) = work
            && let Ok(graph) = self.graph(child)
            && matches!(graph.owner(), Owner::Moved(_))
        {
            *lock(&graph.owner) = Owner::Program;
            return;
        }
        self.drop_work(work);
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
        graph.disconnect(Edge::plain(Handle::of(3)), Handle::of(1)).expect("there");
        assert_eq!(handles(&graph), [1, 2, 3]);
        assert_eq!(graph.disconnect(Edge::plain(Handle::of(3)), Handle::of(1)), Err(Code::INVALID_VALUE));
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
