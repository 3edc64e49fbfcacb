//! Graphs that can be launched.

use super::condition::Condition;
use super::{Graph, NodeHandle, Objects};
use crate::code::{Code, Done};
use crate::driver::Driver;
use crate::driver::event::Event;
use crate::driver::user_object::Kept;
use crate::driver::work::{Conditional, NodeKind, Reached, Work};
use crate::handle::{Handle, Handled, Kind, lock};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// A node of a graph that can be launched.
#[derive(Clone, Debug)]
pub struct ExecNode {
    /// The node that it was copied from.
    pub source: NodeHandle,
    /// What it does.
    pub work: Work,
    /// The indices of the nodes that it comes after, sorted.
    pub(super) after: Vec<usize>,
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
    /// User objects that it keeps, those of its child graphs too.
    pub objects: Mutex<Objects>,
}

impl Handled for Exec {
    const KIND: Kind = Kind::GraphExec;
}

/// A change of a node.
type Change<'a, R> = Box<dyn FnOnce(&mut ExecNode) -> Result<R, Code> + 'a>;

/// Why a graph cannot be made launchable (`CUgraphInstantiateResult`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is a cycle.
    Structure,
    /// A graph that a node chooses has a node that it cannot have.
    Node(NodeHandle),
    /// No node has a condition that was made for the graph.
    Condition,
    /// Something else.
    Other(Code),
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Refusal::Other(code)
    }
}

impl Refusal {
    /// The code of the call.
    pub fn code(self) -> Code {
        match self {
            Refusal::Structure | Refusal::Condition => Code::INVALID_VALUE,
            Refusal::Node(_) => Code::NOT_SUPPORTED,
            Refusal::Other(code) => code,
        }
    }
}

/// Whether nodes of a kind can be in a graph that a node chooses.
fn can_be_chosen(kind: NodeKind) -> bool {
    use NodeKind::{Conditional, Copy, Empty, Fill, Graph, Kernel};
    [Kernel, Copy, Fill, Graph, Empty, Conditional].contains(&kind)
}

/// What a node does in a graph that can be launched: graphs become such graphs.
fn launchable(driver: &Driver, work: Work, is_body: bool) -> Result<Work, Refusal> {
    let exec = |handle, is_body| Exec::part(driver, &*driver.graph(handle)?, is_body).map(Arc::new);
    Ok(match work {
        Work::Child(child) => Work::Subgraph(exec(child, is_body)?),
        Work::Conditional(node) => {
            let bodies: Result<Vec<Arc<Exec>>, Refusal> =
                node.bodies.iter().map(|&body| exec(body, true)).collect();
            let (condition, choice) = (node.condition.clone(), node.choice);
            Work::Branch(Arc::new(Conditional { condition, choice, bodies: bodies? }))
        }
        work => work,
    })
}

/// The nodes of a graph in their order. Child graphs become graphs that can be launched.
fn copied(driver: &Driver, graph: &Graph, is_body: bool) -> Result<Vec<ExecNode>, Refusal> {
    let nodes = graph.ordered().map_err(|_| Refusal::Structure)?;
    let places: BTreeMap<u64, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.handle.bits(), index)).collect();
    let mut copies = Vec::with_capacity(nodes.len());
    for node in nodes {
        if is_body && !can_be_chosen(node.work.kind()) {
            return Err(Refusal::Node(node.handle));
        }
        let work = launchable(driver, node.work, is_body)?;
        let mut after: Vec<usize> =
            node.after.iter().filter_map(|edge| places.get(&edge.from.bits()).copied()).collect();
        after.sort_unstable();
        copies.push(ExecNode { source: node.handle, work, after, enabled: true });
    }
    Ok(copies)
}

impl Exec {
    /// Makes a graph launchable.
    pub fn new(driver: &Driver, graph: &Graph, flags: u64) -> Result<Exec, Refusal> {
        if graph.has_unused_conditions() {
            return Err(Refusal::Condition);
        }
        Ok(Exec { flags, ..Exec::part(driver, graph, false)? })
    }

    /// Makes a graph launchable that is one or a part of one.
    fn part(driver: &Driver, graph: &Graph, is_body: bool) -> Result<Exec, Refusal> {
        let nodes = copied(driver, graph, is_body)?;
        let mut objects = lock(&graph.objects).clone();
        for exec in nodes.iter().flat_map(|node| node.work.parts()) {
            add_objects(&mut objects, &lock(&exec.objects));
        }
        let (nodes, objects) = (Mutex::new(nodes), Mutex::new(objects));
        Ok(Exec { id: driver.new_id(), flags: 0, nodes, objects })
    }

    /// Changes a node that was copied from a given one, here or in the graph of a node.
    pub fn change<R>(
        &self,
        source: NodeHandle,
        change: impl FnOnce(&mut ExecNode) -> Result<R, Code>,
    ) -> Result<R, Code> {
        let mut nodes = lock(&self.nodes);
        if let Some(node) = nodes.iter_mut().find(|node| node.source == source) {
            return change(node);
        }
        let parts: Vec<Arc<Exec>> = nodes.iter().flat_map(|node| node.work.parts()).cloned().collect();
        drop(nodes);
        let part = parts.into_iter().find(|part| part.has(source)).ok_or(Code::INVALID_VALUE)?;
        // The closure is called once, so that the search goes down one way.
        part.change_boxed(source, Box::new(change))
    }

    /// Whether a node was copied from a given one, here or in the graph of a node.
    fn has(&self, source: NodeHandle) -> bool {
        let nodes = lock(&self.nodes).clone();
        nodes
            .iter()
            .any(|node| node.source == source || node.work.parts().iter().any(|part| part.has(source)))
    }

    fn change_boxed<R>(&self, source: NodeHandle, change: Change<'_, R>) -> Result<R, Code> {
        self.change(source, change)
    }

    /// The nodes, to be compared with others or replaced.
    pub(super) fn nodes(&self) -> MutexGuard<'_, Vec<ExecNode>> {
        lock(&self.nodes)
    }

    /// What is done in order. Those of child graphs are among them.
    pub fn works(&self) -> Vec<Work> {
        let nodes = lock(&self.nodes).clone();
        let mut works = Vec::with_capacity(nodes.len());
        for node in nodes.into_iter().filter(|node| node.enabled) {
            match node.work {
                Work::Subgraph(child) => works.extend(child.works()),
                Work::Branch(node) => {
                    let bodies = node.bodies.iter().map(|body| body.works().into()).collect();
                    let (condition, choice) = (node.condition.clone(), node.choice);
                    works.push(Work::Chosen(Arc::new(Conditional { condition, choice, bodies })));
                }
                Work::Empty => {}
                work => works.push(work),
            }
        }
        works
    }
}

/// Adds references to user objects to others.
pub(super) fn add_objects(to: &mut Objects, objects: &Objects) {
    for (&handle, &count) in objects {
        *to.entry(handle).or_default() += count;
    }
}

/// The conditions by which works choose.
fn conditions(works: &[Work], found: &mut Vec<Arc<Condition>>) {
    for work in works {
        if let Work::Chosen(node) = work {
            found.push(node.condition.clone());
            node.bodies.iter().for_each(|body| conditions(body, found));
        }
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
        let mut begun = Vec::new();
        conditions(&works, &mut begun);
        if !begun.is_empty() {
            works.insert(0, Work::Begin(begun));
        }
        let objects = lock(&self.objects).clone();
        let kept = (!objects.is_empty()).then(|| Arc::new(Kept::new(driver, objects)));
        Ok(Prepared { work: Work::Sequence(works.into(), kept), events })
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
    use crate::driver::graph::{Edge, Owner};
    use crate::driver::{driver, initialise};

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

    fn instantiate(driver: &Driver, graph: Handle<Graph>) -> Result<Exec, Refusal> {
        Exec::new(driver, &*driver.graph(graph)?, 0)
    }

    #[test]
    fn a_graph_with_a_cycle_cannot_be_launched() {
        initialise().expect("a device");
        let driver = driver().expect("initialised");
        let (graph, nodes) = chain(driver, 3);
        let found = driver.graph(graph).expect("there");
        found.connect(Edge::plain(nodes[2]), nodes[0]).expect("a cycle is not refused yet");
        assert_eq!(instantiate(driver, graph).err(), Some(Refusal::Structure));
        found.disconnect(Edge::plain(nodes[2]), nodes[0]).expect("there");
        assert!(instantiate(driver, graph).is_ok());
    }

    #[test]
    fn a_clone_has_nodes_of_its_own_and_child_graphs_of_its_own() {
        initialise().expect("a device");
        let driver = driver().expect("initialised");
        let (inner, _) = chain(driver, 2);
        let (graph, nodes) = chain(driver, 1);
        let child = Work::Child(driver.clone_graph(inner, Owner::Program).expect("cloned"));
        let node = driver.add_node(graph, child, vec![Edge::plain(nodes[0])]).expect("added");
        let clone = driver.clone_graph(graph, Owner::Program).expect("cloned");
        let copies = driver.graph(clone).expect("there").nodes();
        assert_eq!(copies[1].original, Some(node));
        assert_eq!(copies[1].after[0].from, copies[0].handle);
        driver.destroy_graph(graph).expect("there");
        assert!(driver.node(node).is_err());
        assert!(instantiate(driver, clone).is_ok());
    }
}
