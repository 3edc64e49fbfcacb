//! Files in and out. What comes in is bounded ([`crate::input`]). What goes out is written beside its place and moved
//! there when it is complete, so that a failure leaves nothing half-written and whatever was there before untouched.
//! `-` is standard input, or standard output, to which a complete file is copied.

use super::{CommandError, output, sources};
use crate::input::{self, InputError};
use crate::npy::Reader;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Seek};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use crate::input::Input;

/// As [`set_limit`] has it.
static LIMIT: OnceLock<Option<u64>> = OnceLock::new();

/// Takes what the user says about the longest file.
pub fn set_limit(limit: Option<u64>) {
    let _ = LIMIT.set(limit);
}

/// What the user says about the longest file.
pub fn user_limit() -> Option<u64> {
    LIMIT.get().copied().flatten()
}

/// The longest file, where without the user's word it is `usual`.
pub fn limit(usual: u64) -> u64 {
    user_limit().unwrap_or(usual)
}

/// A number of bytes: `4096`, `64K`, `512M`, `2G`.
pub fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().filter(|_| !digits.starts_with('+'));
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| "it must be a number of bytes, as in 4096, 64K, 512M or 2G".to_owned())
}

/// Opens a file of at most `usual` bytes, or what the user allows; `-` is standard input.
pub fn open(path: &Path, usual: u64) -> Result<Input, CommandError> {
    let opened = match sources::is_standard_input(path) {
        true => Input::stdin(limit(usual)),
        false => Input::open(path, limit(usual)),
    };
    opened.map_err(|error| unreadable(path, error))
}

/// Opens a file that is read in pieces: a regular one may have any length; `-` is standard input.
pub fn open_for_pieces(path: &Path) -> Result<Input, CommandError> {
    let is_file =
        !sources::is_standard_input(path) && fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    open(path, if is_file { u64::MAX } else { input::MOST_DATA })
}

/// Reads a whole file of at most `usual` bytes, or what the user allows; `-` is standard input.
pub fn read(path: &Path, usual: u64) -> Result<Vec<u8>, CommandError> {
    let input = open(path, usual)?;
    let expected = input.length();
    input::all_of(input, expected, limit(usual)).map_err(|error| unreadable(path, error))
}

/// What to say about a file that is not read.
pub fn unreadable(path: &Path, error: InputError) -> CommandError {
    let name = sources::name(path);
    match error {
        InputError::Io(_) | InputError::Device | InputError::Irregular => {
            CommandError::Io(format!("cannot read {name}: {error}"))
        }
        InputError::TooLong { .. } | InputError::Outside { .. } => CommandError::input(name, error),
    }
}

/// Opens an array to be read in pieces; `-` is standard input. One in Fortran order is read as a whole and put into C
/// order.
pub fn open_array(path: &Path) -> Result<Reader<Input>, CommandError> {
    let in_file = |error| CommandError::input(sources::name(path), error);
    let input = open_for_pieces(path)?;
    let length = input.length();
    let reader = Reader::new(input, length).map_err(in_file)?;
    if reader.header.is_c_ordered() {
        return Ok(reader);
    }
    let most = limit(input::MOST_DATA);
    if reader.left() > most {
        return Err(unreadable(path, InputError::TooLong { limit: most }));
    }
    let array = reader.rest().map_err(in_file)?.into_c_order();
    Ok(Reader::with_header(array.header, Input::Memory(Cursor::new(array.data))))
}

/// A file that appears under its name, or on standard output, only when it is complete.
pub struct Output {
    /// Where to write.
    pub file: File,
    temporary: PathBuf,
    path: PathBuf,
    to_stdout: bool,
    kept: bool,
}

impl Output {
    /// Begins a file, under a temporary name in the same folder; for `-` in the folder of temporary files.
    pub fn create(path: &Path) -> Result<Output, CommandError> {
        if sources::is_standard_input(path) {
            return Output::for_stdout();
        }
        let unwritable =
            |why: &dyn std::fmt::Display| CommandError::Io(format!("cannot write {}: {why}", path.display()));
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
        Ok(Output { file, temporary, path, to_stdout: false, kept: false })
    }

    fn for_stdout() -> Result<Output, CommandError> {
        let name = format!("softwarp.{}.tmp", std::process::id());
        let temporary = std::env::temp_dir().join(name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&temporary);
        let file =
            file.map_err(|error| CommandError::Io(format!("cannot write {}: {error}", temporary.display())))?;
        Ok(Output { file, path: temporary.clone(), temporary, to_stdout: true, kept: false })
    }

    /// Puts the complete file in its place.
    pub fn keep(mut self) -> Result<(), CommandError> {
        if self.to_stdout {
            self.file.rewind().map_err(|error| self.failure(error))?;
            return output::stdout(|out| io::copy(&mut self.file, out).map(|_| ()));
        }
        fs::rename(&self.temporary, &self.path).map_err(|error| self.failure(error))?;
        self.kept = true;
        Ok(())
    }

    /// Writes a whole file.
    pub fn write(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
        let mut out = Output::create(path)?;
        io::Write::write_all(&mut out.file, bytes).map_err(|error| out.failure(error))?;
        out.keep()
    }

    /// Refuses `-` where a report goes to standard output too.
    pub fn unless_both_to_stdout(path: &Path, json: bool) -> Result<(), CommandError> {
        match json && sources::is_standard_input(path) {
            true => Err(CommandError::usage("--json and `-` cannot both write to standard output")),
            false => Ok(()),
        }
    }

    /// What to say when writing fails.
    pub fn failure(&self, error: io::Error) -> CommandError {
        CommandError::Io(format!("cannot write {}: {error}", self.path.display()))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!([size("64K"), size("3m"), size("2G")], [Ok(64 << 10), Ok(3 << 20), Ok(2 << 30)]);
        for wrong in
            ["", "G", "-1", "+1", "1.5G", "1T", "99999999999999999999", "18446744073709551615K", "1 G", "é"]
        {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
