//! An image as JSON, written piece by piece: what is held in memory does not grow with what is written.
//!
//! ```json
//! {"version": "9.0", "target": "sm_90", "address_size": 64,
//!  "variables": [{"name", "space", "function", "type", "dims", "align", "size", "offset", "init", "relocations",
//!                 "linkage", "attributes"}],
//!  "kernels": [{"name", "params", "param_bytes", "align", "shared_static", "shared_dynamic_offset",
//!               "local_bytes", "recursive", "stack_per_round"}],
//!  "functions": [{"name", "linkage", "defined", "returns", "params", "param_bytes", "return_bytes",
//!                 "frame_bytes", "local_bytes", "recursive"}]}
//! ```
//!
//! There is more where it applies: `bank`, `count`, `members`, `handle_bytes`, `init_zeros`, `init_runs`, `file`,
//! `address`.

use super::{View, spell};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};
use softwarp::check::checked::{FieldValue, Pointer, VariableKind};
use softwarp::image::{Contents, Function, FunctionId, Object, ObjectId, Relocation, State};
use softwarp::isa::StateSpace;
use softwarp::isa::space::opaque::Member;
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::io::{self, Write};

/// How many members of a family are rows of their own.
const MEMBERS: u32 = 65_536;
/// The largest variable whose bytes are all written.
const WHOLE: u64 = 16 << 20;

/// Writes an image.
pub fn write(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let header = &view.image.header;
    let (version, target) = (header.version.to_string(), header.target.name());
    let bits = header.address_bits;
    write!(out, r#"{{"version":"{version}","target":"{target}","address_size":{bits},"variables":["#)?;
    let listed = listed(view);
    let objects = (0..).map(ObjectId).zip(&view.image.objects).filter(|(id, _)| listed[id.0 as usize]);
    list(out, objects.flat_map(|(id, object)| rows(object).map(move |row| VariableRow::new(view, id, row))))?;
    let functions = || (0..).map(FunctionId).zip(&view.image.functions);
    write!(out, "\n],\"kernels\":[")?;
    let kernels = functions().filter(|(_, function)| function.entry);
    list(out, kernels.map(|(id, function)| KernelRow::new(view, id, function)))?;
    write!(out, "\n],\"functions\":[")?;
    let others = functions().filter(|(_, function)| !function.entry);
    list(out, others.map(|(id, function)| FunctionRow::new(view, id, function)))?;
    writeln!(out, "\n]}}")
}

/// Writes the entries of a list, each on a line of its own.
fn list(out: &mut dyn Write, rows: impl Iterator<Item = impl Serialize>) -> io::Result<()> {
    for (number, row) in rows.enumerate() {
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &row)?;
    }
    Ok(())
}

/// Whether each object is told: parameters of prototypes are not, where a definition follows with its own.
fn listed(view: &View<'_>) -> Vec<bool> {
    let is_formal = |object: &Object| !matches!(object.kind, VariableKind::Module | VariableKind::Local);
    let mut listed: Vec<bool> = view.image.objects.iter().map(|object| !is_formal(object)).collect();
    let functions = view.image.functions.iter();
    for id in functions.flat_map(|function| function.parameters.iter().chain(&function.returns)) {
        listed[id.0 as usize] = true;
    }
    listed
}

/// What a row is about: a variable, a member of a family, or a given number of members from one on.
#[derive(Clone, Copy)]
enum Listed {
    Whole,
    Member(u32),
    Rest { first: u32, count: u32 },
}

fn rows(object: &Object) -> impl Iterator<Item = Listed> {
    let (single, count) = match object.count {
        None => (Some(Listed::Whole), 0),
        Some(count) => (None, count),
    };
    let has_offsets = !matches!(object.space, StateSpace::Reg | StateSpace::Sreg);
    let listed = if has_offsets { count.min(MEMBERS) } else { 0 };
    let rest = (object.count.is_some() && (count > listed || !has_offsets))
        .then_some(Listed::Rest { first: listed, count: count - listed });
    single.into_iter().chain((0..listed).map(Listed::Member)).chain(rest)
}

/// A variable, or members of a family.
#[derive(Serialize)]
struct VariableRow<'a> {
    name: String,
    space: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bank: Option<u8>,
    function: Option<&'a str>,
    r#type: String,
    dims: &'a [u64],
    align: u64,
    size: u64,
    /// The assembler gives handles names and no bytes; what they take here is told beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    handle_bytes: Option<u64>,
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    /// Outer `None`: addresses are not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<Option<u64>>,
    #[serde(flatten)]
    initial: InitialFields<'a>,
    relocations: Relocations<'a>,
    linkage: Option<&'static str>,
    attributes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
}

impl<'a> VariableRow<'a> {
    fn new(view: &'a View<'a>, id: ObjectId, row: Listed) -> VariableRow<'a> {
        let object = view.image.object(id);
        let (member, index, count) = match row {
            Listed::Whole => (None, 0, None),
            Listed::Member(member) => (Some(member), member, None),
            Listed::Rest { first, count } => (None, first, Some(count)),
        };
        let from_first = object.stride().saturating_mul(u64::from(index));
        let is_handle = object.opaque().is_some();
        let address = || view.address(id, Some(index).filter(|_| object.count.is_some()));
        VariableRow {
            name: spell::name(object, member),
            space: object.space.name(),
            bank: (object.bank != 0).then_some(object.bank),
            function: object.function.map(|id| view.image.function(id).name.as_ref()),
            r#type: spell::element_type(object),
            dims: &object.dimensions,
            align: object.alignment,
            size: if is_handle { 0 } else { object.size },
            handle_bytes: is_handle.then_some(object.size),
            offset: object.offset.map(|at| at.saturating_add(from_first)),
            count,
            address: view.windows.is_some().then(address),
            initial: InitialFields::new(view.contents(id)),
            relocations: Relocations { view, of: &object.relocations },
            linkage: object.linkage.map(spell::linkage),
            attributes: spell::attributes(&object.attributes),
            members: is_handle.then(|| handles(view, object)),
            file: view.file(object.unit),
        }
    }
}

/// The relocations that are left, written one by one.
struct Relocations<'a> {
    view: &'a View<'a>,
    of: &'a [Relocation],
}

#[derive(Serialize)]
struct RelocationRow {
    offset: u64,
    width: u8,
    symbol: String,
    addend: i64,
    kind: &'static str,
    byte: Option<u8>,
}

impl Serialize for Relocations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let open = self.of.iter().filter(|relocation| !relocation.applied);
        serializer.collect_seq(open.map(|relocation| RelocationRow {
            offset: relocation.offset,
            width: relocation.width,
            symbol: spell::symbol(self.view.image, relocation.target),
            addend: relocation.addend,
            kind: relocation.kind.name(),
            byte: relocation.byte,
        }))
    }
}

/// The bytes: all of them, or of a large variable those up to the last that was written. Where even these would
/// be mostly zeros that were not written, the runs far out are listed with their offsets.
#[derive(Serialize)]
struct InitialFields<'a> {
    init: Option<Bytes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    init_zeros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    init_runs: Option<Runs<'a>>,
}

impl<'a> InitialFields<'a> {
    fn new(contents: Option<Cow<'a, Contents>>) -> InitialFields<'a> {
        let Some(contents) = contents else {
            return InitialFields { init: None, init_zeros: None, init_runs: None };
        };
        let written: u64 = contents.runs.iter().map(|run| run.bytes.len() as u64).sum();
        let room = WHOLE.saturating_add(written);
        let near = match contents.written() <= room {
            true => contents.runs.len(),
            false => contents.runs.partition_point(|run| run.end() <= WHOLE),
        };
        let last = contents.runs[..near].last();
        let end = if contents.size <= WHOLE { contents.size } else { last.map_or(0, |run| run.end()) };
        let far = near < contents.runs.len();
        InitialFields {
            init_zeros: (end < contents.size).then_some(contents.size - end),
            init_runs: far.then(|| Runs { contents: contents.clone(), from: near }),
            init: Some(Bytes { contents, end }),
        }
    }
}

/// The bytes up to an end, in hexadecimal.
struct Bytes<'a> {
    contents: Cow<'a, Contents>,
    end: u64,
}

impl Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut at = 0;
        while at < self.end {
            let mut bytes = [0; 4096];
            let length = (self.end - at).min(bytes.len() as u64) as usize;
            self.contents.read(at, &mut bytes[..length]);
            f.write_str(&hexadecimal(&bytes[..length]))?;
            at += length as u64;
        }
        Ok(())
    }
}

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The runs from one on, with their offsets.
struct Runs<'a> {
    contents: Cow<'a, Contents>,
    from: usize,
}

#[derive(Serialize)]
struct RunRow<'a> {
    offset: u64,
    bytes: RunBytes<'a>,
}

struct RunBytes<'a>(&'a [u8]);

impl Display for RunBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chunks(4096).try_for_each(|chunk| f.write_str(&hexadecimal(chunk)))
    }
}

impl Serialize for RunBytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Runs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let far = &self.contents.runs[self.from..];
        serializer.collect_seq(far.iter().map(|run| RunRow { offset: run.at, bytes: RunBytes(&run.bytes) }))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(digits).map(char::from).collect()
}

/// The members of a handle, null where none was given; of an array, a list with those of the elements that were
/// given any.
fn handles(view: &View<'_>, object: &Object) -> Json {
    let elements = spell::elements(object, view.mode());
    if !spell::is_array(object) {
        return elements
            .first()
            .map_or(Json::Null, |(_, state)| members(state).collect::<Map<_, _>>().into());
    }
    let row = |(number, state): &(u64, State)| {
        let element = ("element".to_owned(), (*number).into());
        Json::Object(std::iter::once(element).chain(members(state)).collect())
    };
    elements.iter().map(row).collect()
}

fn members(state: &State) -> impl Iterator<Item = (String, Json)> {
    let value = |value| match value {
        FieldValue::Number(number) => number.into(),
        FieldValue::Word(word) => word.into(),
    };
    let mut all: Vec<(Member, Json)> =
        state.members().map(|(member, given)| (member, value(given))).collect();
    all.extend(state.unset().map(|member| (member, Json::Null)));
    all.sort_by_key(|(member, _)| *member);
    all.into_iter().map(|(member, value)| (member.name().to_owned(), value))
}

#[derive(Serialize)]
struct KernelRow<'a> {
    name: &'a str,
    params: Vec<ParameterRow>,
    param_bytes: u64,
    align: u64,
    shared_static: u64,
    shared_dynamic_offset: Option<u64>,
    local_bytes: u64,
    recursive: bool,
    stack_per_round: u64,
    #[serde(flatten)]
    place: PlaceFields<'a>,
}

impl<'a> KernelRow<'a> {
    fn new(view: &View<'a>, id: FunctionId, function: &'a Function) -> KernelRow<'a> {
        KernelRow {
            name: &function.name,
            params: parameters(view, &function.parameters),
            param_bytes: function.parameter_extent.bytes,
            align: function.parameter_extent.alignment,
            shared_static: function.shared.bytes,
            shared_dynamic_offset: function.dynamic_shared,
            local_bytes: function.stack,
            recursive: function.recursive,
            stack_per_round: function.recursion,
            place: PlaceFields::new(view, id, function),
        }
    }
}

#[derive(Serialize)]
struct FunctionRow<'a> {
    name: &'a str,
    linkage: Option<&'static str>,
    defined: bool,
    returns: Vec<ParameterRow>,
    params: Vec<ParameterRow>,
    param_bytes: u64,
    return_bytes: u64,
    frame_bytes: u64,
    local_bytes: u64,
    recursive: bool,
    #[serde(flatten)]
    place: PlaceFields<'a>,
}

impl<'a> FunctionRow<'a> {
    fn new(view: &View<'a>, id: FunctionId, function: &'a Function) -> FunctionRow<'a> {
        FunctionRow {
            name: &function.name,
            linkage: function.linkage.map(spell::linkage),
            defined: function.defined,
            returns: parameters(view, &function.returns),
            params: parameters(view, &function.parameters),
            param_bytes: function.parameter_extent.bytes,
            return_bytes: function.return_extent.bytes,
            frame_bytes: function.frame.bytes,
            local_bytes: function.stack,
            recursive: function.recursive,
            place: PlaceFields::new(view, id, function),
        }
    }
}

/// The address and the file of a function, where these are told.
#[derive(Serialize)]
struct PlaceFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
}

impl<'a> PlaceFields<'a> {
    fn new(view: &View<'a>, id: FunctionId, function: &Function) -> PlaceFields<'a> {
        PlaceFields {
            address: view.windows.map(|windows| view.image.function_address(windows, id)),
            file: view.file(function.unit),
        }
    }
}

#[derive(Serialize)]
struct ParameterRow {
    name: String,
    offset: Option<u64>,
    size: u64,
    align: u64,
    ptr: Option<PointerFields>,
}

#[derive(Serialize)]
struct PointerFields {
    space: &'static str,
    align: u32,
}

impl From<Pointer> for PointerFields {
    fn from(pointer: Pointer) -> PointerFields {
        let space = pointer.space.map_or("generic", StateSpace::name);
        PointerFields { space, align: pointer.alignment }
    }
}

fn parameters(view: &View<'_>, ids: &[ObjectId]) -> Vec<ParameterRow> {
    let row = |id: &ObjectId| {
        let object = view.image.object(*id);
        ParameterRow {
            name: spell::name(object, None),
            offset: object.offset,
            size: object.size,
            align: object.alignment,
            ptr: object.pointer.map(PointerFields::from),
        }
    };
    ids.iter().map(row).collect()
}
