//! Result codes of the driver API (`CUresult`), with their names and strings.

use std::ffi::CStr;

/// What a call returns. 0 is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Code(pub u32);

include!(concat!(env!("OUT_DIR"), "/codes.rs"));

/// The result of a call: nothing, or why not.
pub type Done = Result<(), Code>;

impl Code {
    fn row(self) -> Option<&'static (Code, &'static CStr, &'static CStr)> {
        CODES.iter().find(|row| row.0 == self)
    }

    /// Its name, such as `CUDA_ERROR_INVALID_VALUE`.
    pub fn name(self) -> Option<&'static CStr> {
        self.row().map(|row| row.1)
    }

    /// What it is called in words.
    pub fn text(self) -> Option<&'static CStr> {
        self.row().map(|row| row.2)
    }
}

/// `Err(code)` unless a condition holds.
pub fn ensure(holds: bool, code: Code) -> Done {
    if holds { Ok(()) } else { Err(code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names_and_strings() {
        assert_eq!(Code::SUCCESS.name(), Some(c"CUDA_SUCCESS"));
        assert_eq!(Code::ILLEGAL_ADDRESS, Code(700));
        assert_eq!(Code(700).text(), Some(c"an illegal memory access was encountered"));
        assert_eq!(Code(7777).name(), None);
        assert!(CODES.is_sorted_by_key(|row| row.0));
    }
}
