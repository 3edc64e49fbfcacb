//! An auditor of glibc's loader ([rtld-audit(7)](https://man7.org/linux/man-pages/man7/rtld-audit.7.html)). The loader
//! calls it for every object that it has mapped, before anything in the object runs; a CUDA runtime that is linked into
//! the object is redirected then. No binding between objects is audited.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use softwarp_redirect::object::{LinkMap, loaded};
use std::ffi::{c_long, c_uint};

/// `LAV_CURRENT` of glibc 2.35 and later.
const NEWEST: c_uint = 2;

/// The version of the interface that this library and the loader both know.
#[unsafe(no_mangle)]
pub extern "C" fn la_version(version: c_uint) -> c_uint {
    version.min(NEWEST)
}

/// An object was mapped. 0 is that no binding of it is audited.
///
/// # Safety
///
/// The loader calls it, with an object that it has mapped and does not run yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objopen(map: *const LinkMap, _space: c_long, _cookie: *mut usize) -> c_uint {
    // SAFETY: the loader's structure stays while this runs; for the rest, as the caller promises.
    if let Some(map) = unsafe { map.as_ref() } {
        // SAFETY: the same.
        unsafe { loaded(map.object()) };
    }
    0
}
