//! The linker (driver API: "Module Management": `cuLink*`). What it makes is a container of the texts that were added,
//! which are linked when it is loaded.

use super::module::texts_at;
use crate::assembler_log::explain;
use crate::code::{Code, Done, ensure};
use crate::driver::{Driver, current, driver};
use crate::ffi::{self, Host, In, Out};
use crate::handle::{Handle, lock};
use crate::jit::Logs;
use crate::module::{Linker, LinkerState, Texts, load};
use softwarp::check::{Options, resolve_references, unfit};
use softwarp::isa::Target;
use softwarp::syntax::{Diagnostic, Severity, parse};
use softwarp::vm::device::LoadError;
use softwarp_container::{Text, write_linked};
use std::sync::{Arc, Mutex};

/// `CUjitInputType` values.
mod input {
    pub const CUBIN: u32 = 0;
    pub const FATBINARY: u32 = 2;
    pub const OBJECT: u32 = 3;
    pub const LIBRARY: u32 = 4;
    pub const NVVM: u32 = 5;
}

/// The first bytes of an archive.
const ARCHIVE: &[u8] = b"!<arch>\n";

/// How names of functions begin that only the device runtime's library calls: they are in NVIDIA's driver.
const OF_DEVICE_RUNTIME: &str = "__cuda_syscall_";

/// A linker by its handle.
fn linker(driver: &Driver, handle: Handle<Linker>) -> Result<Arc<Linker>, Code> {
    driver.links.get(handle).map_err(|_| Code::INVALID_HANDLE)
}

/// Loads texts for a moment.
fn load_shortly(driver: &Driver, texts: &Texts) -> Result<(), LoadError> {
    let id = load(&driver.machine, texts, false)?;
    let _ = driver.machine.unload_module(id);
    Ok(())
}

fn together(driver: &Driver, all: &[Text]) -> Texts {
    let newer = driver.config.newer(all.iter().filter_map(|text| text.arch));
    Texts { texts: all.iter().map(|text| text.source.clone()).collect(), newer, ..Texts::default() }
}

/// What a text is assembled for.
fn arch(driver: &Driver, text: &Text) -> Target {
    driver.config.newer(text.arch).unwrap_or(driver.config.arch)
}

/// Whether texts can be loaded together.
fn try_out(driver: &Driver, all: &[Text]) -> Result<(), (Code, String)> {
    let texts = together(driver, all);
    if texts.texts.is_empty() {
        return Ok(());
    }
    match load_shortly(driver, &texts) {
        Ok(()) => Ok(()),
        // Each text was checked when it was added: what is left is between them.
        Err(LoadError::Unlinked(errors)) => Err((Code::INVALID_SOURCE, between(all, &errors))),
        Err(LoadError::Invalid(_)) => Err((Code::INVALID_SOURCE, between(all, &missing(driver, all)))),
        Err(error) => Err(explain(&error, &texts)),
    }
}

/// What is wrong between texts that define something twice.
fn defined_twice(driver: &Driver, all: &[Text]) -> Option<String> {
    let Err(LoadError::Unlinked(errors)) = load_shortly(driver, &together(driver, all)) else { return None };
    errors.iter().any(|error| error.code.0 == "E0804").then(|| between(all, &errors))
}

/// What texts need that none of them has, and what else is wrong with each alone.
fn missing(driver: &Driver, texts: &[Text]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let options = Options { arch: Some(arch(driver, text)), relocatable: false, strict: false };
        let (_, _, diagnostics) = resolve_references(&parse(&text.source).module, &text.source, options);
        let wrong =
            diagnostics.into_iter().filter(|it| it.severity() == Severity::Error || it.code.0 == "W0202");
        found.extend(wrong.map(|mut diagnostic| {
            if let Some(location) = &mut diagnostic.location {
                location.unit = index as u32;
            }
            diagnostic
        }));
    }
    found
}

/// What is wrong between texts, as the linker says it.
fn between(texts: &[Text], errors: &[Diagnostic]) -> String {
    let named = |unit: u32| texts.get(unit as usize).and_then(|text| text.name.as_deref()).unwrap_or("");
    let line = |it: &Diagnostic| {
        let source = texts.get(it.unit() as usize).map_or("", |text| text.source.as_str());
        let (name, file) = (it.span().text(source), named(it.unit()));
        match it.code.0 {
            "E0206" | "W0202" | "E0803" => format!("error   : Undefined reference to '{name}' in '{file}'"),
            "E0804" => {
                let first = it.related.first().map_or(file, |other| named(other.location.unit));
                format!("error   : Multiple definition of '{name}' in '{file}', first defined in '{first}'")
            }
            _ => format!("error   : {}", it.message),
        }
    };
    // Functions come before variables.
    let is_variable = |it: &&Diagnostic| {
        let source = texts.get(it.unit() as usize).map_or("", |text| text.source.as_str());
        !source.get(it.span().end as usize..).unwrap_or("").trim_start().starts_with('(')
    };
    let mut errors: Vec<&Diagnostic> = errors.iter().collect();
    errors.sort_by_key(is_variable);
    errors.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What is wrong with a text alone. That it needs others is not.
fn check(driver: &Driver, text: &Text) -> Result<(), (Code, String)> {
    let parsed = parse(&text.source);
    let options = Options { arch: Some(arch(driver, text)), relocatable: true, strict: false };
    let (_, _, found) = resolve_references(&parsed.module, &text.source, options);
    let all = parsed.diagnostics.into_iter().chain(found);
    let errors: Vec<_> = all.filter(|it| it.severity() == Severity::Error).map(|it| (0, it)).collect();
    if errors.is_empty() {
        return Ok(());
    }
    let texts = Texts { texts: vec![text.source.clone()], ..Texts::default() };
    Err(explain(&LoadError::Invalid(errors), &texts))
}

/// Adds code to a linker.
fn add(
    driver: &Driver,
    linker: &Linker,
    kind: u32,
    data: &[u8],
    name: Option<String>,
) -> Result<(), (Code, String)> {
    let plain = |code| (code, String::new());
    let mut state = lock(&linker.state);
    if state.image.is_some() || kind > input::NVVM {
        return Err(plain(Code::INVALID_VALUE));
    }
    match kind {
        // What the device runtime's library defines is built in.
        input::LIBRARY if data.starts_with(ARCHIVE) => return Ok(()),
        input::LIBRARY => return Err(plain(Code::UNKNOWN)),
        input::OBJECT if data.first().is_some_and(u8::is_ascii_whitespace) || data.starts_with(b".") => {
            state.broken = true;
            return Ok(());
        }
        input::CUBIN | input::FATBINARY | input::NVVM if data.starts_with(b".") => {
            return Err(plain(Code::INVALID_IMAGE));
        }
        _ if state.broken => return Err(plain(Code::INVALID_IMAGE)),
        _ => {}
    }
    let texts = texts_at(driver, &data)?;
    let limit = lock(&linker.logs).options.register_limit();
    // What the device runtime's library defines is built in. It has PTX for the newest architecture.
    for source in texts.texts.into_iter().filter(|source| !source.contains(OF_DEVICE_RUNTIME)) {
        let mut text = Text::from_source(source);
        text.name.clone_from(&name);
        text.options.fmad = texts.no_fma.then_some(false);
        text.options.max_registers = limit.into_iter().chain(texts.max_registers).min();
        check(driver, &text)?;
        let all: Vec<Text> = state.texts.iter().cloned().chain([text.clone()]).collect();
        // The same text again is an error at once if its definitions cannot be there twice.
        if state.texts.iter().any(|known| known.source == text.source)
            && let Some(log) = defined_twice(driver, &all)
        {
            state.failed = true;
            return Err((Code::INVALID_SOURCE, log));
        }
        state.texts = all;
    }
    Ok(())
}

/// Leaves out what is for a newer GPU where something else runs on this one alone, since all is assembled for one GPU.
fn leave_out_newer(driver: &Driver, texts: &mut Vec<Text>) {
    let Some(newer) = together(driver, texts).newer else { return };
    let named = |text: &Text| text.arch.and_then(|arch| Target::from_name(&arch.to_string()));
    let is_here_alone = |text: &Text| {
        driver.config.newer(text.arch).is_none() && named(text).is_some_and(|it| unfit(it, newer).is_some())
    };
    if texts.iter().any(is_here_alone) {
        texts.retain(|text| driver.config.newer(text.arch).is_none());
    }
}

/// Makes the image.
fn complete(driver: &Driver, state: &mut LinkerState) -> Result<(u64, usize), (Code, String)> {
    if state.image.is_some() {
        return Err((Code::INVALID_HANDLE, String::new()));
    }
    if state.failed {
        return Err((Code::INVALID_SOURCE, String::new()));
    }
    leave_out_newer(driver, &mut state.texts);
    try_out(driver, &state.texts)?;
    let image = write_linked(&state.texts).map_err(|error| (Code(error.code()), error.to_string()))?;
    let image = state.image.insert(image.into_boxed_slice());
    Ok((image.as_ptr() as u64, image.len()))
}

fn finish(linker: &Linker, result: Result<(), (Code, String)>) -> Done {
    result.map_err(|(code, log)| {
        let logs = lock(&linker.logs);
        // A call that has nothing to say leaves what an earlier one said.
        if !log.is_empty() {
            logs.write(&log, "");
        }
        if !logs.has_error() && !log.is_empty() {
            eprintln!("softwarp: {log}");
        }
        code
    })
}

crate::entries! {
    /// Makes a linker.
    fn cuLinkCreate_v2(count: u32, options: In<u32>, values: Out<u64>, to: Out<Handle<Linker>>) {
        let (driver, _) = current()?;
        to.required()?;
        let logs = Logs::read(count, options, values)?;
        let linker = Linker { state: Mutex::default(), logs: Mutex::new(logs) };
        to.set(driver.links.insert(Arc::new(linker)).ok_or(Code::OUT_OF_MEMORY)?)
    }

    /// Adds code to a linker.
    fn cuLinkAddData_v2(
        to: Handle<Linker>, kind: u32, data: Host, bytes: usize, name: ffi::Text<'_>, _count: u32, _options: In<u32>,
        _values: Out<u64>,
    ) {
        let driver = driver()?;
        let linker = linker(driver, to)?;
        ensure(!data.is_null() && bytes != 0, Code::INVALID_VALUE)?;
        let name = if name.is_null() { None } else { name.get()?.to_str().ok().map(str::to_owned) };
        // SAFETY: the caller passes `bytes` bytes of code.
        let added = unsafe { data.read(bytes, |data| add(driver, &linker, kind, data, name)) };
        finish(&linker, added)
    }

    /// Adds the code of a file to a linker.
    fn cuLinkAddFile_v2(
        to: Handle<Linker>, kind: u32, path: ffi::Text<'_>, _count: u32, _options: In<u32>, _values: Out<u64>,
    ) {
        let driver = driver()?;
        let linker = linker(driver, to)?;
        let path = path.get()?.to_str().map_err(|_| Code::FILE_NOT_FOUND)?;
        let data = std::fs::read(path).map_err(|_| Code::FILE_NOT_FOUND)?;
        finish(&linker, add(driver, &linker, kind, &data, Some(path.to_owned())))
    }

    /// Links what was added.
    fn cuLinkComplete(of: Handle<Linker>, image: Out<u64>, bytes: Out<usize>) {
        let driver = driver()?;
        let linker = linker(driver, of)?;
        ensure(!image.is_null(), Code::INVALID_VALUE)?;
        ensure(!bytes.is_null(), Code::INVALID_IMAGE)?;
        let made = complete(driver, &mut lock(&linker.state));
        let (start, size) = *made.as_ref().unwrap_or(&(0, 0));
        finish(&linker, made.map(drop))?;
        image.set_if_any(start);
        bytes.set_if_any(size);
        Ok(())
    }

    /// Destroys a linker, with what it made.
    fn cuLinkDestroy(linker: Handle<Linker>) {
        let driver = driver()?;
        driver.links.remove(linker).map(drop).map_err(|_| Code::INVALID_HANDLE)
    }
}
