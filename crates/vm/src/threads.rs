//! Threads of the host that ask nothing of the loader.
//!
//! A thread that loads a library holds the loader's lock while it runs the library's constructors. Such a constructor may
//! launch kernels and wait for them, and so for threads that are made here: these must not need that lock. A thread of the
//! standard library takes it when it begins (`dlsym` for the size of its stack, `__cxa_thread_atexit_impl` for a variable
//! that belongs to it). These threads are made by `pthread_create`, which does not (from glibc 2.35 on, and up to 2.33).

use std::io;

/// Starts a thread that nobody waits for. It holds signals back ([`held_back`](crate::signals::held_back)).
#[cfg(target_os = "linux")]
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    use crate::signals::held_back;
    use std::ffi::CString;
    use std::mem::MaybeUninit;

    /// What a thread gets: its name and its work.
    struct Given {
        name: CString,
        work: Box<dyn FnOnce() + Send>,
    }

    extern "C" fn begin(given: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: `spawn` gives each thread a box of its own, which nothing else uses.
        let given = unsafe { Box::from_raw(given.cast::<Given>()) };
        // SAFETY: the name ends with a NUL. One that is too long is refused.
        unsafe { libc::pthread_setname_np(libc::pthread_self(), given.name.as_ptr()) };
        // A panic was reported when it happened, and ends this thread alone.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(given.work));
        std::ptr::null_mut()
    }

    let given = Box::new(Given { name: CString::new(name)?, work: Box::new(work) });
    let given = Box::into_raw(given);
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: the attributes are initialised by the first call, used by the others, and destroyed by the last one. The
    // thread takes the box.
    let code = unsafe {
        let code = libc::pthread_attr_init(attributes.as_mut_ptr());
        if code == 0 {
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
            libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
            let mut thread = MaybeUninit::uninit();
            let made = held_back(|| {
                libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), begin, given.cast())
            });
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            made
        } else {
            code
        }
    };
    if code != 0 {
        // SAFETY: there is no thread that could take the box.
        drop(unsafe { Box::from_raw(given) });
        return Err(io::Error::from_raw_os_error(code));
    }
    Ok(())
}

/// The bytes of a thread's stack: what the standard library gives to one.
#[cfg(target_os = "linux")]
const STACK: usize = 2 << 20;

/// Starts a thread that nobody waits for.
#[cfg(not(target_os = "linux"))]
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let builder = std::thread::Builder::new().name(name.into());
    crate::signals::held_back(|| builder.spawn(work)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::spawn;
    use std::sync::mpsc::channel;

    #[test]
    fn a_thread_does_its_work_and_may_panic() {
        let (say, heard) = channel();
        spawn("softwarp panic", || panic!("a test has asked for this panic")).expect("a thread");
        spawn("softwarp test", move || say.send(7).expect("open")).expect("a thread");
        assert_eq!(heard.recv(), Ok(7));
        assert!(spawn("a\0b", || {}).is_err());
    }
}
