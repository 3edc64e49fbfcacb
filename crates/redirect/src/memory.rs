//! Code of mapped objects, and what is written over it.
//!
//! **Why this is sound.** What is written lies in one mapping of a file that has the very bytes that are replaced: that
//! is compared first, by a mapping that the system lists as readable and executable. Nothing runs there yet: the loader
//! has mapped the object, and runs nothing of it before its auditors return; the thread that calls holds the loader's
//! lock, so that the object is not unmapped meanwhile. If the memory cannot be made writable, nothing was changed.

use std::ffi::{c_int, c_void};
use std::io;

// As sys/mman.h has it.
unsafe extern "C" {
    fn mprotect(at: *mut c_void, length: usize, access: c_int) -> c_int;
}

/// `PROT_READ`, `PROT_WRITE` and `PROT_EXEC`
const READ: c_int = 1;
const WRITE: c_int = 2;
const EXECUTE: c_int = 4;

/// `int3`
const BREAKPOINT: u8 = 0xcc;

/// A mapping of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The first address.
    pub from: usize,
    /// The one after the last.
    pub to: usize,
    access: c_int,
    /// The file, or what else is mapped.
    pub path: Vec<u8>,
}

/// Bytes that are to be where others are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The address.
    pub at: usize,
    /// What the file has there.
    pub old: Vec<u8>,
    /// What is to be there: as many bytes, or fewer.
    pub new: Vec<u8>,
}

/// Why nothing was written.
#[derive(Debug)]
pub enum Failed {
    /// The memory is not code that is mapped in one piece.
    NotCode,
    /// It has not the bytes of the file.
    Differs,
    /// A debugger has put a breakpoint into it, and would take it out again.
    Breakpoint,
    /// It was written already.
    Already,
    /// The system does not allow it.
    Denied(io::Error),
}

/// All mappings.
pub fn mappings() -> Vec<Mapping> {
    let text = std::fs::read("/proc/self/maps").unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(mapping).collect()
}

/// The mapping with an address.
pub fn mapping_at(mappings: &[Mapping], address: usize) -> Option<&Mapping> {
    mappings.iter().find(|mapping| (mapping.from..mapping.to).contains(&address))
}

/// A line of the list: addresses, access, offset, device, number of the file, and path.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut words = line.splitn(6, |byte| *byte == b' ');
    let (range, access) = (str::from_utf8(words.next()?).ok()?, words.next()?);
    let (from, to) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let path = words.nth(3).unwrap_or_default().trim_ascii_start().to_vec();
    let allowed = |letter, access_bit| if access.contains(&letter) { access_bit } else { 0 };
    let access = allowed(b'r', READ) | allowed(b'w', WRITE) | allowed(b'x', EXECUTE);
    Some(Mapping { from: number(from)?, to: number(to)?, access, path })
}

/// Writes everything, or nothing.
///
/// # Safety
///
/// No other thread runs the code at these places, or unmaps it, before this returns.
pub unsafe fn write(mappings: &[Mapping], writes: &[Write]) -> Result<(), Failed> {
    let low = writes.iter().map(|write| write.at).min().ok_or(Failed::NotCode)?;
    let high = writes
        .iter()
        .filter_map(|write| write.at.checked_add(write.old.len()))
        .max()
        .ok_or(Failed::NotCode)?;
    let mapping = mapping_at(mappings, low).filter(|mapping| {
        high <= mapping.to
            && mapping.access & (READ | EXECUTE) == READ | EXECUTE
            && mapping.path.contains(&b'/')
    });
    let mapping = mapping.ok_or(Failed::NotCode)?;
    for write in writes {
        // SAFETY: the bytes lie in the mapping, which can be read, and no other thread writes there.
        let there = unsafe { std::slice::from_raw_parts(write.at as *const u8, write.old.len()) };
        if write.new.len() > there.len() {
            return Err(Failed::NotCode);
        }
        if there.starts_with(&write.new) {
            return Err(Failed::Already);
        }
        let mut changed = there.iter().zip(&write.old).filter(|(there, old)| there != old).peekable();
        if changed.peek().is_some() {
            let breakpoints = changed.all(|(there, _)| *there == BREAKPOINT);
            return Err(if breakpoints { Failed::Breakpoint } else { Failed::Differs });
        }
    }
    const PAGE: usize = 4096;
    let from = low & !(PAGE - 1);
    let length = high.next_multiple_of(PAGE) - from;
    let protect = |access: c_int| {
        // SAFETY: the pages are part of the mapping. They stay readable and executable.
        match unsafe { mprotect(from as *mut c_void, length, access) } {
            0 => Ok(()),
            _ => Err(Failed::Denied(io::Error::last_os_error())),
        }
    };
    // Executable all the time: a system that lets no memory become executable again says so here, before anything is
    // changed.
    protect(mapping.access | WRITE)?;
    for write in writes {
        // SAFETY: the bytes lie in pages that can be written now, and nobody else reads them, as the caller promises.
        unsafe { std::ptr::copy_nonoverlapping(write.new.as_ptr(), write.at as *mut u8, write.new.len()) };
    }
    // What was allowed before is allowed again; if not, the program runs all the same.
    let _ = protect(mapping.access);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // What a function is with a debugger's breakpoint at its beginning.
    std::arch::global_asm!(
        ".globl softwarp_redirect_breakpoint",
        "softwarp_redirect_breakpoint:",
        ".byte 0xcc, 0x0f, 0x1e, 0xfa, 0xc3"
    );
    unsafe extern "C" {
        fn softwarp_redirect_breakpoint();
    }

    #[test]
    fn lines_are_read() {
        let line = b"7f00-7fff r-xp 00001000 08:01 42                         /opt/a b/lib.so";
        let read =
            Mapping { from: 0x7f00, to: 0x7fff, access: READ | EXECUTE, path: b"/opt/a b/lib.so".to_vec() };
        assert_eq!(mapping(line), Some(read));
        assert_eq!(mapping(b"1000-2000 rw-p 00000000 00:00 0 ").map(|it| it.path), Some(vec![]));
        for wrong in [&b""[..], b"x", b"1000 r-xp", b"g-h r-xp 0 0 0", b"1-2"] {
            assert_eq!(mapping(wrong), None);
        }
    }

    #[test]
    fn the_own_code_is_found_and_others_are_refused() {
        let mappings = mappings();
        let code = the_own_code_is_found_and_others_are_refused as *const () as usize;
        let own = mapping_at(&mappings, code).expect("mapped");
        assert!(own.access & EXECUTE != 0 && own.path.starts_with(b"/"), "{own:?}");
        let data = [0u8; 64];
        let at = data.as_ptr().addr();
        let write = |at, old: &[u8], new: &[u8]| {
            let one = Write { at, old: old.to_vec(), new: new.to_vec() };
            // SAFETY: nothing is written: each is refused.
            unsafe { super::write(&mappings, &[one]) }
        };
        assert!(matches!(write(at, &[0; 16], &[1; 14]), Err(Failed::NotCode)));
        assert!(matches!(write(0, &[0; 16], &[1; 14]), Err(Failed::NotCode)));
        assert!(matches!(write(usize::MAX - 4, &[0; 16], &[1; 14]), Err(Failed::NotCode)));
        assert!(matches!(write(code, &[0xf4; 16], &[0xf5; 14]), Err(Failed::Differs)));
        let breakpoint = softwarp_redirect_breakpoint as *const () as usize;
        let file = [0xf3, 0x0f, 0x1e, 0xfa, 0xc3];
        assert!(matches!(write(breakpoint, &file, &[0xf5; 5]), Err(Failed::Breakpoint)));
        // SAFETY: nothing to write.
        assert!(matches!(unsafe { super::write(&mappings, &[]) }, Err(Failed::NotCode)));
    }
}
