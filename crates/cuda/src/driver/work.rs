//! What streams do and nodes of graphs are.

use crate::code::{Code, Done};
use crate::context;
use crate::driver::Driver;
use crate::driver::event::Event;
use crate::driver::graph::condition::{Choice, Condition};
use crate::driver::graph::memory::Allocation;
use crate::driver::graph::{Exec, Graph};
use crate::driver::kernel::{self, KernelLaunch};
use crate::driver::memory_operation::Batch;
use crate::driver::rows::Rows;
use crate::driver::transfer::{Copy, Fill};
use crate::driver::user_object::Kept;
use crate::ffi::{HostFunction, StreamCallback};
use crate::handle::{Handle, lock};
use crate::memory::{Block, Kind};
use crate::stream::{self, TaskKind};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// When a point in the order of a stream was reached.
pub type Reached = Arc<Mutex<Option<Instant>>>;

/// An event of a node.
#[derive(Clone, Debug)]
pub struct EventOf {
    /// Its handle.
    pub handle: Handle<Event>,
    /// The event, which stays even if its handle is destroyed.
    pub event: Arc<Event>,
}

/// A node that chooses by a condition what is done. `B` is what it chooses from.
#[derive(Debug)]
pub struct Conditional<B> {
    /// The condition.
    pub condition: Arc<Condition>,
    /// How it chooses.
    pub choice: Choice,
    /// What it chooses from.
    pub bodies: Vec<B>,
}

/// Something that is done in the order of a stream.
#[derive(Clone, Debug)]
pub enum Work {
    /// Runs a kernel.
    Launch(Arc<KernelLaunch>),
    /// Copies memory.
    Copy(Copy),
    /// Copies rows and planes of memory or of arrays.
    Rows(Arc<Rows>),
    /// Fills memory.
    Fill(Fill),
    /// Calls a function of the program.
    HostFunction(HostFunction),
    /// Calls a function of the program, even after a fault.
    Callback(StreamCallback),
    /// Notes the time.
    Reach(Reached),
    /// Waits for other work.
    WaitFor(Arc<stream::Done>),
    /// In a graph: records an event.
    RecordEvent(EventOf),
    /// In a graph: waits for what the event is recorded as when the graph is launched.
    WaitEvent(EventOf),
    /// In a graph: makes memory live.
    Allocate(Arc<Allocation>),
    /// In a graph: frees the memory at an address.
    Free(u64),
    /// Gives memory back whose address means nothing any more.
    Release(Block),
    /// In a graph: a graph of its own.
    Child(Handle<Graph>),
    /// In a graph that can be launched: the same.
    Subgraph(Arc<Exec>),
    /// In a graph: one of several graphs.
    Conditional(Arc<Conditional<Handle<Graph>>>),
    /// In a graph that can be launched: the same.
    Branch(Arc<Conditional<Arc<Exec>>>),
    /// In a launch of a graph: the same.
    Chosen(Arc<Conditional<Arc<[Work]>>>),
    /// A launch of a graph begins: its conditions get their initial values.
    Begin(Vec<Arc<Condition>>),
    /// Waits for values in memory and writes values to it.
    Memory(Arc<Batch>),
    /// The work of a graph, one after the other, and the user objects that it needs.
    Sequence(Arc<[Work]>, Option<Arc<Kept>>),
    /// Nothing.
    Empty,
}

/// The kind of a node (`CUgraphNodeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NodeKind {
    /// A kernel.
    Kernel = 0,
    /// A copy.
    Copy = 1,
    /// A fill.
    Fill = 2,
    /// A function of the program.
    Host = 3,
    /// A graph.
    Graph = 4,
    /// Nothing.
    Empty = 5,
    /// Waits for an event.
    WaitEvent = 6,
    /// Records an event.
    RecordEvent = 7,
    /// Allocates memory.
    Allocate = 10,
    /// Frees memory.
    Free = 11,
    /// Waits for values in memory and writes values to it.
    Memory = 12,
    /// One of several graphs.
    Conditional = 13,
}

impl NodeKind {
    /// The kind with a number.
    pub fn of(number: u32) -> Option<NodeKind> {
        use NodeKind::{
            Allocate, Conditional, Copy, Empty, Fill, Free, Graph, Host, Kernel, Memory, RecordEvent,
            WaitEvent,
        };
        [Kernel, Copy, Fill, Host, Graph, Empty, WaitEvent, RecordEvent, Allocate, Free, Memory, Conditional]
            .into_iter()
            .find(|&kind| kind as u32 == number)
    }
}

impl Work {
    /// The kind of graph node that it makes. Work that cannot be captured has the kind `Empty`.
    pub fn kind(&self) -> NodeKind {
        match self {
            Work::Launch(_) => NodeKind::Kernel,
            Work::Copy(_) | Work::Rows(_) => NodeKind::Copy,
            Work::Fill(_) => NodeKind::Fill,
            Work::HostFunction(_) => NodeKind::Host,
            Work::Child(_) | Work::Subgraph(_) => NodeKind::Graph,
            Work::WaitEvent(_) => NodeKind::WaitEvent,
            Work::RecordEvent(_) => NodeKind::RecordEvent,
            Work::Allocate(_) => NodeKind::Allocate,
            Work::Free(_) => NodeKind::Free,
            Work::Conditional(_) | Work::Branch(_) | Work::Chosen(_) => NodeKind::Conditional,
            Work::Memory(_) => NodeKind::Memory,
            Work::Callback(_)
            | Work::Begin(_)
            | Work::Reach(_)
            | Work::WaitFor(_)
            | Work::Release(_)
            | Work::Sequence(..)
            | Work::Empty => NodeKind::Empty,
        }
    }

    /// The launchable graphs that are a part of it.
    pub fn parts(&self) -> &[Arc<Exec>] {
        match self {
            Work::Subgraph(exec) => std::slice::from_ref(exec),
            Work::Branch(node) => &node.bodies,
            _ => &[],
        }
    }

    /// Whether it can be a node of a graph.
    pub fn can_be_captured(&self) -> bool {
        matches!(self, Work::Empty) || self.kind() != NodeKind::Empty
    }

    /// Whether it may wait for something that the program does later: functions of the program may wait for the thread
    /// that submits them.
    pub fn may_wait(&self) -> bool {
        match self {
            Work::Launch(launch) => launch.function.may_wait,
            Work::HostFunction(_) | Work::Callback(_) | Work::WaitFor(_) | Work::WaitEvent(_) => true,
            Work::Sequence(works, _) => works.iter().any(Work::may_wait),
            Work::Subgraph(exec) => exec.works().iter().any(Work::may_wait),
            Work::Memory(batch) => batch.may_wait(),
            // A loop may never end, or end by what another stream does.
            Work::Chosen(node) => {
                node.choice == Choice::While || node.bodies.iter().any(|body| body.iter().any(Work::may_wait))
            }
            _ => false,
        }
    }

    /// What it is as a task of a stream.
    pub fn task(&self) -> TaskKind {
        match self {
            Work::HostFunction(_) | Work::Callback(_) => TaskKind::HostFunction,
            Work::WaitEvent(_) | Work::Memory(_) => TaskKind::Wait,
            Work::Launch(_)
            | Work::Copy(_)
            | Work::Rows(_)
            | Work::Fill(_)
            | Work::Reach(_)
            // What it waits for is done before it is its turn.
            | Work::WaitFor(_)
            | Work::RecordEvent(_)
            | Work::Allocate(_)
            | Work::Free(_)
            | Work::Release(_)
            | Work::Child(_)
            | Work::Subgraph(_)
            | Work::Conditional(_)
            | Work::Branch(_)
            | Work::Chosen(_)
            | Work::Begin(_)
            | Work::Sequence(..)
            | Work::Empty => TaskKind::Device,
        }
    }

    /// Does it. A fault of a kernel is kept by the driver and is no error here.
    pub fn perform(&self, driver: &'static Driver) -> Done {
        match self {
            Work::Launch(launch) if driver.may_launch() => kernel::run(driver, launch),
            Work::Copy(copy) => return copy.perform(driver),
            Work::Rows(rows) => return rows.region.run(driver),
            Work::Fill(fill) => return fill.perform(driver),
            Work::HostFunction(function) if driver.fault().is_none() => {
                // SAFETY: the program has given it to be called in this place of the stream.
                context::in_host_function(|| unsafe { function.call() });
            }
            Work::Callback(callback) => {
                let result = driver.fault().unwrap_or(Code::SUCCESS);
                // SAFETY: the same.
                context::in_host_function(|| unsafe { callback.call(result) });
            }
            Work::Reach(time) => *lock(time) = Some(Instant::now()),
            Work::WaitFor(done) => done.wait(),
            Work::RecordEvent(of) => *lock(&of.event.recorded().time) = Some(Instant::now()),
            Work::WaitEvent(of) => {
                if let Some(done) = of.event.recorded().done {
                    done.wait();
                }
            }
            Work::Allocate(memory) => lock(&driver.graph_memory).allocate(memory),
            Work::Free(address) => free(driver, *address),
            Work::Release(block) => driver.release(block),
            Work::Subgraph(exec) => return exec.works().iter().try_for_each(|work| work.perform(driver)),
            Work::Sequence(works, _) => return works.iter().try_for_each(|work| work.perform(driver)),
            Work::Begin(conditions) => return conditions.iter().try_for_each(|it| it.begin(driver)),
            Work::Chosen(node) => return choose(driver, node),
            Work::Memory(batch) => return batch.perform(driver),
            Work::Launch(_) => driver.lose(),
            Work::HostFunction(_) | Work::Child(_) | Work::Empty => {}
            // Graphs with these are not launched as they are.
            Work::Conditional(_) | Work::Branch(_) => {}
        }
        Ok(())
    }
}

/// Does what a condition chooses. A fault ends a loop.
fn choose(driver: &'static Driver, node: &Conditional<Arc<[Work]>>) -> Done {
    while driver.may_launch() {
        let Some(body) = node.bodies.get(node.choice.chosen(node.condition.value(driver)?)) else { break };
        body.iter().try_for_each(|work| work.perform(driver))?;
        if node.choice != Choice::While {
            break;
        }
    }
    Ok(())
}

/// Frees memory as a node of a graph.
fn free(driver: &Driver, address: u64) {
    let freed = lock(&driver.graph_memory).free(address);
    if freed.is_some() {
        return;
    }
    let block = lock(&driver.blocks).at(address).filter(|block| !block.is_host());
    if let Some(block) = block.filter(|block| matches!(block.kind, Kind::Device | Kind::Pooled(_))) {
        driver.give_back(&block);
        driver.release(&block);
    }
}
