//! Initialisation, versions, entry points and error strings (driver API: "Initialization", "Version Management", "Driver
//! Entry Point Access", "Error Handling").

use crate::code::{Code, ensure};
use crate::config::Config;
use crate::driver::{driver, initialise};
use crate::ffi::{In, Out, StaticText, Text};
use crate::symbols::{NotFound, find};
use std::sync::Once;

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`
const PER_THREAD: u64 = 2;

/// `CU_GET_PROC_ADDRESS_LEGACY_STREAM`
const LEGACY: u64 = 1;

fn text_of(
    code: u32,
    to: Out<StaticText>,
    text: impl Fn(Code) -> Option<&'static std::ffi::CStr>,
) -> Result<(), Code> {
    match text(Code(code)) {
        Some(text) => to.set(StaticText::of(text)),
        None => {
            to.set_if_any(StaticText::NULL);
            Err(Code::INVALID_VALUE)
        }
    }
}

crate::entries! {
    /// Makes the driver ready.
    fn cuInit(flags: u32) {
        ensure(flags == 0, Code::INVALID_VALUE)?;
        initialise()
    }

    /// The version of the API.
    fn cuDriverGetVersion(version: Out<i32>) {
        version.required()?;
        let configured = driver().map_or_else(|_| Config::from_environment().version, |it| it.config.version);
        version.set(configured as i32)
    }

    /// The name of a code.
    fn cuGetErrorName(error: u32, text: Out<StaticText>) {
        text_of(error, text, Code::name)
    }

    /// A code in words.
    fn cuGetErrorString(error: u32, text: Out<StaticText>) {
        text_of(error, text, Code::text)
    }

    /// The address of a function, by name and version. A name that is unknown is an error.
    fn cuGetProcAddress(name: Text<'_>, function: Out<u64>, version: i32, flags: u64) {
        let found = address(name, function, version, flags)?;
        function.set(found.map_err(|_| Code::NOT_FOUND)?)
    }

    /// The address of a function, by name and version. Whether there is one is said in `status`.
    fn cuGetProcAddress_v2(name: Text<'_>, function: Out<u64>, version: i32, flags: u64, status: Out<u32>) {
        let found = address(name, function, version, flags)?;
        status.set_if_any(match found {
            Ok(_) => 0,
            Err(NotFound::Name) => 1,
            Err(NotFound::Version) => 2,
        });
        function.set(found.unwrap_or(0))
    }

    /// Tables of private functions: there are none. NVIDIA's runtime asks for them.
    fn cuGetExportTable(table: Out<u64>, id: In<[u8; 16]>) {
        static SAID: Once = Once::new();
        table.required()?;
        let id = id.get()?;
        // NVRTC and nvJitLink ask for this one, and do without it.
        if id[..4] != [0xda, 0x91, 0x51, 0xd3] {
            SAID.call_once(|| eprintln!("softwarp: {}", explanation()));
        }
        table.set_if_any(0);
        Err(Code::INVALID_VALUE)
    }
}

/// What `cuGetProcAddress` finds, after it has looked at its arguments.
fn address(
    name: Text<'_>,
    function: Out<u64>,
    version: i32,
    flags: u64,
) -> Result<Result<u64, NotFound>, Code> {
    let name = name.get()?;
    function.required()?;
    let known = driver().map_or_else(|_| Config::from_environment().version, |driver| driver.config.version);
    // A negative version is any.
    let asked = u32::try_from(version).unwrap_or(known);
    ensure(asked <= known && flags <= LEGACY | PER_THREAD, Code::INVALID_VALUE)?;
    let name = name.to_str().unwrap_or("");
    Ok(find(name, asked, flags & PER_THREAD != 0).map(|address| address.bits()))
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
use softwarp_redirect::caller::explanation;

/// What to say about a runtime that is linked into a program.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
fn explanation() -> String {
    "a program asks for private tables of NVIDIA's driver, as the CUDA runtime does that nvcc links into programs; link \
     it with `-cudart shared`"
        .to_owned()
}
