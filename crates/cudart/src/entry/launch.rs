//! Launches, attributes of functions, occupancy.

use crate::code::{Code, Done, ensure, take_last};
use crate::context::ensure_context;
use crate::driver::launch::*;
use crate::driver::library::*;
use crate::ffi::{Dim3, In, Out};
use crate::registry;

crate::c_struct! {
    /// `cudaLaunchConfig_t`.
    RuntimeLaunchConfig { grid: Dim3, block: Dim3, shared: usize, stream: u64, attributes: u64, count: u32, }
}

crate::c_struct! {
    /// `cudaFuncAttributes` of CUDA 13.
    FunctionAttributes {
        shared: usize, constants: usize, local: usize, max_threads: i32, registers: i32, ptx_version: i32,
        binary_version: i32, cache_mode: i32, max_dynamic_shared: i32, carveout: i32, cluster_dim_must_be_set: i32,
        cluster_width: i32, cluster_height: i32, cluster_depth: i32, cluster_policy: i32, non_portable_cluster: i32,
        reserved: [i32; 16],
    }
}

/// The driver's form of a configuration. Only 32 bits of the size of shared memory count.
fn config(config: RuntimeLaunchConfig) -> LaunchConfig {
    let sizes = |it: Dim3| [it.x, it.y, it.z];
    LaunchConfig {
        grid: sizes(config.grid),
        block: sizes(config.block),
        shared: config.shared as u32,
        stream: config.stream,
        attributes: config.attributes,
        count: config.count,
    }
}

/// Launches a kernel.
pub fn launch(function: u64, grid: Dim3, block: Dim3, arguments: u64, shared: usize, stream: u64) -> Done {
    ensure_context()?;
    let kernel = registry::kernel(function)?;
    cuLaunchKernel(
        kernel,
        grid.x,
        grid.y,
        grid.z,
        block.x,
        block.y,
        block.z,
        shared as u32,
        stream,
        no_null(&arguments),
        0,
    )
}

/// Programs may pass no array of arguments for a kernel without any.
fn no_null(arguments: &u64) -> u64 {
    if *arguments == 0 { In::of(arguments).address() } else { *arguments }
}

/// An attribute of a function in the current context.
fn attribute(function: u64, attribute: u32) -> i32 {
    let mut value = 0;
    // An attribute that the driver does not have is 0.
    let _ = cuFuncGetAttribute(Out::of(&mut value), attribute, function);
    value
}

fn occupancy(count: Out<i32>, function: u64, block: i32, shared: usize, flags: u32) -> Done {
    count.required()?;
    ensure_context()?;
    let function = registry::function(function)?;
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count, function, block, shared, flags)
}

crate::entries! {
    /// Launches a kernel.
    fn cudaLaunchKernel / cudaLaunchKernel_ptsz(function: u64, grid: Dim3, block: Dim3, arguments: u64, shared: usize, stream: u64) {
        launch(function, grid, block, arguments, shared, stream)
    }

    /// Launches a kernel with attributes.
    fn cudaLaunchKernelExC / cudaLaunchKernelExC_ptsz(settings: In<RuntimeLaunchConfig>, function: u64, arguments: u64) {
        let settings = config(settings.get()?);
        ensure_context()?;
        let kernel = registry::kernel(function)?;
        cuLaunchKernelEx(In::of(&settings), kernel, no_null(&arguments), 0)
    }

    /// Launches a kernel whose blocks wait for each other.
    fn cudaLaunchCooperativeKernel / cudaLaunchCooperativeKernel_ptsz(
        function: u64, grid: Dim3, block: Dim3, arguments: u64, shared: usize, stream: u64,
    ) {
        ensure_context()?;
        let kernel = registry::kernel(function)?;
        cuLaunchCooperativeKernel(
            kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared as u32, stream, no_null(&arguments),
        )
    }

    /// The attributes of a function.
    fn cudaFuncGetAttributes(place: Out<FunctionAttributes>, function: u64) {
        place.required()?;
        ensure_context()?;
        let function = registry::function(function)?;
        let mut first = 0;
        cuFuncGetAttribute(Out::of(&mut first), 0, function)?;
        let of = |number| attribute(function, number);
        // The runtime of CUDA 13.4 has the limit of dynamic shared memory there too, as recorded.
        let mut reserved = [0; 16];
        reserved[1] = of(8);
        place.set(FunctionAttributes {
            shared: of(1) as usize,
            constants: of(2) as usize,
            local: of(3) as usize,
            max_threads: first,
            registers: of(4),
            ptx_version: of(5),
            binary_version: of(6),
            cache_mode: of(7),
            max_dynamic_shared: of(8),
            carveout: of(9),
            cluster_dim_must_be_set: of(10),
            cluster_width: of(11),
            cluster_height: of(12),
            cluster_depth: of(13),
            non_portable_cluster: of(14),
            cluster_policy: of(15),
            reserved,
        })
    }

    /// Sets an attribute of a function. The thread has no last error afterwards, as recorded.
    fn cudaFuncSetAttribute(function: u64, attribute: u32, value: i32) {
        ensure_context()?;
        ensure((8..=16).contains(&attribute), Code::INVALID_VALUE)?;
        cuFuncSetAttribute(registry::function(function)?, attribute, value)?;
        take_last();
        Ok(())
    }

    /// How a function wants the cache.
    fn cudaFuncSetCacheConfig(function: u64, config: u32) {
        ensure_context()?;
        cuFuncSetCacheConfig(registry::function(function)?, config)
    }

    /// The banks of shared memory: there is one choice.
    fn cudaFuncSetSharedMemConfig(function: u64, config: u32) {
        ensure_context()?;
        registry::function(function)?;
        ensure(config <= 2, Code::INVALID_VALUE)
    }

    /// The name of a function.
    fn cudaFuncGetName(name: Out<u64>, function: u64) {
        name.required()?;
        ensure_context()?;
        cuFuncGetName(name, registry::function(function)?)
    }

    /// Where a parameter of a function is. The thread has no last error afterwards, as recorded.
    fn cudaFuncGetParamInfo(function: u64, index: usize, offset: Out<usize>, size: Out<usize>) {
        ensure_context()?;
        cuFuncGetParamInfo(registry::function(function)?, index, offset, size)?;
        take_last();
        Ok(())
    }

    /// How many parameters a function has.
    fn cudaFuncGetParamCount(function: u64, count: Out<usize>) {
        count.required()?;
        ensure_context()?;
        let function = registry::function(function)?;
        let (mut offset, mut size) = (0, 0);
        let known = |index: &usize| cuFuncGetParamInfo(function, *index, Out::of(&mut offset), Out::of(&mut size)).is_ok();
        count.set((0..65536).take_while(known).count())
    }

    /// How many blocks of a function run on a multiprocessor.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(count: Out<i32>, function: u64, block: i32, shared: usize) {
        occupancy(count, function, block, shared, 0)
    }

    /// How many blocks of a function run on a multiprocessor, with flags.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count: Out<i32>, function: u64, block: i32, shared: usize, flags: u32) {
        occupancy(count, function, block, shared, flags)
    }

    /// How much shared memory blocks of a function may use.
    fn cudaOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: u64, blocks: i32, block: i32) {
        bytes.required()?;
        ensure_context()?;
        cuOccupancyAvailableDynamicSMemPerBlock(bytes, registry::function(function)?, blocks, block)
    }

    /// The largest cluster that can be launched.
    fn cudaOccupancyMaxPotentialClusterSize(size: Out<i32>, function: u64, settings: In<RuntimeLaunchConfig>) {
        size.required()?;
        ensure_context()?;
        let settings = config(settings.get()?);
        cuOccupancyMaxPotentialClusterSize(size, registry::function(function)?, In::of(&settings))
    }

    /// How many clusters run on the device.
    fn cudaOccupancyMaxActiveClusters(count: Out<i32>, function: u64, settings: In<RuntimeLaunchConfig>) {
        count.required()?;
        ensure_context()?;
        let settings = config(settings.get()?);
        cuOccupancyMaxActiveClusters(count, registry::function(function)?, In::of(&settings))
    }

    /// Sets an attribute of a kernel on a device.
    fn cudaKernelSetAttributeForDevice(kernel: u64, attribute: u32, value: i32, device: i32) {
        ensure_context()?;
        cuKernelSetAttribute(attribute, value, kernel, device)
    }

    /// The kernel of a registered function.
    fn cudaGetKernel(kernel: Out<u64>, function: u64) {
        kernel.required()?;
        ensure_context()?;
        ensure(registry::is_registered(function), Code::INVALID_DEVICE_FUNCTION)?;
        kernel.set(registry::kernel(function)?)
    }

    /// The driver's function of a registered function.
    fn cudaGetFuncBySymbol(place: Out<u64>, function: u64) {
        place.required()?;
        ensure_context()?;
        ensure(registry::is_registered(function), Code::INVALID_DEVICE_FUNCTION)?;
        place.set(registry::function(function)?)
    }
}
