//! Capture: a stream's work becomes nodes of a graph instead of being done.
//!
//! A capture begins in one stream. Other streams join it when they wait for an event that was recorded in it, and must
//! be waited for in the same way before it ends. Calls that cannot be captured invalidate it.

use crate::code::{Code, Done, ensure};
use crate::driver::Driver;
use crate::driver::graph::{Edge, EdgeData, Graph, NodeHandle};
use crate::driver::work::{NodeKind, Work};
use crate::handle::{Handle, lock};
use crate::stream::Stream;
use crate::thread;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Which calls of which threads are forbidden during a capture (`CUstreamCaptureMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Calls of all threads that may be unsafe.
    Global,
    /// Such calls of the thread that captures.
    ThreadLocal,
    /// None.
    Relaxed,
}

impl Mode {
    /// The mode with a number.
    pub fn of(number: u32) -> Option<Mode> {
        match number {
            0 => Some(Mode::Global),
            1 => Some(Mode::ThreadLocal),
            2 => Some(Mode::Relaxed),
            _ => None,
        }
    }
}

thread_local! {
    static MODE: Cell<u32> = const { Cell::new(0) };
}

/// Sets how much of captures concerns the thread, and gives what it was.
pub fn exchange_mode(mode: u32) -> u32 {
    MODE.replace(mode)
}

/// The point in a graph that an event was recorded at.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The number of the capture.
    capture: u64,
    /// The nodes that work after the event depends on.
    front: Vec<NodeHandle>,
}

/// Whether a stream is being captured (`CUstreamCaptureStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// It is not.
    None = 0,
    /// It is.
    Active = 1,
    /// It is, but something went wrong.
    Invalidated = 2,
}

/// A capture as programs see it.
#[derive(Debug)]
pub struct Info<'a> {
    /// Its number.
    pub id: u64,
    /// The graph.
    pub graph: Handle<Graph>,
    /// The nodes that the stream's next work depends on. They stay where they are until the stream is used again.
    pub front: &'a [NodeHandle],
    /// What is said about the edges from them.
    pub edges: &'a [EdgeData],
}

#[derive(Debug)]
struct Member {
    nonblocking: bool,
    front: Vec<NodeHandle>,
    /// What is said about the edges, once it was asked for. All are plain.
    edges: Vec<EdgeData>,
}

impl Member {
    fn new(stream: &Stream, front: Vec<NodeHandle>) -> Member {
        Member { nonblocking: stream.nonblocking, front, edges: Vec::new() }
    }
}

#[derive(Debug)]
struct Capture {
    id: u64,
    graph: Handle<Graph>,
    /// The graph was there before.
    given: bool,
    mode: Mode,
    /// The number of the thread that it began in.
    thread: u64,
    context: u64,
    /// The number of the stream that it began in.
    origin: u64,
    /// All streams that are captured, by number.
    members: BTreeMap<u64, Member>,
    invalid: bool,
}

/// How a capture begins.
#[derive(Debug)]
pub struct Begin {
    /// Which calls are forbidden.
    pub mode: Mode,
    /// The graph that nodes are added to.
    pub graph: Handle<Graph>,
    /// Whether the graph was there before.
    pub given: bool,
    /// What the first work depends on.
    pub front: Vec<NodeHandle>,
}

/// All captures.
#[derive(Debug, Default)]
pub struct Captures {
    captures: Mutex<Vec<Capture>>,
}

fn of_stream(captures: &mut [Capture], stream: u64) -> Option<&mut Capture> {
    captures.iter_mut().find(|capture| capture.members.contains_key(&stream))
}

impl Captures {
    /// Begins a capture.
    pub fn begin(&self, id: u64, stream: &Stream, begin: Begin) -> Done {
        let mut captures = lock(&self.captures);
        ensure(of_stream(&mut captures, stream.id).is_none(), Code::ILLEGAL_STATE)?;
        let Begin { mode, graph, given, front } = begin;
        let member = Member::new(stream, front);
        captures.push(Capture {
            id,
            graph,
            given,
            mode,
            thread: thread::number(),
            context: stream.context,
            origin: stream.id,
            members: BTreeMap::from([(stream.id, member)]),
            invalid: false,
        });
        Ok(())
    }

    /// Ends the capture that began in a stream, and gives its graph.
    pub fn end(&self, driver: &Driver, stream: u64) -> Result<Handle<Graph>, Code> {
        let mut captures = lock(&self.captures);
        let capture = of_stream(&mut captures, stream).ok_or(Code::ILLEGAL_STATE)?;
        if capture.origin != stream {
            capture.invalid = true;
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        let is_own = capture.mode == Mode::Relaxed || capture.thread == thread::number();
        ensure(is_own || capture.invalid, Code::STREAM_CAPTURE_WRONG_THREAD)?;
        let index =
            captures.iter().position(|capture| capture.origin == stream).ok_or(Code::ILLEGAL_STATE)?;
        let capture = captures.remove(index);
        drop(captures);
        let graph = driver.graph(capture.graph);
        let ends = capture.members.get(&stream).map_or(&[][..], |member| &member.front);
        let is_joined = |graph: &Graph| capture.members.values().all(|it| graph.precede(&it.front, ends));
        let result = match graph {
            _ if capture.invalid => Err(Code::STREAM_CAPTURE_INVALIDATED),
            Ok(graph) if is_joined(&graph) => Ok(capture.graph),
            Ok(_) => Err(Code::STREAM_CAPTURE_UNJOINED),
            Err(_) => Err(Code::STREAM_CAPTURE_INVALIDATED),
        };
        if result.is_err() && !capture.given {
            let _ = driver.destroy_graph(capture.graph);
        }
        result
    }

    /// A stream was destroyed: the capture that began in it is gone. Another capture keeps the work of the stream, which
    /// must be waited for before it ends.
    pub fn forget(&self, driver: &Driver, stream: u64) {
        let mut captures = lock(&self.captures);
        if let Some(index) = captures.iter().position(|capture| capture.origin == stream) {
            let capture = captures.remove(index);
            drop(captures);
            if !capture.given {
                let _ = driver.destroy_graph(capture.graph);
            }
        }
    }

    /// Whether a stream is being captured.
    pub fn status(&self, stream: u64) -> Status {
        match of_stream(&mut lock(&self.captures), stream) {
            None => Status::None,
            Some(capture) if capture.invalid => Status::Invalidated,
            Some(_) => Status::Active,
        }
    }

    /// Lets a function see the capture of a stream.
    pub fn info<R>(&self, stream: u64, see: impl FnOnce(Info<'_>) -> R) -> Option<R> {
        let mut captures = lock(&self.captures);
        let capture = of_stream(&mut captures, stream)?;
        let member = capture.members.get_mut(&stream)?;
        member.edges = vec![EdgeData::DEFAULT; member.front.len()];
        let (front, edges) = (&member.front[..], &member.edges[..]);
        Some(see(Info { id: capture.id, graph: capture.graph, front, edges }))
    }

    /// Adds work to the graph that a stream is captured into. False if the stream is not captured.
    pub fn add(&self, driver: &Driver, stream: u64, work: &Work) -> Result<bool, Code> {
        let mut captures = lock(&self.captures);
        let Some(capture) = of_stream(&mut captures, stream) else { return Ok(false) };
        ensure(!capture.invalid, Code::STREAM_CAPTURE_INVALIDATED)?;
        let Some(member) = capture.members.get_mut(&stream) else { return Ok(false) };
        if !work.can_be_captured() {
            capture.invalid = true;
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        let after = edges(driver, capture.graph, &member.front, work)?;
        match driver.add_node(capture.graph, work.clone(), after) {
            Ok(node) => member.front = vec![node],
            Err(code) => {
                capture.invalid = true;
                return Err(code);
            }
        }
        Ok(true)
    }

    /// Changes what the next work of a stream depends on: sets it or adds to it.
    pub fn update(&self, driver: &Driver, stream: u64, nodes: &[NodeHandle], set: bool) -> Done {
        let mut captures = lock(&self.captures);
        let capture = of_stream(&mut captures, stream).ok_or(Code::ILLEGAL_STATE)?;
        ensure(!capture.invalid, Code::STREAM_CAPTURE_INVALIDATED)?;
        let graph = driver.graph(capture.graph)?;
        for &node in nodes {
            graph.node(node)?;
        }
        if let Some(member) = capture.members.get_mut(&stream) {
            let mut front = if set { Vec::new() } else { member.front.clone() };
            front.extend(nodes);
            member.front = unique(front);
        }
        Ok(())
    }

    /// Something went wrong with a call on a stream.
    pub fn invalidate(&self, stream: u64) {
        if let Some(capture) = of_stream(&mut lock(&self.captures), stream) {
            capture.invalid = true;
        }
    }

    /// The point of an event in the capture of a stream; none if the stream is not captured.
    pub fn record(&self, stream: u64) -> Result<Option<Captured>, Code> {
        let mut captures = lock(&self.captures);
        let Some(capture) = of_stream(&mut captures, stream) else { return Ok(None) };
        ensure(!capture.invalid, Code::STREAM_CAPTURE_INVALIDATED)?;
        let front = capture.members.get(&stream).map_or(Vec::new(), |member| member.front.clone());
        Ok(Some(Captured { capture: capture.id, front }))
    }

    /// Lets a stream wait for an event, if either has to do with a capture. False if neither has.
    pub fn wait(&self, stream: &Stream, event: Option<&Captured>) -> Result<bool, Code> {
        let mut captures = lock(&self.captures);
        let own = of_stream(&mut captures, stream.id);
        if own.as_ref().is_some_and(|capture| capture.invalid) {
            return Err(Code::STREAM_CAPTURE_INVALIDATED);
        }
        let (own, event) = match (own, event) {
            (None, None) => return Ok(false),
            (Some(own), None) => {
                own.invalid = true;
                return Err(Code::STREAM_CAPTURE_ISOLATION);
            }
            (own, Some(event)) => (own.map(|own| own.id), event),
        };
        let index = captures.iter().position(|it| it.id == event.capture).ok_or(Code::INVALID_VALUE)?;
        ensure(!captures[index].invalid, Code::STREAM_CAPTURE_INVALIDATED)?;
        if own.is_some_and(|own| own != event.capture) {
            captures[index].invalid = true;
            if let Some(own) = of_stream(&mut captures, stream.id) {
                own.invalid = true;
            }
            return Err(Code::STREAM_CAPTURE_MERGE);
        }
        let new = || Member::new(stream, Vec::new());
        let member = captures[index].members.entry(stream.id).or_insert_with(new);
        let front = member.front.iter().chain(&event.front).copied().collect();
        member.front = unique(front);
        Ok(true)
    }

    /// The host asks about an event: it cannot ask about one of a graph.
    pub fn forbid_event(&self, event: Option<&Captured>) -> Done {
        let Some(event) = event else { return self.forbid_unsafe() };
        match lock(&self.captures).iter_mut().find(|capture| capture.id == event.capture) {
            Some(capture) => {
                capture.invalid = true;
                Err(Code::CAPTURED_EVENT)
            }
            None => Err(Code::INVALID_VALUE),
        }
    }

    /// A call that may be unsafe: it may wait for work. Captures that forbid it are invalidated.
    pub fn forbid_unsafe(&self) -> Done {
        let own = Mode::of(MODE.get()).unwrap_or(Mode::Global);
        if own == Mode::Relaxed {
            return Ok(());
        }
        let thread = thread::number();
        self.invalidate_if(Code::STREAM_CAPTURE_UNSUPPORTED, |capture| {
            let is_own = capture.thread == thread && capture.mode != Mode::Relaxed;
            is_own || own == Mode::Global && capture.mode == Mode::Global
        })
    }

    /// A call on a stream that cannot be captured.
    pub fn forbid_stream(&self, stream: u64) -> Done {
        self.invalidate_if(Code::STREAM_CAPTURE_UNSUPPORTED, |capture| capture.members.contains_key(&stream))
    }

    /// The host waits for all streams of a context.
    pub fn forbid_context(&self, context: u64) -> Done {
        self.invalidate_if(Code::STREAM_CAPTURE_UNSUPPORTED, |capture| capture.context == context)
    }

    /// The legacy default stream of a context is used: it would wait for captured streams.
    pub fn forbid_legacy(&self, context: u64) -> Done {
        self.invalidate_if(Code::STREAM_CAPTURE_IMPLICIT, |capture| capture.blocks(context))
    }

    /// Whether the legacy default stream of a context cannot be used now.
    pub fn blocks_legacy(&self, context: u64) -> bool {
        lock(&self.captures).iter().any(|capture| capture.blocks(context))
    }

    fn invalidate_if(&self, code: Code, is: impl Fn(&Capture) -> bool) -> Done {
        let mut result = Ok(());
        for capture in lock(&self.captures).iter_mut().filter(|capture| is(capture)) {
            capture.invalid = true;
            result = Err(code);
        }
        result
    }
}

impl Capture {
    /// Whether it has streams that the legacy default stream of a context waits for.
    fn blocks(&self, context: u64) -> bool {
        self.context == context && self.members.values().any(|member| !member.nonblocking)
    }
}

/// The edges from what is before work in a stream. A kernel that need not wait for the end of kernels says so.
fn edges(
    driver: &Driver,
    graph: Handle<Graph>,
    front: &[NodeHandle],
    work: &Work,
) -> Result<Vec<Edge>, Code> {
    let is_programmatic = matches!(work, Work::Launch(launch) if launch.request.programmatic);
    let graph = driver.graph(graph)?;
    let edge = |&from: &NodeHandle| {
        let is_kernel = || graph.node(from).is_ok_and(|node| node.work.kind() == NodeKind::Kernel);
        let data = if is_programmatic && is_kernel() { EdgeData::PROGRAMMATIC } else { EdgeData::DEFAULT };
        Edge { from, data }
    };
    Ok(front.iter().map(edge).collect())
}

/// Each node once, in the order in which they come first.
fn unique(nodes: Vec<NodeHandle>) -> Vec<NodeHandle> {
    let mut once: Vec<NodeHandle> = Vec::with_capacity(nodes.len());
    for node in nodes {
        if !once.contains(&node) {
            once.push(node);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::graph::Owner;

    fn stream(id: u64, nonblocking: bool) -> Stream {
        Stream::new(7, id, nonblocking, 0)
    }

    fn begin(captures: &Captures, stream: &Stream, mode: Mode) {
        let begin = Begin { mode, graph: Handle::of(1), given: true, front: vec![Handle::of(5)] };
        captures.begin(stream.id + 100, stream, begin).expect("begins");
    }

    #[test]
    fn work_becomes_nodes_and_streams_that_joined_must_be_waited_for() {
        crate::driver::initialise().expect("a device");
        let driver = crate::driver::driver().expect("initialised");
        for is_joined in [true, false] {
            let (captures, first, second) = (Captures::default(), stream(1, true), stream(2, true));
            let graph = driver.new_graph(Owner::Program).expect("room");
            let begin = Begin { mode: Mode::Global, graph, given: false, front: Vec::new() };
            captures.begin(100, &first, begin).expect("begins");
            assert_eq!(captures.add(driver, 3, &Work::Empty), Ok(false));
            assert_eq!(captures.add(driver, 1, &Work::Empty), Ok(true));
            let fork = captures.record(1).expect("valid");
            captures.wait(&second, fork.as_ref()).expect("joins");
            assert_eq!(captures.add(driver, 2, &Work::Empty), Ok(true));
            let join = captures.record(2).expect("valid");
            if is_joined {
                captures.wait(&first, join.as_ref()).expect("waits");
            }
            captures.forget(driver, 2);
            assert_eq!(captures.add(driver, 1, &Work::Empty), Ok(true));
            let edges: Vec<usize> =
                driver.graph(graph).expect("there").nodes().iter().map(|node| node.after.len()).collect();
            match is_joined {
                true => {
                    assert_eq!(edges, [0, 1, 2]);
                    assert_eq!(captures.end(driver, 1), Ok(graph));
                }
                false => {
                    assert_eq!(edges, [0, 1, 1]);
                    assert_eq!(captures.end(driver, 1), Err(Code::STREAM_CAPTURE_UNJOINED));
                    assert!(driver.graph(graph).is_err());
                }
            }
            assert_eq!((captures.status(1), captures.status(2)), (Status::None, Status::None));
            assert_eq!(captures.end(driver, 1), Err(Code::ILLEGAL_STATE));
        }
    }

    #[test]
    fn a_stream_joins_by_an_event_and_depends_on_what_the_event_does() {
        let (captures, first, second) = (Captures::default(), stream(1, false), stream(2, true));
        begin(&captures, &first, Mode::Global);
        let event = captures.record(1).expect("valid").expect("captured");
        assert_eq!(captures.status(2), Status::None);
        assert_eq!(captures.wait(&second, Some(&event)), Ok(true));
        assert_eq!(captures.wait(&second, Some(&event)), Ok(true));
        assert_eq!(captures.status(2), Status::Active);
        assert_eq!(captures.info(2, |info| info.front.to_vec()), Some(vec![Handle::of(5)]));
        assert_eq!(captures.forbid_event(Some(&event)), Err(Code::CAPTURED_EVENT));
        assert_eq!(captures.status(1), Status::Invalidated);
    }

    #[test]
    fn events_from_outside_and_of_other_captures_invalidate() {
        let (captures, first, second) = (Captures::default(), stream(1, true), stream(2, true));
        begin(&captures, &first, Mode::Relaxed);
        begin(&captures, &second, Mode::Relaxed);
        let event = captures.record(1).expect("valid");
        assert_eq!(captures.wait(&second, event.as_ref()), Err(Code::STREAM_CAPTURE_MERGE));
        assert_eq!((captures.status(1), captures.status(2)), (Status::Invalidated, Status::Invalidated));
        let third = stream(3, true);
        begin(&captures, &third, Mode::Relaxed);
        assert_eq!(captures.wait(&third, None), Err(Code::STREAM_CAPTURE_ISOLATION));
        assert_eq!(captures.wait(&third, None), Err(Code::STREAM_CAPTURE_INVALIDATED));
        assert_eq!(captures.wait(&stream(4, true), None), Ok(false));
    }

    #[test]
    fn the_mode_says_whose_calls_are_forbidden() {
        for (mode, here, elsewhere) in
            [(Mode::Global, true, true), (Mode::ThreadLocal, true, false), (Mode::Relaxed, false, false)]
        {
            let captures = Captures::default();
            begin(&captures, &stream(1, true), mode);
            let forbidden = |captures: &Captures| captures.forbid_unsafe().is_err();
            let other = std::thread::scope(|scope| scope.spawn(|| forbidden(&captures)).join());
            assert_eq!(other.ok(), Some(elsewhere), "{mode:?}");
            assert_eq!(forbidden(&captures), here, "{mode:?}");
        }
    }

    #[test]
    fn the_legacy_stream_is_forbidden_only_by_blocking_streams() {
        let captures = Captures::default();
        begin(&captures, &stream(1, true), Mode::Relaxed);
        assert_eq!(captures.forbid_legacy(7), Ok(()));
        begin(&captures, &stream(2, false), Mode::Relaxed);
        assert!(captures.blocks_legacy(7) && !captures.blocks_legacy(8));
        assert_eq!(captures.forbid_legacy(7), Err(Code::STREAM_CAPTURE_IMPLICIT));
        assert_eq!(captures.status(1), Status::Active);
        assert_eq!(captures.status(2), Status::Invalidated);
    }
}
