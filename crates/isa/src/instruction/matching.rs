//! Finds the rows that cover a mnemonic.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use super::Modifier::{
    A1d, A2d, A2dms, Acube, B2, Cube, D1, D2, D2Ms, D3, Im2colW, Im2colW128, OverrideGlobalAddress,
    OverrideGlobalDim, OverrideGlobalDimStride, TileGather4, TileScatter4,
};
use super::row::{self, Count, Parsed, Presence, Sparse, Ty};
use super::words::{Order, in_name, is_idle, order};
use super::{
    Access, Coordinates, Fault, FaultKind, Fit, Forms, Gate, Kind, Modifier, Opcode, Overrides, Selector,
    Shape, Signature, Space, Value, Wanted, convert, diagnose,
};
use crate::nearest::nearest;
use crate::row::{Row, Section};
use crate::table::{self, SECTIONS};
use crate::{Class, Opaque, Type};

/// The rows of an opcode, each with the sets of its section; read when first asked for.
struct Entry {
    rows: Vec<(&'static Section, &'static Row)>,
    parsed: OnceLock<Vec<Parsed>>,
}

static INDEX: LazyLock<HashMap<Opcode, Entry>> = LazyLock::new(|| {
    let mut index: HashMap<Opcode, Entry> = HashMap::new();
    for section in SECTIONS {
        for row in section.rows {
            let Some(opcode) = Opcode::from_name(row::opcode(row.line)) else { continue };
            let entry =
                index.entry(opcode).or_insert_with(|| Entry { rows: Vec::new(), parsed: OnceLock::new() });
            entry.rows.push((section, row));
        }
    }
    index
});

/// Every opcode.
pub fn opcodes() -> impl Iterator<Item = &'static str> {
    Opcode::ALL.iter().map(|opcode| opcode.name())
}

/// The rows of an opcode.
pub(super) fn rows(opcode: Opcode) -> &'static [Parsed] {
    let Some(entry) = INDEX.get(&opcode) else { return &[] };
    entry.parsed.get_or_init(|| {
        let read = |(section, row): &(&'static Section, &'static Row)| parsed(section, row).ok();
        entry.rows.iter().filter_map(read).collect()
    })
}

fn parsed(section: &Section, row: &Row) -> Result<Parsed, row::RowError> {
    row::parse(row, &[section.sets, table::SETS])
}

/// How many rows the table has, and why some of them cannot be parsed. [`resolve`] passes over such rows, so that
/// there must be none: `tests/rows.rs` asserts it in every build profile.
pub fn unparsed_rows() -> (usize, Vec<String>) {
    let rows = || SECTIONS.iter().flat_map(|section| section.rows.iter().map(move |row| (section, row)));
    let errors = rows().filter_map(|(section, row)| parsed(section, row).err());
    (rows().count(), errors.map(|error| error.to_string()).collect())
}

/// Whether there is such an instruction.
pub fn known(opcode: &str) -> bool {
    Opcode::from_name(opcode).is_some()
}

/// A mnemonic of an opcode, made by choices: the function is given a number of possibilities, more than none, and
/// says which. Words that exclude one another may stand together in it: [`resolve`] says whether it is legal.
pub fn spell(opcode: &str, mut choose: impl FnMut(usize) -> usize) -> Option<String> {
    let rows = rows(Opcode::from_name(opcode)?);
    let row = rows.get(choose(rows.len().max(1)))?;
    let mut mnemonic = opcode.to_owned();
    for slot in &row.slots {
        // One more possibility: nothing.
        let word = slot.choices.get(choose(slot.choices.len() + usize::from(slot.optional)));
        if let Some(word) = word.or(slot.choices.first().filter(|_| !slot.optional)) {
            mnemonic.push('.');
            mnemonic.push_str(word.name());
        }
    }
    Some(mnemonic)
}

/// The opcode that a misspelt one looks like.
pub fn nearest_opcode(opcode: &str) -> Option<&'static str> {
    let mut all: Vec<&'static str> = opcodes().collect();
    all.sort_unstable();
    nearest(opcode, all)
}

/// No mnemonic has more words; a longer one is not worth the time to understand.
const MOST_WORDS: usize = 40;

/// What an opcode and the words after it spell. Words are without their dots, in any order that the
/// assembler takes.
pub fn resolve(opcode: &str, modifiers: &[&str]) -> Result<Box<Shape>, Fault> {
    if let Some(word) = modifiers.get(MOST_WORDS) {
        let kind = FaultKind::Duplicate { word: (*word).to_owned() };
        return Err(Fault { kind, words: vec![MOST_WORDS], nearest: None });
    }
    let Some(opcode) = Opcode::from_name(opcode) else {
        let kind = FaultKind::UnknownOpcode { opcode: opcode.to_owned(), nearest: nearest_opcode(opcode) };
        return Err(Fault { kind, words: Vec::new(), nearest: None });
    };
    if opcode == Opcode::Cvt {
        return convert::resolve(modifiers);
    }
    let given = Given::new(opcode, modifiers);
    let mut found: Option<Shape> = None;
    for row in rows(opcode) {
        let Some(words) = given.spelled_by(row) else { continue };
        let shape = found.get_or_insert_with(|| Shape::new(opcode, words));
        let signature = signature(row, shape);
        let again =
            |known: &Signature| known.operands == signature.operands && known.gates == signature.gates;
        if !shape.signatures.iter().any(again) {
            shape.signatures.push(signature);
        }
    }
    match found {
        Some(shape) => Ok(Box::new(shape)),
        None => Err(diagnose::fault(opcode, rows(opcode), modifiers)),
    }
}

/// A mnemonic's words as the assembler reads them.
struct Given<'a> {
    /// How many of them belong to the name.
    named: usize,
    /// The words; `None` for one that only repeats another.
    words: Vec<Option<(&'a str, Order)>>,
}

impl<'a> Given<'a> {
    fn new(opcode: Opcode, words: &[&'a str]) -> Given<'a> {
        let read = |at: usize| (!is_idle(opcode.name(), words, at)).then(|| (words[at], order(words[at])));
        Given { named: in_name(opcode.name(), words), words: (0..words.len()).map(read).collect() }
    }

    /// The words in the row's order, if the row covers them.
    fn spelled_by(&self, row: &Parsed) -> Option<Vec<Modifier>> {
        if self.named != row.named {
            return None;
        }
        let mut given = self.words.clone();
        let mut taken = Vec::with_capacity(given.len());
        for (slot, word) in row.slots.iter().zip(&mut given).take(self.named) {
            let (word, _) = word.take()?;
            taken.push(slot.choice(word)?);
        }
        fill(&row.slots[self.named..], &mut given, &mut taken).then_some(taken)
    }
}

/// Puts the remaining words into the remaining slots. A slot takes the first word that fits it, of types and
/// spaces only the first that is left; it is tried without one last.
fn fill(slots: &[row::Slot], given: &mut [Option<(&str, Order)>], taken: &mut Vec<Modifier>) -> bool {
    let Some((slot, rest)) = slots.split_first() else { return given.iter().all(Option::is_none) };
    if given.iter().flatten().count() > slots.len() {
        return false;
    }
    let (mut type_passed, mut space_passed, mut layout_passed) = (false, false, false);
    for at in 0..given.len() {
        let Some((word, order)) = given[at] else { continue };
        let passed = match order {
            Order::Type => std::mem::replace(&mut type_passed, true),
            Order::Space => std::mem::replace(&mut space_passed, true),
            Order::Layout => std::mem::replace(&mut layout_passed, true),
            Order::Free => false,
        };
        if passed {
            continue;
        }
        let Some(choice) = slot.choice(word) else { continue };
        given[at] = None;
        taken.push(choice);
        if fill(rest, given, taken) {
            return true;
        }
        taken.pop();
        given[at] = Some((word, order));
        break;
    }
    slot.optional && fill(rest, given, taken)
}

fn signature(row: &Parsed, shape: &Shape) -> Signature {
    let stands = |operand: &&row::Operand| match operand.presence {
        Presence::With(word) => shape.words.contains(&word),
        Presence::Always | Presence::Optional => true,
    };
    let whole = Gate { word: None, any_of: row.row.availability, removed: row.row.removed };
    let gates = std::iter::once(whole).chain(table::word_gates(shape.opcode, &shape.words));
    Signature {
        syntax: row.row.line,
        operands: row.operands.iter().filter(stands).map(|operand| wanted(operand, shape)).collect(),
        gates: gates.collect(),
    }
}

fn wanted(operand: &row::Operand, shape: &Shape) -> Wanted {
    let optional = operand.presence == Presence::Optional;
    let plain = |name, kind| Wanted { name, access: Access::Read, optional, kind };
    match &operand.shape {
        row::Shape::Value(value) => wanted_value(value, shape, optional),
        row::Shape::Pair(first, second, may_lack) => {
            let first = wanted_value(first, shape, false);
            let second = wanted_value(second, shape, *may_lack);
            Wanted {
                name: first.name,
                access: first.access,
                optional,
                kind: Kind::Pair(Box::new(first), Box::new(second)),
            }
        }
        row::Shape::Address(name, space) => plain(name, Kind::Address(address(*space, shape))),
        row::Shape::Texture(at) => plain("tex", handle(Opaque::Texref, at.as_ref(), shape)),
        row::Shape::Surface(at) => plain("surf", handle(Opaque::Surfref, at.as_ref(), shape)),
        row::Shape::Sampler => plain("sampler", handle(Opaque::Samplerref, None, shape)),
        row::Shape::Tensor => plain("tensorMap", tensor(shape)),
        row::Shape::Fabric(counter) => plain("leId", fabric(*counter)),
        row::Shape::Immediate(name, range) => plain(name, Kind::Immediate(*range)),
        row::Shape::Label => plain("label", Kind::Label),
        row::Shape::Sink => Wanted { access: Access::Write, ..plain("_", Kind::Sink) },
        row::Shape::Call => plain("call", Kind::Call),
    }
}

fn wanted_value(value: &row::Value, shape: &Shape, optional: bool) -> Wanted {
    let access = match (value.read_write, value.is_destination()) {
        (true, _) => Access::ReadWrite,
        (false, true) => Access::Write,
        (false, false) => Access::Read,
    };
    let kind = match instantiate(value, shape, access) {
        None => Kind::Any,
        Some(element) => match &value.count {
            None => Kind::Value(element),
            Some(Count::Fixed { counts, bare }) => {
                Kind::Vector { bare: *bare, counts: counts.clone(), element }
            }
            Some(Count::Columns { per }) => {
                let count = shape.matrix().map_or(0, |matrix| matrix.n / u16::from(*per));
                Kind::Vector { bare: false, counts: vec![u8::try_from(count).unwrap_or(0)], element }
            }
            Some(Count::Free) if shape.vector == 1 => {
                Kind::Vector { bare: true, counts: vec![1, 2, 4], element }
            }
            Some(Count::Free) => Kind::Vector { bare: false, counts: vec![shape.vector], element },
            Some(Count::Im2col) => Kind::Vector { bare: false, counts: vec![im2col_count(shape)], element },
            Some(Count::Offsets) => {
                Kind::Vector { bare: true, counts: offset_counts(shape).to_vec(), element }
            }
            Some(Count::Sparse(part)) => {
                Kind::Vector { bare: false, counts: vec![sparse_count(*part, shape)], element }
            }
            Some(Count::Gradients) => Kind::Vector { bare: false, counts: gradient_counts(shape), element },
            Some(Count::Words { times, always }) => match shape.vector.saturating_mul(*times) {
                // Of a vector some elements may be thrown away, but not a single value.
                1 if !always => {
                    Kind::Value(Value { forms: Forms { sink: false, ..element.forms }, ..element })
                }
                count => Kind::Vector { bare: false, counts: vec![count], element },
            },
        },
    };
    Wanted { name: value.name, access, optional, kind }
}

/// The value that a row's operand is in a form; `None` if the form lacks the type word that it refers to.
fn instantiate(value: &row::Value, shape: &Shape, access: Access) -> Option<Value> {
    let ty = match value.ty {
        Ty::Word(index) => *shape.types.get(index)?,
        Ty::Wide => twice_as_wide(*shape.types.first()?)?,
        Ty::Fixed(ty) => ty,
    };
    let fit = match value.ty {
        _ if value.wider => Fit::Wider,
        _ if value.exact => Fit::Exact,
        _ if value.address_sized => Fit::AddressSized,
        Ty::Word(_) | Ty::Wide => Fit::Typed,
        Ty::Fixed(_) => Fit::Fixed,
    };
    let source = access == Access::Read;
    // There are no constants of 16-bit floats and of packed types.
    let writable = ty.is_fundamental() && !matches!(ty, Type::F16 | Type::F16x2);
    Some(Value {
        ty,
        fit,
        forms: Forms {
            register: true,
            immediate: source && writable && !value.register_only,
            address: value.address,
            special: value.address && shape.opcode == Opcode::Mov && ty.class() != Class::Float,
            negated: source && ty == Type::Pred,
            sink: value.sink,
            minus: value.minus,
            selector: value.selector,
        },
    })
}

fn twice_as_wide(ty: Type) -> Option<Type> {
    Some(match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        Type::S32 => Type::S64,
        _ => return None,
    })
}

fn address(space: Option<&str>, shape: &Shape) -> Vec<Space> {
    let nth = |index: usize| shape.spaces.get(index).copied().unwrap_or(Space::Generic);
    match space {
        None => vec![nth(0)],
        Some("2") => vec![nth(1)],
        Some("generic") => vec![Space::Generic],
        Some("tmem") => vec![Space::Tensor],
        Some(name) => name.split('|').map(|name| Space::from_name(name).unwrap_or(Space::Generic)).collect(),
    }
}

fn handle(of: Opaque, at: Option<&row::Value>, shape: &Shape) -> Kind {
    let coordinates = at.and_then(|value| {
        let element = instantiate(value, shape, Access::Read)?;
        let array = shape.modifiers.iter().any(|word| matches!(word, A1d | A2d | Acube | A2dms));
        let index = Value { ty: Type::U32, fit: Fit::Fixed, ..element };
        let index = (array && of == Opaque::Texref).then_some(index);
        Some(Coordinates { counts: coordinate_counts(shape), element, index })
    });
    Kind::Handle { of, coordinates }
}

/// How many coordinates a geometry takes. The assembler lets longer vectors pass; there are none of three.
fn coordinate_counts(shape: &Shape) -> &'static [u8] {
    let geometry = shape.modifiers.iter().find_map(|word| match word {
        D1 => Some(1),
        D2 | A1d => Some(2),
        D3 | A2d | D2Ms | A2dms | Cube | Acube => Some(4),
        _ => None,
    });
    match geometry {
        Some(2) => &[2, 4],
        Some(4) => &[4],
        _ => &[1, 2, 4],
    }
}

/// How many offsets in texels a geometry takes: longer vectors pass, too.
fn offset_counts(shape: &Shape) -> &'static [u8] {
    match gradient_count(shape) {
        1 => &[1, 2, 4],
        2 => &[2, 4],
        _ => &[4],
    }
}

/// How many directions a geometry has, layers and samples aside; three are written as four.
fn gradient_count(shape: &Shape) -> u8 {
    let directions = shape.modifiers.iter().find_map(|word| match word {
        D1 | A1d => Some(1),
        D2 | A2d | D2Ms | A2dms => Some(2),
        _ => None,
    });
    directions.unwrap_or(4)
}

/// How many derivatives may stand: as many as there are directions; of cubes the assembler does not count them.
fn gradient_counts(shape: &Shape) -> Vec<u8> {
    match shape.has(Cube) || shape.has(Acube) {
        true => vec![1, 2, 4],
        false => vec![gradient_count(shape)],
    }
}

/// How many offsets an im2col mode takes: one for each dimension but the channels and the images; the modes along W
/// take two, the offset and the halo.
fn im2col_count(shape: &Shape) -> u8 {
    match shape.has(Im2colW) || shape.has(Im2colW128) {
        true => 2,
        false => shape.dimensions().map_or(1, |dimensions| dimensions.saturating_sub(2)),
    }
}

/// An endpoint and offsets in it: registers of 32 and 64 bits.
fn fabric(counter: bool) -> Kind {
    let register = |ty| Value {
        ty,
        fit: Fit::Fixed,
        forms: Forms {
            register: true,
            immediate: false,
            address: false,
            special: false,
            negated: false,
            sink: false,
            minus: false,
            selector: Selector::No,
        },
    };
    Kind::Fabric { endpoint: register(Type::U32), offset: register(Type::U64), counter }
}

/// How many words of 32 bits an operand of structured sparsity has: the elements, or their indices, of `.x4` groups.
/// `spcompress` counts words of compressed elements instead of groups, and `tcgen05.ld` words of dense ones.
fn sparse_count(part: Sparse, shape: &Shape) -> u8 {
    let (kept, of) = shape.modifiers.iter().find_map(|word| word.sparsity()).unwrap_or((1, 1));
    let element = shape.types.first().map_or(0, |ty| ty.bits());
    let index = if shape.has(B2) { 2 } else { 4 };
    let times = u32::from(shape.vector);
    let groups = match shape.opcode {
        Opcode::Spcompress => times * 32 / (element * kept).max(1),
        Opcode::Tcgen05 => times * 32 / (element * of).max(1),
        _ => times,
    };
    let bits = match part {
        Sparse::Metadata => groups * kept * index,
        Sparse::Compressed => groups * kept * element,
        Sparse::Dense => groups * of * element,
    };
    u8::try_from(bits.div_ceil(32)).unwrap_or(0)
}

/// Four rows of a tensor of two dimensions are a column and four rows.
fn tensor(shape: &Shape) -> Kind {
    let overrides = if shape.has(OverrideGlobalDim) {
        Overrides::Size
    } else if shape.has(OverrideGlobalDimStride) {
        Overrides::Strides
    } else if shape.has(OverrideGlobalAddress) {
        Overrides::Address
    } else {
        Overrides::None
    };
    if shape.has(TileGather4) || shape.has(TileScatter4) {
        return Kind::Tensor { dimensions: 5, overrides };
    }
    shape.dimensions().map_or(Kind::Any, |dimensions| Kind::Tensor { dimensions, overrides })
}
