//! Files that are read where they lie: mapped into memory, so that only what is looked at is read.
//!
//! **Why this is sound.** The mapping is private and read-only, and lasts as long as the value. As the loader does with
//! the same files, this relies on the file not being cut or written to meanwhile.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// A file that is mapped into memory.
#[derive(Debug)]
pub struct Mapped {
    #[cfg(target_os = "linux")]
    at: std::ptr::NonNull<u8>,
    #[cfg(target_os = "linux")]
    length: usize,
    #[cfg(not(target_os = "linux"))]
    bytes: Vec<u8>,
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::{c_int, c_void};

    // As sys/mman.h has them.
    unsafe extern "C" {
        pub fn mmap(
            at: *mut c_void,
            length: usize,
            access: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void;
        pub fn munmap(at: *mut c_void, length: usize) -> c_int;
    }
    /// `PROT_READ`
    pub const READ: c_int = 1;
    /// `MAP_PRIVATE`
    pub const PRIVATE: c_int = 2;
}

impl Mapped {
    /// Maps a file. What is no plain file, such as a device, is an error.
    pub fn open(path: &Path) -> io::Result<Mapped> {
        let file = options().open(path)?;
        let about = file.metadata()?;
        let length = usize::try_from(about.len()).unwrap_or(0);
        if !about.is_file() || length == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Mapped::of(&file, length)
    }

    #[cfg(target_os = "linux")]
    fn of(file: &File, length: usize) -> io::Result<Mapped> {
        use std::os::fd::AsRawFd as _;
        let (none, file) = (std::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: a new mapping, at a place that the system chooses.
        let at = unsafe { system::mmap(none, length, system::READ, system::PRIVATE, file, 0) };
        match std::ptr::NonNull::new(at.cast()) {
            Some(at) if at.as_ptr() as isize != -1 => Ok(Mapped { at, length }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn of(mut file: &File, _: usize) -> io::Result<Mapped> {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes)?;
        Ok(Mapped { bytes })
    }
}

/// A pipe in place of a file is not waited for.
fn options() -> std::fs::OpenOptions {
    let mut options = File::options();
    options.read(true);
    #[cfg(target_os = "linux")]
    {
        /// `O_NONBLOCK`
        const DO_NOT_WAIT: i32 = 0o4000;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, DO_NOT_WAIT);
    }
    options
}

impl Deref for Mapped {
    type Target = [u8];

    #[cfg(target_os = "linux")]
    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping has this many bytes and lasts as long as `self`.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.length) }
    }

    #[cfg(not(target_os = "linux"))]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no reference to it outlives the value.
        unsafe { system::munmap(self.at.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_mapped_and_nothing_else() {
        let own = std::env::current_exe().expect("a path");
        assert!(Mapped::open(&own).expect("mapped").starts_with(b"\x7fELF"));
        for path in ["/", "/dev/zero", "/there/is/no/such/file"] {
            assert!(Mapped::open(Path::new(path)).is_err(), "{path}");
        }
    }
}
