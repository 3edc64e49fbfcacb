//! The end of a command that has no memory left.
//!
//! `unsafe` is here for the handler of a signal. What is relied on: it calls only what the system allows in one (`write`,
//! `_exit`, `signal`, `raise`, and `mmap`, which is a call of the system), and accesses nothing but atomic numbers.

use crate::reserve::{failed, has_room};

const MESSAGE: &[u8] = b"error: the system has no memory left for this process\n";

/// The code of a command that could not do what it was asked to do.
const CODE: libc::c_int = 2;

/// The C library aborts where there is less for what it has to keep.
const LEAST: u64 = 1 << 20;

/// From now on the process ends with the code 2 and a message where Rust or the C library would abort it because there is no
/// memory: for a command, whose process is its own.
pub fn exit_when_exhausted() {
    let handler: extern "C" fn(libc::c_int) = aborted;
    // SAFETY: the handler does what one may do; see the head of the file.
    unsafe { libc::signal(libc::SIGABRT, handler as libc::sighandler_t) };
}

extern "C" fn aborted(signal: libc::c_int) {
    // SAFETY: these functions may be called in a handler, and the message is there for ever.
    unsafe {
        if failed() != 0 || !has_room(LEAST) {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(CODE);
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
