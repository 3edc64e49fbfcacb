//! Launch files: a module, what its memory holds before, the launches, and what is read back after.
//!
//! docs/launch-files.md describes the format. Everything is read before anything runs, and what is wrong is told with its
//! place in the file (`launches[0].args[2].f32`), all of it. Unknown keys and keys given twice are errors, at every level; remarks
//! for people are allowed ([`crate::json`]). All data of a file together has at most [`MOST_DATA`] bytes.

use super::argument::argument;
use super::compare::Rule;
use super::data::{Files, Init, MOST_DATA};
use super::elements::{self, Elements};
use super::place::{At, Read, Reading};
use super::textures::{self, SurfaceEntry, TextureEntry};
use crate::json;
use serde_json::Value as Json;
use softwarp::diagnostic::Span;
use softwarp::image::{Window, Windows};
use softwarp::num::Format;
use softwarp::reproduction::WINDOWS;
use softwarp::tensor::Description;
use std::collections::BTreeSet;

pub use super::place::{FileError, FileErrors};

/// The keys of a file.
pub(crate) const KEYS: &[&str] = &[
    "ptx",
    "launches",
    "buffers",
    "constants",
    "freed",
    "globals",
    "dump",
    "expect",
    "compare",
    "bug",
    "sanitizer",
    "textures",
    "surfaces",
    "windows",
    "contents",
];

/// What a launch file says.
#[derive(Clone, Debug, Default)]
pub struct LaunchFile {
    /// The module's file; without it, the file of the same name that ends in `.ptx`.
    pub ptx: Option<String>,
    /// What it tests, for people.
    pub what: Option<String>,
    /// Memory of the device.
    pub buffers: Vec<Buffer>,
    /// Buffers that stand for the same place in several others: their names, and those of the others.
    pub multicasts: Vec<(String, Vec<String>)>,
    /// Buffers in constant memory.
    pub constants: Vec<Buffer>,
    /// Buffers that are freed before the first launch.
    pub freed: Vec<String>,
    /// Variables of the module that the host sets or reads.
    pub globals: Vec<Global>,
    /// The launches, in order.
    pub launches: Vec<Launch>,
    /// What is read back.
    pub dump: Vec<Dump>,
    /// The bytes that buffers should hold at the end, by name.
    pub expect: Vec<(String, Vec<u8>)>,
    /// How to compare.
    pub compare: Rule,
    /// The bug that was planted in it.
    pub bug: Option<String>,
    /// It says that there is none (`"bug": null`): nothing must be found in it.
    pub control: bool,
    /// The tool of compute-sanitizer that finds it.
    pub tool: Option<String>,
    /// Textures.
    pub textures: Vec<TextureEntry>,
    /// Surfaces.
    pub surfaces: Vec<SurfaceEntry>,
    /// The windows of the address space, if they are not the usual ones.
    pub windows: Option<Windows>,
    /// Bytes that are written before the first launch, by generic address.
    pub contents: Vec<(u64, Vec<u8>)>,
}

/// Memory of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its address, if that is chosen.
    pub address: Option<u64>,
    /// What it holds at first.
    pub init: Init,
    /// The array that it is, if that is known.
    pub elements: Option<Elements>,
}

/// Memory that is read back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump {
    /// A buffer, variable or surface.
    pub name: String,
    /// The type of its numbers.
    pub format: Option<Format>,
    /// The shape of the array.
    pub shape: Option<Vec<usize>>,
    /// The file that it goes to, as the launch file has it.
    pub file: Option<DumpFile>,
}

/// A file that memory is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DumpFile {
    /// An array of NumPy.
    Npy(String),
    /// The bytes.
    Bytes(String),
}

/// A variable of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// What the host puts into it before the first launch.
    pub set: Option<Vec<u8>>,
    /// Whether it is read back.
    pub dump: bool,
}

/// A launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel.
    pub kernel: String,
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// All CTAs are there at once.
    pub cooperative: bool,
    /// Bytes of shared memory beyond what the kernel declares.
    pub dynamic_shared: u32,
    /// The arguments, one for each parameter.
    pub arguments: Vec<Argument>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The address of a buffer, and an offset.
    Buffer(String, i64),
    /// The address in `.const` of a buffer in constant memory, and an offset.
    Constant(String, i64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A number of a type.
    Number(Format, Vec<u8>),
    /// The handle of a texture.
    Texture(String),
    /// The handle of a surface.
    Surface(String),
    /// A struct of a given number of bytes: where each member begins, and what it is. Other bytes are zero.
    Packed(u64, Vec<(u64, Argument)>),
    /// A tensor map, its address that of a buffer with an offset.
    TensorMap(Box<Description>, String, i64),
}

impl LaunchFile {
    /// Reads a launch file that names no other files but its module.
    pub fn parse(text: &str) -> Result<LaunchFile, FileErrors> {
        LaunchFile::read(text, None)
    }

    /// Reads a launch file, and the files that its data is in.
    pub fn read(text: &str, files: Option<&Files>) -> Result<LaunchFile, FileErrors> {
        let json = json::parse(text).map_err(|error| {
            let words = error.to_string();
            // The place is shown in another way.
            let why = words.rsplit_once(" at line ").map_or(words.as_str(), |(why, _)| why);
            let span = place_of(text, error.line(), error.column());
            FileErrors(vec![FileError { span, ..FileError::new("", format!("not JSON: {why}")) }])
        })?;
        LaunchFile::from_value(&json, files)
    }

    /// Reads one that is JSON already and names no other files.
    pub fn from_json(json: &Json) -> Result<LaunchFile, FileErrors> {
        LaunchFile::from_value(json, None)
    }

    /// Reads one that is JSON already, and the files that its data is in.
    pub fn from_value(json: &Json, files: Option<&Files>) -> Result<LaunchFile, FileErrors> {
        let reading = Reading::new(files);
        let file = reading.keep(LaunchFile::members(&At::root(json, &reading)));
        match (reading.errors(), file) {
            (None, Some(file)) => Ok(file),
            (errors, _) => Err(errors.unwrap_or_else(|| FileErrors(vec![FileError::new("", "it is empty")]))),
        }
    }

    fn members(file: &At<'_>) -> Read<LaunchFile> {
        file.only(KEYS)?;
        let reading = file.reading;
        let text = |key: &str| file.optional(key, At::text);
        let (buffers, multicasts) = file.optional("buffers", memories).unwrap_or_default();
        let launches = reading.keep(file.need("launches").and_then(|at| at.list())).unwrap_or_default();
        let read = LaunchFile {
            ptx: text("ptx"),
            what: text("what"),
            buffers,
            multicasts,
            constants: file.optional("constants", |at| Ok(memories(at)?.0)).unwrap_or_default(),
            freed: reading.keep(file.list_of("freed", At::text)).unwrap_or_default(),
            globals: reading.keep(file.list_of("globals", global)).unwrap_or_default(),
            launches: launches.iter().filter_map(|at| reading.keep(launch(at))).collect(),
            dump: file.optional("dump", dumps).unwrap_or_default(),
            expect: file.optional("expect", expected).unwrap_or_default(),
            compare: reading.keep(compare(file)).unwrap_or_default(),
            bug: text("bug"),
            control: file.json.get("bug").is_some_and(Json::is_null),
            tool: file.optional("sanitizer", tool).flatten(),
            textures: reading.keep(file.list_of("textures", textures::texture)).unwrap_or_default(),
            surfaces: reading.keep(file.list_of("surfaces", textures::surface)).unwrap_or_default(),
            windows: file.optional("windows", windows),
            contents: reading.keep(file.list_of("contents", contents)).unwrap_or_default(),
        };
        read.check_names(file);
        Ok(read)
    }

    /// Notes names of memory in `freed` and in arguments that is not there.
    fn check_names(&self, file: &At<'_>) {
        let has = |key: &str, name: &str| {
            let members = file.json.get(key).and_then(Json::as_object);
            members.is_some_and(|members| members.contains_key(name))
        };
        let missing = |place: String, name: &str| {
            file.reading.push(FileError::new(place, format!("there is no buffer `{}`", json::shown(name))));
        };
        for (index, name) in self.freed.iter().enumerate().filter(|(_, name)| !has("buffers", name)) {
            missing(format!("freed[{index}]"), name);
        }
        for (number, launch) in self.launches.iter().enumerate() {
            for (index, argument) in launch.arguments.iter().enumerate() {
                let place = format!("launches[{number}].args[{index}]");
                match argument {
                    Argument::Buffer(name, _) if !has("buffers", name) => missing(place, name),
                    Argument::Constant(name, _) if !has("constants", name) => missing(place, name),
                    _ => {}
                }
            }
        }
    }

    /// A buffer by its name.
    pub fn buffer(&self, name: &str) -> Option<&Buffer> {
        self.buffers.iter().find(|buffer| buffer.name == name)
    }

    /// The names of everything that is read back: buffers, and variables and surfaces that say so.
    pub fn dumped(&self) -> impl Iterator<Item = &String> {
        let globals = self.globals.iter().filter(|global| global.dump).map(|global| &global.name);
        let surfaces = self.surfaces.iter().filter(|surface| surface.dump).map(|surface| &surface.name);
        let mut seen = BTreeSet::new();
        self.dump
            .iter()
            .map(|dump| &dump.name)
            .chain(globals)
            .chain(surfaces)
            .filter(move |name| seen.insert(*name))
    }
}

/// Where a line and a column are in a text, as one character.
fn place_of(text: &str, line: usize, column: usize) -> Option<Span> {
    let start: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let at = u32::try_from(text.floor_char_boundary(start + column.saturating_sub(1))).ok()?;
    Some(Span::new(at, at + 1))
}

/// Buffers that stand for the same place in several others: their names, and those of the others.
type Multicasts = Vec<(String, Vec<String>)>;

/// Buffers, and those that stand for several others.
fn memories(at: &At<'_>) -> Read<(Vec<Buffer>, Multicasts)> {
    let (mut buffers, mut multicasts) = (Vec::new(), Vec::new());
    for (name, at) in at.members()? {
        if at.json.get("multicast").is_some() {
            at.only(&["multicast"])?;
            multicasts.push((name.clone(), at.list_of("multicast", At::text)?));
        } else {
            buffers.extend(at.reading.keep(buffer(&at, name)));
        }
    }
    Ok((buffers, multicasts))
}

/// An address, in hexadecimal digits.
fn address(at: &At<'_>) -> Read<u64> {
    let text = at.text()?;
    let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    digits.map_or_else(|| at.error("it must be an address, such as \"0x1000\""), Ok)
}

/// The windows of the address space: of each the first address and the size.
fn windows(at: &At<'_>) -> Read<Windows> {
    at.only(&WINDOWS)?;
    let window = |name: &str| {
        let at = at.need(name)?;
        match at.list()?.as_slice() {
            [base, size] => Ok(Window { base: address(base)?, size: address(size)? }),
            _ => at.error("it must be a list of an address and a size"),
        }
    };
    let [globals, heap, constant, parameter, code, local, shared] = WINDOWS.map(window);
    let windows = Windows {
        globals: globals?,
        heap: heap?,
        constant: constant?,
        parameter: parameter?,
        code: code?,
        local: local?,
        shared: shared?,
    };
    match windows.are_usable() {
        true => Ok(windows),
        false => at.error("memory cannot have these windows: they must follow one another, with their sizes"),
    }
}

/// Bytes at an address.
fn contents(at: &At<'_>) -> Read<(u64, Vec<u8>)> {
    at.only(&["address", "data"])?;
    Ok((address(&at.need("address")?)?, at.need("data")?.data(MOST_DATA, None)?.bytes))
}

fn expected(at: &At<'_>) -> Read<Vec<(String, Vec<u8>)>> {
    let data = |(name, at): &(&String, At<'_>)| {
        Some(((*name).clone(), at.reading.keep(at.data(MOST_DATA, None))?.bytes))
    };
    Ok(at.members()?.iter().filter_map(data).collect())
}

fn compare(file: &At<'_>) -> Read<Rule> {
    let Some(at) = file.get("compare")? else { return Ok(Rule::Exact) };
    let rule = Rule::from_json(at.json).or_else(|why| at.error(why))?;
    let expected = file.get("expect")?.map(|at| at.object()).transpose()?;
    let missing = |name: &&String| expected.is_some_and(|expected| !expected.contains_key(*name));
    if let Some(name) = rule.names().find(missing) {
        return at.error(format!("`{}` is not in `expect`", json::shown(name)));
    }
    Ok(rule)
}

fn tool(at: &At<'_>) -> Read<Option<String>> {
    at.only(&["tool", "said"])?;
    at.get("tool")?.map(|at| at.text()).transpose()
}

/// What is read back: a list of names, or an object that says more about each.
fn dumps(at: &At<'_>) -> Read<Vec<Dump>> {
    if at.json.is_array() {
        let named = |at: &At<'_>| Some(Dump { name: at.reading.keep(at.text())?, ..Dump::default() });
        return Ok(at.list()?.iter().filter_map(named).collect());
    }
    if !at.json.is_object() {
        return at.error("it must be a list of names, or an object with a member for each");
    }
    Ok(at.members()?.iter().filter_map(|(name, at)| at.reading.keep(dump(at, name))).collect())
}

fn dump(at: &At<'_>, name: &str) -> Read<Dump> {
    let plain = Dump { name: name.to_owned(), ..Dump::default() };
    if at.json.is_null() {
        return Ok(plain);
    }
    at.only(&["type", "shape", "npy", "file"])?;
    let format = match at.get("type")? {
        None => None,
        Some(at) => {
            let name = at.text()?;
            let found = elements::format(&name);
            Some(found.map_or_else(|| at.error(format!("`{}` is no type", json::shown(&name))), Ok)?)
        }
    };
    let shape = match at.get("shape")? {
        None => None,
        Some(at) => {
            let size = |at: &At<'_>| usize::try_from(at.unsigned()?).or_else(|_| at.error("it is too large"));
            Some(at.list()?.iter().map(size).collect::<Read<Vec<usize>>>()?)
        }
    };
    let file = match (at.get("npy")?, at.get("file")?) {
        (Some(_), Some(_)) => return at.error("`npy` and `file` are two files: give one"),
        (Some(npy), None) => Some(DumpFile::Npy(npy.text()?)),
        (None, Some(_)) if format.is_some() || shape.is_some() => {
            return at.error("`file` gets bytes, without type and shape: give `npy`");
        }
        (None, Some(file)) => Some(DumpFile::Bytes(file.text()?)),
        (None, None) => None,
    };
    Ok(Dump { format, shape, file, ..plain })
}

fn buffer(at: &At<'_>, name: &str) -> Read<Buffer> {
    at.only(&["bytes", "init", "address"])?;
    let address = at.get("address")?.map(|at| address(&at)).transpose()?;
    let size = at.get("bytes")?.map(|at| at.unsigned()).transpose()?;
    let (init, elements) = match at.get("init")? {
        None => (Init::Zero, None),
        Some(at) => init(&at, size.unwrap_or(u64::MAX).min(MOST_DATA), size)?,
    };
    let bytes = match (size, &init) {
        (Some(bytes), _) => bytes,
        (None, Init::Bytes(data)) => data.len() as u64,
        (None, _) => return at.error("`bytes` is missing: only data says how much there is"),
    };
    let elements = elements.filter(|_| matches!(&init, Init::Bytes(data) if data.len() as u64 == bytes));
    Ok(Buffer { name: name.to_owned(), bytes, address, init, elements })
}

/// What memory holds at first, of at most a given number of bytes: a word, a seed or data; and the array that it is.
/// `room` is how many bytes there are, if that is known.
pub(super) fn init(at: &At<'_>, most: u64, room: Option<u64>) -> Read<(Init, Option<Elements>)> {
    match at.json.as_str() {
        Some("zero") => return Ok((Init::Zero, None)),
        Some("none") => return Ok((Init::None, None)),
        Some("iota32") => return Ok((Init::Iota32, None)),
        Some(text) if text.starts_with(|one: char| !one.is_ascii_hexdigit()) => {
            return at.error("it must be zero, none, iota32, hexadecimal digits or an object");
        }
        _ => {}
    }
    match at.json.is_object().then(|| at.get("splitmix32")).transpose()?.flatten() {
        Some(seed) => {
            at.only(&["splitmix32"])?;
            Ok((Init::Splitmix32(seed.unsigned()?), None))
        }
        None => {
            let data = at.data(most, room)?;
            Ok((Init::Bytes(data.bytes), data.elements))
        }
    }
}

fn global(at: &At<'_>) -> Read<Global> {
    at.only(&["name", "set", "dump"])?;
    let dump = at.get("dump")?.map_or(Ok(false), |dump| dump.boolean())?;
    let set = at.get("set")?.map(|set| set.data(MOST_DATA, None)).transpose()?;
    Ok(Global { name: at.need("name")?.text()?, set: set.map(|data| data.bytes), dump })
}

fn launch(at: &At<'_>) -> Read<Launch> {
    at.only(&["kernel", "grid", "block", "cluster", "cooperative", "dynamic_smem", "args"])?;
    let arguments = |list: &At<'_>| {
        let read = |at: &At<'_>| at.reading.keep(argument(at, 0));
        // One that is wrong keeps its place, so that the others have theirs.
        Ok(list.list()?.iter().map(|at| read(at).unwrap_or(Argument::Bytes(Vec::new()))).collect())
    };
    Ok(Launch {
        kernel: at.required("kernel", At::text),
        grid: at.required("grid", At::dimensions),
        block: at.required("block", At::dimensions),
        cluster: at.optional("cluster", At::dimensions),
        cooperative: at.optional("cooperative", At::boolean).unwrap_or(false),
        dynamic_shared: at.optional("dynamic_smem", At::less_than_2_32).unwrap_or(0),
        arguments: at.optional("args", arguments).unwrap_or_default(),
    })
}
