//! Modules, libraries and the linker (driver API: "Module Management", "Library Management").

use crate::assembler_log::{self, explain};
use crate::code::{Code, Done, ensure};
use crate::config::ptx_of;
use crate::driver::{Driver, Unloading, current, driver, ending};
use crate::ffi::{CodeAt, Host, In, Out, Text};
use crate::handle::{Handle, Missing, lock};
use crate::info_log;
use crate::jit::Logs;
use crate::memory::{Block, Kind};
use crate::module::{Function, Kernel, Library, Module, Texts, load};
use softwarp::check::{Options, resolve_references};
use softwarp::image::Object;
use softwarp::isa::{StateSpace, Target};
use softwarp::syntax::parse;
use softwarp_container::{self as container, Found, ReadError, Source, Wanted};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What is at a pointer, as texts for the GPU, or the code and the words for what is wrong.
pub(crate) fn texts_at<'a>(driver: &Driver, image: &impl Source<'a>) -> Result<Texts, (Code, String)> {
    let refused = |error: ReadError| {
        let (log, own) = assembler_log::container(&error);
        own.iter().for_each(|own| complain(own));
        (Code(error.code()), log)
    };
    let mut found = container::read(image).map_err(refused)?;
    if let Found::Wrapper(wrapper) = &found {
        // SAFETY: what a wrapper points to is code and stays as long as the wrapper, as the format of programs has it.
        let code = unsafe { CodeAt::new(Host::at(wrapper.data)) };
        found = container::read(&code).map_err(refused)?;
    }
    let Found::Image(image) = found else {
        return Err((Code::INVALID_IMAGE, "a wrapper of a wrapper".into()));
    };
    let linked = image.form == container::Form::Linked;
    let device = u32::from(driver.config.arch.sm());
    let wanted =
        if driver.config.takes_newer { Wanted::DeviceOrNewer(device) } else { Wanted::Device(device) };
    let chosen = image.choose(wanted).map_err(refused)?;
    let newest = driver.config.ptx_version;
    if let Some(version) =
        chosen.texts.iter().filter_map(|text| text.version).find(|&version| version > newest)
    {
        return Err((
            Code::UNSUPPORTED_PTX_VERSION,
            assembler_log::newer_version(version, ptx_of(driver.config.version)),
        ));
    }
    let no_fma = chosen.texts.iter().any(|text| text.options.fmad == Some(false));
    let target = chosen.texts.iter().filter_map(|text| text.arch).map(|arch| arch.number).max();
    let newer = driver.config.newer(chosen.texts.iter().filter_map(|text| text.arch));
    let max_registers = chosen.texts.iter().filter_map(|text| text.options.max_registers).min();
    let texts = chosen.texts.into_iter().map(|text| text.source).collect();
    Ok(Texts { texts, no_fma, target, newer, max_registers, linked })
}

/// Says on stderr what is wrong with code, unless the caller has asked for it.
fn complain(log: &str) {
    if !log.is_empty() {
        eprintln!("softwarp: {log}");
    }
}

/// Loads texts and makes a module of them.
fn load_texts(
    driver: &Driver,
    context: u64,
    texts: &Texts,
    library: u64,
) -> Result<Handle<Module>, (Code, String)> {
    let id = load(&driver.machine, texts, driver.config.sanitize.bounds)
        .map_err(|error| explain(&error, texts))?;
    let &Texts { max_registers, linked, newer, .. } = texts;
    let module = Module { context, id, max_registers, linked, newer, library, ..Module::default() };
    let handle = driver.modules.insert(Arc::new(module)).ok_or((Code::OUT_OF_MEMORY, String::new()))?;
    if let Ok(loaded) = driver.machine.module(id) {
        let names = loaded.image.objects.iter().filter(|object| object.function.is_none());
        let mut blocks = lock(&driver.blocks);
        for object in names {
            if let Some(symbol) = loaded.symbol(&object.name).filter(|symbol| symbol.bytes > 0) {
                let kind = Kind::Variable(handle.bits());
                let (base, bytes) = (symbol.address, symbol.bytes);
                blocks.insert(Block { base, bytes, kind, flags: 0, context, device: 0, id: 0 });
            }
        }
    }
    Ok(handle)
}

/// Unloads a module.
pub(crate) fn unload(driver: &Driver, handle: Handle<Module>) -> Done {
    let module = driver.modules.remove(handle).map_err(|_| Code::INVALID_HANDLE)?;
    lock(&driver.blocks).take(|block| block.kind == Kind::Variable(handle.bits()));
    let managed = module.managed.load(Ordering::SeqCst);
    if let Some(block) = lock(&driver.blocks).remove(managed) {
        driver.release(&block);
    }
    for (_, function) in lock(&module.functions).drain(..) {
        let _ = driver.functions.remove(Handle::of(function));
    }
    driver.machine.unload_module(module.id).map_err(|_| Code::INVALID_HANDLE)
}

/// Unloads a library's module when all work that was submitted is done. The call does not wait: `dlclose` of a library of
/// the program unloads its kernels while it holds the loader's lock, which the threads that run them may need.
fn unload_later(driver: &Driver, handle: Handle<Module>) -> Done {
    let after: Vec<_> = driver.all_streams().iter().filter_map(|stream| stream.pending()).collect();
    if after.is_empty() {
        return unload(driver, handle);
    }
    lock(&driver.unloading).push(Unloading { module: handle, after });
    Ok(())
}

/// Unloads modules whose work is done.
fn unload_ended(driver: &Driver) {
    let is_ended = |it: &mut Unloading| it.after.iter().all(|done| done.is_done());
    let ended: Vec<Unloading> = lock(&driver.unloading).extract_if(.., is_ended).collect();
    for Unloading { module, .. } in ended {
        let _ = unload(driver, module);
    }
}

/// A function of a module, by name; made when it is first asked for.
fn function(driver: &Driver, handle: Handle<Module>, name: &str) -> Result<Handle<Function>, Code> {
    let module = driver.modules.get(handle).map_err(|_| Code::INVALID_HANDLE)?;
    let mut functions = lock(&module.functions);
    if let Some((_, found)) = functions.iter().find(|(known, _)| known == name) {
        return Ok(Handle::of(*found));
    }
    let found = Function::find(&driver.machine, &module, name).ok_or(Code::NOT_FOUND)?;
    let found = Function { context: module.context, module: handle.bits(), ..found };
    let made = driver.functions.insert(Arc::new(found)).ok_or(Code::OUT_OF_MEMORY)?;
    functions.push((name.into(), made.bits()));
    Ok(made)
}

/// Whether texts can be compiled for the GPU that the caller names, and run on this one.
fn check_target(driver: &Driver, asked: Option<u32>, texts: &Texts) -> Result<(), (Code, String)> {
    let Some(asked) = asked else { return Ok(()) };
    if Target::from_name(&format!("sm_{asked}")).is_none() {
        return Err((Code::INVALID_IMAGE, String::new()));
    }
    if texts.target.is_some_and(|target| target > asked) {
        return Err((Code::INVALID_PTX, assembler_log::NEWER_TARGET.into()));
    }
    let runs = asked <= u32::from(driver.config.arch.sm());
    if runs { Ok(()) } else { Err((Code::INVALID_SOURCE, String::new())) }
}

/// What the assembler warns of, for the info log.
fn warnings(driver: &Driver, texts: &Texts) -> String {
    let mut lines = Vec::new();
    for source in &texts.texts {
        let relocatable = texts.texts.len() > 1;
        let arch = texts.newer.unwrap_or(driver.config.arch);
        let options = Options { arch: Some(arch), relocatable, strict: false };
        let (_, _, found) = resolve_references(&parse(source).module, source, options);
        lines.extend(found.iter().filter_map(|diagnostic| assembler_log::warning(diagnostic, source)));
    }
    lines.join("\n")
}

/// Loads texts as the options say. The info log has what the assembler warns of, and what kernels take if that is asked
/// for.
fn load_with(
    driver: &Driver,
    context: u64,
    texts: Texts,
    library: u64,
    logs: &Logs,
    info: &mut String,
) -> Result<Handle<Module>, (Code, String)> {
    let options = &logs.options;
    let limits = options.register_limit().into_iter().chain(texts.max_registers);
    let texts = Texts { no_fma: texts.no_fma || options.no_fma, max_registers: limits.min(), ..texts };
    let target = check_target(driver, options.target, &texts);
    // What is for another GPU is compiled all the same, and cannot be loaded then.
    if let Err((code, log)) = &target
        && *code != Code::INVALID_SOURCE
    {
        return Err((*code, log.clone()));
    }
    if logs.has_info() {
        *info = warnings(driver, &texts);
    }
    let started = Instant::now();
    let loaded = load_texts(driver, context, &texts, library)?;
    let spent = started.elapsed();
    logs.write_time(spent);
    if logs.has_info() && options.verbose {
        let number = options.target.unwrap_or(driver.config.arch.sm().into());
        let arch = [format!("sm_{number}a"), format!("sm_{number}")];
        let arch = arch.iter().find(|name| Target::from_name(name).is_some());
        let arch = arch.map_or("", String::as_str);
        let lines = driver.modules.get(loaded).map_or_else(
            |_| String::new(),
            |module| info_log::lines(&driver.machine, &module, options, arch, spent),
        );
        *info = [std::mem::take(info), lines]
            .into_iter()
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
            .join("\n");
    }
    match target {
        Ok(()) => Ok(loaded),
        Err(refused) => {
            let _ = unload(driver, loaded);
            Err(refused)
        }
    }
}

fn load_data(to: Out<Handle<Module>>, image: Host, logs: &Logs) -> Done {
    let (driver, context) = current()?;
    ensure(!image.is_null(), Code::INVALID_VALUE)?;
    to.required()?;
    driver.synchronize(&context)?;
    let mut info = String::new();
    // SAFETY: the caller passes code, which stays for the time of the call.
    let code = unsafe { CodeAt::new(image) };
    let loaded = texts_at(driver, &code)
        .and_then(|texts| load_with(driver, context.handle, texts, 0, logs, &mut info));
    to.set(reported(loaded, logs, &info)?)
}

/// Writes the logs of a load; says on stderr what the caller did not ask for.
fn reported<T>(loaded: Result<T, (Code, String)>, logs: &Logs, info: &str) -> Result<T, Code> {
    loaded.inspect(|_| logs.write("", info)).map_err(|(code, log)| {
        logs.write(&log, info);
        if !logs.has_error() {
            complain(&log);
        }
        code
    })
}

/// The module of a library, loaded when it is first needed.
fn module_of(driver: &Driver, handle: Handle<Library>) -> Result<Handle<Module>, Code> {
    load_library(driver, handle, &Logs::default())
}

/// The same; the logs are written if it is loaded now.
fn load_library(driver: &Driver, handle: Handle<Library>, logs: &Logs) -> Result<Handle<Module>, Code> {
    let library = driver.libraries.get(handle).map_err(|_| Code::INVALID_HANDLE)?;
    let mut module = lock(&library.module);
    if let Some(module) = *module {
        return Ok(Handle::of(module));
    }
    let Some(texts) = &library.texts else { return Err(library.error.unwrap_or(Code::INVALID_IMAGE)) };
    let mut info = String::new();
    let mut logs = *logs;
    logs.options = library.options;
    // A library's code is of every context.
    let loaded = load_with(driver, 0, texts.clone(), handle.bits(), &logs, &mut info);
    let loaded = reported(loaded, &logs, &info)?;
    *module = Some(loaded.bits());
    Ok(loaded)
}

fn name_of(name: Text<'_>) -> Result<String, Code> {
    name.get()?.to_str().map(str::to_owned).map_err(|_| Code::NOT_FOUND)
}

crate::entries! {
    /// Loads a module.
    fn cuModuleLoadData(to: Out<Handle<Module>>, image: Host) {
        load_data(to, image, &Logs::default())
    }

    /// Loads a module with options.
    fn cuModuleLoadDataEx(to: Out<Handle<Module>>, image: Host, count: u32, options: In<u32>, values: Out<u64>) {
        let logs = current().and_then(|_| Logs::read(count, options, values))?;
        load_data(to, image, &logs)
    }

    /// Loads a module from a fat binary.
    fn cuModuleLoadFatBinary(to: Out<Handle<Module>>, image: Host) {
        load_data(to, image, &Logs::default())
    }

    /// Loads a module from a file.
    fn cuModuleLoad(to: Out<Handle<Module>>, path: Text<'_>) {
        current()?;
        to.required()?;
        let path = name_of(path)?;
        ensure(!path.is_empty(), Code::INVALID_VALUE)?;
        let bytes = file(&path)?;
        load_data(to, Host::of(&bytes), &Logs::default())
    }

    /// Unloads a module.
    fn cuModuleUnload(module: Handle<Module>) {
        let driver = driver()?;
        let found = driver.modules.get(module).map_err(|_| Code::INVALID_HANDLE)?;
        driver.check_fault()?;
        ensure(found.library == 0, Code::NOT_PERMITTED)?;
        driver.captures.forbid_unsafe()?;
        if let Ok(context) = driver.contexts.get(Handle::of(found.context)) {
            driver.synchronize(&context)?;
        }
        unload(driver, module)
    }

    /// How modules are loaded: lazily.
    fn cuModuleGetLoadingMode(mode: Out<u32>) {
        driver()?;
        mode.set(2)
    }

    /// A kernel of a module.
    fn cuModuleGetFunction(to: Out<Handle<Function>>, module: Handle<Module>, name: Text<'_>) {
        let driver = driver()?;
        driver.modules.get(module).map_err(|_| Code::INVALID_HANDLE)?;
        driver.check_noticed_fault()?;
        to.required()?;
        let name = name_of(name)?;
        ensure(!name.is_empty(), Code::INVALID_VALUE)?;
        let found = function(driver, module, &name);
        to.set_if_any(*found.as_ref().unwrap_or(&Handle::NULL));
        found.map(drop)
    }

    /// How many kernels a module has.
    fn cuModuleGetFunctionCount(count: Out<u32>, module: Handle<Module>) {
        let (driver, _) = current()?;
        count.set(names(driver, module)?.len() as u32)
    }

    /// The kernels of a module, up to a number.
    fn cuModuleEnumerateFunctions(to: Out<Handle<Function>>, most: u32, module: Handle<Module>) {
        let (driver, _) = current()?;
        to.required()?;
        for (index, name) in names(driver, module)?.iter().take(most as usize).enumerate() {
            to.set_at(index, function(driver, module, name)?);
        }
        Ok(())
    }

    /// A variable of a module.
    fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle<Module>, name: Text<'_>) {
        let found = global(module, name, address.is_null() && bytes.is_null());
        let (base, size) = *found.as_ref().unwrap_or(&(0, 0));
        address.set_if_any(base);
        bytes.set_if_any(size as usize);
        found.map(drop)
    }

    /// Makes a library of code. It is looked at when a kernel is first asked for.
    fn cuLibraryLoadData(
        to: Out<Handle<Library>>, image: Host, options: In<u32>, values: Out<u64>, count: u32,
        library_options: In<u32>, library_values: Out<u64>, library_count: u32,
    ) {
        let driver = driver()?;
        to.required()?;
        ensure(!image.is_null(), Code::INVALID_VALUE)?;
        ensure(count == 0 || !options.is_null() && !values.is_null(), Code::INVALID_VALUE)?;
        let logs = library_logs(options, values, count)?;
        check_library_options(library_options, library_values, library_count)?;
        to.set(library(driver, image, &logs)?)
    }

    /// Makes a library of the code in a file.
    fn cuLibraryLoadFromFile(
        to: Out<Handle<Library>>, path: Text<'_>, options: In<u32>, values: Out<u64>, count: u32,
        library_options: In<u32>, library_values: Out<u64>, library_count: u32,
    ) {
        let driver = driver()?;
        to.required()?;
        ensure(count == 0 || !options.is_null() && !values.is_null(), Code::INVALID_VALUE)?;
        let logs = library_logs(options, values, count)?;
        check_library_options(library_options, library_values, library_count)?;
        let bytes = file(&name_of(path)?)?;
        to.set(library(driver, Host::of(&bytes), &logs)?)
    }

    /// Unloads a library.
    fn cuLibraryUnload(library: Handle<Library>) {
        let driver = driver()?;
        let library = driver.libraries.remove(library).map_err(|_| Code::INVALID_HANDLE)?;
        driver.check_fault()?;
        unload_ended(driver);
        for (_, kernel) in lock(&library.kernels).drain(..) {
            let _ = driver.kernels.remove(Handle::of(kernel));
        }
        match *lock(&library.module) {
            Some(module) => unload_later(driver, Handle::of(module)),
            None => Ok(()),
        }
    }

    /// A kernel of a library.
    fn cuLibraryGetKernel(to: Out<Handle<Kernel>>, library: Handle<Library>, name: Text<'_>) {
        let driver = driver()?;
        to.required()?;
        let name = name_of(name)?;
        to.set(kernel(driver, library, &name)?)
    }

    /// How many kernels a library has.
    fn cuLibraryGetKernelCount(count: Out<u32>, library: Handle<Library>) {
        let driver = driver()?;
        let module = module_of(driver, library)?;
        count.set(names(driver, module)?.len() as u32)
    }

    /// The kernels of a library, up to a number.
    fn cuLibraryEnumerateKernels(to: Out<Handle<Kernel>>, most: u32, library: Handle<Library>) {
        let driver = driver()?;
        to.required()?;
        let module = module_of(driver, library)?;
        for (index, name) in names(driver, module)?.iter().take(most as usize).enumerate() {
            to.set_at(index, kernel(driver, library, name)?);
        }
        Ok(())
    }

    /// The library of a kernel.
    fn cuKernelGetLibrary(to: Out<Handle<Library>>, of: Handle<Kernel>) {
        let driver = driver()?;
        let found = driver.kernels.get(of).map_err(|_| Code::INVALID_HANDLE)?;
        to.set(Handle::of(found.library))
    }

    /// The module of a library.
    fn cuLibraryGetModule(to: Out<Handle<Module>>, library: Handle<Library>) {
        let (driver, _) = current()?;
        to.required()?;
        to.set(module_of(driver, library)?)
    }

    /// A variable of a library.
    fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: Handle<Library>, name: Text<'_>) {
        let (driver, _) = current()?;
        let module = module_of(driver, library)?;
        let (base, size) = global(module, name, address.is_null() && bytes.is_null())?;
        address.set_if_any(base);
        bytes.set_if_any(size as usize);
        Ok(())
    }

    /// A managed variable of a library. A variable of another kind is not found.
    fn cuLibraryGetManaged(address: Out<u64>, bytes: Out<usize>, library: Handle<Library>, name: Text<'_>) {
        let (driver, _) = current()?;
        let module = module_of(driver, library)?;
        let module = driver.modules.get(module).map_err(|_| Code::INVALID_HANDLE)?;
        ensure(!address.is_null() || !bytes.is_null(), Code::INVALID_VALUE)?;
        let (base, size) = managed(driver, &module, &name_of(name)?)?.ok_or(Code::NOT_FOUND)?;
        address.set_if_any(base);
        bytes.set_if_any(size as usize);
        Ok(())
    }

    /// A function that has the same address on all devices: there are none.
    fn cuLibraryGetUnifiedFunction(_function: Out<u64>, library: Handle<Library>, name: Text<'_>) {
        let (driver, _) = current()?;
        module_of(driver, library)?;
        name_of(name)?;
        Err(Code::INVALID_VALUE)
    }

    /// The function of a kernel.
    fn cuKernelGetFunction(to: Out<Handle<Function>>, of: Handle<Kernel>) {
        let (driver, _) = current()?;
        to.required()?;
        let found = driver.kernels.get(of).map_err(|_| Code::INVALID_HANDLE)?;
        to.set(Handle::of(found.function))
    }
}

/// The bytes of a file, with a NUL behind them.
fn file(path: &str) -> Result<Vec<u8>, Code> {
    let mut bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::IsADirectory => Code::OUT_OF_MEMORY,
        _ => Code::FILE_NOT_FOUND,
    })?;
    bytes.push(0);
    Ok(bytes)
}

/// The logs that the options of a library's compiler name.
fn library_logs(options: In<u32>, values: Out<u64>, count: u32) -> Result<Logs, Code> {
    if count == 0 { Ok(Logs::default()) } else { Logs::read(count, options, values) }
}

/// Looks at the options of a library (`CUlibraryOption`). They say how code is kept, which makes no difference here.
fn check_library_options(options: In<u32>, values: Out<u64>, count: u32) -> Done {
    ensure(count == 0 || !options.is_null() && !values.is_null(), Code::INVALID_VALUE)?;
    (0..count as usize).try_for_each(|index| ensure(options.get_at(index)? <= 1, Code::INVALID_VALUE))
}

/// A library of code. What is wrong with it is said when a kernel is first asked for; if the caller wants a log, the code
/// is compiled at once, and what is wrong is said there, too.
fn library(driver: &Driver, image: Host, logs: &Logs) -> Result<Handle<Library>, Code> {
    // SAFETY: the caller passes code, which stays for the time of the call.
    let code = unsafe { CodeAt::new(image) };
    let (texts, error) = match texts_at(driver, &code) {
        Ok(texts) => (Some(texts), None),
        Err((code, log)) => {
            logs.write(&log, "");
            if !logs.has_error() {
                complain(&log);
            }
            (None, Some(code))
        }
    };
    let is_text = texts.is_some();
    // Programs that have registered the library's unloading for their end did so before.
    ending::come_first();
    unload_ended(driver);
    let library = Library { texts, error, options: logs.options, ..Library::default() };
    let handle = driver.libraries.insert(Arc::new(library)).ok_or(Code::OUT_OF_MEMORY)?;
    if is_text && (logs.has_error() || logs.has_info()) {
        let _ = load_library(driver, handle, logs);
    }
    Ok(handle)
}

/// The names of a module's kernels.
fn names(driver: &Driver, module: Handle<Module>) -> Result<Vec<String>, Code> {
    let module = driver.modules.get(module).map_err(|_| Code::INVALID_HANDLE)?;
    let module = driver.machine.module(module.id).map_err(|_| Code::INVALID_HANDLE)?;
    let kernels = module.image.functions.iter().filter(|function| function.entry && function.defined);
    Ok(kernels.map(|function| function.name.to_string()).collect())
}

/// A kernel of a library, by name; made when it is first asked for.
fn kernel(driver: &Driver, handle: Handle<Library>, name: &str) -> Result<Handle<Kernel>, Code> {
    let module = module_of(driver, handle)?;
    let library = driver.libraries.get(handle).map_err(|_| Code::INVALID_HANDLE)?;
    let mut kernels = lock(&library.kernels);
    if let Some((_, found)) = kernels.iter().find(|(known, _)| known == name) {
        return Ok(Handle::of(*found));
    }
    let function = function(driver, module, name)?.bits();
    let kernel = Kernel { function, library: handle.bits() };
    let made = driver.kernels.insert(Arc::new(kernel)).ok_or(Code::OUT_OF_MEMORY)?;
    kernels.push((name.into(), made.bits()));
    Ok(made)
}

/// Where a module's variable is, and its bytes.
fn global(module: Handle<Module>, name: Text<'_>, nowhere: bool) -> Result<(u64, u64), Code> {
    let driver = driver()?;
    let found = driver.modules.get(module).map_err(|missing| match missing {
        Missing::Destroyed | Missing::Never => Code::INVALID_HANDLE,
    })?;
    driver.check_fault()?;
    ensure(!nowhere, Code::INVALID_VALUE)?;
    let name = name_of(name)?;
    let module = driver.machine.module(found.id).map_err(|_| Code::INVALID_HANDLE)?;
    let is_kernel = module.image.functions.iter().any(|it| it.entry && *it.name == *name);
    ensure(!name.is_empty() && !is_kernel, Code::INVALID_VALUE)?;
    if let Some(managed) = managed(driver, &found, &name)? {
        return Ok(managed);
    }
    let symbol = module.symbol(&name).ok_or(Code::NOT_FOUND)?;
    Ok((symbol.address, symbol.bytes))
}

/// The address and size of a managed variable of a module, if it has one of that name. Host and kernels use that address.
fn managed(driver: &Driver, of: &Module, name: &str) -> Result<Option<(u64, u64)>, Code> {
    let module = driver.machine.module(of.id).map_err(|_| Code::INVALID_HANDLE)?;
    let is_it = |object: &&Object| {
        object.space == StateSpace::Global && object.attributes.managed && &*object.name == name
    };
    let Some(object) = module.image.objects.iter().find(is_it) else { return Ok(None) };
    let Some(offset) = object.offset else { return Ok(None) };
    let mut blocks = lock(&driver.blocks);
    let base = driver.machine.map_variables(of.id).map_err(|_| Code::OUT_OF_MEMORY)?;
    of.managed.store(base, Ordering::SeqCst);
    if blocks.at(base).is_none() {
        const ATTACH_GLOBAL: u32 = 1;
        let (bytes, kind) = (module.image.global.bytes, Kind::Managed);
        let device = driver.contexts.get(Handle::of(of.context)).map_or(0, |context| context.device);
        blocks.insert(Block { base, bytes, kind, flags: ATTACH_GLOBAL, context: of.context, device, id: 0 });
    }
    Ok(Some((base + offset, object.total())))
}
