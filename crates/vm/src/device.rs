//! A device: memory, and modules that are loaded into it. What a host program, or a driver on top of this crate, talks to.
//!
//! A device owns one memory. Modules are loaded into it and unloaded, each with its own variables, constant banks and
//! kernels. Buffers belong to the device, outlive modules, and are the same for launches of any of them. Memory of the
//! host can be mapped ([`Device::map_host`]).
//!
//! Every method takes `&self`, and a device is `Send` and `Sync`: several threads can launch, allocate and copy at the
//! same time. A launch sees the allocations, modules and bindings of the moment when it began; the bytes themselves
//! are shared.
//!
//! ```
//! use softwarp_vm::device::{Device, Launch, LoadOptions};
//!
//! let source = ".version 8.0\n.target sm_90\n.address_size 64\n\
//!     .visible .entry nothing(.param .u64 p) { ret; }";
//! let device = Device::load(&[source], LoadOptions::default()).expect("a valid module");
//! let buffer = device.allocate(1024).expect("memory");
//! device.write(buffer, &[1, 2, 3]).expect("inside");
//! let arguments = [buffer.to_le_bytes().to_vec()];
//! let report = device.launch(&Launch::new("nothing", [2, 1, 1], [64, 1, 1], &arguments)).expect("no fault");
//! assert_eq!(report.ctas, 2);
//!
//! // Another module, on the same buffer.
//! let other = device.load_module(&[source], LoadOptions::default()).expect("a valid module");
//! let launch = Launch { module: other, ..Launch::new("nothing", [1; 3], [32, 1, 1], &arguments) };
//! device.launch(&launch).expect("no fault");
//! device.unload_module(other).expect("it is loaded");
//! assert!(device.launch(&launch).is_err());
//! ```

mod compare;
mod launch;
mod module;
mod textures;

pub use crate::decode::Program;
use crate::host_memory::Account;
pub use crate::launch::{
    ClusterError, Jit, Launch, LaunchError, ModuleError, ModuleId, NestedLaunch, Outcome, Report,
};
use crate::memory::global::{Global, MemoryError, lock};
use crate::memory::host::{HostMemory, HostPlace};
pub use crate::nested::NestedLaunches;
use crate::sanitize;
use crate::sanitize::init::Unwritten;
use crate::spare::Spare;
use crate::texture::Objects;
pub use module::{LoadError, LoadOptions, Loaded, Module, Symbol};
use module::{Modules, compile};
use softwarp_image::Windows;
use softwarp_isa::Target;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A machine: one memory, and modules in it.
#[derive(Debug)]
pub struct Device {
    arch: Target,
    address_bits: u32,
    /// The windows of a module that is loaded alone.
    windows: Windows,
    account: Account,
    /// The account of the compiled code of its modules, beside the other one.
    code: Account,
    global: Mutex<Global>,
    modules: Mutex<Modules>,
    objects: Mutex<Arc<Objects>>,
    launches: AtomicU64,
    /// Room for CTAs that launches have left.
    spare: Spare,
    /// Bytes of the heap of `malloc`.
    heap_bytes: AtomicU64,
    observed: Mutex<Observed>,
    /// What compare mode keeps from launch to launch.
    comparing: Mutex<compare::Kept>,
}

/// The part of the memory that compiled code may be.
const CODE_PART: u64 = 8;

/// The bytes of the heap of `malloc` unless others are asked for, as in CUDA.
const HEAP: u64 = 8 << 20;

/// The results of sanitizers that outlive a launch.
#[derive(Debug, Default)]
struct Observed {
    /// Global memory that was never written.
    unwritten: Unwritten,
    findings: Vec<sanitize::Finding>,
    not_looked_at: Vec<sanitize::NotLookedAt>,
    /// Blocks that launches got from `malloc` and did not free.
    given: Vec<(ModuleId, sanitize::Given)>,
    stopped: Option<Report>,
}

impl Device {
    /// A GPU without modules, with addresses of 32 or 64 bits, that may hold at most a given number of bytes of the
    /// host's memory ([`Account::default_limit`] without it).
    pub fn new(arch: Target, address_bits: u32, memory: Option<u64>) -> Device {
        Device::with_windows(arch, address_bits, memory, Windows::for_target(address_bits, arch))
    }

    /// The same in a process whose memory kernels may see at its own addresses ([`Windows::beside_host`]).
    pub fn beside_host(arch: Target, address_bits: u32, memory: Option<u64>) -> Device {
        let windows = Windows::for_target(address_bits, arch).beside_host();
        Device::with_windows(arch, address_bits, memory, windows)
    }

    fn with_windows(arch: Target, address_bits: u32, memory: Option<u64>, windows: Windows) -> Device {
        let account = Account::new(memory.unwrap_or_else(Account::default_limit));
        let global = Mutex::new(Global::new(&windows, &account));
        Device {
            arch,
            address_bits,
            windows,
            code: Account::new(account.most() / CODE_PART),
            account,
            global,
            modules: Mutex::default(),
            objects: Mutex::default(),
            launches: AtomicU64::new(0),
            spare: Spare::default(),
            heap_bytes: AtomicU64::new(HEAP),
            observed: Mutex::default(),
            comparing: Mutex::default(),
        }
    }

    /// A GPU with one module: texts, linked. It is the GPU that the options name, or else the first text.
    pub fn load(sources: &[&str], options: LoadOptions) -> Result<Device, LoadError> {
        let (units, image) = compile(sources, options.arch, options.red_zones)?;
        let (arch, bits) = (image.header.arch, image.header.address_bits);
        let windows = options.windows.unwrap_or_else(|| Windows::for_target(bits, arch));
        let device = Device::with_windows(arch, bits, options.memory, windows);
        device.add_module(units, image, options.lowering())?;
        Ok(device)
    }

    /// The GPU that it is.
    pub fn arch(&self) -> Target {
        self.arch
    }

    /// Bits of an address.
    pub fn address_bits(&self) -> u32 {
        self.address_bits
    }

    /// Bytes of the compiled code of its modules.
    pub fn code_bytes(&self) -> u64 {
        self.code.used()
    }

    /// Host memory that it holds, and how much it may.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The windows of its memory. Modules have windows of their own for variables, constants and functions.
    pub fn windows(&self) -> &Windows {
        &self.windows
    }

    /// Takes memory: zeros, at a multiple of 256.
    pub fn allocate(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.with_room(|| lock(&self.global).allocate(bytes))
    }

    /// The same, at a multiple of a power of two if that is more than 256.
    pub fn allocate_aligned(&self, bytes: u64, alignment: u64) -> Result<u64, MemoryError> {
        self.with_room(|| lock(&self.global).allocate_aligned(bytes, alignment))
    }

    /// Takes memory again at an address where as many bytes were freed: zeros.
    pub fn allocate_again(&self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        self.with_room(|| lock(&self.global).allocate_again(address, bytes))
    }

    /// Takes memory at an address that means nothing yet, a multiple of 256: zeros.
    pub fn allocate_at(&self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        lock(&self.global).allocate_at(address, bytes)
    }

    /// Allocates memory without contents: a sanitized launch reports reads of bytes that neither the host nor a
    /// kernel has written.
    pub fn allocate_uninitialised(&self, bytes: u64) -> Result<u64, MemoryError> {
        let address = self.allocate(bytes)?;
        let added = lock(&self.observed).unwritten.add(&self.account, address, bytes);
        if let Err(error) = added {
            self.free(address)?;
            return Err(error);
        }
        Ok(address)
    }

    /// Maps memory of the host: kernels and the host see the same bytes. Gives the address for kernels;
    /// [`Device::free`] ends it.
    pub fn map_host(&self, memory: &HostMemory, place: HostPlace) -> Result<u64, MemoryError> {
        lock(&self.global).map_host(memory, place)
    }

    /// Keeps addresses for memory of the host that is mapped there later ([`HostPlace::Reserved`]), at a multiple of a
    /// power of two: where they begin.
    pub fn reserve(&self, bytes: u64, alignment: u64) -> Result<u64, MemoryError> {
        lock(&self.global).reserve(bytes, alignment)
    }

    /// Gives reserved addresses back, by the first of them.
    pub fn unreserve(&self, address: u64) {
        lock(&self.global).unreserve(address);
    }

    /// Makes a given number of addresses that each stand for the same place in several pieces of global memory, which
    /// begin at these: for `multimem` instructions, and for nothing else. On GPUs the pieces are on as many devices.
    pub fn multicast(&self, parts: &[u64], bytes: u64) -> Result<u64, MemoryError> {
        lock(&self.global).add_multicast(parts, bytes)
    }

    /// Gives memory back. Launches that run keep it to their end; for those that begin later it is freed.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        lock(&self.observed).unwritten.remove(address);
        lock(&self.global).free(address)
    }

    /// Sets the bytes of the heap of `malloc` in kernels. A heap that a kernel has used keeps its size: then it returns
    /// false.
    pub fn set_heap(&self, bytes: u64) -> bool {
        let is_free = !lock(&self.global).has_heap();
        if is_free {
            self.heap_bytes.store(bytes, Ordering::SeqCst);
        }
        is_free
    }

    /// The first address and the bytes of the allocation that an address is in.
    pub fn allocation(&self, address: u64) -> Result<(u64, u64), MemoryError> {
        let global = lock(&self.global);
        global.range(address, 0)?;
        let found = global.before(address).and_then(|index| global.allocations().get(index));
        found.map(|it| (it.base, it.bytes)).ok_or(MemoryError::OutOfBounds { address, bytes: 0 })
    }

    /// Copies bytes into global memory, or into a module's constants by a generic address.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        if let Some(module) = self.with_constants_at(address) {
            return lock(&module.constant).write(address - module.image.windows.constant.base, bytes);
        }
        let global = lock(&self.global).clone();
        let (cells, at) = global.range(address, bytes.len() as u64)?;
        cells.write(at, bytes);
        lock(&self.observed).unwritten.write(address, bytes.len() as u64);
        Ok(())
    }

    /// Copies bytes out of global memory, or of a module's constants by a generic address.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        if let Some(module) = self.with_constants_at(address) {
            return lock(&module.constant).read(address - module.image.windows.constant.base, bytes);
        }
        let global = lock(&self.global).clone();
        let (cells, at) = global.range(address, bytes.len() as u64)?;
        cells.read(at, bytes);
        Ok(())
    }

    /// The module whose constants a generic address is in.
    fn with_constants_at(&self, address: u64) -> Option<Arc<Module>> {
        let constants = self.windows.constant.base..self.windows.parameter.base;
        constants.contains(&address).then(|| lock(&self.modules).with_constants_at(address))?
    }

    /// Whether a given number of bytes at an address are in an allocation.
    fn has(&self, address: u64, bytes: u64) -> bool {
        lock(&self.global).range(address, bytes).is_ok()
    }

    /// Makes a buffer of zeros in the constant memory of the first module, at a multiple of 256, and gives its address
    /// in `.const`: what a kernel's parameter that is a `.ptr .const` takes.
    pub fn allocate_constant(&self, bytes: u64) -> Result<u64, MemoryError> {
        lock(&self.first()?.constant).allocate(bytes)
    }

    /// Copies bytes into the constant memory of the first module.
    pub fn write_constant(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        lock(&self.first()?.constant).write(address, bytes)
    }

    fn first(&self) -> Result<Arc<Module>, MemoryError> {
        self.module(ModuleId::default()).map_err(|_| MemoryError::NoModule)
    }

    /// A `.global` or `.const` variable of the first module, by name.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.first().ok()?.symbol(name)
    }

    fn symbol_for(&self, name: &str, bytes: u64) -> Result<Symbol, MemoryError> {
        let symbol = self.first()?.symbol(name);
        let symbol = symbol.ok_or_else(|| MemoryError::NoVariable { name: name.into() })?;
        if bytes > symbol.bytes {
            return Err(MemoryError::TooManyBytes { name: name.into(), bytes: symbol.bytes, given: bytes });
        }
        Ok(symbol)
    }

    /// Sets the first bytes of a `.global` or `.const` variable of the first module. An array without a size has all of
    /// its bank.
    pub fn write_variable(&self, name: &str, bytes: &[u8]) -> Result<(), MemoryError> {
        let symbol = self.symbol_for(name, bytes.len() as u64)?;
        self.write(symbol.address, bytes)
    }

    /// The bytes of a `.global` or `.const` variable of the first module.
    pub fn read_variable(&self, name: &str) -> Result<Vec<u8>, MemoryError> {
        let symbol = self.symbol_for(name, 0)?;
        let full = MemoryError::OutOfMemory { bytes: symbol.bytes };
        let size = usize::try_from(symbol.bytes).map_err(|_| full.clone())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| full)?;
        bytes.resize(size, 0);
        self.read(symbol.address, &mut bytes)?;
        Ok(bytes)
    }

    /// A kernel of the first module, lowered when it is first asked for.
    pub fn program(&self, kernel: &str) -> Result<Arc<Program>, LaunchError> {
        self.module(ModuleId::default())?.program(kernel)
    }

    /// Blocks that kernels took from `malloc` in launches with [`sanitize::Sanitize::leak`], and that no launch has
    /// freed: what is a leak once the program has ended.
    pub fn leaks(&self) -> Vec<sanitize::Finding> {
        self.leaks_of_modules().into_iter().map(|(_, finding)| finding).collect()
    }

    /// The same, each with the module of the kernel.
    pub fn leaks_of_modules(&self) -> Vec<(ModuleId, sanitize::Finding)> {
        let global = lock(&self.global).clone();
        let observed = lock(&self.observed);
        let found = observed.given.iter().map(|(module, given)| Some((*module, given.leak(&global)?)));
        found.flatten().collect()
    }

    /// The findings of the sanitizers in the last launch, whether it ran to its end or was stopped.
    pub fn findings(&self) -> Vec<sanitize::Finding> {
        lock(&self.observed).findings.clone()
    }

    /// The limits that the sanitizers reached in the last launch: accesses beyond them were not checked.
    pub fn not_looked_at(&self) -> Vec<sanitize::NotLookedAt> {
        lock(&self.observed).not_looked_at.clone()
    }

    /// The report of the last launch that was stopped, up to the stop.
    pub fn stopped(&self) -> Option<Report> {
        lock(&self.observed).stopped.clone()
    }
}
