//! Result codes of the runtime API (`cudaError_t`), with their names and strings, and the last error of a thread.

use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a call returns. 0 is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Code(pub u32);

include!(concat!(env!("OUT_DIR"), "/codes.rs"));

/// The result of a call: nothing, or why not.
pub type Done = Result<(), Code>;

/// What code numbers outside of the table are called.
const UNRECOGNIZED: &CStr = c"unrecognized error code";

impl Code {
    fn row(self) -> Option<&'static (Code, &'static CStr, &'static CStr)> {
        CODES.iter().find(|row| row.0 == self)
    }

    /// Its name, such as `cudaErrorInvalidValue`.
    pub fn name(self) -> &'static CStr {
        self.row().map_or(UNRECOGNIZED, |row| row.1)
    }

    /// What it is called in words.
    pub fn text(self) -> &'static CStr {
        self.row().map_or(UNRECOGNIZED, |row| row.2)
    }

    /// Success is nothing.
    pub fn done(self) -> Done {
        if self == Code::SUCCESS { Ok(()) } else { Err(self) }
    }

    /// Whether a kernel left it behind, so that the process has it for good.
    pub fn is_fault(self) -> bool {
        matches!(self.0, 214 | 700 | 702 | 710 | 714..=719)
    }
}

/// `Err(code)` unless a condition holds.
pub fn ensure(holds: bool, code: Code) -> Done {
    if holds { Ok(()) } else { Err(code) }
}

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// Why the driver could not be used at all: it is every thread's error, and stays.
static UNUSABLE: AtomicU32 = AtomicU32::new(0);

/// Notes that the driver cannot be used.
pub fn set_unusable(code: Code) {
    UNUSABLE.store(code.0, Ordering::Relaxed);
}

/// Stores the error of a call. That work is not ready yet is no error.
pub fn note(code: Code) {
    if code != Code::SUCCESS && code != Code::NOT_READY {
        LAST.set(code.0);
    }
}

/// The last error of the thread.
pub fn last() -> Code {
    match UNUSABLE.load(Ordering::Relaxed) {
        0 => Code(LAST.get()),
        code => Code(code),
    }
}

/// The last error of the thread, which has none afterwards.
pub fn take_last() -> Code {
    let code = last();
    LAST.set(0);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names_and_strings() {
        assert_eq!(Code::SUCCESS.name(), c"cudaSuccess");
        assert_eq!(Code::ILLEGAL_ADDRESS, Code(700));
        assert_eq!(Code(700).text(), c"an illegal memory access was encountered");
        assert_eq!(Code(7777).name(), UNRECOGNIZED);
        assert!(CODES.is_sorted_by_key(|row| row.0));
    }

    #[test]
    fn the_last_error_is_per_thread_and_taken_once() {
        note(Code::INVALID_VALUE);
        note(Code::NOT_READY);
        note(Code::SUCCESS);
        std::thread::spawn(|| assert_eq!(last(), Code::SUCCESS)).join().expect("no panic");
        assert_eq!(last(), Code::INVALID_VALUE);
        assert_eq!(take_last(), Code::INVALID_VALUE);
        assert_eq!(take_last(), Code::SUCCESS);
    }
}
