//! Who called a function of a driver's library, and what is to be done if that is a runtime which was not redirected.
//!
//! **Why this is sound.** The unwinder walks the stack by tables of the objects that are on it, as for a panic, and
//! reads nothing else. It gives addresses, which are compared with mappings and not followed.

use crate::debug_file;
use crate::elf::Elf;
use crate::mapped::Mapped;
use crate::memory::{self, Mapping};
use crate::object;
use crate::runtime::{self, Content};
use std::ffi::{OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// `_URC_NO_REASON` and `_URC_END_OF_STACK` of unwind.h.
const GO_ON: c_int = 0;
const STOP: c_int = 5;

/// The most frames that are looked at.
const MOST_FRAMES: usize = 64;

// Functions of the unwinder, which the standard library is linked with.
unsafe extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

extern "C" fn keep(frame: *mut c_void, to: *mut c_void) -> c_int {
    // SAFETY: the vector that `frames` has passed, and nothing else uses it meanwhile.
    let Some(to) = (unsafe { to.cast::<Vec<usize>>().as_mut() }) else { return STOP };
    if to.len() == MOST_FRAMES {
        return STOP;
    }
    // SAFETY: the unwinder's own frame.
    to.push(unsafe { _Unwind_GetIP(frame) });
    GO_ON
}

/// Where the calls on the stack return to, the last call first.
fn frames() -> Vec<usize> {
    let mut frames = Vec::with_capacity(MOST_FRAMES);
    // SAFETY: the function takes what it is given here.
    unsafe { _Unwind_Backtrace(keep, (&raw mut frames).cast()) };
    frames
}

/// What to say to the user of a library that asks for NVIDIA's own tables, as a runtime does that is linked into it.
/// This is to be called by the function that was asked.
pub fn explanation() -> String {
    let mappings = memory::mappings();
    let file = |address: usize| memory::mapping_at(&mappings, address).map(|mapping| mapping.path.as_slice());
    let own = file(explanation as *const () as usize);
    let asks = frames().into_iter().filter_map(file).find(|path| path.contains(&b'/') && Some(*path) != own);
    let Some(path) = asks.map(|path| Path::new(OsStr::from_bytes(path))) else {
        return "a program asks for private tables of NVIDIA's driver, as the CUDA runtime does that nvcc links into \
                programs; run it by `softwarp exec`"
            .to_owned();
    };
    let redirects = |mapping: &Mapping| {
        [&b"/libsoftwarp_audit.so"[..], b"/libsoftwarp_preload.so"]
            .iter()
            .any(|name| mapping.path.ends_with(name))
    };
    let redirecting = mappings.iter().any(redirects);
    match content(path) {
        Some(Content::NoSymbols) => object::without_symbols(path),
        Some(Content::Runtime(runtime)) if !redirecting => format!(
            "{} has the CUDA runtime {} linked into it, which works with NVIDIA's driver only; run the program by \
             `softwarp exec`, which redirects it",
            path.display(),
            runtime.version
        ),
        Some(Content::Runtime(runtime)) => format!(
            "{} has the CUDA runtime {} linked into it, which was not redirected; link it with `-cudart shared`",
            path.display(),
            runtime.version
        ),
        Some(Content::Nothing) | None => {
            format!(
                "{} asks for private tables of NVIDIA's driver, which there are none of here",
                path.display()
            )
        }
    }
}

/// What a file has in it, with the symbols that it was stripped of.
fn content(path: &Path) -> Option<Content> {
    let bytes = Mapped::open(path).ok()?;
    let elf = Elf::read(&bytes)?;
    Some(match runtime::look(&elf) {
        Content::NoSymbols => debug_file::runtime(path, &elf).map_or(Content::NoSymbols, Content::Runtime),
        content => content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_found() {
        let mappings = memory::mappings();
        let frames = frames();
        let of_libc = |frame: &usize| {
            let mapping = memory::mapping_at(&mappings, *frame);
            mapping.is_some_and(|mapping| mapping.path.ends_with(b"/libc.so.6"))
        };
        // A thread is begun by the C library, which has nothing to do with runtimes.
        assert!(frames.iter().any(of_libc), "{frames:x?}");
        let text = explanation();
        assert!(text.contains("libc") && text.contains("there are none of here"), "{text}");
    }
}
