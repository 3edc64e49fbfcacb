//! Standard output and standard error. Every command writes through here.
//!
//! A reader that has closed its pipe is no error. Any other failure to write (a full disk) is reported, and the exit
//! code is 2.

use super::{CommandError, progress};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether something could not be written to standard error, where nothing can be told about it.
static LOST: AtomicBool = AtomicBool::new(false);

/// Writes to standard output, and flushes it.
pub fn stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CommandError> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    // What could not be written is not tried again.
    let _ = out.into_parts();
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CommandError::Io(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes to standard error, above a bar that shows progress.
pub fn stderr(text: &str) {
    progress::beside(text, || match io::stderr().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => LOST.store(true, Ordering::Relaxed),
        _ => {}
    });
}

/// Whether everything that was said on standard error was written.
pub fn stderr_is_whole() -> bool {
    !LOST.load(Ordering::Relaxed)
}
