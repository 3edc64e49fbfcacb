//! Graphs that are made node by node and by capture, and memory in the order of streams.

mod fat_binary;

use cudart::driver::graph_node::{FillParameters, NodeParameters};
use cudart::entry::capture::*;
use cudart::entry::copy::cudaMemcpy;
use cudart::entry::copy::cudaMemsetAsync;
use cudart::entry::graph::*;
use cudart::entry::graph_copy::*;
use cudart::entry::graph_kernel::*;
use cudart::entry::graph_node::*;
use cudart::entry::launch::cudaLaunchKernel;
use cudart::entry::memory::cudaMalloc;
use cudart::entry::pool::*;
use cudart::entry::stream::{cudaStreamCreate, cudaStreamSynchronize};
use cudart::entry::user_object::*;
use cudart::ffi::{Dim3, In, Out, zeroed};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

const PTX: &str = "
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 seen;
.visible .entry store(.param .u64 to, .param .u32 value) {
    .reg .b32 %r; .reg .b64 %d;
    ld.param.u64 %d, [to]; ld.param.u32 %r, [value];
    st.global.u32 [%d], %r; ret;
}
.visible .entry increment(.param .u64 at) {
    .reg .b32 %r; .reg .b64 %d;
    ld.param.u64 %d, [at];
    ld.global.u32 %r, [%d]; add.u32 %r, %r, 1; st.global.u32 [%d], %r; ret;
}
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry count_down(.param .u64 at, .param .u64 handle) {
    .reg .b32 %r; .reg .b64 %d<3>;
    ld.param.u64 %d1, [at]; ld.param.u64 %d2, [handle];
    ld.global.u32 %r, [%d1]; sub.u32 %r, %r, 1; st.global.u32 [%d1], %r;
    { .param .b64 h; .param .b32 v;
      st.param.b64 [h], %d2; st.param.b32 [v], %r;
      call.uni cudaGraphSetConditional, (h, v); }
    ret;
}
";

/// Addresses of the host that stand for kernels and a variable.
static HOST: [u64; 4] = [0; 4];
const SIZE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };
const DEVICE_TO_HOST: i32 = 2;
const DEVICE_TO_DEVICE: i32 = 3;

fn host(index: usize) -> u64 {
    &raw const HOST[index] as u64
}

fn ok(code: u32) {
    assert_eq!(code, 0);
}

/// A handle or an address that a call gives.
fn made(call: impl FnOnce(Out<u64>) -> u32) -> u64 {
    let mut handle = 0;
    ok(call(Out::of(&mut handle)));
    handle
}

fn kernel(function: u64, arguments: &[u64]) -> RuntimeKernelParameters {
    let (grid, block) = ([1; 3], [1; 3]);
    RuntimeKernelParameters { function, grid, block, arguments: arguments.as_ptr() as u64, ..zeroed() }
}

fn numbers<const N: usize>(from: u64) -> [u32; N] {
    let mut numbers = [0; N];
    ok(cudaMemcpy(Out::of(&mut numbers).address(), from, 4 * N, DEVICE_TO_HOST));
    numbers
}

fn address<T>(value: &T) -> u64 {
    std::ptr::from_ref(value) as u64
}

/// One test, since a process has one runtime.
#[test]
fn graphs_run_what_they_were_made_of() {
    let kernels = [(host(0), c"store"), (host(1), c"increment"), (host(3), c"count_down")];
    fat_binary::register(PTX, 90, &kernels, &[(host(2), c"seen")]);
    let stream = made(|to| cudaStreamCreate(to));
    let data = made(|to| cudaMalloc(to, 64));
    nodes(stream, data);
    nodes_of_any_kind(stream, data);
    a_loop(stream);
    a_captured_stream(stream, data);
    memory_of_a_pool(stream);
    memory_of_a_graph(stream);
    objects_of_the_program();
}

fn nodes(stream: u64, data: u64) {
    let graph = made(|to| cudaGraphCreate(to, 0));
    let value = 41_u32;
    let arguments = [address(&data), address(&value)];
    let store = kernel(host(0), &arguments);
    let first = made(|to| cudaGraphAddKernelNode(to, graph, In::NULL, 0, In::of(&store)));
    let at = [address(&data)];
    let second =
        made(|to| cudaGraphAddKernelNode(to, graph, In::of(&first), 1, In::of(&kernel(host(1), &at))));
    let fill = FillParameters { address: data + 4, pitch: 0, value: 9, element: 4, width: 1, height: 1 };
    made(|to| cudaGraphAddMemsetNode(to, graph, In::of(&second), 1, In::of(&fill)));
    made(|to| cudaGraphAddMemcpyNode1D(to, graph, In::of(&second), 1, data + 8, data, 4, DEVICE_TO_DEVICE));
    made(|to| {
        cudaGraphAddMemcpyNodeToSymbol(to, graph, In::of(&second), 1, host(2), data, 4, 0, DEVICE_TO_DEVICE)
    });
    let too_far = cudaGraphAddMemcpyNodeToSymbol(Out::of(&mut 0), graph, In::NULL, 0, host(2), data, 4, 1, 3);
    assert_eq!(too_far, 1);
    let mut found: RuntimeKernelParameters = zeroed();
    ok(cudaGraphKernelNodeGetParams(second, Out::of(&mut found)));
    assert_eq!((found.function, found.grid), (host(1), [1; 3]));
    let (mut before, mut count) = ([0_u64; 4], 4);
    let place = Out::of(&mut before).cast();
    ok(cudaGraphNodeGetDependencies(second, place, Out::NULL, Out::of(&mut count)));
    assert_eq!((before[0], count), (first, 1));

    let exec = made(|to| cudaGraphInstantiate(to, graph, 0));
    ok(cudaGraphLaunch(exec, stream));
    ok(cudaStreamSynchronize(stream));
    assert_eq!(numbers(data), [42, 9, 42]);
    let other = 70_u32;
    let arguments = [address(&data), address(&other)];
    ok(cudaGraphExecKernelNodeSetParams(exec, first, In::of(&kernel(host(0), &arguments))));
    ok(cudaGraphLaunch(exec, stream));
    ok(cudaStreamSynchronize(stream));
    assert_eq!(numbers(data), [71, 9, 71]);
    let nothing = kernel(0, &[]);
    assert_eq!(cudaGraphAddKernelNode(Out::of(&mut 0), graph, In::NULL, 0, In::of(&nothing)), 98);
    ok(cudaGraphExecDestroy(exec));
    ok(cudaGraphDestroy(graph));
}

fn nodes_of_any_kind(stream: u64, data: u64) {
    let graph = made(|to| cudaGraphCreate(to, 0));
    let value = 5_u32;
    let arguments = [address(&data), address(&value)];
    let mut parameters: NodeParameters = zeroed();
    ok(Out::of(&mut parameters).part(16).set(kernel(host(0), &arguments)).map_or(1, |()| 0));
    let place = |parameters: &mut NodeParameters| Out::of(parameters);
    let first = made(|to| cudaGraphAddNode(to, graph, In::NULL, In::NULL, 0, place(&mut parameters)));
    let mut copy: cudart::entry::array_copy::Parameters3D = zeroed();
    copy.src.memory.pointer = data;
    copy.dst.memory.pointer = data + 12;
    (copy.extent.width, copy.extent.height, copy.extent.depth, copy.kind) = (4, 1, 1, DEVICE_TO_DEVICE);
    let mut parameters: NodeParameters = zeroed();
    parameters.kind = 1;
    ok(Out::of(&mut parameters).part(32).set(copy).map_or(1, |()| 0));
    let second = made(|to| cudaGraphAddNode(to, graph, In::of(&first), In::NULL, 1, place(&mut parameters)));
    let mut found: NodeParameters = zeroed();
    ok(cudaGraphNodeGetParams(second, Out::of(&mut found)));
    assert_eq!(found.kind, 1);
    ok(cudaGraphNodeGetParams(first, Out::of(&mut found)));
    assert_eq!((found.kind, found.words[0]), (0, host(0)));
    let exec = made(|to| cudaGraphInstantiateWithFlags(to, graph, 0));
    ok(cudaGraphLaunch(exec, stream));
    ok(cudaStreamSynchronize(stream));
    assert_eq!(numbers(data), [5, 9, 71, 5]);
}

/// A graph that is done again until a kernel has counted down.
fn a_loop(stream: u64) {
    const WHILE: u32 = 1;
    const ASSIGN: u32 = 1;
    let data = made(|to| cudaMalloc(to, 8));
    let graph = made(|to| cudaGraphCreate(to, 0));
    let condition = made(|to| cudaGraphConditionalHandleCreate(to, graph, 1, ASSIGN));
    let four = 4_u32;
    let arguments = [address(&data), address(&four)];
    let first =
        made(|to| cudaGraphAddKernelNode(to, graph, In::NULL, 0, In::of(&kernel(host(0), &arguments))));
    let zero = FillParameters { address: data + 4, pitch: 0, value: 0, element: 4, width: 1, height: 1 };
    made(|to| cudaGraphAddMemsetNode(to, graph, In::NULL, 0, In::of(&zero)));
    let mut parameters: NodeParameters = zeroed();
    parameters.kind = 13;
    (parameters.words[0], parameters.words[1]) = (condition, 1 << 32 | u64::from(WHILE));
    made(|to| cudaGraphAddNode(to, graph, In::of(&first), In::NULL, 1, Out::of(&mut parameters)));
    let place = parameters.words[2] as *const u64;
    // SAFETY: the node has one graph, which is written to an array of the driver.
    let body = unsafe { *place };
    let counted = data + 4;
    let arguments = [address(&counted)];
    made(|to| cudaGraphAddKernelNode(to, body, In::NULL, 0, In::of(&kernel(host(1), &arguments))));
    let arguments = [address(&data), address(&condition)];
    made(|to| cudaGraphAddKernelNode(to, body, In::NULL, 0, In::of(&kernel(host(3), &arguments))));
    let exec = made(|to| cudaGraphInstantiate(to, graph, 0));
    ok(cudaGraphLaunch(exec, stream));
    ok(cudaStreamSynchronize(stream));
    assert_eq!(numbers(data), [0, 4]);
}

fn a_captured_stream(stream: u64, data: u64) {
    ok(cudaStreamBeginCapture(stream, 0));
    let arguments = [address(&data)];
    ok(cudaLaunchKernel(host(1), SIZE, SIZE, arguments.as_ptr() as u64, 0, stream));
    ok(cudaMemsetAsync(data + 4, 1, 4, stream));
    let (mut status, mut count) = (0, 0);
    let wanted = Out::of(&mut status);
    let none = (Out::NULL, Out::NULL, Out::NULL, Out::NULL);
    ok(cudaStreamGetCaptureInfo(stream, wanted, none.0, none.1, none.2, none.3, Out::of(&mut count)));
    assert_eq!((status, count), (1, 1));
    let graph = made(|to| cudaStreamEndCapture(stream, to));
    ok(cudaStreamIsCapturing(stream, Out::of(&mut status)));
    assert_eq!(status, 0);
    assert_eq!(numbers(data), [5]);
    let (mut nodes, mut count) = ([0_u64; 2], 2);
    ok(cudaGraphGetNodes(graph, Out::of(&mut nodes).cast(), Out::of(&mut count)));
    let mut found: RuntimeKernelParameters = zeroed();
    ok(cudaGraphKernelNodeGetParams(nodes[0], Out::of(&mut found)));
    assert_eq!((count, found.function), (2, host(1)));
    let exec = made(|to| cudaGraphInstantiate(to, graph, 0));
    for _ in 0..3 {
        ok(cudaGraphLaunch(exec, stream));
    }
    ok(cudaStreamSynchronize(stream));
    assert_eq!(numbers(data), [8, 0x0101_0101]);
}

fn memory_of_a_pool(stream: u64) {
    let pool = made(|to| cudaDeviceGetDefaultMemPool(to, 0));
    let (mut threshold, mut read) = (1_u64 << 20, 0_u64);
    ok(cudaMemPoolSetAttribute(pool, 4, Out::of(&mut threshold).address()));
    ok(cudaMemPoolGetAttribute(pool, 4, Out::of(&mut read).address()));
    assert_eq!(read, threshold);
    let from_pool = made(|to| cudaMallocFromPoolAsync(to, 64, pool, stream));
    ok(cudaMemsetAsync(from_pool, 3, 4, stream));
    ok(cudaStreamSynchronize(stream));
    assert_eq!(numbers(from_pool), [0x0303_0303]);
    ok(cudaFreeAsync(from_pool, stream));
    assert_eq!(made(|to| cudaMallocAsync(to, 0, stream)), 0);
    let mut none = 7;
    assert_eq!((cudaMallocAsync(Out::of(&mut none), 1 << 50, stream), none), (2, 0));
    assert_eq!(cudaMallocAsync(Out::NULL, 16, stream), 1);
    assert_eq!(cudaDeviceGetDefaultMemPool(Out::of(&mut none), 4), 101);
}

fn memory_of_a_graph(stream: u64) {
    let graph = made(|to| cudaGraphCreate(to, 0));
    // cudaMemAllocNodeParams: 88 bytes of properties, accesses, their count, bytes, and the address.
    let mut parameters = [0_u64; 15];
    parameters[0] = 1;
    parameters[1] = 1;
    parameters[13] = 256;
    let place = Out::of(&mut parameters).address();
    let allocate = made(|to| cudaGraphAddMemAllocNode(to, graph, In::NULL, 0, place));
    let memory = parameters[14];
    let value = 6_u32;
    let arguments = [address(&memory), address(&value)];
    let store = kernel(host(0), &arguments);
    let store = made(|to| cudaGraphAddKernelNode(to, graph, In::of(&allocate), 1, In::of(&store)));
    made(|to| cudaGraphAddMemFreeNode(to, graph, In::of(&store), 1, memory));
    let exec = made(|to| cudaGraphInstantiate(to, graph, 0));
    ok(cudaGraphLaunch(exec, stream));
    ok(cudaStreamSynchronize(stream));
    ok(cudaDeviceGraphMemTrim(0));
    assert_eq!(cudaDeviceGraphMemTrim(3), 101);
}

static DESTROYED: AtomicU32 = AtomicU32::new(0);

extern "C" fn destroy(data: *mut c_void) {
    DESTROYED.fetch_add(data as u32, Ordering::SeqCst);
}

fn objects_of_the_program() {
    let graph = made(|to| cudaGraphCreate(to, 0));
    let object = made(|to| cudaUserObjectCreate(to, 5 as *mut c_void, Some(destroy), 1, 1));
    ok(cudaGraphRetainUserObject(graph, object, 1, 0));
    ok(cudaUserObjectRelease(object, 1));
    assert_eq!(DESTROYED.load(Ordering::SeqCst), 0);
    ok(cudaGraphDestroy(graph));
    assert_eq!(DESTROYED.load(Ordering::SeqCst), 5);
}
