//! Modules, libraries, functions and linkers.

use crate::code::Code;
use crate::handle::{Handled, Kind, lock};
use crate::jit::{Logs, Options};
use crate::registers::{self, Registers};
use crate::waiting::may_wait;
use softwarp::image::FunctionId;
use softwarp::isa::Target;
use softwarp::lower::Fidelity;
use softwarp::vm::device::{Device as Machine, LoadError, LoadOptions, ModuleId};
use softwarp::vm::tuning::Tuning;
use softwarp_container::Text;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// PTX texts that are loaded together, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The texts.
    pub texts: Vec<String>,
    /// The assembler was told not to contract `mul` and `add`.
    pub no_fma: bool,
    /// The newest architecture in their `.target`s.
    pub target: Option<u32>,
    /// The GPU that they are for, if it is newer than the one that this is.
    pub newer: Option<Target>,
    /// The most registers that the assembler was told to use.
    pub max_registers: Option<u32>,
    /// The linker made them: functions that are no kernels can be found by name then.
    pub linked: bool,
}

/// A loaded module.
#[derive(Debug, Default)]
pub struct Module {
    /// The handle of its context.
    pub context: u64,
    /// Its number in the machine.
    pub id: ModuleId,
    /// The most registers that its kernels may use, if the assembler was told.
    pub max_registers: Option<u32>,
    /// The linker made it.
    pub linked: bool,
    /// The GPU that it is for, if it is newer than the one that this is.
    pub newer: Option<Target>,
    /// The handle of the library that it is of; 0 if it is none's.
    pub library: u64,
    /// Its functions that were asked for, by name: the bits of their handles.
    pub functions: Mutex<Vec<(String, u64)>>,
    /// Where its variables are for the host, once a managed one was asked for; 0 before.
    pub managed: AtomicU64,
}

impl Handled for Module {
    const KIND: Kind = Kind::Module;
}

/// A library: texts that are loaded when one of their kernels is first asked for.
#[derive(Debug, Default)]
pub struct Library {
    /// What it is made of; why not, if it cannot be read.
    pub texts: Option<Texts>,
    /// The code for what cannot be read.
    pub error: Option<Code>,
    /// How it is to be compiled.
    pub options: Options,
    /// Its module, once it is loaded: the bits of the handle.
    pub module: Mutex<Option<u64>>,
    /// Its kernels that were asked for, by name: the bits of their handles.
    pub kernels: Mutex<Vec<(String, u64)>>,
}

impl Handled for Library {
    const KIND: Kind = Kind::Library;
}

/// A linker.
#[derive(Debug, Default)]
pub struct Linker {
    /// What it has so far.
    pub state: Mutex<LinkerState>,
    /// Where its logs go.
    pub logs: Mutex<Logs>,
}

/// What a linker has.
#[derive(Debug, Default)]
pub struct LinkerState {
    /// The texts that were added.
    pub texts: Vec<Text>,
    /// The texts cannot be linked.
    pub failed: bool,
    /// PTX was added as an object, and nothing can be added since.
    pub broken: bool,
    /// What `cuLinkComplete` gave: it stays until the linker is destroyed.
    pub image: Option<Box<[u8]>>,
}

impl Handled for Linker {
    const KIND: Kind = Kind::Link;
}

/// A function of a module that can be launched (`CUfunction`).
#[derive(Debug)]
pub struct Function {
    /// The handle of its context.
    pub context: u64,
    /// The handle of its module.
    pub module: u64,
    /// The module's number in the machine.
    pub id: ModuleId,
    /// Its name, and the same for C.
    pub name: String,
    /// The sizes of its parameters, and where each begins.
    pub parameters: Vec<(u64, u64)>,
    /// Bytes of all parameters.
    pub parameter_bytes: u64,
    /// Bytes of shared memory that it declares, up to where the array without size begins if it has one.
    pub shared: u64,
    /// The same without what lies before that array.
    pub declared_shared: u64,
    /// Bytes of local memory that each thread needs.
    pub local: u64,
    /// Bytes of constant memory of its module.
    pub constant: u64,
    /// The most bytes of dynamic shared memory that a launch may ask for.
    pub most_dynamic: AtomicU32,
    /// Whether clusters of more than 8 CTAs are allowed.
    pub large_clusters: AtomicU32,
    /// Whether it may wait for the host or for other streams (`waiting.rs`).
    pub may_wait: bool,
    /// How much of the first-level cache is to be shared memory, as it was set.
    pub carveout: AtomicI32,
    /// What is known of the registers of a thread.
    pub registers: Registers,
    /// The architecture of its `.target`.
    pub target: u16,
    /// The GPU that its module is for, if it is newer than the one that this is.
    pub newer: Option<Target>,
    /// What its directives ask of launches.
    pub directives: Tuning,
    /// The cluster that launches have which name none, as it was set; 0 is none.
    pub cluster: Mutex<[u32; 3]>,
}

/// A library's kernel (`CUkernel`): its function in the library's module.
#[derive(Debug, Default)]
pub struct Kernel {
    /// The handle of the function.
    pub function: u64,
    /// The handle of the library.
    pub library: u64,
}

impl Handled for Kernel {
    const KIND: Kind = Kind::Kernel;
}

impl Handled for Function {
    const KIND: Kind = Kind::Function;
}

/// Functions of the device runtime, which programs link with `libcudadevrt.a`: PTX that is linked where it is needed.
/// The texts, each with how the names of its functions begin.
const DEVICE_RUNTIME: [(&str, &[&str]); 2] = [
    (include_str!("device_runtime.ptx"), &["cudaCG", "cudaGraphSetConditional"]),
    (include_str!("device_launch.ptx"), &["__cudaCDP2", "cudaLaunchDeviceV2", "cudaGetParameterBufferV2"]),
];

/// Loads texts into the machine.
pub fn load(machine: &Machine, texts: &Texts, red_zones: bool) -> Result<ModuleId, LoadError> {
    let mut sources: Vec<&str> = texts.texts.iter().map(String::as_str).collect();
    let is_used = |name: &&str| texts.texts.iter().any(|text| text.contains(*name));
    let used = DEVICE_RUNTIME.iter().filter(|(_, names)| names.iter().any(is_used));
    sources.extend(used.map(|(text, _)| text));
    let mut fidelity = Fidelity::default();
    if texts.no_fma {
        fidelity.contraction = false;
    }
    let options = LoadOptions { arch: texts.newer, red_zones, fidelity, ..LoadOptions::default() };
    machine.load_module(&sources, options)
}

/// Bytes of shared memory that a block may have unless more is asked for.
const DEFAULT_SHARED: u64 = 48 << 10;

impl Function {
    /// A kernel of a module by name.
    ///
    /// In a module of the linker, any function is found; one that is no kernel cannot be launched.
    pub fn find(machine: &Machine, from: &Module, name: &str) -> Option<Function> {
        let id = from.id;
        let module = machine.module(id).ok()?;
        let is = |function: &softwarp::image::Function| {
            (function.entry || from.linked) && function.defined && &*function.name == name
        };
        let index = module.image.functions.iter().position(is)?;
        let function = module.image.function(FunctionId(index as u32));
        let parameters = function.parameters.iter().map(|&id| {
            let object = module.image.object(id);
            (object.total(), object.offset.unwrap_or(0))
        });
        let program = module.program(name).ok();
        let mut functions = program.iter().flat_map(|program| program.functions());
        let may_wait = functions.any(may_wait);
        let registers = program.as_ref().map_or_else(Registers::default, |it| registers::of(it.functions()));
        let target = module.units.iter().map(|unit| unit.checked.header.target.sm()).max().unwrap_or(0);
        let shared = function.dynamic_shared.unwrap_or(function.shared.bytes);
        // Variables of more than 48 KiB leave what the GPU has besides them, as recorded.
        let most = if shared > DEFAULT_SHARED {
            module.image.header.arch.properties().cta_shared
        } else {
            DEFAULT_SHARED
        };
        let directives = module.directives(name).unwrap_or_default();
        Some(Function {
            context: 0,
            module: 0,
            id,
            name: name.into(),
            parameters: parameters.collect(),
            parameter_bytes: function.parameter_extent.bytes,
            shared,
            declared_shared: function.shared.bytes,
            local: function.frame.bytes,
            constant: module.image.constant.iter().map(|bank| bank.bytes).sum(),
            most_dynamic: AtomicU32::new(u32::try_from(most.saturating_sub(shared)).unwrap_or(0)),
            large_clusters: AtomicU32::new(0),
            may_wait,
            carveout: AtomicI32::new(-1),
            registers: registers.limited(&directives, from.max_registers),
            target,
            newer: from.newer,
            directives,
            cluster: Mutex::new(directives.cluster.unwrap_or_default()),
        })
    }

    /// The most threads of a block. What `.reqntid` says does not count, as recorded.
    pub fn most_threads(&self) -> u64 {
        self.directives.most_threads.unwrap_or(1024).min(1024).min(self.registers.most_threads())
    }

    /// Whether launches must name a cluster.
    pub fn needs_cluster(&self) -> bool {
        self.directives.explicit || self.directives.most_ctas.is_some()
    }

    /// The cluster that launches have which name none, if one was set.
    pub fn set_cluster(&self) -> Option<[u32; 3]> {
        let cluster = *lock(&self.cluster);
        (!cluster.contains(&0)).then_some(cluster)
    }

    /// The most bytes of dynamic shared memory of a launch.
    pub fn most_dynamic(&self) -> u32 {
        self.most_dynamic.load(Ordering::SeqCst)
    }
}
