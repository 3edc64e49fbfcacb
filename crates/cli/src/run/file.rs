//! Launch files: a module, what its memory holds before, the launches, and what is read back after.
//!
//! docs/running.md describes the format. Everything is read before anything runs, and what is wrong is told with its
//! place in the file (`launches[0].args[2].f32`). Unknown keys and keys given twice are errors, at every level; remarks
//! for people are allowed ([`crate::json`]). All data of a file together has at most [`MOST_DATA`] bytes.

use super::compare::Rule;
use super::data::{self, Init, MOST_DATA};
use super::tensormap;
use super::textures::{self, SurfaceEntry, TextureEntry};
use crate::json;
use serde_json::{Map, Value as Json};
use softwarp::tensor::Description;
use std::cell::Cell;
use std::collections::BTreeSet;

/// The most buffers, launches and the like that a file can have.
const MOST: usize = 1 << 16;

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
];

/// How deep structs can be in structs.
const DEEPEST: usize = 8;

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
    /// Buffers that are read back.
    pub dump: Vec<String>,
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
}

/// Memory of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// What it holds at first.
    pub init: Init,
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
    /// The handle of a texture.
    Texture(String),
    /// The handle of a surface.
    Surface(String),
    /// A struct of a given number of bytes: where each member begins, and what it is. Other bytes are zero.
    Packed(u64, Vec<(u64, Argument)>),
    /// A tensor map, its address that of a buffer with an offset.
    TensorMap(Box<Description>, String, i64),
}

/// What is wrong with a launch file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", if place.is_empty() { String::new() } else { format!("{place}: ") })]
pub struct FileError {
    /// Where: `launches[0].grid`. Empty for the file as a whole.
    pub place: String,
    /// What is wrong there.
    pub why: String,
}

pub(super) type Read<T> = Result<T, FileError>;

/// A value and its place.
pub(super) struct At<'a> {
    pub(super) json: &'a Json,
    place: String,
    /// Bytes of data that the file may still have.
    budget: &'a Cell<u64>,
}

impl<'a> At<'a> {
    pub(super) fn error<T>(&self, why: impl Into<String>) -> Read<T> {
        Err(FileError { place: self.place.clone(), why: why.into() })
    }

    fn object(&self) -> Read<&'a Map<String, Json>> {
        self.json.as_object().map_or_else(|| self.error("it must be an object"), Ok)
    }

    fn inside(&self, key: &str, json: &'a Json) -> At<'a> {
        let dot = if self.place.is_empty() { "" } else { "." };
        let key: String = key.chars().take(80).flat_map(char::escape_debug).collect();
        At { json, place: format!("{}{dot}{key}", self.place), budget: self.budget }
    }

    /// Refuses keys that are none of these.
    pub(super) fn only(&self, known: &[&str]) -> Read<()> {
        json::unknown(self.object()?, known).map_or(Ok(()), |why| self.error(why))
    }

    /// A key that may be absent or null.
    pub(super) fn get(&self, key: &str) -> Read<Option<At<'a>>> {
        let found = self.object()?.get(key).filter(|json| !json.is_null());
        Ok(found.map(|json| self.inside(key, json)))
    }

    pub(super) fn need(&self, key: &str) -> Read<At<'a>> {
        match self.get(key)? {
            Some(at) => Ok(at),
            None => self.error(format!("`{key}` is missing")),
        }
    }

    pub(super) fn list(&self) -> Read<Vec<At<'a>>> {
        let Some(list) = self.json.as_array() else { return self.error("it must be a list") };
        if list.len() > MOST {
            return self.error(format!("it has {} members: there can be {MOST}", list.len()));
        }
        let member =
            |(index, json)| At { json, place: format!("{}[{index}]", self.place), budget: self.budget };
        Ok(list.iter().enumerate().map(member).collect())
    }

    /// A list that may be absent.
    pub(super) fn list_of<T>(&self, key: &str, read: impl Fn(&At<'a>) -> Read<T>) -> Read<Vec<T>> {
        match self.get(key)? {
            Some(list) => list.list()?.iter().map(read).collect(),
            None => Ok(Vec::new()),
        }
    }

    pub(super) fn text(&self) -> Read<String> {
        self.json.as_str().map_or_else(|| self.error("it must be a string"), |text| Ok(text.to_owned()))
    }

    pub(super) fn unsigned(&self) -> Read<u64> {
        self.json.as_u64().map_or_else(|| self.error("it must be a whole number that is not negative"), Ok)
    }

    pub(super) fn boolean(&self) -> Read<bool> {
        self.json.as_bool().map_or_else(|| self.error("it must be true or false"), Ok)
    }

    fn data(&self, most: u64) -> Read<Vec<u8>> {
        let left = self.budget.get();
        let data = data::decode(self.json, most.min(left)).or_else(|why| self.error(why))?;
        self.budget.set(left.saturating_sub(data.len() as u64));
        Ok(data)
    }

    fn dimensions(&self) -> Read<[u32; 3]> {
        let mut sizes = [1; 3];
        let list = match self.json {
            Json::Array(_) => self.list()?,
            json => vec![At { json, place: self.place.clone(), budget: self.budget }],
        };
        if list.is_empty() || list.len() > 3 {
            return self.error("there are one to three dimensions");
        }
        for (size, at) in sizes.iter_mut().zip(&list) {
            *size = u32::try_from(at.unsigned()?).or_else(|_| at.error("it must be less than 2^32"))?;
        }
        Ok(sizes)
    }
}

impl LaunchFile {
    /// Reads a launch file.
    pub fn parse(text: &str) -> Read<LaunchFile> {
        let json = json::parse(text)
            .map_err(|error| FileError { place: String::new(), why: format!("not JSON: {error}") })?;
        LaunchFile::from_json(&json)
    }

    /// Reads one that is JSON already.
    pub fn from_json(json: &Json) -> Read<LaunchFile> {
        let budget = Cell::new(MOST_DATA);
        let file = At { json, place: String::new(), budget: &budget };
        file.only(KEYS)?;
        let text = |key: &str| file.get(key)?.map(|at| at.text()).transpose();
        let launches = file.need("launches")?;
        let buffers = |key: &str| match file.get(key)? {
            Some(at) => {
                let memory = at.object()?.iter().filter(|(_, json)| json.get("multicast").is_none());
                memory.map(|(name, json)| buffer(&at.inside(name, json), name)).collect()
            }
            None => Ok(Vec::new()),
        };
        let multicasts = match file.get("buffers")? {
            Some(at) => {
                let several = at.object()?.iter().filter(|(_, json)| json.get("multicast").is_some());
                let one = |(name, json): (&String, &Json)| {
                    let at = at.inside(name, json);
                    at.only(&["multicast"])?;
                    Ok((name.clone(), at.list_of("multicast", At::text)?))
                };
                several.map(one).collect::<Read<_>>()?
            }
            None => Vec::new(),
        };
        let expect = match file.get("expect")? {
            Some(at) => {
                let data = |(name, json): (&String, &'_ Json)| {
                    Ok((name.clone(), at.inside(name, json).data(MOST_DATA)?))
                };
                at.object()?.iter().map(data).collect()
            }
            None => Ok(Vec::new()),
        };
        let compare = match file.get("compare")? {
            Some(at) => {
                let rule = Rule::from_json(at.json).or_else(|why| at.error(why))?;
                let expected = file.get("expect")?.map(|at| at.object()).transpose()?;
                let missing = |name: &&String| expected.is_some_and(|expected| !expected.contains_key(*name));
                if let Some(name) = rule.names().find(missing) {
                    return at.error(format!("`{}` is not in `expect`", json::shown(name)));
                }
                rule
            }
            None => Rule::Exact,
        };
        Ok(LaunchFile {
            ptx: text("ptx")?,
            what: text("what")?,
            buffers: buffers("buffers")?,
            multicasts,
            constants: buffers("constants")?,
            freed: file.list_of("freed", At::text)?,
            globals: file.list_of("globals", global)?,
            launches: launches.list()?.iter().map(launch).collect::<Read<_>>()?,
            dump: file.list_of("dump", At::text)?,
            expect: expect?,
            compare,
            bug: text("bug")?,
            control: json.get("bug").is_some_and(Json::is_null),
            tool: match file.get("sanitizer")? {
                Some(at) => {
                    at.only(&["tool", "said"])?;
                    at.get("tool")?.map(|at| at.text()).transpose()?
                }
                None => None,
            },
            textures: file.list_of("textures", textures::texture)?,
            surfaces: file.list_of("surfaces", textures::surface)?,
        })
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
        self.dump.iter().chain(globals).chain(surfaces).filter(move |name| seen.insert(*name))
    }
}

fn buffer(at: &At<'_>, name: &str) -> Read<Buffer> {
    at.only(&["bytes", "init"])?;
    let bytes = at.need("bytes")?.unsigned()?;
    let init = match at.get("init")? {
        None => Init::Zero,
        Some(at) if at.json.is_string() => {
            words(&at)?.map_or_else(|| at.error("it must be zero, none, iota32, or an object"), Ok)?
        }
        Some(at) => init(&at, bytes.min(MOST_DATA))?,
    };
    Ok(Buffer { name: name.to_owned(), bytes, init })
}

/// What begins with a word.
fn words(at: &At<'_>) -> Read<Option<Init>> {
    Ok(match at.json.as_str() {
        Some("zero") => Some(Init::Zero),
        Some("none") => Some(Init::None),
        Some("iota32") => Some(Init::Iota32),
        _ => None,
    })
}

/// What memory holds at first, of at most a given number of bytes: a word, a seed or data.
pub(super) fn init(at: &At<'_>, most: u64) -> Read<Init> {
    if let Some(init) = words(at)? {
        return Ok(init);
    }
    match at.json.is_object().then(|| at.get("splitmix32")).transpose()?.flatten() {
        Some(seed) => {
            at.only(&["splitmix32"])?;
            Ok(Init::Splitmix32(seed.unsigned()?))
        }
        None => Ok(Init::Bytes(at.data(most)?)),
    }
}

fn global(at: &At<'_>) -> Read<Global> {
    at.only(&["name", "set", "dump"])?;
    let dump = at.get("dump")?.map_or(Ok(false), |dump| dump.boolean())?;
    let set = at.get("set")?.map(|set| set.data(MOST_DATA)).transpose()?;
    Ok(Global { name: at.need("name")?.text()?, set, dump })
}

fn launch(at: &At<'_>) -> Read<Launch> {
    at.only(&["kernel", "grid", "block", "cluster", "cooperative", "dynamic_smem", "args"])?;
    let shared = at.get("dynamic_smem")?;
    let shared =
        shared.map(|at| u32::try_from(at.unsigned()?).or_else(|_| at.error("it must be less than 2^32")));
    let arguments = match at.get("args")? {
        Some(list) => list.list()?.iter().map(|at| argument(at, 0)).collect::<Read<_>>()?,
        None => Vec::new(),
    };
    Ok(Launch {
        kernel: at.need("kernel")?.text()?,
        grid: at.need("grid")?.dimensions()?,
        block: at.need("block")?.dimensions()?,
        cluster: at.get("cluster")?.map(|at| at.dimensions()).transpose()?,
        cooperative: at.get("cooperative")?.map_or(Ok(false), |at| at.boolean())?,
        dynamic_shared: shared.transpose()?.unwrap_or(0),
        arguments,
    })
}

/// What can stand beside the value of an argument.
const BESIDE: &[&str] = &["at", "offset", "name", "what"];

/// An argument; `depth` counts the structs that it is in.
fn argument(at: &At<'_>, depth: usize) -> Read<Argument> {
    let object = at.object()?;
    let map = object.contains_key("tensormap");
    let beside = |key: &str| BESIDE.contains(&key) || map && key == "buffer";
    let mut kinds = object.iter().filter(|(key, _)| !beside(key));
    let (Some((kind, json)), None) = (kinds.next(), kinds.next()) else {
        return at.error("an argument has one value, as in {\"u32\": 7}");
    };
    let value = at.inside(kind, json);
    let has_address = matches!(kind.as_str(), "buffer" | "constant" | "tensormap");
    for (key, allowed) in [("offset", has_address), ("at", depth > 0)] {
        if !allowed && object.contains_key(key) {
            return at.error(format!("`{key}` says nothing beside `{}`", json::shown(kind)));
        }
    }
    match kind.as_str() {
        "buffer" | "constant" => {
            let offset = match at.get("offset")? {
                Some(at) => at.json.as_i64().map_or_else(|| at.error("it must be a whole number"), Ok)?,
                None => 0,
            };
            let is = if kind == "buffer" { Argument::Buffer } else { Argument::Constant };
            Ok(is(value.text()?, offset))
        }
        "bytes" => value.data(MOST_DATA).map(Argument::Bytes),
        "packed" if depth < DEEPEST => packed(&value, depth),
        "tensormap" => tensormap::read(value.json, at.json.get("buffer"), at.json.get("offset"))
            .or_else(|why| value.error(why)),
        "texobj" => Ok(Argument::Texture(value.text()?)),
        "surfobj" => Ok(Argument::Surface(value.text()?)),
        _ => scalar(kind, &value).map(Argument::Bytes),
    }
}

fn packed(at: &At<'_>, depth: usize) -> Read<Argument> {
    at.only(&["size", "fields"])?;
    let size = at.need("size")?.unsigned()?;
    let mut fields = Vec::new();
    for field in at.need("fields")?.list()? {
        fields.push((field.need("at")?.unsigned()?, argument(&field, depth + 1)?));
    }
    Ok(Argument::Packed(size, fields))
}

/// A number of a type, in memory.
fn scalar(kind: &str, at: &At<'_>) -> Read<Vec<u8>> {
    let Some((letter, bits)) = scalar_type(kind) else {
        return at.error(format!("`{kind}` is no kind of argument"));
    };
    if letter == 'f' {
        let word = |text: &str| match text {
            "nan" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        };
        let Some(value) = at.json.as_f64().or_else(|| at.json.as_str().and_then(word)) else {
            return at.error("it must be a number");
        };
        return Ok(if bits == 32 {
            (value as f32).to_le_bytes().to_vec()
        } else {
            value.to_le_bytes().to_vec()
        });
    }
    let (low, high) = match letter {
        'u' => (0, (1i128 << bits) - 1),
        _ => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
    };
    let value = at.json.as_i64().map(i128::from).or_else(|| at.json.as_u64().map(i128::from));
    match value {
        Some(value) if (low..=high).contains(&value) => Ok(value.to_le_bytes()[..bits / 8].to_vec()),
        Some(_) => at.error(format!("it does not fit: {kind} is from {low} to {high}")),
        None => at.error("it must be a whole number"),
    }
}

/// `u`, `s` or `f`, and the bits.
pub(crate) fn scalar_type(name: &str) -> Option<(char, usize)> {
    let (letter, bits) = name.split_at_checked(1)?;
    let bits = bits.parse().ok()?;
    match (letter, bits) {
        ("u", 8 | 16 | 32 | 64) => Some(('u', bits)),
        ("s" | "i", 8 | 16 | 32 | 64) => Some(('s', bits)),
        ("f", 32 | 64) => Some(('f', bits)),
        _ => None,
    }
}
