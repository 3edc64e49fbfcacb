//! Libraries, kernels, modules, the linker.

use crate::ffi::{In, Out, Text};

crate::driver! {
    fn cuLibraryLoadData(library: Out<u64>, code: u64, jit: In<u32>, jit_values: In<u64>, jit_count: u32, options: In<u32>, values: In<u64>, count: u32);
    fn cuLibraryLoadFromFile(library: Out<u64>, file: Text, jit: In<u32>, jit_values: In<u64>, jit_count: u32, options: In<u32>, values: In<u64>, count: u32);
    fn cuLibraryUnload(library: u64);
    fn cuLibraryGetKernel(kernel: Out<u64>, library: u64, name: Text);
    fn cuLibraryGetModule(module: Out<u64>, library: u64);
    fn cuLibraryGetGlobal(pointer: Out<u64>, bytes: Out<usize>, library: u64, name: Text);
    fn cuLibraryGetManaged(pointer: Out<u64>, bytes: Out<usize>, library: u64, name: Text);
    fn cuLibraryGetUnifiedFunction(pointer: Out<u64>, library: u64, name: Text);
    fn cuLibraryGetKernelCount(count: Out<u32>, library: u64);
    fn cuLibraryEnumerateKernels(kernels: Out<u64>, count: u32, library: u64);
    fn cuKernelGetFunction(function: Out<u64>, kernel: u64);
    fn cuKernelGetAttribute(value: Out<i32>, attribute: u32, kernel: u64, device: i32);
    fn cuKernelSetAttribute(attribute: u32, value: i32, kernel: u64, device: i32);
    fn cuKernelSetCacheConfig(kernel: u64, config: u32, device: i32);
    fn cuKernelGetName(name: Out<u64>, kernel: u64);
    fn cuKernelGetParamInfo(kernel: u64, index: usize, offset: Out<usize>, size: Out<usize>);
    fn cuKernelGetParamCount(kernel: u64, count: Out<usize>);
    fn cuFuncGetName(name: Out<u64>, function: u64);
    fn cuFuncGetParamInfo(function: u64, index: usize, offset: Out<usize>, size: Out<usize>);
    fn cuFuncGetAttribute(value: Out<i32>, attribute: u32, function: u64);
    fn cuFuncSetAttribute(function: u64, attribute: u32, value: i32);
    fn cuFuncSetCacheConfig(function: u64, config: u32);
    fn cuLinkCreate_v2(count: u32, options: In<u32>, values: Out<u64>, state: Out<u64>);
    fn cuLinkAddData_v2(state: u64, kind: u32, data: u64, bytes: usize, name: Text, count: u32, options: In<u32>, values: In<u64>);
    fn cuLinkComplete(state: u64, code: Out<u64>, bytes: Out<usize>);
    fn cuLinkDestroy(state: u64);
}
