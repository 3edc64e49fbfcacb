//! Libraries and their kernels.

use crate::code::{Code, ensure};
use crate::context::ensure_context;
use crate::driver::library::*;
use crate::ffi::{In, Out, Text};

crate::entries! {
    /// Loads code.
    fn cudaLibraryLoadData(
        library: Out<u64>, code: u64, jit: In<u32>, jit_values: In<u64>, jit_count: u32, options: In<u32>, values: In<u64>, count: u32,
    ) {
        library.required()?;
        ensure(code != 0, Code::INVALID_VALUE)?;
        ensure_context()?;
        cuLibraryLoadData(library, code, jit, jit_values, jit_count, options, values, count)
    }

    /// Loads code from a file.
    fn cudaLibraryLoadFromFile(
        library: Out<u64>, file: Text, jit: In<u32>, jit_values: In<u64>, jit_count: u32, options: In<u32>, values: In<u64>, count: u32,
    ) {
        library.required()?;
        ensure(!file.is_null(), Code::INVALID_VALUE)?;
        ensure_context()?;
        cuLibraryLoadFromFile(library, file, jit, jit_values, jit_count, options, values, count)
    }

    /// Unloads code.
    fn cudaLibraryUnload(library: u64) {
        ensure_context()?;
        cuLibraryUnload(library)
    }

    /// A kernel of a library.
    fn cudaLibraryGetKernel(kernel: Out<u64>, library: u64, name: Text) {
        kernel.required()?;
        ensure(!name.is_null(), Code::INVALID_VALUE)?;
        ensure_context()?;
        cuLibraryGetKernel(kernel, library, name)
    }

    /// A variable of a library.
    fn cudaLibraryGetGlobal(pointer: Out<u64>, bytes: Out<usize>, library: u64, name: Text) {
        ensure_context()?;
        let (mut address, mut size) = (0, 0);
        cuLibraryGetGlobal(Out::of(&mut address), Out::of(&mut size), library, name)?;
        pointer.set_if_any(address);
        bytes.set_if_any(size);
        Ok(())
    }

    /// A managed variable of a library.
    fn cudaLibraryGetManaged(pointer: Out<u64>, bytes: Out<usize>, library: u64, name: Text) {
        ensure_context()?;
        let (mut address, mut size) = (0, 0);
        cuLibraryGetManaged(Out::of(&mut address), Out::of(&mut size), library, name)?;
        pointer.set_if_any(address);
        bytes.set_if_any(size);
        Ok(())
    }

    /// A function that host and device know by one address.
    fn cudaLibraryGetUnifiedFunction(pointer: Out<u64>, library: u64, name: Text) {
        pointer.required()?;
        ensure_context()?;
        // A driver that has no such functions has none of this name.
        cuLibraryGetUnifiedFunction(pointer, library, name).map_err(|code| match code {
            Code::NOT_SUPPORTED => Code::INVALID_VALUE,
            code => code,
        })
    }

    /// How many kernels a library has.
    fn cudaLibraryGetKernelCount(count: Out<u32>, library: u64) {
        count.required()?;
        ensure_context()?;
        cuLibraryGetKernelCount(count, library)
    }

    /// The kernels of a library.
    fn cudaLibraryEnumerateKernels(kernels: Out<u64>, count: u32, library: u64) {
        kernels.required()?;
        ensure_context()?;
        cuLibraryEnumerateKernels(kernels, count, library)
    }
}
