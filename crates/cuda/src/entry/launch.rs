//! Launches and functions (driver API: "Execution Control").

use super::stream::submitting;
use crate::c_struct;
use crate::code::{Code, Done, ensure};
use crate::driver::kernel::{KernelLaunch, Request, code_of, machine_launch};
use crate::driver::report;
use crate::driver::work::Work;
use crate::driver::{Driver, current, driver};
use crate::ffi::{Host, In, Out, StaticText};
use crate::handle::{Handle, Kind, lock};
use crate::module::{Function, Kernel, Module};
use crate::stream::Stream;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

c_struct! {
    /// `CUlaunchConfig`
    LaunchConfig {
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        padding: u32,
        stream: Handle<Stream>,
        attributes: In<LaunchAttribute>,
        count: u32,
        padding_behind: u32,
    }
}

c_struct! {
    /// `CUlaunchAttribute`
    LaunchAttribute {
        id: u32,
        padding: u32,
        value: [u32; 16],
    }
}

impl LaunchConfig {
    /// The cluster that the attributes ask for.
    pub(crate) fn cluster(&self) -> Result<Option<[u32; 3]>, Code> {
        Ok(with_attributes(Request::default(), self)?.cluster)
    }
}

/// `CUlaunchAttributeID` values that change something here.
mod attribute {
    /// A kernel need not wait for the end of what is before it in the stream.
    pub const PROGRAMMATIC: u32 = 6;
    pub const COOPERATIVE: u32 = 2;
    pub const CLUSTER: u32 = 4;
    pub const PREFERRED_CLUSTER: u32 = 11;
    pub const EVENT: u32 = 12;
    /// Accepted, and without a meaning here: policies, orders between kernels, priorities, memory domains.
    pub const WITHOUT_MEANING: &[u32] = &[0, 1, 5, 7, 8, 9, 10, 14, 16];
}

/// Names in `extra`.
mod extra {
    pub const END: u64 = 0;
    pub const POINTER: u64 = 1;
    pub const SIZE: u64 = 2;
}

/// The bytes of each parameter.
fn arguments(function: &Function, parameters: In<u64>, extra: In<u64>) -> Result<Vec<Vec<u8>>, Code> {
    ensure(parameters.is_null() || extra.is_null(), Code::INVALID_VALUE)?;
    if !extra.is_null() {
        return packed_arguments(function, extra);
    }
    let mut arguments = Vec::with_capacity(function.parameters.len());
    for (index, &(bytes, _)) in function.parameters.iter().enumerate() {
        let at = Host::at(parameters.get_at(index)?);
        ensure(!at.is_null(), Code::INVALID_VALUE)?;
        // SAFETY: the caller passes a pointer to each argument, which has as many bytes as the parameter.
        arguments.push(unsafe { at.read(bytes as usize, <[u8]>::to_vec) });
    }
    Ok(arguments)
}

/// The same from one buffer.
fn packed_arguments(function: &Function, extra: In<u64>) -> Result<Vec<Vec<u8>>, Code> {
    let (mut buffer, mut size) = (None, None);
    let mut index = 0;
    loop {
        match extra.get_at(index)? {
            extra::END => break,
            extra::POINTER => buffer = Some(Host::at(extra.get_at(index + 1)?)),
            extra::SIZE => size = Some(Host::at(extra.get_at(index + 1)?)),
            _ => return Err(Code::INVALID_VALUE),
        }
        index += 2;
    }
    let whole = function.parameter_bytes;
    let given = match (buffer, size) {
        (None, None) => 0,
        (Some(_), Some(size)) if !size.is_null() => {
            // SAFETY: the size is passed by a pointer to a `size_t`.
            unsafe { size.read(8, |bytes| bytes.try_into().map_or(0, u64::from_le_bytes)) }
        }
        _ => return Err(Code::INVALID_VALUE),
    };
    ensure(given <= whole, Code::LAUNCH_OUT_OF_RESOURCES)?;
    ensure(given != 0 || whole == 0, Code::INVALID_VALUE)?;
    let mut block = vec![0; whole as usize];
    if let Some(buffer) = buffer.filter(|_| given != 0) {
        ensure(!buffer.is_null(), Code::INVALID_VALUE)?;
        // SAFETY: the caller's buffer has the size that was given with it.
        unsafe { buffer.read(given as usize, |bytes| block[..bytes.len()].copy_from_slice(bytes)) };
    }
    let part = |&(bytes, offset): &(u64, u64)| {
        block.get(offset as usize..(offset + bytes) as usize).map(<[u8]>::to_vec)
    };
    function.parameters.iter().map(part).collect::<Option<_>>().ok_or(Code::INVALID_VALUE)
}

/// A function by its handle.
pub(crate) fn function(driver: &Driver, handle: Handle<Function>) -> Result<Arc<Function>, Code> {
    driver.functions.get(handle).map_err(|_| Code::INVALID_HANDLE)
}

/// The function of a kernel.
fn of_kernel(driver: &Driver, handle: Handle<Kernel>) -> Result<Arc<Function>, Code> {
    let kernel = driver.kernels.get(handle).map_err(|_| Code::INVALID_HANDLE)?;
    function(driver, Handle::of(kernel.function))
}

/// A function or a kernel: both can be launched.
pub(crate) fn launchable(driver: &Driver, handle: Handle<Function>) -> Result<Arc<Function>, Code> {
    if handle.has_kind(Kind::Kernel) { of_kernel(driver, handle.cast()) } else { function(driver, handle) }
}

/// Whether a launch asks for no more than the function may have.
fn check_sizes(driver: &Driver, function: &Function, request: &Request) -> Done {
    let dynamic = request.shared;
    ensure(dynamic <= function.most_dynamic(), Code::INVALID_VALUE)?;
    let product = |size: [u32; 3]| size.iter().map(|&it| u128::from(it)).product::<u128>();
    let ranks = request.cluster.map_or(1, product);
    let large = function.large_clusters.load(Ordering::SeqCst) != 0;
    ensure(large || ranks <= 8, Code::INVALID_CLUSTER_SIZE)?;
    let threads = u64::try_from(product(request.block)).unwrap_or(0);
    let is_block = (1..=1024).contains(&threads);
    ensure(!is_block || threads <= function.registers.most_threads(), Code::LAUNCH_OUT_OF_RESOURCES)?;
    if request.cooperative && is_block {
        let each = super::occupancy::ctas(driver, function, threads, dynamic.into());
        let count = attribute_of(driver, MULTIPROCESSOR_COUNT);
        ensure(product(request.grid) <= u128::from(each) * count, Code::COOPERATIVE_LAUNCH_TOO_LARGE)?;
    }
    Ok(())
}

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`
const MULTIPROCESSOR_COUNT: u32 = 16;

fn attribute_of(driver: &Driver, id: u32) -> u128 {
    crate::attributes::attribute(driver.config.arch, 0, id).map_or(0, |value| value as u128)
}

fn launch(
    handle: Handle<Function>,
    request: Request,
    stream: Handle<Stream>,
    parameters: In<u64>,
    extra: In<u64>,
) -> Done {
    let (driver, context, stream) = submitting(stream)?;
    let function = launchable(driver, handle)?;
    // A library's functions are of every context; a module's only of its own, like streams.
    ensure(function.context == 0 || function.context == context.handle, Code::INVALID_HANDLE)?;
    ensure(stream.context == context.handle, Code::INVALID_HANDLE)?;
    match checked(driver, handle, request, parameters, extra) {
        Ok(launch) => driver.issue(&context, &stream, Work::Launch(Arc::new(launch))),
        Err(code) => {
            driver.captures.invalidate(stream.id);
            Err(code)
        }
    }
}

/// The clusters of a launch. All of them have the preferred size, if there is one; the hardware may mix it with the other
/// size. A kernel that says its size has that one.
fn grouped(function: &Function, request: &Request) -> Result<Option<[u32; 3]>, Code> {
    let cluster = request.cluster.or_else(|| function.set_cluster());
    let Some(preferred) = request.preferred_cluster else { return Ok(cluster) };
    let least = cluster.or(function.directives.cluster).unwrap_or([1; 3]);
    let fits = |axis: usize| {
        let [least, preferred, grid] = [least[axis], preferred[axis], request.grid[axis]];
        least != 0 && preferred != 0 && preferred.is_multiple_of(least) && grid.is_multiple_of(preferred)
    };
    ensure((0..3).all(fits) && preferred[2] == least[2], Code::INVALID_CLUSTER_SIZE)?;
    Ok(if function.directives.cluster.is_some() { cluster } else { Some(preferred) })
}

/// Checks a launch.
pub(crate) fn checked(
    driver: &Driver,
    handle: Handle<Function>,
    request: Request,
    parameters: In<u64>,
    extra: In<u64>,
) -> Result<KernelLaunch, Code> {
    let function = launchable(driver, handle)?;
    let cluster = grouped(&function, &request)?;
    // Blocks of one thread stand for those that the function is made for.
    let said = function.directives.block.filter(|_| request.block == [1; 3]);
    let request = Request { cluster, block: said.unwrap_or(request.block), ..request };
    check_sizes(driver, &function, &request)?;
    let arguments = arguments(&function, parameters, extra)?;
    let asked = machine_launch(driver, &function, &request, &arguments);
    driver.machine.check_launch(&asked).map_err(|error| {
        let code = code_of(&error);
        report::refused(driver, &function.name, &error, code);
        code
    })?;
    let (pointers, attributes) = (OnceLock::new(), BTreeMap::new());
    Ok(KernelLaunch { handle, function, request, arguments, pointers, attributes })
}

/// An event that is to be reached when all blocks have begun: it must have no time.
fn check_event(value: [u32; 16]) -> Done {
    let handle = Handle::of(u64::from(value[0]) | u64::from(value[1]) << 32);
    ensure(!super::stream::event(driver()?, handle)?.timed, Code::NOT_SUPPORTED)
}

/// What the attributes of a launch ask for.
fn with_attributes(mut request: Request, config: &LaunchConfig) -> Result<Request, Code> {
    for index in 0..config.count as usize {
        let LaunchAttribute { id, value, .. } = config.attributes.get_at(index)?;
        set_in_request(&mut request, id, value)?;
    }
    Ok(request)
}

/// Does what an attribute asks for.
pub(crate) fn set_in_request(request: &mut Request, id: u32, value: [u32; 16]) -> Done {
    match id {
        attribute::COOPERATIVE => request.cooperative = value[0] != 0,
        attribute::PROGRAMMATIC => request.programmatic = value[0] != 0,
        attribute::CLUSTER => {
            let cluster = [value[0], value[1], value[2]];
            request.cluster = (cluster != [0; 3]).then_some(cluster);
        }
        5 => ensure(value[0] <= 2, Code::INVALID_VALUE)?,
        10 => ensure(value[0] <= 1, Code::INVALID_VALUE)?,
        14 => ensure(value[0] <= 100, Code::INVALID_VALUE)?,
        attribute::EVENT => check_event(value)?,
        attribute::PREFERRED_CLUSTER => {
            // GPUs before Blackwell have clusters of one size.
            let config = &driver()?.config;
            ensure(config.arch.sm() >= 100 || config.takes_newer, Code::INVALID_CLUSTER_SIZE)?;
            let cluster = [value[0], value[1], value[2]];
            request.preferred_cluster = (cluster != [0; 3]).then_some(cluster);
        }
        13 => return Err(Code::NOT_SUPPORTED),
        id if attribute::WITHOUT_MEANING.contains(&id) => {}
        _ => return Err(Code::INVALID_VALUE),
    }
    Ok(())
}

/// `CUfunction_attribute` values.
mod function_attribute {
    pub const MAX_THREADS: u32 = 0;
    pub const SHARED_BYTES: u32 = 1;
    pub const CONST_BYTES: u32 = 2;
    pub const LOCAL_BYTES: u32 = 3;
    pub const REGISTERS: u32 = 4;
    pub const PTX_VERSION: u32 = 5;
    pub const BINARY_VERSION: u32 = 6;
    pub const CACHE_MODE_CA: u32 = 7;
    pub const MAX_DYNAMIC: u32 = 8;
    pub const CARVEOUT: u32 = 9;
    pub const CLUSTER_NEEDED: u32 = 10;
    /// The first of three: width, height and depth.
    pub const CLUSTER: u32 = 11;
    pub const LARGE_CLUSTERS: u32 = 14;
}

/// An attribute of a function.
fn function_value(driver: &Driver, function: &Function, id: u32) -> Result<i32, Code> {
    use function_attribute as a;
    let sm = i32::from(driver.config.arch.sm());
    Ok(match id {
        a::MAX_THREADS => function.most_threads() as i32,
        a::SHARED_BYTES => function.shared as i32,
        a::CONST_BYTES => function.constant as i32,
        a::LOCAL_BYTES => function.local as i32,
        a::REGISTERS => function.registers.count as i32,
        a::PTX_VERSION => i32::from(function.target),
        a::BINARY_VERSION => sm,
        a::CACHE_MODE_CA => 0,
        a::MAX_DYNAMIC => function.most_dynamic() as i32,
        a::CARVEOUT => function.carveout.load(Ordering::SeqCst),
        a::CLUSTER_NEEDED => i32::from(function.needs_cluster()),
        a::CLUSTER..a::LARGE_CLUSTERS => lock(&function.cluster)[(id - a::CLUSTER) as usize] as i32,
        15 => 0,
        a::LARGE_CLUSTERS => function.large_clusters.load(Ordering::SeqCst) as i32,
        _ => return Err(Code::INVALID_VALUE),
    })
}

crate::entries! {
    /// Launches a kernel.
    fn cuLaunchKernel / cuLaunchKernel_ptsz(
        function: Handle<Function>, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: Handle<Stream>, parameters: In<u64>, extra: In<u64>,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(function, Request { grid, block, shared, ..Request::default() }, stream, parameters, extra)
    }

    /// Launches a kernel with attributes.
    fn cuLaunchKernelEx / cuLaunchKernelEx_ptsz(
        config: In<LaunchConfig>, function: Handle<Function>, parameters: In<u64>, extra: In<u64>,
    ) {
        driver()?;
        let config = config.get()?;
        let LaunchConfig { grid, block, shared, stream, .. } = config;
        let request = with_attributes(Request { grid, block, shared, ..Request::default() }, &config)?;
        launch(function, request, stream, parameters, extra)
    }

    /// Launches a kernel whose CTAs wait for one another.
    fn cuLaunchCooperativeKernel / cuLaunchCooperativeKernel_ptsz(
        function: Handle<Function>, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: Handle<Stream>, parameters: In<u64>,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let request = Request { grid, block, shared, cooperative: true, ..Request::default() };
        launch(function, request, stream, parameters, In::NULL)
    }

    /// An attribute of a function.
    fn cuFuncGetAttribute(value: Out<i32>, id: u32, of: Handle<Function>) {
        let driver = driver()?;
        let found = function(driver, of)?;
        value.required()?;
        value.set(function_value(driver, &found, id)?)
    }

    /// An attribute of a kernel.
    fn cuKernelGetAttribute(value: Out<i32>, id: u32, of: Handle<Kernel>, device: i32) {
        let driver = driver()?;
        value.required()?;
        let found = of_kernel(driver, of)?;
        driver.device(device)?;
        value.set(function_value(driver, &found, id)?)
    }

    /// Sets an attribute of a function.
    fn cuFuncSetAttribute(of: Handle<Function>, id: u32, value: i32) {
        let driver = driver()?;
        set_attribute(driver, &*function(driver, of)?, id, value)
    }

    /// Sets an attribute of a kernel.
    fn cuKernelSetAttribute(id: u32, value: i32, of: Handle<Kernel>, device: i32) {
        let driver = driver()?;
        driver.device(device)?;
        set_attribute(driver, &*of_kernel(driver, of)?, id, value)
    }

    /// Which cache a kernel prefers: it means nothing here.
    fn cuKernelSetCacheConfig(of: Handle<Kernel>, config: u32, device: i32) {
        let driver = driver()?;
        driver.device(device)?;
        of_kernel(driver, of)?;
        ensure(config <= 3, Code::INVALID_VALUE)
    }

    /// The size of shared memory banks for a function: it is fixed.
    fn cuFuncSetSharedMemConfig(of: Handle<Function>, config: u32) {
        let driver = driver()?;
        function(driver, of)?;
        ensure(config <= 2, Code::INVALID_VALUE)
    }

    /// Where a parameter of a function begins, and its size.
    fn cuFuncGetParamInfo(of: Handle<Function>, index: usize, offset: Out<usize>, size: Out<usize>) {
        let driver = driver()?;
        ensure(!of.is_null(), Code::INVALID_VALUE)?;
        parameter(&*function(driver, of)?, index, offset, size)
    }

    /// Where a parameter of a kernel begins, and its size.
    fn cuKernelGetParamInfo(of: Handle<Kernel>, index: usize, offset: Out<usize>, size: Out<usize>) {
        let (driver, _) = current()?;
        parameter(&*of_kernel(driver, of)?, index, offset, size)
    }

    /// How many parameters a function has.
    fn cuFuncGetParamCount(of: Handle<Function>, count: Out<usize>) {
        let driver = driver()?;
        count.required()?;
        count.set(function(driver, of)?.parameters.len())
    }

    /// How many parameters a kernel has.
    fn cuKernelGetParamCount(of: Handle<Kernel>, count: Out<usize>) {
        let (driver, _) = current()?;
        count.required()?;
        count.set(of_kernel(driver, of)?.parameters.len())
    }

    /// The name of a function.
    fn cuFuncGetName(to: Out<StaticText>, of: Handle<Function>) {
        let driver = driver()?;
        ensure(!of.is_null(), Code::INVALID_VALUE)?;
        let found = function(driver, of)?;
        to.set(StaticText::leaked(&found.name))
    }

    /// The name of a kernel.
    fn cuKernelGetName(to: Out<StaticText>, of: Handle<Kernel>) {
        let driver = driver()?;
        let found = of_kernel(driver, of)?;
        to.set(StaticText::leaked(&found.name))
    }

    /// The module of a function.
    fn cuFuncGetModule(to: Out<Handle<Module>>, of: Handle<Function>) {
        let driver = driver()?;
        to.set(Handle::of(function(driver, of)?.module))
    }

    /// Whether a function is loaded: it is.
    fn cuFuncIsLoaded(state: Out<u32>, of: Handle<Function>) {
        let driver = driver()?;
        state.required()?;
        function(driver, of)?;
        state.set(1)
    }

    /// Loads a function: it is loaded.
    fn cuFuncLoad(of: Handle<Function>) {
        let driver = driver()?;
        function(driver, of).map(drop)
    }

    /// Which cache a function prefers: it means nothing here.
    fn cuFuncSetCacheConfig(of: Handle<Function>, config: u32) {
        let driver = driver()?;
        function(driver, of)?;
        ensure(config <= 3, Code::INVALID_VALUE)
    }
}

fn parameter(function: &Function, index: usize, offset: Out<usize>, size: Out<usize>) -> Done {
    offset.required()?;
    let &(bytes, start) = function.parameters.get(index).ok_or(Code::INVALID_VALUE)?;
    offset.set(start as usize)?;
    size.set_if_any(bytes as usize);
    Ok(())
}

fn set_attribute(driver: &Driver, function: &Function, id: u32, value: i32) -> Done {
    match id {
        function_attribute::MAX_DYNAMIC => {
            let most = driver.config.arch.properties().cta_shared.saturating_sub(function.shared);
            let value = u32::try_from(value).map_err(|_| Code::INVALID_VALUE)?;
            ensure(u64::from(value) <= most, Code::INVALID_VALUE)?;
            function.most_dynamic.store(value, Ordering::SeqCst);
            Ok(())
        }
        function_attribute::CARVEOUT => {
            ensure((-1..=100).contains(&value), Code::INVALID_VALUE)?;
            function.carveout.store(value, Ordering::SeqCst);
            Ok(())
        }
        function_attribute::CLUSTER..function_attribute::LARGE_CLUSTERS => {
            let value = u32::try_from(value).map_err(|_| Code::INVALID_VALUE)?;
            let axis = (id - function_attribute::CLUSTER) as usize;
            // What a directive says stays.
            let said = function.directives.cluster.map_or(value, |said| said[axis]);
            ensure(said == value, Code::INVALID_VALUE)?;
            lock(&function.cluster)[axis] = value;
            Ok(())
        }
        15 => ensure((0..=2).contains(&value), Code::INVALID_VALUE),
        function_attribute::LARGE_CLUSTERS => {
            function.large_clusters.store(u32::from(value != 0), Ordering::SeqCst);
            Ok(())
        }
        _ => Err(Code::INVALID_VALUE),
    }
}
