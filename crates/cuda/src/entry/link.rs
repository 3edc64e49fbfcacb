//! The linker (driver API: "Module Management": `cuLink*`). What it makes is a container of the texts that were added,
//! which are linked when it is loaded.

use super::module::texts_at;
use crate::code::{Code, Done, ensure};
use crate::container::{Text, write_linked};
use crate::driver::{Driver, current, driver};
use crate::ffi::{self, CodeAt, Host, In, Out};
use crate::handle::{Handle, lock};
use crate::jit::Logs;
use crate::module::{Linker, LinkerState, Texts, explain, load};
use softwarp::check::{Options, resolve_references};
use softwarp::syntax::{Severity, parse};
use softwarp::vm::device::LoadError;
use std::sync::{Arc, Mutex};

/// `CUjitInputType` values.
mod input {
    pub const CUBIN: u32 = 0;
    pub const PTX: u32 = 1;
    pub const FATBINARY: u32 = 2;
    pub const OBJECT: u32 = 3;
    pub const LIBRARY: u32 = 4;
    pub const NVVM: u32 = 5;
}

/// The first bytes of an archive.
const ARCHIVE: &[u8] = b"!<arch>\n";

/// A linker by its handle.
fn linker(driver: &Driver, handle: Handle<Linker>) -> Result<Arc<Linker>, Code> {
    driver.links.get(handle).map_err(|_| Code::INVALID_HANDLE)
}

/// Whether texts can be loaded together, by loading them for a moment.
fn try_out(driver: &Driver, texts: &[Text]) -> Result<(), (Code, String)> {
    let texts = Texts { texts: texts.iter().map(|text| text.source.clone()).collect(), no_fma: false };
    if texts.texts.is_empty() {
        return Ok(());
    }
    match load(&driver.machine, &texts, false) {
        Ok(id) => {
            let _ = driver.machine.unload_module(id);
            Ok(())
        }
        // Each text was checked when it was added: what is left is between them.
        Err(error @ (LoadError::Unlinked(_) | LoadError::Invalid(_))) => {
            Err((Code::INVALID_SOURCE, explain(&error, &texts).1))
        }
        Err(error) => Err(explain(&error, &texts)),
    }
}

/// What is wrong with a text alone. That it needs others is not.
fn check(driver: &Driver, text: &Text) -> Result<(), (Code, String)> {
    let parsed = parse(&text.source);
    let options = Options { arch: Some(driver.config.arch), relocatable: true, strict: false };
    let (_, _, found) = resolve_references(&parsed.module, &text.source, options);
    let all = parsed.diagnostics.into_iter().chain(found);
    let errors: Vec<_> = all.filter(|it| it.severity() == Severity::Error).map(|it| (0, it)).collect();
    if errors.is_empty() {
        return Ok(());
    }
    let texts = Texts { texts: vec![text.source.clone()], no_fma: false };
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
            return Ok(());
        }
        input::PTX if data.last() != Some(&0) => return Err(plain(Code::INVALID_IMAGE)),
        input::CUBIN | input::FATBINARY | input::NVVM if data.starts_with(b".") => {
            return Err(plain(Code::INVALID_IMAGE));
        }
        _ => {}
    }
    let texts = texts_at(driver, CodeAt::new(Host::of(data)))?;
    for source in texts.texts {
        let mut text = Text::from_source(source);
        text.name.clone_from(&name);
        text.options.fmad = texts.no_fma.then_some(false);
        check(driver, &text)?;
        let all: Vec<Text> = state.texts.iter().cloned().chain([text.clone()]).collect();
        if state.texts.iter().any(|known| known.source == text.source) {
            state.failed = true;
            return Err((Code::INVALID_SOURCE, try_out(driver, &all).err().map_or(String::new(), |it| it.1)));
        }
        state.texts = all;
    }
    Ok(())
}

/// Makes the image.
fn complete(driver: &Driver, state: &mut LinkerState) -> Result<(u64, usize), (Code, String)> {
    if state.image.is_some() {
        return Err((Code::INVALID_HANDLE, String::new()));
    }
    if state.failed {
        return Err((Code::INVALID_SOURCE, String::new()));
    }
    try_out(driver, &state.texts)?;
    let image = write_linked(&state.texts).map_err(|error| (Code(error.code()), error.to_string()))?;
    let image = state.image.insert(image.into_boxed_slice());
    Ok((image.as_ptr() as u64, image.len()))
}

fn finish(linker: &Linker, result: Result<(), (Code, String)>) -> Done {
    result.map_err(|(code, log)| {
        let logs = lock(&linker.logs);
        logs.write(&log, "");
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
        ensure(!name.is_null(), Code::INVALID_IMAGE)?;
        let name = name.get()?.to_str().ok().map(str::to_owned);
        finish(&linker, data.read(bytes, |data| add(driver, &linker, kind, data, name)))
    }

    /// Adds the code of a file to a linker.
    fn cuLinkAddFile_v2(
        to: Handle<Linker>, kind: u32, path: ffi::Text<'_>, _count: u32, _options: In<u32>, _values: Out<u64>,
    ) {
        let driver = driver()?;
        let linker = linker(driver, to)?;
        let path = path.get()?.to_str().map_err(|_| Code::FILE_NOT_FOUND)?;
        let mut data = std::fs::read(path).map_err(|_| Code::FILE_NOT_FOUND)?;
        if kind == input::PTX {
            data.push(0);
        }
        finish(&linker, add(driver, &linker, kind, &data, Some(path.to_owned())))
    }

    /// Links what was added.
    fn cuLinkComplete(of: Handle<Linker>, image: Out<u64>, bytes: Out<usize>) {
        let driver = driver()?;
        let linker = linker(driver, of)?;
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
