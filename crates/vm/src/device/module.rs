//! Modules of a device: loading, unloading, and what can be asked about them.

use super::Device;
use crate::decode::Program;
use crate::launch::{LaunchError, ModuleError, ModuleId};
use crate::memory::constant::Constant;
use crate::memory::global::{MemoryError, Variable, lock};
use crate::texture::TextureReferences;
use softwarp_check::{CheckedModule, References, resolve_references};
use softwarp_image::image::BANK_BYTES;
use softwarp_image::{Function, FunctionId, Image, Object, ObjectId, Unit, Window, Windows, lay_out};
use softwarp_isa::{StateSpace, Target};
use softwarp_lower::{self as lowering, Fidelity, Lowering, lower};
use softwarp_syntax::{Diagnostic, Module as Tree, Severity, parse};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// Bytes of memory that a stage of reading modules (reading the text, checking, linking, translating a kernel) takes for each
/// byte of the texts, at most; most texts need a quarter of that. The system must have room for it when the stage begins.
const OF_TEXT: u64 = 48;

/// Bytes for which the system is not asked: that would take longer than reading a short text.
const FEW: u64 = 1 << 20;

/// Fails if the system has no room for the next stage.
fn has_room<'a>(sources: impl IntoIterator<Item = &'a str>) -> Result<(), MemoryError> {
    let bytes = sources.into_iter().map(|source| source.len() as u64).sum::<u64>().saturating_mul(OF_TEXT);
    system_has(bytes)
}

/// Fails if the system has no room for some bytes.
fn system_has(bytes: u64) -> Result<(), MemoryError> {
    let has_room = if bytes < FEW { !softwarp_heap::is_short() } else { softwarp_heap::has_room(bytes) };
    if has_room { Ok(()) } else { Err(MemoryError::Module { bytes }) }
}

/// How modules are loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    /// What modules are assembled for. Without it, a new device is the GPU of the module's `.target`, and a device that
    /// exists already loads what runs on it. It stays what it is where its modules are for a newer GPU.
    pub arch: Option<Target>,
    /// Variables lie apart, with red zones between them: for launches with
    /// [`Sanitize::bounds`](crate::sanitize::Sanitize::bounds). Their addresses are not those that they have otherwise.
    pub red_zones: bool,
    /// The transformations of ptxas that lowering applies.
    pub fidelity: Fidelity,
    /// For launches with a [`Debugger`](crate::debug::Debugger): every register has a slot of its own. Results are the
    /// same; registers take more memory.
    pub debug: bool,
    /// The most bytes of host memory that the device and its launches may hold;
    /// [`Account::default_limit`](crate::host_memory::Account::default_limit) without it. Only for a new device.
    pub memory: Option<u64>,
    /// The windows of the address space; those of the GPU without it. The first module then is exactly there. Only for a
    /// new device.
    pub windows: Option<Windows>,
}

impl LoadOptions {
    /// How kernels are lowered.
    pub(super) fn lowering(&self) -> lowering::Options {
        lowering::Options { fidelity: self.fidelity, debug: self.debug }
    }
}

/// Why modules were not loaded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoadError {
    /// A module is not valid: its index, and the diagnostics.
    #[error("the module has {} errors", .0.len())]
    Invalid(Vec<(u32, Diagnostic)>),
    /// The modules cannot be linked, or do not fit into memory.
    #[error("the modules have {} errors between them", .0.len())]
    Unlinked(Vec<Diagnostic>),
    /// There is no memory for their variables.
    #[error("{0}")]
    Memory(MemoryError),
    /// Their addresses have other sizes than those of the device.
    #[error("the module has addresses of {module} bits, and the device of {device}")]
    AddressSize {
        /// Bits of an address in the module.
        module: u32,
        /// Bits of an address in the device.
        device: u32,
    },
    /// The device has no addresses left for constants or functions.
    #[error("the device has no addresses left for the module's {what}")]
    Addresses {
        /// `constants` or `functions`.
        what: &'static str,
    },
}

/// A text of a module.
#[derive(Debug)]
pub struct Loaded {
    /// The text.
    pub source: String,
    /// Its tree.
    pub module: Tree,
    /// Its declarations.
    pub checked: CheckedModule,
    /// The definitions that the names in its operands refer to.
    pub references: References,
    /// Diagnostics that are not errors.
    pub warnings: Vec<Diagnostic>,
}

impl Loaded {
    fn lowering(&self) -> Lowering<'_> {
        let Loaded { source, module, checked, references, .. } = self;
        Lowering { module, source, checked, references }
    }
}

/// A variable of a module, for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its generic address, which [`Device::read`] and [`Device::write`] take.
    pub address: u64,
    /// Its bytes. An array without a size has all of its bank.
    pub bytes: u64,
    /// `.global` or `.const`.
    pub space: StateSpace,
}

/// A module that a device has loaded: one text or several, linked. It has variables, constants and kernels of its own.
#[derive(Debug)]
pub struct Module {
    /// Its texts.
    pub units: Vec<Loaded>,
    /// The texts, linked and laid out, with the addresses that they have in the device.
    pub image: Image,
    pub(super) constant: Mutex<Constant>,
    pub(super) references: Mutex<Arc<TextureReferences>>,
    options: lowering::Options,
    programs: Mutex<HashMap<FunctionId, Arc<Program>>>,
    /// The numbers of its constants and of its first function among those of the device.
    places: (u64, u64),
}

impl Module {
    pub(super) fn kernel(&self, name: &str) -> Option<FunctionId> {
        let is = |function: &Function| function.entry && function.defined && &*function.name == name;
        self.image.functions.iter().position(is).map(|index| FunctionId(index as u32))
    }

    /// A kernel's program, lowered when it is first asked for.
    pub fn program(&self, kernel: &str) -> Result<Arc<Program>, LaunchError> {
        let id = self.kernel(kernel).ok_or_else(|| LaunchError::NoKernel { name: kernel.into() })?;
        if let Some(program) = lock(&self.programs).get(&id) {
            return Ok(program.clone());
        }
        has_room(self.units.iter().map(|unit| &*unit.source)).map_err(LaunchError::Memory)?;
        let units: Vec<Lowering<'_>> = self.units.iter().map(Loaded::lowering).collect();
        let program = lower(&units, &self.image, id, self.options).map_err(LaunchError::Unsupported)?;
        system_has(Program::bytes(&program)).map_err(LaunchError::Memory)?;
        let program = Arc::new(Program::new(program));
        // Another thread may have lowered it meanwhile.
        Ok(lock(&self.programs).entry(id).or_insert(program).clone())
    }

    /// A variable in `.global` or `.const`, by name.
    pub fn variable(&self, name: &str) -> Option<(ObjectId, &Object)> {
        let named = |object: &Object| object.function.is_none() && &*object.name == name;
        let index = self.image.objects.iter().position(|o| named(o) && o.offset.is_some())?;
        let object = self.image.object(ObjectId(index as u32));
        matches!(object.space, StateSpace::Global | StateSpace::Const)
            .then_some((ObjectId(index as u32), object))
    }

    /// The same, as the host uses it.
    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        let (id, object) = self.variable(name)?;
        let address = self.image.address(&self.image.windows, id, None)?;
        let address = self.image.windows.generic(object.space, address);
        Some(Symbol { address, bytes: Constant::size_of(object), space: object.space })
    }
}

/// The modules of a device, and the addresses that they take.
#[derive(Debug, Default)]
pub(super) struct Modules {
    loaded: BTreeMap<ModuleId, Arc<Module>>,
    next: u32,
    /// The lowest place for constants that no module has had.
    next_constants: u64,
    /// The lowest number of a function that no module has had.
    next_function: u64,
}

impl Modules {
    pub(super) fn get(&self, id: ModuleId) -> Result<Arc<Module>, ModuleError> {
        match self.loaded.get(&id) {
            Some(module) => Ok(module.clone()),
            None if id.0 < self.next => Err(ModuleError::Unloaded(id)),
            None => Err(ModuleError::Missing(id)),
        }
    }

    /// The module whose constants a generic address is in.
    pub(super) fn with_constants_at(&self, address: u64) -> Option<Arc<Module>> {
        let has = |module: &&Arc<Module>| module.image.windows.constant.contains(address);
        self.loaded.values().find(has).cloned()
    }

    /// A place for constants. Places that no module has had come first, so that addresses of unloaded modules stay
    /// invalid for as long as possible.
    fn constant_place(&mut self, windows: &Windows) -> Option<u64> {
        let most = windows.constant_places();
        let taken = |place: u64| self.loaded.values().any(|module| module.places.0 == place);
        let place = (self.next_constants < most).then_some(self.next_constants);
        let place = place.or_else(|| (0..most).find(|&place| !taken(place)))?;
        self.next_constants = self.next_constants.max(place + 1);
        Some(place)
    }

    /// The number of the first of `count` functions: one that no module has had, for as long as there are such.
    fn function_place(&mut self, windows: &Windows, count: u64) -> Option<u64> {
        // The first number of a module's range belongs to no function.
        let (count, most) = (count + 1, windows.function_places());
        if let Some(past) = self.next_function.checked_add(count).filter(|&past| past <= most) {
            return Some(std::mem::replace(&mut self.next_function, past));
        }
        let mut taken: Vec<(u64, u64)> = self
            .loaded
            .values()
            .map(|module| (module.places.1, module.image.functions.len() as u64 + 1))
            .collect();
        taken.sort_unstable();
        let mut free = 0;
        for (first, count_there) in taken {
            if first - free >= count {
                return Some(free);
            }
            free = first + count_there;
        }
        (most.saturating_sub(free) >= count).then_some(free)
    }
}

/// Reads and checks texts and links them, for a GPU if one is given.
pub(super) fn compile(
    sources: &[&str],
    arch: Option<Target>,
    red_zones: bool,
) -> Result<(Vec<Loaded>, Image), LoadError> {
    let mut units = Vec::new();
    let mut errors = Vec::new();
    let room = || has_room(sources.iter().copied()).map_err(LoadError::Memory);
    for (index, source) in sources.iter().enumerate() {
        room()?;
        let parsed = parse(source);
        room()?;
        let options = softwarp_check::Options { arch, relocatable: sources.len() > 1, strict: false };
        let (checked, references, found) = resolve_references(&parsed.module, source, options);
        let all = parsed.diagnostics.into_iter().chain(found);
        let (wrong, warnings): (Vec<_>, Vec<_>) = all.partition(|it| it.severity() == Severity::Error);
        errors.extend(wrong.into_iter().map(|diagnostic| (index as u32, diagnostic)));
        units.push(Loaded { source: (*source).into(), module: parsed.module, checked, references, warnings });
    }
    if !errors.is_empty() {
        return Err(LoadError::Invalid(errors));
    }
    room()?;
    let linked: Vec<Unit<'_>> =
        units.iter().map(|unit| Unit { module: &unit.module, checked: &unit.checked }).collect();
    let options = softwarp_image::Options { red_zones, ..softwarp_image::Options::default() };
    let image = lay_out(&linked, options).map_err(LoadError::Unlinked)?;
    Ok((units, image))
}

impl Device {
    /// Loads a module beside those that are there: texts, linked with one another and with no other module. Launches
    /// that run are not disturbed.
    pub fn load_module(&self, sources: &[&str], options: LoadOptions) -> Result<ModuleId, LoadError> {
        let (units, image) = compile(sources, options.arch.or(Some(self.arch)), options.red_zones)?;
        self.add_module(units, image, options.lowering())
    }

    /// Puts a module's variables and constants into memory.
    pub(super) fn add_module(
        &self,
        units: Vec<Loaded>,
        mut image: Image,
        options: lowering::Options,
    ) -> Result<ModuleId, LoadError> {
        let (module, device) = (image.header.address_bits, self.address_bits);
        if module != device {
            return Err(LoadError::AddressSize { module, device });
        }
        let mut modules = lock(&self.modules);
        let constants = modules.constant_place(&self.windows);
        let constants = constants.ok_or(LoadError::Addresses { what: "constants" })?;
        let functions = modules.function_place(&self.windows, image.functions.len() as u64);
        let functions = functions.ok_or(LoadError::Addresses { what: "functions" })?;
        let constant = Constant::new(&image).map_err(LoadError::Memory)?;
        let globals = self.place_variables(&image).map_err(LoadError::Memory)?;
        image.windows = self.windows.for_module(globals, constants, functions);
        let references = Mutex::new(Arc::new(TextureReferences::of(&image, &image.windows)));
        let module = Module {
            units,
            image,
            constant: Mutex::new(constant),
            references,
            options,
            programs: Mutex::default(),
            places: (constants, functions),
        };
        self.initialise(&module);
        let id = ModuleId(modules.next);
        modules.next += 1;
        modules.loaded.insert(id, Arc::new(module));
        Ok(id)
    }

    /// Takes global memory for a module's variables.
    fn place_variables(&self, image: &Image) -> Result<Window, MemoryError> {
        let globals = image.objects.iter().filter(|object| object.space == StateSpace::Global);
        let variables = globals.filter_map(|object| {
            Some(Variable { name: object.name.clone(), offset: object.offset?, bytes: object.total() })
        });
        let mut global = lock(&self.global);
        let base = global.add_variables(image.global.bytes, variables.collect())?;
        Ok(global.variables_window(base, image.global.bytes))
    }

    /// Gives a module's variables the values that they begin with.
    fn initialise(&self, module: &Module) {
        let (global, image) = (lock(&self.global), &module.image);
        let constant = lock(&module.constant);
        for index in 0..image.objects.len() {
            let id = ObjectId(index as u32);
            let object = image.object(id);
            let Some(offset) = object.offset else { continue };
            let (cells, offset) = match object.space {
                StateSpace::Global => match global.range(image.windows.globals.base, 0) {
                    Ok((cells, _)) => (cells, offset),
                    Err(_) => continue,
                },
                StateSpace::Const => (&*constant.cells, u64::from(object.bank) * BANK_BYTES + offset),
                _ => continue,
            };
            let Some(contents) = image.initial(&image.windows, id) else { continue };
            for run in &contents.runs {
                let fits = offset.checked_add(run.at).and_then(|at| at.checked_add(run.bytes.len() as u64));
                if fits.is_some_and(|end| end <= cells.len()) {
                    cells.write(offset + run.at, &run.bytes);
                }
            }
        }
    }

    /// Unloads a module: its variables and constants are gone, and launches of its kernels are refused. Launches that
    /// run go on to their end. Buffers and objects stay.
    pub fn unload_module(&self, id: ModuleId) -> Result<(), ModuleError> {
        let mut modules = lock(&self.modules);
        let module = modules.get(id)?;
        modules.loaded.remove(&id);
        // It is there: it was allocated when the module was loaded.
        let removed = lock(&self.global).remove_variables(module.image.windows.globals.base);
        debug_assert_eq!(removed, Ok(()));
        Ok(())
    }

    /// Makes a module's variables known at the address that they have for the host too, so that the host and kernels use
    /// the same pointers: managed variables. Gives the address of the first. [`Device::free`] undoes it, which must be
    /// done before the module is unloaded.
    pub fn map_variables(&self, id: ModuleId) -> Result<u64, MemoryError> {
        let module = self.module(id).map_err(|_| MemoryError::NotAllocated { address: 0 })?;
        lock(&self.global).map_variables(module.image.windows.globals.base)
    }

    /// A module.
    pub fn module(&self, id: ModuleId) -> Result<Arc<Module>, ModuleError> {
        lock(&self.modules).get(id)
    }

    /// The modules that are loaded, in the order in which they were.
    pub fn modules(&self) -> Vec<ModuleId> {
        lock(&self.modules).loaded.keys().copied().collect()
    }
}
