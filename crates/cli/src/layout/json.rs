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
use serde_json::{Map, Value as Json, json};
use softwarp::check::checked::{FieldValue, Place};
use softwarp::image::{Contents, Function, FunctionId, Object, ObjectId, Relocation, State};
use softwarp::isa::StateSpace;
use softwarp::isa::space::opaque::Member;
use std::io::{self, Write};

/// How many members of a family are rows of their own.
const MEMBERS: u32 = 65_536;
/// The largest variable whose bytes are all written.
const WHOLE: u64 = 16 << 20;

/// Writes an image.
pub fn write(view: &View<'_>, out: &mut impl Write) -> io::Result<()> {
    let header = &view.image.header;
    let (version, target) = (header.version.to_string(), header.target.name());
    let bits = header.address_bits;
    write!(out, r#"{{"version":"{version}","target":"{target}","address_size":{bits},"variables":["#)?;
    let mut first = true;
    let listed = listed(view);
    for (id, object) in (0..).map(ObjectId).zip(&view.image.objects).filter(|(id, _)| listed[id.0 as usize]) {
        for row in rows(object) {
            separate(out, &mut first)?;
            variable(view, id, row, &mut Fields::begin(out)?)?;
        }
    }
    let functions = || (0..).map(FunctionId).zip(&view.image.functions);
    write!(out, "\n],\"kernels\":[")?;
    list(out, functions().filter(|(_, function)| function.entry).map(|(id, it)| kernel(view, id, it)))?;
    write!(out, "\n],\"functions\":[")?;
    list(
        out,
        functions().filter(|(_, function)| !function.entry).map(|(id, it)| device_function(view, id, it)),
    )?;
    writeln!(out, "\n]}}")
}

/// Whether each object is told: parameters of prototypes are not, where a definition follows with its own.
fn listed(view: &View<'_>) -> Vec<bool> {
    let is_formal = |object: &Object| !matches!(object.place, Place::Module | Place::Local);
    let mut listed: Vec<bool> = view.image.objects.iter().map(|object| !is_formal(object)).collect();
    let functions = view.image.functions.iter();
    for id in functions.flat_map(|function| function.parameters.iter().chain(&function.returns)) {
        listed[id.0 as usize] = true;
    }
    listed
}

/// Every entry on a line of its own.
fn separate(out: &mut impl Write, first: &mut bool) -> io::Result<()> {
    out.write_all(if std::mem::take(first) { b"\n" } else { b",\n" })
}

fn list(out: &mut impl Write, values: impl Iterator<Item = Json>) -> io::Result<()> {
    let mut first = true;
    for value in values {
        separate(out, &mut first)?;
        write!(out, "{value}")?;
    }
    Ok(())
}

/// An object that is being written, field by field.
struct Fields<'w, W: Write> {
    out: &'w mut W,
    first: bool,
}

impl<'w, W: Write> Fields<'w, W> {
    fn begin(out: &'w mut W) -> io::Result<Fields<'w, W>> {
        out.write_all(b"{")?;
        Ok(Fields { out, first: true })
    }

    fn key(&mut self, name: &str) -> io::Result<()> {
        if !std::mem::take(&mut self.first) {
            self.out.write_all(b",")?;
        }
        write!(self.out, "\"{name}\":")
    }

    fn put(&mut self, name: &str, value: impl Into<Json>) -> io::Result<()> {
        self.key(name)?;
        serde_json::to_writer(&mut *self.out, &value.into()).map_err(io::Error::from)
    }

    fn put_some(&mut self, name: &str, value: Option<impl Into<Json>>) -> io::Result<()> {
        value.map_or(Ok(()), |value| self.put(name, value))
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(b"}")
    }
}

/// What a row is about: a variable, a member of a family, or a given number of members from one on.
#[derive(Clone, Copy)]
enum Row {
    Whole,
    Member(u32),
    Rest { first: u32, count: u32 },
}

fn rows(object: &Object) -> impl Iterator<Item = Row> {
    let (single, count) = match object.count {
        None => (Some(Row::Whole), 0),
        Some(count) => (None, count),
    };
    let has_offsets = !matches!(object.space, StateSpace::Reg | StateSpace::Sreg);
    let listed = if has_offsets { count.min(MEMBERS) } else { 0 };
    let rest = (object.count.is_some() && (count > listed || !has_offsets))
        .then_some(Row::Rest { first: listed, count: count - listed });
    single.into_iter().chain((0..listed).map(Row::Member)).chain(rest)
}

fn variable<W: Write>(view: &View<'_>, id: ObjectId, row: Row, fields: &mut Fields<'_, W>) -> io::Result<()> {
    let object = view.image.object(id);
    let (member, index, count) = match row {
        Row::Whole => (None, 0, None),
        Row::Member(member) => (Some(member), member, None),
        Row::Rest { first, count } => (None, first, Some(count)),
    };
    let from_first = object.stride().saturating_mul(u64::from(index));
    fields.put("name", spell::name(object, member))?;
    fields.put("space", object.space.name())?;
    fields.put_some("bank", (object.bank != 0).then_some(object.bank))?;
    fields.put("function", object.function.map(|id| view.image.function(id).name.as_ref()))?;
    fields.put("type", spell::element_type(object))?;
    fields.put("dims", object.dimensions.to_vec())?;
    fields.put("align", object.alignment)?;
    // The assembler gives handles names and no bytes; what they take here is said beside.
    let handle = object.opaque().is_some();
    fields.put("size", if handle { 0 } else { object.size })?;
    fields.put_some("handle_bytes", handle.then_some(object.size))?;
    fields.put("offset", object.offset.map(|at| at.saturating_add(from_first)))?;
    fields.put_some("count", count)?;
    if view.windows.is_some() {
        fields.put("address", view.address(id, Some(index).filter(|_| object.count.is_some())))?;
    }
    match view.contents(id) {
        Some(contents) => initial(fields, &contents)?,
        None => fields.put("init", Json::Null)?,
    }
    fields.key("relocations")?;
    fields.out.write_all(b"[")?;
    let open = object.relocations.iter().filter(|relocation| !relocation.settled);
    for (number, one) in open.enumerate() {
        let comma = if number > 0 { "," } else { "" };
        write!(fields.out, "{comma}{}", relocation(view, one))?;
    }
    fields.out.write_all(b"]")?;
    fields.put("linkage", object.linkage.map(spell::linkage))?;
    fields.put("attributes", spell::attributes(&object.attributes))?;
    if object.opaque().is_some() {
        fields.put("members", handles(view, object))?;
    }
    fields.put_some("file", view.file(object.unit))?;
    fields.end()
}

fn relocation(view: &View<'_>, relocation: &Relocation) -> Json {
    json!({
        "offset": relocation.offset,
        "width": relocation.width,
        "symbol": spell::symbol(view.image, relocation.target),
        "addend": relocation.addend,
        "kind": relocation.kind.name(),
        "byte": relocation.byte,
    })
}

/// The bytes: all of them, or of a large variable those up to the last that was written. Where even these would
/// be mostly zeros that nobody wrote, the runs far out are listed with their offsets.
fn initial<W: Write>(fields: &mut Fields<'_, W>, contents: &Contents) -> io::Result<()> {
    let written: u64 = contents.runs.iter().map(|run| run.bytes.len() as u64).sum();
    let room = WHOLE.saturating_add(written);
    let near = match contents.written() <= room {
        true => contents.runs.len(),
        false => contents.runs.partition_point(|run| run.end() <= WHOLE),
    };
    let (near, far) = contents.runs.split_at(near);
    let end = if contents.size <= WHOLE { contents.size } else { near.last().map_or(0, |run| run.end()) };
    fields.key("init")?;
    fields.out.write_all(b"\"")?;
    let mut at = 0;
    while at < end {
        let mut bytes = [0; 4096];
        let length = (end - at).min(bytes.len() as u64) as usize;
        contents.read(at, &mut bytes[..length]);
        hexadecimal(fields.out, &bytes[..length])?;
        at += length as u64;
    }
    fields.out.write_all(b"\"")?;
    fields.put_some("init_zeros", (end < contents.size).then_some(contents.size - end))?;
    if !far.is_empty() {
        fields.key("init_runs")?;
        for (number, run) in far.iter().enumerate() {
            let before = if number == 0 { "[" } else { "," };
            write!(fields.out, "{before}{{\"offset\":{},\"bytes\":\"", run.at)?;
            hexadecimal(fields.out, &run.bytes)?;
            fields.out.write_all(b"\"}")?;
        }
        fields.out.write_all(b"]")?;
    }
    Ok(())
}

fn hexadecimal(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for chunk in bytes.chunks(4096) {
        let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        out.write_all(&chunk.iter().flat_map(digits).collect::<Vec<u8>>())?;
    }
    Ok(())
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

fn kernel(view: &View<'_>, id: FunctionId, function: &Function) -> Json {
    let mut row = json!({
        "name": function.name,
        "params": parameters(view, &function.parameters),
        "param_bytes": function.parameter_extent.bytes,
        "align": function.parameter_extent.alignment,
        "shared_static": function.shared.bytes,
        "shared_dynamic_offset": function.dynamic_shared,
        "local_bytes": function.stack,
        "recursive": function.recursive,
        "stack_per_round": function.recursion,
    });
    add_place(view, id, function, &mut row);
    row
}

fn device_function(view: &View<'_>, id: FunctionId, function: &Function) -> Json {
    let mut row = json!({
        "name": function.name,
        "linkage": function.linkage.map(spell::linkage),
        "defined": function.defined,
        "returns": parameters(view, &function.returns),
        "params": parameters(view, &function.parameters),
        "param_bytes": function.parameter_extent.bytes,
        "return_bytes": function.return_extent.bytes,
        "frame_bytes": function.frame.bytes,
        "local_bytes": function.stack,
        "recursive": function.recursive,
    });
    add_place(view, id, function, &mut row);
    row
}

/// The file and the address, where these are told.
fn add_place(view: &View<'_>, id: FunctionId, function: &Function, row: &mut Json) {
    if let Some(windows) = view.windows {
        row["address"] = view.image.function_address(windows, id).into();
    }
    if let Some(file) = view.file(function.unit) {
        row["file"] = file.into();
    }
}

fn parameters(view: &View<'_>, ids: &[ObjectId]) -> Vec<Json> {
    let one = |id: &ObjectId| {
        let object = view.image.object(*id);
        let pointer = object.pointer.map(|pointer| {
            json!({"space": pointer.space.map_or("generic", StateSpace::name), "align": pointer.alignment})
        });
        json!({
            "name": spell::name(object, None),
            "offset": object.offset,
            "size": object.size,
            "align": object.alignment,
            "ptr": pointer,
        })
    };
    ids.iter().map(one).collect()
}
