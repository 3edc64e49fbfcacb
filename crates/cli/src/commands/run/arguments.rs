//! What the arguments of `softwarp run` say: a launch without a launch file.

mod objects;

use super::super::CommandError;
use super::super::files;
use super::LaunchArgs;
use crate::bytes::from_hex;
use crate::input::MOST_DATA;
use crate::literal::Literal;
use crate::run::argument::{is_argument, number};
use crate::run::data::{Data, Init, array, of_numbers};
use crate::run::elements;
use crate::run::file::{Argument, Buffer, Global, Launch, LaunchFile};
use serde_json::{Value as Json, json};
use softwarp::source::Source;
use std::path::Path;
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

/// A launch.
pub struct Given {
    /// As a launch file.
    pub file: LaunchFile,
    /// The launch file, if there is one.
    pub launch_file: Option<Source>,
}

/// Refuses what a launch file says already.
pub fn only_for_ptx(args: &LaunchArgs) -> Result<(), CommandError> {
    let given = [
        ("--kernel", args.kernel.is_some()),
        ("--grid", args.grid.is_some()),
        ("--block", args.block.is_some()),
        ("--cluster", args.cluster.is_some()),
        ("--cooperative", args.cooperative),
        ("--shared", args.shared.is_some()),
        ("--arg", !args.arguments.is_empty()),
        ("--buffer", !args.buffers.is_empty()),
        ("--set", !args.set.is_empty()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            Err(CommandError::usage(format!("{option} goes with PTX files: a launch file says it itself")))
        }
        None => Ok(()),
    }
}

/// The launch that the arguments describe. The kernel's name is empty if none is given.
pub fn given(args: &LaunchArgs) -> Result<Given, CommandError> {
    let mut given = Given { file: LaunchFile::default(), launch_file: None };
    for text in &args.buffers {
        named_buffer("--buffer", text, text, &mut given)?;
    }
    let arguments = args
        .arguments
        .iter()
        .map(|text| argument(text, text, &mut given))
        .collect::<Result<Vec<_>, CommandError>>()?;
    for text in &args.set {
        let (name, data) = text
            .split_once('=')
            .ok_or_else(|| CommandError::usage(format!("--set {}: it is NAME=DATA", shown(text))))?;
        let Init::Bytes(data) = contents("--set", text, data)?.init else {
            let why = "data is @FILE, hex:DIGITS or numbers, as in u32:7";
            return Err(CommandError::usage(format!("--set {}: {why}", shown(text))));
        };
        if given.file.globals.iter().any(|global| global.name == name) {
            return Err(CommandError::usage(format!("--set {}: the variable is set already", shown(text))));
        }
        given.file.globals.push(Global { name: name.to_owned(), set: Some(data), dump: false });
    }
    given.file.launches.push(Launch {
        kernel: args.kernel.clone().unwrap_or_default(),
        grid: args.grid.map_or([1; 3], |sizes| sizes.0),
        block: args.block.map_or([1; 3], |sizes| sizes.0),
        cluster: args.cluster.map(|sizes| sizes.0),
        cooperative: args.cooperative,
        dynamic_shared: args.shared.unwrap_or(0),
        arguments,
    });
    Ok(given)
}

pub(super) fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

/// One of the kinds of arguments. `option` is the whole of `--arg`, which messages name.
fn argument(option: &str, text: &str, given: &mut Given) -> Result<Argument, CommandError> {
    let wrong = |why: &dyn std::fmt::Display| CommandError::usage(format!("--arg {}: {why}", shown(option)));
    let (kind, value) = text.split_once(':').ok_or_else(|| wrong(&"it is KIND:VALUE, as in u32:7"))?;
    match kind {
        "buffer" => buffer(option, value, given),
        "constant" => constant(option, value, given),
        "bytes" => from_hex(value).map(Argument::Bytes).map_err(|why| wrong(&why)),
        "struct" => packed(option, value, given),
        "texobj" | "surfobj" => objects::texture(option, kind == "texobj", Path::new(value), given),
        "tensormap" => objects::tensor_map(option, value, given),
        _ => {
            let format = elements::format(kind).filter(|format| is_argument(*format));
            let format = format.ok_or_else(|| wrong(&format!("`{}` is no kind of argument", shown(kind))))?;
            let literal = Literal::parse(value).map_err(|error| wrong(&error))?;
            let encoded = literal.encode(format).map_err(|error| wrong(&error))?;
            Ok(number(format, encoded.code))
        }
    }
}

/// A struct: its members as C lays them out.
fn packed(option: &str, value: &str, given: &mut Given) -> Result<Argument, CommandError> {
    let wrong = |why: &str| CommandError::usage(format!("--arg {}: {why}", shown(option)));
    let (mut fields, mut size, mut alignment) = (Vec::new(), 0u64, 1);
    for text in value.split(';').map(str::trim).filter(|text| !text.is_empty()) {
        if text.starts_with("struct:") || text.starts_with("tensormap:") {
            return Err(wrong("a struct has no structs and no tensor maps here: a launch file can say that"));
        }
        let member = argument(option, text, given)?;
        let (bytes, unit) = match &member {
            Argument::Number(_, bytes) => (bytes.len() as u64, bytes.len() as u64),
            Argument::Bytes(bytes) => (bytes.len() as u64, 1),
            _ => (8, 8),
        };
        size = size.next_multiple_of(unit);
        fields.push((size, member));
        size += bytes;
        alignment = alignment.max(unit);
    }
    if fields.is_empty() {
        return Err(wrong("a struct has members, as in 'struct:u32:7;f32:1.5'"));
    }
    Ok(Argument::Packed(size.next_multiple_of(alignment), fields))
}

fn buffer(text: &str, value: &str, given: &mut Given) -> Result<Argument, CommandError> {
    let wrong = |why: &str| CommandError::usage(format!("--arg {}: {why}", shown(text)));
    if value.contains('=') {
        return named_buffer("--arg", text, value, given).map(|name| Argument::Buffer(name, 0));
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

/// Adds a buffer that is given as `NAME=CONTENTS`; gives its name.
fn named_buffer(option: &str, text: &str, value: &str, given: &mut Given) -> Result<String, CommandError> {
    let wrong = |why: &str| CommandError::usage(format!("{option} {}: {why}", shown(text)));
    let (name, data) =
        value.split_once('=').ok_or_else(|| wrong("it is NAME=CONTENTS, as in x=zero:4096"))?;
    if name.is_empty() || given.file.buffer(name).is_some() {
        return Err(wrong("a buffer has a name of its own"));
    }
    let buffer = contents(option, text, data)?;
    given.file.buffers.push(Buffer { name: name.to_owned(), ..buffer });
    Ok(name.to_owned())
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
    let buffer = contents("--arg", text, data)?;
    given.file.constants.push(Buffer { name: name.to_owned(), ..buffer });
    Ok(Argument::Constant(name.to_owned(), 0))
}

/// A buffer without a name that holds data.
fn holding(data: Data) -> Buffer {
    let Data { bytes, elements } = data;
    Buffer {
        name: String::new(),
        bytes: bytes.len() as u64,
        init: Init::Bytes(bytes),
        elements,
        address: None,
    }
}

/// What memory begins with.
fn contents(option: &str, text: &str, data: &str) -> Result<Buffer, CommandError> {
    let wrong = |why: &dyn std::fmt::Display| CommandError::usage(format!("{option} {}: {why}", shown(text)));
    if let Some(path) = data.strip_prefix('@') {
        return read(Path::new(path)).map(holding);
    }
    let (kind, rest) = data.split_once(':').unwrap_or((data, ""));
    let made = |text: &str, init: Init| {
        let bytes = text.parse::<u64>().map_err(|_| wrong(&"the number of bytes is not a number"))?;
        Ok(Buffer { name: String::new(), bytes, init, elements: None, address: None })
    };
    match kind {
        "hex" => Ok(holding(from_hex(rest).map_err(|why| wrong(&why))?.into())),
        "zero" => made(rest, Init::Zero),
        "none" => made(rest, Init::None),
        "iota32" => made(rest, Init::Iota32),
        "splitmix32" => {
            let (seed, size) = rest.split_once(':').ok_or_else(|| wrong(&"it is splitmix32:SEED:BYTES"))?;
            let seed = seed.parse().map_err(|_| wrong(&"the seed is not a number"))?;
            made(size, Init::Splitmix32(seed))
        }
        _ => match elements::format(kind) {
            Some(format) => of_numbers(format, &numbers(rest)).map(holding).map_err(|why| wrong(&why)),
            None => Err(wrong(
                &"contents are @FILE, numbers (f32:1,2,3), zero:BYTES, none:BYTES, iota32:BYTES, splitmix32:SEED:BYTES or hex:DIGITS",
            )),
        },
    }
}

/// Numbers as a launch file has them: `1,2,3`, `1.5*100` (100 times 1.5) or `0..100` (from 0 up to 99).
fn numbers(text: &str) -> Json {
    let number = |text: &str| match serde_json::from_str::<Json>(text.trim()) {
        Ok(number @ Json::Number(_)) => number,
        _ => Json::from(text.trim()),
    };
    if let Some((value, count)) = text.rsplit_once('*') {
        return json!({"fill": number(value), "count": number(count)});
    }
    if let Some((first, end)) = text.split_once("..") {
        return json!({"range": [number(first), number(end)]});
    }
    match text.trim() {
        "" => json!([]),
        text => text.split(',').map(number).collect(),
    }
}

/// A file's bytes; of an array, its elements.
fn read(path: &Path) -> Result<Data, CommandError> {
    if path.extension().is_none_or(|extension| extension != "npy") {
        return Ok(files::read(path, MOST_DATA)?.into());
    }
    let input = files::open(path, MOST_DATA)?;
    array(input).map_err(|why| CommandError::input(path.display(), why))
}
