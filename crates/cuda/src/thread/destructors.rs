//! Destructors of variables that belong to a thread, called when it ends, without the loader.
//!
//! The standard library has the C library call them: when a thread first uses such a variable, it calls
//! `__cxa_thread_atexit_impl`, if there is one. The C library's takes the loader's lock. A thread that loads a library holds
//! that lock while it runs the library's constructors, and a constructor may wait for work of this driver: threads that do
//! this work would wait for a thread that waits for them. So this library has a function of that name that no other object
//! sees (`.hidden`). It keeps a list for each thread. A key of the thread, whose destructor is called when the thread
//! ends, has the list run, as the standard library does it where there is no such function.
//!
//! `exit` does not call what is kept here for the thread that calls it: variables of that thread stay, and the process ends.

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;

type Destructor = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" {
    fn pthread_key_create(key: *mut c_uint, destructor: Option<Destructor>) -> c_int;
    // SAFETY: declared as in pthread.h; the value is a number here. A key that does not exist is an error.
    safe fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
}

/// A variable of a thread that has a destructor.
struct Entry {
    destructor: Destructor,
    object: *mut c_void,
    /// The one that was used before it.
    before: *mut Entry,
}

thread_local! {
    /// The variable that the thread has used last for the first time.
    static LAST: Cell<*mut Entry> = const { Cell::new(ptr::null_mut()) };
}

/// The key whose destructor runs the lists, if there is room for one.
fn key() -> Option<c_uint> {
    static KEY: OnceLock<Option<c_uint>> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: there is a place for the key, and the function stays as long as this library, which is never unloaded.
        let made = unsafe { pthread_key_create(&raw mut key, Some(run)) };
        (made == 0).then_some(key)
    })
}

/// Keeps the destructor of a variable of this thread.
extern "C" fn register(destructor: Destructor, object: *mut c_void, _library: *mut c_void) -> c_int {
    let Some(key) = key() else { return -1 };
    if pthread_setspecific(key, ptr::without_provenance(1)) != 0 {
        return -1;
    }
    let entry = Entry { destructor, object, before: LAST.get() };
    LAST.set(Box::into_raw(Box::new(entry)));
    0
}

/// Calls the destructors of the thread, the last variable first.
unsafe extern "C" fn run(_: *mut c_void) {
    loop {
        let last = LAST.get();
        if last.is_null() {
            return;
        }
        // SAFETY: `register` has made the entry for this thread alone, and it is taken from the list here.
        let entry = unsafe { Box::from_raw(last) };
        LAST.set(entry.before);
        // SAFETY: the variable is the thread's, which has not ended, and was registered with this destructor once.
        unsafe { (entry.destructor)(entry.object) };
    }
}

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".globl __cxa_thread_atexit_impl",
    ".hidden __cxa_thread_atexit_impl",
    ".type __cxa_thread_atexit_impl, @function",
    "__cxa_thread_atexit_impl:",
    "jmp {}",
    sym register,
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".globl __cxa_thread_atexit_impl",
    ".hidden __cxa_thread_atexit_impl",
    ".type __cxa_thread_atexit_impl, @function",
    "__cxa_thread_atexit_impl:",
    "b {}",
    sym register,
);

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicU32, Ordering};

    static DROPPED: AtomicU32 = AtomicU32::new(0);

    struct Noisy;

    impl Drop for Noisy {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
            // A variable that is first used while the thread ends.
            LATE.with(|late| late.borrow_mut().push(1));
        }
    }

    thread_local! {
        static FIRST: Noisy = const { Noisy };
        static LATE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn destructors_are_called_once_when_a_thread_ends() {
        std::thread::spawn(|| {
            FIRST.with(|_| ());
            FIRST.with(|_| ());
            assert!(!super::LAST.get().is_null());
        })
        .join()
        .expect("no panic");
        assert_eq!(DROPPED.load(Ordering::SeqCst), 1);
    }
}
