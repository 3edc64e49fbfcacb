//! What there is once `cuInit` was called: one machine with its memory, devices, contexts, and a table of each kind of
//! handle.
//!
//! All devices share one machine, so that an address means the same on each of them. A fault stays: from then on nearly
//! every call returns its code, in every context of the process, as on a GPU.

use crate::driver::capture::Captures;
pub mod capture;
pub mod ending;
pub mod event;
pub mod graph;
pub mod kernel;
pub mod memory_operation;
pub mod place;
pub mod region;
pub mod report;
pub mod rows;
pub mod transfer;
pub mod user_object;
pub mod work;

use crate::code::Code;
use crate::config::Config;
use crate::context::{self, Context};
use crate::driver::ending::Ending;
use crate::driver::event::Event;
use crate::driver::graph::memory::GraphMemory;
use crate::driver::graph::{Exec, Graph, NodeOf};
use crate::driver::user_object::UserObject;
use crate::driver::work::Work;
use crate::exit;
use crate::handle::{Handle, Missing, Table, lock};
use crate::image::Images;
use crate::memory::{Block, Blocks, Kind};
use crate::module::{Function, Kernel, Library, Linker, Module};
use crate::output::Output;
use crate::pool::Pool;
use crate::settings::Settings;
use crate::stream::{self, Stream, Task, TaskKind};
use crate::summary::Summary;
use crate::thread;
use crate::virtual_memory::VirtualMemory;
use softwarp::vm::device::Device as Machine;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A device as the program sees it.
#[derive(Debug)]
pub struct Gpu {
    /// The number that it has without `CUDA_VISIBLE_DEVICES`.
    pub number: u32,
    /// Its primary context, made when it is first asked for.
    pub primary: Mutex<Primary>,
    /// Its default memory pool, and the one that it uses.
    pools: Mutex<[Option<Handle<Pool>>; 2]>,
}

/// A device's primary context.
#[derive(Debug, Default)]
pub struct Primary {
    /// The context. It stays when it is released, and comes back with the same handle.
    pub context: Option<Arc<Context>>,
    /// How often it is retained.
    pub count: u32,
    /// Its flags.
    pub flags: u32,
}

/// A module that is to be unloaded.
#[derive(Debug)]
pub struct Unloading {
    /// The module.
    pub module: Handle<Module>,
    /// The work that is done before.
    pub after: Vec<Arc<stream::Done>>,
}

/// The driver of a process.
pub struct Driver {
    /// Settings.
    pub config: Config,
    /// The machine.
    pub machine: Machine,
    /// The devices that the program sees.
    pub devices: Vec<Gpu>,
    /// `CUcontext`
    pub contexts: Table<Context>,
    /// `CUstream`
    pub streams: Table<Stream>,
    /// `CUevent`
    pub events: Table<Event>,
    /// `CUmodule`
    pub modules: Table<Module>,
    /// `CUfunction`
    pub functions: Table<Function>,
    /// `CUkernel`
    pub kernels: Table<Kernel>,
    /// `CUlibrary`
    pub libraries: Table<Library>,
    /// `CUlinkState`
    pub links: Table<Linker>,
    /// `CUmemoryPool`
    pub pools: Table<Pool>,
    /// `CUgraph`
    pub graphs: Table<Graph>,
    /// `CUgraphNode`
    pub nodes: Table<NodeOf>,
    /// `CUgraphExec`
    pub execs: Table<Exec>,
    /// `CUuserObject`
    pub user_objects: Table<UserObject>,
    /// Streams that are being captured.
    pub captures: Captures,
    /// Memory of graphs that is in use.
    pub graph_memory: Mutex<GraphMemory>,
    /// Virtual memory.
    pub virtual_memory: Mutex<VirtualMemory>,
    /// Arrays and textures.
    pub images: Images,
    /// Settings of streams, functions, managed memory and pairs of contexts.
    pub settings: Settings,
    /// Allocations.
    pub blocks: Mutex<Blocks>,
    /// The default streams of threads, by the number of the thread and the context.
    thread_streams: Mutex<HashMap<(u64, u64), Arc<Stream>>>,
    /// Streams that were destroyed and may have work.
    retired_streams: Mutex<Vec<Arc<Stream>>>,
    /// Modules that are unloaded when work that was submitted before is done.
    pub unloading: Mutex<Vec<Unloading>>,
    /// What kernels printed and was not written yet.
    output: Output,
    /// What was reported, so that a launch that is repeated does not report the same again.
    pub reported: Mutex<HashSet<report::Reported>>,
    /// Counts of what the process did.
    pub summary: Summary,
    /// How far the end of the process has come.
    pub ending: Ending,
    fault: AtomicU32,
    /// A call has returned the fault's code.
    noticed: AtomicBool,
    ids: AtomicU64,
    /// The process that it is of, where forks are not noticed.
    process: Option<u32>,
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// Makes the driver. Twice does no harm.
pub fn initialise() -> Result<(), Code> {
    if let Some(driver) = DRIVER.get() {
        return if driver.is_of_this_process() { Ok(()) } else { Err(Code::NOT_INITIALIZED) };
    }
    let config = Config::from_environment();
    if config.repeated {
        return Err(Code::INVALID_DEVICE);
    }
    if config.devices.is_empty() {
        return Err(Code::NO_DEVICE);
    }
    DRIVER.get_or_init(|| {
        thread::at_exit_of_main(ending::come_first_of_all);
        exit::at_last(ending::end);
        exit::at_quick_end(ending::end);
        ending::come_first();
        Driver::new(config)
    });
    Ok(())
}

/// The driver, once `cuInit` was called in this process.
pub fn driver() -> Result<&'static Driver, Code> {
    context::ensure_not_in_host_function()?;
    let driver = DRIVER.get().ok_or(Code::NOT_INITIALIZED)?;
    if driver.is_of_this_process() { Ok(driver) } else { Err(Code::NOT_INITIALIZED) }
}

/// The driver, if there is one in this process. It is found even in functions that streams call.
pub fn existing() -> Option<&'static Driver> {
    DRIVER.get().filter(|driver| driver.is_of_this_process())
}

/// Writes what kernels printed so far.
pub fn flush_output() {
    if let Some(driver) = existing() {
        driver.output.flush();
    }
}

/// The driver and the thread's current context, which can be used.
pub fn current() -> Result<(&'static Driver, Arc<Context>), Code> {
    let driver = driver()?;
    let context = driver.current_context()?;
    driver.check_fault()?;
    Ok((driver, context))
}

/// The same for a call that names a stream.
pub fn current_for(stream: Handle<Stream>) -> Result<(&'static Driver, Arc<Context>), Code> {
    let driver = driver()?;
    let context = driver.context_for(stream)?;
    driver.check_fault()?;
    Ok((driver, context))
}

impl Driver {
    fn new(config: Config) -> Driver {
        // First of all: however the process ends from here on, it is said that it has used the driver.
        let summary = Summary::new(config.summary.as_deref(), config.arch.sm());
        let machine = Machine::beside_host(config.arch, 64, config.memory);
        let gpu = |&number: &u32| Gpu { number, primary: Mutex::default(), pools: Mutex::default() };
        Driver {
            devices: config.devices.iter().map(gpu).collect(),
            machine,
            contexts: Table::default(),
            streams: Table::default(),
            events: Table::default(),
            modules: Table::default(),
            functions: Table::default(),
            kernels: Table::default(),
            libraries: Table::default(),
            links: Table::default(),
            pools: Table::default(),
            graphs: Table::default(),
            nodes: Table::default(),
            execs: Table::default(),
            user_objects: Table::default(),
            captures: Captures::default(),
            graph_memory: Mutex::default(),
            virtual_memory: Mutex::default(),
            blocks: Mutex::default(),
            thread_streams: Mutex::default(),
            output: Output::default(),
            reported: Mutex::default(),
            summary,
            ending: Ending::default(),
            config,
            images: Images::default(),
            settings: Settings::default(),
            retired_streams: Mutex::default(),
            unloading: Mutex::default(),
            fault: AtomicU32::new(0),
            noticed: AtomicBool::new(false),
            ids: AtomicU64::new(0),
            process: (!crate::ffi::watch_forks()).then(std::process::id),
        }
    }

    /// Whether `cuInit` was called in this process, not in one that it was forked from.
    fn is_of_this_process(&self) -> bool {
        match self.process {
            None => !crate::ffi::is_forked(),
            Some(process) => process == std::process::id(),
        }
    }

    /// A number that nothing else has.
    pub fn new_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The code of the fault that happened, if one did.
    pub fn fault(&self) -> Option<Code> {
        match self.fault.load(Ordering::SeqCst) {
            0 => None,
            code => Some(Code(code)),
        }
    }

    /// Whether a kernel may begin.
    pub fn may_launch(&self) -> bool {
        self.fault().is_none() && !self.ending.is_stopped()
    }

    /// The fault's code is the answer from then on.
    pub fn set_fault(&self, code: Code) {
        let _ = self.fault.compare_exchange(0, code.0, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// An error if a fault happened.
    pub fn check_fault(&self) -> Result<(), Code> {
        let Some(code) = self.fault() else { return Ok(()) };
        self.noticed.store(true, Ordering::SeqCst);
        Err(code)
    }

    /// An error if a fault happened and a call has returned its code. Calls that only submit work do not see a fault
    /// before a call has waited for it, as on a GPU.
    pub fn check_noticed_fault(&self) -> Result<(), Code> {
        if self.noticed.load(Ordering::SeqCst) { self.check_fault() } else { Ok(()) }
    }

    /// Takes what a kernel prints.
    pub fn print(&'static self, text: &str) {
        self.output.print(text);
    }

    /// Whether a kernel has printed something.
    pub fn has_printed(&self) -> bool {
        self.output.is_used()
    }

    /// A device by its number.
    pub fn device(&self, ordinal: i32) -> Result<&Gpu, Code> {
        usize::try_from(ordinal).ok().and_then(|index| self.devices.get(index)).ok_or(Code::INVALID_DEVICE)
    }

    /// The memory pool that a device began with.
    pub fn default_pool(&self, device: u32) -> Result<Handle<Pool>, Code> {
        let mut pools = lock(&self.device(device as i32)?.pools);
        if pools[0].is_none() {
            pools[0] = self.pools.insert(Arc::new(Pool { is_default: true, ..Pool::default() }));
        }
        pools[0].ok_or(Code::OUT_OF_MEMORY)
    }

    /// The memory pool that a device takes memory from.
    pub fn current_pool(&self, device: u32) -> Result<Handle<Pool>, Code> {
        let set = lock(&self.device(device as i32)?.pools)[1];
        set.map_or_else(|| self.default_pool(device), Ok)
    }

    /// Sets the memory pool that a device takes memory from; without one, it is the default again.
    pub fn set_pool(&self, device: u32, pool: Option<Handle<Pool>>) {
        if let Some(gpu) = self.devices.get(device as usize) {
            lock(&gpu.pools)[1] = pool;
        }
    }

    /// Makes a context.
    pub fn new_context(
        &self,
        device: u32,
        flags: u32,
        primary: bool,
        old: bool,
    ) -> Result<Arc<Context>, Code> {
        let make = |handle: Handle<Context>| {
            let id = self.new_id();
            let context = Context { handle: handle.bits(), id, device, primary, old, ..Context::default() };
            let legacy = Arc::new(Stream::new(handle.bits(), self.new_id(), false, 0));
            let context = Context { legacy, ..context };
            context.flags.store(flags, Ordering::SeqCst);
            context.active.store(true, Ordering::SeqCst);
            for (limit, value) in context.limits.iter().zip(crate::limits::INITIAL) {
                limit.store(value, Ordering::SeqCst);
            }
            Arc::new(context)
        };
        let handle = self.contexts.insert_with(make).ok_or(Code::OUT_OF_MEMORY)?;
        self.contexts.get(handle).map_err(|_| Code::OUT_OF_MEMORY)
    }

    /// The thread's current context.
    pub fn current_context(&self) -> Result<Arc<Context>, Code> {
        let handle = context::current().ok_or(Code::INVALID_CONTEXT)?;
        let context = self.contexts.get(handle).map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
        if context.is_active() { Ok(context) } else { Err(Code::CONTEXT_IS_DESTROYED) }
    }

    /// The context of a call that names a stream: the current one, or else that of the stream. The default streams need
    /// a current one (recorded on an H200).
    pub fn context_for(&self, stream: Handle<Stream>) -> Result<Arc<Context>, Code> {
        match self.current_context() {
            Err(Code::INVALID_CONTEXT) if stream.bits() > 2 => {
                let stream = self.streams.get(stream).map_err(|_| Code::INVALID_CONTEXT)?;
                self.active_context(stream.context).ok_or(Code::INVALID_CONTEXT)
            }
            current => current,
        }
    }

    /// A context by the bits of its handle, if it can be used.
    pub fn active_context(&self, handle: u64) -> Option<Arc<Context>> {
        self.contexts.get(Handle::of(handle)).ok().filter(|context| context.is_active())
    }

    /// A stream that is to be used: the legacy default stream cannot be while a stream that it waits for is captured.
    pub fn stream(&self, context: &Arc<Context>, handle: Handle<Stream>) -> Result<Arc<Stream>, Code> {
        let stream = self.find_stream(context, handle)?;
        if Arc::ptr_eq(&stream, &context.legacy) {
            self.captures.forbid_legacy(context.handle)?;
        }
        Ok(stream)
    }

    /// What a stream's handle means in a context: 0 and 1 are the legacy default stream, 2 is the thread's own.
    pub fn find_stream(&self, context: &Arc<Context>, handle: Handle<Stream>) -> Result<Arc<Stream>, Code> {
        match handle.bits() {
            0 if context::has_per_thread_stream() => Ok(self.thread_stream(context)),
            0 | 1 => Ok(context.legacy.clone()),
            2 => Ok(self.thread_stream(context)),
            _ => {
                let stream = self.streams.get(handle).map_err(|missing| match missing {
                    Missing::Destroyed => Code::CONTEXT_IS_DESTROYED,
                    Missing::Never => Code::INVALID_HANDLE,
                })?;
                self.contexts.get(Handle::of(stream.context)).map_err(|_| Code::INVALID_HANDLE)?;
                Ok(stream)
            }
        }
    }

    fn thread_stream(&self, context: &Arc<Context>) -> Arc<Stream> {
        let key = (thread::number(), context.handle);
        let make = || Arc::new(Stream::new(context.handle, self.new_id(), false, 0));
        lock(&self.thread_streams).entry(key).or_insert_with(make).clone()
    }

    /// Keeps a stream that was destroyed until its work is done.
    pub fn retire_stream(&self, stream: Arc<Stream>) {
        if stream.pending().is_some() {
            lock(&self.retired_streams).push(stream);
        }
    }

    /// All streams of a context.
    pub fn streams_of(&self, context: &Context) -> Vec<Arc<Stream>> {
        let made = self.streams.all().into_iter().map(|(_, stream)| stream);
        let threads: Vec<Arc<Stream>> = lock(&self.thread_streams).values().cloned().collect();
        let mut retired = lock(&self.retired_streams);
        retired.retain(|stream| stream.pending().is_some());
        let all =
            made.chain(threads).chain(retired.clone()).filter(|stream| stream.context == context.handle);
        all.chain([context.legacy.clone()]).collect()
    }

    /// All streams of all contexts.
    pub fn all_streams(&self) -> Vec<Arc<Stream>> {
        let made = self.streams.all().into_iter().map(|(_, stream)| stream);
        let threads: Vec<Arc<Stream>> = lock(&self.thread_streams).values().cloned().collect();
        let retired = lock(&self.retired_streams).clone();
        let legacy = self.contexts.all().into_iter().map(|(_, context)| context.legacy.clone());
        made.chain(threads).chain(retired).chain(legacy).collect()
    }

    /// Waits for all work of a context, which must have no stream that is being captured.
    pub fn synchronize_context(&self, context: &Context) -> Result<(), Code> {
        self.captures.forbid_context(context.handle)?;
        self.synchronize(context)
    }

    /// Waits for all work of a context.
    pub fn synchronize(&self, context: &Context) -> Result<(), Code> {
        self.finish(&self.streams_of(context));
        self.check_fault()
    }

    /// What work of a stream must follow besides the stream's own: the legacy default stream and the blocking streams
    /// of a context wait for each other.
    fn before(&self, context: &Context, stream: &Arc<Stream>) -> Vec<Arc<stream::Done>> {
        if Arc::ptr_eq(stream, &context.legacy) {
            let others = self.streams_of(context).into_iter().filter(|other| !other.nonblocking);
            return others
                .filter(|other| !Arc::ptr_eq(other, stream))
                .filter_map(|other| other.pending())
                .collect();
        }
        if stream.nonblocking { Vec::new() } else { context.legacy.pending().into_iter().collect() }
    }

    /// Whether work that is given to a stream now may be done after the call, even if it waits for nothing by itself.
    pub fn is_later(&self, context: &Context, stream: &Arc<Stream>) -> bool {
        stream.pending().is_some() || thread::is_leaving() || !self.before(context, stream).is_empty()
    }

    /// Gives work to a stream, or to the graph that the stream is captured into.
    pub fn issue(&'static self, context: &Context, stream: &Arc<Stream>, work: Work) -> Result<(), Code> {
        if self.captures.add(self, stream.id, &work)? {
            return Ok(());
        }
        let mut after = self.before(context, stream);
        if let Work::WaitFor(done) = &work {
            after.push(done.clone());
        }
        let (kind, may_wait) = (work.task(), work.may_wait());
        stream.submit(Task { kind, run: Box::new(move || work.perform(self)), after, may_wait })
    }

    /// Gives work to a stream that cannot be captured.
    pub fn submit(
        &self,
        context: &Context,
        stream: &Arc<Stream>,
        may_wait: bool,
        run: impl FnOnce() -> Result<(), Code> + Send + 'static,
    ) -> Result<(), Code> {
        self.captures.forbid_stream(stream.id)?;
        let after = self.before(context, stream);
        stream.submit(Task { kind: TaskKind::Device, run: Box::new(run), after, may_wait })
    }

    /// Whether an address is in the windows that the machine gives addresses from, so that it is not the host's.
    pub fn is_device_address(&self, address: u64) -> bool {
        let windows = self.machine.windows();
        windows.heap.contains(address) || windows.globals.contains(address)
    }

    /// Gives a block's memory back.
    pub fn release(&self, block: &Block) {
        let _ = self.machine.free(block.base);
        if matches!(block.kind, Kind::Pinned | Kind::Managed) {
            // SAFETY: the block has been freed, and references are never made to memory that kernels share.
            unsafe { crate::ffi::discard_pages(block.base, block.bytes) };
        }
    }

    /// A block's address means nothing from now on; its pool has it back.
    pub fn give_back(&self, block: &Block) {
        lock(&self.blocks).remove(block.base);
        if let Some(handle) = block.pool()
            && let Ok(pool) = self.pools.get(Handle::of(handle))
        {
            lock(&pool.usage).give_back(block.bytes);
        }
    }

    /// The allocation that an address is in.
    pub fn block(&self, address: u64) -> Option<Block> {
        lock(&self.blocks).find(address)
    }
}
