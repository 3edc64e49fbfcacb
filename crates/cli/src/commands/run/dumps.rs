//! What is read back: its type and shape, and where it goes.

use super::super::CommandError;
use super::super::files::Output;
use super::arguments::shown;
use super::document::{Shown, Unwritten};
use crate::input::confined_output;
use crate::npy::{DType, Header, elements as product};
use crate::run::elements::{self, Elements};
use crate::run::file::{self, DumpFile, LaunchFile};
use crate::run::{Memories, Memory, RunError};
use softwarp::num::Format;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What is read back, and where to.
#[derive(Debug)]
pub struct Dump {
    /// A buffer, variable or surface.
    pub name: String,
    /// What it holds.
    pub format: Option<Format>,
    shape: Option<Vec<usize>>,
    /// Into this file.
    pub path: Option<PathBuf>,
    /// As an array of NumPy.
    array: bool,
}

fn wrong(name: &str, why: impl std::fmt::Display) -> CommandError {
    CommandError::usage(format!("--dump {}: {why}", shown(name)))
}

impl Dump {
    /// `NAME[:TYPE[SHAPE]][=FILE]`
    pub fn parse(text: &str) -> Result<Dump, CommandError> {
        let (what, path) = match text.split_once('=') {
            Some((what, path)) => (what, Some(PathBuf::from(path))),
            None => (text, None),
        };
        let (name, format, shape) = match what.split_once(':') {
            Some((name, word)) => {
                let (word, shape) =
                    word.split_once('[').map_or((word, None), |(word, rest)| (word, Some(rest)));
                let found = elements::format(word);
                let found = found.ok_or_else(|| wrong(text, format!("`{}` is no type", shown(word))))?;
                (name, Some(found), shape.map(|rest| sizes(text, rest)).transpose()?)
            }
            None => (what, None, None),
        };
        let array = path.as_ref().is_some_and(|path| path.extension().is_some_and(|end| end == "npy"));
        if format.is_some() && path.is_some() && !array {
            return Err(wrong(name, "only .npy files have a type"));
        }
        Ok(Dump { name: name.to_owned(), format, shape, path, array })
    }

    /// A memory whose name is given, and nothing else.
    pub fn of_name(name: &str) -> Dump {
        Dump { name: name.to_owned(), format: None, shape: None, path: None, array: false }
    }

    /// As a launch file has it; files lie in its folder or below it, unless any place is allowed.
    pub fn of_file(dump: &file::Dump, folder: &Path, any_place: bool) -> Result<Dump, CommandError> {
        let path = |name: &String| {
            let path = confined_output(folder, Path::new(name), any_place);
            path.map_err(|error| CommandError::Io(format!("cannot write {}: {error}", shown(name))))
        };
        let (path, array) = match &dump.file {
            None => (None, false),
            Some(DumpFile::Npy(name)) => (Some(path(name)?), true),
            Some(DumpFile::Bytes(name)) => (Some(path(name)?), false),
        };
        Ok(Dump { name: dump.name.clone(), format: dump.format, shape: dump.shape.clone(), path, array })
    }

    /// The array that the memory is, if it is known to be one.
    fn elements(&self, file: &LaunchFile, bytes: u64) -> Result<Option<Elements>, CommandError> {
        let known = file.buffer(&self.name).and_then(|buffer| buffer.elements.clone());
        let format = match (self.format, known) {
            (Some(format), _) => format,
            (None, Some(Elements { format: Some(format), .. })) if self.shape.is_some() => format,
            (None, known) if self.shape.is_none() => return Ok(known),
            (None, _) => return Err(wrong(&self.name, "a shape needs a type")),
        };
        let count = elements::count(format, bytes)
            .ok_or_else(|| wrong(&self.name, format!("{bytes} bytes are no array of {format}")))?;
        let shape = match &self.shape {
            None => vec![usize::try_from(count).unwrap_or(usize::MAX)],
            Some(shape) if product(shape) == Some(count) => shape.clone(),
            Some(shape) => {
                return Err(wrong(
                    &self.name,
                    format!("{count} elements of {format} do not have the shape {shape:?}"),
                ));
            }
        };
        Ok(Some(Elements::new(format, shape)))
    }

    /// How it is shown.
    pub fn shown(&self, file: &LaunchFile, machine: &dyn Memories) -> Result<Shown, CommandError> {
        let memory = machine.memory(&self.name).map_err(|error| CommandError::Input(error.to_string()))?;
        let elements = self.elements(file, memory.length())?;
        let numbers = self.format.is_some() || self.shape.is_some();
        Ok(Shown { name: self.name.clone(), elements, numbers })
    }

    /// Writes the file, if there is to be one.
    pub fn write(&self, file: &LaunchFile, memory: &Memory<'_>) -> Result<(), CommandError> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut out = Output::create(path)?;
        if self.array {
            let (dtype, shape) = self.in_file(file, memory.length())?;
            let header = Header::new(dtype, shape);
            out.file.write_all(&header.to_bytes()).map_err(|error| out.failure(error))?;
        }
        let written = memory.pieces(|piece| out.file.write_all(piece).map_err(Unwritten));
        written.map_err(|error| out.failure(error.0))?;
        out.keep()
    }

    /// The type and shape that an array has in its file.
    fn in_file(&self, file: &LaunchFile, bytes: u64) -> Result<(DType, Vec<usize>), CommandError> {
        let flat = |dtype: DType| {
            let size = dtype.bytes().max(1);
            match bytes.is_multiple_of(size) {
                true => Ok((dtype, vec![usize::try_from(bytes / size).unwrap_or(usize::MAX)])),
                false => Err(wrong(&self.name, format!("{bytes} bytes are no array of {dtype}"))),
            }
        };
        let Some(Elements { dtype, format, mut shape }) = self.elements(file, bytes)? else {
            return flat(crate::arrays::dtype(Format::U8));
        };
        if format.is_some_and(|format| format.pitch() == 4) {
            // Two codes are one byte of the last axis.
            match shape.last_mut() {
                Some(last) if last.is_multiple_of(2) => *last /= 2,
                _ => return flat(dtype),
            }
        }
        Ok((dtype, shape))
    }
}

/// `2,4]`
fn sizes(text: &str, rest: &str) -> Result<Vec<usize>, CommandError> {
    let sizes =
        rest.strip_suffix(']').map(|sizes| sizes.split(',').map(|size| size.trim().parse()).collect());
    sizes.and_then(Result::ok).ok_or_else(|| wrong(text, "a shape is sizes in brackets, as in y:f32[2,4]"))
}

/// What is read back at the end: into the output, or into files.
#[derive(Debug)]
pub struct ReadBack {
    /// In the order in which they are asked for.
    pub shown: Vec<Shown>,
    /// Those that go to files.
    pub files: Vec<Dump>,
}

impl ReadBack {
    /// What is asked for on the command line, or else by the launch file. What cannot be is known before anything runs.
    pub fn new(
        asked: Vec<Dump>,
        check: bool,
        file: &LaunchFile,
        machine: &dyn Memories,
    ) -> Result<ReadBack, CommandError> {
        if let Some(dump) = asked.iter().find(|dump| !machine.has(file, &dump.name)) {
            return Err(wrong(&dump.name, "there is no buffer, variable or surface of this name"));
        }
        let (files, rest): (Vec<Dump>, Vec<Dump>) = asked.into_iter().partition(|dump| dump.path.is_some());
        for (index, dump) in files.iter().enumerate() {
            if files[..index].iter().any(|one| one.path == dump.path) {
                let path = dump.path.as_deref().unwrap_or(Path::new(""));
                let why = format!("--dump: two memories cannot both go to {}", path.display());
                return Err(CommandError::usage(why));
            }
            let memory = machine.memory(&dump.name);
            let memory = memory.map_err(|error: RunError| CommandError::Input(error.to_string()))?;
            dump.elements(file, memory.length())?;
        }
        let mut shown: Vec<Shown> = Vec::new();
        for dump in rest.iter().filter(|_| !check) {
            // A name that is given twice is one member.
            if !shown.iter().any(|one| one.name == dump.name) {
                shown.push(dump.shown(file, machine)?);
            }
        }
        Ok(ReadBack { shown, files })
    }
}
