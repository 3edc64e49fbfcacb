//! Files in and out. What goes out is written beside its place and moved there when it is complete, so that
//! a failure leaves nothing half-written and whatever was there before untouched.

use super::Fault;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

/// A file to read, or standard input.
pub enum Input {
    File(File),
    /// Standard input or a pipe, read to its end: the length must be known.
    Memory(Cursor<Vec<u8>>),
}

impl Input {
    /// Opens a file; `-` is standard input.
    pub fn open(path: &Path) -> Result<Input, Fault> {
        let unreadable = |error| Fault::Call(format!("cannot read {}: {error}", path.display()));
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
            return Ok(Input::Memory(Cursor::new(bytes)));
        }
        let mut file = File::open(path).map_err(unreadable)?;
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Ok(Input::File(file));
        }
        // A pipe has no length until its end; a folder says here that it is one.
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(Input::Memory(Cursor::new(bytes)))
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        match self {
            Input::File(file) => file.metadata().map_or(0, |metadata| metadata.len()),
            Input::Memory(bytes) => bytes.get_ref().len() as u64,
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::File(file) => file.read(buffer),
            Input::Memory(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        match self {
            Input::File(file) => file.seek(to),
            Input::Memory(bytes) => bytes.seek(to),
        }
    }
}

/// A file that appears under its name only when it is complete.
pub struct Output {
    /// Where to write.
    pub file: File,
    temporary: PathBuf,
    path: PathBuf,
    kept: bool,
}

impl Output {
    /// Begins a file, under a temporary name in the same folder.
    pub fn create(path: &Path) -> Result<Output, Fault> {
        let unwritable =
            |why: &dyn std::fmt::Display| Fault::Call(format!("cannot write {}: {why}", path.display()));
        // Replacing a device or pipe by a file would be a surprise.
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            return Err(unwritable(&"it is not a regular file"));
        }
        // Through a link, it is the file it leads to that is replaced.
        let place = if existing.is_some() { fs::canonicalize(path).ok() } else { None };
        let path = place.unwrap_or_else(|| path.to_owned());
        let Some(name) = path.file_name() else { return Err(unwritable(&"it names no file")) };
        let temporary =
            path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary);
        let file = file.map_err(|error| unwritable(&error))?;
        if let Some(metadata) = existing {
            let _ = file.set_permissions(metadata.permissions());
        }
        Ok(Output { file, temporary, path, kept: false })
    }

    /// Puts the complete file in its place.
    pub fn keep(mut self) -> Result<(), Fault> {
        fs::rename(&self.temporary, &self.path).map_err(|error| self.fault(error))?;
        self.kept = true;
        Ok(())
    }

    /// What to say when writing fails.
    pub fn fault(&self, error: io::Error) -> Fault {
        Fault::Call(format!("cannot write {}: {error}", self.path.display()))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
