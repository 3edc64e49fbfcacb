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

use crate::grid;
pub use crate::launch::{ClusterError, Launch, LaunchError, Report};
use crate::lower::{Lowering, lower};
use crate::memory::cell::Cells;
use crate::memory::constant::Constant;
use crate::memory::global::{Global, MemoryError};
use crate::program::{Call, Callee, Op, Program, Provided, Step};
use crate::sanitize::init::Unwritten;
use crate::sanitize::{self, Sanitizer};
use crate::stats::{OpCount, Progress};
use crate::texture::Textures;
use crate::tuning::Tuning;
use softwarp_check::{Checked, Settled, settle};
use softwarp_image::image::BANK_BYTES;
use softwarp_image::{Finding, Function, FunctionId, Image, Object, ObjectId, Unit, Windows, lay_out};
use softwarp_isa::{StateSpace, Target};
use softwarp_syntax::tree::Item;
use softwarp_syntax::{Diagnostic, Module, Severity, parse};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The most threads of a CTA.
const MOST_THREADS: u64 = 1024;

/// The largest CTA in each dimension.
const MOST_BLOCK: [u32; 3] = [1024, 1024, 64];

/// The largest grid in each dimension.
const MOST_GRID: [u32; 3] = [0x7fff_ffff, 65535, 65535];

/// Bytes of local memory that a thread can have, as on the hardware.
const MOST_STACK: u64 = 512 << 10;

/// CTAs that can be there at once: 32 on each multiprocessor of an H200.
const MOST_COOPERATING: u64 = 32 * 132;

/// Bytes that `malloc` has, as CUDA has it.
const HEAP: u64 = 8 << 20;

/// How modules are loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    /// The GPU to be; the module's `.target` without it.
    pub arch: Option<Target>,
}

/// Why modules were not loaded.
#[derive(Clone, Debug)]
pub enum LoadError {
    /// They are not valid: the module's index, and what is wrong with it.
    Invalid(Vec<(u32, Diagnostic)>),
    /// They do not fit together, or not into memory.
    Unlinked(Vec<Finding>),
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
    pub checked: Checked,
    /// What the names in its operands mean.
    pub settled: Settled,
    /// What was said about it that is no error.
    pub warnings: Vec<Diagnostic>,
}

/// A machine with modules in its memory.
#[derive(Debug)]
pub struct Device {
    units: Vec<Loaded>,
    image: Image,
    windows: Windows,
    global: Global,
    constant: Constant,
    programs: HashMap<FunctionId, Arc<Program>>,
    textures: Textures,
    launches: u64,
    /// What nobody has written, as far as launches were looked at.
    unwritten: Unwritten,
    findings: Vec<sanitize::Finding>,
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
            let (checked, settled, found) = settle(&parsed.module, source, judged);
            let all = parsed.diagnostics.into_iter().chain(found);
            let (wrong, warnings): (Vec<_>, Vec<_>) = all.partition(|it| it.severity() == Severity::Error);
            errors.extend(wrong.into_iter().map(|diagnostic| (index as u32, diagnostic)));
            units.push(Loaded {
                source: (*source).into(),
                module: parsed.module,
                checked,
                settled,
                warnings,
            });
        }
        if !errors.is_empty() {
            return Err(LoadError::Invalid(errors));
        }
        let linked: Vec<Unit<'_>> =
            units.iter().map(|unit| Unit { module: &unit.module, checked: &unit.checked }).collect();
        let image = lay_out(&linked, softwarp_image::Options::default()).map_err(LoadError::Unlinked)?;
        let windows = Windows::for_target(image.header.address_bits, image.header.arch);
        let global = Global::new(&windows, image.global.bytes).map_err(LoadError::Memory)?;
        let constant = Constant::new(&image).map_err(LoadError::Memory)?;
        let textures = Textures::of(&image, &windows);
        let device = Device {
            units,
            image,
            windows,
            global,
            constant,
            programs: HashMap::new(),
            textures,
            launches: 0,
            unwritten: Unwritten::default(),
            findings: Vec::new(),
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
        self.unwritten.add(address, bytes);
        Ok(address)
    }

    /// What the sanitizers found in the last launch, whether it came to its end or was stopped.
    pub fn findings(&self) -> &[sanitize::Finding] {
        &self.findings
    }

    /// Makes so many addresses that each stand for the same place in several pieces of global memory, which begin at
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

    /// Whether so many bytes at an address are in an allocation.
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
        let program = Arc::new(lower(&units, &self.image, id).map_err(LaunchError::Unsupported)?);
        self.programs.insert(id, program.clone());
        Ok(program)
    }

    /// Runs a kernel to its end.
    pub fn launch(&mut self, launch: &Launch<'_>) -> Result<Report, LaunchError> {
        let program = self.program(launch.kernel)?;
        self.launch_program(launch, &program)
    }

    /// The same with a program of one's own for the kernel.
    pub fn launch_program(&mut self, launch: &Launch<'_>, program: &Program) -> Result<Report, LaunchError> {
        let name = launch.kernel;
        let id = self.kernel(name).ok_or_else(|| LaunchError::NoKernel { name: name.into() })?;
        check_size(launch.grid, launch.block)?;
        let tuning = self.tuning(id);
        tuning.check_block(launch.block)?;
        let (grid, cluster) = tuning
            .clusters(launch.grid, launch.cluster, self.image.header.arch)
            .map_err(LaunchError::Cluster)?;
        check_size(grid, launch.block)?;
        if uses_heap(program) {
            let base = self.global.prepare_heap(HEAP).map_err(LaunchError::Memory)?;
            if launch.sanitize.init && !self.unwritten.has(base) {
                self.unwritten.add(base, HEAP);
            }
        }
        let function = self.image.function(id);
        let dynamic = u64::from(launch.dynamic_shared);
        let shared_bytes = function.dynamic_shared.unwrap_or(function.shared.bytes).saturating_add(dynamic);
        let most = most_shared(self.image.header.arch);
        if shared_bytes > most {
            return Err(LaunchError::Shared { bytes: shared_bytes, most });
        }
        let parameters = self.parameters(function, launch.arguments)?;
        let workspace = match launch.cooperative {
            true => self.workspace(grid)?,
            false => 0,
        };
        self.launches += 1;
        let own = Progress::default();
        let started = Instant::now();
        let default = || std::thread::available_parallelism().map_or(1, usize::from);
        let looks = launch.sanitize.any();
        let threads = if looks { 1 } else { launch.threads.unwrap_or_else(default).max(1) };
        let sanitizer = looks.then(|| Sanitizer::new(launch.sanitize, program, &self.unwritten));
        let running = grid::Launch {
            program,
            image: &self.image,
            windows: &self.windows,
            global: &self.global,
            constant: &self.constant,
            textures: &self.textures,
            parameters: &parameters,
            kernel: id,
            name,
            grid,
            block: launch.block,
            cluster: cluster.unwrap_or([1; 3]),
            clustered: cluster.is_some(),
            dynamic_shared: launch.dynamic_shared,
            shared_bytes,
            number: self.launches,
            workspace,
            threads,
            alone: threads == 1 || grid == cluster.unwrap_or([1; 3]),
            most_stack: MOST_STACK,
            most_instructions: launch.most_instructions,
            most_time: launch.most_time,
            cancel: launch.cancel,
            print: launch.print,
            tracer: launch.tracer,
            count_operations: launch.count_operations,
            sanitizer: sanitizer.as_ref(),
            progress: launch.progress.unwrap_or(&own),
            started,
            next: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
        };
        let done_before = running.progress.ctas_done.load(Ordering::Relaxed);
        let (mut counts, operations, fault) = running.run();
        let ctas = match fault {
            None => launch.grid.iter().map(|&size| u64::from(size)).product(),
            Some(_) => running.progress.ctas_done.load(Ordering::Relaxed).saturating_sub(done_before),
        };
        let elapsed = started.elapsed();
        let ctas = ctas.saturating_sub(running.cancelled.load(Ordering::Relaxed));
        if let (Some(sanitizer), Some(fault)) = (&sanitizer, &fault) {
            sanitizer.stopped(program, fault);
        }
        self.findings = sanitizer.map(Sanitizer::findings).unwrap_or_default();
        if workspace != 0 {
            self.global.free(workspace).map_err(LaunchError::Memory)?;
        }
        if !launch.sanitize.init {
            // Nobody saw what it wrote.
            self.unwritten.clear();
        }
        let functions = program.codes.iter().map(|code| code.function);
        let operations: Vec<_> = functions.zip(operations).collect();
        let mnemonics = self.mnemonics(program, &operations);
        let findings = self.findings.clone();
        if fault.is_some() && launch.count_operations {
            counts.recount(program, &operations);
        }
        let report = Report { ctas, counts, elapsed, mnemonics, operations, findings };
        let Some(fault) = fault else { return Ok(report) };
        self.stopped = Some(report);
        Err(LaunchError::Fault(fault))
    }

    /// Memory for the barrier of a cooperative launch's grid: two words, as the driver makes them.
    fn workspace(&mut self, grid: [u32; 3]) -> Result<u64, LaunchError> {
        let given = grid.iter().map(|&size| u64::from(size)).product();
        if given > MOST_COOPERATING {
            return Err(LaunchError::Cooperative { given, most: MOST_COOPERATING });
        }
        self.global.allocate(8).map_err(LaunchError::Memory)
    }

    /// What a kernel's directives ask of launches.
    fn tuning(&self, id: FunctionId) -> Tuning {
        let function = self.image.function(id);
        let Some(unit) = self.units.get(function.unit as usize) else { return Tuning::default() };
        let item = unit.checked.function(function.id).item;
        match unit.module.items.get(item as usize) {
            Some(Item::Function(tree)) => Tuning::of(&unit.module, tree),
            _ => Tuning::default(),
        }
    }

    /// The block of a kernel's parameters.
    fn parameters(&self, function: &Function, arguments: &[Vec<u8>]) -> Result<Cells, LaunchError> {
        let parameters = &function.parameters;
        if parameters.len() != arguments.len() {
            let (parameters, given) = (parameters.len(), arguments.len());
            return Err(LaunchError::ArgumentCount { parameters, given });
        }
        let bytes = function.parameter_extent.bytes;
        let cells = Cells::new(bytes).ok_or(LaunchError::Memory(MemoryError::OutOfMemory { bytes }))?;
        for (index, (&id, argument)) in parameters.iter().zip(arguments).enumerate() {
            let object = self.image.object(id);
            let (bytes, given) = (object.total(), argument.len() as u64);
            let offset = object.offset.filter(|&offset| offset + bytes <= cells.len());
            match offset {
                Some(offset) if bytes == given => cells.write(offset, argument),
                _ => {
                    let name = object.name.to_string();
                    return Err(LaunchError::ArgumentSize { index, name, bytes, given });
                }
            }
        }
        Ok(cells)
    }

    /// Counts by the words that the instructions begin with.
    fn mnemonics(
        &self,
        program: &Program,
        operations: &[(FunctionId, Vec<OpCount>)],
    ) -> Vec<(String, OpCount)> {
        let mut sums: BTreeMap<&str, OpCount> = BTreeMap::new();
        for (code, (_, counts)) in program.codes.iter().zip(operations) {
            let unit = self.image.function(code.function).unit;
            let Some(unit) = self.units.get(unit as usize) else { continue };
            // An instruction may be several operations; the first counts.
            let mut last = None;
            for (span, count) in code.spans.iter().zip(counts) {
                if last.replace(*span) == Some(*span) || count.warp == 0 {
                    continue;
                }
                let text = unit.source.get(span.start as usize..span.end as usize).unwrap_or("");
                let mut words = text.split(|c: char| c.is_whitespace() || c == ';');
                let word = words.find(|word| !word.is_empty() && !word.starts_with('@')).unwrap_or("");
                let sum = sums.entry(word).or_default();
                sum.warp += count.warp;
                sum.thread += count.thread;
            }
        }
        sums.into_iter().map(|(word, count)| (word.to_owned(), count)).collect()
    }
}

impl Loaded {
    fn lowering(&self) -> Lowering<'_> {
        let Loaded { source, module, checked, settled, .. } = self;
        Lowering { module, source, checked, settled }
    }
}

fn check_size(grid: [u32; 3], block: [u32; 3]) -> Result<(), LaunchError> {
    for (what, given, most) in [("grid", grid, MOST_GRID), ("block", block, MOST_BLOCK)] {
        for (dimension, (&given, &most)) in given.iter().zip(&most).enumerate() {
            if given == 0 || given > most {
                return Err(LaunchError::Dimension { what, dimension, given, most });
            }
        }
    }
    let given = block.iter().map(|&size| u64::from(size)).product();
    if given > MOST_THREADS {
        return Err(LaunchError::Threads { given, most: MOST_THREADS });
    }
    Ok(())
}

/// Bytes of shared memory that a CTA can have (CUDA C++ Programming Guide, technical specifications).
fn most_shared(arch: Target) -> u64 {
    let kib = match arch.sm() {
        ..70 => 48,
        70..75 => 96,
        75..80 => 64,
        80 | 87 => 163,
        81..90 => 99,
        120.. => 99,
        _ => 227,
    };
    kib << 10
}

fn uses_heap(program: &Program) -> bool {
    let takes = |op: &Op| match op {
        Op::Other(_, step) => {
            matches!(**step, Step::Call(Call { callee: Callee::Provided(Provided::Malloc), .. }))
        }
        _ => false,
    };
    program.codes.iter().any(|code| code.ops.iter().any(takes))
}
