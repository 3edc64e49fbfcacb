//! The driver's C functions, as a C program declares them: what its header says, and the linker finds in the library.

#![allow(non_snake_case, dead_code, missing_docs, reason = "the driver's functions have their own names")]

use cuda as _;
use std::ffi::{c_char, c_void};

unsafe extern "C" {
    pub fn cuArrayDestroy(array: u64) -> u32;
    pub fn cuCtxSetCurrent(context: u64) -> u32;
    pub fn cuCtxSynchronize() -> u32;
    pub fn cuDeviceGetCount(count: *mut i32) -> u32;
    pub fn cuDevicePrimaryCtxRetain(context: *mut u64, device: i32) -> u32;
    pub fn cuFuncGetAttribute(value: *mut i32, attribute: u32, function: u64) -> u32;
    pub fn cuGraphAddChildGraphNode(
        node: *mut u64,
        graph: u64,
        after: *const u64,
        count: usize,
        child: u64,
    ) -> u32;
    pub fn cuGraphAddMemFreeNode(
        node: *mut u64,
        graph: u64,
        after: *const u64,
        count: usize,
        address: u64,
    ) -> u32;
    pub fn cuGraphClone(to: *mut u64, graph: u64) -> u32;
    pub fn cuGraphConditionalHandleCreate(
        handle: *mut u64,
        graph: u64,
        context: u64,
        value: u32,
        flags: u32,
    ) -> u32;
    pub fn cuGraphCreate(graph: *mut u64, flags: u32) -> u32;
    pub fn cuGraphDestroy(graph: u64) -> u32;
    pub fn cuGraphDestroyNode(node: u64) -> u32;
    pub fn cuGraphExecDestroy(exec: u64) -> u32;
    pub fn cuGraphGetEdges(graph: u64, from: *mut u64, to: *mut u64, count: *mut usize) -> u32;
    pub fn cuGraphGetNodes(graph: u64, nodes: *mut u64, count: *mut usize) -> u32;
    pub fn cuGraphInstantiateWithFlags(exec: *mut u64, graph: u64, flags: u64) -> u32;
    pub fn cuGraphLaunch(exec: u64, stream: u64) -> u32;
    pub fn cuGraphNodeGetType(node: u64, kind: *mut u32) -> u32;
    pub fn cuInit(flags: u32) -> u32;
    pub fn cuLaunchCooperativeKernel(
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        parameters: *mut *mut c_void,
    ) -> u32;
    pub fn cuLaunchKernel(
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> u32;
    pub fn cuLinkAddData_v2(
        to: u64,
        kind: u32,
        data: *const c_void,
        bytes: usize,
        name: *const c_char,
        count: u32,
        options: *const u32,
        values: *mut u64,
    ) -> u32;
    pub fn cuLinkComplete(of: u64, image: *mut *const c_void, bytes: *mut usize) -> u32;
    pub fn cuLinkCreate_v2(count: u32, options: *const u32, values: *mut u64, to: *mut u64) -> u32;
    pub fn cuLinkDestroy(of: u64) -> u32;
    pub fn cuMemAddressFree(address: u64, bytes: usize) -> u32;
    pub fn cuMemAddressReserve(
        address: *mut u64,
        bytes: usize,
        alignment: usize,
        wish: u64,
        flags: u64,
    ) -> u32;
    pub fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: u64) -> u32;
    pub fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> u32;
    pub fn cuMemFreeAsync(address: u64, stream: u64) -> u32;
    pub fn cuMemFree_v2(address: u64) -> u32;
    pub fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) -> u32;
    pub fn cuMemRelease(handle: u64) -> u32;
    pub fn cuMemRetainAllocationHandle(handle: *mut u64, address: u64) -> u32;
    pub fn cuMemUnmap(address: u64, bytes: usize) -> u32;
    pub fn cuMemcpyAtoH_v2(to: *mut c_void, from: u64, offset: usize, bytes: usize) -> u32;
    pub fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> u32;
    pub fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> u32;
    pub fn cuMemsetD32_v2(address: u64, value: u32, count: usize) -> u32;
    pub fn cuModuleGetFunction(function: *mut u64, module: u64, name: *const c_char) -> u32;
    pub fn cuModuleGetSurfRef(reference: *mut u64, module: u64, name: *const c_char) -> u32;
    pub fn cuModuleGetTexRef(reference: *mut u64, module: u64, name: *const c_char) -> u32;
    pub fn cuModuleLoadData(module: *mut u64, image: *const c_void) -> u32;
    pub fn cuModuleLoadDataEx(
        module: *mut u64,
        image: *const c_void,
        count: u32,
        options: *const u32,
        values: *mut u64,
    ) -> u32;
    pub fn cuStreamCreate(stream: *mut u64, flags: u32) -> u32;
    pub fn cuStreamEndCapture(stream: u64, graph: *mut u64) -> u32;
    pub fn cuStreamQuery(stream: u64) -> u32;
    pub fn cuStreamSynchronize(stream: u64) -> u32;
    pub fn cuStreamWaitValue32_v2(stream: u64, address: u64, value: u32, flags: u32) -> u32;
    pub fn cuStreamWriteValue32_v2(stream: u64, address: u64, value: u32, flags: u32) -> u32;
    pub fn cuSurfRefSetArray(reference: u64, array: u64, flags: u32) -> u32;
    pub fn cuTexObjectDestroy(object: u64) -> u32;
    pub fn cuTexRefSetAddress_v2(offset: *mut usize, reference: u64, address: u64, bytes: usize) -> u32;
    pub fn cuTexRefSetFormat(reference: u64, format: u32, channels: i32) -> u32;
}
