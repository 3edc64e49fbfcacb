//! What the arguments of `softwarp run` say: a launch without a launch file.

use super::super::CommandError;
use super::super::files::{self, Output};
use super::Args;
use super::document::Unwritten;
use crate::arrays;
use crate::input::MOST_DATA;
use crate::literal::Literal;
use crate::npy::{Array, DType, Header, Order, Reader};
use crate::run::Memory;
use crate::run::data::{Init, hex};
use crate::run::file::{Argument, Buffer, Global, Launch, LaunchFile};
use softwarp::num::Format;
use softwarp::source::Source;
use softwarp::syntax::parse;
use softwarp::syntax::tree::Item;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Sizes in three dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Dimensions(pub [u32; 3]);

impl FromStr for Dimensions {
    type Err = String;

    fn from_str(text: &str) -> Result<Dimensions, String> {
        let mut sizes = [1; 3];
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 3 {
            return Err("there are at most three dimensions".to_owned());
        }
        for (size, part) in sizes.iter_mut().zip(parts) {
            *size = part.trim().parse().map_err(|_| format!("`{}` is not a size", part.escape_debug()))?;
        }
        Ok(Dimensions(sizes))
    }
}

/// The type and shape of an array.
pub type ArrayType = (DType, Vec<usize>);

/// A launch, and what is known of the arrays that buffers began as.
pub struct Given {
    /// As a launch file.
    pub file: LaunchFile,
    /// By the buffer's name.
    pub arrays: BTreeMap<String, ArrayType>,
    /// The launch file, if there is one.
    pub launch_file: Option<String>,
}

/// Refuses what a launch file says already.
pub fn only_for_ptx(args: &Args) -> Result<(), CommandError> {
    let given = [
        ("--kernel", args.kernel.is_some()),
        ("--grid", args.grid.is_some()),
        ("--block", args.block.is_some()),
        ("--cluster", args.cluster.is_some()),
        ("--cooperative", args.cooperative),
        ("--shared", args.shared.is_some()),
        ("--arg", !args.arguments.is_empty()),
        ("--set", !args.set.is_empty()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            Err(CommandError::usage(format!("{option} goes with PTX files: a launch file says it itself")))
        }
        None => Ok(()),
    }
}

/// The launch that the arguments describe.
pub fn given(args: &Args, sources: &[Source]) -> Result<Given, CommandError> {
    let mut given = Given { file: LaunchFile::default(), arrays: BTreeMap::new(), launch_file: None };
    let arguments = args
        .arguments
        .iter()
        .map(|text| argument(text, &mut given))
        .collect::<Result<Vec<_>, CommandError>>()?;
    for text in &args.set {
        let (name, data) = text
            .split_once('=')
            .ok_or_else(|| CommandError::usage(format!("--set {}: it is NAME=DATA", shown(text))))?;
        let (data, _) = contents("--set", text, data)?;
        let Content::Bytes(data) = data else {
            return Err(CommandError::usage(format!("--set {}: data is @FILE or hex:DIGITS", shown(text))));
        };
        if given.file.globals.iter().any(|global| global.name == name) {
            return Err(CommandError::usage(format!("--set {}: the variable is set already", shown(text))));
        }
        given.file.globals.push(Global { name: name.to_owned(), set: Some(data), dump: false });
    }
    let kernel = match &args.kernel {
        Some(name) => name.clone(),
        None => only_kernel(sources)?,
    };
    given.file.launches.push(Launch {
        kernel,
        grid: args.grid.map_or([1; 3], |sizes| sizes.0),
        block: args.block.map_or([1; 3], |sizes| sizes.0),
        cluster: args.cluster.map(|sizes| sizes.0),
        cooperative: args.cooperative,
        dynamic_shared: args.shared.unwrap_or(0),
        arguments,
    });
    Ok(given)
}

/// The kernel that is meant when none is named.
fn only_kernel(sources: &[Source]) -> Result<String, CommandError> {
    let mut names = Vec::new();
    for source in sources {
        let module = parse(&source.text).module;
        for item in &module.items {
            if let Item::Function(function) = item
                && function.entry
                && function.body.is_some()
            {
                names.push(module.name(function.name.symbol).to_owned());
            }
        }
    }
    match names.as_slice() {
        [name] => Ok(name.clone()),
        [] => Err(CommandError::Input("the module has no kernel".to_owned())),
        [first, ..] => Err(CommandError::usage(format!(
            "the module has {} kernels: choose one, as in --kernel {first}",
            names.len()
        ))),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

fn argument(text: &str, given: &mut Given) -> Result<Argument, CommandError> {
    let wrong = |why: &dyn std::fmt::Display| CommandError::usage(format!("--arg {}: {why}", shown(text)));
    let (kind, value) = text.split_once(':').ok_or_else(|| wrong(&"it is KIND:VALUE, as in u32:7"))?;
    match kind {
        "buffer" => buffer(text, value, given),
        "constant" => constant(text, value, given),
        "bytes" => hex(value).map(Argument::Bytes).map_err(|why| wrong(&why)),
        _ => {
            let format = Format::from_name(kind).filter(|format| format.bits() >= 8 && format.pitch() >= 8);
            let format = format.ok_or_else(|| wrong(&format!("`{kind}` is no kind of argument")))?;
            let literal = Literal::parse(value).map_err(|error| wrong(&error))?;
            let encoded = literal.encode(format).map_err(|error| wrong(&error))?;
            let bytes = (format.bits() as usize).div_ceil(8).next_power_of_two();
            Ok(Argument::Bytes(encoded.code.to_le_bytes()[..bytes].to_vec()))
        }
    }
}

fn buffer(text: &str, value: &str, given: &mut Given) -> Result<Argument, CommandError> {
    let wrong = |why: &str| CommandError::usage(format!("--arg {}: {why}", shown(text)));
    if let Some((name, data)) = value.split_once('=') {
        if name.is_empty() || given.file.buffer(name).is_some() {
            return Err(wrong("a buffer has a name of its own"));
        }
        let (content, shape) = contents("--arg", text, data)?;
        let (bytes, init) = content.init();
        if let Some(shape) = shape {
            given.arrays.insert(name.to_owned(), shape);
        }
        given.file.buffers.push(Buffer { name: name.to_owned(), bytes, init });
        return Ok(Argument::Buffer(name.to_owned(), 0));
    }
    let (name, offset) = match value.split_once('+') {
        Some((name, offset)) => (name, offset.parse().map_err(|_| wrong("the offset is not a number"))?),
        None => (value, 0),
    };
    match given.file.buffer(name) {
        Some(_) => Ok(Argument::Buffer(name.to_owned(), offset)),
        None => {
            Err(wrong("there is no buffer of this name yet: give its contents, as in buffer:x=zero:4096"))
        }
    }
}

fn constant(text: &str, value: &str, given: &mut Given) -> Result<Argument, CommandError> {
    let wrong = |why: &str| CommandError::usage(format!("--arg {}: {why}", shown(text)));
    let known = |given: &Given, name: &str| given.file.constants.iter().any(|one| one.name == name);
    let Some((name, data)) = value.split_once('=') else {
        return match known(given, value) {
            true => Ok(Argument::Constant(value.to_owned(), 0)),
            false => {
                Err(wrong("there are no constants of this name yet: give them, as in constant:c=@c.npy"))
            }
        };
    };
    if name.is_empty() || known(given, name) {
        return Err(wrong("constants have a name of their own"));
    }
    let (bytes, init) = contents("--arg", text, data)?.0.init();
    given.file.constants.push(Buffer { name: name.to_owned(), bytes, init });
    Ok(Argument::Constant(name.to_owned(), 0))
}

/// What a buffer begins with.
enum Content {
    Bytes(Vec<u8>),
    Made(u64, Init),
}

impl Content {
    /// How many bytes, and which.
    fn init(self) -> (u64, Init) {
        match self {
            Content::Bytes(data) => (data.len() as u64, Init::Bytes(data)),
            Content::Made(bytes, init) => (bytes, init),
        }
    }
}

fn contents(option: &str, text: &str, data: &str) -> Result<(Content, Option<ArrayType>), CommandError> {
    let wrong = |why: &dyn std::fmt::Display| CommandError::usage(format!("{option} {}: {why}", shown(text)));
    if let Some(path) = data.strip_prefix('@') {
        return read(Path::new(path));
    }
    let (kind, rest) = data.split_once(':').unwrap_or((data, ""));
    let bytes = |text: &str| text.parse::<u64>().map_err(|_| wrong(&"the number of bytes is not a number"));
    let content = match kind {
        "hex" => Content::Bytes(hex(rest).map_err(|why| wrong(&why))?),
        "zero" => Content::Made(bytes(rest)?, Init::Zero),
        "none" => Content::Made(bytes(rest)?, Init::None),
        "iota32" => Content::Made(bytes(rest)?, Init::Iota32),
        "splitmix32" => {
            let (seed, size) = rest.split_once(':').ok_or_else(|| wrong(&"it is splitmix32:SEED:BYTES"))?;
            let seed = seed.parse().map_err(|_| wrong(&"the seed is not a number"))?;
            Content::Made(bytes(size)?, Init::Splitmix32(seed))
        }
        _ => {
            return Err(wrong(
                &"contents are @FILE, zero:BYTES, none:BYTES, iota32:BYTES, splitmix32:SEED:BYTES or hex:DIGITS",
            ));
        }
    };
    Ok((content, None))
}

/// A file's bytes; of an array, its elements.
fn read(path: &Path) -> Result<(Content, Option<ArrayType>), CommandError> {
    let name = &path.display().to_string();
    if path.extension().is_none_or(|extension| extension != "npy") {
        return Ok((Content::Bytes(files::read(path, MOST_DATA)?), None));
    }
    let input = files::open(path, MOST_DATA)?;
    let length = input.length();
    let reader = Reader::new(input, length).map_err(|error| CommandError::input(name, error))?;
    let Array { header, data } = reader.rest().map_err(|error| CommandError::input(name, error))?;
    let Header { dtype, fortran_order, shape } = header;
    if dtype.order == Order::Big {
        return Err(CommandError::input(
            name,
            format!("its elements are big-endian ({dtype}): store them as little-endian"),
        ));
    }
    if fortran_order && shape.len() > 1 {
        return Err(CommandError::input(name, "the array is in Fortran order: store it in C order"));
    }
    Ok((Content::Bytes(data), Some((dtype, shape))))
}

/// What is read back, and where to.
#[derive(Debug)]
pub struct Dump {
    /// A buffer or variable.
    pub name: String,
    /// What it holds.
    format: Option<Format>,
    /// Into this file.
    pub path: Option<PathBuf>,
}

impl Dump {
    /// `NAME[:TYPE][=FILE]`
    pub fn parse(text: &str) -> Result<Dump, CommandError> {
        let (what, path) = match text.split_once('=') {
            Some((what, path)) => (what, Some(PathBuf::from(path))),
            None => (text, None),
        };
        let (name, format) = match what.split_once(':') {
            Some((name, word)) => {
                let found = Format::from_name(word);
                let found = found.ok_or_else(|| {
                    CommandError::usage(format!("--dump {}: `{}` is no type", shown(text), shown(word)))
                })?;
                (name, Some(found))
            }
            None => (what, None),
        };
        Ok(Dump { name: name.to_owned(), format, path })
    }

    fn is_array(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.extension().is_some_and(|extension| extension == "npy"))
    }

    /// The type and shape of the array to write; no shape for one dimension.
    pub fn format(
        &self,
        arrays: &BTreeMap<String, ArrayType>,
    ) -> Result<(DType, Option<Vec<usize>>), CommandError> {
        if self.format.is_some() && !self.is_array() {
            return Err(CommandError::usage(format!("--dump {}: only .npy files have a type", self.name)));
        }
        Ok(match (self.format, arrays.get(&self.name)) {
            (Some(format), _) => (arrays::dtype(format), None),
            (None, Some((dtype, shape))) => (*dtype, Some(shape.clone())),
            (None, None) => (arrays::dtype(Format::U8), None),
        })
    }

    /// Writes the file, if there is to be one.
    pub fn write(
        &self,
        memory: &Memory<'_>,
        arrays: &BTreeMap<String, ArrayType>,
    ) -> Result<(), CommandError> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut out = Output::create(path)?;
        if self.is_array() {
            let (dtype, shape) = self.format(arrays)?;
            let (size, bytes) = (dtype.bytes().max(1), memory.length());
            if !bytes.is_multiple_of(size) {
                let why = format!("--dump {}: {bytes} bytes are no array of {dtype}", self.name);
                return Err(CommandError::usage(why));
            }
            let elements = usize::try_from(bytes / size).unwrap_or(usize::MAX);
            let header = Header::new(dtype, shape.unwrap_or_else(|| vec![elements]));
            out.file.write_all(&header.to_bytes()).map_err(|error| out.failure(error))?;
        }
        let written = memory.pieces(|piece| out.file.write_all(piece).map_err(Unwritten));
        written.map_err(|error| out.failure(error.0))?;
        out.keep()
    }
}
