//! Nodes of graphs by their general form: operations on memory, child graphs that are given away, data of edges.
//!
//! The driver's state is the process's own, so there is one test in this file.

mod graph_api;

use graph_api::*;
use std::ptr::{null, null_mut};

/// `add` adds to a word.
const SOURCE: &str = "
.version 8.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 at, .param .u64 amount)
{
    .reg .b32 %r<3>; .reg .b64 %d;
    ld.param.u64 %d, [at]; ld.param.u32 %r1, [amount];
    ld.global.u32 %r2, [%d]; add.u32 %r2, %r2, %r1; st.global.u32 [%d], %r2; ret;
}
";

#[test]
fn nodes_of_all_kinds() {
    let session = Session::new(SOURCE);
    operations_on_memory(&session);
    captured_operations(&session);
    graphs_that_are_given_away(&session);
    data_of_edges(&session);
    reserved_fields_and_contexts(&session);
    nodes_of_child_graphs_can_be_changed(&session);
}

const WAIT: u64 = 1;
const WRITE: u64 = 2;

/// `CUstreamBatchMemOpParams` with a flag.
fn operation(kind: u64, address: u64, value: u64) -> [u64; 6] {
    [kind, address, value, 0, 0, 0]
}

fn operations_on_memory(session: &Session) {
    let (graph, data) = (graph(), session.memory(2));
    let list = [operation(WRITE, data, 5), operation(WAIT, data, 5), operation(WRITE, data + 4, 7)];
    let of =
        |list: &[[u64; 6]]| parameters(12, &[session.context, list.len() as u64, list.as_ptr() as u64, 0]);
    // SAFETY: lists have the lengths that are named; results go to variables.
    unsafe {
        let node = made(|to| cuGraphAddNode_v3(to, graph, null(), null(), 0, &mut of(&list)));
        let exec = instantiate(graph);
        session.launch(exec);
        assert_eq!([session.word(data), session.word(data + 4)], [5, 7]);
        let mut found = parameters(0, &[]);
        ok(cuGraphNodeGetParams(node, &mut found));
        let copied = std::slice::from_raw_parts(found.words[2] as *const [u64; 6], 3);
        assert_eq!((found.kind, found.words[1] as u32, copied), (12, 3, &list[..]));
        // Values may change in a launchable graph; the kinds of operations may not.
        let other = [operation(WRITE, data, 6), operation(WAIT, data, 6), operation(WRITE, data + 4, 8)];
        ok(cuGraphExecNodeSetParams(exec, node, &mut of(&other)));
        session.launch(exec);
        assert_eq!([session.word(data), session.word(data + 4)], [6, 8]);
        assert_eq!(cuGraphExecNodeSetParams(exec, node, &mut of(&other[..2])), 1);
        let unknown = [operation(8, data, 1)];
        assert_eq!(cuGraphAddNode_v2(&mut 0, graph, null(), null(), 0, &mut of(&unknown)), 801);
        let outside = [operation(WRITE, data + 8, 1)];
        assert_eq!(cuGraphAddNode_v2(&mut 0, graph, null(), null(), 0, &mut of(&outside)), 1);
    }
}

fn captured_operations(session: &Session) {
    let (graph, data) = (graph(), session.memory(1));
    // SAFETY: handles are numbers; results go to variables.
    unsafe {
        ok(cuStreamBeginCaptureToGraph(session.stream, graph, null(), null(), 0, 0));
        ok(cuStreamWriteValue32_v2(session.stream, data, 9, 0));
        made(|to| cuStreamEndCapture(session.stream, to));
        let (mut node, mut count, mut kind) = (0, 1, 0);
        ok(cuGraphGetNodes(graph, &mut node, &mut count));
        ok(cuGraphNodeGetType(node, &mut kind));
        assert_eq!((count, kind), (1, 12));
    }
    assert_eq!(session.word(data), 0);
    session.launch(instantiate(graph));
    assert_eq!(session.word(data), 9);
}

const MOVE: u64 = 1;

fn graphs_that_are_given_away(session: &Session) {
    let add = session.function("add");
    let (parent, child, data) = (graph(), graph(), session.memory(1));
    session.kernel(child, &[], add, &[data, 3]);
    // SAFETY: handles are numbers; results go to variables.
    unsafe {
        let mut all = parameters(4, &[child, MOVE]);
        // A graph cannot become a part of itself, and a failed call takes nothing away.
        assert_eq!(cuGraphAddNode_v2(&mut 0, child, null(), null(), 0, &mut all), 1);
        assert_eq!(cuGraphAddNode_v2(&mut 0, parent, &7, null(), 1, &mut all), 1);
        ok(cuGraphExecDestroy(instantiate(child)));
        let node = made(|to| cuGraphAddNode_v2(to, parent, null(), null(), 0, &mut all));
        let mut found = parameters(0, &[]);
        ok(cuGraphNodeGetParams(node, &mut found));
        assert_eq!((found.words[0], found.words[1] as u32 as i32), (child, -1));
        assert_eq!(cuGraphDestroy(child), 1);
        assert_eq!(cuGraphInstantiateWithFlags(&mut 0, child, 0), 1);
        assert_eq!(cuGraphAddNode_v2(&mut 0, graph(), null(), null(), 0, &mut all), 1);
        session.launch(instantiate(parent));
        assert_eq!(session.word(data), 3);
        ok(cuGraphDestroy(parent));
        assert_eq!(cuGraphGetNodes(child, null_mut(), &mut 0), 1);
    }
}

fn data_of_edges(session: &Session) {
    let add = session.function("add");
    let (graph, data) = (graph(), session.memory(1));
    let first = session.kernel(graph, &[], add, &[data, 1]);
    let programmatic = [1, 0, 1, 0, 0, 0, 0, 0];
    let second = session.kernel_after(graph, &[first], &programmatic, add, &[data, 2]);
    let (mut from, mut to, mut found, mut count) = (0, 0, [0; 8], 1);
    // SAFETY: handles are numbers; results go to variables.
    unsafe {
        assert_eq!(cuGraphGetEdges(graph, &mut from, &mut to, &mut count), 402);
        ok(cuGraphGetEdges_v2(graph, &mut from, &mut to, &mut found, &mut count));
        assert_eq!((from, to, found, count), (first, second, programmatic, 1));
        // Ports are those of kernels, and belong to programmatic dependencies.
        let mut empty = parameters(5, &[]);
        assert_eq!(cuGraphAddNode_v2(&mut 0, graph, &second, &programmatic, 1, &mut empty), 1);
        let port_alone = [1, 0, 0, 0, 0, 0, 0, 0];
        let argument = [data, 1];
        let pointers = [&raw const argument[0], &raw const argument[1]];
        let mut kernel = kernel_parameters(add, &pointers);
        assert_eq!(cuGraphAddNode_v2(&mut 0, graph, &second, &port_alone, 1, &mut kernel), 1);
    }
    session.launch(instantiate(graph));
    assert_eq!(session.word(data), 3);
}

fn reserved_fields_and_contexts(session: &Session) {
    let graph = graph();
    // SAFETY: handles are numbers; results go to variables.
    unsafe {
        let mut empty = parameters(5, &[]);
        empty.reserved[1] = 1;
        assert_eq!(cuGraphAddNode_v2(&mut 0, graph, null(), null(), 0, &mut empty), 1);
        for semaphore in [8, 9] {
            let mut all = parameters(semaphore, &[]);
            assert_eq!(cuGraphAddNode_v2(&mut 0, graph, null(), null(), 0, &mut all), 801);
        }
        let argument = [session.memory(1), 1];
        let pointers = [&raw const argument[0], &raw const argument[1]];
        let mut kernel = kernel_parameters(session.function("add"), &pointers);
        kernel.words[8] = session.context;
        ok(cuGraphAddNode_v3(&mut 0, graph, null(), null(), 0, &mut kernel));
        kernel.words[8] = 77;
        assert_eq!(cuGraphAddNode_v3(&mut 0, graph, null(), null(), 0, &mut kernel), 201);
    }
}

fn nodes_of_child_graphs_can_be_changed(session: &Session) {
    let add = session.function("add");
    let (parent, child, data) = (graph(), graph(), session.memory(1));
    let inner = session.kernel(child, &[], add, &[data, 3]);
    // SAFETY: handles are numbers; results go to variables.
    unsafe {
        let mut all = parameters(4, &[child, MOVE]);
        made(|to| cuGraphAddNode_v2(to, parent, null(), null(), 0, &mut all));
        let exec = instantiate(parent);
        let argument = [data, 50];
        let pointers = [&raw const argument[0], &raw const argument[1]];
        ok(cuGraphExecNodeSetParams(exec, inner, &mut kernel_parameters(add, &pointers)));
        session.launch(exec);
        assert_eq!(session.word(data), 50);
        ok(cuGraphNodeSetParams(inner, &mut kernel_parameters(add, &pointers)));
        ok(cuGraphDestroyNode(inner));
    }
}
