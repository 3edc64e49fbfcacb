//! NVIDIA's library: it is opened when it is first used, and its functions are called by name.
//!
//! **Why this is sound.** It is as sound as a program that calls NVIDIA's library itself. Arguments are handed on as
//! they came, as whole registers: every function takes at most six of them, and returns one. What is read is the list
//! of options of a compilation, which is as long as the caller says and whose strings end with a NUL.

use crate::place;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

/// A function of the library.
type Function = extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;

/// The name of a symbol that libraries of this kind have, and NVIDIA's does not.
const MARK: &CStr = c"softwarp_nvrtc";

/// The symbol.
#[unsafe(export_name = "softwarp_nvrtc")]
static MARKED: c_int = 1;

/// `Dl_info` of dlfcn.h.
#[repr(C)]
struct Found {
    path: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

// Functions of the C library, as dlfcn.h has them.
unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    fn dladdr(address: *const c_void, found: *mut Found) -> c_int;
}

/// `RTLD_NOW`
const NOW: c_int = 2;

/// An opened library, and its file.
struct Handle(*mut c_void, PathBuf);

// SAFETY: the handle is only passed to `dlsym`, which any thread may call.
unsafe impl Send for Handle {}
// SAFETY: the same.
unsafe impl Sync for Handle {}

/// The library, opened when it is first asked for.
fn library() -> Option<&'static Handle> {
    static LIBRARY: OnceLock<Option<Handle>> = OnceLock::new();
    LIBRARY.get_or_init(open).as_ref()
}

/// The library's file, if there is one.
pub fn path() -> Option<&'static Path> {
    library().map(|library| library.1.as_path())
}

/// Says once that there is no library.
fn complain() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        eprintln!(
            "softwarp: NVIDIA's libnvrtc.so.13 or .12 was not found, which compiles CUDA C++; SOFTWARP_NVRTC names it, \
             or LD_LIBRARY_PATH its folder"
        );
    });
}

/// Calls a function of the library. None if there is no library or no such function.
pub fn call(name: &'static str, [a, b, c, d, e, f]: [c_long; 6]) -> Option<c_long> {
    let called = std::panic::catch_unwind(|| {
        let Some(library) = library() else {
            complain();
            return None;
        };
        let symbol = CString::new(name).ok()?;
        // SAFETY: the handle is an opened library's, and the name ends with a NUL.
        let address = unsafe { dlsym(library.0, symbol.as_ptr()) };
        if address.is_null() {
            eprintln!("softwarp: NVIDIA's libnvrtc has no {name}");
            return None;
        }
        // SAFETY: the symbol is a function that takes at most six registers and returns one.
        Some(unsafe { std::mem::transmute::<*mut c_void, Function>(address) })
    });
    let function = called.ok()??;
    Some(function(a, b, c, d, e, f))
}

/// Opens the first library that can be.
fn open() -> Option<Handle> {
    let own = own_path();
    let name = own.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let mut python = place::python_packages(&String::from_utf8_lossy(&maps));
    python.extend(place::installed_packages());
    let candidates = place::candidates(name.as_deref().unwrap_or_default(), own.as_deref(), &python);
    for file in candidates {
        let Ok(path) = CString::new(file.as_os_str().as_bytes()) else { continue };
        // SAFETY: the path ends with a NUL. The library is NVIDIA's, whose start-up code a program would run itself.
        let handle = unsafe { dlopen(path.as_ptr(), NOW) };
        if handle.is_null() {
            continue;
        }
        // A library of this kind would look for NVIDIA's in its turn, and might find this one.
        // SAFETY: the handle is an opened library's, and the name ends with a NUL.
        if unsafe { dlsym(handle, MARK.as_ptr()) }.is_null() {
            return Some(Handle(handle, file));
        }
        // SAFETY: the handle is an opened library's and is not used any more.
        unsafe { dlclose(handle) };
    }
    None
}

/// The path by which this library was loaded.
fn own_path() -> Option<PathBuf> {
    let mut found = Found {
        path: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    // SAFETY: the address is one of this library, and the structure is as dlfcn.h has it.
    let known = unsafe { dladdr(own_path as *const c_void, &raw mut found) } != 0;
    if !known || found.path.is_null() {
        return None;
    }
    // SAFETY: the path ends with a NUL and stays as long as the library.
    let path = unsafe { CStr::from_ptr(found.path) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(path.to_bytes())))
}

/// The pointers of a list of options.
pub fn pointers(list: *const *const c_char, count: c_int) -> Vec<*const c_char> {
    let count = usize::try_from(count).unwrap_or(0);
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's list has this many strings.
    (0..count).map(|index| unsafe { *list.add(index) }).collect()
}

/// The strings of a list of options. None if there are fewer than none, or one is null.
pub fn strings(list: *const *const c_char, count: c_int) -> Option<Vec<String>> {
    if count < 0 || (count > 0 && list.is_null()) {
        return None;
    }
    let text = |pointer: *const c_char| {
        if pointer.is_null() {
            return None;
        }
        // SAFETY: the caller's string ends with a NUL and stays for the time of the call.
        Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
    };
    pointers(list, count).into_iter().map(text).collect()
}
