//! Reads files within bounds.
//!
//! Every file that a command, a launch file or a recording names is opened here. A regular file is refused by its
//! length before anything is read; a stream (a pipe, a FIFO, a terminal, standard input) is read up to the bound and
//! refused behind it; devices without an end, such as `/dev/zero`, are not read at all. [`confined`] keeps what a file
//! refers to within that file's folder. [`Lines`] bounds lines and the result of decompression.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, IsTerminal, Read, Seek};
use std::path::{Component, Path, PathBuf};

/// The most bytes of a PTX file, unless the caller says otherwise.
pub const MOST_TEXT: u64 = 1 << 30;

/// The most bytes of a JSON file or of a line of a golden file. Values take many times their text.
pub const MOST_JSON: u64 = 256 << 20;

/// The most bytes of an array, or of other data, that is read into memory as a whole.
pub const MOST_DATA: u64 = 4 << 30;

/// The most bytes of a golden file once it is decompressed.
pub const MOST_LINES: u64 = 4 << 30;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is longer than it may be.
    #[error("it is longer than {}, the most that is read; --max-input raises that", bytes(*limit))]
    TooLong {
        /// The most bytes that are read.
        limit: u64,
    },
    /// It is a device that has no end.
    #[error("it is a device, which may have no end")]
    Device,
    /// It is no regular file.
    #[error("it is not a regular file")]
    Irregular,
    /// It lies outside of the folder that it is confined to.
    #[error("`{}` lies outside of the file's folder; --allow-paths reads it", shown(name))]
    Outside {
        /// As the file that refers to it has it.
        name: String,
    },
}

/// The beginning of a name, on one line.
fn shown(name: &str) -> String {
    name.chars().take(80).flat_map(char::escape_debug).collect()
}

/// "4 GiB", "1000 bytes"
pub fn bytes(count: u64) -> String {
    for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if count >= unit && count.is_multiple_of(unit) {
            return format!("{} {name}", count / unit);
        }
    }
    format!("{count} bytes")
}

/// An open file of bounded length.
#[derive(Debug)]
pub enum Input {
    /// A regular file, read as it is needed.
    File(File),
    /// A stream, read to its end: the length must be known.
    Memory(Cursor<Vec<u8>>),
}

impl Input {
    /// Opens a file of at most `limit` bytes.
    pub fn open(path: &Path, limit: u64) -> Result<Input, InputError> {
        Input::of(File::open(path)?, limit)
    }

    /// Standard input, of at most `limit` bytes.
    pub fn stdin(limit: u64) -> Result<Input, InputError> {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            Input::of(File::from(io::stdin().as_fd().try_clone_to_owned()?), limit)
        }
        #[cfg(not(unix))]
        Input::stream(io::stdin().lock(), limit)
    }

    fn of(file: File, limit: u64) -> Result<Input, InputError> {
        let metadata = file.metadata()?;
        if metadata.is_file() {
            return match metadata.len() > limit {
                true => Err(InputError::TooLong { limit }),
                false => Ok(Input::File(file)),
            };
        }
        if is_device(&metadata) && !file.is_terminal() {
            // `/dev/null` ends at once; nothing else is sure to.
            return match (&file).take(1).read(&mut [0])? {
                0 => Ok(Input::Memory(Cursor::default())),
                _ => Err(InputError::Device),
            };
        }
        // A folder says here that it is one.
        Input::stream(file, limit)
    }

    fn stream(from: impl Read, limit: u64) -> Result<Input, InputError> {
        Ok(Input::Memory(Cursor::new(all(from, limit)?)))
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        match self {
            Input::File(file) => file.metadata().map_or(0, |metadata| metadata.len()),
            Input::Memory(bytes) => bytes.get_ref().len() as u64,
        }
    }
}

#[cfg(unix)]
fn is_device(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: &std::fs::Metadata) -> bool {
    false
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

/// Everything that is left, of at most `limit` bytes. A file may grow while it is read.
pub fn all(from: impl Read, limit: u64) -> Result<Vec<u8>, InputError> {
    all_of(from, 0, limit)
}

/// The same, where about a number of bytes are expected: their memory is asked for at once.
pub fn all_of(from: impl Read, expected: u64, limit: u64) -> Result<Vec<u8>, InputError> {
    let expected = expected.min(limit).saturating_add(64);
    let mut bytes = Vec::new();
    // If this fails, `read_to_end` allocates as it goes, and reports an error when memory runs out.
    let _ = bytes.try_reserve_exact(usize::try_from(expected).unwrap_or(0));
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(InputError::TooLong { limit }) } else { Ok(bytes) }
}

/// A whole file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, InputError> {
    all(Input::open(path, limit)?, limit)
}

/// Where a file is that another one refers to by `name`: in that one's folder or below it, after links are followed,
/// unless any place is `allowed`. Whether something exists outside is not revealed.
pub fn confined(folder: &Path, name: &Path, allowed: bool) -> Result<PathBuf, InputError> {
    let path = folder.join(name);
    if allowed {
        return Ok(path);
    }
    // The folder of `x.json` is the current one.
    let root = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize()?;
    let outside = || InputError::Outside { name: name.display().to_string() };
    match path.canonicalize() {
        Ok(real) if !real.starts_with(&root) => Err(outside()),
        // A FIFO could wait for ever.
        Ok(real) if !real.is_file() => Err(InputError::Irregular),
        Ok(_) => Ok(path),
        Err(_) if leaves(name) => Err(outside()),
        Err(error) => Err(error.into()),
    }
}

/// Where a file is to be written that another one refers to by `name`: in that one's folder or below it, after links are
/// followed, unless any place is `allowed`.
pub fn confined_output(folder: &Path, name: &Path, allowed: bool) -> Result<PathBuf, InputError> {
    let path = folder.join(name);
    if allowed {
        return Ok(path);
    }
    let outside = || InputError::Outside { name: name.display().to_string() };
    if leaves(name) {
        return Err(outside());
    }
    let root = if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize()?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = match path.canonicalize() {
        Ok(existing) => existing,
        Err(_) => parent.canonicalize()?,
    };
    if real.starts_with(&root) { Ok(path) } else { Err(outside()) }
}

/// Whether a relative path leads out of its folder by its words alone.
fn leaves(name: &Path) -> bool {
    let mut depth = 0i64;
    for component in name.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return true,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

/// The lines of a file, plain or gzipped, with bounds on a line and on all of them.
pub struct Lines {
    from: Box<dyn BufRead>,
    longest: u64,
    left: u64,
    total: u64,
}

impl Lines {
    /// Reads lines of at most `longest` bytes each, and `total` in all.
    pub fn new(from: Input, gzipped: bool, longest: u64, total: u64) -> Lines {
        let from: Box<dyn BufRead> = match gzipped {
            true => Box::new(BufReader::new(flate2::read::MultiGzDecoder::new(BufReader::new(from)))),
            false => Box::new(BufReader::new(from)),
        };
        Lines { from, longest, left: total, total }
    }
}

impl Iterator for Lines {
    type Item = Result<String, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        let limit = self.longest.min(self.left);
        let mut line = Vec::new();
        match (&mut self.from).take(limit.saturating_add(1)).read_until(b'\n', &mut line) {
            Err(error) => return Some(Err(error.into())),
            Ok(0) => return None,
            Ok(_) => {}
        }
        if line.len() as u64 > limit {
            let limit = if self.left < self.longest { self.total } else { self.longest };
            return Some(Err(InputError::TooLong { limit }));
        }
        self.left -= line.len() as u64;
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        Some(String::from_utf8(line).map_err(|_| io::Error::from(io::ErrorKind::InvalidData).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_name_leaves_its_folder_or_not() {
        for inside in ["a.ptx", "a/b.ptx", "a/../b.ptx", "./a", ""] {
            assert!(!leaves(Path::new(inside)), "{inside}");
        }
        for outside in ["../a", "a/../../b", "/etc/passwd", "./.."] {
            assert!(leaves(Path::new(outside)), "{outside}");
        }
    }

    #[test]
    fn lines_are_bounded_one_by_one_and_together() {
        let input = |text: &[u8]| Input::Memory(Cursor::new(text.to_vec()));
        let lines = |text: &[u8], longest, total| {
            Lines::new(input(text), false, longest, total).collect::<Result<Vec<_>, _>>()
        };
        assert_eq!(lines(b"ab\r\nc\n\nd", 4, 100).unwrap(), ["ab", "c", "", "d"]);
        assert!(matches!(lines(b"abcdef\n", 4, 100), Err(InputError::TooLong { limit: 4 })));
        assert!(matches!(lines(b"ab\ncd\nef\n", 4, 8), Err(InputError::TooLong { limit: 8 })));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        for _ in 0..64 {
            packed.write_all(&[b'x'; 1 << 20]).unwrap();
        }
        let bomb = packed.finish().unwrap();
        assert!(bomb.len() < 1 << 18);
        let mut lines = Lines::new(input(&bomb), true, 1 << 20, 1 << 30);
        assert!(matches!(lines.next(), Some(Err(InputError::TooLong { limit })) if limit == 1 << 20));
    }

    #[test]
    fn sizes_are_told_in_units() {
        assert_eq!([bytes(1 << 30), bytes(3 << 20), bytes(1000)], ["1 GiB", "3 MiB", "1000 bytes"]);
    }
}
