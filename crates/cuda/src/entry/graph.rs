//! Graphs: their nodes and edges (driver API: "Graph Management").

use crate::code::{Code, Done, ensure};
use crate::driver::driver;
use crate::driver::graph::{Edge, EdgeData, Graph, Node, NodeHandle, Owner};
use crate::driver::user_object::UserObject;
use crate::driver::work::Work;
use crate::ffi::{In, Out, Text};
use crate::handle::{Handle, lock};
use std::fmt::Write as _;

/// Dependencies that a caller passes. Without data they are plain.
pub(crate) fn edges(nodes: In<NodeHandle>, data: In<EdgeData>, count: usize) -> Result<Vec<Edge>, Code> {
    let edge = |index: usize| {
        let from = nodes.get_at(index)?;
        let data = if data.is_null() { EdgeData::DEFAULT } else { data.get_at(index)? };
        ensure(data.kind <= 1 && data.reserved == [0; 5], Code::INVALID_VALUE)?;
        Ok(Edge { from, data })
    };
    (0..count).map(edge).collect()
}

/// Gives a list. Without a place for it, only its length; places that are too many get nothing.
fn give<T: Copy>(items: &[T], is_wanted: bool, count: Out<usize>, set: impl Fn(usize, Option<T>)) -> Done {
    count.required()?;
    if !is_wanted {
        return count.set(items.len());
    }
    let room = count.get()?;
    for index in 0..room {
        set(index, items.get(index).copied());
    }
    count.set(items.len().min(room))
}

fn give_nodes(nodes: &[NodeHandle], to: Out<NodeHandle>, count: Out<usize>) -> Done {
    give(nodes, !to.is_null(), count, |index, node| to.set_at(index, node.unwrap_or(Handle::NULL)))
}

/// What is said about edges must not be lost: a list of them needs a place for it if there is something.
fn check_loss(edges: &[Edge], is_wanted: bool, data: Out<EdgeData>) -> Done {
    let is_lost = is_wanted && data.is_null() && edges.iter().any(|edge| !edge.data.is_default());
    ensure(!is_lost, Code::LOSSY_QUERY)
}

fn give_edges(edges: &[Edge], to: Out<NodeHandle>, data: Out<EdgeData>, count: Out<usize>) -> Done {
    check_loss(edges, !to.is_null(), data)?;
    give(edges, !to.is_null(), count, |index, edge| {
        to.set_at(index, edge.map_or(Handle::NULL, |edge| edge.from));
        data.set_at(index, edge.map_or(EdgeData::DEFAULT, |edge| edge.data));
    })
}

fn all_edges(
    graph: Handle<Graph>,
    from: Out<NodeHandle>,
    to: Out<NodeHandle>,
    data: Out<EdgeData>,
    count: Out<usize>,
) -> Done {
    let nodes = driver()?.graph(graph)?.nodes();
    let edges = nodes.iter().flat_map(|node| node.after.iter().map(|edge| (*edge, node.handle)));
    let edges: Vec<(Edge, NodeHandle)> = edges.collect();
    ensure(from.is_null() == to.is_null(), Code::INVALID_VALUE)?;
    check_loss(&edges.iter().map(|(edge, _)| *edge).collect::<Vec<Edge>>(), !from.is_null(), data)?;
    give(&edges, !from.is_null(), count, |index, edge| {
        from.set_at(index, edge.map_or(Handle::NULL, |(edge, _)| edge.from));
        to.set_at(index, edge.map_or(Handle::NULL, |(_, to)| to));
        data.set_at(index, edge.map_or(EdgeData::DEFAULT, |(edge, _)| edge.data));
    })
}

/// Does something with each of several edges. What was done before an error stays.
fn each_edge(
    graph: Handle<Graph>,
    from: In<NodeHandle>,
    to: In<NodeHandle>,
    data: In<EdgeData>,
    count: usize,
    change: impl Fn(&Graph, Edge, NodeHandle) -> Done,
) -> Done {
    let graph = driver()?.graph(graph)?;
    let from = edges(from, data, count)?;
    let to = to.all(count)?;
    from.into_iter().zip(to).try_for_each(|(edge, to)| change(&graph, edge, to))
}

/// Of graphs that allocate or free memory nothing can be removed.
fn check_removal(graph: &Graph) -> Done {
    let has_memory = graph.any(|work| matches!(work, Work::Allocate(_) | Work::Free(_)));
    ensure(!has_memory, Code::NOT_SUPPORTED)
}

fn remove_edge(graph: &Graph, edge: Edge, to: NodeHandle) -> Done {
    check_removal(graph)?;
    graph.disconnect(edge, to)
}

/// A picture of a graph in the language of Graphviz.
fn drawn(graph: &Graph) -> String {
    let nodes = graph.nodes();
    let number = |handle: NodeHandle| nodes.iter().position(|node| node.handle == handle).unwrap_or(0);
    let mut text = format!("digraph \"graph_{}\" {{\n", graph.id);
    for (index, node) in nodes.iter().enumerate() {
        let _ = writeln!(text, "  node_{index} [shape=\"box\" label=\"{index}: {:?}\"];", node.work.kind());
    }
    for (index, node) in nodes.iter().enumerate() {
        for edge in &node.after {
            let _ = writeln!(text, "  node_{} -> node_{index};", number(edge.from));
        }
    }
    text + "}\n"
}

fn node(handle: NodeHandle) -> Result<Node, Code> {
    driver()?.node(handle)
}

crate::entries! {
    /// Makes a graph.
    fn cuGraphCreate(to: Out<Handle<Graph>>, flags: u32) {
        let driver = driver()?;
        to.required()?;
        ensure(flags == 0, Code::INVALID_VALUE)?;
        to.set(driver.new_graph(Owner::Program)?)
    }

    /// Destroys a graph.
    fn cuGraphDestroy(graph: Handle<Graph>) {
        let driver = driver()?;
        ensure(driver.graph(graph)?.owner() == Owner::Program, Code::INVALID_VALUE)?;
        driver.destroy_graph(graph)
    }

    /// Copies a graph.
    fn cuGraphClone(to: Out<Handle<Graph>>, graph: Handle<Graph>) {
        let driver = driver()?;
        to.required()?;
        to.set(driver.clone_graph(graph, Owner::Program)?)
    }

    /// The node of a clone that was copied from a node.
    fn cuGraphNodeFindInClone(to: Out<NodeHandle>, original: NodeHandle, clone: Handle<Graph>) {
        let driver = driver()?;
        to.required()?;
        let nodes = driver.graph(clone)?.nodes();
        let found = nodes.iter().find(|node| node.original == Some(original)).ok_or(Code::INVALID_VALUE)?;
        to.set(found.handle)
    }

    /// The kind of a node.
    fn cuGraphNodeGetType(of: NodeHandle, kind: Out<u32>) {
        kind.required()?;
        kind.set(node(of)?.work.kind() as u32)
    }

    /// The graph that has a node.
    fn cuGraphNodeGetContainingGraph(of: NodeHandle, to: Out<Handle<Graph>>) {
        to.set(driver()?.graph_of(of)?.0)
    }

    /// The number of a node within its graph.
    fn cuGraphNodeGetLocalId(of: NodeHandle, to: Out<u32>) {
        let nodes = driver()?.graph_of(of)?.1.nodes();
        let index = nodes.iter().position(|node| node.handle == of).ok_or(Code::INVALID_VALUE)?;
        to.set(index as u32)
    }

    /// A number of a node that no other node has.
    fn cuGraphNodeGetToolsId(of: NodeHandle, to: Out<u64>) {
        node(of)?;
        to.set(of.bits())
    }

    /// The number of a graph.
    fn cuGraphGetId(graph: Handle<Graph>, to: Out<u32>) {
        to.set(driver()?.graph(graph)?.id as u32)
    }

    /// All nodes of a graph.
    fn cuGraphGetNodes(graph: Handle<Graph>, to: Out<NodeHandle>, count: Out<usize>) {
        let nodes: Vec<NodeHandle> = driver()?.graph(graph)?.nodes().iter().map(|node| node.handle).collect();
        give_nodes(&nodes, to, count)
    }

    /// The nodes of a graph that depend on no other.
    fn cuGraphGetRootNodes(graph: Handle<Graph>, to: Out<NodeHandle>, count: Out<usize>) {
        let nodes = driver()?.graph(graph)?.nodes();
        let roots = nodes.iter().filter(|node| node.after.is_empty());
        give_nodes(&roots.map(|node| node.handle).collect::<Vec<NodeHandle>>(), to, count)
    }

    /// All edges of a graph.
    fn cuGraphGetEdges(graph: Handle<Graph>, from: Out<NodeHandle>, to: Out<NodeHandle>, count: Out<usize>) {
        all_edges(graph, from, to, Out::NULL, count)
    }

    /// All edges of a graph.
    fn cuGraphGetEdges_v2(
        graph: Handle<Graph>, from: Out<NodeHandle>, to: Out<NodeHandle>, data: Out<EdgeData>, count: Out<usize>,
    ) {
        all_edges(graph, from, to, data, count)
    }

    /// What a node comes after.
    fn cuGraphNodeGetDependencies(of: NodeHandle, to: Out<NodeHandle>, count: Out<usize>) {
        give_edges(&node(of)?.after, to, Out::NULL, count)
    }

    /// What a node comes after.
    fn cuGraphNodeGetDependencies_v2(
        of: NodeHandle, to: Out<NodeHandle>, data: Out<EdgeData>, count: Out<usize>,
    ) {
        give_edges(&node(of)?.after, to, data, count)
    }

    /// What comes after a node.
    fn cuGraphNodeGetDependentNodes(of: NodeHandle, to: Out<NodeHandle>, count: Out<usize>) {
        give_edges(&driver()?.graph_of(of)?.1.dependents(of), to, Out::NULL, count)
    }

    /// What comes after a node.
    fn cuGraphNodeGetDependentNodes_v2(
        of: NodeHandle, to: Out<NodeHandle>, data: Out<EdgeData>, count: Out<usize>,
    ) {
        give_edges(&driver()?.graph_of(of)?.1.dependents(of), to, data, count)
    }

    /// Adds edges.
    fn cuGraphAddDependencies(graph: Handle<Graph>, from: In<NodeHandle>, to: In<NodeHandle>, count: usize) {
        each_edge(graph, from, to, In::NULL, count, Graph::connect)
    }

    /// Adds edges.
    fn cuGraphAddDependencies_v2(
        graph: Handle<Graph>, from: In<NodeHandle>, to: In<NodeHandle>, data: In<EdgeData>, count: usize,
    ) {
        each_edge(graph, from, to, data, count, Graph::connect)
    }

    /// Removes edges.
    fn cuGraphRemoveDependencies(graph: Handle<Graph>, from: In<NodeHandle>, to: In<NodeHandle>, count: usize) {
        each_edge(graph, from, to, In::NULL, count, remove_edge)
    }

    /// Removes edges.
    fn cuGraphRemoveDependencies_v2(
        graph: Handle<Graph>, from: In<NodeHandle>, to: In<NodeHandle>, data: In<EdgeData>, count: usize,
    ) {
        each_edge(graph, from, to, data, count, remove_edge)
    }

    /// Removes a node.
    fn cuGraphDestroyNode(of: NodeHandle) {
        let driver = driver()?;
        let graph = driver.graph_of(of)?.1;
        check_removal(&graph)?;
        let removed = graph.remove(of)?;
        let _ = driver.nodes.remove(of);
        driver.drop_work(removed.work);
        Ok(())
    }

    /// Writes a picture of a graph to a file.
    fn cuGraphDebugDotPrint(graph: Handle<Graph>, path: Text<'_>, _flags: u32) {
        let graph = driver()?.graph(graph)?;
        let path = path.get()?.to_str().map_err(|_| Code::INVALID_VALUE)?;
        std::fs::write(path, drawn(&graph)).map_err(|_| Code::OPERATING_SYSTEM)
    }

    /// Lets a graph keep a user object.
    fn cuGraphRetainUserObject(graph: Handle<Graph>, object: Handle<UserObject>, count: u32, flags: u32) {
        /// The graph takes references that the caller has.
        const MOVE: u32 = 1;
        let driver = driver()?;
        let graph = driver.graph(graph)?;
        ensure(flags & !MOVE == 0 && count != 0, Code::INVALID_VALUE)?;
        driver.user_objects.get(object).map_err(|_| Code::INVALID_VALUE)?;
        if flags & MOVE == 0 {
            driver.retain_object(object, count)?;
        }
        *lock(&graph.objects).entry(object.bits()).or_default() += count;
        Ok(())
    }

    /// Takes references of a graph to a user object away.
    fn cuGraphReleaseUserObject(graph: Handle<Graph>, object: Handle<UserObject>, count: u32) {
        let driver = driver()?;
        let graph = driver.graph(graph)?;
        {
            let mut objects = lock(&graph.objects);
            let there = objects.get_mut(&object.bits()).ok_or(Code::INVALID_VALUE)?;
            *there = there.checked_sub(count).ok_or(Code::INVALID_VALUE)?;
            if *there == 0 {
                objects.remove(&object.bits());
            }
        }
        driver.release_object(object, count)
    }
}
