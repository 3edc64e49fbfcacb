//! Threads that the signals of the program do not reach.
//!
//! A signal that is sent to a process is handled by any of its threads, and the handler may end the process. If that thread
//! were to run a kernel, the process would wait for what only this thread can do.

/// Does something that makes threads: they hold signals back from their beginning. What a thread itself causes, such as a
/// bad access, is not held back, and neither is what profilers send.
#[cfg(unix)]
pub fn held_back<R>(work: impl FnOnce() -> R) -> R {
    use std::mem::MaybeUninit;

    /// Restores what the calling thread holds back.
    struct Before(libc::sigset_t);

    impl Drop for Before {
        fn drop(&mut self) {
            // SAFETY: the set is one that the system gave.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
        }
    }

    const OWN: [libc::c_int; 8] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGSYS,
        libc::SIGABRT,
        libc::SIGPROF,
    ];
    let (mut held, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: the first call fills the set, and the others change it; the last one fills `before` where it succeeds.
    let before = unsafe {
        libc::sigfillset(held.as_mut_ptr());
        for signal in OWN {
            libc::sigdelset(held.as_mut_ptr(), signal);
        }
        let done = libc::pthread_sigmask(libc::SIG_SETMASK, held.as_ptr(), before.as_mut_ptr());
        (done == 0).then(|| Before(before.assume_init()))
    };
    let result = work();
    drop(before);
    result
}

/// The same where there are no signals.
#[cfg(not(unix))]
pub fn held_back<R>(work: impl FnOnce() -> R) -> R {
    work()
}
