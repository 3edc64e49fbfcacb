//! An image as tables for people: one for each region of memory, padding included.

use super::region::{Kind, Piece, Region, of_function, of_module};
use super::{View, spell, value};
use softwarp::image::{Function, FunctionId, Object, ObjectId};
use softwarp::isa::StateSpace;
use softwarp_report::columns::lines;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many members of a family, and how many elements of an array of handles, are listed.
const MEMBERS: u32 = 16;
/// How long a line of members of handles may get.
const WIDE: usize = 110;

/// Everything that an image has, as text.
pub fn table(view: &View<'_>) -> String {
    let header = &view.image.header;
    let mut text =
        format!("PTX {}, {}, addresses of {} bits\n", header.version, header.target, header.address_bits);
    if view.files.len() > 1 {
        let _ = writeln!(
            text,
            "linked from {}",
            view.files.iter().map(|file| harmless(file)).collect::<Vec<_>>().join(", ")
        );
    }
    for region in of_module(view.image) {
        section(&mut text, view, &region, "");
        if region.kind == Kind::Shared {
            text.push_str(&shared_of_kernels(view));
        }
    }
    let unowned = (0..).map(ObjectId).zip(&view.image.objects);
    let unowned = unowned.filter(|(_, object)| object.function.is_none()).map(|(id, _)| id);
    if let Some(registers) = registers(view, unowned) {
        let _ = writeln!(text, "\nregisters of the module: {registers}");
    }
    for (id, function) in (0..).map(FunctionId).zip(&view.image.functions) {
        let _ = write!(text, "\n{}", heading(view, id, function));
        for region in of_function(view.image, id) {
            section(&mut text, view, &region, "  ");
        }
        if let Some(registers) = registers(view, function.locals.iter().copied()) {
            let _ = writeln!(text, "  registers: {registers}");
        }
    }
    text
}

/// "kernel `k`", with what a call of it takes.
fn heading(view: &View<'_>, id: FunctionId, function: &Function) -> String {
    let linkage = function.linkage.map_or(String::new(), |one| format!(".{} ", spell::linkage(one)));
    let sort = if function.entry { "kernel" } else { "function" };
    let mut facts = Vec::new();
    if !function.defined {
        facts.push("declared, not defined".to_owned());
    }
    if let Some(windows) = view.windows {
        facts.push(format!("at {:#x}", view.image.function_address(windows, id)));
    }
    if function.stack > 0 {
        facts.push(format!("stack of {}", bytes(function.stack)));
    }
    if function.recursive {
        facts.push(format!("recursive, {} more each round", bytes(function.recursion)));
    }
    if function.indirect {
        facts.push("calls through pointers".to_owned());
    }
    facts.extend(view.file(function.unit).map(|file| format!("in {}", harmless(file))));
    let facts = if facts.is_empty() { String::new() } else { format!(": {}", facts.join(", ")) };
    format!("{linkage}{sort} {}{facts}\n", function.name)
}

/// A name that may stand in every row: not too long, and without what a terminal would obey.
fn harmless(name: &str) -> String {
    spell::shortened(name, 60).chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// What each kernel has of `.shared`.
fn shared_of_kernels(view: &View<'_>) -> String {
    let mut text = String::new();
    for kernel in view.image.kernels() {
        let dynamic = kernel.dynamic_shared.map(|at| format!("arrays without size from {at:#x}"));
        let own = (kernel.shared.bytes > 0 || dynamic.is_none()).then(|| bytes(kernel.shared.bytes));
        let facts: Vec<String> = own.into_iter().chain(dynamic).collect();
        let _ = writeln!(text, "  kernel {}: {}", kernel.name, facts.join(", "));
    }
    text
}

fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".into() } else { format!("{count} bytes") }
}

/// A region: its title and its table.
fn section(text: &mut String, view: &View<'_>, region: &Region, indent: &str) {
    let padding = match region.padding(view.image) {
        0 => String::new(),
        padding => format!(", {padding} of them padding"),
    };
    let gap = if indent.is_empty() { "\n" } else { "" };
    let (title, extent) = (region.kind.title(), region.extent);
    let _ =
        writeln!(text, "{gap}{indent}{title}: {}, align {}{padding}", bytes(extent.bytes), extent.alignment);
    text.push_str(&rows(view, region, &format!("{indent}  ")));
    for line in region.objects.iter().flat_map(|&id| handles(view, view.image.object(id))) {
        let _ = writeln!(text, "{indent}  {line}");
    }
}

/// The columns of a table. Those that are empty in all rows are left out.
#[derive(Clone, Copy)]
enum Column {
    Offset,
    Address,
    Size,
    Align,
    Qualifiers,
    Type,
    Name,
    Pointer,
    Bytes,
    Value,
}

const TITLES: [&str; 10] =
    ["offset", "address", "size", "align", "", "type", "name", "points to", "bytes", "value"];

type Cells = [String; TITLES.len()];

fn set(row: &mut Cells, column: Column, cell: impl Into<String>) {
    row[column as usize] = cell.into();
}

fn rows(view: &View<'_>, region: &Region, indent: &str) -> String {
    let mut rows: Vec<Cells> = vec![TITLES.map(str::to_owned)];
    for piece in region.pieces(view.image, MEMBERS) {
        let mut row = Cells::default();
        match piece {
            Piece::Padding { at, bytes } => {
                set(&mut row, Column::Offset, hexadecimal(at));
                set(&mut row, Column::Size, bytes.to_string());
                set(&mut row, Column::Type, "(padding)");
            }
            Piece::Rest { id, count, at, bytes } => {
                set(&mut row, Column::Offset, at.map_or("-".into(), hexadecimal));
                set(&mut row, Column::Size, bytes.to_string());
                set(&mut row, Column::Align, view.image.object(id).alignment.to_string());
                set(&mut row, Column::Type, spell::declared_type(view.image.object(id)));
                set(&mut row, Column::Name, format!("… {count} more"));
            }
            Piece::Variable { id, member, at } => variable(view, id, member, at, &mut row),
        }
        rows.push(row);
    }
    aligned(&rows, indent)
}

fn variable(view: &View<'_>, id: ObjectId, member: Option<u32>, at: Option<u64>, row: &mut Cells) {
    let object = view.image.object(id);
    set(row, Column::Offset, at.map_or("-".into(), hexadecimal));
    set(row, Column::Address, view.address(id, member).map_or(String::new(), hexadecimal));
    set(row, Column::Size, if object.open { "-".into() } else { object.size.to_string() });
    set(row, Column::Align, object.alignment.to_string());
    set(row, Column::Qualifiers, spell::qualifiers(object));
    set(row, Column::Type, spell::declared_type(object));
    set(row, Column::Name, spelled(view, object, member));
    set(row, Column::Pointer, object.pointer.map_or(String::new(), spell::pointer));
    if let Some(contents) = view.contents(id) {
        set(row, Column::Bytes, value::bytes(view, id, &contents));
        set(row, Column::Value, value::values(view, id, &contents));
    }
}

/// A name; of what lies in the module's memory also whose it is.
fn spelled(view: &View<'_>, object: &Object, member: Option<u32>) -> String {
    let name = spell::name(object, member);
    let parts_of_functions = [StateSpace::Param, StateSpace::Local, StateSpace::Reg].contains(&object.space);
    let owner = object.function.filter(|_| !parts_of_functions).map(|id| &view.image.function(id).name);
    let file = view.file(object.unit).filter(|_| object.function.is_none());
    match (owner, file) {
        (Some(owner), _) => format!("{name} (in {})", harmless(owner)),
        (None, Some(file)) => format!("{name} (in {})", harmless(file)),
        (None, None) => name,
    }
}

/// The members of a handle, or of the handles of an array, that were given; of a single handle also those that
/// were not, since it has them all the same.
fn handles(view: &View<'_>, object: &Object) -> Vec<String> {
    if object.opaque().is_none() {
        return Vec::new();
    }
    let elements = spell::elements(object, view.mode());
    let (most, is_array) = (MEMBERS as usize, spell::is_array(object));
    let mut lines = Vec::new();
    for (number, state) in elements.iter().take(most) {
        let name = if is_array { format!("{}[{number}]", object.name) } else { object.name.to_string() };
        let given: Vec<String> =
            state.members().map(|(member, value)| spell::member(member, value)).collect();
        lines.extend(wrapped(&format!("{name}: "), &given));
        if !is_array {
            let unset: Vec<String> = state.unset().map(|member| member.name().to_owned()).collect();
            lines.extend(wrapped(&format!("{name} not given: "), &unset));
        }
    }
    if elements.len() > most {
        lines.push(format!("{}: … {} more elements", object.name, elements.len() - most));
    }
    lines
}

/// Words with commas, in lines of a bounded width after a title.
fn wrapped(title: &str, words: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = title.to_owned();
    for (index, word) in words.iter().enumerate() {
        let comma = if index + 1 < words.len() { "," } else { "" };
        if line.len() + word.len() > WIDE && line.len() > title.len() {
            lines.push(
                std::mem::replace(&mut line, " ".repeat(title.len().min(WIDE / 2))).trim_end().to_owned(),
            );
        }
        let _ = write!(line, "{word}{comma} ");
    }
    if !words.is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

fn hexadecimal(number: u64) -> String {
    format!("{number:#x}")
}

/// Rows under their titles, the first: numbers to the right, words to the left.
fn aligned(rows: &[Cells], indent: &str) -> String {
    let used = |column: usize| rows.iter().skip(1).any(|row| !row[column].is_empty());
    let kept: Vec<usize> = (0..TITLES.len()).filter(|&column| used(column)).collect();
    let numbers = Column::Offset as usize..=Column::Align as usize;
    lines(rows, &kept, |column| numbers.contains(&column), indent)
}

/// "12 .b32, 4 .b64, 2 .pred": registers by type, in the order of the types' first declarations.
fn registers(view: &View<'_>, ids: impl Iterator<Item = ObjectId>) -> Option<String> {
    let mut counts: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for object in ids.map(|id| view.image.object(id)).filter(|object| object.space == StateSpace::Reg) {
        let next = counts.len();
        let entry = counts.entry(spell::declared_type(object)).or_insert((next, 0));
        entry.1 += u64::from(object.count.unwrap_or(1));
    }
    let mut counts: Vec<(String, (usize, u64))> = counts.into_iter().collect();
    counts.sort_by_key(|(_, (first, _))| *first);
    let list: Vec<String> = counts.iter().map(|(ty, (_, count))| format!("{count} {ty}")).collect();
    (!list.is_empty()).then(|| list.join(", "))
}
