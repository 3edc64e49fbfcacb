//! softwarp's runtime: it is loaded when it is first called, and its functions are looked up by name and version.
//!
//! **Why this is sound.** It is what a program does that loads a library. No lock is held while the loader works: a
//! thread in `dlopen` holds the loader's lock, and constructors that it runs may call functions of the runtime.

use crate::settings::{say, variable};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_long, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

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
    fn dlmopen(space: c_long, path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlvsym(library: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    fn dladdr(address: *const c_void, found: *mut Found) -> c_int;
}

/// `LM_ID_BASE`: the namespace of the program. An auditor has another one.
const BASE: c_long = 0;
/// `RTLD_NOW`
const NOW: c_int = 2;

/// Why there is no function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The library was not loaded. That was said.
    Library,
    /// It has no function of this name and version.
    Function,
}

/// The address of a function of softwarp's runtime.
pub fn function(name: &CStr, version: &CStr) -> Result<usize, Missing> {
    let library = library().ok_or(Missing::Library)?;
    // SAFETY: the handle is an opened library's, which is never closed, and both texts end with a NUL.
    let address = unsafe { dlvsym(library, name.as_ptr(), version.as_ptr()) };
    if address.is_null() { Err(Missing::Function) } else { Ok(address.addr()) }
}

/// The library's handle.
fn library() -> Option<*mut c_void> {
    static HANDLE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    static SAID: Once = Once::new();
    let known = HANDLE.load(Ordering::Acquire);
    if !known.is_null() {
        return Some(known);
    }
    // By its path: NVIDIA's library with the same name may be loaded, too.
    let path = path()?;
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: the path ends with a NUL. Loading it twice gives the same library.
    let handle = unsafe { dlmopen(BASE, name.as_ptr(), NOW) };
    if handle.is_null() {
        // SAFETY: it gives a text that ends with a NUL, or null, and that stays until this thread calls the loader again.
        let why =
            unsafe { dlerror().as_ref().map(|text| CStr::from_ptr(text).to_string_lossy().into_owned()) };
        SAID.call_once(|| say(&format!("cannot load the CUDA runtime: {}", why.unwrap_or_default())));
        return None;
    }
    HANDLE.store(handle, Ordering::Release);
    Some(handle)
}

/// The file: `SOFTWARP_LIBCUDART` names it, or it is beside this library.
fn path() -> Option<PathBuf> {
    if let Some(path) = variable("SOFTWARP_LIBCUDART").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let folder = own_path()?.parent()?.to_owned();
    let files = ["libcudart.so.13", "libcudart.so"].map(|name| folder.join(name));
    files.iter().find(|file| file.is_file()).or(files.first()).cloned()
}

/// The path by which this library was loaded.
fn own_path() -> Option<PathBuf> {
    let mut found =
        Found { path: std::ptr::null(), base: null_mut(), symbol: std::ptr::null(), address: null_mut() };
    // SAFETY: the address is one of this library, and the structure is as dlfcn.h has it.
    let known = unsafe { dladdr(own_path as *const c_void, &raw mut found) } != 0;
    if !known || found.path.is_null() {
        return None;
    }
    // SAFETY: the path ends with a NUL and stays as long as the library.
    let path = unsafe { CStr::from_ptr(found.path) };
    Some(Path::new(OsStr::from_bytes(path.to_bytes())).to_owned())
}
