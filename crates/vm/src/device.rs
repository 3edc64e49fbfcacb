//! A machine with modules in its memory: what a host talks to.
//!
//! ```
//! use softwarp_vm::device::{Device, Launch, LoadOptions};
//!
//! let source = ".version 8.0\n.target sm_90\n.address_size 64\n\
//!     .visible .entry nothing(.param .u64 p) { ret; }";
//! let mut device = Device::load(&[source], LoadOptions::default()).expect("a valid module");
//! let buffer = device.allocate(1024).expect("memory");
//! device.write(buffer, &[1, 2, 3]).expect("inside");
//! let arguments = [buffer.to_le_bytes().to_vec()];
//! let report = device.launch(&Launch::new("nothing", [2, 1, 1], [64, 1, 1], &arguments)).expect("no fault");
//! assert_eq!(report.ctas, 2);
//! ```

mod launch;

use crate::account::Account;
use crate::decode::Program;
pub use crate::launch::{ClusterError, Launch, LaunchError, Report};
use crate::memory::cell::Cells;
use crate::memory::constant::Constant;
use crate::memory::global::{Global, MemoryError};
use crate::sanitize;
use crate::sanitize::init::Unwritten;
use crate::texture::Textures;
use softwarp_check::{CheckedModule, References, resolve_references};
use softwarp_image::image::BANK_BYTES;
use softwarp_image::{Function, FunctionId, Image, Object, ObjectId, Unit, Windows, lay_out};
use softwarp_isa::{StateSpace, Target};
use softwarp_lower::{Lowering, lower};
use softwarp_syntax::{Diagnostic, Module, Severity, parse};
use std::collections::HashMap;
use std::sync::Arc;

/// How modules are loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    /// The GPU to be; the module's `.target` without it.
    pub arch: Option<Target>,
    /// Variables lie apart, with red zones between them: for launches with [`sanitize::Sanitize::bounds`]. Their
    /// addresses are not those that they have otherwise.
    pub red_zones: bool,
    /// The most bytes of host memory that the device and its launches may hold; [`Account::default_limit`] without it.
    pub memory: Option<u64>,
}

/// Why modules were not loaded.
#[derive(Clone, Debug)]
pub enum LoadError {
    /// They are not valid: the module's index, and what is wrong with it.
    Invalid(Vec<(u32, Diagnostic)>),
    /// They do not fit together, or not into memory.
    Unlinked(Vec<Diagnostic>),
    /// There is no memory for their variables.
    Memory(MemoryError),
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LoadError::Invalid(found) => write!(f, "the module has {} errors", found.len()),
            LoadError::Unlinked(found) => write!(f, "the modules have {} errors between them", found.len()),
            LoadError::Memory(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// A module that was read.
#[derive(Debug)]
pub struct Loaded {
    /// Its text.
    pub source: String,
    /// Its tree.
    pub module: Module,
    /// What it declares.
    pub checked: CheckedModule,
    /// What the names in its operands mean.
    pub references: References,
    /// What was said about it that is no error.
    pub warnings: Vec<Diagnostic>,
}

/// A machine with modules in its memory.
#[derive(Debug)]
pub struct Device {
    units: Vec<Loaded>,
    image: Image,
    windows: Windows,
    account: Account,
    global: Global,
    constant: Constant,
    programs: HashMap<FunctionId, Arc<Program>>,
    textures: Textures,
    launches: u64,
    /// What nobody has written, as far as launches were looked at.
    unwritten: Unwritten,
    findings: Vec<sanitize::Finding>,
    not_looked_at: Vec<sanitize::NotLookedAt>,
    /// Blocks that launches took from `malloc` and did not give back.
    given: Vec<sanitize::Given>,
    stopped: Option<Report>,
}

impl Device {
    /// Reads modules, links them and puts their variables into memory.
    pub fn load(sources: &[&str], options: LoadOptions) -> Result<Device, LoadError> {
        let mut units = Vec::new();
        let mut errors = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let parsed = parse(source);
            let relocatable = sources.len() > 1;
            let judged = softwarp_check::Options { arch: options.arch, relocatable, strict: false };
            let (checked, references, found) = resolve_references(&parsed.module, source, judged);
            let all = parsed.diagnostics.into_iter().chain(found);
            let (wrong, warnings): (Vec<_>, Vec<_>) = all.partition(|it| it.severity() == Severity::Error);
            errors.extend(wrong.into_iter().map(|diagnostic| (index as u32, diagnostic)));
            units.push(Loaded {
                source: (*source).into(),
                module: parsed.module,
                checked,
                references,
                warnings,
            });
        }
        if !errors.is_empty() {
            return Err(LoadError::Invalid(errors));
        }
        let linked: Vec<Unit<'_>> =
            units.iter().map(|unit| Unit { module: &unit.module, checked: &unit.checked }).collect();
        let layout =
            softwarp_image::Options { red_zones: options.red_zones, ..softwarp_image::Options::default() };
        let image = lay_out(&linked, layout).map_err(LoadError::Unlinked)?;
        let windows = Windows::for_target(image.header.address_bits, image.header.arch);
        let account = Account::new(options.memory.unwrap_or_else(Account::default_limit));
        let global = Global::new(&windows, image.global.bytes, &account).map_err(LoadError::Memory)?;
        let constant = Constant::new(&image).map_err(LoadError::Memory)?;
        let textures = Textures::of(&image, &windows);
        let device = Device {
            units,
            image,
            windows,
            account,
            global,
            constant,
            programs: HashMap::new(),
            textures,
            launches: 0,
            unwritten: Unwritten::default(),
            findings: Vec::new(),
            not_looked_at: Vec::new(),
            given: Vec::new(),
            stopped: None,
        };
        device.initialise();
        Ok(device)
    }

    /// Gives the modules' variables the values that they begin with.
    fn initialise(&self) {
        for index in 0..self.image.objects.len() {
            let id = ObjectId(index as u32);
            let Some((cells, offset)) = self.place(id) else { continue };
            let Some(contents) = self.image.initial(&self.windows, id) else { continue };
            for run in &contents.runs {
                let fits = offset.checked_add(run.at).and_then(|at| at.checked_add(run.bytes.len() as u64));
                if fits.is_some_and(|end| end <= cells.len()) {
                    cells.write(offset + run.at, &run.bytes);
                }
            }
        }
    }

    /// The memory of a variable, and where it begins there.
    fn place(&self, id: ObjectId) -> Option<(&Cells, u64)> {
        let object = self.image.object(id);
        let offset = object.offset?;
        match object.space {
            StateSpace::Global => {
                let variables = self.global.allocations().first()?;
                variables.cells.as_ref().map(|cells| (cells, offset))
            }
            StateSpace::Const => Some((&self.constant.cells, u64::from(object.bank) * BANK_BYTES + offset)),
            _ => None,
        }
    }

    /// Host memory that it holds, and how much it may.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The modules, laid out.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The windows of its memory.
    pub fn windows(&self) -> &Windows {
        &self.windows
    }

    /// The modules.
    pub fn modules(&self) -> &[Loaded] {
        &self.units
    }

    /// Takes memory: zeros, at a multiple of 256.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        self.global.allocate(bytes)
    }

    /// The same, but a launch that is sanitized takes reads of what nobody has written there for mistakes.
    pub fn allocate_uninitialised(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        let address = self.global.allocate(bytes)?;
        let account = self.account().clone();
        if let Err(error) = self.unwritten.add(&account, address, bytes) {
            self.global.free(address)?;
            return Err(error);
        }
        Ok(address)
    }

    /// Blocks that kernels took from `malloc` in launches with [`sanitize::Sanitize::leak`], and that no launch has
    /// freed: what is a leak once the program has ended.
    pub fn leaks(&self) -> Vec<sanitize::Finding> {
        self.given.iter().filter_map(|given| given.leak(&self.global)).collect()
    }

    /// What the sanitizers found in the last launch, whether it came to its end or was stopped.
    pub fn findings(&self) -> &[sanitize::Finding] {
        &self.findings
    }

    /// What they did not look at in the last launch, since they had reached a limit.
    pub fn not_looked_at(&self) -> &[sanitize::NotLookedAt] {
        &self.not_looked_at
    }

    /// Makes a given number of addresses that each stand for the same place in several pieces of global memory, which begin at
    /// these: for `multimem` instructions, and for nothing else. On GPUs the pieces are on as many devices.
    pub fn multicast(&mut self, parts: &[u64], bytes: u64) -> Result<u64, MemoryError> {
        self.global.add_multicast(parts, bytes)
    }

    /// What the last launch that was stopped had done by then.
    pub fn stopped(&self) -> Option<&Report> {
        self.stopped.as_ref()
    }

    /// Gives it back.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        self.unwritten.remove(address);
        self.global.free(address)
    }

    /// Copies bytes into global memory.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let (cells, at) = self.global.range(address, bytes.len() as u64)?;
        cells.write(at, bytes);
        self.unwritten.write(address, bytes.len() as u64);
        Ok(())
    }

    /// Copies bytes out of global memory.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let (cells, at) = self.global.range(address, bytes.len() as u64)?;
        cells.read(at, bytes);
        Ok(())
    }

    /// What handles of textures, samplers and surfaces stand for.
    pub fn textures(&self) -> &Textures {
        &self.textures
    }

    pub(crate) fn textures_mut(&mut self) -> &mut Textures {
        &mut self.textures
    }

    /// Whether a given number of bytes at an address are in an allocation.
    pub(crate) fn has(&self, address: u64, bytes: u64) -> bool {
        self.global.range(address, bytes).is_ok()
    }

    /// Makes a buffer of zeros in constant memory, at a multiple of 256, and gives its address in `.const`: what a
    /// kernel's parameter that is a `.ptr .const` takes.
    pub fn allocate_constant(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        self.constant.allocate(bytes)
    }

    /// Copies bytes into constant memory.
    pub fn write_constant(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.constant.write(address, bytes)
    }

    /// A variable of a module, by name.
    pub fn variable(&self, name: &str) -> Option<(ObjectId, &Object)> {
        let named = |object: &Object| object.function.is_none() && &*object.name == name;
        let index = self.image.objects.iter().position(|o| named(o) && o.offset.is_some())?;
        let id = ObjectId(index as u32);
        self.place(id).map(|_| (id, self.image.object(id)))
    }

    fn variable_place(&self, name: &str, bytes: u64) -> Result<(&Cells, u64), MemoryError> {
        let missing = || MemoryError::NoVariable { name: name.into() };
        let (id, object) = self.variable(name).ok_or_else(missing)?;
        let size = Constant::size_of(object);
        if bytes > size {
            return Err(MemoryError::TooManyBytes { name: name.into(), bytes: size, given: bytes });
        }
        self.place(id).ok_or_else(missing)
    }

    /// Sets the first bytes of a `.global` or `.const` variable. An array without a size has all of its bank.
    pub fn write_variable(&mut self, name: &str, bytes: &[u8]) -> Result<(), MemoryError> {
        let (cells, at) = self.variable_place(name, bytes.len() as u64)?;
        cells.write(at, bytes);
        Ok(())
    }

    /// The bytes of a `.global` or `.const` variable.
    pub fn read_variable(&self, name: &str) -> Result<Vec<u8>, MemoryError> {
        let (cells, at) = self.variable_place(name, 0)?;
        let size = self.variable(name).map_or(0, |(_, object)| Constant::size_of(object));
        let full = MemoryError::OutOfMemory { bytes: size };
        let size = usize::try_from(size).map_err(|_| full.clone())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| full)?;
        bytes.resize(size, 0);
        cells.read(at, &mut bytes);
        Ok(bytes)
    }

    fn kernel(&self, name: &str) -> Option<FunctionId> {
        let is = |function: &Function| function.entry && function.defined && &*function.name == name;
        self.image.functions.iter().position(is).map(|index| FunctionId(index as u32))
    }

    /// A kernel's program, lowered when it is first asked for.
    pub fn program(&mut self, kernel: &str) -> Result<Arc<Program>, LaunchError> {
        let id = self.kernel(kernel).ok_or_else(|| LaunchError::NoKernel { name: kernel.into() })?;
        if let Some(program) = self.programs.get(&id) {
            return Ok(program.clone());
        }
        let units: Vec<Lowering<'_>> = self.units.iter().map(Loaded::lowering).collect();
        let program = lower(&units, &self.image, id).map_err(LaunchError::Unsupported)?;
        let program = Arc::new(Program::new(program));
        self.programs.insert(id, program.clone());
        Ok(program)
    }
}

impl Loaded {
    fn lowering(&self) -> Lowering<'_> {
        let Loaded { source, module, checked, references, .. } = self;
        Lowering { module, source, checked, references }
    }
}
