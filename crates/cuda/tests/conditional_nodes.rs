//! Nodes of graphs that choose by a condition, which kernels set.
//!
//! The driver's state is the process's own, so there is one test in this file.

mod graph_api;

use graph_api::*;
use std::ptr::null;

/// `add` adds to a word. `down` counts a word down and sets a condition to what is left. `set` sets a condition.
const SOURCE: &str = "
.version 8.3
.target sm_70
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry add(.param .u64 at, .param .u64 amount)
{
    .reg .b32 %r<3>; .reg .b64 %d;
    ld.param.u64 %d, [at]; ld.param.u32 %r1, [amount];
    ld.global.u32 %r2, [%d]; add.u32 %r2, %r2, %r1; st.global.u32 [%d], %r2; ret;
}
.visible .entry down(.param .u64 at, .param .u64 handle)
{
    .reg .b32 %r; .reg .b64 %d<3>;
    ld.param.u64 %d1, [at]; ld.param.u64 %d2, [handle];
    ld.global.u32 %r, [%d1]; sub.u32 %r, %r, 1; st.global.u32 [%d1], %r;
    { .param .b64 h; .param .b32 v;
      st.param.b64 [h], %d2; st.param.b32 [v], %r;
      call.uni cudaGraphSetConditional, (h, v); }
    ret;
}
.visible .entry set(.param .u64 handle, .param .u64 value)
{
    .reg .b32 %r; .reg .b64 %d;
    ld.param.u64 %d, [handle]; ld.param.u32 %r, [value];
    { .param .b64 h; .param .b32 v;
      st.param.b64 [h], %d; st.param.b32 [v], %r;
      call.uni cudaGraphSetConditional, (h, v); }
    ret;
}
";

const IF: u32 = 0;
const WHILE: u32 = 1;
const SWITCH: u32 = 2;
const ASSIGN: u32 = 1;

#[test]
fn conditions_choose_what_is_done() {
    let session = Session::new(SOURCE);
    if_and_else(&session);
    switches(&session);
    loops(&session);
    loops_within_loops(&session);
    captured_bodies(&session);
    updates(&session);
    refusals(&session);
}

fn if_and_else(session: &Session) {
    let (add, set) = (session.function("add"), session.function("set"));
    for (value, wanted) in [(0, [1, 100]), (7, [1, 10])] {
        let (graph, data) = (graph(), session.memory(2));
        let condition = session.condition(graph, 0, 0);
        let setter = session.kernel(graph, &[], set, &[condition, value]);
        let (node, bodies) = session.choose(graph, &[setter], condition, IF, 2);
        session.kernel(bodies[0], &[], add, &[data + 4, 10]);
        session.kernel(bodies[1], &[], add, &[data + 4, 100]);
        session.kernel(graph, &[node], add, &[data, 1]);
        let exec = instantiate(graph);
        session.launch(exec);
        assert_eq!([session.word(data), session.word(data + 4)], wanted);
        // SAFETY: handles are numbers; results go to variables.
        unsafe {
            let mut kind = 0;
            ok(cuGraphNodeGetType(node, &mut kind));
            assert_eq!(kind, 13);
            let mut found = parameters(0, &[]);
            ok(cuGraphNodeGetParams(node, &mut found));
            assert_eq!((found.kind, found.words[0], found.words[1]), (13, condition, 2 << 32));
            ok(cuGraphExecDestroy(exec));
            ok(cuGraphDestroy(graph));
            assert_eq!(cuGraphGetNodes(bodies[0], std::ptr::null_mut(), &mut 0), 1);
        }
    }
}

fn switches(session: &Session) {
    let add = session.function("add");
    for (value, wanted) in [(0, 1), (2, 100), (3, 0), (u32::MAX, 0)] {
        let (graph, data) = (graph(), session.memory(1));
        let condition = session.condition(graph, value, ASSIGN);
        let (_, bodies) = session.choose(graph, &[], condition, SWITCH, 3);
        for (body, amount) in bodies.iter().zip([1, 10, 100]) {
            session.kernel(*body, &[], add, &[data, amount]);
        }
        let exec = instantiate(graph);
        session.launch(exec);
        session.launch(exec);
        assert_eq!(session.word(data), 2 * wanted);
    }
}

fn loops(session: &Session) {
    let (add, down) = (session.function("add"), session.function("down"));
    let (graph, data) = (graph(), session.memory(2));
    let condition = session.condition(graph, 1, ASSIGN);
    let start = session.kernel(graph, &[], add, &[data, 5]);
    let (node, bodies) = session.choose(graph, &[start], condition, WHILE, 1);
    let first = session.kernel(bodies[0], &[], add, &[data + 4, 3]);
    session.kernel(bodies[0], &[first], down, &[data, condition]);
    session.kernel(graph, &[node], add, &[data + 4, 1000]);
    let exec = instantiate(graph);
    for launch in 1..=3 {
        session.launch(exec);
        assert_eq!([session.word(data), session.word(data + 4)], [0, launch * 1015]);
    }
}

/// A loop of 3 rounds, each with a loop of 4, each with a choice.
fn loops_within_loops(session: &Session) {
    let (add, down, set) = (session.function("add"), session.function("down"), session.function("set"));
    let (graph, data) = (graph(), session.memory(3));
    let outer = session.condition(graph, 1, ASSIGN);
    let inner = session.condition(graph, 1, ASSIGN);
    let choice = session.condition(graph, 1, ASSIGN);
    let start = session.kernel(graph, &[], add, &[data, 3]);
    let (_, rounds) = session.choose(graph, &[start], outer, WHILE, 1);
    let four = session.kernel(rounds[0], &[], add, &[data + 4, 4]);
    let again = session.kernel(rounds[0], &[four], set, &[inner, 1]);
    let (node, turns) = session.choose(rounds[0], &[again], inner, WHILE, 1);
    session.kernel(rounds[0], &[node], down, &[data, outer]);
    let (node, bodies) = session.choose(turns[0], &[], choice, IF, 1);
    session.kernel(bodies[0], &[], add, &[data + 8, 1]);
    session.kernel(turns[0], &[node], down, &[data + 4, inner]);
    session.launch(instantiate(graph));
    assert_eq!([data, data + 4, data + 8].map(|at| session.word(at)), [0, 0, 12]);
}

fn captured_bodies(session: &Session) {
    let add = session.function("add");
    let (graph, data) = (graph(), session.memory(1));
    let condition = session.condition(graph, 1, ASSIGN);
    let (_, bodies) = session.choose(graph, &[], condition, IF, 1);
    // SAFETY: handles are numbers; results go to variables.
    unsafe {
        ok(cuStreamBeginCaptureToGraph(session.stream, bodies[0], null(), null(), 0, 0));
        ok(launch_kernel(add, session.stream, &[data, 5]));
        ok(launch_kernel(add, session.stream, &[data, 6]));
        assert_eq!(made(|to| cuStreamEndCapture(session.stream, to)), bodies[0]);
        let mut count = 0;
        ok(cuGraphGetNodes(bodies[0], std::ptr::null_mut(), &mut count));
        assert_eq!(count, 2);
    }
    session.launch(instantiate(graph));
    assert_eq!(session.word(data), 11);
}

/// A graph whose switch has a given default and as many bodies as there are amounts.
fn switch_of(session: &Session, value: u32, data: u64, amounts: &[u64]) -> u64 {
    let graph = graph();
    let condition = session.condition(graph, value, ASSIGN);
    let (_, bodies) = session.choose(graph, &[], condition, SWITCH, amounts.len() as u32);
    for (body, &amount) in bodies.iter().zip(amounts) {
        session.kernel(*body, &[], session.function("add"), &[data, amount]);
    }
    graph
}

fn updates(session: &Session) {
    let data = session.memory(1);
    let exec = instantiate(switch_of(session, 0, data, &[1, 10]));
    session.launch(exec);
    assert_eq!(session.word(data), 1);
    let update = |graph| {
        let mut result = [0; 3];
        // SAFETY: the structure has three words.
        let code = unsafe { cuGraphExecUpdate_v2(exec, graph, &mut result) };
        (code, result[0] as u32)
    };
    // The default value and what the bodies do are taken over.
    assert_eq!(update(switch_of(session, 1, data, &[100, 1000])), (0, 0));
    session.launch(exec);
    assert_eq!(session.word(data), 1001);
    assert_eq!(update(switch_of(session, 1, data, &[1, 1, 1])), (910, 5));
    let empty_body = switch_of(session, 1, data, &[1, 1]);
    let condition = session.condition(empty_body, 0, 0);
    session.choose(empty_body, &[], condition, IF, 1);
    assert_eq!(update(empty_body), (910, 2));
}

fn refusals(session: &Session) {
    let (first, second) = (graph(), graph());
    let condition = session.condition(first, 0, 0);
    let code = |graph, condition, kind, count| session.try_choose(graph, &[], condition, kind, count).0;
    for (kind, count) in [(IF, 0), (IF, 3), (WHILE, 2), (SWITCH, 0), (3, 1)] {
        assert_eq!(code(first, condition, kind, count), 1, "{kind} {count}");
    }
    assert_eq!(code(second, condition, IF, 1), 1);
    assert_eq!(code(first, condition + 4, IF, 1), 1);
    // SAFETY: handles are numbers; results go to variables.
    unsafe {
        let mut to = 0;
        assert_eq!(cuGraphConditionalHandleCreate(&mut to, first, session.context, 0, 2), 1);
        // A condition that no node has.
        let mut all = [0; 4];
        assert_eq!(cuGraphInstantiateWithParams(&mut to, first, &mut all), 1);
        assert_eq!(all[3] as u32, 5);
        let (_, bodies) = session.choose(first, &[], condition, IF, 1);
        assert_eq!(code(first, condition, IF, 1), 1);
        ok(cuGraphInstantiateWithParams(&mut to, first, &mut all));
        assert_eq!(cuGraphClone(&mut to, first), 801);
        assert_eq!(cuGraphAddChildGraphNode(&mut to, second, null(), 0, first), 801);
        assert_eq!(cuGraphDestroy(bodies[0]), 1);
        assert_eq!(cuGraphInstantiateWithFlags(&mut to, bodies[0], 0), 1);
        // Memory is not freed in a body.
        let address = session.memory(1);
        ok(cuGraphAddMemFreeNode(&mut to, bodies[0], null(), 0, address));
        assert_eq!(cuGraphInstantiateWithParams(&mut to, first, &mut all), 801);
        assert_eq!(all[3] as u32, 3);
    }
}
