//! The beginning of what a variable holds: as bytes, and as its type reads them.

use super::{View, spell};
use softwarp::image::{Contents, Object, ObjectId};
use softwarp::isa::Type;
use softwarp::literal::display;

/// How many bytes, and how many elements, are shown.
const BYTES: u64 = 8;
const ELEMENTS: u64 = 4;
/// How many characters of a text are shown.
const CHARACTERS: usize = 40;

/// The first bytes in hexadecimal. Those of addresses that are not known are `..`.
pub fn bytes(view: &View<'_>, id: ObjectId, contents: &Contents) -> String {
    let object = view.image.object(id);
    let mut first = [0; BYTES as usize];
    contents.read(0, &mut first);
    let shown = object.size.min(BYTES);
    let unknown = |at: u64| {
        let relocation = relocations(object, at, at + 1).last();
        relocation.is_some_and(|relocation| {
            view.windows.is_none_or(|windows| view.image.value(windows, relocation).is_none())
        })
    };
    let byte = |(at, byte): (u64, &u8)| if unknown(at) { "..".to_owned() } else { format!("{byte:02x}") };
    let mut cells: Vec<String> = (0..shown).zip(&first).map(byte).collect();
    if object.size > shown {
        cells.push("…".into());
    }
    cells.join(" ")
}

/// The relocations that touch some of a variable's bytes. Each is at most 8 bytes long.
fn relocations(object: &Object, from: u64, to: u64) -> impl Iterator<Item = &softwarp::image::Relocation> {
    let first =
        object.relocations.partition_point(|one| one.offset.saturating_add(u64::from(one.width)) <= from);
    object.relocations[first..].iter().take_while(move |one| one.offset < to)
}

/// The first elements: `= 1.5, 2, …`.
pub fn values(view: &View<'_>, id: ObjectId, contents: &Contents) -> String {
    let object = view.image.object(id);
    let Some(ty) = object.value_type() else { return String::new() };
    if let Some(text) = text(object, ty, contents) {
        return format!("= {text}");
    }
    let component = object.element / u64::from(object.vector.max(1));
    if component == 0 {
        return String::new();
    }
    let elements = object.size / object.element;
    let mut shown: Vec<String> = Vec::new();
    for element in 0..elements.min(ELEMENTS) {
        let at = |lane: u64| element * object.element + lane * component;
        let lanes: Vec<String> = (0..u64::from(object.vector.max(1)))
            .map(|lane| scalar(view, object, ty, contents, at(lane), component))
            .collect();
        shown.push(if object.vector > 1 { format!("{{{}}}", lanes.join(", ")) } else { lanes.concat() });
    }
    if elements > ELEMENTS {
        shown.push("…".into());
    }
    // An address has its own sign, and needs no other.
    let sign = if shown.first().is_some_and(|first| first.starts_with('→')) { "" } else { "= " };
    format!("{sign}{}", shown.join(", "))
}

fn scalar(view: &View<'_>, object: &Object, ty: Type, contents: &Contents, at: u64, bytes: u64) -> String {
    if let Some(relocation) = relocations(object, at, at.saturating_add(bytes)).next() {
        return spell::address(view.image, relocation);
    }
    let mut code = [0; 16];
    let length = bytes.min(16) as usize;
    contents.read(at, &mut code[..length]);
    let code = u128::from_le_bytes(code);
    match ty.packed() {
        None => format!("{code:#x}"),
        Some(packed) => {
            let bits = packed.element.bits();
            let lane = |lane: u8| {
                display(packed.element, (code >> (u32::from(lane) * bits)) as u64 & packed.element.mask())
            };
            let lanes: Vec<String> = (0..packed.lanes).map(lane).collect();
            if packed.lanes > 1 { format!("{{{}}}", lanes.join(", ")) } else { lanes.concat() }
        }
    }
}

/// An array of `.b8` that reads as text, with quotes: compilers keep strings so.
fn text(object: &Object, ty: Type, contents: &Contents) -> Option<String> {
    let is_array = object.dimensions.len() == 1 && object.vector == 1 && object.relocations.is_empty();
    if ty != Type::B8 || !is_array {
        return None;
    }
    let mut first = vec![0; usize::try_from(object.size).unwrap_or(usize::MAX).min(CHARACTERS)];
    contents.read(0, &mut first);
    let length = first.iter().rposition(|&byte| byte != 0)? + 1;
    let readable = |&byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    if !first[..length].iter().all(readable) {
        return None;
    }
    let text = String::from_utf8_lossy(&first[..length]);
    let more = if contents.written() > length as u64 && length == CHARACTERS { "…" } else { "" };
    Some(format!("\"{}\"{more}", text.escape_default()))
}
