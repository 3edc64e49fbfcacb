//! What tests of graphs share: the driver's functions as a C program has them, and short forms of common calls.

#![allow(non_snake_case, reason = "the driver's functions have their own names")]
#![allow(dead_code, reason = "each test uses a part")]

#[path = "../driver_api/mod.rs"]
mod driver_api;

pub use driver_api::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

// What a C program is linked with.
unsafe extern "C" {
    pub fn cuStreamBeginCaptureToGraph(
        stream: u64,
        graph: u64,
        after: *const u64,
        data: *const [u8; 8],
        count: usize,
        mode: u32,
    ) -> u32;
    pub fn cuGraphAddNode_v2(
        node: *mut u64,
        graph: u64,
        after: *const u64,
        data: *const [u8; 8],
        count: usize,
        parameters: *mut Parameters,
    ) -> u32;
    pub fn cuGraphAddNode_v3(
        node: *mut u64,
        graph: u64,
        after: *const u64,
        data: *const [u8; 8],
        count: usize,
        parameters: *mut Parameters,
    ) -> u32;
    pub fn cuGraphNodeGetParams(node: u64, parameters: *mut Parameters) -> u32;
    pub fn cuGraphNodeSetParams(node: u64, parameters: *mut Parameters) -> u32;
    pub fn cuGraphExecNodeSetParams(exec: u64, node: u64, parameters: *mut Parameters) -> u32;
    pub fn cuGraphGetEdges_v2(
        graph: u64,
        from: *mut u64,
        to: *mut u64,
        data: *mut [u8; 8],
        count: *mut usize,
    ) -> u32;
    pub fn cuGraphInstantiateWithParams(exec: *mut u64, graph: u64, parameters: *mut [u64; 4]) -> u32;
    pub fn cuGraphExecUpdate_v2(exec: u64, graph: u64, result: *mut [u64; 3]) -> u32;
}

/// `CUgraphNodeParams`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Parameters {
    pub kind: u32,
    pub reserved: [u32; 3],
    pub words: [u64; 30],
}

/// Parameters of a kind.
pub fn parameters(kind: u32, words: &[u64]) -> Parameters {
    let mut all = Parameters { kind, reserved: [0; 3], words: [0; 30] };
    all.words[..words.len()].copy_from_slice(words);
    all
}

/// Calls must succeed.
pub fn ok(code: u32) {
    assert_eq!(code, 0);
}

/// What a call gives.
pub fn made(call: impl FnOnce(&mut u64) -> u32) -> u64 {
    let mut handle = 0;
    ok(call(&mut handle));
    handle
}

/// The driver with a context, a module and a stream.
pub struct Session {
    pub context: u64,
    pub module: u64,
    pub stream: u64,
}

impl Session {
    /// Starts the driver and loads PTX.
    pub fn new(source: &str) -> Session {
        let source = format!("{source}\0");
        // SAFETY: the functions are called as the driver API says: pointers are valid for what is read and written.
        unsafe {
            ok(cuInit(0));
            let context = made(|to| cuDevicePrimaryCtxRetain(to, 0));
            ok(cuCtxSetCurrent(context));
            let module = made(|to| cuModuleLoadData(to, source.as_ptr().cast()));
            let stream = made(|to| cuStreamCreate(to, 1));
            Session { context, module, stream }
        }
    }

    /// A kernel.
    pub fn function(&self, name: &str) -> u64 {
        let name = format!("{name}\0");
        // SAFETY: the name ends with a NUL.
        made(|to| unsafe { cuModuleGetFunction(to, self.module, name.as_ptr().cast()) })
    }

    /// Words of memory, all 0.
    pub fn memory(&self, words: usize) -> u64 {
        // SAFETY: the results go to variables.
        unsafe {
            let address = made(|to| cuMemAlloc_v2(to, 4 * words));
            ok(cuMemsetD32_v2(address, 0, words));
            address
        }
    }

    /// Adds a kernel of one thread to a graph. Its arguments are whole words.
    pub fn kernel(&self, graph: u64, after: &[u64], function: u64, arguments: &[u64]) -> u64 {
        self.kernel_after(graph, after, null(), function, arguments)
    }

    /// The same, with data of the edges.
    pub fn kernel_after(
        &self,
        graph: u64,
        after: &[u64],
        data: *const [u8; 8],
        function: u64,
        arguments: &[u64],
    ) -> u64 {
        let pointers: Vec<*const u64> = arguments.iter().map(std::ptr::from_ref).collect();
        let mut all = kernel_parameters(function, &pointers);
        // SAFETY: the lists have the lengths that are named.
        made(|to| unsafe { cuGraphAddNode_v2(to, graph, after.as_ptr(), data, after.len(), &mut all) })
    }

    /// A condition of a graph.
    pub fn condition(&self, graph: u64, value: u32, flags: u32) -> u64 {
        // SAFETY: the result goes to a variable.
        made(|to| unsafe { cuGraphConditionalHandleCreate(to, graph, self.context, value, flags) })
    }

    /// Adds a node that chooses, and gives its code, itself and its graphs.
    pub fn try_choose(
        &self,
        graph: u64,
        after: &[u64],
        condition: u64,
        kind: u32,
        count: u32,
    ) -> (u32, u64, Vec<u64>) {
        let sizes = u64::from(count) << 32 | u64::from(kind);
        let mut all = parameters(13, &[condition, sizes, 0, self.context]);
        let mut node = 0;
        // SAFETY: the list has the length that is named; the driver gives as many graphs as were asked for.
        unsafe {
            let code = cuGraphAddNode_v2(&mut node, graph, after.as_ptr(), null(), after.len(), &mut all);
            let graphs = all.words[2] as *const u64;
            let graphs = if graphs.is_null() {
                Vec::new()
            } else {
                std::slice::from_raw_parts(graphs, count as usize).to_vec()
            };
            (code, node, graphs)
        }
    }

    /// Adds a node that chooses.
    pub fn choose(
        &self,
        graph: u64,
        after: &[u64],
        condition: u64,
        kind: u32,
        count: u32,
    ) -> (u64, Vec<u64>) {
        let (code, node, graphs) = self.try_choose(graph, after, condition, kind, count);
        ok(code);
        (node, graphs)
    }

    /// Launches and waits.
    pub fn launch(&self, exec: u64) {
        // SAFETY: handles are numbers.
        unsafe {
            ok(cuGraphLaunch(exec, self.stream));
            ok(cuStreamSynchronize(self.stream));
        }
    }

    /// A word of memory.
    pub fn word(&self, address: u64) -> u32 {
        let mut word = 0_u32;
        // SAFETY: four bytes go to a variable.
        unsafe { ok(cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4)) };
        word
    }
}

/// The parameters of a kernel of one thread.
pub fn kernel_parameters(function: u64, pointers: &[*const u64]) -> Parameters {
    let one_one = 1 << 32 | 1;
    parameters(0, &[function, one_one, one_one, one_one, 0, pointers.as_ptr() as u64])
}

/// Makes a graph.
pub fn graph() -> u64 {
    // SAFETY: the result goes to a variable.
    made(|to| unsafe { cuGraphCreate(to, 0) })
}

/// Makes a graph launchable.
pub fn instantiate(graph: u64) -> u64 {
    // SAFETY: the result goes to a variable.
    made(|to| unsafe { cuGraphInstantiateWithFlags(to, graph, 0) })
}

/// The code of a launch of one thread in a stream.
pub fn launch_kernel(function: u64, stream: u64, arguments: &[u64]) -> u32 {
    let mut pointers: Vec<*mut c_void> =
        arguments.iter().map(|it| std::ptr::from_ref(it).cast_mut().cast()).collect();
    // SAFETY: the kernel has as many parameters.
    unsafe { cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, pointers.as_mut_ptr(), null_mut()) }
}
