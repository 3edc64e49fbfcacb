//! The code that programs register when they start: fat binaries with their kernels and variables.
//!
//! A fat binary is loaded as a library of the driver when something of it is first used. Kernels and variables are known
//! by addresses of the host: those of the functions and variables that nvcc makes for them there.

use crate::code::{Code, Done};
use crate::context::{ensure_context, lock};
use crate::driver::library as driver;
use crate::ffi::{In, Out, Text};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::Mutex;

/// A registered fat binary.
struct Binary {
    wrapper: u64,
    /// The driver's library, or why there is none.
    library: Option<Result<u64, Code>>,
    /// Managed variables: where the program wants to know their addresses, and their names.
    managed: Vec<(Out<u64>, CString)>,
}

/// A kernel or variable, known by an address of the host.
struct Item {
    binary: u64,
    name: CString,
    /// The kernel, once it was asked for; or why there is none.
    kernel: Option<Result<u64, Code>>,
    managed: bool,
}

struct Registry {
    binaries: BTreeMap<u64, Binary>,
    functions: BTreeMap<u64, Item>,
    variables: BTreeMap<u64, Item>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    binaries: BTreeMap::new(),
    functions: BTreeMap::new(),
    variables: BTreeMap::new(),
});

/// Registers a fat binary by its wrapper, and gives its handle.
pub fn add_binary(wrapper: u64) -> u64 {
    // The handle is the address of a pointer to the wrapper. It stays, since some programs read it late.
    let handle = std::ptr::from_mut(Box::leak(Box::new(wrapper))) as u64;
    lock(&REGISTRY).binaries.insert(handle, Binary { wrapper, library: None, managed: Vec::new() });
    handle
}

/// Forgets a fat binary and all of it.
pub fn remove_binary(handle: u64) {
    let mut registry = lock(&REGISTRY);
    registry.functions.retain(|_, item| item.binary != handle);
    registry.variables.retain(|_, item| item.binary != handle);
    if let Some(Binary { library: Some(Ok(library)), .. }) = registry.binaries.remove(&handle) {
        drop(registry);
        // At the end of the process the driver may be gone already.
        let _ = driver::cuLibraryUnload(library);
    }
}

/// Registers a kernel. The first one of an address counts.
pub fn add_function(binary: u64, host: u64, name: CString) {
    let item = Item { binary, name, kernel: None, managed: false };
    lock(&REGISTRY).functions.entry(host).or_insert(item);
}

/// Registers a variable. The first one of an address counts.
pub fn add_variable(binary: u64, host: u64, name: CString) {
    let item = Item { binary, name, kernel: None, managed: false };
    lock(&REGISTRY).variables.entry(host).or_insert(item);
}

/// Registers a managed variable. The program reads its address from a place of its own.
pub fn add_managed(binary: u64, place: Out<u64>, name: CString) {
    let mut registry = lock(&REGISTRY);
    let item = Item { binary, name: name.clone(), kernel: None, managed: true };
    registry.variables.entry(place.address()).or_insert(item);
    if let Some(binary) = registry.binaries.get_mut(&binary) {
        binary.managed.push((place, name));
    }
}

impl Registry {
    /// The library of a fat binary, loaded if it is not.
    fn library(&mut self, handle: u64) -> Result<u64, Code> {
        let binary = self.binaries.get_mut(&handle).ok_or(Code::INVALID_RESOURCE_HANDLE)?;
        if let Some(library) = binary.library {
            return library;
        }
        let library = load(binary.wrapper);
        binary.library = Some(library);
        let library = library?;
        for (place, name) in &binary.managed {
            let mut address = 0;
            driver::cuLibraryGetManaged(Out::of(&mut address), Out::NULL, library, Text::of(name))?;
            place.set_if_any(address);
        }
        Ok(library)
    }
}

/// The wrapper of a fat binary, as nvcc writes it.
const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// A wrapper of this version has a list of fat binaries that are to be linked.
const WITH_PARTS: u32 = 2;
/// The header of a fat binary: u32 magic, u16 version, u16 size of the header, u64 size of what follows.
const FATBIN_HEADER: u64 = 16;
/// `CU_JIT_INPUT_FATBINARY`.
const FATBIN_INPUT: u32 = 2;
/// `CU_JIT_ERROR_LOG_BUFFER` and the size of it.
const ERROR_LOG: u32 = 5;
const ERROR_LOG_BYTES: u32 = 6;
const LOG_BYTES: usize = 8192;
/// The most parts of a program.
const MOST_PARTS: usize = 1 << 16;

/// The fat binaries that a wrapper lists: those of the translation units of a program with relocatable code.
fn parts(wrapper: u64) -> Result<Vec<u64>, Code> {
    let words: In<u32> = In::at(wrapper);
    if words.get()? != WRAPPER_MAGIC || words.get_at(1)? != WITH_PARTS {
        return Ok(Vec::new());
    }
    let list: In<u64> = In::at(words.cast::<u64>().get_at(2)?);
    let mut found = Vec::new();
    while !list.is_null() && found.len() < MOST_PARTS {
        match list.get_at(found.len())? {
            0 => break,
            part => found.push(part),
        }
    }
    Ok(found)
}

/// Loads a fat binary by its wrapper.
fn load(wrapper: u64) -> Result<u64, Code> {
    let parts = parts(wrapper)?;
    if parts.is_empty() {
        return load_code(wrapper);
    }
    let mut log = vec![0_u8; LOG_BYTES];
    let mut values = [Out::of(&mut log[0]).address(), LOG_BYTES as u64];
    let mut linker = 0;
    let options = [ERROR_LOG, ERROR_LOG_BYTES];
    let places = Out::of(&mut values).cast();
    driver::cuLinkCreate_v2(options.len() as u32, In::of_all(&options), places, Out::of(&mut linker))?;
    let loaded = link(linker, &parts).and_then(load_code);
    driver::cuLinkDestroy(linker)?;
    if loaded.is_err() {
        let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
        eprintln!("softwarp: {}", String::from_utf8_lossy(text));
    }
    loaded
}

/// Links fat binaries; the result belongs to the linker.
fn link(linker: u64, parts: &[u64]) -> Result<u64, Code> {
    for part in parts {
        let header: In<u64> = In::at(*part);
        let bytes = header.get_at(1)?.checked_add(FATBIN_HEADER).ok_or(Code::INVALID_KERNEL_IMAGE)?;
        let bytes = usize::try_from(bytes).map_err(|_| Code::INVALID_KERNEL_IMAGE)?;
        let name = Text::of(c"part of the program");
        match driver::cuLinkAddData_v2(linker, FATBIN_INPUT, *part, bytes, name, 0, In::NULL, In::NULL) {
            // The device runtime that nvcc adds has no PTX; the driver knows its functions. What else is missing is
            // found when it is used.
            Ok(()) | Err(Code::NO_KERNEL_IMAGE_FOR_DEVICE) => {}
            Err(code) => return Err(code),
        }
    }
    let mut code = 0;
    let mut bytes = 0;
    driver::cuLinkComplete(linker, Out::of(&mut code), Out::of(&mut bytes))?;
    Ok(code)
}

fn load_code(code: u64) -> Result<u64, Code> {
    let mut library = 0;
    driver::cuLibraryLoadData(Out::of(&mut library), code, In::NULL, In::NULL, 0, In::NULL, In::NULL, 0)?;
    Ok(library)
}

/// Loads all of a fat binary, so that its managed variables have addresses.
pub fn init_binary(handle: u64) -> Done {
    ensure_context()?;
    lock(&REGISTRY).library(handle).map(|_| ())
}

/// Nothing lies below this address in a process: Linux does not map it.
const FIRST_ADDRESS: u64 = 0x10000;

/// The driver's kernel for what programs pass as a function: an address of the host that was registered, else a handle.
pub fn kernel(function: u64) -> Result<u64, Code> {
    let mut registry = lock(&REGISTRY);
    let Some(item) = registry.functions.get(&function) else {
        return if function < FIRST_ADDRESS { Err(Code::INVALID_DEVICE_FUNCTION) } else { Ok(function) };
    };
    if let Some(kernel) = item.kernel {
        return kernel;
    }
    let (binary, name) = (item.binary, item.name.clone());
    let mut found = 0;
    let kernel = registry
        .library(binary)
        .and_then(|library| driver::cuLibraryGetKernel(Out::of(&mut found), library, Text::of(&name)))
        .map(|()| found);
    let kernel = kernel.map_err(|code| match code {
        Code::SYMBOL_NOT_FOUND => {
            without_ptx(&name);
            Code::INVALID_DEVICE_FUNCTION
        }
        Code::NO_KERNEL_IMAGE_FOR_DEVICE => {
            without_ptx(&name);
            code
        }
        code => code,
    });
    // What may be there later is asked for again.
    let stays = match kernel {
        Ok(_) => true,
        Err(code) => matches!(code, Code::INVALID_DEVICE_FUNCTION | Code::NO_KERNEL_IMAGE_FOR_DEVICE),
    };
    if let Some(item) = registry.functions.get_mut(&function).filter(|_| stays) {
        item.kernel = Some(kernel);
    }
    kernel
}

/// Names a kernel that cannot be launched.
fn without_ptx(name: &CStr) {
    eprintln!(
        "softwarp: kernel `{}` cannot be launched: the program has no PTX of it",
        name.to_string_lossy()
    );
}

/// Whether an address of the host is that of a registered kernel.
pub fn is_registered(function: u64) -> bool {
    lock(&REGISTRY).functions.contains_key(&function)
}

/// The address of the host that stands for a kernel of the driver, if the program registered it.
pub fn host_of(kernel: u64) -> Option<u64> {
    lock(&REGISTRY).functions.iter().find(|(_, item)| item.kernel == Some(Ok(kernel))).map(|(host, _)| *host)
}

/// The function of a kernel in the current context.
pub fn function(function: u64) -> Result<u64, Code> {
    let kernel = kernel(function)?;
    let mut in_context = 0;
    match driver::cuKernelGetFunction(Out::of(&mut in_context), kernel) {
        Ok(()) => Ok(in_context),
        // A handle may be that of a function itself.
        Err(Code::INVALID_RESOURCE_HANDLE) if !is_registered(function) => Ok(kernel),
        Err(code) => Err(code),
    }
}

/// The address and size of a variable in the current context.
pub fn variable(host: u64) -> Result<(u64, usize), Code> {
    let mut registry = lock(&REGISTRY);
    // A program names a managed variable by its address, which it has read from its place.
    let is_it = |(place, _): &&(Out<u64>, CString)| place.get() == Ok(host);
    let mut managed = registry.binaries.values().flat_map(|binary| &binary.managed);
    let place = managed.find(is_it).map_or(host, |(place, _)| place.address());
    let item = registry.variables.get(&place).ok_or(Code::INVALID_SYMBOL)?;
    let (binary, name, managed) = (item.binary, item.name.clone(), item.managed);
    let library = registry.library(binary)?;
    let (mut address, mut bytes) = (0, 0);
    let get = if managed { driver::cuLibraryGetManaged } else { driver::cuLibraryGetGlobal };
    get(Out::of(&mut address), Out::of(&mut bytes), library, Text::of(&name))
        .map_err(|code| if code == Code::SYMBOL_NOT_FOUND { Code::INVALID_SYMBOL } else { code })?;
    Ok((address, bytes))
}

/// Forgets what was loaded, since a device was reset; what is used again is loaded again.
pub fn forget_loaded() {
    let mut registry = lock(&REGISTRY);
    let mut libraries = Vec::new();
    for binary in registry.binaries.values_mut() {
        if let Some(Ok(library)) = binary.library.take() {
            libraries.push(library);
        }
    }
    for item in registry.functions.values_mut() {
        item.kernel = None;
    }
    drop(registry);
    for library in libraries {
        let _ = driver::cuLibraryUnload(library);
    }
}
