//! What things are called: types, names and members as PTX and people write them.

use softwarp::check::checked::{Attributes, FieldValue, Pointer};
use softwarp::image::{Image, Kind, Object, Relocation, State, Target};
use softwarp::isa::space::opaque::{CHANNEL_DATA_TYPES, CHANNEL_ORDERS, Member, TextureMode, Values};
use softwarp::syntax::tree::{DeclaredType, Linkage};
use std::fmt::Write;

/// `.v4 .f32 [8][2]`
pub fn declared_type(object: &Object) -> String {
    let mut text = if object.vector > 1 { format!(".v{} ", object.vector) } else { String::new() };
    let _ = write!(text, ".{}", type_name(object));
    let mut dimensions = object.dimensions.iter();
    if object.open {
        dimensions.next();
        text.push_str(" []");
    } else if !object.dimensions.is_empty() {
        text.push(' ');
    }
    dimensions.for_each(|size| {
        let _ = write!(text, "[{size}]");
    });
    text
}

/// `v4.f32`: without dimensions, for programs.
pub fn element_type(object: &Object) -> String {
    let name = type_name(object);
    if object.vector > 1 { format!("v{}.{name}", object.vector) } else { name.into() }
}

fn type_name(object: &Object) -> &'static str {
    match object.ty {
        DeclaredType::Value(ty) => ty.name(),
        DeclaredType::Opaque(opaque) => opaque.name(),
    }
}

/// `r3` of `r<10>`; the name itself without a family.
pub fn name(object: &Object, member: Option<u32>) -> String {
    match member {
        Some(member) => format!("{}{member}", object.name),
        None => object.name.to_string(),
    }
}

/// The directive, without its dot.
pub fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Extern => "extern",
        Linkage::Visible => "visible",
        Linkage::Weak => "weak",
        Linkage::Common => "common",
    }
}

/// `managed` and `unified(1,2)`.
pub fn attributes(attributes: &Attributes) -> Vec<String> {
    let managed = attributes.managed.then(|| "managed".to_owned());
    let unified = attributes.unified.as_deref().map(|(upper, lower)| format!("unified({upper},{lower})"));
    managed.into_iter().chain(unified).collect()
}

/// `.visible .managed`: what stands before a declaration's type.
pub fn qualifiers(object: &Object) -> String {
    let linkage = object.linkage.map(|one| linkage(one).to_owned());
    let words = linkage.into_iter().chain(attributes(&object.attributes));
    words.map(|word| format!(".{word}")).collect::<Vec<_>>().join(" ")
}

/// `.ptr .global .align 16`
pub fn pointer(pointer: Pointer) -> String {
    let mut text = ".ptr".to_owned();
    if let Some(space) = pointer.space {
        let _ = write!(text, " {space}");
    }
    if pointer.alignment > 0 {
        let _ = write!(text, " .align {}", pointer.alignment);
    }
    text
}

/// The name of what an address is of.
pub fn symbol(image: &Image, target: Target) -> String {
    match target {
        Target::Object(id, member) => name(image.object(id), member),
        Target::Function(id) => image.function(id).name.to_string(),
    }
}

/// `→ generic(table)+4`. A `.global` variable's generic address is its own.
pub fn address(image: &Image, relocation: &Relocation) -> String {
    let symbol = symbol(image, relocation.target);
    let windowed = match relocation.target {
        Target::Object(id, _) => image.object(id).space != softwarp::isa::StateSpace::Global,
        Target::Function(_) => false,
    };
    let symbol =
        if windowed && relocation.kind == Kind::Generic { format!("generic({symbol})") } else { symbol };
    let addend = if relocation.addend == 0 { String::new() } else { format!("{:+}", relocation.addend) };
    match relocation.byte {
        Some(byte) => format!("→ byte {byte} of {symbol}{addend}"),
        None => format!("→ {symbol}{addend}"),
    }
}

/// `channel_data_type CL_FLOAT (0x10de)`
pub fn member(member: Member, value: FieldValue) -> String {
    let name = member.name();
    let table = match member.values() {
        Values::ChannelDataType => CHANNEL_DATA_TYPES,
        Values::ChannelOrder => CHANNEL_ORDERS,
        _ => &[],
    };
    match value {
        FieldValue::Word(word) => format!("{name} {word}"),
        FieldValue::Number(number) => match table.iter().find(|(_, code)| u64::from(*code) == number) {
            Some((word, _)) => format!("{name} {word} ({number:#x})"),
            None => format!("{name} {number}"),
        },
    }
}

/// The elements of an opaque variable that were given members, in order, with their numbers; of one that is no
/// array its only element.
pub fn elements(object: &Object, mode: TextureMode) -> Vec<(u64, State)> {
    let mut fields = object.fields.clone();
    fields.sort_by_key(|field| field.element);
    // With the fields of one element at a time, so that long arrays take no longer than their length.
    let mut one = Object { fields: Vec::new(), ..object.clone() };
    let mut elements = Vec::new();
    for fields in fields.chunk_by(|a, b| a.element == b.element) {
        one.fields = fields.to_vec();
        let number = fields[0].element;
        elements.extend(State::of(&one, number, mode).map(|state| (number, state)));
    }
    if elements.is_empty() && !is_array(object) {
        elements.extend(State::of(object, 0, mode).map(|state| (0, state)));
    }
    elements
}

/// Whether it is an array.
pub fn is_array(object: &Object) -> bool {
    object.open || !object.dimensions.is_empty()
}

/// As much of a text as fits a given number of characters, with a sign if that is not all; nothing rather than one letter.
pub fn shortened(text: &str, room: usize) -> String {
    match text.chars().nth(room).is_none() {
        true => text.to_owned(),
        false if room < 3 => String::new(),
        false => text.chars().take(room - 1).chain(['…']).collect(),
    }
}
