//! Functions that the C library calls when the process ends.

use std::ffi::c_int;
use std::sync::OnceLock;

unsafe extern "C" {
    // SAFETY: declared as in stdlib.h. It only keeps the address of a function, which stays as long as the library.
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

#[cfg(target_os = "linux")]
unsafe extern "C" {
    // SAFETY: the same.
    safe fn at_quick_exit(function: extern "C" fn()) -> c_int;
}

/// Has a function called when the process ends by `exit` or by returning from `main`: before functions that were
/// registered earlier, and before destructors of static objects that were made earlier. It is not called if there are
/// too many such functions.
pub fn at_exit(function: extern "C" fn()) {
    let _ = atexit(function);
}

/// Has a function called when the process ends by `quick_exit`.
pub fn at_quick_end(function: extern "C" fn()) {
    #[cfg(target_os = "linux")]
    let _ = at_quick_exit(function);
    #[cfg(not(target_os = "linux"))]
    let _ = function;
}

/// Has a function called at the very end of `exit`, after all that was registered and after the destructors of the
/// program. Only the first function counts. Where the system cannot do that, it is as [`at_exit`].
pub fn at_last(function: extern "C" fn()) {
    if LAST.set(function).is_ok() && !cfg!(target_os = "linux") {
        at_exit(function);
    }
}

/// What [`at_last`] was given.
static LAST: OnceLock<extern "C" fn()> = OnceLock::new();

/// Called by the loader at the end of `exit`.
#[cfg(target_os = "linux")]
extern "C" fn last() {
    if let Some(function) = LAST.get() {
        function();
    }
}

// SAFETY: the section is a list of addresses of functions without arguments and results, which the loader calls once.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_LAST: extern "C" fn() = last;
