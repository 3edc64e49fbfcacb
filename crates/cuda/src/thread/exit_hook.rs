//! A function that is called first of all when the program's first thread calls `exit` or returns from `main`.
//!
//! `exit` ends the variables of the thread that calls it before it calls functions that were registered. So the function
//! here is registered as the destructor of such a variable, with the C library's own `__cxa_thread_atexit_impl`. That takes
//! the loader's lock, which another thread may hold while it waits for work of this driver. So it is done once, by the
//! first thread of the process alone, when it enters the driver and holds nothing that others could need.

#[cfg(target_os = "linux")]
mod linux {
    use std::cell::Cell;
    use std::ffi::{c_char, c_int, c_void};
    use std::sync::OnceLock;

    type Destructor = unsafe extern "C" fn(*mut c_void);
    type Register = unsafe extern "C" fn(Destructor, *mut c_void, *mut c_void) -> c_int;

    unsafe extern "C" {
        static __dso_handle: u8;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
        // SAFETY: declared as in unistd.h; they only give numbers.
        safe fn gettid() -> c_int;
        safe fn getpid() -> c_int;
    }

    thread_local! {
        static NOTICED: Cell<bool> = const { Cell::new(false) };
    }

    /// What [`at_exit_of_main`] was given.
    static FUNCTION: OnceLock<fn()> = OnceLock::new();

    /// Has a function called first of all when the first thread ends the process. Only the first function counts.
    pub fn at_exit_of_main(function: fn()) {
        let _ = FUNCTION.set(function);
    }

    /// Called when a thread enters the driver, with nothing locked.
    #[inline]
    pub fn notice() {
        if !NOTICED.replace(true) {
            register();
        }
    }

    unsafe extern "C" fn call(_: *mut c_void) {
        if let Some(function) = FUNCTION.get() {
            function();
        }
    }

    #[cold]
    fn register() {
        if gettid() != getpid() {
            return;
        }
        // SAFETY: the name ends with a NUL; without a library, it is looked for in all that the program was started with.
        let found = unsafe { dlsym(std::ptr::null_mut(), c"__cxa_thread_atexit_impl".as_ptr()) };
        if found.is_null() {
            return;
        }
        // SAFETY: the function of this name has this signature wherever there is one.
        let real = unsafe { std::mem::transmute::<*mut c_void, Register>(found) };
        // SAFETY: the function needs no object, and stays as long as this library.
        unsafe { real(call, std::ptr::null_mut(), (&raw const __dso_handle).cast_mut().cast()) };
    }
}

#[cfg(target_os = "linux")]
pub use linux::{at_exit_of_main, notice};

/// Has a function called first of all when the first thread ends the process, which is not known here.
#[cfg(not(target_os = "linux"))]
pub fn at_exit_of_main(_function: fn()) {}

/// Called when a thread enters the driver.
#[cfg(not(target_os = "linux"))]
pub fn notice() {}
